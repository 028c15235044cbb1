"""Chromium for the tests of the report, cut off from any network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
"""Debian's package; `setup.sh` installs it."""

_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-device-scale-factor=1 --font-render-hinting=none"
)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser."""
    if not CHROMIUM.exists():
        raise RuntimeError(f"{CHROMIUM} is missing: run tests/setup.sh")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS.split())
        yield started
        started.close()


def opened(page: Page, file: Path) -> Page:
    """Opens a report in a page and waits until its figures are drawn."""
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    settle(page)
    return page


def settle(page: Page) -> None:
    """Waits until what was asked for is drawn: two frames."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
