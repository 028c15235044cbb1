"""Build of Incast: its version and how it was made."""

from __future__ import annotations

import functools
import struct
from pathlib import Path

from incast._core import __file__ as core
from incast._core import __version__, profile

__all__ = ["__version__", "build", "core", "profile"]


@functools.cache
def build() -> str:
    """The version of Incast and an identity of its compiled core.

    Two builds of one version may differ, as they do while somebody works on the simulator. Most linkers write
    a hash of a file's content into it; a hash of the whole file takes as long as a short run.
    """
    file = Path(core)
    return f"{__version__}+{linked(file) or _digest(file)}"


_LEAST_HASH = 16
"""Bytes of the shortest hash that linkers make of all content; shorter ones are of something else."""


def linked(file: Path) -> str | None:
    """Returns the hash of its content that the linker wrote into a library, as 16 hexadecimal digits.

    Args:
        file: The library.

    Returns:
        The first eight bytes of the note ``NT_GNU_BUILD_ID`` of an ELF file; None where it has none.
    """
    try:
        with file.open("rb") as stream:
            kind = stream.read(64)
            # Files of 64 bits, least byte first: all others are read whole.
            if kind[:6] != b"\x7fELF\x02\x01" or len(kind) < 64:
                return None
            place, (size, count) = struct.unpack_from("<Q", kind, 32)[0], struct.unpack_from("<HH", kind, 54)
            stream.seek(place)
            headers = stream.read(size * count)
            for start in range(0, size * count, size):
                what, offset, length = struct.unpack_from("<I4xQ16xQ", headers, start)
                if what == _NOTES:
                    stream.seek(offset)
                    if (found := _noted(stream.read(length))) is not None:
                        return found
    except (OSError, struct.error):
        pass
    return None


_NOTES = 4
"""The type of a program header of notes: ``PT_NOTE``."""

_BUILD_ID = 3
"""The type of a note with the hash: ``NT_GNU_BUILD_ID``."""


def _noted(notes: bytes) -> str | None:
    """Returns the hash in the notes of one program header."""
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + -(-name // 4) * 4
        content = notes[start : start + length]
        if (kind, notes[at + 12 : at + 12 + name]) == (_BUILD_ID, b"GNU\0") and len(content) >= _LEAST_HASH:
            return content[:8].hex()
        at = start + -(-length // 4) * 4
    return None


def _digest(file: Path) -> str:
    """Returns a hash of a file, as 16 hexadecimal digits."""
    import hashlib

    content, piece = hashlib.sha256(), bytearray(1 << 18)
    # Piece by piece: memory for all of it takes as long as the hash.
    with file.open("rb", buffering=0) as stream:
        while read := stream.readinto(piece):
            content.update(memoryview(piece)[:read])
    return content.hexdigest()[:16]
