//! Estimators that several algorithms share: batched least squares, and the moving average.
//!
//! [`BatchedEstimator`] is OSCAR's (NSDI'26, Algorithm 1): it watches the acknowledgements of one
//! period and then says what the network was like when their packets were sent.

use incast_units::math::{mul_div, signed_saturating_mul};
use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::Path;
use crate::relative::{Relate, relate};

/// `old` moved towards `new` by the share `weight`: `(1 − weight) · old + weight · new`.
///
/// The weight belongs to the new value, as in TIMELY (SIGCOMM'15, Algorithm 1) and in RFC 6298.
#[inline]
#[must_use]
pub fn ewma(old: Fixed, new: Fixed, weight: Fixed) -> Fixed {
    old + weight * (new - old)
}

/// The slope of a straight line through points, by least squares, in constant space
/// (OSCAR, NSDI'26, Equation 7).
///
/// Coordinates are whole ticks; what a tick is, and that the sums fit in 64 bits, is the caller's
/// concern ([`BatchedEstimator`] writes its bound down). Sums that do not fit saturate.
/// Size: 40 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LeastSquares {
    sum_x: i64,
    sum_y: i64,
    sum_xx: i64,
    sum_xy: i64,
    count: u64,
}

impl LeastSquares {
    /// Adds the point `(x, y)`.
    #[inline]
    pub fn add(&mut self, x: i64, y: i64) {
        self.sum_x = self.sum_x.saturating_add(x);
        self.sum_y = self.sum_y.saturating_add(y);
        self.sum_xx = self.sum_xx.saturating_add(signed_saturating_mul(x, x));
        self.sum_xy = self.sum_xy.saturating_add(signed_saturating_mul(x, y));
        self.count = self.count.saturating_add(1);
    }

    /// Returns the number of points.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the slope; zero when the points do not determine one (fewer than two different `x`).
    ///
    /// Equation 7 divided by `n`, so that the products of sums need no more than 64 bits:
    /// `(Σxy − Σx·Σy/n) / (Σx² − (Σx)²/n)`.
    #[must_use]
    pub fn slope(&self) -> Fixed {
        let (x, y) = (self.sum_x.unsigned_abs(), self.sum_y.unsigned_abs());
        let spread = self.sum_xx.unsigned_abs().saturating_sub(mul_div(x, x, self.count));
        if spread == 0 {
            return Fixed::ZERO;
        }
        let product = mul_div(x, y, self.count).min(i64::MAX as u64) as i64;
        let negative = (self.sum_x < 0) != (self.sum_y < 0);
        let common = self.sum_xy.saturating_sub(if negative { -product } else { product });
        let magnitude = Fixed::ratio(common.unsigned_abs(), spread);
        if common < 0 { -magnitude } else { magnitude }
    }
}

/// Input of a [`BatchedEstimator`] from one acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time at which the acknowledged packet was sent.
    pub sent: Time,
    /// The delay that it met.
    pub delay: Time,
    /// Number of packets that the acknowledgement covers.
    pub packets: u32,
    /// Mean bytes in flight when these packets were sent, themselves included.
    pub inflight: Bytes,
}

/// Rules of a [`BatchedEstimator`], constant over all its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRules {
    /// A batch closes with the first packet sent this long after its start, if three
    /// acknowledgements have come (OSCAR's τ, Algorithm 1 line 7).
    pub period: Time,
    /// The delay of the path without queues.
    pub base_delay: Time,
    /// Whether the next batch begins with the send time of the next acknowledged packet, and not with the
    /// send time of the packet that closed the last one (Algorithm 1 line 12), and closes with the first
    /// packet sent later than a period after that, not with one sent just a period after it. A batch of `n`
    /// packets then spans `n − 1` gaps, and its rate comes out `n/(n − 1)` times too high.
    pub start_with_next: bool,
    /// Let only three acknowledgements of a batch into the gradient: the first, the first of its
    /// second half, and the last. This is what is left of it under ACK coalescing (OSCAR-ACKC,
    /// Appendix A.1). Delay, packets and inflight still count them all.
    pub three_points: bool,
}

