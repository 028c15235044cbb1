//! Paths of the traffic before anything runs, and settings that they make meaningless.

use std::collections::{BTreeMap, VecDeque};

use incast_cc::Path;
use incast_sim::describe::network::NodeId;
use incast_sim::describe::transport::{AckEvery, BaseRtt, Kind, Recovery, Transport};
use incast_units::{Bytes, Rate, Time};

use super::scope::Scope;
use crate::cc::Cc;
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::traffic::Reach;
use crate::traffic::hosts::End;

/// A path of the traffic, with the hosts or cards at its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Route {
    pub(super) path: Path,
    pub(super) ends: [End; 2],
}

/// Returns the pairs of hosts or cards that may send to each other. Those on the same switches have one pair.
pub(super) fn pairs(reach: &Reach, fabric: &Fabric) -> Vec<[End; 2]> {
    // The first and the last of those on the same switches, of two hosts if there are two.
    let at = |ends: &[End]| {
        let mut places: BTreeMap<Vec<NodeId>, Vec<End>> = BTreeMap::new();
        for &end in ends {
            let place = places.entry(end.switches(fabric)).or_default();
            match place.as_mut_slice() {
                [first, ..] if first.host == end.host => {}
                [_, last] => *last = end,
                _ => place.push(end),
            }
        }
        places
    };
    let apart = |from: &[End], to: &[End]| {
        let mut pairs = from.iter().rev().flat_map(|a| to.iter().rev().map(move |b| [*a, *b]));
        pairs.find(|[a, b]| a.host != b.host)
    };
    let any = |from: &[End], to: &[End]| -> Vec<[End; 2]> {
        let to = at(to);
        at(from).values().flat_map(|a| to.values().filter_map(|b| apart(a, b))).collect()
    };
    match reach {
        Reach::Any(from, to) => any(from, to),
        Reach::Groups(groups) => groups.iter().flat_map(|group| any(group, group)).collect(),
        Reach::Pairs(pairs) => pairs.clone(),
    }
}

/// Links from the nearest of some switches to a node, and the time that a data packet and its acknowledgement
/// spend on them; of several shortest ways the slowest.
type Way = (u32, Time);

/// Returns the ways to all nodes. They do not lead through hosts.
fn ways(fabric: &Fabric, from: &[NodeId], cost: &impl Fn(Rate, Time) -> Time) -> Vec<Option<Way>> {
    let mut ways = vec![None; fabric.network.nodes.len()];
    let mut queue: VecDeque<NodeId> = from.iter().copied().collect();
    queue.iter().for_each(|&node| ways[node as usize] = Some((0, Time::ZERO)));
    while let Some(node) = queue.pop_front() {
        let Some((links, time)) = ways[node as usize].filter(|_| !fabric.network.is_host(node)) else {
            continue;
        };
        for &(far, rate, delay) in fabric.ports(node) {
            let new = (links + 1, time + cost(rate, delay));
            match &mut ways[far as usize] {
                Some(known) if known.0 < new.0 => {}
                Some(known) => known.1 = known.1.max(new.1),
                unknown => {
                    *unknown = Some(new);
                    queue.push_back(far);
                }
            }
        }
    }
    ways
}

/// Calls `each` with the paths that these blocks may use, with packets of an algorithm.
fn paths<'a>(
    scope: &Scope<'_>,
    cc: Option<&Cc>,
    reaches: impl Iterator<Item = &'a Reach>,
    fabric: &Fabric,
    mut each: impl FnMut(Route),
) {
    let transport = scope.sections.transport;
    let overhead = cc.map(Cc::overhead).unwrap_or_default();
    let sized = |bytes: u64| Bytes::new(bytes).max(transport.smallest);
    let packet = sized(transport.payload.get() + transport.header.get() + u64::from(overhead.data));
    let ack = transport.ack_size.unwrap_or(transport.header + transport.ack_extra);
    let ack = sized(ack.get() + u64::from(overhead.ack));
    let cost = |rate: Rate, delay: Time| delay.times(2) + rate.time_for(packet) + rate.time_for(ack);
    let mut known: BTreeMap<Vec<NodeId>, Vec<Option<Way>>> = BTreeMap::new();
    for reach in reaches {
        for [a, b] in pairs(reach, fabric) {
            let from =
                known.entry(a.switches(fabric)).or_insert_with_key(|switches| ways(fabric, switches, &cost));
            let way = match (b.card, b.links(fabric)) {
                (Some(_), &[(switch, rate, delay)]) => {
                    from[switch as usize].map(|(links, time)| (links + 1, time + cost(rate, delay)))
                }
                _ => from[b.host as usize],
            };
            let Some((links, time)) = way else { continue };
            let Some(&(_, line_rate, delay)) = a.links(fabric).first() else { continue };
            let base_rtt = time + cost(line_rate, delay);
            let payload = transport.payload;
            let path = Path { base_rtt, base_owd: base_rtt, line_rate, packet, payload, hops: links + 1 };
            each(Route { path, ends: [a, b] });
        }
    }
}

