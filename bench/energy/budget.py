"""Where a GEMM's joules go: a budget from the parts of a rung, each of which ran alone for seconds.

Each part does some of what the whole does. What a launch takes is modelled as

    joules = idle + awake + v(clock) * (sum over what it does: amount * joules of one) + DRAM

idle and awake are watts times the launch's time: of a GPU on which nothing runs, and what is added
while one SM has one warp to run. v(clock) = (1 + slope * (clock - the whole's clock))^2: an operation
takes energy by the square of the voltage, which is taken to rise evenly with the clock. DRAM has a
supply and a clock of its own. The amounts are known from the source; the joules of one of each and
the slope are those with which all parts are met best (least squares of the relative differences,
none below 0). The slope is found by parts that do the same at different clocks: on fewer SMs, the
power limit leaves a higher one. What the model does not reach of the whole is "not attributed".
"""

from __future__ import annotations

import math
from operator import mul
from statistics import mean, median, stdev
from typing import NamedTuple

from bench import results

PARTS = "-parts"  # v16-parts has the parts of v16 as its kernels
WHOLE, IDLE, AWAKE = "whole", "idle", "one-sm"
FLOP_PER_CYCLE = 4096  # dense bf16, of an SM of compute capability 9.0
# An SM's shared memory has 32 banks of 4 bytes, each of which takes one word a cycle. (CUDA C++
# Programming Guide: Shared Memory.)
SHARED_BYTES_PER_CYCLE = 32 * 4
EARLY = 0.99  # of its pace: the last k-tile is handed over one k-tile before the end


class Unsolvable(ValueError):
    """The parts do not determine a budget: which are missing, or why."""


# --- what a part does, by the source: none of it is counted by the hardware -----------------------


class Does(NamedTuple):
    """What one launch of a part does."""

    reads_of_a: int | None = 1  # by wgmma, while it reads B once; None: it does not multiply
    loads: str = "once"  # the ring's stages; "all" of the GEMM, from "few" tiles, or "nothing"
    exchanges: bool = False  # producer and consumers synchronise for each k-tile
    stores: bool = False
    ctas: float = 1.0  # of the CTAs that the whole has


# Rungs that were taken apart: height and width of the tile, stages of the ring, and the parts with
# narrower wgmmas, whose widths have to divide the tile.
RUNGS = {
    "v14": (128, 256, 4, {"multiply-n128": Does(2), "multiply-n64": Does(4)}),
    "v16": (256, 200, 3, {"multiply-n104": Does(2), "multiply-n40": Does(5)}),
}
FITTED = {  # the parts that the model has to meet, of every rung
    WHOLE: Does(1, "all", True, True),
    "whole-three-quarters": Does(1, "all", True, True, 0.75),
    "whole-half": Does(1, "all", True, True, 0.5),
    "no-store": Does(1, "all", True),
    "no-dram": Does(1, "few", True),
    "no-loads": Does(1, "once", True),
    "multiply": Does(),
    "multiply-half": Does(ctas=0.5),
    "multiply-a-registers": Does(0),
    "loads": Does(None, "all", True),
    "loads-l2": Does(None, "few", True),
    "waiting": Does(None, "nothing", True),
}
OTHERS = {"multiply-zeros": Does(), "loads-l2-apart": FITTED["loads-l2"]}
BK, BLOCK, WORD = 64, 64, 2  # columns of a k-tile, rows of a wgmma, bytes of a bf16
FEW_ROWS, FEW_COLUMNS = 16, 17  # the few tiles
TERMS = {  # what takes energy
    "tensor": "tensor cores",
    "operands": "shared memory: wgmma's reads",
    "l2": "L2 to shared memory",
    "dram": "DRAM: reading A and B",
    "store": "storing D",
    "exchange": "barriers of the ring",
    "waiting": "SMs with a CTA, waiting or not",
}
UNSCALED = "dram"  # by the voltage of the SMs


def fitted_of(rung):
    """The parts of a rung that the model has to meet. Unsolvable for one that was never in parts."""
    if rung not in RUNGS:
        raise Unsolvable(f"no budget of {rung}: only {', '.join(RUNGS)} are known in parts")
    return {**FITTED, **RUNGS[rung][-1]}