/// Estimate of the network's state at the time when the packets of a batch were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Mean delay (Algorithm 1 line 8).
    pub delay: Time,
    /// Slope of the delay over send time (line 9, Equation 7), without unit.
    pub gradient: Fixed,
    /// Packets in the batch.
    pub packets: u64,
    /// Sum over these packets of the bytes in flight when each was sent; divided by `packets` it is
    /// line 10's inflight.
    pub inflight_sum: Bytes,
    /// Send time from the start of the batch to its last packet.
    pub span: Time,
}

impl Estimate {
    /// The rate at which the batch was sent, taking each packet to have `packet` bytes
    /// (Algorithm 1 line 10). In no time: the largest rate.
    #[must_use]
    pub const fn rate(&self, packet: Bytes) -> Rate {
        Rate::of(packet.times(self.packets), self.span)
    }
}

/// Delays farther from the base count as this far in the gradient.
const FARTHEST_DELAY: Time = Time::from_ps(1 << 37);
/// Packets sent more ticks than this from the start of their batch count as this far in the gradient.
const FARTHEST_TICKS: u64 = 1 << 30;
/// Fewest acknowledgements of a batch (OSCAR, Algorithm 1 line 7).
const LEAST_SAMPLES: u32 = 3;

/// Estimates delay, delay gradient, inflight and send rate over batches of acknowledgements, in
/// constant time and space (OSCAR, NSDI'26, Algorithm 1).
///
/// The gradient's coordinates are kept small: send times relative to the batch's start, delays
/// relative to the base delay, both in ticks of `2^s` picoseconds. Let the period have `b` bits of
/// picoseconds and let `2^N` exceed twice the number of full packets that fit into it at line rate.
/// `s` is the smallest number with which packets up to four periods from the start and delays up to
/// 2^37 ps (137 ms) from the base satisfy `2(b + 2 − s) + N ≤ 62` and `(b + 2 − s) + (37 − s) + N ≤ 62`.
/// A tick is 16 ps at 100 Gbps and a period of 6 µs, 131 ns at 1.6 Tbps and 10 ms: a period always has
/// more than 70 000 of them. At most three packets of a batch lie farther than a period from its start
/// (the batch closes with the first of them unless it has fewer than three), so that with send times
/// of up to 2^30 ticks from the start (17 ms at 100 Gbps) Σx² stays below 2^58 + 3 · 2^60. A packet
/// that lies so far away and met more than 2^32 ticks of delay saturates Σxy, as do far more packets
/// than the line can carry: the gradient is wrong then, but nothing overflows.
///
/// Time here has 64 bits and does not wrap, so the reset of Appendix A.1 is not needed; whoever
/// carries 4-byte send times on a wire restores them before they come here.
/// Size: 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BatchedEstimator {
    start: Time,
    line: LeastSquares,
    delay_sum: Time,
    inflight_sum: Bytes,
    packets: u32,
    samples: u32,
    shift: u64,
}

impl BatchedEstimator {
    /// An estimator of periods of `period` on `path`, whose first batch starts at `now`.
    #[must_use]
    pub fn new(path: &Path, period: Time, now: Time) -> Self {
        Self {
            start: now,
            line: LeastSquares::default(),
            delay_sum: Time::ZERO,
            inflight_sum: Bytes::ZERO,
            packets: 0,
            samples: 0,
            shift: u64::from(tick_bits(path, period)),
        }
    }

    /// Length of a tick of the gradient's coordinates.
    #[must_use]
    pub const fn tick(&self) -> Time {
        Time::from_ps(1 << (self.shift & 63))
    }

    /// Takes an acknowledgement in; an estimate comes out when it closes the batch.
    #[inline]
    pub fn add(&mut self, sample: &Sample, rules: &BatchRules) -> Option<Estimate> {
        if rules.start_with_next && self.samples == 0 {
            self.start = sample.sent;
        }
        self.samples = self.samples.saturating_add(1);
        self.packets = self.packets.saturating_add(sample.packets);
        self.delay_sum += sample.delay;
        self.inflight_sum += sample.inflight.times(u64::from(sample.packets));

        let span = sample.sent - self.start;
        let over = span > rules.period || (span == rules.period && !rules.start_with_next);
        let closes = over && self.samples >= LEAST_SAMPLES;
        let seen = self.line.count();
        let is_middle = || seen == 1 && span >= rules.period.times_ratio(1, 2);
        if !rules.three_points || seen == 0 || closes || is_middle() {
            let x = self.ticks(sample.sent, self.start, FARTHEST_TICKS);
            let y = self.ticks(sample.delay, rules.base_delay, FARTHEST_DELAY.ps() >> (self.shift & 63));
            self.line.add(x, y);
        }
        closes.then(|| self.close(sample.sent, span))
    }

