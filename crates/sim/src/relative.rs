//! The state of a simulation relative to an instant at which the network is quiet: what can influence its future.
//!
//! No packet is queued or on its way then, every flow that has started is done, and operations compute or wait for that.
//! Each part of a node takes its state apart, field by field, and passes on what counts from then on: instants as the time
//! since then, positions as the distance from what is sent, and nothing of what only enters results. A part that cannot be
//! compared says so by name. A new field does not compile until its part has said what it is.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use incast_cc::relative::See;
use incast_net::describe::network::NodeId;

/// One word of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The part of the network, a place in [`State::parts`].
    part: u32,
    field: &'static str,
    value: u64,
}

/// The state of all nodes at one instant.
#[derive(Debug)]
pub(crate) struct State {
    /// The instant. (ps)
    pub(crate) now: u64,
    /// Name of the node of which it is about.
    node: String,
    /// Bytes that the ports of each node have transmitted.
    pub(crate) sent: Vec<Vec<u64>>,
    /// The ports of switches on the path of the connection at hand, with the bytes that they have transmitted.
    pub(crate) path: Option<Vec<u64>>,
    /// Names of parts, in the order in which they came.
    parts: Vec<String>,
    words: Vec<Word>,
    /// The first part that cannot be compared.
    missing: Option<String>,
    /// Whether it can be compared again when some time has passed, though the network is quiet all the while.
    passes: bool,
}

/// Everything that a state consists of is a word, in the same order at each instant.
impl State {
    /// The state at `now` (ps), of which nothing is known yet.
    pub(crate) const fn new(now: u64) -> Self {
        Self {
            now,
            node: String::new(),
            sent: Vec::new(),
            path: None,
            parts: Vec::new(),
            words: Vec::new(),
            missing: None,
            passes: false,
        }
    }

    /// Begins a node.
    pub(crate) fn of_node(&mut self, name: &str) {
        name.clone_into(&mut self.node);
        self.parts.push(name.to_owned());
    }

    /// Begins a part of the node, whose name `name` is given.
    pub(crate) fn part(&mut self, name: impl FnOnce(&str) -> String) {
        self.parts.push(name(&self.node));
    }

    /// A word.
    pub(crate) fn word(&mut self, field: &'static str, value: impl Into<u64>) {
        let part = self.parts.len().saturating_sub(1) as u32;
        self.words.push(Word { part, field, value: value.into() });
    }

    /// An instant: the time from now until then, which is negative (modulo 2^64) if it is over; [`u64::MAX`] for none.
    pub(crate) fn instant(&mut self, field: &'static str, time: u64) {
        self.word(field, time != u64::MAX);
        if time != u64::MAX {
            self.word(field, time.wrapping_sub(self.now));
        }
    }

    /// An instant that counts only while it lies ahead.
    pub(crate) fn ahead(&mut self, field: &'static str, time: u64) {
        self.instant(field, if time <= self.now { u64::MAX } else { time });
    }

    /// A value that is known by how it is printed, without times.
    pub(crate) fn text(&mut self, field: &'static str, value: &impl Debug) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:?}");
        self.word(field, text.len() as u64);
        for bytes in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.word(field, u64::from_le_bytes(word));
        }
    }

    /// Something that must not be: the part cannot be compared if it is.
    pub(crate) fn unless(&mut self, is: bool, what: &str) {
        if is && (self.missing.is_none() || self.passes) {
            self.missing = Some(match self.parts.last() {
                Some(part) => format!("{what} of {part}"),
                None => what.to_owned(),
            });
            self.passes = false;
        }
    }

    /// Something that must not be, and passes by itself.
    pub(crate) fn until_over(&mut self, is: bool, what: &str) {
        if is && self.missing.is_none() {
            self.unless(true, what);
            self.passes = true;
        }
    }

    /// Whether it cannot be compared because of something that passes by itself.
    pub(crate) const fn passes(&self) -> bool {
        self.passes
    }

    /// Whether another state is the same, word for word.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        let comparable = self.missing.is_none() && other.missing.is_none();
        comparable && self.words == other.words && self.parts == other.parts
    }

    /// Returns the first difference from another state, and the number of words that differ.
    pub(crate) fn difference(&self, other: &Self) -> Option<(String, usize)> {
        if let Some(missing) = self.missing.as_ref().or(other.missing.as_ref()) {
            return Some((format!("{missing}, which is not part of the state that can be compared"), 0));
        }
        let pairs = || self.words.iter().zip(&other.words);
        let differs = |(a, b): &(&Word, &Word)| a != b;
        let count = pairs().filter(differs).count() + self.words.len().abs_diff(other.words.len());
        let Some((word, _)) = pairs().find(differs) else {
            return (count > 0).then(|| ("the number of its parts".to_owned(), count));
        };
        let part = self.parts.get(word.part as usize).map_or("the workload", String::as_str);
        Some((format!("{} of {part}", word.field.replace('_', " ")), count))
    }

    /// A hash of all words.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = incast_net::record::channel::Digest::default();
        for Word { part, field, value } in &self.words {
            digest.add(&[u64::from(*part), field.len() as u64, *value]);
        }
        digest.value()
    }
}

