//! The arguments of an algorithm written in Python: the values of the contract, read-only. Times are whole
//! numbers of picoseconds, sizes of bytes, rates of bit/s.

use incast_cc as cc;
use incast_units::{Bytes, Rate, Time};
use pyo3::prelude::*;

/// Properties of a flow's path that are known when the flow starts; constant for its life.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Path {
    /// Round-trip time without queues, in ps.
    base_rtt: u64,
    /// The part of `base_rtt` on the way from sender to receiver, in ps.
    base_owd: u64,
    /// Rate of the sender's own link, in bit/s.
    line_rate: u64,
    /// Size on the wire of a full data packet, with all headers, in bytes.
    packet: u64,
    /// Payload of a full data packet, in bytes.
    payload: u64,
    /// Links between sender and receiver.
    hops: u32,
}

#[pymethods]
impl Path {
    #[new]
    #[pyo3(signature = (base_rtt, line_rate, base_owd=None, packet=1060, payload=1000, hops=2))]
    fn new(
        base_rtt: u64,
        line_rate: u64,
        base_owd: Option<u64>,
        packet: u64,
        payload: u64,
        hops: u32,
    ) -> Self {
        Self { base_rtt, base_owd: base_owd.unwrap_or(base_rtt / 2), line_rate, packet, payload, hops }
    }

    /// The base bandwidth-delay product, in bytes.
    #[getter]
    fn bdp(&self) -> u64 {
        Rate::from_bps(self.line_rate).bytes_in(Time::from_ps(self.base_rtt)).get()
    }

    /// Returns the time in ps that the sender's link needs for these bytes.
    fn time_for(&self, bytes: u64) -> u64 {
        Rate::from_bps(self.line_rate).time_for(Bytes::new(bytes)).ps()
    }

    /// Returns the number of bytes that the sender's link carries in this many ps.
    fn bytes_in(&self, time: u64) -> u64 {
        Rate::from_bps(self.line_rate).bytes_in(Time::from_ps(time)).get()
    }

    fn __repr__(&self) -> String {
        format!(
            "Path(base_rtt={}, line_rate={}, base_owd={}, packet={}, payload={}, hops={})",
            self.base_rtt, self.line_rate, self.base_owd, self.packet, self.payload, self.hops
        )
    }
}

impl From<&cc::Path> for Path {
    fn from(path: &cc::Path) -> Self {
        Self {
            base_rtt: path.base_rtt.ps(),
            base_owd: path.base_owd.ps(),
            line_rate: path.line_rate.bps(),
            packet: path.packet.get(),
            payload: path.payload.get(),
            hops: path.hops,
        }
    }
}

/// Content of an acknowledgement for the sender. Byte counts are bytes on the wire, headers included.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Ack {
    /// Time of its arrival at the sender, in ps.
    now: u64,
    /// Time at which the acknowledged packet left the sender, in ps.
    sent: u64,
    /// Time at which that packet arrived at the receiver, in ps of the receiver's clock.
    received: u64,
    /// Time for which the receiver held this acknowledgement back after that, in ps.
    held: u64,
    /// Bytes that it newly acknowledges; zero for a duplicate.
    acked: u64,
    /// Position of the first payload byte of the packet that caused this acknowledgement.
    packet: u64,
    /// Position in the flow up to which everything has arrived, in payload bytes.
    sequence: u64,
    /// Position of the next new payload byte that the sender will send.
    next_sequence: u64,
    /// Bytes in flight when the acknowledged packet was sent, that packet included.
    inflight: u64,
    /// Bytes in flight now.
    inflight_now: u64,
    /// Number of data packets that it covers, at least 1.
    packets: u32,
    /// Number of them that carried an ECN mark.
    marked: u32,
    /// Largest queueing delay of any single hop, in ps; zero where not measured.
    hop_delay: u64,
    /// Flows that the receiver has open; zero where not told.
    receiver_flows: u32,
    /// Tag that `tag()` gave when that packet was sent; zero without `Signals.PACKET_TAG`.
    tag: u32,
    /// The longest run of delayed packets, adjacent in sequence; zero without `Signals.DELAYED_RUN`.
    delayed_run: u32,
    /// Whether the receiver reports a hole.
    hole: bool,
    /// Whether the switch of the sender's rack announced a circuit to that packet.
    circuit: bool,
}

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (*, now, sent, received=None, held=0, acked=1060, packet=0, sequence=0, next_sequence=0, inflight=1060,
        inflight_now=0, packets=1, marked=0, hop_delay=0, receiver_flows=0, tag=0, delayed_run=0,
        hole=false, circuit=false))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords, all but two with a default")]
    fn new(
        now: u64,
        sent: u64,
        received: Option<u64>,
        held: u64,
        acked: u64,
        packet: u64,
        sequence: u64,
        next_sequence: u64,
        inflight: u64,
        inflight_now: u64,
        packets: u32,
        marked: u32,
        hop_delay: u64,
        receiver_flows: u32,
        tag: u32,
        delayed_run: u32,
        hole: bool,
        circuit: bool,
    ) -> Self {
        let received = received.unwrap_or(sent + now.saturating_sub(sent) / 2);
        Self {
            now,
            sent,
            received,
            held,
            acked,
            packet,
            sequence,
            next_sequence,
            inflight,
            inflight_now,
            packets,
            marked,
            hop_delay,
            receiver_flows,
            tag,
            delayed_run,
            hole,
            circuit,
        }
    }

    /// The round-trip time that it measures, without the time for which the receiver held it, in ps.
    #[getter]
    fn rtt(&self) -> u64 {
        self.now.saturating_sub(self.sent).saturating_sub(self.held)
    }

    /// The one-way delay from sender to receiver, in ps.
    #[getter]
    fn owd(&self) -> u64 {
        self.received.saturating_sub(self.sent)
    }

    fn __repr__(&self) -> String {
        format!(
            "Ack(now={}, sent={}, rtt={}, acked={}, inflight={}, packets={}, marked={})",
            self.now,
            self.sent,
            self.rtt(),
            self.acked,
            self.inflight,
            self.packets,
            self.marked
        )
    }
}

