//! Datagrams in Ethernet frames: their headers of Ethernet, IPv4 (RFC 791) and UDP (RFC 768), made and checked.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of the headers.
pub(super) const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
/// Of all of them.
pub(super) const HEADERS: usize = ETHERNET + IP + UDP;

/// EtherType of IPv4, and UDP's number in it.
pub(super) const IPV4: u16 = 0x0800;
pub(super) const UDP_PROTOCOL: u8 = 17;
/// Version 4, and a header of five words: no options.
pub(super) const PLAIN: u8 = 0x45;
/// *Don't fragment*; and the bits that are set in fragments: *more fragments*, and the offset.
const WHOLE: u16 = 0x4000;
pub(super) const FRAGMENT: u16 = 0x3fff;
/// Routers on the way, at most.
const TIME_TO_LIVE: u8 = 64;
/// The marks of ECN-capable packets, ECT(0), and of those that have met congestion (RFC 3168, section 5).
const ECT_0: u8 = 2;
const CONGESTION_EXPERIENCED: u8 = 3;

/// An Ethernet address.
pub(super) type Mac = [u8; 6];

/// The ends of a way, and whether switches on it may mark packets in place of dropping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) from_mac: Mac,
    pub(super) to_mac: Mac,
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
    pub(super) markable: bool,
}

/// A datagram of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram<'a> {
    pub(super) from_mac: Mac,
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
    /// Whether it met congestion.
    pub(super) marked: bool,
    pub(super) bytes: &'a [u8],
}

/// Writes the frame of a datagram, and returns its size; `None` if it does not fit.
pub(super) fn write(way: &Way, bytes: &[u8], into: &mut [u8]) -> Option<usize> {
    let size = HEADERS + bytes.len();
    let frame = into.get_mut(..size)?;
    let (ip_size, udp_size) =
        (u16::try_from(IP + UDP + bytes.len()).ok()?, u16::try_from(UDP + bytes.len()).ok()?);
    let (ethernet, rest) = frame.split_at_mut(ETHERNET);
    ethernet[..6].copy_from_slice(&way.to_mac);
    ethernet[6..12].copy_from_slice(&way.from_mac);
    ethernet[12..].copy_from_slice(&IPV4.to_be_bytes());
    let (ip, udp) = rest.split_at_mut(IP);
    ip[0] = PLAIN;
    ip[1] = if way.markable { ECT_0 } else { 0 };
    ip[2..4].copy_from_slice(&ip_size.to_be_bytes());
    // The number serves to put fragments together; without them any will do (RFC 6864, section 4.1).
    ip[4..6].fill(0);
    ip[6..8].copy_from_slice(&WHOLE.to_be_bytes());
    ip[8] = TIME_TO_LIVE;
    ip[9] = UDP_PROTOCOL;
    ip[10..12].fill(0);
    ip[12..16].copy_from_slice(&way.from.ip().octets());
    ip[16..20].copy_from_slice(&way.to.ip().octets());
    let sum = !folded(sum(ip));
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    udp[..2].copy_from_slice(&way.from.port().to_be_bytes());
    udp[2..4].copy_from_slice(&way.to.port().to_be_bytes());
    udp[4..6].copy_from_slice(&udp_size.to_be_bytes());
    udp[6..8].fill(0);
    udp[UDP..].copy_from_slice(bytes);
    let whole = sum_of_ends(*way.from.ip(), *way.to.ip(), udp_size) + self::sum(udp);
    // Zero says that there is no sum.
    let sum = match !folded(whole) {
        0 => u16::MAX,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    Some(size)
}

/// Reads the datagram of a frame; `None` if it has none that is whole and undamaged, or one with IP options.
pub(super) fn read(frame: &[u8]) -> Option<Datagram<'_>> {
    let (ethernet, rest) = frame.split_at_checked(ETHERNET)?;
    let (ip, _) = rest.split_at_checked(IP)?;
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    // An Ethernet frame of less than 60 B has more bytes than the packet.
    let packet = rest.get(..usize::from(word(ip, 2)))?;
    let (_, udp) = packet.split_at_checked(IP)?;
    if word(ethernet, 12) != IPV4
        || ip[0] != PLAIN
        || word(ip, 6) & FRAGMENT != 0
        || ip[9] != UDP_PROTOCOL
        || folded(sum(ip)) != u16::MAX
        || udp.len() < UDP
        || usize::from(word(udp, 4)) != udp.len()
    {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    let (from, to) = (address(12), address(16));
    let ends = sum_of_ends(from, to, word(udp, 4));
    let found = word(udp, 6);
    // A kernel leaves the sum to the network card, and writes only that of the addresses into the packet. On its way
    // through devices that are none (veth), a packet keeps that; then it has not left this machine's memory.
    if found != 0 && found != folded(ends) && folded(ends + sum(udp)) != u16::MAX {
        return None;
    }
    Some(Datagram {
        from_mac: ethernet[6..12].try_into().ok()?,
        from: SocketAddrV4::new(from, word(udp, 0)),
        to: SocketAddrV4::new(to, word(udp, 2)),
        marked: ip[1] & 3 == CONGESTION_EXPERIENCED,
        bytes: &udp[UDP..],
    })
}

/// The sum of the words of 16 bits (RFC 1071), not yet folded. At most 2^16 bytes: no overflow.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = match *words.remainder() {
        [a] => u32::from_be_bytes([a, 0, 0, 0]),
        [a, b] => u32::from_be_bytes([a, b, 0, 0]),
        [a, b, c] => u32::from_be_bytes([a, b, c, 0]),
        _ => 0,
    };
    // Two words at a time: 2^16 leaves the sum in ones' complement as it is.
    u64::from(rest)
        + words.map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))).sum::<u64>()
}

