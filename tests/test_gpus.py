#!/usr/bin/env python3
"""Tests of made-up results of two kinds of GPU side by side: the tables of README and notes, figures by
GPU, the bars of tests/above_cublas.py. Needs no GPU.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

import above_cublas

from tools.cases import holds, refused, require, run_cases, same, tests_in

from bench import results, shapes
from notes.tools import figures, tables

GPU = {"compute_capability": "9.0", "sms": 132, "cuda": "13.0", "cublas": "13.1.0"}
KINDS = {  # how fast their rungs are, of cuBLAS's rate
    "NVIDIA H200": {"v12": 1.03, "v16": 1.07, "v18": 1.06},
    "NVIDIA H100 80GB HBM3": {"v12": 1.01, "v16": 1.05, "v18": 1.04},
}
RIVAL, CUBE, FEW = "v-fast-cu-12", (8192,) * 3, (16, 8192, 8192)
RUNS = (  # name, protocol, shape, programs, on how many of the GPUs
    ("burst", "burst", CUBE, "v12 v16 v18", 2),
    ("sustained", "sustained", CUBE, "v12 v16 v18", 2),
    ("rivals", "burst", CUBE, f"v16 {RIVAL}", 2),
    ("a-rivals", "burst", CUBE, "a06 a-cute-gemm", 1),
    ("sizes", "burst", (512,) * 3, "v16 v18", 2),
    ("sizes", "burst", (8192, 8192, 1024), "v16 v18", 1),
    ("calls", "call", (512,) * 3, "v16 v18", 2),
    ("calls", "call", FEW, "v16 v18", 1),
)


def row(kind, protocol, shape, name, speeds, **more):
    """A row of a program: two rounds of each, the second 1 % slower."""
    problem = dict(zip("mnk", shape))
    context = {"gpu": {"name": kind, **GPU}, "commit": "abc1234", "protocol": protocol, "rounds": 2}
    context["problem"] = {"computation": "gemm_bf16", **problem, "inputs": "normal", "seed": 1}
    read = {"ghz": 1.5, "share": 0.9, "watts": 700, "joules": 1.0, "before_seconds": 0.014}
    launch = 2 * math.prod(shape) / 800e12
    timed = {
        who: {"seconds": [launch / speed, launch / speed * 1.01], **read}
        for who, speed in speeds.items()
    }
    found = {"step": name, "idea": f"idea of {name}", "date": "2027-01-01T00:00:00Z", **more}
    return {**found, "context": context, "timed": timed}


@functools.cache
def folder():
    """A folder of all that these GPUs recorded at one commit, made once; and who removes it."""
    holder = tempfile.TemporaryDirectory()
    home = Path(holder.name) / results.HOME
    for place, (kind, known) in enumerate(KINDS.items()):
        for run, protocol, shape, names, gpus in (run for run in RUNS if place < run[-1]):
            path = Path(holder.name) / results.slug({"name": kind}) / f"{run}.jsonl"
            for first, name in enumerate(names.split()):
                speeds = {"step": known.get(name, 1.02), "cublas": 1, "cublaslt": 1.02}
                speeds |= {"early": 2 * known[name]} if name == "v18" else {}
                search = {"asked": 64, "returned": 64, "winner": {"name": "nvjet_x"}}
                search |= {"enumerated": 1528} if place and run == "burst" else {}
                more = {} if first else {"heuristics": search}
                results.append(path, row(kind, protocol, shape, name, speeds, **more))
    failed = row("NVIDIA H200", "burst", CUBE, "v-broken", {}, failed="exit status 1: wrong")
    results.append(home / "rivals.jsonl", failed)
    return holder, Path(holder.name)


@functools.cache
def library():
    return tables.Library(folder()[1])


def rows_of(block, *words):
    """The cells of a block's table, its head first, and what is said below it."""
    lines = tables.BLOCKS[block](library(), *words)
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return cells, lines[-1]


def test_names(_):
    """Figures are the home GPU's, unless @h100 asks for another, and of a run without rivals."""
    for expression, wanted in (
        ("v16 ratio", "1.070"),
        ("v16 ratio @h200", "1.070"),
        ("v16 ratio @h100", "1.050"),
        ("v16 ratio_to_cublaslt @h100 @sustained", "1.029"),
        ("v18 ratio_to_early", "0.500"),
        ("v18 ratio_to_early @512 @h100", "0.500"),
        ("v16 time @16x8192x8192 @call as us .1", "2.5 µs"),
        (f"{RIVAL} ratio", "1.020"),
        (f"v16/{RIVAL} ratio", "1.049"),
    ):
        same((expression, figures.text_of(expression, library())), (expression, wanted))
    same(library().choose(["v16"]).path.name, "burst.jsonl")


def test_readme(_):
    """The main table and the picture: the other GPU's ratios, each at its own place."""
    rows, caption = rows_of("results")
    head = ["of cuBLAS", "of cuBLASLt's best"]
    same(rows[0][3:], [*head, *(f"H100: {words}" for words in head)])
    found = {row[0].partition("]")[0].lstrip("["): row for row in rows[1:]}
    same([cell.split()[0] for cell in found["v16"][3:]], ["1.070", "1.049", "1.050", "1.029"])
    best = ["the best of 64 to 1,592 configurations", "1.020", "1", "1.020", "1"]
    same([found["cuBLASLt"][1], *found["cuBLASLt"][3:]], best)
    holds(caption, "NVIDIA H100 80GB HBM3, CUDA")
    holds(tables.picture(library())[0], ": v12 820, v16 852, cuBLAS 796, ")


