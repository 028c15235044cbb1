//! The sections of a scenario other than topology, traffic and algorithm.

use incast_cc::Fixed;
use incast_sim::describe::switch::{Buffer, MAX_QUEUES, Scheduler};
use incast_sim::describe::transport::Transport as SimTransport;
use incast_sim::describe::{self, switch};
use incast_units::{Bytes, Rate, Time};

use super::cc::Cc;
use super::reading::Reading;
use super::section::{choice, defaults, section};
use super::setting::{Auto, Bound, Setting, Shape};
use super::tree::{Node, Value};
use super::write::Out;
use crate::topology::Topology;
use crate::traffic::Block;

section! {
    /// A scenario: everything that decides the result of a run.
    pub(crate) struct Root {
        /// Its name; the file's when absent.
        name: Option<String> = None,
        /// Seed of every random draw.
        seed: u64 = 1,
        /// The network.
        topology: Topology,
        /// What every switch does.
        switch: Switch = defaults()?,
        /// What every host does.
        transport: Transport = defaults()?,
        /// The congestion control algorithm.
        cc: Option<Cc> = None,
        /// The flows.
        traffic: Vec<Block>,
        /// What to measure beyond totals and flow completions.
        probe: Probe = defaults()?,
        /// When the run ends.
        run: Run = defaults()?,
    }
}

choice! {
    Scheduler {
        "strict-priority" => StrictPriority: "the lowest-numbered queue that holds a packet",
        "round-robin" => RoundRobin: "one packet from each queue in turn",
    }
}

section! {
    /// What every switch does with packets.
    pub(crate) struct Switch {
        /// The packet buffer: an amount shared by all ports with dynamic thresholds, `"unlimited"`, or
        /// `{ per_port = "800KB" }` for a drop-tail limit for each port.
        buffer: BufferSize = BufferSize::Shared(Bytes::new(32_000_000)); Bound::Positive,
        /// Guaranteed to every (ingress port, priority) of a shared buffer under PFC.
        reserve: Bytes = Bytes::new(4096),
        /// With PFC, an (ingress port, priority) may hold this times the free part of a shared buffer.
        ingress_alpha: Fixed = Fixed::ratio(1, 4); Bound::Positive,
        /// Without PFC, an (egress port, queue) may hold this times the free part of a shared buffer.
        egress_alpha: Fixed = Fixed::ONE; Bound::Positive,
        /// Queues (priorities) of each port; queue 0 is served first under strict priority.
        queues: u8 = 1; Bound::Count(1, MAX_QUEUES as u64),
        /// In which order the queues are served.
        scheduler: Scheduler = Scheduler::StrictPriority,
        /// Priority flow control; without it the fabric drops packets.
        pfc: Option<Pfc> = None,
        /// ECN marking.
        ecn: Option<Ecn> = None,
    }
}

section! {
    /// Priority flow control (IEEE 802.1Qbb) on every queue.
    pub(crate) struct Pfc {
        /// Pause at this much; `"auto"`: at the dynamic threshold of the shared buffer.
        xoff: Auto<Bytes> = Auto(None); Bound::Positive,
        /// Resume this far below the threshold.
        xon_offset: Bytes = Bytes::new(3072),
        /// Room for what is on its way when the pause goes out, for each (ingress port, priority);
        /// `"auto"`: from the link's rate and delay and the largest packet.
        headroom: Auto<Bytes> = Auto(None),
    }
}

section! {
    /// Random early marking by queue length: none up to `kmin`, all above `kmax`, in between rising
    /// linearly to `pmax`.
    pub(crate) struct Ecn {
        /// No marks up to this length.
        kmin: Bytes,
        /// Certain marks above this length.
        kmax: Bytes; Bound::Positive,
        /// Probability of a mark just below `kmax`.
        pmax: Fixed; Bound::Ratio(Fixed::ZERO, Fixed::ONE),
        /// The link rate that `kmin` and `kmax` are meant for: they scale with a port's rate. When
        /// absent they hold at every rate.
        reference: Option<Rate> = None; Bound::Positive,
    }
}

section! {
    /// What every host does: packet sizes, acknowledgements, loss recovery.
    pub(crate) struct Transport {
        /// Payload of a full data packet.
        payload: Bytes = SimTransport::default().payload; Bound::Positive,
        /// Header of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8, BTH 12.
        header: Bytes = SimTransport::default().header,
        /// What an acknowledgement carries beyond the header.
        ack_extra: Bytes = SimTransport::default().ack_extra,
        /// Smallest packet on the wire.
        smallest: Bytes = SimTransport::default().smallest; Bound::Positive,
        /// One acknowledgement for so many data packets.
        ack_every: u32 = SimTransport::default().ack_every; Bound::Count(1, 255),
        /// A held acknowledgement leaves after this long at the latest.
        ack_delay: Time = SimTransport::default().ack_delay; Bound::Positive,
        /// Queue of acknowledgements; when absent that of their flow.
        ack_queue: Option<u8> = None,
        /// Queue of congestion notification packets.
        cnp_queue: u8 = SimTransport::default().cnp_queue,
        /// Shortest time between two congestion notifications to one flow.
        cnp_interval: Time = SimTransport::default().cnp_interval; Bound::Positive,
        /// Shortest time between two NACKs for the same missing packet.
        nack_interval: Time = SimTransport::default().nack_interval; Bound::Positive,
        /// Retransmission timer; doubles with each expiry in a row, up to 64 times.
        rto: Time = SimTransport::default().rto; Bound::Positive,
    }
}

