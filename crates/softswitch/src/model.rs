//! Links and switches: packets go in with a time, and come out with one.
//!
//! Store and forward, as in the simulator: a packet is admitted to the queue of its port when its last bit has
//! arrived, is sent when those before it are, takes its size over the rate for that, and arrives a delay later. A
//! packet in transmission is not in the queue any more. A switch may pause links into it ([`Pausing`]); the frames
//! for that are sent before everything that waits, and never leave the model.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_units::{Bytes, Rate, Time};

use crate::frame::{self, Record};
use pauses::{Account, Admission, Pool};

mod pauses;

pub use pauses::Pausing;

/// Bytes of a frame that pauses or resumes a link.
const PAUSE_FRAME: u64 = 64;
/// Number in place of a link for a host's own packets.
const NOWHERE: usize = usize::MAX;

/// One direction of a link, with the queue before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The node that sends. Hosts have the lowest numbers.
    pub node: u32,
    /// The node that receives.
    pub peer: u32,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Rule of marking; `None` for links of hosts.
    pub marks: Option<Marks>,
    /// Thresholds at which the receiving node pauses it; `None` if that is a host.
    pub pausing: Option<Pausing>,
    /// Whether it writes telemetry into packets with room for it, when it begins to send them.
    pub records: bool,
}

/// Random early marking on the length of the queue in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// No marks up to this length.
    pub low: u64,
    /// All packets are marked from this length on.
    pub high: u64,
    /// Probability just below that, out of 2^32.
    pub probability: u64,
    /// Whether a packet is marked when it leaves its queue, by what stays, and not when it comes.
    pub at_dequeue: bool,
}

/// The buffer of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// At most this number of bytes in each queue.
    PerPort(u64),
    /// At most `size` bytes in all queues, and in each at most `alpha` times the free bytes.
    Shared {
        /// All bytes.
        size: u64,
        /// The share.
        alpha: f64,
    },
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
    /// Bytes that came over this link and are still in the switch at its end.
    account: Account,
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
    ports: Vec<Port>,
    states: Vec<State>,
    buffer: Buffer,
    /// Bytes in the queues of each node.
    used: Vec<u64>,
    /// Pool of each node, which the links into it share.
    pools: Vec<Pool>,
    /// For each node and destination the place of the port; `usize::MAX` where there is none.
    routes: Vec<usize>,
    /// For each port, the number of the port in the other direction; `usize::MAX` if there is none.
    back: Vec<usize>,
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
    /// A network of these links, in which no packet is on its way. Every host has one link.
    #[must_use]
    pub fn new(hosts: u32, ports: Vec<Port>, buffer: Buffer, seed: u64) -> Self {
        let nodes = ports.iter().map(|port| port.node.max(port.peer) + 1).max().unwrap_or(0).max(hosts);
        let mut routes = vec![usize::MAX; nodes as usize * hosts as usize];
        for host in 0..hosts {
            // Backwards from the host, link by link.
            let mut near = VecDeque::from([host]);
            while let Some(node) = near.pop_front() {
                for (place, port) in ports.iter().enumerate().filter(|(_, port)| port.peer == node) {
                    let route = &mut routes[port.node as usize * hosts as usize + host as usize];
                    if *route == usize::MAX && port.node != host {
                        *route = place;
                        if port.node >= hosts {
                            near.push_back(port.node);
                        }
                    }
                }
            }
        }
        let all = match buffer {
            Buffer::Shared { size, .. } => Some(size),
            Buffer::Unlimited | Buffer::PerPort(_) => None,
        };
        let into = |node| ports.iter().filter(move |port| port.peer == node).filter_map(|port| port.pausing);
        let pools = (0..nodes).map(|node| Pool::of(all, into(node))).collect();
        // Of several links between two nodes, the first belong together, and so on.
        let nth = |place: usize, of: (u32, u32)| {
            ports[..place].iter().filter(|port| (port.node, port.peer) == of).count()
        };
        let back = (0..ports.len()).map(|place| {
            let (here, there) = (ports[place].node, ports[place].peer);
            let mut others = (0..ports.len()).filter(|&at| (ports[at].node, ports[at].peer) == (there, here));
            others.nth(nth(place, (here, there))).unwrap_or(usize::MAX)
        });
        Self {
            back: back.collect(),
            hosts,
            pools,
            states: ports.iter().map(|_| State::default()).collect(),
            ports,
            buffer,
            used: vec![0; nodes as usize],
            routes,
            events: BinaryHeap::new(),
            order: 0,
            sampling: Sampling::default(),
            samples: Vec::new(),
            draws: seed,
        }
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
                    let peer = self.ports[place].peer;
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
        let Some(&port) = self.ports.get(place) else { return };
        let size = frame.len() as u64;
        let admitted = node < self.hosts || self.admits(now, from, place, size);
        let marked = port.marks.is_some_and(|m| !m.at_dequeue && self.marks(m, self.states[place].queued));
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
        self.used[node as usize] += size;
        self.serve(now, place);
    }

    /// Whether there is room for a packet that came over a link, in the queue of a port.
    fn admits(&mut self, now: Time, from: usize, place: usize, size: u64) -> bool {
        let node = self.ports[place].node;
        if let Some(rule) = self.pausing(from) {
            let pool = &mut self.pools[node as usize];
            let admission = self.states[from].account.admit(&rule, pool, size);
            if admission == Admission::StayAndPause {
                self.order(now, from, true);
            }
            return admission != Admission::Drop;
        }
        let queued = self.states[place].queued;
        match self.buffer {
            Buffer::Unlimited => true,
            Buffer::PerPort(limit) => queued + size <= limit,
            Buffer::Shared { size: all, alpha } => {
                let free = all.saturating_sub(self.used[node as usize]);
                size <= free && (queued + size) as f64 <= alpha * free as f64
            }
        }
    }

    /// Returns the rule by which a link is paused, if it can be.
    fn pausing(&self, link: usize) -> Option<Pausing> {
        self.ports.get(link).and_then(|port| port.pausing)
    }

    /// The far end of a link into a switch is to pause or to resume; these alternate.
    fn order(&mut self, now: Time, link: usize, pause: bool) {
        let back = self.back[link];
        let Some(State { order, .. }) = self.states.get_mut(back) else { return };
        // One that still waits and its opposite cancel: the far end is already as the second one asks.
        *order = if order.is_some() { None } else { Some(pause) };
        self.serve(now, back);
    }

    /// A frame has arrived over a link that pauses or resumes its way back.
    fn paused(&mut self, now: Time, link: usize, pause: bool) {
        let back = self.back[link];
        let Some(state) = self.states.get_mut(back) else { return };
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
        self.used[port.node as usize] -= size;
        let left = self.states[place].queued - size;
        let marked = port.marks.is_some_and(|m| m.at_dequeue && self.marks(m, left));
        let state = &mut self.states[place];
        state.queued = left;
        if marked && frame::mark(&mut frame) {
            state.totals.marked += 1;
        }
        if port.records {
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
        if let Some(rule) = self.pausing(from) {
            let pool = &mut self.pools[port.node as usize];
            if self.states[from].account.release(&rule, pool, size) {
                self.order(now, from, false);
            }
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
    fn marks(&mut self, marks: Marks, length: u64) -> bool {
        if length <= marks.low || length >= marks.high {
            return length > marks.low;
        }
        let share = u128::from(marks.probability) * u128::from(length - marks.low);
        u128::from(self.draw() >> 32) < share / u128::from(marks.high - marks.low)
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests;
