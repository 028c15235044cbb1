//! Computations of algorithms with in-band telemetry on a port, with as few divisions as possible.

use incast_units::math::{div_wide, mul_wide};
use incast_units::{Bytes, Rate, Time};

use crate::contract::{IntHop, IntStack, MAX_INT_HOPS, Path};
use crate::{Divisor, Fixed};

/// Bits in a byte times picoseconds in a second.
const BIT_PS: u64 = 8_000_000_000_000;

/// Quantities derived once for a path: divisions by its base RTT, and by rate and base BDP for ports of the
/// rate of the sender's link, or 2, 4, 8… times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Ports {
    line: Divisor,
    bdp: Divisor,
    base_rtt: Time,
    rtt: Divisor,
    /// A BDP over its rate, with 64 fractional bits; zero for a base RTT from 2^32 ps (4.3 ms) on.
    bytes_per_bps: u64,
}

/// A port between two records of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port<'a> {
    pub(crate) before: &'a IntHop,
    pub(crate) now: &'a IntHop,
    /// Time between the records.
    elapsed: Time,
    /// Bytes that it sent in that time.
    pub(crate) sent: Bytes,
}

impl<'a> Port<'a> {
    /// The differences modulo 2^64, for records in any order.
    #[inline]
    fn between(before: &'a IntHop, now: &'a IntHop) -> Self {
        let elapsed = Time::from_ps(now.at.ps().wrapping_sub(before.at.ps()));
        let sent = Bytes::new(now.transmitted.get().wrapping_sub(before.transmitted.get()));
        Self { before, now, elapsed, sent }
    }

    /// Whether the second record is a later one of the same port.
    #[inline]
    fn is_measured(&self) -> bool {
        self.now.at > self.before.at && self.now.transmitted >= self.before.transmitted
    }
}

/// The port with the largest value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Largest {
    pub(crate) value: Fixed,
    /// Time between its records.
    pub(crate) elapsed: Time,
    /// Its place on the way.
    pub(crate) place: u32,
}

/// A number that others are compared with, with 16 fractional bits: rounded down, and at most 2^32 - 1.
fn truncated(value: Fixed) -> u64 {
    if value.is_negative() { 0 } else { (value.bits() as u64 >> 16).min(u64::from(u32::MAX)) }
}

/// A number that others are compared with, as it is for ports of one rate. All but the rate are rounded down, and small
/// enough for products of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    rate: Rate,
    /// The base RTT, below 2^32.
    rtt: u64,
    /// Rate times base RTT, below 2^31.
    bdp: u64,
    /// The number times the BDP, with 16 fractional bits.
    scaled: u64,
    /// That without them, below 2^32.
    bytes: u64,
    /// That times the rate in bytes per picosecond, with 10 fractional bits: below 2^33.
    square: u64,
}

/// The least value of a factor, with 16 fractional bits: rounded up, and 2^32 for one above 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least(u64);

impl Least {
    #[inline]
    pub(crate) fn new(value: Fixed) -> Self {
        Self(match truncated(value) {
            0 if value <= Fixed::ZERO => 0,
            _ if value > Fixed::ONE => 1 << 32,
            bits => bits.wrapping_add(1),
        })
    }
}

/// Returns the number unchanged. The kernel's verifier, which follows every value that a branch gave, takes
/// it for any from here on, and so checks the code that follows once. (bpf/compile.sh makes this a function
/// that is verified alone.)
#[cfg_attr(not(target_arch = "bpf"), inline)]
#[cfg_attr(target_arch = "bpf", inline(never))]
fn opaque(number: u64) -> u64 {
    if cfg!(target_arch = "bpf") { core::hint::black_box(number) } else { number }
}

/// The product of two numbers. In the kernel the verifier looks at it once, for any numbers, as at [`opaque`].
#[inline]
pub(crate) fn stretched(value: Fixed, by: Fixed) -> Fixed {
    let [value, by] = [value, by].map(|number| number.bits().cast_unsigned());
    Fixed::from_bits(stretched_bits(value, by).cast_signed())
}

/// [`stretched`] of the bits of both numbers.
#[cfg_attr(not(target_arch = "bpf"), inline)]
#[cfg_attr(target_arch = "bpf", inline(never))]
fn stretched_bits(value: u64, by: u64) -> u64 {
    let [value, by] = [value, by].map(|bits| Fixed::from_bits(bits.cast_signed()));
    (value * by).bits().cast_unsigned()
}

