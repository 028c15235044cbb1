"""Pictures for papers. Needs matplotlib: ``pip install 'incast[plot]'``.

Each function takes a result, or a mapping of results by algorithm label (as returned by
:func:`incast.compare`), and returns matplotlib axes; with ``axes`` it draws into those. Those with several
panels return their figure as well. An algorithm has the same colour in all of them, and the colours can be
distinguished with every common form of colour blindness; presets differ in their dashes.
"""

from incast.plot.completion import fct_cdf, slowdown_by_size
from incast.plot.deduced import deduced
from incast.plot.grids import heat, sweep
from incast.plot.internals import internals
from incast.plot.limits import limits
from incast.plot.loads import loads
from incast.plot.operations import jobs, operations
from incast.plot.over_time import fairness, goodput, phase_plane, queue, rate, throughput, window
from incast.plot.panels import queue_and_utilisation
from incast.plot.slowdown import slowdown
from incast.plot.style import colour, save

__all__ = [
    "colour",
    "deduced",
    "fairness",
    "fct_cdf",
    "goodput",
    "heat",
    "internals",
    "jobs",
    "limits",
    "loads",
    "operations",
    "phase_plane",
    "queue",
    "queue_and_utilisation",
    "rate",
    "save",
    "slowdown",
    "slowdown_by_size",
    "sweep",
    "throughput",
    "window",
]
