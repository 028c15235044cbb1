//! The number of threads that take part in a run, and the instants at which partitions are dealt to them again.
//!
//! Nothing here changes a result: it decides only who computes it. Two measures decide on the number. The *load* of a
//! window is counted, so that it is the same in every run: a window with too little work for all threads gets fewer. The
//! time for which threads wait is measured: on a machine that has other things to do it can be most of the time, whatever
//! the load.

use incast_net::random::draw;

/// The load of a window for which a thread takes part at least. (ns)
const WORTH: u64 = 2_000;
/// This many times that load must be in a window before more threads take part.
const SURELY: u64 = 2;
/// The shortest time between two decisions, by the load and the waiting. (ns)
const SHORTEST: u64 = 2_000_000;
/// The fewest windows between two decisions.
const FEWEST: u64 = 16;
/// The shortest time by which the waiting of threads is judged. (ns)
const JUDGED: u64 = 10_000_000;
/// The longest waits between two attempts, as a factor.
const LONGEST: u64 = 64;

/// The work of threads in a window: of one of them, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// The load. (ns)
    pub(crate) load: u64,
    /// The part of it in partitions of other threads. (ns)
    pub(crate) foreign: u64,
    /// For how long threads have waited for others, all together. (ns)
    pub(crate) waited: u64,
}

impl Work {
    /// Nothing done.
    pub(crate) const NONE: Self = Self { load: 0, foreign: 0, waited: 0 };

    /// Adds the work of another thread.
    pub(crate) fn join(&mut self, other: &Self) {
        self.load += other.load;
        self.foreign += other.foreign;
        self.waited += other.waited;
    }
}

/// Decides how many threads take part, and when partitions are dealt again.
#[derive(Debug)]
pub(crate) struct Balance {
    /// The threads that there are.
    most: usize,
    /// Those that take part.
    threads: usize,
    /// The windows since the last decision, and what was done in them.
    windows: u64,
    work: Work,
    /// The beginning of the first of them. (ns)
    began: u64,
    /// Whether partitions were dealt by loads that were counted.
    counted: bool,
    /// The share of foreign work before the last deal for its sake, in thousandths.
    before: Option<u64>,
    /// The number of decisions to wait for the next one.
    reluctance: u64,
    /// For how many decisions fewer threads take part after threads had waited, and how many of them are left.
    pause: u64,
    left: u64,
    /// Whether to decide at random, and often: a test of all that may happen.
    restless: bool,
}

