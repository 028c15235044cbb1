use super::*;
use crate::contract::{Parameters, Path};
use crate::testing::{ack, close, float};

/// The network of the gains: 100 Gbps, 12 us, 150 KB.
const REFERENCE: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(4160),
    payload: Bytes::new(4096),
    hops: 2,
};

/// That of the median paper: 800 Gbps, six links of 0.5 us: 6 us + 6 · (41.6 + 0.64) ns, 625,344 B.
const FAT_TREE: Path = Path {
    base_rtt: Time::from_ps(6_253_440),
    base_owd: Time::from_ps(3_249_600),
    line_rate: Rate::from_gbps(800),
    hops: 6,
    ..REFERENCE
};

/// The defaults at a target of 6 us.
fn params() -> NsccParams {
    NsccParams { target: Time::from_us(6), ..NsccParams::default() }
}

/// A flow with a window, long after its start: η is due at the end of an RTT, quick adapt has begun.
struct Flow {
    setup: Setup<NsccParams>,
    law: Nscc,
    now: Time,
}

impl Flow {
    fn new(params: NsccParams, path: Path, cwnd: u64) -> Self {
        let (setup, now) = (Setup::new(params, path), Time::from_us(1000));
        let fresh = Nscc::new(&setup, now);
        let law = Nscc { cwnd: Fixed::whole(cwnd), window_end: now + Time::from_us(900), ..fresh };
        Self { setup, law, now }
    }

    /// An acknowledgement of 4096 B with this queueing delay in ns.
    fn ack(&mut self, delay: u64, marked: bool) {
        let rtt = self.law.base_rtt.get() + Time::from_ns(delay);
        let ack = Ack {
            acked: Bytes::new(4096),
            marked: u32::from(marked),
            inflight_now: Bytes::new(50_000),
            ..ack(self.now, rtt, 0, 0)
        };
        self.law.on_ack(&self.setup, &ack, &IntStack::EMPTY);
    }

    fn lose(&mut self, kind: LossKind, bytes: u64) {
        let loss = Loss {
            now: self.now,
            kind,
            bytes: Bytes::new(bytes),
            sent: self.now - Time::from_us(20),
            ..Loss::BLANK
        };
        self.law.on_loss(&self.setup, &loss);
    }

    /// The pending increase as in uet-htsim, in bytes · bytes.
    fn pending(&self) -> f64 {
        float(self.law.pending) * float(self.setup.derived.bdp)
    }
}

#[track_caller]
fn near(ours: f64, by_hand: f64, share: f64) {
    assert!((ours - by_hand).abs() <= share * by_hand.abs(), "{ours} is not {by_hand}");
}

#[test]
fn constants_of_the_reference_network() {
    // a = 1: alpha 4 · 4096/12 us, fi 5 · 4096, eta 0.15 · 4096, 1.5 · 150,000, an eighth of it, 12 + 6 us.
    let flow = Flow::new(params(), REFERENCE, 100_000);
    let derived = &flow.setup.derived;
    near(float(derived.proportional) * 150_000.0 / 12.0, 1_365.333_333, 1e-8);
    near(float(derived.fair) * 150_000.0, 20_480.0, 1e-8);
    close(derived.fast, 0.25);
    assert!((float(derived.eta) - 614.4).abs() < 1e-6);
    close(flow.law.max_cwnd, 225_000.0);
    close(flow.law.max_cwnd * derived.qa_share, 28_125.0);
    assert_eq!(derived.target + flow.law.base_rtt.get(), Time::from_us(18));
    assert_eq!((derived.qa_threshold, derived.adjust), (Time::from_us(24), Bytes::new(33_280)));
    assert_eq!(Nscc::signals(&params()), Signals::ECN);
    assert_eq!(size_of::<Nscc>(), 128);
    close(Nscc::new(&flow.setup, Time::ZERO).cwnd, 225_000.0);
}

#[test]
fn constants_of_the_median_papers_network() {
    // a = 625,344/150,000 = 4.16896, target 1 us.
    let flow = Flow::new(NsccParams::of_median_paper(), FAT_TREE, 100_000);
    let derived = &flow.setup.derived;
    near(float(derived.proportional) * 625_344.0 / 12.0, 5692.02, 1e-6);
    near(float(derived.fair) * 625_344.0, 85_380.3, 1e-6);
    near(float(derived.eta), 2_561.41, 2e-6);
    near(float(derived.fast), 1.042_24, 1e-8);
    close(flow.law.max_cwnd, 938_016.0);
    close(flow.law.max_cwnd * derived.qa_share, 117_252.0);
    assert_eq!(derived.target + flow.law.base_rtt.get(), Time::from_ps(7_253_440));
    assert_eq!((derived.qa_threshold, derived.fast_below), (Time::from_us(4), Time::from_ns(500)));
    // The first window is one BDP.
    close(Nscc::new(&flow.setup, Time::ZERO).cwnd, 625_344.0);
}

