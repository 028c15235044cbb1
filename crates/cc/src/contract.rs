//! The interface between an algorithm and the transport that carries its packets.

use core::fmt;

use incast_units::{Bytes, Rate, Time};

use crate::params::Value;
pub use crate::path::Path;
use crate::relative::{Origin, See, Words};
pub use crate::signals::Signals;

/// The contents of an acknowledgement at the sender. All byte counts are bytes on the wire, headers included,
/// unless stated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Ack {
    /// Time at which the acknowledgement arrived at the sender.
    pub now: Time,
    /// Time at which the acknowledged packet left the sender (its first bit), echoed by the receiver. A
    /// transport may be set to take this and what else is on record at the sender (`inflight`, `tag`) from
    /// the last packet in order.
    pub sent: Time,
    /// Time at which that packet arrived at the receiver (its last bit), by the receiver's clock.
    pub received: Time,
    /// Time for which the receiver held this acknowledgement back after that packet had arrived
    /// (acknowledgement coalescing), echoed by the receiver; zero if it answered at once.
    pub held: Time,
    /// Bytes that this acknowledgement newly acknowledges; zero for a duplicate.
    pub acked: Bytes,
    /// Position in the flow of the first payload byte of the packet that caused this acknowledgement,
    /// the one that `sent`, `received`, `inflight`, `hop_delay`, `tag` and the telemetry belong to.
    pub packet: u64,
    /// Position in the flow up to which everything has arrived, in payload bytes.
    pub sequence: u64,
    /// Position of the next new payload byte that the sender will send (snd_nxt).
    pub next_sequence: u64,
    /// Bytes in flight when the acknowledged packet was sent, that packet included. If the acknowledgement
    /// covers several packets: their mean.
    pub inflight: Bytes,
    /// Bytes in flight now, after this acknowledgement.
    pub inflight_now: Bytes,
    /// Number of data packets that this acknowledgement covers, at least 1.
    pub packets: u32,
    /// Number of those packets that carried an ECN congestion mark.
    pub marked: u32,
    /// Largest queueing delay of any single hop on the packet's path; zero if not measured.
    pub hop_delay: Time,
    /// Number of open flows at the receiver; zero if not reported.
    pub receiver_flows: u32,
    /// The result of [`CongestionControl::tag`] when that packet was sent; zero without
    /// [`Signals::PACKET_TAG`], and for a packet whose record is no longer kept.
    pub tag: u32,
    /// The longest run of packets, adjacent in sequence, that are delayed: not acknowledged, while at least as many
    /// later ones are as the transport takes for a sign of loss (three by default). Zero without
    /// [`Signals::DELAYED_RUN`], and under a transport that drops packets out of order.
    pub delayed_run: u32,
    /// Whether the receiver reports a hole: a later packet arrived before an earlier one.
    pub hole: bool,
    /// Whether the switch of the sender's rack announced a circuit to that packet (explicit circuit
    /// notification); false in a network without circuits.
    pub circuit: bool,
}

/// Passes the names of the fields of [`Ack`](crate::Ack), in their order in memory, to the macro `$callback`.
#[macro_export]
macro_rules! for_each_ack_field {
    ($callback:ident) => {
        $callback! {
            now sent received held acked packet sequence next_sequence inflight inflight_now packets marked
            hop_delay receiver_flows tag delayed_run hole circuit
        }
    };
}

/// Refuses to compile unless these are all fields of [`Ack`].
macro_rules! all_fields {
    ($($field:ident)+) => {
        const _: fn(&Ack) = |Ack { $($field: _),+ }| {};
    };
}
for_each_ack_field!(all_fields);

impl Ack {
    /// An acknowledgement of one packet in which every other signal is zero, false or not measured. Code that makes an
    /// `Ack` names the signals that it has and takes the rest from here (`..Ack::BLANK`), so that a new signal concerns
    /// only those that measure it.
    pub const BLANK: Self = Self {
        now: Time::ZERO,
        sent: Time::ZERO,
        received: Time::ZERO,
        held: Time::ZERO,
        acked: Bytes::ZERO,
        packet: 0,
        sequence: 0,
        next_sequence: 0,
        inflight: Bytes::ZERO,
        inflight_now: Bytes::ZERO,
        packets: 1,
        marked: 0,
        hop_delay: Time::ZERO,
        receiver_flows: 0,
        tag: 0,
        delayed_run: 0,
        hole: false,
        circuit: false,
    };

