//! GOAL: schedules of messages and computations, as LogGOPSim's `txt2bin` reads and writes them.
//!
//! `goal_binary` reads the binary form. T. Hoefler, C. Siebert, A. Lumsdaine: "Group Operation Assembly Language – A
//! Flexible Way to Express Collective Communication", ICPP 2009.

use std::collections::HashMap;

use incast_sim::describe::work::What;
use incast_units::Time;

use super::fields::{Field, Found};
use super::goal_binary;
use super::goal_schedule::{
    ANY_RANK, End, MAX_CALC, MAX_SIZE, MAX_TAG, SENTINEL, Schedule, TO_ITSELF, no_rank,
};
use crate::files::{self, without_mark};
use crate::grammar::foreign::Format;
use crate::limits::{MAX_FLOWS, MAX_HOSTS};
use crate::problem::{Problem, Problems};
use crate::workload::Workload;

const STATEMENTS: &str = "a line is `l1: send 10b to 1 tag 0 cpu 0 nic 0`, `l2: recv 10b from 0 tag 0`, \
                          `l3: calc 100 cpu 0`, `l2 requires l1` or `l2 irequires l1`, between `rank 0 {` \
                          and `}`";

/// The schedule of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Its operations; one unit of `calc` is a nanosecond.
    pub workload: Workload,
}

impl Goal {
    /// Whether a file has the binary form.
    #[must_use]
    pub fn is_binary(bytes: &[u8]) -> bool {
        goal_binary::is_binary(bytes)
    }

    /// Reads a file in either form; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line or byte and field.
    pub fn read(bytes: Vec<u8>, file: &str) -> Result<Self, Problems> {
        if Self::is_binary(&bytes) {
            return goal_binary::parse(&bytes, file).map(|workload| Self { workload });
        }
        Self::parse(&files::text_of(bytes, file)?, file)
    }

    /// Reads the text of a file; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut reader = Reader::default();
        let mut words = Words::default();
        for (i, line) in (1_u32..).zip(without_mark(text).lines()) {
            words.split(line, i);
            let mut cursor = Cursor { fields: &words.fields, at: 0, line: i };
            while !cursor.is_done() && !found.is_full() {
                if let Err(problem) = reader.statement(&mut cursor, &mut found) {
                    found.add(problem);
                    break;
                }
            }
            if found.is_full() {
                break;
            }
        }
        let lines = text.lines().count().max(1) as u32;
        if found.is_empty()
            && let Err(problem) = reader.finished(words.comment, lines)
        {
            found.add(problem);
        }
        let lines = core::mem::take(&mut reader.lines);
        let workload =
            reader.schedule.finish(&mut found, "lines", |operation| lines[operation as usize].into());
        found.into_result(Self { workload })
    }
}

impl Format for Goal {
    const NOUN: &'static str = "a file like \"allreduce.goal\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }

    fn read(bytes: Vec<u8>, file: &str) -> Result<Self, Problems> {
        Self::read(bytes, file)
    }
}

/// A line as words, numbers and single characters, without comments.
#[derive(Default)]
struct Words<'a> {
    fields: Vec<Field<'a>>,
    /// The line on which a comment that has not ended begins.
    comment: Option<u32>,
}

impl<'a> Words<'a> {
    fn split(&mut self, text: &'a str, line: u32) {
        self.fields.clear();
        let mut chars = text.char_indices().zip(1_u32..).peekable();
        while let Some(((start, first), column)) = chars.next() {
            let pair = text.get(start..start + 2);
            if self.comment.is_some() {
                if pair == Some("*/") {
                    chars.next();
                    self.comment = None;
                }
                continue;
            }
            match (first, pair) {
                (_, Some("//")) => return,
                (_, Some("/*")) => {
                    chars.next();
                    self.comment = Some(line);
                    continue;
                }
                (first, _) if first.is_whitespace() => continue,
                _ => {}
            }
            // `-1` is one number; `10b` a number and a word.
            let goes_on = |c: char| match first {
                '-' | '0'..='9' => c.is_ascii_digit(),
                'a'..='z' | 'A'..='Z' | '_' => c.is_ascii_alphanumeric() || c == '_',
                _ => false,
            };
            let mut end = start + first.len_utf8();
            while let Some(((at, c), _)) = chars.next_if(|((_, c), _)| goes_on(*c)) {
                end = at + c.len_utf8();
            }
            self.fields.push(Field { text: text.get(start..end).unwrap_or_default(), line, column });
        }
    }
}

