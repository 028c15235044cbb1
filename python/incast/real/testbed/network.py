"""The network of a testbed: namespaces for hosts and switches, veth pairs for links."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from incast import _core
from incast.real import kernel
from incast.real.kernel import KernelError, machine
from incast.real.kernel.image import ImageError, patched
from incast.real.testbed.machine import TestbedError, tool
from incast.real.testbed.plan import Plan
from incast.real.testbed.queues import Counter, Queue
from incast.real.testbed.spaces import Space

__all__ = ["Network", "network"]

_MAC = "02:00:00:00:00:01"
"""The address of every device: packets find their way by IP, and no device asks for another's address."""

UNLIMITED = 64_000_000
"""Bytes before a port without a limit."""

_QUIET: dict[str, str | int] = {
    "ipv6/conf/all/disable_ipv6": 1,
    "ipv6/conf/default/disable_ipv6": 1,
    "ipv4/conf/all/rp_filter": 0,
    "ipv4/conf/default/rp_filter": 0,
    "ipv4/conf/all/send_redirects": 0,
    "ipv4/conf/default/send_redirects": 0,
}

_HOST: dict[str, str | int] = {
    # As in the scenario: nothing but 54 bytes of headers, and no memory of earlier connections.
    "ipv4/tcp_timestamps": 0,
    "ipv4/tcp_ecn": 0,
    "ipv4/tcp_no_metrics_save": 1,
    "ipv4/tcp_slow_start_after_idle": 0,
    # By default connections with a short RTT send bursts of up to 64 KB, whatever their rate.
    "ipv4/tcp_tso_rtt_log": 0,
    "ipv4/tcp_wmem": "4096 262144 16777216",
    "ipv4/tcp_rmem": "4096 16777216 33554432",
}


@dataclass
class Network:
    """A network that stands.

    Attributes:
        hosts: The namespaces of the hosts.
        switches: Those of the switches, where the kernel forwards.
        queues: The kernel's queue of every port; empty where a program forwards.
        middle: The namespace of that program's devices.
        switch: The program.
    """

    hosts: list[Space] = field(default_factory=list)
    switches: dict[int, Space] = field(default_factory=dict)
    queues: dict[_core.PortKey, Queue] = field(default_factory=dict)
    middle: Space | None = None
    switch: _core.Switch | None = None

    def close(self) -> None:
        """Removes it."""
        if self.switch is not None:
            # Stopped before, where nothing went wrong: then its failure was told.
            with contextlib.suppress(OSError):
                self.switch.stop()
        for queue in self.queues.values():
            queue.close()
        for space in (*self.hosts, *self.switches.values(), self.middle):
            if space is not None:
                space.close()


def address(host: int) -> str:
    """The address of a host."""
    return f"10.77.{host >> 8}.{host & 255}"


@contextlib.contextmanager
def network(plan: Plan) -> Iterator[Network]:
    """A network of namespaces in which the kernel forwards.

    Args:
        plan: What it is for.

    Raises:
        TestbedError: When it cannot be made.
    """
    made = Network()
    try:
        spaces(plan, made)
        for node in range(plan.core.hosts, len(plan.nodes)):
            made.switches[node] = space = Space(plan.name(node))
            space.set({**_QUIET, "ipv4/ip_forward": 1, "ipv4/conf/all/forwarding": 1})
        for link in plan.links:
            if link.node < link.peer:
                here, there = of(made, link.node), of(made, link.peer)
                pair(plan, here, device(plan, link), there, f"to-{plan.name(link.node)}")
        _routes(plan, made)
        for link in plan.links:
            _limit(plan, made, link)
            if link.node >= plan.core.hosts and plan.telemetry:
                _stamp(plan, made, link)
        for space in (*made.hosts, *made.switches.values()):
            _spread(space)
        yield made
    finally:
        made.close()


def spaces(plan: Plan, made: Network) -> None:
    """Makes the namespaces of the hosts."""
    for node in range(plan.core.hosts):
        made.hosts.append(space := Space(plan.name(node)))
        space.set({**_QUIET, **_HOST})


def of(made: Network, node: int) -> Space:
    """The namespace of a node."""
    return made.hosts[node] if node < len(made.hosts) else made.switches[node]


def device(plan: Plan, link: _core.PlannedLink) -> str:
    """The name of the device that sends on a link."""
    return f"to-{plan.name(link.peer)}"


def mtu(plan: Plan) -> int:
    """The largest IP packet: a full one of the scenario."""
    return plan.core.packet_bytes - 14


def pair(plan: Plan, here: Space, mine: str, there: Space, other: str) -> None:
    """Makes the two devices of a link.

    Args:
        plan: The plan.
        here: A namespace.
        mine: The device in it.
        there: Another namespace.
        other: The device in that.
    """
    same = f"address {_MAC} mtu {mtu(plan)}"
    here.run(
        ["ip", "-batch", "-"],
        [f"link add {mine} {same} type veth peer name {other} {same} netns {there.path}"],
    )
    for space, name in ((here, mine), (there, other)):
        space.run(["ip", "-batch", "-"], [f"link set {name} arp off gso_max_segs 1 up"])
        space.offloads_off(name)


def _spread(space: Space) -> None:
    """Lets another processor take in what is sent: else whoever sends does so first, for milliseconds."""
    places = os.sched_getaffinity(0)
    # The first one sends. Without packet steering in the kernel everything is as it was.
    others = sum(1 << place for place in places - {min(places)} if place < 32)
    if not others:
        return
    space.run(["unshare", "--mount", "sh", "-c", _STEER, "sh", f"{others:x}"])


