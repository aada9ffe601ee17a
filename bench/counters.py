#!/usr/bin/env python3
"""Counts the bytes, cycles and conflicts of built rungs and variants, with Nsight Compute (ncu).

Each program runs once under ncu. The last launch of its kernel is recorded and, if it multiplies, the
last one of cuBLAS's in the same process: those on the requested inputs, not on small integers. ncu
does not set the clocks. It empties the caches before each launch and repeats it until all counters
are read, so these are counts of one launch with cold caches; its time would mean nothing and is not
recorded.
bench/results/README.md describes the file.

Exit status: 0 all counted, 1 one failed (or two do not belong together), 2 bad usage, 77 this
machine cannot run them, 130 interrupted.
"""

from __future__ import annotations

import csv
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

from bench import process, rung_run, selection, shapes
from bench.records import merge, recorded, schema

# Metrics that this version of ncu doesn't know for this GPU are recorded as null.
METRICS = (
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors_srcunit_tex.sum",  # of 32 bytes, asked of the L2 by the SMs
    "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",  # between the halves of the L2
    "l1tex__m_xbar2l1tex_read_bytes.sum",  # that arrive at the SMs
    "sm__cycles_elapsed.max",
    "smsp__inst_executed.sum",
    "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
)
RUNG_KERNELS = ("gemm", "transpose", "add_one")  # the whole name
CUBLAS_KERNELS = ("nvjet", "xmma", "cutlass", "gemm")  # a part of the name of every one
INSTALL = "install Nsight Compute, which is part of the CUDA Toolkit, or name it with --ncu"


# --- the command line -----------------------------------------------------------------------


def add_ncu(add):
    """The option that find_ncu() takes."""
    add("--ncu", metavar="PROGRAM", help="default: ncu on PATH or in /usr/local/cuda/bin")


def track_of(programs):
    """A track of these programs. UsageError if some move words and others multiply."""
    tracks = {name[0] for name, _ in programs}
    if recorded.MOVING in tracks and len(tracks) > 1:
        raise selection.UsageError(
            "--steps: rungs of the t track move words; the others have other shapes"
        )
    return tracks.pop()


def find_ncu(named):
    """Where ncu is. UsageError if a named one isn't there, CannotRun if there is none."""
    for program in [named] if named else ["ncu", "/usr/local/cuda/bin/ncu"]:
        if shutil.which(program):
            return shutil.which(program)
    if named:
        raise selection.UsageError(f"--ncu: {named} is no program")
    raise process.CannotRun(f"ncu was not found: {INSTALL}")


def known_metrics(ncu, timeout):
    """The METRICS that this ncu lists for this machine; all of them if it lists none."""
    try:
        status, output, _ = process.execute([ncu, "--query-metrics"], timeout)
    except process.RungFailed:
        return list(METRICS)
    listed = set(re.findall(r"^\s*([a-z0-9_]+__[a-z0-9_]+)", output, re.MULTILINE))
    known = [name for name in METRICS if name.partition(".")[0] in listed]
    return known if status == 0 and known else list(METRICS)


def command_of(options, path, json_path):
    """The command line of one program."""
    pairs = {
        **rung_run.problem_words(options),
        "--protocol": "none",
        "--check": "full" if options.measure is recorded.MOVES else "sample",
        "--device": options.device,
        "--json": json_path,
    }
    return rung_run.words_of(path, pairs)


# --- what ncu printed -----------------------------------------------------------------------


