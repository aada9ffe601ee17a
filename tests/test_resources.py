#!/usr/bin/env python3
"""Tests of bench/resources.py: what ptxas said of the rungs, as it is recorded.

One case needs nvcc's build of the rungs. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import sys

from tools import BUILD
from tools.fake_rungs import Skipped, run, run_cases, same, tests_in

from bench import resources, rungs
from bench.run import UsageError

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm<256>' for 'sm_80'
ptxas info    : Function properties for gemm<256>
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 145 registers, used 1 barriers, 8320 bytes smem, 388 bytes cmem[0]
ptxas info    : Compile time = 59.382 ms
ptxas info    : Compiling entry function 'transpose' for 'sm_90a'
ptxas info    : Function properties for transpose
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers
"""


def test_log(_):
    """Every kernel of a log is read, for every GPU."""
    found = [sorted(map(str, kernel.values())) for kernel in resources.kernels(LOG)]
    wanted = (("gemm<256>", "sm_80", 145, 8320, 16, 8, 4), ("transpose", "sm_90a", 8, 0, 0, 0, 0))
    same(found, [sorted(map(str, one)) for one in wanted])


def test_recorded(_):
    """Every rung is recorded, without a spill, and as the build here says if nvcc made it."""
    record, recorded = resources.newest()
    same(sorted(recorded), sorted(rungs.find()))
    for name, kernels in recorded.items():
        for kernel in kernels:
            spilled = kernel["spill_store_bytes"] + kernel["spill_load_bytes"]
            same((name, spilled, 0 < kernel["registers"] < 256), (name, 0, True))
    try:
        cuda = resources.nvcc_version()
        made = {name: resources.kernels_of(one, BUILD) for name, one in rungs.find().items()}
    except UsageError as error:
        raise Skipped(str(error)) from error
    if cuda != record["cuda"]:
        raise Skipped(f"nothing is recorded with CUDA {cuda}")
    same([name for name in made if made[name] != recorded[name]], [])


def test_refuses(folder):
    """Without a build it says what to do: one line, exit 2."""
    result = run(sys.executable, "-m", "bench.resources", "--build", folder)
    same((result.returncode, result.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    sys.exit(run_cases("resources", tests_in(globals())))