    /// The round-trip time of the packet that caused this acknowledgement, without the time for which
    /// the receiver held the acknowledgement back.
    #[must_use]
    pub fn rtt(&self) -> Time {
        self.now - self.sent - self.held
    }

    /// The one-way delay from sender to receiver (meaningful when their clocks agree).
    #[must_use]
    pub fn owd(&self) -> Time {
        self.received - self.sent
    }
}

/// The record that one switch port wrote into a packet when it began to transmit it (in-band telemetry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct IntHop {
    /// Time at which the packet was taken from the queue.
    pub at: Time,
    /// Bytes left in the port's queues, all priorities, after it was taken.
    pub queue: Bytes,
    /// Bytes that the port had transmitted before it, since the start.
    pub transmitted: Bytes,
    /// The port's rate.
    pub rate: Rate,
}

/// Maximum number of hops in an INT header (42 B: 5 records of 8 B and 2 B of count and path).
pub const MAX_INT_HOPS: usize = 5;

/// The telemetry that came back with an acknowledgement, first hop first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct IntStack {
    /// Number of valid entries in `hops`.
    pub count: u32,
    /// One record per switch port on the path.
    pub hops: [IntHop; MAX_INT_HOPS],
}

impl IntStack {
    /// No telemetry.
    pub const EMPTY: Self = Self {
        count: 0,
        hops: [IntHop { at: Time::ZERO, queue: Bytes::ZERO, transmitted: Bytes::ZERO, rate: Rate::ZERO };
            MAX_INT_HOPS],
    };

    /// Becomes `other`. (Record by record, which is a few moves; a copy of the whole is a call.)
    #[inline]
    pub(crate) fn copy(&mut self, other: &Self) {
        let [a, b, c, d, e] = &other.hops;
        self.count = other.count;
        self.hops = [*a, *b, *c, *d, *e];
    }

    /// The valid records, with their index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &IntHop)> {
        self.hops.iter().enumerate().take(self.count as usize)
    }
}

/// Event by which the transport detected a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LossKind {
    /// The receiver reported a hole: a NACK, or selective acknowledgements of later packets.
    Hole,
    /// The retransmission timer expired.
    Timeout,
    /// A switch removed the payload and the header arrived (packet trimming).
    Trim,
}

/// A loss, as the transport reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Loss {
    /// Time at which the sender learns of it.
    pub now: Time,
    /// Kind of the loss.
    pub kind: LossKind,
    /// Bytes on the wire that the transport considers lost: with go-back-N everything in flight.
    pub bytes: Bytes,
    /// Time at which the first lost packet was last sent.
    pub sent: Time,
    /// Position in payload bytes from which the transport retransmits.
    pub sequence: u64,
    /// Position of the next new payload byte before it does.
    pub next_sequence: u64,
}

impl Loss {
    /// A loss that the receiver reported, in which everything else is zero; for `..Loss::BLANK`, as [`Ack::BLANK`].
    pub const BLANK: Self = Self {
        now: Time::ZERO,
        kind: LossKind::Hole,
        bytes: Bytes::ZERO,
        sent: Time::ZERO,
        sequence: 0,
        next_sequence: 0,
    };
}

/// A packet whose transmission has just begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sent {
    /// Time of the event.
    pub now: Time,
    /// Its size on the wire.
    pub bytes: Bytes,
    /// Bytes in flight with it.
    pub inflight: Bytes,
}

/// Limits on what the transport may send until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Allowance {
    /// A packet may be sent while the bytes in flight are fewer than this; one packet may always be
    /// in flight, however small the window is. [`Bytes::UNLIMITED`] for an algorithm without window.
    pub window: Bytes,
    /// Sending rate.
    pub rate: Rate,
}

/// Header bytes that an algorithm adds to every packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Overhead {
    /// To a data packet.
    pub data: u16,
    /// To an acknowledgement, for what it echoes.
    pub ack: u16,
}

/// The parameters of an algorithm, and the constants derived from them on a path.
pub trait Parameters: Clone + fmt::Debug + Send + Sync + 'static {
    /// The constants that an algorithm derives once from its parameters and a path; `()` for none.
    type Derived: fmt::Debug + Send + Sync + 'static;

    /// Derives it.
    fn derive(&self, path: &Path) -> Self::Derived;
}

