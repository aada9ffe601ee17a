#!/usr/bin/env python3
"""Checks every built rung on the emulator, and shows what its launch counted. No GPU is needed.

The rungs run side by side, one per core. Nothing is timed but the emulation itself, which says
nothing about a GPU, and isn't recorded: the counts are, in emulated-ladder.json of the build
directory unless --out names another file. bench/results/README.md describes it.

Exit status: 0 all rungs verified (or do not take the shape), 1 a rung failed, 2 bad usage, 130
interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import process, progress, rung_run, selection, shapes, tables, tasks
from bench.records import recorded
from bench.tasks import tracks_of

POLL_SECONDS = 0.02


# --- the command line -----------------------------------------------------------------------


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = argparse.ArgumentParser(
        description="Check the built rungs on the emulator, and count.",
        epilog="Exit status: 0 all verified, 1 a rung failed, 2 bad usage, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    selection.add_selection(add, "emulated", "a small shape of the rung's own")
    selection.add_sizes(add)
    add("--track", choices=(*recorded.TRACKS, "all"), default="all", help="default: all")
    protocols = (*recorded.PROTOCOLS, "both")
    add("--protocol", choices=protocols, help="left out: the emulator measures no time")
    add("--policy", metavar="NAME", help="the order of events (default: all fixed policies)")
    add("--check", choices=("full", "sample"), default="full")
    add(
        "--jobs", type=selection.positive, default=os.cpu_count() or 1, help="default: one per core"
    )
    add("--timeout", type=selection.positive, default=600, metavar="S", help="seconds per rung")
    add(
        "--out",
        metavar="FILE",
        type=Path,
        help="default: emulated-ladder.json in the first build directory",
    )
    add("--dry-run", action="store_true", help="print the commands and run nothing")
    return parser


@dataclass(frozen=True, eq=False)
class Job:
    """One rung on one shape."""

    name: str
    path: Path
    shape: dict  # the dimensions that are asked for; the others are left to the rung

    @property
    def track(self):
        return self.name[0]

    @property
    def label(self):
        """'v01', or 'v01 at 256x512x64'."""
        return f"{self.name} at {shapes.shape_text(self.shape)}" if self.shape else self.name


def given_shape(options, track):
    """The dimensions that --size, or --m, --n and --k give; there may be none."""
    names = shapes.measure_of_track(track).dimensions
    found = {name: getattr(options, name) or options.size for name in names}
    return {name: value for name, value in found.items() if value is not None}


def shapes_of(options, tracks):
    """{track: its shapes}. UsageError for lists of shapes that are made for a GPU."""
    found = tasks.shapes_of(options, tracks, given_shape)
    for word in (options.sizes or "").lower().split(","):
        if shapes.named(word.strip(), moves=False):
            raise selection.UsageError(
                f"--sizes: '{word.strip()}' are shapes for a GPU, on which the emulator would work "
                "for days; write small ones, such as 256,512x256x64"
            )
    return found


def make_jobs(options):
    """Every rung on every shape, shape by shape."""
    programs = selection.find_programs(options.build, options.steps, "emulated", tracks_of(options))
    tracks = tuple(dict.fromkeys(name[0] for name, _ in programs))
    found = shapes_of(options, tracks)
    return [
        Job(name, path, shape)
        for track in tracks
        for shape in found[track]
        for name, path in programs
        if name[0] == track
    ]


def command_of(options, job, json_path):
    """The command line of one rung; a dimension that is not given is left to the rung. One that
    moves words takes no sample."""
    moves = job.track == recorded.MOVING
    pairs = {
        **{f"--{name}": value for name, value in job.shape.items()},
        "--policy": options.policy,
        "--inputs": options.inputs,
        "--seed": options.seed,
        "--check": "full" if moves else options.check,
        "--json": json_path,
    }
    return rung_run.words_of(job.path, pairs)


# --- the runs -------------------------------------------------------------------------------


class Run:
    """One rung's process, from its start to what it recorded."""

    def __init__(self, options, job, folder):
        self.job, self.name = job, job.name
        self.json_path = folder / f"{job.label}.json"
        self.timeout = options.timeout
        self.output, self.errors = process.scratch(), process.scratch()
        self.began = time.monotonic()
        command = command_of(options, job, self.json_path)
        self.process = process.start(command, self.output, self.errors)

    def seconds(self):
        return time.monotonic() - self.began

    def finished(self):
        """True once it has ended, or has been ended because it took too long."""
        if self.process.poll() is None and self.seconds() > self.timeout:
            process.stop(self.process)
            return True
        return self.process.poll() is not None

    def result(self):
        """Its record, or {'step', 'failed'} or {'step', 'does_not_take'}; with the seconds that it
        took."""
        seconds = self.seconds()
        try:
            record = self.read()
        except process.DoesNotTake as error:
            record = {"step": self.name, "does_not_take": str(error)}
        except process.RungFailed as error:
            record = {"step": self.name, "failed": str(error)}
        self.output.close()
        self.errors.close()
        return dict(record, emulation_seconds=seconds)

    def read(self):
        """What it recorded. Raises RungFailed or DoesNotTake with its own words if there is
        nothing."""
        status = self.process.returncode
        if status < 0 and self.seconds() > self.timeout:
            raise process.RungFailed(f"not finished after {self.timeout} s")
        rung_run.require_taken(self.name, status, *self.said())
        if status != 0:
            raise process.RungFailed(self.complaint(status))
        return rung_run.written(self.json_path, lambda record: check_record(self.name, record))

    def said(self):
        """What it printed: (stdout, stderr)."""
        self.output.seek(0)
        self.errors.seek(0)
        return self.output.read(), self.errors.read()

    def complaint(self, status):
        """The emulator's reports begin with the line that matters."""
        output, errors = self.said()
        wrong = [line for line in output.splitlines() if line.startswith("WRONG")]
        reports = [line for line in errors.splitlines() if line.startswith(f"{self.name}: ")]
        line = (wrong + reports[-1:] + [process.complaint(output, errors)])[0]
        return process.explain(status, line, "")


