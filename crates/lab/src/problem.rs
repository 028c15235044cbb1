//! Errors in user input, with their position.

use core::fmt;

/// One thing that is wrong, with its place and, where possible, what would be right.
///
/// Prints as `scenario.toml:7:8: topology.rate: "100": a rate needs its unit, like "100Gbps"`. The
/// parts that are not known are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The file as the user named it, or `--set key=value` for an override.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// Column in the line in characters, from 1.
    pub column: Option<u32>,
    /// The key, with dots: `topology.rate`.
    pub key: Option<String>,
    /// The problem in words.
    pub problem: String,
    /// Advice on what would be right, if that is more than a few words.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a place.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), ..Self::default() }
    }

    /// Adds the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds the line (from 1) of its file.
    #[must_use]
    pub fn on_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Adds the key.
    #[must_use]
    pub fn about(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds advice behind the one that is there.
    pub(crate) fn with_further_hint(self, hint: &str) -> Self {
        let both = self.hint.as_ref().map_or_else(|| hint.to_owned(), |first| format!("{first} {hint}"));
        self.with_hint(both)
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::new(problem)
    }
}

impl From<&str> for Problem {
    fn from(problem: &str) -> Self {
        Self::new(problem)
    }
}

/// A problem of a key of some section; the section's own path is put before the key where it is known.
pub(crate) fn fault(key: &str, problem: impl Into<Problem>) -> Problem {
    problem.into().about(key)
}

/// A text whose control characters are written as escapes, line ends and tabs apart: a name in a file may have any
/// character, and a terminal obeys some of them.
struct Printable<'a>(&'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let obeyed = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let mut rest = self.0;
        while let Some(at) = rest.find(obeyed) {
            let (plain, from) = rest.split_at(at);
            let mut chars = from.chars();
            f.write_str(plain)?;
            chars.next().map_or(Ok(()), |c| write!(f, "{}", c.escape_default()))?;
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            Printable(file).fmt(f)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
            }
            f.write_str(": ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{}: ", Printable(key))?;
        }
        Printable(&self.problem).fmt(f)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n    help: {}", Printable(hint))?;
        }
        Ok(())
    }
}

impl core::error::Error for Problem {}

/// Everything that is wrong with one input, in the order of the input. Never empty when returned as
/// an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The problems.
    pub fn iter(&self) -> core::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of problems.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// One problem per line.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_is_known_and_leaves_out_the_rest() {
        let mut problem = Problem::new("no unit").in_file("a.toml").about("topology.rate");
        assert_eq!(problem.to_string(), "a.toml: topology.rate: no unit");
        problem = problem.on_line(7).with_hint("write \"100Gbps\"");
        assert_eq!(problem.to_string(), "a.toml:7: topology.rate: no unit\n    help: write \"100Gbps\"");
        let hostile = Problem::new("a\u{1b}[2Jb\tc\u{202e}").in_file("\u{9b}1m");
        assert_eq!(hostile.to_string(), "\\u{9b}1m: a\\u{1b}[2Jb\tc\\u{202e}");
        problem.column = Some(8);
        assert!(problem.to_string().starts_with("a.toml:7:8: "));
        assert_eq!(Problems(vec![Problem::new("a"), Problem::new("b")]).to_string(), "a\nb");
    }
}
