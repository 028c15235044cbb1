//! Behaviour of a host: packet sizes, acknowledgements, loss recovery.

use incast_cc::Fixed;
pub use incast_cc::receiver::{AckEvery, Acknowledging};
use incast_units::{Bytes, Time};

use super::control::{Controller, OwnControl};
use super::named::{Named, named};

named! {
    /// The transport of the hosts.
    pub enum Kind {
        "window" => Window: "windows and rates set by a congestion control at the sender",
        "ndp" => Ndp: "a first window at line rate, then packets that the receiver pulls; for switches that trim",
        "homa" => Homa: "messages granted by their receiver, the shortest first, with priorities (Homa)",
    }
    examples { Credits, }
}

impl Kind {
    /// Whether flows have a congestion control at the sender.
    #[must_use]
    pub const fn is_controlled(self) -> bool {
        self.own_control().is_none()
    }

    /// Whether answers of receivers are spread as the packets that cause them are
    /// ([`Acknowledgements`](super::balancing::Acknowledgements)); if not, they take one path by their flow's hash.
    #[must_use]
    pub const fn spreads_answers(self) -> bool {
        match self {
            Self::Window | Self::Ndp => true,
            Self::Homa => false,
            #[cfg(feature = "examples")]
            Self::Credits => false,
        }
    }

    /// Its own congestion control; `None` if an algorithm at the sender controls it.
    #[must_use]
    pub const fn own_control(self) -> Option<OwnControl> {
        match self {
            Self::Ndp => Some(OwnControl {
                title: "NDP",
                controller: Controller::Receivers,
                needs: "switches that trim packets to headers (prototype: 2017; optional in Ultra Ethernet: 2025)",
            }),
            Self::Homa => Some(OwnControl {
                title: "Homa",
                controller: Controller::Receivers,
                needs: "switches with eight priorities; hosts that know sizes of messages (Linux kernel module: 2021)",
            }),
            #[cfg(feature = "examples")]
            Self::Credits => Some(OwnControl {
                title: "Credits",
                controller: Controller::Receivers,
                needs: "switches that drop nothing",
            }),
            Self::Window => None,
        }
    }
}

named! {
    /// The loss recovery.
    pub enum Recovery {
        "go-back-n" => GoBackN: "everything from the lost packet on is sent again",
        "selective" => Selective:
            "only lost packets are sent again; the receiver keeps those that arrive out of order",
    }
    examples { ResendOldest, }
}

/// Largest number of doublings of a retransmission timeout.
pub const LARGEST_BACKOFF: u8 = 6;

/// The base RTT that a flow's algorithm is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseRtt {
    /// The base RTT of the flow's own path.
    #[default]
    Path,
    /// The largest of the network, for every flow, as in the evaluations of HPCC and PowerTCP
    /// (NSDI 2022, section 4.1: "the maximum RTT in our topology").
    Network,
    /// One value for every flow.
    Value(Time),
}

named! {
    /// Bytes of a packet that count against a window.
    pub enum Counting {
        "wire" => Wire: "the size of a packet on the wire",
        "payload" => Payload: "its payload alone, as in HPCC's ns-3 tree",
    }
}

named! {
    /// The packet of which an acknowledgement is a sample of the round trip.
    pub enum Sample {
        "packet" => Packet: "the one that caused it",
        "cumulative" => Cumulative: "the last one in order, by the cumulative number, as in OSCAR's artifact",
    }
}

named! {
    /// The time from which the next packet of a paced flow is due.
    pub enum Pacing {
        "restart" => Restart: "when the packet before it began to leave: time that it waited for others is lost",
        "keep" => Keep: "when the packet before it was due, if that was at most the time between two packets ago",
    }
}

named! {
    /// The congestion state of a connection that has nothing to send and nothing in flight.
    pub enum AfterIdle {
        "keep" => Keep: "stays as it is, and its timers run on",
        "restart" => Restart: "is that of a new flow after idle_after without a packet",
    }
}

pub use incast_recovery::Repair;

impl Named for Repair {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Threshold, "threshold", "when repair_threshold packets with higher numbers have arrived"),
        (Self::Lazy, "lazy", "when a packet that was sent repair_delay later has arrived"),
        (Self::Never, "never", "never"),
    ];
}

/// NDP's first window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstWindow {
    /// The bandwidth-delay product of the flow's path, in whole packets.
    #[default]
    Bdp,
    /// This number of packets.
    Packets(u32),
}

/// Largest first window of NDP, in packets.
pub const LARGEST_FIRST_WINDOW: u32 = 16_384;

/// Settings of [`Kind::Ndp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ndp {
    /// Packets that a flow sends without being pulled.
    pub first_window: FirstWindow,
    /// Rate of a receiver's pulls: this part of the rate of its first link, in full data packets.
    pub pull_rate: Fixed,
    /// A packet that was not answered for this long is sent again. Doubles with each consecutive expiry, up to 64
    /// times this.
    pub rto: Time,
}

