"""Pictures and tables of where the instructions of a packet-hop go.

`python benches/flame.py NAME` counts a workload of the bench under callgrind, in the release build
`target/release/incast-bench`, at the size at which `--count` counts it. It prints a table by part and writes
`docs/pictures/performance-NAME.svg`, a flame graph: above each function is what it calls, as wide as its
share. `--tables` prints the tables alone. Needs valgrind, addr2line and matplotlib.

Functions that the compiler has put into others have their own boxes: debug information tells which
instruction is of which (`addr2line --inlines`). callgrind knows callers, but no stacks: what a function takes
is divided among its callers as their calls of it are.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "target/release/incast-bench"
PICTURES = ROOT / "docs/pictures"

PARTS = ("events", "switches", "hosts", "algorithm", "memory", "other")

MEMORY = re.compile(
    r"(^|_)(m|c|re)alloc|^(cfree|free|_int_|unlink|sysmalloc|__rust_|__mem|mem)|RawVec|::grow"
)
"""Functions of the libraries that find, move or give back memory. `Vec::push` is none of them."""

COLOURS = ("#7fb3d5", "#f0b27a", "#82c99d", "#c39bd3", "#d5d8dc", "#eaecee")

SMALLEST = 0.002
"""Share of the whole below which a box is not drawn."""

ROOT_FUNCTION = "windows::run_share"
"""The function that processes the windows of a run: `crates/engine/src/windows.rs`."""

Stack = tuple[tuple[str, str], ...]
"""Functions from the outermost to the innermost, each with its file."""


@dataclass
class Counts:
    """Counts by callgrind.

    Attributes:
        own: Instructions of each function, by their address.
        calls: Calls of each function, by their address: the function called and its instructions.
        called: Instructions of each function with what it calls, from all callers.
    """

    own: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: collections.defaultdict(list))
    calls: dict[str, list[tuple[int, str, int]]] = field(
        default_factory=lambda: collections.defaultdict(list)
    )
    called: collections.Counter[str] = field(default_factory=collections.Counter)


def read(path: Path) -> Counts:
    """Reads a file of callgrind's that was written with `--dump-instr=yes`."""
    names: dict[str, str] = {}
    counts = Counts()
    function = callee = ""
    address, is_call = 0, False

    def name(text: str) -> str:
        number, _, rest = text.partition(" ")
        return names.setdefault(number, rest)

    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("fn="):
            function = name(line[3:])
        elif line.startswith("cfn="):
            callee = name(line[4:])
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[0-9+*-]", line):
            words = line.split()
            if words[0][0] in "+-":
                address += int(words[0])
            elif words[0] != "*":
                address = int(words[0], 16)
            cost = int(words[2]) if len(words) > 2 else 0
            if is_call:
                counts.calls[function].append((address, callee, cost))
                counts.called[callee] += cost
                is_call = False
            else:
                counts.own[function].append((address, cost))
    return counts


def frames(addresses: list[int]) -> dict[int, Stack]:
    """The functions at each address of the bench, from the outermost to the innermost that is part of it."""
    words = ["addr2line", "--addresses", "--inlines", "--functions", "--demangle", f"--exe={BENCH}"]
    text = "\n".join(map(hex, addresses))
    lines = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[int, list[tuple[str, str]]] = {}
    address = 0
    lines.reverse()
    while lines:
        line = lines.pop()
        if line.startswith("0x"):
            address = int(line, 16)
            found[address] = []
        else:
            found[address].append((line, lines.pop()))
    return {address: tuple(reversed(each)) for address, each in found.items()}


def fold(counts: Counts) -> collections.Counter[Stack]:
    """Instructions by stack of all windows of a run, without its making and its end."""
    root = next((name for name in counts.calls if ROOT_FUNCTION in name), None)
    if root is None:
        bench = BENCH.relative_to(ROOT)
        sys.exit(f"{bench} has no function {ROOT_FUNCTION}: was it renamed, or is the bench old?")
    addresses = {at for each in counts.own.values() for at, _ in each}
    addresses |= {at for each in counts.calls.values() for at, _, _ in each}
    known = frames(sorted(addresses))
    folded: collections.Counter[Stack] = collections.Counter()

    def here(function: str, address: int) -> Stack:
        inside = known.get(address, ())
        return inside if inside and inside[0][0] != "??" else ((function, "?"),)

    def add(stack: Stack, function: str, share: float) -> None:
        for address, cost in counts.own[function]:
            folded[stack + here(function, address)] += cost * share  # type: ignore[assignment]
        for address, callee, cost in counts.calls[function]:
            # What calls itself is counted as its own.
            if cost * share >= 1 and callee != function and len(stack) < 80:
                add(stack + here(function, address), callee, share * cost / counts.called[callee])

    add((), root, 1.0)
    return folded


def short(function: str) -> str:
    """A function's name without the types that it is for."""
    text = function
    while (fewer := re.sub(r"<[^<>]*>", "", text)) != text:
        text = fewer
    words = [word for word in text.split("::") if word and "closure" not in word]
    return "::".join(words[-2:]) or function


