//! `[balancing]`: how the packets of flows are spread over equal paths.

use incast_sim::Simulation;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::{Balancing as Policy, Settings};
use incast_sim::describe::transport::{Kind, Recovery, Repair};
use incast_units::{Bytes, Time};

use super::switch::BufferSize;
use super::{Effect, Idle, Root, Scope};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

choice!(Policy);

/// The path of acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgements {
    Balanced,
    OnePath,
}

choice! {
    Acknowledgements {
        "balanced" => Balanced: "each by the entropy of the packet that causes it, or as the switches choose",
        "one-path" => OnePath: "one path for all acknowledgements of a flow",
    }
}

section! {
    /// Load balancing: how the packets of a flow are spread over equal paths.
    pub(crate) struct Balancing {
        /// The policy of flows whose traffic block has none of its own.
        policy: Policy = Policy::Ecmp => "chosen here",
        /// Number of entropies among which `"reps"` and `"ops-rounds"` choose; for rounds a power of two.
        paths: u32 = 64; Bound::Count(1, 65_536) => "the public UEC simulator",
        /// With `"reps"`: how long a sender keeps to the entropies that it has stored after a timeout; by
        /// default it does not.
        freeze: Option<Time> = None; Bound::Positive,
        /// Path of the acknowledgements of flows that are spread.
        acknowledgements: Acknowledgements = Acknowledgements::Balanced => "the public UEC simulator",
        /// With `"adaptive"`: the three queue lengths at which a port falls into the next worse class; by
        /// default 5, 10 and 20 % of the limit that `switch.buffer` or `switch.trimming` gives each port.
        thresholds: Vec<Bytes> = Vec::new(); Bound::Positive,
        /// With `"adaptive"`: shortest time between two looks of a switch at the queue of a port.
        interval: Time = Time::from_ns(100) => "the public UEC simulator",
    }
}

impl Root {
    /// The policy of every traffic block.
    fn policies(&self) -> impl Iterator<Item = Policy> {
        let usual = self.balancing.policy;
        self.traffic.iter().map(move |block| block.common.balancing.unwrap_or(usual))
    }
}

impl Balancing {
    /// The thresholds of adaptive routing, if they are known.
    fn thresholds(&self, root: &Root) -> Option<[Bytes; 3]> {
        let limit = match (root.switch.trimming, root.switch.buffer) {
            (Some(trimming), _) => Some(trimming.data),
            (None, BufferSize::PerPort(limit)) => Some(limit),
            _ => None,
        };
        match (self.thresholds.as_slice(), limit) {
            ([], Some(limit)) => Some([20, 10, 5].map(|part| Bytes::new(limit.get() / part))),
            (given, _) => given.try_into().ok(),
        }
    }
}

impl Effect for Balancing {
    fn idle(&self, root: &Root, idle: &mut Idle) {
        let uses = |policy| root.policies().any(|used| used == policy);
        let mut unused = |keys: &[&str], policies: &[Policy], names: &str| {
            if !policies.iter().any(|policy| uses(*policy)) {
                keys.iter().for_each(|key| {
                    idle.add(key, &format!("has no effect: no traffic has the policy {names}"));
                });
            }
        };
        unused(&["balancing.paths"], &[Policy::Reps, Policy::OpsRounds], "\"reps\" or \"ops-rounds\"");
        unused(&["balancing.freeze"], &[Policy::Reps], "\"reps\"");
        unused(&["balancing.thresholds", "balancing.interval"], &[Policy::Adaptive], "\"adaptive\"");
        if !root.policies().any(Policy::spreads) {
            idle.add("balancing.acknowledgements", "has no effect: every flow has one path (\"ecmp\")");
        } else if root.transport.kind == Kind::Homa {
            let reason = "has no effect: under Homa all packets from a receiver take one path";
            idle.add("balancing.acknowledgements", reason);
        }
        if !root.traffic.is_empty() && root.traffic.iter().all(|block| block.common.balancing.is_some()) {
            idle.add("balancing.policy", "has no effect: every traffic block has its own");
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let settings = Settings { paths: self.paths, ..Settings::default() };
        let problem = |policy| settings.problem(policy, scope.root.switch.path);
        for block in &scope.root.traffic {
            let Some(policy) = block.common.balancing else { continue };
            if let Some(problem) = problem(policy) {
                reading.wrong_key(&format!("traffic.{}.balancing", block.name()), problem);
            }
        }
        let usual = scope.root.traffic.iter().any(|block| block.common.balancing.is_none());
        if let Some(problem) = problem(self.policy).filter(|_| usual) {
            reading.wrong_key("balancing.policy", problem);
        }
        let transport = &scope.root.transport;
        // A transport without congestion control takes no overtaken packet for a loss.
        let windows = transport.kind.is_controlled();
        let by_number =
            windows && transport.recovery == Recovery::Selective && transport.repair == Repair::Threshold;
        if by_number && scope.root.policies().any(Policy::spreads) {
            let message = format!(
                "is \"threshold\", which takes a packet for a loss that {} others overtake, and packets are spread \
                 over paths",
                transport.repair_threshold
            );
            let hint = "transport.repair = \"lazy\" waits for a round trip first";
            reading.warn("transport", fault("repair", message).with_hint(hint));
        }
        if windows
            && transport.recovery == Recovery::GoBackN
            && let Some(policy) = scope.root.policies().find(|policy| policy.spreads())
        {
            let names = Policy::ALL.iter().find(|(named, ..)| *named == policy);
            let name = names.map_or("", |(_, name, _)| name);
            let message = format!(
                "is \"go-back-n\", which treats every overtaken packet as lost, and the policy \
                 {name:?} spreads packets over paths"
            );
            let hint = "transport.recovery = \"selective\" keeps packets that arrive out of order";
            reading.warn("transport", fault("recovery", message).with_hint(hint));
        }
        if !scope.root.policies().any(|policy| policy == Policy::Adaptive) {
            return;
        }
        match self.thresholds(scope.root) {
            None if self.thresholds.is_empty() => reading.wrong_key(
                "balancing.thresholds",
                "is needed with \"adaptive\", since the ports have no limits of their own; expected three queue lengths, like [\"40KB\", \"80KB\", \"160KB\"]",
            ),
            None => {
                let message = format!("has {} values; expected three queue lengths", self.thresholds.len());
                reading.wrong_key("balancing.thresholds", message);
            }
            Some(thresholds) if !thresholds.is_sorted() => {
                reading.wrong_key("balancing.thresholds", "must not decrease");
            }
            Some(_) => {}
        }
    }

    fn apply(&self, scope: &Scope<'_>, simulation: &mut Simulation, _: &mut Reading) {
        let settings = &mut simulation.balancing;
        settings.paths = self.paths;
        settings.freeze = self.freeze;
        settings.acknowledgements = self.acknowledgements == Acknowledgements::Balanced;
        settings.interval = self.interval;
        if let Some(thresholds) = self.thresholds(scope.root) {
            settings.thresholds = thresholds;
        }
    }
}
