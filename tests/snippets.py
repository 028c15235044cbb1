"""Fenced blocks of a page in Markdown: found, run, and compared with the output that the page shows.

How a page says what a block is (docs/dev/documentation.md has it for writers):

* ``console``: commands after ``$``, each followed by its output. No output means that it is not compared.
  ``…`` alone matches any lines, inside a line anything.
* ``python``: runs in one namespace for the page; a ``text`` block right after it is what it prints.
* ``toml``: a whole scenario, which must be valid, or with a comment a part of one.
* ``sh``, ``bash``: commands without output.
* ``rust``, ``c``: lines of the file named by ``title="path"`` behind the language, or by a comment.

A comment ``<!-- test: … -->`` on the line before a block says more.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import incast
from helpers import ROOT

LANGUAGES = ("console", "python", "toml", "sh", "bash", "rust", "c")
"""Blocks in these languages are run, or say why not."""

_FENCE = re.compile(r"^( *)(```+|~~~+)([\w-]*)(.*)$")
_TITLE = re.compile(r'\btitle="([^"]+)"')
_COMMENT = re.compile(r"^ *<!-- test: (\w+)(?:: | )?(.*?) -->$")


@dataclass
class Block:
    """A fenced block.

    Attributes:
        page: The file, from the checkout.
        line: Number of its first line of content, from 1.
        language: The first word after the fence.
        lines: Its content without indentation.
        say: What the comment before it says: a word, and what follows it.
        indent: Spaces before the fence.
        title: The text of ``title="…"`` behind the language: the file that the lines are from.
    """

    page: str
    line: int
    language: str
    lines: list[str]
    say: dict[str, str] = field(default_factory=dict)
    indent: int = 0
    title: str = ""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.page}:{self.line}"

    @property
    def text(self) -> str:
        """Its content."""
        return "\n".join(self.lines) + "\n"


def blocks(path: Path) -> list[Block]:
    """All fenced blocks of a page, those without a language too."""
    found: list[Block] = []
    say: dict[str, str] = {}
    lines = iter(enumerate(path.read_text().splitlines(), start=1))
    for number, line in lines:
        comment = _COMMENT.match(line)
        fence = _FENCE.match(line)
        if comment:
            say[comment[1]] = comment[2]
        elif fence:
            indent, mark = len(fence[1]), fence[2]
            content = []
            for _, inside in lines:
                if inside.strip() == mark:
                    break
                content.append(inside[indent:])
            page = path.relative_to(ROOT).as_posix()
            title = _TITLE.search(fence[4])
            found.append(Block(page, number + 1, fence[3], content, say, indent, title[1] if title else ""))
            say = {}
        elif line.strip():
            say = {}
    return found


class Runner:
    """Runs the blocks of one page, in order, in one folder."""

    def __init__(self, folder: Path, shims: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.env = {
            **os.environ,
            "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}",
            "MPLBACKEND": "Agg",
            "COLUMNS": "100",
            "PYTHONWARNINGS": "error",
        }
        self.printed = ""

    def run(self, block: Block) -> None:
        """Runs a block.

        Raises:
            AssertionError: When the page is wrong; `DifferentError` when the output is.
        """
        if "skip" in block.say:
            return
        if "setup" in block.say:
            self.shell(block.say["setup"], Block(block.page, block.line, "sh", []))
        if "file" in block.say:
            path = self.folder / block.say["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        match block.language:
            case "console":
                self.console(block)
            case "python" | "toml" if block.title:
                self.excerpt(block)
            case "python":
                self.python(block)
            case "toml":
                self.toml(block)
            case "sh" | "bash":
                self.shell(block.text, block)
            case "rust" | "c":
                self.excerpt(block)

    def shell(self, command: str, block: Block) -> str:
        """Runs a command line; its exit code must be the one the page says, 0 without a word."""
        more = block.say.get("small", "")
        if more and command.startswith("incast"):
            command = f"{command.rstrip()} {more}"
        run = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        wanted = int(block.say.get("exit", "0"))
        assert run.returncode == wanted, (
            f"{block.place}: {command}: exit code {run.returncode}, not {wanted}\n{run.stdout}"
        )
        return run.stdout

    def console(self, block: Block) -> None:
        """Runs the commands of a block and compares what they print."""
        made: list[str] = []
        wrong, stuck = [], False
        for command, shown in commands(block):
            found = [line.rstrip() for line in self.shell(strip_comment(command), block).splitlines()]
            open_ended = "small" in block.say or any("…" in line for line in shown)
            now = (
                shown
                if not shown or "small" in block.say
                else abridged(shown, found)
                if open_ended
                else found
            )
            made += [*f"$ {command}".splitlines(), *now]
            if shown and "small" not in block.say and not agree(shown, found):
                text = "\n".join
                wrong.append(f"{command}\n--- the page shows\n{text(shown)}\n--- it prints\n{text(found)}")
                stuck = stuck or not agree(now, found)
        if wrong:
            raise DifferentError(block, "\n".join(wrong), made, stuck)

    def python(self, block: Block) -> None:
        """Runs Python in the page's namespace and keeps what it prints."""
        if "file" in block.say:
            return
        out = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.text, block.page, "exec")
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                # A reader sees them beside the output; they end no run.
                warnings.simplefilter("default", incast.IncastWarning)
                exec(code, self.names)
        finally:
            os.chdir(before)
        self.printed = out.getvalue()

    def toml(self, block: Block) -> None:
        """Checks a scenario, or a part of one put in the place of its sections in another."""
        text = block.text
        if "part" in block.say:
            text = merged((self.folder / block.say["part"]).read_text(), text)
        name = self.folder / "page.toml"
        try:
            incast.Scenario.from_toml(text, str(name))
        except incast.ScenarioError as error:
            if "exit" not in block.say:
                raise AssertionError(f"{block.place}: {error}") from None
        else:
            assert "exit" not in block.say, f"{block.place}: this is a valid scenario"

    def excerpt(self, block: Block) -> None:
        """The lines must be in the file that the comment names, in a row."""
        file = block.say.get("excerpt") or block.title
        assert file, f"{block.place}: say of which file this is an excerpt"
        # An example in a doc comment is an excerpt, too.
        lines = ((ROOT / file).read_text().splitlines(), block.lines)
        whole, part = ([re.sub(r"^//[!/] ?", "", line.strip()).strip() for line in text] for text in lines)
        rows = range(len(whole) - len(part) + 1)
        assert any(whole[i : i + len(part)] == part for i in rows), f"{block.place}: not in {file}"


