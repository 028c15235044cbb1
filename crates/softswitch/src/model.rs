//! Links and switches: packets go in with a time, and come out with one.
//!
//! Store and forward, as in the simulator: a packet is admitted to the queue of its port when its last bit has
//! arrived, is sent when those before it are, takes its size over the rate for that, and arrives a delay later. A
//! packet in transmission is not in the queue any more. A switch may pause links into it; the frames for that are sent
//! before everything that waits, and never leave the model. A switch admits, pauses and marks by the rules of the
//! simulator's switches ([`incast_net::rules`]).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_net::Invalid;
use incast_net::describe::network::{Network, NodeId, NodeKind, PortId};
use incast_net::describe::switch::{MarkingPoint, Switch};
use incast_net::random::mix;
use incast_net::routing::route::Routes;
use incast_net::rules::{Admission, Buffer, Marking};
use incast_units::{Bytes, Rate, Time};

use crate::frame::{self, Record};

/// Bytes of a frame that pauses or resumes a link.
const PAUSE_FRAME: u64 = 64;
/// Number in place of a link: of a host's own packets, and where there is no way.
const NOWHERE: usize = usize::MAX;

/// One direction of a link, with the queue before it.
#[derive(Clone, Copy, Debug)]
struct Port {
    /// The node that sends, and its port. Hosts have the lowest numbers.
    near: (NodeId, PortId),
    /// The node that receives, and its port.
    far: (NodeId, PortId),
    rate: Rate,
    delay: Time,
    /// The marks of a switch's port.
    marking: Option<Marking>,
}

/// Totals of a port since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes whose transmission has begun.
    pub transmitted: u64,
    /// Packets of them.
    pub packets: u64,
    /// Packets for which there was no room.
    pub drops: u64,
    /// Their bytes.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Longest queue, with a packet that has just come.
    pub peak: u64,
    /// Time for which the far end has paused it.
    pub paused: Time,
    /// Frames by which it has paused the far end.
    pub pauses: u64,
}

/// The state of a port at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the sample.
    pub time: Time,
    /// The port, by its place.
    pub port: usize,
    /// Bytes in its queue.
    pub queue: u64,
    /// Whether the far end has it paused.
    pub paused: bool,
    /// Bytes transmitted, bytes dropped and packets marked so far.
    pub totals: Totals,
}

/// Kind of the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A port has sent its packet.
    Sent(usize),
    /// The first packet on a link arrives.
    Arrived(usize),
    /// Counting begins.
    Begin,
    /// The ports are sampled.
    Sample,
}

/// Cargo of a link: a packet, or a frame that pauses or resumes.
#[derive(Debug)]
enum Item {
    Packet(Vec<u8>),
    /// Pause the far end, or resume it.
    Pause(bool),
}

#[derive(Debug, Default)]
struct State {
    /// Packets that wait, each with the link over which it came.
    queue: VecDeque<(Vec<u8>, usize)>,
    queued: u64,
    /// Item in transmission.
    sending: Option<Item>,
    /// Bytes whose transmission has begun, from the very beginning.
    counter: u64,
    /// Items on the link.
    flying: VecDeque<Item>,
    /// Since when the far end has it paused.
    paused: Option<Time>,
    /// The pause or the resumption of the far end that waits.
    order: Option<bool>,
    totals: Totals,
}

/// Times at which ports are sampled.
#[derive(Clone, Debug, Default)]
pub struct Sampling {
    /// The ports, by their places.
    pub ports: Vec<usize>,
    /// Time of the first sample.
    pub from: Time,
    /// Time between two.
    pub interval: Time,
    /// No sample after this; [`Time::NEVER`] for no end.
    pub until: Time,
}

/// All links and switches of a network.
#[derive(Debug)]
pub struct Model {
    hosts: u32,
    /// Both directions of each link, one after the other.
    ports: Vec<Port>,
    states: Vec<State>,
    /// The buffer of each switch, by its number after the hosts.
    buffers: Vec<Buffer>,
    /// Whether packets are marked when they come, and not when they leave.
    marks_at_enqueue: bool,
    /// Whether ports of switches write telemetry into packets with room for it, when they begin to send them.
    records: bool,
    /// For each node and destination the place of the port; [`NOWHERE`] where there is none.
    routes: Vec<usize>,
    /// By time; at the same time ports become free before packets arrive, as in the simulator, and after that the older
    /// event comes first.
    events: BinaryHeap<Reverse<(Time, bool, u64, Event)>>,
    /// Number of events so far.
    order: u64,
    sampling: Sampling,
    samples: Vec<Sample>,
    draws: u64,
}

