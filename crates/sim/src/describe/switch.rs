//! What a switch does with packets: buffer, flow control, marking, scheduling.

use incast_cc::Fixed;
use incast_units::{Bytes, Rate, Time};

pub use crate::switch::path::PathPolicy;
pub use crate::switch::scheduler::Scheduler;

/// Most queues (priorities) that a port has.
pub const MAX_QUEUES: usize = 128;

/// The behaviour that all switches share. The default is the plainest switch: one queue, as much
/// buffer as is needed, no marks and no pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The packet buffer.
    pub buffer: Buffer,
    /// Priority flow control; `None` for a lossy fabric.
    pub pfc: Option<Pfc>,
    /// ECN marking; `None` for none.
    pub ecn: Option<Ecn>,
    /// Queues of each port, 1 to [`MAX_QUEUES`].
    pub queues: u8,
    /// In which order they are served.
    pub scheduler: Scheduler,
    /// Bytes that [`Scheduler::Drr`] grants each queue at a visit, by queue; a queue without a value has
    /// [`DEFAULT_QUANTUM`].
    pub quanta: Vec<Bytes>,
    /// Which of several equally short ports a packet takes.
    pub path: PathPolicy,
    /// The order in which the path policy counts these ports.
    pub next_hops: NextHops,
    /// What is left of a telemetry record in a packet.
    pub telemetry: Telemetry,
}

/// What deficit round robin grants a queue unless it is told: one packet of Ethernet's usual largest
/// size, so that a visit always sends.
pub const DEFAULT_QUANTUM: Bytes = Bytes::new(1518);

impl Default for Switch {
    fn default() -> Self {
        Self {
            buffer: Buffer::Unlimited,
            pfc: None,
            ecn: None,
            queues: 1,
            scheduler: Scheduler::StrictPriority,
            quanta: Vec::new(),
            path: PathPolicy::Ecmp,
            next_hops: NextHops::Ascending,
            telemetry: Telemetry::Exact,
        }
    }
}

impl Switch {
    /// The quantum of a queue.
    pub(crate) fn quantum(&self, queue: usize) -> Bytes {
        self.quanta.get(queue).copied().unwrap_or(DEFAULT_QUANTUM)
    }

    /// What is wrong with these settings by themselves.
    pub(crate) fn problem(&self) -> Option<String> {
        if !(1..=MAX_QUEUES).contains(&usize::from(self.queues)) {
            return Some(format!("a port has 1 to {MAX_QUEUES} queues, not {}", self.queues));
        }
        if self.quanta.len() > usize::from(self.queues) {
            return Some(format!("{} quanta are given for {} queues", self.quanta.len(), self.queues));
        }
        let none = self.quanta.iter().position(|quantum| *quantum == Bytes::ZERO)?;
        Some(format!("the quantum of queue {none} is zero: it would never be served"))
    }
}

/// The order in which equally short ports are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHops {
    /// By port number.
    Ascending,
    /// From the highest port number.
    Descending,
}

/// What is left of a telemetry record in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// Every value, to the byte and the picosecond.
    Exact,
    /// As in HPCC's 64-bit record: queue length in units of 80 B · `multiple` in 17 bits, transmitted
    /// bytes in units of 128 B · `multiple`, time in nanoseconds, all rounded down. Its public ns-3
    /// simulator takes a multiple of 1 up to 25 Gbps and 4 at 100 Gbps.
    Packed {
        /// How much coarser the units are; 0 counts as 1.
        multiple: u32,
    },
}

/// How much a switch can hold and who may take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// As much as is needed.
    Unlimited,
    /// A drop-tail limit for each port, shared by its queues; no sharing between ports.
    PerPort(Bytes),
    /// One buffer for all ports, with dynamic thresholds (Choudhury and Hahne 1998).
    Shared {
        /// All of it: shared part, reserves and PFC headroom together.
        size: Bytes,
        /// Guaranteed to every (ingress port, priority) before it draws on the shared part.
        reserve: Bytes,
        /// A lossless (ingress port, priority) may hold up to α × the free shared part.
        ingress_alpha: Fixed,
        /// A lossy (egress port, queue) may hold up to α × the free shared part.
        egress_alpha: Fixed,
    },
}

/// Priority flow control (IEEE 802.1Qbb), on every data queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// When to pause. `None`: at the dynamic threshold of the shared buffer.
    pub xoff: Option<Bytes>,
    /// Resume when usage is this far below the threshold.
    pub xon_offset: Bytes,
    /// Room for what is still on its way when the pause goes out, for each (ingress port,
    /// priority). `None`: computed from the link's rate, delay and the largest packet.
    pub headroom: Option<Bytes>,
}

impl Pfc {
    /// The room that a lossless (ingress port, priority) needs for what still arrives after its
    /// usage crossed the pause threshold, on a link of this rate and one-way delay, for packets of
    /// at most `packet` bytes and `queues` priorities.
    ///
    /// The packet that crosses the threshold itself; the pause frame waits for one packet that is
    /// being sent the other way and for the other priorities' frames, and takes its own time; then
    /// the delay there, one packet that the far end has just begun, and the delay back:
    /// `2 · rate · delay + 3 · packet + 64 B · queues`.
    #[must_use]
    pub fn headroom_for(rate: Rate, delay: Time, packet: Bytes, queues: u8) -> Bytes {
        // One byte more for each product, which rounds down.
        rate.bytes_in(delay).times(2) + packet.times(3) + Bytes::new(64 * u64::from(queues) + 2)
    }
}

/// Random early marking at dequeue, by the length of the packet's own queue after it left.
///
/// Up to `kmin` never, from `kmax` on always, linear up to `pmax` in between. `kmin` and `kmax` hold
/// at `reference` and scale with the port's rate; with no reference they hold at every rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// No marks up to this length.
    pub kmin: Bytes,
    /// Certain marks from this length on.
    pub kmax: Bytes,
    /// Probability of a mark just below `kmax`.
    pub pmax: Fixed,
    /// The link rate at which `kmin` and `kmax` are meant.
    pub reference: Option<Rate>,
}
