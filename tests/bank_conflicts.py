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

from notes.tools import tables

# The ways of a rung's worst read and write: in a03 the eight rows of an ldmatrix begin in one bank; a
# transpose has a column of 32 rows, unswizzled and swizzled. Rungs that are not listed have no
# conflict.
WAYS = {"a03": (8, 8), "t02": (1, 32), "t03": (1, 4), "t04": (1, 4)}
COUNTER = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
TOLERANCE = 0.01  # a GPU counts some accesses that wait for others' data as well
# And, as conflicts, that TMA uses the banks when a warp wants to: that much of all wavefronts may be.
BESIDE_TMA = 0.15
# What a GPU has counted: the rungs, the shape, and a tile of it.
COUNTED = {"a03": ((4096, 4096, 4096), (256, 128, 64))}
COUNTED |= dict.fromkeys(("t02", "t03", "t08"), ((8192, 8192), (64, 64)))


def sites(rung: str, *shape: int) -> list[dict]:
    """The lines of source that read or write shared memory, as the rung's program counts them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        arguments = emulated.arguments(emulated.Shape(*shape), "eager", 0)
        command = [emulated.BUILD / "emulated" / rung, *arguments, "--json", path]
        subprocess.run(command, capture_output=True, check=True)
        return json.loads(path.read_text())["emulator"]["shared_memory_accesses"]


def extra(rung: str, *shape: int) -> int:
    """The extra wavefronts of all accesses."""
    return sum(site["extra_wavefronts"] for site in sites(rung, *shape))


def conflicts(rung: str) -> str:
    """What is wrong with the counts of one rung. Every access of a line has the same ways."""
    worst = {"read": 0, "write": 0}
    for site in sites(rung, *((64, 96) if rung[0] == "t" else (256, 256, 128))):
        worst[site["access"]] = max(worst[site["access"]], site["worst_ways"])
        needed = site["wavefronts"] - site["extra_wavefronts"]
        if site["wavefronts"] != site["worst_ways"] * needed:
            return f"{site['access']} in line {site['line']}: {site['wavefronts']} for {needed}"
    wanted = WAYS.get(rung, (1, 1))
    return "" if tuple(worst.values()) == wanted else f"the worst have {worst}, not {wanted}"


def recorded_counts(rung: str) -> str:
    """How a GPU's count differs from what the emulator's of a tile make of it."""
    shape, tile = COUNTED[rung]
    how = {"track": rung[0], "kind": lambda run: True}
    run = tables.Library().choose([rung], shape, "counters", **how)
    if run is None:
        return "no counters of it are recorded"
    counters = run.first(rung)["counters"]
    m, n, *k = (whole // part for whole, part in zip(shape, tile))
    expected = one = extra(rung, *tile)
    for k_tiles in k:  # each but the first adds the same
        expected += (k_tiles - 1) * (extra(rung, *tile[:2], 2 * tile[2]) - one)
    expected *= m * n
    most = TOLERANCE * expected if k else BESIDE_TMA * counters[WAVEFRONTS]
    good = -TOLERANCE * expected <= counters[COUNTER] - expected <= most
    return "" if good else f"{counters[COUNTER]} were counted, {expected} expected"


def main() -> int:
    rungs = [rung for rung in emulated.rungs() if rung[0] == "t" or "a03" <= rung < "b"]
    name = "{} has {}-way reads and {}-way writes"
    rows = [(name.format(rung, *WAYS.get(rung, (1, 1))), conflicts, rung) for rung in rungs]
    rows += [(f"{rung} has as many as a GPU counted", recorded_counts, rung) for rung in COUNTED]
    for name, compare, rung in rows:
        try:
            case(name, compare(rung))
        except (OSError, subprocess.CalledProcessError) as error:
            case(name, str(error))
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
