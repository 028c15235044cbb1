//! MSwift ("Congestion Control for Spraying with Congested Paths", Gerstein, Silberstein, Keslassy, 2026): LSwift
//! that decides by the median of the delays of the last acknowledgements.
//!
//! A flow that is sprayed over many paths, of which few are congested, meets a long delay again and again. Swift and
//! LSwift answer each of them, so that their throughput falls as 1/√q in the share q of congested paths. The median of
//! the last H = max(W/2, 1) delays (Equation 8, W the window in packets) is a short one as long as q < 1/3 and packets
//! are paced (Theorem 6).
//!
//! Where the paper leaves something open:
//! * The order statistic takes the place of the delay in all that compares or uses it: the test for an increase, the
//!   test for a decrease, and its size. "Once per RTT", the pacing below one packet and the reaction to losses go by
//!   the latest RTT, as LSwift's.
//! * A sample is the RTT of an acknowledgement, for however many packets it stands ("last H ACKs"). W is the window
//!   that the acknowledgement before it left.
//! * Of an even number the median is the lower of the two in the middle, so that the majority of Theorem 6 holds for
//!   half of the samples too; a percentile is the nearest rank.
//! * When H grows, the samples that there are count until there are more; when it falls, the oldest go.
//! * Samples that are older than some RTTs may be ignored ("1-2 RTTs", which the paper's evaluation does not do):
//!   `age_limit`.
//!
//! H is at most 512, which covers every window up to 1,024 packets; the largest window is 1,000 by default.

use incast_units::{Bytes, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, Overhead, Parameters, Path, Setup, Signals,
};
use crate::lswift::{LSwift, LSwiftParams, lazy};
use crate::order::{Order, Sample, smoothed};
use crate::params::{About, Described, Family, Kernel, Param, Value, param, presets};
use crate::relative::relate;
use crate::swift::{self, Law, SwiftDerived, law};

/// Most samples that are kept.
pub const MOST: usize = 512;

/// Parameters of [`MSwift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MSwiftParams {
    /// Parameters of LSwift.
    pub lswift: LSwiftParams,
    /// Order statistic of the last delays.
    pub percentile: u64,
    /// Samples for each packet of the window.
    pub history: Fixed,
    /// Smoothed RTTs after which a sample is ignored; 0: never.
    pub age_limit: Fixed,
}

presets! {
    impl MSwiftParams {
        "paper": "MSwift, 2026, whose paper prints no values of Swift's: target 1us above the base RTT",
        fn paper() -> Self {
            Self {
                lswift: LSwiftParams::paper(),
                percentile: 50,
                history: Fixed::ratio(1, 2),
                age_limit: Fixed::ZERO,
            }
        }

        "p10": "MSwift-P10 of the paper, Figure 12: the 10th percentile",
        fn p10() -> Self {
            Self { percentile: 10, ..Self::paper() }
        }

        "p90": "MSwift-P90 of the paper, Figure 12: the 90th percentile",
        fn p90() -> Self {
            Self { percentile: 90, ..Self::paper() }
        }

        "delay-only": "the same as paper without the rule of five: holes never shrink the window (five neighbours that are all lost do not occur); Figures 4 to 14 were judged by it before",
        fn delay_only() -> Self {
            Self { lswift: LSwiftParams::delay_only(), ..Self::paper() }
        }

        "slack": "an extension, not of the paper: target a quarter of the base RTT and 1us above it, for a base RTT that may be given a fifth too low",
        fn slack() -> Self {
            Self { lswift: LSwiftParams::slack(), ..Self::paper() }
        }
    }
}

impl Parameters for MSwiftParams {
    type Derived = SwiftDerived;

    fn derive(&self, path: &Path) -> SwiftDerived {
        self.lswift.derive(path)
    }
}

impl Described for MSwiftParams {
    const ABOUT: About = About {
        name: "mswift",
        title: "MSwift",
        summary: "LSwift that decides by the median delay of the last half window",
        family: Family::Spraying,
        needs: "timestamps and selective acknowledgements of network cards (a simulation: 2026)",
    };
    const PARAMS: &'static [Param<Self>] = lazy!(
        [lswift.],
        param!(
            Count "percentile",
            percentile,
            1,
            100,
            "which of the last delays, by size, the law goes by: the sample of rank percentile/100 of their number, rounded up",
            Printed,
            "median paper section III: the median, 50; Figure 12: 10 and 90"
        ),
        param!(
            Ratio "history",
            history,
            Fixed::ZERO,
            Fixed::whole(4),
            "last delays that count, for each packet of the window; one at least, 512 at most",
            Printed,
            "median paper Equation 8: 1/2"
        ),
        param!(
            Ratio "age_limit",
            age_limit,
            Fixed::ZERO,
            Fixed::whole(1000),
            "smoothed RTTs after which a delay counts no more; 0 for no limit",
            Printed,
            "median paper section III-A: 1 to 2 in practice; the paper's evaluation: none"
        ),
    );
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_mswift", Signals::NONE));

    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        self.lswift.delay_limit(path)
    }

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        self.lswift.window_limit(path)
    }
}

