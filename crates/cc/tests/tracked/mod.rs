//! The smallest round-trip time, for twins: from a list of all spans.

use incast_units::Time;

/// Spans of at least 12 base RTTs, each with its start and the smallest RTT in it.
pub(crate) struct Tracked {
    base: Time,
    spans: Vec<(Time, Time)>,
}

impl Tracked {
    pub(crate) fn new(base: Time) -> Self {
        Self { base, spans: vec![(Time::ZERO, base)] }
    }

    pub(crate) fn see(&mut self, now: Time, rtt: Time, forget: bool) {
        let start = self.spans.last().unwrap().0;
        if forget && now >= start + self.base.times(24) {
            self.spans.push((start, self.base));
        }
        if forget && now >= start + self.base.times(12) {
            self.spans.push((now, self.base));
        }
        if rtt > Time::ZERO {
            let least = &mut self.spans.last_mut().unwrap().1;
            *least = (*least).min(rtt.max(self.base.times_ratio(1, 8)));
        }
    }

    pub(crate) fn get(&self) -> Time {
        self.spans.iter().rev().take(2).map(|span| span.1).min().unwrap()
    }
}
