//! Sending and receiving files over the network.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use incast_units::{Bytes, Rate, Time};
use incast_wire::{Error, Failure, FromFile, ReceiveJob, ReceiverConfig, SendJob, Sink, udp, xdp};
use pyo3::prelude::*;

use crate::error::WireError;
use crate::scenario::Scenario;

/// Progress of sending a file, also at its end.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    /// Bytes of the file.
    size_bytes: u64,
    /// Bytes that are acknowledged.
    acknowledged_bytes: u64,
    /// Since the beginning, in seconds.
    elapsed_s: f64,
    /// The algorithm's window in bytes on the wire; none for an algorithm without.
    window_bytes: Option<u64>,
    /// The algorithm's rate in bit/s.
    rate_bps: u64,
    /// Bytes in flight, on the wire.
    inflight_bytes: u64,
    /// The last round-trip time in ps; zero before the first.
    rtt_ps: u64,
    /// Its moving average in ps.
    smoothed_rtt_ps: u64,
    /// Data packets sent.
    packets: u64,
    /// Number of them that were sent again.
    resent: u64,
    /// Data packets that arrived with a congestion mark.
    marked: u64,
    /// Expiries of the retransmission timer.
    timeouts: u64,
    /// Bytes that the file has at the end, if it changed during the transfer; none if it did not.
    changed_to_bytes: Option<u64>,
}

impl From<&incast_wire::Sending> for Sending {
    fn from(now: &incast_wire::Sending) -> Self {
        let state = &now.state;
        Self {
            size_bytes: now.length,
            acknowledged_bytes: state.acknowledged,
            elapsed_s: now.elapsed.as_secs_f64(),
            window_bytes: (state.window != Bytes::UNLIMITED).then(|| state.window.get()),
            rate_bps: state.rate.bps(),
            inflight_bytes: state.inflight.get(),
            rtt_ps: state.rtt.ps(),
            smoothed_rtt_ps: state.smoothed_rtt.ps(),
            packets: state.packets,
            resent: state.resent,
            marked: state.marked,
            timeouts: state.timeouts,
            changed_to_bytes: None,
        }
    }
}

/// Progress of receiving a file, also at its end.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct Receiving {
    /// The address where it waits: `0.0.0.0:7077`.
    at: String,
    /// The sender's address; none before one has begun.
    sender: Option<String>,
    /// Bytes of the file, once a sender has begun.
    size_bytes: u64,
    /// Bytes that have arrived in order.
    received_bytes: u64,
    /// Since the sender began, in seconds.
    elapsed_s: f64,
    /// Whether all has arrived, is as it was sent, and is written.
    complete: bool,
    /// Data packets that arrived, at the end.
    packets: u64,
    /// Number of them that had arrived before.
    duplicates: u64,
    /// Number of them with a congestion mark.
    marked: u64,
}

impl From<&incast_wire::Receiving> for Receiving {
    fn from(now: &incast_wire::Receiving) -> Self {
        Self {
            at: now.at.to_string(),
            sender: now.from.map(|from| from.to_string()),
            size_bytes: now.length,
            received_bytes: now.received,
            elapsed_s: now.elapsed.as_secs_f64(),
            complete: now.complete,
            packets: 0,
            duplicates: 0,
            marked: 0,
        }
    }
}

/// A file to write.
struct ToFile(BufWriter<File>);

