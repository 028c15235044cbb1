"""The network of a testbed with a switch in user space, which can delay packets.

All links and switches of the scenario are in one program (``crates/softswitch``). Each host has a veth pair,
and the program reads and writes frames at its far end.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from incast import _core
from incast.real.testbed.machine import TestbedError
from incast.real.testbed.network import UNLIMITED, Network, device, join, mtu, pair, spaces
from incast.real.testbed.plan import Plan
from incast.real.testbed.spaces import Space

__all__ = ["forwarding"]

_IPV4 = 0x0800
_PACKET = 263
"""The level of options of packet sockets."""
_IGNORE_OUTGOING, _QDISC_BYPASS = 23, 20
_BUCKET = 5_000
"""Bytes that a host may give to the switch at once."""
_RECEIVE_BYTES = 4_000_000
_RECEIVE_BYTES_FORCED = 33


@contextlib.contextmanager
def forwarding(plan: Plan, seed: int) -> Iterator[Network]:
    """A network of namespaces in which a program forwards.

    Args:
        plan: What it is for.
        seed: Of the draws by which packets are marked.

    Raises:
        TestbedError: When it cannot be made.
    """
    made = Network()
    try:
        spaces(plan, made)
        made.middle = middle = Space("the switch")
        middle.set({"ipv6/conf/all/disable_ipv6": 1, "ipv6/conf/default/disable_ipv6": 1})
        timer = max(1, plan.rto_ps // 10**9)
        with contextlib.ExitStack() as stack:
            sockets = []
            for link in sorted(plan.links, key=lambda link: link.node):
                if link.node < plan.core.hosts:
                    far = f"to-{plan.name(link.node)}"
                    pair(plan, made.hosts[link.node], device(plan, link), middle, far)
                    join(made.hosts[link.node], link.node, device(plan, link), timer)
                    _hold(plan, made.hosts[link.node], device(plan, link), link.rate_bps)
                    sockets.append(stack.enter_context(_socket(middle, far)))
            made.switch = _switch(plan, sockets, seed)
        yield made
    finally:
        made.close()


def _hold(plan: Plan, space: Space, name: str, rate_bps: int) -> None:
    """Keeps packets in the host until its link has room for them, as a network card does.

    The kernel holds connections back that have packets waiting there. What it gives to the switch waits
    where no connection knows of it.
    """
    bucket = max(_BUCKET, 4 * (mtu(plan) + 14))
    tbf = f"qdisc add dev {name} root tbf rate {rate_bps}bit burst {bucket} limit {UNLIMITED}"
    space.run(["tc", "-batch", "-"], [tbf])


def _socket(space: Space, name: str) -> socket.socket:
    """A socket for the frames of a device."""
    try:
        with space.entered():
            # Bound to the device from the beginning, by a protocol of none: nothing of another one gets in.
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        made.setsockopt(_PACKET, _IGNORE_OUTGOING, 1)
        made.setsockopt(_PACKET, _QDISC_BYPASS, 1)
        made.setsockopt(socket.SOL_SOCKET, _RECEIVE_BYTES_FORCED, _RECEIVE_BYTES)
        made.bind((name, _IPV4))
    except TestbedError:
        raise
    except OSError as error:
        raise TestbedError(f"there are no packet sockets (CONFIG_PACKET): {error.strerror}") from None
    return made


def _switch(plan: Plan, sockets: list[socket.socket], seed: int) -> _core.Switch:
    ports = []
    telemetry = any(control.telemetry for control in plan.controls.values())
    for link in plan.links:
        records = telemetry and link.node >= plan.core.hosts
        marks = plan.marks(link.rate_bps) if link.node >= plan.core.hosts else None
        at_dequeue = plan.core.ecn is not None and plan.core.ecn[4]
        of = None if marks is None else (*marks, at_dequeue)
        ports.append((link.node, link.port, link.peer, link.rate_bps, link.delay_ps, of, records))
    try:
        buffer = (plan.core.buffer_bytes, plan.core.buffer_alpha)
        return _core.Switch([of.fileno() for of in sockets], ports, buffer, seed, plan.core.pausing)
    except OSError as error:
        raise TestbedError(f"the switch does not start: {error}") from None
