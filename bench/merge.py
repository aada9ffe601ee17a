"""Many runs of the rungs made into one record of a ladder."""

from __future__ import annotations

import json
import time

import recorded


class Mismatch(Exception):
    """Two runs of different GPUs, commits or problems: they must not be merged."""


def identity(run):
    """What all runs of one ladder must share."""
    problem = {key: value for key, value in run["problem"].items() if key != "copies"}
    return {"gpu": run["gpu"], "commit": run["commit"], "problem": problem}


def require_same(first, run):
    """Raises Mismatch, naming the difference, unless both runs belong to one ladder."""
    one, other = identity(first), identity(run)
    for key, value in one.items():
        if value != other[key]:
            raise Mismatch(
                f"{first['step']} and {run['step']} differ in {key}: "
                f"{json.dumps(value)} and {json.dumps(other[key])}; nothing is merged or written"
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
        known = [value for value in values if value is not None]
        combined[key] = recorded.median(known) if known else None
    return combined


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


def combine_rung(runs):
    """One rung's passes as one record; the passes stay in it as they were."""
    measure = recorded.measure_of(runs[0])
    third = measure.beside
    beside = {}
    if all(third in run["timing"] for run in runs):
        beside = {
            third: combine_contender(runs, third),
            f"ratio_to_{third}": combine_ratios(runs, third),
        }
    sums = {key: value for key, value in runs[0].items() if key == "fp16_sums"}
    return {
        "step": runs[0]["step"],
        "idea": runs[0]["idea"],
        **sums,
        "timing": {
            measure.work: runs[0]["timing"][measure.work],
            "step": combine_contender(runs, "step"),
            measure.other: combine_contender(runs, measure.other),
            measure.ratio: combine_ratios(runs, measure.other),
            **beside,
        },
        "passes": runs,
    }


def combine_all(names, runs, failures):
    """One record per rung that was tried: a result, or the reason why there is none."""
    rungs = []
    for name in names:
        if name in failures:
            rungs.append({"step": name, "failed": failures[name], "passes": runs[name]})
        elif runs[name]:
            rungs.append(combine_rung(runs[name]))
    return rungs


def compare(lower, upper):
    """Two neighbours by their ratios to the same other, pass by pass, so that drifts cancel."""
    ratio = recorded.measure_of(upper["passes"][0]).ratio
    medians = [rung["timing"][ratio]["pass_medians"] for rung in (lower, upper)]
    paired = [high / low for low, high in zip(*medians)]
    ratio = recorded.median(paired)
    return {
        "lower": lower["step"],
        "upper": upper["step"],
        "paired_ratio": ratio,
        "passes": len(paired),
        "passes_faster": sum(value > 1 for value in paired),
        "faster": ratio > 1,
    }


def compare_neighbours(rungs):
    """Every rung with the one below it and every variant with its rung, where both have a result."""
    pairs = []
    below = None
    for rung in rungs:
        lower = below
        if recorded.is_variant(rung["step"]):
            same = below and below["step"] == recorded.rung_of(rung["step"])
            lower = below if same else None
        else:
            below = rung
        if lower and "failed" not in lower and "failed" not in rung:
            pairs.append(compare(lower, rung))
    return pairs


def combine_ladder(options, names, collected):
    """The record of the whole ladder, or None if no rung has a result."""
    rungs = combine_all(names, collected.runs, collected.failures)
    good = [rung for rung in rungs if "failed" not in rung]
    if not good:
        return None
    every_run = [run for rung in good for run in rung["passes"]]
    first = identity(every_run[0])
    other, third = options.measure.other, options.measure.beside
    beside = [run for run in every_run if third in run["timing"]]
    thirds = {third: combine_contender(beside, third)} if beside else {}
    if beside and options.measure is recorded.MOVES:
        thirds[third]["name"] = beside[0]["verification"][third]["name"]
    return {
        "schema": recorded.SCHEMA,
        "kind": "ladder",
        "gpu": first["gpu"],
        "commit": first["commit"],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", collected.date),
        "protocol": options.protocol,
        "problem": first["problem"],
        "passes": options.passes,
        "rounds": options.rounds,
        "interrupted": collected.interrupted,
        other: combine_contender(every_run, other),
        **thirds,
        "rungs": rungs,
        "neighbours": compare_neighbours(rungs),
    }
