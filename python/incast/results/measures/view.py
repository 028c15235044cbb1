"""A result as the measures see it: named instants, ports, flows, and series cut to a span."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from incast.results import stats
from incast.results.arrays import Floats, Ints, np
from incast.results.measures.quantity import picoseconds, quantity
from incast.results.result import PortSeries, Result, every_sample

if TYPE_CHECKING:
    import numpy.typing as npt

_INSTANT = re.compile(r"(start|end|first_end|\d+%)\(([\w.-]+)\)\s*(?:([+-])\s*(\S+))?")


class View:
    """One run's result.

    Args:
        name: Of the run, for messages.
        result: Its result.
    """

    def __init__(self, name: str, result: Result) -> None:
        self.name = name
        self.result = result
        self._series: dict[str, PortSeries] = {}
        self._flows = {
            column: result.flows.column(column)
            for column in (
                "flow",
                "group",
                "start_ps",
                "delivered_ps",
                "finish_ps",
                "base_rtt_ps",
                "source",
                "counted",
                "acked_bytes",
                "started",
            )
        }
        self._ports = {column: result.ports.column(column) for column in ("node", "port", "peer", "rate_bps")}

    def instant(self, text: str) -> int:
        """An instant in picoseconds.

        Args:
            text: ``50us`` since the start of the run; or ``start(GROUP)``, ``end(GROUP)`` (the last byte
                of its last flow arrived), ``first_end(GROUP)`` (of its first one), plus or minus a time;
                or ``40%(GROUP)`` of the way from its start to its end.

        Raises:
            ValueError: When it is neither.
        """
        found = _INSTANT.fullmatch(text.strip())
        if not found:
            return picoseconds(text)
        what, group, sign, offset = found.groups()
        rows = self.rows(group)
        if what == "start":
            at = int(self._flows["start_ps"][rows].min())
        elif what.endswith("%"):
            begin, end = self.instant(f"start({group})"), self.instant(f"end({group})")
            at = begin + round((end - begin) * quantity(what).value)
        else:
            ends = self._flows["delivered_ps"][rows].astype(float)
            ends = ends[~np.isnan(ends)]
            if not len(ends):
                raise ValueError(f"no flow of {group!r} finished")
            at = int(ends.max() if what == "end" else ends.min())
        shift = picoseconds(offset) if offset else 0
        return at - shift if sign == "-" else at + shift

    @cached_property
    def end_ps(self) -> int:
        """The end of the run."""
        return int(self.result.info["outcome"]["now_ps"])

    def window(self, start: str, end: str) -> tuple[int, int]:
        """Begin and end of a span; an empty text is an end of the run itself.

        Raises:
            ValueError: When it is empty, or ends after a run that was not finished.
        """
        first = self.instant(start) if start else 0
        last = self.instant(end) if end else self.end_ps
        if first >= last:
            raise ValueError(f"nothing is between {start or 'the start'} and {end or 'the end of the run'}")
        if last > self.end_ps and self.result.end != "finished":
            raise ValueError(f"the run {self.name!r} ended at {self.end_ps / 1e6:,.2f} us, before {end}")
        return first, last

    def rows(self, flows: str) -> npt.NDArray[np.intp]:
        """Rows of the flow table whose flows count, in the order of their numbers.

        Args:
            flows: A traffic block, or ``NAME.3`` for its fourth flow by number.

        Raises:
            ValueError: When there is no such flow.
        """
        group, dot, number = flows.rpartition(".")
        if not dot or not number.isdigit():
            group, number = flows, ""
        rows = np.flatnonzero((self._flows["group"] == group) & self._flows["counted"])
        rows = rows[np.argsort(self._flows["flow"][rows])]
        if number:
            rows = rows[int(number) : int(number) + 1]
        if not len(rows):
            raise ValueError(f"there is no flow {flows!r} in the run {self.name!r}")
        return rows

    def name_of(self, row: int) -> str:
        """The name of the flow in a row, like ``short.3``."""
        group = str(self._flows["group"][row])
        return f"{group}.{self.rows(group).tolist().index(row)}"

    def one(self, flow: str) -> int:
        """The row of a single flow.

        Raises:
            ValueError: When the text names several.
        """
        rows = self.rows(flow)
        if len(rows) > 1:
            raise ValueError(f"{flow!r} names {len(rows)} flows; write {flow}.0 for the first")
        return int(rows[0])

    def base_rtt_ps(self, flow: str) -> int:
        """The base RTT of a flow."""
        return int(self._flows["base_rtt_ps"][self.rows(flow)[0]])

    def line_bps(self, flow: str) -> int:
        """The rate of the link of a flow's sender."""
        source = self._flows["source"][self.rows(flow)[0]]
        return int(self._ports["rate_bps"][self._ports["node"] == source][0])

    def rate_bps(self, port: str) -> int:
        """The rate of the link of a port, in bit/s.

        Args:
            port: As for :meth:`Result.find_port`, like ``s0->h15``.

        Raises:
            KeyError: When there is no such port.
        """
        node, number = self.result.find_port(port)
        here = (self._ports["node"] == node) & (self._ports["port"] == number)
        if not here.any():
            raise KeyError(f"there is no port {port!r} in the run {self.name!r}")
        return int(self._ports["rate_bps"][here][0])

    def port(self, text: str) -> PortSeries:
        """The samples of a port written ``s0->h15``, each with a row."""
        if text not in self._series:
            self._series[text] = self.result.port(text).filled()
        return self._series[text]

    def peak_queue_bytes(self, text: str) -> int:
        """The longest queue of a port in the whole run, exactly."""
        return self.result.peak_queue_bytes(text)

    def span(self, time: Ints, start: str, end: str) -> slice:
        """The samples from one instant to another, both included; an empty text for an open end.

        Raises:
            ValueError: When there are fewer than two.
        """
        first = 0 if not start else int(np.searchsorted(time, self.instant(start), "left"))
        last = len(time) if not end else int(np.searchsorted(time, self.instant(end), "right"))
        if last - first < 2:
            raise ValueError(f"there are no samples from {start or 'the start'} to {end or 'the end'}")
        return slice(first, last)

    def flow_number(self, flow: str) -> int:
        """The number of a single flow in the tables."""
        return int(self._flows["flow"][self.one(flow)])

    def samples(self, flow: str) -> dict[str, npt.NDArray[np.generic]]:
        """The samples of one flow, each with a row: ``time_ps`` and the other columns of the table."""
        number = self.flow_number(flow)
        found = self._samples.get(number)
        if found is None:
            raise ValueError(f"the flow {flow!r} of the run {self.name!r} is not sampled")
        return every_sample(found)

    @cached_property
    def _samples(self) -> dict[int, dict[str, npt.NDArray[np.generic]]]:
        """The rows of the table of flow samples, by flow."""
        table = self.result.flow_series
        names = ("time_ps", "flow", "window_bytes", "rate_bps", "rtt_ps", "acked_bytes", "samples")
        columns = {name: table.column(name) for name in names}
        order = np.argsort(columns["flow"], kind="stable")
        flows, starts = np.unique(columns["flow"][order], return_index=True)
        pieces = np.split(order, starts[1:]) if len(flows) else []
        return {
            int(flow): {name: column[piece] for name, column in columns.items()}
            for flow, piece in zip(flows, pieces, strict=True)
        }

    def allowance(self, flow: str, what: str) -> tuple[Ints, Floats]:
        """Window or rate of a flow over time.

        Args:
            flow: A single flow.
            what: ``window``, in base BDPs; ``rate``, in line rates.
        """
        samples = self.samples(flow)
        line = self.line_bps(flow)
        if what == "window":
            values = samples["window_bytes"].astype(float) / (float(line) * self.base_rtt_ps(flow) / 8e12)
        elif what == "rate":
            # Without a limit the rate is line rate.
            values = np.nan_to_num(samples["rate_bps"].astype(float) / line, nan=1.0)
        else:
            raise ValueError(f"{what!r} is neither window nor rate")
        return samples["time_ps"].astype(np.int64), values

    def acked(self, flow: str) -> tuple[Ints, Floats]:
        """Payload acknowledged of a flow over time, in bytes."""
        samples = self.samples(flow)
        return samples["time_ps"].astype(np.int64), samples["acked_bytes"].astype(float)

    def life_ps(self, row: int) -> tuple[int, int]:
        """Start of a flow, and its end or else the end of the run, in picoseconds.

        Args:
            row: Its row in the table of flows.
        """
        finish = float(self._flows["finish_ps"][row])
        return int(self._flows["start_ps"][row]), self.end_ps if np.isnan(finish) else int(finish)

    def acked_at(self, row: int, instants: Ints) -> Floats:
        """Payload of a flow that is acknowledged at some instants, in bytes.

        Known exactly until its start and from its end on, and in between at its samples; interpolated between
        these.

        Args:
            row: Its row in the table of flows.
            instants: The instants, in picoseconds.

        Raises:
            ValueError: When an instant lies inside its life and it is not sampled.
        """
        start, stop = self.life_ps(row)
        if not self._flows["started"][row]:
            return np.zeros(len(instants))
        found = self._samples.get(int(self._flows["flow"][row]))
        times, values = np.array([start, stop]), np.array([0.0, float(self._flows["acked_bytes"][row])])
        if found is not None:
            time = found["time_ps"].astype(np.int64)
            inside = (time > start) & (time < stop)
            times = np.insert(times, 1, time[inside])
            values = np.insert(values, 1, found["acked_bytes"].astype(float)[inside])
        elif np.any((instants > start) & (instants < stop)):
            raise ValueError(f"the flow {self.name_of(row)!r} of the run {self.name!r} is not sampled")
        found_bytes: Floats = np.interp(instants, times, values, left=0.0)
        return found_bytes

    @cached_property
    def port_rows(self) -> dict[tuple[str, int], dict[str, npt.NDArray[np.generic]]]:
        """Returns the rows of the table of port samples by node and port."""
        table = self.result.port_series
        columns = {name: table.column(name) for name in ("time_ps", "queue_bytes", "samples")}
        names, nodes = np.unique(table.column("node"), return_inverse=True)
        ports = nodes * (1 << 16) + table.column("port")
        order = np.argsort(ports, kind="stable")
        keys, starts = np.unique(ports[order], return_index=True)
        pieces = np.split(order, starts[1:]) if len(keys) else []
        return {
            (str(names[key >> 16]), int(key & 0xFFFF)): {
                name: column[rows] for name, column in columns.items()
            }
            for key, rows in zip(keys.tolist(), pieces, strict=True)
        }

    @cached_property
    def buffers(self) -> dict[str, tuple[Ints, Floats]]:
        """Returns the bytes in each switch of which ports are sampled: times, and the sum of their queues."""
        found: dict[str, tuple[Ints, Floats]] = {}
        for (node, _), columns in self.port_rows.items():
            each = every_sample(columns)
            _, held = found.get(node, (None, np.zeros(len(each["time_ps"]))))
            found[node] = each["time_ps"].astype(np.int64), held + each["queue_bytes"].astype(float)
        return found


def statistic(values: Floats, stat: str, counts: Ints | None = None) -> float:
    """``mean``, ``std``, ``min``, ``max``, ``span`` (max less min), ``spread`` (span over mean), ``p99``.

    Args:
        values: The values.
        stat: The statistic.
        counts: How often each of them counts; by default once.
    """
    match stat:
        case "mean":
            return float(np.average(values, weights=counts))
        case "std":
            mean = np.average(values, weights=counts)
            return float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        case "min":
            return float(np.min(values))
        case "max":
            return float(np.max(values))
        case "span":
            return float(np.ptp(values))
        case "spread":
            return float(np.ptp(values) / np.average(values, weights=counts))
        case _ if stat.startswith("p") and stat[1:].replace(".", "", 1).isdigit():
            return stats.percentile(values, float(stat[1:]), counts)
    raise ValueError(f"{stat!r} is not a statistic; known: mean, std, min, max, span, spread, p99")
