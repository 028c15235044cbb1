//! A loss recovery: one packet in flight at a time, retransmitted until it is acknowledged (stop-and-wait,
//! as in the alternating-bit protocol).

use incast_recovery::{Acknowledged, Cut, Lost, Recovery, Report, SentPacket, Settings};

/// The sender's half.
#[derive(Debug)]
pub(crate) struct ResendOldest {
    cut: Cut,
    /// The packet that is sent until it is acknowledged.
    oldest: u64,
    /// Whether it is in flight, and its record.
    in_flight: bool,
    record: SentPacket,
}

impl ResendOldest {
    fn lose(&mut self) -> Lost {
        let lost = Lost { bytes: self.inflight(), sent: self.record.sent };
        self.in_flight = false;
        lost
    }
}

impl Recovery for ResendOldest {
    fn new(cut: Cut, _: &Settings) -> Self {
        Self { cut, oldest: 0, in_flight: false, record: SentPacket::default() }
    }

    fn next(&self) -> Option<u64> {
        (!self.in_flight && self.oldest < self.cut.packets).then_some(self.oldest)
    }

    fn on_sent(&mut self, record: SentPacket) -> bool {
        let again = self.record != SentPacket::default();
        self.record = record;
        self.in_flight = true;
        again
    }

    fn on_ack(&mut self, report: &Report, _nack: bool) -> Acknowledged {
        let advanced = report.expected == (self.oldest + 1) as u32;
        let (bytes, packet) = (if advanced { self.inflight() } else { 0 }, self.oldest);
        let record = advanced.then_some(self.record);
        if advanced {
            self.oldest += 1;
            self.in_flight = false;
            self.record = SentPacket::default();
        }
        Acknowledged { bytes, advanced, hole: false, packet, record, inflight: bytes }
    }

    fn on_hole(&mut self) -> Lost {
        self.lose()
    }

    fn on_timeout(&mut self) -> Lost {
        self.lose()
    }

    fn stop(&mut self) {
        self.cut.end_at(self.position());
    }

    fn extend(&mut self, packets: u64, last: u64) {
        self.cut.extend(packets, last, self.oldest);
    }

    fn inflight(&self) -> u64 {
        if self.in_flight { self.cut.bytes(self.oldest, self.oldest + 1) } else { 0 }
    }

    fn acknowledged(&self) -> u64 {
        self.oldest
    }

    fn position(&self) -> u64 {
        self.oldest + u64::from(self.in_flight)
    }

    fn is_done(&self) -> bool {
        self.oldest >= self.cut.packets
    }
}

#[cfg(test)]
mod tests {
    use incast_units::{Bytes, Time};

    use crate::example::transport::tests::{Finished, star};
    use incast_net::describe::transport::Recovery;

    #[test]
    fn every_packet_takes_a_round_trip() {
        let mut simulation = star(2500);
        simulation.transport.recovery = Recovery::ResendOldest;
        let mut finished = Finished::default();
        crate::run(&simulation, &mut finished).unwrap();
        // Two links of 100 Gbps and 1 us: a packet of 1054 B and its acknowledgement of 64 B take
        // 2 * (84.32 + 5.12 ns) + 4 us, twice; the last of 554 B 2 * (44.32 + 5.12 ns) + 4 us.
        let round = |packet: u64| Time::from_ps(2 * (packet + 64) * 80 + 4_000_000);
        assert_eq!(finished.0[0].finish, round(1054) + round(1054) + round(554));
        assert_eq!(finished.0[0].bytes, Bytes::new(2500));
    }
}