/// Returns the number of ports that two stacks have in common.
#[inline]
fn compared(before: &IntStack, now: &IntStack) -> u32 {
    before.count.min(now.count).min(MAX_INT_HOPS as u32)
}

impl Ports {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            line: Divisor::new(path.line_rate.bps()),
            bdp: Divisor::new(path.bdp().get()),
            base_rtt: path.base_rtt,
            rtt: Divisor::new(path.base_rtt.ps()),
            bytes_per_bps: if path.base_rtt.ps() >> 32 == 0 {
                div_wide(path.base_rtt.ps(), 0, BIT_PS)
            } else {
                0
            },
        }
    }

    /// The limit `value`, as [`truncated`] gives it, for ports of this rate.
    #[inline]
    fn limit(&self, value: u64, rate: Rate) -> Limit {
        // A base RTT too long gives a BDP of zero, and nothing is below then.
        let rtt = if self.base_rtt.ps() >> 32 == 0 { self.base_rtt.ps() } else { 0 };
        let bdp = mul_wide(rate.bps(), self.bytes_per_bps).0.min((1 << 31) - 1);
        let scaled = value.wrapping_mul(bdp);
        let bytes = (scaled >> 16).min(u64::from(u32::MAX));
        // 2^56 over the bits and picoseconds in bytes and seconds is 9007.2.
        let per_ps = rate.bps().min(1 << 40).wrapping_mul(9007) >> 24;
        let square = (bytes.wrapping_mul(per_ps) >> 22).min((1 << 33) - 1);
        Limit { rate, rtt, bdp, scaled, bytes, square }
    }

    /// The port of both stacks with the largest `value`, of equal ones the first on the way. `hint` is the place of the one
    /// that it may be, as it was the last time: the others are left out if their value is below it for certain.
    ///
    /// A port without a later record says nothing, nor does one whose counter runs backwards, which is another port.
    #[inline]
    pub(crate) fn largest(
        &self,
        before: &IntStack,
        now: &IntStack,
        hint: u32,
        is_below: impl Fn(&Port<'_>, &Limit) -> bool,
        value: impl Fn(&Port<'_>) -> Fixed,
    ) -> Option<Largest> {
        let count = compared(before, now);
        if count == 0 {
            return None;
        }
        let mut largest = Largest { value: Fixed::MIN, elapsed: Time::ZERO, place: 0 };
        let look = |largest: &mut Largest, place: u32| {
            let at = place as usize;
            let (Some(before), Some(now)) = (before.hops.get(at), now.hops.get(at)) else { return };
            let port = Port::between(before, now);
            if !port.is_measured() {
                return;
            }
            let mut value = value(&port);
            if cfg!(target_arch = "bpf") {
                value = Fixed::from_bits(opaque(value.bits().cast_unsigned()).cast_signed());
            }
            if value > largest.value || (value == largest.value && place < largest.place) {
                *largest = Largest { value, elapsed: port.elapsed, place };
            }
        };
        let hint = if hint < count { hint } else { 0 };
        look(&mut largest, hint);
        // (A bit mask, found without a branch: which port is how busy is not predictable.)
        let bit = |place: u32| 1 << (count - 1 - place);
        let limit = opaque(truncated(largest.value));
        let others = self.not_below(before, now, limit, is_below) & !bit(hint);
        let others = opaque(u64::from(others)) as u32;
        if others != 0 {
            for place in 0..count {
                if others & bit(place) != 0 {
                    look(&mut largest, place);
                }
            }
        }
        (largest.elapsed > Time::ZERO).then_some(largest)
    }

    /// Returns the common ports whose value is not certainly below the limit, a bit for each: the lowest bit
    /// is the last port.
    ///
    /// All, if time or an amount of any is not below 2^31 (2.1 ms). That is tested once for all: a flow that
    /// was idle was so at every port.
    #[inline(never)]
    fn not_below(
        &self,
        before: &IntStack,
        now: &IntStack,
        value: u64,
        is_below: impl Fn(&Port<'_>, &Limit) -> bool,
    ) -> u32 {
        // (Not an argument: BPF passes five, and what `is_below` captures is among them.)
        let count = compared(before, now);
        let mut limit = self.limit(value, Rate::ZERO);
        let (mut places, mut all) = (0, 0);
        for (before, now) in before.hops.iter().zip(&now.hops).take(count as usize) {
            let port = Port::between(before, now);
            if now.rate != limit.rate {
                limit = self.limit(value, now.rate);
            }
            all |= port.elapsed.ps() | port.sent.get() | now.queue.get();
            places = places << 1 | u32::from(!is_below(&port, &limit));
        }
        if all >> 31 == 0 { places } else { (1 << count) - 1 }
    }

    /// `bytes` in the time between the records, over the rate of the port.
    #[inline]
    fn share(&self, port: &Port<'_>, bytes: Bytes) -> Fixed {
        self.line.ratio_by(Rate::of(bytes, port.elapsed).bps(), port.now.rate.bps())
    }

    /// Returns a queue over the BDP of the port.
    #[inline]
    fn queue(&self, port: &Port<'_>, queue: Bytes) -> Fixed {
        self.bdp.ratio_by(queue.get(), port.now.rate.bytes_in(self.base_rtt).get())
    }

    /// A queue over the BDP of the port, plus `bytes` in the time between the records over its rate. (Not inlined, as the
    /// next: it is wanted for few ports, and takes registers from the loop over all.)
    #[inline(never)]
    pub(crate) fn sum(&self, port: &Port<'_>, queue: Bytes, bytes: Bytes) -> Fixed {
        self.queue(port, queue) + self.share(port, bytes)
    }

    /// `bytes` in the time between the records over the rate of the port, but at least `least`, times 1 plus the queue
    /// over the BDP; the queue counts `stretch` times. (One reference for both: BPF passes five values.)
    #[inline(never)]
    pub(crate) fn product(
        &self,
        port: &Port<'_>,
        (queue, bytes): (Bytes, Bytes),
        &(least, stretch): &(Fixed, Fixed),
    ) -> Fixed {
        self.share(port, bytes).max(least) * (Fixed::ONE + stretched(self.queue(port, queue), stretch))
    }

    /// Whether [`Self::sum`] is below the limit for certain. For a port whose quantities are small.
    #[inline]
    pub(crate) fn sum_is_below(port: &Port<'_>, queue: Bytes, bytes: Bytes, limit: &Limit) -> bool {
        // Not rounded, the sum is at most queue/bdp + bytes · T/(bdp · elapsed), as bdp is at most rate · T. It is compared
        // in units of 1/(bdp · elapsed), less the queue, which may be more than the limit. Both numbers are below 2^63.
        let room = limit.bytes.wrapping_sub(queue.get()).wrapping_mul(port.elapsed.ps());
        (bytes.get().wrapping_mul(limit.rtt) as i64) < room as i64
    }

    /// Whether [`Self::product`] is below the limit for certain. For a port whose quantities are small.
    #[inline]
    pub(crate) fn product_is_below(
        port: &Port<'_>,
        (queue, bytes): (Bytes, Bytes),
        Least(least): Least,
        limit: &Limit,
    ) -> bool {
        // As above: at most (bdp + queue)/bdp · bytes/(rate · elapsed), and (bdp + queue)/bdp · least. A least of
        // 2^32 is above every limit. (Both are computed: a branch would cost more.)
        let full = limit.bdp.wrapping_add(queue.get());
        let square = limit.square.wrapping_mul(port.elapsed.ps()) >> 10;
        (bytes.get().wrapping_mul(full) < square) & (least.wrapping_mul(full) < limit.scaled)
    }

    /// `time` over the base RTT.
    #[inline]
    pub(crate) fn round_trips(&self, time: Time) -> Fixed {
        self.rtt.ratio(time.ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATH;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 ^ self.0 >> 31
        }

        fn below(&mut self, n: u64) -> u64 {
            (self.next() >> 16) % n
        }

        /// A number of any length up to `bits`.
        fn any(&mut self, bits: u64) -> u64 {
            let length = self.below(bits + 1);
            if length == 0 { 0 } else { self.next() >> (64 - length) }
        }

        fn rate(&mut self) -> Rate {
            match self.below(12) {
                0 => Rate::ZERO,
                1 => Rate::from_bps(self.any(40)),
                2 => Rate::from_bps(u64::MAX),
                3..6 => Rate::from_gbps(100),
                6..9 => Rate::from_gbps(400),
                _ => Rate::from_gbps(10 + self.below(400)),
            }
        }

        /// Small amounts mostly, as on the way of a flow; sometimes none, sometimes any.
        fn amount(&mut self) -> Bytes {
            Bytes::new(match self.below(10) {
                0 if self.below(4) == 0 => (1 << 31) - 2 + self.below(4),
                0 => self.any(64),
                1..4 => 0,
                4..7 => 1000 * self.below(8),
                _ => self.below(600_000),
            })
        }

        fn passed(&mut self) -> Time {
            Time::from_ps(match self.below(12) {
                0 => 0,
                1 if self.below(4) == 0 => (1 << 32) - 2 + self.below(4),
                1 => self.any(64),
                2..6 => 80_000,
                _ => 1 + self.below(4_000_000),
            })
        }

        /// Two records of a port: now and then of two ports, so that clock, counter or rate do not fit.
        fn records(&mut self) -> (IntHop, IntHop) {
            let (at, transmitted, rate) = (self.any(50), self.any(50), self.rate());
            let before = IntHop {
                at: Time::from_ps(at),
                queue: self.amount(),
                transmitted: Bytes::new(transmitted),
                rate,
            };
            if self.below(20) == 0 {
                // Some a little before the end of the range, so that the difference modulo 2^64 is small.
                let (at, transmitted) = (Time::from_ps(self.any(51)), Bytes::new(self.any(51)));
                let before = match self.below(4) {
                    0 => IntHop { at: Time::NEVER - Time::from_ps(self.any(20)), ..before },
                    1 => IntHop { transmitted: Bytes::UNLIMITED - Bytes::new(self.any(20)), ..before },
                    _ => before,
                };
                let (at, transmitted) = match self.below(3) {
                    0 => (Time::from_ps(self.any(20)), Bytes::new(self.any(20))),
                    _ => (at, transmitted),
                };
                return (before, IntHop { at, queue: self.amount(), transmitted, rate: self.rate() });
            }
            let (at, transmitted) = (before.at + self.passed(), before.transmitted + self.amount());
            (before, IntHop { at, queue: self.amount(), transmitted, rate })
        }

        /// Some ports on the way, sometimes the same twice, sometimes with the last one almost the same.
        fn stacks(&mut self) -> (IntStack, IntStack) {
            let (mut before, mut now) = (IntStack::EMPTY, IntStack::EMPTY);
            (before.count, now.count) = match self.below(10) {
                0 => (self.below(7) as u32, self.below(7) as u32),
                1 => (1, 1),
                _ => (5, 5),
            };
            let mut last = self.records();
            for (before, now) in before.hops.iter_mut().zip(&mut now.hops) {
                match self.below(6) {
                    0 => {}
                    1 => {
                        last.1.queue += Bytes::new(self.below(2));
                        last.1.transmitted += Bytes::new(self.below(2));
                    }
                    _ => last = self.records(),
                }
                (*before, *now) = last;
            }
            (before, now)
        }
    }

    /// Measurement of a port, by division: the time between the records, and the two terms.
    type Terms = (Time, Fixed, Fixed);

    fn terms(
        before: &IntHop,
        now: &IntHop,
        base_rtt: Time,
        seen: impl Fn(Bytes) -> (Bytes, Bytes),
    ) -> Option<Terms> {
        let elapsed = now.at - before.at;
        if elapsed == Time::ZERO || now.transmitted < before.transmitted {
            return None;
        }
        let (queue, bytes) = seen(now.transmitted - before.transmitted);
        let queue = Fixed::ratio(queue.get(), now.rate.bytes_in(base_rtt).get());
        Some((elapsed, queue, Fixed::ratio(Rate::of(bytes, elapsed).bps(), now.rate.bps())))
    }

    /// The first of the largest.
    fn largest(values: impl Iterator<Item = Option<(Time, Fixed)>>) -> Option<(Fixed, Time, u32)> {
        let mut largest: Option<(Fixed, Time, u32)> = None;
        for (place, value) in values.enumerate() {
            if let Some((elapsed, value)) = value
                && largest.is_none_or(|(most, ..)| value > most)
            {
                largest = Some((value, elapsed, place as u32));
            }
        }
        largest
    }

    #[test]
    fn what_is_left_out_changes_nothing() {
        let mut random = Random(8);
        let (mut measured, mut left_out) = (0_u32, 0_u32);
        for i in 0..100_000 {
            let path = match i % 4 {
                0 => Path { base_rtt: Time::from_ps(random.any(50)), line_rate: random.rate(), ..PATH },
                _ => PATH,
            };
            let ports = Ports::new(&path);
            let (before, now) = random.stacks();
            let hint = random.below(7) as u32;
            let least = match random.below(4) {
                0 => Fixed::from_bits(random.any(34) as i64),
                1 => -Fixed::ONE,
                _ => Fixed::ZERO,
            };
            let pairs = || before.iter().zip(now.iter()).map(|((_, before), (_, now))| (before, now));
            let skipped = core::cell::Cell::new(0);
            let count = |below: bool| {
                skipped.set(skipped.get() + u32::from(below));
                below
            };

            let queue = |port: &Port<'_>| port.now.queue.min(port.before.queue);
            let sum = ports.largest(
                &before,
                &now,
                hint,
                |port, limit| count(Ports::sum_is_below(port, queue(port), port.sent, limit)),
                |port| ports.sum(port, queue(port), port.sent),
            );
            let divided = largest(pairs().map(|(before, now)| {
                let terms = terms(before, now, path.base_rtt, |sent| (now.queue.min(before.queue), sent));
                terms.map(|(elapsed, queue, share)| (elapsed, queue + share))
            }));
            let told = |l: Largest| (l.value, l.elapsed, l.place);
            assert_eq!(sum.map(told), divided, "{i}: {before:?} {now:?}");

            let arrived = |port: &Port<'_>| (port.sent + port.now.queue) - port.before.queue;
            let product = ports.largest(
                &before,
                &now,
                hint,
                |port, limit| {
                    count(Ports::product_is_below(
                        port,
                        (port.now.queue, arrived(port)),
                        Least::new(least),
                        limit,
                    ))
                },
                |port| ports.product(port, (port.now.queue, arrived(port)), &(least, Fixed::ONE)),
            );
            let divided = largest(pairs().map(|(before, now)| {
                let seen = |sent| (now.queue, (sent + now.queue) - before.queue);
                let terms = terms(before, now, path.base_rtt, seen);
                terms.map(|(elapsed, queue, share)| (elapsed, share.max(least) * (Fixed::ONE + queue)))
            }));
            assert_eq!(product.map(told), divided, "{i}: {before:?} {now:?}");

            measured += u32::from(sum.is_some()) + u32::from(product.is_some());
            left_out += skipped.get();
        }
        assert!(measured > 150_000 && left_out > 150_000, "{measured} {left_out}: this test sees too little");
    }

    #[test]
    fn only_what_is_smaller_for_certain_is_left_out() {
        // 400 Gbps in 12 us: 600 KB. 300 KB of queue, and 2.5 KB in 100 ns, half the rate: 1/2 + 1/2.
        let ports = Ports::new(&PATH);
        let record = |at, queue, transmitted| IntHop {
            at: Time::from_ns(at),
            queue: Bytes::new(queue),
            transmitted: Bytes::new(transmitted),
            rate: Rate::from_gbps(400),
        };
        let (before, now) = (record(0, 300_000, 0), record(100, 300_000, 2_500));
        let (queue, sent) = (now.queue, now.transmitted);
        let port = Port::between(&before, &now);
        assert_eq!(ports.sum(&port, queue, sent), Fixed::ONE);
        assert_eq!(ports.product(&port, (queue, sent), &(Fixed::ZERO, Fixed::ONE)), Fixed::ratio(3, 4));
        // A queue that counts twice is one BDP: 1/2 · 2.
        assert_eq!(ports.product(&port, (queue, sent), &(Fixed::ZERO, Fixed::whole(2))), Fixed::ONE);
        let limit_of = |limit| ports.limit(truncated(limit), now.rate);
        let below = |limit| Ports::sum_is_below(&port, queue, sent, &limit_of(limit));
        assert!(!below(Fixed::ZERO) && !below(Fixed::ONE) && below(Fixed::ratio(1001, 1000)));
        let below =
            |limit, least| Ports::product_is_below(&port, (queue, sent), Least::new(least), &limit_of(limit));
        assert!(!below(Fixed::ratio(3, 4), Fixed::ZERO) && below(Fixed::ratio(751, 1000), Fixed::ZERO));
        // The smallest share of 1 makes it 3/2; of one above 1 nothing is said.
        assert!(!below(Fixed::ratio(3, 2), Fixed::ONE) && below(Fixed::ratio(1501, 1000), Fixed::ONE));
        assert!(!below(Fixed::MAX, Fixed::from_bits((1 << 32) + 1)) && below(Fixed::MAX, -Fixed::ONE));
        assert_eq!(ports.round_trips(Time::from_us(3)), Fixed::ratio(1, 4));
        assert_eq!(size_of::<Ports>(), 136);
    }
}
