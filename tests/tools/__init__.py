"""What the tests share. Importing it makes bench, notes, plots, book and standalone importable, here
and in the programs that a test starts, so that a test also runs by itself: python3 tests/results.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from emulator.tests.tools import (  # noqa: F401
    BUILD,
    JOBS,
    ROOT,
    case,
    exit_status,
    in_parallel,
    skip,
)

TESTS = ROOT / "tests"
os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, TESTS)))

FULL = os.environ.get("FULL") == "1"  # all runs; CI's


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
