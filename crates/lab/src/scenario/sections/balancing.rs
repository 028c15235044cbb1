//! `[balancing]`: how the packets of flows are spread over equal paths.

use incast_sim::describe::Named;
use incast_sim::describe::balancing::{Acknowledgements, Balancing as Policy, Settings};
use incast_sim::describe::switch::{Buffer, Switch};
use incast_sim::describe::transport::{Kind, Recovery, Repair, Transport};
use incast_units::{Bytes, Time};

use super::scope::{Effect, Idle, Scope, Sections};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

choice!(Policy);
choice!(Acknowledgements);

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

/// Gives a transport under which packets are spread over paths a recovery that takes no overtaken packet for a loss,
/// unless the scenario has one: selective repeat, with lazy repair unless a repair is written.
pub(super) fn imply_recovery(transport: &mut Transport, reading: &Reading) {
    if transport.kind != Kind::Window || reading.written("transport.recovery") {
        return;
    }
    transport.recovery = Recovery::Selective;
    if !reading.written("transport.repair") {
        transport.repair = Repair::Lazy;
    }
}

/// Returns the policy of flows without one of their own, and the settings of all policies.
pub(crate) fn settings(section: &Balancing, switch: &Switch<String>) -> (Policy, Settings) {
    let Balancing { policy, paths, freeze, acknowledgements, thresholds, interval } = section;
    let settings = Settings {
        paths: *paths,
        freeze: *freeze,
        acknowledgements: *acknowledgements,
        // Without known ones no flow has the policy that reads them.
        thresholds: classes(thresholds, switch).unwrap_or(Settings::default().thresholds),
        interval: *interval,
    };
    (*policy, settings)
}

/// Returns the thresholds of adaptive routing, if they are known.
fn classes(given: &[Bytes], switch: &Switch<String>) -> Option<[Bytes; 3]> {
    let limit = match (switch.trimming, switch.buffer) {
        (Some(trimming), _) => Some(trimming.data),
        (None, Buffer::PerPort(limit)) => Some(limit),
        _ => None,
    };
    match (given, limit) {
        ([], Some(limit)) => Some([20, 10, 5].map(|part| Bytes::new(limit.get() / part))),
        (given, _) => given.try_into().ok(),
    }
}

impl Effect for Balancing {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        let uses = |policy| sections.policies().any(|used| used == policy);
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
        if !sections.policies().any(Policy::spreads) {
            idle.add("balancing.acknowledgements", "has no effect: every flow has one path (\"ecmp\")");
        } else if sections.transport.kind == Kind::Homa {
            let reason = "has no effect: under Homa all packets from a receiver take one path";
            idle.add("balancing.acknowledgements", reason);
        }
        if !sections.traffic.is_empty()
            && sections.traffic.iter().all(|block| block.common.balancing.is_some())
        {
            idle.add("balancing.policy", "has no effect: every traffic block has its own");
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let settings = Settings { paths: self.paths, ..Settings::default() };
        let problem = |policy| settings.problem(policy, scope.sections.switch.path);
        for block in scope.sections.traffic {
            let Some(policy) = block.common.balancing else { continue };
            if let Some(problem) = problem(policy) {
                reading.wrong_key(&format!("traffic.{}.balancing", block.name()), problem);
            }
        }
        let usual = scope.sections.traffic.iter().any(|block| block.common.balancing.is_none());
        if let Some(problem) = problem(self.policy).filter(|_| usual) {
            reading.wrong_key("balancing.policy", problem);
        }
        let transport = scope.sections.transport;
        // A transport without congestion control takes no overtaken packet for a loss.
        let windows = transport.kind.is_controlled();
        let by_number =
            windows && transport.recovery == Recovery::Selective && transport.repair == Repair::Threshold;
        if by_number && scope.sections.policies().any(Policy::spreads) {
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
            && let Some(policy) = scope.sections.policies().find(|policy| policy.spreads())
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
        if !scope.sections.policies().any(|policy| policy == Policy::Adaptive) {
            return;
        }
        match classes(&self.thresholds, scope.sections.switch) {
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
}
