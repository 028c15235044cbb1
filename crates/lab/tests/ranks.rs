//! Ranks of collectives that are the GPUs of hosts with several network cards, their channels, and flows that name cards.
#![allow(missing_docs, reason = "a test")]

mod common;

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type};
use incast_lab::Scenario;
use incast_lab::results::TableName;
use incast_lab::run::{RunOptions, RunResult};
use incast_lab::scenario::Built;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::work::What;

/// Servers with cards of 100 Gbps and 1 us on separate rails, packets of 1000 B and 54 B of headers, no control.
fn text(servers: u32, rails: u32, spines: u32, traffic: &str) -> String {
    format!(
        "topology = {{ kind = \"rail-optimized\", servers = {servers}, rails = {rails}, spines = {spines}, \
         rate = \"100Gbps\", delay = \"1us\" }}\ncc = {{ algorithm = \"constant\" }}\n[[traffic]]\n{traffic}"
    )
}

fn built(servers: u32, rails: u32, spines: u32, traffic: &str) -> Built {
    let text = text(servers, rails, spines, traffic);
    Scenario::from_toml(&text, "ranks.toml", &[]).unwrap().build().unwrap()
}

/// The problems of a scenario, as one text.
fn refused(servers: u32, rails: u32, spines: u32, traffic: &str) -> String {
    let text = text(servers, rails, spines, traffic);
    let problems = Scenario::from_toml(&text, "ranks.toml", &[])
        .and_then(|scenario| scenario.build().map(drop))
        .unwrap_err();
    problems.to_string()
}

fn go(built: &Built) -> RunResult {
    common::go("ranks", "seed = 1\n", built, &RunOptions::default())
}

fn column(result: &RunResult, table: TableName, name: &str) -> Vec<i64> {
    let table = result.table(table).unwrap();
    let columns = table.batches.iter().map(|batch| batch.column_by_name(name).unwrap());
    columns.flat_map(|column| column.as_primitive::<Int64Type>().values().to_vec()).collect()
}

fn ratios(result: &RunResult) -> Vec<f64> {
    let table = result.table(TableName::Jobs).unwrap();
    let columns = table.batches.iter().map(|batch| batch.column_by_name("bound_ratio").unwrap());
    columns.flat_map(|column| column.as_primitive::<Float64Type>().values().to_vec()).collect()
}

/// Bytes on the wire that each card of a host has sent, by its port.
fn sent(result: &RunResult, host: u32) -> Vec<u64> {
    let mut ports: Vec<_> = result.outcome.ports.iter().filter(|port| port.node == host).collect();
    ports.sort_by_key(|port| port.port);
    ports.iter().map(|port| port.transmitted.get()).collect()
}

/// Every flow: its ends with their cards, and its payload.
fn flows(built: &Built) -> Vec<(String, String, u64)> {
    let name =
        |host: u32, card: Option<u16>| card.map_or(format!("h{host}"), |card| format!("h{host}.{card}"));
    let flows = built.simulation.flows.iter();
    flows.map(|f| (name(f.source, f.cards[0]), name(f.destination, f.cards[1]), f.size.get())).collect()
}

/// Four servers of eight GPUs reduce 8 MB: 32 ranks, eight channels of 1 MB, each of which sends 2 · 31/32 MB from each
/// server to the next by its own card. In packets of 1000 B these are 1,937 and one of 500 B, which take 163,372,160 ps at
/// 100 Gbps. The last one waits for the one before it at the switch and arrives 165,456,480 ps after the start; its
/// acknowledgement takes 2,010,240 ps.
#[test]
fn a_ring_uses_all_cards_of_a_server_alike() {
    let built = built(4, 8, 0, "kind = \"ring-allreduce\"\nsize = \"8MB\"\n");
    let all = flows(&built);
    assert_eq!(all.len(), 32);
    for card in 0..8 {
        assert!(all.contains(&(format!("h3.{card}"), format!("h0.{card}"), 1_937_500)), "{all:?}");
    }
    let result = go(&built);
    let sent = sent(&result, 0);
    assert_eq!(sent.len(), 8);
    assert!(sent.iter().all(|bytes| *bytes == sent[0]), "{sent:?}");
    assert_eq!(column(&result, TableName::Jobs, "bound_ps"), [167_466_720]);
    // The acknowledgements of the ring's other flow, 64 B for 1054, are in the way.
    let ratio = ratios(&result)[0];
    assert!((1.0..1.0 + 64.0 / 1054.0).contains(&ratio), "{ratio}");
}

