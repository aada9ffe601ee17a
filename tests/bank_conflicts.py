#!/usr/bin/env python3
"""The emulator counts the bank conflicts that a03 has and that a04's swizzle removes.

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

SHAPE = emulated.Shape(256, 256, 128)
CONFLICTING = "a03"
WAYS = 8  # the eight rows of an ldmatrix begin in one bank


def sites(rung: str) -> list[dict]:
    """The lines of source that read or write shared memory, as the rung's program counts them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [emulated.BUILD / "emulated" / rung, *emulated.arguments(SHAPE, "eager", 0)]
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


def main() -> int:
    for rung in emulated.rungs():
        if rung >= CONFLICTING and rung[0] == "a":
            wanted = f"{WAYS}-way conflicts" if rung == CONFLICTING else "no bank conflict"
            case(f"{rung} has {wanted}", conflicts(rung))
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
