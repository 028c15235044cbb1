//! MNSCC (Gerstein, Silberstein, Keslassy, "Congestion Control for Spraying with Congested Paths", arXiv
//! 2509.07907, the median paper), sections III-B and III-C: [NSCC](crate::nscc) that goes by the median of the
//! last few delays, so that one slow path among many does not speak for all.
//!
//! The median is over the last H = max(⌊min(W/2, 4)⌋, 1) delays (Equation 9), W the window in packets before the
//! acknowledgement changes it.
//!
//! Where the paper leaves something open:
//! * Of an even number of delays the lower median counts: nearest rank ⌈H/2⌉.
//! * An acknowledgement is one delay, however many packets it covers; one without a valid RTT is none.
//! * When H grows the delays there are count until there are more; when it shrinks the oldest are forgotten.
//! * Marks are not filtered, and NSCC's own average is over the delays as measured, unless `median_average`: the
//!   paper applies the median to "the delay signals" only.

use incast_units::{Rate, Time};

use crate::Fixed;
use crate::nscc::{Filter, Law, LawParams, parameters};
use crate::params::{About, Described, Family, Param, param, presets};
use crate::relative::{Relate, relate};

/// Most delays that the median can be over.
const MOST: u64 = 4;

/// The median of the last delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Median {
    /// Most delays that it is over.
    pub history: u64,
    /// Whether the average delay is one of medians.
    pub median_average: bool,
}

/// The last delays of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Last {
    /// The newest first.
    delays: [Time; MOST as usize],
    /// Number of samples that count.
    count: u64,
}

impl Last {
    /// Adds a delay to the newest `most` of them.
    fn add(&mut self, delay: Time, most: u64) {
        let [first, second, third, _] = self.delays;
        self.delays = [delay, first, second, third];
        self.count = (self.count + 1).min(most);
    }

    /// The lower median of those that count.
    fn median(&self) -> Option<Time> {
        // The two smallest suffice: the rank of the lower median of four is two.
        let (mut least, mut second) = (Time::NEVER, Time::NEVER);
        for (_, delay) in (0..self.count).zip(self.delays) {
            (least, second) = (least.min(delay), second.min(least.max(delay)));
        }
        match self.count {
            0 => None,
            1 | 2 => Some(least),
            _ => Some(second),
        }
    }
}

impl Relate for Last {
    relate! {
        value(): [delays, count],
    }
}

impl Filter for Median {
    type State = Last;

    fn delay(&self, last: &mut Last, sample: Option<Time>, window: Fixed) -> Option<Time> {
        let most = (window.floor() / 2).min(self.history).clamp(1, MOST);
        last.count = last.count.min(most);
        if let Some(delay) = sample {
            last.add(delay, most);
        }
        last.median()
    }

    fn averages_filtered(&self) -> bool {
        self.median_average
    }
}

/// Parameters of [`Mnscc`].
pub type MnsccParams = LawParams<Median>;

/// MNSCC, the state of one flow: 152 bytes.
pub type Mnscc = Law<Median>;

presets! {
    impl MnsccParams {
        "scaled" acknowledging UEC: "ours: as uec, with a smallest RTT that is forgotten",
        fn scaled() -> Self {
            Self { forget_base_rtt: true, ..Self::with_uec() }
        }

        "median": "the median paper (arXiv 2509.07907): target 1us, fast increase below half of it, first window 1 BDP",
        fn paper() -> Self {
            Self::median(Median { history: MOST, median_average: false })
        }

        "uec" acknowledging UEC: "the median with the UEC 1.0 defaults of uet-htsim, in a network without trimming",
        fn with_uec() -> Self {
            Self::uec(Median { history: MOST, median_average: false })
        }
    }
}

impl Described for MnsccParams {
    const ABOUT: About = About {
        name: "mnscc",
        title: "MNSCC",
        summary: "NSCC by the median of the last delays",
        family: Family::Spraying,
        needs: "as NSCC, and a median of four delays in the network card (a research proposal: 2025)",
    };
    const PARAMS: &'static [Param<Self>] = parameters!(
        param!(
            Count "history",
            filter.history,
            1,
            MOST,
            "most delays that the median is over; fewer in a window of less than twice as many packets",
            Printed,
            "median paper, Equation 9: 4"
        ),
        param!(
            Flag "median_average",
            filter.median_average,
            "whether NSCC's average delay is one of medians, and not of the delays as measured",
            Ours,
            "chosen here: false; the median paper section III-B: \"the delay signals\""
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Ack, CongestionControl, IntStack, Path, Setup};
    use crate::params::Value;
    use crate::testing::{PATH, ack, us};
    use incast_units::Bytes;

    const PAPER: Median = Median { history: MOST, median_average: false };

    /// The median after each of these delays in us, at this window in packets.
    fn medians(last: &mut Last, window: Fixed, delays: &[u64]) -> [u64; 8] {
        let mut medians = [0; 8];
        for (median, delay) in medians.iter_mut().zip(delays) {
            *median = PAPER.delay(last, Some(us(*delay)), window).unwrap().ns() / 1000;
        }
        medians
    }