def check_record(name, record):
    """ValueError, KeyError or TypeError unless it is this rung's, verified on the emulator."""
    if (record["schema"], record["kind"], record["step"]) != (recorded.SCHEMA, "step", name):
        raise ValueError(f"schema {record['schema']}, step {record['step']}")
    if record["gpu"] is not None or record["verification"]["verified"] is not True:
        raise ValueError("not a verified run of the emulator")
    for key in ("tma_read_bytes", "tma_written_bytes", "wgmmas", "mmas"):
        int(record["emulator"]["counts"][key])


def outcome_of(record):
    """A record in a few words."""
    if "does_not_take" in record:
        return f"does not take this shape: {record['does_not_take']}"
    return record.get("failed", "verified")


class Progress:
    """What runs, with the time left, on a terminal; a line per finished rung in a log."""

    def __init__(self, total, stream=sys.stderr):
        self.total = total
        self.done = 0
        self.stream = stream
        self.terminal = stream.isatty()
        self.began = time.monotonic()

    def time_left(self):
        """', 3:20 left' if those to come take as long as those that are done did."""
        if self.done == 0:
            return ""
        left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        return f", {progress.clock(left)} left"

    def show(self, running):
        if self.terminal:
            names = ", ".join(run.job.label for run in running)
            done = f"{self.done} of {self.total} done{self.time_left()}"
            self.stream.write(f"\r\033[K{done}, running {names}")
            self.stream.flush()

    def finished(self, job, record):
        self.done += 1
        if not self.terminal:
            seconds = record["emulation_seconds"]
            self.stream.write(f"{job.label}: {outcome_of(record)} ({seconds:.1f} s)\n")
            self.stream.flush()

    def close(self):
        if self.terminal:
            self.stream.write("\r\033[K")
            self.stream.flush()


def run_all(options, jobs, folder):
    """All jobs, some at a time: a record of each that ended, and whether it was interrupted."""
    waiting, running, results = list(jobs), [], {}
    bar = Progress(len(jobs))
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                running.append(Run(options, waiting.pop(0), folder))
                bar.show(running)
            for run in [run for run in running if run.finished()]:
                running.remove(run)
                results[run.job] = run.result()
                bar.finished(run.job, results[run.job])
                bar.show(running)
            time.sleep(POLL_SECONDS)
        return results, False
    except KeyboardInterrupt:
        return results, True
    finally:
        for run in running:
            process.stop(run.process)
        bar.close()


# --- the table ------------------------------------------------------------------------------


def megabytes(count):
    """1.57 MB"""
    return f"{count / 1e6:.2f} MB"


def extra_wavefronts(record):
    """Passes over the banks that conflicts cost, over all lines of source."""
    return sum(site["extra_wavefronts"] for site in record["emulator"]["shared_memory_accesses"])


def is_result(record):
    """True for what has counts."""
    return "failed" not in record and "does_not_take" not in record


def table_row(job, record, several):
    """One rung's cells; with its shape if there are several."""
    first = [job.name, shape_text(job, record)] if several else [job.name]
    if "failed" in record:
        return [*first, "FAILED: " + record["failed"]]
    if not is_result(record):
        return [*first, outcome_of(record)]
    counts = record["emulator"]["counts"]
    return [
        *first,
        "yes",
        str(counts["wgmmas"] + counts["mmas"]),
        megabytes(counts["tma_read_bytes"]),
        megabytes(counts["tma_written_bytes"]),
        str(extra_wavefronts(record)),
        f"{record['emulation_seconds']:.1f} s",
    ]


