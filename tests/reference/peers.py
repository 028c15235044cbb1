"""Other simulators as a third opinion: each of their numbers, ours, the distance and the distance allowed.

The table is declared here once, and stands in docs/validation.md. A test makes its rows again and
compares them with the page. `UPDATE_DOCS=1` lets it write them:

UPDATE_DOCS=1 python -m pytest tests/reference/test_peers.py

An allowed distance is stated before it is measured, and is not widened. A row that exceeds it says "no" on
the page, with the reason, and the test fails when it becomes a "yes".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from incast import Result, Scenario
from reference import cases, measure
from reference.singles import htsim

HTSIM = "csg-htsim 841d9e7"
UET = "uet-htsim 40ccb05"
HPCC = "ns-3 of HPCC 9f4be2a"
POWERTCP = "ns-3 of PowerTCP 6ddb4a4"

HEAD = [
    "| Peer | Scenario | Quantity | Theirs | Ours | Distance | Allowed | Met |",
    "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
]


@dataclass(frozen=True)
class Opinion:
    """A number of a peer and the same of Incast."""

    peer: str
    """The simulator, with its commit."""
    scenario: str
    quantity: str
    numbers: Callable[[], tuple[float, float]]
    """Runs what is needed, and returns theirs and ours."""
    allowed: float = 0
    """Largest distance: as a share of theirs, or in standard deviations."""
    deviation: Callable[[], float] | None = None
    """Returns the standard deviation in which the distance counts; None: it is a share of theirs."""
    digits: int = 0
    """Digits behind the point in both numbers."""
    missed: str = ""
    """The reason for a distance above what is allowed; empty where there must be none."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The row's first cells."""
        return self.peer, self.scenario, self.quantity

    def distance(self) -> float:
        """The amount of the difference, in the unit of `allowed`."""
        theirs, ours = self.numbers()
        return abs(ours - theirs) / (self.deviation() if self.deviation else theirs)

    def met(self) -> bool:
        """Whether the distance is at most what is allowed."""
        return self.distance() <= self.allowed

    def row(self) -> str:
        """Returns its row of the table."""
        theirs, ours = self.numbers()
        far = self._written(self.distance())
        allowed = self._written(self.allowed) if self.allowed else "none"
        met = "yes" if self.met() else f"no: {self.missed}"
        numbers = [f"{number:,.{self.digits}f}" for number in (theirs, ours)]
        return "| " + " | ".join([*self.key, *numbers, far, allowed, met]) + " |"

    def _written(self, distance: float) -> str:
        return f"{distance:.2f} sd" if self.deviation else f"{100 * distance:.2f} %"


RACK = measure.PAGE.parents[1] / "papers" / "powertcp" / "fig4" / "rack.toml"

INCAST: dict[str, tuple[dict[str, object], str, str]] = {
    "HPCC": ({"algorithm": "hpcc", "preset": "artifact"}, "48B", "payload"),
    "theta-PowerTCP": ({"algorithm": "theta-powertcp", "preset": "artifact"}, "56B", "payload"),
    "TIMELY windowed": ({"algorithm": "timely", "preset": "hpcc", "window": "rate"}, "56B", "payload"),
    "DCTCP": ({"algorithm": "dctcp"}, "48B", "wire"),
    "DCTCP, windows in payload": ({"algorithm": "dctcp"}, "48B", "payload"),
}
"""Algorithms of the incast of 10 to 1: the section `cc`, the header without telemetry, what windows count."""


@cache
def incast(algorithm: str) -> Result:
    """Runs the incast of 10 to 1 with the base RTT and the headers of PowerTCP's tree, once."""
    cc, header, counting = INCAST[algorithm]
    keys = {"base_rtt": "28960ns", "header": header, "ack_size": "60B", "counting": counting}
    keys = {f"transport.{key}": value for key, value in keys.items()}
    return Scenario.load(RACK).with_(cc=cc, **keys, **{"probe.interval": "1us"}).run()


def incast_queue(algorithm: str, column: str) -> tuple[float, float]:
    """The peak of the queue in bytes, or the queue at a time, by the peer's column: theirs and ours."""
    name, _, _ = algorithm.partition(",")
    row = next(row for row in cases.rows("ns3-incast10.csv") if row["algorithm"] == name)
    time, queue = (incast(algorithm).port_series.column(name) for name in ("time_ps", "queue_bytes"))
    if column == "peak_B":
        return float(row[column]), float(queue.max())
    us = int(column.removeprefix("q_").removesuffix("us"))
    return float(row[column]), float(queue[time <= (1000 + us) * 10**6][-1])


def _incast() -> list[Opinion]:
    def of(algorithm: str, column: str, quantity: str, allowed: float, missed: str = "") -> Opinion:
        return Opinion(
            POWERTCP,
            f"10 to 1 at 25 Gbps, {algorithm}",
            quantity,
            lambda: incast_queue(algorithm, column),
            allowed,
            missed=missed,
        )

    rate = "there DCTCP sets a rate, here a window"
    return [
        of("HPCC", "peak_B", "largest queue (B)", 0.025),
        of("HPCC", "q_50us", "queue after 50 us (B)", 0.025),
        of("theta-PowerTCP", "peak_B", "largest queue (B)", 0.15),
        of("TIMELY windowed", "peak_B", "largest queue (B)", 0.002),
        of("TIMELY windowed", "q_50us", "queue after 50 us (B)", 0.002),
        of("TIMELY windowed", "q_200us", "queue after 200 us (B)", 0.002),
        of("DCTCP", "peak_B", "largest queue (B)", 0.02),
        of("DCTCP, windows in payload", "peak_B", "largest queue (B)", 0.02, rate),
    ]


