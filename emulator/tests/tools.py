"""What the tests of the emulator share with all others: a case's line, and where things are."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
sys.path.append(str(ROOT))

JOBS = os.cpu_count() or 2
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
