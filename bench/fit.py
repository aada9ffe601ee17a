#!/usr/bin/env python3
"""Fits the constants of common/device/tile_choice.h to measured times, and judges the choice.

    build/steps/v24 --kernel all --explain >build/kernels/h200.txt
    build/steps/v24 --kernel all --runs FILE      FILE: for each shape its --m, --n, --k and --json
    python3 -m bench.fit --kernels build/kernels/h200.txt ROWS... [--judge ROWS...]

Run it where there is a GPU: the rung says what each of its kernels is, and times all of them beside
its choice; ROWS are the files that --json writes. The fit itself needs none. In a minute or two it
finds constants with which predicted times come close to measured ones, most of all among the fastest
kernels of a shape, prints them as the header has them, and says what the choice costs against the
fastest kernel: at the shapes that it was fitted to, and at those of --judge. With --constants it only
judges the header's. make does not build the model by itself: make build/kernels/model.so
"""

from __future__ import annotations

import argparse
import ctypes
import math
import re
import sys
from itertools import accumulate
from pathlib import Path
from statistics import median

from bench import results

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "common" / "device" / "tile_choice.h"
LIBRARY = ROOT / "build" / "kernels" / "model.so"
NAME = re.compile(
    r"(\d+) x (\d+), (\d+) stages, (one consumer|ping-pong|cooperative by columns|cooperative)"
    r"(?:, (\d)x(\d))?(, swapped)?"
)
CLUSTERS = re.compile(r"CTAs that are resident at once:([ \d]+)")
HERTZ = 1.98e9  # the highest clock of H100 and H200, in whose cycles the model counts
# What times at hand can't tell apart, or belongs to plans that they have none of, stays.
KEPT = ("latency",)
STEP, LEAST_STEP = 0.3, 0.004  # of a constant: a share of it
GAIN = 0.999  # a search that leaves more of the loss than this share is the last


class Point(ctypes.Structure):
    """model.c's model_point."""

    KERNEL = ("rows", "columns", "consumers", "turns", "by_columns", "stages", "above")
    KERNEL += ("beside", "swapped")
    _fields_ = (
        *((name, ctypes.c_int) for name in [*KERNEL, "m", "n", "k"]),
        ("clusters", ctypes.c_int * 8),
        *((name, ctypes.c_double) for name in ("l2_bytes", "dram_bytes")),
        *((name, ctypes.c_int) for name in ("forms", "form", "pitch")),
    )


def constants():
    """{name: value} of the header, in its order."""
    table = re.search(r"TILE_CONSTANTS = \{(.*?)\};", HEADER.read_text(), re.DOTALL)[1]
    return {name: float(value) for name, value in re.findall(r"\.(\w+) = ([-.\de+]+)", table)}


def kernel_of(words):
    """The fields of a kernel in Point.KERNEL's order, from its name."""
    rows, columns, stages, how, above, beside, swapped = NAME.search(words).groups()
    consumers, turns = 1 if how == "one consumer" else 2, 2 if how == "ping-pong" else 1
    by_columns = how == "cooperative by columns"
    numbers = (rows, columns, consumers, turns, by_columns, stages, above or 1, beside or 1)
    return [*map(int, numbers), int(bool(swapped))]


class Model:
    """The header's model, for the kernels that a rung has listed on a GPU. One that can cut tiles has
    several numbers for each kernel: whole, cut, gathered."""

    def __init__(self, listed):
        self.library, self.names = ctypes.CDLL(str(LIBRARY)), list(constants())
        self.library.model_loss.restype = ctypes.c_double
        if self.library.model_constants() != len(self.names):
            raise ValueError(f"{LIBRARY} was built from another header: build it again")
        found = [NAME.search(line) for line in listed.splitlines()]
        self.kernels = [kernel_of(name[0]) for name in found if name]
        clusters = CLUSTERS.search(listed)
        if not clusters or not self.kernels:
            raise ValueError("--kernels: this is not what --kernel all --explain prints")
        self.clusters = tuple(map(int, clusters[1].split()))
        same = (i for i, kernel in enumerate(self.kernels) if kernel != self.kernels[0])
        self.forms = next(same, len(self.kernels))

    def given(self, values):
        return (ctypes.c_double * len(self.names))(*(values[name] for name in self.names))

    def point(self, number, shape, gpu):
        """The plan of a kernel's number at a shape; None where tiles can't be cut in its way."""
        card = (self.clusters, gpu["l2_bytes"], gpu["memory_bytes_per_second"] / HERTZ)
        form = (number - 1) % self.forms
        point = Point(*self.kernels[number - 1], *shape, *card, self.forms, form, 0)
        self.library.model_plan(ctypes.byref(point))
        return point if point.form == form else None


