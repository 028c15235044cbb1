"""Tables of flows from data frames."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast import _core

if TYPE_CHECKING:
    from incast.sections import FlowTable

_MISSING = ("NAType", "NaTType")
"""Types of pandas' values for what is missing."""


def flow_table(frame: object, path: str | os.PathLike[str]) -> FlowTable:
    """Writes the flows of a data frame as CSV and returns the traffic that they are.

    ```python
    ends = {"source": ["h0", "h2"], "destination": ["h1", "h1"]}
    traffic = incast.flow_table(ends | {"size [KB]": [30, 2.5], "start [us]": [0, 1]}, "flows.csv")
    ```

    Args:
        frame: A data frame of pandas or polars, a table of pyarrow or of a result, or columns by name. The
            columns ``source``, ``destination``, ``size`` and ``start`` are read, with the unit of numbers in
            their names, as in a CSV file. A start may be a ``timedelta``, a size a value of ``incast.units``.
        path: The file to write, which a scenario then names; one that exists is replaced.

    Raises:
        ScenarioError: When the frame has no such columns, a cell is not what its column has, or the file
            cannot be written.
    """
    import csv

    columns = _columns(frame)
    if len({len(cells) for cells in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(cells)}" for name, cells in columns.items())
        raise _core.ScenarioError(f"the columns have different lengths ({lengths})")
    target = Path(path).absolute()
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, quoting=csv.QUOTE_NONE, lineterminator="\n")
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
    except csv.Error:
        message = f"cannot write {path}: a text has a comma, a quote or the end of a line"
        raise _core.ScenarioError(f"{message}\n    help: leave out the columns that are not read") from None
    except OSError as error:
        raise _core.ScenarioError(f"cannot write {path}: {error.strerror}") from None
    _core.describe_file(os.fspath(target))
    # Three hundred classes, which few processes need.
    from incast.sections import FlowTable

    return FlowTable(file=os.fspath(target))


def _columns(frame: object) -> dict[str, list[str]]:
    """The cells of all columns as texts."""
    series: dict[object, object]
    if isinstance(frame, Mapping):
        series = dict(frame)
    elif isinstance(frame, _core.Table):
        series = {name: frame.column(name) for name in frame.columns}
    elif (names := getattr(frame, "column_names", None)) is not None:
        series = {name: _call(_call(frame, "column", name), "to_pylist") for name in names}
    elif (names := getattr(frame, "columns", None)) is not None:
        series = {name: _call(frame, "__getitem__", name) for name in names}
    else:
        kind = type(frame).__name__
        message = f"{kind} is no data frame; expected one of pandas, polars or pyarrow, or a dict"
        raise _core.ScenarioError(message)
    return {str(name): [_text(cell) for cell in _cells(values)] for name, values in series.items()}


def _call(value: object, method: str, *arguments: object) -> object:
    """Calls a method of a frame or column, whose library this file does not import."""
    return getattr(value, method)(*arguments)


def _cells(values: object) -> Iterable[object]:
    """The cells of a column, durations with all their digits."""
    dtype = getattr(values, "dtype", None)
    if str(dtype).startswith("Duration"):
        # Python's durations, which polars would return, have no nanoseconds.
        whole = _listed(_call(getattr(values, "dt", None), "total_nanoseconds"))
        return [None if cell is None else f"{cell}ns" for cell in whole]
    if getattr(dtype, "kind", "") == "m":
        array: Any = getattr(values, "to_numpy", lambda: values)()
        exact = array.astype("timedelta64[ns]")
        if (exact.astype(array.dtype) != array).any():
            raise _core.ScenarioError("a duration is missing, or has more digits than nanoseconds")
        return [f"{cell}ns" for cell in exact.astype("int64").tolist()]
    return _listed(values)


def _listed(values: object) -> list[object]:
    """The cells of a column as Python's objects."""
    for method in ("tolist", "to_list", "__iter__"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    raise _core.ScenarioError(f"{type(values).__name__} is no column; expected a list or an array")


def _text(cell: object) -> str:
    """A cell as CSV has it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in _MISSING:
        return ""
    if not isinstance(cell, (str, int, float)):
        # Most commands have no use for it.
        import datetime

        if isinstance(cell, datetime.timedelta):
            whole = (cell.days * 86_400 + cell.seconds) * 10**9 + cell.microseconds * 1000
            return f"{whole + getattr(cell, 'nanoseconds', 0)}ns"
    return str(cell)
