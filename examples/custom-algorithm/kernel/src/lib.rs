//! The algorithm of the crate above, the same file, as functions for the kernel.
#![no_std]

#[macro_use]
#[path = "../../../../crates/cc/bpf/src/functions.rs"]
mod functions;

#[path = "../../src/lib.rs"]
mod algorithm;

use algorithm::Target;

functions!(target: Target);
