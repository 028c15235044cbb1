"""The documentation site as a reader gets it: built, and served on this machine."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from helpers import ROOT


def build(out: Path) -> Path:
    """Builds the site strictly: a broken link or a page out of the navigation is an error.

    Args:
        out: The folder to build it in.
    """
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return out


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not print."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # its name in the library
        del format, arguments


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder and yields its address, with a slash at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()