impl Default for Ndp {
    fn default() -> Self {
        Self { first_window: FirstWindow::Bdp, pull_rate: Fixed::ONE, rto: Time::from_ms(1) }
    }
}

/// The behaviour that all hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The transport protocol.
    pub kind: Kind,
    /// The loss recovery.
    pub recovery: Recovery,
    /// With [`Recovery::Selective`]: when a packet is lost.
    pub repair: Repair,
    /// With [`Repair::Threshold`]: how many packets with higher numbers must have arrived.
    pub repair_threshold: u32,
    /// With [`Repair::Lazy`]: how much later a packet must have been sent that has arrived; `None`: the base
    /// RTT of the flow's path.
    pub repair_delay: Option<Time>,
    /// The base RTT that algorithms are given.
    pub base_rtt: BaseRtt,
    /// Bytes of a packet that count against windows.
    pub counting: Counting,
    /// The schedule of flows that have a rate.
    pub pacing: Pacing,
    /// The packet whose sending time, and other values on record at the sender, algorithms are given with an
    /// acknowledgement.
    pub sample: Sample,
    /// Size of an acknowledgement before what the algorithm adds; `None`: `header` and `ack_extra`.
    pub ack_size: Option<Bytes>,
    /// Payload of a full data packet.
    pub payload: Bytes,
    /// Header bytes of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8,
    /// BTH 12.
    pub header: Bytes,
    /// Additional bytes of an acknowledgement (AETH 4), before what the algorithm adds.
    pub ack_extra: Bytes,
    /// Smallest packet on the wire.
    pub smallest: Bytes,
    /// The amount that one acknowledgement covers; the acknowledgement of a flow's last packet is never held.
    pub ack_every: AckEvery,
    /// Whether the acknowledgement of a marked packet is never held.
    pub ack_on_mark: bool,
    /// Longest time for which an acknowledgement is held; `None`: [`Transport::ACK_DELAY`] of the base RTT of the flow's path.
    pub ack_delay: Option<Time>,
    /// Queue (priority) of acknowledgements in the switches; `None`: their flow's queue.
    pub ack_queue: Option<u8>,
    /// Queue of congestion notification packets.
    pub cnp_queue: u8,
    /// Shortest time between two congestion notifications of one flow.
    pub cnp_interval: Time,
    /// Shortest time between two NACKs for the same missing packet.
    pub nack_interval: Time,
    /// Retransmission timeout: if the cumulative acknowledgement does not advance for this long, everything
    /// unacknowledged is retransmitted. Doubles with each consecutive expiry, up to 64 times this.
    pub rto: Time,
    /// The congestion state of a connection that was idle.
    pub idle: AfterIdle,
    /// With [`AfterIdle::Restart`]: the time since the last packet beyond which that holds; `None`: `rto`.
    pub idle_after: Option<Time>,
    /// Settings of [`Kind::Ndp`].
    pub ndp: Ndp,
    /// Settings of [`Kind::Homa`].
    pub homa: Homa,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: Kind::Window,
            recovery: Recovery::GoBackN,
            repair: Repair::Threshold,
            repair_threshold: 3,
            repair_delay: None,
            base_rtt: BaseRtt::Path,
            counting: Counting::Wire,
            pacing: Pacing::Restart,
            sample: Sample::Packet,
            ack_size: None,
            payload: Bytes::new(1000),
            header: Bytes::new(54),
            ack_extra: Bytes::new(4),
            smallest: Bytes::new(64),
            ack_every: AckEvery::Packets(1),
            ack_on_mark: false,
            ack_delay: None,
            ack_queue: None,
            cnp_queue: 0,
            cnp_interval: Time::from_us(50),
            nack_interval: Time::from_us(500),
            rto: Time::from_ms(10),
            idle: AfterIdle::Keep,
            idle_after: None,
            ndp: Ndp::default(),
            homa: Homa::default(),
        }
    }
}

impl Transport {
    /// The base RTT over the longest time for which an acknowledgement is held, where no time is given: a window that no
    /// acknowledgement covers waits that long in every round trip.
    pub const ACK_DELAY: u64 = 8;

    /// Returns the longest time for which an acknowledgement is held on a path with this base RTT.
    #[must_use]
    pub fn ack_delay(&self, base_rtt: impl FnOnce() -> Time) -> Time {
        self.ack_delay.unwrap_or_else(|| base_rtt().times_ratio(1, Self::ACK_DELAY))
    }

    /// The longest time without a packet after which a connection still has its congestion state;
    /// [`Time::NEVER`]: it always has.
    #[must_use]
    pub fn idle_limit(&self) -> Time {
        match self.idle {
            AfterIdle::Keep => Time::NEVER,
            AfterIdle::Restart => self.idle_after.unwrap_or(self.rto),
        }
    }

