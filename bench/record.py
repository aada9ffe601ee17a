#!/usr/bin/env python3
"""Records everything that the README, the notes and the pictures quote, one run after the other.

    make record                      everything
    make record ARGS="--only choice,energy"
    make record ARGS=--list

Each run is a program of its own, with its own progress, and writes bench/results/<gpu>/<its name>.jsonl
anew, a row as soon as a process has ended; with --card the name is <its name>.<card>, for another card
of a kind. The most important runs come first. Rivals are left out unless `make rivals` has built them.
Afterwards `make notes plots` brings the results to the pages.

Exit status: 0 all recorded or left out, 1 one failed or had no time left, 2 bad usage,
77 this machine cannot run them, 130 interrupted.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from dataclasses import dataclass

from bench import results, rungs
from bench.results import ROOT
from bench.run import CANNOT_RUN_HERE, UsageError, index, parser, positive, run_as, stop

UPPER = "v12,v13,v14,v15,v16,v17,v18,v19,v20,v21,v22,v23,v24"  # what the last pages compare
CHOICES = "v18,v18-tall,v18-wide,v18-turns,v18-square,v18-narrow"
# Shapes that v18's model was not fitted to, and the three of tests/test_choice.py that it was.
UNSEEN = (
    "2560x4096x1024,1792,3584,2304x6144x3072,9216x4608x768,1024x8192x2048,640x5120x5120,"
    "20480x1024x512"
)
FITTED = "16384x4096x256,12288x3072x512,6144x4096x2048"
# Few rows, and a last wave that is nearly empty; and rows that TMA can't take.
ROWS = "16x8192x8192,1x8192x8192,16x4096x14336,64x4096x14336,128x4736x15296"
ODD = "16x8191x8191,1x8193x8191,16x4097x14335,64x4095x14337,128x4737x15295,2047x2049x2051"
# The variants; and the rungs whose subject is one shape.
PATCHES = sorted(path.stem for path in (ROOT / "bench" / "variants").glob("*.patch"))
OF_ITS_SHAPE = [name for name in rungs.today() if name[0] == "v" and name < "v18"]


def tried(track, of=None):
    """The names of a track's variants, of these rungs or of all, and of their rungs."""
    found = {name: results.rung_of(name) for name in PATCHES if name[0] == track}
    found = {name: rung for name, rung in found.items() if of is None or rung in of}
    return ",".join(sorted({*found, *found.values()}, key=results.name_order))


VARIANTS = "--build build --build build/variants"
BURST = "--passes 5 --rounds 2"
SUSTAINED = "--protocol sustained --passes 5 --rounds 1"
SWEPT = "the last rung beside cuBLASLt's best, in one process"
OF_ALL = "--heuristics all"  # cuBLASLt's best is that of all its configurations
SECONDS_TO_END = 20  # for a run whose time is over


# The rivals that `make rivals` has built, each track's in its order.
RIVALS = sorted(
    path.name
    for path in (ROOT / "build/rivals/steps").glob("[vatf]-*")
    if results.NAME.fullmatch(path.name) and path.is_file()
)
RIVALS_OF_FP8 = [name for name in RIVALS if name[0] == "f"]
RIVALS = [name for name in RIVALS if name[0] != "f"]
WITH_RIVALS = f"--build build --build build/rivals {BURST}"
SCALED = ["f04", "f05", "f06", "f07"]  # the rungs with block scales that are timed beside rivals

# Each rung alone: cuBLASLt's time and best for one say nothing of the others.
PER_TENSOR = "8192,4096x7168x16384"
IN_BLOCKS = "4096x7168x16384,4096x4096x7168,4096x24576x1536"
NARROW = "4096x2112x7168,4096x576x7168,64x7168x16384,16x7168x2048"
FP8 = {
    **dict.fromkeys(("f01", "f02", "f08"), PER_TENSOR),
    **dict.fromkeys(("f03", *SCALED), IN_BLOCKS),
}


@dataclass(frozen=True)
class Run:
    """A file of results: who writes it, and with which options."""

    name: str
    what: str
    options: str = ""
    program: str = "bench.ladder"
    missing: str = ""  # what has to be built first
    apart: bool = False  # only where it is named

    def command(self, device=0, card=False) -> list[str]:
        on = [] if "--emulate" in self.options else ["--device", str(device)]
        name = f"{self.name}.{{card}}" if card else self.name
        words = [*shlex.split(self.options), *on, "--record", name]
        return [sys.executable, "-m", self.program, *words]


