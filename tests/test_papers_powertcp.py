"""Figures of PowerTCP: their own measures."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from helpers import ROOT
from incast.ledger.figure import read
from incast.ledger.runs import Results

TABLE = {
    "size_bytes": np.array([4_000, 5_000, 5_000, 5_000, 9_000]),
    "slowdown": np.array([1.0, 2.0, 3.0, np.nan, 40.0]),
    "counted": np.array([True, True, True, True, False]),
}


@pytest.mark.parametrize("name", ["powertcp/fig6", "powertcp/fig6-homa"])
def test_slowdowns_by_size_are_of_finished_flows_that_count(name: str) -> None:
    """A flow of the warm-up has the largest slowdown, and one that counts is not done; two equal seeds."""
    papers = ROOT / "papers"
    flows = SimpleNamespace(column=TABLE.__getitem__)
    view = SimpleNamespace(result=SimpleNamespace(flows=flows))
    seeds = cast(Any, SimpleNamespace(replicas=lambda: [SimpleNamespace(view=lambda _: view)] * 2))
    by_size = cast(Any, Results(read(papers / name, name), defaultdict(tuple)).analysis("by_size"))
    ends, values = by_size(seeds, "powertcp/60", stat="p99", edges=["4KB", "5KB", "10KB"])
    assert ends.tolist() == [4.0, 5.0, 10.0]
    # The 99th percentile of 2, 3, 2, 3 by nearest rank is the last of them in order; no flow that counts is
    # above 5 KB.
    assert values[:2].tolist() == [1.0, 3.0]
    assert np.isnan(values[2])
