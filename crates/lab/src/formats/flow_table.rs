//! A table of flows: CSV, as spreadsheets and data frames write it, or Parquet.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use incast_units::{Bytes, Time};

use super::fields::{Field, Found, counted, in_row};
use super::flow_parquet;
use crate::files::{self, without_mark};
use crate::grammar::foreign::Format;
use crate::limits::{MAX_FLOWS, MAX_HOSTS};
use crate::problem::{Problem, Problems};
use crate::workload::endless;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFlow {
    /// The sending and the receiving host, indices into the table's [names](FlowTable::name).
    pub ends: [u32; 2],
    /// Its payload.
    pub size: Bytes,
    /// Time of its start.
    pub start: Time,
    /// Its line in a text, or its row in Parquet, from 1.
    pub line: u32,
}

/// The flows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTable {
    /// The flows in the order of the file; at least one.
    flows: Vec<TableFlow>,
    /// The names of hosts as the file has them.
    names: Vec<String>,
    /// Columns that are not read.
    others: Vec<String>,
    /// Whether the file is Parquet.
    parquet: bool,
}

const FORM: &str = "the first line names the columns, with the units of numbers: `source,destination,size [B],start [us]`; \
                    cells may have units of their own, like 30KB, where the first line has none";

/// The columns that are read, each with its accepted names.
const COLUMNS: [(&str, &[&str]); 4] = [
    ("source", &["source", "src", "from"]),
    ("destination", &["destination", "dst", "to"]),
    ("size", &["size", "bytes"]),
    ("start", &["start", "time"]),
];

/// A unit of one of the columns, by the suffix with which programs name columns: `size_bytes`, `start_ps`.
const SUFFIXES: [(&str, &str); 6] =
    [("_bytes", "B"), ("_ps", "ps"), ("_ns", "ns"), ("_us", "us"), ("_ms", "ms"), ("_s", "s")];

/// Place of a column in the lines of a file.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) place: usize,
    /// The unit of its numbers; `None`: each cell has its own.
    pub(super) unit: Option<String>,
}

/// Whether the name of a host is only its number.
pub(crate) fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Splits the name of a column into its plain name and the unit that it gives.
fn plain(title: &str) -> (String, Option<String>) {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((name, unit)) = title.strip_suffix(close).and_then(|rest| rest.split_once(open)) {
            return (name.trim().to_ascii_lowercase(), Some(unit.trim().to_owned()));
        }
    }
    let lower = title.to_ascii_lowercase();
    match SUFFIXES.iter().find_map(|(suffix, unit)| Some((lower.strip_suffix(suffix)?, unit))) {
        Some((name, unit)) => (name.to_owned(), Some((*unit).to_owned())),
        // The name is the unit.
        None if lower == "bytes" => (lower, Some("B".to_owned())),
        None => (lower, None),
    }
}

/// The cells of a line.
fn cells(text: &str, line: u32, separator: char) -> Vec<Field<'_>> {
    let mut before = 0;
    let cell = |part| {
        let column = before + 1;
        before += str::chars(part).count() as u32 + 1;
        let trimmed = part.trim();
        let bare = trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(trimmed);
        Field { text: bare, line, column }
    };
    text.split(separator).map(cell).collect()
}

/// Reads the names of columns: finds the four of [`COLUMNS`] in their order, and the names of the others.
pub(super) fn header(cells: &[Field<'_>]) -> Result<([Column; 4], Vec<String>), Problem> {
    let mut found: [Option<Column>; 4] = [const { None }; 4];
    let mut others = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let (name, unit) = plain(cell.text);
        match COLUMNS.iter().position(|(_, names)| names.contains(&name.as_str())) {
            Some(which) if found[which].is_some() => {
                return Err(cell.wrong(COLUMNS[which].0, "a second column of this meaning").with_hint(FORM));
            }
            Some(which) => found[which] = Some(Column { place, unit }),
            None => others.push(cell.text.to_owned()),
        }
    }
    let missing: Vec<&str> = COLUMNS
        .iter()
        .zip(&found)
        .filter(|(_, column)| column.is_none())
        .map(|((name, _), _)| *name)
        .collect();
    match found {
        [Some(source), Some(destination), Some(size), Some(start)] => {
            Ok(([source, destination, size, start], others))
        }
        _ => {
            let problem = Problem::new(format!("there is no column for: {}", missing.join(", ")));
            Err(problem.on_line(cells.first().map_or(1, |cell| cell.line)).with_hint(FORM))
        }
    }
}

