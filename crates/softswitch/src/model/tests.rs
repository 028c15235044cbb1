use incast_cc::Fixed;
use incast_net::describe::network::{Change, LinkChange};
use incast_net::describe::switch::{Buffer as Described, Ecn, OwnBuffer, Pfc, Trimming};

use super::*;

const US: u64 = 1_000_000;

/// A frame of this size to a host, whose transport understands marks, with a number in it.
fn packet(to: u16, size: usize, number: u32) -> Vec<u8> {
    let mut frame = vec![0; size];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[15] = 2;
    frame[32..34].copy_from_slice(&to.to_be_bytes());
    frame[34..38].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes([frame[34], frame[35], frame[36], frame[37]])
}

/// A network of these links: two nodes, Mbps, us.
fn network(hosts: u32, links: &[(u32, u32, u64, u64)]) -> Network {
    let mut network = Network::with_hosts(hosts);
    let nodes = links.iter().map(|(a, b, ..)| a.max(b) + 1).max().unwrap();
    for node in hosts..nodes {
        network.add_switch(format!("s{node}"));
    }
    for &(a, b, mbps, us) in links {
        network.add_link(a, b, Rate::from_mbps(mbps), Time::from_us(us));
    }
    network
}

/// The largest packet on Ethernet.
const LARGEST: Bytes = Bytes::new(1514);

/// Two hosts and a third one, around a switch: 100 Mbps, 50 us.
fn star(switch: Switch, ecn: Option<Ecn>) -> Model {
    let network = network(3, &[(0, 3, 100, 50), (1, 3, 100, 50), (2, 3, 100, 50)]);
    let switch = Switch { ecn, ..switch };
    Model::new(&network, &switch, LARGEST, false, 1).unwrap()
}

/// Marks between these lengths, at every rate.
const fn ecn(low: u64, high: u64, pmax: Fixed, at: MarkingPoint) -> Ecn {
    Ecn { kmin: Bytes::new(low), kmax: Bytes::new(high), pmax, reference: None, at }
}

/// A switch with this buffer, without reserves.
fn switch(buffer: Described) -> Switch {
    Switch { buffer, reserve: Bytes::ZERO, ingress_alpha: Fixed::ONE, ..Switch::default() }
}

fn shared(size: u64, egress_alpha: Fixed) -> Switch {
    Switch { egress_alpha, ..switch(Described::Shared(Bytes::new(size))) }
}

fn all(model: &mut Model) -> Vec<(u64, u32, Vec<u8>)> {
    let mut found = Vec::new();
    model.advance(Time::from_s(100), &mut |time, host, frame| found.push((time.ps(), host, frame)));
    found
}

#[test]
fn a_packet_takes_its_transmissions_and_delays() {
    let mut model = star(switch(Described::Unlimited), None);
    model.send(Time::from_us(7), 0, packet(2, 1250, 1));
    model.send(Time::from_us(7), 0, packet(2, 125, 2));
    // 1250 B at 100 Mbps take 100 us, 125 B take 10 us. The second one is sent behind the first on both links.
    let found = all(&mut model);
    let times: Vec<_> = found.iter().map(|(time, host, frame)| (time / US, *host, number(frame))).collect();
    assert_eq!(times, [(7 + 100 + 50 + 100 + 50, 2, 1), (7 + 100 + 50 + 100 + 10 + 50, 2, 2)]);
}

#[test]
fn a_dumbbell_has_three_links_on_the_way() {
    // Hosts 0 and 1, switches 2 and 3, and a slow link between them.
    let links = [(0, 2, 100, 1), (1, 3, 100, 1), (2, 3, 10, 5)];
    let mut model = Model::new(&network(2, &links), &Switch::default(), LARGEST, false, 1).unwrap();
    model.send(Time::ZERO, 0, packet(1, 125, 1));
    model.send(Time::ZERO, 1, packet(0, 125, 2));
    let found = all(&mut model);
    let times: Vec<_> = found.iter().map(|(time, host, _)| (time / US, *host)).collect();
    assert_eq!(times, [(10 + 1 + 100 + 5 + 10 + 1, 1), (10 + 1 + 100 + 5 + 10 + 1, 0)]);
    // To oneself there is no way, and what is no IPv4 packet to a host is ignored.
    model.send(Time::from_s(101), 0, packet(0, 125, 3));
    model.send(Time::from_s(101), 0, packet(9, 125, 3));
    model.send(Time::from_s(101), 0, vec![0; 60]);
    assert_eq!(all(&mut model).len(), 0);
}

