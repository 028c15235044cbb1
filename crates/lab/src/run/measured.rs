//! Results of flows that were measured and not simulated, in the same tables.

use core::ops::ControlFlow;

use incast_sim::record::{
    End, FlowRecord, FlowSample, InternalSample, OperationRecord, Outcome, PortSample, PortTotals,
};
use incast_sim::{Invalid, Simulation, Sink, add_idle_times, job_bounds};
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
    /// Passes the measurements to the tables, as the simulator passes its records.
    fn pass_to(&self, simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
        let mut flows = self.flows.clone();
        add_idle_times(simulation, &mut flows)?;
        flows.sort_unstable_by_key(|record| (record.finish, record.flow));
        let fingerprint = self.fingerprint(&flows);
        let unfinished = flows.split_off(flows.partition_point(|record| record.finish != Time::NEVER));
        let mut operations = self.operations.clone();
        operations.sort_unstable_by_key(|record| (record.end, record.operation));
        let open = operations.split_off(operations.partition_point(|record| record.end != Time::NEVER));
        let counts = |record: &&FlowRecord| {
            simulation.flows.get(record.flow as usize).is_some_and(|flow| flow.counted)
        };
        let all = || flows.iter().chain(&unfinished);
        let sent: u64 = all().map(|record| record.packets).sum();
        // What a receiver has, the sender need not know yet.
        let payload = simulation.transport.payload.get().max(1);
        let known: u64 = all().map(|record| record.bytes.get().div_ceil(payload)).sum();
        let delivered =
            if unfinished.is_empty() { sent.saturating_sub(self.dropped) } else { known.min(sent) };
        let outcome = Outcome {
            end: self.end.clone(),
            now: self.now,
            flows_finished: flows.iter().filter(counts).count() as u64,
            hops: self.ports.iter().map(|port| port.packets).sum(),
            sent,
            delivered,
            dropped: self.dropped,
            tied: 0,
            lossless: 0,
            lost: 0,
            corrupted: 0,
            trimmed: 0,
            held_up: 0,
            in_flight: sent.saturating_sub(delivered + self.dropped),
            ports: self.ports.clone(),
            unfinished,
            limits: Vec::new(),
            deadlock: Vec::new(),
            operations_ended: operations.len() as u64,
            unfinished_operations: open,
            bounds: job_bounds(simulation)?,
            reuse: None,
            fingerprint,
            violations: Vec::new(),
        };
        sink.flows(&flows);
        sink.operations(&operations);
        sink.port_samples(&self.port_samples);
        sink.flow_samples(&self.flow_samples);
        sink.internals(&self.internals);
        Ok(outcome)
    }

    /// Returns a hash of all measurements, with the base RTT and the ideal times of these flows.
    fn fingerprint(&self, flows: &[FlowRecord]) -> u64 {
        // The records of flows that were measured lack what is computed. The testbed and why it ended are texts
        // beside the tables.
        let Self {
            testbed: _,
            end: _,
            now,
            dropped,
            flows: _,
            operations,
            port_samples,
            flow_samples,
            internals,
            ports,
            frames,
        } = self;
        let mut hash = Hash::default();
        hash.add(&[now.ps(), *dropped]);
        flows.iter().for_each(|record| hash.add(&record.words()));
        operations.iter().for_each(|record| hash.operation(record));
        port_samples.iter().for_each(|sample| hash.port_sample(sample));
        flow_samples.iter().for_each(|sample| hash.flow_sample(sample));
        internals.iter().for_each(|sample| hash.internal(sample));
        ports.iter().for_each(|totals| hash.port(totals));
        frames.iter().for_each(|frame| hash.frame(frame));
        u64::from_str_radix(&hash.0.finish(), 16).unwrap_or(0)
    }
}

/// The hash of measurements. Every record is taken apart, so that a field cannot be forgotten.
#[derive(Default)]
struct Hash(Digest);

