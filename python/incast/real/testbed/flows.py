"""The flows of a testbed: TCP connections of the kernel, started by the clock or by operations."""

from __future__ import annotations

import contextlib
import gc
import heapq
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from incast.real.testbed.machine import RunError, TestbedError
from incast.real.testbed.network import Network, address
from incast.real.testbed.plan import Flow, Plan
from incast.real.testbed.spaces import in_time
from incast.real.testbed.work import Work

__all__ = ["Connection", "Loop", "Measured", "connect"]

_PORT = 5000
_AT_ONCE = 1 << 16
"""The most bytes given to a connection at a time."""

_UNSENT = 1 << 16
"""Bytes that a connection may hold unsent: so few that a flow that stops, stops soon."""

_TIMESTAMPING, _ERRORS = 37, 0x2000
_TX_ACK, _SOFTWARE, _BY_POSITION, _NO_DATA = 1 << 9, 1 << 4, 1 << 7, 1 << 11
_NOTSENT_LOWAT = 25

_UNPACED = 10
"""Packets of a connection that Linux sends as fast as it can, whatever its pacing."""

_PATIENCE_NS = 5_000_000_000
"""Time without progress after which a testbed gives up: the kernel's timers are slower than a scenario's."""

_ZEROS = memoryview(bytes(_AT_ONCE))


@dataclass(frozen=True)
class Info:
    """The kernel's report on a connection (``TCP_INFO``).

    Attributes:
        rtt_us: The smoothed round-trip time in microseconds.
        window: The congestion window in packets.
        inflight: Packets in flight.
        pacing: The pacing rate in bytes of payload per second.
        acked: Bytes acknowledged.
        packets: Data packets sent.
        resent: Data packets sent again.
        marked: Acknowledged packets that carried a mark.
        timeouts: Retransmission timeouts.
    """

    rtt_us: int
    window: int
    inflight: int
    pacing: int
    acked: int
    packets: int
    resent: int
    marked: int
    timeouts: int

    @classmethod
    def of(cls, connection: socket.socket) -> Info:
        """That of a connection."""
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 264)
        raw += bytes(264 - len(raw))
        unacked, sacked, lost, retrans = struct.unpack_from("=IIII", raw, 24)
        (rtt,) = struct.unpack_from("=I", raw, 68)
        (window,) = struct.unpack_from("=I", raw, 80)
        (resent,) = struct.unpack_from("=I", raw, 100)
        pacing, _, acked = struct.unpack_from("=QQQ", raw, 104)
        (packets,) = struct.unpack_from("=I", raw, 156)
        (marked,) = struct.unpack_from("=I", raw, 196)
        (timeouts,) = struct.unpack_from("=H", raw, 240)
        inflight = max(0, unacked - sacked - lost + retrans)
        return cls(rtt, window, inflight, pacing, acked, packets, resent, marked, timeouts)


@dataclass
class Connection:
    """A flow's connection.

    Attributes:
        flow: The flow.
        sender: Its socket at the source.
        receiver: Its socket at the destination.
        begun: What the kernel told of it before it sent anything.
        given: Bytes given to the kernel to send.
        received: Bytes read at the destination.
        started_ns: When it started, from the start of the scenario.
        finish_ns: When its last byte was acknowledged, from the start of the scenario.
        delivered_ns: When its last byte was read.
        stopped: Whether it is past its stop.
    """

    flow: Flow
    sender: socket.socket
    receiver: socket.socket
    begun: Info
    given: int = 0
    received: int = 0
    started_ns: int | None = None
    finish_ns: int | None = None
    delivered_ns: int | None = None
    stopped: bool = False

    def close(self) -> None:
        """Ends it at once, with nothing more in the network."""
        self.sender.close()
        self.receiver.close()

    @property
    def waits(self) -> bool:
        """Whether it has data that is not acknowledged."""
        return self.started_ns is not None and self.finish_ns is None and self.given > 0


@dataclass
class Measured:
    """Measurements of the flows.

    Attributes:
        end: ``finished``, ``time limit``, ``interrupted`` or ``stalled``.
        work: The operations.
        now_ns: When, from the start of the scenario.
        samples: Of the probed flows: time in ns, flow, and what the kernel told.
        latest_ns: The most that a sample was later than it should have been.
        epoch_ns: When the scenario started, by the time of day: the kernel stamps packets with that.
    """

    work: Work
    end: str = "finished"
    now_ns: int = 0
    samples: list[tuple[int, int, Info]] = field(default_factory=list)
    latest_ns: int = 0
    epoch_ns: int = 0


