//! Golden vectors: for every preset that bears the name of a public artifact, a short run whose every
//! step was worked out apart from this project, in floating point, from the formulas of that artifact.
//! The formulas stand beside the numbers. They are facts about those programs; nothing of their code is
//! here.

use incast_cc::dcqcn::Dcqcn;
use incast_cc::hpcc::Hpcc;
use incast_cc::oscar::Oscar;
use incast_cc::params::Presets;
use incast_cc::poseidon::Poseidon;
use incast_cc::powertcp::PowerTcp;
use incast_cc::swift::Swift;
use incast_cc::theta_powertcp::ThetaPowerTcp;
use incast_cc::timely::Timely;
use incast_cc::{Ack, CongestionControl, IntHop, IntStack, Path, Setup};
use incast_units::{Bytes, Rate, Time};

fn us(us: f64) -> Time {
    Time::from_ps((us * 1e6).round() as u64)
}

fn path(gbps: u64, base_rtt: Time, packet: u64) -> Path {
    Path {
        base_rtt,
        base_owd: base_rtt.times_ratio(1, 2),
        line_rate: Rate::from_gbps(gbps),
        packet: Bytes::new(packet),
        payload: Bytes::new(1000),
        hops: 3,
    }
}

/// A flow that starts at time zero.
struct Flow<C: CongestionControl> {
    setup: Setup<C::Params>,
    state: C,
}

impl<C: CongestionControl> Flow<C>
where
    C::Params: Presets,
{
    fn start(preset: &str, path: Path) -> Self {
        let setup = Setup::new(C::Params::preset(preset).expect("a preset"), path);
        let state = C::new(&setup, Time::ZERO);
        Self { setup, state }
    }

    /// An acknowledgement at `now_us`, of a packet that took `rtt_us`.
    fn ack(&mut self, now_us: f64, rtt_us: f64, sequence: u64, next_sequence: u64, int: &IntStack) {
        let ack = self.answer(now_us, rtt_us, sequence, next_sequence);
        self.state.on_ack(&self.setup, &ack, int);
    }

    fn answer(&self, now_us: f64, rtt_us: f64, sequence: u64, next_sequence: u64) -> Ack {
        let (now, packet) = (us(now_us), self.setup.path.packet);
        Ack {
            now,
            sent: now - us(rtt_us),
            received: now,
            acked: packet,
            sequence,
            next_sequence,
            inflight: packet,
            ..Ack::BLANK
        }
    }

    fn marked(&mut self, now_us: f64) {
        let now = us(now_us);
        let ack = Ack {
            now,
            sent: now - us(12.0),
            received: now,
            acked: self.setup.path.packet,
            marked: 1,
            ..Ack::BLANK
        };
        self.state.on_ack(&self.setup, &ack, &IntStack::EMPTY);
    }

    /// Lets timers fire up to `now_us`.
    fn until(&mut self, now_us: f64) {
        while self.state.deadline() <= us(now_us) {
            let deadline = self.state.deadline();
            self.state.on_timer(&self.setup, deadline);
        }
    }

    /// Checks the window after each of these acknowledgements: when it comes, the delay, the window.
    #[track_caller]
    fn follows(&mut self, share: f64, steps: &[(f64, f64, f64)]) {
        for &(now_us, rtt_us, window) in steps {
            self.ack(now_us, rtt_us, 0, 0, &IntStack::EMPTY);
            near(self.window(), window, share);
        }
    }

    fn window(&self) -> f64 {
        self.state.allowance(&self.setup).window.get() as f64
    }

    fn rate(&self) -> f64 {
        self.state.allowance(&self.setup).rate.bps() as f64
    }
}

/// Whether two numbers agree to `share` of them, and to the one unit to which an allowance is cut.
#[track_caller]
fn near(ours: f64, theirs: f64, share: f64) {
    assert!((ours - theirs).abs() <= 1.0 + share * theirs, "{ours} is not {theirs}");
}

