//! The switch in user space.

use std::sync::{Mutex, PoisonError};

use incast_lab::run::RunError;
use incast_units::Time;
use pyo3::prelude::*;

use super::measured::{MeasuredPort, PortSample};
use super::planned::{Plan, PlannedSwitches, PortKey};
use crate::error;

/// A switch in user space, which forwards from its making on, in a thread of its own.
#[pyclass(frozen, module = "incast")]
pub(crate) struct Switch {
    /// The ports of the model.
    keys: Vec<PortKey>,
    running: Mutex<Option<incast_softswitch::Switch>>,
}

/// Totals of a switch.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Default)]
pub(crate) struct Forwarded {
    /// Samples of ports, by time.
    samples: Vec<Py<PortSample>>,
    /// Totals of ports.
    ports: Vec<Py<MeasuredPort>>,
    /// Frames to hosts.
    delivered: u64,
    /// Of these, the ones that were more than 100 microseconds late.
    late: u64,
    /// Of these, the ones that were more than a millisecond late.
    very_late: u64,
    /// The most that one was late, in ps.
    latest_ps: u64,
    /// Frames that devices did not take.
    refused: u64,
}

#[pymethods]
impl Switch {
    /// Forwards between packet sockets, one for each host, which may be closed. With `telemetry`, ports of switches
    /// write it into packets with room for it.
    #[new]
    fn new(sockets: Vec<i32>, plan: &Plan, telemetry: bool, seed: u64) -> PyResult<Self> {
        let PlannedSwitches { network, switch, largest_packet } = plan.switches.get();
        let model = incast_softswitch::Model::new(network, switch, *largest_packet, telemetry, seed);
        let model = model.map_err(|invalid| error::run(RunError::Invalid(invalid)))?;
        let keys = model.ports().map(PortKey::from).collect();
        let running = incast_softswitch::Switch::start(model, &sockets)?;
        Ok(Self { keys, running: Mutex::new(Some(running)) })
    }

    /// Counts, and samples ports, from a time of the monotonic clock in ns on. Times for samples are in ps from then.
    fn begin(
        &self,
        start_ns: u64,
        sampled: Vec<PortKey>,
        from_ps: u64,
        interval_ps: u64,
        until_ps: Option<u64>,
    ) {
        let place = |key: &PortKey| self.keys.iter().position(|known| known == key);
        let sampling = incast_softswitch::model::Sampling {
            ports: sampled.iter().filter_map(place).collect(),
            from: Time::from_ps(from_ps),
            interval: Time::from_ps(interval_ps),
            until: until_ps.map_or(Time::NEVER, Time::from_ps),
        };
        if let Some(switch) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            switch.begin(Time::from_ns(start_ns), sampling);
        }
    }

    /// Stops forwarding.
    fn stop(&self, py: Python<'_>) -> PyResult<Forwarded> {
        let switch = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(switch) = switch else { return Ok(Forwarded::default()) };
        let done = py.detach(|| switch.stop())?;
        let samples = done.samples.iter().map(|sample| {
            let PortKey { node, port } = self.keys[sample.port];
            let sample = PortSample {
                time_ps: sample.time.ps(),
                node_id: node,
                port,
                queue_bytes: sample.queue,
                transmitted_bytes: sample.totals.transmitted,
                dropped_bytes: sample.totals.dropped,
                marked_packets: sample.totals.marked,
                paused: sample.paused,
            };
            Py::new(py, sample)
        });
        let ports = self.keys.iter().zip(&done.totals).map(|(&PortKey { node, port }, totals)| {
            let totals = MeasuredPort {
                node_id: node,
                port,
                transmitted_bytes: totals.transmitted,
                transmitted_packets: totals.packets,
                dropped_bytes: totals.dropped,
                dropped_packets: totals.drops,
                marked_packets: totals.marked,
                peak_queue_bytes: totals.peak,
                paused_ps: totals.paused.ps(),
                pauses_sent: totals.pauses,
            };
            Py::new(py, totals)
        });
        Ok(Forwarded {
            samples: samples.collect::<PyResult<_>>()?,
            ports: ports.collect::<PyResult<_>>()?,
            delivered: done.delivered,
            late: done.late.0,
            very_late: done.late.1,
            latest_ps: done.latest.ps(),
            refused: done.refused,
        })
    }
}
