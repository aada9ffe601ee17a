#!/usr/bin/env python3
"""The top of the v track is above cuBLAS, by what is recorded: at 8192 cubed in bursts and at the power
limit, on each GPU that has a bar, as the median of its cards, by its usual launch; in joules; and over
the sweep, where the rung that chooses meets its bars launched early, in a row. Launched as usual it
does not: of that there are floors, so that it gets no worse. Needs no GPU. The ratios are paired, within one process.

Prints one line per case, with the figure; exits 1 if any failed.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
from tools.emulated import case, exit_status

from bench import shapes
from bench.records import recorded
from bench.records.vocabulary import BOTH
from notes.tools import shapes_table

CUBE = (recorded.HEADLINE_SIZE,) * 3
LEAST_SQUARE = 1024  # that the means are over; 512 is timed as well

OF_BEST = {"H200": 1.02, "H100": 1.01}  # of cuBLASLt's best at 8192 cubed, by both protocols
# (geometric mean of cuBLASLt's best, of cuBLAS, lowest of cuBLASLt's best)
SWEEP_EARLY = (1.00, 1.05, 0.95)
SWEEP_USUAL = (0.99, 1.01, 0.93)


def runs_of(step, shape, protocol, folder=recorded.RESULTS):
    """{GPU: ladders of the commit measured last there, one of each card} with a rung at a shape
    (m, n, k), the home GPU first. KeyError if there are none."""

    def wanted(ladder):
        good = {rung["step"] for rung in recorded.measured(ladder)}
        fits = recorded.shape_of(ladder) == shape and ladder["protocol"] == protocol
        fits = fits and not ladder["interrupted"] and recorded.rungs_only(ladder)
        return fits and step in good and not recorded.is_outdated(ladder, step)

    home, found = recorded.home(folder), {}
    for ladder in filter(wanted, (one for _, one in recorded.all_ladders(folder))):
        found.setdefault(ladder["gpu"]["name"], []).append(ladder)
    if not found:
        raise KeyError(f"{step} is not recorded at {shape}, {protocol}")
    for gpu, ladders in found.items():
        ladders.sort(key=recorded.precedence(ladders, home), reverse=True)
        newest = [one for one in ladders if one["commit"] == ladders[0]["commit"]]
        found[gpu] = list({one["gpu"].get("card"): one for one in reversed(newest)}.values())
    return dict(sorted(found.items(), key=lambda pair: not home.has(pair[1][0])))


def at_least(name, found, least):
    """A case with its figure in its name."""
    why = "" if found >= least else f"{found:.4f}, and at least {least} is wanted"
    case(f"{name}: {found:.3f}", why)


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


def ratios(timings, of, launch):
    """Of each timing the median of the paired ratios, of the rung launched so."""
    pairs = [zip(timing[of]["seconds"], timing[launch]["seconds"]) for timing in timings]
    return [recorded.median([theirs / own for theirs, own in pair]) for pair in pairs]


def sweep():
    """Squares and model shapes, on the home GPU."""
    name = shapes_table.CHOOSES
    timings = []
    squares = [(size,) * 3 for size in shapes.SQUARES if size >= LEAST_SQUARE]
    for shape in (*squares, *shapes.MODELS):
        try:
            ladder = next(iter(runs_of(name, shape, recorded.HEADLINE_PROTOCOL).values()))[0]
        except KeyError as error:
            print(f"skip - {error.args[0]}")
            continue
        if recorded.home().has(ladder):
            timings.append(recorded.entry_of(ladder, name)["timing"])
        else:
            print(f"skip - {name} is not recorded at {shape} on the home GPU")
    for launch, bars in (("early", SWEEP_EARLY), ("step", SWEEP_USUAL)):
        words = (
            f"over {len(timings)} shapes, {name}'s {'usual' if launch == 'step' else launch} launch"
        )
        best = ratios(timings, "cublaslt", launch)
        cublas = ratios(timings, "cublas", launch)
        at_least(f"geometric mean {words} over cuBLASLt's best", geometric_mean(best), bars[0])
        at_least(f"geometric mean {words} over cuBLAS", geometric_mean(cublas), bars[1])
        at_least(f"the lowest {words} over cuBLASLt's best", min(best), bars[2])


def main():
    headline()
    sweep()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