/// Defines the quantities that an algorithm derives once from its parameters and a path: each with its type and formula.
macro_rules! derived {
    (
        $(#[$about:meta])*
        pub struct $name:ident of $params:ty, |$from:ident, $path:ident|
        $(let $local:pat = $value:expr;)*
        { $($(#[$meaning:meta])* $public:vis $field:ident: $type:ty = $formula:expr,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name {
            $($(#[$meaning])* $public $field: $type,)+
        }

        impl $crate::contract::Parameters for $params {
            type Derived = $name;

            fn derive(&self, $path: &$crate::contract::Path) -> $name {
                let $from = self;
                $(let $local = $value;)*
                $name { $($field: $formula,)+ }
            }
        }
    };
}
pub(crate) use derived;

/// For an algorithm without parameters.
impl Parameters for () {
    type Derived = ();

    fn derive(&self, _path: &Path) {}
}

/// The data shared by all flows of an algorithm with the same parameters on paths with the same properties.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Setup<P: Parameters> {
    /// The parameters.
    pub params: P,
    /// The path.
    pub path: Path,
    /// The base bandwidth-delay product of the path.
    pub bdp: Bytes,
    /// Quantities that the algorithm derives from both.
    pub derived: P::Derived,
}

impl<P: Parameters> Setup<P> {
    /// The setup for these parameters on this path.
    #[must_use]
    pub fn new(params: P, path: Path) -> Self {
        let derived = params.derive(&path);
        Self { params, path, bdp: path.bdp(), derived }
    }
}

/// The setup of the algorithm `C`.
pub type SetupOf<C> = Setup<<C as CongestionControl>::Params>;

/// An internal quantity of an algorithm that [`CongestionControl::probe`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Internal {
    /// Its name in tables: lower case, words joined by `_`; the paper's symbol where it has one.
    pub name: &'static str,
    /// One sentence of meaning, with the paper's symbol.
    pub meaning: &'static str,
}

/// A sender-side congestion control algorithm: the state of one flow.
///
/// Parameters, path and everything derived from them are passed to every call instead of being
/// stored, so that ten thousand flows share one copy. `now` never decreases from one call to the next.
pub trait CongestionControl: Sized + Send + 'static {
    /// The algorithm's parameters, shared by all flows that use it.
    type Params: Parameters;

    /// The internal quantities that [`probe`](Self::probe) shows, in its order.
    const INTERNALS: &'static [Internal] = &[];

    /// Whether [`on_sent`](Self::on_sent) does anything. An algorithm that does not implement it can set this to `false`: then
    /// the transport calls it, and [`tag`](Self::tag), with no packet, which is faster, unless [`signals`](Self::signals) name
    /// [`Signals::PACKET_TAG`].
    const HEARS_SENT: bool = true;

    /// The signals that it needs with these parameters.
    fn signals(params: &Self::Params) -> Signals;

    /// The header bytes that it adds.
    fn overhead(params: &Self::Params) -> Overhead;

    /// The state of a flow that starts at `now`.
    fn new(setup: &Setup<Self::Params>, now: Time) -> Self;

    /// Becomes the state of a flow that starts at `now`, as [`new`](Self::new) makes it. A state that is too large for
    /// the stack of a kernel does so without a copy.
    fn restart(&mut self, setup: &Setup<Self::Params>, now: Time) {
        *self = Self::new(setup, now);
    }

    /// An acknowledgement arrived. `int` is empty unless [`Signals::INT`] was asked for.
    fn on_ack(&mut self, setup: &Setup<Self::Params>, ack: &Ack, int: &IntStack);

    /// The receiver reports congestion (only with [`Signals::CNP`]).
    fn on_cnp(&mut self, _setup: &Setup<Self::Params>, _now: Time) {}

    /// The transport detected a loss and is about to retransmit.
    fn on_loss(&mut self, _setup: &Setup<Self::Params>, _loss: &Loss) {}

    /// Transmission of a packet begins.
    fn on_sent(&mut self, _setup: &Setup<Self::Params>, _sent: &Sent) {}

    /// The word to store with a packet whose transmission begins (only with [`Signals::PACKET_TAG`]). It is
    /// returned in [`Ack::tag`].
    fn tag(&self, _setup: &Setup<Self::Params>) -> u32 {
        0
    }

    /// The deadline of [`deadline`](Self::deadline) is reached.
    fn on_timer(&mut self, _setup: &Setup<Self::Params>, _now: Time) {}

    /// The time of the next [`on_timer`](Self::on_timer); [`Time::NEVER`] without a timer. Called after
    /// every other method; it may change in either direction.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// Returns what the flow may send now.
    fn allowance(&self, setup: &Setup<Self::Params>) -> Allowance;

    /// Passes its state to `see`, relative to an instant at which nothing of the flow is in flight: see
    /// [`relative`](crate::relative). By default it cannot be compared.
    fn relate(&self, _setup: &Setup<Self::Params>, _origin: &Origin, see: &mut dyn See) {
        see.miss("the state of its congestion control");
    }

    /// The internal quantity at `place` in [`INTERNALS`](Self::INTERNALS); `None` beyond its end, and
    /// for a quantity that has no value yet.
    fn probe(&self, _setup: &Setup<Self::Params>, _place: usize) -> Option<Value> {
        None
    }
}

impl Words for Allowance {
    fn words(&self, word: &mut dyn FnMut(u64)) {
        self.window.words(word);
        self.rate.words(word);
    }
}

impl Origin {
    /// The telemetry of an acknowledgement, with which later telemetry is compared by differences: times count as time
    /// since then, and transmitted bytes as those that the port has transmitted since then.
    #[must_use]
    pub const fn telemetry(&self) -> Telemetry<'_> {
        Telemetry(self)
    }
}

/// See [`Origin::telemetry`].
#[derive(Clone, Copy, Debug)]
pub struct Telemetry<'a>(&'a Origin);

