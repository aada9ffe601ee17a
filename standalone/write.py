"""Writes a rung as one file that nvcc compiles alone: its headers in place of their includes, and main.cu."""

import re
import sys
from pathlib import Path

from bench.results import ROOT, write_whole


def inlined(path, seen):
    """The lines of a source, each header of the project in place of its first include."""
    for line in path.read_text(encoding="utf-8").splitlines():
        include = re.match(r'#include "([^"]+)"', line)
        if include and include[1] not in seen:
            seen.append(include[1])
            yield from inlined(ROOT / "common" / include[1], seen)
        elif not include and line != "#pragma once":
            yield line


def opening(source):
    """The first comment: the command that compiles it, for the GPUs that the rung's record names."""
    name = re.search(r'^    \.name = "(\w+)",$', source, re.MULTILINE)[1]
    sm = re.search(r"^    \.compute_capability = (\d+),$", source, re.MULTILINE)[1]
    # With -arch=sm_90a nvcc 13.0 also compiles for compute_90, which lacks wgmma.
    alone = f"-gencode=arch=compute_{sm}a,code=sm_{sm}a"
    arch = f"-arch=sm_{sm}" if ".and_later" in source else alone
    yield f"// {name} of gemm-ladder in one file, by `make standalone N={name}`. Compile and run it:"
    yield f"//     nvcc -std=c++20 {arch} -diag-suppress 177 -o {name} {name}.cu && ./{name} [M N K]"


rung, output = map(Path, sys.argv[1:])
lines, included = [*opening(rung.read_text(encoding="utf-8"))], []
for part in (rung, Path(__file__).with_name("main.cu")):
    lines += inlined(part, included)
write_whole(output, "\n".join([*lines, ""]).encode())
