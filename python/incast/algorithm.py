"""Algorithms of your own, written in Python.

An algorithm is a class that is constructed with the parameters of a scenario, and whose method ``start``
returns the state of one flow. The contract is the same as for the algorithms in Rust
(``incast_cc::CongestionControl``), with the same names: times are whole numbers of picoseconds, sizes of
bytes on the wire, rates of bit/s.

```python
class HalfRate(incast.CongestionControl):
    def start(self, path, now):
        return HalfRateFlow(path)

class HalfRateFlow(incast.Flow):
    def __init__(self, path):
        self.path = path

    def on_ack(self, ack, hops):
        pass

    def allowance(self):
        return self.path.bdp, self.path.line_rate // 2

incast.register("half-rate", HalfRate)
```

A run that uses such a class uses one thread, and is reproducible as long as the class is: no clock, no
random numbers without a seed, no external input.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from incast import _core, _identity
from incast._core import Ack, IntHop
from incast._core import Path as FlowPath
from incast._hash import sha256

PLUGINS = "INCAST_PLUGINS"
"""The environment variable that names plugin files, for the processes of a sweep too."""


class Signals(enum.IntFlag):
    """Signals that an algorithm needs from the network beyond send and receive times."""

    NONE = 0
    """Nothing beyond times and counts."""
    ECN = 1
    """ECN marks: ``ack.marked``."""
    INT = 2
    """In-band telemetry: the second argument of ``on_ack``, one record for each switch port."""
    CNP = 4
    """Congestion notification packets: ``on_cnp``."""
    HOP_DELAY = 8
    """The largest queueing delay of a hop: ``ack.hop_delay``."""
    ONE_WAY_DELAY = 16
    """Clocks that agree: ``ack.owd``."""
    RECEIVER_FLOWS = 32
    """The number of flows at the receiver: ``ack.receiver_flows``."""
    PACKET_TAG = 64
    """A word kept with each packet: what ``tag()`` gives when it is sent comes back as ``ack.tag``."""
    CIRCUIT = 128
    """Whether the switch of the sender's rack announced a circuit: ``ack.circuit``."""
    DELAYED_RUN = 256
    """The longest run of delayed packets, from selective acknowledgements: ``ack.delayed_run``."""


class Flow(ABC):
    """The state of one flow. ``now`` never decreases from one call to the next.

    :meth:`allowance` and :attr:`deadline` are called once after every call below, so their results may
    change only there. Omit methods that do nothing: they then cost nothing.
    """

    @abstractmethod
    def on_ack(self, ack: Ack, hops: Sequence[IntHop]) -> None:
        """An acknowledgement arrived.

        Args:
            ack: Its contents.
            hops: The telemetry of each switch port on the path; empty without :attr:`Signals.INT`.
        """

    @abstractmethod
    def allowance(self) -> tuple[float | None, float | None]:
        """Returns what the flow may send now: window in bytes and rate in bit/s, rounded down.

        A packet may be sent while the bytes in flight are fewer than the window (one packet always may),
        and no faster than the rate. None and infinity are no limit.
        """

    # Optional methods of a flow:
    #   on_cnp(now)     the receiver reports congestion (only with Signals.CNP)
    #   on_loss(loss)   the transport detected a loss and is about to retransmit
    #   on_sent(sent)   transmission of a packet begins
    #   on_timer(now)   the deadline is reached
    #   tag()           a whole number below 2**32, stored with the packet whose transmission begins
    #                   (only with Signals.PACKET_TAG)
    #   deadline()      the time of the next on_timer, in ps; None: never


class CongestionControl(ABC):
    """An algorithm with its parameters, which are the arguments of its ``__init__``.

    They come from the keys of ``[cc]`` other than ``algorithm``: strings (also for quantities: see
    :mod:`incast.units`), numbers, booleans, lists. An exception of ``__init__`` becomes an error of the
    scenario.

    Attributes:
        signals: The signals that it needs from the network.
        overhead: Bytes that it adds to the header of every data packet and of every acknowledgement.
        ranges: Least and greatest value of parameters that are numbers, by name; a scenario with another
            value is refused.
        files: Files besides its source that determine what it does, like weights: names from the folder of
            its file. A result is computed again when one of them has changed.
    """

    signals: ClassVar[Signals] = Signals.NONE
    overhead: ClassVar[tuple[int, int]] = (0, 0)
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    files: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def start(self, path: FlowPath, now: int) -> Flow:
        """The state of a flow that starts.

        Args:
            path: Properties of its path: base RTT, line rate, packet size.
            now: The time, in ps.
        """


