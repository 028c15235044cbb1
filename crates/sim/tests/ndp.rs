//! NDP in whole networks.

mod common;

use common::*;
use incast_cc::Fixed;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Ecn, MarkingPoint, Trimming};
use incast_sim::describe::transport::{FirstWindow, Kind};
use incast_sim::record::{End, PacketKind, PacketRecord};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

/// Payload of a packet of 9,000 B.
const PAYLOAD: u64 = 8_946;

/// NDP over switches that trim with the defaults, without congestion control.
fn ndp(network: Network, flows: Vec<Flow>) -> Simulation {
    let mut simulation = simulation(network, Vec::new(), flows);
    simulation.transport.kind = Kind::Ndp;
    simulation.transport.payload = Bytes::new(PAYLOAD);
    simulation.switch.trimming = Some(Trimming::default());
    simulation
}

/// Lets `senders` hosts of a star at 100 Gbps, 1 us from the switch, each send host 0 `packets` packets at
/// once.
fn incast(senders: u32, packets: u64) -> Simulation {
    let flows = (1..=senders).map(|host| flow(host, 0, packets * PAYLOAD, Time::ZERO)).collect();
    ndp(star(senders + 1, gbps(100), us(1)), flows)
}

/// Returns the packets that a port begins to send.
fn captured(simulation: &Simulation, port: (u32, u16)) -> Vec<PacketRecord> {
    let mut simulation = simulation.clone();
    simulation.probes.captures = vec![port];
    let mut captured = Kept::default();
    incast_sim::run(&simulation, &mut captured).unwrap();
    captured.packets
}

/// A round trip of 5.45024 us: 4 us of links, two packets of 9,000 B (720 ns), two of 64 B (5.12 ns).
#[test]
fn one_flow_by_hand() {
    // Windows of four packets: the first is pulled again after a round trip.
    let mut simulation = incast(1, 8);
    simulation.transport.ndp.first_window = FirstWindow::Packets(4);
    let (_, kept) = run_everywhere(&simulation);
    let finish = 2 * 5_450_240 + 3 * 720_000;
    assert_eq!((kept.flows[0].finish.ps(), kept.flows[0].packets), (finish, 8));
    assert_eq!(kept.flows[0].delivered.ps(), finish - 2_010_240);
    // More than a round trip's worth: line rate, to the picosecond.
    for first_window in [8, 23] {
        let mut simulation = incast(1, 500);
        simulation.transport.ndp.first_window = FirstWindow::Packets(first_window);
        let (outcome, kept) = run_everywhere(&simulation);
        assert_eq!(kept.flows[0].finish, kept.flows[0].ideal);
        assert_eq!((outcome.trimmed, kept.flows[0].resent), (0, 0));
    }
    // Pulls at half the rate of the line.
    let mut simulation = incast(1, 500);
    simulation.transport.ndp.first_window = FirstWindow::Packets(23);
    simulation.transport.ndp.pull_rate = Fixed::ratio(1, 2);
    let (_, kept) = run_everywhere(&simulation);
    // The last packet is the 477th that is pulled: the first pull leaves when the first packet has arrived.
    let arrived = 2 * (1_000_000 + 720_000);
    let last_pull = arrived + 476 * 1_440_000;
    assert_eq!(kept.flows[0].finish.ps(), last_pull + 2_010_240 + arrived + 2_010_240);
}

