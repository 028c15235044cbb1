use super::*;
use crate::contract::{Parameters, Path};
use crate::testing::{ack, close, float};
use incast_units::Rate;

/// 100 Gbps, 12 us: 150 KB; the largest window is 187,500 B, the target 18 us.
const REFERENCE: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(4096),
    payload: Bytes::new(4032),
    hops: 2,
};

/// Fair decrease relative to the largest window.
fn params() -> SmarttParams {
    SmarttParams { fd_of: Reference::MaxCwnd, ..SmarttParams::default() }
}

struct Flow {
    setup: Setup<SmarttParams>,
    state: Smartt,
    now: Time,
}

impl Flow {
    fn new(params: SmarttParams, cwnd: u64) -> Self {
        let setup = Setup::new(params, REFERENCE);
        let cwnd = Fixed::whole(cwnd);
        let state = Smartt { cwnd, near_base_of: cwnd, ..Smartt::new(&setup, Time::ZERO) };
        Self { setup, state, now: Time::from_us(1000) }
    }

    /// An acknowledgement of a packet after this RTT in us.
    fn ack(&mut self, rtt: u64, marked: bool) {
        let ack = Ack {
            acked: Bytes::new(4096),
            marked: u32::from(marked),
            inflight_now: Bytes::new(10_000),
            ..ack(self.now, Time::from_us(rtt), 0, 0)
        };
        self.state.on_ack(&self.setup, &ack, &IntStack::EMPTY);
    }

    fn lose(&mut self, kind: LossKind, bytes: u64) {
        let loss = Loss { now: self.now, kind, bytes: Bytes::new(bytes), ..Loss::BLANK };
        self.state.on_loss(&self.setup, &loss);
    }
}

#[track_caller]
fn near(value: Fixed, by_hand: f64, share: f64) {
    let value = float(value);
    assert!((value - by_hand).abs() <= share * by_hand.abs(), "{value} is not {by_hand}");
}

#[test]
fn starts_with_one_bdp() {
    let flow = Flow::new(SmarttParams::default(), 0);
    let state = Smartt::new(&flow.setup, Time::ZERO);
    close(state.cwnd, 150_000.0);
    close(flow.setup.derived.max_cwnd, 187_500.0);
    assert_eq!(flow.setup.derived.target_rtt, Time::from_us(18));
    assert_eq!(SmarttParams::htsim().derive(&REFERENCE).target_rtt, Time::from_us(19));
    assert_eq!((Smartt::signals(&params()), size_of::<Smartt>()), (Signals::ECN, 72));
}

#[test]
fn single_steps() {
    // From 100,000 B with packets of 4096 B:
    // 15 us: 2 · 4096 · 3/15 · 0.04096 = 67.108864, then a quarter of 4096 · 4096/100,067.108864.
    // 24 us, marked: 2 · 4096 · 6/24 = 2048 (md 1: 1024), then 0.8 · 4096/187,500 of what is left.
    // 40 us: 2 · 22/40 of a packet is over one: 4096.
    let weak = SmarttParams { md: Fixed::ONE, ..params() };
    for (params, rtt, marked, window) in [
        (params(), 15, false, 100_109.023_8),
        (params(), 20, false, 100_041.943_0),
        (params(), 18, false, 100_041.943_0),
        (params(), 24, true, 96_240.164_7),
        (weak, 24, true, 97_246.269_0),
        (params(), 15, true, 98_252.373_3),
        (params(), 40, true, 94_227.956_1),
    ] {
        let mut flow = Flow::new(params, 100_000);
        flow.ack(rtt, marked);
        near(flow.state.cwnd, window, 1e-9);
    }
    // Relative to the BDP: 100,000 · (1 − 0.8 · 4096/150,000).
    let mut flow = Flow::new(SmarttParams::default(), 100_000);
    flow.ack(15, true);
    near(flow.state.cwnd, 97_815.466_667, 1e-9);
}

#[test]
fn an_increase_is_at_most_what_arrived() {
    // From one packet at 13 us: mi · 5/13 of a packet, at mi 100 one packet; then a quarter of 4096²/8192.
    let mut flow = Flow::new(SmarttParams { mi: Fixed::whole(100), ..params() }, 4096);
    flow.ack(13, false);
    near(flow.state.cwnd, 8704.0, 1e-9);
}

