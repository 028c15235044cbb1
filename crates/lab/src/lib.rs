//! From a scenario on disk to checked results.
//!
//! * [`problem`]: what is wrong with something that a person wrote, and where.
//! * [`run`]: running a simulation.
//! * [`results`]: what a run leaves behind, in memory and on disk.
//! * [`summary`]: the numbers of a comparison table.
//! * [`sizes`]: distributions of flow sizes.

pub mod problem;
pub mod results;
pub mod run;
pub mod sizes;
pub mod summary;

pub use problem::{Problem, Problems};
