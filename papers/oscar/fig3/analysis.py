"""Figure 3 of OSCAR: delay, total window, delay gradient and total rate through a burst."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import incast
from incast.ledger.runs import Results
from incast.results.measures.quantity import Quantity, picoseconds
from incast.results.result import FlowSeries
from incast.units import Time

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Points = tuple[Floats, Floats]

SHORT_STOP = "1500us"
TOO_FEW = "there are no acknowledgements from {} to {}"


def _series(results: Results) -> list[FlowSeries]:
    view = results.view("burst")
    flows = view.result.flows.column("flow")
    rows = [*view.rows("long"), *view.rows("short")]
    return [view.result.flow(int(flows[row])) for row in rows]


def _base_rtt(results: Results) -> float:
    return float(results.view("burst").base_rtt_ps("long"))


_known: dict[int, tuple[incast.Gradient, incast.Gradient]] = {}


def _gradients(results: Results) -> tuple[incast.Gradient, incast.Gradient]:
    """By least squares, and TIMELY's: computed once."""
    result = results["burst"]
    if id(result) not in _known:
        base = Time(round(_base_rtt(results)))
        _known[id(result)] = (
            incast.gradient_of(result, "long"),
            incast.timely_gradient_of(result, "long", base),
        )
    return _known[id(result)]


def _round_trips(results: Results) -> incast.Gradient:
    return _gradients(results)[0]


def _total(results: Results, what: str, at: Ints) -> Floats:
    """Windows (in base BDPs) or rates (in lines) of the flows that still have data to send, added up."""
    line = float(results.view("burst").line_bps("long"))
    bdp = line * _base_rtt(results) / 8e12
    total = np.zeros(len(at))
    for series in _series(results):
        values = (
            series.window_bytes / bdp if what == "window" else np.nan_to_num(series.rate_bps / line, nan=1.0)
        )
        place = np.searchsorted(series.time_ps, at, "right") - 1
        end = series.time_ps[-1] if series.group == "long" else picoseconds(SHORT_STOP)
        active = (place >= 0) & (at < end)
        total += np.where(active, values[np.maximum(place, 0)], 0.0)
    return total


def _between(found: incast.Gradient, start: str, end: str) -> npt.NDArray[np.bool_]:
    chosen = (found.sent_ps >= picoseconds(start)) & (found.sent_ps < picoseconds(end))
    if not chosen.any():
        raise ValueError(TOO_FEW.format(start, end))
    return chosen


def rise(results: Results, level: float) -> Quantity:
    """The time from 500 us until a packet is sent whose delay is at least so many base RTTs."""
    found = _round_trips(results)
    there = found.sent_ps[found.rtt_ps >= level * _base_rtt(results)]
    return Quantity(float(there.min() - picoseconds("500us")) / 1e12, "time")


def delay(results: Results, start: str, end: str) -> float:
    """The mean delay of the packets sent in a span, in base RTTs."""
    found = _round_trips(results)
    return float(np.mean(found.rtt_ps[_between(found, start, end)])) / _base_rtt(results)


def off_window(results: Results, start: str, end: str, stat: str) -> float:
    """How far delay over base RTT is from total window over base BDP, as a share of the smaller of the two.

    ``largest`` or ``mean`` over the packets sent in a span.
    """
    found = _round_trips(results)
    chosen = _between(found, start, end)
    delays = found.rtt_ps[chosen] / _base_rtt(results)
    windows = _total(results, "window", found.sent_ps[chosen])
    off = np.maximum(delays / windows, windows / delays) - 1
    return float(off.max() if stat == "largest" else off.mean())


def pause(results: Results) -> Quantity:
    """The longest time without a packet of the long flow, by the packets' send times."""
    found = _round_trips(results)
    return Quantity(float(np.diff(np.sort(found.sent_ps)).max()) / 1e12, "time")


def resumes_at(results: Results) -> float:
    """Bytes in flight over the window of the long flow just before it ends its longest pause."""
    found = _round_trips(results)
    sent = np.sort(found.sent_ps)
    resumed = int(sent[int(np.argmax(np.diff(sent))) + 1])
    series = results["burst"].flow("long")
    # Send times are known to half an interval of 20 ns.
    place = int(np.searchsorted(series.time_ps, resumed - 40_000, "right")) - 1
    return float(series.inflight_bytes[place] / series.window_bytes[place])


def gradient(results: Results, start: str, end: str) -> float:
    """The mean delay gradient of the packets sent in a span."""
    found = _round_trips(results)
    return float(np.mean(found.gradient[_between(found, start, end)]))


def off_rate(results: Results, start: str, end: str) -> float:
    """The mean of delay gradient + 1 over the total rate of the flows, for the packets sent in a span."""
    found = _round_trips(results)
    chosen = _between(found, start, end)
    return float(np.mean((found.gradient[chosen] + 1) / _total(results, "rate", found.sent_ps[chosen])))


def timely_peak(results: Results) -> float:
    """The largest gradient that TIMELY computes."""
    return float(np.nanmax(_gradients(results)[1].gradient))


def timely_lag(results: Results, level: float) -> Quantity:
    """How much later than least squares TIMELY sees the end of the burst, by the packets' send times.

    The first gradient of either that is at most ``level``.
    """
    after = picoseconds(SHORT_STOP)
    first = [
        found.sent_ps[(found.gradient <= level) & (found.sent_ps > after)].min()
        for found in _gradients(results)
    ]
    return Quantity(float(first[1] - first[0]) / 1e12, "time")


def delay_points(results: Results) -> Points:
    """Delay in base RTTs over the time at which the packet was sent, in us."""
    found = _round_trips(results)
    return _gaps(found.sent_ps, found.rtt_ps / _base_rtt(results))


def total_points(results: Results, what: str, start: str, end: str) -> Points:
    """Total window in base BDPs, or total rate in line rates, over time in us."""
    at = np.arange(picoseconds(start), picoseconds(end), 100_000)
    return at / 1e6, _total(results, what, at)


def gradient_points(results: Results) -> Points:
    """The delay gradient over the time at which the packet was sent, in us."""
    found = _round_trips(results)
    return _gaps(found.sent_ps, found.gradient)


def timely_points(results: Results) -> Points:
    """TIMELY's gradient over the time of an update's packet, in us: it holds until the next."""
    found = _gradients(results)[1]
    return np.repeat(found.sent_ps / 1e6, 2)[1:], np.repeat(found.gradient, 2)[:-1]


def _gaps(sent: Ints, values: Floats) -> Points:
    """Points with a gap where nothing was sent for 3 us."""
    breaks = np.flatnonzero(np.diff(sent) > 3_000_000) + 1
    return np.insert(sent / 1e6, breaks, np.nan), np.insert(np.asarray(values, dtype=float), breaks, np.nan)
