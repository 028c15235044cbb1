//! Samples that a row of a table of samples covers.
//!
//! Of equal samples that follow each other only the first and the last have a row. The column `samples` gives
//! the number of samples that a row covers: the one at its own time and the equal ones directly before it. If
//! that is more than one, the row before it, of the same port, flow or quantity, lies as many intervals
//! earlier, so the times of all of them are known.

use incast_units::Time;

use super::Interval;

/// Those samples of a row that lie within an interval of time. They have the row's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The first of them.
    pub(crate) first: Time,
    /// The last of them.
    pub(crate) last: Time,
    /// Number of samples.
    pub(crate) samples: u64,
}

/// Returns the samples within an interval of a row at `time` that covers `samples` of them, where the row
/// before it is at `before`. `None` if there are none.
pub(crate) fn within(before: Option<Time>, time: Time, samples: u64, interval: Interval) -> Option<Part> {
    let most = samples.checked_sub(1)?;
    let step = before.map_or(1, |before| ((time - before).ps() / samples).max(1));
    // Counted back from the row's own.
    let least = (time - interval.until).ps().div_ceil(step);
    let most = most.min(time.ps().checked_sub(interval.from.ps())? / step);
    let at = |back: u64| time - Time::from_ps(back * step);
    let samples = most.checked_sub(least)? + 1;
    Some(Part { first: at(most), last: at(least), samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_cut_at_both_ends_of_an_interval() {
        // The row at 90 ps stands for the samples at 50, 60, 70, 80 and 90 ps; the row before it is at 40.
        let ps = Time::from_ps;
        let cut = |from, until| {
            let part = within(Some(ps(40)), ps(90), 5, Interval::new(ps(from), ps(until)))?;
            Some((part.first.ps(), part.last.ps(), part.samples))
        };
        assert_eq!(cut(0, 200), Some((50, 90, 5)));
        assert_eq!(cut(50, 90), Some((50, 90, 5)));
        assert_eq!(cut(51, 89), Some((60, 80, 3)));
        assert_eq!(cut(70, 70), Some((70, 70, 1)));
        assert_eq!(cut(71, 79), None);
        assert_eq!(cut(90, 300), Some((90, 90, 1)));
        assert_eq!(cut(91, 300), None);
        assert_eq!(cut(0, 49), None);
        // A row that stands for itself, first or not.
        let alone = |before| within(before, ps(90), 1, Interval::new(ps(90), ps(95)));
        assert_eq!(alone(None), Some(Part { first: ps(90), last: ps(90), samples: 1 }));
        assert_eq!(alone(Some(ps(3))), alone(None));
        assert_eq!(within(None, ps(90), 1, Interval::new(ps(0), ps(89))), None);
    }
}
