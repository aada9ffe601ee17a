#!/usr/bin/env python3
"""Checks every built rung on the emulator, and shows what its launch counted. No GPU is needed.

The rungs run side by side, one per core. Nothing is timed but the emulation itself, which says
nothing about a GPU. Nothing is written unless --out names a file.

Exit status: 0 all rungs verified, 1 a rung failed, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import process
import recorded
import selection
import tables

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
    add("--policy", metavar="NAME", help="the order of events (default: all fixed policies)")
    add("--check", choices=("full", "sample"), default="full")
    add(
        "--jobs", type=selection.positive, default=os.cpu_count() or 1, help="default: one per core"
    )
    add("--timeout", type=selection.positive, default=600, metavar="S", help="seconds per rung")
    add("--out", metavar="FILE", type=Path, help="write the counts to FILE (default: nowhere)")
    add("--dry-run", action="store_true", help="print the commands and run nothing")
    return parser


def command_of(options, path, json_path):
    """The command line of one rung; a dimension that is not given is left to the rung. One that
    moves words has no k, and takes no sample."""
    moves = path.name.startswith(recorded.MOVING)
    pairs = {
        "--size": options.size,
        "--m": options.m,
        "--n": options.n,
        "--k": None if moves else options.k,
        "--policy": options.policy,
        "--inputs": options.inputs,
        "--seed": options.seed,
        "--check": "full" if moves else options.check,
        "--json": json_path,
    }
    given = [(name, value) for name, value in pairs.items() if value is not None]
    return [str(path)] + [str(word) for pair in given for word in pair]


# --- the runs -------------------------------------------------------------------------------


class Run:
    """One rung's process, from its start to what it recorded."""

    def __init__(self, options, name, path, folder):
        self.name = name
        self.json_path = folder / f"{name}.json"
        self.timeout = options.timeout
        self.output, self.errors = process.scratch(), process.scratch()
        self.began = time.monotonic()
        command = command_of(options, path, self.json_path)
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
        """Its record, or {'step', 'failed'}; either with the seconds that it took."""
        seconds = self.seconds()
        try:
            record = self.read()
        except process.RungFailed as error:
            record = {"step": self.name, "failed": str(error)}
        self.output.close()
        self.errors.close()
        return dict(record, emulation_seconds=seconds)

    def read(self):
        """What it recorded. Raises RungFailed with its own words if there is nothing."""
        status = self.process.returncode
        if status < 0 and self.seconds() > self.timeout:
            raise process.RungFailed(f"not finished after {self.timeout} s")
        if status != 0:
            raise process.RungFailed(self.complaint(status))
        try:
            record = json.loads(self.json_path.read_text(encoding="utf-8"))
            check_record(self.name, record)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise process.RungFailed(f"its JSON: {error!r}") from error
        return record

    def complaint(self, status):
        """The emulator's reports begin with the line that matters."""
        self.output.seek(0)
        self.errors.seek(0)
        output, errors = self.output.read(), self.errors.read()
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


class Progress:
    """What runs, on a terminal; a line per finished rung in a log."""

    def __init__(self, total, stream=sys.stderr):
        self.total = total
        self.done = 0
        self.stream = stream
        self.terminal = stream.isatty()

    def show(self, running):
        if self.terminal:
            names = ", ".join(run.name for run in running)
            self.stream.write(f"\r\033[K{self.done} of {self.total} done, running {names}")
            self.stream.flush()

    def finished(self, record):
        self.done += 1
        if not self.terminal:
            outcome = record.get("failed", "verified")
            seconds = record["emulation_seconds"]
            self.stream.write(f"{record['step']}: {outcome} ({seconds:.1f} s)\n")
            self.stream.flush()

    def close(self):
        if self.terminal:
            self.stream.write("\r\033[K")
            self.stream.flush()


def run_all(options, programs, folder):
    """All rungs, some at a time: a record of each that ended, and whether it was interrupted."""
    waiting, running, results = list(programs), [], {}
    progress = Progress(len(programs))
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                running.append(Run(options, *waiting.pop(0), folder))
                progress.show(running)
            for run in [run for run in running if run.finished()]:
                running.remove(run)
                results[run.name] = run.result()
                progress.finished(results[run.name])
                progress.show(running)
            time.sleep(POLL_SECONDS)
        return results, False
    except KeyboardInterrupt:
        return results, True
    finally:
        for run in running:
            process.stop(run.process)
        progress.close()


# --- the table ------------------------------------------------------------------------------


def megabytes(count):
    """1.57 MB"""
    return f"{count / 1e6:.2f} MB"


def extra_wavefronts(record):
    """Passes over the banks that conflicts cost, over all lines of source."""
    return sum(site["extra_wavefronts"] for site in record["emulator"]["shared_memory_accesses"])


def table_row(record):
    """One rung's cells."""
    if "failed" in record:
        return [record["step"], "FAILED: " + record["failed"]]
    counts = record["emulator"]["counts"]
    return [
        record["step"],
        "yes",
        str(counts["wgmmas"] + counts["mmas"]),
        megabytes(counts["tma_read_bytes"]),
        megabytes(counts["tma_written_bytes"]),
        str(extra_wavefronts(record)),
        f"{record['emulation_seconds']:.1f} s",
    ]


def shape_text(record):
    """'m=256 n=1024 k=320'"""
    names = recorded.measure_of(record).dimensions
    return " ".join(f"{name}={record['problem'][name]}" for name in names)


def print_table(records):
    """The table, under the shape if all rungs had the same."""
    shapes = {shape_text(record) for record in records if "failed" not in record}
    if len(shapes) == 1:
        print(f"CPU emulator, {shapes.pop()}; no speed is measured")
    tables.print_aligned(
        [["rung", "verified", "tensor", "TMA read", "TMA written", "conflicts", "emulation"]]
        + [table_row(record) for record in records]
    )
    print(
        "tensor: wgmma and mma instructions; conflicts: extra passes over the banks of shared "
        "memory.\nCounts are of one launch; emulation is the time of all of a rung's checks."
    )


# --- the whole ------------------------------------------------------------------------------


def write_record(path, records):
    """Writes all rungs' records, without the seconds: those are of this computer alone."""
    kept = [
        {key: record[key] for key in record if key != "emulation_seconds"} for record in records
    ]
    whole = {"schema": recorded.SCHEMA, "kind": "emulated-ladder", "rungs": kept}
    recorded.write_json(path, whole)


def check_options(options):
    """Refuses what could not be done, before anything is run."""
    selection.check_size(options)
    if options.out:
        selection.check_destination(options.out)


def emulated_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    check_options(options)
    programs = selection.find_programs(options.build, options.steps, "emulated", recorded.TRACKS)
    if options.dry_run:
        for _, path in programs:
            print(*command_of(options, path, "<temporary file>"))
        return 0
    process.catch_signals()
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        results, interrupted = run_all(options, programs, Path(folder))
    process.ignore_signals()
    records = [results[name] for name, _ in programs if name in results]
    print_table(records)
    if interrupted:
        return process.INTERRUPTED
    if options.out:
        write_record(options.out, records)
        print(f"recorded in {options.out}")
    return 1 if any("failed" in record for record in records) else 0


def main():
    """Turns the errors that are expected into one line and an exit status."""
    try:
        return emulated_main(sys.argv[1:])
    except selection.UsageError as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 2
    except (process.RungFailed, OSError) as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return process.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
