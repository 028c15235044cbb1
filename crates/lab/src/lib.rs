//! From a scenario on disk to checked results.
//!
//! * [`problem`]: what is wrong with something that a person wrote, and where.
//! * [`sizes`]: distributions of flow sizes.

pub mod problem;
pub mod sizes;

pub use problem::{Problem, Problems};
