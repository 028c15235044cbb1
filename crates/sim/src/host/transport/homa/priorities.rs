//! Limits and priority levels, the same at all hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_cc::Fixed;
use incast_net::describe::Simulation;
use incast_net::describe::balancing::Balancing;
use incast_net::describe::flow::Flow;
use incast_net::describe::switch::Scheduler;
use incast_net::describe::transport::{
    Homa, LastRttBytes, MAX_OVERCOMMITMENT, RttBytes, ScheduledOrder, UnscheduledLevels,
};
use incast_net::routing::route::{Routes, Sizes};
use incast_units::{Bytes, Rate};

/// The level of grants, acknowledgements, requests and packets that are sent again. It is also the highest
/// unscheduled one.
pub(super) const TOP: u8 = 0;

/// RTTbytes in packets, R.
#[derive(Clone, Debug)]
enum RttPackets {
    /// One value for all messages.
    All(u32),
    /// The value of each flow.
    Each(Arc<[u32]>),
}

impl Default for RttPackets {
    fn default() -> Self {
        Self::All(1)
    }
}

/// The settings of Homa with everything computed that is left open in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities {
    rtt_packets: RttPackets,
    pub(super) overcommitment: usize,
    pub(super) levels: u8,
    /// Number of them that are unscheduled.
    pub(super) unscheduled: u8,
    /// Largest size of the messages of each unscheduled level but the last.
    cutoffs: Vec<u64>,
    order: ScheduledOrder,
    /// In ps.
    pub(super) resend_timeout: u64,
    pub(super) resend_tries: u32,
    /// The cap on granted packets that have not arrived.
    pub(super) cap: u64,
    /// Number of packets that the oldest message is granted at a time, and number of other packets granted
    /// before that.
    pub(super) oldest_step: u64,
    pub(super) oldest_every: u64,
    last_rtt_bytes: LastRttBytes,
}

impl Priorities {
    /// Priorities of a simulation.
    ///
    /// # Errors
    /// When a setting is impossible, or a flow is no message that Homa can send.
    pub(crate) fn new(simulation: &Simulation, routes: &Routes, sizes: &Sizes) -> Result<Self, String> {
        let (homa, switch) = (&simulation.transport.homa, &simulation.switch);
        let levels = homa.levels.unwrap_or(switch.queues);
        if levels > switch.queues {
            return Err(format!(
                "Homa has {levels} priority levels, and ports have {} queues",
                switch.queues
            ));
        }
        if switch.scheduler != Scheduler::StrictPriority && switch.strict < levels {
            return Err("Homa needs switches that serve its priority levels strictly".into());
        }
        if let Some(given) = homa.overcommitment
            && !(1..=MAX_OVERCOMMITMENT).contains(&given)
        {
            return Err(format!(
                "1 to {MAX_OVERCOMMITMENT} messages are granted at the same time, not {given}"
            ));
        }
        if homa.resend_timeout.ps() == 0 || sizes.payload == 0 {
            return Err("Homa's resend timeout and the payload of a packet must be above zero".into());
        }
        for (i, flow) in simulation.flows.iter().enumerate() {
            if let Some(problem) = no_message(flow, sizes.payload) {
                return Err(format!("flow {i} {problem}"));
            }
        }
        let rtt_packets = rtt_packets(homa, simulation, routes, sizes);
        let mut messages = messages(&simulation.flows, &rtt_packets, sizes.payload);
        let unscheduled = match homa.unscheduled {
            UnscheduledLevels::Count(count) => count,
            UnscheduledLevels::Rule => by_rule(&messages, levels),
        };
        if unscheduled == 0 || unscheduled >= levels {
            return Err(format!(
                "of {levels} priority levels at least one is unscheduled and one scheduled, not {unscheduled} \
                 unscheduled"
            ));
        }
        let cutoffs = match homa.cutoffs.as_slice() {
            [] => equal_shares(&mut messages, unscheduled),
            given => given.iter().map(|size| size.get()).collect(),
        };
        if cutoffs.len() + 1 != usize::from(unscheduled) || !cutoffs.is_sorted() {
            return Err(format!(
                "{} increasing cut-offs separate {unscheduled} unscheduled levels, not {cutoffs:?}",
                unscheduled - 1
            ));
        }
        let cap = homa.cap.map_or(u64::MAX, |cap| cap.get() / sizes.payload);
        if cap == 0 {
            return Err("a cap on granted bytes that is less than one packet permits none".into());
        }
        if homa.oldest_share > Fixed::ratio(1, 2) {
            return Err("at most a half of what is granted goes to the oldest message".into());
        }
        let oldest_step = (homa.oldest_step.get() / sizes.payload).max(1);
        Ok(Self {
            rtt_packets,
            overcommitment: homa
                .overcommitment
                .unwrap_or(u32::from(levels - unscheduled).min(MAX_OVERCOMMITMENT))
                as usize,
            levels,
            unscheduled,
            cutoffs,
            order: homa.scheduled,
            resend_timeout: homa.resend_timeout.ps(),
            resend_tries: homa.resend_tries,
            cap,
            oldest_step,
            oldest_every: between(oldest_step, homa.oldest_share),
            last_rtt_bytes: homa.last_rtt_bytes,
        })
    }

