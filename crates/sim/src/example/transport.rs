//! A transport: receivers grant credit at the rate of their link, as in EQDS (Olteanu et al., NSDI 2022). A flow sends
//! its first packets at once, the others one for each credit, and is done when its receiver acknowledges the whole. For
//! networks that lose nothing.

use std::collections::VecDeque;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::network::PortId;
use incast_net::packet::{Ack, Data, IntRecords, Kind, NO_INT, Packet};
use incast_net::record::{Division, FlowRecord, Limit, OwnPacket};
use incast_units::{Bytes, Time};

use crate::facts::flows::{FlowFacts, Way};
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::host::transport::account::Account;
use crate::host::transport::context::{Context, Transport};
use crate::node::FlowView;
use crate::rank;

/// Packets of a flow that are sent without credit.
const FIRST_WINDOW: u64 = 8;

/// The only own packet: permission to send one packet more.
const CREDIT: u8 = 0;

/// The flows from and to one host. A source is a flow's index here.
#[derive(Debug, Default)]
pub(crate) struct Credits {
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Incoming>,
    /// Flows to this host that need credit, each once, in the order of their turns.
    turns: VecDeque<u32>,
    /// Before this, no credit. (ps)
    next: u64,
}

/// A flow from this host, until it is acknowledged.
#[derive(Debug)]
struct Outgoing {
    step: Step,
    /// The network card that it uses.
    card: PortId,
    start: u64,
    /// Packets sent, and how many may be.
    sent: u64,
    limit: u64,
    packets: u64,
    /// Whether it waits in the list of its card, or a packet of it is leaving.
    is_ready: bool,
    /// Its time, by what kept its next packet back.
    account: Account,
}

/// A flow to this host.
#[derive(Debug)]
struct Incoming {
    flow: u32,
    /// The sender's index of it.
    peer: u32,
    /// Packets that have arrived, and how many may be sent.
    arrived: u64,
    limit: u64,
}

impl Outgoing {
    /// Makes the flow ready if it may send and is not ready already.
    fn wake(&mut self, now: u64, source: Source, nics: &mut [Nic]) {
        self.turn(now, source, nics);
        if !self.is_ready && self.sent < self.limit {
            self.is_ready = true;
            nics[usize::from(self.card)].push(0, source);
        }
    }

    /// Names what keeps its next packet back from now on.
    fn turn(&mut self, now: u64, source: Source, nics: &[Nic]) {
        let limit = match (self.sent < self.limit, self.sent < self.packets) {
            (true, _) => Limit::Card,
            (false, true) => Limit::Credit,
            (false, false) => Limit::Answer,
        };
        self.account.turn(now, limit, || 0, || nics[usize::from(self.card)].paused_for(0, source, now));
    }

    /// Returns the division of its time.
    fn division(&self, now: u64, source: Source, nics: &[Nic]) -> Division {
        self.account.division(now, 0, || nics[usize::from(self.card)].paused_for(0, source, now))
    }
}

impl Transport for Credits {
    type Shared = ();

    const OWN: &'static [OwnPacket] = &[OwnPacket { name: "credit", code: 12, cumulative: true }];

    fn prepare(simulation: &Simulation, _: &FlowFacts) -> Result<(), String> {
        let endless =
            simulation.flows.iter().position(|f| f.size == Bytes::UNLIMITED || f.stop != Time::NEVER);
        endless.map_or(Ok(()), |flow| Err(format!("flow {flow} has no size or a stop time")))
    }

