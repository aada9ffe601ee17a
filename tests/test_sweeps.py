#!/usr/bin/env python3
"""Tests of one ladder over several tracks, shapes and protocols, with fake rungs.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
from argparse import Namespace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools import stored
from tools.fake_rungs import (
    SIZE,
    House,
    close,
    holds,
    refused,
    require,
    run_cases,
    same,
    tests_in,
    write_program,
)

from bench import progress, selection, shapes
from bench.records import recorded, sweeps
from notes.tools import readme_table


def titles(house):
    """(computation, shape, protocol) of the ladders that were recorded, in their order."""
    ladders = recorded.ladders_in(recorded.load_record(house.out))
    return [
        (one["problem"]["computation"], recorded.shape_text(one), one["protocol"])
        for one in ladders
    ]


def test_one_file(folder):
    """Tracks, shapes and protocols of one invocation are ladders of one file."""
    house = House(folder, v01={}, v02={"speed": 0.5}, a02={}, t02={})
    words = ("--track", "all", "--sizes", "256,512x256x64,512x1024", "--protocol", "both")
    planned = house.ladder(*words, "--passes", "2", "--dry-run").stdout.splitlines()
    same(
        [line for line in planned if ":" not in line][:2],
        ["v 256x256x256 burst", "v 512x256x64 burst"],
    )
    require(planned[-1].startswith("32 runs, then ") and house.calls() == [], planned[-1])
    result = house.ladder(*words, "--passes", "2")
    products = ["256x256x256", "512x256x64"]
    wanted = [("gemm_bf16", shape, "burst") for shape in products]
    wanted += [("gemm_bf16", shape, "sustained") for shape in products]
    moves = [
        ("transpose_fp32", shape, protocol)
        for protocol in ("burst", "sustained")
        for shape in ("256x256", "512x1024")
    ]
    same(titles(house), wanted * 2 + moves)
    record = house.record()
    same((record["schema"], record["kind"], record["interrupted"]), (2, "run", False))
    same([key for key in ("gpu", "commit") if key in record["ladders"][0]], [])
    calls = [line.split() for line in house.commands()[:4]]
    same([call[0] for call in calls], ["v01", "v02", "v02", "v01"])  # a shape's passes
    burst, sustained = record["ladders"][0], record["ladders"][2]
    same((burst["cublas"]["watts"], sustained["cublas"]["watts"]), (None, 650.0))
    said = "650 W", "gemm_bf16, sustained: median ratio to cuBLAS", "rung      256x256x256"
    holds(result.stdout, *said)


def test_places(folder):
    """A ladder of a file with several is named by its number, and found wherever it is."""
    house = House(folder, v01={})
    results = house.folder / "results"
    results.mkdir()
    path = results / "run.json"
    house.ladder("--sizes", "4096,8192", "--out", str(path))
    places = [
        (str(place), recorded.shape_text(one)) for place, one in recorded.all_ladders(results)
    ]
    same(places, [(f"{path}#1", "4096x4096x4096"), (f"{path}#2", "8192x8192x8192")])
    (house.folder / "sources").mkdir()
    (house.folder / "sources" / "v01_a.cu").touch()
    headline = recorded.newest_headline(results, house.folder / "sources")
    same(str(headline), f"{path}#2")
    ladder = recorded.load_rungs(headline)
    same(
        (ladder["gpu"]["name"], ladder["kind"], ladder["problem"]["m"]),
        ("Fake GPU 1", "ladder", 8192),
    )
    newest = stored.newest_with(["v01"], (4096,) * 3, folder=results)
    same(newest, recorded.load_ladder(f"{path}#1"))
    for wrong, words in ((path, "holds 2 ladders: name one"), (f"{path}#3", "no #3")):
        refused(words, recorded.load_ladder, wrong)


ALONE = "cuBLASLt does not take this shape: there is nothing to compare it with"


def test_not_taken(folder):
    """A shape that a rung doesn't take is no failure, and one without any result is listed with the
    reason; bad usage is a failure, and a rung that fails at one shape is tried at the next."""
    of_64 = {"multiple": 64}
    house = House(folder, v01=of_64, v02={"multiple": 512}, v03=of_64, v04={"alone": 512})
    result = house.ladder("--sizes", "256,512,320x64x8,96")
    record = house.record()
    ladders = record["ladders"]
    same([len(one["rungs"]) for one in ladders], [2, 4, 2])
    refused = [("v02", "m=256 is no multiple"), ("v04", ALONE)]
    same([(one["step"], one["why"]) for one in ladders[0]["does_not_take"]], refused)
    same([call for call in house.calls() if "v02" in call].count("v02 full"), 4)  # one per shape
    same(ladders[0]["neighbours"][0]["lower"], "v01")
    holds(result.stdout, "v02 does not take this shape: m=256 is no multiple")
    # side by side: dashes where a rung takes no shape
    require(re.search(r"^v02 +- +1\.000 +-$", result.stdout, re.MULTILINE), result.stdout)
    (without,) = record["without_result"]
    same((without["track"], without["protocol"], without["shape"]), ("v", "burst", [96] * 3))
    holds(without["why"], "m=96 is no multiple")
    house.add("v02", {"exit": 2, "stderr": "v02: unknown option (--help says more)"})
    house.ladder("--sizes", "256,512", "--passes", "2", status=1)
    for ladder in house.record()["ladders"]:
        holds(ladder["rungs"][1]["failed"], "exit status 2: v02: unknown option")


def test_interrupted(folder):
    """Ctrl-C keeps what is finished, marks the ladder that isn't, ends the rung under way, and says which
    ladders were never begun; before any run has finished nothing is written."""
    house = House(folder, v01={}, v02={"sleep_in_call": 3})
    began = time.monotonic()
    # v01 v02 v02 v01 at 256; v01 v02 and then v02 sleeps at 512
    words = ("--sizes", "256,512,1024", "--passes", "2")
    result = house.interrupted(7, signal.SIGINT, *words)
    require(time.monotonic() - began < 40, "it waited for the rung that slept")
    same((result.returncode, house.left_over()), (130, []))
    record = house.record()
    same((record["interrupted"], "INTERRUPTED" in result.stdout), (True, True))
    same([one["interrupted"] for one in record["ladders"]], [False, True])
    same([len(rung["passes"]) for rung in record["ladders"][1]["rungs"]], [1, 1])
    same([one["shape"][0] for one in record["without_result"]], [1024])
    holds(result.stdout, "no result: v 1024x1024x1024 burst: not begun before")
    house = House(Path(folder) / "early", v01={"sleep_in_call": 0})
    same((house.interrupted(1, signal.SIGINT).returncode, house.out.exists()), (130, False))


def test_other_tracks(folder):
    """A ladder whose runs do not belong to the others is left out. Where a track cannot run another may;
    where none can, the exit status is 77."""
    house = House(folder, v01={}, a02={"commit": "def5678"})
    words = ("--track", "all", "--passes", "1")
    holds(house.ladder(*words, status=1).stderr, "stopped at a 256x256x256 burst")
    record = house.record()
    same((len(record["ladders"]), record["commit"]), (1, "abc1234"))
    holds(record["without_result"][0]["why"], "differ in commit")
    house.add("v01", {"exit": 77, "stderr": "v01: needs Hopper"})
    house.ladder(*words, status=1)
    same(house.record()["ladders"][0]["rungs"][0]["step"], "a02")
    house.out.unlink()
    house.add("a02", {"exit": 77, "stderr": "a02: needs a GPU"})
    said = house.ladder(*words, status=77).stderr
    require(said.endswith("v01: needs Hopper\n") and not house.out.exists(), said)


def test_sizes(_):
    """Names and spellings of shapes, track by track."""
    found = shapes.of_sizes("squares", ("v", "t"))
    same([shape["m"] for shape in found["v"]], list(shapes.SQUARES))
    same(found["t"][-1], {"m": 32768, "n": 32768})
    found = shapes.of_sizes("models", ("a",))["a"]
    for shape in ((4096, 14336, 4096), (8192, 8192, 1024), (128, 8192, 8192), (81920, 256, 256)):
        require(dict(zip("mnk", shape)) in found, shape)
    both = shapes.of_sizes(" ALL, 8192 ,96", ("v",))["v"]
    same(len(both), len(shapes.SQUARES) + len(shapes.MODELS) + 1)  # 8192 once
    same(both[-1], {"m": 96, "n": 96, "k": 96})
    same(shapes.of_sizes("64x128", ("v", "t")), {"v": [], "t": [{"m": 64, "n": 128}]})
    for track, text in (
        *(("v", text) for text in ("", "0", "8192x", "1x2", "1x2x3x4", "big", "-8", "8 9", "8,,9")),
        ("t", "1x2x3"),
        ("v", str(2**31)),
    ):
        refused("--sizes", shapes.of_sizes, text, (track,))


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
        lambda m, n, k: not (m % 128 or n % 128 or k % 64 or max(m, n, k) > 16384),
    ),
    "any": (1, 2000, lambda m, n, k: not (n % 8 or k % 8) and 16 <= min(m, n, k)),
    "rows": (0, 2000, lambda m, n, k: m <= 128 and {n, k} <= set(shapes.LAYERS)),
    "odd": (1, 2000, lambda m, n, k: (n % 8 or k % 8) and 16 <= min(m, n, k)),
}


def test_families(_):
    """Families of shapes are within their limits, the same for ever, and no two seeds share a shape."""
    for word, first in PINNED.items():
        same((word, shapes.of_word(word, "v")[: len(first)]), (word, first))
        same(shapes.of_word(f"{word}:2", "v"), first[:2])
    for family, (least, most, holds_of) in LIMITS.items():
        found = [shapes.of_word(f"{family}:{seed}", "v") for seed in range(1, 5)]
        same((family, len({shape for of in found for shape in of})), (family, 4 * 60))
        for m, n, k in (shape for of in found for shape in of):
            good = least <= 2e-9 * m * n * k <= most and holds_of(m, n, k)
            size = m * k + n * k + m * n <= 2**29 and max(m, n, k) <= 32768
            require(good and size, f"{family}: {m}x{n}x{k}")
    powers = sum(m & (m - 1) == 0 for m, _, _ in shapes.of_word("rows:1", "v"))
    require(25 < powers < 45, f"{powers} powers of two")
    ragged = {(bool(n % 8), bool(k % 8)) for _, n, k in shapes.of_word("odd:1", "v")}
    same(ragged, {(True, True), (True, False), (False, True)})
    for text in ("any", "any:", "any:x", "some:1", "any:1:0", "any:1:241", "any:1:2:3"):
        refused("--sizes", shapes.of_sizes, text, ("v",))
    refused("no shape", shapes.of_sizes, "any:1", ("t",))
    same(len(shapes.of_sizes("few,16x8192x8192", ("v",))["v"]), 10)


class SweepHouse(House):
    """Fake rungs that a sweep runs."""

    PROGRAM = ("-m", "bench.sweep")

    def usual(self, more):
        return (
            "--out",
            str(self.out),
            "--nvidia-smi",
            "true",
            "--rounds",
            "3",
            "--sizes",
            "any:1:5",
        )


def test_sweep(folder):
    """One process measures all shapes; after a shape that fails, or isn't taken, another one goes on."""
    drawn = [list(shape) for shape in shapes.of_word("any:1:5", "v")]
    wrong = "FAILED: exit status 1: WRONG      exact: 1 of 4 differ"
    why = "does not take this shape: m={} is no multiple"
    not_taken = {place: why.format(m) for place, (m, _, _) in enumerate(drawn) if m % 7}
    # what the rung does, processes, the exit status, failures by the shapes' places
    for name, behaviour, processes, status, failures in (
        ("good", {"early": 1.5, "kernel": 4}, 1, 0, {}),
        ("wrong", {"wrong_in_call": 1}, 2, 1, {1: wrong}),
        ("last", {"wrong_in_call": 4}, 1, 1, {4: wrong}),
        ("refuses", {"multiple": 7}, 4, 0, not_taken),
        (
            "alone",
            {"alone": 7},
            1,
            0,
            dict.fromkeys(not_taken, "does not take this shape: " + ALONE),
        ),
    ):
        house = SweepHouse(Path(folder) / name, v18={"cublaslt": 0.8, **behaviour})
        result = house.ladder("--steps", "18", status=status)
        record = recorded.load_record(house.out)
        points = record["points"]
        same((name, [[one[d] for d in "mnk"] for one in points]), (name, drawn))
        same({i: one["failed"] for i, one in enumerate(points) if "failed" in one}, failures)
        commands = house.commands()
        same((name, commands.count("runs")), (name, processes))
        holds(commands[1], "--check sample", "--heuristics 64", "--protocol burst")
        good = [one for one in points if "seconds" in one]
        same({(len(one["seconds"]["step"]), one["returned"]) for one in good}, {(3, 64)})
        close(sweeps.ratio(good[0]), 1.25)
        holds(result.stdout, "geometric mean 1.250, lowest 1.250", "kernel of number 3")
        same(house.left_over(), [])
    good = recorded.load_record(Path(folder) / "good" / "out.json")
    point = good["points"][0]
    same((point["kernel"], good["sizes"], good["interrupted"]), (4, "any:1:5", False))
    close(sweeps.ratio(point, launch="early"), 1.875)
    house = SweepHouse(Path(folder) / "none", v18={"exit": 77, "stderr": "v18: needs Hopper"})
    require(house.ladder("--steps", "18", status=77).stderr.endswith("v18: needs Hopper\n"), "77")
    house.refuses("--sizes 8192x4", "--track t", "--steps v18,v16", "--sizes any:1:0")
    planned = house.ladder("--steps", "18", "--dry-run").stdout.splitlines()
    same((len(planned), planned[0][:26]), (6, "--m 9997 --n 3864 --k 24 -"))


