"""Lists of the compiled core: algorithms, sections, kinds of things, distributions, and quantities."""

from collections.abc import Collection

from incast._core import (
    Algorithm,
    Contestant,
    Distribution,
    Evidence,
    Family,
    Key,
    Kind,
    NamedTopology,
    OwnControl,
    Parameter,
    algorithm,
    algorithms,
    contestants,
    distributions,
    evidence,
    families,
    named_topologies,
    own_controls,
    read_quantity,
    schema,
    sections,
    tables,
    topologies,
    traffic,
    write_quantity,
)

__all__ = [
    "Algorithm",
    "Contestant",
    "Distribution",
    "Evidence",
    "Family",
    "Key",
    "Kind",
    "NamedTopology",
    "OwnControl",
    "Parameter",
    "algorithm",
    "algorithms",
    "canonical",
    "columns",
    "contestants",
    "distributions",
    "evidence",
    "families",
    "folded",
    "named_topologies",
    "own_controls",
    "read_quantity",
    "schema",
    "sections",
    "tables",
    "topologies",
    "traffic",
    "write_quantity",
]


def canonical(label: str, own: Collection[str] = ()) -> str:
    """Returns the name of an algorithm, with its preset, that people write in another way.

    ``NSCC``, ``θ-PowerTCP`` and ``Swift:Oscar`` are ``nscc``, ``theta-powertcp`` and ``swift:oscar``: case,
    spaces, ``_`` and ``-`` make no difference, and a title is a name too. A label that names nothing stays
    as it is.

    Args:
        label: A name, or a name and a preset with a colon between them.
        own: Names of registered algorithms, which stay as they are.
    """
    name, colon, preset = label.partition(":")
    if name in own:
        return label
    for known in algorithms():
        if folded(name) in (folded(known.name), folded(known.title)):
            presets = (it for it, _ in known.presets if folded(it) == folded(preset))
            return f"{known.name}{colon}{next(presets, preset)}"
    return label


def columns(table: str) -> dict[str, str]:
    """Returns the columns of a table of results with their meanings; none if there is no such table.

    Args:
        table: Its name.
    """
    return {column.name: column.meaning for of in tables() if of.name == table for column in of.columns}


def folded(name: str) -> str:
    """Returns a name without what makes no difference: case, spaces, ``_`` and ``-``."""
    return "".join(letter for letter in name.casefold() if letter not in " _-")