/// Without a first window of its own a flow has one bandwidth-delay product: over links of 1 us 68,128 B, 8 packets; over
/// links of 10 us 41.45024 us at 100 Gbps, 518,128 B, of which 57 packets are less.
#[test]
fn a_flow_alone_fills_its_path_by_default() {
    let took = |delay: u64, first_window: FirstWindow| {
        let mut simulation = incast(1, 500);
        simulation.network = star(2, gbps(100), us(delay));
        simulation.transport.ndp.first_window = first_window;
        let (_, kept) = run_everywhere(&simulation);
        (kept.flows[0].finish - kept.flows[0].ideal).ps()
    };
    for (delay, packets) in [(1, 8), (10, 58)] {
        assert_eq!(
            [FirstWindow::Bdp, FirstWindow::Packets(packets)].map(|window| took(delay, window)),
            [0; 2]
        );
        assert!(took(delay, FirstWindow::Packets(packets - 1)) > 0);
    }
    // To a host at 50 Gbps: 4 us, 720 and 1,440 ns, 5.12 and 10.24 ns make 6.17536 us, and 38,596 B: 5 packets.
    let mut simulation = incast(1, 500);
    simulation.network.links[0].rate = gbps(50);
    let packets = captured(&simulation, (1, 0));
    // The first pull arrives after that time; until then those of the first window have left.
    let before = packets.iter().filter(|packet| packet.time < Time::from_ps(6_175_360)).count();
    assert_eq!(before, 5);
}

/// 255 messages of 500 packets of 1,000 B to one host, over links of 3 us, with starts spread over 6 us evenly. The headers
/// of all first windows of the last ones are returned. When the others are done, these have the link to themselves, and must
/// use it: all packets one after another take 84.32 ns each, after the way of the first. With one packet in a round trip for
/// each of those flows it takes 1.19 times as long.
#[test]
fn what_was_returned_comes_back_when_there_is_room() {
    let mut simulation = incast(255, 500);
    simulation.network = star(256, gbps(100), us(3));
    simulation.transport.payload = Bytes::new(1_000);
    simulation.transport.ndp.first_window = FirstWindow::Packets(23);
    for (flow, place) in simulation.flows.iter_mut().zip(0..) {
        (flow.size, flow.start) = (Bytes::new(500_000), Time::from_ps(place * 6_000_000 / 255));
    }
    let (outcome, kept) = run(&simulation);
    assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0));
    assert!(kept.flows.iter().map(|flow| flow.resent).sum::<u64>() > 5_000);
    let last = kept.flows.iter().map(|flow| flow.delivered).max().unwrap();
    let bound = Time::from_ps(6_084_320 + 255 * 500 * 84_320);
    assert!(last < bound.times_ratio(101, 100), "{last} of {bound}");
}

/// Packets k (from 0) of 20 leave the host at 0.72 k us. The link fails at 3 us for 0.2 us and loses 2, 3 and 4, which
/// left at 1.44, 2.16 and 2.88 us. All others are answered within some 20 us.
#[test]
fn a_burst_of_losses_takes_one_timeout() {
    let mut simulation = incast(1, 20);
    simulation.transport.ndp.first_window = FirstWindow::Packets(8);
    let outage = |from: u64| {
        [(from, LinkChange::Down), (from + 200_000, LinkChange::Up)].map(|(time, what)| Change {
            time: Time::from_ps(time),
            link: 1,
            what,
        })
    };
    simulation.network.changes = outage(3_000_000).to_vec();
    let (outcome, kept) = run_everywhere(&simulation);
    // Each is sent again 1 ms after it left; a round trip is 5.45024 us.
    let round_trip = 5_450_240;
    let flow = &kept.flows[0];
    assert_eq!((outcome.lost, flow.resent, flow.timeouts), (3, 3, 1));
    assert_eq!(flow.finish.ps(), 1_002_880_000 + round_trip);
    // The second copies of 3 and 4 are lost as well, at 1,003.5 us, when that of 2 has arrived at the switch. Its answer
    // comes at 1,006.89 us, and so they time out 1 ms after they left, not 2 ms.
    simulation.network.changes.extend(outage(1_003_500_000));
    let (outcome, kept) = run_everywhere(&simulation);
    let flow = &kept.flows[0];
    assert_eq!((outcome.lost, flow.resent, flow.timeouts), (5, 5, 2));
    assert_eq!(flow.finish.ps(), 2_002_880_000 + round_trip);
    // Were the one of 2 lost too, nothing would be heard, and they time out after 2 ms.
    simulation.network.changes.truncate(2);
    simulation.network.changes.extend(outage(1_003_000_000));
    let (outcome, kept) = run_everywhere(&simulation);
    let flow = &kept.flows[0];
    assert_eq!((outcome.lost, flow.resent, flow.timeouts), (6, 6, 2));
    assert_eq!(flow.finish.ps(), 3_002_880_000 + round_trip);
}

