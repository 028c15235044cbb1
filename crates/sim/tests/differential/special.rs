//! Parts of which a random case has at most one, and networks with circuits.

use incast_cc::Fixed;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::bfc::{Bfc, Resume, Signal};
use incast_sim::describe::circuits::{Circuits, VoqLimits};
use incast_sim::describe::switch::{Buffer, Scheduler, Storm, Switch, Trimming, Watchdog};
use incast_sim::describe::transport::{
    FirstWindow, Homa, Kind, LastRttBytes, Ndp, Recovery, RttBytes, ScheduledOrder, UnscheduledLevels,
};
use incast_sim::queue_set::QueueSet;
use incast_sim::random::draw;
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common;

/// Of the parts that exclude each other, at most one.
#[derive(Clone, Debug)]
pub(crate) enum Special {
    Nothing,
    /// Switches that trim, with selective repeat.
    Trimming(Trimming),
    /// NDP, mostly with switches that trim.
    Ndp(Ndp, Option<Trimming>),
    Homa(Homa),
    /// BFC instead of PFC, with one of its schedulers.
    Bfc(Bfc, Scheduler),
}

impl Special {
    pub(crate) fn trims(&self) -> bool {
        matches!(self, Self::Trimming(_) | Self::Ndp(_, Some(_)))
    }

    /// Makes a simulation one with it.
    pub(crate) fn apply(&self, sim: &mut Simulation) {
        match self {
            Self::Nothing => {}
            Self::Trimming(trimming) => trims(sim, *trimming),
            Self::Ndp(ndp, trimming) => {
                if let Some(trimming) = *trimming {
                    trims(sim, trimming);
                }
                sim.transport.kind = Kind::Ndp;
                sim.transport.ndp = *ndp;
            }
            Self::Homa(homa) => message_based(sim, homa),
            Self::Bfc(bfc, scheduler) => {
                sim.switch.bfc = Some(*bfc);
                sim.switch.pfc = None;
                sim.switch.scheduler = *scheduler;
                (sim.switch.queues, sim.switch.strict) = (1, 0);
                (sim.switch.quanta, sim.switch.weights) = (Vec::new(), Vec::new());
                sim.flows.iter_mut().for_each(|flow| flow.queue = 0);
            }
        }
    }
}

/// In two of three cases with PFC, leaves some queues but the first one lossy; in three of four with it adds a watchdog.
pub(crate) fn choose_lossless(switch: &mut Switch, seed: u64) {
    if let Some(pfc) = switch.pfc.as_mut().filter(|_| !draw(seed, 0).is_multiple_of(3)) {
        let is_lossless = |queue: &u8| *queue == 0 || draw(seed, u64::from(*queue)).is_multiple_of(2);
        pfc.queues = Some(QueueSet::first_of(switch.queues).iter().filter(is_lossless).collect());
    }
    if let Some(pfc) = switch.pfc.as_mut().filter(|_| !draw(seed, 128).is_multiple_of(4)) {
        let times = [129, 130].map(|item| Time::from_ns(10 + draw(seed, item) % 2_000));
        let action = if draw(seed, 131).is_multiple_of(2) { Storm::Drop } else { Storm::Forward };
        pfc.watchdog = Some(Watchdog { detect: times[0], restore: Some(times[1]), action });
    }
}

/// Makes the switches trim.
fn trims(sim: &mut Simulation, trimming: Trimming) {
    sim.transport.recovery = Recovery::Selective;
    sim.switch.trimming = Some(trimming);
    sim.switch.buffer = Buffer::Unlimited;
}

/// A network with circuits; the time before a day at which it is announced as a percentage of what is possible.
#[derive(Clone, Debug)]
pub(crate) struct Rotor {
    racks: u32,
    hosts: u32,
    day_ns: u64,
    night_ns: u64,
    prebuffer: u64,
    voq: Option<(u64, u64)>,
}

impl Rotor {
    pub(crate) fn network(&self) -> Network {
        let mut network = common::rotor(self.racks, self.hosts);
        let [day, night] = [self.day_ns, self.night_ns].map(Time::from_ns);
        let between = (day + night).times(u64::from(self.racks) - 1) - day;
        let voq = self
            .voq
            .map(|(small, more)| VoqLimits { small: Bytes::new(small), large: Bytes::new(small + more) });
        network.circuits =
            Some(Circuits { day, night, prebuffer: between.times_ratio(self.prebuffer, 100), voq });
        network
    }

    pub(crate) fn draw() -> impl Strategy<Value = Self> {
        let times = (500..30_000_u64, 1..5_000_u64, 0..101_u64);
        let voq = option::of((3_000..60_000_u64, 0..60_000_u64));
        (2..6_u32, 1..4_u32, times, voq).prop_map(|(racks, hosts, (day_ns, night_ns, prebuffer), voq)| Self {
            racks,
            hosts,
            day_ns,
            night_ns,
            prebuffer,
            voq,
        })
    }
}