    fn new((): &(), _: &FlowFacts) -> Self {
        Self::default()
    }

    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.incoming.push(Incoming { flow, peer, arrived: 0, limit: FIRST_WINDOW });
        self.incoming.len() as u32 - 1
    }

    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
        let card = cx.nic_for(step.flow, Way::Forth, || cx.facts.hashes(step.flow).0);
        let packets = cx.facts.packets(step.flow);
        let limit = FIRST_WINDOW.min(packets);
        let account = Account::new(now);
        let mut flow = Outgoing { step, card, start: now, sent: 0, limit, packets, is_ready: false, account };
        flow.wake(now, index, &mut cx.home.nics);
        let index = index as usize;
        self.outgoing.resize_with(self.outgoing.len().max(index + 1), || None);
        self.outgoing[index] = Some(flow);
    }

    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet> {
        let flow = self.outgoing[source as usize].as_mut()?;
        let described = &cx.facts.flows[flow.step.flow as usize];
        let sizes = cx.facts.sizes(described.algorithm);
        let nic = &cx.home.nics[usize::from(flow.card)];
        flow.account.settle(now, || nic.paused_for(0, source, now));
        flow.account.packet(false);
        let (number, sequence) = (flow.sent as u32, flow.sent * sizes.payload);
        flow.sent += 1;
        let payload = sizes.payload.min(described.size.get() - sequence);
        let (slot, size) = (flow.step.peer, sizes.data(payload) as u16);
        let data = Data { sequence, sent: now, slot, inflight: 0, number, payload: payload as u16 };
        Some(Packet {
            destination: cx.facts.address(flow.step.flow, Way::Forth),
            hash: cx.facts.hashes(flow.step.flow).0,
            size,
            body: data.body(),
            ..Packet::blank(Kind::Data)
        })
    }

    fn sent<E: Effects>(&mut self, source: Source, done: u64, cx: &mut Context<'_, E>) {
        if let Some(flow) = &mut self.outgoing[source as usize] {
            flow.account.sent(done);
            flow.turn(done, source, &cx.home.nics);
            cx.home.nics[usize::from(flow.card)].request_departure(cx.effects);
        }
    }

    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
        if let Some(flow) = &mut self.outgoing[source as usize] {
            flow.is_ready = false;
            flow.wake(now, source, &mut cx.home.nics);
        }
    }

    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, _: &IntRecords, cx: &mut Context<'_, E>) {
        match packet.kind {
            Kind::Data => self.on_data(now, &Data::of(&packet.body), cx),
            Kind::Own => {
                let source = packet.ack(now).slot;
                if let Some(flow) = &mut self.outgoing[source as usize] {
                    flow.limit += 1;
                    flow.wake(now, source, &mut cx.home.nics);
                }
            }
            Kind::Ack => {
                let ack = packet.ack(now);
                if let Some(flow) = self.outgoing[ack.slot as usize].take() {
                    let (finish, delivered) = (Time::from_ps(now), Time::from_ps(ack.received));
                    let size = cx.facts.flows[flow.step.flow as usize].size.get();
                    let view = View { flow: &flow, source: ack.slot, nics: &cx.home.nics, facts: cx.facts };
                    let (record, division) = (view.record_of(finish, size), view.division(now));
                    cx.finished(now, FlowRecord { delivered, ..record }, division);
                }
            }
            // Such packets need a loss, a congestion control or a pause; the network card reads pauses.
            _ => {}
        }
    }

    /// The time of the next credit has come.
    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
        let now = event.time();
        let Some(slot) = self.turns.pop_front() else { return };
        let flow = &mut self.incoming[slot as usize];
        flow.limit += 1;
        if flow.limit < cx.facts.packets(flow.flow) {
            self.turns.push_back(slot);
        }
        flow.answer(now, now, Packet::own(CREDIT), cx);
        let sizes = cx.facts.plain_sizes();
        let line = cx.facts.fabric.routes.ports[cx.home.node as usize][0].rate;
        self.next = now + line.time_for(Bytes::new(sizes.data(sizes.payload))).ps();
        if !self.turns.is_empty() {
            cx.effects.schedule(Event::new(self.next, rank::RECEIVER, 0));
        }
    }

    fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        for (flow, source) in self.outgoing.iter().zip(0..) {
            let Some(flow) = flow else { continue };
            see(&View { flow, source, nics, facts });
        }
    }
}

impl Credits {
    /// A data packet has arrived: the first one of a flow asks for credit, the last one is acknowledged.
    fn on_data<E: Effects>(&mut self, now: u64, data: &Data, cx: &mut Context<'_, E>) {
        let flow = &mut self.incoming[data.slot as usize];
        let packets = cx.facts.packets(flow.flow);
        flow.arrived += 1;
        let counts = &mut cx.effects.tally().counts;
        counts.delivered += 1;
        counts.progress = counts.progress.max(now);
        if flow.arrived == packets {
            flow.answer(data.sent, now, Packet::blank(Kind::Ack), cx);
            cx.arrived(now, flow.flow);
        } else if flow.arrived == 1 && flow.limit < packets {
            if self.turns.is_empty() {
                cx.effects.schedule(Event::new(self.next.max(now), rank::RECEIVER, 0));
            }
            self.turns.push_back(data.slot);
        }
    }
}

