//! From a checked scenario to a simulation: each of its parts is made from one section.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_sim::Simulation;
use incast_sim::describe::balancing::Balancing as Policy;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::work::Operation;

use super::Scenario;
use super::sections::{balancing, change, impairments, probe, run, switch};
use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::hash;
use crate::load::Window;
use crate::problem::{Problem, Problems};
use crate::results::Volume;
use crate::run::Job;
use crate::topology::Fabric;
use crate::traffic::connections::{self, Connections};
use crate::traffic::{self, Draft, hosts::World, work};

/// A scenario as the simulator runs it, with the names that results need.
#[derive(Clone, Debug)]
pub struct Built {
    /// The simulation, on one thread.
    pub simulation: Simulation,
    /// Names of the traffic blocks; a flow's `group` is an index into them.
    pub groups: Vec<String>,
    /// Names of the jobs; an operation's `job` is an index into them. A name is the name of its traffic
    /// block, or that and a part, like `ring/group3`.
    pub jobs: Vec<String>,
    /// The bytes of jobs that are collectives, by job.
    pub volumes: BTreeMap<u16, Volume>,
    /// Algorithms with their presets, like `oscar:paper`; a flow's `algorithm` is an index into them.
    pub algorithms: Vec<String>,
    /// The windows in which the loads of traffic blocks are measured.
    pub windows: Vec<Window>,
    /// The network, with names for its ports and a summary.
    pub fabric: Arc<Fabric>,
    /// The warnings about the scenario.
    pub warnings: Vec<Problem>,
}

impl Built {
    /// Returns the simulation as a job, under a name and with the effective scenario as text.
    #[must_use]
    pub fn job<'a>(&'a self, name: &'a str, scenario: &'a str) -> Job<'a> {
        let Self { simulation, groups, jobs, volumes, algorithms, warnings, windows, fabric: _ } = self;
        Job { simulation, name, scenario, groups, algorithms, jobs, volumes, warnings, windows }
    }
}

impl Scenario {
    /// Creates the flows and everything else that the simulator needs.
    ///
    /// # Errors
    /// When the traffic turns out too large, or a probe names a flow that does not exist.
    pub fn build(&self) -> Result<Built, Problems> {
        let mut reading = self.resume();
        let (root, fabric) = (&self.root, &self.checked.fabric);
        let scope = self.checked.scope(root);
        let (policy, balancing) = balancing::settings(&root.balancing, &root.switch);
        let Traffic { flows, order, operations, jobs, volumes, windows } = self.traffic(policy, &mut reading);
        let (until, stall_after, clock) = run::settings(&root.run, &scope.sections);
        let mut network = change::network(&root.change, &scope, fabric, &mut reading);
        network.clock = clock;
        let (impairments, detection) =
            impairments::settings(&scope, root.impairments.as_ref(), fabric, &mut reading);
        network.detection = detection;
        let simulation = Simulation {
            network,
            switch: switch::switches(&root.switch, &fabric.network),
            transport: root.transport.clone(),
            balancing,
            algorithms: self.checked.algorithms.iter().map(Cc::describe).collect(),
            probes: probe::probes(&root.probe, &scope.sections, fabric, (&flows, &windows), &mut reading),
            flows,
            order,
            operations,
            impairments,
            seed: root.seed,
            until,
            stall_after,
            reuse: root.run.reuse,
            draws: root.run.draws,
            threads: 1,
        };
        run::check_captures(&simulation, &mut reading);
        probe::check_rows(&simulation, root.run.until, &mut reading);
        if !reading.is_sound() {
            return Err(reading.into_problems());
        }
        Ok(Built {
            simulation,
            groups: self.groups().into_iter().map(str::to_owned).collect(),
            jobs,
            volumes,
            windows,
            algorithms: self.algorithms(),
            fabric: Arc::clone(fabric),
            warnings: self.warnings().to_vec(),
        })
    }

    /// Makes the flows and operations of all traffic blocks; `policy` is for flows whose block has none.
    fn traffic(&self, policy: Policy, reading: &mut Reading) -> Traffic {
        let world = World::new(&self.checked.fabric);
        let setting = traffic::Setting {
            world: &world,
            until: self.root.run.until,
            quickest: change::quickest(&self.root.change),
            local: self.root.sections().local,
        };
        let mut flows: Vec<(bool, Flow)> = Vec::new();
        let mut connected = 0;
        let (mut operations, mut jobs, mut windows) = (Vec::<Operation>::new(), Vec::new(), Vec::new());
        let mut volumes = BTreeMap::new();
        for (group, (block, algorithm)) in (0_u16..).zip(self.root.traffic.iter().zip(&self.checked.uses)) {
            let made = match block.pattern.make(&setting, self.root.seed, block.name()) {
                Ok(made) => made,
                Err(faults) => {
                    let section = format!("traffic.{}", block.name());
                    faults.into_iter().for_each(|fault| reading.fault(&section, fault));
                    continue;
                }
            };
            let numbers = [flows.len(), operations.len(), jobs.len()];
            let is_sent = made.sent();
            let every = self.root.probe.load_interval;
            windows.extend(made.window.map(|window| Window { group, every, ..window }));
            let counted = made.counted;
            jobs.extend(made.jobs.iter().map(|job| match job.as_str() {
                "" => block.name().to_owned(),
                part => format!("{}/{part}", block.name()),
            }));
            // More jobs than numbers are refused below.
            let of_block = made.volumes.into_iter();
            volumes.extend(of_block.map(|(job, volume)| (job.wrapping_add(numbers[2] as u16), volume)));
            operations.extend(made.operations.into_iter().map(|o| work::moved(o, numbers)));
            let key = |draft: &Draft| hash::key(self.root.seed, block.name(), draft.index);
            let described = |(draft, is_sent): (Draft, bool)| {
                (
                    is_sent,
                    Flow {
                        key: key(&draft),
                        source: draft.source,
                        destination: draft.destination,
                        cards: draft.cards,
                        size: draft.size,
                        start: draft.start,
                        stop: draft.stop,
                        queue: block.common.queue,
                        balancing: block.common.balancing.unwrap_or(policy),
                        algorithm: *algorithm,
                        connection: None,
                        group,
                        counted: counted.as_ref().is_none_or(|counted| counted.contains(&draft.start)),
                    },
                )
            };
            let first = flows.len();
            let channels: Vec<u32> = made.flows.iter().map(|draft| draft.channel).collect();
            flows.extend(made.flows.into_iter().zip(is_sent).map(described));
            if block.connections(self.root.transport.kind) == Connections::Pair {
                let own = channels.into_iter().zip(flows[first..].iter_mut().map(|(_, flow)| flow));
                match connections::connect(own, connected, self.root.seed, block.name()) {
                    Ok(made) => connected += made,
                    Err(fault) => reading.fault(&format!("traffic.{}", block.name()), fault),
                }
            }
        }
        if jobs.len() > usize::from(u16::MAX) {
            let message = format!("has {} jobs; at most {} are possible", jobs.len(), u16::MAX);
            reading.wrong_key("traffic", message);
        }
        let (flows, order) = work::numbered(&flows, &mut operations);
        if flows.is_empty() && reading.is_sound() {
            reading.wrong_key("traffic", "makes no flow before the run ends");
        }
        Traffic { flows, order, operations, jobs, volumes, windows }
    }
}

/// The flows of a scenario, with the operations and the names of the jobs to which they belong.
struct Traffic {
    flows: Vec<Flow>,
    order: Vec<u32>,
    operations: Vec<Operation>,
    jobs: Vec<String>,
    volumes: BTreeMap<u16, Volume>,
    windows: Vec<Window>,
}
