"""Theory from the papers: fluid models, equilibria, convergence, closed forms.

A function belongs here when it computes what a paper states about an algorithm *without packets*, for any
parameters: the differential equations of its control law, its equilibria and their stability, its rate of
convergence, its fairness. Each says the paper, section and equation that it computes. What belongs to one
figure of a paper (its starting points, the values that it prints) is in ``papers/PAPER/FIGURE/analysis.py``;
what is measured from packets is in :mod:`incast.results.measures` and :mod:`incast.stats`.

Modules:

- :mod:`incast.theory.fluid`: a solver for differential equations with delays, and its solutions
- one module for each paper, by the name of its algorithm, like :mod:`incast.theory.powertcp`

Quantities are texts with a unit (``"100Gbps"``) or values of :mod:`incast.units`; arrays and results are in
the units that their names end with: ``_bytes``, ``_bps``, ``_s``.
"""
