//! From a scenario on disk to checked results.
//!
//! * [`grammar`]: what a scenario file is, apart from what it can say.
//! * [`scenario`]: from a description on disk to a checked one, and from that to a simulation.
//! * [`topology`]: networks from a few numbers.
//! * [`traffic`]: flows from a few numbers.
//! * [`files`]: reading files that a person names.
//! * [`formats`]: files of other programs, read and written.
//! * [`plugin`]: algorithms that are not in the catalogue and that scenarios can name.
//! * [`problem`]: what is wrong with something that a person wrote, and where.
//! * [`limits`]: how large a scenario may be.
//! * [`run`]: running a simulation.
//! * [`results`]: what a run leaves behind, in memory and on disk.
//! * [`schema`]: the JSON Schema of scenario files.
//! * [`summary`]: the numbers of a comparison table.
//! * [`sizes`]: distributions of flow sizes.

mod cc;
pub mod files;
pub mod formats;
pub mod grammar;
mod hash;
pub mod limits;
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

pub use problem::{Problem, Problems};
pub use scenario::{Built, Scenario};
