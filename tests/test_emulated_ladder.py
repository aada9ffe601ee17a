#!/usr/bin/env python3
"""Tests of bench/emulated_ladder.py with fake rungs: small scripts that write a made-up JSON.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LADDER = ("-m", "bench.emulated_ladder")

import tools  # noqa: F401 (finds the packages)

from bench.records import recorded

# A fake rung. BEHAVIOUR holds what a test wants of it.
FAKE = """#!{python} -IS
import json, os, sys, time
NAME, BEHAVIOUR, HERE = {name!r}, {behaviour!r}, {here!r}
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(os.path.join(HERE, "calls"), "a") as log:
    log.write(NAME + " " + " ".join(sys.argv[1:]) + "\\n")
time.sleep(BEHAVIOUR.get("sleep", 0))
sys.stdout.write(BEHAVIOUR.get("stdout", ""))
sys.stderr.write(BEHAVIOUR.get("stderr", ""))
if BEHAVIOUR.get("exit"):
    sys.exit(BEHAVIOUR["exit"])
run = {{
    "schema": 1, "kind": "step", "step": NAME, "idea": "idea of " + NAME, "commit": "abc1234",
    "gpu": BEHAVIOUR.get("gpu"), "problem": {{"m": 256, "n": 512, "k": 64}},
    "verification": {{"verified": BEHAVIOUR.get("verified", True)}}, "timing": None,
    "emulator": {{"counts": {{"tma_read_bytes": 1500000, "tma_written_bytes": 250000,
                            "wgmmas": 40, "mmas": 2}},
                 "shared_memory_accesses": [{{"extra_wavefronts": 5}}, {{"extra_wavefronts": 7}}]}},
}}
with open(options["--json"], "w") as stream:
    stream.write(BEHAVIOUR.get("json", json.dumps(run)))
"""

failures = []


class House:
    """A temporary build directory with fake rungs."""

    def __init__(self, folder, **rungs):
        self.folder = Path(folder)
        self.out = self.folder / "out.json"
        (self.folder / "emulated").mkdir()
        for name, behaviour in rungs.items():
            path = self.folder / "emulated" / name
            path.write_text(
                FAKE.format(python=sys.executable, name=name, behaviour=behaviour, here=folder)
            )
            path.chmod(0o755)

    def command(self, *words):
        return [sys.executable, *LADDER, "--build", str(self.folder), *words]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def calls(self):
        """What was run: 'v01 --inputs ...', in the order of the starts."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


