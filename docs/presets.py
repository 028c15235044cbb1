"""Measures every preset on four networks and writes the tables into the pages of the algorithms.

``python docs/presets.py`` makes all of them, ``python docs/presets.py oscar ccc`` the ones of two
algorithms. ``python docs/presets.py --files FOLDER oscar`` writes the scenarios, and runs nothing.
``docs/guide/presets.md`` has the rules. Every number is of one deterministic run, so a test makes some of
them once more and compares digits.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import incast
from incast import catalogue, stats

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
BASES = DOCS.parent / "examples" / "presets"
SUMMARY = DOCS / "guide" / "presets.md"

BEGIN, END = "<!-- presets: made by docs/presets.py -->", "<!-- presets: end -->"

WARM_UP, MEASURED, ARRIVALS, TIMEOUT, SAMPLES = 400, 200, 100, 100, 20
"""Base RTTs before the measured window, in it, in which flows arrive, and until the retransmission timer
expires; and samples of a queue in one base RTT."""


@dataclass(frozen=True)
class Network:
    """A network of links of one rate.

    Attributes:
        gbps: Their rate.
        rtt_us: The base RTT, without the time to send a packet and its acknowledgement.
    """

    gbps: int
    rtt_us: int

    @property
    def title(self) -> str:
        """The network in a heading."""
        return f"{self.gbps} Gbps, {self.rtt_us} us"

    @property
    def bdp(self) -> int:
        """The bandwidth-delay product in bytes."""
        return self.gbps * self.rtt_us * 125

    def time(self, rtts: float) -> str:
        """A time in base RTTs, as scenario files write it."""
        return f"{round(rtts * self.rtt_us * 10**6)}ps"


NETWORKS = (Network(25, 20), Network(100, 12), Network(400, 8), Network(800, 6))

Run = Callable[[Network], dict[str, Any]]
"""The changes of a scenario in ``examples/presets`` that make a column."""


def star(flows: int, at_once: bool = False, noise: str | None = None) -> Run:
    """Flows of as many hosts to one."""

    def changes(network: Network) -> dict[str, Any]:
        changed: dict[str, Any] = {
            "topology.hosts": flows + 1,
            "topology.rate": f"{network.gbps}Gbps",
            "topology.delay": network.time(1 / 4),
            "probe.ports": [f"s0->h{flows}"],
            "probe.interval": network.time(1 / SAMPLES),
            "traffic.flows.from": f"h0-h{flows - 1}",
            "traffic.flows.to": f"h{flows}",
            "traffic.flows.stagger": network.time(0 if at_once else ARRIVALS / flows),
        }
        if noise is not None:
            changed["impairments.timestamp_noise"] = noise
        return changed

    return changes


def two_rtts(network: Network) -> dict[str, Any]:
    """Two flows each of two base RTTs, one of them 2/3 of the other."""
    far = {f"topology.links.{number}.delay": network.time(1 / 3) for number in (2, 3)}
    return far | {
        "topology.rate": f"{network.gbps}Gbps",
        "topology.delay": network.time(1 / 6),
        "traffic.flows.stagger": network.time(ARRIVALS / 4),
    }


def two_hops(network: Network) -> dict[str, Any]:
    """A flow over two bottlenecks, beside one over each."""
    return {
        "topology.rate": f"{network.gbps}Gbps",
        "topology.delay": network.time(1 / 8),
        "topology.bottleneck_delay": network.time(1 / 4),
    }


@dataclass(frozen=True)
class Measured:
    """The measured window of a run.

    Attributes:
        use: Payload that was acknowledged, as a share of the link's rate.
        goodput: Payload of each flow that was acknowledged in it, by number.
        sources: Host from which each flow comes, by number.
        queue: Mean queue in bytes.
        deviation: Its standard deviation.
        bdp: The network's bandwidth-delay product in bytes.
    """

    use: float
    goodput: tuple[int, ...]
    sources: tuple[str, ...]
    queue: float
    deviation: float
    bdp: int

    def shared(self) -> str:
        """Use of the link and Jain's index, which flows without any goodput have not."""
        index = f"{stats.jain(self.goodput):.2f}" if any(self.goodput) else "–"
        return f"{100 * self.use:.1f} % {index}"

    def with_queue(self) -> str:
        """Use, index and queue."""
        return f"{self.shared()}<br>{amount(self.queue)} ({self.queue / self.bdp:.2f})"

    def steady(self) -> str:
        """The mean queue and its deviation."""
        return amount(self.queue, self.deviation)

    def ratio(self, one: str, other: str) -> str:
        """The mean goodput of flows from some hosts over the mean of those from others."""
        flows = list(zip(self.goodput, self.sources, strict=True))
        above, below = (
            float(np.mean([acked for acked, host in flows if is_one(host, kind)])) for kind in (one, other)
        )
        if above >= 100 * below:
            return "> 100"
        return f"{above / below:.2f}"