/// The state of one flow. Size: 5,192 bytes, 10 for each of 512 samples.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MSwift {
    lswift: LSwift,
    /// The average of the RTTs with the weight 1/8 of the latest; zero before the first.
    srtt: Time,
    delays: Order<MOST>,
}

impl MSwift {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.lswift.window()
    }

    /// Returns the number of samples that count now (H).
    #[must_use]
    pub fn samples(&self, setup: &Setup<MSwiftParams>) -> u64 {
        let window = self.window() / setup.derived.packet;
        (setup.params.history * window).floor().clamp(1, MOST as u64)
    }
}

impl<'a> From<&'a Setup<MSwiftParams>> for Law<'a> {
    fn from(setup: &'a Setup<MSwiftParams>) -> Self {
        Self { params: &setup.params.lswift.swift, path: &setup.path, derived: &setup.derived }
    }
}

impl CongestionControl for MSwift {
    type Params = MSwiftParams;

    const HEARS_SENT: bool = false;

    fn signals(params: &MSwiftParams) -> Signals {
        params.lswift.signals()
    }

    fn overhead(_params: &MSwiftParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<MSwiftParams>, now: Time) -> Self {
        Self { lswift: LSwift::start(setup.into(), now), srtt: Time::ZERO, delays: Order::new() }
    }

    fn restart(&mut self, setup: &Setup<MSwiftParams>, now: Time) {
        self.lswift = LSwift::start(setup.into(), now);
        self.srtt = Time::ZERO;
        self.delays.clear();
    }

    relate! { |setup|
        part(): [lswift],
        value(): [srtt],
        samples(setup.params.age_limit > Fixed::ZERO): [delays],
    }

    fn on_ack(&mut self, setup: &Setup<MSwiftParams>, ack: &Ack, _int: &IntStack) {
        let (params, rtt) = (&setup.params, ack.rtt());
        self.srtt = if self.srtt == Time::ZERO { rtt } else { smoothed(self.srtt, rtt) };
        let age = if params.age_limit == Fixed::ZERO {
            Time::NEVER
        } else {
            Time::from_ps(params.age_limit.scale(self.srtt.ps()))
        };
        self.delays.push(Sample::delay(rtt), ack.now, self.samples(setup), age);
        let delay = self.delays.percentile(params.percentile).map_or(rtt, Sample::time);
        self.lswift.acknowledged(setup.into(), params.lswift.trigger, ack, delay);
    }

    fn on_loss(&mut self, setup: &Setup<MSwiftParams>, loss: &Loss) {
        self.lswift.lost(setup.into(), &setup.params.lswift, loss);
    }

    fn allowance(&self, setup: &Setup<MSwiftParams>) -> Allowance {
        self.lswift.swift().allow(setup.into())
    }

