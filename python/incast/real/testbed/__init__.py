"""Scenarios on real kernels: the same file, the same result, on one machine.

:func:`run` makes the network of a scenario of namespaces and veth pairs, sends its flows as TCP connections
under the kernel's congestion control, and measures what the simulator would have computed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from incast import _core
from incast._build import build
from incast._terminal import short
from incast.progress import Progress
from incast.real import kernel
from incast.real.kernel import KernelError
from incast.real.testbed import controls, flows, machine
from incast.real.testbed import plan as planning
from incast.real.testbed.captures import Captures
from incast.real.testbed.flows import Connection, Loop, Measured
from incast.real.testbed.forwarding import forwarding
from incast.real.testbed.machine import RunError, TestbedError
from incast.real.testbed.network import Network, network
from incast.real.testbed.plan import Plan
from incast.real.testbed.queues import Totals
from incast.real.testbed.states import States
from incast.results.result import Result
from incast.scenario import Interrupted, Scenario

__all__ = ["RunError", "TestbedError", "clear", "run"]

_LEAD_NS = 20_000_000
"""Time to get ready before the scenario starts."""

_LATE_NS = 5_000_000
"""Samples that are later than this are worth a note."""


def clear() -> list[str]:
    """Removes what testbeds have left in the kernel that were killed; every run begins with it.

    Returns:
        The names of the algorithms that were unloaded.
    """
    return controls.clear()


def run(
    scenario: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    switch: str = "auto",
    fresh: bool = False,
    progress: Callable[[Progress], None] | None = None,
    waiting: Callable[[str], None] | None = None,
) -> Result:
    """Runs a scenario on a testbed.

    Args:
        scenario: The scenario.
        out: Folder for the result; None keeps it in memory.
        switch: What forwards packets: ``kernel``, ``user``, or ``auto`` to choose by the links' delays.
        fresh: Replace an existing complete result in the folder.
        progress: Called a few times a second.
        waiting: Called with a sentence when another testbed has to end first.

    Returns:
        The result, as of a run of the simulator, with ``testbed`` in :attr:`incast.Result.info`.

    Raises:
        ScenarioError: With everything in the scenario that a testbed cannot do. Nothing was made then.
        TestbedError: When the machine lacks something.
        KernelError: When an algorithm cannot be loaded.
        RunError: When the run fails that had begun.
        ResultError: When the result cannot be saved.
        Interrupted: After Ctrl-C, with the result so far.
    """
    plan = planning.read(scenario, switch)
    wanted = {name: control.wanted for name, control in plan.controls.items() if control.wanted}
    machine.check(marks=(plan.core.marks and not plan.core.user) or bool(wanted))
    machine.allow_files(4 * len(plan.flows) + 8 * len(plan.nodes) + 128)
    clear()
    folder = None if out is None else os.fspath(Path(out))
    with _holding() as hold:
        with controls.loaded(wanted, waiting or (lambda _: None)):
            measurement = _measure(plan, scenario.seed, progress, hold)
        result = Result(_core.record(scenario._core, measurement, folder, fresh, build()))
        if measurement.end == "interrupted":
            raise Interrupted(result)
    return result


@contextlib.contextmanager
def _holding() -> Iterator[Callable[[], None]]:
    """Gives what holds Ctrl-C back from when it is called to the end of this context."""
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    held = False

    def note(number: int, _: FrameType | None) -> None:
        pressed.append(number)

    def hold() -> None:
        nonlocal held
        # Only the main thread has signals.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, note)
            held = True

    try:
        yield hold
    finally:
        if held:
            signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@dataclass
class _Measurement:
    """Measurements in the form that the core reads."""

    end: str = "finished"
    now_ps: int = 0
    dropped_packets: int = 0
    waiting_flows: list[_core.Waiting] = field(default_factory=list)
    waiting_operations: list[_core.Waiting] = field(default_factory=list)
    flows: list[_core.MeasuredFlow] = field(default_factory=list)
    port_samples: list[_core.PortSample] = field(default_factory=list)
    flow_samples: list[_core.FlowSample] = field(default_factory=list)
    internals: list[_core.InternalSample] = field(default_factory=list)
    ports: list[_core.MeasuredPort] = field(default_factory=list)
    operations: list[_core.MeasuredOperation] = field(default_factory=list)
    frames: list[_core.CapturedPacket] = field(default_factory=list)
    testbed: str = ""


def _measure(
    plan: Plan,
    seed: int,
    progress: Callable[[Progress], None] | None,
    hold: Callable[[], None],
) -> _Measurement:
    # Made before thousands of sockets: select() takes descriptors below 1024 only.
    with select.epoll() as events, forwarding(plan, seed) if plan.core.user else network(plan) as net:
        connections = flows.connect(plan, net)
        try:
            with contextlib.ExitStack() as stack:
                captures = None
                if plan.core.captured_ports:
                    captures = stack.enter_context(contextlib.closing(Captures(plan, net)))
                states = {}
                for name in (
                    {plan.flows[n].control.name for n in plan.core.probed_flows}
                    if plan.core.internals
                    else ()
                ):
                    states[name] = stack.enter_context(contextlib.closing(States(name)))
                return _Run(plan, net, connections, events, states, captures).measure(progress, hold)
        finally:
            for connection in connections:
                connection.close()


class _Run:
    """One run on a network that stands."""

    def __init__(
        self,
        plan: Plan,
        net: Network,
        connections: list[Connection],
        events: select.epoll,
        states: dict[str, States],
        captures: Captures | None,
    ) -> None:
        self.plan = plan
        self.net = net
        self.connections = connections
        self.events = events
        self.states = states
        self.captures = captures
        self.read: dict[str, list[tuple[int, int, bytes]]] = {}
        self.packet = plan.core.packet_bytes
        self.probed = plan.core.probed_ports
        self.made = _Measurement()
        self.notes = plan.core.deviations
        self.peaks: dict[_core.PortKey, int] = {}
        self.before: dict[_core.PortKey, tuple[Totals, int]] = {}

    def measure(self, progress: Callable[[Progress], None] | None, hold: Callable[[], None]) -> _Measurement:
        """Runs the flows, and collects what was measured.

        Raises:
            RunError: When something fails.
        """
        try:
            return self._measure(progress, hold)
        except RunError:
            raise
        except KernelError as error:
            raise RunError(str(error)) from None

    def _measure(self, progress: Callable[[Progress], None] | None, hold: Callable[[], None]) -> _Measurement:
        plan, switch = self.plan, self.net.switch
        until = plan.core.until_ps

        def report(now_ns: int, finished: int) -> None:
            if progress:
                progress(Progress(max(0, now_ns) * 1000, until, finished, len(plan.flows), 0))
            if self.captures is not None:
                self.captures.relieve()

        look = self._look if self.states else None
        start_ns = time.monotonic_ns() + _LEAD_NS
        if switch is None:
            self.before = {key: (queue.read(), queue.marked()) for key, queue in self.net.queues.items()}
            loop = Loop(plan, self.connections, self._sample, report, start_ns, self.events, look)
            measured = loop.measure()
            hold()
            self._ports()
        else:
            from_ps, until_ps = plan.core.probe_from_ps, plan.core.probe_until_ps
            switch.begin(start_ns, self.probed, from_ps, plan.core.port_interval_ps, until_ps)
            loop = Loop(plan, self.connections, None, report, start_ns, self.events, look)
            measured = loop.measure()
            hold()
            self._switched(switch, measured.now_ns * 1000)
        self._flows(measured)
        self._internals()
        self._captured(measured)
        self._operations(measured)
        self.made.end, self.made.now_ps = measured.end, measured.now_ns * 1000
        self.made.dropped_packets = sum(port.dropped_packets for port in self.made.ports)
        if measured.end == "stalled":
            flows_wait = (
                (c.flow.number, f"acknowledgements of {c.given - self._acked(c):,} bytes")
                for c in self.connections
                if c.waits
            )
            self.made.waiting_flows = _waiting(flows_wait)
            self.made.waiting_operations = _waiting(measured.work.waits())
        if measured.latest_ns > _LATE_NS:
            late_ms = measured.latest_ns / 1e6
            self.notes.append(f"samples were up to {late_ms:.0f} ms late: the machine was busy")
        self.made.testbed = json.dumps(
            {
                "switch": "kernel" if switch is None else "user",
                "kernel": machine.release(),
                "controls": self._labelled(),
                "notes": self.notes,
                "wall_s": measured.now_ns / 1e9,
                "clock_ns": start_ns,
            }
        )
        return self.made

    def _labelled(self) -> dict[str, str]:
        """The names in the kernel of each algorithm: several where paths or parameters differ."""
        found: dict[str, list[str]] = {}
        for name, control in self.plan.controls.items():
            found.setdefault(control.label, []).append(name)
        # The usual one first, which has no digit at its end.
        return {
            label: ", ".join(sorted(names, key=lambda name: (name[-1].isdigit(), name)))
            for label, names in found.items()
        }

    def _switched(self, switch: _core.Switch, now_ps: int) -> None:
        """Adds the counts of the switch in user space."""
        try:
            done = switch.stop()
        except OSError as error:
            raise TestbedError(f"the switch failed: {error}") from None
        self.made.port_samples += [sample for sample in done.samples if sample.time_ps <= now_ps]
        self.made.ports += sorted(done.ports, key=lambda port: (port.node_id, port.port))
        share = 100 * done.late / max(done.delivered, 1)
        self.notes.append(
            f"{share:.1f} % of packets left the switch more than 0.1 ms late, {done.very_late:,} of "
            f"{done.delivered:,} more than 1 ms, and none more than {short(done.latest_ps / 1e9, 2)} ms"
        )
        if done.refused:
            self.notes.append(f"{done.refused:,} packets were lost between the switch and hosts")

    def _sample(self, now_ns: int) -> None:
        for key in self.probed:
            queue = self.net.queues[key]
            state, marked = queue.read(), queue.marked()
            old, had = self.before[key]
            self.peaks[key] = max(self.peaks.get(key, 0), state.queued)
            self.made.port_samples.append(
                _core.PortSample(
                    time_ps=now_ns * 1000,
                    node_id=key.node,
                    port=key.port,
                    queue_bytes=state.queued,
                    transmitted_bytes=state.transmitted - old.transmitted,
                    dropped_bytes=(state.drops - old.drops) * self.packet,
                    marked_packets=marked - had,
                    paused=False,
                )
            )

    def _look(self, now_ns: int, connection: Connection) -> None:
        """Reads the state of a connection's algorithm."""
        name = connection.flow.control.name
        state = self.states[name].read(connection.sender)
        self.read.setdefault(name, []).append((now_ns, connection.flow.number, state))

    def _internals(self) -> None:
        """Decodes the states, which takes longer than to read them."""
        for name, samples in self.read.items():
            wanted = self.plan.controls[name].wanted
            assert wanted is not None
            states = [state for _, _, state in samples]
            told = kernel.internals(wanted.algorithm, wanted.parameters, wanted.link, states)
            for (now_ns, flow, _), values in zip(samples, told, strict=True):
                self.made.internals += [
                    _core.InternalSample(
                        time_ps=now_ns * 1000, flow=flow, internal=internal, kind=kind, bits=bits
                    )
                    for internal, kind, bits in values
                ]
        self.made.internals.sort(key=lambda sample: (sample.time_ps, sample.flow, sample.internal))

    def _captured(self, measured: Measured) -> None:
        """The packets of captured ports."""
        if self.captures is None:
            return
        self.made.frames, lacking = self.captures.read(measured.epoch_ns, measured.now_ns)
        if lacking:
            self.notes.append(f"{lacking:,} packets were not captured: the kernel's buffer for them was full")

    def _acked(self, connection: Connection) -> int:
        return flows.Info.of(connection.sender).acked - connection.begun.acked

    def _flows(self, measured: Measured) -> None:
        """Adds the records of the flows that have started."""
        for connection in self.connections:
            flow, begun = connection.flow, connection.begun
            if connection.started_ns is None:
                continue
            info = flows.Info.of(connection.sender)
            finish = None if connection.finish_ns is None else connection.finish_ns * 1000
            delivered = None if connection.delivered_ns is None else connection.delivered_ns * 1000
            if finish is not None:
                # The kernel had it by then, also where this program read it later.
                delivered = min(delivered or finish, finish)
            acked = flow.size if finish is not None and flow.size is not None else info.acked - begun.acked
            self.made.flows.append(
                _core.MeasuredFlow(
                    flow=flow.number,
                    start_ps=connection.started_ns * 1000 if flow.number in measured.work else flow.start_ps,
                    finish_ps=finish,
                    delivered_ps=delivered,
                    acked_bytes=acked,
                    packets=info.packets - begun.packets,
                    resent_packets=info.resent - begun.resent,
                    marked_packets=info.marked - begun.marked,
                    timeouts=info.timeouts - begun.timeouts,
                )
            )
        for now_ns, number, info in measured.samples:
            connection = self.connections[number]
            paced = connection.flow.control.wanted is not None
            rate = info.pacing * 8 * self.packet // self.plan.core.payload_bytes if paced else None
            self.made.flow_samples.append(
                _core.FlowSample(
                    time_ps=now_ns * 1000,
                    flow=number,
                    window_bytes=info.window * self.packet,
                    rate_bps=rate if rate is not None and rate < 1 << 62 else None,
                    rtt_ps=info.rtt_us * 1_000_000,
                    inflight_bytes=info.inflight * self.packet,
                    acked_bytes=info.acked - connection.begun.acked,
                )
            )

    def _operations(self, measured: Measured) -> None:
        """Adds the times at which operations started and ended."""
        for number, operation in enumerate(measured.work.operations):
            if operation.start_ps is not None:
                self.made.operations.append(
                    _core.MeasuredOperation(
                        operation=number, start_ps=operation.start_ps, end_ps=operation.end_ps
                    )
                )
        if late := sorted(measured.work.late_ps()):
            usual, most = late[(len(late) - 1) // 2] / 1e9, late[-1] / 1e9
            times = f"{short(usual, 2)} ms (median) to {short(most, 2)} ms"
            self.notes.append(f"flows of operations started {times} after the operations that they wait for")

    def _ports(self) -> None:
        for key, queue in sorted(self.net.queues.items()):
            state, marked = queue.read(), queue.marked()
            old, had = self.before[key]
            drops = state.drops - old.drops
            self.made.ports.append(
                _core.MeasuredPort(
                    node_id=key.node,
                    port=key.port,
                    transmitted_bytes=state.transmitted - old.transmitted,
                    transmitted_packets=state.packets - old.packets,
                    dropped_bytes=drops * self.packet,
                    dropped_packets=drops,
                    marked_packets=marked - had,
                    peak_queue_bytes=max(self.peaks.get(key, 0), state.queued),
                    paused_ps=0,
                    pauses_sent=0,
                )
            )


def _waiting(found: Iterable[tuple[int, str]]) -> list[_core.Waiting]:
    """Returns the first twenty things that wait."""
    first = itertools.islice(found, 20)
    return [_core.Waiting(number=number, waits_for=waits_for) for number, waits_for in first]
