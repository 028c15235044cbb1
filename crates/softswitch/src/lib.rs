//! A switch in user space: it forwards real packets between kernels with the rates, delays, buffers and marks of
//! a scenario.
//!
//! * [`model`]: what happens to packets and when, without a clock and without sockets.
//! * [`frame`]: what the model reads and changes in a packet.
//! * [`thread`]: the model between real devices, on a thread of its own. Linux only.
//! * `system`: the system calls for that.
//!
//! All links and switches of a scenario are in one model, so that packets enter and leave user space once. Times in
//! the model are exact: a thread that wakes up late lets packets out late, but what follows in the model is as if it
//! had been in time, so that rates hold.

pub mod frame;
pub mod model;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
pub mod thread;

pub use model::{Model, Sample, Totals};
#[cfg(target_os = "linux")]
pub use thread::{Done, Switch};
