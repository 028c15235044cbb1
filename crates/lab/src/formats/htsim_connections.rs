//! `.cm`: the connection matrices of htsim, with triggers.
//!
//! A trigger starts connections when others have completed, anywhere and without delay. An operation of
//! [`Workload`] waits for others of its own host only, so what can be expressed is a connection that starts at a
//! host where those that it waits for complete: at their sender (`send_done_trigger`) or their receiver
//! (`recv_done_trigger`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use incast_sim::describe::work::What;
use incast_units::math::mul_div;
use incast_units::{Bytes, Time};

use super::fields::{Field, Found, Lines, counted};
use super::goal_schedule::waiting;
use crate::grammar::foreign::Format;
use crate::grammar::suggest::unknown;
use crate::limits::{MAX_FLOWS, MAX_HOSTS};
use crate::problem::{Problem, Problems};
use crate::workload::{Message, Workload, endless};

const CONNECTION: &str = "a connection is written `0->1 id 1 start 0 size 2000000`, with `trigger 1` in place of \
                          `start 0` if a trigger starts it, and `send_done_trigger 1` or `recv_done_trigger 1` if it \
                          activates one; sizes in bytes, without units";
const TRIGGER: &str = "a trigger is written `trigger id 1 oneshot`, `trigger id 1 multishot` or `trigger id 1 barrier \
                       count 4`";
const HEADER: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// An end of a connection, where its completion is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// Trigger for which a connection waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    connection: u32,
    /// At the host where the waiting connection starts.
    end: End,
    /// Whether the file takes the completion at the other end.
    moved: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Connection {
    source: u32,
    destination: u32,
    size: u64,
    /// In millionths of the file's unit.
    start: u64,
    after: Vec<Wait>,
    line: u32,
}

/// The connections of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtsimConnections {
    nodes: u32,
    connections: Vec<Connection>,
    notes: Vec<String>,
}

impl HtsimConnections {
    /// Reads the text of a file; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong or cannot be expressed, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut reader = Reader::default();
        let mut lines = Lines::new(text);
        let mut last = 1;
        while !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            last = first.line;
            if !first.text.starts_with('#')
                && let Err(problem) = reader.line(fields)
            {
                found.add(problem);
            }
        }
        if found.is_empty() {
            reader.count(last, &mut found);
        }
        if found.is_empty() {
            reader.resolve(&mut found);
        }
        let nodes = reader.header.first().copied().flatten().unwrap_or(0) as u32;
        let notes = reader.notes();
        let read = Self { nodes, connections: reader.connections, notes };
        if found.is_empty() {
            // The times do not matter for the order.
            let (work, lines) = read.expressed(Time::ZERO);
            if let Some(cycle) = work.cycle() {
                found.add(waiting(&cycle, "lines", |operation| lines[operation as usize].into()));
            }
        }
        found.into_result(read)
    }

    /// Whether a connection starts at a time other than zero, so that the unit of times matters.
    #[must_use]
    pub fn has_starts(&self) -> bool {
        self.connections.iter().any(|connection| connection.start > 0)
    }

    /// Payload of all connections.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.connections.iter().map(|connection| connection.size).fold(0, u64::saturating_add)
    }

    /// Returns the latest start of a connection, in the file's unit.
    #[must_use]
    pub fn last_start(&self) -> f64 {
        self.connections.iter().map(|connection| connection.start).max().unwrap_or(0) as f64 / 1e6
    }

    /// The line of the first connection that starts at the other end of one for whose completion it waits.
    #[must_use]
    pub fn moved(&self) -> Option<u32> {
        let moved = |connection: &&Connection| connection.after.iter().any(|wait| wait.moved);
        self.connections.iter().find(moved).map(|connection| connection.line)
    }

    /// Number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there is none, which no file has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The connections as flows, with an operation at each end where another connection waits or starts;
    /// `unit` is the file's unit of time.
    #[must_use]
    pub fn workload(&self, unit: Time) -> Workload {
        let (mut work, _) = self.expressed(unit);
        work.notes.clone_from(&self.notes);
        work
    }

    /// Returns the workload with the line of each operation.
    fn expressed(&self, unit: Time) -> (Workload, Vec<u32>) {
        let mut work = Workload { ranks: self.nodes, ..Workload::default() };
        let mut lines = Vec::new();
        let mut awaited = vec![[false; 2]; self.connections.len()];
        for wait in self.connections.iter().flat_map(|connection| &connection.after) {
            awaited[wait.connection as usize][wait.end as usize] = true;
        }
        // The operation at each end of each connection.
        let mut operations: Vec<[Option<u32>; 2]> = Vec::with_capacity(awaited.len());
        for ((flow, connection), [sender, receiver]) in (0_u32..).zip(&self.connections).zip(awaited) {
            let &Connection { source, destination, size, start, line, .. } = connection;
            let start = Time::from_ps(mul_div(start, unit.ps(), 1_000_000));
            work.flows.push(Message { source, destination, size: Bytes::new(size), start });
            let mut add = |rank: u32, what: What| {
                lines.push(line);
                work.add(rank, what, Vec::new())
            };
            let sends = sender || !connection.after.is_empty();
            operations.push([
                sends.then(|| add(source, What::Send { flow })),
                receiver.then(|| add(destination, What::Receive { flow })),
            ]);
        }
        for (connection, own) in self.connections.iter().zip(&operations) {
            if let Some(send) = own[End::Sender as usize] {
                let other = |wait: &Wait| operations[wait.connection as usize][wait.end as usize];
                let mut after: Vec<u32> = connection.after.iter().filter_map(other).collect();
                after.sort_unstable();
                after.dedup();
                work.operations[send as usize].after = after;
            }
        }
        (work, lines)
    }

    /// Returns notes on what Incast does not take over from the file.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Format for HtsimConnections {
    const NOUN: &'static str = "a file like \"alltoall.cm\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OneShot,
    MultiShot,
    Barrier(u64),
}

