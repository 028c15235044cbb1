//! The sending side of a port, the same in switches and hosts.
//!
//! A port stores until when it is busy. Its owner is notified that it is idle again ([`rank::DEPARTED`])
//! only if it requested that with [`Port::request_departure`], which it does when something waits: a packet
//! that leaves an idle port costs no additional event.

use incast_engine::event::{Effects, Event};
use incast_net::canary::{self, Canary};
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::queue_set::QueueSet;
use incast_net::random::{draw, mix};
use incast_net::record::tally::Tally;
use incast_net::record::view::Captured;
use incast_net::record::{PauseRecord, PortSample, PortTotals};
use incast_net::routing::timeline::{LinkState, LinkTimeline};
use incast_net::rules::Corruption;
use incast_units::{Bytes, Rate, Time};

use crate::rank;
use crate::relative::State;

/// The sending side of a port: until when it is busy, which queues are paused, and its totals.
#[derive(Debug)]
pub(crate) struct Port {
    rate: Rate,
    /// Picoseconds per byte if that is a whole number by the clock, 0 if not.
    ps_per_byte: u64,
    delay: u64,
    /// The highest rate that it ever has.
    fastest: Rate,
    /// Time at which the last bit of the packet sent last has left; [`u64::MAX`] while the link is down. (ps)
    busy_until: u64,
    /// While the link is down: when the last bit of the packet sent last has left. (ps)
    down_since_busy_until: Option<u64>,
    /// Whether something waits for the link to return.
    waits_for_link: bool,
    /// Time at which the link fails next. (ps)
    fails_at: u64,
    /// If something is special: time at which the packet sent last arrives; later packets arrive no earlier, even if the delay
    /// decreases. (ps)
    last_arrival: u64,
    /// Whether a departure is requested for the instant at which the port becomes idle.
    departure_requested: bool,
    /// Whether its node sends what is due when it looks at the port or ends its visit, without an event.
    departs_late: bool,
    /// Whether the node has it in the list of ports from which something departs late.
    is_listed: bool,
    /// Queues that the far end has paused.
    pub(crate) paused: QueueSet,
    paused_since: u64,
    paused_total: u64,
    /// Bytes transmitted.
    pub(crate) transmitted: u64,
    packets: u64,
    /// Packets dropped on admission to this port's queues.
    pub(crate) drops: u64,
    /// Their bytes.
    pub(crate) dropped: u64,
    /// Packets marked.
    pub(crate) marked: u64,
    /// Packets trimmed.
    pub(crate) trimmed: u64,
    /// Pause frames sent through this port.
    pub(crate) pauses_sent: u64,
    /// Storms that a watchdog of PFC found here.
    pub(crate) storms: u64,
    /// Packets, of those dropped, that it dropped.
    pub(crate) storm_drops: u64,
    /// Packets dropped because the receive buffer of a host was full.
    pub(crate) receiver_drops: u64,
    /// Largest total length of its queues.
    pub(crate) peak: u64,
    /// Packets of any kind that the link corrupted.
    corrupted: u64,
    /// Whether a packet needs more than to be put on the link: the link changes, or the packet is captured, waits for the
    /// clock, or may be corrupted.
    is_special: bool,
    /// The bit errors of the link, if it has any.
    errors: Option<Box<Corruption>>,
    /// Its node, if its packets are captured.
    captured: Option<NodeId>,
    /// The clock of its node, if that is one of its own.
    clock: Option<Box<OwnClock>>,
    /// Its node, if its pauses are recorded.
    pub(crate) pauses_recorded: Option<NodeId>,
}

/// The clock of a node, at one of its ports.
#[derive(Debug)]
struct OwnClock {
    /// Its error: this many billionths slower than the nominal clock.
    slow_ppb: u64,
    /// Stream of the waits for its cycles at this port.
    stream: u64,
}

impl OwnClock {
    /// Largest error: twice 100 ppm, the tolerance of Ethernet (IEEE 802.3). No clock is faster than the nominal one, so
    /// that ideal times and other bounds hold.
    const SLOWEST_PPB: u64 = 200_000;
    /// Length of a cycle, of a clock of 1 GHz. (ps)
    const CYCLE: u64 = 1_000;

