//! Types of the arguments and results of C. A type with a counterpart in the contract of `incast-cc` has the
//! same layout, field by field, so that a pointer to one is a pointer to the other.
#![expect(non_camel_case_types, reason = "the names are those that C has")]

use core::ffi::c_char;
use core::mem::offset_of;

use incast_cc::contract::{self, IntHop, MAX_INT_HOPS, Signals};
use incast_cc::params::Value;
use incast_cc::{Ack, Allowance, Fixed, IntStack, Loss, LossKind, Overhead, Path, Sent};
use incast_units::{Bytes, Rate, Time};

/// The number of the binary interface that this header describes. Within it nothing changes its size, its
/// layout, its meaning or its number; functions and statuses may be added. incast_cc_abi() is the number of
/// the library that is there when the program runs.
pub const INCAST_CC_ABI: u32 = 1;

/// A point in time, or a span of it, in picoseconds. Any point can be zero, as long as it is the same for all
/// calls of a flow; 64 bits span 213 days.
pub type incast_time = u64;

/// An amount of data in bytes. Bytes on the wire, with all headers, unless stated differently.
pub type incast_bytes = u64;

/// A rate in bits per second.
pub type incast_rate = u64;

/// The deadline of a timer that is not set: later than all times.
pub const INCAST_NEVER: u64 = 18_446_744_073_709_551_615;

/// A window that does not limit: more than all amounts.
pub const INCAST_UNLIMITED: u64 = 18_446_744_073_709_551_615;

/// Largest number of switch records in an acknowledgement.
pub const INCAST_INT_HOPS: usize = 5;

/// The size of incast_params in words of 8 bytes.
pub const INCAST_PARAMS_WORDS: usize = 64;

/// ECN marks: incast_ack.marked.
pub const INCAST_SIGNAL_ECN: u32 = 1;
/// In-band telemetry: incast_int_stack.
pub const INCAST_SIGNAL_INT: u32 = 2;
/// Congestion notification packets from the receiver: incast_flow_on_cnp().
pub const INCAST_SIGNAL_CNP: u32 = 4;
/// The largest queueing delay of a hop: incast_ack.hop_delay.
pub const INCAST_SIGNAL_HOP_DELAY: u32 = 8;
/// Clocks of sender and receiver that agree: incast_ack.received.
pub const INCAST_SIGNAL_ONE_WAY_DELAY: u32 = 16;
/// The number of flows at the receiver: incast_ack.receiver_flows.
pub const INCAST_SIGNAL_RECEIVER_FLOWS: u32 = 32;
/// A word of the algorithm, kept with each packet: incast_flow_tag(), incast_ack.tag.
pub const INCAST_SIGNAL_PACKET_TAG: u32 = 64;
/// Whether there is a circuit to the receiver's rack: incast_ack.circuit.
pub const INCAST_SIGNAL_CIRCUIT: u32 = 128;
/// The longest run of packets that later ones have overtaken: incast_ack.delayed_run.
pub const INCAST_SIGNAL_DELAYED_RUN: u32 = 256;

/// A text in UTF-8 that lives as long as the program. No zero byte follows it: print it with
/// `printf("%.*s", INCAST_STR(text))`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct incast_str {
    /// Its first byte.
    pub text: *const c_char,
    /// Its length in bytes.
    pub length: usize,
}

/// An algorithm in lists.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct incast_info {
    /// Its name, by which incast_params_named() knows it.
    pub name: incast_str,
    /// Its name in text and pictures.
    pub title: incast_str,
    /// One line.
    pub summary: incast_str,
    /// Its group: what it decides by.
    pub family: incast_str,
    /// One line: what it needs from hosts and switches.
    pub needs: incast_str,
    /// Bytes of the state of a flow; incast_flow_size() of its setups.
    pub flow_bytes: usize,
    /// Bytes of a setup, which flows share; incast_setup_size() of its parameters.
    pub setup_bytes: usize,
    /// Number of its presets; the default is the first.
    pub presets: usize,
    /// Number of its parameters.
    pub parameters: usize,
    /// Number of its internal quantities.
    pub internals: usize,
}

/// A preset or an internal quantity in lists.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct incast_named {
    /// Its name.
    pub name: incast_str,
    /// Its meaning, in a sentence.
    pub meaning: incast_str,
}

