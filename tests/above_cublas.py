#!/usr/bin/env python3
"""The top of the v track is above cuBLAS, by what is recorded: at 8192 cubed in bursts and at the power
limit, on each GPU that has a bar, as the median of its cards; in joules; and over the sweep. A rung
counts by its usual launch. Needs no GPU. The ratios are paired, within one process.

Prints one line per case, with the figure; exits 1 if any failed.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]
import gpu_tables
import recorded
import shapes
from tools.emulated import case, exit_status
from vocabulary import BOTH

CUBE = (recorded.HEADLINE_SIZE,) * 3
LEAST_SQUARE = 1024  # that the means are over; 512 is timed as well

OF_BEST = {"H200": 1.02, "H100": 1.01}  # of cuBLASLt's best at 8192 cubed, by both protocols
SWEEP_OF_BEST = 1.00  # geometric means
SWEEP_OF_CUBLAS = 1.05
LOWEST_OF_BEST = 0.95


def runs_of(step, shape, protocol, folder=recorded.RESULTS):
    """{GPU: ladders of one commit, one of each card} with a rung at a shape (m, n, k), the home GPU
    first. KeyError if there are none."""
    found = gpu_tables.at((shape,), protocol, names={step}, folder=folder)
    if not found:
        raise KeyError(f"{step} is not recorded at {shape}, {protocol}")
    return found[shape]


def at_least(name, found, least):
    """A case with its figure in its name."""
    why = "" if found >= least else f"{found:.4f}, and at least {least} is wanted"
    case(f"{name}: {found:.3f}", why)


def ratio(timing, of):
    """The median of the paired ratios."""
    return timing[f"ratio_to_{of}"]["median"]


def of_best(folder=recorded.RESULTS):
    """(words, ratio of the top rung to cuBLASLt's best, its bar) on each GPU with a bar, by protocol."""
    for protocol in BOTH:
        for ladders in runs_of(recorded.TOP, CUBE, protocol, folder).values():
            gpu = recorded.short_name(ladders[0]["gpu"])
            found = recorded.over_cards(
                ladders, recorded.TOP, lambda timing: timing["ratio_to_cublaslt"]
            )
            if gpu in OF_BEST and found:
                cards = f"{len(ladders)} card{'s' if len(ladders) > 1 else ''}"
                yield f"{protocol} on {cards} of {gpu}", found["median"], OF_BEST[gpu]


def headline():
    """At 8192 cubed."""
    for words, found, least in of_best():
        at_least(f"{recorded.TOP} over cuBLASLt's best, {words}", found, least)
    (ladder, *_), *_ = runs_of(recorded.TOP, CUBE, "sustained").values()
    timing = recorded.entry_of(ladder, recorded.TOP)["timing"]
    for other in ("cublas", "cublaslt"):
        saved = timing[other]["joules"] / timing["step"]["joules"]
        at_least(f"joules of {other} over {recorded.TOP}'s", saved, 1)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def sweep():
    """Squares and model shapes, on the home GPU."""
    name = gpu_tables.CHOOSES
    squares = [(size,) * 3 for size in shapes.SQUARES if size >= LEAST_SQUARE]
    ladders = [
        next(iter(runs_of(name, shape, recorded.HEADLINE_PROTOCOL).values()))[0]
        for shape in (*squares, *shapes.MODELS)
    ]
    timings = [recorded.entry_of(ladder, name)["timing"] for ladder in ladders]
    of_best = [ratio(timing, "cublaslt") for timing in timings]
    of_cublas = [ratio(timing, "cublas") for timing in timings]
    over = f"geometric mean over {len(timings)} shapes of {name} over"
    at_least(f"{over} cuBLASLt's best", geometric_mean(of_best), SWEEP_OF_BEST)
    at_least(f"{over} cuBLAS", geometric_mean(of_cublas), SWEEP_OF_CUBLAS)
    at_least(f"the lowest of {name} over cuBLASLt's best", min(of_best), LOWEST_OF_BEST)


def main():
    headline()
    sweep()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