/// First windows of eight packets arrive at one instant every 720 ns, the last ones at 6.76 us. The port sends a packet,
/// and from 2.44 us on ten headers and a packet every 771.2 ns: 60 headers until then. It keeps nine packets of the
/// first round (one is being sent) and one each of the third to the eighth.
#[test]
fn a_large_incast_by_hand() {
    let dropped = |senders: u32, headers: u64| {
        let mut simulation = incast(senders, 8);
        simulation.switch.trimming = Some(Trimming {
            headers: Some(Bytes::new(headers)),
            return_to_sender: false,
            ..Trimming::default()
        });
        simulation.until = Time::from_ns(6_761);
        let (outcome, _) = run(&simulation);
        let port = outcome.ports.iter().find(|p| (p.node, p.port) == (senders + 1, 0)).unwrap();
        assert_eq!(port.trimmed, u64::from(senders) * 8 - 15);
        port.drops
    };
    // Room for 1,125 headers: 1,585 − 60 − 1,125. With twice as much there is room for all.
    assert_eq!(dropped(200, 72_000), 400);
    assert_eq!(dropped(200, 144_000), 0);
    assert_eq!(dropped(400, 72_000), 3_185 - 60 - 1_125);
}

/// A large incast with arrivals spread over each 720 ns evenly, 5.76 us in all. The port sends the first
/// packet until
/// 2.44 us, and then ten headers and a packet every 771.2 ns: 70 headers and seven packets when the last one arrives.
/// So 16 packets are kept. A count in which headers pass from the first arrival on, 13 a microsecond, has 75.
#[test]
fn a_large_incast_with_even_arrivals_by_hand() {
    let dropped = |senders: u32, headers: u64| {
        let mut simulation = incast(senders, 8);
        let apart = 720_000 / u64::from(senders);
        for (flow, place) in simulation.flows.iter_mut().zip(0..) {
            flow.start = Time::from_ps(place * apart);
        }
        simulation.switch.trimming = Some(Trimming {
            headers: Some(Bytes::new(headers)),
            return_to_sender: false,
            ..Trimming::default()
        });
        simulation.until = Time::from_ps(1_720_000 + 8 * 720_000 - apart + 1);
        let (outcome, _) = run_everywhere(&simulation);
        let port = outcome.ports.iter().find(|p| (p.node, p.port) == (senders + 1, 0)).unwrap();
        assert_eq!(port.trimmed, u64::from(senders) * 8 - 16);
        port.drops
    };
    assert_eq!(dropped(200, 72_000), 1_600 - 16 - 70 - 1_125);
    assert_eq!(dropped(200, 144_000), 0);
    assert_eq!(dropped(400, 72_000), 3_200 - 16 - 70 - 1_125);
}

/// As long as the headers of all first windows fit into the queue, none is dropped or returned: 1,125 headers of
/// 64 B in 72,000 B. With many more senders some are.
#[test]
fn an_incast_whose_first_windows_fit_loses_no_header() {
    for (first_window, senders) in [(8, 140), (23, 48), (1, 1_125)] {
        let overflow = |senders: u32| {
            let mut simulation = incast(senders, u64::from(first_window) + 4);
            simulation.transport.ndp.first_window = FirstWindow::Packets(first_window);
            simulation.transport.ndp.rto = Time::from_ms(20);
            // A header without room would be dropped, and its packet sent again by the timer.
            simulation.switch.trimming.as_mut().unwrap().return_to_sender = false;
            let (outcome, kept) = run(&simulation);
            assert_eq!(outcome.end, End::Finished);
            let timeouts = kept.flows.iter().map(|flow| flow.timeouts).sum::<u32>();
            (outcome.ports.iter().map(|port| port.drops).sum::<u64>(), timeouts)
        };
        assert_eq!(overflow(senders), (0, 0), "windows of {first_window}");
        let (drops, timeouts) = overflow(senders * 2);
        assert!(drops > 0 && timeouts > 0, "windows of {first_window}: {drops} drops, {timeouts} timeouts");
    }
}

