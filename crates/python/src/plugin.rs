//! Algorithms written in Python.
//!
//! A run that uses one stays on the thread that started it, so that flows are called in the same
//! order every time. An exception of the user's code is stored until the next progress call, which ends the
//! run; until then no flow is called.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use incast_cc as cc;
use incast_lab::plugin::{self as registry, Parameters, Plain, Plugin};
use incast_sim::describe::algorithm::Algorithm;
use incast_units::{Bytes, Rate, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use crate::signals::{Ack, IntHop, Loss, Path, Sent};

thread_local! {
    /// The exception of an algorithm in the run on this thread.
    static FAULT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Discards the exception of an earlier run on this thread.
pub(crate) fn clear_fault() {
    FAULT.with_borrow_mut(|fault| *fault = None);
}

/// Returns the exception that an algorithm raised in the run on this thread.
pub(crate) fn take_fault() -> Option<PyErr> {
    FAULT.with_borrow_mut(Option::take)
}

/// Whether an algorithm raised anything in the run on this thread.
pub(crate) fn has_failed() -> bool {
    FAULT.with_borrow(Option::is_some)
}

/// Keeps the first exception.
fn fail(error: PyErr) {
    FAULT.with_borrow_mut(|fault| {
        fault.get_or_insert(error);
    });
}

/// Makes an algorithm written in Python known to every scenario that is read from now on.
///
/// `factory` is called with the parameters of a scenario as keywords; `code` is a hash of the source.
#[pyfunction]
#[pyo3(signature = (name, factory, summary, code=None))]
pub(crate) fn register(
    name: &str,
    factory: Py<PyAny>,
    summary: String,
    code: Option<String>,
) -> PyResult<()> {
    let algorithm = Factory { name: name.to_owned(), factory, summary, code };
    registry::register(name, Arc::new(algorithm)).map_err(PyValueError::new_err)
}

/// Opens a shared library with plugins and makes them known, as [`register`] does; `code` is a hash of the file.
/// Returns their names.
#[pyfunction]
pub(crate) fn load_library(path: PathBuf, code: String) -> PyResult<Vec<String>> {
    incast_plugin::load(&path, Some(code)).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The names that were registered, each with one line.
#[pyfunction]
pub(crate) fn registered() -> Vec<(&'static str, String)> {
    registry::registered()
}

/// The class that makes an algorithm from parameters.
#[derive(Debug)]
struct Factory {
    name: String,
    factory: Py<PyAny>,
    summary: String,
    code: Option<String>,
}

impl Plugin for Factory {
    fn summary(&self) -> String {
        self.summary.clone()
    }

    fn code(&self) -> Option<String> {
        self.code.clone()
    }

    fn make(&self, parameters: &Parameters) -> Result<Algorithm, String> {
        Python::attach(|py| self.instance(py, parameters).map_err(|error| spoken(py, &error)))
    }
}

impl Factory {
    fn instance(&self, py: Python<'_>, parameters: &Parameters) -> PyResult<Algorithm> {
        let keywords = table(py, parameters)?;
        let instance = self.factory.bind(py).call((), Some(&keywords))?;
        if !instance.hasattr("start")? {
            let message = format!("{} has no method start(path, now)", self.name);
            return Err(PyTypeError::new_err(message));
        }
        let signals = match value(&instance, "signals")? {
            None => cc::Signals::NONE,
            Some(bits) => signals(bits.extract()?)?,
        };
        let (data, ack) = match value(&instance, "overhead")? {
            None => (0, 0),
            Some(pair) => pair.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "overhead must be two numbers of bytes (data, acknowledgement), not {pair}"
                ))
            })?,
        };
        let parameters =
            Instance { instance: Arc::new(instance.unbind()), signals, overhead: cc::Overhead { data, ack } };
        Ok(Algorithm::new::<Flow>(self.name.clone(), parameters).on_one_thread())
    }
}

/// An attribute, or what it gives when it is a method; nothing when it is absent.
fn value<'py>(of: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(found) = of.getattr_opt(name)? else { return Ok(None) };
    if found.is_callable() { found.call0().map(Some) } else { Ok(Some(found)) }
}

fn signals(bits: u32) -> PyResult<cc::Signals> {
    let signals = cc::Signals::from_bits(bits);
    signals
        .ok_or_else(|| PyValueError::new_err(format!("signals must be made of incast.Signals, not {bits}")))
}

