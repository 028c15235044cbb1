//! LSwift: Swift that waits before it takes a hole for a loss, the baseline of "Congestion Control for Spraying with
//! Congested Paths" (Gerstein, Silberstein, Keslassy, 2026; section III-B), after Lazy TCP (Zhang, Zhang, Huang,
//! Computer Communications 62, 2015).
//!
//! The target and the law of the delay are Swift's ([`crate::swift`]). A packet is *delayed* when it has not been
//! acknowledged and three later ones have. One delayed packet says nothing: packets on several paths overtake each
//! other. Five successive ones count as a loss: the window shrinks by `max_mdf`, at most once per RTT together with the
//! decreases by delay. (Lazy TCP: two.) The timer is Swift's.
//!
//! The paper says "five successive delayed packets" and no more, and of Lazy TCP only the abstract is public. Five
//! packets found lost without an arrival in order between them is a reading; `run = "adjacent"` is another one: five
//! packets adjacent in sequence that are delayed at the same time, so that reordering alone halves the windows of sprayed
//! flows. A third one is not here, since the transport does not report it: five packets adjacent in sequence that are all
//! lost. Where losses lie apart it never acts, as with a large `trigger`; this fits the paper's figures best. A header that arrives without its payload is a loss
//! and no reordering; chosen here is Swift's reaction.
//!
//! To put repair off by a round trip is the transport's part: selective repeat with lazy repair. Under go-back-N no
//! packet is ever delayed, as the receiver keeps none that overtakes another.

use incast_units::{Bytes, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Parameters, Path, Setup,
    Signals,
};
use crate::median::{Filtered, Signal};
use crate::order::Sample;
use crate::params::{About, Described, Family, Param, Value, choice, param, presets};
use crate::relative::{Relate, relate};
use crate::swift::{self, Law, Swift, SwiftDerived, SwiftParams, law};

choice! {
    /// Delayed packets that make a loss together.
    Run {
        /// Packets adjacent in sequence, delayed at the same time.
        Adjacent = "adjacent",
        /// Packets that the transport finds lost without an arrival in order between them.
        Successive = "successive",
    }
}

/// Parameters of [`LSwift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LSwiftParams {
    /// Swift's own.
    pub swift: SwiftParams,
    /// Delayed packets that count as a loss.
    pub trigger: u64,
    /// Delayed packets that make a loss together.
    pub run: Run,
}

impl LSwiftParams {
    /// The signals that it needs.
    pub(crate) fn signals(&self) -> Signals {
        match self.run {
            Run::Adjacent => Signals::DELAYED_RUN,
            Run::Successive => Signals::NONE,
        }
    }
}

presets! {
    impl LSwiftParams {
        "paper": "the baseline of the median paper (2026), which prints no values: target 1us above the base RTT",
        pub(crate) fn paper() -> Self {
            Self { swift: SwiftParams::median(), trigger: 5, run: Run::Successive }
        }

        "ltcp": "the same with the trigger of Lazy TCP (2015)",
        fn ltcp() -> Self {
            Self { trigger: 2, ..Self::paper() }
        }

        "delay-only": "the same as paper without the rule of five: holes never shrink the window (five neighbours that are all lost do not occur); Figures 4 to 14 were judged by it before",
        pub(crate) fn delay_only() -> Self {
            Self { trigger: 1000, ..Self::paper() }
        }

        "slack": "an extension, not of the paper: target a quarter of the base RTT and 1us above it, for a base RTT that may be given a fifth too low",
        pub(crate) fn slack() -> Self {
            // 0.8 · 5/4 = 1: the target is 1 us above the true base RTT then.
            let swift = SwiftParams { base_rtt_share: Fixed::ratio(5, 4), ..SwiftParams::median() };
            Self { swift, ..Self::paper() }
        }
    }
}

impl Parameters for LSwiftParams {
    type Derived = SwiftDerived;

    fn derive(&self, path: &Path) -> SwiftDerived {
        self.swift.derive(path)
    }
}

/// Defines the parameters of LSwift inside the parameters of an algorithm, and the algorithm's own.
macro_rules! lazy {
    ([$($at:ident.)*] $(, $more:expr)* $(,)?) => {
        law!(
            [$($at.)* swift.],
            { base_target: Printed, base_rtt_share: Derived, hop: Derived, fs_range: Ours },
            param!(
                Count "trigger",
                $($at.)* trigger,
                1,
                1000,
                "delayed packets that count as a loss",
                Printed,
                "median paper section III-B: 5; Lazy TCP: 2"
            ),
            param!(
                choice "run",
                $($at.)* run,
                $crate::lswift::Run,
                "which these are: found lost without an arrival in order between them, or adjacent in sequence and delayed at once",
                Derived,
                "a reading of \"five successive delayed packets\", median paper section III-B: successive"
            ),
            $($more,)*
        )
    };
}
pub(crate) use lazy;

