//! Homa on small networks, by hand: when messages complete, which levels their packets take, what is sent again.
//!
//! 100 Gbps and 1 us everywhere: a byte takes 80 ps, a full packet of 1054 B 84.32 ns, a control packet of 64 B
//! 5.12 ns. Through one switch a full packet takes 2 us and twice its time, a control packet 2.01024 us.

mod common;

use std::ops::ControlFlow;

use common::{Kept, flow, gbps, run, run_everywhere, simulation, star, us};
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::Buffer;
use incast_sim::describe::transport::{Kind, RttBytes};
use incast_sim::record::{End, FlowRecord, Outcome, PacketKind, PacketRecord, Progress};
use incast_sim::{Simulation, Sink};
use incast_units::{Bytes, Time};

const PACKET: u64 = 84_320;
/// From the first bit of a full packet to its arrival, and of a control packet.
const DATA: u64 = 2_000_000 + 2 * PACKET;
const CONTROL: u64 = 2_000_000 + 2 * 5_120;

/// Messages through one switch, with RTTbytes of 10 KB, one message granted at a time and eight queues.
fn homa(hosts: u32, messages: &[(u32, u32, u64, u64)]) -> Simulation {
    let flows = messages.iter().map(|&(from, to, size, start)| flow(from, to, size, Time::from_ps(start)));
    let mut sim = simulation(star(hosts, gbps(100), us(1)), Vec::new(), flows.collect());
    sim.transport.kind = Kind::Homa;
    sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(10_000));
    sim.transport.homa.overcommitment = Some(1);
    sim.switch.queues = 8;
    sim
}

/// The record of each flow, by its place among the flows.
fn records(kept: &Kept) -> Vec<FlowRecord> {
    let mut records = kept.flows.clone();
    records.sort_by_key(|record| record.flow);
    records
}

/// Runs it everywhere; all messages must complete.
fn completed(sim: &Simulation) -> (Outcome, Vec<FlowRecord>) {
    let (outcome, kept) = run_everywhere(sim);
    assert_eq!(outcome.end, End::Finished);
    (outcome, records(&kept))
}

/// The packets that a run captures at some ports.
fn captured(sim: &Simulation, ports: &[(u32, u16)]) -> Vec<PacketRecord> {
    #[derive(Default)]
    struct Packets(Vec<PacketRecord>);
    impl Sink for Packets {
        fn flows(&mut self, _: &[FlowRecord]) {}
        fn packets(&mut self, records: &[PacketRecord]) {
            self.0.extend_from_slice(records);
        }
        fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }
    let mut sim = sim.clone();
    sim.probes.captures = ports.to_vec();
    let mut packets = Packets::default();
    incast_sim::run(&sim, &mut packets).unwrap();
    packets.0
}

#[test]
fn a_lone_message_by_hand() {
    // Up to RTTbytes the packets leave back to back.
    let (_, records) = completed(&homa(2, &[(0, 1, 9_500, 0)]));
    // The last packet, of 554 B, waits for the one before at the switch: nine full packets and it.
    let delivered = 10 * PACKET + 554 * 80 + 2_000_000;
    assert_eq!(records[0].delivered, Time::from_ps(delivered));
    assert_eq!(records[0].finish, Time::from_ps(delivered + CONTROL));
    assert_eq!(records[0].ideal, records[0].finish);
    // 25 KB: the grant for packet 10 comes a round trip after the start, and that for each following one when
    // the packet before it has left. So packets 10 to 19 begin at one round trip, 20 to 24 at two.
    let (_, records) = completed(&homa(2, &[(0, 1, 25_000, 0)]));
    let round_trip = DATA + CONTROL;
    assert_eq!(records[0].finish, Time::from_ps(2 * round_trip + 4 * PACKET + round_trip));
    assert_eq!(records[0].delivered, Time::from_ps(2 * round_trip + 4 * PACKET + DATA));
    assert_eq!((records[0].packets, records[0].resent, records[0].timeouts), (25, 0, 0));
    // With RTTbytes from the network, which are 53 packets, no packet waits for a grant.
    let mut sim = homa(2, &[(0, 1, 200_000, 0)]);
    sim.transport.homa.rtt_bytes = RttBytes::Network;
    let (_, records) = completed(&sim);
    assert_eq!(records[0].finish, Time::from_ps(199 * PACKET + round_trip));
    assert_eq!(records[0].ideal, records[0].finish);
}

