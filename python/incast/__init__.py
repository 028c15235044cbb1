"""Incast: a laboratory for datacenter congestion control.

```python
import incast

scenario = incast.Scenario.load("examples/microburst.toml")
result = scenario.with_algorithm("hpcc").run()
result.flows.column("slowdown")
```
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from incast import algorithm
from incast._core import Ack, IntHop, Loss, PluginError, ResultError, ScenarioError, Sent, Table, __version__
from incast._core import Path as FlowPath
from incast.algorithm import (
    CongestionControl,
    Flow,
    OwnParameter,
    Signals,
    algorithms,
    evidence,
    families,
    get_include,
    load_plugin,
    own_controls,
    own_parameters,
    register,
    registered,
)
from incast.errors import IncastWarning

if TYPE_CHECKING:
    from incast import sections, units
    from incast.attacking import Attack, attack
    from incast.catalogue import Contestant, contestants
    from incast.real import kernel, testbed, wire
    from incast.results import captures, stats
    from incast.results.congestion import Congestion, congestion_at
    from incast.results.decide import Difference, Word
    from incast.results.gradient import Gradient, gradient_of, timely_gradient_of
    from incast.results.hops import Hop, Hops
    from incast.results.measures import measure, measures
    from incast.results.pooled import Pooled, PooledBin, pooled, pooled_by_size
    from incast.results.require import require
    from incast.results.result import FlowSeries, PortSeries, Result
    from incast.results.stats import Estimate, FlowTimes, SizeBin
    from incast.runs import runner, store, sweep
    from incast.runs.hops import hops_of
    from incast.runs.study import Comparison, Replications, compare, difference, replicate
    from incast.scenario import Interrupted, Progress, Scenario, schema
    from incast.scenario.flow_table import flow_table
    from incast.tuning import Tuning, tune

# The imports above, for a process at run time: each when its name is first used. All of them take as long as
# a short run, and a sweep starts many processes, which need few. A test compares both.
_MODULES = {
    "incast": ("sections", "units"),
    "incast.real": ("kernel", "testbed", "wire"),
    "incast.results": ("captures", "stats"),
    "incast.runs": ("runner", "store", "sweep"),
}
_NAMES = {
    "incast.attacking": ("Attack", "attack"),
    "incast.catalogue": ("Contestant", "contestants"),
    "incast.results.congestion": ("Congestion", "congestion_at"),
    "incast.results.decide": ("Difference", "Word"),
    "incast.results.gradient": ("Gradient", "gradient_of", "timely_gradient_of"),
    "incast.results.hops": ("Hop", "Hops"),
    "incast.results.measures": ("measure", "measures"),
    "incast.results.pooled": ("Pooled", "PooledBin", "pooled", "pooled_by_size"),
    "incast.results.require": ("require",),
    "incast.results.result": ("FlowSeries", "PortSeries", "Result"),
    "incast.results.stats": ("Estimate", "FlowTimes", "SizeBin"),
    "incast.runs.hops": ("hops_of",),
    "incast.runs.study": ("Comparison", "Replications", "compare", "difference", "replicate"),
    "incast.scenario": ("Interrupted", "Progress", "Scenario", "schema"),
    "incast.scenario.flow_table": ("flow_table",),
    "incast.tuning": ("Tuning", "tune"),
}

__all__ = [
    "Ack",
    "Attack",
    "Comparison",
    "Congestion",
    "CongestionControl",
    "Contestant",
    "Difference",
    "Estimate",
    "Flow",
    "FlowPath",
    "FlowSeries",
    "FlowTimes",
    "Gradient",
    "Hop",
    "Hops",
    "IncastWarning",
    "IntHop",
    "Interrupted",
    "Loss",
    "OwnParameter",
    "PluginError",
    "Pooled",
    "PooledBin",
    "PortSeries",
    "Progress",
    "Replications",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Signals",
    "SizeBin",
    "Table",
    "Tuning",
    "Word",
    "__version__",
    "algorithm",
    "algorithms",
    "attack",
    "captures",
    "compare",
    "congestion_at",
    "contestants",
    "difference",
    "evidence",
    "families",
    "flow_table",
    "get_include",
    "gradient_of",
    "hops_of",
    "kernel",
    "load_plugin",
    "measure",
    "measures",
    "own_controls",
    "own_parameters",
    "pooled",
    "pooled_by_size",
    "register",
    "registered",
    "replicate",
    "require",
    "runner",
    "schema",
    "sections",
    "stats",
    "store",
    "sweep",
    "testbed",
    "timely_gradient_of",
    "tune",
    "units",
    "wire",
]


if not TYPE_CHECKING:  # it would type every name that there is not

    def __getattr__(name: str) -> object:
        """Imports a name of the package when it is first used."""
        for package, names in _MODULES.items():
            if name in names:
                found: object = importlib.import_module(f"{package}.{name}")
                break
        else:
            module = next((module for module, names in _NAMES.items() if name in names), None)
            if module is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            found = getattr(importlib.import_module(module), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Lists names that are not imported yet, too."""
    return sorted({*globals(), *__all__})


algorithm.load_plugins_of_environment()