impl See for State {
    fn see(&mut self, field: &'static str, word: u64) {
        self.word(field, word);
    }

    fn miss(&mut self, part: &'static str) {
        self.unless(true, part);
    }

    fn transmitted(&self, place: usize, places: usize) -> Option<u64> {
        self.path.as_ref().filter(|path| path.len() == places)?.get(place).copied()
    }
}

/// The progress of the operations of all hosts at an instant.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Whether each operation has ended.
    pub(crate) ended: Vec<bool>,
    /// The operations that have begun, or of whose dependencies some are met, and that have not ended.
    pub(crate) touched: Vec<Touched>,
    /// Operations that become ready or end, by time. (ps)
    pub(crate) due: Vec<(u64, u32)>,
    /// Operations that wait for a processor, with when they became ready, each with the host and the processor.
    pub(crate) queued: Vec<((NodeId, u16), u64, u32)>,
    /// Number of messages that are left of each connection.
    pub(crate) left: BTreeMap<u32, u32>,
    /// Time at which the next operation begins by itself, which depends on no other; [`u64::MAX`] if none does. (ps)
    pub(crate) next_input: u64,
}

/// An operation that has not ended and is not as it was at the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    pub(crate) operation: u32,
    /// Dependencies that are not met.
    pub(crate) unmet: u32,
    /// Whether it is ready; when it started (ps), [`u64::MAX`] if it has not.
    pub(crate) ready: bool,
    pub(crate) start: u64,
    /// Of a receive: whether the flow has arrived.
    pub(crate) arrived: bool,
}

impl Progress {
    /// The progress of this number of operations, of which nothing is known yet.
    pub(crate) fn of(operations: usize) -> Self {
        Self {
            ended: vec![false; operations],
            touched: Vec::new(),
            due: Vec::new(),
            queued: Vec::new(),
            left: BTreeMap::new(),
            next_input: u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(now: u64, due: u64, window: u64) -> State {
        let mut state = State::new(now);
        state.part(|_| "connection 12".to_owned());
        state.word("window", window);
        state.instant("due", due);
        state.ahead("busy_until", now - 1);
        state
    }

    #[test]
    fn states_are_compared_relative_to_their_instants() {
        let (first, later) = (state(100, 107, 9), state(300, 307, 9));
        assert!(first.equals(&later));
        assert_eq!((first.digest(), first.difference(&later)), (later.digest(), None));
        let (window, due) = (state(300, 307, 8), state(300, 308, 9));
        assert!(!first.equals(&window) && !first.equals(&due));
        assert_eq!(first.difference(&window), Some(("window of connection 12".to_owned(), 1)));
        assert_eq!(first.difference(&due), Some(("due of connection 12".to_owned(), 1)));
        // No instant is not a far one.
        assert!(!first.equals(&state(300, u64::MAX, 9)));
    }

    #[test]
    fn what_cannot_be_compared_equals_nothing() {
        let mut first = state(100, 107, 9);
        first.miss("telemetry");
        let mut other = state(100, 107, 9);
        other.miss("telemetry");
        assert!(!first.equals(&other));
        let said = "telemetry of connection 12, which is not part of the state that can be compared";
        assert_eq!(first.difference(&other), Some((said.to_owned(), 0)));
    }

    #[test]
    fn what_passes_by_itself_is_told_from_what_stays() {
        let mut first = state(100, 107, 9);
        assert!(!first.passes());
        first.until_over(true, "a timer");
        assert!(first.passes() && !first.equals(&state(100, 107, 9)));
        first.unless(true, "the draws");
        first.until_over(true, "a timer");
        assert!(!first.passes());
        let said = "the draws of connection 12, which is not part of the state that can be compared";
        assert_eq!(first.difference(&first), Some((said.to_owned(), 0)));
    }

    #[test]
    fn texts_are_compared_whole() {
        let of = |text: &str| {
            let mut state = State::new(0);
            state.text("scheduler", &text);
            state
        };
        assert!(of("Drr { deficits: [7, 9] }").equals(&of("Drr { deficits: [7, 9] }")));
        assert!(!of("Drr { deficits: [7, 9] }").equals(&of("Drr { deficits: [9, 7] }")));
        assert!(!of("a").equals(&of("a\0")));
    }
}
