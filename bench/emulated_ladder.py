#!/usr/bin/env python3
"""Checks every built rung on the emulator, and shows the counts of a launch. No GPU is needed.

The rungs run side by side, one per core. Only the emulation itself is timed, which says nothing
about a GPU and isn't recorded. The counts are recorded, in emulated-ladder.json of the build
directory unless --out names another file. bench/results/README.md describes it.

Exit status: 0 all rungs verified (or do not take the shape), 1 a rung failed, 2 bad usage, 130
interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench import process, rung_run, selection, shapes, tables
from bench.progress import Progress
from bench.records import recorded, schema
from bench.selection import Entry


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    selection.add_selection(add, "emulated", "a small shape of the rung's own")
    selection.add_ladders(add, "all")
    protocols = (*recorded.PROTOCOLS, "both")
    add("--protocol", choices=protocols, help="left out: the emulator measures no time")
    add("--policy", metavar="NAME", help="the order of events (default: eager, lazy, one random)")
    add("--check", choices=("full", "sample"), default="full")
    cores = os.cpu_count() or 1
    add("--jobs", type=selection.positive, default=cores, help="default: one per core")
    usual = "default: emulated-ladder.json in the first build directory"
    add("--out", metavar="FILE", type=Path, help=usual)
    return parser


# --- the runs -------------------------------------------------------------------------------


def given_shape(options, track):
    """The dimensions that --size, or --m, --n and --k give; there may be none, and the others are left
    to the rung."""
    names = shapes.measure_of_track(track).dimensions
    found = {name: getattr(options, name) or options.size for name in names}
    return {name: value for name, value in found.items() if value is not None}


def check_sizes(sizes):
    """UsageError for lists of shapes that are made for a GPU."""
    for word in (sizes or "").lower().split(","):
        if shapes.named(word.strip(), moves=False):
            raise selection.UsageError(
                f"--sizes: '{word.strip()}' are shapes for a GPU, on which the emulator would work "
                "for days; write small ones, such as 256,512x256x64"
            )


def make_plan(tasks):
    """Every rung on every shape, shape by shape, called 'v01' or 'v01 at 256x512x64'."""
    plan = []
    for task in tasks:
        where = f" at {shapes.shape_text(task.options.shape)}" if task.options.shape else ""
        plan += [Entry(task, name, path, f"{name}{where}") for name, path in task.programs]
    return plan


def command_of(entry, json_path):
    """The command line of one rung. One that moves words takes no sample."""
    options = entry.task.options
    pairs = {
        **rung_run.problem_words(options),
        "--policy": options.policy,
        "--check": "full" if options.measure is recorded.MOVES else options.check,
        "--json": json_path,
    }
    return rung_run.words_of(entry.path, pairs)


def result_of(entry, running, json_path):
    """What a rung recorded, or {'step', 'failed'} or {'step', 'does_not_take'}, and that in words."""
    options, form = entry.task.options, schema.EMULATED_PROGRAM
    check = partial(rung_run.check_run, options, entry.name, form=form)
    try:
        return rung_run.result_of(entry.name, running, json_path, check), "verified"
    except process.DoesNotTake as error:
        said = str(error)
        return {"step": entry.name, "does_not_take": said}, f"does not take this shape: {said}"
    except process.RungFailed as error:
        return {"step": entry.name, "failed": error.recorded()}, error.recorded()


def run_all(options, plan):
    """All runs, some at a time: a record of each that ended, in the plan's order, and whether it was
    interrupted."""
    progress, results = Progress(options.jobs), {}
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:

        def json_path(entry):
            return Path(folder) / f"{entry.label}.json"

        def start(entry):
            return command_of(entry, json_path(entry))

        def finish(entry, running):
            seconds = running.seconds()
            record, outcome = result_of(entry, running, json_path(entry))
            results[entry] = {**record, "emulation_seconds": seconds}
            return outcome, False

        interrupted = False
        try:
            rung_run.run_all(plan, start, finish, progress, options.timeout, options.jobs)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            progress.close()
    return {entry: results[entry] for entry in plan if entry in results}, interrupted


# --- the table ------------------------------------------------------------------------------


def is_result(record):
    """True for what has counts."""
    return "failed" not in record and "does_not_take" not in record


def table_row(entry, record, several):
    """One rung's cells; with its shape if there are several."""
    first = [entry.name]
    if several:
        asked = shapes.shape_text(entry.task.options.shape) or "its own"
        first.append(recorded.shape_text(record) if is_result(record) else asked)
    if "failed" in record:
        return [*first, f"FAILED: {record['failed']}"]
    if not is_result(record):
        return [*first, f"does not take this shape: {record['does_not_take']}"]
    counts, accesses = (record["emulator"][key] for key in ("counts", "shared_memory_accesses"))
    return [
        *first,
        "yes",
        str(counts["wgmmas"] + counts["mmas"]),
        *(f"{counts[key] / 1e6:.2f} MB" for key in ("tma_read_bytes", "tma_written_bytes")),
        str(sum(site["extra_wavefronts"] for site in accesses)),
        f"{record['emulation_seconds']:.1f} s",
    ]


