"""The compiled core. A test holds these stubs against the module; use the package's own classes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy.typing as npt
import pandas
import polars

__version__: str

profile: str
"""Profile of the core's build: ``release`` as in all releases, ``development`` with checks of overflow and
some optimisation, as for the tests, or ``debug`` without optimisation."""

canaries: list[str]
"""Deliberate faults, of which the variable ``INCAST_CANARY`` chooses one; only the tests' core has some."""

class Problem:
    """One thing that is wrong with something that a person wrote. Its text says all of it."""

    def __new__(
        cls,
        problem: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        hint: str | None = None,
    ) -> Problem: ...
    @property
    def file(self) -> str | None:
        """The file as the user named it, or `--set key=value` for an override."""
    @property
    def line(self) -> int | None:
        """Line in the file, from 1."""
    @property
    def column(self) -> int | None:
        """Column in the line in characters, from 1."""
    @property
    def key(self) -> str | None:
        """The key that is meant, with dots: `topology.rate`."""
    @property
    def problem(self) -> str:
        """The problem in words."""
    @property
    def hint(self) -> str | None:
        """Advice on what would be right, where that is more than a few words."""

class ScenarioError(ValueError):
    """A scenario is wrong. Its text names every problem, and `problems` has them one by one."""

    problems: tuple[Problem, ...]

def scenario_error(problems: Sequence[Problem]) -> ScenarioError:
    """The exception that says all of these."""

class ResultError(OSError):
    """A result cannot be written or read. Its text says where, why, and what helps."""

    is_taken: bool
    """Whether the reason is another run: it writes into the folder, or has completed a result there."""

class PluginError(RuntimeError):
    """A plugin in a shared library did what it must not during a run.

    Its text names the plugin, its file, the function and the simulated time.
    """

class WireError(OSError):
    """A file cannot be sent or received over the network. Its text says why, and what helps."""

