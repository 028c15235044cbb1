//! An exact, parallel, bit-deterministic packet-level simulator of datacenter networks.
//!
//! A simulation is described by plain data (module [`describe`]) and run by [`run`]; it passes records to a
//! [`Sink`] while it runs and returns an [`Outcome`] at the end. The same description gives the same
//! results, bit by bit, on any number of threads and on the reference engine ([`run_reference`]), which
//! [`Outcome::fingerprint`] shows.

mod balancing;
pub mod describe;
mod engine;
#[cfg(test)]
mod example;
mod facts;
mod host;
mod node;
mod nodes;
mod packet;
mod pause_map;
mod port;
mod queue_set;
pub mod random;
mod rank;
pub mod record;
mod recovery;
mod routing;
mod run;
mod switch;

use core::fmt;

pub use describe::{Simulation, network::Network};
pub use record::{Outcome, Sink};
pub use run::{add_idle_times, job_bounds, not_started, run, run_reference, told_paths};

/// Why a description cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub(crate) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}