def connect(plan: Plan, network: Network) -> list[Connection]:
    """Makes the connections of all flows, over which nothing is sent yet.

    Raises:
        TestbedError: When one cannot be made.
    """
    listeners: dict[tuple[int, str], tuple[socket.socket, int]] = {}
    made: list[Connection] = []
    try:
        for flow in plan.flows:
            key = (flow.destination, flow.control.name)
            if key not in listeners:
                listeners[key] = _listen(network, flow, _PORT + len(listeners))
            made.append(_connect(network, flow, *listeners[key]))
    except BaseException:
        for connection in made:
            connection.close()
        raise
    finally:
        for listener, _ in listeners.values():
            listener.close()
    return made


def _listen(network: Network, flow: Flow, port: int) -> tuple[socket.socket, int]:
    with network.hosts[flow.destination].entered():
        listener = socket.create_server((address(flow.destination), port), backlog=128)
    listener.settimeout(10)
    if flow.control.ecn:
        # Without it the receiver declines ECN, and the connection is made without.
        _control(listener, flow)
    return listener, port


def _control(end: socket.socket, flow: Flow) -> None:
    """Selects the congestion control of a flow."""
    try:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow.control.name.encode())
    except FileNotFoundError:
        end.close()
        name = flow.control.name
        raise TestbedError(f"the kernel has no {name} (any more): another process has unloaded it") from None


def _anew(connection: Connection) -> None:
    """Restarts the algorithm: its flow begins now, and not when the connection was made.

    The kernel does so when another congestion control was selected in between.
    """
    if connection.flow.control.wanted is not None:
        connection.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        _control(connection.sender, connection.flow)


def _connect(network: Network, flow: Flow, listener: socket.socket, port: int) -> Connection:
    with network.hosts[flow.source].entered():
        sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        _control(sender, flow)
        sender.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, _UNSENT)
        sender.settimeout(10)
        sender.connect((address(flow.destination), port))
        receiver, _ = listener.accept()
        for end in (sender, receiver):
            # Closed, it is gone at once, also by a kill. Else it would go on sending to nobody for minutes,
            # and keep its namespace and its algorithm.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except TestbedError:
        raise
    except OSError as error:
        sender.close()
        where = f"flow {flow.number} ({flow.control.name})"
        raise TestbedError(f"{where} cannot be connected: {error.strerror or error}") from None
    options = _SOFTWARE | _BY_POSITION | _NO_DATA
    sender.setsockopt(socket.SOL_SOCKET, _TIMESTAMPING, options)
    sender.setblocking(False)
    receiver.setblocking(False)
    return Connection(flow, sender, receiver, Info.of(sender))


