"""The hops of a flow as text, for ``incast explain --hops``."""

from __future__ import annotations

from collections.abc import Sequence

from incast.cli.table import columns, number, paragraph, table
from incast.results.hops import Hop, Hops, Passage

MOST_FLOWS = 5
"""Most flows that are named in front of the packets of a port."""

_HEAD = columns("port", ("packets", ""), ("wait", "us"), ("longest", "us"), ("last", "us"), "in front")


def describe(hops: Hops, fct_ps: int | None) -> str:
    """Describes the packets of a flow at each port, and the one that decides its end.

    Args:
        hops: The hops of the flow.
        fct_ps: Its completion time in picoseconds; None if it did not finish.
    """
    parts = []
    for to_receiver, title in ((True, "data"), (False, "acknowledgements")):
        rows = [_row(hop, hops.flow) for hop in hops if hop.to_receiver == to_receiver]
        if rows:
            parts.append(f"{title}: mean, longest and last wait at each port\n{table(_HEAD, rows)}")
    lines = [*_end(hops, fct_ps), *_missing(hops)]
    return "\n\n".join([*parts, "\n".join(paragraph(line) for line in lines)])


def _row(hop: Hop, flow: int) -> list[str]:
    waits = [hop.mean_wait_ps, hop.longest_wait_ps] if hop.stage else [None, None]
    last = hop.last.wait_ps if hop.last and hop.last.came_ps is not None else None
    cells = ["–" if wait is None else number(wait / 1e6) for wait in (*waits, last)]
    front = _shares(hop, flow)
    return [
        hop.port,
        f"{hop.packets:,}",
        *cells,
        ", ".join(f"{name} {share}" for name, share in front) or "–",
    ]


def _shares(waited: Hop | Passage, flow: int) -> list[tuple[str, str]]:
    """Names what the port did during a wait, with the shares: the flows with most time, and all others."""
    flows = sorted(waited.in_front_ps.items(), key=lambda item: -item[1])
    named, others = flows[:MOST_FLOWS], flows[MOST_FLOWS:]
    parts = [(_named(one, flow), time) for one, time in named]
    parts += [(f"{len(others):,} other flows", sum(time for _, time in others))]
    parts += [("paused", waited.paused_ps), ("down", waited.down_ps), ("idle", waited.idle_ps)]
    return [(name, f"{100 * time / waited.wait_ps:.0f} %") for name, time in parts if time]


def _named(flow: int | None, own: int) -> str:
    if flow is None:
        return "pauses on the wire"
    return "its own" if flow == own else f"flow {flow}"


def _end(hops: Hops, fct_ps: int | None) -> list[str]:
    """Says what the completion time of a flow consists of, and where its last packet waited."""
    last = hops.last
    data = [hop for hop in last if hop.to_receiver]
    answer = [hop for hop in last if not hop.to_receiver]
    if fct_ps is None or hops.sender_ps is None or not answer:
        return ["The flow has no end: no packet decides it."]
    passages = [hop.last for hop in last if hop.last is not None]
    serialisation, propagation, link_wait, wait = (
        sum(getattr(passage, f"{name}_ps") for passage in passages)
        for name in ("serialisation", "propagation", "link_wait", "wait")
    )
    on_links = f"{_time(link_wait)} of waits on links, " if link_wait else ""
    whole = (
        f"{_time(fct_ps)} are {_time(hops.sender_ps)} until the last packet left its sender, "
        f"{_time(serialisation)} of serialisation and {_time(propagation)} of propagation on its way and "
        f"back, {on_links}and {_time(wait)} of waits."
    )
    sentences = [
        f"The last packet {_waits(data, hops.flow)}.",
        f"Its acknowledgement {_waits(answer, hops.flow)}.",
    ]
    return [whole, *sentences]


def _waits(hops: Sequence[Hop], flow: int) -> str:
    """Says where a packet waited, for how long, and behind whom."""
    waits = [
        f"{_time(hop.last.wait_ps)} at {hop.port}, {_behind(hop.last, flow)}"
        for hop in hops
        if hop.last is not None and hop.last.wait_ps
    ]
    return f"waited {'; '.join(waits)}" if waits else "did not wait"


def _behind(passage: Passage, flow: int) -> str:
    shares = _shares(passage, flow)
    own = "packets of its own flow"
    named = [(own if name == "its own" else name, share) for name, share in shares]
    words = {
        "paused": "while its queue was paused",
        "down": "while its link was down",
        "idle": "with nothing in front",
    }
    flows = [(name, share) for name, share in named if name not in words]
    if len(named) == 1 and flows:
        return f"all behind {flows[0][0]}"
    *parts, end = [f"{name} ({share})" for name, share in flows] or [""]
    behind = [f"behind {', '.join(parts)} and {end}" if parts else f"behind {end}"] if end else []
    other = [f"{words[name]} ({share})" for name, share in named if name in words]
    return ", ".join([*behind, *other])


def _missing(hops: Hops) -> list[str]:
    """Says how many packets did not leave switches, or were lost on links."""
    missing = ", ".join(f"{number:,} at {node}" for node, number in hops.missing.items())
    lost = ", ".join(f"{hop.lost:,} behind {hop.port}" for hop in hops if hop.lost)
    sentences = {
        "Came and did not leave before the end of the flow, dropped or still in a queue": missing,
        "Lost on links, which failed or had bit errors": lost,
    }
    return [f"{sentence}: {places}." for sentence, places in sentences.items() if places]


def _time(time_ps: float) -> str:
    """A time in ns below a microsecond, in us above."""
    return f"{number(time_ps / 1e3)} ns" if 0 < time_ps < 1e6 else f"{number(time_ps / 1e6)} us"