class DifferentError(AssertionError):
    """A block prints something else than the page shows.

    Attributes:
        made: The lines that the block should have, as far as they can be known.
        stuck: Whether a part with ``…`` stays as it is, since the output differs too much.
    """

    def __init__(self, block: Block, text: str, made: list[str], stuck: bool = False) -> None:
        super().__init__(f"{block.place}: {text}")
        self.made = made
        self.stuck = stuck


def check(page: Path, runner: Runner, update: bool) -> list[str]:
    """Runs the blocks of a page, and writes what they print now into it if it is to be updated.

    Returns:
        The places of the blocks that an update could not bring up to date.

    Raises:
        AssertionError: When the page is wrong.
    """
    found, stuck = blocks(page), []
    for index, block in enumerate(found):
        if block.language not in LANGUAGES:
            continue
        try:
            runner.run(block)
        except DifferentError as different:
            if not update:
                raise
            replace(page, index, different.made)
            stuck += [index] if different.stuck else []
        after = found[index + 1] if index + 1 < len(found) else None
        if block.language == "python" and after and "output" in after.say:
            shown, printed = (
                [line.rstrip() for line in lines] for lines in (after.lines, runner.printed.splitlines())
            )
            if not agree(shown, printed):
                assert update, f"{after.place}: it prints\n{runner.printed}"
                made = abridged(shown, printed) if any("…" in line for line in shown) else printed
                replace(page, index + 1, made)
                stuck += [] if agree(made, printed) else [index + 1]
    # Blocks that became longer have moved those that follow.
    now = blocks(page)
    return [now[index].place for index in stuck]


