#!/usr/bin/env python3
"""Tests of bench/resources.py: what ptxas said of the rungs, as it is recorded.

The last case needs nvcc's build of the rungs. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ("-m", "bench.resources")

from tools.fake_rungs import Skipped, run, run_cases, same, tests_in

from bench import resources
from bench.records import recorded

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'void gemm<256>(__half const*, int)' for 'sm_80'
ptxas info    : Function properties for void gemm<256>(__half const*, int)
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 145 registers, used 1 barriers, 8320 bytes smem, 388 bytes cmem[0]
ptxas info    : Compile time = 59.382 ms
ptxas info    : Compiling entry function 'transpose(CUtensorMap_st)' for 'sm_90a'
ptxas info    : Function properties for transpose(CUtensorMap_st)
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers
"""


def test_log(_):
    """Every kernel of a log is read, for every GPU."""
    found = [tuple(kernel.values()) for kernel in resources.kernels(LOG)]
    same(
        found,
        [("gemm<256>", "sm_80", 145, 8320, 16, 8, 4), ("transpose", "sm_90a", 8, 0, 0, 0, 0)],
    )


def test_digest(folder):
    """Code changes the digest, comments and blanks do not."""
    rung = Path(folder) / "v01_x.cu"
    digests = []
    for text in (
        '#include "step.h"\nint a; // one\n',
        '// A comment.\n#include "step.h"\nint  a;  /* two */\n',
        '#include "step.h"\nint b; // one\n',
        '#include "step.h"\n#include "device/tma.cuh"\nint a;\n',
    ):
        rung.write_text(text)
        digests.append(resources.digest(rung))
    same(digests[0], digests[1])
    same(len(set(digests)), 3)


def test_recorded(_):
    """Every rung is recorded, without a spill, and with the size of its shared memory."""
    rungs = resources.newest()["rungs"]
    same(
        sorted(rungs),
        sorted(name for t in recorded.TRACKS for name in recorded.rung_names(track=t)),
    )
    for name, rung in rungs.items():
        for kernel in rung["kernels"]:
            spilled = kernel["spill_store_bytes"] + kernel["spill_load_bytes"]
            same((name, spilled, 0 < kernel["registers"] < 256), (name, 0, True))
    for name, rung in rungs.items():  # a and t run where a CTA has 99 KB
        least = min(kernel["shared_storage_bytes"] or 0 for kernel in rung["kernels"])
        same((name, name[0] in "vf" or least <= 99 * 1024), (name, True))
    v10 = rungs["v10"]["kernels"][0]
    same(
        v10["shared_storage_bytes"], 1024 * 225
    )  # four stages of 48 KB, 32 KB to stage D, barriers


def test_build(folder):
    """What is recorded is what the build says; a log that says otherwise is found."""
    build = ROOT / "build"
    names = [path.name.partition("_")[0] for path in (ROOT / "steps").glob("*.cu")]
    if not all((build / "steps" / f"{name}.ptxas.log").exists() for name in names):
        raise Skipped("needs nvcc")
    result = check(build)
    if "nothing is recorded with CUDA" in result.stderr:
        raise Skipped(result.stderr.strip())
    same((result.returncode, result.stderr), (0, ""))
    steps = Path(folder) / "steps"
    steps.mkdir()
    for name in names:
        text = (build / "steps" / f"{name}.ptxas.log").read_text()
        text = text.replace(" registers", "1 registers") if name == "v03" else text
        (steps / f"{name}.ptxas.log").write_text(text)
    result = check(folder)
    wrong = "resources: v03: not as recorded; run bench/resources.py\n"
    same((result.returncode, result.stderr), (1, wrong))


def check(build):
    """Compares that build with what is recorded."""
    return run(sys.executable, *PROGRAM, "--check", "--build", build)


def test_refuses(folder):
    """Without a build it says what to do: one line, exit 2."""
    result = check(folder)
    same((result.returncode, result.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    sys.exit(run_cases("resources", tests_in(globals())))
