"""``incast send`` and ``incast receive``: files over the network."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from incast._terminal import WIDTH, printable, short, shortened, wipe
from incast.catalogue import canonical, read_quantity, write_quantity
from incast.cli.options import (
    Commands,
    add_command,
    flag_option,
    number_option,
    parameters_option,
    path_option,
)
from incast.progress import REDRAW_AFTER, duration
from incast.real import wire
from incast.real.wire import Route

if TYPE_CHECKING:
    from incast.real.wire import Receiving, Sending

PORT = 7077
"""Port where both commands meet by default."""


def add(commands: Commands) -> None:
    """Adds the commands."""
    sub = add_command(
        commands,
        send,
        "send",
        "send a file over the network with an algorithm",
        "Sends a file to `incast receive` in UDP packets, under a congestion control algorithm.",
    )
    sub.add_argument("file", type=Path, metavar="FILE", help="the file")
    sub.add_argument(
        "to",
        type=place,
        metavar="HOST[:PORT]",
        help=f"address at which `incast receive` listens (port: {PORT})",
    )
    sub.add_argument(
        "--cc", required=True, type=canonical, metavar="NAME[:PRESET]", help="the algorithm: `incast list`"
    )
    sub.add_argument("--rtt", required=True, type=quantity("time"), metavar="TIME", help="RTT without queues")
    sub.add_argument(
        "--rate", required=True, type=quantity("rate"), metavar="RATE", help="rate of this machine's link"
    )
    sub.add_argument(
        "--owd",
        type=quantity("time"),
        metavar="TIME",
        help="part of the RTT on the forward path (default: half)",
    )
    sub.add_argument(
        "--packet",
        type=quantity("bytes"),
        default=1538,
        metavar="SIZE",
        help="a full packet on the wire, with all headers (default: 1538B, MTU 1500 on Ethernet)",
    )
    number_option(sub, "--hops", int, "links on the forward path (default: 2)", default=2)
    parameters_option(sub)
    common(sub)

    sub = add_command(
        commands,
        receive,
        "receive",
        "receive a file of `incast send`",
        "Waits for `incast send` and receives one file.",
    )
    path_option(sub, "--out", "FILE", "the file to make", required=True)
    number_option(sub, "--port", int, f"port to listen on (default: {PORT}; 0: any free)", default=PORT)
    sub.add_argument(
        "--bind",
        default="0.0.0.0",
        metavar="ADDRESS",
        help="address to listen on (default: all of IPv4; ::, IPv6 too)",
    )
    flag_option(sub, "--replace", "replace the file if it exists")
    sub.add_argument(
        "--wait",
        type=quantity("time"),
        metavar="TIME",
        help="longest time to wait for a sender (default: no limit)",
    )
    common(sub)


def common(sub: argparse.ArgumentParser) -> None:
    """Adds the options that both have."""
    sub.add_argument(
        "--xdp",
        metavar="INTERFACE",
        help="through AF_XDP sockets at this network interface (default: UDP sockets)",
    )
    sub.add_argument(
        "--timeout",
        type=quantity("time"),
        default=10 * 10**12,
        metavar="TIME",
        help="give up after this time without a packet from the other side (default: 10s)",
    )


def send(options: argparse.Namespace) -> int:
    """Sends a file."""
    host, port = options.to
    line = Line(sending)
    route = Route(options.rtt, options.rate, options.packet, options.owd, options.hops)
    chosen = (options.cc, route, options.parameters, options.timeout)
    with line:
        done = wire.send(options.file, host, port, *chosen, line, options.xdp)
    print(
        f"{options.file}: {size(done.size_bytes)} in {seconds(done.elapsed_s)}, "
        f"{rate(done.size_bytes, done.elapsed_s)}"
    )
    print(
        f"smoothed RTT {written('time', done.smoothed_rtt_ps)}; {done.packets:,} packets, "
        f"{done.resent:,} of them sent again, {done.timeouts:,} timeouts, {done.marked:,} marked"
    )
    if done.changed_to_bytes is not None:
        print(f"incast: {options.file} {changed(done.size_bytes, done.changed_to_bytes)}", file=sys.stderr)
    return 0


def changed(sent: int, now: int) -> str:
    """Describes a file that was written to while it was sent."""
    if now == sent:
        return "was written to during the transfer: the receiver can have old and new parts of it"
    return f"had {sent:,}B at the beginning, which were sent, and now has {now:,}B"


def receive(options: argparse.Namespace) -> int:
    """Receives a file."""
    line = Line(receiving)
    said = False

    def report(now: Receiving) -> None:
        nonlocal said
        if not said:
            print(f"waiting at {now.at}", file=sys.stderr, flush=True)
            said = True
        if now.sender is not None:
            line(now)

    place_ = (options.out, options.port, options.bind, options.replace)
    with line:
        done = wire.receive(*place_, options.wait, options.timeout, report, options.xdp)
    print(
        f"{options.out}: {size(done.size_bytes)} from {done.sender} in {seconds(done.elapsed_s)}, "
        f"{rate(done.size_bytes, done.elapsed_s)}"
    )
    print(f"{done.packets:,} packets, {done.duplicates:,} of them duplicates, {done.marked:,} marked")
    return 0


Now = TypeVar("Now", "Sending", "Receiving")


class Line(Generic[Now]):
    """Progress of a transfer on one line of the terminal, redrawn in place; nothing outside a terminal.

    Args:
        text: The text of the line: of where it is, and of the bytes and seconds since the last drawing.
        stream: Where to write.
        clock: Returns seconds of wall time.
    """

    def __init__(
        self,
        text: Callable[[Now, int, float], tuple[str, int]],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text: Callable[[Now, int, float], tuple[str, int]] = text
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._drawn: float | None = None
        self._bytes = 0

    def __call__(self, now: Now) -> None:
        """Draws it, a few times a second at most."""
        at = self._clock()
        if not self._stream.isatty() or (self._drawn is not None and at - self._drawn < REDRAW_AFTER):
            return
        span = now.elapsed_s if self._drawn is None else at - self._drawn
        text, self._bytes = self._text(now, self._bytes, span)
        self._drawn = at
        wipe(self._stream)
        self._stream.write(printable(shortened(text, WIDTH - 1)))
        self._stream.flush()

    def __enter__(self) -> Line[Now]:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn is not None:
            wipe(self._stream)
            self._stream.flush()


def sending(now: Sending, before: int, span: float) -> tuple[str, int]:
    """The line of a sender, and the bytes up to which it counts."""
    window = "none" if now.window_bytes is None else size(now.window_bytes)
    parts = [
        percent(now.acknowledged_bytes, now.size_bytes),
        rate(now.acknowledged_bytes - before, span),
        f"RTT {written('time', now.rtt_ps)}",
        f"window {window}",
        *left(now.acknowledged_bytes, now.size_bytes, now.elapsed_s),
    ]
    if now.resent:
        parts.insert(4, f"{now.resent:,} sent again")
    return "  ".join(parts), now.acknowledged_bytes


def receiving(now: Receiving, before: int, span: float) -> tuple[str, int]:
    """The line of a receiver, and the bytes up to which it counts."""
    parts = [
        f"from {now.sender}",
        percent(now.received_bytes, now.size_bytes),
        rate(now.received_bytes - before, span),
        *left(now.received_bytes, now.size_bytes, now.elapsed_s),
    ]
    return "  ".join(parts), now.received_bytes


def percent(done: int, whole: int) -> str:
    """A share."""
    return f"{100 * done / whole if whole else 100:3.0f} %"


def left(done: int, whole: int, elapsed: float) -> list[str]:
    """The remaining time, once enough is done to estimate it."""
    enough = elapsed > 0.5 and done > whole / 100
    return [f"{duration(elapsed * (whole - done) / done)} left"] if enough else []


def rate(size_bytes: int, span: float) -> str:
    """A rate in three digits."""
    return _prefixed(8 * size_bytes / span if span > 0 else 0.0, "bps")


def size(count: int) -> str:
    """A size in three digits."""
    return _prefixed(count, "B")


def _prefixed(value: float, unit: str) -> str:
    for prefix, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if value >= factor:
            return f"{short(value / factor)}{prefix}{unit}"
    return f"{value:.0f}{unit}"


def seconds(span: float) -> str:
    """A span of time in three digits, as on a stop watch."""
    return f"{short(span)}s" if span >= 1 else f"{short(1000 * span)}ms"


def written(kind: str, value: int) -> str:
    """A quantity with its unit; a time in whole nanoseconds, or microseconds from a hundred on."""
    if kind == "time":
        step = 10**6 if value >= 10**8 else 10**3
        value -= value % step
    return write_quantity(kind, value)


def quantity(kind: str) -> Callable[[str], int]:
    """Reads a quantity with its unit."""

    def read(text: str) -> int:
        try:
            return read_quantity(kind, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def place(text: str) -> tuple[str, int]:
    """A host and a port: ``10.0.0.2:7077``, ``server``, ``[fe80::1]:7077``."""
    found = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no HOST:PORT like server:{PORT}, 10.0.0.2:{PORT} or [::1]:{PORT}"
        )
    return found[1] or found[2], int(found[3] or PORT)
