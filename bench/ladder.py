#!/usr/bin/env python3
"""Runs the built rungs several times, interleaved, and records one JSON for all that was asked for.

Of the t track, whose rungs move words, it records GB/s and the ratio to a plain copy on the device;
of the others TFLOPS and the ratio to cuBLAS.

With --build build --build build/variants the variants of the rungs (`make variants`) run between
them, each after its rung and compared with it. With --build build/rivals other people's kernels
(`make rivals`), such as v-cutlass-cooperative, run beside them.

A ladder is one track on one shape by one protocol; --track, --sizes and --protocol may ask for
several, which run one after the other. A rung's program measures cuBLAS beside itself, round by
round. This program interleaves the processes as well: a pass goes once over all rungs, each begins
at another one, and every other pass goes backwards, so that a slow drift of clock or temperature
reaches all rungs alike, and no rung always follows the same one.
bench/results/README.md describes the file that it writes. Until then FILE.partial beside it holds the
runs that are finished: it stays if the ladder is killed.

Exit status: 0 all rungs verified and timed (or do not take the shape), 1 a rung failed, two runs do
not belong together or somebody else uses the GPU, 2 bad usage, 74 its output could not be written,
77 this machine cannot run the first rung, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

from bench import gpu_users, process, rung_run, selection, shapes, tables
from bench.process import CannotRun, DoesNotTake, RungFailed
from bench.progress import Progress
from bench.records import merge, recorded
from bench.records.merge import Mismatch
from bench.selection import UsageError
from bench.tasks import FIRST_RUNGS, make_plan, make_tasks, shapes_of, tracks_of

# --- the command line -----------------------------------------------------------------------


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = argparse.ArgumentParser(
        description="Run the built rungs, interleaved with each other and with cuBLAS.",
        epilog="Exit status: 0 all verified, 1 a rung failed or somebody else uses the GPU, "
        "2 bad usage, 77 this machine cannot run them, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    selection.add_selection(add)
    selection.add_sizes(add, ", squares, models, all")
    tracks = (*FIRST_RUNGS, "all")
    add("--track", choices=tracks, default="v", help="which rungs (default: v)")
    add(
        "--protocol",
        choices=(*recorded.PROTOCOLS, "both"),
        default="burst",
        help="both: one after the other, in ladders of their own (default: burst)",
    )
    add("--passes", type=selection.positive, default=5, help="times over the ladder (default 5)")
    add("--rounds", type=selection.positive, default=4, help="rounds per process (default 4)")
    add(
        "--check",
        choices=("full", "sample"),
        help="how every pass checks (default: full in the first pass, sample afterwards; track t: "
        "always full)",
    )
    add(
        "--heuristics",
        type=selection.up_to_64_or_all,
        default=64,
        metavar="N",
        help="how many of cuBLASLt's algorithms to time to find the best, which then runs beside "
        "every rung that multiplies (default: 64, of its heuristic; 0: none; all: every "
        "configuration that it can run)",
    )
    add("--device", type=int, default=0, metavar="I")
    add("--timeout", type=selection.positive, default=600, metavar="S", help="seconds per process")
    add(
        "--share-gpu",
        action="store_true",
        help="record even if another process uses the GPU; the JSON says so",
    )
    add("--nvidia-smi", default="nvidia-smi", metavar="PROGRAM", help="default: the one on PATH")
    add("--out", metavar="FILE", type=Path, help="default: a new file in bench/results")
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    return parser


def print_plan(options, tasks):
    """What --dry-run shows."""
    plan = make_plan(tasks, options.passes)
    last = None
    for entry in plan:
        if len(tasks) > 1 and entry.task is not last:
            print(entry.task.title)
        found = {"winner": {"algorithm": "<the fastest>"}} if entry.task is last else None
        last = entry.task
        words = rung_run.command_of(
            last.options, entry.path, entry.index, "<temporary file>", found
        )
        print(f"pass {entry.index + 1}:", " ".join(shlex.quote(word) for word in words))
    where = options.out or recorded.RESULTS / f"<gpu>-{name_words(tasks)}-<date>.json"
    print(f"{len(plan)} runs, then {where}")


# --- the runs -------------------------------------------------------------------------------


class Collected:
    """What has been measured so far of one ladder."""

    def __init__(self, task):
        self.date = time.gmtime()  # UTC
        self.runs = {name: [] for name, _ in task.programs}
        self.failures = {}
        self.not_taken = {}
        self.heuristics = None  # what the search among cuBLASLt's algorithms found
        self.interrupted = False

    def without(self, name):
        """True if no more runs of that rung are of use."""
        return name in self.failures or name in self.not_taken


class Measured:
    """What has been measured so far of all ladders."""

    def __init__(self, tasks):
        self.date = time.gmtime()
        self.one_track = len({task.track for task in tasks}) == 1
        self.ladders = {}  # of each task that was begun
        self.first_run = None
        self.interrupted = False
        self.dropped = {}  # tasks whose runs did not belong together, and why
        self.cannot_run = None  # what the first rung said that this machine cannot run

    def of(self, task):
        """What belongs to that ladder."""
        return self.ladders.setdefault(task, Collected(task))

    def add(self, task, run):
        """Keeps a run if it belongs to the others."""
        self.first_run = self.first_run or run
        merge.require_same(self.first_run, run, ("gpu", "commit"))
        runs = self.of(task).runs
        merge.require_same(next((r for those in runs.values() for r in those), run), run)
        runs[run["step"]].append(run)
        of_task = self.of(task)
        of_task.heuristics = of_task.heuristics or run["timing"].get("heuristics")

    def interrupt(self, passes, stopped=True):
        """Marks it, and the ladder that isn't finished; or takes the marks away."""
        self.interrupted = stopped
        for collected in self.ladders.values():
            collected.interrupted = stopped and any(
                len(runs) < passes and not collected.without(name)
                for name, runs in collected.runs.items()
            )

    def drop_last(self, error):
        """Takes away the ladder in which runs did not belong together; raises the error again if
        there is no other."""
        task, _ = self.ladders.popitem()
        if not any(any(collected.runs.values()) for collected in self.ladders.values()):
            raise error
        self.dropped[task] = str(error)

    def failed(self):
        """True if any rung failed."""
        return any(collected.failures for collected in self.ladders.values())


