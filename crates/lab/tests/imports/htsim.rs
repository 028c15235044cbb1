//! Connection matrices and topologies of htsim.

use super::*;

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
    assert_eq!(matrix.notes(), ["prio (3): not taken over; the traffic block sets the queue of its flows"]);
}

/// Two connections of 1.25 MB, the last at 1,000,000: 20 Mbit over two hosts of 100 Gbps each. In microseconds they take
/// a second, of which the links could carry 200 Gbit: 0.01 %; in nanoseconds 10 %; in picoseconds 10,000 %.
#[test]
fn a_unit_of_starts_is_not_guessed() {
    let scratch = Scratch::new("unit");
    scratch.write(
        "a.cm",
        "Nodes 2\nConnections 2\n0->1 id 1 start 0 size 1250000\n1->0 id 2 start 1000000 size 1250000\n",
    );
    let star = "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n[cc]\nalgorithm = \
                \"constant\"\n[[traffic]]\nkind = \"htsim-connections\"\nfile = \"a.cm\"\n";
    let refused = scratch.scenario(star).unwrap_err();
    for (unit, last, load) in
        [("1us", "1.00 s", "0.0100 %"), ("1ns", "1.00 ms", "10.0 %"), ("1ps", "1.00 us", "10000 %")]
    {
        let (_, rest) = refused.split_once(&format!("\"{unit}\"")).unwrap();
        let told = format!(
            ": the last connection starts at {last}, and the payload is {load} of what the hosts' links carry until then"
        );
        assert!(rest.split(';').next().unwrap().contains(&told), "{unit}: {refused}");
    }
    let given = scratch.scenario(&format!("{star}start_unit = \"1ns\"\n")).unwrap();
    assert_eq!(given.build().unwrap().simulation.flows[1].start, Time::from_ms(1));
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
