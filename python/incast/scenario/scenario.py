"""Scenarios: what to simulate, read and checked."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incast import _core, algorithm
from incast._build import build
from incast._core import Size
from incast.errors import Problem, renamed, scenario_error, unsaid, warn
from incast.progress import Progress, ProgressLine
from incast.results.listing.forms import escaped
from incast.results.result import Result
from incast.results.titles import title
from incast.scenario import _toml
from incast.scenario.starts import start, starts

__all__ = ["Interrupted", "Progress", "Scenario", "Size", "schema", "template"]


@dataclass(frozen=True)
class _Origin:
    """Origin of a scenario.

    Attributes:
        text: The content of its file.
        file: The name of its file.
        overrides: Keys that were set afterwards.
        names: Sources of problems and how they were written in Python, in pairs.
    """

    text: str
    file: str
    overrides: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    def read(self) -> Scenario:
        with self.named():
            core = _core.Scenario.from_toml(self.text, self.file, list(self.overrides))
        return Scenario(core, self)

    def changed(self, *overrides: str, names: Iterable[tuple[str, str]] = ()) -> _Origin:
        """Returns the origin with more overrides.

        Args:
            overrides: The overrides.
            names: As of the class, of those that a user wrote.
        """
        return replace(self, overrides=(*self.overrides, *overrides), names=(*self.names, *names))

    @contextmanager
    def named(self, *more: tuple[str, str]) -> Iterator[None]:
        """A context in which problems name their sources as they were written in Python.

        Args:
            more: Further names.
        """
        try:
            yield
        except _core.ScenarioError as error:
            raise renamed(error, dict((*self.names, *more))) from None

    def without_algorithm(self) -> _Origin:
        """Returns the origin without the choices of an algorithm; parameters that were set stay."""
        kept = (text for text in self.overrides if not _CHOICE.match(text))
        return replace(self, overrides=tuple(kept))


_CHOICE = re.compile(r"""\s*cc\s*(=|\.\s*["']?(algorithm|preset)["']?\s*=)""")
"""Overrides that choose an algorithm: the whole section, its name, or its preset."""

SOMEWHERE = "scenario.toml"
"""The name of the file of a scenario that is in no file."""


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C. The result up to that point is kept.

    Attributes:
        result: The result so far.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        """Says where the run was and where its result is."""
        outcome = self.result.info["outcome"]
        where = (
            f"the partial result was saved in {self.result.folder}"
            if self.result.folder
            else "nothing was saved"
        )
        done = f"{outcome['flows_finished']:,} of {outcome['flows']:,} flows finished"
        return f"stopped at {outcome['now_ps'] / 1e6:,.1f} us of simulated time, {done}; {where}"


class Scenario:
    """A checked scenario. It is immutable; methods that change it return a new one.

    Create one with :meth:`load` (a TOML file), :meth:`from_toml` (a string), :meth:`from_dict`,
    :meth:`build` (Python objects) or :meth:`new` (one to start from). Two scenarios are equal when they
    describe the same run. Scenarios can be pickled; files that they name, and algorithms of your own, must
    exist where they are unpickled.
    """

    def __init__(self, core: _core.Scenario, origin: _Origin | None = None) -> None:
        self._core = core
        self._origin = origin or _Origin(core.to_toml(), f"{core.name}.toml")

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
        """Reads a scenario file.

        Args:
            path: A TOML file.
            overrides: Keys to set before the file is checked, like ``"topology.rate=400Gbps"``.

        Raises:
            ScenarioError: When something in the file or in an override is wrong; its text names every
                problem with file, line and key, and what would be right.
        """
        _refuse_missing(Path(path))
        core = _core.Scenario.load(os.fspath(path), list(overrides))
        return cls(core, _Origin(_core.read_text(os.fspath(path)), os.fspath(path), tuple(overrides)))

    @classmethod
    def from_toml(cls, text: str, name: str = SOMEWHERE, overrides: Sequence[str] = ()) -> Scenario:
        """Reads a scenario from a string.

        Args:
            text: The contents of a scenario file.
            name: The file's name for messages; paths in the scenario are relative to its folder.
            overrides: As in :meth:`load`.

        Raises:
            ScenarioError: As in :meth:`load`.
        """
        return _Origin(text, name, tuple(overrides)).read()

    @classmethod
    def from_dict(cls, sections: Mapping[str, Any], name: str = SOMEWHERE) -> Scenario:
        """Reads a scenario from a dictionary with the sections and keys of a scenario file.

        Args:
            sections: Like ``{"topology": {"kind": "star", ...}, "traffic": [{...}], "cc": {...}}``. Values
                are what TOML has, quantities of :mod:`incast.units` and descriptions of
                :mod:`incast.sections`. Keys whose value is None are left out.
            name: As in :meth:`from_toml`; messages have no lines.

        Raises:
            ScenarioError: As in :meth:`load`.
            TypeError: When a value has a type that is not allowed in a scenario.
        """
        return cls._of_sections(sections, name, "Scenario.from_dict" if name == SOMEWHERE else name)

    @classmethod
    def _of_sections(cls, sections: Mapping[str, Any], name: str, call: str) -> Scenario:
        return _Origin(_toml.document(sections), name, names=((name, call),)).read()

    @classmethod
    def new(cls, kind: str) -> Scenario:
        """Returns a scenario to start from, as ``incast new`` writes it.

        Args:
            kind: ``"training"``, ``"storage"``, ``"websearch"``, ``"incast"`` or ``"microburst"``.

        Raises:
            ValueError: When there is none of this kind.
        """
        name = f"{kind}.toml"
        return cls.from_toml(start(kind).for_file(name).text, name)

    @classmethod
    def build(
        cls,
        *,
        topology: object,
        traffic: object,
        cc: object = None,
        change: object = None,
        impairments: object = None,
        server: object = None,
        switch: object = None,
        transport: object = None,
        balancing: object = None,
        probe: object = None,
        run: object = None,
        seed: int = 1,
        name: str = "scenario",
        **others: object,
    ) -> Scenario:
        """Makes a scenario from its sections.

        ```python
        from incast.sections import Flows, Probe, Star

        incast.Scenario.build(
            topology=Star(hosts=4, rate="100Gbps", delay="3us"),
            traffic=[Flows(from_=["h0", "h1"], to="h3", size="600KB")],
            cc="oscar",
            probe=Probe(ports=["to h3"]),
        )
        ```

        Args:
            topology: The network, of :mod:`incast.sections` or a mapping; so are all sections.
            traffic: A block of traffic, or several.
            cc: The algorithm: a name (``"oscar"``, ``"oscar:artifact"``), a class of your own, or a
                mapping with its parameters. None if every block has its own.
            change: Changes of links during the run: one block (:class:`~incast.sections.Change`), or
                several.
            impairments: Departures from the ideal: noise of time stamps, clocks, bit errors, hosts that take
                packets slowly, failures noticed late.
            server: Links inside of hosts with several GPUs.
            switch: Behaviour of every switch.
            transport: Behaviour of every host.
            balancing: How the packets of a flow are spread over equal paths.
            probe: What to record in addition to totals and flow completions.
            run: When the run ends.
            seed: Seed of every random draw.
            name: Its name.
            **others: Any other section, by its name.

        Raises:
            ScenarioError: As in :meth:`load`.
            TypeError: As in :meth:`from_dict`.
        """
        sections = {
            "name": name,
            "seed": seed,
            "topology": topology,
            "change": None if change is None else _blocks(change),
            "impairments": impairments,
            "server": server,
            "switch": switch,
            "transport": transport,
            "balancing": balancing,
            "cc": cc if cc is None or not (isinstance(cc, str) or callable(cc)) else _chosen(cc, {}),
            "traffic": _blocks(traffic),
            "probe": probe,
            "run": run,
            **others,
        }
        return cls._of_sections(sections, f"{name}.toml", "Scenario.build")

    @property
    def name(self) -> str:
        """Its name: the one in the file, or the file's name without extension."""
        return self._core.name

    @property
    def file(self) -> str:
        """The file that it was read from, or the name it was given; paths in it start from its folder."""
        return self._origin.file

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return self._core.seed

    @property
    def algorithm(self) -> str | None:
        """The algorithm, with its preset, of all traffic blocks without their own: ``oscar:paper``."""
        return self._core.algorithm

    @property
    def payload_bytes(self) -> int:
        """Payload of a full data packet, in bytes."""
        return self._core.payload_bytes

    @property
    def has_own_clocks(self) -> bool:
        """Whether each node has a clock of its own (``run.clock``), because it says so or by default."""
        return self._core.has_own_clocks

    @property
    def outages(self) -> list[tuple[int, int, int, int | None]]:
        """The times in which nodes know that links are down: node, port, begin and end in picoseconds.

        An end of None is never. Until a node knows it (``impairments.switch_detection``, ``host_detection``)
        it sends into the dead link.
        """
        return self._core.outages()

    @property
    def files(self) -> list[str]:
        """The files in the format of another program that it names, as absolute paths."""
        return [os.fspath(path) for path in self._core.files()]

    @property
    def warnings(self) -> list[_core.Problem]:
        """Warnings: what is possible but probably not intended, like a link that the traffic overloads."""
        return self._core.warnings()

    @property
    def dropped(self) -> list[_core.Problem]:
        """Keys that were written and have no effect with the contestant's settings, each with the reason."""
        return self._core.dropped()

    @property
    def contestant(self) -> str | None:
        """The contestant that was chosen, with its preset if one was named."""
        return self._core.contestant

    @property
    def own_contestants(self) -> list[str]:
        """The names of the contestants that its file defines."""
        return self._core.own_contestants()

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario:  # noqa: ANN401
        """Returns the scenario with some keys changed, as if they had been written that way in the file.

        ```python
        scenario.with_({"topology.rate": "400Gbps", "traffic.burst.size": KB(300)}, seed=2)
        ```

        Args:
            changes: Values by the path of their key; a step into a list is a number or a block's name.
            **keys: Changes of keys at the top; two underscores mean the dot of a path.

        Raises:
            ScenarioError: When the changed scenario is wrong.
            TypeError: When a value has a type that is not allowed in a scenario.
        """
        paths = {**(changes or {}), **{key.replace("__", "."): thing for key, thing in keys.items()}}
        texts = {path: f"{path}={_toml.value(it, path)}" for path, it in paths.items()}
        names = [
            (f"--set {text}", f"with_({{{_quoted(path)}: {_quoted(paths[path])}}})")
            for path, text in texts.items()
        ]
        return self._origin.changed(*texts.values(), names=names).read()

    def with_algorithm(self, algorithm: str | Callable[..., Any], **parameters: object) -> Scenario:
        """Returns the scenario with another algorithm; parameters that are not given have their defaults.

        Args:
            algorithm: A name like ``"oscar"``, name and preset like ``"oscar:artifact"``, or a class of
                your own (see :class:`incast.CongestionControl`).
            **parameters: Its parameters, like ``eta=0.95`` or ``target="12us"``.

        Raises:
            ScenarioError: When there is no such algorithm, preset or parameter, or it is incompatible with
                the rest.
        """
        chosen = _chosen(algorithm, parameters)
        name = ":".join(str(chosen[key]) for key in ("algorithm", "preset") if key in chosen)
        texts = [f"{key}={_toml.value(thing, key)}" for key, thing in parameters.items()]
        origin = self._origin.changed(f"cc={_toml.value(chosen, 'cc')}")
        names = [
            (f"--set {text}", f"with_algorithm({key}={_quoted(thing)})")
            for text, (key, thing) in zip(texts, parameters.items(), strict=True)
        ]
        with self._origin.named(*names):
            return Scenario(self._core.with_algorithm(name, texts), origin)

    def with_overrides(self, overrides: Sequence[str]) -> Scenario:
        """Returns the scenario with more overrides, texts like ``"topology.rate=400Gbps"``.

        Args:
            overrides: The overrides; they come after those that were made before.

        Raises:
            ScenarioError: When the changed scenario is wrong.
        """
        return self._origin.changed(*overrides).read() if overrides else self

    def with_contestant(
        self,
        contestant: str | Mapping[str, Any],
        definitions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Scenario:
        """Returns the scenario with a contestant: an algorithm with the switches and transport for it.

        Changes of keys that were made before, by overrides or :meth:`with_`, still hold, also over the
        contestant's; an algorithm that was chosen before is replaced. Keys that have no effect with its
        settings are in :attr:`dropped`.

        Args:
            contestant: The name of one of Incast (:func:`incast.contestants`) or of the scenario's file, or
                name and preset; or a definition, like
                ``{"name": "mine", "from": "nscc", "cc": {"target_share": 0.5}}``.
            definitions: More contestants, by their names, as in the section ``contestant`` of a file.

        Raises:
            ScenarioError: When there is no such contestant, or it does not fit the scenario.
        """
        more = [f"contestant.{key}={_toml.value(it, key)}" for key, it in (definitions or {}).items()]
        text = contestant if isinstance(contestant, str) else _toml.value(contestant, "contestant")
        written = contestant if isinstance(contestant, str) else contestant.get("name", "")
        names = [(f"--set contestant={text}", f"with_contestant({_quoted(written)})")]
        names += [(f"--set {it}", it.partition("=")[0]) for it in more]
        return self._origin.without_algorithm().changed(*more, f"contestant={text}", names=names).read()

    def with_seed(self, seed: int) -> Scenario:
        """Returns the scenario with another seed (0 to 2⁶⁴ − 1)."""
        return Scenario(self._core.with_seed(seed), self._origin.changed(f"seed={seed}"))

    def to_toml(self) -> str:
        """The effective scenario as a file, with all defaults."""
        return self._core.to_toml()

    def ports(self) -> list[tuple[str, int, str]]:
        """The ports of its network: the node of each, its number there, and the node at the far end."""
        return self._core.ports()

    def size(self) -> Size:
        """The size of the scenario: its network, algorithms, flows and their bytes.

        Raises:
            ScenarioError: When it cannot be built.
        """
        with self._origin.named():
            return self._core.size()

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int = 1,
        fresh: bool = False,
        progress: Callable[[Progress], None] | bool | None = None,
        profile: bool = False,
    ) -> Result:
        """Runs the scenario.

        Other Python threads continue during the run, and several runs in one process are independent.

        Args:
            out: Folder in which the result is saved during the run; None saves nothing.
            threads: Number of threads; more than one helps on large networks with idle cores. The result is
                the same, bit for bit, for any number. Algorithms in Python use one.
            fresh: Replace an existing complete result in the folder.
            progress: Called a few times a second. An exception of it stops the run and is raised again.
                True shows a line in a terminal or under a notebook's cell.
            profile: Measure the wall time of its parts, which takes a few percent more of it:
                :attr:`incast.Result.times`.

        Returns:
            The result.

        Raises:
            ScenarioError: When the scenario cannot be built.
            ResultError: When the result cannot be saved.
            Interrupted: After Ctrl-C, with the result so far. What was saved is kept.
            Exception: The exception of an algorithm of your own, with its traceback. What was saved is kept,
                with the state ``interrupted``.

        Warns:
            IncastWarning: For each of :attr:`warnings` before the run, and for each verdict on the run at its
                end. :attr:`incast.Result.warnings` has both.
        """
        warn(self.warnings, 2)
        result = self.run_quietly(out, threads=threads, fresh=fresh, progress=progress, profile=profile)
        warn(unsaid(result.warnings, self.warnings), 2)
        return result

    def run_quietly(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int = 1,
        fresh: bool = False,
        progress: Callable[[Progress], None] | bool | None = None,
        profile: bool = False,
        wait: bool = True,
    ) -> Result:
        """Runs the scenario like :meth:`run`, without Python's warnings: the caller shows its own.

        Args:
            out: As for :meth:`run`.
            threads: As for :meth:`run`.
            fresh: As for :meth:`run`.
            progress: As for :meth:`run`.
            profile: As for :meth:`run`.
            wait: Whether to wait at the end until a result of less than two seconds is on disk. If not, the
                caller does that, for several results at once.
        """
        if progress is True:
            with ProgressLine(self.name) as line:
                return self.run_quietly(
                    out, threads=threads, fresh=fresh, progress=line, profile=profile, wait=wait
                )
        folder = None if out is None else Path(out)

        def report(now_ps: int, until_ps: int | None, flows_finished: int, flows: int, hops: int) -> None:
            if callable(progress):
                progress(Progress(now_ps, until_ps, flows_finished, flows, hops))

        with self._origin.named():
            core, stop = self._core.run(
                None if folder is None else os.fspath(folder),
                threads,
                fresh,
                report if progress else None,
                build(),
                profile,
                wait,
            )
        if isinstance(stop, KeyboardInterrupt):
            raise Interrupted(Result(core)) from None
        if stop is not None:
            raise stop
        return Result(core)

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[_Origin, list[Any]]]:
        # Files that it names are found from its own folder, whatever the current one is then.
        file = str(Path(self._origin.file).absolute())
        renamed_file = tuple(
            (file if it == self._origin.file else it, call) for it, call in self._origin.names
        )
        origin = replace(self._origin, file=file, names=renamed_file)
        names = {label.partition(":")[0] for label in self._core.algorithms()}
        return (_unpickled, (origin, algorithm.carried(sorted(names))))

    def _repr_html_(self) -> str:
        """Its name, seed, algorithm, size, warnings and (folded) file, for notebooks."""
        facts = {"seed": f"{self.seed}", "algorithm": title(self.algorithm) if self.algorithm else "mixed"}
        warnings = [str(problem) for problem in self.warnings]
        try:
            size = self.size()
            facts |= {"network": size.network, "flows": f"{size.flows:,}"}
        except _core.ScenarioError as error:
            warnings.append(str(error))
        rows = (
            f'<tr><th scope="row">{escaped(n)}</th><td>{escaped(it)}</td></tr>' for n, it in facts.items()
        )
        items = "".join(f"<li>warning: {escaped(warning)}</li>" for warning in warnings)
        return (
            f"<div><p><strong>{escaped(self.name)}</strong></p><table><tbody>{''.join(rows)}</tbody></table>"
            f"{f'<ul>{items}</ul>' if items else ''}"
            f"<details><summary>scenario.toml</summary><pre>{escaped(self.to_toml())}</pre></details></div>"
        )

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.algorithm}, seed {self.seed}>"


