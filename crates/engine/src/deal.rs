//! The partitions of every thread: each has its own, and when it has done them it takes some that others have left.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The partitions of every thread, from the one with the largest load.
#[derive(Debug)]
pub(crate) struct Deal {
    hands: Vec<Vec<usize>>,
    /// Of this window and the next one, for every thread: how many of its partitions are taken.
    taken: [Vec<Taken>; 2],
}

/// A counter that is not on the cache line of another one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Taken(AtomicUsize);

impl Deal {
    /// Deals partitions with these loads to threads so that each gets about the same load: neighbours, which have
    /// successive numbers, mostly together.
    pub(crate) fn new(loads: &[u64], threads: usize) -> Self {
        let all: u128 = loads.iter().map(|load| u128::from(*load) + 1).sum();
        let mut hands = vec![Vec::new(); threads];
        let mut before = 0;
        for (partition, load) in loads.iter().enumerate() {
            let load = u128::from(*load) + 1;
            // Each goes where its middle is.
            let thread = (2 * before + load) * threads as u128 / (2 * all);
            hands[thread as usize].push(partition);
            before += load;
        }
        for hand in &mut hands {
            hand.sort_by_key(|partition| std::cmp::Reverse(loads[*partition]));
        }
        let taken = || (0..threads).map(|_| Taken::default()).collect();
        Self { hands, taken: [taken(), taken()] }
    }

    /// The partitions of a thread.
    pub(crate) fn of(&self, thread: usize) -> &[usize] {
        &self.hands[thread]
    }

    /// The partitions that a thread takes in window number `window`, each with whether it is another one's. All threads
    /// together take each once, whatever they do in which order; between two windows they must have met.
    pub(crate) fn take(&self, thread: usize, window: u64) -> impl Iterator<Item = (usize, bool)> + use<'_> {
        let threads = self.hands.len();
        let [now, next] = if window.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        // Nobody looks at those before all have met again.
        self.taken[next][thread].0.store(0, Ordering::Relaxed);
        let mut of = 0;
        std::iter::from_fn(move || {
            while of < threads {
                let owner = (thread + of) % threads;
                let hand = &self.hands[owner];
                // Alone, a thread needs no atomic addition.
                let counter = &self.taken[now][owner].0;
                let place = if threads == 1 {
                    let place = counter.load(Ordering::Relaxed);
                    counter.store(place + 1, Ordering::Relaxed);
                    place
                } else {
                    counter.fetch_add(1, Ordering::Relaxed)
                };
                match hand.get(place) {
                    Some(partition) => return Some((*partition, of > 0)),
                    None => of += 1,
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_is_taken_once_in_each_window() {
        let loads = [5, 0, 7, 1, 1, 90, 3, 0, 0, 12, 4];
        for threads in 1..6 {
            let deal = Deal::new(&loads, threads);
            let mut own: Vec<usize> = (0..threads).flat_map(|t| deal.of(t).to_vec()).collect();
            own.sort_unstable();
            assert_eq!(own, (0..loads.len()).collect::<Vec<_>>());
            for window in 0..5 {
                // In turns, but for the first, which is as fast as all others together.
                let mut takes: Vec<_> = (0..threads).map(|thread| deal.take(thread, window)).collect();
                let mut taken = Vec::new();
                loop {
                    let before = taken.len();
                    for (thread, takes) in takes.iter_mut().enumerate() {
                        for _ in 0..if thread == 0 { threads } else { 1 } {
                            taken.extend(takes.next().map(|(partition, other)| {
                                assert_eq!(other, !deal.of(thread).contains(&partition));
                                partition
                            }));
                        }
                    }
                    if taken.len() == before {
                        break;
                    }
                }
                taken.sort_unstable();
                assert_eq!(taken, own, "{threads} threads, window {window}");
            }
        }
    }

    #[test]
    fn threads_get_about_the_same_load_and_begin_with_the_largest() {
        let deal = Deal::new(&[10, 10, 20, 10, 30, 5, 5, 30], 3);
        assert_eq!([deal.of(0), deal.of(1), deal.of(2)], [&[2, 0, 1][..], &[4, 3], &[7, 5, 6]]);
    }
}
