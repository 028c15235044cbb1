//! An exact, parallel, bit-deterministic packet-level simulator of datacenter networks.
//!
//! A simulation is described by plain data (module [`describe`]) and run by [`run`]; it passes records to a
//! [`Sink`] while it runs and returns an [`Outcome`] at the end. The same description gives the same
//! results, bit by bit, on any number of threads and on the reference engine ([`run_reference`]), which
//! [`Outcome::fingerprint`] shows.

mod balancing;
mod bound;
mod circuits;
pub mod describe;
mod engine;
#[cfg(test)]
mod example;
mod forwarding;
mod host;
mod packet;
mod pause_map;
mod port;
mod queue_set;
pub mod random;
pub mod record;
mod route;
mod switch;
mod timeline;

use core::fmt;

use incast_cc::Path;
use incast_units::{Bytes, Time};

pub use bound::job_bounds;
pub use describe::{Simulation, network::Network};
pub use record::{Outcome, Sink};

use describe::flow::Flow;
use engine::world::World;
use record::{FlowRecord, Flusher};

/// Reason for which a description cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub(crate) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Runs a simulation to its end on `simulation.threads` threads.
///
/// # Errors
/// When the description is inconsistent; nothing has run then.
pub fn run(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    let world = World::new(simulation)?;
    let slots = world.nodes(simulation)?;
    let mut flusher = Flusher::default();
    let (cause, now, remains) = engine::windows::run(simulation, &world, slots, &mut flusher, sink);
    Ok(remains.outcome(cause, now, simulation, &world, flusher, sink))
}

/// The records of flows that had not started when the run ended: nothing sent, no completion time.
///
/// # Errors
/// When the description contradicts itself.
pub fn not_started(simulation: &Simulation, flows: &[u32]) -> Result<Vec<FlowRecord>, Invalid> {
    if flows.is_empty() {
        return Ok(Vec::new());
    }
    let world = World::new(simulation)?;
    let start = |flow: u32| simulation.flows[flow as usize].start;
    let record = |&flow: &u32| FlowRecord {
        flow,
        start: start(flow),
        finish: Time::NEVER,
        delivered: Time::NEVER,
        bytes: Bytes::ZERO,
        packets: 0,
        resent: 0,
        marked: 0,
        timeouts: 0,
        base_rtt: world.path(flow, start(flow)).base_rtt,
        ideal: Time::NEVER,
        ideal_plain: Time::NEVER,
    };
    Ok(flows.iter().map(record).collect())
}

/// Returns the path properties given to each flow's algorithm, as they are at the flow's start.
///
/// # Errors
/// When the description contradicts itself.
pub fn told_paths(simulation: &Simulation) -> Result<Vec<Path>, Invalid> {
    let world = World::new(simulation)?;
    let flows = (0_u32..).zip(&simulation.flows);
    Ok(flows.map(|(number, flow)| world.told_path(number, flow.start)).collect())
}

/// Gives records of flows that were not simulated the base RTT of their paths and, for the payload in them, the
/// completion times on idle paths.
///
/// # Errors
/// When the description contradicts itself.
pub fn add_idle_times(simulation: &Simulation, records: &mut [FlowRecord]) -> Result<(), Invalid> {
    let world = World::new(simulation)?;
    for record in records {
        let Some(&Flow { start, .. }) = simulation.flows.get(record.flow as usize) else {
            return Err(Invalid(format!("there is no flow {}", record.flow)));
        };
        record.base_rtt = world.path(record.flow, start).base_rtt;
        record.ideal = world.ideal_time(record.flow, start, record.bytes.get());
        record.ideal_plain = world.plain_ideal_time(record.flow, start, record.bytes.get());
    }
    Ok(())
}

/// Runs a simulation on the reference engine: one heap, one event at a time. It is slow and gives the same
/// results; the other engine is tested against it.
///
/// # Errors
/// When the description contradicts itself; nothing has run then.
pub fn run_reference(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    let world = World::new(simulation)?;
    let slots = world.nodes(simulation)?;
    let (cause, now, remains) = engine::reference::run(simulation, &world, slots, sink);
    Ok(remains.outcome(cause, now, simulation, &world, Flusher::default(), sink))
}
