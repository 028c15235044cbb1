//! Small complete examples of extensions of the simulator, one file each, as shown in `docs/dev/extend`. They
//! are compiled and run in the tests only.

pub(crate) mod node;
pub(crate) mod recovery;
pub(crate) mod transport;
