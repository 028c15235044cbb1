//! The syntax of scenario files, independent of their sections.
//!
//! * `tree`: a TOML document in which every value has its position, with overrides applied.
//! * `reading`: the reading of one file: the problems found, and the position of each key.
//! * [`setting`]: the types that a key can have, each read, bounded, written back and described.
//! * [`section`]: sets of keys. One declaration for each key gives its field, reading, default, range,
//!   writing, schema and description.
//! * `write`: writing TOML.
//! * `suggest`: the nearest known word.
//! * `foreign`: files of other programs that a scenario names.
//!
//! Nothing here depends on any section, topology, traffic or algorithm; these depend on the grammar. A test
//! checks the `use` lines (`tests/test_rooms.py`).

pub(crate) mod foreign;
pub(crate) mod reading;
pub mod section;
pub mod setting;
pub(crate) mod suggest;
pub(crate) mod tree;
pub(crate) mod write;

pub use section::{Entry, Fallback, KeyInfo};
pub use setting::{Bound, Shape};
pub use suggest::nearest;
