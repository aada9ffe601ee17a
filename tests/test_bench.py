#!/usr/bin/env python3
"""Tests of bench/ladder.py and bench/run.py with fake rungs, as on a GPU and as on the emulator.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from statistics import median
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent

from tools.fake_rungs import SIZE, House, close, holds, require, run, run_cases, same, tests_in

from bench import ladder, results
from bench import run as running

FLOP = 2 * SIZE**3


class Emulated(House):
    """Fake rungs as they are on the emulator."""

    STEPS, USUAL = "emulated", ("--emulate",)

    def usual(self, more):
        return (*self.USUAL, "--out", str(self.out))


def titles(house):
    """(computation, shape, protocol) of the ladders that were recorded, in their order."""
    return [(one.problem["computation"], one.shape, one.protocol) for one in house.runs()]


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
    house = House(folder, v01={}, v02={}, v03={})
    lines = house.ladder("--dry-run").stdout.splitlines()
    same((len(lines), house.calls(), house.out.exists()), (10, [], False))
    holds(lines[0], "pass 1, v01: ", "--heuristics 64", f"--m {SIZE}")
    said = "3 programs on the GPU (v 256x256x256 burst), 3 passes: 9 processes, about 0:11"
    same((lines[-1], house.ladder().stderr.splitlines()[0]), (f"ladder: {said}",) * 2)
    same(house.calls(), ["v01", "v02", "v03", "v02", "v01", "v03", "v03", "v01", "v02"])
    house.ladder("--steps", "3,v1", "--passes", "1")
    same(house.calls()[9:], ["v01", "v03"])


def test_sources(folder):
    """Variants and rivals of other build directories run after their rung, or last, and are
    compared with it; what was built of a file that is gone does not run."""
    house = House(folder, v06={"speed": 0.5}, v08={"speed": 0.8}, v99={}, v08_gone={})
    other = House(house.folder / "other", v08_no_multicast={"speed": 0.4}, v06_each_sm={})
    other.add("v-fast-cu-12", {"speed": 0.9})
    build = ("--build", str(other.folder))
    house.ladder(*build)
    found = house.result()
    same(found.names, ["v06", "v06-each-sm", "v08", "v08-no-multicast", "v-fast-cu-12"])
    pairs = [("v06-each-sm", "v06"), ("v08", "v06"), ("v08-no-multicast", "v08")]
    same(ladder.neighbours(found), pairs)
    close(found.against("v08-no-multicast", "v08").ratio, 0.5)
    house.refuses("--steps v99", "--steps v08-gone")


def test_moves(folder):
    """The rungs of the t track have no k; GB/s and the ratio to a copy are told; t01 runs by
    itself."""
    house = House(folder, v01={}, t01={}, t02={"speed": 0.5}, t03={"speed": 0.75})
    result = house.ladder("--track", "t")
    found = house.result()
    same(
        (found.names, found.shape, found.contenders & {"cublas"}),
        (["t02", "t03"], (256, 256), set()),
    )
    close(found.ratio("t03").mid, 0.75)
    close(found.ratio("t03", "second_opinion").mid, 3)
    close(found.rate("t03").high, 750 * (1 / 1.01 + 1) / 2)
    holds(result.stdout, "t03 faster than t02: yes (paired ratio 1.5000", "GB/s (p10 to p90)")
    holds(result.stdout, "cudaMemcpyAsync", "somebody", "37.5 %")
    require("TFLOPS" not in result.stdout + result.stderr, result.stdout)
    house.ladder("--steps", "t01")
    same(house.result().names, ["t01"])
    plan = (sys.executable, *House.PROGRAM, "--build", folder, "--track", "t", "--dry-run")
    holds(run(*plan).stdout, "--m 32768 --n 32768 --inputs")
    holds(run(*plan, "--k", "4").stderr, "there is no k")


def test_one_file(folder):
    """Tracks, shapes and protocols of one invocation are runs of one file, a protocol after the
    other."""
    house = House(folder, v01={}, v02={"speed": 0.5}, a02={}, t02={})
    words = ("--track", "all", "--sizes", "256,512x256x64,512x1024", "--protocol", "both")
    said = house.ladder(*words, "--passes", "2").stdout
    wanted = []
    for protocol in ladder.BOTH * 2:  # v, then a
        wanted += [("gemm_bf16", shape, protocol) for shape in ((256,) * 3, (512, 256, 64))]
    for protocol in ladder.BOTH:
        wanted += [("transpose_fp32", shape, protocol) for shape in ((256, 256), (512, 1024))]
    same(titles(house), list(dict.fromkeys(wanted)))  # v and a have one computation here
    same(house.calls()[:4], ["v01", "v02", "v02", "v01"])  # a shape's passes
    holds(said, "650 W", "gemm_bf16, sustained: median ratio to cuBLAS", "256x256x256  512x256x64")


def heuristics_asked(command):
    """'64' for --heuristics 64, '#7' for --algorithm 00...7."""
    words = command.split()
    if "--algorithm" in words:
        return f"#{int(words[words.index('--algorithm') + 1], 16)}"
    return words[words.index("--heuristics") + 1] if "--heuristics" in words else ""


def test_cublaslt(folder):
    """The first program of a ladder finds the best of cuBLASLt; all have it beside them; FP8's
    modes are ladders of their own."""
    house = House(folder, v01={"exit": 1}, v02={"speed": 0.5, "winner": 7}, v03={}, t02={})
    words = ("--sizes", "256,512", "--passes", "2", "--track", "all")
    said = house.ladder(*words, status=1).stdout
    asked = list(map(heuristics_asked, house.commands()))
    one_ladder = ["64", "64", "#7", "#7", "#7"]  # v01 fails, and is not run again
    same((asked[:10], set(asked[10:])), (2 * one_ladder, {""}))  # nothing to multiply in t02
    holds(said, "of cuBLASLt (p10 to p90)", "the best of 64 heuristics: kernel of number 7")
    found = house.runs()[0]
    close(found.ratio("v02", "cublaslt").mid, 0.4)
    same((found.heuristics["winner"]["number"], "timed" in found.heuristics), (7, False))
    for many, wanted in (("2", ["2", "#1"]), ("0", ["", ""]), ("all", ["all", "#1"])):
        house.add("v02", {"winner": 1, "cut": many == "all"})
        words = ("--heuristics", many, "--passes", "1", "--steps", "2,3")
        said = house.ladder(*words).stdout
        same(list(map(heuristics_asked, house.commands()[-2:])), wanted)
        same("cublaslt" in house.result().contenders, many != "0")
    holds(said, "the best of 1,592 configurations (a list that was cut): kernel of number 1")
    house = House(Path(folder) / "f", f01={"winner": 7}, f02={"winner": 5}, f08={})
    house.add("f03", {"winner": 3, "block_scales": True})
    house.add("f04", {"block_scales": True})
    said = house.ladder("--track", "f", "--passes", "1").stdout
    same(house.calls(), ["f01", "f08", "f02", "f03", "f04"])
    same(list(map(heuristics_asked, house.commands())), ["64", "#7", "64", "64", "#3"])
    same(said.count("kernel of number"), 3)


def test_protocols(folder):
    """What a protocol reads beside the time is shown: a clock, what was before, an early launch. A
    wide spread is warned about."""
    house = House(folder, v01={"noise": 0.02}, v17={"speed": 0.8, "early": 1.0})
    words = ("--passes", "3", "--heuristics", "0", "--protocol")
    said = house.ladder(*words, "burst").stdout
    found = house.result()
    close(found.ratio("v17", "early").mid, 0.8)  # its time over that of the usual launch
    holds(
        said, "early launch over usual, time", "WARNING: the spread is wide (over 1%", "v01 (2.0%)"
    )
    house.ladder(*words, "sustained")
    # The median of the passes, each program's calls 3 to 5.
    close(house.result().reading("v01", "ghz"), 1.9)
    same([line.split("--turn ")[1][0] for line in house.commands()[-6:]], list("001122"))
    said = house.ladder(*words, "call").stdout
    microseconds = 2e-6 * SIZE**3 / house.result().rate("v01").mid
    close(house.result().reading("v01", "before_seconds"), 0.008)
    holds(said, f"{microseconds:.2f} µs", "a call", "before")
    require("clock" not in said, said)


# --- what goes wrong --------------------------------------------------------------------------


def test_failing(folder):
    """Wrong, crashing, hanging and silent rungs, and those whose row is none or another's, are
    noted; the others are still measured."""
    behaviours = {
        "v02": ({"exit": 1, "stderr": "v02: wrong result"}, "exit status 1: v02: wrong result"),
        "v03": ({"crash": True}, "SIGABRT"),
        "v04": ({"exit": 77, "stderr": "needs something else"}, "77: needs something else"),
        "v05": ({"wrong_in_call": 0}, "exit status 1: WRONG      exact: 1 of 4 differ"),
        "v06": ({"sleep_in_call": 0}, "not finished after 2 s"),
        "v07": ({"exit": 2, "stderr": "v07: unknown option (--help says more)"}, "exit status 2"),
        "v08": ({"gpu": "Fake GPU 2"}, "its gpu is not that of the first program"),
        "v09": ({"commit": "def5678"}, "its commit is not that of the first program"),
        "v10": ({"problem": {"seed": 2}}, "it ran"),
        **{f"v{11 + i}": ({"json": text}, "its JSON") for i, text in enumerate(("{", "[]", ""))},
    }
    bad = {name: behaviour for name, (behaviour, _) in behaviours.items()}
    house = House(folder, v01={}, **bad, v20={})
    said = house.ladder("--timeout", "2", status=1)
    found = house.result()
    for name, (_, why) in behaviours.items():
        holds(found.failed[name], why)
        holds(said.stdout, f"FAILED: {found.failed[name]}")
    same((found.measured, found.passes), (["v01", "v20"], 3))
    same(house.calls().count("v02"), 1)


def test_not_taken(folder):
    """A shape that a rung doesn't take is no failure; a rung that fails at one shape is tried at
    the next."""
    of_64 = {"multiple": 64}
    house = House(folder, v01=of_64, v02={"multiple": 512}, v03=of_64, v04={"alone": 512})
    result = house.ladder("--sizes", "256,512,96")
    first, second, third = house.runs()
    same(first.refused, {"v02": "m=256 is no multiple", "v04": ladder.ALONE})
    same((first.measured, second.measured), (["v01", "v03"], ["v01", "v02", "v03", "v04"]))
    same((third.names, len(third.refused)), ([], 4))
    same(house.calls().count("v02"), 5)  # once where it refuses
    holds(result.stdout, "v02 does not take this shape: m=256 is no multiple")
    # side by side: dashes where a rung takes no shape
    require(re.search(r"^v02 +- +1\.000 +-$", result.stdout, re.MULTILINE), result.stdout)


def test_nothing(folder):
    """Without a result no file is written, and it is said why; 77 of the first rung of a single
    track ends the ladder, and where one track cannot run another may."""
    cannot = {"exit": 77, "stderr": "v01: no GPU found"}
    small = {"exit": 2, "stderr": "m=256 is too small"}
    for index, (status, said, calls, rungs) in enumerate(
        (
            (77, "v01: no GPU found\n", 1, {"v01": cannot, "v02": {}}),
            (1, "m=256 is too small", 1, {"v01": small}),
            (
                77,
                "v01: no GPU found\n",
                2,
                {"v01": cannot, "a02": {**cannot, "stderr": "a02: none"}},
            ),
        )
    ):
        house = House(Path(folder) / str(index), **rungs)
        words = ("--track", "all") if "a02" in rungs else ()
        holds(house.ladder(*words, status=status).stderr, said)
        same((len(house.calls()), house.out.exists()), (calls, False))
    house.add("a02", {})
    house.ladder(*words, status=1)
    same(house.result().measured, ["a02"])


def test_busy(folder):
    """Beside another process nothing is recorded, unless it is allowed, and said; one that comes
    later is named."""
    named = "4711 python3"
    for index, (since, options, status, said) in enumerate(
        (
            (0, (), 1, f"the GPU is in use by {named}: nothing is measured; --share-gpu"),
            (0, ("--share-gpu",), 0, f"WARNING: {named} uses the GPU too"),
            (1, (), 0, f"WARNING: other processes used the GPU: {named}"),
        )
    ):
        house = House(Path(folder) / str(index))
        house.add("v01", {"other_processes": [named], "since": since})
        result = house.ladder("--passes", "3", *options, status=status)
        holds(result.stdout + result.stderr, said)
        same((len(house.calls()), len(house.lines())), (1, 0) if status else (3, 3))


def test_interrupted(folder):
    """Ctrl-C keeps what is finished and ends the rung under way; before any has finished nothing is
    written."""
    house = House(folder, v01={}, v02={"sleep_in_call": 3})
    began = time.monotonic()
    # v01 v02 v02 v01 at 256; v01 v02 and then v02 sleeps at 512
    words = ("--sizes", "256,512,1024", "--passes", "2")
    for number in (signal.SIGINT, signal.SIGTERM):
        (house.folder / "commands").unlink(missing_ok=True)
        house.out.unlink(missing_ok=True)
        result = house.interrupted(7, number, *words)
        same((result.returncode, "INTERRUPTED" in result.stdout), (130, True))
        same([one.passes for one in house.runs()], [2, 1])
    require(time.monotonic() - began < 40, "it waited for the rung that slept")
    house = House(Path(folder) / "early", v01={"sleep_in_call": 0})
    same((house.interrupted(1, signal.SIGINT).returncode, house.out.exists()), (130, False))


def test_killed(folder):
    """SIGKILL keeps the rows that are finished."""
    house = House(folder, v01={}, v02={"sleep_in_call": 1})
    house.interrupted(4, signal.SIGKILL)
    same({name: len(rows) for name, rows in house.result().rows.items()}, {"v01": 2, "v02": 1})
    house.add("v02", {})


def test_bad_usage(folder):
    """Everything that can be known beforehand is refused with exit 2 and nothing run."""
    house = House(folder, v01={}, t02={})
    words = "--size 0|--size -8|--size 8x|--size 99999999999|--size=|--m 256|--steps v02"
    words += "|--steps banana|--steps=|--steps v01-missing|--steps v01-UPPER|--steps x01"
    words += f"|--build {folder}/nowhere|--out {folder}/nowhere/out.json|--out {folder}"
    words += f"|--protocol none|--inputs zeros|--seed -1|--seed {2**64}|--passes 0|--device -1"
    words += "|--sizes 8 --size 8|--sizes 8 --k 8|--sizes 8x9|--sizes 8x9x7 --track t|--track a"
    words += "|--track b|--heuristics 65|--heuristics -1|--heuristics any|--unknown"
    house.refuses(*words.split("|"))
    words = "--size 64 --m 64|--protocol foo|--sizes all|--sizes 64,squares|--track t|--passes 2"
    house = Emulated(Path(folder) / "emulated", v01={})
    house.refuses(*words.split("|"), "--sizes 64x64x64 --track t", "--sizes 64 --size 64")


def test_unwritable(folder):
    """What cannot be written is one line, and an exit status that says so."""
    house = House(folder, v01={})
    limited = ["bash", "-c", 'ulimit -f 2; exec 2>&1; exec "$@" | cat; exit ${PIPESTATUS[0]}', "-"]
    result = run(*limited, *house.command("--rounds", "30", "--heuristics", "0"))
    same(result.returncode, 1)
    holds(result.stdout, "File too large")
    require("Traceback" not in result.stdout, result.stdout)
    house.out.unlink()
    for command in (
        house.command("--passes", "1"),
        [sys.executable, "-m", "bench.compare", str(house.out), str(house.out)],
        [sys.executable, "-m", "bench.record", "--list"],
    ):
        pipes = {"stderr": subprocess.PIPE, "text": True, "timeout": 60}
        with open("/dev/full", "w") as full:
            result = subprocess.run(command, check=False, stdout=full, **pipes)
        require(result.returncode in (1, running.OUTPUT_LOST), f"{command}: {result.returncode}")
        said = result.stderr.splitlines()[-1]
        require("Traceback" not in result.stderr and "No space left" in said, result.stderr)
    same(len(house.lines()), 1)  # it was written all the same


def test_places(folder):
    """Rows go to a folder of the GPU: what is recorded in place of what is there, one's own to a
    new file."""
    gpu = {"name": "NVIDIA H200", "card": "f16415c7"}
    old = Path(folder) / "nvidia-h200" / "a-test.f16415c7.jsonl"
    old.parent.mkdir()
    old.touch()
    for record, path in ((None, None), ("a-test.{card}", old)):
        options = Namespace(out=None, record=record, build=[Path(folder)])
        with mock.patch.object(running, "RESULTS", Path(folder)):
            found = running.File(options, print).place(gpu)
        same((found, found.exists()), (path or found, False))
        same(found.parent, old.parent if record else Path(folder) / "results" / "nvidia-h200")
    same(results.slug(None), "emulator")


# --- on the emulator --------------------------------------------------------------------------


def test_emulated(folder):
    """All rungs are checked on their own shapes, or on those that are named, and their counts
    shown."""
    house = Emulated(folder, v01={}, v02={"multiple": 512}, a01={}, t02={})
    result = house.ladder("--track", "v")
    lines = result.stdout.splitlines()
    same(lines[0], "CPU emulator, m=256 n=256 k=256; no speed is measured")
    same(lines[2].split()[:8], ["v01", "yes", "42", "1.50", "MB", "0.25", "MB", "12"])
    holds(result.stderr, "2 programs on the emulator (v): 2 processes", "v01: verified")
    same(house.result().gpu, None)
    house.ladder("--steps", "v02", *["--m", "512", "--policy", "lazy", "--seed", "9"])
    command = house.commands()[-1]
    holds(command, "v02 --m 512", "--policy lazy", "--seed 9", "--inputs normal")
    require("--n" not in command and "--protocol" not in command, command)
    result = house.ladder("--sizes", "64,128x64,64x64x32")
    shapes = [one.shape for one in house.runs() if one.measured]
    same(set(shapes), {(64, 64, 64), (64, 64, 32), (64, 64), (128, 64)})
    holds(result.stdout, "v02   64x64x32  does not take this shape: m=64 is no multiple")
    result = house.ladder("--protocol", "burst", "--dry-run", "--track", "v")
    holds(result.stderr, "the emulator measures no time")
    same(len(result.stdout.splitlines()), 3)


def test_emulated_failures(folder):
    """On the emulator a rung that fails or hangs is named with its own words; a Ctrl-C keeps the
    others."""
    report = "v02: deadlock: no thread can go on\nthread 3 waits"
    house = Emulated(
        folder, v01={"exit": 1, "stdout": "WRONG      exact: 3 of 9 differ\npolicy     lazy\n"}
    )
    house.add("v02", {"exit": 1, "stderr": report})
    house.add("v03", {})
    house.add("v07", {"sleep_in_call": 0})
    result = house.ladder("--timeout", "3", status=1)
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line[:2] == "v0"}
    for name, words in (
        ("v01", "FAILED: exit status 1: WRONG      exact: 3 of 9 differ"),
        ("v02", "v02: deadlock: no thread can go on"),
        ("v03", "yes"),
        ("v07", "not finished after 3 s"),
    ):
        holds(lines[name], words)
    house = Emulated(
        Path(folder) / "two", v01={}, v02={"sleep_in_call": 0}, v03={"sleep_in_call": 0}
    )
    result = house.interrupted(2, signal.SIGINT, "--jobs", "1")
    same((result.returncode, len(house.calls()), len(house.lines())), (130, 2, 1))
    holds(result.stdout, "v01", "INTERRUPTED")


# --- progress ---------------------------------------------------------------------------------


def plan_of(passes, *protocols):
    """A plan of two rungs by each protocol."""
    programs = (("v01", "v01"), ("v02", "v02"))
    tasks = [running.Task("v", protocol, {"m": 8}, programs) for protocol in protocols]
    return ladder.make_plan(tasks, passes)


def test_progress(_):
    """The time left is what each rung took last; of rungs not seen yet, what others took."""
    plan = plan_of(2, "burst", "sustained")
    stream = io.StringIO()
    stream.isatty = lambda: True
    bar = running.Progress(stream=stream)
    bar.running(plan[:1], plan[1:])
    require("left" not in stream.getvalue() and "[....." in stream.getvalue(), stream.getvalue())
    # seconds of each run in turn, and what is left then
    for index, (seconds, left) in enumerate(
        ((10, 70), (20, 20 + 10 + 4 * 15), (20, 10 + 60), (10, 60), (100, 300))
    ):
        bar.finished(plan[index], seconds, "fine", plan[index + 1 :])
        same(bar.time_left(plan[index + 1 :]), f", {running.clock(left)} left")
        bar.running(plan[index + 1 : index + 2], plan[index + 2 :])
    holds(stream.getvalue(), f"[{'#' * 7}{'.' * 23}] 2/8 v 8 burst, pass 2, v02, 1:30 left")
    require("\n" not in stream.getvalue(), "a bar is one line")
    same([running.clock(one) for one in (59.9, 61, 3725)], ["0:59", "1:01", "1:02:05"])
    log, plan = io.StringIO(), plan_of(1, "burst")  # no terminal: a line for each run
    lines = running.Progress(jobs=2, stream=log)
    lines.running(plan[:1], plan[1:])
    lines.finished(plan[0], 10, "fine", plan[1:])
    lines.close()
    same(log.getvalue(), "pass 1, v01: fine (10.0 s, 0:05 left)\n")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("bench", tests_in(globals())))