/// Telemetry of ports with these rates: (time in µs, queue, bytes transmitted).
fn stack(gbps: &[u64], records: &[(f64, u64, u64)]) -> IntStack {
    let mut stack = IntStack::EMPTY;
    stack.count = gbps.len() as u32;
    for ((hop, gbps), &(at, queue, transmitted)) in stack.hops.iter_mut().zip(gbps).zip(records) {
        *hop = IntHop {
            at: us(at),
            queue: Bytes::new(queue),
            transmitted: Bytes::new(transmitted),
            rate: Rate::from_gbps(*gbps),
        };
    }
    stack
}

/// HPCC's run script at 100 Gbps: T 12 us, eta 0.95, every step multiplicative, + 40 Mbps, at least
/// 1 Gbps. u = txRate/B + min(q, q_before)·8/(B·T); U = (U·(T − τ) + u·τ)/T; R = Rc/(U/eta) + AI; Rc is
/// committed by an acknowledgement beyond the last commit's next sequence number.
#[test]
fn hpcc_artifact() {
    let mut flow = Flow::<Hpcc>::start("artifact", path(100, us(12.0), 1090));
    for (sequence, next, first, second, rate) in [
        (1_000, 150_000, (5.0, 0, 0), (6.0, 30_000, 0), 100e9),
        (2_000, 151_000, (6.0, 4_000, 40_000), (7.0, 42_500, 12_500), 93_482_622_950.819_67),
        (3_000, 152_000, (8.0, 60_000, 140_000), (9.0, 67_500, 37_500), 89_568_795_811.518_33),
        (150_001, 160_000, (20.0, 1_500_000, 740_000), (21.0, 30_000, 187_500), 79_206_666_666.666_67),
        (151_000, 161_000, (21.0, 1_500_000, 790_000), (22.0, 30_000, 193_750), 54_109_221_556.886_23),
        (160_001, 170_000, (45.0, 0, 800_000), (46.0, 0, 200_000), 100e9),
    ] {
        flow.ack(second.0 + 6.0, 12.0, sequence, next, &stack(&[400, 100], &[first, second]));
        near(flow.rate(), rate, 1e-8);
        near(flow.window(), rate * 12e-6 / 8.0, 1e-8);
    }
}

/// PowerTCP's tree at 25 Gbps, T 28.96 us: λ at least half of the port's rate, Γ = λ·(8q + B·T)/(B²·T),
/// smoothed over T, R = 0.9·(Rc/(Γ/0.95) + 150 Mbps) + 0.1·Rc, at least 100 Mbps, Rc committed as in HPCC.
#[test]
fn powertcp_artifact() {
    let mut flow = Flow::<PowerTcp>::start("artifact", path(25, us(28.96), 1090));
    for (sequence, next, first, second, share) in [
        (1_000, 90_000, (5.0, 0, 0), (6.0, 10_000, 0), 1.0),
        (2_000, 91_000, (7.0, 2_000, 20_000), (8.0, 12_500, 6_250), 0.926_742_530_825_281_9),
        (3_000, 92_000, (10.0, 40_000, 57_500), (12.0, 500, 18_750), 0.839_462_062_600_486_1),
        (90_001, 100_000, (60.0, 0, 500_000), (62.0, 181_000, 175_000), 0.237_638_307_349_665_93),
        (91_000, 101_000, (61.0, 0, 500_100), (63.0, 181_000, 178_125), 0.061_181_313_597_695_665),
    ] {
        flow.ack(second.0 + 14.0, 28.96, sequence, next, &stack(&[100, 25], &[first, second]));
        near(flow.rate(), share * 25e9, 1e-7);
        near(flow.window(), share * 90_500.0, 1e-7);
    }
}

