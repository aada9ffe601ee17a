#!/usr/bin/env python3
"""Programs that were not written for the emulator on it: what translate/ makes of CUDA C++, that what it
does not know is named before anything runs, and that mistakes are reported at the user's own lines.
test_emulate_ptx.py has inline PTX. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from test_emulate_ptx import without_macros
from test_standalone import shapes, sizes

from tools import BUILD, FULL, ROOT, case, exit_status, in_parallel, skip
from tools.emulated import Shape, rungs

from emulator.translate import cuda, ptx

PROGRAMS = "emulator/tests/programs"
COPIES = f"{PROGRAMS}/copies.cu"
MEMORY = f"{PROGRAMS}/memory.cu"
LAUNCHES = f"{PROGRAMS}/launches.cu"
WITHOUT_RACES = "eager,lazy,newest-first,late-reads,late-loads,random"
LIMIT = 300  # seconds


class Run(NamedTuple):
    """A run of python3 -m emulator.translate: its exit status, and expressions that its output has to match."""

    name: str
    arguments: str
    status: int
    said: tuple[str, ...] = ()


def line_of(program: str, mark: str) -> str:
    """The line of a program that says a word, as FILE:LINE."""
    lines = (ROOT / program).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if re.search(mark, line)]
    return f"{program}:{number} "


def mistake(kernel: str, policy: str, said: str, *marks: str, program: str = COPIES) -> Run:
    lines = tuple(re.escape(line_of(program, mark)) for mark in marks)
    arguments = f"--policies {policy} {program} -- {kernel}"
    return Run(f"{kernel}, {policy}", arguments, 1, (said, *lines))


# f01 is a GEMM of e4m3 with TMA and wgmma. A mistake replaces the first text by the second.
PLANTED = {
    "f01": ("", ""),
    "no_fence": ("        wgmma_fence();", ""),
    "same_columns": ("advance_k<e4m3>(b, kk)", "b"),
}


def rung(name: str, policies: str, status: int, said: str) -> Run:
    arguments = f"--policies {policies} build/tests/emulate/{name}.cu -- 264 208 384"
    return Run(f"{name} of e4m3, {policies}", arguments, status, (said,))


def write_rungs() -> None:
    subprocess.run(["make", "-s", "build/standalone/f01.cu"], cwd=ROOT, check=True)
    text = without_macros((BUILD / "standalone" / "f01.cu").read_text())
    folder = BUILD / "tests" / "emulate"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (before, after) in PLANTED.items():
        assert before in text
        (folder / f"{name}.cu").write_text(text.replace(before, after))


UNKNOWN = f"{PROGRAMS}/unknown.cu"
UNUSED = f"{PROGRAMS}/unknown_instruction.cu"
RUNS = [
    Run(
        "the language and the runtime",
        f"-I {PROGRAMS}/folder -D WIDTH=16 {PROGRAMS}/syntax.cu -- x",
        0,
        (
            r"^eager: ok",
            r"^  kernel<<<1, 1>>>\(\); // no launch << 4 >>>$",
            "^random with seed 3: ok",
        ),
    ),
    Run(
        "functions, a file included by a macro, unknown instructions that are not used",
        f'--policies eager,random -D INCLUDED="folder/lane.h" {PROGRAMS}/functions.cu',
        0,
        ("^eager: ok",),
    ),
    Run(
        "an unknown instruction that is executed",
        f"--policies eager,lazy {UNUSED}",
        2,
        (rf"{line_of(UNUSED, 'tcgen05').strip()}: .*tcgen05", "does not know this$"),
    ),
    *(
        Run(f"{kernel}, every policy", f"{COPIES} -- {kernel}", 0, ("^late-loads: ok",))
        for kernel in ("add_one", "by_ptx", "row", "neighbours", "partners")
    ),
    rung("f01", "late-loads", 0, "264 x 208 x 384 on .*: verified"),
    rung("f01", "races", 0, "^races: ok"),
    rung("no_fence", "eager", 1, r"hazard: wgmma without wgmma\.fence"),
    rung("same_columns", "eager", 1, r"f01 is wrong: D\["),
    mistake("no_init_fence", "eager", r"lifetime: full is .*\[barrier-fence\]", "INIT_FENCE$"),
    mistake("no_wait", "random", "hazard: TMA load overwrites", "WAIT STORE_FENCE"),
    mistake("no_wait", "lazy", r"wait with cp\.async\.bulk\.wait_group\.read first", "READ_WAIT$"),
    mistake("no_store_fence", "eager", r"hazard: TMA store .*\[proxy-fence\]", "WAIT STORE_FENCE"),
    mistake(
        "no_read_wait", "lazy", r"CTA 0 exits while a TMA store .*\[early-exit\]", "READ_WAIT$"
    ),
    mistake("no_partner_wait", "eager", r"lifetime: .*\[cluster-exit\]", "// partners$"),
    mistake("no_arrival", "eager", "full, phase 0 .*1 of 257 arrivals missing", "// ARRIVAL$"),
    mistake("no_acquire", "eager", r"map in global memory.*\[global-map\]", "not acquired"),
    mistake("no_row_wait", "lazy", "CTA 0 exits while a memcpy_async", r"cuda::memcpy_async\("),
    mistake("no_row_wait", "races", "race: memcpy_async issued at copies.cu", "// row$"),
    mistake(
        "no_sync",
        "races",
        "race: thread .* writes 4 bytes",
        "; // SYNC$".replace("; ", "63 - .*; "),
    ),
    Run(
        "a mistake that is allowed",
        f"--quiet --policies eager,lazy --allow early-exit {COPIES} -- no_read_wait",
        0,
        (r"^lazy: ok", r"\[early-exit, allowed\]", re.escape(line_of(COPIES, "READ_WAIT$"))),
    ),
    Run("memory", f"{MEMORY} -- right", 0, ("^late-loads: ok", "^races: ok")),
    *(
        mistake(case, "eager", said, *marks, program=MEMORY)
        for case, said, *marks in (
            ("no_device_pointer", "address: a thread reads 4 bytes .* of the host", "// READ"),
            ("no_device_pointer_on_stack", "address: a thread reads .* of the host", "// READ"),
            ("no_host_pointer", "address: host code reads 4 bytes of device", "// HOST"),
            ("no_alignment", "reads 16 bytes .* not aligned to them", "// VECTOR"),
            ("no_grid_constant", r"a thread's local memory.*\[local-map\]", "// MAP"),
            ("no_such_bytes", "InvalidValue: it reads 64 bytes at offset 1000 of an allocation"),
            ("no_such_direction", "InvalidValue: it reads host memory .* which is the device's"),
            ("no_second_free", "cudaFree fails .* which no allocation begins at"),
            ("no_device_memory", "cudaMemset fails .* device memory at .* which is none"),
        )
    ),
    Run("launches", f"--policies eager,random {LAUNCHES} -- right", 0, ("^eager: ok",)),
    Run("registers", f"--policies eager -D FEW {LAUNCHES} -- registers", 0, ("^eager: ok",)),
    *(
        mistake(case, "eager", said, *marks, program=LAUNCHES)
        for case, said, *marks in (
            ("registers", r"deadlock: setmaxnreg\.inc to 240 .* at most 65536", "// INCREASE"),
            ("no_whole_warpgroup", "whole warpgroups: warp 4 .* 1 times.* warp 5 0", "// INCREASE"),
            ("no_large_cluster", "ClusterSize: a cluster of 16 x 1 x 1 CTAs: 1 to 8"),
            ("no_such_block", "InvalidValue: a block of 129 threads, .* allow 128"),
            ("no_grid", "InvalidConfiguration: a grid of 0 x 1 x 1"),
            ("no_shared_memory", "16384 bytes of static and 32769 of dynamic", "// STATIC"),
        )
    ),
    Run("a program that fails by itself", f"--policies eager {COPIES} -- other", 1, ("status 3",)),
    Run(
        "what is not known",
        UNKNOWN,
        2,
        (
            rf"^{line_of(UNKNOWN, 'include <cub').strip()}: .* no header cub/cub.cuh$",
            rf"^{line_of(UNKNOWN, '^__shared__').strip()}: __shared__ outside_of_functions outside",
            "nothing was run$",
        ),
    ),
    Run(
        "a header is missing",
        f"-D WIDTH=16 {PROGRAMS}/syntax.cu",
        2,
        ("widths.h", "nothing was run"),
    ),
    Run("no such policy", f"--policies late {COPIES}", 2, ("there is no policy 'late'",)),
    Run("no such file", "none.cu", 2, ("there is no file none.cu",)),
]

BOUNDED = " if (emulator::describes_kernel(dim3(0, 0, 0), 8, N))"
# (what, CUDA C++, what becomes of it)
REWRITTEN = [
    ("a launch", "f<<<1, 2>>>(x);", "emulator::launching(f).configured(1, 2)(x);"),
    (
        "a launch of a template",
        "a::f<1, (2 > 1)> <<<g, b>>>(x);",
        "emulator::launching(a::f<1, (2 > 1)> ).configured(g, b)(x);",
    ),
    ("no launch", 'auto s = "f<<<1, 2>>>(x);"; // f<<<1, 2>>>(x);', None),
    (
        "a kernel",
        "__global__ void f(int a) { g(); }",
        "__global__ void f(int a) { if (emulator::describes_kernel()) return; g(); }",
    ),
    (
        "a kernel with bounds",
        "__launch_bounds__(8, N) __global__ void f() {}",
        ("__launch_bounds__(8, N) __global__ void f() {" + BOUNDED + " return;}"),
    ),
    ("a declaration of a kernel", "__global__ void f(int a);", None),
    (
        "a kernel of clusters",
        "__global__ void __cluster_dims__(N * 2, 1, 1) f() {}",
        "__global__ void  f() { if (emulator::describes_kernel(dim3(N * 2, 1, 1))) return;}",
    ),
    (
        "a launch by addresses",
        "cudaLaunchCooperativeKernel((void *)kernel<1>, 1, 2, arguments);",
        "cudaLaunchCooperativeKernel(kernel<1>, 1, 2, arguments);",
    ),
    (
        "inline, twice",
        "inline __device__ __forceinline__ int f();",
        " __device__ __forceinline__ int f();",
    ),
]
DECLARED = [
    ("float a[8], b[N][M + 1]", ["a", "b"]),
    ("alignas(16) T<int, 2> a", ["a"]),
    ("struct { int x, y; } a[f(2)], b", ["a", "b"]),
    ("unsigned long long a", ["a"]),
]


def standalone_runs() -> list[Run]:
    """Every rung's standalone file: the rung's own asm against the emulator's headers for rungs."""
    runs = []
    for name, rung in rungs().items():
        text = without_macros((BUILD / "standalone" / f"{name}.cu").read_text())
        (BUILD / "tests" / "emulate" / f"{name}.cu").write_text(text)
        shape = shapes(rung.read_text())[0]
        shape = shape if shape.m > 1 else Shape(296, 584, 440)  # a family's: it has no tile
        size = " ".join(map(str, sizes(shape)))
        program = f"--quiet --policies eager,lazy build/tests/emulate/{name}.cu -- {size}"
        runs.append(Run(f"{name}, standalone", program, 0, ("^lazy: ok",)))
    return runs


