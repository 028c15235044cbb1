//! Algorithms in shared libraries, for scenarios: what `incast_cc.h` describes as `incast_plugin`.
//!
//! [`load`] opens a library, checks what its plugins say of themselves, and registers each under its name
//! ([`incast_lab::plugin`]). In a run, what a plugin returns is checked after every call, and a crash in its code
//! is reported with its name.
//!
//! * [`load`]: opens a library.
//! * [`abi`]: the structures of the header that are about plugins.
//! * `description`: what a plugin says of itself, and what of it is refused.
//! * `flow`: a plugin as an algorithm of the simulator.
//! * `crash`: the message when a plugin's code crashes.
//!
//! # Safety
//! Code of a library runs in this process with all its rights. What is checked finds mistakes, not intent.

pub mod abi;
mod crash;
mod description;
mod floats;
mod flow;
mod library;
mod names;

pub use library::{LoadError, load};
