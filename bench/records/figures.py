"""Whether recorded figures follow from their samples, so that an edited file is found out.

They are recomputed with Python's own statistics module, not with the code that wrote them. Every
function raises schema.Invalid, naming the field, unless stored and recomputed agree.
"""

from __future__ import annotations

import math
import statistics

from bench.energy import budget, energy_limits
from bench.records import traces
from bench.records.neighbours import pairwise
from bench.records.schema import Invalid, in_order, one_measure, require
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


def equal(stored, computed, where):
    """They may differ in the last bits only."""
    if not math.isclose(stored, computed, rel_tol=1e-9):
        raise Invalid(where, f"{stored!r}, but its samples give {computed!r}")


def equal_lists(stored, computed, where):
    """The same of two lists."""
    require(len(stored) == len(computed), where, f"holds {len(stored)}, not {len(computed)}")
    for index, pair in enumerate(zip(stored, computed)):
        equal(*pair, f"{where}[{index}]")


def summary(stored, samples, where):
    """Median, 10th and 90th percentile."""
    equal(stored["median"], statistics.median(samples), f"{where}.median")
    several = samples if len(samples) > 1 else samples * 2  # quantiles() wants two or more
    deciles = statistics.quantiles(several, n=10, method="inclusive")
    equal(stored["low"], deciles[0], f"{where}.low")
    equal(stored["high"], deciles[-1], f"{where}.high")


def reading(stored, values, where):
    """The median of those that could be read, or null."""
    known = [value for value in values if value is not None]
    if known and stored is not None:
        equal(stored, statistics.median(known), where)
    else:
        require(stored is None and not known, where, f"{stored!r}, but passes read {known}")


def contender(measure, stored, seconds, work, passes, where):
    """One contender's rates from its seconds, and its readings from the passes'."""
    rates = [work / value / measure.units for value in seconds]
    summary(stored[measure.rate], rates, f"{where}.{measure.rate}")
    for key in (*measure.readings, "before_seconds"):
        reading(stored.get(key), [one.get(key) for one in passes], f"{where}.{key}")
    limits = [one["clock_limits"] for one in passes if one.get("clock_limits")]
    found = stored.get("clock_limits")
    require((found is None) == (not limits), f"{where}.clock_limits", "not as in the passes")
    for key in LIMITS if limits else ():
        equal(found[key], statistics.median(one[key] for one in limits), f"{where}.{key}")


def ratios(stored, theirs, step, passes, where):
    """Round by round, and each pass's median; `passes` is how many there are."""
    samples = [other / own for other, own in zip(theirs, step)]
    equal_lists(stored["samples"], samples, f"{where}.samples")
    summary(stored, samples, where)
    rounds = len(samples) // passes
    parts = [samples[index * rounds : (index + 1) * rounds] for index in range(passes)]
    medians = [statistics.median(part) for part in parts]
    equal_lists(stored["pass_medians"], medians, f"{where}.pass_medians")


def readings_of(version, one, name):
    """What a pass read of a contender: it is its own JSON in schema 1."""
    there = one["timing"] if version == 1 else one
    require(name in there, name, "is missing in a pass")
    return there[name]


def own_figures(measure, run, where):
    """Schema 1: the figures in a pass, as the program computed them."""
    timing = run["timing"]
    for name in ("step", *measure.contenders(timing)):
        if measure.rate in timing[name]:
            rates = [timing[measure.work] / v / measure.units for v in timing[name]["seconds"]]
            summary(timing[name][measure.rate], rates, f"{where}.timing.{name}.{measure.rate}")
        ratio = timing.get(ratio_to(name))
        if ratio:
            pairs = zip(timing[name]["seconds"], timing["step"]["seconds"])
            samples = [theirs / step for theirs, step in pairs]
            equal_lists(ratio["samples"], samples, f"{where}.timing.{ratio_to(name)}.samples")
            summary(ratio, samples, f"{where}.timing.{ratio_to(name)}")


