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
from dataclasses import dataclass
from pathlib import Path

from tools import emulated
from tools.emulated import BUILD, ROOT, Shape, case, skip
from tools.standalone_emulated import sections

FILES = BUILD / "standalone"
ON_EMULATOR = FILES / "emulated"
WORK = BUILD / "tests" / "standalone"
STUBS = WORK / "stubs"  # an empty file for each header of the system

CONTRACT = "common/step.h"
PROGRAM = "the program around it"
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


def words(text: str) -> list[str]:
    return text.split()


def make_stubs(texts: list[str]) -> None:
    for header in set().union(*map(system_headers, texts)):
        stub = STUBS / header
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.touch()


def used_headers(rung: Path) -> list[str]:
    """The project's headers that a rung includes, directly or not, by the preprocessor."""
    listed = words(preprocess(rung, ["-M"]).replace("\\\n", " "))
    inside = [Path(name).resolve() for name in listed if (ROOT / "common") in Path(name).parents]
    return sorted(str(path.relative_to(ROOT)) for path in inside)


def as_nvcc_sees_rung(rung: Path) -> list[str]:
    """The rung's words without its main, and without what of the contract only the harness needs."""
    text = preprocess(rung, [])
    for left_out in (r"struct CUstream_st;", r"int step_main\([^()]*\);", r"int main\(.*"):
        text, count = re.subn(rf"^{left_out}$", "", text, flags=re.MULTILINE)
        if count != 1:
            raise AssertionError(f"{rung.name}: {count} lines {left_out}")
    return words(text)


def as_nvcc_sees_file(text: str) -> list[str]:
    """The file's words up to the program around the rung."""
    rung, banner, _ = text.partition(f"// ---- {PROGRAM} ")
    if not banner:
        raise AssertionError("no program")
    seen = preprocess(None, [], rung)
    return words(re.sub(r"^#pragma nv_.*", "", seen, flags=re.MULTILINE))


def difference(one: list[str], other: list[str]) -> str:
    """Where two lists of words part; empty if they don't."""
    if one == other:
        return ""
    at = len(os.path.commonprefix([one, other]))
    return f"'{' '.join(other[at : at + 6])}' where the rung has '{' '.join(one[at : at + 6])}'"


def check_alone(text: str) -> str:
    own = re.search(r'^\s*#\s*include\s*".*', text, re.MULTILINE)
    return own.group() if own else ""


def check_one_machine(text: str) -> str:
    other = re.search(r".*([Ee]mulat|__CUDACC__|__cplusplus|step_main).*", text)
    return other.group() if other else ""


def check_headers(text: str, rung: Path) -> str:
    held = sorted(name for name, _ in sections(text) if name.startswith("common/"))
    used = used_headers(rung)
    return "" if held == used else f"it holds {held}, the rung uses {used}"


def check_comments(text: str) -> str:
    """Each device header's lines that are comments stand in its section."""
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
    lines = text.splitlines()
    named = re.findall(r"^//   +(\d+)  (.+)$", text, re.MULTILINE)
    for line, title in named:
        if not lines[int(line) - 1].startswith(f"// ---- {title} -"):
            return f"line {line} is no {title}"
    titles = [name for name, _ in sections(text) if name]
    return "" if [title for _, title in named] == titles else f"it names {named}"


def check_same(text: str, rung: Path) -> str:
    return difference(as_nvcc_sees_rung(rung), as_nvcc_sees_file(text))


def test_text(name: str, rung: Path) -> None:
    text = (FILES / f"{name}.cu").read_text()
    make_stubs([text, rung.read_text()])
    case(f"{name}.cu includes nothing of the project", check_alone(text))
    case(f"{name}.cu is for one machine", check_one_machine(text))
    case(f"{name}.cu holds each header that the rung uses, once", check_headers(text, rung))
    case(f"{name}.cu holds the headers' comments", check_comments(text))
    case(f"{name}.cu names its sections' lines", check_contents(text))
    case(f"{name}.cu is to nvcc what the rung is", check_same(text, rung))


def test_checks_of_text(name: str, rung: Path) -> None:
    """Each of these checks finds what it is for."""
    text = (FILES / f"{name}.cu").read_text()
    fence = "// A release at cluster scope of the caller's mbarrier_init"
    wait = '"@!done bra wait;\\n"'
    if fence not in text or wait not in text:
        raise AssertionError(f"{name}.cu: what the test is to damage is not there")
    damaged = text.replace(wait, "", 1)
    twice = text + "// ---- common/device/tma.cuh ----\n\n"
    included = text.replace("#include <cuda.h>", '#include "device/tma.cuh"')
    found = {
        "an included header": check_alone(included),
        "a condition": check_one_machine(text + "#ifdef __CUDACC__\n"),
        "a header that is there twice": check_headers(twice, rung),
        "a comment left out": check_comments(text.replace(fence, "")),
        "a line too much above": check_contents("\n" + text),
        "an instruction left out": check_same(damaged, rung),
    }
    for what, why in found.items():
        case(f"{what} is found", "" if why else "it is not")


# ---------------------------------------------------------------- running programs