/// OSCAR's artifact, PowerTCP at 100 Gbps, T 12 us: no floor of λ, the weight Δt/T not limited (silences
/// of 18 and 30 us), power/0.95, cwnd = 0.9·(cwnd_old/Γ + 0.006 BDP) + 0.1·cwnd_old, at most one base
/// BDP, which a negative window becomes too.
#[test]
fn powertcp_oscar() {
    let mut flow = Flow::<PowerTcp>::start("oscar", path(100, us(12.0), 1096));
    for (sequence, next, record, share) in [
        (1_000, 150_000, (5.0, 0, 0), 1.0),
        (2_000, 151_000, (6.0, 25_000, 12_500), 0.812_986_206_896_551_8),
        (150_001, 160_000, (24.0, 50_000, 237_500), 0.633_812_017_167_381_8),
        (151_000, 161_000, (54.0, 50_000, 612_500), 0.666_750_056_533_964_1),
        (160_001, 170_000, (84.0, 0, 837_500), 1.0),
        (161_000, 171_000, (85.0, 0, 840_000), 1.0),
    ] {
        flow.ack(record.0 + 6.0, 12.0, sequence, next, &stack(&[100], &[record]));
        near(flow.window(), share * 150_000.0, 1e-7);
        // By window alone: packets leave at the line's rate.
        assert_eq!(flow.rate(), 100e9);
    }
}

/// PowerTCP's tree by delay at 25 Gbps: the base RTT is the smallest seen, at most 28.96 us; A = dRTT/dt + 1,
/// at least 0.5; Γ = A·RTT/(1.05·base), smoothed over the base; with every acknowledgement
/// R = 0.7·(Rc/Γ + 150 Mbps) + 0.3·Rc.
#[test]
fn theta_powertcp_artifact() {
    let mut flow = Flow::<ThetaPowerTcp>::start("artifact", path(25, us(28.96), 1090));
    for (now, rtt, sequence, next, share) in [
        (30.0, 29.0, 1_000, 90_000, 1.0),
        (31.0, 31.0, 2_000, 91_000, 0.957_747_452_030_924_8),
        (33.0, 30.0, 90_000, 92_000, 0.983_037_133_464_036_9),
        (40.0, 27.0, 90_001, 100_000, 1.0),
        (70.0, 60.0, 100_001, 110_000, 0.4617),
        (71.0, 60.0, 101_000, 111_000, 0.216_866_410_521_582_73),
    ] {
        flow.ack(now, rtt, sequence, next, &IntStack::EMPTY);
        near(flow.rate(), share * 25e9, 1e-7);
    }
}

/// OSCAR's artifact, θ-PowerTCP at 100 Gbps, T 12 us: Γ = (dRTT/dt + 1)·RTT/T, which may be negative,
/// smoothed with min(dt/T, 1); once per round trip, beyond the position of the last update,
/// cwnd = 0.9·(cwnd_old/Γ + 0.006 BDP) + 0.1·cwnd_old.
#[test]
fn theta_powertcp_oscar() {
    let mut flow = Flow::<ThetaPowerTcp>::start("oscar", path(100, us(12.0), 1054));
    for (now, rtt, sequence, next, share) in [
        (120.0, 20.0, 1_000, 150_000, 1.0),
        (121.0, 24.0, 2_000, 151_000, 1.0),
        (126.0, 24.0, 150_001, 160_000, 0.590_793_258_426_966_2),
        // Reaches the position of the last update, and is not beyond it.
        (127.0, 15.0, 160_000, 161_000, 0.590_793_258_426_966_2),
        (128.0, 15.0, 160_001, 170_000, 0.656_395_367_398_900_5),
        (133.0, 13.0, 170_001, 180_000, 0.814_280_570_279_728_9),
    ] {
        flow.ack(now, rtt, sequence, next, &IntStack::EMPTY);
        near(flow.window(), share * 150_000.0, 1e-7);
    }
}

/// OSCAR's artifact, Swift at 100 Gbps, base RTT 12 us, packets of 1000 B, BDP 150 KB: target = 25 us +
/// base RTT + clamp(4·g·(1/√r − 1), 0, 4)·25 us with r = cwnd/BDP, g = 1/(1/√0.1 − 1); + 0.001 BDP over
/// the window in packets; − min(0.8·(d − t)/d, 0.5) once per measured delay; at most one BDP.
#[test]
fn swift_oscar() {
    let mut flow = Flow::<Swift>::start("oscar", path(100, us(12.0), 1000));
    flow.follows(
        1e-7,
        &[
            (100.0, 20.0, 150_000.0),
            (101.0, 50.0, 118_800.0),
            (160.0, 50.0, 104_960.783_133_124_79),
            (161.0, 60.0, 104_960.783_133_124_79),
            (300.0, 200.0, 104_960.783_133_124_79),
            (700.0, 30.0, 104_962.212_238_315_54),
            (701.0, 30.0, 104_963.641_324_048_41),
            (702.0, 30.0, 104_965.070_390_322_4),
        ],
    );
}

