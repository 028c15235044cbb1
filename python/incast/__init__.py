"""Incast: a laboratory for datacenter congestion control.

```python
import incast

scenario = incast.Scenario.load("examples/microburst.toml")
result = scenario.with_algorithm("hpcc").run()
result.flows.column("slowdown")
```
"""

from incast import algorithm, sections, units
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
from incast.attacking import Attack, attack
from incast.catalogue import Contestant, contestants
from incast.errors import IncastWarning
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
from incast.scenario import Interrupted, Progress, Scenario, flow_table, schema
from incast.tuning import Tuning, tune

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

algorithm.load_plugins_of_environment()