def is_one(host: str, kind: str) -> bool:
    """Whether a host is one of a kind: its name begins with it, or is in a list of names."""
    return host in kind.split(",") or host.rstrip("0123456789") == kind


def amount(count: float, deviation: float | None = None) -> str:
    """An amount with its unit, three digits at most, and its deviation in the same."""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if count >= 0.9995 * scale),
        (1, "B"),
    )
    digits = 0 if unit == "B" or count >= 99.95 * scale else 1 if count >= 9.995 * scale else 2
    more = "" if deviation is None else f" ± {deviation / scale:.{digits}f}"
    return f"{count / scale:.{digits}f}{more} {unit}"


@dataclass(frozen=True)
class Column:
    """A column of the tables.

    Attributes:
        heading: Its heading.
        base: Name of the file in ``examples/presets``.
        changes: Changes of that scenario for a network.
        cell: The text of a cell.
    """

    heading: str
    base: str
    changes: Run
    cell: Callable[[Measured], str]


COLUMNS = (
    Column("2 flows", "star", star(2), Measured.with_queue),
    Column("8 flows", "star", star(8), Measured.with_queue),
    Column("64 flows", "star", star(64), Measured.with_queue),
    Column("near/far", "two-rtts", two_rtts, lambda it: it.ratio("near", "far")),
    Column("two hops/one", "parking-lot", two_hops, lambda it: it.ratio("h1", "h0,h3")),
    Column("32:1", "star", star(32, at_once=True), Measured.steady),
    Column("0.3 us noise", "star", star(8, noise="0.3us"), Measured.shared),
    Column("1 us noise", "star", star(8, noise="1us"), Measured.shared),
)


OWN: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ndp": {"default": {}, "first window 23": {"transport.ndp.first_window": 23}},
    "homa": {
        "default": {},
        "overcommitment 1": {"transport.homa.overcommitment": 1},
        "overcommitment 8": {"transport.homa.overcommitment": 8},
    },
    "bfc": {"default": {}, "resume last-packet": {"switch.bfc.resume": "last-packet"}},
}
"""Transports and networks with a control of their own: names in place of presets, and the keys to set."""


def reads_marks(algorithm: str) -> bool:
    """Whether a preset of an algorithm reads marks."""
    known = (catalogue.algorithm(algorithm, preset) for preset in all_presets(algorithm))
    return any("ecn" in one.signals for one in known if one is not None)


def marks(algorithm: str, network: Network) -> dict[str, Any]:
    """The marks for an algorithm, as its contestant has them, in bytes of a network."""
    settings = next(one.settings for one in catalogue.contestants() if one.name == algorithm)
    written = next(value for key, value, _ in settings if key == "switch.ecn")
    ecn = tomllib.loads(f"ecn = {written}")["ecn"]

    def amount_of(text: str) -> str:
        share = text.removesuffix(" BDP")
        if share != text:
            return f"{int(Fraction(share) * network.bdp)}B"
        rate = catalogue.read_quantity("rate", ecn["reference"])
        return f"{catalogue.read_quantity('bytes', text) * network.gbps * 10**9 // rate}B"

    return {"kmin": amount_of(ecn["kmin"]), "kmax": amount_of(ecn["kmax"]), "pmax": ecn["pmax"]}


