"""Tables of flows: what one result holds is the traffic of another run."""

import csv
from pathlib import Path

import incast
from incast import sections


def test_the_flows_of_a_result_are_the_traffic_of_another_run(tmp_path: Path) -> None:
    table = tmp_path / "flows.csv"
    table.write_text("source,destination,size [KB],start [us]\nh0,h1,1.5,0\nh2,h1,30,2.5\nh3,h0,1e3,2.5\n")

    def run() -> incast.Result:
        return incast.Scenario.build(
            topology=sections.Star(hosts=4, rate="100Gbps", delay="1us"),
            cc="constant",
            traffic=sections.FlowTable(file=str(table)),
        ).run()

    first = run()
    columns = ["source", "destination", "size_bytes", "start_ps"]
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*(first.flows.column(name) for name in columns), strict=True))
    again = run()
    assert list(first.flows.column("size_bytes")) == [1500, 30_000, 1_000_000]
    assert list(first.flows.column("start_ps")) == [0, 2_500_000, 2_500_000]
    assert again.fingerprint == first.fingerprint
