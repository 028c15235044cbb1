"""Scenarios for `incast audit`: the examples, shortened, and the random cases of the plain models.

By hand, over as many random scenarios of each kind as one likes:

    PYTHONPATH=tests python -m audited 0 100
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from incast import Scenario
from incast.audit import Report, audit
from incast.cli.audit import of_scenario
from models.agreement import KINDS

EXAMPLES = Path(__file__).parent.parent / "examples"

SHORT: dict[str, dict[str, Any]] = {
    "bfc": {
        "topology.leaves": 2,
        "topology.spines": 2,
        "topology.hosts": 4,
        "traffic.hadoop.duration": "200us",
        "traffic.incast.duration": "200us",
        "traffic.incast.fan_in": 5,
        "traffic.incast.interval": "50us",
    },
    "collective": {"traffic.reduce.size": "300KB"},
    "goal": {},
    "homa": {
        "topology.leaves": 2,
        "topology.hosts": 4,
        "traffic.cache.warmup": "0us",
        "traffic.cache.duration": "40us",
    },
    "incast": {
        "topology.hosts": 4,
        "traffic.hadoop.warmup": "0us",
        "traffic.hadoop.duration": "60us",
        "traffic.requests.warmup": "0us",
        "traffic.requests.duration": "60us",
        "traffic.requests.fan_in": 8,
        "traffic.requests.interval": "20us",
        "traffic.requests.size": "45KB",
    },
    "load": {"topology.hosts": 4, "traffic.cache.warmup": "0us", "traffic.cache.duration": "30us"},
    "microburst": {"run.until": "400us"},
    "testbed": {"run.until": "500ms"},
    "training": {
        "traffic.step.hosts": ["h0", "h8", "h1", "h9"],
        "traffic.step.passes": 1,
        "run.until": "150us",
        "change": [],
    },
    "websearch": {
        "topology.hosts": 4,
        "traffic.websearch.warmup": "0us",
        "traffic.websearch.duration": "30us",
    },
}
"""The examples by name, with the keys that make their runs short."""


def example(name: str) -> Scenario:
    """An example of which a run takes a second or so."""
    scenario = Scenario.load(EXAMPLES / f"{name}.toml")
    return scenario.with_(SHORT[name]) if SHORT[name] else scenario


def audited(scenario: Scenario) -> Report:
    """The report on a run of a scenario."""
    return audit(of_scenario(scenario))


def random_scenario(number: int) -> tuple[str, Scenario]:
    """A random scenario, with its name: all kinds in turn."""
    names = list(KINDS)
    name, seed = names[number % len(names)], number // len(names)
    return f"{name}, seed {seed}", KINDS[name](seed).scenario()


def main(first: str, last: str) -> int:
    """Audits random scenarios of every kind, from seed ``first`` up to ``last``, and prints what is wrong."""
    worst = 0
    for number in range(int(first) * len(KINDS), int(last) * len(KINDS)):
        name, scenario = random_scenario(number)
        report = audited(scenario)
        if report.findings:
            worst = 1
            print(f"{name}:\n{report.text()}", flush=True)
    print(f"{(int(last) - int(first)) * len(KINDS)} scenarios audited")
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