#[test]
fn the_target_is_given_or_a_share_of_the_base_rtt() {
    for (params, target) in [
        (NsccParams::without_trimming(), Time::from_us(12)),
        (NsccParams::trimming(), Time::from_us(9)),
        (params(), Time::from_us(6)),
        (NsccParams { target_share: Fixed::ZERO, ..NsccParams::default() }, Time::from_ps(1)),
    ] {
        assert_eq!(params.derive(&REFERENCE).target, target);
    }
}

#[test]
fn proportional_increase_is_added_after_more_than_eight_packets() {
    // 3 us below the target: 1365.333 · 4096 · 3 = 16,777,216 each; nine make 36,864 B > 33,280.
    for (period, window) in [(0, 101_509.949), (12, 102_124.349)] {
        let mut flow = Flow::new(params(), REFERENCE, 100_000);
        flow.now += Time::from_us(period);
        for n in 1..9 {
            flow.ack(3000, false);
            near(flow.pending(), 16_777_216.0 * f64::from(n), 1e-7);
            close(flow.law.cwnd, 100_000.0);
        }
        flow.ack(3000, false);
        near(float(flow.law.cwnd), window, 1e-8);
        assert_eq!((flow.pending(), flow.law.received), (0.0, Bytes::ZERO));
    }
    // Or when more than an RTT has passed since η was added: 16,777,216/100,000 and 614.4.
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.now += Time::from_us(12) + Time::from_ps(1);
    flow.ack(3000, false);
    near(float(flow.law.cwnd), 100_000.0 + 167.772_16 + 614.4, 1e-9);
}

#[test]
fn fair_increase_is_five_mss_per_round_trip() {
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    for delay in [6000, 7000, 100_000] {
        flow.law.pending = Fixed::ZERO;
        // Beyond 24 us quick adapt would be due, were its window over.
        flow.ack(delay, false);
        near(flow.pending(), 83_886_080.0, 1e-8);
    }
}

/// At twice the target, with a window of acknowledgements every 8.25344 us: + 5·a MSS each time, a = 4.16896.
#[test]
fn a_path_that_is_slow_without_marks_raises_the_window() {
    let params = NsccParams { eta: Fixed::ZERO, ..NsccParams::of_median_paper() };
    let mut flow = Flow::new(params, FAT_TREE, 200_000);
    let (begin, rtt) = (flow.now, FAT_TREE.base_rtt + Time::from_us(2));
    while flow.now < begin + rtt.times(5) {
        flow.now += rtt.times_ratio(4096, flow.law.cwnd.floor());
        flow.ack(2000, false);
    }
    let grown = float(flow.law.cwnd) - 200_000.0 + flow.pending() / float(flow.law.cwnd);
    near(grown / 5.0, 5.0 * 4.168_96 * 4096.0, 0.02);
}

#[test]
fn decreases_by_the_average_delay_once_per_base_rtt() {
    // 0.8 · (avg − 6)/avg: avg 8 → 0.2, 12 → 0.4, 30 → 0.64, at most 0.5; not at avg 6. The marked sample of
    // 8 us comes in first, so that the average before is (avg − 0.0125 · 8)/0.9875.
    for (average, window) in [(8.0, 80_000.0), (12.0, 60_000.0), (30.0, 50_000.0), (5.9, 100_000.0)] {
        let mut flow = Flow::new(params(), REFERENCE, 100_000);
        let before = (average - 0.0125 * 8.0) / 0.9875;
        flow.law.average = Fixed::from_bits((before * 4_294_967_296.0) as i64);
        flow.ack(8000, true);
        // Not later than one base RTT after the start.
        close(flow.law.cwnd, 100_000.0);
        flow.law.average = Fixed::from_bits((before * 4_294_967_296.0) as i64);
        flow.law.last_eta = Time::NEVER;
        flow.now += Time::from_us(12) + Time::from_ps(1);
        flow.ack(8000, true);
        near(float(flow.law.cwnd), window, 1e-7);
        // And not twice in one.
        flow.now += Time::from_us(12);
        flow.ack(8000, true);
        near(float(flow.law.cwnd), window, 1e-7);
    }
}

