#!/usr/bin/env python3
"""Fits the constants of common/device/tile_choice.h to measured times, and judges the choice.

    python3 -m bench.fit measure --sizes any:1:15,rows:1:15 --out build/kernels/h200.json
    python3 -m bench.fit fit build/kernels/*.json --judge build/kernels/other/*.json

`measure` times all kernels of a rung that chooses, by build/kernels/kernels (make does not build it
by itself: make build/kernels/kernels build/kernels/model.so), at shapes in the spelling of make
ladder. `fit` needs no GPU: in a minute or two it finds constants with which predicted times come
close to measured ones, most of all among the fastest kernels of a shape, prints them as the header
has them, and says what the choice costs against the fastest kernel: at the shapes that it was fitted
to, and at those of --judge. With --constants it only judges the header's.
Only Python's standard library is needed.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import subprocess
from itertools import accumulate, groupby
from pathlib import Path

from bench import process, shapes
from bench.records.figures import median

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "common" / "device" / "tile_choice.h"
PROGRAM, LIBRARY = (ROOT / "build" / "kernels" / name for name in ("kernels", "model.so"))
NAME = re.compile(
    r"(\d+) x (\d+), (\d+) stages, (one consumer|ping-pong|cooperative by columns|cooperative)"
    r"(?:, (\d)x(\d))?(, swapped)?"
)
CLUSTERS = re.compile(r"CTAs that are resident at once:([ \d]+)")
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


class Model:
    """The header's model. Points are Points in one array."""

    def __init__(self, library=LIBRARY):
        self.library = ctypes.CDLL(str(library))
        self.names = list(constants())
        self.library.model_loss.restype = ctypes.c_double
        if self.library.model_constants() != len(self.names):
            raise ValueError(f"{library} was built from another header: build it again")

    def plan(self, points):
        for point in points:
            self.library.model_plan(ctypes.byref(point))

    def given(self, values):
        return (ctypes.c_double * len(self.names))(*(values[name] for name in self.names))

    def cycles(self, values, points):
        """The cycles of each point with these constants."""
        found = (ctypes.c_double * len(points))()
        self.library.model_cycles(self.given(values), points, len(points), found)
        return found


def kernel_of(words):
    """The fields of a kernel in Point.KERNEL's order, from its name."""
    rows, columns, stages, how, above, beside, swapped = NAME.search(words).groups()
    consumers, turns = 1 if how == "one consumer" else 2, 2 if how == "ping-pong" else 1
    by_columns = how == "cooperative by columns"
    numbers = (rows, columns, consumers, turns, by_columns, stages, above or 1, beside or 1)
    return [*map(int, numbers), int(bool(swapped))]


