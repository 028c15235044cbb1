//! The median as a framework ("Congestion Control for Spraying with Congested Paths", Gerstein, Silberstein, Keslassy,
//! 2026; section III): an algorithm that goes by the median of the last H samples of its signal, and not by the latest.
//!
//! A flow that is sprayed over many paths, of which few are congested, meets a signal of congestion again and again. The
//! median of the last H signals, H = max(K/2, 1) (Equation 7), is one of an uncongested path as long as less than a third
//! of the paths is congested and packets are paced (Theorem 6). K is the number of packets after which the window grows
//! by one: the window for Swift (Equation 8), 8 for NSCC (Equation 9).
//!
//! [`MedianParams`] are options that every algorithm has which implements [`Filtered`]: it says which of its signals goes
//! through the median, and takes a step by what comes out. [`Median`] is such an algorithm with the options on. With them
//! off the algorithm is itself, with its own state and no other cost. [MSwift](crate::mswift) and
//! [MNSCC](crate::mnscc) are this filter before LSwift and NSCC, with the values of the paper.
//!
//! Where the paper leaves something open, the choices are MSwift's and MNSCC's:
//! * A sample belongs to an acknowledgement, for however many packets it is. One without a valid RTT has none.
//! * H may follow the window in packets that the acknowledgement before left: half of it rounded down, at least one.
//! * Of an even number of samples the lower one of the middle counts; a percentile is the nearest rank.
//! * When H grows, the samples that there are count until there are more (or those that there are not count as the
//!   least: `median_start`); when it falls, the oldest go.
//! * All that is no signal of congestion stays as measured: the RTT in "once per RTT" and in the pacing below a packet,
//!   base RTTs, averages that the algorithm makes of its own, losses.
//!
//! Samples are kept in steps of 64 ps (delays) or 2^-16 (shares of marked packets), rounded down.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, Overhead, Parameters, Path, Sent, Setup,
    Signals,
};
use crate::order::{Order, Sample, smoothed};
use crate::params::{About, Described, Param, Preset, Presets, Value, param};
use crate::relative::{Origin, See};

/// Most samples that are kept.
pub const MOST: usize = 512;

/// The options of the median; the same for every algorithm that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MedianParams {
    /// Most samples that count (H); 0: the latest signal, without a filter.
    pub median: u64,
    /// Samples for each packet of the window, if more than 0: fewer count in a small window.
    pub share: Fixed,
    /// Order statistic of them.
    pub percentile: u64,
    /// Smoothed RTTs after which a sample is ignored; 0: never.
    pub age: Fixed,
    /// Windows per smoothed RTT at which packets are paced; 0: not paced.
    pub pacing: Fixed,
    /// Whether marks go through a median of their own, in an algorithm that goes by delay and marks.
    pub marks: bool,
    /// Whether samples that there are not yet count as the least.
    pub start: bool,
}

impl MedianParams {
    /// Without a filter.
    pub const OFF: Self = Self {
        median: 0,
        share: Fixed::ZERO,
        percentile: 50,
        age: Fixed::ZERO,
        pacing: Fixed::ZERO,
        marks: false,
        start: false,
    };

