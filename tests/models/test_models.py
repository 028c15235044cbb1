"""Every finish time of random cases equals an independent plain model's, to the picosecond."""

from __future__ import annotations

import pytest

import incast
from models.agreement import KINDS, report
from models.schedulers import SCHEDULERS

CHUNK = 25

CASES = {
    "drr": 300,
    "two switches with PFC": 200,
    "two switches with PFC, tiny packets": 300,
    "lossless and lossy queues": 150,
    "PFC with a watchdog": 150,
    "slow receivers with PFC": 75,
    "slow receivers that drop": 150,
    "bfc star": 150,
    "bfc spines": 150,
    "rotor": 150,
    "homa star": 150,
    "homa spines": 150,
    "trimming star": 150,
    "trimming spines": 150,
    "ndp star": 150,
    "ndp spines": 150,
    "samples over spines": 200,
}
"""Number of cases of a kind, where it is not a hundred. `make models` has a thousand of each."""


@pytest.mark.parametrize(
    ("kind", "first"), [(kind, first) for kind in KINDS for first in range(0, CASES.get(kind, 100), CHUNK)]
)
def test_every_flow_comes_out_as_in_the_model(kind: str, first: int) -> None:
    found = [text for seed in range(first, first + CHUNK) if (text := report(kind, seed)) is not None]
    assert not found, "\n\n".join(found)


def test_every_scheduler_has_a_plain_form() -> None:
    switch = incast.schema()["properties"]["switch"]["anyOf"][0]
    assert list(SCHEDULERS) == switch["properties"]["scheduler"]["enum"]