class Times:
    """What was measured, of some files: a point for each plan and shape, and its cycles of the SMs'
    highest clock. A kernel's number has no point where tiles can't be cut in its way."""

    def __init__(self, model, paths):
        self.model, rows = model, []
        for path in paths:
            rows += self.read(json.loads(Path(path).read_text()), Path(path).name)
        points = (Point * len(rows))(*(point for _, _, point in rows))
        forms = [point.form for point in points]
        model.plan(points)
        kept = [i for i, (form, point) in enumerate(zip(forms, points)) if form == point.form]
        self.points = (Point * len(kept))(*(points[i] for i in kept))
        self.measured = (ctypes.c_double * len(kept))(*(rows[i][1] for i in kept))
        of = (rows[i][0] for i in kept)
        self.shapes = [(shape, len(list(same))) for shape, same in groupby(of)]
        ends = accumulate(count for _, count in self.shapes)
        self.starts = (ctypes.c_int * (len(self.shapes) + 1))(0, *ends)
        self.room = (ctypes.c_double * len(kept))()

    @staticmethod
    def read(record, name):
        """[((file, shape), cycles, a point's fields)]"""
        if record.get("kind") != "kernels" or not {"kernels", "clusters"} <= record.keys():
            raise ValueError(f"{name}: not measured by `python3 -m bench.fit measure`")
        gpu, hertz = record["gpu"], record["highest_hertz"]
        memory = gpu["memory_bytes_per_second"] / hertz
        card = (tuple(record["clusters"]), gpu["l2_bytes"], memory)
        kernels = [kernel_of(words) for words in record["kernels"]]
        # A rung that can cut tiles has several numbers for each kernel: whole, cut, gathered.
        forms = next((i for i, kernel in enumerate(kernels) if kernel != kernels[0]), len(kernels))
        return [
            (
                (name, text),
                median(seconds) * hertz,
                (
                    *kernels[int(number) - 1],
                    *map(int, text.split("x")),
                    *card,
                    forms,
                    (int(number) - 1) % forms,
                    0,
                ),
            )
            for text, measured in record["shapes"].items()
            for number, seconds in measured["seconds"].items()
        ]

    def loss(self, values):
        """How bad these constants are: model.c says in what way."""
        given, count = self.model.given(values), len(self.shapes)
        library = self.model.library
        return library.model_loss(given, self.points, self.starts, count, self.measured, self.room)

    def errors(self, values):
        """The logarithms of predicted by measured times."""
        found = self.model.cycles(values, self.points)
        return [math.log(cycles / measured) for cycles, measured in zip(found, self.measured)]

    def costs(self, values):
        """[(what the choice takes more than the fastest kernel, the shape)]"""
        cycles, costs = self.model.cycles(values, self.points), []
        for (shape, _), first, end in zip(self.shapes, self.starts, self.starts[1:]):
            taken = min(range(first, end), key=cycles.__getitem__)
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
    worst, (name, shape) = max(costs)
    print(
        f"{what}: {len(costs)} shapes, {len(errors)} times; predicted times are off by "
        f"{median([abs(error) for error in errors]):.1%} (median);\n  the choice costs {mean:.2%} "
        f"(geometric mean), at worst {worst:.1%} at {shape} ({name})"
    )


def measure(options):
    """Runs the program, and adds the kernels' names to what it wrote."""
    words = [shapes.shape_text(shape) for shape in shapes.of_sizes(options.sizes, ["v"])["v"]]
    listed = subprocess.run([options.program, "--list"], check=True, capture_output=True, text=True)
    clusters = [int(number) for number in CLUSTERS.search(listed.stdout)[1].split()]
    names = [found[0] for line in listed.stdout.splitlines() if (found := NAME.search(line))]
    command = [options.program, "--json", options.out, "--rounds", str(options.rounds), *words]
    with subprocess.Popen(command) as program:
        try:
            program.wait()
        except KeyboardInterrupt:  # the program got it too, and writes what it has
            program.wait()
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, command)
    record = json.loads(Path(options.out).read_text())
    Path(options.out).write_text(
        json.dumps({**record, "clusters": clusters, "kernels": names}, indent=1) + "\n"
    )


def fit_main(arguments):
    parser = process.parser(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    add = verbs.add_parser("measure").add_argument
    add("--sizes", required=True, help="shapes and families, with commas between")
    add("--out", required=True, metavar="FILE")
    add("--rounds", type=int, default=3)
    add("--program", default=str(PROGRAM))
    add = verbs.add_parser("fit").add_argument
    add("times", nargs="+", metavar="FILE")
    add("--judge", nargs="+", default=[], metavar="FILE", help="times that are not fitted to")
    add("--constants", action="store_true", help="fit nothing: judge the header's constants")
    options = parser.parse_args(arguments)
    if options.verb == "measure":
        measure(options)
        return 0
    model, values = Model(), constants()
    times = Times(model, options.times)
    report(times, values, "the header's constants")
    if not options.constants:
        values = fit(times, values)
        report(times, values, "fitted")
    if options.judge:
        report(Times(model, options.judge), values, "not fitted to")
    print("\n".join(f"    .{name} = {value:.4g}," for name, value in values.items()))
    return 0


if __name__ == "__main__":
    process.run_as("fit", fit_main, {OSError: 1, ValueError: 1, subprocess.CalledProcessError: 1})