fn table<'py>(py: Python<'py>, parameters: &Parameters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in parameters {
        dict.set_item(key, plain(py, value)?)?;
    }
    Ok(dict)
}

fn plain<'py>(py: Python<'py>, value: &Plain) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Plain::Flag(flag) => flag.into_bound_py_any(py),
        Plain::Integer(number) => number.into_bound_py_any(py),
        Plain::Decimal(text) => {
            let number: f64 =
                text.parse().map_err(|_| PyValueError::new_err(format!("{text} is no number")))?;
            number.into_bound_py_any(py)
        }
        Plain::Text(text) => text.into_bound_py_any(py),
        Plain::List(items) => {
            let items: Vec<_> = items.iter().map(|item| plain(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_bound_py_any(py)
        }
        Plain::Table(entries) => table(py, entries)?.into_bound_py_any(py),
    }
}

/// An exception as one line.
fn spoken(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    format!("{kind}: {}", error.value(py))
}

/// An algorithm with its parameters: an object that makes flows.
#[derive(Clone, Debug)]
struct Instance {
    instance: Arc<Py<PyAny>>,
    signals: cc::Signals,
    overhead: cc::Overhead,
}

impl cc::Parameters for Instance {
    type Derived = ();

    fn derive(&self, _path: &cc::Path) {}
}

/// The methods of a flow, bound to it.
struct Methods {
    on_ack: Py<PyAny>,
    on_cnp: Option<Py<PyAny>>,
    on_loss: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    deadline: Option<Py<PyAny>>,
    tag: Option<Py<PyAny>>,
    allowance: Py<PyAny>,
}

impl Methods {
    fn of(flow: &Bound<'_, PyAny>) -> PyResult<Self> {
        let optional = |name: &str| Ok::<_, PyErr>(flow.getattr_opt(name)?.map(Bound::unbind));
        let required = |name: &str, how: &str| {
            optional(name)?.ok_or_else(|| {
                let kind = flow.get_type();
                PyTypeError::new_err(format!("start() gave a {kind}, which has no method {how}"))
            })
        };
        Ok(Self {
            on_ack: required("on_ack", "on_ack(ack, hops)")?,
            on_cnp: optional("on_cnp")?,
            on_loss: optional("on_loss")?,
            on_sent: optional("on_sent")?,
            on_timer: optional("on_timer")?,
            deadline: optional("deadline")?,
            tag: optional("tag")?,
            allowance: required("allowance", "allowance()")?,
        })
    }
}

/// The state of a flow. Its allowance is queried once after every call that can change it.
struct Flow {
    /// Nothing when it could not be started.
    methods: Option<Methods>,
    /// Whether it reads in-band telemetry.
    telemetry: bool,
    allowance: cc::Allowance,
    deadline: Time,
}

impl Flow {
    /// Returns a copy without its methods.
    fn idle(&self) -> Self {
        Self { methods: None, ..*self }
    }

    /// Calls the flow, and queries its allowance.
    fn call(&mut self, event: impl FnOnce(Python<'_>, &Methods) -> PyResult<bool>) {
        if self.methods.is_none() || has_failed() {
            self.deadline = Time::NEVER;
            return;
        }
        Python::attach(|py| {
            let methods = self.methods.as_ref().map_or(Ok(false), |methods| event(py, methods));
            let asked = methods.and_then(|called| if called { self.ask(py) } else { Ok(()) });
            if let Err(error) = asked {
                fail(error);
            }
        });
    }

    fn ask(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(methods) = &self.methods else { return Ok(()) };
        let allowance = methods.allowance.bind(py).call0()?;
        let pair: PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = allowance.extract();
        let (window, rate) = pair.map_err(|_| {
            let message = format!("allowance() must give (window in bytes, rate in bit/s), not {allowance}");
            PyTypeError::new_err(message)
        })?;
        let (window, rate) = (whole(&window, "the window")?, whole(&rate, "the rate")?);
        self.allowance = cc::Allowance {
            window: window.map_or(Bytes::UNLIMITED, Bytes::new),
            rate: Rate::from_bps(rate.unwrap_or(u64::MAX)),
        };
        if let Some(deadline) = &methods.deadline {
            let deadline = deadline.bind(py).call0()?;
            self.deadline = whole(&deadline, "the deadline")?.map_or(Time::NEVER, Time::from_ps);
        }
        Ok(())
    }
}

/// A number of bytes, bit/s or ps, rounded down; nothing for `None` and infinity.
fn whole(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<u64>> {
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Some(number));
    }
    if value.is_none() {
        return Ok(None);
    }
    let number: f64 =
        value.extract().map_err(|_| PyTypeError::new_err(format!("{what} must be a number, not {value}")))?;
    if number.is_nan() || number < 0.0 {
        return Err(PyValueError::new_err(format!("{what} must be zero or more, not {number}")));
    }
    // Larger than 64 bits hold is as good as infinite.
    Ok((number < 18_446_744_073_709_551_615.0).then_some(number as u64))
}

