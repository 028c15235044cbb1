//! A network card: the sending side of one port of a host, and its order of service.
//!
//! Acknowledgements and other replies are sent first, by queue. Data is served round robin: a source of data
//! that becomes ready is appended to the list of ready sources, and one whose packet is being sent is
//! appended when the last bit has left, behind those that became ready before that. A queue that the switch
//! has paused keeps its position and costs nothing.
//!
//! A host that takes packets slowly pauses the switch, by frames that are sent before everything else.
//!
//! With backpressure flow control the switch pauses single sources. They keep their positions too, and replies are
//! never paused.

use std::collections::VecDeque;

use incast_engine::event::Effects;
use incast_net::describe::network::{Out, PortId};
use incast_net::describe::switch::MAX_QUEUES;
use incast_net::packet::{IntRecords, Kind, Packet, flag};
use incast_net::pause_map::PauseMap;

use crate::packet_queue::PacketQueue;
use crate::pauses::PauseFrames;
use crate::port::Port;
use crate::relative::State;

/// Something that has data to send, usually a flow, by a number that its transport defines.
pub(crate) type Source = u32;

/// No source.
const NONE: Source = Source::MAX;

/// With backpressure flow control: a queue that no packet is in, paused while any source is.
const ANY_SOURCE: u8 = MAX_QUEUES as u8 - 1;

/// The time for which each queue, or with backpressure flow control each number of the map, was paused.
#[derive(Debug, Default)]
struct PauseTimes(Vec<Paused>);

#[derive(Clone, Copy, Debug, Default)]
struct Paused {
    /// In pauses that are over. (ps)
    total: u64,
    /// Beginning of the one that is not. (ps)
    since: Option<u64>,
}

impl PauseTimes {
    /// The one with this number is paused or resumed; a pause of what is paused changes nothing.
    fn note(&mut self, now: u64, number: u16, pause: bool) {
        let number = usize::from(number);
        if self.0.len() <= number {
            self.0.resize(number + 1, Paused::default());
        }
        let paused = &mut self.0[number];
        if pause {
            paused.since.get_or_insert(now);
        } else if let Some(since) = paused.since.take() {
            paused.total += now - since;
        }
    }

    /// Returns for how long the one with this number was paused up to `now`. (ps)
    #[inline(never)]
    fn until(&self, now: u64, number: u16) -> u64 {
        let paused = self.0.get(usize::from(number)).copied().unwrap_or_default();
        paused.total + paused.since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// One port of a host.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) wire: Port,
    index: PortId,
    /// Queued replies, by queue.
    replies: Vec<PacketQueue>,
    pub(crate) replies_length: u64,
    /// The ready source, if there is one only: it waits in no line. [`NONE`] while several wait in lines.
    only: Source,
    /// The queue of its packets.
    only_queue: u8,
    /// Ready sources, by queue, with the order in which they became ready.
    ready: Vec<VecDeque<(u64, Source)>>,
    /// Number of ready sources.
    ready_count: u64,
    /// Counts sources as they become ready.
    turn: u64,
    /// The source of the packet sent last.
    leaving: Source,
    /// With backpressure flow control: the paused sources, by the number that a map has for them.
    paused_sources: Option<Box<PauseMap>>,
    /// The paused times of queues or sources; nothing before the first pause.
    pause_times: Option<Box<PauseTimes>>,
    /// PFC frames of a host that takes packets slowly, which wait for the wire; nothing before the first.
    frames: Option<Box<PauseFrames>>,
}

impl Nic {
    pub(crate) fn new(index: PortId, out: &Out, queues: u8, backpressure: bool) -> Self {
        Self {
            wire: Port::new(out),
            index,
            replies: (0..queues).map(|_| PacketQueue::default()).collect(),
            replies_length: 0,
            only: NONE,
            only_queue: 0,
            ready: (0..queues).map(|_| VecDeque::new()).collect(),
            ready_count: 0,
            turn: 0,
            leaving: NONE,
            paused_sources: backpressure.then(Box::default),
            pause_times: None,
            frames: None,
        }
    }

    /// Passes on what counts of it while nothing waits and no packet is on its way.
    pub(crate) fn relate(&self, state: &mut State) {
        let Self {
            wire,
            index: _,
            replies: _,
            replies_length,
            only: _,
            only_queue: _,
            ready: _,
            ready_count,
            // Only the order of sources that are ready counts.
            turn: _,
            // It counts while the port is busy.
            leaving: _,
            paused_sources,
            // Only differences count.
            pause_times: _,
            frames,
        } = self;
        wire.relate(state);
        // They wait for a link that has failed.
        state.unless(*replies_length > 0, "replies");
        state.word("ready sources", *ready_count);
        state.unless(paused_sources.is_some(), "backpressure flow control");
        state.unless(frames.as_ref().is_some_and(|frames| !frames.is_quiet()), "a pause");
    }

