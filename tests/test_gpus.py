#!/usr/bin/env python3
"""Tests of made-up results of two kinds of GPU, and of two cards of one kind, side by side: the tables
of README and notes, figures by GPU, the bars of tests/above_cublas.py. Needs no GPU.

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

from tools.cases import require, run_cases, same

from bench import results, shapes
from notes.tools import figures, tables

GPU = {"compute_capability": "9.0", "sms": 132, "cuda": "13.0", "cublas": "13.1.0"}
# Each kind's file behind the name of a run, and how fast its rungs are, of cuBLAS's rate.
CARDS = {
    "a": ("NVIDIA H200", ".jsonl", {"v12": 1.03, "v16": 1.07, "v18": 1.06}),
    "b": ("NVIDIA H200", ".bbbbbbbb.jsonl", {"v16": 1.04, "v18": 1.02}),
    "c": ("NVIDIA H100 80GB HBM3", ".jsonl", {"v12": 1.01, "v16": 1.05, "v18": 1.04}),
}
RIVAL, CUBE, FEW = "v-fast-cu-12", (8192,) * 3, (16, 8192, 8192)
RUNS = (  # name, protocol, shape, programs (of a card that has them), on which cards
    ("burst", "burst", CUBE, "v12 v16 v18", "abc"),
    ("sustained", "sustained", CUBE, "v12 v16 v18", "abc"),
    ("rivals", "burst", CUBE, f"v16 {RIVAL}", "ac"),
    ("sizes", "burst", (512,) * 3, "v16 v18", "ac"),
    ("sizes", "burst", (8192, 8192, 1024), "v16 v18", "a"),
    ("calls", "call", (512,) * 3, "v16 v18", "ac"),
    ("calls", "call", FEW, "v16 v18", "a"),
)


def timed(launch, speeds):
    """What two rounds of each measured, the second 1 % slower."""
    read = {"ghz": 1.5, "share": 0.9, "watts": 700, "joules": 1.0, "before_seconds": 0.014}
    return {
        who: {"seconds": [launch / speed * part for part in (1, 1.01)], **read}
        for who, speed in speeds.items()
    }


def row(gpu, protocol, shape, name, speeds, **more):
    """A row of a program."""
    problem = dict(zip("mnk", shape)) if len(shape) == 3 else dict(zip("mn", shape))
    context = {"gpu": gpu, "commit": "abc1234", "protocol": protocol, "rounds": 2}
    context["problem"] = {"computation": "gemm_bf16", **problem, "inputs": "normal", "seed": 1}
    launch = 2 * math.prod(shape) / 800e12
    found = {"step": name, "idea": f"idea of {name}", "date": "2027-01-01T00:00:00Z", **more}
    return {**found, "context": context, "timed": timed(launch, speeds)}


@functools.cache
def folder():
    """A folder of all that these cards recorded at one commit, made once; and who removes it."""
    holder = tempfile.TemporaryDirectory()
    for card, (kind, suffix, known) in CARDS.items():
        gpu = {"name": kind, "card": 8 * card, **GPU}
        for run, protocol, shape, names, cards in RUNS:
            path = Path(holder.name) / results.slug(gpu) / f"{run}{suffix}"
            for place, name in enumerate(name for name in names.split() if card in cards):
                if name not in {*known, RIVAL}:
                    continue
                speeds = {"step": known.get(name, 1.02), "cublas": 1, "cublaslt": 1.02}
                speeds |= {"early": 2 * known[name]} if name == "v18" else {}
                search = {"asked": 64, "returned": 64, "winner": {"name": "nvjet_x"}}
                search |= {"enumerated": 1528} if card == "c" and run == "burst" else {}
                more = {} if place else {"heuristics": search}
                results.append(path, row(gpu, protocol, shape, name, speeds, **more))
    failed = row({"name": CARDS["a"][0], "card": "a" * 8, **GPU}, "burst", CUBE, "v-broken", {})
    path = Path(holder.name) / results.HOME / "rivals.jsonl"
    results.append(path, {**failed, "failed": "exit status 1: wrong"})
    return holder, Path(holder.name)


@functools.cache
def library():
    return tables.Library(folder()[1])


def rows_of(block, *words):
    """The cells of a block's table, its head first, and what is said below it."""
    lines = tables.BLOCKS[block](library(), *words)
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return cells, lines[-1]


def cards(_folder):
    """The home GPU is first, its card without a name of its own before others."""
    run = library().choose(["v16"])
    same(run.path.name, "burst.jsonl")  # neither of the other card, nor with rivals
    found = library().beside(run, ["v16"])
    same([[one.gpu["card"][0] for one in of] for of in found.values()], [["a", "b"], ["c"]])


def names(_folder):
    """Figures are the home GPU's first card's, unless @h100 asks for another."""
    for expression, wanted in (
        ("v16 ratio", "1.070"),
        ("v16 ratio @h200", "1.070"),
        ("v16 ratio @h100", "1.050"),
        ("v16 ratio_to_cublaslt @h100 @sustained", "1.029"),
        ("v18 ratio_to_early", "0.500"),
        ("v18 ratio_to_early @512 @h100", "0.500"),
        ("v16 before_seconds @512 @call as ms .0", "14 ms"),
        ("v16 time @16x8192x8192 @call as us .1", "2.5 µs"),
        (f"{RIVAL} ratio", "1.020"),
        (f"v16/{RIVAL} ratio", "1.049"),
    ):
        same((expression, figures.text_of(expression, library())), (expression, wanted))


