"""The compiled core. A test holds these stubs against the module; use the package's own classes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

__version__: str

profile: str
"""Profile of the core's build: ``release`` as in all releases, ``development`` with checks of overflow and
some optimisation, as for the tests, or ``debug`` without optimisation."""

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
    def with_algorithm(self, algorithm: str, parameters: Sequence[str] = ...) -> Scenario: ...
    def with_seed(self, seed: int) -> Scenario: ...
    def to_toml(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def size(self) -> Size: ...
    def run(
        self,
        out: str | None,
        threads: int,
        fresh: bool,
        report: Callable[[int, int | None, int, int, int], None] | None,
        build: str | None = None,
    ) -> tuple[Result, BaseException | None]: ...

class Plan:
    """A scenario's requests to a testbed. Times are in ps, rates in bit/s."""

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, hosts first."""
    @property
    def hosts(self) -> int:
        """Number of nodes that are hosts."""
    @property
    def links(self) -> list[tuple[int, int, int, int, int, int]]:
        """Links: node and port of either end, rate, delay."""
    @property
    def flows(self) -> list[tuple[int, int, int | None, int, int | None, int, int]]:
        """Flows: source, destination, size if it has one, start, stop if it has one, group, algorithm."""
    @property
    def paths(self) -> list[tuple[int, int, int, int, int, int]]:
        """Path of each flow for its algorithm: base RTT, one-way delay, rate, packet, payload, links."""
    @property
    def groups(self) -> list[str]:
        """Names of the traffic blocks."""
    @property
    def algorithms(self) -> list[str]:
        """Algorithms with their presets."""
    @property
    def operations(self) -> list[tuple[int, str, int, int, list[int], list[int], int | None]]:
        """Operations with dependencies.

        Host, what it does (``send``, ``receive``, ``compute``), its flow or processor, how long it computes,
        operations that must have ended and that must have started before, and from when on it is left out.
        """
    @property
    def longest_job_ps(self) -> int:
        """Least time of the longest job."""
    @property
    def buffer_bytes(self) -> int | None:
        """Limit of the buffer of a switch, or of each port; None: unlimited."""
    @property
    def buffer_alpha(self) -> float | None:
        """The part of the free buffer that a queue may have; None: each port has a limit."""
    @property
    def ecn(self) -> tuple[int, int, float, int | None, bool] | None:
        """Marks: kmin and kmax in bytes, pmax, reference rate, whether at dequeue."""
    @property
    def pausing(self) -> list[tuple[int, int, int | None, int, int, int, int]]:
        """Rules by which switches pause links into them.

        Node and port; fixed threshold, part of what is free out of 2^32, how far below it resumes, headroom,
        reserve.
        """
    @property
    def until_ps(self) -> int | None:
        """Latest time of its end."""
    @property
    def stall_after_ps(self) -> int:
        """Time without progress after which it is given up."""
    @property
    def probed_ports(self) -> list[tuple[int, int]]:
        """Ports that are sampled: node and port."""
    @property
    def port_interval_ps(self) -> int:
        """Time between two samples of a port."""
    @property
    def probed_flows(self) -> list[int]:
        """Flows that are sampled."""
    @property
    def flow_interval_ps(self) -> int:
        """Time between two samples of a flow."""
    @property
    def internals(self) -> bool:
        """Whether internal quantities of the algorithms are sampled with their flows."""
    @property
    def captured_ports(self) -> list[tuple[int, int]]:
        """Ports whose packets are captured: node and port."""
    @property
    def probe_from_ps(self) -> int:
        """Time of the first sample."""
    @property
    def probe_until_ps(self) -> int | None:
        """After which no sample is taken."""

class Switch:
    """A switch in user space, which forwards from its making on, in a thread of its own. Linux only."""

    def __new__(
        cls,
        sockets: Sequence[int],
        ports: Sequence[tuple[int, int, int, int, int, tuple[int, int, float, bool] | None, bool]],
        buffer: tuple[int | None, float | None],
        seed: int,
        pausing: Sequence[tuple[int, int, int | None, int, int, int, int]],
    ) -> Switch: ...
    def begin(
        self,
        start_ns: int,
        sampled: Sequence[tuple[int, int]],
        from_ps: int,
        interval_ps: int,
        until_ps: int | None,
    ) -> None:
        """Counts, and samples ports, from a time of the monotonic clock on."""
    def stop(
        self,
    ) -> tuple[
        list[tuple[int, int, int, int, int, int, int, bool]],
        list[tuple[int, int, int, int, int, int, int, int, int, int]],
        tuple[int, int, int, int, int],
    ]:
        """Stops forwarding. Samples and totals of ports, and what of its frames to hosts was late."""

def plan(scenario: Scenario) -> Plan: ...
def record(
    scenario: Scenario, measured: object, out: str | None, fresh: bool, build: str | None = None
) -> Result: ...

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
    def parts(self) -> tuple[str, str, str | None, list[bytes]]: ...
    @staticmethod
    def from_parts(parts: tuple[str, str, str | None, list[bytes]]) -> Result: ...
    def response(self, node: str, port: int, from_ps: int, until_ps: int | None = None) -> Response: ...

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

class Table:
    """A table of a result.

    It is handed over without a copy through the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``.
    """

    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]:
        """The names of its columns; a quantity's name ends in its unit."""
    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as a read-only array, copied.

        Where values are missing, numbers become floating point with NaN in their place.

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
    def source(self) -> str:
        """Source of its default."""

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

def scenario_of_files(files: list[tuple[str, str]], cc: str) -> tuple[str, list[str]]:
    """The text of a scenario that names files of other programs, and notes on what is dropped.

    Args:
        files: The paths of what hosts send and, if there is one, of the topology, in any order; each with the
            path that the scenario gives it. Of Chakra traces the pattern, with ``*`` for the rank.
        cc: The algorithm, ``name`` or ``name:preset``.
    """

def write_fct(folder: str, path: str, replace: bool) -> tuple[int, int]:
    """Writes a saved result as an ``fct.txt``: how many flows are in it, and how many are not."""

def write_trace(folder: str, path: str, replace: bool) -> tuple[int, int, int]:
    """Writes a saved result as a Perfetto trace: how many flows, pauses, samples of ports are in it."""

def algorithms() -> list[Algorithm]: ...
def families() -> list[Family]: ...
def own_controls() -> list[OwnControl]: ...
def algorithm(name: str, preset: str | None = None) -> Algorithm | None: ...
def sections() -> list[Kind]: ...
def topologies() -> list[Kind]: ...
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
        """Those of them that were sent again."""
    @property
    def marked(self) -> int:
        """Data packets that arrived with a congestion mark."""
    @property
    def timeouts(self) -> int:
        """Expiries of the retransmission timer."""

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
        """Those of them that had arrived before."""
    @property
    def marked(self) -> int:
        """Those of them with a congestion mark."""

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
