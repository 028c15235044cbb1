//! Results of flows that were measured and not simulated, in the same tables.

use core::ops::ControlFlow;

use incast_sim::record::{
    End, FlowRecord, FlowSample, InternalSample, OperationRecord, Outcome, PortSample, PortTotals,
};
use incast_sim::{Invalid, Simulation, Sink, add_idle_times};
use incast_units::Time;

use super::{Job, RunError, RunOptions, RunResult, run_beside};
use crate::formats::pcapng::Frame;
use crate::hash::Digest;
use crate::results::info::TestbedInfo;

/// Measurements of the flows of a scenario.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The testbed.
    pub testbed: TestbedInfo,
    /// Reason for which it ended.
    pub end: End,
    /// Time from the start of the scenario.
    pub now: Time,
    /// Data packets that did not arrive at receivers.
    pub dropped: u64,
    /// Every flow that started. Base RTT and completion times on idle paths are computed, whatever they say.
    pub flows: Vec<FlowRecord>,
    /// Every operation that started.
    pub operations: Vec<OperationRecord>,
    /// Samples of ports, by time.
    pub port_samples: Vec<PortSample>,
    /// Samples of flows, by time.
    pub flow_samples: Vec<FlowSample>,
    /// Samples of internal quantities of flows' algorithms, by time.
    pub internals: Vec<InternalSample>,
    /// Totals of ports.
    pub ports: Vec<PortTotals>,
    /// Packets of captured ports, by time.
    pub frames: Vec<Frame>,
}

/// Records the measurements of `job` in memory or on disk, as for a run.
///
/// # Errors
/// When the scenario contradicts itself, or the result's folder cannot be used or written.
pub fn record(job: &Job<'_>, options: &RunOptions, measured: &Measured) -> Result<RunResult, RunError> {
    let engine = |simulation: &Simulation, sink: &mut dyn Sink| measured.pass_to(simulation, sink);
    let options = RunOptions { testbed: Some(measured.testbed.clone()), ..options.clone() };
    run_beside(&engine, &measured.frames, job, &options, &mut |_| ControlFlow::Continue(()))
}

impl Measured {
    /// Stands in for the simulator.
    fn pass_to(&self, simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
        let mut flows = self.flows.clone();
        add_idle_times(simulation, &mut flows)?;
        flows.sort_unstable_by_key(|record| (record.finish, record.flow));
        let unfinished = flows.split_off(flows.partition_point(|record| record.finish != Time::NEVER));
        let mut operations = self.operations.clone();
        operations.sort_unstable_by_key(|record| (record.end, record.operation));
        let open = operations.split_off(operations.partition_point(|record| record.end != Time::NEVER));
        let all = || flows.iter().chain(&unfinished);
        let sent: u64 = all().map(|record| record.packets).sum();
        // What a receiver has, the sender need not know yet.
        let payload = simulation.transport.payload.get().max(1);
        let known: u64 = all().map(|record| record.bytes.get().div_ceil(payload)).sum();
        let delivered =
            if unfinished.is_empty() { sent.saturating_sub(self.dropped) } else { known.min(sent) };
        let mut outcome = Outcome {
            end: self.end.clone(),
            now: self.now,
            flows_finished: flows.len() as u64,
            hops: self.ports.iter().map(|port| port.packets).sum(),
            sent,
            delivered,
            dropped: self.dropped,
            lost: 0,
            trimmed: 0,
            in_flight: sent.saturating_sub(delivered + self.dropped),
            ports: self.ports.clone(),
            unfinished,
            deadlock: Vec::new(),
            operations_ended: operations.len() as u64,
            unfinished_operations: open,
            fingerprint: 0,
            violations: Vec::new(),
        };
        outcome.fingerprint = self.fingerprint();
        sink.flows(&flows);
        sink.operations(&operations);
        sink.port_samples(&self.port_samples);
        sink.flow_samples(&self.flow_samples);
        sink.internals(&self.internals);
        Ok(outcome)
    }

    /// A hash of everything that was measured.
    fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        let mut add = |values: &[u64]| values.iter().for_each(|v| digest.update(&v.to_le_bytes()));
        add(&[self.now.ps(), self.dropped]);
        for r in &self.flows {
            add(&[u64::from(r.flow), r.start.ps(), r.finish.ps(), r.delivered.ps(), r.bytes.get()]);
            add(&[r.packets, r.resent, r.marked, u64::from(r.timeouts)]);
        }
        for o in &self.operations {
            add(&[u64::from(o.operation), o.start.ps(), o.end.ps()]);
        }
        for s in &self.port_samples {
            add(&[s.time.ps(), u64::from(s.node), u64::from(s.port), s.queue.get(), s.transmitted.get()]);
            add(&[s.dropped.get(), s.marked, u64::from(s.paused)]);
        }
        for s in &self.flow_samples {
            add(&[s.time.ps(), u64::from(s.flow), s.window.get(), s.rate.bps(), s.rtt.ps()]);
            add(&[s.inflight.get(), s.acked.get()]);
        }
        for s in &self.internals {
            let (kind, value) = s.value.bits();
            add(&[s.time.ps(), u64::from(s.flow), u64::from(s.internal), u64::from(kind), value]);
        }
        for p in &self.ports {
            add(&[u64::from(p.node), u64::from(p.port), p.transmitted.get(), p.packets, p.drops]);
            add(&[p.dropped.get(), p.marked, p.peak_queue.get(), p.paused.ps(), p.pauses_sent]);
        }
        u64::from_str_radix(&digest.finish(), 16).unwrap_or(0)
    }
}
