#!/usr/bin/env python3
"""Tests of bench/counters.py with a fake ncu and fake rungs.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTERS = ("-m", "bench.counters")
NOTES_TABLES = ("-m", "notes.tools.notes_tables")

# A fake ncu: says which metrics it knows, or runs the program and prints two phases of launches.
NCU = """#!{python}
import subprocess, sys
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("NVIDIA (R) Nsight Compute\\nVersion 1.2.3")
    sys.exit()
if arguments == ["--query-metrics"]:
    print("Device Fake\\n")
    for name in {known!r}:
        print(name + "    Counter    byte    # of something")
    sys.exit()
place = arguments.index("--metrics")
assert arguments[:3] == ["--clock-control", "none", "--print-units"], arguments
metrics, command = arguments[place + 1].split(","), arguments[place + 2 :]
print("==PROF== Connected to process 1")
result = subprocess.run(command)
if result.returncode:
    print("==PROF== Disconnected")
    print("==ERROR== The application returned an error code (%d)." % result.returncode)
    sys.exit(result.returncode if {passes_on!r} else 1)
print("==WARNING== something")
def line(cells):
    print(",".join('"' + cell + '"' for cell in cells))
line(["ID", "Kernel Name"] + metrics)
line(["", ""] + ["byte"] * len(metrics))
for index, kernel in enumerate({kernels!r}):
    values = ["n/a" if "requests" in name else "1,234,%03d" % index for name in metrics]
    line([str(index), kernel] + values)
"""
KNOWN = ("dram__bytes_read", "lts__t_requests_srcunit_tex", "sm__cycles_elapsed")
RUNG_CALL = "gemm(CUtensorMap_st, CUtensorMap_st, __nv_bfloat16 *, int, int, int)"
CUBLAS_CALL = "nvjet_tst_320x128_64x3_1x2_h_bz_coopB_TNT"
KERNELS = (RUNG_CALL, CUBLAS_CALL, RUNG_CALL, CUBLAS_CALL)

# A fake rung: the JSON that a rung writes with --protocol none.
RUNG = """#!{python}
import json, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
moves = "{name}".startswith("t")
assert options["--protocol"] == "none", options
assert options["--check"] == ("full" if moves else "sample"), options
if {status!r}:
    sys.stderr.write("{name}: it cannot\\n")
    sys.exit({status!r})
run = {{
    "schema": 1, "kind": "step", "step": "{name}", "idea": "idea of {name}",
    "commit": {commit!r}, "date": "2026-01-01T00:00:00Z",
    "gpu": {{"name": "Fake GPU 1", "compute_capability": "9.0", "sms": 10,
            "power_limit_watts": 700.0, "driver": "1", "cuda": "13.0", "cublas": "13.1.0"}},
    "problem": {{"computation": "gemm_bf16", "inputs": options["--inputs"],
                "seed": int(options["--seed"]), "copies": 1}},
    "verification": {{"verified": True}}, "timing": None,
}}
run["problem"].update((key, int(options["--" + key])) for key in ("mn" if moves else "mnk"))
assert not moves or "--k" not in options, options
json.dump(run, open(options["--json"], "w"))
print("verified")
"""


class House:
    """A temporary build directory with fake rungs and a fake ncu."""

    def __init__(self, folder, *names, known=KNOWN, kernels=KERNELS, passes_on=True):
        self.folder = Path(folder)
        self.out = self.folder / "out.json"
        self.ncu = self.folder / "ncu"
        (self.folder / "steps").mkdir()
        text = NCU.format(python=sys.executable, known=known, kernels=kernels, passes_on=passes_on)
        self.write(self.ncu, text)
        for name in names:
            self.add(name)

    def add(self, name, status=0, commit="abc1234"):
        """Writes one fake rung."""
        text = RUNG.format(python=sys.executable, name=name, status=status, commit=commit)
        self.write(self.folder / "steps" / name, text)

    def write(self, path, text):
        """Writes a program."""
        path.write_text(text)
        path.chmod(0o755)

    def count(self, *more):
        """Runs bench/counters.py over these rungs; later options win."""
        count = run(sys.executable, *COUNTERS, "--build", str(self.folder))
        return count("--ncu", str(self.ncu), "--size", "256", "--out", str(self.out), *more)

    def result(self):
        """What was written."""
        return json.loads(self.out.read_text())


def run(*command):
    """A function that runs the command with more arguments and returns its result."""

    def with_more(*more):
        return subprocess.run(
            [*command, *more], check=False, capture_output=True, text=True, timeout=120
        )

    return with_more


def require(condition, why="not so"):
    """AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(why)


def same(found, wanted):
    """Equal, or an AssertionError that shows both."""
    require(found == wanted, f"found {found!r}, wanted {wanted!r}")


def test_counts(folder):
    """The last launch of each kernel is recorded; what ncu doesn't know or have is null."""
    house = House(folder, "v02", "v01", "v01-a")
    result = house.count()
    same((result.returncode, "Traceback" in result.stderr), (0, False))
    record = house.result()
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


