"""Many runs of the rungs made into one record of a ladder."""

from __future__ import annotations

import json
from itertools import chain

from bench.records import figures, recorded, schema


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


def read_once(run):
    """What is read once per process: of a pass, all but its samples and what they come to."""
    measure, timing = recorded.measure_of(run), run["timing"]
    kept = {
        "date": run["date"],
        "check": run["verification"].get("check"),
        "copies": run["problem"].get("copies"),
        "idle_ms": timing.get("idle_ms"),
        "launches_per_round": timing.get("launches_per_round"),
    }
    kept = {key: value for key, value in kept.items() if value is not None}
    for name in ("step", *measure.contenders(timing)):
        read = {**dict.fromkeys(measure.readings), **timing[name]}
        kept[name] = {key: read[key] for key in read if key not in ("seconds", measure.rate)}
    return kept


def combine_rung(runs):
    """One rung's passes as one record."""
    first, timings = runs[0], [run["timing"] for run in runs]
    measure, passes = recorded.measure_of(first), [read_once(run) for run in runs]
    seconds = {
        name: list(chain(*(timing[name]["seconds"] for timing in timings)))
        for name in ("step", *measure.contenders(timings[0]))
        if all(name in timing for timing in timings)
    }
    return {
        **{key: first[key] for key in ("step", "idea", "below", "fp16_sums") if key in first},
        "timing": figures.of_timing(measure, first["problem"], seconds, passes),
        "verification": first["verification"],
        "passes": passes,
    }


def combine_all(collected):
    """One record per rung that was tried: a result, or the reason why there is none."""
    rungs = []
    for name, runs in collected.runs.items():
        if name in collected.failures:
            passes = [read_once(run) for run in runs]
            rungs.append({"step": name, "failed": collected.failures[name], "passes": passes})
        elif runs:
            rungs.append(combine_rung(runs))
    return rungs


def neighbours(rungs, ratio):
    """Every rung with the one that it grows from, or with the last before it if that one was not
    measured, and every variant with its rung, where both have a result. Rivals have no neighbours."""
    pairs, last = [], None
    by_name = {rung["step"]: rung for rung in rungs}
    for rung in rungs:
        if recorded.is_rival(rung["step"]):
            continue
        if recorded.is_variant(rung["step"]):
            lower = by_name.get(recorded.rung_of(rung["step"]))
        else:
            lower, last = by_name.get(rung.get("below"), last), rung
        if lower and "failed" not in lower and "failed" not in rung:
            pairs.append(figures.of_neighbours(lower, rung, ratio))
    return pairs


def others(measure, problem, good):
    """cuBLAS or the plain copy over all rungs, and each of the others; the samples are the rungs'."""
    found = {}
    for name in (measure.other, *measure.besides):
        combined = figures.of_other(name, measure, problem, good)
        if combined:
            del combined["seconds"]
            said = good[0]["verification"].get(name) if name == "second_opinion" else None
            found[name] = {**combined, **({"name": said["name"]} if said else {})}
    return found


def combine_ladder(task, collected, stopped):
    """The record of a ladder, or None if no rung has a result."""
    options = task.options
    rungs = combine_all(collected)
    good = [rung for rung in rungs if "failed" not in rung]
    if not good:
        return None
    first = collected.runs[good[0]["step"]][0]
    measure = recorded.measure_of(first)
    problem, searched = identity(first)["problem"], collected.heuristics
    return {
        "date": collected.date,
        "protocol": options.protocol,
        "problem": problem,
        "passes": options.passes,
        "rounds": options.rounds,
        "interrupted": stopped and collected.unfinished(options.passes),
        **others(measure, problem, good),
        **({"heuristics": searched} if searched else {}),
        **({"gated": first["timing"]["gated"]} if "gated" in first["timing"] else {}),
        "rungs": rungs,
        "does_not_take": [{"step": n, "why": why} for n, why in collected.not_taken.items()],
        "wide_spread": figures.of_wide_spread(good, measure.ratio),
        "neighbours": neighbours(rungs, measure.ratio),
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


def combine_run(tasks, measured, users, stopped):
    """The record of everything that was measured, or None if no ladder has a result. `measured` is
    what was collected of each task that was begun."""
    ladders, without = [], []
    for task in tasks:
        collected = measured.ladders.get(task)
        ladder = combine_ladder(task, collected, stopped) if collected else None
        if ladder:
            ladders.append(ladder)
        else:
            without.append(without_result(task, collected, measured.dropped.get(task)))
    if not ladders:
        return None
    shared = identity(measured.first_run)
    return {
        "schema": schema.SCHEMAS["run"],
        "kind": "run",
        "gpu": shared["gpu"],
        "commit": shared["commit"],
        "date": measured.date,
        "interrupted": stopped,
        "gpu_processes": users.record(),
        "ladders": ladders,
        "without_result": without,
    }
