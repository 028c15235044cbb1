//! Packets on their way to a partition, and the far ends of links.

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};

/// Far end of a port's link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTo {
    /// The partition of the node at the far end.
    pub(crate) partition: u16,
    /// The port there.
    pub(crate) port: PortId,
    /// The node's index in its partition.
    pub(crate) place: u32,
    /// The index of the link's ring there.
    pub(crate) ring: u32,
}

/// Packets for another partition.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(super) packets: Vec<(LinkTo, Packet)>,
    pub(super) stacks: Vec<IntRecords>,
    /// The arrival of the earliest. (ps)
    pub(super) earliest: u64,
}

impl Default for Mail {
    fn default() -> Self {
        Self { packets: Vec::new(), stacks: Vec::new(), earliest: u64::MAX }
    }
}

impl Mail {
    /// Returns the packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = Packet> {
        self.packets.iter().map(|(_, packet)| *packet)
    }
}

/// The mail of one thread in a window.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// One for each partition.
    mail: Vec<Mail>,
    /// The partitions that get some.
    some: Vec<u16>,
}

impl Outbox {
    /// The outbox of a run with this many partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        Self { mail: (0..partitions).map(|_| Mail::default()).collect(), some: Vec::new() }
    }

    /// Adds a packet for the far end of a link.
    #[inline]
    pub(crate) fn add(&mut self, to: LinkTo, packet: &Packet, int: Option<&IntRecords>) {
        let mail = &mut self.mail[usize::from(to.partition)];
        if mail.packets.is_empty() {
            self.some.push(to.partition);
        }
        mail.earliest = mail.earliest.min(packet.time);
        mail.packets.push((to, *packet));
        mail.stacks.extend(int);
    }

    /// Calls `post` with the partitions that get mail, and their mail, which it empties.
    pub(crate) fn empty(&mut self, mut post: impl FnMut(usize, &mut Mail)) {
        for to in self.some.drain(..) {
            post(usize::from(to), &mut self.mail[usize::from(to)]);
        }
    }
}
