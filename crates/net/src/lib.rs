//! Networks, traffic, packets and records of the simulator, as plain data.
//!
//! * [`describe`]: a description of a run, with all names that users can write.
//! * [`canary`]: deliberate faults, in the test build only.
//! * [`packet`]: packets by value; [`pause_map`], [`queue_set`]: sets that they carry or that order them.
//! * [`random`]: random draws without state.
//! * [`routing`]: links over time, forwarding tables, and the choice among equal paths.
//! * [`record`]: what a run writes while it runs, and its outcome.
//! * [`rules`]: the rules of a switch: admission to the buffer, PFC, ECN.

pub mod canary;
pub mod describe;
mod invalid;
pub mod packet;
pub mod pause_map;
pub mod queue_set;
pub mod random;
pub mod record;
pub mod routing;
pub mod rules;

pub use invalid::Invalid;