    /// A source whose packets go into `queue` may send.
    #[inline]
    pub(crate) fn push(&mut self, queue: u8, source: Source) {
        if self.ready_count == 0 {
            (self.only, self.ready_count) = (source, 1);
            self.only_queue = queue.min(self.ready.len() as u8 - 1);
        } else {
            self.push_behind(queue, source);
        }
    }

    /// A source is ready behind others.
    #[inline(never)]
    fn push_behind(&mut self, queue: u8, source: Source) {
        if self.only != NONE {
            self.line_up(self.only_queue, self.only);
            self.only = NONE;
        }
        self.line_up(queue, source);
        self.ready_count += 1;
    }

    /// Puts a source at the end of the line of its queue.
    fn line_up(&mut self, queue: u8, source: Source) {
        let queue = usize::from(queue).min(self.ready.len() - 1);
        self.ready[queue].push_back((self.turn, source));
        self.turn += 1;
    }

    /// Removes a source before it is served.
    pub(crate) fn remove(&mut self, queue: u8, source: Source) {
        if self.only == source {
            (self.only, self.ready_count) = (NONE, 0);
            return;
        }
        let queue = usize::from(queue).min(self.ready.len() - 1);
        let before = self.ready[queue].len();
        self.ready[queue].retain(|(_, s)| *s != source);
        self.ready_count -= (before - self.ready[queue].len()) as u64;
    }

    /// Takes the next source among the queues that are not paused.
    #[inline(always)]
    pub(crate) fn next_source(&mut self) -> Option<Source> {
        if self.ready_count == 0 {
            return None;
        }
        if self.only == NONE {
            return self.next_in_line();
        }
        if self.is_paused(self.only_queue, self.only) {
            return None;
        }
        self.ready_count = 0;
        Some(std::mem::replace(&mut self.only, NONE))
    }

    /// Takes the next source in the lines of the queues that are not paused.
    #[inline(never)]
    fn next_in_line(&mut self) -> Option<Source> {
        if let Some(paused) = &self.paused_sources {
            let line = &mut self.ready[0];
            let place = line.iter().position(|(_, source)| !paused.contains(PauseMap::number(*source)))?;
            self.ready_count -= 1;
            return line.remove(place).map(|(_, source)| source);
        }
        if let [line] = &mut self.ready[..] {
            if self.wire.is_paused(0) {
                return None;
            }
            self.ready_count -= 1;
            return line.pop_front().map(|(_, source)| source);
        }
        let mut first: Option<(u64, usize)> = None;
        for (queue, line) in self.ready.iter().enumerate() {
            if let Some(&(turn, _)) = line.front()
                && first.is_none_or(|(earliest, _)| turn < earliest)
                && !self.wire.is_paused(queue as u8)
            {
                first = Some((turn, queue));
            }
        }
        let (_, source) = self.ready[first?.1].pop_front()?;
        self.ready_count -= 1;
        Some(source)
    }

    /// Sends a reply at once if the port is idle, or queues it.
    #[inline(always)]
    pub(crate) fn reply(
        &mut self,
        now: u64,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        let length = self.replies_length + u64::from(packet.size);
        self.wire.peak = self.wire.peak.max(length);
        let queue = usize::from(packet.queue).min(self.replies.len() - 1);
        let is_first = self.replies_length == 0 && !self.has_frames();
        if is_first && !self.wire.is_busy(now) && !self.wire.is_paused(queue as u8) {
            self.send(now, NONE, packet, int, effects);
            return;
        }
        self.replies_length = length;
        self.queue_reply(queue, packet, int);
    }

    /// Puts a reply at the end of the replies of its queue.
    #[inline(never)]
    fn queue_reply(&mut self, queue: usize, packet: &Packet, int: &IntRecords) {
        self.replies[queue].push(*packet, packet.is(flag::INT).then_some(int));
    }

    /// Whether a reply is queued.
    #[inline]
    pub(crate) fn has_replies(&self) -> bool {
        self.replies_length > 0
    }

    /// Begins to send the next reply on the idle port. Returns whether there was one in a queue that is not paused.
    #[inline(never)]
    pub(crate) fn send_reply(&mut self, now: u64, effects: &mut impl Effects) -> bool {
        let mut int = IntRecords::default();
        for queue in 0..self.replies.len() {
            if !self.wire.is_paused(queue as u8)
                && let Some(mut packet) = self.replies[queue].pop(&mut int)
            {
                self.replies_length -= u64::from(packet.size);
                self.send(now, NONE, &mut packet, &int, effects);
                return true;
            }
        }
        false
    }

    /// Begins to send a packet of `source` ([`NONE`]: a reply) on the idle port. Returns the time at which
    /// its last bit will have left.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        now: u64,
        source: Source,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> u64 {
        self.leaving = source;
        packet.ingress = source as u16;
        self.wire.send(now, self.index, packet, int, effects)
    }