    /// Closes the batch, whose last packet was sent at `sent`, `span` after its start, and begins the next;
    /// returns the estimate.
    fn close(&mut self, sent: Time, span: Time) -> Estimate {
        let estimate = Estimate {
            delay: self.delay_sum.times_ratio(1, u64::from(self.samples)),
            gradient: self.line.slope(),
            packets: u64::from(self.packets),
            inflight_sum: self.inflight_sum,
            span,
        };
        self.restart(sent);
        estimate
    }

    /// Processes an acknowledgement without batching: the estimate is from this one alone, and the gradient
    /// is the difference quotient to the one before it. Returns nothing for the first. A span of zero (sent
    /// at the same time, or out of order) carries no gradient and no rate.
    pub fn add_alone(&mut self, sample: &Sample) -> Option<Estimate> {
        let (first, before, start) = (self.samples == 0, self.delay_sum, self.start);
        self.start = sample.sent;
        self.delay_sum = sample.delay;
        self.samples = 1;
        if first {
            return None;
        }
        let span = sample.sent - start;
        let magnitude = |difference: Time| Fixed::ratio(difference.ps(), span.ps());
        let gradient = if span == Time::ZERO {
            Fixed::ZERO
        } else if sample.delay >= before {
            magnitude(sample.delay - before)
        } else {
            -magnitude(before - sample.delay)
        };
        Some(Estimate {
            delay: sample.delay,
            gradient,
            packets: u64::from(sample.packets),
            inflight_sum: sample.inflight.times(u64::from(sample.packets)),
            span,
        })
    }

    fn restart(&mut self, start: Time) {
        *self = Self {
            start,
            line: LeastSquares::default(),
            delay_sum: Time::ZERO,
            inflight_sum: Bytes::ZERO,
            packets: 0,
            samples: 0,
            shift: self.shift,
        };
    }

    /// `at − origin` in ticks, at most `farthest` of them to either side.
    fn ticks(&self, at: Time, origin: Time, farthest: u64) -> i64 {
        let ticks = |span: Time| (span.ps() >> (self.shift & 63)).min(farthest) as i64;
        if at >= origin { ticks(at - origin) } else { -ticks(origin - at) }
    }
}

impl Relate for BatchedEstimator {
    relate! {
        instant(): [start],
        part(): [line],
        value(): [delay_sum, inflight_sum, packets, samples, shift],
    }
}

impl Relate for LeastSquares {
    relate! {
        value(): [sum_x, sum_y, sum_xx, sum_xy, count],
    }
}

