//! Behaviour of a switch: buffer, flow control, marking, scheduling.

use incast_cc::Fixed;
use incast_units::{Bytes, Rate, Time};

use super::bfc::Bfc;
use super::named::named;
use crate::describe::network::{NodeId, PortId};
use crate::packet::PFC_FRAME;
use crate::queue_set::{MAX_MEMBERS, QueueSet};

named! {
    /// The order in which a port serves its queues. Paused queues are skipped.
    pub enum Scheduler {
        "strict-priority" => StrictPriority: "the lowest-numbered queue that holds a packet",
        "round-robin" => RoundRobin: "one packet from each queue in turn",
        "drr" => Drr: "deficit round robin: each queue in turn its quantum of bytes, whatever the size of its packets",
        "wrr" => Wrr: "weighted round robin: each queue in turn as many packets as its weight",
    }
}

named! {
    /// Hash by which a switch chooses among equal-cost ports.
    pub enum PathPolicy {
        "ecmp" => Ecmp: "by a hash of the flow and the switch",
        "five-tuple" => FiveTuple: "by the hash of addresses and ports that HPCC's ns-3 simulator uses",
    }
}

/// Maximum number of queues (priorities) of a port.
pub const MAX_QUEUES: usize = 128;

const _: () = assert!(MAX_QUEUES <= MAX_MEMBERS);

/// The behaviour that all switches share. The default is the simplest switch: one queue, an unlimited
/// buffer, no marks and no pauses.
///
/// Single switches are named by their node, or, in a scenario, by a text: `Of`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch<Of = NodeId> {
    /// The packet buffer.
    pub buffer: Buffer,
    /// In a shared buffer: bytes guaranteed to every lossless (ingress port, priority) before it uses the shared part.
    pub reserve: Bytes,
    /// In a shared buffer: a lossless (ingress port, priority) may occupy up to α × the free shared part.
    pub ingress_alpha: Fixed,
    /// In a shared buffer: a lossy (egress port, queue) may occupy up to α × the free shared part.
    pub egress_alpha: Fixed,
    /// Priority flow control; `None` for a lossy fabric.
    pub pfc: Option<Pfc>,
    /// ECN marking; `None` for none.
    pub ecn: Option<Ecn>,
    /// Number of queues of each port, 1 to [`MAX_QUEUES`].
    pub queues: u8,
    /// The order in which they are served.
    pub scheduler: Scheduler,
    /// Quantum of each queue under [`Scheduler::Drr`]; a queue without a value has [`DEFAULT_QUANTUM`].
    pub quanta: Vec<Bytes>,
    /// Hash by which a switch chooses among equal-cost ports.
    pub path: PathPolicy,
    /// The order in which the path policy numbers these ports.
    pub next_hops: NextHops,
    /// The multiple of the units of [`Telemetry::Packed`]; `None`: telemetry is [`Telemetry::Exact`].
    pub packed_telemetry: Option<u32>,
    /// Switches with a buffer different from [`Switch::buffer`]; of two entries for the same switch the later
    /// one applies.
    pub buffers: Vec<OwnBuffer<Of>>,
    /// The port rate to which `ingress_alpha` applies; `None`: every rate. For a faster port it is doubled,
    /// up to 1, for each halving of the port's rate that is needed to bring it down to this rate.
    pub ingress_alpha_rate: Option<Rate>,
    /// With PFC too, drop a packet if its egress queue would exceed `egress_alpha` × the free part of the
    /// whole shared buffer. Without PFC this always applies.
    pub egress_limit: bool,
    /// With [`Scheduler::Wrr`]: packets of each queue in a turn, from queue 0 on; 1 for queues not listed.
    pub weights: Vec<u32>,
    /// Number of queues, from queue 0 on, that are served by strict priority before the scheduler serves the
    /// others.
    pub strict: u8,
    /// Packet trimming; `None`: packets for which there is no room are dropped.
    pub trimming: Option<Trimming>,
    /// Backpressure flow control. It assigns packets to queues of its own, which [`Switch::scheduler`] serves;
    /// [`Switch::queues`], [`Switch::quanta`], [`Switch::weights`] and [`Switch::strict`] have their defaults.
    pub bfc: Option<Bfc>,
}