def test_sweep_interrupted(folder):
    """A Ctrl-C keeps the points that are finished."""
    house = SweepHouse(folder, v18={"sleep_in_call": 2})
    result = house.interrupted(3, signal.SIGINT, "--steps", "18", points=2)
    same((result.returncode, house.left_over()), (130, []))
    record = recorded.load_record(house.out)
    same((record["interrupted"], len(record["points"])), (True, 2))


def test_points(_):
    """What points come to, and which sweep a family is taken from."""

    def sweep(gpu, date, seconds, sizes="any:1:2", step="v18"):
        points = [
            {
                **dict(zip("mnk", shape)),
                "seconds": {"step": [one], "cublaslt": [1.0], "cublas": [2.0]},
            }
            for shape, one in zip(shapes.of_word("any:1:2", "v"), seconds)
        ]
        home = {"name": gpu, "card": None}
        return {"gpu": home, "date": date, "step": step, "sizes": sizes, "points": points}

    home = recorded.Home("B", {})
    old, new = sweep("A", "1", (2.0, 0.5)), sweep("A", "2", (1.0, 0.25))
    few, other = sweep("A", "3", (4.0,)), sweep("B", "0", (1.0, 1.0), "few,any:1:2")
    variant = sweep("A", "4", (9.0, 9.0), step="v16")
    found = sweeps.find([new, few, other, old, variant], "v18", ("any:1:2",), home)
    same(list(found), ["B", "A"])
    points, source = found["A"]["any:1:2"]
    same((source, sweeps.is_whole("any:1:2", points)), (new, True))
    same(sweeps.is_whole("any:1:2", sweeps.points_of(few, "any:1:2")), False)
    figures = {"shapes": 2, "mean": 2.0, "lowest": 1.0, "reached": 2, "early": None, "cublas": 4.0}
    same(sweeps.figures_of(points), figures)
    close(sweeps.tflops({"m": 10**4, "n": 10**4, "k": 10**4, "seconds": {"step": [1, 9, 2]}}), 1.0)


