"""The runs of a sweep as it keeps them: numbers in columns, since there may be ten thousand runs."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from incast.errors import Problem
from incast.results import stats
from incast.results.grid import Run, RunNumbers
from incast.results.measures.call import Call
from incast.results.result import Result, is_sound, warnings_of
from incast.runs.sweep.plan import Plan

T = TypeVar("T")

_NONE: frozenset[str] = frozenset()

_COUNTED = tuple((size, name) for size in stats.SIZE_CLASSES for name in ("flows", "unfinished"))
"""The numbers of flows that are kept of each run."""


class Records(Mapping[int, Run]):
    """The runs of a sweep that have a result, by their numbers in the plan, in the order of the plan.

    A ``result.json`` takes some ten kilobytes in memory. Of each only what tables and comparisons need is
    kept: its numbers in columns, and texts that runs have in common once. A run is made of them when it is
    asked for; its ``info`` has the keys that are kept, and its tables are read from its folder.

    Attributes:
        end: The end of each run of the plan; of one without a result this and the others say nothing.
        fingerprint: Its fingerprint.
        flows: Its number of flows.
        hops: Its packet-hops.
        has_loads: Whether the load of a traffic block was measured in any run.

    Args:
        plan: The sweep.
        calls: Measures beside those that every run has.
    """

    def __init__(self, plan: Plan, calls: Sequence[Call] = ()) -> None:
        count = len(plan.runs)
        self._plan = plan
        self._calls = tuple(calls)
        self._columns: dict[str, _Column] = {}
        self._has = bytearray(count)
        self._bounded = bytearray(count)
        self.flows, self.hops = array("Q", [0]) * count, array("Q", [0]) * count
        # −1: it has no flows of this class.
        self._counts = {key: array("q", [-1]) * count for key in _COUNTED}
        self.end: list[str] = [""] * count
        self.fingerprint: list[str] = [""] * count
        # By the number of a run, where there is anything.
        self._warnings: dict[int, list[dict[str, Any]]] = {}
        self._unsound: dict[int, dict[str, Any]] = {}
        self._at_least: dict[int, frozenset[str]] = {}
        self._missing: dict[int, dict[str, str]] = {}
        self._shared: dict[object, Any] = {}
        self._algorithms: dict[tuple[str, ...], list[str]] = {}
        self.has_loads = False

    def take(self, n: int, info: Mapping[str, Any]) -> None:
        """Keeps what is needed of a run; its tables are read for calls, and if a flow is unfinished.

        Args:
            n: Its number in the plan.
            info: The content of its ``result.json``.
        """
        planned = self._plan.runs[n]
        read = Run(planned.seed, info, partial(Result.open, planned.folder), self._calls).read
        for column in self._columns.values():
            column.has[n] = 0
        for name, value in read.values.items():
            if name not in self._columns:
                self._columns[name] = _Column(len(self._has))
            self._columns[name].put(n, value)
        self._bounded[n] = read.bounded
        outcome = info["outcome"]
        self.flows[n], self.hops[n] = outcome["flows"], outcome["hops"]
        self.end[n], self.fingerprint[n] = sys.intern(outcome["end"]), outcome["fingerprint"]
        summary = info.get("summary", {})
        of_all = {one["class"]: one for one in summary.get("slowdowns", []) if one["group"] is None}
        self.has_loads = self.has_loads or bool(summary.get("loads"))
        self._algorithms.setdefault(planned.values, info.get("algorithms", []))
        for size, name in _COUNTED:
            self._counts[size, name][n] = of_all[size][name] if size in of_all else -1
        warnings = info.get("warnings") or []
        self._note(self._warnings, n, warnings, json.dumps(warnings))
        self._note(self._at_least, n, read.at_least, read.at_least)
        self._note(self._missing, n, read.missing, tuple(read.missing.items()))
        self._unsound.pop(n, None)
        if not is_sound(info):
            self._unsound[n] = {key: outcome.get(key) for key in ("violations", "deadlock")}
        self._has[n] = 1

    def _note(self, of: dict[int, T], n: int, value: T, key: object) -> None:
        """Keeps what a run has, where it has anything; runs share what is equal.

        Args:
            of: The values of all runs.
            n: The run.
            value: Its value.
            key: The same for equal values.
        """
        of.pop(n, None)
        if value:
            of[n] = self._shared.setdefault(key, value)

    def __getitem__(self, n: int) -> Run:
        if n not in self:
            raise KeyError(n)
        planned = self._plan.runs[n]
        values = {name: column.values[n] for name, column in self._columns.items() if column.has[n]}
        known = RunNumbers(
            values,
            self._at_least.get(n, _NONE),
            bool(self._bounded[n]),
            self._missing.get(n, {}),
        )
        return Run(
            planned.seed, self._info(n), partial(Result.open, planned.folder), self._calls, known=known
        )

    def _info(self, n: int) -> dict[str, Any]:
        """Returns what is kept of the ``result.json`` of a run."""
        counts = {
            size: {name: self._counts[size, name][n] for name in ("flows", "unfinished")}
            for size in stats.SIZE_CLASSES
        }
        outcome = {
            "end": self.end[n],
            "fingerprint": self.fingerprint[n],
            "flows": self.flows[n],
            "hops": self.hops[n],
            **self._unsound.get(n, {}),
        }
        slowdowns = [{"class": size, "group": None, **of} for size, of in counts.items() if of["flows"] >= 0]
        return {
            "algorithms": self._algorithms[self._plan.runs[n].values],
            "outcome": outcome,
            "summary": {"slowdowns": slowdowns},
            "warnings": self._warnings.get(n, []),
        }

    def __iter__(self) -> Iterator[int]:
        return (n for n, has in enumerate(self._has) if has)

    def __len__(self) -> int:
        return sum(self._has)

    def __contains__(self, n: object) -> bool:
        return isinstance(n, int) and 0 <= n < len(self._has) and bool(self._has[n])

    def sound(self, n: int) -> bool:
        """Whether a run that has a result ended as it should."""
        return self[n].sound if n in self._unsound else n in self

    def behind(self, n: int, size: str) -> int:
        """Returns the number of flows of a class of sizes that the slowdowns of a run are statistics of.

        Args:
            n: Its number in the plan.
            size: The class.
        """
        finished, unfinished = (self._counts[size, name][n] for name in ("flows", "unfinished"))
        return max(finished, 0) + (max(unfinished, 0) if self._bounded[n] else 0)

    def value(self, n: int, name: str) -> float | None:
        """Returns a number of a run by the name of its column; None where it has none."""
        column = self._columns.get(name)
        return column.values[n] if column and column.has[n] else None

    def values_of(self, runs: Sequence[int], name: str) -> list[float | None]:
        """Returns a number of some runs, as :meth:`value` gives it of each.

        Args:
            runs: Their numbers in the plan.
            name: The name of its column.
        """
        column = self._columns.get(name)
        if column is None:
            return [None] * len(runs)
        values, has = column.values, column.has
        return [values[n] if has[n] else None for n in runs]

    def warnings(self, n: int) -> list[Problem]:
        """Returns the warnings of a run."""
        return warnings_of({"warnings": self._warnings.get(n, [])})

    def at_least(self, n: int) -> frozenset[str]:
        """Returns the names of the numbers of a run that are only lower bounds."""
        return self._at_least.get(n, _NONE)


class _Column:
    """Numbers of all runs, of which some have none."""

    def __init__(self, count: int) -> None:
        self.values = array("d", [0.0]) * count
        self.has = bytearray(count)

    def put(self, n: int, value: float) -> None:
        """Sets the number of a run."""
        self.values[n], self.has[n] = value, 1