/// Results for packets: times at which they leave, with their numbers; those dropped; those marked; the
/// longest queue.
type Fates = (Vec<(u64, u32)>, Vec<u32>, Vec<u32>, u64);

/// The queue of the port to host 2 by Lindley's recursion, with marks on arrival.
fn plain(sent: &[(u64, u32, u64)], limit: u64, above: u64) -> Fates {
    const DELAY: u64 = 50 * US;
    let took = |size: u64| size * 80_000; // ps at 100 Mbps
    let mut free = [0; 2];
    let mut arrivals: Vec<(u64, usize, u64)> = Vec::new();
    for (place, &(time, host, size)) in sent.iter().enumerate() {
        let end = time.max(free[host as usize]) + took(size);
        free[host as usize] = end;
        arrivals.push((end + DELAY, place, size));
    }
    arrivals.sort();
    let (mut left, mut dropped, mut marked, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0);
    // Packets accepted: when their transmission begins, and their size.
    let mut accepted: Vec<(u64, u64)> = Vec::new();
    let mut end = 0;
    for (time, place, size) in arrivals {
        let queued: u64 = accepted.iter().filter(|(begin, _)| *begin > time).map(|(_, size)| size).sum();
        if queued + size > limit {
            dropped.push(place as u32);
            continue;
        }
        if queued > above {
            marked.push(place as u32);
        }
        let begin = time.max(end);
        end = begin + took(size);
        accepted.push((begin, size));
        peak = peak.max(queued + size);
        left.push((end + DELAY, place as u32));
    }
    (left, dropped, marked, peak)
}

#[test]
fn queues_are_those_of_a_plain_model() {
    let mut draws = 12345_u64;
    let mut draw = |below: u64| {
        draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draws >> 33) % below
    };
    for _ in 0..200 {
        let limit = 2_000 + draw(20_000);
        let above = draw(limit);
        let marks = ecn(above, above, Fixed::ZERO, MarkingPoint::Enqueue);
        let mut model = star(switch(Described::PerPort(Bytes::new(limit))), Some(marks));
        let mut sent = Vec::new();
        let mut early = Vec::new();
        let mut time = 1;
        for place in 0..300 {
            // Odd times: no two events fall together, whose order the plain model does not know.
            time += 2 * draw(80 * US);
            sent.push((time, draw(2) as u32, 60 + draw(1_400)));
            let (_, host, size) = sent[place];
            let mut keep = |time: Time, host, frame| early.push((time.ps(), host, frame));
            model.advance(Time::from_ps(time), &mut keep);
            model.send(Time::from_ps(time), host, packet(2, size as usize, place as u32));
        }
        early.append(&mut all(&mut model));
        let found = early;
        let (left, dropped, marked, peak) = plain(&sent, limit, above);
        let times: Vec<_> = found.iter().map(|(time, _, frame)| (*time, number(frame))).collect();
        assert_eq!(times, left);
        let mut seen: Vec<u32> =
            found.iter().filter(|(_, _, frame)| frame[15] == 3).map(|(_, _, frame)| number(frame)).collect();
        seen.sort_unstable();
        let mut marked = marked;
        marked.sort_unstable();
        assert_eq!(seen, marked);
        let totals = model.totals(Time::from_s(100))[5];
        assert_eq!((totals.drops, totals.marked), (dropped.len() as u64, marked.len() as u64));
        assert_eq!((totals.packets, totals.peak), (left.len() as u64, peak));
    }
}

#[test]
fn marks_at_dequeue_count_what_stays() {
    let marks = ecn(250, 250, Fixed::ZERO, MarkingPoint::Dequeue);
    let mut model = star(switch(Described::Unlimited), Some(marks));
    // Ten packets of each sender reach the port in pairs; each pair leaves one more packet of 125 B waiting.
    for place in 0..10 {
        model.send(Time::ZERO, 0, packet(2, 125, place));
        model.send(Time::ZERO, 1, packet(2, 125, 100 + place));
    }
    let found = all(&mut model);
    // When packet n begins to leave, n pairs have come, the next comes at the same time but after it, and n + 1 packets
    // have left: above 250 B stay from the fifth on, until three of twenty are left.
    let marked: Vec<usize> = (0..20).filter(|n| found[*n].2[15] == 3).collect();
    let expected: Vec<usize> = (0..20)
        .filter(|n| {
            let come = 2 * *n.min(&10);
            come > *n + 3
        })
        .collect();
    assert_eq!(marked, expected);
}

