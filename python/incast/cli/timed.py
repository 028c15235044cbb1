"""``--profile``: the wall time of a run, by part."""

from __future__ import annotations

from incast.cli.table import columns, number, paragraph, table
from incast.results.result import Result

NOT_MADE = "no times: the result was there already (--fresh runs it again)"
"""The text of ``--profile`` on a run that was not made."""

_NOTES = (
    "Reading: of the scenario, with its checks. Building: network, routes, flows, nodes, the folder. Hosts "
    "and switches: estimated from one in 32 of their visits, drawn at random; in a visit a node handles its "
    "events of a window. Events: the engine without its nodes: order of events, links, windows. Recording: "
    "records that became rows while it ran. Writing: the last rows, the summary, the files."
)
_SEVERAL = " Of {} threads: visits are divided by their number, and events include waiting for the slowest."


def timed(result: Result, read_s: float) -> str:
    """Returns a table of the parts of a run with their wall time.

    Args:
        result: The result of a run that was made with ``profile``, or one that was reused.
        read_s: Time of reading and checking its scenario, in seconds.
    """
    times = result.times
    if times is None:
        return NOT_MADE
    hosts, switches = times.hosts_s / times.threads, times.switches_s / times.threads
    parts = {
        "reading": (read_s, None),
        "building": (times.prepare_s, None),
        "hosts": (hosts, times.host_visits),
        "switches": (switches, times.switch_visits),
        # Estimates may be above the whole.
        "events": (max(times.engine_s - times.records_s - hosts - switches, 0.0), None),
        "recording": (times.records_s, None),
        "writing": (times.write_s, None),
    }
    total = sum(seconds for seconds, _ in parts.values())
    rows = [
        [
            name,
            number(1e3 * seconds),
            number(100 * seconds / total) if total else "–",
            "" if visits is None else f"{visits:,}",
            "" if not visits else number(1e9 * seconds * times.threads / visits),
        ]
        for name, (seconds, visits) in parts.items()
    ]
    heading = columns("part", ("time", "ms"), ("", "%"), ("visits", ""), ("a visit", "ns"))
    notes = _NOTES + (_SEVERAL.format(times.threads) if times.threads > 1 else "")
    return f"where the time went\n{table(heading, rows)}\n{paragraph(notes)}"
