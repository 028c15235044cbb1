//! An exact, parallel, bit-deterministic packet-level simulator of datacenter networks.
//!
//! A simulation is described by plain data (module [`describe`]), run by [`run`], and tells what
//! happened to a [`Sink`] while it runs and in an [`Outcome`] at the end.

pub mod describe;
pub mod record;

pub use describe::{Simulation, network::Network};
pub use record::{Outcome, Sink};
