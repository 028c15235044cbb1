//! Scenarios, and running them.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use incast_cc::{AnyParams, Path as FlowPath};
use incast_lab::run::{RunOptions, run};
use incast_sim::describe::algorithm::Algorithm;
use incast_units::{Bytes, PS_PER_SECOND, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{PluginError, PyProblem};
use crate::kernel::InternalValue;
use crate::result::Result;
use crate::{error, kernel, plugin};

/// A checked scenario.
#[pyclass(frozen, module = "incast")]
pub(crate) struct Scenario(pub(crate) incast_lab::Scenario);

/// A time in which a node knows that the link of one of its ports is down: node, port, begin and end (none: never) in
/// picoseconds.
type Outage = (u32, u16, u64, Option<u64>);

/// Size of a scenario.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Size {
    /// The network in one line: hosts, switches, links, oversubscription.
    network: String,
    /// The algorithms in use, each with its preset: `oscar:paper`.
    algorithms: Vec<String>,
    /// Flows.
    flows: usize,
    /// Payload of all flows that have a size, in bytes.
    bytes: u64,
    /// Start of the first flow and of the last one, in picoseconds; of a flow that waits for operations the
    /// earliest possible one.
    starts_ps: (u64, u64),
    /// Payload per time from the first start to the last, as a share of the rate of all hosts' links; none if all
    /// start together.
    load: Option<f64>,
    /// Simulated time at which the run ends at the latest, in picoseconds; none without a limit.
    until_ps: Option<u64>,
}

