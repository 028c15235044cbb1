//! LSwift in fixed point against a twin in f64.

mod floats;
mod signals;
mod swift_law;

use floats::{real, us};
use incast_cc::lswift::{LSwift, LSwiftParams, Run};
use incast_cc::params::Presets;
use incast_cc::swift::SwiftParams;
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, LossKind, Path, Setup};
use incast_units::{Bytes, Rate, Time};
use swift_law::{Twin, difference, fabric, loss};

/// Swift's law, cut by runs of delayed packets, or by losses without an arrival in order between them.
struct Lazy {
    swift: Twin,
    p: LSwiftParams,
    in_order: u64,
    found: u64,
    /// Runs long enough, losses that were enough, and those that were not.
    met: [u32; 3],
}

impl Lazy {
    fn ack(&mut self, ack: &Ack) {
        self.swift.ack(ack, us(ack.rtt()));
        if u64::from(ack.delayed_run) >= self.p.trigger {
            self.swift.lose(ack.now);
            self.met[0] += 1;
        }
        if ack.sequence > self.in_order {
            self.in_order = ack.sequence;
            self.found = 0;
        }
    }

    fn hole(&mut self, now: Time, packets: u64) {
        self.swift.repaired();
        self.found += packets;
        let enough = self.p.run == Run::Successive && self.found >= self.p.trigger;
        self.met[if enough { 1 } else { 2 }] += 1;
        if enough {
            self.swift.lose(now);
        }
    }
}

/// Bound and reasons are the same as for Swift's twin.
#[test]
fn agrees_with_its_twin() {
    let mut all: Vec<(String, LSwiftParams)> =
        LSwiftParams::PRESETS.iter().map(|preset| (preset.name.to_owned(), (preset.params)())).collect();
    all.push(("adjacent".into(), LSwiftParams { run: Run::Adjacent, ..LSwiftParams::default() }));
    for (name, params) in all {
        for (seed, gbps) in [(1, 10), (2, 100), (3, 400)] {
            let path = fabric(gbps);
            let setup = Setup::new(params, path);
            let mut flow = LSwift::new(&setup, Time::ZERO);
            let mut twin =
                Lazy { swift: Twin::new(params.swift, &path), p: params, in_order: 0, found: 0, met: [0; 3] };
            let (mut random, mut worst, mut sequence) = (signals::Random::new(seed), 0.0_f64, 0);
            for ack in signals::acks(seed, &path, Time::from_us(30), 60_000) {
                let run = if random.below(50) == 0 { random.below(9) as u32 } else { 0 };
                // Where a packet is missing the acknowledgements after it do not move on.
                sequence = if random.below(3) == 0 { ack.sequence.max(sequence) } else { sequence };
                let asked = LSwift::signals(&params) != incast_cc::Signals::NONE;
                let ack = Ack { delayed_run: if asked { run } else { 0 }, sequence, ..ack };
                flow.on_ack(&setup, &ack, &IntStack::EMPTY);
                twin.ack(&ack);
                match random.below(300) {
                    0..4 => {
                        let packets = 1 + random.below(4);
                        flow.on_loss(&setup, &loss(ack.now, LossKind::Hole, packets));
                        twin.hole(ack.now, packets);
                    }
                    4 => {
                        flow.on_loss(&setup, &loss(ack.now, LossKind::Trim, 1));
                        twin.swift.repaired();
                        twin.swift.lose(ack.now);
                    }
                    5 => (0..random.below(7)).for_each(|_| {
                        flow.on_loss(&setup, &loss(ack.now, LossKind::Timeout, 1));
                        twin.swift.time_out(ack.now);
                    }),
                    _ => {}
                }
                worst = worst.max(difference(flow.window(), &twin.swift));
            }
            println!("{name} at {}: {worst:.1e} {:?} {:?}", path.line_rate, twin.swift.met, twin.met);
            assert!(worst < 1e-6, "{name} at {}: {worst}", path.line_rate);
            assert!(twin.swift.met.iter().all(|n| *n > 10), "{:?}", twin.swift.met);
            let reaction = if params.run == Run::Adjacent { 0 } else { 1 };
            // With a trigger that is never reached no run is a loss.
            let reached = params.trigger == 1000 || twin.met[reaction] > 10;
            assert!(reached && twin.met[2] > 10, "{:?}", twin.met);
        }
    }
}

/// A hundred packets, a target of 12 us. A delay of 19 us takes φ = 0.8 · 7/19 = 0.294737, a run of five half, a run of
/// four nothing.
#[test]
fn steps_worked_by_hand() {
    let swift = SwiftParams {
        base_target: Time::from_us(12),
        base_rtt_share: Fixed::ZERO,
        hop: Time::ZERO,
        fs_range: Time::ZERO,
        ..SwiftParams::default()
    };
    let params = LSwiftParams { swift, ..LSwiftParams::default() };
    let path = Path {
        base_rtt: Time::from_us(8),
        line_rate: Rate::from_gbps(100),
        packet: Bytes::new(1000),
        payload: Bytes::new(1000),
        ..fabric(100)
    };
    let setup = Setup::new(params, path);
    for (rtt, delayed_run, factor) in
        [(19, 0, 0.705_263), (19, 5, 0.705_263), (12, 5, 0.5), (12, 4, 1.0), (24, 0, 0.6)]
    {
        let mut flow = LSwift::new(&setup, Time::ZERO);
        let mut twin =
            Lazy { swift: Twin::new(params.swift, &path), p: params, in_order: 0, found: 0, met: [0; 3] };
        let now = Time::from_us(1000);
        let sent = now - Time::from_us(rtt);
        let ack = Ack {
            now,
            sent,
            received: now,
            held: Time::ZERO,
            delayed_run,
            ..signals::acks(1, &path, Time::ZERO, 1)[0]
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        twin.ack(&ack);
        for packets in [real(flow.window()) / 1000.0, twin.swift.cwnd] {
            assert!((packets / 100.0 - factor).abs() < 1e-6, "{rtt} us, {delayed_run}: {packets}");
        }
    }
}
