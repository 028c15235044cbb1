"""A scenario's requests to a testbed, with the kernel's congestion control for each flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from incast import _core
from incast.real import kernel
from incast.real.kernel import KernelError
from incast.real.kernel import Link as Told
from incast.real.testbed.controls import Wanted
from incast.scenario import Scenario

__all__ = ["Control", "Flow", "Plan", "read"]


@dataclass(frozen=True)
class Flow:
    """A flow.

    Attributes:
        number: Its number.
        source: The host that sends.
        destination: The host that receives.
        size: Bytes; none without a size.
        start_ps: When it starts; when it may start, if an operation sends it.
        stop_ps: When it stops sending; none if it does not.
        control: The kernel's congestion control for it.
        counted: Whether the run waits for its end.
    """

    number: int
    source: int
    destination: int
    size: int | None
    start_ps: int
    stop_ps: int | None
    control: Control
    counted: bool = True


@dataclass(frozen=True)
class Control:
    """A congestion control of the kernel.

    Attributes:
        name: Its name there.
        label: The algorithm that it is, with its preset.
        wanted: How to load it; none for one that Linux has itself.
        ecn: Whether it needs ECN at both ends.
        telemetry: Whether ports of switches must write telemetry into its packets.
    """

    name: str
    label: str
    wanted: Wanted | None
    ecn: bool
    telemetry: bool = False


@dataclass(frozen=True)
class Plan:
    """Plan of a run on a testbed.

    Attributes:
        core: The scenario in numbers.
        flows: The flows, by number.
    """

    core: _core.Plan
    flows: tuple[Flow, ...]

    @cached_property
    def links(self) -> tuple[_core.PlannedLink, ...]:
        """Both directions of every link."""
        return tuple(self.core.links)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, hosts first."""
        return tuple(self.core.nodes)

    def name(self, node: int) -> str:
        """Returns the name of a node."""
        return self.nodes[node]

    @property
    def controls(self) -> dict[str, Control]:
        """The congestion controls of all flows, by name."""
        return {flow.control.name: flow.control for flow in self.flows}

    @property
    def telemetry(self) -> bool:
        """Whether ports of switches must write telemetry."""
        return any(flow.control.telemetry for flow in self.flows)


def read(scenario: Scenario, switch: str = "auto") -> Plan:
    """Returns the plan of a testbed for a scenario.

    Args:
        scenario: The scenario.
        switch: What forwards packets: ``kernel``, ``user``, or ``auto`` to choose by the links' delays.

    Raises:
        ScenarioError: With everything that a testbed cannot do, by file and key.
    """
    core = _core.plan(scenario._core, switch)
    described = core.flows
    chosen, wrong = _controls(core, described)
    problems = core.problems + [scenario._core.problem(key, why) for key, why in wrong]
    if problems:
        raise _core.scenario_error(problems)
    flows = tuple(
        Flow(
            flow.number,
            flow.source,
            flow.destination,
            flow.size_bytes,
            flow.start_ps,
            flow.stop_ps,
            control,
            flow.counted,
        )
        for flow, control in zip(described, chosen, strict=True)
    )
    return Plan(core, flows)


def _controls(
    core: _core.Plan, flows: list[_core.PlannedFlow]
) -> tuple[list[Control], list[tuple[str, str]]]:
    """Chooses the kernel's congestion control for each flow, and returns what is wrong by key.

    The setup of one in the kernel is constant. So for each setup one is loaded, under a name of its own.
    """
    wrong: list[tuple[str, str]] = []
    algorithms, keys = core.algorithms, core.keys
    found: dict[tuple[int, _core.PlannedPath], Control] = {}
    setups: dict[str, list[Control]] = {}
    wishes = [(flow.algorithm, flow.group, flow.path) for flow in flows]
    # The longest path first, which has the usual name, and then in the order of the file.
    order = sorted(
        set(wishes), key=lambda wish: (-wish[2].base_rtt_ps, wish[1], wish[0], repr(_told(wish[2])))
    )
    for number, group, path in order:
        key = keys[group]
        if (number, path) in found:
            continue
        try:
            made = _control(algorithms[number], _told(path))
        except (KernelError, _core.ScenarioError) as error:
            if (key, str(error)) not in wrong:
                wrong.append((key, str(error)))
            continue
        same = setups.setdefault(made.name, [])
        place = next((p for p, other in enumerate(same) if other.wanted == made.wanted), len(same))
        if place == len(same):
            same.append(made)
        if made.wanted is not None:
            names = kernel.names(kernel.control(made.name))
            if place >= len(names):
                why = f"the kernel can have it {len(names)} times, one for each path and set of parameters"
                if (key, f"{made.label}: {why}") not in wrong:
                    wrong.append((key, f"{made.label}: {why}"))
                continue
            made = replace(made, name=names[place])
        found[number, path] = made
    if wrong:
        return [], wrong
    return [found[number, path] for number, _, path in wishes], []


def _told(path: _core.PlannedPath) -> Told:
    """Returns a path as algorithms in the kernel are given it."""
    return Told(
        path.base_rtt_ps,
        path.line_rate_bps,
        path.packet_bytes,
        path.payload_bytes,
        path.base_owd_ps,
        path.hops,
    )


def _control(algorithm: _core.PlannedAlgorithm, told: Told) -> Control:
    """Returns the kernel's congestion control for an algorithm on a path.

    Raises:
        KernelError: When there is none.
    """
    label = algorithm.label
    if algorithm.offered is not None:
        if algorithm.changed is not None:
            raise KernelError(f"{algorithm.changed}: the {algorithm.offered} of Linux has no such parameter")
        return Control(algorithm.offered, label, None, False)
    known = kernel.control(algorithm.name)
    telemetry = "int" in known.signals
    parameters = tuple(algorithm.parameters)
    if kernel.option(label, parameters, told) and not telemetry:
        raise KernelError(f"{label} needs one-way delays in a TCP option, which a testbed does not use")
    wanted = Wanted(label, parameters, told)
    return Control(known.name, label, wanted, "ecn" in known.signals, telemetry)
