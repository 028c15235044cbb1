"""Common parts of the tests of the page: a browser, reports, and a page that must stay silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Dialog, Page

import incast
from incast import report
from report.browser import browser, opened
from report.made import Made

Opener = Callable[..., Page]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of the report; no other may run beside it."""
    with browser() as started:
        yield started


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that compares three algorithms."""
    folder = tmp_path_factory.mktemp("compared")
    names = ("oscar", "hpcc", "dcqcn")
    made = [Made(name="three algorithms", algorithm=a, seed=i + 1) for i, a in enumerate(names)]
    results = [incast.Result.open(m.write(folder / m.algorithm)) for m in made]
    return report.write(results, folder / "report.html")


@pytest.fixture
def shown(chromium: Browser) -> Iterator[Opener]:
    """Opens a report; at the end, fails for whatever the console said and whatever was requested."""
    contexts = []
    complaints: list[str] = []
    requests: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def show(
        file: Path,
        width: int = 1000,
        height: int = 800,
        scheme: Literal["light", "dark"] = "light",
        phone: bool = False,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            is_mobile=phone,
            has_touch=phone,
        )
        context.set_default_timeout(0)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", dismiss)
        context.on("request", lambda request: requests.append(request.url))
        opened(page, file)
        assert requests[-1] == file.as_uri()
        return page

    yield show
    for context in contexts:
        context.close()
    assert complaints == []
    assert len(requests) == len(contexts), requests
