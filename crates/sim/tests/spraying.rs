//! Swift, LSwift and MSwift in packets: one flow over several spines, of which some are slower.

mod common;

use common::*;
use incast_cc::params::Value;
use incast_cc::{AnyParams, Fixed};
use incast_sim::describe::balancing::{Acknowledgements, Balancing};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::transport::{Recovery, Repair};
use incast_sim::random::draw;
use incast_sim::record::End;
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

/// Two hosts, joined by spines of which the last `slow` are 6 us longer. Packets take one at random, acknowledgements
/// the first.
fn over(spines: u32, slow: u32, params: AnyParams, repair: Repair, size: u64) -> Simulation {
    let mut network = Network::with_hosts(2);
    let tops: Vec<_> = (0..spines).map(|i| network.add_switch(format!("spine{i}"))).collect();
    let leaves = ["leaf0", "leaf1"].map(|name| network.add_switch(name));
    for (host, leaf) in leaves.into_iter().enumerate() {
        network.add_link(host as u32, leaf, gbps(100), us(1));
    }
    for (i, top) in tops.into_iter().enumerate() {
        let longer = if i as u32 >= spines - slow { us(6) } else { Time::ZERO };
        network.add_link(top, leaves[0], gbps(100), us(1));
        network.add_link(top, leaves[1], gbps(100), us(1) + longer);
    }
    let one = Flow { balancing: Balancing::Random, ..flow(0, 1, size, Time::ZERO) };
    let mut simulation = simulation(network, vec![params], vec![one]);
    simulation.balancing.acknowledgements = Acknowledgements::OnePath;
    simulation.transport.recovery = Recovery::Selective;
    simulation.transport.repair = repair;
    simulation.transport.rto = us(200);
    simulation
}

/// A fixed target and a largest window of 40 packets.
fn law(name: &str, target: Time) -> AnyParams {
    algorithm(
        name,
        &[
            ("base_target", Value::Time(target)),
            ("base_rtt_share", Value::Ratio(Fixed::ZERO)),
            ("hop", Value::Time(Time::ZERO)),
            ("fs_range", Value::Time(Time::ZERO)),
            ("max_cwnd", Value::Ratio(Fixed::whole(40))),
        ],
    )
}

/// Packets in a round trip by a short spine, and packets sent again.
fn throughput(simulation: &Simulation) -> (f64, u64) {
    let (outcome, kept) = run_everywhere(simulation);
    assert_eq!(
        (outcome.end, outcome.dropped, kept.flows.len()),
        (End::Finished, 0, 1),
        "{:?}",
        outcome.violations
    );
    let flow = &kept.flows[0];
    let packets = flow.bytes.get() as f64 / 1000.0;
    (packets / flow.finish.ps() as f64 * SHORT, flow.resent)
}

/// Round trip by a short spine: four links of 1 us there and back, four transmissions of 1054 B and of 64 B. (ps)
const SHORT: f64 = 8_000_000.0 + 4.0 * (84_320.0 + 5_120.0);

/// A target of 11 us between round trips of 8.4 and 14.4 us. Late packets arrive before another round trip is over, so
/// that lazy repair sends none again.
#[test]
fn one_slow_path_in_eight() {
    let run = |name, repair| throughput(&over(8, 1, law(name, us(11)), repair, 5_000_000));
    let mswift = run("mswift", Repair::Lazy);
    let lswift = run("lswift", Repair::Lazy);
    let swift = run("swift", Repair::Threshold);
    println!("MSwift {mswift:?}, LSwift {lswift:?}, Swift {swift:?}");
    // W/(T_s + q(T_l − T_s)). A window of 40 packets leaves room for a part of another: one more is sent.
    let formula = 40.0 / (1.0 + 6_000_000.0 / SHORT / 8.0);
    assert!((mswift.0 / formula - 1.0).abs() < 0.03, "{mswift:?}, not {formula}");
    assert_eq!((mswift.1, lswift.1), (0, 0));
    // Of the packets on the slow spine those that three others overtake; the window is often too small for that.
    assert!((100..1000).contains(&swift.1), "{swift:?}");
    assert!(swift.0 < lswift.0 && lswift.0 < 0.5 * mswift.0, "{swift:?} {lswift:?} {mswift:?}");
}

