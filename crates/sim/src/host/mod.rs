//! A host: its network cards, its transport, and the program of flows that it starts.

pub(crate) mod nic;
pub(crate) mod program;
pub(crate) mod transport;
pub(crate) mod work;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::{IntRecords, Kind, NO_INT, Packet};
use incast_net::record::{FlowRecord, FlowSample, InternalSample, OperationRecord};
use incast_net::routing::forwarding::Table;
use incast_units::Time;

use nic::Nic;
use program::Program;
use transport::any::{AnyTransport, Shared};
use transport::context::Context;
use work::Work;

use crate::facts::Facts;
use crate::node::Behaviour;
use crate::port::Port;
use crate::rank;

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    node: NodeId,
    /// Table that chooses among several ports; a host with one port has none.
    table: Option<Box<Table>>,
    nics: Vec<Nic>,
    transport: AnyTransport,
    program: Program,
    work: Option<Box<Work>>,
    /// Sampled flows, by their index in the program.
    sampled: Vec<u32>,
}

impl Host {
    /// The index that the next flow from here will have.
    pub(crate) fn next_outgoing(&self) -> u32 {
        self.program.next_index()
    }

    /// Adds a flow from here, which the receiver knows by the index `peer`.
    pub(crate) fn add_outgoing(&mut self, flow: u32, peer: u32, sampled: bool) {
        let index = self.program.add(flow, peer);
        if sampled {
            self.sampled.push(index);
        }
    }

    /// Adds a flow to here, which the sender knows by the index `peer`; says its index here.
    pub(crate) fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.transport.add_incoming(flow, peer)
    }

    /// Begins to send on every port that is free and for which something waits; a port that is busy
    /// then schedules an event for when it becomes idle.
    #[inline(always)]
    fn serve<E: Effects>(&mut self, now: u64, facts: &Facts, effects: &mut E) {
        for port in 0..self.nics.len() {
            // After most events nothing waits: that is found without a call.
            if self.nics[port].has_waiting() {
                self.serve_port(now, port, facts, effects);
            }
        }
    }

    /// Serves one port, for which something waits.
    #[inline(never)]
    fn serve_port<E: Effects>(&mut self, now: u64, port: usize, facts: &Facts, effects: &mut E) {
        if !self.nics[port].wire.is_busy(now) {
            self.send_next(now, port, facts, effects);
        }
        let nic = &mut self.nics[port];
        if nic.has_waiting() && nic.wire.is_busy(now) {
            nic.call_when_free(effects);
        }
    }

    /// Begins to send the next packet on a free port, if there is one.
    fn send_next<E: Effects>(&mut self, now: u64, port: usize, facts: &Facts, effects: &mut E) {
        let Self { node, table, nics, transport, work, .. } = self;
        let (host, table) = (*node, table.as_deref());
        if nics[port].has_replies() {
            let mut int = IntRecords::default();
            if let Some(mut packet) = nics[port].next_reply(&mut int) {
                nics[port].send(now, None, &mut packet, &int, effects);
                return;
            }
        }
        while let Some(source) = nics[port].next_source() {
            let cx =
                &mut Context { facts, host, table, nics: nics.as_mut_slice(), work, effects: &mut *effects };
            if let Some(mut packet) = transport.poll_send(now, source, cx) {
                cx.effects.tally().counts.sent += 1;
                let done = cx.nics[port].send(now, Some(source), &mut packet, &NO_INT, cx.effects);
                transport.sent(source, done, cx);
                return;
            }
        }
    }
}

/// The flow with this index starts.
fn start<E: Effects>(
    now: u64,
    index: u32,
    program: &Program,
    transport: &mut AnyTransport,
    cx: &mut Context<'_, E>,
) {
    let Some(step) = program.step(index) else { return };
    let tally = cx.effects.tally();
    tally.counts.started += 1;
    tally.counts.progress = tally.counts.progress.max(now);
    transport.start(now, index, step, cx);
}

impl Host {
    /// Makes the node with this number.
    pub(crate) fn new(
        id: NodeId,
        facts: &Facts,
        simulation: &Simulation,
        transports: &Shared,
    ) -> Result<Self, String> {
        let queues = simulation.switch.queues;
        let ports = facts.routes.ports[id as usize].iter().enumerate();
        let backpressure = simulation.switch.bfc.is_some();
        let nics = ports.map(|(index, out)| Nic::new(index as PortId, out, queues, backpressure));
        Ok(Self {
            node: id,
            table: facts.routes.tables.of(id).cloned().map(Box::new),
            nics: nics.collect(),
            transport: AnyTransport::new(transports, facts),
            program: Program::default(),
            work: Work::new(id, facts),
            sampled: Vec::new(),
        })
    }
}

