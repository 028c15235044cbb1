"""``incast kernel``: the algorithms as congestion control of the Linux kernel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from incast.catalogue import read_quantity
from incast.cli.options import Commands, add_command, number_option, parameters_option, path_option
from incast.real import kernel
from incast.real.kernel import KernelError, Link, machine


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = commands.add_parser(
        "kernel",
        help="load algorithms into the Linux kernel as TCP congestion control",
        description="Loads algorithms into Linux as TCP congestion control. Needs root and bpftool.",
    )
    acts = sub.add_subparsers(required=True, metavar="ACT")

    act = add_command(
        acts,
        load,
        "load",
        "load an algorithm",
        "Loads an algorithm. Connections of every network namespace can then select it by name.",
    )
    names = ", ".join(known.algorithm for known in kernel.CONTROLS)
    act.add_argument("algorithm", metavar="NAME[:PRESET]", help=f"the algorithm: {names}")
    act.add_argument("--rtt", required=True, type=time, metavar="TIME", help="RTT without queues, like 50us")
    act.add_argument(
        "--rate", required=True, type=rate, metavar="RATE", help="rate of the sender's link, like 10Gbps"
    )
    act.add_argument(
        "--owd", type=time, metavar="TIME", help="part of the RTT on the forward path (default: half)"
    )
    act.add_argument(
        "--packet",
        type=size,
        default=1538,
        metavar="SIZE",
        help="a full packet on the wire, with all headers (default: 1538B, MTU 1500 on Ethernet)",
    )
    act.add_argument(
        "--payload", type=size, default=1448, metavar="SIZE", help="its payload (default: 1448B)"
    )
    number_option(act, "--hops", int, "links on the forward path (default: 2)", default=2)
    parameters_option(act)
    path_option(act, "--objects", "DIR", "folder of the built objects")

    act = add_command(
        acts,
        load_own,
        "load-own",
        "load an algorithm of your own",
        "Loads an algorithm of your own, built with bpf/build.sh --own.",
    )
    act.add_argument("object", type=Path, metavar="FILE", help="the object, like target.bpf.o")
    act.add_argument("name", metavar="NAME", help="its name in the kernel, like incast_target")
    act.add_argument(
        "--setup", required=True, type=bytes.fromhex, metavar="HEX", help="a file with the bytes of its setup"
    )
    act.add_argument(
        "--header", type=size, default=90, metavar="SIZE", help="headers of a packet (default: 90B)"
    )

    add_command(acts, show, "list", "list the loaded algorithms", "Lists the algorithms that are loaded.")

    act = add_command(acts, unload, "unload", "unload an algorithm", "Unloads an algorithm.")
    act.add_argument("algorithm", metavar="NAME", help="its name, here or in the kernel; all: every one")


def load(options: argparse.Namespace) -> int:
    """Loads an algorithm."""
    if not machine.Act.LOAD.lacks() and (missing := machine.Act.ASK.lacks()):
        note(f"without {missing[0]} it can be loaded, but not unloaded: it stays until root unloads it")
    try:
        link = Link(options.rtt, options.rate, options.packet, options.payload, options.owd, options.hops)
        before = kernel.holders(kernel.kernel_name(options.algorithm.partition(":")[0]))
        known = kernel.load(options.algorithm, options.parameters, link, options.objects)
    except KernelError as error:
        return refuse(error)
    print(f"{known.name} is loaded.")
    reloaded(before)
    bdp = options.rtt * options.rate // (8 * 10**12)
    if options.packet <= bdp < _LOOPBACK:
        note(
            f"one base BDP, {bdp:,}B, is less than one packet of the loopback interface (64KB):"
            " a connection over that has one packet in flight"
        )
    return 0


def note(text: str) -> None:
    """Says what deserves attention."""
    print(f"incast: {text}", file=sys.stderr)


_LOOPBACK = 65_536
"""Bytes of a packet of the loopback interface, by default."""


def reloaded(before: kernel.Holders) -> None:
    """Says what uses the parameters now, and what keeps those from before."""
    for namespace in before.defaults:
        print(f"It is the default of {namespace}: new connections there use these parameters.")
    if before.listening:
        print(
            "These listening sockets had it before. If they selected it by themselves, their connections have"
            " the old parameters until they select it again, or their programs restart:"
        )
        for place in before.listening:
            print(f"  {place}")
    if before.connections:
        print(f"{connections(before.connections)} from before keep the old parameters until they end.")


def connections(count: int) -> str:
    """A number of connections, in words."""
    return "1 connection" if count == 1 else f"{count:,} connections"


def held(users: kernel.Holders) -> str:
    """Describes what uses one that is unloaded."""
    parts = [f"the default of {namespace}, so new connections there too" for namespace in users.defaults]
    parts += [
        f"the listening socket {place} and, if it selected it by itself, its new connections"
        for place in users.listening
    ]
    if users.connections:
        parts.append(f"{connections(users.connections)}, until they end")
    found = "; ".join(parts) or "nothing that was found in namespaces with a name or a process"
    return found if users.whole else f"{found} (other network namespaces could not be looked at)"


def load_own(options: argparse.Namespace) -> int:
    """Loads an algorithm of the user's own."""
    try:
        kernel.load_own(options.name, options.object, options.setup, options.header)
    except KernelError as error:
        return refuse(error)
    print(f"{options.name} is loaded.")
    return 0


def show(options: argparse.Namespace) -> int:
    """Lists what is loaded."""
    del options
    try:
        kernel.clear()
        found = [(one, state(one)) for one in kernel.loaded()]
    except KernelError as error:
        return refuse(error)
    for one, text in found:
        print(f"{one.name:15}  {text}")
    if not found:
        print("nothing is loaded", file=sys.stderr)
    return 0


def state(one: kernel.Loaded) -> str:
    """Describes one that is loaded."""
    if not one.selectable:
        return f"being unloaded; of this name: {held(kernel.holders(one.name))}"
    if not kernel.complete(one):
        return "only partly loaded: it has no signals; unload it"
    return "loaded"


def unload(options: argparse.Namespace) -> int:
    """Unloads one or all."""
    try:
        kernel.clear()
        every = options.algorithm == "all"
        names = [one.name for one in kernel.loaded() if one.selectable] if every else [options.algorithm]
        for name in names:
            known = kernel.kernel_name(name)
            users = kernel.holders(known)
            if kernel.unload(name):
                print(f"{known} is unloaded.")
            else:
                print(f"{known} is unloaded; it is still used by {held(users)}.")
        if not names:
            print("nothing is loaded", file=sys.stderr)
    except KernelError as error:
        return refuse(error)
    return 0


def refuse(error: KernelError) -> int:
    """Says why something cannot be done."""
    print(f"incast: {error}", file=sys.stderr)
    return 1


def time(text: str) -> int:
    """A time, in ps."""
    return quantity("time", text)


def rate(text: str) -> int:
    """A rate, in bit/s."""
    return quantity("rate", text)


def size(text: str) -> int:
    """A size, in bytes."""
    return quantity("bytes", text)


def quantity(kind: str, text: str) -> int:
    """A quantity with its unit."""
    try:
        return read_quantity(kind, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