    /// RTTbytes of a flow in packets, R.
    pub(super) fn rtt_packets(&self, flow: u32) -> u32 {
        match &self.rtt_packets {
            RttPackets::All(packets) => *packets,
            RttPackets::Each(packets) => packets[flow as usize],
        }
    }

    /// Number of packets at the end of a message that have its unscheduled level.
    pub(super) fn last_packets(&self, flow: u32) -> u32 {
        match self.last_rtt_bytes {
            LastRttBytes::Scheduled => 0,
            LastRttBytes::Unscheduled => self.rtt_packets(flow),
        }
    }

    /// Returns the time that a sender waits for a packet of the receiver. It is longer than a receiver waits
    /// for data, so that a receiver that lacks only a part of a message requests that part first. (ps)
    pub(super) fn sender_timeout(&self) -> u64 {
        self.resend_timeout.saturating_mul(2)
    }

    /// The level of the unscheduled packets of a message of this size.
    pub(super) fn unscheduled_level(&self, size: u64) -> u8 {
        self.cutoffs.partition_point(|cutoff| *cutoff < size) as u8
    }

    /// The level of the scheduled packets of the message at place `rank`, from 0, of `active` ones in the order of their
    /// bytes that are not granted, of each of which only those within the overcommitment count. The last ones share the
    /// lowest level if there are too few.
    pub(super) fn scheduled_level(&self, rank: usize, active: usize) -> u8 {
        let (rank, active) = (rank.min(self.overcommitment - 1), active.min(self.overcommitment));
        let scheduled = usize::from(self.levels - self.unscheduled);
        let unused = match self.order {
            ScheduledOrder::Lowest => scheduled.saturating_sub(active),
            ScheduledOrder::Highest => 0,
        };
        self.unscheduled + (unused + rank).min(scheduled - 1) as u8
    }
}

/// After how many packets granted to others the oldest message is granted `step`, so that its share is `share`;
/// rounded to the nearest, halves up.
fn between(step: u64, share: Fixed) -> u64 {
    let (share, whole) =
        (u128::from(share.bits().unsigned_abs()), u128::from(Fixed::ONE.bits().unsigned_abs()));
    let others = 2 * u128::from(step) * (whole - share.min(whole)) + share;
    others.checked_div(2 * share).map_or(u64::MAX, |others| u64::try_from(others).unwrap_or(u64::MAX).max(1))
}

