"""Figure 7 of CCC: the path of the state through the plane of q and q_v, in theory and in packets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity
from incast.theory import ccc

Floats = npt.NDArray[np.float64]

ORDER = ["H2i", "H1d", "H2d", "A"]
Q_B_US = 5.0


class Path:
    """The states that the first flow of a run sees, each 200 ns; times and q in us."""

    def __init__(self, results: Results, run: str) -> None:
        found = results.view(run).result.internals_of("two.0")
        series = {name: found[name].filled() for name in ("q_ps", "q_v", "delta", "region")}
        # A quantity has no value before the first acknowledgement; the region has its first one last.
        begin = max(int(one.time_ps[0]) for one in series.values())
        cut = {name: one.value[one.time_ps >= begin] for name, one in series.items()}
        region = series["region"]
        self.us: Floats = region.time_ps[region.time_ps >= begin] / 1e6
        self.q: Floats = cut["q_ps"] / 1e6
        self.q_v: Floats = cut["q_v"]
        self.delta: Floats = cut["delta"]
        self.regions = [ccc.REGIONS[int(number)] for number in cut["region"]]

    def stay(self) -> slice:
        """The samples of the first stay in the A regions."""
        inside = np.array([name.startswith("A") for name in self.regions])
        first = int(np.argmax(inside))
        outside = np.flatnonzero(~inside[first:])
        return slice(first, first + int(outside[0]) if len(outside) else len(inside))


def in_order(regions: list[str]) -> float:
    """How many of H2i, H1d, H2d, A are the first to be entered, in this order, as a share."""
    found = ccc.first_visits(regions)
    matching = 0
    for want, have in zip(ORDER, found, strict=False):
        if want != have:
            break
        matching += 1
    return matching / len(ORDER)


def order(results: Results, run: str) -> float:
    """The same in packets."""
    return in_order(Path(results, run).regions)


def order_in_theory(window: str = "headroom") -> float:
    """The same in the fluid model."""
    return in_order(ccc.trajectory(2, "400us", window=window).regions)


def destination() -> float:
    """q_v on the layover curve at q_B."""
    return ccc.layover(5e-6)


def end_of_curve() -> Quantity:
    """The queueing delay at which the layover curve reaches q_v = -1, by bisection."""
    low, high = 5e-6, 100e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ccc.layover(middle) > -1 else (low, middle)
    return Quantity(low, "time")


def until_a(results: Results, run: str) -> Quantity:
    """The time from the first state to the A regions."""
    path = Path(results, run)
    return Quantity((path.us[path.stay().start] - path.us[0]) / 1e6, "time")


def switches(results: Results, run: str) -> float:
    """How often the state changes between Ai and Ad in its first stay in the A regions."""
    path = Path(results, run)
    return float(len(ccc.visits(path.regions[path.stay()])) - 1)


def distance(results: Results, run: str, late: bool = False) -> float:
    """The median of |delta| in the first stay in the A regions: the distance from the curve, in q_v.

    With ``late`` only in the second half of that stay.
    """
    path = Path(results, run)
    inside = np.abs(path.delta[path.stay()])
    return float(np.median(inside[len(inside) // 2 if late else 0 :]))


def farther(results: Results, run: str) -> float:
    """The median of |delta| before that stay over that in it."""
    path = Path(results, run)
    return float(np.median(np.abs(path.delta[: path.stay().start]))) / distance(results, run)


def end_of_stay(results: Results, run: str) -> Quantity:
    """The queueing delay at the end of that stay."""
    path = Path(results, run)
    return Quantity(float(path.q[path.stay().stop - 1]) / 1e6, "time")


def rest(results: Results, run: str, stat: str = "median") -> Quantity:
    """Median, or span, of the queueing delay in the last half millisecond."""
    path = Path(results, run)
    last = path.q[path.us >= path.us[-1] - 500]
    return Quantity(float(np.median(last) if stat == "median" else np.ptp(last)) / 1e6, "time")


def path(results: Results, name: str, begin: float, end: float) -> tuple[Floats, Floats]:
    """The path in the plane: q in us and q_v, each 1 us, between times in us after the first state."""
    found = Path(results, name)
    cut = (found.us >= found.us[0] + begin) & (found.us <= found.us[0] + end)
    return found.q[cut][::5], found.q_v[cut][::5]


def model(begin: float, end: float) -> tuple[Floats, Floats]:
    """The fluid model's path in the plane, between times in us after the first state."""
    found = ccc.trajectory(2, "1ms")
    times = (found.seconds - found.seconds[0]) * 1e6
    cut = (times >= begin) & (times <= end)
    return found.q[cut] * 1e6, found.q_v[cut]


def curve() -> tuple[Floats, Floats]:
    """The layover curve."""
    q = np.geomspace(0.3, 20, 80)
    return q, np.array([ccc.layover(one * 1e-6) for one in q])


def target() -> tuple[Floats, Floats]:
    """The destination, as a small cross."""
    return (
        np.array([Q_B_US - 0.6, Q_B_US + 0.6, np.nan, Q_B_US, Q_B_US]),
        np.array([0, 0, np.nan, -0.08, 0.08]),
    )


def delay(results: Results, name: str) -> tuple[Floats, Floats]:
    """The queueing delay in us over time in ms."""
    found = Path(results, name)
    return found.us / 1e3, found.q