#[test]
fn each_pair_has_rtt_bytes_of_its_own() {
    // Host 1 at 50 Gbps, host 2 at 10 us. To host 1 a full packet takes 2 us, 84.32 and 168.64 ns, and a control packet
    // back 2 us, 10.24 and 5.12 ns: 4,268,320 ps, in which 50 Gbps are 26,677 B, so R is 27. To host 2 it is 22 us and
    // 178.88 ns, at 100 Gbps 277,236 B, so R is 278. The largest of the network is between hosts 1 and 2: 22 us and 268.32 ns,
    // and at 100 Gbps, the highest rate, 278,354 B: 279.
    let levels = |rtt_bytes| {
        let mut sim = homa(4, &[(0, 1, 400_000, 0), (3, 2, 400_000, 0)]);
        sim.network.links[1].rate = gbps(50);
        sim.network.links[2].delay = us(10);
        sim.transport.homa.rtt_bytes = rtt_bytes;
        let (_, records) = completed(&sim);
        assert!(records.iter().all(|record| (record.packets, record.resent) == (400, 0)));
        let packets = captured(&sim, &[(0, 0), (3, 0)]);
        // The first packet of each source with a scheduled level.
        [0, 3].map(|source| {
            let own =
                |p: &&PacketRecord| p.flow.is_some_and(|flow| sim.flows[flow as usize].source == source);
            let mut data = packets.iter().filter(own).filter(|p| p.kind == PacketKind::Data && p.queue > 1);
            data.next().map(|packet| packet.sequence / 1000)
        })
    };
    assert_eq!(levels(RttBytes::Pair), [Some(27), Some(278)]);
    assert_eq!(levels(RttBytes::Network), [Some(279), Some(279)]);
    // The first bit of packet 27 leaves when the first grant has come, a round trip after the start: 4,268,320 ps. The
    // packets before took 27 · 84.32 ns. At 50 Gbps the last arrives as if the line had been busy all the time.
    let mut sim = homa(2, &[(0, 1, 400_000, 0)]);
    sim.network.links[1].rate = gbps(50);
    sim.transport.homa.rtt_bytes = RttBytes::Pair;
    let (_, records) = completed(&sim);
    assert_eq!(records[0].delivered, Time::from_ps(2_000_000 + PACKET + 400 * 2 * PACKET));
}

#[test]
fn the_sender_sends_the_shortest_first() {
    // 10 KB to one host, and when three packets have left 2 KB to another.
    let start = 3 * PACKET - 1;
    let (_, records) = completed(&homa(3, &[(0, 1, 10_000, 0), (0, 2, 2_000, start)]));
    assert_eq!(records[1].finish, Time::from_ps(4 * PACKET + DATA + CONTROL));
    assert_eq!(records[0].finish, Time::from_ps(11 * PACKET + DATA + CONTROL));
    // When it has 2 KB left, it comes first by its index, and with 3 KB not.
    for (packets, first) in [(8, 0), (7, 1)] {
        let sim = homa(3, &[(0, 1, 10_000, 0), (0, 2, 2_000, packets * PACKET - 1)]);
        let records = completed(&sim).1;
        let finish = if first == 0 { [9, 11] } else { [11, 8] };
        let expected = finish.map(|packets| Time::from_ps(packets * PACKET + DATA + CONTROL));
        assert_eq!([records[0].finish, records[1].finish], expected);
    }
}

