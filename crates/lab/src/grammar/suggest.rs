//! Suggestions: the known word nearest to an unknown one.

use crate::problem::Problem;

/// The problem of a word that is not among the `known` ones. Its hint is the most likely one.
pub(crate) fn unknown<'a>(
    problem: impl Into<Problem>,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Problem {
    let problem = problem.into();
    match nearest(word, known) {
        Some(near) => problem.with_hint(format!("did you mean {near:?}?")),
        None => problem,
    }
}

/// Returns the word of `known` that is most likely meant by `word`, if any is near enough: at most a third of
/// its letters differ (by insertion, deletion, replacement or exchange of neighbours), or one begins with the
/// other.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' ', '.'], "_");
    let word = plain(word);
    known
        .into_iter()
        .filter_map(|candidate| {
            let other = plain(candidate);
            let distance = distance(&word, &other);
            let begins =
                word.len().min(other.len()) >= 3 && (other.starts_with(&word) || word.starts_with(&other));
            let near = distance * 3 <= word.chars().count().max(other.chars().count());
            (near || begins).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of single-letter changes between two words (optimal string alignment distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = core::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["oscar", "hpcc", "powertcp", "theta-powertcp", "dcqcn"];
        assert_eq!(nearest("oscra", known), Some("oscar"));
        assert_eq!(nearest("HPCC", known), Some("hpcc"));
        assert_eq!(nearest("theta_powertcp", known), Some("theta-powertcp"));
        assert_eq!(nearest("power", known), Some("powertcp"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn counts_changes() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
