"""Sweeps: many runs of one scenario, in parallel, with one table.

```python
from pathlib import Path
from incast import sweep

plan = sweep.plan(Path("examples/microburst.toml"), ["cc=oscar,hpcc", "topology.delay=1us,3us"], seeds=3)
done = sweep.run(plan)
done.summary.column("queue_peak_bytes")
```
"""

from incast.results.grid import Axis, headings
from incast.runs.runner import Done, Executor, Failure, Local, State, Task, execute
from incast.runs.sweep.decisions import Baseline, Decision, baseline_of
from incast.runs.sweep.manifest import grid_of, results_of
from incast.runs.sweep.plan import Plan, Run, axis, plan
from incast.runs.sweep.rule import Look, Rule, rule_of, schedule
from incast.runs.sweep.run import Sweep, default_folder, run
from incast.runs.sweep.tables import NO_DRAWS, Column, Sheet, ranking

__all__ = [
    "NO_DRAWS",
    "Axis",
    "Baseline",
    "Column",
    "Decision",
    "Done",
    "Executor",
    "Failure",
    "Local",
    "Look",
    "Plan",
    "Rule",
    "Run",
    "Sheet",
    "State",
    "Sweep",
    "Task",
    "axis",
    "baseline_of",
    "default_folder",
    "execute",
    "grid_of",
    "headings",
    "plan",
    "ranking",
    "results_of",
    "rule_of",
    "run",
    "schedule",
]