#[test]
fn a_newcomer_takes_a_higher_level() {
    // 300 KB from one host, alone at the lowest level; then 100 KB from another.
    let mut sim = homa(3, &[(0, 2, 300_000, 0), (1, 2, 100_000, 10_000_000)]);
    sim.transport.homa.overcommitment = Some(2);
    sim.transport.homa.rtt_bytes = RttBytes::Network;
    let (_, records) = completed(&sim);
    let packets = captured(&sim, &[(0, 0), (1, 0)]);
    // The levels that the packets of a message have, without repetition.
    let levels = |flow| {
        let data = packets.iter().filter(|p| p.flow == Some(flow) && p.kind == PacketKind::Data);
        let mut levels: Vec<(u64, u16)> = data.map(|p| (p.sequence / 1000, p.queue)).collect();
        levels.dedup_by_key(|(_, level)| *level);
        levels
    };
    // 53 packets without a grant: the long one at level 0 (the equal shares are each 53 KB, so that the first
    // holds the shorter one alone), hence level 1.
    assert_eq!(levels(0), [(0, 1), (53, 7)]);
    assert_eq!(levels(1), [(0, 0), (53, 6)]);
    // Level 6 passes level 7 in the switch, and the newcomer goes on as if it were alone, apart from one packet
    // that may be on the wire at the switch when its first one comes.
    let alone = 99 * PACKET + DATA + CONTROL;
    let took = (records[1].finish - records[1].start).ps();
    assert!((alone..=alone + PACKET).contains(&took), "{took} against {alone}");
    // At the highest levels the newcomer has that of the long one, and waits for what it has been granted.
    sim.transport.homa.scheduled = incast_sim::describe::transport::ScheduledOrder::Highest;
    let (_, records) = completed(&sim);
    let packets = captured(&sim, &[(0, 0), (1, 0)]);
    let scheduled = packets.iter().filter(|p| p.kind == PacketKind::Data && p.sequence >= 53_000);
    let mut levels: Vec<_> = scheduled.map(|p| (p.flow.unwrap(), p.queue)).collect();
    levels.sort_unstable();
    levels.dedup();
    assert_eq!(levels, [(0, 2), (0, 3), (1, 2)]);
    assert!(records[1].finish - records[1].start > Time::from_ps(alone + PACKET));
}

#[test]
fn control_packets_take_the_highest_level_before_data() {
    let mut sim = homa(3, &[(0, 1, 40_000, 0), (1, 0, 40_000, 0), (2, 0, 30_000, 0)]);
    sim.transport.homa.overcommitment = Some(2);
    completed(&sim);
    let all = captured(&sim, &[(0, 0), (1, 0), (2, 0)]);
    let control = |p: &&PacketRecord| p.kind != PacketKind::Data;
    assert!(all.iter().filter(control).all(|p| p.queue == 0 && p.size == Bytes::new(64)));
    let of_kind = |kind| all.iter().filter(|p| p.kind.name() == kind).count();
    // A grant for each packet after the first ten, and an acknowledgement for each message.
    assert_eq!(["grant", "ack", "resend"].map(of_kind), [80, 3, 0]);
}

/// Peak of the switch's queue to the receiver of `senders` messages of 500 KB and a little more that start
/// together, and its length from `from` on, both in full packets.
fn plateau(senders: u32, overcommitment: u32, from: Time) -> (u64, u64) {
    let messages: Vec<_> =
        (0..senders).map(|host| (host, senders, 500_000 + 10_000 * u64::from(host), 0)).collect();
    let mut sim = homa(senders + 1, &messages);
    sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(53_000));
    sim.transport.homa.overcommitment = Some(overcommitment);
    sim.probes.ports = vec![(senders + 1, senders as u16)];
    sim.probes.port_interval = Time::from_ns(500);
    let (outcome, kept) = run(&sim);
    assert_eq!(outcome.end, End::Finished);
    let port = outcome.ports.iter().find(|p| (p.node, p.port) == (senders + 1, senders as u16)).unwrap();
    let later = kept.ports.iter().filter(|sample| sample.time >= from);
    (port.peak_queue.get() / 1054, later.map(|sample| sample.queue.get()).max().unwrap() / 1054)
}

#[test]
fn the_buffer_grows_by_rtt_bytes_for_each_message_granted() {
    // Eight senders send 53 packets each without a grant, which take 35.8 us. Afterwards 53 packets of each of K
    // messages are on their way at any time. One such set fills the round trip, of a little more than 52; each
    // other one is in the queue as a whole.
    let mut before = 0;
    for k in 1..=6 {
        let (peak, plateau) = plateau(8, k, us(45));
        assert!(peak <= u64::from(k) * 53 + 8 * 53, "K {k}: {peak}");
        assert!(plateau <= u64::from(k) * 53, "K {k}: {plateau}");
        let grown = if k == 1 { 0..=10 } else { 53..=53 };
        assert!(grown.contains(&(plateau - before)), "K {k}: {plateau} after {before}");
        before = plateau;
    }
}

