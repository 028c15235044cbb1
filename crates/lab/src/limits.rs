//! How large a scenario may be.

/// Most hosts that a topology may have.
pub const MAX_HOSTS: u64 = 65_536;
/// Most switches that a topology may have.
pub const MAX_SWITCHES: u64 = 65_536;
/// Most ports that a node may have.
pub const MAX_PORTS: u64 = 65_535;
/// Most flows that a block of traffic may make.
pub const MAX_FLOWS: u64 = 20_000_000;
