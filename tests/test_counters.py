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
from tools.fake_rungs import holds, require, run, run_cases, same, tests_in, write_program

# A fake ncu: says which metrics it knows, or runs the program and prints two phases of launches.
NCU = r"""
import subprocess, sys
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("NVIDIA (R) Nsight Compute\nVersion 1.2.3")
    sys.exit()
if arguments == ["--query-metrics"]:
    print("Device Fake\n")
    for name in KNOWN:
        print(name + "    Counter    byte    # of something")
    sys.exit()
place = arguments.index("--metrics")
assert arguments[:3] == ["--clock-control", "none", "--print-units"], arguments
metrics, command = arguments[place + 1].split(","), arguments[place + 2 :]
assert command[command.index("--protocol") + 1] == "none", command
print("==PROF== Connected to process 1", flush=True)
result = subprocess.run(command)
if result.returncode:
    print("==PROF== Disconnected")
    print("==ERROR== The application returned an error code (%d)." % result.returncode)
    sys.exit(result.returncode if PASSES_ON else 1)
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


class House(fake_rungs.House):
    """A temporary build directory with fake rungs and a fake ncu."""

    PROGRAM = ("-m", "bench.counters")

    def __init__(self, folder, known=KNOWN, kernels=KERNELS, passes_on=True, **rungs):
        super().__init__(folder, **rungs)
        how = {"KNOWN": known, "KERNELS": kernels, "PASSES_ON": passes_on}
        write_program(self.folder / "ncu", NCU, **how)

    def usual(self, more):
        return ("--ncu", str(self.folder / "ncu"), "--size", "256", "--out", str(self.out))


def test_counts(folder):
    """The last launch of each kernel is recorded; what ncu doesn't know or have is null."""
    house = House(folder, **{"v02": {}, "v01": {}, "v01-a": {}})
    house.ladder()
    record = house.record()
    same((record["schema"], record["kind"], record["ncu"]), (1, "counters", "Version 1.2.3"))
    same((record["gpu"]["name"], record["commit"]), ("Fake GPU 1", "abc1234"))
    same([record["problem"][key] for key in "mnk"], [256, 256, 256])
    same([step["step"] for step in record["steps"]], ["v01", "v01-a", "v02"])
    step = record["steps"][0]
    same((step["kernel"], step["launches"], step["cublas"]["kernel"]), ("gemm", 2, CUBLAS_CALL))
    same(step["counters"]["dram__bytes_read.sum"], 1234002)
    same(step["cublas"]["counters"]["dram__bytes_read.sum"], 1234003)
    same(step["counters"]["lts__t_requests_srcunit_tex.sum"], None)  # n/a
    same(step["counters"]["dram__bytes_write.sum"], None)  # not known
    same(list(step["counters"]), record["metrics"])
    same([call.split()[1] for call in house.calls()], ["sample"] * 3)
    (house.folder / "results").mkdir()  # and they fill a note's table, cuBLAS below them
    house.out.rename(house.folder / "results" / "counters.json")
    note = house.folder / "note.md"
    marker = (
        "<!-- figures @256,abc1234 : v01-a cublas : counted_cycles=million,.2 -->\n<!-- end -->\n"
    )
    note.write_text(marker)
    fill = (sys.executable, "-m", "notes.tools.notes_tables", "--notes", house.folder)
    same(run(*fill, "--results", house.folder / "results").returncode, 0)
    lines = note.read_text().splitlines()
    same(lines[3:5], ["| `v01-a` | 1.23 |", "| cuBLAS | 1.23 |"])


def test_kernels(folder):
    """Names of kernels are recognised, with template arguments; each program has to have its own."""
    copies = ("transpose(CUtensorMap_st, int)", "void transpose_readWrite<float>(Params)")
    template = ("void gemm<4>(float *)", "void cutlass::Kernel2<sm90_xmma_gemm_bf16>(Params)")
    for index, (rung, kernels, known, wanted) in enumerate(
        (
            ("t02", copies, KNOWN, ("transpose", 1, None)),  # not the one with the longer name
            ("v01", template, KNOWN, ("gemm", 1, "cutlass::Kernel2")),
            ("v01", KERNELS, (), ("gemm", 2, CUBLAS_CALL)),  # ncu lists nothing: all are asked for
            ("v01", KERNELS[:1], KNOWN, None),
            ("v01", KERNELS[1:2], KNOWN, None),
            ("v01", (), KNOWN, None),
        )
    ):
        house = House(Path(folder) / str(index), kernels=kernels, known=known, **{rung: {}})
        said = house.ladder("--steps", rung, status=0 if wanted else 1).stderr
        same(house.out.exists(), wanted is not None)
        if wanted:
            step = house.record()["steps"][0]
            found = step["kernel"], step["launches"], step.get("cublas", {}).get("kernel")
            same(found, wanted)
            same("k" in house.record()["problem"], rung == "v01")
            nulls = [name for name, value in step["counters"].items() if value is None]
            require(known or nulls == ["lts__t_requests_srcunit_tex.sum"], nulls)
        else:
            holds(said, "ncu reported no")


def test_failing(folder):
    """A program that fails is noted; the others are still counted."""
    house = House(folder, v01={}, v02={"exit": 1}, v03={})
    house.ladder(status=1)
    steps = house.record()["steps"]
    same(["failed" in step for step in steps], [False, True, False])
    holds(steps[1]["failed"], "error code (1)")


def test_refuses(folder):
    """77 of the first program, with or without ncu's passing it on, and programs of two commits: one
    line, no file."""
    cannot = {"v01": {"exit": 77, "stderr": "v01: it cannot"}, "v02": {}}
    for index, (status, said, how) in enumerate(
        (
            (77, "v01: it cannot\n", cannot),
            (77, "v01: it cannot\n", {**cannot, "passes_on": False}),
            (1, "differ in commit", {"v01": {}, "v02": {"commit": "def5678"}}),
        )
    ):
        house = House(Path(folder) / str(index), **how)
        holds(house.ladder(status=status).stderr, said)
        require(not house.out.exists(), "a file was written")


def test_bad_usage(folder):
    """What can be known beforehand is refused with exit 2."""
    words = f"--size 0|--m 256|--steps v02|--build {folder}/nowhere|--ncu {folder}/nowhere"
    words += f"|--out {folder}|--device -1|--protocol burst|--steps t02 --k 4 --size 8"
    house = House(folder, v01={}, t02={})
    house.refuses(*words.split("|"), "--steps t02,v01")
    require(not house.out.exists(), "a file was written")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("counters", tests_in(globals())))
