//! Transports: how the data of a flow gets from host to host.
//!
//! A host has one transport, which manages all flows from it and to it. The host's network cards request
//! packets from it when a source of data is scheduled, and deliver arriving packets and timers to it.

pub(crate) mod any;
pub(crate) mod context;
mod homa;
mod ndp;
mod reply;
mod window;
