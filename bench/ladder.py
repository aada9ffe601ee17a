#!/usr/bin/env python3
"""Runs the built rungs several times, interleaved, and records the results in one JSON.

For the t track, whose rungs move words, it records GB/s and the ratio to a plain copy on the device;
for the others TFLOPS and the ratio to cuBLAS.

With --build build --build build/variants the variants of the rungs (`make variants`) run between
them, each after its rung and compared with it. With --build build/rivals other people's kernels
(`make rivals`), such as v-cutlass-cooperative, run beside them.

A ladder is one track on one shape by one protocol; --track, --sizes and --protocol may request
several, which run one after the other. A rung's program measures cuBLAS beside itself, round by
round. This program interleaves the processes as well: each pass runs all rungs once, from another
start, and every other pass runs them backwards. So a slow drift of clock or temperature affects all
rungs alike, and no rung always follows the same one.
bench/results/README.md describes the file that it writes. Until then FILE.partial beside it holds the
finished runs; it stays if the ladder is killed.

Exit status: 0 all rungs verified and timed (or do not take the shape), 1 a rung failed, two runs do
not belong together or another process uses the GPU, 2 bad usage, 74 its output could not be written,
77 this machine cannot run the first rung, 130 interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench import gpu_users, process, rung_run, selection, shapes, tables
from bench.process import CannotRun, DoesNotTake, RungFailed
from bench.progress import Progress
from bench.record_file import RecordFile
from bench.records import merge, recorded
from bench.records.merge import Mismatch
from bench.records.vocabulary import BOTH

# --- the command line -----------------------------------------------------------------------


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    selection.add_selection(add)
    selection.add_ladders(add, "v", ", squares, models, all")
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
    selection.add_results(add)
    gpu_users.add_options(add)
    return parser


def print_plan(options, tasks):
    """What --dry-run shows."""
    plan = selection.make_plan(tasks, options.passes)
    last, searched = None, set()
    for entry in plan:
        if len(tasks) > 1 and entry.task is not last:
            print(entry.task.title)
        found = {"winner": {"algorithm": "<the fastest>"}} if entry.task in searched else None
        searched.add(entry.task)
        last = entry.task
        words = rung_run.command_of(last.options, entry, "<temporary file>", found)
        print(f"pass {entry.index + 1}:", " ".join(shlex.quote(word) for word in words))
    where = options.out or recorded.RESULTS / f"<gpu>-{name_words(tasks)}-<date>.json"
    print(f"{len(plan)} runs, then {where}")


def parts_of(task):
    """The task, or several: FP8's rungs are beside the mode of cuBLASLt that adds and scales alike."""
    parts = {}
    for program in task.programs:
        parts.setdefault(rung_run.search_of(program[0]), []).append(program)
    return [replace(task, programs=programs) for programs in parts.values()]


# --- the runs -------------------------------------------------------------------------------


class Collected:
    """What has been measured so far of one ladder."""

    def __init__(self, task):
        self.date = recorded.now()
        self.runs = {name: [] for name, _ in task.programs}
        self.failures = {}
        self.not_taken = {}
        self.heuristics = None  # what the search among cuBLASLt's algorithms found

    def without(self, name):
        """True if no more runs of that rung are of use."""
        return name in self.failures or name in self.not_taken

    def unfinished(self, passes):
        """True if there are runs to come that are of use."""
        return any(len(runs) < passes and not self.without(one) for one, runs in self.runs.items())


