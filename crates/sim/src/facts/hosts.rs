//! Facts of hosts: of the flows that their transports carry, and of the operations that start these.

use super::flows::FlowFacts;
use super::work::WorkFacts;

/// Facts that all hosts share, constant over the run.
#[derive(Debug)]
pub(crate) struct HostFacts<'a> {
    pub(crate) flows: FlowFacts<'a>,
    pub(crate) work: WorkFacts<'a>,
}