def heuristics_asked(command):
    """'64' for --heuristics 64, '#7' for --algorithm 00...7."""
    words = command.split()
    if "--algorithm" in words:
        return f"#{int(words[words.index('--algorithm') + 1], 16)}"
    return words[words.index("--heuristics") + 1] if "--heuristics" in words else ""


def test_cublaslt(folder):
    """The first program of a ladder finds the best of cuBLASLt; all have it beside them."""
    house = House(folder, v01={"exit": 1}, v02={"speed": 0.5, "winner": 7}, v03={}, t02={})
    words = ("--sizes", "256,512", "--passes", "2", "--track", "all")
    result = house.ladder(*words, status=1)
    asked = [heuristics_asked(command) for command in house.commands()]
    one_ladder = ["64", "64", "#7", "#7", "#7"]  # v01 fails, and is not run again
    same(asked[:10], 2 * one_ladder)
    same(set(asked[10:]), {""})  # nothing to multiply in t02
    said = "of cuBLASLt (p10 to p90)", "the best of 64 heuristics: kernel of number 7"
    holds(result.stdout, *said)
    ladder = recorded.ladders_in(house.record())[0]
    close(ladder["rungs"][1]["timing"]["ratio_to_cublaslt"]["median"], 0.4)
    close(ladder["cublaslt"]["tensor_core_share"], 0.625)
    same((ladder["heuristics"]["winner"]["number"], len(ladder["heuristics"]["timed"])), (7, 64))
    rows = "\n".join(readme_table.table(ladder, house.folder, {"": [ladder]}))
    holds(rows, "| cuBLASLt | the best of 64 heuristics |")