class Scenario:
    """A checked scenario."""

    @staticmethod
    def load(path: str, overrides: Sequence[str]) -> Scenario: ...
    @staticmethod
    def from_toml(text: str, file_name: str, overrides: Sequence[str]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def algorithm(self) -> str | None: ...
    def dropped(self) -> list[Problem]: ...
    @property
    def contestant(self) -> str | None: ...
    def own_contestants(self) -> list[str]: ...
    def kernel_setup(
        self,
        base_rtt_ps: int,
        base_owd_ps: int,
        line_rate_bps: int,
        packet_bytes: int,
        payload_bytes: int,
        hops: int,
    ) -> tuple[list[str], bytes] | None: ...
    def kernel_internals(
        self, path: tuple[int, int, int, int, int, int], states: list[bytes]
    ) -> list[list[tuple[int, int, int]]] | None: ...
    def algorithms(self) -> list[str]: ...
    def warnings(self) -> list[Problem]: ...
    def problem(self, key: str, problem: str) -> Problem: ...
    def files(self) -> list[str]: ...
    @property
    def payload_bytes(self) -> int: ...
    @property
    def has_own_clocks(self) -> bool: ...
    def with_algorithm(self, algorithm: str, parameters: Sequence[str] = ...) -> Scenario: ...
    def with_seed(self, seed: int) -> Scenario: ...
    def to_toml(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def service_order(self) -> list[int]:
        """The numbers of the flows in the order of service, which matters for those that start together."""
    def outages(self) -> list[tuple[int, int, int, int | None]]:
        """Times in which nodes know that links are down: node, port, begin and end (None: never), in ps."""
    def ports(self) -> list[tuple[str, int, str]]:
        """The ports of its network: the node of each, its number there, and the node at the far end."""
    def size(self) -> Size: ...
    def run(
        self,
        out: str | None,
        threads: int,
        fresh: bool,
        report: Callable[[int, int | None, int, int, int], None] | None,
        build: str | None = None,
        profile: bool = False,
        wait: bool = True,
    ) -> tuple[Result, BaseException | None]: ...

class PortKey:
    """The name of a port: its node, and its number there."""

    def __new__(cls, node: int, port: int) -> PortKey: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: PortKey) -> bool: ...
    @property
    def node(self) -> int:
        """The node."""
    @property
    def port(self) -> int:
        """The port."""

class PlannedMarks:
    """Random early marking at a port, scaled to its rate."""

    @property
    def low_bytes(self) -> int:
        """No marks up to this queue, in bytes."""
    @property
    def high_bytes(self) -> int:
        """All packets are marked from this queue on, in bytes."""
    @property
    def probability(self) -> float:
        """Probability just below that."""

class PlannedPausing:
    """The rule by which a link into a switch is paused."""

    @property
    def xoff_bytes(self) -> int | None:
        """The threshold in bytes, if it is fixed."""
    @property
    def alpha(self) -> int:
        """The part of what is free that is the threshold, out of 2^32."""
    @property
    def xon_offset_bytes(self) -> int:
        """It resumes this far below, in bytes."""
    @property
    def headroom_bytes(self) -> int:
        """Room for packets that arrive after a pause was triggered, in bytes."""
    @property
    def reserve_bytes(self) -> int:
        """Bytes that the link always has."""

class PlannedLink:
    """One direction of a link."""

    @property
    def key(self) -> PortKey:
        """The port that sends on it."""
    @property
    def node(self) -> int:
        """The node that sends on it."""
    @property
    def port(self) -> int:
        """Its port there."""
    @property
    def peer(self) -> int:
        """The node at its end."""
    @property
    def rate_bps(self) -> int:
        """Its rate in bit/s."""
    @property
    def delay_ps(self) -> int:
        """Its delay in ps."""
    @property
    def limit_bytes(self) -> int | None:
        """The longest queue in bytes of a switch's port that alone fills the buffer; none without a limit."""
    @property
    def marks(self) -> PlannedMarks | None:
        """The marks of a switch's port."""
    @property
    def pausing(self) -> PlannedPausing | None:
        """The rule by which the switch at its end pauses it."""

class PlannedSwitches:
    """The network and its switches, as the switch in user space needs them; opaque in Python."""

class PlannedPath:
    """The path of a flow, as its algorithm is given it."""

    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def base_rtt_ps(self) -> int:
        """Round-trip time without queues in ps."""
    @property
    def base_owd_ps(self) -> int:
        """The part of it on the way there in ps."""
    @property
    def line_rate_bps(self) -> int:
        """Rate of the sender's link in bit/s."""
    @property
    def packet_bytes(self) -> int:
        """A full packet on the wire in bytes."""
    @property
    def payload_bytes(self) -> int:
        """Its payload in bytes."""
    @property
    def hops(self) -> int:
        """Links from sender to receiver."""

class PlannedFlow:
    """A flow."""

    @property
    def number(self) -> int:
        """Its number."""
    @property
    def source(self) -> int:
        """The host that sends."""
    @property
    def destination(self) -> int:
        """The host that receives."""
    @property
    def size_bytes(self) -> int | None:
        """Its payload in bytes; none for a flow that sends until it stops."""
    @property
    def start_ps(self) -> int:
        """Start in ps; of a flow that an operation sends, the earliest."""
    @property
    def stop_ps(self) -> int | None:
        """Time in ps at which it stops sending; none if it does not."""
    @property
    def group(self) -> int:
        """Number of its traffic block."""
    @property
    def algorithm(self) -> int:
        """Number of its algorithm."""
    @property
    def counted(self) -> bool:
        """Whether the run waits for its end."""
    @property
    def path(self) -> PlannedPath:
        """The path that its algorithm is given."""

class PlannedAlgorithm:
    """An algorithm."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def label(self) -> str:
        """Its name with its preset."""
    @property
    def parameters(self) -> list[str]:
        """All of its parameters, like ``eta=0.95``."""
    @property
    def offered(self) -> str | None:
        """Its name in Linux, of one that Linux has itself."""
    @property
    def changed(self) -> str | None:
        """The first parameter that is set away from its default."""

class PlannedOperation:
    """An operation of a host."""

    def __new__(
        cls,
        host: int,
        kind: str,
        number: int,
        *,
        time_ps: int = 0,
        after: Sequence[int] = ...,
        after_start: Sequence[int] = ...,
        before_ps: int | None = None,
    ) -> PlannedOperation: ...
    @property
    def host(self) -> int:
        """Its host."""
    @property
    def kind(self) -> str:
        """``send``, ``receive`` or ``compute``."""
    @property
    def number(self) -> int:
        """The flow that it sends or receives, or the processor on which it computes."""
    @property
    def time_ps(self) -> int:
        """Time for which it computes in ps."""
    @property
    def after(self) -> list[int]:
        """Operations that must have ended before it starts."""
    @property
    def after_start(self) -> list[int]:
        """Operations that must have started before it starts."""
    @property
    def before_ps(self) -> int | None:
        """Time in ps from which on it is left out; none for no such limit."""

class Plan:
    """A scenario's requests to a testbed."""

    @property
    def problems(self) -> list[Problem]:
        """Everything of the scenario that a testbed cannot do."""
    @property
    def deviations(self) -> list[str]:
        """Deviations from the scenario, in sentences."""
    @property
    def user(self) -> bool:
        """Whether a switch in user space forwards, and not the kernel."""
    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, hosts first."""
    @property
    def hosts(self) -> int:
        """Number of hosts."""
    @property
    def links(self) -> list[PlannedLink]:
        """Both directions of every link, in the order of the links."""
    @property
    def flows(self) -> list[PlannedFlow]:
        """The flows, by number."""
    @property
    def groups(self) -> list[str]:
        """Names of the traffic blocks."""
    @property
    def keys(self) -> list[str]:
        """For each traffic block the key of its algorithm: ``cc``, or its own."""
    @property
    def algorithms(self) -> list[PlannedAlgorithm]:
        """The algorithms, by number."""
    @property
    def operations(self) -> list[PlannedOperation]:
        """Operations with dependencies, by number."""
    @property
    def switches(self) -> PlannedSwitches:
        """The network and its switches, for the switch in user space."""
    @property
    def marks(self) -> bool:
        """Whether switches mark packets."""
    @property
    def payload_bytes(self) -> int:
        """Payload of a full packet in bytes."""
    @property
    def packet_bytes(self) -> int:
        """A full packet on the wire in bytes."""
    @property
    def bucket_bytes(self) -> int:
        """Bytes that a link of the kernel lets pass at once."""
    @property
    def rto_ps(self) -> int:
        """The shortest retransmission timeout in ps."""
    @property
    def until_ps(self) -> int | None:
        """Time in ps at which it ends at the latest; none without a limit."""
    @property
    def stall_after_ps(self) -> int:
        """Time in ps without progress after which it is given up."""
    @property
    def probed_ports(self) -> list[PortKey]:
        """Ports that are sampled."""
    @property
    def port_interval_ps(self) -> int:
        """Time in ps between two samples of a port."""
    @property
    def probed_flows(self) -> list[int]:
        """Flows that are sampled."""
    @property
    def flow_interval_ps(self) -> int:
        """Time in ps between two samples of a flow."""
    @property
    def internals(self) -> bool:
        """Whether internal quantities of the algorithms are sampled with their flows."""
    @property
    def captured_ports(self) -> list[PortKey]:
        """Ports whose packets are captured."""
    @property
    def probe_from_ps(self) -> int:
        """Time in ps of the first sample."""
    @property
    def probe_until_ps(self) -> int | None:
        """Time in ps after which no sample is taken; none without a limit."""

class MeasuredFlow:
    """A flow that has started."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        flow: int,
        start_ps: int,
        finish_ps: int | None,
        delivered_ps: int | None,
        acked_bytes: int,
        packets: int,
        resent_packets: int,
        marked_packets: int,
        timeouts: int,
    ) -> MeasuredFlow: ...
    @property
    def flow(self) -> int:
        """Its number."""
    @property
    def start_ps(self) -> int:
        """Start in ps."""
    @property
    def finish_ps(self) -> int | None:
        """Time in ps at which its last byte was acknowledged; none if it was not."""
    @property
    def delivered_ps(self) -> int | None:
        """Time in ps at which its last byte arrived; none if it did not."""
    @property
    def acked_bytes(self) -> int:
        """Payload acknowledged in bytes."""
    @property
    def packets(self) -> int:
        """Data packets sent, including retransmissions."""
    @property
    def resent_packets(self) -> int:
        """Data packets retransmitted."""
    @property
    def marked_packets(self) -> int:
        """Acknowledged packets that carried a mark."""
    @property
    def timeouts(self) -> int:
        """Retransmission timeouts."""