/// With half of the spines slow, five adjacent packets (choice 0 of `run`) are late at once now and then.
/// Below its target LSwift heeds nothing else, and under go-back-N none are reported to it.
#[test]
fn runs_of_delayed_packets_reach_the_algorithm() {
    for name in ["lswift", "mswift"] {
        let with = |trigger| {
            let mut params = law(name, us(40));
            assert!(params.set("run", Value::Choice(0)));
            assert!(params.set("trigger", Value::Count(trigger)));
            over(4, 2, params, Repair::Lazy, 2_000_000)
        };
        let [two, five, never] = [2, 5, 1000].map(|trigger| throughput(&with(trigger)).0);
        println!("{name}: {two} with two, {five} with five, {never} without");
        assert!(two < 0.8 * five && five < 0.99 * never, "{name}: {two} {five} {never}");
        let go_back = |trigger| {
            let mut simulation = with(trigger);
            simulation.transport.recovery = Recovery::GoBackN;
            run_everywhere(&simulation).1.flows
        };
        assert_eq!(go_back(2), go_back(1000), "{name}");
    }
}

/// Lazy repair sends late packets again that arrive after its delay, and no others.
#[test]
fn lazy_repair_waits_for_packets_that_are_late_by_less_than_its_delay() {
    let run = |delay| {
        let mut simulation = over(4, 1, law("lswift", us(40)), Repair::Lazy, 1_000_000);
        simulation.transport.repair_delay = Some(delay);
        let (_, kept) = run_everywhere(&simulation);
        assert_eq!(kept.flows[0].bytes, Bytes::new(1_000_000));
        kept.flows[0].resent
    };
    // Late by 6 us: one packet in four.
    assert_eq!(run(us(7)), 0);
    assert!(run(us(4)) > 100);
}

/// Four spines of a quarter of the rate of two leaves with a host each, at 100 Gbps and 1 us.
fn narrow(size: u64, payload: u64) -> Simulation {
    let mut network = Network::with_hosts(2);
    let leaves = ["leaf0", "leaf1"].map(|name| network.add_switch(name));
    for (host, leaf) in leaves.into_iter().enumerate() {
        network.add_link(host as u32, leaf, gbps(100), us(1));
    }
    for i in 0..4 {
        let spine = network.add_switch(format!("spine{i}"));
        for leaf in leaves {
            network.add_link(leaf, spine, gbps(if payload == 1000 { 25 } else { 100 }), us(1));
        }
    }
    let one = Flow { balancing: Balancing::OpsRounds, ..flow(0, 1, size, Time::ZERO) };
    let mut simulation = simulation(network, vec![window(u64::MAX)], vec![one]);
    simulation.transport.payload = Bytes::new(payload);
    simulation.transport.recovery = Recovery::Selective;
    simulation.transport.repair = Repair::Lazy;
    simulation
}

#[test]
fn the_ideal_is_that_of_the_smallest_cut_over_all_paths() {
    // The last of 10,000 packets leaves after 843.2 us; two links of 25 Gbps, two of 100 and four delays of 1 us; the
    // acknowledgement of 64 B takes two links of each rate back.
    let (_, kept) = run_everywhere(&narrow(10_000_000, 1000));
    let ideal = 843_200_000 + 4_000_000 + 2 * 337_280 + 84_320 + 4_000_000 + 2 * 20_480 + 2 * 5_120;
    assert_eq!(ideal, 852_010_080);
    assert_eq!(kept.flows[0].ideal, Time::from_ps(ideal));
    // The short one of two packets does not wait for the full one of 154 B.
    let mut seen = Vec::new();
    for key in 0..20 {
        let mut sim = narrow(101, 100);
        sim.flows[0].key = key;
        let (_, kept) = run_everywhere(&sim);
        let record = kept.flows[0];
        assert_eq!(record.ideal, Time::from_ps(4 * 12_320 + 4 * 5_120 + 8_000_000));
        seen.push(record.finish - record.ideal);
    }
    // On one path the short one comes last.
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [Time::ZERO, Time::from_ps(5_120)]);
}