/// The closed form for whole servers: 2 · 3/4 of the bytes over eight cards.
#[test]
fn servers_as_ranks_send_less_and_one_channel_takes_one_card() {
    let ring = |more: &str| built(4, 8, 0, &format!("kind = \"ring-allreduce\"\nsize = \"8MB\"\n{more}"));
    let hosts = flows(&ring("ranks = \"hosts\"\n"));
    assert_eq!(hosts.len(), 32);
    assert!(hosts.iter().all(|(_, _, bytes)| *bytes == 1_500_000), "{hosts:?}");
    let one = flows(&ring("ranks = \"hosts\"\nchannels = 1\n"));
    assert_eq!(one.len(), 4);
    assert!(one.contains(&("h0.0".into(), "h1.0".into(), 12_000_000)), "{one:?}");
    // Twelve channels on eight cards: 8,000,000 / 12 = 666,666 and a rest of eight bytes for the first eight.
    let twelve = flows(&ring("ranks = \"hosts\"\nchannels = 12\n"));
    let from_h0: Vec<_> =
        twelve.iter().filter(|(from, ..)| from == "h0.3").map(|(_, _, bytes)| *bytes).collect();
    // 2 · 3/4 of 666,667 and of 666,666, rounded up.
    assert_eq!(from_h0, [1_000_001, 999_999]);
}

/// Two channels on the only cards of two hosts, of four packets of 1000 B each, are connections that take turns on the link:
/// their packets follow each other at 84,320 ps, so that the fourth of the first channel is the seventh on the link and the
/// fourth of the other the eighth. Each arrives 84,320 ps and two delays of 1 us later. Over one connection the first
/// channel's would be the fourth.
#[test]
fn channels_on_the_same_cards_are_connections_of_their_own() {
    let ring = |more: &str| {
        let traffic = format!("kind = \"ring-allreduce\"\nsize = \"8KB\"\nchannels = 2\n{more}");
        built(2, 1, 0, &traffic)
    };
    let two = ring("");
    let connections = two.simulation.flows.iter().map(|flow| flow.connection);
    assert_eq!(connections.collect::<Vec<_>>(), [0, 1, 2, 3].map(Some));
    let delivered = column(&go(&two), TableName::Flows, "delivered_ps");
    let after = |packets: i64| packets * 84_320 + 84_320 + 2_000_000;
    let mut sorted = delivered.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [after(7), after(7), after(8), after(8)]);
    // The second pass has the connections of the first one.
    let passes = ring("passes = 2\n");
    let connections = passes.simulation.flows.iter().map(|flow| flow.connection);
    assert_eq!(connections.collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3].map(Some));
}

