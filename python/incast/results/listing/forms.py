"""Forms of listings: text for a terminal, Markdown, LaTeX, HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from incast._terminal import WIDTH, cells, printable
from incast.results.listing.marks import MARKS
from incast.results.listing.sheet import Column, Listing

MOST_ROWS = 50
"""Most rows of a table in HTML."""


def text(listing: Listing, width: int = WIDTH) -> str:
    """Lays out a listing for a terminal: title, table, notes.

    Args:
        listing: The listing.
        width: Widest line allowed.
    """
    body = f"{listing.title}\n{table(listing.columns, listing.rows, width)}"
    if not listing.notes:
        return body
    between = "\n\n" if listing.apart else "\n"
    return f"{body}{between}{paragraph(listing.notes, width=width)}"


def heads(columns: Sequence[Column]) -> list[str]:
    """Returns the names of columns on one line: ``mean (us)``, ``begin: backlog (MB)``.

    A column without a name belongs to the one before it.
    """
    found = []
    name = ""
    for column in columns:
        name = column.title or name
        unit = f" ({column.unit})" if column.unit else ""
        found.append((f"{column.group}: " if column.group else "") + name + unit)
    return found


def markdown(listing: Listing) -> str:
    """Returns a listing as a Markdown table with its title and notes.

    Args:
        listing: The listing.
    """
    lines = [_line(heads(listing.columns)), _line([":--" if c.left else "--:" for c in listing.columns])]
    lines += [_line(row) for row in listing.rows]
    notes = ["", _cell(listing.notes)] if listing.notes else []
    return "\n".join([f"**{_cell(listing.title)}**", "", *lines, *notes])


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, texts))} |"


def _cell(text: str) -> str:
    """Returns a text whose letters mean nothing to Markdown, on one line."""
    escaped = "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in printable(text))
    return " ".join(escaped.split())


_TEX: Mapping[str, str] = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "θ": r"$\theta$",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "†": r"\dag{}",
}
"""Letters that LaTeX reads as something else, or that its standard fonts lack."""

NEEDS = r"% needs \usepackage{booktabs}"
"""The first line of a text with tables in LaTeX."""


def tex(text: str) -> str:
    """Returns a text as LaTeX shows it."""
    return "".join(_TEX.get(c, c) for c in printable(text))


def latex(listing: Listing) -> str:
    """Returns a listing as a LaTeX table with rules of booktabs; title and notes are its caption.

    Args:
        listing: The listing.
    """
    columns = listing.columns
    head = []
    if any(column.group for column in columns):
        spans = list(_spans([column.group for column in columns]))
        rules = "".join(rf"\cmidrule(lr){{{a + 1}-{b}}}" for a, b in spans if columns[a].group)
        head += [_row([_span(columns[a].group, b - a) for a, b in spans]), rules]
    named = list(_spans([column.title for column in columns], joined=True))
    head.append(_row([_span(columns[a].title, b - a, columns[a].left) for a, b in named]))
    if any(column.unit for column in columns):
        head.append(_row([tex(column.unit) for column in columns]))
    caption = f"{listing.title[:1].upper()}{listing.title[1:]}. {listing.notes}".strip()
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{tex(caption)}}}",
            rf"\begin{{tabular}}{{{''.join('l' if column.left else 'r' for column in columns)}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *(_row(list(map(tex, row))) for row in listing.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _row(texts: Sequence[str]) -> str:
    return rf"{' & '.join(texts)} \\"


def _span(text: str, width: int, left: bool = False) -> str:
    """Returns a cell of a head over one or several columns."""
    return rf"\multicolumn{{{width}}}{{c}}{{{tex(text)}}}" if width > 1 and not left else tex(text)


def _spans(names: Sequence[str], joined: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the begin and the end of columns with one head.

    Args:
        names: The names of the columns.
        joined: Whether columns without a name belong to the one before, rather than equal names together.
    """
    begin = 0
    for n in range(1, len(names) + 1):
        same = n < len(names) and (not names[n] if joined else bool(names[n]) and names[n] == names[begin])
        if not same:
            yield begin, n
            begin = n


