"""Scenarios: what to simulate, read and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast import _core
from incast.result import Result


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        now_ps: Simulated time reached, in picoseconds.
        until_ps: Simulated time at which the run ends at the latest, in picoseconds; None without a
            limit.
        flows_finished: Flows that are done.
        flows: Flows in all.
        hops: Packet-hops so far; one hop is one packet that left one port.
    """

    now_ps: int
    until_ps: int | None
    flows_finished: int
    flows: int
    hops: int


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C. What it had found until then is kept.

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
            f"what there is was saved in {self.result.folder}" if self.result.folder else "nothing was saved"
        )
        done = f"{outcome['flows_finished']:,} of {outcome['flows']:,} flows finished"
        return f"stopped at {outcome['now_ps'] / 1e6:,.1f} us of simulated time, {done}; {where}"


class Scenario:
    """A checked scenario. It does not change; what changes it makes another one.

    Make one with :meth:`load` or :meth:`from_toml`.
    """

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

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
        return cls(_core.Scenario.load(os.fspath(path), list(overrides)))

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario.toml", overrides: Sequence[str] = ()) -> Scenario:
        """Reads a scenario from a text.

        Args:
            text: What a scenario file would hold.
            name: The file's name for messages; paths in the scenario are relative to its folder.
            overrides: As in :meth:`load`.

        Raises:
            ScenarioError: As in :meth:`load`.
        """
        return cls(_core.Scenario.from_toml(text, name, list(overrides)))

    @property
    def name(self) -> str:
        """Its name: that in the file, or the file's own without its ending."""
        return self._core.name

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return self._core.seed

    @property
    def algorithm(self) -> str | None:
        """The algorithm, with its preset, of all traffic that names none of its own: ``oscar:paper``."""
        return self._core.algorithm

    def with_algorithm(self, algorithm: str) -> Scenario:
        """The same scenario with another algorithm at its defaults.

        Args:
            algorithm: A name like ``"oscar"``, or name and preset like ``"oscar:artifact"``.

        Raises:
            ScenarioError: When there is no such algorithm or preset, or it does not go with the rest.
        """
        return Scenario(self._core.with_algorithm(algorithm))

    def with_seed(self, seed: int) -> Scenario:
        """The same scenario with another seed (0 to 2⁶⁴ − 1)."""
        return Scenario(self._core.with_seed(seed))

    def to_toml(self) -> str:
        """The effective scenario as a file: every default written out."""
        return self._core.to_toml()

    def size(self) -> _core.Size:
        """What the scenario comes to: its network, algorithms, flows and their bytes.

        Raises:
            ScenarioError: When it cannot be built.
        """
        return self._core.size()

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int = 1,
        fresh: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Runs the scenario.

        Other Python threads go on meanwhile, and several runs in one process do not touch.

        Args:
            out: Folder to save the result in while it comes into being; none saves nothing.
            threads: Threads to run on; more than one pays on large networks and idle cores. The
                result is the same, bit for bit, for any number.
            fresh: Replace a finished result that is in the folder already.
            progress: Called a few times a second. What it raises stops the run and is raised again.

        Returns:
            What happened.

        Raises:
            ScenarioError: When the scenario cannot be built.
            ResultError: When the result cannot be saved.
            Interrupted: After Ctrl-C; it carries the result so far. What is saved stays.
        """
        folder = None if out is None else Path(out)

        def report(now_ps: int, until_ps: int | None, flows_finished: int, flows: int, hops: int) -> None:
            if progress is not None:
                progress(Progress(now_ps, until_ps, flows_finished, flows, hops))

        core, stop = self._core.run(
            None if folder is None else os.fspath(folder), threads, fresh, report if progress else None
        )
        if isinstance(stop, KeyboardInterrupt):
            raise Interrupted(Result(core)) from None
        if stop is not None:
            raise stop
        return Result(core)

    def __reduce__(self) -> tuple[Callable[[str, str], Scenario], tuple[str, str]]:
        return (Scenario.from_toml, (self.to_toml(), f"{self.name}.toml"))

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.algorithm}, seed {self.seed}>"