#[test]
fn the_red_curve_marks_its_share() {
    let marks = ecn(1_000, 9_000, Fixed::ratio(1, 2), MarkingPoint::Enqueue);
    let mut model = star(switch(Described::Unlimited), Some(marks));
    let share = |model: &mut Model, length| (0..100_000).filter(|_| model.marks(5, length)).count();
    assert_eq!(share(&mut model, 1_000), 0);
    assert_eq!(share(&mut model, 9_000), 100_000);
    // Half way up the curve a quarter: mean 25 000, standard deviation 137; five of them.
    assert!((24_315..=25_685).contains(&share(&mut model, 5_000)));
}

#[test]
fn a_shared_buffer_keeps_the_same_part_free() {
    // With one queue alone it grows to alpha/(1 + alpha) of the buffer: half of 10 000 B.
    let mut model = star(shared(10_000, Fixed::ONE), None);
    for place in 0..40 {
        model.send(Time::ZERO, 0, packet(2, 500, place));
        model.send(Time::ZERO, 1, packet(2, 500, place));
    }
    all(&mut model);
    let totals = model.totals(Time::from_s(100))[5];
    assert!((4_500..=5_000).contains(&totals.peak), "{}", totals.peak);
    assert_eq!(totals.drops + totals.packets, 80);
    assert!(totals.drops > 0);
}

#[test]
fn a_buffer_of_a_port_is_for_its_queue_alone() {
    // 1250 B at 100 Mbps take 100 us, and two senders are twice as fast as the port: a queue of up to 2500 B, to the
    // byte, and one byte less is room for one packet.
    let fates = |limit| {
        let mut model = star(switch(Described::PerPort(Bytes::new(limit))), None);
        for place in 0..4 {
            model.send(Time::ZERO, 0, packet(2, 1250, place));
            model.send(Time::ZERO, 1, packet(2, 1250, 10 + place));
            // The way back has a queue of its own.
            model.send(Time::ZERO, 2, packet(0, 1250, 20 + place));
        }
        all(&mut model);
        let totals = model.totals(Time::from_s(100));
        assert_eq!((totals[1].packets, totals[1].drops), (4, 0));
        (totals[5].packets, totals[5].drops, totals[5].dropped, totals[5].peak)
    };
    // Pairs come at 150, 250, 350 and 450 us. Of the first, one packet leaves at once; then one leaves and two come.
    assert_eq!(fates(2500), (6, 2, 2500, 2500));
    assert_eq!(fates(2499), (5, 3, 3750, 1250));
}

#[test]
fn a_share_of_the_free_buffer_is_a_whole_number_of_bytes() {
    // A third of 3000 B in fixed point is a little less than 1000 B: there is room for 999 B, and not for 1000 B.
    let third = Fixed::ratio(1, 3);
    let drops = |size| {
        let mut model = star(shared(3_000, third), None);
        model.send(Time::ZERO, 0, packet(2, size, 0));
        all(&mut model);
        model.totals(Time::from_s(100))[5].drops
    };
    assert_eq!([999, 1000].map(drops), [0, 1]);
}

#[test]
fn a_switch_has_its_own_buffer_where_one_is_given() {
    // Hosts 0 and 1, switches 2 and 3: only one port of the second one, to host 1, has room for a single packet.
    let network = network(2, &[(0, 2, 100, 50), (2, 3, 100, 50), (3, 1, 50, 50)]);
    let one = Described::PerPort(Bytes::new(1_250));
    let switch = Switch { buffers: vec![OwnBuffer { switches: vec![3], buffer: one }], ..Switch::default() };
    let mut model = Model::new(&network, &switch, LARGEST, false, 1).unwrap();
    for place in 0..4 {
        model.send(Time::ZERO, 0, packet(1, 1250, place));
    }
    // They come every 100 us to a port that takes 200 us for each: the third finds one that leaves at the same time, the
    // fourth one that waits.
    assert_eq!(all(&mut model).len(), 3);
    let drops: Vec<u64> = model.totals(Time::from_s(100)).iter().map(|totals| totals.drops).collect();
    assert_eq!(drops, [0, 0, 0, 0, 1, 0]);
    assert_eq!(model.ports().nth(4), Some((3, 1)));
}

/// Returns the reason why there is no such model.
fn refused(network: &Network, switch: &Switch) -> String {
    Model::new(network, switch, LARGEST, false, 1).unwrap_err().0
}

