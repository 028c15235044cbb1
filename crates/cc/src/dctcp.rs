//! DCTCP (Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257), the sender.
//!
//! The marked share of each window of data feeds an average α; the first mark of a window cuts the
//! congestion window by α/2; without marks it grows by one packet per round trip.
//!
//! Where the paper leaves it to TCP: after a cut or a halving the window neither shrinks again nor
//! grows until everything sent before it is acknowledged (congestion window reduced, RFC 3168); a
//! hole halves the window; a timeout leaves one packet, from which the flow doubles its window each
//! round trip up to ssthresh = max(FlightSize/2, 2 packets) (RFC 5681); a window that is not used does
//! not grow (RFC 7661), which matters here because a flow alone on its path is held by its own
//! link's rate and would grow for ever.
//!
//! Like every algorithm here it starts with one base BDP, in congestion avoidance; to start with slow
//! start is an option. The "hardware" DCTCP of the HPCC repository works on rates; its increase, 615 Mbps per
//! window at 100 Gbps, is one packet per round trip of 13 us, so that it needs no preset of its own.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Setup, Signals, derived,
};
use crate::limits::ssthresh_after_timeout;
use crate::median::{Filtered, Signal};
use crate::newreno::SSTHRESH;
use crate::order::Sample;
use crate::params::{About, Described, Family, Kernel, Param, Value, param, presets};
use crate::relative::relate;

/// Parameters of [`Dctcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DctcpParams {
    /// Gain g of α.
    pub g: Fixed,
    /// First α.
    pub alpha_init: Fixed,
    /// Packets that the window grows by in a round trip.
    pub increase: Fixed,
    /// Whether the flow starts with `initial_window` and doubles it each round trip.
    pub slow_start: bool,
    /// First window in packets, with slow start.
    pub initial_window: u64,
    /// Smallest window, in packets.
    pub min_window: Fixed,
    /// Share of the window that a hole takes.
    pub hole_cut: Fixed,
}

presets! {
    impl DctcpParams {
        "paper": "DCTCP, SIGCOMM 2010, and RFC 8257",
        fn paper() -> Self {
            Self {
                g: Fixed::ratio(1, 16),
                alpha_init: Fixed::ONE,
                increase: Fixed::ONE,
                slow_start: false,
                initial_window: 10,
                min_window: Fixed::ONE,
                hole_cut: Fixed::ratio(1, 2),
            }
        }
    }
}

derived! {
    /// Quantities that DCTCP derives once from its parameters and a path; in bytes.
    pub struct DctcpDerived of DctcpParams, |params, path|
    let packet = Fixed::whole(path.packet.get());
    {
        /// A full packet.
        pub packet: Fixed = packet,
        /// Smallest window.
        pub floor: Fixed = params.min_window * packet,
        /// Growth in a round trip.
        pub increase: Fixed = params.increase * packet,
    }
}

impl Described for DctcpParams {
    const ABOUT: About = About {
        name: "dctcp",
        title: "DCTCP",
        summary: "cuts the window by the marked share, grows by a packet per round trip",
        family: Family::Ecn,
        needs: "switches that mark above a threshold (ECN: 2001); hosts that echo each mark (Linux 3.18: 2014)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "g",
            g,
            Fixed::ratio(1, 65_536),
            Fixed::ONE,
            "gain of the estimate alpha",
            Printed,
            "DCTCP section 3.1 and RFC 8257 section 4.2: 1/16"
        ),
        param!(
            Ratio "alpha_init",
            alpha_init,
            Fixed::ZERO,
            Fixed::ONE,
            "first value of alpha",
            Printed,
            "RFC 8257 section 4.2: 1"
        ),
        param!(
            Ratio "increase",
            increase,
            Fixed::ZERO,
            Fixed::whole(1000),
            "packets that the window grows by in a round trip",
            Printed,
            "DCTCP section 3.1, as TCP: 1"
        ),
        param!(
            Flag "slow_start",
            slow_start,
            "whether the flow starts with initial_window and doubles it each round trip",
            Ours,
            "false: all algorithms start here with one base BDP; RFC 5681: true"
        ),
        param!(
            Count "initial_window",
            initial_window,
            1,
            10_000,
            "first window in packets, with slow start",
            Printed,
            "RFC 6928: 10"
        ),
        param!(
            Ratio "min_window",
            min_window,
            Fixed::ratio(1, 100),
            Fixed::whole(100),
            "smallest window in packets; below 1 the packets are paced at window/RTT",
            Printed,
            "RFC 5681: 1"
        ),
        param!(
            Ratio "hole_cut",
            hole_cut,
            Fixed::ZERO,
            Fixed::ratio(99, 100),
            "share of the window that a hole takes, once per window of data; 0: none, for packets that overtake each other",
            Printed,
            "RFC 8257 section 3.5, as TCP: 0.5"
        ),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_dctcp", Signals::ECN));
}