def expect(condition, what):
    """Raises AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(what)


def test_right(folder):
    house = House(folder, v01={}, v02={})
    result = house.run()
    expect(result.returncode == 0, result.stderr)
    lines = result.stdout.splitlines()
    expect(lines[0] == "CPU emulator, m=256 n=512 k=64; no speed is measured", lines[0])
    row = lines[2].split()
    expect(row[:8] == ["v01", "yes", "42", "1.50", "MB", "0.25", "MB", "12"], row)
    expect(lines[3].startswith("v02"), lines[3])
    expect("TFLOPS" not in result.stdout, result.stdout)
    expect("v01: verified" in result.stderr, result.stderr)


def test_options_are_passed_on(folder):
    house = House(folder, v01={}, v02={})
    words = ["--m", "512", "--policy", "lazy", "--seed", "9", "--check", "sample"]
    expect(house.run("--steps", "v02", *words).returncode == 0, "exit status")
    expect(len(house.calls()) == 1, house.calls())
    for option in ("--m 512", "--policy lazy", "--seed 9", "--check sample", "--inputs normal"):
        expect(option in house.calls()[0], house.calls()[0])
    expect("--n" not in house.calls()[0] and "--protocol" not in house.calls()[0], house.calls()[0])


def test_failing(folder):
    report = "v02: deadlock: nobody can go on\nthread 3 waits\n"
    house = House(
        folder,
        v01={"exit": 1, "stdout": "WRONG      exact: 3 of 9 differ\npolicy     lazy\n"},
        v02={"exit": 1, "stderr": report},
        v03={},
        v04={"verified": False},
        v05={"gpu": {"name": "H200"}},
        v06={"json": "{"},
    )
    result = house.run("--out", str(house.out))
    expect(result.returncode == 1, result.stdout)
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line[:2] == "v0"}
    expect("WRONG      exact: 3 of 9 differ" in lines["v01"], lines["v01"])
    expect("v02: deadlock: nobody can go on" in lines["v02"], lines["v02"])
    expect("yes" in lines["v03"], lines["v03"])
    for name in ("v04", "v05", "v06"):
        expect("FAILED" in lines[name], lines[name])


def test_record(folder):
    house = House(folder, v01={}, v02={"exit": 1}, t02={})
    house.run("--out", str(house.out))
    record = recorded.load_record(house.out)
    expect(
        (record["schema"], record["kind"], record["commit"]) == (2, "emulated", "abc1234"), record
    )
    first, second = record["ladders"]
    expect([rung["step"] for rung in first["rungs"]] == ["v01", "v02"], record)
    expect("failed" in first["rungs"][1] and first["shape"] is None, record)
    expect((second["track"], second["rungs"][0]["step"]) == ("t", "t02"), record)
    expect("seconds" not in house.out.read_text(), "a time of this computer is recorded")


def test_sweep(folder):
    house = House(folder, v01={}, v02={"exit": 2, "stderr": "v02: m=64 is too small\n"}, t02={})
    result = house.run("--sizes", "64,128x64,64x64x32", "--out", str(house.out))
    expect(result.returncode == 0, result.stderr)
    ladders = recorded.load_record(house.out)["ladders"]
    shapes = [(one["track"], one["shape"]) for one in ladders]
    products = [("v", [64, 64, 64]), ("v", [64, 64, 32])]
    expect(shapes == [*products, ("t", [64, 64]), ("t", [128, 64])], shapes)
    expect([one["step"] for one in ladders[0]["rungs"]] == ["v01"], ladders[0])
    expect(ladders[0]["does_not_take"] == [{"step": "v02", "why": "m=64 is too small"}], ladders[0])
    expect("v02 at 64x64x32: does not take this shape" in result.stderr, result.stderr)
    expect(any("--m 64 --n 64 --k 32" in call for call in house.calls()), house.calls())
    moves = [call for call in house.calls() if call.startswith("t02")]
    expect(not any("--k" in call for call in moves), moves)


def test_track(folder):
    house = House(folder, v01={}, a01={}, t02={})
    expect(house.run("--track", "a").returncode == 0, "exit status")
    expect([call.split()[0] for call in house.calls()] == ["a01"], house.calls())


def test_edited_by_hand(folder):
    house = House(folder, v01={})
    house.run("--out", str(house.out))
    good = house.out.read_text()
    for old, new, field in (
        ('"seed": 1', '"seed": -1', "seed"),
        ('"verified": true', '"verified": 1', "ladders[0].rungs[0].verification.verified"),
        ('"wgmmas": 40', '"wgmmas": "many"', "ladders[0].rungs[0].emulator.counts.wgmmas"),
        ('"track": "v"', '"track": "w"', "ladders[0].track"),
        ('"kind": "emulated"', '"kind": "emulated", "speed": 1', "speed"),
    ):
        house.out.write_text(good.replace(old, new))
        try:
            recorded.load_record(house.out)
        except ValueError as error:
            expect(f": {field}: " in str(error), error)
        else:
            raise AssertionError(f"{new} was read")


def test_written_to_the_build_directory(folder):
    house = House(folder, v01={})
    result = house.run()
    path = house.folder / "emulated-ladder.json"
    expect(f"recorded in {path}" in result.stdout, result.stdout)
    expect(recorded.load_record(path)["interrupted"] is False, path.read_text())


def test_no_result(folder):
    result = House(folder, v01={"exit": 2, "stderr": "v01: m=64 is too small\n"}).run()
    expect(result.returncode == 1 and "nothing is written" in result.stderr, result.stderr)


def test_nothing_is_written_to_the_results(folder):
    before = sorted((ROOT / "bench" / "results").iterdir())
    House(folder, v01={}).run()
    expect(sorted((ROOT / "bench" / "results").iterdir()) == before, "bench/results has changed")


def test_timeout(folder):
    result = House(folder, v01={"sleep": 60}, v02={}).run("--timeout", "1")
    expect(result.returncode == 1, result.stdout)
    expect("not finished after 1 s" in result.stdout, result.stdout)


def test_interrupt(folder):
    house = House(folder, v01={}, v02={"sleep": 60}, v03={"sleep": 60})
    process = subprocess.Popen(
        house.command("--jobs", "1", "--out", str(house.out)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while len(house.calls()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    expect(process.returncode == 130, f"{process.returncode}: {errors}")
    expect("v01" in output and "Traceback" not in errors, output + errors)
    expect(len(house.calls()) == 2, house.calls())
    record = recorded.load_record(house.out)
    expect(record["interrupted"] is True, record)
    expect([rung["step"] for rung in record["ladders"][0]["rungs"]] == ["v01"], record)
    expect("INTERRUPTED" in output, output)


def test_bad_usage(folder):
    house = House(folder, v01={})
    for words in (
        ["--size", "0"],
        ["--size", "64", "--m", "64"],
        ["--protocol", "foo"],
        ["--sizes", "all"],
        ["--sizes", "64,squares"],
        ["--sizes", "64x64x64", "--track", "t"],
        ["--sizes", "64", "--size", "64"],
        ["--track", "t"],
        ["--steps", "v09"],
        ["--out", str(house.folder / "missing" / "x.json")],
    ):
        result = house.run(*words)
        expect(result.returncode == 2, f"{words}: {result.returncode}")
        expect(result.stdout == "" and house.calls() == [], words)


def test_dry_run(folder):
    house = House(folder, v01={}, v02={})
    result = house.run("--dry-run", "--size", "64")
    expect(result.returncode == 0 and house.calls() == [], result.stderr)
    expect(len(result.stdout.splitlines()) == 2, result.stdout)


def main():
    """Runs every function that is called test_...; each has a folder of its own."""
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        case = "emulated ladder: " + name[len("test_") :].replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"ok - {case}")
            except (AssertionError, LookupError, OSError, ValueError) as error:
                print(f"not ok - {case}: {' '.join(str(error).split())[:500]}")
                failures.append(case)
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.exit(main())
