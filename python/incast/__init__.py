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
    Signals,
    algorithms,
    evidence,
    families,
    get_include,
    load_plugin,
    own_controls,
    register,
    registered,
)
from incast.errors import IncastWarning
from incast.real import kernel, testbed, wire
from incast.results import captures, stats
from incast.results.congestion import Congestion, congestion_at
from incast.results.decide import Difference, Word
from incast.results.gradient import Gradient, gradient_of, timely_gradient_of
from incast.results.pooled import Pooled, pooled
from incast.results.result import FlowSeries, PortSeries, Result
from incast.results.stats import Estimate, FlowTimes, SizeBin
from incast.runs import runner, store, sweep
from incast.runs.study import Comparison, Replications, compare, difference, replicate
from incast.scenario import Interrupted, Progress, Scenario, flow_table, schema

__all__ = [
    "Ack",
    "Comparison",
    "Congestion",
    "CongestionControl",
    "Difference",
    "Estimate",
    "Flow",
    "FlowPath",
    "FlowSeries",
    "FlowTimes",
    "Gradient",
    "IncastWarning",
    "IntHop",
    "Interrupted",
    "Loss",
    "PluginError",
    "Pooled",
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
    "Word",
    "__version__",
    "algorithm",
    "algorithms",
    "captures",
    "compare",
    "congestion_at",
    "difference",
    "evidence",
    "families",
    "flow_table",
    "get_include",
    "gradient_of",
    "kernel",
    "load_plugin",
    "own_controls",
    "pooled",
    "register",
    "registered",
    "replicate",
    "runner",
    "schema",
    "sections",
    "stats",
    "store",
    "sweep",
    "testbed",
    "timely_gradient_of",
    "units",
    "wire",
]

algorithm.load_plugins_of_environment()
