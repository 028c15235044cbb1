//! `[transport]`: packet sizes, acknowledgements, loss recovery.

use incast_sim::Simulation;
use incast_sim::describe::transport::Transport;
use incast_units::{Bytes, Time};

use super::{Effect, Scope, check_queue};
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;

section! {
    /// What every host does: packet sizes, acknowledgements, loss recovery.
    for Transport with its defaults {
        /// Payload of a full data packet.
        payload: Bytes; Bound::Positive => "public artifacts of HPCC and OSCAR",
        /// Header of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8, BTH 12.
        header: Bytes => "OSCAR's public artifact",
        /// What an acknowledgement carries beyond the header.
        ack_extra: Bytes => "OSCAR's public artifact",
        /// Smallest packet on the wire.
        smallest: Bytes; Bound::Positive => "Ethernet",
        /// One acknowledgement for so many data packets.
        ack_every: u32; Bound::Count(1, 255) => "public artifacts of HPCC and OSCAR",
        /// A held acknowledgement leaves after this long at the latest.
        ack_delay: Time; Bound::Positive => "chosen here",
        /// Queue of acknowledgements; when absent that of their flow.
        ack_queue: Option<u8>,
        /// Queue of congestion notification packets.
        cnp_queue: u8,
        /// Shortest time between two congestion notifications to one flow.
        cnp_interval: Time; Bound::Positive => "DCQCN, section 3.1",
        /// Shortest time between two NACKs for the same missing packet.
        nack_interval: Time; Bound::Positive => "HPCC's public artifact",
        /// Retransmission timer; doubles with each expiry in a row, up to 64 times.
        rto: Time; Bound::Positive => "OSCAR's public artifact",
    }
}

impl Effect for Transport {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        check_queue("transport.cnp_queue", self.cnp_queue, scope, reading);
        if let Some(queue) = self.ack_queue {
            check_queue("transport.ack_queue", queue, scope, reading);
        }
    }

    fn apply(&self, _: &Scope<'_>, simulation: &mut Simulation, _: &mut Reading) {
        simulation.transport = *self;
    }
}