impl Model {
    /// A network with these switches, in which no packet is on its way. Packets have at most `largest_packet` bytes,
    /// for which the PFC headroom suffices. With `records`, switches write telemetry into packets with room for it.
    ///
    /// # Errors
    /// When the description contradicts itself, or has what these switches do not do.
    pub fn new(
        network: &Network,
        switch: &Switch,
        largest_packet: Bytes,
        records: bool,
        seed: u64,
    ) -> Result<Self, Invalid> {
        check(network, switch)?;
        let hosts = network.hosts;
        let outs = Routes::new(network).map_err(Invalid)?;
        let switches = (hosts..).zip(network.nodes.iter().skip(hosts as usize));
        let buffer_of = |(node, _)| Buffer::new(switch, node, &outs.ports[node as usize], largest_packet);
        let buffers = switches.map(buffer_of).collect::<Result<_, _>>().map_err(Invalid)?;
        let both = network.links.iter().flat_map(|link| [(link, link.a, link.b), (link, link.b, link.a)]);
        let ports = both.map(|(link, near, far)| {
            let marking = switch.ecn.as_ref().filter(|_| near.0 >= hosts);
            let marking = marking.map(|ecn| Marking::new(ecn, link.rate));
            Port { near, far, rate: link.rate, delay: link.delay, marking }
        });
        let ports: Vec<Port> = ports.collect();
        Ok(Self {
            routes: routes(network, &ports),
            hosts,
            states: ports.iter().map(|_| State::default()).collect(),
            ports,
            buffers,
            marks_at_enqueue: switch.ecn.is_some_and(|ecn| ecn.at == MarkingPoint::Enqueue),
            records,
            events: BinaryHeap::new(),
            order: 0,
            sampling: Sampling::default(),
            samples: Vec::new(),
            draws: seed,
        })
    }

    /// Returns the ports in their order: each with its node, and its number there.
    pub fn ports(&self) -> impl Iterator<Item = (NodeId, PortId)> {
        self.ports.iter().map(|port| port.near)
    }

    /// Counts from `start` on, and samples ports; times of samples are from then.
    pub fn begin(&mut self, start: Time, sampling: Sampling) {
        let first = start + sampling.from;
        self.at(start, Event::Begin);
        if !sampling.ports.is_empty() && sampling.from <= sampling.until {
            self.at(first, Event::Sample);
        }
        let until = start.checked_add(sampling.until).unwrap_or(Time::NEVER);
        self.sampling = Sampling { until, ..sampling };
    }

    /// A host has sent a frame. Times never go back. A frame for no host is ignored.
    pub fn send(&mut self, now: Time, host: u32, frame: Vec<u8>) {
        self.enqueue(now, host, frame, NOWHERE);
    }

