//! The longest way between two ends, of all equally short ones.

use std::collections::BTreeMap;

use incast_units::{Bytes, Rate, Time};

use super::route::{Ends, Routes, Sizes};
use crate::describe::flow::Flow;
use crate::describe::network::NodeId;

/// The longest time over some ways, and the highest rate at which one of them takes packets.
type Longest = (Time, Rate);

impl Routes {
    /// Returns the bandwidth-delay product between the ends of a flow, rounded down to bytes: the rate of the path × the
    /// time of a full data packet to its destination and an acknowledgement back.
    #[must_use]
    pub fn pair_bytes(&self, flow: &Flow, sizes: &Sizes) -> Bytes {
        let [source_card, destination_card] = flow.cards;
        let ends = |from, by, to, card| Ends { from, by, to: self.address(to, card) };
        let forth = ends(flow.source, source_card, flow.destination, destination_card);
        let back = ends(flow.destination, destination_card, flow.source, source_card);
        let (there, rate) = self.longest(forth, sizes.data(sizes.payload));
        rate.bytes_in(there + self.longest(back, sizes.ack).0)
    }

    /// Returns the longest time of a packet of `size` bytes between two ends over idle links, and the rate of the
    /// path, which is the smallest one of its links. Of several equally short paths the largest of either counts;
    /// links are those at the beginning.
    #[must_use]
    pub fn longest(&self, ends: Ends, size: u64) -> (Time, Rate) {
        self.longest_from(ends.from, ends, size, &mut BTreeMap::new())
    }

    fn longest_from(
        &self,
        node: NodeId,
        ends: Ends,
        size: u64,
        known: &mut BTreeMap<NodeId, Longest>,
    ) -> Longest {
        if node == self.host_of(ends.to) {
            return (Time::ZERO, Rate::from_bps(u64::MAX));
        }
        if let Some(longest) = known.get(&node) {
            return *longest;
        }
        let own = ends.by.as_ref().filter(|_| node == ends.from);
        let ports = own.map_or_else(|| self.next_ports(&self.tables, node, ends.to), std::slice::from_ref);
        let mut longest = (Time::ZERO, Rate::ZERO);
        for port in ports {
            let out = self.ports[node as usize][usize::from(*port)];
            let (mut time, mut rate) = self.longest_from(out.node, ends, size, known);
            time += out.delay;
            // A node that does not store a packet sends it at the rate at which it comes.
            if self.stores(node) {
                time += out.rate.time_for(Bytes::new(size));
                rate = rate.min(out.rate);
            }
            longest = (longest.0.max(time), longest.1.max(rate));
        }
        known.insert(node, longest);
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::network::Network;

    #[test]
    fn the_longest_of_equal_paths_by_hand() {
        // h0 and h1 at one leaf, h2 at another; two spines, of which the second is far and fast.
        let mut network = Network::with_hosts(3);
        let [l0, l1] = ["l0", "l1"].map(|name| network.add_switch(name));
        let [near, far] = ["near", "far"].map(|name| network.add_switch(name));
        let gbps = Rate::from_gbps;
        network.add_link(0, l0, gbps(100), Time::from_us(1));
        network.add_link(1, l0, gbps(25), Time::from_us(2));
        network.add_link(2, l1, gbps(100), Time::from_us(1));
        for (spine, rate, delay) in [(near, 10, 3), (far, 50, 4)] {
            network.add_link(l0, spine, gbps(rate), Time::from_us(delay));
            network.add_link(spine, l1, gbps(rate), Time::from_us(delay));
        }
        let routes = Routes::new(&network).unwrap();
        let longest = |from, to, size| routes.longest((from, to).into(), size);
        // 1000 B take 80 ns at 100 Gbps, 320 at 25.
        let in_rack = Time::from_us(3) + Time::from_ns(400);
        assert_eq!([longest(0, 1, 1000), longest(1, 0, 1000)], [(in_rack, gbps(25)); 2]);
        // By the near spine 1 + 3 + 3 + 1 us, 80 ns twice and 800 ns twice: 9.76 us; by the far one 10 us, 80 ns
        // twice and 160 ns twice, at 50 Gbps. Of 10,000 B it is the near one: 8 us and 17.6, beside 10 and 4.8.
        assert_eq!(longest(0, 2, 1000), (Time::from_us(10) + Time::from_ns(480), gbps(50)));
        assert_eq!(longest(0, 2, 10_000), (Time::from_us(25) + Time::from_ns(600), gbps(50)));
        assert_eq!(longest(1, 2, 1000), (Time::from_us(11) + Time::from_ns(720), gbps(25)));
        // The largest of the network is the largest of its pairs: from h1 to h2 and back.
        let back = longest(2, 1, 100).0;
        assert_eq!(routes.largest_round_trip(1000, 100), longest(1, 2, 1000).0 + back);
    }

    #[test]
    fn cards_have_paths_of_their_own() {
        let mut network = Network::with_hosts(2);
        let [r0, r1] = ["r0", "r1"].map(|name| network.add_switch(name));
        for host in 0..2 {
            network.add_link(host, r0, Rate::from_gbps(100), Time::from_us(1));
            network.add_link(host, r1, Rate::from_gbps(50), Time::from_us(3));
        }
        let routes = Routes::to_cards(&network, true).unwrap();
        for (card, expected) in [
            (0, (Time::from_us(2) + Time::from_ns(160), Rate::from_gbps(100))),
            (1, (Time::from_us(6) + Time::from_ns(320), Rate::from_gbps(50))),
        ] {
            let ends = Ends { from: 0, by: Some(card), to: routes.address(1, Some(card)) };
            assert_eq!(routes.longest(ends, 1000), expected);
        }
    }
}