/// Returns why Homa cannot send this flow, if it cannot.
fn no_message(flow: &Flow, payload: u64) -> Option<String> {
    if flow.size == Bytes::UNLIMITED || flow.stop != incast_units::Time::NEVER {
        return Some(
            "has no size or a stop time: Homa sends messages whose size is known at their start".into(),
        );
    }
    if flow.size.get().div_ceil(payload) > u64::from(u32::MAX) {
        return Some(format!("has more than {} packets", u32::MAX));
    }
    let learns = flow.balancing == Balancing::Reps;
    learns.then(|| "has load balancing by acknowledgements of each packet; Homa has none".into())
}

/// RTTbytes in packets, at least one.
fn rtt_packets(homa: &Homa, simulation: &Simulation, routes: &Routes, sizes: &Sizes) -> RttPackets {
    let packets =
        |bytes: Bytes| u32::try_from(bytes.get().div_ceil(sizes.payload)).unwrap_or(u32::MAX).max(1);
    match homa.rtt_bytes {
        RttBytes::Value(bytes) => RttPackets::All(packets(bytes)),
        RttBytes::Network => {
            let hosts = simulation.network.hosts as usize;
            let rates = routes.ports.iter().take(hosts).flatten().map(|port| port.rate);
            let round_trip = routes.largest_round_trip(sizes.data(sizes.payload), sizes.ack);
            RttPackets::All(packets(rates.max().unwrap_or(Rate::ZERO).bytes_in(round_trip)))
        }
        RttBytes::Pair => {
            let mut known = BTreeMap::new();
            let of_flow = |flow: &Flow| {
                let pair = (flow.source, flow.destination, flow.cards);
                *known.entry(pair).or_insert_with(|| packets(routes.pair_bytes(flow, sizes)))
            };
            RttPackets::Each(simulation.flows.iter().map(of_flow).collect())
        }
    }
}

/// Sizes of the messages, and the bytes of each that are sent without a grant.
fn messages(flows: &[Flow], rtt_packets: &RttPackets, payload: u64) -> Vec<(u64, u64)> {
    let of = |(number, flow): (usize, &Flow)| {
        let packets = match rtt_packets {
            RttPackets::All(packets) => *packets,
            RttPackets::Each(packets) => packets[number],
        };
        let size = flow.size.get();
        (size, size.min(u64::from(packets).saturating_mul(payload)))
    };
    flows.iter().enumerate().map(of).collect()
}

/// Bytes of the messages that are sent without a grant.
fn unscheduled_bytes(messages: &[(u64, u64)]) -> u128 {
    messages.iter().map(|(_, first)| u128::from(*first)).sum()
}

/// The number of unscheduled levels by their share of the bytes.
fn by_rule(messages: &[(u64, u64)], levels: u8) -> u8 {
    let all: u128 = messages.iter().map(|(size, _)| u128::from(*size)).sum();
    // Rounded to the nearest, halves up.
    let share = (2 * u128::from(levels) * unscheduled_bytes(messages) + all) / (2 * all.max(1));
    share.clamp(1, u128::from(levels.max(2) - 1)) as u8
}

/// Cut-offs with which each of `levels` levels carries about the same number of unscheduled bytes: each is the
/// smallest size with at least that share, times its place, in the messages up to it. Sorts the messages.
fn equal_shares(messages: &mut [(u64, u64)], levels: u8) -> Vec<u64> {
    messages.sort_unstable();
    let all = unscheduled_bytes(messages);
    let mut cutoffs = Vec::new();
    let mut sum = 0;
    for &mut (size, first) in messages {
        sum += u128::from(first);
        while cutoffs.len() + 1 < usize::from(levels)
            && sum * u128::from(levels) >= all * (cutoffs.len() as u128 + 1)
        {
            cutoffs.push(size);
        }
    }
    // Without flows.
    cutoffs.resize(usize::from(levels) - 1, 0);
    cutoffs
}

#[cfg(test)]
mod tests {
    use incast_units::Time;

    use super::*;
    use crate::example::transport::tests::star;

