//! The exchange of partitions between two windows: packets, and the state of their progress.
//!
//! The run uses only the trait [`Exchange`]. [`Memory`] implements it between threads of one process; other
//! transports of messages can be further implementations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use incast_net::describe::network::NodeId;
use incast_net::packet::Packet;
use incast_net::record::Records;
use incast_net::record::tally::{Counts, Tally};

use super::mail::Mail;
use super::model::Hold;

/// The state of one partition between two windows, or of all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The earliest event. (ps)
    pub(crate) next: u64,
    /// The latest event after which a node had none left: if no node has any, the latest of all. (ps)
    pub(crate) last: u64,
    pub(crate) counts: Counts,
    /// Records that wait for a flush.
    pub(crate) records: u64,
    /// The sink has requested a stop.
    pub(crate) interrupted: bool,
    /// The records so far must be handed over.
    pub(crate) flush: bool,
}

impl Report {
    /// The state of a partition without nodes.
    pub(crate) const NOTHING: Self = Self {
        next: u64::MAX,
        last: 0,
        counts: Counts::NOTHING,
        records: 0,
        interrupted: false,
        flush: false,
    };

    /// The state of a partition with this tally, whose next event is at `next` and the last one after which a node
    /// had none left at `last`.
    pub(crate) fn new(last: u64, next: u64, tally: &Tally) -> Self {
        Self { next, last, counts: tally.counts, records: tally.records.count() as u64, ..Self::NOTHING }
    }

    /// Merges the state of another partition.
    fn join(&mut self, other: &Self) {
        self.next = self.next.min(other.next);
        self.last = self.last.max(other.last);
        self.counts.join(&other.counts);
        self.records += other.records;
        self.interrupted |= other.interrupted;
        self.flush |= other.flush;
    }
}

/// One partition's interface to the others. Every partition calls, in this order and once per window:
/// [`Self::post`] for the packets of the last window, [`Self::reduce`], [`Self::collect`].
pub(crate) trait Exchange {
    /// Sends packets to partition `to`; leaves the outbox empty.
    fn post(&mut self, to: usize, mail: &mut Mail);

    /// Shares the state of this partition, waits for the others, and returns the merged state of all, which
    /// is the same for each.
    fn reduce(&mut self, mine: Report) -> Report;

    /// Calls `deliver` with what each other partition posted to this one before the last
    /// [`Self::reduce`].
    fn collect(&mut self, deliver: impl FnMut(&mut Mail));

    /// Shares the pauses of every partition, waits for the others, and returns all pauses.
    fn share(&mut self, holds: Vec<(NodeId, Hold)>) -> Vec<(NodeId, Hold)>;

    /// Sends records to the first partition.
    fn hand_over(&mut self, records: &mut Records);

    /// Calls `take` with the records that each partition sent before the last [`Self::reduce`]. Used by the
    /// first partition.
    fn gather(&mut self, take: impl FnMut(&mut Records));
}

/// The exchange between the threads of one process.
#[derive(Debug)]
pub(crate) struct Memory {
    meeting: Meeting,
    /// `mail[round % 2][from][to]`: what is posted in a round is collected before the next one ends, and
    /// its place used again only after that.
    mail: [Vec<Vec<Mutex<Mail>>>; 2],
    records: Vec<Mutex<Records>>,
    holds: Vec<Mutex<Vec<(NodeId, Hold)>>>,
}

impl Memory {
    pub(crate) fn new(partitions: usize) -> Self {
        let mail = || (0..partitions).map(|_| (0..partitions).map(|_| Mutex::default()).collect()).collect();
        Self {
            meeting: Meeting::new(partitions),
            mail: [mail(), mail()],
            records: (0..partitions).map(|_| Mutex::default()).collect(),
            holds: (0..partitions).map(|_| Mutex::default()).collect(),
        }
    }

    /// The endpoint of partition `index`.
    pub(crate) fn end(&self, index: usize) -> MemoryEnd<'_> {
        MemoryEnd { memory: self, index, round: 0 }
    }

    /// Returns the packets that were not collected.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        let all = self.mail.iter().flatten().flatten();
        all.flat_map(|mail| lock(mail).packets().collect::<Vec<_>>()).collect()
    }
}

/// One thread's endpoint of a [`Memory`]. If a thread panics, the others stop too.
#[derive(Debug)]
pub(crate) struct MemoryEnd<'a> {
    memory: &'a Memory,
    index: usize,
    /// Completed rounds.
    round: usize,
}

impl Drop for MemoryEnd<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.memory.meeting.give_up();
        }
    }
}