impl Hash {
    fn add(&mut self, values: &[u64]) {
        values.iter().for_each(|value| self.0.update(&value.to_le_bytes()));
    }

    fn operation(&mut self, record: &OperationRecord) {
        let OperationRecord { operation, start, end } = *record;
        self.add(&[u64::from(operation), start.ps(), end.ps()]);
    }

    fn port_sample(&mut self, sample: &PortSample) {
        let PortSample { time, node, port, queue, transmitted, dropped, marked, paused, samples } = *sample;
        self.add(&[time.ps(), u64::from(node), u64::from(port), queue.get(), transmitted.get()]);
        self.add(&[dropped.get(), marked, u64::from(paused), samples]);
    }

    fn flow_sample(&mut self, sample: &FlowSample) {
        let FlowSample { time, flow, window, rate, rtt, inflight, acked, samples } = *sample;
        self.add(&[time.ps(), u64::from(flow), window.get(), rate.bps(), rtt.ps()]);
        self.add(&[inflight.get(), acked.get(), samples]);
    }

    fn internal(&mut self, sample: &InternalSample) {
        let InternalSample { time, flow, internal, value, samples } = *sample;
        let (kind, bits) = value.bits();
        self.add(&[time.ps(), u64::from(flow), u64::from(internal), u64::from(kind), bits, samples]);
    }

    fn port(&mut self, totals: &PortTotals) {
        let PortTotals {
            node,
            port,
            transmitted,
            packets,
            drops,
            dropped,
            marked,
            trimmed,
            corrupted,
            peak_queue,
            paused,
            pauses_sent,
            // No testbed has a watchdog of PFC, nor a host that is slow on purpose.
            storms: _,
            storm_drops: _,
            receiver_drops: _,
        } = *totals;
        self.add(&[u64::from(node), u64::from(port), transmitted.get(), packets, drops]);
        self.add(&[dropped.get(), marked, trimmed, corrupted, peak_queue.get(), paused.ps(), pauses_sent]);
    }

    fn frame(&mut self, frame: &Frame) {
        let Frame { time, port: (node, port), length, bytes } = frame;
        self.add(&[time.ps(), u64::from(*node), u64::from(*port), length.get(), bytes.len() as u64]);
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_units::Bytes;

    #[test]
    fn the_fingerprint_depends_on_computed_times_too() {
        let measured = Measured {
            testbed: TestbedInfo {
                switch: "kernel".to_owned(),
                kernel: "6.18".to_owned(),
                controls: Default::default(),
                notes: Vec::new(),
                wall_s: 1.0,
                clock_ns: 0,
            },
            end: End::Finished,
            now: Time::from_us(9),
            dropped: 0,
            flows: Vec::new(),
            operations: Vec::new(),
            port_samples: Vec::new(),
            flow_samples: Vec::new(),
            internals: Vec::new(),
            ports: Vec::new(),
            frames: vec![Frame { time: Time::ZERO, port: (0, 1), length: Bytes::new(60), bytes: vec![1] }],
        };
        let flow = FlowRecord {
            finish: Time::from_us(8),
            delivered: Time::from_us(7),
            bytes: Bytes::new(1000),
            packets: 1,
            base_rtt: Time::from_us(2),
            ideal: Time::from_us(3),
            ideal_plain: Time::from_us(3),
            ..FlowRecord::BLANK
        };
        let usual = measured.fingerprint(&[flow]);
        assert_eq!(measured.fingerprint(&[flow]), usual);
        let later = Time::from_us(4);
        let others = [
            FlowRecord { base_rtt: later, ..flow },
            FlowRecord { ideal: later, ..flow },
            FlowRecord { ideal_plain: later, ..flow },
            FlowRecord { delivered: later, ..flow },
        ];
        for other in others {
            assert_ne!(measured.fingerprint(&[other]), usual, "{other:?}");
        }
        let mut seen = measured.clone();
        seen.frames[0].bytes = vec![2];
        assert_ne!(seen.fingerprint(&[flow]), usual);
    }
}
