#!/usr/bin/env python3
"""Counts the bytes, cycles and conflicts of built rungs and variants, with Nsight Compute (ncu).

Each program runs once under ncu. The last launch of its kernel is recorded and, if it multiplies,
the last one of cuBLAS's in the same process: those on the requested inputs, not on small integers.
ncu does not set the clocks. It empties the caches before each launch and repeats it until all
counters are read, so these are counts of one launch with cold caches; its time would mean nothing
and is not recorded. A row is what the program wrote, by the protocol "counters", with `kernel` and
`counters`, and `cublas` with these of cuBLAS's kernel in the same process.

Exit status: 0 all counted, 1 one failed, 2 bad usage, 77 this machine cannot run them, 130
interrupted.
"""

from __future__ import annotations

import csv
import re
import shutil

from bench import ladder, results, run
from bench.run import CannotRun, Failed, UsageError

# Metrics that this version of ncu doesn't know for this GPU are left out.
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
PROTOCOL = "counters"  # in the rows
NOT_FOUND = "ncu was not found: install Nsight Compute, of the CUDA Toolkit, or name it by --ncu"


def find_ncu(named):
    """Where ncu is. UsageError if a named one isn't there, CannotRun if there is none."""
    places = [named] if named else ["ncu", "/usr/local/cuda/bin/ncu"]
    for found in filter(None, map(shutil.which, places)):
        return found
    raise UsageError(f"--ncu: {named} is no program") if named else CannotRun(NOT_FOUND)


def known_metrics(ncu, timeout):
    """The METRICS that this ncu lists for this machine; all of them if it lists none."""
    _, output, _ = run.execute([ncu, "--query-metrics"], timeout)
    listed = set(re.findall(r"^\s*([a-z0-9_]+__[a-z0-9_]+)", output, re.MULTILINE))
    return [name for name in METRICS if name.partition(".")[0] in listed] or METRICS


def number(text):
    """'1,234.5' as a number, or None for anything else."""
    plain = text.replace(",", "")
    if not re.fullmatch(r"[0-9]+([.][0-9]+)?", plain):
        return None
    value = float(plain)
    return int(value) if value.is_integer() else value


def launches_of(output):
    """Every launch that ncu reports, in order: a list of (kernel's name, map of its columns). 'void
    gemm<3>(CUtensorMap_st, int)' is called gemm."""
    table = csv.DictReader(line for line in output.splitlines() if line.startswith('"'))
    launches = [row for row in table if row.get("Kernel Name")]  # a row of units has none
    if not launches:
        raise Failed("ncu reported no kernel")
    names = (row["Kernel Name"].removeprefix("void ") for row in launches)
    return list(zip((re.split(r"[<(]", name)[0].strip() for name in names), launches))


def counters_of(launches, of_cublas):
    """The counters of the last launch of a kernel of cuBLAS, or of the rung's own, plain gemm."""
    found = None
    for kernel, columns in launches:
        own, named = kernel in RUNG_KERNELS, any(part in kernel for part in CUBLAS_KERNELS)
        if (named and not own) if of_cublas else own:
            counters = {name: number(columns.get(name) or "") for name in METRICS}
            found = {"kernel": kernel, "counters": counters}
    if not found:
        whose = "cuBLAS's" if of_cublas else "its"
        raise Failed(f"ncu reported no launch of {whose} kernel")
    found["counters"] = {name: one for name, one in counters.items() if one is not None}
    return found


def profiler(ncu, kernels, metrics):
    """ncu, with the options that choose kernels and counters; a program's command line follows."""
    how = ["--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"]
    return [ncu, *how, *kernels, "--metrics", ",".join(metrics)]


def launches_under(process):
    """Every launch that ncu reports, once the process of it and a program has ended."""
    status, output, errors = process.result()
    named = re.search(r"^==ERROR==.*", f"{output}\n{errors}", re.MULTILINE)
    why = named[0].strip() if named else run.complaint(output, errors)
    if status == run.CANNOT_RUN_HERE or re.search(r"error code \(?77\b", output + errors):
        raise CannotRun(run.last_line(errors) or why)
    if status != 0:
        raise Failed(f"ncu: exit status {status}: {why}")
    return launches_of(output)


def version_of(ncu):
    """The last line of `ncu --version`."""
    return run.last_line(run.execute([ncu, "--version"], 60)[1])


# --- the runs -----------------------------------------------------------------------------------


class Counters(ladder.Ladders):
    """Programs that each run once under ncu."""

    def __init__(self, options, tasks, folder):
        super().__init__(options, tasks, folder)
        self.ncu = find_ncu(options.ncu)
        self.metrics, self.version = known_metrics(self.ncu, options.timeout), version_of(self.ncu)

    def command_of(self, entry):
        """A program under ncu; it times nothing itself."""
        options, path = self.options, self.path_of(entry)
        kernels = ["-k", f"regex:{'|'.join(CUBLAS_KERNELS + RUNG_KERNELS)}"]
        asked = {"protocol": "none", "device": options.device, "json": path}
        command = run.command_of(entry, options, **asked)
        return [*profiler(self.ncu, kernels, self.metrics), *command]

    def written(self, entry, process):
        """The row of a program, with the counts."""
        launches = launches_under(process)
        row = run.read(self.path_of(entry))
        row["context"] |= {"protocol": PROTOCOL, "ncu": self.version}
        row.update(counters_of(launches, of_cublas=False))
        if entry.task.track != results.MOVING:  # a plain copy is no kernel that could be counted
            row["cublas"] = counters_of(launches, of_cublas=True)
        return row

    def show(self, ladders):
        """How many counters were read."""
        for one in ladders:
            for name in one.measured:
                print(f"{name}: {len(one.first(name)['counters'])} of {len(METRICS)} counters")


def counters_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    run.add_options(parser.add_argument)
    usual = "default: ncu on PATH or in /usr/local/cuda/bin"
    parser.add_argument("--ncu", metavar="PROGRAM", help=usual)
    parser.set_defaults(track="v", emulate=False, passes=1, jobs=1, dry_run=False)
    options = parser.parse_args(arguments)
    return ladder.measure(options, ladder.make_tasks(options, (PROTOCOL,)), Counters)


if __name__ == "__main__":
    run.run_as("counters", counters_main)
