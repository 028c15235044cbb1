//! The switch of a rack (ToR) in a network with circuits. Packets for hosts of its rack are handled as in any
//! switch; packets for other racks wait in one virtual output queue (VOQ) for each rack. In the day of a pair
//! its VOQ is served by the circuit alone, at all other times by the uplink to the packet network, which
//! serves VOQs in turn.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Arrival;
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::{Kind, flag};
use incast_net::queue_set::QueueSet;
use incast_net::routing::forwarding::Table;
use incast_net::rules::{Admission, Buffer};

use super::queues::Queues;
use super::scheduler::State as Scheduler;
use super::telemetry::{Hop, stamp};
use super::{Egress, Fields, Switch};
use crate::facts::circuits::{Circuits, Rack};
use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;
use crate::rank;

/// A ToR.
#[derive(Debug)]
pub(crate) struct Tor {
    /// The ports to hosts, with their queues; the buffer; and the wires of the other two ports.
    switch: Switch,
    rack: Rack,
    uplink: PortId,
    circuit: PortId,
    /// One for each rack; its own stays empty.
    voqs: Box<[Voq]>,
    /// The VOQs that hold a packet.
    waiting: QueueSet,
    /// Bytes in all VOQs.
    held: u64,
    /// The VOQ that the uplink served last.
    served: Rack,
    /// The rack to which the circuit leads, and until when; `None` at night. (ps)
    today: Option<(Rack, u64)>,
}

/// The packets for one rack.
#[derive(Debug)]
struct Voq {
    queues: Queues,
    scheduler: Scheduler,
}

impl Tor {
    fn at(&mut self, port: PortId) -> &mut Egress {
        &mut self.switch.ports[usize::from(port)]
    }

    /// Bytes in the VOQ that the circuit serves.
    fn on_circuit(&self) -> u64 {
        self.today.map_or(0, |(rack, _)| self.voqs[usize::from(rack)].queues.length())
    }

    /// Bytes in the VOQs that one of the two ports to other racks serves.
    fn backlog(&self, port: PortId) -> u64 {
        if port == self.circuit { self.on_circuit() } else { self.held - self.on_circuit() }
    }

    /// The port that serves a VOQ.
    fn port_to(&self, rack: Rack) -> PortId {
        if self.today.is_some_and(|(today, _)| today == rack) { self.circuit } else { self.uplink }
    }

    /// A day begins or ends.
    fn turn<E: Effects>(&mut self, now: u64, circuits: &Circuits, effects: &mut E) {
        self.today = circuits.day(now).map(|day| (circuits.peer(self.rack, day), day.end));
        effects.schedule(Event::new(circuits.next_change(now), rank::CIRCUIT, 0));
        for port in [self.uplink, self.circuit] {
            let backlog = self.backlog(port);
            let wire = &mut self.at(port).wire;
            wire.peak = wire.peak.max(backlog);
        }
        self.serve(now, self.circuit, circuits, effects);
        self.serve(now, self.uplink, circuits, effects);
    }

    /// Begins to send the next packet of a port to other racks, or has itself called when that is possible.
    fn serve<E: Effects>(&mut self, now: u64, port: PortId, circuits: &Circuits, effects: &mut E) {
        let Some(rack) = self.next(port) else { return };
        if self.at(port).wire.is_busy(now) {
            return self.at(port).wire.request_departure(port, effects);
        }
        if port == self.uplink {
            self.served = rack;
        } else if !self.fits(now, rack) {
            return;
        }
        self.send(now, rack, port, circuits, effects);
        if self.next(port).is_some() {
            self.at(port).wire.request_departure(port, effects);
        }
    }

    /// The VOQ that a port serves next.
    fn next(&self, port: PortId) -> Option<Rack> {
        let today = self.today.map(|(rack, _)| rack);
        if port == self.circuit {
            return today.filter(|rack| self.waiting.contains(*rack));
        }
        let mut ready = self.waiting;
        today.into_iter().for_each(|rack| ready.remove(rack));
        ready.after(self.served)
    }

    /// Whether the next packet of a VOQ leaves by the circuit before the day ends, whichever of its queues is next.
    fn fits(&self, now: u64, rack: Rack) -> bool {
        let queues = &self.voqs[usize::from(rack)].queues;
        let longest = queues.waiting().iter().map(|queue| queues.first_size(queue)).max().unwrap_or(0);
        let wire = &self.switch.ports[usize::from(self.circuit)].wire;
        self.today.is_some_and(|(_, end)| now + wire.time_for(longest) <= end)
    }

    /// Begins to send the next packet of a VOQ on an idle port.
    fn send<E: Effects>(&mut self, now: u64, rack: Rack, port: PortId, circuits: &Circuits, effects: &mut E) {
        let Voq { queues, scheduler } = &mut self.voqs[usize::from(rack)];
        let queue = scheduler.choose(queues.waiting(), queues);
        let Some(mut packet) = queues.pop(queue, &mut self.switch.int) else { return };
        let length = queues.length_of(queue);
        if queues.waiting().is_empty() {
            self.waiting.remove(rack);
        }
        let size = u64::from(packet.size);
        self.held -= size;
        let queued = self.backlog(port);
        let Switch { ports, buffer, int, fields, .. } = &mut self.switch;
        let egress = &mut ports[usize::from(port)];
        if packet.kind == Kind::Data {
            if circuits.is_announced(now, self.rack, rack) {
                packet.flags |= flag::CIRCUIT;
            }
            if fields.marks {
                egress.mark_at(port, length, &mut packet, fields.stream);
            }
            let hop = Hop { now, queued, transmitted: egress.wire.transmitted, rate: egress.rate };
            stamp(&mut packet, int, fields.telemetry, &hop);
        }
        egress.wire.send(now, port, &mut packet, int, effects);
        // Without PFC the ingress does not matter, and nobody is resumed.
        buffer.release(0, size);
    }
}