/// The state of one flow under DCTCP: 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dctcp {
    /// Congestion window in bytes (cwnd).
    window: Fixed,
    /// Slow start below this, in bytes (ssthresh).
    threshold: Fixed,
    /// Average marked share (α).
    alpha: Fixed,
    /// An acknowledgement beyond this position ends the window of observation.
    window_end: u64,
    /// An acknowledgement beyond this position ends the reduction; everything below was sent before.
    reduced_until: u64,
    /// First unacknowledged byte at the last timeout; `u64::MAX` before the first.
    timed_out: u64,
    /// Packets acknowledged in this window of observation.
    acked: u64,
    /// Number of them that were marked.
    marked: u64,
    /// Last measured round trip.
    rtt: Time,
    /// Whether a reduction is going on.
    reducing: bool,
}

impl Dctcp {
    /// Multiplies the window by `keep`, once per window of data.
    fn reduce(&mut self, setup: &Setup<DctcpParams>, keep: Fixed, until: u64) {
        self.window = (self.window * keep).max(setup.derived.floor);
        self.threshold = self.window;
        self.reducing = true;
        self.reduced_until = until;
    }

    fn grow(&mut self, setup: &Setup<DctcpParams>, ack: &Ack) {
        let acked = Fixed::whole(ack.acked.get());
        let before = Fixed::whole((ack.inflight_now + ack.acked + setup.path.packet).get());
        if before < self.window {
            return;
        }
        self.window += if self.window < self.threshold {
            acked
        } else {
            // Below one packet, one more for each acknowledged packet would not be one per RTT.
            setup.derived.increase * (acked / self.window.max(setup.derived.packet))
        };
    }

    /// An acknowledgement, of whose packets `marked` count as marked.
    fn acknowledged(&mut self, setup: &Setup<DctcpParams>, ack: &Ack, marked: u32) {
        let params = &setup.params;
        self.rtt = ack.rtt();
        self.acked = self.acked.saturating_add(u64::from(ack.packets));
        self.marked = self.marked.saturating_add(u64::from(marked));
        if ack.sequence > self.window_end {
            // RFC 8257 section 3.3, steps 5 to 7.
            let share = Fixed::ratio(self.marked, self.acked).min(Fixed::ONE);
            self.alpha = (Fixed::ONE - params.g) * self.alpha + params.g * share;
            (self.acked, self.marked) = (0, 0);
            self.window_end = ack.next_sequence;
        }
        if self.reducing && ack.sequence > self.reduced_until {
            self.reducing = false;
        }
        if self.reducing {
            return;
        }
        if marked > 0 {
            let keep = Fixed::ONE - self.alpha * Fixed::ratio(1, 2);
            self.reduce(setup, keep, ack.next_sequence);
        } else {
            self.grow(setup, ack);
        }
    }
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &DctcpParams) -> Signals {
        Signals::ECN
    }

    fn overhead(_params: &DctcpParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<DctcpParams>, _now: Time) -> Self {
        let Setup { params, path, derived, .. } = setup;
        let (window, threshold) = if params.slow_start {
            (Fixed::whole(path.packet.times(params.initial_window).get()), Fixed::MAX)
        } else {
            (Fixed::whole(path.bdp().get()), Fixed::ZERO)
        };
        Self {
            window: window.max(derived.floor),
            threshold,
            alpha: params.alpha_init,
            window_end: 0,
            reduced_until: 0,
            timed_out: u64::MAX,
            acked: 0,
            marked: 0,
            rtt: path.base_rtt,
            reducing: false,
        }
    }

    relate! { |setup|
        value(): [window, threshold, alpha, acked, marked, rtt, reducing],
        ahead(): [window_end, reduced_until, timed_out],
    }

    fn on_ack(&mut self, setup: &Setup<DctcpParams>, ack: &Ack, _int: &IntStack) {
        self.acknowledged(setup, ack, ack.marked);
    }

    fn on_loss(&mut self, setup: &Setup<DctcpParams>, loss: &Loss) {
        let Setup { path, derived, .. } = setup;
        match loss.kind {
            LossKind::Hole | LossKind::Trim if self.reducing && loss.sequence < self.reduced_until => {}
            LossKind::Hole if setup.params.hole_cut == Fixed::ZERO => {}
            LossKind::Hole => {
                self.reduce(setup, Fixed::ONE - setup.params.hole_cut, loss.next_sequence);
            }
            LossKind::Trim => self.reduce(setup, Fixed::ratio(1, 2), loss.next_sequence),
            LossKind::Timeout => {
                // A second timeout of the same segment leaves it alone (RFC 5681, section 3.1).
                if loss.sequence != self.timed_out {
                    self.threshold = ssthresh_after_timeout(loss, path);
                }
                self.timed_out = loss.sequence;
                self.window = derived.packet.max(derived.floor);
                self.reducing = false;
            }
        }
    }

    fn allowance(&self, setup: &Setup<DctcpParams>) -> Allowance {
        let Setup { path, .. } = setup;
        let window = Bytes::new(self.window.floor()).max(Bytes::new(1));
        let rate = if window >= path.packet {
            path.line_rate
        } else {
            Rate::of(window, self.rtt).min(path.line_rate).max(Rate::from_bps(1))
        };
        Allowance { window, rate }
    }

    const INTERNALS: &'static [Internal] =
        &[Internal { name: "alpha", meaning: "estimate of the marked share (alpha)" }, SSTHRESH];

    fn probe(&self, _setup: &Setup<DctcpParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.alpha)),
            1 if self.threshold == Fixed::MAX => None,
            1 => Some(Value::Bytes(Bytes::new(self.threshold.floor()))),
            _ => None,
        }
    }
}

