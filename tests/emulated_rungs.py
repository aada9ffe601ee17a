#!/usr/bin/env python3
"""Every rung on the emulator: right, and without a report, in every order that is legal.

At shapes that take a rung to its edges, each runs under all fixed policies, under random ones, and
under ThreadSanitizer; and gives the same bits in each order. Prints one line per case; exits 1 if
any failed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import emulated
from tools.emulated import NO_RACE_DETECTOR, SEVERAL_TILES, Shape, case, skip

SEEDS = (1,)  # tests/seeds.py tries more, at the same shapes
# What an addmm leaves out, copies and barriers with it, if a scalar is 0.
SCALARS = (("--beta", "0"), ("--alpha", "0"), ("--alpha", "0", "--beta", "0"))


@dataclass(frozen=True)
class Run:
    rung: str
    edge: str  # what the shape is chosen for
    shape: Shape
    policy: str
    seed: int = 0
    races: bool = False
    options: tuple[str, ...] = ()

    @property
    def program(self) -> Path:
        return emulated.BUILD / ("races" if self.races else "emulated") / self.rung

    @property
    def name(self) -> str:
        how = f"--policy {self.policy}" + (f" --seed {self.seed}" if self.seed else "")
        how = " ".join([*self.options, how])
        if self.races:
            how += ", race detector"
        return f"{self.rung}, {self.edge}, {self.shape}, {how}"


def runs_of(rung: str, source: str) -> list[Run]:
    runs = []
    for edge, shape in emulated.shapes(source).items():
        runs.append(Run(rung, edge, shape, "all"))
        runs += [Run(rung, edge, shape, "random", seed) for seed in SEEDS]
        # It sees every order that synchronisation leaves open, whatever the policy.
        runs.append(Run(rung, edge, shape, "eager", races=True))
    if ".computes = ADDMM" in source:
        shape = emulated.shapes(source)[SEVERAL_TILES]
        for options in SCALARS:
            runs.append(Run(rung, SEVERAL_TILES, shape, "all", options=options))
            runs.append(Run(rung, SEVERAL_TILES, shape, "eager", races=True, options=options))
    return runs


def record_of(rung: str, shape: Shape, policy: str = "eager", *options: str) -> dict:
    """What the program's file says of a run; nothing if the run fails."""
    record = emulated.BUILD / "tests" / f"emulated_rungs-{rung}-{policy}.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    run = Run(rung, "", shape, policy, 1, options=(*options, "--json", str(record)))
    if emulated.run(run.program, shape, policy, run.seed, run.options).kind:
        return {}
    return json.loads(record.read_text())


def why_other_bits(rung: str, shape: Shape) -> str:
    """The program compares the bits under the fixed policies itself; those under a random one are
    compared by their digest. Inputs are normal ones: sums of integers are exact in any order."""
    options = ("--inputs", "normal", "--seed", "1")
    records = [record_of(rung, shape, policy, *options) for policy in ("all", "random")]
    one, other = (record.get("verification", {}).get("digest") for record in records)
    return "" if one and one == other else f"fixed policies: {one}, random: {other}"


def expected_counts(shape: Shape, kernel: emulated.Kernel) -> dict[str, int]:
    """A tile loads two boxes for a k-tile of 64; the producer and each consumer of the tile arrive
    once. Where consumers take turns, one hands its turn on behind each tile."""
    height, width, turns = kernel
    tiles = -(-shape.m // height) * -(-shape.n // width)
    k_tiles = -(-shape.k // 64)
    arrivals = k_tiles * (1 + 2 // turns) + turns - 1
    return {"tma_loads": tiles * k_tiles * 2, "mbarrier_arrivals": tiles * arrivals}


def check_choice(rung: str, source: str) -> None:
    """A rung that chooses among kernels chooses each of them at one of the shapes."""
    for kernel in emulated.kernels(source):
        shape = emulated.CHOSEN_AT[kernel]
        expected = expected_counts(shape, kernel)
        counts = record_of(rung, shape).get("emulator", {}).get("counts", {})
        found = {name: counts.get(name) for name in expected}
        why = f"{found}, not {expected}: give emulated.CHOSEN_AT another shape"
        height, width, turns = kernel
        name = f"{rung}, {shape}: the tiles are {height} x {width}, {turns} at a time"
        case(name, "" if found == expected else why)


def main() -> int:
    rungs = emulated.rungs()
    runs = [run for rung in rungs for run in runs_of(rung, rungs[rung].read_text())]
    if not emulated.has_race_detector():
        skip("the rungs under the race detector", NO_RACE_DETECTOR)
        runs = [run for run in runs if not run.races]
    outcomes = emulated.in_parallel(
        lambda run: emulated.run(run.program, run.shape, run.policy, run.seed, run.options), runs
    )
    for run, outcome in zip(runs, outcomes, strict=True):
        case(run.name, str(outcome))
    for rung, file in rungs.items():
        check_choice(rung, file.read_text())
    rounding = {  # t: moves words, nothing is ever rounded
        rung: emulated.shapes(file.read_text())[SEVERAL_TILES]
        for rung, file in rungs.items()
        if not rung.startswith("t")
    }
    answers = emulated.in_parallel(lambda one: why_other_bits(*one), rounding.items())
    for (rung, shape), why in zip(rounding.items(), answers, strict=True):
        case(f"{rung}, {shape}: the same bits under all policies", why)
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
