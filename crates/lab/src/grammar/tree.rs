//! A TOML document as a tree in which every value has its position, with the overrides of the command line
//! applied.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::Problem;

/// Place of a value in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// 0: the file itself; `i + 1`: the override number `i`; [`BUILT_IN`]: a contestant of Incast.
    source: u32,
    line: u32,
    column: u32,
}

/// The source of what a contestant of Incast sets.
const BUILT_IN: u32 = u32::MAX;

impl Place {
    /// The place of all that a contestant of Incast sets.
    pub(crate) const CONTESTANT: Self = Self { source: BUILT_IN, line: 0, column: 0 };

    /// Returns the place of the override of this number.
    pub(crate) fn of_override(index: usize) -> Self {
        Self { source: index as u32 + 1, line: 1, column: 1 }
    }

    /// The number of the override in which it is, if it is in one.
    pub(crate) fn override_number(self) -> Option<usize> {
        (self.source != 0 && self.source != BUILT_IN).then(|| self.source as usize - 1)
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

impl Node {
    /// The name of a block in a list: its `name`, or else its `kind`.
    pub(crate) fn name(&self) -> Option<&str> {
        let Value::Table(table) = &self.value else { return None };
        match &table.get("name").or_else(|| table.get("kind"))?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A TOML value. Numbers keep their text, so that decimals are read exactly.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Decimal(String),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys with the places of their names, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<(String, Place, Node)>);

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(name, _, _)| name == key).map(|(_, _, node)| node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(name, _, _)| name == key).map(|(_, _, node)| node)
    }

    /// Writes a key, in the place of what it was.
    pub(crate) fn set(&mut self, key: &str, place: Place, node: Node) {
        match self.0.iter_mut().find(|(name, _, _)| name == key) {
            Some(entry) => (entry.1, entry.2) = (place, node),
            None => self.0.push((key.to_owned(), place, node)),
        }
    }

    /// Removes a key, and returns whether it was there.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _, _)| name != key);
        self.0.len() < before
    }

    /// The table at a key; anything else that is there gives way to an empty one.
    pub(crate) fn section(&mut self, key: &str, place: Place) -> &mut Self {
        if !matches!(self.get(key), Some(Node { value: Value::Table(_), .. })) {
            self.set(key, place, Node { place, value: Value::Table(Self::default()) });
        }
        let at = self.0.iter_mut().find(|(name, _, _)| name == key).map(|(_, _, node)| &mut node.value);
        match at {
            Some(Value::Table(table)) => table,
            _ => unreachable!("it was just written"),
        }
    }

    /// Removes the key at a path, whose step into a list is a number or a name; returns whether it was there.
    pub(crate) fn forget(&mut self, path: &str) -> bool {
        let Some((step, rest)) = path.split_once('.') else { return self.remove(path) };
        match self.get_mut(step).map(|node| &mut node.value) {
            Some(Value::Table(table)) => table.forget(rest),
            Some(Value::List(items)) => {
                let Some((which, rest)) = rest.split_once('.') else { return false };
                match element(items, which).map(|item| &mut item.value) {
                    Some(Value::Table(table)) => table.forget(rest),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl Value {
    /// The name of this kind of value in messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Decimal(_) => "a decimal number",
            Self::Flag(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value as a message shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(number) => number.to_string(),
            Self::Decimal(text) | Self::Date(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// The texts from which a tree was read, to convert positions to lines and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    pub(crate) file: String,
    pub(crate) overrides: Vec<String>,
    /// The contestant that was chosen.
    pub(crate) contestant: Option<String>,
}

impl Sources {
    /// `problem` with the place written in.
    pub(crate) fn locate(&self, mut problem: Problem, place: Place) -> Problem {
        if let Some(file) = &problem.file {
            // It lies in another file, which this place names.
            if *file != self.file && place.line > 0 {
                let named = format!("named in {}:{}", self.file, place.line);
                problem.hint = Some(problem.hint.map_or(named.clone(), |hint| format!("{hint}; {named}")));
            }
        } else if place.source == 0 {
            problem.file = Some(self.file.clone());
            if place.line > 0 {
                problem.line = Some(place.line);
                problem.column = Some(place.column);
            }
        } else if place.source == BUILT_IN {
            problem.file = self.contestant.as_ref().map(|name| format!("contestant {name}"));
        } else {
            problem.file = self.overrides.get(place.source as usize - 1).map(|text| format!("--set {text}"));
        }
        problem
    }
}

/// Turns byte offsets into places.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    source: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, source: u32) -> Self {
        let starts =
            core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect::<Vec<_>>();
        Self { text, starts, source }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1];
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Place { source: self.source, line: line as u32, column: column as u32 }
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let place = self.place(value.span().start);
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                match i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => Value::Decimal(number.to_string()),
                }
            }
            DeValue::Float(number) => Value::Decimal(number.as_str().replace('_', "")),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(items) => Value::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { place, value }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let mut entries: Vec<(Range<usize>, String, Node)> = table
            .iter()
            .map(|(key, value)| (key.span(), key.get_ref().to_string(), self.node(value)))
            .collect();
        entries.sort_by_key(|(span, _, _)| span.start);
        Table(entries.into_iter().map(|(span, key, node)| (key, self.place(span.start), node)).collect())
    }
}

/// Reads a TOML document.
///
/// # Errors
/// All its syntax errors, in order.
pub(crate) fn parse(text: &str, sources: &Sources) -> Result<Table, Vec<Problem>> {
    let lines = Lines::new(text, 0);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(lines.table(table.get_ref()));
    }
    let end = text.trim_end().len();
    let problem = |error: &toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        let mut problem = Problem::new(format!("this is not TOML: {}", error.message()));
        if offset >= end {
            problem = problem.with_hint("the file ends unexpectedly; is it truncated?");
        }
        sources.locate(problem, lines.place(offset.min(text.len())))
    };
    let mut problems: Vec<Problem> = errors.iter().map(problem).collect();
    problems.sort_by_key(|p| (p.line, p.column));
    // One slip makes the parser stumble several times on the same line; the first is the cause.
    problems.dedup_by_key(|p| p.line);
    Err(problems)
}

