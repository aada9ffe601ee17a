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
from dataclasses import dataclass
from functools import cache
from operator import mul

from bench.records.neighbours import pairwise

WHOLE, IDLE, AWAKE, ZEROS = "whole", "idle", "one-sm", "multiply-zeros"
MERGED, APART = "loads-l2", "loads-l2-apart"
# Parts that the model has to meet, of every rung. The rung itself is not one: it is what the whole is
# a copy of.
COMMON = (
    WHOLE,
    "whole-three-quarters",
    "whole-half",
    "no-store",
    "no-dram",
    "no-loads",
    "multiply",
    "multiply-half",
    "multiply-a-registers",
    "loads",
    "loads-l2",
    "waiting",
)
# Those with narrower wgmmas: the widths have to divide the rung's tile.
NARROW = {"v14": ("multiply-n128", "multiply-n64"), "v16": ("multiply-n104", "multiply-n40")}
BLOCKS = 4  # into which a run is cut, to see how much its watts vary
SLOPES = [step / 20 for step in range(41)]  # of the voltage, per GHz: 0 to 2, and then finer
FINE_STEP, FINE_STEPS = 1 / 400, 20  # around the best of them


class Unsolvable(ValueError):
    """The parts do not determine a budget: which are missing, or why."""


# --- what the counter said ------------------------------------------------------------------


def times_of(edges):
    """When the counter moved: half-way between the look before and the one after."""
    return [(low + high) / 2 for low, high in zip(edges["before"], edges["after"])]


def slope_of(edges, first, last):
    """Watts between two steps of the counter."""
    times = times_of(edges)
    return (edges["joules"][last] - edges["joules"][first]) / (times[last] - times[first])


def watts_of(edges):
    """Mean watts from the counter's first step to its last."""
    return slope_of(edges, 0, -1)


def watts_error(edges):
    """What is not known of watts_of(): the standard error of the means over parts of the run, and when
    exactly the first and the last step happened. That the counter itself is right is not in it."""
    steps = len(edges["joules"]) - 1
    bounds = [round(steps * block / BLOCKS) for block in range(BLOCKS + 1)]
    blocks = [slope_of(edges, low, high) for low, high in pairwise(bounds)]
    times = times_of(edges)
    looks = [(edges["after"][i] - edges["before"][i]) / 2 for i in (0, -1)]
    of_edges = math.hypot(*looks) / (times[-1] - times[0]) * watts_of(edges)
    return math.hypot(statistics.stdev(blocks) / math.sqrt(BLOCKS), of_edges)


# --- the model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
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


@dataclass(frozen=True)
class Fit:
    """The model's numbers."""

    slope: float  # of the voltage, per GHz, relative to that at the whole's clock
    joules: dict  # term -> of one of it, at the whole's clock
    residuals: dict  # part -> (model - measured) / measured
    clock: float
    base: float  # watts: idle and awake

    def voltage_square(self, clock):
        """v(clock)."""
        return voltage_square(self.slope, clock - self.clock)

    def at_whole(self, part, term):
        """Joules of a term in a part's launch, had it run at the whole's clock."""
        return self.joules[term.name] * term.amount(part)


def voltage_square(slope, above):
    """The square of the voltage, relative to that at the whole's clock."""
    return (1 + slope * above) ** 2


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