def amounts(rung, name, problem, sms):
    """{term: FLOP, bytes or k-tiles} of a launch of a part, and its share of the CTAs."""
    does = {**fitted_of(rung), **OTHERS}.get(name, Does(None, "nothing"))
    height, width, stages, _ = RUNGS[rung]
    m, n = problem["m"], problem["n"]
    down, across, deep = (math.ceil(problem[x] / y) for x, y in zip("mnk", (height, width, BK)))
    ctas = math.ceil(down * across / math.ceil(down * across / sms))  # all SMs need as many waves
    rows_of_few = sum(min(height, m - i % FEW_ROWS * height) for i in range(down))
    columns_of_few = sum(min(width, n - i % FEW_COLUMNS * width) for i in range(across))
    loaded = {  # rows of k-tiles; what is beyond the edge of the matrices is not loaded
        "all": (across * m + down * n) * deep,
        "few": (across * rows_of_few + down * columns_of_few) * deep,
        "once": int(ctas * does.ctas) * stages * (height + width),  # the first tiles are whole
        "nothing": 0,
    }
    k_tiles = down * across * deep
    multiplied = 0 if does.reads_of_a is None else k_tiles  # what is beyond the edge of D, too
    read = height // BLOCK * ((does.reads_of_a or 0) * BLOCK + width)  # rows of a k-tile
    return {
        "tensor": 2 * height * width * BK * multiplied,
        "operands": read * BK * WORD * multiplied,
        "l2": loaded[does.loads] * BK * WORD,
        "dram": int(does.loads == "all"),
        "store": m * n * WORD * does.stores,
        "exchange": k_tiles * does.exchanges,
        "ctas": does.ctas,
    }


# --- what was measured ----------------------------------------------------------------------------


class Part(NamedTuple):
    """What one launch of a part took."""

    what: str
    seconds: float
    watts: float
    joules: float
    error: float | None  # of the joules, by their scatter; None if nothing tells
    ghz: float
    share: float  # of the tensor cores' cycles
    amounts: dict  # that it does


def is_of_parts(run):
    """True if a run is of a rung's parts."""
    return run.protocol == "sustained" and any(name.endswith(PARTS) for name in run.rows)


def rung_of(run):
    """The rung that was taken apart."""
    return next(iter(run.rows)).removesuffix(PARTS)


def rows_of(run, key):
    """{part: its rows that have this} in the order in which they ran."""
    found = {}
    for row in run.rows[rung_of(run) + PARTS]:
        if key in row:
            found.setdefault(row["part"], []).append(row)
    return found


def parts_of(run):
    """{name: Part} in the order in which they ran, over all passes."""
    return {name: part_of(run, name, rows) for name, rows in rows_of(run, "timed").items()}


def part_of(run, name, rows):
    """A part from its rows."""
    timed = [row["timed"]["step"] for row in rows]
    seconds = median(value for one in timed for value in one["seconds"])
    ghz, joules = median(one["ghz"] for one in timed), [one["joules"] for one in timed]
    error = timed[0].get("joules_error")  # of older rows, by the steps of the counter
    if len(joules) > 1:
        error = stdev(joules) / math.sqrt(len(joules))
    does = amounts(rung_of(run), name, run.problem, run.gpu["sms"])
    does["waiting"] = seconds * ghz * does["ctas"]
    share = does["tensor"] / (FLOP_PER_CYCLE * run.gpu["sms"] * 1e9 * seconds * ghz)
    watts = mean(one["watts"] for one in timed)
    return Part(rows[0]["what"], seconds, watts, mean(joules), error, ghz, share, does)


def missing(run):
    """Why there can be no budget of a run; '' if there can."""
    parts, fitted = parts_of(run), fitted_of(rung_of(run))
    if absent := [name for name in (*fitted, IDLE, AWAKE) if name not in parts]:
        return f"no budget without the parts {', '.join(absent)}"
    if parts[WHOLE].error is None:
        return "no budget of one pass: how far joules scatter is unknown"
    return ""


def newest(runs, chosen=False):
    """{rung: the newest of these runs of its parts} that has all that a budget needs; unless they
    were chosen, at the usual size on the home GPU."""
    found = {}
    for run in sorted(filter(is_of_parts, runs), key=lambda run: run.date):
        usual = results.slug(run.gpu) == results.HOME and run.shape == (results.SIZE,) * 3
        if (usual or chosen) and not missing(run):
            found[rung_of(run)] = run
    return found


def impossible(part, sms, pace=None):
    """Why a part cannot be as it was measured: it is faster than what it does allows, so the
    compiler left some of it out, or a launch failed. '' if it can be."""
    written = part.amounts["l2"] / SHARED_BYTES_PER_CYCLE  # to shared memory
    cycles = max(written, part.amounts["tensor"] / FLOP_PER_CYCLE) / sms / part.amounts["ctas"]
    paced = pace and not part.amounts["tensor"]
    least = max(cycles / part.ghz * 1e-9, EARLY * pace if paced else 0)
    took = f"a launch took {1e3 * part.seconds:.4f} ms"
    return f"impossible: {took}, not {1e3 * least:.4f}" if part.seconds < least else ""


