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
    families,
    get_include,
    load_plugin,
    own_controls,
    register,
    registered,
)
from incast.congestion import Congestion, congestion_at
from incast.gradient import Gradient, gradient_of, timely_gradient_of
from incast.result import FlowSeries, FlowTimes, PortSeries, Result
from incast.scenario import Interrupted, Progress, Scenario, schema
from incast.stats import Estimate, SizeBin
from incast.study import Comparison, Replications, compare, replicate

__all__ = [
    "Ack",
    "Comparison",
    "Congestion",
    "CongestionControl",
    "Estimate",
    "Flow",
    "FlowPath",
    "FlowSeries",
    "FlowTimes",
    "Gradient",
    "IntHop",
    "Interrupted",
    "Loss",
    "PluginError",
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
    "__version__",
    "algorithm",
    "algorithms",
    "compare",
    "congestion_at",
    "families",
    "get_include",
    "gradient_of",
    "load_plugin",
    "own_controls",
    "register",
    "registered",
    "replicate",
    "schema",
    "sections",
    "timely_gradient_of",
    "units",
]

algorithm.load_plugins_of_environment()
