//! Numbers of open flows by limit, summed over the hosts.

use std::collections::BTreeMap;

use incast_sim::record::{Limit, LimitSample};
use incast_units::Time;

use crate::results::tables::limit_series::Count;

/// The sums of one instant; samples come by time.
#[derive(Debug, Default)]
pub(super) struct Counts {
    time: Time,
    flows: BTreeMap<(u16, u8), u64>,
}

impl Counts {
    /// Adds samples. Returns the sums of the instants before the last of them.
    pub(super) fn add(&mut self, samples: &[LimitSample]) -> Vec<Count> {
        let mut sums = Vec::new();
        for sample in samples {
            if sample.time != self.time {
                sums.append(&mut self.take());
                self.time = sample.time;
            }
            *self.flows.entry((sample.group, sample.limit as u8)).or_default() += u64::from(sample.flows);
        }
        sums
    }

    /// Takes the sums of the last instant.
    pub(super) fn take(&mut self) -> Vec<Count> {
        let time = self.time;
        let sums = std::mem::take(&mut self.flows).into_iter();
        sums.map(|((group, limit), flows)| Count {
            time,
            group,
            limit: Limit::ALL[usize::from(limit)],
            flows,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_all_hosts_are_summed() {
        let sample = |time, node, group, limit, flows| LimitSample {
            time: Time::from_us(time),
            node,
            group,
            limit,
            flows,
        };
        let of = |time, group, limit, flows| Count { time: Time::from_us(time), group, limit, flows };
        let mut counts = Counts::default();
        assert_eq!(counts.add(&[sample(1, 0, 0, Limit::Window, 2), sample(1, 0, 1, Limit::Card, 1)]), []);
        // The rest of an instant can come later.
        let sums = counts.add(&[sample(1, 3, 0, Limit::Window, 5), sample(2, 0, 0, Limit::Sending, 1)]);
        assert_eq!(sums, [of(1, 0, Limit::Window, 7), of(1, 1, Limit::Card, 1)]);
        assert_eq!(counts.take(), [of(2, 0, Limit::Sending, 1)]);
        assert_eq!(counts.take(), []);
    }
}