_made: dict[str, tuple[Callable[..., Any] | None, Path | None]] = {}
"""Registered algorithms: the class, or none for a plugin in a shared library; and the plugin file."""

_LIBRARIES = (".so", ".dylib")

PLUGIN_SUFFIXES = (".py", *_LIBRARIES)
"""The ends of names of files with algorithms."""


def register(name: str, algorithm: Callable[..., Any], summary: str | None = None) -> None:
    """Registers an algorithm under a name, which ``cc.algorithm`` can then use.

    Scenarios that were read before are not affected. Effective scenarios contain a hash of the source, so
    that a result of older code is never reused: of the class's file (in a notebook, of the class), of the
    modules that it imports from its folder or package, of theirs in turn, and of
    :attr:`CongestionControl.files`.

    Args:
        name: Letters, digits, - and _; not the name of a built-in algorithm.
        algorithm: The class (see :class:`CongestionControl`), or any callable with the same signature.
        summary: One line for lists; by default the first of the docstring.

    Raises:
        ValueError: When the name is taken or not allowed, or a file of the class cannot be read.
        TypeError: When ``algorithm`` cannot be called.
    """
    _register(name, algorithm, summary, None)


def _register(name: str, algorithm: Callable[..., Any], summary: str | None, file: Path | None) -> None:
    if not callable(algorithm):
        raise TypeError(f"{name}: an algorithm must be a class, not {algorithm!r}")
    line = summary or (inspect.getdoc(algorithm) or "An algorithm written in Python.").partition("\n")[0]
    _core.register(name, _checked(name, algorithm), line, _hash(name, algorithm))
    _made[name] = (algorithm, file or _plugin_of(algorithm))


