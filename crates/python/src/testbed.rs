//! Scenarios on a testbed: what it must do, and the result of what it measured.

use std::path::PathBuf;

use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_lab::formats::pcapng::Frame;
use incast_lab::results::info::TestbedInfo;
use incast_lab::run::{self as lab, Job, Measured, RunOptions};
use incast_sim::Simulation;
use incast_sim::describe::network::Link as DescribedLink;
use incast_sim::describe::switch::{Buffer, MarkingPoint};
use incast_sim::describe::work::{Operation as Described, What};
use incast_sim::record::{
    End, FlowRecord, FlowSample, InternalSample, OperationRecord, PortSample, PortTotals, Stall,
};
use incast_units::{Bytes, Rate, Time};
use pyo3::prelude::*;

use crate::error;
use crate::result::Result;
use crate::scenario::Scenario;

/// A link: node and port of either end, rate in bit/s, delay in ps.
type Link = (u32, u16, u32, u16, u64, u64);
/// A flow: source, destination, size in bytes if it has one, start and perhaps stop in ps, group, algorithm.
type Flow = (u32, u32, Option<u64>, u64, Option<u64>, u16, u16);
/// A path: base RTT and one-way delay in ps, rate in bit/s, packet and payload in bytes, links.
type Path = (u64, u64, u64, u64, u64, u32);
/// An operation: its host, what it does (`send`, `receive`, `compute`), its flow or processor, how long it computes
/// in ps, operations that must have ended and that must have started before it starts, and the time in ps from which
/// on it is left out, if there is one.
type Operation = (u32, &'static str, u32, u64, Vec<u32>, Vec<u32>, Option<u64>);
/// ECN: kmin, kmax in bytes, pmax, reference rate in bit/s if there is one, whether at dequeue.
type Ecn = (u64, u64, f64, Option<u64>, bool);

/// Rule by which a switch pauses a link into it: node and port that are paused; the threshold in bytes if it
/// is fixed, the part of the free buffer out of 2^32, distance below it at which it resumes, headroom and
/// reserve in bytes.
type Pausing = (u32, u16, Option<u64>, u64, u64, u64, u64);

/// A scenario's requests to a testbed. Times are in ps, rates in bit/s.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Plan {
    /// Names of the nodes, hosts first.
    nodes: Vec<String>,
    /// Number of nodes that are hosts.
    hosts: u32,
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// Path of each flow as its algorithm sees it.
    paths: Vec<Path>,
    /// Names of the traffic blocks.
    groups: Vec<String>,
    /// Algorithms with their presets.
    algorithms: Vec<String>,
    /// Operations with dependencies, by number.
    operations: Vec<Operation>,
    /// Least time of the longest job.
    longest_job_ps: u64,
    /// Limit of the buffer of a switch, or of each port; none: unlimited.
    buffer_bytes: Option<u64>,
    /// The part of the free buffer that a queue may have; none: each port has a limit of its own.
    buffer_alpha: Option<f64>,
    ecn: Option<Ecn>,
    /// Links into switches with priority flow control; empty if there is none.
    pausing: Vec<Pausing>,
    until_ps: Option<u64>,
    /// Time without progress after which it is given up.
    stall_after_ps: u64,
    probed_ports: Vec<(u32, u16)>,
    port_interval_ps: u64,
    probed_flows: Vec<u32>,
    flow_interval_ps: u64,
    /// Whether internal quantities of the algorithms are sampled with their flows.
    internals: bool,
    /// Ports whose packets are captured.
    captured_ports: Vec<(u32, u16)>,
    probe_from_ps: u64,
    probe_until_ps: Option<u64>,
}