def outcome_of(run):
    """A run in a few words, for the log."""
    timing, measure = run["timing"], recorded.measure_of(run)
    rate = timing[measure.work] / recorded.median(timing["step"]["seconds"]) / measure.units
    ratio = recorded.median(merge.round_ratios(run))
    return f"{rate:.1f} {measure.unit}, {ratio:.3f} of {measure.other_name}"


def run_one(entry, measured, progress, folder):
    """One entry of the plan: its outcome in words. A failure is noted; 77 of the very first run ends
    the ladder."""
    task, name = entry.task, entry.name
    collected = measured.of(task)
    try:
        run = rung_run.run_rung(task.options, entry, folder, collected.heuristics)
        outcome = outcome_of(run)
        measured.add(task, run)
        return outcome
    except CannotRun as error:
        if progress.done == 0 and measured.one_track:
            raise
        measured.cannot_run = measured.cannot_run or str(error)
        outcome = f"exit status 77: {error}"
    except DoesNotTake as error:
        outcome = f"does not take this shape: {error}"
        if not collected.runs[name]:
            collected.not_taken[name] = str(error)
            return outcome
    except RungFailed as error:
        outcome = str(error)
    collected.failures[name] = outcome
    progress.note(f"{progress.where(entry)} FAILED: {outcome}")
    return outcome


def look_around(entry, last, users, progress):
    """Before a pass begins, says who else has come to use the GPU."""
    if last is None or (entry.task, entry.index) == (last.task, last.index):
        return
    for one in users.look():
        progress.note(f"WARNING: {gpu_users.described(one)} uses the GPU too")


def run_plan(plan, measured, users, progress, folder, keep):
    """All runs in order, without the rungs that failed on the way; keep() is called after each."""
    last = None
    while plan:
        entry = plan[0]
        look_around(entry, last, users, progress)
        progress.running(plan)
        began = time.monotonic()
        outcome = run_one(entry, measured, progress, folder)
        collected = measured.of(entry.task)
        rest = [
            other
            for other in plan[1:]
            if other.task is not entry.task or not collected.without(other.name)
        ]
        progress.dropped(len(plan) - 1 - len(rest))
        progress.finished(entry, time.monotonic() - began, outcome, rest)
        keep(measured, progress)
        plan, last = rest, entry


