//! Traces: the calls of flows with everything that is passed to them, in the order in which they are replayed.
//!
//! A trace is for one algorithm. All numbers are little-endian, and everything begins at a multiple of 8 bytes:
//!
//! | bytes | |
//! | --- | --- |
//! | 8 | `incastT1` |
//! | 4, 4 | bytes of the state of a flow; 0 |
//! | as many, filled up with 0 to a multiple of 8 | for each byte of the state 255, or 0 if it is padding and not compared |
//! | the rest | records |
//!
//! A record begins with its kind and its length in bytes, these 8 included (4 bytes each). What follows has the layout
//! of the structures of `incast_cc.h`, their padding 0:
//!
//! | kind | | what follows |
//! | --- | --- | --- |
//! | 1 | parameters of the flows that follow | how many are set (4), 0 (4), name of the algorithm and of the preset, each with a zero byte, filled up; then for each an `incast_value`, its name and its value as text, each with a zero byte, filled up |
//! | 2 | a flow starts | `incast_path`, the time |
//! | 3 | `on_ack` without telemetry | `incast_ack` |
//! | 4 | `on_ack` | `incast_ack`, `incast_int_stack` |
//! | 5 | `on_cnp` | the time |
//! | 6 | `on_loss` | `incast_loss` |
//! | 7 | `on_sent` | `incast_sent` |
//! | 8 | `on_timer` | the time |
//!
//! Records of the kinds 3 to 8 are the calls of the flow that started last. Its state lies in memory that was zero
//! before it started.

use incast_cc::params::Value;
use incast_cc::{Ack, Fixed, IntStack, Loss, LossKind, Path, Sent, for_each_ack_field};
use incast_units::{Bytes, Rate, Time};

/// Before the name of an algorithm: behind a median of its signal ([`incast_cc::median`]).
pub const MEDIAN: &str = "median-";

/// The first bytes of a trace.
pub const MAGIC: [u8; 8] = *b"incastT1";

/// Kinds of records.
pub mod kind {
    /// Parameters.
    pub const PARAMETERS: u32 = 1;
    /// A flow starts.
    pub const START: u32 = 2;
    /// An acknowledgement without telemetry.
    pub const ACK: u32 = 3;
    /// An acknowledgement with telemetry.
    pub const ACK_WITH_TELEMETRY: u32 = 4;
    /// A notification.
    pub const CNP: u32 = 5;
    /// A loss.
    pub const LOSS: u32 = 6;
    /// A packet is sent.
    pub const SENT: u32 = 7;
    /// A timer.
    pub const TIMER: u32 = 8;
}

/// One call.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "most calls are of that kind, and one exists at a time")]
pub enum Call {
    /// `on_ack`.
    Ack(Ack, IntStack),
    /// `on_cnp`.
    Cnp(Time),
    /// `on_loss`.
    Loss(Loss),
    /// `on_sent`.
    Sent(Sent),
    /// `on_timer`.
    Timer(Time),
}

/// The parameters of flows.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The algorithm.
    pub algorithm: String,
    /// Its preset.
    pub preset: String,
    /// Parameters set on top of the preset: name, value, and the value as text.
    pub set: Vec<(String, Value, String)>,
}

/// Content of a record.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most records are calls, and one exists at a time")]
pub enum Record {
    /// Parameters of the flows that follow.
    Parameters(Parameters),
    /// A flow starts.
    Start(Path, Time),
    /// A call of that flow.
    Call(Call),
}

