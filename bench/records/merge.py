"""Many runs of the rungs made into one record of a ladder."""

from __future__ import annotations

import json

from bench.records import recorded
from bench.records.vocabulary import LIMITS


class Mismatch(Exception):
    """Two runs of different GPUs, commits or problems: they must not be merged."""


def identity(run):
    """What all runs of one ladder must share."""
    problem = {key: value for key, value in run["problem"].items() if key != "copies"}
    return {"gpu": run["gpu"], "commit": run["commit"], "problem": problem}


def require_same(first, run, keys=("gpu", "commit", "problem")):
    """Raises Mismatch, naming the difference, unless both runs are the same in what `keys` say."""
    one, other = identity(first), identity(run)
    for key in keys:
        if one[key] != other[key]:
            raise Mismatch(
                f"{first['step']} and {run['step']} differ in {key}: "
                f"{json.dumps(one[key])} and {json.dumps(other[key])}; they are not merged"
            )


def combine_contender(runs, contender):
    """All passes' samples of 'step' or another, their summary, and medians of the rest."""
    measure = recorded.measure_of(runs[0])
    timings = [run["timing"] for run in runs]
    seconds = [value for timing in timings for value in timing[contender]["seconds"]]
    rates = [timings[0][measure.work] / value / measure.units for value in seconds]
    combined = {"seconds": seconds, measure.rate: recorded.summary(rates)}
    for key in measure.readings:
        values = [timing[contender].get(key) for timing in timings]
        combined[key] = median_of_known(values)
    return {**combined, **read_sometimes([timing[contender] for timing in timings])}


def median_of_known(values):
    """The median of those that could be read, or None."""
    known = [value for value in values if value is not None]
    return recorded.median(known) if known else None


def read_sometimes(figures):
    """Medians over the passes of what only some protocols read, if these did."""
    found = {}
    if any("before_seconds" in one for one in figures):
        found["before_seconds"] = median_of_known([one.get("before_seconds") for one in figures])
    if any("clock_limits" in one for one in figures):
        limits = [one["clock_limits"] for one in figures if one.get("clock_limits")]
        medians = {key: recorded.median([one[key] for one in limits]) for key in limits and LIMITS}
        found["clock_limits"] = medians or None
    return found


def round_ratios(run, contender=None):
    """cuBLAS's (or another's) time over the step's, round by round: above 1 the step is faster."""
    timing = run["timing"]
    other = timing[contender or recorded.measure_of(run).other]
    pairs = zip(other["seconds"], timing["step"]["seconds"])
    return [theirs / step for theirs, step in pairs]


def combine_ratios(runs, contender):
    """All passes' ratios to cuBLAS or another, their summary, and each pass's median."""
    per_pass = [round_ratios(run, contender) for run in runs]
    samples = [ratio for ratios in per_pass for ratio in ratios]
    return dict(
        recorded.summary(samples),
        samples=samples,
        pass_medians=[recorded.median(ratios) for ratios in per_pass],
    )


def over_all(runs, contender):
    """The same of one of those that are compared with, over all rungs, whose samples are theirs."""
    combined = combine_contender(runs, contender)
    del combined["seconds"]
    return combined


def read_once(run):
    """What is read once per process: of a pass, all but its samples and what they come to."""
    measure, timing = recorded.measure_of(run), run["timing"]
    kept = {"date": run["date"], "check": run["verification"].get("check")}
    kept.update(copies=run["problem"].get("copies"), idle_ms=timing.get("idle_ms"))
    kept = {key: value for key, value in kept.items() if value is not None}
    if "launches_per_round" in timing:
        kept["launches_per_round"] = timing["launches_per_round"]
    for name in ("step", *measure.contenders(timing)):
        figures = timing[name]
        readings = dict.fromkeys(measure.readings, None)
        more = {key: figures[key] for key in figures if key not in ("seconds", measure.rate)}
        kept[name] = {**readings, **more}
    return kept


def combine_rung(runs):
    """One rung's passes as one record."""
    measure = recorded.measure_of(runs[0])
    timing = {measure.work: runs[0]["timing"][measure.work]}
    timing["step"] = combine_contender(runs, "step")
    for name in measure.contenders(runs[0]["timing"]):
        if all(name in run["timing"] for run in runs):
            timing[name] = combine_contender(runs, name)
            timing[recorded.ratio_to(name)] = combine_ratios(runs, name)
    own = {key: value for key, value in runs[0].items() if key in ("below", "fp16_sums")}
    return {
        "step": runs[0]["step"],
        "idea": runs[0]["idea"],
        **own,
        "timing": timing,
        "verification": runs[0]["verification"],
        "passes": [read_once(run) for run in runs],
    }


