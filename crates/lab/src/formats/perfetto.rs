//! A run as a trace for the Perfetto viewer (ui.perfetto.dev): flows as slices on a track of their
//! sender, pauses as slices and queue and throughput as counters on tracks of their port.
//!
//! The file is a protocol buffer of the type `perfetto.protos.Trace`; the few messages that it needs
//! are written here by hand. Times are nanoseconds of simulated time, rounded down.

use std::collections::BTreeMap;
use std::io::{self, Write};

use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type};
use incast_units::{Bytes, Time};

use super::export::{Count, Export, Failure, Written};
use crate::results::extract::{flags, numbers, port_points, texts};
use crate::results::{ResultFolder, Table, TableName};

/// The format.
#[derive(Debug)]
pub struct Trace;

impl Export for Trace {
    const EXTENSIONS: &'static [&'static str] = &[".pftrace", ".perfetto-trace"];
    const EXAMPLE: &'static str = "trace.pftrace";
    const SUMMARY: &'static str = "a trace for https://ui.perfetto.dev";

    fn write(result: &ResultFolder, out: &mut dyn Write) -> Result<Written, Failure> {
        let flows = result.table(TableName::Flows)?;
        let port_series = result.table(TableName::PortSeries)?;
        let pauses = result.table(TableName::Pauses)?;
        let ports = result.table(TableName::Ports)?;
        let info = result.info();
        // A run that was killed does not say how far it came; what it wrote does.
        let end = info.outcome.as_ref().map(|outcome| Time::from_ps(outcome.now_ps));
        let end = end.unwrap_or_else(|| latest(&[&flows, &port_series, &pauses]));
        let source = Source {
            name: &info.name,
            end,
            flows: &flows,
            port_series: &port_series,
            pauses: &pauses,
            ports: &ports,
        };
        write(&source, out)
    }
}

/// The tables that a trace is made of.
struct Source<'a> {
    /// Name of the scenario.
    name: &'a str,
    /// The end of the run.
    end: Time,
    /// One row per flow.
    flows: &'a Table,
    /// Samples of the probed ports.
    port_series: &'a Table,
    /// Pauses, if they were recorded.
    pauses: &'a Table,
    /// Totals per port, for the names of the ports' far ends.
    ports: &'a Table,
}

/// Field numbers of the messages, as `protos/perfetto/trace` of the Perfetto project defines them.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;

    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_EVENT: u32 = 11;
    pub(super) const PACKET_SEQUENCE_FLAGS: u32 = 13;
    pub(super) const PACKET_TRACK: u32 = 60;

    pub(super) const TRACK_UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const TRACK_PARENT: u32 = 5;
    pub(super) const TRACK_COUNTER: u32 = 8;
    pub(super) const COUNTER_UNIT: u32 = 3;
    pub(super) const COUNTER_UNIT_NAME: u32 = 6;

    pub(super) const EVENT_ANNOTATION: u32 = 4;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_CATEGORY: u32 = 22;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_COUNTER: u32 = 30;

    pub(super) const ANNOTATION_UINT: u32 = 3;
    pub(super) const ANNOTATION_DOUBLE: u32 = 5;
    pub(super) const ANNOTATION_STRING: u32 = 6;
    pub(super) const ANNOTATION_NAME: u32 = 10;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
const UNIT_SIZE_BYTES: u64 = 3;
/// All packets belong to one sequence, which begins with the first of them.
const SEQUENCE: u64 = 1;
const SEQUENCE_BEGINS: u64 = 1;

/// A protocol buffer message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn double(mut self, field: u32, value: f64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Writes packets and gives out tracks.
struct Tracks<W> {
    out: W,
    tracks: u64,
}

impl<W: Write> Tracks<W> {
    fn packet(&mut self, packet: Message) -> io::Result<()> {
        let first = self.tracks == 0;
        let packet = packet.number(field::PACKET_SEQUENCE, SEQUENCE);
        let packet =
            if first { packet.number(field::PACKET_SEQUENCE_FLAGS, SEQUENCE_BEGINS) } else { packet };
        self.out.write_all(&Message::default().message(field::TRACE_PACKET, &packet).0)
    }

