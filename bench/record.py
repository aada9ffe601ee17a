#!/usr/bin/env python3
"""Records everything that the README, the notes and the pictures quote, one run after the other.

    make record                      everything
    make record ARGS="--only sizes,energy"
    make record ARGS=--list

Each run is a program of its own, with its own progress, and writes bench/results/<gpu>/<its
name>.jsonl anew, a row as soon as a process has ended; with --card the name is <its name>.<card>,
for another card of a kind. The most important runs come first. Rivals are left out unless `make
rivals` has built them. Afterwards
`make notes plots` brings the results to the pages.

Exit status: 0 all recorded or left out, 1 one failed, 2 bad usage, 77 this machine cannot run them,
130 interrupted.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from typing import NamedTuple

from bench import results, rungs, shapes
from bench.results import ROOT
from bench.run import CANNOT_RUN_HERE, STOP_SECONDS, UsageError, index, parser, run_as, stop

# Of the families of shapes, in records and pages. Seeds that differ from it modulo 4 share none
# of its shapes. The model's fit has four of them (tests/test_fit.py names them).
SEED = 30
# Where s rungs show what they add: s01 at squares, s02 at the short k, s03 at 512 cubed, s04 at few
# rows, s05 at the long k, s06 and s07 at unaligned rows, s08 at all, s09 at the last four, with long k.
OF_S = (
    "512,1024,2048,4096,8192,8192x8192x256,1x8192x8192,16x8192x8192,64x8192x8192,40x9216x3584,"
    "256x256x8192,1032x1032x4104,2056,4104,2047x2049x2051,4097,16x8191x8191,"
    "512x1024x16384,256x512x8192,2440x168x19656,255x568x14584"
)
# FP8's rungs with one scale for each matrix, and with block scales: cuBLASLt's best differs.
PER_TENSOR, SCALED = ("f01", "f02", "f08"), ("f04", "f05", "f06", "f07")
OF_MODELS = "8192,4096x7168x16384"
IN_BLOCKS = "4096x7168x16384,4096x4096x7168,4096x24576x1536"
NARROW = "4096x2112x7168,4096x576x7168,64x7168x16384,16x7168x2048"
# What was tried at the power limit beside v14, v16 and v18.
AT_THE_LIMIT = r"v..-(groups-of-12|hidden-stores|neighbours|paced|pairs|scattered)"
OF_A, OF_T = "4096,8192,81920x256x256", "32768,4096x16384"  # sizes of these tracks
PATCHES = sorted(path.stem for path in (ROOT / "bench" / "variants").glob("*.patch"))
# The rivals that `make rivals` has built.
BUILT = sorted(path.name for path in (ROOT / "build/rivals/steps").glob("[vsatf]-*"))
BUILT = [name for name in BUILT if "." not in name]
RIVALS_OF_FP8 = [name for name in BUILT if name[0] == "f"]
RIVALS = [name for name in BUILT if name not in RIVALS_OF_FP8]
LACKING = {"rivals": not RIVALS, "f-rivals": not RIVALS_OF_FP8}

COMMANDS = {
    "burst": "bench.ladder --passes 5 --rounds 2",
    "sustained": "bench.ladder --protocol sustained --passes 5 --rounds 1",
    "call": "bench.ladder --protocol call --passes 5 --rounds 2",
    "counts": "bench.ladder --emulate --jobs 1 --policy eager --inputs integers",
    "sweep": "bench.sweep",
    "energy": "bench.energy.measure",
    "counters": "bench.counters",
}


def between(first, last):
    """The rungs of a track from one to another."""
    return ",".join(name for name in rungs.today() if first <= name <= last)


def tried(track, of=None, at_the_limit=False):
    """A track's variants, of these rungs or of all, and their rungs: at the limit, or the others."""
    names = [name for name in PATCHES if bool(re.fullmatch(AT_THE_LIMIT, name)) == at_the_limit]
    found = {name: results.rung_of(name) for name in names if name[0] == track}
    found = {name: rung for name, rung in found.items() if of is None or rung in of}
    return ",".join(sorted({*found, *found.values()}, key=results.name_order))