/// Packet trimming: a port removes the payload of data packets for which its data queue has no room, and sends
/// the headers ahead of data. It takes the place of the buffer and of the queues, of which there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimming {
    /// Limit of the data queue of each port.
    pub data: Bytes,
    /// Limit of its queue of headers and of everything else that is not data; `None`: the same.
    pub headers: Option<Bytes>,
    /// Largest number of headers after each data packet while both queues hold packets.
    pub ratio: u32,
    /// Size of a header without its payload.
    pub size: Bytes,
    /// Whether a header for which there is no room is returned to its sender, once; if not, it is dropped.
    pub return_to_sender: bool,
}

impl Default for Trimming {
    fn default() -> Self {
        Self {
            data: Bytes::new(72_000),
            headers: None,
            ratio: 10,
            size: Bytes::new(64),
            return_to_sender: true,
        }
    }
}

/// Default quantum of deficit round robin: one packet of Ethernet's usual maximum size, so that every visit
/// sends.
pub const DEFAULT_QUANTUM: Bytes = Bytes::new(1518);

impl Default for Switch {
    fn default() -> Self {
        Self {
            buffer: Buffer::Unlimited,
            reserve: Bytes::new(4096),
            ingress_alpha: Fixed::ratio(1, 4),
            egress_alpha: Fixed::ONE,
            pfc: None,
            ecn: None,
            queues: 1,
            scheduler: Scheduler::StrictPriority,
            quanta: Vec::new(),
            path: PathPolicy::Ecmp,
            next_hops: NextHops::Ascending,
            packed_telemetry: None,
            buffers: Vec::new(),
            ingress_alpha_rate: None,
            egress_limit: false,
            weights: Vec::new(),
            strict: 0,
            trimming: None,
            bfc: None,
        }
    }
}

impl Switch {
    /// The quantum of a queue.
    pub fn quantum(&self, queue: usize) -> Bytes {
        self.quanta.get(queue).copied().unwrap_or(DEFAULT_QUANTUM)
    }

    /// The weight of a queue.
    pub fn weight(&self, queue: usize) -> u32 {
        self.weights.get(queue).copied().unwrap_or(1)
    }

    /// The buffer of a switch.
    #[must_use]
    pub fn buffer_of(&self, node: NodeId) -> Buffer {
        let own = self.buffers.iter().rev().find(|own| own.switches.contains(&node));
        own.map_or(self.buffer, |own| own.buffer)
    }
}

impl<Of> Switch<Of> {
    /// Returns the switch with its names replaced by the nodes that they name.
    pub fn resolve(self, nodes: impl Fn(&Of) -> Vec<NodeId>) -> Switch {
        let Self {
            buffer,
            reserve,
            ingress_alpha,
            egress_alpha,
            pfc,
            ecn,
            queues,
            scheduler,
            quanta,
            path,
            next_hops,
            packed_telemetry,
            buffers,
            ingress_alpha_rate,
            egress_limit,
            weights,
            strict,
            trimming,
            bfc,
        } = self;
        let buffers = buffers.into_iter().map(|own| own.resolve(&nodes)).collect();
        Switch {
            buffer,
            reserve,
            ingress_alpha,
            egress_alpha,
            pfc,
            ecn,
            queues,
            scheduler,
            quanta,
            path,
            next_hops,
            packed_telemetry,
            buffers,
            ingress_alpha_rate,
            egress_limit,
            weights,
            strict,
            trimming,
            bfc,
        }
    }

    /// The precision of telemetry records.
    #[must_use]
    pub fn telemetry(&self) -> Telemetry {
        self.packed_telemetry.map_or(Telemetry::Exact, |multiple| Telemetry::Packed { multiple })
    }

