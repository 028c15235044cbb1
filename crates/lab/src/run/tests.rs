//! With the real simulator where its results matter, and with an engine that only plays one where
//! the disk does.

mod damage;
mod marks;
mod stopped;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use incast_cc::AnyParams;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::Network;
use incast_sim::describe::probe::Probes;
use incast_sim::describe::switch::Switch;
use incast_sim::record::{End, PortSample};
use incast_units::{Bytes, Rate, Time};
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};

use super::recorder::{FLUSH_EVERY, Output};
use super::*;
use crate::results::tables::Named;
use crate::results::tables::port_series::PortSeries;
use crate::results::{CAPTURE_FILE, GROUP_ROWS, ResultFolder, State};

/// A folder of a test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("incast-lab-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Three hosts at one switch; hosts 0 and 1 send to host 2, both 100 KB and at once, and a flow that
/// is stopped.
fn simulation() -> Simulation {
    let mut network = Network::with_hosts(3);
    let switch = network.add_switch("s0");
    for host in 0..3 {
        network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
    }
    let flow = |source: u32, size, stop| Flow {
        key: u64::from(source),
        stop,
        group: source as u16,
        ..Flow::of_size(source, 2, size, Time::from_us(1))
    };
    Simulation {
        network,
        switch: Switch::default(),
        transport: Default::default(),
        balancing: Default::default(),
        algorithms: vec![AnyParams::named("constant", None).unwrap().into()],
        flows: vec![
            flow(0, Bytes::new(100_000), Time::NEVER),
            flow(1, Bytes::new(100_000), Time::NEVER),
            flow(1, Bytes::UNLIMITED, Time::from_us(30)),
        ],
        order: Vec::new(),
        operations: Vec::new(),
        probes: Probes { ports: vec![(3, 2)], flows: vec![0], ..Probes::default() },
        impairments: Default::default(),
        seed: 7,
        until: Time::from_ms(1),
        stall_after: Time::from_ms(1),
        reuse: Default::default(),
        draws: Default::default(),
        threads: 1,
    }
}

static NO_VOLUMES: BTreeMap<u16, Volume> = BTreeMap::new();

const SCENARIO: &str = "name = \"two\"\n";

/// Names of groups and of algorithms.
fn labels() -> [Vec<String>; 2] {
    [vec!["first".into(), "second".into()], vec!["constant:default".into()]]
}

fn job<'a>(simulation: &'a Simulation, [groups, algorithms]: &'a [Vec<String>; 2]) -> Job<'a> {
    Job {
        simulation,
        name: "two",
        scenario: SCENARIO,
        groups,
        algorithms,
        jobs: &[],
        volumes: &NO_VOLUMES,
        warnings: &[],
        windows: &[],
    }
}

fn go(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn run_here(engine: Engine<'_>, out: Option<&Path>, replace: bool) -> Result<RunResult, RunError> {
    let simulation = simulation();
    let names = labels();
    let job = job(&simulation, &names);
    let options = RunOptions { out: out.map(Path::to_owned), replace, ..RunOptions::default() };
    run_on(engine, &job, &options, &mut go)
}

/// Port samples by a counter, with queues that do not compress.
fn samples(range: core::ops::Range<u64>) -> Vec<PortSample> {
    let sample = |i| PortSample {
        time: Time::from_ns(i),
        node: 3,
        port: 2,
        queue: Bytes::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44),
        transmitted: Bytes::new(i * 10),
        dropped: Bytes::ZERO,
        marked: i / 2,
        paused: i % 3 == 0,
        samples: 1,
    };
    range.map(sample).collect()
}

fn finished(hops: u64) -> Outcome {
    Outcome {
        end: End::Finished,
        now: Time::from_us(9),
        flows_finished: 0,
        hops,
        sent: 0,
        delivered: 0,
        dropped: 0,
        tied: 0,
        lossless: 0,
        lost: 0,
        corrupted: 0,
        trimmed: 0,
        held_up: 0,
        in_flight: 0,
        ports: Vec::new(),
        unfinished: Vec::new(),
        limits: Vec::new(),
        deadlock: Vec::new(),
        operations_ended: 0,
        unfinished_operations: Vec::new(),
        bounds: Vec::new(),
        reuse: None,
        fingerprint: 0xfeed,
        violations: Vec::new(),
    }
}

