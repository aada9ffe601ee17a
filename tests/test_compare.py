#!/usr/bin/env python3
"""Tests of bench/records/compare.py with ladders of fake rungs and with recorded ones.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPARE = ("-m", "bench.records.compare")
RESULTS = ROOT / "bench" / "results"

from tools.fake_rungs import House, close, holds, require, run, run_cases, same, tests_in

from bench.records import compare as compared
from bench.records import recorded


def ladder(folder, name, *words, **rungs):
    """Records a ladder of these rungs; returns its path."""
    house = House(Path(folder) / name, **rungs)
    house.ladder(*words)
    return house.out


def compare(old, new):
    """Runs the comparison."""
    result = run(sys.executable, *COMPARE, str(old), str(new))
    require("Traceback" not in result.stderr, result.stderr)
    return result


def says(result, *texts):
    """Every text is in what it printed."""
    holds(result.stdout, *texts)


def refuses(old, new, *texts):
    """Exit status 2 and one line with these texts."""
    result = compare(old, new)
    same((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))
    holds(result.stderr, *texts)


def test_agree(folder):
    """Two equal runs agree, and the report says within what."""
    old = ladder(folder, "old", v01={}, v02={"speed": 0.8})
    new = ladder(folder, "new", v01={"speed": 1.003}, v02={"speed": 0.8})
    result = compare(old, new)
    same(result.returncode, 0)
    says(
        result,
        "v01   1.0000  1.0030  1.0030   1.0030 to 1.0030",
        "256x256x256 burst: ratio to cuBLAS (passes 3 and 3, and the rounds in them, drawn anew)",
        "largest disagreement: v01 0.30 %, v02 0.00 %",
        "the two runs agree within 0.30 % (v01 at 256x256x256 burst)",
        "no regression over 1 %",
    )
    require("differ" not in result.stdout, result.stdout)


def test_regression(folder):
    """A rung that is over 1 % slower is named, at its shape, and the exit status is 1."""
    sizes = ("--sizes", "256,512")
    old = ladder(folder, "old", *sizes, v01={}, v02={}, v03={})
    new = ladder(folder, "new", *sizes, v01={"speed": 0.991}, v02={"speed": 0.98}, v03={"speed": 2})
    result = compare(old, new)
    same(result.returncode, 1)
    says(result, "REGRESSION over 1 %: v02 at 256x256x256 burst: 0.9800 of what it was")
    says(result, "REGRESSION over 1 %: v02 at 512x512x512 burst", "faster")
    require("v01 at" not in result.stdout, result.stdout)


def test_lost(folder):
    """A rung that has no result any more is a regression; one that is new or gone is told."""
    old = ladder(folder, "old", v01={}, v02={}, v03={}, v04={}, v06={"exit": 1})
    behaviours = {"v02": {"exit": 1, "stderr": "broken"}, "v03": {"multiple": 512}}
    new = ladder(folder, "new", v01={}, v05={}, v06={}, **behaviours)
    result = compare(old, new)
    same(result.returncode, 1)
    says(
        result,
        "REGRESSION: v02 at 256x256x256 burst failed: exit status 1: broken",
        "REGRESSION: v03 at 256x256x256 burst does not take this shape",
        "v04 is in OLD alone",
        "v05 is in NEW alone",
        "v06: OLD failed: exit status 1",
    )


def test_origins(folder):
    """Other GPUs and commits are told; what they measured is compared all the same."""
    old = ladder(folder, "old", v01={})
    new = ladder(folder, "new", v01={"gpu": "Fake GPU 2", "commit": "def5678"})
    result = compare(old, new)
    same(result.returncode, 0)
    says(result, "the GPUs differ in name: Fake GPU 1 and Fake GPU 2")
    says(result, "the commits differ: abc1234 and def5678")


def test_foreign(folder):
    """Other shapes, inputs, seeds or protocols are not compared, and it is said what differs."""
    old = ladder(folder, "old", v01={}, t02={})
    for index, (words, said) in enumerate(
        (
            (("--size", "512"), "m: 256 and 512"),
            (("--inputs", "uniform"), "inputs: normal and uniform"),
            (("--seed", "2"), "seed: 1 and 2"),
            (("--protocol", "sustained"), "protocol: burst and sustained"),
            (("--track", "t"), "computation: gemm_bf16 and transpose_fp32"),
        )
    ):
        new = ladder(folder, f"new{index}", *words, v01={}, t02={})
        refuses(old, new, "no ladder in common", said)


def test_part(folder):
    """What only one file has is named; the rest is compared."""
    old = ladder(folder, "old", "--protocol", "both", v01={})
    new = ladder(folder, "new", "--sizes", "256,512", v01={})
    result = compare(old, new)
    same(result.returncode, 0)
    says(result, "256x256x256 sustained is in OLD alone", "512x512x512 burst is in NEW alone")


def test_broken(folder):
    """A file that is missing, cut short, of another kind or edited is refused by name."""
    good = ladder(folder, "good", v01={})
    bad = Path(folder) / "bad.json"
    refuses(good, bad, "bad.json: No such file")
    bad.write_text(good.read_text()[:-20])
    refuses(good, bad, "bad.json: ", "cut short")
    bad.write_text(good.read_text().replace('"seed": 1', '"seed": "one"'))
    refuses(bad, good, "bad.json: ladders[0].problem.seed")
    bad.write_bytes(min(RESULTS.glob("*-counters-*.json")).read_bytes())
    refuses(good, bad, "bad.json: no times")
    bad.write_text("[" * 100_000)
    refuses(good, bad, "bad.json: ", "nested too deeply")
    same(run(sys.executable, *COMPARE, str(good)).returncode, 2)


def test_old_files(_):
    """Ladders of schema 1 are compared as well, and with themselves they agree."""
    for path in RESULTS.glob("same-card/*.json"):
        result = compare(path, path)
        same(result.returncode, 0)
        says(result, "the two runs agree within 0.00 %")


def test_old_and_new(folder):
    """A file of schema 1 and one of schema 2 are compared."""
    new = ladder(folder, "new", "--size", "8192", v01={}, v02={})
    old = max(RESULTS.glob("*8192x8192x8192-burst-2026*.json"))
    result = compare(old, new)
    says(result, "8192x8192x8192 burst: ratio to cuBLAS", "v12 is in OLD alone", "the GPUs differ")


def ratio(*passes):
    """A ratio as it is recorded, of these passes' samples."""
    samples = [value for one in passes for value in one]
    medians = [recorded.median(one) for one in passes]
    return dict(recorded.summary(samples), samples=samples, pass_medians=medians)