impl From<&cc::Ack> for Ack {
    fn from(ack: &cc::Ack) -> Self {
        Self {
            now: ack.now.ps(),
            sent: ack.sent.ps(),
            received: ack.received.ps(),
            held: ack.held.ps(),
            acked: ack.acked.get(),
            packet: ack.packet,
            sequence: ack.sequence,
            next_sequence: ack.next_sequence,
            inflight: ack.inflight.get(),
            inflight_now: ack.inflight_now.get(),
            packets: ack.packets,
            marked: ack.marked,
            hop_delay: ack.hop_delay.ps(),
            receiver_flows: ack.receiver_flows,
            tag: ack.tag,
            delayed_run: ack.delayed_run,
            hole: ack.hole,
            circuit: ack.circuit,
        }
    }
}

/// Record that a switch port writes into a packet as it begins to transmit it (in-band telemetry).
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct IntHop {
    /// Time at which the packet was taken from the queue, in ps.
    at: u64,
    /// Bytes left in the port's queues after it was taken.
    queue: u64,
    /// Bytes that the port had transmitted before it.
    transmitted: u64,
    /// The port's rate, in bit/s.
    rate: u64,
}

#[pymethods]
impl IntHop {
    #[new]
    fn new(at: u64, queue: u64, transmitted: u64, rate: u64) -> Self {
        Self { at, queue, transmitted, rate }
    }

    fn __repr__(&self) -> String {
        let Self { at, queue, transmitted, rate } = self;
        format!("IntHop(at={at}, queue={queue}, transmitted={transmitted}, rate={rate})")
    }
}

impl From<&cc::IntHop> for IntHop {
    fn from(hop: &cc::IntHop) -> Self {
        Self {
            at: hop.at.ps(),
            queue: hop.queue.get(),
            transmitted: hop.transmitted.get(),
            rate: hop.rate.bps(),
        }
    }
}

/// A loss, as the transport reports it.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Loss {
    /// Time at which the sender learns of it, in ps.
    now: u64,
    /// `hole`: the receiver reported one; `timeout`: the retransmission timer ran out; `trim`: a switch
    /// cut the payload off.
    kind: &'static str,
    /// Bytes on the wire that the transport takes to be lost.
    bytes: u64,
    /// Time at which the first lost packet was last sent, in ps.
    sent: u64,
    /// Position in payload bytes from which the transport sends again.
    sequence: u64,
    /// Position of the next new payload byte before it does.
    next_sequence: u64,
}

#[pymethods]
impl Loss {
    fn __repr__(&self) -> String {
        let Self { now, kind, bytes, sent, sequence, next_sequence } = self;
        format!(
            "Loss(now={now}, kind={kind:?}, bytes={bytes}, sent={sent}, sequence={sequence}, next_sequence={next_sequence})"
        )
    }
}

impl From<&cc::Loss> for Loss {
    fn from(loss: &cc::Loss) -> Self {
        Self {
            now: loss.now.ps(),
            kind: match loss.kind {
                cc::LossKind::Hole => "hole",
                cc::LossKind::Timeout => "timeout",
                cc::LossKind::Trim => "trim",
            },
            bytes: loss.bytes.get(),
            sent: loss.sent.ps(),
            sequence: loss.sequence,
            next_sequence: loss.next_sequence,
        }
    }
}

/// A packet that has just begun to leave the sender.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Sent {
    /// Time of the event, in ps.
    now: u64,
    /// Its size on the wire, in bytes.
    bytes: u64,
    /// Bytes in flight with it.
    inflight: u64,
}

#[pymethods]
impl Sent {
    fn __repr__(&self) -> String {
        format!("Sent(now={}, bytes={}, inflight={})", self.now, self.bytes, self.inflight)
    }
}

impl From<&cc::Sent> for Sent {
    fn from(sent: &cc::Sent) -> Self {
        Self { now: sent.now.ps(), bytes: sent.bytes.get(), inflight: sent.inflight.get() }
    }
}
