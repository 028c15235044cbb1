//! Packet trimming in whole networks, with the window transport.

mod common;

use common::*;
use incast_sim::Simulation;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Trimming};
use incast_sim::describe::transport::{AckEvery, Recovery, Repair};
use incast_sim::record::{End, PacketKind, PacketRecord};
use incast_units::{Bytes, Time};

/// `senders` hosts of a star at 100 Gbps, 1 us from the switch, each send host 0 this many packets of 9,000 B, all
/// at once. The ports have queues of eight packets.
fn burst(senders: u32, packets: u64, trimming: Trimming) -> Simulation {
    let flows = (1..=senders).map(|host| flow(host, 0, packets * 8_946, Time::ZERO)).collect();
    let mut simulation =
        simulation(star(senders + 1, gbps(100), us(1)), vec![window(packets * 9_000)], flows);
    simulation.transport.payload = Bytes::new(8_946);
    simulation.transport.recovery = Recovery::Selective;
    simulation.transport.repair = Repair::Never;
    simulation.switch.trimming = Some(trimming);
    simulation
}

/// Returns the packets that the switch's port to host 0 begins to send before `until`.
fn sent_to_receiver(simulation: &Simulation, until: Time) -> Vec<PacketRecord> {
    let mut simulation = simulation.clone();
    simulation.probes.captures = vec![(simulation.network.hosts, 0)];
    simulation.until = until;
    let mut captured = Kept::default();
    incast_sim::run(&simulation, &mut captured).unwrap();
    captured.packets
}

/// The times (ps) and kinds of packets: `D` for data, `h` for a header.
fn trace(packets: &[PacketRecord]) -> Vec<(u64, char)> {
    let letter = |packet: &PacketRecord| match (packet.kind, packet.size.get()) {
        (PacketKind::Data, 9_000) => 'D',
        (PacketKind::Header, 64) => 'h',
        other => panic!("{other:?}"),
    };
    packets.iter().map(|packet| (packet.time.ps(), letter(packet))).collect()
}

/// Three packets arrive every 720 ns, from 1.72 us on, and one leaves: in the fourth round the queue holds eight.
/// In the fifth two of three are trimmed, and so on; headers (5.12 ns) go first.
#[test]
fn service_by_hand() {
    let packets = sent_to_receiver(&burst(3, 8, Trimming::default()), Time::from_ns(7_000));
    let data = [1_720_000, 2_440_000, 3_160_000, 3_880_000, 4_600_000].map(|time| (time, 'D'));
    let mut expected = data.to_vec();
    // At 5.32 us the port becomes idle before three more packets arrive, while eight wait: all three are trimmed.
    expected.extend((0..5).map(|n| (5_320_000 + n * 5_120, 'h')));
    expected.push((5_345_600, 'D'));
    // Of those at 6.04 us and at 6.76 us one each finds room.
    expected.extend([(6_065_600, 'h'), (6_070_720, 'h'), (6_075_840, 'D')]);
    expected.extend([(6_795_840, 'h'), (6_800_960, 'h'), (6_806_080, 'D')]);
    assert_eq!(trace(&packets), expected);
    // One header for each data packet: the headers that have come by 5.32 us take until the end.
    let one = Trimming { ratio: 1, ..Trimming::default() };
    let packets = sent_to_receiver(&burst(3, 8, one), Time::from_ns(7_000));
    let mut expected = data.to_vec();
    for round in 0..3 {
        let start = 5_320_000 + round * 725_120;
        expected.extend([(start, 'h'), (start + 5_120, 'D')]);
    }
    assert_eq!(trace(&packets), expected);
}

/// In the fifth round the first packet finds room; the second and the third each replace the last one or are
/// trimmed. So the third stays one time in two, the others one time in four.
#[test]
fn the_arriving_packet_is_trimmed_one_time_in_two() {
    let mut stays = [0_u32; 3];
    for seed in 0..400 {
        let mut simulation = burst(3, 8, Trimming::default());
        simulation.seed = seed;
        // Their headers leave at 5.32 and at 5.32512 us.
        let packets = sent_to_receiver(&simulation, Time::from_ns(5_326));
        let is_fifth = |p: &&PacketRecord| p.kind == PacketKind::Header && p.sequence == 4 * 8_946;
        let trimmed: Vec<u32> = packets.iter().filter(is_fifth).map(|p| p.source).collect();
        assert_eq!(trimmed.len(), 2);
        let stayed = (1..4).find(|source| !trimmed.contains(source)).unwrap();
        stays[stayed as usize - 1] += 1;
    }
    // Chi-square with two degrees of freedom; above 20 with probability 5e-5.
    let expected = [100.0, 100.0, 200.0];
    let chi: f64 = stays.iter().zip(expected).map(|(n, e)| (f64::from(*n) - e).powi(2) / e).sum();
    assert!(chi < 20.0, "{stays:?}");
}

