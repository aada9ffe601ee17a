#!/usr/bin/env python3
"""Fits the constants of common/device/tile_model.h to measured times.

    build/steps/s09 --kernel all --explain >build/kernels.txt
    build/steps/s09 --runs FILE     FILE: for each shape its --m, --n, --k, --kernel all and --json
    python3 -m bench.fit --kernels build/kernels.txt --keep TIMES.xz ROWS...
    python3 -m bench.fit --fit TIMES.xz OTHERS.xz...

Run the rung where there is a GPU: it lists its kernels, each once for each of its forms (whole
tiles, parts in a cluster, parts apart), and times all of them beside its choice; ROWS are the files
that --json writes. --keep writes the median times of ROWS and the list to one small file, from which
anybody can fit again, without a GPU. A fit finds constants with which predicted times come close to
the measured ones, most of all among the fastest kernels of a shape. It prints them as the header has
them, after what the choice costs against the fastest kernel at the shapes of OTHERS, by the header's
constants and by these: at shapes that a fit has seen it says nothing. GPUs, lists and forms of the
files may differ. A fit takes a minute or two for each file.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import lzma
import math
import re
import subprocess
import sys
from ctypes import c_bool, c_double, c_int
from itertools import chain
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

from bench import results
from bench.results import ROOT
from bench.shapes import shape_text

HEADER = ROOT / "common" / "device" / "tile_model.h"
LIBRARY = "build/model.so"
NAME = re.compile(
    r"(\d+) x (\d+), (\d+) stages, (one consumer|ping-pong|cooperative by columns|cooperative)"
    r"(?:, (\d)x(\d))?(, swapped)?(, gathers)?"
)
CLUSTERS = re.compile(r"CTAs that are resident at once:([ \d]+)")
HERTZ = 1.98e9  # the highest clock of H100 and H200, in whose cycles the model counts
STEP, LEAST_STEP = 0.3, 0.004  # of a constant: a share of it
GAIN = 0.999  # a search that leaves more of the loss than this share is the last


class Point(ctypes.Structure):
    """model.c's model_point: a tile_gpu, a tile_plan, a tile_kind, a shape, the form."""

    _fields_ = [("clusters", c_int * 9)]
    _fields_ += [(name, c_double) for name in ("hertz", "l2_bytes", "dram_bytes")]
    _fields_ += [("kernel", c_int), ("parts", c_int), ("apart", c_bool)]
    _fields_ += [(name, c_int) for name in ("tiles_m", "tiles_n", "waves", "workers")]
    _fields_ += [("cost", c_double)]
    _fields_ += [(name, c_int) for name in ("rows", "columns", "consumers")]
    _fields_ += [("by_columns", c_bool), ("ping_pong", c_bool)]
    _fields_ += [(name, c_int) for name in ("stages", "above", "beside")]
    _fields_ += [(name, c_bool) for name in ("swapped", "gathers", "parts_apart")]
    _fields_ += [(name, c_int) for name in ("box_rows", "box_columns", "m", "n", "k", "form")]


def constants():
    """{name: value} of the header, in its order."""
    table = re.findall(r"^    CONSTANT\((\w+), ([-.\de+]+),", HEADER.read_text(), re.MULTILINE)
    return {name: float(value) for name, value in table}


def kernel_of(words):
    """A tile_kind from its name. box_rows is nothing that the model knows."""
    rows, columns, stages, how, above, beside, swapped, gathers = NAME.search(words).groups()
    consumers, by_columns = 1 if how == "one consumer" else 2, how == "cooperative by columns"
    width = int(columns) // (2 if by_columns else 1)
    box = 64 if swapped else next((box for box in (64, 32, 16) if width % box == 0), width)
    numbers = (rows, columns, consumers, by_columns, how == "ping-pong", stages)
    numbers += (above or 1, beside or 1, bool(swapped), bool(gathers), True, 0, box)
    return tuple(map(int, numbers))


class Model:
    """The header's model, for the kernels that a rung has listed on a GPU, which has a number for each
    form of each."""

    def __init__(self, names, clusters):
        subprocess.run(["make", "-s", LIBRARY], cwd=ROOT, check=True)
        self.library = ctypes.CDLL(str(ROOT / LIBRARY))
        self.library.model_loss.restype = c_double
        self.kernels = [kernel_of(name) for name in names]
        self.forms, self.clusters = names.count(names[0]), (0, *clusters)

    def point(self, number, shape, gpu):
        """The plan of a kernel's number at a shape; None where tiles can't be in parts, or don't fit."""
        card = (self.clusters, 1, gpu["l2_bytes"], gpu["memory_bytes_per_second"] / HERTZ)
        form = (number - 1) % self.forms
        point = Point(*card, *[0] * 8, *self.kernels[number - 1], *shape, form)
        self.library.model_plan(ctypes.byref(point))
        return point if point.workers and (point.parts > 1) + point.apart == form else None