    /// The shortest time after which a host sends something again that was not answered, with its key; `None` if it
    /// never does.
    #[must_use]
    pub const fn timeout(&self) -> Option<(&'static str, Time)> {
        match self.kind {
            Kind::Window => Some(("transport.rto", self.rto)),
            Kind::Ndp => Some(("transport.ndp.rto", self.ndp.rto)),
            Kind::Homa => Some(("transport.homa.resend_timeout", self.homa.resend_timeout)),
            #[cfg(feature = "examples")]
            Kind::Credits => None,
        }
    }

    /// Time for which nothing new can arrive although every loss is still repaired: until a timeout has expired with
    /// all its doublings, or until a host has given up.
    #[must_use]
    pub fn patience(&self) -> Time {
        let times = match self.kind {
            // 1 + 2 + 4 + … + 64, and one for the way of the packet.
            Kind::Window | Kind::Ndp => 2 << LARGEST_BACKOFF,
            // A sender waits for twice this.
            Kind::Homa => 2 * (u64::from(self.homa.resend_tries) + 1),
            #[cfg(feature = "examples")]
            Kind::Credits => 0,
        };
        self.timeout().map_or(Time::ZERO, |(_, timeout)| timeout.times(times))
    }
}

named! {
    /// Choice of the scheduled priority levels when fewer messages are active than there are levels.
    pub enum ScheduledOrder {
        "lowest" => Lowest: "the lowest ones, so that a message that becomes active later can have a higher one",
        "highest" => Highest: "the highest ones",
    }
}

named! {
    /// The level of a message's last RTTbytes, where these need a grant.
    pub enum LastRttBytes {
        "scheduled" => Scheduled: "the level of its grants",
        "unscheduled" => Unscheduled: "the level of its first packets",
    }
}

/// The number of priority levels of unscheduled packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnscheduledLevels {
    /// A fixed number.
    Count(u8),
    /// The share of unscheduled bytes in the bytes of all flows × the number of levels, rounded to the nearest
    /// whole number (halves up); at least 1, and at least one level is left for scheduled packets.
    Rule,
}

/// Largest number of messages that a receiver grants at the same time.
pub const MAX_OVERCOMMITMENT: u32 = 64;

/// Homa's RTTbytes: the bytes of a message that are sent without a grant, and how far grants exceed what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RttBytes {
    /// The largest base RTT of the network × the highest rate of a host's port, rounded down to bytes.
    #[default]
    Network,
    /// The base RTT between the source and the destination of the message × the rate of the path, of equally short
    /// paths the largest of both, rounded down to bytes.
    Pair,
    /// One size for all messages.
    Value(Bytes),
}

/// Settings of Homa (Montazeri et al., SIGCOMM 2018). Every size is one of payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homa {
    /// Bytes of a message that are sent without a grant, and how far grants exceed what has arrived; rounded
    /// up to whole packets.
    pub rtt_bytes: RttBytes,
    /// Number of messages that a receiver grants at the same time, at most [`MAX_OVERCOMMITMENT`]; `None`: the number of
    /// levels for scheduled packets.
    pub overcommitment: Option<u32>,
    /// Number of priority levels, which are the queues from 0 (the highest) on; `None`: all queues.
    pub levels: Option<u8>,
    /// Number of them, from the highest on, that are for unscheduled packets.
    pub unscheduled: UnscheduledLevels,
    /// Largest size of the messages of each unscheduled level but the last, increasing. Empty: so that each
    /// level carries about the same number of unscheduled bytes of the flows.
    pub cutoffs: Vec<Bytes>,
    /// Choice of the scheduled levels when not all are needed.
    pub scheduled: ScheduledOrder,
    /// The level of a message's last RTTbytes.
    pub last_rtt_bytes: LastRttBytes,
    /// A receiver that has granted bytes and has received nothing new of a message for this long requests the
    /// missing packets; a sender that has heard nothing for twice this long sends the first packet again.
    pub resend_timeout: Time,
    /// Number of times in a row that either does so.
    pub resend_tries: u32,
    /// Largest number of bytes that a receiver has granted and not received, over all messages and with
    /// unscheduled bytes included, at which it grants more; `None`: no limit.
    pub cap: Option<Bytes>,
    /// The part of what a receiver grants that goes to the oldest message; at most a half, zero for none.
    pub oldest_share: Fixed,
    /// Amount that the oldest message is granted at a time, rounded down to whole packets.
    pub oldest_step: Bytes,
}

impl Default for Homa {
    fn default() -> Self {
        Self {
            rtt_bytes: RttBytes::Network,
            overcommitment: None,
            levels: None,
            unscheduled: UnscheduledLevels::Count(2),
            cutoffs: Vec::new(),
            scheduled: ScheduledOrder::Lowest,
            last_rtt_bytes: LastRttBytes::Scheduled,
            resend_timeout: Time::from_ms(1),
            resend_tries: 5,
            cap: None,
            oldest_share: Fixed::ZERO,
            oldest_step: Bytes::new(50_000),
        }
    }
}