    /// `ingress_alpha` at a port of this rate.
    #[must_use]
    pub fn ingress_alpha_at(&self, rate: Rate) -> Fixed {
        let (mut alpha, mut bps) = (self.ingress_alpha, rate.bps());
        while self.ingress_alpha_rate.is_some_and(|reference| bps > reference.bps()) && alpha < Fixed::ONE {
            alpha = (alpha + alpha).min(Fixed::ONE);
            bps /= 2;
        }
        alpha
    }

    /// The PFC headroom of each lossless (ingress port, priority) at a port with this link, for packets of at
    /// most `packet` bytes; zero without PFC.
    #[must_use]
    pub fn headroom(&self, rate: Rate, delay: Time, packet: Bytes) -> Bytes {
        let Some(pfc) = self.pfc else { return Bytes::ZERO };
        match (pfc.headroom, pfc.headroom_factor) {
            (Some(fixed), _) => fixed,
            (None, Some(factor)) => rate.bytes_in(delay.times(factor)),
            (None, None) => Pfc::headroom_for(rate, delay, packet, self.lossless().len() as u8),
        }
    }

    /// The watchdog of PFC, if there is one.
    #[must_use]
    pub fn watchdog(&self) -> Option<Watchdog> {
        self.pfc.and_then(|pfc| pfc.watchdog)
    }

    /// The queues that PFC keeps from losses.
    #[must_use]
    pub fn lossless(&self) -> QueueSet {
        let all = QueueSet::first_of(self.queues);
        self.pfc.map_or(QueueSet::default(), |pfc| pfc.queues.map_or(all, |queues| queues.within(all)))
    }
}

impl Switch {
    /// Errors in these settings that do not depend on the rest of the simulation.
    pub fn problem(&self) -> Option<String> {
        if !(1..=MAX_QUEUES).contains(&usize::from(self.queues)) {
            return Some(format!("a port has 1 to {MAX_QUEUES} queues, not {}", self.queues));
        }
        if self.quanta.len() > usize::from(self.queues) {
            return Some(format!("{} quanta are given for {} queues", self.quanta.len(), self.queues));
        }
        if self.weights.len() > usize::from(self.queues) {
            return Some(format!("{} weights are given for {} queues", self.weights.len(), self.queues));
        }
        if self.weights.contains(&0) {
            return Some("the weight of a queue is zero: it would never be served".into());
        }
        if let Some(queues) = self.pfc.and_then(|pfc| pfc.queues) {
            if queues.is_empty() {
                return Some("PFC without a lossless queue".into());
            }
            if let Some(none) = queues.iter().find(|queue| *queue >= self.queues) {
                return Some(format!("queue {none} is lossless, of {} queues", self.queues));
            }
        }
        if let Some(watchdog) = self.watchdog()
            && watchdog.detect.min(watchdog.restoration()) == Time::ZERO
        {
            return Some("a watchdog needs times above zero".into());
        }
        if let Some(trimming) = &self.trimming {
            if self.pfc.is_some() {
                return Some("trimming and PFC exclude each other".into());
            }
            if self.buffer != Buffer::Unlimited || !self.buffers.is_empty() {
                return Some("with trimming the limits of its queues take the place of the buffer".into());
            }
            if self.queues != 1 {
                return Some(format!("with trimming a port has one queue for data, not {}", self.queues));
            }
            if trimming.ratio == 0 || !(1..=u64::from(u16::MAX)).contains(&trimming.size.get()) {
                return Some(
                    "trimming sends one or more headers of 1 to 65535 B for each data packet".into(),
                );
            }
        }
        if self.strict > self.queues {
            return Some(format!("{} strict queues of {}", self.strict, self.queues));
        }
        if let Some(problem) = self.bfc.and_then(|bfc| self.problem_with(&bfc)) {
            return Some(problem);
        }
        let none = self.quanta.iter().position(|quantum| *quantum == Bytes::ZERO)?;
        Some(format!("the quantum of queue {none} is zero: it would never be served"))
    }
}

