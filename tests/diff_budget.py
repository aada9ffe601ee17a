#!/usr/bin/env python3
"""The diff between neighbouring rungs is the lesson: it must stay short, and so must a rung.

Without an argument this is a test. With --table it prints the figures (`make diffstat`).
"""

import pathlib
import subprocess
import sys

MAX_CHANGED = 100  # lines added plus lines removed, from the rung below
MAX_LINES = 350

# Rungs that may change more than MAX_CHANGED, and why.
EXCEPTIONS = {
    "v02": "another machine: tensor cores fed by TMA instead of CUDA cores",
    "v04": "another shape of program: producer and consumer instead of one loop",
    "v16": "what takes turns is taken out again; two of three of these lines are removed ones",
    "v18": "every function becomes a template, and a model chooses among its instances",
    "a02": "another interface: mma.sync from registers instead of WMMA",
}

# Rungs that may be longer than MAX_LINES: by how much at most, and why.
LONGER = {
    "v18": (380, "five kernels in one, and on the host the model that chooses"),
}

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rungs():
    """The rungs in order: (name, file)."""
    files = sorted((ROOT / "steps").glob("*.cu"))
    return [(file.stem.split("_")[0], file) for file in files]


def line_count(file):
    return len(file.read_text().splitlines())


def changed(below, rung):
    """Lines removed from `below` plus lines added in `rung`, as diff counts them."""
    command = ["diff", str(below), str(rung)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode > 1:
        sys.exit(f"{' '.join(command)} failed: {result.stderr.strip()}")
    return sum(line.startswith(("<", ">")) for line in result.stdout.splitlines())


def measure():
    """One (name, lines, changed) per rung; changed is None for the first of a track."""
    rows = []
    below = {}  # the last rung seen, by track
    for name, file in rungs():
        track = name[0]
        difference = changed(below[track], file) if track in below else None
        rows.append((name, line_count(file), difference))
        below[track] = file
    return rows


def print_table(rows):
    print(f"{'rung':<6}{'lines':>6}{'changed':>9}")
    for name, lines, difference in rows:
        note = ""
        if name in EXCEPTIONS:
            note = f"  excepted: {EXCEPTIONS[name]}"
        elif difference is not None and difference > MAX_CHANGED:
            note = f"  over the limit of {MAX_CHANGED}"
        if name in LONGER:
            note += f"  longer than {MAX_LINES} lines: {LONGER[name][1]}"
        elif lines > MAX_LINES:
            note += f"  longer than {MAX_LINES} lines"
        print(f"{name:<6}{lines:>6}{'-' if difference is None else difference:>9}{note}")
    print(f"changed: lines added plus removed from the rung below, at most {MAX_CHANGED}")


def case(name, why):
    """Prints one case; `why` is empty if it passed. Returns whether it did."""
    print(f"not ok - {name}: {why}" if why else f"ok - {name}")
    return not why


def test(rows):
    good = case("there are rungs", "" if rows else "steps/ has none")
    for name, lines, difference in rows:
        most = LONGER[name][0] if name in LONGER else MAX_LINES
        why = f"{lines} lines" if lines > most else ""
        good &= case(f"{name} has at most {most} lines", why)
        if difference is None or name in EXCEPTIONS:
            continue
        why = f"{difference} lines changed" if difference > MAX_CHANGED else ""
        good &= case(f"{name} changes at most {MAX_CHANGED} lines", why)
    return good


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print_table(measure())
    elif not sys.argv[1:]:
        sys.exit(0 if test(measure()) else 1)
    else:
        sys.exit("usage: diff_budget.py [--table]")
