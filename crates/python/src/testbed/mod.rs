//! Scenarios on a testbed: its plan, its switch, and the result of its measurements.

mod measured;
mod planned;
#[cfg(target_os = "linux")]
mod switch;

use std::path::PathBuf;

use incast_lab::run::{self as lab, RunOptions};
use pyo3::prelude::*;

use crate::error;
use crate::result::Result;
use crate::scenario::Scenario;

pub(crate) use measured::{
    CapturedPacket, FlowSample, InternalSample, MeasuredFlow, MeasuredOperation, MeasuredPort, Measurement,
    PortSample, Waiting,
};
pub(crate) use planned::{
    Plan, PlannedAlgorithm, PlannedFlow, PlannedLink, PlannedMarks, PlannedOperation, PlannedPath,
    PlannedPausing, PlannedSwitches, PortKey, plan,
};
#[cfg(target_os = "linux")]
pub(crate) use switch::{Forwarded, Switch};

/// Makes the result of a scenario's measurements.
#[pyfunction]
#[pyo3(signature = (scenario, measured, out, fresh, build=None))]
pub(crate) fn record(
    py: Python<'_>,
    scenario: &Scenario,
    measured: Measurement,
    out: Option<PathBuf>,
    fresh: bool,
    build: Option<String>,
) -> PyResult<Result> {
    let measured = measured.records()?;
    let work = || {
        let built = scenario.0.build().map_err(error::problems)?;
        let text = scenario.0.effective_toml();
        let job = built.job(scenario.0.name(), &text);
        let options = RunOptions { out, replace: fresh, build, ..RunOptions::default() };
        lab::record(&job, &options, &measured).map_err(error::run)
    };
    Result::of(py.detach(work)?)
}
