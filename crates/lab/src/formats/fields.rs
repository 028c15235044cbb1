//! Lines of a text and their fields, each with its place.

use crate::files::without_mark;
use crate::problem::{Problem, Problems};

/// Maximum number of problems reported for one file; a file of another format has one on every line.
const MOST_PROBLEMS: usize = 20;

/// A word between blanks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) text: &'a str,
    /// From 1.
    pub(crate) line: u32,
    /// In characters, from 1.
    pub(crate) column: u32,
}

impl Field<'_> {
    /// A problem of this field, which is called `name`.
    pub(crate) fn wrong(&self, name: &str, message: impl core::fmt::Display) -> Problem {
        Problem {
            line: Some(self.line),
            column: Some(self.column),
            ..Problem::new(format!("{:?}: {message}", shortened(self.text))).about(name)
        }
    }

    /// The field as a whole number up to `most`.
    pub(crate) fn whole(&self, name: &str, most: u64) -> Result<u64, Problem> {
        if self.text.is_empty() || !self.text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.wrong(name, "not a whole number"));
        }
        match self.text.parse::<u64>() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(self.wrong(name, format_args!("too large; at most {most} is possible"))),
        }
    }

    /// The field as a decimal number (`0.13`, `2`, `1e-3`) in units of 10^-`decimals`, rounded to the
    /// nearest.
    pub(crate) fn decimal(&self, name: &str, decimals: i32) -> Result<u64, Problem> {
        decimal(self.text, decimals).map_err(|message| self.wrong(name, message))
    }
}

/// Any text, shortened for a message.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

/// Reads an unsigned decimal number times 10^`decimals`, rounded to the nearest.
pub(crate) fn decimal(text: &str, decimals: i32) -> Result<u64, &'static str> {
    const LARGE: &str = "too large";
    if text.starts_with('-') {
        return Err("cannot be negative");
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().map_err(|_| "not a number")?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err("not a number");
    }
    if digits.iter().all(|&digit| digit == b'0') {
        return Ok(0);
    }
    // How many digits stand before the point once it has moved.
    let kept = (whole.len() as i64).saturating_add(exponent).saturating_add(i64::from(decimals));
    let mut value = 0_u64;
    for i in 0..kept {
        let digit = usize::try_from(i).ok().and_then(|i| digits.get(i)).copied().unwrap_or(b'0') - b'0';
        value = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit))).ok_or(LARGE)?;
    }
    let next = usize::try_from(kept).ok().and_then(|i| digits.get(i));
    let up = next.is_some_and(|&digit| digit >= b'5');
    value.checked_add(u64::from(up)).filter(|&value| value <= u64::MAX / 2).ok_or(LARGE)
}

/// The lines of a text that are not blank.
pub(crate) struct Lines<'a> {
    lines: core::iter::Enumerate<core::str::Lines<'a>>,
    fields: Vec<Field<'a>>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { lines: without_mark(text).lines().enumerate(), fields: Vec::new() }
    }

    /// The fields of the next line; empty at the end of the text.
    pub(crate) fn next_line(&mut self) -> &[Field<'a>] {
        self.fields.clear();
        for (i, text) in self.lines.by_ref() {
            let start = text.as_ptr() as usize;
            self.fields.extend(text.split_whitespace().map(|word| {
                let before = text.get(..word.as_ptr() as usize - start).unwrap_or_default();
                Field { text: word, line: i as u32 + 1, column: before.chars().count() as u32 + 1 }
            }));
            if !self.fields.is_empty() {
                break;
            }
        }
        &self.fields
    }
}

/// The problems found in a file.
pub(crate) struct Found<'a> {
    file: &'a str,
    /// Each with the number of lines that repeat it.
    problems: Vec<(Problem, usize)>,
    /// Whether places are rows of a table that is no text.
    rows: bool,
}

/// Puts the row of a table before a problem.
pub(crate) fn in_row(mut problem: Problem, row: u32) -> Problem {
    (problem.line, problem.column) = (None, None);
    problem.problem = format!("row {row}: {}", problem.problem);
    problem
}

impl<'a> Found<'a> {
    pub(crate) fn new(file: &'a str) -> Self {
        Self { file, problems: Vec::new(), rows: false }
    }

    /// Of a table that has rows in place of lines.
    pub(crate) fn of_rows(file: &'a str) -> Self {
        Self { rows: true, ..Self::new(file) }
    }