/// csg-htsim's Swift with its packets of 4000 B: target = 20 us + clamp(α/√n + β, 0, 100 us), n the whole
/// packets of the window; + 4000·4000/cwnd, below one packet + 4000; · max(1 − 0.8·(d − t)/d, 0.5) once
/// per smoothed RTT; from 10 B to 1000 packets.
#[test]
fn swift_htsim() {
    // 295 packets at 800 Gbps: the base BDP of 590 KB at 5.9 us.
    let mut flow = Flow::<Swift>::start("htsim", path(800, us(5.9), 4000));
    flow.follows(
        1e-7,
        &[
            (100.0, 15.0, 590_027.118_644_067_8),
            (101.0, 30.0, 432_686.553_672_316_4),
            // 19 us after the last decrease the SRTT is 22.3 us, 35 us after it 27 us.
            (120.0, 60.0, 432_686.553_672_316_4),
            (136.0, 60.0, 216_343.276_836_158_2),
            (400.0, 200.0, 108_171.638_418_079_1),
            (401.0, 20.0, 108_319.551_496_164_89),
        ],
    );
    // From two packets and a quarter: whole packets count in flow scaling, and with none of them it
    // gives all of its 100 us.
    let mut flow = Flow::<Swift>::start("htsim", path(100, us(0.72), 4000));
    flow.follows(
        1e-6,
        &[
            (100.0, 30.0, 10_777.777_777_777_777),
            (101.0, 60.0, 7_878.603_585_679_84),
            (200.0, 60.0, 6_764.032_120_270_513),
            (300.0, 150.0, 3_382.016_060_135_256_3),
            (600.0, 150.0, 2_840.893_493_513_605_2),
            (900.0, 150.0, 2_386.350_532_031_436_6),
        ],
    );
    // The largest window is 1000 packets.
    let mut flow = Flow::<Swift>::start("htsim", path(800, us(41.0), 4000));
    assert_eq!(flow.window(), 4_000_000.0);
    flow.ack(100.0, 10.0, 0, 0, &IntStack::EMPTY);
    assert_eq!(flow.window(), 4_000_000.0);
}

/// OSCAR's artifact, Poseidon at 100 Gbps, T 12 us, packets of 1066 B: cur = min(1, cwnd/(RTT · line)),
/// a = ln(1/cur), MPT = a·40 us/ln(1000) + 2 us, U = exp((MPT − MPD)·a·0.25/40 us) with MPD in whole us; up to MPT
/// cwnd·(1 + (U − 1)/packets), beyond it cwnd·U at most once per measured RTT; at most one BDP.
#[test]
fn poseidon_artifact() {
    let mut flow = Flow::<Poseidon>::start("artifact", path(100, us(12.0), 1066));
    for (now, rtt, delay, window) in [
        (112.5, 12.5, 0.9, 150000.0),
        (113.0, 30.0, 17.6, 141899.45826931883),
        (114.0, 32.0, 20.3, 141899.45826931883),
        (146.0, 33.0, 21.2, 130270.22305907284),
        (160.0, 30.0, 3.999, 130306.92536275678),
        (160.5, 30.0, 9.7, 130306.92536275678),
        (161.0, 60.0, 48.9, 130306.92536275678),
        (210.0, 60.0, 48.9, 88020.8890820945),
        (223.0, 20.0, 3.999, 88056.55838283467),
        (300.0, 150.0, 140.2, 88056.55838283467),
        (460.0, 150.0, 7.99, 88349.71054408595),
    ] {
        let ack = Ack { hop_delay: us(delay), ..flow.answer(now, rtt, 0, 0) };
        flow.state.on_ack(&flow.setup, &ack, &IntStack::EMPTY);
        near(flow.window(), window, 1e-6);
    }
}

