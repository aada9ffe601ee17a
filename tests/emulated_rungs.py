#!/usr/bin/env python3
"""Every rung on the emulator: right, and without a report, in every order that is legal.

Each runs as `make step` runs it. At shapes that take a rung to its edges, each runs under all fixed
policies and random ones, and gives the same bits in each order. SEEDS=200 tries that many seeds
for each rung. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import BUILD, case, emulated, exit_status, in_parallel
from tools.emulated import SEVERAL_TILES, Outcome, Shape

SEEDS = int(os.environ.get("SEEDS", "10"))
RECORDS = BUILD / "tests" / "emulated_rungs"
# What an addmm leaves out, copies and barriers with it, if a scalar is 0.
SCALARS = (("--beta", "0"), ("--alpha", "0"), ("--alpha", "0", "--beta", "0"))
# Of the cards that run a track, one with the least shared memory: a CTA has 99 KB, an SM 100.
SMALLEST = {"a": ("8.6",), "t": ("12.0",)}
# Sums of integers are exact in any order: a program compares the bits of other inputs.
NORMAL = ("--inputs", "normal", "--seed", "1")
LEAST_RUNS = 870  # of all rungs


@dataclass(frozen=True)
class Run:
    rung: str
    edge: str  # what the shape is chosen for
    shape: Shape | None  # none: the rung runs as `make step` runs it
    policy: str = ""
    seed: int = 0
    options: tuple[str, ...] = ()
    card: str = ""  # a compute capability; empty: the emulator's own

    @property
    def program(self) -> Path:
        return BUILD / "emulated" / self.rung

    @property
    def name(self) -> str:
        if self.shape is None:
            return f"{self.rung}, {self.edge}"
        how = " ".join([*self.options, *emulated.policy_options(self.policy, self.seed)])
        how += f", on {self.card}" if self.card else ""
        return f"{self.rung}, {self.edge}, {self.shape}, {how}"

    @property
    def record(self) -> Path:
        """The file that a run writes under all fixed policies, or on normal inputs."""
        return RECORDS / f"{self.rung}-{self.shape}-{self.policy}.json".replace(" ", "")

    def outcome(self) -> Outcome:
        if self.shape is None:
            return emulated.run(self.program, ())
        words = [*emulated.arguments(self.shape, self.policy, self.seed), *self.options]
        if self.options == NORMAL or (self.policy == "all" and not self.options and not self.card):
            words += ["--json", str(self.record)]
        return emulated.run(self.program, words, self.card)


def runs_of(rung: str) -> list[Run]:
    """All but the seeds."""
    source, runs = emulated.source_of(rung), [Run(rung, "make step", None)]
    for edge, shape in emulated.shapes(source).items():
        # A run with normal inputs checks integers as well. The t track rounds nothing.
        normal = NORMAL if edge == SEVERAL_TILES and rung[0] != "t" else ()
        runs.append(Run(rung, edge, shape, "all", options=normal))
        for options in SCALARS if normal and ".computes = ADDMM" in source else ():
            runs.append(Run(rung, edge, shape, "all", options=options))
        for card in SMALLEST.get(rung[0], ()):
            runs.append(Run(rung, edge, shape, "all", card=card))
    return runs


def seeds_of(rung: str) -> list[Run]:
    """A seed chooses the random policy; the rung's shapes take turns."""
    shapes = list(emulated.shapes(emulated.source_of(rung)).items())
    return [Run(rung, *shapes[seed % len(shapes)], "random", seed) for seed in range(1, SEEDS + 1)]


def recorded(run: Run, *names: str):
    """A value of the file that the run has written; {} if there is none."""
    value = json.loads(run.record.read_text()) if run.record.exists() else {}
    for name in names:
        value = value.get(name, {})
    return value


def expected_counts(shape: Shape, kernel: emulated.Kernel) -> dict[str, int]:
    """A tile loads two boxes for a k-tile of 64; the producer and each consumer of the tile arrive
    once. Where consumers take turns, one hands its turn on after each tile."""
    height, width, turns = kernel
    tiles = -(-shape.m // height) * -(-shape.n // width)
    k_tiles = -(-shape.k // 64)
    arrivals = k_tiles * (1 + 2 // turns) + turns - 1
    return {"tma_loads": tiles * k_tiles * 2, "mbarrier_arrivals": tiles * arrivals}


def check_choice(run: Run) -> int:
    """A rung that chooses among kernels chooses each of them at one of the shapes. How many of them
    were looked at."""
    seen = 0
    for kernel in emulated.kernels(emulated.source_of(run.rung)):
        if run.shape == emulated.CHOSEN_AT[kernel]:
            seen += 1
            expected = expected_counts(run.shape, kernel)
            found = {name: recorded(run, "emulator", "counts", name) for name in expected}
            why = f"{found}, not {expected}: give emulated.CHOSEN_AT another shape"
            name = f"{run.rung}, {run.shape}: the tiles are {kernel[0]} x {kernel[1]}, {kernel[2]} at a time"
            case(name, "" if found == expected else why)
    return seen


def main() -> int:
    RECORDS.mkdir(parents=True, exist_ok=True)
    for old in RECORDS.iterdir():
        old.unlink()
    runs = [run for rung in emulated.rungs() for run in runs_of(rung)]
    seeds = {rung: seeds_of(rung) for rung in emulated.rungs()}
    everything = [*runs, *(run for those in seeds.values() for run in those)]
    outcomes = dict(zip(everything, in_parallel(Run.outcome, everything)))
    for run in runs:
        case(run.name, str(outcomes[run]))
    for rung, those in seeds.items():
        failed = "; ".join(f"{run.name}: {outcomes[run]}" for run in those if outcomes[run].kind)
        case(f"{rung}: no false alarm under {SEEDS} random seeds", failed)
    seen = 0
    for run in runs:
        if run.policy == "all" and not run.card:
            seen += check_choice(run)
    why = "" if seen == len(emulated.CHOSEN_AT) else f"{seen} are"
    case("every kernel of emulated.CHOSEN_AT is chosen", why)
    why = "" if len(everything) >= LEAST_RUNS else f"{len(everything)}, not {LEAST_RUNS}"
    case("all rungs and their edges were found", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
