//! Small complete examples of what can be added to the simulator, one file each, as CONTRIBUTING.md
//! shows them. They are compiled and run in the tests only.

pub(crate) mod node;
pub(crate) mod recovery;
pub(crate) mod transport;