def _singles() -> list[Opinion]:
    pair = [("h15", "0ns"), ("h14", "1us")]
    return [
        Opinion(
            HTSIM,
            "one flow of 513 packets at 100 Gbps",
            "end (us)",
            lambda: (184.4096, htsim([("h15", "0ns")])[0] / 1e6),
            digits=4,
        ),
        Opinion(
            HTSIM,
            "two such flows to one host, 1 us apart",
            "end of the first (us)",
            lambda: (353.8048, htsim(pair)[0] / 1e6),
            digits=4,
        ),
        Opinion(
            HTSIM,
            "two such flows to one host, 1 us apart",
            "end of the second (us)",
            lambda: (355.136, htsim(pair)[1] / 1e6),
            digits=4,
        ),
    ]


def _nscc() -> list[Opinion]:
    def of(case: str) -> Opinion:
        _, flows, policy = case.split("-")
        what = "32 to 1" if flows == "incast" else "permutation of 128"
        chance = "chance, mostly: over 32 seeds it is 0.7 sd, see below"
        return Opinion(
            UET,
            f"{what} at 800 Gbps, NSCC, {measure.POLICIES[policy]}",
            "mean completion time over 8 seeds (us)",
            lambda: (
                measure.nscc_reference(case)["seeds8_mean"],
                float(measure.nscc_runs(case)[:, 0].mean()),
            ),
            1,
            lambda: measure.nscc_reference(case)["seeds8_mean_sd"],
            1,
            chance if case == "nscc-incast-adaptive" else "",
        )

    return [of(case) for case in measure.NSCC]


def _hpcc() -> list[Opinion]:
    def total() -> tuple[float, float]:
        return 2 * 11_140_372, measure.hops("hpcc-320-imitated")

    def mean() -> tuple[float, float]:
        theirs = measure.reference("hpcc-320-imitated")
        ours = [measure.completions("hpcc-320-imitated", seed).mean() for seed in measure.SEEDS]
        return float(theirs.mean()) / 1e6, float(np.mean(ours)) / 1e6

    network = "1,099 flows on 320 hosts, HPCC"
    return [
        Opinion(HPCC, network, "packet-hops", total),
        Opinion(HPCC, network, "mean completion time (us)", mean, 0.025, digits=1),
    ]


def _timely() -> list[Opinion]:
    case, network = "timely-256-imitated", "689 flows on 256 hosts, TIMELY"

    def mean() -> tuple[float, float]:
        theirs, ours = measure.slowdown_reference(case), measure.slowdown_runs(case)
        return float(theirs[0]), float(ours.mean(axis=0)[0])

    return [
        Opinion(POWERTCP, network, "packet-hops", lambda: (2 * 5_560_352, measure.hops(case))),
        Opinion(
            POWERTCP,
            network,
            "mean slowdown over 8 seeds",
            mean,
            1,
            lambda: float(measure.slowdown_runs(case).std(axis=0, ddof=1)[0]),
            2,
        ),
    ]


def _swift() -> list[Opinion]:
    def of(case: str, network: str) -> Opinion:
        return Opinion(
            HTSIM,
            network,
            "mean completion time over 8 seeds (us)",
            lambda: (float(measure.swift_reference(case)[1]), float(measure.swift_runs(case)[:, 1].mean())),
            1,
            lambda: float(measure.swift_runs(case)[:, 1].std(ddof=1)),
            1,
        )

    return [
        of("swift-permutation", "permutation of 128 at 800 Gbps, Swift"),
        of("swift-incast", "32 to 1 at 800 Gbps, Swift"),
    ]


OPINIONS: dict[str, list[Opinion]] = {
    "single": _singles(),
    "incast": _incast(),
    "nscc": _nscc(),
    "swift": _swift(),
    "hpcc": _hpcc(),
    "timely": _timely(),
}
"""All of them, by the runs that they need."""


def hold(group: str) -> None:
    """Holds the rows of a group against the page, or writes them there with `UPDATE_DOCS=1`.

    Raises:
        AssertionError: A row of the page is not what the runs give.
    """
    made = {one.key: one.row() for one in OPINIONS[group]}
    page = {_key(line): line for line in measure.written("peers")[2:]}
    if os.environ.get("UPDATE_DOCS"):
        known = page | made
        order = [one.key for of in OPINIONS.values() for one in of]
        measure.write("peers", HEAD + [known[key] for key in order if key in known])
        return
    wrong = [row for key, row in made.items() if page.get(key) != row]
    assert not wrong, "UPDATE_DOCS=1 writes these rows:\n" + "\n".join(wrong)


def _key(line: str) -> tuple[str, str, str]:
    peer, scenario, quantity, *_ = line.removeprefix("| ").split(" | ")
    return peer, scenario, quantity
