"""Where a GEMM's joules go: a budget from the parts of a recorded energy run.

Each part does some of what the whole does. What a launch takes is modelled as

    joules = idle + awake + v(clock) * (sum over what it does: amount * joules of one) + DRAM

idle and awake are watts times the launch's time: those of a GPU on which nothing runs, and what is
added while one SM has one warp to run. v(clock) = (1 + slope * (clock - the whole's clock))^2: the
energy of an operation rises with the square of the voltage, and the voltage is taken to rise evenly
with the clock. DRAM has a supply and a clock of its own. The amounts are known from the source; the
joules of one of each and the slope are those with which all parts are met best (least squares of the
relative differences, none of them below 0). The slope is found by the parts that do the same at
different clocks: on fewer SMs, the power limit leaves a higher one.

The budget is of the whole, as it was measured; what the model does not reach is "not attributed".
Standard library only.
"""

from __future__ import annotations

import json
import math
import statistics
from functools import cache
from operator import mul
from typing import NamedTuple

from bench.records.neighbours import pairwise

WHOLE, IDLE, AWAKE, ZEROS = "whole", "idle", "one-sm", "multiply-zeros"
MERGED, APART = "loads-l2", "loads-l2-apart"
# Parts that the model has to meet, of every rung. The rung itself is not one: it is what the whole is
# a copy of.
COMMON = (
    *(WHOLE, "whole-three-quarters", "whole-half", "no-store", "no-dram", "no-loads"),
    *("multiply", "multiply-half", "multiply-a-registers", "loads", "loads-l2", "waiting"),
)
# Those with narrower wgmmas: the widths have to divide the rung's tile.
NARROW = {"v14": ("multiply-n128", "multiply-n64"), "v16": ("multiply-n104", "multiply-n40")}
BLOCKS = 4  # into which a run is cut, to see how much its watts vary
SLOPES = [step / 20 for step in range(41)]  # of the voltage, per GHz: 0 to 2, and then finer
FINER = [step / 400 for step in range(-20, 21)]  # around the best of them


class Unsolvable(ValueError):
    """The parts do not determine a budget: which are missing, or why."""


# --- what the counter said ------------------------------------------------------------------


def watts_of(edges, first=0, last=-1):
    """Mean watts between two of the counter's steps: the first and the last. A step happened half-way
    between the look before and the one after."""
    (begin, low), (end, high) = (
        ((edges["before"][i] + edges["after"][i]) / 2, edges["joules"][i]) for i in (first, last)
    )
    return (high - low) / (end - begin)


def watts_error(edges):
    """What is not known of watts_of(): the standard error of the means over parts of the run, and when
    exactly the first and the last step happened. That the counter itself is right is not in it."""
    before, after, steps = edges["before"], edges["after"], len(edges["joules"]) - 1
    bounds = [round(steps * block / BLOCKS) for block in range(BLOCKS + 1)]
    blocks = [watts_of(edges, low, high) for low, high in pairwise(bounds)]
    looks = math.hypot(after[0] - before[0], after[-1] - before[-1])
    seconds = before[-1] + after[-1] - before[0] - after[0]  # twice: so are the looks
    of_edges = looks / seconds * watts_of(edges)
    return math.hypot(statistics.stdev(blocks) / math.sqrt(BLOCKS), of_edges)


# --- the parts and what they do -------------------------------------------------------------


class Term(NamedTuple):
    """One thing that takes energy."""

    name: str
    words: str
    amount: object  # of it in a part: a function of the part
    scaled: bool = True  # with the square of the voltage


def counted(key):
    """The amount that the source gives for a part."""
    return lambda part: float(part["counts"][key])


def cycles(part):
    """SM cycles, of the SMs that have a CTA, as a share of all SMs: in billions."""
    return part["seconds"] * part["sm_clock_ghz"] * part["sm_share"]


TERMS = (
    Term("tensor", "tensor cores", counted("flop")),
    Term("operands", "shared memory: wgmma's reads", counted("operand_bytes")),
    Term("l2", "L2 to shared memory", counted("loaded_bytes")),
    Term("dram", "DRAM: reading A and B", counted("operands_in_dram"), scaled=False),
    Term("store", "storing D", counted("stored_bytes")),
    Term("exchange", "barriers of the ring", counted("exchanges")),
    Term("waiting", "SMs with a CTA, waiting or not", cycles),
)


def good_parts(record):
    """{name: part} of those that were measured."""
    return {part["part"]: part for part in record["parts"] if "failed" not in part}


def fitted_of(rung):
    """The parts of a rung that the model has to meet. Unsolvable for one that was never in parts."""
    if rung not in NARROW:
        raise Unsolvable(f"no budget of {rung}: only {', '.join(NARROW)} are known in parts")
    return (*COMMON, *NARROW[rung])


def require_parts(record):
    """The measured parts of a run, by their names. Unsolvable unless all that are needed are there."""
    parts, fitted = good_parts(record), fitted_of(record["rung"])
    missing = [name for name in (*fitted, IDLE, AWAKE) if name not in parts]
    if missing:
        raise Unsolvable(f"no budget without the parts {', '.join(missing)}")
    unknown = [name for name in fitted if parts[name]["sm_clock_ghz"] is None]
    if unknown:
        raise Unsolvable(f"no budget without the clock of {', '.join(unknown)}")
    return parts


# --- the fit --------------------------------------------------------------------------------


def dot(one, other):
    """The sum of the products."""
    return sum(map(mul, one, other))


