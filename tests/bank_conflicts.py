#!/usr/bin/env python3
"""The emulator counts the bank conflicts that a03 has and that a04's swizzle removes, and those that
the transposes have: as many as their headers say.

What it counts in a tile or two is compared with what a GPU was recorded to count in many.
Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import emulated
from tools.emulated import case

from bench.records import recorded

SHAPE = emulated.Shape(256, 256, 128)
CONFLICTING = "a03"
WAYS = 8  # the eight rows of an ldmatrix begin in one bank
TILE = (256, 128, 64)  # of a03
RECORDED = (4096, 4096, 4096)
COUNTER = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
TOLERANCE = 0.01  # a GPU counts some accesses that wait for others' data as well

TRANSPOSED = emulated.Shape(64, 96)
# The ways of a transpose's worst read and write: a column of 32 rows, unswizzled and swizzled. Rungs
# that are not listed have no conflict.
TRANSPOSES = {"t02": (1, 32), "t03": (1, 4), "t04": (1, 4)}
# A GPU counts as conflicts as well that TMA uses the banks when a warp wants to: that much of all
# wavefronts may be.
BESIDE_TMA = 0.15
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
RECORDED_TRANSPOSE = (8192, 8192)
COUNTED_TRANSPOSES = ("t02", "t03", "t08")


def sites(rung: str, shape: emulated.Shape = SHAPE) -> list[dict]:
    """The lines of source that read or write shared memory, as the rung's program counts them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [emulated.BUILD / "emulated" / rung, *emulated.arguments(shape, "eager", 0)]
        subprocess.run([*command, "--json", path], capture_output=True, check=True)
        return json.loads(path.read_text())["emulator"]["shared_memory_accesses"]


def conflicts(rung: str) -> str:
    """What is wrong with the counts of one rung."""
    try:
        found = sites(rung)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    reads = [site for site in found if site["access"] == "read"]
    worst = max((site["worst_ways"] for site in reads), default=0)
    extra = sum(site["extra_wavefronts"] for site in found)
    if not reads:
        return "it reads no shared memory"
    if rung != CONFLICTING:
        return f"{extra} extra wavefronts" if extra else ""
    if worst != WAYS:
        return f"the worst read has {worst} ways, not {WAYS}"
    needed = sum(site["wavefronts"] - site["extra_wavefronts"] for site in reads)
    taken = sum(site["wavefronts"] for site in reads)
    return "" if taken > 2 * needed else f"{taken} wavefronts where {needed} would do"


def extra(rung: str, k_tiles: int) -> int:
    """The extra wavefronts of one tile of D."""
    m, n, k = TILE
    found = sites(rung, emulated.Shape(m, n, k * k_tiles))
    return sum(site["extra_wavefronts"] for site in found)


def recorded_counts(rung: str) -> str:
    """How the recorded count differs from what the emulator's makes of it."""
    path = recorded.newest_with([rung], RECORDED, "counters")
    if path is None:
        return "no counters of it are recorded"
    steps = recorded.load_record(path)["steps"]
    counted = next(step for step in steps if step["step"] == rung)["counters"][COUNTER]
    m, n, k = (whole // tile for whole, tile in zip(RECORDED, TILE))
    one, two = extra(rung, 1), extra(rung, 2)
    expected = m * n * (one + (k - 1) * (two - one))
    good = abs(counted - expected) <= TOLERANCE * expected
    return "" if good else f"{counted} were counted, {expected} expected"


def transpose_conflicts(rung: str, ways: tuple[int, int]) -> str:
    """The same of a rung of the t track. All of its accesses of a kind have the same ways."""
    try:
        found = sites(rung, TRANSPOSED)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    for kind, wanted in zip(("read", "write"), ways, strict=True):
        of_kind = [site for site in found if site["access"] == kind]
        if not of_kind:
            return f"no {kind} of shared memory was counted"
        for site in of_kind:
            needed = site["wavefronts"] - site["extra_wavefronts"]
            if site["worst_ways"] != wanted or site["wavefronts"] != wanted * needed:
                return f"{kind} in line {site['line']}: {site['worst_ways']} ways, not {wanted}"
    return ""


def recorded_transpose(rung: str) -> str:
    """How the recorded count of a transpose differs from what the emulator's makes of it."""
    path = recorded.newest_with([rung], RECORDED_TRANSPOSE, "counters")
    if path is None:
        return "no counters of it are recorded"
    steps = recorded.load_record(path)["steps"]
    counters = next(step for step in steps if step["step"] == rung)["counters"]
    m, n = emulated_shape = (64, 64)  # one tile of all of them, or four
    found = sites(rung, emulated.Shape(*emulated_shape))
    tiles = (RECORDED_TRANSPOSE[0] // m) * (RECORDED_TRANSPOSE[1] // n)
    expected = tiles * sum(site["extra_wavefronts"] for site in found)
    counted = counters[COUNTER]
    beside = counted - expected
    good = -TOLERANCE * expected <= beside <= BESIDE_TMA * counters[WAVEFRONTS]
    return "" if good else f"{counted} were counted, {expected} expected"


def attempt(compare, rung: str) -> str:
    """What compare(rung) says, also if the rung cannot be run."""
    try:
        return compare(rung)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)


def main() -> int:
    for rung in emulated.rungs():
        if rung[0] == "t":
            ways = TRANSPOSES.get(rung, (1, 1))
            wanted = f"{ways[0]}-way reads and {ways[1]}-way writes"
            case(f"{rung} has {wanted}", transpose_conflicts(rung, ways))
            continue
        if rung >= CONFLICTING and rung[0] == "a":
            wanted = f"{WAYS}-way conflicts" if rung == CONFLICTING else "no bank conflict"
            case(f"{rung} has {wanted}", conflicts(rung))
    if CONFLICTING in emulated.rungs():
        case(f"{CONFLICTING} has as many as a GPU counted", attempt(recorded_counts, CONFLICTING))
    for rung in COUNTED_TRANSPOSES:
        if rung in emulated.rungs():
            case(f"{rung} has as many as a GPU counted", attempt(recorded_transpose, rung))
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
