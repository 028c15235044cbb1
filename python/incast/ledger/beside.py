"""Our values beside the paper's numbers: how much of the paper's effect there is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incast.ledger.judge import Judgement
from incast.ledger.quantity import digits
from incast.ledger.rule import DIFFERENCE, signed


@dataclass(frozen=True)
class Multiple:
    """Our effect as a multiple of the paper's: 1 is as printed, 0 is none, below 0 has the wrong sign.

    Attributes:
        low: Lower end of the interval.
        value: The multiple.
        high: Upper end of the interval.
    """

    low: float
    value: float
    high: float

    def cell(self) -> str:
        """The number, in an element that style sheets draw as a mark on a line from -1 to 4."""
        named = {"v": self.value}
        if self.low < self.high:
            named |= {"l": self.low, "h": self.high}
        places = {name: min(max((each + 1) / 5, 0.0), 1.0) for name, each in named.items()}
        style = ";".join(f"--{name}:{place:.0%}" for name, place in places.items())
        return f'<span class="effect" style="{style}">{digits(self.value, 2)}</span>'


def multiple(judgement: Judgement) -> Multiple | None:
    """Returns our effect; None where the paper has words, says that there is none, or ours is not finite."""
    claim, ours = judgement.claim, judgement.ours
    if claim.value is None or claim.equal or not ours.bounded:
        return None
    effect = (claim.bands.scale or DIFFERENCE).effect
    paper = effect(signed(claim.reproduced, claim.value))
    if not paper:
        return None
    found = [effect(each) / paper for each in (ours.low, ours.value.value, ours.high)]
    if not all(map(math.isfinite, found)):
        return None
    return Multiple(min(found), found[1], max(found))
