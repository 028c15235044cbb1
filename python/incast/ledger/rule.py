"""The rules for the bands of every claim: what a number of the paper allows, and what no band may contain."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incast.ledger.band import Band
from incast.results.measures.quantity import Quantity, digits, quantity, unit_of

LEEWAY = 3.0
"""A trend has at least a third of the effect, and at most three times the effect."""

_ROUNDING = 2e-3
"""Ends of bands are written with three digits or more; so much closer to the limit they may lie."""


@dataclass(frozen=True)
class Scale:
    """A scale on which a comparison measures an effect.

    Attributes:
        none: The value of no effect.
        effect: The effect of a value: 0 for `none`. Ratios count in the logarithm, so that half and double
            are the same effect with two signs.
        value: The value with an effect.
    """

    none: float
    effect: Callable[[float], float]
    value: Callable[[float], float]


def _logarithm(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def _power(effect: float) -> float:
    return math.exp(effect) if effect < 700 else math.inf


DIFFERENCE = Scale(0.0, lambda value: value, lambda effect: effect)
RATIO = Scale(1.0, _logarithm, _power)
BETTER = Scale(0.0, lambda value: _logarithm(1 + value), lambda effect: _power(effect) - 1)
IMPROVEMENT = Scale(
    0.0,
    lambda value: -_logarithm(1 - value) if value < 1 else math.inf,
    lambda effect: 1 - _power(-effect),
)

SHARE = Scale(0.5, lambda value: value - 0.5, lambda effect: effect + 0.5)

SCALES = {
    "difference": DIFFERENCE,
    "ratio": RATIO,
    "better": BETTER,
    "improvement": IMPROVEMENT,
    "share": SHARE,
}
"""The scales by their names; a share is of comparisons that one side wins."""

_MEASURES = {
    "difference": DIFFERENCE,
    "ratio": RATIO,
    "better": BETTER,
    "improvement": IMPROVEMENT,
    "flatness": RATIO,
    "share_closer": SHARE,
    "distance": DIFFERENCE,
}
"""The scale of each measure that compares values."""

_AVERAGES = ("mean", "median", "smallest", "largest")


def scale_of(measure: Mapping[str, Any]) -> Scale | None:
    """Returns the scale of a measure; None for one that compares nothing.

    An average, or an extreme, of comparisons on one scale has their scale.

    Args:
        measure: The measure, as ``claims.toml`` has it.
    """
    do = measure.get("do")
    if do in _MEASURES:
        return _MEASURES[do]
    if do not in _AVERAGES:
        return None
    scales = {id(scale): scale for scale in map(scale_of, _parts(measure))}
    return next(iter(scales.values())) if len(scales) == 1 else None


def says_nothing(measure: Mapping[str, Any]) -> bool:
    """Whether a measure does not tell if its value is an effect: a figure's function, or an average of such.

    Args:
        measure: The measure, as ``claims.toml`` has it.
    """
    do = measure.get("do")
    if do in (*_AVERAGES, "sum"):
        return any(map(says_nothing, _parts(measure)))
    return do == "analysis"


def _parts(measure: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The measures of which one is an average."""
    return [measure["of"]] if "of" in measure else list(measure.get("all", []))


def effect_of(measure: Mapping[str, Any]) -> str:
    """Returns the name of a measure's scale; empty for one that compares nothing."""
    scale = scale_of(measure)
    return next((name for name, known in SCALES.items() if known is scale), "")


_UNITS = {"×": "x", "times": "x", "µs": "us", "RTTs": "RTT", "BDPs": "BDP"}
_PRINTED = re.compile(
    r"(?:(?:about|around|roughly|nearly|some|up to|only) )?([+-]?\d[\d,]*(?:\.\d+)?)\s*"
    rf"(%|x|KB|MB|GB|B|us|ms|ns|s|Gbps|Mbps|RTT|BDP|{'|'.join(_UNITS)})?"
    r"(?: (?:worse|better|lower|higher|less|more|faster|shorter|longer))?"
)


def printed(paper: str, unit: str) -> Quantity | None:
    """Reads the paper's number from the text of a claim: ``48.1 %``, ``about 33 %``, ``9.9 times``.

    Args:
        paper: The text, as the claim has it.
        unit: The claim's unit.

    Returns:
        The number; None for a text with other words, or in a unit of another kind.
    """
    found = _PRINTED.fullmatch(paper.strip())
    if found is None:
        return None
    written = _UNITS.get(found[2], found[2] or "")
    value = quantity(found[1].replace(",", "") + written)
    relative = {"%", "x"}
    if value.dimension != unit_of(unit)[0] or (written != unit and {written, unit} <= relative):
        return None
    return value