# --- the fit --------------------------------------------------------------------------------------


def solve(columns, right):
    """x with the least squares of x times the columns - right, by elimination in the normal
    equations; sums of squares need no pivots. Unsolvable if there is not one x."""
    system = [[sum(map(mul, one, other)) for other in (*columns, right)] for one in columns]
    for i, row in enumerate(system):
        if row[i] < 1e-12:
            raise Unsolvable("the parts do not determine all terms")
        row[:] = [value / row[i] for value in row]
        for other in system[:i] + system[i + 1 :]:
            other[:] = [a - other[i] * b for a, b in zip(other, row)]
    return [row[-1] for row in system]


def fit_at(parts, names, slope):
    """(the sum of squares, the slope of the voltage, {term: joules of all of it in the whole}) of
    the model that meets those parts best with that slope. The lowest term below 0 is left out,
    until none is."""
    whole, base, met = parts[WHOLE], parts[AWAKE].watts, [parts[name] for name in names]
    columns, right = {}, [1 - base * part.seconds / part.joules for part in met]
    for term, of_whole in ((term, whole.amounts[term]) for term in TERMS):
        steep = 0 if term == UNSCALED else slope
        scales = ((1 + steep * (part.ghz - whole.ghz)) ** 2 / part.joules for part in met)
        columns[term] = [one * part.amounts[term] / of_whole for one, part in zip(scales, met)]
    found = dict.fromkeys(TERMS, -1.0)
    while min(found.values()) < 0:
        found = dict(zip(columns, solve([*columns.values()], right)))
        kept, lowest = {**columns}, min(found, key=found.get)
        del columns[lowest]
    sums = (sum(map(mul, row, found.values())) for row in zip(*kept.values()))
    squares = sum((one - wanted) ** 2 for one, wanted in zip(sums, right))
    return squares, slope, {**dict.fromkeys(TERMS, 0.0), **found}


def fit(parts, names):
    """The model that meets those parts best: its slope is from 0 to 2 per GHz, found in steps."""
    _, near, _ = min(fit_at(parts, names, step / 20) for step in range(41))
    finer = (near + step / 400 for step in range(-20, 21))
    return min(fit_at(parts, names, slope) for slope in finer if slope >= 0)


# --- the budget -----------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A line of the budget."""

    words: str
    joules: float
    low: float  # with any one of the parts left out of the fit
    high: float


class Budget(NamedTuple):
    """Where the joules of the whole go; the entries' joules add up to them."""

    joules: float  # of one launch of the whole
    error: float  # of them, by their scatter
    slope: float  # of the voltage
    entries: list


def make(run):
    """The budget of a run of parts. Unsolvable if they do not give one."""
    if why := missing(run):
        raise Unsolvable(why)
    parts, fitted = parts_of(run), [*fitted_of(rung_of(run))]
    without = [[name for name in fitted if name != out] for out in fitted if out != WHOLE]
    (_, slope, _), *_ = fits = [fit(parts, names) for names in (fitted, *without)]
    joules, seconds = parts[WHOLE].joules, parts[WHOLE].seconds
    idle, both = (parts[name].watts * seconds for name in (IDLE, AWAKE))
    lines = {"the GPU with nothing to do": [idle], "awake: one SM has a warp to run": [both - idle]}
    lines.update((words, [terms[term] for *_, terms in fits]) for term, words in TERMS.items())
    lines["not attributed"] = [joules - both - sum(terms.values()) for *_, terms in fits]
    entries = [Entry(words, ways[0], min(ways), max(ways)) for words, ways in lines.items()]
    return Budget(joules, parts[WHOLE].error, slope, entries)


def rows(made):
    """A budget as a table, its header first. What takes it adds up to the joules of the whole."""

    def mj(joules):
        return f"{1e3 * joules:.1f}"

    found = [["what takes it", "mJ", "of the whole", "lowest and highest, one part left out"]]
    for words, joules, low, high in made.entries:
        share = f"{100 * joules / made.joules:.1f} %"
        found.append([words, mj(joules), share, f"{mj(low)} to {mj(high)}"])
    return [*found, ["the whole", mj(made.joules), "", f"± {mj(made.error)} by its scatter"]]
