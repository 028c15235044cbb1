//! GOAL: schedules of messages and computations, as LogGOPSim's `txt2bin` reads them.
//!
//! T. Hoefler, C. Siebert, A. Lumsdaine: "Group Operation Assembly Language – A Flexible Way to Express
//! Collective Communication", ICPP 2009.

use std::collections::{BTreeMap, HashMap, VecDeque};

use incast_sim::describe::work::{Operation, What};
use incast_units::{Bytes, Time};

use super::fields::{Field, Found};
use crate::files::without_mark;
use crate::grammar::foreign::Format;
use crate::limits::{MAX_FLOWS, MAX_HOSTS};
use crate::problem::{Problem, Problems};
use crate::workload::{Message, Workload};

const STATEMENTS: &str = "a line is `l1: send 10b to 1 tag 0 cpu 0 nic 0`, `l2: recv 10b from 0 tag 0`, \
                          `l3: calc 100 cpu 0`, `l2 requires l1` or `l2 irequires l1`, between `rank 0 {` \
                          and `}`";

const SENTINEL: &str =
    "schedules for LogGOPSim's htsim port end with such lines, which send nothing; remove them";

/// The schedule of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Its operations; one unit of `calc` is a nanosecond.
    pub workload: Workload,
}

impl Goal {
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
        if found.is_empty() {
            reader.match_messages(&mut found);
        }
        for operation in &mut reader.work.operations {
            for others in [&mut operation.after, &mut operation.after_start] {
                others.sort_unstable();
                others.dedup();
            }
        }
        if found.is_empty()
            && let Some(cycle) = reader.work.cycle()
        {
            found.add(waiting(&cycle, |operation| reader.lines[operation as usize]));
        }
        reader.note();
        found.into_result(Self { workload: reader.work })
    }
}

