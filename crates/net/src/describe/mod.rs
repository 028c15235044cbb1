//! The simulation as plain data: network, switches, transport, flows, probes.

pub mod algorithm;
pub mod balancing;
pub mod bfc;
pub mod circuits;
pub mod control;
pub mod fault;
pub mod flow;
pub mod impairments;
pub(crate) mod named;
pub mod network;
pub mod probe;
pub mod reuse;
mod simulation;
pub mod switch;
pub mod transport;
pub mod work;

pub use named::Named;
pub use simulation::Simulation;