impl Described for LSwiftParams {
    const ABOUT: About = About {
        name: "lswift",
        title: "LSwift",
        summary: "Swift that takes five successive delayed packets for a loss, and not one",
        family: Family::Spraying,
        needs: "timestamps and selective acknowledgements of network cards (a simulation: 2026)",
    };
    const PARAMS: &'static [Param<Self>] = lazy!([]);

    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        self.swift.delay_limit(path)
    }

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        self.swift.window_limit(path)
    }
}

/// The state of one flow. Size: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LSwift {
    swift: Swift,
    /// End of the last arrival in order.
    sequence: u64,
    /// Packets found lost since.
    found: u64,
}

impl LSwift {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.swift.window()
    }

    pub(crate) const fn swift(&self) -> &Swift {
        &self.swift
    }

    /// A flow that starts at `now`.
    pub(crate) fn start(law: Law<'_>, now: Time) -> Self {
        Self { swift: Swift::start(law, now), sequence: 0, found: 0 }
    }

    /// An acknowledgement, whose delay counts as `delay`.
    pub(crate) fn acknowledged(&mut self, law: Law<'_>, trigger: u64, ack: &Ack, delay: Time) {
        self.swift.measure(law, ack.rtt());
        self.swift.follow(law, ack, delay);
        if u64::from(ack.delayed_run) >= trigger {
            self.swift.lose(law, ack.now);
        }
        if ack.sequence > self.sequence {
            (self.sequence, self.found) = (ack.sequence, 0);
        }
    }

    pub(crate) fn lost(&mut self, law: Law<'_>, params: &LSwiftParams, loss: &Loss) {
        match loss.kind {
            LossKind::Timeout => return self.swift.time_out(law, loss.now),
            LossKind::Hole if params.run == Run::Adjacent => {}
            LossKind::Hole => {
                let packets = Fixed::ratio(loss.bytes.get(), law.path.packet.get()).floor();
                self.found = self.found.saturating_add(packets.max(1));
                if self.found >= params.trigger {
                    self.swift.lose(law, loss.now);
                }
            }
            LossKind::Trim => self.swift.lose(law, loss.now),
        }
        self.swift.repaired();
    }
}

impl<'a> From<&'a Setup<LSwiftParams>> for Law<'a> {
    fn from(setup: &'a Setup<LSwiftParams>) -> Self {
        Self { params: &setup.params.swift, path: &setup.path, derived: &setup.derived }
    }
}

impl Relate for LSwift {
    relate! {
        part(): [swift],
        ahead(): [sequence],
        value(): [found],
    }
}

impl CongestionControl for LSwift {
    type Params = LSwiftParams;

    const HEARS_SENT: bool = false;

    fn signals(params: &LSwiftParams) -> Signals {
        params.signals()
    }

    fn overhead(_params: &LSwiftParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<LSwiftParams>, now: Time) -> Self {
        Self::start(setup.into(), now)
    }

    relate! { as a part }

    fn on_ack(&mut self, setup: &Setup<LSwiftParams>, ack: &Ack, _int: &IntStack) {
        self.acknowledged(setup.into(), setup.params.trigger, ack, ack.rtt());
    }

    fn on_loss(&mut self, setup: &Setup<LSwiftParams>, loss: &Loss) {
        self.lost(setup.into(), &setup.params, loss);
    }

    fn allowance(&self, setup: &Setup<LSwiftParams>) -> Allowance {
        self.swift.allow(setup.into())
    }

    const INTERNALS: &'static [Internal] = &swift::INTERNALS;

    fn probe(&self, setup: &Setup<LSwiftParams>, place: usize) -> Option<Value> {
        self.swift.show(setup.into(), place)
    }
}

impl Filtered for LSwift {
    const SIGNAL: Signal = Signal::Delay;

    fn sample(&mut self, _setup: &Setup<LSwiftParams>, ack: &Ack) -> Option<Sample> {
        Some(Sample::delay(ack.rtt()))
    }

    fn step(&mut self, setup: &Setup<LSwiftParams>, ack: &Ack, filtered: Option<Sample>, _marked: u32) {
        let delay = filtered.map_or(ack.rtt(), Sample::time);
        self.acknowledged(setup.into(), setup.params.trigger, ack, delay);
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Bytes;

    use super::*;
    use crate::testing::{self, PATH, float};

    /// 100 packets of 1000 B, whatever the delay of the path.
    fn flow(params: &LSwiftParams) -> (Setup<LSwiftParams>, LSwift) {
        let params = LSwiftParams { swift: SwiftParams { fs_range: Time::ZERO, ..params.swift }, ..*params };
        let setup = Setup::new(params, Path { base_rtt: Time::from_us(8), ..PATH });
        let flow = LSwift::new(&setup, Time::ZERO);
        assert_eq!(flow.window(), Fixed::whole(100_000));
        (setup, flow)
    }

    /// An acknowledgement at `now_us`, 8 us after its packet was sent, of nothing new.
    fn ack(now_us: u64, delayed_run: u32) -> Ack {
        let ack = testing::ack(Time::from_us(now_us), Time::from_us(8), 0, 0);
        Ack { acked: Bytes::ZERO, delayed_run, ..ack }
    }

    fn hole(now_us: u64, packets: u64) -> Loss {
        let bytes = PATH.packet.times(packets);
        let (now, sent) = (Time::from_us(now_us), Time::ZERO);
        Loss { now, kind: LossKind::Hole, bytes, sent, ..Loss::BLANK }
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<LSwift>(), 48);
    }