class Ladders:
    """All ladders that the options name: their runs, and what has been measured so far."""

    def __init__(self, options, tasks, users):
        self.options, self.tasks, self.users = options, tasks, users
        self.date = recorded.now()
        self.ladders = {}  # of each task that was begun
        self.dropped = {}  # tasks whose runs did not belong together, and why
        self.first_run = None
        self.cannot_run = None  # what the first rung said that this machine cannot run
        self.interrupted = False
        self.progress = Progress()
        self.last = None  # the entry that ran last
        self.folder = None  # of what the rungs write
        self.file = RecordFile(options.out, name_words(tasks), self.date, self.progress.note)

    def json_path(self, entry):
        """Where a run's program writes."""
        return self.folder / f"{entry.name}-{entry.index}.json"

    def start(self, entry):
        """The command line of a run. Before each pass, looks for new processes on the GPU."""
        last, self.last = self.last, entry
        if last and (last.task, last.index) != (entry.task, entry.index):
            for one in self.users.look():
                self.progress.note(f"WARNING: {gpu_users.described(one)} uses the GPU too")
        of_task = self.ladders.setdefault(entry.task, Collected(entry.task))
        options = entry.task.options
        found = of_task.heuristics
        return rung_run.command_of(options, entry, self.json_path(entry), found)

    def finish(self, entry, running):
        """Notes how a run ended, in words, and whether it was its rung's last. 77 of the very first run
        of a single track ends it all."""
        task, name = entry.task, entry.name
        collected = self.ladders[task]
        found = collected.heuristics
        check = partial(rung_run.check_timed, task.options, name, heuristics=found)
        try:
            run = rung_run.result_of(name, running, self.json_path(entry), check)
            self.add(run, collected)
            outcome = outcome_of(run)
        except CannotRun as error:
            if self.progress.done == 0 and len({one.track for one in self.tasks}) == 1:
                raise
            self.cannot_run = self.cannot_run or str(error)
            collected.failures[name] = outcome = error.recorded()
        except DoesNotTake as error:
            outcome = f"does not take this shape: {error}"
            refusals = collected.failures if collected.runs[name] else collected.not_taken
            refusals[name] = outcome if collected.runs[name] else str(error)
        except RungFailed as error:
            collected.failures[name] = outcome = str(error)
        if name in collected.failures:
            self.progress.note(f"{entry.label} FAILED: {outcome}")
        self.file.keep(merge.combine_run(self.tasks, self, self.users, stopped=True))
        return outcome, collected.without(name)

    def add(self, run, collected):
        """Keeps a run. Mismatch unless it belongs to the others."""
        self.first_run = self.first_run or run
        merge.require_same(self.first_run, run, ("gpu", "commit"))
        known = [one for runs in collected.runs.values() for one in runs]
        merge.require_same((known or [run])[0], run)
        collected.runs[run["step"]].append(run)
        collected.heuristics = collected.heuristics or run["timing"].get("heuristics")

    def measure(self):
        """Runs all of them; what is finished stays also after a Ctrl-C. Mismatch if nothing was."""
        plan = selection.make_plan(self.tasks, self.options.passes)
        with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
            self.folder = Path(folder)
            try:
                timeout = self.options.timeout
                rung_run.run_all(plan, self.start, self.finish, self.progress, timeout)
            except KeyboardInterrupt:
                self.interrupted = True
                self.progress.note("interrupted: keeping the runs that are finished")
            except Mismatch as error:
                task, _ = self.ladders.popitem()
                if not any(any(one.runs.values()) for one in self.ladders.values()):
                    self.file.remove_partial()
                    raise
                self.dropped[task] = str(error)
            finally:
                self.progress.close()

    def report(self):
        """Writes and prints what there is; returns the exit status."""
        run = merge.combine_run(self.tasks, self, self.users, self.interrupted)
        if run:
            self.file.write(run, tables.print_run)
        elif self.cannot_run and not self.interrupted:
            raise CannotRun(self.cannot_run)
        else:
            print("ladder: no rung has a result; nothing is written", file=sys.stderr)
        for task, why in self.dropped.items():
            print(f"ladder: stopped at {task.title}: {why}", file=sys.stderr)
        if self.interrupted:
            return process.INTERRUPTED
        failed = any(collected.failures for collected in self.ladders.values())
        return 1 if run is None or failed or self.dropped else 0


def outcome_of(run):
    """A run in a few words, for the log."""
    timing, measure = run["timing"], recorded.measure_of(run)
    own, other = timing["step"]["seconds"], timing[measure.other]["seconds"]
    rate = timing[measure.work] / recorded.median(own) / measure.units
    ratio = recorded.median([theirs / step for theirs, step in zip(other, own)])
    return f"{rate:.1f} {measure.unit}, {ratio:.3f} of {measure.other_name}"


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


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    selection.check_destination(options.out)
    if options.validate:
        selection.shapes_of(options, selection.tracks_of(options), shapes.of_options)
        return 0
    protocols = BOTH if options.protocol == "both" else (options.protocol,)
    tasks = selection.make_tasks(options, protocols, first=selection.FIRST_RUNGS)
    tasks = [part for task in tasks for part in parts_of(task)]
    if options.dry_run:
        print_plan(options, tasks)
        return 0
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which nvidia-smi counts
    process.catch_signals()
    users = gpu_users.Users(options)
    users.refuse()
    ladders = Ladders(options, tasks, users)
    ladders.measure()
    process.ignore_signals()
    return ladders.report()


if __name__ == "__main__":
    errors = (Mismatch, gpu_users.Busy, OSError, RuntimeError)
    process.run_as("ladder", ladder_main, dict.fromkeys(errors, 1))
