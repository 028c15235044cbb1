"""Results of runs: their tables, statistics, captured packets, and numbers that are computed from them."""

from incast._core import Table

__all__ = ["Table"]


def _repr_html_(self: Table) -> str:
    # Only notebooks show tables so.
    from incast.results.listing.of_table import html

    return html(self)


# The compiled class has no layout of its own.
Table._repr_html_ = _repr_html_  # type: ignore[method-assign]