def html(listing: Listing, most: int = MOST_ROWS) -> str:
    """Returns a listing as an HTML table with its notes: no script, no colour, no style but alignment.

    Args:
        listing: The listing.
        most: Most rows; more are counted below.
    """
    columns = listing.columns
    lines = ["<table>", f"<caption>{escaped(listing.title)}</caption>", "<thead>"]
    if any(column.group for column in columns):
        groups = (
            f'<th scope="colgroup" colspan="{b - a}">{escaped(columns[a].group)}</th>'
            if columns[a].group
            else f'<td colspan="{b - a}"></td>'
            for a, b in _spans([column.group for column in columns])
        )
        lines.append(f"<tr>{''.join(groups)}</tr>")
    names = heads([Column(c.title, c.unit, c.left) for c in columns])
    both = list(zip(names, columns, strict=True))
    lines.append(f"<tr>{''.join(_th(name, 'col', column.left) for name, column in both)}</tr>")
    lines += ["</thead>", "<tbody>"]
    for row in listing.rows[:most]:
        first, *others = row
        cells_ = (_td(text, column.left) for text, column in zip(others, columns[1:], strict=True))
        lines.append(f"<tr>{_th(first, 'row', columns[0].left)}{''.join(cells_)}</tr>")
    lines += ["</tbody>", "</table>"]
    if len(listing.rows) > most:
        lines.append(f"<p>{len(listing.rows) - most:,} more rows</p>")
    if listing.notes:
        lines.append(f"<p>{escaped(listing.notes)}</p>")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Returns a text in which no letter is markup of HTML."""
    import html as markup

    return markup.escape(printable(text))


def _th(text: str, scope: str, left: bool) -> str:
    return f'<th scope="{scope}" style="text-align: {_side(left)}">{escaped(text)}</th>'


def _td(text: str, left: bool) -> str:
    return f'<td style="text-align: {_side(left)}">{escaped(text)}</td>'


def _side(left: bool) -> str:
    return "left" if left else "right"


FORMS: Mapping[str, Callable[[Listing], str]] = {"text": text, "markdown": markdown, "latex": latex}
"""The forms of tables that are texts."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Lays out a table.

    Text that does not fit is wrapped inside the last column, where that one is text; elsewhere a
    cell is never cut.

    Args:
        columns: The columns.
        rows: The cells, already formatted, one per column.
        width: Widest line allowed.

    Returns:
        The lines, without a final line break.
    """
    rows = _aligned(columns, rows)
    units = [column.unit for column in columns]
    head = [[column.title for column in columns], *([units] if any(units) else [])]
    widths = [max(cells(row[i]) for row in [*head, *rows]) for i in range(len(columns))]
    last = len(columns) - 1
    room = width - sum(widths[:last]) - 2 * last
    if columns[last].left:
        widths[last] = min(widths[last], max(room, 20))

    lines = [_groups(columns, widths)] if any(column.group for column in columns) else []
    for row in [*head, ["-" * w for w in widths], *rows]:
        wrapped = textwrap.wrap(row[last], widths[last]) if columns[last].left else [row[last]]
        for n, part in enumerate(wrapped or [""]):
            cut = [*(row[:last] if n == 0 else [""] * last), part]
            padded = (pad(c, w, col.left) for c, w, col in zip(cut, widths, columns, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Puts a space behind numbers without a mark in columns with marks, so that their digits are aligned."""
    marked = [
        not column.left and any(row[n].endswith(tuple(MARKS)) for row in rows)
        for n, column in enumerate(columns)
    ]
    return [
        [f"{c} " if some and not c.endswith(tuple(MARKS)) else c for c, some in zip(row, marked, strict=True)]
        for row in rows
    ]


def _groups(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """The line of the titles of groups of columns."""
    parts = []
    both = zip(columns, widths, strict=True)
    for group, members in groupby(both, key=lambda pair: pair[0].group):
        width = sum(width + 2 for _, width in members) - 2
        parts.append(f" {group} ".center(width, "-") if group else " " * width)
    return "  ".join(parts).rstrip()


def pad(text: str, width: int, left: bool) -> str:
    """Pads a text with spaces to a width."""
    space = " " * (width - cells(text))
    return text + space if left else space + text


def paragraph(text: str, indent: str = "", width: int = WIDTH) -> str:
    """Wraps a text, with the same indentation on every line."""
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
