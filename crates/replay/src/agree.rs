//! The comparison of targets with native Rust, and the first difference in words.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::digest::Digest;
use crate::native::{self, Inner, Seen};
use crate::record::{Pool, Records, record};
use crate::recording::Recording;
use crate::targets::{NEVER, Target};
use crate::trace::{self, Call, Reader, Record, Writer};

/// Number of steps between two digests.
const EVERY: u64 = 1024;

/// A bit that one target reads inverted: a fault made on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Flip {
    /// The target.
    pub target: &'static str,
    /// The step.
    pub step: u64,
    /// The bit of what follows the head of the record.
    pub bit: u64,
}

/// Counts of the steps that were compared and found equal.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Calls from the simulator.
    pub simulated: u64,
    /// Random calls.
    pub random: u64,
    /// Number of changes of window or rate.
    pub changes: u64,
    /// Bytes of the state.
    pub state: usize,
    /// Number of those words that are padding.
    pub padding: usize,
}

/// Replays at least `calls` calls of an algorithm through native Rust and through the targets. The trace is a file in
/// `folder`, and is removed.
///
/// # Errors
/// The first difference; or why a replay fails.
pub fn agree(
    algorithm: &str,
    calls: u64,
    pool: &Pool,
    targets: &[Target],
    folder: &Path,
    flip: Option<Flip>,
) -> Result<Agreement, String> {
    let Records { writer, simulated, random } = record(algorithm, calls, pool)?;
    let compared = replayed(algorithm, &writer, targets, folder, flip)?;
    Ok(Agreement { simulated, random, ..compared })
}

/// Replays a recording through native Rust and through the targets, and compares with what the kernel computed.
///
/// # Errors
/// As [`agree`].
pub fn agree_with_kernel(
    recording: &Recording,
    targets: &[Target],
    folder: &Path,
) -> Result<Agreement, String> {
    let Recording { algorithm, writer, steps, .. } = recording;
    let records = writer.bytes();
    let mask = native::mask(records)?;
    let ours = digests(records, &mask)?.0;
    let recorded = |[every, from, to]: [u64; 3]| {
        let masks = masks(&mask);
        let (mut out, mut digest) = (Vec::new(), Digest::START);
        for (step, (seen, state)) in (0..).zip(steps) {
            let state: Vec<u32> = state.iter().zip(&masks).map(|(word, mask)| word & mask).collect();
            if every > 0 {
                take(&mut digest, *seen, state);
                if (step + 1_u64).is_multiple_of(every) {
                    out.push(digest.value());
                }
            } else if (from..to).contains(&step) {
                out.extend([step, seen.window, seen.rate, seen.deadline, seen.tag.into(), 0]);
                let pair = |words: &[u32]| u64::from(words[0]) | u64::from(*words.get(1).unwrap_or(&0)) << 32;
                out.extend(state.chunks(2).map(pair));
            }
        }
        if every > 0 {
            out.push(digest.value());
        }
        Ok(out)
    };
    same(algorithm, records, &mask, &ours, "kernel", recorded)?;
    replayed(algorithm, writer, targets, folder, None)
}

/// Replays records through native Rust and through the targets.
fn replayed(
    algorithm: &str,
    writer: &Writer,
    targets: &[Target],
    folder: &Path,
    flip: Option<Flip>,
) -> Result<Agreement, String> {
    let records = writer.bytes();
    let mask = native::mask(records)?;
    let file = folder.join(format!("{algorithm}.trace"));
    let wrong = |error| format!("{}: {error}", file.display());
    fs::write(&file, trace::whole(&mask, writer)).map_err(wrong)?;
    let setups = file.with_extension("setups");
    fs::write(&setups, native::setups(records)?).map_err(wrong)?;
    let (ours, changes) = digests(records, &mask)?;
    let compared = targets.iter().filter(|target| target.has(algorithm)).try_for_each(|target| {
        let flip =
            flip.filter(|flip| flip.target == target.name).map_or([NEVER, 0], |flip| [flip.step, flip.bit]);
        let ask = |[every, from, to]: [u64; 3]| target.run(&file, [every, from, to, flip[0], flip[1]]);
        same(algorithm, records, &mask, &ours, target.name, ask)
    });
    [&file, &setups].into_iter().try_for_each(fs::remove_file).map_err(wrong)?;
    compared?;
    let padding = mask.iter().filter(|byte| **byte == 0).count();
    Ok(Agreement { simulated: 0, random: 0, changes, state: mask.len(), padding })
}

