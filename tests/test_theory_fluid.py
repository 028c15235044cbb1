"""The solver of fluid models against solutions by hand."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import incast
from incast.results.arrays import Floats
from incast.theory.fluid import Link, Past, Path, amounts, seconds, solve

mpl.use("Agg")

US = 1e-6


def test_quantities() -> None:
    link = Link("100Gbps", "20us")
    assert (link.bytes_per_s, link.base_rtt_s, link.bdp_bytes) == (12.5e9, 20e-6, 250_000)
    assert repr(link) == "Link('100Gbps', '20us')"
    assert seconds("20us") == 2e-5
    assert amounts("12.5KB").tolist() == [12_500]
    assert amounts(["1500B", "3KB"]).tolist() == [1500, 3000]
    with pytest.raises(ValueError, match="above zero"):
        Link("100Gbps", "0us")


def test_exponential_decay() -> None:
    times, states = solve(lambda _, x, __: -x / US, [1.0], "1us", "10ns")
    assert len(times) == 101
    assert states.shape == (101, 1)
    # One step of 0.01: the method's error is 0.01^5/120 each, a hundred times.
    assert states[-1, 0] == pytest.approx(np.exp(-1), abs=1e-10)


def test_a_step_that_does_not_divide_the_time_is_made_shorter() -> None:
    times, _ = solve(lambda _, x, __: 0 * x, [1.0], "1us", "300ns")
    assert times / US == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_a_delay_of_one() -> None:
    """Of x' = -x(t - 1) with x = 1 before: 1 - t, then 1 - t + (t - 1)²/2, then less (t - 2)³/6."""
    times, states = solve(lambda t, _, past: -past(slice(None), t - US) / US, [1.0], "3us", "20ns")
    at = dict(zip(np.round(times / US, 6), states[:, 0], strict=True))
    assert [at[1.0], at[2.0], at[3.0]] == pytest.approx([0, -1 / 2, -1 / 6], abs=1e-6)


def test_each_solution_has_its_own_delay() -> None:
    """Delays of 1 and 2 by the same equation: after 2 the second one is still on its first line."""
    delay = np.array([1.0, 2.0]) * US
    _, states = solve(lambda t, _, past: -past(0, t - delay)[None] / US, [[1.0, 1.0]], "2us", "20ns")
    assert states[-1, 0] == pytest.approx([-1 / 2, -1], abs=1e-6)


def test_what_was_before() -> None:
    """Of x' = x(t - 1) with x = t before: x(t) = ∫ (s - 1) ds = t²/2 - t until 1."""

    def before(time: Floats) -> Floats:
        return np.asarray(time / US)[None]

    _, states = solve(lambda t, _, past: past(0, t - US)[None] / US, [0.0], "1us", "20ns", before=before)
    assert states[-1, 0] == pytest.approx(-1 / 2, abs=1e-9)


def test_a_floor() -> None:
    _, states = solve(lambda *_: [-1 / US, -1 / US], [0.5, 0.5], "1us", "100ns", least=[0, -np.inf])
    assert states[-1] == pytest.approx([0, -0.5])


def test_errors() -> None:
    with pytest.raises(ValueError, match="shorter than a step"):
        solve(lambda t, _, past: past(slice(None), t - 0.01 * US), [1.0], "1us", "100ns")
    with pytest.raises(ValueError, match="above zero"):
        solve(lambda _, x, __: x, [1.0], "1us", "0us")
    with pytest.raises(ValueError, match="at most the whole time"):
        solve(lambda _, x, __: x, [1.0], "1us", "2us")

    def square(_: float, x: Floats, __: Past) -> Floats:
        return x**2 / US * 1e3

    with np.errstate(over="ignore"), pytest.raises(ValueError, match="not finite"):
        solve(square, [1.0], "1us", "10ns")


def test_path() -> None:
    path = Path(np.array([0.0, 1e-6, 2e-6]), {"queue_bytes": np.array([0.0, 1000.0, 4000.0])})
    assert path.at("queue_bytes", "1500ns") == pytest.approx(2500)
    assert path.at("queue_bytes", "2us") == pytest.approx(4000)
    with pytest.raises(ValueError, match="ends at 2e-06 s"):
        path.at("queue_bytes", "3us")
    with pytest.raises(KeyError, match="there are queue_bytes"):
        path["rate_bps"]


def test_drawing_over_packets() -> None:
    result = incast.Scenario.from_dict(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps", "delay": "3us"},
            "cc": {"algorithm": "powertcp"},
            "traffic": [{"name": "two", "kind": "flows", "from": ["h0", "h1"], "to": "h2", "start": "10us"}],
            "probe": {"ports": ["to h2"], "flows": ["all"], "interval": "1us"},
            "run": {"until": "100us"},
        }
    ).run()
    time = np.linspace(0, 80e-6, 9)
    columns = {name: np.full((9, 2), 3000.0) for name in ("queue_bytes", "window_bytes", "share")}
    path = Path(time, columns)

    axes = path.draw("queue_bytes", result=result, start="10us")
    packets, theory, _ = axes.get_lines()
    assert packets.get_label() == "PowerTCP, packets"
    assert theory.get_label() == "theory"
    assert axes.get_xlim() == (0, 80)
    assert np.asarray(theory.get_ydata()).tolist() == [3.0] * 9
    queue = result.port("to h2")
    assert np.asarray(packets.get_ydata()).max() == queue.queue_bytes.max() / 1000
    assert np.asarray(packets.get_xdata())[0] == queue.time_ps[0] / 1e6 - 10
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (µs)", "queue (KB)")

    axes = path.draw("window_bytes", result=result, of="two")
    ends = [result.flow(flow).window_bytes[-1] for flow in ("two.0", "two.1")]
    assert np.asarray(axes.get_lines()[0].get_ydata())[-1] == pytest.approx(sum(ends) / 1000)

    axes = path.draw("share", label="by hand")
    assert axes.get_lines()[0].get_label() == "by hand"
    with pytest.raises(ValueError, match="packets have no 'share'"):
        path.draw("share", result=result)
    with pytest.raises(KeyError):
        path.draw("queue_bytes", result=result, of="to h7")
