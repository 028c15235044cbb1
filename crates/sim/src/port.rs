//! The sending side of a port, the same in switches and hosts.

use incast_units::{Bytes, Rate, Time};

use crate::describe::network::{NodeId, PortId};
use crate::engine::event::{Captured, Effects, Event, Kind};
use crate::packet::{IntRecords, Packet};
use crate::record::{PauseRecord, PortSample, PortTotals};
use crate::route::Out;

/// The wire out of a port: is it busy, is it paused, what has passed.
#[derive(Debug)]
pub(crate) struct Port {
    rate: Rate,
    /// Picoseconds per byte where that is a whole number, else 0.
    ps_per_byte: u64,
    delay: u64,
    /// A packet is being sent.
    pub(crate) busy: bool,
    /// Queues that the far end has paused, one bit each.
    pub(crate) paused: u8,
    paused_since: u64,
    paused_total: u64,
    /// Bytes transmitted.
    pub(crate) transmitted: u64,
    packets: u64,
    /// Packets that found no room on their way into this port's queues.
    pub(crate) drops: u64,
    /// Their bytes.
    pub(crate) dropped: u64,
    /// Packets marked.
    pub(crate) marked: u64,
    /// Pause frames sent through this port.
    pub(crate) pauses_sent: u64,
    /// Longest its queues have been together.
    pub(crate) peak: u64,
    /// Its node, if its packets are captured.
    pub(crate) captured: Option<NodeId>,
    /// Its node, if its pauses are recorded.
    pub(crate) pauses_recorded: Option<NodeId>,
}

impl Port {
    pub(crate) fn new(out: &Out) -> Self {
        Self {
            rate: out.rate,
            ps_per_byte: out.rate.whole_ps_per_byte().unwrap_or(0),
            delay: out.delay.ps(),
            busy: false,
            paused: 0,
            paused_since: 0,
            paused_total: 0,
            transmitted: 0,
            packets: 0,
            drops: 0,
            dropped: 0,
            marked: 0,
            pauses_sent: 0,
            peak: 0,
            captured: None,
            pauses_recorded: None,
        }
    }

    /// How long `size` bytes take on this wire. (ps)
    #[inline]
    pub(crate) fn time_for(&self, size: u64) -> u64 {
        if self.ps_per_byte != 0 {
            size * self.ps_per_byte
        } else {
            self.rate.time_for(Bytes::new(size)).ps()
        }
    }

    /// Begins to send a packet; the port is busy until the event that this schedules. Says when the
    /// last bit will have left.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: u64,
        index: PortId,
        mut packet: Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> u64 {
        let size = u64::from(packet.size);
        let done = now + self.time_for(size);
        self.busy = true;
        self.transmitted += size;
        self.packets += 1;
        packet.time = done + self.delay;
        effects.tally().hops += 1;
        if let Some(node) = self.captured {
            effects.tally().captured.push(Captured { time: now, node, port: index, packet });
        }
        effects.transmit(index, packet, int);
        effects.schedule(Event::new(done, Kind::Departed, u32::from(index)));
        done
    }

    /// A PFC frame came in.
    pub(crate) fn set_paused(
        &mut self,
        now: u64,
        port: PortId,
        queue: u8,
        paused: bool,
        effects: &mut impl Effects,
    ) {
        if let Some(node) = self.pauses_recorded {
            let time = Time::from_ps(now);
            effects.tally().pauses.push(PauseRecord { time, node, port, queue, paused });
        }
        let before = self.paused;
        let bit = 1 << (queue & 7);
        if paused {
            self.paused |= bit;
        } else {
            self.paused &= !bit;
        }
        match (before, self.paused) {
            (0, p) if p != 0 => self.paused_since = now,
            (p, 0) if p != 0 => self.paused_total += now - self.paused_since,
            _ => {}
        }
    }

    pub(crate) fn is_paused(&self, queue: u8) -> bool {
        self.paused & (1 << (queue & 7)) != 0
    }

    pub(crate) fn sample(&self, time: u64, node: NodeId, port: PortId, queue: u64) -> PortSample {
        PortSample {
            time: Time::from_ps(time),
            node,
            port,
            queue: Bytes::new(queue),
            transmitted: Bytes::new(self.transmitted),
            dropped: Bytes::new(self.dropped),
            marked: self.marked,
            paused: self.paused != 0,
        }
    }

    pub(crate) fn totals(&self, now: u64, node: NodeId, port: PortId) -> PortTotals {
        let open = if self.paused != 0 { now.saturating_sub(self.paused_since) } else { 0 };
        PortTotals {
            node,
            port,
            transmitted: Bytes::new(self.transmitted),
            packets: self.packets,
            drops: self.drops,
            dropped: Bytes::new(self.dropped),
            marked: self.marked,
            peak_queue: Bytes::new(self.peak),
            paused: Time::from_ps(self.paused_total + open),
            pauses_sent: self.pauses_sent,
        }
    }

    /// What is wrong with this port's totals at the end of a run that ended at `now`, if anything:
    /// it cannot have sent more than its capacity, but for the one packet that it may be sending.
    pub(crate) fn violation(&self, now: u64, largest_packet: u64) -> Option<String> {
        let least = self.time_for(self.transmitted.saturating_sub(largest_packet.max(64)));
        (least > now).then(|| format!("sent {} by {}", Bytes::new(self.transmitted), Time::from_ps(now)))
    }
}
