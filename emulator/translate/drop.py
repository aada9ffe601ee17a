"""Drops the barriers, fences and waits of other projects' kernels, one at a time, and counts which of
them the emulator finds.

    python3 -m emulator.translate.drop --clones FOLDER [--page FILE] [WORD...]   WORD: only kernels with WORD

FOLDER has the clones, each under its project's name. They are copied to build/emulate/drop/. --page
writes the table into a page that has one with the same head.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from .__main__ import BUILD, REPORT, ROOT, essence
from .cuda import Source, kernels_of
from .cxx import closing_of, spelled

MAINS = ROOT / "emulator/examples"
COPIES = BUILD / "emulate/drop"
RANDOM = 8  # seeds


class Kernel(NamedTuple):
    name: str
    project: str
    file: str  # in which the kernel is
    kernel: str
    options: str  # of the driver; {clone} is the copy
    program: str  # a main of the examples, and its arguments


KERNELS = [
    Kernel(*(field.strip() for field in row.split("|")))
    for row in """
fast.cu, kernel 5: producer and consumers, cuda::barrier | fast.cu | examples/matmul/matmul_5.cuh |
    matmulKernel5 | -I {clone}/examples/matmul -D KERNEL=5 -D KERNEL_FILE="matmul_5.cuh" -D NDEBUG --allow global-map,shared-alignment |
    fast_cu.cu 256 256 448
fast.cu, kernel 8: clusters, multicast | fast.cu | examples/matmul/matmul_8.cuh | matmulKernel8 |
    -I {clone}/examples/matmul -D KERNEL=8 -D KERNEL_FILE="matmul_8.cuh" -D NDEBUG --allow barrier-fence,cluster-exit,shared-alignment |
    fast_cu.cu 2048 2048 256
tma_intro, add one | tma_intro | intro.cu | kernel | -I {clone} | tma_intro.cu
effective_transpose, batched | effective_transpose | transpose_swizzle_batched.cu | kernel |
    -I {clone} -D BATCHED | effective_transpose.cu
cuda_hgemm, mma of 3 stages: cp.async | cuda_hgemm | src/mma/mma_async_stage3.cu |
    mmaAsyncStage3Kernel | -I {clone}/src -I {clone}/src/common | cuda_hgemm.cu 8
SGEMM_CUDA, kernel 12: memcpy_async | SGEMM_CUDA | src/kernels/12_kernel_double_buffering.cuh |
    runSgemmDoubleBuffering2 | -I {clone}/src | sgemm_cuda.cu 12
""".replace("\n ", " ")
    .strip()
    .splitlines()
]
# A whole statement that is a barrier, a fence or a wait.
SYNCHRONISES = re.compile(
    r"""__syncthreads\(\) | __syncwarp\(.*\)
      | cde::fence_proxy_async_shared_cta\(\) | cde::cp_async_bulk_wait_group_read<\d+>\(\)
      | .*[\w\])]\.(?:wait\(.*\)|arrive_and_wait\(\)) | wait\(&.*\)
      | warpgroup_(?:arrive|wait)(?:<\d+>)?\(\) | CP_ASYNC_WAIT_GROUP\(\d+\)
      | asm\ volatile\("(?:bar\.sync|barrier\.cluster|cp\.async\.bulk\.wait_group).*\)""",
    re.VERBOSE | re.DOTALL,
)
HEAD = "| kernel | dropped | reported | only a wrong result | missed |\n|---|---|---|---|---|\n"


class Drop(NamedTuple):
    line: int
    statement: str
    text: str  # of the file without it


def drops_of(kernel: Kernel, text: str) -> list[Drop]:
    tokens = Source(text, kernel.file).code
    body = next(one.body for one in kernels_of(tokens) if one.name == kernel.kernel)
    found, at = [], body + 1
    for place in range(at, closing_of(tokens, body)):
        if tokens[place].text in tuple("{};"):
            statement = spelled(tokens[at:place])
            if tokens[place].text == ";" and SYNCHRONISES.fullmatch(statement):
                # A wait's argument may be an arrival: that stays.
                argument = re.fullmatch(r".*?\.wait\((.*)\)", statement)
                kept = f"(void)({argument[1]})" if argument else ""
                first, last = tokens[at], tokens[place - 1]
                without = text[: first.begin] + kept + text[last.end :]
                found.append(Drop(first.line, statement, without))
            at = place + 1
    return found


def run(kernel: Kernel, clone: Path, first: bool) -> tuple[list[str], list[str]]:
    """The runs that went wrong, no more than one of them for `first`, and what reports there were."""
    main, *arguments = kernel.program.split()
    command = [sys.executable, "-m", "emulator.translate", "--quiet", "--seeds", str(RANDOM)]
    command += ["--first"] if first else []
    command += kernel.options.format(clone=clone).split()
    command += [str(MAINS / main), "--", *arguments]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"{kernel.name} was not built")
    bad = re.findall(r"^(\w[^:\n]*): exit status", ended.stdout, re.MULTILINE)
    output = re.sub("^  ", "", ended.stdout, flags=re.MULTILINE)
    return bad, [essence(found.group()) for found in REPORT.finditer(output)]


def measure(kernel: Kernel, clones: Path) -> list[str]:
    """A row of the table; prints what found each drop."""
    copy = COPIES / kernel.project
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(clones / kernel.project, copy, ignore=shutil.ignore_patterns(".git"))
    file = copy / kernel.file
    text = file.read_text()
    bad, before = run(kernel, copy, first=True)
    if bad:
        raise SystemExit(f"{kernel.name}: the kernel itself went wrong under {bad}: {before}")
    reported, wrong, missed = 0, 0, []
    drops = drops_of(kernel, text)
    for drop in drops:
        file.write_text(drop.text)
        new: list[str] = []
        for first in (True, False):
            bad, reports = run(kernel, copy, first)
            new = [report for report in reports if report not in before]
            if new or not bad:
                break  # else some other run may say why the result is wrong
        reported += bool(new)
        wrong += bool(bad) and not new
        missed += [] if bad or new else [drop]
        kind = new[0].partition(str(ROOT))[0].partition("build/")[0] if new else ""
        verdict = f"{kind} ({', '.join(bad)})" if bad else kind or "MISSED"
        print(f"{kernel.name}:{drop.line}: {drop.statement}: {verdict}", flush=True)
    file.write_text(text)
    lines = ", ".join(f"line {drop.line}" for drop in missed)
    missing = f"{len(missed)} ({lines})" if missed else "0"
    return [kernel.name, str(len(drops)), str(reported), str(wrong), missing]


def main() -> int:
    parser = argparse.ArgumentParser(prog="emulator.translate.drop", description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    chosen = [k for k in KERNELS if not options.words or any(w in k.name for w in options.words)]
    rows = [measure(kernel, options.clones) for kernel in chosen]
    table = HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)
    print(table)
    if options.page:
        page = options.page.read_text()
        made = re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table, page)
        options.page.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