def check_run(run: Run) -> None:
    if "races" in run.name and not has_thread_sanitizer():
        skip(run.name, "g++ has no libtsan")
        return
    if "of e4m3" in run.name and not (ROOT / "steps").is_dir():
        skip(run.name, "there are no rungs here")
        return
    ended = subprocess.run(
        [sys.executable, "-m", "emulator.translate", *run.arguments.split()],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    wrong = [f"no {said!r}" for said in run.said if not re.search(said, ended.stdout, re.MULTILINE)]
    if ended.returncode != run.status:
        wrong.append(f"exit status {ended.returncode}")
    if run.status == 2 and "it ran" in ended.stdout:
        wrong.append("it ran")
    case(run.name, "; ".join(wrong) + (f" in {ended.stdout}" if wrong else ""))


def has_thread_sanitizer() -> bool:
    command = ["g++", "-print-file-name=libtsan.so"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout.startswith(b"/")


def check_rewriting() -> None:
    for what, before, after in REWRITTEN:
        made = cuda.translate({"a.cu": before})["a.cu"]
        case(what, "" if made == (after or before) else f"it becomes {made}")
    for declaration, names in DECLARED:
        found = cuda.names_declared(declaration)
        case(f"names in {declaration}", "" if found == names else f"{found}")
    text = "__global__ void f() {\n__shared__ int\n a,\n // of two\n b;\ng<1\n><<<1,\n2>>>();\n}\n"
    lines = cuda.translate({"a.cu": text})["a.cu"].count("\n")
    case("lines stay where they are", "" if lines == text.count("\n") else f"{lines} lines")
    try:
        cuda.translate({"a.cu": "\n__shared__ int a;"})
        case("an unknown construct has its line", "nothing was said")
    except ptx.Unknown as unknown:
        said = str(unknown)
        case("an unknown construct has its line", "" if said.startswith("a.cu:2: ") else said)


def check_other_folder() -> None:
    """emulator/translate/run works in any folder, and names files as that folder does."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.cu").write_text((ROOT / COPIES).read_text())
        Path(folder, "check.h").write_text((ROOT / PROGRAMS / "check.h").read_text())
        command = [
            ROOT / "emulator/translate/run",
            "--policies",
            "eager",
            "one.cu",
            "--",
            "no_init_fence",
        ]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    line = line_of(COPIES, "INIT_FENCE$").strip().rpartition(":")[2]
    right = ended.returncode == 1 and f"    one.cu:{line}  " in ended.stdout
    case("a run in another folder", "" if right else ended.stdout + ended.stderr)


def main() -> int:
    check_rewriting()
    if (ROOT / "steps").is_dir():
        write_rungs()
    for run in RUNS:
        check_run(run)
    if FULL:
        list(in_parallel(check_run, standalone_runs()))
    else:
        skip("every rung's standalone file, translated", "with FULL=1")
    check_other_folder()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