/// A flow: its number; start, finish, delivery in ps; payload acknowledged, packets, packets sent again, packets
/// marked, timeouts.
type MeasuredFlow = (u32, u64, Option<u64>, Option<u64>, u64, u64, u64, u64, u32);
/// A sample of a port: time in ps, node, port, bytes queued, transmitted, dropped, packets marked, whether it is paused.
type PortRow = (u64, u32, u16, u64, u64, u64, u64, bool);
/// A sample of a flow: time in ps, flow, window in bytes, rate in bit/s, RTT in ps, bytes in flight, acknowledged.
type FlowRow = (u64, u32, u64, Option<u64>, u64, u64, u64);
/// A sample of an internal quantity: time in ps, flow, index in the algorithm's list, kind and value.
type InternalRow = (u64, u32, u16, u8, u64);
/// Totals of a port: node, port, bytes and packets transmitted, packets and bytes dropped, packets marked, longest
/// queue, time paused in ps, pauses sent.
type PortTotal = (u32, u16, u64, u64, u64, u64, u64, u64, u64, u64);

/// A packet that was seen: time in ps, node and port that sent it, its length in bytes, its first bytes.
type SeenFrame = (u64, u32, u16, u64, Vec<u8>);

/// An operation that has started: its number; start, end in ps.
type MeasuredOperation = (u32, u64, Option<u64>);
/// End of the run: `finished`, `time limit`, `interrupted` or `stalled`; its time, in ps; data packets lost
/// on the way; after a stall, flows and operations with the reasons for which they wait.
type Ending = (String, u64, u64, Vec<(u32, String)>, Vec<(u32, String)>);

/// Measurements of a run on a testbed.
#[derive(FromPyObject)]
pub(crate) struct Measurement {
    ending: Ending,
    flows: Vec<MeasuredFlow>,
    port_samples: Vec<PortRow>,
    flow_samples: Vec<FlowRow>,
    internals: Vec<InternalRow>,
    ports: Vec<PortTotal>,
    operations: Vec<MeasuredOperation>,
    frames: Vec<SeenFrame>,
    /// The testbed, in JSON.
    testbed: String,
}

/// Returns a scenario's requests to a testbed.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, scenario: &Scenario) -> PyResult<Plan> {
    let built = py.detach(|| scenario.0.build()).map_err(error::problems)?;
    let simulation = &built.simulation;
    let invalid = |invalid| error::run(invalid_run(invalid));
    let told = incast_sim::told_paths(simulation).map_err(invalid)?;
    let bounds = incast_sim::job_bounds(simulation).map_err(invalid)?;
    let (buffer_bytes, buffer_alpha) = match simulation.switch.buffer {
        Buffer::Unlimited => (None, None),
        Buffer::PerPort(limit) => (Some(limit.get()), None),
        Buffer::Shared { size, egress_alpha, .. } => (Some(size.get()), Some(fraction(egress_alpha))),
    };
    let network = &simulation.network;
    let probes = &simulation.probes;
    Ok(Plan {
        nodes: network.nodes.clone(),
        hosts: network.hosts,
        links: network
            .links
            .iter()
            .map(|l| (l.a.0, l.a.1, l.b.0, l.b.1, l.rate.bps(), l.delay.ps()))
            .collect(),
        flows: simulation
            .flows
            .iter()
            .map(|f| {
                let size = (f.size != Bytes::UNLIMITED).then(|| f.size.get());
                (f.source, f.destination, size, f.start.ps(), limit(f.stop), f.group, f.algorithm)
            })
            .collect(),
        paths: told
            .iter()
            .map(|p| {
                let (packet, payload) = (p.packet.get(), p.payload.get());
                (p.base_rtt.ps(), p.base_owd.ps(), p.line_rate.bps(), packet, payload, p.hops)
            })
            .collect(),
        groups: built.groups.clone(),
        algorithms: built.algorithms.clone(),
        operations: simulation.operations.iter().map(operation).collect(),
        longest_job_ps: bounds.into_iter().flatten().max().unwrap_or(Time::ZERO).ps(),
        buffer_bytes,
        buffer_alpha,
        ecn: simulation.switch.ecn.map(|ecn| {
            let at_dequeue = matches!(ecn.at, MarkingPoint::Dequeue);
            let reference = ecn.reference.map(Rate::bps);
            (ecn.kmin.get(), ecn.kmax.get(), fraction(ecn.pmax), reference, at_dequeue)
        }),
        pausing: pausing(simulation),
        until_ps: limit(simulation.until),
        stall_after_ps: simulation.stall_after.ps(),
        probed_ports: probes.ports.clone(),
        port_interval_ps: probes.port_interval.ps(),
        probed_flows: probes.flows.clone(),
        flow_interval_ps: probes.flow_interval.ps(),
        internals: probes.internals,
        captured_ports: probes.captures.clone(),
        probe_from_ps: probes.from.ps(),
        probe_until_ps: limit(probes.until),
    })
}

