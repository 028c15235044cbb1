"""The search: Optuna asks for settings, generation by generation, and the study is kept in SQLite."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast.errors import ResultError
from incast.tuning.aim import Aim
from incast.tuning.front import front
from incast.tuning.space import Parameter, Setting, text
from incast.tuning.trial import Bench, Trial, measure

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

GENERATION = 8
"""Trials of a generation: they are asked for before any of them is measured, on any number of cores."""

POPULATION = 16
"""Trials of a population of NSGA-II: two generations."""

FILE = "study.db"
"""The study, which Optuna's own tools read too."""

_RECORD = "incast"


def search(
    bench: Bench,
    parameters: Sequence[Parameter],
    aim: Aim,
    *,
    trials: int,
    seeds: Sequence[int],
    seed: int,
    default: Trial,
    folder: Path | None = None,
    key: str = "study",
    spare: Callable[[int], None] = lambda _: None,
) -> list[Trial]:
    """Searches for good settings.

    Generation by generation, eight settings are asked for and measured. What is asked for follows from the
    seed, the number of the trial and the trials of earlier generations only. So a search that was killed asks
    the same again, on any number of cores, and a longer one continues a shorter one.

    Args:
        bench: Where settings are measured.
        parameters: What is varied.
        aim: Objectives and conditions.
        trials: How many settings.
        seeds: The seeds of the runs.
        seed: Of the search.
        default: The default setting's trial.
        folder: Where the study is kept; None keeps it in memory.
        key: The name of the study.
        spare: Called with the number of runs that were not needed.

    Raises:
        ResultError: When Optuna is not installed, or the study cannot be kept.
    """
    with _optuna() as optuna:
        study = _opened(optuna, folder, key, aim)
        while len(study.trials) < trials or not study.trials:
            stored = study.get_trials()
            finished = stored[: len(stored) // GENERATION * GENERATION]
            begin, end = len(finished), min(len(finished) + GENERATION, trials)
            asking = optuna.create_study(directions=_directions(aim))
            asking.add_trials(finished)
            if not begin and all(p.has(v) for p, v in zip(parameters, default.setting, strict=True)):
                asking.enqueue_trial(_parameters(parameters, default.setting))
            asked = []
            for number in range(begin, end):
                asking.sampler = _sampler(optuna, aim, _drawn(seed, number))
                asked.append(asking.ask(_distributions(optuna, parameters)))
            known = [_read(frozen) for frozen in finished]
            settings = [_setting(parameters, trial.params) for trial in asked]
            measured = measure(bench, aim, seeds, settings, begin, default, rivals(aim, [default, *known]))
            for trial, one in zip(asked, measured, strict=True):
                _tell(asking, trial, one, aim, default)
            told = asking.get_trials()
            for frozen in told[len(stored) : end]:
                study.add_trial(frozen)
            spare(sum(len(seeds) - len(one.runs) for one in measured))
        return [_read(frozen) for frozen in study.get_trials()[:trials]]


def costs(aim: Aim, values: Sequence[float]) -> tuple[float, ...]:
    """Values of the objectives as costs, of which less is better."""
    return tuple(
        value if objective.better == "lower" else -value
        for objective, value in zip(aim.objectives, values, strict=True)
    )


def best(aim: Aim, trials: Sequence[Trial]) -> list[Trial]:
    """The trials on the Pareto front: complete ones that no other dominates; one with a single objective."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return [complete[n] for n in front([costs(aim, trial.values) for trial in complete])]


def rivals(aim: Aim, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that another one has to improve on: the present front."""
    return best(aim, trials)


def importances(
    parameters: Sequence[Parameter], aim: Aim, trials: Sequence[Trial], objective: int
) -> dict[str, float]:
    """The share of each parameter in the differences between trials, by PED-ANOVA.

    Args:
        parameters: What was varied.
        aim: Objectives and conditions.
        trials: The trials; those without a value are left out.
        objective: The number of the objective.

    Returns:
        Shares that add up to 1, the largest first; nothing where the trials do not differ, or are too few.
    """
    known = [trial for trial in trials if trial.values]
    values = [costs(aim, trial.values)[objective] for trial in known]
    if len(known) < GENERATION or min(values) == max(values):
        return {}
    with _optuna() as optuna:
        study = optuna.create_study()
        distributions = _distributions(optuna, parameters)
        for trial, value in zip(known, values, strict=True):
            params = _parameters(parameters, trial.setting)
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=distributions, value=value)
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found: dict[str, float] = optuna.importance.get_param_importances(study)
        except UserWarning:
            # Too few trials to tell the best ones from the others: all shares would be the same.
            return {}
    return found


