"""The runner: many runs at the same time, in processes, in threads or on a Ray cluster.

Sweeps, replications and the ledger make their runs here. Existing results are reused, so that a batch that
was stopped or killed continues where it was.
"""

from incast.progress import Failure, State
from incast.runs.runner.batch import Batch, Job
from incast.runs.runner.executor import Done, Executor, Task, Watch, execute
from incast.runs.runner.local import Local, cores
from incast.runs.runner.threads import Threads

__all__ = [
    "Batch",
    "Done",
    "Executor",
    "Failure",
    "Job",
    "Local",
    "State",
    "Task",
    "Threads",
    "Watch",
    "cores",
    "execute",
]
