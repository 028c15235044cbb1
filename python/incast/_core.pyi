"""The compiled core. A test holds these stubs against the module; use the package's own classes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

__version__: str

optimised: bool
"""Whether the core was built for speed, as all released ones are."""

class ScenarioError(ValueError):
    """A scenario is wrong. Its text names every problem: file, line, key, and what would be right."""

class ResultError(OSError):
    """A result cannot be written or read. Its text says where, why, and what helps."""

class Scenario:
    """A checked scenario."""

    @staticmethod
    def load(path: str, overrides: Sequence[str]) -> Scenario: ...
    @staticmethod
    def from_toml(text: str, file_name: str, overrides: Sequence[str]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def algorithm(self) -> str | None: ...
    def with_algorithm(self, algorithm: str) -> Scenario: ...
    def with_seed(self, seed: int) -> Scenario: ...
    def to_toml(self) -> str: ...
    def size(self) -> Size: ...
    def run(
        self,
        out: str | None,
        threads: int,
        fresh: bool,
        report: Callable[[int, int | None, int, int, int], None] | None,
    ) -> tuple[Result, BaseException | None]: ...

class Size:
    """What a scenario comes to."""

    @property
    def network(self) -> str:
        """The network in one line: hosts, switches, links, oversubscription."""
    @property
    def algorithms(self) -> list[str]:
        """The algorithms in use, each with its preset: `oscar:paper`."""
    @property
    def flows(self) -> int:
        """Flows in all."""
    @property
    def bytes(self) -> int:
        """Payload of all flows that have a size, in bytes."""
    @property
    def until_ps(self) -> int | None:
        """Simulated time at which the run ends at the latest, in picoseconds; None without a limit."""

class Result:
    """What came of a run: its tables, and `result.json`."""

    @staticmethod
    def open(folder: str) -> Result: ...
    @property
    def info(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def folder(self) -> str | None: ...
    @property
    def notices(self) -> list[str]: ...
    @property
    def flows(self) -> Table: ...
    @property
    def ports(self) -> Table: ...
    @property
    def port_series(self) -> Table: ...
    @property
    def flow_series(self) -> Table: ...
    def response(self, node: str, port: int, from_ps: int, until_ps: int | None = None) -> Response: ...

class Response:
    """How a probed port took what happened in an interval."""

    @property
    def steady_bytes(self) -> float:
        """Mean queue over the last quarter of the interval, in bytes."""
    @property
    def steady_low_bytes(self) -> int:
        """Smallest queue in that quarter, in bytes."""
    @property
    def steady_high_bytes(self) -> int:
        """Largest queue in that quarter, in bytes."""
    @property
    def peak_bytes(self) -> int:
        """Longest queue in the interval, in bytes, as sampled."""
    @property
    def settling_ps(self) -> int | None:
        """Time until the queue stays within 10 % (or 10 KB) of its steady value, in picoseconds.

        None if it does not before the interval's last quarter.
        """
    @property
    def lost_bytes(self) -> int | None:
        """Bytes that the link could have carried in the interval and did not."""
    @property
    def lost_share(self) -> float | None:
        """Their share of what it could have carried."""

class Table:
    """A table of a result.

    It is handed over without a copy through the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``.
    """

    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]:
        """The names of its columns; a quantity's name ends in its unit."""
    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as a read-only array, copied.

        Where values are missing, numbers become floating point with NaN in their place.

        Raises:
            KeyError: When there is no such column.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Algorithm:
    """An algorithm of the catalogue."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def state_bytes(self) -> int: ...
    @property
    def presets(self) -> list[tuple[str, str]]: ...
    @property
    def parameters(self) -> list[Parameter]: ...

class Parameter:
    """A parameter of an algorithm."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def range(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def source(self) -> str: ...

class Kind:
    """A section of a scenario file, or a kind of topology or of traffic."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def keys(self) -> list[Key]: ...

class Key:
    """A key of a scenario file."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def values(self) -> str: ...
    @property
    def default(self) -> str: ...

class Distribution:
    """A built-in distribution of flow sizes."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def mean_bytes(self) -> float: ...
    @property
    def points(self) -> list[tuple[int, float]]: ...

def write_parquet(path: str, columns: Sequence[tuple[str, str, Sequence[object]]]) -> None:
    """Writes columns of equal length as a Parquet file, which appears only once it is whole.

    Args:
        path: The file.
        columns: For each its name, its type (``text``, ``integer``, ``unsigned``, ``number`` or
            ``flag``) and its values, None where one is missing.

    Raises:
        ResultError: When it cannot be written.
    """

def algorithms() -> list[Algorithm]: ...
def algorithm(name: str, preset: str | None = None) -> Algorithm | None: ...
def sections() -> list[Kind]: ...
def topologies() -> list[Kind]: ...
def traffic() -> list[Kind]: ...
def distributions() -> list[Distribution]: ...