class PortSample:
    """A sample of a port."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        time_ps: int,
        node_id: int,
        port: int,
        queue_bytes: int,
        transmitted_bytes: int,
        dropped_bytes: int,
        marked_packets: int,
        paused: bool,
    ) -> PortSample: ...
    @property
    def time_ps(self) -> int:
        """Time in ps."""
    @property
    def node_id(self) -> int:
        """The node."""
    @property
    def port(self) -> int:
        """Its port."""
    @property
    def queue_bytes(self) -> int:
        """Bytes in its queue."""
    @property
    def transmitted_bytes(self) -> int:
        """Bytes transmitted since the start."""
    @property
    def dropped_bytes(self) -> int:
        """Bytes dropped since the start."""
    @property
    def marked_packets(self) -> int:
        """Packets marked since the start."""
    @property
    def paused(self) -> bool:
        """Whether the far end has it paused."""

class FlowSample:
    """A sample of a flow."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        time_ps: int,
        flow: int,
        window_bytes: int,
        rate_bps: int | None,
        rtt_ps: int,
        inflight_bytes: int,
        acked_bytes: int,
    ) -> FlowSample: ...
    @property
    def time_ps(self) -> int:
        """Time in ps."""
    @property
    def flow(self) -> int:
        """Its number."""
    @property
    def window_bytes(self) -> int:
        """Window in bytes."""
    @property
    def rate_bps(self) -> int | None:
        """Rate in bit/s; none if only the link limits it."""
    @property
    def rtt_ps(self) -> int:
        """Round-trip time in ps."""
    @property
    def inflight_bytes(self) -> int:
        """Bytes in flight."""
    @property
    def acked_bytes(self) -> int:
        """Payload acknowledged in bytes."""

class InternalSample:
    """A sample of an internal quantity of a flow's algorithm."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        time_ps: int,
        flow: int,
        internal: int,
        kind: int,
        bits: int,
    ) -> InternalSample: ...
    @property
    def time_ps(self) -> int:
        """Time in ps."""
    @property
    def flow(self) -> int:
        """The flow."""
    @property
    def internal(self) -> int:
        """Its place in the algorithm's list."""
    @property
    def kind(self) -> int:
        """Kind of its value."""
    @property
    def bits(self) -> int:
        """Bits of its value."""

