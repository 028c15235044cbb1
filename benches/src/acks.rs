//! Cost of an acknowledgement for each algorithm of the catalogue, in every preset: cycles of the time-stamp
//! counter and instructions.
//!
//! An event is what the simulator calls for an acknowledgement: the timer if it is due, `on_ack`, `allowance`
//! and `deadline`. For an algorithm that is notified by CNPs an event is a CNP or its timer, as in OSCAR's
//! Table 2. Other calls (`on_sent`, `tag`) are made between the batches and do not count.

pub(crate) mod batches;
pub(crate) mod trace;

use std::hint::black_box;

use incast_cc::any::{CATALOGUE, Visitor};
use incast_cc::{Allowance, AnyParams, CongestionControl, Sent, Setup, Signals};
use incast_units::Time;

use crate::measure;
use trace::{PATH, Signal};

/// OSCAR, NSDI'26, Table 2: cycles of an event, five hops. [`batches::KINDS`] has OSCAR's.
const PAPER: [(&str, &str, u64); 4] =
    [("dcqcn", "paper", 46), ("hpcc", "paper", 92), ("swift", "paper", 104), ("powertcp", "paper", 159)];

/// Number of acknowledgements, and number of them measured together: a batch fits in the first cache.
const EVENTS: usize = 16_384;
const BATCH: usize = 64;
/// Number of times that the cycles of every batch are taken; the fewest count.
const RUNS: usize = 30;
/// Between two CNPs, at least.
const CNP_GAP: Time = Time::from_us(50);

/// Cost of an event for one preset.
struct Cost {
    algorithm: &'static str,
    preset: &'static str,
    cycles: f64,
    /// `None` where valgrind is not installed.
    instructions: Option<f64>,
}

/// Measures every algorithm, or that called `only`, and prints a line for each preset.
pub(crate) fn all(only: Option<&str>, record: bool) -> Result<(), String> {
    let mut measured = Vec::new();
    for info in CATALOGUE.iter().filter(|info| only.is_none_or(|only| only == info.name)) {
        let mut presets = Vec::new();
        named(info.name, None)?.presets(|preset, _| presets.push(preset));
        for preset in presets {
            measured.push((info.name, preset, named(info.name, Some(preset))?));
        }
    }
    let cycles = cycles(&measured.iter().map(|(_, _, params)| *params).collect::<Vec<_>>());
    let valgrind = measure::first_line("valgrind", &["--version"]) != "-";
    println!("\nan acknowledgement                cycles  instructions  OSCAR, Table 2 (cycles)");
    let mut costs = Vec::new();
    for ((algorithm, preset, _), cycles) in measured.into_iter().zip(cycles) {
        let instructions = if valgrind { Some(instructions(algorithm, preset)?) } else { None };
        let paper = PAPER.iter().find(|paper| (paper.0, paper.1) == (algorithm, preset));
        line(algorithm, preset, cycles, instructions, paper.map(|paper| paper.2));
        costs.push(Cost { algorithm, preset, cycles, instructions });
    }
    if only.is_none_or(|only| only == "oscar") {
        let instructions = if valgrind { batches::instructions()?.map(Some) } else { [None; 2] };
        for (((preset, paper), cycles), instructions) in
            batches::KINDS.into_iter().zip(batches::cycles()?).zip(instructions)
        {
            line("oscar", preset, cycles, instructions, Some(paper));
            costs.push(Cost { algorithm: "oscar", preset, cycles, instructions });
        }
    }
    if record { keep(&costs) } else { Ok(()) }
}

/// Prints the cost of an event, beside the paper's.
fn line(algorithm: &str, preset: &str, cycles: f64, instructions: Option<f64>, paper: Option<u64>) {
    println!(
        "{:<32} {cycles:>7.1} {:>13} {:>24}",
        format!("{algorithm} {preset}"),
        instructions.map_or("-".into(), |i| format!("{i:.1}")),
        paper.map_or(String::new(), |paper| paper.to_string()),
    );
}

fn named(algorithm: &str, preset: Option<&str>) -> Result<AnyParams, String> {
    AnyParams::named(algorithm, preset)
        .ok_or_else(|| format!("no {algorithm} {}", preset.unwrap_or_default()))
}

/// Cycles of an event, over all batches.
fn cycles(measured: &[AnyParams]) -> Vec<f64> {
    let fewest = fewest_cycles(measured, &trace::signals(EVENTS));
    fewest.iter().map(|batches| batches.iter().sum::<u64>() as f64 / EVENTS as f64).collect()
}

/// The fewest cycles that each batch took, so that an interrupt does not count. Everything is run once before anything is run
/// again, so that a slow moment of the machine meets all alike.
fn fewest_cycles(measured: &[AnyParams], signals: &[Signal]) -> Vec<Vec<u64>> {
    let empty = (0..1000).map(|_| time_stamp().wrapping_neg().wrapping_add(time_stamp())).min().unwrap_or(0);
    let mut fewest = vec![vec![u64::MAX; EVENTS / BATCH]; measured.len()];
    for _ in 0..RUNS {
        for (fewest, params) in fewest.iter_mut().zip(measured) {
            for (least, cycles) in fewest.iter_mut().zip(params.visit(Run { signals, times: 1 })) {
                *least = cycles.min(*least);
            }
        }
    }
    fewest.iter_mut().flatten().for_each(|cycles| *cycles = cycles.saturating_sub(empty));
    fewest
}