#[test]
fn a_mark_below_the_target_changes_nothing() {
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    let before = flow.law;
    flow.ack(5999, true);
    assert_eq!((flow.law.cwnd, flow.law.pending, flow.law.fast), (before.cwnd, before.pending, before.fast));
}

#[test]
fn the_average_is_pulled_down_by_what_is_slow_without_marks() {
    // 0.0125 · 0.25 · 12 + 0.9875 · 5 = 4.975; 0.0125 · 8 + 0.9875 · 5 = 5.0375, and 0.0125 · 4 + … = 4.9875.
    for (delay, marked, average) in [(7000, false, 4.975), (8000, true, 5.0375), (4000, false, 4.9875)] {
        let mut flow = Flow::new(params(), REFERENCE, 100_000);
        flow.law.average = Fixed::whole(5);
        flow.ack(delay, marked);
        close(flow.law.average, average);
    }
    // At the target it counts as it is: 0.0125 · 6 + 0.9875 · 5 = 5.0125.
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.average = Fixed::whole(5);
    flow.ack(6000, false);
    close(flow.law.average, 5.0125);
}

#[test]
fn fast_increase_follows_a_window_of_delays_near_zero() {
    // 20,000 B: the fifth acknowledgement makes 20,480, and adds a quarter of 4096 B at once.
    let mut flow = Flow::new(params(), REFERENCE, 20_000);
    for _ in 0..4 {
        flow.ack(999, false);
        close(flow.law.cwnd, 20_000.0);
    }
    for n in 1..4_u32 {
        flow.ack(0, false);
        assert!(flow.law.fast);
        close(flow.law.cwnd, 20_000.0 + f64::from(n) * 1024.0);
    }
    // A mark below the target does not end it, nor does a delay at the target; one of 1 us does.
    flow.ack(0, true);
    flow.ack(6000, false);
    flow.ack(0, false);
    assert!(flow.law.fast);
    flow.ack(1000, false);
    assert!(!flow.law.fast);
    assert_eq!(flow.law.near_zero, Bytes::ZERO);
    // So does a mark above the target.
    flow.law.fast = true;
    flow.ack(7000, true);
    assert!(!flow.law.fast);
}

/// With a target of 1 us and uet-htsim's constant of 1 us, every delay below the target is "near zero".
#[test]
fn a_target_of_1us_needs_another_limit_of_fast_increase() {
    let literal = NsccParams { fast_increase_share: Fixed::ONE, ..NsccParams::of_median_paper() };
    for (params, proportional) in [(literal, false), (NsccParams::of_median_paper(), true)] {
        let mut flow = Flow::new(params, FAT_TREE, 20_000);
        for _ in 0..5 {
            flow.ack(0, false);
        }
        for delay in [999, 900, 500] {
            flow.law.pending = Fixed::ZERO;
            flow.ack(delay, false);
            assert_eq!(
                (flow.law.pending > Fixed::ZERO, flow.law.fast),
                (proportional, !proportional),
                "{delay}"
            );
        }
    }
}

#[test]
fn quick_adapt_cuts_to_what_arrived() {
    // 25 us after heavy congestion: over 4 · 6 us. Six acknowledgements make 24,576 B < 28,125.
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.window_end = Time::ZERO;
    flow.ack(25_000, true);
    // The first acknowledgement begins the window of 18 us, with what arrives after it.
    assert_eq!((flow.law.window_end, flow.law.achieved), (flow.now + Time::from_us(18), Bytes::ZERO));
    for _ in 0..5 {
        flow.ack(25_000, true);
    }
    close(flow.law.cwnd, 100_000.0);
    flow.law.pending = Fixed::ONE;
    flow.now += Time::from_us(18) + Time::from_ps(1);
    flow.ack(25_000, true);
    close(flow.law.cwnd, 24_576.0);
    assert_eq!((flow.law.to_ignore, flow.law.pending), (Bytes::new(50_000), Fixed::ZERO));
    assert_eq!((flow.law.achieved, flow.law.received), (Bytes::ZERO, Bytes::ZERO));
    // Marks of what was in flight are ignored, with what would else be done: 13 · 4096 B > 50,000.
    flow.law.average = Fixed::whole(30);
    for _ in 0..12 {
        flow.ack(25_000, true);
        close(flow.law.cwnd, 24_576.0);
    }
    flow.now += Time::from_us(13);
    flow.ack(25_000, true);
    assert!(float(flow.law.cwnd) < 20_000.0);
    // However much is said to be in flight, no more is ignored than can be: 225,000 B and a packet of 4160.
    let ack = Ack { marked: 1, inflight_now: Bytes::new(1 << 40), ..ack(flow.now, Time::from_us(37), 0, 0) };
    let mut wild = Flow::new(params(), REFERENCE, 100_000);
    wild.law.window_end = Time::from_ps(1);
    wild.law.on_ack(&wild.setup, &ack, &IntStack::EMPTY);
    assert_eq!(wild.law.to_ignore, Bytes::new(229_160));
    // One that is not marked is not ignored.
    flow.law.to_ignore = Bytes::new(50_000);
    flow.law.pending = Fixed::ZERO;
    flow.ack(7000, false);
    assert!(flow.law.pending > Fixed::ZERO);
}

