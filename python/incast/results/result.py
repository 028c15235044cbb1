"""Results of runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from incast import _core
from incast.errors import Problem
from incast.results import copies, limits, stats
from incast.results.arrays import BoolArray, Floats, Ints, np
from incast.results.listing.shown import Screen, Shown
from incast.results.load import Load, LoadSeries, loads_of, series_of
from incast.results.stats import FlowTimes, SizeBin
from incast.results.tables import Tables
from incast.results.titles import short, title

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_SAMPLES = 50_000_000
"""Most samples that :meth:`PortSeries.filled` and its siblings give."""


_Series = TypeVar("_Series", bound="Sampled")


@dataclass(frozen=True)
class Sampled:
    """Samples, of which equal ones that follow each other share a row."""

    def filled(self: _Series) -> _Series:
        """Returns the series with a row for every sample, evenly spaced.

        Raises:
            ValueError: When these are more than :data:`MOST_SAMPLES`.
        """
        columns = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        each: dict[str, Any] = dict(every_sample(columns))
        return replace(self, **each)


@dataclass(frozen=True)
class PortSeries(Sampled):
    """The samples of one port: the rows of its table.

    Of equal samples that follow each other only the first and the last have a row. What counts each sample
    once (a mean, a percentile) counts a row ``samples`` times, or takes :meth:`filled`.

    Attributes:
        node: Name of the node.
        port: Number of the port at its node.
        rate_bps: Rate of its link in bit/s.
        time_ps: When the sample of each row was taken, in picoseconds.
        queue_bytes: Bytes in its queues at each row.
        utilisation: Share of the link's rate that was used since the row before, from 0 to 1. The first row
            has none before it and repeats the second one's.
        transmitted_bytes: Bytes whose transmission had begun by then.
        dropped_bytes: Bytes dropped on admission to its queues by then.
        samples: Number of samples that each row covers: the one at its time, and the equal ones directly
            before it that have no row.
    """

    node: str
    port: int
    rate_bps: int
    time_ps: Ints
    queue_bytes: Ints
    utilisation: Floats
    transmitted_bytes: Ints
    dropped_bytes: Ints
    samples: Ints

    @property
    def interval_ps(self) -> int:
        """Time between two samples; 0 where there is only one."""
        return int(_steps(self.time_ps, self.samples)[1]) if len(self.time_ps) > 1 else 0

    def between(self, from_ps: int, until_ps: int) -> int:
        """Returns the number of samples from one instant to another, both included.

        Args:
            from_ps: The first instant, in picoseconds.
            until_ps: The last one.
        """
        return int(samples_between(self.time_ps, self.samples, from_ps, until_ps).sum())


@dataclass(frozen=True)
class FlowSeries(Sampled):
    """The samples of one flow: the rows of its table, as :class:`PortSeries` has a port's.

    Attributes:
        flow: Its number.
        group: Name of the traffic block that made it.
        time_ps: When the sample of each row was taken, in picoseconds.
        window_bytes: Its window at each row; NaN if it has none.
        rate_bps: The rate that it may send at, in bit/s; NaN without a limit but the line.
        rtt_ps: The last round-trip time that it measured, in picoseconds; NaN before the first.
        inflight_bytes: Bytes in flight.
        acked_bytes: Payload acknowledged since its start.
        goodput_bps: Payload acknowledged per second since the row before, in bit/s. The first row has none
            before it and repeats the second one's.
        samples: Number of samples that each row covers.
    """

    flow: int
    group: str
    time_ps: Ints
    window_bytes: Floats
    rate_bps: Floats
    rtt_ps: Floats
    inflight_bytes: Ints
    acked_bytes: Ints
    goodput_bps: Floats
    samples: Ints


@dataclass(frozen=True)
class Internal(Sampled):
    """The samples of one internal quantity of a flow's congestion control: the rows of its table.

    Attributes:
        time_ps: When the sample of each row was taken, in picoseconds.
        value: The quantity, in the unit in which its name ends.
        samples: Number of samples that each row covers, as for :class:`PortSeries`.
    """

    time_ps: Ints
    value: Floats
    samples: Ints


class Result(Tables, Shown):
    """The result of a run.

    The tables are handed to polars, pandas, DuckDB and pyarrow without a copy: ``polars.DataFrame(
    result.flows)``, ``pyarrow.table(result.flows)``. Units are in the names of the columns. Of a complete
    result that is saved, a table is read from its file when it is first asked for, which raises a
    :exc:`~incast.ResultError` where the file cannot be read or has changed.
    """

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Result:
        """Opens a saved result; if the run was killed, with as much as it had written.

        Of a complete one every file is compared with its digest now.

        Args:
            folder: What a run was given as ``out``.

        Raises:
            ResultError: When there is no result or it cannot be read.
        """
        return cls(_core.Result.open(os.fspath(folder)))

    @property
    def folder(self) -> Path | None:
        """Folder in which it is saved; None if it is not."""
        return None if self._core.folder is None else Path(self._core.folder)

    @property
    def info(self) -> dict[str, Any]:
        """Content of ``result.json``: what made the result, how the run ended, totals, summary."""
        info: dict[str, Any] = json.loads(self.info_text)
        return info

    @property
    def info_text(self) -> str:
        """Content of ``result.json`` as it is written there."""
        return self._core.info

    @property
    def state(self) -> str:
        """``complete``; ``running`` while a run writes it; ``incomplete`` after that run was killed."""
        return self._core.state

    @property
    def notices(self) -> list[str]:
        """Notices for the user: files that were removed to make place, and the warnings."""
        return [*self._core.notices, *(f"warning: {problem}" for problem in self.warnings)]

    @property
    def warnings(self) -> list[Problem]:
        """The warnings: settings that are possible but probably not intended, and verdicts on the run."""
        return warnings_of(self.info)

    @property
    def loads(self) -> list[Load]:
        """The measured load of each traffic block that has one, with the verdict whether it is steady."""
        return loads_of(self.info)

    def load_over_time(self, group: str) -> LoadSeries:
        """Returns what a traffic block with a load offers, what is carried of it, and its backlog, over time.

        Args:
            group: Name of the traffic block.

        Raises:
            KeyError: When it has no series: no load, or a scenario without ``probe.load_interval``.
        """
        return series_of(self, group)

    @property
    def end(self) -> str:
        """End of the run: ``finished``, ``time limit``, ``interrupted``, ``stalled`` or ``killed``."""
        outcome = self.info.get("outcome")
        return "killed" if outcome is None else str(outcome["end"])

    @property
    def sound(self) -> bool:
        """Whether the run ended as it should, with every invariant holding.

        It did not if it stalled or was interrupted, or if ports wait on each other at its end (PFC deadlock).
        """
        return is_sound(self.info)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the run produced: equal fingerprints, equal results."""
        return str(self.info["outcome"]["fingerprint"])

    @property
    def times(self) -> _core.PartTimes | None:
        """Wall time of the parts of its run, if they were measured (``profile``)."""
        return self._core.times

    def probed_ports(self) -> list[tuple[str, int]]:
        """Nodes and numbers of the ports that have samples, each once, in the order of the samples."""
        return self._core.probed_ports()

    def find_port(self, port: str | tuple[str, int]) -> tuple[str, int]:
        """Node and number of a port.

        Args:
            port: ``"s0:15"``, port 15 of the node s0; ``"s0->h15"``, the port of s0 towards h15;
                ``"to h15"``, the port of the switch towards the host h15; or node and number themselves.

        Raises:
            KeyError: When there is no such port.
        """
        if not isinstance(port, str):
            return port
        node, colon, number = port.rpartition(":")
        if colon and number.strip().isdecimal():
            return node.strip(), int(number)
        nodes, peers = self.ports.column("node"), self.ports.column("peer")
        if port.startswith("to "):
            here = peers == port[3:].strip()
        else:
            node, _, peer = (part.strip() for part in port.partition("->"))
            here = (nodes == node) & (peers == peer)
        found = np.flatnonzero(here)
        if len(found) != 1:
            many = f"{len(found)} ports are" if len(found) else "no port is"
            raise KeyError(f"{many} called {port!r}; write one like s0:15 or s0->h15")
        return str(nodes[found[0]]), int(self.ports.column("port")[found[0]])

    def find_flows(self, flows: str | int) -> list[int]:
        """Numbers of flows, in the order of their starts.

        Args:
            flows: The name of a traffic block, for all of its flows; ``"burst.3"``, for the fourth flow of
                the block burst to start; or the number of a flow itself.

        Raises:
            KeyError: When there is no such flow.
        """
        if not isinstance(flows, str):
            return [flows]
        groups, numbers = self.flows.column("group"), self.flows.column("flow")
        found = np.sort(numbers[groups == flows]).tolist()
        name, dot, place = flows.rpartition(".")
        if not found and dot and place.isdecimal():
            found = np.sort(numbers[groups == name]).tolist()[int(place) :][:1]
        if not found:
            known = ", ".join(dict.fromkeys(groups.tolist())) or "none"
            raise KeyError(f"no flow is called {flows!r}; traffic blocks with flows: {known}")
        return [int(number) for number in found]

    def port(self, node: str | tuple[str, int], port: int | None = None) -> PortSeries:
        """The samples of one port: its rows, or with :meth:`PortSeries.filled` each of them.

        Args:
            node: Name of the node; or the whole port as for :meth:`find_port`, like ``"s0:15"``.
            port: Number of the port at its node.

        Raises:
            KeyError: When the port has no samples.
        """
        node, port = self._port(node, port)
        series, totals = self.port_series, self.ports
        mine = (series.column("node") == node) & (series.column("port") == port)
        if not mine.any():
            known = ", ".join(f"{n}:{p}" for n, p in self.probed_ports()) or "none"
            raise KeyError(f"no samples of port {port} of {node}; there are {known}")
        here = (totals.column("node") == node) & (totals.column("port") == port)
        rate = int(totals.column("rate_bps")[here][0])
        names = ("time_ps", "queue_bytes", "transmitted_bytes", "dropped_bytes", "samples")
        time, queue, sent, dropped, samples = (series.column(name)[mine] for name in names)
        return PortSeries(node, port, rate, time, queue, used(time, sent, rate), sent, dropped, samples)

    def probed_flows(self) -> list[int]:
        """Numbers of the flows that have samples, in order."""
        return sorted(set(self.flow_series.column("flow").tolist()))

    def flow(self, number: int | str) -> FlowSeries:
        """The samples of one flow: its rows, or with :meth:`FlowSeries.filled` each of them.

        Args:
            number: Its number, as in the tables; or its name as for :meth:`find_flows`, like ``"burst.3"``.

        Raises:
            KeyError: When the flow has no samples, or the name means several flows.
        """
        number = self._flow(number)
        series = self.flow_series
        mine = series.column("flow") == number
        if not mine.any():
            known = ", ".join(map(str, self.probed_flows())) or "none"
            raise KeyError(f"no samples of flow {number}; there are {known}")
        group = str(self.flows.column("group")[self.flows.column("flow") == number][0])
        time, acked = series.column("time_ps")[mine], series.column("acked_bytes")[mine]
        full = used(time, acked, 1) if len(time) > 1 else np.zeros(len(time))
        numbers = (series.column(name)[mine].astype(np.float64) for name in _NUMBERS)
        window, rate, rtt = numbers
        inflight, samples = series.column("inflight_bytes")[mine], series.column("samples")[mine]
        return FlowSeries(number, group, time, window, rate, rtt, inflight, acked, full, samples)

    def internals_of(self, number: int | str) -> dict[str, Internal]:
        """The internal quantities of a flow's congestion control, by name; none where there are no samples.

        Args:
            number: Its number, as in the tables; or its name as for :meth:`find_flows`, like ``"burst.3"``.

        Raises:
            KeyError: When the name means several flows, or none.
        """
        table, number = self.internals, self._flow(number)
        mine = table.column("flow") == number
        names = table.column("name")[mine]
        columns = [table.column(column)[mine] for column in ("time_ps", "value", "samples")]
        return {
            name: Internal(*(column[names == name] for column in columns))
            for name in dict.fromkeys(names.tolist())
        }

    def slowdown_by_size(
        self, edges: Sequence[int] | None = None, ranks: Sequence[float] = (50.0, 95.0, 99.0, 99.9)
    ) -> list[SizeBin]:
        """Slowdowns in bins of flow sizes: see :func:`incast.stats.slowdown_by_size`.

        Args:
            edges: Where bins begin, in bytes, rising; by default 0, 10 KB, 100 KB, 1 MB, 10 MB.
            ranks: Percentiles to give, in percent.
        """
        return stats.slowdown_by_size(self.flow_times(), edges or stats.SIZE_EDGES, ranks)

    def limits_of(self, flow: int | str) -> dict[str, int]:
        """Returns the time of a flow by what kept its next packet back, in picoseconds.

        Args:
            flow: Its number, as in the tables; or its name as for :meth:`find_flows`, like ``"burst.3"``.

        Raises:
            KeyError: When there is no such flow, the name means several, or its time is not divided.
        """
        number = self._flow(flow)
        mine = self.limits.column("flow") == number
        if not mine.any():
            raise KeyError(f"the time of flow {number} is not divided")
        return {name: int(self.limits.column(f"{name}_ps")[mine][0]) for name in limits.names(self)}

    def limit_shares(self, chosen: BoolArray | None = None) -> dict[str, float]:
        """Returns the shares of what kept packets back in the summed time of flows.

        Args:
            chosen: A mask of the rows of :attr:`flows`; by default those that count.
        """
        return limits.shares(self, chosen)

    @property
    def held_back(self) -> int | None:
        """Number of flows whose window and pacing exceed 1 % of their time; none without the table.

        Flows under ``constant`` do not count.
        """
        return limits.held_back(self)

    def percentile(self, rank: float, column: str = "slowdown") -> float:
        """A percentile of a column of :attr:`flows`, over the flows that count (see :mod:`incast.stats`).

        Args:
            rank: In percent, 0 to 100.
            column: Its name, like ``"fct_ps"``.

        Raises:
            KeyError: When there is no such column.
        """
        values = self.flows.column(column)[self.flows.column("counted")].astype(np.float64)
        return stats.percentile(values[~np.isnan(values)], rank)

    def peak_queue_bytes(self, node: str | tuple[str, int], port: int | None = None) -> int:
        """The longest queue of a port in the whole run, exactly, in bytes.

        Args:
            node: As for :meth:`port`.
            port: As for :meth:`port`.
        """
        return self.port_total("peak_queue_bytes", node, port)

    def port_total(self, column: str, node: str | tuple[str, int], port: int | None = None) -> int:
        """The number of a port in a column of :attr:`ports`, like ``"rate_bps"``.

        Args:
            column: Name of the column.
            node: As for :meth:`port`.
            port: As for :meth:`port`.

        Raises:
            KeyError: When there is no such column, or no such port.
        """
        node, port = self._port(node, port)
        names = zip(
            self.ports.to_list("node"), self.ports.to_list("port"), self.ports.to_list(column), strict=True
        )
        found = next((number for *name, number in names if name == [node, port]), None)
        if found is None:
            raise KeyError(f"there is no port {port} of {node}")
        return int(found)

    def count_samples(self, node: str, port: int, from_ps: int, until_ps: int) -> int:
        """The number of samples of a port from one instant to another, both included.

        Args:
            node: Name of the node.
            port: Number of the port at its node.
            from_ps: The first instant, in picoseconds.
            until_ps: The last one.
        """
        return self._core.samples_between(node, port, from_ps, until_ps)

    def all_flows_active(self) -> tuple[int, int]:
        """The interval in which all flows are active at once: its begin and end in picoseconds.

        From the start of the last flow until a base RTT before the first one after it is delivered
        (what arrives then was sent before), or to the end of the run. In a microburst or an incast
        that is the burst.
        """
        start, last = self._core.all_active()
        end = int(outcome["now_ps"]) if (outcome := self.info.get("outcome")) else start
        return start, max(start, end if last is None else min(last, end))

    def response(
        self,
        node: str | tuple[str, int],
        port: int | None = None,
        from_ps: int = 0,
        until_ps: int | None = None,
    ) -> _core.Response:
        """Returns the response of a probed port in an interval: steady queue, settling, loss of use.

        Args:
            node: As for :meth:`port`.
            port: As for :meth:`port`.
            from_ps: When the interval begins, in picoseconds.
            until_ps: When it ends; none is the last sample.

        Raises:
            KeyError: When the port has no samples there.
        """
        return self._core.response(*self._port(node, port), from_ps, until_ps)

    def _flow(self, number: int | str) -> int:
        found = self.find_flows(number)
        if len(found) > 1:
            raise KeyError(f"{number!r} means {len(found)} flows; write {number}.0 for the first")
        return found[0]

    def _port(self, node: str | tuple[str, int], port: int | None) -> tuple[str, int]:
        if port is None:
            return self.find_port(node)
        if not isinstance(node, str):
            raise TypeError(f"a port is named once: {node!r} or {port!r}")
        return node, port

    def flow_times(self) -> FlowTimes:
        """Sizes and completion times of the flows that count and transferred all of their size.

        Copies that were not written are among them, behind the flows that they are copies of.
        """
        table = self.rows("flows")
        slowdown = table.column("slowdown")
        done = ~np.isnan(slowdown) & table.column("counted")
        times = copies.counts(self.info, table.column("finish_ps")[done].astype(np.float64))
        size, fct, slowdown = (
            np.repeat(table.column(name)[done], times) for name in ("size_bytes", "fct_ps", "slowdown")
        )
        return FlowTimes(size.astype(np.int64), fct.astype(np.int64), slowdown)

    def rows(self, name: str) -> _core.Table:
        """Returns a table with the rows that were written.

        With ``run.reuse = "summary"`` the tables ``flows``, ``limits`` and ``operations`` lack the copies of
        what repeats itself, and whoever asks for them whole gets a :exc:`~incast.ResultError`. Of any other
        result and table they are all rows.

        Args:
            name: Name of the table, like ``"flows"``.

        Raises:
            KeyError: When there is no such table.
        """
        return self._core.rows(name)

    def in_memory(self) -> Result:
        """Returns the result with all of its tables in memory, so that its folder may be removed."""
        info, state, _, tables = self._core.parts()
        return _unpickled(info, state, None, tables)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, self._core.parts())

    def _screen(self, form: str) -> Screen:
        from incast.results.listing.of_results import listings

        del form
        info, labels = self.info, self.info["algorithms"]
        names = ", ".join(title(label, labels) for label in labels) or "no flows"
        heading = f"{info['name']}: {names}, seed {info['seed']}"
        warnings = [str(problem) for problem in self.warnings]
        outcome = info.get("outcome")
        if outcome is None:
            how = "is in progress" if self.state == "running" else "was killed"
            line = f"NOT COMPLETE: the run {how}; written so far: {len(self.flows):,} flows"
            return Screen(heading, [line], warnings)
        broken = [f"invariant violated, please report this: {it}" for it in outcome["violations"]]
        waiting = [f"flow {it['flow']}: {it['waits_for']}" for it in outcome.get("waiting", [])]
        label = short(labels[0]) if len(labels) == 1 else str(info["name"])
        return Screen(heading, [outcome["why"], *broken, *waiting], warnings, listings({label: self}))

    def __repr__(self) -> str:
        return f"<Result of {self.info['name']!r}: {self.end}, {self._flow_count()} flows>"

    def _flow_count(self) -> int:
        """Returns the number of flows, with those that were counted and not written."""
        reuse = (self.info.get("outcome") or {}).get("reuse") or {}
        return len(self.rows("flows")) + int((reuse.get("unwritten") or {}).get("flows", 0))


