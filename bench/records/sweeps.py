"""What a sweep's points come to: ratios of a rung over many shapes, families of them."""

from __future__ import annotations

import math
from statistics import median

from bench import shapes
from bench.records import recorded
from bench.records.vocabulary import EARLY, PRODUCTS

BEST = "cublaslt"
REACHED = 1.0  # a ratio of the best that counts as reached


def shape_of(point):
    """(m, n, k)"""
    return tuple(point[name] for name in PRODUCTS.dimensions)


def flop(point):
    """Of one launch."""
    return PRODUCTS.work_of(point)


def tflops(point, who="step"):
    """The median of its rounds."""
    return flop(point) / median(point["seconds"][who]) / PRODUCTS.units


def ratio(point, of=BEST, launch="step"):
    """Their time over that of the rung, launched so: the median of the rounds; None of a rung that cannot
    launch early."""
    seconds = point["seconds"]
    if launch not in seconds:
        return None
    return median(theirs / own for theirs, own in zip(seconds[of], seconds[launch]))


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def words_of(sweep):
    """The families, and whatever else, that it went over: ['aligned:1', 'few']."""
    return sweep["sizes"].split(",")


def points_of(sweep, word):
    """The points of that family that have a result, in the family's order."""
    known = {shape_of(point): point for point in sweep["points"] if "seconds" in point}
    return [known[shape] for shape in shapes.of_word(word, "v") if shape in known]


def find(sweeps, step, words, home):
    """{GPU: {word: (points, their sweep)}} of a rung, the home GPU first: of each GPU and word the sweep
    with the most points, and of several such the newest."""
    found = {}
    for sweep in sorted(sweeps, key=lambda one: (not home.has(one), one["date"])):
        for word in words_of(sweep) if sweep["step"] == step else ():
            points = points_of(sweep, word) if word in words else ()
            of_gpu = found.setdefault(sweep["gpu"]["name"], {}) if points else {}
            if points and len(points) >= len(of_gpu.get(word, ((),))[0]):
                of_gpu[word] = (points, sweep)
    return found


def is_whole(word, points):
    """True if no shape of the family lacks its point."""
    return len(points) == len(shapes.of_word(word, "v"))


def figures_of(points):
    """What a family's points come to: {name: figure}."""
    best = [ratio(point) for point in points]
    found = {"shapes": len(points), "mean": geometric_mean(best), "lowest": min(best)}
    found["reached"] = sum(value >= REACHED for value in best)
    found["cublas"] = geometric_mean([ratio(point, PRODUCTS.other) for point in points])
    early = [ratio(point, launch=EARLY) for point in points]
    found["early"] = None if None in early else geometric_mean(early)
    return found


def load(folder=recorded.RESULTS):
    """All sweeps in that folder. ValueError for a broken file."""
    return [sweep for _, sweep in recorded.all_of_kind(folder, "sweep")]
