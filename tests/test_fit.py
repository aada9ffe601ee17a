#!/usr/bin/env python3
"""Tests of bench/fit.py with times that a model with other constants made: a fit finds what these
times can tell, and the choice by the fitted model is that of the times. Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from tools import case, exit_status

from bench import fit

KERNELS = {
    "128 x 256, 4 stages, cooperative": (128, 256, 2, 1, 0, 4, 1, 1, False),
    "256 x 200, 3 stages, cooperative, 1x4": (256, 200, 2, 1, 0, 3, 1, 4, False),
    "128 x 160, 5 stages, ping-pong, 4x2": (128, 160, 2, 2, 0, 5, 4, 2, False),
    "64 x 16, 16 stages, one consumer, swapped": (64, 16, 1, 1, 0, 16, 1, 1, True),
    "192 x 192, 4 stages, cooperative by columns, swapped": (192, 192, 2, 1, 1, 4, 1, 1, True),
}
OTHER = {"start": 0.5, "price_byte": 2}  # times the header's
GPU = {"name": "Test", "l2_bytes": 60_000_000, "memory_bytes_per_second": 4.9e12}
FORMS = 3
LISTED = "clusters of 1, 2 ... CTAs that are resident at once: 132 66 39 30 22 17 15 15\n"
LISTED += "".join(f"   1  {words}   2  whole\n" * FORMS for words in KERNELS)


def row(model, number, numbers):
    """What `--kernel all --json` would write if these constants were the truth, with an error of 1 %."""
    values = {name: OTHER.get(name, 1) * value for name, value in fit.constants().items()}
    shape = (numbers.choice((16, 512, 777, 3000)), 1024 * numbers.randint(1, 9))
    shape += (64 * numbers.randint(4, 150),)
    plans = {i: model.point(i, shape, GPU) for i in range(1, FORMS * len(KERNELS) + 1)}
    points = [point for point in plans.values() if point]
    cycles, ones = ((ctypes.c_double * len(points))(*[1] * len(points)) for _ in range(2))
    given = (ctypes.c_double * len(values))(*values.values())
    rows = (fit.Point * len(points))(*points), ones, cycles
    model.library.model_loss(given, len(points), *rows)
    seconds = [cycle / fit.HERTZ * numbers.uniform(0.99, 1.01) for cycle in cycles]
    timed = {"step": {"seconds": [1.0]}}
    timed |= dict(
        zip((f"kernel-{i}" for i in plans if plans[i]), ({"seconds": [s] * 3} for s in seconds))
    )
    problem = dict(zip("mnk", shape), computation="gemm_bf16", seed=number)
    context = {"gpu": GPU, "commit": "abc", "protocol": "burst", "problem": problem, "rounds": 3}
    return {"step": "v24", "date": "2026-01-01T00:00:00Z", "context": context, "timed": timed}


def main():
    model, numbers = fit.Model(LISTED), random.Random(1)
    found = {words: fit.kernel_of(words) for words in KERNELS}
    case("a kernel's name says what it is", "" if found == KERNELS else f"{found}")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("fitted.jsonl", "others.jsonl")]
        for path, count in zip(paths, (60, 20)):
            lines = (json.dumps(row(model, number, numbers)) for number in range(count))
            path.write_text("".join(f"{line}\n" for line in lines))
        listed = Path(folder) / "kernels.txt"
        listed.write_text(LISTED)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            words = [paths[1], "--kernels", listed, "--fit", paths[0]]
            fit.main(list(map(str, words)))
        judged = [f": {count} shapes, " in said.getvalue() for count in (60, 20)]
        case("what is fitted and what is judged is told", "" if all(judged) else said.getvalue())
        before, others = fit.constants(), fit.Times(model, [paths[1]])
        printed = re.findall(r"^    \.(\w+) = ([-.\de+]+),$", said.getvalue(), re.MULTILINE)
        values = {name: float(value) for name, value in printed}
        same = "" if [*values] == [*before] else said.getvalue()
        case("the constants are printed as the header has them", same)
        off = {name: values[name] / before[name] / factor for name, factor in OTHER.items()}
        bad = [f"{name}: {ratio:.2f}" for name, ratio in off.items() if not 0.8 < ratio < 1.25]
        case("a fit finds constants that the times were made with", ", ".join(bad))
        kept = [name for name in fit.KEPT if values[name] != before[name]]
        case("a fit keeps what no times can tell", ", ".join(kept))
        errors = [others.loss(given) for given in (before, values)]
        why = "" if errors[1] < errors[0] / 4 else f"{errors[0]:.2g}, {errors[1]:.2g}"
        case("and predicts times that it was not fitted to", why)
        worst = max(others.costs(values))
        case("the choice by it costs no more than the error", "" if worst[0] < 1.03 else f"{worst}")
        other = row(model, 1, numbers)
        paths[0].write_text(json.dumps({**other, "timed": {"step": {"seconds": [1.0]}}}) + "\n")
        try:
            fit.Times(model, paths[:1])
            why = "it is taken"
        except ValueError as error:
            why = "" if "fitted.jsonl" in str(error) else str(error)
        case("rows without kernels are rejected", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
