//! Traffic with dependencies, from the scenario to the tables of operations and jobs.
#![allow(missing_docs, reason = "a test")]

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use incast_lab::Scenario;
use incast_lab::results::{ResultFolder, TableName};
use incast_lab::run::{RunOptions, RunResult};
use incast_lab::scenario::Built;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::work::What;
use incast_units::Time;

/// A star of hosts with links of 100 Gbps and 1 us, packets of 1000 B and 54 B of headers, no control.
fn built(hosts: u32, traffic: &str) -> Built {
    scenario(hosts, traffic).build().unwrap()
}

fn scenario(hosts: u32, traffic: &str) -> Scenario {
    let text = format!(
        "topology = {{ kind = \"star\", hosts = {hosts}, rate = \"100Gbps\", delay = \"1us\" }}\n\
         cc = {{ algorithm = \"constant\" }}\n[[traffic]]\n{traffic}"
    );
    Scenario::from_toml(&text, "work.toml", &[]).unwrap()
}

fn go(built: &Built, out: Option<&std::path::Path>) -> RunResult {
    let options = RunOptions { out: out.map(Into::into), ..RunOptions::default() };
    common::go("work", "seed = 1\n", built, &options)
}

/// A column of whole numbers; a missing one is -1.
fn column(result: &RunResult, table: TableName, name: &str) -> Vec<i64> {
    let table = result.table(table).unwrap();
    let values = table.batches.iter().flat_map(|batch| {
        let column = batch.column_by_name(name).unwrap();
        match column.as_primitive_opt::<Int64Type>() {
            Some(values) => values.iter().map(|v| v.unwrap_or(-1)).collect::<Vec<_>>(),
            None => column.as_primitive::<UInt32Type>().iter().map(|v| v.map_or(-1, i64::from)).collect(),
        }
    });
    values.collect()
}

fn texts(result: &RunResult, table: TableName, name: &str) -> Vec<String> {
    let table = result.table(table).unwrap();
    let values = table.batches.iter().flat_map(|batch| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column.iter().map(|v| v.unwrap_or("null").to_owned()).collect::<Vec<_>>()
    });
    values.collect()
}

fn ratios(result: &RunResult, name: &str) -> Vec<Option<f64>> {
    let table = result.table(TableName::Jobs).unwrap();
    let values = table.batches.iter().flat_map(|batch| {
        batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().iter().collect::<Vec<_>>()
    });
    values.collect()
}

/// Returns the operations of each host as text: `s3` sends to host 3, `r3` receives from it, `c` computes;
/// and after what, by the position among the host's operations.
fn told(built: &Built) -> Vec<Vec<String>> {
    let sim = &built.simulation;
    let mut hosts = vec![Vec::new(); sim.network.hosts as usize];
    let mut places: Vec<usize> = Vec::new();
    for operation in &sim.operations {
        let what = match operation.what {
            What::Send { flow } => format!("s{}", sim.flows[flow as usize].destination),
            What::Receive { flow } => format!("r{}", sim.flows[flow as usize].source),
            What::Compute { .. } => "c".to_owned(),
        };
        let mut after: Vec<usize> = operation.after.iter().map(|other| places[*other as usize]).collect();
        after.sort_unstable();
        let after: Vec<String> = after.iter().map(usize::to_string).collect();
        let of_host = &mut hosts[operation.host as usize];
        places.push(of_host.len());
        of_host.push(if after.is_empty() { what } else { format!("{what}<{}", after.join(",")) });
    }
    hosts
}