/// A message of `size` from each of some hosts to one more, over links of 25 Gbps.
fn to_one_host(senders: u32, size: u64, rtt_bytes: u64) -> Simulation {
    let messages: Vec<_> = (0..senders).map(|host| (host, senders, size, 0)).collect();
    let mut sim = homa(senders + 1, &messages);
    sim.network = star(senders + 1, gbps(25), us(1));
    sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(rtt_bytes));
    sim
}

#[test]
fn a_burst_of_unscheduled_bytes_is_in_the_buffer_as_a_whole() {
    // 255 messages of 90.5 KB, RTTbytes of 28.96 us at 25 Gbps, at once: 23.08 MB of payload, and none is granted.
    let mut sim = to_one_host(255, 90_500, 90_500);
    // Nobody asks for what waits in the queue.
    sim.transport.homa.resend_timeout = Time::from_ms(100);
    let (outcome, kept) = run(&sim);
    assert_eq!((outcome.end, outcome.sent), (End::Finished, 255 * 91));
    assert!(kept.flows.iter().all(|record| record.resent == 0));
    // All packets arrive at the same instants, at the speed at which the port sends. When the last ones come, of
    // 554 B each, 90 have begun to leave.
    let port = outcome.ports.iter().find(|p| (p.node, p.port) == (256, 255)).unwrap();
    assert_eq!(port.peak_queue.get(), 255 * (90 * 1054 + 554) - 90 * 1054);
    let answers = captured(&sim, &[(255, 0)]);
    assert!(answers.iter().all(|packet| packet.kind == PacketKind::Ack));
    // Smaller messages: their sizes.
    sim.flows.iter_mut().for_each(|flow| flow.size = Bytes::new(8_000));
    let (outcome, _) = run(&sim);
    let port = outcome.ports.iter().find(|p| (p.node, p.port) == (256, 255)).unwrap();
    assert_eq!(port.peak_queue.get(), (255 * 8 - 8) * 1054);
}

#[test]
fn with_one_message_granted_the_link_idles_while_its_sender_is_busy() {
    // Hosts 0 and 1 have 260 KB and 400 KB for host 2, which grants the first. From 5 us on host 0 also has 20
    // messages of 10 KB for host 3, which are shorter.
    let took = |overcommitment| {
        let mut messages = vec![(0, 2, 260_000, 0), (1, 2, 400_000, 0)];
        messages.extend((0..20).map(|i| (0, 3, 10_000, 5_000_000 + i)));
        let mut sim = homa(4, &messages);
        sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(53_000));
        sim.transport.homa.overcommitment = Some(overcommitment);
        let records = completed(&sim).1;
        assert!(records.iter().all(|record| record.resent == 0));
        records[0].finish.max(records[1].finish)
    };
    // All 660 packets one after another.
    let busy = Time::from_ps(659 * PACKET + DATA + CONTROL);
    // The 200 packets to host 3 take 16.9 us. Of these the link to host 2 idles all but the time for which what
    // is granted or queued lasts.
    assert!(took(1) > busy + us(8), "{} against {busy}", took(1));
    assert_eq!(took(2), busy);
}

#[test]
fn a_message_that_is_granted_completely_makes_room() {
    // Four messages of 200 KB at RTTbytes of 53 KB, one granted at a time: first 4 · 53 packets without a grant, of which
    // 159 wait when the first grants take effect. From then on a packet leaves the switch whenever one has left: the
    // next message is granted one packet for each of the last 53 of the one before. So the line never idles. Were the
    // next one granted when the last packet has arrived, it would idle for a round trip each time.
    let messages: Vec<_> = (0..4).map(|host| (host, 4, 200_000, 0)).collect();
    let mut sim = homa(5, &messages);
    sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(53_000));
    let (outcome, records) = completed(&sim);
    let last = records.iter().map(|record| record.finish).max().unwrap();
    assert_eq!(last, Time::from_ps(799 * PACKET + DATA + CONTROL));
    // Without a grant 4 · 53 packets arrive, in steps of four for each that leaves; then one for one.
    let port = outcome.ports.iter().find(|p| (p.node, p.port) == (5, 4)).unwrap();
    assert_eq!(port.peak_queue, Bytes::new((4 * 53 - 53) * 1054));
}