impl Behaviour for Host {
    fn first_events(&self, facts: &Facts) -> Vec<Event> {
        let work = self.work.iter().flat_map(|work| work.first_events());
        self.program.start_event(0, facts).into_iter().chain(work).collect()
    }

    #[inline(never)]
    fn arrive<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        facts: &Facts,
        effects: &mut E,
    ) {
        if matches!(packet.kind, Kind::Pause | Kind::Resume | Kind::PauseMap) {
            self.nics[usize::from(port)].on_pause(now, packet, int, effects);
        } else {
            let Self { node, table, nics, transport, work, .. } = self;
            let (host, table) = (*node, table.as_deref());
            let cx =
                &mut Context { facts, host, table, nics: nics.as_mut_slice(), work, effects: &mut *effects };
            transport.on_packet(now, packet, int, cx);
        }
        self.serve(now, facts, effects);
    }

    #[inline(never)]
    fn handle<E: Effects>(&mut self, event: Event, facts: &Facts, effects: &mut E) {
        let (now, entity) = (event.time(), event.entity());
        let Self { node, table, nics, transport, program, work, .. } = self;
        let (host, table) = (*node, table.as_deref());
        let cx = &mut Context { facts, host, table, nics: nics.as_mut_slice(), work, effects: &mut *effects };
        match event.rank() {
            rank::DEPARTED => {
                if let Some(source) = cx.nics[entity as usize].departed() {
                    transport.departed(now, source, cx);
                }
            }
            rank::START => {
                start(now, entity, program, transport, cx);
                if let Some(next) = program.start_event(entity + 1, facts) {
                    effects.schedule(next);
                }
            }
            rank::STOP => transport.stop(now, entity, cx),
            rank::WORK => {
                while let Some(flow) = cx.next_flow(now) {
                    if let Some(index) = program.index_of(flow) {
                        start(now, index, program, transport, cx);
                    }
                }
            }
            _ => transport.on_timer(event, cx),
        }
        self.serve(now, facts, effects);
    }

    fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &Facts, effects: &mut E) {
        let Self { node, nics, transport, work, .. } = self;
        let table = &**self.table.insert(Box::new(table));
        let nics = nics.as_mut_slice();
        let cx = &mut Context { facts, host: *node, table: Some(table), nics, work, effects: &mut *effects };
        transport.rerouted(now, cx);
        self.serve(now, facts, effects);
    }

    fn wire(&self, port: PortId) -> Option<&Port> {
        self.nics.get(usize::from(port)).map(|nic| &nic.wire)
    }

    fn wire_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.nics.get_mut(usize::from(port)).map(|nic| &mut nic.wire)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.nics.get(usize::from(port)).map_or(0, |nic| nic.replies_length)
    }

    fn held_data(&self) -> u64 {
        let replies = self.nics.iter().flat_map(Nic::waiting_replies);
        replies.filter(|packet| packet.kind == Kind::Data).count() as u64
    }

    fn has_samples(&self) -> bool {
        !self.sampled.is_empty()
    }

    fn sample_flows(&self, time: Time, samples: &mut Vec<FlowSample>, facts: &Facts) {
        samples.extend(self.sampled.iter().filter_map(|&index| self.transport.sample(time, index, facts)));
    }

    fn sample_internals(&self, time: Time, samples: &mut Vec<InternalSample>) {
        for &index in &self.sampled {
            let Some(step) = self.program.step(index) else { continue };
            let of_flow = self.transport.internals(index).into_iter();
            samples.extend(of_flow.map(|(internal, value)| InternalSample {
                time,
                flow: step.flow,
                internal,
                value,
                samples: 1,
            }));
        }
    }

    fn unfinished(&self, facts: &Facts) -> Vec<FlowRecord> {
        self.transport.unfinished(facts)
    }

    fn waits(&self, facts: &Facts) -> Vec<(u32, String)> {
        self.transport.waits(&self.nics, facts)
    }

    fn unfinished_operations(&self) -> Vec<OperationRecord> {
        self.work.as_ref().map(|work| work.unfinished()).unwrap_or_default()
    }

    fn operation_waits(&self) -> Vec<(u32, String)> {
        self.work.as_ref().map(|work| work.waits()).unwrap_or_default()
    }
}
