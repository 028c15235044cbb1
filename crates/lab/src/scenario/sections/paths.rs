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
    /// The least rate of its links.
    rate: Rate,
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
/// spend on them; of several shortest ways the slowest. The last is the least rate of any of their links.
type Way = (u32, Time, Rate);

/// Returns the ways to all nodes. They do not lead through hosts.
fn ways(fabric: &Fabric, from: &[NodeId], cost: &impl Fn(Rate, Time) -> Time) -> Vec<Option<Way>> {
    let mut ways = vec![None; fabric.network.nodes.len()];
    let mut queue: VecDeque<NodeId> =
        from.iter().copied().filter(|&node| !fabric.network.is_host(node)).collect();
    from.iter().for_each(|&node| ways[node as usize] = Some((0, Time::ZERO, Rate::from_bps(u64::MAX))));
    while let Some(node) = queue.pop_front() {
        let Some((links, time, least)) = ways[node as usize] else { continue };
        for &(far, rate, delay) in fabric.ports(node) {
            let new = (links + 1, time + cost(rate, delay), least.min(rate));
            match &mut ways[far as usize] {
                Some(known) if known.0 < new.0 => {}
                Some(known) => (known.1, known.2) = (known.1.max(new.1), known.2.min(new.2)),
                unknown => {
                    *unknown = Some(new);
                    if !fabric.network.is_host(far) {
                        queue.push_back(far);
                    }
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
    let pairs: Vec<[End; 2]> = reaches.flat_map(|reach| pairs(reach, fabric)).collect();
    // The ways from one place are found once and not kept: together they would need the square of a network's size.
    let mut places: BTreeMap<Vec<NodeId>, Vec<usize>> = BTreeMap::new();
    for (index, [a, _]) in pairs.iter().enumerate() {
        places.entry(a.switches(fabric)).or_default().push(index);
    }
    let mut found: Vec<Option<Way>> = vec![None; pairs.len()];
    for (switches, indices) in places {
        let from = ways(fabric, &switches, &cost);
        for index in indices {
            let [_, b] = pairs[index];
            found[index] = match (b.card, b.links(fabric)) {
                (Some(_), &[(switch, rate, delay)]) => {
                    let last =
                        |(links, time, least): Way| (links + 1, time + cost(rate, delay), least.min(rate));
                    from[switch as usize].map(last)
                }
                _ => from[b.host as usize],
            };
        }
    }
    for ([a, b], way) in pairs.into_iter().zip(found) {
        let Some((links, time, least)) = way else { continue };
        let Some(&(_, line_rate, delay)) = a.links(fabric).first() else { continue };
        let base_rtt = time + cost(line_rate, delay);
        let payload = transport.payload;
        let path = Path { base_rtt, base_owd: base_rtt, line_rate, packet, payload, hops: links + 1 };
        each(Route { path, rate: least.min(line_rate), ends: [a, b] });
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
        let (limit, key) = cc.parameters()?.delay_limit(&Path { base_rtt: self.told(told), ..self.path })?;
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

    /// Returns what is wrong with a limit of the bytes in flight on this path: `what` is what it limits, and `packet` the
    /// packet by which it may be exceeded.
    fn too_little(&self, limit: Bytes, packet: Bytes, what: &str, fabric: &Fabric) -> Option<Problem> {
        let Path { base_rtt, .. } = self.path;
        let needed = self.rate.bytes_in(base_rtt);
        let most = limit.get().saturating_add(packet.get());
        // Papers round base RTTs, by less than 5 %.
        if u128::from(most) * 20 >= u128::from(needed.get()) * 19 {
            return None;
        }
        let message = format!(
            "limits {what} to {limit}; {} {} for {base_rtt} are {needed}, so that a flow alone uses {} % of the link",
            self.place(fabric),
            self.rate,
            u128::from(most) * 100 / u128::from(needed.get()),
        );
        Some(Problem::new(message))
    }

    /// Returns what is wrong with the largest window of an algorithm on this path.
    pub(super) fn window_limit(
        &self,
        cc: &Cc,
        told: BaseRtt,
        fabric: &Fabric,
    ) -> Option<(&'static str, Problem)> {
        let (limit, key) = cc.parameters()?.window_limit(&Path { base_rtt: self.told(told), ..self.path })?;
        let what = format!("a window of {}", cc.name());
        let problem = self.too_little(limit, self.path.packet, &what, fabric)?;
        let hint = "a larger one, of the bandwidth-delay product at least, fills every path";
        Some((key, problem.with_hint(hint)))
    }

    /// Returns what is wrong with a size of Homa's RTTbytes on this path.
    pub(super) fn rtt_bytes(&self, bytes: Bytes, fabric: &Fabric) -> Option<Problem> {
        let Path { packet, payload, .. } = self.path;
        // It counts payload.
        let sent = Bytes::new(bytes.get().div_ceil(payload.get()) * packet.get());
        let problem = self.too_little(sent, Bytes::ZERO, "what is sent without a new grant", fabric)?;
        Some(problem.with_hint("rtt_bytes = \"network\" fills every path, and \"pair\" each one"))
    }

    /// Returns what is wrong with a timer that takes packets for lost, if packets of this path are answered later.
    pub(super) fn timer(&self, timer: Time, fabric: &Fabric) -> Option<Problem> {
        let least = self.path.base_rtt;
        if timer >= least {
            return None;
        }
        let message = format!(
            "is {timer}, and {} packets are answered after {least} without any queue: the timer expires for packets that \
             are not lost, which are sent again",
            self.place(fabric),
        );
        Some(
            Problem::new(message)
                .with_hint("the timer must exceed the base RTT of every path, and its queues"),
        )
    }

    /// Returns the base RTT that an algorithm is given on this path.
    fn told(&self, told: BaseRtt) -> Time {
        match told {
            BaseRtt::Value(value) => value,
            BaseRtt::Path | BaseRtt::Network => self.path.base_rtt,
        }
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
            "algorithm = \"swift\", base_target = \"99us\", hop = \"1us\", max_cwnd = 1200",
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

    /// By hand, as above, with Swift's 1,000 packets: links of 21 us make 84.17888 us and 1.052236 MB, 998 packets; links of
    /// 25 us 100.17888 us and 1.252236 MB, of which 1,001 packets of 1054 B are 84 %.
    #[test]
    fn windows_that_cannot_fill_a_path_are_warned_of() {
        let said = |delay: &str, rest: &str| warnings(delay, rest).join("\n");
        let swift = |more: &str| cc(&format!("algorithm = \"swift\", base_target = \"200us\"{more}"));
        assert_eq!(said("21us", &swift("")), "");
        let text = said("25us", &swift(""));
        assert!(text.starts_with("cc.max_cwnd: limits a window of swift to 1.054MB; from h"), "{text}");
        assert!(
            text.contains("100Gbps for 100.17888us are 1.252236MB, so that a flow alone uses 84 % of"),
            "{text}"
        );
        assert_eq!(said("25us", &swift(", max_cwnd = 1200")), "");
        for name in ["lswift", "mswift"] {
            let text = said("25us", &cc(&format!("algorithm = \"{name}\", max_cwnd = 20")));
            assert!(text.contains(&format!("cc.max_cwnd: limits a window of {name} to 21.08KB")), "{text}");
        }
        // Half a BDP, and the whole.
        for (name, key) in
            [("poseidon", "max_cwnd"), ("powertcp", "window_cap"), ("theta-powertcp", "window_cap")]
        {
            let limited = |share: &str| said("3us", &cc(&format!("algorithm = \"{name}\", {key} = {share}")));
            assert!(limited("0.5").contains(&format!("cc.{key}: limits a window of {name} to ")), "{name}");
            assert!(!limited("1.0").contains("limits"), "{name}");
        }
        // RTTbytes are payload: 50 packets of 1054 B are 52.7 KB of 152.236 KB, 34 %; 145 packets are 152.83 KB.
        let homa = |bytes: &str| {
            said(
                "3us",
                &format!(
                    "[transport]\nkind = \"homa\"\nhoma = {{ rtt_bytes = \"{bytes}\" }}\n[switch]\nqueues = 8"
                ),
            )
        };
        let text = homa("50KB");
        assert!(
            text.starts_with("transport.homa.rtt_bytes: limits what is sent without a new grant to 52.7KB"),
            "{text}"
        );
        assert!(text.contains("uses 34 % of the link"), "{text}");
        assert_eq!(homa("145KB"), "");
        assert_eq!(homa("network"), "");
    }

    /// By hand: a link of 10 Gbps on the way takes 100 Gbps for 12 us no further than 15 KB and a little.
    #[test]
    fn windows_are_measured_by_the_slowest_link() {
        let said = |window: &str| {
            let text = format!(
                "topology = {{ kind = \"dumbbell\", left = 1, right = 1, rate = \"100Gbps\", delay = \"2us\", \
                 bottleneck_rate = \"10Gbps\" }}\ncc = {{ algorithm = \"swift\", max_cwnd = {window} }}\n\
                 [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\n"
            );
            let scenario = Scenario::from_toml(&text, "slow.toml", &[]).unwrap();
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        // Six links of 2 us, four times 1118 B at 100 Gbps and twice at 10 Gbps: 14 us, 17.5 KB, 17 packets.
        assert_eq!(said("17"), "");
        assert!(said("10").contains("10Gbps for "), "{}", said("10"));
    }

    /// By hand: packets are answered after 12.17888 us.
    #[test]
    fn timers_below_the_base_rtt_are_warned_of() {
        let said = |rest: &str| warnings("3us", rest).join("\n");
        let window =
            |rto: &str| said(&format!("{}\n[transport]\nrto = \"{rto}\"", cc("algorithm = \"swift\"")));
        let text = window("12us");
        assert!(text.starts_with("transport.rto: is 12us, and from h"), "{text}");
        assert!(text.contains("packets are answered after 12.17888us without any queue"), "{text}");
        assert_eq!(window("13us"), "");
        let ndp = |rto: &str| {
            said(&format!("[transport]\nkind = \"ndp\"\nndp = {{ rto = \"{rto}\" }}\n[switch.trimming]"))
        };
        assert!(ndp("12us").starts_with("transport.ndp.rto: is 12us"), "{}", ndp("12us"));
        assert_eq!(ndp("13us"), "");
        let homa = |timeout: &str| {
            said(&format!(
                "[transport]\nkind = \"homa\"\nhoma = {{ resend_timeout = \"{timeout}\" }}\n[switch]\nqueues = 8"
            ))
        };
        assert!(homa("12us").starts_with("transport.homa.resend_timeout: is 12us"), "{}", homa("12us"));
        assert_eq!(homa("13us"), "");
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