/// Returns the path with the largest base RTT of those that these blocks may use, with packets of an algorithm.
pub(super) fn longest<'a>(
    scope: &Scope<'_>,
    cc: Option<&Cc>,
    reaches: impl Iterator<Item = &'a Reach>,
    fabric: &Fabric,
) -> Option<Route> {
    let mut longest: Option<Route> = None;
    paths(scope, cc, reaches, fabric, |route| {
        if longest.is_none_or(|known| known.path.base_rtt < route.path.base_rtt) {
            longest = Some(route);
        }
    });
    longest
}

/// Returns the parameter that gives flows of an algorithm different queues to aim at, with what is wrong with it.
pub(super) fn unequal_targets<'a>(
    scope: &Scope<'_>,
    cc: &Cc,
    reaches: impl Iterator<Item = &'a Reach>,
    fabric: &Fabric,
) -> Option<(&'static str, Problem)> {
    // Algorithms that are given one base RTT for all paths aim at one delay.
    if scope.sections.transport.base_rtt != BaseRtt::Path {
        return None;
    }
    let parameters = cc.parameters()?;
    let target = |route: &Route| parameters.target_queue(&route.path);
    let (mut least, mut most): (Option<Route>, Option<Route>) = (None, None);
    paths(scope, Some(cc), reaches, fabric, |route| {
        if least.is_none_or(|known| target(&route) < target(&known)) {
            least = Some(route);
        }
        if most.is_none_or(|known| target(&known) < target(&route)) {
            most = Some(route);
        }
    });
    let (least, most) = (least?, most?);
    let ((low, key), (high, _)) = (target(&least)?, target(&most)?);
    // By more than a tenth.
    if high.times(10) <= low.times(11) {
        return None;
    }
    let of = |route: &Route, queue: Time| {
        format!("a queue of {queue} {} (base RTT {})", route.place(fabric), route.path.base_rtt)
    };
    let message = format!(
        "makes {} aim at {} and at {}: where such flows share a queue it grows towards the larger, and those that aim at \
         the smaller are left with a small part of the link",
        cc.name(),
        of(&least, low),
        of(&most, high),
    );
    let hint = format!("the default preset of {} aims at one queueing delay on every path", cc.name());
    Some((key, Problem::new(message).with_hint(hint)))
}

impl Route {
    /// Its ends in words.
    fn place(&self, fabric: &Fabric) -> String {
        let [a, b] = self.ends.map(|end| end.name(fabric));
        format!("from {a} to {b}")
    }

    /// Returns what an algorithm with a target delay cannot do on this path, and what would help.
    pub(super) fn delay_limit(
        &self,
        cc: &Cc,
        told: BaseRtt,
        fabric: &Fabric,
    ) -> Option<(&'static str, Problem)> {
        let base_rtt = match told {
            BaseRtt::Value(value) => value,
            BaseRtt::Path | BaseRtt::Network => self.path.base_rtt,
        };
        let (limit, key) = cc.parameters()?.delay_limit(&Path { base_rtt, ..self.path })?;
        let least = self.path.base_rtt;
        if limit > least {
            return None;
        }
        let message = format!(
            "makes {} slow down from a delay of {limit} on, and {} packets need {least} without any queue: a flow \
             alone there does not fill its link",
            cc.name(),
            self.place(fabric),
        );
        let hint = "the delay must exceed the base RTT of every path";
        Some((key, Problem::new(message).with_hint(hint)))
    }

