"""The picture of a search: its trials, its progress, what mattered, and how robust the setting is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from incast.plot import style
from incast.results.measures.named import Measure
from incast.tuning.space import text
from incast.tuning.trial import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from incast.tuning.run import Tuning

FOUND, OTHER, WRONG, DEFAULT = "#d55e00", "#0072b2", "#9a9a9a", "#000000"
"""Colours of the front, of other trials, of trials that miss a condition, and of the default setting."""


def draw(done: Tuning) -> Figure:
    """Draws a search.

    Args:
        done: The search.
    """
    import matplotlib.pyplot as plt

    with style.look():
        rows = len(done.plan.parameters)
        figure = plt.figure(figsize=(style.PAGE, 2.6 + 0.22 * rows), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=[1.6, 1.0], height_ratios=[1.6, 0.4 + 0.22 * rows])
        whole = figure.add_subplot(grid[:, 0])
        if len(done.plan.aim.objectives) == 1:
            _by_number(whole, done)
        else:
            _two(whole, done)
        _hypervolume(figure.add_subplot(grid[0, 1]), done)
        _parameters(figure.add_subplot(grid[1, 1]), done)
    return figure


def _label(measure: Measure) -> str:
    unit = {"time": " (us)", "bytes": " (KB)", "rate": " (Gbps)"}.get(measure.kind, "")
    return f"{measure.words}{unit}"


def _scattered(axes: Axes, done: Tuning, places: dict[int, tuple[float, float]]) -> None:
    """Draws trials by their state."""
    front = {trial.number for trial in done.front}

    def points(trials: list[Trial], **look: object) -> None:
        if trials:
            x, y = zip(*(places[trial.number] for trial in trials), strict=True)
            axes.scatter(x, y, **look)  # type: ignore[arg-type]

    known = [trial for trial in done.trials if trial.number in places]
    complete = [trial for trial in known if trial.state == "complete" and trial.number not in front]
    points(
        [trial for trial in known if trial.state == "infeasible"],
        marker="x",
        s=12,
        linewidths=0.8,
        color=WRONG,
        label="a condition does not hold",
    )
    points(
        [trial for trial in known if trial.state == "given up"],
        marker="o",
        s=10,
        facecolors="none",
        edgecolors=OTHER,
        linewidths=0.7,
        label="given up (estimate)",
    )
    points(complete, marker="o", s=10, color=OTHER, label="all seeds")
    points(
        [trial for trial in known if trial.number in front],
        marker="D",
        s=16,
        color=FOUND,
        label="best" if len(done.plan.aim.objectives) == 1 else "Pareto front",
    )


def _by_number(axes: Axes, done: Tuning) -> None:
    """Draws the objective by the number of the trial, and the best so far."""
    (objective,) = done.plan.aim.objectives
    places = {t.number: (float(t.number), t.values[0] / objective.scale) for t in done.trials if t.values}
    _scattered(axes, done, places)
    if done.default.values:
        axes.axhline(
            done.default.values[0] / objective.scale,
            color=DEFAULT,
            linewidth=0.8,
            dashes=(4, 2),
            label="default",
        )
    best: list[tuple[float, float]] = []
    pick = min if objective.better == "lower" else max
    for trial in done.trials:
        if trial.state == "complete":
            value = places[trial.number][1]
            best.append((trial.number, value if not best else pick(value, best[-1][1])))
    if best:
        x, y = zip(*best, (len(done.trials) - 1, best[-1][1]), strict=True)
        axes.step(x, y, where="post", color=FOUND, linewidth=0.9, label="best so far")
    axes.set_xlabel("trial")
    axes.set_ylabel(_label(objective))
    axes.legend(loc="best")


def _two(axes: Axes, done: Tuning) -> None:
    """Draws the first two objectives against each other."""
    first, second = done.plan.aim.objectives[:2]

    def place(trial: Trial) -> tuple[float, float]:
        return trial.values[0] / first.scale, trial.values[1] / second.scale

    _scattered(axes, done, {trial.number: place(trial) for trial in done.trials if trial.values})
    if done.default.values:
        x, y = place(done.default)
        axes.scatter([x], [y], marker="*", s=40, color=DEFAULT, label="default")
    steps = sorted(map(place, done.front))
    if len(steps) > 1 and len(done.plan.aim.objectives) == 2:
        x_values, y_values = zip(*steps, strict=True)
        # Between two of its points the front has the worse of both values of each objective.
        where: Literal["pre", "post"] = "post" if first.better == "lower" else "pre"
        axes.step(x_values, y_values, where=where, color=FOUND, linewidth=0.8)
    if done.chosen is not None:
        x, y = place(done.chosen)
        axes.annotate("chosen", (x, y), xytext=(4, 4), textcoords="offset points", color=FOUND)
    axes.set_xlabel(_label(first))
    axes.set_ylabel(_label(second))
    axes.legend(loc="best")


def _hypervolume(axes: Axes, done: Tuning) -> None:
    """Draws the share of the volume of the whole front after each generation."""
    shares = [100 * share for share in done.hypervolume]
    axes.plot(range(1, len(shares) + 1), shares, color=FOUND, marker="o", markersize=2.5)
    axes.set_xlabel("generation of eight trials")
    axes.set_ylabel("hypervolume (% of last)")
    axes.set_ylim(0, 105)


def _parameters(axes: Axes, done: Tuning) -> None:
    """Draws the robust region of each parameter in its range."""
    first = next(iter(done.importances.values()), {})
    names = []
    for p in done.plan.parameters:
        share = f" ({100 * first[p.key]:.0f} %)" if p.key in first else ""
        names.append(f"{p.name}{share}")
    for n, region in enumerate(done.robust):
        p = region.parameter
        if region.low is None or region.high is None:
            axes.text(0.5, n, text(region.value), ha="center", va="center")
            continue
        low, at, high = (p.place(p.number(value)) for value in (region.low, region.value, region.high))
        axes.plot([0, 1], [n, n], color="#d5d5d5", linewidth=1.0)
        axes.plot([low, high], [n, n], color=OTHER, linewidth=3.0, solid_capstyle="butt")
        axes.plot([at], [n], marker="D", markersize=4, color=FOUND)
        axes.annotate(text(region.value), (at, n), xytext=(0, 4), textcoords="offset points", ha="center")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks([0, 1], ["low", "high"])
    axes.set_xlabel("range; bar: less than 5 % is lost")
    axes.grid(visible=False)
