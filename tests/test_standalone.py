#!/usr/bin/env python3
"""Every rung as one file (`make standalone`): whole, compiled by nvcc alone, and with a main that works.

Of each file: nothing of the project is included, nothing is missing or twice, the contents name the
right lines; the preprocessor makes the same of it as of the rung. Some of each computation are built:
nvcc compiled them with the command that they name, without a warning or a spill. Their mains are tried
on the emulator: right results are verified; wrong ones, bits turned over on the way to the host, and
bad usage are found. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools import UNTOUCHED, by_nvcc, emulated, have_nvcc
from tools.emulated import BUILD, ROOT, Shape, case, skip
from tools.emulated import STANDALONE_TRIED as TRIED

FILES = BUILD / "standalone"
ON_EMULATOR = FILES / "emulated"
WORK = BUILD / "tests" / "standalone"
STUBS = WORK / "stubs"  # an empty file for each header of the system
LIMIT = 120  # seconds for one run
VERIFIED, FAILED, UNSUPPORTED, CANNOT_RUN = 0, 1, 2, 77


# ---------------------------------------------------------------- the text


def preprocess(source: Path | None, options: list[str], text: str | None = None) -> str:
    """What the preprocessor makes of a file or of a text, where the system's headers are empty."""
    command = ["g++", "-E", "-P", "-x", "c", "-nostdinc", "-D__CUDACC__", *options]
    command += ["-I", str(ROOT / "common"), "-I", str(STUBS), str(source or "-")]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def check_alone(text: str, _rung: Path) -> str:
    """Nothing of the project is included, and nothing is for another machine."""
    other = r'^\s*#\s*include\s*".*|.*([Ee]mulat|__CUDACC__|__cplusplus|step_main).*'
    found = re.search(other, text, re.MULTILINE)
    return found.group() if found else ""


def check_headers(text: str, rung: Path) -> str:
    """Each header that the rung includes, directly or not, is there, once, with its comments."""
    listed = preprocess(rung, ["-M"]).replace("\\\n", " ").split()
    inside = [Path(name).resolve() for name in listed if (ROOT / "common") in Path(name).parents]
    used = sorted(str(path.relative_to(ROOT)) for path in inside)
    _, *parts = re.split(r"^// ---- (.*?) -+\n", text, flags=re.MULTILINE)
    sections = list(zip(parts[0::2], parts[1::2]))
    held = sorted(name for name, _ in sections if name.startswith("common/"))
    if held != used:
        return f"it holds {held}, the rung uses {used}"
    for name, body in sections:
        lines = set(body.splitlines())
        for line in (ROOT / name).read_text().splitlines() if "/device/" in name else ():
            if line.strip().startswith(("//", "/*", "* ")) and line not in lines:
                return f"{name}: {line}"
    return ""


def check_contents(text: str, _rung: Path) -> str:
    """The table of contents names each section and the line of its banner."""
    lines = [(str(number), line) for number, line in enumerate(text.splitlines(), 1)]
    banners = [(number, line.strip("/- ")) for number, line in lines if line.startswith("// ---- ")]
    named = re.findall(r"(?m)^//   +(\d+)  (.+)$", text)
    return "" if named == banners else f"it names {named}, not {banners}"


def check_same(text: str, rung: Path) -> str:
    """Where the words of the file, up to the program around the rung, part from the rung's without
    its main and without what of the contract only the harness needs; empty if they don't."""
    wanted = preprocess(rung, [])
    for left_out in (r"struct CUstream_st;", r"int step_main\([^()]*\);", r"int main\(.*"):
        wanted, count = re.subn(rf"^{left_out}$", "", wanted, flags=re.MULTILINE)
        if count != 1:
            return f"{rung.name}: {count} lines {left_out}"
    before, banner, _ = text.partition("// ---- the program around it ")
    if not banner:
        return "no program"
    seen = re.sub(r"^#pragma nv_.*", "", preprocess(None, [], before), flags=re.MULTILINE).split()
    at = len(os.path.commonprefix([seen, wanted.split()]))
    parts = [" ".join(words[at : at + 6]) for words in (seen, wanted.split())]
    return "" if seen == wanted.split() else "'{}' where the rung has '{}'".format(*parts)


CHECKS = {
    "is for one machine and includes nothing of the project": check_alone,
    "holds each header that the rung uses, once": check_headers,
    "names its sections' lines": check_contents,
    "is to nvcc what the rung is": check_same,
}


def test_text(name: str, rung: Path) -> None:
    if not (FILES / f"{name}.cu").exists():
        case(f"{name}.cu is written", "it was not; make says why")
        return
    text = (FILES / f"{name}.cu").read_text()
    for header in re.findall(r"^#include <(.+)>$", text + rung.read_text(), re.MULTILINE):
        (STUBS / header).parent.mkdir(parents=True, exist_ok=True)
        (STUBS / header).touch()
    for what, check in CHECKS.items():
        case(f"{name}.cu {what}", check(text, rung))


# ---------------------------------------------------------------- running programs


