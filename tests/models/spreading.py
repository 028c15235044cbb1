"""Hashes and draws that choose among equal paths, and the policies by which senders spread their packets.

Written from docs/network/routing.md, random.md and balancing.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SEED = 1
"""The scenario's seed, where it says nothing else."""

BALANCING = 0x62616C616E636521
"""Name of the stream of load balancing."""

STORED = 8
"""Number of entropies that REPS keeps."""

EXPLORED = 16
"""Number of packets that REPS sends with random entropies after it was frozen."""

HALF = 2**32
WHOLE = 2**64


def mix(x: int) -> int:
    """The finaliser of SplitMix64, with its increment."""
    x = (x + 0x9E3779B97F4A7C15) % WHOLE
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WHOLE
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WHOLE
    return x ^ (x >> 31)


def fmix32(h: int) -> int:
    """The finaliser of MurmurHash3 of 32 bits."""
    h = (h ^ (h >> 16)) * 0x85EBCA6B % HALF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % HALF
    return h ^ (h >> 16)


def flow_key(block: str, number: int) -> int:
    """The key of a flow, from the seed, its block's name and its number in the block."""
    name = block.encode()
    h = mix(SEED)
    for first in range(0, len(name), 8):
        h = mix(h ^ int.from_bytes(name[first : first + 8], "little"))
    return mix(mix(h ^ len(name)) ^ number)


def data_hash(key: int) -> int:
    """The hash of a flow's data packets."""
    return mix(key) >> 32


def reply_hash(key: int) -> int:
    """The hash of a flow's acknowledgements."""
    return mix(WHOLE - 1 - key) >> 32


def salt(node: int) -> int:
    """Returns the number that a node mixes into every hash."""
    return mix(node + 1) >> 32


def chosen(ports: list[int], path: int, salt: int) -> int:
    """The port, of several that are equally short, for a packet with the hash `path`."""
    return ports[fmix32(path ^ salt) * len(ports) >> 32]


def flow_stream(key: int) -> int:
    """The stream of a flow for load balancing."""
    return mix(SEED ^ mix(key ^ BALANCING))


def drawn(stream: int, item: int) -> int:
    """An item of a stream: 64 bits."""
    return mix(stream ^ mix(item))


class Policy(Protocol):
    """Gives every packet that a flow sends its entropy."""

    def entropy(self, now: int) -> int:
        """The entropy of the next packet, or copy of a packet."""

    def good(self, now: int, entropy: int) -> None:
        """An acknowledgement without a mark has arrived, of a packet with this entropy."""

    def timeout(self, now: int) -> None:
        """The retransmission timer has expired."""


class Ecmp:
    """One path for all packets."""

    def entropy(self, now: int) -> int:
        """None."""
        return 0

    def good(self, now: int, entropy: int) -> None:
        """Changes nothing."""

    def timeout(self, now: int) -> None:
        """Changes nothing."""


class Ops(Ecmp):
    """A random entropy for each packet."""

    def __init__(self, stream: int) -> None:
        self.stream, self.sent = stream, 0

    def entropy(self, now: int) -> int:
        """The upper 16 bits of a draw. The first packet is number 1."""
        self.sent += 1
        return drawn(self.stream, self.sent) >> 48


class OpsRounds(Ecmp):
    """Every entropy once a round, with bits inverted that are drawn for the round."""

    def __init__(self, stream: int, paths: int) -> None:
        self.stream, self.paths, self.sent = stream, paths, 0

    def entropy(self, now: int) -> int:
        """The next one of the round. Rounds and their packets are numbered from 0."""
        around, place = divmod(self.sent, self.paths)
        self.sent += 1
        return (place ^ drawn(self.stream, around)) % self.paths


class Reps:
    """The last entropies that came back without a mark, each used once more; random ones beside them."""

    def __init__(self, stream: int, paths: int, freeze: int | None) -> None:
        self.stream, self.paths, self.freeze = stream, paths, freeze
        self.random = 0
        self.stored: list[int] = []
        self.unused: list[bool] = []
        self.frozen_until: int | None = None
        self.turn = 0
        self.exploring = 0

    def entropy(self, now: int) -> int:
        """A stored one, else a random one."""
        self.thaw(now)
        if self.exploring > 0:
            self.exploring -= 1
        elif self.frozen_until is not None and self.stored:
            self.turn += 1
            return self.stored[(self.turn - 1) % len(self.stored)]
        elif self.frozen_until is None and any(self.unused):
            oldest = self.unused.index(True)
            self.unused[oldest] = False
            return self.stored[oldest]
        self.random += 1
        return (drawn(self.stream, self.random) >> 32) * self.paths >> 32

    def good(self, now: int, entropy: int) -> None:
        """Stores it, unless the sender is frozen."""
        self.thaw(now)
        if self.frozen_until is None:
            self.stored = [*self.stored, entropy][-STORED:]
            self.unused = [*self.unused, True][-STORED:]

    def timeout(self, now: int) -> None:
        """The sender freezes, unless it is frozen or sends its random packets after that."""
        self.thaw(now)
        if self.freeze is not None and self.frozen_until is None and self.exploring == 0:
            self.frozen_until, self.turn = now + self.freeze, 0

    def thaw(self, now: int) -> None:
        """A sender that has been frozen long enough forgets everything."""
        if self.frozen_until is not None and now > self.frozen_until:
            self.frozen_until = None
            self.stored, self.unused = [], []
            self.exploring = EXPLORED


@dataclass(frozen=True)
class Balancing:
    """The keys of `[balancing]` that hold for all flows; `freeze` in picoseconds, None for never."""

    paths: int = 64
    freeze: int | None = None
    acknowledgements: str = "balanced"

    @staticmethod
    def drawn(draw: random.Random) -> Balancing:
        """Draws all of them."""
        return Balancing(
            paths=2 ** draw.randint(0, 6),
            freeze=draw.randrange(10_000_000, 500_000_000) if draw.random() < 0.5 else None,
            acknowledgements=draw.choice(["balanced", "one-path"]),
        )

    def keys(self, policies: set[str]) -> dict[str, object]:
        """Those that have an effect when the flows have these policies."""
        freeze = None if self.freeze is None else f"{self.freeze}ps"
        values = {"paths": self.paths, "freeze": freeze}
        used = {key for name in policies for key in POLICIES[name].keys}
        keys: dict[str, object] = {
            key: value for key, value in values.items() if key in used and value is not None
        }
        if policies - {"ecmp"}:
            keys["acknowledgements"] = self.acknowledgements
        return keys


@dataclass(frozen=True)
class Described:
    """A policy as cases draw and set it: how the state of a flow is made from its stream, and its keys."""

    make: Callable[[int, Balancing], Policy]
    keys: tuple[str, ...] = ()


POLICIES = {
    "ecmp": Described(lambda _, __: Ecmp()),
    "ops": Described(lambda stream, _: Ops(stream)),
    "ops-rounds": Described(lambda stream, settings: OpsRounds(stream, settings.paths), ("paths",)),
    "reps": Described(
        lambda stream, settings: Reps(stream, settings.paths, settings.freeze), ("paths", "freeze")
    ),
}
"""The policies of senders by their names in scenario files. Flows of each are drawn."""


def policy(name: str | None, key: int, settings: Balancing) -> Policy:
    """The policy of a flow."""
    return POLICIES[name or "ecmp"].make(flow_stream(key), settings)
