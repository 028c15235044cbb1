//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! Each visit adds the queue's quantum to its deficit counter; the queue sends while its first packet
//! is no larger than the counter, and the size of each packet sent is subtracted. The remainder is carried to the
//! next visit, or discarded if the queue is empty. Over any interval in which two queues always have packets,
//! the bytes that they send are in proportion to their quanta, up to one quantum and one packet.
//!
//! A quantum may be smaller than a packet: the queue then accumulates credit over several visits. Visits in which
//! no queue sends are not simulated one by one, so a choice costs O(queues) for any quanta.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use super::schedule::Schedule;
use crate::switch::queues::Queues;

#[derive(Debug)]
pub(crate) struct DeficitRoundRobin {
    quanta: Box<[u64]>,
    /// Bytes that each queue may send beyond the quantum of its next visit.
    deficits: Box<[u64]>,
    /// The queue visited last.
    current: u8,
    /// Whether its visit is not over, so that it may send more.
    visiting: bool,
}

impl DeficitRoundRobin {
    /// Ends the visit. A queue stops when its first packet is larger than its counter; one that was stopped
    /// by a pause carries no more than that over either, or it could accumulate credit without limit.
    fn end_visit(&mut self, queues: &Queues) {
        if self.visiting {
            let deficit = &mut self.deficits[usize::from(self.current)];
            *deficit = (*deficit).min(queues.first_size(self.current).saturating_sub(1));
            self.visiting = false;
        }
    }

    /// Begins the next visit in which the queue sends.
    fn visit_next(&mut self, ready: QueueSet, queues: &Queues) {
        let Self { quanta, deficits, .. } = self;
        // After how many visits the queue can send its first packet.
        let visits = |deficits: &[u64], q: u8| {
            let i = usize::from(q);
            queues.first_size(q).saturating_sub(deficits[i]).div_ceil(quanta[i]).max(1)
        };
        let fewest = ready.iter().map(|q| visits(deficits, q)).min().unwrap_or(1);
        for q in ready.iter() {
            deficits[usize::from(q)] += (fewest - 1) * quanta[usize::from(q)];
        }
        while let Some(next) = ready.after(self.current) {
            self.current = next;
            let i = usize::from(next);
            deficits[i] += quanta[i];
            if queues.first_size(next) <= deficits[i] {
                break;
            }
        }
        self.visiting = true;
    }
}

impl Schedule for DeficitRoundRobin {
    fn new(description: &Description) -> Self {
        let quanta: Box<[u64]> =
            (0..usize::from(description.queues)).map(|q| description.quantum(q).get()).collect();
        Self {
            deficits: vec![0; quanta.len()].into(),
            quanta,
            // So that queue 0 is the first.
            current: description.queues - 1,
            visiting: false,
        }
    }

    fn choose(&mut self, ready: QueueSet, queues: &Queues) -> u8 {
        let affordable = queues.first_size(self.current) <= self.deficits[usize::from(self.current)];
        if !(self.visiting && ready.contains(self.current) && affordable) {
            self.end_visit(queues);
            self.visit_next(ready, queues);
        }
        let size = queues.first_size(self.current);
        let deficit = &mut self.deficits[usize::from(self.current)];
        if queues.length_of(self.current) == size {
            *deficit = 0;
            self.visiting = false;
        } else {
            *deficit -= size;
        }
        self.current
    }

