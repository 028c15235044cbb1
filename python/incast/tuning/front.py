"""Pareto fronts and hypervolumes."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = Sequence[float]
"""Costs: less is better in each."""


def dominates(a: Point, b: Point) -> bool:
    """Whether a point is nowhere worse than another one, and somewhere better."""
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))


def front(points: Sequence[Point]) -> list[int]:
    """The places of the points that no other one dominates, in their order; of equal ones the first."""
    return [
        n
        for n, point in enumerate(points)
        if not any(dominates(other, point) for other in points) and list(point) not in map(list, points[:n])
    ]


def hypervolume(points: Sequence[Point], reference: Point) -> float:
    """The volume that points dominate, up to a reference point.

    By slices along the last cost (While et al., "A faster algorithm for calculating hypervolume", 2006,
    section II), which is fast enough for the few hundred points of a study.

    Args:
        points: The points; those that are not below the reference everywhere add nothing.
        reference: The corner of the volume.
    """
    inside = [tuple(p) for p in points if all(x < r for x, r in zip(p, reference, strict=True))]
    inside = [inside[n] for n in front(inside)]
    if not inside:
        return 0.0
    if len(reference) == 1:
        return reference[0] - min(p[0] for p in inside)
    volume = 0.0
    inside.sort(key=lambda p: p[-1])
    for n, point in enumerate(inside):
        upper = inside[n + 1][-1] if n + 1 < len(inside) else reference[-1]
        if upper > point[-1]:
            slab = [p[:-1] for p in inside[: n + 1]]
            volume += (upper - point[-1]) * hypervolume(slab, reference[:-1])
    return volume


def compromise(points: Sequence[Point]) -> int:
    """The place of the point whose largest loss against the best of each cost is least.

    The loss of a cost is its place between its least and its largest value among the points.

    Args:
        points: At least one point.
    """
    lows = [min(costs) for costs in zip(*points, strict=True)]
    highs = [max(costs) for costs in zip(*points, strict=True)]

    def loss(point: Point) -> tuple[float, float]:
        parts = [
            (x - low) / (high - low) if high > low else 0.0
            for x, low, high in zip(point, lows, highs, strict=True)
        ]
        return max(parts), math.fsum(parts)

    return min(range(len(points)), key=lambda n: loss(points[n]))
