"""A result as the measures see it: named instants, ports, flows, and series cut to a span."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incast.ledger.quantity import picoseconds, quantity
from incast.results.arrays import Floats
from incast.results.result import PortSeries, Result, every_sample

Ints = npt.NDArray[np.int64]
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
            for column in ("flow", "group", "start_ps", "delivered_ps", "base_rtt_ps", "source", "counted")
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
        pieces = np.split(order, starts[1:])
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

    @cached_property
    def buffers(self) -> dict[str, tuple[Ints, Floats]]:
        """Returns the bytes in each switch of which ports are sampled: times, and the sum of their queues."""
        table = self.result.port_series
        columns = {name: table.column(name) for name in ("time_ps", "queue_bytes", "samples")}
        names, nodes = np.unique(table.column("node"), return_inverse=True)
        ports = nodes * (1 << 16) + table.column("port")
        order = np.argsort(ports, kind="stable")
        keys, starts = np.unique(ports[order], return_index=True)
        found: dict[str, tuple[Ints, Floats]] = {}
        for key, rows in zip(keys, np.split(order, starts[1:]), strict=True):
            each = every_sample({name: column[rows] for name, column in columns.items()})
            node = str(names[key >> 16])
            _, held = found.get(node, (None, np.zeros(len(each["time_ps"]))))
            found[node] = each["time_ps"].astype(np.int64), held + each["queue_bytes"].astype(float)
        return found