#[test]
fn what_is_dropped_is_requested_once() {
    // Two messages of ten packets at once into a port for five: at each step two arrive and one leaves, so from
    // the sixth step on the second of both is dropped: packets 5 to 9 of the second message.
    let mut sim = homa(3, &[(0, 2, 10_000, 0), (1, 2, 10_000, 0)]);
    sim.switch.buffer = Buffer::PerPort(Bytes::new(5 * 1054));
    let (outcome, records) = completed(&sim);
    assert_eq!((outcome.dropped, outcome.lost, outcome.sent), (5, 0, 25));
    let ends: Vec<_> = records.iter().map(|r| (r.packets, r.resent, r.timeouts)).collect();
    let second = if sim.flows[0].source == 0 { 1 } else { 0 };
    assert_eq!((ends[1 - second], ends[second]), ((10, 0, 0), (15, 5, 0)));
    // Packet 4 of the second message is the tenth of all at the receiver, at 1 us + ten packets after the first
    // could leave the switch. Five packets of the first message follow, of which less is missing. A millisecond
    // later its receiver requests the rest; then the request's time, and five packets.
    let last = 1_000_000 + PACKET + 15 * PACKET + 1_000_000;
    let again = last + 1_000_000_000 + CONTROL;
    assert_eq!(records[second].finish, Time::from_ps(again + 4 * PACKET + DATA + CONTROL));
    let packets = captured(&sim, &[(1, 0), (2, 0)]);
    let requests: Vec<_> = packets.iter().filter(|p| p.kind.name() == "resend").collect();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].time, Time::from_ps(last + 1_000_000_000));
    // What is sent again takes the highest level.
    let late = packets.iter().filter(|p| p.kind == PacketKind::Data && p.time > us(100));
    assert_eq!(
        late.map(|p| (p.sequence, p.queue)).collect::<Vec<_>>(),
        [5, 6, 7, 8, 9].map(|n| (n * 1000, 0))
    );
}

/// The link of a host is down between two times.
fn down(sim: &mut Simulation, link: u32, from: u64, to: Option<u64>) {
    let change = |time, what| Change { time: Time::from_ps(time), link, what };
    sim.network.changes.push(change(from, LinkChange::Down));
    sim.network.changes.extend(to.map(|to| change(to, LinkChange::Up)));
}

#[test]
fn a_message_of_which_nothing_arrived_begins_again() {
    // The link of the receiver fails before the three packets arrive, and returns. The last one begins at two
    // packets; two milliseconds later the first is sent again. The receiver then knows the message, and a
    // millisecond after its arrival requests the others.
    let mut sim = homa(2, &[(0, 1, 3_000, 0)]);
    down(&mut sim, 1, 1_500_000, Some(1_000_000_000));
    let (outcome, records) = completed(&sim);
    assert_eq!((outcome.lost + outcome.dropped, outcome.sent), (3, 6));
    assert_eq!((records[0].packets, records[0].resent, records[0].timeouts), (6, 3, 1));
    let first = 2 * PACKET + 2_000_000_000 + DATA;
    let request = first + 1_000_000_000 + CONTROL;
    assert_eq!(records[0].finish, Time::from_ps(request + PACKET + DATA + CONTROL));
}

