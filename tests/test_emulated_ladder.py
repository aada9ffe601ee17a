#!/usr/bin/env python3
"""Tests of bench/emulated_ladder.py with fake rungs: small scripts that write a made-up JSON.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools import fake_rungs
from tools.fake_rungs import holds, refused, require, run_cases, same, tests_in

from bench.records import recorded


class House(fake_rungs.House):
    """A temporary build directory with fake rungs, as they are on the emulator."""

    PROGRAM, STEPS = ("-m", "bench.emulated_ladder"), "emulated"

    def usual(self, more):
        return ()


def test_right(folder):
    """All rungs are checked on their own shapes; the counts go to the build directory alone."""
    before = sorted((ROOT / "bench" / "results").iterdir())
    house = House(folder, v01={}, v02={})
    result = house.ladder()
    same(sorted((ROOT / "bench" / "results").iterdir()), before)
    lines = result.stdout.splitlines()
    same(lines[0], "CPU emulator, m=256 n=256 k=256; no speed is measured")
    same(lines[2].split()[:8], ["v01", "yes", "42", "1.50", "MB", "0.25", "MB", "12"])
    require(lines[3].startswith("v02") and "TFLOPS" not in result.stdout, result.stdout)
    path = house.folder / "emulated-ladder.json"
    holds(result.stdout + result.stderr, f"recorded in {path}", "v01: verified")
    same(recorded.load_record(path)["interrupted"], False)


def test_options(folder):
    """Options are passed on to the rungs that are asked for; --dry-run only prints."""
    house = House(folder, v01={}, v02={}, a01={}, t02={})
    result = house.ladder("--dry-run", "--track", "v", "--size", "64")
    same((house.calls(), len(result.stdout.splitlines())), ([], 2))
    words = "--m 512 --policy lazy --seed 9 --check sample"
    house.ladder("--steps", "v02", *words.split())
    (command,) = house.commands()
    holds(command, "v02 --m 512", "--policy lazy", "--seed 9", "--check sample", "--inputs normal")
    require("--n" not in command and "--protocol" not in command, command)
    house.ladder("--track", "a")
    same(house.calls()[1:], ["a01 full"])


def test_failing(folder):
    """A rung that fails, hangs or says nonsense is named with its own words; the others are checked."""
    report = "v02: deadlock: no thread can go on\nthread 3 waits"
    house = House(
        folder,
        v01={"exit": 1, "stdout": "WRONG      exact: 3 of 9 differ\npolicy     lazy\n"},
        v02={"exit": 1, "stderr": report},
        v03={},
        v04={"verified": False},
        v05={"gpu": "real"},
        v06={"json": "{"},
        v07={"sleep_in_call": 0},
    )
    result = house.ladder("--out", str(house.out), "--timeout", "3", status=1)
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line[:2] == "v0"}
    for name, words in (
        ("v01", "WRONG      exact: 3 of 9 differ"),
        ("v02", "v02: deadlock: no thread can go on"),
        ("v03", "yes"),
        *((name, "FAILED") for name in ("v04", "v05", "v06")),
        ("v07", "not finished after 3 s"),
    ):
        holds(lines[name], words)
    none = House(Path(folder) / "none", v01={"exit": 2, "stderr": "v01: m=64 is too small"})
    holds(none.ladder(status=1).stderr, "nothing is written")


def test_record(folder):
    """What is recorded is sound, has no time of this computer, and an edit of it is refused."""
    house = House(folder, v01={}, v02={"exit": 1}, t02={})
    house.ladder("--out", str(house.out), status=1)
    record = recorded.load_record(house.out)
    same((record["schema"], record["kind"], record["commit"]), (2, "emulated", "abc1234"))
    first, second = record["ladders"]
    same([rung["step"] for rung in first["rungs"]], ["v01", "v02"])
    require("failed" in first["rungs"][1] and first["shape"] is None, record)
    same((second["track"], second["rungs"][0]["step"]), ("t", "t02"))
    good = house.out.read_text()
    require("seconds" not in good, "a time of this computer is recorded")
    rung = "ladders[0].rungs[0]."
    for old, new, field in (
        ('"seed": 1,\n "policy"', '"seed": -1,\n "policy"', "seed"),
        ('"verified": true', '"verified": 1', f"{rung}verification.verified"),
        ('"wgmmas": 40', '"wgmmas": "many"', f"{rung}emulator.counts.wgmmas"),
        ('"track": "v"', '"track": "w"', "ladders[0].track"),
        ('"kind": "emulated"', '"kind": "emulated", "speed": 1', "speed"),
    ):
        house.out.write_text(good.replace(old, new))
        refused(f": {field}: ", recorded.load_record, house.out)


def test_sweep(folder):
    """Several shapes are ladders of one file; a shape that a rung doesn't take is no failure."""
    house = House(folder, v01={}, v02={"exit": 2, "stderr": "v02: m=64 is too small"}, t02={})
    result = house.ladder("--sizes", "64,128x64,64x64x32", "--out", str(house.out))
    ladders = recorded.load_record(house.out)["ladders"]
    products = [("v", [64, 64, 64]), ("v", [64, 64, 32])]
    shapes = [(one["track"], one["shape"]) for one in ladders]
    same(shapes, [*products, ("t", [64, 64]), ("t", [128, 64])])
    same([one["step"] for one in ladders[0]["rungs"]], ["v01"])
    same(ladders[0]["does_not_take"], [{"step": "v02", "why": "m=64 is too small"}])
    holds(result.stderr, "v02 at 64x64x32: does not take this shape")
    holds("\n".join(house.commands()), "--m 64 --n 64 --k 32")


def test_interrupt(folder):
    """Ctrl-C keeps what is finished, marks the file and begins no other rung."""
    house = House(folder, v01={}, v02={"sleep_in_call": 0}, v03={"sleep_in_call": 0})
    result = house.interrupted(2, signal.SIGINT, "--jobs", "1", "--out", str(house.out))
    same((result.returncode, len(house.calls())), (130, 2))
    record = recorded.load_record(house.out)
    same((record["interrupted"], len(record["ladders"][0]["rungs"])), (True, 1))
    holds(result.stdout, "v01", "INTERRUPTED")


def test_bad_usage(folder):
    """What cannot be, or would take days, is refused, and nothing is run."""
    words = "--size 0|--size 64 --m 64|--protocol foo|--sizes all|--sizes 64,squares|--track t"
    words += "|--sizes 64x64x64 --track t|--sizes 64 --size 64|--steps v09"
    House(folder, v01={}).refuses(*words.split("|"), f"--out {folder}/missing/x.json")


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(ROOT)
    sys.exit(run_cases("emulated ladder", tests_in(globals())))
