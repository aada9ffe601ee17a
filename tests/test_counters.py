#!/usr/bin/env python3
"""Tests of bench/counters.py with a fake ncu and fake rungs.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools import fake_rungs
from tools.fake_rungs import holds, run_cases, same, tests_in, write_program

# A fake ncu: says which metrics it knows, or runs the program and prints two phases of launches.
NCU = r"""
import subprocess, sys
arguments = sys.argv[1:]
if arguments == ["--version"]:
    sys.exit(print("NVIDIA (R) Nsight Compute\nVersion 1.2.3"))
if arguments == ["--query-metrics"]:
    sys.exit(print("Device Fake\n", *(name + "    Counter    byte" for name in KNOWN), sep="\n"))
place = arguments.index("--metrics")
assert arguments[:3] == ["--clock-control", "none", "--print-units"], arguments
metrics, command = arguments[place + 1].split(","), arguments[place + 2 :]
assert command[command.index("--protocol") + 1] == "none", command
print("==PROF== Connected to process 1", flush=True)
if status := subprocess.run(command).returncode:
    print("==ERROR== The application returned an error code (%d)." % status)
    sys.exit(status if PASSES_ON else 1)
print("==WARNING== something")
rows = [["ID", "Kernel Name"] + metrics, ["", ""] + ["byte"] * len(metrics)]
for index, kernel in enumerate(KERNELS):
    values = ["n/a" if "requests" in name else "1,234,%03d" % index for name in metrics]
    rows.append([str(index), kernel] + values)
for row in rows:
    print(",".join('"' + cell + '"' for cell in row))
"""
KNOWN = ("dram__bytes_read", "lts__t_requests_srcunit_tex", "sm__cycles_elapsed")
RUNG_CALL = "gemm(CUtensorMap_st, CUtensorMap_st, __nv_bfloat16 *, int, int, int)"
CUBLAS_CALL = "nvjet_tst_320x128_64x3_1x2_h_bz_coopB_TNT"
KERNELS = (RUNG_CALL, CUBLAS_CALL, RUNG_CALL, CUBLAS_CALL)
COPIES = ("transpose(CUtensorMap_st, int)", "void transpose_readWrite<float>(Params)")
TEMPLATES = ("void gemm<4>(float *)", "void cutlass::Kernel2<sm90_xmma_gemm_bf16>(Params)")


class House(fake_rungs.House):
    """A temporary build directory with fake rungs and a fake ncu."""

    PROGRAM, USUAL = ("-m", "bench.counters"), ()

    def __init__(self, folder, known=KNOWN, kernels=KERNELS, passes_on=True, **rungs):
        super().__init__(folder, **rungs)
        how = {"KNOWN": known, "KERNELS": kernels, "PASSES_ON": passes_on}
        write_program(self.folder / "ncu", NCU, **how)
        self.USUAL = ("--ncu", str(self.folder / "ncu"))


def test_counts(folder):
    """The last launch of each kernel is recorded; what ncu doesn't know or have is left out."""
    house = House(folder, v08={}, v06={}, v06_each_sm={})
    said = house.ladder("--steps", "6,6-each-sm,8").stdout
    found = house.result()
    same((found.protocol, found.context["ncu"]), ("counters", "Version 1.2.3"))
    same((found.measured, found.shape), (["v06", "v06-each-sm", "v08"], (256,) * 3))
    row = found.first("v06")
    same((row["kernel"], row["cublas"]["kernel"]), ("gemm", CUBLAS_CALL))
    # one is n/a, and others are not known
    same(row["counters"], {"dram__bytes_read.sum": 1234002, "sm__cycles_elapsed.max": 1234002})
    same(row["cublas"]["counters"]["dram__bytes_read.sum"], 1234003)
    holds(said, "v08: 2 of 13 counters\nrecorded in ")


def test_kernels(folder):
    """Names of kernels are recognised, with template arguments; each program has to have its
    own."""
    for index, (rung, kernels, known, wanted) in enumerate(
        (
            ("t02", COPIES, KNOWN, ("transpose", None)),  # not the one with the longer name
            ("v01", TEMPLATES, KNOWN, ("gemm", "cutlass::Kernel2")),
            ("v01", KERNELS, (), ("gemm", CUBLAS_CALL)),  # ncu lists nothing: all are asked for
            ("v01", KERNELS[:1], KNOWN, None),
            ("v01", KERNELS[1:2], KNOWN, None),
            ("v01", (), KNOWN, None),
        )
    ):
        house = House(Path(folder) / str(index), kernels=kernels, known=known, **{rung: {}})
        said = house.ladder("--steps", rung, status=0 if wanted else 1).stderr
        same(house.out.exists(), wanted is not None)
        if wanted:
            row = house.result().first(rung)
            same((row["kernel"], row.get("cublas", {}).get("kernel")), wanted)
            same(len(row["counters"]), 2 if known else 12)  # and one is n/a
        else:
            holds(said, "ncu reported no")


def test_failing(folder):
    """A program that fails is noted; the others are still counted. 77 of the first program, with or
    without ncu's passing it on, is one line, and no file."""
    house = House(folder, v01={}, v02={"exit": 1}, v03={}, v04={"commit": "def5678"})
    house.ladder(status=1)
    found = house.result()
    same((found.measured, sorted(found.failed)), (["v01", "v03"], ["v02", "v04"]))
    holds(found.failed["v02"], "error code (1)")
    for passes_on in (True, False):
        cannot = {"v01": {"exit": 77, "stderr": "v01: it cannot"}, "v02": {}}
        house = House(Path(folder) / str(passes_on), passes_on=passes_on, **cannot)
        said = house.ladder(status=77).stderr.splitlines()[1:]
        same((said, house.out.exists()), (["v01: it cannot"], False))
    house.refuses(f"--ncu {folder}/nowhere", "--protocol burst", "--steps v09")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("counters", tests_in(globals())))
