"""An independent check of a result: what links, switches and hosts did follows from its captured packets.

Nothing here is shared with the simulator. The rules are in the pages of docs/network.
"""

from __future__ import annotations

from incast.audit.evidence import Columns, Evidence
from incast.audit.flows import check_flows, check_slowdowns
from incast.audit.links import check_links, check_pauses_of_hosts, check_totals
from incast.audit.report import Finding, Report
from incast.audit.routes import Routes
from incast.audit.switches import Replay
from incast.audit.trimming import Trimming

__all__ = ["Columns", "Evidence", "Finding", "Report", "audit"]


def audit(evidence: Evidence) -> Report:
    """Checks a result, and reports what was checked, what could not be, and what is wrong."""
    report = Report()
    check_slowdowns(evidence, report)
    incomplete = _incomplete(evidence)
    if incomplete is not None:
        report.skip(f"packets: {incomplete}")
        report.complete = False
        return report
    reason = _of_links(evidence)
    if reason is not None:
        report.skip(f"links, switches and flows, except totals of transmissions: {reason}")
        check_totals(evidence, report)
        return report
    check_links(evidence, report)
    check_totals(evidence, report)
    reason = _of_switches(evidence)
    if reason is None:
        check_pauses_of_hosts(evidence, report)
        routes = Routes(evidence)
        replay = Trimming if "trimming" in evidence.settings["switch"] else Replay
        for node in sorted(evidence.nodes.keys() - evidence.hosts):
            replay(evidence, report, node, routes).run()
    else:
        report.skip(f"switches: {reason}")
    check_flows(evidence, report)
    return report


def _incomplete(evidence: Evidence) -> str | None:
    """Returns the reason why captures lack packets; None: they have all."""
    probe = evidence.settings.get("probe", {})
    if evidence.packet_rows is None:
        keys = 'probe.captures = ["all host ports", "all switch ports"] and probe.packets = true'
        return f"the result has none; a run with {keys} has them"
    if evidence.outcome["end"] == "interrupted":
        return "the run was interrupted"
    if not {"all host ports", "all switch ports"} <= set(probe.get("captures", [])):
        return 'not every port is captured; probe.captures = ["all host ports", "all switch ports"] does that'
    if probe.get("from", "0ps") != "0ps" or "until" in probe:
        return "probe.from or probe.until leaves some out"
    return None


def _of_links(evidence: Evidence) -> str | None:
    """Returns the reason why times of links cannot be derived; None: they can."""
    if evidence.settings.get("change"):
        return "links change during the run"
    if evidence.settings.get("run", {}).get("clock", "exact") != "exact":
        return "nodes have clocks of their own (run.clock)"
    if evidence.settings["topology"]["kind"] == "rotor":
        return "circuits come and go"
    if evidence.settings.get("impairments"):
        return "links or hosts are impaired"
    return None


def _of_switches(evidence: Evidence) -> str | None:
    """Returns the reason why switches cannot be checked; None: they can."""
    switch = evidence.settings["switch"]
    if "trimming" in switch and not Routes(evidence).known:
        return "with trimming, the ways of packets must follow from their hashes"
    if "bfc" in switch:
        return "the audit does not know backpressure flow control (switch.bfc)"
    if "watchdog" in switch.get("pfc", {}):
        return "the audit does not know the watchdog of PFC"
    if switch.get("scheduler") == "drr" and "pfc" in switch:
        return "the audit does not know deficit round robin with pauses"
    return None
