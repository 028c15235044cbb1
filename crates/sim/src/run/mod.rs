//! A run from its description to its outcome.

mod bound;
mod build;
mod capture;
mod deadlock;
mod model;
mod outcome;
mod reuse;
mod sampler;
mod slot;
mod stall;
mod timed;
mod watch;

use incast_cc::{Overhead, Path};
use incast_engine::model::{Cause, Limits, Model, RunState};
use incast_engine::scaling::{self, Trace};
use incast_engine::{reference, windows};
use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::describe::network::{Network, NodeId};
use incast_net::describe::reuse::Reuse;
use incast_net::describe::transport::Transport;
use incast_net::record::{FlowRecord, Flusher, Outcome, Sink, Watched};
use incast_net::routing::route::Routes;
use incast_units::Time;

use crate::facts::Facts;
use crate::facts::check::HORIZON;
use crate::facts::ending::Ending;
use crate::facts::flows::sizes_with;
use slot::Slot;
use watch::Watch;

pub use bound::job_bounds;
pub use timed::{PartTimes, Visits, run_timed};

/// Runs a simulation to its end on `simulation.threads` threads; on one thread if what repeats itself is reused.
///
/// # Errors
/// When the description is inconsistent. Nothing has run then.
pub fn run(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    match simulation.reuse {
        Reuse::Off => run_all(simulation, sink),
        Reuse::Exact | Reuse::Summary => reuse::run(simulation, sink),
    }
}

/// Runs all of a simulation.
fn run_all(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    run_by(windows::run, simulation.threads, simulation, sink)
}

/// A function of the engine that runs nodes on a number of threads.
type RunNodes<'a> =
    fn(&Facts<'a>, Limits, usize, Vec<Slot>, &mut Flusher, &mut dyn Sink) -> (Cause, u64, RunState<Slot>);

/// Runs all of a simulation by one of the ways that the engine has.
fn run_by<'a>(
    run_nodes: RunNodes<'a>,
    threads: usize,
    simulation: &'a Simulation,
    sink: &mut dyn Sink,
) -> Result<Outcome, Invalid> {
    let facts = prepare(simulation)?;
    let nodes = build::nodes(&facts, simulation)?;
    let (limits, mut flusher) = (limits(simulation, &facts), Flusher::default());
    let mut sink = Watched { watch: Watch::new(simulation, &facts), sink };
    let ended = run_nodes(&facts, limits, threads, nodes, &mut flusher, &mut sink);
    Ok(outcome::outcome(ended, simulation, &facts, flusher, sink))
}

/// Runs a simulation to its end on one thread, in the parts that `threads` threads would share: what the parts cost without
/// anybody who helps.
///
/// # Errors
/// When the description is inconsistent. Nothing has run then.
pub fn run_alone(simulation: &Simulation, threads: usize, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    run_by(windows::run_alone, threads, simulation, sink)
}

/// Runs a simulation as [`run`] does, but changes the number of threads and what each of them does after every few windows:
/// for tests that nothing depends on it.
///
/// # Errors
/// When the description is inconsistent. Nothing has run then.
pub fn run_restless(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    run_by(windows::run_restless, simulation.threads, simulation, sink)
}

/// Runs a simulation to its end on one thread; returns what each node did in each window, too.
///
/// # Errors
/// When the description is inconsistent. Nothing has run then.
pub fn run_traced(simulation: &Simulation, sink: &mut dyn Sink) -> Result<(Outcome, Trace), Invalid> {
    let facts = prepare(simulation)?;
    let nodes = build::nodes(&facts, simulation)?;
    let (limits, mut flusher) = (limits(simulation, &facts), Flusher::default());
    let mut sink = Watched { watch: Watch::new(simulation, &facts), sink };
    let (cause, now, state, trace) = scaling::run(&facts, limits, nodes, &mut flusher, &mut sink);
    Ok((outcome::outcome((cause, now, state), simulation, &facts, flusher, sink), trace))
}

/// The records of flows that had not started when the run ended: nothing sent, no completion time.
///
/// # Errors
/// When the description contradicts itself.
pub fn not_started(simulation: &Simulation, flows: &[u32]) -> Result<Vec<FlowRecord>, Invalid> {
    if flows.is_empty() {
        return Ok(Vec::new());
    }
    let facts = Facts::new(simulation)?;
    let record = |&flow: &u32| facts.flows().open_record(flow, simulation.flows[flow as usize].start);
    Ok(flows.iter().map(record).collect())
}

