"""Sweeps: many runs of one scenario, in parallel, with one table.

```python
from pathlib import Path
from incast import sweep

plan = sweep.plan(Path("examples/microburst.toml"), ["cc=oscar,hpcc", "topology.delay=1us,3us"], seeds=3)
done = sweep.run(plan)
done.summary.column("queue_peak_bytes")
```
"""

from incast.runs.runner import Done, Executor, Failure, Local, State, Task, execute
from incast.runs.sweep.plan import Axis, Plan, Run, axis, headings, plan
from incast.runs.sweep.run import Sweep, default_folder, results_of, run
from incast.runs.sweep.tables import NO_DRAWS, Column, Sheet, ranking

__all__ = [
    "NO_DRAWS",
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
    "default_folder",
    "execute",
    "headings",
    "plan",
    "ranking",
    "results_of",
    "run",
]
