"""Our values beside the paper's numbers: how much of the paper's effect there is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incast.ledger.figure import Claim
from incast.ledger.found import Found
from incast.ledger.judge import Judgement
from incast.ledger.rule import DIFFERENCE, Scale, signed
from incast.results.measures.quantity import digits


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
    found = share(judgement)
    if found is None or not judgement.ours.bounded:
        return None
    return found if all(map(math.isfinite, (found.low, found.value, found.high))) else None


def share(judgement: Judgement) -> Multiple | None:
    """Returns our effect, with ends that may be infinite, and NaN where nothing could be measured.

    None where the paper has words, or says that there is no effect.
    """
    claim, ours = judgement.claim, judgement.ours
    if claim.value is None or claim.equal:
        return None
    number = signed(claim.reproduced, claim.value)
    scale = claim.bands.scale or DIFFERENCE
    if not math.isfinite(scale.effect(number)):
        # An improvement of 100 %, a ratio of 0: of infinity there are no parts.
        scale = DIFFERENCE
    paper = scale.effect(number)
    if not paper:
        return None
    return _over(scale, ours, paper)


def deviation(judgement: Judgement) -> Multiple | None:
    """Returns our effect as a multiple of what the rule allows, where the paper says that there is none.

    At 1 and -1 are the ends of the band for ``reproduced``; of unequal ends, at the farther one. None for
    all other claims.
    """
    claim = judgement.claim
    if claim.value is None or share(judgement) is not None:
        return None
    return _over(claim.bands.scale or DIFFERENCE, judgement.ours, allowed(claim))


def allowed(claim: Claim) -> float:
    """Returns the largest finite effect in the band for ``reproduced``; 1 if that is 0."""
    effect = (claim.bands.scale or DIFFERENCE).effect
    ends = [abs(effect(end)) for end in (claim.reproduced.low, claim.reproduced.high)]
    return max(filter(math.isfinite, ends), default=0.0) or 1.0


def _over(scale: Scale, ours: Found, unit: float) -> Multiple:
    """The effects of a value and of the ends of its interval, as multiples of one."""
    found = [
        math.nan if math.isnan(each) else scale.effect(each) / unit
        for each in (ours.low, ours.value.value, ours.high)
    ]
    return Multiple(min(found), found[1], max(found))
