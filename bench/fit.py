#!/usr/bin/env python3
"""Fits the constants of common/device/tile_choice.h to measured times, and judges the choice.

    python3 -m bench.fit measure --sizes any:1:15,rows:1:15 --out build/kernels/h200.json
    python3 -m bench.fit fit build/kernels/*.json --judge build/kernels/other/*.json

`measure` times all kernels of a rung that chooses, by build/kernels/kernels (make does not build it
by itself: make build/kernels/kernels build/kernels/model.so), at shapes in the spelling of make
ladder. `fit` needs no GPU: it changes one constant after the other as long as the predicted times of
all kernels come closer to the measured ones, prints the constants as the header has them, and says
what the choice costs against the fastest kernel: at the shapes that it was fitted to, and at those
of --judge. With --constants it only judges the header's.
Only Python's standard library is needed.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import subprocess
from itertools import groupby
from pathlib import Path

from bench import process, shapes
from bench.records.figures import median

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "common" / "device" / "tile_choice.h"
PROGRAM, LIBRARY = (ROOT / "build" / "kernels" / name for name in ("kernels", "model.so"))
NAME = re.compile(
    r"(\d+) x (\d+), (\d+) stages, (one consumer|ping-pong|cooperative by columns|cooperative)"
    r"(?:, ([124])x([124]))?(, swapped)?"
)
CLUSTERS = re.compile(r"(\d+) clusters of 2 CTAs, (\d+) of 4")
# What times at hand can't tell apart, or belongs to plans that they have none of, stays.
KEPT = ("least_k_tile", "latency", "wgmma_rows", "l2_share")
CLOSE = 0.1  # a logarithm: beyond it an error counts by its size, not by its square
ROUNDS, LEAST_STEP = 40, 0.003


class Point(ctypes.Structure):
    """model.c's model_point."""

    KERNEL = ("rows", "columns", "consumers", "turns", "by_columns", "stages", "cluster")
    KERNEL += ("share_columns", "swapped")
    _fields_ = (
        *((name, ctypes.c_int) for name in [*KERNEL, "m", "n", "k", "sms", "pairs", "fours"]),
        *((name, ctypes.c_double) for name in ("l2_bytes", "dram_bytes")),
        *((name, ctypes.c_int) for name in ("forms", "cut", "pitch")),
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
        if self.library.model_constants() != len(self.names):
            raise ValueError(f"{library} was built from another header: build it again")

    def plan(self, points):
        for point in points:
            self.library.model_plan(ctypes.byref(point))

    def cycles(self, values, points):
        """The cycles of each point with these constants."""
        given = (ctypes.c_double * len(self.names))(*(values[name] for name in self.names))
        found = (ctypes.c_double * len(points))()
        self.library.model_cycles(given, points, len(points), found)
        return found


def kernel_of(words):
    """The fields of a kernel in Point.KERNEL's order, from its name."""
    rows, columns, stages, how, above, beside, swapped = NAME.search(words).groups()
    consumers, turns = 1 if how == "one consumer" else 2, 2 if how == "ping-pong" else 1
    by_columns, share_columns = how == "cooperative by columns", beside == "1"
    cluster = int(above or 1) * int(beside or 1)
    numbers = (rows, columns, consumers, turns, by_columns, stages, cluster, share_columns)
    return [*map(int, numbers), int(bool(swapped))]


class Times:
    """What was measured, of some files: a point for each kernel and shape, and its seconds."""

    def __init__(self, model, paths):
        self.points, self.seconds, self.of, self.hertz, self.chosen = [], [], [], [], {}
        for path in paths:
            self.read(json.loads(Path(path).read_text()), Path(path).name)
        self.points = (Point * len(self.points))(*self.points)
        model.plan(self.points)

    def read(self, record, name):
        if record.get("kind") != "kernels" or "kernels" not in record:
            raise ValueError(f"{name}: not measured by `python3 -m bench.fit measure`")
        gpu, hertz = record["gpu"], record["highest_hertz"]
        card = (
            gpu["sms"],
            *record["clusters"],
            gpu["l2_bytes"],
            gpu["memory_bytes_per_second"] / hertz,
        )
        kernels = [kernel_of(words) for words in record["kernels"]]
        # A rung that can cut its last wave has two numbers for each kernel: whole and cut.
        forms = 2 if kernels[::2] == kernels[1::2] else 1
        for text, measured in record["shapes"].items():
            shape = [int(number) for number in text.split("x")]
            self.chosen[name, text] = measured["chosen"] - 1
            for number, seconds in measured["seconds"].items():
                place = int(number) - 1
                self.points.append((*kernels[place], *shape, *card, forms, place % forms, 0))
                self.seconds.append(median(seconds))
                self.of.append((name, text))
                self.hertz.append(hertz)

    def errors(self, model, values):
        """The logarithms of predicted by measured times."""
        found = zip(model.cycles(values, self.points), self.hertz, self.seconds)
        return [math.log(cycles / hertz / seconds) for cycles, hertz, seconds in found]

    def costs(self, model, values):
        """[(what the choice takes more than the fastest kernel, the shape)]"""
        cycles, costs = model.cycles(values, self.points), []
        for shape, places in groupby(range(len(self.of)), key=self.of.__getitem__):
            places = list(places)
            taken = min(places, key=cycles.__getitem__)
            fastest = min(places, key=self.seconds.__getitem__)
            costs.append((self.seconds[taken] / self.seconds[fastest] - 1, shape))
        return costs


def loss(errors):
    """The mean of their squares; of large ones what a line adds that goes on from there."""
    sizes = (abs(error) for error in errors)
    return sum(e * e if e < CLOSE else CLOSE * (2 * e - CLOSE) for e in sizes) / len(errors)


def fit(model, times, values):
    """The constants, each changed as long as that brings the times closer."""
    values, least = dict(values), loss(times.errors(model, values))
    steps = {name: 0.2 for name in values if name not in KEPT}
    for _ in range(ROUNDS):
        for name, step in list(steps.items()):
            for factor in (1 + step, 1 / (1 + step)):
                tried = {**values, name: values[name] * factor}
                found = loss(times.errors(model, tried))
                if found < least:
                    values, least = tried, found
                    steps[name] = 1.5 * step
                    break
            else:
                steps[name] = step / 2
        if max(steps.values()) < LEAST_STEP:
            break
    return values


def report(model, times, values, what):
    """Prints how far the model is off, and what the choice costs."""
    errors, costs = times.errors(model, values), times.costs(model, values)
    mean = math.exp(sum(math.log1p(cost) for cost, _ in costs) / len(costs)) - 1
    worst, (name, shape) = max(costs)
    print(
        f"{what}: {len(costs)} shapes, {len(errors)} times; predicted times are off by "
        f"{median([abs(error) for error in errors]):.1%} (median), {math.sqrt(loss(errors)):.1%} "
        f"(root mean square);\n  the choice costs {mean:.2%} (geometric mean), at worst {worst:.1%} "
        f"at {shape} ({name})"
    )


def measure(options):
    """Runs the program, and adds the kernels' names to what it wrote."""
    words = [shapes.shape_text(shape) for shape in shapes.of_sizes(options.sizes, ["v"])["v"]]
    listed = subprocess.run([options.program, "--list"], check=True, capture_output=True, text=True)
    clusters = [int(number) for number in CLUSTERS.search(listed.stdout).groups()]
    names = [found[0] for line in listed.stdout.splitlines() if (found := NAME.search(line))]
    command = [options.program, "--json", options.out, "--rounds", str(options.rounds), *words]
    subprocess.run(command, check=True)
    record = json.loads(Path(options.out).read_text())
    Path(options.out).write_text(json.dumps({**record, "clusters": clusters, "kernels": names}, indent=1) + "\n")


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
    report(model, times, values, "the header's constants")
    if not options.constants:
        values = fit(model, times, values)
        report(model, times, values, "fitted")
    if options.judge:
        report(model, Times(model, options.judge), values, "not fitted to")
    print("\n".join(f"    .{name} = {value:.4g}," for name, value in values.items()))
    return 0


if __name__ == "__main__":
    process.run_as("fit", fit_main, {OSError: 1, ValueError: 1, subprocess.CalledProcessError: 1})
