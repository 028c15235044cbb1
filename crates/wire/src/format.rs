//! The bytes of packets: what `docs/guide/wire.md` describes. Every number is in network byte order (the most
//! significant byte first); times are nanoseconds.

use crate::sum::Crc32c;

/// The version of this format.
pub const VERSION: u8 = 1;
/// First bytes of every packet.
pub const MAGIC: u16 = 0x1ca5;
/// Bytes before the fields of a packet's kind.
pub const HEADER: usize = 16;
/// Bytes of a data packet before its payload.
pub const DATA_HEADER: usize = HEADER + 20;
/// The largest packet: an Ethernet frame of 9000 B without the headers of IPv4 and UDP.
pub const LARGEST: usize = 8972;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// The sender begins.
    Open(Open),
    /// The receiver answers that.
    Accept(Accept),
    /// A part of the message.
    Data(Data<'a>),
    /// The receiver acknowledges data.
    Ack(Ack),
    /// The receiver reports congestion (a CNP).
    Notify,
    /// The sender has everything acknowledged.
    Finish(Finish),
    /// The receiver has the message, and has it checked and stored.
    Finished,
    /// One side ends the exchange.
    End(End),
}

/// The sender begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Bytes of the message.
    pub length: u64,
    /// Time at which this was sent, by the sender's clock.
    pub sent: u64,
    /// Payload of every data packet but the last; at least 1.
    pub payload: u16,
    /// Whether the receiver reports marks by [`Packet::Notify`].
    pub notify: bool,
}

/// The receiver answers [`Open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// Time at which the [`Open`] was sent, echoed.
    pub sent: u64,
    /// Time at which it arrived, by the receiver's clock.
    pub received: u64,
    /// Time from that arrival until this was sent.
    pub held: u64,
}

/// A part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// The packet's number, from 0, modulo 2^32.
    pub number: u32,
    /// Bytes in flight when it was sent, itself included; the largest number for more.
    pub inflight: u32,
    /// Time at which it was sent, by the sender's clock.
    pub sent: u64,
    /// The bytes; not empty.
    pub payload: &'a [u8],
}

/// The receiver acknowledges data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Counts acknowledgements, modulo 2^32, so that a copy is known as one.
    pub serial: u32,
    /// Number of the packet that the receiver expects next, modulo 2^32.
    pub expected: u32,
    /// Bitmap of the packets after that which have arrived ([`incast_recovery::Report::bitmap`]).
    pub bitmap: u64,
    /// Time at which the packet that caused this was sent, echoed.
    pub sent: u64,
    /// Time at which it arrived, by the receiver's clock.
    pub received: u64,
    /// Time from that arrival until this was sent.
    pub held: u64,
    /// Bytes in flight when it was sent, echoed; the mean of the packets that this covers.
    pub inflight: u32,
    /// Distance of its number from `expected`; saturates.
    pub offset: i16,
    /// Data packets that this covers, at least 1.
    pub packets: u16,
    /// Number of them that arrived with the mark *congestion experienced*.
    pub marked: u16,
}

/// The sender has everything acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Bytes of the message.
    pub length: u64,
    /// Their sum ([`crate::sum::Crc64`]).
    pub sum: u64,
}

/// Reason for which one side ends the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// It is complete: the sender knows that the receiver has the message.
    Done = 0,
    /// The receiver has another message to receive.
    Busy = 1,
    /// It was stopped.
    Stopped = 2,
    /// It cannot read or write.
    Failed = 3,
    /// It has heard nothing for too long.
    Silence = 4,
    /// The sums of the message differ.
    Damaged = 5,
    /// It does not speak the other side's version of the format.
    Version = 6,
}

/// Reason for which bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They are of something else, damaged, or break a rule of the format.
    Malformed,
    /// They are a packet of this version of the format. Magic, version and connection are where they are in every
    /// version; nothing else is known.
    Version(u8),
}