/// A sender resends exactly what was trimmed, without a timeout.
#[test]
fn only_trimmed_packets_are_sent_again() {
    for seed in 0..5 {
        let mut simulation = burst(8, 16, Trimming::default());
        simulation.seed = seed;
        let (outcome, kept) = run_everywhere(&simulation);
        assert_eq!(outcome.end, End::Finished);
        assert_eq!((outcome.dropped, outcome.in_flight), (0, 0));
        assert!(outcome.trimmed > 50, "{}", outcome.trimmed);
        assert_eq!(outcome.ports.iter().map(|port| port.trimmed).sum::<u64>(), outcome.trimmed);
        assert_eq!(kept.flows.iter().map(|flow| flow.resent).sum::<u64>(), outcome.trimmed);
        assert!(kept.flows.iter().all(|flow| flow.timeouts == 0 && flow.bytes == Bytes::new(16 * 8_946)));
    }
}

/// Headers for which there is no room go back, once, and their packets are sent again at once. In a star nothing
/// is lost of what goes back, as long as the ports of the senders are not full.
#[test]
fn headers_without_room_are_returned() {
    let small = Trimming { headers: Some(Bytes::new(640)), ratio: 1, ..Trimming::default() };
    let simulation = burst(12, 8, small);
    let (outcome, kept) = run_everywhere(&simulation);
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(outcome.ports.iter().map(|port| port.drops).sum::<u64>(), 0);
    assert_eq!(kept.flows.iter().map(|flow| flow.resent).sum::<u64>(), outcome.trimmed);
    assert!(kept.flows.iter().all(|flow| flow.timeouts == 0));
    // Some have gone back: they are on the links to senders.
    let mut watched = simulation.clone();
    watched.probes.captures = (1..13).map(|port| (simulation.network.hosts, port)).collect();
    let mut captured = Kept::default();
    incast_sim::run(&watched, &mut captured).unwrap();
    let returned: Vec<_> = captured.packets.iter().filter(|p| p.kind == PacketKind::Returned).collect();
    assert!(returned.len() > 10, "{}", returned.len());
    assert!(returned.iter().all(|p| p.destination == u32::from(p.port) && p.source == 0));
    // Without that they are dropped, and the timer repairs the loss.
    let dropping = Trimming { return_to_sender: false, ..small };
    let mut simulation = burst(12, 8, dropping);
    simulation.transport.rto = us(500);
    let (outcome, kept) = run_everywhere(&simulation);
    assert!(outcome.ports.iter().map(|port| port.drops).sum::<u64>() > 10);
    assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0));
    assert!(kept.flows.iter().map(|flow| flow.timeouts).sum::<u32>() > 0);
}

/// Trimming with marks, telemetry, held acknowledgements, lost acknowledgements and packets on several paths.
#[test]
fn trimming_goes_with_everything_else() {
    for (i, name) in ["dctcp", "hpcc", "swift", "dcqcn"].into_iter().enumerate() {
        for (j, policy) in [Balancing::Reps, Balancing::Adaptive, Balancing::Ecmp].into_iter().enumerate() {
            let flows = (1..12)
                .map(|host| flow(host, host % 2 * 15, 90_000, Time::from_ns(u64::from(host % 3))))
                .map(|flow| incast_sim::describe::flow::Flow { balancing: policy, ..flow })
                .collect();
            let mut simulation = simulation(fat_tree(4, gbps(100), us(1)), vec![algorithm(name, &[])], flows);
            simulation.seed = (4 * i + j) as u64;
            simulation.transport.recovery = Recovery::Selective;
            simulation.transport.repair = [Repair::Threshold, Repair::Lazy, Repair::Never][j];
            simulation.transport.ack_every = AckEvery::Packets(1 + 3 * i as u32);
            simulation.transport.ack_on_mark = i > 1;
            simulation.transport.rto = us(200);
            simulation.balancing.freeze = Some(us(100));
            simulation.switch.ecn = Some(Ecn {
                kmin: Bytes::new(3_000),
                kmax: Bytes::new(9_000),
                at: [MarkingPoint::Dequeue, MarkingPoint::Enqueue][i % 2],
                ..lossless_switch().ecn.unwrap()
            });
            simulation.switch.trimming = Some(Trimming {
                data: Bytes::new(11_000),
                headers: Some(Bytes::new([300, 5_000][i % 2])),
                return_to_sender: j != 1,
                ..Trimming::default()
            });
            let (outcome, kept) = run_everywhere(&simulation);
            assert_eq!((outcome.end, kept.flows.len()), (End::Finished, 11), "{name} {policy:?}");
            assert!(outcome.trimmed > 20, "{name} {policy:?}: {}", outcome.trimmed);
        }
    }
}

#[test]
fn what_does_not_go_with_trimming_is_refused() {
    let refused = |change: &dyn Fn(&mut Simulation), says: &str| {
        let mut simulation = burst(2, 8, Trimming::default());
        change(&mut simulation);
        let message = incast_sim::run(&simulation, &mut Kept::default()).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    };
    refused(&|s| s.switch.pfc = lossless_switch().pfc, "PFC");
    refused(&|s| s.switch.buffer = Buffer::PerPort(Bytes::new(1)), "buffer");
    refused(&|s| s.switch.queues = 2, "one queue");
    refused(&|s| s.switch.trimming.as_mut().unwrap().ratio = 0, "one or more headers");
    refused(&|s| s.transport.recovery = Recovery::GoBackN, "selective repeat");
}