def test_searches_of_fp8(folder):
    """Rungs of FP8 share a search, and a ladder, if they add and scale alike."""
    house = House(folder, f01={"winner": 7}, f02={"winner": 5}, f03={"winner": 3}, f04={}, f08={})
    words = ("--steps", "f01,f02,f03,f04,f08", "--passes", "1")
    house.ladder(*words)
    asked = [heuristics_asked(command) for command in house.commands()]
    same(asked, ["64", "#7", "64", "64", "#3"])
    ladders = recorded.ladders_in(recorded.load_record(house.out))
    same([ladder["heuristics"]["winner"]["number"] for ladder in ladders], [7, 5, 3])
    holds(house.ladder(*words, "--dry-run").stdout, "--algorithm")


def test_heuristics_option(folder):
    """--heuristics says how many are timed; 0 times none, all enumerates; a program that timed another
    algorithm than the one asked for has failed."""
    house = House(folder, v01={"winner": 1}, v02={})
    for many, asked in (("2", ["2", "#1"]), ("0", ["", ""]), ("all", ["all", "#1"])):
        result = house.ladder("--heuristics", many, "--passes", "1")
        same([heuristics_asked(command) for command in house.commands()[-2:]], asked)
        same("cublaslt" in house.result() and "heuristics" in house.result(), many != "0")
    holds(result.stdout, "the best of 1,592 configurations: kernel of number 1")
    house.add("v01", {"winner": 1, "cut": True})
    result = house.ladder("--heuristics", "all", "--passes", "1")
    holds(result.stdout, "the best of 1,592 configurations (a list that was cut): kernel")
    house.add("v02", {"takes": 2})
    said = house.ladder("--passes", "1", status=1).stderr
    holds(said, "it timed kernel of number 2 beside the rung, not kernel of number 1")
    same([rung["step"] for rung in recorded.measured(house.result())], ["v01"])