/// The fields of a line that have not been read.
struct Cursor<'l, 'a> {
    fields: &'l [Field<'a>],
    at: usize,
    line: u32,
}

impl<'a> Cursor<'_, 'a> {
    fn is_done(&self) -> bool {
        self.at >= self.fields.len()
    }

    /// Whether the next field is this word; if so it is read.
    fn next_is(&mut self, word: &str) -> bool {
        let is = self.fields.get(self.at).is_some_and(|field| field.text == word);
        self.at += usize::from(is);
        is
    }

    /// The next field, which is called `name`.
    fn next(&mut self, name: &str) -> Result<Field<'a>, Problem> {
        let field = self.fields.get(self.at).copied();
        self.at += 1;
        field.ok_or_else(|| {
            let message = "the line ends too early";
            Problem::new(message).about(name).on_line(self.line).with_hint(STATEMENTS)
        })
    }

    /// The next field, which must be this word.
    fn expect(&mut self, word: &str) -> Result<(), Problem> {
        let field = self.next(word)?;
        let wrong = || field.wrong(word, format_args!("expected `{word}` here")).with_hint(STATEMENTS);
        if field.text == word { Ok(()) } else { Err(wrong()) }
    }

    /// The next field as a whole number.
    fn number(&mut self, name: &str, most: u64) -> Result<u64, Problem> {
        self.next(name)?.whole(name, most).map_err(|problem| problem.with_hint(STATEMENTS))
    }
}

/// `l2 requires l1`.
struct Dependency<'a> {
    waits: Field<'a>,
    other: Field<'a>,
    /// For the start of the other, and not its end.
    start: bool,
}

/// The block that is being read.
struct Block<'a> {
    rank: u32,
    line: u32,
    labels: HashMap<&'a str, u32>,
    dependencies: Vec<Dependency<'a>>,
}

#[derive(Default)]
struct Reader<'a> {
    schedule: Schedule<Field<'a>>,
    /// The line of each operation.
    lines: Vec<u32>,
    block: Option<Block<'a>>,
    /// Whether a block is passed over whose rank could not be read.
    skipping: bool,
    /// For each rank the line of its block.
    blocks: Vec<Option<u32>>,
}