#[test]
fn a_ring_passes_on_after_it_has_computed() {
    // Two passes of 2 * 3 / 4 * 1000 B = 1500 B: packets of 1054 B and 554 B. The second one arrives after
    // 84,320 + 1 us + 84,320 + 44,320 + 1 us, and its acknowledgement 2,010,240 ps later. All hosts do the same at
    // the same time, and nothing is on the way when they have computed for 10 us.
    let arrives = 2_212_960;
    let built = built(4, "kind = \"ring-allreduce\"\nsize = \"1000B\"\npasses = 2\ncompute = \"10us\"");
    assert_eq!(told(&built)[1], ["r0", "s2", "c<0", "r0", "s2<2"]);
    let result = go(&built, None);
    let jct = arrives + 10_000_000 + arrives + 2_010_240;
    assert_eq!(column(&result, TableName::Jobs, "jct_ps"), [jct]);
    assert_eq!(column(&result, TableName::Jobs, "operations"), [20]);
    assert_eq!(column(&result, TableName::Jobs, "ended_operations"), [20]);
    assert_eq!(column(&result, TableName::Jobs, "flows"), [8]);
    assert_eq!(column(&result, TableName::Jobs, "size_bytes"), [12_000]);
    assert_eq!(texts(&result, TableName::Jobs, "job"), ["ring-allreduce"]);
    assert_eq!(texts(&result, TableName::Jobs, "no_bound"), ["null"]);
    // Nothing waits but for computations, which the bound counts.
    assert_eq!(column(&result, TableName::Jobs, "bound_ps"), [jct]);
    assert_eq!(ratios(&result, "bound_ratio"), [Some(1.0)]);
    let summary = &result.info.summary.unwrap().jobs[0];
    assert_eq!((summary.group.as_str(), summary.jobs, summary.unfinished), ("ring-allreduce", 1, 0));
    assert_eq!(summary.jct_ps.unwrap().max, jct as f64);
    assert_eq!((result.info.outcome.unwrap().operations, result.outcome.operations_ended), (20, 20));
}

#[test]
fn a_pass_of_a_ring_may_be_many_steps() {
    // 1002 B in 4 parts of 251, 251, 250 and 250 B; six steps. Host 0 sends part 0, then 3, 2, 1, 0, 3.
    let built = built(4, "kind = \"ring-allreduce\"\nsize = \"1002B\"\nsteps = true");
    let sent: Vec<u64> =
        built.simulation.flows.iter().filter(|f| f.source == 0).map(|f| f.size.get()).collect();
    assert_eq!(sent, [251, 250, 250, 251, 251, 250]);
    let each = ["s1", "r3", "s1<1", "r3", "s1<3", "r3", "s1<5", "r3", "s1<7", "r3", "s1<9", "r3"];
    assert_eq!(told(&built)[0], each);
    let from_3: u64 = built.simulation.flows.iter().filter(|f| f.source == 3).map(|f| f.size.get()).sum();
    // Parts 3, 2, 1, 0, 3, 2: all of them twice but for parts 1 and 0.
    assert_eq!(from_3, 2 * 1002 - 251 - 251);
    let result = go(&built, None);
    // The bound is a chain of five arrivals and one acknowledged flow; acknowledgements hold up data a little.
    let ratio = ratios(&result, "bound_ratio")[0].unwrap();
    assert!((1.0..1.01).contains(&ratio), "{ratio}");
    assert_eq!(ratios(&result, "bound_increase"), [Some(ratio - 1.0)]);
    assert_eq!(texts(&result, TableName::Jobs, "no_bound"), ["null"]);
}

/// Two ranks, two steps a pass. Host 0: sends its part, receives host 1's, passes on the sum; then it has the result,
/// and computes. What it sends in the second pass has its own share of the sum, in the second step as in the first.
#[test]
fn every_step_of_a_ring_waits_for_the_computation_of_its_host() {
    let built =
        built(2, "kind = \"ring-allreduce\"\nsize = \"1KB\"\nsteps = true\npasses = 2\ncompute = \"9us\"");
    let each = ["s1", "r1", "s1<1", "r1", "c<3", "s1<4", "r1", "s1<4,6", "r1"];
    assert_eq!(told(&built)[0], each);
}

#[test]
fn models_of_a_ring_have_their_sizes() {
    for (model, bytes, compute) in [("resnet", 4_208_642, 93_500_000), ("vgg", 17_698_560, 365_700_000)] {
        let built = built(16, &format!("kind = \"ring-allreduce\"\nmodel = \"{model}\"\npasses = 2"));
        assert!(built.simulation.flows.iter().all(|flow| flow.size.get() == bytes));
        let computed = built.simulation.operations.iter().filter_map(|operation| match operation.what {
            What::Compute { time, .. } => Some(time.ps()),
            _ => None,
        });
        assert_eq!(computed.collect::<Vec<_>>(), [compute; 16]);
    }
    let text = "topology = { kind = \"leaf-spine\", leaves = 3, spines = 1, hosts = 2, rate = \"100Gbps\", delay = \"1us\" }\n\
                cc = { algorithm = \"constant\" }\n[[traffic]]\nkind = \"ring-allreduce\"\nname = \"ring\"\n\
                size = \"1000B\"\ngroups = \"one-per-switch\"";
    let built = Scenario::from_toml(text, "work.toml", &[]).unwrap().build().unwrap();
    let pairs: Vec<_> = built.simulation.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    assert_eq!(pairs, [(0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)]);
    assert_eq!(built.jobs, ["ring/group0", "ring/group1"]);
}

