"""Tuning: the search for a better setting of an algorithm in a scenario, and its check."""

from incast.tuning.check import Check
from incast.tuning.plan import Plan, plan
from incast.tuning.robust import Region
from incast.tuning.run import Tuning, run, tune
from incast.tuning.trial import Trial

__all__ = ["Check", "Plan", "Region", "Trial", "Tuning", "plan", "run", "tune"]
