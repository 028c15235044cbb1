"""Numbers that every run has: their names, their words, and whether less or more of them is better.

A number has one name, ``p99.small``, wherever it is asked for. :data:`incast.stats.METRICS` has the names of
the columns that it is read from.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from incast.results.stats import SIZE_CLASSES

Kind = Literal["ratio", "time", "bytes", "rate", "share", "count"]
"""Kinds of numbers. Two values of any kind but a count are compared by their ratio, if both are above 0."""

UNITS: Mapping[Kind, str] = {"time": "us", "bytes": "KB", "rate": "Gbps", "share": "%"}
"""The unit of measures of a kind once they are divided by their ``scale``."""

Better = Literal["lower", "higher", "neither"]
"""The direction in which a number improves."""


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    Attributes:
        name: Its name, like ``p99.small``.
        metrics: The columns of sweeps whose sum it is: one, but for ``unfinished``.
        words: Its name in a sentence, without an article.
        kind: What it is a number of.
        better: Whether less or more of it is better, or neither.
        rank: In percent, of a percentile over flows; None for other numbers.
        heading: Both lines of the head of its column.
        scale: Its columns are divided by this for people: 1e6 from picoseconds to microseconds.
    """

    name: str
    metrics: tuple[str, ...]
    words: str
    kind: Kind
    better: Better = "lower"
    rank: float | None = None
    heading: tuple[str, str] = ("", "")
    scale: float = 1.0

    def of(self, numbers: Mapping[str, float]) -> float | None:
        """The value of a run: the sum of the columns that the run has; None if it has none of them.

        Args:
            numbers: The values of :func:`incast.stats.metrics`.
        """
        known = [numbers[name] for name in self.metrics if name in numbers]
        return sum(known) if known else None

    @property
    def slowdown_of(self) -> str | None:
        """The class of sizes of whose flows it is a slowdown; None for other numbers."""
        return self.name.rpartition(".")[2] if self.metrics[0].startswith("slowdown_") else None


def _slowdown(statistic: str, of: str) -> Measure:
    """Declares a statistic of the slowdowns of flows of a class."""
    flows = "flows" if of == "all" else f"{of} flows"
    rank = None if statistic == "mean" else float(statistic[1:])
    return Measure(
        f"{statistic}.{of}",
        (f"slowdown_{of}_{statistic}",),
        f"mean slowdown of {flows}" if rank is None else f"{statistic} of {of} flows",
        "ratio",
        rank=rank,
        heading=("slowdown" if of == "all" else of, statistic),
    )


def _single(
    name: str,
    metric: str,
    words: str,
    kind: Kind,
    heading: tuple[str, str],
    scale: float = 1.0,
    better: Better = "lower",
) -> Measure:
    """Declares a measure that is one column."""
    return Measure(name, (metric,), words, kind, better, heading=heading, scale=scale)


_SHARES = {
    "sending": "share of flows' time in which packets leave for the first time",
    "answer": "share of flows' time in which they wait for acknowledgements",
    "window": "share of flows' time in which their window is full",
    "pacing": "share of flows' time in which their rate makes them wait",
    "credit": "share of flows' time in which they have no credit",
    "card": "share of flows' time in which their card is busy with others",
    "paused": "share of flows' time in which they are paused",
    "repair": "share of flows' time in which losses are repaired",
    "connection": "share of flows' time in which messages before them leave",
}

NAMED: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        *(_slowdown(statistic, of) for of in SIZE_CLASSES for statistic in ("mean", "p50", "p99")),
        _single("jobs.mean", "job_time_mean_ps", "mean time of jobs", "time", ("job time", "mean us"), 1e6),
        _single("jobs.slowest", "job_time_max_ps", "time of the slowest job", "time", ("slowest", "us"), 1e6),
        _single(
            "jobs.bound",
            "job_bound_ratio_max",
            "largest ratio of a job's time to its bound",
            "ratio",
            ("/ bound", "max"),
        ),
        _single(
            "jobs.bound.mean",
            "job_bound_ratio_mean",
            "mean ratio of jobs' times to their bounds",
            "ratio",
            ("/ bound", "mean"),
        ),
        _single(
            "busbw",
            "job_busbw_mean_bps",
            "mean bus bandwidth",
            "rate",
            ("busbw", "mean Gbps"),
            1e9,
            "higher",
        ),
        _single(
            "algbw",
            "job_algbw_mean_bps",
            "mean algorithm bandwidth",
            "rate",
            ("algbw", "mean Gbps"),
            1e9,
            "higher",
        ),
        _single("queue.mean", "queue_mean_bytes", "mean queue", "bytes", ("queue", "mean KB"), 1e3),
        _single("queue.peak", "queue_peak_bytes", "longest queue", "bytes", ("queue", "peak KB"), 1e3),
        _single("unfinished.jobs", "jobs_unfinished", "unfinished jobs", "count", ("jobs", "unfinished")),
        _single("unfinished.flows", "flows_unfinished", "unfinished flows", "count", ("flows", "unfinished")),
        Measure(
            "unfinished",
            ("jobs_unfinished", "flows_unfinished"),
            "unfinished jobs and flows",
            "count",
            heading=("both", "unfinished"),
        ),
        _single("dropped", "packets_dropped", "dropped packets", "count", ("dropped", "packets")),
        _single("resent", "packets_resent", "resent packets", "count", ("resent", "packets")),
        _single(
            "finished",
            "flows_finished",
            "finished flows",
            "count",
            ("flows", "finished"),
            better="neither",
        ),
        *(
            _single(
                f"share_{name}",
                f"share_{name}",
                words,
                "share",
                (name, "%"),
                0.01,
                better="neither",
            )
            for name, words in _SHARES.items()
        ),
    )
}
"""All measures, by their names."""

DECLARED = {measure.metrics[0]: measure for measure in NAMED.values() if len(measure.metrics) == 1}
"""Measures that are one column, by its name."""


def find(text: str) -> Measure:
    """Finds a measure.

    Args:
        text: Its name, or the name of its column.

    Raises:
        KeyError: When there is none; with the nearest name.
    """
    known = {**DECLARED, **NAMED}
    if text in known:
        return known[text]
    near = difflib.get_close_matches(text, known, 1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    raise KeyError(f'there is no measure "{text}"{hint}')