/// Returns a number without its exponent, as data frames write large ones: `1.5e3` becomes `1500`.
fn expanded(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() <= 30)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Zeros on both sides, so that the point stands between digits wherever it moves.
    let padded = format!("{zeros}{digits}{zeros}", zeros = "0".repeat(31));
    let (before, after) =
        padded.split_at_checked(usize::try_from(31 + whole.len() as i32 + exponent).ok()?)?;
    let (before, after) = (before.trim_start_matches('0'), after.trim_end_matches('0'));
    Some(format!(
        "{}.{}",
        if before.is_empty() { "0" } else { before },
        if after.is_empty() { "0" } else { after }
    ))
}

/// Reads a quantity from a cell.
fn quantity<Q: FromStr>(cell: &Field<'_>, column: &Column, name: &str, like: &str) -> Result<Q, Problem>
where
    Q::Err: core::fmt::Display,
{
    let unit = column.unit.as_deref().unwrap_or_default();
    let number = expanded(cell.text);
    format!("{}{unit}", number.as_deref().unwrap_or(cell.text)).parse().map_err(|error: Q::Err| {
        let hint = format!("the unit stands behind the name of the column, {like}, or in each cell");
        Problem { line: Some(cell.line), column: Some(cell.column), ..Problem::new(error.to_string()) }
            .about(name)
            .with_hint(hint)
    })
}

impl FlowTable {
    /// Whether a file is a table in Parquet.
    #[must_use]
    pub fn is_parquet(bytes: &[u8]) -> bool {
        flow_parquet::is_parquet(bytes)
    }

    /// Reads a file, CSV or Parquet; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line or row and field.
    pub fn read(bytes: Vec<u8>, file: &str) -> Result<Self, Problems> {
        if Self::is_parquet(&bytes) {
            return flow_parquet::parse(bytes, file);
        }
        Self::parse(&files::text_of(bytes, file)?, file)
    }

    /// Returns a table without flows.
    pub(super) fn empty(others: Vec<String>, parquet: bool) -> Self {
        Self { flows: Vec::new(), names: Vec::new(), others, parquet }
    }

    /// Reads the text of a file: names of columns, then a flow on each line, with commas, semicolons or tabs between
    /// the cells. `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut table = Self::empty(Vec::new(), false);
        let mut lines = (1_u32..).zip(without_mark(text).lines()).filter(|(_, line)| !line.trim().is_empty());
        let Some((line, titles)) = lines.next() else {
            found.add(Problem::new("the file is empty").with_hint(FORM));
            return found.into_result(table);
        };
        let separator = [',', ';', '\t'].into_iter().find(|mark| titles.contains(*mark)).unwrap_or(',');
        let titles = cells(titles, line, separator);
        let Some((columns, others)) = found.check(header(&titles)) else { return found.into_result(table) };
        table.others = others;
        let mut known = HashMap::new();
        for (line, text) in lines {
            if found.is_full() {
                break;
            }
            let cells = cells(text, line, separator);
            if cells.len() != titles.len() {
                let message = format!("{} instead of {}", counted(cells.len(), "cell"), titles.len());
                found.add(Problem::new(message).on_line(line).with_hint(FORM));
                continue;
            }
            if !table.add(&cells, &columns, &mut known, &mut found) {
                break;
            }
        }
        if table.flows.is_empty() && found.is_empty() {
            found.add(Problem::new("there is no flow in this file").on_line(line));
        }
        found.into_result(table)
    }

    /// Whether a file begins like a table, given the words of its first line.
    pub(crate) fn begins(words: &[Field<'_>]) -> bool {
        let line: Vec<&str> = words.iter().map(|word| word.text).collect();
        let titles = line.join(" ");
        let known = |title: &str| {
            let (name, _) = plain(title.trim().trim_matches('"'));
            COLUMNS.iter().any(|(_, names)| names.contains(&name.as_str()))
        };
        titles.split([',', ';', ' ']).filter(|title| known(title)).count() >= 3
    }

    /// Adds the flow of a line or row, unless it is wrong; returns false if there are too many flows.
    pub(super) fn add(
        &mut self,
        cells: &[Field<'_>],
        columns: &[Column; 4],
        known: &mut HashMap<String, u32>,
        found: &mut Found<'_>,
    ) -> bool {
        if self.flows.len() as u64 == MAX_FLOWS {
            let problem = Problem::new(format!("too many flows; at most {MAX_FLOWS} are possible"));
            found.add(problem.on_line(cells.first().map_or(1, |cell| cell.line)));
            return false;
        }
        let flow = self.flow(cells, columns, known);
        self.flows.extend(found.check(flow));
        true
    }

    fn flow(
        &mut self,
        cells: &[Field<'_>],
        [source, destination, size, start]: &[Column; 4],
        known: &mut HashMap<String, u32>,
    ) -> Result<TableFlow, Problem> {
        let ends = [source, destination].map(|column| {
            let name = cells[column.place].text;
            known.get(name).copied().unwrap_or_else(|| {
                let number = self.names.len() as u32;
                self.names.push(name.to_owned());
                known.insert(name.to_owned(), number);
                number
            })
        });
        if ends[0] == ends[1] {
            return Err(
                cells[destination.place].wrong("destination", "the flow would go from this host to itself")
            );
        }
        let bytes: Bytes = quantity(&cells[size.place], size, "size", "`size [B]`")?;
        if bytes == Bytes::ZERO {
            return Err(cells[size.place].wrong("size", "a flow has at least one byte"));
        }
        let at = quantity(&cells[start.place], start, "start", "`start [us]`")?;
        Ok(TableFlow { ends, size: bytes, start: at, line: cells[size.place].line })
    }

    /// The flows in the order of the file; at least one.
    #[must_use]
    pub fn flows(&self) -> &[TableFlow] {
        &self.flows
    }

    /// Returns what adds the place of a flow, given its line or row, to a problem.
    pub(crate) fn on(&self) -> fn(Problem, u32) -> Problem {
        if self.parquet { in_row } else { Problem::on_line }
    }

    /// Its format in words.
    #[must_use]
    pub fn form(&self) -> &'static str {
        if self.parquet { "table of flows, Parquet" } else { "table of flows" }
    }

    /// The name of a host as the file has it.
    #[must_use]
    pub fn name(&self, index: u32) -> &str {
        &self.names[index as usize]
    }

    /// Returns the number of hosts that send or receive; "3" and "h3" are one.
    #[must_use]
    pub fn hosts(&self) -> usize {
        let full = |name: &String| if is_number(name) { format!("h{name}") } else { name.clone() };
        self.names.iter().map(full).collect::<BTreeSet<_>>().len()
    }

    /// Returns the number of hosts if all are called `h0`, `h1`, … or have only a number: the highest plus one.
    #[must_use]
    pub fn numbered(&self) -> Option<usize> {
        let number = |name: &String| {
            let digits = name.strip_prefix('h').unwrap_or(name);
            let number: usize = digits.parse().ok()?;
            (number.to_string() == digits && (number as u64) < MAX_HOSTS).then_some(number + 1)
        };
        self.names.iter().map(number).try_fold(0, |most, number| Some(most.max(number?)))
    }

    /// Returns notes on what is not taken over.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let others = self.others.iter().map(|name| format!("column {name:?}: not read"));
        others.chain(endless(self.flows.iter().map(|flow| flow.size))).collect()
    }

    /// The columns that are not read.
    #[must_use]
    pub fn others(&self) -> &[String] {
        &self.others
    }
}

impl Format for FlowTable {
    const NOUN: &'static str = "a file like \"flows.csv\" or \"flows.parquet\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }

    fn read(bytes: Vec<u8>, file: &str) -> Result<Self, Problems> {
        Self::read(bytes, file)
    }
}