impl<'a> Reader<'a> {
    fn statement(&mut self, cursor: &mut Cursor<'_, 'a>, found: &mut Found<'_>) -> Result<(), Problem> {
        let field = cursor.next("statement")?;
        if self.skipping {
            self.skipping = field.text != "}";
            return Ok(());
        }
        match (field.text, &mut self.block) {
            ("num_ranks", None) => {
                if !self.blocks.is_empty() {
                    return Err(field.wrong("num_ranks", "is given twice"));
                }
                // A number that cannot be read is no reason to complain of the ranks.
                self.number(MAX_HOSTS);
                let ranks = cursor.number("num_ranks", MAX_HOSTS)?;
                if ranks == 0 {
                    return Err(field.wrong("num_ranks", "there must be at least one rank"));
                }
                self.number(ranks);
            }
            ("rank", None) => {
                if self.blocks.is_empty() {
                    self.number(MAX_HOSTS);
                    self.skipping = true;
                    return Err(field.wrong("rank", "the file must begin with `num_ranks` and their number"));
                }
                let block = self.opens(field.line, cursor);
                self.skipping = block.is_err();
                self.block = Some(block?);
            }
            ("num_ranks" | "rank", Some(block)) => {
                let message = format!("the block of rank {} (line {}) has no `}}`", block.rank, block.line);
                (self.block, self.skipping) = (None, true);
                return Err(field.wrong("statement", message));
            }
            ("}", Some(_)) => self.close(found),
            (_, None) => {
                let message = "is outside of a block; expected `num_ranks`, and then `rank 0 {`";
                return Err(field.wrong("statement", message).with_hint(STATEMENTS));
            }
            ("send" | "recv" | "calc", Some(_)) => self.operation(field, None, cursor)?,
            (label, Some(block)) if label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                let next = cursor.next("statement")?;
                match next.text {
                    ":" => {
                        let word = cursor.next("operation")?;
                        return self.operation(word, Some(field), cursor);
                    }
                    "requires" | "irequires" => {
                        let other = cursor.next(next.text)?;
                        let start = next.text == "irequires";
                        block.dependencies.push(Dependency { waits: field, other, start });
                        self.line_ends(cursor)?;
                    }
                    _ => {
                        let message = "expected `:`, `requires` or `irequires` after a label";
                        return Err(next.wrong("statement", message).with_hint(STATEMENTS));
                    }
                }
            }
            _ => return Err(field.wrong("statement", "begins no statement").with_hint(STATEMENTS)),
        }
        Ok(())
    }

    /// Takes note of the number of ranks.
    fn number(&mut self, ranks: u64) {
        self.schedule.work.ranks = ranks as u32;
        self.blocks = vec![None; ranks as usize];
    }

    /// Begins the block of a rank.
    fn opens(&mut self, line: u32, cursor: &mut Cursor<'_, 'a>) -> Result<Block<'a>, Problem> {
        let name = cursor.next("rank")?;
        let rank = self.rank(&name, "rank")?;
        if let Some(line) = self.blocks[rank as usize].replace(line) {
            return Err(name.wrong("rank", format_args!("this rank has a block on line {line} already")));
        }
        cursor.expect("{")?;
        Ok(Block { rank, line, labels: HashMap::new(), dependencies: Vec::new() })
    }

    /// A rank's number.
    fn rank(&self, field: &Field<'_>, name: &str) -> Result<u32, Problem> {
        let rank = field.whole(name, u64::from(u32::MAX)).map_err(|problem| problem.with_hint(STATEMENTS))?;
        let ranks = self.schedule.work.ranks;
        if rank < u64::from(ranks) {
            return Ok(rank as u32);
        }
        Err(field.wrong(name, no_rank(ranks)))
    }

    /// An operation ends with its line, or its block.
    fn line_ends(&self, cursor: &Cursor<'_, 'a>) -> Result<(), Problem> {
        match cursor.fields.get(cursor.at) {
            Some(field) if field.text != "}" => {
                Err(field.wrong("statement", "the line should end here").with_hint(STATEMENTS))
            }
            _ => Ok(()),
        }
    }

    fn operation(
        &mut self,
        word: Field<'a>,
        label: Option<Field<'a>>,
        cursor: &mut Cursor<'_, 'a>,
    ) -> Result<(), Problem> {
        let Some(block) = &mut self.block else { return Ok(()) };
        let rank = block.rank;
        if self.schedule.work.operations.len() as u64 >= MAX_FLOWS {
            return Err(word.wrong("operation", format_args!("there are more than {MAX_FLOWS} operations")));
        }
        if let Some(label) = label
            && let Some(&other) = block.labels.get(label.text)
        {
            let line = self.lines[other as usize];
            return Err(label.wrong("label", format_args!("this rank has it on line {line} already")));
        }
        let preposition = match word.text {
            "send" => "to",
            "recv" => "from",
            "calc" => {
                let time = Time::from_ns(cursor.number("calc", MAX_CALC)?);
                let processor =
                    if cursor.next_is("cpu") { cursor.number("cpu", u64::from(u16::MAX))? } else { 0 };
                let what = What::Compute { time, processor: processor as u16 };
                let operation = self.schedule.work.add(rank, what, Vec::new());
                self.added(operation, word.line, label);
                return self.line_ends(cursor);
            }
            _ => {
                let message = "expected `send`, `recv` or `calc`";
                return Err(word.wrong("operation", message).with_hint(STATEMENTS));
            }
        };
        let is_send = word.text == "send";
        let size = cursor.number("size", MAX_SIZE)?;
        cursor.expect("b")?;
        cursor.expect(preposition)?;
        let place = cursor.next(preposition)?;
        if place.text == "-1" && !is_send {
            return Err(place.wrong("from", ANY_RANK));
        }
        let peer = self.rank(&place, preposition).map_err(|problem| match (is_send, size) {
            (true, 0) => problem.with_hint(SENTINEL),
            _ => problem,
        })?;
        if peer == rank {
            return Err(place.wrong(preposition, TO_ITSELF));
        }
        let mut tag = Some(0);
        if cursor.next_is("tag") {
            tag = match is_send || !cursor.next_is("-1") {
                true => Some(cursor.number("tag", MAX_TAG)? as u32),
                false => None,
            };
        }
        if cursor.next_is("cpu") {
            // Only computations occupy a processor here.
            cursor.number("cpu", u64::from(u16::MAX))?;
        }
        if cursor.next_is("nic") && cursor.number("nic", u64::from(u16::MAX))? > 0 {
            self.schedule.cards += 1;
        }
        let end = End { rank, peer, tag, size, place };
        let operation = if is_send { self.schedule.send(end) } else { self.schedule.receive(end) };
        self.added(operation, word.line, label);
        self.line_ends(cursor)
    }

    fn added(&mut self, operation: u32, line: u32, label: Option<Field<'a>>) {
        self.lines.push(line);
        if let (Some(block), Some(label)) = (&mut self.block, label) {
            block.labels.insert(label.text, operation);
        }
    }

    /// Ends a block and resolves its dependencies, as all its labels are known.
    fn close(&mut self, found: &mut Found<'_>) {
        let Some(block) = self.block.take() else { return };
        if !found.is_empty() {
            // An operation that could not be read has taken its label with it.
            return;
        }
        for Dependency { waits, other, start } in block.dependencies {
            let label = |field: &Field<'_>| {
                block.labels.get(field.text).copied().ok_or_else(|| {
                    field.wrong("label", format_args!("rank {} has no operation with this label", block.rank))
                })
            };
            match label(&waits).and_then(|waits| Ok((waits, label(&other)?))) {
                Ok((waits, other)) => {
                    let operation = &mut self.schedule.work.operations[waits as usize];
                    if start { &mut operation.after_start } else { &mut operation.after }.push(other);
                }
                Err(problem) => {
                    if !found.add(problem) {
                        return;
                    }
                }
            }
        }
    }

    /// Checks that the file is whole.
    fn finished(&self, comment: Option<u32>, last: u32) -> Result<(), Problem> {
        let cut =
            |message: String| Err(Problem::new(message).on_line(last).with_hint("is the file truncated?"));
        if let Some(line) = comment {
            return cut(format!("the file ends within the comment that begins on line {line}"));
        }
        if let Some(block) = &self.block {
            return cut(format!(
                "the file ends within the block of rank {}, which begins on line {}",
                block.rank, block.line
            ));
        }
        if self.blocks.is_empty() {
            return cut("the file has no `num_ranks`".to_owned());
        }
        match self.blocks.iter().position(Option::is_none) {
            Some(rank) => cut(format!("num_ranks says {}, but rank {rank} has no block", self.blocks.len())),
            None => Ok(()),
        }
    }
}
