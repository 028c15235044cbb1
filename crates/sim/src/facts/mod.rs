//! Facts that all nodes share: a description made ready to run.
//!
//! Each part has its file, and a user imports the parts that it needs: switches and ports the [`fabric`], transports
//! the [`flows`] on it, workloads the [`work`], hosts both of these ([`hosts`]). The whole is for what makes and runs the
//! nodes.

pub(crate) mod check;
pub(crate) mod circuits;
pub(crate) mod edges;
pub(crate) mod ending;
pub(crate) mod fabric;
pub(crate) mod flows;
pub(crate) mod graph;
pub(crate) mod hosts;
pub(crate) mod stamps;
pub(crate) mod work;

use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::probe::Probes;

use fabric::Fabric;
use flows::FlowFacts;
use hosts::HostFacts;
use work::WorkFacts;

/// Facts that all nodes share, constant over the run.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) hosts: HostFacts<'a>,
    pub(crate) probes: &'a Probes,
    /// For every host, the flows from it and to it in the order of its indices; kept only when
    /// packets are captured, to name their flows.
    pub(crate) by_host: Vec<[Vec<u32>; 2]>,
}

impl<'a> Facts<'a> {
    /// Checks a description and prepares it.
    ///
    /// # Errors
    /// When the description contradicts itself.
    pub(crate) fn new(simulation: &'a Simulation) -> Result<Self, Invalid> {
        let mut flows = FlowFacts::new(simulation).map_err(Invalid)?;
        let work = WorkFacts::new(simulation).map_err(Invalid)?;
        check::check(simulation, &flows).map_err(Invalid)?;
        flows.find_paths();
        let by_host = flows_by_host(simulation);
        Ok(Self { hosts: HostFacts { flows, work }, probes: &simulation.probes, by_host })
    }

    /// Returns the facts of flows.
    pub(crate) fn flows(&self) -> &FlowFacts<'a> {
        &self.hosts.flows
    }

    /// Returns the facts of the network.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.hosts.flows.fabric
    }
}

impl AsRef<Fabric> for Facts<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &Fabric {
        self.fabric()
    }
}

impl<'a> AsRef<HostFacts<'a>> for Facts<'a> {
    #[inline(always)]
    fn as_ref(&self) -> &HostFacts<'a> {
        &self.hosts
    }
}

fn flows_by_host(simulation: &Simulation) -> Vec<[Vec<u32>; 2]> {
    if simulation.probes.captures.is_empty() {
        return Vec::new();
    }
    let mut by_host = vec![[Vec::new(), Vec::new()]; simulation.network.hosts as usize];
    for (index, flow) in simulation.served() {
        for (host, side) in [(flow.source, 0), (flow.destination, 1)] {
            if let Some(lists) = by_host.get_mut(host as usize) {
                lists[side].push(index);
            }
        }
    }
    by_host
}
