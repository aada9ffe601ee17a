#!/usr/bin/env python3
"""Times one rung over many shapes beside cuBLAS and the best of cuBLASLt, and records a point for each.

    python3 -m bench.sweep --sizes aligned:1,few
    python3 -m bench.sweep --sizes any:2:15 --steps v18

A family of shapes (aligned, any, rows, odd) is drawn from the seed after it: 60 of them, unless a number
follows (bench/shapes.py). One process of the rung's program measures all shapes in bursts, so CUDA and
cuBLAS start once; after a failure another one goes on with the next shape. At each shape the rung is
checked, every heuristic that cuBLASLt returns is timed, and the fastest runs beside the rung, its early
launch and cuBLAS, round by round. With four rounds each of them begins once. bench/results/README.md
describes the file. Until it is written FILE.partial beside it holds the finished points.

Exit status: 0 all shapes verified and timed (or not taken), 1 one failed or another process uses the
GPU, 2 bad usage, 74 its output could not be written, 77 this machine cannot run the rung, 130
interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench import gpu_users, process, rung_run, selection
from bench.process import CannotRun, DoesNotTake, RungFailed, UsageError
from bench.progress import Progress
from bench.record_file import RecordFile
from bench.records import merge, recorded, schema, sweeps

ROUNDS = 4
WORST = 10  # points that are printed
MOST_WORDS = 64  # characters of --sizes in a file's name


def make_parser():
    """The options; their names are those of the ladder wherever both have them."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    selection.add_selection(add)
    selection.add_ladders(add, "v", ", squares, models, all, few, aligned:1, any:1, rows:1, odd:1")
    add("--rounds", type=selection.positive, default=ROUNDS, help=f"default: {ROUNDS}")
    add("--check", choices=("full", "sample"), default="sample", help="default: sample")
    selection.add_results(add)
    gpu_users.add_options(add)
    parser.set_defaults(heuristics=64)  # that are requested: all that cuBLASLt returns are timed
    return parser


def point_of(run):
    """What is kept of a program's result."""
    timing, problem = run["timing"], run["problem"]
    who = ("step", *recorded.PRODUCTS.contenders(timing))
    found = timing["heuristics"]
    return {
        **{name: problem[name] for name in recorded.PRODUCTS.dimensions},
        **({"kernel": run["kernel"]} if "kernel" in run else {}),
        "copies": problem["copies"],
        "launches": timing["launches_per_round"],
        "seconds": {name: timing[name]["seconds"] for name in who},
        "sm_clock_ghz": {name: timing[name]["sm_clock_ghz"] for name in who},
        "digest": run["verification"]["digest"],
        "returned": found["returned"],
        "winner": {key: found["winner"][key] for key in ("number", "name")},
    }


def outcome_of(point):
    """A point in a few words, for the log."""
    return f"{sweeps.tflops(point):.1f} TFLOPS, {sweeps.ratio(point):.3f} of cuBLASLt's best"


