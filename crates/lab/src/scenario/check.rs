//! Checks that need all sections of a scenario.

use std::sync::Arc;

use super::sections::Root;
use super::sections::scope::{Idle, Scope};
use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::problem::Problem;
use crate::topology::Fabric;

/// The result of the checks.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) fabric: Arc<Fabric>,
    /// The algorithms in use.
    pub(crate) algorithms: Vec<Cc>,
    /// For every traffic block its algorithm, an index into `algorithms`.
    pub(crate) uses: Vec<u16>,
    /// Warnings: what is possible but probably not intended.
    pub(crate) warnings: Vec<Problem>,
}

impl Checked {
    /// The context in which sections are checked.
    pub(super) fn scope<'a>(&'a self, root: &'a Root) -> Scope<'a> {
        let sections = root.sections();
        Scope { sections, fabric: Some(&self.fabric), algorithms: &self.algorithms, uses: &self.uses }
    }
}

/// Keys that have no effect with the other settings, each with the reason.
pub(super) fn idle(root: &Root) -> Vec<(String, String)> {
    let mut idle = Idle::default();
    let sections = root.sections();
    root.effects().into_iter().for_each(|section| section.idle(&sections, &mut idle));
    idle.0
}

/// Checks a scenario whose sections were read without problems. Returns `None` if its network cannot be
/// built; `reading` then has the problems.
pub(super) fn check(root: &Root, reading: &mut Reading) -> Option<Checked> {
    for (key, reason) in idle(root) {
        if reading.written(&key) {
            reading.wrong_key(&key, reason);
        }
    }
    let (algorithms, uses) = algorithms(root, reading);
    let fabric = match root.topology.build() {
        Ok(fabric) => Some(Arc::new(fabric)),
        Err(faults) => {
            faults.into_iter().for_each(|fault| reading.fault("topology", fault));
            None
        }
    };
    let sections = root.sections();
    let scope = Scope { sections, fabric: fabric.as_deref(), algorithms: &algorithms, uses: &uses };
    for section in root.effects() {
        section.check(&scope, reading);
    }
    let warnings = reading.take_warnings();
    Some(Checked { fabric: fabric?, algorithms, uses, warnings })
}

/// The algorithms in use, and for every block which one; none without congestion control.
fn algorithms(root: &Root, reading: &mut Reading) -> (Vec<Cc>, Vec<u16>) {
    if !root.transport.kind.is_controlled() {
        return (Vec::new(), vec![0; root.traffic.len()]);
    }
    let mut algorithms: Vec<Cc> = Vec::new();
    let mut uses = Vec::new();
    let mut absent = false;
    for block in &root.traffic {
        let Some(cc) = block.common.cc.as_ref().or(root.cc.as_ref()) else {
            absent = true;
            uses.push(0);
            continue;
        };
        let known = algorithms.iter().position(|known| known == cc);
        let index = known.unwrap_or_else(|| {
            algorithms.push(cc.clone());
            algorithms.len() - 1
        });
        uses.push(index as u16);
    }
    if absent {
        reading.wrong_key("cc", "is missing; write a section [cc] with algorithm = \"…\"");
    }
    (algorithms, uses)
}