impl Telemetry<'_> {
    /// Passes the records to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, stack: &IntStack) {
        to.see(name, u64::from(stack.count));
        let places = stack.iter().count();
        for (place, hop) in stack.iter() {
            let IntHop { at, queue, transmitted, rate } = hop;
            let by_now = to.transmitted(place, places);
            let Some(since) = by_now.and_then(|now| now.checked_sub(transmitted.get())) else {
                return to.miss("telemetry of packets that take several paths");
            };
            to.see(name, since);
            self.0.instant().note(to, name, at);
            [queue.get(), rate.bps()].into_iter().for_each(|word| to.see(name, word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant::{Constant, ConstantParams};
    use crate::testing::{PATH, ack};

    #[test]
    fn the_hold_time_is_no_part_of_the_round_trip() {
        // Sent at 80 us, received at 92, held until 95, here at 100: 20 us, of which 5 us were the
        // receiver's. The forward path took 12 us.
        let us = Time::from_us;
        let ack = Ack { received: us(92), held: us(5), ..ack(us(100), us(20), 0, 0) };
        assert_eq!(ack.sent, us(80));
        assert_eq!(ack.rtt(), us(15));
        assert_eq!(ack.owd(), us(12));
        // Held longer than the whole way, which no clock can say: no time, not a negative one.
        assert_eq!(Ack { held: us(21), ..ack }.rtt(), Time::ZERO);
    }

    #[test]
    fn signals_are_a_set() {
        // One bit each, from the first on, without a gap.
        assert_eq!((Signals::ALL[0].0, Signals::ALL[8].0.bits()), (Signals::ECN, 256));
        let all = || Signals::ALL.iter().map(|(signal, ..)| *signal).enumerate();
        for (i, one) in all() {
            for (j, other) in all() {
                assert_eq!(one.contains(other), i == j, "{one:?} {other:?}");
                let both = one.and(other);
                assert!(both.contains(one) && both.contains(other), "{both:?}");
                assert_eq!(one.contains(both), i == j, "{one:?} {both:?}");
                assert_eq!(both.bits(), 1 << i | 1 << j, "{both:?}");
                assert_eq!(Signals::from_bits(both.bits()), Some(both));
            }
            assert!(one.contains(Signals::NONE) && !Signals::NONE.contains(one));
        }
        assert_eq!(Signals::from_bits(1 << Signals::ALL.len()), None);
        // A union, with what both have in it.
        let (two, three) = (Signals::ECN.and(Signals::INT), Signals::INT.and(Signals::CNP));
        assert_eq!(two.and(three), Signals::ECN.and(three));
        assert!(two.and(three).contains(two) && !two.contains(three));
    }

    #[test]
    fn an_algorithm_without_timer_and_tag_need_not_speak_of_them() {
        let setup = Setup::new(ConstantParams::default(), PATH);
        let flow = Constant::new(&setup, Time::ZERO);
        assert_eq!((flow.deadline(), flow.tag(&setup), flow.probe(&setup, 0)), (Time::NEVER, 0, None));
    }

    #[test]
    fn a_stack_shows_its_valid_records_only() {
        let mut stack = IntStack { count: 2, ..IntStack::EMPTY };
        for (n, hop) in (1..).zip(&mut stack.hops) {
            hop.queue = Bytes::new(n);
        }
        let mut records = stack.iter().map(|(place, hop)| (place, hop.queue.get()));
        assert_eq!([records.next(), records.next(), records.next()], [Some((0, 1)), Some((1, 2)), None]);
    }
}
