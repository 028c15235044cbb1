//! From a scenario on disk to checked results.
//!
//! * [`problem`]: what is wrong with something that a person wrote, and where.

pub mod problem;

pub use problem::{Problem, Problems};