#[test]
fn quick_adapt_needs_a_reason_and_little_that_arrived() {
    // Seven make 28,672 B: enough. A delay of 24 us is not above four targets. Without it, nothing.
    let off = NsccParams { quick_adapt: false, ..params() };
    for (params, packets, delay) in [(params(), 7, 25_000), (params(), 6, 24_000), (off, 6, 25_000)] {
        let mut flow = Flow::new(params, REFERENCE, 100_000);
        flow.law.window_end = flow.now;
        for _ in 1..packets {
            flow.ack(delay, true);
        }
        flow.now += Time::from_ps(1);
        flow.ack(delay, true);
        close(flow.law.cwnd, 100_000.0);
    }
    // Nothing arrived but the one packet: the least window.
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.window_end = flow.now;
    flow.now += Time::from_ps(1);
    flow.ack(25_000, true);
    close(flow.law.cwnd, 4160.0);
}

#[test]
fn a_nack_takes_its_packet_and_makes_quick_adapt_due() {
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.average = Fixed::whole(5);
    flow.lose(LossKind::Trim, 4160);
    close(flow.law.cwnd, 95_840.0);
    // A sample of one network RTT: 0.0125 · 12 + 0.9875 · 5.
    close(flow.law.average, 5.0875);
    assert!(flow.law.triggered);
    // At the end of the window an acknowledgement, however fast, cuts it: 4096 B, less than a packet.
    flow.law.achieved = Bytes::ZERO;
    flow.now = flow.law.window_end + Time::from_ps(1);
    flow.ack(0, false);
    close(flow.law.cwnd, 4160.0);
    assert!(!flow.law.triggered);
    // While the bytes in flight come back, NACKs change nothing and count among them; what triggers remains.
    flow.lose(LossKind::Trim, 4160);
    close(flow.law.cwnd, 4160.0);
    assert_eq!((flow.law.to_ignore, flow.law.triggered), (Bytes::new(45_840), true));
    // A NACK at the end of a window is itself what cuts: 20,000 B arrived.
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.achieved = Bytes::new(20_000);
    flow.law.inflight = Bytes::new(70_000);
    flow.now = flow.law.window_end + Time::from_ps(1);
    flow.lose(LossKind::Trim, 4160);
    close(flow.law.cwnd, 20_000.0);
    // The trimmed packet was among those in flight.
    assert_eq!((flow.law.to_ignore, flow.law.inflight), (Bytes::new(70_000), Bytes::new(65_840)));
}

#[test]
fn a_timeout_takes_a_packet_and_a_hole_nothing() {
    let mut flow = Flow::new(params(), REFERENCE, 10_000);
    let before = flow.law;
    flow.lose(LossKind::Hole, 0);
    assert_eq!(flow.law, before);
    flow.lose(LossKind::Timeout, 50_000);
    close(flow.law.cwnd, 5840.0);
    flow.lose(LossKind::Timeout, 50_000);
    close(flow.law.cwnd, 4160.0);
    assert!(!flow.law.triggered);
    let mut flow = Flow::new(NsccParams { hole_is_nack: true, ..params() }, REFERENCE, 10_000);
    flow.lose(LossKind::Hole, 4160);
    close(flow.law.cwnd, 5840.0);
    assert!(flow.law.triggered);
}

