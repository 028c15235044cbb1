//! Admission to a switch's packet buffer, and the thresholds of PFC.

use incast_cc::Fixed;
use incast_units::{Bytes, Rate, Time};

use crate::canary::{self, Canary};
use crate::describe::network::{NodeId, Out};
use crate::describe::switch as describe;

/// A switch's buffer and its usage by (ingress port, priority).
#[derive(Debug)]
pub struct Buffer {
    rule: Rule,
    /// Total bytes in use.
    held: u64,
    /// Maximum of the bytes in use.
    peak: u64,
    /// Total size.
    size: u64,
    /// Per (ingress port, priority), in switches with PFC; of a lossy priority there is none.
    ingress: Vec<Option<Ingress>>,
    /// With PFC: an egress queue is limited to this multiple of the free part of the whole buffer.
    egress_limit: Option<Fixed>,
    /// With PFC: whether the headroom of every port is at least the proven need, and pauses are obeyed.
    has_headroom: bool,
}

#[derive(Debug)]
enum Rule {
    Unlimited,
    PerPort(u64),
    Shared { pool: u64, used: u64, reserve: u64, egress_alpha: Fixed },
}

/// The usage of a lossless (ingress port, priority).
#[derive(Clone, Debug)]
struct Ingress {
    held: u64,
    reserved: u64,
    headroom_used: u64,
    headroom: u64,
    paused: bool,
    /// Static threshold.
    xoff: Option<u64>,
    xon_offset: u64,
    alpha: Fixed,
}

/// The rule by which a switch pauses the far end of a link into it, for each lossless priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pausing {
    /// Static threshold; `None`: the dynamic threshold of the shared buffer.
    pub xoff: Option<Bytes>,
    /// The dynamic threshold is this multiple of the free shared part.
    pub alpha: Fixed,
    /// It resumes this far below the threshold.
    pub xon_offset: Bytes,
    /// Room for packets that arrive after a pause was triggered.
    pub headroom: Bytes,
    /// Bytes that the link has before it uses the shared part.
    pub reserve: Bytes,
}

/// The admission decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is admitted.
    Stay,
    /// It is admitted, and the far end must be paused.
    StayAndPause,
    /// It is dropped.
    Drop,
}

impl Buffer {
    /// The buffer of a switch with these ports.
    ///
    /// # Errors
    /// When reserves and headroom leave no shared part, or the buffer is one per port and PFC is on.
    pub fn new(
        description: &describe::Switch,
        node: NodeId,
        ports: &[Out],
        largest_packet: Bytes,
    ) -> Result<Self, String> {
        let buffer = description.buffer_of(node);
        let pausing = |out: &Out| Pausing::new(description, node, out.rate, out.delay, largest_packet);
        let lossless = description.lossless();
        let of_port = |pausing| {
            let of_queue = move |queue| lossless.contains(queue).then(|| Ingress::new(&pausing));
            (0..description.queues).map(of_queue)
        };
        let ingress: Vec<Option<Ingress>> = ports.iter().filter_map(pausing).flat_map(of_port).collect();
        let (rule, size) = match buffer {
            describe::Buffer::Unlimited => (Rule::Unlimited, u64::MAX),
            describe::Buffer::PerPort(_) if description.pfc.is_some() => {
                return Err("PFC needs a shared or an unlimited buffer, not one per port".into());
            }
            describe::Buffer::PerPort(limit) => {
                (Rule::PerPort(limit.get()), limit.get().saturating_mul(ports.len() as u64))
            }
            describe::Buffer::Shared(size) => {
                let (reserve, egress_alpha) = (description.reserve, description.egress_alpha);
                let accounts = || ingress.iter().flatten();
                let headroom: u64 = accounts().map(|i| i.headroom).sum();
                let reserves = reserve.get() * accounts().count() as u64;
                let Some(pool) = size.get().checked_sub(headroom + reserves).filter(|p| *p > 0) else {
                    return Err(format!(
                        "a buffer of {size} cannot hold {} of PFC headroom and {} of reserves",
                        Bytes::new(headroom),
                        Bytes::new(reserves)
                    ));
                };
                (Rule::Shared { pool, used: 0, reserve: reserve.get(), egress_alpha }, size.get())
            }
        };
        let egress_limit = match buffer {
            describe::Buffer::Shared(_) if description.egress_limit => Some(description.egress_alpha),
            _ => None,
        };
        let enough = |out: &Out| {
            let priorities = lossless.len() as u8;
            let need = describe::Pfc::headroom_for(out.rate, out.delay, largest_packet, priorities);
            description.headroom(out.rate, out.delay, largest_packet) >= need
        };
        // Where a watchdog forwards, more may come than headroom is made for.
        let forwards =
            description.watchdog().is_some_and(|watchdog| watchdog.action == describe::Storm::Forward);
        let has_headroom = !forwards && ports.iter().all(enough);
        Ok(Self { rule, held: 0, peak: 0, size, ingress, egress_limit, has_headroom })
    }