/// The value of an override: TOML where it is TOML, a plain text where it is not, so that
/// `topology.rate=100Gbps` needs no quotes.
pub(crate) fn parse_value(text: &str, source: u32) -> Node {
    let text = text.trim();
    match DeValue::parse(text) {
        Ok(value) => {
            let mut node = Lines::new(text, source).node(&value);
            // Whatever a date is, in a scenario it is a text.
            if let Value::Date(_) = node.value {
                node.value = Value::Text(text.to_owned());
            }
            node
        }
        Err(_) => Node { place: Place { source, line: 1, column: 1 }, value: Value::Text(text.to_owned()) },
    }
}

/// Applies `key.path=value` (the override number `index`) to the document.
///
/// A step of the path into a list is a number, or the `name` of the block that is meant.
///
/// # Errors
/// When the text has no `=`, or when the path does not exist.
pub(crate) fn apply_override(root: &mut Table, text: &str, index: usize) -> Result<(), Problem> {
    let source = index as u32 + 1;
    let fail = |message: String| Problem::new(message).in_file(format!("--set {text}"));
    let Some((path, value)) = text.split_once('=') else {
        return Err(fail("an override is written key.path=value".to_owned())
            .with_hint("for instance --set topology.rate=100Gbps"));
    };
    let steps: Vec<&str> = path.trim().split('.').map(str::trim).collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(fail(format!("{:?} is not a path of keys joined by dots", path.trim())));
    }
    let place = Place { source, line: 1, column: 1 };
    let mut node = parse_value(value, source);
    let Some((last, parents)) = steps.split_last() else { return Ok(()) };
    let mut at = root;
    let mut walked: Vec<&str> = Vec::new();
    let mut parents = parents.iter();
    while let Some(&step) = parents.next() {
        walked.push(step);
        if at.get(step).is_none_or(|node| matches!(node.value, Value::Flag(_))) {
            // A section that is absent, or switched on or off as a whole, begins empty.
            at.0.retain(|(name, _, _)| name != step);
            at.0.push((step.to_owned(), place, Node { place, value: Value::Table(Table::default()) }));
        }
        let Some(next) = at.get_mut(step) else { return Ok(()) };
        at = match &mut next.value {
            Value::Table(table) => table,
            Value::List(items) => {
                let Some(&which) = parents.next() else {
                    // The last step names an element of this list.
                    let Some(item) = element(items, last) else {
                        return Err(fail(no_element(&walked, last, items)));
                    };
                    node.place = place;
                    *item = node;
                    return Ok(());
                };
                if element(items, which).is_none() {
                    return Err(fail(no_element(&walked, which, items)));
                }
                walked.push(which);
                match element(items, which).map(|item| &mut item.value) {
                    Some(Value::Table(table)) => table,
                    _ => return Err(fail(format!("{} has no keys of its own", walked.join(".")))),
                }
            }
            other => {
                return Err(fail(format!("{} is {}, not a table", walked.join("."), other.noun())));
            }
        };
    }
    match at.get_mut(last) {
        Some(old) => *old = node,
        None => at.0.push(((*last).to_owned(), place, node)),
    }
    if let Some(entry) = at.0.iter_mut().find(|(name, _, _)| name == last) {
        entry.1 = place;
    }
    Ok(())
}

