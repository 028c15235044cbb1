"""Counts turns of phrase that a reader must decode, in doc comments, docstrings and pages.

`RULES` has the turns, `documents` finds the texts, and `offences` finds the turns in a text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED = {"target", "node_modules", "__pycache__", "papers", "site", "build"}
"""Folders without texts of the project; those that begin with a dot are skipped too."""


@dataclass(frozen=True)
class Text:
    """A doc comment, a docstring, or a paragraph of a page.

    Attributes:
        file: Path from the checkout.
        lines: Its lines, each with its number in the file.
        first: Whether its first line summarises something: a comment, a docstring or a heading.
    """

    file: str
    lines: tuple[tuple[int, str], ...]
    first: bool = True


@dataclass(frozen=True)
class Offence:
    """A place where a text breaks a rule."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text.strip()}"


@dataclass(frozen=True)
class Rule:
    """A turn of phrase.

    Attributes:
        pattern: The words; a space matches a line break as well.
        first: Whether it counts only at the beginning of a text.
    """

    pattern: str
    first: bool = False


RULES = {
    "first-word": Rule(r"(?:What|So many|How|Why|The same|When|Where|Who|Which)\b", first=True),
    "told": Rule(r"\b(?:is|are|be) told\b"),
    "otherwise": Rule(r"\botherwise\b"),
    "stands-for": Rule(r"\bstands? for\b"),
    "that-of": Rule(r"\b(?:that|those) of\b"),
    "so-many": Rule(r"\bso many\b"),
    "meanwhile": Rule(r"\bmeanwhile\b"),
    "anew": Rule(r"\banew\b"),
    "under-way": Rule(r"\bunder way\b"),
    "goes-on": Rule(r"\bgoes on\b"),
}


def offences(rule: Rule, texts: Iterable[Text]) -> list[Offence]:
    """Returns the places where the texts break a rule, at most one a line."""
    pattern = re.compile(rule.pattern.replace(" ", r"\s+"), 0 if rule.first else re.IGNORECASE)
    found: dict[tuple[str, int], Offence] = {}
    for text in texts:
        if rule.first and not text.first:
            continue
        joined = "\n".join(without_code(line) for _, line in text.lines)
        matches = [pattern.match(joined.lstrip())] if rule.first else pattern.finditer(joined)
        for match in matches:
            if match:
                number, line = text.lines[0 if rule.first else joined.count("\n", 0, match.start())]
                found.setdefault((text.file, number), Offence(text.file, number, line))
    return list(found.values())


def without_code(line: str) -> str:
    """Returns a line with nothing between its backquotes."""
    return re.sub(r"`[^`]*`", "``", line)


def documents(root: Path) -> Iterator[Text]:
    """Yields all doc comments of Rust and docstrings of Python below a folder."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if any(part in SKIPPED or part.startswith(".") for part in parts):
            continue
        if path.suffix == ".rs":
            yield from comments("/".join(parts), path.read_text())
        elif path.suffix in {".py", ".pyi"}:
            yield from docstrings("/".join(parts), path.read_text())


def comments(file: str, source: str) -> Iterator[Text]:
    """Yields the doc comments (``///``, ``//!``) of a Rust file, without their blocks of code."""
    for run in runs(source, re.compile(r"\s*//[/!](?!/) ?(.*)")):
        kept = tuple(prose(run))
        if kept:
            yield Text(file, kept)


def runs(source: str, pattern: re.Pattern[str]) -> Iterator[list[tuple[int, str]]]:
    """Yields the runs of lines that match; of each line its number and the first group."""
    run: list[tuple[int, str]] = []
    for number, line in enumerate(source.splitlines(), start=1):
        match = pattern.match(line)
        if match:
            run.append((number, match[1]))
        elif run:
            yield run
            run = []
    if run:
        yield run


def prose(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yields the lines that are in no fenced block."""
    fenced = False
    for number, line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, line


def docstrings(file: str, source: str) -> Iterator[Text]:
    """Yields the docstrings of a Python file: of the module, classes, functions and attributes."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        before = [None, *body]
        for previous, statement in zip(before, body, strict=False):
            attribute = isinstance(previous, ast.Assign | ast.AnnAssign)
            if not (attribute or (previous is None and documented)):
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield Text(file, tuple(enumerate(text.splitlines(), start=statement.lineno)))


def paragraphs(file: str, source: str) -> Iterator[Text]:
    """Yields headings and paragraphs of a page in Markdown, without code and comments."""
    paragraph: list[tuple[int, str]] = []
    for number, whole in [*prose(enumerate(source.splitlines(), start=1)), (0, "")]:
        line = re.sub(r"<!--.*?-->", "", whole)
        heading = re.match(r"#+ (.*)", line)
        if (heading or not line.strip()) and paragraph:
            yield Text(file, tuple(paragraph), first=False)
            paragraph = []
        if heading:
            yield Text(file, ((number, heading[1]),))
        elif line.strip():
            paragraph.append((number, line))