impl Filtered for Dctcp {
    const SIGNAL: Signal = Signal::Marks;

    fn sample(&mut self, _setup: &Setup<DctcpParams>, ack: &Ack) -> Option<Sample> {
        Some(Sample::share(ack.marked, ack.packets))
    }

    fn step(&mut self, setup: &Setup<DctcpParams>, ack: &Ack, _filtered: Option<Sample>, marked: u32) {
        self.acknowledged(setup, ack, marked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close, flow, lost, us};

    /// Delivers an acknowledgement up to `sequence` with `next_sequence` sent, marked or not.
    fn acked(flow: &mut Dctcp, params: &DctcpParams, sequence: u64, next_sequence: u64, marked: bool) {
        let ack = Ack { marked: u32::from(marked), ..ack(us(100), us(12), sequence, next_sequence) };
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }

    #[test]
    fn starts_with_one_bdp_at_line_rate() {
        let params = DctcpParams::default();
        let full = Allowance { window: Bytes::new(150_000), rate: Rate::from_gbps(100) };
        assert_eq!(flow::<Dctcp>(&params).allowance(&Setup::new(params, PATH)), full);
        assert_eq!(Dctcp::signals(&params), Signals::ECN);
        assert_eq!(size_of::<Dctcp>(), 80);
    }

    #[test]
    fn one_cut_for_each_window_by_half_of_alpha() {
        // The first ack ends the (empty) first window unmarked: α = 15/16. The second is marked:
        // 150 KB · (1 − 15/32), once, after 1000 · 1000/150000 of growth with the first.
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        acked(&mut flow, &params, 1000, 100_000, false);
        close(flow.alpha, 0.9375);
        let near = |flow: &Dctcp, bytes: f64| {
            // A step is resolved to 2^-32 of a packet, 2.3e-7 B.
            assert!((crate::testing::float(flow.window) - bytes).abs() < 1e-6, "{}", flow.window);
        };
        near(&flow, 150_006.666_666_667);
        acked(&mut flow, &params, 2000, 100_000, true);
        near(&flow, 150_006.666_666_667 * (1.0 - 0.9375 / 2.0));
        let after = flow.window;
        // Neither marks nor their absence move it while what was sent before comes back.
        acked(&mut flow, &params, 3000, 101_000, true);
        acked(&mut flow, &params, 100_000, 110_000, false);
        assert_eq!(flow.window, after);
        // With the ack that ends this window, 3 of its 4 packets were marked:
        // α = 15/16 · 15/16 + 1/16 · 3/4.
        acked(&mut flow, &params, 101_000, 120_000, true);
        close(flow.alpha, 0.9375 * 0.9375 + 0.0625 * 0.75);
        assert!(flow.window < after && flow.reducing);
    }

    #[test]
    fn a_mark_counts_from_the_first_ack_on() {
        // A duplicate acknowledgement (the first packet is missing) with a mark: half of it, as α is 1.
        let params = DctcpParams::default();
        let mut first = flow::<Dctcp>(&params);
        acked(&mut first, &params, 0, 150_000, true);
        close(first.window, 75_000.0);
        // If the first acknowledgement advances, its one packet of one is a share of 1: α stays 1.
        let mut first = flow::<Dctcp>(&params);
        acked(&mut first, &params, 1000, 150_000, true);
        close(first.alpha, 1.0);
        close(first.window, 75_000.0);
    }

    #[test]
    fn grows_by_one_packet_in_a_round_trip() {
        // 150 acks of 1000 B at 150 KB: nearly 1000 B (the window grows meanwhile).
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        for n in 1..=150 {
            acked(&mut flow, &params, 1000 * n, 1000 * n + 150_000, false);
        }
        let grown = crate::testing::float(flow.window) - 150_000.0;
        assert!((990.0..1000.0).contains(&grown), "{grown}");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        let idle = Ack { inflight_now: Bytes::new(40_000), ..ack(us(100), us(12), 1000, 41_000) };
        flow.on_ack(&Setup::new(params, PATH), &idle, &IntStack::EMPTY);
        close(flow.window, 150_000.0);
        // 148 000 B in flight now, the 1000 B acknowledged and room for one packet more are the window:
        // it is used. With a byte less it is not.
        for (inflight, grows) in [(147_999, false), (148_000, true)] {
            let mut flow = flow;
            let ack = Ack { inflight_now: Bytes::new(inflight), ..idle };
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            assert_eq!(flow.window > Fixed::whole(150_000), grows, "{inflight}");
        }
    }

    #[test]
    fn a_hole_halves_once_for_each_window() {
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        close(flow.window, 75_000.0);
        lost(&mut flow, &params, LossKind::Hole, 299_000);
        close(flow.window, 75_000.0);
        // Sent after the first: again.
        lost(&mut flow, &params, LossKind::Hole, 300_000);
        close(flow.window, 37_500.0);
    }

    #[test]
    fn a_hole_may_take_another_share_or_none() {
        // A quarter; with none the window grows on: 1000 · 1000/150000 B. A timeout and a trimmed packet are losses.
        let params = DctcpParams { hole_cut: Fixed::ratio(1, 4), ..DctcpParams::default() };
        let mut flow = flow::<Dctcp>(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        close(flow.window, 112_500.0);
        let params = DctcpParams { hole_cut: Fixed::ZERO, ..params };
        let mut flow = self::flow::<Dctcp>(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        acked(&mut flow, &params, 6000, 300_000, false);
        assert!((crate::testing::float(flow.window) - 150_006.666_667).abs() < 1e-5, "{}", flow.window);
        lost(&mut flow, &params, LossKind::Trim, 7000);
        assert!(flow.window < Fixed::whole(75_004));
    }

    #[test]
    fn a_timeout_leaves_one_packet() {
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        lost(&mut flow, &params, LossKind::Timeout, 5000);
        close(flow.window, 1000.0);
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate, Rate::from_gbps(100));
        // Then 135,000 B of payload in flight, in packets of 900 in 1000 B: 150,000 B. Slow start up to
        // half of them (RFC 5681, Equation 4), however the flow began: 74 packets acknowledged lead to
        // 75,000 B, from which it grows by 1000 · 1000/75,000 B.
        lost(&mut flow, &params, LossKind::Timeout, 165_000);
        close(flow.threshold, 75_000.0);
        for n in 0..74 {
            acked(&mut flow, &params, 168_000 + n, 169_000 + n, false);
        }
        close(flow.window, 75_000.0);
        acked(&mut flow, &params, 169_000, 170_000, false);
        assert!(flow.window > Fixed::whole(75_013) && flow.window < Fixed::whole(75_014));
        // A smallest window of four packets holds after a timeout too.
        let params = DctcpParams { min_window: Fixed::whole(4), ..params };
        lost(&mut flow, &params, LossKind::Timeout, 200_000);
        close(flow.window, 4000.0);
    }

    #[test]
    fn a_timeout_ends_the_reduction() {
        // A cut until 300 000, then a timeout: the next acknowledgement grows the window by its 1000 B,
        // although what was sent before the cut is still coming back.
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        acked(&mut flow, &params, 1000, 300_000, true);
        lost(&mut flow, &params, LossKind::Timeout, 1000);
        acked(&mut flow, &params, 2000, 300_000, false);
        close(flow.window, 2000.0);
    }

    #[test]
    fn a_second_timeout_of_the_same_segment_leaves_ssthresh_alone() {
        // RFC 5681, section 3.1: nothing but that segment is in flight then.
        let params = DctcpParams::default();
        let mut flow = flow::<Dctcp>(&params);
        let mut timeout = |sequence, next_sequence| {
            let loss = Loss { now: us(100), kind: LossKind::Timeout, sequence, next_sequence, ..Loss::BLANK };
            flow.on_loss(&Setup::new(params, PATH), &loss);
            crate::testing::float(flow.threshold)
        };
        // 90 KB of payload: 100 KB.
        assert_eq!(timeout(0, 90_000), 50_000.0);
        assert_eq!(timeout(0, 900), 50_000.0);
        // Another segment, one packet in flight: at least two packets.
        assert_eq!(timeout(900, 1800), 2000.0);
        assert_eq!(timeout(900, 90_000), 2000.0);
        assert_eq!(timeout(1800, 91_800), 50_000.0);
    }

    #[test]
    fn slow_start_ends_with_the_first_mark() {
        let params = DctcpParams { slow_start: true, ..DctcpParams::default() };
        let mut flow = flow::<Dctcp>(&params);
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).window, Bytes::new(10_000));
        // There is no threshold to show before the first mark.
        let setup = Setup::new(params, PATH);
        assert_eq!((flow.probe(&setup, 0), flow.probe(&setup, 1)), (Some(Value::Ratio(Fixed::ONE)), None));
        acked(&mut flow, &params, 1000, 10_000, false);
        close(flow.window, 11_000.0);
        acked(&mut flow, &params, 2000, 11_000, true);
        close(flow.window, 11_000.0 * (1.0 - 0.9375 / 2.0));
        assert_eq!(flow.threshold, flow.window);
        // 11 000 · (1 − 15/32) = 5843.75 B.
        assert_eq!(flow.probe(&setup, 0), Some(Value::Ratio(flow.alpha)));
        assert_eq!(flow.probe(&setup, 1), Some(Value::Bytes(Bytes::new(5843))));
    }

