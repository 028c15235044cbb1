use incast_cc::AnyParams;
use incast_cc::any::CATALOGUE;
use incast_cc::receiver::{AckEvery, ReceiverRules};
use incast_units::{Rate, Time};
use incast_wire::{ReceiverConfig, supported};

use super::network::{Case, Faults, Random, path, run};

/// Every algorithm with every preset, of those that can run; and how many cannot.
fn algorithms() -> (Vec<AnyParams>, usize) {
    let mut all = Vec::new();
    for info in CATALOGUE {
        let mut names = Vec::new();
        AnyParams::named(info.name, None).unwrap().presets(|name, _| names.push(name));
        all.extend(names.into_iter().filter_map(|preset| AnyParams::named(info.name, Some(preset))));
    }
    let count = all.len();
    all.retain(|params| supported(params).is_ok());
    let refused = count - all.len();
    (all, refused)
}

fn case(params: AnyParams, random: &mut Random) -> Case {
    let payload = [1 + random.below(200), 1 + random.below(1400), 1400][random.below(3) as usize];
    let length = match random.below(8) {
        0 => random.below(3),
        1 => payload * random.below(5),
        _ => random.below(300 * payload),
    };
    let faults = match random.below(4) {
        0 => Faults::NONE,
        1 => Faults { loss: 5, late: 10, longest: 1_000_000, ..Faults::NONE },
        _ => Faults {
            loss: random.below(21),
            copies: random.below(21),
            late: random.below(51),
            longest: 1 + random.below(5_000_000),
            damage: random.below(11),
            noise: random.below(11),
        },
    };
    let rules = ReceiverRules {
        ack_every: AckEvery::Packets(1 + random.below(4) as u32),
        ack_on_mark: false,
        ack_delay: Time::from_us(1 + random.below(2000)),
        cnp_interval: Time::from_us(50),
    };
    Case {
        params,
        path: path(payload),
        length,
        receiver: ReceiverConfig { rules, patience: Time::from_s(100), ..ReceiverConfig::default() },
        faults,
        rate: Rate::from_mbps([100, 50][random.below(2) as usize]),
        mark_above: 10_000,
        delays: [100_000 + random.below(200_000), 200_000],
        ahead: 0,
        seed: random.next(),
    }
}

#[test]
fn what_arrives_is_what_was_sent() {
    let (algorithms, refused) = algorithms();
    assert!(algorithms.len() > 15 && refused > 5, "{} {refused}", algorithms.len());
    let (mut resent, mut duplicates, mut timeouts, mut marked) = (0, 0, 0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let case = case(algorithms[seed as usize % algorithms.len()], &mut random);
        let done = run(&case);
        assert!(matches!(done.sender.outcome(), Some(Ok(()))), "{seed}: {:?}", done.sender.outcome());
        assert!(matches!(done.receiver.outcome(), Some(Ok(()))), "{seed}: {:?}", done.receiver.outcome());
        assert!(done.arrived == done.sent, "{seed}: {case:?}");
        assert_eq!(done.receiver.progress(), (case.length, case.length));
        let state = done.sender.state();
        let packets = case.length.div_ceil(case.path.payload.get());
        assert_eq!(state.packets - state.resent, packets, "{seed}: each packet is new once");
        assert_eq!(state.acknowledged, case.length);
        resent += state.resent;
        timeouts += state.timeouts;
        duplicates += done.receiver.counts().1;
        marked += state.marked;
        if case.faults.loss + case.faults.late + case.faults.damage + case.faults.copies == 0 {
            assert_eq!(
                (state.resent, state.timeouts, done.receiver.counts().1),
                (0, 0, 0),
                "{seed}: {case:?}"
            );
        }
    }
    // The cases are such that each mechanism works.
    let tally = [resent, timeouts, duplicates, marked];
    assert!(tally.iter().all(|count| *count > 1000), "{tally:?}");
}

#[test]
fn the_same_case_goes_the_same_way() {
    let (algorithms, _) = algorithms();
    for seed in 0..20 {
        let case = case(algorithms[seed as usize], &mut Random(1000 + seed));
        let (one, other) = (run(&case), run(&case));
        assert_eq!(one.sender.state(), other.sender.state());
        assert_eq!((one.over, one.longest_wait), (other.over, other.longest_wait));
    }
}
