"""The tables of a result as properties. Made from their declarations by ``tools/tables.py``."""

from __future__ import annotations

from incast import _core


class Tables:
    """The tables of a result."""

    def __init__(self, core: _core.Result) -> None:
        self._core = core

    @property
    def flows(self) -> _core.Table:
        """One row per flow, in the order of their numbers.

        Flows that start together are numbered as the scenario lists them.
        """
        return self._core.table("flows")

    @property
    def flow_series(self) -> _core.Table:
        """Samples of the probed flows while they are active, by time.

        Of equal ones that follow each other only the first and the last have a row.
        """
        return self._core.table("flow_series")

    @property
    def ports(self) -> _core.Table:
        """One row per port: totals over the run."""
        return self._core.table("ports")

    @property
    def port_series(self) -> _core.Table:
        """Samples of the probed ports, by time.

        Of equal ones that follow each other only the first and the last have a row.
        """
        return self._core.table("port_series")

    @property
    def internals(self) -> _core.Table:
        """Samples of internal quantities of the probed flows' congestion control, by time.

        One row per quantity; only with ``probe.internals``.
        """
        return self._core.table("internals")

    @property
    def jobs(self) -> _core.Table:
        """One row per job of a workload with dependencies.

        Its completion time, slowest operation and lower bound; only if the traffic has operations.
        """
        return self._core.table("jobs")

    @property
    def job_limits(self) -> _core.Table:
        """One row per job: its completion time, divided along the operations that decide its end.

        The parts add up to the whole. Only if the traffic has operations; runs on a testbed have
        none.
        """
        return self._core.table("job_limits")

    @property
    def limits(self) -> _core.Table:
        """One row per flow, as in ``flows``: its time by what kept its next packet back.

        The parts add up to the whole. Runs on a testbed have none.
        """
        return self._core.table("limits")

    @property
    def limit_series(self) -> _core.Table:
        """Open flows of each traffic block by what keeps their next packets back, by time.

        Every ``probe.limits``, a row per limit that keeps any back; only with that key.
        """
        return self._core.table("limit_series")

    @property
    def load_series(self) -> _core.Table:
        """Bytes that each traffic block with a load has offered, and those acknowledged, by time.

        At the multiples of ``probe.load_interval`` up to the end of its arrivals, and at the end of
        the run; only with that key.
        """
        return self._core.table("load_series")

    @property
    def operations(self) -> _core.Table:
        """One row per operation of a workload with dependencies, in the order in which they ended.

        Only if the traffic has operations.
        """
        return self._core.table("operations")

    @property
    def packets(self) -> _core.Table:
        """Every captured packet when its transmission begins, by time; only with ``probe.packets``."""
        return self._core.table("packets")

    @property
    def pauses(self) -> _core.Table:
        """Every pause and resume of a port, by time; only with ``probe.pauses``."""
        return self._core.table("pauses")