impl Switch {
    /// Returns the error of backpressure flow control, or of a setting that does not go with it.
    fn problem_with(&self, bfc: &Bfc) -> Option<String> {
        if self.pfc.is_some() {
            return Some("a fabric has either PFC or BFC".into());
        }
        if self.trimming.is_some() {
            return Some("a fabric has either trimming or BFC".into());
        }
        if !matches!(self.scheduler, Scheduler::RoundRobin | Scheduler::Drr) {
            return Some("the queues of BFC are served by round robin or deficit round robin".into());
        }
        if self.queues > 1 || self.strict > 0 || !self.quanta.is_empty() || !self.weights.is_empty() {
            return Some("with BFC ports have no other queues, and equal quanta".into());
        }
        bfc.problem()
    }

    /// Returns the queues of a port with backpressure flow control: one for control packets, which is served
    /// before all others, and those for data.
    pub fn with_queues_of(&self, bfc: &Bfc) -> Self {
        Self { queues: bfc.queues + 1, strict: 1, ..self.clone() }
    }
}

named! {
    /// The order in which equal-cost ports are numbered.
    pub enum NextHops {
        "ascending" => Ascending: "by port number",
        "descending" => Descending: "from the highest port number",
    }
}

impl NextHops {
    /// Number `choice` of a group of ports in this order.
    #[inline]
    pub fn pick(self, group: &[PortId], choice: usize) -> PortId {
        match self {
            Self::Ascending => group[choice],
            Self::Descending => group[group.len() - 1 - choice],
        }
    }
}

/// The precision of telemetry records in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// Exact values, to the byte and the picosecond.
    Exact,
    /// As in HPCC's 64-bit record: queue length in units of 80 B · `multiple` in 17 bits, transmitted
    /// bytes in units of 128 B · `multiple`, time in nanoseconds, all rounded down. HPCC's public ns-3
    /// simulator uses a multiple of 1 up to 25 Gbps and 4 at 100 Gbps.
    Packed {
        /// Multiple of the units; 0 counts as 1.
        multiple: u32,
    },
}

/// The size of a switch's buffer and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// A drop-tail limit for each port, shared by its queues; no sharing between ports.
    PerPort(Bytes),
    /// One buffer for all ports, with dynamic thresholds (Choudhury and Hahne 1998): its total size, of shared
    /// part, reserves and PFC headroom together.
    Shared(Bytes),
}

/// The buffer of some switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBuffer<Of = NodeId> {
    /// The switches.
    pub switches: Vec<Of>,
    /// Their buffer.
    pub buffer: Buffer,
}

impl<Of> OwnBuffer<Of> {
    /// Returns the buffer with its names replaced by the nodes that they name.
    fn resolve(self, nodes: impl Fn(&Of) -> Vec<NodeId>) -> OwnBuffer {
        let Self { switches, buffer } = self;
        OwnBuffer { switches: switches.iter().flat_map(nodes).collect(), buffer }
    }
}

/// Priority flow control (IEEE 802.1Qbb), on some queues or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// The lossless queues; `None`: all. Packets of other queues pause nobody and are dropped where there is no room.
    pub queues: Option<QueueSet>,
    /// Usage at which to pause. `None`: the dynamic threshold of the shared buffer.
    pub xoff: Option<Bytes>,
    /// Resume when usage is this far below the threshold.
    pub xon_offset: Bytes,
    /// Buffer for packets that arrive after a pause was triggered, for each (ingress port, priority).
    /// `None`: [`Pfc::headroom_for`], or by [`Pfc::headroom_factor`].
    pub headroom: Option<Bytes>,
    /// If [`Pfc::headroom`] is `None`: this multiple of rate × delay of the link, rounded down, instead of
    /// [`Pfc::headroom_for`].
    pub headroom_factor: Option<u64>,
    /// Watchdog at the ports of switches; `None` for none.
    pub watchdog: Option<Watchdog>,
}

