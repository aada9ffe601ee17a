#!/usr/bin/env python3
"""Compares two files of results, ladder by ladder and rung by rung, by their ratios to cuBLAS.

    python3 -m bench.compare OLD NEW

Ladders of the same problem, inputs, seed and protocol are compared; for the t track by the ratio to
a plain copy. NEW's median ratio over OLD's is above 1 if the rung has become faster. Its 95 %
interval comes from a bootstrap: the passes of both files are resampled, and within each the rounds.
If a file has only one pass, only rounds are resampled, and the interval lacks what changes from
pass to pass.

Exit status: 0 no regression, 1 a rung is over 1 % slower or has no result any more, 2 bad usage, a
broken file, or two that have no ladder in common, 74 its output could not be written. `make
compare` itself always fails with 2, and prints this one as `Error 1` or `Error 2`.
"""

from __future__ import annotations

import random
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from bench import results, run, shapes
from bench.ladder import print_aligned
from bench.run import UsageError

LIMIT = 0.99  # NEW over OLD; below it is a regression
DRAWS = 1000
SEED = 1


class Change(NamedTuple):
    """What became of a rung in a ladder."""

    name: str
    where: str  # 'v04 at 8192x8192x8192 burst'
    old: float
    new: float
    low: float  # of the quotient's interval
    high: float

    @property
    def quotient(self):
        return self.new / self.old

    @property
    def disagreement(self):
        """How far the quotient is from 1, in percent."""
        return abs(self.quotient - 1) * 100

    def row(self):
        """The cells."""
        remark = "faster" if self.quotient > 1 / LIMIT and self.low > 1 else ""
        if self.quotient < LIMIT:
            doubt = "; but 1 lies in the interval: measure again" if self.high >= 1 else ""
            remark = f"REGRESSION{doubt}"
        cells = [f"{value:.4f}" for value in (self.old, self.new, self.quotient)]
        return [self.name, *cells, f"{self.low:.4f} to {self.high:.4f}", remark]


def ratios(ladder, name):
    """The ratios of a rung, of each pass those of its rounds."""
    pairs = zip(ladder.timed(name, ladder.measure.other), ladder.timed(name))
    return [[t / s for t, s in zip(o["seconds"], own["seconds"])] for o, own in pairs]


def interval(old, new):
    """The 95 % interval of the quotient of the medians of two rungs' ratios; the same each time."""
    draw = random.Random(SEED)
    several = min(len(old), len(new)) > 1

    def drawn_anew(passes):
        """The median of as many samples, of passes drawn anew if there are several, and in them of
        rounds drawn anew."""
        if several:
            passes = draw.choices(passes, k=len(passes))
        return median([one for of in passes for one in draw.choices(of, k=len(of))])

    quotients = [drawn_anew(new) / drawn_anew(old) for _ in range(DRAWS)]
    tails = quantiles(quotients, n=40, method="inclusive")
    return tails[0], tails[-1]


def title(ladder):
    """'8192x8192x8192 burst'"""
    return f"{shapes.shape_text(ladder.shape)} {ladder.protocol}"


def key_of(ladder):
    """What two ladders must share to be compared."""
    beside = ladder.measure.other
    return {**ladder.problem, "protocol": ladder.protocol, "beside": beside}


def without(ladder, name):
    """Why a ladder has no ratio of a rung; None if that was never asked."""
    if name in ladder.refused:
        return "does not take this shape"
    return f"failed: {ladder.failed[name]}" if name in ladder.failed else None