    /// Returns the time of the next event.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((time, ..))| *time)
    }

    /// Lets everything happen up to a time. `deliver` is called with each frame that arrives at a host, and when.
    pub fn advance(&mut self, until: Time, deliver: &mut dyn FnMut(Time, u32, Vec<u8>)) {
        while let Some(&Reverse((time, _, _, event))) = self.events.peek()
            && time <= until
        {
            self.events.pop();
            match event {
                Event::Sent(place) => self.sent(time, place),
                Event::Arrived(place) => {
                    let (peer, _) = self.ports[place].far;
                    match self.states[place].flying.pop_front() {
                        Some(Item::Packet(frame)) if peer < self.hosts => deliver(time, peer, frame),
                        Some(Item::Packet(frame)) => self.enqueue(time, peer, frame, place),
                        Some(Item::Pause(paused)) => self.paused(time, place, paused),
                        None => {}
                    }
                }
                Event::Begin => self.states.iter_mut().for_each(|state| {
                    state.totals = Totals { peak: state.queued, ..Totals::default() };
                    state.paused = state.paused.map(|_| time);
                }),
                Event::Sample => self.sample(time),
            }
        }
    }

    /// The samples so far.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the totals of each port since counting began; `now` is not before any past event.
    #[must_use]
    pub fn totals(&self, now: Time) -> Vec<Totals> {
        let of = |state: &State| {
            let still = state.paused.map_or(Time::ZERO, |since| now - since);
            Totals { paused: state.totals.paused + still, ..state.totals }
        };
        self.states.iter().map(of).collect()
    }

    fn at(&mut self, time: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, !matches!(event, Event::Sent(_)), self.order, event)));
    }

    fn sample(&mut self, time: Time) {
        let states = &self.states;
        self.samples.extend(self.sampling.ports.iter().map(|&port| {
            let State { queued, totals, paused, .. } = states[port];
            Sample { time, port, queue: queued, paused: paused.is_some(), totals }
        }));
        let next = time + self.sampling.interval;
        if self.sampling.interval > Time::ZERO && next <= self.sampling.until {
            self.at(next, Event::Sample);
        }
    }

    /// A frame that came over a link goes to the port by which a node reaches its destination.
    fn enqueue(&mut self, now: Time, node: u32, mut frame: Vec<u8>, from: usize) {
        let Some(host) = frame::destination(&frame).filter(|host| *host < self.hosts) else { return };
        let Some(&place) = self.routes.get(node as usize * self.hosts as usize + host as usize) else {
            return;
        };
        if place == NOWHERE {
            return;
        }
        let size = frame.len() as u64;
        let admitted = node < self.hosts || self.admit(now, from, place, size);
        let marked = self.marks_at_enqueue && self.marks(place, self.states[place].queued);
        let state = &mut self.states[place];
        if !admitted {
            state.totals.drops += 1;
            state.totals.dropped += size;
            return;
        }
        if marked && frame::mark(&mut frame) {
            state.totals.marked += 1;
        }
        state.queue.push_back((frame, from));
        state.queued += size;
        // As in the simulator, with a packet that need not wait.
        state.totals.peak = state.totals.peak.max(state.queued);
        self.serve(now, place);
    }

    /// Admits a packet that came over a link to the queue of a switch's port. Returns whether there is room for it.
    fn admit(&mut self, now: Time, from: usize, place: usize, size: u64) -> bool {
        let queued = self.states[place].queued;
        let ingress = self.ingress(from);
        let admission = self.buffer(place).map(|buffer| buffer.admit(ingress, queued, queued, size));
        if admission == Some(Admission::StayAndPause) {
            self.order(now, from, true);
        }
        admission != Some(Admission::Drop)
    }

    /// Returns the buffer of the switch that sends at a port; none at hosts.
    fn buffer(&mut self, place: usize) -> Option<&mut Buffer> {
        let number = self.ports[place].near.0.checked_sub(self.hosts)?;
        self.buffers.get_mut(number as usize)
    }

    /// Returns the number of a link in the buffer of the switch at its end, whose ports have one queue.
    fn ingress(&self, link: usize) -> usize {
        self.ports.get(link).map_or(NOWHERE, |port| usize::from(port.far.1))
    }

    /// The far end of a link into a switch is to pause or to resume; these alternate.
    fn order(&mut self, now: Time, link: usize, pause: bool) {
        let back = back(link);
        let order = &mut self.states[back].order;
        // One that still waits and its opposite cancel: the far end is already as the second one asks.
        *order = if order.is_some() { None } else { Some(pause) };
        self.serve(now, back);
    }

    /// A frame has arrived over a link that pauses or resumes its way back.
    fn paused(&mut self, now: Time, link: usize, pause: bool) {
        let back = back(link);
        let state = &mut self.states[back];
        if let Some(since) = state.paused.take() {
            state.totals.paused += now - since;
        }
        state.paused = pause.then_some(now);
        self.serve(now, back);
    }

    /// Begins to send what is first at a port, unless it is sending.
    fn serve(&mut self, now: Time, place: usize) {
        let state = &mut self.states[place];
        if state.sending.is_some() {
            return;
        }
        if let Some(pause) = state.order.take() {
            state.totals.pauses += u64::from(pause);
            self.transmit(now, place, Item::Pause(pause), PAUSE_FRAME);
        } else if state.paused.is_none() {
            self.transmit_first(now, place);
        }
    }

    /// Begins to send the first packet of a queue.
    fn transmit_first(&mut self, now: Time, place: usize) {
        let port = self.ports[place];
        let Some((mut frame, from)) = self.states[place].queue.pop_front() else { return };
        let size = frame.len() as u64;
        let left = self.states[place].queued - size;
        let marked = !self.marks_at_enqueue && self.marks(place, left);
        let state = &mut self.states[place];
        state.queued = left;
        if marked && frame::mark(&mut frame) {
            state.totals.marked += 1;
        }
        if self.records && port.near.0 >= self.hosts {
            // The numbers go on modulo 2^32.
            let record = Record {
                at: now.ns() as u32,
                queue: u32::try_from(left).unwrap_or(u32::MAX),
                transmitted: state.counter as u32,
                kbps: u32::try_from(port.rate.bps() / 1000).unwrap_or(u32::MAX),
            };
            frame::stamp(&mut frame, &record);
        }
        self.transmit(now, place, Item::Packet(frame), size);
        let ingress = self.ingress(from);
        if self.buffer(place).is_some_and(|buffer| buffer.release(ingress, size)) {
            self.order(now, from, false);
        }
    }

    fn transmit(&mut self, now: Time, place: usize, item: Item, size: u64) {
        let state = &mut self.states[place];
        state.counter += size;
        state.totals.transmitted += size;
        state.totals.packets += 1;
        state.sending = Some(item);
        self.at(now + self.ports[place].rate.time_for(Bytes::new(size)), Event::Sent(place));
    }

    fn sent(&mut self, now: Time, place: usize) {
        if let Some(item) = self.states[place].sending.take() {
            self.states[place].flying.push_back(item);
            self.at(now + self.ports[place].delay, Event::Arrived(place));
        }
        self.serve(now, place);
    }

    /// Whether a packet is marked that finds or leaves a queue of this length.
    fn marks(&mut self, place: usize, length: u64) -> bool {
        let Self { ports, draws, .. } = self;
        ports[place].marking.is_some_and(|marking| marking.marks(length, || next_draw(draws)))
    }
}