def run(
    program: Path | str, *arguments: object, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    command = [str(program), *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        env={**os.environ, **(environment or {})},
    )


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
    """Empty if the run ended with this status and one line on stderr that matches (none: '')."""
    lines = result.stderr.splitlines()
    if result.returncode != status:
        return f"exit status {result.returncode}, not {status}: {result.stderr.strip()}"
    if status == VERIFIED:
        return "" if re.search(said, result.stdout) else f"it printed {result.stdout!r}"
    if len(lines) != 1 or not re.search(said, lines[0]):
        return f"it says {result.stderr!r}"
    return ""


@dataclass(frozen=True)
class Run:
    """One run of a program, and how it is to end."""

    name: str
    program: Path
    status: int
    said: str
    arguments: tuple[object, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def outcome(self) -> str:
        if not self.program.exists():
            return f"{self.program.relative_to(ROOT)} was not built"
        try:
            result = run(self.program, *self.arguments, environment=dict(self.environment))
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT} s"
        return ends(result, self.status, self.said)


def verified(name: str, source: str) -> list[Run]:
    runs = []
    for shape in shapes(source):
        said = rf"^{shape} on .*: verified, "
        title = f"{name} is verified on the emulator at {shape}"
        said = rf"(?m){said}.* (TFLOPS|GB/s)"
        runs.append(Run(title, ON_EMULATOR / name, VERIFIED, said, tuple(sizes(shape))))
    return runs


def damaged(name: str, source: str) -> list[Run]:
    """The second and the third copy to the host are D, after one launch and after the timed ones."""
    shape = shapes(source)[0]
    d_bytes = shape.m * shape.n * (2 if "GEMM_" in source else 4)
    return [
        Run(
            f"{name} finds a wrong bit {where}",
            ON_EMULATOR / name,
            FAILED,
            rf"^{name} is wrong: D\[{element}\] is ",
            tuple(sizes(shape)),
            (("STANDALONE_DAMAGE", f"{copy} {byte}"),),
        )
        for where, copy, byte, element in (
            ("in the first element", 2, 0, r"0\]\[0"),
            ("in the last element, after timing", 3, d_bytes - 1, r"\d+\]\[\d+"),
        )
    ]


def refused(name: str, source: str, program: Path) -> list[Run]:
    """Bad usage; no GPU is asked for."""
    good = sizes(shapes(source)[0])
    bad = {"no number": "12x", "nothing": "", "zero": 0, "a negative number": -8}
    bad |= {"too much": 1 << 40, "a size between multiples": good[1] + 1}
    runs = [
        Run(
            f"{name} refuses {what}",
            program,
            UNSUPPORTED,
            f"takes no n of '{value}': .*multiple",
            (good[0], value, *good[2:]),
        )
        for what, value in bad.items()
    ]
    if ".largest_k = " in source:
        rows = (good[0], good[1], 8500000)  # of 256 the last would be past 2^32 bytes
        why = "takes no k of '8500000': .*at most 8388608"
        runs.append(Run(f"{name} refuses rows that are too long", program, UNSUPPORTED, why, rows))
    usage = "^usage: .*M N"
    runs.append(Run(f"{name} refuses one size", program, UNSUPPORTED, usage, (good[0],)))
    return runs


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
    no_gpu = (("CUDA_VISIBLE_DEVICES", "-1"),)
    for name in rungs:
        case(f"{name}.cu is compiled by nvcc alone, without warnings and spills", check_log(name))
    said = "cannot run here: it needs an NVIDIA GPU of compute capability .*, but none was found"
    test_runs(
        [
            Run(
                f"{name} ends with 77 without a GPU",
                FILES / name,
                CANNOT_RUN,
                f"^{name} {said}",
                environment=no_gpu,
            )
            for name in rungs
        ]
    )


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
# What nvcc must not accept, and what the log must say.
REFUSED = (
    (Plant("v01", "v91", "a spill", "(THREADS, 2)", "(THREADS, 8)"), "bytes spill"),
    (
        Plant(
            "v01",
            "v92",
            "a warning",
            "static int prepare(",
            "static int unused;\nstatic int prepare(",
        ),
        "unused",
    ),
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
    for plant in WRONG:
        plant.write(rungs)
    built = make(*(ON_EMULATOR / plant.planted for plant in WRONG))
    print(built.stderr, end="")
    test_runs(
        [
            Run(
                f"{plant.rung} with {plant.what} is wrong",
                ON_EMULATOR / plant.planted,
                FAILED,
                rf"^{plant.planted} is wrong: D\[\d+\]\[\d+\] is \S+, not \S+$",
                tuple(sizes(shapes(rungs[plant.rung].read_text())[0])),
            )
            for plant in WRONG
        ]
    )


def test_refused(rungs: dict[str, Path]) -> None:
    if not have_nvcc():
        skip("a standalone file with a spill or a warning is refused", "needs nvcc")
        return
    for plant, _ in REFUSED:
        plant.write(rungs)
    make(*(FILES / plant.planted for plant, _ in REFUSED))
    for plant, said in REFUSED:
        log = FILES / f"{plant.planted}.ptxas.log"
        why = ""
        if (FILES / plant.planted).exists():
            why = "it was built"
        elif not log.exists() or said not in log.read_text():
            why = f"for another reason; see {log}"
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
        why = ends(result, FAILED, re.escape(said))
        case(
            f"a rung with {what} is an error", why or ("it was written" if output.exists() else "")
        )


def main() -> int:
    rungs = emulated.rungs()
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "steps").mkdir(parents=True)
    missing = [name for name in rungs if not (FILES / f"{name}.cu").exists()]
    for name in missing:
        case(f"{name}.cu is written", "it was not; make says why")
    for name, rung in rungs.items():
        if name not in missing:
            test_text(name, rung)
    test_checks_of_text("v07", rungs["v07"])
    sources = {name: rung.read_text() for name, rung in rungs.items()}
    runs = [one for name, source in sources.items() for one in verified(name, source)]
    for name in (plant.rung for plant in WRONG):
        runs += damaged(name, sources[name])
        runs += refused(name, sources[name], ON_EMULATOR / name)
    test_runs(runs)
    test_wrong(rungs)
    test_bad_sources(rungs)
    test_nvcc(rungs)
    test_refused(rungs)
    remove_planted()
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