class Times:
    """What was measured, of some files of rows: a point for each plan and shape, and its cycles."""

    def __init__(self, model, paths):
        self.model, self.shapes, measured, points = model, [], [], []
        for run in (run for path in paths for run in results.load(path)):
            shape = [run.problem[name] for name in "mnk"]
            before = len(points)
            for row in (row for rows in run.rows.values() for row in rows):
                for key, one in row.get("timed", {}).items():
                    if key.startswith("kernel-"):
                        point = model.point(int(key.partition("-")[2]), shape, run.gpu)
                        points += [point] if point else []
                        measured += [median(one["seconds"]) * HERTZ] if point else []
            if len(points) > before:
                self.shapes.append(("x".join(map(str, shape)), len(points) - before))
        if not points:
            raise ValueError(f"{', '.join(map(str, paths))}: no times of --kernel all")
        self.points = (Point * len(points))(*points)
        self.measured = (ctypes.c_double * len(points))(*measured)
        ends = accumulate(count for _, count in self.shapes)
        self.starts = (ctypes.c_int * (len(self.shapes) + 1))(0, *ends)
        self.cycles = (ctypes.c_double * len(points))()  # the last predicted ones

    def loss(self, values):
        """How bad these constants are: model.c says in what way."""
        given, count = self.model.given(values), len(self.shapes)
        rows = (self.points, self.starts, count, self.measured, self.cycles)
        return self.model.library.model_loss(given, *rows)

    def errors(self, values):
        """The logarithms of predicted by measured times."""
        self.loss(values)
        return [math.log(cycles / measured) for cycles, measured in zip(self.cycles, self.measured)]

    def costs(self, values):
        """[(what the choice takes more than the fastest kernel, the shape)]"""
        self.loss(values)
        costs = []
        for (shape, _), first, end in zip(self.shapes, self.starts, self.starts[1:]):
            taken = min(range(first, end), key=self.cycles.__getitem__)
            costs.append((self.measured[taken] / min(self.measured[first:end]) - 1, shape))
        return costs


def fit(times, values):
    """The constants that a pattern search finds: each in turn is made a step larger, or smaller, if
    that helps. Steps that help grow, the others shrink (Hooke and Jeeves, 1961). It begins anew with
    large steps until that gains nothing."""
    least, before = times.loss(values), math.inf
    while least < GAIN * before:
        before = least
        steps = {name: STEP for name in values if name not in KEPT}
        while max(steps.values()) > LEAST_STEP:
            for name in [name for name, step in steps.items() if step > LEAST_STEP]:
                for factor in (1 + steps[name], 1 / (1 + steps[name])):
                    tried = {**values, name: values[name] * factor}
                    loss = times.loss(tried)
                    if loss < least:
                        values, least = tried, loss
                        steps[name] *= 2.5
                        break
                steps[name] *= 0.6
    return values


def report(times, values, what):
    """Prints how far the model is off, and what the choice costs."""
    errors, costs = times.errors(values), times.costs(values)
    mean = math.exp(sum(math.log1p(cost) for cost, _ in costs) / len(costs)) - 1
    worst, shape = max(costs)
    print(
        f"{what}: {len(costs)} shapes, {len(errors)} times; predicted times are off by "
        f"{median(map(abs, errors)):.1%} (median);\n  the choice costs {mean:.2%} "
        f"(geometric mean), at worst {worst:.1%} at {shape}"
    )


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("times", nargs="+", metavar="ROWS")
    parser.add_argument("--kernels", required=True, type=Path, metavar="FILE")
    parser.add_argument("--judge", nargs="+", default=[], metavar="ROWS")
    parser.add_argument("--constants", action="store_true", help="judge the header's constants")
    options = parser.parse_args(words)
    model, values = Model(options.kernels.read_text()), constants()
    times = Times(model, options.times)
    report(times, values, "the header's constants")
    if not options.constants:
        values = fit(times, values)
        report(times, values, "fitted")
    if options.judge:
        report(Times(model, options.judge), values, "not fitted to")
    print("\n".join(f"    .{name} = {value:.4g}," for name, value in values.items()))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"fit: {error}")