/// Returns the next draw of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next_draw(state: &mut u64) -> u64 {
    let drawn = mix(*state);
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    drawn
}

/// Returns the place of the other direction of a link.
const fn back(link: usize) -> usize {
    link ^ 1
}

/// Checks that the switches do everything that is described.
fn check(network: &Network, switch: &Switch) -> Result<(), Invalid> {
    let fail = |text: &str| Err(Invalid(text.to_owned()));
    if let Some(problem) = switch.problem() {
        return Err(Invalid(problem));
    }
    if switch.watchdog().is_some() {
        return fail(
            "a switch for real packets pauses a link for as long as it is asked to, without a watchdog",
        );
    }
    if switch.queues != 1 || switch.bfc.is_some() || switch.trimming.is_some() {
        return fail("ports of a switch for real packets have one queue, without BFC and without trimming");
    }
    let mut kinds = (network.hosts..).zip(network.nodes.iter().skip(network.hosts as usize));
    if !network.changes.is_empty() || !kinds.all(|(node, _)| network.kind(node) == NodeKind::Switch) {
        return fail("a network for real packets has hosts and plain switches, and links that do not change");
    }
    Ok(())
}

/// Returns for each node and destination the place of the port; [`NOWHERE`] where there is none.
fn routes(network: &Network, ports: &[Port]) -> Vec<usize> {
    let hosts = network.hosts;
    let mut routes = vec![NOWHERE; network.nodes.len() * hosts as usize];
    for host in 0..hosts {
        // Backwards from the host, link by link.
        let mut near = VecDeque::from([host]);
        while let Some(node) = near.pop_front() {
            for (place, port) in ports.iter().enumerate().filter(|(_, port)| port.far.0 == node) {
                let (from, _) = port.near;
                let route = &mut routes[from as usize * hosts as usize + host as usize];
                if *route == NOWHERE && from != host {
                    *route = place;
                    if from >= hosts {
                        near.push_back(from);
                    }
                }
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests;
