#!/usr/bin/env python3
"""Runs every built rung several times, interleaved, and records one JSON for the whole ladder.

Of the t track, whose rungs move words, it records GB/s and the ratio to a plain copy on the device;
of the others TFLOPS and the ratio to cuBLAS.

With --build build --build build/variants the variants of the rungs (`make variants`) run between
them, each after its rung and compared with it.

A rung's program measures cuBLAS beside itself, round by round. This program interleaves the
processes as well: a pass goes once over all rungs, and every other pass goes backwards, so that a
slow drift of clock or temperature reaches all rungs alike. bench/results/README.md describes the
file that it writes.

Exit status: 0 all rungs verified and timed, 1 a rung failed (or two runs do not belong together),
2 bad usage, 77 this machine cannot run the first rung, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import recorded

DEFAULT_SIZE = 8192
DEFAULT_MOVED_SIZE = 32768
# Where a track's ladder starts: a01 and t01 compute something else than the rungs above them, and
# cuBLAS's time for the one says nothing of the other. --steps a01 runs it.
FIRST_RUNGS = {"v": "v00", "a": "a02", "t": "t02"}
CANNOT_RUN_HERE = 77
INTERRUPTED = 130
STOP_SECONDS = 10  # how long an interrupted rung may take to end by itself


class UsageError(Exception):
    """The command line asks for something that cannot be done: exit status 2."""


class CannotRun(Exception):
    """A rung says that this machine cannot run it: its one line."""


class RungFailed(Exception):
    """One rung failed; the ladder goes on without it."""


class Mismatch(Exception):
    """Two runs of different GPUs, commits or problems: they must not be merged."""


# --- the command line -----------------------------------------------------------------------


def positive(text):
    """An argparse type: an integer from 1 to 2^31 - 1."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from 1 to 2147483647")
    return int(text)


def unsigned64(text):
    """An argparse type: an integer from 0 to 2^64 - 1."""
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from 0 to 2^64 - 1")
    return int(text)


