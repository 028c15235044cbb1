"""Appendix A.2 of OSCAR: how exactly the share of marked acknowledgements tells the queue length."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from incast.results.measures.quantity import Quantity

RATE, RTT, FLOWS, PACKET = 200e9, 10e-6, 10, 1500
KMIN, KMAX = 100e3, 2e6
"""bit/s, s, flows, bytes, bytes: the numbers of the paper."""

Floats = npt.NDArray[np.float64]


def acknowledgements() -> float:
    """Acknowledgements that one flow of several with equal shares receives in a base RTT."""
    return RATE * RTT / 8 / PACKET / FLOWS


def _spread(p: Floats, pmax: float) -> Floats:
    """The standard deviation of the estimated queue in bytes, at some probabilities of a mark.

    The estimate is the queue whose probability of a mark is the share of marks that were seen. Marks are
    independent, so that their number is binomial.
    """
    return np.sqrt(p * (1 - p) / acknowledgements()) * (KMAX - KMIN) / pmax


def error(share: float, pmax: float = 1.0) -> Quantity:
    """The standard deviation where packets are marked with this share of ``pmax``."""
    return Quantity(float(_spread(np.array([share * pmax]), pmax)[0]), "bytes")


def mean_error(pmax: float = 1.0) -> Quantity:
    """The mean of it over queues that are equally likely from K_min to K_max."""
    return Quantity(float(np.mean(_spread(np.linspace(0, pmax, 10_001), pmax))), "bytes")


def over_bdp() -> float:
    """That error in base BDPs."""
    return mean_error().value / (RATE * RTT / 8)


def drawn(seed: int) -> Quantity:
    """The root of the mean squared error of 20,000 estimates, each from the marks of 16 or 17 packets."""
    random = np.random.default_rng(seed)
    queue = random.uniform(KMIN, KMAX, 20_000)
    whole = math.floor(acknowledgements())
    number = whole + (random.random(len(queue)) < acknowledgements() - whole)
    marked = random.binomial(number, (queue - KMIN) / (KMAX - KMIN))
    estimate = KMIN + marked / number * (KMAX - KMIN)
    return Quantity(float(np.sqrt(np.mean((estimate - queue) ** 2))), "bytes")


def curve(pmax: float) -> tuple[Floats, Floats]:
    """The standard deviation in KB over the queue in KB."""
    p = np.linspace(0, pmax, 401)
    return (KMIN + p / pmax * (KMAX - KMIN)) / 1e3, _spread(p, pmax) / 1e3
