"""The base of all sections of a scenario as typed Python objects, and the section ``cc``."""

from __future__ import annotations

import dataclasses
from typing import ClassVar


class Section:
    """A section of a scenario."""

    _kind: ClassVar[str | None] = None

    def table(self) -> dict[str, object]:
        """Its keys as a scenario file has them; what is None is left out."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        keys = {field.name.rstrip("_"): getattr(self, field.name) for field in fields}
        written = {key: value for key, value in keys.items() if value is not None}
        return written if self._kind is None else {"kind": self._kind, **written}


class Cc(Section):
    """The congestion control algorithm, its preset, and any of its parameters by name."""

    def __init__(self, algorithm: str, preset: str | None = None, **parameters: object) -> None:
        self.algorithm = algorithm
        self.preset = preset
        self.parameters = parameters

    def table(self) -> dict[str, object]:
        """Its keys as a scenario file has them."""
        preset = {} if self.preset is None else {"preset": self.preset}
        return {"algorithm": self.algorithm, **preset, **self.parameters}

    def __eq__(self, other: object) -> bool:
        return self.table() == other.table() if isinstance(other, Cc) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self.table()))

    def __repr__(self) -> str:
        return f"Cc({', '.join(f'{key}={value!r}' for key, value in self.table().items())})"
