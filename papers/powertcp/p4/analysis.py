"""PowerTCP's telemetry in a switch that is a BPF program: what packets carried, and what else is known."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incast import captures
from incast.ledger.reader import LedgerError
from incast.ledger.runs import Results
from incast.real.testbed.telemetry import Record, payload, record
from incast.results.measures.quantity import Quantity, picoseconds
from incast.results.result import Result

RUN = "powertcp"
PORT = "s0->h0"


class Carried(NamedTuple):
    """What was carried.

    Attributes:
        segments: Segments with payload that came.
        acknowledgements: Segments without payload that left.
        records: The records in these, in their order.
        passed: What had come out of the port before each frame that came, in bytes, from some start.
        seconds: When each record was written, from the start of the scenario.
        result: The run.
    """

    segments: int
    acknowledgements: int
    records: list[Record]
    passed: set[int]
    seconds: npt.NDArray[np.float64]
    result: Result


_known: dict[Path, Carried] = {}


def _carried(results: Results) -> Carried:
    """That of this repetition."""
    of = results[RUN]
    if of.folder is None:
        raise LedgerError("captured packets are in a folder of results, and this run has none")
    if of.folder not in _known:
        _known[of.folder] = _read(of)
    return _known[of.folder]


def _read(result: Result) -> Carried:
    segments = acknowledgements = total = 0
    records, passed = [], set()
    for packet in captures.read(result):
        bytes_ = payload(packet.frame)
        if packet.port.startswith("h0:"):
            acknowledgements += bytes_ == 0
            if (found := record(packet.frame)) is not None:
                records.append(found)
        else:
            passed.add(total)
            total += packet.length
            segments += bool(bytes_)
    # The clock of the records, of 32 bits, from the start on.
    at = np.array([of.at_ns for of in records], dtype=np.int64)
    if not records:
        raise LedgerError("no captured packet has a record")
    seconds = ((at - result.info["testbed"]["clock_ns"]) % 2**32) / 1e9
    return Carried(segments, acknowledgements, records, passed, seconds, result)


def answered(results: Results) -> Quantity:
    """The share of segments with payload whose acknowledgement brought a record."""
    carried = _carried(results)
    return Quantity(len(carried.records) / carried.segments)


def exact(results: Results) -> Quantity:
    """The share of records whose counter is what had come out of the port, as counted at the receiver."""
    carried = _carried(results)
    counters = [of.transmitted_bytes for of in carried.records]
    # The counter began before the frames that were seen: by as much as makes the first record one of them.
    offsets = {counters[0] - at for at in sorted(carried.passed)[:100]}
    return Quantity(
        max(sum(of - offset in carried.passed for of in counters) for offset in offsets) / len(counters)
    )


def _beside(results: Results) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The queue as sampled, and that of the last record before each sample, if not older than 0.2 ms."""
    carried = _carried(results)
    series = carried.result.port(PORT)
    times = np.asarray(series.time_ps, dtype=float) / 1e12
    order = np.argsort(carried.seconds, kind="stable")
    seconds = carried.seconds[order]
    queues = np.array([of.queue_bytes for of in carried.records], dtype=float)[order]
    last = np.searchsorted(seconds, times, side="right") - 1
    near = (last >= 0) & (times - seconds[last] < 0.2e-3)
    return np.asarray(series.queue_bytes, dtype=float)[near], queues[last[near]]


def queue_ratio(results: Results) -> Quantity:
    """The mean of the recorded queue over that of the sampled one, at the same times."""
    sampled, recorded = _beside(results)
    return Quantity(float(recorded.mean() / sampled.mean()))


def queue_agreement(results: Results) -> Quantity:
    """The share of the sampled queue's variance that the recorded one explains, without a fit."""
    sampled, recorded = _beside(results)
    return Quantity(float(1 - ((recorded - sampled) ** 2).sum() / ((sampled - sampled.mean()) ** 2).sum()))


def recorded_rate(results: Results, start: str, end: str, over: str = "told") -> Quantity:
    """The rate at which the recorded counter goes on by the recorded clock.

    It is over that of the bytes that netlink tells for the port in the same time (``told``), or over the
    recorded rate of the link (``link``).
    """
    carried = _carried(results)
    first, last = picoseconds(start) / 1e12, picoseconds(end) / 1e12
    inside = np.flatnonzero((carried.seconds >= first) & (carried.seconds < last))
    a, b = carried.records[inside[0]], carried.records[inside[-1]]
    sent = (b.transmitted_bytes - a.transmitted_bytes) % 2**32
    seconds = (b.at_ns - a.at_ns) % 2**32 / 1e9
    rate = float(b.rate_bps)
    if over == "told":
        series = carried.result.port(PORT)
        times = carried.seconds[[inside[0], inside[-1]]] * 1e12
        before, after = np.interp(times, np.asarray(series.time_ps), np.asarray(series.transmitted_bytes))
        rate = float(after - before) * 8e12 / float(times[1] - times[0])
    return Quantity(sent * 8 / seconds / rate)


def header(results: Results) -> Quantity:
    """The bytes of the TCP option with the record of one hop."""
    lengths = {of.option_bytes for of in _carried(results).records}
    return Quantity(float(max(lengths)), "bytes")