impl Format for Goal {
    const NOUN: &'static str = "a file like \"allreduce.goal\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

/// The problem of operations that wait for each other; `line` says where each is.
pub(super) fn waiting(cycle: &[u32], line: impl Fn(u32) -> u32) -> Problem {
    const MOST: usize = 6;
    let mut lines: Vec<u32> = cycle.iter().map(|&operation| line(operation)).collect();
    let first = lines.first().copied().unwrap_or(1);
    lines.dedup();
    let mut shown: Vec<String> = lines.iter().take(MOST).map(u32::to_string).collect();
    if lines.len() > MOST {
        shown.push("…".to_owned());
    }
    let message = match lines.len() {
        1 => "this operation waits for itself".to_owned(),
        _ => format!("these operations wait for each other and never start: lines {}", shown.join(", ")),
    };
    Problem::new(message).on_line(first)
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

/// A send or receive, with its other end.
struct End<'a> {
    operation: u32,
    rank: u32,
    peer: u32,
    /// `None` for a receive from any tag.
    tag: Option<u32>,
    size: u64,
    /// The field that names the other end.
    place: Field<'a>,
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
    work: Workload,
    /// The line of each operation.
    lines: Vec<u32>,
    sends: Vec<End<'a>>,
    receives: Vec<End<'a>>,
    block: Option<Block<'a>>,
    /// Whether a block is passed over whose rank could not be read.
    skipping: bool,
    /// For each rank the line of its block.
    blocks: Vec<Option<u32>>,
    empty: usize,
    shorter: usize,
    any_tag: usize,
    cards: usize,
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
        self.work.ranks = ranks as u32;
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
        let ranks = self.work.ranks;
        if rank < u64::from(ranks) {
            return Ok(rank as u32);
        }
        let message =
            format!("there is no such rank; num_ranks {ranks} numbers them 0 to {}", ranks.saturating_sub(1));
        Err(field.wrong(name, message))
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
        let (rank, operation) = (block.rank, self.work.operations.len() as u32);
        if u64::from(operation) >= MAX_FLOWS {
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
                let time = Time::from_ns(cursor.number("calc", u64::MAX / 2000)?);
                let processor =
                    if cursor.next_is("cpu") { cursor.number("cpu", u64::from(u16::MAX))? } else { 0 };
                self.push(rank, word.line, What::Compute { time, processor: processor as u16 }, label);
                return self.line_ends(cursor);
            }
            _ => {
                let message = "expected `send`, `recv` or `calc`";
                return Err(word.wrong("operation", message).with_hint(STATEMENTS));
            }
        };
        let is_send = word.text == "send";
        let size = cursor.number("size", i64::MAX as u64)?;
        cursor.expect("b")?;
        cursor.expect(preposition)?;
        let place = cursor.next(preposition)?;
        if place.text == "-1" && !is_send {
            let message = "a receive from any rank is matched while the program runs, and its sender is not in the \
                           file; name the rank";
            return Err(place.wrong("from", message));
        }
        let peer = self.rank(&place, preposition).map_err(|problem| match (is_send, size) {
            (true, 0) => problem.with_hint(SENTINEL),
            _ => problem,
        })?;
        if peer == rank {
            return Err(place.wrong(preposition, "the message would go from this rank to itself"));
        }
        let mut tag = Some(0);
        if cursor.next_is("tag") {
            tag = match is_send || !cursor.next_is("-1") {
                true => Some(cursor.number("tag", u64::from(u32::MAX))? as u32),
                false => None,
            };
        }
        if cursor.next_is("cpu") {
            // Only computations occupy a processor here.
            cursor.number("cpu", u64::from(u16::MAX))?;
        }
        if cursor.next_is("nic") && cursor.number("nic", u64::from(u16::MAX))? > 0 {
            self.cards += 1;
        }
        self.any_tag += usize::from(tag.is_none());
        // The flow of a receive is known once all sends are.
        let what =
            if is_send { What::Send { flow: self.sends.len() as u32 } } else { What::Receive { flow: 0 } };
        self.push(rank, word.line, what, label);
        let end = End { operation, rank, peer, tag, size, place };
        if is_send {
            self.sends.push(end);
        } else {
            self.receives.push(end);
        }
        self.line_ends(cursor)
    }

    fn push(&mut self, rank: u32, line: u32, what: What, label: Option<Field<'a>>) {
        let operation = self.work.add(rank, what, Vec::new());
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
                    let operation = &mut self.work.operations[waits as usize];
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

    /// Gives each receive the first message of its sender with its tag, in the order of the file.
    fn match_messages(&mut self, found: &mut Found<'_>) {
        let mut channels: HashMap<(u32, u32), Channel> = HashMap::new();
        for (flow, send) in (0_u32..).zip(&self.sends) {
            let message = Message {
                source: send.rank,
                destination: send.peer,
                size: Bytes::new(send.size.max(1)),
                start: Time::ZERO,
            };
            self.work.flows.push(message);
            self.empty += usize::from(send.size == 0);
            channels.entry((send.rank, send.peer)).or_default().add(flow, send.tag.unwrap_or(0));
        }
        for receive in &self.receives {
            let channel = channels.get_mut(&(receive.peer, receive.rank));
            let problem = match channel.and_then(|channel| channel.take(receive.tag)) {
                None => {
                    let tag = receive.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
                    let message = format!(
                        "rank {} sends no further message to rank {} with {tag}",
                        receive.peer, receive.rank
                    );
                    receive.place.wrong("from", message)
                }
                Some(flow) if self.sends[flow as usize].size > receive.size => {
                    let send = &self.sends[flow as usize];
                    let message = format!(
                        "the message of line {} has {} B, more than the {} B of this receive",
                        send.place.line, send.size, receive.size
                    );
                    Problem::new(message).about("size").on_line(receive.place.line)
                }
                Some(flow) => {
                    self.shorter += usize::from(self.sends[flow as usize].size < receive.size);
                    self.work.operations[receive.operation as usize].what = What::Receive { flow };
                    continue;
                }
            };
            if !found.add(problem) {
                return;
            }
        }
        let mut lost: Vec<u32> = channels.values().flat_map(Channel::rest).collect();
        lost.sort_unstable();
        for flow in lost {
            let send = &self.sends[flow as usize];
            let message =
                format!("rank {} has no receive for this message from rank {}", send.peer, send.rank);
            if !found.add(send.place.wrong("to", message)) {
                return;
            }
        }
    }

    fn note(&mut self) {
        let pinned = |operation: &&Operation| matches!(operation.what, What::Compute { processor, .. } if processor > 0);
        let pinned = self.work.operations.iter().filter(pinned).count();
        self.work.note(self.empty, "messages without payload", "sent with 1 B");
        self.work.note(
            self.shorter,
            "receives for more than their message has",
            "the size of the message counts",
        );
        self.work.note(
            self.any_tag,
            "receives with any tag",
            "each takes the first message of its sender that no receive above it in the file takes",
        );
        self.work.note(
            self.cards,
            "operations with nic above 0",
            "nic is not taken over; flows choose among a host's links",
        );
        self.work.note(
            pinned,
            "computations with cpu above 0",
            "these run beside those of the other processors of their host",
        );
        self.work.note_endless();
    }
}

/// The messages from one rank to another.
#[derive(Default)]
struct Channel {
    /// In the order of the file, each with whether it has been received.
    flows: Vec<(u32, bool)>,
    /// All before this one have been received.
    first: usize,
    /// For each tag the indices of its messages in `flows`.
    of_tag: BTreeMap<u32, VecDeque<usize>>,
}

impl Channel {
    fn add(&mut self, flow: u32, tag: u32) {
        self.of_tag.entry(tag).or_default().push_back(self.flows.len());
        self.flows.push((flow, false));
    }

    /// The first message that has not been received, of this tag if there is one.
    fn take(&mut self, tag: Option<u32>) -> Option<u32> {
        let index = match tag {
            Some(tag) => {
                let queue = self.of_tag.get_mut(&tag)?;
                // A receive of any tag may have taken it.
                while self.flows.get(*queue.front()?)?.1 {
                    queue.pop_front();
                }
                queue.pop_front()?
            }
            None => {
                while self.flows.get(self.first)?.1 {
                    self.first += 1;
                }
                self.first
            }
        };
        let flow = self.flows.get_mut(index)?;
        flow.1 = true;
        Some(flow.0)
    }

    /// The messages that have not been received.
    fn rest(&self) -> impl Iterator<Item = u32> {
        self.flows.iter().filter(|(_, taken)| !taken).map(|(flow, _)| *flow)
    }
}
