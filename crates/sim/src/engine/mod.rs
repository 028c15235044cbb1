//! The engine: exact, parallel, in windows.
//!
//! Time advances in windows no longer than the smallest link delay, so that what a node receives in
//! a window was sent in an earlier one and every node can be processed on its own, on any thread. A
//! node handles its events in the order (time, kind, entity), which depends on neither threads nor
//! insertion. Packets travel by value in one ring per link.
//!
//! * [`event`]: the order of events, and what a node may do.
//! * [`world`]: a description made ready to run: nodes, routes, sizes.
//! * [`node`]: what the engine asks of a node, and the kinds of nodes.
//! * [`layout`]: which nodes are processed together, on which thread, in windows of which length.
//! * [`partition`]: the nodes of one thread, their agendas, and [`rings`] of what is on its way to them.
//! * [`ready`]: which of them have something to do.
//! * [`exchange`]: what partitions exchange between two windows.
//! * [`sampler`]: the samples that a node takes, and which of them become records.
//! * [`channel`]: how records get to the sink.
//! * [`windows`]: the run itself: windows, threads, flushing, why it ends.
//! * [`mod@reference`]: the plain engine (one heap, one event at a time) that must agree with it.

pub(crate) mod channel;
pub(crate) mod event;
pub(crate) mod exchange;
pub(crate) mod finish;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod partition;
pub(crate) mod ready;
pub(crate) mod reference;
pub(crate) mod rings;
pub(crate) mod sampler;
pub(crate) mod stall;
pub(crate) mod windows;
pub(crate) mod world;
