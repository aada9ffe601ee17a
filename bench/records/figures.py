"""What follows from the samples of a record. merge.py writes these figures, and check() finds out
whether those of a file are still the ones: an edited file is refused. tests/test_bench.py has some that
were worked out by hand.
"""

from __future__ import annotations

import math
from itertools import chain
from statistics import median, quantiles

from bench.energy import budget
from bench.records import traces
from bench.records.schema import Invalid, in_order, one_measure, require, shown
from bench.records.vocabulary import (
    LIMITS,
    MOVES,
    PRODUCTS,
    WIDE,
    is_rival,
    is_variant,
    measure_of,
    ratio_to,
    rung_of,
)

KERNELS = {True: ("transpose", "add_one"), False: ("gemm",)}  # what a rung's is called: if it moves
LARGEST_TILE = 256  # rows or columns of D


# --- how they follow --------------------------------------------------------------------------


def tails(values, parts):
    """Below which and above which a part of the values lies, by numpy's default rule."""
    several = values if len(values) > 1 else [*values, *values]
    found = quantiles(several, n=parts, method="inclusive")
    return found[0], found[-1]


def summary(values):
    """Median, 10th and 90th percentile, under the names that every JSON here uses."""
    low, high = tails(values, 10)
    return {"median": median(values), "low": low, "high": high}


def median_of_known(values):
    """The median of those that could be read, or None."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def reads_of(run, name):
    """What a pass read of a contender: a pass of schema 1 is all that the program wrote."""
    return run.get("timing", run)[name]


def of_contender(measure, problem, seconds, reads):
    """One contender's rate, from the seconds of all passes, and its readings, from theirs."""
    work = measure.work_of(problem)
    found = {measure.rate: summary([work / value / measure.units for value in seconds])}
    for key in measure.readings:
        found[key] = median_of_known([one.get(key) for one in reads])
    if any("before_seconds" in one for one in reads):
        found["before_seconds"] = median_of_known([one.get("before_seconds") for one in reads])
    if any("clock_limits" in one for one in reads):
        limits = [one["clock_limits"] for one in reads if one.get("clock_limits")]
        medians = {key: median([one[key] for one in limits]) for key in limits and LIMITS}
        found["clock_limits"] = medians or None
    return found


def in_passes(samples, passes):
    """The samples of all passes, pass by pass."""
    rounds = len(samples) // passes
    return [samples[index * rounds :][:rounds] for index in range(passes)]


def of_ratio(theirs, own, passes):
    """Their time over the step's, round by round: above 1 the step is faster. And each pass's
    median."""
    samples = [other / step for other, step in zip(theirs, own)]
    medians = [median(one) for one in in_passes(samples, passes)]
    return {**summary(samples), "samples": samples, "pass_medians": medians}


def of_timing(measure, problem, seconds, passes):
    """A rung's timing from {contender: its seconds of all passes} and what the passes read."""
    timing = {measure.work: measure.work_of(problem)}
    for name, samples in seconds.items():
        reads = [reads_of(run, name) for run in passes]
        timing[name] = {"seconds": samples, **of_contender(measure, problem, samples, reads)}
        if name != "step":
            timing[ratio_to(name)] = of_ratio(samples, seconds["step"], len(passes))
    return timing


def of_other(name, measure, problem, rungs):
    """One that the rungs are compared with, over all those that it was timed beside; or nothing."""
    there = [rung for rung in rungs if name in rung["timing"]]
    if not there:
        return {}
    seconds = list(chain(*(rung["timing"][name]["seconds"] for rung in there)))
    reads = [reads_of(run, name) for rung in there for run in rung["passes"]]
    return {"seconds": seconds, **of_contender(measure, problem, seconds, reads)}


def of_neighbours(lower, upper, ratio):
    """Two rungs by their ratios to the same other, pass by pass, so that drifts cancel."""
    medians = [rung["timing"][ratio]["pass_medians"] for rung in (lower, upper)]
    paired = [high / low for low, high in zip(*medians)]
    return {
        "lower": lower["step"],
        "upper": upper["step"],
        "paired_ratio": median(paired),
        "passes": len(paired),
        "passes_faster": sum(value > 1 for value in paired),
        "faster": median(paired) > 1,
    }


def of_wide_spread(rungs, ratio):
    """The rungs whose 90th percentile of that ratio is too far above the 10th."""
    figures = {rung["step"]: rung["timing"][ratio] for rung in rungs}
    spreads = {name: figure["high"] / figure["low"] for name, figure in figures.items()}
    return {"limit": WIDE, "steps": {name: one for name, one in spreads.items() if one > WIDE}}


def of_part(part, peak_flop_per_cycle):
    """A part of an energy run: from the counter's steps, the time of a launch and what it counts."""
    seconds, clock = part["seconds"], part["sm_clock_ghz"]
    flop = part["counts"]["flop"] if part["counts"] else 0
    known = flop and seconds and clock and peak_flop_per_cycle
    watts = budget.watts_of(part["edges"])
    return {
        "watts": watts,
        "watts_error": budget.watts_error(part["edges"]),
        "joules": None if seconds is None else watts * seconds,
        "tensor_core_share": flop / (peak_flop_per_cycle * seconds * clock * 1e9)
        if known
        else None,
    }


