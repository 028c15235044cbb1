//! The plan of a testbed: a scenario's requests to it, in numbers.

use incast_lab::backend::testbed::{self as lab, Forwarder, Testbed};
use incast_lab::backend::{Backend, refused};
use incast_lab::run::RunError;
use incast_sim::Simulation;
use incast_sim::describe::network::{Network, NodeId, PortId};
use incast_sim::describe::switch::Switch;
use incast_sim::describe::work::{Operation, What};
use incast_sim::rules::{Marking, Pausing};
use incast_units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{self, PyProblem};
use crate::scenario::Scenario;

/// The name of a port: its node, and its number there.
#[pyclass(frozen, get_all, eq, ord, hash, from_py_object, module = "incast")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PortKey {
    /// The node.
    pub(crate) node: u32,
    /// The port.
    pub(crate) port: u16,
}

#[pymethods]
impl PortKey {
    #[new]
    fn new(node: u32, port: u16) -> Self {
        Self { node, port }
    }

    fn __repr__(&self) -> String {
        format!("PortKey(node={}, port={})", self.node, self.port)
    }
}

impl From<(NodeId, PortId)> for PortKey {
    fn from((node, port): (NodeId, PortId)) -> Self {
        Self { node, port }
    }
}

/// One direction of a link.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct PlannedLink {
    /// The port that sends on it.
    pub(crate) key: PortKey,
    /// The node that sends on it.
    pub(crate) node: u32,
    /// Its port there.
    pub(crate) port: u16,
    /// The node at its end.
    pub(crate) peer: u32,
    /// Its rate in bit/s.
    pub(crate) rate_bps: u64,
    /// Its delay in ps.
    pub(crate) delay_ps: u64,
    /// The longest queue in bytes of a switch's port that alone fills the buffer; none without a limit.
    pub(crate) limit_bytes: Option<u64>,
    /// The marks of a switch's port.
    pub(crate) marks: Option<PlannedMarks>,
    /// The rule by which the switch at its end pauses it.
    pub(crate) pausing: Option<PlannedPausing>,
}

/// Random early marking at a port, scaled to its rate.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct PlannedMarks {
    /// No marks up to this queue, in bytes.
    pub(crate) low_bytes: u64,
    /// All packets are marked from this queue on, in bytes.
    pub(crate) high_bytes: u64,
    /// Probability just below that.
    pub(crate) probability: f64,
}

/// The rule by which a link into a switch is paused.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct PlannedPausing {
    /// The threshold in bytes, if it is fixed.
    pub(crate) xoff_bytes: Option<u64>,
    /// The part of what is free that is the threshold, out of 2^32.
    pub(crate) alpha: u64,
    /// It resumes this far below, in bytes.
    pub(crate) xon_offset_bytes: u64,
    /// Room for packets that arrive after a pause was triggered, in bytes.
    pub(crate) headroom_bytes: u64,
    /// Bytes that the link always has.
    pub(crate) reserve_bytes: u64,
}

/// The network and the description of its switches, for the switch in user space. Nothing of it is for Python.
#[pyclass(frozen, module = "incast")]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has the switch in user space"))]
pub(crate) struct PlannedSwitches {
    pub(crate) network: Network,
    pub(crate) switch: Switch,
    /// Its packets have at most this size.
    pub(crate) largest_packet: Bytes,
}

impl PlannedSwitches {
    fn of(simulation: &Simulation) -> Self {
        let (network, switch) = (simulation.network.clone(), simulation.switch.clone());
        Self { network, switch, largest_packet: lab::largest_packet(simulation) }
    }
}

