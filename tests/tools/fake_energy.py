"""A made-up energy run: parts whose joules follow from numbers that the tests know."""

from __future__ import annotations

import copy

SECONDS = 1.6e-3
CLOCK = 1.34
SLOPE = 0.55
IDLE, AWAKE = 90.0, 120.0
SIZE = 8192
FLOP = 2.0 * SIZE**3
STEPS, PERIOD, LOOK = 21, 0.1, 0.001  # of the counter
# Joules of each term in the whole.
TERMS = ("tensor", "operands", "l2", "dram", "store", "exchange")
WHOLE = dict(zip(TERMS, (0.55, 0.08, 0.11, 0.05, 0.01, 0.02)), waiting=0.10)
APART = 1.4  # the energy of moving operands that do not merge
READ = 10.0  # KB of operands that a wgmma of 256 columns reads
# What each part does of the whole's terms, seconds, clock and share of the SMs.
PARTS = {
    "rung": ((1, 1, 1, 1, 1, 1), SECONDS, CLOCK, 1),
    "whole": ((1, 1, 1, 1, 1, 1), SECONDS, CLOCK, 1),
    "no-store": ((1, 1, 1, 1, 0, 1), 1.58e-3, 1.35, 1),
    "no-dram": ((1, 1, 1, 0, 0, 1), 1.54e-3, 1.38, 1),
    "no-loads": ((1, 1, 0, 0, 0, 1), 1.42e-3, 1.50, 1),
    "multiply": ((1, 1, 0, 0, 0, 0), 1.38e-3, 1.53, 1),
    "multiply-n128": ((1, 12 / READ, 0, 0, 0, 0), 1.40e-3, 1.51, 1),
    "multiply-n64": ((1, 16 / READ, 0, 0, 0, 0), 1.44e-3, 1.47, 1),
    "multiply-a-registers": ((1, 8 / READ, 0, 0, 0, 0), 1.36e-3, 1.56, 1),
    "multiply-zeros": ((0.5, 0.5, 0, 0, 0, 0), 1.1e-3, 1.9, 1),
    "multiply-half": ((1, 1, 0, 0, 0, 0), 2.2e-3, 1.95, 0.5),
    "whole-three-quarters": ((1, 1, 1, 1, 1, 1), 1.75e-3, 1.6, 0.75),
    "whole-half": ((1, 1, 1, 1, 1, 1), 2.3e-3, 1.85, 0.5),
    "loads": ((0, 0, 1, 1, 0, 1), SECONDS, 1.98, 1),
    "loads-l2": ((0, 0, 1, 0, 0, 1), SECONDS, 1.98, 1),
    "loads-l2-apart": ((0, 0, APART, 0, 0, 1), SECONDS, 1.98, 1),
    "waiting": ((0, 0, 0, 0, 0, 1), SECONDS, 1.98, 1),
    "one-sm": ((0, 0, 0, 0, 0, 0), SECONDS, 1.98, 1),
    "idle": (None, None, 1.98, 1),
}
NAMES = tuple(PARTS)
PACED = ("loads", "loads-l2", "loads-l2-apart", "waiting", "one-sm")
# What another rung calls a part with the same amounts.
RENAMED = {
    "v14": {},
    "v16": {"multiply-n128": "multiply-n104", "multiply-n64": "multiply-n40"},
}
PADDED = {"v14": 1, "v16": 8200 / 8192}  # FLOP of its tiles, of the product's
GPU = {"name": "NVIDIA H200", "compute_capability": "9.0", "sms": 132, "power_limit_watts": 700.0}
VERSIONS = {"driver": "580.1", "cuda": "13.0", "cublas": "13.1.0"}


def edges_of(watts):
    """What the counter shows at that power."""
    times = [PERIOD * (i + 1) for i in range(STEPS)]
    return {
        "before": [time - LOOK / 2 for time in times],
        "after": [time + LOOK / 2 for time in times],
        "joules": [watts * time for time in times],
    }


def counts_of(tensor, operands, l2, dram, store, exchange):
    """The counts of a part that does so much of the whole."""
    return {
        "flop": FLOP if tensor else 0.0,
        "operand_bytes": 21e9 * (operands if tensor in (0, 1) else 1),
        "loaded_bytes": 12.9e9 * bool(l2),
        "stored_bytes": 2.0 * SIZE**2 * store,
        "exchanges": 262144.0 * exchange,
        "operands_in_dram": bool(dram),
    }


def watts_of(name):
    """By the model, with the numbers above."""
    amounts, seconds, clock, share = PARTS[name]
    if name in ("idle", "one-sm"):
        return IDLE if name == "idle" else AWAKE
    joules = {term: WHOLE[term] * amount for term, amount in zip(TERMS, amounts)}
    dram = joules.pop("dram")
    waiting = WHOLE["waiting"] * seconds * clock * share / (SECONDS * CLOCK)
    square = (1 + SLOPE * (clock - CLOCK)) ** 2
    return AWAKE + (square * (sum(joules.values()) + waiting) + dram) / seconds


def part_of(name):
    """What the program would write of a part."""
    amounts, seconds, clock, share = PARTS[name]
    problem = {"computation": "gemm_bf16", **dict.fromkeys("mnk", SIZE), "inputs": "normal"}
    return {
        "schema": 1,
        "kind": "energy part",
        "rung": "v14",
        "part": name,
        "what": f"{name}, made up",
        "commit": "abc1234",
        "gpu": {**GPU, **VERSIONS},
        "problem": {**problem, "seed": 1, "copies": 2},
        "peak_flop_per_cycle": 132 * 4096.0,
        "warm_up": 0.8,
        "zeros": name == "multiply-zeros",
        "sm_share": share,
        "pace": SECONDS if name in PACED else None,
        "launches": 0 if seconds is None else 1000,
        "seconds": seconds,
        "sm_clock_ghz": clock,
        "celsius": [60.0, 61.0],
        "edges": edges_of(watts_of(name)),
        "counts": None if name in ("rung", "idle") else counts_of(*amounts),
    }


def record(*without, rung="v14"):
    """A whole record, as bench/energy/measure.py would write it, but for some parts."""
    from bench.energy import measure as energy

    made = energy.new_record()
    made["date"] = "2026-01-01T00:00:00Z"
    made["gpu_processes"] = {"looked": True, "why_not": None, "allowed": False, "found": []}
    for name in NAMES:
        if name not in without:
            part = {**part_of(name), "rung": rung, "part": RENAMED[rung].get(name, name)}
            if part["counts"]:
                part["counts"]["flop"] *= PADDED[rung]
            energy.add(made, part)
    return copy.deepcopy(made)
