//! The optical switch: it passes each bit on as it comes, to the port of the matching that holds, and nothing at
//! night. It reads no packet.

use crate::describe::Simulation;
use crate::describe::network::{NodeId, PortId};
use crate::engine::event::{Effects, Event};
use crate::engine::node::Behaviour;
use crate::engine::world::World;
use crate::forwarding::Table;
use crate::packet::{IntRecords, Kind, Packet};
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

impl Behaviour for OpticalSwitch {
    const STORES: bool = false;

    fn new(id: NodeId, world: &World, _: &Simulation) -> Result<Self, String> {
        let outs = &world.routes.ports[id as usize];
        let delay = outs.first().map_or(0, |out| out.delay.ps());
        Ok(Self { ports: outs.iter().map(Port::new).collect(), delay, lost: 0 })
    }

    #[inline(never)]
    fn arrive<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut E,
    ) {
        let left = now - self.delay;
        let began = left - self.ports[usize::from(port)].time_for(u64::from(packet.size));
        let to = world.circuits.as_ref().and_then(|circuits| circuits.passage(port, began, left));
        if let Some(to) = to {
            self.ports[usize::from(to)].pass(now, to, packet, int, effects);
        } else {
            self.lost += 1;
            effects.tally().lost += u64::from(packet.kind == Kind::Data);
        }
    }

    /// It schedules no events.
    #[inline(never)]
    fn handle<E: Effects>(&mut self, _: Event, _: &World, _: &mut E) {}

    /// Does nothing: its output depends on the time alone.
    fn reroute<E: Effects>(&mut self, _: u64, _: Table, _: &World, _: &mut E) {}

    fn wire(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port))
    }

    fn wire_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(port))
    }

    fn violations(&self, _: u64) -> Vec<String> {
        let lost = (self.lost > 0).then(|| format!("lost {} packets that came in the dark", self.lost));
        lost.into_iter().collect()
    }
}