    /// Whether there is a filter.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.median > 0
    }

    /// The options, as scenario files name them.
    pub const PARAMS: &'static [Param<Self>] = &[
        param!(
            Count "median",
            median,
            0,
            MOST as u64,
            "last samples of the signal whose median the law goes by (H), at most; 0: it goes by the latest",
            Printed,
            "median paper section III; 0 in the algorithm's own paper"
        ),
        param!(
            Ratio "median_share",
            share,
            Fixed::ZERO,
            Fixed::whole(4),
            "samples that count for each packet of the window, one at least and median at most; 0: median, whatever the window",
            Ours,
            "median paper Equations 7 to 9: 1/2; chosen here: 0"
        ),
        param!(
            Count "median_percentile",
            percentile,
            1,
            100,
            "which of the samples, by size: the one of rank median_percentile/100 of their number, rounded up",
            Printed,
            "median paper section III: the median, 50; Figure 12: 10 and 90"
        ),
        param!(
            Ratio "median_age",
            age,
            Fixed::ZERO,
            Fixed::whole(1000),
            "smoothed RTTs after which a sample counts no more; 0 for no limit",
            Printed,
            "median paper section III-A: 1 to 2 in practice; the paper's evaluation: none"
        ),
        param!(
            Ratio "median_pacing",
            pacing,
            Fixed::ZERO,
            Fixed::whole(1000),
            "windows per smoothed RTT at which packets are paced; 0: as the algorithm paces them",
            Ours,
            "median paper Theorem 6 assumes pacing, its evaluation does not say; Linux paces TCP at 1.2; chosen here: 0"
        ),
        param!(
            Flag "median_marks",
            marks,
            "whether marks go through a median of their own, besides the delay",
            Printed,
            "median paper section III-B: the delay signals of NSCC, so false"
        ),
        param!(
            Flag "median_start",
            start,
            "whether samples that there are not yet count as the least, so that a few long delays at the start decide nothing",
            Ours,
            "the median paper does not say; chosen here: false"
        ),
    ];
}

/// Signal that goes through a median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A delay: an RTT, or the queueing in it.
    Delay,
    /// Marked packets.
    Marks,
    /// A delay, and marks if `median_marks`.
    DelayAndMarks,
    /// The largest delay of a hop.
    HopDelay,
}

impl Signal {
    /// Whether the option `name` has a meaning for it.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        name != "median_marks" || self == Self::DelayAndMarks
    }
}

/// An algorithm whose signal may go through a median.
pub trait Filtered: CongestionControl {
    /// The signal.
    const SIGNAL: Signal;

    /// The sample of this acknowledgement, if it has one: the share of its packets that is marked, where that is the
    /// signal.
    fn sample(&mut self, setup: &Setup<Self::Params>, ack: &Ack) -> Option<Sample>;

    /// Takes the step of [`on_ack`](CongestionControl::on_ack) by the sample `filtered` in place of the latest, and by
    /// `marked` marked packets.
    fn step(&mut self, setup: &Setup<Self::Params>, ack: &Ack, filtered: Option<Sample>, marked: u32);
}

/// Parameters of an algorithm and its options of the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MedianOf<P> {
    /// The algorithm's own.
    pub params: P,
    /// The options.
    pub median: MedianParams,
}

/// The setup of the algorithm without the filter.
#[derive(Debug)]
#[repr(C)]
pub struct MedianDerived<P: Parameters> {
    /// The algorithm's own.
    pub setup: Setup<P>,
    /// A full packet in bytes.
    pub packet: Fixed,
}

impl<P: Parameters> Parameters for MedianOf<P> {
    type Derived = MedianDerived<P>;

    fn derive(&self, path: &Path) -> MedianDerived<P> {
        MedianDerived {
            setup: Setup::new(self.params.clone(), *path),
            packet: Fixed::whole(path.packet.get()),
        }
    }
}

impl<P: Described> Presets for MedianOf<P> {
    const PRESETS: &'static [Preset<Self>] = &[];
}

/// The names are the algorithm's; its parameters and presets are in [`AnyParams`](crate::AnyParams), as are the options.
impl<P: Described> Described for MedianOf<P> {
    const ABOUT: About = P::ABOUT;
    const PARAMS: &'static [Param<Self>] = &[];

    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        self.params.delay_limit(path)
    }

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        self.params.window_limit(path)
    }
}

/// The algorithm `A` with a filter, the state of one flow: its own, and 10,288 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Median<A> {
    flow: A,
    /// The average of the RTTs with the weight 1/8 of the latest; zero before the first.
    srtt: Time,
    /// The signal, of marks alone too.
    signal: Order<MOST>,
    /// The marks beside a delay.
    marks: Order<MOST>,
}

