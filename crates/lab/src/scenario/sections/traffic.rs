//! `[[traffic]]` and `[cc]`: what blocks and algorithms must agree with.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::Signals;
use incast_cc::contract::MAX_INT_HOPS;
use incast_sim::describe::balancing::Balancing as Policy;
use incast_sim::describe::network::NodeId;
use incast_sim::describe::transport::{BaseRtt, FirstWindow, Kind, Recovery, RttBytes};

use super::scope::{Effect, Idle, Scope, Sections};
use super::transport::name_of;
use super::{load, paths, switch};
use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::problem::Problem;
use crate::topology::{Fabric, Topology};
use crate::traffic::{Block, Reach, Setting, connections::Connections, hosts::World};

const UNCONTROLLED: &str =
    "has no effect: the transport (transport.kind) has no congestion control at the sender";

impl Effect for Cc {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if !sections.transport.kind.is_controlled() {
            return idle.add("cc", UNCONTROLLED);
        }
        if !sections.traffic.is_empty() && sections.traffic.iter().all(|block| block.common.cc.is_some()) {
            idle.add("cc", "has no effect: every traffic block has its own");
        }
    }
}

impl Effect for Vec<Block> {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        let own = self.iter().filter(|block| block.common.cc.is_some());
        for block in own.filter(|_| !sections.transport.kind.is_controlled()) {
            idle.add(&format!("traffic.{}.cc", block.name()), UNCONTROLLED);
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        for block in self {
            scope.check_queue(&format!("traffic.{}.queue", block.name()), block.common.queue, reading);
            let kind = scope.sections.transport.kind;
            if block.common.cc.is_some() && !kind.is_controlled() {
                let message = format!(
                    "has no effect: transport.kind = \"{}\" has no congestion control at the sender",
                    name_of(kind)
                );
                reading.wrong_key(&format!("traffic.{}.cc", block.name()), message);
            }
            if kind != Kind::Window && block.connections(kind) == Connections::Pair {
                let message = format!(
                    "must be \"flow\": transport.kind = \"{}\" keeps no state from one message to the next",
                    name_of(kind)
                );
                reading.wrong_key(&format!("traffic.{}.connections", block.name()), message);
            }
        }
        if self.is_empty() {
            reading.wrong_key("traffic", "is empty; a scenario needs at least one block of traffic");
        }
        if self.len() > usize::from(u16::MAX) {
            let message = format!("has {} blocks; at most 65535 are possible", self.len());
            reading.wrong_key("traffic", message);
        }
        let Some(fabric) = scope.fabric else { return };
        let reaches = blocks(&scope.sections, fabric, reading);
        for (cc, users) in scope.algorithms.iter().zip(users(scope.uses, scope.algorithms.len())) {
            signals(&scope.sections, cc, &users, &reaches, fabric, reading);
            let used = || users.iter().filter_map(|&block| reaches[block].as_ref());
            let section = section_of(&scope.sections, cc, &users);
            if let Some((key, problem)) = paths::unequal_targets(scope, cc, used(), fabric) {
                reading.warn_key(&format!("{section}.{key}"), problem);
            }
            if let Some(longest) = paths::longest(scope, Some(cc), used(), fabric) {
                let told = scope.sections.transport.base_rtt;
                if let Some((key, problem)) = longest.delay_limit(cc, told, fabric) {
                    reading.warn_key(&format!("{section}.{key}"), problem);
                }
                if let Some((key, problem)) = longest.window_limit(cc, told, fabric) {
                    reading.warn_key(&format!("{section}.{key}"), problem);
                }
                let at_once = users.iter().filter_map(|&block| {
                    reaches[block].as_ref().map(|reach| self[block].pattern.at_once(reach))
                });
                if let Some(problem) = longest.held(cc, scope.sections.transport, at_once.max(), fabric) {
                    reading.warn_key("transport.ack_every", problem);
                }
            }
        }
        let longest = || paths::longest(scope, scope.algorithms.first(), reaches.iter().flatten(), fabric);
        let transport = scope.sections.transport;
        if let (Kind::Ndp, FirstWindow::Packets(packets)) = (transport.kind, transport.ndp.first_window)
            && let Some(problem) = longest().and_then(|longest| longest.first_window(packets, fabric))
        {
            reading.warn_key("transport.ndp.first_window", problem);
        }
        if let (Kind::Homa, RttBytes::Value(bytes)) = (transport.kind, transport.homa.rtt_bytes)
            && let Some(problem) = longest().and_then(|longest| longest.rtt_bytes(bytes, fabric))
        {
            reading.warn_key("transport.homa.rtt_bytes", problem);
        }
        if let Some((key, timer)) = transport.timeout()
            && let Some(problem) = longest().and_then(|longest| longest.timer(timer, fabric))
        {
            reading.warn_key(key, problem);
        }
        if let (Kind::Window, BaseRtt::Value(told)) = (transport.kind, transport.base_rtt)
            && let Some(problem) = longest().and_then(|longest| longest.base_rtt(told, fabric))
        {
            reading.warn_key("transport.base_rtt", problem);
        }
        if reaches.iter().all(Option::is_some) {
            load::warn(scope, fabric, reading);
        }
    }
}

