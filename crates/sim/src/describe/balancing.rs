//! Load balancing: how the packets of a flow are spread over equal paths.

pub use crate::balancing::{Balancing, Settings};
