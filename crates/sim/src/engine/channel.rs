//! The channel by which records of every kind get from the nodes to the sink.
//!
//! Nodes keep records in [`Records`](crate::record::Records), thread by thread. A flush sorts the records
//! before which no further record can come, hashes them and passes them to the sink. A record type
//! implements [`Record`]; a line in the list in [`crate::record`] registers it.

use incast_units::Time;

use super::world::World;
use crate::random::mix;

/// A kind of record, as the sink receives it.
pub(crate) trait Record: Sized {
    /// Whether a run without records of this kind has their (empty) hash in its fingerprint. The first
    /// kinds do; a kind that is added later changes no fingerprint of runs that do not record it.
    const HASHED_WITHOUT_RECORDS: bool = false;

    /// A record as nodes keep it until the next flush.
    type Kept: Copy;
    /// The order of the records: first by time, then by what distinguishes them.
    type Key: Ord;

    /// The sort key of a record.
    fn key(kept: &Self::Kept) -> Self::Key;

    /// Its time, by which records are flushed.
    fn time(kept: &Self::Kept) -> Time;

    /// The record as the sink receives it.
    fn told(kept: Self::Kept, world: &World) -> Self;

    /// Returns the longest time from a record's own time until it is written.
    fn delay(_: &World) -> Time {
        Time::ZERO
    }

    /// Cuts a record at the run's end `end`; `None` if all of it lies later.
    fn until(kept: Self::Kept, end: Time, _: &World) -> Option<Self::Kept> {
        (Self::time(&kept) <= end).then_some(kept)
    }

    /// Adds the contents of the record to a hash. (The number of samples of a record follows from its time
    /// and the time of the record before it.)
    fn digest(&self, digest: &mut Digest);
}

/// A hash over a sequence of words, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn add(&mut self, words: &[u64]) {
        for word in words {
            self.0 = mix(self.0 ^ *word).rotate_left(23);
        }
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}

/// Takes the records before `horizon` out of `kept`, in order, and hashes them.
pub(crate) fn take_before<R: Record>(
    kept: &mut Vec<R::Kept>,
    horizon: Time,
    world: &World,
    digest: &mut Digest,
) -> Vec<R> {
    let mut before: Vec<R::Kept> = kept.iter().copied().filter(|k| R::time(k) < horizon).collect();
    kept.retain(|k| R::time(k) >= horizon);
    before.sort_unstable_by_key(R::key);
    let told: Vec<R> = before.into_iter().map(|k| R::told(k, world)).collect();
    told.iter().for_each(|record| record.digest(digest));
    told
}

/// Defines, from the list of all kinds of records, their storage at nodes, their flushing, and the sink.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident: $record:ty,)*) => {
        /// Receives the records of a run. Records of one kind arrive sorted by (time, entity), in the same
        /// order for every number of threads. Kinds that a sink does not implement are ignored.
        pub trait Sink {
            $($(#[$doc])* fn $name(&mut self, _records: &[$record]) {})*
            /// Called several times a second of wall time; [`ControlFlow::Break`] stops the run cleanly.
            fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;
        }

        /// The records of one thread since the last flush.
        #[derive(Debug, Default)]
        pub(crate) struct Records {
            $(pub(crate) $name: Vec<<$record as Record>::Kept>,)*
        }

        impl Records {
            /// Their number.
            pub(crate) fn count(&self) -> usize {
                0 $(+ self.$name.len())*
            }

            /// Moves the records of `other` to the end of these.
            pub(crate) fn take(&mut self, other: &mut Self) {
                $(self.$name.append(&mut other.$name);)*
            }
        }

        /// Collects the records of all threads, passes them to the sink in order, and hashes them: each
        /// kind separately, since their interleaving depends on the flushes.
        #[derive(Debug, Default)]
        pub(crate) struct Flusher {
            kept: Records,
            digests: Digests,
        }

        #[derive(Debug, Default)]
        struct Digests {
            $($name: Digest,)*
        }

        impl Flusher {
            /// Takes the records of a thread.
            pub(crate) fn take(&mut self, records: &mut Records) {
                self.kept.take(records);
            }

            /// Passes everything before `horizon` to the sink, given that no earlier records follow.
            pub(crate) fn flush(&mut self, horizon: Time, world: &World, sink: &mut dyn Sink) {
                $(
                    let horizon = horizon - <$record>::delay(world);
                    let kept = &mut self.kept.$name;
                    let records: Vec<$record> = take_before(kept, horizon, world, &mut self.digests.$name);
                    if !records.is_empty() {
                        sink.$name(&records);
                    }
                )*
            }

            /// Tells the sink everything that is left of a run that has ended at `end`.
            pub(crate) fn finish(&mut self, end: Time, world: &World, sink: &mut dyn Sink) {
                $(
                    let kept = std::mem::take(&mut self.kept.$name).into_iter();
                    let mut kept = kept.filter_map(|k| <$record>::until(k, end, world)).collect();
                    let digest = &mut self.digests.$name;
                    let records: Vec<$record> = take_before(&mut kept, Time::NEVER, world, digest);
                    if !records.is_empty() {
                        sink.$name(&records);
                    }
                )*
            }

            /// The hashes, in the order of the list.
            pub(crate) fn digests(&self) -> Vec<u64> {
                let hashes = [$((<$record>::HASHED_WITHOUT_RECORDS, self.digests.$name.value())),*];
                hashes.into_iter().filter(|&(always, hash)| always || hash != 0).map(|(_, hash)| hash).collect()
            }
        }
    };
}
pub(crate) use records;
