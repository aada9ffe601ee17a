#!/usr/bin/env python3
"""No false alarm: correct rungs run under many random policies without a report.

SEEDS=200 tries that many seeds, for each rung; the default is what takes a minute. A seed chooses
the policy, and one of the rung's shapes. Prints one line per rung, with the seeds that failed.
"""

from __future__ import annotations

import os
import random
import sys
import time

from tools import emulated
from tools.emulated import Outcome, Shape, case

SEEDS = int(os.environ.get("SEEDS", "40"))


def shape_for(seed: int, source: str) -> Shape:
    return random.Random(seed).choice(list(emulated.shapes(source).values()))


def try_seed(rung: str, source: str, seed: int) -> tuple[str, Outcome]:
    """One run: how to repeat it, and what it found."""
    shape = shape_for(seed, source)
    command = " ".join([f"build/emulated/{rung}", *emulated.arguments(shape, "random", seed)])
    program = emulated.BUILD / "emulated" / rung
    return command, emulated.run(program, shape, "random", seed)


def try_rung(rung: str, source: str) -> None:
    seeds = range(1, SEEDS + 1)
    runs = emulated.in_parallel(lambda seed: try_seed(rung, source, seed), seeds)
    failed = [f"{command}: {outcome}" for command, outcome in runs if outcome.kind]
    case(f"{rung}: no false alarm under {SEEDS} random seeds", "; ".join(failed))


def main() -> int:
    start = time.monotonic()
    for rung, file in emulated.rungs().items():
        try_rung(rung, file.read_text())
    print(f"{time.monotonic() - start:.0f} s")
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
