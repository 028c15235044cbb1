//! `[switch]`: buffer, priority flow control, marking, queues.

use incast_cc::Fixed;
use incast_sim::describe::bfc::Bfc;
use incast_sim::describe::network::{Network, NodeId};
use incast_sim::describe::switch::{
    Buffer, Ecn, MAX_QUEUES, MarkingPoint, NextHops, OwnBuffer, PathPolicy, Pfc, Scheduler, Storm, Switch,
    Trimming, Watchdog,
};
use incast_sim::queue_set::QueueSet;
use incast_units::{Bytes, Rate, Time};

use super::bfc::usual_scheduler;
use super::scope::{Effect, Idle, Scope, Sections};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::{Auto, Bound, Setting, Shape, write_decimal};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::{Problem, fault};
use crate::topology::Fabric;

choice!(Scheduler);
choice!(PathPolicy);
choice!(NextHops);
choice!(MarkingPoint);
choice!(Storm);

section! {
    /// Behaviour of every switch: buffer, queues, paths, telemetry.
    for Switch<String> with its defaults {
        /// The packet buffer: an amount shared by all ports with dynamic thresholds, `"unlimited"`, or
        /// `{ per_port = "800KB" }` for a drop-tail limit for each port.
        buffer: Buffer = Buffer::Shared(Bytes::new(32_000_000)); Bound::Positive => "OSCAR's public artifact: 32 MiB",
        /// Bytes guaranteed to every lossless (ingress port, priority) of a shared buffer with PFC.
        reserve: Bytes => "public artifacts of HPCC and OSCAR",
        /// With PFC, a lossless (ingress port, priority) may occupy at most this times the free part of a shared
        /// buffer.
        ingress_alpha: Fixed; Bound::Positive => "OSCAR's public artifact",
        /// Without PFC on it, an (egress port, queue) may occupy at most this times the free part of a shared
        /// buffer.
        egress_alpha: Fixed; Bound::Positive => "the case worked out by Choudhury and Hahne, 1998",
        /// Number of queues (priorities) of each port; queue 0 is served first under strict priority.
        queues: u8; Bound::Count(1, MAX_QUEUES as u64),
        /// Backpressure flow control.
        bfc: Option<Bfc>,
        /// The order in which queues are served; with `[switch.bfc]` the default is `"round-robin"`.
        scheduler: Scheduler = usual_scheduler(bfc.as_ref().and_then(Option::as_ref)),
        /// Quantum of each queue under `"drr"`, from queue 0 on; 1518 B for queues not listed.
        quanta: Vec<Bytes>; Bound::Positive,
        /// Packets that each queue sends in its turn under `"wrr"`, from queue 0 on; 1 for queues not listed.
        weights: Vec<u32>; Bound::Count(1, 1_000_000),
        /// Number of queues, from queue 0 on, that are served by strict priority before the scheduler serves
        /// the others.
        strict: u8; Bound::Count(0, MAX_QUEUES as u64),
        /// Hash by which a switch chooses among equal-cost ports.
        path: PathPolicy,
        /// The order in which equal-cost ports are numbered.
        next_hops: NextHops,
        /// Telemetry records are rounded as in HPCC's packed format: queue lengths down to units of 80 B
        /// times this, transmitted bytes to 128 B times this, times to nanoseconds. When absent they are
        /// exact.
        packed_telemetry: Option<u32>; Bound::Count(1, 64),
        /// Different buffers for some switches; of two entries for the same switch the later one applies.
        buffers: Vec<OwnBuffer<String>> = Vec::new(),
        /// The port rate to which `ingress_alpha` applies: for a faster port it is doubled, up to 1, for
        /// each halving of the port's rate that is needed to bring it down to this rate. By default it is
        /// the same at every rate.
        ingress_alpha_rate: Option<Rate>; Bound::Positive,
        /// With PFC too, drop a packet if its egress queue would exceed `egress_alpha` times the free part
        /// of the whole buffer.
        egress_limit: bool,
        /// Priority flow control; if it is absent, the fabric drops packets.
        pfc: Option<Pfc>,
        /// ECN marking.
        ecn: Option<Ecn>,
        /// Packet trimming: a full port removes the payload of packets and sends their headers first.
        trimming: Option<Trimming>,
    }
}