def _refuse_missing(path: Path) -> None:
    """Raises if a file is missing that pages name like one of the scenarios to start from."""
    if path.suffix == ".toml" and not path.exists() and path.stem in (one.name for one in starts()):
        hint = f"`incast new {path.stem}` writes {path.name} here"
        raise scenario_error([Problem("there is no such file", file=os.fspath(path), hint=hint)])


def template(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
    """Reads a scenario file whose algorithm is still to be chosen with :meth:`Scenario.with_algorithm`.

    It needs no section ``[cc]``: if there is none, the returned scenario has the algorithm ``constant``.

    Args:
        path: As in :meth:`Scenario.load`.
        overrides: As in :meth:`Scenario.load`.

    Raises:
        ScenarioError: As in :meth:`Scenario.load`.
    """
    written = re.compile(r"\s*(cc\s*[.=]|contestant\s*=)")
    if "cc" in _document(path) or any(written.match(text) for text in overrides):
        return Scenario.load(path, overrides)
    try:
        return Scenario.load(path, ['cc={algorithm="constant"}', *overrides])
    except _core.ScenarioError as error:
        # A transport without an algorithm at the sender refuses one.
        if any(problem.key == "cc" for problem in error.problems):
            return Scenario.load(path, overrides)
        raise


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The sections of a scenario file; none where it cannot be read, which :meth:`Scenario.load` reports."""
    try:
        return document(path)
    except ValueError:
        return {}


def document(
    path: str | os.PathLike[str], loads: Callable[[str], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The content of a file in TOML.

    Args:
        path: The file.
        loads: Parses its text; by default as the standard library does.

    Raises:
        ScenarioError: When it cannot be read as text.
        tomllib.TOMLDecodeError: When it is no TOML.
    """
    text = _core.read_text(os.fspath(path))
    if loads is not None:
        return loads(text)
    # The core reads scenarios by itself: few commands need a parser here.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of scenario files: TOML, seen as JSON.

    It is generated from the declarations by which scenarios are read, and includes registered algorithms.
    Errors that depend on the whole scenario are only found by :class:`Scenario`.
    """
    made: dict[str, Any] = json.loads(_core.schema())
    return made


def _blocks(of: object) -> list[object]:
    """Blocks of traffic or changes: one by itself is a list of one."""
    return list(of) if isinstance(of, Sequence) and not isinstance(of, str) else [of]


def _chosen(of: str | Callable[..., Any] | object, parameters: Mapping[str, object]) -> dict[str, object]:
    """The section of an algorithm."""
    name = of if isinstance(of, str) else algorithm.name_of(of)  # type: ignore[arg-type]
    name, _, preset = name.partition(":")
    return {"algorithm": name, **({"preset": preset} if preset else {}), **parameters}


def _quoted(thing: object) -> str:
    """Returns a value as it is written in Python, shortened."""
    text = json.dumps(thing, ensure_ascii=False) if isinstance(thing, str) else repr(thing)
    return text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1]}…"


MOST_QUOTED = 60
"""Most letters of a value in a message."""


def _unpickled(origin: _Origin, algorithms: list[Any]) -> Scenario:
    algorithm.register_carried(algorithms)
    return origin.read()