section! {
    /// Time series to record; totals and flow completions are always kept.
    pub(crate) struct Probe {
        /// Ports: `"s0->h15"`, `"to h15"`, `"s0:15"`, `"h3"`, `"s0"`, `"all switch ports"`,
        /// `"all host ports"`.
        ports: Vec<String> = Vec::new(),
        /// Flows: `"all"`, a block's name, or `"name.3"` for its fourth flow to start.
        flows: Vec<String> = Vec::new(),
        /// Time between two samples of a port.
        interval: Time = Time::from_us(1); Bound::Positive,
        /// Time between two samples of a flow.
        flow_interval: Time = interval?; Bound::Positive,
        /// Ports whose packets are captured as they begin to leave; written like `ports`.
        captures: Vec<String> = Vec::new(),
        /// Whether every pause and resume of a port is recorded.
        pauses: bool = false,
        /// First sample.
        from: Time = Time::ZERO,
        /// No sample after this.
        until: Option<Time> = None,
    }
}

section! {
    /// When the run ends.
    pub(crate) struct Run {
        /// Simulated time at which it ends even when flows are left; when absent it ends with the last
        /// flow.
        until: Option<Time> = None; Bound::Positive,
        /// It gives up when nothing has arrived anywhere for this long while flows are unfinished.
        stall_after: Time = Time::from_s(1); Bound::Positive,
    }
}

/// How large the buffer is and who shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferSize {
    Unlimited,
    Shared(Bytes),
    PerPort(Bytes),
}

section! {
    /// A drop-tail limit for each port.
    pub(crate) struct PerPort {
        /// The limit, shared by the port's queues.
        per_port: Bytes; Bound::Positive,
    }
}

impl Setting for BufferSize {
    fn shape() -> Shape {
        let unlimited = Shape::Choice(vec![("unlimited", "as much as is needed")]);
        Shape::Either(vec![Bytes::shape(), unlimited, PerPort::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "unlimited" => Some(Self::Unlimited),
            Value::Table(_) => PerPort::read(node, key, reading).map(|limit| Self::PerPort(limit.per_port)),
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

impl Switch {
    /// The same for the simulator.
    pub(super) fn describe(&self) -> switch::Switch {
        switch::Switch {
            buffer: match self.buffer {
                BufferSize::Unlimited => Buffer::Unlimited,
                BufferSize::PerPort(limit) => Buffer::PerPort(limit),
                BufferSize::Shared(size) => Buffer::Shared {
                    size,
                    reserve: self.reserve,
                    ingress_alpha: self.ingress_alpha,
                    egress_alpha: self.egress_alpha,
                },
            },
            pfc: self.pfc.as_ref().map(|pfc| switch::Pfc {
                xoff: pfc.xoff.0,
                xon_offset: pfc.xon_offset,
                headroom: pfc.headroom.0,
            }),
            ecn: self.ecn.as_ref().map(|ecn| switch::Ecn {
                kmin: ecn.kmin,
                kmax: ecn.kmax,
                pmax: ecn.pmax,
                reference: ecn.reference,
            }),
            queues: self.queues,
            scheduler: self.scheduler,
        }
    }
}

impl Transport {
    /// The same for the simulator.
    pub(super) fn describe(&self) -> SimTransport {
        describe::transport::Transport {
            payload: self.payload,
            header: self.header,
            ack_extra: self.ack_extra,
            smallest: self.smallest,
            ack_every: self.ack_every,
            ack_delay: self.ack_delay,
            ack_queue: self.ack_queue,
            cnp_queue: self.cnp_queue,
            cnp_interval: self.cnp_interval,
            nack_interval: self.nack_interval,
            rto: self.rto,
        }
    }
}

impl Root {
    /// Keys that cannot matter with the other settings as they are, each with the reason. Writing one
    /// of them is refused; the effective scenario leaves them out.
    pub(super) fn idle(&self) -> Vec<(String, String)> {
        let mut idle = Vec::new();
        let mut add = |key: &str, reason: &str| idle.push((key.to_owned(), reason.to_owned()));
        if !matches!(self.switch.buffer, BufferSize::Shared(_)) {
            let reason = "has no effect: the buffer is not shared by the ports";
            for key in ["switch.reserve", "switch.ingress_alpha", "switch.egress_alpha"] {
                add(key, reason);
            }
            if self.switch.pfc.is_some() && self.switch.buffer == BufferSize::Unlimited {
                add("switch.pfc.headroom", "has no effect: the buffer is unlimited");
            }
        }
        let probe = &self.probe;
        if probe.ports.is_empty() && probe.flows.is_empty() {
            let reason = "has no effect: neither probe.ports nor probe.flows names anything to sample";
            add("probe.interval", reason);
            if probe.captures.is_empty() {
                add("probe.from", reason);
                add("probe.until", reason);
            }
        }
        if probe.flows.is_empty() {
            add("probe.flow_interval", "has no effect: probe.flows names nothing to sample");
        }
        if self.switch.pfc.is_none() && probe.pauses {
            add("probe.pauses", "has no effect: without [switch.pfc] no port is ever paused");
        }
        if self.cc.is_some() && !self.traffic.is_empty() && self.traffic.iter().all(|b| b.common.cc.is_some())
        {
            add("cc", "has no effect: every traffic block has its own");
        }
        idle
    }
}
