#!/usr/bin/env python3
"""Recorded results are whole and consistent; the README, notes and plots show what they say.

What a file has to be stands in bench/records/schema.py; bench/records/figures.py recomputes its
figures from the raw samples. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PLOTS = ROOT / "plots"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TRACE_BYTES = 200_000
SMALLEST_PNG = 10_000  # bytes; an empty picture of this size takes less

from tools.emulated import case, exit_status
from tools.fake_rungs import require, run

from bench.records import recorded


def check_tables(program):
    """The tables in a page are what the program would write."""
    result = run(sys.executable, "-m", f"notes.tools.{program}", "--check")
    require(result.returncode == 0, result.stderr.strip())


def check_png(path):
    """A PNG of some size."""
    data = path.read_bytes()
    good = data.startswith(PNG_SIGNATURE) and len(data) >= SMALLEST_PNG
    require(good, f"not a PNG, or of only {len(data)} bytes")


def check_trace(path):
    """A recorded trace can be true, is small, and stands under its own name."""
    record = recorded.load_record(path)
    require(record["kind"] == "trace", f"its kind is {record['kind']}")
    require(path.stat().st_size < MOST_TRACE_BYTES, f"{path.stat().st_size} bytes")
    require(not record["commit"].endswith("+dirty"), "recorded from a tree with changes")
    require(path.name == f"{recorded.trace_name(record)}.json", recorded.trace_name(record))


def check_svg(path):
    """plots/ladder.svg names every rung of the climb and was drawn from the headline run."""
    ladder = recorded.climb(recorded.load_ladder(recorded.newest_headline()))
    text = path.read_text(encoding="utf-8")
    wanted = [f"{ladder['date'][:10]}, commit {ladder['commit']}", ladder["gpu"]["name"]]
    wanted += [f">{name}<" for name in recorded.all_names(ladder)]
    rates = [rung["timing"]["step"]["tflops"]["median"] for rung in recorded.measured(ladder)]
    for words in (*wanted, *(f">{rate:.0f}<" for rate in rates)):
        require(words in text, f"'{words}' isn't in it: drawn from another run ('make plots')")


def check_not_measured(_):
    """No standard run has a rung that is said to be not measured, and there are such rungs."""
    ladders = [one for _, one in recorded.all_ladders() if recorded.is_standard(one)]
    names = {name for one in ladders for name in recorded.all_names(one)}
    there = {name for track in recorded.TRACKS for name in recorded.rung_names(track=track)}
    wrong = recorded.NOT_MEASURED & names | recorded.NOT_MEASURED - there
    require(not wrong, f"recorded.NOT_MEASURED: take out {', '.join(sorted(wrong))}")


def cases():
    """(name, check, what it takes) of all cases."""
    yield "the README's results are the recorded ones", check_tables, "readme_table"
    yield "the notes' tables are the recorded ones", check_tables, "notes_tables"
    yield "rungs that are not measured have no record", check_not_measured, None
    for path in sorted([*RESULTS.glob("*.json"), *RESULTS.glob("same-card/*.json")]):
        name = f"{path.relative_to(RESULTS)} is of its schema and follows from its samples"
        yield name, recorded.load_record, path
    for path in sorted(recorded.TRACES.glob("*.json")):
        yield f"traces/{path.name} can be true", check_trace, path
    yield "plots/ladder.png is a picture", check_png, PLOTS / "ladder.png"
    yield "plots/ladder.svg shows every rung recorded", check_svg, PLOTS / "ladder.svg"


def main():
    """All cases; returns the exit status."""
    for name, check, what in cases():
        try:
            check(what)
        except Exception as error:  # noqa: BLE001 (a broken file may break in any way)
            case(name, f"{type(error).__name__}: {error}".replace("\n", " "))
        else:
            case(name, "")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