    /// Returns what is wrong with a first window of NDP on this path, and what would be right.
    pub(super) fn first_window(&self, packets: u32, fabric: &Fabric) -> Option<Problem> {
        let Path { packet, line_rate, base_rtt, .. } = self.path;
        let (window, bdp) = (Bytes::new(packet.get() * u64::from(packets)), self.path.bdp());
        if window >= bdp {
            return None;
        }
        let message = format!(
            "is {packets} packets, {window} on the wire; {} the bandwidth-delay product is {bdp} ({line_rate} for \
             {base_rtt}), so that one flow uses {} % of its link at first",
            self.place(fabric),
            100 * window.get() / bdp.get(),
        );
        let packets = bdp.get().div_ceil(packet.get());
        let hint = format!("first_window = {packets} fills the path, and \"bdp\" each one");
        Some(Problem::new(message).with_hint(hint))
    }

    /// Returns what is wrong with a size of Homa's RTTbytes on this path, and what would be right.
    pub(super) fn rtt_bytes(&self, told: Bytes, fabric: &Fabric) -> Option<Problem> {
        let Path { packet, payload, line_rate, base_rtt, .. } = self.path;
        let bdp = self.path.bdp();
        // Payload in as many bytes on the wire. A part of a packet is sent as a packet.
        let full = Bytes::new(bdp.get() * payload.get() / packet.get());
        if told + payload > full {
            return None;
        }
        let message = format!(
            "is {told} of payload; {} the bandwidth-delay product is {bdp} ({line_rate} for {base_rtt}), of which \
             {full} are payload: one message uses {} % of its link",
            self.place(fabric),
            100 * told.get() / full.get(),
        );
        let hint = "rtt_bytes = \"network\" fills the longest path, and \"pair\" each one";
        Some(Problem::new(message).with_hint(hint))
    }

    /// Returns what is wrong with a timeout that expires before this path can bring an answer.
    pub(super) fn timeout(&self, timeout: Time, fabric: &Fabric) -> Option<Problem> {
        let least = self.path.base_rtt;
        if timeout > least {
            return None;
        }
        let message = format!(
            "is {timeout}, and {} a packet and its answer need {least} without any queue: what arrives is sent again",
            self.place(fabric),
        );
        let hint = "the timeout must exceed the base RTT of every path, and the delay of its queues";
        Some(Problem::new(message).with_hint(hint))
    }

    /// Returns what is wrong with acknowledgements that receivers hold, if this number of flows of an algorithm with a window
    /// share this path.
    pub(super) fn held(
        &self,
        cc: &Cc,
        transport: &Transport,
        flows: Option<u64>,
        fabric: &Fabric,
    ) -> Option<Problem> {
        let Path { packet, payload, line_rate, base_rtt, .. } = self.path;
        let (flows, delay) = (flows?.max(1), transport.ack_delay(|| base_rtt));
        // Under selective repeat senders ask for the acknowledgement of a full window.
        if transport.kind != Kind::Window
            || transport.recovery == Recovery::Selective
            || !cc.has_window(&self.path)
        {
            return None;
        }
        let needed = match transport.ack_every {
            AckEvery::Packets(packets) => u64::from(packets),
            AckEvery::Bytes(bytes) => bytes.get().div_ceil(payload.get()),
        };
        let bdp = self.path.bdp();
        // A window that is not a whole number of packets admits the next larger one.
        let share = bdp.get().div_ceil(packet.get() * flows).max(1);
        if share >= needed || delay <= base_rtt {
            return None;
        }
        let each = match flows {
            1 => "it".to_owned(),
            _ => format!("the part of each of {flows} flows"),
        };
        let message = format!(
            "asks for {needed} packets per acknowledgement; {} the bandwidth-delay product is {bdp} ({line_rate} for \
             {base_rtt}), and {each} admits {share}: a window of that size waits for transport.ack_delay ({delay})",
            self.place(fabric),
        );
        let hint = format!(
            "ack_every = {share}, an ack_delay far below the base RTT, or recovery = \"selective\", whose senders ask \
             for the acknowledgement of a full window"
        );
        Some(Problem::new(message).with_hint(hint))
    }