#[test]
fn all_to_all_leaves_out_the_host_itself() {
    let built_plain = built(4, "kind = \"all-to-all\"\nsize = \"1000B\"");
    assert_eq!(told(&built_plain)[1], ["r0", "s2", "s3", "s0", "r2", "r3"]);
    // At most two at a time: the third starts when the first has ended.
    let limited = built(4, "kind = \"all-to-all\"\nsize = \"1000B\"\nparallel = 2");
    assert_eq!(told(&limited)[1], ["r0", "s2", "s3", "s0<1", "r2", "r3"]);
    let result = go(&built_plain, None);
    // Bound: each host's link is busy with 3 packets of 84,320 ps; the first arrives there after 1,084,320 ps.
    let bound = 1_084_320 + 3 * 84_320 + 1_000_000 + 2_010_240;
    assert_eq!(column(&result, TableName::Jobs, "bound_ps"), [bound]);
    // A second pass with and without a barrier. Host 0 hears from all others and tells them.
    let two = "kind = \"all-to-all\"\nsize = \"1000B\"\npasses = 2\ncompute = \"1us\"";
    let free = built(3, two);
    assert_eq!(told(&free)[1][..6], ["r0", "s2", "s0", "r2", "c<0,1,2,3", "r0"]);
    let barrier = built(3, &format!("{two}\nbarrier = true"));
    let [first, second] = [0, 1].map(|host| told(&barrier)[host][4..9].to_vec());
    assert_eq!(first, ["r1", "r2", "s1<0,1,2,3,4,5", "s2<0,1,2,3,4,5", "c<0,1,2,3,4,5"]);
    assert_eq!(second, ["s0<0,1,2,3", "r0", "c<5", "r0", "s2<6"]);
}

#[test]
fn experts_are_chosen_by_their_shares() {
    // Over 4000 passes of 16 hosts host 8 receives from 3.560 others on average, host 14 from 3.218. The standard
    // deviation of one pass is below 1.7, that of the mean below 0.027; four of them.
    let built = built(16, "kind = \"all-to-all\"\nmodel = \"moe-16\"\npasses = 4000\nbarrier = false");
    let flows = &built.simulation.flows;
    assert!(flows.iter().all(|flow| flow.size.get() == 8_000_000 && flow.source != flow.destination));
    let received = |host: u32| flows.iter().filter(|flow| flow.destination == host).count() as f64 / 4000.0;
    assert!((received(8) - 3.560).abs() < 0.11, "{}", received(8));
    assert!((received(14) - 3.218).abs() < 0.11, "{}", received(14));
    assert_eq!(flows.len(), 64_000);
}

#[test]
fn loops_start_a_flow_when_one_ends() {
    let built = built(
        3,
        "kind = \"closed-loop\"\nfrom = \"h1-h2\"\nto = \"h0\"\nsizes = \"1000B\"\nflows = 3\nparallel = 2\nthink = \"2us\"",
    );
    assert_eq!(told(&built)[1], ["s0", "c<0", "s0<1", "c<2", "s0<3", "s0", "c<5", "s0<6", "c<7", "s0<8"]);
    let result = go(&built, None);
    let mut of_first: Vec<i64> = column(&result, TableName::Flows, "start_ps");
    of_first.sort_unstable();
    assert_eq!(of_first.len(), 12);
    // Four flows at the start, never more than four at a time.
    assert_eq!(of_first[..4], [0; 4]);
    let ends = column(&result, TableName::Flows, "finish_ps");
    for at in &of_first {
        let starts = column(&result, TableName::Flows, "start_ps");
        let open = starts.iter().zip(&ends).filter(|(start, end)| *start <= at && at < *end).count();
        assert!(open <= 4);
    }
}