impl Incoming {
    /// Sends a packet of this kind to the sender. It says how many packets have arrived.
    fn answer<E: Effects>(&self, sent: u64, received: u64, blank: Packet, cx: &mut Context<'_, E>) {
        let described = &cx.facts.flows[self.flow as usize];
        let (destination, hash) = (cx.facts.address(self.flow, Way::Back), cx.facts.hashes(self.flow).1);
        let size = cx.facts.sizes(described.algorithm).ack as u16;
        let mut packet = Packet { destination, hash, size, ..blank };
        packet.set_ack(&Ack {
            sent,
            received,
            held: 0,
            slot: self.peer,
            inflight: 0,
            expected: self.arrived as u32,
            offset: 0,
            flows: 0,
            packets: 1,
            marked: 0,
            bitmap: 0,
        });
        let card = cx.nic_for(self.flow, Way::Back, || hash);
        cx.home.nics[usize::from(card)].reply(received, &mut packet, &NO_INT, cx.effects);
    }
}

/// The view of one flow.
struct View<'a> {
    flow: &'a Outgoing,
    source: Source,
    nics: &'a [Nic],
    facts: &'a FlowFacts<'a>,
}

impl View<'_> {
    /// Returns the record of the flow that is done at `finish`, with this much acknowledged.
    fn record_of(&self, finish: Time, acknowledged: u64) -> FlowRecord {
        let Outgoing { step, start, sent, .. } = self.flow;
        let record = self.facts.record(step.flow, Time::from_ps(*start), finish, acknowledged);
        FlowRecord { packets: *sent, ..record }
    }
}