#[test]
fn a_lost_acknowledgement_is_sent_again_for_the_first_packet() {
    // The sender's link fails while the acknowledgement is on it.
    let mut sim = homa(2, &[(0, 1, 1_000, 0)]);
    down(&mut sim, 0, DATA + 1_500_000, Some(1_000_000_000));
    let (outcome, records) = completed(&sim);
    assert_eq!((outcome.lost, outcome.sent, outcome.delivered), (0, 2, 2));
    assert_eq!((records[0].packets, records[0].resent, records[0].timeouts), (2, 1, 1));
    // Two milliseconds after the packet began it is sent again; it is the first copy whose arrival counts.
    assert_eq!(records[0].delivered, Time::from_ps(DATA));
    assert_eq!(records[0].finish, Time::from_ps(2_000_000_000 + DATA + CONTROL));
}

#[test]
fn a_receiver_gives_up_after_its_tries_and_goes_on_with_others() {
    // The link of host 0 fails for good while its message is half there. Host 1's message, longer, is granted
    // only then, and completes.
    let mut sim = homa(3, &[(0, 2, 20_000, 0), (1, 2, 40_000, 0)]);
    down(&mut sim, 0, 3_000_000, None);
    sim.stall_after = Time::from_ms(20);
    let (outcome, kept) = run_everywhere(&sim);
    let End::Stalled(stall) = &outcome.end else { panic!("{:?}", outcome.end) };
    let long = if sim.flows[0].source == 0 { 1 } else { 0 };
    assert_eq!(kept.flows.iter().map(|record| record.flow).collect::<Vec<_>>(), [long]);
    assert_eq!(stall.flows[0].0, 1 - long);
    let waits = &stall.flows[0].1;
    assert!(waits.contains("its turn on its host's link (10KB of 20KB sent"), "{waits}");
    // Five requests, a millisecond apart; one more later the place is free.
    let packets = captured(&sim, &[(2, 0)]);
    let requests: Vec<_> = packets.iter().filter(|p| p.kind.name() == "resend").map(|p| p.time).collect();
    assert_eq!(requests.len(), 5);
    assert!(requests.windows(2).all(|two| two[1] - two[0] == Time::from_ms(1)));
    let of_long = packets.iter().filter(|p| p.kind.name() == "grant" && p.flow == Some(long));
    let first: Vec<_> = of_long.map(|p| (p.time, p.sequence)).take(2).collect();
    // When the last of the twenty packets has arrived, its sender learns that it is known.
    assert_eq!(first[0], (Time::from_ps(19 * PACKET + DATA), 10_000));
    assert_eq!(first[1], (requests[4] + Time::from_ms(1), 20_000));
}

#[test]
fn a_cap_counts_unscheduled_bytes_too() {
    // Four messages of 30 KB, of which 10 KB each come without a grant, at a cap of 20 packets. They arrive in
    // turn, back to back. When the receiver knows of one, 9 packets are outstanding, and it grants one more; then
    // 19, and it grants one. With the third and the fourth it has 29 and 38; 19 packets later it is 19 again.
    let messages: Vec<_> = (0..4).map(|host| (host, 4, 30_000, 0)).collect();
    let mut sim = homa(5, &messages);
    sim.transport.homa.overcommitment = Some(4);
    let grants = |sim: &Simulation, count: u64| {
        let packets = captured(sim, &[(4, 0)]);
        let grants = packets.iter().filter(|p| p.kind.name() == "grant").take(count as usize);
        grants.map(|p| p.time).collect::<Vec<_>>()
    };
    let at = |packets: u64| Time::from_ps(DATA + packets * PACKET);
    assert_eq!(grants(&sim, 5), (0..5).map(at).collect::<Vec<_>>());
    sim.transport.homa.cap = Some(Bytes::new(20_999));
    completed(&sim);
    assert_eq!(grants(&sim, 3), [0, 1, 22].map(at));
}

#[test]
fn the_end_of_a_message_takes_the_unscheduled_level_if_asked() {
    // 40 packets, of which 10 come without a grant; a shorter message makes two unscheduled levels differ.
    let mut sim = homa(3, &[(0, 2, 40_000, 0), (1, 2, 10_000, 0)]);
    let levels = |sim: &Simulation| {
        let packets = captured(sim, &[(0, 0)]);
        let mut levels: Vec<_> = packets.iter().map(|p| (p.sequence / 1000, p.queue)).collect();
        levels.dedup_by_key(|(_, level)| *level);
        levels
    };
    assert_eq!(levels(&sim), [(0, 1), (10, 7)]);
    sim.transport.homa.last_rtt_bytes = incast_sim::describe::transport::LastRttBytes::Unscheduled;
    completed(&sim);
    assert_eq!(levels(&sim), [(0, 1), (10, 7), (30, 1)]);
    // Of 15 packets the last 5 follow the first 10.
    sim.flows[0].size = Bytes::new(15_000);
    assert_eq!(levels(&sim), [(0, 1)]);
}