/// Returns the path properties given to each flow's algorithm, as they are at the flow's start.
///
/// # Errors
/// When the description contradicts itself.
pub fn path_infos(simulation: &Simulation) -> Result<Vec<Path>, Invalid> {
    let facts = Facts::new(simulation)?;
    let flows = (0_u32..).zip(&simulation.flows);
    Ok(flows.map(|(number, flow)| facts.flows().path_info(number, flow.start)).collect())
}

/// Returns the largest base RTT of a network for packets to which no algorithm adds anything.
///
/// # Errors
/// When the network contradicts itself: what to say.
pub fn network_round_trip(network: &Network, transport: &Transport) -> Result<Time, String> {
    let sizes = sizes_with(transport, Overhead::default());
    let routes = Routes::to_cards(network, false)?;
    Ok(routes.largest_round_trip(sizes.data(sizes.payload), sizes.ack))
}

/// Gives records of flows that were not simulated the base RTT of their paths and the completion times on idle paths.
///
/// # Errors
/// When the description contradicts itself.
pub fn add_idle_times(simulation: &Simulation, records: &mut [FlowRecord]) -> Result<(), Invalid> {
    let facts = Facts::new(simulation)?;
    for record in records {
        let Some(&Flow { start, .. }) = simulation.flows.get(record.flow as usize) else {
            return Err(Invalid(format!("there is no flow {}", record.flow)));
        };
        let FlowRecord { cards, base_rtt, ideal, ideal_plain, .. } =
            facts.flows().record(record.flow, start, record.finish, record.bytes.get());
        *record = FlowRecord { cards, base_rtt, ideal, ideal_plain, ..*record };
    }
    Ok(())
}

/// Runs a simulation on the reference engine: one heap, one event at a time. It is slow and gives the same
/// results; the other engine is tested against it.
///
/// # Errors
/// When the description contradicts itself; nothing has run then.
pub fn run_reference(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    let facts = Facts::new(simulation)?;
    let nodes = build::nodes(&facts, simulation)?;
    let mut sink = Watched { watch: Watch::new(simulation, &facts), sink };
    let ended = reference::run(&facts, limits(simulation, &facts), nodes, &mut sink);
    Ok(outcome::outcome(ended, simulation, &facts, Flusher::default(), sink))
}

/// Returns the facts of a run on the windowed engine.
fn prepare(simulation: &Simulation) -> Result<Facts<'_>, Invalid> {
    let mut facts = Facts::new(simulation)?;
    let units = windows::units(&facts);
    let links =
        (0..facts.hosts()).flat_map(|host| facts.ports()[host].iter().zip(0..).map(move |at| (host, at)));
    let ends = links.flat_map(|(host, (out, port))| {
        let back = &facts.ports()[out.node as usize][usize::from(out.port)];
        [facts.shortest_delay(host as NodeId, port, out), facts.shortest_delay(out.node, out.port, back)]
    });
    let shortest = ends.min().unwrap_or_default();
    facts.hosts.flows.ending = Ending::new(&simulation.flows, &facts.hosts.work, units, shortest);
    Ok(facts)
}

/// Returns when a run ends at the latest. It has not stalled while a timer is to expire that no loss has followed yet, or a
/// watchdog of PFC, which ends all deadlocks, nor while a packet and its answer cross the slowest links.
fn limits(simulation: &Simulation, facts: &Facts) -> Limits {
    let pauses = simulation.switch.pfc.is_some() || simulation.switch.bfc.is_some();
    let settles_in = deadlock::settles_in(facts.fabric(), &simulation.switch);
    let watchdog = simulation.switch.watchdog();
    let acts_in = watchdog.map_or(Time::ZERO, |watchdog| watchdog.detect.times(2) + watchdog.restoration());
    let pauses = pauses && watchdog.is_none();
    // An answer may let another packet go that was sent for nothing.
    let crosses_in = facts.fabric().crosses_in().times(2);
    let patience = simulation.stall_after.max(simulation.transport.patience()).max(crosses_in);
    Limits {
        until: simulation.until.min(HORIZON).ps(),
        stall_after: (patience + acts_in).ps(),
        deadlock_after: if pauses { simulation.stall_after.max(settles_in).ps() } else { u64::MAX },
    }
}