    /// Returns what is wrong with a base RTT that all algorithms are given, if it is less than that of this path.
    pub(super) fn base_rtt(&self, told: Time, fabric: &Fabric) -> Option<Problem> {
        let least = self.path.base_rtt;
        // Papers round it, by less than 5 %.
        if told.times(20) >= least.times(19) {
            return None;
        }
        let message = format!(
            "is {told}, and {} packets need {least} without any queue: algorithms that measure delays take the \
             difference for a queue",
            self.place(fabric),
        );
        Some(Problem::new(message).with_hint("base_rtt = \"path\" gives each flow its own"))
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// Two hosts at one switch, 100 Gbps, with links of this delay; the rest of the scenario follows.
    fn warnings(delay: &str, rest: &str) -> Vec<String> {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"{delay}\" }}\n{rest}\n\
             [[traffic]]\nname = \"a\"\nkind = \"all-to-all\"\nsize = \"1MB\"\n"
        );
        let scenario = Scenario::from_toml(&text, "paths.toml", &[]).unwrap();
        let text = |problem: &crate::Problem| {
            format!("{}: {}", problem.key.as_deref().unwrap_or(""), problem.problem)
        };
        scenario.warnings().iter().map(text).collect()
    }

    fn cc(name: &str) -> String {
        format!("cc = {{ {name} }}")
    }

    /// By hand: four links of 25 us, twice 1054 B and twice 64 B at 100 Gbps: 100 us + 2 · (84.32 + 5.12) ns =
    /// 100.17888 us.
    #[test]
    fn a_target_delay_below_the_base_rtt_is_warned_of() {
        let said = |name: &str| warnings("25us", &cc(name)).join("\n");
        for (name, limit) in [
            // 20 us and 1 us for each of two links.
            ("algorithm = \"swift\", base_target = \"20us\", hop = \"1us\"", "22us"),
            ("algorithm = \"timely\", t_low = \"10us\", t_high = \"90us\"", "90us"),
            ("algorithm = \"patched-timely\", t_low = \"50us\"", "50us"),
            ("algorithm = \"sqcc\", t_low = \"50us\"", "50us"),
        ] {
            let text = said(name);
            assert!(text.contains(&format!("from a delay of {limit} on")), "{name}: {text}");
            assert!(text.contains("need 100.17888us without any queue"), "{name}: {text}");
        }
        assert!(said("algorithm = \"swift\"").starts_with("cc.base_target: makes swift slow down"));
        // 101 us are above it, and TIMELY's low threshold may be below it.
        for name in [
            "algorithm = \"swift\", base_target = \"99us\", hop = \"1us\"",
            "algorithm = \"swift\", preset = \"oscar\"",
            "algorithm = \"timely\", t_low = \"50us\"",
            "algorithm = \"sqcc\", t_low = \"101us\"",
        ] {
            assert_eq!(said(name), "", "{name}");
        }
    }

