"""Copies of what repeats itself which a result counts and does not write (``run.reuse = "summary"``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incast.results.arrays import Floats, Ints, np


def are_unwritten(info: Mapping[str, Any]) -> bool:
    """Whether flows of a run have no rows, since they are copies of earlier ones.

    Args:
        info: What ``result.json`` says.
    """
    return bool(((info.get("outcome") or {}).get("reuse") or {}).get("unwritten"))


def counts(info: Mapping[str, Any], finish_ps: Floats) -> Ints:
    """Returns the number of flows that each row of the table ``flows`` counts for: itself and its copies.

    Args:
        info: What ``result.json`` says.
        finish_ps: When the flow of each row was done, in picoseconds; NaN of one that was not.
    """
    found = np.ones(len(finish_ps), dtype=np.int64)
    if are_unwritten(info):
        for part in info["outcome"]["reuse"]["repetitions"]:
            begin, end = part["from_ps"], part["from_ps"] + part["period_ps"]
            found[(finish_ps >= begin) & (finish_ps < end)] = part["copies"] + 1
    return found
