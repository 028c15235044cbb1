//! Routes of packets: the links over time, forwarding tables, the choice among equal-cost ports, and what follows
//! from them for a path.

pub mod forwarding;
mod pair;
pub mod path;
pub mod route;
pub mod spread;
pub mod timeline;