class Run(NamedTuple):
    """A file of results: its name, what is in it, and the program that writes it."""

    name: str
    what: str
    words: tuple

    def command(self, device=0, card=False):
        """The command line."""
        on = () if "--emulate" in self.words else ("--device", str(device))
        name = f"{self.name}.{{card}}" if card else self.name
        return [sys.executable, "-m", *self.words, *on, "--record", name]


LIMIT = tried("v", at_the_limit=True) + ",v18"
PLACES = "v16,v18,v19,v19-together"
# name | what | a word of COMMANDS and more options, which may go on in indented lines
TABLE = f"""
burst | all rungs at m = n = k = 8192 | burst --heuristics all
burst4096 | all rungs at m = n = k = 4096 | burst --heuristics all --size 4096
sustained | the rungs at the power limit, with joules | sustained --heuristics all
sustained4096 | the same at m = n = k = 4096 | sustained --heuristics all --size 4096
rivals | other people's kernels beside the rungs | burst --sizes 8192,4096
    --steps {",".join(["v12", "v16", "s09", "a06", *RIVALS])}
short | short k, where the end of a tile counts most | burst --sizes 8192x8192x1024
    --steps {between("v04", "v16")}
sizes | squares and shapes of models | burst --passes 3
    --steps v16,v17,s09 --sizes 512,1024,2048,4096,8192,16384,models
shapes | s09, untimed and tuned, beside cuBLASLt's first and best at families of shapes | sweep
    --steps s09 --kernel all --tune
    --sizes {",".join(f"{family}:{SEED}" for family in shapes.FAMILIES)},512,1024,2048,4096,8192
s | each s rung and those below it, where each of them shows what it adds | burst --passes 2
    --steps v17,{between("s01", "s09")} --sizes {OF_S}
calls | the time of one call, from an idle stream to its result | call --passes 2
    --steps v16,v17,s09 --sizes 512,1024,2048,16x8192x8192
a | the Ampere track | burst --track a --sizes {OF_A}
a-99-kb | a05 and a06 as on cards where a CTA has 99 KB of shared memory | burst
    --sizes {OF_A} --steps a05,a05-99-kb,a06,a06-narrow,a06-two-stages,a06-99-kb
a01 | addmm | burst --steps a01 --sizes {OF_A}
t | the TMA track | burst --track t --sizes {OF_T}
t01 | add one | burst --steps t01 --sizes {OF_T}
{
    "".join(
        f"{name}-{protocol} | {name}, beside cuBLASLt with sums and scales like its own | "
        f"{protocol} --steps {name} --sizes {OF_MODELS if name in PER_TENSOR else IN_BLOCKS}"
        + chr(10)
        for name in (*PER_TENSOR, "f03", *SCALED)
        for protocol in ("burst", "sustained")
    )
}
f-shapes | upper rungs of FP8 at shapes of models, each beside the best in its mode | burst
    --steps f02,f07,f08
    --sizes {IN_BLOCKS},4096x2112x7168,4096x576x7168,64x7168x16384,16x7168x2048
f-rivals | other people's kernels with block scales beside our own | burst
    --steps {",".join([*SCALED, *RIVALS_OF_FP8])} --sizes {IN_BLOCKS}
f-variants | variants of the rungs with block scales | burst --sizes {IN_BLOCKS}
    --steps {tried("f", SCALED)}
f08-width | f01 beside f08, which chooses its tile's width | burst
    --steps f01,f08,f08-no-hints --sizes {OF_MODELS}
energy | the energy of a rung, by its parts | energy
counters | bytes, cycles and bank conflicts, by ncu | counters
    --steps {between("v02", "v19")},v07-column-groups,v08-no-multicast,v10-unswizzled
variants | the variants, beside their rungs | burst --steps {tried("v")}
limit | what else was tried at the power limit, beside its rungs | burst --passes 3
    --heuristics all --steps {LIMIT}
limit-sustained | the same for seconds, with joules | sustained --passes 2 --steps {LIMIT}
limit-counters | its bytes | counters --steps {LIMIT}
places | v19 beside those below it | burst --heuristics all --steps {PLACES}
places-sustained | the same for seconds, with joules | sustained --passes 3 --steps {PLACES}
places-counters | its bytes | counters --steps {PLACES}
sustained-all | the top rungs for seconds, beside the best of all configurations | sustained
    --heuristics all --passes 3 --steps v16,v18,v19
rendezvous | which of v06's barriers' costs v07 saves | burst
    --steps v06,v07,v07-arrive-per-thread,v07-both,v07-rendezvous
short-variants | variants of the end of a tile, at short k | burst --sizes 8192x8192x1024
    --steps v14,v14-one-in-flight,v16,v16-one-in-flight,v16-warp-stores,{
    "v16-blocks-apart,v16-plain-stores"
}
a-sustained | the Ampere track at the power limit | sustained --track a
a-variants | variants of the Ampere track | burst --sizes {OF_A} --steps {tried("a")}
t-sustained | the TMA track at the power limit | sustained --track t
t-variants | variants of the TMA track | burst --sizes {OF_T} --steps {tried("t")}
counts | what the emulator counts of a launch of each rung; needs no GPU | counts
    --sizes 256x1536x512,512x512
"""


