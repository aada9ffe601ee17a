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
import shlex
import sys
import tempfile
import time
from pathlib import Path

import merge
import process
import recorded
import rung_run
import selection
import tables
from merge import Mismatch
from process import CannotRun, RungFailed
from progress import Progress
from selection import UsageError

# Where a track's ladder starts: a01 and t01 compute something else than the rungs above them, and
# cuBLAS's time for the one says nothing of the other. --steps a01 runs it.
FIRST_RUNGS = {"v": "v00", "a": "a02", "t": "t02"}


def make_parser():
    """The options; their names are those of a rung's program wherever both have them."""
    parser = argparse.ArgumentParser(
        description="Run the built rungs, interleaved with each other and with cuBLAS.",
        epilog="Exit status: 0 all verified, 1 a rung failed, 2 bad usage, "
        "77 this machine cannot run them, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    selection.add_selection(add)
    add("--track", choices=tuple(FIRST_RUNGS), default="v", help="which rungs (default: v)")
    add("--protocol", choices=("burst", "sustained"), default="burst")
    add("--passes", type=selection.positive, default=5, help="times over the ladder (default 5)")
    add("--rounds", type=selection.positive, default=4, help="rounds per process (default 4)")
    add(
        "--check",
        choices=("full", "sample"),
        help="how every pass checks (default: full in the first pass, sample afterwards; track t: "
        "always full)",
    )
    add("--device", type=int, default=0, metavar="I")
    add("--timeout", type=selection.positive, default=600, metavar="S", help="seconds per process")
    add("--out", metavar="FILE", type=Path, help="default: a new file in bench/results")
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    return parser


def make_plan(programs, passes):
    """Every run in its order: (pass, name, path), each other pass from the top down."""
    plan = []
    for index in range(passes):
        order = programs if index % 2 == 0 else programs[::-1]
        plan += [(index, name, path) for name, path in order]
    return plan


def print_plan(options, plan):
    """What --dry-run shows."""
    shape = "x".join(map(str, options.shape.values()))
    where = options.out or recorded.RESULTS / f"<gpu>-{shape}-{options.protocol}-<date>.json"
    for index, _, path in plan:
        words = rung_run.command_of(options, path, index, "<temporary file>")
        print(f"pass {index + 1}:", " ".join(shlex.quote(word) for word in words))
    print(f"{len(plan)} runs, then {where}")


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
        merge.require_same(self.first_run() or run, run)
        self.runs[run["step"]].append(run)


def outcome_of(run):
    """A run in a few words, for the log."""
    timing, measure = run["timing"], recorded.measure_of(run)
    rate = timing[measure.work] / recorded.median(timing["step"]["seconds"]) / measure.units
    ratio = recorded.median(merge.round_ratios(run))
    return f"{rate:.1f} {measure.unit}, {ratio:.3f} of {measure.other_name}"


def run_one(options, entry, collected, progress, folder):
    """One entry of the plan. A failure is noted; 77 of the very first run ends the ladder."""
    index, name, path = entry
    began = time.monotonic()
    try:
        run = rung_run.run_rung(options, name, path, index, folder)
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
    recorded.write_json(path, ladder)
    return path


def report(options, names, collected):
    """Writes and prints what there is; returns the exit status."""
    ladder = merge.combine_ladder(options, names, collected)
    if ladder is None:
        print("ladder: no rung has a result; nothing is written", file=sys.stderr)
    else:
        tables.print_ladder(ladder)
        print(f"recorded in {write_ladder(options, ladder, collected.date)}")
    if collected.interrupted:
        return process.INTERRUPTED
    return 1 if collected.failures else 0


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    selection.check_size(options)
    if options.device < 0:
        raise UsageError("--device: an index from 0 upwards is wanted")
    programs = selection.find_programs(options.build, options.steps, tracks=options.track)
    options.measure = selection.measure_of(programs)
    options.shape = selection.shape_of(options)
    if options.steps is None:  # one ladder is one computation
        programs = [(name, path) for name, path in programs if name >= FIRST_RUNGS[options.track]]
    selection.check_destination(options.out)
    if options.dry_run:
        print_plan(options, make_plan(programs, options.passes))
        return 0
    process.catch_signals()
    collected = measure(options, programs)
    process.ignore_signals()
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
        return process.CANNOT_RUN_HERE
    except (Mismatch, OSError) as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return process.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
