"""Incast: a laboratory for datacenter congestion control.

```python
import incast

scenario = incast.Scenario.load("examples/microburst.toml")
result = scenario.with_algorithm("hpcc").run()
result.flows.column("slowdown")
```
"""

from incast._core import ResultError, ScenarioError, Table, __version__
from incast.result import FlowTimes, PortSeries, Result
from incast.scenario import Interrupted, Progress, Scenario

__all__ = [
    "FlowTimes",
    "Interrupted",
    "PortSeries",
    "Progress",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "Table",
    "__version__",
]