def needs(algorithm: str, network: Network) -> dict[str, Any]:
    """Settings of switches and hosts for an algorithm, by the rules of ``docs/guide/presets.md``."""
    known = catalogue.algorithm(algorithm)
    changed: dict[str, Any] = {
        "probe.from": network.time(WARM_UP),
        "probe.flow_interval": network.time(MEASURED),
        "run.until": network.time(WARM_UP + MEASURED),
    }
    if known is None:
        # No message ends before the run; messages need a size.
        size = {"traffic.flows.size": f"{(WARM_UP + MEASURED) * network.bdp}B"}
        own: dict[str, dict[str, Any]] = {
            "ndp": {"transport.kind": "ndp", "switch": {"trimming": {}}},
            "homa": {"transport.kind": "homa", "switch": {"buffer": "unlimited", "queues": 8}, **size},
            "bfc": {"cc": {"algorithm": "constant"}, "switch": {"bfc": {}}},
        }
        return changed | own[algorithm]
    changed["transport.rto"] = network.time(TIMEOUT)
    if known.family in ("loss", "fixed"):
        # Clocks of their own, or ties decide who loses.
        changed |= {
            "switch": {"buffer": {"per_port": f"{network.bdp}B"}},
            "transport.recovery": "selective",
            "run.clock": "100ppm",
        }
    if reads_marks(algorithm):
        changed["switch.ecn"] = marks(algorithm, network)
    return changed


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        algorithm: The algorithm.
        preset: Its preset.
        network: Number of the network.
        column: Number of the column.
    """

    algorithm: str
    preset: str
    network: int
    column: int

    def changes(self) -> dict[str, Any]:
        """Returns the changes of the scenario in ``examples/presets``."""
        network = NETWORKS[self.network]
        changed = needs(self.algorithm, network) | COLUMNS[self.column].changes(network)
        if self.algorithm in OWN:
            if "traffic.flows.size" in changed and COLUMNS[self.column].base == "parking-lot":
                changed["traffic.through.size"] = changed["traffic.flows.size"]
            return changed | dict(OWN[self.algorithm][self.preset])
        return changed | {"cc": {"algorithm": self.algorithm, "preset": self.preset}}

    def scenario(self) -> incast.Scenario:
        """Returns the scenario that is run."""
        base = tomllib.loads((BASES / f"{COLUMNS[self.column].base}.toml").read_text())
        if self.algorithm in OWN:
            # Homa and NDP refuse an algorithm at the sender and the timer of the window transport.
            del base["cc"], base["transport"]
        for path, value in self.changes().items():
            put(base, path.split("."), value)
        return incast.Scenario.from_dict(base)

    @property
    def applies(self) -> bool:
        """Whether there is a number: NDP and Homa measure no delays that could have errors."""
        return not (self.algorithm in ("ndp", "homa") and "noise" in COLUMNS[self.column].heading)

    def text(self) -> str:
        """Runs the scenario and returns the text of the cell."""
        if not self.applies:
            return "–"
        with warnings.catch_warnings():
            # The tables say what comes of it.
            warnings.simplefilter("ignore", incast.IncastWarning)
            result = self.scenario().run()
        return COLUMNS[self.column].cell(measured(result, NETWORKS[self.network]))


def put(section: Any, path: Sequence[str], value: object) -> None:  # noqa: ANN401  # tables and lists of TOML
    """Sets a key of a scenario, by its path; a step into a list is a number or the name of a block."""
    step, *rest = path
    if isinstance(section, list):
        place = int(step) if step.isdigit() else [block["name"] for block in section].index(step)
        put(section[place], rest, value)
    elif rest:
        put(section.setdefault(step, {}), rest, value)
    else:
        section[step] = value


def measured(result: incast.Result, network: Network) -> Measured:
    """The measured window of a result, between the first and the last sample of the flows."""
    rows = result.flow_series
    times, numbers, acked = (rows.column(name) for name in ("time_ps", "flow", "acked_bytes"))
    first, last = int(times.min()), int(times.max())
    assert last - first == MEASURED * network.rtt_us * 10**6, "two samples, at the ends of the window"
    before = dict(zip(numbers[times == first].tolist(), acked[times == first].tolist(), strict=True))
    after = dict(zip(numbers[times == last].tolist(), acked[times == last].tolist(), strict=True))
    flows = sorted(after)
    goodput = tuple(after[flow] - before.get(flow, 0) for flow in flows)
    host = dict(zip(result.flows.column("flow").tolist(), result.flows.column("source"), strict=True))
    queue, deviation = 0.0, 0.0
    if result.probed_ports():
        node, port = result.probed_ports()[0]
        series = result.port(node, port)
        queue = float(np.average(series.queue_bytes, weights=series.samples))
        deviation = float(np.average((series.queue_bytes - queue) ** 2, weights=series.samples) ** 0.5)
    return Measured(
        use=sum(goodput) * 8000 / ((last - first) * network.gbps),
        goodput=goodput,
        sources=tuple(str(host[flow]) for flow in flows),
        queue=queue,
        deviation=deviation,
        bdp=network.bdp,
    )


# The presets of an algorithm.

ROLES = {
    "letter": {
        "mnscc:median",
        "newreno:rfc",
        "oracle:oscar",
        "poseidon:oscar",
    },
    "code": {
        "dcqcn:mellanox",
        "nscc:uec",
        "nscc:trimming",
        "retcp:module",
        "smartt:htsim",
        "timely:hpcc",
    },
}
"""Presets whose name does not say it: the letter of a paper or standard, and what a public program does."""


def role(algorithm: str, preset: str) -> str:
    """Says of a preset whether it is the letter of the paper, its public code, and the default."""
    default = all_presets(algorithm)[0] == preset
    known = f"{algorithm}:{preset}"
    kinds = [
        ("letter", preset == "paper" or known in ROLES["letter"]),
        ("artifact", preset.startswith("artifact")),
        ("code", preset == "htsim" or known in ROLES["code"]),
        ("default", default),
    ]
    return ", ".join(dict.fromkeys(kind for kind, is_it in kinds if is_it))


def all_presets(algorithm: str) -> list[str]:
    """The names of an algorithm's presets, the default first."""
    if algorithm in OWN:
        return list(OWN[algorithm])
    known = catalogue.algorithm(algorithm)
    assert known is not None, algorithm
    return [name for name, _ in known.presets]


