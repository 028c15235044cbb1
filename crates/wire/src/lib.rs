//! A message from one machine to another over real packets, complete and unchanged, under any algorithm of
//! [`incast_cc`] whose signals the path gives.
//!
//! The core has neither sockets nor a clock. The caller passes arriving packets to [`Sender`] and [`Receiver`]
//! (`on_packet`), takes packets to send from them (`poll_transmit`), and calls again at the time that they return
//! (`next_deadline`). Time is nanoseconds of any clock that does not go back; for one-way delays the clocks of both
//! sides agree. Which packets are lost and which have arrived is decided by [`incast_recovery`], when an
//! acknowledgement leaves by [`incast_cc::receiver`]: the simulator's hosts use the same.
//!
//! * [`format`](mod@format): the bytes of packets.
//! * [`sum`]: the sums that find damage.
//! * [`Sender`], [`Receiver`]: both ends of a message.
//! * [`udp`], [`xdp`]: them with UDP sockets and with AF_XDP sockets, on Linux.

mod control;
#[cfg(target_os = "linux")]
mod drive;
mod failure;
#[cfg(target_os = "linux")]
mod file;
pub mod format;
mod pace;
mod receiver;
mod rto;
mod sender;
pub mod sum;
#[cfg(target_os = "linux")]
pub mod udp;
#[cfg(target_os = "linux")]
pub mod xdp;

pub use control::{Unsupported, supported};
#[cfg(target_os = "linux")]
pub use drive::{Error, ReceiveJob, Received, Receiving, SendJob, Sending};
pub use failure::Failure;
#[cfg(target_os = "linux")]
pub use file::FromFile;
pub use receiver::{Receiver, ReceiverConfig, Sink, answer_stranger};
pub use sender::{Sender, SenderConfig, Source, State};