    /// Returns the bytes in use.
    #[must_use]
    pub const fn held(&self) -> Bytes {
        Bytes::new(self.held)
    }

    /// Returns the maximum of the bytes in use.
    #[must_use]
    pub const fn peak(&self) -> Bytes {
        Bytes::new(self.peak)
    }

    /// Whether nothing is in use and nobody is paused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held == 0 && self.ingress.iter().flatten().all(|ingress| ingress.held == 0 && !ingress.paused)
    }

    /// Returns the total size; without a limit [`u64::MAX`] bytes.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    /// Returns whether ports share it, so that what one holds is not there for others.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.rule, Rule::Shared { .. })
    }

    /// Whether packets pause the far ends of links, as packets of lossless priorities do with PFC.
    #[must_use]
    pub fn pauses(&self) -> bool {
        !self.ingress.is_empty()
    }

    /// Whether packets from `ingress` (as in [`Buffer::admit`]) pause the far end of their link.
    #[must_use]
    pub fn may_pause(&self, ingress: usize) -> bool {
        self.ingress.get(ingress).is_some_and(Option::is_some)
    }

    /// Whether the loss of a packet from `ingress` (as in [`Buffer::admit`]) is a violation: where it is lossless, unless
    /// queues are limited, the headroom given is below [`Pfc::headroom_for`](describe::Pfc::headroom_for), or a watchdog
    /// ignores pauses, with which loss is a result.
    #[must_use]
    pub fn is_lossless(&self, ingress: usize) -> bool {
        self.may_pause(ingress) && self.egress_limit.is_none() && self.has_headroom
    }

    /// Admits or drops a packet of `size` bytes from `ingress` (port times queues plus queue) to an egress
    /// queue of `queue_length` bytes, on a port with `port_length` bytes in its queues.
    #[inline]
    pub fn admit(&mut self, ingress: usize, queue_length: u64, port_length: u64, size: u64) -> Admission {
        let more = u64::from(canary::is_on(Canary::Threshold));
        let admission = match self.ingress.get_mut(ingress).and_then(Option::as_mut) {
            Some(_)
                if self
                    .egress_limit
                    .is_some_and(|a| queue_length + size > a.scale(self.size - self.held)) =>
            {
                Admission::Drop
            }
            Some(from) => from.admit(&mut self.rule, size),
            None => match &mut self.rule {
                Rule::Unlimited => Admission::Stay,
                Rule::PerPort(limit) if port_length + size <= *limit + more => Admission::Stay,
                Rule::PerPort(_) => Admission::Drop,
                Rule::Shared { pool, used, egress_alpha, .. } => {
                    let free = *pool - *used;
                    if size <= free && queue_length + size <= egress_alpha.scale(free) + more {
                        *used += size;
                        Admission::Stay
                    } else {
                        Admission::Drop
                    }
                }
            },
        };
        if admission != Admission::Drop {
            self.held += size;
            self.peak = self.peak.max(self.held);
        }
        admission
    }

    /// [`Self::admit`] and [`Self::release`] of a packet that leaves at once, from a port with nothing in its queues, where
    /// that changes no account. Returns false where it would: then these two are to be called.
    #[inline(always)]
    pub fn pass(&mut self, ingress: usize, size: u64) -> bool {
        let passes = match (self.ingress.get(ingress).and_then(Option::as_ref), &self.rule) {
            // What is taken of the reserve is given back to it only if nothing beyond it is in use.
            (Some(from), Rule::Shared { reserve, .. }) => {
                self.egress_limit.is_none()
                    && from.reserved + size <= *reserve
                    && from.held == from.reserved
                    && !from.paused
            }
            (None, Rule::Shared { pool, used, egress_alpha, .. }) => {
                let free = *pool - *used;
                size <= free && size <= egress_alpha.scale(free)
            }
            (None, Rule::Unlimited) => true,
            _ => false,
        };
        if passes {
            self.peak = self.peak.max(self.held + size);
        }
        passes
    }

    /// [`Self::admit`] in a buffer that ports do not share and that pauses nothing, of a packet to a port with
    /// `port_length` bytes in its queues.
    #[inline(always)]
    pub fn admit_alone(&mut self, port_length: u64, size: u64) -> Admission {
        debug_assert!(!self.is_shared() && !self.pauses(), "a buffer that ports share, or that pauses");
        if let Rule::PerPort(limit) = self.rule
            && port_length + size > limit + u64::from(canary::is_on(Canary::Threshold))
        {
            return Admission::Drop;
        }
        self.held += size;
        self.peak = self.peak.max(self.held);
        Admission::Stay
    }

    /// [`Self::admit_alone`] of a packet that leaves at once, from a port with nothing in its queues.
    #[inline(always)]
    pub fn pass_alone(&mut self, size: u64) -> Admission {
        let held = self.held;
        let admission = self.admit_alone(0, size);
        self.held = held;
        admission
    }

    /// [`Self::release`] in such a buffer.
    #[inline(always)]
    pub fn release_alone(&mut self, size: u64) {
        self.held -= size;
    }

    /// A packet from `ingress` leaves. Returns whether the far end must be resumed.
    #[inline]
    pub fn release(&mut self, ingress: usize, size: u64) -> bool {
        self.held -= size;
        match self.ingress.get_mut(ingress).and_then(Option::as_mut) {
            Some(from) => from.release(&mut self.rule, size),
            None => {
                if let Rule::Shared { used, .. } = &mut self.rule {
                    *used -= size;
                }
                false
            }
        }
    }
}