def solve_linear(matrix, right):
    """x of matrix x = right, by elimination with pivots. Unsolvable if there is not one x."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for column in range(len(rows)):
        pivot = max(range(column, len(rows)), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) < 1e-12:
            raise Unsolvable("the parts do not determine all terms")
        for i, row in enumerate(rows):
            if i != column:
                factor = row[column] / rows[column][column]
                rows[i] = [a - factor * b for a, b in zip(row, rows[column])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def none_below_zero(rows, right):
    """x with the least squares of rows x - right and no x below 0: the lowest of them is 0, until
    none is. The columns are scaled first, so that amounts of any size can stand beside each other."""
    columns = list(zip(*rows))
    scales = [math.hypot(*column) for column in columns]
    if min(scales) == 0:
        raise Unsolvable("one of the terms is in none of the parts")
    columns = [[value / scale for value in column] for column, scale in zip(columns, scales)]
    matrix = [[dot(one, other) for other in columns] for one in columns]
    kept = list(range(len(columns)))
    while True:
        chosen = [[matrix[i][j] for j in kept] for i in kept]
        solved = solve_linear(chosen, [dot(columns[i], right) for i in kept])
        found = {i: value / scales[i] for i, value in zip(kept, solved)}
        lowest = min(found, key=found.get)
        if found[lowest] >= 0:
            return [found.get(i, 0.0) for i in range(len(columns))]
        kept.remove(lowest)


class Fit(NamedTuple):
    """The model's numbers."""

    slope: float  # of the voltage, per GHz, relative to that at the whole's clock
    clock: float  # the whole's
    base: float  # watts: idle and awake
    joules: dict  # term -> of one of it, at the whole's clock
    residuals: dict  # part -> (model - measured) / measured

    def of_terms(self, part):
        """{term: its joules in a part's launch}, had it run at the whole's clock."""
        return {term.name: self.joules[term.name] * term.amount(part) for term in TERMS}

    def moved(self, part):
        """Joules of what a part does, at the whole's clock, without what SMs take by being there."""
        square = voltage_square(self.slope, part["sm_clock_ghz"] - self.clock)
        rest = (part["joules"] - self.base * part["seconds"]) / square
        return rest - self.joules["waiting"] * cycles(part)


def voltage_square(slope, above):
    """The square of the voltage, relative to that at the whole's clock."""
    return (1 + slope * above) ** 2


def fit_at(parts, names, slope):
    """The model that meets those parts best with that slope of the voltage."""
    clock, base = parts[WHOLE]["sm_clock_ghz"], parts[AWAKE]["watts"]
    rows, right = [], []
    for part in (parts[name] for name in names):
        square, total = voltage_square(slope, part["sm_clock_ghz"] - clock), part["joules"]
        rows.append([term.amount(part) * (square if term.scaled else 1) / total for term in TERMS])
        right.append((total - base * part["seconds"]) / total)
    values = none_below_zero(rows, right)
    joules = {term.name: value for term, value in zip(TERMS, values)}
    residuals = [dot(row, values) - value for row, value in zip(rows, right)]
    return Fit(slope, clock, base, joules, dict(zip(names, residuals)))


def fit(parts, names):
    """The model that meets those parts best."""

    def best_of(slopes):
        fits = (fit_at(parts, names, slope) for slope in slopes)
        return min(fits, key=lambda one: sum(value**2 for value in one.residuals.values()))

    near = best_of(SLOPES).slope
    return best_of(near + step for step in FINER if near + step >= 0)


# --- the budget -----------------------------------------------------------------------------


class Entry(NamedTuple):
    """A line of the budget."""

    name: str
    words: str
    joules: float
    low: float  # with any one of the parts left out of the fit
    high: float

    def share(self, total):
        """Of the whole."""
        return self.joules / total


class Budget(NamedTuple):
    """Where the joules of the whole go; the entries' joules add up to them."""

    joules: float  # of one launch of the whole
    error: float  # of them, by the counter's scatter
    entries: list
    fit: Fit
    zeros: float | None  # share of the tensor cores' and their reads' joules that is there on zeros
    apart: float | None  # joules that the loads of a launch take more where no requests merge


def make(record):
    """The budget of a recorded run. Unsolvable if the parts do not give one."""
    return make_of(json.dumps({"rung": record["rung"], "parts": record["parts"]}))


@cache  # a page asks for many lines of the same few runs
def make_of(text):
    """The same, of the JSON that it depends on."""
    record = json.loads(text)
    parts, fitted = require_parts(record), fitted_of(record["rung"])
    without = [[name for name in fitted if name != out] for out in fitted if out != WHOLE]
    fits = [fit(parts, names) for names in (fitted, *without)]
    found, whole = fits[0], parts[WHOLE]
    seconds, total = whole["seconds"], whole["joules"]
    idle = parts[IDLE]["watts"] * seconds
    awake = found.base * seconds - idle
    ways = [one.of_terms(whole) for one in fits]
    lines = [
        ("idle", "the GPU with nothing to do", [idle]),
        ("awake", "awake: one SM has a warp to run", [awake]),
        *((term.name, term.words, [way[term.name] for way in ways]) for term in TERMS),
        ("rest", "not attributed", [total - idle - awake - sum(way.values()) for way in ways]),
    ]
    entries = [Entry(name, words, j[0], min(j), max(j)) for name, words, j in lines]
    # Parts that no budget needs, where they were measured, and their clocks too.
    known = {name for name, part in parts.items() if part["sm_clock_ghz"] is not None}
    zeros = apart = None
    if ZEROS in known:
        numbers = found.of_terms(parts[ZEROS])
        numbers = numbers["tensor"] + numbers["operands"]
        zeros = found.moved(parts[ZEROS]) / numbers if numbers > 0 else None
    if APART in known:
        apart = found.moved(parts[APART]) - found.moved(parts[MERGED])
    return Budget(total, whole["watts_error"] * seconds, entries, found, zeros, apart)