impl<A: Filtered> Median<A> {
    /// The algorithm behind the filter.
    #[must_use]
    pub const fn flow(&self) -> &A {
        &self.flow
    }

    /// The number of samples that count at the next acknowledgement (H).
    #[must_use]
    pub fn samples(&self, setup: &Setup<MedianOf<A::Params>>) -> u64 {
        let (median, derived) = (&setup.params.median, &setup.derived);
        if median.share == Fixed::ZERO {
            return median.median;
        }
        // Without a window it is unlimited.
        let packets = Fixed::whole(self.flow.allowance(&derived.setup).window.get()) / derived.packet;
        (median.share * packets).floor().clamp(1, median.median.max(1))
    }

    /// The smoothed RTT; the base RTT before the first sample.
    fn rtt(&self, path: &Path) -> Time {
        if self.srtt == Time::ZERO { path.base_rtt } else { self.srtt }
    }

    /// The sample that counts of those in `order`.
    fn filtered(order: &Order<MOST>, median: &MedianParams, most: u64) -> Option<Sample> {
        order.percentile_of(median.percentile, if median.start { most } else { 0 })
    }
}

impl<A> CongestionControl for Median<A>
where
    A: Filtered,
    A::Params: Copy,
{
    type Params = MedianOf<A::Params>;

    const HEARS_SENT: bool = A::HEARS_SENT;

    fn signals(params: &Self::Params) -> Signals {
        A::signals(&params.params)
    }

    fn overhead(params: &Self::Params) -> Overhead {
        A::overhead(&params.params)
    }

    fn new(setup: &Setup<Self::Params>, now: Time) -> Self {
        let flow = A::new(&setup.derived.setup, now);
        Self { flow, srtt: Time::ZERO, signal: Order::new(), marks: Order::new() }
    }

    fn restart(&mut self, setup: &Setup<Self::Params>, now: Time) {
        self.flow.restart(&setup.derived.setup, now);
        self.srtt = Time::ZERO;
        self.signal.clear();
        self.marks.clear();
    }

    fn relate(&self, setup: &Setup<Self::Params>, origin: &Origin, see: &mut dyn See) {
        let Self { flow, srtt, signal, marks } = self;
        flow.relate(&setup.derived.setup, origin, see);
        origin.value().note(see, "srtt", srtt);
        let ages = setup.params.median.age > Fixed::ZERO;
        origin.samples(ages).note(see, "signal", signal);
        origin.samples(ages).note(see, "marks", marks);
    }

    fn on_ack(&mut self, setup: &Setup<Self::Params>, ack: &Ack, _int: &IntStack) {
        let (median, inner, rtt) = (&setup.params.median, &setup.derived.setup, ack.rtt());
        self.srtt = if self.srtt == Time::ZERO { rtt } else { smoothed(self.srtt, rtt) };
        let age = if median.age == Fixed::ZERO {
            Time::NEVER
        } else {
            Time::from_ps(median.age.scale(self.srtt.ps()))
        };
        let most = self.samples(setup);
        let share = Sample::share(ack.marked, ack.packets);
        match self.flow.sample(inner, ack) {
            Some(sample) => self.signal.push(sample, ack.now, most, age),
            None => self.signal.drop_old(ack.now, most, age),
        }
        let filtered = Self::filtered(&self.signal, median, most);
        let of = |share: Option<Sample>| share.map_or(ack.marked, |share| share.of(ack.packets));
        let marked = match A::SIGNAL {
            Signal::Marks => of(filtered),
            Signal::DelayAndMarks if median.marks => {
                self.marks.push(share, ack.now, most, age);
                of(Self::filtered(&self.marks, median, most))
            }
            _ => ack.marked,
        };
        self.flow.step(inner, ack, filtered, marked);
    }

    fn on_cnp(&mut self, setup: &Setup<Self::Params>, now: Time) {
        self.flow.on_cnp(&setup.derived.setup, now);
    }

    fn on_loss(&mut self, setup: &Setup<Self::Params>, loss: &Loss) {
        self.flow.on_loss(&setup.derived.setup, loss);
    }

    fn on_sent(&mut self, setup: &Setup<Self::Params>, sent: &Sent) {
        self.flow.on_sent(&setup.derived.setup, sent);
    }

    fn tag(&self, setup: &Setup<Self::Params>) -> u32 {
        self.flow.tag(&setup.derived.setup)
    }

    fn on_timer(&mut self, setup: &Setup<Self::Params>, now: Time) {
        self.flow.on_timer(&setup.derived.setup, now);
    }

    fn deadline(&self) -> Time {
        self.flow.deadline()
    }

    /// A window below a packet is paced as the algorithm does.
    fn allowance(&self, setup: &Setup<Self::Params>) -> Allowance {
        let allowance = self.flow.allowance(&setup.derived.setup);
        let gain = setup.params.median.pacing;
        if gain == Fixed::ZERO || allowance.window < setup.path.packet {
            return allowance;
        }
        let rate = gain.scale(Rate::of(allowance.window, self.rtt(&setup.path)).bps());
        Allowance { rate: Rate::from_bps(rate.max(1)).min(allowance.rate), ..allowance }
    }

    const INTERNALS: &'static [Internal] = Self::ALL.split_at(A::INTERNALS.len() + 2).0;

    fn probe(&self, setup: &Setup<Self::Params>, place: usize) -> Option<Value> {
        let after = place.checked_sub(A::INTERNALS.len());
        match after {
            None => self.flow.probe(&setup.derived.setup, place),
            Some(0) => {
                let median = &setup.params.median;
                let sample = Self::filtered(&self.signal, median, self.samples(setup))?;
                Some(match A::SIGNAL {
                    Signal::Marks => Value::Ratio(Fixed::ratio(u64::from(sample.of(1 << 16)), 1 << 16)),
                    _ => Value::Time(sample.time()),
                })
            }
            Some(1) => Some(Value::Count(self.samples(setup))),
            Some(_) => None,
        }
    }
}

