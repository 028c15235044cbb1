//! Settings of backpressure flow control.

use incast_cc::Fixed;
use incast_units::{Bytes, Rate, Time};

use super::control::{Controller, OwnControl};
use super::named::named;
use super::switch::MAX_QUEUES;
use crate::pause_map::MAP_FRAME;

named! {
    /// Way to tell the far end of a link which of its queues are paused.
    pub enum Signal {
        "map" => Map: "a map of all queues, at regular times while one is paused, and when one is resumed",
        "at-once" => AtOnce: "a frame for each queue as soon as it is to be paused or resumed",
    }
}

named! {
    /// Time at which a packet that found too much in its queue ceases to have the queue before it paused.
    pub enum Resume {
        "last-packet" => LastPacket: "when it leaves: the queue before is resumed when the last such packet has left",
        "threshold" => Threshold: "when it leaves, or the queue is no longer above the threshold",
    }
}

/// Backpressure flow control (Goyal et al., NSDI 2022): each switch pauses queues of its neighbours. The
/// default is the simulator of its authors, with 32 queues, but for the time at which a queue is resumed.
///
/// HRTT is twice the delay of the link by which a packet has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bfc {
    /// Queues for data at each port of a switch, at most [`MAX_QUEUES`] − 1: control packets have another.
    pub queues: u8,
    /// The bytes in a queue above which its senders are paused, as a multiple of HRTT × rate of the port, divided
    /// by the number of queues that share it.
    pub factor: Fixed,
    /// Time at which they are resumed.
    pub resume: Resume,
    /// Way to tell the far end.
    pub signal: Signal,
    /// With [`Signal::Map`]: time between two maps. `None`: half of HRTT, the delay of the link.
    pub interval: Option<Time>,
    /// Entries of the table of flows for each of these queues.
    pub entries: u32,
    /// A flow keeps its queue until it has had no packet in the port for more than this multiple of HRTT.
    pub sticky: u32,
    /// Whether packets of a flow that has no other in the port cause no pause.
    pub single_packet: bool,
}

impl Default for Bfc {
    fn default() -> Self {
        Self {
            queues: 32,
            factor: Fixed::ratio(3, 2),
            resume: Resume::Threshold,
            signal: Signal::Map,
            interval: None,
            entries: 200,
            sticky: 3,
            single_packet: true,
        }
    }
}

impl Bfc {
    /// One line for lists.
    pub const SUMMARY: &'static str =
        "switches pause single queues of their neighbours and single flows of hosts";
    /// The rest of its description in lists.
    pub const OWN_CONTROL: OwnControl = OwnControl {
        title: "BFC",
        controller: Controller::Network,
        needs: "switches that assign flows to queues and pause single queues (prototype on Tofino 2: 2022)",
    };

    /// The threshold at a port of this rate if one queue has it alone, for packets that have come by a link of
    /// this delay.
    #[must_use]
    pub fn threshold(&self, rate: Rate, delay: Time) -> Bytes {
        Bytes::new(self.factor.scale(rate.bytes_in(delay.times(2)).get()))
    }

    /// Returns the error of these settings on a link of this rate and delay.
    #[must_use]
    pub fn problem_at(&self, rate: Rate, delay: Time) -> Option<String> {
        let interval = self.interval.unwrap_or(delay);
        let frame = rate.time_for(Bytes::new(u64::from(MAP_FRAME)));
        (self.signal == Signal::Map && interval < frame.times(2)).then(|| {
            format!(
                "a map each {interval} takes more than half of a link of {rate}, on which it takes {frame}"
            )
        })
    }

    /// Returns the error of these settings.
    pub fn problem(&self) -> Option<String> {
        if !(1..MAX_QUEUES).contains(&usize::from(self.queues)) {
            return Some(format!(
                "with BFC a port has 1 to {} queues for data, not {}",
                MAX_QUEUES - 1,
                self.queues
            ));
        }
        if self.entries == 0 {
            return Some("the table of BFC has no entries".into());
        }
        if self.interval == Some(Time::ZERO) {
            return Some("the time between two maps of BFC must be above zero".into());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_by_hand() {
        // The authors' simulator: 1.5 · 2 us · 100 Gbps = 37 500 B, at 400 Gbps 150 000 B. OSCAR's: 25 000 B.
        let at = |factor, gbps| {
            let bfc = Bfc { factor, ..Bfc::default() };
            bfc.threshold(Rate::from_gbps(gbps), Time::from_us(1)).get()
        };
        assert_eq!(at(Fixed::ratio(3, 2), 100), 37_500);
        assert_eq!(at(Fixed::ratio(3, 2), 400), 150_000);
        assert_eq!(at(Fixed::ONE, 100), 25_000);
        // 2 · 37 ns · 33.333 Gbps = 308.33 B, rounded down; half as much again is 462.
        let bfc = Bfc::default();
        assert_eq!(bfc.threshold(Rate::from_mbps(33_333), Time::from_ns(37)).get(), 462);
    }
}