RUNS = (
    Run("burst", "all rungs at m = n = k = 8192", f"{BURST} {OF_ALL}"),
    Run("burst4096", "all rungs at m = n = k = 4096", f"{BURST} {OF_ALL} --size 4096"),
    Run("sustained", "the rungs at the power limit, with joules", f"{SUSTAINED} {OF_ALL}"),
    Run("sustained4096", "the same at m = n = k = 4096", f"{SUSTAINED} {OF_ALL} --size 4096"),
    Run(
        "rivals",
        "other people's kernels beside the rungs",
        f"{WITH_RIVALS} --sizes 8192,4096"
        f" --steps {','.join(['v12', 'v16', 'v18', 'a06', *RIVALS])}",
        missing="" if RIVALS else "make rivals",
    ),
    Run(
        "sizes",
        "squares and shapes of models, except those of burst",
        f"{BURST} --steps v12,v14,v16,v17,v18,v22,v23,v24 --sizes 512,1024,2048,16384,models",
    ),
    Run("aligned", f"60 shapes of whole tiles: {SWEPT}", "--sizes aligned:1", "bench.sweep"),
    Run("any", "60 shapes with n and k multiples of 8", "--sizes any:1", "bench.sweep"),
    Run("rows", "60 shapes of 128 rows at most", "--sizes rows:1,few", "bench.sweep"),
    Run("odd", "60 shapes with odd rows", "--sizes odd:1", "bench.sweep"),
    Run(
        "judged",
        "all of these from another seed: to judge, not to tune by",
        "--sizes aligned:24,any:24,rows:24,few,odd:24",
        "bench.sweep",
        apart=True,
    ),
    Run(
        "calls",
        "the time of one call, from an idle stream to its result",
        "--protocol call --passes 5 --rounds 2 --steps v16,v18,v24"
        " --sizes 512,1024,2048,16x8192x8192",
    ),
    Run("a", "the Ampere track", f"{BURST} --track a --sizes 4096,8192,81920x256x256"),
    Run(
        "a-99-kb",
        "a05 and a06 as on cards where a CTA has 99 KB of shared memory",
        f"{VARIANTS} {BURST} --sizes 4096,8192,81920x256x256"
        " --steps a05,a05-99-kb,a06,a06-narrow,a06-two-stages,a06-99-kb",
    ),
    Run("a01", "addmm", f"{BURST} --steps a01 --sizes 4096,8192,81920x256x256"),
    Run("a-sustained", "the same at the power limit", f"{SUSTAINED} --track a"),
    Run(
        "a-variants",
        "variants of the Ampere track",
        f"{VARIANTS} {BURST} --sizes 4096,8192,81920x256x256 --steps {tried('a')}",
    ),
    Run("t", "the TMA track", f"{BURST} --track t --sizes 32768,4096x16384"),
    Run("t-sustained", "the same at the power limit", f"{SUSTAINED} --track t"),
    Run(
        "t-variants",
        "variants of the TMA track",
        f"{VARIANTS} {BURST} --sizes 32768,4096x16384 --steps {tried('t')}",
    ),
    Run("t01", "add one", f"{BURST} --steps t01 --sizes 32768,4096x16384"),
    *(
        Run(
            f"{name}-{protocol}",
            f"{name}, beside cuBLASLt with sums and scales like its own",
            f"{options} --steps {name} --sizes {FP8[name]}",
        )
        for name in FP8
        for protocol, options in (("burst", BURST), ("sustained", SUSTAINED))
    ),
    Run(
        "f-shapes",
        "the upper rungs of FP8 at shapes of models, each beside cuBLASLt's best in its mode",
        f"{BURST} --steps f02,f07,f08 --sizes {IN_BLOCKS},{NARROW}",
    ),
    Run(
        "f-rivals",
        "other people's kernels with block scales beside our own",
        f"{WITH_RIVALS} --steps {','.join([*SCALED, *RIVALS_OF_FP8])} --sizes {IN_BLOCKS}",
        missing="" if RIVALS_OF_FP8 else "make rivals",
    ),
    Run(
        "f-variants",
        "variants of the rungs with block scales",
        f"{VARIANTS} {BURST} --steps {tried('f', SCALED)} --sizes {IN_BLOCKS}",
    ),
    Run(
        "f08-width",
        "f01 beside f08, which chooses its tile's width",
        f"{VARIANTS} {BURST} --steps f01,f08,f08-no-hints --sizes {PER_TENSOR}",
    ),
    Run(
        "choice",
        "v18 and each of its kernels, at shapes that its model was not fitted to",
        f"{VARIANTS} {BURST} --steps {CHOICES} --sizes {UNSEEN},{FITTED} --heuristics 0",
    ),
    Run(
        "few-rows",
        "few rows, and a last wave to cut",
        f"{BURST} --steps v18,v19,v20,v21,v22,v23,v24 --sizes {ROWS}",
    ),
    Run(
        "few-rows-variants",
        "the same, and small products, with variants of v19 and v20",
        f"{VARIANTS} {BURST} --sizes {ROWS},512,1024 --steps v19,v19-default-hints,v19-shallow,v20,"
        "v20-cut-always,v20-two-parts",
    ),
    Run("odd-rows", "rows that TMA can't take", f"{BURST} --steps v21,v23,v24 --sizes {ODD}"),
    Run("energy", "the energy of a rung, by its parts", program="bench.energy.measure"),
    Run(
        "counters",
        "bytes, cycles and bank conflicts, by ncu",
        f"{VARIANTS} --steps v02,v03,v04,v05,v06,v07,v07-column-groups,v08,v08-no-multicast,v09,v10,"
        f"v10-unswizzled,v11,{UPPER}",
        "bench.counters",
    ),
    Run(
        "variants",
        "the variants, beside their rungs",
        f"{VARIANTS} {BURST} --steps {tried('v', OF_ITS_SHAPE)}",
    ),
    Run(
        "short",
        "short k, where the end of a tile counts most",
        f"{BURST} --sizes 8192x8192x1024"
        " --steps v04,v05,v06,v07,v08,v09,v10,v11,v12,v13,v14,v15,v16",
    ),
    Run(
        "short-variants",
        "variants of the end of a tile, at short k",
        f"{VARIANTS} {BURST} --sizes 8192x8192x1024 --steps v14,v14-one-in-flight,v16,"
        "v16-one-in-flight,v16-late-place,v16-warp-stores,v16-blocks-apart,v16-plain-stores",
    ),
    Run(
        "counts",
        "what the emulator counts of a launch of each rung; needs no GPU",
        "--emulate --policy eager --inputs integers --sizes 256x1536x512,512x512",
    ),
)
NAMES = ", ".join(run.name for run in RUNS)


