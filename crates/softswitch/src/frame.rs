//! Ethernet frames with IPv4 packets.

use std::ops::Range;

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
/// Offset of the destination address in a frame with an IPv4 header.
const DESTINATION: usize = ETHERNET + 16;

/// The number of the host that a frame is for: the last two bytes of its IPv4 destination. `None` for anything else
/// than IPv4.
#[must_use]
pub fn destination(frame: &[u8]) -> Option<u32> {
    match frame.get(12..ETHERNET + 1)? {
        [0x08, 0x00, version] if version >> 4 == 4 => {}
        _ => return None,
    }
    let &[high, low] = frame.get(DESTINATION + 2..DESTINATION + 4)? else { return None };
    Some(u32::from(high) << 8 | u32::from(low))
}

/// Telemetry of a port (INT): what it writes into a packet when it begins to send it.
///
/// Times and counters go on modulo 2^32, as the receiver of the records knows (`bpf/glue.bpf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of the record, in ns.
    pub at: u32,
    /// Bytes that stay in its queue.
    pub queue: u32,
    /// Bytes that it has sent before.
    pub transmitted: u32,
    /// Its rate in kbit/s.
    pub kbps: u32,
}

/// The TCP option of `bpf/echo.h` with room for a record: kind, length, identifier, that it is no answer. A byte with the
/// number of records and the record follow.
const REQUEST: [u8; 7] = [253, 24, 0x1c, 0xa5, 0x7e, 0x1e, 0];
/// Offset of the number of records in the option, and the option's length.
const HOPS: usize = REQUEST.len();
const LENGTH: usize = REQUEST[1] as usize;

