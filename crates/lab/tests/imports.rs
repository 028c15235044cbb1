//! Workloads and topologies of other programs: GOAL, htsim, Chakra.

use std::fs;
use std::path::PathBuf;

use incast_lab::formats::chakra::ChakraRank;
use incast_lab::formats::chakra_workload::ChakraTrace;
use incast_lab::formats::describe::describe;
use incast_lab::formats::goal::Goal;
use incast_lab::formats::htsim_connections::HtsimConnections;
use incast_lab::formats::htsim_topology::HtsimTopology;
use incast_lab::workload::Workload;
use incast_lab::{Problems, Scenario};
use incast_sim::describe::work::{Operation, What};
use incast_units::{Bytes, Rate, Time};

const GOAL: &str = include_str!("../../../examples/workloads/allreduce_8.goal");
const CONNECTIONS: &str = include_str!("../../../examples/workloads/collectives_16.cm");
const TOPOLOGY: &str = include_str!("../../../examples/workloads/fat_tree_32.topo");

/// A folder of a test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("incast-imports-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A scenario beside the files.
    fn scenario(&self, text: &str) -> Result<Scenario, String> {
        let name = self.0.join("s.toml").display().to_string();
        let folder = format!("{}/", self.0.display());
        Scenario::from_toml(text, &name, &[]).map_err(|problems| problems.to_string().replace(&folder, ""))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn goal(text: &str) -> Result<Workload, Problems> {
    Goal::parse(text, "a.goal").map(|goal| goal.workload)
}

fn connections(text: &str) -> Result<HtsimConnections, Problems> {
    HtsimConnections::parse(text, "a.cm")
}

fn compute(time: Time, processor: u16) -> What {
    What::Compute { time, processor }
}

fn operation(host: u32, what: What, after: &[u32], after_start: &[u32]) -> Operation {
    Operation { host, what, after: after.to_vec(), after_start: after_start.to_vec(), job: 0 }
}

/// Source, destination, size, start of each message.
fn flows(work: &Workload) -> Vec<(u32, u32, u64, Time)> {
    work.flows.iter().map(|flow| (flow.source, flow.destination, flow.size.get(), flow.start)).collect()
}

#[test]
fn a_goal_schedule_is_read() {
    // Everything that a schedule can say, in both layouts.
    let text = "// made by hand\n/* of two\n ranks */ num_ranks 2\nrank 0 { l1: calc 1500 cpu 2\n\
                l2: send 10b to 1 tag 7 cpu 1 nic 1\nl3 : send 0 b to 1\nl2 requires l1\nl3 irequires l2\n}\n\
                rank 1 {\nrecv 0b from 0 tag 0\nlast: calc 0\nr: recv 16b from 0 tag -1 nic 0 // any\nlast requires r }\n";
    let work = goal(text).unwrap();
    assert_eq!(work.ranks, 2);
    // A message without payload has one byte.
    assert_eq!(flows(&work), [(0, 1, 10, Time::ZERO), (0, 1, 1, Time::ZERO)]);
    let expected = [
        operation(0, compute(Time::from_ns(1500), 2), &[], &[]),
        operation(0, What::Send { flow: 0 }, &[0], &[]),
        operation(0, What::Send { flow: 1 }, &[], &[1]),
        // By its tag the second message, and by any tag the first that is left.
        operation(1, What::Receive { flow: 1 }, &[], &[]),
        operation(1, compute(Time::ZERO, 0), &[5], &[]),
        operation(1, What::Receive { flow: 0 }, &[], &[]),
    ];
    assert_eq!(work.operations, expected);
    let notes = [
        "messages without payload (1): sent with 1 B",
        "receives for more than their message has (1): the size of the message counts",
        "receives with any tag (1): each takes the first message of its sender that no receive above it in the file takes",
        "operations with nic above 0 (1): nic is not taken over; flows choose among a host's links",
        "computations with cpu above 0 (1): these run beside those of the other processors of their host",
    ];
    assert_eq!(work.notes, notes);
}

#[test]
fn messages_of_one_tag_are_matched_in_the_order_of_the_file() {
    let text = "num_ranks 3\nrank 0 {\nsend 1b to 2 tag 1\nsend 2b to 2 tag 1\nsend 3b to 2 tag 2\nsend 4b to 2 tag 1\n}\n\
                rank 1 {\nsend 5b to 2 tag 1\n}\n\
                rank 2 {\nrecv 9b from 0 tag 2\nrecv 9b from 0 tag -1\nrecv 9b from 1 tag 1\nrecv 9b from 0 tag 1\nrecv 9b from 0 tag 1\n}";
    let work = goal(text).unwrap();
    let received: Vec<u64> = work
        .operations
        .iter()
        .filter_map(|operation| match operation.what {
            What::Receive { flow } => Some(work.flows[flow as usize].size.get()),
            _ => None,
        })
        .collect();
    assert_eq!(received, [3, 1, 5, 2, 4]);
}

#[test]
fn the_ring_of_eight_ranks_is_read() {
    let work = goal(GOAL).unwrap();
    // 14 messages of 128 KiB from each rank to the next; two computations, 14 sends and 14 receives on each.
    assert_eq!((work.ranks, work.flows.len(), work.operations.len()), (8, 8 * 14, 8 * 30));
    for (i, flow) in work.flows.iter().enumerate() {
        let rank = i as u32 / 14;
        assert_eq!((flow.source, flow.destination, flow.size), (rank, (rank + 1) % 8, Bytes::new(131_072)));
    }
    for rank in 0..8_u32 {
        let own = &work.operations[30 * rank as usize..][..30];
        let base = 30 * rank;
        assert_eq!(own[0], operation(rank, compute(Time::from_us(20), 0), &[], &[]));
        for step in 0..14_u32 {
            let (send, receive) = (base + 1 + 2 * step, base + 2 + 2 * step);
            // Step s sends what step s - 1 has received from the rank before.
            let after = if step == 0 { base } else { receive - 2 };
            let started: &[u32] = if step == 0 { &[] } else { &[send - 2] };
            assert_eq!(
                own[1 + 2 * step as usize],
                operation(rank, What::Send { flow: 14 * rank + step }, &[after], &[])
            );
            let flow = 14 * ((rank + 7) % 8) + step;
            assert_eq!(own[2 + 2 * step as usize], operation(rank, What::Receive { flow }, &[], started));
        }
        assert_eq!(own[29], operation(rank, compute(Time::ZERO, 1), &[base + 28], &[]));
    }
    assert!(work.computes() && work.cycle().is_none());
}

/// All problems of files made from a good one by replacing something.
fn spoilt(good: &str, cases: &[(&str, &str)], parse: impl Fn(&str) -> Option<Problems>) -> String {
    let mut seen = Vec::new();
    for (from, to) in cases {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let problems = parse(&text).unwrap_or_else(|| panic!("accepted: {from:?} as {to:?}"));
        seen.push(format!("{from:?} as {to:?}\n{problems}"));
    }
    seen.join("\n\n")
}

#[test]
fn what_a_goal_schedule_can_get_wrong() {
    let good = "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 3\nl2: recv 20b from 1 tag 4\nl2 requires l1\nl3: calc 5\n}\n\
                rank 1 {\nl1: recv 10b from 0 tag 3\nl2: send 20b to 0 tag 4\nl2 requires l1\n}\n";
    assert!(goal(good).is_ok());
    let cases = [
        ("num_ranks 2\n", ""),
        ("num_ranks 2", "num_ranks two"),
        ("num_ranks 2", "num_ranks 0"),
        ("num_ranks 2", "num_ranks 3"),
        ("num_ranks 2", "num_ranks 99999999"),
        ("num_ranks 2", "num_ranks 2\nnum_ranks 2"),
        ("rank 1 {", "rank 0 {"),
        ("rank 1 {", "rank 2 {"),
        ("rank 1 {", "rank 1"),
        ("}\nrank 1", "rank 1"),
        ("l1: send", "l1 send"),
        ("l1: send", "l1: sned"),
        ("l1: send", "4: send"),
        ("send 10b", "send ten b"),
        ("send 10b", "send 10"),
        ("send 10b to 1", "send 10b from 1"),
        ("send 10b to 1", "send 10b to 0"),
        ("send 10b to 1", "send 10b to 7"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag -1"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag 3 later"),
        ("send 10b to 1 tag 3", "send 11b to 1 tag 3"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag 5"),
        ("from 1 tag 4", "from -1 tag 4"),
        ("l1: recv 10b from 0 tag 3", "l1: calc 1"),
        ("l2: recv 20b", "l1: recv 20b"),
        ("l2 requires l1", "l2 requires l9"),
        ("l2 requires l1", "l2 requires"),
        ("l2 requires l1", "l2 after l1"),
        ("l2 requires l1", "l1 requires l2"),
        ("l3: calc 5", "l3: calc 5\nl3 requires l3"),
        ("l3: calc 5", "l3: calc 99999999999999999999"),
        ("l3: calc 5\n}", "/* l3: calc 5\n}"),
    ];
    insta::assert_snapshot!(spoilt(good, &cases, |text| goal(text).err()));
}

#[test]
fn a_connection_matrix_is_read() {
    let matrix = connections(CONNECTIONS).unwrap();
    assert_eq!((matrix.nodes(), matrix.len(), matrix.has_starts(), matrix.moved()), (16, 39, true, None));
    let work = matrix.workload(Time::from_us(1));
    let flow = |id: usize| flows(&work)[id - 1];
    assert_eq!(flow(1), (0, 1, 2_000_000, Time::ZERO));
    assert_eq!(flow(33), (12, 15, 30_000, Time::from_us(16)));
    assert_eq!(matrix.workload(Time::from_ps(1)).flows[32].start, Time::from_ps(16));
    // What connection `id` waits for: at its source, the completion of others at one of their ends.
    let waits = |id: u32| -> Vec<What> {
        let own = |operation: &&Operation| operation.what == What::Send { flow: id - 1 };
        let Some(send) = work.operations.iter().find(own) else { return Vec::new() };
        assert_eq!(send.host, work.flows[id as usize - 1].source);
        send.after
            .iter()
            .map(|&other| {
                assert_eq!(work.operations[other as usize].host, send.host);
                work.operations[other as usize].what
            })
            .collect()
    };
    let send = |id: u32| What::Send { flow: id - 1 };
    let receive = |id: u32| What::Receive { flow: id - 1 };
    // In turn: each after the one before has been acknowledged.
    assert_eq!((waits(1), waits(2), waits(3)), (vec![], vec![send(1)], vec![send(2)]));
    // The butterfly: node 8 goes on when it has received from node 9.
    assert_eq!((waits(29), waits(30)), (vec![receive(26)], vec![receive(25)]));
    // The barrier, and the three by one multishot trigger.
    assert_eq!(waits(36), [receive(33), receive(34), receive(35)]);
    assert_eq!((waits(37), waits(38), waits(39)), (vec![], vec![send(37)], vec![send(38)]));
    // Nothing else has operations: 24 of the all-to-all, 4 + 4 of the butterfly, 3 + 1 of the barrier, 3.
    assert_eq!(work.operations.len(), 24 + 8 + 4 + 3);
    assert_eq!(
        matrix.notes(),
        ["prio (3): not taken over; the queue of the flows is that of the traffic block"]
    );
}

#[test]
fn a_trigger_at_the_other_end_is_known() {
    // As htsim's generator of rings writes it: node 1 goes on when node 0 has all acknowledgements.
    let text = "Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 10 send_done_trigger 1\n\
                1->2 id 2 trigger 1 size 10\ntrigger id 1 oneshot\n";
    let matrix = connections(text).unwrap();
    assert_eq!(matrix.moved(), Some(5));
    let work = matrix.workload(Time::from_us(1));
    assert_eq!(
        work.operations,
        [operation(1, What::Receive { flow: 0 }, &[], &[]), operation(1, What::Send { flow: 1 }, &[0], &[]),]
    );
    // And the other way around: node 0 goes on when node 1 has received.
    let back = text.replace("send_done", "recv_done").replace("1->2 id 2", "0->2 id 2");
    let work = connections(&back).unwrap().workload(Time::from_us(1));
    assert_eq!(
        work.operations,
        [operation(0, What::Send { flow: 0 }, &[], &[]), operation(0, What::Send { flow: 1 }, &[0], &[])]
    );
}

#[test]
fn what_a_connection_matrix_can_get_wrong() {
    let good = "# four nodes\nNodes 4\nConnections 4\nTriggers 2\n0->1 id 1 start 0 size 100 recv_done_trigger 1\n\
                1->2 id 2 trigger 1 size 100 send_done_trigger 2\n1->3 id 3 start 1.5 size 100 send_done_trigger 2\n\
                1->0 id 4 trigger 2 size 9 prio 1\ntrigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    let fine = connections(good).unwrap();
    assert_eq!(flows(&fine.workload(Time::from_us(1)))[2].3, Time::from_ns(1500));
    assert!(fine.notes().iter().any(|note| note.contains("cuts off the fraction")));
    let cases = [
        ("Nodes 4\n", ""),
        ("Nodes 4", "Nodes four"),
        ("Nodes 4", "Nodes 0"),
        ("Nodes 4", "Node 4"),
        ("Nodes 4", "Nodes 3"),
        ("Nodes 4", "Nodes 4\nNodes 4"),
        ("Connections 4", "Connections 5"),
        ("Connections 4", "Connections 3"),
        ("Triggers 2", "Triggers 3"),
        ("Triggers 2", "Triggers 2\nFailures 1"),
        ("0->1", "0->0"),
        ("0->1", "a->1"),
        ("id 2", "id 1"),
        ("id 1 start", "id 0 start"),
        ("start 0 size", "size"),
        ("start 0 size", "start 0 trigger 1 size"),
        ("start 0 size", "start -1 size"),
        ("start 0 size", "start 0 start 1 size"),
        ("size 100 recv", "size 0 recv"),
        ("size 100 recv", "size 1KB recv"),
        ("size 100 recv", "recv"),
        ("recv_done_trigger 1", "recv_done_triger 1"),
        ("recv_done_trigger 1", "recv_done_trigger"),
        ("recv_done_trigger 1", "recv_done_trigger 0"),
        (" recv_done_trigger 1", ""),
        ("recv_done_trigger 1", "recv_done_trigger 7"),
        ("1->2 id 2", "3->2 id 2"),
        ("id 1 oneshot", "oneshot"),
        ("id 1 oneshot", "id 1"),
        ("id 1 oneshot", "id 1 twice"),
        ("id 1 oneshot", "id 1 oneshot multishot"),
        ("id 1 oneshot", "id 2 oneshot"),
        ("barrier count 2", "barrier"),
        ("barrier count 2", "barrier count 3"),
        ("barrier count 2", "barrier count 1"),
        ("barrier count 2", "oneshot"),
        ("barrier count 2", "multishot"),
        ("trigger id 1 oneshot", "failure switch_type AGG switch_id 0 link_id 1\ntrigger id 1 oneshot"),
        ("0->1 id 1 start 0 size 100 recv_done_trigger 1", "1->0 id 1 trigger 2 size 9 send_done_trigger 2"),
    ];
    insta::assert_snapshot!(spoilt(good, &cases, |text| connections(text).err()));
    let empty = connections("Nodes 4\nConnections 0\n").unwrap_err().to_string();
    assert_eq!(empty, "a.cm:2: there is no connection in this file");
    let idle = good.replace(" trigger 2 size 9", " start 0 size 9");
    assert!(
        connections(&idle)
            .unwrap()
            .notes()
            .iter()
            .any(|note| note == "triggers without a connection to start (1): not needed")
    );
}

#[test]
fn a_fat_tree_is_built() {
    let topology = HtsimTopology::parse(TOPOLOGY, "a.topo").unwrap();
    let numbers: Vec<u32> = topology.tiers.iter().map(|tier| tier.switches).collect();
    assert_eq!((topology.hosts, topology.pods, numbers), (32, 4, vec![8, 8, 4]));
    let network = topology.network();
    // 32 hosts; each of 8 ToR switches to 2 of its pod by 2 links; each of 8 aggregation switches to 2 cores.
    assert_eq!((network.hosts, network.nodes.len(), network.links.len()), (32, 32 + 20, 32 + 32 + 16));
    assert!(network.links.iter().all(|link| link.rate == Rate::from_gbps(100)));
    let name = |node: u32| network.nodes[node as usize].as_str();
    let links: Vec<(&str, &str, u64)> =
        network.links.iter().map(|link| (name(link.a.0), name(link.b.0), link.delay.ns())).collect();
    let of = |node: &str| -> Vec<&str> {
        links.iter().filter(|(a, _, _)| *a == node).map(|(_, b, _)| *b).collect()
    };
    assert_eq!((of("h0"), of("h7"), of("h31")), (vec!["tor0"], vec!["tor1"], vec!["tor7"]));
    assert_eq!(
        (of("tor0"), of("tor7")),
        (vec!["agg0", "agg0", "agg1", "agg1"], vec!["agg6", "agg6", "agg7", "agg7"])
    );
    // The first of each pod is connected to the even cores, the second to the odd ones.
    assert_eq!((of("agg6"), of("agg7")), (vec!["core0", "core2"], vec!["core1", "core3"]));
    // Half of the latency of either switch is in the delay of a link.
    let delay = |a: &str, b: &str| links.iter().find(|link| (link.0, link.1) == (a, b)).unwrap().2;
    assert_eq!(delay("h0", "tor0"), 500 + 150);
    assert_eq!(delay("tor0", "agg0"), 1000 + 150 + 150);
    assert_eq!(delay("agg0", "core0"), 2000 + 150 + 250);
    // Across the cores: links of 0.5, 1 and 2 us twice; two ToR and two aggregation switches of 300 ns, one core.
    let across = 2 * (delay("h0", "tor0") + delay("tor0", "agg0") + delay("agg0", "core0"));
    assert_eq!(across, 2 * 3500 + 4 * 300 + 500);
    assert_eq!(topology.notes().len(), 2);
}

#[test]
fn a_tree_of_two_tiers_is_built() {
    let text = "nodes 32\nTIERS 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
                Downlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
                Downlink_Latency_ns 2000\n";
    let topology = HtsimTopology::parse(text, "a.topo").unwrap();
    let network = topology.network();
    assert_eq!((network.nodes.len(), network.links.len()), (32 + 4 + 2, 32 + 8));
    assert_eq!(network.links[39].delay, Time::from_us(2));
    assert!(topology.notes().is_empty());
}

#[test]
fn what_a_topology_can_get_wrong() {
    let cases = [
        ("Nodes 32\n", ""),
        ("Nodes 32", "Nodes 33"),
        ("Nodes 32", "Nodes 999999"),
        ("Nodes 32", "Nodes 32 hosts"),
        ("Nodes 32", "Noeds 32"),
        ("Nodes 32", "Nodes 32\nNodes 32"),
        ("Nodes 32", "Nodes 0"),
        ("Tiers 3", "Tiers 2"),
        ("Tiers 3", "Tiers 1"),
        ("Tiers 3", "Tiers 4"),
        ("Podsize 8", "Podsize 6"),
        ("Tier 0\n", "Radix_Down 4\nTier 0\n"),
        ("Tier 1\n", "Tier 0\n"),
        ("Tier 2\n", "Tier 3\n"),
        ("Radix_Down 4", "Radix_Down 4\nRadix_Down 4"),
        ("Radix_Down 4\nRadix_Up 4", "Radix_Up 4"),
        ("Radix_Down 4\nRadix_Up 4", "Radix_Down 0\nRadix_Up 4"),
        ("Radix_Up 4\n", ""),
        ("Radix_Up 4", "Radix_Up 3"),
        ("Radix_Up 4", "Radix_Up 8"),
        ("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 100G"),
        ("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 400"),
        ("Downlink_Latency_ns 500", "Downlink_Latency_ns 0"),
        ("Downlink_Latency_ns 500", "Downlink_Latency_us 500"),
        ("Oversubscribed 2\n", ""),
        ("Oversubscribed 2", "Oversubscribed 4"),
        ("Bundle 2", "Bundle 1"),
        ("Bundle 2", "Bundle 3"),
        ("Downlink_Latency_ns 2000", "Downlink_Latency_ns 2000\nRadix_Up 2"),
    ];
    insta::assert_snapshot!(spoilt(TOPOLOGY, &cases, |text| HtsimTopology::parse(text, "a.topo").err()));
}

/// Encodes Chakra traces, by the rules of Protocol Buffers.
mod encode {
    pub(super) fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    pub(super) fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    pub(super) fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
        [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
    }

    pub(super) fn packed(field: u64, values: &[u64]) -> Vec<u8> {
        bytes(field, &values.iter().flat_map(|&value| varint(value)).collect::<Vec<_>>())
    }

    /// An attribute with a value of the given field.
    pub(super) fn attribute(name: &str, value: Vec<u8>) -> Vec<u8> {
        bytes(10, &[bytes(1, name.as_bytes()), value].concat())
    }

    /// An attribute of type int64.
    pub(super) fn int(name: &str, value: i64) -> Vec<u8> {
        attribute(name, number(9, value as u64))
    }

    /// An attribute of type string.
    pub(super) fn text(name: &str, value: &str) -> Vec<u8> {
        attribute(name, bytes(29, value.as_bytes()))
    }

    /// A node of a type; then its other fields.
    pub(super) fn node(id: u64, kind: u64, rest: &[Vec<u8>]) -> Vec<u8> {
        [number(1, id), bytes(2, b"a name"), number(3, kind), rest.concat()].concat()
    }

    /// A file: the metadata and the nodes, each with its length.
    pub(super) fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
        let metadata = bytes(1, b"0.0.4");
        let records = [&metadata].into_iter().chain(nodes);
        records.flat_map(|record| [varint(record.len() as u64), record.clone()].concat()).collect()
    }
}

use encode::{attribute, int, node, number, packed, text};

const COMP: u64 = 4;
const SEND: u64 = 5;
const RECV: u64 = 6;
const COLL: u64 = 7;

/// The workload of traces, each the nodes of one rank.
fn chakra(ranks: &[&[Vec<u8>]]) -> Result<Workload, Problems> {
    chakra_with(ranks, false)
}

fn chakra_with(ranks: &[&[Vec<u8>]], ctrl_deps: bool) -> Result<Workload, Problems> {
    let rank =
        |(i, nodes): (usize, &&[Vec<u8>])| ChakraRank::parse(&encode::file(nodes), &format!("t.{i}.et"));
    let ranks = ranks.iter().enumerate().map(rank).collect::<Result<_, _>>()?;
    ChakraTrace { ranks }.workload(ctrl_deps)
}

#[test]
fn a_pipeline_of_two_ranks_is_read() {
    let first = [
        node(10, COMP, &[number(7, 25), attribute("is_cpu_op", number(27, 0))]),
        // Unpacked dependencies, and attributes as other integers.
        node(
            11,
            SEND,
            &[
                number(5, 10),
                int("comm_size", 4096),
                attribute("comm_dst", number(7, 1)),
                attribute("comm_tag", number(15, 6)),
            ],
        ),
        // A field that is not known, a type of attribute that does not matter, a recorded start.
        node(
            12,
            COMP,
            &[
                packed(5, &[10]),
                packed(4, &[11]),
                number(7, 2),
                number(6, 99),
                encode::bytes(77, b"x"),
                attribute("is_cpu_op", number(27, 1)),
            ],
        ),
    ];
    let second = [
        node(1, COMP, &[packed(5, &[3, 2]), number(7, 1)]),
        node(2, RECV, &[int("comm_src", 0), int("comm_tag", 3), attribute("tensor_size", number(13, 4096))]),
        node(3, 2, &[number(7, 4)]),
        node(4, 1, &[]),
    ];
    let work = chakra(&[&first, &second]).unwrap();
    assert_eq!(flows(&work), [(0, 1, 4096, Time::ZERO)]);
    // GPU 0, CPU 1, memory 2, what takes no time 3.
    let us = Time::from_us;
    let mut expected = [
        operation(0, compute(us(25), 0), &[], &[]),
        operation(0, What::Send { flow: 0 }, &[0], &[]),
        operation(0, compute(us(2), 1), &[0], &[]),
        operation(1, compute(us(1), 0), &[4, 5], &[]),
        operation(1, What::Receive { flow: 0 }, &[], &[]),
        operation(1, compute(us(4), 2), &[], &[]),
        operation(1, compute(Time::ZERO, 3), &[], &[]),
    ];
    assert_eq!(work.operations, expected);
    let notes = [
        "nodes of memory (1): each takes its recorded duration; memory is not simulated",
        "nodes with ctrl_deps (1): not waited for, unless a traffic block asks for it",
    ];
    assert_eq!(work.notes, notes);
    // Those to nodes that are not there matter only if they are waited for.
    let lost = [node(1, COMP, &[number(4, 2)])];
    assert!(chakra(&[&lost]).is_ok());
    let problems = chakra_with(&[&lost], true).unwrap_err().to_string();
    assert_eq!(problems, "t.0.et: record 2 (byte 8), node 1: ctrl_deps: there is no node 2");
    // With `ctrl_deps` the last node of rank 0 waits for the send too.
    expected[2].after = vec![0, 1];
    assert_eq!(chakra_with(&[&first, &second], true).unwrap().operations, expected);
}

/// An all-reduce between computations, on each of these ranks.
fn all_reduce(kind: i64, size: i64) -> [Vec<u8>; 3] {
    [
        node(0, COMP, &[number(7, 5)]),
        node(1, COLL, &[packed(5, &[0]), int("comm_type", kind), int("comm_size", size)]),
        node(2, COMP, &[packed(5, &[1]), number(7, 5)]),
    ]
}

#[test]
fn an_all_reduce_goes_around_a_ring() {
    let own = all_reduce(0, 1000);
    let work = chakra(&[&own, &own, &own]).unwrap();
    // 2 (n - 1) = 4 steps; pieces of 333, 333 and 334 B. Rank i sends piece (i - step) mod 3 to the next.
    assert_eq!(work.flows.len(), 3 * 4);
    let size = [333, 333, 334];
    for (i, flow) in work.flows.iter().enumerate() {
        let (step, rank) = (i / 3, i % 3);
        let expected = (rank as u32, (rank as u32 + 1) % 3, size[(rank + 12 - step) % 3]);
        assert_eq!((flow.source, flow.destination, flow.size.get()), expected);
    }
    // In all, each rank sends 4/3 of the size but for rounding: 2 (n - 1) / n.
    let sent: u64 = work.flows.iter().filter(|flow| flow.source == 0).map(|flow| flow.size.get()).sum();
    assert_eq!(sent, 333 + 334 + 333 + 333);
    let find =
        |what: What| work.operations.iter().position(|operation| operation.what == what).unwrap() as u32;
    for rank in 0..3_u32 {
        for step in 0..4_u32 {
            let send = find(What::Send { flow: 3 * step + rank });
            let receive = find(What::Receive { flow: 3 * step + (rank + 2) % 3 });
            for operation in [send, receive].map(|index| &work.operations[index as usize]) {
                assert_eq!(operation.host, rank);
                // The first step after the computation, each other one after the receive before.
                let before = match step {
                    0 => 2 * rank,
                    _ => find(What::Receive { flow: 3 * (step - 1) + (rank + 2) % 3 }),
                };
                assert_eq!(operation.after, [before]);
            }
        }
        // The computation behind waits for an operation that waits for all of the collective.
        let last = &work.operations[2 * rank as usize + 1];
        assert_eq!((last.host, last.what), (rank, compute(Time::from_us(5), 0)));
        let end = &work.operations[last.after[0] as usize];
        assert_eq!((end.what, end.after.len()), (compute(Time::ZERO, 3), 8));
        assert!(end.after.iter().all(|&other| work.operations[other as usize].host == rank));
    }
    assert!(work.cycle().is_none());
}

#[test]
fn other_collectives_are_made_of_messages() {
    let sizes = |kind: i64, size: i64, n: usize| -> Vec<(u32, u32, u64)> {
        let own = all_reduce(kind, size);
        let work = chakra(&vec![&own[..]; n]).unwrap();
        flows(&work).into_iter().map(|(a, b, size, _)| (a, b, size)).collect()
    };
    // All-gather: what each has, n - 1 times around. Reduce-scatter: pieces of the whole.
    assert_eq!(sizes(2, 90, 3), [(0, 1, 90), (1, 2, 90), (2, 0, 90), (0, 1, 90), (1, 2, 90), (2, 0, 90)]);
    assert_eq!(sizes(7, 90, 3), [(0, 1, 30), (1, 2, 30), (2, 0, 30), (0, 1, 30), (1, 2, 30), (2, 0, 30)]);
    // All-to-all: pieces to all others.
    assert_eq!(sizes(6, 90, 3), [(0, 1, 30), (1, 2, 30), (2, 0, 30), (0, 2, 30), (1, 0, 30), (2, 1, 30)]);
    // Barrier: to the next, then to the second next, then to the fourth next (5 ranks).
    let barrier = sizes(9, 0, 5);
    assert_eq!(barrier.len(), 15);
    assert!((0..15).all(|i| barrier[i] == (i as u32 % 5, (i as u32 % 5 + [1, 2, 4][i / 5]) % 5, 1)));
    // A group of one rank has nothing to send.
    assert_eq!(sizes(0, 90, 1), []);
    // The root of a broadcast is not in the trace: it takes as long as it did.
    let rest = [int("comm_type", 5), int("comm_size", 90), number(7, 11)];
    let work = chakra(&[&[node(0, COLL, &rest)], &[node(0, COLL, &rest)]]).unwrap();
    let expected = [0, 1].map(|rank| operation(rank, compute(Time::from_us(11), 4), &[], &[]));
    assert_eq!((flows(&work), work.operations.as_slice()), (vec![], &expected[..]));
    assert!(work.notes[0].starts_with("collectives with a root (1): "));
    // What launches a communication is work of the CPU, and no communication.
    let launch = node(0, COLL, &[number(7, 3), attribute("is_cpu_op", number(27, 1))]);
    assert_eq!(
        chakra(&[&[launch]]).unwrap().operations,
        [operation(0, compute(Time::from_us(3), 1), &[], &[])]
    );
}

#[test]
fn groups_are_the_ranks_that_name_them() {
    let coll = |id: u64, group: &str, size: i64| {
        node(id, COLL, &[int("comm_type", 0), int("comm_size", size), text("pg_name", group)])
    };
    let (a, b) = ([coll(0, "even", 8), coll(1, "even", 16)], [coll(0, "odd", 4)]);
    let work = chakra(&[&a, &b, &a, &b]).unwrap();
    let expected = [
        (0, 2, 4),
        (2, 0, 4),
        (0, 2, 4),
        (2, 0, 4),
        (0, 2, 8),
        (2, 0, 8),
        (0, 2, 8),
        (2, 0, 8),
        (1, 3, 2),
        (3, 1, 2),
        (1, 3, 2),
        (3, 1, 2),
    ];
    assert_eq!(flows(&work).iter().map(|flow| (flow.0, flow.1, flow.2)).collect::<Vec<_>>(), expected);
}

#[test]
fn what_traces_can_get_wrong() {
    let send = |rest: &[Vec<u8>]| node(1, SEND, rest);
    let sized = |name: &str, rank: i64| [int(name, rank), int("comm_size", 8)].concat();
    let recv = node(1, RECV, &[sized("comm_src", 0)]);
    let coll = |kind: i64, size: i64| [node(1, COLL, &[int("comm_type", kind), int("comm_size", size)])];
    let cases: Vec<(&str, Vec<Vec<Vec<u8>>>)> = vec![
        ("a node twice", vec![vec![node(1, 1, &[]), node(1, 1, &[])]]),
        ("a dependency that is not there", vec![vec![node(1, 1, &[packed(5, &[2])])]]),
        ("a cycle", vec![vec![node(1, 1, &[number(5, 2)]), node(2, 1, &[number(5, 1)])]]),
        ("an unknown type", vec![vec![node(1, 8, &[])]]),
        ("a type that is no number", vec![vec![encode::bytes(3, b"COMP")]]),
        ("a text as size", vec![vec![send(&[text("comm_size", "8")])]]),
        ("a duration beyond all", vec![vec![node(1, COMP, &[number(7, u64::MAX)])]]),
        ("no receiver", vec![vec![send(&[int("comm_size", 8)])], vec![]]),
        ("no size", vec![vec![send(&[int("comm_dst", 1)])], vec![]]),
        ("a size below zero", vec![vec![send(&[int("comm_dst", 1), int("comm_size", -8)])], vec![]]),
        ("to itself", vec![vec![send(&[sized("comm_dst", 0)])], vec![]]),
        ("to a rank without a trace", vec![vec![send(&[sized("comm_dst", 2)])], vec![]]),
        ("of another rank", vec![vec![send(&[sized("comm_dst", 1), int("comm_src", 1)])], vec![]]),
        ("not received", vec![vec![send(&[sized("comm_dst", 1)])], vec![]]),
        ("not sent", vec![vec![], vec![recv.clone()]]),
        ("another size", vec![vec![send(&[int("comm_dst", 1), int("comm_size", 9)])], vec![recv.clone()]]),
        ("another tag", vec![vec![send(&[sized("comm_dst", 1), int("comm_tag", 5)])], vec![recv]]),
        ("no collective type", vec![vec![node(1, COLL, &[int("comm_size", 8)])]]),
        ("a broadcast without a recorded duration", vec![coll(5, 8).to_vec(), coll(5, 8).to_vec()]),
        ("an unknown collective", vec![coll(77, 8).to_vec()]),
        ("different collectives", vec![coll(0, 8).to_vec(), coll(6, 8).to_vec()]),
        ("different sizes", vec![coll(0, 8).to_vec(), coll(0, 9).to_vec()]),
        ("a collective without a rank", vec![coll(0, 8).to_vec(), vec![]]),
        (
            "part of a topology",
            vec![vec![node(
                1,
                COLL,
                &[sized("comm_type", 0), attribute("involved_dim", encode::bytes(28, &packed(1, &[1, 0])))],
            )]],
        ),
    ];
    let mut seen = Vec::new();
    for (what, ranks) in cases {
        let ranks: Vec<&[Vec<u8>]> = ranks.iter().map(Vec::as_slice).collect();
        let problems = chakra(&ranks).err().unwrap_or_else(|| panic!("accepted: {what}"));
        seen.push(format!("{what}\n{problems}"));
    }
    for (what, bytes) in [
        ("empty", vec![]),
        ("compressed", vec![0x1f, 0x8b, 8, 0]),
        ("a text", b"num_ranks 2\n".to_vec()),
        ("no metadata", [vec![2], number(1, 5)].concat()),
        ("more than there is", [encode::file(&[]), vec![9, 8]].concat()),
        ("a node cut off inside", [encode::file(&[]), vec![2, 0x1a, 9]].concat()),
    ] {
        seen.push(format!("{what}\n{}", ChakraRank::parse(&bytes, "t.0.et").unwrap_err()));
    }
    insta::assert_snapshot!(seen.join("\n\n"));
}

/// A file that ends too early is refused, with the place where it ends.
#[test]
fn files_that_are_cut_off_say_where() {
    let check = |text: &str, parse: &dyn Fn(&str) -> Option<Problems>| {
        assert!(parse(text).is_none());
        let lines: Vec<&str> = text.lines().collect();
        for kept in 0..lines.len() {
            let Some(problems) = parse(&lines[..kept].join("\n")) else {
                // What follows is no more than a blank line.
                assert!(lines[kept..].iter().all(|line| line.is_empty()), "{kept} lines");
                continue;
            };
            assert!(
                problems.iter().all(|problem| problem.line.is_some_and(|line| line as usize <= kept.max(1))),
                "{problems}"
            );
        }
    };
    check(GOAL, &|text| goal(text).err());
    check(CONNECTIONS, &|text| connections(text).err());
    check(TOPOLOGY, &|text| HtsimTopology::parse(text, "a.topo").err());
    let nodes = all_reduce(0, 1000);
    let trace = encode::file(&nodes);
    // Where records end, a shorter trace is a trace too, unless something that it depends on is missing.
    let ends: Vec<usize> = (0..=3).map(|number| encode::file(&nodes[..number]).len()).collect();
    for kept in 0..trace.len() {
        match ChakraRank::parse(&trace[..kept], "t.et") {
            Ok(_) => assert!(ends.contains(&kept), "{kept}"),
            Err(problems) => {
                assert!(!ends.contains(&kept), "{kept}");
                assert!(problems.to_string().contains("(byte "), "{problems}");
            }
        }
    }
}

/// Everything around the traffic.
const SCENARIO: &str =
    "cc = { algorithm = \"constant\" }\n[topology]\nkind = \"htsim-file\"\nfile = \"net.topo\"\n";

fn with(traffic: &str) -> String {
    format!("{SCENARIO}[[traffic]]\n{traffic}")
}

#[test]
fn scenarios_name_the_files() {
    let scratch = Scratch::new("names");
    scratch.write("net.topo", TOPOLOGY);
    scratch.write("ring.goal", GOAL);
    scratch.write("c.cm", CONNECTIONS);
    for rank in 0..4 {
        scratch.write(&format!("t.{rank}.et"), encode::file(&all_reduce(0, 1000)));
    }
    // Ranks on hosts in the order of the list; half the sizes, twice the times.
    let text = with(
        "kind = \"goal-file\"\nfile = \"ring.goal\"\nhosts = [\"h31\", \"h0-h6\"]\nsize_factor = 0.5\ncompute_factor = 2\n\
         [[traffic]]\nkind = \"htsim-connections\"\nfile = \"c.cm\"\nstart_unit = \"1us\"\n\
         [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1KB\"\nstart = \"1us\"\n\
         [[traffic]]\nkind = \"chakra-trace\"\nfile = \"t.*.et\"\n",
    );
    let scenario = scratch.scenario(&text).unwrap();
    assert_eq!(scenario.files().len(), 1 + 1 + 1 + 4);
    let built = scenario.build().unwrap();
    let (flows, operations) = (&built.simulation.flows, &built.operations);
    let of = |group: u16| flows.iter().filter(move |flow| flow.group == group).count();
    // An all-reduce of 4 ranks has 6 steps.
    assert_eq!([of(0), of(1), of(2), of(3)], [112, 39, 1, 24]);
    assert_eq!(operations.len(), 240 + 39 + (2 + 2 * 6 + 1) * 4);
    // Operations name the flows of their own block, and each other, where these have come to lie.
    for operation in operations {
        match operation.what {
            What::Send { flow } => {
                assert_eq!(
                    (flows[flow as usize].source, flows[flow as usize].group),
                    (operation.host, operation.job)
                );
            }
            What::Receive { flow } => {
                assert_eq!(
                    (flows[flow as usize].destination, flows[flow as usize].group),
                    (operation.host, operation.job)
                );
            }
            What::Compute { .. } => {}
        }
        for &other in operation.after.iter().chain(&operation.after_start) {
            let other = &operations[other as usize];
            assert_eq!((other.host, other.job), (operation.host, operation.job));
        }
    }
    assert_eq!(operations[0], operation(31, compute(Time::from_us(40), 0), &[], &[]));
    assert!(flows.iter().filter(|flow| flow.group == 0).all(|flow| flow.size == Bytes::new(65_536)));
    // Rank 0 is h31 and sends to rank 1, h0.
    assert!(flows.iter().any(|flow| flow.group == 0 && (flow.source, flow.destination) == (31, 0)));
    // The effective scenario finds the files from anywhere, and is held to what was in them.
    let effective = scenario.effective_toml();
    let again = Scenario::from_toml(&effective, "elsewhere/x.toml", &[]).unwrap();
    assert_eq!(again, scenario);
    scratch.write("t.3.et", encode::file(&all_reduce(0, 1001)));
    let changed = Scenario::from_toml(&effective, "x.toml", &[]).unwrap_err().to_string();
    assert!(changed.contains("t.*.et has changed since this scenario was made"), "{changed}");
}

#[test]
fn what_scenarios_can_get_wrong() {
    let scratch = Scratch::new("wrong");
    scratch.write("net.topo", TOPOLOGY);
    scratch.write("ring.goal", GOAL);
    scratch.write("bad.goal", GOAL.replace("rank 3 {", "rank 2 {"));
    scratch.write("idle.goal", "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n");
    scratch.write(
        "large.goal",
        "num_ranks 33\n".to_owned() + &(0..33).map(|i| format!("rank {i} {{\n}}\n")).collect::<String>(),
    );
    scratch.write("c.cm", CONNECTIONS);
    scratch.write("zero.cm", CONNECTIONS.replace("start 16", "start 0"));
    scratch.write(
        "moved.cm",
        CONNECTIONS.replace("start 16", "start 0").replace("recv_done_trigger 17", "send_done_trigger 17"),
    );
    scratch.write("t.0.et", encode::file(&all_reduce(0, 1000)));
    scratch.write("t.1.et", encode::file(&all_reduce(0, 1001)));
    scratch.write("u.0.et", encode::file(&all_reduce(0, 1000)));
    scratch.write("u.2.et", encode::file(&all_reduce(0, 1000)));
    scratch.write("v.0.et", encode::file(&all_reduce(0, 1000)));
    scratch.write("v.1.et", [encode::file(&all_reduce(0, 1000)), vec![5]].concat());
    let goal = |rest: &str| format!("kind = \"goal-file\"\nfile = \"ring.goal\"\n{rest}\n");
    let cm = |file: &str, rest: &str| format!("kind = \"htsim-connections\"\nfile = \"{file}\"\n{rest}\n");
    let et = |file: &str, rest: &str| format!("kind = \"chakra-trace\"\nfile = \"{file}\"\n{rest}\n");
    let cases = [
        goal("hosts = \"h0-h6\""),
        goal("hosts = \"h0-h8\""),
        goal("hosts = \"h25-h32\""),
        goal("compute_factor = 0"),
        goal("size_factor = \"2\""),
        goal("start_unit = \"1us\""),
        goal("").replace("ring", "idle") + "compute_factor = 2",
        goal("").replace("ring", "large"),
        goal("").replace("ring", "bad"),
        goal("").replace("ring", "none"),
        cm("c.cm", ""),
        cm("c.cm", "start_unit = \"0us\""),
        cm("zero.cm", "start_unit = \"1us\""),
        cm("zero.cm", "nearest_end = true"),
        cm("moved.cm", ""),
        et("t.0.et", ""),
        et("none.*.et", ""),
        et("t.*.et", ""),
        et("u.*.et", ""),
        et("v.*.et", ""),
        et("v.*.et", "ctrl_deps = true"),
    ];
    let mut seen = Vec::new();
    for case in &cases {
        let problems = scratch.scenario(&with(case)).err().unwrap_or_else(|| panic!("accepted:\n{case}"));
        seen.push(format!("{}\n{problems}", case.trim().replace('\n', " ")));
    }
    let moved = scratch.scenario(&with(&cm("moved.cm", "nearest_end = true"))).unwrap();
    assert!(moved.build().is_ok());
    scratch.write("net.topo", TOPOLOGY.replace("Bundle 2", "Bundle 3"));
    seen.push(scratch.scenario(&with(&goal(""))).unwrap_err());
    insta::assert_snapshot!(seen.join("\n\n"));
}

#[test]
fn files_are_described() {
    let scratch = Scratch::new("described");
    let mut seen = Vec::new();
    for (name, content) in [
        ("ring.goal", GOAL.as_bytes().to_vec()),
        ("c.cm", CONNECTIONS.as_bytes().to_vec()),
        ("net.topo", TOPOLOGY.as_bytes().to_vec()),
        ("t.0.et", encode::file(&all_reduce(0, 1000))),
    ] {
        let found = describe(&scratch.write(name, content)).unwrap();
        let rows: Vec<String> = found.rows.iter().map(|(name, text)| format!("  {name}: {text}")).collect();
        let notes: Vec<String> = found.notes.iter().map(|note| format!("  - {note}")).collect();
        seen.push([vec![found.format], rows, notes].concat().join("\n"));
    }
    insta::assert_snapshot!(seen.join("\n"));
    assert!(describe(&scratch.write("x.et", "num_ranks 1")).is_err());
}

mod mutated {
    use super::*;
    use proptest::prelude::*;

    fn read_all(bytes: &[u8]) {
        let limit = bytes.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
        let check = |problems: Option<Problems>| {
            let Some(problems) = problems else { return };
            assert!(!problems.is_empty() && problems.len() <= 21);
            assert!(
                problems.iter().all(|problem| problem.line.is_none_or(|line| line <= limit)),
                "{problems}"
            );
        };
        check(match ChakraRank::parse(bytes, "t") {
            Ok(rank) => ChakraTrace { ranks: vec![rank.clone(), rank] }.workload(true).err(),
            Err(problems) => Some(problems),
        });
        let text = String::from_utf8_lossy(bytes);
        check(goal(&text).err());
        check(connections(&text).map(|matrix| matrix.workload(Time::from_us(1))).err());
        check(HtsimTopology::parse(&text, "t").map(|topology| topology.network()).err());
        let _ = describe_format(&text);
    }

    fn describe_format(text: &str) -> Option<incast_lab::formats::describe::Format> {
        incast_lab::formats::describe::Format::of(text)
    }

    fn samples() -> [Vec<u8>; 4] {
        // The first ranks of the schedule are enough.
        let goal: String =
            GOAL.replace("num_ranks 8", "num_ranks 2").split("rank 2 {").next().unwrap().to_owned();
        [goal.into_bytes(), CONNECTIONS.into(), TOPOLOGY.into(), encode::file(&all_reduce(6, 1000))]
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(Vec::new()),
            Just(b"\n".to_vec()),
            Just(b" 99999999999999999999999 ".to_vec()),
            Just(b"0".to_vec()),
            Just(b"1->2 id 1 start 1e9 size 3 send_done_trigger 1\n".to_vec()),
            Just(b"requires l1\n/*".to_vec()),
            "[0-9a-z:{}\\- \n]{0,8}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..6),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn files_never_panic(
            which in 0_usize..4,
            changes in prop::collection::vec((any::<usize>(), 0_usize..8, pieces()), 1..4),
        ) {
            let mut bytes = samples()[which].clone();
            for (at, length, with) in changes {
                let at = at % (bytes.len() + 1);
                let end = (at + length).min(bytes.len());
                bytes.splice(at..end, with);
            }
            read_all(&bytes);
        }

        #[test]
        fn anything_at_all_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read_all(&bytes);
        }

        /// What is written as a schedule is read as that schedule.
        #[test]
        fn schedules_read_back(
            messages in prop::collection::vec((0_u32..5, 1_u32..5, 1_u64..1 << 40, 0_u32..3), 1..20),
            times in prop::collection::vec((0_u64..1 << 40, 0_u16..4), 5),
        ) {
            use std::fmt::Write as _;
            let mut blocks = vec![String::new(); 5];
            let mut expected = Vec::new();
            for (i, (source, hop, size, tag)) in messages.iter().enumerate() {
                let destination = (source + hop) % 5;
                writeln!(blocks[*source as usize], "m{i}: send {size}b to {destination} tag {tag}").unwrap();
                writeln!(blocks[destination as usize], "m{i}: recv {size}b from {source} tag {tag}").unwrap();
                expected.push((*source, destination, *size, *tag));
            }
            let mut text = "num_ranks 5\n".to_owned();
            for (rank, (block, (time, cpu))) in blocks.iter().zip(&times).enumerate() {
                writeln!(text, "rank {rank} {{\n{block}last: calc {time} cpu {cpu}\n}}").unwrap();
            }
            let work = goal(&text).unwrap();
            // By sender, in the order of the list.
            expected.sort_by_key(|message| message.0);
            let read = flows(&work).into_iter().map(|flow| (flow.0, flow.1, flow.2));
            prop_assert!(read.eq(expected.iter().map(|message| (message.0, message.1, message.2))));
            for (rank, (time, cpu)) in (0_u32..).zip(&times) {
                let last = work.operations.iter().rev().find(|operation| operation.host == rank).unwrap();
                prop_assert_eq!(last.what, compute(Time::from_ns(*time), *cpu));
            }
            // Each message is received once, at its destination, and the sizes of receives fit.
            let mut received = vec![0; messages.len()];
            for operation in &work.operations {
                if let What::Receive { flow } = operation.what {
                    received[flow as usize] += 1;
                    prop_assert_eq!(work.flows[flow as usize].destination, operation.host);
                }
            }
            prop_assert!(received.iter().all(|&times| times == 1));
        }
    }
}