/// A card that no flow names is the one that sends its bytes, and on rails without spines the one that receives them.
#[test]
fn flows_tell_the_cards_that_they_take() {
    let cards = |result: &RunResult| {
        let table = result.table(TableName::Flows).unwrap();
        let of = |name: &str| {
            let columns = table.batches.iter().map(|batch| batch.column_by_name(name).unwrap().clone());
            columns
                .flat_map(|column| column.as_primitive::<UInt16Type>().iter().collect::<Vec<_>>())
                .collect()
        };
        let (from, to): (Vec<Option<u16>>, Vec<Option<u16>>) = (of("source_card"), of("destination_card"));
        from.into_iter().zip(to).collect::<Vec<_>>()
    };
    let flow = |more: &str| format!("kind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\n{more}");
    let result = go(&built(2, 8, 0, &flow("")));
    let (data, answers) = (sent(&result, 0), sent(&result, 1));
    let busy = data.iter().position(|bytes| *bytes > 0).unwrap() as u16;
    assert!(data[usize::from(busy)] >= 1_054_000 && answers[usize::from(busy)] < 1_054_000, "{data:?}");
    assert_eq!(cards(&result), [(Some(busy), Some(busy))]);
    // Named at one end or the other; the other card is the one on the same rail.
    let named = built(
        2,
        8,
        2,
        "kind = \"flows\"\nfrom = [\"h0.3\", \"h0\"]\nto = [\"h1\", \"h1.5\"]\nsize = \"1KB\"\n",
    );
    assert_eq!(cards(&go(&named)), [(Some(3), Some(3)), (Some(5), Some(5))]);
    // Between rails, over spines: every packet arrives by the card that is named.
    let crossing =
        "kind = \"flows\"\nfrom = \"h0.0\"\nto = \"h1.1\"\nsize = \"1MB\"\nbalancing = \"random\"\n";
    assert_eq!(cards(&go(&built(2, 2, 4, crossing))), [(Some(0), Some(1))]);
    // Hosts with one card.
    assert_eq!(cards(&go(&built(2, 1, 0, &flow("")))), [(Some(0), Some(0))]);
    // Two switches that lead to both cards of h1: packets that are spread take either. A flow that has not started takes
    // none.
    let two = "topology = { kind = \"graph\", rate = \"100Gbps\", delay = \"1us\", hosts = [\"h0\", \"h1\"], \
               switches = [\"s0\", \"s1\", \"s2\"], links = [{ between = [\"h0\", \"s0\"] }, \
               { between = [\"s1-s2\", \"s0\"] }, { between = [\"s1-s2\", \"h1\"] }] }\n";
    let spread = |more: &str, traffic: &str| {
        let traffic = format!("[[traffic]]\n{}{traffic}", flow(""));
        let text = format!("{two}cc = {{ algorithm = \"constant\" }}\n{more}\n{traffic}");
        cards(&go(&Scenario::from_toml(&text, "ranks.toml", &[]).unwrap().build().unwrap()))
    };
    let one = spread("", "");
    assert!(one == [(Some(0), Some(0))] || one == [(Some(0), Some(1))], "{one:?}");
    assert_eq!(spread("balancing = { policy = \"random\" }", ""), [(Some(0), None)]);
    // One that has not started takes none; the other card of h1 may be named although packets are spread.
    let late = "[[traffic]]\nname = \"late\"\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1.1\"\nsize = \"1KB\"\nstart = ";
    let both = |start: &str| {
        spread("balancing = { policy = \"random\" }\nrun = { until = \"1ms\" }", &format!("{late}{start}\n"))
    };
    assert_eq!(both("\"0s\""), [(Some(0), None), (Some(0), Some(1))]);
    assert_eq!(both("\"2ms\""), [(Some(0), None), (None, None)]);
}

/// Eight rings, one for each GPU of a server, do not meet. By hash they took 3.96 times the bound.
#[test]
fn eight_rings_at_once_keep_to_their_rails() {
    let built = built(16, 8, 0, "kind = \"hsdp\"\nsize = \"8MB\"\n");
    assert_eq!(built.simulation.flows.len(), 128);
    assert!(
        built.simulation.flows.iter().all(|flow| flow.cards[0].is_some() && flow.cards[0] == flow.cards[1])
    );
    let result = go(&built);
    let ratio = ratios(&result)[0];
    assert!((1.0..1.0 + 64.0 / 1054.0).contains(&ratio), "{ratio}");
    // The same as eight blocks of traffic, of one card of each server.
    let rings: Vec<String> = (0..8)
        .map(|card| {
            format!("name = \"r{card}\"\nkind = \"flows\"\nfrom = \"h0-h14.{card}\"\nto = \"h1-h15.{card}\"\nsize = \"8MB\"\n")
        })
        .collect();
    let built = self::built(16, 8, 0, &rings.join("[[traffic]]\n"));
    let result = go(&built);
    let longest = column(&result, TableName::Flows, "fct_ps").into_iter().max().unwrap();
    let alone = column(&result, TableName::Flows, "own_ideal_fct_ps")[0];
    assert!(longest >= alone && (longest as f64) < 1.061 * alone as f64, "{longest} {alone}");
}

/// Four hosts with two cards on rails without spines. Of the four cards of a rail each sends 1,000 B to the three others:
/// 12 flows on each rail. Three packets of 1054 B leave a card in 3 · 84,320 ps; the last one needs 84,320 ps and 2 us more,
/// and its acknowledgement 2,010,240 ps.
#[test]
fn each_rail_has_an_all_to_all_of_its_own() {
    let keys = "kind = \"all-to-all\"\nsize = \"1KB\"\ngroups = \"one-per-rail\"\n";
    let all = built(4, 2, 0, keys);
    let mut expected = Vec::new();
    for card in 0..2 {
        for from in 0..4 {
            let to = (1..4).map(|distance| (from + distance) % 4);
            expected.extend(to.map(|to| (format!("h{from}.{card}"), format!("h{to}.{card}"), 1000)));
        }
    }
    assert_eq!(flows(&all), expected);
    let result = go(&all);
    assert_eq!(column(&result, TableName::Jobs, "bound_ps"), [4 * 84_320 + 2_000_000 + 2_010_240; 2]);
    assert!(ratios(&result).iter().all(|ratio| (1.0..1.05).contains(ratio)), "{:?}", ratios(&result));
    // Of three packets each, and 64 B for each packet that came.
    for host in 0..4 {
        assert_eq!(sent(&result, host), [3 * (1054 + 64); 2]);
    }
    // The messages of a barrier stay on their rail, too: three to the first host, and three from it.
    let barrier = built(4, 2, 0, &format!("{keys}passes = 2\nbarrier = true\n"));
    let messages: Vec<_> = flows(&barrier).into_iter().filter(|flow| flow.2 == 1).collect();
    assert_eq!(messages.len(), 12);
    assert_eq!(messages[6], ("h1.1".into(), "h0.1".into(), 1));
}

