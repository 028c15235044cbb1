//! Adaptive routing: a random one of the ports with the shortest queues, where lengths count in four classes.
//!
//! As the public UEC simulator does it: packets below 100 B are routed by their hash, and the class of a port
//! is looked up again after an interval at the earliest.

use std::collections::BTreeMap;

use incast_net::describe::balancing::Settings;
use incast_net::describe::network::PortId;
use incast_net::packet::Packet;
use incast_units::Bytes;

use super::policy::{Lengths, PerHop};
use super::random::one_of;
use crate::relative::State;

/// Packets below this size go by their hash. (B)
const SMALLEST: u16 = 100;

#[derive(Debug)]
pub(super) struct Adaptive {
    stream: u64,
    thresholds: [u64; 3],
    /// (ps)
    interval: u64,
    /// The class of each port, and until when it is not looked up again. (ps)
    classes: BTreeMap<PortId, (usize, u64)>,
    /// Scratch for the ports of the best class.
    best: Vec<PortId>,
}

impl Adaptive {
    pub(super) fn new(settings: &Settings, stream: u64) -> Self {
        Self {
            stream,
            thresholds: settings.thresholds.map(Bytes::get),
            interval: settings.interval.ps(),
            classes: BTreeMap::new(),
            best: Vec::new(),
        }
    }

    /// The class of a queue of this length: 0 below the first threshold.
    fn class(&self, length: u64) -> usize {
        self.thresholds.iter().filter(|threshold| length >= **threshold).count()
    }

    /// The ports of the best class.
    fn best(&mut self, now: u64, group: &[PortId], length: impl Fn(PortId) -> u64) -> &[PortId] {
        let mut lowest = usize::MAX;
        self.best.clear();
        for &port in group {
            let known = self.classes.get(&port).filter(|(_, until)| now < *until);
            let class = if let Some((class, _)) = known {
                *class
            } else {
                let class = self.class(length(port));
                self.classes.insert(port, (class, now.saturating_add(self.interval)));
                class
            };
            if class < lowest {
                lowest = class;
                self.best.clear();
            }
            if class == lowest {
                self.best.push(port);
            }
        }
        &self.best
    }
}

impl PerHop for Adaptive {
    fn choose(
        &mut self,
        now: u64,
        packet: &Packet,
        group: &[PortId],
        queues: &dyn Lengths,
    ) -> Option<PortId> {
        if packet.size < SMALLEST {
            return None;
        }
        let stream = self.stream;
        let best = self.best(now, group, |port| queues.length(port));
        Some(one_of(best, stream, packet))
    }

    fn relate(&self, state: &mut State) {
        let Self { stream: _, thresholds: _, interval: _, classes, best: _ } = self;
        // A class counts until it is looked up again.
        let now = state.now;
        for (port, (class, until)) in classes.iter().filter(|(_, (_, until))| *until > now) {
            state.word("port", *port);
            state.word("class", *class as u64);
            state.instant("end of the class", *until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_800_kb_by_hand() {
        // 5, 10 and 20 % of 800 KB.
        let adaptive = Adaptive::new(&Settings::default(), 0);
        let classes = [0, 39_999, 40_000, 79_999, 80_000, 159_999, 160_000, 800_000];
        assert_eq!(classes.map(|length| adaptive.class(length)), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn the_best_class_counts_and_is_kept_for_the_interval() {
        let mut adaptive = Adaptive::new(&Settings::default(), 0);
        let lengths = |port: PortId| [50_000, 10_000, 39_000, 90_000][usize::from(port)];
        assert_eq!(adaptive.best(0, &[0, 1, 2, 3], lengths), [1, 2]);
        assert_eq!(adaptive.best(0, &[0, 3], lengths), [0]);
        // Port 1 has filled up; that shows after 100 ns.
        let later = |port: PortId| [50_000, 100_000, 39_000, 90_000][usize::from(port)];
        assert_eq!(adaptive.best(99_999, &[0, 1], later), [1]);
        assert_eq!(adaptive.best(100_000, &[0, 1], later), [0]);
    }
}
