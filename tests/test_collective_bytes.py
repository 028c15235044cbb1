"""Bytes that ranks of collectives send: the table of the page, against runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from blocks import block, joined
from helpers import ROOT
from incast import Result, Scenario

PAGE = (ROOT / "docs" / "network" / "workloads.md").read_text()

RANKS, SIZE, INNER = 4, 12_000, 2

HEADERS, PAYLOAD, ACK = 54, 1000, 64
"""Bytes of a packet's headers under `constant`, its payload, and an acknowledgement."""


def rows() -> list[tuple[str, str, str]]:
    """Every row of the table for one algorithm: kind or operation, algorithm, payload."""
    table = PAGE.partition("| Payload that a rank sends |\n")[2].partition("\n\n")[0]
    found = []
    for line in table.splitlines()[1:]:
        kind, algorithms, payload = (cell.strip() for cell in line.strip("|").split("|"))
        found += [(kind, name, payload) for name in re.findall(r'"(.*?)"', algorithms) or [""]]
    return found


def computed(formula: str) -> float:
    """The value of a formula of the page."""
    python = formula.replace("·", "*").replace("−", "-")
    assert re.fullmatch(r"[0-9nmS()*/+ -]+", python), formula
    return float(eval(python, {"n": RANKS, "m": INNER, "S": SIZE}))


def run(kind: str, algorithm: str) -> Result:
    """The result of one pass on a star, of a rank on each host."""
    keys: dict[str, object] = {"kind": kind.strip("`")}
    if not kind.startswith("`"):
        keys = {"kind": "collective", "operation": kind, "algorithm": algorithm}
    if algorithm == "hierarchical":
        keys["inner"] = INNER
    text = joined(
        block("[topology]", kind="star", hosts=RANKS, rate="100Gbps", delay="1us"),
        block("[cc]", algorithm="constant"),
        block("[[traffic]]", size=f"{SIZE}B", **keys),
    )
    return Scenario.from_toml(text).run_quietly()


@pytest.mark.parametrize(("kind", "algorithm", "formula"), rows())
def test_a_rank_sends_what_the_table_says(kind: str, algorithm: str, formula: str) -> None:
    result = run(kind, algorithm)
    flows, ports = result.flows, result.ports
    payload = computed(formula)
    for rank in range(RANKS):
        mine, to_me = (flows.column(name) == f"h{rank}" for name in ("source", "destination"))
        assert flows.column("acked_bytes")[mine].sum() == payload
        # Every block is a number of full packets.
        assert not np.any(flows.column("size_bytes")[mine] % PAYLOAD)
        packets = payload / PAYLOAD
        sent = ports.column("transmitted_bytes")[ports.column("node") == f"h{rank}"].sum()
        assert sent == packets * (PAYLOAD + HEADERS) + ACK * flows.column("packets")[to_me].sum()
        assert flows.column("packets")[to_me].sum() == packets


def test_the_table_has_every_kind() -> None:
    assert len(rows()) == 16
    assert {kind for kind, _, _ in rows()} >= {"`all-to-all`", "`ring-allreduce`", "all-reduce", "all-to-all"}


def test_the_example_of_the_page() -> None:
    """Of 4 ranks with 12 KB: 2 · 3/4 · 12 KB, 18 packets of 1054 B, and as many acknowledgements of 64 B."""
    assert computed("2·(n−1)/n·S") == 18_000
    assert 18 * (PAYLOAD + HEADERS) == 18_972
    assert 18 * ACK == 1_152
    assert "18,972 B, and 1,152 B of acknowledgements" in " ".join(PAGE.split())


def test_an_all_to_all_is_two_kinds_with_sizes_of_their_own() -> None:
    """Per pair, and per rank with what it keeps: n times as much."""
    pairs = Scenario.from_toml(
        joined(
            block("[topology]", kind="star", hosts=RANKS, rate="100Gbps", delay="1us"),
            block("[cc]", algorithm="constant"),
            block("[[traffic]]", kind="all-to-all", size=f"{SIZE // RANKS}B"),
        )
    ).run_quietly()
    whole = run("all-to-all", "direct")
    assert sorted(pairs.flows.column("size_bytes")) == sorted(whole.flows.column("size_bytes"))