def measure(options, tasks, users, keep):
    """Runs all ladders and returns what was measured, also after a Ctrl-C."""
    measured = Measured(tasks)
    plan = make_plan(tasks, options.passes)
    progress = Progress(len(plan), titles=len(tasks) > 1)
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        try:
            run_plan(plan, measured, users, progress, Path(folder), keep)
        except KeyboardInterrupt:
            measured.interrupt(options.passes)
            progress.note("interrupted: keeping the runs that are finished")
        except Mismatch as error:
            measured.drop_last(error)
        finally:
            progress.close()
    return measured


# --- the file --------------------------------------------------------------------------------


def name_words(tasks):
    """'8192x8192x8192-burst', '6-shapes-burst-sustained', with -a of another track than v, and
    -variants and -rivals if there are some."""
    found = dict.fromkeys(shapes.shape_text(task.options.shape) for task in tasks)
    shape = next(iter(found)) if len(found) == 1 else f"{len(found)}-shapes"
    protocols = dict.fromkeys(task.options.protocol for task in tasks)
    tracks = list(dict.fromkeys(task.track for task in tasks))
    names = [name for task in tasks for name, _ in task.programs]
    kinds = {"variants": recorded.is_variant, "rivals": recorded.is_rival}
    others = [word for word, is_one in kinds.items() if any(map(is_one, names))]
    return "-".join([shape, *protocols, *(tracks if tracks != ["v"] else []), *others])


def path_of(options, tasks, run, date):
    """Where the record goes."""
    name = recorded.file_name(run["gpu"], name_words(tasks), date)
    return options.out or recorded.RESULTS / name


class Partial:
    """What is finished, as an interrupted run beside the record's path: all that is left of a ladder
    that is killed."""

    def __init__(self, options, tasks, users):
        self.options, self.tasks, self.users = options, tasks, users
        self.path = None
        self.works = not (options.out and recorded.is_written_to(options.out))

    def keep(self, measured, progress):
        """Writes it anew; says once that it cannot be written."""
        passes = self.options.passes
        measured.interrupt(passes)
        run = merge.combine_run(self.tasks, measured, self.users)
        measured.interrupt(passes, stopped=False)
        if run is None or not self.works:
            return
        path = path_of(self.options, self.tasks, run, measured.date)
        try:
            self.path = path.with_name(f"{path.name}.partial")
            recorded.write_json(self.path, run)
        except OSError as error:
            self.works = False
            progress.note(f"WARNING: what is finished is not kept on the way: {error}")

    def remove(self):
        """Takes it away."""
        if self.path:
            self.path.unlink(missing_ok=True)


def check_again(path):
    """RuntimeError if what was just written cannot be read again: that has to be known now."""
    if recorded.is_written_to(path):
        return
    try:
        recorded.load_record(path)
    except ValueError as error:
        raise RuntimeError(f"it is kept, but not as it should be: {error}") from error


def report(options, tasks, measured, users, partial):
    """Writes and prints what there is; returns the exit status."""
    run = merge.combine_run(tasks, measured, users)
    if run is None and measured.cannot_run and not measured.interrupted:
        raise CannotRun(measured.cannot_run)
    if run is None:
        print("ladder: no rung has a result; nothing is written", file=sys.stderr)
    else:
        path = path_of(options, tasks, run, measured.date)
        recorded.write_json(path, run)
        partial.remove()
        tables.print_run(run)
        print(f"recorded in {path}")
        check_again(path)
    for task, why in measured.dropped.items():
        print(f"ladder: stopped at {task.title}: {why}", file=sys.stderr)
    if measured.interrupted:
        return process.INTERRUPTED
    return 1 if run is None or measured.failed() or measured.dropped else 0


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    if options.device < 0:
        raise UsageError("--device: an index from 0 upwards is wanted")
    selection.check_destination(options.out)
    if options.validate:
        shapes_of(options, tracks_of(options))
        return 0
    tasks = make_tasks(options)
    if options.dry_run:
        print_plan(options, tasks)
        return 0
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which nvidia-smi counts
    process.catch_signals()
    users = gpu_users.Users(options)
    users.refuse()
    partial = Partial(options, tasks, users)
    try:
        measured = measure(options, tasks, users, partial.keep)
    except Mismatch:
        partial.remove()
        raise
    process.ignore_signals()
    return report(options, tasks, measured, users, partial)


def main():
    """Turns the errors that are expected into one line and an exit status."""
    statuses = {UsageError: 2, Mismatch: 1, gpu_users.Busy: 1, OSError: 1, RuntimeError: 1}
    return process.expected("ladder", lambda: ladder_main(sys.argv[1:]), statuses)


if __name__ == "__main__":
    sys.exit(process.ended(main))
