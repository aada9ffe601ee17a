"""Figures of a GPU's trace: `v12 trace.k_tile` in the notes.

A traced warp stops to write every event down, so that a traced CTA is slower than others. Each figure
is a time between events of such a CTA, and says nothing about a CTA that nobody traces; `gap` says
how much of it there is between two events. Every function raises ExpressionError if the trace does
not show what is asked for.
"""

from __future__ import annotations

import statistics

from bench.records import traces
from bench.records.neighbours import pairwise
from notes.tools.quantities import ExpressionError, Quantity

PREFIX = "trace."


def some(values, trace, what):
    """The values, unless there are none."""
    if not values:
        raise ExpressionError(f"the trace of {trace.record['step']} shows no {what}")
    return values


def cycles(values):
    """Their median, with the least and the most as `low` and `high`."""
    return Quantity(float(statistics.median(values)), "cycles", min(values), max(values))


def read_fills(trace):
    """All fills of the ring that are read, in that order: one for each k-tile."""
    fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
    read = [fill for fill in fills if fill.taken is not None]
    return sorted(some(read, trace, "ring of stages"), key=lambda fill: fill.taken)


def k_tile(trace):
    """From the begin of reading a k-tile to that of the next one."""
    begins = [fill.taken for fill in read_fills(trace)]
    steps = [after - before for before, after in pairwise(begins)]
    return cycles(some(steps, trace, "two k-tiles"))


def filling(trace):
    """From the first load of a fill until somebody saw that all have landed."""
    return cycles([fill.landed - fill.begin for fill in read_fills(trace)])


def gap(trace):
    """From the end of an event to the begin of the warp's next one."""
    pairs = [pair for warp in trace.warps for pair in pairwise(warp.events)]
    found = [
        after.begin - before.end
        for before, after in pairs
        if not {before.what, after.what} & set(traces.TOUCHES)
    ]
    return cycles(some(found, trace, "two events"))


FIGURES = {PREFIX + function.__name__: function for function in (k_tile, filling, gap)}


def figure(record, name):
    """The figure of that name, of a GPU's trace."""
    if name not in FIGURES:
        raise ExpressionError(f"'{name}' is no figure of a trace; there are {', '.join(FIGURES)}")
    return FIGURES[name](traces.Trace(record))