/// Bits of a tick in picoseconds: the `s` of [`BatchedEstimator`].
fn tick_bits(path: &Path, period: Time) -> u32 {
    let length = |value: u64| 64 - value.leading_zeros();
    let packets = mul_div(path.line_rate.bytes_in(period).get(), 2, path.packet.get());
    let (b, n) = (length(period.ps()), length(packets));
    let squares = (2 * b + n).saturating_sub(58);
    let products = (b + n).saturating_sub(23);
    squares.max(products).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(value: Fixed) -> f64 {
        value.bits() as f64 / 4_294_967_296.0
    }

    fn path(line_rate: Rate) -> Path {
        Path {
            base_rtt: Time::from_us(10),
            base_owd: Time::from_us(5),
            line_rate,
            packet: Bytes::new(1000),
            payload: Bytes::new(946),
            hops: 2,
        }
    }

    fn rules(period: Time, base_delay: Time) -> BatchRules {
        BatchRules { period, base_delay, start_with_next: false, three_points: false }
    }

    #[test]
    fn sizes_are_as_documented() {
        assert_eq!(size_of::<LeastSquares>(), 40);
        assert_eq!(size_of::<BatchedEstimator>(), 80);
    }

    #[test]
    fn moving_average_weighs_the_new_value() {
        // 0.125 · 8 + 0.875 · (−4) = 1 − 3.5 = −2.5.
        let average = ewma(Fixed::whole(8), -Fixed::whole(4), Fixed::ratio(7, 8));
        assert_eq!(average, -Fixed::ratio(5, 2));
    }

    #[test]
    fn slope_worked_by_hand() {
        // Equation 7 for (0, 1), (2, 2), (4, 6): n = 3, Σx = 6, Σy = 9, Σx² = 20, Σxy = 28:
        // (3·28 − 6·9) / (3·20 − 36) = 30/24 = 1.25.
        let mut line = LeastSquares::default();
        for (x, y) in [(0, 1), (2, 2), (4, 6)] {
            line.add(x, y);
        }
        assert_eq!(line.slope(), Fixed::ratio(5, 4));
        // Mirrored, its sign turns; with Σx negative the product's sign must follow.
        let mut mirrored = LeastSquares::default();
        for (x, y) in [(0, 1), (-2, 2), (-4, 6)] {
            mirrored.add(x, y);
        }
        assert_eq!(mirrored.slope(), -Fixed::ratio(5, 4));
        // With Σy negative too, and with both: −1.25 and 1.25.
        for (sign, slope) in [(1, -Fixed::ratio(5, 4)), (-1, Fixed::ratio(5, 4))] {
            let mut line = LeastSquares::default();
            for (x, y) in [(0, -1), (2, -2), (4, -6)] {
                line.add(sign * x, y);
            }
            assert_eq!(line.slope(), slope);
        }
    }

    #[test]
    fn points_without_a_slope_have_slope_zero() {
        let mut line = LeastSquares::default();
        assert_eq!(line.slope(), Fixed::ZERO);
        line.add(7, 5);
        assert_eq!(line.slope(), Fixed::ZERO);
        line.add(7, 9);
        assert_eq!(line.slope(), Fixed::ZERO);
    }

    /// Four packets of 1000 B, 2 µs apart, at a base delay of 10 µs, delays 12, 13, 14, 15 µs.
    fn four(estimator: &mut BatchedEstimator, rules: &BatchRules, from: u64) -> Option<Estimate> {
        let mut last = None;
        for i in 1..=4 {
            assert_eq!(last, None, "closed too early");
            last = estimator.add(
                &Sample {
                    sent: Time::from_us(from + 2 * i),
                    delay: Time::from_us(11 + i),
                    packets: 1,
                    inflight: Bytes::new(1000 * i),
                },
                rules,
            );
        }
        last
    }

    #[test]
    fn batch_worked_by_hand() {
        // Period 8 µs from 100 µs: the packet sent at 108 µs closes. Mean delay (12+13+14+15)/4 =
        // 13.5 µs; the delay grows 1 µs in 2 µs: gradient 0.5; inflight (1+2+3+4)/4 = 2.5 KB; rate
        // 4 · 1000 B / 8 µs = 4 Gbps.
        let rules = rules(Time::from_us(8), Time::from_us(10));
        let mut estimator =
            BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::from_us(100));
        let estimate = four(&mut estimator, &rules, 100).unwrap();
        assert_eq!(estimate.delay, Time::from_ns(13_500));
        assert!((f(estimate.gradient) - 0.5).abs() < 1e-4, "{}", estimate.gradient);
        assert_eq!(estimate.packets, 4);
        assert_eq!(estimate.inflight_sum, Bytes::new(10_000));
        assert_eq!(estimate.span, Time::from_us(8));
        assert_eq!(estimate.rate(Bytes::new(1000)), Rate::from_gbps(4));
        // The next batch starts with the closing packet's send time (line 12), so it is the same.
        assert_eq!(four(&mut estimator, &rules, 108), Some(estimate));
    }

    #[test]
    fn batch_that_starts_with_the_next_packet_spans_one_gap_less() {
        // From the packet sent at 102 µs the fourth, at 108 µs, is 6 µs away, beyond the period of 5 µs.
        let rules = BatchRules { start_with_next: true, ..rules(Time::from_us(5), Time::from_us(10)) };
        let mut estimator =
            BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::from_us(100));
        let estimate = four(&mut estimator, &rules, 100).unwrap();
        assert_eq!(estimate.span, Time::from_us(6));
        // 4 · 1000 B / 6 µs = 5.33 Gbps.
        assert_eq!(estimate.rate(Bytes::new(1000)), Rate::from_bps(5_333_333_333));
        // Just a period away, the fourth does not close it.
        let rules = BatchRules { period: Time::from_us(6), ..rules };
        let mut estimator =
            BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::from_us(100));
        assert_eq!(four(&mut estimator, &rules, 100), None);
    }

    #[test]
    fn packets_far_from_the_start_keep_their_slope() {
        // Period 6 µs at 100 Gbps: a tick of 16 ps. Three packets 5 ms apart, 312.5 million ticks, rise
        // by 0.25 in 1; 2^30 ticks are 17.2 ms.
        let rules = rules(Time::from_us(6), Time::ZERO);
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        assert_eq!(estimator.tick(), Time::from_ps(16));
        let at = |ms: u64, estimator: &mut BatchedEstimator| {
            let (sent, delay) = (Time::from_ms(ms), Time::from_us(250 * ms));
            estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(1) }, &rules)
        };
        assert_eq!(at(5, &mut estimator), None);
        assert_eq!(at(10, &mut estimator), None);
        assert_eq!(at(15, &mut estimator).unwrap().gradient, Fixed::ratio(1, 4));
        // A packet at 30 ms, the third, counts as 2^30 ticks away. With delays of 0, 0 and 1 ms, a = 5 ms
        // = 312 500 000 ticks, c = 2^30, d = 1 ms = 62 500 000: d(2c − 3a)/(6a² + 2c² − 6ac) = 0.086 081 641 6.
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        let mut estimate = None;
        for (sent, delay) in [(5, 0), (10, 0), (30, 1)] {
            let (sent, delay) = (Time::from_ms(sent), Time::from_ms(delay));
            estimate = estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(1) }, &rules);
        }
        let gradient = f(estimate.unwrap().gradient);
        assert!((gradient - 0.086_081_641_6).abs() < 1e-8, "{gradient}");
        // Delays from 2^37 ps (137 ms) on count as that: with 0, 200 and 400 ms at 2, 4 and 8 us, in
        // ticks (125 000, 0), (250 000, 2^33), (500 000, 2^33), the slope is
        // 2^33 · (3 · 750 000 − 875 000 · 2)/((3 · 21 − 49) · 125 000^2) = 2^33/437 500 = 19 634.1.
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        let mut estimate = None;
        for (sent, delay) in [(2, 0), (4, 200), (8, 400)] {
            let (sent, delay) = (Time::from_us(sent), Time::from_ms(delay));
            estimate = estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(1) }, &rules);
        }
        let gradient = f(estimate.unwrap().gradient);
        assert!((gradient - f64::from(1 << 30) * 8.0 / 437_500.0).abs() < 1e-6, "{gradient}");
        // The sums at that edge: three packets at 2^30 ticks, whatever they met.
        let (x, y) = (1_i64 << 30, 1_i64 << 32);
        assert!(3 * i128::from(x * x) + (1 << 58) < i128::from(i64::MAX));
        assert!(x.checked_mul(y).is_some());
    }

    #[test]
    fn a_packet_of_the_batch_before_joins_at_a_negative_time() {
        // The batch from 100 µs with a packet sent at 98 µs, out of order: x = −2, 2, 4, 8 µs and
        // y = 1, 2, 4, 5 µs above the base of 10 µs. n = 4, Σx = 12, Σy = 12, Σx² = 88, Σxy = 58:
        // (4·58 − 12·12)/(4·88 − 144) = 88/208. As a positive time it would be 0.583.
        let rules = rules(Time::from_us(8), Time::from_us(10));
        let mut estimator =
            BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::from_us(100));
        let mut estimate = None;
        for (sent, delay) in [(98, 11), (102, 12), (104, 14), (108, 15)] {
            let (sent, delay) = (Time::from_us(sent), Time::from_us(delay));
            estimate = estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(5) }, &rules);
        }
        let estimate = estimate.unwrap();
        assert!((f(estimate.gradient) - 88.0 / 208.0).abs() < 1e-4, "{}", estimate.gradient);
        // It spans from the start to the packet that closed it, and counts them all.
        assert_eq!((estimate.span, estimate.packets), (Time::from_us(8), 4));
        assert_eq!(estimate.delay, Time::from_us(13));
        // Delays below the base count as negative too: y = −1, 0, 1, 2 over x = 2, 4, 6, 8.
        let mut estimate = None;
        for (sent, delay) in [(110, 9), (112, 10), (114, 11), (116, 12)] {
            let (sent, delay) = (Time::from_us(sent), Time::from_us(delay));
            estimate = estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(5) }, &rules);
        }
        assert!((f(estimate.unwrap().gradient) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn a_packet_out_of_order_does_not_close_a_batch() {
        // Sent before the start, however far: its span is none.
        let rules = rules(Time::from_us(8), Time::ZERO);
        let mut estimator =
            BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::from_us(100));
        for sent in [101, 102, 103, 50, 80] {
            let sample = Sample {
                sent: Time::from_us(sent),
                delay: Time::from_us(9),
                packets: 1,
                inflight: Bytes::new(5),
            };
            assert_eq!(estimator.add(&sample, &rules), None, "{sent}");
        }
        let closing =
            Sample { sent: Time::from_us(109), delay: Time::from_us(9), packets: 1, inflight: Bytes::new(5) };
        assert_eq!(estimator.add(&closing, &rules).map(|e| (e.span, e.packets)), Some((Time::from_us(9), 6)));
    }

    #[test]
    fn ticks_are_as_wide_as_the_bound_asks() {
        // b bits of the period, N of twice its packets of 1000 B, and the larger of
        // ⌈(2b + N − 58)/2⌉ and ⌈(b + N − 23)/2⌉:
        // 6 µs = 6·10^6 ps, b = 23; 100 Gbps: 75 packets, 150, N = 8: max(−2, 8)/2 = 4.
        // 5 µs, b = 23; 62 packets, 125, N = 7: max(−5, 7)/2 = 4 (rounded up).
        // 6 µs at 10 Gbps: 7500 B, 15, N = 4: 4/2 = 2.
        // 10 ms = 10^10 ps, b = 34; 1.6 Tbps: 2·10^9 B, 4 000 000, N = 22: max(32, 33)/2 = 17.
        // 40 ms, b = 36; 10 Gbps: 5·10^7 B, 100 000, N = 17: max(31, 30)/2 = 16.
        // 1 µs at 1 Gbps, b = 20; 125 B, no packet, N = 0: 0.
        for (period, gbps, bits) in [
            (Time::from_us(6), 100, 4),
            (Time::from_us(5), 100, 4),
            (Time::from_us(6), 10, 2),
            (Time::from_ms(10), 1600, 17),
            (Time::from_ms(40), 10, 16),
            (Time::from_us(1), 1, 0),
        ] {
            let estimator = BatchedEstimator::new(&path(Rate::from_gbps(gbps)), period, Time::ZERO);
            assert_eq!(estimator.tick(), Time::from_ps(1 << bits), "{period} at {gbps} Gbps");
        }
    }

    #[test]
    fn waits_for_three_acknowledgements() {
        let rules = rules(Time::from_us(5), Time::ZERO);
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        let mut at = |us| {
            let sent = Time::from_us(us);
            estimator.add(&Sample { sent, delay: sent, packets: 9, inflight: Bytes::new(1) }, &rules)
        };
        assert_eq!(at(6), None);
        assert_eq!(at(7), None);
        let estimate = at(8).unwrap();
        assert_eq!((estimate.packets, estimate.inflight_sum), (27, Bytes::new(27)));
    }

    #[test]
    fn three_points_feed_the_gradient_and_all_feed_the_rest() {
        // Period 8 µs from 0. Sent at 2, 3, 4, 6, 8 µs: first 2, first of the second half 4, last 8.
        // Delays 1, 9, 6, 9, 7 µs: (2, 1), (4, 6), (8, 7): n = 3, Σx = 14, Σy = 14, Σx² = 84, Σxy = 82:
        // (3·82 − 14·14)/(3·84 − 14²) = 50/56. (Through the first and the last alone it would be 1.)
        let rules = BatchRules { three_points: true, ..rules(Time::from_us(8), Time::ZERO) };
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        let mut estimate = None;
        for (sent, delay) in [(2, 1), (3, 9), (4, 6), (6, 9), (8, 7)] {
            let (sent, delay) = (Time::from_us(sent), Time::from_us(delay));
            estimate = estimator.add(&Sample { sent, delay, packets: 2, inflight: Bytes::new(5) }, &rules);
        }
        let estimate = estimate.unwrap();
        assert!((f(estimate.gradient) - 50.0 / 56.0).abs() < 1e-6, "{}", estimate.gradient);
        // (1 + 9 + 6 + 9 + 7)/5 = 6.4 µs.
        assert_eq!((estimate.delay, estimate.packets), (Time::from_ns(6400), 10));
    }

    #[test]
    fn alone_takes_the_difference_quotient() {
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), Time::from_us(5), Time::ZERO);
        let mut at = |sent, delay| {
            let (sent, delay) = (Time::from_us(sent), Time::from_us(delay));
            estimator.add_alone(&Sample { sent, delay, packets: 1, inflight: Bytes::new(5000) })
        };
        assert_eq!(at(10, 20), None);
        // (17 − 20)/(14 − 10) = −0.75.
        let estimate = at(14, 17).unwrap();
        assert_eq!((estimate.gradient, estimate.span), (-Fixed::ratio(3, 4), Time::from_us(4)));
        assert_eq!((estimate.delay, estimate.packets), (Time::from_us(17), 1));
        // Sent at the same time: no gradient.
        assert_eq!(at(14, 18).unwrap().gradient, Fixed::ZERO);
        // (8 − 18)/1 = −10.
        assert_eq!(at(15, 8).unwrap().gradient, -Fixed::whole(10));
    }

    /// The documented bound at its edge: twice as many packets as fit, all with the largest send time
    /// and delay, at the fastest line and the longest round trip. Nothing may saturate.
    #[test]
    fn sums_fit_at_the_edge() {
        for (rate, period) in [
            (Rate::from_gbps(1600), Time::from_ms(10)),
            (Rate::from_gbps(1600), Time::from_us(5)),
            (Rate::from_gbps(100), Time::from_us(6)),
            (Rate::from_gbps(10), Time::from_us(1)),
            (Rate::from_gbps(10), Time::from_ms(40)),
        ] {
            let estimator = BatchedEstimator::new(&path(rate), period, Time::ZERO);
            let tick = estimator.tick().ps();
            let packets = u128::from(2 * rate.bytes_in(period).get() / 1000);
            let x = u128::from(4 * period.ps() / tick);
            let y = u128::from(FARTHEST_DELAY.ps() / tick);
            assert!(packets * x * x <= i64::MAX as u128, "{rate} {period}");
            assert!(packets * x * y <= i64::MAX as u128, "{rate} {period}");
            assert!(period.ps() / tick > 70_000, "{rate} {period}: {tick} ps a tick");
        }
    }

    /// As above, run for real: at 1.6 Tbps a period of 10 ms takes 1.25 million packets of 1600 B, and
    /// the delay grows by nine periods within it, as when ten flows start at once.
    #[test]
    fn slope_is_right_at_the_edge() {
        let (rate, period) = (Rate::from_gbps(1600), Time::from_ms(10));
        let rules = rules(period, period);
        let mut estimator = BatchedEstimator::new(&path(rate), period, Time::ZERO);
        let mut estimate = None;
        for i in 1..=1_250_000_u64 {
            let sent = Time::from_ns(8 * i);
            let delay = period + sent.times(9);
            estimate = estimator.add(&Sample { sent, delay, packets: 1, inflight: Bytes::new(1) }, &rules);
        }
        let estimate = estimate.unwrap();
        assert!((f(estimate.gradient) - 9.0).abs() < 1e-6, "{}", estimate.gradient);
        assert_eq!(estimate.rate(Bytes::new(1600)), rate);
    }

    #[test]
    fn storms_saturate_instead_of_overflowing() {
        let rules = rules(Time::from_us(5), Time::ZERO);
        let mut estimator = BatchedEstimator::new(&path(Rate::from_gbps(100)), rules.period, Time::ZERO);
        for i in 0..100_000_u64 {
            let sent = if i % 2 == 0 { Time::NEVER } else { Time::ZERO };
            let sample = Sample { sent, delay: Time::NEVER, packets: u32::MAX, inflight: Bytes::UNLIMITED };
            let _ = estimator.add(&sample, &rules);
        }
    }
}
