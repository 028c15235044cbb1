//! GOAL schedules in the binary form that LogGOPSim's `txt2bin` writes.
//!
//! All numbers are little-endian and without padding. A file has the number [`MAGIC`], the number of ranks (32 bits), the
//! highest processor and the highest network card (8 bits each); then, for each rank, where its block begins and ends (64
//! bits each, counted from the end of the magic number); then the blocks. A block has the number of its operations, the
//! number of those that wait for nothing (32 bits each), the list of these, a record of [`RECORD`] bytes for each
//! operation, and a list of operations by number, of which each record names two parts: those that wait for its end,
//! and those that wait for its start.

use incast_sim::describe::work::What;
use incast_units::Time;

use super::fields::{Found, counted};
use super::goal_schedule::{
    ANY_RANK, End, MAX_CALC, MAX_SIZE, MAX_TAG, Place, SENTINEL_BINARY, Schedule, TO_ITSELF, no_rank,
};
use crate::limits::{MAX_FLOWS, MAX_HOSTS};
use crate::problem::{Problem, Problems};
use crate::workload::Workload;

/// First number of a file.
const MAGIC: u64 = 4223;
/// First number of a file of which a run of LogGOPSim has changed the rest.
const SPENT: u64 = 2342;
/// Bytes of one operation.
const RECORD: usize = 39;
/// Bytes of the magic number, from whose end places are counted.
const BASE: usize = 8;
/// Bytes of the number of ranks and of the highest processor and card.
const HEADER: usize = 6;
/// Any rank, and any tag.
const ANY: u32 = u32::MAX;

const OTHER: &str = "records of 39 bytes are read, as txt2bin of LogGOPSim and ATLAHS writes them; those of LogGOPSim2 have 104";
const CUT: &str = "is the file truncated?";

/// Whether a file begins like this form, or like a part of its first number.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    let head = bytes.get(..BASE).unwrap_or(bytes);
    !head.is_empty() && [MAGIC, SPENT].iter().any(|number| number.to_le_bytes().starts_with(head))
}

/// Place of an operation.
#[derive(Clone, Copy)]
struct Record {
    rank: u32,
    /// Its number within its rank, from 0.
    number: u32,
    at: usize,
}

impl Place for Record {
    fn wrong(&self, field: &str, message: &str) -> Problem {
        let Self { rank, number, at } = self;
        Problem::new(format!("byte {at}, operation {number} of rank {rank}: {field}: {message}"))
    }

    fn name(&self) -> String {
        format!("operation {} of rank {} (byte {})", self.number, self.rank, self.at)
    }
}

/// The bytes of a file.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number<const N: usize>(self, at: usize, field: &str) -> Result<[u8; N], Problem> {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied();
        bytes.ok_or_else(|| {
            let message = format!("the file ends after {} bytes, before {field} (byte {at})", self.0.len());
            Problem::new(message).with_hint(CUT)
        })
    }

    fn u8(self, at: usize, field: &str) -> Result<u8, Problem> {
        self.number(at, field).map(u8::from_le_bytes)
    }

    fn u32(self, at: usize, field: &str) -> Result<u32, Problem> {
        self.number(at, field).map(u32::from_le_bytes)
    }

    fn u64(self, at: usize, field: &str) -> Result<u64, Problem> {
        self.number(at, field).map(u64::from_le_bytes)
    }
}

/// A problem at a byte of a file.
fn wrong(at: usize, field: &str, message: impl core::fmt::Display) -> Problem {
    Problem::new(format!("byte {at}: {field}: {message}"))
}