def combine_all(names, runs, failures):
    """One record per rung that was tried: a result, or the reason why there is none."""
    rungs = []
    for name in names:
        if name in failures:
            passes = [read_once(run) for run in runs[name]]
            rungs.append({"step": name, "failed": failures[name], "passes": passes})
        elif runs[name]:
            rungs.append(combine_rung(runs[name]))
    return rungs


def compare(lower, upper, ratio):
    """Two neighbours by their ratios to the same other, pass by pass, so that drifts cancel."""
    medians = [rung["timing"][ratio]["pass_medians"] for rung in (lower, upper)]
    paired = [high / low for low, high in zip(*medians)]
    median = recorded.median(paired)
    return {
        "lower": lower["step"],
        "upper": upper["step"],
        "paired_ratio": median,
        "passes": len(paired),
        "passes_faster": sum(value > 1 for value in paired),
        "faster": median > 1,
    }


def compare_neighbours(rungs, ratio):
    """Every rung with the one that it grows from, or with the last before it if that one was not
    measured, and every variant with its rung, where both have a result. Rivals have no neighbours."""
    pairs = []
    by_name = {rung["step"]: rung for rung in rungs}
    last = None
    for rung in rungs:
        if recorded.is_rival(rung["step"]):
            continue
        if recorded.is_variant(rung["step"]):
            lower = by_name.get(recorded.rung_of(rung["step"]))
        else:
            lower, last = by_name.get(rung.get("below"), last), rung
        if lower and "failed" not in lower and "failed" not in rung:
            pairs.append(compare(lower, rung, ratio))
    return pairs


def wide_spread(rungs, ratio):
    """The rungs whose 90th percentile of that ratio is too far above the 10th."""
    figures = {rung["step"]: rung["timing"][ratio] for rung in rungs if "failed" not in rung}
    spreads = {name: figure["high"] / figure["low"] for name, figure in figures.items()}
    wide = {name: spread for name, spread in spreads.items() if spread > recorded.WIDE}
    return {"limit": recorded.WIDE, "steps": wide}


def compared_with(measure, runs):
    """cuBLAS or the plain copy over all runs, and each of the others over those that it ran in."""
    found = {}
    for name in (measure.other, *measure.besides):
        there = [run for run in runs if name in run["timing"]]
        if there:
            found[name] = over_all(there, name)
            said = there[0]["verification"].get(name)
            if name == "second_opinion" and said:
                found[name]["name"] = said["name"]
    return found


def combine_ladder(task, collected):
    """The record of a ladder, or None if no rung has a result."""
    options, measure = task.options, task.options.measure
    rungs = combine_all([name for name, _ in task.programs], collected.runs, collected.failures)
    good = [rung["step"] for rung in rungs if "failed" not in rung]
    if not good:
        return None
    every_run = [run for name in good for run in collected.runs[name]]
    return {
        "date": recorded.as_date(collected.date),
        "protocol": options.protocol,
        "problem": identity(every_run[0])["problem"],
        "passes": options.passes,
        "rounds": options.rounds,
        "interrupted": collected.interrupted,
        **compared_with(measure, every_run),
        **({"heuristics": collected.heuristics} if collected.heuristics else {}),
        **{key: every_run[0]["timing"][key] for key in ("gated",) if key in every_run[0]["timing"]},
        "rungs": rungs,
        "does_not_take": [{"step": n, "why": why} for n, why in collected.not_taken.items()],
        "wide_spread": wide_spread(rungs, measure.ratio),
        "neighbours": compare_neighbours(rungs, measure.ratio),
    }


def without_result(task, collected, dropped):
    """A ladder that has no result, and why."""
    if dropped:
        why = dropped
    elif collected is None:
        why = "not begun before the run was stopped"
    else:
        told = {**collected.failures, **collected.not_taken}
        why = "; ".join(told.values()) or "stopped before any rung had a result"
    shape = list(task.options.shape.values())
    return {"track": task.track, "protocol": task.options.protocol, "shape": shape, "why": why}


def combine_run(tasks, measured, users):
    """The record of everything that was measured, or None if no ladder has a result. `measured` is
    what was collected of each task that was begun."""
    ladders, without = [], []
    for task in tasks:
        collected = measured.ladders.get(task)
        ladder = combine_ladder(task, collected) if collected else None
        if ladder:
            ladders.append(ladder)
        else:
            without.append(without_result(task, collected, measured.dropped.get(task)))
    if not ladders:
        return None
    shared = identity(measured.first_run)
    return {
        "schema": recorded.RUN_SCHEMA,
        "kind": "run",
        "gpu": shared["gpu"],
        "commit": shared["commit"],
        "date": recorded.as_date(measured.date),
        "interrupted": measured.interrupted,
        "gpu_processes": users.record(),
        "ladders": ladders,
        "without_result": without,
    }