def _checked(name: str, algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an algorithm that refuses parameters out of their ranges.

    Raises:
        ValueError: When a range is of no parameter, or empty.
    """
    ranges: Mapping[str, tuple[float, float]] = getattr(algorithm, "ranges", {})
    known = _taken(algorithm)
    for key, (least, most) in ranges.items():
        if known is not None and key not in known:
            raise ValueError(
                f"{name}: ranges names {key}, which is no parameter; there are {', '.join(known)}"
            )
        if not least <= most:
            raise ValueError(f"{name}: the range of {key} is empty: {least} to {most}")
    if not ranges:
        return algorithm

    def make(**parameters: object) -> object:
        for key, value in parameters.items():
            if key not in ranges:
                continue
            least, most = ranges[key]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{key} = {_written(value)} is no number; allowed is {least} to {most}")
            if not least <= value <= most:
                raise ValueError(f"{key} = {value} is out of range: allowed is {least} to {most}")
        return algorithm(**parameters)

    return make


@dataclass(frozen=True)
class OwnParameter:
    """A parameter of an algorithm of your own.

    Attributes:
        name: Its name, a key of ``[cc]``.
        default: Its default as a scenario file writes it, with its unit; empty if it must be given.
        range: The values that it may take; empty if the algorithm does not say.
        meaning: Its meaning, as the algorithm describes it; may be empty.
    """

    name: str
    default: str
    range: str
    meaning: str


def own_parameters(name: str) -> list[OwnParameter] | None:
    """The parameters of a registered algorithm, with defaults and ranges.

    Of a class in Python they are the arguments of ``__init__``; ranges come from
    :attr:`CongestionControl.ranges`, meanings the lines under ``Args:`` of the docstring of the class or of
    ``__init__``. A shared library declares all of this.

    Args:
        name: The name under which it is registered.

    Returns:
        The parameters in the order of the declaration; None if the algorithm takes any.

    Raises:
        KeyError: When nothing is registered under this name.
    """
    if name not in registered():
        raise KeyError(f"no algorithm is registered as {name!r}")
    declared = _core.declared_parameters(name)
    if declared is not None:
        return [OwnParameter(one.name, _quoted(one), one.range, one.meaning) for one in declared]
    made, _ = _made.get(name, (None, None))
    taken = None if made is None else _taken(made)
    if made is None or taken is None:
        return None
    ranges, said = getattr(made, "ranges", {}), _meanings(made)
    found = []
    for key, one in taken.items():
        default = "" if one.default is inspect.Parameter.empty else _written(one.default)
        span = f"{ranges[key][0]} to {ranges[key][1]}" if key in ranges else ""
        found.append(OwnParameter(key, default, span, said.get(key, "")))
    return found


def _taken(made: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    """The arguments of a class by name; None if it takes any."""
    taken = inspect.signature(made).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return None
    return dict(taken)


def _quoted(parameter: _core.Parameter) -> str:
    """The default of a declared parameter as a scenario file writes it."""
    is_text = parameter.kind in ("time", "bytes", "rate", "choice")
    return f'"{parameter.value}"' if is_text else parameter.value


def _written(value: object) -> str:
    """A value as a scenario file writes it; None, which no file can, as a word."""
    return "none" if value is None else json.dumps(value, default=repr)


def _meanings(made: Callable[..., Any]) -> dict[str, str]:
    """The lines under ``Args:`` in the docstrings of a class, by the argument."""
    found: dict[str, str] = {}
    for doc in (inspect.getdoc(made), inspect.getdoc(getattr(made, "__init__", None))):
        part = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc or "", re.MULTILINE)
        name = ""
        for line in inspect.cleandoc(part[1]).splitlines() if part else ():
            start = re.match(r"(\w+)(?: \(.*?\))?: (.*)", line)
            if start:
                name = start[1]
                found[name] = start[2]
            elif name and line.strip():
                found[name] += f" {line.strip()}"
    return found


def parameters_of(name: str) -> frozenset[str] | None:
    """The names of the parameters of an algorithm; None if it takes any, or nothing is known of it.

    Args:
        name: Its name, without a preset.
    """
    known = _core.algorithm(name)
    if known is not None:
        return frozenset(parameter.name for parameter in known.parameters)
    own = own_parameters(name) if name in registered() else None
    return None if own is None else frozenset(parameter.name for parameter in own)


def name_of(algorithm: Callable[..., Any]) -> str:
    """The name of a class, which is registered under its own name (``MyRule``: ``my-rule``) if it is not yet.

    Raises:
        ValueError: When a different class has that name.
    """
    for name, (known, _) in _made.items():
        if known is algorithm:
            return name
    words = "".join(f"-{c.lower()}" if c.isupper() else c for c in getattr(algorithm, "__name__", "mine"))
    name = words.lstrip("-").replace("_", "-")
    register(name, algorithm)
    return name


def load_plugin(path: str | os.PathLike[str]) -> list[str]:
    """Loads a file with algorithms, as ``--plugin`` does.

    A Python file is run; it can import modules of its folder. If it does not call :func:`register`, its
    subclasses of :class:`CongestionControl` are registered, each under its own name (``MyRule``:
    ``my-rule``). A shared library (``.so``) has what ``incast_cc.h`` describes as ``incast_plugin``: an
    algorithm in C, or in any language that makes one. Files that it reads, such as weights, belong to
    its identity if a list beside it (``mine.so.files``) names them, one on a line.

    Args:
        path: The file.

    Returns:
        The names that it registered.

    Raises:
        FileNotFoundError: When there is no such file.
        ValueError: When it defines no algorithm, or a library cannot be used.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"{path}: there is no such plugin file")
    names = _load_library(file) if file.suffix in _LIBRARIES else _run_plugin(path, file)
    known = os.environ.get(PLUGINS, "")
    if str(file) not in known.split(os.pathsep):
        os.environ[PLUGINS] = f"{known}{os.pathsep}{file}" if known else str(file)
    return names


def _load_library(file: Path) -> list[str]:
    names = _core.load_library(str(file), _identity.of_library(file))
    _made.update((name, (None, file)) for name in names)
    return names


def _run_plugin(path: str | os.PathLike[str], file: Path) -> list[str]:
    name = f"incast_plugin_{sha256(str(file).encode()).hexdigest()[:12]}"
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: a plugin is a Python file (.py) or a shared library (.so)")
    near = _identity.imported(file)
    _forget_bytecode([file, *near])
    if name in sys.modules:
        # Loaded again: so is what it imports from its folder, which may have changed with it.
        loaded = {str(path) for path in near}
        for known, old in list(sys.modules.items()):
            if getattr(old, "__file__", None) in loaded:
                del sys.modules[known]
    module = module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        # Modules beside it can be imported, also when it runs; they hide no other.
        sys.path.append(str(file.parent))
    before = dict(_made)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    names = [name for name, entry in _made.items() if before.get(name) != entry]
    if not names:
        names = [name_of(found) for found in _algorithms_in(module)]
    if not names:
        raise ValueError(f"{path}: defines no algorithm; derive a class from incast.CongestionControl")
    return names