/// Reads a file; `file` is its name for messages.
pub(super) fn parse(bytes: &[u8], file: &str) -> Result<Workload, Problems> {
    let mut found = Found::new(file);
    let mut reader = Reader {
        bytes: Bytes(bytes),
        schedule: Schedule::default(),
        places: Vec::new(),
        most: [0; 2],
        sentinels: Vec::new(),
    };
    if let Err(problem) = reader.read(&mut found) {
        found.add(problem);
    }
    if let Some(problem) = reader.sentinels() {
        found.add(problem);
    }
    let places = reader.places;
    let work = reader.schedule.finish(&mut found, "bytes", |operation| places[operation as usize]);
    found.into_result(work)
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    schedule: Schedule<Record>,
    /// The first byte of each operation.
    places: Vec<u64>,
    /// The highest processor and card, by the header.
    most: [u8; 2],
    /// Sends of nothing to ranks that do not exist.
    sentinels: Vec<(Record, u32)>,
}

/// The parts of a rank's block.
#[derive(Clone, Copy)]
struct Block {
    rank: u32,
    operations: usize,
    /// First byte of the list of operations that wait for nothing, and their number.
    roots: (usize, usize),
    /// First byte of the records.
    records: usize,
    /// First byte of the list of operations, and their number.
    list: (usize, usize),
    /// Index of its first operation in the schedule.
    first: u32,
}

