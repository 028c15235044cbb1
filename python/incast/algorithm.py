"""Algorithms of your own, written in Python.

An algorithm is a class that is made with the parameters of a scenario, and whose method ``start`` gives the
state of one flow. The contract is that of the algorithms in Rust (``incast_cc::CongestionControl``), with
the same names: times are whole numbers of picoseconds, sizes of bytes on the wire, rates of bit/s.

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

A run that uses such a class stays on one thread, and its numbers are the same every time as long as the
class is: no clock, no random numbers without a seed, nothing read from outside.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.util
import inspect
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from incast import _core
from incast._core import Ack, IntHop
from incast._core import Path as FlowPath

PLUGINS = "INCAST_PLUGINS"
"""The environment variable that names plugin files, for the processes of a sweep too."""


class Signals(enum.IntFlag):
    """What an algorithm needs from the network beyond send and receive times."""

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


class Flow(ABC):
    """The state of one flow. ``now`` never decreases from one call to the next.

    What the flow may do, :meth:`allowance`, and its :attr:`deadline` method are asked once after every call
    below, so that they may change only there. Leave a method out that does nothing: it then costs nothing.
    """

    @abstractmethod
    def on_ack(self, ack: Ack, hops: Sequence[IntHop]) -> None:
        """An acknowledgement arrived.

        Args:
            ack: What it says.
            hops: The telemetry of each switch port on the way; empty without :attr:`Signals.INT`.
        """

    @abstractmethod
    def allowance(self) -> tuple[float | None, float | None]:
        """What the flow may do now: window in bytes and rate in bit/s, rounded down.

        A packet may leave while the bytes in flight are fewer than the window (one always may), and no
        faster than the rate. None and infinity are no limit.
        """

    # Methods that need not be there, as a flow may have them:
    #   on_cnp(now)       the receiver reports congestion (only with Signals.CNP)
    #   on_loss(loss)     the transport found a loss and is about to send again
    #   on_sent(sent)     a packet begins to leave
    #   on_timer(now)     the deadline has come
    #   tag()             a whole number below 2**32, kept with the packet that begins to leave
    #                     (only with Signals.PACKET_TAG)
    #   deadline()        when on_timer is to be called next, in ps; None: never


class CongestionControl(ABC):
    """An algorithm with its parameters, which are the arguments of its ``__init__``.

    They come from the keys of ``[cc]`` beside ``algorithm``: texts (also for quantities: see
    :mod:`incast.units`), numbers, flags, lists. What ``__init__`` raises becomes the error of the scenario.

    Attributes:
        signals: What it needs from the network.
        overhead: Bytes that it adds to the header of every data packet and of every acknowledgement.
    """

    signals: ClassVar[Signals] = Signals.NONE
    overhead: ClassVar[tuple[int, int]] = (0, 0)

    @abstractmethod
    def start(self, path: FlowPath, now: int) -> Flow:
        """The state of a flow that starts.

        Args:
            path: What is known of its path: base RTT, line rate, packet size.
            now: The time, in ps.
        """


_made: dict[str, tuple[Callable[..., Any], Path | None]] = {}


def register(name: str, algorithm: Callable[..., Any], summary: str | None = None) -> None:
    """Makes an algorithm known under a name, which ``cc.algorithm`` can then have.

    Scenarios that were read before keep what they have. Effective scenarios carry a hash of the source (of
    the class's file; in a notebook, of the class), so that a result of older code is never taken for one of
    this.

    Args:
        name: Letters, digits, - and _; not a name of the catalogue.
        algorithm: The class (see :class:`CongestionControl`), or anything that is called like it.
        summary: One line for lists; by default the first of the docstring.

    Raises:
        ValueError: When the name is taken or not allowed.
        TypeError: When ``algorithm`` cannot be called.
    """
    _register(name, algorithm, summary, None)


def _register(name: str, algorithm: Callable[..., Any], summary: str | None, file: Path | None) -> None:
    if not callable(algorithm):
        raise TypeError(f"{name}: an algorithm is a class, not {algorithm!r}")
    line = summary or (inspect.getdoc(algorithm) or "An algorithm written in Python.").partition("\n")[0]
    _core.register(name, algorithm, line, _hash(algorithm))
    _made[name] = (algorithm, file or _plugin_of(algorithm))


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
    """Runs a Python file that registers algorithms, as ``--plugin`` does.

    A file that calls :func:`register` nowhere has its subclasses of :class:`CongestionControl` registered,
    each under its own name (``MyRule``: ``my-rule``).

    Args:
        path: The file.

    Returns:
        The names that it registered.

    Raises:
        FileNotFoundError: When there is no such file.
        ValueError: When it has no algorithm.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"{path}: there is no such plugin file")
    name = f"incast_plugin_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: a plugin is a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
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
        raise ValueError(f"{path}: has no algorithm; derive a class from incast.CongestionControl")
    known = os.environ.get(PLUGINS, "")
    if str(file) not in known.split(os.pathsep):
        os.environ[PLUGINS] = f"{known}{os.pathsep}{file}" if known else str(file)
    return names


def load_plugins_of_environment() -> None:
    """Loads the plugin files that the environment names (:data:`PLUGINS`)."""
    for file in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
        load_plugin(file)


def registered() -> dict[str, str]:
    """The names that are registered, each with one line."""
    return dict(_core.registered())


def carried(names: Sequence[str]) -> list[tuple[str, Callable[..., Any] | str]]:
    """What another process needs to know algorithms by these names: classes, or files of plugins."""
    found = ((name, _made[name]) for name in names if name in _made)
    return [(name, made if file is None else str(file)) for name, (made, file) in found]


def register_carried(algorithms: Sequence[tuple[str, Callable[..., Any] | str]]) -> None:
    """Registers what :func:`carried` gave, where it is not known yet."""
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


def _hash(algorithm: Callable[..., Any]) -> str | None:
    """A hash of the source of an algorithm; nothing where there is none."""
    try:
        file = inspect.getsourcefile(algorithm)
        source = Path(file).read_bytes() if file and Path(file).is_file() else None
        if source is None:
            source = inspect.getsource(algorithm).encode()
    except (OSError, TypeError):
        return None
    return f"sha256:{hashlib.sha256(source).hexdigest()[:16]}"


def catalogue() -> list[_core.Algorithm]:
    """The algorithms that come with Incast, with their presets and the parameters of the first one."""
    return _core.algorithms()