impl Pausing {
    /// The rule for a link into a switch, for packets of at most `largest_packet` bytes; `None` without PFC.
    #[must_use]
    pub fn new(
        description: &describe::Switch,
        node: NodeId,
        rate: Rate,
        delay: Time,
        largest_packet: Bytes,
    ) -> Option<Self> {
        // The headroom's keys are read by `headroom`, the queues by `lossless`, and the watchdog ends pauses.
        let describe::Pfc { queues: _, xoff, xon_offset, headroom: _, headroom_factor: _, watchdog: _ } =
            description.pfc?;
        let (alpha, reserve) = match description.buffer_of(node) {
            describe::Buffer::Shared(_) => (description.ingress_alpha_at(rate), description.reserve),
            describe::Buffer::Unlimited | describe::Buffer::PerPort(_) => (Fixed::MAX, Bytes::ZERO),
        };
        let headroom = description.headroom(rate, delay, largest_packet);
        Some(Self { xoff, alpha, xon_offset, headroom, reserve })
    }
}

impl Ingress {
    fn new(pausing: &Pausing) -> Self {
        let Pausing { xoff, alpha, xon_offset, headroom, reserve: _ } = *pausing;
        Self {
            held: 0,
            reserved: 0,
            headroom_used: 0,
            headroom: headroom.get(),
            paused: false,
            xoff: xoff.map(Bytes::get),
            xon_offset: xon_offset.get(),
            alpha,
        }
    }

