#!/usr/bin/env python3
"""Tests of bench/record.py with programs that only end in one way or another. Needs no GPU.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import sys
import time
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
RECORD = (sys.executable, "-m", "bench.record")

import above_cublas
import test_choice

from tools.fake_rungs import holds, require, run, run_cases, same

from bench import record, rungs


class Fake(record.Run):
    """A run of a small program, whose text its options are."""

    def command(self, device=0, card=False):
        return [sys.executable, "-c", self.options, str(device)]


def ends_with(name, status):
    return Fake(name, "a fake", f"raise SystemExit({status})")


def outcome(runs, deadline=None, device=0):
    """{name: how it ended}, and nothing is printed."""
    with contextlib.redirect_stdout(io.StringIO()):
        return record.record(runs, deadline, device)


def options_of(run):
    """{option: value} of a run; one given twice has its last value."""
    words = run.options.split()
    return dict(zip(words[::2], words[1::2]))


def endings(_folder):
    """One that fails, or lacks what it runs, does not keep the next from running; where the first
    cannot run, no other is tried; all are on the GPU that is named."""
    runs = [ends_with("a", 1), Fake("c", "a fake", missing="make c"), ends_with("b", 0)]
    same(outcome(runs), {"a": "exit 1", "c": "left out: make c", "b": "recorded"})
    same(outcome([ends_with("a", 77), ends_with("b", 0)]), {"a": "cannot run here"})
    runs = [Fake("a", "a fake", "import sys; sys.exit(int(sys.argv[1]))")]
    same(outcome(runs, device=3), {"a": "exit 3"})
    first, last = record.RUNS[0], record.RUNS[-1]
    same(first.command(2, card=True)[-4:], ["--device", "2", "--record", "burst.{card}"])
    same(last.command(2)[-2:], ["--record", "counts"])
    require("--device" not in last.command(2), "the emulator has no device")


def deadline(folder):
    """At the deadline a run is interrupted, may write what it has, and the next is not begun."""
    begun, written = Path(folder, "begun"), Path(folder, "written")
    text = (
        "import time, pathlib\n"
        f"try:\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(600)\n"
        f"except KeyboardInterrupt:\n    pathlib.Path({str(written)!r}).write_text('half')\n"
    )
    stop = record.stop

    def stop_once_begun(program, seconds):  # on a loaded machine that may be after the deadline
        while not begun.exists() and program.poll() is None:
            time.sleep(0.01)
        stop(program, seconds)

    runs = [Fake("slow", "a fake", text), ends_with("next", 0)]
    with mock.patch.object(record, "stop", stop_once_begun):
        ended = outcome(runs, record.SECONDS_TO_END + 2)
    same(ended, {"slow": "no time left", "next": "no time left"})
    require(written.exists(), "the interrupted run did not write")


def names(_folder):
    """Names that are none are refused, with those that there are; all options are listed."""
    bad = run(*RECORD, "--only", "burst,nothing")
    same(bad.returncode, 2)
    holds(bad.stderr, "'nothing'", "energy")
    listed = run(*RECORD, "--list", "--only", "energy,burst").stdout.splitlines()
    same([line.split()[0] for line in listed[::2]], ["burst", "energy"])
    same({*record.RUNS} - {*record.chosen(None)}, {*record.chosen("judged")})


def programs(folder):
    """All programs that are named can be built: rungs, variants that have a patch, and rivals; and
    ladders have five passes. A sweep is of the last rung, and the seed that judges is of its
    own."""
    names = {*rungs.find(), *record.RIVALS, *record.RIVALS_OF_FP8}
    patches = {path.stem for path in (ROOT / "bench" / "variants").glob("*.patch")}
    there = Path(folder)
    for kind in ("steps", "emulated"):
        (there / kind).mkdir()
        for name in names | patches:
            (there / kind / name).touch(0o755)
    for one in record.RUNS:
        wanted = set(options_of(one).get("--steps", "").split(",")) - {""}
        require(wanted <= names | patches, f"{one.name}: {sorted(wanted - names - patches)}")
        require(importlib.util.find_spec(one.program), f"{one.name}: {one.program}")
        if one.program == "bench.ladder" and one.name != "counts":
            same((one.name, options_of(one)["--passes"]), (one.name, "5"))
        if one.program in ("bench.ladder", "bench.sweep"):
            words = re.sub(r"--build \S+", "", one.options).split()
            planned = run(sys.executable, "-m", one.program, *words, "--dry-run", "--build", there)
            require(planned.returncode == 0, f"{one.name}: {planned.stderr}")
        if one.program == "bench.sweep":
            holds(planned.stdout, f"pass 1, {record.UPPER[-3:]}: {there}/steps/")
            same(
                (one.name, f":{above_cublas.JUDGES}" in one.options),
                (one.name, one.name == "judged"),
            )


def choices(_folder):
    """v18 beside each of its kernels, where the model was fitted and where it was not. The last
    rung is among those that the pages compare, and all from v12 to it."""
    same(set(record.CHOICES.split(",")), {"v18", *test_choice.variants().values()})
    same(set(record.FITTED.split(",")), set(test_choice.FITTED))
    require(not set(record.UNSEEN.split(",")) & set(test_choice.FITTED), "fitted to, not unseen")
    same(record.UPPER.split(","), [name for name in rungs.find() if "v12" <= name < "w"])


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("record", (endings, deadline, names, programs, choices)))
