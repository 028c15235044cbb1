"""Speed of a report with two million samples. Run by hand: `python -m report.measure` in tests/.

The budget: open within 3 s, the median frame of panning or zooming within 50 ms, on a busy machine.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import incast
from incast import report
from report.browser import browser, opened
from report.made import Made

_PAN = """async () => {
  const plot = document.querySelector('#series .plot');
  const press = (key, shiftKey = false) => {
    plot.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true }));
  };
  const frame = () => new Promise(requestAnimationFrame);
  const frames = [];
  const timed = async (act) => {
    const begin = performance.now();
    act();
    await frame();
    await new Promise((done) => setTimeout(done));
    frames.push(performance.now() - begin);
  };
  for (let i = 0; i < 6; i++) await timed(() => press('+'));
  for (let i = 0; i < 30; i++) await timed(() => press('ArrowRight', true));
  for (let i = 0; i < 6; i++) await timed(() => press('-'));
  return frames.sort((a, b) => a - b);
}"""


def main() -> None:
    """Makes the result, opens its report, pans, and prints what that took."""
    with tempfile.TemporaryDirectory() as folder:
        result = incast.Result.open(Made(samples=666_000).write(Path(folder) / "result"))
        begin = time.perf_counter()
        file = report.write(result, Path(folder) / "report.html")
        spent, size = time.perf_counter() - begin, file.stat().st_size / 1e6
        print(f"{666_000 * 3:,} samples: written in {spent:.2f} s, {size:.1f} MB")
        with browser() as chromium:
            page = chromium.new_page(viewport={"width": 1280, "height": 900})
            begin = time.perf_counter()
            opened(page, file)
            print(f"opened and drawn in {time.perf_counter() - begin:.2f} s")
            frames = page.evaluate(_PAN)
            median, longest = frames[len(frames) // 2], frames[-1]
            print(f"six charts, {len(frames)} frames: median {median:.1f} ms, longest {longest:.1f} ms")


if __name__ == "__main__":
    main()
