//! Backends: the simulator and a testbed, and the keys of a scenario that each one honours.
//!
//! A backend lists the keys that have their effect on it. Every other key that is set away from its default is
//! refused, with its place in the file. So a key that is added to the grammar later is refused until somebody
//! writes it into the list: it is never ignored.

mod keys;
pub mod testbed;
#[cfg(test)]
mod tests;

use crate::grammar::reading::Reading;
use crate::grammar::section::Fallback;
use crate::problem::{Problem, Problems};
use crate::scenario::{Built, Scenario};

/// A thing that runs scenarios.
pub trait Backend {
    /// Its name in messages, with its article.
    const NAME: &'static str;

    /// The keys that have their effect on it, as they stand in the declarations: `switch.ecn.kmin`. Keys of one kind
    /// of topology or traffic have its name before them: `topology.star.hosts`. `*` is any one name.
    const HONOURS: &'static [&'static str];

    /// Returns the reason why a key of the declarations is not honoured, where it is more than that there is no such
    /// setting.
    fn reason(&self, _key: &str) -> Option<&'static str> {
        None
    }

    /// Refuses values of honoured keys that are impossible on this backend.
    fn check(&self, _scenario: &Scenario, _built: &Built, _refusals: &mut Refusals) {}

    /// Returns the deviations of its runs from the scenario, in sentences.
    fn deviations(&self, _built: &Built) -> Vec<String> {
        Vec::new()
    }
}

/// The simulator, for which scenarios are made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Backend for Simulator {
    const NAME: &'static str = "the simulator";
    const HONOURS: &'static [&'static str] = &["*"];
}

/// The problems of a scenario on one backend.
pub struct Refusals(Reading);

impl Refusals {
    /// Refuses a key of the file.
    fn add(&mut self, key: &str, problem: impl Into<Problem>) {
        self.0.wrong_key(key, problem);
    }
}

/// Returns what a backend refuses of a scenario, in the order of the file; empty if it can run it.
#[must_use]
pub fn refused<B: Backend>(backend: &B, scenario: &Scenario, built: &Built) -> Problems {
    let mut refusals = Refusals(scenario.resume());
    if B::HONOURS != ["*"] {
        for set in keys::unhonoured(&scenario.entries(), B::HONOURS) {
            refusals.add(&set.key, set.problem(backend));
        }
    }
    backend.check(scenario, built, &mut refusals);
    refusals.0.into_problems()
}

impl keys::Set {
    /// Returns the problem of a key that a backend does not honour.
    fn problem<B: Backend>(&self, backend: &B) -> Problem {
        let why = backend
            .reason(&self.declared)
            .map_or_else(|| format!("{} has no such setting, and would ignore it", B::NAME), str::to_owned);
        let problem = Problem::new(match &self.value {
            Some(value) => format!("{value}: {why}"),
            None => why,
        });
        match &self.fallback {
            Fallback::Value(value) => problem.with_hint(format!("the default is honoured: {value}")),
            Fallback::From(key) => problem.with_hint(format!("leave it out: it is then that of {key}")),
            Fallback::Nothing => problem.with_hint("leave it out"),
            Fallback::Required => problem,
        }
    }
}