#[test]
fn the_base_rtt_follows_the_smallest() {
    let rtt = |flow: &mut Flow, rtt: Time| {
        let ack = Ack { acked: Bytes::new(4096), ..ack(flow.now, rtt, 0, 0) };
        flow.law.on_ack(&flow.setup, &ack, &IntStack::EMPTY);
    };
    let mut flow = Flow::new(params(), REFERENCE, 150_000);
    rtt(&mut flow, Time::from_us(8));
    // 1.5 · 100 KB.
    assert_eq!((flow.law.base_rtt.get(), flow.law.near_zero), (Time::from_us(8), Bytes::new(4096)));
    close(flow.law.max_cwnd, 150_000.0);
    // A trimmed packet came back within 20 us; within 7 us.
    flow.lose(LossKind::Trim, 4160);
    assert_eq!(flow.law.base_rtt.get(), Time::from_us(8));
    flow.now = Time::from_us(1013);
    let fast = |flow: &mut Flow| {
        let (now, sent) = (flow.now, flow.now - Time::from_us(7));
        let loss = Loss { now, sent, kind: LossKind::Trim, ..Loss::BLANK };
        flow.law.on_loss(&flow.setup, &loss);
    };
    fast(&mut flow);
    assert_eq!(flow.law.base_rtt.get(), Time::from_us(7));
    // Without that the average stands for a delay that cannot be measured: 7 us, so that + fi.
    let fixed = NsccParams { track_base_rtt: false, ..params() };
    let mut flow = Flow::new(fixed, REFERENCE, 150_000);
    flow.law.average = Fixed::whole(7);
    rtt(&mut flow, Time::from_us(8));
    assert_eq!((flow.law.base_rtt.get(), flow.law.average), (Time::from_us(12), Fixed::whole(7)));
    near(flow.pending(), 83_886_080.0, 1e-8);
    let mut flow = Flow::new(NsccParams { track_nacks: false, ..params() }, REFERENCE, 150_000);
    fast(&mut flow);
    assert_eq!(flow.law.base_rtt.get(), Time::from_us(12));
}

#[test]
fn a_duplicate_adds_nothing() {
    let mut flow = Flow::new(params(), REFERENCE, 100_000);
    flow.law.average = Fixed::whole(7);
    let before = flow.law;
    let ack = Ack { acked: Bytes::ZERO, ..ack(flow.now, Time::from_us(30), 0, 0) };
    flow.law.on_ack(&flow.setup, &ack, &IntStack::EMPTY);
    assert_eq!(Nscc { inflight: before.inflight, ..flow.law }, before);
}

/// In bytes · bytes one packet at 100 Gbps adds 83,886,080 of the 2,147,483,647 that a number holds, and the sixth
/// at 800 Gbps is too many. At 1.6 Tbps and 1 ms, a = 1333.33: an acknowledgement for half of the 200 MB adds
/// 5 · 4096 · 1333.33 · 1/2 B.
#[test]
fn nothing_saturates() {
    let path = Path { base_rtt: Time::from_ms(1), line_rate: Rate::from_gbps(1600), ..REFERENCE };
    let mut flow = Flow::new(params(), path, 200_000_000);
    flow.law.last_eta = Time::NEVER;
    let (now, rtt) = (Time::from_ms(2), path.base_rtt + Time::from_us(10));
    let ack = Ack { acked: Bytes::new(100_000_000), ..ack(now, rtt, 0, 0) };
    flow.law.on_ack(&flow.setup, &ack, &IntStack::EMPTY);
    near(float(flow.law.cwnd), 200_000_000.0 + 13_653_333.333, 1e-8);
    // Eight packets at 800 Gbps, and the ninth which adds them all: 9 · 4096 · 85,380.3/100,000.
    let mut flow = Flow::new(NsccParams::of_median_paper(), FAT_TREE, 100_000);
    for _ in 0..9 {
        flow.ack(1000, false);
    }
    near(float(flow.law.cwnd), 100_000.0 + 9.0 * 4096.0 * 85_380.300_8 / 100_000.0, 1e-8);
}

#[test]
fn the_window_stays_within_its_limits() {
    let mut flow = Flow::new(params(), REFERENCE, 224_999);
    flow.now += Time::from_us(13);
    flow.ack(3000, false);
    close(flow.law.cwnd, 225_000.0);
    let setup = Setup::new(NsccParams { max_cwnd: Fixed::ratio(1, 100), ..params() }, REFERENCE);
    close(Nscc::new(&setup, Time::ZERO).cwnd, 4160.0);
}
