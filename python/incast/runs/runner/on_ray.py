"""Runs on a Ray cluster: ``pip install 'incast[ray]'``."""

from __future__ import annotations

import errno
import functools
import io
import os
import shutil
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from incast._build import __version__
from incast.algorithm import PLUGINS, load_plugin
from incast.errors import PluginError, ResultError, ScenarioError
from incast.runs import store
from incast.runs.runner.executor import Done, Task, Watch, execute, overdue

_TOKENS = (
    "\n    help: a cluster that asks for tokens does not answer without one: set RAY_AUTH_MODE=token, and "
    "RAY_AUTH_TOKEN to its token"
)
"""Advice for a client without a token, whose connection only times out."""


_MAY_PASS = (
    # A local cluster did not answer within 30 seconds, as on a busy machine.
    "timed out during startup",
    # The process that a cluster starts for each client ended at once: gRPC does not always outlive the fork
    # ("epoll_wait error: Bad file descriptor" in its log). The cluster says so in its own words, or with the
    # trace of its function that looked at a process which was gone ("ZombieProcess", "NoSuchProcess"), or
    # nobody answered at the port of that process.
    "Starting Ray client server failed",
    "in start_specific_server",
    "Proxy failed to Connect to backend",
)
"""Errors of Ray's own start-up after which another attempt may succeed."""

_ATTEMPTS = 5
"""Number of attempts to connect: of 21 on a busy machine one failed."""


class Ray:
    """Makes runs as tasks of a Ray cluster, one core each.

    The machines of the cluster need the same version of Incast and need no file system shared with this
    one: a complete result is sent back and moved into place atomically. Plugins are sent to the cluster;
    files that the scenario names must exist there at the same paths.

    Args:
        where: ``ray`` for the cluster given by ``RAY_ADDRESS`` or, if that is not set, a local one;
            ``ray://HOST:PORT`` for another.
        jobs: Maximum number of concurrent runs; None takes one per core of the cluster.

    Raises:
        ResultError: When Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, where: str = "ray", jobs: int | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise ResultError(
                "--on ray needs Ray, which is not installed\n    help: pip install 'incast[ray]'"
            ) from None
        self._ray: Any = ray
        if not ray.is_initialized():
            # Ray sends usage statistics to its developers unless this is switched off.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            address = where if where.startswith("ray://") else os.environ.get("RAY_ADDRESS", "local")
            try:
                _connect(ray, address)
            except Exception as error:
                hint = "" if where == "ray" or os.environ.get("RAY_AUTH_MODE") else _TOKENS
                raise ResultError(f"no Ray cluster at {where}: {error}{hint}") from None
        self._jobs = jobs or max(int(ray.cluster_resources().get("CPU", 1)), 1)

    @property
    def jobs(self) -> int:
        """Runs at the same time."""
        return self._jobs

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[Done]:
        """Makes runs; see :meth:`incast.runs.runner.Executor.run`. Progress within a run is not reported."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=2)(make)
        plugins = _plugins()
        waiting = len(tasks)
        pending: dict[Any, Task] = {}
        begun: dict[Any, float] = {}
        try:
            while waiting or pending:
                while waiting and len(pending) < self._jobs:
                    task = tasks[len(tasks) - waiting]
                    waiting -= 1
                    # Its files are packed there, and have no folder until they are here.
                    reference = remote.remote(replace(task, folder=""), __version__, plugins)
                    pending[reference] = task
                    begun[reference] = time.monotonic()
                    watch(task.index, 0.0)
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=_next_limit(pending, begun))
                for reference, task in _late(pending, begun):
                    if reference not in ready:
                        ray.cancel(reference, force=True)
                        del pending[reference]
                        yield Done(task.index, overdue(task.limit_s or 0.0))
                if not ready:
                    continue
                task = pending.pop(ready[0])
                try:
                    error, packed = ray.get(ready[0])
                except Exception as lost:
                    error, packed = f"Ray: {type(lost).__name__}: {str(lost).splitlines()[0]}", b""
                yield Done(task.index, error) if error else _receive(task, packed)
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)