/// Writes records.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Returns the bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends what another one has written.
    pub fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Parameters of the flows that follow.
    pub fn parameters(&mut self, parameters: &Parameters) {
        self.record(kind::PARAMETERS, |out| {
            out.word(parameters.set.len() as u32);
            out.word(0);
            out.texts(&parameters.algorithm, &parameters.preset);
            for (name, value, text) in &parameters.set {
                let (kind, number) = plain(*value);
                out.word(kind);
                out.word(0);
                out.number(number);
                out.texts(name, text);
            }
        });
    }

    /// A flow starts.
    pub fn start(&mut self, path: &Path, now: Time) {
        self.record(kind::START, |out| {
            out.times(&[path.base_rtt, path.base_owd]);
            out.number(path.line_rate.bps());
            out.amounts(&[path.packet, path.payload]);
            out.word(path.hops);
            out.word(0);
            out.times(&[now]);
        });
    }

    /// A call of the flow that started last. Telemetry that is empty is left out.
    pub fn call(&mut self, call: &Call) {
        match call {
            Call::Ack(ack, int) if int.count == 0 => self.record(kind::ACK, |out| out.ack(ack)),
            Call::Ack(ack, int) => self.record(kind::ACK_WITH_TELEMETRY, |out| {
                out.ack(ack);
                out.word(int.count);
                out.word(0);
                for hop in &int.hops {
                    out.times(&[hop.at]);
                    out.amounts(&[hop.queue, hop.transmitted]);
                    out.number(hop.rate.bps());
                }
            }),
            Call::Cnp(now) => self.record(kind::CNP, |out| out.times(&[*now])),
            Call::Loss(loss) => self.record(kind::LOSS, |out| {
                out.times(&[loss.now]);
                out.word(loss.kind as u32);
                out.word(0);
                out.amounts(&[loss.bytes]);
                out.times(&[loss.sent]);
                out.number(loss.sequence);
                out.number(loss.next_sequence);
            }),
            Call::Sent(sent) => self.record(kind::SENT, |out| {
                out.times(&[sent.now]);
                out.amounts(&[sent.bytes, sent.inflight]);
            }),
            Call::Timer(now) => self.record(kind::TIMER, |out| out.times(&[*now])),
        }
    }

    /// A record of these parts, which have the layout that the kind asks for.
    pub fn raw(&mut self, kind: u32, parts: &[&[u8]]) {
        self.record(kind, |out| parts.iter().for_each(|part| out.bytes.extend_from_slice(part)));
    }

    fn record(&mut self, kind: u32, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.word(kind);
        self.word(0);
        body(self);
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn ack(&mut self, ack: &Ack) {
        let start = self.bytes.len();
        macro_rules! write {
            ($($field:ident)+) => { $(self.field(start, ack.$field);)+ };
        }
        for_each_ack_field!(write);
        self.fill(start, align_of::<Ack>());
    }

    /// A field of a structure that begins at `start`, at the next multiple of its size.
    fn field<F: Field>(&mut self, start: usize, field: F) {
        self.fill(start, size_of::<F>());
        field.write(self);
    }

    /// Zeros, up to the next multiple of `alignment` from `start` on.
    fn fill(&mut self, start: usize, alignment: usize) {
        let length = self.bytes.len() - start;
        self.bytes.resize(start + length.next_multiple_of(alignment), 0);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn times(&mut self, times: &[Time]) {
        times.iter().for_each(|time| self.number(time.ps()));
    }

    fn amounts(&mut self, amounts: &[Bytes]) {
        amounts.iter().for_each(|amount| self.number(amount.get()));
    }

    fn texts(&mut self, first: &str, second: &str) {
        for text in [first, second] {
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.push(0);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

/// A field of a structure, which begins at a multiple of its size.
trait Field: Sized {
    /// Appends it.
    fn write(self, out: &mut Writer);

    /// Reads it.
    fn read(from: &mut Reader<'_>) -> Self;
}

/// Implements [`Field`]: what writes a type, and what reads it.
macro_rules! fields {
    ($($field:ty: |$value:ident, $out:ident| $write:expr, |$from:ident| $read:expr;)+) => {$(
        impl Field for $field {
            fn write(self, $out: &mut Writer) {
                let $value = self;
                $write;
            }

            fn read($from: &mut Reader<'_>) -> Self {
                $read
            }
        }
    )+};
}

fields! {
    u32: |word, out| out.word(word), |from| from.word();
    u64: |number, out| out.number(number), |from| from.number();
    Time: |time, out| out.number(time.ps()), |from| from.time();
    Bytes: |amount, out| out.number(amount.get()), |from| from.amount();
    bool: |flag, out| out.bytes.push(flag.into()), |from| from.take() == [1];
}

/// A whole trace: the head for a state with this mask, and the records.
#[must_use]
pub fn whole(mask: &[u8], records: &Writer) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(mask.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(mask);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend_from_slice(&records.bytes);
    bytes
}

/// Reads records one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of these records, without the head of a trace.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.bytes.split_first_chunk().expect("a whole record");
        self.bytes = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn time(&mut self) -> Time {
        Time::from_ps(self.number())
    }

    fn amount(&mut self) -> Bytes {
        Bytes::new(self.number())
    }

    fn texts(&mut self) -> (String, String) {
        let all = self.bytes;
        let text = |from: &[u8]| {
            let end = from.iter().position(|byte| *byte == 0).expect("a text that ends");
            (String::from_utf8_lossy(&from[..end]).into_owned(), end + 1)
        };
        let (first, length) = text(all);
        let (second, more) = text(&all[length..]);
        self.bytes = &all[(length + more).next_multiple_of(8)..];
        (first, second)
    }

    fn ack(&mut self) -> Ack {
        let start = self.bytes.len();
        macro_rules! read {
            ($($field:ident)+) => { Ack { $($field: self.field(start),)+ } };
        }
        let ack = for_each_ack_field!(read);
        self.skip(start, align_of::<Ack>());
        ack
    }

    /// A field of a structure that began when `start` bytes were left, at the next multiple of its size.
    fn field<F: Field>(&mut self, start: usize) -> F {
        self.skip(start, size_of::<F>());
        F::read(self)
    }

    /// Skips what fills up a structure to the next multiple of `alignment`.
    fn skip(&mut self, start: usize, alignment: usize) {
        let read = start - self.bytes.len();
        self.bytes = &self.bytes[read.next_multiple_of(alignment) - read..];
    }

    fn telemetry(&mut self) -> IntStack {
        let mut int = IntStack { count: self.word(), ..IntStack::EMPTY };
        self.word();
        for hop in &mut int.hops {
            hop.at = self.time();
            hop.queue = self.amount();
            hop.transmitted = self.amount();
            hop.rate = Rate::from_bps(self.number());
        }
        int
    }

    fn parameters(&mut self) -> Parameters {
        let count = self.word();
        self.word();
        let (algorithm, preset) = self.texts();
        let set = (0..count).map(|_| {
            let kind = self.word();
            self.word();
            let value = value(kind, self.number());
            let (name, text) = self.texts();
            (name, value, text)
        });
        let set = set.collect();
        Parameters { algorithm, preset, set }
    }
}

impl Iterator for Reader<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        if self.bytes.is_empty() {
            return None;
        }
        let kind = self.word();
        self.word();
        Some(match kind {
            kind::PARAMETERS => Record::Parameters(self.parameters()),
            kind::START => {
                let path = Path {
                    base_rtt: self.time(),
                    base_owd: self.time(),
                    line_rate: Rate::from_bps(self.number()),
                    packet: self.amount(),
                    payload: self.amount(),
                    hops: self.word(),
                };
                self.word();
                Record::Start(path, self.time())
            }
            kind::ACK => Record::Call(Call::Ack(self.ack(), IntStack::EMPTY)),
            kind::ACK_WITH_TELEMETRY => Record::Call(Call::Ack(self.ack(), self.telemetry())),
            kind::CNP => Record::Call(Call::Cnp(self.time())),
            kind::LOSS => {
                let now = self.time();
                let kind = [LossKind::Hole, LossKind::Timeout, LossKind::Trim][self.word() as usize];
                self.word();
                Record::Call(Call::Loss(Loss {
                    now,
                    kind,
                    bytes: self.amount(),
                    sent: self.time(),
                    sequence: self.number(),
                    next_sequence: self.number(),
                }))
            }
            kind::SENT => Record::Call(Call::Sent(Sent {
                now: self.time(),
                bytes: self.amount(),
                inflight: self.amount(),
            })),
            kind::TIMER => Record::Call(Call::Timer(self.time())),
            other => panic!("no record is of kind {other}"),
        })
    }
}

/// A value as `incast_value` has it: kind and number.
#[must_use]
pub fn plain(value: Value) -> (u32, u64) {
    let (kind, bits) = value.bits();
    (u32::from(kind), bits)
}

/// Converts a kind and a number back to a value.
fn value(kind: u32, number: u64) -> Value {
    match kind {
        0 => Value::Time(Time::from_ps(number)),
        1 => Value::Bytes(Bytes::new(number)),
        2 => Value::Rate(Rate::from_bps(number)),
        3 => Value::Ratio(Fixed::from_bits(number as i64)),
        4 => Value::Count(number),
        5 => Value::Flag(number == 1),
        6 => Value::Choice(number as usize),
        other => panic!("no value is of kind {other}"),
    }
}