/// A flow.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct PlannedFlow {
    /// Its number.
    number: u32,
    /// The host that sends.
    source: u32,
    /// The host that receives.
    destination: u32,
    /// Its payload in bytes; none for a flow that sends until it stops.
    size_bytes: Option<u64>,
    /// Start in ps; of a flow that an operation sends, the earliest.
    start_ps: u64,
    /// Time in ps at which it stops sending; none if it does not.
    stop_ps: Option<u64>,
    /// Number of its traffic block.
    group: u16,
    /// Number of its algorithm.
    algorithm: u16,
    /// Whether the run waits for its end.
    counted: bool,
    /// The path that its algorithm is given.
    path: PlannedPath,
}

/// The path of a flow, as its algorithm is given it.
#[pyclass(frozen, get_all, eq, hash, module = "incast")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlannedPath {
    /// Round-trip time without queues in ps.
    base_rtt_ps: u64,
    /// The part of it on the way there in ps.
    base_owd_ps: u64,
    /// Rate of the sender's link in bit/s.
    line_rate_bps: u64,
    /// A full packet on the wire in bytes.
    packet_bytes: u64,
    /// Its payload in bytes.
    payload_bytes: u64,
    /// Links from sender to receiver.
    hops: u32,
}

/// An algorithm.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct PlannedAlgorithm {
    /// Its name.
    name: String,
    /// Its name with its preset.
    label: String,
    /// All of its parameters, like `eta=0.95`.
    parameters: Vec<String>,
    /// Its name in Linux, of one that Linux has itself.
    offered: Option<String>,
    /// The first parameter that is set away from its default.
    changed: Option<String>,
}

/// An operation of a host.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct PlannedOperation {
    /// Its host.
    host: u32,
    /// `send`, `receive` or `compute`.
    kind: &'static str,
    /// The flow that it sends or receives, or the processor on which it computes.
    number: u32,
    /// Time for which it computes in ps.
    time_ps: u64,
    /// Operations that must have ended before it starts.
    after: Vec<u32>,
    /// Operations that must have started before it starts.
    after_start: Vec<u32>,
    /// Time in ps from which on it is left out; none for no such limit.
    before_ps: Option<u64>,
}

#[pymethods]
impl PlannedOperation {
    #[new]
    #[pyo3(signature = (host, kind, number, *, time_ps=0, after=Vec::new(), after_start=Vec::new(), before_ps=None))]
    fn new(
        host: u32,
        kind: &str,
        number: u32,
        time_ps: u64,
        after: Vec<u32>,
        after_start: Vec<u32>,
        before_ps: Option<u64>,
    ) -> PyResult<Self> {
        let known = [SEND, RECEIVE, COMPUTE].into_iter().find(|known| *known == kind);
        let kind = known.ok_or_else(|| {
            PyValueError::new_err(format!(
                "there is no operation {kind:?}; known: {SEND}, {RECEIVE}, {COMPUTE}"
            ))
        })?;
        Ok(Self { host, kind, number, time_ps, after, after_start, before_ps })
    }
}

const SEND: &str = "send";
const RECEIVE: &str = "receive";
const COMPUTE: &str = "compute";

