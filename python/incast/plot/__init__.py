"""Pictures for papers. Needs matplotlib: ``pip install 'incast[plot]'``."""

from incast.plot.queue import queue_and_utilisation
from incast.plot.slowdown import slowdown
from incast.plot.style import colour, save

__all__ = ["colour", "queue_and_utilisation", "save", "slowdown"]
