#!/usr/bin/env python3
"""Records what ptxas said of every rung's kernel: registers, static shared memory, stack and
spills.

    make rungs variants && python3 -m bench.resources

reads the logs of the build (build/steps/*.ptxas.log) and writes bench/results/nvcc-<its
release>.jsonl in place of what is there. Pages show it, the variants' too.

Exit status: 0 written, 2 something is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from bench import run, rungs
from bench.results import RESULTS, ROOT, is_variant, write_whole
from bench.run import UsageError

KERNEL = re.compile(
    r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>sm_\w+)'.*?"
    r"(?P<stack_bytes>\d+) bytes stack frame, (?P<spill_store_bytes>\d+) bytes spill stores, "
    r"(?P<spill_load_bytes>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?:[^\n]*?, (?P<static_shared_bytes>\d+) bytes smem)?",
    re.DOTALL,
)


CODE = re.compile(r"\((C75\d\d)\)")  # wgmmas serialised, setmaxnreg ignored


def recorded():
    """The names of what is recorded: all rungs, and variants without setmaxnreg."""
    patches = (ROOT / "bench" / "variants").glob("*-no-setmaxnreg.patch")
    return [*rungs.find(), *sorted(path.stem for path in patches)]


def folder(name):
    """Where the build has a program."""
    return "variants/steps" if is_variant(name) else "steps"


def newest():
    """What the newest release said: {"cuda", "date"}, empty if none, and {name: [kernel, ...]}."""
    rows, zeros = [], {**dict.fromkeys(KERNEL.groupindex, 0), "codes": []}
    for path in sorted(RESULTS.glob("nvcc-*.jsonl"))[-1:]:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = {row["step"]: [{**zeros, **kernel} for kernel in row["kernels"]] for row in rows}
    return {key: row[key] for row in rows[:1] for key in ("cuda", "date")}, found


def kernels(log):
    """One record per kernel and GPU of a ptxas log whose names are demangled."""
    return [
        {key: value if key in ("name", "arch") else int(value) for key, value in found.items()}
        | {"codes": sorted({*CODE.findall(log)})}
        for found in (match.groupdict("0") for match in KERNEL.finditer(log))
    ]


def kernels_of(name, build):
    """What ptxas said of a program's kernels."""
    log = build / folder(name) / f"{name}.ptxas.log"
    if not log.exists():
        raise UsageError(f"{log} is not there: run 'make rungs variants' first")
    mangled = log.read_text(encoding="utf-8")
    return kernels(subprocess.check_output(["c++filt", "--no-params"], input=mangled, text=True))


def nvcc_version():
    """'13.0.88'"""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    nvcc = shutil.which("nvcc") or str(home / "bin" / "nvcc")
    return re.search(r"\bV([0-9.]+)", subprocess.check_output([nvcc, "--version"], text=True))[1]


def resources_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build")
    options = parser.parse_args(arguments)
    rows = []
    for name in recorded():
        found = kernels_of(name, options.build)  # what is not there is 0, or none
        found = [{key: value for key, value in one.items() if value} for one in found]
        rows.append({"step": name, "kernels": found})
    cuda = nvcc_version()
    rows[0].update(cuda=cuda, date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    path = RESULTS / f"nvcc-{cuda}.jsonl"
    lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    write_whole(path, "".join(lines).encode("utf-8"))
    print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    run.run_as("resources", resources_main)
