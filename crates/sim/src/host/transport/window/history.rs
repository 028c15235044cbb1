//! Samples by the cumulative number: an acknowledgement is given the send time of the last packet in order,
//! whichever packet caused it. OSCAR's public artifact looks up its records in this way.

use incast_net::describe::transport::{Sample, Transport};
use incast_net::packet::Ack;

use crate::recovery::{Acknowledged, Log, Record, keeps};

/// Number of packets before the first unacknowledged one whose records are kept, for acknowledgements that
/// others have overtaken.
const KEPT: u64 = 1 << 14;

/// The records of the packets of one flow, also of those that are acknowledged.
#[derive(Debug)]
pub(super) struct History {
    log: Log,
    /// Whether the bytes in flight are on record at the sender; else acknowledgements carry them.
    records_inflight: bool,
}

impl History {
    /// That of a flow, if its samples need one.
    pub(super) fn new(transport: &Transport) -> Option<Box<Self>> {
        let records_inflight = keeps(transport.recovery);
        (transport.sample == Sample::Cumulative)
            .then(|| Box::new(Self { log: Log::default(), records_inflight }))
    }

    /// Packet `number` is sent, while those before `acknowledged` are acknowledged.
    #[cold]
    #[inline(never)]
    pub(super) fn on_sent(&mut self, number: u64, acknowledged: u64, record: Record) {
        self.log.write(acknowledged.saturating_sub(KEPT), number, record);
    }

    /// Replaces what was on record of the packet that caused `ack` by the record of the last packet before the
    /// expected one, while those before `acknowledged` are acknowledged. Nothing changes if there is none: the
    /// first packet is missing, or the record is no longer kept.
    #[cold]
    #[inline(never)]
    pub(super) fn replace(&self, acknowledged: u64, ack: &mut Ack, sample: &mut Acknowledged) {
        // Numbers travel modulo 2^32; an old acknowledgement lies behind.
        let behind = (acknowledged as u32).wrapping_sub(ack.expected);
        let number = acknowledged.checked_sub(u64::from(behind) + 1);
        let kept = |number: &u64| *number + KEPT >= acknowledged;
        let Some(record) = number.filter(kept).and_then(|number| self.log.read(number)) else { return };
        ack.sent = record.sent;
        sample.record = Some(record);
        if self.records_inflight {
            sample.inflight = u64::from(record.inflight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::describe::transport::Recovery;

    fn history(recovery: Recovery) -> History {
        let transport = Transport { recovery, sample: Sample::Cumulative, ..Transport::default() };
        *History::new(&transport).unwrap()
    }

    /// The send time and the bytes in flight of the sample of an acknowledgement that expects this packet, of a
    /// packet that was sent at 7 ps with 70 B in flight.
    fn sample(history: &History, acknowledged: u64, expected: u64) -> (u64, u64) {
        let mut ack = Ack {
            sent: 7,
            received: 20,
            held: 0,
            slot: 0,
            inflight: 70,
            expected: expected as u32,
            offset: 0,
            flows: 0,
            packets: 1,
            marked: 0,
            bitmap: 0,
        };
        let mut sample = Acknowledged {
            bytes: 0,
            advanced: false,
            hole: false,
            packet: expected,
            record: None,
            inflight: 70,
        };
        history.replace(acknowledged, &mut ack, &mut sample);
        assert_eq!(sample.record.is_some(), ack.sent != 7);
        assert_eq!(ack.received, 20);
        (ack.sent, sample.inflight)
    }

    fn send(history: &mut History, number: u64, acknowledged: u64, at: u64) {
        history.on_sent(number, acknowledged, Record { sent: at, tag: 0, inflight: 10 * at as u32 });
    }

    #[test]
    fn the_last_packet_in_order_is_the_sample() {
        let mut history = history(Recovery::Selective);
        for number in 0..4 {
            send(&mut history, number, 0, 100 + number);
        }
        // The first packet is missing: the sample stays that of the packet itself.
        assert_eq!(sample(&history, 0, 0), (7, 70));
        // Packets 0 and 1 have arrived: packet 1.
        assert_eq!(sample(&history, 2, 2), (101, 1010));
        // An acknowledgement that was overtaken by that of packet 3.
        assert_eq!(sample(&history, 4, 1), (100, 1000));
        // A packet that was sent again has the time of its last copy.
        send(&mut history, 1, 1, 300);
        assert_eq!(sample(&history, 4, 2), (300, 3000));
    }

    #[test]
    fn the_bytes_in_flight_that_an_acknowledgement_carries_stay() {
        let mut history = history(Recovery::GoBackN);
        send(&mut history, 0, 0, 100);
        assert_eq!(sample(&history, 1, 1), (100, 70));
    }

    #[test]
    fn records_are_kept_for_overtaken_acknowledgements() {
        let mut history = history(Recovery::Selective);
        for number in 0..40_000 {
            send(&mut history, number, number, 100 + number);
        }
        assert_eq!(sample(&history, 40_000, 40_000).0, 40_099);
        assert_eq!(sample(&history, 40_000, 40_000 - KEPT + 1).0, 40_100 - KEPT);
        assert_eq!(sample(&history, 40_000, 40_000 - KEPT).0, 7);
    }
}