#[test]
fn the_oldest_message_gets_its_share() {
    // 300 KB, and all the time shorter messages of three other hosts, 30 of 40 KB.
    let others = (0..30).map(|i| (1 + i % 3, 4, 40_000, 1_000_000 + u64::from(i) * 3_000_000));
    let messages: Vec<_> = std::iter::once((0, 4, 300_000, 0)).chain(others).collect();
    let mut sim = homa(5, &messages);
    let last = |records: &[FlowRecord]| records[1..].iter().map(|record| record.finish).max().unwrap();
    let steps = |sim: &Simulation, until: Time| {
        let packets = captured(sim, &[(4, 0)]);
        let grants = packets.iter().filter(|p| p.kind.name() == "grant" && p.flow == Some(0));
        let limits: Vec<u64> = grants.filter(|p| p.time < until).map(|p| p.sequence / 1000).collect();
        limits.windows(2).filter(|two| two[1] - two[0] == 5).count()
    };
    let (_, without) = completed(&sim);
    assert_eq!(steps(&sim, last(&without)), 0);
    // A tenth in steps of 5 packets: one after 45 others. 900 packets of the others are granted, and some of the
    // long message while there is no other.
    sim.transport.homa.oldest_share = incast_cc::Fixed::ratio(1, 10);
    sim.transport.homa.oldest_step = Bytes::new(5_000);
    let (_, with) = completed(&sim);
    let counted = steps(&sim, last(&with));
    assert!((15..=25).contains(&counted), "{counted}");
    assert!(with[0].finish < without[0].finish, "{:?} {:?}", with[0].finish, without[0].finish);
}

#[test]
fn paused_levels_wait_and_others_pass() {
    let mut sim = homa(6, &(0..5).map(|host| (host, 5, 200_000, 0)).collect::<Vec<_>>());
    sim.switch.pfc = common::lossless_switch().pfc;
    sim.switch.pfc.as_mut().unwrap().xoff = Some(Bytes::new(6_000));
    sim.transport.homa.overcommitment = Some(3);
    sim.transport.homa.rtt_bytes = RttBytes::Network;
    let (outcome, _) = completed(&sim);
    assert!(outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>() > 10);
    assert_eq!(outcome.dropped, 0);
}

#[test]
fn everything_agrees_under_losses_and_spraying() {
    use incast_sim::describe::balancing::Balancing;
    for seed in 0..6_u64 {
        let random = |i: u64, n: u64| incast_sim::random::mix(seed << 32 | i) % n;
        let flows = (0..60).map(|i| {
            let (from, to) = (random(4 * i, 16) as u32, random(4 * i + 1, 15) as u32);
            let start = Time::from_ns(random(4 * i + 2, 30_000));
            let to = (from + 1 + to) % 16;
            let mut message = flow(from, to, 1 + random(4 * i + 3, 60_000), start);
            let policies = [Balancing::Ecmp, Balancing::Ops, Balancing::Random];
            message.balancing = policies[i as usize % 3];
            message
        });
        let mut sim = simulation(common::fat_tree(4, gbps(100), us(1)), Vec::new(), flows.collect());
        sim.transport.kind = Kind::Homa;
        sim.transport.homa.overcommitment = Some(1 + (seed % 3) as u32);
        sim.transport.homa.resend_timeout = us(100);
        sim.transport.homa.resend_tries = 20;
        sim.switch.queues = 8;
        sim.switch.buffer = Buffer::PerPort(Bytes::new(12_000));
        let (outcome, records) = completed(&sim);
        assert!(outcome.dropped > 20, "{}", outcome.dropped);
        let resent: u64 = records.iter().map(|record| record.resent).sum();
        assert!(resent >= outcome.dropped, "{resent} of {}", outcome.dropped);
    }
}

