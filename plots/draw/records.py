"""What the pictures are drawn from: runs, of which the first that fits is shown, and traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench import results, trace
from notes.tools.tables import ORDER

USUAL = (results.SIZE,) * 3


class Missing(Exception):
    """What a picture needs was not recorded. The text says what, and how to record it."""


@dataclass(frozen=True)
class Records:
    """What to draw from. Unless the user chose it, it is of the home GPU."""

    files: Sequence = ()  # the runs of each, in the order in which they answer
    chosen: bool = False  # named by the user, who may have measured less than all rungs at any size
    traces: Sequence = ()  # of a CTA each

    @cached_property
    def runs(self):
        """All of them."""
        return [run for of_file in self.files for run in of_file]

    def ladders(self, track, protocol="burst", plain=True, old=False):
        """The runs of a track, or of some; of rungs alone, and none that only its commit names, unless asked."""
        return [
            run
            for run in self.runs
            if run.protocol == protocol
            and run.tracks <= {*track}
            and run.measured
            and (run.plain or not plain)
            and (self.chosen or (results.slug(run.gpu) == results.HOME and (old or not run.old)))
        ]

    def headline(self):
        """The run of all v rungs at 8192³, or the first of those that were chosen."""
        found = [run for run in self.ladders("v") if self.chosen or run.shape == USUAL]
        if not found:
            raise Missing("no burst run of the v rungs at 8192³ (make ladder)")
        return found[0]

    def counted(self, shape=USUAL):
        """{rung of the v track: (run, row)} of the first that counted it at that shape."""
        found = {}
        for run in self.ladders("v", "counters", plain=False):
            for name in run.measured if run.shape == shape else ():
                found.setdefault(name, (run, run.first(name)))
        if not found:
            raise Missing("no counters of v rungs at 8192³ (python3 -m bench.counters)")
        return found


def load(paths=()):
    """What is in these files, or all that is recorded. ValueError for a broken file."""
    if not paths:
        found = sorted(trace.TRACES.glob("*.json"))
        return Records([results.load_all(ORDER)], False, list(map(trace.load, found)))
    files = [results.load(path) for path in paths if path.suffix == ".jsonl"]
    return Records(files, True, [load_trace(path) for path in paths if path.suffix != ".jsonl"])


def load_trace(path):
    """A trace that a user named."""
    try:
        row = trace.load(path)
        trace.Trace(row)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: neither rows (.jsonl) nor a trace: {error!r}") from error
    return row
