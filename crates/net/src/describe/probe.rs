//! Settings of records, sampled at the source so that a long run does not fill a disk.

use incast_units::Time;

use super::network::{NodeId, PortId};

/// Time series to record. Totals per port and one record per flow are always kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Ports whose queue, throughput and pause state are sampled.
    pub ports: Vec<(NodeId, PortId)>,
    /// Time between two samples of a port.
    pub port_interval: Time,
    /// Flows whose window, rate, RTT and progress are sampled at the sender.
    pub flows: Vec<u32>,
    /// Time between two samples of a flow.
    pub flow_interval: Time,
    /// Whether internal quantities of those flows' congestion control are sampled too.
    pub internals: bool,
    /// Ports whose packets are captured when their transmission begins.
    pub captures: Vec<(NodeId, PortId)>,
    /// Whether these packets are recorded in a table too.
    pub packets: bool,
    /// Whether every pause and resume of a port is recorded.
    pub pauses: bool,
    /// Time between two counts of the open flows by what keeps their next packets back; `None`: they are not counted.
    pub limits: Option<Time>,
    /// Traffic whose progress is summed up, whatever `from` and `until` say.
    pub loads: Vec<Load>,
    /// Time of the first sample.
    pub from: Time,
    /// No sample after this.
    pub until: Time,
}

/// Instants at which each host sums up what is acknowledged of its open flows of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The group of the flows.
    pub group: u16,
    /// The instants, in order.
    pub times: Vec<Time>,
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            port_interval: Time::from_us(1),
            flows: Vec::new(),
            flow_interval: Time::from_us(1),
            internals: false,
            captures: Vec::new(),
            packets: false,
            pauses: false,
            limits: None,
            loads: Vec::new(),
            from: Time::ZERO,
            until: Time::NEVER,
        }
    }
}