def replace(page: Path, index: int, made: list[str]) -> None:
    """Puts other lines into a block of a page."""
    block = blocks(page)[index]
    lines = page.read_text().splitlines()
    lines[block.line - 1 : block.line - 1 + len(block.lines)] = [" " * block.indent + line for line in made]
    page.write_text("\n".join(lines) + "\n")


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the output that the page shows.

    A command that ends in a backslash continues in the next line.
    """
    found: list[tuple[str, list[str]]] = []
    lines = iter(block.lines)
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            found.append((command, []))
        else:
            assert found, f"{block.place}: a console block begins with `$ `"
            found[-1][1].append(line.rstrip())
    return found


def strip_comment(command: str) -> str:
    """A command without the remark behind it."""
    return re.sub(r"\s+# .*$", "", command)


def agree(shown: list[str], found: list[str]) -> bool:
    """Whether an output is as shown; ``…`` matches any lines, or anything in a line."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def abridged(shown: list[str], found: list[str]) -> list[str]:
    """An output as it is now, with the same parts left out as in the one shown.

    That one, where the two are too different to tell which parts those are.
    """
    made: list[str] = []
    at = 0
    for i, line in enumerate(shown):
        if line.strip() == "…":
            made.append(line)
            # What is left out ends where all the lines shown after it begin, or with the output.
            after = list(itertools.takewhile(lambda line: line.strip() != "…", shown[i + 1 :]))
            while at < len(found) and not (after and same_lines(after, found[at:])):
                at += 1
            continue
        match = alike(line).fullmatch(found[at]) if at < len(found) else None
        if not match:
            return shown
        text, end = "", 0
        for group in range(1, len(match.groups()) + 1):
            text += match.string[end : match.start(group)] + "…"
            end = match.end(group)
        made.append(text + match.string[end:])
        at += 1
    return made


def same_lines(shown: list[str], found: list[str]) -> bool:
    """Whether an output begins with lines like those shown."""
    return len(shown) <= len(found) and all(map(re.Pattern.fullmatch, map(alike, shown), found))


def alike(line: str) -> re.Pattern[str]:
    """Matches lines that differ from this one in numbers, in spaces and where it has ``…``."""
    pattern = ""
    for part in re.findall(r"…| +|[0-9a-f]{10,}|\d[\d.,]*|.", line):
        if part == "…":
            pattern += "(.*?)"
        elif part.isspace():
            pattern += " +"
        elif re.fullmatch(r"[0-9a-f]{10,}", part):
            pattern += "[0-9a-f]+"
        elif part[0].isdigit():
            pattern += r"\d[\d.,]*"
        else:
            pattern += re.escape(part)
    return re.compile(pattern)


def merged(base: str, part: str) -> str:
    """Returns a scenario in which the sections of a part replace sections of the same name."""
    name = re.compile(r"^\[+([\w-]+)", re.MULTILINE)
    pieces = re.split(r"(?m)^(?=\[)", base)
    replaced = set(name.findall(part))
    keep = [p for p in pieces if not (found := name.match(p)) or found[1] not in replaced]
    # What stands above the first section of the part belongs to the top of the file.
    top, _, _ = part.partition("[")
    keys = set(re.findall(r"(?m)^(\w+) *=", top))
    head = [line for line in keep[0].splitlines() if line.partition("=")[0].strip() not in keys]
    return "\n".join([*head, top, *keep[1:], part[len(top) :]])


def shims(folder: Path) -> Path:
    """A folder with the command ``incast`` and ``python`` of this interpreter."""
    folder.mkdir()
    for name, words in (("incast", "-m incast"), ("python", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        path.chmod(0o755)
    return folder
