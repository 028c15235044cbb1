//! A host: its network cards, its transport, and the program of flows that it starts.

pub(crate) mod nic;
pub(crate) mod program;
pub(crate) mod receiver;
pub(crate) mod transport;
pub(crate) mod work;

use incast_engine::event::{Effects, Event};
use incast_engine::model::Arrival;
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::Kind;
use incast_net::record::OperationRecord;
use incast_net::routing::forwarding::Table;

use nic::Nic;
use program::{Program, Step};
use transport::context::{Context, Home};
use transport::{AnyTransport, Shared};
use work::Work;

use crate::facts::flows::FlowFacts;
use crate::facts::hosts::HostFacts;
use crate::node::{Behaviour, FlowView, Inspect};
use crate::port::Port;
use crate::rank;
use crate::relative::{Progress, State};

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    home: Home,
    transport: AnyTransport,
    program: Program,
    /// Sampled flows, by number.
    sampled: Vec<u32>,
}

impl Host {
    /// The index that the next flow from here will have.
    pub(crate) fn next_outgoing(&self) -> u32 {
        self.program.next_index()
    }

    /// Adds a flow from here; says whether an operation sends it, and whether it is sampled.
    pub(crate) fn add_outgoing(&mut self, step: Step, is_sent: bool, sampled: bool) {
        self.program.add(step, is_sent);
        if sampled {
            self.sampled.insert(self.sampled.partition_point(|flow| *flow < step.flow), step.flow);
        }
    }

    /// Adds a flow to here, which the sender knows by the index `peer`; says its index here.
    pub(crate) fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.transport.add_incoming(flow, peer)
    }

    /// Begins to send on every port that is free and for which something waits.
    fn serve<E: Effects>(&mut self, now: u64, facts: &HostFacts, effects: &mut E) {
        let Self { home, transport, .. } = self;
        serve::<false, E>(now, transport, &mut context(facts, home, effects));
    }
}

/// Begins to send on every port that is free and for which something waits; a port that is busy
/// then schedules an event for when it becomes idle. `OFTEN` says that after most such events something waits.
#[inline(always)]
fn serve<const OFTEN: bool, E: Effects>(now: u64, transport: &mut AnyTransport, cx: &mut Context<'_, E>) {
    // After most events nothing waits: that is found without a call.
    if let [nic] = &cx.home.nics[..] {
        if OFTEN && nic.has_waiting() {
            serve_port(now, 0, transport, cx);
        } else if nic.has_waiting() {
            serve_port_apart(now, 0, transport, cx);
        }
        return;
    }
    for port in 0..cx.home.nics.len() {
        if cx.home.nics[port].has_waiting() {
            serve_port_apart(now, port, transport, cx);
        }
    }
}

/// Serves one port, for which something waits, apart from the caller, in which that is rare.
#[inline(never)]
fn serve_port_apart<E: Effects>(
    now: u64,
    port: usize,
    transport: &mut AnyTransport,
    cx: &mut Context<'_, E>,
) {
    serve_port(now, port, transport, cx);
}

/// Serves one port, for which something waits.
#[inline(always)]
fn serve_port<E: Effects>(now: u64, port: usize, transport: &mut AnyTransport, cx: &mut Context<'_, E>) {
    if !cx.home.nics[port].wire.is_busy(now) {
        send_next(now, port, transport, cx);
    }
    let nic = &mut cx.home.nics[port];
    if nic.has_waiting() && nic.wire.is_busy(now) {
        nic.request_departure(cx.effects);
    }
}

/// Begins to send the next packet on a free port, if there is one.
#[inline(always)]
fn send_next<E: Effects>(now: u64, port: usize, transport: &mut AnyTransport, cx: &mut Context<'_, E>) {
    let nic = &mut cx.home.nics[port];
    if nic.has_frames() {
        return nic.send_frame(now, cx.effects);
    }
    if nic.has_replies() && nic.send_reply(now, cx.effects) {
        return;
    }
    while let Some(source) = cx.home.nics[port].next_source() {
        if transport.serve(now, port, source, cx) {
            return;
        }
    }
}

/// Returns the environment of a call to the transport of a host.
#[inline(always)]
fn context<'a, E>(facts: &'a HostFacts<'a>, home: &'a mut Home, effects: &'a mut E) -> Context<'a, E> {
    let HostFacts { flows: facts, work: operations } = facts;
    Context { facts, operations, home, effects }
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
    let distant = cx.facts.ending.is_distant(&cx.facts.flows[step.flow as usize]);
    tally.counts.started += 1;
    tally.counts.distant_started += u64::from(distant);
    tally.counts.progress = tally.counts.progress.max(now);
    transport.start(now, index, step, cx);
}

