#!/usr/bin/env python3
"""Every rung as one file (`make standalone`): whole, compiled by nvcc alone, and with a main that works.

Of each file: nothing of the project is included, nothing is missing or twice, the contents name the
right lines; the preprocessor makes the same of it as of the rung. nvcc compiled it with the command
that it names, without a warning or a spill. Its main is tried on the emulator: right results are
verified; wrong ones, bits turned over on the way to the host, and bad usage are found. Prints one
line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tools import emulated
from tools.emulated import BUILD, ROOT, Shape, case, skip
from tools.standalone_emulated import sections

FILES = BUILD / "standalone"
ON_EMULATOR = FILES / "emulated"
WORK = BUILD / "tests" / "standalone"
STUBS = WORK / "stubs"  # an empty file for each header of the system

LIMIT = 120  # seconds for one run

VERIFIED, FAILED, UNSUPPORTED, CANNOT_RUN = 0, 1, 2, 77


# ---------------------------------------------------------------- the text


def system_headers(text: str) -> set[str]:
    return set(re.findall(r"^#include <(.+)>$", text, re.MULTILINE))


def preprocess(source: Path | None, options: list[str], text: str | None = None) -> str:
    """What the preprocessor makes of a file or of a text, where the system's headers are empty."""
    command = ["g++", "-E", "-P", "-x", "c", "-nostdinc", "-D__CUDACC__", *options]
    command += ["-I", str(ROOT / "common"), "-I", str(STUBS), str(source or "-")]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return result.stdout


def make_stubs(texts: list[str]) -> None:
    for header in set().union(*map(system_headers, texts)):
        stub = STUBS / header
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.touch()


def used_headers(rung: Path) -> list[str]:
    """The project's headers that a rung includes, directly or not, by the preprocessor."""
    listed = preprocess(rung, ["-M"]).replace("\\\n", " ").split()
    inside = [Path(name).resolve() for name in listed if (ROOT / "common") in Path(name).parents]
    return sorted(str(path.relative_to(ROOT)) for path in inside)


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


def check_alone(text: str) -> str:
    """Nothing of the project is included, and nothing is for another machine."""
    other = r'(^\s*#\s*include\s*".*|.*([Ee]mulat|__CUDACC__|__cplusplus|step_main).*)'
    found = re.search(other, text, re.MULTILINE)
    return found.group() if found else ""


def check_headers(text: str, rung: Path) -> str:
    """Each header that the rung uses is there, once, with its comments."""
    held = sorted(name for name, _ in sections(text) if name.startswith("common/"))
    used = used_headers(rung)
    if held != used:
        return f"it holds {held}, the rung uses {used}"
    for name, body in sections(text):
        if not name.startswith("common/device/"):
            continue
        lines = set(body.splitlines())
        for line in (ROOT / name).read_text().splitlines():
            if line.strip().startswith(("//", "/*", "* ")) and line not in lines:
                return f"{name}: {line}"
    return ""


def check_contents(text: str) -> str:
    """The table of contents names each section and the line of its banner."""
    banners = [
        (number, line.strip("/- "))
        for number, line in enumerate(text.splitlines(), 1)
        if line.startswith("// ---- ")
    ]
    named = [(int(line), title) for line, title in re.findall(r"(?m)^//   +(\d+)  (.+)$", text)]
    return "" if named == banners else f"it names {named}, not {banners}"


def test_text(name: str, rung: Path) -> None:
    text = (FILES / f"{name}.cu").read_text()
    make_stubs([text, rung.read_text()])
    case(f"{name}.cu is for one machine and includes nothing of the project", check_alone(text))
    case(f"{name}.cu holds each header that the rung uses, once", check_headers(text, rung))
    case(f"{name}.cu names its sections' lines", check_contents(text))
    case(f"{name}.cu is to nvcc what the rung is", check_same(text, rung))


# ---------------------------------------------------------------- running programs


def run(*command: object, **environment: str) -> subprocess.CompletedProcess:
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    return subprocess.run(list(map(str, command)), check=False, timeout=LIMIT, **how)


def sizes(shape: Shape) -> list[int]:
    return [shape.m, shape.n, shape.k] if shape.k else [shape.m, shape.n]


def shapes(source: str) -> list[Shape]:
    """Small ones that are not square and, if the rung takes such, no multiples of its tile."""
    edges = emulated.shapes(source)
    clipped = edges.get("clipped edges")
    if clipped is None:
        constant = emulated.constant
        m = constant(source, "BM") * constant(source, "CLUSTER")
        return [Shape(m, 2 * constant(source, "BN"), 3 * constant(source, "BK"))]
    # Sums of fp16 hold so few products that with this k most of A has to be 0.
    return [clipped, Shape(40, 72, 2056)] if ".fp16_sums" in source else [clipped]