def readme(_folder):
    """The main table: medians of the cards, the other GPU's ratios, the worst card."""
    rows, caption = rows_of("results")
    head = ["of cuBLAS", "of cuBLASLt's best"]
    same(rows[0][3:7], [*head, *(f"H100: {words}" for words in head)])
    found = {row[0].partition("]")[0].lstrip("["): row for row in rows[1:]}
    medians = [cell.split()[0] for cell in found["v16"][3:]]
    same(medians, ["1.055", "1.034", "1.050", "1.029"])
    same(found["v16"][3].split()[1], "±.015")  # half of what is between the cards
    same(found["cuBLASLt"][3:7], ["1.020", "1", "1.020", "1"])
    same(
        found["cuBLASLt"][1],
        "the best of 64 heuristics; H100: the best of 1,592 configurations",
    )
    for words in (
        "H200: v16 to v18 were measured on 2 cards; their ratios are medians, ± spans all cards; ",
        "on the slowest, v16 is at 1.020 of cuBLASLt's best",
        "NVIDIA H100 80GB HBM3, CUDA",
    ):
        require(words in caption, f"no '{words}' in {caption}")
    require(
        ": v12 820, v16 852, cuBLAS 796, " in tables.picture(library())[0],
        tables.picture(library()),
    )


def sizes(_folder):
    """v18's sizes on both GPUs, with a dash where one has no run."""
    rows, caption = rows_of("sizes")
    same([row[0] for row in rows[1:]], ["512³", "8192³", "8192 × 8192 × 1024"])
    same(rows[0][4:], ["early launch, of cuBLAS", "H100: of cuBLAS", "H100: of cuBLASLt's best"])
    same([cell.split()[0] for cell in rows[1][2:]], ["1.060", "1.039", "2.120", "1.040", "1.020"])
    same(rows[3][5:], ["–", "–"])
    require("the best of 64 to 1,592 configurations" in caption, caption)


def calls(_folder):
    """What a caller waits for, and what each did before."""
    rows, caption = rows_of("calls")
    same(rows[0], ["m x n x k", "GPU", "v16", "v18", "cuBLAS", "cuBLASLt's best"])
    where = [["16 × 8192 × 8192", "H200"], ["512³", "H200"], ["512³", "H100"]]
    same([row[:2] for row in rows[1:]], where)
    same(rows[1][2], "2.5 ±.1 (14.0 ms)")
    require("the best of 64 heuristics" in caption, caption)


def rivals(_folder):
    """Rivals beside the top rung, on each GPU, and one that failed."""
    rows, caption = rows_of("rivals")
    same(rows[0][2:], ["H200, 8192³: TFLOPS", "of cuBLAS", "H100, 8192³: TFLOPS", "of cuBLAS"])
    found = {row[0]: row[1:] for row in rows[1:]}
    same(list(found), ["v-broken", RIVAL, "v16", "cuBLAS", "cuBLASLt"])
    same(found["v-broken"], ["failed: exit status 1: wrong", "–", "–", "–", "–"])
    same([cell.split()[0] for cell in found[RIVAL][2::2]], ["1.020", "1.020"])
    require(caption.count("commit `abc1234`") == 2, caption)


def shapes_of_two(_folder):
    """A table of some rungs has the ratios of both GPUs in one cell."""
    rows, _ = rows_of("shapes", "v16", "v18")
    same(rows[0][2:], ["8192³", "of cuBLAS, H200 / H100"])
    same(rows[1][3], "1.055 ±.015 / 1.050 ±.001")


def empty(where):
    """Of what is not recorded a table says so, and a bar has no figure."""
    nothing = tables.Library(Path(where))
    for block in ("sizes", "calls", "rivals"):
        same(tables.BLOCKS[block](nothing), [tables.NOTHING])
    same(tables.BLOCKS["sweep"](nothing, "v18", "1"), [tables.NOTHING])
    found = [*above_cublas.of_best(nothing), *above_cublas.random_shapes(nothing)]
    same({value for _, value, _ in found}, {None})


def bars(_folder):
    """The bars of tests/above_cublas.py, as medians of the cards."""
    found = {words: (round(value, 3), bar) for words, value, bar in above_cublas.of_best(library())}
    for protocol in results.PROTOCOLS[:2]:
        same(found[f"{protocol} on 2 cards of H200"], (1.034, 1.01))
        same(found[f"{protocol} on 1 card of H100"], (1.029, 1.005))


def families(where):
    """Bars and tables over random shapes want all shapes of all families; the ten lowest are listed."""
    seed, gpu = above_cublas.JUDGES, {"name": "NVIDIA H200", **GPU}
    path = Path(where) / results.HOME / "judged.jsonl"
    drawn = [(of, shape) for of in shapes.FAMILIES for shape in shapes.drawn(of, seed, 60)]
    for place, (_, shape) in enumerate([*drawn, *((None, shape) for shape in shapes.FEW)]):
        part = 0.9 + 0.2 * (place % 60) / 59  # of cuBLASLt's best, from the first shape to the last
        speeds = {"step": 1, "early": 1.25, "cublas": 0.8, "cublaslt": 1 / part}
        search = {"returned": 8, "winner": {"name": "nvjet_sm90_tst_176x128_64x5_1x2_h_bz_TNN"}}
        more = {"heuristics": search, "kernel": 3}
        results.append(path, row(gpu, "burst", shape, above_cublas.JUDGED, speeds, **more))
        if place == len(drawn) - 2:
            lacking = above_cublas.random_shapes(tables.Library(Path(where)))
            same({value for _, value, _ in lacking}, {None})
    copy = row(gpu, "burst", (4096, 16384), "t02", {"step": 0.1, "device_copy": 1})
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


TESTS = (cards, names, readme, sizes, calls, rivals, shapes_of_two, empty, bars, families)

if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("gpus", TESTS))
