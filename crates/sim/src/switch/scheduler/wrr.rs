//! Weighted round robin by packets: each queue in turn sends as many packets as its weight, or until it is empty.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use super::schedule::Schedule;
use crate::switch::queues::Queues;

#[derive(Debug)]
pub(crate) struct WeightedRoundRobin {
    weights: Box<[u32]>,
    /// The queue served last.
    current: u8,
    /// Number of packets that it may still send in its turn.
    left: u32,
}

impl WeightedRoundRobin {
    /// The queue sends a packet.
    fn serve(&mut self, queue: u8) {
        let another = queue != self.current || self.left == 0;
        self.left = if another { self.weights[usize::from(queue)] } else { self.left } - 1;
        self.current = queue;
    }
}

impl Schedule for WeightedRoundRobin {
    fn new(description: &Description) -> Self {
        Self {
            weights: (0..usize::from(description.queues)).map(|q| description.weight(q)).collect(),
            // So that queue 0 is the first.
            current: description.queues - 1,
            left: 0,
        }
    }

    fn choose(&mut self, ready: QueueSet, _: &Queues) -> u8 {
        let stays = self.left > 0 && ready.contains(self.current);
        let next = if stays { self.current } else { ready.after(self.current).unwrap_or(self.current) };
        if !stays {
            // A turn that an empty or paused queue could not use is over.
            self.left = 0;
        }
        self.serve(next);
        next
    }

    fn passed(&mut self, queue: u8, _: &Queues) {
        self.serve(queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::describe::switch::Scheduler;
    use incast_net::packet::{IntRecords, Kind, Packet};

    /// Serves queues with these numbers of packets and returns the order.
    fn order(weights: &[u32], packets: &[usize]) -> Vec<u8> {
        let mut scheduler = WeightedRoundRobin::new(&Description {
            queues: packets.len() as u8,
            scheduler: Scheduler::Wrr,
            weights: weights.to_vec(),
            ..Description::default()
        });
        let mut queues = Queues::new(packets.len() as u8);
        for (queue, count) in packets.iter().enumerate() {
            for _ in 0..*count {
                let packet = Packet { size: 100, ..Packet::blank(Kind::Data) };
                queues.push(queue as u8, &packet, &IntRecords::default());
            }
        }
        let mut order = Vec::new();
        while !queues.waiting().is_empty() {
            let queue = scheduler.choose(queues.waiting(), &queues);
            queues.pop(queue, &mut IntRecords::default()).unwrap();
            order.push(queue);
        }
        order
    }

    #[test]
    fn each_queue_sends_its_weight_in_packets() {
        assert_eq!(order(&[2, 1, 3], &[5, 3, 7]), [0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2, 0, 1, 2]);
        // Without weights it is round robin.
        assert_eq!(order(&[], &[2, 3]), [0, 1, 0, 1, 1]);
        // A queue that is empty loses the rest of its turn.
        assert_eq!(order(&[3, 1], &[1, 3]), [0, 1, 1, 1]);
    }
}