# --- whether they do --------------------------------------------------------------------------


def agree(stored, computed, where):
    """Invalid, naming the field, unless a stored value and one computed anew are the same. Numbers
    may differ in the last bits; a field that is missing is null."""
    if isinstance(computed, dict):
        require(isinstance(stored, dict), where, "not as in the passes")
        for key in {**computed, **stored}:
            known = key in stored or computed[key] is None
            require(known, f"{where}.{key}", "is missing")
            agree(stored.get(key), computed.get(key), f"{where}.{key}")
    elif isinstance(computed, list):
        many = len(stored) if isinstance(stored, list) else "no list"
        require(many == len(computed), where, f"holds {many}, not {len(computed)}")
        for index, pair in enumerate(zip(stored, computed)):
            agree(*pair, f"{where}[{index}]")
    elif stored != computed:
        numbers = isinstance(computed, float) and isinstance(stored, (int, float))
        if not numbers or not math.isclose(stored, computed, rel_tol=1e-9):
            raise Invalid(where, f"{shown(stored)}, but {shown(computed)} follows from the rest")


def check_whole_pass(ladder, rung, run, where):
    """Schema 1: a pass is of that rung, and of the ladder's GPU, commit, protocol and problem."""
    shared = {"step": rung["step"], "gpu": ladder["gpu"], "commit": ladder["commit"]}
    shared["problem"] = {**run["problem"], **ladder["problem"]}
    for key, value in shared.items():
        agree(run[key], value, f"{where}.{key}")
    agree(run["timing"]["protocol"], ladder["protocol"], f"{where}.timing.protocol")


def check_rung(ladder, one, where):
    """All figures of a rung that has a result."""
    measure, timing, passes = measure_of(ladder), one["timing"], one["passes"]
    many = len(passes)
    enough = many == ladder["passes"] or (many and ladder["interrupted"])
    require(enough, f"{where}.passes", f"holds {many}, not {ladder['passes']}")
    samples = many * ladder["rounds"]
    seconds = {name: timing[name]["seconds"] for name in ("step", *measure.contenders(timing))}
    for name, found in seconds.items():
        field = f"{where}.timing.{name}.seconds"
        require(len(found) == samples, field, f"holds {len(found)}, not {samples}")
        for index, run in enumerate(passes):
            there = name in run.get("timing", run)
            require(there, f"{where}.passes[{index}].{name}", "is missing in a pass")
        if "timing" in passes[0]:
            own = list(chain(*(reads_of(run, name)["seconds"] for run in passes)))
            require(found == own, field, "aren't those of its passes")
    agree(timing, of_timing(measure, ladder["problem"], seconds, passes), f"{where}.timing")


def check_others(ladder, good, where):
    """cuBLAS, or the plain copy, and who else is beside, over all rungs."""
    measure = measure_of(ladder)
    for name in (measure.other, *measure.besides):
        found = of_other(name, measure, ladder["problem"], good)
        stored = ladder.get(name, {})
        require(stored or not found, f"{where}{name}", "is missing")
        require(found or not stored, f"{where}{name}", "no rung has it beside it")
        said = {"name": stored.get("name")}
        agree({"seconds": found.get("seconds"), **stored}, {**found, **said}, f"{where}{name}")


def check_neighbours(ladder, good, where):
    """Every pair's ratio; a variant's is with its rung. Which rungs are neighbours was another rule
    once."""
    rungs = {one["step"]: one for one in good}
    for index, pair in enumerate(ladder["neighbours"]):
        field, lower, upper = f"{where}neighbours[{index}]", pair["lower"], pair["upper"]
        for name in (lower, upper):
            require(name in rungs, field, f"{name} has no result")
            require(not is_rival(name), field, f"{name} is a rival and has no neighbours")
        if is_variant(upper):
            require(lower == rung_of(upper), f"{field}.lower", f"{lower} is not {upper}'s rung")
        agree(pair, of_neighbours(rungs[lower], rungs[upper], measure_of(ladder).ratio), field)


def check_heuristics(found, field):
    """The winner is one of those that were timed, and they are not more than there are: those
    that the heuristic returned, and those that were enumerated besides."""
    require(found["winner"] in found["timed"], f"{field}.winner", "is not among those timed")
    there = found["returned"] + found.get("enumerated", 0)
    enough = len(found["timed"]) <= there and found["returned"] <= found["asked"]
    require(enough, f"{field}.timed", f"holds {len(found['timed'])} of {there}")
    numbers = [one["number"] for one in found["timed"]]
    require(len(set(numbers)) == len(numbers), f"{field}.timed", "one stands there twice")


