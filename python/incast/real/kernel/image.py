"""Writing values into a compiled object, as the kernel's loader reads it."""

from __future__ import annotations

import struct
from collections.abc import Mapping

__all__ = ["ImageError", "patched", "renamed"]

_SYMBOLS = 2
"""The type of a section with symbols."""


class ImageError(ValueError):
    """An object is not what was expected."""


def patched(image: bytes, values: Mapping[str, bytes]) -> bytes:
    """Returns the object with these constants: for each name the bytes of its symbol.

    Raises:
        ImageError: When it is no 64-bit little-endian object, or a symbol is missing or of another size.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        raise ImageError("it is no 64-bit little-endian ELF file")
    try:
        places = _places(image)
    except struct.error:
        raise ImageError("it is cut off") from None
    new = bytearray(image)
    for name, value in values.items():
        if name not in places:
            raise ImageError(f"it has no {name}")
        start, size = places[name]
        if size != len(value):
            raise ImageError(f"{name} has {size} bytes, not {len(value)}")
        new[start : start + size] = value
    return bytes(new)


def renamed(image: bytes, old: str, new: str) -> bytes:
    """The object with another name of the same length: in its data, its symbols and its types.

    Raises:
        ImageError: When the name is not in it.
    """
    if len(old) != len(new):
        raise ValueError(f"{new} is not as long as {old}")
    # With the byte that ends a string: names that only begin like it are others.
    was = old.encode() + b"\0"
    if was not in image:
        raise ImageError(f"it has no {old}")
    return image.replace(was, new.encode() + b"\0")


def _places(image: bytes) -> dict[str, tuple[int, int]]:
    """Returns the place of the bytes of each symbol in the file, and their number."""
    (at,) = struct.unpack_from("<Q", image, 0x28)
    entry, count = struct.unpack_from("<HH", image, 0x3A)
    # Of a section: name, type, flags, address, offset, size, link, info, alignment, size of an entry.
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, at + entry * i) for i in range(count)]
    places = {}
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        names = sections[section[6]][4] if section[6] < count else 0
        for start in range(section[4], section[4] + section[5], 24):
            name, _, _, place, value, size = struct.unpack_from("<IBBHQQ", image, start)
            text = image[names + name : image.find(b"\0", names + name)].decode(errors="replace")
            if text and 0 < place < count:
                places[text] = (sections[place][4] + value, size)
    return places
