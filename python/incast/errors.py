"""The exceptions of the compiled core, and the problems that they list."""

from incast._core import PluginError, Problem, ResultError, ScenarioError, WireError, scenario_error

__all__ = ["PluginError", "Problem", "ResultError", "ScenarioError", "WireError", "scenario_error"]
