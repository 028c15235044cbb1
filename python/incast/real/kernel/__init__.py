"""Congestion control in the Linux kernel: the algorithms of Incast for real TCP connections.

The objects are built by ``make bpf``. Loading one registers a congestion control with the kernel under the
name in :data:`CONTROLS`; it stays until it is unloaded, also when the process that loaded it ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from incast import _core
from incast.real.kernel import machine, options
from incast.real.kernel.holders import Holders, holders, renew
from incast.real.kernel.image import ImageError, patched, renamed
from incast.real.kernel.machine import KernelError
from incast.real.kernel.options import Option
from incast.real.path import check

__all__ = [
    "CONTROLS",
    "Control",
    "Holders",
    "KernelError",
    "Link",
    "Loaded",
    "clear",
    "complete",
    "control",
    "holders",
    "internals",
    "kernel_name",
    "load",
    "load_own",
    "loaded",
    "names",
    "option",
    "prepared",
    "setup",
    "state_bytes",
    "unload",
]

OBJECTS = Path(__file__).parent / "objects"
"""Folder in which ``make bpf`` puts the objects."""


@dataclass(frozen=True)
class Control:
    """An algorithm that there is for the kernel.

    Attributes:
        algorithm: Its name in scenario files.
        name: Its name in the kernel.
        signals: What it may need beyond send and receive times, because the kernel tells it.
        option: The TCP option that brings it such a signal, where it needs that.
    """

    algorithm: str
    name: str
    signals: frozenset[str] = frozenset()
    option: options.Option | None = None

    @property
    def object(self) -> str:
        """The name of the object's file."""
        return f"{self.algorithm.replace('-', '_')}.bpf.o"


def _control(algorithm: str, entry: _core.KernelEntry) -> Control:
    option = next((one for one in (options.DELAY, options.TELEMETRY) if one.signal in entry.signals), None)
    return Control(algorithm, entry.name, frozenset(entry.signals), option)


CONTROLS = tuple(_control(known.name, known.kernel) for known in _core.algorithms() if known.kernel)
"""Every algorithm that there is for the kernel."""


_LARGEST_BYTES = 65_535 + 38


