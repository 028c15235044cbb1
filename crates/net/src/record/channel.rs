//! The channel by which records of every kind get from the nodes to the sink.
//!
//! Nodes keep records in [`Records`](super::Records), thread by thread. A flush sorts the records
//! before which no further record can come, hashes them and passes them to the sink. A record type
//! implements [`Record`]; a line in the list in [`super`] registers it.

use incast_units::Time;

use super::view::View;
use crate::describe::probe::Probes;
use crate::random::mix;

/// A kind of record, as the sink receives it.
pub trait Record: Sized {
    /// Whether a run without records of this kind has their (empty) hash in its fingerprint. The first
    /// kinds do; a kind that is added later changes no fingerprint of runs that do not record it.
    const HASHED_WITHOUT_RECORDS: bool = false;

    /// A record as nodes keep it until the next flush.
    type Pending: Copy;
    /// The order of the records: first by time, then by what distinguishes them.
    type Key: Ord;

    /// The sort key of a record.
    fn key(pending: &Self::Pending) -> Self::Key;

    /// Its time, by which records are flushed.
    fn time(pending: &Self::Pending) -> Time;

    /// Converts a pending record to what the sink receives.
    fn publish(pending: Self::Pending, view: &impl View) -> Self;

    /// Returns the longest time from a record's own time until it is written.
    fn delay(_: &Probes) -> Time {
        Time::ZERO
    }

    /// Cuts a record at the run's end `end`; `None` if all of it lies later.
    fn until(pending: Self::Pending, end: Time, _: &Probes) -> Option<Self::Pending> {
        (Self::time(&pending) <= end).then_some(pending)
    }

    /// Adds the contents of the record to a hash. (The number of samples of a record follows from its time
    /// and the time of the record before it.)
    fn digest(&self, digest: &mut Digest);
}

/// The items of [`Record`] for a record that nodes keep as the sink receives it: its key, which begins with its time.
macro_rules! kept_as_received {
    ($key:ty, |$record:ident| ($time:expr $(, $other:expr)+)) => {
        type Pending = Self;
        type Key = $key;

        fn key($record: &Self) -> Self::Key {
            ($time $(, $other)+)
        }

        fn time($record: &Self) -> incast_units::Time {
            $time
        }

        fn publish(pending: Self, _: &impl $crate::record::view::View) -> Self {
            pending
        }
    };
}
pub(crate) use kept_as_received;

/// A hash over a sequence of words, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digest(u64);

impl Digest {
    /// Adds words.
    pub fn add(&mut self, words: &[u64]) {
        for word in words {
            self.0 = mix(self.0 ^ *word).rotate_left(23);
        }
    }

    /// Returns the hash of the words so far.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// Takes the records before `horizon` out of `pending`, in order, and hashes them.
pub fn take_before<R: Record>(
    pending: &mut Vec<R::Pending>,
    horizon: Time,
    view: &impl View,
    digest: &mut Digest,
) -> Vec<R> {
    let mut before: Vec<R::Pending> = pending.iter().copied().filter(|k| R::time(k) < horizon).collect();
    pending.retain(|k| R::time(k) >= horizon);
    before.sort_unstable_by_key(R::key);
    let records: Vec<R> = before.into_iter().map(|k| R::publish(k, view)).collect();
    records.iter().for_each(|record| record.digest(digest));
    records
}

/// Defines, from the list of all kinds of records, their storage at nodes, their flushing, and the sink.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident: $record:ty,)*) => {
        /// Receives the records of a run. Records of one kind arrive sorted by (time, entity), in the same
        /// order for every number of threads. Kinds that a sink does not implement are ignored.
        pub trait Sink {
            $($(#[$doc])* fn $name(&mut self, _records: &[$record]) {})*
            /// Says whether the records that follow are to be counted and not kept, from now on: they are copies of earlier
            /// ones, in a run that reuses what repeats itself ([`Reuse::Summary`](crate::describe::reuse::Reuse::Summary)).
            fn copies(&mut self, _are_only_counted: bool) {}
            /// Called several times a second of wall time; [`ControlFlow::Break`] stops the run cleanly.
            fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;
        }

        /// A sink whose records another one sees first.
        pub struct Watched<'a, W> {
            /// Sees the records.
            pub watch: W,
            /// Receives them, and is asked whether to go on.
            pub sink: &'a mut dyn Sink,
        }

        impl<W: Sink> Sink for Watched<'_, W> {
            $(fn $name(&mut self, records: &[$record]) {
                self.watch.$name(records);
                self.sink.$name(records);
            })*

            fn copies(&mut self, are_only_counted: bool) {
                self.watch.copies(are_only_counted);
                self.sink.copies(are_only_counted);
            }

            fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
                self.sink.progress(progress)
            }
        }

        /// The records of one thread since the last flush.
        #[derive(Debug, Default)]
        pub struct Records {
            $($(#[$doc])* pub $name: Vec<<$record as Record>::Pending>,)*
        }

        impl Records {
            /// Their number.
            pub fn count(&self) -> usize {
                0 $(+ self.$name.len())*
            }

            /// Moves the records of `other` to the end of these.
            pub fn take(&mut self, other: &mut Self) {
                $(self.$name.append(&mut other.$name);)*
            }
        }

        /// Collects the records of all threads, passes them to the sink in order, and hashes them: each
        /// kind separately, since their interleaving depends on the flushes.
        #[derive(Debug, Default)]
        pub struct Flusher {
            pending: Records,
            digests: Digests,
            spent: std::time::Duration,
        }

        #[derive(Debug, Default)]
        struct Digests {
            $($name: Digest,)*
        }

        impl Flusher {
            /// Takes the records of a thread.
            pub fn take(&mut self, records: &mut Records) {
                self.pending.take(records);
            }

            /// Passes everything before `horizon` to the sink, given that no earlier records follow.
            pub fn flush(&mut self, horizon: Time, view: &impl View, sink: &mut dyn Sink) {
                let begin = std::time::Instant::now();
                $(
                    let horizon = horizon - <$record>::delay(view.probes());
                    let pending = &mut self.pending.$name;
                    let records: Vec<$record> = take_before(pending, horizon, view, &mut self.digests.$name);
                    if !records.is_empty() {
                        sink.$name(&records);
                    }
                )*
                self.spent += begin.elapsed();
            }

            /// Returns the wall time of all calls of [`flush`](Self::flush) so far, with what the sink did in them.
            pub fn spent(&self) -> std::time::Duration {
                self.spent
            }

            /// Tells the sink everything that is left of a run that has ended at `end`.
            pub fn finish(&mut self, end: Time, view: &impl View, sink: &mut dyn Sink) {
                $(
                    let pending = std::mem::take(&mut self.pending.$name).into_iter();
                    let mut pending = pending.filter_map(|k| <$record>::until(k, end, view.probes())).collect();
                    let digest = &mut self.digests.$name;
                    let records: Vec<$record> = take_before(&mut pending, Time::NEVER, view, digest);
                    if !records.is_empty() {
                        sink.$name(&records);
                    }
                )*
            }

            /// The hashes, in the order of the list.
            pub fn digests(&self) -> Vec<u64> {
                let hashes = [$((<$record>::HASHED_WITHOUT_RECORDS, self.digests.$name.value())),*];
                hashes.into_iter().filter(|&(always, hash)| always || hash != 0).map(|(_, hash)| hash).collect()
            }
        }
    };
}
pub(crate) use records;
