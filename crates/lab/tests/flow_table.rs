//! Tables of flows: CSV as data frames write it.

use incast_lab::Scenario;
use incast_lab::formats::flow_table::FlowTable;
use incast_units::{Bytes, Time};

use common::Scratch;

mod common;

const SCENARIO: &str = "topology = { kind = \"star\", hosts = 4, rate = \"100Gbps\", delay = \"1us\" }\n\
                        cc.algorithm = \"constant\"\n[[traffic]]\nkind = \"flow-table\"\nfile = \"flows.csv\"\n";

/// Three flows with the unit in the header, in the names of columns as Incast's own tables have them, and in the cells.
/// 1.5 KB are 1,500 B; 2.5 us are 2,500,000 ps.
#[test]
fn units_stand_in_the_header_or_in_the_cells() {
    let header = "source,destination,size [KB],start [us]\nh0,h1,1.5,0\nh2,h1,30,2.5\nh0,h3,1,1e3\n";
    let suffixes =
        "group;src;dst;size_bytes;start_ps\nx;h0;h1;1500;0\nx;h2;h1;30000;2500000\ny;h0;h3;1000;1000000000\n";
    let cells = "from\tto\tsize\tstart\n\"h0\"\th1\t1500B\t0s\nh2\th1\t30KB\t2.5us\nh0\th3\t0.001MB\t1ms\n";
    for text in [header, suffixes, cells, &format!("\u{feff}{header}")] {
        let table = FlowTable::parse(text, "flows.csv").unwrap();
        let read: Vec<_> = table
            .flows()
            .iter()
            .map(|flow| {
                (table.name(flow.ends[0]), table.name(flow.ends[1]), flow.size.get(), flow.start.ps())
            })
            .collect();
        let flows =
            [("h0", "h1", 1_500, 0), ("h2", "h1", 30_000, 2_500_000), ("h0", "h3", 1_000, 1_000_000_000)];
        assert_eq!(read, flows, "{text}");
    }
    assert_eq!(FlowTable::parse(suffixes, "f").unwrap().others(), ["group"]);
}

#[test]
fn errors_name_line_column_and_remedy() {
    for (text, line, column, words) in [
        ("", None, None, "the file is empty"),
        ("source,size\n", Some(1), None, "there is no column for: destination, start"),
        ("src,dst,size [B],start [s],from\n", Some(1), Some(28), "a second column of this meaning"),
        ("src,dst,size [B],start [s]\n", Some(1), None, "there is no flow in this file"),
        ("src,dst,size,start\n0,1,1500,0s\n", Some(2), Some(5), "needs its unit"),
        ("src,dst,size [B],start [us]\n0,1,1500\n", Some(2), None, "3 cells instead of 4"),
        ("src,dst,size [B],start [us]\n0,0,1500,1\n", Some(2), Some(3), "from this host to itself"),
        ("src,dst,size [B],start [us]\n0,1,0,1\n", Some(2), Some(5), "at least one byte"),
        (
            "src,dst,size [B],start [fortnights]\n0,1,9,1\n",
            Some(2),
            Some(7),
            "unknown unit for a time; use one of ps",
        ),
    ] {
        let problems = FlowTable::parse(text, "flows.csv").unwrap_err().0;
        let found = &problems[0];
        assert_eq!((found.line, found.column), (line, column), "{text:?}: {found:?}");
        assert!(found.to_string().contains(words), "{text:?}: {found}");
    }
}

/// A number n is the host hn; flows are those that the block "flows" makes of the same numbers; `first` moves them.
#[test]
fn a_scenario_has_the_flows_of_its_table() {
    let scratch = Scratch::new("flow-table");
    scratch.write("flows.csv", "src,dst,size_bytes,start_us\n3,0,5000,7\nh1,2,6000,9\n");
    let built = |more: &str| {
        let text = format!("{SCENARIO}{more}");
        let name = scratch.0.join("s.toml").display().to_string();
        Scenario::from_toml(&text, &name, &[])?.build().map(|built| built.simulation)
    };
    for (more, starts) in [("", [7, 9]), ("first = \"1us\"\n", [1, 3])] {
        let simulation = built(more).unwrap();
        let flows: Vec<_> = simulation
            .flows
            .iter()
            .map(|flow| (flow.source, flow.destination, flow.size, flow.start))
            .collect();
        let [first, second] = starts.map(Time::from_us);
        assert_eq!(flows, [(3, 0, Bytes::new(5000), first), (1, 2, Bytes::new(6000), second)]);
    }
    scratch.write("flows.csv", "src,dst,size_bytes,start_us\n3,0,5000,7\nh1,h9,6000,9\n");
    let problems = built("").unwrap_err();
    let text = problems.to_string();
    assert!(
        text.contains("flows.csv:3: traffic.flow-table.file: destination: there is no host \"h9\""),
        "{text}"
    );
}