@dataclass(frozen=True)
class Link:
    """The path of the connections, as an algorithm sees it from its loading on.

    Attributes:
        base_rtt_ps: Round-trip time without queues, in picoseconds.
        line_rate_bps: Rate of the sender's link, in bit/s.
        packet_bytes: A full packet on the wire, with all headers.
        payload_bytes: Payload of a full packet, without a TCP option of Incast's own.
        base_owd_ps: The part of the round-trip time on the forward path, in picoseconds; None: half of it.
        hops: Links from sender to receiver.
    """

    base_rtt_ps: int
    line_rate_bps: int
    packet_bytes: int = 1538
    payload_bytes: int = 1448
    base_owd_ps: int | None = None
    hops: int = 2

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            KernelError: When one is impossible.
        """
        check(self.base_rtt_ps, self.line_rate_bps, KernelError)
        if not 0 < self.payload_bytes < self.packet_bytes:
            raise KernelError("the payload of a packet must be less than the whole packet")
        if self.packet_bytes > _LARGEST_BYTES:
            raise KernelError(
                f"a packet on the wire has at most {_LARGEST_BYTES}B: 65535B of IP and 38B of Ethernet"
            )
        if not 0 < self.hops <= 255:
            raise KernelError("the links on the forward path must be 1 to 255, the most that IP allows")
        if self.base_owd_ps is not None and not 0 < self.base_owd_ps < self.base_rtt_ps:
            raise KernelError("the forward delay must be a part of the base RTT")


@dataclass(frozen=True)
class Loaded:
    """A congestion control of Incast in the kernel.

    Attributes:
        name: Its name in the kernel.
        id: Its number in the kernel.
        selectable: Whether new connections can select it. One that is being unloaded is not, and goes with
            the last connection that uses it.
    """

    name: str
    id: int
    selectable: bool


def control(name: str) -> Control:
    """The algorithm of this name, in scenario files or in the kernel.

    Raises:
        KernelError: When there is none for the kernel.
    """
    for known in CONTROLS:
        if name == known.algorithm or name in names(known):
            return known
    listed = ", ".join(known.algorithm for known in CONTROLS)
    raise KernelError(f"there is no {name!r} for the kernel; known: {listed}")


def names(known: Control) -> tuple[str, ...]:
    """The names under which an algorithm can be loaded, each time with another setup: the usual one first.

    The others end with a digit in place of the last letter. They have the same length, because a name is
    replaced where it stands in the object.
    """
    return (known.name, *(f"{known.name[:-1]}{digit}" for digit in "23456789"))


def kernel_name(name: str) -> str:
    """The name in the kernel of what has this name there or in scenario files.

    Raises:
        KernelError: When there is none, and it cannot be the name of an algorithm of the user's own.
    """
    return name if name.startswith(_PREFIX) else control(name).name


def setup(algorithm: str, parameters: Sequence[str], link: Link) -> bytes:
    """Returns the setup that an algorithm derives from parameters and path, as the kernel reads it.

    Args:
        algorithm: ``name`` or ``name:preset``.
        parameters: Parameters like ``u_ai=0.002``.
        link: The path.

    Raises:
        KernelError: When it needs a signal that the kernel does not give.
        ScenarioError: When there is no such preset or parameter.
    """
    return _setup(algorithm, parameters, link)[0]


def option(algorithm: str, parameters: Sequence[str], link: Link) -> Option | None:
    """Returns the TCP option of a setup, by the arguments of :func:`setup`; None: it needs none."""
    return _setup(algorithm, parameters, link)[1]


def _setup(algorithm: str, parameters: Sequence[str], link: Link) -> tuple[bytes, Option | None, int]:
    """Returns the setup, the TCP option that it needs, and the bytes of headers in a full packet."""
    known, full, scenario = _scenario(algorithm, parameters)
    owd = link.base_rtt_ps // 2 if link.base_owd_ps is None else link.base_owd_ps
    wanted, payload = None, link.payload_bytes
    # Once to learn what it needs, and again if that takes room in packets.
    for _ in range(2):
        made = scenario.kernel_setup(
            link.base_rtt_ps, owd, link.line_rate_bps, link.packet_bytes, payload, link.hops
        )
        if made is None:
            raise KernelError(f"{full} is not an algorithm of Incast's own")
        signals, data = made
        for signal in signals:
            if signal not in known.signals:
                said = _UNTOLD.get(signal, f"the signal {signal}, which TCP lacks")
                raise KernelError(f"{full} needs {said}")
        if known.option is None or known.option.signal not in signals:
            break
        wanted = known.option
        payload = link.payload_bytes - wanted.request_bytes
        if payload <= 0:
            raise KernelError(f"{full} needs a payload above {wanted.request_bytes}B: its TCP option")
    return data, wanted, link.packet_bytes - payload


def _scenario(algorithm: str, parameters: Sequence[str]) -> tuple[Control, str, _core.Scenario]:
    """A scenario with this algorithm, what is known of it for the kernel, and its full name."""
    known = control(algorithm.partition(":")[0])
    full = known.algorithm + algorithm[len(algorithm.partition(":")[0]) :]
    text = _ANY % (known.algorithm, _MARKING if "ecn" in known.signals else "")
    scenario = _core.Scenario.from_toml(text, "kernel", [])
    return known, full, scenario.with_algorithm(full, list(parameters))


def state_bytes(name: str) -> int:
    """The bytes of the state that an algorithm keeps of each flow.

    Args:
        name: Its name in scenario files or in the kernel.

    Raises:
        KernelError: When there is none for the kernel.
    """
    known = _core.algorithm(control(name).algorithm)
    assert known is not None
    return known.state_bytes


def internals(
    algorithm: str, parameters: Sequence[str], link: Link, states: Sequence[bytes]
) -> list[list[tuple[int, int, int]]]:
    """The internal quantities of flows, as a probe of the simulator shows them.

    Args:
        algorithm: ``name`` or ``name:preset``.
        parameters: Parameters like ``u_ai=0.002``.
        link: The path.
        states: States of flows, as the functions of this algorithm in the kernel have written them: no other
            bytes can be read so.

    Returns:
        For each state the quantities that have a value: its place in the algorithm's list, and kind and
        bits of the value.

    Raises:
        KernelError: When a state is shorter than the algorithm's states.
        ScenarioError: When there is no such preset or parameter.
    """
    _, full, scenario = _scenario(algorithm, parameters)
    header = _setup(algorithm, parameters, link)[2]
    owd = link.base_rtt_ps // 2 if link.base_owd_ps is None else link.base_owd_ps
    path = (
        link.base_rtt_ps,
        owd,
        link.line_rate_bps,
        link.packet_bytes,
        link.packet_bytes - header,
        link.hops,
    )
    found = scenario.kernel_internals(path, list(states))
    if found is None:
        raise KernelError(f"a state of {full} has {state_bytes(algorithm.partition(':')[0])} bytes")
    return found


_ANY = """\
topology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }
cc = { algorithm = "%s" }
switch = { buffer = "unlimited"%s }
[[traffic]]
kind = "flows"
from = "h0"
to = "h1"
size = "1KB"
"""
"""Any scenario with an algorithm and a switch that suits it: only the algorithm is asked for."""

_MARKING = ', ecn = { kmin = "10KB", kmax = "10KB", pmax = 1 }'

_UNTOLD = {
    "receiver_flows": "the number of flows at the receiver, which TCP lacks; add --set count=estimate",
    "median": "a median before its signal, which only mswift has in the kernel",
}


def load(
    algorithm: str,
    parameters: Sequence[str],
    link: Link,
    objects: Path | None = None,
    name: str | None = None,
) -> Control:
    """Loads an algorithm into the kernel, for connections of every network namespace to select.

    Namespaces whose default has this name select it again. Sockets that had selected it keep what they had
    (:func:`holders`).

    Args:
        algorithm: ``name`` or ``name:preset``.
        parameters: Parameters like ``u_ai=0.002``.
        link: The path.
        objects: The folder of the objects, by default the package's own.
        name: One of its :func:`names` in the kernel, by default the first.

    Raises:
        KernelError: When it cannot be; the text says what to do.
        ScenarioError: When there is no such preset or parameter.
    """
    own = control(algorithm.partition(":")[0])
    known = own if name is None else replace(own, name=name)
    if known.name not in names(own):
        raise KernelError(f"{own.algorithm} cannot be loaded as {known.name}, but as {', '.join(names(own))}")
    wanted = option(algorithm, parameters, link)
    bpftool = machine.ready(options.OLDEST if wanted else machine.OLDEST, machine.Act.LOAD)
    manages = not machine.Act.ASK.lacks()
    if wanted:
        machine.ready()
    folder = objects or OBJECTS
    _read(folder / known.object)
    if known.name in machine.available():
        raise KernelError(f"{known.name} is loaded already: `incast kernel unload {known.name}` first")
    image = renamed(prepared(algorithm, parameters, link, folder), own.name, known.name)
    source = _read(folder / _OPTIONS) if wanted else b""
    if known.option and manages:
        _remove_unused(bpftool)
    _register(bpftool, known.name, image)
    if wanted:
        number = max(number for name, number in machine.registered() if name == known.name)
        try:
            options.attach(bpftool, source, wanted, number)
        except BaseException as error:
            machine.call(bpftool, "struct_ops", "unregister", "id", str(number))
            if isinstance(error, ImageError):
                raise _misfit(folder / _OPTIONS, error) from None
            raise
    renew(known.name)
    return known


def _register(bpftool: str, name: str, image: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="incast-") as place:
        # The kernel shows the first letters of the file's name with its map of constants.
        path = Path(place) / f"{name}.o"
        path.write_bytes(image)
        machine.call(bpftool, "struct_ops", "register", str(path))
    if name not in machine.available():
        raise KernelError(f"the kernel took {name} but does not list it; see `bpftool struct_ops show`")


def load_own(name: str, source: Path, data: bytes, header: int = 90) -> None:
    """Loads an algorithm of the user's own, which ``bpf/build.sh --own`` has built.

    Args:
        name: Its name in the kernel, with which it was built.
        source: The object.
        data: Its setup, as it lies in memory.
        header: Bytes of headers in a packet on the wire.

    Raises:
        KernelError: When it cannot be; the text says what to do.
    """
    if not name.startswith(_PREFIX) or any(name in names(known) for known in CONTROLS):
        raise KernelError(
            f"{name!r} is not a valid name for your own algorithm: write {_PREFIX} and one that is free"
        )
    bpftool = machine.ready(act=machine.Act.LOAD)
    if not source.is_file():
        raise KernelError(f"{source} is missing: build it with `bpf/build.sh --own`")
    if name in machine.available():
        raise KernelError(f"{name} is loaded already: `incast kernel unload {name}` first")
    try:
        image = patched(
            source.read_bytes(), {"incast_setup": data, "incast_header": header.to_bytes(8, "little")}
        )
    except ImageError as error:
        raise KernelError(f"{source} and the setup do not belong together ({error})") from None
    _register(bpftool, name, image)
    renew(name)


_PREFIX = "incast_"
"""Beginning of the names of all congestion controls of Incast."""


def prepared(algorithm: str, parameters: Sequence[str], link: Link, objects: Path | None = None) -> bytes:
    """The object of an algorithm with parameters and path in it, as it is loaded.

    Args:
        algorithm: ``name`` or ``name:preset``.
        parameters: Parameters like ``u_ai=0.002``.
        link: The path.
        objects: The folder of the objects, by default the package's own.

    Raises:
        KernelError: When the object is missing or does not fit; the text says what to do.
        ScenarioError: When there is no such preset or parameter.
    """
    known = control(algorithm.partition(":")[0])
    data, wanted, header = _setup(algorithm, parameters, link)
    source = (objects or OBJECTS) / known.object
    values = {"incast_setup": data, "incast_header": header.to_bytes(8, "little")}
    if wanted:
        owd = link.base_rtt_ps // 2 if link.base_owd_ps is None else link.base_owd_ps
        values["incast_echoing"] = b"\1"
        values["incast_way_back"] = (link.base_rtt_ps - owd).to_bytes(8, "little")
    try:
        return patched(_read(source), values)
    except ImageError as error:
        raise _misfit(source, error) from None


_OPTIONS = "options.bpf.o"


def _read(source: Path) -> bytes:
    if not source.is_file():
        raise KernelError(f"{source} is missing: build it with `make bpf`, or name its folder with --objects")
    return source.read_bytes()


def _misfit(source: Path, error: ImageError) -> KernelError:
    return KernelError(f"{source} does not fit this version of Incast ({error}): run `make bpf`")


def loaded() -> list[Loaded]:
    """The congestion controls of Incast in the kernel, also those that a process left behind.

    Raises:
        KernelError: When the kernel cannot be asked; the text says what to do.
    """
    selectable = machine.available()
    found = [(name, number) for name, number in machine.registered() if name.startswith(_PREFIX)]
    # Under the same name there is one at most that is not being unloaded: the last.
    newest = dict(sorted(found))
    return [Loaded(name, n, name in selectable and n == newest[name]) for name, n in sorted(found)]


def clear() -> None:
    """Takes away what processes left that were killed: programs for TCP options without a congestion control.

    Raises:
        KernelError: When it cannot be; the text says why.
    """
    _remove_unused(machine.ready())


def complete(one: Loaded) -> bool:
    """Whether a congestion control has all that it was loaded with, and so was loaded to the end.

    Raises:
        KernelError: When the kernel cannot be asked; the text says what to do.
    """
    return one.name not in _with_option() or options.complete(machine.ready(), one.id)


def _remove_unused(bpftool: str) -> None:
    with_option = _with_option()
    options.remove_unused(
        bpftool, lambda: [number for name, number in machine.registered() if name in with_option]
    )


def _with_option() -> set[str]:
    """The names of congestion controls that can want a TCP option."""
    return {name for known in CONTROLS if known.option for name in names(known)}


def unload(name: str) -> bool:
    """Takes an algorithm out of the kernel.

    Args:
        name: Its name in scenario files or in the kernel.

    Returns:
        Whether it is gone. Where not, connections still use it, and it goes with the last of them.

    Raises:
        KernelError: When it is not loaded or cannot be unloaded; the text says what to do.
    """
    known = kernel_name(name)
    bpftool = machine.ready()
    found = [one for one in loaded() if one.name == known]
    if not found:
        raise KernelError(f"{known} is not loaded")
    new = [one for one in found if one.selectable]
    if not new:
        raise KernelError(f"{known} is unloaded already; it disappears with the last connection that uses it")
    for one in new:
        machine.call(bpftool, "struct_ops", "unregister", "id", str(one.id))
    _remove_unused(bpftool)
    return known not in dict(machine.registered())