/// Most internal quantities of an algorithm with a filter.
const ROOM: usize = 16;

impl<A: Filtered> Median<A> {
    /// The internal quantities of the algorithm and of the filter, and room.
    const ALL: &'static [Internal; ROOM] = &{
        let filter = [
            Internal {
                name: "median_signal",
                meaning: "order statistic of the last samples, by which the law goes",
            },
            Internal {
                name: "median_samples",
                meaning: "samples that count at the next acknowledgement (H)",
            },
        ];
        let mut all = [filter[0]; ROOM];
        let mut i = 0;
        while i < A::INTERNALS.len() {
            all[i] = A::INTERNALS[i];
            i += 1;
        }
        (all[i], all[i + 1]) = (filter[0], filter[1]);
        all
    };
}

#[cfg(test)]
mod tests {
    use incast_units::Bytes;

    use super::*;
    use crate::AnyParams;
    use crate::contract::LossKind;
    use crate::dctcp::{Dctcp, DctcpParams};
    use crate::lswift::LSwift;
    use crate::mnscc::{Mnscc, MnsccParams};
    use crate::mswift::{MSwift, MSwiftParams};
    use crate::nscc::{Nscc, NsccParams};
    use crate::poseidon::{Poseidon, PoseidonParams};
    use crate::smartt::{Smartt, SmarttParams};
    use crate::swift::{Swift, SwiftParams};
    use crate::testing::{self, PATH, us};

    const FIVE: MedianParams = MedianParams { median: 5, ..MedianParams::OFF };

    type FilteredSetup<A> = Setup<MedianOf<<A as CongestionControl>::Params>>;

    fn filtered<A>(params: A::Params, median: MedianParams, path: Path) -> (FilteredSetup<A>, Median<A>)
    where
        A: Filtered,
        A::Params: Copy,
    {
        let setup = Setup::new(MedianOf { params, median }, path);
        let flow = Median::new(&setup, us(50));
        (setup, flow)
    }

