//! The exchange of threads: packets for partitions, and between two windows the state of their progress.
//!
//! The run uses only the trait [`Exchange`]. [`Memory`] implements it between threads of one process; other
//! transports of messages can be further implementations.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use incast_net::describe::network::NodeId;
use incast_net::packet::Packet;
use incast_net::record::Records;
use incast_net::record::tally::{Counts, Tally};

use super::balance::Work;
use super::mail::Mail;
use super::model::Hold;

/// The state of one thread between two windows, or of all of them together.
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
    /// The work since the last report.
    pub(crate) work: Work,
    /// The partitions must be dealt again, among this many threads; none for zero.
    pub(crate) deal: usize,
}

impl Report {
    /// The state of a thread without partitions.
    pub(crate) const NOTHING: Self = Self {
        next: u64::MAX,
        last: 0,
        counts: Counts::NOTHING,
        records: 0,
        interrupted: false,
        flush: false,
        work: Work::NONE,
        deal: 0,
    };

    /// The state of a thread with this tally, whose next event is at `next` and the last one after which a node
    /// had none left at `last`.
    pub(crate) fn new(last: u64, next: u64, tally: &Tally) -> Self {
        Self { next, last, counts: tally.counts, records: tally.records.count() as u64, ..Self::NOTHING }
    }

    /// Merges the state of another thread.
    fn join(&mut self, other: &Self) {
        self.next = self.next.min(other.next);
        self.last = self.last.max(other.last);
        self.counts.join(&other.counts);
        self.records += other.records;
        self.interrupted |= other.interrupted;
        self.flush |= other.flush;
        self.work.join(&other.work);
        self.deal = self.deal.max(other.deal);
    }
}

/// One thread's interface to the others.
pub(crate) trait Exchange {
    /// Returns the number of threads that take part.
    fn threads(&self) -> usize;

    /// Returns a time before which nothing happens in a partition. (ps)
    fn due(&self, partition: usize) -> u64;

    /// Begins to process a partition: calls `deliver` with the mail that was posted to it since this was called last.
    ///
    /// Some of it may be from the present window: nothing of that arrives in it.
    fn begin(&mut self, partition: usize, deliver: impl FnMut(&mut Mail));

    /// Says that the partition is processed and when its next event is. (ps)
    fn finish(&mut self, partition: usize, next: u64);

    /// Sends packets to a partition; leaves the mail empty.
    fn post(&mut self, to: usize, mail: &mut Mail);

    /// Shares the state of this thread, waits for the others, and returns the merged state of all, which
    /// is the same for each.
    fn reduce(&mut self, mine: Report) -> Report;

    /// Shares the pauses that every thread has found, waits for the others, and returns all pauses.
    fn share(&mut self, holds: Vec<(NodeId, Hold)>) -> Vec<(NodeId, Hold)>;

    /// Sends records to the first thread.
    fn hand_over(&mut self, records: &mut Records);

    /// Calls `take` with the records that each thread sent before the last [`Self::reduce`]. Used by the first thread.
    fn gather(&mut self, take: impl FnMut(&mut Records));
}

/// The exchange between the threads of one process.
#[derive(Debug)]
pub(crate) struct Memory {
    meeting: Meeting,
    /// One for each partition.
    inboxes: Vec<Inbox>,
    records: Vec<Mutex<Records>>,
    holds: Vec<Mutex<Vec<(NodeId, Hold)>>>,
}

/// The mail of a partition. Partitions of other threads are not on its cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Inbox {
    /// Nothing happens in the partition before. (ps)
    due: AtomicU64,
    /// Mail that is not delivered; and mail that was, for packets that are posted next.
    mail: Mutex<(Vec<Mail>, Vec<Mail>)>,
}

impl Memory {
    /// The exchange of this many threads, between partitions whose first events are at these times. (ps)
    pub(crate) fn new(threads: usize, due: impl Iterator<Item = u64>) -> Self {
        let inbox = |due| Inbox { due: AtomicU64::new(due), mail: Mutex::default() };
        Self {
            meeting: Meeting::new(threads),
            inboxes: due.map(inbox).collect(),
            records: (0..threads).map(|_| Mutex::default()).collect(),
            holds: (0..threads).map(|_| Mutex::default()).collect(),
        }
    }