impl Sink for ToFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Sends a file with the algorithm of a scenario, and tells `report` ten times a second where it is. With an interface,
/// through an AF_XDP socket there.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn send_file(
    py: Python<'_>,
    scenario: &Scenario,
    path: PathBuf,
    host: String,
    port: u16,
    base_rtt_ps: u64,
    base_owd_ps: u64,
    line_rate_bps: u64,
    packet_bytes: u64,
    hops: u32,
    patience_ps: u64,
    interface: Option<String>,
    report: Py<PyAny>,
) -> PyResult<Sending> {
    let Some(params) = scenario.parameters() else {
        return Err(WireError::new_err("an algorithm written in Python cannot send real packets"));
    };
    py.detach(|| {
        incast_wire::supported(&params).map_err(|unsupported| WireError::new_err(unsupported.to_string()))?;
        let mut file = FromFile::open(&path).map_err(|error| named(&path, &error))?;
        let job = SendJob {
            to: resolved(&host, port)?,
            params,
            base_rtt: Time::from_ps(base_rtt_ps),
            base_owd: Time::from_ps(base_owd_ps),
            line_rate: Rate::from_bps(line_rate_bps),
            packet: Bytes::new(packet_bytes),
            hops,
            length: file.length(),
            patience: Time::from_ps(patience_ps),
        };
        let mut stop = None;
        let mut tell = |now: &incast_wire::Sending| {
            told(&report, &mut stop, |py| Bound::new(py, Sending::from(now)).map(Bound::into_any))
        };
        let done = match interface {
            None => udp::send(&job, &mut file, &mut tell),
            Some(interface) => xdp::send(&job, &interface, &mut file, &mut tell),
        };
        match (done, stop) {
            (_, Some(stop)) => Err(stop),
            (Ok(done), None) => Ok(Sending { changed_to_bytes: file.changed(), ..Sending::from(&done) }),
            (Err(error), None) => Err(refused(&error, &path)),
        }
    })
}

/// Receives one file and writes it to `path`, which must be there and is emptied; tells `report` ten times a second
/// where it is, the first time when it begins to wait. With an interface, through AF_XDP sockets there.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn receive_file(
    py: Python<'_>,
    path: PathBuf,
    address: String,
    port: u16,
    wait_ps: Option<u64>,
    patience_ps: u64,
    interface: Option<String>,
    report: Py<PyAny>,
) -> PyResult<Receiving> {
    py.detach(|| {
        let file = OpenOptions::new().write(true).truncate(true).open(&path);
        let file = file.map_err(|error| named(&path, &error))?;
        let job = ReceiveJob {
            at: resolved(&address, port)?,
            config: ReceiverConfig { patience: Time::from_ps(patience_ps), ..ReceiverConfig::default() },
            wait: wait_ps.map_or(Time::NEVER, Time::from_ps),
        };
        let (mut stop, mut at) = (None, job.at);
        let mut file = ToFile(BufWriter::new(file));
        let mut tell = |now: &incast_wire::Receiving| {
            at = now.at;
            told(&report, &mut stop, |py| Bound::new(py, Receiving::from(now)).map(Bound::into_any))
        };
        let done = match interface {
            None => udp::receive(&job, &mut file, &mut tell),
            Some(interface) => xdp::receive(&job, &interface, &mut file, &mut tell),
        };
        match (done, stop) {
            (Ok(done), _) => Ok(Receiving {
                at: at.to_string(),
                sender: Some(done.from.to_string()),
                size_bytes: done.length,
                received_bytes: done.length,
                elapsed_s: done.elapsed.as_secs_f64(),
                complete: true,
                packets: done.packets,
                duplicates: done.duplicates,
                marked: done.marked,
            }),
            (Err(_), Some(stop)) => Err(stop),
            (Err(error), None) => Err(refused(&error, &path)),
        }
    })
}

/// Reports to Python. What is raised there, or by a signal like Ctrl-C, stops the exchange.
fn told(
    report: &Py<PyAny>,
    stop: &mut Option<PyErr>,
    now: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
) -> ControlFlow<()> {
    if stop.is_some() {
        return ControlFlow::Break(());
    }
    let told = Python::attach(|py| {
        py.check_signals()?;
        report.call1(py, (now(py)?,)).map(drop)
    });
    match told {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *stop = Some(error);
            ControlFlow::Break(())
        }
    }
}

/// The exception; one about reading or writing names the file.
fn refused(error: &Error, path: &Path) -> PyErr {
    match error {
        Error::Failed(Failure::Io(error), _) => named(path, error),
        other => WireError::new_err(other.to_string()),
    }
}

/// The exception about a file.
fn named(path: &Path, error: &io::Error) -> PyErr {
    WireError::new_err(format!("{}: {error}", path.display()))
}

/// The first address of a host.
fn resolved(host: &str, port: u16) -> PyResult<SocketAddr> {
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|error| WireError::new_err(format!("the address of {host:?} is not known: {error}")))?;
    found.next().ok_or_else(|| WireError::new_err(format!("{host:?} has no address")))
}