def test_protocols(folder):
    """What a protocol reads beside the time is recorded: gated launches, limits, what was before. A wide
    spread is warned about."""
    house = House(folder, v01={"noise": 0.02}, v17={"speed": 0.8, "early": 1.0})
    words = ("--passes", "3", "--heuristics", "0", "--protocol")
    result = house.ladder(*words, "burst")
    ladder = house.result()
    same((ladder["gated"], "early" in ladder), (True, False))
    timing = ladder["rungs"][1]["timing"]
    close(timing["early"]["tflops"]["high"], timing["step"]["tflops"]["high"] / 0.8)
    close(timing["ratio_to_early"]["median"], 0.8)  # its time over that of the usual launch
    same("early" in ladder["rungs"][0]["timing"], False)
    same((ladder["wide_spread"]["limit"], list(ladder["wide_spread"]["steps"])), (1.01, ["v01"]))
    close(ladder["wide_spread"]["steps"]["v01"], 1.02)
    holds(result.stdout, "WARNING: the spread is wide (over 1 %", "v01 (2.0 %)")
    house.ladder(*words, "sustained")
    ladder = house.result()
    limits = ladder["rungs"][0]["timing"]["step"]["clock_limits"]
    same((len(limits), "gated" in ladder), (6, False))
    close(limits["power"], 0.9)  # the median of the passes, each program's calls 3 to 5
    close(ladder["cublas"]["clock_limits"]["thermal"], 0.4)
    result = house.ladder(*words, "call")
    step = house.result()["rungs"][0]["timing"]["step"]
    close(step["before_seconds"], 0.008)
    same((step["sm_clock_ghz"], step["tensor_core_share"], step["watts"]), (None,) * 3)
    microseconds = 2e-6 * SIZE**3 / step["tflops"]["median"]
    holds(result.stdout, f"{microseconds:.2f} µs", "a call", "before", "early launch over usual")
    require("clock" not in result.stdout, result.stdout)


