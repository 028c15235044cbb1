//! Workloads of SimAI.

use incast_lab::formats::simai::{Group, Operation as Collective, SimAi};

use incast_sim::record::End;

use super::runs::{STAR, go};
use super::*;

pub(super) const SAMPLE: &str = include_str!("../../../../examples/workloads/moe_8.txt");
const HEADER: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2 \
                      checkpoints: 0 checkpoint_initiates: 0\n";

pub(super) fn parse(text: &str) -> Result<SimAi, Problems> {
    SimAi::parse(text, "a.txt")
}

#[test]
fn a_workload_is_read() {
    let work = parse(SAMPLE).unwrap();
    assert_eq!((work.gpus, work.tensor, work.expert), (8, 2, 2));
    let names: Vec<&str> = work.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["embedding", "attention", "experts"]);
    let of = |layer: usize| {
        work.layers[layer].phases().map(|phase| {
            (phase.compute.ps() / 1000, phase.exchange.map(|e| (e.operation, e.group, e.size.get(), e.place)))
        })
    };
    use Collective::{AllGather, AllReduce, AllToAll, ReduceScatter};
    // Without a group, forward and input gradient are of tensor-parallel groups, the weights' of data-parallel ones.
    assert_eq!(
        of(0),
        [
            (1000, Some((AllReduce, Group::Tensor, 400_000, (3, 29)))),
            (1, None),
            (500, Some((AllReduce, Group::Data, 800_000, (3, 59))))
        ]
    );
    assert_eq!(of(1)[0].1.map(|e| (e.0, e.1)), Some((AllGather, Group::Tensor)));
    assert_eq!(of(1)[1].1.map(|e| (e.0, e.1)), Some((ReduceScatter, Group::Tensor)));
    assert_eq!(of(2)[0].1.map(|e| (e.0, e.1)), Some((AllToAll, Group::Expert)));
    assert_eq!(of(2)[2].1.map(|e| (e.0, e.1)), Some((ReduceScatter, Group::ExpertData)));
    assert_eq!(work.layers[0].update, Time::from_ns(100));
    // 1000 + 1 + 500, 2000 + 2000 + 1000, 3000 + 3000 + 1000 ns.
    assert_eq!(work.computes(), Time::from_ns(13_501));
    // A collective of no bytes sends nothing; SimAI has such for gradients that overlap.
    let empty = parse(&SAMPLE.replace("ALLGATHER\t200000", "ALLGATHER\t0")).unwrap();
    assert_eq!(empty.layers[1].forward.exchange, None);
}

