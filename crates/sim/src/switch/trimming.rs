//! Packet trimming (NDP, SIGCOMM 2017, section 3.1): a port whose data queue is full removes the payload of a
//! packet and sends its header ahead of data.
//!
//! A port has two queues: one for data, one for headers and everything else that is not data. A header for which
//! its queue has no room goes back to its sender, once.

use incast_net::describe::network::NodeId;
use incast_net::describe::switch::Trimming as Description;
use incast_net::packet::{Kind, Packet, flag};
use incast_net::random::{draw, mix};

/// The queue of headers and of everything else that is not data.
pub(crate) const HEADERS: u8 = 0;
/// The queue of data.
pub(crate) const DATA: u8 = 1;
/// The number of queues.
pub(crate) const QUEUES: u8 = 2;

/// Distinguishes the draws about trimming from others at the same switch.
const STREAM: u64 = 0x7472_696d_6d69_6e67;

/// A switch's settings of trimming.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trimming {
    pub(super) data: u64,
    pub(super) headers: u64,
    pub(super) size: u16,
    pub(super) return_to_sender: bool,
    /// Stream of the random draws.
    stream: u64,
}

impl Trimming {
    pub(super) fn new(description: &Description, seed: u64, node: NodeId) -> Self {
        Self {
            data: description.data.get(),
            headers: description.headers.unwrap_or(description.data).get(),
            size: u16::try_from(description.size.get()).unwrap_or(u16::MAX),
            return_to_sender: description.return_to_sender,
            stream: mix(seed ^ mix(u64::from(node) ^ STREAM)),
        }
    }

    /// Whether it is an arriving packet that is trimmed, not the last one in the queue: one time in two.
    pub(super) fn trims_arriving(&self, packet: &Packet) -> bool {
        let item = packet.identity() ^ mix(packet.copy());
        draw(self.stream ^ u64::from(packet.hash), item) >> 63 == 0
    }

    /// Removes the payload of a packet.
    pub(super) fn trim(&self, packet: &mut Packet) {
        packet.kind = Kind::Header;
        packet.size = packet.size.min(self.size);
        packet.flags &= !flag::INT;
        packet.hops = 0;
    }
}
