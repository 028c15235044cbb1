//! From a scenario on disk to checked results.
//!
//! * [`grammar`]: the syntax of scenario files, independent of their sections.
//! * [`scenario`]: from a description on disk to a checked one, and from that to a simulation.
//! * [`topology`]: networks from a few numbers.
//! * [`traffic`]: flows from a few numbers.
//! * [`workload`]: what ranks send, receive and compute, in an order that depends on each other.
//! * [`files`]: reading files that a user names.
//! * [`formats`]: files of other programs, read and written.
//! * [`plugin`]: registered algorithms in addition to the built-in ones.
//! * [`backend`]: which keys of a scenario the simulator honours, and which a testbed does.
//! * [`problem`]: errors in user input, with their position.
//! * [`limits`]: how large a scenario may be.
//! * [`load`]: the load that arrives and the load that is carried.
//! * [`run`]: running a simulation.
//! * [`results`]: the result of a run, in memory and on disk.
//! * [`schema`]: the JSON Schema of scenario files.
//! * [`summary`]: the numbers of a comparison table.
//! * [`sizes`]: distributions of flow sizes.

pub mod backend;
mod cc;
pub mod files;
pub mod formats;
pub mod grammar;
mod hash;
pub mod limits;
pub mod load;
pub mod plugin;
pub mod problem;
pub mod results;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod sizes;
pub mod summary;
pub mod topology;
pub mod traffic;
pub mod workload;

pub use problem::{Problem, Problems};
pub use scenario::{Built, Scenario};
