"""Makes the type information (BTF) of a Rust object fit for the kernel: ``tidy_types.py OBJECT``, in place.

* Rust names types like ``Setup<OscarParams>``: what is in no name of C becomes a line below. Pointers have no
  name in C, and arguments have one.
* Functions that no other object calls are local, which Rust says of some only.
* Rust orders the members of most types as it likes, and the kernel wants ascending places. These types matter
  to nobody; all their members get the first place.
* Functions lie in ``.text`` (build.sh has moved them there), not in sections of their own.

Everything keeps its length, so that nothing has to be moved.
"""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

POINTER, ARRAY, STRUCT, UNION, FUNCTION, PROTOTYPE = 2, 3, 4, 5, 12, 13
# Bytes of what follows a type of this kind: fixed, and for each of its members.
FIXED = {1: 4, ARRAY: 12, 14: 4, 17: 4}
EACH = {STRUCT: 12, UNION: 12, 6: 8, PROTOTYPE: 8, 15: 12, 19: 12}


def sections(image: bytes) -> dict[str, tuple[int, int]]:
    """Where each section of an ELF file is, and its length."""
    (at,) = struct.unpack_from("<Q", image, 0x28)
    entry, count, names = struct.unpack_from("<HHH", image, 0x3A)
    found = [struct.unpack_from("<IIQQQQ", image, at + entry * i) for i in range(count)]
    return {text(image, found[names][4] + s[0]): (s[4], s[5]) for s in found}


def text(image: bytes, at: int) -> str:
    """The text at this place."""
    return image[at : image.index(b"\0", at)].decode()


def exported(image: bytes) -> set[str]:
    """The names of the symbols that other objects can use."""
    places = sections(image)
    symbols, names = places[".symtab"], places[".strtab"][0]
    entries = [struct.unpack_from("<IB", image, symbols[0] + i) for i in range(0, symbols[1], 24)]
    return {text(image, names + name) for name, info in entries if info >> 4 == 1}


def main() -> None:
    """Edits the file that the command line names."""
    path = Path(sys.argv[1])
    image = bytearray(path.read_bytes())
    called = exported(image)
    start = sections(image)[".BTF"][0]
    header, types, length, strings, strings_length = struct.unpack_from("<IIIII", image, start + 4)
    at, end = start + header + types, start + header + types + length
    strings += start + header
    while at < end:
        name, info, _ = struct.unpack_from("<III", image, at)
        kind, count, after = info >> 24 & 31, info & 0xFFFF, at + 12
        if kind == POINTER:
            struct.pack_into("<I", image, at, 0)
        elif kind == FUNCTION:
            function = text(image, strings + name)
            # The exported functions come first, and others can have the same names.
            struct.pack_into("<I", image, at + 4, kind << 24 | (function in called))
            called.discard(function)
        elif kind == PROTOTYPE:
            for place in range(after, after + 8 * count, 8):
                argument, type_ = struct.unpack_from("<II", image, place)
                if type_ and not argument:
                    struct.pack_into("<I", image, place, 1)
        elif kind in (STRUCT, UNION):
            members = range(after + 8, after + 8 + 12 * count, 12)
            offsets = [struct.unpack_from("<I", image, place)[0] for place in members]
            if offsets != sorted(offsets):
                for place in members:
                    struct.pack_into("<I", image, place, 0)
        at = after + FIXED.get(kind, 0) + EACH.get(kind, 0) * count
    table = bytes(image[strings : strings + strings_length])
    table = re.sub(rb"\0\.text\.[^\0]*", lambda found: b"\0.text".ljust(len(found[0]), b"\0"), table)
    table = re.sub(rb"[^A-Za-z0-9_.\0]", b"_", table)
    image[strings : strings + strings_length] = table
    path.write_bytes(image)


if __name__ == "__main__":
    main()
