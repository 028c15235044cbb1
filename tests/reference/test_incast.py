"""The queue of θ-PowerTCP in an incast of 10:1 in the simulator of its authors, and here."""

from __future__ import annotations

import csv
from itertools import dropwhile

from incast import Scenario
from reference.cases import DATA

SCENARIO = DATA.parents[2] / "papers" / "powertcp" / "fig4" / "rack.toml"
TIMES = {"q_50us": 50, "q_100us": 100, "q_200us": 200, "q_500us": 500, "q_1ms": 1000, "q_2ms": 2000}


def theirs() -> dict[str, str]:
    lines = (DATA / "ns3-incast10.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(dropwhile(lambda line: line.startswith("#"), lines))
    (row,) = (row for row in rows if row["algorithm"] == "theta-PowerTCP")
    return row


def test_the_artifacts_window_follows_the_smallest_rtt() -> None:
    # One rack of 25 Gbps and 1 us of delay, and the base RTT of the whole network, 29 us, for all. With
    # windows of that base RTT the peak is 930 KB; with windows of the smallest RTT, 5 us and what the queue
    # adds, it is a quarter of it. Windows are in payload there, 1,000 of 1,090 bytes, so that 9 % more is in
    # flight.
    result = (
        Scenario.load(SCENARIO)
        .with_(cc={"algorithm": "theta-powertcp", "preset": "artifact"}, **{"probe.interval": "1us"})
        .run()
    )
    time, queue = (result.port_series.column(name) for name in ("time_ps", "queue_bytes"))
    expected = theirs()
    peak = int(expected["peak_B"])
    assert 0.85 * peak < queue.max() < peak
    for name, us in TIMES.items():
        found = int(queue[time <= (1000 + us) * 10**6][-1])
        # An eighth of the peak: what lies between the two curves while the queue drains, 27 KB after 50 us.
        assert abs(found - int(expected[name])) < peak / 8, (name, found)