def whole_pass(ladder, rung, run, where):
    """Schema 1: a pass is of that rung, and of the ladder's GPU, commit, protocol and problem."""
    measure = measure_of(ladder)
    require(run["step"] == rung["step"], f"{where}.step", f"a run of {run['step']}")
    for key in ("gpu", "commit"):
        require(run[key] == ladder[key], f"{where}.{key}", "differs from the ladder's")
    same = run["timing"]["protocol"] == ladder["protocol"]
    require(same, f"{where}.timing.protocol", "differs from the ladder's")
    for key, value in ladder["problem"].items():
        same = run["problem"].get(key) == value
        require(same, f"{where}.problem.{key}", "differs from the ladder's")
    own_figures(measure, run, where)


def samples_of_passes(rung, measure, where):
    """Schema 1: the rung's samples are those of its passes, one after the other."""
    for name in ("step", *measure.contenders(rung["timing"])):
        of_passes = [v for run in rung["passes"] for v in run["timing"][name]["seconds"]]
        same = rung["timing"][name]["seconds"] == of_passes
        require(same, f"{where}.timing.{name}.seconds", "aren't those of its passes")


def rung(version, ladder, one, where):
    """All figures of a rung that has a result."""
    measure, timing, passes = measure_of(ladder), one["timing"], one["passes"]
    require(passes, f"{where}.passes", "there are none")
    if not ladder["interrupted"]:
        enough = len(passes) == ladder["passes"]
        require(enough, f"{where}.passes", f"holds {len(passes)}, not {ladder['passes']}")
    if version == 1:
        samples_of_passes(one, measure, where)
    work = measure.work_of(ladder["problem"])
    good = timing[measure.work] == work
    require(good, f"{where}.timing.{measure.work}", f"is {timing[measure.work]}, not {work}")
    samples = len(passes) * ladder["rounds"]
    for name in ("step", *measure.contenders(timing)):
        field, seconds = f"{where}.timing.{name}", timing[name]["seconds"]
        require(len(seconds) == samples, f"{field}.seconds", f"holds {len(seconds)}, not {samples}")
        read = [readings_of(version, run, name) for run in passes]
        contender(measure, timing[name], seconds, work, read, field)
        if name != "step":
            require(ratio_to(name) in timing, f"{where}.timing.{ratio_to(name)}", "is missing")
            field = f"{where}.timing.{ratio_to(name)}"
            ratios(timing[ratio_to(name)], seconds, timing["step"]["seconds"], len(passes), field)


def over_all(version, ladder, where):
    """cuBLAS, or the plain copy, and who else is beside, over all rungs."""
    measure = measure_of(ladder)
    good = [one for one in ladder["rungs"] if "failed" not in one]
    for name in (measure.other, *measure.besides):
        there = [one for one in good if name in one["timing"]]
        field = f"{where}{name}"
        if name not in ladder:
            require(not there, field, "is missing")
            continue
        seconds = [v for one in there for v in one["timing"][name]["seconds"]]
        require(seconds, field, "no rung has it beside it")
        if version == 1:
            same = ladder[name]["seconds"] == seconds
            require(same, f"{field}.seconds", "aren't those of the rungs")
        read = [readings_of(version, run, name) for one in there for run in one["passes"]]
        work = measure.work_of(ladder["problem"])
        contender(measure, ladder[name], seconds, work, read, field)


