"""Things that show themselves: as tables in several forms, and in notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from incast.errors import nearest
from incast.results.listing import forms
from incast.results.listing.sheet import Listing

Form = Literal["text", "markdown", "latex"]
"""The forms of tables."""


@dataclass(frozen=True)
class Screen:
    """Everything that a thing shows.

    Attributes:
        title: Its name.
        lines: Sentences about it, the most important first.
        warnings: Its warnings.
        listings: Its tables.
    """

    title: str
    lines: Sequence[str] = ()
    warnings: Sequence[str] = ()
    listings: Sequence[Listing] = field(default=())


class Shown(ABC):
    """A thing that shows itself."""

    @abstractmethod
    def _screen(self, form: str) -> Screen:
        """Returns what it shows; a form with little room may have fewer columns."""

    def as_table(self, form: Form = "text", only: Sequence[str] = ()) -> str:
        """Its tables as a text.

        Args:
            form: ``text`` for a terminal, ``markdown``, or ``latex`` with the rules of booktabs.
            only: The titles of the tables to give, like ``["FCT slowdown"]``; by default all.

        Raises:
            ValueError: When there is no such form.
            KeyError: When there is no such table.
        """
        if form not in forms.FORMS:
            near = nearest(form, forms.FORMS)
            hint = f'did you mean "{near}"?' if near else f"there are {', '.join(forms.FORMS)}"
            raise ValueError(f'no table has the form "{form}"; {hint}')
        screen = self._screen(form)
        titles = list(dict.fromkeys(listing.title for listing in screen.listings))
        for wanted in only:
            if wanted not in titles:
                near = nearest(wanted, titles)
                hint = f'did you mean "{near}"?' if near else f"there are {', '.join(titles) or 'none'}"
                raise KeyError(f'there is no table "{wanted}"; {hint}')
        chosen = [listing for listing in screen.listings if not only or listing.title in only]
        if not chosen:
            return "\n".join(screen.lines)
        parts = [forms.NEEDS] if form == "latex" else []
        return "\n\n".join([*parts, *map(forms.FORMS[form], chosen)])

    def _repr_html_(self) -> str:
        """Its name, sentences about it and its tables, for notebooks."""
        screen = self._screen("html")
        lines = [f"<p><strong>{forms.escaped(screen.title)}</strong></p>"]
        lines += [f"<p>{forms.escaped(line)}</p>" for line in screen.lines]
        if screen.warnings:
            items = "".join(f"<li>warning: {forms.escaped(warning)}</li>" for warning in screen.warnings)
            lines.append(f"<ul>{items}</ul>")
        return "\n".join(["<div>", *lines, *map(forms.html, screen.listings), "</div>"])
