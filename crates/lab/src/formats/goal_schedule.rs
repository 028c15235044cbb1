//! The sends and receives of a GOAL schedule, in either of its forms, and which belong together.

use std::collections::{BTreeMap, HashMap, VecDeque};

use incast_sim::describe::work::{Operation, What};
use incast_units::{Bytes, Time};

use super::fields::{Field, Found};
use crate::problem::Problem;
use crate::workload::{Message, Workload};

/// Maximum size of a message, in bytes.
pub(super) const MAX_SIZE: u64 = i64::MAX as u64;
/// Maximum time of a computation, in nanoseconds.
pub(super) const MAX_CALC: u64 = u64::MAX / 2000;
/// Maximum tag; in the binary form the next is any tag.
pub(super) const MAX_TAG: u64 = u32::MAX as u64 - 1;

pub(super) const SENTINEL: &str =
    "schedules for LogGOPSim's htsim port end with such lines, which send nothing; remove them";
pub(super) const SENTINEL_BINARY: &str = "schedules for LogGOPSim's htsim port end with such operations, which send nothing; \
                                          make the file without them";
pub(super) const ANY_RANK: &str = "a receive from any rank is matched while the program runs, and its sender is not in \
                                   the file; name the rank";
pub(super) const TO_ITSELF: &str = "the message would go from this rank to itself";

/// The problem of a rank that does not exist.
pub(super) fn no_rank(ranks: u32) -> String {
    format!("there is no such rank; num_ranks {ranks} numbers them 0 to {}", ranks.saturating_sub(1))
}

/// Place of a send or receive in its file.
pub(super) trait Place {
    /// The problem of a field of this operation.
    fn wrong(&self, field: &str, message: &str) -> Problem;

    /// Its name in a sentence: `line 3`.
    fn name(&self) -> String;
}

/// In a text, the field that names the other end.
impl Place for Field<'_> {
    fn wrong(&self, field: &str, message: &str) -> Problem {
        match field {
            // It is another field of this line.
            "size" => Problem::new(message).about(field).on_line(self.line),
            _ => Field::wrong(self, field, message),
        }
    }

    fn name(&self) -> String {
        format!("line {}", self.line)
    }
}

/// A send or receive, with its other end.
pub(super) struct End<P> {
    pub(super) rank: u32,
    pub(super) peer: u32,
    /// `None` for a receive from any tag.
    pub(super) tag: Option<u32>,
    pub(super) size: u64,
    pub(super) place: P,
}

/// A schedule that is being read.
pub(super) struct Schedule<P> {
    pub(super) work: Workload,
    sends: Vec<End<P>>,
    /// Each with its operation.
    receives: Vec<(u32, End<P>)>,
    empty: usize,
    shorter: usize,
    /// Number of operations that name a network card.
    pub(super) cards: usize,
}

impl<P> Default for Schedule<P> {
    fn default() -> Self {
        let (work, sends, receives) = (Workload::default(), Vec::new(), Vec::new());
        Self { work, sends, receives, empty: 0, shorter: 0, cards: 0 }
    }
}

impl<P: Place> Schedule<P> {
    /// Adds a send, and returns its operation.
    pub(super) fn send(&mut self, end: End<P>) -> u32 {
        let operation = self.work.add(end.rank, What::Send { flow: self.sends.len() as u32 }, Vec::new());
        self.sends.push(end);
        operation
    }

    /// Adds a receive, and returns its operation.
    pub(super) fn receive(&mut self, end: End<P>) -> u32 {
        // Its flow is known once all sends are.
        let operation = self.work.add(end.rank, What::Receive { flow: 0 }, Vec::new());
        self.receives.push((operation, end));
        operation
    }

    /// Finds the message of each receive and checks that all operations can start, unless problems were found
    /// before. `place` says where an operation is, in the file's `places`: lines or bytes.
    pub(super) fn finish(
        mut self,
        found: &mut Found<'_>,
        places: &str,
        place: impl Fn(u32) -> u64,
    ) -> Workload {
        if found.is_empty() {
            self.match_messages(found);
        }
        for operation in &mut self.work.operations {
            for others in [&mut operation.after, &mut operation.after_start] {
                others.sort_unstable();
                others.dedup();
            }
        }
        if found.is_empty()
            && let Some(cycle) = self.work.cycle()
        {
            found.add(waiting(&cycle, places, place));
        }
        self.note();
        self.work
    }