/// Kind of the number in an incast_value or of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum incast_kind {
    /// A time in picoseconds; in text "12us", "never".
    INCAST_KIND_TIME = 0,
    /// An amount in bytes; in text "75KB" (75,000 bytes), "64KiB" (65,536 bytes), "unlimited".
    INCAST_KIND_BYTES = 1,
    /// A rate in bits per second; in text "40Mbps", "unlimited".
    INCAST_KIND_RATE = 2,
    /// A number without dimension, as an int64_t in units of 2^-32; in text "1.5".
    INCAST_KIND_RATIO = 3,
    /// A whole number; in text "5".
    INCAST_KIND_COUNT = 4,
    /// 0 or 1; in text "true", "false".
    INCAST_KIND_FLAG = 5,
    /// The place of a word in a list, from 0; in text the word.
    INCAST_KIND_CHOICE = 6,
}

/// A parameter in lists. Its range and its value are texts: incast_params_range(), incast_params_get().
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct incast_parameter {
    /// Its name.
    pub name: incast_str,
    /// One sentence of meaning.
    pub meaning: incast_str,
    /// Source of its default.
    pub source: incast_str,
    /// Its kind: one of incast_kind.
    pub kind: u32,
}

/// A number with what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_value {
    /// Its kind: one of incast_kind.
    pub kind: u32,
    /// The number, in the unit of its kind. For INCAST_KIND_RATIO it is an int64_t, here in two's complement:
    /// the ratio is `(double)(int64_t)number / 4294967296.0`.
    pub number: u64,
}

/// Header bytes that an algorithm adds to every packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_overhead {
    /// To a data packet.
    pub data: u16,
    /// To an acknowledgement, for what it echoes.
    pub ack: u16,
}

/// The path of a flow: known when the flow starts, and constant for its lifetime. A setup is refused unless
/// 0 < base_rtt < INCAST_NEVER, base_owd <= base_rtt, 0 < line_rate, 0 < payload <= packet, 0 < hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_path {
    /// Round-trip time without queues: the propagation of both directions, and the time to store and forward
    /// one full data packet there and one acknowledgement back, at the rate of each hop.
    pub base_rtt: incast_time,
    /// The part of base_rtt that is spent on the way from sender to receiver.
    pub base_owd: incast_time,
    /// Rate of the sender's own link.
    pub line_rate: incast_rate,
    /// Size on the wire of a full data packet, with all headers.
    pub packet: incast_bytes,
    /// Payload of a full data packet.
    pub payload: incast_bytes,
    /// Links between sender and receiver.
    pub hops: u32,
}

/// An acknowledgement at the sender. What an algorithm does not ask for (incast_params_signals()) may be
/// zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_ack {
    /// Time of its arrival at the sender.
    pub now: incast_time,
    /// Time at which the acknowledged packet left the sender (its first bit).
    pub sent: incast_time,
    /// Time at which that packet arrived at the receiver (its last bit), by the receiver's clock.
    pub received: incast_time,
    /// Time for which the receiver held this acknowledgement back after that packet had arrived; zero if it
    /// answered at once. The round-trip time is now - sent - held.
    pub held: incast_time,
    /// Bytes that it newly acknowledges; zero for a duplicate.
    pub acked: incast_bytes,
    /// Position in the flow of the first payload byte of the packet that caused it, the one that sent,
    /// received, inflight, hop_delay, tag and the telemetry belong to.
    pub packet: u64,
    /// Position in the flow up to which everything has arrived, in payload bytes.
    pub sequence: u64,
    /// Position of the next new payload byte that the sender will send.
    pub next_sequence: u64,
    /// Bytes in flight when the acknowledged packet was sent, that packet included; of several packets their
    /// mean.
    pub inflight: incast_bytes,
    /// Bytes in flight now, after this acknowledgement.
    pub inflight_now: incast_bytes,
    /// Number of data packets that it covers, at least 1.
    pub packets: u32,
    /// Number of those packets that carried an ECN congestion mark.
    pub marked: u32,
    /// Largest queueing delay of any single hop on the packet's path; zero if not measured.
    pub hop_delay: incast_time,
    /// Number of flows open at the receiver; zero if not reported.
    pub receiver_flows: u32,
    /// Tag that incast_flow_tag() gave when that packet was sent; zero if it is not kept.
    pub tag: u32,
    /// The longest run of packets, adjacent in sequence, that are not acknowledged while at least three later
    /// ones are; zero if not measured.
    pub delayed_run: u32,
    /// Whether the receiver reports a hole: a later packet arrived before an earlier one.
    pub hole: bool,
    /// Whether the switch of the sender's rack announced a circuit to that packet.
    pub circuit: bool,
}

