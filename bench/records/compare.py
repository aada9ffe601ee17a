#!/usr/bin/env python3
"""Compares two recorded files, ladder by ladder and rung by rung, by their ratios to cuBLAS.

    compare.py OLD NEW

Ladders of the same problem, inputs, seed and protocol are compared; for the t track by the ratio to
a plain copy. NEW's median ratio over OLD's is above 1 if the rung has become faster. Its 95 %
interval comes from a bootstrap: the passes of both files are resampled, and within each the rounds.
If a file has only one pass, only rounds are resampled, and the interval lacks what changes from pass
to pass.

Exit status: 0 no regression, 1 a rung is over 1 % slower or has no result any more, 2 bad usage, a
broken file, or two that have no ladder in common, 74 its output could not be written. `make compare`
itself always fails with 2, and prints this one as `Error 1` or `Error 2`.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from pathlib import Path

from bench import process, tables
from bench.process import UsageError
from bench.records import figures, recorded

LIMIT = 0.99  # NEW over OLD; below it is a regression
DRAWS = 1000
SEED = 1


@dataclass(frozen=True)
class Change:
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

    def remark(self):
        """The last cell of a row."""
        if self.quotient < LIMIT:
            doubt = "; but 1 lies in the interval: measure again" if self.high >= 1 else ""
            return f"REGRESSION{doubt}"
        return "faster" if self.quotient > 1 / LIMIT and self.low > 1 else ""

    def row(self):
        """The cells."""
        cells = [f"{value:.4f}" for value in (self.old, self.new, self.quotient)]
        return [self.name, *cells, f"{self.low:.4f} to {self.high:.4f}", self.remark()]


# --- the interval -----------------------------------------------------------------------------


def interval(old, new):
    """The 95 % interval of the quotient of their medians; the same each time."""
    draw = random.Random(SEED)
    old, new = (figures.in_passes(one["samples"], len(one["pass_medians"])) for one in (old, new))
    several = min(len(old), len(new)) > 1

    def drawn_anew(passes):
        """The median of as many samples, of passes drawn anew if there are several, and in them of
        rounds drawn anew."""
        if several:
            passes = draw.choices(passes, k=len(passes))
        return statistics.median([one for of in passes for one in draw.choices(of, k=len(of))])

    quotients = [drawn_anew(new) / drawn_anew(old) for _ in range(DRAWS)]
    return figures.tails(quotients, 40)


# --- two ladders ------------------------------------------------------------------------------


def title(ladder):
    """'8192x8192x8192 burst'"""
    return f"{recorded.shape_text(ladder)} {ladder['protocol']}"


def key_of(ladder):
    """What two ladders must share to be compared."""
    beside = recorded.measure_of(ladder).other
    return {**ladder["problem"], "protocol": ladder["protocol"], "beside": beside}


def outcomes(ladder):
    """{rung: its ratio, or in words why it has none}."""
    ratio = recorded.measure_of(ladder).ratio
    found = {one["step"]: "does not take this shape" for one in ladder.get("does_not_take", [])}
    for rung in ladder["rungs"]:
        failed = rung.get("failed")
        found[rung["step"]] = f"failed: {failed}" if failed else rung["timing"][ratio]
    return found


def compare_ladders(old, new):
    """Prints the comparison of two ladders: (changes, what is lost)."""
    measure = recorded.measure_of(new)
    before, after = outcomes(old), outcomes(new)
    changes, lost, remarks = [], [], []
    for name in sorted({**before, **after}, key=recorded.name_order):
        was, now = before.get(name), after.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            medians = was["median"], now["median"]
            where = f"{name} at {title(new)}"
            changes.append(Change(name, where, *medians, *interval(was, now)))
        elif isinstance(was, dict) and now:
            lost.append(f"{name} at {title(new)} {now}")
        elif isinstance(now, dict) and was:
            remarks.append(f"{name}: OLD {was}")
        elif not (was and now):
            remarks.append(f"{name} is in {'OLD' if was else 'NEW'} alone")
    resampled = f"passes {old['passes']} and {new['passes']}, and the rounds in them, drawn anew"
    if min(old["passes"], new["passes"]) == 1:
        resampled = "rounds drawn anew; a file has one pass alone: drift between passes isn't in it"
    print(f"\n{title(new)}: ratio to {measure.other_name} ({resampled})")
    head = ["rung", "OLD", "NEW", "NEW/OLD", "95 % interval", ""]
    tables.print_aligned([head, *(change.row() for change in changes)])
    rates = [one[measure.other][measure.rate]["median"] for one in (old, new)]
    if old.get("gated") != new.get("gated"):
        said = "all launches enqueued before the first: short ones differ by that"
        print(f"only one of them has {said}")
    print(f"{measure.other_name} itself: {rates[0]:.1f} and {rates[1]:.1f} {measure.unit}")
    for text in remarks:
        print(text)
    return changes, lost


# --- two files --------------------------------------------------------------------------------


def load(path):
    """The ladders of a file. ValueError if it has none."""
    ladders = [one for _, one in recorded.places_in(path) if one["kind"] == "ladder"]
    if not ladders:
        raise ValueError(f"{path}: no times are recorded in it")
    return ladders


def difference(old, new):
    """In what two ladders differ: 'inputs: normal and uniform'."""
    one, other = key_of(old), key_of(new)
    pairs = {key: (one.get(key), other.get(key)) for key in {**one, **other}}
    return "; ".join(f"{key}: {was} and {now}" for key, (was, now) in pairs.items() if was != now)


def pairs_of(olds, news):
    """The ladders that both have. UsageError if there are none."""
    pairs = [(old, new) for old in olds for new in news if key_of(old) == key_of(new)]
    if not pairs:
        nearest = min((difference(old, new) for old in olds for new in news), key=len)
        raise UsageError(f"the files have no ladder in common; the nearest two differ in {nearest}")
    return pairs


def print_origins(old, new):
    """In what the runs differ beside their times."""
    for name, ladder in (("OLD", old), ("NEW", new)):
        print(f"{name}: {ladder['gpu']['name']}, commit {ladder['commit']}, {ladder['date']}")
    for key in {**old["gpu"], **new["gpu"]}:
        values = [ladder["gpu"].get(key) for ladder in (old, new)]
        if values[0] != values[1]:
            print(f"the GPUs differ in {key}: {values[0]} and {values[1]}")
    if old["commit"] != new["commit"]:
        print(f"the commits differ: {old['commit']} and {new['commit']}")


def print_alone(name, ladders, paired):
    """The ladders that only this file has, and those that were interrupted."""
    for ladder in ladders:
        if not any(ladder is other for other in paired):
            print(f"{title(ladder)} is in {name} alone")
        elif ladder["interrupted"]:
            print(f"{title(ladder)} was interrupted in {name}")


def print_agreement(changes):
    """The largest disagreement of each rung over all ladders, and of all rungs."""
    largest = dict.fromkeys(change.name for change in changes)  # in the order of the rungs
    changes = sorted(changes, key=lambda change: change.disagreement)
    largest.update((change.name, change.disagreement) for change in changes)
    words = [f"{name} {percent:.2f} %" for name, percent in largest.items()]
    print(f"\nlargest disagreement: {', '.join(words)}")
    most = changes[-1]
    print(f"the two runs agree within {most.disagreement:.2f} % ({most.where})")


def compare(old_path, new_path):
    """Prints the whole comparison; returns the exit status."""
    olds, news = load(old_path), load(new_path)
    pairs = pairs_of(olds, news)
    print_origins(olds[0], news[0])
    print_alone("OLD", olds, [old for old, _ in pairs])
    print_alone("NEW", news, [new for _, new in pairs])
    changes, lost = [], []
    for old, new in pairs:
        more, gone = compare_ladders(old, new)
        changes += more
        lost += gone
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


def compare_main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    options = parser.parse_args(arguments)
    return compare(options.old, options.new)


if __name__ == "__main__":
    process.run_as("compare", compare_main, {ValueError: 2})