fn pausing(simulation: &Simulation) -> Vec<Pausing> {
    let (network, switch, transport) = (&simulation.network, &simulation.switch, &simulation.transport);
    let Some(pfc) = switch.pfc else { return Vec::new() };
    let (alpha, reserve) = match switch.buffer {
        Buffer::Shared { ingress_alpha, reserve, .. } => (ingress_alpha, reserve.get()),
        Buffer::Unlimited | Buffer::PerPort(_) => (Fixed::ZERO, 0),
    };
    let packet = (transport.payload + transport.header).max(transport.smallest);
    let of = |link: &DescribedLink| {
        let alpha = switch.ingress_alpha_at(alpha, link.rate).bits();
        let headroom = switch.headroom(link.rate, link.delay, packet).get();
        (pfc.xoff.map(Bytes::get), u64::try_from(alpha).unwrap_or(0), pfc.xon_offset.get(), headroom, reserve)
    };
    let both = network.links.iter().flat_map(|link| [(link, link.a, link.b), (link, link.b, link.a)]);
    both.filter(|(_, _, far)| far.0 >= network.hosts)
        .map(|(link, (node, port), _)| {
            let (xoff, alpha, xon_offset, headroom, reserve) = of(link);
            (node, port, xoff, alpha, xon_offset, headroom, reserve)
        })
        .collect()
}

/// The result of what was measured of a scenario.
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
    let measured = measured.read()?;
    let work = || {
        let built = scenario.0.build().map_err(error::problems)?;
        let text = scenario.0.effective_toml();
        let job = Job {
            simulation: &built.simulation,
            name: scenario.0.name(),
            scenario: &text,
            groups: &built.groups,
            algorithms: &built.algorithms,
            jobs: &built.jobs,
        };
        let options = RunOptions { out, replace: fresh, build, ..RunOptions::default() };
        lab::record(&job, &options, &measured).map_err(error::run)
    };
    Result::of(py.detach(work)?)
}

