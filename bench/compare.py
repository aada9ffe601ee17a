#!/usr/bin/env python3
"""Compares two files of results, ladder by ladder and rung by rung, by their ratios to cuBLAS.

    python3 -m bench.compare OLD NEW

Ladders of the same problem, inputs, seed and protocol are compared; for the t track by the ratio to
a plain copy. NEW's median ratio over OLD's is above 1 if the rung has become faster. A change is
within the spread where what 80 % of OLD's rounds and of NEW's say overlaps.

Exit status: 0 no regression, 1 a rung is over 1 % slower or has no result any more, 2 bad usage, a
broken file, or two that have no ladder in common, 74 its output could not be written. `make
compare` itself always fails with 2, and prints this one as `Error 1` or `Error 2`.
"""

from __future__ import annotations

from pathlib import Path

from bench import results, run, shapes
from bench.ladder import print_aligned
from bench.results import Spread, name_order
from bench.run import UsageError

LIMIT = 0.99  # NEW over OLD; below it is a regression
NOT_RUN = "was not run"


def title(ladder):
    """'8192x8192x8192 burst'"""
    return f"{shapes.shape_text(ladder.shape)} {ladder.protocol}"


def ratio(ladder, name):
    """A rung's ratio, or in words why there is none."""
    if name in ladder.failed:
        return f"failed: {ladder.failed[name]}"
    if name not in ladder.measured:
        return "does not take this shape" if name in ladder.refused else NOT_RUN
    return ladder.ratio(name)


def comparison(name, old, new):
    """(the cells of a rung's row, NEW over OLD or None, what became worse or None)"""
    sides = ratio(old, name), ratio(new, name)
    if any(isinstance(side, str) for side in sides):
        words = [side if isinstance(side, str) else f"{side.mid:.4f}" for side in sides]
        lost = isinstance(sides[0], Spread) and sides[1] != NOT_RUN
        return [name, "OLD {}; NEW {}".format(*words)], None, sides[1] if lost else None
    quotient = sides[1].mid / sides[0].mid
    within = sides[0].low <= sides[1].high and sides[1].low <= sides[0].high
    cells = [name, *(side.plus_minus(4) for side in sides), f"{quotient:.4f}"]
    if quotient < LIMIT:
        remark = "REGRESSION" + "; within the spread: measure again" * within
        return [*cells, remark], quotient, f"{quotient:.4f} of what it was"
    return [*cells, "faster" if quotient > 1 / LIMIT and not within else ""], quotient, None


def key_of(ladder):
    """What two ladders must share to be compared."""
    return {**ladder.problem, "protocol": ladder.protocol, "beside": ladder.measure.other}


def compare_ladders(old, new):
    """Prints the comparison of two ladders: ({rung: NEW over OLD}, {rung: what became worse})"""
    names = {name for one in (old, new) for name in (*one.names, *one.refused)}
    found = {name: comparison(name, old, new) for name in sorted(names, key=name_order)}
    rates = " and ".join(f"{one.rate(new.measure.other).mid:.1f}" for one in (old, new))
    print(f"\n{title(new)}: ratio to {new.measure.other_name}: {rates} {new.measure.unit}")
    print_aligned(
        [["rung", "OLD", "NEW", "NEW/OLD", ""], *(cells for cells, _, _ in found.values())]
    )
    quotients = {name: quotient for name, (_, quotient, _) in found.items() if quotient}
    return quotients, {name: worse for name, (_, _, worse) in found.items() if worse}


def load(path):
    """The ladders of a file."""
    try:
        ladders = [one for one in results.load(path) if "step" in one.contenders]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not ladders:
        raise UsageError(f"{path}: no times are recorded in it")
    return ladders


def pairs_of(olds, news):
    """The ladders that both have; those that only one has are told. UsageError if there are none."""
    pairs, left = [], list(news)
    for old in olds:
        for new in [new for new in left if key_of(new) == key_of(old)][:1]:
            pairs.append((old, new))
            left.remove(new)
    if not pairs:
        one, other = key_of(olds[0]), key_of(news[0])
        differ = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        differ = "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in differ)
        raise UsageError(f"the files have no ladder in common; the first two differ in {differ}")
    for name, ladders, paired in zip(("OLD", "NEW"), (olds, news), zip(*pairs)):
        for one in (one for one in ladders if one not in paired):
            print(f"{title(one)} is in {name} alone")
    return pairs


def print_origins(old, new):
    """In what the runs differ beside their times."""
    for name, ladder in (("OLD", old), ("NEW", new)):
        print(f"{name}: {ladder.gpu['name']}, commit {ladder.commit}, {ladder.date}")
    for key in {**old.gpu, **new.gpu}:
        values = [ladder.gpu.get(key) for ladder in (old, new)]
        if values[0] != values[1]:
            print(f"the GPUs differ in {key}: {values[0]} and {values[1]}")


def print_agreement(changes):
    """The largest disagreement of each rung over all ladders, and of all rungs: of (percent, rung,
    ladder)."""
    changes = sorted(changes)
    largest = {name: percent for percent, name, _ in changes}
    words = [f"{name} {largest[name]:.2f} %" for name in sorted(largest, key=name_order)]
    print(f"\nlargest disagreement: {', '.join(words)}")
    print("the two runs agree within {:.2f} % ({} at {})".format(*changes[-1]))


def compare_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    options = parser.parse_args(arguments)
    olds, news = load(options.old), load(options.new)
    pairs = pairs_of(olds, news)
    print_origins(olds[0], news[0])
    changes, lost = [], []
    for old, new in pairs:
        quotients, worse = compare_ladders(old, new)
        changes += [(abs(one - 1) * 100, name, title(new)) for name, one in quotients.items()]
        lost += [f"{name} at {title(new)}: {what}" for name, what in worse.items()]
    if not changes and not lost:
        raise UsageError("the files have no rung in common")
    if changes:
        print_agreement(changes)
    for text in lost:
        print(f"REGRESSION: {text}")
    if not lost:
        print("no regression over 1 %")
    return 1 if lost else 0


if __name__ == "__main__":
    run.run_as("compare", compare_main)