/// OSCAR's artifact, DCQCN: Rt = Rc, Rc·(1 − α/2), α = 255/256·α + 1/256 on a notification; α·255/256
/// each 55 us; every 55 us or 10 MiB Rc = (Rt + Rc)/2, with + 0.001 once either count is above 5 and + 0.01,
/// of fixed size, once both are; Rt at most the line.
#[test]
fn dcqcn_oscar() {
    let mut flow = Flow::<Dcqcn>::start("oscar", path(100, us(12.0), 1054));
    flow.state.on_cnp(&flow.setup, Time::ZERO);
    near(flow.rate(), 0.5e11, 1e-8);
    for (n, share) in (1..).zip([0.75, 0.875, 0.9375, 0.968_75, 0.984_375, 0.992_187_5]) {
        flow.until(55.0 * f64::from(n));
        near(flow.rate(), share * 1e11, 1e-8);
    }
    flow.state.on_cnp(&flow.setup, us(340.0));
    near(flow.rate(), 0.507_607_990_077_280_7e11, 1e-8);
    // 10 MiB six times, then the timer seven times: the last two steps are hyper.
    let bytes = [
        0.749_897_745_038_640_4,
        0.871_042_622_519_320_2,
        0.931_615_061_259_660_1,
        0.961_901_280_629_83,
        0.977_044_390_314_915_1,
        0.985_115_945_157_457_6,
    ];
    for share in bytes {
        let sent = incast_cc::Sent { now: us(341.0), bytes: Bytes::new(10 << 20), inflight: Bytes::ZERO };
        flow.state.on_sent(&flow.setup, &sent);
        near(flow.rate(), share * 1e11, 1e-8);
    }
    let time = [
        0.989_651_722_578_728_8,
        0.992_419_611_289_364_4,
        0.994_303_555_644_682_2,
        0.995_745_527_822_341,
        0.996_966_513_911_170_5,
        0.998_483_256_955_585_3,
        0.999_241_628_477_792_6,
    ];
    for (n, share) in (1..).zip(time) {
        flow.until(340.0 + 55.0 * f64::from(n));
        near(flow.rate(), share * 1e11, 1e-8);
    }
}

/// HPCC's run script, DCQCN at 100 Gbps: the first mark sets α to 1 and starts the timers; α is updated
/// each 1 us with whether a mark came since the last tick; each 4 us, if one came since the last check:
/// Rt = Rc after an increase, Rc·(1 − α/2); each 300 us after a cut one recovery, then + 20 Mbps, then + 200
/// Mbps each, and Rc = (Rt + Rc)/2.
#[test]
fn dcqcn_mellanox() {
    let mut flow = Flow::<Dcqcn>::start("mellanox", path(100, us(12.0), 1048));
    let marks = [0.0, 0.5, 3.2, 4.5, 9.1, 9.9, 320.5];
    let steps = [
        (4.0, 0.503_883_391_618_728_6),
        (8.0, 0.256_809_000_187_008_8),
        (12.0, 0.132_343_560_477_808_74),
        (312.0, 0.566_171_780_238_904_4),
        (324.0, 0.484_159_256_598_545_1),
        (624.0, 0.525_165_518_418_724_7),
        (924.0, 0.545_768_649_328_814_5),
        (1224.0, 0.557_070_214_783_859_4),
        (1524.0, 0.563_720_997_511_381_9),
    ];
    let mut marks = marks.into_iter().peekable();
    for (at, share) in steps {
        while let Some(mark) = marks.next_if(|mark| *mark < at) {
            flow.until(mark);
            flow.marked(mark);
        }
        flow.until(at);
        near(flow.rate(), share * 1e11, 1e-8);
    }
}