def _forget_bytecode(files: Sequence[Path]) -> None:
    """Removes the stored bytecode of source files.

    Python tells by the second and the size whether it fits a file. A rule whose number changes twice in a
    second would run with the old one, and its result would have the name of the new one.
    """
    from importlib.util import cache_from_source

    for file in files:
        with contextlib.suppress(OSError, NotImplementedError):
            Path(cache_from_source(str(file))).unlink()


def get_include() -> str:
    """The folder of the header ``incast_cc.h``, with which a plugin in C is compiled."""
    return str(Path(__file__).parent / "include")


def load_plugins_of_environment() -> None:
    """Loads the plugin files that the environment names (:data:`PLUGINS`)."""
    for file in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
        load_plugin(file)


def registered() -> dict[str, str]:
    """The names that are registered, each with one line."""
    return dict(_core.registered())


def carried(names: Sequence[str]) -> list[tuple[str, Callable[..., Any] | str]]:
    """Returns the classes or plugin files that another process needs to use algorithms of these names."""
    found = ((name, *_made[name]) for name in names if name in _made)
    return [(name, made if made and not file else str(file)) for name, made, file in found]


def register_carried(algorithms: Sequence[tuple[str, Callable[..., Any] | str]]) -> None:
    """Registers what :func:`carried` returned, unless it is registered already."""
    for name, what in algorithms:
        if name not in _made:
            load_plugin(what) if isinstance(what, str) else register(name, what)


def _algorithms_in(module: ModuleType) -> list[type[CongestionControl]]:
    own = (thing for thing in vars(module).values() if inspect.isclass(thing))
    return [
        thing
        for thing in own
        if issubclass(thing, CongestionControl)
        and not inspect.isabstract(thing)
        and thing.__module__ == module.__name__
    ]


def _plugin_of(algorithm: Callable[..., Any]) -> Path | None:
    """The file of a class that no other process can import by its name."""
    module = sys.modules.get(getattr(algorithm, "__module__", ""))
    name = getattr(module, "__name__", "")
    file = getattr(module, "__file__", None)
    return Path(file) if file and name.startswith("incast_plugin_") else None


def _hash(name: str, algorithm: Callable[..., Any]) -> str | None:
    """The identity of an algorithm; None without source."""
    try:
        source = inspect.getsourcefile(algorithm)
        file = Path(source) if source and Path(source).is_file() else None
        code = file.read_bytes() if file else inspect.getsource(algorithm).encode()
    except (OSError, TypeError):
        return None
    declared = getattr(algorithm, "files", ())
    if isinstance(declared, str):
        raise TypeError(f"{name}: files must be a sequence of names, not {declared!r}")
    folder = file.parent if file else Path.cwd()
    try:
        return _identity.of_source(code, file, [folder / path for path in declared])
    except OSError as error:
        raise ValueError(
            f"{name}: cannot read {error.filename}, which the class declares: {error.strerror}"
        ) from None


def algorithms() -> list[_core.Algorithm]:
    """The algorithms that come with Incast.

    Each has its ``name``, ``title`` and one line of ``summary``, its group (``family``, see
    :func:`families`), one line on what it needs from hosts and switches and since when equipment has it
    (``needs``), its presets, and its parameters with the values of the first preset, each with the source of
    its value and the class of that source (``evidence``, see :func:`evidence`).
    """
    return _core.algorithms()


def families() -> list[_core.Family]:
    """The groups of :func:`algorithms` and :func:`own_controls`, in the order of lists."""
    return _core.families()


def evidence() -> list[_core.Evidence]:
    """Returns the classes of the evidence for parameters' defaults, from the firmest on.

    A default is ``printed`` in a paper, read in an ``artifact``, ``measured`` here, ``derived``, or ``ours``.
    """
    return _core.evidence()


def own_controls() -> list[_core.OwnControl]:
    """The transports and networks that control congestion without an algorithm at the sender."""
    return _core.own_controls()