/// By hand, as SimAI's `MockNcclGroup` forms them.
#[test]
fn groups_are_formed_as_by_simai() {
    let work = parse(SAMPLE).unwrap();
    assert_eq!(work.groups(Group::Tensor), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert_eq!(work.groups(Group::Data), [[0, 2, 4, 6], [1, 3, 5, 7]]);
    assert_eq!(work.groups(Group::Expert), [[0, 2], [1, 3], [4, 6], [5, 7]]);
    assert_eq!(work.groups(Group::ExpertData), [[0, 4], [1, 5], [2, 6], [3, 7]]);
    let sizes = Group::ALL.map(|group| work.size_of(group));
    assert_eq!(sizes, [2, 4, 2, 2]);
    // Each kind divides all GPUs.
    let other = SimAi { gpus: 48, tensor: 4, expert: 3, ..work };
    for group in Group::ALL {
        let mut all = other.groups(group).concat();
        assert!(other.groups(group).iter().all(|one| one.len() == other.size_of(group) as usize));
        all.sort_unstable();
        assert_eq!(all, (0..48).collect::<Vec<u32>>());
    }
}

/// Two hosts, two passes. Forward: 1 us, and an all-reduce of 2,000 B in two steps of a packet each, of which the second
/// begins when the first has arrived. It ends with the acknowledgement, behind which the gradients are computed for 500 and
/// 700 ns.
#[test]
fn a_workload_takes_as_long_as_it_should() {
    let scratch = Scratch::new("imports-simai-run");
    let layer = "a -1 1000 ALLREDUCE 2000 500 NONE 0 700 NONE 0 100\n";
    scratch.write("a.txt", format!("{HEADER}1\n{layer}"));
    let end = |more: &str| {
        let text = format!("{STAR}kind = \"simai-file\"\nfile = \"a.txt\"\n{more}");
        go(&scratch.scenario(&text).unwrap(), 1).outcome.now.ps()
    };
    // 84,320 ps on each of two links, and 5,120 for an acknowledgement. When the first packet arrives, its acknowledgement
    // goes out first, and the second packet behind it: 5,120 ps later. The acknowledgement of the second one waits for
    // nothing.
    let (data, ack) = (2 * (84_320 + 1_000_000), 2 * (5_120 + 1_000_000));
    let pass = 1_000_000 + data + 5_120 + data + ack + 500_000 + 700_000;
    assert_eq!(end(""), pass);
    assert_eq!(end("passes = 2\n"), 2 * pass);
    assert_eq!(end("compute_factor = 2\n"), pass + 2_200_000);
    // Half of the bytes: packets of 500 B have 554 B on the wire.
    assert_eq!(end("size_factor = 0.5\n"), pass - 2 * 2 * 40_000);
}

/// The collective of the weights does not hold up the layers before, and holds up its own layer in the next pass.
#[test]
fn weights_are_exchanged_beside_the_layers_before() {
    let scratch = Scratch::new("imports-simai-overlap");
    let header = HEADER.replace("group: 2", "group: 1");
    let layers =
        "a -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 7\nb -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 2000 900\n";
    scratch.write("a.txt", format!("{header}2\n{layers}"));
    let text = |more: &str| format!("{STAR}kind = \"simai-file\"\nfile = \"a.txt\"\n{more}");
    let end = |more: &str| go(&scratch.scenario(&text(more)).unwrap(), 1).outcome.now.ps();
    let (data, ack) = (2 * (84_320 + 1_000_000), 2 * (5_120 + 1_000_000));
    let exchange = data + 5_120 + data + ack;
    // 4 us until the weights' gradient of b, then its all-reduce and the update of 0.9 us; beside them 2 us of layer a.
    assert_eq!(end(""), 4_000_000 + exchange + 900_000);
    // In the second pass layer a is computed at 6 us and b when it has its weights, then 3 us to the next all-reduce.
    let renewed = 4_000_000 + exchange + 900_000;
    assert!(renewed > 7_000_000);
    assert_eq!(end("passes = 2\n"), renewed + 3_000_000 + exchange + 900_000);
}

/// On two servers of four cards GPUs 0 to 3 are on h0: of the sample's groups only the groups of experts' data leave a server
/// with all of their bytes, and the data-parallel ones have two GPUs on each, and so two channels.
#[test]
fn gpus_are_cards_of_servers() {
    let scratch = Scratch::new("imports-simai-cards");
    scratch.write("a.txt", SAMPLE);
    let text = "cc = { algorithm = \"constant\" }\n[topology]\nkind = \"rail-optimized\"\nservers = 2\nrails = 4\n\
                spines = 0\nrate = \"100Gbps\"\ndelay = \"1us\"\n[[traffic]]\n\
                kind = \"simai-file\"\nfile = \"a.txt\"\n";
    let built = scratch.scenario(text).map(|scenario| scenario.build().unwrap()).unwrap();
    let mut bytes = std::collections::BTreeMap::new();
    for flow in &built.simulation.flows {
        assert_eq!(flow.cards[0], flow.cards[1], "rails are apart");
        *bytes.entry((flow.source, flow.cards[0].unwrap())).or_insert(0) += flow.size.get();
    }
    // All-reduce of 800,000 B among four, of which each half has a channel: 6/4 of 400,000 B by each of two cards of each
    // group, 0 and 2, 1 and 3. Reduce-scatter of 320,000 B among two: half of them by each card.
    let each = 600_000 + 160_000;
    let expected = [0, 1].into_iter().flat_map(|host| (0..4).map(move |card| ((host, card), each)));
    assert_eq!(bytes, expected.collect());
    // As many hosts as GPUs, or as many cards.
    let few = text.replace("servers = 2\n", "servers = 3\n") + "hosts = \"h0-h2\"\n";
    let problems = scratch.scenario(&few).unwrap_err();
    assert!(problems.contains("hosts: names 3 hosts with 12 GPUs for the 8 of the file"), "{problems}");
}

#[test]
fn the_sample_runs_to_its_end() {
    let scratch = Scratch::new("imports-simai-sample");
    scratch.write("a.txt", SAMPLE);
    let text = format!(
        "{}kind = \"simai-file\"\nfile = \"a.txt\"\npasses = 2\n",
        STAR.replace("hosts = 2", "hosts = 9")
    );
    let scenario = scratch.scenario(&text).unwrap();
    let runs = [1, 3].map(|threads| go(&scenario, threads));
    assert_eq!(runs[0].outcome.fingerprint, runs[1].outcome.fingerprint);
    assert_eq!(runs[0].outcome.end, End::Finished);
}

/// A file that is cut off at any byte is refused on its last line, or lacks digits of its last number.
#[test]
fn files_that_are_cut_off_say_where() {
    let whole = parse(SAMPLE).unwrap();
    for kept in 0..SAMPLE.len() {
        let text = &SAMPLE[..kept];
        let last = text.lines().count().max(1) as u32;
        match parse(text) {
            Err(problems) => {
                let places = problems.iter().all(|problem| problem.line.is_some_and(|line| line <= last));
                assert!(places, "{kept} bytes: {problems}");
            }
            Ok(cut) => {
                assert!(text.trim_end().len() > SAMPLE.trim_end().len() - 3, "{kept} bytes");
                let mut cut = cut;
                cut.layers[2].update = whole.layers[2].update;
                assert_eq!(cut, whole);
            }
        }
    }
}

#[test]
fn what_a_workload_can_get_wrong() {
    let cases = [
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DATA"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "TRANSFORMER"),
        ("model_parallel_NPU_group: 2", "model_parallel_NPU_group: 3"),
        ("model_parallel_NPU_group: 2", "model_parallel_NPU_group 2"),
        ("model_parallel_NPU_group: 2", ""),
        ("ep: 2", "ep: 3"),
        ("ep: 2", "ep: 0"),
        ("pp: 1", "pp: 2"),
        ("pp: 1", "pp: 1 pp: 1"),
        ("pp: 1", "pp: 1 pp_comm 4096"),
        ("all_gpus: 8", "all_gpus: 100000"),
        ("checkpoints: 0", "checkpoints: 1 2"),
        ("checkpoint_initiates: 0", "checkpoint_initiates:"),
        ("\n3\n", "\n2\n"),
        ("\n3\n", "\n4\n"),
        ("\n3\n", "\n3 layers\n"),
        ("\t-1\t1000\tALLREDUCE", "\t0\t1000\tALLREDUCE"),
        ("\t1000\tALLREDUCE\t400000", "\t1.5\tALLREDUCE\t400000"),
        ("ALLREDUCE\t400000", "ALL_REDUCE\t400000"),
        ("ALLREDUCE\t400000", "ALLREDUCE_TP\t400000"),
        ("ALLREDUCE\t400000", "NONE\t400000"),
        ("ALLREDUCE\t400000", "ALLREDUCE\t99999999999999999999"),
        ("NONE\t0\t100\nexperts", "NONE\t0\nexperts"),
    ];
    insta::assert_snapshot!(spoilt(SAMPLE, &cases, |text| parse(text).err()));
}