def solve_linear(matrix, right):
    """x of matrix x = right, by elimination with pivots. Unsolvable if there is not one x."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        if abs(rows[pivot][column]) < 1e-12:
            raise Unsolvable("the parts do not tell all terms apart")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for i in range(size):
            if i != column:
                factor = rows[i][column] / rows[column][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def normal_equations(rows, right):
    """(scales, matrix, right): the normal equations of rows x = right, of columns that are scaled
    first, so that amounts of any size can stand beside each other."""
    count = len(rows[0])
    scales = [math.sqrt(sum(row[i] ** 2 for row in rows)) for i in range(count)]
    if min(scales) == 0:
        raise Unsolvable("one of the terms is in none of the parts")
    columns = [[row[i] / scales[i] for row in rows] for i in range(count)]
    matrix = [[0.0] * count for _ in range(count)]
    for i in range(count):
        for j in range(i + 1):
            matrix[i][j] = matrix[j][i] = dot(columns[i], columns[j])
    return scales, matrix, [dot(column, right) for column in columns]


def dot(one, other):
    """The sum of the products."""
    return sum(map(mul, one, other))


def none_below_zero(rows, right):
    """x with the least squares of rows x - right and no x below 0: the lowest of them is 0, until
    none is."""
    scales, matrix, vector = normal_equations(rows, right)
    kept = list(range(len(scales)))
    while True:
        chosen = [[matrix[i][j] for j in kept] for i in kept]
        solved = solve_linear(chosen, [vector[i] for i in kept])
        found = [value / scales[i] for value, i in zip(solved, kept)]
        lowest = min(range(len(kept)), key=lambda i: found[i])
        if found[lowest] >= 0:
            values = dict(zip(kept, found))
            return [values.get(i, 0.0) for i in range(len(scales))]
        del kept[lowest]


def fit_at(parts, names, slope, base):
    """(sum of squares, Fit) with that slope of the voltage."""
    clock = parts[WHOLE]["sm_clock_ghz"]
    rows, right = [], []
    for name in names:
        part = parts[name]
        square = voltage_square(slope, part["sm_clock_ghz"] - clock)
        total = part["joules"]
        rows.append([term.amount(part) * (square if term.scaled else 1) / total for term in TERMS])
        right.append((total - base * part["seconds"]) / total)
    values = none_below_zero(rows, right)
    residuals = {
        name: sum(a * x for a, x in zip(row, values)) - value
        for name, row, value in zip(names, rows, right)
    }
    joules = {term.name: value for term, value in zip(TERMS, values)}
    squares = sum(value**2 for value in residuals.values())
    return squares, Fit(slope, joules, residuals, clock, base)


def fit(parts, names):
    """The model that meets those parts best."""
    base = parts[AWAKE]["watts"]
    found = None
    for slopes in (SLOPES, None):
        near = slopes or [
            found.slope + FINE_STEP * step
            for step in range(-FINE_STEPS, FINE_STEPS + 1)
            if found.slope + FINE_STEP * step >= 0
        ]
        fits = (fit_at(parts, names, slope, base) for slope in near)
        found = min(fits, key=lambda one: one[0])[1]
    return found


# --- the budget -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A line of the budget."""

    name: str
    words: str
    joules: float
    low: float  # with any one of the parts left out of the fit
    high: float

    def share(self, total):
        """Of the whole."""
        return self.joules / total


@dataclass(frozen=True)
class Budget:
    """Where the joules of the whole go; the entries' joules add up to them."""

    joules: float  # of one launch of the whole
    error: float  # of them, by the counter's scatter
    entries: tuple
    fit: Fit
    zeros: float | None  # share of the tensor cores' and their reads' joules that is there on zeros
    apart: float | None  # joules that the loads of a launch take more where no requests merge


def of_terms(part, found):
    """{name: joules} of the terms in a part at the whole's clock."""
    return {term.name: found.at_whole(part, term) for term in TERMS}


def moved(part, found):
    """Joules of what a part does, at the whole's clock, without what SMs take by being there."""
    square = found.voltage_square(part["sm_clock_ghz"])
    rest = (part["joules"] - found.base * part["seconds"]) / square
    return rest - found.joules["waiting"] * cycles(part)


def with_clock(parts, name):
    """The part of that name, or None unless it was measured, and its clock too."""
    part = parts.get(name)
    return None if part is None or part["sm_clock_ghz"] is None else part


def on_zeros(parts, found):
    """What multiplying zeros takes, as a share of what multiplying numbers takes; None if it was not
    measured."""
    part = with_clock(parts, ZEROS)
    if part is None:
        return None
    numbers = [found.at_whole(part, term) for term in TERMS if term.name in ("tensor", "operands")]
    return moved(part, found) / sum(numbers) if sum(numbers) > 0 else None


def apart(parts, found):
    """What loads that do not merge take more than those that do, both from the L2; None if it was not
    measured."""
    part = with_clock(parts, APART)
    return None if part is None else moved(part, found) - moved(parts[MERGED], found)


def make(record):
    """The budget of a recorded run. Unsolvable if the parts do not give one."""
    return make_of(json.dumps({"rung": record["rung"], "parts": record["parts"]}))


@cache  # a page asks for many lines of the same few runs
def make_of(text):
    """The same, of the JSON that it depends on."""
    record = json.loads(text)
    parts, fitted = require_parts(record), fitted_of(record["rung"])
    whole, idle = parts[WHOLE], parts[IDLE]["watts"]
    found = fit(parts, fitted)
    others = [
        fit(parts, [name for name in fitted if name != out]) for out in fitted if out != WHOLE
    ]
    ways = [of_terms(whole, one) for one in (found, *others)]
    seconds = whole["seconds"]
    awake = (found.base - idle) * seconds
    entries = [
        Entry("idle", "the GPU with nothing to do", idle * seconds, idle * seconds, idle * seconds),
        Entry("awake", "awake: one SM has a warp to run", awake, awake, awake),
    ]
    entries += [
        Entry(term.name, term.words, ways[0][term.name], *ends([way[term.name] for way in ways]))
        for term in TERMS
    ]
    rests = [whole["joules"] - found.base * seconds - sum(way.values()) for way in ways]
    entries.append(Entry("rest", "not attributed", rests[0], *ends(rests)))
    error = whole["watts_error"] * seconds
    extra = on_zeros(parts, found), apart(parts, found)
    return Budget(whole["joules"], error, tuple(entries), found, *extra)


def ends(values):
    """The lowest and the highest."""
    return min(values), max(values)