#[test]
fn loops_start_no_flow_from_a_time_on() {
    let built = built(
        3,
        "kind = \"closed-loop\"\nfrom = \"h1-h2\"\nto = \"h0\"\nsizes = \"1000B\"\nuntil = \"30us\"\nparallel = 2\nthink = \"2us\"",
    );
    let result = go(&built, None);
    // A flow alone takes 4.17888 us, and with another at its sender and at the switch at most three packets of
    // 84.32 ns more; so each loop starts one every 6.18 to 6.44 us: at 0, 6, 12, 18 and 24 us, none at 30 us.
    let starts = column(&result, TableName::Flows, "start_ps");
    assert_eq!(starts.len(), 20);
    assert!(starts.iter().all(|start| *start < 30_000_000));
    assert!(*starts.iter().max().unwrap() > 24_000_000);
    assert!(column(&result, TableName::Flows, "finish_ps").iter().all(|finish| *finish > 0));
    let info = result.info.outcome.as_ref().unwrap();
    assert_eq!((info.flows, info.flows_finished, info.flows_not_started), (20, 20, 0));
    assert_eq!((info.end.as_str(), info.operations), ("finished", info.operations_ended));
    // Each flow and the pauses between them; the last pause may end before no flow starts.
    assert!((36..=40).contains(&info.operations), "{}", info.operations);
    assert_eq!(column(&result, TableName::Jobs, "flows"), [20]);
    assert!(column(&result, TableName::Jobs, "jct_ps")[0] > 0);
    // Without pauses, and a time before the second flow of each loop.
    let loops = |more: &str| {
        let from = "kind = \"closed-loop\"\nfrom = \"h1-h2\"\nto = \"h0\"\nsizes = \"1000B\"\nparallel = 2\nuntil = \"1us\"";
        go(&self::built(3, &format!("{from}\n{more}")), None)
    };
    assert_eq!(column(&loops(""), TableName::Flows, "start_ps"), [0; 4]);
    // What is under way when the run ends is not left out.
    let cut = loops("[run]\nuntil = \"2us\"");
    let info = cut.info.outcome.as_ref().unwrap();
    assert_eq!((info.end.as_str(), info.flows, info.flows_finished), ("time limit", 4, 0));
    assert_eq!((info.operations, info.operations_ended), (4, 0));
}

/// 16 hosts with 65,536 loops each could start 20 million flows in a second. Their operations would take 3 GB: they are
/// counted before they are made.
#[cfg(target_os = "linux")]
#[test]
fn loops_with_too_many_flows_are_refused_before_they_are_made() {
    let megabytes = |key: &str| -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1000
    };
    let text = "topology = { kind = \"star\", hosts = 16, rate = \"100Gbps\", delay = \"1us\" }\n\
                cc = { algorithm = \"constant\" }\n[[traffic]]\nkind = \"closed-loop\"\nsizes = \"1KB\"\n\
                parallel = 65536\nuntil = \"1s\"\n";
    let scenario = Scenario::from_toml(text, "loops.toml", &[]).unwrap();
    let before = megabytes("VmRSS");
    let problem = scenario.build().unwrap_err().to_string();
    let expected = "until: makes 20000001 flows; at most 20000000 are possible";
    assert!(problem.contains(expected), "{problem}");
    let most = megabytes("VmHWM");
    assert!(most < before + 500, "{before} MB before, {most} MB at most");
}