    fn new(seed: u64, node: NodeId, port: PortId) -> Self {
        let of_node = mix(mix(seed) ^ mix(0x63_6c6f_636b ^ u64::from(node) << 40));
        Self { slow_ppb: of_node % (Self::SLOWEST_PPB + 1), stream: mix(of_node ^ u64::from(port)) }
    }

    /// Returns how long that takes by this clock which takes so long by the nominal one. (ps)
    fn stretch(&self, time: u64) -> u64 {
        let more = u128::from(time) * u128::from(self.slow_ppb) / 1_000_000_000;
        time.saturating_add(more as u64)
    }

    /// Returns how long packet number `packet` of the port waits for the next cycle. (ps)
    fn wait(&self, packet: u64) -> u64 {
        draw(self.stream, packet) % Self::CYCLE
    }
}

impl Port {
    pub(crate) fn new(out: &Out) -> Self {
        Self {
            rate: out.rate,
            ps_per_byte: out.rate.whole_ps_per_byte().unwrap_or(0),
            delay: out.delay.ps(),
            fastest: out.rate,
            busy_until: 0,
            down_since_busy_until: None,
            waits_for_link: false,
            fails_at: u64::MAX,
            last_arrival: 0,
            departure_requested: false,
            departs_late: false,
            is_listed: false,
            paused: QueueSet::default(),
            paused_since: 0,
            paused_total: 0,
            transmitted: 0,
            packets: 0,
            drops: 0,
            dropped: 0,
            marked: 0,
            trimmed: 0,
            pauses_sent: 0,
            storms: 0,
            storm_drops: 0,
            receiver_drops: 0,
            peak: 0,
            corrupted: 0,
            is_special: false,
            errors: None,
            captured: None,
            clock: None,
            pauses_recorded: None,
        }
    }

    /// Passes on what counts of it while no packet is on its way. See [`relative`](crate::relative).
    pub(crate) fn relate(&self, state: &mut State) {
        let Self {
            rate,
            ps_per_byte: _,
            delay: _,
            fastest: _,
            busy_until,
            down_since_busy_until,
            waits_for_link,
            // It comes from outside: no copy lasts until then.
            fails_at: _,
            last_arrival,
            departure_requested,
            departs_late: _,
            is_listed,
            paused,
            // Results from here on; telemetry shows bytes, of which the algorithms that read it keep a copy.
            paused_since: _,
            paused_total: _,
            transmitted: _,
            packets: _,
            drops: _,
            dropped: _,
            marked: _,
            trimmed: _,
            pauses_sent: _,
            storms: _,
            storm_drops: _,
            receiver_drops: _,
            peak: _,
            corrupted: _,
            is_special: _,
            errors,
            captured,
            clock,
            pauses_recorded,
        } = self;
        state.word("rate", rate.bps());
        state.ahead("end of a packet", *busy_until);
        state.ahead("last arrival", *last_arrival);
        state.word("departure requested", *departure_requested);
        state.word("listed", *is_listed);
        state.word("waits for its link", *waits_for_link);
        state.word("has no link", down_since_busy_until.is_some());
        state.ahead("end of the last packet before its link failed", down_since_busy_until.unwrap_or(0));
        state.unless(!paused.is_empty(), "a pause");
        state.unless(errors.is_some(), "the draws about bit errors");
        state.unless(clock.is_some(), "the waits for cycles of the clock, which are drawn for each packet,");
        state.unless(captured.is_some() || pauses_recorded.is_some(), "the capture");
    }

    /// Serialization delay of `size` bytes at this port. (ps)
    #[inline(always)]
    pub(crate) fn time_for(&self, size: u64) -> u64 {
        if self.ps_per_byte != 0 {
            size * self.ps_per_byte
        } else {
            let exact = self.rate.time_for(Bytes::new(size)).ps();
            self.clock.as_ref().map_or(exact, |clock| clock.stretch(exact))
        }
    }

