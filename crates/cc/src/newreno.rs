//! New Reno (RFC 6582, with the window of RFC 5681), the sender.
//!
//! The window grows by a packet per round trip, and below ssthresh by what is acknowledged. A hole halves it, once for
//! everything sent before the hole was found; until all of that is acknowledged (*full acknowledgement*) it neither
//! shrinks again nor grows. A timeout leaves one packet, and slow start up to half of the data in flight.
//!
//! The rest is the transport's: what is a hole (with selective repeat a packet that has not arrived while three later
//! ones have, with go-back-N the receiver's report), and what is sent again at it and at a partial acknowledgement.
//! The bytes in flight are counted without what is lost, so that the window need not be inflated by duplicates
//! (RFC 6675). A window that is not used does not grow (RFC 7661).

use incast_units::{Bytes, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Parameters, Path, Setup,
    Signals,
};
use crate::limits::ssthresh_after_timeout;
use crate::params::{About, Described, Family, Param, Value, param, presets};
use crate::relative::{Relate, relate};

/// Parameters of [`NewReno`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NewRenoParams {
    /// Packets that the window grows by in a round trip.
    pub increase: Fixed,
    /// Whether the flow starts with `initial_window` and doubles it each round trip.
    pub slow_start: bool,
    /// First window in packets, with slow start.
    pub initial_window: u64,
}

presets! {
    impl NewRenoParams {
        "rfc": "RFC 6582, RFC 5681 and RFC 6928: from ten packets by slow start",
        fn rfc() -> Self {
            Self { increase: Fixed::ONE, slow_start: true, initial_window: 10 }
        }

        "avoidance": "starts in congestion avoidance with one base BDP, as in the median paper (2026), Theorem 1",
        /// As the other algorithms start: with one base BDP.
        pub(crate) fn avoidance() -> Self {
            Self { slow_start: false, ..Self::rfc() }
        }
    }
}

impl Parameters for NewRenoParams {
    /// A full packet, in bytes.
    type Derived = Fixed;

    fn derive(&self, path: &Path) -> Fixed {
        Fixed::whole(path.packet.get())
    }
}

/// Defines the first parameters of an algorithm, and then New Reno's parameters inside it. In braces is the class of
/// the default that depends on the algorithm.
macro_rules! reno {
    ([$($at:ident.)*], { slow_start: $slow_start:ident } $(, $first:expr)* $(,)?) => {
        &[
            $($first,)*
            param!(
                Ratio "increase",
                $($at.)* increase,
                Fixed::ZERO,
                Fixed::whole(1000),
                "packets that the window grows by in a round trip",
                Printed,
                "RFC 5681 section 3.1: 1"
            ),
            param!(
                Flag "slow_start",
                $($at.)* slow_start,
                "whether the flow starts with initial_window and doubles it each round trip, and not with one base BDP",
                $slow_start,
                "RFC 5681: true; the other algorithms here: false"
            ),
            param!(
                Count "initial_window",
                $($at.)* initial_window,
                1,
                10_000,
                "first window in packets, with slow start",
                Printed,
                "RFC 6928: 10"
            ),
        ]
    };
}
pub(crate) use reno;

impl Described for NewRenoParams {
    const ABOUT: About = About {
        name: "newreno",
        title: "New Reno",
        summary: "halves the window at a loss, grows by a packet per round trip",
        family: Family::Loss,
        needs: "nothing of switches (TCP: 1988; partial acknowledgements: 1999)",
    };
    const PARAMS: &'static [Param<Self>] = reno!([], { slow_start: Printed });
}

/// The state of one flow under New Reno: 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NewReno {
    /// Congestion window in bytes (cwnd).
    pub(crate) window: Fixed,
    /// Slow start below this, in bytes (ssthresh).
    pub(crate) threshold: Fixed,
    /// An acknowledgement up to this position ends the recovery; everything below was sent before (recover).
    recover: u64,
    /// First unacknowledged byte at the last timeout; `u64::MAX` before the first.
    timed_out: u64,
    /// Whether a loss is being recovered from.
    recovering: bool,
}

impl NewReno {
    /// A flow that starts.
    pub(crate) fn start(params: &NewRenoParams, path: &Path) -> Self {
        let (window, threshold) = if params.slow_start {
            (path.packet.times(params.initial_window), Fixed::MAX)
        } else {
            (path.bdp(), Fixed::ZERO)
        };
        let window = Fixed::whole(window.max(path.packet).get());
        Self { window, threshold, recover: 0, timed_out: u64::MAX, recovering: false }
    }