named! {
    /// The fate of the packets of a queue in a storm of pauses.
    pub enum Storm {
        "drop" => Drop: "they are dropped, those that wait and those that come",
        "forward" => Forward: "they are sent, and pauses are ignored",
    }
}

/// A PFC watchdog: a queue of a port that has been paused for too long is in a storm, until it has not been paused for a
/// while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// A storm begins when a queue has been paused for so long, and has held a packet all that time.
    pub detect: Time,
    /// It ends when the far end has not paused the queue for so long; `None`: twice [`Watchdog::detect`].
    pub restore: Option<Time>,
    /// The fate of packets in between.
    pub action: Storm,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { detect: Time::from_ms(200), restore: None, action: Storm::Drop }
    }
}

impl Watchdog {
    /// The time without a pause after which a storm ends.
    #[must_use]
    pub fn restoration(&self) -> Time {
        self.restore.unwrap_or(self.detect.times(2))
    }
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            queues: None,
            xoff: None,
            xon_offset: Bytes::new(3072),
            headroom: None,
            headroom_factor: None,
            watchdog: None,
        }
    }
}

impl Pfc {
    /// The buffer that a lossless (ingress port, priority) needs for packets that arrive after its usage
    /// crossed the pause threshold, on a link of this rate and one-way delay, for packets of at most
    /// `packet` bytes and `queues` lossless priorities. With it no packet of these is ever dropped:
    ///
    /// Let the packet that crosses the threshold arrive at t₀. It is the first in the headroom, because a
    /// resume is sent only when the headroom is empty, and no earlier frame is still queued: a queued pause
    /// and a queued resume cancel each other.
    ///
    /// 1. The pause waits for one packet that is being sent (P; a frame, if that is larger) and for one
    ///    frame of each other lossless priority at most (no other has frames, and packets come after them), and
    ///    takes its own time: with n lossless priorities it has left at
    ///    t₀ + T(P) + n · T(64 B), with T(b) the time of b bytes, and is there the delay d later, at t₁.
    /// 2. The far end begins no packet after t₁. What arrives after t₀ it has begun at t₀ − d or later.
    ///    So all such packets but the last one are begun and done between t₀ − d and t₁: they have at
    ///    most r · (2 d + T(P) + n · T(64 B)) bytes.
    /// 3. The last one, begun at t₁ at the latest, has at most P, and so has the one that crossed.
    ///
    /// Together `r · (2 d + T(P) + n · T(64 B)) + 2 P`, with one priority attained to the byte.
    #[must_use]
    pub fn headroom_for(rate: Rate, delay: Time, packet: Bytes, queues: u8) -> Bytes {
        let frame = Bytes::new(u64::from(PFC_FRAME));
        let frames = rate.time_for(frame).times(u64::from(queues));
        let span = delay.times(2) + rate.time_for(packet.max(frame)) + frames;
        rate.bytes_in(span) + packet.times(2)
    }
}

named! {
    /// Moment of the decision whether to mark a packet.
    pub enum MarkingPoint {
        "dequeue" => Dequeue: "when its transmission begins, by the length of its queue after it left",
        "enqueue" => Enqueue: "when it comes to its queue, by the length of the queue before it",
    }
}