impl Tor {
    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    pub(crate) fn new(id: NodeId, fabric: &Fabric, simulation: &Simulation) -> Result<Self, String> {
        let circuits = fabric.circuits.as_ref().ok_or("a ToR without circuits")?;
        let rack = circuits.rack(id).ok_or("a ToR without a circuit")?;
        let outs = &fabric.routes.ports[id as usize];
        let hosts = simulation.network.hosts;
        let optical = |node| fabric.routes.off == Some(node);
        let port = |is: &dyn Fn(NodeId) -> bool| {
            outs.iter().position(|out| out.node >= hosts && is(out.node)).map(|port| port as PortId)
        };
        let circuit = port(&optical).ok_or("a ToR without a circuit")?;
        let uplink = port(&|node| !optical(node)).ok_or("a ToR without an uplink")?;
        let description = &simulation.switch;
        let mut switch = Switch::new(id, fabric, simulation)?;
        // A limit for each port is one for each VOQ too.
        let mut queued = fabric.routes.largest_ports(id);
        queued.extend(vec![outs[usize::from(uplink)]; circuits.count()]);
        switch.buffer = Buffer::new(description, id, &queued, fabric.largest_packet)?;
        let voq = |_| Voq { queues: Queues::new(description.queues), scheduler: Scheduler::new(description) };
        Ok(Self {
            switch,
            rack,
            uplink,
            circuit,
            voqs: (0..circuits.count()).map(voq).collect(),
            waiting: QueueSet::default(),
            held: 0,
            served: rack,
            today: None,
        })
    }
}

impl Behaviour for Tor {
    type Facts<'a> = Fabric;

    fn first_events(&self, _: &Fabric) -> Vec<Event> {
        vec![Event::new(0, rank::CIRCUIT, 0)]
    }

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, fabric: &Fabric, effects: &mut E) {
        let Some(circuits) = &fabric.circuits else { return };
        let Arrival { now, port, packet, int } = arrival;
        let rack = circuits.rack_of(packet.destination);
        if rack == self.rack {
            return self.switch.arrive_at_any(now, port, packet, int, fabric, effects);
        }
        let queue = packet.queue.min(self.switch.queues - 1);
        let size = u64::from(packet.size);
        let to = self.port_to(rack);
        let queues = &self.voqs[usize::from(rack)].queues;
        let (in_queue, in_voq) = (queues.length_of(queue), queues.length());
        let admitted = in_voq + size <= circuits.voq_limit(now, self.rack, rack)
            && self.switch.buffer.admit(0, in_queue, in_voq, size) != Admission::Drop;
        if !admitted {
            return self.at(to).drop(now, packet, effects);
        }
        let Fields { marks, stream, .. } = self.switch.fields;
        if !marks && packet.kind == Kind::Data {
            self.at(to).mark_at(to, in_queue, packet, stream);
        }
        packet.time = now;
        packet.ingress = port;
        self.voqs[usize::from(rack)].queues.push(queue, packet, int);
        self.waiting.insert(rack);
        self.held += size;
        let backlog = self.backlog(to);
        let wire = &mut self.at(to).wire;
        wire.peak = wire.peak.max(backlog);
        self.serve(now, to, circuits, effects);
    }

    #[inline(never)]
    fn handle<E: Effects>(&mut self, event: Event, fabric: &Fabric, effects: &mut E) {
        let Some(circuits) = &fabric.circuits else { return };
        let (now, port) = (event.time(), event.entity() as PortId);
        match event.rank() {
            rank::CIRCUIT => self.turn(now, circuits, effects),
            rank::DEPARTED if port == self.uplink || port == self.circuit => {
                self.at(port).wire.departed();
                self.serve(now, port, circuits, effects);
            }
            _ => self.switch.handle(event, fabric, effects),
        }
    }

    /// Links of a network with circuits do not change.
    fn reroute<E: Effects>(&mut self, _: u64, _: Table, _: &Fabric, _: &mut E) {}

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.switch.egress_mut(port)
    }
}

impl Inspect for Tor {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.switch.egress(port)
    }

    fn queued(&self, port: PortId) -> u64 {
        if port == self.uplink || port == self.circuit {
            self.backlog(port)
        } else {
            self.switch.queued(port)
        }
    }

    fn held_data(&self) -> u64 {
        let packets = self.voqs.iter().flat_map(|voq| voq.queues.iter());
        self.switch.held_data() + packets.filter(|(_, packet)| packet.kind == Kind::Data).count() as u64
    }

    fn violations(&self) -> Vec<String> {
        self.switch.violations()
    }
}
