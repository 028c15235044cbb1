"""The process that makes runs for :class:`incast.runs.runner.Local`, one after the other.

It reads tasks from its standard input, one JSON text per line, and answers on its standard output in the
same format. It ends at the end of its input, and stops a run when its answers are no longer read.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TextIO

from incast.errors import PluginError, ResultError, ScenarioError
from incast.progress import Progress, share
from incast.runs.runner.executor import Scenarios, Task, obtain


def main() -> None:
    """Makes runs until there are no more."""
    # Ctrl-C is handled by the parent process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Other output, for example of a plugin, is not an answer.
    os.dup2(2, 1)
    scenarios = Scenarios()
    for line in sys.stdin:
        _serve(Task(**json.loads(line)), scenarios, answers)


def _serve(task: Task, scenarios: Scenarios, answers: TextIO) -> None:
    def tell(**answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    def progress(now: Progress) -> None:
        tell(share=share(now))

    try:
        obtained = obtain(task, scenarios.read(task), progress)
    except BrokenPipeError:
        os._exit(1)
    except (ScenarioError, ResultError, PluginError) as error:
        tell(error=str(error))
    except Exception as error:
        tell(error=f"{type(error).__name__}: {error}")
    else:
        tell(reused=obtained.reused, info=obtained.result.info_text)


if __name__ == "__main__":
    main()
