"""The search: an evolution of settings on a grid, whose draws follow from the seed and the place alone."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from incast.attacking.judge import Judge, Verdict
from incast.attacking.question import Question
from incast.tuning.space import Parameter, Setting

PARENTS = 8
"""Candidates that are kept."""

CHILDREN = 24
"""Candidates that are made of them in a generation."""

STEPS = 64
"""Steps of the range of a number."""

_DRAWS = 20

Genes: TypeAlias = "tuple[int, ...]"
"""The place of each parameter: a step of its range, or the number of a choice."""


@dataclass(frozen=True)
class Candidate:
    """A candidate that was judged.

    Attributes:
        number: Its place among all.
        generation: The generation in which it was made.
        genes: Its places in the ranges.
        setting: Its values.
        verdict: The verdict on it. Of one that did not get past its first seeds the ratio is an upper bound.
    """

    number: int
    generation: int
    genes: Genes
    setting: Setting
    verdict: Verdict


def search(judge: Judge) -> list[Candidate]:
    """Returns all candidates of a search, in the order in which they were made.

    The first generation is drawn evenly. Each later one has children of the eight worst for the contestant:
    every place is taken from one of two parents, and some are moved.

    Args:
        judge: Judges candidates.
    """
    question = judge.question
    done: list[Candidate] = []
    generation = 0
    while len(done) < question.budget:
        parents = best(done)[:PARENTS]
        wanted = min(CHILDREN if generation else CHILDREN + PARENTS, question.budget - len(done))
        known = {one.genes for one in done}
        made: list[Genes] = []
        for child in range(wanted):
            genes = _child(question, parents, generation, child, known)
            if genes is not None:
                known.add(genes)
                made.append(genes)
        if not made:
            break
        settings = [_setting(question.parameters, genes) for genes in made]
        floor = parents[-1].verdict.ratio if len(parents) == PARENTS else 0.0
        verdicts = judge.judge([question.candidate(setting) for setting in settings], floor)
        done += [
            Candidate(len(done) + n, generation, *one)
            for n, one in enumerate(zip(made, settings, verdicts, strict=True))
        ]
        generation += 1
    return done


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Returns candidates with a number, the largest ratio first, and of equal ones the earliest."""
    valid = [one for one in candidates if one.verdict.ratio > 0]
    return sorted(valid, key=lambda one: (-one.verdict.ratio, one.number))


def draws(seed: int, generation: int, child: int) -> random.Random:
    """Returns the random numbers of a child, which depend on nothing else."""
    digest = hashlib.sha256(f"attack {seed} {generation} {child}".encode()).digest()
    return random.Random(int.from_bytes(digest, "little"))


def _child(
    question: Question, parents: Sequence[Candidate], generation: int, child: int, known: set[Genes]
) -> Genes | None:
    """The places of a child that nobody has had yet; None if draws do not find one."""
    draw = draws(question.search_seed, generation, child)
    for _ in range(_DRAWS):
        if parents:
            one, other = (parents[draw.randrange(len(parents))].genes for _ in range(2))
            genes = tuple(draw.choice(pair) for pair in zip(one, other, strict=True))
            genes = _moved(question.parameters, genes, draw)
        else:
            genes = tuple(draw.randrange(_size(parameter)) for parameter in question.parameters)
        if genes not in known:
            return genes
    return None


def _moved(parameters: Sequence[Parameter], genes: Genes, draw: random.Random) -> Genes:
    """Moves one place in any case, and each other with the chance of one in their number."""
    sure = draw.randrange(len(genes))
    moved = []
    for n, (parameter, place) in enumerate(zip(parameters, genes, strict=True)):
        at = place
        if n == sure or draw.random() < 1 / len(genes):
            size = _size(parameter)
            # Mostly near, now and then anywhere.
            if parameter.kind == "choice" or draw.random() < 0.2:
                at = draw.randrange(size)
            else:
                step = 1 + int(draw.expovariate(1 / 4))
                at = min(max(place + draw.choice((-step, step)), 0), size - 1)
        moved.append(at)
    return tuple(moved)


def _size(parameter: Parameter) -> int:
    return len(parameter.choices) if parameter.kind == "choice" else STEPS


def _setting(parameters: Sequence[Parameter], genes: Genes) -> Setting:
    return tuple(
        parameter.choices[place]
        if parameter.kind == "choice"
        else parameter.value(parameter.at(place / (STEPS - 1)))
        for parameter, place in zip(parameters, genes, strict=True)
    )
