#!/usr/bin/env python3
"""Recorded results can be read; the README, notes and plots show what they say.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLOTS = ROOT / "plots"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TRACE_BYTES = 200_000
SMALLEST_PNG = 10_000  # bytes; an empty picture of this size takes less

from tools.cases import holds, require, run
from tools.emulated import case, exit_status

from bench import results
from notes.tools import tables


def check_pages(_):
    """The pages are what make notes would write."""
    found = run(sys.executable, "-m", "notes.tools.fill", "--check")
    require(found.returncode == 0, found.stderr.strip())


def check_rows(path):
    """Each row of a file is one, in a folder of its GPU, measured from a tree without changes, and of
    programs each of which has a result or none."""
    for one in results.load(path):
        require(results.slug(one.gpu) in path.parts, f"it is of {results.slug(one.gpu)}")
        require(not one.commit.endswith("+dirty"), "recorded from a tree with changes")
        require(one.date, f"the run at {tables.title(one.shape)} has no date")
        require(one.path.parent.name != "then" or one.path.stem == one.commit, one.commit)
        require(
            one.measured and not {*one.failed} & {*one.rows}, f"{one.failed} and {one.measured}"
        )


def check_png(path):
    """A PNG of some size."""
    data = path.read_bytes()
    good = data.startswith(PNG_SIGNATURE) and len(data) >= SMALLEST_PNG
    require(good, f"not a PNG, or of only {len(data)} bytes")


def check_trace(path):
    """A recorded trace is small, and has its own name."""
    record = json.loads(path.read_text(encoding="utf-8"))
    context = record["context"]
    require(path.stat().st_size < MOST_TRACE_BYTES, f"{path.stat().st_size} bytes")
    require(not context["commit"].endswith("+dirty"), "recorded from a tree with changes")
    name = f"{record['step']}-{results.slug(context['gpu'])}"
    require(path.stem == name, f"it is of {name}")


def check_svg(path):
    """plots/ladder.svg names every rung of the climb and was drawn from the headline run."""
    one = tables.Library().headline()[tables.CUBE, results.HOME]
    names = [name for name in one.measured if name <= results.LAST]
    rates = (f">{one.rate(name).mid:.0f}<" for name in names)
    made = f"{one.date[:10]}, commit {one.commit}"
    holds(
        path.read_text(encoding="utf-8"), made, one.gpu["name"], *map(">{}<".format, names), *rates
    )


def cases():
    """(name, check, what it takes) of all cases."""
    yield "README and notes say what is recorded", check_pages, None
    for path in sorted(results.RESULTS.glob("*/**/*.jsonl")):
        yield f"{path.relative_to(results.RESULTS)} can be read", check_rows, path
    for path in sorted((ROOT / "bench" / "traces").glob("*.json")):
        yield f"traces/{path.name} is small", check_trace, path
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
