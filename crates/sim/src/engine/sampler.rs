//! When a node takes samples, and of what.

use incast_units::Time;

use super::event::Tally;
use super::node::{Behaviour, Node};
use super::world::World;
use crate::describe::network::{NodeId, PortId};
use crate::describe::probe::Probes;

/// When nothing happens for long, so many samples of a series are taken before they may be flushed and
/// the run interrupted.
const SAMPLES_IN_A_STEP: u64 = 1024;

/// When a node takes samples, and of what.
#[derive(Debug)]
pub(super) struct Sampler {
    /// The earliest sample due. (ps)
    next: u64,
    ports: Vec<PortId>,
    port_next: u64,
    port_interval: u64,
    flow_next: u64,
    flow_interval: u64,
    /// Whether flows are sampled with the internal quantities of their congestion controls.
    internals: bool,
    until: u64,
}

impl Sampler {
    pub(super) const fn none() -> Self {
        Self {
            next: u64::MAX,
            ports: Vec::new(),
            port_next: u64::MAX,
            port_interval: u64::MAX,
            flow_next: u64::MAX,
            flow_interval: u64::MAX,
            internals: false,
            until: 0,
        }
    }

    pub(super) fn new(probes: &Probes, id: NodeId, node: &Node) -> Self {
        let mut ports: Vec<PortId> =
            probes.ports.iter().filter(|(at, _)| *at == id).map(|(_, port)| *port).collect();
        ports.sort_unstable();
        ports.dedup();
        let flows = node.has_samples();
        let first = |any: bool| if any { probes.from.ps() } else { u64::MAX };
        let (port_next, flow_next) = (first(!ports.is_empty()), first(flows));
        Self {
            next: port_next.min(flow_next),
            ports,
            port_next,
            port_interval: probes.port_interval.ps().max(1),
            flow_next,
            flow_interval: probes.flow_interval.ps().max(1),
            internals: probes.internals,
            until: probes.until.ps(),
        }
    }

    /// When the next sample is due. (ps)
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The time up to which the samples of one step fit. (ps)
    pub(super) fn end_of_step(&self) -> u64 {
        let interval = self.port_interval.min(self.flow_interval);
        self.next.saturating_add(interval.saturating_mul(SAMPLES_IN_A_STEP))
    }

    /// Takes all samples due before `before`.
    pub(super) fn run(&mut self, id: NodeId, node: &Node, before: u64, world: &World, tally: &mut Tally) {
        while self.port_next < before && self.port_next <= self.until {
            for &port in &self.ports {
                let Some(wire) = node.wire(port) else { continue };
                let sample = wire.sample(self.port_next, id, port, node.queued(port));
                tally.records.port_samples.push(sample);
            }
            self.port_next = self.port_next.saturating_add(self.port_interval);
        }
        while self.flow_next < before && self.flow_next <= self.until {
            let time = Time::from_ps(self.flow_next);
            node.sample_flows(time, &mut tally.records.flow_samples, world);
            if self.internals {
                node.sample_internals(time, &mut tally.records.internals);
            }
            self.flow_next = self.flow_next.saturating_add(self.flow_interval);
        }
        self.next = self.port_next.min(self.flow_next);
        if self.next > self.until {
            self.next = u64::MAX;
        }
    }
}