def read(line):
    """A run of the table."""
    name, what, words = map(str.strip, line.split(" | "))
    program, *options = words.split()
    return Run(name, what, (*COMMANDS[program].split(), *options))


RUNS = tuple(read(line) for line in TABLE.replace("\n    ", " ").splitlines() if line)
NAMES = ", ".join(run.name for run in RUNS)


def chosen(only):
    """The runs of those names, in the order of RUNS. UsageError for a name that is none."""
    wanted = only.split(",") if only else [run.name for run in RUNS]
    unknown = sorted(set(wanted) - set(NAMES.split(", ")))
    if unknown:
        raise UsageError(f"--only: no run is called '{unknown[0]}'; there are {NAMES}")
    return [run for run in RUNS if run.name in wanted]


def execute(command):
    """Runs a program; its exit status. Ctrl-C stops it, and it keeps what is finished."""
    program = subprocess.Popen(command, cwd=ROOT)
    try:
        return program.wait()
    finally:
        stop(program, 2 * STOP_SECONDS)


def record(runs, device=0, card=False):
    """Runs all of them, up to one that cannot run here; the exit status of it all."""
    statuses = {}
    for number, run in enumerate(runs, 1):
        left_out = " (left out: make rivals)" if LACKING.get(run.name) else ""
        print(f"{number} of {len(runs)}, {run.name}: {run.what}{left_out}", flush=True)
        if not left_out:
            statuses[run.name] = execute(run.command(device, card))
        if statuses.get(run.name) == CANNOT_RUN_HERE:
            return CANNOT_RUN_HERE
    for name, status in statuses.items():
        print(f"{name:17} {f'exit status {status}' if status else 'recorded'}", flush=True)
    return int(any(statuses.values()))


def record_main(arguments):
    """The whole program; returns its exit status."""
    options = parser(__doc__)
    add = options.add_argument
    add("--only", metavar="NAME,...", help=f"of {NAMES} (default: all)")
    add("--list", action="store_true", help="print the runs and their commands; run nothing")
    add("--device", type=index, default=0, metavar="I", help="which GPU (default: 0)")
    add("--card", action="store_true", help="another card of its kind: it is in the files' names")
    options = options.parse_args(arguments)
    runs = chosen(options.only)
    if options.list:
        for run in runs:
            command = shlex.join(["python3", *run.command(options.device, options.card)[1:]])
            print(f"{run.name:17} {run.what}\n{'':17} {command}")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):  # also where it was ignored at the start
        signal.signal(number, signal.default_int_handler)
    return record(runs, options.device, options.card)


if __name__ == "__main__":
    run_as("record", record_main)