def check_ladder(record, where=""):
    """All figures of a ladder."""
    measure = measure_of(record)
    in_order(record["rungs"], f"{where}rungs")
    one_measure([one["step"] for one in record["rungs"]], measure, f"{where}rungs")
    for index, one in enumerate(record["rungs"]):
        field = f"{where}rungs[{index}]"
        for place, run in enumerate(one["passes"]):
            if "timing" in run:
                check_whole_pass(record, one, run, f"{field}.passes[{place}]")
        if "failed" not in one:
            check_rung(record, one, field)
    good = [one for one in record["rungs"] if "failed" not in one]
    check_others(record, good, where)
    check_neighbours(record, good, where)
    if "wide_spread" in record:
        wide = of_wide_spread(good, measure.ratio)
        agree(record["wide_spread"], wide, f"{where}wide_spread")
    if "heuristics" in record:
        require("cublaslt" in record, f"{where}heuristics", "but no rung has cublaslt beside it")
        check_heuristics(record["heuristics"], f"{where}heuristics")


def check_counters(record):
    """A number from 0 or null for every metric, of each program's kernel and of cuBLAS's."""
    in_order(record["steps"], "steps")
    moves = measure_of(record) is MOVES
    for index, step in enumerate(record["steps"]):
        if "failed" in step:
            continue
        where = f"steps[{index}]"
        require(step["kernel"] in KERNELS[moves], f"{where}.kernel", f"is {step['kernel']}")
        require(moves or "cublas" in step, f"{where}.cublas", "is missing")
        for field, one in ((where, step), (f"{where}.cublas", step.get("cublas", step))):
            counters, field = one["counters"], f"{field}.counters"
            asked = list(counters) == record["metrics"]
            require(asked, field, "are not the metrics that were asked for")
            known = [value for value in counters.values() if value is not None]
            require(known, field, "none of them is known")
            require(min(known) >= 0, field, f"a count below 0: {min(known)}")


def check_edges(edges, where):
    """The counter's steps: as many in each list, one after the other, and never downwards."""
    lists = [edges[key] for key in ("before", "after", "joules")]
    good = len(set(map(len, lists))) == 1 and len(lists[0]) > budget.BLOCKS
    require(good, where, f"not lists of one length above {budget.BLOCKS}")
    before, after, joules = lists
    times = list(chain(*zip(before, after)))
    require(times == sorted(times), where, "not in the order of time")
    rising = all(low < high for low, high in zip(joules, joules[1:]))
    require(rising, where, "the counter did not rise at every step")


def check_part(record, part, where):
    """A part's figures, and whether it can be."""
    check_edges(part["edges"], f"{where}.edges")
    launched = part["launches"] > 0
    known = part["seconds"] is not None
    require(known == launched, f"{where}.seconds", "launches without a time")
    peak = record["peak_flop_per_cycle"]
    for key, value in of_part(part, peak).items():
        agree(part[key], value, f"{where}.{key}")
    why = budget.impossible(part, record["gpu"]["sms"], peak)
    require(why is None, f"{where}.seconds", f"impossible: {why}")


def check_energy(record):
    """All parts of an energy run; each stands there once, and all that multiply do as much."""
    names = [part["part"] for part in record["parts"]]
    require(len(set(names)) == len(names), "parts", "one stands there twice")
    least = PRODUCTS.work_of(record["problem"])
    padded = {name: record["problem"][name] + LARGEST_TILE - 1 for name in "mn"}
    most = PRODUCTS.work_of({**record["problem"], **padded})  # whole tiles at the edges of D
    flop = None
    for index, part in enumerate(record["parts"]):
        where = f"parts[{index}]"
        if "failed" not in part:
            check_part(record, part, where)
            found = part["counts"]["flop"] if part["counts"] else 0
            good = found == 0 or least <= found <= most
            require(good, f"{where}.counts.flop", f"neither 0 nor {least} to {most}")
            flop = flop or found
            require(found in (0, flop), f"{where}.counts.flop", f"neither 0 nor {flop}, as before")


def check_run(record):
    """All figures of all ladders."""
    for index, one in enumerate(record["ladders"]):
        check_ladder(one, f"ladders[{index}].")


def check_sweep(record):
    """Every shape stands there once, with as many times of everybody as there are rounds."""
    points = record["points"]
    shapes = [tuple(point[name] for name in PRODUCTS.dimensions) for point in points]
    require(len(set(shapes)) == len(shapes), "points", "a shape stands there twice")
    for index, point in enumerate(points):
        for name, found in point.get("seconds", {}).items():
            good = len(found) == record["rounds"]
            require(good, f"points[{index}].seconds.{name}", f"holds {len(found)}")


CHECKS = {
    "ladder": check_ladder,
    "counters": check_counters,
    "run": check_run,
    "energy": check_energy,
    "sweep": check_sweep,
    "trace": traces.check,
}


def check(record):
    """Invalid, naming the field, unless all figures of the record, whose form is right, follow. Of a
    trace: unless its events can be true."""
    if record["kind"] in CHECKS:
        CHECKS[record["kind"]](record)
