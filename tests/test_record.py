#!/usr/bin/env python3
"""Tests of bench/record.py with programs that only end in one way or another. Needs no GPU.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
RECORD = (sys.executable, "-m", "bench.record")

import above_cublas
import test_choice

from tools.fake_rungs import holds, refused, require, run, run_cases, same, tests_in

from bench import record, rungs


def test_endings(_):
    """One that fails, or lacks what it runs, does not keep the next from running; where one cannot
    run, no other is tried."""
    for statuses, wanted in (
        ({"burst": 1, "rivals": 0, "a": 0}, (1, ["burst", "a"])),
        ({"burst": 0, "rivals": 1, "a": 0}, (0, ["burst", "a"])),
        ({"burst": 77, "a": 0}, (77, ["burst"])),
    ):
        ran = []

        def execute(command, ran=ran, statuses=statuses):
            ran.append(command[-1])
            return statuses[ran[-1]]

        runs = record.chosen(",".join(statuses))
        lacking = mock.patch.dict(record.LACKING, rivals=True)
        patched, quiet = mock.patch.object(record, "execute", execute), io.StringIO()
        with lacking, patched, contextlib.redirect_stdout(quiet):
            same((record.record(runs), ran), wanted)


def test_interrupted(folder):
    """A Ctrl-C reaches the run, which may write what it has."""
    text = "import os, pathlib, signal, time\ntry:\n    os.kill(os.getppid(), signal.SIGINT)\n"
    text += "    time.sleep(60)\nexcept KeyboardInterrupt:\n    pathlib.Path('written').touch()\n"
    with mock.patch.object(record, "ROOT", folder):
        try:
            record.execute([sys.executable, "-c", text])
        except KeyboardInterrupt:
            require(Path(folder, "written").exists(), "the interrupted run did not write")
        else:
            raise AssertionError("it was not interrupted")


def test_names(_):
    """Names that are none are refused, with those that there are; the commands are listed."""
    refused("'nothing'; there are burst, ", record.chosen, "burst,nothing")
    listed = run(*RECORD, "--list", "--only", "energy,burst").stdout.splitlines()
    same([line.split()[0] for line in listed[::2]], ["burst", "energy"])
    same({*record.RUNS} - {*record.chosen(None)}, {*record.chosen("judged")})
    first, last = record.RUNS[0], record.RUNS[-1]
    same(first.command(2, card=True)[-4:], ["--device", "2", "--record", "burst.{card}"])
    require("--device" not in last.command(2), "the emulator has no device")


def test_programs(folder):
    """All programs that are named can be built: rungs, variants that have a patch, and rivals. A
    sweep is of the last rung, and the seed that judges is of its own."""
    for name in {*rungs.find(), *record.PATCHES, *record.RIVALS, *record.RIVALS_OF_FP8}:
        for kind in ("steps", "emulated"):
            path = Path(folder, "variants" if "-" in name else "", kind, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o755)
    for one in record.RUNS:
        module, *options = one.words
        require(importlib.util.find_spec(module), f"{one.name}: {module}")
        if module in ("bench.ladder", "bench.sweep"):
            planned = run(sys.executable, "-m", module, *options, "--dry-run", "--build", folder)
            require(planned.returncode == 0, f"{one.name}: {planned.stderr}")
        if module == "bench.sweep":
            holds(
                planned.stdout, f"pass 1, {max(record.of_v('v', 'w').split(','))}: {folder}/steps/"
            )
            judges = f":{above_cublas.JUDGES}" in options[-1]
            same((one.name, judges), (one.name, one.name == "judged"))


def test_choices(_):
    """v18 beside each of its kernels, where the model was fitted and where it was not."""
    same(set(record.CHOICES.split(",")), {"v18", *test_choice.variants().values()})
    same(set(record.FITTED.split(",")), set(test_choice.FITTED))
    require(not set(record.UNSEEN.split(",")) & set(test_choice.FITTED), "fitted to, not unseen")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("record", tests_in(globals())))
