//! Recordings of real connections: what the kernel's TCP told an algorithm, and what came of it in the kernel.
//!
//! A recording is of one algorithm with one setup. It begins with `incastR1`, the length of the text that follows, and
//! the length of a call (4 bytes each, little-endian). The text has a line for each of these:
//!
//! ```text
//! algorithm sqcc
//! preset paper
//! set count estimate
//! path 400000000 200000000 100000000 1538 1448 2
//! ```
//!
//! that is, parameters that are words and another than the preset has, and base RTT and base one-way delay in ps, rate of
//! the line in bit/s, bytes of a packet and of its payload, links. Then come the calls of all connections, in the order in
//! which they happened, as `bpf/glue.bpf.c` with `RECORD` writes them: the state after the call, `Ack`, `Loss`,
//! `Allowance`, `struct call`.

use std::collections::BTreeMap;

use incast_cc::params::{Kind, Value};
use incast_cc::{Ack, Allowance, AnyParams, IntStack, Loss, Path};
use incast_units::{Bytes, Rate, Time};

use crate::native::Seen;
use crate::record::describe;
use crate::trace::{Writer, kind};

/// The first bytes of a recording.
pub const MAGIC: [u8; 8] = *b"incastR1";

/// The lengths of what follows the state of a call.
const ACK: usize = size_of::<Ack>();
const LOSS: usize = size_of::<Loss>();
const ALLOWANCE: usize = size_of::<Allowance>();
const CALL: usize = 40;
const TELEMETRY: usize = size_of::<IntStack>();

/// Calls of real connections.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The algorithm.
    pub algorithm: String,
    /// The calls as records of a trace, one connection after the other.
    pub writer: Writer,
    /// Number of connections.
    pub connections: usize,
    /// Results of the kernel after each step of the trace: the visible values, and the words of the state.
    pub(crate) steps: Vec<(Seen, Vec<u32>)>,
}

/// One call, without the state.
struct Call<'a> {
    state: &'a [u8],
    kind: u32,
    ack: &'a [u8],
    loss: &'a [u8],
    telemetry: &'a [u8],
    now: u64,
    seen: Seen,
}

impl Recording {
    /// Returns the number of steps: connections that start, and calls.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// When it is none, when the kernel had no room for a call, or when there is no such algorithm, preset or parameter.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let cut = || "it is cut off".to_owned();
        let (head, rest) = bytes.split_at_checked(16).ok_or_else(cut)?;
        if !head.starts_with(&MAGIC) {
            return Err("it is no recording".to_owned());
        }
        let (length, event) = (word(head, 8) as usize, word(head, 12) as usize);
        let (text, events) = rest.split_at_checked(length).ok_or_else(cut)?;
        let (params, preset, path) = setup(&String::from_utf8_lossy(text))?;
        let after = ACK + LOSS + ALLOWANCE + CALL + TELEMETRY;
        let state = event.checked_sub(after).ok_or("its calls are too short")?;
        if !events.len().is_multiple_of(event) {
            return Err(cut());
        }
        let mut connections: BTreeMap<u64, Vec<Call<'_>>> = BTreeMap::new();
        for one in events.chunks_exact(event) {
            let (state, rest) = one.split_at(state);
            let (ack, rest) = rest.split_at(ACK);
            let (loss, rest) = rest.split_at(LOSS);
            let (allowance, rest) = rest.split_at(ALLOWANCE);
            let (call, telemetry) = rest.split_at(CALL);
            let seen = Seen {
                window: number(allowance, 0),
                rate: number(allowance, 8),
                deadline: number(call, 24),
                tag: word(call, 32),
            };
            let calls = connections.entry(number(call, 0)).or_default();
            if word(call, 8) as usize != calls.len() {
                let connection = number(call, 0);
                return Err(format!(
                    "calls of connection {connection} after the first {} are missing",
                    calls.len()
                ));
            }
            calls.push(Call {
                state,
                kind: word(call, 12),
                ack,
                loss,
                telemetry,
                now: number(call, 16),
                seen,
            });
        }
        let (mut writer, mut steps) = (Writer::default(), Vec::new());
        describe(&params, &preset, &mut writer);
        for call in connections.values().flatten() {
            match call.kind {
                kind::START => writer.start(&path, Time::from_ps(call.now)),
                kind::ACK => writer.raw(kind::ACK, &[call.ack]),
                kind::ACK_WITH_TELEMETRY => writer.raw(call.kind, &[call.ack, call.telemetry]),
                kind::LOSS => writer.raw(kind::LOSS, &[call.loss]),
                other => return Err(format!("no call is of kind {other}")),
            }
            let words = call.state.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            steps.push((call.seen, words.collect()));
        }
        let algorithm = params.info().name.to_owned();
        Ok(Self { algorithm, writer, connections: connections.len(), steps })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
}

/// Parameters, preset and path that the text says.
fn setup(text: &str) -> Result<(AnyParams, String, Path), String> {
    let (mut algorithm, mut preset, mut set, mut path) = ("", "", Vec::new(), None);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["algorithm", name] => algorithm = name,
            ["preset", name] => preset = name,
            ["set", name, word] => set.push((name, word)),
            ["path", ref numbers @ ..] => {
                let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
                path = numbers.ok();
            }
            _ => return Err(format!("{line:?} says nothing")),
        }
    }
    let mut params =
        AnyParams::named(algorithm, Some(preset)).ok_or_else(|| format!("no {algorithm} {preset}"))?;
    for (name, word) in set {
        let mut value = None;
        params.params(|info, _| {
            if let (true, Kind::Choice(words)) = (info.name == name, info.kind) {
                value = words.iter().position(|known| *known == word).map(Value::Choice);
            }
        });
        if !value.is_some_and(|value| params.set(name, value)) {
            return Err(format!("{algorithm} {preset} does not take {name} = {word}"));
        }
    }
    let Some(&[base_rtt, base_owd, line_rate, packet, payload, hops]) = path.as_deref() else {
        return Err("it has no path".to_owned());
    };
    let path = Path {
        base_rtt: Time::from_ps(base_rtt),
        base_owd: Time::from_ps(base_owd),
        line_rate: Rate::from_bps(line_rate),
        packet: Bytes::new(packet),
        payload: Bytes::new(payload),
        hops: hops as u32,
    };
    Ok((params, preset.to_owned(), path))
}