/// A scenario's requests to a testbed.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Plan {
    /// Everything of the scenario that a testbed cannot do.
    problems: Vec<PyProblem>,
    /// Deviations from the scenario, in sentences.
    deviations: Vec<String>,
    /// Whether a switch in user space forwards, and not the kernel.
    user: bool,
    /// Names of the nodes, hosts first.
    nodes: Vec<String>,
    /// Number of hosts.
    hosts: u32,
    /// Both directions of every link, in the order of the links.
    pub(crate) links: Vec<Py<PlannedLink>>,
    /// The flows, by number.
    flows: Vec<Py<PlannedFlow>>,
    /// Names of the traffic blocks.
    groups: Vec<String>,
    /// For each traffic block the key of its algorithm: `cc`, or its own.
    keys: Vec<String>,
    /// The algorithms, by number.
    algorithms: Vec<Py<PlannedAlgorithm>>,
    /// Operations with dependencies, by number.
    operations: Vec<Py<PlannedOperation>>,
    /// The network and its switches, for the switch in user space.
    pub(crate) switches: Py<PlannedSwitches>,
    /// Whether switches mark packets.
    marks: bool,
    /// Payload of a full packet in bytes.
    payload_bytes: u64,
    /// A full packet on the wire in bytes.
    packet_bytes: u64,
    /// Bytes that a link of the kernel lets pass at once.
    bucket_bytes: u64,
    /// The shortest retransmission timeout in ps.
    rto_ps: u64,
    /// Time in ps at which it ends at the latest; none without a limit.
    until_ps: Option<u64>,
    /// Time in ps without progress after which it is given up.
    stall_after_ps: u64,
    /// Ports that are sampled.
    probed_ports: Vec<PortKey>,
    /// Time in ps between two samples of a port.
    port_interval_ps: u64,
    /// Flows that are sampled.
    probed_flows: Vec<u32>,
    /// Time in ps between two samples of a flow.
    flow_interval_ps: u64,
    /// Whether internal quantities of the algorithms are sampled with their flows.
    internals: bool,
    /// Ports whose packets are captured.
    captured_ports: Vec<PortKey>,
    /// Time in ps of the first sample.
    probe_from_ps: u64,
    /// Time in ps after which no sample is taken; none without a limit.
    probe_until_ps: Option<u64>,
}

/// Makes the plan of a testbed, whose switch is `kernel`, `user` or `auto`. What it cannot do is in `problems`. There
/// is no plan of a transport without congestion control.
#[pyfunction]
#[pyo3(signature = (scenario, switch="auto"))]
pub(crate) fn plan(py: Python<'_>, scenario: &Scenario, switch: &str) -> PyResult<Plan> {
    let testbed = Testbed(match switch {
        "kernel" => Some(Forwarder::Kernel),
        "user" => Some(Forwarder::User),
        "auto" => None,
        _ => return Err(PyValueError::new_err(format!("a switch is kernel, user or auto, not {switch:?}"))),
    });
    let scenario = &scenario.0;
    let built = py.detach(|| scenario.build()).map_err(error::problems)?;
    let simulation = &built.simulation;
    let problems = refused(&testbed, scenario, &built);
    if !simulation.transport.kind.is_controlled() {
        // Refused, and without an algorithm that is given paths.
        return Err(error::problems(problems));
    }
    let paths = lab::paths(simulation).map_err(|invalid| error::run(RunError::Invalid(invalid)))?;
    let flows = (0_u32..).zip(simulation.flows.iter().zip(&paths)).map(|(number, (flow, path))| {
        let flow = PlannedFlow {
            number,
            source: flow.source,
            destination: flow.destination,
            size_bytes: (flow.size != Bytes::UNLIMITED).then(|| flow.size.get()),
            start_ps: flow.start.ps(),
            stop_ps: limit(flow.stop),
            group: flow.group,
            algorithm: flow.algorithm,
            counted: flow.counted,
            path: path.into(),
        };
        Py::new(py, flow)
    });
    let algorithms = lab::algorithms(scenario).into_iter().map(|algorithm| {
        let lab::Algorithm { name, label, parameters, offered, changed } = algorithm;
        let [name, offered, changed] = [Some(name), offered, changed].map(|text| text.map(str::to_owned));
        let name = name.unwrap_or_default();
        Py::new(py, PlannedAlgorithm { name, label, parameters, offered, changed })
    });
    let links = lab::ports(simulation).into_iter().map(|port| Py::new(py, PlannedLink::from(port)));
    let operations = simulation.operations.iter().map(|operation| Py::new(py, planned(operation)));
    let probes = &simulation.probes;
    Ok(Plan {
        problems: problems.0.into_iter().map(PyProblem::from).collect(),
        deviations: testbed.deviations(&built),
        user: testbed.forwarder(simulation) == Forwarder::User,
        nodes: simulation.network.nodes.clone(),
        hosts: simulation.network.hosts,
        links: links.collect::<PyResult<_>>()?,
        flows: flows.collect::<PyResult<_>>()?,
        groups: built.groups.clone(),
        keys: lab::keys_of_algorithms(scenario),
        algorithms: algorithms.collect::<PyResult<_>>()?,
        operations: operations.collect::<PyResult<_>>()?,
        switches: Py::new(py, PlannedSwitches::of(simulation))?,
        marks: simulation.switch.ecn.is_some(),
        payload_bytes: simulation.transport.payload.get(),
        packet_bytes: lab::packet(simulation).get(),
        bucket_bytes: lab::BUCKET.get(),
        rto_ps: simulation.transport.rto.ps(),
        until_ps: limit(simulation.until),
        stall_after_ps: simulation.stall_after.ps(),
        probed_ports: keys(&probes.ports),
        port_interval_ps: testbed.port_interval(simulation).ps(),
        probed_flows: probes.flows.clone(),
        flow_interval_ps: testbed.flow_interval(simulation).ps(),
        internals: probes.internals,
        captured_ports: keys(&probes.captures),
        probe_from_ps: probes.from.ps(),
        probe_until_ps: limit(probes.until),
    })
}

