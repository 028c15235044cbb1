"""Table 2 of OSCAR: the recorded cycles of an acknowledgement, and the bytes of a flow's state."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

import incast
from incast.results.measures.quantity import Quantity

RECORD = Path(__file__).resolve().parents[3] / "benches" / "acks.csv"
"""Made by `make bench-acks` with `--record`; a line for each algorithm and preset."""

PRESETS = {
    "gathers": ("oscar", "paper/gathers"),
    "closes": ("oscar", "paper/closes"),
    "dcqcn": ("dcqcn", "paper"),
    "swift": ("swift", "paper"),
    "hpcc": ("hpcc", "paper"),
    "powertcp": ("powertcp", "paper"),
}
"""Columns of the table, in its order."""

TABLE = (34.0, 52.0, 46.0, 104.0, 92.0, 159.0)
"""Its cycles."""


def _newest() -> dict[str, dict[str, str]]:
    """The lines of the newest record, by column of the table."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    newest = next(line["date"] for line in reversed(lines) if line["preset"] == "paper/closes")
    return {
        column: line
        for line in lines
        for column, preset in PRESETS.items()
        if line["date"] == newest and (line["algorithm"], line["preset"]) == preset
    }


def cycles(of: str) -> float:
    """The recorded cycles of a column."""
    return float(_newest()[of]["cycles"])


def instructions(of: str) -> float:
    """The recorded instructions of a column."""
    return float(_newest()[of]["instructions"])


def state(algorithm: str) -> Quantity:
    """The bytes of a flow's state."""
    (found,) = (one for one in incast.algorithms() if one.name == algorithm)
    return Quantity(float(found.state_bytes), "bytes")


def table(which: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The cycles of the paper, or ours, by the number of the column."""
    values = TABLE if which == "paper" else tuple(cycles(column) for column in PRESETS)
    return np.arange(1.0, len(TABLE) + 1), np.array(values)