/// Record that a switch port writes into a packet when it begins to transmit it (in-band telemetry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_int_hop {
    /// Time at which the packet was taken from the queue, by the switch's clock.
    pub at: incast_time,
    /// Bytes left in the port's queues after it was taken.
    pub queue: incast_bytes,
    /// Bytes that the port had transmitted before it, since the start.
    pub transmitted: incast_bytes,
    /// The port's rate.
    pub rate: incast_rate,
}

/// The telemetry that came back with an acknowledgement, first hop first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_int_stack {
    /// Number of valid entries in hops, at most INCAST_INT_HOPS.
    pub count: u32,
    /// One record for each switch port on the path.
    pub hops: [incast_int_hop; INCAST_INT_HOPS],
}

/// Event by which a loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum incast_loss_kind {
    /// The receiver reported a hole.
    INCAST_LOSS_HOLE = 0,
    /// The retransmission timer expired.
    INCAST_LOSS_TIMEOUT = 1,
    /// A switch removed the payload and the header arrived.
    INCAST_LOSS_TRIM = 2,
}

/// A loss, as the transport reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_loss {
    /// Time at which the sender learns of it.
    pub now: incast_time,
    /// Kind of the loss: one of incast_loss_kind.
    pub kind: u32,
    /// Bytes that the transport considers lost: with go-back-N everything in flight.
    pub bytes: incast_bytes,
    /// Time at which the first lost packet was last sent.
    pub sent: incast_time,
    /// Position in payload bytes from which the transport retransmits.
    pub sequence: u64,
    /// Position of the next new payload byte before it does.
    pub next_sequence: u64,
}

/// A packet whose transmission has just begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_sent {
    /// Time of the event.
    pub now: incast_time,
    /// Its size on the wire.
    pub bytes: incast_bytes,
    /// Bytes in flight with it.
    pub inflight: incast_bytes,
}

/// Limits on what a flow may send until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct incast_allowance {
    /// A packet may be sent while fewer bytes than this are in flight; one packet may always be in flight,
    /// however small the window is. INCAST_UNLIMITED for an algorithm without window.
    pub window: incast_bytes,
    /// Sending rate.
    pub rate: incast_rate,
}

/// Refuses to compile unless a type of C and one of the contract have the same fields at the same places.
macro_rules! same_layout {
    ($($ours:ident, $theirs:ident: $($field:ident)+;)+) => {$(
        const _: () = {
            assert!(size_of::<$ours>() == size_of::<$theirs>());
            assert!(align_of::<$ours>() == align_of::<$theirs>());
            $(assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)+
            // All fields of both are here.
            const fn all(ours: &$ours, theirs: &$theirs) {
                let ($ours { $($field: _),+ }, $theirs { $($field: _),+ }) = (ours, theirs);
            }
            let _ = all;
        };
    )+};
}

same_layout! {
    incast_path, Path: base_rtt base_owd line_rate packet payload hops;
    incast_ack, Ack: now sent received held acked packet sequence next_sequence inflight inflight_now packets
        marked hop_delay receiver_flows tag delayed_run hole circuit;
    incast_int_hop, IntHop: at queue transmitted rate;
    incast_int_stack, IntStack: count hops;
    incast_loss, Loss: now kind bytes sent sequence next_sequence;
    incast_sent, Sent: now bytes inflight;
    incast_allowance, Allowance: window rate;
    incast_overhead, Overhead: data ack;
}

