//! Load balancing: which of several equal paths each packet of a flow takes.
//!
//! A sender chooses the entropy of each packet ([`Entropies`]), which enters the hash of every switch; or it
//! leaves the choice to the switches, hop by hop ([`PerHop`]); or neither, and all packets of the
//! flow take one path. To add a policy, write its file here, its name in [`incast_net::describe::balancing`], and a line
//! in [`entropies`] or [`PER_HOP`].

pub(crate) mod adaptive;
mod ops;
pub(crate) mod policy;
pub(crate) mod random;
mod reps;

use incast_net::describe::Simulation;
use incast_net::describe::balancing::{Balancing, Settings};
use incast_net::describe::network::{NodeId, PortId};
use incast_net::describe::reuse::Draws;
use incast_net::packet::{Kind, ONE_PATH, Packet, PolicyId};
use incast_net::random::mix;

use adaptive::Adaptive;
use ops::{Rounds, Uniform};
use policy::{Entropies, Lengths, PerHop};
use random::Random;
use reps::Reps;

use crate::relative::State;

/// The state of a new flow's policy, from the settings and the flow's stream of random draws.
type NewEntropies = fn(&Settings, u64) -> Box<dyn Entropies>;
/// The state of a switch's policy, from the settings and the switch's stream of random draws.
type NewPerHop = fn(&Settings, u64) -> Box<dyn PerHop>;

/// Returns the policy by which a sender chooses entropies, if it does.
const fn entropies(balancing: Balancing) -> Option<NewEntropies> {
    match balancing {
        Balancing::Ops => Some(|_, stream| Box::new(Uniform::new(stream))),
        Balancing::OpsRounds => Some(|settings, stream| Box::new(Rounds::new(settings, stream))),
        Balancing::Reps => Some(|settings, stream| Box::new(Reps::new(settings, stream))),
        Balancing::Ecmp | Balancing::Random | Balancing::Adaptive => None,
    }
}

/// The policies of switches, in the order of the numbers by which packets name theirs, from 1 on.
const PER_HOP: [(Balancing, NewPerHop); 2] = [
    (Balancing::Random, |_, stream| Box::new(Random::new(stream))),
    (Balancing::Adaptive, |settings, stream| Box::new(Adaptive::new(settings, stream))),
];

const _: () = assert!(PER_HOP.len() < ONE_PATH as usize);

/// Returns the state of a new flow's policy, if its packets have entropies.
pub(crate) fn start(
    balancing: Balancing,
    settings: &Settings,
    seed: u64,
    key: u64,
) -> Option<Box<dyn Entropies>> {
    entropies(balancing).map(|new| new(settings, mix(seed ^ mix(key ^ STREAM))))
}

/// Distinguishes the random draws of this module from others about the same flow or switch.
const STREAM: u64 = 0x6261_6c61_6e63_6521;

/// Returns the number of the switches' policy that packets of flows with this policy ask for.
pub(crate) fn policy_id(balancing: Balancing) -> PolicyId {
    let place = PER_HOP.iter().position(|(policy, _)| *policy == balancing);
    place.map_or(0, |place| place as PolicyId + 1)
}

/// The policies of one switch that choose ports, each from its first packet on.
#[derive(Debug)]
pub(crate) struct SwitchPolicies {
    settings: Settings,
    stream: u64,
    policies: Vec<Option<Box<dyn PerHop>>>,
    /// Whether draws are of what packets of each pass have alike.
    again: bool,
}

impl SwitchPolicies {
    pub(crate) fn new(simulation: &Simulation, node: NodeId) -> Self {
        let &Simulation { balancing: settings, seed, draws, .. } = simulation;
        let stream = mix(seed ^ mix(u64::from(node) ^ STREAM));
        Self { settings, stream, policies: Vec::new(), again: draws == Draws::PerPass }
    }

    /// Whether it has chosen for a packet: by draws about that packet alone.
    pub(crate) fn has_drawn(&self) -> bool {
        !self.again && self.policies.iter().any(Option::is_some)
    }

    /// The port for a packet whose policy is not 0; `None`: by its hash.
    pub(crate) fn choose(
        &mut self,
        now: u64,
        policy: PolicyId,
        packet: &Packet,
        group: &[PortId],
        queues: &dyn Lengths,
    ) -> Option<PortId> {
        if group.len() < 2 {
            return None;
        }
        let place = usize::from(policy).checked_sub(1)?;
        let (_, new) = PER_HOP.get(place)?;
        if self.policies.len() <= place {
            self.policies.resize_with(place + 1, || None);
        }
        let policy = self.policies[place].get_or_insert_with(|| new(&self.settings, self.stream));
        if self.again {
            return policy.choose(now, &alike(now, packet), group, queues);
        }
        policy.choose(now, packet, group, queues)
    }

    /// Passes on what counts of them while no packet is in the switch, apart from draws about packets.
    pub(crate) fn relate(&self, state: &mut State) {
        self.policies.iter().flatten().for_each(|policy| policy.relate(state));
    }
}

/// Returns a packet with an identity for draws that is the same in each pass: the number of the packet since its
/// connection had nothing to send; of an acknowledgement the time that its packet was on the way, and the bytes in flight
/// then.
fn alike(now: u64, packet: &Packet) -> Packet {
    let mut alike = *packet;
    let identity = match packet.kind {
        Kind::Ack | Kind::Nack | Kind::Cnp => {
            let ack = packet.ack(now);
            mix(u64::from(ack.inflight)) ^ ack.received.wrapping_sub(ack.sent)
        }
        _ => packet.identity(),
    };
    let [low, high, ..] = [identity as u32, (identity >> 32) as u32];
    [alike.body.0[0], alike.body.0[1], alike.body.0[2], alike.body.0[3]] = [low, high, 0, 0];
    alike
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::describe::Named;

    #[test]
    fn every_policy_that_spreads_has_one_place_where_it_is_decided() {
        for &(balancing, name, _) in Balancing::ALL {
            let (sender, switch) = (entropies(balancing).is_some(), policy_id(balancing) != 0);
            assert_eq!(sender, balancing.has_entropies(), "{name}");
            assert_eq!(usize::from(sender) + usize::from(switch), usize::from(balancing.spreads()), "{name}");
        }
    }
}