class MeasuredPort:
    """Totals of a port."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        node_id: int,
        port: int,
        transmitted_bytes: int,
        transmitted_packets: int,
        dropped_bytes: int,
        dropped_packets: int,
        marked_packets: int,
        peak_queue_bytes: int,
        paused_ps: int,
        pauses_sent: int,
    ) -> MeasuredPort: ...
    @property
    def node_id(self) -> int:
        """The node."""
    @property
    def port(self) -> int:
        """Its port."""
    @property
    def transmitted_bytes(self) -> int:
        """Bytes transmitted."""
    @property
    def transmitted_packets(self) -> int:
        """Packets transmitted."""
    @property
    def dropped_bytes(self) -> int:
        """Bytes dropped."""
    @property
    def dropped_packets(self) -> int:
        """Packets dropped."""
    @property
    def marked_packets(self) -> int:
        """Packets marked."""
    @property
    def peak_queue_bytes(self) -> int:
        """Longest queue in bytes."""
    @property
    def paused_ps(self) -> int:
        """Time paused in ps."""
    @property
    def pauses_sent(self) -> int:
        """Pauses sent."""

class MeasuredOperation:
    """An operation that has started."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        operation: int,
        start_ps: int,
        end_ps: int | None,
    ) -> MeasuredOperation: ...
    @property
    def operation(self) -> int:
        """Its number."""
    @property
    def start_ps(self) -> int:
        """Start in ps."""
    @property
    def end_ps(self) -> int | None:
        """End in ps; none if it has not ended."""

class CapturedPacket:
    """A packet of a captured port."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        time_ps: int,
        node_id: int,
        port: int,
        length_bytes: int,
        data: bytes,
    ) -> CapturedPacket: ...
    @property
    def time_ps(self) -> int:
        """Time in ps from the start of the scenario."""
    @property
    def node_id(self) -> int:
        """The node that sent it."""
    @property
    def port(self) -> int:
        """The port there."""
    @property
    def length_bytes(self) -> int:
        """Its length in bytes."""
    @property
    def data(self) -> bytes:
        """Its first bytes."""

class Waiting:
    """A flow or an operation that waits, of a stall."""

    def __eq__(self, other: object) -> bool: ...
    def __new__(
        cls,
        *,
        number: int,
        waits_for: str,
    ) -> Waiting: ...
    @property
    def number(self) -> int:
        """Its number."""
    @property
    def waits_for(self) -> str:
        """The thing that it waits for."""

class Forwarded:
    """Totals of a switch."""

    @property
    def samples(self) -> list[PortSample]:
        """Samples of ports, by time."""
    @property
    def ports(self) -> list[MeasuredPort]:
        """Totals of ports."""
    @property
    def delivered(self) -> int:
        """Frames to hosts."""
    @property
    def late(self) -> int:
        """Of these, the ones that were more than 100 microseconds late."""
    @property
    def very_late(self) -> int:
        """Of these, the ones that were more than a millisecond late."""
    @property
    def latest_ps(self) -> int:
        """The most that one was late, in ps."""
    @property
    def refused(self) -> int:
        """Frames that devices did not take."""

class Switch:
    """A switch in user space, which forwards from its making on, in a thread of its own. Linux only."""

    def __new__(cls, sockets: Sequence[int], plan: Plan, telemetry: bool, seed: int) -> Switch: ...
    def begin(
        self,
        start_ns: int,
        sampled: Sequence[PortKey],
        from_ps: int,
        interval_ps: int,
        until_ps: int | None,
    ) -> None:
        """Counts, and samples ports, from a time of the monotonic clock on."""
    def stop(self) -> Forwarded:
        """Stops forwarding."""

def plan(scenario: Scenario, switch: str = "auto") -> Plan:
    """Makes the plan of a testbed, whose switch is ``kernel``, ``user`` or ``auto``.

    ``problems`` has everything that a testbed cannot do.

    Raises:
        ScenarioError: When the scenario makes no flows or too many, or has no congestion control.
    """

def record(
    scenario: Scenario, measured: object, out: str | None, fresh: bool, build: str | None = None
) -> Result:
    """Makes the result of a scenario's measurements: anything with the attributes of these.

    Raises:
        ResultError: When it cannot be saved.
    """

class Size:
    """Size of a scenario."""

    @property
    def network(self) -> str:
        """The network in one line: hosts, switches, links, oversubscription."""
    @property
    def algorithms(self) -> list[str]:
        """The algorithms in use, each with its preset: `oscar:paper`."""
    @property
    def flows(self) -> int:
        """Flows in all."""
    @property
    def bytes(self) -> int:
        """Payload of all flows that have a size, in bytes."""
    @property
    def starts_ps(self) -> tuple[int, int]:
        """Start of the first flow and of the last one, in picoseconds.

        Of a flow that waits for operations it is the earliest possible one.
        """
    @property
    def load(self) -> float | None:
        """Payload per time from the first start to the last, as a share of the rate of all hosts' links.

        None if all start together.
        """
    @property
    def until_ps(self) -> int | None:
        """Simulated time at which the run ends at the latest, in picoseconds; None without a limit."""

class Result:
    """The result of a run: its tables, and `result.json`."""

    @staticmethod
    def open(folder: str) -> Result: ...
    @property
    def info(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def folder(self) -> str | None: ...
    @property
    def notices(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...
    def rows(self, name: str) -> Table: ...
    def parts(self) -> tuple[str, str, str | None, list[bytes]]: ...
    @staticmethod
    def from_parts(parts: tuple[str, str, str | None, list[bytes]]) -> Result: ...
    @property
    def times(self) -> PartTimes | None: ...
    def probed_ports(self) -> list[tuple[str, int]]: ...
    def all_active(self) -> tuple[int, int | None]: ...
    def samples_between(self, node: str, port: int, from_ps: int, until_ps: int) -> int: ...
    def response(self, node: str, port: int, from_ps: int, until_ps: int | None = None) -> Response: ...

class PartTimes:
    """Wall time of the parts of a run, in seconds."""

    @property
    def threads(self) -> int:
        """Threads of the engine."""
    @property
    def prepare_s(self) -> float:
        """Time before the engine: of routes, nodes and the folder of the result."""
    @property
    def engine_s(self) -> float:
        """Time of the engine, with its nodes and with the records that it passed on."""
    @property
    def hosts_s(self) -> float:
        """Time of the visits of hosts, of all threads together, estimated from one in 32 of them."""
    @property
    def host_visits(self) -> int:
        """Number of visits of hosts: in each, a host handles all events of a window."""
    @property
    def switches_s(self) -> float:
        """Time of the visits of switches, likewise."""
    @property
    def switch_visits(self) -> int:
        """Number of visits of switches."""
    @property
    def records_s(self) -> float:
        """Time of records that became rows during the engine."""
    @property
    def write_s(self) -> float:
        """Time after the engine: of the last records, the summary and the files."""

class Response:
    """Response of a probed port in an interval."""

    @property
    def steady_bytes(self) -> float:
        """Mean queue over the last quarter of the interval, in bytes."""
    @property
    def steady_low_bytes(self) -> int:
        """Smallest queue in that quarter, in bytes."""
    @property
    def steady_high_bytes(self) -> int:
        """Largest queue in that quarter, in bytes."""
    @property
    def peak_bytes(self) -> int:
        """Longest queue in the interval, in bytes, as sampled."""
    @property
    def settling_ps(self) -> int | None:
        """Time until the queue stays within 10 % (or 10 KB) of its steady value, in picoseconds.

        None if it does not before the interval's last quarter.
        """
    @property
    def lost_bytes(self) -> int | None:
        """Bytes that the link could have carried in the interval and did not."""
    @property
    def lost_share(self) -> float | None:
        """Their share of what it could have carried."""

class TableInfo:
    """A table of results, as it is declared."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def optional(self) -> bool:
        """Whether only some results have it."""
    @property
    def columns(self) -> list[ColumnInfo]: ...