section! {
    /// Packet trimming (NDP): a port has a queue for data and a queue for headers and control packets. If the
    /// first is full, the payload of a packet is removed and the header goes to the second, which is served first.
    for Trimming with its defaults {
        /// Limit of the data queue of each port.
        data: Bytes; Bound::Positive => "NDP: 8 packets of 9,000 B",
        /// Limit of its queue of headers and control packets; by default the same as of its data queue.
        headers: Option<Bytes>; Bound::Positive,
        /// Largest number of headers after each data packet while both queues hold packets.
        ratio: u32; Bound::Count(1, 4_000_000_000) => "NDP; its authors' simulator",
        /// Size of a header without its payload.
        size: Bytes; Bound::Positive => "public simulators of NDP",
        /// Whether a header for which there is no room is returned to its sender, once, or dropped.
        return_to_sender: bool => "NDP; on in its authors' runs",
    }
}

section! {
    /// Priority flow control (IEEE 802.1Qbb) on all queues or some.
    for Pfc with its defaults {
        /// The lossless queues, `[3, 4]`; by default all. Packets of other queues pause nobody and are dropped where
        /// there is no room.
        queues: Option<QueueSet>,
        /// Amount at which to pause; `"auto"`: the dynamic threshold of the shared buffer.
        xoff: Option<Bytes> as Auto<Bytes>; Bound::Positive,
        /// Resume this far below the threshold.
        xon_offset: Bytes => "public artifacts of HPCC and OSCAR: 3 KiB",
        /// Buffer for packets that arrive after a pause was triggered, for each lossless (ingress port, priority);
        /// `"auto"`: computed from the link's rate and delay and the largest packet.
        headroom: Option<Bytes> as Auto<Bytes>,
        /// Automatic headroom is this multiple of the link's rate times delay instead.
        headroom_factor: Option<u64>; Bound::Count(1, 1000),
        /// Watchdog, which ends pauses that last too long.
        watchdog: Option<Watchdog>,
    }
}

section! {
    /// Watchdog of PFC at the ports of switches: a queue that has been paused for too long is in a storm, until it has
    /// not been paused for a while.
    for Watchdog with its defaults {
        /// A storm begins when a queue has been paused for so long, and has held a packet all that time.
        detect: Time; Bound::Positive => "SONiC's `pfcwd start_default`",
        /// It ends when the far end has not paused the queue for so long; by default twice `detect`.
        restore: Option<Time>; Bound::Positive => "SONiC's `pfcwd start`",
        /// The fate of packets of the queue in between.
        action: Storm => "SONiC",
    }
}

section! {
    /// The buffer of some switches.
    for OwnBuffer<String> {
        /// Names of switches (`"s0"`), or the common name of the switches of a tier without their numbers
        /// (`"core"`).
        switches: Vec<String>,
        /// Their buffer, written like `switch.buffer`.
        buffer: Buffer; Bound::Positive,
    }
}

section! {
    /// Random early marking by queue length: none up to `kmin`, all packets above `kmax`, in between rising
    /// linearly to `pmax`.
    for Ecn {
        /// No marks up to this length.
        kmin: Bytes,
        /// All packets are marked above this length.
        kmax: Bytes; Bound::Positive,
        /// Probability of a mark just below `kmax`.
        pmax: Fixed; Bound::Ratio(Fixed::ZERO, Fixed::ONE),
        /// The port rate to which `kmin` and `kmax` apply; they scale with a port's rate. By default they
        /// are the same at every rate.
        reference: Option<Rate> = None; Bound::Positive,
        /// Moment of the decision whether to mark a packet.
        at: MarkingPoint = MarkingPoint::Dequeue => "HPCC's public artifact",
    }
}

