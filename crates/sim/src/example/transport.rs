//! A transport: datagrams, sent back to back at line rate and never acknowledged.

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::network::PortId;
use incast_net::packet::{Data, IntRecords, Kind, Packet};
use incast_net::record::{FlowRecord, FlowSample};
use incast_units::{Bytes, Time};

use crate::facts::Facts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::host::transport::context::{Context, Transport};

/// The flows from one host. A source is a flow's index here.
#[derive(Debug)]
pub(crate) struct Datagrams {
    flows: Vec<Flow>,
    incoming: u32,
}

/// A flow from this host.
#[derive(Debug)]
struct Flow {
    step: Step,
    /// The network card that it uses.
    card: PortId,
    start: u64,
    /// Payload sent.
    sent: u64,
    packets: u64,
}

impl Flow {
    fn record(&self, finish: Time, facts: &Facts) -> FlowRecord {
        let (flow, start) = (self.step.flow, Time::from_ps(self.start));
        FlowRecord {
            flow,
            start,
            finish,
            delivered: Time::NEVER,
            bytes: Bytes::new(self.sent),
            packets: self.packets,
            resent: 0,
            marked: 0,
            timeouts: 0,
            base_rtt: facts.path(flow, start).base_rtt,
            ideal: facts.ideal_time(flow, start, self.sent),
            ideal_plain: facts.plain_ideal_time(flow, start, self.sent),
        }
    }

    fn left(&self, facts: &Facts) -> u64 {
        facts.flows[self.step.flow as usize].size.get() - self.sent
    }
}

impl Transport for Datagrams {
    type Shared = ();

    fn prepare(_: &Simulation, _: &Facts) -> Result<(), String> {
        Ok(())
    }

    fn new((): &(), _: &Facts) -> Self {
        Self { flows: Vec::new(), incoming: 0 }
    }

    fn add_incoming(&mut self, _flow: u32, _peer: u32) -> u32 {
        self.incoming += 1;
        self.incoming - 1
    }

    fn start<E: Effects>(&mut self, now: u64, _index: u32, step: Step, cx: &mut Context<'_, E>) {
        let card = cx.card(cx.facts.flows[step.flow as usize].destination, cx.facts.hashes(step.flow).0);
        self.flows.push(Flow { step, card, start: now, sent: 0, packets: 0 });
        cx.nics[usize::from(card)].push(0, self.flows.len() as u32 - 1);
    }

    fn stop<E: Effects>(&mut self, _now: u64, _index: u32, _cx: &mut Context<'_, E>) {}

    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet> {
        let flow = &mut self.flows[source as usize];
        let described = &cx.facts.flows[flow.step.flow as usize];
        let sizes = cx.facts.sizes(described.algorithm);
        let payload = sizes.payload.min(flow.left(cx.facts));
        let (sequence, number) = (flow.sent, flow.packets as u32);
        flow.sent += payload;
        flow.packets += 1;
        let payload = payload as u16;
        let data = Data { sequence, sent: now, slot: flow.step.peer, inflight: 0, number, payload };
        Some(Packet {
            destination: described.destination,
            hash: cx.facts.hashes(flow.step.flow).0,
            size: sizes.data(u64::from(payload)) as u16,
            body: data.body(),
            ..Packet::blank(Kind::Data)
        })
    }

    fn sent<E: Effects>(&mut self, source: Source, _done: u64, cx: &mut Context<'_, E>) {
        let card = self.flows[source as usize].card;
        cx.nics[usize::from(card)].call_when_free(cx.effects);
    }

    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
        let flow = &self.flows[source as usize];
        if flow.left(cx.facts) > 0 {
            cx.nics[usize::from(flow.card)].push(0, source);
            return;
        }
        let record = flow.record(Time::from_ps(now), cx.facts);
        cx.finished(now, record);
    }

    fn on_packet<E: Effects>(
        &mut self,
        now: u64,
        _packet: &Packet,
        _int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let tally = cx.effects.tally();
        tally.counts.delivered += 1;
        tally.counts.progress = now;
    }

    /// Flows stay on their card.
    fn rerouted<E: Effects>(&mut self, _now: u64, _cx: &mut Context<'_, E>) {}

    fn on_timer<E: Effects>(&mut self, _event: Event, _cx: &mut Context<'_, E>) {}

    fn sample(&self, _time: Time, _index: u32, _world: &Facts) -> Option<FlowSample> {
        None
    }

    fn unfinished(&self, facts: &Facts) -> Vec<FlowRecord> {
        let open = self.flows.iter().filter(|flow| flow.left(facts) > 0);
        open.map(|flow| flow.record(Time::NEVER, facts)).collect()
    }

    fn waits(&self, _nics: &[Nic], facts: &Facts) -> Vec<(u32, String)> {
        let open = self.flows.iter().filter(|flow| flow.left(facts) > 0);
        open.map(|flow| (flow.step.flow, "waits for its turn on its host's link".to_owned())).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ops::ControlFlow;

    use incast_cc::AnyParams;
    use incast_units::{Bytes, Rate, Time};

    use incast_net::describe::network::Network;
    use incast_net::describe::probe::Probes;
    use incast_net::describe::transport::{Kind, Transport};
    use incast_net::describe::{Simulation, flow, switch};
    use incast_net::record::{FlowRecord, Progress};

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
            flows: vec![flow::Flow {
                key: 1,
                source: 0,
                destination: 1,
                size: Bytes::new(size),
                start: Time::ZERO,
                stop: Time::NEVER,
                queue: 0,
                balancing: Default::default(),
                algorithm: 0,
                group: 0,
            }],
            operations: Vec::new(),
            probes: Probes::default(),
            seed: 1,
            until: Time::from_ms(1),
            stall_after: Time::from_ms(1),
            threads: 1,
        }
    }

    /// Collects the flows that finish.
    #[derive(Default)]
    pub(crate) struct Finished(pub(crate) Vec<FlowRecord>);

    impl crate::Sink for Finished {
        fn flows(&mut self, records: &[FlowRecord]) {
            self.0.extend_from_slice(records);
        }
        fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn datagrams_leave_back_to_back() {
        let mut simulation = star(2500);
        simulation.transport.kind = Kind::Datagrams;
        let mut finished = Finished::default();
        crate::run(&simulation, &mut finished).unwrap();
        // Two packets of 1054 B and one of 554 B at 80 ps a byte.
        assert_eq!(finished.0[0].finish, Time::from_ps((2 * 1054 + 554) * 80));
        assert_eq!(finished.0[0].bytes, Bytes::new(2500));
    }
}
