"""Speed of a report with two million samples. Run by hand: `python -m report.measure` in tests/.

The budget: open within 3 s, the median frame of panning or zooming within 50 ms, on a busy machine. With
``--uplot FILE``, where the file is `uPlot.iife.min.js` of uPlot (not in the repository), the same data is
opened with this library too: the decision against it, on the page "Reports", rests on these numbers.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

import incast
from incast import report
from report.browser import browser, opened
from report.made import Made

SAMPLES = 666_000
"""Samples of a port, and of each of two flows."""

_STEPS = """async (steps) => {
  const frame = () => new Promise(requestAnimationFrame);
  const frames = [];
  for (const step of steps) {
    const begin = performance.now();
    step();
    await frame();
    await new Promise((done) => setTimeout(done));
    frames.push(performance.now() - begin);
  }
  return frames.sort((a, b) => a - b);
}"""
"""Runs steps, and returns how long each took until it was drawn."""

_PAN = f"""() => {{
  const plot = document.querySelector('#series .plot');
  const press = (key, shiftKey = false) => () => {{
    plot.dispatchEvent(new KeyboardEvent('keydown', {{ key, shiftKey, bubbles: true }}));
  }};
  const many = (count, step) => Array(count).fill(step);
  return ({_STEPS})([
    ...many(6, press('+')), ...many(30, press('ArrowRight', true)), ...many(6, press('-')),
  ]);
}}"""

_UPLOT = """
const content = JSON.parse(document.getElementById('data').textContent).series;
const plots = [];
// What is missing is null, which only ordinary arrays can hold.
const gaps = (values) => values.some((v) => v !== v);
const plain = (values) => (gaps(values) ? Array.from(values, (v) => (v === v ? v : null)) : values);
async function start() {
  await inflate();
  const [{ ports: [port], flows }] = content.results;
  const time = column(port.time_ps), sent = column(port.transmitted_bytes);
  const used = time.map((t, i) => (i ? ((sent[i] - sent[i - 1]) * 8e12) / (t - time[i - 1]) : 0));
  const of = (name) => flows.map((flow) => plain(column(flow[name])));
  const charts = [
    [column(port.queue_bytes)], [used], [used.map((u) => (100 * u) / port.rate)],
    of('window_bytes'), of('rate_bps'), of('rtt_ps'),
  ];
  const sync = uPlot.sync('time');
  for (const lines of charts) {
    const series = [{}, ...lines.map((_, i) => ({ stroke: ['#d55e00', '#0072b2'][i] }))];
    const cursor = { sync: { key: sync.key } };
    const form = { width: 1100, height: 190, scales: { x: { time: false } }, cursor, series };
    plots.push(new uPlot(form, [time, ...lines], document.body));
  }
  document.documentElement.dataset.ready = 'yes';
}
start();
window.pan = () => {
  let [low, high] = [plots[0].scales.x.min, plots[0].scales.x.max];
  const [first, last] = [low, high];
  const show = (a, b) => {
    [low, high] = [Math.max(a, first), Math.min(b, last)];
    for (const plot of plots) plot.setScale('x', { min: low, max: high });
  };
  const zoom = (factor) => () => {
    const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor];
    show(middle - half, middle + half);
  };
  const right = () => { const by = Math.min((high - low) / 4, last - high); show(low + by, high + by); };
  const many = (count, step) => Array(count).fill(step);
  return (STEPS)([...many(6, zoom(0.5)), ...many(30, right), ...many(6, zoom(2))]);
};
window.join = () => {
  const [{ ports: [port] }] = content.results;
  const [time, queue] = [column(port.time_ps), column(port.queue_bytes)];
  const begin = performance.now();
  const joined = uPlot.join([0, 1, 2].map((shift) => [time.map((t) => t + shift), queue]));
  return [performance.now() - begin, joined[0].length];
};
""".replace("STEPS", _STEPS)
"""A page with the six charts of a report, drawn by uPlot from the data of that report."""


def main() -> None:
    """Makes the result, opens its report, pans, and prints what that took."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--uplot", type=Path, metavar="FILE", help="uPlot.iife.min.js, to compare with")
    library: Path | None = parser.parse_args().uplot
    with tempfile.TemporaryDirectory() as folder:
        result = incast.Result.open(Made(samples=SAMPLES).write(Path(folder) / "result"))
        begin = time.perf_counter()
        file = report.write(result, Path(folder) / "report.html")
        spent, size = time.perf_counter() - begin, file.stat().st_size / 1e6
        print(f"{SAMPLES * 3:,} samples: written in {spent:.2f} s, {size:.1f} MB")
        _measure("our charts", file, _PAN)
        if library:
            other = Path(folder) / "uplot.html"
            other.write_text(_with_uplot(file.read_text(), library.read_text()))
            page = _measure("uPlot", other, "() => pan()", also="() => join()")
            print(f"uPlot joins three lines of {SAMPLES:,} samples at different times in {page[0]:.0f} ms")


def _measure(name: str, file: Path, pan: str, also: str = "() => [0]") -> list[float]:
    """Opens a page, runs its steps, prints what that took, and returns what `also` gives."""
    with browser() as chromium:
        page: Page = chromium.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        opened(page, file)
        print(f"{name}: opened and drawn in {time.perf_counter() - begin:.2f} s, {_heap(page):.0f} MB")
        frames = page.evaluate(pan)
        median, longest = frames[len(frames) // 2], frames[-1]
        print(f"{name}: six charts, {len(frames)} frames: median {median:.1f} ms, longest {longest:.1f} ms")
        given: list[float] = page.evaluate(also)
        return given


def _heap(page: Page) -> float:
    """Returns the memory of the script in MB."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    return float(usage["usedSize"] + usage["backingStorageSize"]) / 1e6


def _with_uplot(page: str, library: str) -> str:
    """Returns a page with the data of a report and the charts of the library."""
    blocks = re.findall(r'<script type="[^"]*" id="(?:data|blob)">.*?</script>', page, re.DOTALL)
    unpacking = (Path(report.__file__).parent / "assets" / "data.js").read_text()
    script = f"<script>{library}</script><script>{unpacking}{_UPLOT}</script>"
    return f'<!doctype html><meta charset="utf-8"><body>{"".join(blocks)}{script}</body>'


if __name__ == "__main__":
    main()