impl FlowView for View<'_> {
    fn flow(&self) -> u32 {
        self.flow.step.flow
    }

    fn record(&self) -> FlowRecord {
        self.record_of(Time::NEVER, 0)
    }

    fn division(&self, now: u64) -> Division {
        self.flow.division(now, self.source, self.nics)
    }

    fn waits_for(&self) -> String {
        let Outgoing { sent, limit, packets, is_ready, .. } = self.flow;
        let reason = match (is_ready, limit < packets) {
            (true, _) => "its turn on its host's link",
            (_, true) => "credit",
            _ => "the acknowledgement of its receiver",
        };
        format!("waits for {reason} ({sent} of {packets} packets sent)")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ops::ControlFlow;

    use incast_cc::AnyParams;
    use incast_units::{Bytes, Rate, Time};

    use incast_net::describe::network::{Change, LinkChange, Network};
    use incast_net::describe::probe::Probes;
    use incast_net::describe::transport::{Kind, Transport};
    use incast_net::describe::{Simulation, flow, switch};
    use incast_net::record::{End, FlowRecord, FlowSample, PacketRecord, Progress};

    /// One flow of `size` from one host to another through a switch: 100 Gbps, 1 us.
    pub(crate) fn star(size: u64) -> Simulation {
        let mut network = Network::with_hosts(2);
        let switch = network.add_switch("s0");
        for host in 0..2 {
            network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
        }
        Simulation {
            network,
            switch: switch::Switch::default(),
            transport: Transport::default(),
            balancing: Default::default(),
            algorithms: vec![AnyParams::named("constant", None).unwrap().into()],
            flows: vec![flow::Flow { key: 1, ..flow::Flow::of_size(0, 1, Bytes::new(size), Time::ZERO) }],
            order: Vec::new(),
            operations: Vec::new(),
            probes: Probes::default(),
            impairments: Default::default(),
            seed: 1,
            until: Time::from_ms(1),
            stall_after: Time::from_ms(1),
            reuse: Default::default(),
            draws: Default::default(),
            threads: 1,
        }
    }

    /// Collects the flows that finish, captured packets and samples of flows.
    #[derive(Default)]
    pub(crate) struct Finished(
        pub(crate) Vec<FlowRecord>,
        pub(crate) Vec<PacketRecord>,
        pub(crate) Vec<FlowSample>,
    );

    impl crate::Sink for Finished {
        fn flows(&mut self, records: &[FlowRecord]) {
            self.0.extend_from_slice(records);
        }
        fn packets(&mut self, records: &[PacketRecord]) {
            self.1.extend_from_slice(records);
        }
        fn flow_samples(&mut self, records: &[FlowSample]) {
            self.2.extend_from_slice(records);
        }
        fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    /// Time of a full packet on a link, and the times until such a packet, and until a credit or an acknowledgement,
    /// has crossed both links of the star. (ps)
    const PACKET: u64 = 1054 * 80;
    const THERE: u64 = 2 * (PACKET + 1_000_000);
    const BACK: u64 = 2 * (64 * 80 + 1_000_000);

    fn credits(size: u64) -> Simulation {
        let mut simulation = star(size);
        simulation.transport.kind = Kind::Credits;
        simulation
    }

    #[test]
    fn a_flow_waits_one_round_trip_for_its_credit() {
        // The first window alone: the eighth packet leaves when seven have.
        let mut finished = Finished::default();
        crate::run(&credits(8_000), &mut finished).unwrap();
        assert_eq!(finished.0[0].finish, Time::from_ps(7 * PACKET + THERE + BACK));
        // Ten packets: the first one to arrive asks for credit, which comes back after the eighth has left; the tenth
        // gets its credit the time of one packet later.
        let mut finished = Finished::default();
        let outcome = crate::run(&credits(10_000), &mut finished).unwrap();
        let delivered = THERE + BACK + PACKET + THERE;
        assert_eq!(finished.0[0].delivered, Time::from_ps(delivered));
        assert_eq!(finished.0[0].finish, Time::from_ps(delivered + BACK));
        assert_eq!((finished.0[0].bytes, finished.0[0].packets), (Bytes::new(10_000), 10));
        assert_eq!((outcome.dropped, outcome.violations), (0, Vec::new()));
    }

    #[test]
    fn two_senders_share_the_credit_of_their_receiver() {
        let mut simulation = credits(10_000);
        let mut network = Network::with_hosts(3);
        let switch = network.add_switch("s0");
        for host in 0..3 {
            network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
        }
        simulation.network = network;
        let flow = simulation.flows[0];
        simulation.flows = [0, 1].map(|source| flow::Flow { source, destination: 2, ..flow }).to_vec();
        simulation.probes.captures = vec![(2, 0)];
        let mut finished = Finished::default();
        let outcome = crate::run(&simulation, &mut finished).unwrap();
        // The switch sends the packet of host 0 first; that of host 1 arrives the time of a packet later, just when the
        // second credit is due, and takes its place behind the first flow: two credits for each, the first flow's first.
        let first = THERE + BACK + PACKET + THERE;
        let finish: Vec<_> = finished.0.iter().map(|record| (record.flow, record.finish)).collect();
        assert_eq!(
            finish,
            [(0, first + BACK), (1, first + 2 * PACKET + BACK)].map(|(f, t)| (f, Time::from_ps(t)))
        );
        // One credit leaves in the time of each data packet.
        let sent: Vec<_> = finished.1.iter().map(|p| (p.time.ps(), p.kind.name(), p.destination)).collect();
        let at = |packets| THERE + packets * PACKET;
        let answers = [
            (at(0), "credit", 0),
            (at(1), "credit", 0),
            (at(2), "credit", 1),
            (at(3), "credit", 1),
            (first, "ack", 0),
            (first + 2 * PACKET, "ack", 1),
        ];
        assert_eq!(sent, answers);
        assert_eq!((outcome.dropped, outcome.violations), (0, Vec::new()));
    }

    #[test]
    fn an_open_flow_says_for_what_it_waits() {
        // Its first window has arrived, and its link fails before its credit comes.
        let mut simulation = credits(10_000);
        let fails = Time::from_ps(THERE + PACKET);
        simulation.network.changes.push(Change { time: fails, link: 0, what: LinkChange::Down });
        simulation.stall_after = Time::from_us(1);
        simulation.probes.flows = vec![0];
        simulation.probes.flow_interval = Time::from_us(1);
        let mut finished = Finished::default();
        let outcome = crate::run(&simulation, &mut finished).unwrap();
        let End::Stalled(stall) = outcome.end else { panic!("{:?}", outcome.end) };
        assert_eq!(stall.flows, [(0, "waits for credit (8 of 10 packets sent)".to_owned())]);
        let [open] = outcome.unfinished.as_slice() else { panic!("{:?}", outcome.unfinished) };
        assert_eq!((open.packets, open.bytes, open.finish), (8, Bytes::ZERO, Time::NEVER));
        // It has no window and no rate, and nothing is acknowledged: all samples are equal.
        let [first, last] = finished.2.as_slice() else { panic!("{:?}", finished.2) };
        assert_eq!(
            (first.flow, first.window, first.rate, first.acked),
            (0, Bytes::ZERO, Rate::ZERO, Bytes::ZERO)
        );
        assert_eq!((first.samples, last.time), (1, Time::from_us(last.samples)));
    }

    #[test]
    fn a_flow_without_an_end_is_refused() {
        let mut simulation = credits(10_000);
        simulation.flows[0].size = Bytes::UNLIMITED;
        let error = crate::run(&simulation, &mut Finished::default()).unwrap_err();
        assert_eq!(error.to_string(), "flow 0 has no size or a stop time");
    }

    #[test]
    fn both_engines_and_all_threads_agree() {
        let mut simulation = credits(100_000);
        let plain = crate::run_reference(&simulation, &mut Finished::default()).unwrap();
        for threads in 1..=3 {
            simulation.threads = threads;
            assert_eq!(crate::run(&simulation, &mut Finished::default()).unwrap(), plain);
        }
    }
}