_NUMBERS = ("window_bytes", "rate_bps", "rtt_ps")


def _unpickled(info: str, state: str, folder: str | None, tables: list[bytes]) -> Result:
    return Result(_core.Result.from_parts((info, state, folder, tables)))


def used(time_ps: Ints, sent_bytes: Ints, rate_bps: int) -> Floats:
    """The share of a link's rate that was used between samples.

    Args:
        time_ps: When the samples were taken.
        sent_bytes: Bytes transmitted until then.
        rate_bps: The rate of the link.

    Returns:
        For each sample the share used since the one before; the first repeats the second.
    """
    if len(time_ps) < 2:
        return np.zeros(len(time_ps))
    share = np.diff(sent_bytes) * 8 / (np.diff(time_ps) * 1e-12 * rate_bps)
    return np.concatenate([share[:1], share])


def every_sample(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Expands the rows of one port, flow or quantity to one row for each sample that they cover.

    Args:
        columns: ``time_ps``, ``samples`` and others, with their rows by time.

    Raises:
        ValueError: When there are more than :data:`MOST_SAMPLES`.
    """
    time, samples = columns["time_ps"], columns["samples"]
    total = int(samples.sum())
    if total > MOST_SAMPLES:
        raise ValueError(
            f"{len(samples):,} rows cover {total:,} samples; at most {MOST_SAMPLES:,} can be given one by "
            "one. Weight each row by its column samples, or sample less often (probe.interval)"
        )
    found = {name: np.repeat(values, samples) for name, values in columns.items()}
    back = np.repeat(np.cumsum(samples), samples) - np.arange(1, total + 1)
    found["time_ps"] = found["time_ps"] - back * np.repeat(_steps(time, samples), samples)
    found["samples"] = np.ones(total, dtype=np.int64)
    return found


def samples_between(time: Ints, samples: Ints, from_ps: int, until_ps: int) -> Ints:
    """Returns the number of samples that each row covers from one instant to another, both included.

    Args:
        time: When the sample of each row was taken.
        samples: Number of samples that each row covers.
        from_ps: The first instant, in picoseconds.
        until_ps: The last one.
    """
    step = np.maximum(_steps(time, samples), 1)
    # Counted back from the sample of each row.
    least = np.maximum(-((until_ps - time) // step), 0)
    most = np.minimum((time - from_ps) // step, samples - 1)
    covered: Ints = np.maximum(most - least + 1, 0)
    return covered


def _steps(time: Ints, samples: Ints) -> Ints:
    """Returns for each row the time between the samples that it covers; 0 for the first, which covers one."""
    return np.diff(time, prepend=time[:1]) // samples


def parse_info(text: str) -> dict[str, Any]:
    """Returns the content of a ``result.json``.

    Thousands of them are in the grid of a sweep: they share their keys, which would take two fifths of the
    memory.

    Args:
        text: The file.

    Raises:
        ValueError: When it is no JSON.
    """
    return cast(
        "dict[str, Any]",
        json.loads(text, object_pairs_hook=lambda pairs: {sys.intern(key): it for key, it in pairs}),
    )


def warnings_of(info: Mapping[str, Any]) -> list[Problem]:
    """Returns the warnings in a ``result.json``."""
    return [Problem(w["problem"], key=w.get("key"), hint=w.get("hint")) for w in info.get("warnings", [])]


def is_sound(info: Mapping[str, Any]) -> bool:
    """Whether a run ended as it should, with every invariant holding and without a deadlock.

    Only then do its numbers count.
    """
    outcome = info.get("outcome") or {}
    ended = outcome.get("end") in ("finished", "time limit")
    return ended and not outcome.get("violations") and not outcome.get("deadlock")
