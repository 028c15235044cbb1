"""Sweeps: many runs of one scenario, in parallel, into one table.

```python
from pathlib import Path
from incast import sweep

plan = sweep.plan(Path("examples/microburst.toml"), ["cc=oscar,hpcc", "topology.delay=1us,3us"], seeds=3)
done = sweep.conduct(plan)
done.summary.column("queue_peak_bytes")
```
"""

from incast.sweep.conduct import Failure, State, Sweep, conduct, default_folder
from incast.sweep.executor import Done, Executor, Task, execute
from incast.sweep.interval import mean_interval
from incast.sweep.local import Local, cores
from incast.sweep.plan import Axis, Plan, Run, axis, headings, plan
from incast.sweep.tables import METRICS, Column, Sheet, is_sound

__all__ = [
    "METRICS",
    "Axis",
    "Column",
    "Done",
    "Executor",
    "Failure",
    "Local",
    "Plan",
    "Run",
    "Sheet",
    "State",
    "Sweep",
    "Task",
    "axis",
    "conduct",
    "cores",
    "default_folder",
    "execute",
    "headings",
    "is_sound",
    "mean_interval",
    "plan",
]
