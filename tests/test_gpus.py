#!/usr/bin/env python3
"""Tests of records of two kinds of GPU, and of two cards of one kind, side by side. Needs no GPU.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

import above_cublas

from tools import made_sweeps, stored
from tools.fake_rungs import House, close, require, run_cases, same

from bench.records import recorded
from notes.tools import readings, readme_table, shapes_table

# Kinds of GPU: name, card, GB, and how fast each rung is, of cuBLAS's time; early launches of v18.
CARDS = {
    "a": ("NVIDIA H200", "aaaaaaaa", 141, {"v12": 1.03, "v16": 1.07, "v18": 1.06}),
    "b": ("NVIDIA H200", "bbbbbbbb", 141, {"v16": 1.04, "v18": 1.02}),
    "c": ("NVIDIA H100 80GB HBM3", "cccccccc", 80, {"v12": 1.01, "v16": 1.05, "v18": 1.04}),
}
RIVALS = {"v-fast-cu-12": {"speed": 1.02}, "v-broken": {"exit": 1, "stderr": "wrong"}}
BURST = ("--size", "8192")
RUNS = {  # of each card: file and options
    "a": (
        ("burst", *BURST),
        ("sustained", *BURST, "--protocol", "sustained"),
        ("sizes", "--sizes", "512,8192x8192x1024", "--steps", "v16,v18"),
        ("calls", "--sizes", "512,16x8192x8192", "--protocol", "call", "--steps", "v16,v18"),
        ("rivals", "--sizes", "8192", "--steps", "v16,v-fast-cu-12,v-broken"),
    ),
    "b": (("burst", *BURST), ("sustained", *BURST, "--protocol", "sustained")),
    "c": (
        ("burst", *BURST, "--heuristics", "all"),
        ("sustained", *BURST, "--protocol", "sustained"),
        ("sizes", "--sizes", "512", "--steps", "v16,v18"),
        ("calls", "--sizes", "512", "--protocol", "call", "--steps", "v16,v18"),
        ("rivals", "--sizes", "8192", "--steps", "v16,v-fast-cu-12"),
    ),
}


@functools.cache
def store():
    """A folder of all that these cards recorded at one commit, made once."""
    holder = tempfile.TemporaryDirectory()
    results = Path(holder.name) / "results"
    results.mkdir()
    for card, (gpu, short, memory, speeds) in CARDS.items():
        (Path(holder.name) / card).mkdir()
        more = {"gpu": gpu, "card": short, "memory_bytes": memory * 10**9, "cublaslt": 1.02}
        rungs = {name: {"speed": speed, **more} for name, speed in speeds.items()}
        rungs["v18"]["early"] = 2 * speeds["v18"]
        rivals = {name: {**behaviour, **more} for name, behaviour in RIVALS.items()}
        house = House(Path(holder.name) / card, **rungs, **rivals)
        for name, *words in RUNS[card]:
            steps = () if "--steps" in words else ("--steps", ",".join(speeds))
            out = str(results / f"{card}-{name}.json")
            house.ladder(*words, *steps, "--out", out, status=int("v-broken" in str(words)))
    return holder, results


def results():
    return store()[1]


def ladder(name):
    """The only ladder of that file."""
    return recorded.load_ladder(results() / f"{name}.json")


def home(_folder):
    """The home GPU has the most rungs in a standard run, then the most memory; its main card the most
    results."""
    found = recorded.home(results())
    same(found.gpu, "NVIDIA H200")
    same(found.cards["NVIDIA H200", "abc1234"], "aaaaaaaa")
    ladders = [ladder(f"{card}-burst") for card in "bc"]  # of which c has more rungs
    same(recorded.home_of(ladders).gpu, "NVIDIA H100 80GB HBM3")
    same(recorded.home_of([]).gpu, None)
    newest = stored.newest_with({"v16"}, (8192,) * 3, folder=results())
    same(newest, ladder("a-burst"))  # neither of the other card, nor with rivals
    ladders = [one for _, one in recorded.all_ladders(results())]
    found = recorded.beside_in(ladder("a-burst"), ladders)
    cards = [[one["gpu"]["card"][0] for one in ladders] for ladders in found.values()]
    same(cards, [["a", "b"], ["c"]])


def figures(_folder):
    """Figures of the notes are the home GPU's main card's, unless @h100 asks for another."""
    library = readings.Library(results())
    for expression, wanted in (
        ("v16 ratio", "1.070"),
        ("v16 ratio @h200", "1.070"),
        ("v16 ratio @h100", "1.050"),
        ("v16 ratio_to_cublaslt @h100 @sustained", "1.029"),
        ("v18 ratio_to_early", "0.500"),
        ("v18 ratio_to_early @512 @h100", "0.500"),
        ("v12 limited.power @sustained @h100", "90.0 %"),
        ("v16 before_seconds @512 @call as ms .0", "14 ms"),
        ("v16 time @512 @call as us .0", "578 µs"),
        ("v-fast-cu-12 ratio", "1.020"),
        ("v16/v-fast-cu-12 ratio", "1.049"),
    ):
        same((expression, readings.text_of(expression, library)), (expression, wanted))


def readme(folder):
    """The main table: medians of the cards, the other GPU's ratios, the worst card."""
    text = readme_table.block(ladder("a-burst"), Path(folder), results())
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()]
    head = ["of cuBLAS", "of cuBLASLt's best"]
    same(lines[0][3:7], [*head, *(f"H100: {words}" for words in head)])
    rows = {line[0]: line for line in lines[2:7]}
    same(
        [rows["v16"][place].split()[0] for place in (3, 4, 5, 6)],
        ["1.055", "1.034", "1.050", "1.029"],
    )
    same(rows["v16"][3].split()[1], "±.015")  # half of what is between the cards
    same(rows["cuBLASLt"][3:7], ["1.020", "1", "1.020", "1"])
    for words in (
        "H200: v16 to v18 were measured on 2 cards; their ratios are medians, ± spans all cards; ",
        "on the slowest, v16 is at 1.020 of cuBLASLt's best",
        "NVIDIA H100 80GB HBM3, CUDA",
    ):
        require(words in text, f"no '{words}' in {text}")


