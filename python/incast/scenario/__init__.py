"""Scenarios: their texts and descriptions, and the choice of the algorithms that they permit."""

from incast.scenario.flow_table import flow_table
from incast.scenario.scenario import Interrupted, Progress, Scenario, Size, schema, template
from incast.scenario.starts import Start, start, starts

__all__ = [
    "Interrupted",
    "Progress",
    "Scenario",
    "Size",
    "Start",
    "flow_table",
    "schema",
    "start",
    "starts",
    "template",
]