    /// Sets the rate of the link.
    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        let whole = if self.clock.is_none() { rate.whole_ps_per_byte() } else { None };
        self.ps_per_byte = whole.unwrap_or(0);
    }

    /// Captures its packets. It belongs to this node.
    pub(crate) fn capture(&mut self, node: NodeId) {
        self.captured = Some(node);
        self.is_special = true;
    }

    /// Gives it the clock that this node has under this seed.
    pub(crate) fn follow_own_clock(&mut self, seed: u64, node: NodeId, port: PortId) {
        self.clock = Some(Box::new(OwnClock::new(seed, node, port)));
        self.is_special = true;
        self.set_rate(self.rate);
    }

    /// Gives the link these bit errors.
    pub(crate) fn corrupt(&mut self, errors: Corruption) {
        self.errors = Some(Box::new(errors));
        self.is_special = true;
    }

    /// The rate of the link.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// The delay of the link.
    pub(crate) fn delay(&self) -> Time {
        Time::from_ps(self.delay)
    }

    /// Whether a packet is being sent.
    ///
    /// At the instant at which the transmission ends the port still counts as busy if a departure is
    /// requested: what waits is served then, before all other events of that instant.
    #[inline]
    pub(crate) fn is_busy(&self, now: u64) -> bool {
        now < self.busy_until || self.departure_requested
    }

    /// Something waits for the busy port: schedules a [`rank::DEPARTED`] for when it becomes idle, once.
    #[inline]
    pub(crate) fn request_departure(&mut self, index: PortId, effects: &mut impl Effects) {
        if self.down_since_busy_until.is_some() {
            self.waits_for_link = true;
        } else if !self.departure_requested {
            self.departure_requested = true;
            effects.schedule(Event::new(self.busy_until, rank::DEPARTED, u32::from(index)));
        }
    }

    /// Something waits for the busy port, which departs late: notes it without an event. From the instant on at which the
    /// port becomes idle, [`Self::is_due`] holds. Returns whether the node has to take the port into its list of ports
    /// from which something departs late.
    #[inline]
    pub(crate) fn request_late_departure(&mut self) -> bool {
        self.departure_requested = true;
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// Whether its departures are no events.
    #[inline]
    pub(crate) fn departs_late(&self) -> bool {
        self.departs_late
    }

    /// The requested departure has come: the port is idle.
    #[inline]
    pub(crate) fn departed(&mut self) {
        self.departure_requested = false;
    }

    /// Departures are no events from now on. Only for a port that neither samples nor changes look at, and whose
    /// departures concern no other port.
    pub(crate) fn depart_late(&mut self) {
        self.departs_late = true;
    }

    /// Whether a requested departure is due by `now`.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.departure_requested && self.busy_until <= now
    }

    /// The time of the requested departure. (ps)
    #[inline]
    pub(crate) fn departure(&self) -> Option<u64> {
        self.departure_requested.then_some(self.busy_until)
    }

    /// The node takes the port out of the list of those from which something departs late.
    pub(crate) fn leave_list(&mut self) {
        self.is_listed = false;
    }

    /// Begins to send a packet on an idle port. Returns the time at which its last bit will have left.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        now: u64,
        index: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> u64 {
        let done = now + self.time_for(u64::from(packet.size));
        debug_assert!(!self.is_busy(now), "a packet is sent through a busy port");
        self.busy_until = done;
        self.launch(now, done, index, packet, int, effects);
        done
    }

    /// Forwards a packet whose last bit has just arrived, without storing it: its last bit leaves now.
    pub(crate) fn pass(
        &mut self,
        now: u64,
        index: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        self.launch(now, now, index, packet, int, effects);
    }

    /// Puts a packet on the link, whose first bit leaves now and the last one at `done`.
    #[inline(always)]
    fn launch(
        &mut self,
        now: u64,
        done: u64,
        index: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        self.transmitted += u64::from(packet.size);
        self.packets += 1 + u64::from(canary::strikes(Canary::Counter));
        packet.time = done + self.delay;
        effects.tally().counts.hops += 1;
        if !self.is_special || self.launch_specially(now, done, index, packet, effects.tally()) {
            effects.transmit(index, packet, int);
        }
    }

    /// Does for a packet on the link what few ports do. Returns whether it arrives.
    #[inline(never)]
    fn launch_specially(
        &mut self,
        now: u64,
        done: u64,
        index: PortId,
        packet: &mut Packet,
        tally: &mut Tally,
    ) -> bool {
        let wait = self.clock.as_ref().map_or(0, |clock| clock.wait(self.packets));
        packet.time = (done + self.delay + wait).max(self.last_arrival);
        self.last_arrival = packet.time;
        let is_frame = matches!(packet.kind, Kind::Pause | Kind::Resume | Kind::PauseMap);
        let errors = self.errors.as_mut().filter(|_| !is_frame);
        // A packet that does not arrive in any case is not counted as corrupted.
        let fails = packet.time >= self.fails_at;
        let corrupts = errors.is_some_and(|errors| errors.corrupts(self.packets, packet.size)) && !fails;
        if let Some(node) = self.captured {
            let (delay, lost) = (self.delay, fails || corrupts);
            let packet = *packet;
            let captured = Captured { time: now, node, port: index, gone: done, delay, lost, packet };
            tally.records.packets.push(captured);
        }
        let is_data = u64::from(packet.kind == Kind::Data);
        if corrupts {
            self.corrupted += 1;
            tally.counts.corrupted += is_data;
        }
        // Where it fails, it does so before the last bit has arrived.
        let arrives = !fails && !corrupts;
        tally.counts.lost += if arrives { 0 } else { is_data };
        arrives
    }

    /// The link will change: prepares for its first failure.
    pub(crate) fn expect(&mut self, timeline: &LinkTimeline) {
        self.is_special = true;
        self.fails_at = timeline.next_failure(0);
        self.fastest = timeline.states().map(|(_, state)| state.rate).fold(self.fastest, Rate::max);
    }

    /// The link changes now: its rate, its delay, and whether it carries packets.
    pub(crate) fn change(&mut self, now: u64, state: &LinkState, timeline: &LinkTimeline) {
        self.set_rate(state.rate);
        self.delay = state.delay.ps();
        if state.up {
            self.fails_at = timeline.next_failure(now);
        }
    }

    /// The node notices that the link has failed or returned. Packets that wait for its return are served then.
    pub(crate) fn notice(&mut self, now: u64, index: PortId, up: bool, effects: &mut impl Effects) {
        match (self.down_since_busy_until, up) {
            (None, false) => {
                self.down_since_busy_until = Some(std::mem::replace(&mut self.busy_until, u64::MAX));
            }
            (Some(busy_until), true) => {
                self.down_since_busy_until = None;
                self.busy_until = busy_until.max(now);
                if std::mem::take(&mut self.waits_for_link) {
                    self.request_departure(index, effects);
                }
            }
            _ => {}
        }
    }

    /// A frame that pauses or resumes a queue has arrived.
    pub(crate) fn set_paused(
        &mut self,
        now: u64,
        port: PortId,
        queue: u8,
        paused: bool,
        effects: &mut impl Effects,
    ) {
        self.record_pause(now, port, u16::from(queue), paused, effects);
        self.change_paused(now, queue, paused);
    }

    /// The link has failed: what the far end has paused is paused no longer.
    pub(crate) fn forget_pauses(&mut self, now: u64, port: PortId, effects: &mut impl Effects) {
        for queue in self.paused.iter() {
            self.set_paused(now, port, queue, false, effects);
        }
    }

    /// Records that something was paused or resumed, if that is recorded.
    pub(crate) fn record_pause(
        &self,
        now: u64,
        port: PortId,
        queue: u16,
        paused: bool,
        effects: &mut impl Effects,
    ) {
        if let Some(node) = self.pauses_recorded {
            let time = Time::from_ps(now);
            effects.tally().records.pauses.push(PauseRecord { time, node, port, queue, paused });
        }
    }

    /// A queue is paused or resumed.
    pub(crate) fn change_paused(&mut self, now: u64, queue: u8, paused: bool) {
        let before = self.is_paused_at_all();
        if paused {
            self.paused.insert(queue);
        } else {
            self.paused.remove(queue);
        }
        match (before, self.is_paused_at_all()) {
            (false, true) => self.paused_since = now,
            (true, false) => self.paused_total += now - self.paused_since,
            _ => {}
        }
    }

    #[inline]
    pub(crate) fn is_paused(&self, queue: u8) -> bool {
        self.paused.contains(queue)
    }

    /// Whether any queue is paused.
    #[inline]
    pub(crate) fn is_paused_at_all(&self) -> bool {
        !self.paused.is_empty()
    }

    pub(crate) fn sample(&self, time: u64, node: NodeId, port: PortId, queue: u64) -> PortSample {
        PortSample {
            time: Time::from_ps(time),
            node,
            port,
            queue: Bytes::new(queue),
            transmitted: Bytes::new(self.transmitted),
            dropped: Bytes::new(self.dropped),
            marked: self.marked,
            paused: self.is_paused_at_all(),
            samples: 1,
        }
    }

    pub(crate) fn totals(&self, now: u64, node: NodeId, port: PortId) -> PortTotals {
        let open = if self.is_paused_at_all() { now.saturating_sub(self.paused_since) } else { 0 };
        PortTotals {
            node,
            port,
            transmitted: Bytes::new(self.transmitted),
            packets: self.packets,
            drops: self.drops,
            dropped: Bytes::new(self.dropped),
            marked: self.marked,
            trimmed: self.trimmed,
            corrupted: self.corrupted,
            peak_queue: Bytes::new(self.peak),
            paused: Time::from_ps(self.paused_total + open),
            pauses_sent: self.pauses_sent,
            storms: self.storms,
            storm_drops: self.storm_drops,
            receiver_drops: self.receiver_drops,
        }
    }

    /// A violation in this port's totals at the end of a run that ended at `now`, if any: it cannot have
    /// sent more than its capacity, except for one packet that it may be sending.
    pub(crate) fn violation(&self, now: u64, largest_packet: u64) -> Option<String> {
        let bytes = self.transmitted.saturating_sub(largest_packet.max(64));
        let least = self.fastest.time_for(Bytes::new(bytes)).ps();
        (least > now).then(|| format!("sent {} by {}", Bytes::new(self.transmitted), Time::from_ps(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::record::tally::Tally;

    /// Collects the scheduled events.
    #[derive(Default)]
    struct Asked {
        events: Vec<Event>,
        tally: Tally,
    }

    impl Effects for Asked {
        const DEPARTURES_WAIT: bool = false;

        fn transmit(&mut self, _: PortId, _: &Packet, _: &IntRecords) {}
        fn schedule(&mut self, event: Event) {
            self.events.push(event);
        }
        fn tally(&mut self) -> &mut Tally {
            &mut self.tally
        }
    }

    #[test]
    fn a_departure_is_an_event_only_if_something_waits_for_it() {
        let out = Out { node: 0, port: 0, rate: Rate::from_gbps(100), delay: Time::from_us(1) };
        let mut port = Port::new(&out);
        let mut asked = Asked::default();
        let mut packet = Packet { size: 1000, ..Packet::blank(Kind::Data) };
        // 1000 B at 100 Gbps take 80 ns.
        assert_eq!(port.send(0, 3, &mut packet, &IntRecords::default(), &mut asked), 80_000);
        assert!(port.is_busy(79_999));
        assert!(!port.is_busy(80_000));
        assert!(asked.events.is_empty());
        // Two things that wait ask for one event, and until it is there the port is busy.
        port.request_departure(3, &mut asked);
        port.request_departure(3, &mut asked);
        assert_eq!(asked.events, [Event::new(80_000, rank::DEPARTED, 3)]);
        assert!(port.is_busy(80_000));
        port.departed();
        assert!(!port.is_busy(80_000));
    }
}