/// Writes a record into a segment of TCP that has room for one, and corrects its checksum. Returns whether it did: one
/// that has a record keeps it.
pub fn stamp(frame: &mut [u8], record: &Record) -> bool {
    let Some((header, option)) = request(frame) else { return false };
    let mut new = [0; LENGTH - HOPS + 1];
    // The word of 16 bits in which the number of records is, and the record.
    new[1] = 1;
    let words = [record.at, record.queue, record.transmitted, record.kbps];
    for (place, word) in new[2..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    replace(frame, option.start + HOPS - 1, &new, header + 16);
    true
}

/// Returns the offset of a frame's TCP header, and the place of the option of a request without a record.
fn request(frame: &[u8]) -> Option<(usize, Range<usize>)> {
    destination(frame)?;
    let ip = frame.get(ETHERNET..ETHERNET + 20)?;
    // TCP, and no later fragment, which has no header of it.
    if ip[0] & 15 < 5 || ip[9] != 6 || (ip[6] & 0x1f, ip[7]) != (0, 0) {
        return None;
    }
    let header = ETHERNET + 4 * usize::from(ip[0] & 15);
    let end = header + 4 * usize::from(frame.get(header + 12)? >> 4);
    let mut at = header + 20;
    loop {
        match *frame.get(at..end)? {
            // Padding.
            [1, ..] => at += 1,
            [0, ..] | [_] | [] => return None,
            [_, length, ..] if length < 2 => return None,
            ref options @ [_, length, ..] => {
                let found = options.starts_with(&REQUEST) && options.len() >= LENGTH;
                if found {
                    // The checksum adds words of 16 bits.
                    let free = options[HOPS] == 0 && (at - header).is_multiple_of(2);
                    return free.then_some((header, at..at + LENGTH));
                }
                at += usize::from(length);
            }
        }
    }
}

/// Sets the mark (congestion experienced, RFC 3168) of a frame whose transport understands it. Returns whether it
/// was set now.
pub fn mark(frame: &mut [u8]) -> bool {
    let Some(&service) = frame.get(ETHERNET + 1) else { return false };
    // 00: the transport does not understand marks; 11: it is marked.
    if !matches!(service & 3, 1 | 2) || frame.len() < ETHERNET + 20 {
        return false;
    }
    let new = [frame[ETHERNET], service | 3];
    replace(frame, ETHERNET, &new, ETHERNET + 10);
    true
}

/// Replaces words of 16 bits and corrects the checksum over them.
fn replace(frame: &mut [u8], at: usize, new: &[u8], checksum: usize) {
    let word = |bytes: &[u8]| u32::from(bytes[0]) << 8 | u32::from(bytes[1]);
    let old = &frame[at..at + new.len()];
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    let changes = old.chunks_exact(2).zip(new.chunks_exact(2));
    let before = !word(&frame[checksum..checksum + 2]) & 0xffff;
    let mut sum = changes.fold(before, |sum, (old, new)| sum + (!word(old) & 0xffff) + word(new));
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[at..at + new.len()].copy_from_slice(new);
    frame[checksum..checksum + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with this type of service and identification, with its checksum.
    fn frame(service: u8, id: u16) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0];
        let [a, b] = id.to_be_bytes();
        frame.extend([0x45, service, 0, 40, a, b, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 3, 2]);
        let [high, low] = (!sum(&frame)).to_be_bytes();
        (frame[24], frame[25]) = (high, low);
        frame
    }

    /// The sum in ones' complement over the header (RFC 791): all ones when the checksum is right.
    fn sum(frame: &[u8]) -> u16 {
        let words = frame[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for id in 0..=u16::MAX {
            for service in [1, 2, 0x29, 0xfe] {
                let mut frame = frame(service, id);
                assert!(mark(&mut frame));
                assert_eq!(frame[15], service | 3);
                assert_eq!(sum(&frame), 0xffff, "{id} {service}");
            }
        }
    }

    #[test]
    fn what_cannot_be_marked_stays_as_it_is() {
        for service in [0, 3, 0xfc] {
            let before = frame(service, 7);
            let mut after = before.clone();
            assert!(!mark(&mut after));
            assert_eq!(after, before);
        }
        assert!(!mark(&mut [0; 15]));
    }

    #[test]
    fn the_host_is_in_the_address() {
        assert_eq!(destination(&frame(0, 0)), Some(3 << 8 | 2));
        assert_eq!(destination(&frame(0, 0)[..33]), None);
        let mut arp = frame(0, 0);
        arp[13] = 6;
        assert_eq!(destination(&arp), None);
    }

    /// A segment with these options (a multiple of 4 bytes) and payload, with its checksum.
    fn segment(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut frame = frame(0, 1);
        let length = (40 + options.len() + payload.len()) as u16;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame.extend([0x13, 0x88, 0xc0, 0x01, 1, 2, 3, 4, 5, 6, 7, 8]);
        frame.extend([(5 + options.len() as u8 / 4) << 4, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend(options);
        frame.extend(payload);
        let [high, low] = (!whole(&frame)).to_be_bytes();
        (frame[50], frame[51]) = (high, low);
        frame
    }

    /// The sum of RFC 9293, section 3.1, over segment and pseudo header: all ones when the checksum is right.
    fn whole(frame: &[u8]) -> u16 {
        let mut bytes = frame[26..34].to_vec();
        bytes.extend([0, 6]);
        bytes.extend(((frame.len() - 34) as u16).to_be_bytes());
        bytes.extend(&frame[34..]);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        let sum = bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(w[1])).sum::<u64>();
        // Modulo 2^16 - 1, with which a sum in ones' complement is: zero only of nothing.
        if sum == 0 { 0 } else { ((sum - 1) % 0xffff + 1) as u16 }
    }

    /// The option of a request.
    fn room() -> Vec<u8> {
        [&REQUEST[..], &[0; LENGTH - HOPS]].concat()
    }

    #[test]
    fn a_record_is_written_where_there_is_room_and_the_checksum_stays_right() {
        let mut draws = 7_u64;
        let mut draw = || {
            draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draws >> 32) as u32
        };
        for round in 0..20_000 {
            // Behind padding, or time stamps (RFC 7323).
            let before: &[u8] = match round % 3 {
                0 => &[],
                1 => &[1, 1, 1, 1],
                _ => &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
            };
            let payload: Vec<u8> = (0..draw() % 40).map(|_| draw() as u8).collect();
            let mut frame = segment(&[before, &room()].concat(), &payload);
            let old = frame.clone();
            let record = match round {
                0 => Record { at: 0, queue: 0, transmitted: 0, kbps: 0 },
                1 => Record { at: u32::MAX, queue: u32::MAX, transmitted: u32::MAX, kbps: u32::MAX },
                _ => Record { at: draw(), queue: draw(), transmitted: draw(), kbps: draw() },
            };
            assert!(stamp(&mut frame, &record));
            assert_eq!(whole(&frame), 0xffff);
            let at = 54 + before.len();
            let mut expected = REQUEST.to_vec();
            expected.push(1);
            for word in [record.at, record.queue, record.transmitted, record.kbps] {
                expected.extend(word.to_be_bytes());
            }
            assert_eq!(frame[at..at + 24], expected);
            // Nothing else has changed.
            frame[at..at + 24].copy_from_slice(&old[at..at + 24]);
            frame[50..52].copy_from_slice(&old[50..52]);
            assert_eq!(frame, old);
        }
    }

    #[test]
    fn what_has_no_room_for_a_record_stays_as_it_is() {
        let record = Record { at: 1, queue: 2, transmitted: 3, kbps: 4 };
        let with = |place: usize, value: u8| {
            let mut frame = segment(&room(), b"12345678");
            frame[place] = value;
            frame
        };
        let mut written = segment(&room(), b"12345678");
        assert!(stamp(&mut written, &record));
        for mut frame in [
            written,
            segment(&[], b"12345678"),
            // Behind the end of the options, at an odd place, after a length that cannot be.
            segment(&[&[0; 4][..], &room()].concat(), b""),
            segment(&[&[1][..], &room(), &[1; 3]].concat(), b""),
            segment(&[&[8, 1, 1, 1][..], &room()].concat(), b""),
            // An answer, an IPv4 header that is too short, another option, another length, UDP, a later fragment, options longer than the packet.
            with(54 + 6, 1),
            with(14, 0x44),
            with(54 + 5, 0x1f),
            with(54 + 1, 16),
            with(23, 17),
            with(21, 8),
            segment(&room(), b"")[..60].to_vec(),
            segment(&room(), b"")[..40].to_vec(),
        ] {
            let before = frame.clone();
            assert!(!stamp(&mut frame, &record), "{before:?}");
            assert_eq!(frame, before);
        }
    }

    #[test]
    fn the_option_is_that_of_the_kernels_programs() {
        let header = include_str!("../../../bpf/echo.h");
        let [.., a, b, c, d, _] = REQUEST;
        assert!(header.contains(&format!("#define OPTION_KIND {}\n", REQUEST[0])));
        assert!(header.contains(&format!("#define TELEMETRY_OPTION 0x{a:02x}{b:02x}{c:02x}{d:02x}\n")));
    }
}