    /// Records a problem; one that repeats the last on another line is only counted. Returns false if there are
    /// too many to continue.
    pub(crate) fn add(&mut self, problem: Problem) -> bool {
        self.add_of_any(problem.in_file(self.file))
    }

    /// Adds a problem that names its own file.
    pub(crate) fn add_of_any(&mut self, problem: Problem) -> bool {
        match self.problems.last_mut() {
            Some((last, repeated)) if is_repeated(last, &problem) => *repeated += 1,
            _ => self.problems.push((problem, 0)),
        }
        !self.is_full()
    }

    /// Records the problem, if there is one; if not, returns the value.
    pub(crate) fn check<T>(&mut self, value: Result<T, Problem>) -> Option<T> {
        value.map_err(|problem| self.add(problem)).ok()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// The value, unless there were problems.
    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Problems> {
        if self.problems.is_empty() {
            return Ok(value);
        }
        let counted = |(mut problem, repeated): (Problem, usize)| {
            let places = if self.rows { "row" } else { "line" };
            if repeated > 0 {
                problem.problem += &format!(" (and so on {} below)", counted(repeated, places));
            }
            match problem.line {
                Some(row) if self.rows => {
                    // The row comes first, as a line does.
                    let key = problem.key.take().map(|key| format!("{key}: ")).unwrap_or_default();
                    problem.problem.insert_str(0, &key);
                    in_row(problem, row)
                }
                _ => problem,
            }
        };
        Err(Problems(self.problems.into_iter().map(counted).collect()))
    }
}

/// Whether two problems differ in nothing but their lines.
fn is_repeated(last: &Problem, next: &Problem) -> bool {
    let Problem { file, line, column: _, key, problem, hint } = next;
    *line != last.line && [file, key, hint] == [&last.file, &last.key, &last.hint] && *problem == last.problem
}

/// Returns a number with a comma before each group of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A duration with its unit, to three digits.
pub(crate) fn shown_seconds(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (size, unit) = UNITS.into_iter().find(|(size, _)| seconds >= *size).unwrap_or((1e-12, "ps"));
    format!("{} {unit}", digits(seconds / size))
}

/// A share in percent, to three digits.
pub(crate) fn shown_share(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.001 => "less than 0.001 %".to_owned(),
        percent => format!("{} %", digits(percent)),
    }
}

/// A number to three digits.
fn digits(number: f64) -> String {
    let decimals = (2.0 - number.log10().floor()).clamp(0.0, 5.0) as usize;
    format!("{number:.decimals$}")
}

/// `flows` with its number: `1 flow`, `2 flows`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_to_the_nearest() {
        assert_eq!(decimal("2.000001", 12), Ok(2_000_001_000_000));
        assert_eq!(decimal("0.0000000000005", 12), Ok(1));
        assert_eq!(decimal("0.00000000000049", 12), Ok(0));
        assert_eq!(decimal("1e-3", 12), Ok(1_000_000_000));
        assert_eq!(decimal("25000000000.0", 0), Ok(25_000_000_000));
        assert_eq!(decimal(".5", 1), Ok(5));
        assert_eq!(decimal("9e9999", 0), Err("too large"));
        assert_eq!(decimal("9e-9999", 0), Ok(0));
        assert_eq!(decimal("1e99999999999999999999", 0), Err("not a number"));
        for text in ["", ".", "e3", "1.2.3", "nan", "inf", "+1", "0x10"] {
            assert_eq!(decimal(text, 3), Err("not a number"), "{text}");
        }
        assert_eq!(decimal("-1", 3), Err("cannot be negative"));
    }

    #[test]
    fn fields_know_their_places() {
        let mut lines = Lines::new("\u{feff}a b\r\n\n  é  c\n");
        let places = |fields: &[Field<'_>]| -> Vec<(String, u32, u32)> {
            fields.iter().map(|f| (f.text.to_owned(), f.line, f.column)).collect()
        };
        assert_eq!(places(lines.next_line()), [("a".to_owned(), 1, 1), ("b".to_owned(), 1, 3)]);
        assert_eq!(places(lines.next_line()), [("é".to_owned(), 3, 3), ("c".to_owned(), 3, 6)]);
        assert!(lines.next_line().is_empty() && lines.next_line().is_empty());
    }
}