@dataclass(frozen=True)
class Run:
    """One run of a program, and how it is to end: what it says on stdout, or in one line on
    stderr."""

    name: str
    program: Path
    status: int
    said: str
    arguments: tuple[object, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def outcome(self) -> str:
        """Why that is not so; empty if it is."""
        if not self.program.exists():
            return f"{self.program.relative_to(ROOT)} was not built"
        command = list(map(str, (self.program, *self.arguments)))
        how = {"capture_output": True, "text": True, "env": {**os.environ, **self.environment}}
        try:
            result = subprocess.run(command, check=False, timeout=LIMIT, **how)
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT} s"
        if result.returncode != self.status:
            return f"exit status {result.returncode}, not {self.status}: {result.stderr.strip()}"
        said = result.stdout if self.status == VERIFIED else result.stderr
        one = self.status == VERIFIED or said.count("\n") == 1
        return "" if one and re.search(self.said, said) else f"it says {said!r}"


def test_runs(runs: list[Run]) -> None:
    for one, why in zip(runs, emulated.in_parallel(Run.outcome, runs)):
        case(one.name, why)


def shapes(source: str) -> list[Shape]:
    """Small ones that are not square and, if the rung takes such, no multiples of its tile."""
    constant = emulated.constant
    there = emulated.shapes(source)
    if clipped := there.get("clipped edges") or there.get("a pair with SHARE_A"):
        # Sums of fp16 hold so few products that with this k most of A has to be 0.
        more = [Shape(40, 72, 2056)] if ".fp16_sums" in source else []
        edges = ("tiles in parts", emulated.LONG_ROWS)  # of the rungs that have them
        more += [shape for edge, shape in there.items() if edge in edges]
        return [replace(shape, kernel=0) for shape in (clipped, *more)]  # they have no --kernel
    m = constant(source, "BM") * constant(source, "CLUSTER")
    return [Shape(m, 2 * constant(source, "BN"), 3 * constant(source, "BK"))]


def sizes(shape: Shape) -> tuple[int, ...]:
    return (shape.m, shape.n, shape.k) if shape.k else (shape.m, shape.n)


def verified(name: str, source: str) -> list[Run]:
    said = r"(?m)^{} on .*: verified, .* (TFLOPS|GB/s)"
    return [
        Run(
            f"{name} is verified on the emulator at {shape}",
            ON_EMULATOR / name,
            VERIFIED,
            said.format(shape),
            sizes(shape),
        )
        for shape in shapes(source)
    ]


def refused(name: str, source: str) -> list[Run]:
    """What each computation's program is to find: damage on the way to the host (the second and the
    third copy are D, after one launch and after the timed ones), and bad usage."""
    shape, program = shapes(source)[0], ON_EMULATOR / name
    good = sizes(shape)
    last = shape.m * shape.n * (2 if "GEMM_" in source else 4) - 1
    runs = []
    for where, damage, element in (
        ("in the first element", "2 0", r"0\]\[0"),
        ("in the last element, after timing", f"3 {last}", r"\d+\]\[\d+"),
    ):
        said = rf"^{name} is wrong: D\[{element}\] is "
        title, environment = f"{name} finds a wrong bit {where}", {"STANDALONE_DAMAGE": damage}
        runs.append(Run(title, program, FAILED, said, good, environment))
    bad = {"no number": "12x", "nothing": "", "zero": 0, "a negative number": -8}
    bad |= {"too much": 1 << 40}
    bad |= {} if ".any_row = true," in source else {"a size between multiples": good[1] + 1}
    rows = [
        (what, f"takes no n of '{value}': .*multiple", (good[0], value, *good[2:]))
        for what, value in bad.items()
    ]
    rows.append(("one size", "^usage: .*M N", good[:1]))
    if ".largest_k = " in source:  # of 256 rows the last would be past 2^32 bytes
        said = "takes no k of '8500000': .*at most 8388608"
        rows.append(("rows that are too long", said, (*good[:2], 8500000)))
    return runs + [
        Run(f"{name} refuses {what}", program, UNSUPPORTED, said, arguments)
        for what, said, arguments in rows
    ]


# ---------------------------------------------------------------- nvcc


def check_log(name: str) -> str:
    """What nvcc said: all kernels without spills, and under STRICT=1 no warning."""
    if not (FILES / name).exists():
        return "it was not built; make says why"
    log = (FILES / f"{name}.ptxas.log").read_text()
    refused = r"C75\d\d|[1-9]\d* bytes (spill|stack)" + "|warning" * STRICT
    if found := re.search(rf".*({refused}).*", log):
        return found.group()
    kernels = log.count("Compiling entry function")
    clean = log.count(" 0 bytes spill stores, 0 bytes spill loads")
    return "" if kernels == clean and kernels >= 3 else f"{clean} of {kernels} kernels do not spill"


