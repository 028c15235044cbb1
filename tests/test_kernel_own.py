"""The way of an algorithm of one's own into the kernel, as docs/guide/from-simulator-to-kernel.md goes it."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from helpers import ROOT, Incast
from incast import kernel
from incast.real.kernel import KernelError, machine
from namespaces import network

EXAMPLE = ROOT / "examples" / "custom-algorithm"

pytestmark = pytest.mark.xdist_group("kernel")


def build(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the making of the example's object, with this name in the kernel."""
    script, crate = ROOT / "bpf" / "build.sh", EXAMPLE / "kernel"
    words = [str(script), "--own", str(crate), "target", "Target", name, str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def built(folder: Path) -> Path:
    """The algorithm of the example as an object."""
    done = build("incast_target", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "bpf: incast_target: 8 bytes of state, 80 of setup\n"
    return folder / "target.bpf.o"


def setup(base_rtt_ps: int, line_rate_bps: int) -> str:
    """The setup that the example's program prints."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "custom-algorithm")}
    words = ["cargo", "run", "--quiet", "--locked", "--bin", "setup", str(base_rtt_ps), str(line_rate_bps)]
    done = subprocess.run(words, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_its_setup_has_parameters_path_and_what_follows_from_them() -> None:
    words = struct.unpack("<10Q", bytes.fromhex(setup(1_000_000_000, 200_000_000)))
    # A target of 1.5 base RTTs, and a base BDP of 25 KB.
    assert words == (384, 128, 10**9, 5 * 10**8, 2 * 10**8, 1538, 1448, 2, 25_000, 1_500_000_000)


@pytest.mark.usefixtures("root")
def test_it_keeps_the_queue_of_a_real_link_near_its_target(incast: Incast, tmp_path: Path) -> None:
    source = built(tmp_path)
    load = ("kernel", "load-own", str(source), "incast_target", "--setup", setup(1_000_000_000, 200_000_000))
    done = incast(*load)
    assert (done.returncode, done.stdout) == (0, "incast_target is loaded.\n")
    assert "incast_target is loaded already" in incast(*load).stderr
    assert incast("kernel", "list").stdout.split() == ["incast_target", "loaded"]
    with network() as net:
        reno = net.flow("reno", 5_000_000)
        own = net.flow("incast_target", 5_000_000)
    # The target is 1.5 ms; New Reno fills the buffer, 24 ms.
    assert 750 < own.rtt_us < 2250
    assert own.rtt_us < reno.rtt_us / 2
    assert own.seconds < reno.seconds * 2
    assert incast("kernel", "unload", "incast_target").stdout == "incast_target is unloaded.\n"
    with pytest.raises(KernelError, match="do not belong together"):
        kernel.load_own("incast_target", source, b"\0" * 72)


def test_names_of_the_catalogue_and_others_are_refused(tmp_path: Path) -> None:
    for name in ("target", "incast_oscar"):
        with pytest.raises(KernelError, match="is not a valid name for your own algorithm"):
            kernel.load_own(name, tmp_path / "x", b"")
    for name, said in (("target", "must begin with incast_"), ("incast_too_long_a_name", "more than 15")):
        done = build(name, tmp_path)
        assert done.returncode == 2
        assert said in done.stderr


@pytest.mark.usefixtures("root")
def test_a_missing_object_is_told(tmp_path: Path) -> None:
    assert "incast_target" not in machine.available()
    with pytest.raises(KernelError, match=r"build it with `bpf/build\.sh --own`"):
        kernel.load_own("incast_target", tmp_path / "none.bpf.o", b"")
