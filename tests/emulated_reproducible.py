#!/usr/bin/env python3
"""On the emulator a rung gives the same bits in every order of events, by its output's digest.

The program compares the fixed policies itself; what it wrote is compared with that of a run under
a random one, on the same inputs. They are normal ones: sums of integers are exact in any order.
Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import emulated
from tools.emulated import LIMIT, SEVERAL_TILES, Shape, case

SEED = 1  # of the inputs, and of the random policy


def digest(program: Path, shape: Shape, policy: str, folder: str) -> str:
    """What the program's file says; RuntimeError if it says nothing."""
    path = Path(folder) / f"{program.name}-{policy}.json"
    command = [program, *shape.options(), "--inputs", "normal", "--protocol", "none"]
    command += ["--policy", policy, "--seed", str(SEED), "--json", path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if result.returncode != 0:
        said = (result.stdout + result.stderr).strip().splitlines()[-1:]
        raise RuntimeError(f"--policy {policy}: exit status {result.returncode}: {said}")
    found = json.loads(path.read_text())["verification"]["digest"]
    if not found:
        raise RuntimeError(f"--policy {policy}: no digest")
    return found


def why_not(rung: str, shape: Shape, folder: str) -> str:
    """Why the policies' bits are not the same; empty if they are."""
    program = emulated.BUILD / "emulated" / rung
    try:
        one = digest(program, shape, "all", folder)
        other = digest(program, shape, "random", folder)
    except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if one == other else f"fixed policies: {one}, random: {other}"


def main() -> int:
    runs = []
    for rung, source in emulated.rungs().items():
        if not rung.startswith("t"):  # moves words: nothing is ever rounded
            shape = emulated.shapes(source.read_text())[SEVERAL_TILES]
            runs.append((rung, shape))
    with tempfile.TemporaryDirectory() as folder:
        answers = emulated.in_parallel(lambda run: why_not(*run, folder), runs)
        for (rung, shape), why in zip(runs, answers, strict=True):
            case(f"{rung}, {shape}: the same bits under all policies", why)
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
