"""The listings of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from incast.results import Table, censored, stats
from incast.results.arrays import BoolArray, np
from incast.results.listing.marks import Marked
from incast.results.listing.sheet import Listing, columns, number
from incast.results.load import Load
from incast.results.pooled import LEAST_TAIL, tail_index
from incast.results.result import Result
from incast.results.stats import SIZE_CLASSES
from incast.results.titles import title


def queues(results: Mapping[str, Result]) -> list[Listing]:
    """The queues of the probed ports.

    If all flows are active at once for long enough to be sampled (a microburst, an incast), the table has the
    response of each port; if not, each port over the whole run. For more than a few ports, it is one table
    over all of them.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    ports = next(iter(results.values())).probed_ports()
    if not ports:
        return []
    if len(ports) > MOST_PORTS:
        found = [_whole(results, None, f"queues of the {len(ports):,} probed ports, over the whole run")]
        notes = _WHOLE_NOTES
    elif all(_is_burst(result, *ports[0]) for result in results.values()):
        found = [_burst(results, node, port) for node, port in ports]
        notes = _BURST_NOTES
    else:
        found = [_whole(results, it, f"queue at {it[0]}, port {it[1]}, over the whole run") for it in ports]
        notes = _WHOLE_NOTES
    said = dict.fromkeys(listing.notes for listing in found if listing.notes)
    found = [replace(listing, notes="") for listing in found]
    return [*found[:-1], replace(found[-1], notes=" ".join([notes, *said]), apart=True)]


MOST_PORTS = 4
"""Most probed ports that get a table each."""

ENOUGH_SAMPLES = 20
"""Samples that a burst must span to be reported: its last quarter has five."""


def _is_burst(result: Result, node: str, port: int) -> bool:
    start, end = result.all_flows_active()
    return result.count_samples(node, port, start, end) >= ENOUGH_SAMPLES


_WHOLE_NOTES = "Mean, p99 and busy (not empty): of the samples. Peak: of the whole run, exactly."


def _whole(results: Mapping[str, Result], only: tuple[str, int] | None, heading: str) -> Listing:
    marked = Marked("samples")
    measured = (("mean", "KB"), ("p99", "KB"), ("peak", "KB"), ("busy", "%"))
    rows = []
    for label, result in results.items():
        chosen, totals = (_rows(t, only) for t in (result.port_series, result.ports))
        queue, samples = (result.port_series.column(name)[chosen] for name in ("queue_bytes", "samples"))
        sampled = set(result.probed_ports())
        names = zip(result.ports.column("node"), result.ports.column("port"), strict=True)
        totals &= np.array([name in sampled for name in names], dtype=bool)
        peak = result.ports.column("peak_queue_bytes")[totals]
        rows.append(
            [
                title(label),
                number(float(np.average(queue, weights=samples)) / 1e3),
                marked.percentile(
                    number(stats.percentile(queue, 99, samples) / 1e3), 99, [int(samples.sum())]
                ),
                number(int(peak.max()) / 1e3),
                number(100 * float(np.average(queue > 0, weights=samples))),
            ]
        )
    return Listing(heading, columns("algorithm", *measured), rows, " ".join(marked.notes()))


def _rows(table_: Table, only: tuple[str, int] | None) -> BoolArray:
    if only is None:
        return np.ones(len(table_), dtype=bool)
    mine: BoolArray = (table_.column("node") == only[0]) & (table_.column("port") == only[1])
    return mine


_BURST_NOTES = (
    "Steady: mean queue over the last quarter of the burst, which lasts from the start of the last flow "
    "until a base RTT before the first one is delivered. Settled: time from that start until the "
    "queue stays within 10 % (or 10 KB) of it. Peak and mean: of the whole run. Unused: what the link "
    "could have carried after that start and did not, in time at full rate and as a share."
)


def _burst(results: Mapping[str, Result], node: str, port: int) -> Listing:
    steady = (("steady", "KB"), ("from – to", "KB"), ("settled", "us"))
    whole = (("peak", "KB"), ("mean", "KB"), ("unused", "us"), ("", "%"))
    rows = [[title(label), *_burst_row(result, node, port)] for label, result in results.items()]
    return Listing(f"queue at {node}, port {port}", columns("algorithm", *steady, *whole), rows)