def neighbours(ladder, where):
    """Every pair's ratio, from the passes' medians; a variant's is with its rung."""
    ratio = measure_of(ladder).ratio
    medians = {
        one["step"]: one["timing"][ratio]["pass_medians"]
        for one in ladder["rungs"]
        if "failed" not in one
    }
    for index, pair in enumerate(ladder["neighbours"]):
        field, lower, upper = f"{where}neighbours[{index}]", pair["lower"], pair["upper"]
        for name in (lower, upper):
            require(name in medians, field, f"{name} has no result")
            require(not is_rival(name), field, f"{name} is a rival and has no neighbours")
        if is_variant(upper):
            require(lower == rung_of(upper), f"{field}.lower", f"{lower} is not {upper}'s rung")
        paired = [high / low for low, high in zip(medians[lower], medians[upper])]
        equal(pair["paired_ratio"], statistics.median(paired), f"{field}.paired_ratio")
        faster = sum(value > 1 for value in paired)
        require(pair["passes"] == len(paired), f"{field}.passes", f"not {len(paired)}")
        require(pair["passes_faster"] == faster, f"{field}.passes_faster", f"not {faster}")
        good = pair["faster"] == (pair["paired_ratio"] > 1)
        require(good, f"{field}.faster", f"{pair['faster']}, at {pair['paired_ratio']}")


def heuristics(ladder, where):
    """The winner is one of those that were timed, and they are not more than there are: those
    that the heuristic returned, and those that were enumerated besides."""
    if "heuristics" not in ladder:
        return
    found, field = ladder["heuristics"], f"{where}heuristics"
    require("cublaslt" in ladder, field, "but no rung has cublaslt beside it")
    require(found["winner"] in found["timed"], f"{field}.winner", "is not among those timed")
    there = found["returned"] + found.get("enumerated", 0)
    enough = len(found["timed"]) <= there and found["returned"] <= found["asked"]
    require(enough, f"{field}.timed", f"holds {len(found['timed'])} of {there}")
    numbers = [one["number"] for one in found["timed"]]
    require(len(set(numbers)) == len(numbers), f"{field}.timed", "one stands there twice")


def wide_spread(ladder, where):
    """The rungs whose ratio has a wide spread, and only they."""
    limit, stored = ladder["wide_spread"]["limit"], ladder["wide_spread"]["steps"]
    equal(limit, WIDE, f"{where}wide_spread.limit")
    ratio = measure_of(ladder).ratio
    for one in ladder["rungs"]:
        if "failed" in one:
            continue
        name, field = one["step"], f"{where}wide_spread.steps.{one['step']}"
        spread = one["timing"][ratio]["high"] / one["timing"][ratio]["low"]
        require((name in stored) == (spread > limit), field, f"the spread is {spread!r}")
        if name in stored:
            equal(stored[name], spread, field)
    unknown = set(stored) - {one["step"] for one in ladder["rungs"] if "failed" not in one}
    require(not unknown, f"{where}wide_spread.steps", f"{sorted(unknown)} have no result")


def ladder(version, record, where=""):
    """All figures of a ladder of that schema."""
    in_order(record["rungs"], f"{where}rungs")
    one_measure([one["step"] for one in record["rungs"]], measure_of(record), f"{where}rungs")
    for index, one in enumerate(record["rungs"]):
        field = f"{where}rungs[{index}]"
        if version == 1:
            for place, run in enumerate(one["passes"]):
                whole_pass(record, one, run, f"{field}.passes[{place}]")
        if "failed" not in one:
            rung(version, record, one, field)
    over_all(version, record, where)
    neighbours(record, where)
    if version == 2:
        wide_spread(record, where)
        heuristics(record, where)


def counted(record, step, where):
    """A number from 0 or null for every metric, of the program's kernel and of cuBLAS's."""
    moves = measure_of(record) is MOVES
    require(step["kernel"] in KERNELS[moves], f"{where}.kernel", f"is {step['kernel']}")
    require(moves or "cublas" in step, f"{where}.cublas", "is missing")
    for field, one in ((where, step), (f"{where}.cublas", step.get("cublas"))):
        if one is None:
            continue
        counters = one["counters"]
        same = list(counters) == record["metrics"]
        require(same, f"{field}.counters", "are not the metrics that were asked for")
        known = [value for value in counters.values() if value is not None]
        require(known, f"{field}.counters", "none of them is known")
        require(min(known) >= 0, f"{field}.counters", f"a count below 0: {min(known)}")


