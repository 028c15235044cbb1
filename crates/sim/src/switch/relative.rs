//! The state of a switch relative to an instant at which no packet is in it.

use super::telemetry::units;
use super::{Egress, Fields, Switch};
use crate::relative::State;

impl Switch {
    /// Passes on what counts of it.
    pub(super) fn related(&self, state: &mut State) {
        let Self {
            // It changes with the network, and no network changes between two states that are compared.
            table: _,
            path: _,
            hops,
            ports,
            buffer,
            trimming,
            queues: _,
            ecn: _,
            fields: Fields { marks: _, telemetry, stream: _ },
            draws_again: _,
            int: _,
            failures: _,
            is_plain: _,
            departs_late: _,
            departing,
            // It counts for nothing but the end of a run that has stalled.
            last_departure: _,
        } = self;
        let units = units(*telemetry);
        for (port, egress) in ports.iter().enumerate() {
            state.part(|node| format!("port {port} of {node}"));
            egress.related(state);
            // Records are in whole units.
            state.word("transmitted bytes beyond a unit of telemetry", egress.wire.transmitted % units[1]);
        }
        state.word("time beyond a unit of telemetry", state.now % units[0]);
        state.part(str::to_owned);
        hops.relate(state);
        state.word("departing ports", departing.len() as u64);
        state.unless(!buffer.is_empty(), "the use of the buffer");
        state.unless(trimming.is_some(), "the draws about trimming");
        state.unless(self.draws(), "the draws about packets");
    }

    /// Whether it has drawn about packets, or may have, what does not come again.
    pub(super) fn draws(&self) -> bool {
        self.hops.has_drawn() || !self.draws_again && self.ports.iter().any(Egress::may_have_drawn)
    }
}

impl Egress {
    fn related(&self, state: &mut State) {
        let Self { wire, queues, scheduler, frames, marking: _, rate, has_failed } = self;
        wire.relate(state);
        // They wait for a link that has failed.
        state.unless(queues.length() > 0, "packets in queues");
        // Of it no number is a time.
        state.text("scheduler", scheduler);
        state.word("index of the rate", *rate);
        state.word("has failed", *has_failed);
        state.unless(frames.as_ref().is_some_and(|frames| !frames.is_quiet()), "a pause");
    }

    /// Whether a queue was ever as long as one for which marks are drawn.
    fn may_have_drawn(&self) -> bool {
        let draws = |marking: &super::Marking| {
            let (kmin, kmax) = (marking.kmin().get(), marking.kmax().get());
            kmin + 1 < kmax && self.wire.peak > kmin
        };
        self.marking.as_ref().is_some_and(draws)
    }
}
