"""Tuning: the search for a better setting of an algorithm in a scenario, and its check."""

from incast.tuning.battery import ArenaPlan, plan_arena
from incast.tuning.check import Check
from incast.tuning.plan import Plan, plan
from incast.tuning.robust import Region
from incast.tuning.run import Tuning, run, tune, tune_arena
from incast.tuning.trial import Trial

__all__ = [
    "ArenaPlan",
    "Check",
    "Plan",
    "Region",
    "Trial",
    "Tuning",
    "plan",
    "plan_arena",
    "run",
    "tune",
    "tune_arena",
]