    /// Returns the amount of the shared part that it may use now.
    #[inline]
    fn threshold(&self, rule: &Rule) -> u64 {
        match (self.xoff, rule) {
            (Some(xoff), _) => xoff,
            (None, Rule::Shared { pool, used, .. }) => self.alpha.scale(*pool - *used),
            (None, _) => u64::MAX,
        }
    }

    /// Returns the amount of the shared part that it uses.
    #[inline]
    fn shared(&self) -> u64 {
        self.held - self.reserved - self.headroom_used
    }

    #[inline]
    fn admit(&mut self, rule: &mut Rule, size: u64) -> Admission {
        // Most packets find room in the reserve: nothing else has to be looked at.
        if let Rule::Shared { reserve, .. } = rule
            && self.reserved + size <= *reserve
        {
            self.reserved += size;
            self.held += size;
            return Admission::Stay;
        }
        self.admit_beyond_reserve(rule, size)
    }

    /// Admits a packet for which the reserve, if there is one, has no room.
    fn admit_beyond_reserve(&mut self, rule: &mut Rule, size: u64) -> Admission {
        let threshold = self.threshold(rule);
        let mut admission = Admission::Stay;
        match rule {
            Rule::Shared { pool, used, .. }
                if self.headroom_used == 0
                    && self.held - self.reserved + size <= threshold
                    && *used + size <= *pool =>
            {
                *used += size;
            }
            Rule::Unlimited | Rule::PerPort(_) if self.held + size <= threshold => {}
            Rule::Unlimited | Rule::PerPort(_) => {
                // Without a limit there is no headroom to run out of, only the order to pause.
                admission = if self.paused { Admission::Stay } else { Admission::StayAndPause };
            }
            Rule::Shared { .. } => {
                if self.headroom_used + size > self.headroom {
                    return Admission::Drop;
                }
                self.headroom_used += size;
                let stays = self.paused || canary::strikes(Canary::Pause);
                admission = if stays { Admission::Stay } else { Admission::StayAndPause };
            }
        }
        self.paused |= admission == Admission::StayAndPause;
        self.held += size;
        admission
    }

    #[inline]
    fn release(&mut self, rule: &mut Rule, size: u64) -> bool {
        if self.held == self.reserved && !self.paused {
            // Nothing but the reserve is in use.
            self.reserved -= size;
            self.held -= size;
            return false;
        }
        self.release_beyond_reserve(rule, size)
    }

