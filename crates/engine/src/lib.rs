//! The engine: exact, parallel, in windows.
//!
//! Time advances in windows no longer than the smallest link delay, so that what a node receives in
//! a window was sent in an earlier one and every node can be processed on its own, on any thread. A
//! node handles its events in the order (time, rank, entity), which depends on neither threads nor
//! insertion. Packets travel by value in one ring per link.
//!
//! * [`event`]: the order of events, and the effects of a node.
//! * [`model`]: the interface to what is run: the model, its nodes, the state at the end.
//! * `layout`: which nodes are processed together, in which partition, and the length of windows.
//! * `partition`: nodes that one thread processes at a time, their event queues, and `rings` of packets in flight to them.
//! * `hand`: what a thread has for itself.
//! * `coming`: the packets that come to a node in a window, and their order.
//! * `ready`: which nodes have pending events.
//! * `deal`: which thread processes which partition.
//! * `balance`: how many threads take part, and when partitions are dealt to them again.
//! * `crew`: the threads, those that rest included.
//! * `exchange`: what threads exchange, in a window and between two.
//! * `prefetch`: hints to the cache of what will be read soon.
//! * [`windows`]: the run itself: windows, threads, flushing, termination.
//! * [`scaling`]: the time that a run would need on more threads.
//! * [`mod@reference`]: the reference engine (one heap, one event at a time), which must give the same results.

mod balance;
mod coming;
mod crew;
mod deal;
pub mod event;
mod exchange;
mod hand;
mod layout;
mod mail;
pub mod model;
mod partition;
mod prefetch;
mod ready;
pub mod reference;
mod rings;
pub mod scaling;
pub mod windows;
