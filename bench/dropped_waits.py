"""Drops the barriers, fences and waits of other projects' kernels, one at a time, and counts which of
them the emulator finds.

    python3 -m bench.dropped_waits --clones FOLDER [--page FILE]

FOLDER has the clones, each under its project's name. They are copied to build/dropped_waits/. --page
writes the table into a page that has one with the same head.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

from bench.results import ROOT

COPIES = ROOT / "build/dropped_waits"
SEEDS = "8"


# The file in which the kernel is, the driver's options, where {clone} is the copy, and the program, a
# main of the examples or the project's own, with its arguments.
Kernel = namedtuple("Kernel", "name project file kernel options program")
KERNELS = [
    Kernel(*(field.strip() for field in row.split("|")))
    for row in """
fast.cu, kernel 5: producer and consumers, cuda::barrier | fast.cu | examples/matmul/matmul_5.cuh |
    matmulKernel5 | -I {clone} -D NDEBUG --allow global-map,shared-alignment |
    emulator/examples/fast_cu.cu 5 256 256 448
fast.cu, kernel 8: clusters, multicast | fast.cu | examples/matmul/matmul_8.cuh | matmulKernel8 |
    -I {clone} -D NDEBUG --allow barrier-fence,cluster-exit,early-arrival,shared-alignment |
    emulator/examples/fast_cu.cu 8 2048 2048 256
tma_intro, add one | tma_intro | intro.cu | kernel | --set GMEM_WIDTH=96 --set GMEM_HEIGHT=96 | {clone}/intro.cu
effective_transpose, batched | effective_transpose | transpose_swizzle_batched.cu | kernel |
    --set GMEM_WIDTH=96 --set GMEM_HEIGHT=96 --set numRounds=1 | {clone}/transpose_swizzle_batched.cu
cuda_hgemm, mma of 3 stages: cp.async | cuda_hgemm | src/mma/mma_async_stage3.cu |
    mmaAsyncStage3Kernel | -I {clone}/src -I {clone}/src/common | emulator/examples/cuda_hgemm.cu 8
SGEMM_CUDA, kernel 12: memcpy_async | SGEMM_CUDA | src/kernels/12_kernel_double_buffering.cuh |
    runSgemmDoubleBuffering2 | -I {clone}/src | emulator/examples/sgemm_cuda.cu 12
""".replace("\n ", " ")
    .strip()
    .splitlines()
]
# A line's first statement that is a barrier, a fence or a wait. A wait's argument may be an arrival,
# which stays.
SYNCHRONISES = re.compile(
    r"""^[ \t]*(?P<statement> __syncthreads\(\) | __syncwarp\(.*?\)
      | cde::fence_proxy_async_shared_cta\(\) | cde::cp_async_bulk_wait_group_read<\d+>\(\)
      | [\w\[\].()*]+\.(?:wait\((?P<argument>.*)\)|arrive_and_wait\(\)) | wait\(&.*\)
      | warpgroup_(?:arrive|wait)(?:<\d+>)?\(\) | CP_ASYNC_WAIT_GROUP\(\d+\)
      | asm\ volatile\("(?:bar\.sync|barrier\.cluster|cp\.async\.bulk\.wait_group).*\));""",
    re.VERBOSE | re.MULTILINE,
)
REPORT = re.compile(r"^  (emulator: \w+): .*\n((?:    .*\n)*)", re.MULTILINE)
HEAD = "| kernel | dropped | reported | only a wrong result | missed |\n|---|---|---|---|---|\n"


def run(kernel, clone, *more):
    """The runs that went wrong, and what reports there were: their kinds and lines of source."""
    main, *arguments = kernel.program.split()
    command = ["emulator/translate/run", "--quiet", "--seeds", SEEDS, *more]
    command += kernel.options.format(clone=clone).split()
    command += [main.format(clone=clone), "--", *arguments]
    how = {"cwd": ROOT, "stdout": subprocess.PIPE, "env": {**os.environ, "EMULATOR_STORY": "0"}}
    ended = subprocess.run(command, text=True, check=False, **how)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"{kernel.name} was not built")
    bad = re.findall(r"^(\w[^:\n]*): exit status", ended.stdout, re.MULTILINE)
    reports = REPORT.findall(ended.stdout)
    return bad, {" ".join([kind, *re.findall(r"\S+:\d+(?=  )", text)]) for kind, text in reports}


def measure(kernel, clones):
    """A row of the table; prints what found each drop."""
    copy = COPIES / kernel.project
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(clones / kernel.project, copy, ignore=shutil.ignore_patterns(".git"))
    file = copy / kernel.file
    text = file.read_text()
    bad, before = run(kernel, copy)
    if bad:
        raise SystemExit(f"{kernel.name}: the kernel itself went wrong under {bad}: {before}")
    body = re.search(rf"__global__[^;{{}}]*\b{kernel.kernel}\s*\((?s:.*?)^}}", text, re.MULTILINE)
    found = {"reported": [], "wrong": [], "missed": []}
    for drop in SYNCHRONISES.finditer(text, *body.span()):
        begin, end = drop.span("statement")
        kept = f"(void)({drop['argument']})" if drop["argument"] else ""
        file.write_text(text[:begin] + kept + text[end:])
        bad, reports = run(kernel, copy, "--first")
        if bad and reports <= before:  # some other run may say why the result is wrong
            bad, reports = run(kernel, copy)
        new = sorted(reports - before)
        line = f"line {text.count(chr(10), 0, begin) + 1}"
        found["reported" if new else "wrong" if bad else "missed"].append(line)
        print(f"{kernel.name}, {line}: {drop['statement']}: {bad} {new[:1]}", flush=True)
    counts = [str(sum(map(len, found.values()))), *(str(len(lines)) for lines in found.values())]
    counts[-1] += f" ({', '.join(found['missed'])})" if found["missed"] else ""
    return f"| {' | '.join([kernel.name, *counts])} |\n"


def main():
    parser = argparse.ArgumentParser(prog="bench.dropped_waits", description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    table = HEAD + "".join(measure(kernel, options.clones.resolve()) for kernel in KERNELS)
    print(table)
    if options.page:
        page = options.page.read_text()
        options.page.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table, page))


if __name__ == "__main__":
    main()
