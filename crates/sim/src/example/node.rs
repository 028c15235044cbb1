//! A kind of node: a repeater with two ports, which forwards packets from one port to the other
//! immediately, bit by bit.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Arrival;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::routing::forwarding::Table;

use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;

/// A repeater.
#[derive(Debug)]
pub(crate) struct Repeater {
    ports: [Port; 2],
}

impl Repeater {
    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its links do not suit it: what to say.
    pub(crate) fn new(id: NodeId, fabric: &Fabric) -> Result<Self, String> {
        match fabric.routes.ports[id as usize].as_slice() {
            [a, b] if a.rate == b.rate => Ok(Self { ports: [Port::new(a), Port::new(b)] }),
            [a, b] => Err(format!("a repeater joins links of one rate, not {} and {}", a.rate, b.rate)),
            links => Err(format!("a repeater joins two links, not {}", links.len())),
        }
    }
}

impl Behaviour for Repeater {
    type Facts<'a> = Fabric;

    fn arrive<E: Effects>(&mut self, arrival: Arrival, _: &Fabric, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        let to = 1 - port;
        self.ports[usize::from(to)].pass(now, to, packet, int, effects);
    }

    /// It schedules no events.
    fn handle<E: Effects>(&mut self, _: Event, _: &Fabric, _: &mut E) {}

    /// There is only one other port, whatever the table says.
    fn reroute<E: Effects>(&mut self, _: u64, _: Table, _: &Fabric, _: &mut E) {}

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(port))
    }
}

impl Inspect for Repeater {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port))
    }
}

#[cfg(test)]
mod tests {
    use incast_units::{Bytes, Rate, Time};

    use crate::example::transport::tests::{Finished, star};
    use crate::run;
    use incast_net::describe::Simulation;
    use incast_net::describe::network::{Network, NodeKind};

    /// The star of two hosts at `rate`, with a repeater 3 us from the first host and 2 us from the switch.
    fn with_repeater(size: u64, [near, far]: [Rate; 2]) -> Simulation {
        let mut network = Network::with_hosts(2);
        let switch = network.add_switch("s0");
        let repeater = network.add_node("r0", NodeKind::Repeater);
        network.add_link(0, repeater, near, Time::from_us(3));
        network.add_link(repeater, switch, far, Time::from_us(2));
        network.add_link(switch, 1, far, Time::from_us(1));
        Simulation { network, ..star(size) }
    }

    #[test]
    fn a_repeater_adds_delay_and_no_store() {
        let rate = Rate::from_gbps(100);
        let mut finished = Finished::default();
        let outcome = run(&with_repeater(1000, [rate; 2]), &mut finished).unwrap();
        // One packet of 1054 B, stored once by the switch, and its acknowledgement of 64 B: at 80 ps a byte
        // 2 * (84.32 + 5.12 ns), and 6 us each way.
        let expected = Time::from_ps(2 * (1054 + 64) * 80) + Time::from_us(12);
        let flow = finished.0[0];
        assert_eq!((flow.finish, flow.ideal, flow.base_rtt), (expected, expected, expected));
        // Both ports of the repeater, node 3, counted what they passed on.
        let passed: Vec<Bytes> =
            outcome.ports.iter().filter(|p| p.node == 3).map(|p| p.transmitted).collect();
        assert_eq!(passed, [Bytes::new(64), Bytes::new(1054)]);
        assert_eq!(outcome.violations, [""; 0]);
    }

    #[test]
    fn the_largest_round_trip_passes_it_without_a_store() {
        let simulation = with_repeater(1000, [Rate::from_gbps(100); 2]);
        let routes = incast_net::routing::route::Routes::new(&simulation.network).unwrap();
        let expected = Time::from_ps(2 * (1054 + 64) * 80) + Time::from_us(12);
        assert_eq!(routes.largest_round_trip(1054, 64), expected);
    }

    #[test]
    fn both_engines_and_all_threads_agree() {
        let mut simulation = with_repeater(100_000, [Rate::from_gbps(100); 2]);
        let plain = crate::run_reference(&simulation, &mut Finished::default()).unwrap();
        for threads in 1..=4 {
            simulation.threads = threads;
            assert_eq!(run(&simulation, &mut Finished::default()).unwrap(), plain);
        }
    }

    #[test]
    fn links_of_two_rates_are_refused() {
        let simulation = with_repeater(1000, [100, 50].map(Rate::from_gbps));
        let error = run(&simulation, &mut Finished::default()).unwrap_err();
        assert_eq!(error.to_string(), "r0: a repeater joins links of one rate, not 100Gbps and 50Gbps");
    }
}