def test_interval(_):
    """The interval is the same each time, holds the quotient, and grows with what passes differ."""
    old = ratio([1.0, 1.01], [1.0, 1.01], [1.0, 1.01])
    low, high = compared.interval(old, old)
    same((low, high), compared.interval(old, old))
    require(0.99 < low < 1 < high < 1.011, (low, high))
    apart = ratio([0.9, 0.9], [1.0, 1.0], [1.1, 1.1])
    wide = compared.interval(old, apart)
    require(wide[0] < 0.92 and wide[1] > 1.05, wide)
    one_pass = ratio([0.9, 1.0, 1.1])
    close(compared.interval(one_pass, ratio([1.0]))[0], 1 / 1.1)
    change = compared.Change("v01", "x", 1.0, 0.98, 0.95, 1.01)
    holds(change.remark(), "measure again")


TWICE = "nvidia-h200-8192x8192x8192-burst-20261121"


def test_recorded_agreement(_):
    """Two burst runs on one GPU agree within 0.5 % per rung, and the recorded report says so."""
    paths = [RESULTS / f"{TWICE}T{clock}Z.json" for clock in ("200243", "200407")]
    result = run(sys.executable, *COMPARE, *map(str, paths))
    same(result.returncode, 0)
    same((RESULTS / f"{TWICE}-agreement.txt").read_text(), result.stdout)
    found = re.findall(r"(v[0-9]{2}) ([0-9.]+) %[,\n]", result.stdout.split("disagreement:")[1])
    same(len(found), 12)
    for name, percent in found:
        require(float(percent) <= 0.5, f"{name}: {percent} %")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("compare", tests_in(globals())))