def _burst_row(result: Result, node: str, port: int) -> list[str]:
    start, end = result.all_flows_active()
    summaries = result.info["summary"]["ports"]
    mean = next(it["queue"]["mean_bytes"] for it in summaries if (it["node"], it["port"]) == (node, port))
    burst = result.response(node, port, start, end)
    after = result.response(node, port, start)
    lost = after.lost_bytes
    return [
        number(burst.steady_bytes / 1e3),
        f"{number(burst.steady_low_bytes / 1e3)} – {number(burst.steady_high_bytes / 1e3)}",
        "no" if burst.settling_ps is None else number(burst.settling_ps / 1e6),
        number(result.peak_queue_bytes(node, port) / 1e3),
        number(mean / 1e3),
        "–" if lost is None else number(lost * 8e6 / result.port_total("rate_bps", node, port)),
        "–" if after.lost_share is None else number(100 * after.lost_share),
    ]


def jobs(results: Mapping[str, Result]) -> list[Listing]:
    """Completion times of the jobs of each traffic block.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    groups = ((label, group) for label, r in results.items() for group in r.info["summary"].get("jobs", []))
    rows = [[title(label), *_job_row(group)] for label, group in groups]
    if not rows:
        return []
    times = (("jobs", ""), ("mean", "us"), ("slowest", "us"), ("time / bound", "mean"), ("", "max"))
    notes = (
        "Job completion times. Bound: the time that the job takes at least with empty queues (no unit). "
        "Straggler: the host at which the slowest job ended last."
    )
    summaries = (result.info["summary"].get("jobs", []) for result in results.values())
    if any(group["unfinished"] for its in summaries for group in its):
        notes += " Means are of the jobs that ended. ≥: a lower bound, since jobs did not end."
    return [Listing("jobs", columns("algorithm", "traffic", *times, "straggler"), rows, notes)]


def _job_row(group: dict[str, Any]) -> list[str]:
    time, ratio = group["jct_ps"], group["bound_ratio"]
    total = group["jobs"] + group["unfinished"]
    # The slowest of those that ended is no slower than one that did not.
    least = "≥ " if group["unfinished"] else ""
    return [
        group["group"],
        f"{total:,}" if not group["unfinished"] else f"{group['jobs']:,} of {total:,}",
        number(time["mean"] / 1e6) if time else "–",
        least + number(time["max"] / 1e6) if time else "–",
        number(ratio["mean"]) if ratio else "–",
        least + number(ratio["max"]) if ratio else "–",
        group["straggler_host"] or "–",
    ]


def bandwidths(results: Mapping[str, Result]) -> list[Listing]:
    """Bandwidths of the collectives of each traffic block.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    groups = ((label, group) for label, r in results.items() for group in r.info["summary"].get("jobs", []))
    rows = [
        [title(label), group["group"], *_bandwidths_row(group)]
        for label, group in groups
        if group.get("busbw_bps")
    ]
    if not rows:
        return []
    means = (("algbw", "Gbps"), ("busbw", "Gbps"))
    notes = (
        "Means over the jobs. algbw: the size of the collective divided by its time; busbw: the bytes that "
        "each rank sends at least, divided by the same time. Computations between passes do not count."
    )
    return [Listing("collectives", columns("algorithm", "traffic", *means), rows, notes)]


def _bandwidths_row(group: dict[str, Any]) -> list[str]:
    return [number(group[key]["mean"] / 1e9) for key in ("algbw_bps", "busbw_bps")]