def number(text):
    """'1,234.5' as a number, or None for anything else."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def launches_of(output):
    """Every launch that ncu reports, in order: a list of (kernel's name, map of its columns). 'void
    gemm<3>(CUtensorMap_st, int)' is called gemm."""
    rows = list(csv.reader(line for line in output.splitlines() if line.startswith('"')))
    while rows and "Kernel Name" not in rows[0]:
        del rows[0]
    if not rows:
        raise process.RungFailed("ncu reported no kernel")
    launches = [  # below the header is a row of units
        dict(zip(rows[0], row)) for row in rows[2:] if len(row) == len(rows[0])
    ]
    names = (columns["Kernel Name"].removeprefix("void ") for columns in launches)
    return list(zip((re.split(r"[<(]", name)[0].strip() for name in names), launches))


def counters_of(launches, of_cublas):
    """The counters of the last launch of a kernel of cuBLAS, or of the rung's own, plain gemm."""
    found = []
    for kernel, columns in launches:
        own, named = kernel in RUNG_KERNELS, any(part in kernel for part in CUBLAS_KERNELS)
        if (named and not own) if of_cublas else own:
            found.append((kernel, columns))
    if not found:
        whose = "cuBLAS's" if of_cublas else "its"
        raise process.RungFailed(f"ncu reported no launch of {whose} kernel")
    kernel, columns = found[-1]
    return {
        "kernel": kernel,
        "launches": len(found),
        "counters": {name: number(columns.get(name, "")) for name in METRICS},
    }


def under_ncu(ncu, kernels, metrics, command, timeout):
    """Every launch of a program that ncu reports, of the kernels that these options choose."""
    profiler = [ncu, "--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"]
    profiler += [*kernels, "--metrics", ",".join(metrics)]
    status, output, errors = process.execute([*profiler, *command], timeout)
    named = re.search(r"^==ERROR==.*", f"{output}\n{errors}", re.MULTILINE)
    why = named[0].strip() if named else process.complaint(output, errors)
    if status == process.CANNOT_RUN_HERE or re.search(r"error code \(?77\b", output + errors):
        raise process.CannotRun(process.last_line(errors) or why)
    if status != 0:
        raise process.RungFailed(f"ncu: exit status {status}: {why}")
    return launches_of(output)


# --- one program ----------------------------------------------------------------------------


def count(options, name, path, folder):
    """Runs one program under ncu: (its own JSON, its record)."""
    json_path = folder / f"{name}.json"
    kernels = ["-k", f"regex:{'|'.join(CUBLAS_KERNELS + RUNG_KERNELS)}"]
    command = command_of(options, path, json_path)
    launches = under_ncu(options.ncu, kernels, options.metrics, command, options.timeout)
    run = rung_run.written(json_path, lambda run: rung_run.check_run(options, name, run))
    record = {"step": name, "idea": run["idea"], **counters_of(launches, of_cublas=False)}
    if options.measure is not recorded.MOVES:  # a plain copy is no kernel that could be counted
        record["cublas"] = counters_of(launches, of_cublas=True)
    return run, record


def count_all(options, programs):
    """All programs in turn: (the first one's JSON or None, the records). CannotRun if the first one
    says so."""
    first, records = None, []
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        for name, path in programs:
            try:
                run, record = count(options, name, path, Path(folder))
                first = first or run
                merge.require_same(first, run)
            except process.RungFailed as error:
                if isinstance(error, process.CannotRun) and not records:
                    raise
                record = {"step": name, "failed": error.recorded()}
            records.append(record)
            print(line_of(record), file=sys.stderr)
    return first, records


def line_of(record):
    """One record in a few words, for the log."""
    if "failed" in record:
        return f"{record['step']} FAILED: {record['failed']}"
    known = sum(value is not None for value in record["counters"].values())
    beside = f", cuBLAS {record['cublas']['kernel']}" if "cublas" in record else ""
    return f"{record['step']}: {known} of {len(METRICS)} counters{beside}"


# --- the file -------------------------------------------------------------------------------


def version_of(ncu):
    """The last line of `ncu --version`, or None."""
    try:
        _, output, _ = process.execute([ncu, "--version"], 60)
    except process.RungFailed:
        return None
    return process.last_line(output) or None


def counters_main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    selection.add_selection(parser.add_argument)
    selection.add_results(parser.add_argument)
    add_ncu(parser.add_argument)
    options = parser.parse_args(arguments)
    selection.check_size(options)
    programs = selection.find_programs(options.build, options.steps)
    track = track_of(programs)
    options.measure = shapes.measure_of_track(track)
    options.shape = shapes.of_options(options, track)
    selection.check_destination(options.out)
    options.ncu = find_ncu(options.ncu)
    options.metrics = known_metrics(options.ncu, options.timeout)
    process.catch_signals()
    date = recorded.now()
    first, records = count_all(options, programs)
    if first is None:
        print("counters: nothing was counted; nothing is written", file=sys.stderr)
        return 1
    process.ignore_signals()
    words = f"{shapes.shape_text(options.shape)}-counters"
    record = {
        "schema": schema.SCHEMAS["counters"],
        "kind": "counters",
        **merge.identity(first),
        "date": date,
        "ncu": version_of(options.ncu),
        "metrics": list(METRICS),
        "steps": records,
    }
    print(f"recorded in {recorded.write_new(options.out, record, words)}")
    return 1 if any("failed" in record for record in records) else 0


if __name__ == "__main__":
    process.run_as("counters", counters_main, dict.fromkeys((merge.Mismatch, OSError), 1))