def cells(algorithm: str) -> Iterator[Cell]:
    """The cells of an algorithm's tables, table by table and row by row."""
    for network in range(len(NETWORKS)):
        for preset in all_presets(algorithm):
            for column in range(len(COLUMNS)):
                yield Cell(algorithm, preset, network, column)


def fingerprint(algorithm: str) -> str:
    """Returns a hash of everything that decides an algorithm's numbers but the simulator.

    That is the parameters of its presets, and the scenarios.
    """
    digest = hashlib.sha256()
    for base in sorted(BASES.glob("*.toml")):
        digest.update(base.read_bytes())
    for preset in all_presets(algorithm):
        known = catalogue.algorithm(algorithm, preset)
        if known is None:
            written = tomllib.loads(Cell(algorithm, preset, 0, 0).scenario().to_toml())
            settings = [written["transport"].get(algorithm), written["switch"].get(algorithm)]
            digest.update(f"{preset} {settings}".encode())
        else:
            # Presets put no median before a signal, and its other options then decide nothing.
            own = [
                it
                for it in known.parameters
                if not it.name.startswith("median") or it.name == "median_average"
            ]
            digest.update(f"{preset} {[(it.name, it.value) for it in own]}".encode())
    for cell in cells(algorithm):
        digest.update(repr(cell.changes()).encode())
    return digest.hexdigest()[:16]


HEAD = "| preset | | " + " | ".join(column.heading for column in COLUMNS) + " |"
ABOUT = (
    "Each cell of flows: payload as a share of the link, Jain's index, mean queue and the same in BDPs. "
    "Near/far and two hops/one are ratios of rates; 32:1 is the queue after 32 simultaneous starts. "
    "[Presets side by side](../guide/presets.md) has the set-up and the defaults of all algorithms, "
    "[Presets that figures judge](../judged.md) the builds behind the verdicts."
)
RULE = "| --- | --- |" + " --- |" * len(COLUMNS)


def block(algorithm: str, texts: Mapping[Cell, str]) -> str:
    """The part of an algorithm's page with its tables."""
    parts = [
        BEGIN,
        f"<!-- of the parameters {fingerprint(algorithm)} -->",
        ABOUT,
    ]
    for number, network in enumerate(NETWORKS):
        rows = [
            f"| `{preset}` | {role(algorithm, preset)} | "
            + " | ".join(texts[Cell(algorithm, preset, number, column)] for column in range(len(COLUMNS)))
            + " |"
            for preset in all_presets(algorithm)
        ]
        parts += [f"**{network.title}**", "\n".join([HEAD, RULE, *rows])]
    return "\n\n".join([*parts, END])