    /// A packet leaves while more than the reserve is in use, or the far end is paused.
    fn release_beyond_reserve(&mut self, rule: &mut Rule, size: u64) -> bool {
        // Headroom empties first, then the shared part, then the reserve.
        let from_headroom = size.min(self.headroom_used);
        let from_shared = (size - from_headroom).min(self.shared());
        self.headroom_used -= from_headroom;
        self.reserved -= size - from_headroom - from_shared;
        self.held -= size;
        let lower = match rule {
            Rule::Shared { used, .. } => {
                *used -= from_shared;
                self.shared()
            }
            // Without a shared part everything is counted against the threshold.
            _ => self.held,
        };
        let resume = self.paused
            && self.headroom_used == 0
            && (lower == 0 || lower.saturating_add(self.xon_offset) <= self.threshold(rule));
        self.paused &= !resume;
        resume
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::switch::Pfc;

    fn switch(buffer: describe::Buffer, pfc: Option<Pfc>) -> describe::Switch {
        describe::Switch { buffer, pfc, ..describe::Switch::default() }
    }

    fn shared(size: u64, reserve: u64, ingress_alpha: Fixed) -> describe::Switch {
        let buffer = describe::Buffer::Shared(Bytes::new(size));
        describe::Switch { reserve: Bytes::new(reserve), ingress_alpha, ..switch(buffer, None) }
    }

    fn ports(n: usize) -> Vec<Out> {
        vec![Out { node: 0, port: 0, rate: Rate::from_gbps(100), delay: Time::from_us(1) }; n]
    }

    const PACKET: Bytes = Bytes::new(1000);

    #[test]
    fn a_packet_that_passes_leaves_what_admitting_and_releasing_it_leaves() {
        use crate::random::draw;

        let pfc = Some(Pfc::default());
        let limited = describe::Switch { egress_limit: true, ..shared(4_000_000, 3_000, Fixed::ONE) };
        let descriptions = [
            switch(describe::Buffer::Unlimited, None),
            switch(describe::Buffer::Unlimited, pfc),
            switch(describe::Buffer::PerPort(Bytes::new(9_000)), None),
            shared(20_000, 0, Fixed::ONE),
            describe::Switch { pfc, ..shared(4_000_000, 3_000, Fixed::ONE) },
            describe::Switch { pfc, ..limited },
        ];
        for (number, description) in (0_u64..).zip(&descriptions) {
            let new = || Buffer::new(description, 0, &ports(4), PACKET).unwrap();
            let (mut passing, mut plain) = (new(), new());
            let (mut held, mut passed) = (Vec::new(), 0);
            for step in 0..4_000 {
                let random = |what: u64| draw(number << 8 | what, step);
                let (ingress, size) = (random(1) as usize % 4, 64 + random(2) % 1437);
                // A packet that leaves at once, through a port with nothing in its queues.
                if passing.pass(ingress, size) {
                    passed += 1;
                    assert_eq!(plain.admit(ingress, 0, 0, size), Admission::Stay);
                    assert!(!plain.release(ingress, size), "a packet that passes resumes somebody");
                }
                assert_eq!(format!("{passing:?}"), format!("{plain:?}"), "{number}, step {step}");
                // Others come and stay for a while, more and more, and then fewer.
                if random(3) % 4_000 > step {
                    let admissions = [&mut passing, &mut plain].map(|b| b.admit(ingress, size, size, size));
                    if admissions[0] != Admission::Drop {
                        held.push((ingress, size));
                    }
                } else if !held.is_empty() {
                    let (ingress, size) = held.swap_remove(random(4) as usize % held.len());
                    let resumes = [&mut passing, &mut plain].map(|b| b.release(ingress, size));
                    assert_eq!(resumes[0], resumes[1], "{number}, step {step}");
                }
            }
            // Nothing passes with a buffer for each port, without a shared part under PFC, and with limited queues.
            assert_eq!(passed > 0, ![1, 2, 5].contains(&number), "{number}: {passed} packets have passed");
        }
    }

    #[test]
    fn dynamic_threshold_admits_exactly_up_to_alpha_times_the_free_part() {
        // Choudhury and Hahne: with one queue and alpha = 1 the queue takes half of the buffer, for at
        // q = B/2 the free part is B/2. B = 20 packets: the queue stops at 10.
        let shared = shared(20_000, 0, Fixed::ONE);
        let mut buffer = Buffer::new(&shared, 3, &ports(2), PACKET).unwrap();
        let mut queue = 0;
        while buffer.admit(0, queue, queue, 1000) == Admission::Stay {
            queue += 1000;
        }
        assert_eq!(queue, 10_000);
        // A second queue takes half of what is left free while the first stays: 5 packets.
        let mut second = 0;
        while buffer.admit(1, second, second, 1000) == Admission::Stay {
            second += 1000;
        }
        assert_eq!(second, 5_000);
        // One packet leaves the first queue: 6 are free, and a sixth may come into the second.
        buffer.release(0, 1000);
        assert_eq!(buffer.admit(1, second, second, 1000), Admission::Stay);
        assert_eq!(buffer.admit(1, second + 1000, second + 1000, 1000), Admission::Drop);
        assert_eq!(buffer.peak(), Bytes::new(15_000));
    }

    #[test]
    fn per_port_limit_is_exact() {
        let mut buffer =
            Buffer::new(&switch(describe::Buffer::PerPort(Bytes::new(2500)), None), 3, &ports(2), PACKET)
                .unwrap();
        assert_eq!(buffer.admit(0, 0, 0, 1000), Admission::Stay);
        assert_eq!(buffer.admit(0, 1000, 1000, 1500), Admission::Stay);
        assert_eq!(buffer.admit(0, 2500, 2500, 1), Admission::Drop);
    }

    #[test]
    fn pfc_pauses_once_uses_headroom_and_resumes_below_the_offset() {
        let pfc = Pfc {
            xoff: Some(Bytes::new(2000)),
            xon_offset: Bytes::new(1000),
            headroom: Some(Bytes::new(2000)),
            ..Pfc::default()
        };
        let shared = shared(1_000_000, 1000, Fixed::ONE);
        let mut buffer =
            Buffer::new(&describe::Switch { pfc: Some(pfc), ..shared }, 3, &ports(2), PACKET).unwrap();
        let mut admit = || buffer.admit(0, 0, 0, 1000);
        // One in the reserve, two up to Xoff, two in the headroom, then none.
        assert_eq!(admit(), Admission::Stay);
        assert_eq!(admit(), Admission::Stay);
        assert_eq!(admit(), Admission::Stay);
        assert_eq!(admit(), Admission::StayAndPause);
        assert_eq!(admit(), Admission::Stay);
        assert_eq!(admit(), Admission::Drop);
        // Headroom drains first (5 -> 3 held), then 3 -> 2: shared 1000 + 1000 <= 2000.
        assert!(!buffer.release(0, 1000));
        assert!(!buffer.release(0, 1000));
        assert!(buffer.release(0, 1000));
        assert!(!buffer.release(0, 1000));
        assert!(!buffer.release(0, 1000));
        assert_eq!(buffer.held(), Bytes::ZERO);
    }

    #[test]
    fn lossy_queues_share_the_pool_with_lossless_ones_and_take_no_headroom() {
        // Two ports with three queues, of which 1 is lossless: reserves and headroom are 2 · (1 + 2) packets, and the pool
        // has 26 - 6 = 20.
        let queues = Some([1].into_iter().collect());
        let headroom = Some(Bytes::new(2000));
        let pfc = Pfc { queues, headroom, xon_offset: Bytes::ZERO, ..Pfc::default() };
        let shared = describe::Switch {
            queues: 3,
            pfc: Some(pfc),
            egress_alpha: Fixed::ONE,
            ..shared(26_000, 1000, Fixed::ratio(1, 4))
        };
        let mut buffer = Buffer::new(&shared, 3, &ports(2), PACKET).unwrap();
        let (lossy, lossless, other) = (0, 1, 3 + 2);
        // A lossy queue takes half of the pool, as a queue of a buffer of 20 packets without PFC; then it drops, and
        // pauses nobody.
        for queue in 0..10 {
            assert_eq!(buffer.admit(lossy, queue * 1000, queue * 1000, 1000), Admission::Stay);
        }
        assert_eq!(buffer.admit(lossy, 10_000, 10_000, 1000), Admission::Drop);
        // The lossless priority has its reserve, and then a quarter of what is free: the second packet finds 10 free and
        // may make it 2500 B, the third 9 and may make it 2250. The fourth finds 8, which is 2000 B, and would make
        // it 3000: it goes to the headroom. So does the fifth, and the sixth finds none.
        let mut admit = || buffer.admit(lossless, 0, 0, 1000);
        assert_eq!([(); 3].map(|()| admit()), [Admission::Stay; 3]);
        assert_eq!(admit(), Admission::StayAndPause);
        assert_eq!(admit(), Admission::Stay);
        assert_eq!(admit(), Admission::Drop);
        // Eight are free: another lossy queue takes four, whatever the headroom in use.
        for queue in 0..4 {
            assert_eq!(buffer.admit(other, queue * 1000, queue * 1000, 1000), Admission::Stay);
        }
        assert_eq!(buffer.admit(other, 4000, 4000, 1000), Admission::Drop);
        // 10 + 5 + 4 packets. Lossy ones resume nobody as they leave, and what they leave is free for all: with 14 free the
        // lossless priority may have 3500 B, and resumes when its headroom is empty.
        assert_eq!(buffer.held(), Bytes::new(19_000));
        for _ in 0..10 {
            assert!(!buffer.release(lossy, 1000));
        }
        assert_eq!([(); 3].map(|()| buffer.release(lossless, 1000)), [false, true, false]);
        let losses = [lossy, lossless, other].map(|ingress| buffer.is_lossless(ingress));
        // Two packets are less than the proven headroom: no loss is a violation.
        assert_eq!(losses, [false; 3]);
        let proven = describe::Switch {
            pfc: Some(Pfc { headroom: None, ..pfc }),
            buffer: describe::Buffer::Shared(Bytes::new(1_000_000)),
            ..shared
        };
        let buffer = Buffer::new(&proven, 3, &ports(2), PACKET).unwrap();
        assert_eq!([lossy, lossless, other].map(|ingress| buffer.is_lossless(ingress)), [false, true, false]);
    }

    #[test]
    fn an_egress_limit_drops_although_pfc_is_on() {
        // B = 20 packets and alpha 1, as without PFC: the egress queue stops at 10, and nothing is paused.
        let pfc = Pfc { xon_offset: Bytes::ZERO, headroom: Some(Bytes::new(1000)), ..Pfc::default() };
        let shared = shared(20_000, 0, Fixed::whole(8));
        let limited = describe::Switch { egress_limit: true, pfc: Some(pfc), ..shared };
        let mut buffer = Buffer::new(&limited, 3, &ports(2), PACKET).unwrap();
        let mut queue = 0;
        while buffer.admit(0, queue, queue, 1000) == Admission::Stay {
            queue += 1000;
        }
        assert_eq!(queue, 10_000);
        assert_eq!(buffer.admit(0, queue, queue, 1000), Admission::Drop);
        assert!(!buffer.is_lossless(0));
        // Another egress queue takes half of what is left, as without PFC: 5 packets.
        let mut second = 0;
        while buffer.admit(1, second, second, 1000) == Admission::Stay {
            second += 1000;
        }
        assert_eq!(second, 5_000);
    }

    /// At 100 Gbps, 1 us, 1054 B and one priority the proven need is 28,226 B (`headroom_by_hand`).
    #[test]
    fn loss_is_a_violation_from_the_proven_headroom_on() {
        let with = |pfc: Pfc| {
            let switch = describe::Switch { queues: 1, ..switch(describe::Buffer::Unlimited, Some(pfc)) };
            Buffer::new(&switch, 3, &ports(2), Bytes::new(1054)).unwrap().is_lossless(0)
        };
        let given = |bytes| with(Pfc { headroom: Some(Bytes::new(bytes)), ..Pfc::default() });
        assert_eq!([0, 28_225, 28_226].map(given), [false, false, true]);
        // Multiples of 12,500 B.
        let factor = |factor| with(Pfc { headroom_factor: Some(factor), ..Pfc::default() });
        assert_eq!([2, 3].map(factor), [false, true]);
        assert!(with(Pfc::default()));
        let watched = |action| {
            let watchdog = Some(describe::Watchdog { action, ..describe::Watchdog::default() });
            with(Pfc { watchdog, ..Pfc::default() })
        };
        assert_eq!([describe::Storm::Drop, describe::Storm::Forward].map(watched), [true, false]);
    }

    #[test]
    fn headroom_larger_than_the_buffer_is_refused() {
        let pfc = Pfc { xon_offset: Bytes::ZERO, headroom: Some(Bytes::new(600)), ..Pfc::default() };
        let shared = shared(1000, 0, Fixed::ONE);
        let error =
            Buffer::new(&describe::Switch { pfc: Some(pfc), ..shared }, 3, &ports(2), PACKET).unwrap_err();
        assert_eq!(error, "a buffer of 1KB cannot hold 1.2KB of PFC headroom and 0B of reserves");
    }
}