impl Exchange for MemoryEnd<'_> {
    fn post(&mut self, to: usize, mail: &mut Mail) {
        std::mem::swap(mail, &mut lock(&self.memory.mail[self.round % 2][self.index][to]));
    }

    fn reduce(&mut self, mine: Report) -> Report {
        self.round += 1;
        self.memory.meeting.meet(mine)
    }

    fn collect(&mut self, mut deliver: impl FnMut(&mut Mail)) {
        for (from, boxes) in self.memory.mail[(self.round + 1) % 2].iter().enumerate() {
            if from != self.index {
                deliver(&mut lock(&boxes[self.index]));
            }
        }
    }

    fn share(&mut self, holds: Vec<(NodeId, Hold)>) -> Vec<(NodeId, Hold)> {
        *lock(&self.memory.holds[self.index]) = holds;
        // The next sharing overwrites them only after a further meeting.
        self.memory.meeting.meet(Report::NOTHING);
        self.memory.holds.iter().flat_map(|holds| lock(holds).clone()).collect()
    }

    fn hand_over(&mut self, records: &mut Records) {
        lock(&self.memory.records[self.index]).take(records);
    }

    fn gather(&mut self, mut take: impl FnMut(&mut Records)) {
        for records in &self.memory.records {
            take(&mut lock(records));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only a panic poisons a lock, and that ends the run anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A barrier at which threads wait for each other and exchange their states.
///
/// Windows are short: with a core for each thread, a waiting thread first spins. With fewer cores, or after a
/// while, it sleeps until the last thread wakes it, so that it takes no CPU time from the others.
#[derive(Debug)]
struct Meeting {
    threads: usize,
    /// Iterations of spinning before a thread sleeps.
    looks: u32,
    /// Number of completed rounds; the same as in `state`, readable without locking.
    over: AtomicU64,
    /// A thread panicked: the others must not wait for it.
    broken: AtomicBool,
    state: Mutex<State>,
    last_is_here: Condvar,
}

#[derive(Debug)]
struct State {
    over: u64,
    arrived: usize,
    sleeping: usize,
    /// Merged state of the threads that have arrived.
    joined: Report,
    /// Merged state of the last round. It is valid until all threads have arrived again, and so have read
    /// it.
    result: Report,
}

impl Meeting {
    /// A barrier for the given number of threads.
    fn new(threads: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            looks: if threads <= cores { 2000 } else { 0 },
            over: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            state: Mutex::new(State {
                over: 0,
                arrived: 0,
                sleeping: 0,
                joined: Report::NOTHING,
                result: Report::NOTHING,
            }),
            last_is_here: Condvar::new(),
        }
    }

    fn meet(&self, mine: Report) -> Report {
        if self.threads == 1 {
            return mine;
        }
        let mut state = lock(&self.state);
        let before = state.over;
        state.joined.join(&mine);
        state.arrived += 1;
        if state.arrived == self.threads {
            state.result = std::mem::replace(&mut state.joined, Report::NOTHING);
            state.arrived = 0;
            state.over += 1;
            self.over.store(state.over, Ordering::Release);
            if state.sleeping > 0 {
                self.last_is_here.notify_all();
            }
            return state.result;
        }
        drop(state);
        for _ in 0..self.looks {
            if self.over.load(Ordering::Acquire) != before || self.broken.load(Ordering::Relaxed) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = lock(&self.state);
        while state.over == before {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run panicked");
            state.sleeping += 1;
            state = self.last_is_here.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
        state.result
    }

    /// Wakes all threads, because one of them will not arrive.
    fn give_up(&self) {
        let _state = lock(&self.state);
        self.broken.store(true, Ordering::Relaxed);
        self.last_is_here.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_learns_what_all_know() {
        // More threads than there are cores anywhere, so that they sleep, and as few as two.
        for threads in [2_usize, 300] {
            let meeting = Meeting::new(threads);
            std::thread::scope(|scope| {
                for thread in 0..threads as u64 {
                    let meeting = &meeting;
                    scope.spawn(move || {
                        for round in 0..20 {
                            let next = 1000 * round + thread;
                            let counts = Counts { started: thread, progress: next, ..Counts::NOTHING };
                            let mine = Report { next, counts, ..Report::NOTHING };
                            let n = threads as u64;
                            let all = Report {
                                next: 1000 * round,
                                counts: Counts {
                                    started: n * (n - 1) / 2,
                                    progress: 1000 * round + n - 1,
                                    ..Counts::NOTHING
                                },
                                ..Report::NOTHING
                            };
                            assert_eq!(meeting.meet(mine), all);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_thread_that_panics_takes_the_others_with_it() {
        for threads in [2, 300] {
            let memory = Memory::new(threads);
            let ends = std::thread::scope(|scope| {
                let run = |index| {
                    let mut end = memory.end(index);
                    assert_eq!(end.reduce(Report::NOTHING), Report::NOTHING);
                    assert_ne!(index, 1, "the first to panic");
                    end.reduce(Report::NOTHING);
                };
                let spawned: Vec<_> = (0..threads).map(|i| scope.spawn(move || run(i))).collect();
                spawned.into_iter().map(|s| s.join().is_err()).collect::<Vec<_>>()
            });
            assert_eq!(ends, vec![true; threads]);
        }
    }
}
