//! `flow.txt`: the list of flows of HPCC's simulator and its descendants.

use std::collections::BTreeMap;

use incast_units::{Bytes, Time};

use super::fields::{Field, Found, Lines, counted};
use crate::grammar::foreign::Format;
use crate::limits::MAX_FLOWS;
use crate::problem::{Problem, Problems};
use crate::workload::endless;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccFlow {
    /// Number of the sending host.
    pub source: u32,
    /// Number of the receiving host.
    pub destination: u32,
    /// Its priority group, the queue that it uses in HPCC's switches.
    pub pg: u16,
    /// Its UDP port at the receiver, by which HPCC's scripts distinguish kinds of flows; `None` in files
    /// without that column.
    pub dport: Option<u16>,
    /// Its payload.
    pub size: Bytes,
    /// Time of its start.
    pub start: Time,
    /// Its line in the file, from 1.
    pub line: u32,
}

/// The flows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpccFlows {
    /// The flows in the order of the file; at least one.
    flows: Vec<HpccFlow>,
    /// Start of the first of them.
    first_start: Time,
    /// Lines beyond the number of flows in the first line.
    extra: Option<Extra>,
}

/// Lines of a file beyond its number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The first of these lines.
    pub line: u32,
    /// Number of these lines.
    pub lines: usize,
}

const FORM: &str = "a flow is written `src dst pg dport size start`, like `0 15 3 100 450000 2.0001`: \
                    bytes and seconds, without units";
const FIVE: &str = "if the start is missing, add it: `src dst pg dport size start`, in seconds; if the fifth field is the \
                    start (ConWeave's form, `src dst pg size start`), write it with a point, like `2.0`";

impl HpccFlows {
    /// Reads the text of a file: the number of flows, then on each line `src dst pg dport size start`
    /// or, in the whole file, `src dst pg size start`; size in bytes, start in seconds (rounded to
    /// picoseconds). `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut lines = Lines::new(text);
        let promised = match lines.next_line() {
            [] => Err(Problem::new("the file is empty").with_hint("the first line is the number of flows")),
            [number] => number.whole("flows", MAX_FLOWS),
            [first, ..] => Err(first.wrong("flows", "the first line is the number of flows, alone")),
        };
        let Some(promised) = found.check(promised) else { return found.into_result(Self::of(Vec::new())) };
        let mut flows = Vec::new();
        // The number of columns is that of the first flow.
        let mut columns = None;
        let mut read = 0_u64;
        let mut last = 1;
        let mut extra: Option<Extra> = None;
        // The last fields of lines of five: whether all could be sizes, and the place of the first.
        let mut sizes: Option<(bool, Problem)> = None;
        while !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            if read == promised {
                extra.get_or_insert(Extra { line: first.line, lines: 0 }).lines += 1;
                continue;
            }
            last = first.line;
            read += 1;
            let expected = *columns.get_or_insert(fields.len());
            if !matches!(fields.len(), 5 | 6) || fields.len() != expected {
                let like = if matches!(expected, 5 | 6) { expected } else { 6 };
                let message = format!("{} instead of {like}", counted(fields.len(), "field"));
                found.add(Problem::new(message).on_line(last).with_hint(FORM));
                continue;
            }
            if let [.., field] = fields
                && expected == 5
            {
                let is_size = field.text.bytes().all(|b| b.is_ascii_digit()) && field.text != "0";
                let (all, _) = sizes.get_or_insert_with(|| {
                    let message = "five fields, the last a whole number on every line: it may be the start in \
                                   seconds or, where the start is missing, the size";
                    (true, field.wrong("start", message).with_hint(FIVE))
                });
                *all &= is_size;
            }
            match flow(fields) {
                Ok(flow) => flows.push(flow),
                Err(problem) => {
                    found.add(problem.with_hint(FORM));
                }
            }
        }
        if read < promised && !found.is_full() {
            let message = format!(
                "the first line says that there are {promised} flows, but the file ends after {read}"
            );
            found.add(Problem::new(message).on_line(last).with_hint("is the file truncated?"));
        }
        if let Some((true, problem)) = sizes
            && found.is_empty()
        {
            found.add(problem);
        }
        if promised == 0 && found.is_empty() {
            found.add(Problem::new("there is no flow in this file").on_line(1));
        }
        found.into_result(Self { extra, ..Self::of(flows) })
    }

    fn of(flows: Vec<HpccFlow>) -> Self {
        #[cfg(test)]
        tests::SEARCHES.with(|searches| searches.set(searches.get() + 1));
        // Looked for once: every flow of a block asks for it.
        let first_start = flows.iter().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
        Self { flows, first_start, extra: None }
    }

    /// The flows in the order of the file; at least one.
    #[must_use]
    pub fn flows(&self) -> &[HpccFlow] {
        &self.flows
    }

    /// Returns the time at which the first flow starts.
    #[must_use]
    pub fn first_start(&self) -> Time {
        self.first_start
    }

    /// Lines beyond the number of flows in the first line, which are not read.
    #[must_use]
    pub fn extra(&self) -> Option<Extra> {
        self.extra
    }

    /// Number of flows of each priority group and port.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<(u16, Option<u16>), usize> {
        let mut kinds = BTreeMap::new();
        for flow in &self.flows {
            *kinds.entry((flow.pg, flow.dport)).or_default() += 1;
        }
        kinds
    }

    /// Returns notes on what other simulators do with the file and Incast does not, and on what is not taken
    /// over.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.flows.iter().any(|flow| flow.dport.is_some()) {
            notes.push("dport: not simulated; a traffic block can select flows by it".to_owned());
        }
        notes.push(
            "pg: not simulated; a traffic block can select flows by it and give them a queue".to_owned(),
        );
        if let Some(pair) = self.flows.windows(2).find(|pair| pair[1].start < pair[0].start) {
            notes.push(format!(
                "line {} starts before the line above it: this does not matter here, but HPCC's \
                 simulator stops at such a line",
                pair[1].line
            ));
        }
        if let Some(Extra { line, lines }) = self.extra {
            notes.push(format!(
                "{} from line {line} on, beyond the number of flows in the first line: left out, as ns-3's simulators do; a \
                 scenario must say ignore_extra = true",
                counted(lines, "line")
            ));
        }
        notes.extend(endless(self.flows.iter().map(|flow| flow.size)));
        notes
    }
}