impl Reader<'_> {
    fn read(&mut self, found: &mut Found<'_>) -> Result<(), Problem> {
        let bytes = self.bytes;
        if bytes.u64(0, "the magic number")? == SPENT {
            let message = format!("the file begins with {SPENT}: LogGOPSim has used it up (--save-mem)");
            return Err(Problem::new(message).with_hint("make it again with txt2bin"));
        }
        let ranks = bytes.u32(BASE, "num_ranks")?;
        if ranks == 0 || u64::from(ranks) > MAX_HOSTS {
            let message = format!("{ranks}: 1 to {MAX_HOSTS} ranks are possible");
            return Err(wrong(BASE, "num_ranks", message));
        }
        self.schedule.work.ranks = ranks;
        self.most = [bytes.u8(BASE + 4, "max_cpu")?, bytes.u8(BASE + 5, "max_nic")?];
        // Blocks lie one behind the other.
        let mut behind = BASE + HEADER + 16 * ranks as usize;
        for rank in 0..ranks {
            let place = BASE + HEADER + 16 * rank as usize;
            let start = self.place(place, &format!("the start of rank {rank}"))?;
            let end = self.place(place + 8, &format!("the end of rank {rank}"))?;
            if start != behind {
                let message = format!("{start}, but the part before it ends at byte {behind}");
                return Err(wrong(place, "start of a rank", message));
            }
            if end > bytes.0.len() {
                let message = format!("{end}, but the file has {} bytes", bytes.0.len());
                return Err(wrong(place + 8, "end of a rank", message).with_hint(CUT));
            }
            self.block(rank, start, end, found)?;
            if found.is_full() {
                return Ok(());
            }
            behind = end;
        }
        if behind < bytes.0.len() {
            let message = format!("the last rank ends here, but {} bytes follow", bytes.0.len() - behind);
            return Err(wrong(behind, "end of the file", message));
        }
        Ok(())
    }

    /// A place in the file, counted from its beginning.
    fn place(&self, at: usize, field: &str) -> Result<usize, Problem> {
        let place = self.bytes.u64(at, field)?;
        let place = usize::try_from(place).ok().and_then(|place| place.checked_add(BASE));
        place.ok_or_else(|| wrong(at, field, "too large"))
    }

    fn block(&mut self, rank: u32, start: usize, end: usize, found: &mut Found<'_>) -> Result<(), Problem> {
        let misfit = |field: &str, number: usize| {
            let message =
                format!("{number}, which does not fit into the block of rank {rank}, bytes {start} to {end}");
            wrong(start, field, message).with_hint(OTHER)
        };
        let length = end.checked_sub(start).filter(|&length| length >= 8).ok_or_else(|| {
            wrong(start, "block", format_args!("rank {rank} ends at byte {end}; a block has 8 bytes or more"))
        })?;
        let operations = self.bytes.u32(start, "the number of operations")? as usize;
        let roots = self.bytes.u32(start + 4, "the number of operations that wait for nothing")? as usize;
        if self.places.len() as u64 + operations as u64 > MAX_FLOWS {
            let message = format!("there are more than {MAX_FLOWS} operations");
            return Err(wrong(start, "number of operations", message));
        }
        let records = 8 + 4 * roots;
        if records > length || roots > operations {
            return Err(misfit("number of operations that wait for nothing", roots));
        }
        let list = records + RECORD * operations;
        let rest = length.checked_sub(list).filter(|rest| rest % 4 == 0);
        let rest = rest.ok_or_else(|| misfit("number of operations", operations))?;
        let block = Block {
            rank,
            operations,
            roots: (start + 8, roots),
            records: start + records,
            list: (start + list, rest / 4),
            first: self.places.len() as u32,
        };
        let counts = self.records(&block, found)?;
        if !found.is_empty() || !self.sentinels.is_empty() {
            return Ok(());
        }
        self.dependencies(&block, &counts)
    }

    /// Reads the operations of a block; returns for each the number of those that it waits for.
    fn records(&mut self, block: &Block, found: &mut Found<'_>) -> Result<Vec<u32>, Problem> {
        let mut counts = Vec::with_capacity(block.operations);
        for number in 0..block.operations {
            let at = block.records + RECORD * number;
            let record = Record { rank: block.rank, number: number as u32, at };
            counts.push(self.bytes.u32(at, "an operation")?);
            let added = self.operation(record, at)?;
            self.places.push(at as u64);
            if let Err(problem) = added {
                // Its place in the order stays taken.
                self.schedule.work.add(
                    block.rank,
                    What::Compute { time: Time::ZERO, processor: 0 },
                    Vec::new(),
                );
                if !found.add(problem) {
                    break;
                }
            }
        }
        Ok(counts)
    }

    /// Reads what an operation does; the outer error is a file that ends.
    fn operation(&mut self, record: Record, at: usize) -> Result<Result<(), Problem>, Problem> {
        let kind = self.bytes.u8(at + 4, "the type of an operation")?;
        let peer = self.bytes.u32(at + 5, "the peer of an operation")?;
        let size = self.bytes.u64(at + 9, "the size of an operation")?;
        let tag = self.bytes.u32(at + 17, "the tag of an operation")?;
        let cpu = self.bytes.u8(at + 21, "the cpu of an operation")?;
        let nic = self.bytes.u8(at + 22, "the nic of an operation")?;
        let ranks = self.schedule.work.ranks;
        let quoted = |number: u64, message: &str| format!("{number}: {message}");
        for (name, number, most) in [("cpu", cpu, self.most[0]), ("nic", nic, self.most[1])] {
            if number > most {
                let message = format!("{number}, but the header says that {most} is the highest");
                return Ok(Err(record.wrong(name, &message)));
            }
        }
        let (is_send, other) = match kind {
            1 => (true, "to"),
            2 => (false, "from"),
            3 if size > MAX_CALC => {
                let message = format!("too large; at most {MAX_CALC} is possible");
                return Ok(Err(record.wrong("calc", &quoted(size, &message))));
            }
            3 => {
                let what = What::Compute { time: Time::from_ns(size), processor: cpu.into() };
                self.schedule.work.add(record.rank, what, Vec::new());
                return Ok(Ok(()));
            }
            _ => {
                let message = "no operation; 1 is a send, 2 a receive, 3 a computation";
                return Ok(Err(record.wrong("type", &quoted(kind.into(), message)).with_hint(OTHER)));
            }
        };
        if size > MAX_SIZE {
            let message = format!("too large; at most {MAX_SIZE} is possible");
            return Ok(Err(record.wrong("size", &quoted(size, &message))));
        }
        if peer == ANY && !is_send {
            return Ok(Err(record.wrong(other, ANY_RANK)));
        }
        if peer >= ranks {
            if is_send && size == 0 {
                self.sentinels.push((record, peer));
            } else {
                return Ok(Err(record.wrong(other, &quoted(peer.into(), &no_rank(ranks)))));
            }
        }
        if peer == record.rank {
            return Ok(Err(record.wrong(other, TO_ITSELF)));
        }
        if tag == ANY && is_send {
            let message = format!("too large; at most {MAX_TAG} is possible");
            return Ok(Err(record.wrong("tag", &quoted(tag.into(), &message))));
        }
        self.schedule.cards += usize::from(nic > 0);
        let tag = (tag != ANY).then_some(tag);
        let end = End { rank: record.rank, peer, tag, size, place: record };
        if is_send {
            self.schedule.send(end)
        } else {
            self.schedule.receive(end)
        };
        Ok(Ok(()))
    }

    /// Resolves the dependencies of a block, and checks that its three accounts of them agree.
    fn dependencies(&mut self, block: &Block, counts: &[u32]) -> Result<(), Problem> {
        let (list, length) = block.list;
        let mut waits = vec![0_u32; block.operations];
        let mut named = vec![false; length];
        for operation in 0..block.operations {
            let at = block.records + RECORD * operation;
            for (part, field) in [(at + 23, "end"), (at + 31, "start")] {
                let count = self.bytes.u32(part, "a number of dependants")?;
                let from = self.bytes.u32(part + 4, "a place of dependants")?;
                // Without any, some writers leave the place undefined.
                if count == 0 {
                    continue;
                }
                if u64::from(from) + u64::from(count) > length as u64 {
                    let message = format!(
                        "operation {operation} of rank {}: {count} that wait for its {field}, from number {from} of a list \
                         of {length}",
                        block.rank
                    );
                    return Err(wrong(part, "dependants", message).with_hint(OTHER));
                }
                for number in from..from + count {
                    let place = list + 4 * number as usize;
                    let other = self.bytes.u32(place, "a dependant")?;
                    if core::mem::replace(&mut named[number as usize], true) {
                        let message = format!("two operations of rank {} name this number", block.rank);
                        return Err(wrong(place, "dependant", message).with_hint(OTHER));
                    }
                    let Some(waits) = waits.get_mut(other as usize) else {
                        let message = format!(
                            "{other}: rank {} has {} operations, numbered from 0",
                            block.rank, block.operations
                        );
                        return Err(wrong(place, "dependant", message));
                    };
                    *waits += 1;
                    let waiting = &mut self.schedule.work.operations[(block.first + other) as usize];
                    if field == "end" { &mut waiting.after } else { &mut waiting.after_start }
                        .push(block.first + operation as u32);
                }
            }
        }
        if let Some(lost) = named.iter().position(|named| !named) {
            let message = format!("no operation of rank {} names this number", block.rank);
            return Err(wrong(list + 4 * lost, "dependant", message).with_hint(OTHER));
        }
        for (number, (count, waits)) in counts.iter().zip(&waits).enumerate() {
            if count != waits {
                let message = format!(
                    "operation {number} of rank {} waits for {count} others by its record, and for {waits} by theirs",
                    block.rank
                );
                return Err(wrong(block.records + RECORD * number, "dependencies", message));
            }
        }
        let (place, number) = block.roots;
        let mut roots = Vec::with_capacity(number);
        for i in 0..number {
            roots.push(self.bytes.u32(place + 4 * i, "an operation that waits for nothing")?);
        }
        roots.sort_unstable();
        if !(0_u32..).zip(&waits).filter(|(_, waits)| **waits == 0).map(|(number, _)| number).eq(roots) {
            let message =
                format!("the list of operations of rank {} that wait for nothing is not right", block.rank);
            return Err(wrong(place, "first operations", message));
        }
        Ok(())
    }

    /// The problem of all sends of nothing to ranks that do not exist.
    fn sentinels(&self) -> Option<Problem> {
        let (record, peer) = self.sentinels.first()?;
        let more = match self.sentinels.len() - 1 {
            0 => String::new(),
            more => format!(" (and so on in {} below)", counted(more, "operation")),
        };
        let message = format!("{peer}: {}{more}", no_rank(self.schedule.work.ranks));
        Some(record.wrong("to", &message).with_hint(SENTINEL_BINARY))
    }
}