#[test]
fn a_message_that_better_ones_hold_back_is_not_taken_for_lost() {
    // Three messages of 5 MB to one host, all granted. The first has the highest level and fills the link for 5,000
    // packets, 421 us; the others wait in the switch, with a timeout of 100 us.
    let mut sim = homa(4, &[(0, 3, 5_000_000, 0), (1, 3, 5_000_000, 0), (2, 3, 5_000_000, 0)]);
    sim.transport.homa.rtt_bytes = RttBytes::Network;
    sim.transport.homa.overcommitment = Some(3);
    sim.transport.homa.resend_timeout = us(100);
    let (outcome, records) = completed(&sim);
    assert_eq!(
        (outcome.sent, records.iter().map(|r| r.resent + u64::from(r.timeouts)).sum::<u64>()),
        (15_000, 0)
    );
    // The link is never idle: the last one is complete after the time of all packets.
    let last = records.iter().map(|record| record.finish).max();
    assert_eq!(last, Some(Time::from_ps(14_999 * PACKET + DATA + CONTROL)));
}

#[test]
fn what_is_lost_is_requested_when_the_link_was_idle_for_the_timeout() {
    // The first message comes at half the rate of the receiver's link, since its sender has 50 Gbps. The second,
    // longer, loses the packets that are on its sender's link when it fails for 100 ns. Of its 100 packets without a
    // grant the others arrive. From then on half of the time is idle at the receiver: with a timeout of 20 us it
    // requests the lost ones 40 us later, give or take a packet of the first, which still arrives.
    let mut sim = homa(3, &[(0, 2, 2_000_000, 0), (1, 2, 3_000_000, 0)]);
    sim.network.links[0].rate = gbps(50);
    sim.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(100_000));
    sim.transport.homa.resend_timeout = us(20);
    down(&mut sim, 1, 1_500_000, Some(1_600_000));
    let (outcome, records) = completed(&sim);
    let long = usize::from(sim.flows[0].source == 0);
    assert_eq!((records[1 - long].resent, records[long].resent), (0, outcome.lost));
    assert!(outcome.lost > 5);
    let packets = captured(&sim, &[(3, 2), (2, 0)]);
    let of_long = |p: &&PacketRecord| p.flow == Some(long as u32);
    let requests: Vec<_> = packets.iter().filter(of_long).filter(|p| p.kind.name() == "resend").collect();
    assert_eq!(requests.len(), 1);
    let data = packets.iter().filter(of_long).filter(|p| p.kind == PacketKind::Data && p.time < us(30));
    let arrived = data.map(|p| p.time + Time::from_ps(PACKET + 1_000_000)).max().unwrap();
    let waited = (requests[0].time - arrived).ps();
    assert!(waited.abs_diff(40_000_000) <= 2 * PACKET, "{waited}");
}

#[test]
fn equal_messages_are_granted_one_after_another() {
    // Ten messages of 2 MB to one host at 25 Gbps, two of them granted, 88 packets each: RTTbytes are 87.5 KB. The
    // round trip of a full packet and its grant is 4 us and four times 337.28 ns and 20.48 ns in all, in which
    // 14.03 packets pass. So 2 · 88 − 14 = 162 packets wait in the switch. What was sent without a grant has left after
    // 880 packets, 297 us, and the eighth message is complete after 5.4 ms.
    let mut sim = to_one_host(10, 2_000_000, 87_500);
    sim.transport.homa.overcommitment = Some(2);
    sim.probes.ports = vec![(11, 10)];
    sim.probes.port_interval = us(10);
    let (_, kept) = run(&sim);
    let steady = kept.ports.iter().filter(|sample| sample.time > us(400) && sample.time < us(5_000));
    let mut queues: Vec<u64> = steady.map(|sample| sample.queue.get() / 1054).collect();
    queues.sort_unstable();
    // Less only while the next one takes the place of one that is complete.
    let (median, most) = (queues[queues.len() / 2], queues[queues.len() - 1]);
    assert!(queues.len() > 400 && median.abs_diff(162) <= 1 && most <= 163, "{median}, {most}");
}