impl Format for HpccFlows {
    const NOUN: &'static str = "a file like \"flow.txt\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

fn flow(fields: &[Field<'_>]) -> Result<HpccFlow, Problem> {
    let (source, destination, pg, dport, size, start) = match *fields {
        [source, destination, pg, dport, size, start] => (source, destination, pg, Some(dport), size, start),
        [source, destination, pg, size, start] => (source, destination, pg, None, size, start),
        _ => return Err(Problem::new("not a flow")),
    };
    let flow = HpccFlow {
        source: source.whole("src", u64::from(u32::MAX))? as u32,
        destination: destination.whole("dst", u64::from(u32::MAX))? as u32,
        pg: pg.whole("pg", u64::from(u16::MAX))? as u16,
        dport: dport
            .map(|port| port.whole("dport", u64::from(u16::MAX)))
            .transpose()?
            .map(|port| port as u16),
        size: Bytes::new(size.whole("size", i64::MAX as u64)?),
        start: Time::from_ps(start.decimal("start", 12)?),
        line: source.line,
    };
    if flow.source == flow.destination {
        return Err(destination.wrong("dst", "the flow would go from this host to itself"));
    }
    if flow.size == Bytes::ZERO {
        return Err(size.wrong("size", "a flow has at least one byte"));
    }
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fmt::Write as _;

    use crate::Scenario;

    thread_local! {
        /// Number of searches in this thread for the first of all flows.
        pub(super) static SEARCHES: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn the_first_flow_is_looked_for_once_however_many_there_are() {
        let folder = std::env::temp_dir().join(format!("incast-lab-first-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut text = "1000\n".to_owned();
        for i in 0..1000 {
            writeln!(text, "0 1 3 100 1000 2.{:06}", i + 7).unwrap();
        }
        std::fs::write(folder.join("flow.txt"), text).unwrap();
        let scenario = "topology = { kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1us\" }\n\
                        cc = { algorithm = \"constant\" }\n[[traffic]]\nkind = \"hpcc-file\"\n\
                        file = \"flow.txt\"\nfirst = \"5us\"\n";
        let name = folder.join("s.toml").display().to_string();
        let before = SEARCHES.get();
        let built = Scenario::from_toml(scenario, &name, &[]).unwrap().build().unwrap();
        assert_eq!(SEARCHES.get() - before, 1);
        // The first starts when asked for, and the others keep their distance: 1 us from one to the next.
        let starts: Vec<u64> = built.simulation.flows.iter().map(|flow| flow.start.ps()).collect();
        assert_eq!((starts[0], starts[999]), (5_000_000, 5_000_000 + 999 * 1_000_000));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