fn called(
    py: Python<'_>,
    method: Option<&Py<PyAny>>,
    arguments: impl FnOnce() -> PyResult<Py<PyTuple>>,
) -> PyResult<bool> {
    let Some(method) = method else { return Ok(false) };
    method.bind(py).call1(arguments()?.bind(py))?;
    Ok(true)
}

fn tuple<'py>(py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, [value.into_bound_py_any(py)?])?.unbind())
}

impl cc::CongestionControl for Flow {
    type Params = Instance;

    fn signals(params: &Instance) -> cc::Signals {
        params.signals
    }

    fn overhead(params: &Instance) -> cc::Overhead {
        params.overhead
    }

    fn new(setup: &cc::Setup<Instance>, now: Time) -> Self {
        let flow = Self {
            methods: None,
            telemetry: setup.params.signals.contains(cc::Signals::INT),
            allowance: cc::Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) },
            deadline: Time::NEVER,
        };
        Python::attach(|py| {
            if has_failed() {
                return flow;
            }
            let started = || -> PyResult<Self> {
                let start = intern!(py, "start");
                let state = setup
                    .params
                    .instance
                    .bind(py)
                    .call_method1(start, (Path::from(&setup.path), now.ps()))?;
                let mut flow = Self { methods: Some(Methods::of(&state)?), ..flow.idle() };
                flow.ask(py)?;
                Ok(flow)
            };
            started().unwrap_or_else(|error| {
                fail(error);
                flow
            })
        })
    }

    fn on_ack(&mut self, _setup: &cc::Setup<Instance>, ack: &cc::Ack, int: &cc::IntStack) {
        let telemetry = self.telemetry;
        self.call(|py, methods| {
            let hops: Vec<Bound<'_, IntHop>> = if telemetry {
                int.iter().map(|(_, hop)| Bound::new(py, IntHop::from(hop))).collect::<PyResult<_>>()?
            } else {
                Vec::new()
            };
            methods.on_ack.bind(py).call1((Ack::from(ack), PyTuple::new(py, hops)?))?;
            Ok(true)
        });
    }

    fn on_cnp(&mut self, _setup: &cc::Setup<Instance>, now: Time) {
        self.call(|py, methods| called(py, methods.on_cnp.as_ref(), || tuple(py, now.ps())));
    }

    fn on_loss(&mut self, _setup: &cc::Setup<Instance>, loss: &cc::Loss) {
        self.call(|py, methods| called(py, methods.on_loss.as_ref(), || tuple(py, Loss::from(loss))));
    }

    fn on_sent(&mut self, _setup: &cc::Setup<Instance>, sent: &cc::Sent) {
        if self.methods.as_ref().is_some_and(|methods| methods.on_sent.is_some()) {
            self.call(|py, methods| called(py, methods.on_sent.as_ref(), || tuple(py, Sent::from(sent))));
        }
    }

    fn on_timer(&mut self, _setup: &cc::Setup<Instance>, now: Time) {
        // A deadline that stays where it is would come again at once.
        self.deadline = Time::NEVER;
        self.call(|py, methods| called(py, methods.on_timer.as_ref(), || tuple(py, now.ps())));
    }

    fn tag(&self, _setup: &cc::Setup<Instance>) -> u32 {
        let Some(tag) = self.methods.as_ref().and_then(|methods| methods.tag.as_ref()) else { return 0 };
        if has_failed() {
            return 0;
        }
        let asked = Python::attach(|py| tag.bind(py).call0()?.extract());
        asked.unwrap_or_else(|error| {
            fail(error);
            0
        })
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn allowance(&self, _setup: &cc::Setup<Instance>) -> cc::Allowance {
        self.allowance
    }
}
