//! Every algorithm of `incast-cc` behind a small C interface: the functions of the header `incast_cc.h`,
//! which a test generates from this source (`tests/header.rs`) and compares.
//!
//! * [`types`]: what C hands in and gets back, laid out as the types of the contract are.
//! * [`status`]: what went wrong.
//! * [`list`]: the algorithms, with their presets, parameters and internals.
//! * [`params`]: the parameters of an algorithm, set and read as text.
//! * [`flow`]: setups, flows and their calls.
//!
//! # Safety
//! What every function requires of its caller, and all that it requires:
//! - A pointer is null (which is refused, or allowed where the function says so), or leads to memory that
//!   is as large as the type says, or as the size beside it, and may be read, or written where it is not
//!   `const`. A text ends with a zero byte.
//! - Memory for parameters, setups and flows is used by nothing else during a call, except that any number
//!   of threads may read parameters and setups at the same time.
//! - A flow is used with the setup that it was started with, or with a copy of it.
//!
//! Nothing is allocated, nothing is kept between calls outside of the caller's memory, and no memory needs
//! to be given back. A panic would be a defect; it would end the process, and not unwind into C.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

pub mod flow;
pub mod list;
mod memory;
pub mod params;
pub mod status;
mod text;
pub mod types;