def sizes(_folder):
    """v18's sizes on both GPUs, with a dash where one has no run."""
    rows, caption = shapes_table.sizes(results())
    same([row[0] for row in rows[1:]], ["512³", "8192³", "8192 × 8192 × 1024"])
    same(rows[0][4:], ["early launch, of cuBLAS", "H100: of cuBLAS", "H100: of cuBLASLt's best"])
    same([cell.split()[0] for cell in rows[1][2:]], ["1.060", "1.039", "2.120", "1.040", "1.020"])
    same(rows[3][5:], ["–", "–"])
    require("the best of 64 to 1,592 configurations" in caption, caption)
    same(shapes_table.sizes(Path("/nonexistent")), (None, shapes_table.NOTHING))


def calls(_folder):
    """What a caller waits for, and what each did before."""
    rows, caption = shapes_table.calls(results())
    same(rows[0], ["m x n x k", "GPU", "v16", "v18", "cuBLAS", "cuBLASLt's best"])
    same(
        [row[:2] for row in rows[1:]],
        [["16 × 8192 × 8192", "H200"], ["512³", "H200"], ["512³", "H100"]],
    )
    require("the best of 64 heuristics" in caption, caption)
    time, before = rows[2][2].split(" (")
    close(float(time.split()[0]), 578.3)
    same(before, "14.0 ms)")


def rivals(_folder):
    """Rivals beside the top rung, on each GPU, and one that failed."""
    rows, caption = shapes_table.rivals(results())
    same(rows[0][2:], ["H200, 8192³: TFLOPS", "of cuBLAS", "H100, 8192³: TFLOPS", "of cuBLAS"])
    found = {row[0]: row[1:] for row in rows[1:]}
    same(list(found), ["v-broken", "v-fast-cu-12", "v16", "cuBLAS", "cuBLASLt"])
    same(found["v-broken"], ["failed: exit status 1: wrong", "–", "–", "–", "–"])
    same([cell.split()[0] for cell in found["v-fast-cu-12"][1:]], ["1", "1.020"] * 2)
    same(found["cuBLASLt"][0], "the best of 64 heuristics")
    require(caption.count("commit `abc1234`") == 2, caption)


def shapes_of_two(_folder):
    """A table of some rungs has the ratios of both GPUs in one cell."""
    rows, _ = shapes_table.table(["v16", "v18"], results())
    same(rows[0][2:], ["8192³", "of cuBLAS, H200 / H100"])
    same(rows[1][3], "1.055 ±.015 / 1.050 ±.001")


def bars(_folder):
    """The bars of tests/above_cublas.py, as medians of the cards."""
    found = {words: (round(value, 3), bar) for words, value, bar in above_cublas.of_best(results())}
    wanted = {
        f"{protocol} on {cards}": figures
        for protocol in ("burst", "sustained")
        for cards, figures in (
            ("2 cards of H200", (1.034, 1.01)),
            ("1 card of H100", (1.029, 1.005)),
        )
    }
    same(found, wanted)


def random_bars(folder):
    """Bars over random shapes look at the home GPU, where all families of their seed are whole."""
    folder, seed = Path(folder), above_cublas.JUDGES
    sizes = ",".join([*(f"{family}:{seed}" for family in above_cublas.FAMILIES), "few"])
    for path in results().glob("a-*.json"):
        (folder / path.name).symlink_to(path)
    moves = House(folder / "t", t02={"gpu": "NVIDIA H200", "memory_bytes": 141 * 10**9})
    moves.ladder("--track", "t", "--sizes", "4096x16384", "--out", str(folder / "t.json"))
    half = made_sweeps.sweep(sizes, lacks=1)
    for lacking in ({}, made_sweeps.sweep(sizes, made_sweeps.H100), half):
        if lacking:
            recorded.write_json(folder / "lacking.json", lacking)
        same({value for _, value, _ in above_cublas.random_shapes(folder, "v18")}, {None})
    recorded.write_json(folder / "swept.json", made_sweeps.sweep(sizes, better=1.1))
    found = {words: value for words, value, _ in above_cublas.random_shapes(folder, "v18")}
    same(len(found), 6 + 1 + 3)
    same(round(found[f"any:{seed}, geometric mean"], 3), 1.098)
    same(round(found[f"aligned:{seed}, lowest"], 3), 0.99)
    require(found["few rows, of a device copy's rate"] > 30, found)  # 500 TFLOPS at 16 rows
    known = [bool(found[f"{size}³, usual launch"]) for size in above_cublas.SMALL]
    same(known, [True, False, False])


TESTS = (home, figures, readme, sizes, calls, rivals, shapes_of_two, bars, random_bars)

if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("gpus", TESTS))