    /// Computes the priorities of flows of these sizes under these settings, with eight queues.
    fn of(sizes: &[u64], set: impl FnOnce(&mut Simulation)) -> Result<Priorities, String> {
        let mut simulation = star(1);
        let flow = simulation.flows[0];
        simulation.flows = sizes.iter().map(|size| Flow { size: Bytes::new(*size), ..flow }).collect();
        simulation.switch.queues = 8;
        set(&mut simulation);
        let routes = Routes::new(&simulation.network)?;
        let sizes = Sizes { payload: 1000, header: 54, counts_payload: false, ack: 64, smallest: 64 };
        Priorities::new(&simulation, &routes, &sizes)
    }

    /// 5 % in steps of 50 packets, as in the authors' kernel module: after 950 others.
    #[test]
    fn the_share_of_the_oldest_by_hand() {
        assert_eq!(between(50, Fixed::ratio(1, 20)), 950);
        assert_eq!(between(4, Fixed::ratio(1, 5)), 16);
        assert_eq!(between(3, Fixed::ratio(1, 2)), 3);
        // 5.67 and 1.5.
        assert_eq!(between(1, Fixed::ratio(15, 100)), 6);
        assert_eq!(between(1, Fixed::ratio(2, 5)), 2);
        assert_eq!(between(1, Fixed::ZERO), u64::MAX);
    }

