//! The functions of the library, called as C calls them.
#![expect(unsafe_code, reason = "these are calls of C")]

mod equal;
mod flow;
mod status;
