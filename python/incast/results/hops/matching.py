"""Matches the packets that came to a switch with those that left it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from heapq import heappop, heappush

import numpy as np

from incast.results.arrays import Ints
from incast.results.hops.packets import NONE, Link, Packets, Place

_DATA = ("data", "header", "returned")
"""Kinds of a data packet: as it was sent, trimmed, and trimmed on its way back."""


def earlier_rows(
    packets: Packets,
    since: Ints,
    source: int,
    destination: int,
    links: Mapping[Place, Link],
    routes_change: bool = False,
) -> tuple[Ints, dict[str, int]]:
    """Finds each packet at the port before.

    Equal copies of a packet (sent again, or acknowledgements of one position) left in the order in which
    they came if they had one queue and none was dropped. Else a copy cannot have come before the last break
    of its port, nor against the order of its queue; of the others that it can be, it is the last that came.

    Args:
        packets: The packets of one flow, by time.
        since: For each the time from which on its port sent or was paused without a break until it left.
        source: Number of its sending host.
        destination: Number of its receiving host.
        links: The ports.
        routes_change: Whether switches may lose packets for which they have no route, which no port counts.

    Returns:
        For each row the one of the port before, -1 at a host; and the number of packets that came to a switch
        and did not leave it, by the name of the switch.
    """
    before = np.full(len(packets.left), NONE, dtype=np.int64)
    missing: dict[str, int] = {}
    if not len(before):
        return before, missing
    key, out = _contents(packets), _lines(packets)
    names = {place[0]: link.node for place, link in links.items()}
    for node in np.unique([packets.node, packets.peer]).tolist():
        if node in (source, destination):
            continue
        came = np.flatnonzero((packets.peer == node) & (packets.arrives != NONE))
        came = came[np.lexsort((packets.peer_port[came], packets.arrives[came]))]
        went = np.flatnonzero(packets.node == node)
        ports = {(node, port) for port in np.unique(packets.port[went]).tolist()}
        is_lossless = not routes_change and not any(links[place].dropped for place in ports)
        unsure = _match(before, (came, went), key, out, is_lossless)
        _match_others(before, (came, went), unsure, packets, key, out, since)
        if len(came) > len(went):
            missing[names[node]] = len(came) - len(went)
    return before, missing


def _contents(packets: Packets) -> Ints:
    """Numbers the contents of packets: equal copies have the same number, in whatever form."""
    _, kind = np.unique(
        np.where(np.isin(packets.kind, _DATA), "data", packets.kind).astype(str), return_inverse=True
    )
    _, key = np.unique(np.stack([kind, packets.position, packets.hash], axis=1), axis=0, return_inverse=True)
    found: Ints = key.reshape(-1)
    return found


def _lines(packets: Packets) -> Ints:
    """Names the port and queue by which each packet left. Odd names are of trimmed packets."""
    trimmed = np.isin(packets.kind, _DATA[1:])
    return packets.port << 17 | packets.queue << 1 | trimmed


def _match(before: Ints, rows: tuple[Ints, Ints], key: Ints, out: Ints, is_lossless: bool) -> Ints:
    """Matches the packets of a switch whose origin is certain.

    Args:
        before: Gets the row at the port before of each.
        rows: Packets that came and packets that left, by time.
        key: The content of each packet.
        out: The port and queue by which it left.
        is_lossless: Whether nothing was dropped.

    Returns:
        The other packets that left, by time.
    """
    came, went = (of[np.argsort(key[of], kind="stable")] for of in rows)
    size = int(key.max()) + 1
    n_came, n_went = (np.bincount(key[of], minlength=size) for of in (came, went))
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, NONE)
    np.minimum.at(least, key[went], out[went])
    np.maximum.at(most, key[went], out[went])
    of_one = least == most
    sure = (n_went == n_came) & (of_one | (n_went == 1))
    sure |= of_one & (n_went < n_came) & is_lossless
    # Of each content the first copies that came, as many as left.
    place = np.arange(len(came)) - np.searchsorted(key[came], key[came])
    before[went[sure[key[went]]]] = came[sure[key[came]] & (place < n_went[key[came]])]
    others: Ints = rows[1][~sure[key[rows[1]]]]
    return others


def _match_others(
    before: Ints, rows: tuple[Ints, Ints], unsure: Ints, packets: Packets, key: Ints, out: Ints, since: Ints
) -> None:
    """Matches the packets whose origin is not certain: as many as possible, with the latest that came."""
    came, went = (of.tolist() for of in rows)
    rank = {row: number for number, row in enumerate(came)}
    after = _certain(before, went, rank, out, NONE)
    ahead = _certain(before, went[::-1], rank, out, len(came))
    times = packets.arrives[rows[0]]
    first = np.searchsorted(times, since[unsure]).tolist()
    end = np.searchsorted(times, packets.left[unsure], side="right").tolist()
    # Of each content the packets that left, each with the arrivals that can be it, from one up to another.
    wanted: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row, low, high in zip(unsure.tolist(), first, end, strict=True):
        span = max(low, after[row] + 1), min(high, ahead[row])
        wanted[int(key[row])].append((*span, row))
    known: dict[int, list[int]] = defaultdict(list)
    for number, row in enumerate(came):
        if int(key[row]) in wanted:
            known[int(key[row])].append(number)
    for content, spans in wanted.items():
        spans.sort(key=lambda span: span[1])
        # Those that this arrival may be and no later one was: the one that began to be possible last is next.
        options: list[tuple[int, int]] = []
        for number in reversed(known[content]):
            while spans and spans[-1][1] > number:
                low, _, row = spans.pop()
                heappush(options, (-low, -row))
            if options and -options[0][0] <= number:
                before[-heappop(options)[1]] = came[number]


def _certain(before: Ints, went: list[int], rank: Mapping[int, int], out: Ints, none: int) -> dict[int, int]:
    """Finds for each packet that left the last arrival that is known of its queue, in the order given."""
    last: dict[int, int] = {}
    found = {}
    for row in went:
        line = int(out[row])
        found[row] = last.get(line, none)
        # The last packet of a full queue can be trimmed: headers have another order.
        if before[row] != NONE and not line & 1:
            last[line] = rank[int(before[row])]
    return found
