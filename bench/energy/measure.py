#!/usr/bin/env python3
"""Measures where the joules of a rung go: runs its parts one by one, and records one JSON.

    make energy

A part is the rung's kernel with some of its work left out; `build/energy/parts --list` names them.
Each runs for seconds in a process of its own, so that a part that fails, or does not end, does not
stop the others; the driver's energy counter measures it. Paced parts take as long as the whole did.
If Nsight Compute (ncu) is installed, it then counts the bytes that a launch of some parts moves: the
source shows what TMA requests, but not how much of it leaves the L2 or comes from DRAM.
Only Python's standard library is needed. bench/results/README.md describes the file, and
bench/energy/budget.py makes a budget of it.

Exit status: 0 all parts measured, 1 one failed or had no time left, or another process
uses the GPU, 2 bad usage, 77 this machine cannot run them, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench import counters, gpu_users, process, rung_run, selection
from bench.energy import budget, energy_limits
from bench.process import CannotRun, RungFailed
from bench.records import recorded
from bench.selection import UsageError

PART_SCHEMA = 1
SHARED = ("rung", "commit", "gpu", "problem", "peak_flop_per_cycle", "warm_up")
OWN = ("what", "zeros", "sm_share", "pace", "launches", "seconds", "sm_clock_ghz", "celsius")
PACED_BY = ("whole", "rung")  # the first of them that was measured
COUNTED = (budget.WHOLE, budget.MERGED, budget.APART)  # the parts that ncu counts
METRICS = {  # figure -> (metric, bytes of one)
    "l2_bytes": ("lts__t_sectors_srcunit_tex.sum", 32),
    "sm_bytes": ("l1tex__m_xbar2l1tex_read_bytes.sum", 1),
    "dram_read_bytes": ("dram__bytes_read.sum", 1),
}
NCU = ["--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"]
NCU += ["-k", "regex:part_kernel", "-c", "1"]
NCU += ["--metrics", ",".join(metric for metric, _ in METRICS.values())]
NCU_SECONDS = 25  # for all parts


def make_parser():
    """The options; their names are those of bench/ladder.py wherever both have them."""
    parser = argparse.ArgumentParser(
        description="Run the parts of a rung and record the energy that each takes.",
        epilog="Exit status: 0 all measured, 1 a part failed, 2 bad usage, "
        "77 this machine cannot run them, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--program", metavar="FILE", type=Path, default=recorded.ROOT / "build/energy/parts")
    add("--parts", metavar="NAME,...", help="what to run (default: all parts)")
    add("--size", type=selection.positive, default=8192, metavar="N", help="m = n = k = N")
    add("--seed", type=selection.unsigned64, default=1)
    add("--warm-up", type=float, default=0.9, metavar="S", help="seconds before each part")
    add("--seconds", type=float, default=2.0, metavar="S", help="seconds of each part that count")
    add("--timeout", type=selection.positive, default=15, metavar="S", help="seconds per process")
    add("--deadline", type=selection.positive, default=92, metavar="S", help="seconds for all")
    add("--device", type=int, default=0, metavar="I")
    add("--share-gpu", action="store_true", help="record even if another process uses the GPU")
    add("--nvidia-smi", default="nvidia-smi", metavar="PROGRAM", help="default: the one on PATH")
    add("--ncu", metavar="PROGRAM", help="default: ncu on PATH or in /usr/local/cuda/bin")
    add("--out", metavar="FILE", type=Path, help="default: a new file in bench/results")
    add("--show", metavar="FILE", type=Path, help="print the budget of a recorded run; run nothing")
    return parser


def list_parts(options):
    """[(name, whether it is paced)], in order. UsageError if there is no program."""
    if not selection.is_program(options.program):
        raise UsageError(f"{options.program} is not built: make build/energy/parts")
    status, output, errors = process.execute([str(options.program), "--list"], options.timeout)
    if status != 0:
        raise UsageError(f"{options.program} --list: {process.complaint(output, errors)}")
    lines = [line.split("\t") for line in output.splitlines()]
    found = {name: paced == "paced" for name, paced, _ in lines}
    wanted = options.parts.split(",") if options.parts else found
    unknown = sorted(set(wanted) - set(found))
    if unknown:
        raise UsageError(f"--parts: there is no part {', '.join(unknown)}")
    return [(name, paced) for name, paced in found.items() if name in wanted]


# --- a part ---------------------------------------------------------------------------------


def command_of(options, name, pace, more):
    """The command line of one part, with more options."""
    asked = {"--size": options.size, "--seed": options.seed, "--device": options.device}
    return rung_run.words_of(options.program, {"--part": name, **asked, "--pace": pace, **more})


def run_part(options, name, pace, folder, left):
    """Runs one part, for as many seconds as are left at most: its JSON. RungFailed or CannotRun."""
    json_path = folder / f"{name}.json"
    times = {"--warm-up": options.warm_up, "--seconds": options.seconds, "--json": json_path}
    command = command_of(options, name, pace, times)
    status, output, errors = process.execute(command, min(options.timeout, round(left, 1)))
    if status == process.CANNOT_RUN_HERE:
        raise CannotRun(process.complaint(output, errors))
    if status != 0:
        raise RungFailed(process.explain(status, output, errors))

    def check(run):
        asked = ("energy part", PART_SCHEMA, name, options.size, options.seed)
        problem = run["problem"]
        if (run["kind"], run["schema"], run["part"], problem["m"], problem["seed"]) != asked:
            raise ValueError(f"it is of {run['kind']} {run['part']}, not of {name}")

    return rung_run.written(json_path, check)


def entry_of(run):
    """A part as it stands in the record, with what follows from what it wrote down."""
    seconds, clock, peak = run["seconds"], run["sm_clock_ghz"], run["peak_flop_per_cycle"]
    flop = run["counts"]["flop"] if run["counts"] else 0
    known = flop and seconds and clock and peak
    watts = budget.watts_of(run["edges"])
    return {
        "part": run["part"],
        **{key: run[key] for key in OWN},
        "watts": watts,
        "watts_error": budget.watts_error(run["edges"]),
        "joules": None if seconds is None else watts * seconds,
        "tensor_core_share": flop / (peak * seconds * clock * 1e9) if known else None,
        "counts": run["counts"],
        "edges": run["edges"],
    }


def words_of(entry):
    """A part in a few words, for the log."""
    if "failed" in entry:
        return f"FAILED: {entry['failed']}"
    known = (
        (entry["joules"], ".4f", 1, "J"),
        (entry["seconds"], ".4f", 1e3, "ms"),
        (entry["sm_clock_ghz"], ".3f", 1, "GHz"),
    )
    words = [f"{value * scale:{form}} {unit}" for value, form, scale, unit in known if value]
    return ", ".join([f"{entry['watts']:.1f} W (+- {entry['watts_error']:.1f})", *words])


# --- all parts ------------------------------------------------------------------------------


def new_record():
    """A record without parts, whose other fields are not known yet."""
    return {
        "schema": recorded.SCHEMA,
        "kind": "energy",
        **dict.fromkeys(SHARED),  # known with the first part
        "date": None,
        "interrupted": False,
        "gpu_processes": None,
        "parts": [],
        "counted": None,
    }


def add(record, run):
    """Keeps a part that belongs to the others. RungFailed if it does not."""
    first = record["rung"] is None
    for key in SHARED:
        if run[key] != record[key] and not first:
            raise RungFailed(f"its {key} differs from that of the parts before")
    why = energy_limits.broken(run, run["gpu"]["sms"], run["peak_flop_per_cycle"])
    if why:
        raise RungFailed(f"impossible: {why}")
    record.update({key: run[key] for key in SHARED})
    record["parts"].append(entry_of(run))


def pace_of(record, paced):
    """How long a part that is paced is to take; None if it isn't. RungFailed if it isn't known."""
    good = budget.good_parts(record)
    seconds = [good[name]["seconds"] for name in PACED_BY if name in good]
    if paced and not seconds:
        raise RungFailed("it takes as long as the whole, which was not measured")
    return seconds[0] if paced else None


def measure_part(options, name, pace, record, folder, left):
    """Keeps what one part took. RungFailed if there is nothing to keep; CannotRun if already the very
    first part says so."""
    if left < options.warm_up + options.seconds:
        raise RungFailed(f"no time left of {options.deadline} s (--deadline)")
    try:
        add(record, run_part(options, name, pace, folder, left))
    except CannotRun as error:
        if record["rung"] is None:
            raise
        raise RungFailed(f"exit status 77: {error}") from error


def run_parts(options, parts, record, folder):
    """All parts in order, as long as there is time. A line for each."""
    began = time.monotonic()
    for number, (name, paced) in enumerate(parts, 1):
        start = time.monotonic()
        left = options.deadline - (start - began)
        try:
            measure_part(options, name, pace_of(record, paced), record, folder, left)
        except RungFailed as error:
            record["parts"].append({"part": name, "failed": str(error)})
        now = time.monotonic()
        taken = f"({now - start:.1f} s, {now - began:.0f} s in all)"
        words = f"{number}/{len(parts)} {name}: {words_of(record['parts'][-1])} {taken}"
        print(words, file=sys.stderr, flush=True)


def count_part(ncu, command, left):
    """What ncu counts of one launch, whose energy means nothing: {figure: bytes}."""
    if left <= 0:
        raise RungFailed(f"no time left of {NCU_SECONDS} s")
    status, output, errors = process.execute([ncu, *NCU, *command], left)
    if status != 0:
        raise RungFailed(f"ncu: exit status {status}: {counters.complaint(output, errors)}")
    (_, columns) = counters.launches_of(output)[-1]
    found = {name: counters.number(columns.get(name, "")) for name, _ in METRICS.values()}
    missing = [name for name, value in found.items() if value is None]
    if missing:
        raise RungFailed(f"ncu does not say {', '.join(missing)}")
    return {figure: found[name] * scale for figure, (name, scale) in METRICS.items()}


def count(options, parts, record):
    """Has ncu, where it is installed, count some of the parts that were measured. A line for each."""
    try:
        ncu = counters.find_ncu(options.ncu)
    except CannotRun:
        return
    end = time.monotonic() + NCU_SECONDS
    entries = []
    for name, paced in parts:
        if name not in COUNTED or name not in budget.good_parts(record):
            continue
        command = command_of(options, name, pace_of(record, paced), {"--launches": 1})
        try:
            found = count_part(ncu, command, end - time.monotonic())
        except RungFailed as error:
            found = {"failed": str(error)}
        entries.append({"part": name, **found})
        figures = ", ".join(f"{key} {value}" for key, value in found.items())
        print(f"ncu: {name}: {figures}", file=sys.stderr, flush=True)
    if entries:
        record["counted"] = {"ncu": counters.version_of(ncu), "parts": entries}


def measure(options, parts):
    """The record of what was measured, also after a Ctrl-C."""
    record = new_record()
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        try:
            run_parts(options, parts, record, Path(folder))
            count(options, parts, record)
        except KeyboardInterrupt:
            record["interrupted"] = True
            print("interrupted: keeping the parts that are finished", file=sys.stderr)
    return record


# --- the file -------------------------------------------------------------------------------


def show(record):
    """Prints the budget, if the parts give one."""
    try:
        made = budget.make(record)
    except budget.Unsolvable as error:
        print(f"energy: {error}")
        return
    for entry in made.entries:
        ends = f"{1e3 * entry.low:7.1f} to {1e3 * entry.high:7.1f}"
        share = 100 * entry.share(made.joules)
        print(f"{entry.words:32} {1e3 * entry.joules:7.1f} mJ {share:5.1f} %  ({ends})")
    print(f"{'the whole':32} {1e3 * made.joules:7.1f} mJ  (+- {1e3 * made.error:.1f})")
    worst = max(made.fit.residuals.items(), key=lambda pair: abs(pair[1]))
    print(
        f"voltage: {made.fit.slope:.3f} per GHz; largest error: {worst[0]}, {100 * worst[1]:+.1f} %"
    )


def report(options, record, date):
    """Writes and prints what there is; returns the exit status."""
    if record["rung"] is None:
        print("energy: no part has a result; nothing is written", file=sys.stderr)
    else:
        words = f"{recorded.shape_text(record)}-energy"
        path = recorded.write_new(options.out, record, words, date)
        print(f"recorded in {path}")
        show(record if recorded.is_written_to(path) else recorded.load_record(path))
    if record["interrupted"]:
        return process.INTERRUPTED
    return 1 if len(budget.good_parts(record)) < len(record["parts"]) else 0


def energy_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser().parse_args(arguments)
    if options.show:
        show(recorded.load_record(options.show))
        return 0
    if options.device < 0 or options.warm_up <= 0 or options.seconds <= 0:
        raise UsageError("--device, --warm-up and --seconds: give numbers above 0")
    selection.check_destination(options.out)
    if options.ncu:
        counters.find_ncu(options.ncu)
    parts = list_parts(options)
    process.catch_signals()
    users = gpu_users.Users(options)
    users.refuse()
    date = time.gmtime()
    record = measure(options, parts)
    users.look()
    process.ignore_signals()
    record.update(date=recorded.as_date(date), gpu_processes=users.record())
    return report(options, record, date)


def main():
    """Turns the errors that are expected into one line and an exit status."""
    statuses = {UsageError: 2, RungFailed: 2, gpu_users.Busy: 1, OSError: 1, ValueError: 1}
    return process.expected("energy", lambda: energy_main(sys.argv[1:]), statuses)


if __name__ == "__main__":
    sys.exit(process.ended(main))
