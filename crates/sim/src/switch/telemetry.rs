//! The fields that a switch writes into data packets when their transmission begins: the delay of the hop,
//! and a record of in-band telemetry (INT) in packets that collect it.

use incast_net::describe::switch::Telemetry;
use incast_net::packet::{IntRecord, IntRecords, Packet, flag};

/// The state of a port when it begins to send a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The current time. (ps)
    pub(crate) now: u64,
    /// Bytes left in its queues.
    pub(crate) queued: u64,
    /// Bytes that it has transmitted before.
    pub(crate) transmitted: u64,
    /// Its rate, an index into the table of rates.
    pub(crate) rate: u32,
}

/// Units of [`Telemetry::Packed`] at a multiple of 1. (bytes)
const QUEUE_UNIT: u64 = 80;
const TRANSMITTED_UNIT: u64 = 128;
/// Values that the 17-bit field of a packed queue length has.
const QUEUE_VALUES: u64 = 1 << 17;
/// The unit of a packed time. (ps)
const TIME_UNIT: u64 = 1000;

/// Writes the delay of this hop and, if the packet collects telemetry, a record.
#[inline(always)]
pub(crate) fn stamp(packet: &mut Packet, int: &mut IntRecords, format: Telemetry, hop: &Hop) {
    packet.note_hop_delay(hop.now - packet.time);
    if packet.is(flag::INT)
        && let Some(record) = int.get_mut(usize::from(packet.hops))
    {
        *record = match format {
            Telemetry::Exact => IntRecord {
                at: hop.now,
                transmitted: hop.transmitted,
                queue: u32::try_from(hop.queued).unwrap_or(u32::MAX),
                rate: hop.rate,
            },
            Telemetry::Packed { multiple } => packed(u64::from(multiple.max(1)), hop),
        };
        packet.hops += 1;
    }
}

/// A record with the precision of HPCC's packed format: all values in whole units, rounded down, and the
/// queue length modulo its field. Time and transmitted bytes do not wrap: only their differences are used,
/// which are the same as long as they are shorter than the field.
fn packed(multiple: u64, hop: &Hop) -> IntRecord {
    let (queue_unit, transmitted_unit) = (QUEUE_UNIT * multiple, TRANSMITTED_UNIT * multiple);
    let queue = hop.queued / queue_unit % QUEUE_VALUES * queue_unit;
    IntRecord {
        at: hop.now / TIME_UNIT * TIME_UNIT,
        transmitted: hop.transmitted / transmitted_unit * transmitted_unit,
        queue: u32::try_from(queue).unwrap_or(u32::MAX),
        rate: hop.rate,
    }
}

/// Returns the units of records: of times (ps) and of transmitted bytes.
pub(super) fn units(format: Telemetry) -> [u64; 2] {
    match format {
        Telemetry::Exact => [1, 1],
        Telemetry::Packed { multiple } => [TIME_UNIT, TRANSMITTED_UNIT * u64::from(multiple.max(1))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::packet::Kind;
    use incast_units::Time;

    fn stamped(format: Telemetry, hop: &Hop) -> (Packet, IntRecord) {
        let mut packet = Packet { time: 1_000_000, flags: flag::INT, ..Packet::blank(Kind::Data) };
        let mut int = IntRecords::default();
        stamp(&mut packet, &mut int, format, hop);
        (packet, int[0])
    }

    #[test]
    fn exact_and_packed_records_by_hand() {
        let hop = Hop { now: 1_234_567, queued: 10_000, transmitted: 1_000_000, rate: 3 };
        let (packet, record) = stamped(Telemetry::Exact, &hop);
        assert_eq!((packet.hops, packet.hop_delay()), (1, Time::from_ps(234_567 / 64 * 64)));
        assert_eq!(
            (record.at, record.queue, record.transmitted, record.rate),
            (1_234_567, 10_000, 1_000_000, 3)
        );
        // 125 units of 80 B; 7812.5 of 128 B; whole nanoseconds.
        let (_, record) = stamped(Telemetry::Packed { multiple: 1 }, &hop);
        assert_eq!((record.at, record.queue, record.transmitted), (1_234_000, 10_000, 999_936));
        // Four times as coarse: 31.25 units of 320 B; 1953.125 of 512 B.
        let (_, record) = stamped(Telemetry::Packed { multiple: 4 }, &hop);
        assert_eq!((record.queue, record.transmitted), (9_920, 999_936));
        // 131 072 units of 80 B are one turn of the 17 bits.
        let long = Hop { queued: 131_072 * 80 + 160, ..hop };
        assert_eq!(stamped(Telemetry::Packed { multiple: 1 }, &long).1.queue, 160);
    }

    #[test]
    fn a_packet_without_telemetry_collects_no_record() {
        let mut packet = Packet::blank(Kind::Data);
        let mut int = IntRecords::default();
        stamp(&mut packet, &mut int, Telemetry::Exact, &Hop { now: 640, queued: 1, transmitted: 1, rate: 1 });
        assert_eq!((packet.hops, int[0].at, packet.hop_delay()), (0, 0, Time::from_ps(640)));
    }
}