def print_table(results):
    """The table, under the shape if all rungs had the same."""
    problems = [record["problem"] for record in results.values() if is_result(record)]
    found = {" ".join(f"{key}={one[key]}" for key in "mnk" if key in one) for one in problems}
    several = len(found) > 1
    words = "" if several or not found else f", {found.pop()}"
    print(f"CPU emulator{words}; no speed is measured")
    head = ["rung", "shape"] if several else ["rung"]
    tables.print_aligned(
        [[*head, "verified", "tensor", "TMA read", "TMA written", "conflicts", "emulation"]]
        + [table_row(entry, record, several) for entry, record in results.items()]
    )
    print(
        "tensor: wgmma and mma instructions; conflicts: extra passes over the banks of shared "
        "memory.\nCounts are of one launch; emulation is the time of all of a rung's checks."
    )


# --- the file -------------------------------------------------------------------------------

# What says nothing of a run on the emulator, or stands in the file once; seconds are of this
# computer alone.
LEFT_OUT = ("schema", "kind", "commit", "date", "gpu", "timing", "emulation_seconds")


def one_ladder(task, records):
    """What was counted of a track on a shape; null is a shape of each rung's own."""
    shape, dimensions = task.options.shape, task.options.measure.dimensions
    rungs, refusals = [], []
    for record in records:
        if "does_not_take" in record:
            refusals.append({"step": record["step"], "why": record["does_not_take"]})
        else:
            rungs.append({key: record[key] for key in record if key not in LEFT_OUT})
    return {
        "track": task.track,
        "shape": list(shape.values()) if len(shape) == len(dimensions) else None,
        "rungs": rungs,
        "does_not_take": refusals,
    }


def whole_record(options, results, interrupted, date):
    """The whole file's content."""
    of_tasks = {}
    for entry, record in results.items():
        of_tasks.setdefault(entry.task, []).append(record)
    commits = {record["commit"] for record in results.values() if is_result(record)}
    return {
        "schema": schema.SCHEMAS["emulated"],
        "kind": "emulated",
        "commit": commits.pop() if len(commits) == 1 else None,
        "date": date,
        "inputs": options.inputs,
        "seed": options.seed,
        "policy": options.policy,
        "interrupted": interrupted,
        "ladders": [one_ladder(task, records) for task, records in of_tasks.items()],
    }


def report(options, results, interrupted, date):
    """Prints and writes what there is; returns the exit status."""
    good = any(map(is_result, results.values()))
    if good:
        recorded.write_json(options.out, whole_record(options, results, interrupted, date))
    if results:
        print_table(results)
    if good:
        print(f"recorded in {options.out}" + (", INTERRUPTED" if interrupted else ""))
    else:
        print("ladder: no rung has a result; nothing is written", file=sys.stderr)
    if interrupted:
        return process.INTERRUPTED
    return 1 if not good or any("failed" in record for record in results.values()) else 0


def emulated_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    check_sizes(options.sizes)
    if options.validate:
        selection.shapes_of(options, selection.tracks_of(options), given_shape)
        return 0
    if options.protocol:
        print("ladder: the emulator measures no time; --protocol is left out", file=sys.stderr)
    plan = make_plan(selection.make_tasks(options, (None,), "emulated", given_shape))
    builds = options.build or [recorded.ROOT / "build"]
    options.out = options.out or builds[0] / "emulated-ladder.json"
    selection.check_destination(options.out)
    if options.dry_run:
        for entry in plan:
            print(*command_of(entry, "<temporary file>"))
        return 0
    process.catch_signals()
    date = recorded.now()
    results, interrupted = run_all(options, plan)
    process.ignore_signals()
    return report(options, results, interrupted, date)


if __name__ == "__main__":
    process.run_as("ladder", emulated_main, dict.fromkeys((process.RungFailed, OSError), 1))