class ColumnInfo:
    """A column of a table, as it is declared."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """The type of its values in Arrow."""
    @property
    def unit(self) -> str:
        """Their unit; empty: none."""
    @property
    def nullable(self) -> bool:
        """Whether values can be missing."""
    @property
    def meaning(self) -> str: ...

def tables() -> list[TableInfo]:
    """Returns the tables that a result can have, in order."""

def nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that is most likely meant by another, if any is near enough.

    At most a third of the letters differ (by insertion, deletion, replacement or exchange of neighbours), or
    one word begins with the other.

    Args:
        word: The word that was written.
        known: The words that are possible. Of several that are equally near, the first is taken.
    """

class Table:
    """A table of a result.

    It is handed over without a copy through the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``. ``table["fct_ps"]`` is a column, ``dict(
    table)`` has all of them. ``for row in table`` goes through the rows, of which ``pandas.DataFrame(table)``
    makes a frame, too.
    """

    def __len__(self) -> int: ...
    def _repr_html_(self) -> str:
        """Its first rows as a table of HTML, for notebooks; the package adds it to the compiled class."""
    def __contains__(self, key: object, /) -> bool:
        """Returns whether there is a column of this name."""
    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Goes through the rows, each a dictionary by the names of the columns."""
    def __getitem__(self, key: str, /) -> npt.NDArray[Any]:
        """Returns the column of a name: :meth:`column`."""
    def keys(self) -> list[str]:
        """Returns the names of its columns."""
    def to_pandas(self) -> pandas.DataFrame:
        """Returns all columns as a data frame of pandas; a missing number is NaN, as in :meth:`column`.

        Raises:
            ImportError: Without pandas.
        """
    def to_polars(self) -> polars.DataFrame:
        """Returns the table as a data frame of polars; missing values are None.

        Raises:
            ImportError: Without polars.
        """
    @property
    def columns(self) -> list[str]:
        """The names of its columns; a quantity's name ends in its unit."""
    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as a read-only array, copied.

        Where values are missing, numbers become floating point with NaN in their place.

        Raises:
            KeyError: When there is no such column.
        """
    def to_list(self, name: str) -> list[Any]:
        """One column as a list, with the same values as :meth:`column` has.

        Raises:
            KeyError: When there is no such column.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Algorithm:
    """An algorithm of the catalogue."""

    @property
    def name(self) -> str:
        """Its name in scenario files."""
    @property
    def title(self) -> str:
        """Its name in text and pictures."""
    @property
    def summary(self) -> str:
        """One line."""
    @property
    def family(self) -> str:
        """The name of its group: what it decides by."""
    @property
    def needs(self) -> str:
        """Requirements on hosts and switches, and when equipment first met them."""
    @property
    def state_bytes(self) -> int:
        """Size of one flow's state in bytes."""
    @property
    def presets(self) -> list[tuple[str, str]]:
        """Names and meanings of its presets, the default first."""
    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters with the values of the chosen preset."""
    @property
    def signals(self) -> list[str]:
        """The names of the signals that the chosen preset reads beyond times and counts, as ``"ecn"``."""

    @property
    def kernel(self) -> KernelEntry | None:
        """Its entry in the Linux kernel, if it runs there."""

class KernelEntry:
    """An algorithm in the Linux kernel."""

    @property
    def name(self) -> str:
        """Its name in the kernel."""

    @property
    def signals(self) -> list[str]:
        """The names of the signals that it gets there."""

class Family:
    """A group of algorithms, or of transports and networks that control congestion themselves."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def meaning(self) -> str:
        """Controller and signal of the group, in a few words."""