def add_selection(
    add, subfolder="steps", shape=f"{DEFAULT_SIZE}; {DEFAULT_MOVED_SIZE} for track t"
):
    """The options that say which programs run on which problem; other programs here share them."""
    add("--steps", metavar="v01,v02-x,...", help="what to run (default: all that is built)")
    add(
        "--build",
        metavar="DIR",
        type=Path,
        action="append",
        help=f"where the programs are, in DIR/{subfolder}; may be repeated (default: build)",
    )
    add("--size", type=positive, metavar="N", help=f"m = n = k = N (default: {shape})")
    for name in ("--m", "--n", "--k"):
        add(name, type=positive, metavar="N")
    add("--inputs", choices=("normal", "uniform", "integers", "bits"), default="normal")
    add("--seed", type=unsigned64, default=1)


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = argparse.ArgumentParser(
        description="Run the built rungs, interleaved with each other and with cuBLAS.",
        epilog="Exit status: 0 all verified, 1 a rung failed, 2 bad usage, "
        "77 this machine cannot run them, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add_selection(add)
    add("--track", choices=tuple(FIRST_RUNGS), default="v", help="which rungs (default: v)")
    add("--protocol", choices=("burst", "sustained"), default="burst")
    add("--passes", type=positive, default=5, help="times over the ladder (default 5)")
    add("--rounds", type=positive, default=4, help="rounds per process (default 4)")
    add(
        "--check",
        choices=("full", "sample"),
        help="how every pass checks (default: full in the first pass, sample afterwards; track t: "
        "always full)",
    )
    add("--device", type=int, default=0, metavar="I")
    add("--timeout", type=positive, default=600, metavar="S", help="seconds per process")
    add("--out", metavar="FILE", type=Path, help="default: a new file in bench/results")
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    return parser


def check_size(options):
    """UsageError if --size and another dimension are given."""
    if options.size is not None and any((options.m, options.n, options.k)):
        raise UsageError("--size sets m, n and k: give either --size or --m --n --k")


def measure_of(programs):
    """What is measured of these programs. UsageError if that is not the same of all of them."""
    moving = {name[0] == recorded.MOVING for name, _ in programs}
    if len(moving) > 1:
        raise UsageError(
            "--steps: rungs of the t track move words; the others have no time to compare"
        )
    return recorded.MOVES if moving == {True} else recorded.PRODUCTS


def shape_of(options):
    """{'m': ..., 'n': ..., 'k': ...} from --size or from --m, --n and --k; without k where there is
    none."""
    check_size(options)
    dimensions = options.measure.dimensions
    if options.k is not None and "k" not in dimensions:
        raise UsageError(
            f"--k {options.k}: rungs of the t track move a matrix of m x n; there is no k"
        )
    size = options.size or (DEFAULT_SIZE if "k" in dimensions else DEFAULT_MOVED_SIZE)
    return {name: getattr(options, name) or size for name in dimensions}


def step_name(text):
    """'v07' for v07, v7 or 7; 'v07-balanced' for the variant, with the same freedom."""
    match = re.fullmatch(r"([vat]?)([0-9]{1,2})(-[a-z0-9-]+)?", text.strip())
    if not match:
        raise UsageError(f"--steps: '{text}' is not a rung; write for instance v01,v02,v07")
    return f"{match.group(1) or 'v'}{int(match.group(2)):02}{match.group(3) or ''}"


def is_program(path):
    """True for a file that can be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def built_programs(builds, subfolder):
    """Every rung and variant in the build directories: a map from its name to its path."""
    found = {}
    for folder in (build / subfolder for build in builds):
        if not folder.is_dir():
            raise UsageError(f"no built rung in {folder}: run 'make ladder', or name --build DIR")
        for path in folder.glob("[vat][0-9][0-9]*"):
            if not recorded.NAME.fullmatch(path.name) or not is_program(path):
                continue
            if found.setdefault(path.name, path.resolve()) != path.resolve():
                raise UsageError(f"--build: {path.name} is built in more than one of them")
    return found


def find_programs(builds, steps, subfolder="steps", tracks="v"):
    """What to run, lowest first and a variant after its rung: a list of (name, path). Without
    `steps` that is everything of the tracks."""
    builds = builds or [recorded.ROOT / "build"]
    places = ", ".join(str(build / subfolder) for build in builds)
    built = built_programs(builds, subfolder)
    if steps is None:
        names = [name for name in built if name[0] in tracks]
        if not names:
            raise UsageError(f"no built rung in {places}: run 'make ladder', or name --build DIR")
    else:
        names = {step_name(text) for text in steps.split(",")}
    missing = sorted(name for name in names if name not in built)
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not built in {places} ('make step N=...' builds a rung, "
            "'make variants' all variants)"
        )
    return [(name, built[name]) for name in sorted(names, key=recorded.name_order)]


def check_destination(out):
    """Refuses a file that could not be written, before anything is run."""
    folder = out.parent if out else recorded.RESULTS
    if not folder.is_dir():
        raise UsageError(f"--out: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out: the directory {folder} is not writable")
    if out and out.is_dir():
        raise UsageError(f"--out: {out} is a directory; name a file")


# --- the plan -------------------------------------------------------------------------------


def make_plan(programs, passes):
    """Every run in its order: (pass, name, path), each other pass from the top down."""
    plan = []
    for index in range(passes):
        order = programs if index % 2 == 0 else programs[::-1]
        plan += [(index, name, path) for name, path in order]
    return plan


def command_of(options, path, index, json_path):
    """The command line of one run of one rung."""
    moves = options.measure is recorded.MOVES
    check = options.check or ("full" if index == 0 or moves else "sample")
    pairs = {
        **{f"--{name}": value for name, value in options.shape.items()},
        "--inputs": options.inputs,
        "--seed": options.seed,
        "--protocol": options.protocol,
        "--rounds": options.rounds,
        "--check": check,
        "--device": options.device,
        "--json": json_path,
    }
    return [str(path)] + [str(word) for pair in pairs.items() for word in pair]


def print_plan(options, plan):
    """What --dry-run shows."""
    shape = "x".join(map(str, options.shape.values()))
    where = options.out or recorded.RESULTS / f"<gpu>-{shape}-{options.protocol}-<date>.json"
    for index, _, path in plan:
        words = command_of(options, path, index, "<temporary file>")
        print(f"pass {index + 1}:", " ".join(shlex.quote(word) for word in words))
    print(f"{len(plan)} runs, then {where}")


# --- one run --------------------------------------------------------------------------------


def stop(process):
    """Ends a rung that still runs: asks first, since it may be inside a GPU launch."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(text):
    """The last line that isn't blank, or an empty string."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def complaint(output, errors):
    """Why a rung failed, in its own words: its WRONG line, else its last line on stderr."""
    wrong = [line.strip() for line in output.splitlines() if line.startswith("WRONG")]
    return wrong[0] if wrong else last_line(errors) or last_line(output) or "it printed nothing"


def start(command, output, errors):
    """Starts a rung in a session of its own: a Ctrl-C at the terminal is ours to pass on."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        raise RungFailed(f"cannot start {command[0]}: {error.strerror}") from error


def scratch():
    """A temporary file for what a rung prints; odd bytes in it are no reason to fail."""
    return tempfile.TemporaryFile("w+", errors="replace")


def execute(command, timeout):
    """Runs one rung to its end and returns (exit status, stdout, stderr)."""
    with scratch() as output, scratch() as errors:
        process = start(command, output, errors)
        try:
            status = process.wait(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise RungFailed(f"not finished after {timeout} s") from error
        finally:
            stop(process)
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


def explain(status, output, errors):
    """The reason to record for a rung that did not exit 0."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}: {complaint(output, errors)}"
    return f"exit status {status}: {complaint(output, errors)}"


def run_rung(options, name, path, index, folder):
    """One run of one rung: its JSON, checked. Raises RungFailed or CannotRun."""
    json_path = folder / f"{name}-{index}.json"
    command = command_of(options, path, index, json_path)
    status, output, errors = execute(command, options.timeout)
    if status == CANNOT_RUN_HERE:
        raise CannotRun(complaint(output, errors))
    if status != 0:
        raise RungFailed(explain(status, output, errors))
    return read_run(options, name, json_path)


def refuse_constant(text):
    """NaN and Infinity aren't JSON and have no place among results."""
    raise ValueError(f"it holds {text}")


def read_run(options, name, json_path):
    """Reads what a rung recorded and refuses anything that isn't the run that was asked for."""
    try:
        text = json_path.read_text(encoding="utf-8")
        run = json.loads(text, parse_constant=refuse_constant)
        check_run(options, name, run)
        check_timing(options, run["timing"])
    except (OSError, ValueError) as error:
        raise RungFailed(f"its JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RungFailed(f"its JSON lacks or garbles a field: {error!r}") from error
    return run


def check_run(options, name, run):
    """ValueError, KeyError or TypeError unless `run` is whole, verified and what was asked."""
    if (run["schema"], run["kind"], run["step"]) != (recorded.SCHEMA, "step", name):
        raise ValueError(f"schema {run['schema']}, kind {run['kind']}, step {run['step']}")
    asked = dict(options.shape, inputs=options.inputs, seed=options.seed)
    problem = {key: run["problem"][key] for key in asked}
    if recorded.measure_of(run) is not options.measure:
        raise ValueError("it has a k, or lacks one")
    if problem != asked:
        raise ValueError(f"it ran {problem}, asked was {asked}")
    if run["verification"]["verified"] is not True:
        raise ValueError("exit status 0, but not verified")
    for text in (run["idea"], run["commit"], run["gpu"]["name"]):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} where a text should stand")


def check_timing(options, timing):
    """ValueError, KeyError or TypeError unless all contenders have all their times."""
    if timing["protocol"] != options.protocol or timing["interrupted"]:
        raise ValueError("interrupted, or timed by another protocol")
    measure = options.measure
    third = [timing[measure.beside]] if measure.beside in timing else []
    for contender in [timing["step"], timing[measure.other], *third]:
        seconds = contender["seconds"]
        if len(seconds) != options.rounds or not all(0 < value < 3600 for value in seconds):
            raise ValueError(f"{options.rounds} times expected, found {seconds}")
        for key in measure.readings:
            if not isinstance(contender.get(key), (int, float, type(None))):
                raise TypeError(f"{key} is {contender[key]!r}")
    if not timing[measure.work] > 0:
        raise ValueError(f"{measure.work} is {timing[measure.work]}")


# --- many runs into one ----------------------------------------------------------------------


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


# --- progress --------------------------------------------------------------------------------


class Progress:
    """A bar with the time left on a terminal, one line per run in a log."""

    WIDTH = 30

    def __init__(self, total, stream=sys.stderr):
        self.total = total
        self.done = 0
        self.stream = stream
        self.terminal = stream.isatty()
        self.last = {}  # seconds that each rung's latest run took

    def seconds_left(self, remaining):
        """Each run to come takes what its rung took last, or the average of the others."""
        if not self.last:
            return None
        average = sum(self.last.values()) / len(self.last)
        return sum(self.last.get(name, average) for name in remaining)

    def running(self, index, name, remaining):
        """Shows the run that starts now; `remaining` names it and all that follow."""
        if not self.terminal:
            return
        left = self.seconds_left(remaining)
        time_left = "" if left is None else f", {int(left // 60)}:{int(left % 60):02} left"
        bar = "#" * (self.WIDTH * self.done // self.total)
        count = f"{self.done}/{self.total}"
        self.write(f"\r\033[K[{bar:.<{self.WIDTH}}] {count} pass {index + 1} {name}{time_left}")

    def finished(self, index, name, seconds, outcome):
        """Counts a run, and logs it where there is no bar."""
        self.done += 1
        self.last[name] = seconds
        if not self.terminal:
            self.write(f"pass {index + 1}, {name}: {outcome} ({seconds:.1f} s)\n")

    def dropped(self, count):
        """Runs that will not happen because their rung failed."""
        self.total -= count

    def note(self, text):
        """A whole line, above the bar if there is one."""
        self.write(f"{self.clearing()}{text}\n")

    def close(self):
        """Takes the bar away."""
        self.write(self.clearing())

    def clearing(self):
        return "\r\033[K" if self.terminal else ""

    def write(self, text):
        self.stream.write(text)
        self.stream.flush()


# --- the ladder ------------------------------------------------------------------------------


class Collected:
    """What has been measured so far."""

    def __init__(self, names):
        self.date = time.gmtime()  # UTC
        self.runs = {name: [] for name in names}
        self.failures = {}
        self.interrupted = False

    def first_run(self):
        """Any run that succeeded, or None."""
        return next((run for runs in self.runs.values() for run in runs), None)

    def add(self, run):
        """Keeps a run if it belongs to the others."""
        require_same(self.first_run() or run, run)
        self.runs[run["step"]].append(run)


def outcome_of(run):
    """A run in a few words, for the log."""
    timing, measure = run["timing"], recorded.measure_of(run)
    rate = timing[measure.work] / recorded.median(timing["step"]["seconds"]) / measure.units
    ratio = recorded.median(round_ratios(run))
    return f"{rate:.1f} {measure.unit}, {ratio:.3f} of {measure.other_name}"


def run_one(options, entry, collected, progress, folder):
    """One entry of the plan. A failure is noted; 77 of the very first run ends the ladder."""
    index, name, path = entry
    began = time.monotonic()
    try:
        run = run_rung(options, name, path, index, folder)
        outcome = outcome_of(run)
        collected.add(run)
    except CannotRun as error:
        if progress.done == 0:
            raise
        outcome = f"exit status 77: {error}"
        collected.failures[name] = outcome
    except RungFailed as error:
        outcome = str(error)
        collected.failures[name] = outcome
    if name in collected.failures:
        progress.note(f"{name} FAILED in pass {index + 1}: {outcome}")
    progress.finished(index, name, time.monotonic() - began, outcome)


def run_plan(options, plan, collected, progress, folder):
    """All runs in order, without the rungs that failed on the way."""
    while plan:
        index, name, _ = plan[0]
        progress.running(index, name, [entry[1] for entry in plan])
        run_one(options, plan[0], collected, progress, folder)
        rest = [entry for entry in plan[1:] if entry[1] not in collected.failures]
        progress.dropped(len(plan) - 1 - len(rest))
        plan = rest


def measure(options, programs):
    """Runs the ladder and returns what was collected, also after a Ctrl-C."""
    collected = Collected([name for name, _ in programs])
    plan = make_plan(programs, options.passes)
    progress = Progress(len(plan))
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        try:
            run_plan(options, plan, collected, progress, Path(folder))
        except KeyboardInterrupt:
            collected.interrupted = True
            progress.note("interrupted: keeping the runs that are finished")
        finally:
            progress.close()
    return collected


# --- the table -------------------------------------------------------------------------------


def cell(value, digits, unit="", scale=1):
    """A number in a column, or a dash where there is none."""
    return "-" if value is None else f"{value * scale:.{digits}f}{unit}"


def spread(values, digits):
    """'801.2 (796.0 to 804.9)'."""
    median, low, high = (f"{values[key]:.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def table_row(rung, measure):
    """One rung's cells."""
    if "failed" in rung:
        return [rung["step"], "FAILED: " + rung["failed"]]
    step = rung["timing"]["step"]
    return [
        rung["step"],
        rung["idea"],
        spread(step[measure.rate], 1),
        spread(rung["timing"][measure.ratio], 3),
        cell(step[measure.share], 1, " %", 100),
        cell(step["sm_clock_ghz"], 3, " GHz"),
    ]


def other_row(contender, measure, name, what, ratio):
    """The cells of somebody whom the rungs are compared with."""
    share = cell(contender[measure.share], 1, " %", 100)
    clock = cell(contender["sm_clock_ghz"], 3, " GHz")
    return [name, what, spread(contender[measure.rate], 1), ratio, share, clock]


def other_rows(ladder, measure):
    """They over all rounds of all rungs; cuBLAS with fp16 sums over those that it ran beside."""
    if measure is recorded.MOVES:
        second = ladder.get(measure.beside, {}).get("name", "the second opinion")
        words = (("copy", "cudaMemcpyAsync"), ("other", second))
    else:
        words = (("cuBLAS", "its default"), ("cuBLAS", "with fp16 sums"))
    rows = [other_row(ladder[measure.other], measure, *words[0], "1")]
    if measure.beside in ladder:
        rows.append(other_row(ladder[measure.beside], measure, *words[1], "-"))
    return rows


def print_aligned(rows):
    """Columns as wide as their widest cell; a short row (a failure) may run over."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in full) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def neighbour_line(pair):
    """'v08 faster than v07: yes (1.012, in 5 of 5 passes)'."""
    verdict = "yes" if pair["faster"] else "NO"
    passes = f"in {pair['passes_faster']} of {pair['passes']} passes"
    return f"{pair['upper']} faster than {pair['lower']}: {verdict} " + (
        f"(paired ratio {pair['paired_ratio']:.4f}, {passes})"
    )


def print_ladder(ladder):
    """The ladder's table and the comparison of neighbours."""
    gpu, problem, measure = ladder["gpu"], ladder["problem"], recorded.measure_of(ladder)
    shape = " ".join(f"{name}={problem[name]}" for name in measure.dimensions)
    print(
        f"{gpu['name']}, {shape}, inputs {problem['inputs']}, {ladder['protocol']}, "
        f"commit {ladder['commit']}" + (", INTERRUPTED" if ladder["interrupted"] else "")
    )
    columns = [f"{measure.unit} (p10 to p90)", f"of {measure.other_name} (p10 to p90)"]
    header = ["rung", "idea", *columns, measure.share.split("_")[0], "clock"]
    rows = [header] + [table_row(rung, measure) for rung in ladder["rungs"]]
    print_aligned(rows + other_rows(ladder, measure))
    for pair in ladder["neighbours"]:
        print(neighbour_line(pair))


# --- the file --------------------------------------------------------------------------------


def default_name(ladder, date):
    """nvidia-h200-8192x8192x8192-burst-20250131T120000Z.json, with -variants if it has some. Other
    tracks than v say their name: -burst-a-."""
    tracks = {name[0] for name in recorded.all_names(ladder)} - {"v"}
    variants = ["variants"] if recorded.has_variants(ladder) else []
    words = "-".join([ladder["protocol"], *sorted(tracks), *variants])
    return recorded.file_name(ladder, words, date)


def write_ladder(options, ladder, date):
    """Writes the record and returns its path."""
    path = options.out or recorded.RESULTS / default_name(ladder, date)
    text = json.dumps(ladder, indent=1, allow_nan=False, ensure_ascii=False)
    recorded.write_whole(path, (text + "\n").encode("utf-8"))
    return path


def report(options, names, collected):
    """Writes and prints what there is; returns the exit status."""
    ladder = combine_ladder(options, names, collected)
    if ladder is None:
        print("ladder: no rung has a result; nothing is written", file=sys.stderr)
    else:
        print_ladder(ladder)
        print(f"recorded in {write_ladder(options, ladder, collected.date)}")
    if collected.interrupted:
        return INTERRUPTED
    return 1 if collected.failures else 0


def catch_signals():
    """SIGTERM ends the ladder as a Ctrl-C does, also where SIGINT was ignored at the start."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def ignore_signals():
    """Nothing interrupts the writing of the file."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    check_size(options)
    if options.device < 0:
        raise UsageError("--device: an index from 0 upwards is wanted")
    programs = find_programs(options.build, options.steps, tracks=options.track)
    options.measure = measure_of(programs)
    options.shape = shape_of(options)
    if options.steps is None:  # one ladder is one computation
        programs = [(name, path) for name, path in programs if name >= FIRST_RUNGS[options.track]]
    check_destination(options.out)
    if options.dry_run:
        print_plan(options, make_plan(programs, options.passes))
        return 0
    catch_signals()
    collected = measure(options, programs)
    ignore_signals()
    return report(options, [name for name, _ in programs], collected)


def main():
    """Turns the errors that are expected into one line and an exit status."""
    try:
        return ladder_main(sys.argv[1:])
    except UsageError as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 2
    except CannotRun as error:
        print(error, file=sys.stderr)
        return CANNOT_RUN_HERE
    except (Mismatch, OSError) as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