    /// An acknowledgement has arrived. Returns whether it is a new one outside of a recovery.
    pub(crate) fn acknowledged(&mut self, params: &NewRenoParams, path: &Path, ack: &Ack) -> bool {
        if self.recovering && ack.sequence >= self.recover {
            self.recovering = false;
        }
        if self.recovering || ack.acked == Bytes::ZERO {
            return false;
        }
        let before = Fixed::whole((ack.inflight_now + ack.acked + path.packet).get());
        if before >= self.window {
            let acked = Fixed::whole(ack.acked.get());
            self.window += if self.window < self.threshold {
                acked
            } else {
                params.increase * Fixed::whole(path.packet.get()) * (acked / self.window)
            };
        }
        true
    }

    /// The transport has found a loss.
    pub(crate) fn lost(&mut self, path: &Path, loss: &Loss) {
        let half = Fixed::ratio(1, 2);
        let packet = Fixed::whole(path.packet.get());
        match loss.kind {
            LossKind::Hole | LossKind::Trim if self.recovering && loss.sequence < self.recover => {}
            LossKind::Hole | LossKind::Trim => {
                self.threshold = (self.window * half).max(packet + packet);
                self.window = self.threshold;
                self.recovering = true;
                self.recover = loss.next_sequence;
            }
            LossKind::Timeout => {
                // A second timeout of the same segment leaves it alone (RFC 5681, section 3.1).
                if loss.sequence != self.timed_out {
                    self.threshold = ssthresh_after_timeout(loss, path);
                }
                self.timed_out = loss.sequence;
                self.window = packet;
                self.recovering = false;
            }
        }
    }

    /// The window, at the rate of the line.
    pub(crate) fn allow(&self, path: &Path) -> Allowance {
        Allowance { window: Bytes::new(self.window.floor()), rate: path.line_rate }
    }

    /// ssthresh, if there is one.
    pub(crate) fn ssthresh(&self) -> Option<Value> {
        (self.threshold < Fixed::MAX).then(|| Value::Bytes(Bytes::new(self.threshold.floor())))
    }
}

/// Internal quantities of New Reno.
pub(crate) const SSTHRESH: Internal = Internal {
    name: "ssthresh",
    meaning: "window up to which the flow doubles it each round trip (ssthresh)",
};

impl Relate for NewReno {
    relate! {
        value(): [window, threshold, recovering],
        ahead(): [recover, timed_out],
    }
}