/// Headers for which there is no room come back, and everything completes without a timeout and without a loss.
#[test]
fn a_large_incast_completes() {
    let simulation = incast(200, 8);
    let (outcome, kept) = run_everywhere(&simulation);
    assert_eq!((outcome.end, kept.flows.len()), (End::Finished, 200));
    assert_eq!(outcome.ports.iter().map(|port| port.drops).sum::<u64>(), 0);
    assert!(kept.flows.iter().all(|flow| flow.timeouts == 0));
    assert_eq!(kept.flows.iter().map(|flow| flow.resent).sum::<u64>(), outcome.trimmed);
    // 1,600 packets of 720 ns are 1,152 us; a header that goes ahead of each costs 0.7 % more.
    let last = kept.flows.iter().map(|flow| flow.delivered).max().unwrap();
    assert!((us(1_152)..us(1_190)).contains(&last), "{last}");
}

/// Pulls are in turn for all flows, and a packet's time apart.
#[test]
fn pulls_are_fair_and_paced() {
    let simulation = incast(5, 200);
    let (outcome, kept) = run_everywhere(&simulation);
    assert_eq!(outcome.end, End::Finished);
    // 1,000 packets take 720 us; all flows finish within the last rounds, whoever was trimmed in the beginning.
    let times: Vec<u64> = kept.flows.iter().map(|flow| flow.delivered.ps()).collect();
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(last - first < 30_000_000 && *last < 735_000_000, "{times:?}");
    let packets = captured(&simulation, (0, 0));
    let pulls: Vec<_> = packets.iter().filter(|p| p.kind.name() == "pull").collect();
    assert!(pulls.len() > 900, "{}", pulls.len());
    // A pull may wait for an acknowledgement that is being sent.
    assert!(pulls.windows(2).all(|two| two[1].time.ps() + 5_120 >= two[0].time.ps() + 720_000));
    // While all five have pulls queued, any five that follow each other go to five senders.
    for five in pulls[10..700].windows(5) {
        let mut to: Vec<u32> = five.iter().map(|p| p.destination).collect();
        to.sort_unstable();
        assert_eq!(to, [1, 2, 3, 4, 5]);
    }
    // Every packet that arrives is answered at once, with or without payload.
    let arrivals = captured(&simulation, (6, 0)).len();
    let answers = packets.iter().filter(|p| matches!(p.kind, PacketKind::Ack | PacketKind::Nack)).count();
    assert_eq!(answers, arrivals);
}

/// A flow that has arrived completely is not pulled, and its pulls make room for other flows' pulls.
#[test]
fn pulls_of_finished_flows_are_flushed() {
    let flows = vec![flow(1, 0, 20 * PAYLOAD, Time::ZERO), flow(2, 0, 200 * PAYLOAD, Time::ZERO)];
    let simulation = ndp(star(3, gbps(100), us(1)), flows);
    let (_, kept) = run_everywhere(&simulation);
    let delivered = kept.flows.iter().find(|flow| flow.bytes.get() == 20 * PAYLOAD).unwrap().delivered;
    let packets = captured(&simulation, (0, 0));
    let pulls = |to| packets.iter().filter(move |p| p.kind.name() == "pull" && p.destination == to);
    assert!(pulls(1).count() > 0 && pulls(1).all(|p| p.time <= delivered));
    // Both links are never idle: 220 packets, and the headers, from the first arrival on.
    let end = kept.flows.iter().map(|flow| flow.delivered.ps()).max().unwrap();
    assert!(end < 1_720_000 + 1_000_000 + 221 * 720_000 + 400_000, "{end}");
}

