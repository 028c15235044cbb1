//! From what the nodes recorded to what the sink hears and the outcome says.

use incast_units::{Bytes, Time};

use super::event::{Captured, Tally};
use super::stall;
use super::windows::Cause;
use super::world::{Node, Slot, World};
use crate::describe::Simulation;
use crate::host::NOT_UNDER_WAY;
use crate::packet::{Kind, Packet};
use crate::random::mix;
use crate::record::{
    End, FlowRecord, FlowSample, Outcome, PacketKind, PacketRecord, PauseRecord, PortSample, PortTotals, Sink,
};

/// A hash over a sequence of words, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, words: &[u64]) {
        for word in words {
            self.0 = mix(self.0 ^ *word).rotate_left(23);
        }
    }
}

/// Collects records, hands them to the sink in order, and hashes them on the way.
#[derive(Debug, Default)]
pub(crate) struct Flusher {
    flows: Vec<FlowRecord>,
    port_samples: Vec<PortSample>,
    flow_samples: Vec<FlowSample>,
    captured: Vec<Captured>,
    pauses: Vec<PauseRecord>,
    /// One digest for each kind of record: how they interleave depends on the flushes.
    digests: [Digest; 3],
}

impl Tally {
    /// Moves the records of `other` to the end of this tally's.
    pub(crate) fn take_records(&mut self, other: &mut Self) {
        self.flows.append(&mut other.flows);
        self.port_samples.append(&mut other.port_samples);
        self.flow_samples.append(&mut other.flow_samples);
        self.captured.append(&mut other.captured);
        self.pauses.append(&mut other.pauses);
    }
}

/// Removes from `all` what `is_before` the horizon, sorted.
fn remove<T: Copy, K: Ord>(
    all: &mut Vec<T>,
    is_before: impl Fn(&T) -> bool,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut before: Vec<T> = all.iter().copied().filter(|t| is_before(t)).collect();
    all.retain(|t| !is_before(t));
    before.sort_unstable_by_key(key);
    before
}

impl Flusher {
    /// Takes the records of a tally.
    pub(crate) fn take(&mut self, tally: &mut Tally) {
        self.flows.append(&mut tally.flows);
        self.port_samples.append(&mut tally.port_samples);
        self.flow_samples.append(&mut tally.flow_samples);
        self.captured.append(&mut tally.captured);
        self.pauses.append(&mut tally.pauses);
    }

    /// Tells the sink everything before `horizon`, given that nothing earlier will come any more.
    pub(crate) fn flush(&mut self, horizon: u64, world: &World, sink: &mut dyn Sink) {
        let captured = remove(&mut self.captured, |c| c.time < horizon, |c| (c.time, c.node, c.port));
        if !captured.is_empty() {
            let records: Vec<PacketRecord> = captured.iter().map(|c| packet_record(c, world)).collect();
            sink.packets(&records);
        }
        let horizon = Time::from_ps(horizon);
        let pauses = remove(&mut self.pauses, |p| p.time < horizon, |p| (p.time, p.node, p.port, p.queue));
        if !pauses.is_empty() {
            sink.pauses(&pauses);
        }
        let flows = remove(&mut self.flows, |f| f.finish < horizon, |f| (f.finish, f.flow));
        for flow in &flows {
            self.digests[0].add(&flow_words(flow));
        }
        if !flows.is_empty() {
            sink.flows(&flows);
        }
        let samples = remove(&mut self.port_samples, |s| s.time < horizon, |s| (s.time, s.node, s.port));
        for s in &samples {
            let what = u64::from(s.node) << 16 | u64::from(s.port);
            let counts = [s.transmitted.get(), s.dropped.get(), s.marked, u64::from(s.paused)];
            self.digests[1].add(&[s.time.ps(), what, s.queue.get()]);
            self.digests[1].add(&counts);
        }
        if !samples.is_empty() {
            sink.port_samples(&samples);
        }
        let samples = remove(&mut self.flow_samples, |s| s.time < horizon, |s| (s.time, s.flow));
        for s in &samples {
            let state = [s.window.get(), s.rate.bps(), s.rtt.ps(), s.inflight.get(), s.acked.get()];
            self.digests[2].add(&[s.time.ps(), u64::from(s.flow)]);
            self.digests[2].add(&state);
        }
        if !samples.is_empty() {
            sink.flow_samples(&samples);
        }
    }
}

fn packet_record(captured: &Captured, world: &World) -> PacketRecord {
    let packet = &captured.packet;
    let flow = world.flow_of(packet);
    let far = world.routes.ports[captured.node as usize][usize::from(captured.port)].node;
    let (source, destination) = match flow {
        None => (captured.node, far),
        Some(flow) => {
            let flow = &world.flows[flow as usize];
            let ends = (flow.source, flow.destination);
            if packet.kind == Kind::Data { ends } else { (ends.1, ends.0) }
        }
    };
    PacketRecord {
        time: Time::from_ps(captured.time),
        node: captured.node,
        port: captured.port,
        kind: match packet.kind {
            Kind::Data => PacketKind::Data,
            Kind::Ack => PacketKind::Ack,
            Kind::Nack => PacketKind::Nack,
            Kind::Cnp => PacketKind::Cnp,
            Kind::Pause => PacketKind::Pause,
            Kind::Resume => PacketKind::Resume,
        },
        flow,
        source,
        destination,
        sequence: packet.sequence,
        payload: Bytes::new(if packet.kind == Kind::Data { u64::from(packet.payload) } else { 0 }),
        size: Bytes::new(u64::from(packet.size)),
        queue: packet.queue,
        marked: packet.flags & crate::packet::flag::MARKED != 0 || packet.marked > 0,
    }
}