class Sweep:
    """The points of a rung, in the order of their shapes."""

    def __init__(self, options, tasks, users):
        self.options, self.tasks, self.users = options, tasks, users
        self.points = []
        self.first_run = None
        self.failed = False
        self.interrupted = False
        self.progress = Progress()
        words = options.sizes.replace(":", "-").replace(",", "-")
        words = words if len(words) <= MOST_WORDS else f"{len(tasks)}-shapes"
        name = f"{words}-sweep"
        self.file = RecordFile(options.out, name, recorded.now(), self.progress.note)

    def measure(self):
        """Takes all shapes; what is finished stays also after a Ctrl-C."""
        waiting = selection.make_plan(self.tasks, 1)
        with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
            try:
                while waiting:
                    waiting = self.run_process(waiting, Path(folder))
                for one in self.users.look():
                    self.progress.note(f"WARNING: {gpu_users.described(one)} uses the GPU too")
            except KeyboardInterrupt:
                self.interrupted = True
                self.progress.note("interrupted: keeping the points that are finished")
            finally:
                self.progress.close()

    def run_process(self, waiting, folder):
        """One process over the shapes that are left, up to the first that fails. Returns those after
        it."""
        paths = [folder / f"{len(waiting) - i}.json" for i in range(len(waiting))]
        lines = [line_of(entry, path) for entry, path in zip(waiting, paths)]
        runs = folder / "runs"
        runs.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        running = process.Running([str(waiting[0].path), "--runs", str(runs)], self.options.timeout)
        try:
            for done, (entry, path) in enumerate(zip(waiting, paths), 1):
                self.progress.running([entry], waiting[done:])
                why, how = self.take(entry, path, running)
                outcome = how if why is None else f"{why}: {how}"
                seconds, running.began = running.seconds(), time.monotonic()
                self.progress.finished(entry, seconds, outcome, waiting[done:])
                self.file.keep(self.record(stopped=True))
                if why:
                    return waiting[done:]
            return []
        finally:
            running.stop()

    def take(self, entry, path, running):
        """Waits for a shape's result and adds its point: (None, what it says) or (how it failed, why),
        and then the process has ended. CannotRun if nothing can be run here."""
        check = partial(rung_run.check_timed, entry.task.options, entry.name, heuristics=None)
        ended = False
        while not path.exists() and not ended:
            ended = running.has_ended()
            time.sleep(0 if ended else process.POLL_SECONDS)
        try:
            run = self.result(entry, path, running, check)
        except (DoesNotTake, RungFailed) as error:
            if isinstance(error, CannotRun) and not self.points:
                raise
            refused = isinstance(error, DoesNotTake)
            self.failed = self.failed or not refused
            failed = "does not take this shape" if refused else "FAILED"
            self.points.append({**entry.task.options.shape, "failed": f"{failed}: {error}"})
            goes_on = refused and path.exists()  # it is cuBLASLt that does not take it
            return (None, f"{failed}: {error}") if goes_on else (failed, error)
        merge.require_same(self.first_run or run, run, ("gpu", "commit"))
        self.first_run = self.first_run or run
        self.points.append(point_of(run))
        return None, outcome_of(self.points[-1])

    @staticmethod
    def result(entry, path, running, check):
        """What the program wrote for the shape, checked. If that is not right it ends, and says why."""
        try:
            return rung_run.written(path, check)
        except RungFailed:
            until = time.monotonic() + process.STOP_SECONDS
            while not running.has_ended() and time.monotonic() < until:
                time.sleep(process.POLL_SECONDS)
            if running.has_ended():
                rung_run.result_of(entry.name, running, path, check)
            raise

    def record(self, stopped):
        """What there is, or None."""
        first = self.first_run
        if first is None:
            return None
        problem = merge.identity(first)["problem"]
        return {
            "schema": schema.SCHEMAS["sweep"],
            "kind": "sweep",
            **{key: first[key] for key in ("step", "idea", "commit")},
            "date": self.file.date,
            "gpu": first["gpu"],
            "interrupted": stopped,
            "gpu_processes": self.users.record(),
            "sizes": self.options.sizes,
            "protocol": "burst",
            "problem": {key: problem[key] for key in ("computation", "inputs", "seed")},
            "passes": 1,
            "rounds": self.options.rounds,
            "check": self.options.check,
            "points": self.points,
        }

    def report(self):
        """Writes and prints what there is; returns the exit status."""
        record = self.record(self.interrupted)
        if record:
            self.file.write(record, print_sweep)
        else:
            print("sweep: no shape has a result; nothing is written", file=sys.stderr)
            self.failed = self.failed or not self.points  # not taking any is no failure
        if self.interrupted:
            return process.INTERRUPTED
        return 1 if self.failed else 0


def line_of(entry, path):
    """The options of one shape, as --runs takes them."""
    return "\t".join(rung_run.command_of(entry.task.options, entry, path)[1:])


def print_sweep(record):
    """What the families come to, and the worst points."""
    for word in sweeps.words_of(record):
        points = sweeps.points_of(record, word)
        if points:
            found = sweeps.figures_of(points)
            print(
                f"{word:12} {found['shapes']} shapes, of cuBLASLt's best: geometric mean "
                f"{found['mean']:.3f}, lowest {found['lowest']:.3f}, {found['reached']} at 1 or above"
            )
    points = [one for one in record["points"] if "seconds" in one]
    for one in sorted(points, key=sweeps.ratio)[:WORST]:
        shape = "x".join(map(str, sweeps.shape_of(one)))
        print(f"{shape:20} {outcome_of(one)}, {one['winner']['name']}")


def sweep_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    selection.check_destination(options.out)
    if options.sizes is None or options.track != "v":
        raise UsageError("name the shapes of the v track: --sizes aligned:1,any:1")
    options.sizes = options.sizes.lower().replace(" ", "")
    if options.validate:
        selection.shapes_of(options, selection.tracks_of(options), None)
        return 0
    options.steps = options.steps or recorded.rung_names()[-1]
    tasks = selection.make_tasks(options, ("burst",))
    if any(len(task.programs) != 1 for task in tasks):
        raise UsageError("--steps: a sweep is of one rung")
    if options.dry_run:
        for entry in selection.make_plan(tasks, 1):
            print(shlex.join(line_of(entry, "<temporary file>").split("\t")))
        print(f"{len(tasks)} shapes in one process of {tasks[0].programs[0][1]}")
        return 0
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which nvidia-smi counts
    process.catch_signals()
    users = gpu_users.Users(options)
    users.refuse()
    sweep = Sweep(options, tasks, users)
    sweep.measure()
    process.ignore_signals()
    return sweep.report()


if __name__ == "__main__":
    errors = (merge.Mismatch, gpu_users.Busy, OSError, RuntimeError)
    process.run_as("sweep", sweep_main, dict.fromkeys(errors, 1))