@contextmanager
def _optuna() -> Iterator[Any]:
    """Gives Optuna, silent while it is used here."""
    try:
        import optuna
    except ImportError:
        raise ResultError(
            "tuning needs Optuna, which is not installed\n    help: pip install 'incast[tune]'"
        ) from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def _opened(optuna: Any, folder: Path | None, key: str, aim: Aim) -> Any:  # noqa: ANN401
    """The study of a folder, made if there is none."""
    directions = _directions(aim)
    if folder is None:
        return optuna.create_study(directions=directions)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return optuna.create_study(
            storage=f"sqlite:///{folder / FILE}", study_name=key, directions=directions, load_if_exists=True
        )
    except OSError as error:
        raise ResultError(f"cannot create {folder}: {error.strerror}") from None
    except optuna.exceptions.StorageInternalError as error:
        raise ResultError(f"cannot keep the study in {folder / FILE}: {error}") from None


def _directions(aim: Aim) -> list[str]:
    return ["minimize" if objective.better == "lower" else "maximize" for objective in aim.objectives]


def _drawn(seed: int, number: int) -> int:
    """The seed of the sampler of a trial."""
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:4], "little")


def _sampler(optuna: Any, aim: Aim, seed: int) -> Any:  # noqa: ANN401
    if len(aim.objectives) == 1:
        return optuna.samplers.TPESampler(seed=seed)
    return optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)


def _distributions(optuna: Any, parameters: Sequence[Parameter]) -> dict[str, BaseDistribution]:  # noqa: ANN401
    of = optuna.distributions
    found: dict[str, BaseDistribution] = {}
    for p in parameters:
        if p.kind == "choice":
            found[p.key] = of.CategoricalDistribution([text(value) for value in p.choices])
        elif p.kind == "count":
            found[p.key] = of.IntDistribution(round(p.low), round(p.high), log=p.log)
        else:
            found[p.key] = of.FloatDistribution(p.low, p.high, log=p.log)
    return found


def _parameters(parameters: Sequence[Parameter], setting: Setting) -> dict[str, Any]:
    """A setting as Optuna takes it."""
    found: dict[str, Any] = {}
    for p, value in zip(parameters, setting, strict=True):
        number = None if p.kind == "choice" else p.number(value)
        found[p.key] = text(value) if number is None else round(number) if p.kind == "count" else number
    return found


def _setting(parameters: Sequence[Parameter], params: dict[str, Any]) -> Setting:
    """Returns the setting for which Optuna asks."""

    def value(p: Parameter) -> Any:  # noqa: ANN401
        if p.kind != "choice":
            return p.value(params[p.key])
        return next(choice for choice in p.choices if text(choice) == params[p.key])

    return tuple(value(p) for p in parameters)


def _tell(study: optuna.Study, trial: optuna.Trial, one: Trial, aim: Aim, default: Trial) -> None:
    """Tells the values of a trial.

    One that failed violates a condition of its own. It has no values: Optuna, which needs some and does not
    look at them in infeasible trials, gets the default's.
    """
    for condition in aim.conditions:
        trial.set_constraint(condition.text, one.violations.get(condition.text, 0.0))
    trial.set_constraint("has a result", 0.0 if one.values else 1.0)
    trial.set_user_attr(_RECORD, json.dumps(_written(one)))
    study.tell(trial, list(one.values or default.values or [0.0] * len(aim.objectives)))


def _written(one: Trial) -> dict[str, Any]:
    return {
        "number": one.number,
        "setting": list(one.setting),
        "state": one.state,
        "runs": [[seed, dict(numbers)] for seed, numbers in one.runs.items()],
        "values": list(one.values),
        "violations": dict(one.violations),
        "why": one.why,
    }


def _read(frozen: optuna.trial.FrozenTrial) -> Trial:
    said = json.loads(frozen.user_attrs[_RECORD])
    return Trial(
        said["number"],
        tuple(said["setting"]),
        said["state"],
        dict(said["runs"]),
        tuple(said["values"]),
        said["violations"],
        said["why"],
    )