def _connect(ray: ModuleType, address: str) -> None:
    """Connects to a cluster, or starts a local one; again if Ray could not start its own part of it."""
    for attempt in range(_ATTEMPTS):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            if attempt == _ATTEMPTS - 1 or not any(text in str(error) for text in _MAY_PASS):
                raise
            ray.shutdown()
        else:
            return


def _next_limit(pending: Mapping[Any, Task], begun: Mapping[Any, float]) -> float | None:
    """Returns the seconds until the first run reaches its limit; None if none has one."""
    ends = [begun[it] + task.limit_s for it, task in pending.items() if task.limit_s is not None]
    return max(min(ends) - time.monotonic(), 0.0) if ends else None


def _late(pending: Mapping[Any, Task], begun: Mapping[Any, float]) -> list[tuple[Any, Task]]:
    """Returns the runs that have reached their limit."""
    now = time.monotonic()
    limited = ((it, task) for it, task in pending.items() if task.limit_s is not None)
    return [(it, task) for it, task in limited if now >= begun[it] + (task.limit_s or 0.0)]


def _plugins() -> list[tuple[str, bytes]]:
    """The plugin files in use here, by name, each with its contents."""
    files = map(Path, filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)))
    return [(file.name, file.read_bytes()) for file in files]


@functools.cache
def _load(name: str, contents: bytes) -> None:
    """Loads a plugin that was sent here, once in each process."""
    folder = Path(tempfile.mkdtemp(prefix="incast-plugin-"))
    (folder / name).write_bytes(contents)
    load_plugin(folder / name)


def make(task: Task, version: str, plugins: Sequence[tuple[str, bytes]]) -> tuple[str | None, bytes]:
    """Makes a run on a machine of the cluster.

    Args:
        task: The run.
        version: The version of Incast where it comes from.
        plugins: Names and contents of the plugin files that it may need.

    Returns:
        The error, if any, and the folder of the result as a tar archive.
    """
    if version != __version__:
        return f"the cluster has Incast {__version__}, this machine {version}", b""
    for name, contents in plugins:
        _load(name, contents)
    with tempfile.TemporaryDirectory(prefix="incast-") as name:
        folder = Path(name) / "result"
        try:
            execute(replace(task, folder=str(folder)))
        except (ScenarioError, ResultError, PluginError) as error:
            return str(error), b""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(folder, ".")
        return None, packed.getvalue()


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpacks what :func:`make` has packed."""
    # Python 3.10.11, 3.11.3 and older know of no filters; later ones want to be told.
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)


def replace_result(folder: Path, arriving: Path, old: Path) -> None:
    """Gives a result that has arrived its name, once no run of this machine writes under that.

    Args:
        folder: The name.
        arriving: The folder of what has arrived.
        old: A name for what is replaced, which is removed.
    """
    while True:
        shutil.rmtree(old, ignore_errors=True)
        scenario = folder / "scenario.toml"
        # While this is held, a run that begins there ends with the result that has arrived.
        held = store.lock_file(scenario, None) if scenario.exists() else None
        try:
            if folder.exists():
                folder.rename(old)
            arriving.rename(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            break
        finally:
            if held is not None:
                os.close(held)
    shutil.rmtree(old, ignore_errors=True)


def _receive(task: Task, packed: bytes) -> Done:
    """Puts a result into its folder atomically."""
    folder = Path(task.folder)
    arriving = folder.with_name(f".{folder.name}.arriving")
    old = folder.with_name(f".{folder.name}.old")
    try:
        with store.claim(folder):
            shutil.rmtree(arriving, ignore_errors=True)
            arriving.mkdir()
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                unpack(archive, arriving)
            replace_result(folder, arriving, old)
    except OSError as error:
        shutil.rmtree(arriving, ignore_errors=True)
        return Done(task.index, f"cannot write {folder}: {error}")
    return Done(task.index)
