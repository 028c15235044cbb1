"""Makes the type information (BTF) of a Rust object fit for the kernel: ``tidy_types.py OBJECT``, in place.

* Rust names types like ``Setup<OscarParams>``: what is in no name of C becomes a line below. Pointers have no
  name in C, and arguments have one.
* Functions that no other object calls are local, which Rust says of some only.
* A type around one number of 64 bits is passed as that number, and is that number in prototypes: a function
  that the verifier looks at alone may have no other arguments.
* Rust orders the members of most types as it likes, and the kernel wants ascending places. These types matter
  to nobody; all their members get the first place.
* Functions lie in ``.text`` (build.sh has moved them there), not in sections of their own.

Everything keeps its length, so that nothing has to be moved.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

NUMBER, POINTER, ARRAY, STRUCT, UNION, FUNCTION, PROTOTYPE = 1, 2, 3, 4, 5, 12, 13
# Bytes of what follows a type of this kind: fixed, and for each of its members.
FIXED = {NUMBER: 4, ARRAY: 12, 14: 4, 17: 4}
EACH = {STRUCT: 12, UNION: 12, 6: 8, PROTOTYPE: 8, 15: 12, 19: 12}


def sections(image: bytes) -> dict[str, tuple[int, int]]:
    """Returns the place of each section in an ELF file, and its length."""
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


def each(image: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Of each type between these places: where it is, its kind, how many members it has, where they begin."""
    while at < end:
        (info,) = struct.unpack_from("<I", image, at + 4)
        kind, count = info >> 24 & 31, info & 0xFFFF
        yield at, kind, count, at + 12
        at += 12 + FIXED.get(kind, 0) + EACH.get(kind, 0) * count


def main() -> None:
    """Edits the file that the command line names."""
    path = Path(sys.argv[1])
    image = bytearray(path.read_bytes())
    called = exported(image)
    start = sections(image)[".BTF"][0]
    header, types, length, strings, strings_length = struct.unpack_from("<IIIII", image, start + 4)
    strings += start + header
    every = list(each(image, start + header + types, start + header + types + length))
    sized = [(kind, *struct.unpack_from("<I", image, at + 8), count) for at, kind, count, _ in every]
    numbers = [id_ for id_, (kind, size, _) in enumerate(sized, 1) if kind == NUMBER and size == 8]
    wrappers = {id_ for id_, type_ in enumerate(sized, 1) if type_ == (STRUCT, 8, 1)}
    for at, kind, count, after in every:
        (name,) = struct.unpack_from("<I", image, at)
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
            for place in [at + 8, *range(after + 4, after + 8 * count, 8)]:
                if numbers and struct.unpack_from("<I", image, place)[0] in wrappers:
                    struct.pack_into("<I", image, place, numbers[0])
        elif kind in (STRUCT, UNION):
            members = range(after + 8, after + 8 + 12 * count, 12)
            offsets = [struct.unpack_from("<I", image, place)[0] for place in members]
            if offsets != sorted(offsets):
                for place in members:
                    struct.pack_into("<I", image, place, 0)
    table = bytes(image[strings : strings + strings_length])
    table = re.sub(rb"\0\.text\.[^\0]*", lambda found: b"\0.text".ljust(len(found[0]), b"\0"), table)
    table = re.sub(rb"[^A-Za-z0-9_.\0]", b"_", table)
    image[strings : strings + strings_length] = table
    path.write_bytes(image)


if __name__ == "__main__":
    main()
