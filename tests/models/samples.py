"""Samples of the round trip: what senders measure, by the packet of an acknowledgement or by its number.

From docs/network/transport.md, with the hosts of plain.py. Flows have fixed windows and rates here, so what
they measure changes nothing; it is compared at the instants at which the simulator samples flows.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from incast import Result
from models import plain
from models.cases import US, Case, lossy_star, selective_star, sprayed
from models.plain import Outcome


@dataclass(frozen=True)
class SampledCase(Case):
    """A case of which every flow is sampled at multiples of `interval`, in picoseconds."""

    interval: int = US

    def sections(self) -> dict[str, object]:
        flows = [f"f{number}" for number in range(len(self.flows))]
        probe = {"flows": flows, "flow_interval": f"{self.interval}ps"}
        return super().sections() | {"probe": probe}

    def observed(self, result: Result, outcomes: list[Outcome], order: list[int]) -> list[Outcome]:
        # A row covers the samples equal to it directly before.
        rtts: list[list[tuple[int, int]]] = [[] for _ in outcomes]
        table = result.flow_series
        columns = (table.column(name).tolist() for name in ("flow", "time_ps", "rtt_ps", "samples"))
        for flow, time, rtt, count in zip(*columns, strict=True):
            if rtt > 0:
                rtts[order[flow]] += [(time - back * self.interval, int(rtt)) for back in range(count)]
        return [
            Sampled(o.finish, o.delivered, o.packets, o.resent, o.timeouts, tuple(sorted(of)))
            for o, of in zip(outcomes, rtts, strict=True)
        ]


@dataclass(frozen=True)
class Sampled(Outcome):
    """An outcome with the last RTT at each sample where it is above zero."""

    rtts: tuple[tuple[int, int], ...]


def run(case: SampledCase, order: list[int]) -> list[Outcome]:
    """The outcome of every flow of a case, in the order of the case."""
    return [
        Sampled(s.finish, s.receiver.delivered, s.packets, s.resent, s.timeouts, _last(s, case.interval))
        for s in plain.played(case, order)
    ]


def _last(sender: plain.Sender, interval: int) -> tuple[tuple[int, int], ...]:
    assert sender.finish is not None
    times = [time for time, _ in sender.rtts]
    first = -(-times[0] // interval) * interval
    instants = range(first, sender.finish, interval)
    last = ((time, sender.rtts[bisect.bisect_right(times, time) - 1][1]) for time in instants)
    return tuple((time, rtt) for time, rtt in last if rtt > 0)


def _sampled(kind: Callable[[int], Case]) -> Callable[[int], SampledCase]:
    """Cases of another kind with samples, mostly by the cumulative number."""

    def draw_case(seed: int) -> SampledCase:
        case = kind(seed)
        draw = random.Random(f"sampled {kind.__name__} {seed}")
        transport = replace(case.transport, sample=draw.choice(["cumulative", "cumulative", "packet"]))
        fields = {name: getattr(case, name) for name in Case.__dataclass_fields__} | {"transport": transport}
        return SampledCase(**fields, interval=draw.randrange(US // 20, US))

    return draw_case


KINDS: dict[str, Callable[[int], Case]] = {
    "samples over spines": _sampled(sprayed),
    "samples, selective repeat": _sampled(selective_star),
    "samples, go-back-N": _sampled(lossy_star),
}
