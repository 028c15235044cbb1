"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

from incast.results import stats
from incast.results.listing import forms
from incast.results.listing.of_results import LISTINGS
from incast.results.result import Result


def ranked(results: Mapping[str, Result]) -> tuple[dict[str, Result], str]:
    """The results in the order of the mean time of their jobs, or else of the mean slowdown of their flows.

    Those in which less was finished come after the others: what is not finished is in no mean.

    Args:
        results: A result for each algorithm, all of one scenario.

    Returns:
        The results, and what they are sorted by.
    """
    from incast.results.measures.named import find

    numbers = {label: stats.metrics(result) for label, result in results.items()}
    jobs = any("jobs_unfinished" in known for known in numbers.values())
    order = sorted(results, key=lambda label: stats.place(numbers[label], jobs))
    return {label: results[label] for label in order}, f"the {find(stats.criterion(jobs)).words}"


def texts(results: Mapping[str, Result]) -> list[str]:
    """Returns the tables of results in their order. Tables of one subject are one text.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    subjects = (of(results) for of in LISTINGS)
    return ["\n\n".join(map(forms.text, listings)) for listings in subjects if listings]
