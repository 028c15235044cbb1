//! Records that cover several equal samples.

use incast_units::Time;

/// A record of samples.
pub trait Sample: Copy + PartialEq {
    /// Name of a series among the others of its kind at a node.
    type Name: Ord;

    /// Its series.
    fn name(&self) -> Self::Name;
    /// Returns the time at which it was taken.
    fn time(&self) -> Time;
    /// Returns the number of samples that it covers.
    fn samples(&self) -> u64;
    /// Returns the same values at another time, as a record that covers `samples` samples.
    fn at(self, time: Time, samples: u64) -> Self;
}

/// Implements [`Sample`] for a record with the fields `time` and `samples`.
macro_rules! sample {
    ($record:ty, $name:ty, |$self:ident| $series:expr) => {
        impl $crate::record::sample::Sample for $record {
            type Name = $name;

            fn name(&self) -> $name {
                let $self = self;
                $series
            }

            fn time(&self) -> incast_units::Time {
                self.time
            }

            fn samples(&self) -> u64 {
                self.samples
            }

            fn at(self, time: incast_units::Time, samples: u64) -> Self {
                Self { time, samples, ..self }
            }
        }
    };
}
pub(crate) use sample;

/// Cuts a record at the run's end `end`; `None` if all samples that it covers lie later. The nodes' last
/// events, and so their last samples, can lie after the end, by a window.
pub fn until<S: Sample>(record: S, end: Time, interval: Time) -> Option<S> {
    let after = (record.time() - end).ps().div_ceil(interval.ps());
    let left = record.samples().checked_sub(after).filter(|left| *left > 0)?;
    let time = record.time() - Time::from_ps(after.saturating_mul(interval.ps()));
    Some(record.at(time, left))
}

#[cfg(test)]
mod tests {
    use incast_units::Bytes;

    use super::*;
    use crate::record::FlowSample;

    fn sample(time: u64, acked: u64, samples: u64) -> FlowSample {
        FlowSample { samples, ..FlowSample::of_progress(Time::from_ps(time), 0, Bytes::new(acked)) }
    }

    #[test]
    fn a_run_that_ends_within_a_stretch_keeps_its_samples_up_to_the_end() {
        // The record stands for the samples at 65, 75, 85 and 95 ps.
        let ends = |end| until(sample(95, 2, 4), Time::from_ps(end), Time::from_ps(10));
        assert_eq!(ends(64), None);
        assert_eq!(ends(65), Some(sample(65, 2, 1)));
        assert_eq!(ends(84), Some(sample(75, 2, 2)));
        assert_eq!(ends(85), Some(sample(85, 2, 3)));
        assert_eq!(ends(95), Some(sample(95, 2, 4)));
        assert_eq!(ends(99), Some(sample(95, 2, 4)));
    }
}
