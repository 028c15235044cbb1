//! Signals of a port with backpressure flow control to the far end of its link.

use std::collections::VecDeque;

use incast_net::describe::bfc::Signal;
use incast_net::packet::{IntRecords, Kind, PFC_FRAME, Packet};
use incast_net::pause_map::{MAP_BITS, PauseMap};

/// The queues of the far end that are to be paused, and the frames that wait for the wire.
#[derive(Debug)]
pub(super) struct Signals {
    /// Packets here, by the queue that they had at the far end, that found too much in their queue here.
    counts: Box<[u32]>,
    /// The queues of which there are any.
    paused: PauseMap,
    /// Since when each of those is to be paused. (ps)
    since: Box<[u64]>,
    waiting: Waiting,
}

/// The frames that wait.
#[derive(Debug)]
enum Waiting {
    /// A map, if `due`; the next one is sent at a time that is scheduled, if `scheduled`.
    Map { due: bool, scheduled: bool },
    /// One for each of these queues, first in, first out.
    AtOnce(VecDeque<u16>),
}

/// Request that a change of the paused queues leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Nothing,
    /// A frame waits.
    Serve,
    /// The next regular map is to be scheduled.
    Schedule,
}

impl Signals {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            counts: vec![0; usize::from(MAP_BITS)].into(),
            paused: PauseMap::default(),
            since: vec![0; usize::from(MAP_BITS)].into(),
            waiting: match signal {
                Signal::Map => Waiting::Map { due: false, scheduled: false },
                Signal::AtOnce => Waiting::AtOnce(VecDeque::new()),
            },
        }
    }

    /// A packet from this queue of the far end has found too much in its queue here.
    pub(super) fn raise(&mut self, now: u64, number: u16) -> Request {
        let count = &mut self.counts[usize::from(number)];
        *count += 1;
        if *count > 1 {
            return Request::Nothing;
        }
        self.paused.set(number, true);
        self.since[usize::from(number)] = now;
        match &mut self.waiting {
            Waiting::Map { scheduled: true, .. } => Request::Nothing,
            Waiting::Map { scheduled, .. } => {
                *scheduled = true;
                Request::Schedule
            }
            Waiting::AtOnce(frames) => queue_or_cancel(frames, number),
        }
    }

    /// One of those packets leaves.
    pub(super) fn lower(&mut self, number: u16) -> Request {
        let count = &mut self.counts[usize::from(number)];
        *count -= 1;
        if *count > 0 {
            return Request::Nothing;
        }
        self.paused.set(number, false);
        match &mut self.waiting {
            Waiting::Map { due, .. } => {
                *due = true;
                Request::Serve
            }
            Waiting::AtOnce(frames) => queue_or_cancel(frames, number),
        }
    }

    /// The link has failed: nothing at its far end is to be paused any longer, and no frame waits.
    pub(super) fn forget(&mut self) {
        self.counts.fill(0);
        self.paused = PauseMap::default();
        match &mut self.waiting {
            Waiting::Map { due, .. } => *due = false,
            Waiting::AtOnce(frames) => frames.clear(),
        }
    }

    /// The time of a regular map has come. Returns whether there is one, and so another after it.
    pub(super) fn tick(&mut self) -> bool {
        let any = !self.paused.is_empty();
        if let Waiting::Map { due, scheduled } = &mut self.waiting {
            *due |= any;
            *scheduled = any;
        }
        any
    }

    pub(super) fn is_waiting(&self) -> bool {
        match &self.waiting {
            Waiting::Map { due, .. } => *due,
            Waiting::AtOnce(frames) => !frames.is_empty(),
        }
    }

    /// Takes the first frame that waits.
    pub(super) fn next(&mut self, int: &mut IntRecords) -> Option<Packet> {
        match &mut self.waiting {
            Waiting::Map { due, .. } => std::mem::take(due).then(|| self.paused.frame(int)),
            Waiting::AtOnce(frames) => {
                let number = frames.pop_front()?;
                let kind = if self.paused.contains(number) { Kind::Pause } else { Kind::Resume };
                Some(Packet { size: PFC_FRAME, ingress: number, ..Packet::blank(kind) })
            }
        }
    }

    /// Whether a queue of the far end was to be paused before that time, and is since then.
    pub(super) fn paused_before(&self, number: u16, time: u64) -> bool {
        self.counts[usize::from(number)] > 0 && self.since[usize::from(number)] < time
    }

    /// Packets that hold a queue of the far end paused.
    pub(super) fn holding(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }
}

