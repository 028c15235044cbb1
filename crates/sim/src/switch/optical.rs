//! The optical switch: it passes each bit on as it comes, to the port of the matching that holds, and nothing at
//! night. It reads no packet.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Arrival;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::Kind;
use incast_net::routing::forwarding::Table;

use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;

/// An optical switch.
#[derive(Debug)]
pub(crate) struct OpticalSwitch {
    ports: Vec<Port>,
    /// The delay of the links to it. (ps)
    delay: u64,
    /// Packets that came in the dark and were lost.
    lost: u64,
}

impl OpticalSwitch {
    /// Makes the node with this number.
    pub(crate) fn new(id: NodeId, fabric: &Fabric) -> Self {
        let outs = &fabric.routes.ports[id as usize];
        let delay = outs.first().map_or(0, |out| out.delay.ps());
        Self { ports: outs.iter().map(Port::new).collect(), delay, lost: 0 }
    }
}

impl Behaviour for OpticalSwitch {
    type Facts<'a> = Fabric;

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, fabric: &Fabric, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        let left = now - self.delay;
        let began = left - self.ports[usize::from(port)].time_for(u64::from(packet.size));
        let to = fabric.circuits.as_ref().and_then(|circuits| circuits.passage(port, began, left));
        if let Some(to) = to {
            self.ports[usize::from(to)].pass(now, to, packet, int, effects);
        } else {
            self.lost += 1;
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
        }
    }

    /// It schedules no events.
    #[inline(never)]
    fn handle<E: Effects>(&mut self, _: Event, _: &Fabric, _: &mut E) {}

    /// Does nothing: its output depends on the time alone.
    fn reroute<E: Effects>(&mut self, _: u64, _: Table, _: &Fabric, _: &mut E) {}

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(port))
    }
}

impl Inspect for OpticalSwitch {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port))
    }

    fn violations(&self) -> Vec<String> {
        let lost = (self.lost > 0).then(|| format!("lost {} packets that came in the dark", self.lost));
        lost.into_iter().collect()
    }
}
