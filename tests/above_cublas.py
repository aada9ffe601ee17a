#!/usr/bin/env python3
"""The top of the v track is above cuBLAS, by what is recorded: at 8192 cubed in bursts and at the power
limit, on each GPU that has a bar, as the median of its cards, by its usual launch; in joules; and over
the sweep, where the rung that chooses meets its bars launched early, in a row. Launched as usual it
does not: of that there are floors, so that it gets no worse. Over random shapes, of a seed that nothing was tuned
by, a GPU's bars hold once all families are recorded there. Needs no GPU. The ratios are paired, within one process.

Prints one line per case, with the figure; exits 1 if any failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
from tools.emulated import case, exit_status

from bench import shapes
from bench.records import recorded, sweeps
from bench.records.vocabulary import BOTH
from notes.tools import shapes_table

CUBE = (recorded.HEADLINE_SIZE,) * 3
LEAST_SQUARE = 1024  # that the means are over; 512 is timed as well

OF_BEST = {"H200": 1.02, "H100": 1.01}  # of cuBLASLt's best at 8192 cubed, by both protocols
# (geometric mean of cuBLASLt's best, of cuBLAS, lowest of cuBLASLt's best)
SWEEP_EARLY = (1.00, 1.05, 0.95)
SWEEP_USUAL = (0.99, 1.01, 0.93)

JUDGES = 24  # the seed of the record judged
FAMILIES = {  # geometric mean, and lowest, of cuBLASLt's best by usual launches
    "aligned": (1.00, 0.90),
    "any": (0.95, 0.80),
    "rows": (1.00, None),
    "odd": (1.00, None),
}
SMALL = (512, 1024, 2048)
SMALL_BAR = 1.00  # of cuBLASLt's best, by usual launches
COPY_BAR = 0.92  # bytes per second of few rows, of a device copy's
LOWER = {"H200": 0, "H100": 0.03}  # the bars of each GPU


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
        at_least(
            f"geometric mean {words} over cuBLASLt's best", sweeps.geometric_mean(best), bars[0]
        )
        at_least(f"geometric mean {words} over cuBLAS", sweeps.geometric_mean(cublas), bars[1])
        at_least(f"the lowest {words} over cuBLASLt's best", min(best), bars[2])


def of_copy(points, folder):
    """The lowest share of a device copy's bytes per second that a point has on its GPU; None if no copy
    was timed there. `points` is of sweeps.find()."""
    points, sweep = points
    rates = [
        ladder["device_copy"]["gb_per_s"]["median"]
        for _, ladder in recorded.all_ladders(folder)
        if "device_copy" in ladder and ladder["gpu"]["name"] == sweep["gpu"]["name"]
    ]
    if not rates:
        return None
    rows = [(sweeps.shape_of(point), point["seconds"]["step"]) for point in points]
    moved = [
        2e-9 * (m * k + n * k + m * n) / recorded.median(seconds) for (m, n, k), seconds in rows
    ]
    return min(moved) / max(rates)


def small_squares(name, gpu, folder):
    """[(words, ratio of a rung's usual launch to cuBLASLt's best, bar)] where that is recorded."""
    for size in SMALL:
        try:
            ladders = runs_of(name, (size,) * 3, recorded.HEADLINE_PROTOCOL, folder)[gpu]
        except KeyError:
            yield f"{size}³, usual launch", None, SMALL_BAR
            continue
        timing = recorded.entry_of(ladders[0], name)["timing"]
        yield f"{size}³, usual launch", timing["ratio_to_cublaslt"]["median"], SMALL_BAR


def random_shapes(folder=recorded.RESULTS):
    """(words, figure, bar) on each GPU that has bars; the figure is None unless all families of the seed
    that judges are recorded there for the rung that chooses."""
    name = shapes_table.CHOOSES
    words = {f"{family}:{JUDGES}": bars for family, bars in FAMILIES.items()}
    home = recorded.home(folder)
    found = sweeps.find(sweeps.load(folder), name, (*words, "few"), home)
    by_name = {recorded.short_name({"name": gpu}): (gpu, of) for gpu, of in found.items()}
    for short, lower in LOWER.items():
        gpu, of_gpu = by_name.get(short, (None, {}))
        there = {word: one for word, one in of_gpu.items() if sweeps.is_whole(word, one[0])}
        judged = there if words.keys() <= there.keys() else {}
        rows = []
        for word, (mean, lowest) in words.items():
            figures = sweeps.figures_of(judged[word][0]) if judged else {}
            rows.append((f"{word}, geometric mean", figures.get("mean"), mean))
            if lowest:
                rows.append((f"{word}, lowest", figures.get("lowest"), lowest))
        few = of_copy(judged["few"], folder) if "few" in judged else None
        rows.append(("few rows, of a device copy's rate", few, COPY_BAR))
        rows += small_squares(name, gpu if judged else None, folder)
        yield from ((f"{name} on {short}: {what}", value, bar - lower) for what, value, bar in rows)


def judge():
    """Random shapes, few rows and small squares."""
    for words, value, bar in random_shapes():
        if value is None:
            print(f"skip - {words}: not measured")
        else:
            at_least(words, value, round(bar, 2))


def main():
    headline()
    sweep()
    judge()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