impl Host {
    /// Makes the node with this number.
    pub(crate) fn new(
        id: NodeId,
        facts: &HostFacts,
        simulation: &Simulation,
        transports: &Shared,
    ) -> Result<Self, String> {
        let queues = simulation.switch.queues;
        let ports = facts.flows.fabric.routes.ports[id as usize].iter().enumerate();
        let backpressure = simulation.switch.bfc.is_some();
        let nics = ports.map(|(index, out)| Nic::new(index as PortId, out, queues, backpressure));
        Ok(Self {
            home: Home {
                node: id,
                table: facts.flows.fabric.routes.tables.of(id).cloned().map(Box::new),
                nics: nics.collect(),
                work: Work::new(id, &facts.work),
            },
            transport: AnyTransport::new(transports, &facts.flows),
            program: Program::default(),
            sampled: Vec::new(),
        })
    }
}

impl Behaviour for Host {
    type Facts<'a> = HostFacts<'a>;

    fn first_events(&self, facts: &HostFacts) -> Vec<Event> {
        let work = self.home.work.iter().flat_map(|work| work.first_events());
        self.program.start_event(0, &facts.work).into_iter().chain(work).collect()
    }

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, facts: &HostFacts, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        let Self { home, transport, .. } = self;
        let cx = &mut context(facts, home, effects);
        if matches!(packet.kind, Kind::Pause | Kind::Resume | Kind::PauseMap) {
            cx.home.nics[usize::from(port)].on_pause(now, packet, int, cx.effects);
        } else {
            transport.on_packet(now, packet, int, cx);
        }
        serve::<false, E>(now, transport, cx);
    }

    #[inline(never)]
    fn handle<E: Effects>(&mut self, event: Event, facts: &HostFacts, effects: &mut E) {
        let (now, entity) = (event.time(), event.entity());
        let Self { home, transport, program, .. } = self;
        let cx = &mut context(facts, home, effects);
        match event.rank() {
            rank::DEPARTED => {
                if let Some(source) = cx.home.nics[entity as usize].departed()
                    && transport.follow(now, source, cx)
                {
                    return;
                }
            }
            rank::START => {
                start(now, entity, program, transport, cx);
                if let Some(next) = program.start_event(entity + 1, &facts.work) {
                    cx.effects.schedule(next);
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
        // Most of these events are for a packet to be sent.
        serve::<true, E>(now, transport, cx);
    }

    fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &HostFacts, effects: &mut E) {
        let Self { home, transport, .. } = self;
        home.table = Some(Box::new(table));
        let cx = &mut context(facts, home, effects);
        transport.rerouted(now, cx);
        serve::<false, E>(now, transport, cx);
    }

    fn link_turned<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        up: bool,
        facts: &HostFacts,
        effects: &mut E,
    ) {
        let nic = &mut self.home.nics[usize::from(port)];
        if !up && nic.wire.is_paused_at_all() {
            nic.forget_pauses(now, effects);
            self.serve(now, facts, effects);
        }
    }

    fn relate(&self, facts: &HostFacts, state: &mut State, progress: &mut Progress) {
        // Its flows are a matter of the workload, and its table changes with the network.
        let Self { home: Home { node, table: _, nics, work }, transport, program: _, sampled: _ } = self;
        for (port, nic) in nics.iter().enumerate() {
            state.part(|host| format!("card {port} of {host}"));
            nic.relate(state);
        }
        state.part(str::to_owned);
        transport.relate(&facts.flows, state, &mut progress.left);
        state.part(|host| format!("the operations of {host}"));
        if let Some(work) = work {
            work.relate(*node, &facts.work, state, progress);
        }
    }

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.home.nics.get_mut(usize::from(port)).map(|nic| &mut nic.wire)
    }
}

impl Inspect for Host {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.home.nics.get(usize::from(port)).map(|nic| &nic.wire)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.home.nics.get(usize::from(port)).map_or(0, |nic| nic.replies_length)
    }

    fn held_data(&self) -> u64 {
        let replies = self.home.nics.iter().flat_map(Nic::waiting_replies);
        replies.filter(|packet| packet.kind == Kind::Data).count() as u64
    }

    fn has_flows(&self) -> bool {
        true
    }

    fn has_samples(&self) -> bool {
        !self.sampled.is_empty()
    }

    fn is_sampled(&self, flow: u32) -> bool {
        self.sampled.binary_search(&flow).is_ok()
    }

    fn each_flow(&self, facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        self.transport.each_flow(&self.home.nics, facts, see);
    }

    fn unfinished_operations(&self) -> Vec<OperationRecord> {
        self.home.work.as_ref().map(|work| work.unfinished()).unwrap_or_default()
    }

    fn operation_waits(&self) -> Vec<(u32, String)> {
        self.home.work.as_ref().map(|work| work.waits()).unwrap_or_default()
    }
}