#[test]
fn fast_increase_follows_a_window_near_the_base_rtt() {
    // 10,000 B: the third makes 12,288, and adds 4 · 4096.
    let mut flow = Flow::new(params(), 10_000);
    flow.ack(12, false);
    flow.ack(12, false);
    let before = float(flow.state.cwnd);
    flow.ack(12, false);
    near(flow.state.cwnd, before + 16_384.0, 1e-12);
    flow.ack(12, false);
    near(flow.state.cwnd, before + 32_768.0, 1e-12);
    // 1 us of queue, or a mark, and the window that was is to arrive once more.
    for (rtt, marked) in [(13, false), (12, true)] {
        let mut again = Flow { setup: flow.setup.clone(), ..flow };
        let window = again.state.cwnd;
        again.ack(rtt, marked);
        assert_eq!((again.state.near_base, again.state.near_base_of), (Bytes::ZERO, window));
    }
}

#[test]
fn waits_to_decrease_until_a_quarter_is_marked() {
    // 1 − 0.95^n > 0.25 from the sixth mark on: 0.226 after five, 0.265 after six.
    let mut flow = Flow::new(SmarttParams { wait_to_decrease: true, ..params() }, 100_000);
    for _ in 0..5 {
        flow.ack(24, true);
        close(flow.state.cwnd, 100_000.0);
    }
    flow.ack(24, true);
    near(flow.state.cwnd, 96_240.164_7, 1e-9);
    near(flow.state.marks, 1.0 - 0.95_f64 * 0.95 * 0.95 * 0.95 * 0.95 * 0.95, 1e-8);
}

#[test]
fn a_nack_cuts_to_what_arrived_within_a_target_rtt() {
    let mut flow = Flow::new(params(), 100_000);
    // The first acknowledgement begins the window of 18 us, with itself before it.
    flow.ack(20, false);
    assert_eq!((flow.state.acked, flow.state.window_end), (Bytes::ZERO, Time::from_us(1018)));
    for _ in 0..5 {
        flow.ack(20, false);
    }
    let before = float(flow.state.cwnd);
    flow.lose(LossKind::Trim, 4096);
    near(flow.state.cwnd, before - 4096.0, 1e-12);
    assert!(flow.state.due);
    // At its end: six packets; 18 us later half of that: 12,288 B.
    for (late, window) in [(0, 24_576.0), (18, 12_288.0)] {
        let mut flow = Flow { setup: flow.setup.clone(), ..flow };
        flow.now = Time::from_us(1018 + late);
        flow.ack(20, false);
        close(flow.state.cwnd, window);
        assert_eq!((flow.state.to_ignore, flow.state.due), (Bytes::new(10_000), false));
        // 10,000 B are ignored: an acknowledgement, a NACK, and the third is more than what is left.
        flow.ack(40, true);
        flow.lose(LossKind::Trim, 4096);
        assert_eq!((flow.state.to_ignore, flow.state.due), (Bytes::new(1808), false));
        close(flow.state.cwnd, window);
        flow.ack(40, true);
        assert!(float(flow.state.cwnd) < window - 4096.0);
    }
    // Without NACK there is nothing to do.
    flow.state.due = false;
    let before = flow.state.cwnd;
    flow.now = Time::from_us(1018);
    flow.ack(20, false);
    assert!(flow.state.cwnd > before);
    // The option is off.
    let mut flow = Flow::new(SmarttParams { quick_adapt: false, ..params() }, 100_000);
    flow.ack(20, false);
    flow.now = Time::from_us(1018);
    flow.lose(LossKind::Trim, 4096);
    assert!(float(flow.state.cwnd) > 95_000.0);
}

#[test]
fn a_timeout_is_the_nack_of_a_packet_and_a_hole_is_nothing() {
    let mut flow = Flow::new(params(), 100_000);
    let before = flow.state;
    flow.lose(LossKind::Hole, 0);
    assert_eq!(flow.state, before);
    flow.lose(LossKind::Timeout, 50_000);
    close(flow.state.cwnd, 95_904.0);
    assert!(flow.state.due);
    // One packet is the least.
    let mut flow = Flow::new(params(), 5000);
    flow.lose(LossKind::Timeout, 5000);
    close(flow.state.cwnd, 4096.0);
}