class Loop:
    """The loop over what happens while the flows run.

    Args:
        plan: The plan.
        connections: One for each flow.
        sample_ports: Called with the time at each sample of the ports; none where the switch samples them.
        progress: Called with the time in ns and the number of finished flows, several times a second.
        start_ns: When the scenario starts, on the monotonic clock.
        events: What tells of the connections, whose descriptor is below 1024.
        sample_flow: Called with the time and the connection at each sample of a flow.
    """

    def __init__(
        self,
        plan: Plan,
        connections: list[Connection],
        sample_ports: Callable[[int], None] | None,
        progress: Callable[[int, int], None],
        start_ns: int,
        events: select.epoll,
        sample_flow: Callable[[int, Connection], None] | None = None,
    ) -> None:
        self.plan = plan
        self.connections = connections
        self.sample_ports = sample_ports
        self.sample_flow = sample_flow
        self.work = Work(plan.core.operations, [flow.start_ps for flow in plan.flows])
        self.progress = progress
        self.start_ns = start_ns
        # Acknowledgements are stamped with the time of day.
        self.epoch_ns = time.time_ns() - time.monotonic_ns() + start_ns
        self.measured = Measured(work=self.work, epoch_ns=self.epoch_ns)
        self.events = events
        self.active = {connection.sender.fileno(): connection for connection in connections}
        self.receivers = {connection.receiver.fileno(): connection for connection in connections}
        # Flows that do not count only make load: nothing waits for their end.
        self.counted = sum(connection.flow.counted for connection in connections)
        self.left = self.counted
        # Whole packets: of a piece in between the kernel makes smaller ones.
        self.payload = plan.core.payload_bytes
        self.piece = _AT_ONCE // self.payload * self.payload
        packet, hosts = plan.core.packet_bytes, plan.core.hosts
        self.packet_ns = {
            link.node: packet * 8 * 10**9 // link.rate_bps for link in plan.links if link.node < hosts
        }
        self.buffer = bytearray(1 << 18)
        self.moved_ns = 0
        self.probed = [connections[number] for number in plan.core.probed_flows]
        for descriptor in self.receivers:
            self.events.register(descriptor, select.EPOLLIN)
        # What is to be done, by time: (when in ns, order, what, of whom).
        self.agenda: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self.order = 0
        for connection in connections:
            if connection.flow.number not in self.work:
                self.at(connection.flow.start_ps // 1000, self.start, connection)
            if connection.flow.stop_ps is not None:
                self.at(connection.flow.stop_ps // 1000, self.stop, connection)
        first = plan.core.probe_from_ps // 1000
        if plan.core.probed_ports and sample_ports:
            self.at(first, self.ports, first)
        if self.probed:
            self.at(first, self.flows, first)
        self.at(0, self.check, None)
        self.endless = sum(c.flow.size is None and c.flow.stop_ps is None for c in connections)

    def now(self) -> int:
        """The time in ns from the start of the scenario."""
        return time.monotonic_ns() - self.start_ns

    def at(self, when: int, act: Callable[[Any], None], of: object) -> None:
        """Puts something on the agenda."""
        self.order += 1
        heapq.heappush(self.agenda, (when, self.order, act, of))

    def measure(self) -> Measured:
        """Runs the flows.

        Returns:
            What came of them. What is not in it is in the connections.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            with in_time():
                self.run()
        except KeyboardInterrupt:
            self.measured.end = "interrupted"
        finally:
            if collecting:
                gc.enable()
        self.measured.now_ns = max(0, self.now())
        return self.measured

    def run(self) -> None:
        """Runs until all flows are done, the time is over, or nothing moves."""
        until_ps = self.plan.core.until_ps
        until = None if until_ps is None else until_ps // 1000
        while not self.over(until):
            due = self.agenda[0][0]
            if self.work.due_ps is not None:
                due = min(due, -(-self.work.due_ps // 1000))
            wait = due - self.now()
            # select() waits to the microsecond, epoll_wait() to the millisecond.
            ready, _, _ = select.select([self.events], [], [], max(0, wait) / 1e9)
            # What becomes due meanwhile comes after the events: samples may take longer than is between them.
            now = self.now()
            while self.agenda and self.agenda[0][0] <= now:
                _, _, act, of = heapq.heappop(self.agenda)
                act(of)
            if ready:
                for descriptor, event in self.events.poll(0):
                    self.happened(descriptor, event)
            if self.work.open:
                self.go_on()

    def go_on(self) -> None:
        """Starts the flows of operations that are ready."""
        while (flow := self.work.advance((now := self.now()) * 1000)) is not None:
            self.connections[flow].started_ns = now
            self.start(self.connections[flow])
        for flow in self.work.flows_left_out:
            del self.active[self.connections[flow].sender.fileno()]
            self.left -= 1
        self.work.flows_left_out.clear()

    def over(self, until: int | None) -> bool:
        """Whether the run has ended."""
        if self.left == self.endless and not self.work.open:
            # What is left has no end of its own.
            return not self.endless or until is None or self.now() >= until
        if until is not None and self.now() >= until:
            self.measured.end = "time limit"
            return True
        return self.measured.end == "stalled"

    def start(self, connection: Connection) -> None:
        """Starts a flow."""
        self.moved_ns = self.now()
        if connection.started_ns is None:
            # By the clock: it counts from when it should have started.
            connection.started_ns = connection.flow.start_ps // 1000
        self.events.register(connection.sender, 0)
        _anew(connection)
        self.begin(connection)

    def stop(self, connection: Connection) -> None:
        """Stops a flow."""
        if connection.finish_ns is None:
            connection.stopped = True
            with contextlib.suppress(OSError):
                self.events.modify(connection.sender, 0)

    def begin(self, connection: Connection) -> None:
        """Gives the kernel the first packets at the rate of the host's link.

        Linux begins to pace with the eleventh packet of a connection. Ten packets at once would wait at the
        host, and algorithms that look at delays would take that for a full link.
        """
        flow, packet_ns = connection.flow, self.packet_ns[connection.flow.source]
        assert connection.started_ns is not None
        if connection.stopped:
            return
        due = min(_UNPACED, 1 + (self.now() - connection.started_ns) // packet_ns)
        piece = due * self.payload - connection.given
        if flow.size is not None:
            piece = min(piece, flow.size - connection.given)
        if piece > 0:
            self.give(connection, piece)
        if due == _UNPACED or connection.given == flow.size:
            self.events.modify(connection.sender, select.EPOLLOUT)
        else:
            self.at(connection.started_ns + due * packet_ns, self.begin, connection)

    def send(self, connection: Connection) -> None:
        """Gives the kernel more to send."""
        size, payload = connection.flow.size, self.payload
        while not connection.stopped:
            # To send takes about 20 us a packet. So flows that start together take turns, with as many
            # packets as before.
            begins = connection.given < self.piece
            piece = max(2, connection.given // payload) * payload if begins else self.piece
            piece = min(piece, self.piece if size is None else size - connection.given)
            if piece == 0:
                self.events.modify(connection.sender, 0)
                return
            if not self.give(connection, piece) or begins:
                return

    def give(self, connection: Connection, piece: int) -> bool:
        """Gives the kernel at most ``piece`` bytes to send; returns whether it took any."""
        size = connection.flow.size
        try:
            if size is not None and connection.given + piece == size:
                # The kernel is to say when the last byte is acknowledged.
                order = [(socket.SOL_SOCKET, _TIMESTAMPING, struct.pack("I", _TX_ACK))]
                connection.given += connection.sender.sendmsg([_ZEROS[:piece]], order)
            else:
                connection.given += connection.sender.send(_ZEROS[:piece])
        except BlockingIOError:
            return False
        return True

    def happened(self, descriptor: int, event: int) -> None:
        """Reacts to an event of the kernel."""
        if (connection := self.receivers.get(descriptor)) is not None:
            self.receive(connection)
            return
        connection = self.active.get(descriptor)
        if connection is None:
            return
        if event & select.EPOLLERR:
            self.acknowledged(connection)
        if event & select.EPOLLOUT and connection.finish_ns is None:
            self.send(connection)

    def receive(self, connection: Connection) -> None:
        """Takes what has arrived."""
        with contextlib.suppress(BlockingIOError):
            got = connection.receiver.recv_into(self.buffer)
            connection.received += got
            self.moved_ns = self.now()
            if connection.received == connection.flow.size:
                connection.delivered_ns = self.moved_ns
                self.work.received(connection.flow.number, self.moved_ns * 1000)

    def acknowledged(self, connection: Connection) -> None:
        """Reads when bytes were acknowledged."""
        while True:
            try:
                _, extra, _, _ = connection.sender.recvmsg(0, 512, _ERRORS)
            except BlockingIOError:
                return
            except OSError as error:
                raise RunError(f"flow {connection.flow.number} broke off: {error.strerror}") from None
            when = place = None
            for level, kind, value in extra:
                if level == socket.SOL_SOCKET and kind == _TIMESTAMPING:
                    seconds, nanoseconds = struct.unpack_from("qq", value)
                    when = seconds * 10**9 + nanoseconds - self.epoch_ns
                elif level == socket.IPPROTO_IP:
                    (place,) = struct.unpack_from("=I", value, 12)
            size = connection.flow.size
            if (
                when is not None
                and place is not None
                and size is not None
                and place == (size - 1) & 0xFFFFFFFF
            ):
                self.finished(connection, when)

    def finished(self, connection: Connection, when: int) -> None:
        """Notes that the last byte of a flow is acknowledged."""
        connection.finish_ns = max(when, connection.started_ns or 0)
        self.work.sent(connection.flow.number, connection.finish_ns * 1000)
        self.left -= connection.flow.counted
        self.active.pop(connection.sender.fileno(), None)
        self.events.unregister(connection.sender)

    def ports(self, due: int) -> None:
        """Samples the ports."""
        now = self.now()
        self.measured.latest_ns = max(self.measured.latest_ns, now - due)
        assert self.sample_ports is not None
        self.sample_ports(now)
        self.next(now, due, self.plan.core.port_interval_ps // 1000, self.ports)

    def flows(self, due: int) -> None:
        """Samples the probed flows."""
        now = self.now()
        self.measured.latest_ns = max(self.measured.latest_ns, now - due)
        for connection in self.probed:
            if connection.started_ns is not None and connection.finish_ns is None:
                self.measured.samples.append((now, connection.flow.number, Info.of(connection.sender)))
                if self.sample_flow is not None:
                    self.sample_flow(now, connection)
        self.next(now, due, self.plan.core.flow_interval_ps // 1000, self.flows)

    def next(self, now: int, due: int, interval: int, act: Callable[[Any], None]) -> None:
        """Puts the next sample on the agenda."""
        # A sample that is missed is left out: two at once would say nothing more.
        due += interval * max(1, -((due - now) // interval))
        until = self.plan.core.probe_until_ps
        if until is None or due <= until // 1000:
            self.at(due, act, due)

    def check(self, _: object) -> None:
        """Looks after flows without a size, and at whether anything moves."""
        now = self.now()
        for connection in list(self.active.values()):
            if connection.stopped and connection.finish_ns is None:
                acked = Info.of(connection.sender).acked - connection.begun.acked
                if acked >= connection.given:
                    connection.delivered_ns = now
                    self.finished(connection, now)
        self.progress(now, self.counted - self.left)
        waiting = any(connection.waits for connection in self.active.values())
        if waiting and now - self.moved_ns > max(_PATIENCE_NS, self.plan.core.stall_after_ps // 1000):
            self.measured.end = "stalled"
        self.at(now + 10_000_000, self.check, None)