section! {
    /// A drop-tail limit for each port.
    pub(crate) struct PerPort {
        /// The limit, shared by the port's queues.
        per_port: Bytes; Bound::Positive,
    }
}

impl Setting for QueueSet {
    fn shape() -> Shape {
        Vec::<u8>::shape()
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let mut queues = Self::default();
        for (i, queue) in Vec::<u8>::read(node, key, reading)?.into_iter().enumerate() {
            let key = format!("{key}.{i}");
            if usize::from(queue) >= MAX_QUEUES {
                reading.wrong_key(&key, format!("there is no queue {queue}; the last of a port is 127"));
                return None;
            }
            if queues.contains(queue) {
                reading.wrong_key(&key, format!("queue {queue} is in the list already"));
                return None;
            }
            queues.insert(queue);
        }
        Some(queues)
    }

    fn write(&self) -> Option<Out> {
        self.iter().collect::<Vec<_>>().write()
    }
}

impl Setting for Buffer {
    fn shape() -> Shape {
        let unlimited = Shape::Choice(vec![("unlimited", "as much as is needed")]);
        Shape::Either(vec![Bytes::shape(), unlimited, PerPort::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "unlimited" => Some(Self::Unlimited),
            Value::Table(_) => {
                PerPort::read(node, key, reading).map(|PerPort { per_port }| Self::PerPort(per_port))
            }
            _ => Bytes::read(node, key, reading).map(Self::Shared),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Unlimited => Some(Out::text(&"unlimited")),
            Self::Shared(size) => size.write(),
            Self::PerPort(limit) => {
                limit.write().map(|limit| Out::Table(vec![("per_port".to_owned(), limit)]))
            }
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Shared(size) | Self::PerPort(size) => size.within(bound),
        }
    }
}

/// Returns the behaviour of the switches of this network.
pub(crate) fn switches(section: &Switch<String>, network: &Network) -> Switch {
    let switch = section.clone().resolve(|text| named(text, network));
    match switch.trimming {
        // The limits of its queues take the place of the buffers.
        Some(_) => Switch { buffer: Buffer::Unlimited, buffers: Vec::new(), ..switch },
        None => switch,
    }
}

/// Returns the switches that a text names.
fn named(text: &str, network: &Network) -> Vec<NodeId> {
    let is_named = |name: &str| name == text || name.trim_end_matches(|c: char| c.is_ascii_digit()) == text;
    let switches = network.hosts..network.nodes.len() as NodeId;
    switches.filter(|node| is_named(&network.nodes[*node as usize])).collect()
}

/// Checks how many packets of full size an empty switch has room for in one lossy queue, with so much for them.
fn check_room(switch: &Switch<String>, (what, size): (&str, Bytes), packet: Bytes, reading: &mut Reading) {
    let alpha = match switch.buffer {
        Buffer::Shared(_) => switch.egress_alpha,
        _ => Fixed::MAX,
    };
    // The n-th packet is let in when the queue is within alpha times what the others leave free.
    let fits = |n: u64| {
        let Some(free) = size.get().checked_sub(packet.get() * (n - 1)) else { return false };
        packet.get() <= free && packet.get() * n <= alpha.scale(free)
    };
    if !fits(1) {
        let message = format!(
            "admits no packet: {} times the {what} of {size} is {}, less than one packet ({packet})",
            write_decimal(switch.egress_alpha),
            Bytes::new(alpha.scale(size.get()))
        );
        reading.wrong_key("switch.egress_alpha", message);
    } else if !fits(2) {
        let message = format!(
            "{size} has room for one packet ({packet}) in a queue: a second packet that arrives meanwhile is lost"
        );
        reading.warn("switch", fault("buffer", message));
    }
}

/// Returns all buffers that switches have, each with its key.
pub(crate) fn sizes(switch: &Switch<String>) -> impl Iterator<Item = (String, Buffer)> {
    let own = switch.buffers.iter().enumerate().map(|(i, own)| (format!("switch.buffers.{i}"), own.buffer));
    std::iter::once(("switch".to_owned(), switch.buffer)).chain(own)
}

/// Returns what is wrong with thresholds of marks that no queue can exceed, for an algorithm that reads marks.
///
/// There is no warning where PFC or BFC bounds queues, or where thresholds scale with the rate.
pub(super) fn never_marked(switch: &Switch<String>, algorithm: &str) -> Option<Problem> {
    let ecn = switch.ecn.filter(|ecn| ecn.reference.is_none())?;
    if switch.pfc.is_some() || switch.bfc.is_some() {
        return None;
    }
    let exceeds = |buffer| match buffer {
        Buffer::Unlimited => true,
        Buffer::PerPort(size) => size > ecn.kmin,
        // A packet is let in while the queue is within alpha times what is free.
        Buffer::Shared(size) => {
            size > ecn.kmin && switch.egress_alpha.scale(size.get() - ecn.kmin.get()) >= ecn.kmin.get()
        }
    };
    let any = match &switch.trimming {
        Some(trimming) => trimming.data > ecn.kmin,
        None => sizes(switch).any(|(_, buffer)| exceeds(buffer)),
    };
    if any {
        return None;
    }
    let message = format!(
        "is {}, and no queue grows longer: no packet is marked, and {algorithm} learns of congestion from losses only",
        ecn.kmin
    );
    Some(Problem::new(message).with_hint("kmin and kmax must be below the length at which queues are full"))
}

/// Checks that packets and headroom fit into the buffers.
fn check_buffers(switch: &Switch<String>, scope: &Scope<'_>, reading: &mut Reading) {
    let packet = scope.largest_packet();
    for (key, size) in sizes(switch) {
        if let Buffer::Shared(size) | Buffer::PerPort(size) = size
            && size < packet
        {
            let message = format!("{size} is less than one packet ({packet})");
            return reading.wrong_key(&format!("{key}.buffer"), message);
        }
    }
    if let Buffer::Shared(size) | Buffer::PerPort(size) = switch.buffer
        && switch.pfc.is_none()
    {
        check_room(switch, ("buffer", size), packet, reading);
    }
    let Some(fabric) = scope.fabric else { return };
    let ports = |switch| fabric.ports(switch).iter().map(|&(_, rate, delay)| (rate, delay)).collect();
    if let Some(message) = no_shared_pool(switch, scope, fabric, ports) {
        let given = switch.pfc.as_ref().is_some_and(|pfc| pfc.headroom.is_some());
        reading.wrong_key(if given { "switch.pfc.headroom" } else { "switch.buffer" }, message);
    } else if switch.pfc.is_some() && switch.lossless().len() < u32::from(switch.queues) {
        let pools = taken(switch, scope, fabric, ports).into_iter().map(|taken| taken.pool());
        if let Some(pool) = pools.min() {
            check_room(switch, ("shared pool", pool), packet, reading);
        }
    }
}

/// Checks trimming against the rest.
fn check_trimming(switch: &Switch<String>, trimming: &Trimming, scope: &Scope<'_>, reading: &mut Reading) {
    if switch.pfc.is_some() {
        reading.wrong_key(
            "switch.pfc",
            "cannot be combined with switch.trimming: one pauses where the other trims",
        );
    }
    if switch.bfc.is_some() {
        reading.wrong_key(
            "switch.bfc",
            "cannot be combined with switch.trimming: one pauses where the other trims",
        );
    }
    if switch.queues != 1 {
        let message = format!("is {}; with switch.trimming a port has one queue for data", switch.queues);
        reading.wrong_key("switch.queues", message);
    }
    let packet = scope.largest_packet();
    if trimming.data < packet {
        let message = format!("{} is less than one packet ({packet})", trimming.data);
        reading.wrong_key("switch.trimming.data", message);
    }
    let transport = scope.sections.transport;
    let control =
        transport.ack_size.unwrap_or(transport.header + transport.ack_extra).max(transport.smallest);
    let (limit, header) = (trimming.headers.unwrap_or(trimming.data), trimming.size.max(control));
    if limit < header {
        let message = format!("{limit} is less than one header or acknowledgement ({header})");
        reading.wrong_key("switch.trimming.headers", message);
    }
    if trimming.size >= packet {
        let message = format!("{} is not less than a whole packet ({packet})", trimming.size);
        reading.wrong_key("switch.trimming.size", message);
    }
}

/// The parts of a shared buffer that PFC takes.
struct Taken {
    switch: NodeId,
    ports: usize,
    size: Bytes,
    headroom: Bytes,
    reserve: Bytes,
}

impl Taken {
    /// Returns what is left for all ports to share.
    fn pool(&self) -> Bytes {
        Bytes::new(self.size.get().saturating_sub((self.headroom + self.reserve).get()))
    }
}

/// Returns what PFC takes of each shared buffer, if the ports of switches have links of these rates and delays.
fn taken(
    switch: &Switch<String>,
    scope: &Scope<'_>,
    fabric: &Fabric,
    ports: impl Fn(NodeId) -> Vec<(Rate, Time)>,
) -> Vec<Taken> {
    let packet = scope.largest_packet();
    let queues = u64::from(switch.lossless().len());
    let described = switches(switch, &fabric.network);
    let of_node = |node| {
        let Buffer::Shared(size) = described.buffer_of(node) else { return None };
        let ports = ports(node);
        let of_port = |&(rate, delay): &_| described.headroom(rate, delay, packet).times(queues);
        let headroom = ports.iter().map(of_port).sum();
        let reserve = switch.reserve.times(queues * ports.len() as u64);
        Some(Taken { switch: node, ports: ports.len(), size, headroom, reserve })
    };
    (fabric.network.hosts..fabric.network.nodes.len() as NodeId).filter_map(of_node).collect()
}

/// Returns the first switch whose buffer is taken by PFC headroom and reserves alone, if its ports have links of
/// these rates and delays.
pub(super) fn no_shared_pool(
    switch: &Switch<String>,
    scope: &Scope<'_>,
    fabric: &Fabric,
    ports: impl Fn(NodeId) -> Vec<(Rate, Time)>,
) -> Option<String> {
    switch.pfc.as_ref()?;
    let queues = switch.lossless().len();
    let kind = if queues == u32::from(switch.queues) { "queues" } else { "lossless queues" };
    let full = taken(switch, scope, fabric, ports).into_iter().find(|taken| taken.pool() == Bytes::ZERO)?;
    let Taken { switch, ports, size, headroom, reserve } = full;
    let name = &fabric.network.nodes[switch as usize];
    Some(format!(
        "leaves no shared pool: at {name} the PFC headroom of {ports} ports (× {queues} for {kind}) takes {headroom} and \
         the reserves {reserve}, of a buffer of {size}"
    ))
}

impl Effect for Switch<String> {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.trimming.is_some() {
            let limits = ["buffer", "reserve", "ingress_alpha", "egress_alpha", "buffers", "egress_limit"];
            for key in limits.into_iter().chain(["ingress_alpha_rate"]) {
                let reason = "has no effect: switch.trimming sets the limits of queues";
                idle.add(&format!("switch.{key}"), reason);
            }
            for key in ["scheduler", "quanta", "weights", "strict"] {
                idle.add(
                    &format!("switch.{key}"),
                    "has no effect: switch.trimming sets the order of service",
                );
            }
            return;
        }
        self.bfc.idle(sections, idle);
        if self.scheduler != Scheduler::Drr {
            idle.add("switch.quanta", "has no effect: switch.scheduler is not \"drr\"");
        }
        if self.scheduler != Scheduler::Wrr {
            idle.add("switch.weights", "has no effect: switch.scheduler is not \"wrr\"");
        }
        if self.scheduler == Scheduler::StrictPriority {
            idle.add("switch.strict", "has no effect: switch.scheduler serves all queues by strict priority");
        }
        let shared = sizes(self).any(|(_, size)| matches!(size, Buffer::Shared(_)));
        let reason = "has no effect: the buffer is not shared by the ports";
        if !shared {
            for key in ["switch.reserve", "switch.ingress_alpha", "switch.egress_alpha"] {
                idle.add(key, reason);
            }
        }
        let reason = if self.pfc.is_none() { "has no effect without [switch.pfc]" } else { reason };
        if !shared || self.pfc.is_none() {
            idle.add("switch.egress_limit", reason);
            idle.add("switch.ingress_alpha_rate", reason);
        }
        let Some(pfc) = &self.pfc else { return };
        if shared && pfc.headroom.is_some() {
            idle.add("switch.pfc.headroom_factor", "has no effect: switch.pfc.headroom is given");
        }
        if !shared && self.buffer == Buffer::Unlimited {
            idle.add("switch.pfc.headroom", "has no effect: the buffer is unlimited");
            idle.add("switch.pfc.headroom_factor", "has no effect: the buffer is unlimited");
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        if let Some(ecn) = &self.ecn
            && ecn.kmin > ecn.kmax
        {
            let message = format!("{} is more than kmax, {}", ecn.kmin, ecn.kmax);
            reading.wrong_key("switch.ecn.kmin", message);
        }
        if let Some(trimming) = &self.trimming {
            return check_trimming(self, trimming, scope, reading);
        }
        if self.weights.len() > usize::from(self.queues) {
            let message =
                format!("{} weights are given, and switch.queues is {}", self.weights.len(), self.queues);
            reading.wrong_key("switch.weights", message);
        }
        if self.strict > self.queues {
            let message = format!("{} is more than switch.queues, which is {}", self.strict, self.queues);
            reading.wrong_key("switch.strict", message);
        }
        if self.quanta.len() > usize::from(self.queues) {
            let message =
                format!("{} quanta are given, and switch.queues is {}", self.quanta.len(), self.queues);
            reading.wrong_key("switch.quanta", message);
        }
        for (i, own) in self.buffers.iter().enumerate() {
            for (j, text) in own.switches.iter().enumerate() {
                if scope.fabric.is_some_and(|fabric| named(text, &fabric.network).is_empty()) {
                    let message = format!("there is no switch {text:?} and no tier of this name");
                    reading.wrong_key(&format!("switch.buffers.{i}.switches.{j}"), message);
                }
            }
        }
        if let Some(pfc) = &self.pfc {
            if pfc.queues.is_some_and(QueueSet::is_empty) {
                let message = "names no queue: without [switch.pfc] no queue is lossless";
                reading.wrong_key("switch.pfc.queues", message);
            }
            for queue in pfc.queues.iter().flat_map(|queues| queues.iter()) {
                scope.check_queue("switch.pfc.queues", queue, reading);
            }
            for (key, size) in sizes(self) {
                match size {
                    Buffer::PerPort(_) => {
                        let key =
                            if key == "switch" { "switch.pfc".to_owned() } else { format!("{key}.buffer") };
                        let message = "needs a shared or an unlimited buffer: PFC accounts by ingress port, per_port by egress port";
                        reading.wrong_key(&key, message);
                    }
                    Buffer::Unlimited if pfc.xoff.is_none() => {
                        let message = "never pauses: the buffer is unlimited, so that xoff must be a size";
                        reading.wrong_key("switch.pfc.xoff", message);
                    }
                    _ => {}
                }
            }
            if let Some(xoff) = pfc.xoff
                && pfc.xon_offset > xoff
            {
                let message =
                    format!("{} is more than xoff, {xoff}: a paused port would never resume", pfc.xon_offset);
                reading.wrong_key("switch.pfc.xon_offset", message);
            }
        }
        self.bfc.check(scope, reading);
        check_buffers(self, scope, reading);
    }
}