def test_other_tables(_):
    """v18's sizes, calls, rivals, of which one failed, and some programs: a dash where a GPU has no
    run, and both GPUs' ratios."""
    rows, caption = rows_of("sizes")
    same([row[0] for row in rows[1:]], ["512³", "8192³", "8192 × 8192 × 1024"])
    same(rows[0][4:], ["early launch, of cuBLAS", "H100: of cuBLAS", "H100: of cuBLASLt's best"])
    same([cell.split()[0] for cell in rows[1][2:]], ["1.060", "1.039", "2.120", "1.040", "1.020"])
    same(rows[3][5:], ["–", "–"])
    holds(caption, "the best of 64 to 1,592 configurations")
    rows, caption = rows_of("calls")
    same(rows[0], ["m x n x k", "GPU", "v16", "v18", "cuBLAS", "cuBLASLt's best"])
    where = [["16 × 8192 × 8192", "H200"], ["512³", "H200"], ["512³", "H100"]]
    same(([row[:2] for row in rows[1:]], rows[1][2]), (where, "2.5 ±.1 (14.0 ms)"))
    holds(caption, "the best of 64 heuristics")
    rows, caption = rows_of("rivals")
    found = {row[0]: row[1:] for row in rows[1:]}
    names = ["v-broken", RIVAL, "v16", "cuBLAS", "cuBLASLt", "a-cute-gemm", "a06"]
    same((list(found), rows[0][4:6]), (names, ["H200, 4096³: TFLOPS", "of cuBLAS"]))
    same(found["v-broken"], ["failed: exit status 1: wrong", *8 * ["–"]])
    same([found[RIVAL][place].split()[0] for place in (2, 6)], ["1.020", "1.020"])
    same(caption.count("commit `abc1234`"), 3)
    rows, _ = rows_of("shapes", "v16", "v18")
    same(rows[0][2:], ["8192³", "of cuBLAS, H200 / H100"])
    same(rows[1][3], "1.070 ±.001 / 1.050 ±.001")


def test_empty(where):
    """What is not recorded makes no table, and a bar has no figure."""
    nothing = tables.Library(Path(where))
    for block, *words in ["results"], ["sizes"], ["calls"], ["rivals"], ["sweep", "v18", "1"]:
        refused("nothing recorded has all of", tables.BLOCKS[block], nothing, *words)
    same(tables.track(nothing, "f"), tables.NOTHING)
    found = [*above_cublas.of_best(nothing), *above_cublas.random_shapes(nothing)]
    same({value for _, value, _ in found}, {None})


def test_bars(_):
    """The bars of tests/above_cublas.py are of each GPU."""
    found = {words: (round(value, 3), bar) for words, value, bar in above_cublas.of_best(library())}
    for protocol in results.PROTOCOLS[:2]:
        same(found[f"{protocol} on an H200"], (1.049, 1.01))
        same(found[f"{protocol} on an H100"], (1.029, 1.005))


def test_families(where):
    """Bars and tables over random shapes want all shapes of all families; the ten lowest are listed."""
    seed, kind = above_cublas.JUDGES, "NVIDIA H200"
    path = Path(where) / results.HOME / "judged.jsonl"
    drawn = [(of, shape) for of in shapes.FAMILIES for shape in shapes.drawn(of, seed, 60)]
    for place, (_, shape) in enumerate([*drawn, *((None, shape) for shape in shapes.FEW)]):
        part = 0.9 + 0.2 * (place % 60) / 59  # of cuBLASLt's best, from the first shape to the last
        speeds = {"step": 1, "early": 1.25, "cublas": 0.8, "cublaslt": 1 / part}
        search = {"returned": 8, "winner": {"name": "nvjet_sm90_tst_176x128_64x5_1x2_h_bz_TNN"}}
        more = {"heuristics": search, "kernel": 3}
        results.append(path, row(kind, "burst", shape, above_cublas.JUDGED, speeds, **more))
        if place == len(drawn) - 2:
            lacking = above_cublas.random_shapes(tables.Library(Path(where)))
            same({value for _, value, _ in lacking}, {None})
    copy = row(kind, "burst", (4096, 16384), "t02", {"step": 0.1, "device_copy": 1})
    results.append(path.with_name("t.jsonl"), copy)
    made = tables.Library(Path(where))
    found = {words: value for words, value, _ in above_cublas.random_shapes(made)}
    same(round(found[f"any:{seed}, geometric mean"], 3), 0.998)
    same(round(found[f"aligned:{seed}, lowest"], 3), 0.9)
    require(found["few rows, of a device copy's rate"] > 0, found)
    same(found["512³, usual launch"], None)
    lines = tables.BLOCKS["sweep"](made, above_cublas.JUDGED, str(seed))
    same(lines[2], "| aligned | 0.998 | 0.900 | 30 of 60 | 1.248 | 1.250 |")
    lines = tables.BLOCKS["sweep"](made, above_cublas.JUDGED, str(seed), "worst")
    same((len(lines), lines[2].count("| 0.900 | 1.125 | 3 |")), (12, 1))
    require(lines[2].endswith("`176x128_64x5_1x2_h_bz_TNN` |"), lines[2])


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("gpus", tests_in(globals())))
