//! Instructions that a sample costs the order statistic of the last H delays (`incast_cc::order`), against a
//! sort of them and against a selection (quickselect).
//!
//! All three keep the last H delays and give the median after each sample. Once with the round trips of `acks`, whose
//! queues change gradually, and once with random ones.

use std::hint::black_box;

use incast_cc::order::{Order, Sample};
use incast_units::Time;

use crate::acks::trace;
use crate::measure;

/// Numbers of delays; the last is what MSwift keeps at most.
const SIZES: [usize; 5] = [4, 16, 64, 256, 512];
const METHODS: [&str; 3] = ["order", "sort", "select"];
const DELAYS: [&str; 2] = ["queues", "random"];
/// Samples of a run.
const SAMPLES: usize = 4096;

/// Measures everything and prints the table that `docs/algorithms/mswift.md` shows.
pub(crate) fn all() -> Result<(), String> {
    println!(
        "| H | order statistic | sort | selection | order statistic, random delays | sort | selection |\n\
         | --: | --: | --: | --: | --: | --: | --: |"
    );
    for size in SIZES {
        let mut line = format!("| {size} |");
        for delays in DELAYS {
            for method in METHODS {
                let count = |times| {
                    measure::instructions(
                        &crate::this()?,
                        &[],
                        &["--order-of", method, delays, &size.to_string(), times],
                    )
                };
                let each = (count("2")?.1 - count("1")?.1) as f64 / SAMPLES as f64;
                line += &format!(" {each:.0} |");
            }
        }
        println!("{line}");
    }
    Ok(())
}

/// Takes all samples this often by one method.
pub(crate) fn perform(method: &str, delays: &str, size: &str, times: &str) -> Result<(), String> {
    let number = |word: &str| word.parse::<usize>().map_err(|e| format!("{word}: {e}"));
    let (size, times) = (number(size)?, number(times)?);
    let mut random = trace::Random(1);
    let delays: Vec<Time> = match delays {
        "queues" => trace::signals(SAMPLES).iter().map(|signal| signal.ack.rtt()).collect(),
        _ => (0..SAMPLES).map(|_| Time::from_ps(random.below(100_000_000))).collect(),
    };
    let method = match method {
        "order" => by_order,
        "sort" => by_sort,
        "select" => by_selection,
        _ => return Err(format!("no method {method}: {METHODS:?}")),
    };
    for _ in 0..times {
        black_box(method(black_box(&delays), size));
    }
    Ok(())
}

/// The sum of the medians, so that each is computed.
#[inline(never)]
fn by_order(delays: &[Time], size: usize) -> u64 {
    let mut order = Order::<512>::new();
    let median = |delay: &Time| {
        order.push(Sample::delay(*delay), Time::ZERO, size as u64, Time::NEVER);
        order.percentile(50).map_or(0, |sample| sample.time().ps() >> 6)
    };
    delays.iter().map(median).sum()
}

#[inline(never)]
fn by_sort(delays: &[Time], size: usize) -> u64 {
    by_copy(delays, size, |copy| {
        copy.sort_unstable();
        copy[(copy.len() - 1) / 2]
    })
}

#[inline(never)]
fn by_selection(delays: &[Time], size: usize) -> u64 {
    by_copy(delays, size, |copy| *copy.select_nth_unstable((copy.len() - 1) / 2).1)
}

/// Measures a copy of the last delays, in steps of 64 ps as [`Order`] keeps them.
fn by_copy(delays: &[Time], size: usize, median: impl Fn(&mut [u32]) -> u32) -> u64 {
    let (mut ring, mut copy) = (Vec::with_capacity(size), Vec::with_capacity(size));
    let each = |(i, delay): (usize, &Time)| {
        let step = (delay.ps() >> 6) as u32;
        if i < size {
            ring.push(step);
        } else {
            ring[i % size] = step;
        }
        copy.clear();
        copy.extend_from_slice(&ring);
        u64::from(median(&mut copy))
    };
    delays.iter().enumerate().map(each).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_methods_give_the_same_medians() {
        let mut random = trace::Random(7);
        let delays: Vec<Time> = (0..2000).map(|_| Time::from_ps(random.below(100_000_000))).collect();
        for size in [1, 4, 5, 64, 512] {
            let sum = by_order(&delays, size);
            assert_eq!((by_sort(&delays, size), by_selection(&delays, size)), (sum, sum), "{size}");
        }
    }
}