def ends(result: subprocess.CompletedProcess, status: int, said: str) -> str:
    """Empty if the run ended with this status and said so: on stdout, or in one line on stderr."""
    if result.returncode != status:
        return f"exit status {result.returncode}, not {status}: {result.stderr.strip()}"
    there = result.stdout if status == VERIFIED else result.stderr
    one = status == VERIFIED or there.count("\n") == 1
    return "" if one and re.search(said, there) else f"it says {there!r}"


@dataclass(frozen=True)
class Run:
    """One run of a program, and how it is to end."""

    name: str
    program: Path
    status: int
    said: str
    arguments: tuple[object, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def outcome(self) -> str:
        if not self.program.exists():
            return f"{self.program.relative_to(ROOT)} was not built"
        try:
            result = run(self.program, *self.arguments, **self.environment)
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT} s"
        return ends(result, self.status, self.said)


def verified(name: str, source: str) -> list[Run]:
    return [
        Run(
            f"{name} is verified on the emulator at {shape}",
            ON_EMULATOR / name,
            VERIFIED,
            rf"(?m)^{shape} on .*: verified, .* (TFLOPS|GB/s)",
            tuple(sizes(shape)),
        )
        for shape in shapes(source)
    ]


def refused(name: str, source: str) -> list[Run]:
    """What each computation's program is to find: damage on the way to the host (the second and the
    third copy are D, after one launch and after the timed ones), and bad usage."""
    shape = shapes(source)[0]
    good, program = tuple(sizes(shape)), ON_EMULATOR / name
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
    bad |= {"too much": 1 << 40, "a size between multiples": good[1] + 1}
    cases = [
        (what, f"takes no n of '{value}': .*multiple", (good[0], value, *good[2:]))
        for what, value in bad.items()
    ]
    cases.append(("one size", "^usage: .*M N", good[:1]))
    if ".largest_k = " in source:  # of 256 rows the last would be past 2^32 bytes
        said = "takes no k of '8500000': .*at most 8388608"
        cases.append(("rows that are too long", said, (*good[:2], 8500000)))
    return runs + [
        Run(f"{name} refuses {what}", program, UNSUPPORTED, said, arguments)
        for what, said, arguments in cases
    ]


def test_runs(runs: list[Run]) -> None:
    for one, why in zip(runs, emulated.in_parallel(Run.outcome, runs)):
        case(one.name, why)


# ---------------------------------------------------------------- nvcc


def have_nvcc() -> bool:
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    return bool(shutil.which("nvcc")) or (home / "bin" / "nvcc").exists()


def check_log(name: str) -> str:
    """What ptxas said: all kernels without spills, and no warning."""
    if not (FILES / name).exists():
        return "it was not built; make says why"
    log = (FILES / f"{name}.ptxas.log").read_text()
    if found := re.search(r".*(warning|C75\d\d|[1-9]\d* bytes (spill|stack)).*", log):
        return found.group()
    kernels = log.count("Compiling entry function")
    clean = log.count(" 0 bytes spill stores, 0 bytes spill loads")
    return "" if kernels == clean and kernels >= 3 else f"{clean} of {kernels} kernels do not spill"


def test_nvcc(rungs: dict[str, Path]) -> None:
    if not have_nvcc():
        for name in rungs:
            skip(f"{name}.cu is compiled by nvcc alone", "needs nvcc")
        return
    said = "cannot run here: it needs an NVIDIA GPU of compute capability .*, but none was found"
    no_gpu = ((), {"CUDA_VISIBLE_DEVICES": "-1"})
    runs = []
    for name in rungs:
        case(f"{name}.cu is compiled by nvcc alone, without warnings and spills", check_log(name))
        title = f"{name} ends with 77 without a GPU"
        runs.append(Run(title, FILES / name, CANNOT_RUN, f"^{name} {said}", *no_gpu))
    test_runs(runs)


# ---------------------------------------------------------------- planted mistakes


@dataclass(frozen=True)
class Plant:
    """A rung with a mistake, under a name of its own, which no rung has."""

    rung: str
    planted: str
    what: str
    before: str
    after: str

    def write(self, rungs: dict[str, Path]) -> None:
        text = rungs[self.rung].read_text()
        if text.count(self.before) != 1:
            raise AssertionError(f"{self.rung} has not one '{self.before}'")
        text = text.replace(self.before, self.after).replace(self.rung, self.planted)
        (WORK / "steps" / f"{self.planted}_planted.cu").write_text(text)


