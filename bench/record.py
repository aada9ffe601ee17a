#!/usr/bin/env python3
"""Records what the README, the notes and the pictures quote of the v track, one run after the other.

    make record                      everything
    make record ARGS="--only choice,energy"
    make record ARGS=--list

Each run is a program of its own, with its own progress, and its file lies in bench/results when it
ends: an interrupt or a deadline leaves the files of those before. The order is that of what is
missed most. Afterwards `make notes plots` and `python3 bench/readme_table.py` bring them to the
pages. Nothing but Python's standard library is needed.

Exit status: 0 all recorded, 1 one failed or there was no time left for it, 2 bad usage, 77 this
machine cannot run them, 130 interrupted.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import recorded
import selection
from process import CANNOT_RUN_HERE

BENCH = recorded.ROOT / "bench"
UPPER = "v12,v13,v14,v15,v16,v17,v18"  # what the last pages compare
SWEPT = f"v04,v07,{UPPER}"  # what the README's sweep and sizes.png show
CHOICES = "v18,v18-tall,v18-wide,v18-turns,v18-square,v18-narrow"
# Shapes that v18's model was not fitted to, and the three of tests/test_choice.py that it was.
UNSEEN = (
    "2560x4096x1024,1792,3584,2304x6144x3072,9216x4608x768,1024x8192x2048,640x5120x5120,"
    "20480x1024x512"
)
FITTED = "16384x4096x256,12288x3072x512,6144x4096x2048"
# The variants, but for v18's, which are its choices; and their rungs.
VARIED = {path.stem for path in (BENCH / "variants").glob("v*.patch") if path.stem[:3] != "v18"}
TRIED = ",".join(sorted(VARIED | {recorded.rung_of(name) for name in VARIED}))
VARIANTS = "--build build --build build/variants"
SECONDS_TO_END = 20  # that a run gets to write what it has, when its time is over


@dataclass(frozen=True)
class Run:
    name: str
    what: str
    program: str
    options: str = ""

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(BENCH / self.program), *shlex.split(self.options)]


RUNS = (
    Run("burst", "all rungs at 8192 cubed", "ladder.py", "--passes 5"),
    Run(
        "sustained",
        "the upper rungs at the power limit, with joules",
        "ladder.py",
        f"--steps v07,{UPPER} --protocol sustained --passes 2 --rounds 2",
    ),
    Run(
        "choice",
        "v18 and its kernels one by one, where its model was not fitted",
        "ladder.py",
        f"{VARIANTS} --steps {CHOICES} --sizes {UNSEEN},{FITTED} --passes 2 --heuristics 0",
    ),
    Run(
        "counters",
        "bytes, cycles and bank conflicts, by ncu",
        "counters.py",
        f"{VARIANTS} --steps v02,v03,v04,v05,v06,v07,v07-column-groups,v08,v08-no-multicast,v09,v10,"
        f"v10-unswizzled,v11,{UPPER}",
    ),
    Run("energy", "the joules of a rung by its parts", "energy.py"),
    Run("models", "shapes of models", "ladder.py", f"--steps {SWEPT} --sizes models --passes 2"),
    Run("squares", "512 to 16384", "ladder.py", f"--steps {SWEPT} --sizes squares --passes 2"),
    Run(
        "launches",
        "v18 launched early and as usual",
        "ladder.py",
        f"{VARIANTS} --steps v18,v18-usual-launch --sizes 512,1024,2048,8192 --passes 2"
        " --heuristics 0",
    ),
    Run(
        "variants",
        "what was tried, beside its rung",
        "ladder.py",
        f"{VARIANTS} --steps {TRIED} --size 8192 --passes 3",
    ),
    Run(
        "short",
        "short k loops, where the end of a tile weighs",
        "ladder.py",
        "--steps v04,v05,v06,v07,v08,v09,v10,v11,v12,v13,v14,v15,v16 --sizes 8192x8192x1024"
        " --passes 3",
    ),
    Run(
        "short-variants",
        "what was tried at the end of a tile, with short k loops",
        "ladder.py",
        f"{VARIANTS} --steps v14,v14-one-in-flight,v16,v16-one-in-flight,v16-late-place,"
        "v16-warp-stores,v16-blocks-apart,v16-plain-stores --sizes 8192x8192x1024 --passes 3",
    ),
)


def make_parser():
    """The options."""
    parser = argparse.ArgumentParser(
        description="Record what the README, the notes and the pictures quote of the v track.",
        epilog="Exit status: 0 all recorded, 1 one failed or had no time, 2 bad usage, "
        "77 this machine cannot run them, 130 interrupted.",
        allow_abbrev=False,
    )
    names = ", ".join(run.name for run in RUNS)
    add = parser.add_argument
    add("--only", metavar="NAME,...", help=f"of {names} (default: all)")
    add("--list", action="store_true", help="print the runs and their commands; run nothing")
    add("--deadline", type=selection.positive, metavar="S", help="seconds for all (default: none)")
    return parser


def chosen(only):
    """The runs of those names, in the order of RUNS. UsageError for a name that is none."""
    wanted = [run.name for run in RUNS] if only is None else only.split(",")
    unknown = sorted(set(wanted) - {run.name for run in RUNS})
    if unknown:
        known = ", ".join(run.name for run in RUNS)
        raise selection.UsageError(f"--only: no run is called '{unknown[0]}'; there are {known}")
    return [run for run in RUNS if run.name in wanted]


def finished(process, seconds):
    """Its exit status; None if its time was over. It is interrupted then, as by Ctrl-C, and killed
    if that does not end it."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None


def execute(run, left):
    """Runs it, for so many seconds at most (None: as long as it takes), and says how it ended."""
    if left is not None and left <= SECONDS_TO_END:
        return "no time left"
    process = subprocess.Popen(run.command, cwd=recorded.ROOT)
    try:
        status = finished(process, None if left is None else left - SECONDS_TO_END)
    except KeyboardInterrupt:  # it got the same one, and writes what it has
        process.wait()
        raise
    if status == CANNOT_RUN_HERE:
        return "cannot run here"
    return "recorded" if status == 0 else "no time left" if status is None else f"exit {status}"


def record(runs, deadline):
    """Runs all of them; {name: how it ended}."""
    began = time.monotonic()
    ended = {}
    for number, run in enumerate(runs, 1):
        print(f"{number} of {len(runs)}, {run.name}: {run.what}", flush=True)
        left = None if deadline is None else deadline - (time.monotonic() - began)
        ended[run.name] = execute(run, left)
        if ended[run.name] == "cannot run here":
            break
    print(f"{time.monotonic() - began:.0f} s in all")
    for name, how in ended.items():
        print(f"{name:10} {how}")
    return ended


def main():
    """The whole program; returns its exit status."""
    options = make_parser().parse_args()
    try:
        runs = chosen(options.only)
    except selection.UsageError as error:
        print(f"record: {error}", file=sys.stderr)
        return 2
    if options.list:
        for run in runs:
            print(f"{run.name:10} {run.what}\n{'':10} bench/{run.program} {run.options}".rstrip())
        return 0
    try:
        ended = record(runs, options.deadline)
    except KeyboardInterrupt:
        print("record: interrupted; what was finished is in bench/results", file=sys.stderr)
        return 130
    if "cannot run here" in ended.values():
        return CANNOT_RUN_HERE
    return 0 if all(how == "recorded" for how in ended.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
