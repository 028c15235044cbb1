"""Noise of time stamps, and a base RTT that is wrong: algorithms that measure delay, on one link.

``python examples/noise.py ALGORITHM…`` prints for the default and the paper's preset of these algorithms
(without a name of all that measure delay) the use of the link, Jain's index of the flows' shares and, with a
wrong base RTT, the mean queue. Eight flows to one host, 100 Gbps, 12 us, switches that mark at 75 KB; from 4
to 12 ms. ``--picture FILE`` draws it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import incast
from incast import stats
from incast.sections import Flows, Probe, Run, Star

ALGORITHMS = [
    "oscar",
    "ccc",
    "theta-powertcp",
    "swift",
    "mswift",
    "lswift",
    "timely",
    "patched-timely",
    "sqcc",
    "poseidon",
    "nscc",
    "mnscc",
]
NOISE = ["0us", "0.05us", "0.1us", "0.3us", "1us", "3us"]
ERRORS = ["0%", "-20%", "-10%", "10%", "20%"]
SENTENCE_USE, SENTENCE_JAIN = 0.9, 0.9
SENTENCE_LEAST = 0.5
"""An algorithm bears what leaves this share of its use of the link without it, and this index."""

FLOWS = 8
FROM_PS, UNTIL_PS = 4 * 10**9, 12 * 10**9
BYTES_PER_PS = 100e9 / 8e12

star = incast.Scenario.build(
    topology=Star(hosts=FLOWS + 1, rate="100Gbps", delay="3us"),
    switch={"ecn": {"kmin": "75KB", "kmax": "75KB", "pmax": 1.0}},
    traffic=Flows(from_=[f"h{i}" for i in range(FLOWS)], to=f"h{FLOWS}"),
    probe=Probe(flows=["all"], flow_interval="4ms", ports=[f"to h{FLOWS}"], interval="10us"),
    run=Run(until="12ms"),
    cc="oscar",
)

Point = tuple[float, float, float]
"""Use of the link, Jain's index, mean queue in bytes."""


def presets(algorithm: str) -> list[str]:
    """Returns the default and the paper's preset of an algorithm."""
    known = next(one for one in incast.algorithms() if one.name == algorithm)
    return [algorithm, *(f"{algorithm}:{name}" for name, _ in known.presets[1:] if name == "paper")]


def measured(cc: str, key: str, value: str) -> Point:
    """Runs the eight flows with one impairment."""
    result = star.with_(cc=cc, impairments={key: value}).run_quietly()
    rows = result.flow_series
    time, flow, acked = (np.asarray(rows.column(name)) for name in ("time_ps", "flow", "acked_bytes"))
    shares = np.zeros(FLOWS)
    for at, sign in ((FROM_PS, -1), (UNTIL_PS, 1)):
        shares[flow[time == at]] += sign * acked[time == at]
    ports = result.port_series
    inside = np.asarray(ports.column("time_ps")) > FROM_PS
    queue, samples = (np.asarray(ports.column(name))[inside] for name in ("queue_bytes", "samples"))
    use = shares.sum() / (UNTIL_PS - FROM_PS) / BYTES_PER_PS
    return float(use), stats.jain(shares), float(np.average(queue, weights=samples))


def bears(points: list[Point]) -> list[bool]:
    """Says for each point whether it leaves the use and the fairness of the first, without impairment."""
    first = points[0][0]
    return [use >= SENTENCE_USE * first and jain >= SENTENCE_JAIN for use, jain, _ in points]


def sentence(cc: str, noisy: list[Point], wrong: list[Point]) -> str:
    """Says what an algorithm bears."""
    limit = next((i for i, ok in enumerate(bears(noisy)) if not ok), len(NOISE))
    failing = [error for error, ok in zip(ERRORS, bears(wrong), strict=True) if not ok]
    use = noisy[0][0]
    if use < SENTENCE_LEAST:
        return f"{cc} uses {use:.0%} of the link without noise already"
    if limit == 0:
        return f"{cc} is unfair without noise already"
    if limit == len(NOISE):
        text = f"{cc} bears all of this noise"
    else:
        use, jain, _ = noisy[limit]
        most = "no noise" if limit == 1 else f"noise of {NOISE[limit - 1]}"
        text = f"{cc} bears {most}, and has {use:.0%} and {jain:.2f} at {NOISE[limit]}"
    return text + (
        f"; not a base RTT wrong by {' or '.join(failing)}" if failing else "; any of these base RTTs"
    )


def draw(found: dict[str, tuple[list[Point], list[Point]]], path: Path) -> None:
    """Draws use and Jain's index over noise and over the error, for defaults."""
    import matplotlib as mpl
    from PIL import Image

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, sharey="row", figsize=(8, 4.5), layout="constrained")
    noise = [float(value.removesuffix("us")) for value in NOISE[1:]]
    errors = sorted((float(value.removesuffix("%")), i) for i, value in enumerate(ERRORS))
    shown = [cc for cc in found if ":" not in cc]
    for place, cc in enumerate(shown):
        noisy, wrong = found[cc]
        look = {
            "color": f"C{place % 10}",
            "linestyle": "-" if place < 10 else "--",
            "marker": ".",
            "label": cc,
        }
        for row in (0, 1):
            panels[row, 0].plot(noise, [point[row] for point in noisy[1:]], **look)
            panels[row, 1].plot([x for x, _ in errors], [wrong[i][row] for _, i in errors], **look)
    for axes in panels.flat:
        axes.set_ylim(0, 1.05)
        axes.grid(alpha=0.3)
    for axes in panels[:, 0]:
        axes.set_xscale("log")
        axes.set_xticks(noise, NOISE[1:])
        axes.minorticks_off()
    panels[0, 0].set_ylabel("use of the link")
    panels[1, 0].set_ylabel("Jain's index")
    panels[1, 0].set_xlabel("mean noise of time stamps")
    panels[1, 1].set_xlabel("error of the base RTT, %")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=120)
    # A palette is enough, and a third of the size.
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Prints the tables and the sentences."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("algorithms", nargs="*", metavar="ALGORITHM")
    arguments.add_argument("--picture", type=Path, metavar="FILE")
    chosen = arguments.parse_args()
    rows = [cc for name in chosen.algorithms or ALGORITHMS for cc in presets(name)]
    width = max(20, *(len(cc) for cc in rows)) + 2
    found = {
        cc: (
            [measured(cc, "timestamp_noise", value) for value in NOISE],
            [measured(cc, "base_rtt_error", value) for value in ERRORS],
        )
        for cc in rows
    }
    print("noise".ljust(width) + "".join(value.ljust(11) for value in NOISE).rstrip())
    for cc, (noisy, _) in found.items():
        print(
            cc.ljust(width) + "".join(f"{use:4.0%} {jain:.2f}".ljust(11) for use, jain, _ in noisy).rstrip()
        )
    print("base RTT wrong by".ljust(width) + "".join(value.ljust(17) for value in ERRORS).rstrip())
    for cc, (_, wrong) in found.items():
        cells = (f"{use:4.0%} {jain:.2f} {queue / 1000:4.0f}KB" for use, jain, queue in wrong)
        print(cc.ljust(width) + "".join(cell.ljust(17) for cell in cells).rstrip())
    for cc, (noisy, wrong) in found.items():
        print(sentence(cc, noisy, wrong))
    if chosen.picture:
        draw(found, chosen.picture)


if __name__ == "__main__":
    main()
