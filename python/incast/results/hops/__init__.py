"""The packets of one flow, port by port: how long each waited, and whose packets left while it did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from incast.results.arrays import Ints
from incast.results.hops.matching import earlier_rows
from incast.results.hops.packets import NONE, Packets, Place, links_of, packets_of
from incast.results.hops.port import NO_INTERVALS, Outage, Port, outages_of, pauses_of
from incast.results.tables import Tables


@dataclass(frozen=True)
class Passage:
    """The times of a packet at one port, from its arrival there to its arrival at the far end.

    Attributes:
        came_ps: When its last bit came, in picoseconds; None of data at the card of its sender. An
            acknowledgement comes to the card of the receiver when the last byte is delivered.
        left_ps: When its first bit left.
        serialisation_ps: Time between its first bit and its last one.
        propagation_ps: Delay of the link as it left.
        link_wait_ps: Time by which it arrives later than these say: until the next cycle of the clock of its
            own that the node has, or the arrival of the packet before it if the delay has decreased.
        wait_ps: Time between its arrival and its first bit: the sum of the four that follow.
        in_front_ps: Parts of the wait in which the port sent other packets, by flow, the longest first;
            None are the frames of flow control.
        paused_ps: Part in which the port sent nothing, and the queue of the packet was paused.
        down_ps: Part in which it sent nothing, the queue was not paused, and its node knew that the link was
            down.
        idle_ps: Part in which it sent nothing although it could. At the card of a receiver, it held the
            acknowledgement.
    """

    came_ps: int | None
    left_ps: int
    serialisation_ps: int
    propagation_ps: int
    link_wait_ps: int
    wait_ps: int
    in_front_ps: Mapping[int | None, int]
    paused_ps: int
    down_ps: int
    idle_ps: int

    @property
    def time_ps(self) -> int:
        """Time from its arrival, or else its first bit, to its arrival at the far end, in picoseconds."""
        return self.wait_ps + self.serialisation_ps + self.propagation_ps + self.link_wait_ps


@dataclass(frozen=True)
class Hop:
    """A port that sent packets of a flow, in one direction.

    Attributes:
        port: Its name, as :meth:`Result.find_port` reads it: ``"s0->h0"``, or ``"s0:3"`` where several links
            lead from the node to the other.
        to_receiver: Whether the packets are data on their way to the receiver. The others are
            acknowledgements and all else that the sender gets.
        stage: Number of links that the packets have behind them.
        packets: Number of packets of the flow that the port sent.
        lost: Number of them that the link lost, because it failed or by bit errors.
        wait_ps: Sum of their waits in picoseconds; 0 at a card, where packets are made as they are sent.
        longest_wait_ps: The longest of them.
        in_front_ps: Parts of this sum in which the port sent other packets, by flow, the longest first; None
            are the frames of flow control. A packet for which several wait counts for each.
        paused_ps: Part in which the port sent nothing, and the queue of the packet was paused.
        down_ps: Part in which it did neither, and its node knew that the link was down.
        idle_ps: The rest.
        last: The packet here that decides the end of the flow: the one that was delivered last, or its
            acknowledgement. None if neither passed here, or the flow did not finish.
    """

    port: str
    to_receiver: bool
    stage: int
    packets: int
    lost: int
    wait_ps: int
    longest_wait_ps: int
    in_front_ps: Mapping[int | None, int]
    paused_ps: int
    down_ps: int
    idle_ps: int
    last: Passage | None

    @property
    def mean_wait_ps(self) -> float:
        """Mean wait of the packets, in picoseconds."""
        return self.wait_ps / self.packets


@dataclass(frozen=True)
class Hops:
    """The packets of a flow at every port that they passed.

    Attributes:
        flow: Number of the flow.
        hops: The ports: those on the way to the receiver, then those on the way back, each by their stages.
        sender_ps: Time from the start of the flow to the first bit of the packet that was delivered last, in
            picoseconds. Together with the times in :attr:`last` it is the completion time. None of a flow
            that did not finish.
        missing: Packets that came to a switch and had not left it when the flow finished, by the name of the
            switch: it dropped them, or they were in a queue.
        crossings: The columns of a table with a row for each packet at each port, by time: ``hop`` (the place
            in ``hops``), ``kind``, ``position_bytes``, ``size_bytes``, ``came_ps`` (-1 at the host that made
            the packet), ``left_ps``, ``wait_ps``, its parts ``in_front_ps``, ``paused_ps``, ``down_ps`` and
            ``idle_ps``, ``serialisation_ps``, ``propagation_ps``, ``link_wait_ps``, ``arrives_ps`` (-1: the
            link loses it), and ``before``, the row of the packet at the port before (-1: none).
    """

    flow: int
    hops: tuple[Hop, ...]
    sender_ps: int | None
    missing: Mapping[str, int]
    crossings: Mapping[str, npt.NDArray[Any]] = field(repr=False)

    @property
    def last(self) -> tuple[Hop, ...]:
        """The ports that the packet delivered last and its acknowledgement passed."""
        return tuple(hop for hop in self.hops if hop.last is not None)

    def __iter__(self) -> Iterator[Hop]:
        return iter(self.hops)

    def __len__(self) -> int:
        return len(self.hops)


def hops_in(result: Tables, flow: int, any_queue: bool = False, outages: Collection[Outage] = ()) -> Hops:
    """Follows the packets of a flow from port to port.

    Args:
        result: A result with the packets of every port that the flow uses, and with all pauses.
        flow: Number of the flow.
        any_queue: Whether a pause of any queue of a port counts for each packet there, because the tables do
            not say which of the queues it was in (BFC).
        outages: When nodes know that links are down.
    """
    links = links_of(result)
    ends = _Ends.of(result, flow)
    rows, sent = packets_of(result, links, flow)
    pauses, down = pauses_of(result), outages_of(outages)
    ports = {
        place: Port(packets, pauses.get(place, {}), any_queue, down.get(place, NO_INTERVALS))
        for place, packets in sent.items()
    }
    since = _busy_since(rows, ports)
    before, missing = earlier_rows(rows, since, ends.source, ends.destination, links, bool(down))
    came = np.where(before == NONE, NONE, rows.arrives[before]) if len(before) else before
    names = "in_front_ps", "paused_ps", "down_ps", "idle_ps"
    parts = {name: np.zeros(len(before), dtype=np.int64) for name in names}
    waits = np.where(before == NONE, 0, rows.left - came)
    data, answer = ends.last(rows, before)
    decisive = {*data, *answer}
    stages = _stages(before)
    hops: list[tuple[Hop, Ints]] = []
    for place, here in rows.by_port():
        port = ports[place]
        waited = here[before[here] != NONE]
        for queue in np.unique(rows.queue[waited]):
            of = waited[rows.queue[waited] == queue]
            divided = port.divide(came[of], rows.left[of], int(queue))
            parts["in_front_ps"][of], parts["paused_ps"][of], parts["down_ps"][of] = divided
        parts["idle_ps"][waited] = waits[waited] - sum(parts[name][waited] for name in names[:-1])
        for to_receiver in (True, False):
            mine = here[(rows.to[here] == ends.destination) == to_receiver]
            if not len(mine):
                continue
            passages = [
                _passage(rows, row, int(came[row]), ends.delivered if row in answer else None, port)
                for row in mine.tolist()
                if row in decisive
            ]
            with_wait = mine[before[mine] != NONE]
            hop = Hop(
                port=links[place].name,
                to_receiver=to_receiver,
                stage=int(stages[mine].min()),
                packets=len(mine),
                lost=int((rows.arrives[mine] == NONE).sum()),
                wait_ps=int(waits[mine].sum()),
                longest_wait_ps=int(waits[mine].max()),
                in_front_ps=port.in_front(came[with_wait], rows.left[with_wait]),
                paused_ps=int(parts["paused_ps"][mine].sum()),
                down_ps=int(parts["down_ps"][mine].sum()),
                idle_ps=int(parts["idle_ps"][mine].sum()),
                last=passages[0] if passages else None,
            )
            hops.append((hop, mine))
    hops.sort(key=lambda found: (not found[0].to_receiver, found[0].stage))
    place_of = np.full(len(before), NONE, dtype=np.int64)
    for number, (_, mine) in enumerate(hops):
        place_of[mine] = number
    crossings = {
        "hop": place_of,
        "kind": rows.kind,
        "position_bytes": rows.position,
        "size_bytes": rows.size,
        "came_ps": came,
        "left_ps": rows.left,
        "wait_ps": waits,
        **parts,
        "serialisation_ps": rows.gone - rows.left,
        "propagation_ps": rows.propagation,
        "link_wait_ps": np.where(rows.arrives == NONE, 0, rows.arrives - rows.gone - rows.propagation),
        "arrives_ps": rows.arrives,
        "before": before,
    }
    sender = int(rows.left[data[0]]) - ends.start if data else None
    return Hops(flow, tuple(hop for hop, _ in hops), sender, missing, crossings)


def _busy_since(packets: Packets, ports: Mapping[Place, Port]) -> Ints:
    """Returns for each packet the time from which on its port had no break until it left."""
    since = np.zeros(len(packets.left), dtype=np.int64)
    for place, here in packets.by_port():
        for queue in np.unique(packets.queue[here]).tolist():
            of = here[packets.queue[here] == queue]
            since[of] = ports[place].busy_since(packets.left[of], queue)
    # A returned header may have waited in the queue of another port, which trimmed it.
    since[packets.kind == "returned"] = 0
    return since


@dataclass(frozen=True)
class _Ends:
    """The hosts of a flow and its times."""

    source: int
    destination: int
    start: int
    delivered: int
    finish: int

    @classmethod
    def of(cls, result: Tables, flow: int) -> _Ends:
        row = np.flatnonzero(result.flows.column("flow") == flow)[0]
        names = ("source_id", "destination_id", "start_ps", "delivered_ps", "finish_ps")
        found = (result.flows.column(name)[row] for name in names)
        return cls(*(NONE if value != value else int(value) for value in found))

    def last(self, packets: Packets, before: Ints) -> tuple[list[int], list[int]]:
        """Returns the rows of the packet that was delivered last, and of its acknowledgement, by time."""
        data = (packets.peer == self.destination) & (packets.kind == "data")
        answers = (packets.peer == self.source) & (packets.kind != "returned")
        found = []
        for mask, time in ((data, self.delivered), (answers, self.finish)):
            rows = np.flatnonzero(mask & (packets.arrives == time) & (time != NONE))
            chain: list[int] = []
            if len(rows):
                row = int(rows[np.argmax(packets.position[rows])])
                while row != NONE:
                    chain.append(row)
                    row = int(before[row])
            found.append(chain[::-1])
        return found[0], found[1]


def _passage(packets: Packets, row: int, came: int, made: int | None, port: Port) -> Passage:
    """Describes a packet at a port; ``made`` is its time of origin, if that is known."""
    begin = made if came == NONE else came
    left = int(packets.left[row])
    of = np.array([left if begin is None else begin]), np.array([left])
    (sending,), (paused,), (down,) = port.divide(*of, int(packets.queue[row]))
    wait = int(of[1][0] - of[0][0])
    gone, propagation = int(packets.gone[row]), int(packets.propagation[row])
    return Passage(
        came_ps=begin,
        left_ps=left,
        serialisation_ps=gone - left,
        propagation_ps=propagation,
        link_wait_ps=int(packets.arrives[row]) - gone - propagation,
        wait_ps=wait,
        in_front_ps=port.in_front(*of),
        paused_ps=int(paused),
        down_ps=int(down),
        idle_ps=wait - int(sending) - int(paused) - int(down),
    )


def _stages(before: Ints) -> Ints:
    """Counts the links that each packet has behind it."""
    stages = np.zeros(len(before), dtype=np.int64)
    while len(before):
        found = np.where(before == NONE, 0, stages[before] + 1)
        if np.array_equal(found, stages):
            break
        stages = found
    return stages