/// Reads fields one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(Unreadable::Malformed)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u8(&mut self) -> Result<u8, Unreadable> {
        self.take().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, Unreadable> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Unreadable> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, Unreadable> {
        self.take().map(u64::from_be_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// The packet ends here.
    fn end(&self) -> Result<(), Unreadable> {
        if self.0.is_empty() { Ok(()) } else { Err(Unreadable::Malformed) }
    }
}

/// The connection and the packet that these bytes are.
///
/// # Errors
///
/// When they are none. Nothing but a packet that [`write()`] can have written is accepted.
pub fn read(bytes: &[u8]) -> Result<(u64, Packet<'_>), Unreadable> {
    let mut reader = Reader(bytes);
    if reader.u16()? != MAGIC {
        return Err(Unreadable::Malformed);
    }
    let version = reader.u8()?;
    let kind = reader.u8()?;
    let sum = reader.u32()?;
    let connection = reader.u64()?;
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    if sum != packet_sum(bytes) {
        return Err(Unreadable::Malformed);
    }
    let packet = match kind {
        1 => {
            let (length, sent, payload) = (reader.u64()?, reader.u64()?, reader.u16()?);
            let notify = match reader.u16()? {
                0 => false,
                1 => true,
                _ => return Err(Unreadable::Malformed),
            };
            if payload == 0 || usize::from(payload) > LARGEST - DATA_HEADER {
                return Err(Unreadable::Malformed);
            }
            Packet::Open(Open { length, sent, payload, notify })
        }
        2 => Packet::Accept(Accept { sent: reader.u64()?, received: reader.u64()?, held: reader.u64()? }),
        3 => {
            let (number, inflight, sent) = (reader.u32()?, reader.u32()?, reader.u64()?);
            let (reserved, payload) = (reader.u32()?, reader.rest());
            if reserved != 0 || payload.is_empty() || payload.len() > LARGEST - DATA_HEADER {
                return Err(Unreadable::Malformed);
            }
            Packet::Data(Data { number, inflight, sent, payload })
        }
        4 => {
            let ack = Ack {
                serial: reader.u32()?,
                expected: reader.u32()?,
                bitmap: reader.u64()?,
                sent: reader.u64()?,
                received: reader.u64()?,
                held: reader.u64()?,
                inflight: reader.u32()?,
                offset: reader.u16()? as i16,
                packets: reader.u16()?,
                marked: reader.u16()?,
            };
            if reader.u16()? != 0 || ack.packets == 0 || ack.marked > ack.packets {
                return Err(Unreadable::Malformed);
            }
            Packet::Ack(ack)
        }
        5 => Packet::Notify,
        6 => Packet::Finish(Finish { length: reader.u64()?, sum: reader.u64()? }),
        7 => Packet::Finished,
        8 => Packet::End(match reader.u32()? {
            0 => End::Done,
            1 => End::Busy,
            2 => End::Stopped,
            3 => End::Failed,
            4 => End::Silence,
            5 => End::Damaged,
            6 => End::Version,
            _ => return Err(Unreadable::Malformed),
        }),
        _ => return Err(Unreadable::Malformed),
    };
    reader.end()?;
    Ok((connection, packet))
}

/// The connection of a packet of any version.
#[must_use]
pub fn connection_of(bytes: &[u8]) -> Option<u64> {
    let magic = *bytes.first_chunk::<2>()?;
    let connection = *bytes.get(8..)?.first_chunk::<8>()?;
    (u16::from_be_bytes(magic) == MAGIC).then_some(u64::from_be_bytes(connection))
}

/// Writes a packet; `out` is cleared first.
pub fn write(connection: u64, packet: &Packet<'_>, out: &mut Vec<u8>) {
    out.clear();
    let kind = match packet {
        Packet::Open(_) => 1,
        Packet::Accept(_) => 2,
        Packet::Data(_) => 3,
        Packet::Ack(_) => 4,
        Packet::Notify => 5,
        Packet::Finish(_) => 6,
        Packet::Finished => 7,
        Packet::End(_) => 8,
    };
    out.extend_from_slice(&MAGIC.to_be_bytes());
    out.extend_from_slice(&[VERSION, kind, 0, 0, 0, 0]);
    out.extend_from_slice(&connection.to_be_bytes());
    match *packet {
        Packet::Open(Open { length, sent, payload, notify }) => {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&sent.to_be_bytes());
            out.extend_from_slice(&payload.to_be_bytes());
            out.extend_from_slice(&u16::from(notify).to_be_bytes());
        }
        Packet::Accept(Accept { sent, received, held }) => {
            [sent, received, held].iter().for_each(|time| out.extend_from_slice(&time.to_be_bytes()));
        }
        Packet::Data(Data { number, inflight, sent, payload }) => {
            out.extend_from_slice(&number.to_be_bytes());
            out.extend_from_slice(&inflight.to_be_bytes());
            out.extend_from_slice(&sent.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(payload);
        }
        Packet::Ack(ack) => {
            out.extend_from_slice(&ack.serial.to_be_bytes());
            out.extend_from_slice(&ack.expected.to_be_bytes());
            for word in [ack.bitmap, ack.sent, ack.received, ack.held] {
                out.extend_from_slice(&word.to_be_bytes());
            }
            out.extend_from_slice(&ack.inflight.to_be_bytes());
            out.extend_from_slice(&ack.offset.to_be_bytes());
            for count in [ack.packets, ack.marked, 0] {
                out.extend_from_slice(&count.to_be_bytes());
            }
        }
        Packet::Finish(Finish { length, sum }) => {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&sum.to_be_bytes());
        }
        Packet::End(end) => out.extend_from_slice(&u32::from(end as u8).to_be_bytes()),
        Packet::Notify | Packet::Finished => {}
    }
    let sum = packet_sum(out);
    out[4..8].copy_from_slice(&sum.to_be_bytes());
}

/// The sum of a packet, with the field of the sum left out.
fn packet_sum(bytes: &[u8]) -> u32 {
    let mut sum = Crc32c::default();
    sum.update(bytes.get(..4).unwrap_or_default());
    sum.update(bytes.get(8..).unwrap_or_default());
    sum.value()
}