/// The 4,000 B of a rank in a ring of the four cards of a rail: parts of 1,000 B in 2 · 3 steps, or 6,000 B as one flow. Each
/// rank has 4,000 B, so that two rails carry twice as much as one ring over all cards of whole hosts.
#[test]
fn each_rail_has_a_ring_of_its_own() {
    let of = |kind: &str| built(4, 2, 0, &format!("{kind}\nsize = \"4KB\"\ngroups = \"one-per-rail\"\n"));
    let steps = flows(&of("kind = \"collective\"\noperation = \"all-reduce\""));
    assert_eq!(steps.len(), 2 * 6 * 4);
    for (place, (from, to, bytes)) in steps.iter().enumerate() {
        let (rail, host) = (place / 24, place % 4);
        assert_eq!((from.as_str(), *bytes), (format!("h{host}.{rail}").as_str(), 1000));
        assert_eq!(*to, format!("h{}.{rail}", (host + 1) % 4));
    }
    let whole = flows(&of("kind = \"ring-allreduce\""));
    let expected =
        (0..8).map(|n| (format!("h{}.{}", n % 4, n / 4), format!("h{}.{}", (n + 1) % 4, n / 4), 6000));
    assert_eq!(whole, expected.collect::<Vec<_>>());
}

/// Rails need cards, and are no hosts.
#[test]
fn rails_that_cannot_be_groups_are_refused() {
    let all = "kind = \"all-to-all\"\nsize = \"1KB\"\ngroups = \"one-per-rail\"\n";
    let said = refused(4, 1, 0, all);
    assert!(
        said.contains("groups: = \"one-per-rail\" needs hosts with equally many network cards"),
        "{said}"
    );
    let said = refused(4, 2, 0, &format!("{all}ranks = \"hosts\"\n"));
    assert!(said.contains("ranks: = \"hosts\" does not go with groups = \"one-per-rail\""), "{said}");
    let said = refused(4, 2, 0, &format!("{all}group_size = 2\n"));
    assert!(said.contains("group_size: has no effect"), "{said}");
    let tree =
        "kind = \"collective\"\noperation = \"all-to-all\"\nalgorithm = \"hierarchical\"\nsize = \"4KB\"\n";
    let said = refused(4, 2, 0, &format!("{tree}groups = \"one-per-rail\"\n"));
    assert!(said.contains("inner: is missing"), "{said}");
}

/// Two servers of two GPUs, two channels: four ranks divide the 4,000 B of a channel into four parts, of which six cross
/// each edge. A part takes two steps through a server, so that each pass begins with the parts of its own two GPUs.
#[test]
fn steps_of_a_ring_pass_through_the_gpus_of_a_server() {
    let built = built(2, 2, 0, "kind = \"ring-allreduce\"\nsize = \"8003B\"\nsteps = true\npasses = 2\n");
    let sim = &built.simulation;
    // Passes, channels, steps, servers.
    assert_eq!(sim.flows.len(), 2 * 2 * 6 * 2);
    for (from, card, bytes) in [(0, 0, 4002), (0, 1, 4001), (1, 0, 4002), (1, 1, 4001)] {
        let own = sim.flows.iter().filter(|f| (f.source, f.cards) == (from, [Some(card); 2]));
        // Six parts of a pass: all of 0 to 3 once, and two of them again: 1,000 B, the first ones with one byte more.
        let total: u64 = own.map(|f| f.size.get()).sum();
        assert!((2 * 6 * (bytes / 4)..=2 * 6 * (bytes / 4 + 1)).contains(&total), "{total}");
    }
    // The sends of a server by what they wait for: nothing, or a receive two steps before.
    let waits = |operation: usize| {
        let after = &sim.operations[operation].after;
        after
            .iter()
            .map(|other| matches!(sim.operations[*other as usize].what, What::Receive { .. }))
            .collect::<Vec<_>>()
    };
    let sends = (0..sim.operations.len()).filter(|o| matches!(sim.operations[*o].what, What::Send { .. }));
    let by_count = sends.map(|send| waits(send).len()).fold([0; 6], |mut sums, n| {
        sums[n] += 1;
        sums
    });
    // In the first pass two steps of each channel and server wait for nothing, the others for one receive. In the second
    // pass all wait for the last two steps of both channels, the others besides for one receive.
    assert_eq!(by_count, [2 * 2 * 2, 2 * 2 * 4, 0, 0, 2 * 2 * 2, 2 * 2 * 4]);
    let result = go(&built);
    assert!(ratios(&result)[0] >= 1.0);
}