/// In a fat-tree any permutation over permuted paths keeps all its headers.
#[test]
fn a_permutation_loses_no_header() {
    for shift in [1, 5, 8] {
        let flows = (0..16).map(|host| Flow {
            balancing: Balancing::OpsRounds,
            ..flow(host, (host + shift) % 16, 300 * PAYLOAD, Time::ZERO)
        });
        let mut simulation = ndp(fat_tree(4, gbps(100), us(1)), flows.collect());
        simulation.seed = u64::from(shift);
        let (outcome, kept) = run_everywhere(&simulation);
        assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0));
        assert_eq!(outcome.ports.iter().map(|port| port.drops).sum::<u64>(), 0);
        assert!(kept.flows.iter().all(|flow| flow.timeouts == 0));
        let slowdowns =
            |flow: &incast_sim::record::FlowRecord| flow.finish.ps() as f64 / flow.ideal.ps() as f64;
        assert!(mean(&kept.flows, slowdowns) < 1.35, "{}", mean(&kept.flows, slowdowns));
    }
}

/// Lost headers, answers and pulls are repaired by the timer.
#[test]
fn the_timer_repairs_what_is_lost() {
    let (mut timeouts, mut drops, mut marks) = (0, 0, 0);
    for seed in 0..6 {
        let flows = (1..16)
            .map(|host| Flow {
                balancing: <Balancing as incast_sim::describe::Named>::ALL[host as usize % 6].0,
                ..flow(host, host % 3 / 2 * 9, 30_000 + 7_000 * u64::from(host), Time::ZERO)
            })
            .filter(|flow| flow.source != flow.destination)
            .collect();
        let mut simulation = ndp(fat_tree(4, gbps(100), us(1)), flows);
        simulation.seed = seed;
        simulation.transport.payload = Bytes::new(1_000);
        simulation.transport.ndp.rto = us(100);
        simulation.balancing.freeze = Some(us(50));
        simulation.switch.ecn = Some(Ecn {
            kmin: Bytes::new(500),
            kmax: Bytes::new(2_000),
            at: MarkingPoint::Dequeue,
            ..lossless_switch().ecn.unwrap()
        });
        simulation.switch.trimming = Some(Trimming {
            data: Bytes::new(4_000),
            headers: Some(Bytes::new(200)),
            return_to_sender: seed % 2 == 0,
            ratio: 2,
            ..Trimming::default()
        });
        let (outcome, kept) = run_everywhere(&simulation);
        assert_eq!(outcome.end, End::Finished, "seed {seed}");
        drops += outcome.ports.iter().map(|port| port.drops).sum::<u64>();
        marks += kept.flows.iter().map(|flow| flow.marked).sum::<u64>();
        timeouts += kept.flows.iter().map(|flow| flow.timeouts).sum::<u32>();
    }
    assert!(timeouts > 10 && drops > 100 && marks > 100, "{timeouts} timeouts, {drops} drops, {marks} marks");
}

/// Without trimming the timer repairs losses; flows that stop complete with what they have sent.
#[test]
fn drop_tail_and_stops() {
    let mut flows: Vec<Flow> = (1..6).map(|host| flow(host, 0, 40 * PAYLOAD, Time::ZERO)).collect();
    flows.push(long(6, 0, us(3), us(150)));
    let mut simulation = ndp(star(7, gbps(100), us(1)), flows);
    simulation.switch.trimming = None;
    simulation.switch.buffer = incast_sim::describe::switch::Buffer::PerPort(Bytes::new(72_000));
    simulation.transport.ndp.rto = us(200);
    let (outcome, kept) = run_everywhere(&simulation);
    assert_eq!((outcome.end, kept.flows.len()), (End::Finished, 6));
    assert!(outcome.dropped > 10 && kept.flows.iter().map(|flow| flow.timeouts).sum::<u32>() > 0);
}