/// The rows of a table as one batch.
fn whole(table: &Table) -> RecordBatch {
    arrow_select::concat::concat_batches(&table.schema, &table.batches).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let name = |e: Result<fs::DirEntry, _>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_real_run_reads_back_as_it_was() {
    let scratch = Scratch::new("round-trip");
    let result = run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    assert_eq!(result.outcome.end, End::Finished);
    assert_eq!(result.outcome.violations, Vec::<String>::new());
    let names = names(&scratch.0);
    let expected = [
        "flow_series.parquet",
        "flows.parquet",
        "limits.parquet",
        "port_series.parquet",
        "ports.parquet",
        "result.json",
        "scenario.toml",
    ];
    assert_eq!(names, expected);

    let folder = ResultFolder::open(&scratch.0).unwrap();
    assert_eq!(folder.state(), State::Complete);
    assert_eq!(folder.info(), &result.info);
    assert_eq!(folder.scenario().unwrap(), SCENARIO);
    // What is on disk does not stay in memory as well.
    assert!(matches!(&result.tables, Tables::Disk(at) if at.path() == scratch.0));
    let memory = run_here(&incast_sim::run, None, false).unwrap();
    assert!(matches!(memory.tables, Tables::Memory(_)));
    assert_eq!(memory.info.summary, result.info.summary);
    for name in [TableName::Flows, TableName::Ports, TableName::PortSeries, TableName::FlowSeries] {
        let table = memory.table(name).unwrap();
        let read = folder.table(name).unwrap();
        assert!(read.rows() > 0, "{name:?} has no rows");
        assert_eq!(read.schema, name.schema(), "{name:?} lost its units");
        assert_eq!(whole(&read), whole(&table), "{name:?}");
        assert_eq!(whole(&result.table(name).unwrap()), whole(&table), "{name:?}");
        let origin = folder.origin(name).unwrap();
        let value = |key: &str| origin.iter().find(|(k, _)| k == key).unwrap().1.as_str();
        // The scenario itself has a file of its own: some are larger than their tables.
        let digest = folder.info().files["scenario.toml"].as_str();
        assert_eq!((value("scenario_digest"), value("seed"), value("name")), (digest, "7", "two"));
        assert!(origin.iter().all(|(_, value)| value != SCENARIO));
        assert_eq!(value("fingerprint"), format!("{:016x}", result.outcome.fingerprint));
        assert_eq!(value("version"), env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn the_tables_say_what_the_run_did() {
    let result = run_here(&incast_sim::run, None, false).unwrap();
    assert_eq!(result.folder, None);
    let flows = whole(&result.table(TableName::Flows).unwrap());
    let int = |name: &str| flows.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
    let text = |name: &str| flows.column_by_name(name).unwrap().as_string::<i32>().clone();
    assert_eq!(flows.num_rows(), 3);
    for row in 0..3 {
        assert_eq!(text("destination").value(row), "h2");
        assert_eq!(text("algorithm").value(row), "constant:default");
        assert_eq!(int("fct_ps").value(row), int("finish_ps").value(row) - int("start_ps").value(row));
        assert!(int("delivered_ps").value(row) < int("finish_ps").value(row));
        // Both 1 us links twice, and packets and acknowledgements twice: 1054 B and 64 B at 80 ps/B.
        assert_eq!(int("base_rtt_ps").value(row), 4_000_000 + 2 * 80 * (1054 + 64));
    }
    // The stopped flow has no size and no slowdown; the two others share a link, so their slowdown is
    // nearly 2 (and more, for the third flow).
    let slowdown = flows.column_by_name("slowdown").unwrap().as_primitive::<Float64Type>().clone();
    let stopped = (0..3).find(|&row| arrow_array::Array::is_null(&int("size_bytes"), row)).unwrap();
    assert_eq!(text("group").value(stopped), "second");
    for row in 0..3 {
        assert_eq!(arrow_array::Array::is_null(&slowdown, row), row == stopped);
        assert!(row == stopped || (1.5..4.0).contains(&slowdown.value(row)), "{}", slowdown.value(row));
    }
    let all = &result.info.summary.as_ref().unwrap().slowdowns;
    let over_all = all.iter().find(|s| s.class == "all" && s.group.is_none()).unwrap();
    assert_eq!((over_all.flows, over_all.unfinished), (2, 0));
    // The sampled port is the bottleneck: port 2 of the switch, towards h2.
    let port = &result.info.summary.as_ref().unwrap().ports[0];
    assert_eq!((port.node.as_str(), port.port), ("s0", 2));
    assert!(port.queue.max_bytes > 50_000);
    let ports = whole(&result.table(TableName::Ports).unwrap());
    let peers = ports.column_by_name("peer").unwrap().as_string::<i32>();
    let nodes = ports.column_by_name("node").unwrap().as_string::<i32>();
    assert!((0..ports.num_rows()).any(|i| (nodes.value(i), peers.value(i)) == ("s0", "h2")));
}

#[test]
fn flows_that_the_run_ends_before_are_in_the_table() {
    let mut simulation = simulation();
    let late = |start| Flow { start, ..simulation.flows[0] };
    // One starts exactly at the end of the run, one after it.
    let flows = [late(Time::from_us(50)), late(Time::from_us(60))];
    simulation.flows.extend(flows);
    simulation.until = Time::from_us(50);
    let names = labels();
    let result =
        run_on(&incast_sim::run, &job(&simulation, &names), &RunOptions::default(), &mut go).unwrap();
    let flows = whole(&result.table(TableName::Flows).unwrap());
    let flag = |name: &str| flows.column_by_name(name).unwrap().as_boolean().clone();
    assert_eq!(flows.num_rows(), 5);
    let rows: Vec<_> = (0..5).map(|i| (flag("started").value(i), flag("finished").value(i))).collect();
    assert_eq!(rows, [(true, true), (true, true), (true, true), (false, false), (false, false)]);
    let outcome = result.info.outcome.as_ref().unwrap();
    assert_eq!((outcome.flows, outcome.flows_finished, outcome.flows_not_started), (5, 3, 2));
    assert_eq!(outcome.why, "time limit 50us reached with 2 flows unfinished, 2 of them not started");
    let all = &result.info.summary.as_ref().unwrap().slowdowns;
    let over_all = all.iter().find(|s| s.class == "all" && s.group.is_none()).unwrap();
    assert_eq!((over_all.flows, over_all.unfinished), (2, 2));
}

/// The numbers of a result's summary, computed batch by batch, against those from all samples at once.
#[test]
fn the_summary_of_ports_is_that_of_all_their_samples() {
    use crate::results::extract::{port_points, port_rates};
    use crate::summary::{Interval, PortPoint, busy_share, lost_utilisation, queue, steady_queue};
    let mut simulation = simulation();
    // More rows than a batch holds.
    (simulation.probes.ports, simulation.probes.port_interval) = (vec![(3, 2), (1, 0)], Time::from_ns(5));
    simulation.until = Time::from_ms(10);
    for flow in &mut simulation.flows[..2] {
        flow.size = Bytes::new(15_000_000);
    }
    let names = labels();
    let result =
        run_on(&incast_sim::run, &job(&simulation, &names), &RunOptions::default(), &mut go).unwrap();
    let series = result.table(TableName::PortSeries).unwrap();
    assert!(series.batches.len() > 1);
    let rates = port_rates(&result.table(TableName::Ports).unwrap()).unwrap();
    let points = port_points(&series).unwrap();
    let ports = &result.info.summary.as_ref().unwrap().ports;
    assert_eq!(ports.len(), 2);
    for port in ports {
        let key = (port.node.clone(), port.port);
        // One for each sample.
        let rows = points[&key].iter().flat_map(|row| {
            let step = simulation.probes.port_interval.ps();
            (0..row.samples).rev().map(move |back| PortPoint {
                time: row.time - Time::from_ps(back * step),
                samples: 1,
                ..*row
            })
        });
        let points: Vec<_> = rows.collect();
        assert!(points.len() > 2 * GROUP_ROWS);
        let points = points.as_slice();
        let all = Interval::new(points[0].time, points[points.len() - 1].time);
        assert_eq!(Some(port.queue), queue(points, all));
        assert_eq!(Some(port.steady_queue), steady_queue(points, all));
        assert_eq!(Some(port.busy_share), busy_share(points, all));
        assert_eq!(port.utilisation, lost_utilisation(points, rates[&key], all));
    }
}

#[test]
fn internal_quantities_have_their_units_in_their_names() {
    let mut simulation = simulation();
    simulation.algorithms = vec![AnyParams::named("hpcc", None).unwrap().into()];
    simulation.probes.internals = true;
    let names = labels();
    let result =
        run_on(&incast_sim::run, &job(&simulation, &names), &RunOptions::default(), &mut go).unwrap();
    let rows = whole(&result.table(TableName::Internals).unwrap());
    let series = whole(&result.table(TableName::FlowSeries).unwrap());
    let name = rows.column_by_name("name").unwrap().as_string::<i32>();
    let value = rows.column_by_name("value").unwrap().as_primitive::<Float64Type>();
    // U, W_c and the stage, of each sample of the flow: each counts those that its rows stand for.
    let samples = |rows: &RecordBatch, row| {
        rows.column_by_name("samples").unwrap().as_primitive::<Int64Type>().value(row)
    };
    let of_flow: i64 = (0..series.num_rows()).map(|row| samples(&series, row)).sum();
    for quantity in ["u", "reference_window_bytes", "stage"] {
        let mine = (0..rows.num_rows()).filter(|row| name.value(*row) == quantity);
        assert_eq!(mine.map(|row| samples(&rows, row)).sum::<i64>(), of_flow, "{quantity}");
    }
    assert!(rows.num_rows() < 3 * series.num_rows());
    // Before its first acknowledgement a flow has U = 1 and a window of one BDP: 100 Gbps for the base
    // RTT, two links of 1 us each way with 42 B of telemetry in every packet that crosses them.
    let path = result.table(TableName::Flows).unwrap();
    let rtt = path.batches[0].column_by_name("base_rtt_ps").unwrap().as_primitive::<Int64Type>().value(0);
    assert_eq!(value.value(1), (rtt * 100 / 8000) as f64);
    assert_eq!(value.value(0), 1.0);
    assert_eq!(value.value(2), 0.0);
}

#[test]
fn the_slowdown_shows_what_telemetry_costs() {
    let alone = |algorithm: &str| {
        let mut simulation = simulation();
        simulation.algorithms = vec![AnyParams::named(algorithm, None).unwrap().into()];
        simulation.flows = vec![Flow { size: Bytes::new(1_000_000), ..simulation.flows[0] }];
        let names = labels();
        let result =
            run_on(&incast_sim::run, &job(&simulation, &names), &RunOptions::default(), &mut go).unwrap();
        let flows = whole(&result.table(TableName::Flows).unwrap());
        let number = |name: &str| flows.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(0);
        let ratio = |name: &str| flows.column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0);
        let names = ["fct_ps", "ideal_fct_ps", "own_ideal_fct_ps"];
        (names.map(number), ratio("slowdown"), ratio("own_slowdown"))
    };
    // 1000 packets of 1054 B and two links of 1 us each way: the last packet leaves after 1000 · 84.32 ns,
    // and takes 2 us and one more transmission; its acknowledgement 2 us and two of 64 B (5.12 ns).
    let plain = 1000 * 84_320 + 2_000_000 + 84_320 + 2_000_000 + 2 * 5_120;
    let ([fct, ideal, own], slowdown, own_slowdown) = alone("constant");
    assert_eq!((ideal, own, slowdown.to_bits()), (plain, plain, own_slowdown.to_bits()));
    assert!(fct >= ideal);
    // Telemetry adds bytes to each packet, by hand: 80 ps for each, in 1001 transmissions of data, and
    // what the acknowledgement grows by.
    let overhead = AnyParams::named("hpcc", None).unwrap().overhead();
    let ack = (58 + i64::from(overhead.ack)).max(64);
    let with = 1001 * 80 * (1054 + i64::from(overhead.data)) + 4_000_000 + 2 * 80 * ack;
    let ([fct, ideal, own], slowdown, own_slowdown) = alone("hpcc");
    assert_eq!((ideal, own), (plain, with));
    assert_eq!((slowdown, own_slowdown), (fct as f64 / plain as f64, fct as f64 / with as f64));
    assert!(slowdown > own_slowdown && own_slowdown >= 1.0);
}

/// A result of the first format, in which every sample has a row, and no digest says what was written.
#[test]
fn columns_that_an_older_result_has_not() {
    let scratch = Scratch::new("older");
    run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    let folder = ResultFolder::open(&scratch.0).unwrap();
    let older =
        ResultInfo { format_version: 1, files: Default::default(), digest: None, ..folder.info().clone() };
    fs::write(scratch.0.join("result.json"), serde_json::to_vec(&older).unwrap()).unwrap();
    let simulation = simulation();
    let rows = PortSeries::batch(&samples(0..5), &Labels::new(&simulation, &[], &[], &[]));
    let batch = rows.project(&(0..rows.num_columns() - 1).collect::<Vec<_>>()).unwrap();
    assert!(batch.column_by_name("samples").is_none());
    let table = Table { schema: batch.schema(), batches: vec![batch] };
    fs::write(scratch.0.join("port_series.parquet"), table.to_parquet().unwrap()).unwrap();
    let ports = folder.table(TableName::Ports).unwrap();
    let before = ports.schema.column_with_name("trimmed_packets").unwrap().0;
    // Columns that came later follow it.
    let batch = whole(&ports).project(&(0..before).collect::<Vec<_>>()).unwrap();
    assert_eq!(batch.num_columns() + 7, ports.schema.fields().len());
    let table = Table { schema: batch.schema(), batches: vec![batch] };
    fs::write(scratch.0.join("ports.parquet"), table.to_parquet().unwrap()).unwrap();
    let folder = ResultFolder::open(&scratch.0).unwrap();
    assert_eq!(whole(&folder.table(TableName::PortSeries).unwrap()), rows);
    // Nothing was trimmed or corrupted, no watchdog acted and no host dropped, then as now.
    let read = whole(&folder.table(TableName::Ports).unwrap());
    let same = (0..before + 5).collect::<Vec<_>>();
    assert_eq!(read.project(&same).unwrap(), whole(&ports).project(&same).unwrap());
    // The far port and the delay of the link are not known.
    assert!((before + 5..before + 7).all(|column| read.column(column).null_count() == read.num_rows()));
    // Other tables have no such column.
    assert!(folder.table(TableName::Flows).unwrap().schema.column_with_name("samples").is_none());
}

/// Neither a reader nor a run touches a result of the next format, as its content is not known here.
#[test]
fn a_result_of_a_later_format_is_refused() {
    let scratch = Scratch::new("later");
    run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    let path = scratch.0.join("result.json");
    let mut later: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(later["format_version"], 6);
    later["format_version"] = 7.into();
    later["incast_version"] = "9.1".into();
    fs::write(&path, later.to_string()).unwrap();
    let said = [
        ResultFolder::open(&scratch.0).unwrap_err().to_string(),
        run_here(&incast_sim::run, Some(&scratch.0), true).unwrap_err().to_string(),
    ];
    let wanted = format!("{} was written by Incast 9.1, in a later format of results", scratch.0.display());
    said.iter().for_each(|text| assert!(text.starts_with(&wanted), "{text}"));
    assert_eq!(fs::read(&path).unwrap(), later.to_string().as_bytes());
}

/// Version 4 had no warnings: a result without any still has the bytes, and so the digest, that it had then.
#[test]
fn warnings_are_in_the_result_and_results_without_any_are_as_before() {
    let scratch = Scratch::new("warned");
    let simulation = simulation();
    let names = labels();
    let about =
        |key: &str| Problem::new("is odd").about(key).with_hint("do less").in_file("a.toml").on_line(3);
    let warnings = [about("cc"), Problem::new("is late")];
    let job = Job { warnings: &warnings, ..job(&simulation, &names) };
    let options = RunOptions { out: Some(scratch.0.clone()), ..RunOptions::default() };
    let result = run_on(&incast_sim::run, &job, &options, &mut go).unwrap();
    let wanted = [
        Warning { key: Some("cc".into()), problem: "is odd".into(), hint: Some("do less".into()) },
        Warning { key: None, problem: "is late".into(), hint: None },
    ];
    assert_eq!(result.info.warnings, wanted);
    assert_eq!(ResultFolder::open(&scratch.0).unwrap().info().warnings, wanted);

    let plain = run_here(&incast_sim::run, None, false).unwrap();
    let text = serde_json::to_value(&plain.info).unwrap();
    assert!(text.get("warnings").is_none());
    let mut older = text;
    older["outcome"].as_object_mut().unwrap().remove("packets_resent");
    older["format_version"] = 4.into();
    let read: ResultInfo = serde_json::from_value(older.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), older);
}

#[test]
fn a_run_with_clocks_has_the_times_of_its_parts_and_the_same_result() {
    let simulation = simulation();
    let names = labels();
    let job = job(&simulation, &names);
    let [plain, timed] = [false, true].map(|profile| {
        let scratch = Scratch::new(if profile { "timed" } else { "untimed" });
        let options = RunOptions { out: Some(scratch.0.clone()), profile, ..RunOptions::default() };
        run(&job, &options, &mut go).unwrap()
    });
    assert_eq!(plain.times, None);
    assert_eq!(timed.outcome, plain.outcome);
    assert_eq!(timed.info.summary, plain.info.summary);
    // The bytes of every table.
    assert_eq!(timed.info.files, plain.info.files);
    let RunTimes { create, simulation, write } = timed.times.unwrap();
    let parts = [create, write, simulation.prepare, simulation.engine, simulation.finish];
    assert!(parts.iter().all(|part| *part > Duration::ZERO), "{parts:?}");
    assert!(simulation.hosts.number > 0 && simulation.switches.number > 0, "{simulation:?}");
}

#[test]
fn many_parts_merge_into_few_row_groups() {
    // 70 parts of 1000 rows, then three of a full row group each.
    let scratch = Scratch::new("merge");
    let small = 70_000;
    let full = 3 * GROUP_ROWS as u64;
    let info = ResultInfo::begin("parts", &simulation(), &[]);
    let (mut writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    let simulation = simulation();
    let labels = Labels::new(&simulation, &[], &[], &[]);
    for i in 0..70 {
        writer
            .part(TableName::PortSeries, &PortSeries::batch(&samples(i * 1000..(i + 1) * 1000), &labels))
            .unwrap();
    }
    for i in 0..3 {
        let from = small + i * GROUP_ROWS as u64;
        let rows = samples(from..from + GROUP_ROWS as u64);
        writer.part(TableName::PortSeries, &PortSeries::batch(&rows, &labels)).unwrap();
    }
    let before = ResultFolder::open(&scratch.0).unwrap();
    assert_eq!(before.state(), State::Running); // the writer is alive
    let from_parts = whole(&before.table(TableName::PortSeries).unwrap());
    writer.finish(&ResultInfo { state: Written::Complete, ..info }, 1).unwrap();
    let folder = ResultFolder::open(&scratch.0).unwrap();
    let merged = folder.table(TableName::PortSeries).unwrap();
    assert_eq!(whole(&merged), from_parts);
    assert_eq!(from_parts, PortSeries::batch(&samples(0..small + full), &labels));
    let file = File::open(scratch.0.join("port_series.parquet")).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let groups: Vec<_> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(groups, [65_000, 5_000, 65_536, 65_536, 65_536]);
    assert!(!scratch.0.join("port_series").exists());
}

/// Writes a table in three pieces, which parts hold or memory, and gives back the bytes of all files.
fn pieces(scratch: &Scratch, is_kept: bool) -> Vec<(String, Vec<u8>)> {
    let simulation = simulation();
    let labels = Labels::new(&simulation, &[], &[], &[]);
    let info = ResultInfo::begin("pieces", &simulation, &[]);
    let (mut writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    let batches = (0..3).map(|i| PortSeries::batch(&samples(i * 1000..(i + 1) * 1000), &labels));
    let empty = RecordBatch::new_empty(TableName::Pauses.schema());
    for (name, batch) in
        batches.map(|batch| (TableName::PortSeries, batch)).chain([(TableName::Pauses, empty)])
    {
        if is_kept { writer.keep(name, &batch) } else { writer.part(name, &batch) }.unwrap();
    }
    assert_eq!(scratch.0.join("port_series").exists(), !is_kept);
    writer.finish(&ResultInfo { state: Written::Complete, started_unix_s: 0, ..info }, 1).unwrap();
    names(&scratch.0)
        .into_iter()
        .map(|name| (name.clone(), fs::read(scratch.0.join(name)).unwrap()))
        .collect()
}

#[test]
fn rows_that_never_were_parts_make_the_same_files() {
    let [kept, parts] = [("kept", true), ("parts", false)].map(|(name, is_kept)| {
        let scratch = Scratch::new(&format!("pieces-{name}"));
        pieces(&scratch, is_kept)
    });
    assert!(kept.len() > 4);
    assert!(kept == parts, "{:?} or their content", kept.iter().map(|(name, _)| name).collect::<Vec<_>>());
}

#[test]
fn a_part_is_not_on_disk_without_the_rows_before_it() {
    let scratch = Scratch::new("kept-first");
    let simulation = simulation();
    let labels = Labels::new(&simulation, &[], &[], &[]);
    let info = ResultInfo::begin("pieces", &simulation, &[]);
    let (mut writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    let batch = |rows| PortSeries::batch(&samples(rows), &labels);
    let rows = || ResultFolder::open(&scratch.0).unwrap().table(TableName::PortSeries).unwrap().rows();
    writer.keep(TableName::PortSeries, &batch(0..20)).unwrap();
    assert_eq!(rows(), 0);
    writer.part(TableName::PortSeries, &batch(20..40)).unwrap();
    assert_eq!(rows(), 40);
    // Half a row group is written at once.
    let many = 40 + GROUP_ROWS as u64 / 2;
    writer.keep(TableName::PortSeries, &batch(40..many)).unwrap();
    drop(writer);
    assert_eq!(rows() as u64, many);
    let table = ResultFolder::open(&scratch.0).unwrap().table(TableName::PortSeries).unwrap();
    assert_eq!(whole(&table), batch(0..many));
}

#[test]
fn a_young_run_writes_no_parts() {
    let scratch = Scratch::new("young");
    let simulation = simulation();
    let labels = Labels::new(&simulation, &[], &[], &[]);
    let info = ResultInfo::begin("pieces", &simulation, &[]);
    let (writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    let mut output = Output::new(Some(writer));
    let add = |output: &mut Output, rows| {
        output.part(&PortSeries::batch(&samples(rows), &labels), TableName::PortSeries);
    };
    add(&mut output, 0..20);
    assert!(!scratch.0.join("port_series").exists());
    output.keeps = false;
    add(&mut output, 20..40);
    assert_eq!(names(&scratch.0.join("port_series")).len(), 2);
    assert_eq!(output.table(TableName::PortSeries).unwrap().rows(), 40);
}

#[test]
fn a_complete_result_is_replaced_only_when_asked() {
    let scratch = Scratch::new("replace");
    run_here(&|_, _| Ok(finished(1)), Some(&scratch.0), false).unwrap();
    let error = run_here(&|_, _| Ok(finished(2)), Some(&scratch.0), false).unwrap_err();
    assert!(error.to_string().contains("already holds a complete result"), "{error}");
    let hops = || ResultFolder::open(&scratch.0).unwrap().info().outcome.as_ref().unwrap().hops;
    assert_eq!(hops(), 1);
    let result = run_here(&|_, _| Ok(finished(2)), Some(&scratch.0), true).unwrap();
    assert!(result.notices[0].contains("removed a complete result"));
    assert_eq!(hops(), 2);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let scratch = Scratch::new("unwritable");
    let file = scratch.0.join("file");
    fs::write(&file, "").unwrap();
    for path in [&file, &file.join("below")] {
        let error = run_here(&incast_sim::run, Some(path), false).unwrap_err();
        assert!(error.to_string().starts_with("cannot create "), "{error}");
    }
    assert!(matches!(ResultFolder::open(&scratch.0), Err(ResultError::NoResult(_))));
}

#[test]
fn an_invalid_simulation_leaves_no_folder() {
    let scratch = Scratch::new("invalid");
    let out = scratch.0.join("out");
    let mut simulation = simulation();
    simulation.flows[0].destination = 99;
    let names = labels();
    let job = job(&simulation, &names);
    let options = RunOptions { out: Some(out.clone()), ..RunOptions::default() };
    let error = run(&job, &options, &mut go).unwrap_err();
    assert!(matches!(error, RunError::Invalid(_)), "{error}");
    assert!(!out.exists());
}

#[test]
fn goodput_and_rates_come_out_of_the_tables() {
    use crate::results::extract::{goodputs, port_rates};
    let result = run_here(&incast_sim::run, None, false).unwrap();
    let rates = port_rates(&result.table(TableName::Ports).unwrap()).unwrap();
    assert_eq!(rates.len(), 6);
    assert!(rates.values().all(|&rate| rate == Rate::from_gbps(100)));
    // Flow 0 has its 100 KB acknowledged between its first sample and the last in which it is whole.
    let all = crate::summary::Interval::new(Time::ZERO, Time::NEVER);
    let series = whole(&result.table(TableName::FlowSeries).unwrap());
    let int = |name: &str| series.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
    let (time, acked, last) = (int("time_ps"), int("acked_bytes"), series.num_rows() - 1);
    let bytes = Bytes::new((acked.value(last) - acked.value(0)) as u64);
    let span = Time::from_ps((time.value(last) - time.value(0)) as u64);
    assert!(bytes > Bytes::new(50_000));
    let expected = BTreeMap::from([(0, Rate::of(bytes, span))]);
    assert_eq!(goodputs(&result.table(TableName::FlowSeries).unwrap(), all).unwrap(), expected);
    let error = goodputs(&result.table(TableName::Flows).unwrap(), all).unwrap_err();
    assert!(error.contains("time_ps"), "{error}");
}

#[test]
fn two_runs_at_once_in_one_process_do_not_touch() {
    let scratch = Scratch::new("parallel");
    let alone = run_here(&incast_sim::run, None, false).unwrap();
    thread::scope(|scope| {
        for i in 0..4 {
            let (out, alone) = (scratch.0.join(i.to_string()), &alone);
            scope.spawn(move || {
                let result = run_here(&incast_sim::run, Some(&out), false).unwrap();
                assert_eq!(result.outcome, alone.outcome);
                let flows = ResultFolder::open(&out).unwrap().table(TableName::Flows).unwrap();
                assert_eq!(whole(&flows), whole(&alone.table(TableName::Flows).unwrap()));
            });
        }
    });
    // Two into the same folder: one of them is refused, whoever comes second. The one that runs does not end
    // before the other has; should that one run too, it says so at once, and nobody waits for ever.
    let out = scratch.0.join("same");
    let (over, other) = mpsc::channel();
    let (other, running) = (Mutex::new(other), AtomicUsize::new(0));
    let slow = |_: &Simulation, _: &mut dyn Sink| {
        if running.fetch_add(1, Ordering::Relaxed) == 0 {
            other.lock().unwrap().recv().unwrap();
        } else {
            over.send(()).unwrap();
        }
        Ok(finished(1))
    };
    let both = thread::scope(|scope| {
        let runs = [(); 2].map(|()| {
            scope.spawn(|| {
                let result = run_here(&slow, Some(&out), false);
                over.send(()).unwrap();
                result
            })
        });
        runs.map(|run| run.join().unwrap())
    });
    assert_eq!(running.into_inner(), 1);
    let refused: Vec<_> = both.iter().filter_map(|r| r.as_ref().err()).map(ToString::to_string).collect();
    assert!(refused.len() == 1 && refused[0].contains("another run is writing"), "{refused:?}");
}