def counters(record):
    """All steps of a file of counters."""
    in_order(record["steps"], "steps")
    for index, step in enumerate(record["steps"]):
        if "failed" not in step:
            counted(record, step, f"steps[{index}]")


def counter_steps(edges, where):
    """The counter's steps: as many in each list, one after the other, and never downwards."""
    lists = [edges[key] for key in ("before", "after", "joules")]
    good = len(set(map(len, lists))) == 1 and len(lists[0]) > budget.BLOCKS
    require(good, where, f"not lists of one length above {budget.BLOCKS}")
    before, after, joules = lists
    ordered = all(low <= high for low, high in zip(before, after))
    ordered = ordered and all(low <= high for low, high in zip(after, before[1:]))
    require(ordered, where, "not in the order of time")
    rising = all(low < high for low, high in pairwise(joules))
    require(rising, where, "the counter did not rise at every step")


def energy_part(record, part, where):
    """A part's figures from the counter's steps and the time of a launch."""
    edges, seconds, clock = part["edges"], part["seconds"], part["sm_clock_ghz"]
    counter_steps(edges, f"{where}.edges")
    times = [(low + high) / 2 for low, high in zip(edges["before"], edges["after"])]
    watts = (edges["joules"][-1] - edges["joules"][0]) / (times[-1] - times[0])
    equal(part["watts"], watts, f"{where}.watts")
    equal(part["watts_error"], budget.watts_error(edges), f"{where}.watts_error")
    launched = part["launches"] > 0
    require((seconds is not None) == launched, f"{where}.seconds", "launches without a time")
    require((part["joules"] is not None) == launched, f"{where}.joules", "of what was launched")
    if launched:
        equal(part["joules"], watts * seconds, f"{where}.joules")
    flop = part["counts"]["flop"] if part["counts"] else 0
    peak = record["peak_flop_per_cycle"]
    if part["tensor_core_share"] is None:
        require(not (flop and clock and peak), f"{where}.tensor_core_share", "is missing")
    else:
        share = flop / (peak * seconds * clock * 1e9)
        equal(part["tensor_core_share"], share, f"{where}.tensor_core_share")
    why = energy_limits.broken(part, record["gpu"]["sms"], peak)
    require(why is None, f"{where}.seconds", f"impossible: {why}")


LARGEST_TILE = 256  # rows or columns of D


def padded_flop(problem):
    """The most that a product takes where tiles at the edges of D are multiplied whole."""
    sizes = [problem[name] + LARGEST_TILE - 1 for name in "mn"]
    return 2 * sizes[0] * sizes[1] * problem["k"]


def energy(record):
    """All parts of an energy run; each stands there once, and all that multiply do as much."""
    names = [part["part"] for part in record["parts"]]
    require(len(set(names)) == len(names), "parts", "one stands there twice")
    least, most = PRODUCTS.work_of(record["problem"]), padded_flop(record["problem"])
    flop = None
    for index, part in enumerate(record["parts"]):
        where = f"parts[{index}]"
        if "failed" not in part:
            energy_part(record, part, where)
            found = part["counts"]["flop"] if part["counts"] else 0
            good = found == 0 or least <= found <= most
            require(good, f"{where}.counts.flop", f"neither 0 nor {least} to {most}")
            flop = flop or found
            require(found in (0, flop), f"{where}.counts.flop", f"neither 0 nor {flop}, as before")


def check(record):
    """Invalid, naming the field, unless all figures of the record, whose form is right, follow. Of a
    trace: unless its events can be true."""
    if record["kind"] == "ladder":
        ladder(1, record)
    elif record["kind"] == "counters":
        counters(record)
    elif record["kind"] == "run":
        for index, one in enumerate(record["ladders"]):
            ladder(2, one, f"ladders[{index}].")
    elif record["kind"] == "energy":
        energy(record)
    elif record["kind"] == "trace":
        traces.check(record)