impl Scenario {
    /// The parameters of the algorithm of all traffic that names none of its own; `None` for one that is not built in.
    pub(crate) fn parameters(&self) -> Option<AnyParams> {
        self.0.parameters()
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file.
    #[staticmethod]
    fn load(path: PathBuf, overrides: Vec<String>) -> PyResult<Self> {
        incast_lab::Scenario::load(&path, &overrides).map(Self).map_err(error::problems)
    }

    /// Reads a scenario from a text.
    #[staticmethod]
    fn from_toml(text: &str, file_name: &str, overrides: Vec<String>) -> PyResult<Self> {
        incast_lab::Scenario::from_toml(text, file_name, &overrides).map(Self).map_err(error::problems)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Seed of every random draw.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// The algorithm, with its preset, of all traffic that names none of its own.
    #[getter]
    fn algorithm(&self) -> Option<String> {
        self.0.algorithm()
    }

    /// The names of the signals that the algorithm needs, and its setup on a path as the kernel reads it: base RTT and
    /// one-way delay in ps, line rate in bit/s, a full packet on the wire and its payload in bytes, links. Nothing for
    /// an algorithm that is not built in.
    fn kernel_setup(
        &self,
        base_rtt_ps: u64,
        base_owd_ps: u64,
        line_rate_bps: u64,
        packet_bytes: u64,
        payload_bytes: u64,
        hops: u32,
    ) -> Option<(Vec<&'static str>, Cow<'static, [u8]>)> {
        let params = self.0.parameters()?;
        let path = flow_path((base_rtt_ps, base_owd_ps, line_rate_bps, packet_bytes, payload_bytes, hops));
        Some((kernel::signals(&params), Cow::Owned(kernel::setup(&params, path))))
    }

    /// Returns the internal quantities of the algorithm in flows of the kernel on this path, from the bytes
    /// of their states: for each its index, kind and value. Returns nothing for an algorithm that is not
    /// built in, or for a state that is too short. The states must belong to this algorithm, from an object
    /// of this version: others cannot be recognised.
    fn kernel_internals(
        &self,
        path: (u64, u64, u64, u64, u64, u32),
        states: Vec<Vec<u8>>,
    ) -> Option<Vec<Vec<InternalValue>>> {
        let (params, path) = (self.0.parameters()?, flow_path(path));
        // SAFETY: whoever calls it from Python has these from the kernel's map, where the functions of this algorithm
        // write.
        #[expect(unsafe_code, reason = "states of the kernel come as bytes")]
        unsafe {
            kernel::internals(&params, path, &states)
        }
    }

    /// The algorithms in use, each with its preset.
    fn algorithms(&self) -> Vec<String> {
        self.0.algorithms()
    }

    /// Settings that are possible but hardly intended, like a link that the traffic overloads.
    fn warnings(&self) -> Vec<PyProblem> {
        self.0.warnings().iter().cloned().map(PyProblem::from).collect()
    }

    /// Keys that were written and have no effect with the settings of its contestant.
    fn dropped(&self) -> Vec<PyProblem> {
        self.0.dropped().iter().cloned().map(PyProblem::from).collect()
    }

    /// The contestant that was chosen, with its preset if one was named.
    #[getter]
    fn contestant(&self) -> Option<&str> {
        self.0.contestant()
    }

    /// The names of the contestants that its file and its overrides define.
    fn own_contestants(&self) -> Vec<String> {
        self.0.own_contestants().to_vec()
    }

    /// A problem of one of its keys, placed in the file.
    fn problem(&self, key: &str, problem: String) -> PyProblem {
        self.0.problem(key, incast_lab::Problem::new(problem)).into()
    }

    /// The files in the format of another program that it names.
    fn files(&self) -> Vec<PathBuf> {
        self.0.files().to_vec()
    }

    /// Payload of a full data packet in bytes.
    #[getter]
    fn payload_bytes(&self) -> u64 {
        self.0.payload().get()
    }

    /// Whether each node has a clock of its own.
    #[getter]
    fn has_own_clocks(&self) -> bool {
        self.0.has_own_clocks()
    }

    /// Returns the scenario with another algorithm, `name` or `name:preset`, and parameters like `eta=0.95`.
    #[pyo3(signature = (algorithm, parameters=Vec::new()))]
    fn with_algorithm(&self, algorithm: &str, parameters: Vec<String>) -> PyResult<Self> {
        self.0.with_algorithm(algorithm, &parameters).map(Self).map_err(error::problems)
    }

    /// Returns the scenario with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        Self(self.0.with_seed(seed))
    }

    /// The effective scenario as a file.
    fn to_toml(&self) -> String {
        self.0.effective_toml()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// The numbers of the flows in the order of service, which matters for those that start together.
    fn service_order(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let built = py.detach(|| self.0.build()).map_err(error::problems)?;
        Ok(built.simulation.served().map(|(number, _)| number).collect())
    }

    /// Returns the times in which nodes know that links are down.
    fn outages(&self, py: Python<'_>) -> PyResult<Vec<Outage>> {
        let built = py.detach(|| self.0.build()).map_err(error::problems)?;
        let outages = incast_sim::outages(&built.simulation.network).map_err(PyValueError::new_err)?;
        Ok(outages.iter().map(|o| (o.node, o.port, o.from.ps(), o.until.map(Time::ps))).collect())
    }

    /// The ports of its network: the node of each, its number there, and the node at the far end.
    fn ports(&self) -> Vec<(&str, usize, &str)> {
        let fabric = self.0.fabric();
        let name = |node: u32| fabric.network.nodes.get(node as usize).map_or("", String::as_str);
        let of =
            |node: u32| fabric.ports(node).iter().enumerate().map(move |(port, far)| (node, port, far.0));
        let every = (0..fabric.network.nodes.len() as u32).flat_map(of);
        every.map(|(node, port, far)| (name(node), port, name(far))).collect()
    }

    /// Returns its size.
    fn size(&self, py: Python<'_>) -> PyResult<Size> {
        let built = py.detach(|| self.0.build()).map_err(error::problems)?;
        let simulation = &built.simulation;
        let sized = simulation.flows.iter().map(|f| f.size).filter(|&s| s != Bytes::UNLIMITED);
        let bytes = sized.map(Bytes::get).fold(0, u64::saturating_add);
        let starts = || simulation.flows.iter().map(|flow| flow.start);
        let [first, last] = [starts().min(), starts().max()].map(Option::unwrap_or_default);
        let seconds = (last - first).ps() as f64 / PS_PER_SECOND as f64;
        let capacity: f64 =
            (0..simulation.network.hosts).map(|host| built.fabric.host_rate(host).bps() as f64).sum();
        Ok(Size {
            network: built.fabric.summary(),
            algorithms: built.algorithms,
            flows: simulation.flows.len(),
            bytes,
            starts_ps: (first.ps(), last.ps()),
            load: (last > first).then(|| bytes as f64 * 8.0 / seconds / capacity),
            until_ps: limit(simulation.until),
        })
    }

    /// Runs it. Returns the result and, when the run was stopped early, the exception that stopped it, from a
    /// signal (Ctrl-C) or from `report`.
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    #[pyo3(signature = (out, threads, fresh, report, build=None, profile=false, wait=true))]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        threads: usize,
        fresh: bool,
        report: Option<Py<PyAny>>,
        build: Option<String>,
        profile: bool,
        wait: bool,
    ) -> PyResult<(Result, Option<PyErr>)> {
        let begin = Instant::now();
        let built = py.detach(|| self.0.build()).map_err(error::problems)?;
        let build_time = begin.elapsed();
        // Python is asked in one thread, and the lock is kept: giving it back and taking it again for
        // every packet costs more than the call.
        let in_python = built.simulation.algorithms.iter().any(Algorithm::needs_one_thread);
        let threads = if in_python { 1 } else { threads };
        let mut stop = None;
        plugin::clear_fault();
        let work = || {
            let scenario = self.0.effective_toml();
            let job = built.job(self.0.name(), &scenario);
            let options = RunOptions {
                threads: Some(threads),
                out,
                replace: fresh,
                build,
                profile,
                wait,
                failed: Some(plugin::has_failed),
                ..RunOptions::default()
            };
            let until = limit(built.simulation.until);
            run(&job, &options, &mut |progress| {
                let told = Python::attach(|py| {
                    if let Some(fault) = plugin::take_fault() {
                        return Err(fault);
                    }
                    py.check_signals()?;
                    let Some(report) = &report else { return Ok(()) };
                    let p = progress;
                    report.call1(py, (p.now.ps(), until, p.flows_finished, p.flows, p.hops)).map(drop)
                });
                match told {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        stop = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })
            .map_err(error::run)
        };
        let mut ran = if in_python { work()? } else { py.detach(work)? };
        if let Some(times) = &mut ran.times {
            times.create += build_time;
        }
        let fault = || ran.fault.clone().map(PluginError::new_err);
        let stop = stop.or_else(plugin::take_fault).or_else(fault);
        Ok((Result::of(ran)?, stop))
    }
}

/// The JSON Schema of scenario files, as a text.
#[pyfunction]
pub(crate) fn schema() -> String {
    incast_lab::schema::json().to_string()
}

/// A path: base RTT and one-way delay in ps, rate in bit/s, packet and payload in bytes, links.
fn flow_path((base_rtt, base_owd, rate, packet, payload, hops): (u64, u64, u64, u64, u64, u32)) -> FlowPath {
    FlowPath {
        base_rtt: Time::from_ps(base_rtt),
        base_owd: Time::from_ps(base_owd),
        line_rate: Rate::from_bps(rate),
        packet: Bytes::new(packet),
        payload: Bytes::new(payload),
        hops,
    }
}

fn limit(until: Time) -> Option<u64> {
    (until != Time::NEVER).then(|| until.ps())
}
