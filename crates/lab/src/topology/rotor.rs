//! Racks with circuits through an optical switch that rotates, and a packet network beside it.

use incast_sim::Network;
use incast_sim::describe::circuits::{Circuits, VoqLimits};
use incast_sim::describe::network::NodeKind;
use incast_units::{Bytes, Rate, Time};

use super::fabric::too_many;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_HOSTS;
use crate::problem::{Problem, fault};

/// The longest time in which every pair has a day.
const LONGEST_WEEK: Time = Time::from_s(1_000_000);

section! {
    /// Racks whose switches (ToRs) are connected in pairs, in turn, by an optical switch, and at all other
    /// times by a packet network: the reconfigurable network of PowerTCP, section 5.
    ///
    /// Host `h` is connected to `tor` `h / hosts`. Every ToR has a link to the packet switch `packet` and one to the
    /// optical switch `optical`. In matching `m`, from 1 to `racks - 1`, ToR `i` has a circuit to ToR
    /// `(i + m) mod racks`, for a `day`; between two days is a `night`.
    pub(crate) struct Rotor {
        /// Number of racks.
        racks: u32 = 25; Bound::Count(2, 128) => "PowerTCP section 5",
        /// Number of hosts in each rack.
        hosts: u32 = 10; Bound::Count(1, 4096) => "PowerTCP section 5",
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(25); Bound::Positive => "PowerTCP section 5",
        /// One-way delay of the hosts' links.
        delay: Time = Time::from_us(1); Bound::Positive => "chosen here: with uplink_delay the largest base RTT is 24us",
        /// Rate of the links between ToRs and the packet switch.
        uplink_rate: Rate = Rate::from_gbps(25); Bound::Positive => "PowerTCP section 5",
        /// One-way delay of the links between ToRs and the packet switch.
        uplink_delay: Time = Time::from_ps(4_642_240); Bound::Positive => "PowerTCP section 5: a largest base RTT of 24us, here with packets of 1054B acknowledged by 64B",
        /// Rate of the links between ToRs and the optical switch.
        circuit_rate: Rate = Rate::from_gbps(100); Bound::Positive => "PowerTCP section 5",
        /// One-way delay of the links between ToRs and the optical switch.
        circuit_delay: Time = uplink_delay?; Bound::Positive => "chosen here",
        /// Duration of a matching.
        day: Time = Time::from_us(225); Bound::Positive => "PowerTCP section 5",
        /// Time that the optical switch takes to turn to the next matching, during which it is dark.
        night: Time = Time::from_us(20); Bound::Positive => "PowerTCP section 5",
        /// So long before each day of a pair its ToR announces the circuit to senders, and `voq_large` limits its
        /// queue.
        prebuffer: Time = Time::ZERO => "PowerTCP section 5: 600us and 1800us, for reTCP alone",
        /// Limit of the queue that a ToR has for each other rack; by default only the buffer limits it.
        voq: Option<Bytes> = None; Bound::Positive,
        /// Its limit in the day of the pair and for `prebuffer` before it; by default
        /// `voq · circuit_rate / uplink_rate` and what arrives at `uplink_rate` in `prebuffer`.
        voq_large: Option<Bytes> = None; Bound::Positive,
    }
}

impl Rotor {
    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let hosts = self.racks * self.hosts;
        let too_many = too_many("hosts", "hosts", u64::from(hosts), MAX_HOSTS);
        let problems: Vec<_> = too_many.into_iter().chain(self.unlimited()).chain(self.too_early()).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut network = Network::with_hosts(hosts);
        let tors = (0..self.racks).map(|rack| network.add_node(format!("tor{rack}"), NodeKind::Tor));
        let tors: Vec<_> = tors.collect();
        let packet = network.add_switch("packet");
        let optical = network.add_node("optical", NodeKind::OpticalSwitch);
        for host in 0..hosts {
            network.add_link(host, tors[(host / self.hosts) as usize], self.rate, self.delay);
        }
        for tor in tors {
            network.add_link(tor, packet, self.uplink_rate, self.uplink_delay);
            network.add_link(tor, optical, self.circuit_rate, self.circuit_delay);
        }
        let Self { day, night, prebuffer, .. } = *self;
        network.circuits = Some(Circuits { day, night, prebuffer, voq: self.limits() });
        Ok(network)
    }

    /// The limits of VOQs.
    fn limits(&self) -> Option<VoqLimits> {
        let small = self.voq?;
        let usual = || {
            let of_day = small.times_ratio(self.circuit_rate.bps(), self.uplink_rate.bps());
            (of_day + self.uplink_rate.bytes_in(self.prebuffer)).max(small)
        };
        Some(VoqLimits { small, large: self.voq_large.unwrap_or_else(usual) })
    }

    /// Returns the problem of `voq_large`, if there is one.
    fn unlimited(&self) -> Option<Problem> {
        match (self.voq, self.voq_large?) {
            (None, _) => Some(fault("voq_large", "has no effect without voq, the limit at other times")),
            (Some(voq), large) if large < voq => {
                Some(fault("voq_large", format!("is below voq = {voq}, the limit at other times")))
            }
            _ => None,
        }
    }

    /// Returns the problem of the times: a week that is too long, or a `prebuffer` that reaches into the
    /// pair's day before.
    fn too_early(&self) -> Option<Problem> {
        let week = (self.day + self.night).times(u64::from(self.racks) - 1);
        if week > LONGEST_WEEK {
            return Some(fault(
                "day",
                format!("makes a week of {week}; at most {LONGEST_WEEK} are possible"),
            ));
        }
        let between = week - self.day;
        let message = || format!("is longer than the {between} from a day of a pair to its next one");
        (self.prebuffer > between).then(|| fault("prebuffer", message()))
    }
}