/// The element of a list by number or by the `name` in its table.
fn element<'a>(items: &'a mut [Node], step: &str) -> Option<&'a mut Node> {
    if let Ok(index) = step.parse::<usize>() {
        return items.get_mut(index);
    }
    items.iter_mut().find(|item| item.name() == Some(step))
}

fn no_element(walked: &[&str], step: &str, items: &[Node]) -> String {
    let names: Vec<&str> = items.iter().filter_map(Node::name).collect();
    let list = walked.join(".");
    if names.is_empty() {
        format!("{list} has {} elements, numbered from 0, and none is {step:?}", items.len())
    } else {
        format!("{list} has no element {step:?}; its elements are {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        Sources { file: "a.toml".to_owned(), ..Sources::default() }
    }

    #[test]
    fn every_value_knows_its_place() {
        let text = "a = 1\n[b]\nc = \"é\" # text\nd = [ 0.5,\n  true ]\n";
        let table = parse(text, &sources()).unwrap();
        let Value::Table(b) = &table.get("b").unwrap().value else { panic!() };
        let at = |node: &Node| (node.place.line, node.place.column);
        assert_eq!(at(table.get("a").unwrap()), (1, 5));
        assert_eq!(at(b.get("c").unwrap()), (3, 5));
        let Value::List(items) = &b.get("d").unwrap().value else { panic!() };
        assert_eq!(at(&items[0]), (4, 7));
        assert_eq!(at(&items[1]), (5, 3));
        assert!(matches!(&items[0].value, Value::Decimal(text) if text == "0.5"));
    }

    #[test]
    fn overrides_find_sections_and_blocks() {
        let text = "[[traffic]]\nname = \"a\"\nload = 0.1\n[[traffic]]\nkind = \"incast\"\n";
        let mut table = parse(text, &sources()).unwrap();
        for (i, text) in [
            "traffic.0.load=0.5",
            "traffic.incast.size = 450KB",
            "switch.pfc.headroom=auto",
            "run.until=\"1ms\"",
        ]
        .iter()
        .enumerate()
        {
            apply_override(&mut table, text, i).unwrap();
        }
        let Value::List(items) = &table.get("traffic").unwrap().value else { panic!() };
        let value = |item: &Node, key: &str| match &item.value {
            Value::Table(table) => table.get(key).unwrap().value.shown(),
            _ => panic!(),
        };
        assert_eq!(value(&items[0], "load"), "0.5");
        assert_eq!(value(&items[1], "size"), "\"450KB\"");
        assert_eq!(value(table.get("run").unwrap(), "until"), "\"1ms\"");
        let error = apply_override(&mut table, "traffic.b.load=1", 9).unwrap_err().to_string();
        assert_eq!(error, "--set traffic.b.load=1: traffic has no element \"b\"; its elements are a, incast");
        assert!(apply_override(&mut table, "traffic", 9).is_err());
        assert!(apply_override(&mut table, "run.until.x=1", 9).is_err());
    }
}