def loads(results: Mapping[str, Result]) -> list[Listing]:
    """The measured loads of traffic blocks.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    rows = [[title(label), *_load_row(load)] for label, result in results.items() for load in result.loads]
    if not rows:
        return []
    shares = (("load", "%"), ("offered", "%"), ("carried", "%"))
    backlog = (("backlog", "MB", "begin"), ("backlog", "MB", "end"))
    notes = "In the measured window. Backlog: bytes of flows that have started which are not acknowledged."
    return [Listing("load", columns("algorithm", "traffic", *shares, *backlog, "steady"), rows, notes)]


def _load_row(load: Load) -> list[str]:
    shares = (load.load, load.offered, load.carried)
    backlog = (load.backlog_begin_bytes, load.backlog_end_bytes)
    return [
        load.group,
        *("–" if share is None else number(100 * share) for share in shares),
        *("–" if size is None else number(size / 1e6) for size in backlog),
        "yes" if load.steady else "NO",
    ]


def slowdowns(results: Mapping[str, Result]) -> list[Listing]:
    """The slowdown of flows by size; each unfinished one counts with the least that it can have.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    marked = Marked()
    rows = [[title(label), *_slowdown_row(result, marked)] for label, result in results.items()]
    if all(cell == "–" for row in rows for cell in row[1:]):
        return []
    parts = [part for name in SIZE_CLASSES for part in ((name, "mean"), ("", "p50"), ("", "p99"))]
    counts = {s["class"]: s["flows"] for s in next(iter(results.values())).info["summary"]["slowdowns"][:3]}
    of = f"{counts.get('small', 0):,} of {counts.get('all', 0):,}"
    notes = [
        "Slowdown: completion time divided by that on the idle path without telemetry (no unit).",
        f"Small: flows up to 150 KB ({of}).",
    ]
    left = {label: int(stats.metrics(result)["flows_unfinished"]) for label, result in results.items()}
    if missing := [f"{title(label)} {count:,}" for label, count in left.items() if count]:
        notes.append(
            f"Not finished: {', '.join(missing)}; each counts with the least slowdown that it can have."
        )
    heading = columns("algorithm", *parts)
    return [Listing("FCT slowdown", heading, rows, " ".join([*notes, *marked.notes()]))]


def _slowdown_row(result: Result, marked: Marked) -> list[str]:
    numbers, at_least = censored.metrics(result)
    cells = []
    for name in SIZE_CLASSES:
        flows, tail = _behind(result, name)
        for statistic in ("mean", "p50", "p99"):
            metric = f"slowdown_{name}_{statistic}"
            if metric not in numbers:
                cells.append("–")
                continue
            text = marked.at_least(number(numbers[metric]), metric in at_least)
            is_mean = statistic == "mean"
            cells.append(
                marked.mean(text, tail) if is_mean else marked.percentile(text, float(statistic[1:]), [flows])
            )
    return cells


def _behind(result: Result, of: str) -> tuple[int, float | None]:
    """Returns the number of flows behind the slowdowns of a class of sizes, and their tail index."""
    summaries = result.info["summary"]["slowdowns"]
    one = next((it for it in summaries if (it["class"], it["group"]) == (of, None)), None)
    if one is not None and not one["unfinished"] and one["flows"] < LEAST_TAIL:
        # The summary says it all, and the flows need not be looked at.
        return one["flows"], None
    values, _ = censored.of_class(result, of)
    return len(values), tail_index(values)


def limits(results: Mapping[str, Result]) -> list[Listing]:
    """The time of flows by what kept their next packets back; limits without any time are left out.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    shares = {label: stats.limit_shares(result.info) for label, result in results.items()}
    shown = [name for name in stats.LIMITS if any(of.get(name) for of in shares.values())]
    if not shown:
        return []
    rows = [
        [title(label), *(number(100 * of[name]) if of else "–" for name in shown)]
        for label, of in shares.items()
    ]
    notes = (
        "Shares of the summed time of flows that count, by what kept their next packet back "
        "(`incast explain`)."
    )
    return [Listing("limits", columns("algorithm", *((name, "%") for name in shown)), rows, notes)]


LISTINGS: tuple[Callable[[Mapping[str, Result]], list[Listing]], ...] = (
    queues,
    loads,
    slowdowns,
    jobs,
    bandwidths,
    limits,
)
"""All listings of results, in their order; each gives none where there is nothing to say."""


def listings(results: Mapping[str, Result]) -> list[Listing]:
    """Returns all listings of results.

    Args:
        results: A result for each algorithm, all of one scenario.
    """
    return [listing for of in LISTINGS for listing in of(results)]