impl Measurement {
    fn read(self) -> PyResult<Measured> {
        let (end, now, dropped, flows, operations) = self.ending;
        let testbed: TestbedInfo = serde_json::from_str(&self.testbed)
            .map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))?;
        let unfinished = self.flows.iter().filter(|f| f.2.is_none()).count() as u64;
        let when = |ps: Option<u64>| ps.map_or(Time::NEVER, Time::from_ps);
        Ok(Measured {
            testbed,
            end: match end.as_str() {
                "finished" => End::Finished,
                "time limit" => End::TimeLimit,
                "stalled" => End::Stalled(Stall { flows, unfinished, operations }),
                _ => End::Interrupted,
            },
            now: Time::from_ps(now),
            dropped,
            flows: self
                .flows
                .into_iter()
                .map(|(flow, start, finish, delivered, bytes, packets, resent, marked, timeouts)| {
                    FlowRecord {
                        flow,
                        start: Time::from_ps(start),
                        finish: when(finish),
                        delivered: when(delivered),
                        bytes: Bytes::new(bytes),
                        packets,
                        resent,
                        marked,
                        timeouts,
                        base_rtt: Time::ZERO,
                        ideal: Time::NEVER,
                        ideal_plain: Time::NEVER,
                    }
                })
                .collect(),
            operations: self
                .operations
                .into_iter()
                .map(|(operation, start, end)| OperationRecord {
                    operation,
                    start: Time::from_ps(start),
                    end: when(end),
                })
                .collect(),
            port_samples: self
                .port_samples
                .into_iter()
                .map(|(time, node, port, queue, transmitted, dropped, marked, paused)| PortSample {
                    time: Time::from_ps(time),
                    node,
                    port,
                    queue: Bytes::new(queue),
                    transmitted: Bytes::new(transmitted),
                    dropped: Bytes::new(dropped),
                    marked,
                    paused,
                    samples: 1,
                })
                .collect(),
            flow_samples: self
                .flow_samples
                .into_iter()
                .map(|(time, flow, window, rate, rtt, inflight, acked)| FlowSample {
                    time: Time::from_ps(time),
                    flow,
                    window: Bytes::new(window),
                    // Null in the table.
                    rate: Rate::from_bps(rate.unwrap_or(u64::MAX)),
                    rtt: Time::from_ps(rtt),
                    inflight: Bytes::new(inflight),
                    acked: Bytes::new(acked),
                    samples: 1,
                })
                .collect(),
            internals: self
                .internals
                .into_iter()
                .map(|(time, flow, internal, kind, bits)| {
                    let value = Value::from_bits(kind, bits).ok_or_else(|| {
                        pyo3::exceptions::PyValueError::new_err(format!(
                            "no kind of values has the number {kind}"
                        ))
                    })?;
                    Ok(InternalSample { time: Time::from_ps(time), flow, internal, value, samples: 1 })
                })
                .collect::<PyResult<_>>()?,
            frames: self
                .frames
                .into_iter()
                .map(|(time, node, port, length, bytes)| Frame {
                    time: Time::from_ps(time),
                    port: (node, port),
                    length: Bytes::new(length),
                    bytes,
                })
                .collect(),
            ports: self
                .ports
                .into_iter()
                .map(|(node, port, transmitted, packets, drops, dropped, marked, peak, paused, sent)| {
                    PortTotals {
                        node,
                        port,
                        transmitted: Bytes::new(transmitted),
                        packets,
                        drops,
                        dropped: Bytes::new(dropped),
                        marked,
                        peak_queue: Bytes::new(peak),
                        paused: Time::from_ps(paused),
                        pauses_sent: sent,
                        trimmed: 0,
                    }
                })
                .collect(),
        })
    }
}

fn operation(described: &Described) -> Operation {
    let (what, number, time) = match described.what {
        What::Send { flow } => ("send", flow, Time::ZERO),
        What::Receive { flow } => ("receive", flow, Time::ZERO),
        What::Compute { time, processor } => ("compute", u32::from(processor), time),
    };
    let (after, after_start) = (described.after.clone(), described.after_start.clone());
    (described.host, what, number, time.ps(), after, after_start, limit(described.start_before))
}

/// A parameter in units of 2^-32 as a number.
fn fraction(value: Fixed) -> f64 {
    value.bits() as f64 / f64::from(1_u16 << 15) / f64::from(1_u32 << 17)
}

fn limit(time: Time) -> Option<u64> {
    (time != Time::NEVER).then(|| time.ps())
}

fn invalid_run(invalid: incast_sim::Invalid) -> incast_lab::run::RunError {
    incast_lab::run::RunError::Invalid(invalid)
}

/// A port for the switch: node, port, node at the far end, rate in bit/s, delay in ps; marks: where they begin and
/// where they are certain, in bytes, the probability below that, and whether at dequeue; whether it writes telemetry.
type SwitchPort = (u32, u16, u32, u64, u64, Option<(u64, u64, f64, bool)>, bool);

/// Totals of the switch: samples and totals of ports; frames to hosts, numbers of frames that were 100 us and
/// a millisecond late, the largest delay of one in ps, and frames that devices refused.
type SwitchDone = (Vec<PortRow>, Vec<PortTotal>, (u64, u64, u64, u64, u64));

/// A switch in user space, which forwards from its making on, in a thread of its own.
#[cfg(target_os = "linux")]
#[pyclass(frozen, module = "incast")]
pub(crate) struct Switch {
    /// Node and port of each port of the model.
    names: Vec<(u32, u16)>,
    running: std::sync::Mutex<Option<incast_softswitch::Switch>>,
}