const _: () = {
    assert!(size_of::<LossKind>() == size_of::<u32>());
    assert!(LossKind::Hole as u32 == incast_loss_kind::INCAST_LOSS_HOLE as u32);
    assert!(LossKind::Timeout as u32 == incast_loss_kind::INCAST_LOSS_TIMEOUT as u32);
    assert!(LossKind::Trim as u32 == incast_loss_kind::INCAST_LOSS_TRIM as u32);
    assert!(INCAST_INT_HOPS == MAX_INT_HOPS);
    assert!(INCAST_NEVER == Time::NEVER.ps());
    assert!(INCAST_UNLIMITED == Bytes::UNLIMITED.get());
    assert!(INCAST_SIGNAL_ECN == Signals::ECN.bits());
    assert!(INCAST_SIGNAL_INT == Signals::INT.bits());
    assert!(INCAST_SIGNAL_CNP == Signals::CNP.bits());
    assert!(INCAST_SIGNAL_HOP_DELAY == Signals::HOP_DELAY.bits());
    assert!(INCAST_SIGNAL_ONE_WAY_DELAY == Signals::ONE_WAY_DELAY.bits());
    assert!(INCAST_SIGNAL_RECEIVER_FLOWS == Signals::RECEIVER_FLOWS.bits());
    assert!(INCAST_SIGNAL_PACKET_TAG == Signals::PACKET_TAG.bits());
    assert!(INCAST_SIGNAL_CIRCUIT == Signals::CIRCUIT.bits());
    assert!(INCAST_SIGNAL_DELAYED_RUN == Signals::DELAYED_RUN.bits());
};

impl From<&'static str> for incast_str {
    fn from(text: &'static str) -> Self {
        Self { text: text.as_ptr().cast(), length: text.len() }
    }
}

impl incast_named {
    pub(crate) fn new(name: &'static str, meaning: &'static str) -> Self {
        Self { name: name.into(), meaning: meaning.into() }
    }
}

impl From<contract::Internal> for incast_named {
    fn from(internal: contract::Internal) -> Self {
        Self::new(internal.name, internal.meaning)
    }
}

impl From<Value> for incast_value {
    fn from(value: Value) -> Self {
        use incast_kind::*;
        let (kind, number) = match value {
            Value::Time(time) => (INCAST_KIND_TIME, time.ps()),
            Value::Bytes(bytes) => (INCAST_KIND_BYTES, bytes.get()),
            Value::Rate(rate) => (INCAST_KIND_RATE, rate.bps()),
            Value::Ratio(ratio) => (INCAST_KIND_RATIO, ratio.bits().cast_unsigned()),
            Value::Count(count) => (INCAST_KIND_COUNT, count),
            Value::Flag(flag) => (INCAST_KIND_FLAG, u64::from(flag)),
            Value::Choice(place) => (INCAST_KIND_CHOICE, place as u64),
        };
        Self { kind: kind as u32, number }
    }
}

impl incast_value {
    /// Returns the value for Rust; `None` for an unknown kind, or for a number without a meaning in it.
    pub(crate) fn value(self) -> Option<Value> {
        use incast_kind::*;
        let number = self.number;
        let values = [
            (INCAST_KIND_TIME, Some(Value::Time(Time::from_ps(number)))),
            (INCAST_KIND_BYTES, Some(Value::Bytes(Bytes::new(number)))),
            (INCAST_KIND_RATE, Some(Value::Rate(Rate::from_bps(number)))),
            (INCAST_KIND_RATIO, Some(Value::Ratio(Fixed::from_bits(number.cast_signed())))),
            (INCAST_KIND_COUNT, Some(Value::Count(number))),
            (INCAST_KIND_FLAG, (number < 2).then_some(Value::Flag(number == 1))),
            (INCAST_KIND_CHOICE, usize::try_from(number).ok().map(Value::Choice)),
        ];
        values.into_iter().find(|(kind, _)| *kind as u32 == self.kind)?.1
    }
}

impl From<&incast_path> for Path {
    fn from(path: &incast_path) -> Self {
        Self {
            base_rtt: Time::from_ps(path.base_rtt),
            base_owd: Time::from_ps(path.base_owd),
            line_rate: Rate::from_bps(path.line_rate),
            packet: Bytes::new(path.packet),
            payload: Bytes::new(path.payload),
            hops: path.hops,
        }
    }
}

impl incast_path {
    /// Whether a flow can have such a path.
    pub(crate) fn is_possible(&self) -> bool {
        (1..INCAST_NEVER).contains(&self.base_rtt)
            && self.base_owd <= self.base_rtt
            && self.line_rate > 0
            && (1..=self.packet).contains(&self.payload)
            && self.hops > 0
    }
}

impl From<Allowance> for incast_allowance {
    fn from(allowance: Allowance) -> Self {
        Self { window: allowance.window.get(), rate: allowance.rate.bps() }
    }
}

impl From<Overhead> for incast_overhead {
    fn from(overhead: Overhead) -> Self {
        Self { data: overhead.data, ack: overhead.ack }
    }
}
