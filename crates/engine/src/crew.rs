//! The threads of a run: the first divides the work, the others take shares and give them back.
//!
//! A thread without a share sleeps, however long that is.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The place at which shares change hands.
#[derive(Debug)]
pub(crate) struct Crew<T> {
    hands: Mutex<Hands<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Hands<T> {
    /// For each thread a share that it has not taken yet.
    given: Vec<Option<T>>,
    /// Of each thread the share that it has given back.
    returned: Vec<Option<T>>,
    /// No more shares follow.
    over: bool,
    /// A thread panicked: the others must not wait for it.
    broken: bool,
}

impl<T> Crew<T> {
    /// A crew of this many threads, the first included.
    pub(crate) fn new(threads: usize) -> Self {
        let nothing = || (0..threads).map(|_| None).collect();
        let hands = Hands { given: nothing(), returned: nothing(), over: false, broken: false };
        Self { hands: Mutex::new(hands), changed: Condvar::new() }
    }

    /// Gives shares to the threads from the second on, one to each.
    pub(crate) fn give(&self, shares: impl IntoIterator<Item = T>) {
        let mut hands = self.lock();
        for (place, share) in hands.given.iter_mut().skip(1).zip(shares) {
            *place = Some(share);
        }
        self.changed.notify_all();
    }

    /// Waits until the threads from the second on, this many, have given back their shares. Returns them in order.
    pub(crate) fn gather(&self, count: usize) -> Vec<T> {
        let mut hands = self.lock();
        while hands.returned.iter().skip(1).take(count).any(Option::is_none) {
            assert!(!hands.broken, "another thread of the run panicked");
            hands = self.wait(hands);
        }
        hands.returned.iter_mut().filter_map(Option::take).collect()
    }

    /// Waits for the next share of a thread: none if the run is over.
    pub(crate) fn take(&self, thread: usize) -> Option<T> {
        let mut hands = self.lock();
        loop {
            if hands.over || hands.broken {
                return None;
            }
            if let Some(share) = hands.given[thread].take() {
                return Some(share);
            }
            hands = self.wait(hands);
        }
    }

    /// Gives back the share of a thread.
    pub(crate) fn give_back(&self, thread: usize, share: T) {
        self.lock().returned[thread] = Some(share);
        self.changed.notify_all();
    }

    /// Returns what tells the others, when it is dropped, that a thread has left: with a panic, or the first.
    pub(crate) fn member(&self, thread: usize) -> Member<'_, T> {
        Member { crew: self, thread }
    }

    fn lock(&self) -> MutexGuard<'_, Hands<T>> {
        // Only a panic poisons a lock, and that ends the run anyway.
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, hands: MutexGuard<'a, Hands<T>>) -> MutexGuard<'a, Hands<T>> {
        self.changed.wait(hands).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread of a crew.
#[derive(Debug)]
pub(crate) struct Member<'a, T> {
    crew: &'a Crew<T>,
    thread: usize,
}

impl<T> Drop for Member<'_, T> {
    fn drop(&mut self) {
        let mut hands = self.crew.lock();
        hands.over |= self.thread == 0;
        hands.broken |= std::thread::panicking();
        self.crew.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_to_their_threads_and_come_back_in_order() {
        let crew = Crew::new(4);
        std::thread::scope(|scope| {
            for thread in 1..4 {
                let crew = &crew;
                scope.spawn(move || {
                    let _member = crew.member(thread);
                    while let Some(share) = crew.take(thread) {
                        crew.give_back(thread, share * 10 + thread);
                    }
                });
            }
            let _first = crew.member(0);
            for round in 0..100 {
                // Not every thread has a share in every round.
                let count = round % 4;
                crew.give((1..=count).map(|i| i + round));
                let expected: Vec<usize> = (1..=count).map(|i| (i + round) * 10 + i).collect();
                assert_eq!(crew.gather(count), expected);
            }
        });
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let crew = Crew::<usize>::new(3);
        let ended = std::thread::scope(|scope| {
            let broken = scope.spawn(|| {
                let _member = crew.member(1);
                panic!("the first to panic");
            });
            let first = scope.spawn(|| crew.gather(1));
            let idle = scope.spawn(|| crew.take(2));
            [
                broken.join().map(|()| 0).is_err(),
                first.join().is_err(),
                idle.join().is_ok_and(|s| s.is_none()),
            ]
        });
        assert_eq!(ended, [true; 3]);
    }
}