    #[test]
    fn below_one_packet_it_is_paced() {
        // A quarter of a packet in a round trip of 12 us: 250 B / 12 us = 166.67 Mbps.
        let params = DctcpParams { min_window: Fixed::ratio(1, 4), ..DctcpParams::default() };
        let mut flow = flow::<Dctcp>(&params);
        flow.window = Fixed::whole(260);
        lost(&mut flow, &params, LossKind::Hole, 0);
        close(flow.window, 250.0);
        let allowance = flow.allowance(&Setup::new(params, PATH));
        assert_eq!((allowance.window.get(), allowance.rate.bps() / 1000), (250, 166_666));
        // The round trip is the last one measured: in 24 us half of it.
        let mut slower = flow;
        let ack = Ack { marked: 1, ..ack(us(100), us(24), 0, 300_000) };
        slower.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        let rate = slower.allowance(&Setup::new(params, PATH)).rate;
        assert_eq!((slower.window, rate.bps() / 1000), (flow.window, 83_333));
        // However small and slow, something may be sent: 1 B, 1 bps.
        let least = Dctcp { window: Fixed::ratio(1, 2), rtt: Time::from_s(100), ..flow };
        let allowed = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
        assert_eq!(least.allowance(&Setup::new(params, PATH)), allowed);
        // One packet acknowledged adds at most one packet.
        acked(&mut flow, &params, 300_001, 301_000, false);
        close(flow.window, 1250.0);
    }
}
