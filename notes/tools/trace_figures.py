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


def read_fills(trace):
    """All fills of the ring that are read, in that order: one for each k-tile."""
    fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
    return sorted((f for f in fills if f.taken is not None), key=lambda fill: fill.taken)


def k_tile(trace):
    """From the begin of reading a k-tile to that of the next one."""
    return [after.taken - before.taken for before, after in pairwise(read_fills(trace))]


def filling(trace):
    """From the first load of a fill until somebody saw that all have landed."""
    return [fill.landed - fill.begin for fill in read_fills(trace)]


def gap(trace):
    """From the end of an event to the begin of the warp's next one."""
    return [
        after.begin - before.end
        for warp in trace.warps
        for before, after in pairwise(warp.events)
        if not {before.what, after.what} & set(traces.TOUCHES)
    ]


FIGURES = {PREFIX + function.__name__: function for function in (k_tile, filling, gap)}


def figure(record, name):
    """The figure of that name, of a GPU's trace: the median, with the least and the most."""
    if name not in FIGURES:
        raise ExpressionError(f"'{name}' is no figure of a trace; there are {', '.join(FIGURES)}")
    found = FIGURES[name](traces.Trace(record))
    if not found:
        raise ExpressionError(f"the trace of {record['step']} shows no {name}")
    return Quantity(float(statistics.median(found)), "cycles", min(found), max(found))