def test_nvcc(rungs: dict[str, Path]) -> None:
    tried = [name for name in TRIED if f"build/standalone/{name}" in by_nvcc()]
    for name in TRIED:
        if name not in tried:
            skip(f"{name}.cu is compiled by nvcc alone", UNTOUCHED)
    if not have_nvcc():
        skip("a standalone file with a spill or a warning is refused", "needs nvcc")
        return
    said = "cannot run here: it needs an NVIDIA GPU of compute capability .*, but none was found"
    no_gpu = ((), {"CUDA_VISIBLE_DEVICES": "-1"})
    for name in tried:
        case(f"{name}.cu is compiled by nvcc alone, without warnings and spills", check_log(name))
    test_runs(
        [
            Run(f"{n} ends with 77 without a GPU", FILES / n, CANNOT_RUN, f"^{n} {said}", *no_gpu)
            for n in tried
        ]
    )
    make(*(plant(rungs, *planted, FILES) for planted, _ in REFUSED))
    for (rung, name, what, *_), said in REFUSED:
        log = FILES / f"{name}.ptxas.log"
        found = log.exists() and said in log.read_text()
        why = "" if found else f"for another reason; see {log}"
        why = "it was built" if (FILES / name).exists() else why
        case(f"a standalone file of {rung} with {what} is refused", why)


# ---------------------------------------------------------------- planted mistakes

# A rung with a mistake, under a name of its own, which no rung has; what it is, before and after.
# One for each computation: the result is wrong.
WRONG = (
    ("v07", "v97", "a slice of k again and again", "(&b[kk])", "(&b[0])"),
    ("a01", "a91", "C subtracted", "+ beta * c.x[i]", "- beta * c.x[i]"),
    ("a02", "a92", "rows in the wrong order", "acc[j], pair)", "acc[j], 1 - pair)"),
    ("t01", "t91", "two added", "+ 1)); //", "+ 2)); //"),
    ("t02", "t92", "nothing transposed", "smem.a[i * BN + j]", "smem.a[j * BN + i]"),
)
UNUSED = "static int unused;\nstatic int prepare("
STRICT = os.environ.get("STRICT") == "1"
# What nvcc must not accept, and what the log must say.
REFUSED = (
    (("v01", "v91", "a spill", "(THREADS, 2)", "(THREADS, 8)"), "bytes spill"),
    (("v01", "v92", "a warning", "static int prepare(", UNUSED), "unused"),
)[: 1 + STRICT]


def plant(
    rungs: dict[str, Path], rung: str, name: str, _: str, before: str, after: str, folder: Path
) -> Path:
    """Writes it; returns the program that make is to build in that folder."""
    text = rungs[rung].read_text()
    if text.count(before) != 1:
        raise AssertionError(f"{rung} has not one '{before}'")
    text = text.replace(before, after).replace(rung, name)
    (WORK / "steps" / f"{name}_planted.cu").write_text(text)
    return folder / name


def make(*goals: Path) -> str:
    command = ["make", "-s", "-k", f"-j{emulated.JOBS}", f"STEPS={WORK / 'steps'}"]
    command += [str(goal.relative_to(ROOT)) for goal in goals]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr


def test_wrong(rungs: dict[str, Path]) -> None:
    runs = []
    for planted in WRONG:
        rung, name, what, *_ = planted
        program = plant(rungs, *planted, ON_EMULATOR)
        said = rf"^{name} is wrong: D\[\d+\]\[\d+\] is \S+, not \S+$"
        shape = sizes(shapes(rungs[rung].read_text())[0])
        runs.append(Run(f"{rung} with {what} is wrong", program, FAILED, said, shape))
    print(make(*(one.program for one in runs)), end="")
    test_runs(runs)


def test_bad_sources(rungs: dict[str, Path]) -> None:
    """What cannot be written is an error in one line, and no file."""
    text = rungs["v01"].read_text()
    main = text.splitlines()[-1]
    rung, output = WORK / "bad.cu", WORK / "bad_standalone.cu"
    for what, source, said in (
        ("no step record", text.replace(".computes = GEMM_BF16", ".computes = 0 + 1"), "computes"),
        ("an unknown computation", text.replace("GEMM_BF16", "GEMM_FP4"), "GEMM_FP4"),
        ("another main", text.replace(main, "int main() {}"), "its last line is not"),
        ("a header that is not there", '#include "device/none.cuh"\n' + text, "none.cuh"),
    ):
        rung.write_text(source)
        output.unlink(missing_ok=True)
        command = ("-m", "standalone.write", rung, output)
        title = f"a rung with {what} is an error"
        why = Run(title, Path(sys.executable), FAILED, re.escape(said), command).outcome()
        case(title, why or "it was written" * output.exists())


def main() -> int:
    rungs = emulated.rungs()
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "steps").mkdir(parents=True)
    runs = []
    for name, rung in rungs.items():
        test_text(name, rung)
    for name in TRIED:
        runs += verified(name, rungs[name].read_text())
    for name, *_ in WRONG:
        runs += refused(name, rungs[name].read_text())
    test_runs(runs)
    test_wrong(rungs)
    test_bad_sources(rungs)
    test_nvcc(rungs)
    for name in (name for _, name, *_ in (*WRONG, *(planted for planted, _ in REFUSED))):
        for path in [*FILES.glob(f"{name}*"), *ON_EMULATOR.glob(f"{name}*")]:
            path.unlink()
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
