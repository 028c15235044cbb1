//! Ethernet frames with IPv4 packets.

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
/// Where the destination is in an IPv4 header.
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

/// Sets the mark (congestion experienced, RFC 3168) of a frame whose transport understands it. Returns whether it
/// was set now.
pub fn mark(frame: &mut [u8]) -> bool {
    let Some(&service) = frame.get(ETHERNET + 1) else { return false };
    // 00: the transport does not understand marks; 11: it is marked.
    if !matches!(service & 3, 1 | 2) {
        return false;
    }
    let word = |frame: &[u8], at: usize| u16::from(frame[at]) << 8 | u16::from(frame[at + 1]);
    if frame.len() < ETHERNET + 20 {
        return false;
    }
    let before = word(frame, ETHERNET);
    frame[ETHERNET + 1] = service | 3;
    let after = word(frame, ETHERNET);
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    let sum = u32::from(!word(frame, ETHERNET + 10)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let [high, low] = (!(folded as u16)).to_be_bytes();
    frame[ETHERNET + 10] = high;
    frame[ETHERNET + 11] = low;
    true
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
}