    #[test]
    fn five_adjacent_delayed_packets_halve_once_per_round_trip() {
        let params = LSwiftParams { run: Run::Adjacent, ..LSwiftParams::paper() };
        assert_eq!(LSwift::signals(&params), Signals::DELAYED_RUN);
        let (setup, mut flow) = flow(&params);
        // Holes and runs of up to four say nothing.
        for run in 0..5 {
            flow.on_loss(&setup, &hole(90, 20));
            flow.on_ack(&setup, &ack(100, run), &IntStack::EMPTY);
            assert_eq!(flow.window(), Fixed::whole(100_000), "{run}");
        }
        // At 107 us the RTT of 8 us is not over.
        for (now, run, window) in
            [(100, 5, 50_000), (107, 9, 50_000), (108, 6, 25_000), (116, 4, 25_000), (150, 5, 12_500)]
        {
            flow.on_ack(&setup, &ack(now, run), &IntStack::EMPTY);
            assert_eq!(flow.window(), Fixed::whole(window), "{now}");
        }
        // With the trigger of Lazy TCP two are enough, one is not.
        let (setup, mut flow) = self::flow(&LSwiftParams { run: Run::Adjacent, ..LSwiftParams::ltcp() });
        flow.on_ack(&setup, &ack(100, 1), &IntStack::EMPTY);
        assert_eq!(flow.window(), Fixed::whole(100_000));
        flow.on_ack(&setup, &ack(100, 2), &IntStack::EMPTY);
        assert_eq!(flow.window(), Fixed::whole(50_000));
    }

    #[test]
    fn decreases_by_delay_and_by_runs_share_their_round_trip() {
        // Target 9 us. A delay of 18 us: 1 − 0.8 · 9/18 = 0.6. The run in the same acknowledgement waits, and the
        // next one until 118 us, a round trip of 18 us later.
        let (setup, mut flow) = flow(&LSwiftParams { run: Run::Adjacent, ..LSwiftParams::paper() });
        let slow = |now_us| Ack { sent: Time::from_us(now_us - 18), ..ack(now_us, 5) };
        for (now, window) in [(100, 60_000.0), (117, 60_000.0), (118, 36_000.0)] {
            flow.on_ack(&setup, &slow(now), &IntStack::EMPTY);
            assert!((float(flow.window()) - window).abs() < 1e-3, "{now} {}", flow.window());
        }
    }

    #[test]
    fn five_successive_holes_without_an_arrival_in_order_are_a_loss() {
        let params = LSwiftParams::paper();
        assert_eq!(LSwift::signals(&params), Signals::NONE);
        let (setup, mut flow) = flow(&params);
        flow.on_loss(&setup, &hole(50, 4));
        // An arrival in order begins anew, one that is late does not.
        flow.on_ack(&setup, &Ack { sequence: 900, ..ack(60, 0) }, &IntStack::EMPTY);
        flow.on_loss(&setup, &hole(70, 3));
        flow.on_ack(&setup, &Ack { sequence: 900, ..ack(80, 0) }, &IntStack::EMPTY);
        flow.on_loss(&setup, &hole(90, 1));
        assert_eq!(flow.window(), Fixed::whole(100_000));
        flow.on_loss(&setup, &hole(95, 1));
        assert_eq!(flow.window(), Fixed::whole(50_000));
        // The one that follows is the sixth.
        flow.on_loss(&setup, &hole(103, 1));
        assert_eq!(flow.window(), Fixed::whole(25_000));
    }

    #[test]
    fn timeouts_and_trimmed_packets_are_losses() {
        let (setup, mut flow) = flow(&LSwiftParams::paper());
        let lose = |flow: &mut LSwift, now, kind| flow.on_loss(&setup, &Loss { kind, ..hole(now, 1) });
        lose(&mut flow, 20, LossKind::Trim);
        assert_eq!(flow.window(), Fixed::whole(50_000));
        // Four timeouts in a row, a hole, and five: the fifth leaves the smallest window, 10 B.
        (1..=4).for_each(|n| lose(&mut flow, 1000 * n, LossKind::Timeout));
        assert_eq!(flow.window(), Fixed::whole(3125));
        lose(&mut flow, 4500, LossKind::Hole);
        (5..=8).for_each(|n| lose(&mut flow, 1000 * n, LossKind::Timeout));
        assert_eq!(flow.window(), Fixed::ratio(3125, 16));
        lose(&mut flow, 9000, LossKind::Timeout);
        assert!((float(flow.window()) - 10.0).abs() < 1e-5);
    }
}