def shape_text(job, record):
    """'256x1024x320': what it ran, or else what was asked for."""
    if is_result(record):
        return recorded.shape_text(record)
    return shapes.shape_text(job.shape) or "its own"


def print_table(results):
    """The table, under the shape if all rungs had the same."""
    problems = [record["problem"] for record in results.values() if is_result(record)]
    found = {
        " ".join(f"{key}={problem[key]}" for key in "mnk" if key in problem): problem
        for problem in problems
    }
    if len(found) == 1:
        print(f"CPU emulator, {next(iter(found))}; no speed is measured")
    else:
        print("CPU emulator; no speed is measured")
    several = len(found) > 1
    head = ["rung", "shape"] if several else ["rung"]
    tables.print_aligned(
        [[*head, "verified", "tensor", "TMA read", "TMA written", "conflicts", "emulation"]]
        + [table_row(job, record, several) for job, record in results.items()]
    )
    print(
        "tensor: wgmma and mma instructions; conflicts: extra passes over the banks of shared "
        "memory.\nCounts are of one launch; emulation is the time of all of a rung's checks."
    )


# --- the whole ------------------------------------------------------------------------------


# What says nothing of a run on the emulator, or stands in the file once; seconds are of this
# computer alone.
LEFT_OUT = ("schema", "kind", "commit", "date", "gpu", "timing", "emulation_seconds")


def one_ladder(track, shape, records):
    """What was counted of a track on a shape; null is a shape of each rung's own."""
    whole = len(shape) == len(shapes.measure_of_track(track).dimensions)
    return {
        "track": track,
        "shape": list(shape.values()) if whole else None,
        "rungs": [
            {key: value for key, value in record.items() if key not in LEFT_OUT}
            for record in records
            if "does_not_take" not in record
        ],
        "does_not_take": [
            {"step": record["step"], "why": record["does_not_take"]}
            for record in records
            if "does_not_take" in record
        ],
    }


def whole_record(options, results, interrupted, date):
    """The whole file's content."""
    groups = {}
    for job, record in results.items():
        _, records = groups.setdefault((job.track, tuple(job.shape.items())), (job.shape, []))
        records.append(record)
    commits = {record["commit"] for record in results.values() if is_result(record)}
    return {
        "schema": recorded.RUN_SCHEMA,
        "kind": "emulated",
        "commit": commits.pop() if len(commits) == 1 else None,
        "date": recorded.as_date(date),
        "inputs": options.inputs,
        "seed": options.seed,
        "policy": options.policy,
        "interrupted": interrupted,
        "ladders": [
            one_ladder(track, shape, records) for (track, _), (shape, records) in groups.items()
        ],
    }


def destination(options):
    """Where the counts are written."""
    builds = options.build or [recorded.ROOT / "build"]
    return options.out or builds[0] / "emulated-ladder.json"


def report(options, results, interrupted, date):
    """Prints and writes what there is; returns the exit status."""
    good = any(is_result(record) for record in results.values())
    path = destination(options)
    if good:
        recorded.write_json(path, whole_record(options, results, interrupted, date))
    if results:
        print_table(results)
    if good:
        print(f"recorded in {path}" + (", INTERRUPTED" if interrupted else ""))
    else:
        print("ladder: no rung has a result; nothing is written", file=sys.stderr)
    if interrupted:
        return process.INTERRUPTED
    return 1 if not good or any("failed" in record for record in results.values()) else 0


def emulated_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    if options.validate:
        shapes_of(options, tracks_of(options))
        return 0
    if options.protocol:
        print("ladder: the emulator measures no time; --protocol is left out", file=sys.stderr)
    jobs = make_jobs(options)
    selection.check_destination(destination(options))
    if options.dry_run:
        for job in jobs:
            print(*command_of(options, job, "<temporary file>"))
        return 0
    process.catch_signals()
    date = time.gmtime()
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        results, interrupted = run_all(options, jobs, Path(folder))
    process.ignore_signals()
    results = {job: results[job] for job in jobs if job in results}
    return report(options, results, interrupted, date)


def main():
    """Turns the errors that are expected into one line and an exit status."""
    statuses = {selection.UsageError: 2, process.RungFailed: 1, OSError: 1}
    return process.expected("ladder", lambda: emulated_main(sys.argv[1:]), statuses)


if __name__ == "__main__":
    sys.exit(process.ended(main))
