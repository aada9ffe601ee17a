#!/usr/bin/env python3
"""The top of the v track is above cuBLAS, by what is recorded: at 8192 cubed in bursts and at the power
limit, on each GPU that has a bar, as the median of its cards, by its usual launch; in joules; and over
the sweep, where the rung that chooses meets its bars launched early, in a row. Launched as usual it
does not: of that there are floors, so that it gets no worse. So there are of the last rung over random shapes, of a
seed that nothing was tuned by. What is not recorded fails. Needs no GPU. The ratios are paired, within one process.

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

# Of cuBLASLt's best at 8192 cubed, by both protocols. In bursts that is the best of all of its
# configurations, and v16 is at 1.016 and 1.007.
OF_BEST = {"H200": 1.01, "H100": 1.005}
# (geometric mean of cuBLASLt's best, of cuBLAS, lowest of cuBLASLt's best)
SWEEP_EARLY = (1.00, 1.05, 0.95)
SWEEP_USUAL = (0.99, 1.01, 0.93)

JUDGED, JUDGES = "v24", 24  # the rung, and the seed of its record on the home GPU
FAMILIES = {  # geometric mean, and lowest, of cuBLASLt's best by usual launches
    "aligned": (0.99, 0.87),
    "any": (0.94, 0.78),
    "rows": (1.00, None),
    "odd": (2.00, None),
}
SMALL = (512, 1024, 2048)
SMALL_BAR = 0.98  # of cuBLASLt's best, by usual launches
COPY_BAR = 0.82  # bytes per second of few rows, of a device copy's


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
    """A case with its figure in its name; None is one that is not recorded."""
    if found is None:
        case(name, "it is not recorded")
        return
    why = "" if found >= least else f"{found:.4f}, and at least {least} is wanted"
    case(f"{name}: {found:.3f}", why)


def of_best(folder=recorded.RESULTS):
    """(words, ratio of the top rung to cuBLASLt's best, its bar) on each GPU with a bar, by protocol."""
    for protocol in BOTH:
        runs = runs_of(recorded.TOP, CUBE, protocol, folder)
        of_gpu = {recorded.short_name({"name": name}): ladders for name, ladders in runs.items()}
        for gpu, bar in OF_BEST.items():
            ladders = of_gpu.get(gpu, [])
            found = recorded.over_cards(
                ladders, recorded.TOP, lambda timing: timing["ratio_to_cublaslt"]
            )
            cards = f"{len(ladders)} card{'' if len(ladders) == 1 else 's'}"
            yield f"{protocol} on {cards} of {gpu}", found and found["median"], bar


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
        ladder = next(iter(runs_of(name, shape, recorded.HEADLINE_PROTOCOL).values()))[0]
        if recorded.home().has(ladder):
            timings.append(recorded.entry_of(ladder, name)["timing"])
        else:
            case(f"{name} at {shape} on the home GPU", "it is not recorded")
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


def random_shapes(folder=recorded.RESULTS, name=JUDGED):
    """(words, figure, bar) of a rung on the home GPU; the figures are None unless all families of the seed
    that judges are recorded there."""
    words = {f"{family}:{JUDGES}": bars for family, bars in FAMILIES.items()}
    home = recorded.home(folder)
    found = sweeps.find(sweeps.load(folder), name, (*words, "few"), home)
    gpu, of_gpu = next(iter(found.items()), (None, {}))
    there = {word: one for word, one in of_gpu.items() if sweeps.is_whole(word, one[0])}
    judged = there if {*words, "few"} <= there.keys() and home.has(there["few"][1]) else {}
    for word, (mean, lowest) in words.items():
        figures = sweeps.figures_of(judged[word][0]) if judged else {}
        yield f"{word}, geometric mean", figures.get("mean"), mean
        if lowest:
            yield f"{word}, lowest", figures.get("lowest"), lowest
    few = of_copy(judged["few"], folder) if judged else None
    yield "few rows, of a device copy's rate", few, COPY_BAR
    yield from small_squares(name, gpu if judged else None, folder)


def judge():
    """Random shapes, few rows and small squares."""
    for words, value, bar in random_shapes():
        at_least(f"{JUDGED}: {words}", value, bar)


def main():
    headline()
    sweep()
    judge()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
