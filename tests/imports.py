"""Imports between the files of a tree, read from their text: of Rust its paths, of Python its syntax tree.

A tree is a folder of modules. Its files and folders are its *rooms*, except ``lib.rs``, ``main.rs``,
``__init__.py`` and ``__main__.py`` at its root, which put the rooms together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Module = tuple[str, ...]
"""The path of a module from the root of its tree, which is ``()``."""


@dataclass
class Tree:
    """The modules of a tree and their imports.

    Attributes:
        files: The file of each module.
        imports: By module: the modules of the same tree that it imports, itself apart.
    """

    files: dict[Module, Path]
    imports: dict[Module, set[Module]] = field(default_factory=dict)

    def rooms(self) -> set[str]:
        """The names of all rooms."""
        return {module[0] for module in self.files if module}

    def between_rooms(self) -> Iterator[tuple[Path, str, str]]:
        """Every import from one room into another: the file, its room, and the other room.

        A name of the root itself is in no room; its room is the name of the root's file.
        """
        for module, others in sorted(self.imports.items()):
            for other in sorted({other[0] if other else self.files[()].name for other in others}):
                if module and other != module[0]:
                    yield self.files[module], module[0], other

    def largest_circle(self) -> list[Path]:
        """The files of the largest set whose files all reach each other by imports, roots apart."""
        graph = {m: {o for o in others if o} for m, others in self.imports.items() if m}
        largest = max(circles(graph), key=len, default=[])
        return sorted(self.files[module] for module in largest)


def circles(graph: Mapping[Module, set[Module]]) -> list[list[Module]]:
    """The strongly connected components of a graph, by Tarjan's algorithm, without recursion."""
    number: dict[Module, int] = {}
    lowest: dict[Module, int] = {}
    path: list[Module] = []
    found: list[list[Module]] = []
    for start in graph:
        work = [(start, iter(sorted(graph[start])))] if start not in number else []
        if work:
            number[start] = lowest[start] = len(number)
            path.append(start)
        while work:
            node, rest = work[-1]
            new = None
            for other in rest:
                if other not in number:
                    new = other
                    break
                if other in path:
                    lowest[node] = min(lowest[node], number[other])
            if new is not None:
                number[new] = lowest[new] = len(number)
                path.append(new)
                work.append((new, iter(sorted(graph.get(new, ())))))
                continue
            work.pop()
            if work:
                lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
            if lowest[node] == number[node]:
                at = path.index(node)
                found.append(path[at:])
                del path[at:]
    return found


def read(root: Path) -> Tree:
    """Reads a tree: of Rust, if it has a ``lib.rs`` or ``main.rs``, else of Python."""
    rust = any((root / name).exists() for name in ("lib.rs", "main.rs"))
    return _Rust(root).tree if rust else _python(root)


# Python.


def _python(root: Path) -> Tree:
    """Reads a package: a name imported from a folder is one of its ``__init__``, except a file's in it."""
    files = {}
    for file in (*sorted(root.rglob("*.pyi")), *sorted(root.rglob("*.py"))):
        parts = file.relative_to(root).with_suffix("").parts
        if parts != ("__main__",):
            files[parts[:-1] if parts[-1] == "__init__" else parts] = file
    tree = Tree(files)
    for module, file in files.items():
        tree.imports[module] = set(_python_imports(ast.parse(file.read_text()), root.name, files)) - {module}
    return tree


def _python_imports(tree: ast.AST, package: str, files: Mapping[Module, Path]) -> Iterator[Module]:
    """The modules that a file imports, at whatever place: within functions and for type checkers too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [(tuple(alias.name.split(".")), "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"line {node.lineno}: write the whole path of a module"
            named = [(tuple(node.module.split(".")), alias.name) for alias in node.names]
        else:
            continue
        for path, name in named:
            if path[0] == package:
                inner = path[1:]
                yield (*inner, name) if name and (*inner, name) in files else inner


# Rust.

_STRINGS = re.compile(
    r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"  # comments
    r'|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"'  # strings
    r"|b?'(?:\\.[^']*|[^'\\])'",  # characters, and no lifetimes
    re.DOTALL,
)
# Items of tests, and the lines that register an example in a list: these name what stands above the list.
_TEST = re.compile(r"""#\[cfg\((?:(?:all\()?test\b[^\]]*|feature = ""\))\]""")
_USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])(\$?\w+(?:::\w+)+)")


def without_tests(text: str) -> str:
    """Rust without comments, literals, and items that only tests have."""
    text = _STRINGS.sub(lambda found: "" if found[0][0] == "/" else '""', text)
    while found := _TEST.search(text):
        at = found.end()
        # An item ends with its first `;`, or with the brace that closes its first one.
        depth = 0
        while at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if (text[at - 1] == ";" and depth == 0) or (text[at - 1] == "}" and depth <= 0):
                break
        text = text[: found.start()] + text[at:]
    return text