impl Balance {
    /// The balance of a run that begins with all its threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            most: threads,
            threads,
            windows: 0,
            work: Work::NONE,
            began: 0,
            counted: false,
            before: None,
            reluctance: 1,
            pause: 2,
            left: 0,
            restless: false,
        }
    }

    /// The balance of a run that deals partitions after every few windows, among any number of threads.
    pub(crate) fn restless(threads: usize) -> Self {
        Self { restless: true, ..Self::new(threads) }
    }

    /// Notes a window. Returns among how many threads partitions are to be dealt again, if it is time for that. `now` reads
    /// the clock: the time since the run began. (ns)
    pub(crate) fn note(&mut self, work: &Work, now: impl FnOnce() -> u64) -> Option<usize> {
        if self.most == 1 {
            return None;
        }
        self.windows += 1;
        self.work.join(work);
        if self.restless {
            let drawn = draw(self.windows, self.work.load);
            return drawn.is_multiple_of(3).then(|| (drawn >> 8) as usize % self.most + 1);
        }
        if self.windows < FEWEST || self.work.load + self.work.waited < SHORTEST {
            return None;
        }
        let now = now();
        let judged = now.saturating_sub(self.began) >= JUDGED;
        let decided = match self.fewer(now, judged) {
            None if judged => self.more().or_else(|| self.again()),
            None if !self.counted && self.threads > 1 => Some(self.threads),
            fewer => fewer,
        };
        if let Some(threads) = decided {
            self.threads = threads;
            self.counted = true;
        }
        if judged || decided.is_some() {
            (self.windows, self.work, self.began) = (0, Work::NONE, now);
        }
        decided
    }

    /// The threads for which there is enough to do in a window.
    fn useful(&self) -> usize {
        usize::try_from(self.work.load / self.windows / WORTH).unwrap_or(usize::MAX)
    }

    /// The number of threads if it is to become smaller.
    fn fewer(&mut self, now: u64, judged: bool) -> Option<usize> {
        let threads = self.threads;
        if threads == 1 {
            return None;
        }
        let useful = self.useful();
        if useful < threads {
            return Some(useful.max(1));
        }
        // How many threads' work is done, in thousandths. 1.15 for two threads, 3.25 for sixteen: with less, half as many
        // are about as fast and leave the machine to others.
        let waiting = 1000 * self.work.waited / now.saturating_sub(self.began).max(1);
        let gain = (1000 * threads as u64).saturating_sub(waiting);
        if !judged || gain >= 1000 + 150 * (threads as u64 - 1) {
            return None;
        }
        self.left = self.pause;
        self.pause = (2 * self.pause).min(LONGEST);
        Some(threads / 2)
    }

    /// The number of threads if it is to become larger.
    fn more(&mut self) -> Option<usize> {
        let more = (self.useful() / SURELY as usize).min(self.most);
        if more <= self.threads {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        (self.left == 0).then_some(more)
    }

    /// As many threads, if partitions are to be dealt again because many are taken by others.
    fn again(&mut self) -> Option<usize> {
        if self.threads == 1 {
            return None;
        }
        let foreign = 1000 * self.work.foreign / self.work.load.max(1);
        if let Some(before) = self.before.take() {
            // It did not help: not so soon again.
            self.reluctance = if foreign + 10 < before { 1 } else { (2 * self.reluctance).min(LONGEST) };
            self.left = self.reluctance;
        }
        if self.left > 0 {
            self.left -= 1;
            return None;
        }
        (foreign > 100).then(|| {
            self.before = Some(foreign);
            self.threads
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes windows with this work, each of which takes `time`, until something is decided: what, and after how many.
    fn decide(balance: &mut Balance, clock: &mut u64, work: Work, time: u64) -> Option<(usize, u64)> {
        (1..100_000).find_map(|windows| {
            *clock += time;
            balance.note(&work, || *clock).map(|threads| (threads, windows))
        })
    }

    #[test]
    fn a_window_with_too_little_to_do_gets_fewer_threads_and_one_with_enough_more() {
        let (mut balance, mut clock) = (Balance::new(16), 0);
        let work = Work { load: 13_000, ..Work::NONE };
        // 2 ms of load, long before waiting could be judged.
        assert_eq!(decide(&mut balance, &mut clock, work, 2_000), Some((6, 154)));
        let work = Work { load: 1_500, ..Work::NONE };
        assert_eq!(decide(&mut balance, &mut clock, work, 2_000), Some((1, 1334)));
        assert_eq!(decide(&mut balance, &mut clock, work, 2_000), None, "there is still little to do");
        let work = Work { load: 30_000, ..Work::NONE };
        assert_eq!(decide(&mut balance, &mut clock, work, 30_000).map(|(threads, _)| threads), Some(7));
    }

    #[test]
    fn threads_that_only_wait_for_each_other_become_fewer_and_try_again_ever_later() {
        let (mut balance, mut clock) = (Balance::new(2), 0);
        let alone = Work { load: 50_000, ..Work::NONE };
        let waiting = Work { waited: 1_950_000, ..alone };
        let mut pauses = Vec::new();
        for _ in 0..5 {
            assert_eq!(decide(&mut balance, &mut clock, waiting, 1_000_000), Some((1, 16)));
            let (threads, windows) = decide(&mut balance, &mut clock, alone, 50_000).unwrap();
            assert_eq!(threads, 2);
            pauses.push(windows / 200);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32]);
        // Threads that are mostly busy stay.
        let busy = Work { waited: 20_000, ..alone };
        assert_eq!(decide(&mut balance, &mut clock, busy, 35_000), None);
    }

    #[test]
    fn partitions_are_dealt_anew_when_others_take_many_and_less_often_when_that_does_not_help() {
        let (mut balance, mut clock) = (Balance::new(2), 0);
        let work = |foreign| Work { load: 100_000, foreign, waited: 0 };
        // First by the loads of the first windows, instead of none.
        assert_eq!(decide(&mut balance, &mut clock, work(0), 50_000), Some((2, 20)));
        assert_eq!(decide(&mut balance, &mut clock, work(9_000), 50_000), None);
        let mut next =
            |foreign| decide(&mut balance, &mut clock, work(foreign), 50_000).map(|(_, w)| w / 200);
        assert_eq!(
            [next(30_000), next(30_000), next(30_000), next(30_000)].map(Option::unwrap),
            [1, 3, 5, 9]
        );
        assert_eq!(next(9_000), None);
    }

    #[test]
    fn one_thread_decides_nothing() {
        let mut balance = Balance::new(1);
        let work = Work { load: 1 << 40, foreign: 1 << 39, waited: 1 << 40 };
        assert!((0..1000).all(|i| balance.note(&work, || i << 40).is_none()));
    }
}
