//! One behaviour: traces of signals are replayed through every form in which the algorithms are built (native Rust,
//! the shared library for C, WebAssembly, kernel BPF), and windows, rates, timers, tags and the bytes of the whole
//! state are compared after every call.
//!
//! * [`trace`]: what a trace is, byte by byte.
//! * [`record`]: traces, from the simulator and from the random signals of the properties of `incast-cc`.
//! * [`recording`]: calls of real connections, with what the kernel computed.
//! * [`digest`]: one number for everything that was seen so far.
//! * [`native`]: the replay in Rust, and which bytes of a state are padding.
//! * [`targets`]: the other forms, each a program that replays a trace.
//! * [`agree`]: the comparison, and the first difference in words.

pub mod agree;
mod browser;
pub mod digest;
pub mod native;
pub mod record;
pub mod recording;
pub mod targets;
pub mod trace;
