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
    ports = next(iter(results.values())).probed_ports()
    texts = [_port_table(results, node, port) for node, port in ports[:MOST_PORTS]]
    if len(ports) > MOST_PORTS:
        texts.append(f"and {len(ports) - MOST_PORTS:,} ports more: see port_series.parquet of each result")
    return "\n\n".join([*texts, paragraph(_QUEUE_NOTES)]) if ports else ""


MOST_PORTS = 4
"""Most probed ports that get a table; their samples are in the result."""

_QUEUE_NOTES = (
    "Steady: mean queue over the last quarter of the burst, which lasts from the start of the last flow "
    "until a base RTT before the first one is delivered. Settled: how long after that start the queue "
    "comes within 10 % (or 10 KB) of it to stay. Peak and mean: of the whole run. Unused: what the link "
    "could have carried after that start and did not, in time at full rate and as a share."
)


def _port_table(results: Mapping[str, Result], node: str, port: int) -> str:
    columns = [
        Column("algorithm", left=True),
        Column("steady", "KB"),
        Column("from – to", "KB"),
        Column("settled", "us"),
        Column("peak", "KB"),
        Column("mean", "KB"),
        Column("unused", "us"),
        Column("", "%"),
    ]
    rows = [[title(label), *_port_row(result, node, port)] for label, result in results.items()]
    return f"queue at {node}, port {port}\n{table(columns, rows)}"


def _port_row(result: Result, node: str, port: int) -> list[str]:
    start, end = result.all_in()
    try:
        series = result.port(node, port)
        burst = result.response(node, port, start, end)
        after = result.response(node, port, start)
    except KeyError:
        return ["–"] * 7
    lost = after.lost_bytes
    return [
        number(burst.steady_bytes / 1e3),
        f"{number(burst.steady_low_bytes / 1e3)} – {number(burst.steady_high_bytes / 1e3)}",
        "no" if burst.settling_ps is None else number(burst.settling_ps / 1e6),
        number(result.peak_queue_bytes(node, port) / 1e3),
        number(float(series.queue_bytes.mean()) / 1e3),
        "–" if lost is None else number(lost * 8e6 / series.rate_bps),
        "–" if after.lost_share is None else number(100 * after.lost_share),
    ]


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
