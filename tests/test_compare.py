#!/usr/bin/env python3
"""Tests of bench/compare.py with ladders of fake rungs and with recorded ones.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

from tools.fake_rungs import House, holds, require, run, run_cases, same, tests_in


def ladder(folder, name, *words, status=0, **rungs):
    """Records a ladder of these rungs; returns its path."""
    house = House(Path(folder) / name, **rungs)
    house.ladder(*words, status=status)
    return house.out


def compare(old, new, *texts, status=0):
    """Runs the comparison, which ends so and prints every text; what it printed."""
    result = run(sys.executable, "-m", "bench.compare", str(old), str(new))
    same((result.returncode, result.stderr.count("\n")), (status, int(status == 2)))
    holds(result.stdout or result.stderr, *texts)
    return result.stdout


def test_agree(folder):
    """Two equal runs agree, and the report says within what."""
    old = ladder(folder, "old", v01={}, v02={"speed": 0.8})
    new = ladder(folder, "new", v01={"speed": 1.003}, v02={"speed": 0.8})
    said = compare(
        old,
        new,
        "v01   1.0000 ±.0001  1.0030 ±.0001  1.0030",
        "256x256x256 burst: ratio to cuBLAS: ",
        "largest disagreement: v01 0.30 %, v02 0.00 %",
        "the two runs agree within 0.30 % (v01 at 256x256x256 burst)",
        "no regression over 1 %",
    )
    require("differ" not in said, said)


def test_regression(folder):
    """A rung that is over 1 % slower is named, at its shape, and the exit status is 1; other GPUs
    and commits are told, and what they measured is compared all the same."""
    sizes = ("--sizes", "256,512")
    changed = {"gpu": "Fake GPU 2", "commit": "def5678"}
    rungs = {"v01": {"speed": 0.991}, "v02": {"speed": 0.98}, "v03": {"speed": 2}}
    rungs = {name: {**behaviour, **changed} for name, behaviour in rungs.items()}
    said = compare(
        ladder(folder, "old", *sizes, v01={}, v02={}, v03={}),
        ladder(folder, "new", *sizes, **rungs),
        "REGRESSION: v02 at 256x256x256 burst: 0.9800 of what it was",
        "REGRESSION: v02 at 512x512x512 burst",
        "faster",
        "the GPUs differ in name: Fake GPU 1 and Fake GPU 2",
        "commit abc1234",
        "commit def5678",
        status=1,
    )
    require("v01 at" not in said and "within the spread" not in said, said)


def test_doubtful(folder):
    """A slower rung within the spread is a regression too, to be measured again."""
    compare(
        ladder(folder, "old", v01={"noise": 0.1}),
        ladder(folder, "new", v01={"noise": 0.1, "speed": 0.98}),
        "REGRESSION; within the spread: measure again",
        "REGRESSION: v01 at 256x256x256 burst: 0.9800 of what it was",
        status=1,
    )


def test_lost(folder):
    """A rung that has no result any more is a regression; one that is new or gone is told."""
    rungs = {"v01": {}, "v02": {}, "v03": {}, "v04": {}, "v06": {"exit": 1}}
    behaviours = {"v02": {"exit": 1, "stderr": "broken"}, "v03": {"multiple": 512}}
    compare(
        ladder(folder, "old", status=1, **rungs),
        ladder(folder, "new", status=1, v01={}, v05={}, v06={}, **behaviours),
        "REGRESSION: v02 at 256x256x256 burst: failed: exit status 1: broken",
        "REGRESSION: v03 at 256x256x256 burst: does not take this shape",
        "v04   OLD 1.0000; NEW was not run",
        "v05   OLD was not run; NEW 1.0000",
        "v06   OLD failed: exit status 1",
        status=1,
    )


def test_foreign(folder):
    """Other shapes, inputs, seeds or protocols are not compared, and it is said what differs; what
    only one file has is named, and the rest compared."""
    old = ladder(folder, "old", v01={}, t02={})
    for index, (words, said) in enumerate(
        (
            ("--size 512", "m: 256 and 512"),
            ("--inputs uniform --seed 2", "inputs: normal and uniform; seed: 1 and 2"),
            ("--protocol sustained", "protocol: burst and sustained"),
            ("--track t", "computation: gemm_bf16 and transpose_fp32"),
        )
    ):
        new = ladder(folder, f"new{index}", *words.split(), v01={}, t02={})
        compare(old, new, "no ladder in common", said, status=2)
    old = ladder(folder, "both", "--protocol", "both", v01={})
    new = ladder(folder, "sizes", "--sizes", "256,512", v01={})
    compare(
        *(old, new),
        *("256x256x256 sustained is in OLD alone", "512x512x512 burst is in NEW alone"),
    )


def test_broken(folder):
    """A file that is missing, cut short or without times is refused by name; one agrees with
    itself."""
    good = ladder(folder, "good", v01={})
    bad = Path(folder) / "bad.jsonl"
    compare(good, bad, "bad.jsonl: ", "No such file", status=2)
    for text, said in (
        (good.read_text()[:-20], "bad.jsonl, line 3: not a row"),
        (min(RESULTS.glob("*/counters.jsonl")).read_text(), "no times"),
    ):
        bad.write_text(text)
        compare(good, bad, said, status=2)
    for path in RESULTS.glob("*/burst.jsonl"):
        compare(path, path, "the two runs agree within 0.00 %")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("compare", tests_in(globals())))
