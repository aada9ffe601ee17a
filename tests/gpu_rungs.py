#!/usr/bin/env python3
"""What every rung has to do on a GPU.

    gpu_rungs.py [KIND...] [RUNG...]

The kinds: `right`, on shapes that find mistakes: one tile, far from square, fewer k-tiles than stages,
more tiles than CTAs, and, where a rung takes them, shapes that no tile divides. `reproducible`: two
processes with the same inputs get the same bits; within a process the harness itself compares all
launches. `sanitize`: compute-sanitizer finds no access out of bounds or to what was never written, no
race in shared memory, no misused barrier. `standalone`: the rung as one file, compiled by nvcc alone,
is verified by its own main. `trace`: a traced launch is right, and what its warps wrote down can be
true.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from tools import UNTOUCHED, by_nvcc, case, emulated, exit_status, in_parallel, skip, tool
from tools.emulated import BUILD, JOBS, ROOT

LIMIT = 300  # seconds for one program
AT_ONCE = min(JOBS, 8)  # rungs: most of a case is the start of a process


def shapes_of(text: str) -> list[list[str]]:
    """A shape is its sizes (m n k, or m n on the t track), and further options."""
    return [shape.split() for shape in text.split(",")]


# All rungs take multiples of 256, 256 and 64.
TILED = shapes_of(
    "256 256 64, 256 512 64, 256 256 4096, 1024 2048 512, 2304 3328 1088, 4096 4096 128,"
    "256 16384 256, 16384 256 192"
)
# An odd number of tiles in m: not for v08, whose clusters span two.
ODD = shapes_of("128 256 64, 128 16384 256, 1152 768 320")
# Only the bytes of a row must be a multiple of 16. With those above they take v18 to each of its
# kernels: many tiles of few k-tiles are multiplied in turns.
CLIPPED = shapes_of(
    "128 8 8, 8 8 8, 1 8 8, 1 8 4096, 200 456 200, 130 264 72, 1000 1000 1000, 5000 264 136,"
    "2660 3088 328, 3132 4016 456, 8200 8200 8200, 16384 16384 16384"
)
# Few rows of long ones: few tiles, or a last wave nearly empty, of many k-tiles.
FEW = shapes_of(
    "16 4096 14336, 1 8192 8192, 64 4096 14336, 128 4736 15296, 16 1000 4104, 3 136 100008"
)
# Rows that are no multiple of 16 bytes.
ANY_ROW = shapes_of(
    "1 1 1, 3 5 7, 129 131 8193, 1000 1001 1003, 2047 2049 2051, 16 4097 14335, 64 4096 14337,"
    "4097 4095 63"
)
# Few tiles of long rows, for the parts of a tile in a cluster: D's rows of any length, odd and not.
GATHERED = shapes_of("72 136 8200, 100 135 4104, 33 130 16385, 256 256 8192, 15 62 5001")
# Long sums, beyond what fp16 holds, with rows as long as a03 to a06 take them, and the shape of a
# tall, thin product: for the a track.
LONG = shapes_of("256 8 8388608, 256 128 20480, 81920 256 256, 8192 8192 8192")
# Of the t track, rows and columns: one tile, a corner of one, far from square, more tiles than CTAs
# fit, buffers of more than 4 GiB. The last needs 48 GB of GPU memory.
MOVED = shapes_of(
    "32 32, 4 4, 4 8, 256 4096, 32 32768, 32768 32, 1000 1004, 4 131072, 131072 4, 4 4194304,"
    "4194304 4, 128 65532, 4096 16384, 1024 2048 --inputs bits, 40000 32768"
)
# Of these, m need not be a multiple of 4 where nothing is transposed.
ADDED = shapes_of("1 4, 3 4, 33 36")
# What BLAS says of alpha and beta, at a shape that is not square.
SCALARS = shapes_of(
    "256 512 64 --alpha 0.3 --beta 7e3, 256 512 64 --alpha 1e-38 --beta 1,"
    "256 512 64 --alpha 1e-38 --beta 0"
)
for alpha, beta in itertools.product(("0", "1", "-2.5"), repeat=2):
    SCALARS += shapes_of(f"1000 260 520 --alpha {alpha} --beta {beta}")

# Several tiles for each CTA, and more k-tiles than stages.
TRACED = {
    "v04": "2048 2048 1024",
    "a02": "1024 1024 512",
    "t08": "4096 4096",
    **dict.fromkeys(("v07", "v12", "v16", "a05"), "4096 4096 1024"),
}

SANITIZER = tool("compute-sanitizer")
WORK = BUILD / "tests" / "gpu_rungs"
LARGE = threading.Lock()  # its holder may use much of the GPU's memory
IS_LARGE = re.compile(r"\d{5} --n \d{5}|\d{7}")

# Its name, the command, and what says of the output of one that succeeded what is wrong with it.
Case = tuple[str, list, Callable[[str], str]]


def nothing(output: str) -> str:
    return ""


def sizes_of(rung: str, shape: list[str]) -> tuple[str, list[str]]:
    """A shape as text, and as options of the rung's program. k of the f track is rounded up to whole
    16 bytes."""
    sizes = 2 if rung[0] == "t" else 3
    if rung[0] == "f":
        shape = [*shape[:2], str(-(-int(shape[2]) // 16) * 16), *shape[3:]]
    text = " ".join(["x".join(shape[:sizes]), *shape[sizes:]])
    named = zip(("--m", "--n", "--k"), shape[:sizes])
    return text, [*itertools.chain(*named), *shape[sizes:]]


def multiple_of_m(rung: str) -> int:
    """Of what m must be a multiple, if that is a small number; else 0."""
    found = re.search(r"\.multiple_m = (1|4),", emulated.source_of(rung))
    return int(found[1]) if found else 0


def any_row(rung: str) -> bool:
    """Whether it takes rows that are no multiple of 16 bytes."""
    return ".any_row = true," in emulated.source_of(rung)


def gathering(rung: str) -> list[int]:
    """The numbers of its kernels that gather parts in a cluster, those with A and B exchanged last."""
    if "TILE_GATHERED" not in emulated.source_of(rung):
        return []
    members = emulated.family(emulated.WHOLE_FAMILY)
    can = [emulated.gathers(False)(one) or emulated.gathers(True)(one) for one in members]
    return [3 * (number + 1) for number, gathers in enumerate(can) if gathers]


# ---------------------------------------------------------------- the kinds of cases


def right(rung: str) -> Iterator[Case]:
    shapes = MOVED + (ADDED if rung == "t01" else [])
    if rung[0] != "t":
        shapes = TILED + (ODD if rung != "v08" else [])
        shapes += CLIPPED if multiple_of_m(rung) == 1 else []
        shapes += FEW if multiple_of_m(rung) == 1 and rung[0] == "v" else []
        shapes += ANY_ROW if any_row(rung) else []
        for number, shape in zip(gathering(rung), itertools.cycle(GATHERED)):
            shapes = [*shapes, [*shape, "--kernel", str(number)]]
        shapes += LONG if rung[0] == "a" else []
        shapes += SCALARS if rung == "a01" else []
    for shape in shapes:
        text, options = sizes_of(rung, shape)
        command = [BUILD / "steps" / rung, *options, "--protocol", "none"]
        yield f"{rung} is right at {text}", command, nothing


def reproducible(rung: str) -> Iterator[Case]:
    if rung[0] == "t":  # only moves words, which the exact checks compare
        return
    # Clipped tiles, where a rung takes them; else tiles that leave the last wave unfilled.
    ragged = "1000 1048 1112" if multiple_of_m(rung) == 1 else "2304 3328 1088"
    file = WORK / f"{rung}.json"
    more = ", 16 4096 14336" if multiple_of_m(rung) == 1 and rung[0] == "v" else ""
    more += ", 129 4095 4097" if any_row(rung) else ""
    kernels = gathering(rung)
    more += "".join(f", 100 135 4104 --kernel {kernel}" for kernel in kernels[:1] + kernels[-1:])
    for shape in shapes_of(f"{ragged}, 2048 2048 2048{more}"):
        text, options = sizes_of(rung, shape)
        command = [BUILD / "steps" / rung, *options, "--rounds", "1", "--json", file]
        wrong = partial(other_digest, command, file)
        yield f"{rung} gives the same bits in two processes at {text}", command, wrong


def other_digest(command: list, file: Path, output: str) -> str:
    """Runs the command again, which wrote the file."""
    digests = [json.loads(file.read_text())["digest"]]
    file.unlink()
    again = run(command)
    if again.returncode:
        return f"exit status {again.returncode}, the second time"
    digests.append(json.loads(file.read_text())["digest"])
    return "" if len(set(digests)) == 1 else f"digest {', then '.join(digests)}"


def sanitize(rung: str) -> Iterator[Case]:
    # Clipping changes addresses and which lanes store, not who waits for whom: no racecheck there.
    tools = ["memcheck", "initcheck", "synccheck"]
    shape, clipped = ("128 256", "100 228") if rung[0] == "t" else ("256 512 256", "200 456 200")
    rows = [(name, shape, "") for name in [*tools, "racecheck"]]
    if multiple_of_m(rung):
        rows += [(name, clipped, " with clipped tiles") for name in tools]
    if any_row(rung):
        rows += [(name, "129 203 135", " with odd rows") for name in [*tools, "racecheck"]]
    if "count_arrival" in emulated.source_of(rung):
        rows += [(name, "16 136 2056", " with tiles in parts") for name in tools]
    kernels = gathering(rung)
    for kernel in kernels[:1] + kernels[-1:]:
        how = f" with parts in clusters, kernel {kernel}"
        shape = f"72 130 2056 --kernel {kernel}"
        rows += [(name, shape, how) for name in [*tools, "racecheck"]]
    for name, shape, how in rows:
        command = [SANITIZER, "--tool", name, "--error-exitcode", "99", BUILD / "steps" / rung]
        command += [*sizes_of(rung, shape.split())[1], "--protocol", "none"]
        yield f"{rung} passes {name}{how}", command, nothing


def standalone(rung: str) -> Iterator[Case]:
    if rung not in emulated.STANDALONE_TRIED:
        return
    shapes = shapes_of("4 4, 1000 1004, 4 131072, 131072 4")
    if rung[0] != "t":
        shapes = shapes_of("256 256 64, 256 16384 192")
        shapes += shapes_of("1 8 8, 200 456 200") if multiple_of_m(rung) == 1 else []
        # A sum beyond what fp16 holds, were A not mostly 0.
        shapes += shapes_of("256 128 20480") if rung[0] == "a" else []
    name = f"{rung}'s file of its own is verified"
    file = BUILD / "standalone" / rung
    yield name, [file], unusual
    for shape in shapes:
        yield f"{name} at {' '.join(shape)}", [file, *shape], unverified


def trace(rung: str) -> Iterator[Case]:
    if rung in TRACED:
        sizes = sizes_of(rung, TRACED[rung].split())[1]
        program = BUILD / "trace" / "steps" / rung
        command = [sys.executable, "-m", "bench.trace", program, "--out", WORK, *sizes]
        yield f"{rung}'s trace on a GPU is whole", command, nothing


def unverified(output: str) -> str:
    return "" if ": verified, " in output else "it does not say that it is verified"


def unusual(output: str) -> str:
    """The usual shape must be neither square nor made of powers of two: 4224 x 6144 x 4160."""
    found = re.search(r"^(.*) on .*: verified, ", output, re.MULTILINE)
    sizes = [int(size) for size in re.findall(r"\d+", found[1])] if found else []
    good = len(sizes) > 1 and sizes[0] != sizes[1] and all(size & (size - 1) for size in sizes)
    return unverified(output) or ("" if good else "its usual shape is no test")


# By kind: its cases, the folder of its programs, and what it is called where there is none.
KINDS = {
    "right": (right, "steps", "is right"),
    "reproducible": (reproducible, "steps", "gives the same bits in two processes"),
    "sanitize": (sanitize, "steps", "under compute-sanitizer"),
    "standalone": (standalone, "standalone", "as a file of its own is verified"),
    "trace": (trace, "trace/steps", "is traced on a GPU"),
}


# ---------------------------------------------------------------- running


def run(command: list) -> subprocess.CompletedProcess:
    """What it printed is in stdout."""
    words = ["timeout", str(LIMIT), *map(str, command)]
    with LARGE if IS_LARGE.search(" ".join(words)) else nullcontext():
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.run(words, cwd=ROOT, check=False, **how)


def judge(kind: str, rung: str) -> Iterator[tuple[Callable, str, str]]:
    """The cases of a rung, until one says that this machine cannot run it: what prints each, its
    name, and why."""
    make_cases, folder, what = KINDS[kind]
    cases = list(make_cases(rung))
    if not cases:
        return
    if not (BUILD / folder / rung).exists():
        due = f"build/{folder}/{rung}" in by_nvcc()
        lacking = (case, "it was not built") if due else (skip, UNTOUCHED)
        yield lacking[0], f"{rung} {what}", lacking[1]
        return
    if kind == "sanitize" and not SANITIZER:
        yield skip, f"{rung} {what}", "it needs a GPU and compute-sanitizer"
        return
    for name, command, wrong in cases:
        result = run(command)
        last = result.stdout.strip().rpartition("\n")[2]
        if result.returncode == 77:
            yield skip, name, last
            return
        if result.returncode == 2 and "of GPU memory and" in result.stdout:
            yield skip, name, last
            continue
        why = f"exit status {result.returncode}: {last}"
        if result.returncode == 0:
            why = wrong(result.stdout)
        if why:
            print(result.stdout)
        yield case, name, why


def main() -> int:
    kinds = [word for word in sys.argv[1:] if word in KINDS] or list(KINDS)
    rungs = [word for word in sys.argv[1:] if word not in KINDS] or list(emulated.rungs())
    if unknown := set(rungs) - set(emulated.rungs()):
        sys.exit(f"there is no rung {' '.join(unknown)}")
    WORK.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        at_once = 1 if kind == "trace" else AT_ONCE
        for judged in in_parallel(lambda rung, kind=kind: list(judge(kind, rung)), rungs, at_once):
            for show, name, why in judged:
                show(name, why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
