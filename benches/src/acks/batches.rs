//! Cost of OSCAR's acknowledgements apart: those that a batch only gathers, and those that close one, with the estimate
//! and the update. Section 5 of the paper has both in its Table 2 (without and with batch estimating).

use incast_cc::estimator::{BatchedEstimator, Sample};
use incast_cc::oscar::{Oscar, OscarParams};
use incast_cc::{Ack, CongestionControl, Setup};
use incast_units::Time;

use super::trace::{PATH, Signal};
use super::{BATCH, EVENTS, acknowledged, fewest_cycles, named, trace};
use crate::measure;

/// Names of the two kinds in the history, and the paper's cycles: the first close no batch.
pub(super) const KINDS: [(&str, u64); 2] = [("paper/gathers", 34), ("paper/closes", 52)];

/// For each acknowledgement whether it closes a batch.
fn closing(signals: &[Signal]) -> Vec<bool> {
    let setup = Setup::new(OscarParams::paper(), PATH);
    let rules = &setup.derived.rules;
    let mut estimator = BatchedEstimator::new(&PATH, rules.period, Time::from_us(50));
    let sample =
        |ack: &Ack| Sample { sent: ack.sent, delay: ack.rtt(), packets: ack.packets, inflight: ack.inflight };
    signals.iter().map(|signal| estimator.add(&sample(&signal.ack), rules).is_some()).collect()
}

/// Cycles of an acknowledgement that closes no batch, and of one that closes one: a straight line through the cycles of
/// batches of signals over the number of closings in each, by least squares.
pub(super) fn cycles() -> Result<[f64; 2], String> {
    let signals = trace::signals(EVENTS);
    let closing = closing(&signals);
    let fewest = fewest_cycles(&[named("oscar", Some("paper"))?], &signals).remove(0);
    let points: Vec<(f64, f64)> = closing
        .chunks(BATCH)
        .zip(fewest)
        .map(|(closing, cycles)| (closing.iter().filter(|closes| **closes).count() as f64, cycles as f64))
        .collect();
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope = mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2));
    let gathers = (y - slope * x) / BATCH as f64;
    Ok([gathers, gathers + slope])
}

/// Instructions of each kind: this program under callgrind with those events performed twice, less that with them
/// performed once; without what it takes to restore the state, which is counted with no events.
pub(super) fn instructions() -> Result<[f64; 2], String> {
    let count = |kind: &str, events: &str, times: &str| {
        measure::instructions(&crate::this()?, &[], &["--batches-of", kind, events, times])
    };
    let closing = closing(&trace::signals(EVENTS));
    let closed = closing.iter().filter(|closes| **closes).count();
    let mut found = [0.0; 2];
    for (kind, (number, cost)) in [EVENTS - closed, closed].into_iter().zip(&mut found).enumerate() {
        let kind = kind.to_string();
        let more = |events| -> Result<f64, String> {
            Ok(count(&kind, events, "2")?.1 as f64 - count(&kind, events, "1")?.1 as f64)
        };
        *cost = (more("1")? - more("0")?) / number as f64;
    }
    Ok(found)
}

/// Performs all events, and each run of events of one kind (1: they close batches) this often in all; with `events` of 0
/// the repetitions restore the state alone.
pub(crate) fn perform(kind: &str, events: &str, times: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<usize>().map_err(|e| format!("{text}: {e}"));
    let (kind, events, times) = (number(kind)? == 1, number(events)?, number(times)?);
    let signals = trace::signals(EVENTS);
    let closing = closing(&signals);
    let setup = Setup::new(OscarParams::paper(), PATH);
    let mut state = Oscar::new(&setup, Time::from_us(50));
    let mut at = 0;
    while at < EVENTS {
        let closes = closing[at];
        let length = closing[at..].iter().take_while(|other| **other == closes).count();
        let run = &signals[at..at + length];
        let before = std::hint::black_box(state);
        acknowledged(&mut state, &setup, run);
        if closes == kind {
            for _ in 1..times {
                let after = state;
                state = std::hint::black_box(before);
                acknowledged(&mut state, &setup, if events == 0 { &[] } else { run });
                state = std::hint::black_box(after);
            }
        }
        at += length;
    }
    std::hint::black_box(&state);
    Ok(())
}