def page(algorithm: str) -> Path:
    """The page of an algorithm."""
    return DOCS / ("network" if algorithm in OWN else "algorithms") / f"{algorithm}.md"


def split(path: Path) -> tuple[str, str, str]:
    """A page before the tables, the tables, and the page behind them.

    Raises:
        SystemExit: When it has no such part.
    """
    before, found, rest = path.read_text().partition(BEGIN)
    inside, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{path} has no part {BEGIN} … {END}")
    return before, f"{BEGIN}{inside}{END}", after


def read(algorithm: str) -> dict[Cell, str]:
    """The cells in the page of an algorithm.

    Raises:
        SystemExit: When its tables have other networks or columns than here.
    """
    found: dict[Cell, str] = {}
    network = -1
    for line in split(page(algorithm))[1].splitlines():
        if line.startswith("**"):
            network += 1
            if line != f"**{NETWORKS[network].title}**":
                raise SystemExit(f"{page(algorithm)}: {line} is no network")
        if line.startswith("| `"):
            preset, _, *texts = (part.strip() for part in line.strip("|").split("|"))
            for column, text in enumerate(texts):
                found[Cell(algorithm, preset.strip("`"), network, column)] = text
    return found


def stale(algorithm: str) -> bool:
    """Whether the page of an algorithm has the tables of other parameters or another set-up."""
    texts = dict.fromkeys(cells(algorithm), "") | read(algorithm)
    return split(page(algorithm))[1] != block(algorithm, texts)


def names() -> list[str]:
    """All algorithms, in the order of ``incast list``, then what has a control of its own."""
    return [*(algorithm.name for algorithm in catalogue.algorithms()), *OWN]


def summary(network: int = 1) -> str:
    """A table of the defaults of all algorithms on one network, from their pages."""
    rows = []
    titles = {algorithm.name: algorithm.title for algorithm in catalogue.algorithms()}
    titles |= {own.name: own.title for own in catalogue.own_controls()}
    for name in names():
        texts, preset = read(name), all_presets(name)[0]
        row = [texts.get(Cell(name, preset, network, column), "") for column in range(len(COLUMNS))]
        link = f"[{titles[name]}](../{page(name).parent.name}/{name}.md)"
        rows.append(f"| {link} | `{preset}` | {' | '.join(row)} |")
    head = HEAD.replace("| preset | |", "| algorithm | default |")
    return "\n\n".join([BEGIN, f"**{NETWORKS[network].title}**", "\n".join([head, RULE, *rows]), END])


def write_summary() -> None:
    """Writes the table of the defaults."""
    before, _, after = split(SUMMARY)
    SUMMARY.write_text(f"{before}{summary()}{after}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("algorithms", nargs="*", help="algorithms; by default all")
    parser.add_argument("--files", type=Path, help="write the scenarios into this folder, and run nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.algorithms if name not in names()]
    if unknown:
        parser.error(f"there is no algorithm {', '.join(unknown)}")
    chosen = [cell for name in asked.algorithms or names() for cell in cells(name)]
    if asked.files:
        write_files(asked.files, chosen)
        return
    # The dear ones first, so that both processes are busy to the end.
    order = sorted(chosen, key=lambda cell: -NETWORKS[cell.network].bdp)
    texts: dict[Cell, str] = {}
    with ProcessPoolExecutor(asked.jobs) as pool:
        for done, (cell, text) in enumerate(zip(order, pool.map(Cell.text, order), strict=True), 1):
            texts[cell] = text
            if done % 50 == 0:
                print(f"\r{done} of {len(order)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for name in asked.algorithms or names():
        before, _, after = split(page(name))
        page(name).write_text(f"{before}{block(name, texts)}{after}")
    write_summary()


def write_files(folder: Path, chosen: Sequence[Cell]) -> None:
    """Writes the scenario of each cell as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in chosen:
        if not cell.applies:
            continue
        network, heading = NETWORKS[cell.network], COLUMNS[cell.column].heading
        words = f"{cell.algorithm} {cell.preset} {network.gbps}Gbps {heading}"
        name = re.sub(r"[^\w.]+", "-", words)
        (folder / f"{name}.toml").write_text(cell.scenario().to_toml())


if __name__ == "__main__":
    main()
