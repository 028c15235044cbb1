//! Flows and operations of a collective: a schedule of messages between ranks, put on the hosts of a group.

use incast_units::{Bytes, Time};

use super::algorithm::{Algorithm, Operation};
use super::schedule::{Schedule, Shape, Sizes};
use super::steps::{blocks, most_messages, schedule};
use crate::traffic::hosts::End;
use crate::traffic::work::Made;

/// The ends of a message and its channel among those that use the same ends; `None`: it stays within a host.
pub(crate) type Ends = Option<([End; 2], u32)>;

/// Adds one pass of a channel to a job, in which each rank begins after `before`. Adds what each waits for at its end to
/// `done`.
pub(super) fn pass(
    made: &mut Made,
    (job, start): (u16, Time),
    (schedule, sizes, members): (&Schedule, &Sizes, &[End]),
    ends: impl Fn([u32; 2]) -> Ends,
    before: &[Vec<u32>],
    done: &mut [Vec<u32>],
) {
    // For each message, the operations at the receiver's host after which it has it.
    let mut got: Vec<Vec<u32>> = Vec::with_capacity(schedule.messages.len());
    for message in &schedule.messages {
        let [from, to] = [message.from, message.to].map(|rank| rank as usize);
        let bytes = sizes.of(message.part);
        let mut after = before[from].clone();
        message.after.iter().for_each(|other| after.extend(&got[*other as usize]));
        after.sort_unstable();
        after.dedup();
        if bytes == 0 {
            got.push(Vec::new());
            continue;
        }
        match ends([message.from, message.to]) {
            Some((ends, of_ends)) => {
                let transfer = made.transfer(job, ends, Bytes::new(bytes), start);
                made.on_channel(of_ends);
                made.wait(transfer.send, &after);
                done[from].push(transfer.send);
                done[to].push(transfer.receive);
                got.push(vec![transfer.receive]);
            }
            None => {
                let there = made.inside((job, members[from]), Bytes::new(bytes), after, start);
                if made.local.is_some() {
                    done[from].extend(&there);
                }
                done[to].extend(&there);
                got.push(there);
            }
        }
    }
}

/// A collective of any group of as many ranks, by the default algorithm of its operation, whose messages are neither passed
/// on in pieces nor between two levels.
pub(crate) struct Plain {
    operation: Operation,
    shape: Shape,
    schedule: Schedule,
}

impl Plain {
    /// Makes it for two ranks or more.
    pub(crate) fn new(operation: Operation, ranks: u32) -> Self {
        let shape = Self::shape(ranks);
        Self { operation, shape, schedule: schedule(operation, Self::algorithm(operation), shape) }
    }

    /// Returns the number of its messages in each channel, or a little more, before it is made.
    pub(crate) fn most_messages(operation: Operation, ranks: u32) -> u64 {
        most_messages(operation, Self::algorithm(operation), Self::shape(ranks))
    }

    /// Returns the least number of bytes of each channel.
    pub(crate) fn least(operation: Operation, ranks: u32) -> u64 {
        match operation {
            Operation::AllToAll => ranks.into(),
            operation => blocks(operation, Self::algorithm(operation), Self::shape(ranks)),
        }
    }

    /// Iterates over the ranks that send to each other.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        self.schedule.messages.iter().map(|message| [message.from, message.to])
    }

    /// Adds the messages of a channel with these bytes, as [`pass`] does.
    pub(crate) fn pass(
        &self,
        made: &mut Made,
        (job, bytes, members): (u16, u64, &[End]),
        ends: impl Fn([u32; 2]) -> Ends,
        before: &[Vec<u32>],
        done: &mut [Vec<u32>],
    ) {
        let sizes = match self.operation {
            Operation::AllToAll => Sizes::Rows { bytes, ranks: self.shape.ranks.into() },
            operation => {
                Sizes::Even { bytes, blocks: blocks(operation, Self::algorithm(operation), self.shape) }
            }
        };
        pass(made, (job, Time::ZERO), (&self.schedule, &sizes, members), ends, before, done);
    }

    const fn shape(ranks: u32) -> Shape {
        Shape { ranks, inner: 1, root: 0, pieces: 1 }
    }

    const fn algorithm(operation: Operation) -> Algorithm {
        operation.algorithms()[0]
    }
}