/// Compares with the digests of native Rust what another form shows, which `ask` is asked for: EVERY, FROM and TO of
/// [`crate::targets`].
fn same(
    algorithm: &str,
    records: &[u8],
    mask: &[u8],
    ours: &[u64],
    name: &str,
    ask: impl Fn([u64; 3]) -> Result<Vec<u64>, String>,
) -> Result<(), String> {
    let theirs = ask([EVERY, 0, 0])?;
    if ours == theirs {
        return Ok(());
    }
    let same = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count() as u64;
    let (from, to) = (same * EVERY, (same + 1) * EVERY);
    let found = difference(records, mask, name, &ask([0, from, to])?, from, to)?;
    Err(format!("{algorithm}: {found}"))
}

/// The words of a mask.
fn masks(mask: &[u8]) -> Vec<u32> {
    mask.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// The digests of the replay in Rust, and how often window or rate changed.
fn digests(records: &[u8], mask: &[u8]) -> Result<(Vec<u64>, u64), String> {
    let (mask, mut digest, mut digests) = (masks(mask), Digest::START, Vec::new());
    let (mut last, mut changes) = ((0, 0), 0);
    let mut keep = |step: u64, seen: Seen, state: &[u32], _: &dyn Inner| {
        changes += u64::from(last != (seen.window, seen.rate));
        last = (seen.window, seen.rate);
        take(&mut digest, seen, state.iter().zip(&mask).map(|(word, mask)| word & mask));
        if (step + 1).is_multiple_of(EVERY) {
            digests.push(digest.value());
        }
    };
    native::replay(records, 0, &mut keep)?;
    digests.push(digest.value());
    Ok((digests, changes))
}

/// Takes in what is seen after a step.
fn take(digest: &mut Digest, seen: Seen, state: impl IntoIterator<Item = u32>) {
    digest.pair(seen.window);
    digest.pair(seen.rate);
    digest.pair(seen.deadline);
    digest.word(seen.tag);
    state.into_iter().for_each(|word| digest.word(word));
}

/// Visible result of one step.
struct Shown {
    step: u64,
    seen: [u64; 4],
    internals: Vec<(&'static str, Option<u64>)>,
    state: Vec<u32>,
}

/// Describes the difference between two targets.
fn difference(
    records: &[u8],
    mask: &[u8],
    target: &str,
    theirs: &[u64],
    from: u64,
    to: u64,
) -> Result<String, String> {
    let masks = masks(mask);
    let mut steps: Vec<Shown> = Vec::new();
    let mut keep = |step: u64, seen: Seen, state: &[u32], inner: &dyn Inner| {
        if (from..to).contains(&step) {
            let seen = [seen.window, seen.rate, seen.deadline, seen.tag.into()];
            let state = state.iter().zip(&masks).map(|(word, mask)| word & mask).collect();
            steps.push(Shown { step, seen, internals: inner.internals(), state });
        }
    };
    native::replay(records, 0, &mut keep)?;
    let mut rest = theirs;
    for shown in &steps {
        let length = 6 + 2 * rest.get(5).map_or(0, |internals| *internals as usize) + masks.len().div_ceil(2);
        let Some((one, after)) = rest.split_at_checked(length) else {
            return Ok(format!("{target} ends before step {}", shown.step));
        };
        rest = after;
        let found = unequal(shown, one);
        if found.is_empty() {
            continue;
        }
        let mut text = format!("native and {target} differ after step {}\n", shown.step);
        found.iter().for_each(|line| writeln!(text, "  {line}").unwrap_or_default());
        let their_words = &one[one.len() - masks.len().div_ceil(2)..];
        let words = shown.state.iter().enumerate().filter_map(|(place, ours)| {
            let theirs = (their_words[place / 2] >> (32 * (place % 2))) as u32;
            (*ours != theirs).then_some((place, *ours, theirs))
        });
        for (place, ours, theirs) in words {
            let name = field(records, shown.step, &steps, place)?;
            writeln!(text, "  state, byte {} ({name}): {ours:#010x} and {theirs:#010x}", place * 4)
                .unwrap_or_default();
        }
        text.push_str(&told(records, shown.step));
        return Ok(text);
    }
    Ok(format!("native and {target} have different digests, and show the same after steps {from} to {to}"))
}

/// Window, rate, deadline, tag and internals that differ. A target that shows no internals says nothing of them.
fn unequal(ours: &Shown, theirs: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, name) in ["window", "rate", "deadline", "tag"].into_iter().enumerate() {
        let (ours, theirs) = (ours.seen[place], theirs[1 + place]);
        if ours != theirs {
            found.push(format!("{name}: {ours} and {theirs}"));
        }
    }
    let pairs = theirs[6..6 + 2 * theirs[5] as usize].as_chunks().0;
    for ((name, ours), [has, number]) in ours.internals.iter().zip(pairs) {
        let theirs = (*has == 1).then_some(*number);
        if *ours != theirs {
            let shown = |value: Option<u64>| value.map_or("none".to_owned(), |number| number.to_string());
            found.push(format!("internal {name}: {} and {}", shown(*ours), shown(theirs)));
        }
    }
    let state = &theirs[6 + 2 * theirs[5] as usize..];
    let same =
        ours.state.iter().enumerate().all(|(i, word)| (state[i / 2] >> (32 * (i % 2))) as u32 == *word);
    if !same && found.is_empty() {
        found.push("nothing but the state".to_owned());
    }
    found
}

/// The name of the field of a state that has this word: what changes in words when it has the value of another step.
fn field(records: &[u8], step: u64, steps: &[Shown], place: usize) -> Result<String, String> {
    let (mut name, pair) = (None, place & !1..(place & !1) + 2);
    let mut look = |at: u64, _: Seen, state: &[u32], inner: &dyn Inner| {
        if at != step {
            return;
        }
        for other in steps {
            let mut mixed = state.to_vec();
            let (Some(into), Some(from)) = (mixed.get_mut(pair.clone()), other.state.get(pair.clone()))
            else {
                continue;
            };
            if into[place - pair.start] == from[place - pair.start] {
                continue;
            }
            into.copy_from_slice(from);
            #[expect(unsafe_code, reason = "a state is made of two")]
            // SAFETY: fields are aligned and have at most eight bytes, so each is from one state or the other.
            let words = unsafe { inner.words_of(&mixed) };
            name = changed(&inner.words(), &words);
            if name.is_some() {
                return;
            }
        }
    };
    native::replay(records, 0, &mut look)?;
    Ok(name.unwrap_or_else(|| "a field that is constant here".to_owned()))
}

/// The path to the first line that differs, of structures as `{:#?}` writes them.
fn changed(one: &str, other: &str) -> Option<String> {
    let mut path: Vec<(usize, &str)> = Vec::new();
    for (line, same) in one.lines().zip(other.lines()) {
        let depth = line.len() - line.trim_start().len();
        path.retain(|(above, _)| *above < depth);
        if let Some((name, _)) = line.trim_start().split_once(": ") {
            path.push((depth, name));
        }
        if line != same {
            return Some(path.iter().map(|(_, name)| *name).collect::<Vec<_>>().join("."));
        }
    }
    None
}

/// Describes the input of the algorithm at this step: parameters, path and call.
fn told(records: &[u8], step: u64) -> String {
    let (mut parameters, mut start, mut at) = (String::new(), String::new(), 0);
    for record in Reader::new(records) {
        match record {
            Record::Parameters(of) => {
                let set = of.set.iter().map(|(name, _, text)| format!(", {name} = {text}"));
                parameters = format!("{}:{}{}", of.algorithm, of.preset, set.collect::<String>());
                continue;
            }
            Record::Start(path, now) => start = format!("{path:?} at {now}"),
            Record::Call(call) if at == step => {
                let call = match call {
                    Call::Ack(ack, int) if int.count == 0 => format!("{ack:?}"),
                    other => format!("{other:?}"),
                };
                return format!("  told: {call}\n  by a flow of {parameters}, {start}");
            }
            Record::Call(_) => {}
        }
        if at == step {
            break;
        }
        at += 1;
    }
    format!("  a flow of {parameters} starts, {start}")
}