/// A trigger, as far as it has been read.
#[derive(Default)]
struct Trigger {
    /// With the line of its definition.
    kind: Option<(Kind, u32)>,
    /// The connections that activate it, each at an end.
    activators: Vec<(u32, End)>,
    /// The connections that it starts.
    targets: Vec<u32>,
    /// The first line that names it.
    line: u32,
}

#[derive(Default)]
struct Reader {
    /// The numbers of the header, in the order of [`HEADER`].
    header: [Option<u64>; 4],
    connections: Vec<Connection>,
    triggers: BTreeMap<u32, Trigger>,
    defined: u64,
    /// The line of each identity.
    ids: HashMap<u32, u32>,
    priorities: usize,
    messages: usize,
    addons: usize,
    /// Starts that are not whole numbers.
    fractions: usize,
    /// Triggers that start nothing.
    idle: usize,
}

impl Reader {
    fn line(&mut self, fields: &[Field<'_>]) -> Result<(), Problem> {
        let Some((first, rest)) = fields.split_first() else { return Ok(()) };
        let body = !self.connections.is_empty() || !self.triggers.is_empty();
        match first.text {
            "trigger" => self.trigger(first, rest),
            "failure" => Err(first.wrong(
                "failure",
                "failed links are not read; remove this line, and give the scenario a [[change]] of the link",
            )),
            text if text.contains("->") => self.connection(first, rest),
            word => match HEADER.iter().position(|known| *known == word) {
                Some(_) if body => Err(first.wrong("header", "must stand before the connections")),
                Some(i) => {
                    if self.header[i].is_some() {
                        return Err(first.wrong("header", "is given twice"));
                    }
                    let [number] = rest else {
                        return Err(first.wrong("header", "is followed by one number, like `Nodes 16`"));
                    };
                    let most = if i == 0 { MAX_HOSTS } else { MAX_FLOWS };
                    // One that cannot be read is no reason to complain of what follows.
                    self.header[i] = Some(most);
                    let value = number.whole(HEADER[i], most)?;
                    if i == 0 && value == 0 {
                        return Err(number.wrong("Nodes", "there must be nodes"));
                    }
                    self.header[i] = Some(value);
                    Ok(())
                }
                None => {
                    let message =
                        format!("{word:?} is not one of: {}, a connection, trigger", HEADER.join(", "));
                    let mut problem = unknown(message, word, HEADER);
                    problem.line = Some(first.line);
                    Err(if problem.hint.is_some() { problem } else { problem.with_hint(CONNECTION) })
                }
            },
        }
    }

    fn connection(&mut self, first: &Field<'_>, rest: &[Field<'_>]) -> Result<(), Problem> {
        let help = |problem: Problem| problem.with_hint(CONNECTION);
        let (source, destination) = first.text.split_once("->").unwrap_or((first.text, ""));
        let Some(nodes) = self.header[0] else {
            // Said once.
            self.header[0] = Some(MAX_HOSTS);
            return Err(first.wrong("header", "the file must begin with `Nodes` and their number"));
        };
        let end = |text: &str, name: &str| -> Result<u32, Problem> {
            let number = Field { text, ..*first }.whole(name, u64::from(u32::MAX)).map_err(help)?;
            if number < nodes {
                return Ok(number as u32);
            }
            let message = format!("there is no node {number}; Nodes {nodes} numbers them 0 to {}", nodes - 1);
            Err(first.wrong(name, message))
        };
        let (source, destination) = (end(source, "src")?, end(destination, "dst")?);
        if source == destination {
            return Err(first.wrong("dst", "the connection would go from this node to itself"));
        }
        let index = self.connections.len() as u32;
        if u64::from(index) >= MAX_FLOWS {
            return Err(
                first.wrong("connection", format_args!("there are more than {MAX_FLOWS} connections"))
            );
        }
        let (mut id, mut start, mut trigger, mut size) = (None, None, None, None);
        let mut activates = Vec::new();
        let mut shares = false;
        let mut fields = rest.iter();
        while let Some(name) = fields.next() {
            let mut value = || {
                fields
                    .next()
                    .ok_or_else(|| help(name.wrong(name.text, "the line ends too early: a value is missing")))
            };
            let twice = || help(name.wrong(name.text, "is given twice"));
            match name.text {
                "id" => {
                    let value = value()?;
                    let number = value.whole("id", u64::from(u32::MAX)).map_err(help)?;
                    if number == 0 {
                        return Err(value.wrong("id", "must be at least 1"));
                    }
                    id.replace((value, number as u32)).map_or(Ok(()), |_| Err(twice()))?;
                }
                "start" => {
                    let value = value()?;
                    start
                        .replace(value.decimal("start", 6).map_err(help)?)
                        .map_or(Ok(()), |_| Err(twice()))?;
                }
                "size" => {
                    let value = value()?;
                    let bytes = value.whole("size", i64::MAX as u64).map_err(help)?;
                    if bytes == 0 {
                        let message = "a connection has at least one byte; htsim's programs disagree on what 0 is: NDP \
                                       and EQDS send without end, UEC nothing";
                        return Err(value.wrong("size", message));
                    }
                    size.replace(bytes).map_or(Ok(()), |_| Err(twice()))?;
                }
                "trigger" => {
                    trigger.replace(trigger_id(value()?, "trigger")?).map_or(Ok(()), |_| Err(twice()))?;
                }
                "send_done_trigger" => activates.push((trigger_id(value()?, name.text)?, End::Sender)),
                "recv_done_trigger" => activates.push((trigger_id(value()?, name.text)?, End::Receiver)),
                "prio" => {
                    value()?.whole("prio", u64::from(u32::MAX)).map_err(help)?;
                    self.priorities += 1;
                }
                "addon" => self.addons += 1,
                "msg" => {
                    // Its number may be absent.
                    if fields
                        .as_slice()
                        .first()
                        .is_some_and(|next| next.text.starts_with(|c: char| c.is_ascii_digit()))
                    {
                        fields.next();
                    }
                    shares = true;
                    self.messages += 1;
                }
                _ => {
                    let known =
                        ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio"];
                    let message = format!("{:?} is no attribute of a connection", name.text);
                    let problem = Problem { line: Some(name.line), ..unknown(message, name.text, known) };
                    return Err(if problem.hint.is_some() { problem } else { help(problem) });
                }
            }
        }
        let Some(size) = size else { return Err(help(first.wrong("size", "the connection has no size"))) };
        if let Some((field, id)) = id
            && let Some(line) = self.ids.insert(id, first.line)
            && !shares
        {
            return Err(field.wrong("id", format_args!("the connection of line {line} has it already")));
        }
        match (start, trigger) {
            (None, None) => {
                return Err(help(first.wrong("start", "the connection has neither start nor trigger")));
            }
            (Some(_), Some(_)) => {
                return Err(help(
                    first.wrong("start", "the connection has both start and trigger; only one may be"),
                ));
            }
            (Some(start), None) => self.fractions += usize::from(start % 1_000_000 > 0),
            (None, Some(trigger)) => self.at(trigger, first.line).targets.push(index),
        }
        for (trigger, end) in activates {
            self.at(trigger, first.line).activators.push((index, end));
        }
        let (start, line) = (start.unwrap_or(0), first.line);
        self.connections.push(Connection { source, destination, size, start, after: Vec::new(), line });
        Ok(())
    }