@dataclass(frozen=True)
class Bands:
    """The parts of a claim that the rules look at.

    Attributes:
        reproduced: Its band for ``reproduced``.
        trend: Its band for ``trend``; None if there is none.
        scale: How its measure counts an effect; None where it compares nothing.
        value: The paper's number; None where the paper has words.
        equal: Whether the paper says that there is no effect.
    """

    reproduced: Band
    trend: Band | None
    scale: Scale | None
    value: float | None
    equal: bool


def limits(bands: Bands) -> tuple[float, float]:
    """Returns the ends between which a trend has to lie.

    That is a third to three times the effect of the paper's number, with its sign. Where the paper has words,
    the effects at the ends of the band for ``reproduced`` take the number's place. An end that this band
    leaves open stays open. Without a scale, the value itself is the effect.
    """
    band, scale = bands.reproduced, bands.scale or DIFFERENCE
    low, high = scale.effect(band.low), scale.effect(band.high)
    if bands.equal or (bands.scale is None and low < 0 < high and math.isfinite(low)):
        return scale.value(LEEWAY * low), scale.value(LEEWAY * high)
    effect = None if bands.value is None else scale.effect(signed(band, bands.value))
    if effect:
        sign = math.copysign(1, effect)
    else:
        sign = -1 if high <= 0 or (math.isinf(low) and bands.scale is not None) else 1
    ends = sorted((sign * low, sign * high))
    if effect:
        ends = [abs(effect) if math.isfinite(end) else end for end in ends]
    least = ends[0] / LEEWAY if ends[0] > 0 else ends[0]
    found = sorted((scale.value(sign * least), scale.value(sign * ends[1] * LEEWAY)))
    return found[0], found[1]


def signed(band: Band, value: float) -> float:
    """Returns the paper's number with the band's sign: "7.6 % worse" is -7.6 % where better is positive."""
    return value if band.low <= value <= band.high else -value if band.low <= -value <= band.high else value


def faults(bands: Bands, unit: str) -> list[str]:
    """Returns what is wrong with the bands of a claim, each as a sentence.

    Args:
        bands: The claim's.
        unit: The unit for numbers in the sentences.
    """
    found = []
    band, trend, scale = bands.reproduced, bands.trend, bands.scale
    if bands.value is not None and not _near(band, bands.value):
        number = Quantity(bands.value, band.dimension).shown(unit)
        found.append(f"reproduced = {band.text!r} does not contain the paper's number, {number}")
    if scale is not None:
        inside = band.low < scale.none < band.high
        touches = band.low <= scale.none <= band.high
        none = Quantity(scale.none, band.dimension).shown(unit)
        if inside and not bands.equal:
            found.append(
                f"reproduced = {band.text!r} contains no effect, {none}: such a claim cannot fail; with "
                "equal = true it says that there is none"
            )
            return found
        if bands.equal and not touches:
            found.append(f"equal = true, and reproduced = {band.text!r} does not contain no effect, {none}")
            return found
    low, high = limits(bands)
    shown = f"{_end(low, band, unit)} to {_end(high, band, unit)}"
    if bands.value and not _within(band, low, high, scale):
        found.append(
            f"reproduced = {band.text!r} is wider than a third to three times the paper's effect: {shown}"
        )
    if trend is not None and not _within(trend, low, high, scale):
        found.append(f"trend = {trend.text!r} is wider than a third to three times the effect: {shown}")
    return found


def _near(band: Band, value: float) -> bool:
    """Whether the paper's number lies in a band, with either sign."""
    slack = _ROUNDING * abs(value)
    return any(band.low - slack <= each <= band.high + slack for each in (value, -value))


def _within(band: Band, low: float, high: float, scale: Scale | None) -> bool:
    slack = [_ROUNDING * abs(end) if math.isfinite(end) else 0.0 for end in (low, high)]
    # As effects: an improvement of 100 % is as much as there is, and a band "at least 30%" ends there.
    effect = (scale or DIFFERENCE).effect
    return effect(band.low) >= effect(low - slack[0]) and effect(band.high) <= effect(high + slack[1])


def _end(value: float, band: Band, unit: str) -> str:
    if math.isinf(value):
        return "no end"
    return f"{digits(value / unit_of(unit)[1])}{unit}" if value else f"0{unit}"