    /// Gives each receive the first message of its sender with its tag, in the order of the file.
    fn match_messages(&mut self, found: &mut Found<'_>) {
        let mut channels: HashMap<(u32, u32), Channel> = HashMap::new();
        for (flow, send) in (0_u32..).zip(&self.sends) {
            let message = Message {
                source: send.rank,
                destination: send.peer,
                size: Bytes::new(send.size.max(1)),
                start: Time::ZERO,
            };
            self.work.flows.push(message);
            self.empty += usize::from(send.size == 0);
            channels.entry((send.rank, send.peer)).or_default().add(flow, send.tag.unwrap_or(0));
        }
        for (operation, receive) in &self.receives {
            let channel = channels.get_mut(&(receive.peer, receive.rank));
            let problem = match channel.and_then(|channel| channel.take(receive.tag)) {
                None => {
                    let tag = receive.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
                    let message = format!(
                        "rank {} sends no further message to rank {} with {tag}",
                        receive.peer, receive.rank
                    );
                    receive.place.wrong("from", &message)
                }
                Some(flow) if self.sends[flow as usize].size > receive.size => {
                    let send = &self.sends[flow as usize];
                    let message = format!(
                        "the message of {} has {} B, more than the {} B of this receive",
                        send.place.name(),
                        send.size,
                        receive.size
                    );
                    receive.place.wrong("size", &message)
                }
                Some(flow) => {
                    self.shorter += usize::from(self.sends[flow as usize].size < receive.size);
                    self.work.operations[*operation as usize].what = What::Receive { flow };
                    continue;
                }
            };
            if !found.add(problem) {
                return;
            }
        }
        let mut lost: Vec<u32> = channels.values().flat_map(Channel::rest).collect();
        lost.sort_unstable();
        for flow in lost {
            let send = &self.sends[flow as usize];
            let message =
                format!("rank {} has no receive for this message from rank {}", send.peer, send.rank);
            if !found.add(send.place.wrong("to", &message)) {
                return;
            }
        }
    }

    fn note(&mut self) {
        let pinned = |operation: &&Operation| matches!(operation.what, What::Compute { processor, .. } if processor > 0);
        let pinned = self.work.operations.iter().filter(pinned).count();
        let any_tag = self.receives.iter().filter(|(_, receive)| receive.tag.is_none()).count();
        self.work.note(self.empty, "messages without payload", "sent with 1 B");
        self.work.note(
            self.shorter,
            "receives for more than their message has",
            "the size of the message counts",
        );
        self.work.note(
            any_tag,
            "receives with any tag",
            "each takes the first message of its sender that no receive above it in the file takes",
        );
        self.work.note(
            self.cards,
            "operations with nic above 0",
            "nic is not taken over; flows choose among a host's links",
        );
        self.work.note(
            pinned,
            "computations with cpu above 0",
            "these run beside those of the other processors of their host",
        );
        self.work.note_endless();
    }
}

/// The problem of operations that wait for each other; `place` says where each is, in the file's `places`.
pub(super) fn waiting(cycle: &[u32], places: &str, place: impl Fn(u32) -> u64) -> Problem {
    const MOST: usize = 6;
    let mut all: Vec<u64> = cycle.iter().map(|&operation| place(operation)).collect();
    let first = all.first().copied().unwrap_or(1);
    all.dedup();
    let mut shown: Vec<String> = all.iter().take(MOST).map(u64::to_string).collect();
    if all.len() > MOST {
        shown.push("…".to_owned());
    }
    let message = match all.len() {
        1 => "this operation waits for itself".to_owned(),
        _ => format!("these operations wait for each other and never start: {places} {}", shown.join(", ")),
    };
    match places {
        "lines" => Problem::new(message).on_line(first as u32),
        _ => Problem::new(format!("byte {first}: {message}")),
    }
}

/// The messages from one rank to another.
#[derive(Default)]
struct Channel {
    /// In the order of the file, each with whether it has been received.
    flows: Vec<(u32, bool)>,
    /// All before this one have been received.
    first: usize,
    /// For each tag the indices of its messages in `flows`.
    of_tag: BTreeMap<u32, VecDeque<usize>>,
}

impl Channel {
    fn add(&mut self, flow: u32, tag: u32) {
        self.of_tag.entry(tag).or_default().push_back(self.flows.len());
        self.flows.push((flow, false));
    }

    /// The first message that has not been received, of this tag if there is one.
    fn take(&mut self, tag: Option<u32>) -> Option<u32> {
        let index = match tag {
            Some(tag) => {
                let queue = self.of_tag.get_mut(&tag)?;
                // A receive of any tag may have taken it.
                while self.flows.get(*queue.front()?)?.1 {
                    queue.pop_front();
                }
                queue.pop_front()?
            }
            None => {
                while self.flows.get(self.first)?.1 {
                    self.first += 1;
                }
                self.first
            }
        };
        let flow = self.flows.get_mut(index)?;
        flow.1 = true;
        Some(flow.0)
    }

    /// The messages that have not been received.
    fn rest(&self) -> impl Iterator<Item = u32> {
        self.flows.iter().filter(|(_, taken)| !taken).map(|(flow, _)| *flow)
    }
}
