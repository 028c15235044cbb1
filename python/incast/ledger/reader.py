"""Reading the tables of the ledger's files, with errors that say where and what."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from incast.errors import ScenarioError
from incast.ledger.band import Band
from incast.results.measures.quantity import unit_of
from incast.scenario.scenario import document

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class LedgerError(ValueError):
    """Something in a ``claims.toml`` is wrong, or a figure does not exist; the message says where."""


class Reader:
    """Takes the keys of a table one by one, with errors for missing, wrong and unknown ones.

    Attributes:
        left: What has not been taken yet.
        where: The file and the place in it, for errors.

    Every method that takes a key raises :class:`LedgerError` when the value is not what it says.
    """

    def __init__(self, table: object, where: str) -> None:
        if not isinstance(table, dict):
            raise LedgerError(f"{where}: must be a table")
        self.left = dict(table)
        self.where = where

    def fail(self, message: str) -> LedgerError:
        """An error about this table."""
        return LedgerError(f"{self.where}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        """Takes a text, with white space as single blanks; the default where the key is missing."""
        value = self.left.pop(key, default)
        if value is None:
            raise self.fail(f"{key} is missing")
        if not isinstance(value, str):
            raise self.fail(f"{key} must be a string")
        return " ".join(value.split())

    def texts(self, key: str) -> tuple[str, ...]:
        """Takes a list of texts; none where the key is missing."""
        value = self.left.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(f"{key} must be a list of strings")
        return tuple(value)

    def table(self, key: str) -> dict[str, Any]:
        """Takes a table."""
        value = self.left.pop(key, None)
        if not isinstance(value, dict):
            raise self.fail(f"{key} is missing" if value is None else f"{key} must be a table")
        return value

    def tables(self, key: str) -> list[Any]:
        """Takes a list of tables; none where the key is missing."""
        value = self.left.pop(key, [])
        if not isinstance(value, list):
            raise self.fail(f"{key} must be a list of tables")
        return value

    def number(self, key: str, default: int) -> int:
        """Takes a whole number; the default where the key is missing."""
        value = self.left.pop(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(f"{key} must be a whole number")
        return value

    def flag(self, key: str) -> bool:
        """Takes true or false; false where the key is missing."""
        value = self.left.pop(key, False)
        if not isinstance(value, bool):
            raise self.fail(f"{key} must be true or false")
        return value

    def band(self, key: str, unit: str) -> Band | None:
        """Takes a band of values in the dimension of a unit; None where the key is missing."""
        if key not in self.left:
            return None
        try:
            band = Band.parse(self.text(key))
            if band.dimension != unit_of(unit)[0]:
                raise self.fail(f"{key} = {band.text!r} does not match the unit {unit!r}")
        except LedgerError:
            raise
        except ValueError as error:
            raise self.fail(f"{key}: {error}") from None
        return band

    def must_band(self, key: str, unit: str) -> Band:
        """Takes a band that must be there."""
        band = self.band(key, unit)
        if band is None:
            raise self.fail(f"{key} is missing")
        return band

    def unit(self) -> str:
        """Takes the unit, which must be known; empty where the key is missing."""
        unit = self.text("unit", "")
        try:
            unit_of(unit)
        except ValueError as error:
            raise self.fail(str(error)) from None
        return unit

    def finish(self) -> None:
        """Refuses keys that nothing has taken."""
        if self.left:
            raise self.fail(f"unknown: {', '.join(self.left)}")


def parse(file: Path) -> dict[str, Any]:
    """Reads a TOML file.

    Raises:
        LedgerError: When it cannot be read, or is no TOML.
    """
    return _parse(file, tomllib.loads)


def parse_once(file: Path) -> dict[str, Any]:
    """Reads a TOML file of which many figures have a part; the caller must not change the result.

    The last texts are kept. With all figures of a paper, parsing each time takes two thirds of the whole.

    Raises:
        LedgerError: When it cannot be read, or is no TOML.
    """
    return _parse(file, _loads_once)


_loads_once = functools.lru_cache(maxsize=4)(tomllib.loads)


def _parse(file: Path, loads: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    try:
        return document(file, loads)
    except ScenarioError as error:
        raise LedgerError(str(error)) from None
    except tomllib.TOMLDecodeError as error:
        raise LedgerError(f"{file}: {error}") from None