# One for each computation: the result is wrong.
WRONG = (
    Plant("v07", "v97", "a slice of k again and again", "(&b[kk])", "(&b[0])"),
    Plant("a01", "a91", "C subtracted", "+ beta * c.x[i]", "- beta * c.x[i]"),
    Plant("a02", "a92", "rows in the wrong order", "acc[j], pair)", "acc[j], 1 - pair)"),
    Plant("t01", "t91", "two added", "+ 1)); //", "+ 2)); //"),
    Plant("t02", "t92", "nothing transposed", "smem.a[i * BN + j]", "smem.a[j * BN + i]"),
)
UNUSED = "static int unused;\nstatic int prepare("
# What nvcc must not accept, and what the log must say.
REFUSED = (
    (Plant("v01", "v91", "a spill", "(THREADS, 2)", "(THREADS, 8)"), "bytes spill"),
    (Plant("v01", "v92", "a warning", "static int prepare(", UNUSED), "unused"),
)


def make(*goals: object) -> subprocess.CompletedProcess:
    command = ["make", "-s", "-k", f"-j{emulated.JOBS}", f"STEPS={WORK / 'steps'}"]
    command += [str(goal.relative_to(ROOT)) for goal in goals]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def remove_planted() -> None:
    for plant in (*WRONG, *(plant for plant, _ in REFUSED)):
        for path in [*FILES.glob(f"{plant.planted}*"), *ON_EMULATOR.glob(f"{plant.planted}*")]:
            path.unlink()


def test_wrong(rungs: dict[str, Path]) -> None:
    runs = []
    for plant in WRONG:
        plant.write(rungs)
        title, program = f"{plant.rung} with {plant.what} is wrong", ON_EMULATOR / plant.planted
        said = rf"^{plant.planted} is wrong: D\[\d+\]\[\d+\] is \S+, not \S+$"
        shape = sizes(shapes(rungs[plant.rung].read_text())[0])
        runs.append(Run(title, program, FAILED, said, tuple(shape)))
    print(make(*(one.program for one in runs)).stderr, end="")
    test_runs(runs)


def test_refused(rungs: dict[str, Path]) -> None:
    if not have_nvcc():
        skip("a standalone file with a spill or a warning is refused", "needs nvcc")
        return
    for plant, _ in REFUSED:
        plant.write(rungs)
    make(*(FILES / plant.planted for plant, _ in REFUSED))
    for plant, said in REFUSED:
        log = FILES / f"{plant.planted}.ptxas.log"
        found = log.exists() and said in log.read_text()
        why = "" if found else f"for another reason; see {log}"
        why = "it was built" if (FILES / plant.planted).exists() else why
        case(f"a standalone file with {plant.what} is refused", why)


def test_bad_sources(rungs: dict[str, Path]) -> None:
    """What cannot be written is an error in one line, and no file."""
    text = rungs["v01"].read_text()
    main = text.splitlines()[-1]
    sources = {
        "no step record": (text.replace(".computes = GEMM_BF16", ".computes = 0 + 1"), "computes"),
        "an unknown computation": (text.replace("GEMM_BF16", "GEMM_FP8"), "GEMM_FP8"),
        "another main": (text.replace(main, "int main() {}"), "its last line is not"),
        "a header that is not there": ('#include "device/none.cuh"\n' + text, "none.cuh"),
    }
    for what, (source, said) in sources.items():
        rung, output = WORK / "bad.cu", WORK / "bad_standalone.cu"
        rung.write_text(source)
        output.unlink(missing_ok=True)
        result = run(sys.executable, "-m", "standalone.write", rung, output)
        why = ends(result, FAILED, re.escape(said)) or "it was written" * output.exists()
        case(f"a rung with {what} is an error", why)


def main() -> int:
    rungs = emulated.rungs()
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "steps").mkdir(parents=True)
    runs = []
    for name, rung in rungs.items():
        if (FILES / f"{name}.cu").exists():
            test_text(name, rung)
        else:
            case(f"{name}.cu is written", "it was not; make says why")
        runs += verified(name, rung.read_text())
    for plant in WRONG:
        runs += refused(plant.rung, rungs[plant.rung].read_text())
    test_runs(runs)
    test_wrong(rungs)
    test_bad_sources(rungs)
    test_nvcc(rungs)
    test_refused(rungs)
    remove_planted()
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