impl CongestionControl for NewReno {
    type Params = NewRenoParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &NewRenoParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &NewRenoParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<NewRenoParams>, _now: Time) -> Self {
        Self::start(&setup.params, &setup.path)
    }

    relate! { as a part }

    fn on_ack(&mut self, setup: &Setup<NewRenoParams>, ack: &Ack, _int: &IntStack) {
        self.acknowledged(&setup.params, &setup.path, ack);
    }

    fn on_loss(&mut self, setup: &Setup<NewRenoParams>, loss: &Loss) {
        self.lost(&setup.path, loss);
    }

    fn allowance(&self, setup: &Setup<NewRenoParams>) -> Allowance {
        self.allow(&setup.path)
    }

    const INTERNALS: &'static [Internal] =
        &[SSTHRESH, Internal { name: "recovering", meaning: "whether a loss is being recovered from" }];

    fn probe(&self, _setup: &Setup<NewRenoParams>, place: usize) -> Option<Value> {
        match place {
            0 => self.ssthresh(),
            1 => Some(Value::Flag(self.recovering)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close, float, flow, lost, us};

    /// An acknowledgement up to `sequence` with `next_sequence` sent.
    fn acked(flow: &mut NewReno, params: &NewRenoParams, sequence: u64, next_sequence: u64) {
        let ack = ack(us(100), us(12), sequence, next_sequence);
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }

    /// A step is resolved to 2^-32 of a packet.
    #[track_caller]
    fn near(window: Fixed, by_hand: f64) {
        assert!((float(window) - by_hand).abs() < 1e-6, "{window} is not {by_hand}");
    }

    #[test]
    fn starts_with_ten_packets_or_one_bdp() {
        assert_eq!(size_of::<NewReno>(), 40);
        for (params, window) in [(NewRenoParams::rfc(), 10_000), (NewRenoParams::avoidance(), 150_000)] {
            let start = Allowance { window: Bytes::new(window), rate: PATH.line_rate };
            assert_eq!(flow::<NewReno>(&params).allowance(&Setup::new(params, PATH)), start);
        }
        assert_eq!(
            flow::<NewReno>(&NewRenoParams::rfc()).probe(&Setup::new(NewRenoParams::rfc(), PATH), 0),
            None
        );
    }

    #[test]
    fn slow_start_adds_what_is_acknowledged_and_avoidance_a_packet_per_window() {
        let params = NewRenoParams::rfc();
        let mut flow = flow::<NewReno>(&params);
        acked(&mut flow, &params, 900, 20_000);
        close(flow.window, 11_000.0);
        // 10 packets: 1000 · 1000/10000 B; below ssthresh the whole packet.
        for (threshold, window) in [(10_000, 10_100.0), (10_001, 11_000.0)] {
            let mut flow =
                NewReno { window: Fixed::whole(10_000), threshold: Fixed::whole(threshold), ..flow };
            acked(&mut flow, &params, 1800, 20_000);
            near(flow.window, window);
        }
        // Ten acknowledgements from ten packets, each + 1/W: 10.958648 packets. (Ten times 0.1 would be 11.)
        let mut flow = NewReno { window: Fixed::whole(10_000), threshold: Fixed::ZERO, ..flow };
        (0..10).for_each(|n| acked(&mut flow, &params, 1800 + n, 20_000));
        assert!((float(flow.window) - 10_958.648).abs() < 1e-3, "{}", flow.window);
    }

    #[test]
    fn a_hole_halves_once_until_all_that_was_sent_before_is_acknowledged() {
        let params = NewRenoParams::avoidance();
        let mut flow = flow::<NewReno>(&params);
        lost(&mut flow, &NewRenoParams::rfc(), LossKind::Hole, 5000);
        close(flow.window, 75_000.0);
        // Partial acknowledgements: the next hole of the same flight does not halve, nothing grows.
        for sequence in [100_000, 299_999] {
            acked(&mut flow, &params, sequence, 310_000);
            lost(&mut flow, &NewRenoParams::rfc(), LossKind::Hole, sequence);
            close(flow.window, 75_000.0);
            assert_eq!(flow.probe(&Setup::new(params, PATH), 1), Some(Value::Flag(true)));
        }
        // The full one ends it, and counts: 1000 · 1000/75000 B.
        acked(&mut flow, &params, 300_000, 310_000);
        assert_eq!(flow.probe(&Setup::new(params, PATH), 1), Some(Value::Flag(false)));
        near(flow.window, 75_000.0 + 1e6 / 75_000.0);
        // A hole from there on is a new loss; two packets are the least.
        lost(&mut flow, &NewRenoParams::rfc(), LossKind::Trim, 300_000);
        near(flow.window, 37_500.0 + 5e5 / 75_000.0);
        flow = NewReno { window: Fixed::whole(3000), recovering: false, ..flow };
        lost(&mut flow, &NewRenoParams::rfc(), LossKind::Hole, 300_000);
        close(flow.window, 2000.0);
        assert_eq!(flow.probe(&Setup::new(params, PATH), 0), Some(Value::Bytes(Bytes::new(2000))));
    }

    #[test]
    fn a_duplicate_and_a_window_that_is_not_used_do_not_grow_it() {
        let params = NewRenoParams::avoidance();
        let setup = Setup::new(params, PATH);
        let full = Ack { inflight_now: Bytes::new(148_000), ..ack(us(100), us(12), 1000, 41_000) };
        for (ack, grows) in [
            (full, true),
            (Ack { inflight_now: Bytes::new(147_999), ..full }, false),
            (Ack { acked: Bytes::ZERO, inflight_now: Bytes::new(200_000), ..full }, false),
        ] {
            let mut flow = flow::<NewReno>(&params);
            flow.on_ack(&setup, &ack, &IntStack::EMPTY);
            assert_eq!(flow.window > Fixed::whole(150_000), grows, "{ack:?}");
        }
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_slow_start_up_to_half_the_flight() {
        // 135,000 B of payload in flight, in packets of 900 in 1000 B: 150,000 B; half of them.
        let params = NewRenoParams::avoidance();
        let mut flow = flow::<NewReno>(&params);
        lost(&mut flow, &NewRenoParams::rfc(), LossKind::Hole, 100_000);
        lost(&mut flow, &NewRenoParams::rfc(), LossKind::Timeout, 165_000);
        close(flow.window, 1000.0);
        close(flow.threshold, 75_000.0);
        // Another one of the same segment leaves ssthresh alone.
        let again = Loss {
            now: us(200),
            kind: LossKind::Timeout,
            sequence: 165_000,
            next_sequence: 165_900,
            ..Loss::BLANK
        };
        flow.on_loss(&Setup::new(params, PATH), &again);
        close(flow.threshold, 75_000.0);
        // The recovery is over: it grows at once, by 74 packets up to ssthresh, and then slowly.
        (0..74).for_each(|n| acked(&mut flow, &params, 168_000 + n, 169_000 + n));
        close(flow.window, 75_000.0);
        acked(&mut flow, &params, 169_000, 170_000);
        assert!(flow.window > Fixed::whole(75_013) && flow.window < Fixed::whole(75_014));
    }
}