class OwnControl:
    """A transport or a network that controls congestion without an algorithm at the sender."""

    @property
    def name(self) -> str:
        """Its name in scenario files."""
    @property
    def key(self) -> str:
        """The key or section of a scenario that selects it."""
    @property
    def title(self) -> str:
        """Its name in text and pictures."""
    @property
    def summary(self) -> str:
        """One line."""
    @property
    def family(self) -> str:
        """The name of its group: who controls congestion."""
    @property
    def needs(self) -> str:
        """Requirements on hosts and switches, and when equipment first met them."""

class Parameter:
    """A parameter of an algorithm."""

    @property
    def name(self) -> str:
        """Its name in scenario files."""
    @property
    def kind(self) -> str:
        """`time`, `bytes`, `rate`, `ratio`, `count`, `flag` or `choice`."""
    @property
    def value(self) -> str:
        """Its value, with unit, as a scenario file has it."""
    @property
    def range(self) -> str:
        """The values that it may take."""
    @property
    def meaning(self) -> str:
        """One sentence of meaning."""
    @property
    def evidence(self) -> str:
        """Class of the evidence for its default, its value in the first preset: a name in `evidence()`."""
    @property
    def source(self) -> str:
        """Source of its default, and of the values of other presets."""

class Evidence:
    """A class of the evidence for a parameter's default."""

    @property
    def name(self) -> str:
        """`printed`, `artifact`, `measured`, `derived` or `ours`."""
    @property
    def meaning(self) -> str:
        """Its meaning, in a few words."""

class Contestant:
    """An algorithm together with the switches, transport and balancing that it is made for.

    Attributes:
        name: Its name.
        title: The title of its algorithm, transport or network.
        what: One line.
        role: ``ranked``; ``reference``: shown beside the others; ``base``: what several have in common,
            which cannot be chosen.
        needs: Needs from hosts and switches; of a base nothing.
        cc: The algorithm with its preset, as it is written; empty if none is at the sender.
        base: The contestant or base from which it takes what it does not set.
        settings: All keys that it sets, each with its value as a scenario file has it, and the source of
            the value.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def cc(self) -> str: ...
    @property
    def base(self) -> str | None: ...
    @property
    def settings(self) -> list[tuple[str, str, str]]: ...

class NamedTopology:
    """A topology of a paper: a kind with some of its keys.

    Attributes:
        name: Its name in scenario files.
        meaning: What it is, a sentence without its full stop.
        source: Where it comes from.
        kind: The kind.
        keys: The keys that it sets, each with its value as a scenario file has it.
    """

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def keys(self) -> list[tuple[str, str]]: ...

class Kind:
    """A section of a scenario file, or a kind of topology or of traffic."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def brief(self) -> str:
        """The first sentence of the summary, without its full stop."""
    @property
    def keys(self) -> list[Key]: ...

class Key:
    """A key of a scenario file."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def values(self) -> str: ...
    @property
    def default(self) -> str: ...
    @property
    def source(self) -> str | None: ...

class Distribution:
    """A built-in distribution of flow sizes."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def mean_bytes(self) -> float: ...
    @property
    def points(self) -> list[tuple[int, float]]: ...

def write_parquet(path: str, columns: Sequence[tuple[str, str, Sequence[object]]]) -> None:
    """Writes columns of equal length as a Parquet file, which appears only once it is whole.

    Args:
        path: The file.
        columns: For each its name, its type (``text``, ``integer``, ``unsigned``, ``number`` or
            ``flag``) and its values, None where one is missing.

    Raises:
        ResultError: When it cannot be written.
    """