fn flow_words(f: &FlowRecord) -> [u64; 9] {
    [
        u64::from(f.flow),
        f.start.ps(),
        f.finish.ps(),
        f.delivered.ps(),
        f.bytes.get(),
        f.packets,
        f.resent,
        f.marked,
        u64::from(f.timeouts),
    ]
}

/// What is left of a run when its windows end.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    slots: Vec<Slot>,
    /// Data packets on links.
    on_links: u64,
    hops: u64,
    sent: u64,
    delivered: u64,
    dropped: u64,
    finished: u64,
    records: Tally,
}

impl Remains {
    /// Adds what one thread leaves behind.
    pub(crate) fn add(&mut self, slots: Vec<Slot>, packets: Vec<Packet>, mut tally: Tally) {
        self.slots.extend(slots);
        self.on_links += packets.iter().filter(|p| p.kind == Kind::Data).count() as u64;
        self.hops += tally.hops;
        self.sent += tally.sent;
        self.delivered += tally.delivered;
        self.dropped += tally.dropped;
        self.finished += tally.finished;
        self.records.take_records(&mut tally);
    }

    /// Adds records that were handed over and not flushed.
    pub(crate) fn add_records(&mut self, tally: &mut Tally) {
        self.records.take_records(tally);
    }

    /// Adds data packets that were on their way from one thread to another.
    pub(crate) fn add_on_links(&mut self, packets: u64) {
        self.on_links += packets;
    }

    /// The outcome of the run, with the last records told to the sink.
    pub(crate) fn outcome(
        mut self,
        cause: Cause,
        now: u64,
        simulation: &Simulation,
        world: &World,
        mut flusher: Flusher,
        sink: &mut dyn Sink,
    ) -> Outcome {
        flusher.take(&mut self.records);
        flusher.flush(now.saturating_add(1), world, sink);
        self.slots.sort_unstable_by_key(|s| s.id);
        let mut ports = Vec::new();
        let mut unfinished: Vec<FlowRecord> = Vec::new();
        let mut violations = Vec::new();
        let mut queued = 0;
        let largest = world.largest_packet().get();
        for slot in &self.slots {
            let first = ports.len();
            let name = &simulation.network.nodes[slot.id as usize];
            let mut check = |port: usize, problem: Option<String>| {
                violations.extend(
                    problem.map(|p| format!("port {port} of {name} {p}, more than its link carries")),
                );
            };
            match &slot.node {
                Node::Host(host) => {
                    ports.push(host.wire.totals(now, slot.id, 0));
                    check(0, host.wire.violation(now, largest));
                    queued += host.waiting_replies().filter(|p| p.kind == Kind::Data).count() as u64;
                    let open = host.outgoing.iter().filter(|o| o.slot != NOT_UNDER_WAY);
                    let record = |s: u32| host.senders[s as usize].record(Time::NEVER, Time::NEVER, world);
                    unfinished.extend(open.map(|o| record(o.slot)));
                }
                Node::Switch(switch) => {
                    for (i, egress) in switch.ports.iter().enumerate() {
                        ports.push(egress.wire.totals(now, slot.id, i as u16));
                        check(i, egress.wire.violation(now, largest));
                        queued += egress.waiting().filter(|(_, p)| p.kind == Kind::Data).count() as u64;
                    }
                    let buffer = &switch.buffer;
                    if buffer.peak > buffer.size {
                        let (peak, size) = (Bytes::new(buffer.peak), Bytes::new(buffer.size));
                        violations.push(format!("{name} held {peak} in a buffer of {size}"));
                    }
                    let drops: u64 = ports[first..].iter().map(|p| p.drops).sum();
                    if buffer.is_lossless() && drops > 0 {
                        violations.push(format!("{name} dropped {drops} packets although PFC is on"));
                    }
                }
            }
        }
        unfinished.sort_unstable_by_key(|f| f.flow);
        let in_flight = self.on_links + queued;
        if self.sent != self.delivered + self.dropped + in_flight {
            violations.push(format!(
                "{} data packets sent, but {} delivered + {} dropped + {in_flight} in flight",
                self.sent, self.delivered, self.dropped
            ));
        }
        let end = match cause {
            Cause::Finished => End::Finished,
            Cause::TimeLimit => {
                let open_ended =
                    world.flows.iter().filter(|f| f.is_open_ended() && f.start.ps() <= now).count();
                let all = self.finished + open_ended as u64 == world.flows.len() as u64;
                if all { End::Finished } else { End::TimeLimit }
            }
            Cause::Interrupted => End::Interrupted,
            Cause::Stalled => End::Stalled(stall::diagnose(&self.slots, &world.routes)),
        };
        let fingerprint = fingerprint(&flusher, &ports, &unfinished, now);
        Outcome {
            end,
            now: Time::from_ps(now),
            flows_finished: self.finished,
            hops: self.hops,
            sent: self.sent,
            delivered: self.delivered,
            dropped: self.dropped,
            in_flight,
            ports,
            unfinished,
            fingerprint,
            violations,
        }
    }
}

fn fingerprint(flusher: &Flusher, ports: &[PortTotals], unfinished: &[FlowRecord], now: u64) -> u64 {
    let mut digest = Digest::default();
    digest.add(&flusher.digests.map(|d| d.0));
    for p in ports {
        let what = u64::from(p.node) << 16 | u64::from(p.port);
        digest.add(&[what, p.transmitted.get(), p.packets, p.drops, p.dropped.get(), p.marked]);
        digest.add(&[p.peak_queue.get(), p.paused.ps(), p.pauses_sent]);
    }
    for flow in unfinished {
        digest.add(&flow_words(flow));
    }
    digest.add(&[now]);
    digest.0
}
