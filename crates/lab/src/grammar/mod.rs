//! What a scenario file *is*, apart from what it can say.
//!
//! * `tree`: a TOML document in which every value knows where it was written, with overrides applied.
//! * `reading`: one reading of one file, the problems found on the way, and where each key stands.
//! * [`setting`]: the types that a key can have, each read, bounded, written back and described.
//! * [`section`]: sets of keys. One declaration for each key gives its field, reading, default, range,
//!   writing, schema and description.
//! * `write`: writing TOML.
//! * `suggest`: the nearest known word.
//! * `foreign`: files of other programs that a scenario names.
//!
//! Nothing here knows any section, topology, traffic or algorithm: those know the grammar, and not the
//! other way round. A test holds this against the `use` lines (`tests/modules.rs`).

pub(crate) mod foreign;
pub(crate) mod reading;
pub mod section;
pub mod setting;
pub(crate) mod suggest;
pub(crate) mod tree;
pub(crate) mod write;

pub use section::{Entry, Fallback, KeyInfo};
pub use setting::{Bound, Shape};
