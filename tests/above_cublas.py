#!/usr/bin/env python3
"""The top of the v track is above cuBLAS, by what is recorded: at 8192 cubed in bursts and at the power
limit, in joules, and over the sweep. Needs no GPU. The ratios are paired, within one process.

Prints one line per case, with the figure; exits 1 if any failed.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]
import recorded
import shapes
from tools.emulated import case, exit_status

TOP = "v16"  # at 8192 cubed
CHOOSES = "v18"  # over the sweep
SUSTAINED = "sustained"
LEAST_SQUARE = 1024  # that the means are over; 512 is timed as well

OF_BEST = 1.02  # of the best of cuBLASLt's heuristics, at 8192 cubed, by both protocols
SWEEP_OF_BEST = 1.00  # geometric means
SWEEP_OF_CUBLAS = 1.05
LOWEST_OF_BEST = 0.95


def timing_of(step, shape, protocol):
    """The newest recorded timing of a rung at a shape (m, n, k). KeyError if there is none."""

    def wanted(ladder):
        if recorded.has_variants(ladder) or ladder["interrupted"]:
            return False
        good = {rung["step"] for rung in recorded.measured(ladder)}
        return (
            recorded.shape_of(ladder) == shape and ladder["protocol"] == protocol and step in good
        )

    place = recorded.newest(recorded.RESULTS, "ladder", wanted)
    if place is None:
        raise KeyError(f"{step} is not recorded at {shape}, {protocol}")
    rungs = recorded.measured(recorded.load_ladder(place))
    return next(rung["timing"] for rung in rungs if rung["step"] == step)


def at_least(name, found, least):
    """A case with its figure in its name."""
    why = "" if found >= least else f"{found:.4f}, and at least {least} is wanted"
    case(f"{name}: {found:.3f}", why)


def ratio(timing, of):
    """The median of the paired ratios."""
    return timing[f"ratio_to_{of}"]["median"]


def headline():
    """At 8192 cubed."""
    cube = (recorded.HEADLINE_SIZE,) * 3
    for protocol in (recorded.HEADLINE_PROTOCOL, SUSTAINED):
        found = ratio(timing_of(TOP, cube, protocol), "cublaslt")
        at_least(f"{TOP} over cuBLASLt's best, {protocol}", found, OF_BEST)
    timing = timing_of(TOP, cube, SUSTAINED)
    for other in ("cublas", "cublaslt"):
        saved = timing[other]["joules"] / timing["step"]["joules"]
        at_least(f"joules of {other} over {TOP}'s", saved, 1)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def sweep():
    """Squares and model shapes."""
    squares = [(size,) * 3 for size in shapes.SQUARES if size >= LEAST_SQUARE]
    timings = [
        timing_of(CHOOSES, shape, recorded.HEADLINE_PROTOCOL)
        for shape in (*squares, *shapes.MODELS)
    ]
    of_best = [ratio(timing, "cublaslt") for timing in timings]
    of_cublas = [ratio(timing, "cublas") for timing in timings]
    over = f"geometric mean over {len(timings)} shapes of {CHOOSES} over"
    at_least(f"{over} cuBLASLt's best", geometric_mean(of_best), SWEEP_OF_BEST)
    at_least(f"{over} cuBLAS", geometric_mean(of_cublas), SWEEP_OF_CUBLAS)
    at_least(f"the lowest of {CHOOSES} over cuBLASLt's best", min(of_best), LOWEST_OF_BEST)


def main():
    headline()
    sweep()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