    /// Whether anything waits for the port.
    #[inline(always)]
    pub(crate) fn has_waiting(&self) -> bool {
        self.replies_length | self.ready_count != 0 || self.has_frames()
    }

    /// Whether a source whose packets go into `queue`, were it ready now, would be served at once: the port is idle, and
    /// nothing waits for it.
    #[inline(always)]
    pub(crate) fn is_free_for(&self, now: u64, queue: u8, source: Source) -> bool {
        let queue = queue.min(self.ready.len() as u8 - 1);
        !self.has_waiting() && !self.wire.is_busy(now) && !self.is_paused(queue, source)
    }

    /// Whether a PFC frame waits.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        self.frames.as_ref().is_some_and(|frames| !frames.is_empty())
    }

    /// The far end must pause or resume `queue`: a frame waits for the port.
    pub(crate) fn ask(&mut self, now: u64, queue: u8, pause: bool) {
        self.frames.get_or_insert_default().ask(now, queue, pause);
    }

    /// The link has returned, whose far end has forgotten all pauses.
    pub(crate) fn renew_pauses(&mut self) {
        if let Some(frames) = &mut self.frames {
            frames.renew();
        }
    }

    /// Begins to send the first PFC frame on the idle port.
    pub(crate) fn send_frame(&mut self, now: u64, effects: &mut impl Effects) {
        self.leaving = NONE;
        if let Some(frames) = &mut self.frames {
            frames.send(now, self.index, &mut self.wire, effects);
        }
    }

    /// Whether a packet of this source is being sent.
    #[inline]
    pub(crate) fn is_leaving(&self, now: u64, source: Source) -> bool {
        self.leaving == source && self.wire.is_busy(now)
    }

    /// A frame that pauses or resumes has arrived.
    pub(crate) fn on_pause(
        &mut self,
        now: u64,
        frame: &Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        let Some(paused) = &mut self.paused_sources else {
            let pause = frame.kind == Kind::Pause;
            self.pause_times.get_or_insert_default().note(now, u16::from(frame.queue), pause);
            return self.wire.set_paused(now, self.index, frame.queue, pause, effects);
        };
        let mut after = **paused;
        match frame.kind {
            Kind::PauseMap => after = PauseMap::of(frame, int),
            kind => after.set(frame.ingress, kind == Kind::Pause),
        }
        self.pause_sources(now, after, effects);
    }

    /// From now on these sources are paused.
    fn pause_sources(&mut self, now: u64, after: PauseMap, effects: &mut impl Effects) {
        let Some(paused) = &mut self.paused_sources else { return };
        let before = std::mem::replace(&mut **paused, after);
        for number in after.changes(&before) {
            self.pause_times.get_or_insert_default().note(now, number, after.contains(number));
            self.wire.record_pause(now, self.index, number, after.contains(number), effects);
        }
        self.wire.change_paused(now, ANY_SOURCE, !after.is_empty());
    }

    /// The link has failed: what the far end has paused is paused no longer.
    pub(crate) fn forget_pauses(&mut self, now: u64, effects: &mut impl Effects) {
        if self.paused_sources.is_some() {
            self.pause_sources(now, PauseMap::default(), effects);
        } else {
            for queue in self.wire.paused.iter() {
                self.pause_times.get_or_insert_default().note(now, u16::from(queue), false);
            }
            self.wire.forget_pauses(now, self.index, effects);
        }
    }

    /// Whether a source whose packets go into `queue` is paused.
    #[inline]
    pub(crate) fn is_paused(&self, queue: u8, source: Source) -> bool {
        let paused = self.paused_sources.as_ref();
        paused.map_or(self.wire.is_paused(queue), |paused| paused.contains(PauseMap::number(source)))
    }

    /// Returns for how long a source whose packets go into `queue` has been paused up to `now`, in all. (ps)
    #[inline(always)]
    pub(crate) fn paused_for(&self, queue: u8, source: Source, now: u64) -> u64 {
        let Some(times) = &self.pause_times else { return 0 };
        times.until(now, self.pause_number(queue, source))
    }

    /// The number under which the paused time of such a source is.
    #[inline(never)]
    fn pause_number(&self, queue: u8, source: Source) -> u16 {
        if self.paused_sources.is_some() { PauseMap::number(source) } else { u16::from(queue) }
    }

    /// Schedules an event for when the busy port becomes idle.
    #[inline]
    pub(crate) fn request_departure(&mut self, effects: &mut impl Effects) {
        self.wire.request_departure(self.index, effects);
    }

    /// The port has become idle. Returns the source whose packet has left.
    #[inline]
    pub(crate) fn departed(&mut self) -> Option<Source> {
        self.wire.departed();
        let left = std::mem::replace(&mut self.leaving, NONE);
        (left != NONE).then_some(left)
    }

    /// Number of queued replies.
    pub(crate) fn waiting_replies(&self) -> impl Iterator<Item = &Packet> {
        self.replies.iter().flat_map(PacketQueue::iter)
    }
}
