//! The engine: exact, parallel, in windows.
//!
//! Time advances in windows no longer than the smallest link delay, so that what a node receives in
//! a window was sent in an earlier one and every node can be processed on its own, on any thread. A
//! node handles its events in the order (time, rank, entity), which depends on neither threads nor
//! insertion. Packets travel by value in one ring per link.
//!
//! * [`event`]: the order of events, and the effects of a node.
//! * [`model`]: the interface to what is run: the model, its nodes, the state at the end.
//! * `layout`: which nodes are processed together, on which thread, and the length of windows.
//! * `partition`: the nodes of one thread, their event queues, and `rings` of packets in flight to them.
//! * `coming`: the packets that come to a node in a window, and their order.
//! * `ready`: which nodes have pending events.
//! * `exchange`: what partitions exchange between two windows.
//! * `prefetch`: hints to the cache of what will be read soon.
//! * [`windows`]: the run itself: windows, threads, flushing, termination.
//! * [`mod@reference`]: the reference engine (one heap, one event at a time), which must give the same results.

mod coming;
pub mod event;
mod exchange;
mod layout;
mod mail;
pub mod model;
mod partition;
mod prefetch;
mod ready;
pub mod reference;
mod rings;
pub mod windows;
