//! Swift, LSwift and MSwift in packets: one flow over several spines, of which some are slower.

mod common;

use common::*;
use incast_cc::params::Value;
use incast_cc::{AnyParams, Fixed};
use incast_sim::describe::balancing::{Acknowledgements, Balancing};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::transport::{Recovery, Repair};
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