def describe_file(path: str) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Checks a file of another program: its format, rows of names and texts, notes on what is dropped."""

def read_text(path: str) -> str:
    """The text of a scenario's file, without a byte order mark.

    Raises:
        ScenarioError: When it cannot be read, is not a regular file, is too large or is not UTF-8.
    """

def scenario_of_files(files: list[tuple[str, str]], cc: str, start_unit: str | None) -> tuple[str, list[str]]:
    """The text of a scenario that names files of other programs, and notes on what is dropped.

    Args:
        files: The paths of what hosts send and, if there is one, of the topology, in any order; each with the
            path that the scenario gives it. Of Chakra traces the pattern, with ``*`` for the rank.
        cc: The algorithm, ``name`` or ``name:preset``.
        start_unit: The unit of the start times of a connection matrix, like ``ps`` or ``1us``; None if it
            has none.
    """

class ExportFormat:
    """A format of other programs in which a result can be written.

    Attributes:
        extensions: Extensions of its files, with their points.
        example: Name of a file.
        summary: Content of a file in a few words.
    """

    extensions: list[str]
    example: str
    summary: str

def export_formats() -> list[ExportFormat]:
    """Returns the formats in which a result can be written."""

def export(folder: str, path: str, replace: bool) -> tuple[list[str], list[str]]:
    """Writes a saved result as a file of another program; the extension of the path names the format.

    Returns:
        What the file holds, each as ``2 flows``, and remarks on what it does not have.

    Raises:
        ResultError: When the result cannot be read, or the file cannot be written.
    """

def algorithms() -> list[Algorithm]: ...
def families() -> list[Family]: ...
def evidence() -> list[Evidence]: ...
def own_controls() -> list[OwnControl]: ...
def declared_parameters(name: str) -> list[Parameter] | None: ...
def algorithm(name: str, preset: str | None = None) -> Algorithm | None: ...
def sections() -> list[Kind]: ...
def topologies() -> list[Kind]: ...
def contestants() -> list[Contestant]: ...
def named_topologies() -> list[NamedTopology]: ...
def traffic() -> list[Kind]: ...
def distributions() -> list[Distribution]: ...
def schema() -> str: ...
def register(name: str, factory: Callable[..., Any], summary: str, code: str | None = None) -> None: ...
def load_library(path: str, code: str) -> list[str]: ...
def registered() -> list[tuple[str, str]]: ...
def read_quantity(kind: str, text: str) -> int: ...
def write_quantity(kind: str, value: int) -> str: ...

class Path:
    """Properties of a flow's path that are known when the flow starts; constant for its life."""

    def __new__(
        cls,
        base_rtt: int,
        line_rate: int,
        base_owd: int | None = None,
        packet: int = 1060,
        payload: int = 1000,
        hops: int = 2,
    ) -> Path: ...
    @property
    def base_rtt(self) -> int:
        """Round-trip time without queues, in ps."""
    @property
    def base_owd(self) -> int:
        """The part of `base_rtt` on the way from sender to receiver, in ps."""
    @property
    def line_rate(self) -> int:
        """Rate of the sender's own link, in bit/s."""
    @property
    def packet(self) -> int:
        """Size on the wire of a full data packet, with all headers, in bytes."""
    @property
    def payload(self) -> int:
        """Payload of a full data packet, in bytes."""
    @property
    def hops(self) -> int:
        """Links between sender and receiver."""
    @property
    def bdp(self) -> int:
        """The base bandwidth-delay product, in bytes."""
    def time_for(self, bytes: int) -> int:  # noqa: A002
        """Returns the time in ps that the sender's link needs for these bytes."""
    def bytes_in(self, time: int) -> int:
        """Returns the number of bytes that the sender's link carries in this many ps."""

class Ack:
    """Content of an acknowledgement for the sender. Byte counts are bytes on the wire, headers included."""

    def __new__(
        cls,
        *,
        now: int,
        sent: int,
        received: int | None = None,
        held: int = 0,
        acked: int = 1060,
        packet: int = 0,
        sequence: int = 0,
        next_sequence: int = 0,
        inflight: int = 1060,
        inflight_now: int = 0,
        packets: int = 1,
        marked: int = 0,
        hop_delay: int = 0,
        receiver_flows: int = 0,
        tag: int = 0,
        delayed_run: int = 0,
        hole: bool = False,
        circuit: bool = False,
    ) -> Ack: ...
    @property
    def now(self) -> int:
        """Time of its arrival at the sender, in ps."""
    @property
    def sent(self) -> int:
        """Time at which the acknowledged packet left the sender, in ps."""
    @property
    def received(self) -> int:
        """Time at which that packet arrived at the receiver, in ps of the receiver's clock."""
    @property
    def held(self) -> int:
        """Time for which the receiver held this acknowledgement back after that, in ps."""
    @property
    def packet(self) -> int:
        """Position of the first payload byte of the packet that caused this acknowledgement."""
    @property
    def tag(self) -> int:
        """Tag that `tag()` gave when that packet was sent; zero without `Signals.PACKET_TAG`."""
    @property
    def delayed_run(self) -> int:
        """The longest run of delayed packets, adjacent in sequence; zero without `Signals.DELAYED_RUN`."""
    @property
    def rtt(self) -> int:
        """The round-trip time that it measures, without the time for which the receiver held it, in ps."""
    @property
    def owd(self) -> int:
        """The one-way delay from sender to receiver, in ps."""
    @property
    def acked(self) -> int:
        """Bytes that it newly acknowledges; zero for a duplicate."""
    @property
    def sequence(self) -> int:
        """Position in the flow up to which everything has arrived, in payload bytes."""
    @property
    def next_sequence(self) -> int:
        """Position of the next new payload byte that the sender will send."""
    @property
    def inflight(self) -> int:
        """Bytes in flight when the acknowledged packet was sent, that packet included."""
    @property
    def inflight_now(self) -> int:
        """Bytes in flight now."""
    @property
    def packets(self) -> int:
        """Number of data packets that it covers, at least 1."""
    @property
    def marked(self) -> int:
        """Number of them that carried an ECN mark."""
    @property
    def hop_delay(self) -> int:
        """Largest queueing delay of any single hop, in ps; zero where not measured."""
    @property
    def receiver_flows(self) -> int:
        """Flows that the receiver has open; zero where not told."""
    @property
    def hole(self) -> bool:
        """Whether the receiver reports a hole."""
    @property
    def circuit(self) -> bool:
        """Whether the switch of the sender's rack announced a circuit to the acknowledged packet."""

