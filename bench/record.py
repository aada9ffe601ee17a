#!/usr/bin/env python3
"""Records everything that the README, the notes and the pictures quote, one run after the other.

    make record                      everything
    make record ARGS="--only choice,energy"
    make record ARGS=--list

Each run is a program of its own, with its own progress, and writes bench/results/<gpu>/<its
name>.jsonl anew, a row as soon as a process has ended; with --card the name is <its name>.<card>,
for another card of a kind. The most important runs come first. Rivals are left out unless `make
rivals` has built them. Afterwards `make notes plots` brings the results to the pages.

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
COUNTED = f"v02,v03,v04,v05,v06,v07,v08,v09,v10,v11,{UPPER}"
COUNTED += ",v07-column-groups,v08-no-multicast,v10-unswizzled"  # by ncu
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
# FP8's rungs with one scale for each matrix, and with block scales; each alone, since cuBLASLt's
# time and best for one say nothing of the others.
PER_TENSOR, SCALED = ("f01", "f02", "f08"), ("f04", "f05", "f06", "f07")
OF_MODELS = "8192,4096x7168x16384"
IN_BLOCKS = "4096x7168x16384,4096x4096x7168,4096x24576x1536"
NARROW = "4096x2112x7168,4096x576x7168,64x7168x16384,16x7168x2048"
# Variants of the end of a tile.
ENDS = "v14,v14-one-in-flight,v16,v16-one-in-flight,v16-late-place,v16-warp-stores,"
ENDS += "v16-blocks-apart,v16-plain-stores"
OF_A, OF_T = "4096,8192,81920x256x256", "32768,4096x16384"  # sizes of these tracks
# The variants; and the rungs whose subject is one shape.
PATCHES = sorted(path.stem for path in (ROOT / "bench" / "variants").glob("*.patch"))
OF_ITS_SHAPE = [name for name in rungs.today() if name[0] == "v" and name < "v18"]
# The rivals that `make rivals` has built.
RIVALS = sorted(path.name for path in (ROOT / "build/rivals/steps").glob("[vatf]-*"))
RIVALS = [name for name in RIVALS if results.NAME.fullmatch(name)]
RIVALS_OF_FP8 = [name for name in RIVALS if name[0] == "f"]
RIVALS = [name for name in RIVALS if name[0] != "f"]

BURST = "--passes 5 --rounds 2"
SUSTAINED = "--protocol sustained --passes 5 --rounds 1"
OF_ALL = "--heuristics all"  # cuBLASLt's best is that of all its configurations
VARIANTS = f"--build build --build build/variants {BURST}"
WITH_RIVALS = f"--build build --build build/rivals {BURST}"
SECONDS_TO_END = 20  # for a run whose time is over


def tried(track, of=None):
    """The names of a track's variants, of these rungs or of all, and of their rungs."""
    found = {name: results.rung_of(name) for name in PATCHES if name[0] == track}
    found = {name: rung for name, rung in found.items() if of is None or rung in of}
    return ",".join(sorted({*found, *found.values()}, key=results.name_order))


@dataclass(frozen=True)
class Run:
    """A file of results: its name, who writes it, and with which options."""

    name: str
    what: str
    options: str = ""
    program: str = "bench.ladder"
    missing: str = ""  # what has to be built first

    def command(self, device=0, card=False) -> list[str]:
        on = [] if "--emulate" in self.options else ["--device", str(device)]
        name = f"{self.name}.{{card}}" if card else self.name
        words = [*shlex.split(self.options), *on, "--record", name]
        return [sys.executable, "-m", self.program, *words]