    #[test]
    fn rtt_bytes_are_the_base_rtt_times_the_rate() {
        // Two links of 1 us at 100 Gbps: 4 us, twice 1054 B and twice 64 B: 4_178_880 ps are 52_236 B, which
        // 53 packets hold.
        assert_eq!(of(&[1], |_| {}).unwrap().rtt_packets(0), 53);
        let given = |bytes| of(&[1], |s| s.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(bytes)));
        assert_eq!(given(10_000).unwrap().rtt_packets(0), 10);
        assert_eq!(given(90_500).unwrap().rtt_packets(0), 91);
        assert_eq!(given(0).unwrap().rtt_packets(0), 1);
    }

    #[test]
    fn each_unscheduled_level_carries_the_same_bytes() {
        // RTTbytes 10 KB: unscheduled are 1, 2, 3, 4, 10 and 10 KB, together 30.
        let sizes = [50_000, 1_000, 4_000, 3_000, 2_000, 20_000];
        let cutoffs = |levels| {
            let set = |s: &mut Simulation| {
                s.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(10_000));
                s.transport.homa.unscheduled = UnscheduledLevels::Count(levels);
            };
            of(&sizes, set).unwrap().cutoffs
        };
        assert_eq!(cutoffs(1), []);
        // 15 KB are reached with 20 KB; 10 and 20 with 4 and 20 KB; 7.5, 15 and 22.5 with 4, 20 and 50.
        assert_eq!(cutoffs(2), [20_000]);
        assert_eq!(cutoffs(3), [4_000, 20_000]);
        assert_eq!(cutoffs(4), [4_000, 20_000, 50_000]);
        let two = of(&sizes, |s| s.transport.homa.cutoffs = vec![Bytes::new(4_000)]).unwrap();
        assert_eq!([1, 4_000, 4_001, 50_000].map(|size| two.unscheduled_level(size)), [0, 0, 1, 1]);
    }

    #[test]
    fn the_number_of_unscheduled_levels_by_the_rule() {
        // Of 100 KB 10 unscheduled: 0.8 of 8 levels. Of 50 KB: 1.6. Of 26: 3.08. All of 9 KB: 8, of which one
        // is left.
        for (size, expected) in [(100_000, 1), (50_000, 2), (26_000, 3), (9_000, 7), (10_000_000, 1)] {
            let rule = |s: &mut Simulation| {
                s.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(10_000));
                s.transport.homa.unscheduled = UnscheduledLevels::Rule;
            };
            assert_eq!(of(&[size], rule).unwrap().unscheduled, expected, "{size}");
        }
    }

    #[test]
    fn levels_of_web_search_traffic() {
        // The distribution in points of (size, share in percent), 20 sizes for each percent.
        let points = [
            (0, 0),
            (10_000, 15),
            (20_000, 20),
            (30_000, 30),
            (50_000, 40),
            (80_000, 53),
            (200_000, 60),
            (1_000_000, 70),
            (2_000_000, 80),
            (5_000_000, 90),
            (10_000_000, 97),
            (30_000_000, 100),
        ];
        let between = |two: &[(u64, u64)]| {
            let [(low, before), (high, after)] = [two[0], two[1]];
            let count = 20 * (after - before);
            (0..count).map(move |i| low + (high - low) * (2 * i + 1) / (2 * count)).collect::<Vec<_>>()
        };
        let sizes: Vec<u64> = points.windows(2).flat_map(between).collect();
        assert_eq!(sizes.len(), 2_000);
        let with = |unscheduled| {
            let set = |s: &mut Simulation| {
                s.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(90_500));
                s.transport.homa.unscheduled = unscheduled;
            };
            of(&sizes, set).unwrap()
        };
        // 3.44 % of the bytes are unscheduled: 0.28 of eight levels. Two levels are cut at 794 KB; sizes are 4 KB apart
        // there, and RTTbytes are 91 packets.
        assert_eq!(with(UnscheduledLevels::Rule).unscheduled, 1);
        let cutoffs = with(UnscheduledLevels::Count(2)).cutoffs;
        assert!(cutoffs.len() == 1 && cutoffs[0].abs_diff(794_000) < 8_000, "{cutoffs:?}");
    }

    #[test]
    fn scheduled_levels_leave_room_above_or_below() {
        let levels = |order, active: usize| {
            let some = of(&[1], |s| s.transport.homa.scheduled = order).unwrap();
            (0..active).map(|rank| some.scheduled_level(rank, active)).collect::<Vec<_>>()
        };
        // Levels 2 to 7 are scheduled.
        assert_eq!(levels(ScheduledOrder::Lowest, 1), [7]);
        assert_eq!(levels(ScheduledOrder::Lowest, 2), [6, 7]);
        assert_eq!(levels(ScheduledOrder::Lowest, 6), [2, 3, 4, 5, 6, 7]);
        assert_eq!(levels(ScheduledOrder::Lowest, 8), [2, 3, 4, 5, 6, 7, 7, 7]);
        assert_eq!(levels(ScheduledOrder::Highest, 2), [2, 3]);
        assert_eq!(levels(ScheduledOrder::Highest, 8), [2, 3, 4, 5, 6, 7, 7, 7]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |set: &dyn Fn(&mut Simulation), what: &str| {
            let problem = of(&[5_000], |s| set(s)).unwrap_err();
            assert!(problem.contains(what), "{problem}");
        };
        refused(&|s| s.switch.queues = 1, "of 1 priority levels");
        refused(&|s| s.transport.homa.levels = Some(9), "9 priority levels");
        refused(&|s| s.transport.homa.unscheduled = UnscheduledLevels::Count(8), "8 unscheduled");
        refused(&|s| s.transport.homa.unscheduled = UnscheduledLevels::Count(0), "0 unscheduled");
        refused(&|s| s.transport.homa.cutoffs = vec![Bytes::new(1); 2], "1 increasing cut-offs");
        refused(&|s| s.transport.homa.overcommitment = Some(0), "1 to 64");
        refused(&|s| s.transport.homa.overcommitment = Some(65), "1 to 64");
        refused(&|s| s.transport.homa.cap = Some(Bytes::new(999)), "less than one packet");
        refused(&|s| s.transport.homa.resend_timeout = Time::ZERO, "above zero");
        refused(&|s| s.switch.scheduler = Scheduler::RoundRobin, "strictly");
        refused(&|s| s.flows[0].stop = Time::from_us(1), "stop time");
        refused(&|s| s.flows[0].size = Bytes::UNLIMITED, "stop time");
        refused(&|s| s.flows[0].balancing = Balancing::Reps, "acknowledgements of each packet");
        assert!(of(&[1], |s| (s.switch.scheduler, s.switch.strict) = (Scheduler::Drr, 8)).is_ok());
    }
}