    fn passed(&mut self, queue: u8, queues: &Queues) {
        self.end_visit(queues);
        self.current = queue;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::describe::switch::Scheduler;
    use incast_net::packet::{IntRecords, Kind, Packet};
    use incast_net::random::draw;
    use incast_units::Bytes;

    fn drr(quanta: &[u64]) -> DeficitRoundRobin {
        DeficitRoundRobin::new(&Description {
            queues: quanta.len() as u8,
            scheduler: Scheduler::Drr,
            quanta: quanta.iter().map(|q| Bytes::new(*q)).collect(),
            ..Description::default()
        })
    }

    fn queues(sizes: &[&[u16]]) -> Queues {
        let mut queues = Queues::new(sizes.len() as u8);
        for (q, sizes) in sizes.iter().enumerate() {
            for &size in *sizes {
                queues.push(q as u8, &packet(size), &IntRecords::default());
            }
        }
        queues
    }

    fn packet(size: u16) -> Packet {
        Packet { size, ..Packet::blank(Kind::Data) }
    }

    /// Serves until all is sent; the order as (queue, size).
    fn serve(drr: &mut DeficitRoundRobin, queues: &mut Queues) -> Vec<(u8, u16)> {
        let mut order = Vec::new();
        while !queues.waiting().is_empty() {
            let queue = drr.choose(queues.waiting(), queues);
            let packet = queues.pop(queue, &mut IntRecords::default()).unwrap();
            order.push((queue, packet.size));
        }
        order
    }

    #[test]
    fn deficits_are_carried_and_lost_when_a_queue_is_empty() {
        // Quantum 500. Round 1: queue 0 has 500, sends 200, has 300 < 750: carried. Queue 1 sends 500,
        // has 0. Queue 2 sends 200 and 100 and is empty: 200 are lost.
        // Round 2: queue 0 has 800, sends 750, has 50 < 20? no: sends 20 too and is empty. Queue 1 has
        // 500 and cannot send 600. Round 3: queue 1 has 1000, sends 600 and is empty.
        let mut queues = queues(&[&[200, 750, 20], &[500, 600], &[200, 100]]);
        let order = serve(&mut drr(&[500; 3]), &mut queues);
        assert_eq!(order, [(0, 200), (1, 500), (2, 200), (2, 100), (0, 750), (0, 20), (1, 600)]);
    }

    #[test]
    fn bytes_are_shared_by_quanta_whatever_the_packets() {
        // Quanta 3000 and 1000; packets of 1500 against 64: after k rounds queue q has sent more than
        // k times its quantum less one packet, and no more than k times its quantum.
        let mut queues = queues(&[&[1500; 400], &[64; 4000]]);
        let mut drr = drr(&[3000, 1000]);
        let (mut sent, mut rounds, mut last) = ([0_u64; 2], 0_u64, 1);
        while queues.waiting().iter().count() == 2 {
            let queue = drr.choose(queues.waiting(), &queues);
            if queue == 0 && last == 1 {
                for (sent, (quantum, packet)) in sent.iter().zip([(3000, 1500), (1000, 64)]) {
                    assert!((rounds * quantum).saturating_sub(packet) <= *sent && *sent <= rounds * quantum);
                }
                rounds += 1;
            }
            last = queue;
            sent[usize::from(queue)] += u64::from(queues.pop(queue, &mut Default::default()).unwrap().size);
        }
        assert!(rounds >= 199, "{rounds}");
    }

    #[test]
    fn every_97th_visit_sends_two_where_42_bytes_are_left() {
        // Quantum 4096, packets of 4054 B: what is carried grows by 42 a visit. 97 · 42 = 4074 is enough for a second
        // packet, and leaves 20; 97 visits later 20 + 4074 leave 40; then 96 are enough, since 40 + 4032 = 4072.
        let mut queues = queues(&[&[4054; 400], &[4054; 400]]);
        let order = serve(&mut drr(&[4096; 2]), &mut queues);
        let visits: Vec<_> = order.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
        // Each second visit is one of queue 0, as both have packets until the end.
        let doubled =
            visits.iter().step_by(2).zip(1..).filter(|(sent, _)| **sent == 2).map(|(_, visit)| visit);
        assert_eq!(doubled.collect::<Vec<_>>(), [97, 194, 290, 387]);
        assert!(visits.iter().all(|sent| *sent <= 2));
    }

    #[test]
    fn queues_with_large_and_small_packets_share_within_a_quantum() {
        // 4054 B against 1054 B, quanta of 4096 B: whenever both have had as many visits, they have sent the same
        // up to less than a quantum.
        let mut queues = queues(&[&[4054; 300], &[1054; 1200]]);
        let mut drr = drr(&[4096; 2]);
        let (mut sent, mut last, mut most) = ([0_u64; 2], 1, 0);
        while queues.waiting().iter().count() == 2 {
            let queue = drr.choose(queues.waiting(), &queues);
            if queue == 0 && last == 1 {
                most = most.max(sent[0].abs_diff(sent[1]));
            }
            last = queue;
            sent[usize::from(queue)] += u64::from(queues.pop(queue, &mut Default::default()).unwrap().size);
        }
        assert!(sent[0] > 1_000_000 && most < 4096, "{sent:?}, {most}");
    }

    #[test]
    fn a_quantum_below_the_packet_takes_turns_without_sending() {
        // 4096 against 4150 B: nobody sends in the first visits, and one packet each in later ones, but in those in
        // which less than 54 B were carried; the other queue never sends twice in a row meanwhile.
        let mut queues = queues(&[&[4150; 200], &[4150; 200]]);
        let order = serve(&mut drr(&[4096; 2]), &mut queues);
        let expected: Vec<_> = (0..200).flat_map(|_| [(0, 4150), (1, 4150)]).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn a_paused_queue_does_not_save_up() {
        // Queue 0 may send 3000 but is paused after its first packet of 1000, 10 times. It carries less
        // than one packet (999) each time, so its visit never reaches beyond 3999 B: three packets.
        let mut queues = queues(&[&[1000; 40], &[1000; 40]]);
        let mut drr = drr(&[3000, 1000]);
        let only_1 = {
            let mut set = QueueSet::default();
            set.insert(1);
            set
        };
        let mut take = |drr: &mut DeficitRoundRobin, ready: QueueSet| {
            let queue = drr.choose(ready, &queues);
            queues.pop(queue, &mut IntRecords::default()).unwrap();
            queue
        };
        let mut both = only_1;
        both.insert(0);
        for _ in 0..10 {
            assert_eq!(take(&mut drr, both), 0);
            assert_eq!(take(&mut drr, only_1), 1);
        }
        let order: Vec<_> = (0..8).map(|_| take(&mut drr, both)).collect();
        assert_eq!(order, [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    /// As the paper writes it, visit by visit.
    fn plain(quanta: &[u64], mut lines: Vec<Vec<u16>>) -> Vec<(u8, u16)> {
        let mut deficits = vec![0; quanta.len()];
        let mut order = Vec::new();
        while lines.iter().any(|l| !l.is_empty()) {
            for (q, line) in lines.iter_mut().enumerate() {
                if line.is_empty() {
                    continue;
                }
                deficits[q] += quanta[q];
                while !line.is_empty() && u64::from(line[0]) <= deficits[q] {
                    deficits[q] -= u64::from(line[0]);
                    order.push((q as u8, line.remove(0)));
                }
                if line.is_empty() {
                    deficits[q] = 0;
                }
            }
        }
        order
    }

    #[test]
    fn equal_to_the_plain_algorithm_with_quanta_from_one_byte_on() {
        for case in 0..300 {
            let random = |stream: u64, i: u64| draw(1000 * case + stream, i);
            let n = 1 + random(0, 0) % 5;
            let quanta: Vec<u64> =
                (0..n).map(|q| 1 + random(1, q) % [3, 700, 5000][q as usize % 3]).collect();
            let lines: Vec<Vec<u16>> = (0..n)
                .map(|q| (0..random(2, q) % 12).map(|i| 64 + (random(10 + q, i) % 1437) as u16).collect())
                .collect();
            let slices: Vec<&[u16]> = lines.iter().map(Vec::as_slice).collect();
            let order = serve(&mut drr(&quanta), &mut queues(&slices));
            assert_eq!(order, plain(&quanta, lines), "case {case}");
        }
    }
}
