#!/usr/bin/env python3
"""Tests of shapes and families of them, and of bench/sweep.py with fake rungs.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools.fake_rungs import House, close, holds, refused, require, run_cases, same, tests_in

from bench import ladder, shapes


def test_sizes(_):
    """Names and spellings of shapes, track by track."""
    found = shapes.of_sizes("squares", ("v", "t"))
    same([shape["m"] for shape in found["v"]], list(shapes.SQUARES))
    same(found["t"][-1], {"m": 32768, "n": 32768})
    same(shapes.of_sizes(None, "vt"), {"v": [dict.fromkeys("mnk", 8192)], "t": [found["t"][-1]]})
    both = shapes.of_sizes(" ALL, 8192 ,96", ("v",))["v"]
    same(len(both), len(shapes.SQUARES) + len(shapes.MODELS) + 1)  # 8192 once
    same(both[-1], {"m": 96, "n": 96, "k": 96})
    same(shapes.of_sizes("64x128", ("v", "t")), {"v": [], "t": [{"m": 64, "n": 128}]})
    for text in ("", "0", "8192x", "1x2", "1x2x3x4", "big", "-8", "8 9", "8,,9", str(2**31)):
        refused("--sizes", shapes.of_sizes, text, ("v",))
    refused("--sizes", shapes.of_sizes, "1x2x3", ("t",))


PINNED = {  # the first shapes of families
    "aligned:1": ((256, 13440, 8192), (14336, 3584, 1472), (256, 896, 8768)),
    "any:1": ((9997, 3864, 24), (77, 13080, 7848), (2755, 31128, 1600)),
    "rows:1": ((2, 8192, 7168), (2, 4096, 5120), (8, 5120, 14336)),
    "odd:1": ((17, 30430, 4672), (1833, 119, 7273), (13217, 2216, 46)),
}
LIMITS = {  # GFLOP, and what holds of (m, n, k)
    "aligned": (
        4,
        3000,
        lambda m, n, k: not (m % 128 or n % 128 or k % 64) and max(m, n, k) < 16385,
    ),
    "any": (1, 2000, lambda m, n, k: not (n % 8 or k % 8) and 16 <= min(m, n, k)),
    "rows": (0, 2000, lambda m, n, k: m <= 128 and {n, k} <= {*shapes.LAYERS}),
    "odd": (1, 2000, lambda m, n, k: (n % 8 or k % 8) and 16 <= min(m, n, k)),
}


def test_families(_):
    """Families of shapes are within their limits, the same for ever, and no two seeds share a
    shape."""
    for word, first in PINNED.items():
        same((word, shapes.of_word(word, "v")[: len(first)]), (word, first))
        same(shapes.of_word(f"{word}:2", "v"), first[:2])
    for family, (least, most, holds_of) in LIMITS.items():
        found = [one for seed in range(1, 5) for one in shapes.of_word(f"{family}:{seed}", "v")]
        same((family, len({*found})), (family, 4 * 60))
        for m, n, k in found:
            good = least <= 2e-9 * m * n * k <= most and holds_of(m, n, k)
            size = m * k + n * k + m * n <= 2**29 and max(m, n, k) <= 32768
            require(good and size, f"{family}: {m}x{n}x{k}")
    ragged = {(bool(n % 8), bool(k % 8)) for _, n, k in shapes.of_word("odd:1", "v")}
    same(ragged, {(True, True), (True, False), (False, True)})
    for text in ("any", "any:", "any:x", "some:1", "any:1:0", "any:1:241", "any:1:2:3"):
        refused("--sizes", shapes.of_sizes, text, ("v",))
    refused("no shape", shapes.of_sizes, "any:1", ("t",))
    same(len(shapes.of_sizes("few,16x8192x8192", ("v",))["v"]), 10)


class SweepHouse(House):
    """Fake rungs that a sweep runs."""

    PROGRAM = ("-m", "bench.sweep")

    def usual(self):
        return ("--rounds", "3", "--sizes", "any:1:5", "--steps", "18")


def test_sweep(folder):
    """One process measures all shapes; after a shape that fails, or isn't taken, another one goes
    on."""
    drawn = shapes.of_word("any:1:5", "v")
    wrong = "exit status 1: WRONG      exact: 1 of 4 differ"
    not_taken = {shape: f"m={shape[0]} is no multiple" for shape in drawn if shape[0] % 7}
    # what the rung does, processes, the exit status, what failed, what it refuses
    for index, (behaviour, processes, status, failed, refuses) in enumerate(
        (
            ({"early": 1.5}, 1, 0, {}, {}),
            ({"wrong_in_call": 1}, 2, 1, {drawn[1]: wrong}, {}),
            ({"wrong_in_call": 4}, 1, 1, {drawn[4]: wrong}, {}),
            ({"multiple": 7}, 4, 0, {}, not_taken),
            ({"alone": 7}, 1, 0, {}, dict.fromkeys(not_taken, ladder.ALONE)),
        )
    ):
        house = SweepHouse(Path(folder) / str(index), v18={"cublaslt": 0.8, **behaviour})
        said = house.ladder(status=status).stdout
        points = {one.shape: one for one in house.runs()}
        same((index, {*points}), (index, {*drawn}))
        for found, wanted in (("failed", failed), ("refused", refuses)):
            why = {shape: getattr(one, found) for shape, one in points.items()}
            same({shape: one["v18"] for shape, one in why.items() if one}, wanted)
        same((index, house.commands().count("runs")), (index, processes))
        holds(house.commands()[1], "--heuristics 64", "--protocol burst")
        good = [one for one in points.values() if one.measured]
        same({len(one.seconds("v18")) for one in good}, {3})
        close(good[0].ratio("v18", "cublaslt").mid, 1.25)
        holds(said, "geometric mean 1.250, lowest 1.250", "kernel of number 3")
    house = SweepHouse(Path(folder) / "none", v18={"exit": 77, "stderr": "v18: needs Hopper"})
    require(house.ladder(status=77).stderr.endswith("v18: needs Hopper\n"), "77")
    house.refuses("--sizes 8192x4", "--track t", "--steps v18,v16", "--sizes any:1:0")
    planned = house.ladder("--dry-run").stdout.splitlines()
    same(len(planned), 6)
    holds(planned[0], "v18 --m 9997 --n 3864 --k 24 -")


def test_sweep_interrupted(folder):
    """A Ctrl-C keeps the points that are finished."""
    house = SweepHouse(folder, v18={"sleep_in_call": 2})
    result = house.interrupted(4, signal.SIGINT, rows=2)
    same((result.returncode, len(house.lines())), (130, 2))
    holds(result.stdout, "2 shapes, of cuBLASLt's best", "INTERRUPTED")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("sweeps", tests_in(globals())))
