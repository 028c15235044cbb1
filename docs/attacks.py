"""Makes the gallery of attacks: ``python docs/attacks.py`` the page, ``--search [NAME …]`` also the files.

Each piece is one call of ``incast attack`` with a scenario of ``docs/attacks/from``. What it finds is
``docs/attacks/NAME.toml``; a test runs each of these again.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import incast
from incast.progress import State

HERE = Path(__file__).parent
FOLDER = HERE / "attacks"
FROM = FOLDER / "from"
PAGE = HERE / "attacks.md"

BURST = (
    "traffic.burst.size=10KB:1MB:log",
    "traffic.burst.jitter=0us:50us",
    "topology.delay=1us:10us:log",
    "switch.buffer=1MB:8MB:log",
)
SHARES = (
    "traffic.second.start=0us:600us",
    "traffic.guest.size=10KB:1MB:log",
    "traffic.guest.start=0us:1000us",
    "topology.delay=1us:10us:log",
)
LAST = "last_over_bound(burst)"
FAIR = "fairness([first,second], start=1ms, end=1500us)"


@dataclass(frozen=True)
class Piece:
    """An attack of the gallery.

    Attributes:
        contestant: The contestant that is attacked.
        scenario: The scenario from which the search begins.
        score: The number that is compared.
        vary: What is varied.
        against: The other contestant; None for the bound.
        seeds: Seeds of each candidate: one where nothing is drawn.
        budget: Candidates.
    """

    contestant: str
    scenario: str
    score: str
    vary: tuple[str, ...]
    against: str | None = None
    seeds: int = 3
    budget: int = 40

    @property
    def path(self) -> Path:
        """The file that the attack makes."""
        return FOLDER / f"{self.contestant}.toml"

    @property
    def command(self) -> str:
        """The command that makes it."""
        other = "--bound" if self.against is None else f"--against {self.against}"
        lines = [
            f"incast attack docs/attacks/from/{self.scenario}.toml --contestant {self.contestant} {other}"
        ]
        lines += [f"--vary {shlex.quote(one)}" for one in self.vary]
        lines += [f"--score {shlex.quote(self.score)} --seeds {self.seeds} --budget {self.budget}"]
        return " \\\n    ".join(lines)


def burst(contestant: str, against: str | None = None) -> Piece:
    """A burst, judged by its last flow."""
    return Piece(contestant, "burst", LAST, BURST, against)


def shares(contestant: str, against: str | None = None) -> Piece:
    """Two long flows, judged by their shares."""
    return Piece(contestant, "shares", FAIR, SHARES, against, seeds=1)


GALLERY = (
    burst("oscar"),
    shares("hpcc"),
    shares("powertcp"),
    shares("timely"),
    shares("dcqcn"),
    burst("dctcp"),
    burst("swift"),
    shares("nscc"),
    burst("ndp"),
    burst("homa"),
)


def search(piece: Piece, folder: Path) -> None:
    """Makes the file of a piece."""
    done = incast.attack(
        FROM / f"{piece.scenario}.toml",
        piece.contestant,
        piece.vary,
        piece.score,
        against=piece.against,
        seeds=piece.seeds,
        budget=piece.budget,
        folder=folder / f"{piece.contestant}-{piece.scenario}",
        watch=_quiet,
    )
    print(
        f"{piece.contestant} {piece.scenario}: {done.state.made} runs; {done.sentence or 'nothing'}",
        flush=True,
    )
    for fault in done.faults:
        print(f"  {fault.contestant.name}: {fault.kind}: {fault.why}", flush=True)
    if done.found is not None:
        piece.path.write_text(done.text)


def _quiet(state: State) -> None:
    """Shows nothing."""


def said(text: str) -> tuple[str, dict[str, str]]:
    """Returns the sentence of a file that an attack made, and the facts below it."""
    comment = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
    middle = comment.index("")
    facts = dict(line.split(": ", 1) for line in comment[middle + 1 :])
    return " ".join(comment[:middle]), facts


def page() -> str:
    """Returns the page of the gallery."""
    parts = [_HEAD]
    for piece in GALLERY:
        if not piece.path.exists():
            continue
        text = piece.path.read_text()
        sentence, _ = said(text)
        sentence = textwrap.fill(sentence, 110)
        blocks = f"```text\n{piece.command}\n```\n\n```toml\n{_bare(text)}\n```\n"
        parts.append(f"## {piece.contestant}\n\n{sentence}\n\n{blocks}")
    return "\n".join(parts)


def _bare(text: str) -> str:
    """A file without its sentence, which stands above it."""
    lines = [line for line in text.splitlines() if not re.match(r"# (?!score|ratio|fingerprint)|#$", line)]
    return "\n".join(lines).strip()
    # A line that continues the sentence begins like any comment; only facts are left.


_HEAD = """\
<!-- Made by docs/attacks.py: change it there. -->

# Attacks

One scenario for each of ten contestants in which it does badly, made by [`incast attack`](guide/attack.md):
a search of 40 candidates, then the smallest scenario that still shows it. They say where to look, and rank
nobody: other ranges and other scores find others. `last_over_bound` is the time of the last flow of a burst
over what its link needs for all of them; `fairness` is Jain's index of two long flows, 1 when both carry the
same.

Each file is in `docs/attacks`. `incast run FILE` replays it to the fingerprint, which a test checks.
"""


def main() -> None:
    """Makes what is asked for."""
    words = sys.argv[1:]
    if words[:1] == ["--search"]:
        with tempfile.TemporaryDirectory() as folder:
            for piece in GALLERY:
                if not words[1:] or piece.contestant in words[1:]:
                    search(piece, Path(folder))
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