def compare_ladders(old, new):
    """Prints the comparison of two ladders: (changes, what is lost)."""
    measure = new.measure
    changes, lost, remarks = [], [], []
    names = {name for one in (old, new) for name in (*one.names, *one.refused)}
    for name in sorted(names, key=results.name_order):
        before, after = without(old, name), without(new, name)
        if name in old.measured and name in new.measured:
            middles = (one.ratio(name).mid for one in (old, new))
            drawn = interval(ratios(old, name), ratios(new, name))
            changes.append(Change(name, f"{name} at {title(new)}", *middles, *drawn))
        elif name in old.measured and after:
            lost.append(f"{name} at {title(new)} {after}")
        elif name in new.measured and before:
            remarks.append(f"{name}: OLD {before}")
        elif not (before and after):
            gone = name in old.measured or before
            remarks.append(f"{name} is in {'OLD' if gone else 'NEW'} alone")
    resampled = f"passes {old.passes} and {new.passes}, and the rounds in them, drawn anew"
    if min(old.passes, new.passes) == 1:
        resampled = "rounds drawn anew; a file has one pass alone: drift between passes isn't in it"
    print(f"\n{title(new)}: ratio to {measure.other_name} ({resampled})")
    head = ["rung", "OLD", "NEW", "NEW/OLD", "95 % interval", ""]
    print_aligned([head, *(change.row() for change in changes)])
    rates = [one.rate(measure.other).mid for one in (old, new)]
    print(f"{measure.other_name} itself: {rates[0]:.1f} and {rates[1]:.1f} {measure.unit}")
    for text in remarks:
        print(text)
    return changes, lost


def load(path):
    """The ladders of a file."""
    try:
        ladders = [one for one in results.load(path) if one.protocol and one.measured]
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not any("step" in ladder.contenders for ladder in ladders):
        raise UsageError(f"{path}: no times are recorded in it")
    return ladders


def pairs_of(olds, news):
    """The ladders that both have. UsageError if there are none."""

    def difference(old, new):
        """'inputs: normal and uniform'"""
        one, other = key_of(old), key_of(new)
        pairs = {key: (one.get(key), other.get(key)) for key in {**one, **other}}
        return "; ".join(f"{key}: {a} and {b}" for key, (a, b) in pairs.items() if a != b)

    pairs, left = [], list(news)
    for old in olds:
        alike = [new for new in left if key_of(new) == key_of(old)][:1]
        pairs += [(old, new) for new in alike]
        left = [new for new in left if new not in alike]
    if not pairs:
        nearest = min((difference(old, new) for old in olds for new in news), key=len)
        raise UsageError(f"the files have no ladder in common; the nearest two differ in {nearest}")
    return pairs


def print_origins(old, new):
    """In what the runs differ beside their times."""
    for name, ladder in (("OLD", old), ("NEW", new)):
        print(f"{name}: {ladder.gpu['name']}, commit {ladder.commit}, {ladder.date}")
    for key in {**old.gpu, **new.gpu}:
        values = [ladder.gpu.get(key) for ladder in (old, new)]
        if values[0] != values[1]:
            print(f"the GPUs differ in {key}: {values[0]} and {values[1]}")
    if old.commit != new.commit:
        print(f"the commits differ: {old.commit} and {new.commit}")


def print_agreement(changes):
    """The largest disagreement of each rung over all ladders, and of all rungs."""
    largest = dict.fromkeys(change.name for change in changes)  # in the order of the rungs
    changes = sorted(changes, key=lambda change: change.disagreement)
    largest.update((change.name, change.disagreement) for change in changes)
    words = [f"{name} {percent:.2f} %" for name, percent in largest.items()]
    print(f"\nlargest disagreement: {', '.join(words)}")
    most = changes[-1]
    print(f"the two runs agree within {most.disagreement:.2f} % ({most.where})")


def compare_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    options = parser.parse_args(arguments)
    olds, news = load(options.old), load(options.new)
    pairs = pairs_of(olds, news)
    print_origins(olds[0], news[0])
    for name, ladders, paired in zip(("OLD", "NEW"), (olds, news), zip(*pairs)):
        for one in (one for one in ladders if one not in paired):
            print(f"{title(one)} is in {name} alone")
    compared = [compare_ladders(old, new) for old, new in pairs]
    changes = [change for found, _ in compared for change in found]
    lost = [text for _, found in compared for text in found]
    if not changes and not lost:
        raise UsageError("the files have no rung in common")
    if changes:
        print_agreement(changes)
    slower = [change for change in changes if change.quotient < LIMIT]
    for change in slower:
        print(f"REGRESSION over 1 %: {change.where}: {change.quotient:.4f} of what it was")
    for text in lost:
        print(f"REGRESSION: {text}")
    if not slower and not lost:
        print("no regression over 1 %")
    return 1 if slower or lost else 0


if __name__ == "__main__":
    run.run_as("compare", compare_main)
