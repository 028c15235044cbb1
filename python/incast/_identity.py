"""The identity of an algorithm's code: a hash of everything that it was made from.

A class in Python depends on its own file, on the modules that this file imports from its folder or package,
on theirs in turn, and on the files that it declares. A shared library depends on the libraries that it links,
except the system's, and on the files that a list beside it names.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from incast._hash import sha256

_SYSTEM = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32")
"""Folders of the system's libraries."""

_LINKED = """
import ctypes, sys
def mapped():
    with open("/proc/self/maps") as lines:
        return {line.split(maxsplit=5)[5].strip() for line in lines if "/" in line}
before = mapped()
ctypes.CDLL(sys.argv[1])
print("\\n".join(sorted(mapped() - before)))
"""
"""Prints the files that a library brings into a process."""


def digest(code: bytes) -> str:
    """A hash of code as effective scenarios have it."""
    return f"sha256:{sha256(code).hexdigest()[:16]}"


def of_source(code: bytes, file: Path | None, declared: Sequence[Path] = ()) -> str:
    """Returns the identity of source code.

    Args:
        code: The source code.
        file: Its file; None if it has none.
        declared: The files that it declares.

    Raises:
        OSError: When a declared file cannot be read.
    """
    others = [] if file is None else imported(file.resolve())
    return _together(code, [*others, *declared], file.parent if file else Path.cwd())


def of_library(file: Path) -> str:
    """Returns the identity of a shared library.

    Raises:
        OSError: When it cannot be read.
        ValueError: When a file that its list names cannot be read.
    """
    return _together(file.read_bytes(), [*_linked(file), *_listed(file)], file.parent)


def _listed(library: Path) -> list[Path]:
    """The files that a list beside a library names (``mine.so.files``), one on a line."""
    file = library.with_name(f"{library.name}.files")
    if not file.exists():
        return []
    paths = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not (name := line.strip()) or name.startswith("#"):
            continue
        path = library.parent / name
        if not path.is_file():
            raise ValueError(f"{file}:{number}: there is no file {name} in the folder of the library")
        paths.append(path)
    return paths


def _together(code: bytes, others: Sequence[Path], folder: Path) -> str:
    """A hash of code and of other files with their names, as seen from a folder."""
    if not others:
        return digest(code)
    parts = [code]
    for path in others:
        parts += [Path(os.path.relpath(path, folder)).as_posix().encode(), path.read_bytes()]
    # Each part is preceded by its length, so that two parts cannot be confused with one.
    return digest(b"".join(len(part).to_bytes(8, "little") + part for part in parts))


def imported(file: Path) -> list[Path]:
    """The files of all modules that a file imports from near it, directly or not, without itself."""
    found: dict[Path, None] = {file: None}
    waiting = [file]
    while waiting:
        for path in _imports(waiting.pop()):
            if path not in found:
                found[path] = None
                waiting.append(path)
    return sorted(path for path in found if path != file)


def _imports(file: Path) -> Iterator[Path]:
    """The files of the modules that one file imports from its folder or its package, wherever in its code."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    roots = [file.parent, _root(file.parent)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _modules(roots, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            near = [_above(file.parent, node.level - 1)] if node.level else roots
            names = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _modules(near, [*names, alias.name])


def _root(folder: Path) -> Path:
    """The folder from which the package of a folder is imported."""
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _above(folder: Path, levels: int) -> Path:
    for _ in range(levels):
        folder = folder.parent
    return folder


def _modules(roots: Iterable[Path], names: Sequence[str]) -> Iterator[Path]:
    """The files that an import of a dotted name runs: of its packages, and of the module, if it is one."""
    for root in dict.fromkeys(roots):
        for end in range(len(names) + 1):
            place = root.joinpath(*names[:end])
            candidates = (
                [place / "__init__.py"] if end == 0 else [place / "__init__.py", place.with_suffix(".py")]
            )
            yield from (path for path in candidates if path.is_file())


def _linked(file: Path) -> list[Path]:
    """The libraries that a library links, except the system's; none where they cannot be found out."""
    if not sys.platform.startswith("linux"):
        return []
    # A process of its own: this one may have loaded some of them already.
    import subprocess

    command = [sys.executable, "-I", "-S", "-c", _LINKED, os.fspath(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    paths = {Path(line).resolve() for line in done.stdout.splitlines() if line} - {file.resolve()}
    return sorted(path for path in paths if path.is_file() and not _is_of_system(path))


def _is_of_system(path: Path) -> bool:
    return any(path.is_relative_to(Path(folder).resolve()) for folder in _SYSTEM)