class Shape(NamedTuple):
    """What was measured at a shape: a point for each plan, and its cycles."""

    name: str
    points: ctypes.Array
    measured: ctypes.Array
    predicted: ctypes.Array  # the cycles by the latest constants


def keep(listed, paths, kept):
    """Writes the median times of rows, a line for each shape, after a line that says what the
    kernels are."""
    names = [found[0] for line in listed.splitlines() if (found := NAME.search(line))]
    clusters = CLUSTERS.search(listed)
    if not clusters or not names:
        raise ValueError("--kernels: this is not what --kernel all --explain prints")
    lines = [{"kernels": names, "clusters": [*map(int, clusters[1].split())]}]
    for run in chain.from_iterable(map(results.load, paths)):
        timed = chain.from_iterable(
            row.get("timed", {}).items() for row in chain(*run.rows.values())
        )
        found = {key.partition("kernel-")[2]: median(one["seconds"]) for key, one in timed}
        times = {number: float(f"{one:.4g}") for number, one in found.items() if number}
        gpu = {name: run.gpu[name] for name in ("name", "l2_bytes", "memory_bytes_per_second")}
        if times:  # a shape that was timed again counts once
            at = {"gpu": gpu, "shape": run.shape}
            lines = [one for one in lines if {**one, **at} != one] + [{**at, "seconds": times}]
    if len(lines) == 1:
        raise ValueError(f"{', '.join(map(str, paths))}: no times of --kernel all")
    with lzma.open(kept, "wt") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


class Times:
    """What was measured, of files that keep() wrote."""

    def __init__(self, *paths):
        self.shapes = []
        for path in paths:
            with lzma.open(path, "rt") as file:
                kernels, *rows = map(json.loads, file)
            self.model = Model(kernels["kernels"], kernels["clusters"])
            self.library = self.model.library
            self.add(rows)

    def add(self, rows):
        """Adds what was measured with the latest model's kernels."""
        for row in rows:
            plans = [
                (point, seconds * HERTZ)
                for number, seconds in row["seconds"].items()
                if (point := self.model.point(int(number), row["shape"], row["gpu"]))
            ]
            points, measured = zip(*plans)
            cycles = c_double * len(plans)
            arrays = (Point * len(plans))(*points), cycles(*measured), cycles()
            self.shapes.append(Shape(shape_text(row["shape"]), *arrays))

    def loss(self, values):
        """How bad these constants are, as model.c says, at the mean shape."""
        given, loss = (c_double * len(values))(*values.values()), self.library.model_loss
        return sum(loss(given, len(one.points), *one[1:]) for one in self.shapes) / len(self.shapes)

    def costs(self, values):
        """The time that the choice takes over that of the fastest kernel, of each shape."""
        self.loss(values)
        costs = []
        for one in self.shapes:
            _, taken = min(zip(one.predicted, one.measured))
            costs.append(taken / min(one.measured))
        return costs


def fit(times, values):
    """The constants that a pattern search finds: each in turn is made a step larger, or smaller, if
    that helps. Steps that help grow, the others shrink (Hooke and Jeeves, 1961). It begins anew with
    large steps until that gains nothing."""
    least, before = times.loss(values), math.inf
    while least < GAIN * before:
        before = least
        steps = dict.fromkeys(values, STEP)
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


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="OTHERS.xz|ROWS")
    parser.add_argument("--kernels", type=Path, metavar="FILE")
    parser.add_argument("--keep", type=Path, metavar="TIMES.xz")
    parser.add_argument("--fit", type=Path, action="append", metavar="TIMES.xz")
    options = parser.parse_args(words)
    if bool(options.keep) != bool(options.kernels):
        parser.error("--keep needs --kernels, and rows")
    if not options.keep and (not options.fit or {*options.fit} & {*options.files}):
        parser.error("--fit needs times, and others to judge the choice by")
    if options.keep:
        keep(options.kernels.read_text(), options.files, options.keep)
        return
    before = constants()
    values, judged = fit(Times(*options.fit), before), Times(*options.files)
    for what, one in (("the header's", before), ("fitted", values)):
        print(f"{what}: the choice costs {geometric_mean(judged.costs(one)) - 1:.2%}")
    print("\n".join(f"    CONSTANT({name}, {value:.4g}," for name, value in values.items()))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, lzma.LZMAError, subprocess.SubprocessError) as error:
        sys.exit(f"fit: {error}")