_STEER = """\
mount -t sysfs sysfs /sys
for file in /sys/class/net/to-*/queues/rx-*/rps_cpus; do
    [ ! -e "$file" ] || echo "$1" > "$file" || true
done
"""


def _routes(plan: Plan, made: Network) -> None:
    """Gives hosts their addresses, and every namespace its ways."""
    timer = max(1, plan.core.rto_ps // 10**9)
    for host, space in enumerate(made.hosts):
        (link,) = (link for link in plan.links if link.node == host)
        join(space, host, device(plan, link), timer)
    near = {link.node: link.peer for link in plan.links if link.node < plan.core.hosts}
    for node, space in made.switches.items():
        trunk = [link for link in plan.links if link.node == node and link.peer in made.switches]
        lines = []
        for host in range(plan.core.hosts):
            out = f"to-{plan.name(host)}" if near[host] == node else device(plan, trunk[0])
            lines.append(f"route add {address(host)}/32 dev {out}")
        space.run(["ip", "-batch", "-"], ["link set lo up", *lines])


def join(space: Space, host: int, name: str, timer_ms: int) -> None:
    """Gives a host its address and the way to all others.

    Args:
        space: The host's namespace.
        host: Its number.
        name: Its device.
        timer_ms: The shortest retransmission timeout.
    """
    space.run(
        ["ip", "-batch", "-"],
        [
            "link set lo up",
            f"address add {address(host)}/32 dev {name}",
            # Acknowledgements at once, also for one packet in flight.
            f"route add 10.77.0.0/16 dev {name} src {address(host)} quickack 1 rto_min {timer_ms}ms",
        ],
    )


def _limit(plan: Plan, made: Network, link: _core.PlannedLink) -> None:
    """Makes the queue and the rate of one direction of a link."""
    space, name = of(made, link.node), device(plan, link)
    most = UNLIMITED if link.limit_bytes is None else max(link.limit_bytes, mtu(plan) + 14)
    bucket = plan.core.bucket_bytes
    tbf = f"qdisc add dev {name} root tbf rate {link.rate_bps}bit burst {bucket} limit {most}"
    space.run(["tc", "-batch", "-"], [tbf])
    counter = None if link.marks is None else _mark(space, name, link.marks.low_bytes)
    made.queues[link.key] = Queue(space, name, counter)


def _object(name: str, constant: str, value: bytes) -> bytes:
    """An object of the package with a constant in it."""
    source = kernel.OBJECTS / name
    try:
        return patched(source.read_bytes(), {constant: value})
    except FileNotFoundError:
        raise TestbedError(f"{source} is missing: build it with `make bpf`") from None
    except ImageError as error:
        raise TestbedError(
            f"{source} does not fit this version of Incast ({error}): run `make bpf`"
        ) from None


def _stamp(plan: Plan, made: Network, link: _core.PlannedLink) -> None:
    """Writes telemetry of a port into packets that leave its queue: where they come in at the far end."""
    image = _object("stamp.bpf.o", "incast_port_kbps", (link.rate_bps // 1000).to_bytes(4, "little"))
    far = f"to-{plan.name(link.node)}"
    there = of(made, link.peer).path
    words = (machine.ready(), tool("tc"), device(plan, link), far, there, tool("nsenter"))
    _load(of(made, link.node), image, _STAMP, *words)


def _load(space: Space, image: bytes, script: str, *words: str) -> str:
    """Runs a script of a shell that finds an object in a file; returns what it prints.

    Object and programs have names only while the shell runs, in mounts of its own that end with it.
    """
    return space.run(["unshare", "--mount", "sh", "-ec", _PLACE + script, "sh", *words], data=image)


_PLACE = """\
mount -t bpf bpf /sys/fs
mount -t tmpfs tmpfs /sys/class
cat > /sys/class/object.o
"""


_STAMP = """\
"$1" prog loadall /sys/class/object.o /sys/fs/stamp
"$2" qdisc replace dev "$3" clsact
"$2" filter add dev "$3" egress bpf da pinned /sys/fs/stamp/incast_port
"$6" --net="$5" "$2" qdisc replace dev "$4" clsact
"$6" --net="$5" "$2" filter add dev "$4" ingress bpf da pinned /sys/fs/stamp/incast_stamp
"""


def _mark(space: Space, name: str, above: int) -> Counter:
    """Marks packets that find more than ``above`` bytes before a device; returns their counter."""
    image = _object("mark.bpf.o", "incast_mark_above", above.to_bytes(8, "little"))
    said = _load(space, image, _ATTACH, machine.ready(), tool("tc"), name)
    try:
        return Counter(int(said.split()[-1]))
    except (ValueError, IndexError):
        raise TestbedError(f"bpftool did not say which program it loaded, but {said!r}") from None
    except KernelError as error:
        raise TestbedError(str(error)) from None


_ATTACH = """\
"$1" prog load /sys/class/object.o /sys/fs/mark
"$2" qdisc replace dev "$3" clsact
"$2" filter add dev "$3" egress bpf da pinned /sys/fs/mark
"$1" prog show pinned /sys/fs/mark | sed -n 's/^\\([0-9]*\\):.*/\\1/p'
"""