/// Makes it one of messages under Homa: with the levels that it needs, and nothing that it refuses.
fn message_based(sim: &mut Simulation, homa: &Homa) {
    sim.transport.kind = Kind::Homa;
    sim.transport.homa = homa.clone();
    sim.switch.queues += homa.cutoffs.len() as u8 + 1;
    (sim.switch.scheduler, sim.switch.strict) = (Scheduler::StrictPriority, 0);
    for flow in &mut sim.flows {
        flow.stop = Time::NEVER;
        if flow.balancing == Balancing::Reps {
            flow.balancing = Balancing::Ops;
        }
    }
}

fn homa() -> impl Strategy<Value = Homa> {
    let rtt_bytes = prop_oneof![
        Just(RttBytes::Network),
        Just(RttBytes::Pair),
        (1..60_000_u64).prop_map(|bytes| RttBytes::Value(Bytes::new(bytes))),
    ];
    let cutoffs = vec(1..30_000_u64, 0..3);
    let computed =
        prop_oneof![Just(None), Just(Some(UnscheduledLevels::Rule)), Just(Some(UnscheduledLevels::Count(1)))];
    let orders = select(ScheduledOrder::ALL.iter().map(|(order, ..)| *order).collect::<Vec<_>>());
    let resend = (5_000..200_000_u64, 1..30_u32);
    let cap = option::of(4_000..200_000_u64);
    let oldest = prop_oneof![Just((0, 1)), (1..129_u64, 1..30_000_u64)];
    let last = select(LastRttBytes::ALL.iter().map(|(last, ..)| *last).collect::<Vec<_>>());
    let options = (orders, cap, oldest, last);
    let settings = (rtt_bytes, option::of(1..8_u32), cutoffs, computed, resend, options);
    settings.prop_map(|(rtt_bytes, overcommitment, mut sizes, computed, resend, options)| {
        let (scheduled, cap, oldest, last_rtt_bytes) = options;
        sizes.sort_unstable();
        let cutoffs: Vec<Bytes> = sizes.into_iter().map(Bytes::new).collect();
        Homa {
            rtt_bytes,
            overcommitment,
            levels: None,
            unscheduled: computed.unwrap_or(UnscheduledLevels::Count(cutoffs.len() as u8 + 1)),
            cutoffs: if computed.is_some() { Vec::new() } else { cutoffs },
            scheduled,
            resend_timeout: Time::from_ns(resend.0),
            resend_tries: resend.1,
            cap: cap.map(Bytes::new),
            oldest_share: Fixed::ratio(oldest.0, 256),
            oldest_step: Bytes::new(oldest.1),
            last_rtt_bytes,
        }
    })
}

fn backpressure() -> impl Strategy<Value = Special> {
    let signal = select(Signal::ALL.iter().map(|(signal, ..)| *signal).collect::<Vec<_>>());
    let scheduler = select(vec![Scheduler::RoundRobin, Scheduler::Drr]);
    let queues = prop_oneof![1..5_u8, Just(32), Just(127)];
    let size = (queues, prop_oneof![1..4_u32, Just(200)], 1..16_u64, 0..5_u32);
    let resume = select(Resume::ALL.iter().map(|(resume, ..)| *resume).collect::<Vec<_>>());
    (signal, scheduler, size, 500..5_000_u64, (any::<bool>(), resume)).prop_map(|drawn| {
        let (signal, scheduler, (queues, entries, factor, sticky), interval, (single_packet, resume)) = drawn;
        let (factor, interval) = (Fixed::ratio(factor, 8), Some(Time::from_ns(interval)));
        Special::Bfc(
            Bfc { queues, factor, resume, signal, interval, entries, sticky, single_packet },
            scheduler,
        )
    })
}

/// A part that excludes others, in half of the cases.
pub(crate) fn special() -> impl Strategy<Value = Special> {
    let trimming = (1_000..20_000_u64, option::of(64..3_000_u64), 1..20_u32, 1..400_u64, any::<bool>());
    let trimming = trimming.prop_map(|(data, headers, ratio, size, return_to_sender)| Trimming {
        data: Bytes::new(data),
        headers: headers.map(Bytes::new),
        ratio,
        size: Bytes::new(size),
        return_to_sender,
    });
    let first_window = prop_oneof![Just(FirstWindow::Bdp), (1..40_u32).prop_map(FirstWindow::Packets)];
    let ndp = (first_window, 1..129_u64, 15_000..400_000_u64).prop_map(|(first_window, part, rto)| Ndp {
        first_window,
        pull_rate: Fixed::ratio(part, 128),
        rto: Time::from_ns(rto),
    });
    prop_oneof![
        10 => Just(Special::Nothing),
        2 => trimming.clone().prop_map(Special::Trimming),
        2 => (trimming, ndp.clone()).prop_map(|(trimming, ndp)| Special::Ndp(ndp, Some(trimming))),
        1 => ndp.prop_map(|ndp| Special::Ndp(ndp, None)),
        4 => homa().prop_map(Special::Homa),
        5 => backpressure(),
    ]
}