/// Instructions of an event: this program under callgrind with every batch performed twice, less that with
/// every batch performed once.
fn instructions(algorithm: &str, preset: &str) -> Result<f64, String> {
    let count = |times| measure::instructions(&crate::this()?, &[], &["--acks-of", algorithm, preset, times]);
    Ok((count("2")?.1 - count("1")?.1) as f64 / EVENTS as f64)
}

/// Performs every batch of one preset this often.
pub(crate) fn perform(algorithm: &str, preset: &str, times: &str) -> Result<(), String> {
    let times = times.parse().map_err(|e| format!("{times}: {e}"))?;
    named(algorithm, Some(preset))?.visit(Run { signals: &trace::signals(EVENTS), times });
    Ok(())
}

/// Appends what was measured to its history.
fn keep(costs: &[Cost]) -> Result<(), String> {
    let lines: Vec<String> = costs
        .iter()
        .map(|Cost { algorithm, preset, cycles, instructions }| {
            let instructions = instructions.map_or(String::new(), |i| format!("{i:.1}"));
            format!("{algorithm},{preset},{cycles:.1},{instructions}")
        })
        .collect();
    crate::append("acks.csv", "algorithm,preset,cycles,instructions", &lines)
}

/// Runs the whole sequence; the result is the cycles of every batch.
struct Run<'a> {
    signals: &'a [Signal],
    /// Number of times that each batch is performed; each time starts from the same state.
    times: usize,
}

impl Visitor for Run<'_> {
    type Output = Vec<u64>;

    fn visit<C: CongestionControl + Copy>(self, params: &C::Params) -> Vec<u64>
    where
        C::Params: Copy,
    {
        let setup = Setup::new(*params, PATH);
        let mut state = C::new(&setup, Time::from_us(50));
        let mut clock = Time::from_us(50);
        let mut cycles = Vec::with_capacity(self.signals.len() / BATCH);
        for batch in self.signals.chunks(BATCH) {
            let mut batch: Vec<Signal> = batch.to_vec();
            for Signal { ack, .. } in &mut batch {
                let sent = Sent { now: ack.sent.max(clock), bytes: PATH.packet, inflight: ack.inflight };
                state.on_sent(&setup, &sent);
                ack.tag = state.tag(&setup);
            }
            let (start, before) = (state, clock);
            for _ in 0..self.times {
                (state, clock) = (start, before);
                let began = time_stamp();
                if C::signals(params).contains(Signals::CNP) {
                    clock = notified(&mut state, &setup, &batch, clock);
                } else {
                    acknowledged(&mut state, &setup, &batch);
                }
                let took = time_stamp().wrapping_sub(began);
                cycles.push(took);
            }
        }
        cycles
    }
}

#[inline(never)]
fn acknowledged<C: CongestionControl>(state: &mut C, setup: &Setup<C::Params>, batch: &[Signal]) {
    for Signal { ack, int } in batch {
        black_box(event(state, setup, |state, setup| {
            if ack.now >= state.deadline() {
                state.on_timer(setup, ack.now);
            }
            state.on_ack(setup, ack, int);
        }));
    }
}

/// A CNP for each packet that is marked, else the timer. Returns when the last came.
#[inline(never)]
fn notified<C: CongestionControl>(
    state: &mut C,
    setup: &Setup<C::Params>,
    batch: &[Signal],
    mut clock: Time,
) -> Time {
    for Signal { ack, .. } in batch {
        let due = state.deadline();
        let cnp = ack.marked > 0 || due == Time::NEVER;
        clock = if cnp { (clock + CNP_GAP).min(due) } else { due };
        black_box(event(state, setup, |state, setup| {
            if cnp {
                state.on_cnp(setup, clock);
            } else {
                state.on_timer(setup, clock);
            }
        }));
    }
    clock
}

/// A call of its own, as through the simulator's table of algorithms, so that nothing of the setup is kept
/// from one event to the next.
#[inline(never)]
fn event<C: CongestionControl>(
    state: &mut C,
    setup: &Setup<C::Params>,
    happens: impl FnOnce(&mut C, &Setup<C::Params>),
) -> (Allowance, Time) {
    happens(state, setup);
    (state.allowance(setup), state.deadline())
}

/// The time-stamp counter; nothing where there is none.
#[cfg(target_arch = "x86_64")]
fn time_stamp() -> u64 {
    // SAFETY: every x86-64 has the instruction, and it reads a register.
    #[expect(unsafe_code, reason = "the standard library offers it in no other way")]
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn time_stamp() -> u64 {
    0
}