#[cfg(target_os = "linux")]
#[pymethods]
impl Switch {
    /// Forwards between packet sockets, one for each host, which may be closed. The buffer is a limit in
    /// bytes and, if a whole switch shares it, the part of the free bytes that a queue may have; with links
    /// that are paused nothing but the size of the buffer counts.
    #[new]
    fn new(
        sockets: Vec<i32>,
        ports: Vec<SwitchPort>,
        buffer: (Option<u64>, Option<f64>),
        seed: u64,
        pausing: Vec<Pausing>,
    ) -> PyResult<Self> {
        let hosts = u32::try_from(sockets.len()).unwrap_or(u32::MAX);
        let buffer = match buffer {
            (None, _) => incast_softswitch::Buffer::Unlimited,
            (Some(limit), None) => incast_softswitch::Buffer::PerPort(limit),
            (Some(size), Some(alpha)) => incast_softswitch::Buffer::Shared { size, alpha },
        };
        let names = ports.iter().map(|port| (port.0, port.1)).collect();
        let paused = |node, port| {
            let rule = pausing.iter().find(|rule| (rule.0, rule.1) == (node, port));
            rule.map(|&(_, _, xoff, alpha, xon_offset, headroom, reserve)| incast_softswitch::Pausing {
                xoff,
                alpha,
                xon_offset,
                headroom,
                reserve,
            })
        };
        let ports = ports.into_iter().map(|(node, port, peer, rate, delay, marks, records)| {
            incast_softswitch::Port {
                node,
                peer,
                rate: Rate::from_bps(rate),
                delay: Time::from_ps(delay),
                marks: marks.map(|(low, high, probability, at_dequeue)| incast_softswitch::Marks {
                    low,
                    high,
                    probability: (probability.clamp(0.0, 1.0) * 4_294_967_296.0) as u64,
                    at_dequeue,
                }),
                pausing: paused(node, port),
                records,
            }
        });
        let model = incast_softswitch::Model::new(hosts, ports.collect(), buffer, seed);
        let running = incast_softswitch::Switch::start(model, &sockets)?;
        Ok(Self { names, running: std::sync::Mutex::new(Some(running)) })
    }

    /// Counts, and samples ports, from a time of the monotonic clock in ns on. Times for samples are in ps from then.
    fn begin(
        &self,
        start_ns: u64,
        sampled: Vec<(u32, u16)>,
        from_ps: u64,
        interval_ps: u64,
        until_ps: Option<u64>,
    ) {
        let place = |name: &(u32, u16)| self.names.iter().position(|known| known == name);
        let sampling = incast_softswitch::model::Sampling {
            ports: sampled.iter().filter_map(place).collect(),
            from: Time::from_ps(from_ps),
            interval: Time::from_ps(interval_ps),
            until: until_ps.map_or(Time::NEVER, Time::from_ps),
        };
        if let Some(switch) = &*self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            switch.begin(Time::from_ns(start_ns), sampling);
        }
    }

    /// Stops forwarding.
    fn stop(&self, py: Python<'_>) -> PyResult<SwitchDone> {
        let switch = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let Some(switch) = switch else { return Ok((Vec::new(), Vec::new(), (0, 0, 0, 0, 0))) };
        let done = py.detach(|| switch.stop())?;
        let samples = done.samples.iter().map(|s| {
            let (node, port) = self.names[s.port];
            let t = s.totals;
            (s.time.ps(), node, port, s.queue, t.transmitted, t.dropped, t.marked, s.paused)
        });
        let totals = self.names.iter().zip(&done.totals).map(|(&(node, port), t)| {
            (
                node,
                port,
                t.transmitted,
                t.packets,
                t.drops,
                t.dropped,
                t.marked,
                t.peak,
                t.paused.ps(),
                t.pauses,
            )
        });
        let late = (done.delivered, done.late.0, done.late.1, done.latest.ps(), done.refused);
        Ok((samples.collect(), totals.collect(), late))
    }
}
