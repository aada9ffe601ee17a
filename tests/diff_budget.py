#!/usr/bin/env python3
"""What a rung changes is the lesson: it must stay short, and so must a rung. And a rung says what it
is in several places, which must agree: in its first line, and in its step record.

The opening comment doesn't count. `make diffstat` prints the figures.
"""

import sys

from tools import case, exit_status

from bench import rungs
from book.pages import changes

MAX_CHANGED = 100  # lines added plus removed below the opening comment, from the rung below
MAX_LINES = 350

# Rungs that may change more than MAX_CHANGED, and why.
EXCEPTIONS = {
    "v02": "another machine: tensor cores fed by TMA instead of CUDA cores",
    "v04": "another shape of program: producer and consumer instead of one loop",
    "v18": "every function becomes a template, and a model chooses among its instances",
    "v22": "the consumers, the clusters and the epilogue become parameters of a family",
    "v23": "joins v19, v20 and v21 to the family",
    "a02": "another interface: mma.sync from registers instead of WMMA",
}

# Rungs that may be longer than MAX_LINES: by how much at most, and why.
LONGER = {
    "v18": (402, "five kernels in one, and on the host the model that chooses"),
    "v22": (491, "a family of kernels, and on the host its plans"),
    "v23": (601, "a family of kernels, and all that v19, v20 and v21 add"),
    "v24": (638, "v23 with a third form of each kernel"),
}


def contradiction(rung, usual):
    """In what the first line and the step record differ, or nothing. `usual` is the rung numbered
    below: only one that grows from another says so, and in both: "v09, from v07: an idea."."""
    if rungs.field(rung.path.read_text(), "below") == usual is not None:
        return f"its record names {usual}, which is numbered below it anyway"
    grows = f", from {rung.below}" if rung.below != usual else ""
    wanted = f"// {rung.name}{grows}: {rung.idea}."
    first = rung.path.read_text().partition("\n")[0]
    return "" if first == wanted else f"its first line is '{first}', its record says '{wanted}'"


def test(rows):
    case("there are rungs", "" if rows else "steps/ has none")
    numbered_below = {}  # the last rung seen, by track
    for rung, lines, difference in rows:
        name = rung.name
        usual = numbered_below.get(name[0])
        case(f"{name} says the same everywhere", contradiction(rung, usual))
        numbered_below[name[0]] = name
        most = LONGER[name][0] if name in LONGER else MAX_LINES
        why = f"{lines} lines" if lines > most else ""
        case(f"{name} has at most {most} lines", why)
        if difference is not None and name not in EXCEPTIONS:
            why = f"{sum(difference)} lines changed" if sum(difference) > MAX_CHANGED else ""
            case(f"{name} changes at most {MAX_CHANGED} lines", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(test(changes.of_rungs()))
