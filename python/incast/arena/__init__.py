"""The arena: all contestants through fixed scenarios, judged by a method that was written down before.

```python
from incast import arena

done = arena.run("quick", ["oscar", "swift", "nscc"])
done.ranking[0].worst
done.front("many")
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from incast.arena.contenders import Contender, chosen
from incast.arena.duels import Duel
from incast.arena.entries import Battery, Entry, Metric, battery, read
from incast.arena.making import LIMIT_S, Arena, default_folder, make
from incast.arena.planning import Plan
from incast.arena.planning import plan as planned
from incast.arena.record import save, spread
from incast.arena.score import Judged, Pair, Score, Standing
from incast.arena.tuned import Beside, beside, contenders, pairs
from incast.progress import State
from incast.runs import store
from incast.runs.runner import Executor

__all__ = [
    "Arena",
    "Battery",
    "Beside",
    "Contender",
    "Duel",
    "Entry",
    "Judged",
    "Metric",
    "Pair",
    "Plan",
    "Score",
    "Standing",
    "battery",
    "beside",
    "default_folder",
    "make",
    "pairs",
    "plan",
    "run",
    "save",
    "spread",
]


def plan(
    battery: str = "quick",
    contestants: str | Sequence[str] = "all",
    *,
    cc: Sequence[str] = (),
    scenarios: Sequence[str] | None = None,
    duels: bool = True,
    for_check: bool = False,
    tuned: Path | None = None,
    results: Path = store.DEFAULT,
) -> Plan:
    """Reads and checks all that an arena runs, before anything runs.

    Args:
        battery: ``quick`` or ``full``, or the folder of a battery.
        contestants: Names of contestants, in a list or with commas; ``all`` means all of Incast.
        cc: Contestants beside these: files with algorithms (``.py``, ``.so``), files of contestants
            (``.toml``), or a contestant with another preset (``swift:oscar``).
        scenarios: Names of the scenarios that are run; None runs all.
        duels: Whether there are duels.
        for_check: Whether it is a last check, after which nothing is changed: needed for ``held-out``.
        tuned: A file with tuned settings, which run too, and beside each one the contestant that it is made
            from (see :func:`beside`).
        results: The folder of all results.

    Raises:
        ScenarioError: When a name is unknown, or a battery has changed since it was published.
    """
    folder = Path(battery)
    is_folder = (folder / "battery.toml").is_file()
    found = read(folder) if is_folder else _battery(battery, for_check=for_check)
    who = chosen(contestants, cc)
    if tuned is not None:
        who += contenders(tuned, who)
    return planned(found, who, scenarios=scenarios, with_duels=duels, results=results)


_battery = battery


def run(
    battery: str = "quick",
    contestants: str | Sequence[str] = "all",
    *,
    cc: Sequence[str] = (),
    scenarios: Sequence[str] | None = None,
    duels: bool = True,
    for_check: bool = False,
    folder: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    limit_s: float | None = LIMIT_S,
    watch: Callable[[State], None] | None = None,
) -> Arena:
    """Runs an arena and saves its record.

    Args:
        battery: As for :func:`plan`, and so are the next five.
        contestants: Names of contestants.
        cc: Contestants beside these.
        scenarios: Names of scenarios.
        duels: Whether there are duels.
        for_check: Whether it is a last check.
        folder: Where to put the record; None takes :func:`default_folder`.
        executor: Where the runs are made; None takes processes of this machine, one for each core.
        fresh: Make all runs again.
        limit_s: Wall time in seconds after which a run has failed; None for no limit.
        watch: Called when something has changed, from any thread.

    Raises:
        ScenarioError: As :func:`plan` does.
        ResultError: When something cannot be saved.
    """
    what = plan(battery, contestants, cc=cc, scenarios=scenarios, duels=duels, for_check=for_check)
    done = make(what, executor=executor, fresh=fresh, limit_s=limit_s, watch=watch)
    done.save(default_folder(what) if folder is None else folder)
    return done