/// The sum of what a UDP sum covers of the IP header.
fn sum_of_ends(from: Ipv4Addr, to: Ipv4Addr, size: u16) -> u64 {
    u64::from(from.to_bits()) + u64::from(to.to_bits()) + u64::from(UDP_PROTOCOL) + u64::from(size)
}

/// A sum in ones' complement of 16 bits.
fn folded(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & u64::from(u16::MAX)) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdp::tests::random;

    fn way(from: &str, to: &str, markable: bool) -> Way {
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        Way { from_mac: [2, 0, 0, 0, 0, 1], to_mac: [2, 0, 0, 0, 0, 2], from, to, markable }
    }

    fn framed(way: &Way, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![0xee; 2048];
        let size = write(way, bytes, &mut frame).unwrap();
        frame.truncate(size);
        frame
    }

    /// The sum of RFC 1071 as it is defined: words of 16 bits, with the carry added at once.
    fn plain_sum(bytes: &[u8]) -> u16 {
        bytes.chunks(2).fold(0, |sum: u16, word| {
            let word = u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]);
            let (sum, carry) = sum.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    /// Returns the bytes that a UDP checksum covers.
    fn covered(frame: &[u8]) -> Vec<u8> {
        [&frame[26..34], &[0, 17], &frame[38..40], &frame[34..]].concat()
    }

    #[test]
    fn a_frame_byte_by_byte() {
        // 87 bytes are 95 (5f) with the UDP header and 115 (73) with the IP header. The words of the IP header, 4500 73
        // 0 4000 4011 c0a8 1 c0a8 c7, have the sum 2479c, folded 479e: its complement is b861. Those of the UDP sum,
        // c0a8 1 c0a8 c7 11 5f 1 1ba5 5f, have 19e8d, folded 9e8e: 6171.
        let frame = framed(&way("192.168.0.1:1", "192.168.0.199:7077", false), &[0; 87]);
        let headers = [
            "020000000002 020000000001 0800",
            "45000073 00004000 4011b861 c0a80001 c0a800c7",
            "0001 1ba5 005f 6171",
        ];
        let digits = headers.concat().replace(' ', "");
        let headers: Vec<u8> = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(frame, [&headers[..], &[0; 87]].concat());
        // ECT(0) adds 2 to the first word: the sum is 2 less.
        let frame = framed(&way("192.168.0.1:1", "192.168.0.199:7077", true), &[0; 87]);
        assert_eq!((frame[15], &frame[24..26]), (2, &[0xb8, 0x5f][..]));
        // Such an address and port that the sum is zero, which is written as all ones: the words c0a8 1 c0a8 c7 11 8 1
        // P 8 have 1823a + P: with P = 7dc4 it is 1fffe, folded ffff.
        let frame = framed(&way("192.168.0.1:1", "192.168.0.199:32196", false), &[]);
        assert_eq!(plain_sum(&[&covered(&frame)[..18], &[0, 0]].concat()), 0xffff);
        assert_eq!(frame[40..], [0xff, 0xff]);
        assert!(read(&frame).is_some());
    }

    #[test]
    fn what_is_written_is_read_and_a_wrong_bit_is_found() {
        let mut state = 1;
        for _ in 0..2000 {
            let size = (random(&mut state) % 1500) as usize;
            let bytes: Vec<u8> = (0..size).map(|_| random(&mut state) as u8).collect();
            let mut place = || {
                SocketAddrV4::new(Ipv4Addr::from_bits(random(&mut state) as u32), random(&mut state) as u16)
            };
            let (from, to) = (place(), place());
            let markable = random(&mut state).is_multiple_of(2);
            let way = Way { from, to, ..way("0.0.0.0:0", "0.0.0.0:0", markable) };
            let mut frame = framed(&way, &bytes);
            assert_eq!((plain_sum(&frame[14..34]), plain_sum(&covered(&frame))), (0xffff, 0xffff));
            // As a short frame has it.
            frame.resize(frame.len().max(60), 0xaa);
            let found = Datagram { from_mac: way.from_mac, from, to, marked: false, bytes: &bytes };
            assert_eq!(read(&frame), Some(found));
            let at = 12 + random(&mut state) as usize % (HEADERS + size - 12);
            frame[at] ^= 1 << (random(&mut state) % 8);
            let sum = u16::from_be_bytes([frame[40], frame[41]]);
            let no_sum = sum == 0 || sum == plain_sum(&covered(&frame)[..12]);
            assert!(read(&frame).is_none() || no_sum, "byte {at} of {frame:?}");
        }
    }

    #[test]
    fn marks_sums_and_what_is_no_datagram() {
        let bytes = [1, 2, 3, 4, 5];
        let good = framed(&way("10.0.0.1:1000", "10.0.0.2:7077", true), &bytes);
        // A frame with other bytes there, and the right sum of its IP header.
        let with = |changes: &[(usize, u8)]| {
            let mut frame = good.clone();
            changes.iter().for_each(|(at, byte)| frame[*at] = *byte);
            frame[24..26].fill(0);
            let sum = (!plain_sum(&frame[14..34])).to_be_bytes();
            frame[24..26].copy_from_slice(&sum);
            frame
        };
        let marked = |frame: &[u8]| read(frame).map(|found| found.marked);
        assert_eq!(marked(&good), Some(false));
        for (service, is_marked) in
            [(0, false), (1, false), (2, false), (3, true), (0xb8, false), (0xbb, true)]
        {
            assert_eq!(marked(&with(&[(15, service)])), Some(is_marked), "{service}");
        }
        // No sum; and that of the addresses, the protocol and the size: a00 1 a00 2 11 d, 1421.
        assert!(read(&with(&[(40, 0), (41, 0)])).is_some());
        assert!(read(&with(&[(40, 0x14), (41, 0x21)])).is_some());
        assert!(read(&with(&[(40, 0x14), (41, 0x22)])).is_none());
        for (what, changes) in [
            ("another EtherType", &[(13, 6)][..]),
            ("IPv6", &[(14, 0x65)]),
            ("options", &[(14, 0x46)]),
            ("a first fragment", &[(20, 0x20)]),
            ("a last fragment", &[(21, 1)]),
            ("TCP", &[(23, 6)]),
            ("longer than the frame", &[(17, 34)]),
            ("shorter than its headers", &[(17, 27)]),
            ("another length than the UDP header's", &[(17, 32)]),
            ("a shorter datagram than its packet", &[(39, 12)]),
            ("without a UDP header", &[(17, 20)]),
        ] {
            assert!(read(&with(changes)).is_none(), "{what}");
        }
        assert!(read(&with(&[])).is_some());
        for size in 0..good.len() {
            assert!(read(&good[..size]).is_none(), "{size}");
        }
        assert_eq!(write(&way("10.0.0.1:1", "10.0.0.2:1", false), &bytes, &mut [0; 46]), None);
    }
}