    /// Makes a track; `None` as parent puts it at the top.
    fn track(&mut self, name: &str, parent: Option<u64>, counter: Option<Message>) -> io::Result<u64> {
        let uuid = self.tracks + 1;
        let mut track = Message::default().number(field::TRACK_UUID, uuid).text(field::TRACK_NAME, name);
        if let Some(parent) = parent {
            track = track.number(field::TRACK_PARENT, parent);
        }
        if let Some(counter) = counter {
            track = track.message(field::TRACK_COUNTER, &counter);
        }
        self.packet(Message::default().message(field::PACKET_TRACK, &track))?;
        self.tracks = uuid;
        Ok(uuid)
    }

    fn event(
        &mut self,
        at: Time,
        kind: u64,
        track: u64,
        more: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        let event = Message::default().number(field::EVENT_TYPE, kind).number(field::EVENT_TRACK, track);
        let packet = Message::default().number(field::PACKET_TIMESTAMP, at.ns());
        self.packet(packet.message(field::PACKET_EVENT, &more(event)))
    }

    fn slice(
        &mut self,
        track: u64,
        [from, to]: [Time; 2],
        category: &str,
        name: &str,
        annotations: &[Message],
    ) -> io::Result<()> {
        self.event(from, SLICE_BEGIN, track, |event| {
            let event = event.text(field::EVENT_CATEGORY, category).text(field::EVENT_NAME, name);
            annotations.iter().fold(event, |event, note| event.message(field::EVENT_ANNOTATION, note))
        })?;
        self.event(to, SLICE_END, track, |event| event)
    }
}

fn note(name: &str) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name)
}

/// Writes the trace of a run.
fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Written, Failure> {
    let mut trace = Tracks { out, tracks: 0 };
    let top = trace.track(&format!("{}: hosts, by their flows", source.name), None, None)?;
    let flows = flows(source, &mut trace, top)?;
    let top = trace.track(&format!("{}: ports", source.name), None, None)?;
    let mut ports = PortTracks { names: peers(source.ports)?, top, tracks: BTreeMap::new() };
    let pauses = pauses(source, &mut trace, &mut ports)?;
    let samples = samples(source, &mut trace, &mut ports)?;
    let counts = vec![Count(flows, "flow"), Count(pauses, "pause"), Count(samples, "sample of ports")];
    let note = || "no queue: the scenario probes no port (ports in its [probe])".to_owned();
    Ok(Written { counts, notes: (samples == 0).then(note).into_iter().collect() })
}

/// The latest time in these tables.
fn latest(tables: &[&Table]) -> Time {
    let mut latest = 0;
    for batch in tables.iter().flat_map(|table| &table.batches) {
        for name in ["time_ps", "start_ps", "finish_ps"] {
            if let Ok(times) = numbers::<Int64Type>(batch, name) {
                latest = times.flatten().fold(latest, i64::max);
            }
        }
    }
    time(latest)
}

/// A flow as a slice.
struct Slice<'a> {
    flow: u32,
    destination: &'a str,
    group: &'a str,
    algorithm: &'a str,
    size: Option<i64>,
    acked: i64,
    start: Time,
    finish: Option<Time>,
    slowdown: Option<f64>,
}

fn time(ps: i64) -> Time {
    Time::from_ps(u64::try_from(ps).unwrap_or_default())
}