/// The far end must pause or resume a queue; for each queue these alternate, so that two that wait cancel each
/// other.
fn queue_or_cancel(frames: &mut VecDeque<u16>, number: u16) -> Request {
    match frames.iter().position(|waiting| *waiting == number) {
        Some(opposite) => {
            frames.remove(opposite);
            Request::Nothing
        }
        None => {
            frames.push_back(number);
            Request::Serve
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::packet::NO_INT;

    #[test]
    fn the_first_packet_pauses_and_the_last_one_resumes() {
        let mut signals = Signals::new(Signal::AtOnce);
        let next = |signals: &mut Signals| {
            signals.next(&mut NO_INT.clone()).map(|frame| (frame.kind, frame.ingress, frame.size))
        };
        assert_eq!(signals.raise(0, 900), Request::Serve);
        assert_eq!(signals.raise(0, 900), Request::Nothing);
        assert_eq!(next(&mut signals), Some((Kind::Pause, 900, 64)));
        assert_eq!(signals.lower(900), Request::Nothing);
        assert_eq!(signals.lower(900), Request::Serve);
        assert_eq!(signals.raise(0, 3), Request::Serve);
        // The resume of 900 has not been sent: nothing needs to be.
        assert_eq!(signals.raise(0, 900), Request::Nothing);
        assert_eq!(next(&mut signals), Some((Kind::Pause, 3, 64)));
        assert_eq!((next(&mut signals), signals.is_waiting(), signals.holding()), (None, false, 2));
    }

    #[test]
    fn maps_are_sent_regularly_while_something_is_paused_and_at_each_resume() {
        let mut signals = Signals::new(Signal::Map);
        let mut records = NO_INT;
        let mut next =
            |signals: &mut Signals| signals.next(&mut records).map(|frame| PauseMap::of(&frame, &records));
        let map = |numbers: &[u16]| {
            let mut map = PauseMap::default();
            numbers.iter().for_each(|number| map.set(*number, true));
            map
        };
        assert_eq!(signals.raise(0, 5), Request::Schedule);
        assert_eq!((signals.raise(0, 6), signals.is_waiting()), (Request::Nothing, false));
        assert!(signals.tick() && signals.is_waiting());
        assert_eq!((next(&mut signals), signals.is_waiting()), (Some(map(&[5, 6])), false));
        // A map says what holds when it is sent, and there is one for several changes.
        assert_eq!(signals.lower(5), Request::Serve);
        assert_eq!(signals.raise(0, 700), Request::Nothing);
        assert_eq!(signals.lower(6), Request::Serve);
        assert_eq!((next(&mut signals), next(&mut signals)), (Some(map(&[700])), None));
        assert_eq!(signals.lower(700), Request::Serve);
        assert_eq!(next(&mut signals), Some(map(&[])));
        // Nothing is paused at the next time, which is the last one, until something is paused again.
        assert!(!signals.tick() && !signals.is_waiting());
        assert_eq!(signals.raise(0, 1), Request::Schedule);
    }

    #[test]
    fn a_link_that_fails_takes_its_pauses_and_frames_with_it() {
        for signal in [Signal::Map, Signal::AtOnce] {
            let mut signals = Signals::new(signal);
            signals.raise(0, 5);
            signals.raise(0, 5);
            signals.raise(0, 6);
            signals.lower(6);
            signals.forget();
            assert_eq!((signals.is_waiting(), signals.holding()), (false, 0), "{signal:?}");
            // The next packet pauses as the first one did; a map that was scheduled comes in any case.
            let expected = if signal == Signal::Map { Request::Nothing } else { Request::Serve };
            assert_eq!(signals.raise(7, 5), expected);
            assert!(signals.paused_before(5, 8) && !signals.paused_before(5, 7));
        }
    }
}