def test_rivals(folder):
    """Other people's kernels run beside the rungs, last, and are neither rungs nor variants."""
    house = House(folder, v12={}, v16={"speed": 1.1}, **{"v16-a": {}, "v18": {}})
    rivals = House(Path(folder) / "steps", **{"v-fast-cu-12": {"speed": 0.9}, "v-cutlass": {}})
    build = ("--build", str(rivals.folder), "--passes", "2")
    house.ladder(*build, "--steps", "v-fast-cu-12,v12,16,16-a")
    ladder = house.result()
    same(recorded.all_names(ladder), ["v12", "v16", "v16-a", "v-fast-cu-12"])
    pairs = [(pair["lower"], pair["upper"]) for pair in ladder["neighbours"]]
    same(pairs, [("v12", "v16"), ("v16", "v16-a")])
    same(recorded.rungs_only(ladder), False)
    close(ladder["rungs"][3]["timing"]["ratio_to_cublas"]["median"], 0.9)
    house.ladder(*build)
    same(recorded.all_names(house.result())[-2:], ["v-cutlass", "v-fast-cu-12"])
    house.ladder(*build, "--steps", "v-no-such", status=2)


NVIDIA_SMI = r"""
import os, sys
with open(os.path.join(HERE, "looks"), "a+") as log:
    log.write(" ".join(sys.argv[1:]) + "\n")
    log.seek(0)
    looks = len(log.readlines())
if STATUS:
    sys.exit("no permission")
if looks >= SINCE:
    print("4711, /usr/bin/python3, with a comma, 1234 MiB")
"""