#[test]
fn what_the_rules_or_the_model_do_not_allow_is_refused() {
    let plain = network(2, &[(0, 2, 100, 50), (1, 2, 100, 50)]);
    let pfc = Pfc { xoff: None, xon_offset: Bytes::ZERO, headroom: Some(Bytes::new(600)), ..Pfc::default() };
    let pausing = |switch| Switch { pfc: Some(pfc), ..switch };
    assert_eq!(
        refused(&plain, &pausing(shared(1_000, Fixed::ONE))),
        "a buffer of 1KB cannot hold 1.2KB of PFC headroom and 0B of reserves"
    );
    assert!(Model::new(&plain, &pausing(shared(1_201, Fixed::ONE)), LARGEST, false, 1).is_ok());
    assert_eq!(
        refused(&plain, &pausing(switch(Described::PerPort(Bytes::new(9_000))))),
        "PFC needs a shared or an unlimited buffer, not one per port"
    );
    let queues = "ports of a switch for real packets have one queue, without BFC and without trimming";
    let trimming = Some(Trimming::default());
    for switch in [Switch { queues: 2, ..Switch::default() }, Switch { trimming, ..Switch::default() }] {
        assert_eq!(refused(&plain, &switch), queues);
    }
    let network_error =
        "a network for real packets has hosts and plain switches, and links that do not change";
    let mut changing = plain.clone();
    changing.changes.push(Change { time: Time::from_us(1), link: 0, what: LinkChange::Down });
    assert_eq!(refused(&changing, &Switch::default()), network_error);
    let mut other = plain;
    other.add_node("s3", NodeKind::Tor);
    assert_eq!(refused(&other, &Switch::default()), network_error);
}

#[test]
fn counting_and_samples_begin_when_they_are_asked_to() {
    let mut model = star(switch(Described::Unlimited), None);
    model.send(Time::ZERO, 0, packet(2, 125, 0));
    let sampling = Sampling {
        ports: vec![5],
        from: Time::from_us(10),
        interval: Time::from_us(100),
        until: Time::from_us(310),
    };
    model.begin(Time::from_ms(1), sampling);
    model.advance(Time::from_ms(1), &mut |_, _, _| {});
    // From two senders at once: at the port at 1160 us, the second of them waits until 1260 us.
    model.send(Time::from_ms(1), 0, packet(2, 1250, 1));
    model.send(Time::from_ms(1), 1, packet(2, 1250, 2));
    all(&mut model);
    let seen: Vec<_> = model
        .samples()
        .iter()
        .map(|s| ((s.time.ps() / US) - 1000, s.port, s.queue, s.totals.transmitted))
        .collect();
    assert_eq!(seen, [(10, 5, 0, 0), (110, 5, 0, 0), (210, 5, 1250, 1250), (310, 5, 0, 2500)]);
    assert_eq!(
        model.totals(Time::from_s(100))[5],
        Totals { transmitted: 2500, packets: 2, peak: 1250, ..Totals::default() }
    );
}

/// A sender of 100 Mbps, a receiver of 10 Mbps, 50 us each; a switch that pauses above 2000 B and resumes 500 B below.
fn slow_receiver(switch: Switch, headroom: u64) -> Model {
    let (xoff, headroom) = (Some(Bytes::new(2_000)), Some(Bytes::new(headroom)));
    let pfc = Some(Pfc { xoff, xon_offset: Bytes::new(500), headroom, ..Pfc::default() });
    let switch = Switch { pfc, ..switch };
    let network = network(2, &[(0, 2, 100, 50), (1, 2, 10, 50)]);
    let mut model = Model::new(&network, &switch, LARGEST, false, 1).unwrap();
    for number in 0..6 {
        model.send(Time::ZERO, 0, packet(1, 1250, number));
    }
    model
}

#[test]
fn a_link_is_paused_and_resumed() {
    // Packets are at the switch from 150 us on, every 100 us, and leave it every 1000 us. The first leaves at once; the
    // second is the first in the account, the third, at 350 us, would make it 2500 B. The pause takes 5.12 us and the
    // delay: at 405.12 us the sender is at its fifth packet, and holds the sixth. At 3150 us the fourth begins to leave,
    // and 1250 B stay, which is more than 500 B below: the resumption arrives at 3205.12 us. The sixth packet is at the
    // switch at 3355.12 us, and makes it 2500 B again: a pause from 3410.24 us on, until the fifth leaves, 4205.12 us.
    let mut model = slow_receiver(switch(Described::Unlimited), 0);
    let found: Vec<_> = all(&mut model).iter().map(|(time, _, frame)| (time / US, number(frame))).collect();
    assert_eq!(found, [(1200, 0), (2200, 1), (3200, 2), (4200, 3), (5200, 4), (6200, 5)]);
    let totals = model.totals(Time::from_s(100));
    assert_eq!((totals[0].paused, totals[0].pauses), (Time::from_ns(2_800_000 + 794_880), 0));
    // Pauses and resumptions are sent on the way back.
    assert_eq!((totals[1].pauses, totals[1].packets, totals[1].transmitted), (2, 4, 256));
    assert_eq!((totals[3].peak, totals[3].drops), (5000, 0));
}