#[test]
fn results_on_disk_have_the_tables() {
    let folder = std::env::temp_dir().join(format!("incast-work-{}", std::process::id()));
    let built = built(3, "kind = \"all-to-all\"\nsize = \"1000B\"");
    let result = go(&built, Some(&folder));
    let opened = ResultFolder::open(&folder).unwrap();
    for table in [TableName::Operations, TableName::Jobs] {
        assert!(folder.join(format!("{}.parquet", table.as_str())).exists());
        assert_eq!(opened.table(table).unwrap(), result.table(table).unwrap());
    }
    assert_eq!(opened.table(TableName::Operations).unwrap().rows(), 12);
    let kinds = texts(&result, TableName::Operations, "kind");
    assert_eq!(kinds.iter().filter(|kind| *kind == "send").count(), 6);
    // What does not depend on anything has no such tables.
    std::fs::remove_dir_all(&folder).unwrap();
    let plain = crate::built(3, "kind = \"permutation\"\nsize = \"1000B\"");
    assert_eq!(go(&plain, Some(&folder)).table(TableName::Jobs).unwrap().rows(), 0);
    assert!(!folder.join("jobs.parquet").exists() && !folder.join("operations.parquet").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_has_not_ended_is_in_the_tables() {
    let mut built = built(3, "kind = \"ring-allreduce\"\nsize = \"1000B\"\npasses = 3");
    built.simulation.until = Time::from_us(4);
    let result = go(&built, None);
    let ends = column(&result, TableName::Operations, "end_ps");
    let starts = column(&result, TableName::Operations, "start_ps");
    assert_eq!(ends.len(), built.simulation.operations.len());
    assert!(ends.contains(&-1) && starts.contains(&-1) && ends.iter().any(|end| *end > 0));
    assert_eq!(column(&result, TableName::Jobs, "end_ps"), [-1]);
    let why = &result.info.outcome.as_ref().unwrap().why;
    assert!(why.contains("of 18 operations had not ended"), "{why}");
    assert_eq!(result.info.summary.unwrap().jobs[0].unfinished, 1);
}

#[test]
fn workers_push_every_layer_to_every_server() {
    let text = "kind = \"parameter-server\"\nservers = \"h0-h1\"\nlayers = [\"1000B\", \"3001B\"]\ncompute = \"2us\"";
    let built_own = built(4, text);
    assert_eq!(told(&built_own)[2], ["c", "s0<0", "s1<0", "c<0", "s0<3", "s1<3"]);
    assert_eq!(told(&built_own)[0], ["r2", "r2", "r3", "r3"]);
    // Halves, rounded up.
    let from_2: Vec<u64> =
        built_own.simulation.flows.iter().filter(|f| f.source == 2).map(|f| f.size.get()).collect();
    assert_eq!(from_2, [500, 500, 1501, 1501]);
    // AlexNet at 1/20 over 4 servers: each layer divided by 80, rounded up. Without computation all starts at once.
    let built = built(128, "kind = \"parameter-server\"\nservers = \"h0-h3\"\nmodel = \"alexnet\"");
    let to_0: Vec<u64> = built
        .simulation
        .flows
        .iter()
        .filter(|f| (f.source, f.destination) == (4, 0))
        .map(|f| f.size.get())
        .collect();
    assert_eq!(to_0, [204_850, 839_066, 1_887_642, 22_132, 33_197, 44_256, 15_373, 1_748]);
    assert_eq!(built.simulation.flows.len(), 124 * 4 * 8);
    assert!(built.simulation.operations.iter().all(|operation| operation.after.is_empty()));
}

#[test]
fn rings_of_gpus_join_servers() {
    let text = |placement: &str| {
        format!(
            "topology = {{ kind = \"fat-tree\", k = 8, rate = \"800Gbps\", delay = \"500ns\" }}\n\
             cc = {{ algorithm = \"constant\" }}\ntransport.payload = \"4000B\"\n\
             [[traffic]]\nkind = \"hsdp\"\nplacement = \"{placement}\""
        )
    };
    let built = |placement: &str| Scenario::from_toml(&text(placement), "w", &[]).unwrap().build().unwrap();
    let in_order = built("in-order").simulation;
    let pairs: Vec<_> = in_order.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    assert_eq!(pairs, (0..128).map(|gpu| (gpu, (gpu + 8) % 128)).collect::<Vec<_>>());
    // Every flow has 3,344 packets of 4,054 B, which take 40,540 ps each; the way is six links.
    let bound = 3344 * 40_540 + 5 * 40_540 + 6_000_000 + 6 * 640;
    assert_eq!(incast_sim::job_bounds(&in_order).unwrap(), [Some(Time::from_ps(bound))]);
    // Somewhere else: one ring of 16 servers for each GPU, and GPUs keep their place in the server.
    let random = built("random").simulation;
    let next = |host: u32| random.flows.iter().find(|flow| flow.source == host).unwrap().destination;
    for gpu in 0..8 {
        let (mut at, mut seen) = (gpu, std::collections::BTreeSet::new());
        while seen.insert(at) {
            assert_eq!(at % 8, gpu);
            at = next(at);
        }
        assert_eq!((at, seen.len()), (gpu, 16));
    }
    assert!((0..128).any(|host| next(host) != (host + 8) % 128));
}

#[test]
fn files_come_from_one_other_rack() {
    let text = "topology = { kind = \"leaf-spine\", leaves = 3, spines = 1, hosts = 6, rate = \"100Gbps\", delay = \"1us\" }\n\
                cc = { algorithm = \"constant\" }\n[[traffic]]\nkind = \"file-requests\"\nname = \"files\"\n\
                to = \"h0-h5\"\nsize = \"1004B\"\nresponders = 4\ninterval = \"10us\"\nrequests = 400";
    let built = Scenario::from_toml(text, "w", &[]).unwrap().build().unwrap();
    let sim = &built.simulation;
    assert_eq!((built.jobs.len(), sim.flows.len()), (2400, 9600));
    assert_eq!(built.jobs[7], "files/request7");
    for request in sim.operations.chunks(8) {
        let flows: Vec<_> = request
            .iter()
            .filter_map(|operation| match operation.what {
                What::Send { flow } => Some(sim.flows[flow as usize]),
                _ => None,
            })
            .collect();
        assert!(request.iter().all(|operation| operation.job == request[0].job));
        let mut senders: Vec<u32> = flows.iter().map(|flow| flow.source).collect();
        senders.sort_unstable();
        senders.dedup();
        assert_eq!(senders.len(), 4);
        assert!(
            senders.iter().all(|host| host / 6 == senders[0] / 6 && host / 6 != flows[0].destination / 6)
        );
        assert!(flows.iter().all(|flow| flow.start == flows[0].start && flow.size.get() == 251));
    }
    // The last of 400 requests of a host is at 4 ms on average, with a standard deviation of 0.2 ms; five of them.
    let last =
        sim.flows.iter().filter(|flow| flow.destination == 0).map(|flow| flow.start.ps()).max().unwrap();
    assert!(last.abs_diff(4_000_000_000) < 1_000_000_000, "{last}");
    // A job begins with its first send, not when its receiver began to wait.
    let result = go(&built, None);
    let starts = column(&result, TableName::Jobs, "start_ps");
    assert!(starts.is_sorted() && starts[0] > 0);
}

/// Twelve hosts ask 100 times in a millisecond each.
#[test]
fn files_count_in_a_window_after_a_warm_up() {
    let built = |more: &str| {
        let text = format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 1, hosts = 6, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"constant\" }}\n[[traffic]]\nkind = \"file-requests\"\nsize = \"1004B\"\nresponders = 4\n\
             interval = \"10us\"\nstart = \"1us\"\n{more}"
        );
        Scenario::from_toml(&text, "w", &[]).unwrap().build().unwrap()
    };
    let ms = |from: u64, to: u64| Time::from_us(1 + 1000 * from)..Time::from_us(1 + 1000 * to);
    let whole = built("duration = \"2ms\"\ntail = false");
    assert!(whole.simulation.flows.iter().all(|flow| flow.counted && ms(0, 2).contains(&flow.start)));
    assert_eq!(whole.simulation.flows.len(), 4 * whole.jobs.len());
    // 2400 are expected in two milliseconds, with a standard deviation of 49; five of them.
    assert!(whole.jobs.len().abs_diff(2400) < 245, "{}", whole.jobs.len());

    let window = built("warmup = \"1ms\"\nduration = \"1ms\"");
    let flows = &window.simulation.flows;
    assert!(flows.iter().all(|flow| flow.counted == ms(1, 2).contains(&flow.start)));
    // The same requests as without a window, and others after it.
    let until = |flow: &&Flow| flow.start < ms(1, 2).end;
    let same = |flow: &Flow| (flow.start, flow.source, flow.destination, flow.size);
    let before: Vec<_> = flows.iter().filter(until).map(same).collect();
    assert_eq!(before, whole.simulation.flows.iter().map(same).collect::<Vec<_>>());
    let counted = flows.iter().filter(|flow| flow.counted).count();
    assert_eq!(counted, 4 * window.jobs.len());
    assert_eq!(window.simulation.operations.len(), 2 * counted);
    let after = flows.len() - before.len();
    // A tenth of the time before, and 20 times what a part of 251 B needs alone: 4.02 us. Expected are 12 requests in 10 us.
    assert!(after.abs_diff(4 * 336) < 400, "{after}");
    let result = go(&window, None);
    let outcome = result.info.outcome.as_ref().unwrap();
    assert_eq!((outcome.flows, outcome.flows_finished), (counted as u64, counted as u64));
    assert!(outcome.flows_uncounted > before.len() as u64 - counted as u64);
    assert_eq!(column(&result, TableName::Jobs, "start_ps").len(), window.jobs.len());
}

#[test]
fn senders_go_on_and_off() {
    let text = "kind = \"on-off\"\nfrom = \"h0-h1\"\nto = \"h2\"\non = \"3us\"\noff = \"7us\"";
    let fixed = built(3, &format!("{text}\nduration = \"25us\""));
    let times: Vec<_> = fixed.simulation.flows.iter().map(|f| (f.start.ns(), f.stop.ns())).collect();
    assert_eq!(
        times,
        [(0, 3_000), (0, 3_000), (10_000, 13_000), (10_000, 13_000), (20_000, 23_000), (20_000, 23_000)]
    );
    assert!(fixed.simulation.operations.is_empty());
    let random = built(3, &format!("{text}\nrandom = true\ncycles = 2000"));
    let on: u64 = random.simulation.flows.iter().map(|f| (f.stop - f.start).ps()).sum();
    // 4000 draws with a mean of 3 us: the standard error is 0.047 us; five of them.
    assert!((on / 4000).abs_diff(3_000_000) < 237_000, "{}", on / 4000);
}

/// Flows that start together are numbered as the scenario lists them: by block, then as the block lists them. The order
/// of service among them is drawn from their keys, and does not follow the numbers.
#[test]
fn flows_are_numbered_as_the_scenario_lists_them() {
    let text = "topology = { kind = \"star\", hosts = 9, rate = \"100Gbps\", delay = \"1us\" }\n\
                cc.algorithm = \"constant\"\n\
                [[traffic]]\nname = \"late\"\nkind = \"flows\"\nfrom = \"h6\"\nto = \"h0\"\nsize = \"9KB\"\nstart = \"3us\"\n\
                [[traffic]]\nname = \"b\"\nkind = \"flows\"\nfrom = [\"h1-h5\"]\nto = \"h0\"\nsize = \"30KB\"\n\
                [[traffic]]\nname = \"a\"\nkind = \"flows\"\nfrom = [\"h8\", \"h7\"]\nto = \"h0\"\nsize = \"1KB\"\n";
    let built = Scenario::from_toml(text, "s.toml", &[]).unwrap().build().unwrap();
    let flows = &built.simulation.flows;
    let sources: Vec<u32> = flows.iter().map(|flow| flow.source).collect();
    assert_eq!(sources, [1, 2, 3, 4, 5, 8, 7, 6]);
    let served: Vec<(Time, u64)> =
        built.simulation.served().map(|(_, flow)| (flow.start, flow.key)).collect();
    assert!(served.is_sorted() && !built.simulation.order.is_empty());
    // The table has the order of the numbers, although the short flows of the second block finish first.
    let ran = common::go("numbers", text, &built, &RunOptions::default());
    let table = ran.table(TableName::Flows).unwrap();
    let [batch] = table.batches.as_slice() else { panic!("{} batches", table.batches.len()) };
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("flow").as_primitive::<UInt32Type>().values().as_ref(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(column("source_id").as_primitive::<UInt32Type>().values().as_ref(), sources.as_slice());
    let finish = column("finish_ps").as_primitive::<Int64Type>().values();
    assert!(finish[5] < finish[0]);
}

/// The senders of a request that start together are numbered as `from` lists them, whatever their order when drawn; with
/// `stagger`, by their starts.
#[test]
fn senders_of_a_request_are_numbered_as_listed() {
    let text = |from: &str, more: &str| {
        format!(
            "topology = {{ kind = \"star\", hosts = 40, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc.algorithm = \"constant\"\n\
             [[traffic]]\nkind = \"incast\"\nto = \"h0\"\nsize = \"9KB\"\n{from}\n{more}"
        )
    };
    let flows = |text: &str| {
        let built = Scenario::from_toml(text, "s.toml", &[]).unwrap().build().unwrap();
        built.simulation.flows
    };
    let sources = |text: &str| -> Vec<u32> { flows(text).iter().map(|flow| flow.source).collect() };
    assert_eq!(sources(&text("", "")), (1..40).collect::<Vec<u32>>());
    assert_eq!(sources(&text("from = [\"h9\", \"h3-h5\"]", "")), [9, 3, 4, 5]);
    let some = sources(&text("", "fan_in = 12"));
    assert!(some.len() == 12 && some.is_sorted(), "{some:?}");
    // The delays stay with the order in which senders are drawn: sender after sender 1 us, in no order of names.
    let late = flows(&text("", "stagger = \"1us\""));
    let starts: Vec<u64> = late.iter().map(|flow| flow.start.ps()).collect();
    assert_eq!(starts, (0..39).map(|i| i * 1_000_000).collect::<Vec<u64>>());
    assert!(!late.is_sorted_by_key(|flow| flow.source));
}