def test_moves(folder):
    """Of a rung that moves words its own kernel alone is counted, not one with a longer name."""
    kernels = ("transpose(CUtensorMap_st, int)", "void transpose_readWrite<float>(Params)")
    house = House(folder, "t02", kernels=kernels)
    result = house.count("--steps", "t02")
    same((result.returncode, "Traceback" in result.stderr), (0, False))
    record = house.result()
    require("k" not in record["problem"], record["problem"])
    step = record["steps"][0]
    same((step["kernel"], step["launches"], "cublas" in step), ("transpose", 1, False))
    same(house.count("--steps", "t02", "--k", "4").returncode, 2)


def test_no_list(folder):
    """All metrics are asked for if ncu lists none that is wanted."""
    house = House(folder, "v01", known=())
    same(house.count().returncode, 0)
    counters = house.result()["steps"][0]["counters"]
    missing = [name for name, value in counters.items() if value is None]
    same(missing, ["lts__t_requests_srcunit_tex.sum"])


def test_other_kernels(folder):
    """Other cuBLAS kernels and template arguments are recognised; a kernel of its own is wanted."""
    folder = Path(folder)
    (folder / "one").mkdir()
    kernels = ("void gemm<4>(float *)", "void cutlass::Kernel2<sm90_xmma_gemm_bf16>(Params)")
    house = House(folder / "one", "v01", kernels=kernels)
    same(house.count().returncode, 0)
    same(house.result()["steps"][0]["cublas"]["kernel"], "cutlass::Kernel2")
    for name, kernels in (("two", KERNELS[:1]), ("three", KERNELS[1:2]), ("four", ())):
        (folder / name).mkdir()
        house = House(folder / name, "v01", kernels=kernels)
        result = house.count()
        same((result.returncode, house.out.exists()), (1, False))
        require("ncu reported no" in result.stderr, result.stderr)


def test_failing(folder):
    """A program that fails is noted; the others are still counted."""
    house = House(folder, "v01", "v03")
    house.add("v02", status=1)
    same(house.count().returncode, 1)
    steps = house.result()["steps"]
    same(["failed" in step for step in steps], [False, True, False])
    require("error code (1)" in steps[1]["failed"], steps[1]["failed"])


def test_cannot_run(folder):
    """77 of the first program, or no ncu at all: one line, 77, no file."""
    for passes_on in (True, False):
        inner = Path(folder) / str(passes_on)
        inner.mkdir()
        house = House(inner, "v02", passes_on=passes_on)
        house.add("v01", status=77)
        result = house.count()
        same((result.returncode, result.stderr), (77, "v01: it cannot\n"))
        require(not house.out.exists(), "a file was written")


def test_mismatch(folder):
    """Programs of different commits are not merged."""
    house = House(folder, "v01")
    house.add("v02", commit="def5678")
    result = house.count()
    same((result.returncode, house.out.exists()), (1, False))
    require("differ in commit" in result.stderr, result.stderr)


def test_bad_usage(folder):
    """What can be known beforehand is refused with exit 2."""
    house = House(folder, "v01")
    for arguments in (
        ("--size", "0"),
        ("--m", "256"),  # together with --size
        ("--steps", "v02"),
        ("--build", str(house.folder / "nowhere")),
        ("--ncu", str(house.folder / "nowhere")),
        ("--out", str(house.folder)),
        ("--device", "-1"),
        ("--protocol", "burst"),
    ):
        result = house.count(*arguments)
        same((arguments, result.returncode, house.out.exists()), (arguments, 2, False))
        require("Traceback" not in result.stderr and result.stderr, result.stderr)


def test_notes(folder):
    """The counters fill a note's table, and cuBLAS stands below them."""
    house = House(folder, "v01", "v01-a")
    house.count()
    note = house.folder / "note.md"
    note.write_text("<!-- table:counters v01-a:begin -->\n<!-- table:counters:end -->\n")
    fill = run(sys.executable, *NOTES_TABLES, "--notes", str(house.folder), "--counters")
    same(fill(str(house.out)).returncode, 0)
    lines = note.read_text().splitlines()
    same([line.split(" | ")[0] for line in lines[3:5]], ["| v01-a", "| cuBLAS"])
    require(" 1.23 |" in lines[3], lines[3])  # 10^6 cycles


def case(test):
    """Runs one test in a folder of its own; returns True if it failed."""
    name = f"counters: {test.__doc__.splitlines()[0].rstrip('.')}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    except Exception as error:  # noqa: BLE001 (any error in a test is a failed test)
        print(f"not ok - {name}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        return True
    print(f"ok - {name}", flush=True)
    return False


TESTS = [
    test_counts,
    test_moves,
    test_no_list,
    test_other_kernels,
    test_failing,
    test_cannot_run,
    test_mismatch,
    test_bad_usage,
    test_notes,
]


def main():
    """All cases; returns the exit status."""
    failures = [case(test) for test in TESTS]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