    #[test]
    fn the_history_is_half_the_window_and_at_most_four() {
        assert_eq!(size_of::<Mnscc>(), 168);
        let delays = [10, 30, 12, 11, 40, 13, 9, 50];
        // By hand: {10}, {10 30}, {10 30 12}, {10 30 12 11}, {30 12 11 40}, {12 11 40 13}, {11 40 13 9},
        // {40 13 9 50}.
        let four = [10, 10, 12, 11, 12, 12, 11, 13];
        // {10}, {10 30}, {10 30 12}, {30 12 11}, {12 11 40}, {11 40 13}, {40 13 9}, {13 9 50}.
        let three = [10, 10, 12, 12, 12, 13, 13, 13];
        let two = [10, 10, 12, 11, 11, 13, 9, 9];
        let window = |packets: u64, of_tenths: u64| Fixed::ratio(packets, of_tenths);
        for (window, expected) in [
            (window(1000, 1), four),
            (window(8, 1), four),
            (window(79, 10), three),
            (window(6, 1), three),
            (window(59, 10), two),
            (window(4, 1), two),
            (window(39, 10), delays),
            (window(1, 1), delays),
            (window(1, 2), delays),
        ] {
            assert_eq!(medians(&mut Last::default(), window, &delays), expected, "{window}");
        }
    }

    #[test]
    fn a_smaller_history_forgets_and_a_larger_one_fills() {
        let mut last = Last::default();
        assert_eq!(PAPER.delay(&mut last, None, Fixed::whole(9)), None);
        medians(&mut last, Fixed::whole(9), &[10, 30, 12, 11]);
        // Without a sample, of those there are: {10 30 12 11}, then the newest two {12 11}.
        assert_eq!(PAPER.delay(&mut last, None, Fixed::whole(9)), Some(us(11)));
        assert_eq!(PAPER.delay(&mut last, None, Fixed::whole(5)), Some(us(11)));
        // {11 20}, then {11 20 5}, {11 20 5 30}: 12 is forgotten.
        assert_eq!(medians(&mut last, Fixed::whole(5), &[20])[0], 11);
        assert_eq!(medians(&mut last, Fixed::whole(9), &[5, 30])[..2], [11, 11]);
        let one = Median { history: 1, ..PAPER };
        assert_eq!(one.delay(&mut last, Some(us(99)), Fixed::whole(9)), Some(us(99)));
    }

    /// Against a sort, with another window each time.
    #[test]
    fn the_median_is_that_of_a_sort() {
        let (mut last, mut x) = (Last::default(), 7_u64);
        let (mut kept, mut count) = ([0; 4], 0);
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (delay, window) = ((x >> 40) % 16, (x >> 33) % 12);
            let most = (window / 2).clamp(1, 4) as usize;
            kept.rotate_right(1);
            kept[0] = delay;
            count = (count.min(most) + 1).min(most);
            let mut sorted = kept;
            sorted[..count].sort_unstable();
            let median = PAPER.delay(&mut last, Some(us(delay)), Fixed::whole(window));
            assert_eq!(median, Some(us(sorted[count.div_ceil(2) - 1])));
        }
    }

    /// Acknowledgements of packets over four paths in turn, the first of them slow and marked; how the window of
    /// 50 packets changed, and the average delay in us.
    fn over_four_paths<F: Filter>(params: LawParams<F>) -> (f64, f64) {
        let path = Path { packet: Bytes::new(1000), payload: Bytes::new(936), ..PATH };
        let params = LawParams { eta: Fixed::ZERO, initial_cwnd: Fixed::ratio(1, 3), ..params };
        let setup = Setup::new(params, path);
        let mut flow = Law::new(&setup, Time::ZERO);
        let before = flow.window();
        for n in 0..4000_u64 {
            let slow = n % 4 == 0;
            // 0.8 us below the target of 1 us (proportional increase is off), or 8 us.
            let rtt = path.base_rtt + if slow { us(8) } else { Time::from_ns(800) };
            let ack = Ack { marked: u32::from(slow), ..ack(us(20) + Time::from_ns(240 * n), rtt, 0, 0) };
            flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        }
        let average = flow.probe(&setup, 0);
        let Some(Value::Time(average)) = average else { panic!("{average:?}") };
        ((flow.window() - before).bits() as f64 / 4_294_967_296.0, average.ps() as f64 / 1e6)
    }

    /// With marks on a slow path and a low median nothing changes; NSCC falls to a few packets, as its average of
    /// (8 + 3 · 0.8)/4 = 2.6 us is above the target.
    #[test]
    fn one_slow_path_in_four_changes_nothing() {
        let none = Fixed::ZERO;
        let (change, average) =
            over_four_paths(MnsccParams { proportional_increase: none, ..MnsccParams::paper() });
        assert_eq!(change, 0.0);
        assert!((2.5..2.7).contains(&average), "{average}");
        let (change, _) = over_four_paths(crate::nscc::NsccParams {
            proportional_increase: none,
            ..LawParams::median(crate::nscc::Latest)
        });
        assert!(change < -45_000.0, "{change}");
        // The average may be one of medians: then it is 0.8 us.
        let filter = Median { median_average: true, ..PAPER };
        let params = MnsccParams { proportional_increase: none, ..LawParams::median(filter) };
        let (change, average) = over_four_paths(params);
        assert_eq!(change, 0.0);
        assert!((average - 0.8).abs() < 2e-6, "{average}");
    }
}
