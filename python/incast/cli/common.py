"""What several commands share."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from incast.scenario import Scenario


def load(options: argparse.Namespace) -> Scenario:
    """Reads the scenario that the options name, with their overrides and their seed."""
    scenario = Scenario.load(options.file, options.overrides)
    return scenario if options.seed is None else scenario.with_seed(options.seed)


def folder_name(text: str) -> str:
    """A text as the name of a folder: what a file system or a shell might misread becomes a dash."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "scenario"


def default_parent(scenario: Scenario) -> Path:
    """Where the results of a scenario go when nobody says: ``results/NAME``."""
    return Path("results") / folder_name(scenario.name)