def part(stack: Stack) -> str:
    """The part of the simulator that a stack belongs to."""
    project = [file.split("/crates/")[1] for _, file in stack if "/crates/" in file]
    innermost = stack[-1]
    if "/crates/" not in innermost[1] and MEMORY.search(innermost[0]):
        return "memory"
    if not project:
        return "other"
    if project[-1].startswith("cc/"):
        return "algorithm"
    if project[-1].startswith("engine/"):
        return "events"
    for place, name in (("sim/src/host/", "hosts"), ("sim/src/switch/", "switches")):
        if any(file.startswith(place) for file in project):
            return name
    return "other"


def count(name: str) -> tuple[collections.Counter[Stack], int]:
    """Counts a workload: instructions by stack, and packet-hops."""
    if not BENCH.exists():
        sys.exit(f"there is no {BENCH.relative_to(ROOT)}: cargo build --release --package incast-bench")
    sizes = subprocess.run([BENCH, "--sizes"], capture_output=True, text=True, check=True).stdout
    small = {line.split()[0]: line.split()[1] for line in sizes.splitlines()}
    if name not in small:
        sys.exit(f"{name} is not counted: there are {', '.join(small)}")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        words = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out}"]
        words += ["--quiet", "--toggle-collect=*count*counted*", str(BENCH), "--small", name, small[name]]
        hops = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        return fold(read(out)), hops


def table(folded: collections.Counter[Stack], hops: int) -> dict[str, float]:
    """Instructions a packet-hop by part."""
    found = dict.fromkeys(PARTS, 0.0)
    for stack, cost in folded.items():
        found[part(stack)] += cost / hops
    return found


def draw(name: str, folded: collections.Counter[Stack], hops: int) -> Path:
    """Draws the flame graph of a workload; returns its file."""
    import matplotlib

    matplotlib.use("svg")
    # The letters of boxes stay letters, and the file is the same each time.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "incast"})
    from matplotlib import pyplot

    boxes: collections.Counter[tuple[str, ...]] = collections.Counter()
    owner: dict[tuple[str, ...], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for stack, cost in folded.items():
        names: list[str] = []
        for function, file in stack:
            is_ours = "/crates/" in file or file == "?"
            if is_ours and (not names or names[-1] != short(function)):
                names.append(short(function))
        for depth in range(1, len(names) + 1):
            boxes[tuple(names[:depth])] += cost
            owner[tuple(names[:depth])][part(stack)] += cost
    whole = max(boxes.values())
    colours = dict(
        zip(PARTS, ("#7fb3d5", "#f0b27a", "#82c99d", "#c39bd3", "#d5d8dc", "#eaecee"), strict=True)
    )
    lefts: dict[tuple[str, ...], float] = {(): 0.0}
    deepest = max(len(box) for box, cost in boxes.items() if cost >= SMALLEST * whole)
    figure, axes = pyplot.subplots(figsize=(12, 0.26 * deepest + 0.8))
    for box in sorted(boxes, key=lambda box: (len(box), -boxes[box], box)):
        left, width = lefts[box[:-1]], boxes[box] / whole
        lefts[box[:-1]] = left + width
        lefts[box] = left
        if width < SMALLEST:
            continue
        (most, _), *_ = owner[box].most_common(1)
        axes.add_patch(
            pyplot.Rectangle(
                (left, len(box) - 1), width, 0.94, facecolor=colours[most], edgecolor="white", lw=0.4
            )
        )
        text = f"{box[-1]} {boxes[box] / hops:.0f}"
        if len(text) * 0.0052 < width:
            axes.text(left + width / 2, len(box) - 0.55, text, ha="center", va="center", fontsize=7)
    axes.set(xlim=(0, 1), ylim=(0, deepest), yticks=[], xticks=[])
    axes.set_title(f"{name}: instructions a packet-hop, {whole / hops:.0f} in all", fontsize=10)
    handles = [pyplot.Rectangle((0, 0), 1, 1, facecolor=colours[each]) for each in PARTS[:5]]
    axes.legend(
        handles, PARTS[:5], ncol=5, fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0)
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    path = PICTURES / f"performance-{name}.svg"
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    return path


def main() -> None:
    """Counts workloads, prints their tables, and draws the first one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="a workload of the bench")
    parser.add_argument("--tables", action="store_true", help="write no picture")
    chosen = parser.parse_args()
    print("| instructions a packet-hop |", " | ".join(PARTS), "| all |")
    print("| --- |", " ---: |" * (len(PARTS) + 1))
    for name in chosen.names:
        folded, hops = count(name)
        found = table(folded, hops)
        cells = " | ".join(f"{found[each]:.0f}" for each in PARTS)
        print(f"| `{name}` | {cells} | {sum(found.values()):.0f} |", flush=True)
        if not chosen.tables:
            print(draw(name, folded, hops).relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