# A line of the table: name | what | program and its options, which may go on in indented lines.
TABLE = f"""
burst | all rungs at m = n = k = 8192 | ladder {BURST} {OF_ALL}
burst4096 | all rungs at m = n = k = 4096 | ladder {BURST} {OF_ALL} --size 4096
sustained | the rungs at the power limit, with joules | ladder {SUSTAINED} {OF_ALL}
sustained4096 | the same at m = n = k = 4096 | ladder {SUSTAINED} {OF_ALL} --size 4096
rivals | other people's kernels beside the rungs | ladder {WITH_RIVALS} --sizes 8192,4096
    --steps {",".join(["v12", "v16", "v18", "a06", *RIVALS])}
sizes | squares and shapes of models, except those of burst | ladder {BURST}
    --steps v12,v14,v16,v17,v18,v22,v23,v24 --sizes 512,1024,2048,16384,models
aligned | the last rung beside cuBLASLt's best at 60 shapes of whole tiles | sweep --sizes aligned:1
any | the same at 60 shapes with n and k multiples of 8 | sweep --sizes any:1
rows | the same at 60 shapes of 128 rows at most | sweep --sizes rows:1,few
odd | the same at 60 shapes with odd rows | sweep --sizes odd:1
judged | all of these from another seed: to judge, not to tune by | sweep
    --sizes aligned:24,any:24,rows:24,few,odd:24
calls | the time of one call, from an idle stream to its result | ladder --protocol call
    --passes 5 --rounds 2 --steps v16,v18,v24 --sizes 512,1024,2048,16x8192x8192
a | the Ampere track | ladder {BURST} --track a --sizes {OF_A}
a-99-kb | a05 and a06 as on cards where a CTA has 99 KB of shared memory | ladder {VARIANTS}
    --sizes {OF_A} --steps a05,a05-99-kb,a06,a06-narrow,a06-two-stages,a06-99-kb
a01 | addmm | ladder {BURST} --steps a01 --sizes {OF_A}
t | the TMA track | ladder {BURST} --track t --sizes {OF_T}
t01 | add one | ladder {BURST} --steps t01 --sizes {OF_T}
{
    "".join(
        f"{name}-{protocol} | {name}, beside cuBLASLt with sums and scales like its own | ladder {how} "
        f"--steps {name} --sizes {OF_MODELS if name in PER_TENSOR else IN_BLOCKS}" + chr(10)
        for name in (*PER_TENSOR, "f03", *SCALED)
        for protocol, how in (("burst", BURST), ("sustained", SUSTAINED))
    )
}
f-shapes | upper rungs of FP8 at shapes of models, each beside the best in its mode | ladder {BURST}
    --steps f02,f07,f08 --sizes {IN_BLOCKS},{NARROW}
f-rivals | other people's kernels with block scales beside our own | ladder {WITH_RIVALS}
    --steps {",".join([*SCALED, *RIVALS_OF_FP8])} --sizes {IN_BLOCKS}
f-variants | variants of the rungs with block scales | ladder {VARIANTS} --sizes {IN_BLOCKS}
    --steps {tried("f", SCALED)}
f08-width | f01 beside f08, which chooses its tile's width | ladder {VARIANTS}
    --steps f01,f08,f08-no-hints --sizes {OF_MODELS}
choice | v18 and each of its kernels, at shapes that its model was not fitted to | ladder {VARIANTS}
    --steps {CHOICES} --sizes {UNSEEN},{FITTED} --heuristics 0
few-rows | few rows, and a last wave to cut | ladder {BURST} --sizes {ROWS}
    --steps v18,v19,v20,v21,v22,v23,v24
few-rows-variants | the same, and small products, with variants of v19 and v20 | ladder {VARIANTS}
    --sizes {ROWS},512,1024
    --steps v19,v19-default-hints,v19-shallow,v20,v20-cut-always,v20-two-parts
odd-rows | rows that TMA can't take | ladder {BURST} --steps v21,v23,v24 --sizes {ODD}
energy | the energy of a rung, by its parts | energy.measure
counters | bytes, cycles and bank conflicts, by ncu | counters --build build --build build/variants
    --steps v02,v03,v04,v05,v06,v07,v07-column-groups,v08,v08-no-multicast,v09,v10,v10-unswizzled,v11,{
    UPPER
}
variants | the variants, beside their rungs | ladder {VARIANTS} --steps {tried("v", OF_ITS_SHAPE)}
short | short k, where the end of a tile counts most | ladder {BURST} --sizes 8192x8192x1024
    --steps v04,v05,v06,v07,v08,v09,v10,v11,v12,v13,v14,v15,v16
short-variants | variants of the end of a tile, at short k | ladder {VARIANTS}
    --sizes 8192x8192x1024 --steps {ENDS}
a-sustained | the Ampere track at the power limit | ladder {SUSTAINED} --track a
a-variants | variants of the Ampere track | ladder {VARIANTS} --sizes {OF_A} --steps {tried("a")}
t-sustained | the TMA track at the power limit | ladder {SUSTAINED} --track t
t-variants | variants of the TMA track | ladder {VARIANTS} --sizes {OF_T} --steps {tried("t")}
counts | what the emulator counts of a launch of each rung; needs no GPU | ladder --emulate --jobs 1
    --policy eager --inputs integers --sizes 256x1536x512,512x512
"""
APART = ("judged",)  # only where it is named
MISSING = {"rivals": not RIVALS, "f-rivals": not RIVALS_OF_FP8}


def read(line):
    """A run of the table."""
    name, what, command = map(str.strip, line.split(" | "))
    program, _, options = command.partition(" ")
    missing = "make rivals" if MISSING.get(name) else ""
    return Run(name, what, options, f"bench.{program}", missing)


RUNS = tuple(read(line) for line in TABLE.replace("\n    ", " ").splitlines() if line)
NAMES = ", ".join(run.name for run in RUNS)


def chosen(only):
    """The runs of those names, in the order of RUNS. UsageError for a name that is none."""
    wanted = only.split(",") if only else [run.name for run in RUNS if run.name not in APART]
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