/// A lone flow with this balancing over spines with links of these rates (Gbps) up and down; hosts have 100 Gbps.
fn lone(spines: &[[u64; 2]], delay: u64, balancing: Balancing, size: u64, key: u64) -> Simulation {
    let mut network = Network::with_hosts(2);
    let leaves = ["leaf0", "leaf1"].map(|name| network.add_switch(name));
    for (host, leaf) in leaves.into_iter().enumerate() {
        network.add_link(host as u32, leaf, gbps(100), us(1));
    }
    for (i, rates) in spines.iter().enumerate() {
        let spine = network.add_switch(format!("spine{i}"));
        for (leaf, rate) in leaves.into_iter().zip(rates) {
            network.add_link(leaf, spine, gbps(*rate), Time::from_ns(500 + delay * i as u64));
        }
    }
    let one = Flow { key, balancing, ..flow(0, 1, size, Time::ZERO) };
    let mut simulation = simulation(network, vec![window(u64::MAX)], vec![one]);
    simulation.transport.recovery = Recovery::Selective;
    simulation.transport.repair = Repair::Lazy;
    // Late packets are not sent again.
    simulation.transport.repair_delay = Some(Time::from_ms(100));
    simulation.transport.rto = Time::from_ms(100);
    simulation
}

/// Times that a lone flow takes, divided by the ideal one.
fn slowdown(simulation: &Simulation) -> f64 {
    // A flow that is too fast is a violation, which fails here.
    let (_, kept) = run_to_end(simulation);
    let record = kept.flows[0];
    assert!(record.finish - record.start >= record.ideal, "{record:?}");
    (record.finish - record.start).ps() as f64 / record.ideal.ps() as f64
}

#[test]
fn no_lone_flow_is_faster_than_its_ideal() {
    let (mut reached, mut fast) = (0, 0);
    for seed in 0..400 {
        let pick = |index, n: u64| draw(seed, index) % n;
        let count = 1 + pick(0, 5);
        let equal = pick(1, 2) == 0;
        let rate =
            |i, side| [10, 25, 40, 100, 400][pick(10 + if equal { 0 } else { 2 * i + side }, 5) as usize];
        let spines: Vec<_> = (0..count).map(|i| [rate(i, 0), rate(i, 1)]).collect();
        let policies =
            [Balancing::Ops, Balancing::OpsRounds, Balancing::Reps, Balancing::Random, Balancing::Adaptive];
        let size = 1 + pick(2, [900, 3000, 300_000][pick(3, 3) as usize]);
        let policy = policies[pick(4, 5) as usize];
        let mut sim = lone(&spines, [0, 0, 700][pick(5, 3) as usize], policy, size, draw(seed, 6));
        if pick(7, 2) == 0 {
            sim.balancing.acknowledgements = Acknowledgements::OnePath;
        }
        let slowdown = slowdown(&sim);
        reached += u32::from(slowdown == 1.0);
        fast += u32::from(slowdown < 1.1);
    }
    println!("{reached} of 400 at the ideal, {fast} within a tenth of it");
    assert!(reached > 40 && fast > 100, "{reached} {fast}");
}

#[test]
fn even_spreading_comes_near_the_ideal() {
    // 5000 packets over n equal spines, which are together slower than the host or as fast. One gets 5000/n of them
    // with a standard deviation of √(5000/n · (1 − 1/n)), a share of √((n − 1)/5000) of its mean. Five of these.
    for (count, rate) in [(2, 25), (3, 25), (4, 25), (8, 10), (4, 10)] {
        let most = 1.0 + 5.0 * ((f64::from(count) - 1.0) / 5000.0).sqrt();
        for key in 0..4 {
            let spines = vec![[rate; 2]; count as usize];
            let slowdown = slowdown(&lone(&spines, 0, Balancing::Random, 5_000_000, key));
            println!("{count} spines of {rate} Gbps: {slowdown} (at most {most})");
            assert!(slowdown < most, "{count} of {rate}: {slowdown} {most}");
        }
    }
}