/// For every algorithm the blocks that use it.
fn users(uses: &[u16], algorithms: usize) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); algorithms];
    for (block, algorithm) in uses.iter().enumerate() {
        if let Some(users) = users.get_mut(usize::from(*algorithm)) {
            users.push(block);
        }
    }
    users
}

/// Checks every block against the network; says who may send to whom.
fn blocks(sections: &Sections<'_>, fabric: &Fabric, reading: &mut Reading) -> Vec<Option<Reach>> {
    let world = World::new(fabric);
    let setting =
        Setting { world: &world, until: sections.until, quickest: sections.quickest, local: sections.local };
    let mut names = BTreeSet::new();
    let mut reaches = Vec::new();
    for block in sections.traffic {
        let name = block.name();
        let key = format!("traffic.{name}");
        if !names.insert(name) {
            let message = format!("there are two blocks called {name:?}; give each its own name");
            reading.wrong_key(&format!("{key}.name"), message);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty()
            || !name.chars().all(plain)
            || name.chars().all(|c| c.is_ascii_digit())
            || name == "all"
        {
            let message = format!(
                "{name:?} is not a valid name for a block; use letters, digits, - and _, not \"all\""
            );
            reading.wrong_key(&format!("{key}.name"), message);
        }
        reaches.push(match block.pattern.check(&setting) {
            Ok(reach) => Some(reach),
            Err(faults) => {
                for fault in faults {
                    reading.fault(&key, fault);
                }
                None
            }
        });
    }
    reaches
}

/// Returns why an algorithm finds nothing here of what it is made for, and what would change that.
fn unfit(sections: &Sections<'_>, cc: &Cc, blocks: &[usize]) -> Option<(String, &'static str)> {
    let name = cc.name();
    if cc.signals().contains(Signals::CIRCUIT) && !matches!(sections.topology, Topology::Rotor(_)) {
        let message = format!("{name} reacts to announcements of circuits, and the network has no circuits");
        return Some((message, "a network with topology.kind = \"rotor\" has them"));
    }
    if cc.is_for_spraying() { without_spraying(sections, name, blocks) } else { None }
}

/// Returns the same for an algorithm that is made for packets spread over paths, which overtake each other.
fn without_spraying(sections: &Sections<'_>, name: &str, blocks: &[usize]) -> Option<(String, &'static str)> {
    let usual = sections.policy;
    let mut policies = blocks.iter().map(|&block| sections.traffic[block].common.balancing.unwrap_or(usual));
    if !policies.any(Policy::spreads) {
        let message =
            format!("{name} is made for packets that are spread over paths, and every flow has one path");
        return Some((message, "balancing.policy = \"reps\" is a policy that spreads packets"));
    }
    if sections.transport.recovery == Recovery::GoBackN {
        let message = format!(
            "{name} is made for packets that overtake each other, and transport.recovery is \"go-back-n\""
        );
        return Some((message, "transport.recovery = \"selective\" keeps packets that arrive out of order"));
    }
    None
}

/// Returns the path of the section that names an algorithm.
fn section_of(sections: &Sections<'_>, cc: &Cc, blocks: &[usize]) -> String {
    let own = blocks.iter().map(|&block| &sections.traffic[block]).find(|block| block.common.cc.is_some());
    match own {
        Some(block) if sections.cc != Some(cc) => format!("traffic.{}.cc", block.name()),
        _ => "cc".to_owned(),
    }
}

/// Checks that the network gives an algorithm the signals it needs.
fn signals(
    sections: &Sections<'_>,
    cc: &Cc,
    blocks: &[usize],
    reaches: &[Option<Reach>],
    fabric: &Fabric,
    reading: &mut Reading,
) {
    let signals = cc.signals();
    let name = cc.name();
    let section = section_of(sections, cc, blocks);
    let key = format!("{section}.algorithm");
    let marks = [Signals::ECN, Signals::CNP].into_iter().any(|signal| signals.contains(signal));
    if marks && sections.switch.ecn.is_none() {
        let message = format!(
            "{name} needs ECN marks, and the switches set none; add a section [switch.ecn] with kmin, kmax and pmax"
        );
        reading.wrong_key(&key, message);
    }
    if marks && let Some(problem) = switch::never_marked(sections.switch, name) {
        reading.warn_key("switch.ecn.kmin", problem);
    }
    if let Some((message, hint)) = unfit(sections, cc, blocks) {
        reading.warn_key(&key, Problem::new(message).with_hint(hint));
    }
    if !signals.contains(Signals::INT) {
        return;
    }
    let usual = sections.policy;
    let mut policies = blocks.iter().map(|&block| sections.traffic[block].common.balancing.unwrap_or(usual));
    if policies.any(Policy::spreads) {
        let message = format!(
            "{name} compares the telemetry of a link with that of the packet before, and packets that are spread over \
             paths come from other links: it takes the difference for load"
        );
        let hint = "balancing.policy = \"ecmp\" keeps a flow on one path";
        reading.warn_key(&section, Problem::new(message).with_hint(hint));
    }
    let mut distances: BTreeMap<Vec<NodeId>, Vec<u32>> = BTreeMap::new();
    for &block in blocks {
        let Some(reach) = &reaches[block] else { continue };
        for [a, b] in paths::pairs(reach, fabric) {
            let from = distances
                .entry(a.switches(fabric))
                .or_insert_with_key(|switches| fabric.distances_from(switches));
            let nearest = b.links(fabric).iter().map(|link| from[link.0 as usize]).min();
            let hops = nearest.filter(|links| *links != u32::MAX).map_or(0, |links| links as usize + 1);
            if hops > MAX_INT_HOPS {
                let message = format!(
                    "{name} reads in-band telemetry of at most {MAX_INT_HOPS} switches; from {} to {} there are {hops}",
                    a.name(fabric),
                    b.name(fabric)
                );
                reading.wrong_key(&key, message);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// A star with two blocks of traffic, and these lines in addition.
    fn star(algorithm: &str, more: &str) -> Scenario {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 4, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"{algorithm}\" }}\n{more}\n\
             [[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n\
             [[traffic]]\nkind = \"incast\"\nto = \"h3\"\nsize = \"1KB\"\nbalancing = \"ops\"\n"
        );
        Scenario::from_toml(&text, "star.toml", &[]).unwrap()
    }

    /// Returns the warnings whose key is the algorithm's.
    fn about_the_algorithm(scenario: &Scenario) -> Vec<&str> {
        let about = |warning: &&Problem| warning.key.as_deref() == Some("cc.algorithm");
        scenario.warnings().iter().filter(about).map(|warning| warning.problem.as_str()).collect()
    }

    #[test]
    fn an_algorithm_for_circuits_is_warned_of_where_there_are_none() {
        let scenario = star("retcp", "");
        let expected = "retcp reacts to announcements of circuits, and the network has no circuits";
        assert_eq!(about_the_algorithm(&scenario), [expected]);
        let rotor = "topology = { kind = \"rotor\", racks = 3, hosts = 2 }\ncc = { algorithm = \"retcp\" }\n\
                     transport = { recovery = \"selective\" }\n[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n";
        let scenario = Scenario::from_toml(rotor, "rotor.toml", &[]).unwrap();
        assert_eq!(about_the_algorithm(&scenario), [""; 0]);
    }

    /// By hand: a queue of a shared buffer of 300 KB with alpha 1 is let in up to half of it, 150 KB.
    #[test]
    fn thresholds_of_marks_that_no_queue_exceeds_are_warned_of() {
        let said = |algorithm: &str, kmin: &str, switch: &str| {
            let ecn = format!("ecn = {{ kmin = \"{kmin}\", kmax = \"2MB\", pmax = 1.0 }}");
            let scenario = star(algorithm, &format!("[switch]\n{switch}\n{ecn}"));
            let about = |warning: &&Problem| warning.key.as_deref() == Some("switch.ecn.kmin");
            scenario
                .warnings()
                .iter()
                .filter(about)
                .map(|warning| warning.problem.clone())
                .collect::<Vec<_>>()
        };
        let port = "buffer = { per_port = \"200KB\" }";
        let never = "is 200KB, and no queue grows longer: no packet is marked, and dctcp learns of congestion from \
                     losses only";
        assert_eq!(said("dctcp", "200KB", port), [never]);
        assert_eq!(said("dcqcn", "300KB", port).len(), 1);
        assert_eq!(said("dctcp", "151KB", "buffer = \"300KB\"\negress_alpha = 1.0").len(), 1);
        for (algorithm, kmin, switch) in [
            ("dctcp", "199999B", port),
            // Marks are not what it reads.
            ("swift", "300KB", port),
            ("dctcp", "150KB", "buffer = \"300KB\"\negress_alpha = 1.0"),
            ("dctcp", "300KB", "buffer = \"unlimited\""),
            (
                "dctcp",
                "300KB",
                "buffer = { per_port = \"200KB\" }\nbuffers = [{ switches = [\"s0\"], buffer = \"unlimited\" }]",
            ),
        ] {
            assert_eq!(said(algorithm, kmin, switch), Vec::<String>::new(), "{algorithm}, {kmin}, {switch}");
        }
    }

    /// The second block spreads its packets, the first one does not.
    #[test]
    fn an_algorithm_for_spraying_wants_packets_spread_and_selective_repeat() {
        let problem = |scenario: &Scenario, blocks: &[usize]| {
            without_spraying(&scenario.root.sections(), "x", blocks).map(|(message, _)| message)
        };
        let selective = star("oscar", "transport = { recovery = \"selective\" }");
        let one_path = "x is made for packets that are spread over paths, and every flow has one path";
        assert_eq!(problem(&selective, &[0]).as_deref(), Some(one_path));
        assert_eq!(problem(&selective, &[0, 1]), None);
        assert_eq!(problem(&selective, &[1]), None);
        let in_order = star("oscar", "transport = { recovery = \"go-back-n\" }");
        let overtaken =
            "x is made for packets that overtake each other, and transport.recovery is \"go-back-n\"";
        assert_eq!(problem(&in_order, &[1]).as_deref(), Some(overtaken));
        let everywhere =
            star("oscar", "transport = { recovery = \"selective\" }\nbalancing = { policy = \"reps\" }");
        assert_eq!(problem(&everywhere, &[0]), None);
        // Algorithms of the other groups are not asked.
        assert_eq!(about_the_algorithm(&in_order), [""; 0]);
    }
}