    /// An acknowledgement at 100 us and `i` more; the i-th packet of the first window.
    fn ack(i: u64, rtt: u64) -> Ack {
        testing::ack(us(100 + i), us(rtt), 1000 * (i + 1), 150_000)
    }

    /// Delays, and by hand the medians of the last five: 10 | 10 30 | 10 12 30 | 10 11 12 30 | 10 11 12 30 40 |
    /// 11 12 13 30 40 | 9 11 12 13 40 | 9 11 13 40 50.
    const DELAYS: [(u64, u64); 8] =
        [(10, 10), (30, 10), (12, 12), (11, 11), (40, 12), (13, 13), (9, 12), (50, 13)];

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<Median<Swift>>(), size_of::<Swift>() + 8 + 2 * 5136);
    }

    #[test]
    fn swift_by_the_median_of_five_by_hand() {
        let (setup, mut flow) = filtered::<Swift>(SwiftParams::default(), FIVE, PATH);
        let plain = Setup::new(SwiftParams::default(), PATH);
        let mut by_hand = Swift::new(&plain, us(50));
        for (i, (rtt, median)) in (0..).zip(DELAYS) {
            flow.on_ack(&setup, &ack(i, rtt), &IntStack::EMPTY);
            by_hand.measure((&plain).into(), us(rtt));
            by_hand.follow((&plain).into(), &ack(i, rtt), us(median));
            assert_eq!(*flow.flow(), by_hand, "{i}");
            let at = Swift::INTERNALS.len();
            assert_eq!(flow.probe(&setup, at).unwrap(), Value::Time(Sample::delay(us(median)).time()));
            assert_eq!(flow.probe(&setup, at + 1), Some(Value::Count(5)));
            assert_eq!(flow.probe(&setup, 1), by_hand.probe(&plain, 1));
            assert_eq!(flow.probe(&setup, at + 2), None);
        }
        assert_eq!(Median::<Swift>::INTERNALS.len(), Swift::INTERNALS.len() + 2);
        assert_eq!(Median::<Swift>::INTERNALS[Swift::INTERNALS.len()].name, "median_signal");
    }

    #[test]
    fn a_median_of_one_is_the_algorithm_itself() {
        // All delays are multiples of 64 ps.
        let (setup, mut flow) =
            filtered::<Swift>(SwiftParams::default(), MedianParams { median: 1, ..FIVE }, PATH);
        let plain = Setup::new(SwiftParams::default(), PATH);
        let mut itself = Swift::new(&plain, us(50));
        for i in 0..200 {
            let ack = ack(i, 8 + i * i % 47);
            flow.on_ack(&setup, &ack, &IntStack::EMPTY);
            itself.on_ack(&plain, &ack, &IntStack::EMPTY);
            assert_eq!(*flow.flow(), itself);
        }
        assert!(itself.window() != Fixed::whole(150_000));
    }

    #[test]
    fn dctcp_by_the_majority_of_marks_by_hand() {
        // Of three: 0 | 0 1: the lower | 0 1 0 | 1 0 1 | 0 1 1 | 1 1 0 | 1 0 0.
        let marks = [(0, 0), (1, 0), (0, 0), (1, 1), (1, 1), (0, 1), (0, 0)];
        let three = MedianParams { median: 3, ..MedianParams::OFF };
        let (setup, mut flow) = filtered::<Dctcp>(DctcpParams::default(), three, PATH);
        let plain = Setup::new(DctcpParams::default(), PATH);
        let mut by_hand = Dctcp::new(&plain, us(50));
        for (i, (marked, median)) in (0..).zip(marks) {
            flow.on_ack(&setup, &Ack { marked, ..ack(i, 12) }, &IntStack::EMPTY);
            by_hand.on_ack(&plain, &Ack { marked: median, ..ack(i, 12) }, &IntStack::EMPTY);
            assert_eq!(*flow.flow(), by_hand, "{i}");
            let share = Value::Ratio(Fixed::whole(u64::from(median)));
            assert_eq!(flow.probe(&setup, Dctcp::INTERNALS.len()), Some(share));
        }
        // One acknowledgement of four packets, one of them marked, is a sample of a quarter. With 0 and 0: 0; then a
        // quarter and a half: with 0, a quarter, of four packets one.
        let (setup, mut flow) = filtered::<Dctcp>(DctcpParams::default(), three, PATH);
        let mut by_hand = Dctcp::new(&plain, us(50));
        for (i, (marked, median)) in (0..).zip([(0, 0), (1, 0), (2, 1), (1, 1), (0, 1)]) {
            let four = |marked| Ack { packets: 4, marked, ..ack(i, 12) };
            flow.on_ack(&setup, &four(marked), &IntStack::EMPTY);
            by_hand.on_ack(&plain, &four(median), &IntStack::EMPTY);
            assert_eq!(*flow.flow(), by_hand, "{i}");
        }
    }

    #[test]
    fn poseidon_by_the_median_of_the_busiest_hop() {
        // The artifact's unit is 1 us, and the delays are of whole ones.
        let params = PoseidonParams::preset("artifact").unwrap();
        let (setup, mut flow) = filtered::<Poseidon>(params, FIVE, PATH);
        let plain = Setup::new(params, PATH);
        let mut by_hand = Poseidon::new(&plain, us(50));
        for (i, (delay, median)) in (0..).zip(DELAYS) {
            let with = |us: u64| Ack { hop_delay: Time::from_us(us), ..ack(i, 12 + delay) };
            flow.on_ack(&setup, &with(delay), &IntStack::EMPTY);
            by_hand.on_ack(&plain, &with(median), &IntStack::EMPTY);
            assert_eq!(*flow.flow(), by_hand, "{i}");
        }
    }

    #[test]
    fn smartt_filters_its_delay_and_its_marks_if_asked() {
        // Marks of the last five: 0 | 1 0 | 1 1 0 | 1 1 0 0 | 1 1 1 0 0 | 1 1 1 0 1 | 0 1 1 0 1 | 0 0 1 0 1.
        let marks = [(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (1, 1), (0, 1), (0, 0)];
        for both in [false, true] {
            let median = MedianParams { marks: both, ..FIVE };
            let (setup, mut flow) = filtered::<Smartt>(SmarttParams::default(), median, PATH);
            let plain = Setup::new(SmarttParams::default(), PATH);
            let mut by_hand = Smartt::new(&plain, us(50));
            for (i, ((rtt, median), (marked, majority))) in (0..).zip(DELAYS.into_iter().zip(marks)) {
                flow.on_ack(&setup, &Ack { marked, ..ack(i, rtt) }, &IntStack::EMPTY);
                let marked = if both { majority } else { marked };
                by_hand.on_ack(&plain, &Ack { marked, ..ack(i, median) }, &IntStack::EMPTY);
                assert_eq!(*flow.flow(), by_hand, "{both} {i}");
            }
        }
    }

    #[test]
    fn a_share_of_the_window_is_rounded_down_and_bounded() {
        // A BDP of 150 packets, half of it 75.
        for (median, share, samples) in [
            (512, Fixed::ratio(1, 2), 75),
            (4, Fixed::ratio(1, 2), 4),
            (512, Fixed::ratio(1, 1000), 1),
            (512, Fixed::whole(4), 512),
            (9, Fixed::ZERO, 9),
        ] {
            let params = MedianParams { median, share, ..MedianParams::OFF };
            let (setup, flow) = filtered::<Swift>(SwiftParams::default(), params, PATH);
            assert_eq!(flow.samples(&setup), samples);
        }
    }

    #[test]
    fn samples_may_be_limited_in_age() {
        // Four samples of 11 us, silence of 30 us, one of 10: the smoothed RTT is 10.875 us, and twice that is less.
        for (age, expected) in [(0, 11), (2, 10), (3, 11)] {
            let median = MedianParams { age: Fixed::whole(age), ..FIVE };
            let (setup, mut flow) = filtered::<Swift>(SwiftParams::default(), median, PATH);
            (0..4).for_each(|i| flow.on_ack(&setup, &ack(i, 11), &IntStack::EMPTY));
            flow.on_ack(&setup, &ack(33, 10), &IntStack::EMPTY);
            let signal = flow.probe(&setup, Swift::INTERNALS.len());
            assert_eq!(signal, Some(Value::Time(us(expected))), "{age}");
        }
    }

    #[test]
    fn packets_are_paced_by_the_smoothed_rtt() {
        // 150 packets of 1000 B in 12 us are the line's 100 Gbps, whatever the gain above 1. The target is 20 + 2 · 3.05 us
        // and flow scaling adds nothing, so after a round trip of 24 us the window is 1/150 of a packet larger: 150,006 B
        // in 24 us are 50,002 Mbps; 1.2 windows 60,002.4, half of one 25,001.
        for (pacing, first, then) in [
            (Fixed::ZERO, 100_000, 100_000),
            (Fixed::ONE, 100_000, 50_002),
            (Fixed::ratio(6, 5), 100_000, 60_003),
            (Fixed::ratio(1, 2), 50_000, 25_001),
        ] {
            let median = MedianParams { pacing, ..FIVE };
            let (setup, mut flow) = filtered::<Swift>(SwiftParams::default(), median, PATH);
            let mbps = |flow: &Median<Swift>| flow.allowance(&setup).rate.bps().div_ceil(1_000_000);
            assert_eq!(mbps(&flow), first);
            flow.on_ack(&setup, &ack(0, 24), &IntStack::EMPTY);
            assert_eq!(mbps(&flow), then, "{pacing}");
        }
    }

    #[test]
    fn samples_that_there_are_not_may_count_as_the_least() {
        // 30 us, of five: no delay at all. With a third one the middle is the first that there is.
        for (start, expected) in [(false, [30, 30, 30]), (true, [0, 0, 30])] {
            let (setup, mut flow) =
                filtered::<Swift>(SwiftParams::default(), MedianParams { start, ..FIVE }, PATH);
            for (i, expected) in (0..).zip(expected) {
                flow.on_ack(&setup, &ack(i, 30), &IntStack::EMPTY);
                let Some(Value::Time(signal)) = flow.probe(&setup, Swift::INTERNALS.len()) else {
                    panic!("no signal")
                };
                assert_eq!(signal.ps().div_ceil(1_000_000), expected, "{start} {i}");
            }
        }
    }

    #[test]
    fn lswift_with_half_a_window_is_mswift() {
        for (params, age, percentile) in [
            (MSwiftParams::default(), 0, 50),
            (MSwiftParams { percentile: 90, ..MSwiftParams::default() }, 0, 90),
            (MSwiftParams { age_limit: Fixed::whole(2), ..MSwiftParams::default() }, 2, 50),
        ] {
            let median = MedianParams {
                median: MOST as u64,
                share: Fixed::ratio(1, 2),
                percentile,
                age: Fixed::whole(age),
                ..MedianParams::OFF
            };
            let (setup, mut flow) = filtered::<LSwift>(params.lswift, median, PATH);
            let plain = Setup::new(params, PATH);
            let mut mswift = MSwift::new(&plain, us(50));
            let mut windows = 0;
            for i in 0..20_000_u64 {
                let noise = i.wrapping_mul(6_364_136_223_846_793_005) >> 40;
                let late = if i / 500 % 3 == 0 { 9_000_000 } else { 0 };
                let rtt = Time::from_ps(11_500_000 + noise % 3_000_000 + late);
                let now = us(100) + Time::from_ns(80 * i);
                let ack = Ack { now, sent: now - rtt, ..ack(i, 0) };
                let before = mswift.window();
                flow.on_ack(&setup, &ack, &IntStack::EMPTY);
                mswift.on_ack(&plain, &ack, &IntStack::EMPTY);
                if i % 1000 == 999 {
                    let loss = Loss { now, bytes: Bytes::new(5000), ..Loss::BLANK };
                    flow.on_loss(&setup, &loss);
                    mswift.on_loss(&plain, &loss);
                }
                windows += u32::from(mswift.window() < before);
                assert_eq!(flow.flow().window(), mswift.window(), "{i}");
                assert_eq!(flow.allowance(&setup), mswift.allowance(&plain));
                assert_eq!(flow.samples(&setup), mswift.samples(&plain));
            }
            assert!(windows > 20, "{windows}");
        }
    }

    #[test]
    fn nscc_with_four_delays_is_mnscc() {
        // Times are multiples of 64 ps, to which samples are rounded here and not there.
        let median = MedianParams { median: 4, share: Fixed::ratio(1, 2), ..MedianParams::OFF };
        for preset in ["scaled", "median", "uec"] {
            let (setup, mut flow) = filtered::<Nscc>(NsccParams::preset(preset).unwrap(), median, PATH);
            let plain = Setup::new(MnsccParams::preset(preset).unwrap(), PATH);
            let mut mnscc = Mnscc::new(&plain, us(50));
            let (mut smallest, mut fewest) = (mnscc.window(), 4);
            for i in 0..20_000_u64 {
                let noise = i.wrapping_mul(6_364_136_223_846_793_005) >> 40;
                // Heavy congestion, from which windows of few packets come, and calm.
                let late = if i / 700 % 3 == 0 { 937_500 } else { 0 };
                let rtt = match i % 97 {
                    0 => Time::ZERO,
                    _ => Time::from_ps((187_300 + noise % 30_000 + late) << 6),
                };
                let now = Time::from_ps((1_562_500 + 1250 * i) << 6);
                let marked = u32::from(late > 0 || noise % 5 == 0);
                let acked = if i % 89 == 0 { Bytes::ZERO } else { PATH.packet };
                let ack = Ack { now, sent: now - rtt, marked, acked, ..ack(i, 0) };
                flow.on_ack(&setup, &ack, &IntStack::EMPTY);
                mnscc.on_ack(&plain, &ack, &IntStack::EMPTY);
                if i % 1000 == 999 {
                    let loss = Loss { now, kind: LossKind::Timeout, bytes: PATH.packet, ..Loss::BLANK };
                    flow.on_loss(&setup, &loss);
                    mnscc.on_loss(&plain, &loss);
                }
                smallest = smallest.min(mnscc.window());
                fewest = fewest.min(flow.samples(&setup));
                assert_eq!(flow.flow().window(), mnscc.window(), "{preset} {i}");
                for place in 0..Nscc::INTERNALS.len() {
                    assert_eq!(flow.probe(&setup, place), mnscc.probe(&plain, place), "{preset} {i}");
                }
            }
            assert!(smallest < Fixed::whole(8000) && fewest < 4, "{preset} {smallest} {fewest}");
        }
    }

    #[test]
    fn options_are_off_until_a_median_is_set() {
        let mut all = 0;
        for info in crate::any::CATALOGUE {
            let mut params = AnyParams::named(info.name, None).unwrap();
            let Some(signal) = params.filtered() else {
                assert!(!params.set("median", Value::Count(5)), "{}", info.name);
                continue;
            };
            all += 1;
            assert_eq!(params.info().state_bytes, info.state_bytes);
            assert_eq!(params.set("median_marks", Value::Flag(true)), signal == Signal::DelayAndMarks);
            assert!(params.set("median_age", Value::Ratio(Fixed::ONE)));
            assert_eq!(params.info().state_bytes, info.state_bytes);
            assert!(!params.set("median", Value::Count(MOST as u64 + 1)));
            assert!(params.set("median", Value::Count(5)));
            assert_eq!(params.info().state_bytes, info.state_bytes.next_multiple_of(8) + 8 + 2 * 5136);
            assert_eq!((params.info().kernel, params.info().about), (None, info.about));
        }
        assert_eq!(all, 6);
    }
}