/// Random early marking, by the length of the packet's own queue, the packet not counted.
///
/// Up to `kmin` never, from `kmax` on always, linear up to `pmax` in between. `kmin` and `kmax` hold
/// at `reference` and scale with the port's rate; with no reference they hold at every rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// No marks up to this length.
    pub kmin: Bytes,
    /// All packets are marked from this length on.
    pub kmax: Bytes,
    /// Probability of a mark just below `kmax`.
    pub pmax: Fixed,
    /// The port rate to which `kmin` and `kmax` apply.
    pub reference: Option<Rate>,
    /// Moment of the decision.
    pub at: MarkingPoint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_by_hand() {
        // 100 Gbps (80 ps a byte), 1 us, 1054 B, one priority: 2 us + 84.32 ns + 5.12 ns are 26 118 B, and
        // two packets. With eight priorities 7 · 64 B more.
        let at = |rate, packet, queues| {
            Pfc::headroom_for(Rate::from_gbps(rate), Time::from_us(1), Bytes::new(packet), queues).get()
        };
        assert_eq!(at(100, 1054, 1), 28_226);
        assert_eq!(at(100, 1054, 8), 28_226 + 448);
        // Packets smaller than a frame wait for a frame: 25 000 + 64 + 64 + 2 · 40.
        assert_eq!(at(100, 40, 1), 25_208);
        // 3 Gbps: 2 us are 750 B; 1000 B take 2 666 667 ps, 64 B take 170 667 (both rounded up), together
        // 1064.000 25 B.
        assert_eq!(at(3, 1000, 1), 750 + 1064 + 2000);
    }

    #[test]
    fn alpha_doubles_with_the_rate_up_to_one() {
        // As in HPCC's ns-3 simulator: 1/8 for the NIC's rate, 1/2 at four times as much.
        let plain = Switch { ingress_alpha: Fixed::ratio(1, 8), ..Switch::default() };
        let switch = Switch { ingress_alpha_rate: Some(Rate::from_gbps(100)), ..plain.clone() };
        let eighths = |gbps| switch.ingress_alpha_at(Rate::from_gbps(gbps)).scale(8);
        assert_eq!([25, 100, 150, 200, 400, 800, 1600].map(eighths), [1, 1, 2, 2, 4, 8, 8]);
        assert_eq!(plain.ingress_alpha_at(Rate::from_gbps(400)), Fixed::ratio(1, 8));
    }

    #[test]
    fn headroom_is_given_multiplied_or_computed() {
        let mut switch = Switch { pfc: Some(Pfc::default()), ..Switch::default() };
        let at =
            |switch: &Switch| switch.headroom(Rate::from_gbps(400), Time::from_us(1), Bytes::new(1000)).get();
        assert_eq!(at(&switch), 100_000 + 1000 + 64 + 2000);
        // Three times 50 000 B.
        let tripled = Pfc { headroom_factor: Some(3), ..Pfc::default() };
        switch.pfc = Some(tripled);
        assert_eq!(at(&switch), 150_000);
        switch.pfc = Some(Pfc { headroom: Some(Bytes::new(7)), ..tripled });
        assert_eq!(at(&switch), 7);
        switch.pfc = None;
        assert_eq!(at(&switch), 0);
        // Three of eight queues are lossless: two frames more than with one.
        let queues = Some([1, 3, 4].into_iter().collect());
        let some = Switch { queues: 8, pfc: Some(Pfc { queues, ..Pfc::default() }), ..Switch::default() };
        assert_eq!(at(&some), 100_000 + 1000 + 3 * 64 + 2000);
    }

    #[test]
    fn the_last_entry_for_a_switch_holds() {
        let limit = |limit| Buffer::PerPort(Bytes::new(limit));
        let own = |switches: &[NodeId], buffer| OwnBuffer { switches: switches.to_vec(), buffer };
        let buffers = vec![own(&[4, 5], limit(1)), own(&[5], limit(2))];
        let switch = Switch { buffers, ..Switch::default() };
        assert_eq!([3, 4, 5].map(|node| switch.buffer_of(node)), [Buffer::Unlimited, limit(1), limit(2)]);
    }

    #[test]
    fn a_name_of_several_switches_becomes_their_nodes() {
        let named = OwnBuffer { switches: vec!["core", "s0"], buffer: Buffer::Unlimited };
        let own = named.resolve(|name| if *name == "core" { vec![7, 8] } else { vec![3] });
        assert_eq!(own, OwnBuffer { switches: vec![7, 8, 3], buffer: Buffer::Unlimited });
    }
}