#[test]
fn headroom_takes_what_comes_after_a_pause() {
    // The third, fourth and fifth packet come into the headroom. Where there is none for any, nobody is paused, and all
    // after the second are lost.
    let drops = |headroom| {
        let mut model = slow_receiver(shared(100_000, Fixed::ONE), headroom);
        (all(&mut model).len(), model.totals(Time::from_s(100))[3].drops)
    };
    assert_eq!(drops(3 * 1250), (6, 0));
    assert_eq!(drops(3 * 1250 - 1), (5, 1));
    assert_eq!(drops(1250 - 1), (2, 4));
}

/// A segment with room for a record, and a number in it.
fn request(to: u16, size: usize, number: u32) -> Vec<u8> {
    let mut frame = packet(to, size, number);
    frame[23] = 6;
    frame[46] = 11 << 4;
    frame[54..62].copy_from_slice(&[253, 24, 0x1c, 0xa5, 0x7e, 0x1e, 0, 0]);
    frame
}

/// The record in a segment: how many there are, time, queue, bytes sent, rate.
fn record(frame: &[u8]) -> [u32; 5] {
    let word = |at: usize| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    [u32::from(frame[61]), word(62), word(66), word(70), word(74)]
}

#[test]
fn telemetry_is_what_a_plain_model_has_at_dequeue() {
    // A switch with ports of 100 Mbps, in front of another one, whose port to host 2 has 50 Mbps: its records would be
    // others, but the first port that writes is the one whose record stays.
    let network = network(3, &[(0, 3, 100, 50), (1, 3, 100, 50), (3, 4, 100, 50), (4, 2, 50, 50)]);
    let mut draws = 99_u64;
    let mut draw = |below: u64| {
        draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draws >> 33) % below
    };
    for round in 0..50_u64 {
        let mut model = Model::new(&network, &Switch::default(), LARGEST, true, 1).unwrap();
        // So late that times in ns go beyond 32 bits on the way, in some rounds.
        let mut time = 1 + 4_294_000_000_000 * (round % 5);
        let mut sent = Vec::new();
        let mut found = Vec::new();
        for place in 0..300_u32 {
            // Odd times: no two events fall together.
            time += 2 * draw(60 * US);
            let (host, size) = (draw(2) as u32, 78 + draw(1_400));
            sent.push((time, host, size));
            model.advance(Time::from_ps(time), &mut |_, _, frame| found.push(frame));
            model.send(Time::from_ps(time), host, request(2, size as usize, place));
        }
        // Counting from some time on is no matter of the records.
        model.begin(Time::from_ps(time), Sampling::default());
        model.advance(Time::from_s(100), &mut |_, _, frame| found.push(frame));
        assert_eq!(found.len(), 300);

        // Arrivals at the first switch, in order, and Lindley's recursion of its port: 80 ns for a byte.
        let mut free = [0; 2];
        let mut arrivals: Vec<(u64, u32, u64)> = Vec::new();
        for (place, &(time, host, size)) in (0..).zip(&sent) {
            let end = time.max(free[host as usize]) + size * 80_000;
            free[host as usize] = end;
            arrivals.push((end + 50 * US, place, size));
        }
        arrivals.sort_unstable();
        let (mut end, mut before) = (0, 0);
        let mut expected = vec![[0; 5]; 300];
        let mut longest = 0;
        for (index, &(arrival, place, size)) in arrivals.iter().enumerate() {
            let begin = arrival.max(end);
            end = begin + size * 80_000;
            // What has come until it begins to leave and has not left before it, without itself.
            let waiting: u64 =
                arrivals[index + 1..].iter().take_while(|(at, ..)| *at < begin).map(|(.., size)| size).sum();
            expected[place as usize] = [1, (begin / 1000) as u32, waiting as u32, before as u32, 100_000];
            before += size;
            longest = longest.max(waiting);
        }
        assert!(longest > 3_000);
        for frame in &found {
            assert_eq!(record(frame), expected[number(frame) as usize]);
        }
    }
}

#[test]
fn ports_of_hosts_and_those_that_are_not_asked_to_write_no_telemetry() {
    let mut model = star(switch(Described::Unlimited), None);
    model.send(Time::ZERO, 0, request(2, 1_000, 1));
    assert_eq!(record(&all(&mut model)[0].2), [0; 5]);
}