class IntHop:
    """Record that a switch port writes into a packet as it begins to transmit it (in-band telemetry)."""

    def __new__(cls, at: int, queue: int, transmitted: int, rate: int) -> IntHop: ...
    @property
    def at(self) -> int:
        """Time at which the packet was taken from the queue, in ps."""
    @property
    def queue(self) -> int:
        """Bytes left in the port's queues after it was taken."""
    @property
    def transmitted(self) -> int:
        """Bytes that the port had transmitted before it."""
    @property
    def rate(self) -> int:
        """The port's rate, in bit/s."""

class Loss:
    """A loss, as the transport reports it."""

    @property
    def now(self) -> int:
        """Time at which the sender learns of it, in ps."""
    @property
    def kind(self) -> str:
        """`hole`: the receiver reported one; `timeout`: the timer ran out; `trim`: the payload was cut."""
    @property
    def bytes(self) -> int:
        """Bytes on the wire that the transport takes to be lost."""
    @property
    def sent(self) -> int:
        """Time at which the first lost packet was last sent, in ps."""
    @property
    def sequence(self) -> int:
        """Position in payload bytes from which the transport sends again."""
    @property
    def next_sequence(self) -> int:
        """Position of the next new payload byte before it does."""

class Sent:
    """A packet that has just begun to leave the sender."""

    @property
    def now(self) -> int:
        """Time of the event, in ps."""
    @property
    def bytes(self) -> int:
        """Its size on the wire, in bytes."""
    @property
    def inflight(self) -> int:
        """Bytes in flight with it."""

class Sending:
    """Progress of sending a file, also at its end."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the file."""
    @property
    def acknowledged_bytes(self) -> int:
        """Bytes that are acknowledged."""
    @property
    def elapsed_s(self) -> float:
        """Since the beginning, in seconds."""
    @property
    def window_bytes(self) -> int | None:
        """The algorithm's window in bytes on the wire; None for an algorithm without."""
    @property
    def rate_bps(self) -> int:
        """The algorithm's rate in bit/s."""
    @property
    def inflight_bytes(self) -> int:
        """Bytes in flight, on the wire."""
    @property
    def rtt_ps(self) -> int:
        """The last round-trip time in ps; zero before the first."""
    @property
    def smoothed_rtt_ps(self) -> int:
        """Its moving average in ps."""
    @property
    def packets(self) -> int:
        """Data packets sent."""
    @property
    def resent(self) -> int:
        """Number of them that were sent again."""
    @property
    def marked(self) -> int:
        """Data packets that arrived with a congestion mark."""
    @property
    def timeouts(self) -> int:
        """Expiries of the retransmission timer."""
    @property
    def changed_to_bytes(self) -> int | None:
        """Bytes that the file has at the end, if it changed during the transfer; None if it did not."""

class Receiving:
    """Progress of receiving a file, also at its end."""

    @property
    def at(self) -> str:
        """The address where it waits: ``0.0.0.0:7077``."""
    @property
    def sender(self) -> str | None:
        """The sender's address; None before one has begun."""
    @property
    def size_bytes(self) -> int:
        """Bytes of the file, once a sender has begun."""
    @property
    def received_bytes(self) -> int:
        """Bytes that have arrived in order."""
    @property
    def elapsed_s(self) -> float:
        """Since the sender began, in seconds."""
    @property
    def complete(self) -> bool:
        """Whether all has arrived, is as it was sent, and is written."""
    @property
    def packets(self) -> int:
        """Data packets that arrived, at the end."""
    @property
    def duplicates(self) -> int:
        """Number of them that had arrived before."""
    @property
    def marked(self) -> int:
        """Number of them with a congestion mark."""

def send_file(
    scenario: Scenario,
    path: str,
    host: str,
    port: int,
    base_rtt_ps: int,
    base_owd_ps: int,
    line_rate_bps: int,
    packet_bytes: int,
    hops: int,
    patience_ps: int,
    interface: str | None,
    report: Callable[[Sending], None],
) -> Sending:
    """Sends a file with the algorithm of a scenario; only on Linux. `report` is called ten times a second.

    With an interface, through an AF_XDP socket there.

    Raises:
        WireError: When it cannot be sent.
    """

def receive_file(
    path: str,
    address: str,
    port: int,
    wait_ps: int | None,
    patience_ps: int,
    interface: str | None,
    report: Callable[[Receiving], None],
) -> Receiving:
    """Receives one file into a file that is there; only on Linux. `report` is called ten times a second.

    With an interface, through AF_XDP sockets there.

    Raises:
        WireError: When it cannot be received.
    """