fn keys(ports: &[(NodeId, PortId)]) -> Vec<PortKey> {
    ports.iter().copied().map(PortKey::from).collect()
}

fn limit(time: Time) -> Option<u64> {
    (time != Time::NEVER).then(|| time.ps())
}

fn planned(operation: &Operation) -> PlannedOperation {
    // No testbed has servers, whose operations alone have an earliest start of their own.
    let Operation { host, job: _, what, after, after_start, start_before, earliest: _ } = operation;
    let (kind, number, time) = match *what {
        What::Send { flow } => (SEND, flow, Time::ZERO),
        What::Receive { flow } => (RECEIVE, flow, Time::ZERO),
        What::Compute { time, processor } => (COMPUTE, u32::from(processor), time),
    };
    PlannedOperation {
        host: *host,
        kind,
        number,
        time_ps: time.ps(),
        after: after.clone(),
        after_start: after_start.clone(),
        before_ps: limit(*start_before),
    }
}

impl From<&incast_cc::Path> for PlannedPath {
    fn from(path: &incast_cc::Path) -> Self {
        let incast_cc::Path { base_rtt, base_owd, line_rate, packet, payload, hops } = *path;
        Self {
            base_rtt_ps: base_rtt.ps(),
            base_owd_ps: base_owd.ps(),
            line_rate_bps: line_rate.bps(),
            packet_bytes: packet.get(),
            payload_bytes: payload.get(),
            hops,
        }
    }
}

impl From<lab::Port> for PlannedLink {
    fn from(port: lab::Port) -> Self {
        let lab::Port { node, port, peer, rate, delay, limit, marks, pausing } = port;
        Self {
            key: PortKey { node, port },
            node,
            port,
            peer,
            rate_bps: rate.bps(),
            delay_ps: delay.ps(),
            limit_bytes: limit.map(Bytes::get),
            marks: marks.map(PlannedMarks::from),
            pausing: pausing.map(PlannedPausing::from),
        }
    }
}

impl From<Marking> for PlannedMarks {
    fn from(marks: Marking) -> Self {
        let probability = lab::fraction(marks.pmax());
        Self { low_bytes: marks.kmin().get(), high_bytes: marks.kmax().get(), probability }
    }
}

impl From<Pausing> for PlannedPausing {
    fn from(pausing: Pausing) -> Self {
        let Pausing { xoff, alpha, xon_offset, headroom, reserve } = pausing;
        Self {
            xoff_bytes: xoff.map(Bytes::get),
            alpha: u64::try_from(alpha.bits()).unwrap_or(0),
            xon_offset_bytes: xon_offset.get(),
            headroom_bytes: headroom.get(),
            reserve_bytes: reserve.get(),
        }
    }
}