    fn at(&mut self, trigger: u32, line: u32) -> &mut Trigger {
        self.triggers.entry(trigger).or_insert_with(|| Trigger { line, ..Trigger::default() })
    }

    fn trigger(&mut self, first: &Field<'_>, rest: &[Field<'_>]) -> Result<(), Problem> {
        let help = |problem: Problem| problem.with_hint(TRIGGER);
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut fields = rest.iter();
        while let Some(field) = fields.next() {
            let mut value = || {
                fields.next().ok_or_else(|| {
                    help(field.wrong(field.text, "the line ends too early: a value is missing"))
                })
            };
            match field.text {
                "id" => id = Some(trigger_id(value()?, "id")?),
                "count" => count = Some(value()?.whole("count", MAX_FLOWS).map_err(help)?),
                "oneshot" | "multishot" | "barrier" if kind.is_some() => {
                    return Err(help(field.wrong("trigger", "the trigger has a kind already")));
                }
                "oneshot" => kind = Some(Kind::OneShot),
                "multishot" => kind = Some(Kind::MultiShot),
                "barrier" => kind = Some(Kind::Barrier(0)),
                _ => return Err(help(field.wrong("trigger", "is neither id, count nor a kind of trigger"))),
            }
        }
        let Some(id) = id else { return Err(help(first.wrong("id", "the trigger has no id"))) };
        let kind = match (kind, count) {
            (None, _) => return Err(help(first.wrong("trigger", format_args!("trigger {id} has no kind")))),
            (Some(Kind::Barrier(_)), None | Some(0)) => {
                return Err(help(
                    first.wrong("count", format_args!("barrier {id} has no count of activations")),
                ));
            }
            (Some(Kind::Barrier(_)), Some(count)) => Kind::Barrier(count),
            (Some(kind), _) => kind,
        };
        self.defined += 1;
        let trigger = self.at(id, first.line);
        if let Some((_, line)) = trigger.kind.replace((kind, first.line)) {
            return Err(first.wrong("id", format_args!("trigger {id} is defined on line {line} already")));
        }
        Ok(())
    }

    /// Checks the numbers of the header, which htsim insists on: a file that was cut off has too little.
    fn count(&self, last: u32, found: &mut Found<'_>) {
        for (i, actual) in [(1, self.connections.len() as u64), (2, self.defined)] {
            let promised = self.header[i].unwrap_or(0);
            if promised != actual {
                let message = format!("the header says {} {promised}, but the file has {actual}", HEADER[i]);
                let hint = if promised > actual { "is the file truncated?" } else { "correct the number" };
                found.add(Problem::new(message).on_line(last).with_hint(hint));
            }
        }
        if self.header[3].is_some_and(|failures| failures > 0) {
            let message = "the header says that there are failures, but the file has none";
            found.add(Problem::new(message).on_line(last).with_hint("is the file truncated?"));
        }
        if self.connections.is_empty() && found.is_empty() {
            found.add(Problem::new("there is no connection in this file").on_line(last));
        }
    }

    /// Finds what each connection with a trigger waits for.
    fn resolve(&mut self, found: &mut Found<'_>) {
        for (id, trigger) in core::mem::take(&mut self.triggers) {
            match trigger.starts(id) {
                Err(problem) => {
                    found.add(problem);
                }
                Ok(starts) => {
                    self.idle += usize::from(starts.is_empty());
                    for (target, activators) in starts {
                        for (activator, end) in activators {
                            match self.wait(target, activator, end) {
                                Ok(wait) => self.connections[target as usize].after.push(wait),
                                Err(problem) => {
                                    found.add(problem);
                                    break;
                                }
                            }
                        }
                    }
                }
            }
            if found.is_full() {
                return;
            }
        }
    }

    /// A connection that waits for the completion of another at one of its ends.
    fn wait(&self, target: u32, activator: u32, end: End) -> Result<Wait, Problem> {
        let [waiting, other] = [target, activator].map(|index| &self.connections[index as usize]);
        let [sender, receiver] = [other.source, other.destination].map(|host| host == waiting.source);
        let wait = |end, moved| Ok(Wait { connection: activator, end, moved });
        match end {
            End::Sender if sender => wait(End::Sender, false),
            End::Receiver if receiver => wait(End::Receiver, false),
            End::Sender if receiver => wait(End::Receiver, true),
            End::Receiver if sender => wait(End::Sender, true),
            _ => {
                let message = format!(
                    "the connection starts at node {} when that of line {} ({}->{}) has completed, which node {} cannot know: \
                     a trigger of htsim works everywhere at once, and here a host waits for what it sends or receives itself",
                    waiting.source, other.line, other.source, other.destination, waiting.source
                );
                Err(Problem::new(message).about("trigger").on_line(waiting.line))
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut work = Workload::default();
        work.note(self.priorities, "prio", "not taken over; the traffic block sets the queue of its flows");
        work.note(self.messages, "msg", "each is a flow of its own; connections are not used again");
        work.note(self.addons, "addon", "not taken over");
        work.note(self.fractions, "starts with a fraction", "taken as they are; htsim cuts off the fraction");
        work.note(self.idle, "triggers without a connection to start", "not needed");
        work.notes.extend(endless(self.connections.iter().map(|connection| Bytes::new(connection.size))));
        work.notes
    }
}

fn trigger_id(field: &Field<'_>, name: &str) -> Result<u32, Problem> {
    match field.whole(name, u64::from(u32::MAX))? {
        0 => Err(field.wrong(name, "triggers are numbered from 1")),
        id => Ok(id as u32),
    }
}

/// For each connection that a trigger starts, all those whose completion it waits for.
type Starts = Vec<(u32, Vec<(u32, End)>)>;

impl Trigger {
    fn starts(&self, id: u32) -> Result<Starts, Problem> {
        let wrong = |line: u32, message: String| Err(Problem::new(message).about("trigger").on_line(line));
        let Some((kind, line)) = self.kind else {
            let problem =
                Problem::new(format!("trigger {id} is not defined")).about("trigger").on_line(self.line);
            return Err(problem.with_hint(TRIGGER));
        };
        if self.targets.is_empty() {
            return Ok(Vec::new());
        }
        let activators = self.activators.len();
        if activators == 0 {
            return wrong(
                line,
                format!(
                    "no connection activates trigger {id}, so the connections that wait for it never start"
                ),
            );
        }
        let together = || self.targets.iter().map(|&target| (target, self.activators.clone())).collect();
        match kind {
            Kind::OneShot if activators > 1 => wrong(
                line,
                format!(
                    "{activators} connections activate trigger {id}, and a oneshot trigger may be activated once; to wait for \
                     all of them write `barrier count {activators}`"
                ),
            ),
            Kind::OneShot => Ok(together()),
            Kind::Barrier(count) if count > activators as u64 => wrong(
                line,
                format!(
                    "barrier {id} waits for {count} activations and {} it, so the connections that wait for it never start; \
                     write `count {activators}`",
                    counted(activators, "connection")
                        + if activators == 1 { " activates" } else { " activate" }
                ),
            ),
            Kind::Barrier(count) if count < activators as u64 => wrong(
                line,
                format!(
                    "barrier {id} has count {count} and is activated by {activators} connections; which of them are the \
                     first is not known before the run; write `count {activators}`"
                ),
            ),
            Kind::Barrier(_) if activators as u64 * self.targets.len() as u64 > MAX_FLOWS => {
                wrong(line, format!("{} connections would each wait for {activators}", self.targets.len()))
            }
            Kind::Barrier(_) => Ok(together()),
            Kind::MultiShot => self.in_turn(id, line),
        }
    }

    /// The starts of a multishot trigger, where each that it starts activates it again: only then is the order
    /// of the activations known.
    fn in_turn(&self, id: u32, line: u32) -> Result<Starts, Problem> {
        let targets: BTreeSet<u32> = self.targets.iter().copied().collect();
        let end_of: BTreeMap<u32, End> = self.activators.iter().copied().collect();
        let outside: Vec<_> =
            self.activators.iter().filter(|(activator, _)| !targets.contains(activator)).collect();
        let mut starts = Vec::new();
        if let [first] = outside.as_slice() {
            let mut before = Some(**first);
            for &target in &self.targets {
                let Some(activator) = before else { break };
                starts.push((target, vec![activator]));
                before = end_of.get(&target).map(|&end| (target, end));
            }
        }
        if starts.len() == self.targets.len() {
            return Ok(starts);
        }
        let message = format!(
            "multishot trigger {id} starts the next of {} at each of the completions of {}, and which of them \
             completes first is not known before the run",
            counted(self.targets.len(), "connection"),
            counted(self.activators.len(), "connection"),
        );
        Err(Problem::new(message).about("trigger").on_line(line))
    }
}