    /// By hand: four links of 3 us, twice 1060 B and twice 64 B at 100 Gbps make 12.17984 us (OSCAR adds 6 B to data and to
    /// acknowledgements, which have 58 B). A target of 1 us above 10 us is below that.
    #[test]
    fn a_base_rtt_that_is_too_low_is_warned_of() {
        let transport = "[transport]\nbase_rtt = ";
        let oscar = cc("algorithm = \"oscar\"");
        let said = |told: &str, cc: &str| warnings("3us", &format!("{cc}\n{transport}\"{told}\""));
        assert_eq!(said("12us", &oscar), Vec::<String>::new());
        assert_eq!(said("network", &oscar), Vec::<String>::new());
        let [low] = &said("10us", &oscar)[..] else { panic!("one warning") };
        assert!(low.starts_with("transport.base_rtt: is 10us, and from h"), "{low}");
        assert!(low.contains("need 12.17984us"), "{low}");
        let both = said(
            "10us",
            &cc("algorithm = \"swift\", preset = \"median\", hop = \"0us\", fs_range = \"0us\""),
        );
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both.join("\n").contains("from a delay of 11us on"), "{both:?}");
    }

    /// By hand: cards 0 and 1 are on different rails, so that packets take four links of 1 us instead of the two of a rail:
    /// 8 us + 4 · (84.32 + 5.12) ns = 8.35776 us, and not 4.17888.
    #[test]
    fn the_base_rtt_of_cards_is_that_of_their_path() {
        let said = |to: &str| {
            let text = format!(
                "topology = {{ kind = \"rail-optimized\", servers = 2, rails = 2, spines = 1, rate = \"100Gbps\", \
                 delay = \"1us\" }}\ncc = {{ algorithm = \"swift\" }}\ntransport = {{ base_rtt = \"5us\" }}\n\
                 [[traffic]]\nkind = \"flows\"\nfrom = \"h0.0\"\nto = \"{to}\"\nsize = \"1MB\"\n"
            );
            let scenario = Scenario::from_toml(&text, "cards.toml", &[]).unwrap();
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert!(said("h1.1").contains("from h0.0 to h1.1 packets need 8.35776us"), "{}", said("h1.1"));
        assert_eq!(said("h1.0"), "");
    }

    /// By hand: 100 Gbps for 12.17888 us are 152,236 B, 145 packets of 1054 B (144.4); 23 are 24,242 B, 15 %.
    #[test]
    fn a_first_window_of_ndp_below_the_bandwidth_delay_product_is_warned_of() {
        let ndp = |packets: u32| {
            let transport = format!("[transport]\nkind = \"ndp\"\nndp = {{ first_window = {packets} }}");
            warnings("3us", &format!("{transport}\n[switch.trimming]"))
        };
        let [text] = &ndp(23)[..] else { panic!("one warning: {:?}", ndp(23)) };
        assert!(
            text.starts_with("transport.ndp.first_window: is 23 packets, 24.242KB on the wire"),
            "{text}"
        );
        assert!(text.contains("uses 15 % of its link"), "{text}");
        assert_eq!(ndp(144).len(), 1);
        assert_eq!(ndp(145), Vec::<String>::new());
    }

    /// By hand: 152,236 B pass in 12.17888 us, of which 1000 in 1054 are payload: 144,436 B. With 143,436 B, which are 144
    /// packets, and more the link is as good as full; 20 KB are 13 %.
    #[test]
    fn rtt_bytes_below_the_bandwidth_delay_product_are_warned_of() {
        let homa = |rtt_bytes: &str| {
            let homa = format!("kind = \"homa\"\nhoma = {{ rtt_bytes = \"{rtt_bytes}\" }}");
            warnings("3us", &format!("[transport]\n{homa}\n[switch]\nqueues = 8"))
        };
        let [text] = &homa("20KB")[..] else { panic!("one warning: {:?}", homa("20KB")) };
        assert!(text.starts_with("transport.homa.rtt_bytes: is 20KB of payload; from h"), "{text}");
        assert!(text.contains("of which 144.436KB are payload: one message uses 13 % of its link"), "{text}");
        assert_eq!(homa("143436B").len(), 1);
        for fine in ["143437B", "network", "pair"] {
            assert_eq!(homa(fine), Vec::<String>::new(), "{fine}");
        }
    }

    /// By hand, as above: 12.17888 us, with 64 B as the size of every answer.
    #[test]
    fn a_timeout_within_the_base_rtt_is_warned_of() {
        let swift = cc("algorithm = \"swift\"");
        let (trims, levels) = ("[switch.trimming]", "[switch]\nqueues = 8");
        for (key, kind, rest) in [
            ("rto", "window", swift.as_str()),
            ("ndp.rto", "ndp", trims),
            ("homa.resend_timeout", "homa", levels),
        ] {
            let said = |timeout: &str| {
                warnings("3us", &format!("{rest}\n[transport]\nkind = \"{kind}\"\n{key} = \"{timeout}\""))
            };
            let [text] = &said("12178880ps")[..] else { panic!("one warning: {key}, {:?}", said("12us")) };
            assert!(text.starts_with(&format!("transport.{key}: is 12.17888us, and from h")), "{text}");
            assert!(text.contains("need 12.17888us without any queue"), "{text}");
            assert_eq!(said("12178881ps"), Vec::<String>::new(), "{key}");
        }
    }

    /// By hand: four links of 50 ns, twice 1054 B and twice 64 B at 100 Gbps make 378.88 ns, in which 4736 B pass: 5
    /// packets of 1054 B (4.5), and 3 for each of two flows (2.2).
    #[test]
    fn windows_below_what_one_acknowledgement_covers_are_warned_of() {
        let said = |transport: &str, algorithm: &str| {
            warnings("50ns", &format!("{}\n[transport]\n{transport}", cc(algorithm)))
        };
        let swift = "algorithm = \"swift\"";
        let held = "ack_delay = \"50us\"\nack_every = ";
        let [text] = &said(&format!("{held}4"), swift)[..] else { panic!("one warning") };
        assert!(text.starts_with("transport.ack_every: asks for 4 packets per acknowledgement"), "{text}");
        assert!(text.contains("is 4.736KB (100Gbps for 378.88ns)"), "{text}");
        assert!(text.contains("the part of each of 2 flows admits 3:"), "{text}");
        assert_eq!(said(&format!("{held}\"3001B\""), swift).len(), 1);
        for transport in [
            &format!("{held}3"),
            &format!("{held}\"3000B\""),
            // By default an eighth of the base RTT.
            "ack_every = 4",
            "ack_every = 4\nack_delay = \"378ns\"",
            &format!("{held}4\nrecovery = \"selective\""),
        ] {
            assert_eq!(said(transport, swift), Vec::<String>::new(), "{transport}");
        }
        // Rates alone do not wait for acknowledgements.
        let timely = "algorithm = \"timely\", preset = \"paper\"";
        assert_eq!(said(&format!("{held}4"), timely), Vec::<String>::new());
    }

    /// By hand: four links of 1 us, twice 1060 B and twice 64 B at 100 Gbps make 4.17984 us, whose half is 2.08992 us; with
    /// links of 1.5 us to the host that is farther away it is 5.17984 us and 2.58992 us, 24 % more. Links of 1.2 us make
    /// 4.57984 us, 9.6 % more.
    #[test]
    fn targets_that_depend_on_the_base_rtt_are_warned_of() {
        let said = |cc: &str, far: &str, transport: &str| {
            let text = format!(
                "cc = {{ algorithm = \"oscar\"{cc} }}\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"r\"]\n\
                 switches = [\"s\"]\nrate = \"100Gbps\"\ndelay = \"1us\"\nlinks = [{{ between = [\"a\", \"s\"] }}, \
                 {{ between = [\"b\", \"s\"], delay = \"{far}\" }}, {{ between = [\"r\", \"s\"] }}]\n{transport}\n\
                 [[traffic]]\nname = \"x\"\nkind = \"flows\"\nfrom = [\"a\", \"b\"]\nto = \"r\"\nsize = \"1MB\"\n"
            );
            let scenario = Scenario::from_toml(&text, "paths.toml", &[]).unwrap();
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let paper = ", preset = \"paper\"";
        let text = said(paper, "1500ns", "");
        assert!(
            text.contains(
                "cc.target: makes oscar aim at a queue of 2.08992us from a to r (base RTT 4.17984us)"
            ),
            "{text}"
        );
        assert!(text.contains("and at a queue of 2.58992us from b to r (base RTT 5.17984us)"), "{text}");
        assert_eq!(said(paper, "1200ns", ""), "");
        for cc in ["", ", preset = \"artifact\""] {
            assert_eq!(said(cc, "50us", ""), "", "{cc}");
        }
        // All are given one base RTT, and aim at one delay.
        assert_eq!(said(paper, "1500ns", "[transport]\nbase_rtt = \"network\""), "");
    }

    #[test]
    fn telemetry_of_packets_on_several_paths_is_warned_of() {
        let text = |cc: &str, policy: &str| {
            let text = format!(
                "topology = {{ kind = \"leaf-spine\", leaves = 2, hosts = 2, spines = 2, rate = \"100Gbps\", \
                 delay = \"1us\" }}\nbalancing = {{ policy = \"{policy}\" }}\ncc = {{ algorithm = \"{cc}\" }}\n\
                 [[traffic]]\nname = \"a\"\nkind = \"all-to-all\"\nsize = \"1MB\"\n"
            );
            let scenario = Scenario::from_toml(&text, "paths.toml", &[]).unwrap();
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        for cc in ["hpcc", "powertcp"] {
            assert!(text(cc, "reps").contains(&format!("cc: {cc} compares the telemetry of a link")));
            assert_eq!(text(cc, "ecmp"), "");
        }
        assert_eq!(text("oscar", "reps"), "");
    }
}
