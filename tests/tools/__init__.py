"""What the tests share. Importing it makes bench, notes, plots, book and standalone importable, here
and in the programs that a test starts, so that a test also runs by itself: python3 tests/results.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
BUILD = ROOT / "build"
sys.path.append(str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, TESTS)))

JOBS = os.cpu_count() or 2
FULL = os.environ.get("FULL") == "1"  # all runs; CI's
failed_cases = 0


def case(name: str, why: str = "") -> None:
    """Prints one case, which passed if `why` is empty."""
    global failed_cases
    failed_cases += bool(why)
    print(f"not ok - {name}: {why}" if why else f"ok - {name}", flush=True)


def skip(name: str, why: str) -> None:
    print(f"skip - {name}: {why}", flush=True)


def exit_status() -> int:
    return 1 if failed_cases else 0


def in_parallel(function, items, jobs: int = JOBS):
    """The results in the order of the items; `jobs` of them run at a time."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


def tool(name: str) -> str | None:
    """Where a tool of the CUDA Toolkit is, as the Makefile finds it."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(name) or shutil.which(name, path=f"{toolkit}/bin")


def have_nvcc() -> bool:
    return tool("nvcc") is not None


@cache
def by_nvcc() -> list[str]:
    """The programs that nvcc has to have built here: make/tests.mk."""
    command = ["make", "-s", "by-nvcc"]
    made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout.split()


UNTOUCHED = "it needs nvcc, and is built if it was touched or with FULL=1"