def used(tree: str) -> Iterator[tuple[Module, str]]:
    """The paths of a ``use`` tree, each with the name that it has afterwards."""
    depth, start, parts = 0, 0, []
    for at, sign in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(tree[start:at])
            start = at + 1
    for part in (*parts, tree[start:]):
        head, brace, rest = part.strip().partition("{")
        if brace:
            prefix = tuple(name.strip() for name in head.split("::") if name.strip())
            for path, name in used(rest.rstrip().removesuffix("}")):
                whole = prefix if path == ("self",) else (*prefix, *path)
                yield whole, (prefix[-1] if path == ("self",) and prefix else name)
        elif head.strip():
            path_text, _, alias = head.partition(" as ")
            path = tuple(name.strip() for name in path_text.split("::"))
            yield path, alias.strip() or path[-1]


class _Rust:
    """A crate while it is read."""

    def __init__(self, root: Path) -> None:
        texts = {}
        files = {}
        for file in sorted(root.rglob("*.rs")):
            parts = file.relative_to(root).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            if module in files and parts[-1] == "main":
                continue
            files[module], texts[module] = file, file.read_text()
        only_tests = [m for m in files if m and self._is_test(m, texts)]
        for module in list(files):
            if any(module[: len(test)] == test for test in only_tests):
                del files[module]
        self._files = files
        code = {module: without_tests(texts[module]) for module in files}
        self._macros = {
            name: module for module in files for name in re.findall(r"macro_rules!\s*(\w+)", code[module])
        }
        # The names that each module has by `use`: modules within it see them, and with `pub` others too.
        self._exports: dict[Module, dict[str, Module]] = {}
        self._globs: dict[Module, list[Module]] = {}
        self._defined: dict[Module, set[str]] = {}
        for module in files:
            self._exports[module], self._globs[module] = {}, []
            item = r"\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!|mod)\s+(\w+)"
            self._defined[module] = set(re.findall(item, code[module]))
            for _, tree in _USE.findall(code[module]):
                for path, name in used(tree):
                    target = self._absolute(module, path)
                    if target is not None and name == "*":
                        self._globs[module].append(target[:-1])
                    elif target is not None:
                        self._exports[module][name] = target
        self.tree = Tree(files)
        for module in files:
            self.tree.imports[module] = set(self._imports(module, code[module])) - {module}

    @staticmethod
    def _is_test(module: Module, texts: Mapping[Module, str]) -> bool:
        """Whether a module is declared for tests alone."""
        parent = texts.get(module[:-1], "")
        return bool(re.search(rf"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod {module[-1]};", parent))

    def _absolute(self, module: Module, path: Module) -> Module | None:
        """A path from the root of the crate; None if it leads into another crate."""
        first, at = path[0], 0
        if any(name[0] == "$" for name in path[1:]):
            return None  # The variable of a macro: what it is called with says which module is meant.
        if first in ("crate", "$crate"):
            return path[1:]
        base = module
        while at < len(path) and path[at] in ("self", "super"):
            base = base[:-1] if path[at] == "super" else base
            at += 1
        if at:
            return (*base, *path[at:])
        return (*module, *path) if (*module, first) in self._files else None

    def _home(self, path: Module, depth: int = 0) -> Module:
        """The module in whose file the thing at a path is defined: re-exports are followed."""
        module: Module = ()
        for at, name in enumerate(path):
            if (*module, name) in self._files:
                module = (*module, name)
                continue
            target = self._exports[module].get(name)
            if target is not None and depth < 8:
                return self._home((*target, *path[at + 1 :]), depth + 1)
            if name not in self._defined[module]:
                for glob in self._globs[module]:
                    home = self._home((*glob, name), depth + 1) if depth < 8 else module
                    if name in self._defined[home]:
                        return home
            if not module and name not in self._defined[()] and name in self._macros:
                return self._macros[name]
            break
        return module

    def _imports(self, module: Module, code: str) -> Iterator[Module]:
        rest = code
        for public, tree in _USE.findall(code):
            for path, _ in used(tree):
                target = self._absolute(module, path)
                # Who uses what is re-exported imports its home; the line itself only passes it on.
                if target is not None and not (public and self._home(target)[: len(module)] == module):
                    yield self._home(target)
        rest = _USE.sub("", rest)
        for whole in _PATH.findall(rest):
            target = self._absolute(module, tuple(whole.split("::")))
            if target is not None:
                yield self._home(target)