/// HPCC's run script, TIMELY at 25 Gbps, once per round trip: diff = 0.125·diff + 0.875·(RTT − previous),
/// gradient = diff/20 us; + 25 Mbps below 50 us or with a gradient up to 0, + 125 Mbps after five in a row; ·
/// (1 − 0.8·(1 − 500 us/RTT)) above 500 us; · (1 − 0.8·gradient) in all other cases; at least 1 Gbps.
#[test]
fn timely_hpcc() {
    let mut flow = Flow::<Timely>::start("hpcc", path(25, us(20.0), 1056));
    for (n, (rtt, rate)) in (0..).zip([
        (60.0, 25_000_000_000.0),
        (75.0, 11_875_000_000.0),
        (74.0, 11_511_328_125.0),
        (72.0, 11_536_328_125.0),
        (70.0, 11_561_328_125.0),
        (69.0, 11_586_328_125.0),
        (68.0, 11_611_328_125.0),
        (67.0, 11_636_328_125.0),
        (66.0, 11_761_328_125.0),
        (65.0, 11_886_328_125.0),
        (75.0, 7_785_546_657.209_096),
        (40.0, 7_810_546_657.209_096),
        (40.0, 7_835_546_657.209_096),
        (600.0, 6_790_807_102.914_55),
        (700.0, 5_238_622_622.248_367),
        (90.0, 5_263_622_622.248_367),
        (500.0, 1_000_000_000.0),
        (500.5, 1_000_000_000.0),
    ]) {
        flow.ack(1000.0 + 100.0 * n as f64, rtt, 1 + 2 * n, 2 + 2 * n, &IntStack::EMPTY);
        near(flow.rate(), rate, 1e-7);
    }
}

/// OSCAR's artifact at 100 Gbps, base RTT 12.18 us, packets of 1060 B, U_AI 0.001, U_HAI 0.01: a batch
/// begins with an acknowledgement's send time and closes with the first one sent more than 5 us later if
/// it is the third at least; mean delay d, least-squares gradient g, rate = n packets over the span. d <
/// base + 1 us: u + U_HAI. Else u_w = mean packets in flight · 84.8 ns / d, u_r = rate/(1 + max(g, −0.9)),
/// u_r = u_w if the batch spans more than 15 us; the larger if d < 18.18 − 0.5 us, else the smaller; + U_AI,
/// from 0.001 to 1.
#[test]
fn oscar_artifact() {
    let mut flow = Flow::<Oscar>::start("artifact", path(100, us(12.18), 1060));
    let mut start = us(100.0);
    // Gap between packets in ps, delay of the first in ns, gradient in 1/1000, packets in flight; u.
    for (gap, delay, gradient, packets, u) in [
        (84_800, 20_000, 9_000, 143, 0.102_694_915_254_237_2),
        (848_000, 17_900, 0, 20, 0.095_748_603_351_955_3),
        (1_000_000, 17_000, 100, 10, 0.090_939_393_939_393_93),
        (2_000_000, 17_300, -950, 3, 0.566_333_333_333_333_3),
        (500_000, 12_500, 50, 30, 0.576_333_333_333_333_3),
        (8_000_000, 16_000, 10, 7, 0.037_915_422_885_572_15),
    ] {
        let before = flow.rate();
        let mut sent = 0;
        let mut acks = 0;
        loop {
            let delay = Time::from_ps((i64::from(delay) * 1000 + sent * gradient / 1000) as u64);
            let ack = Ack {
                now: start + Time::from_ps(sent as u64) + delay,
                sent: start + Time::from_ps(sent as u64),
                received: start + Time::from_ps(sent as u64) + delay.times_ratio(1, 2),
                acked: Bytes::new(1060),
                inflight: Bytes::new(1060).times(packets),
                ..Ack::BLANK
            };
            flow.state.on_ack(&flow.setup, &ack, &IntStack::EMPTY);
            acks += 1;
            if sent > 5_000_000 && acks >= 3 {
                break;
            }
            assert_eq!(flow.rate(), before, "closed early");
            sent += gap;
        }
        start += Time::from_ps((sent + gap) as u64);
        near(flow.rate(), u * 1e11, 1e-4);
        // Window: u of the target's 18.18 us, at most the base BDP.
        near(flow.window(), (u * 18.18e-6 * 1e11 / 8.0).min(152_250.0), 1e-4);
    }
}
