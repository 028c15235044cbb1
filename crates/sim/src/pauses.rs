//! The PFC frames that are queued at a port, of a switch or of a host that takes packets slowly.
//!
//! At most one frame per queue is queued. A queued pause and a queued resume of the same queue cancel each other:
//! the far end is already in the state that the second one would cause. So a frame waits at most for the packet
//! that is being sent and for one frame of each other queue, which the headroom assumes
//! ([`incast_net::describe::switch::Pfc::headroom_for`]).

use incast_engine::event::Effects;
use incast_net::describe::network::PortId;
use incast_net::packet::{Kind, NO_INT, PFC_FRAME, Packet};
use incast_net::queue_set::QueueSet;

use crate::port::Port;

/// The frames of one port, in FIFO order.
#[derive(Debug, Default)]
pub(crate) struct PauseFrames {
    /// Queues with a queued frame.
    waiting: Vec<u8>,
    /// Queues whose far end is paused once all frames have been sent.
    paused: QueueSet,
    /// Since when, for each of those. (ps)
    since: Vec<(u8, u64)>,
}

impl PauseFrames {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether none waits and the far end is not paused.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.paused.is_empty()
    }

    /// The far end must pause or resume `queue`; for each queue these alternate.
    pub(crate) fn ask(&mut self, now: u64, queue: u8, pause: bool) {
        if pause {
            self.paused.insert(queue);
            self.since.push((queue, now));
        } else {
            self.paused.remove(queue);
            self.since.retain(|(q, _)| *q != queue);
        }
        match self.waiting.iter().position(|q| *q == queue) {
            Some(opposite) => drop(self.waiting.remove(opposite)),
            None => self.waiting.push(queue),
        }
    }

    /// The link has returned, whose far end has forgotten all pauses: every pause that is asked for is sent again, and
    /// nothing else.
    pub(crate) fn renew(&mut self) {
        self.waiting.clear();
        self.waiting.extend(self.since.iter().map(|(queue, _)| queue));
    }

    /// Queues whose far end must be paused, each with the time since when. (ps)
    pub(crate) fn asked(&self) -> impl Iterator<Item = (u8, u64)> {
        self.since.iter().copied()
    }

    /// Begins to send the first frame on an idle port.
    pub(crate) fn send(&mut self, now: u64, index: PortId, wire: &mut Port, effects: &mut impl Effects) {
        let Some((queue, pause)) = self.next() else { return };
        let kind = if pause { Kind::Pause } else { Kind::Resume };
        let mut frame = Packet { size: PFC_FRAME, queue, ingress: u16::from(queue), ..Packet::blank(kind) };
        wire.pauses_sent += u64::from(pause);
        wire.send(now, index, &mut frame, &NO_INT, effects);
    }

    /// Takes the first frame: its queue, and whether it is a pause.
    fn next(&mut self) -> Option<(u8, bool)> {
        let queue = *self.waiting.first()?;
        self.waiting.remove(0);
        Some((queue, self.paused.contains(queue)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_frames_cancel_and_the_rest_keep_their_order() {
        let mut frames = PauseFrames::default();
        frames.ask(0, 3, true);
        frames.ask(0, 1, true);
        frames.ask(0, 2, true);
        // The pause of 1 has not been sent: nothing needs to be.
        frames.ask(0, 1, false);
        assert_eq!(frames.next(), Some((3, true)));
        // A resume that waits and a pause after it: the far end stays paused.
        frames.ask(0, 3, false);
        frames.ask(0, 3, true);
        // Asked again, it stands behind those that came before.
        frames.ask(0, 1, true);
        frames.ask(0, 3, false);
        assert_eq!(
            [(); 4].map(|()| frames.next()),
            [Some((2, true)), Some((1, true)), Some((3, false)), None]
        );
        assert!(frames.is_empty());
    }
}
