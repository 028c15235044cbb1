//! An exact, parallel, bit-deterministic packet-level simulator of datacenter networks.
//!
//! A simulation is described by plain data (module [`describe`]) and run by [`run()`]; it passes records to a
//! [`Sink`] while it runs and returns an [`Outcome`] at the end. The same description gives the same
//! results, bit by bit, on any number of threads and on the reference engine ([`run_reference`]), which
//! [`Outcome::fingerprint`] shows.

mod balancing;
#[cfg(feature = "examples")]
mod example;
mod facts;
mod host;
mod node;
mod nodes;
mod packet_queue;
mod pauses;
mod port;
mod rank;
mod recovery;
mod relative;
mod run;
mod switch;

pub use incast_engine::scaling;
pub use incast_net::describe::{Simulation, network::Network};
pub use incast_net::record::{Outcome, Sink};
pub use incast_net::routing::timeline::outages;
pub use incast_net::{Invalid, canary, describe, queue_set, random, record, rules};
pub use run::{
    PartTimes, Visits, add_idle_times, job_bounds, network_round_trip, not_started, path_infos, run,
    run_alone, run_reference, run_restless, run_timed, run_traced,
};
