#!/usr/bin/env python3
"""Recorded results are whole and consistent; the README, notes and plots show what they say.

Figures are recomputed here from the raw samples with Python's own statistics module, not with the
code that wrote them. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PLOTS = ROOT / "plots"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
SMALLEST_PNG = 10_000  # bytes; an empty picture of this size takes less

sys.path.insert(0, str(ROOT / "bench"))
import recorded

failed = 0


def case(name, check, *arguments):
    """Runs one case and prints its line; `check` raises if the case fails."""
    global failed
    try:
        check(*arguments)
    except Exception as error:  # noqa: BLE001 (a broken file may break in any way; each is one failed case)
        failed += 1
        print(f"not ok - {name}: {type(error).__name__}: {error}".replace("\n", " "))
    else:
        print(f"ok - {name}")


def require(condition, why):
    """AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(why)


def equal(stored, computed, what):
    """Stored and recomputed figures may differ in the last bits only."""
    if not math.isclose(stored, computed, rel_tol=1e-9):
        raise AssertionError(f"{what}: stored {stored!r}, recomputed {computed!r}")


def parse(path):
    """The file's JSON. NaN and Infinity aren't JSON."""

    def refuse(text):
        raise ValueError(f"holds {text}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def check_origin(record):
    """Says what was measured, on what and when, whatever its kind."""
    require(record["schema"] == 1, f"schema is {record['schema']}")
    for key in ("name", "compute_capability", "sms", "driver", "cuda", "cublas"):
        require(record["gpu"][key], f"gpu.{key} is empty")
    require("power_limit_watts" in record["gpu"], "gpu.power_limit_watts is missing")
    for key in (*recorded.measure_of(record).dimensions, "inputs"):
        require(record["problem"][key], f"problem.{key} is empty")
    require("seed" in record["problem"], "problem.seed is missing")
    for key in ("commit", "date"):
        require(record[key], f"{key} is empty")


def check_header(ladder):
    """Says what was measured, on what, how and when."""
    check_origin(ladder)
    require(ladder["kind"] == "ladder", f"kind is {ladder['kind']}")
    require(ladder["protocol"] in ("burst", "sustained"), f"protocol {ladder['protocol']}")
    require(ladder["rungs"], "no rungs")
    names = [rung["step"] for rung in ladder["rungs"]]
    require(names == sorted(set(names), key=recorded.name_order), f"not in order: {names}")


def check_counters_header(record):
    """Says what was counted, on what and when."""
    check_origin(record)
    require(record["metrics"], "no metrics")
    require(record["steps"], "no steps")


def check_counted(record, step):
    """One program's counts: a number or null for every metric, of its kernel and cuBLAS's."""
    if "failed" in step:
        require(step["failed"], "failed without a reason")
        return
    moves = recorded.measure_of(record) is recorded.MOVES
    kernels = ("transpose", "add_one") if moves else ("gemm",)
    require(step["kernel"] in kernels, f"counted {step['kernel']}")
    for contender in (step,) if moves else (step, step["cublas"]):
        require(contender["launches"] > 0, "no launches")
        counters = contender["counters"]
        require(list(counters) == record["metrics"], f"holds {list(counters)}")
        known = [value for value in counters.values() if value is not None]
        require(known, "ncu knew none of the metrics")
        require(all(value >= 0 for value in known), f"a count below 0: {known}")


def check_summary(stored, samples, what):
    """Median, 10th and 90th percentile are what the samples give."""
    equal(stored["median"], statistics.median(samples), f"{what} median")
    several = samples if len(samples) > 1 else samples * 2  # quantiles() wants two or more
    deciles = statistics.quantiles(several, n=10, method="inclusive")
    equal(stored["low"], deciles[0], f"{what} p10")
    equal(stored["high"], deciles[-1], f"{what} p90")


def check_contender(name, stored, passes):
    """One contender's combined figures against the raw samples of the passes."""
    measure = recorded.measure_of(passes[0])
    seconds = [value for run in passes for value in run["timing"][name]["seconds"]]
    require(stored["seconds"] == seconds, f"{name}: samples aren't those of the passes")
    rates = [passes[0]["timing"][measure.work] / value / measure.units for value in seconds]
    check_summary(stored[measure.rate], rates, f"{name} {measure.unit}")
    for key in measure.readings:
        known = [run["timing"][name].get(key) for run in passes]
        known = [value for value in known if value is not None]
        if known:
            equal(stored[key], statistics.median(known), f"{name} {key}")
        else:
            require(stored[key] is None, f"{name} {key}: no pass has it")


def check_ratios(stored, passes):
    """Ratios to cuBLAS or a plain copy, round by round, and each pass's median."""
    per_pass = []
    for run in passes:
        timing = run["timing"]
        other = timing[recorded.measure_of(run).other]
        pairs = zip(other["seconds"], timing["step"]["seconds"])
        per_pass.append([theirs / step for theirs, step in pairs])
    samples = [ratio for ratios in per_pass for ratio in ratios]
    require(len(samples) == len(stored["samples"]), "not one ratio per round")
    check_summary(stored, samples, "ratio")
    for found, ratios in zip(stored["pass_medians"], per_pass):
        equal(found, statistics.median(ratios), "a pass's median ratio")


def check_rung(ladder, rung):
    """One rung: verified in every pass, all from one GPU and commit, figures right."""
    if "failed" in rung:
        require(rung["failed"], "failed without a reason")
        return
    passes, measure = rung["passes"], recorded.measure_of(ladder)
    require(passes, "no passes")
    if not ladder["interrupted"]:
        require(len(passes) == ladder["passes"], f"{len(passes)} passes")
    for run in passes:
        require(run["step"] == rung["step"], f"holds a run of {run['step']}")
        require(run["gpu"] == ladder["gpu"], "another GPU")
        require(run["commit"] == ladder["commit"], "another commit")
        require(run["timing"]["protocol"] == ladder["protocol"], "another protocol")
        require(run["verification"]["verified"] is True, "a pass isn't verified")
        for key in (*measure.dimensions, "inputs", "seed"):
            require(run["problem"][key] == ladder["problem"][key], f"another {key}")
    for name in ("step", measure.other):
        check_contender(name, rung["timing"][name], passes)
    check_ratios(rung["timing"][measure.ratio], passes)


def check_other(ladder):
    """cuBLAS, or the plain copy, over the whole ladder."""
    passes = [run for rung in recorded.measured(ladder) for run in rung["passes"]]
    other = recorded.measure_of(ladder).other
    check_contender(other, ladder[other], passes)


def check_neighbours(ladder):
    """Every neighbour pair's ratio, from the passes' medians; a variant's is with its rung."""
    medians = {
        rung["step"]: rung["timing"][recorded.measure_of(ladder).ratio]["pass_medians"]
        for rung in recorded.measured(ladder)
    }
    for pair in ladder["neighbours"]:
        paired = [high / low for low, high in zip(medians[pair["lower"]], medians[pair["upper"]])]
        if recorded.is_variant(pair["upper"]):
            rung = recorded.rung_of(pair["upper"])
            require(pair["lower"] == rung, f"{pair['upper']} compared with {pair['lower']}")
        equal(pair["paired_ratio"], statistics.median(paired), f"{pair['upper']} paired ratio")
        require(pair["faster"] == (pair["paired_ratio"] > 1), f"{pair['upper']}: faster?")


def check_counters(path, record):
    """All cases of one file of counters."""
    case(f"{path.name} says what was counted", check_counters_header, record)
    for step in record.get("steps", []):
        case(f"{path.name} {step.get('step')} is counted", check_counted, record, step)


def check_file(path):
    """All cases of one recorded file."""
    case(f"{path.name} parses", parse, path)
    try:
        ladder = parse(path)
    except (OSError, ValueError):
        return
    if isinstance(ladder, dict) and ladder.get("kind") == "counters":
        check_counters(path, ladder)
        return
    case(f"{path.name} says what was measured", check_header, ladder)
    if not isinstance(ladder, dict) or not isinstance(ladder.get("rungs"), list):
        return
    for rung in ladder["rungs"]:
        case(f"{path.name} {rung.get('step')} follows from its samples", check_rung, ladder, rung)
    case(f"{path.name} what is beside follows from its samples", check_other, ladder)
    case(f"{path.name} neighbours follow from their passes", check_neighbours, ladder)


def check_readme():
    """The README's table is what readme_table.py would write."""
    command = [sys.executable, str(ROOT / "bench" / "readme_table.py"), "--check"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    require(result.returncode == 0, result.stderr.strip())


def check_notes():
    """The notes' tables are what notes_tables.py would write."""
    command = [sys.executable, str(ROOT / "bench" / "notes_tables.py"), "--check"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    require(result.returncode == 0, result.stderr.strip())


def check_png():
    """plots/ladder.png is a PNG of some size."""
    data = (PLOTS / "ladder.png").read_bytes()
    require(data.startswith(PNG_SIGNATURE), "not a PNG")
    require(len(data) >= SMALLEST_PNG, f"only {len(data)} bytes")


def check_svg(headline):
    """plots/ladder.svg names every rung and was drawn from the headline run."""
    ladder = recorded.load_ladder(headline)
    text = (PLOTS / "ladder.svg").read_text(encoding="utf-8")
    for rung in ladder["rungs"]:
        require(f">{rung['step']}<" in text, f"{rung['step']} isn't labelled")
    for words in (f"{ladder['date'][:10]}, commit {ladder['commit']}", ladder["gpu"]["name"]):
        require(words in text, f"'{words}' isn't in it: drawn from another run ('make plots')")
    for rung in recorded.measured(ladder):
        value = f"{rung['timing']['step']['tflops']['median']:.0f}"
        require(f">{value}<" in text, f"{rung['step']}'s {value} TFLOPS aren't in it")


def main():
    """All cases; returns the exit status."""
    case("the README's results are the recorded ones", check_readme)
    case("the notes' tables are the recorded ones", check_notes)
    files = sorted(RESULTS.glob("*.json"))
    if not files:
        print("skip - recorded results: none are recorded yet")
    for path in files:
        check_file(path)
    try:
        headline = recorded.newest_headline()
    except (ValueError, KeyError, TypeError):
        headline = None  # already counted above
    if headline:
        case("plots/ladder.png is a picture", check_png)
        case("plots/ladder.svg shows every rung recorded", check_svg, headline)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