#[test]
fn every_gpu_sends_to_those_of_other_servers() {
    let pair = |spines| format!("kind = \"all-to-all\"\nsize = \"10KB\"\npasses = {}\n", 1 + spines);
    let built = built(3, 2, 1, &pair(1));
    // Six GPUs send to the four of other servers, in two passes.
    assert_eq!(built.simulation.flows.len(), 2 * 6 * 4);
    let all = flows(&built);
    assert_eq!(all.iter().filter(|(from, to, _)| from == "h0.1" && to == "h2.0").count(), 2);
    assert!(ratios(&go(&built))[0] >= 1.0);
    // By hash between whole servers.
    let hosts = self::built(3, 2, 1, &format!("{}ranks = \"hosts\"\n", pair(1)));
    assert_eq!(flows(&hosts).iter().filter(|(from, to, _)| from == "h0" && to == "h2").count(), 2);
    let apart = refused(3, 2, 0, &pair(0));
    assert!(apart.contains("there is no path from h0.0 to h1.1"), "{apart}");
    // With a barrier the first server hears of each other one, and tells it.
    let barrier = self::built(3, 2, 1, &format!("{}barrier = true\n", pair(1)));
    assert_eq!(barrier.simulation.flows.iter().filter(|flow| flow.size.get() == 1).count(), 4);
    assert!(ratios(&go(&barrier))[0] >= 1.0);
}

