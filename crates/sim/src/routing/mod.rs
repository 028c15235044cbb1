//! Where packets go: the links over time, forwarding tables, the choice among equal-cost ports, and what follows
//! from them for a path.

pub(crate) mod forwarding;
pub(crate) mod path;
pub(crate) mod route;
pub(crate) mod timeline;
