#!/usr/bin/env python3
"""Records what ptxas said of every rung's kernel: registers, shared memory, stack and spills.

    make rungs && python3 -m bench.resources

reads the logs of the build (build/steps/*.ptxas.log), asks the host's compiler for the size of each
rung's SharedStorage, and writes bench/results/resources/<nvcc's release>.json. The book shows it.
--check writes nothing and exits 1 if what is recorded differs from the build.

Exit status: 0 written (or equal), 1 what is recorded differs, 2 something is missing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench import process, rungs
from bench.process import UsageError
from bench.records import recorded

FOLDER = recorded.RESULTS / "resources"
COMMON = recorded.ROOT / "common"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>sm_\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
# A rung's shared memory; it may depend on the kernel's parameters.
STORAGE = re.compile(r"^(?P<template>template [^\n]*\n)?struct SharedStorage\b", re.MULTILINE)
STATIC = re.compile(r"(\d+) bytes smem")
# A rung as part of another file, which says how large its shared memory is.
PROBE = """#define main rung_main
#include "{rung}"
extern const unsigned long shared_storage_bytes[];
const unsigned long shared_storage_bytes[] = {{{sizes}}};
"""
PROBED = re.compile(r"^shared_storage_bytes:((?:\s*\.(?:quad|xword|8byte)\s+\d+)+)", re.MULTILINE)


def newest():
    """What was recorded last; None if nothing is."""
    records = [recorded.parse(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return max(records, key=lambda record: record["date"], default=None)


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
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=recorded.ROOT
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise UsageError(f"{command[0]} failed: {said.strip().splitlines()[0]}") from error
    return done.stdout


def storage_type(template, kernel):
    """The type of the shared memory of a kernel of this name, by the kernel's parameter or, if it has
    that, by its own; None if it has neither and the rung's is a template."""
    named = re.search(r"SharedStorage(<[^<>]*>)", kernel)
    own = kernel[len(kernel.partition("<")[0]) :]
    parameters = "" if not template else named[1] if named else own
    return f"SharedStorage{parameters}" if parameters or not template else None


def shared_storage(rung, names):
    """{kernel: the size of its SharedStorage in bytes, None if it has none} of a rung's kernels."""
    found = STORAGE.search(rung.read_text(encoding="utf-8"))
    types = {name: storage_type(found["template"], name) if found else None for name in names}
    probed = [name for name in names if types[name]]
    if not probed:
        return types
    flags = "-x c++ -std=c++20 -w -O1 -S -o - -Icommon/device/emulated -Icommon -I."
    include = ("-Iemulator/include", "-isystem", "emulator/include/toolkit")
    sizes = ", ".join(f"sizeof({types[name]})" for name in probed)
    probe = PROBE.format(rung=rung.relative_to(recorded.ROOT), sizes=sizes)
    said = PROBED.search(output_of("g++", *flags.split(), *include, "-", text=probe))
    if said is None:
        raise UsageError(f"{rung.name}: the compiler did not say how large its SharedStorage is")
    return {**types, **dict(zip(probed, map(int, re.findall(r"\d+$", said[1], re.MULTILINE))))}


def resources_of(rung, build, sizes):
    """What is to be recorded of a rung; `sizes` has what is known of SharedStorage, by the digest and
    the kernel: of the same code it is the same."""
    log = build / "steps" / f"{rung.name}.ptxas.log"
    if not log.exists():
        raise UsageError(f"{log} is not there: run 'make rungs' first")
    if any(source.stat().st_mtime > log.stat().st_mtime for source in sources(rung.path)):
        raise UsageError(f"{log} is older than what {rung.name} is made of: run 'make rungs' again")
    found = kernels(output_of("c++filt", text=log.read_text(encoding="utf-8")))
    if not found:
        raise UsageError(f"{log} names no kernel")
    code = digest(rung.path)
    names = [one["name"] for one in found if (code, one["name"]) not in sizes]
    if names:
        sizes.update(
            ((code, name), size) for name, size in shared_storage(rung.path, names).items()
        )
    for one in found:
        one["shared_storage_bytes"] = sizes[code, one["name"]]
    return {"digest": code, "kernels": found}


def nvcc_version():
    """'13.0.88'"""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    nvcc = shutil.which("nvcc") or home / "bin" / "nvcc"
    version = re.search(r"\bV([0-9.]+)", output_of(str(nvcc), "--version"))
    if version is None:
        raise UsageError(f"{nvcc} does not say which version it is")
    return version[1]


def update(options):
    """Writes, or says which rungs differ from what the same compiler is recorded to have said; returns
    the exit status."""
    old, cuda = newest() or {"cuda": None, "rungs": {}}, nvcc_version()
    sizes = {
        (rung["digest"], kernel["name"]): kernel["shared_storage_bytes"]
        for rung in old["rungs"].values()
        for kernel in rung["kernels"]
    }
    made = {name: resources_of(rung, options.build, sizes) for name, rung in rungs.find().items()}
    if not options.check:
        head = {"schema": 1, "kind": "resources", "cuda": cuda, "date": recorded.now()}
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"nvcc-{cuda}.json"
        recorded.write_json(path, {**head, "rungs": made})
        print(path.relative_to(recorded.ROOT))
        return 0
    if old["cuda"] != cuda:
        raise UsageError(f"nothing is recorded with CUDA {cuda}")
    names = ", ".join(name for name in made if old["rungs"].get(name) != made[name])
    if names:
        print(f"resources: {names}: not as recorded; run bench/resources.py", file=sys.stderr)
    return 1 if names else 0


def resources_main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    parser.add_argument("--build", metavar="DIR", type=Path, default=recorded.ROOT / "build")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    return update(parser.parse_args(arguments))


if __name__ == "__main__":
    process.run_as("resources", resources_main, {OSError: 2, ValueError: 2})
