#!/usr/bin/env python3
"""Recorded results are whole and consistent; the README, notes and plots show what they say.

What a file has to be stands in bench/records/schema.py; bench/records/figures.py recomputes its figures from the raw
samples with Python's own statistics module, not with the code that wrote them. Prints one line per
case; exits 1 if any failed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PLOTS = ROOT / "plots"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TRACE_BYTES = 200_000
SMALLEST_PNG = 10_000  # bytes; an empty picture of this size takes less

import tools  # noqa: F401 (finds the packages)

from bench.records import recorded

failed = 0


def case(name, check, *arguments):
    """Runs one case and prints its line; `check` raises if the case fails."""
    global failed
    try:
        check(*arguments)
    except Exception as error:  # noqa: BLE001 (a broken file may break in any way; each is one failed case)
        failed += 1
        print(f"not ok - {name}: {type(error).__name__}: {error}".replace("\n", " "))
    else:
        print(f"ok - {name}")


def require(condition, why):
    """AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(why)


def check_readme():
    """The README's table is what readme_table.py would write."""
    command = [sys.executable, "-m", "notes.tools.readme_table", "--check"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    require(result.returncode == 0, result.stderr.strip())


def check_notes():
    """The notes' tables are what notes_tables.py would write."""
    command = [sys.executable, "-m", "notes.tools.notes_tables", "--check"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    require(result.returncode == 0, result.stderr.strip())


def check_png():
    """plots/ladder.png is a PNG of some size."""
    data = (PLOTS / "ladder.png").read_bytes()
    require(data.startswith(PNG_SIGNATURE), "not a PNG")
    require(len(data) >= SMALLEST_PNG, f"only {len(data)} bytes")


def check_trace(path):
    """A recorded trace can be true, is small, and stands under its own name."""
    record = recorded.load_record(path)
    require(record["kind"] == "trace", f"its kind is {record['kind']}")
    require(path.stat().st_size < MOST_TRACE_BYTES, f"{path.stat().st_size} bytes")
    require(not record["commit"].endswith("+dirty"), "recorded from a tree with changes")
    require(path.name == f"{recorded.trace_name(record)}.json", recorded.trace_name(record))


def check_svg(headline):
    """plots/ladder.svg names every rung and was drawn from the headline run."""
    ladder = recorded.load_ladder(headline)
    text = (PLOTS / "ladder.svg").read_text(encoding="utf-8")
    for rung in ladder["rungs"]:
        require(f">{rung['step']}<" in text, f"{rung['step']} isn't labelled")
    for words in (f"{ladder['date'][:10]}, commit {ladder['commit']}", ladder["gpu"]["name"]):
        require(words in text, f"'{words}' isn't in it: drawn from another run ('make plots')")
    for rung in recorded.measured(ladder):
        value = f"{rung['timing']['step']['tflops']['median']:.0f}"
        require(f">{value}<" in text, f"{rung['step']}'s {value} TFLOPS aren't in it")


def main():
    """All cases; returns the exit status."""
    case("the README's results are the recorded ones", check_readme)
    case("the notes' tables are the recorded ones", check_notes)
    files = sorted([*RESULTS.glob("*.json"), *RESULTS.glob("same-card/*.json")])
    if not files:
        print("skip - recorded results: none are recorded yet")
    for path in files:
        name = path.relative_to(RESULTS)
        case(f"{name} is of its schema and follows from its samples", recorded.load_record, path)
    for path in sorted(recorded.TRACES.glob("*.json")):
        case(f"traces/{path.name} can be true", check_trace, path)
    try:
        headline = recorded.newest_headline()
    except (ValueError, KeyError, TypeError):
        headline = None  # already counted above
    if headline:
        case("plots/ladder.png is a picture", check_png)
        case("plots/ladder.svg shows every rung recorded", check_svg, headline)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
