"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

from incast import _core
from incast.cli.table import Column, number, paragraph, table
from incast.result import Result


def title(label: str) -> str:
    """What to call an algorithm in text and pictures: ``OSCAR``, ``Swift (oscar)``."""
    name, _, preset = label.partition(":")
    algorithm = _core.algorithm(name)
    if algorithm is None:
        return label
    return f"{algorithm.title} ({preset})" if preset else algorithm.title


def queue_table(results: Mapping[str, Result]) -> str:
    """The queue of each probed port: one table a port, nothing when none is probed.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    first = next(iter(results.values()))
    start = first.last_start_ps()
    return "\n\n".join(_port_table(results, node, port, start) for node, port in first.probed_ports()[:4])


def _port_table(results: Mapping[str, Result], node: str, port: int, start_ps: int) -> str:
    rows = []
    for label, result in results.items():
        if (node, port) not in result.probed_ports():
            continue
        try:
            r = result.response(node, port, start_ps)
        except KeyError:
            continue
        span = f"{number(r.steady_low_bytes / 1e3)} – {number(r.steady_high_bytes / 1e3)}"
        rows.append(
            [
                title(label),
                number(r.steady_bytes / 1e3),
                span,
                number(result.peak_queue_bytes(node, port) / 1e3),
                "no" if r.settling_ps is None else number(r.settling_ps / 1e6),
                "–" if r.lost_bytes is None else number(r.lost_bytes / 1e3),
                "–" if r.lost_share is None else number(100 * r.lost_share),
            ]
        )
    if not rows:
        return ""
    columns = [
        Column("algorithm", left=True),
        Column("steady", "KB"),
        Column("from – to", "KB"),
        Column("peak", "KB"),
        Column("settled", "us"),
        Column("unused", "KB"),
        Column("unused", "%"),
    ]
    begin = number(start_ps / 1e6)
    notes = (
        f"Steady: queue over the last quarter of the time from the last flow's start ({begin} us) on. "
        "Settled: how long after that start the queue stays within 10 % (or 10 KB) of it. "
        "Unused: what the link could have carried since then and did not. Peak: of the whole run."
    )
    return f"queue at {node}, port {port}\n{table(columns, rows)}\n{paragraph(notes)}"


def slowdown_table(results: Mapping[str, Result]) -> str:
    """The slowdown of finished flows by size; nothing when no flow of a size finished.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    classes = ("small", "large", "all")
    rows = []
    missing = []
    for label, result in results.items():
        by_class = {s["class"]: s for s in result.info["summary"]["slowdowns"] if s["group"] is None}
        row = [title(label)]
        for name in classes:
            slowdown = by_class.get(name, {}).get("slowdown")
            row += [number(slowdown[key]) if slowdown else "–" for key in ("mean", "p50", "p99")]
        rows.append(row)
        left = by_class.get("all", {}).get("unfinished", 0)
        if left:
            missing.append(f"{title(label)} {left:,}")
    if all(cell == "–" for row in rows for cell in row[1:]):
        return ""
    columns = [Column("algorithm", left=True)]
    for name in classes:
        columns += [Column(name, "mean"), Column("", "p50"), Column("", "p99")]
    counts = {s["class"]: s["flows"] for s in next(iter(results.values())).info["summary"]["slowdowns"][:3]}
    notes = (
        "Slowdown: completion time over that on the idle path (no unit). "
        f"Small: flows up to 150 KB ({counts.get('small', 0):,} of {counts.get('all', 0):,})."
    )
    if missing:
        notes += f" Not finished, and so not counted: {', '.join(missing)}."
    return f"FCT slowdown\n{table(columns, rows)}\n{paragraph(notes)}"
