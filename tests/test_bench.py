#!/usr/bin/env python3
"""Tests of bench/ladder.py and bench/run.py with fake rungs, as on a GPU and as on the emulator.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from argparse import Namespace
from pathlib import Path
from statistics import median
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent

from tools.fake_rungs import SIZE, House, close, holds, require, run, run_cases, same, tests_in

from bench import ladder
from bench import run as running

FLOP = 2 * SIZE**3


class Emulated(House):
    """Fake rungs as they are on the emulator."""

    STEPS, USUAL = "emulated", ("--emulate",)


# --- what is measured -------------------------------------------------------------------------


def test_samples(folder):
    """Samples, medians, quantiles, ratios and neighbours against figures worked out by hand."""
    house = House(folder, v01={"speed": 0.5}, v02={"speed": 0.8}, v03={"speed": 0.6})
    said = house.ladder().stdout
    found = house.result()
    same((found.commit, found.gpu["name"], found.passes), ("abc1234", "Fake GPU 1", 3))
    # One TFLOPS' worth of time, 0 or 1 % longer by round, 0, 10 or 20 % longer by pass.
    factors = [1.0, 1.01, 1.1, 1.11, 1.2, 1.21]
    for seconds, factor in zip(found.seconds("v02"), factors, strict=True):
        close(seconds, FLOP / 1e12 * factor / 0.8)
    close(found.rate("v02").mid, (0.8 / 1.1 + 0.8 / 1.11) / 2)
    close(found.rate("v02").low, (0.8 / 1.21 + 0.8 / 1.2) / 2)  # position 0.5 of 0..5
    close(found.rate("v02").high, (0.8 / 1.01 + 0.8 / 1.0) / 2)
    close(found.rate("cublas").mid, median(1 / factor for factor in factors))
    close(found.ratio("v02").mid, 0.8)
    close(found.reading("v02", "ghz"), 1.6)
    lines = [line for line in said.splitlines() if line.startswith("v02 ")]
    holds(lines[0], "0.7 (0.7 to 0.8)", "0.800 (0.800 to 0.800)", "40.0 %", "1.600 GHz")
    holds(said, "v02 faster than v01: yes (paired ratio 1.6000, in 3 of 3 passes)")
    holds(said, "v03 faster than v02: NO (paired ratio 0.7500, in 0 of 3 passes)")


def test_order(folder):
    """Passes begin elsewhere and alternate direction; --dry-run prints every command and runs none;
    what will run, and for how long, is said first."""
    house = House(folder, v01={}, v02={}, v03={}, v99={})  # v99 has no source any more
    lines = house.ladder("--dry-run").stdout.splitlines()
    same((len(lines), house.calls(), house.out.exists()), (10, [], False))
    holds(lines[0], "pass 1, v01: ", "--heuristics 64", f"--m {SIZE}")
    said = "3 programs on the GPU (v 256x256x256 burst): 9 processes, about 0:00:11"
    same((lines[-1], house.ladder().stderr.splitlines()[0]), (said, said))
    same(house.calls(), ["v01", "v02", "v03", "v02", "v01", "v03", "v03", "v01", "v02"])
    house.ladder("--steps", "3,v1", "--passes", "1")
    same(house.calls()[9:], ["v01", "v03"])


def test_sources(folder):
    """Variants and rivals run after their rung, or last, if they are named, and are compared with
    it."""
    rungs = {"v06": {"speed": 0.5}, "v08": {"speed": 0.8}, "v06-each-sm": {}}
    house = House(folder, **rungs, **{"v08-few": {"speed": 0.4}, "v-fast-cu-12": {"speed": 0.9}})
    house.ladder("--passes", "1")
    same(house.calls(), ["v06", "v08"])
    house.ladder("--steps", "v-fast-cu-12,8,v8-few,v6-each-sm,6")
    found = house.result()
    same(found.names, ["v06", "v06-each-sm", "v08", "v08-few", "v-fast-cu-12"])
    pairs = [("v06-each-sm", "v06"), ("v08", "v06"), ("v08-few", "v08")]
    same(ladder.neighbours(found), pairs)
    close(found.against("v08-few", "v08").ratio, 0.5)


def test_moves(folder):
    """The rungs of the t track have no k; GB/s and the ratio to a copy are told; t01 runs by
    itself."""
    house = House(folder, v01={}, t01={}, t02={"speed": 0.5}, t03={"speed": 0.75})
    said = house.ladder("--track", "t").stdout
    found = house.result()
    same((found.names, found.shape), (["t02", "t03"], (256, 256)))
    close(found.rate("t03").high, 750 * (1 / 1.01 + 1) / 2)
    holds(said, "t03 faster than t02: yes (paired ratio 1.5000", "GB/s (p10 to p90)")
    holds(said, "cudaMemcpyAsync", "somebody", "37.5 %")
    require("TFLOPS" not in said and "cuBLAS" not in said, said)
    house.ladder("--steps", "t01")
    same(house.result().names, ["t01"])


def test_one_file(folder):
    """Tracks, shapes and protocols of one invocation are runs of one file, a protocol after the
    other."""
    house = House(folder, v01={}, v02={"speed": 0.5}, a02={}, t02={})
    words = ("--track", "all", "--sizes", "256,512x256x64,512x1024", "--protocol", "both")
    house.ladder(*words, "--passes", "2")
    products, moves = ((256,) * 3, (512, 256, 64)), ((256, 256), (512, 1024))
    wanted = [(shape, protocol) for protocol in ladder.BOTH for shape in products]  # of v and a
    wanted += [(shape, protocol) for protocol in ladder.BOTH for shape in moves]
    same([(one.shape, one.protocol) for one in house.runs()], wanted)
    same(house.calls()[:4], ["v01", "v02", "v02", "v01"])  # a shape's passes


def searches(house):
    """Of each command '64' for --heuristics 64, '#7' for --algorithm 00...7."""
    found = []
    for words in map(str.split, house.commands()):
        options = dict(zip(words[1::2], words[2::2]))
        known = options.get("--algorithm")
        found.append(f"#{int(known, 16)}" if known else options.get("--heuristics", ""))
    return found


def test_cublaslt(folder):
    """The first program of a ladder finds the best of cuBLASLt; all have it beside them; FP8's
    modes are ladders of their own."""
    house = House(folder, v01={"exit": 1}, v02={"speed": 0.5, "winner": 7}, v03={}, t02={})
    words = ("--sizes", "256,512", "--passes", "2", "--track", "all")
    said = house.ladder(*words, status=1).stdout
    one_ladder = ["64", "64", "#7", "#7", "#7"]  # v01 fails, and is not run again
    same(
        (searches(house)[:10], {*searches(house)[10:]}), (2 * one_ladder, {""})
    )  # t multiplies not
    holds(said, "of cuBLASLt (p10 to p90)", "the best of 64 heuristics: kernel of number 7")
    found = house.runs()[0]
    close(found.ratio("v02", "cublaslt").mid, 0.4)
    same(found.heuristics["winner"]["number"], 7)
    for many, wanted in (("2", ["2", "#1"]), ("0", ["", ""]), ("all", ["all", "#1"])):
        house.add("v02", {"winner": 1, "cut": many == "all"})
        said = house.ladder("--heuristics", many, "--passes", "1", "--steps", "2,3").stdout
        same(searches(house)[-2:], wanted)
        same("cublaslt" in house.result().contenders, many != "0")
    holds(said, "the best of 1,592 configurations (a list that was cut): kernel of number 1")
    house = House(Path(folder) / "f", f01={"winner": 7}, f02={"winner": 5}, f08={})
    house.add("f03", {"winner": 3, "block_scales": True})
    house.add("f04", {"block_scales": True})
    said = house.ladder("--track", "f", "--passes", "1").stdout
    same(house.calls(), ["f01", "f08", "f02", "f03", "f04"])
    same(searches(house), ["64", "#7", "64", "64", "#3"])
    same(said.count("kernel of number"), 3)


def test_protocols(folder):
    """What a protocol reads beside the time is shown: a clock, what was before, an early launch. A
    wide spread is warned about."""
    house = House(folder, v01={"noise": 0.02}, v17={"speed": 0.8, "early": 1.0})
    words = ("--heuristics", "0", "--protocol")
    said = house.ladder(*words, "burst").stdout
    close(house.result().ratio("v17", "early").mid, 0.8)  # its time over that of the usual launch
    holds(
        said, "early launch over usual, time", "WARNING: the spread is wide (over 1%", "v01 (2.0%)"
    )
    holds(house.ladder(*words, "sustained").stdout, "650 W")
    # The median of the passes, each program's calls 3 to 5.
    close(house.result().reading("v01", "ghz"), 1.9)
    same([line.split("--turn ")[1][0] for line in house.commands()[-6:]], list("001122"))
    said = house.ladder(*words, "call").stdout
    microseconds = 1e6 * median(house.result().seconds("v01"))
    close(house.result().reading("v01", "before_seconds"), 0.008)
    holds(said, f"{microseconds:.2f} µs", "a call", "before")
    require("clock" not in said, said)


# --- what goes wrong --------------------------------------------------------------------------

FAILURES = {
    "v02": ({"exit": 1, "stderr": "v02: wrong\nthread 3 waits"}, "exit status 1: v02: wrong"),
    "v03": ({"crash": True}, "SIGABRT"),
    "v04": ({"exit": 77, "stderr": "needs something else"}, "needs something else"),
    "v05": ({"wrong_in_call": 0}, "exit status 1: WRONG      exact: 1 of 4 differ"),
    "v06": ({"sleep_in_call": 0}, "not finished after 2 s"),
    "v07": ({"exit": 2, "stderr": "v07: unknown option (--help says more)"}, "exit status 2"),
    "v08": ({"gpu": "Fake GPU 2"}, "its gpu is not that of the first program"),
    "v09": ({"commit": "def5678"}, "its commit is not that of the first program"),
    "v10": ({"problem": {"seed": 2}}, "it ran"),
    **{f"v{11 + i}": ({"json": text}, "its JSON") for i, text in enumerate(("{", "[]", ""))},
}


def test_failing(folder):
    """Wrong, crashing, hanging and silent rungs, and those whose row is none or another's, are
    noted; the others are still measured."""
    bad = {name: behaviour for name, (behaviour, _) in FAILURES.items()}
    house = House(folder, v01={}, **bad, v20={})
    said = house.ladder("--timeout", "2", status=1).stdout
    found = house.result()
    for name, (_, why) in FAILURES.items():
        holds(found.failed[name], why)
        holds(said, f"FAILED: {found.failed[name]}")
    same((found.measured, found.passes), (["v01", "v20"], 3))
    same(house.calls().count("v02"), 1)


def test_not_taken(folder):
    """A shape that a rung doesn't take is no failure; a rung that fails at one shape is tried at
    the next."""
    of_64 = {"multiple": 64}
    house = House(folder, v01=of_64, v02={"multiple": 512}, v03=of_64, v04={"alone": 512})
    said = house.ladder("--sizes", "256,512,96").stdout
    first, second, third = house.runs()
    same(first.refused, {"v02": "m=256 is no multiple", "v04": ladder.ALONE})
    same((first.measured, second.measured), (["v01", "v03"], ["v01", "v02", "v03", "v04"]))
    same((third.names, len(third.refused)), ([], 4))
    same(house.calls().count("v02"), 5)  # once where it refuses
    holds(said, "v02 does not take this shape: m=256 is no multiple")


def test_nothing(folder):
    """Without a result no file is written, and it is said why; 77 of the first rung of a single
    track ends the ladder, and where one track cannot run another may."""
    house = House(folder, v01={"exit": 2, "stderr": "m=256 is too small"})
    holds(house.ladder(status=1).stderr, "m=256 is too small")
    house.add("v01", {"exit": 77, "stderr": "v01: no GPU found"})
    house.add("v02", {})
    holds(house.ladder(status=77).stderr, "\nv01: no GPU found\n")
    same((house.calls(), house.out.exists()), (["v01", "v01"], False))
    house.add("a02", {})
    house.ladder("--steps", "v01,a02", status=1)
    same(house.result().measured, ["a02"])


def test_busy(folder):
    """Beside another process nothing is recorded, unless it is allowed, and said; one that comes
    later is named."""
    told = "WARNING: other processes used the GPU: 4711 python3"
    house = House(folder, v01={"other_processes": ["4711 python3"]})
    said = house.ladder(status=1).stderr
    holds(said, "the GPU is in use by 4711 python3: nothing is measured; --share-gpu")
    same((len(house.calls()), house.lines()), (1, []))
    holds(house.ladder("--share-gpu").stdout, told)
    house.add("v01", {"other_processes": ["4711 python3"], "since": 5})
    holds(house.ladder().stdout, told)


def test_interrupted(folder):
    """A signal keeps what is finished and ends the rung under way; before any has finished nothing
    is written."""
    # v01 v02 v02 v01 at 256; v01 v02 and then v02 sleeps at 512
    words = ("--sizes", "256,512,1024", "--passes", "2")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        house = House(Path(folder) / number.name, v01={}, v02={"sleep_in_call": 3})
        result = house.interrupted(7, number, *words)
        killed = number == signal.SIGKILL
        same(
            (result.returncode, "INTERRUPTED" in result.stdout), (-9 if killed else 130, not killed)
        )
        same([one.passes for one in house.runs()], [2, 1])
        house.add("v02", {})  # where it was killed, the one that sleeps is left
    house = House(Path(folder) / "early", v01={"sleep_in_call": 0})
    same((house.interrupted(1, signal.SIGINT).returncode, house.out.exists()), (130, False))
    house = Emulated(Path(folder) / "emulated", v01={}, v02={"sleep_in_call": 0}, v03={})
    result = house.interrupted(2, signal.SIGINT, "--jobs", "1")
    same((result.returncode, house.calls(), len(house.lines())), (130, ["v01", "v02"], 1))


def test_bad_usage(folder):
    """Everything that can be known beforehand is refused with exit 2 and nothing run."""
    house = House(folder, v01={}, t02={})
    words = "--size 0|--size -8|--size 8x|--size 99999999999|--size=|--m 256|--steps v02"
    words += "|--steps banana|--steps=|--steps v01-missing|--steps v01-UPPER|--steps x01"
    words += f"|--build {folder}/nowhere"
    words += f"|--protocol none|--inputs zeros|--seed -1|--seed {2**64}|--passes 0|--device -1"
    words += "|--sizes 8x9|--sizes 8x9x7 --track t|--track a|--track b|--heuristics 65"
    house.refuses(*words.split("|"), "--heuristics -1", "--heuristics any", "--unknown")
    words = "--protocol foo|--sizes all|--sizes 64,squares|--track t|--passes 2"
    house = Emulated(Path(folder) / "emulated", v01={})
    house.refuses(*words.split("|"), "--sizes 64x64x64 --track t")


def test_unwritable(folder):
    """What cannot be written is one line, and an exit status that says so."""
    house = House(folder, v01={})
    limited = ["bash", "-c", 'ulimit -f 2; exec "$@" >/dev/null', "-"]
    result = run(*limited, *house.command("--rounds", "30", "--heuristics", "0"))
    same((result.returncode, "File too large" in result.stderr), (1, True))
    house.out.unlink()
    commands = [house.command("--passes", "1")]
    for program, *words in (("compare", house.out, house.out), ("record", "--list")):
        commands.append([sys.executable, "-m", f"bench.{program}", *words])
    for command in commands:
        result = run("bash", "-c", 'exec "$@" >/dev/full', "-", *command)
        require(result.returncode in (1, running.OUTPUT_LOST), f"{command}: {result.returncode}")
        require("Traceback" not in result.stderr and "No space left" in result.stderr, result)
    same(len(house.lines()), 1)  # it was written all the same


def test_places(folder):
    """What is recorded takes the place of what is there, in a folder of the GPU; one's own goes to
    a new file."""
    gpu, there = {"name": "NVIDIA H200", "card": "f16415c7"}, Path(folder) / "nvidia-h200"
    there.mkdir()
    (there / "a-test.f16415c7.jsonl").touch()
    options = Namespace(out=None, record="a-test.{card}", build=Path(folder))
    with mock.patch.object(running, "RESULTS", Path(folder)):
        found = running.File(options).place(gpu)
    same((found, found.exists()), (there / "a-test.f16415c7.jsonl", False))
    options.record = None
    same(running.File(options).place(None).parent, Path(folder) / "results" / "emulator")


def test_emulated(folder):
    """On the emulator rungs are checked, and their counts shown, at their own shapes or at those
    that are named; a failure is told in a rung's own words."""
    house = Emulated(folder, v01={}, v02={"multiple": 512}, a01={}, t02={})
    house.add("v03", {"exit": 1, "stdout": "WRONG      exact: 3 of 9 differ\npolicy     lazy\n"})
    result = house.ladder("--policy", "lazy", status=1)
    holds(result.stderr, "5 programs on the emulator (v 256x256x256, ", "v01: verified")
    holds(result.stdout, "CPU emulator, m=256 n=256 k=256, inputs normal, no speed is measured")
    holds(result.stdout, "v01   idea of v01  42             1.50 MB   0.25 MB      12\n")
    holds(result.stdout, "v02 does not take this shape: m=256 is no multiple")
    holds(result.stdout, "v03   FAILED: exit status 1: WRONG      exact: 3 of 9 differ\n")
    same(
        (house.runs()[0].gpu, {one.shape for one in house.runs()}), (None, {(256,) * 3, (256,) * 2})
    )
    command = house.commands()[-1]
    holds(command, "--policy lazy", "--inputs normal")
    require("--protocol" not in command, command)
    plan = (sys.executable, *House.PROGRAM, "--emulate", "--build", folder, "--dry-run")
    result = run(*plan, "--protocol", "burst", "--steps", "v01")
    holds(result.stderr, "the emulator measures no time")
    holds(result.stdout, "/emulated/v01 --inputs normal", "1 programs on the emulator (v): 1 proc")


def test_progress(_):
    """The time left is what as many took before; a bar is one line, and a log has a line of each
    run."""
    plan = ladder.make_plan([running.Task("v", "burst", {"m": 8}, (("v01", ""), ("v02", "")))], 2)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    for stream, wanted in (
        (terminal, f"\r\033[K[{'#' * 7}{'.' * 23}] 1/4 pass 1, v02, 0:00:30 left\r\033[K"),
        (io.StringIO(), "pass 1, v01: fine (10.0 s, 0:00:30 left)\n"),
    ):
        with mock.patch.object(running.time, "monotonic", iter((100, 110, 110)).__next__):
            shown = running.Progress(stream)
            shown.finished(plan[0], 10, "fine", 3)
            shown.running(plan[1:2], 2)
            shown.close()
        same(stream.getvalue(), wanted)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("bench", tests_in(globals())))