def test_busy(folder):
    """On a GPU that another process uses nothing is recorded, unless it is allowed, and said; one that
    comes later is named, and where nvidia-smi cannot tell, that is said."""
    named = "process 4711 (/usr/bin/python3, with a comma, 1234 MiB)"
    seen = {"pid": "4711", "memory": "1234 MiB"}
    unknown = "unknown whether other processes used the GPU: nvidia-smi: "
    # the look from which on there is a process, nvidia-smi's exit status (None: it is not there),
    # options -> exit status, whether it looked and was allowed, and what is said
    for index, (since, smi, options, status, looked, allowed, said) in enumerate(
        (
            (1, 0, (), 1, None, None, f"{named}: nothing is measured; --share-gpu"),
            (
                1,
                0,
                ("--share-gpu",),
                0,
                True,
                True,
                f"WARNING: other processes used the GPU: {named}",
            ),
            (2, 0, (), 0, True, False, f"WARNING: {named} uses the GPU too"),
            (1, 1, (), 0, False, False, f"{unknown}exit status 1: no permission"),
            (1, None, (), 0, False, False, f"{unknown}cannot start"),
        )
    ):
        house = House(Path(folder) / str(index), v01={})
        path = house.folder / "nvidia-smi"
        if smi is not None:
            write_program(path, NVIDIA_SMI, HERE=str(house.folder), SINCE=since, STATUS=smi)
        words = ("--nvidia-smi", str(path), *options, "--passes", "2")
        result = house.ladder(*words, status=status)
        holds(result.stdout + result.stderr, said)
        same((index, len(house.calls()), house.out.exists()), (index, 2 - 2 * status, not status))
        if status == 0:
            processes = house.record()["gpu_processes"]
            same((processes["looked"], processes["allowed"]), (looked, allowed))
            found = [{key: one[key] for key in seen} for one in processes["found"]]
            same(found, [seen] if looked else [])
        if since == 2:
            looks = (house.folder / "looks").read_text().splitlines()
            same(len(looks), 2)  # before every pass
            require(looks[0].endswith("-i 0") and "pid,process_name" in looks[0], looks[0])


def plan_of(passes, *protocols):
    """A plan of two rungs by each protocol."""
    options = [Namespace(protocol=one, shape={"m": 8}) for one in protocols]
    made = [selection.Task(one, "v", [("v01", "v01"), ("v02", "v02")]) for one in options]
    return selection.make_plan(made, passes)


def test_progress(_):
    """The time left is what each rung took last; of rungs not seen yet, what others took."""
    plan = plan_of(2, "burst", "sustained")
    stream = io.StringIO()
    stream.isatty = lambda: True
    bar = progress.Progress(stream=stream)
    bar.running(plan[:1], plan[1:])
    require("left" not in stream.getvalue() and "[....." in stream.getvalue(), stream.getvalue())
    # seconds of each run in turn, and what is left then
    for index, (seconds, left) in enumerate(
        ((10, 70), (20, 20 + 10 + 4 * 15), (20, 10 + 60), (10, 60), (100, 300))
    ):
        bar.finished(plan[index], seconds, "fine", plan[index + 1 :])
        same(bar.seconds_left(plan[index + 1 :]), left)
        bar.running(plan[index + 1 : index + 2], plan[index + 2 :])
    holds(stream.getvalue(), f"[{'#' * 7}{'.' * 23}] 2/8 v 8 burst, pass 2, v02, 1:30 left")
    require("\n" not in stream.getvalue(), "a bar is one line")
    same([progress.clock(one) for one in (59.9, 61, 3725)], ["0:59", "1:01", "1:02:05"])
    log, plan = io.StringIO(), plan_of(1, "burst")  # no terminal: a line for each run
    lines = progress.Progress(jobs=2, stream=log)
    lines.running(plan[:1], plan[1:])
    lines.finished(plan[0], 10, "fine", plan[1:])
    lines.close()
    same(log.getvalue(), "pass 1, v01: fine (10.0 s, 0:05 left)\n")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("sweeps", tests_in(globals())))