def chosen(only):
    """The runs of those names, in the order of RUNS. UsageError for a name that is none."""
    wanted = [run.name for run in RUNS if not run.apart] if only is None else only.split(",")
    unknown = sorted(set(wanted) - set(NAMES.split(", ")))
    if unknown:
        raise UsageError(f"--only: no run is called '{unknown[0]}'; there are {NAMES}")
    return [run for run in RUNS if run.name in wanted]


def execute(run, left, device, card):
    """Runs it, for at most this many seconds (None: no limit), and returns how it ended."""
    if run.missing:
        return f"left out: {run.missing}"
    if left is not None and left <= SECONDS_TO_END:
        return "no time left"
    program = subprocess.Popen(run.command(device, card), cwd=ROOT)
    try:
        status = program.wait(None if left is None else left - SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        status = None
        stop(program, SECONDS_TO_END)
    except KeyboardInterrupt:
        stop(program, SECONDS_TO_END)
        raise
    if status == CANNOT_RUN_HERE:
        return "cannot run here"
    return "recorded" if status == 0 else "no time left" if status is None else f"exit {status}"


def record(runs, deadline=None, device=0, card=False):
    """Runs all of them; {name: how it ended}."""
    began = time.monotonic()
    ended = {}
    for number, run in enumerate(runs, 1):
        print(f"{number} of {len(runs)}, {run.name}: {run.what}", flush=True)
        left = None if deadline is None else deadline - (time.monotonic() - began)
        ended[run.name] = execute(run, left, device, card)
        if ended[run.name] == "cannot run here":
            break
    print(f"{time.monotonic() - began:.0f} s in total")
    for name, how in ended.items():
        print(f"{name:14} {how}")
    return ended


def record_main(arguments):
    """The whole program; returns its exit status."""
    options = parser(__doc__)
    add = options.add_argument
    add("--only", metavar="NAME,...", help=f"of {NAMES} (default: all but judged)")
    add("--list", action="store_true", help="print the runs and their commands; run nothing")
    add("--deadline", type=positive, metavar="S", help="seconds for all (default: none)")
    add("--device", type=index, default=0, metavar="I", help="which GPU (default: 0)")
    add("--card", action="store_true", help="another card of its kind: it is in the files' names")
    options = options.parse_args(arguments)
    runs = chosen(options.only)
    if options.list:
        for run in runs:
            command = shlex.join(["python3", *run.command(options.device, options.card)[1:]])
            print(f"{run.name:14} {run.what}\n{'':14} {command}")
        return 0
    try:
        ended = record(runs, options.deadline, options.device, options.card)
    except KeyboardInterrupt:
        print("record: interrupted; the finished runs are in bench/results", file=sys.stderr)
        raise
    if "cannot run here" in ended.values():
        return CANNOT_RUN_HERE
    good = all(how == "recorded" or how.startswith("left out") for how in ended.values())
    return 0 if good else 1


if __name__ == "__main__":
    run_as("record", record_main)