    /// The endpoint of a thread.
    pub(crate) fn end(&self, thread: usize) -> MemoryEnd<'_> {
        MemoryEnd { memory: self, thread, posted: Vec::new() }
    }

    /// From now on this many threads take part, not more than at first. No endpoint is in use.
    pub(crate) fn resize(&self, threads: usize) {
        self.meeting.resize(threads);
        self.holds.iter().for_each(|holds| lock(holds).clear());
    }

    /// Returns the packets that were not delivered.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        let packets = |inbox: &Inbox| lock(&inbox.mail).0.iter().flat_map(Mail::packets).collect::<Vec<_>>();
        self.inboxes.iter().flat_map(packets).collect()
    }
}

/// One thread's endpoint of a [`Memory`]. If a thread panics, the others stop too.
#[derive(Debug)]
pub(crate) struct MemoryEnd<'a> {
    memory: &'a Memory,
    thread: usize,
    /// Mail that is being delivered.
    posted: Vec<Mail>,
}

impl Drop for MemoryEnd<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.memory.meeting.give_up();
        }
    }
}

impl Exchange for MemoryEnd<'_> {
    fn threads(&self) -> usize {
        self.memory.meeting.threads()
    }

    #[inline]
    fn due(&self, partition: usize) -> u64 {
        self.memory.inboxes[partition].due.load(Ordering::Relaxed)
    }

    fn begin(&mut self, partition: usize, mut deliver: impl FnMut(&mut Mail)) {
        let Inbox { due, mail } = &self.memory.inboxes[partition];
        // First this, then the mail: whoever posts more from now on lowers it again.
        due.store(u64::MAX, Ordering::Relaxed);
        std::mem::swap(&mut self.posted, &mut lock(mail).0);
        if !self.posted.is_empty() {
            self.posted.iter_mut().for_each(&mut deliver);
            lock(mail).1.append(&mut self.posted);
        }
    }

    fn finish(&mut self, partition: usize, next: u64) {
        self.memory.inboxes[partition].due.fetch_min(next, Ordering::Relaxed);
    }

    fn post(&mut self, to: usize, mail: &mut Mail) {
        let inbox = &self.memory.inboxes[to];
        let earliest = mail.earliest;
        {
            let mut inbox = lock(&inbox.mail);
            let (posted, empty) = &mut *inbox;
            posted.push(std::mem::replace(mail, empty.pop().unwrap_or_default()));
        }
        inbox.due.fetch_min(earliest, Ordering::Relaxed);
    }

    fn reduce(&mut self, mine: Report) -> Report {
        self.memory.meeting.meet(mine)
    }

    fn share(&mut self, holds: Vec<(NodeId, Hold)>) -> Vec<(NodeId, Hold)> {
        *lock(&self.memory.holds[self.thread]) = holds;
        // The next sharing overwrites them only after a further meeting.
        self.memory.meeting.meet(Report::NOTHING);
        self.memory.holds.iter().flat_map(|holds| lock(holds).clone()).collect()
    }

    fn hand_over(&mut self, records: &mut Records) {
        lock(&self.memory.records[self.thread]).take(records);
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

/// Iterations of spinning before a thread sleeps.
const LOOKS: u32 = 2000;

/// A barrier at which threads wait for each other and exchange their states.
///
/// Windows are short: with a core for each thread, a waiting thread first spins. With fewer cores, or after a
/// while, it sleeps until the last thread wakes it, so that it takes no CPU time from the others.
#[derive(Debug)]
struct Meeting {
    /// Changes only while nobody meets.
    threads: AtomicUsize,
    /// Threads that can be on a core each.
    cores: usize,
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
        Self {
            threads: AtomicUsize::new(threads),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
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

    /// The number of threads that meet.
    fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Lets another number of threads meet from now on.
    fn resize(&self, threads: usize) {
        // The lock makes every thread that meets later see it.
        let _state = lock(&self.state);
        self.threads.store(threads, Ordering::Relaxed);
    }

    fn meet(&self, mine: Report) -> Report {
        let threads = self.threads();
        if threads == 1 {
            return mine;
        }
        let mut state = lock(&self.state);
        let before = state.over;
        state.joined.join(&mine);
        state.arrived += 1;
        if state.arrived == threads {
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
        for _ in 0..if threads <= self.cores { LOOKS } else { 0 } {
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
            let memory = Memory::new(threads, std::iter::empty());
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
