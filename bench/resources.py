#!/usr/bin/env python3
"""Records what ptxas said of every rung's kernel: registers, static shared memory, stack and
spills.

    make rungs && python3 -m bench.resources

reads the logs of the build (build/steps/*.ptxas.log) and writes bench/results/nvcc-<its
release>.jsonl in place of what is there. The book shows it.

Exit status: 0 written, 2 something is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from bench import run, rungs
from bench.results import RESULTS, ROOT, write_whole
from bench.run import UsageError

COMMON = ROOT / "common"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>sm_\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
STATIC = re.compile(r"(\d+) bytes smem")


def newest():
    """What was recorded last: {"cuda", "date", "rungs": {name: {"digest", "kernels"}}}, or None."""
    found = []
    for path in RESULTS.glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        head = {key: rows[0][key] for key in ("cuda", "date")}
        found.append({**head, "rungs": {row["step"]: row for row in rows}})
    return max(found, key=lambda record: record["date"], default=None)


def sources(path, known=()):
    """A file and all of common/ that it includes, directly or not, in order."""
    found = [path]
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        header = COMMON / name
        if header.exists() and header not in (*known, *found):
            found += sources(header, (*known, *found))
    return found


def digest(path):
    """A hash of the code that a rung is made of. Comments and blanks do not count."""
    total = hashlib.sha256()
    for source in sources(Path(path)):
        code = COMMENT.sub(" ", source.read_text(encoding="utf-8"))
        total.update(" ".join(code.split()).encode("utf-8") + b"\n")
    return total.hexdigest()[:16]


def without_parameters(name):
    """A function's name with its template's arguments, which may be casts: "f<(kind)1>(int)"."""
    depth = 0
    for place, character in enumerate(name):
        if character == "(" and depth == 0:
            return name[:place]
        depth += {"<": 1, ">": -1}.get(character, 0)
    return name


def kernels(log):
    """One record per kernel and GPU of a ptxas log."""
    return [
        {
            "name": without_parameters(match["name"]).removeprefix("void "),
            "arch": match["arch"],
            "registers": int(match["registers"]),
            "static_shared_bytes": sum(map(int, STATIC.findall(match["rest"]))),
            "stack_bytes": int(match["stack"]),
            "spill_store_bytes": int(match["stores"]),
            "spill_load_bytes": int(match["loads"]),
        }
        for match in KERNEL.finditer(log)
    ]


def output_of(*command, text=None):
    """What a program printed. UsageError, naming it, if it failed."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UsageError(f"{command[0]} failed: {error}") from error
    return done.stdout


def resources_of(rung, build):
    """What is to be recorded of a rung."""
    log = build / "steps" / f"{rung.name}.ptxas.log"
    if not log.exists():
        raise UsageError(f"{log} is not there: run 'make rungs' first")
    if any(source.stat().st_mtime > log.stat().st_mtime for source in sources(rung.path)):
        raise UsageError(f"{log} is older than what {rung.name} is made of: run 'make rungs' again")
    found = kernels(output_of("c++filt", text=log.read_text(encoding="utf-8")))
    if not found:
        raise UsageError(f"{log} names no kernel")
    return {"step": rung.name, "digest": digest(rung.path), "kernels": found}


def nvcc_version():
    """'13.0.88'"""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    nvcc = shutil.which("nvcc") or home / "bin" / "nvcc"
    version = re.search(r"\bV([0-9.]+)", output_of(str(nvcc), "--version"))
    if version is None:
        raise UsageError(f"{nvcc} does not say which version it is")
    return version[1]


def resources_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build")
    options = parser.parse_args(arguments)
    rows = [resources_of(rung, options.build) for rung in rungs.find().values()]
    cuda = nvcc_version()
    rows[0].update(cuda=cuda, date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    path = RESULTS / f"nvcc-{cuda}.jsonl"
    write_whole(path, "".join(json.dumps(row) + "\n" for row in rows).encode("utf-8"))
    print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    run.run_as("resources", resources_main)
