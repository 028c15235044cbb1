"""Files over the network, under any algorithm of Incast whose signals the path gives.

The packets are UDP; what is in them is in ``docs/guide/wire.md``. They pass through UDP sockets or, where an
interface is named, through AF_XDP sockets. Only Linux is supported.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incast import _core
from incast._core import WireError
from incast.real.path import LONGEST_PS, check

if TYPE_CHECKING:
    from incast._core import Receiving as Receiving
    from incast._core import Sending as Sending

__all__ = ["Route", "WireError", "receive", "send"]

_LEAST_PATIENCE_PS = 10**10


@dataclass(frozen=True)
class Route:
    """The path of a file, as the algorithm sees it.

    Attributes:
        base_rtt_ps: Round-trip time without queues, in picoseconds.
        line_rate_bps: Rate of the sender's link, in bit/s.
        packet_bytes: A full packet on the wire, with all headers: 66 B of Ethernet, IPv4 and UDP (20 B more
            for IPv6), 36 B of this transport, and the payload.
        base_owd_ps: The part of the round-trip time on the forward path, in picoseconds; None: half of it.
        hops: Links from sender to receiver.
    """

    base_rtt_ps: int
    line_rate_bps: int
    packet_bytes: int = 1538
    base_owd_ps: int | None = None
    hops: int = 2

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            WireError: When one is impossible.
        """
        check(self.base_rtt_ps, self.line_rate_bps, WireError)
        if self.base_owd_ps is not None and not 0 < self.base_owd_ps < self.base_rtt_ps:
            raise WireError("the forward delay must be more than zero and less than the base RTT")
        if not 1 <= self.hops <= 255:
            raise WireError("a path has 1 to 255 links")
        if not 0 < self.packet_bytes < 1 << 16:
            raise WireError("a packet on the wire has at most 65535B")


def send(
    path: str | os.PathLike[str],
    host: str,
    port: int,
    algorithm: str,
    route: Route,
    parameters: Sequence[str] = (),
    patience_ps: int = 10 * 10**12,
    report: Callable[[Sending], None] | None = None,
    xdp: str | None = None,
) -> Sending:
    """Sends a file to a receiver that waits for one.

    Args:
        path: The file; it must not change during the transfer.
        host: Name or address of the receiver's machine.
        port: Its port.
        algorithm: ``name`` or ``name:preset``.
        route: The path there.
        parameters: Parameters of the algorithm like ``u_ai=0.002``.
        patience_ps: How long to wait for an answer, in picoseconds.
        report: Called ten times a second with where it is. What it raises stops the transfer.
        xdp: Name of the network interface at which an AF_XDP socket takes the place of a UDP socket.

    Returns:
        Where it was at its end. The receiver has the whole file then, and has compared its sum.

    Raises:
        WireError: When it cannot be sent; the text says why.
        ScenarioError: When there is no such algorithm, preset or parameter.
    """
    _patience(patience_ps)
    scenario = _core.Scenario.from_toml(_ANY, "send", []).with_algorithm(algorithm, list(parameters))
    owd = route.base_rtt_ps // 2 if route.base_owd_ps is None else route.base_owd_ps
    _only_linux()
    return _core.send_file(
        scenario,
        os.fspath(path),
        host,
        _port(port, least=1),
        route.base_rtt_ps,
        owd,
        route.line_rate_bps,
        route.packet_bytes,
        route.hops,
        patience_ps,
        xdp,
        report or _nobody,
    )


_ANY = """\
topology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }
cc = { algorithm = "constant" }
switch = { buffer = "unlimited", ecn = { kmin = "10KB", kmax = "10KB", pmax = 1 } }
[[traffic]]
kind = "flows"
from = "h0"
to = "h1"
size = "1KB"
"""
"""Any scenario with a switch that suits every algorithm: only the algorithm is asked for."""


def receive(
    path: str | os.PathLike[str],
    port: int,
    address: str = "0.0.0.0",
    replace: bool = False,
    wait_ps: int | None = None,
    patience_ps: int = 10 * 10**12,
    report: Callable[[Receiving], None] | None = None,
    xdp: str | None = None,
) -> Receiving:
    """Waits for a sender and receives one file.

    While it arrives it is in ``.NAME.incast-part`` beside ``path``, which becomes ``path`` once all has
    arrived and is as it was sent. What a process that was killed left there is replaced.

    Args:
        path: The file to make.
        port: Port at which to wait; 0: any free port, which ``report`` gets.
        address: Which of the machine's addresses to wait at: ``0.0.0.0`` is all of IPv4, ``::`` all of IPv6
            and IPv4.
        replace: Whether a file may be replaced.
        wait_ps: How long to wait for a sender, in picoseconds; None: until it is stopped.
        patience_ps: How long to wait for a sender that has begun and is silent, in picoseconds.
        report: Called ten times a second with where it is, the first time when it begins to wait. What it
            raises stops the transfer.
        xdp: Name of the network interface at which AF_XDP sockets take the place of a UDP socket; it receives
            at the IPv4 addresses of this interface only.

    Returns:
        What arrived.

    Raises:
        WireError: When it cannot be received; the text says why.
    """
    _patience(patience_ps)
    _only_linux()
    path = Path(path)
    if os.path.lexists(path) and not replace:
        raise WireError(f"{path} exists already: choose another name, or --replace it")
    if path.is_dir():
        raise WireError(f"{path} is a folder: name a file")
    with _part(path) as part:
        done = _core.receive_file(
            os.fspath(part), address, _port(port, least=0), wait_ps, patience_ps, xdp, report or _nobody
        )
        try:
            _move(part, path, replace)
        except OSError as error:
            raise WireError(f"{path}: {error.strerror}; the received data is lost") from None
    return done


def _move(part: Path, path: Path, replace: bool) -> None:
    """Gives a file its name; fails if there is one of this name that may not be replaced."""
    if not replace:
        try:
            os.link(part, path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without second names, where nothing better can be done.
            if os.path.lexists(path):
                raise
        else:
            return
    part.replace(path)


@contextlib.contextmanager
def _part(path: Path) -> Iterator[Path]:
    """A file that only this process writes, gone afterwards.

    Raises:
        WireError: When another process writes it, or it cannot be made.
    """
    # Not on every system, and this module is imported on each.
    import fcntl

    part = path.with_name(f".{path.name}.incast-part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise WireError(f"{part}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WireError(f"{part} is being written: another process receives the same file") from None
        if not _is(part, descriptor):
            raise WireError(f"{part} has just been removed by another process: try again")
        try:
            yield part
        finally:
            if _is(part, descriptor):
                part.unlink()
    finally:
        os.close(descriptor)


def _is(path: Path, descriptor: int) -> bool:
    """Whether a path leads to the file that is open."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _port(port: int, least: int) -> int:
    if not least <= port <= 65535:
        raise WireError(f"a port is a number from {least} to 65535, not {port}")
    return port


def _patience(patience_ps: int) -> None:
    if not _LEAST_PATIENCE_PS <= patience_ps <= 60 * LONGEST_PS:
        raise WireError("the time to wait for an answer is 10ms to 1h")


def _only_linux() -> None:
    if not hasattr(_core, "send_file"):
        raise WireError("only Linux is supported: the sockets use its calls")


def _nobody(now: object) -> None:
    """Ignores the call."""
