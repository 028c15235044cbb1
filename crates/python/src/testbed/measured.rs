//! Measurements of a testbed. Their fields have the names of the columns of the tables that they become.

use incast_cc::params::Value;
use incast_lab::formats::pcapng::Frame;
use incast_lab::run::Measured;
use incast_sim::record::{
    End, FlowRecord, FlowSample as FlowSampleRecord, InternalSample as InternalSampleRecord, OperationRecord,
    PortSample as PortSampleRecord, PortTotals, Stall,
};
use incast_units::{Bytes, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Declares classes that Python makes, by the names of their fields.
macro_rules! measured {
    ($(
        $(#[doc = $doc:literal])+
        struct $name:ident {
            $($(#[doc = $meaning:literal])+ $field:ident: $type:ty,)+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[pyclass(frozen, get_all, eq, from_py_object, module = "incast")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $($(#[doc = $meaning])+ pub(crate) $field: $type,)+
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*, $($field),+))]
            #[allow(clippy::too_many_arguments, reason = "Python names them")]
            fn new($($field: $type),+) -> Self {
                Self { $($field),+ }
            }

            fn __repr__(&self) -> String {
                format!("{self:?}")
            }
        }
    )+};
}

measured! {
    /// A flow that has started.
    struct MeasuredFlow {
        /// Its number.
        flow: u32,
        /// Start in ps.
        start_ps: u64,
        /// Time in ps at which its last byte was acknowledged; none if it was not.
        finish_ps: Option<u64>,
        /// Time in ps at which its last byte arrived; none if it did not.
        delivered_ps: Option<u64>,
        /// Payload acknowledged in bytes.
        acked_bytes: u64,
        /// Data packets sent, including retransmissions.
        packets: u64,
        /// Data packets retransmitted.
        resent_packets: u64,
        /// Acknowledged packets that carried a mark.
        marked_packets: u64,
        /// Retransmission timeouts.
        timeouts: u32,
    }

    /// A sample of a port.
    struct PortSample {
        /// Time in ps.
        time_ps: u64,
        /// The node.
        node_id: u32,
        /// Its port.
        port: u16,
        /// Bytes in its queue.
        queue_bytes: u64,
        /// Bytes transmitted since the start.
        transmitted_bytes: u64,
        /// Bytes dropped since the start.
        dropped_bytes: u64,
        /// Packets marked since the start.
        marked_packets: u64,
        /// Whether the far end has it paused.
        paused: bool,
    }

    /// A sample of a flow.
    struct FlowSample {
        /// Time in ps.
        time_ps: u64,
        /// Its number.
        flow: u32,
        /// Window in bytes.
        window_bytes: u64,
        /// Rate in bit/s; none if only the link limits it.
        rate_bps: Option<u64>,
        /// Round-trip time in ps.
        rtt_ps: u64,
        /// Bytes in flight.
        inflight_bytes: u64,
        /// Payload acknowledged in bytes.
        acked_bytes: u64,
    }

    /// A sample of an internal quantity of a flow's algorithm.
    struct InternalSample {
        /// Time in ps.
        time_ps: u64,
        /// The flow.
        flow: u32,
        /// Its place in the algorithm's list.
        internal: u16,
        /// Kind of its value.
        kind: u8,
        /// Bits of its value.
        bits: u64,
    }

    /// Totals of a port.
    struct MeasuredPort {
        /// The node.
        node_id: u32,
        /// Its port.
        port: u16,
        /// Bytes transmitted.
        transmitted_bytes: u64,
        /// Packets transmitted.
        transmitted_packets: u64,
        /// Bytes dropped.
        dropped_bytes: u64,
        /// Packets dropped.
        dropped_packets: u64,
        /// Packets marked.
        marked_packets: u64,
        /// Longest queue in bytes.
        peak_queue_bytes: u64,
        /// Time paused in ps.
        paused_ps: u64,
        /// Pauses sent.
        pauses_sent: u64,
    }

    /// An operation that has started.
    struct MeasuredOperation {
        /// Its number.
        operation: u32,
        /// Start in ps.
        start_ps: u64,
        /// End in ps; none if it has not ended.
        end_ps: Option<u64>,
    }

    /// A packet of a captured port.
    struct CapturedPacket {
        /// Time in ps from the start of the scenario.
        time_ps: u64,
        /// The node that sent it.
        node_id: u32,
        /// The port there.
        port: u16,
        /// Its length in bytes.
        length_bytes: u64,
        /// Its first bytes.
        data: Vec<u8>,
    }

    /// A flow or an operation that waits, of a stall.
    struct Waiting {
        /// Its number.
        number: u32,
        /// The thing that it waits for.
        waits_for: String,
    }
}

/// Measurements of a run: anything in Python with these attributes.
#[derive(FromPyObject)]
pub(crate) struct Measurement {
    /// `finished`, `time limit`, `interrupted` or `stalled`.
    end: String,
    /// Its end in ps.
    now_ps: u64,
    /// Data packets lost on the way.
    dropped_packets: u64,
    /// Flows that wait, of a stall.
    waiting_flows: Vec<Waiting>,
    /// Operations that wait, of a stall.
    waiting_operations: Vec<Waiting>,
    flows: Vec<MeasuredFlow>,
    port_samples: Vec<PortSample>,
    flow_samples: Vec<FlowSample>,
    internals: Vec<InternalSample>,
    ports: Vec<MeasuredPort>,
    operations: Vec<MeasuredOperation>,
    frames: Vec<CapturedPacket>,
    /// The testbed, in JSON.
    testbed: String,
}

impl Measurement {
    /// Converts it to the records of the simulator.
    ///
    /// # Errors
    /// When the testbed is not described, or a value has no kind that there is.
    pub(crate) fn records(self) -> PyResult<Measured> {
        let Self {
            end,
            now_ps,
            dropped_packets,
            waiting_flows,
            waiting_operations,
            flows,
            port_samples,
            flow_samples,
            internals,
            ports,
            operations,
            frames,
            testbed,
        } = self;
        let unfinished = flows.iter().filter(|flow| flow.finish_ps.is_none()).count() as u64;
        let waiting = |list: Vec<Waiting>| {
            list.into_iter().map(|Waiting { number, waits_for }| (number, waits_for)).collect()
        };
        let (stalled, operations_stalled) = (waiting(waiting_flows), waiting(waiting_operations));
        Ok(Measured {
            testbed: serde_json::from_str(&testbed).map_err(|e| PyValueError::new_err(e.to_string()))?,
            end: match end.as_str() {
                "finished" => End::Finished,
                "time limit" => End::TimeLimit,
                "stalled" => {
                    End::Stalled(Stall { flows: stalled, unfinished, operations: operations_stalled })
                }
                _ => End::Interrupted,
            },
            now: Time::from_ps(now_ps),
            dropped: dropped_packets,
            flows: flows.into_iter().map(MeasuredFlow::record).collect(),
            operations: operations.into_iter().map(MeasuredOperation::record).collect(),
            port_samples: port_samples.into_iter().map(PortSample::record).collect(),
            flow_samples: flow_samples.into_iter().map(FlowSample::record).collect(),
            internals: internals.into_iter().map(InternalSample::record).collect::<PyResult<_>>()?,
            ports: ports.into_iter().map(MeasuredPort::record).collect(),
            frames: frames.into_iter().map(CapturedPacket::record).collect(),
        })
    }
}

fn when(ps: Option<u64>) -> Time {
    ps.map_or(Time::NEVER, Time::from_ps)
}

impl MeasuredFlow {
    fn record(self) -> FlowRecord {
        let Self {
            flow,
            start_ps,
            finish_ps,
            delivered_ps,
            acked_bytes,
            packets,
            resent_packets,
            marked_packets,
            timeouts,
        } = self;
        FlowRecord {
            flow,
            start: Time::from_ps(start_ps),
            finish: when(finish_ps),
            delivered: when(delivered_ps),
            bytes: Bytes::new(acked_bytes),
            packets,
            resent: resent_packets,
            marked: marked_packets,
            timeouts,
            // Base RTT and ideal times are computed when the measurements pass to the tables.
            ..FlowRecord::BLANK
        }
    }
}

impl MeasuredOperation {
    fn record(self) -> OperationRecord {
        let Self { operation, start_ps, end_ps } = self;
        OperationRecord { operation, start: Time::from_ps(start_ps), end: when(end_ps) }
    }
}

impl PortSample {
    fn record(self) -> PortSampleRecord {
        let Self {
            time_ps,
            node_id,
            port,
            queue_bytes,
            transmitted_bytes,
            dropped_bytes,
            marked_packets,
            paused,
        } = self;
        PortSampleRecord {
            time: Time::from_ps(time_ps),
            node: node_id,
            port,
            queue: Bytes::new(queue_bytes),
            transmitted: Bytes::new(transmitted_bytes),
            dropped: Bytes::new(dropped_bytes),
            marked: marked_packets,
            paused,
            samples: 1,
        }
    }
}

impl FlowSample {
    fn record(self) -> FlowSampleRecord {
        let Self { time_ps, flow, window_bytes, rate_bps, rtt_ps, inflight_bytes, acked_bytes } = self;
        FlowSampleRecord {
            time: Time::from_ps(time_ps),
            flow,
            window: Bytes::new(window_bytes),
            // Null in the table.
            rate: Rate::from_bps(rate_bps.unwrap_or(u64::MAX)),
            rtt: Time::from_ps(rtt_ps),
            inflight: Bytes::new(inflight_bytes),
            acked: Bytes::new(acked_bytes),
            samples: 1,
        }
    }
}

impl InternalSample {
    fn record(self) -> PyResult<InternalSampleRecord> {
        let Self { time_ps, flow, internal, kind, bits } = self;
        let unknown = || PyValueError::new_err(format!("no kind of values has the number {kind}"));
        let value = Value::from_bits(kind, bits).ok_or_else(unknown)?;
        Ok(InternalSampleRecord { time: Time::from_ps(time_ps), flow, internal, value, samples: 1 })
    }
}

impl MeasuredPort {
    fn record(self) -> PortTotals {
        let Self {
            node_id,
            port,
            transmitted_bytes,
            transmitted_packets,
            dropped_bytes,
            dropped_packets,
            marked_packets,
            peak_queue_bytes,
            paused_ps,
            pauses_sent,
        } = self;
        PortTotals {
            node: node_id,
            port,
            transmitted: Bytes::new(transmitted_bytes),
            packets: transmitted_packets,
            drops: dropped_packets,
            dropped: Bytes::new(dropped_bytes),
            marked: marked_packets,
            trimmed: 0,
            corrupted: 0,
            peak_queue: Bytes::new(peak_queue_bytes),
            paused: Time::from_ps(paused_ps),
            pauses_sent,
            storms: 0,
            storm_drops: 0,
            receiver_drops: 0,
        }
    }
}

impl CapturedPacket {
    fn record(self) -> Frame {
        let Self { time_ps, node_id, port, length_bytes, data } = self;
        Frame {
            time: Time::from_ps(time_ps),
            port: (node_id, port),
            length: Bytes::new(length_bytes),
            bytes: data,
        }
    }
}