    const INTERNALS: &'static [Internal] = {
        let [target, cwnd, last_decrease] = swift::INTERNALS;
        &[
            target,
            cwnd,
            last_decrease,
            Internal {
                name: "delay",
                meaning: "delay that the law went by: the order statistic of the last ones",
            },
            Internal { name: "samples", meaning: "delays that count at the next acknowledgement (H)" },
        ]
    };

    fn probe(&self, setup: &Setup<MSwiftParams>, place: usize) -> Option<Value> {
        match place {
            3 => self.delays.percentile(setup.params.percentile).map(Sample::time).map(Value::Time),
            4 => Some(Value::Count(self.samples(setup))),
            _ => self.lswift.swift().show(setup.into(), place),
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_units::{Bytes, Rate};

    use super::*;
    use crate::contract::LossKind;
    use crate::lswift::Run;
    use crate::swift::SwiftParams;
    use crate::testing::{self, PATH, float};

    /// A window of `packets`, a base RTT of 10 us, and a target of 12 us at every window.
    fn flow(params: &MSwiftParams, packets: u64) -> (Setup<MSwiftParams>, MSwift) {
        let swift = SwiftParams {
            base_target: Time::from_us(12),
            fs_range: Time::ZERO,
            hop: Time::ZERO,
            ..SwiftParams::default()
        };
        let params = MSwiftParams { lswift: LSwiftParams { swift, ..params.lswift }, ..*params };
        let path = Path { base_rtt: Time::from_us(10), line_rate: Rate::from_mbps(800 * packets), ..PATH };
        let setup = Setup::new(params, path);
        let flow = MSwift::new(&setup, Time::ZERO);
        assert_eq!(flow.window(), Fixed::whole(1000 * packets));
        (setup, flow)
    }

    /// Returns a setup and a flow whose window is constant.
    fn fixed(params: &MSwiftParams, packets: u64) -> (Setup<MSwiftParams>, MSwift) {
        let (mut setup, flow) = flow(params, packets);
        (setup.params.lswift.swift.beta, setup.params.lswift.swift.max_mdf) = (Fixed::ZERO, Fixed::ZERO);
        (setup, flow)
    }

    /// An acknowledgement at `now_us`, after `rtt_us`, of nothing new.
    fn ack(now_us: u64, rtt_us: u64) -> Ack {
        let ack = testing::ack(Time::from_us(now_us), Time::from_us(rtt_us), 0, 0);
        Ack { acked: Bytes::ZERO, ..ack }
    }

    /// The delay that the law went by last, in us.
    fn delay(setup: &Setup<MSwiftParams>, flow: &MSwift) -> u64 {
        let Some(Value::Time(delay)) = flow.probe(setup, 3) else { panic!("no delay") };
        delay.ps().div_ceil(1_000_000)
    }

    fn samples(setup: &Setup<MSwiftParams>, flow: &MSwift) -> u64 {
        let Some(Value::Count(samples)) = flow.probe(setup, 4) else { panic!("no samples") };
        samples
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<MSwift>(), 5192);
        let paper = MSwiftParams::paper();
        assert_eq!(MSwift::signals(&paper), Signals::NONE);
        let adjacent = LSwiftParams { run: Run::Adjacent, ..paper.lswift };
        assert_eq!(MSwift::signals(&MSwiftParams { lswift: adjacent, ..paper }), Signals::DELAYED_RUN);
    }

    #[test]
    fn the_delays_of_the_last_half_window_by_hand() {
        // Ten packets: H = 5.
        for (percentile, delays) in [
            (50, [10, 10, 12, 11, 12, 13, 12, 13]),
            (10, [10, 10, 10, 10, 10, 11, 9, 9]),
            (90, [10, 30, 30, 30, 40, 40, 40, 50]),
        ] {
            let (setup, mut flow) = fixed(&MSwiftParams { percentile, ..MSwiftParams::paper() }, 10);
            assert_eq!((flow.probe(&setup, 3), samples(&setup, &flow)), (None, 5));
            for (i, (rtt, expected)) in [10, 30, 12, 11, 40, 13, 9, 50].into_iter().zip(delays).enumerate() {
                flow.on_ack(&setup, &ack(100 + i as u64, rtt), &IntStack::EMPTY);
                assert_eq!(delay(&setup, &flow), expected, "{percentile} {i}");
            }
        }
    }

    #[test]
    fn the_history_is_half_the_window_in_whole_packets_and_one_at_least() {
        for (packets, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (11, 5), (1000, 500)] {
            let (setup, flow) = flow(&MSwiftParams::paper(), packets);
            assert_eq!(samples(&setup, &flow), expected, "{packets}");
        }
        // It never exceeds its room; with no share of the window it is one.
        for (history, expected) in [(Fixed::ONE, 512), (Fixed::whole(4), 512), (Fixed::ZERO, 1)] {
            let (setup, flow) = flow(&MSwiftParams { history, ..MSwiftParams::paper() }, 600);
            assert_eq!(samples(&setup, &flow), expected);
        }
    }

    #[test]
    fn one_long_delay_among_short_ones_changes_nothing_and_a_majority_does() {
        let (setup, mut flow) = flow(&MSwiftParams::paper(), 10);
        // Three of 10 us, then two of 19 us: of five the median is 10. LSwift would cut to 0.705263.
        for (now, rtt) in [(100, 10), (101, 10), (102, 10), (103, 19), (104, 19)] {
            flow.on_ack(&setup, &ack(now, rtt), &IntStack::EMPTY);
            assert_eq!(flow.window(), Fixed::whole(10_000), "{now}");
        }
        // The third: 10 10 19 19 19. 1 − 0.8 · (19 − 12)/19 = 0.705263, of the size of the median.
        flow.on_ack(&setup, &ack(105, 19), &IntStack::EMPTY);
        assert!((float(flow.window()) - 7_052.631_579).abs() < 1e-2, "{}", flow.window());
        // The size of a decrease is that of the order statistic, not of the latest. A flow that starts at 1000 us waits
        // for its first round trip.
        flow.restart(&setup, Time::from_us(1000));
        for (now, rtt) in [(1005, 25), (1006, 30), (1007, 25), (1008, 30), (1009, 90)] {
            flow.on_ack(&setup, &ack(now, rtt), &IntStack::EMPTY);
        }
        assert_eq!(flow.window(), Fixed::whole(10_000));
        // At 1200 us: 25 30 25 30 90 without the oldest, and 12: 12 25 30 30 90. 1 − 0.8 · 18/30 = 0.52.
        flow.on_ack(&setup, &ack(1200, 12), &IntStack::EMPTY);
        assert!((float(flow.window()) - 5200.0).abs() < 1e-2, "{}", flow.window());
    }

    #[test]
    fn half_a_round_trip_after_a_decrease_its_samples_are_gone() {
        // Ten packets, five samples of 24 us at 96 … 100 us: at the first the window becomes 6 packets. The next
        // acknowledgement has H = 3; after three short ones no long sample is left, and the fourth of four, with the
        // window as it was, would still have found a long median.
        let (setup, mut flow) = flow(&MSwiftParams::paper(), 10);
        flow.on_ack(&setup, &ack(96, 24), &IntStack::EMPTY);
        assert!((float(flow.window()) - 6000.0).abs() < 1e-2, "{}", flow.window());
        (97..=100).for_each(|now| flow.on_ack(&setup, &ack(now, 24), &IntStack::EMPTY));
        // A window a rounding below 6 packets has two samples, one of 6 packets three.
        let most = samples(&setup, &flow);
        assert!((2..=3).contains(&most));
        for now in 101..101 + most {
            flow.on_ack(&setup, &ack(now, 10), &IntStack::EMPTY);
        }
        assert_eq!(
            (flow.delays.count() as u64, flow.delays.percentile(100)),
            (most, Some(Sample::delay(Time::from_us(10))))
        );
    }

    #[test]
    fn only_the_law_goes_by_the_median_and_not_the_guard() {
        // Long delays but for the latest: at 100 us a decrease, to ten packets; at 112 us the latest RTT of 12 us is
        // over, although the median of 40, 40 and 12 us is 40.
        let (setup, mut flow) = flow(&MSwiftParams::paper(), 20);
        flow.on_ack(&setup, &ack(100, 40), &IntStack::EMPTY);
        let first = flow.window();
        assert_eq!(first, Fixed::whole(10_000));
        flow.on_ack(&setup, &ack(111, 40), &IntStack::EMPTY);
        assert_eq!(flow.window(), first);
        flow.on_ack(&setup, &ack(112, 12), &IntStack::EMPTY);
        assert!(flow.window() < first && delay(&setup, &flow) == 40);
    }

    #[test]
    fn samples_may_be_limited_in_age() {
        // Two smoothed RTTs of 10 us. Four long samples, then 30 us of silence: they count no more.
        let limited = MSwiftParams { age_limit: Fixed::whole(2), ..MSwiftParams::paper() };
        for (params, expected) in [(MSwiftParams::paper(), 11), (limited, 10)] {
            let (setup, mut flow) = fixed(&params, 20);
            (100..104).for_each(|now| flow.on_ack(&setup, &ack(now, 11), &IntStack::EMPTY));
            flow.on_ack(&setup, &ack(134, 10), &IntStack::EMPTY);
            assert_eq!(delay(&setup, &flow), expected);
        }
    }

    #[test]
    fn losses_are_those_of_lswift() {
        let (setup, mut flow) = flow(&MSwiftParams::paper(), 100);
        let loss = |kind, now| Loss { now: Time::from_us(now), kind, bytes: PATH.packet, ..Loss::BLANK };
        // Four holes say nothing, the fifth one without an arrival in order halves.
        (50..54).for_each(|now| flow.on_loss(&setup, &loss(LossKind::Hole, now)));
        assert_eq!(flow.window(), Fixed::whole(100_000));
        flow.on_loss(&setup, &loss(LossKind::Hole, 100));
        assert_eq!(flow.window(), Fixed::whole(50_000));
        flow.on_loss(&setup, &loss(LossKind::Timeout, 1000));
        assert_eq!(flow.window(), Fixed::whole(25_000));
    }

    #[test]
    fn a_flow_that_is_started_in_place_begins_as_a_new_one() {
        let (setup, mut used) = flow(&MSwiftParams::p90(), 30);
        (0..600).for_each(|i| used.on_ack(&setup, &ack(100 + i, 5 + i * 7 % 31), &IntStack::EMPTY));
        used.restart(&setup, Time::from_us(9000));
        let mut new = MSwift::new(&setup, Time::from_us(9000));
        for i in 0..100 {
            let ack = Ack { acked: PATH.packet, ..ack(9000 + i, 8 + i % 9) };
            used.on_ack(&setup, &ack, &IntStack::EMPTY);
            new.on_ack(&setup, &ack, &IntStack::EMPTY);
            assert_eq!((used.lswift, used.srtt), (new.lswift, new.srtt));
            assert_eq!(delay(&setup, &used), delay(&setup, &new));
        }
    }
}
