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

import math
import statistics
from operator import mul
from typing import NamedTuple

WHOLE, IDLE, AWAKE = "whole", "idle", "one-sm"
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
    blocks = [watts_of(edges, low, high) for low, high in zip(bounds, bounds[1:])]
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


# --- what no part can be -------------------------------------------------------------------------

# An SM's shared memory has 32 banks of 4 bytes, each of which takes one word a cycle. (CUDA C++
# Programming Guide: Shared Memory.)
SHARED_BYTES_PER_CYCLE = 32 * 4
EARLY = 0.99  # of its pace: the last k-tile is handed over one k-tile before the end


def impossible(part, sms, peak_flop_per_cycle):
    """Why a part cannot be as it was measured, in words with the numbers: it is faster than its
    counted work allows, so the compiler left some of it out, or a launch failed. None if it can
    be; without a clock nobody knows the cycles, and only the pace is looked at."""
    seconds, clock, pace, counts = (part[k] for k in ("seconds", "sm_clock_ghz", "pace", "counts"))
    if seconds is None:
        return None
    took = f"a launch took {1e3 * seconds:.4f} ms"
    if pace is not None and seconds < EARLY * pace:
        return f"{took}, and its pace is {1e3 * pace:.4f} ms"
    if counts is None or clock is None:
        return None
    least = {  # cycles of the SMs that run it
        "to write to shared memory what it loads": counts["loaded_bytes"]
        / (SHARED_BYTES_PER_CYCLE * sms)
    }
    if peak_flop_per_cycle:
        least["for its multiplications at the tensor cores' peak"] = (
            counts["flop"] / peak_flop_per_cycle
        )
    words = max(least, key=least.get)
    needed = least[words] / part["sm_share"] / clock * 1e-9
    if seconds >= needed:
        return None
    return (
        f"{took}, and {words} it needs {1e3 * needed:.4f} ms at {clock:.3f} GHz: it has not done all "
        "its work"
    )


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
    joules: dict  # term -> of all of it in a launch of the whole
    residuals: dict  # part -> (model - measured) / measured


def fit_at(parts, names, slope):
    """The model that meets those parts best with that slope of the voltage."""
    whole, base = parts[WHOLE], parts[AWAKE]["watts"]
    rows, right = [], []
    for part in (parts[name] for name in names):
        square = (1 + slope * (part["sm_clock_ghz"] - whole["sm_clock_ghz"])) ** 2
        total = part["joules"]
        rows.append([term.amount(part) * (square if term.scaled else 1) / total for term in TERMS])
        right.append((total - base * part["seconds"]) / total)
    values = none_below_zero(rows, right)
    joules = {term.name: value * term.amount(whole) for term, value in zip(TERMS, values)}
    residuals = [dot(row, values) - value for row, value in zip(rows, right)]
    return Fit(slope, joules, dict(zip(names, residuals)))


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


def make(record):
    """The budget of a recorded run. Unsolvable if the parts do not give one."""
    parts, fitted = require_parts(record), fitted_of(record["rung"])
    without = [[name for name in fitted if name != out] for out in fitted if out != WHOLE]
    fits = [fit(parts, names) for names in (fitted, *without)]
    seconds, total = parts[WHOLE]["seconds"], parts[WHOLE]["joules"]
    idle = parts[IDLE]["watts"] * seconds
    awake = parts[AWAKE]["watts"] * seconds - idle
    ways = [one.joules for one in fits]
    lines = [
        ("idle", "the GPU with nothing to do", [idle]),
        ("awake", "awake: one SM has a warp to run", [awake]),
        *((term.name, term.words, [way[term.name] for way in ways]) for term in TERMS),
        ("rest", "not attributed", [total - idle - awake - sum(way.values()) for way in ways]),
    ]
    entries = [Entry(name, words, j[0], min(j), max(j)) for name, words, j in lines]
    return Budget(total, parts[WHOLE]["watts_error"] * seconds, entries, fits[0])


def rows(made):
    """A budget as a table, its header first. What takes it adds up to the joules of the whole."""

    def number(value, scale=1e3):
        return f"{scale * value:.1f}".replace("-", "−")

    found = [["what takes it", "mJ", "of the whole", "lowest and highest, one part left out"]]
    for one in made.entries:
        share = f"{number(one.share(made.joules), 100)} %"
        ends = f"{number(one.low)} to {number(one.high)}"
        found.append([one.words, number(one.joules), share, ends])
    error = f"± {number(made.error)} by the counter's scatter"
    return [*found, ["the whole", number(made.joules), "", error]]