#[test]
fn cards_are_named_behind_a_point() {
    let listed = |from: &str, to: &str| {
        flows(&built(4, 3, 1, &format!("kind = \"flows\"\nfrom = {from}\nto = {to}\nsize = \"1KB\"\n")))
            .into_iter()
            .map(|(from, to, _)| format!("{from}>{to}"))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(listed("\"h0-h2.1\"", "\"h3\""), "h0.1>h3 h1.1>h3 h2.1>h3");
    assert_eq!(listed("\"h0.0-h0.2\"", "\"h3.2\""), "h0.0>h3.2 h0.1>h3.2 h0.2>h3.2");
    assert_eq!(listed("\"h0\"", "[\"h1.0\", \"h1.1\", \"h2\"]"), "h0>h1.0 h0>h1.1 h0>h2");
    let wrong = |from: &str, to: &str, spines| {
        refused(
            2,
            3,
            spines,
            &format!("kind = \"flows\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"1KB\"\n"),
        )
    };
    assert!(wrong("h0.3", "h1", 1).contains("there is no card \"3\" of h0, which has cards 0 to 2"));
    assert!(wrong("h0.x", "h1", 1).contains("there is no card \"x\" of h0"));
    assert!(wrong("h0.0", "h0.1", 1).contains("h0 would send to itself"));
    assert!(wrong("h0.0", "h1.1", 0).contains("there is no path from h0.0 to h1.1"));
    assert!(wrong("h0.0", "h7.1", 0).contains("there is no host \"h7\""));
    for kind in ["ring-allreduce", "all-to-all", "hsdp"] {
        let text = format!("kind = \"{kind}\"\nhosts = \"all.1\"\nsize = \"1KB\"\n");
        assert!(refused(2, 3, 1, &text).contains("h0.1 is a network card; expected a host"), "{kind}");
    }
}

/// Every kind of traffic between hosts takes the cards that it names: here card 1 of four servers of three cards, which have
/// two spines between their rails.
#[test]
fn every_kind_takes_the_cards_that_it_names() {
    let folder = common::Scratch::new("cards");
    let csv = folder
        .write("flows.csv", "source,destination,size [B],start [us]\nh0.1,h1.1,1000,0\nh3.1,h0.1,2000,1\n");
    let matrix = folder.write("two.cm", "Nodes 2\nConnections 1\n0->1 start 0 size 1000\n");
    for traffic in [
        "kind = \"permutation\"\nhosts = \"all.1\"\nsize = \"1KB\"\n",
        "kind = \"permutation\"\nhosts = \"all.1\"\nsize = \"1KB\"\nshift = 1\n",
        "kind = \"incast\"\nfrom = \"all.1\"\nto = \"h2.1\"\nsize = \"1KB\"\n",
        "kind = \"poisson\"\nfrom = \"all.1\"\nto = \"all.1\"\nsizes = \"1KB\"\nload = 0.5\nflows = 50\n",
        "kind = \"closed-loop\"\nfrom = \"all.1\"\nto = \"all.1\"\nsizes = \"1KB\"\nflows = 5\n",
        "kind = \"parameter-server\"\nservers = \"h0.1\"\nworkers = \"h1-h3.1\"\nlayers = [\"1KB\"]\n",
        "kind = \"staggered\"\nfrom = \"h0.1\"\nto = \"h1.1\"\ninterval = \"1us\"\nduration = \"5us\"\n",
        "kind = \"on-off\"\nfrom = \"h0.1\"\nto = \"h1.1\"\non = \"1us\"\noff = \"1us\"\ncycles = 2\n",
        &format!("kind = \"flow-table\"\nfile = {csv:?}\n"),
        &format!("kind = \"htsim-connections\"\nfile = {matrix:?}\nhosts = [\"h3.1\", \"h0.1\"]\n"),
    ] {
        let built = built(4, 3, 2, traffic);
        assert!(!built.simulation.flows.is_empty(), "{traffic}");
        for flow in &built.simulation.flows {
            assert_eq!(flow.cards, [Some(1); 2], "{traffic}");
            assert_ne!(flow.source, flow.destination, "{traffic}");
        }
    }
}

/// Each of several cards of a host sends and receives for itself, and never to its own host.
#[test]
fn each_card_of_a_host_takes_part_for_itself() {
    let all = "[\"all.0\", \"all.1\", \"all.2\"]";
    let ends = |traffic: &str| {
        let built = built(3, 3, 2, traffic);
        let flows = &built.simulation.flows;
        assert!(flows.iter().all(|flow| flow.source != flow.destination), "{traffic}");
        let of = |side: usize| {
            let host = |flow: &Flow| if side == 0 { flow.source } else { flow.destination };
            flows.iter().map(|flow| (host(flow), flow.cards[side].unwrap())).collect::<BTreeSet<_>>().len()
        };
        (flows.len(), of(0), of(1))
    };
    // Six of the nine cards are at other hosts than the receiver.
    let incast = format!("kind = \"incast\"\nfrom = {all}\nto = \"h2.0\"\nsize = \"1KB\"\n");
    assert_eq!(ends(&incast), (6, 6, 1));
    let poisson =
        format!("kind = \"poisson\"\nfrom = {all}\nto = {all}\nsizes = \"1KB\"\nload = 0.5\nflows = 500\n");
    assert_eq!(ends(&poisson), (500, 9, 9));
    let closed = format!(
        "kind = \"closed-loop\"\nfrom = {all}\nto = {all}\nsizes = \"1KB\"\nflows = 50\nthink = \"1us\"\n"
    );
    assert_eq!(ends(&closed), (450, 9, 9));
    // Two workers of three cards, each card of which has its part of two layers.
    let pushed = "kind = \"parameter-server\"\nservers = [\"h0.0\", \"h0.2\"]\nworkers = [\"h1.0-h1.2\", \"h2.0-h2.2\"]\n\
                  layers = [\"1KB\", \"2KB\"]\ncompute = \"1us\"\n";
    assert_eq!(ends(pushed), (6 * 2 * 2, 6, 2));
    // A rack is a switch: here all cards of a number. Of the other rails each has two cards at other hosts.
    let files = format!(
        "kind = \"file-requests\"\nfrom = {all}\nto = \"h0.0\"\nsize = \"2KB\"\nresponders = 2\ninterval = \"1us\"\nrequests = 40\n"
    );
    assert_eq!(ends(&files), (80, 4, 1));
    let three = files.replace("responders = 2", "responders = 3");
    assert!(refused(3, 3, 2, &three).contains("no rack other than the one of h0.0 has 3 of the hosts"));
    let racks = format!(
        "kind = \"incast\"\nfrom = {all}\nto = \"h2.0\"\nfan_in = 2\nspread = \"one-other-rack\"\nsize = \"1KB\"\ninterval = \"1us\"\nrequests = 40\n"
    );
    assert_eq!(ends(&racks), (80, 4, 1));
}

/// The loops of the cards of a host think beside each other: a loop of two flows of 1000 B takes twice 84,320 ps, two links
/// of 1 us and an acknowledgement of 64 B (5,120 ps) back over two links, and once 5 us between.
#[test]
fn loops_of_two_cards_think_by_themselves() {
    let loops = "kind = \"closed-loop\"\nfrom = [\"h0.0\", \"h0.1\"]\nto = [\"h1.0\"]\nsizes = \"1KB\"\nflows = 2\nthink = \"5us\"\n";
    let one = loops.replace(", \"h0.1\"", "");
    let flow = 2 * 84_320 + 2_000_000 + 2 * 5_120 + 2_000_000;
    let took = |traffic: &str| column(&go(&built(2, 2, 1, traffic)), TableName::Jobs, "jct_ps")[0];
    assert_eq!(took(&one), 2 * flow + 5_000_000);
    // Both finish within what the other card's packet, over the spine, can add: no second pause of 5 us.
    assert!(took(loops) < 2 * flow + 5_000_000 + 4 * 2_100_000, "{}", took(loops));
    let many = loops.replace("think", "parallel = 40000\nthink");
    assert!(
        refused(2, 2, 1, &many).contains("makes more than 65536 loops at a host: 40000 for each of 2 cards")
    );
}

#[test]
fn cards_that_cannot_take_part_are_refused() {
    let wrong = |traffic: &str, spines| refused(3, 2, spines, traffic);
    let twice = "kind = \"permutation\"\nhosts = [\"all.0\", \"h1.1\"]\nsize = \"1KB\"\n";
    assert!(wrong(twice, 1).contains("names h1.0 and h1.1, of one host; write a block for each card"));
    let both = "kind = \"incast\"\nfrom = [\"h0\", \"h0.1\"]\nto = \"h2\"\nsize = \"1KB\"\n";
    assert!(wrong(both, 1).contains("h0.1 is listed beside h0, which has it; name the host or its cards"));
    let serves = "kind = \"parameter-server\"\nservers = \"h0.0\"\nworkers = \"h0.1\"\nlayers = [\"1KB\"]\n";
    assert!(wrong(serves, 1).contains("h0 is a server already"));
    let itself = "kind = \"closed-loop\"\nfrom = \"h0.0\"\nto = \"h0.1\"\nsizes = \"1KB\"\nflows = 1\n";
    assert!(wrong(itself, 1).contains("h0 would send to itself"));
    // Without spines the rails are apart.
    for traffic in [
        "kind = \"incast\"\nfrom = \"all.0\"\nto = \"h2.1\"\nsize = \"1KB\"\n",
        "kind = \"poisson\"\nfrom = \"all.0\"\nto = \"all.1\"\nsizes = \"1KB\"\nload = 0.1\nflows = 9\n",
        "kind = \"closed-loop\"\nfrom = \"all.0\"\nto = \"all.1\"\nsizes = \"1KB\"\nflows = 1\n",
        "kind = \"parameter-server\"\nservers = \"h0.0\"\nworkers = \"h1.1\"\nlayers = [\"1KB\"]\n",
    ] {
        assert!(wrong(traffic, 0).contains("there is no path from h"), "{traffic}");
    }
    let folder = common::Scratch::new("cards-wrong");
    let table = |rows: &str| {
        let file = folder.write("flows.csv", format!("source,destination,size [B],start [us]\n{rows}"));
        wrong(&format!("kind = \"flow-table\"\nfile = {file:?}\n"), 0)
    };
    assert!(table("h0,h1,1,0\nh0.0,h1.1,1,0\n").contains("flows.csv:3: "));
    assert!(table("h0.0,h1.1,1,0\n").contains("there is no path from h0.0 to h1.1"));
    assert!(table("h0.0,h0.1,1,0\n").contains("destination: h0 would send to itself"));
    assert!(table("h0.7,h1,1,0\n").contains("source: there is no card \"7\" of h0"));
    let matrix = folder.write("two.cm", "Nodes 2\nConnections 1\n0->1 start 0 size 1000\n");
    let nodes = format!("kind = \"htsim-connections\"\nfile = {matrix:?}\nhosts = [\"h0.0\", \"h0.1\"]\n");
    assert!(wrong(&nodes, 1).contains("on h0.0 and h0.1, cards of one host"));
}

/// The first two servers reach each other by all cards, and the first card of the third one reaches nobody.
#[test]
fn all_servers_of_an_all_to_all_are_looked_at() {
    let text = "topology = { kind = \"graph\", rate = \"100Gbps\", delay = \"1us\", hosts = [\"h0-h2\"], \
                switches = [\"s0-s2\"], links = [{ between = [\"h0-h1\", \"s0\"] }, { between = [\"h0-h1\", \"s2\"] }, \
                { between = [\"s0\", \"s2\"] }, { between = [\"h2\", \"s1\"] }, { between = [\"h2\", \"s2\"] }] }\n\
                cc = { algorithm = \"constant\" }\n\
                [[traffic]]\nkind = \"all-to-all\"\nsize = \"1KB\"\n";
    let problems = Scenario::from_toml(text, "ranks.toml", &[]).unwrap_err().to_string();
    assert!(problems.contains("traffic.all-to-all.ranks: there is no path from h0.0 to h2.0"), "{problems}");
}

#[test]
fn ranks_without_a_meaning_are_refused() {
    let ring = |cards, more: &str| {
        refused(4, cards, 0, &format!("kind = \"ring-allreduce\"\nsize = \"8KB\"\n{more}"))
    };
    assert!(ring(1, "ranks = \"cards\"\n").contains("each host has one card"));
    assert!(ring(2, "channels = 9000\n").contains("channels"));
    assert!(ring(2, "channels = 1001\nsteps = true\n").contains("8KB cannot be divided into 8008 parts"));
    let hsdp = refused(4, 2, 0, "kind = \"hsdp\"\ngpus = 2\n");
    assert!(hsdp.contains("each host is a server of 2 GPUs"), "{hsdp}");
}

/// A GOAL schedule of four ranks: 0 sends to 1 and then to 2, 1 passes on to 3 what it has.
const GOAL: &str = "num_ranks 4\n\
    rank 0 {\nl1: send 1000b to 1 tag 1\nl2: send 2000b to 2 tag 2\nl2 requires l1\n}\n\
    rank 1 {\nl1: recv 1000b from 0 tag 1\nl2: calc 5000 cpu 0\nl3: send 3000b to 3 tag 3\nl2 requires l1\nl3 requires l2\n}\n\
    rank 2 {\nl1: recv 2000b from 0 tag 2\n}\n\
    rank 3 {\nl1: recv 3000b from 1 tag 3\nl2: calc 7000 cpu 0\nl2 requires l1\n}\n";

/// On two servers of two GPUs the message from 0 to 1 takes no time. Rank 1 computes for 5 us and then sends three packets
/// on card 1, which arrive 4 · 84,320 ps and 2 us later; rank 3 computes for 7 us more.
#[test]
fn ranks_of_a_trace_are_cards_where_these_are_as_many() {
    let folder = common::Scratch::new("ranks");
    let path = folder.write("four.goal", GOAL);
    let goal = |more: &str| format!("kind = \"goal-file\"\nfile = {path:?}\n{more}");
    let four = built(2, 2, 0, &goal(""));
    assert_eq!(
        flows(&four).into_iter().collect::<BTreeSet<_>>(),
        [("h0.0".into(), "h1.0".into(), 2000), ("h0.1".into(), "h1.1".into(), 3000)].into()
    );
    let result = go(&four);
    assert_eq!(column(&result, TableName::Jobs, "jct_ps"), [5_000_000 + 4 * 84_320 + 2_000_000 + 7_000_000]);
    assert_eq!(ratios(&result), [1.0]);
    // As hosts, of as many or more.
    for (servers, more) in
        [(4, "ranks = \"hosts\"\n"), (4, "hosts = [\"h0\", \"h1\", \"h2\", \"h3\"]\nranks = \"hosts\"\n")]
    {
        assert_eq!(built(servers, 2, 0, &goal(more)).simulation.flows.len(), 3);
    }
    // Cards one by one: ranks 0 and 2 on one server.
    let listed = built(2, 2, 0, &goal("hosts = [\"h0.0\", \"h1.0\", \"h0.1\", \"h1.1\"]\n"));
    assert_eq!(flows(&listed), [("h0.0".into(), "h1.0".into(), 1000)]);
    let unclear = refused(4, 2, 0, &goal(""));
    assert!(unclear.contains("the file has 4 ranks for 4 hosts with 8 network cards"), "{unclear}");
    let apart = refused(2, 2, 0, &goal("hosts = [\"h0.0\", \"h1.1\", \"h0.1\", \"h1.0\"]\n"));
    assert!(apart.contains("there is no path from h0.0 to h1.1"), "{apart}");
    let idle = refused(4, 1, 0, &goal("ranks = \"cards\"\n"));
    assert!(idle.contains("each host has one card"), "{idle}");
}