/// The flows of every sender, in the order of their start.
fn by_sender(table: &Table) -> Result<BTreeMap<u32, (&str, Vec<Slice<'_>>)>, String> {
    let mut senders: BTreeMap<u32, (&str, Vec<Slice<'_>>)> = BTreeMap::new();
    for batch in &table.batches {
        let mut columns = (
            numbers::<UInt32Type>(batch, "flow")?,
            numbers::<UInt32Type>(batch, "source_id")?,
            texts(batch, "source")?,
            texts(batch, "destination")?,
            texts(batch, "group")?,
            texts(batch, "algorithm")?,
            numbers::<Int64Type>(batch, "size_bytes")?,
            numbers::<Int64Type>(batch, "acked_bytes")?,
            numbers::<Int64Type>(batch, "start_ps")?,
            numbers::<Int64Type>(batch, "finish_ps")?,
            numbers::<Float64Type>(batch, "slowdown")?,
        );
        for _ in 0..batch.num_rows() {
            let slice = Slice {
                flow: columns.0.next().flatten().unwrap_or_default(),
                destination: columns.3.next().unwrap_or_default(),
                group: columns.4.next().unwrap_or_default(),
                algorithm: columns.5.next().unwrap_or_default(),
                size: columns.6.next().flatten(),
                acked: columns.7.next().flatten().unwrap_or_default(),
                start: time(columns.8.next().flatten().unwrap_or_default()),
                finish: columns.9.next().flatten().map(time),
                slowdown: columns.10.next().flatten(),
            };
            let id = columns.1.next().flatten().unwrap_or_default();
            let name = columns.2.next().unwrap_or_default();
            senders.entry(id).or_insert_with(|| (name, Vec::new())).1.push(slice);
        }
    }
    for (_, slices) in senders.values_mut() {
        slices.sort_unstable_by_key(|slice| (slice.start, slice.flow));
    }
    Ok(senders)
}

fn flows<W: Write>(source: &Source<'_>, trace: &mut Tracks<W>, top: u64) -> Result<usize, Failure> {
    let mut written = 0;
    for (host, slices) in by_sender(source.flows)?.into_values() {
        let parent = trace.track(host, Some(top), None)?;
        // Slices of one track must not overlap; a flow takes the first track that is free.
        let mut lanes: Vec<(u64, Time)> = Vec::new();
        for slice in slices {
            let end = slice.finish.unwrap_or(source.end);
            if slice.start > end {
                // It had not started when the run ended.
                continue;
            }
            let lane = match lanes.iter().position(|(_, free)| free.ns() <= slice.start.ns()) {
                Some(lane) => lane,
                None => {
                    lanes.push((trace.track(&format!("{host} flows"), Some(parent), None)?, Time::ZERO));
                    lanes.len() - 1
                }
            };
            lanes[lane].1 = end;
            let size = slice
                .size
                .map_or_else(|| "open-ended".to_owned(), |size| Bytes::new(size as u64).to_string());
            let unfinished = if slice.finish.is_none() { ", unfinished" } else { "" };
            let name = format!("flow {} to {} ({size}{unfinished})", slice.flow, slice.destination);
            let mut notes = vec![
                note("flow").number(field::ANNOTATION_UINT, u64::from(slice.flow)),
                note("group").text(field::ANNOTATION_STRING, slice.group),
                note("algorithm").text(field::ANNOTATION_STRING, slice.algorithm),
                note("acked_bytes").number(field::ANNOTATION_UINT, slice.acked as u64),
            ];
            notes.extend(
                slice.slowdown.map(|slowdown| note("slowdown").double(field::ANNOTATION_DOUBLE, slowdown)),
            );
            trace.slice(lanes[lane].0, [slice.start, end], "flow", &name, &notes)?;
            written += 1;
        }
    }
    Ok(written)
}

/// A port: name of its node, and its number there.
type Port = (String, u16);

/// The far end of every port.
fn peers(ports: &Table) -> Result<BTreeMap<Port, String>, String> {
    let mut peers = BTreeMap::new();
    for batch in &ports.batches {
        let rows =
            texts(batch, "node")?.zip(numbers::<UInt16Type>(batch, "port")?).zip(texts(batch, "peer")?);
        for ((node, port), peer) in rows {
            peers.insert((node.to_owned(), port.unwrap_or_default()), peer.to_owned());
        }
    }
    Ok(peers)
}

/// One track for each port that anything is known of.
struct PortTracks {
    names: BTreeMap<Port, String>,
    top: u64,
    tracks: BTreeMap<Port, u64>,
}

impl PortTracks {
    fn of<W: Write>(&mut self, trace: &mut Tracks<W>, port: &Port) -> io::Result<u64> {
        if let Some(&track) = self.tracks.get(port) {
            return Ok(track);
        }
        let name = match self.names.get(port) {
            Some(peer) => format!("{} port {} to {peer}", port.0, port.1),
            None => format!("{} port {}", port.0, port.1),
        };
        let track = trace.track(&name, Some(self.top), None)?;
        self.tracks.insert(port.clone(), track);
        Ok(track)
    }
}

fn pauses<W: Write>(
    source: &Source<'_>,
    trace: &mut Tracks<W>,
    ports: &mut PortTracks,
) -> Result<usize, Failure> {
    // Begin of the current pause, by port and queue, and its track.
    let mut open: BTreeMap<(Port, u16), (u64, Option<Time>)> = BTreeMap::new();
    let mut written = 0;
    let mut slice = |trace: &mut Tracks<W>, track: u64, queue: u16, from: Time, to: Time| {
        written += 1;
        trace.slice(track, [from, to], "pause", &format!("queue {queue} paused"), &[])
    };
    for batch in &source.pauses.batches {
        let mut rows = (|| {
            let paused = flags(batch, "paused")?;
            let rows = numbers::<Int64Type>(batch, "time_ps")?
                .zip(texts(batch, "node")?)
                .zip(numbers::<UInt16Type>(batch, "port")?)
                .zip(numbers::<UInt16Type>(batch, "queue")?);
            Ok::<_, String>(rows.zip(paused))
        })()?;
        for ((((at, node), port), queue), paused) in rows.by_ref() {
            let (at, queue) = (time(at.unwrap_or_default()), queue.unwrap_or_default());
            let port = (node.to_owned(), port.unwrap_or_default());
            let track = match open.get(&(port.clone(), queue)) {
                Some(&(track, _)) => track,
                None => {
                    let parent = ports.of(trace, &port)?;
                    trace.track(&format!("queue {queue} pauses"), Some(parent), None)?
                }
            };
            let (_, since) = open.entry((port, queue)).or_insert((track, None));
            match (paused, *since) {
                (true, None) => *since = Some(at),
                (false, Some(from)) => {
                    *since = None;
                    slice(trace, track, queue, from, at)?;
                }
                _ => {}
            }
        }
    }
    for ((_, queue), (track, since)) in open {
        if let Some(from) = since {
            slice(trace, track, queue, from, source.end.max(from))?;
        }
    }
    Ok(written)
}

fn samples<W: Write>(
    source: &Source<'_>,
    trace: &mut Tracks<W>,
    ports: &mut PortTracks,
) -> Result<usize, Failure> {
    let mut written = 0;
    for (port, points) in port_points(source.port_series)? {
        let parent = ports.of(trace, &port)?;
        let bytes = Message::default().number(field::COUNTER_UNIT, UNIT_SIZE_BYTES);
        let queue = trace.track("queue", Some(parent), Some(bytes))?;
        let rate = Message::default().text(field::COUNTER_UNIT_NAME, "bit/s");
        let throughput = trace.track("throughput", Some(parent), Some(rate))?;
        let mut last: Option<(Time, Bytes)> = None;
        for point in points {
            let value = point.queue.get();
            trace.event(point.time, COUNTER, queue, |event| event.number(field::EVENT_COUNTER, value))?;
            if let Some((since, before)) = last
                && let Some(gap) = point.time.checked_sub(since).filter(|&gap| gap > Time::ZERO)
            {
                // The viewer holds a value until the next one, so it stands where its interval begins.
                let rate =
                    incast_units::Rate::of(point.transmitted.checked_sub(before).unwrap_or_default(), gap);
                trace.event(since, COUNTER, throughput, |event| {
                    event.number(field::EVENT_COUNTER, rate.bps())
                })?;
            }
            last = Some((point.time, point.transmitted));
            written += 1;
        }
    }
    Ok(written)
}
