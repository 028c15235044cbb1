//! Computes the last records and the outcome of a run from the state of its nodes.

use incast_engine::model::{Cause, RunState};
use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::packet::Kind;
use incast_net::record::channel::{Digest, Record};
use incast_net::record::tally::Tally;
use incast_net::record::{
    End, FlowRecord, Flusher, LimitRecord, OperationRecord, Outcome, PortTotals, Sink, Watched,
};
use incast_units::Time;

use super::slot::Slot;
use super::watch::Watch;
use super::{bound, deadlock, stall};
use crate::facts::Facts;

/// Returns the outcome of a run; passes the last records to the sink.
pub(super) fn outcome(
    (cause, now, state): (Cause, u64, RunState<Slot>),
    simulation: &Simulation,
    facts: &Facts,
    mut flusher: Flusher,
    mut sink: Watched<'_, Watch<'_>>,
) -> Outcome {
    let RunState { nodes: mut slots, packets, tally: Tally { counts, mut records } } = state;
    flusher.take(&mut records);
    flusher.finish(Time::from_ps(now), facts, &mut sink);
    slots.sort_unstable_by_key(|s| s.id);
    let mut ports = Vec::new();
    let mut unfinished: Vec<FlowRecord> = Vec::new();
    let mut limits: Vec<LimitRecord> = Vec::new();
    let mut unfinished_operations = Vec::new();
    let bounds = bound::bounds(simulation, facts);
    let mut violations = Vec::new();
    let mut queued = 0;
    let largest = facts.fabric().largest_packet.get();
    for slot in &slots {
        let (name, node) = (&simulation.network.nodes[slot.id as usize], slot.node.inspect());
        for (port, wire) in (0..).map_while(|port| Some((port, node.egress(port)?))) {
            ports.push(wire.totals(now, slot.id, port));
            let problem = wire.violation(now, largest);
            violations
                .extend(problem.map(|p| format!("port {port} of {name} {p}, more than its link carries")));
        }
        queued += node.held_data();
        node.each_flow(facts.flows(), &mut |flow| {
            let (record, division) = (flow.record(), flow.division(now));
            let FlowRecord { flow, start, .. } = record;
            limits.push(LimitRecord { flow, start, end: Time::from_ps(now), division });
            unfinished.push(record);
        });
        unfinished_operations.extend(node.unfinished_operations());
        violations.extend(node.violations().into_iter().map(|v| format!("{name} {v}")));
    }
    unfinished.sort_unstable_by_key(|f| f.flow);
    limits.sort_unstable_by_key(|f| f.flow);
    sink.watch.limits(&limits);
    violations.splice(0..0, sink.watch.violations(&bounds));
    unfinished_operations.sort_unstable_by_key(|o: &OperationRecord| o.operation);
    let on_links = packets.iter().filter(|packet| packet.kind == Kind::Data).count() as u64;
    let in_flight = on_links + queued;
    if counts.sent != counts.delivered + counts.dropped + counts.lost + counts.trimmed + in_flight {
        violations.push(format!(
            "{} data packets sent, but {} delivered + {} dropped + {} lost on links + {} trimmed + {in_flight} in flight",
            counts.sent, counts.delivered, counts.dropped, counts.lost, counts.trimmed
        ));
    }
    let settled = now.saturating_sub(deadlock::settles_in(facts.fabric(), &simulation.switch).ps());
    let holds = |slot: &Slot, before| {
        let holds = slot.node.inspect().holds(before).into_iter();
        holds.map(|hold| (slot.id, hold)).collect::<Vec<_>>()
    };
    let cycle_of = |before| {
        deadlock::find(slots.iter().flat_map(|slot| holds(slot, before)).collect(), &facts.fabric().routes)
    };
    let deadlock = match (cause, cycle_of(settled)) {
        // None lasts.
        (Cause::Finished | Cause::TimeLimit | Cause::Interrupted, _)
            if simulation.switch.watchdog().is_some() =>
        {
            Vec::new()
        }
        // Nothing moves any more.
        (Cause::Stalled, cycle) if cycle.is_empty() => cycle_of(u64::MAX),
        (_, cycle) => cycle,
    };
    let end = match cause {
        Cause::Finished => End::Finished,
        Cause::TimeLimit => {
            let open_ended = |f: &&Flow| f.counted && f.is_open_ended() && f.start.ps() <= now;
            let open_ended = facts.flows().flows.iter().filter(open_ended).count();
            let all = counts.counted + counts.flows_left_out + open_ended as u64 == facts.flows().counted
                && counts.ended + counts.operations_left_out == facts.hosts.work.operations.len() as u64;
            if all { End::Finished } else { End::TimeLimit }
        }
        Cause::Interrupted => End::Interrupted,
        Cause::Stalled => End::Stalled(stall::diagnose(&slots, facts.flows())),
    };
    let fingerprint = fingerprint(&flusher, &ports, &unfinished, &unfinished_operations, now);
    Outcome {
        end,
        now: Time::from_ps(now),
        flows_finished: counts.counted,
        hops: counts.hops,
        sent: counts.sent,
        delivered: counts.delivered,
        dropped: counts.dropped,
        tied: counts.tied,
        lossless: counts.lossless,
        lost: counts.lost,
        corrupted: counts.corrupted,
        trimmed: counts.trimmed,
        held_up: counts.held_up,
        in_flight,
        ports,
        unfinished,
        limits,
        deadlock,
        operations_ended: counts.ended,
        unfinished_operations,
        bounds,
        reuse: None,
        fingerprint,
        violations,
    }
}

/// Returns the hash of all results.
pub(super) fn fingerprint(
    flusher: &Flusher,
    ports: &[PortTotals],
    unfinished: &[FlowRecord],
    operations: &[OperationRecord],
    now: u64,
) -> u64 {
    let mut digest = Digest::default();
    digest.add(&flusher.digests());
    for port in ports {
        port.digest(&mut digest);
    }
    for flow in unfinished {
        flow.digest(&mut digest);
    }
    for operation in operations {
        operation.digest(&mut digest);
    }
    digest.add(&[now]);
    digest.value()
}
