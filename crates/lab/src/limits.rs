//! Limits on the size of a scenario.

/// Maximum number of hosts of a topology.
pub const MAX_HOSTS: u64 = 65_536;
/// Maximum number of switches of a topology.
pub const MAX_SWITCHES: u64 = 65_536;
/// Maximum number of ports of a node.
pub const MAX_PORTS: u64 = 65_535;
/// Maximum number of flows of a traffic block.
pub const MAX_FLOWS: u64 = 20_000_000;
