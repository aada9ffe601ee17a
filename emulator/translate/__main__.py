"""Checks a CUDA program on the emulator, under every policy. Arguments after -- go to the program.

  check-kernel kernel.cu
  check-kernel --quiet -I include -D TILE=64 --sarif races.sarif kernel.cu -- 512 512 320

Exit status: 0 all runs ended well, 1 something was found, 2 it cannot be built or executes what
the emulator does not know.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import hashlib
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import cuda, outputs, ptx
from .cxx import edited, name_in, without_comments
from .outputs import NOT_BUILT, NOT_KNOWN, REPORT, Run

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT = ROOT / "emulator/include/toolkit"
OWN_FOLDERS = (f"{ROOT}/emulator/include/", f"{ROOT}/common/")
HEADERS = ("-include", "emulator/translated.h", "-include", "emulator/ptx.h")
INSTALLED = ROOT / "installed"  # what emulate-parts would print: `make install` has built it
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "check-kernel"
BUILD = Path(os.environ.get("EMULATE_BUILD") or (CACHE if INSTALLED.exists() else ROOT / "build"))
POLICIES = ["eager", "lazy", "random"]
# Headers of CUDA and of its libraries. One that the emulator lacks is empty: it may not be used.
CUDA_HEADER = re.compile(
    r"cuda|cooperative_groups|cu(blas|rand|fft|sparse|solver|Complex)|(cub|cute|cutlass|thrust)/|nccl"
    r"|nv(/|ml|toolsext|tx|rtc)|(torch|ATen|c10)/|(device|driver|library|math|vector)_\w+\.h|mma\.h"
)
WHOLE = dict.fromkeys(("torch", "ATen", "c10"), "#include <torch/extension.h>\n")
WHOLE["cub"] = "#include <cub/cub.cuh>\n"
CUDA_MACROS = ["__CUDACC__", "__NVCC__", "__CUDACC_VER_MAJOR__=12", "__CUDACC_VER_MINOR__=8"]
# CUDA's words that the preprocessor leaves to the translation, and what they are then.
WORDS = ["__global__=", "__grid_constant__=", "__launch_bounds__(...)=", "__cluster_dims__(...)="]
WORDS += ["__forceinline__=inline __attribute__((always_inline))"]
# A name that gets a value of literals: 4096, (1 << 20), 32 * 1024.
LITERAL = r"\d+[uUlL]*"
CONSTANT = re.compile(
    r"(?:#[ \t]*define[ \t]+(\w+)[ \t]+|\b(\w+)[ \t]*=[ \t]*)"
    rf"((\()?{LITERAL}(?:[ \t]*(?:\*|<<)[ \t]*{LITERAL})*(?(4)\)))(?![\w.])"
)
LARGE = 64  # of a constant that decides how long a run takes
STORY_LIMIT = 20  # seconds of a run that is repeated for its story


def arguments(given: list[str]) -> argparse.Namespace:
    end = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(
        "check-kernel", None, __doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("file", type=Path, help="the program's .cu file")
    add("-I", dest="include", action="append", default=[], metavar="FOLDER")
    add("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]")
    of_set = "another value of a #define or of a constant of the program"
    add("--set", action="append", default=[], metavar="NAME=VALUE", help=of_set)
    of_all = "which runs, separated by commas (default: %(default)s)"
    add("--policies", default=",".join(POLICIES), help=of_all)
    add("--seeds", type=int, default=3, help="how many random runs (default: %(default)s)")
    of_explore = "also run every order of atomics, RUNS at most, such as 10000"
    add("--explore", type=int, metavar="RUNS", help=of_explore)
    add("--arch", type=int, default=900, help="__CUDA_ARCH__ (default: %(default)s)")
    of_allow = "report a mistake that names itself [NAME], and go on"
    add("--allow", action="append", default=[], metavar="NAME", help=of_allow)
    add("--seconds", type=float, default=600, help="limit of a run (default: %(default)s)")
    add("--first", action="store_true", help="stop after the first bad run")
    add("--quiet", action="store_true", help="one line per run, and reports")
    of_format = "how reports are printed; gcc: also as FILE:LINE: error: ... at the end"
    add("--format", choices=["text", "gcc"], default="text", help=of_format)
    add("--sarif", type=Path, metavar="FILE", help="write what was found as SARIF 2.1.0")
    add("--junit", type=Path, metavar="FILE", help="write the runs as JUnit's XML")
    options = parser.parse_args(given[:end])
    options.program = given[end + 1 :]
    for policy in options.policies.split(","):
        if policy not in POLICIES:
            parser.error(f"there is no policy '{policy}'; there are {', '.join(POLICIES)}")
    return options


# ---------------------------------------------------------------- translation


def shown(path: Path) -> str:
    """As messages name it: relative to the working directory, if it is inside."""
    path, here = path.resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class Program:
    """The user's files, copied into a folder in which each lies where it does on the machine: so
    includes find them."""

    def __init__(self, options: argparse.Namespace, out: Path):
        self.options, self.out = options, out / "files"
        self.main = Path(os.path.abspath(options.file))
        shutil.rmtree(self.out, ignore_errors=True)
        self.given = dict(one.split("=", 1) for one in options.set)
        self.missing: list[str] = []  # headers that the emulator lacks
        self.used: set[str] = set()  # of those
        self.sizes: list[tuple[int, str]] = []  # of large constants, and how to say each
        for folder in options.include:
            self.copied(Path(folder)).mkdir(parents=True, exist_ok=True)
        files = [name for name in self.included() if not name.startswith(OWN_FOLDERS)]
        users = [name for name in files if not name.startswith("/usr/") and os.path.isfile(name)]
        self.names = {self.copy(Path(name)) for name in users}
        if wrong := [name for name in self.given if name not in self.used]:
            raise OSError(f"--set: the program has no constant {', '.join(wrong)}")
        # Those of a CUDA Toolkit that is installed do not fit to the emulator's.
        for name in dict.fromkeys(re.sub("^/usr/.*?include/", "", name) for name in files):
            if CUDA_HEADER.match(name) and not (name in users or (TOOLKIT / name).is_file()):
                whole = WHOLE.get(name.partition("/")[0], "")
                self.missing += [] if whole else [name]
                self.write(self.out / "missing" / name, whole)

    def included(self) -> list[str]:
        """The program's files; of those that are not there the names."""
        command = [*compiler(self.options, [*self.options.include, self.main.parent]), *HEADERS]
        command += ["-M", "-MG", "-x", "c++", str(self.main)]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        names = re.findall(r"(?:\\.|\S)+", found.replace("\\\n", " "))
        return [re.sub(r"\\(.)", r"\1", name) for name in names[1:]]

    def copy(self, path: Path) -> str:
        """With the constants that are given. Returns the name that messages have."""
        text, edits = path.read_text(encoding="utf-8", errors="surrogateescape"), []
        for found in CONSTANT.finditer(without_comments(text)):
            name, factors = found[1] or found[2], re.findall(r"(<<)?\s*(\d+)", found[3])
            size = math.prod(2 ** min(int(n), 64) if shift else int(n) for shift, n in factors)
            if name in self.given:
                edits.append((*found.span(3), self.given[name]))
                self.used.add(name)
            elif size >= LARGE:
                line = text.count("\n", 0, found.start()) + 1
                self.sizes.append((size, f"{name} = {size} ({shown(path)}:{line})"))
        self.write(self.copied(path), f'#line 1 "{shown(path)}"\n{edited(text, edits)}')
        return shown(path)

    def copied(self, path: Path) -> Path:
        return self.out.joinpath(*Path(os.path.abspath(path)).parts[1:])

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")

    def advice(self) -> str:
        """How to make a run shorter."""
        has_arguments = "argv" in self.main.read_text(errors="ignore")
        takes = " or by arguments after --" if has_arguments else ""
        largest = ", ".join(text for _, text in sorted(self.sizes, reverse=True)[:3])
        return f"Make it smaller by --set NAME=VALUE{takes}: {largest or 'no constant is large'}"

    def translate(self) -> str:
        """All that is to be compiled."""
        folders = map(self.copied, [*self.options.include, self.main.parent])
        command = [*compiler(self.options, folders), *HEADERS, f"-I{self.out}/missing"]
        command += ["-w", "-E", "-x", "c++", self.copied(self.main)]
        text = output_of(command, "compiling", self.missing)
        # What is not the user's stays as it is, and is not read.
        others: list[str] = []
        parts = []
        for part in re.split(r'^(?=# \d+ ")', text, flags=re.MULTILINE):
            name = re.match(r'# \d+ ("(?:\\.|[^"])*")', part)
            if name is None or name_in(name[1]) not in self.names:
                others.append(part)
                part = f"#other {len(others) - 1}\n"
            parts.append(part)
        text = cuda.translate(ptx.translate("".join(parts)))
        return re.sub(r"^#other (\d+)\n", lambda one: others[int(one[1])], text, flags=re.MULTILINE)


# ---------------------------------------------------------------- building


@functools.cache
def parts(target: str = "emulate-parts") -> dict[str, str]:
    """How a kernel is compiled and linked, by make's names; builds the emulator first."""
    if INSTALLED.exists():
        said = INSTALLED.read_text()
    else:
        command = ["make", "-s", "-C", ROOT, "-f", "emulator/Makefile", target]
        command.append(f"BUILD={os.path.relpath(BUILD, ROOT)}")
        said = output_of(command, "building the emulator")
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def output_of(command: list, what: str, missing: Sequence[str] = ()) -> str:
    if shutil.which(command[0]) is None:
        raise OSError(f"{command[0]} is needed, and is not installed")
    how = {"capture_output": True, "encoding": "utf-8", "errors": "surrogateescape"}
    ended = subprocess.run(command, check=False, **how)
    if ended.returncode:
        lacks = f" (the emulator has no header {', '.join(missing)}; the program's need -I)"
        why = first_error(ended.stderr) + (lacks if missing else "")
        raise OSError(f"{why}\n{what} did not succeed")
    return ended.stdout


def first_error(said: str) -> str:
    """The first error of a compiler on one line, at the program's line that leads to it."""
    error = r"^(.+?)(?::\d+)?: (?:(?:fatal )?error: |(?=undefined ))(.*)$"
    found = re.search(error, said, re.MULTILINE)
    if found is None:
        return said
    calls = re.findall(r"^(.+?:\d+):\d+: +required from", said[: found.start()], re.MULTILINE)
    place = calls[-1] if calls and found[1].startswith(OWN_FOLDERS) else found[1]
    return f"{place}: {found[2]}"


def compiler(options: argparse.Namespace, folders: Iterable[Path | str]) -> list[str]:
    """The compiler, with what it needs to read the program's files."""
    name = parts()["CXX"]
    output_of(["addr2line", "--version"], "addr2line")  # reports need it
    version = output_of([name, "-dumpversion"], name).strip()
    if int(version.split(".")[0]) < 12:
        raise OSError(f"{name} 12 is needed, and this is {version}")
    defined = [f"__CUDA_ARCH__={options.arch}", *CUDA_MACROS, *options.define]
    if options.arch == 900:
        defined.append("__CUDA_ARCH_FEAT_SM90_ALL")
    flags = [*flags_of_kernels(), *(f"-D{name}" for name in defined)]
    return [name, *flags, *(f"-I{one}" for one in folders)]


def flags_of_kernels() -> list[str]:
    return [flag.replace("@", str(ROOT)) for flag in shlex.split(parts()["FLAGS"])]


def build(text: str, missing: Sequence[str], out: Path) -> Path:
    """The program, if it was not built from the same text before."""
    library = ROOT / parts()["EMULATOR"]
    source, built, linked = out / "program.cpp", out / "program.o", out / "program"
    # Binutils reads the first file of a DWARF 5 table wrongly.
    command = [parts()["CXX"], *flags_of_kernels(), *(f"-D{word}" for word in WORDS)]
    command += ["-gdwarf-4", "-w", "-fpermissive", "-fmax-errors=5", "-c", source, "-o", built]
    of = f"{command}{library.stat().st_mtime_ns}{text}".encode(errors="surrogateescape")
    state, kept = hashlib.sha256(of).hexdigest(), out / "state"
    if not kept.is_file() or kept.read_text() != state:
        kept.unlink(missing_ok=True)
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        output_of(command, "compiling", missing)
        # The emulator comes first: of inline functions that both have, those of the program would
        # report what the emulator does.
        emulator = ["-Wl,--whole-archive", library, "-Wl,--no-whole-archive"]
        link = [command[0], "-no-pie", "-o", linked, *emulator, built, "-lm"]
        output_of(link, "linking one .cu file with all that it includes", missing)
        kept.write_text(state)
    return linked


# ---------------------------------------------------------------- runs


def runs(options: argparse.Namespace) -> list[tuple[str, dict]]:
    """(name, environment) of each."""
    made = {policy: {"EMULATOR_POLICY": policy} for policy in options.policies.split(",")}
    if made.pop("random", None):
        for seed in range(1, options.seeds + 1):
            chosen = {"EMULATOR_POLICY": "random", "EMULATOR_SEED": str(seed)}
            made[f"random with seed {seed}"] = chosen
    if options.explore:
        chosen = {"EMULATOR_POLICY": "eager", "EMULATOR_EXPLORE": str(options.explore)}
        made["every order of atomics"] = chosen
    return list(made.items())


ADVICE_TO = os.dup(2)  # where a program says at once that it will take long
PROOF = re.compile(r"^emulator proof: (.*)\n", re.MULTILINE)
SAID_FIRST = ("explored: ", "condition", "not")  # the proof with the first of these is printed


def run_one(
    options: argparse.Namespace, program: Path, chosen: dict, advice: str = ""
) -> tuple[int, str]:
    """Its exit status and what it printed."""
    environment = {**os.environ, "EMULATOR_ALLOW": ",".join(options.allow), **chosen}
    environment |= {"EMULATOR_ADVICE": advice, "EMULATOR_ADVICE_TO": str(ADVICE_TO)}
    environment["EMULATOR_PROOF"] = "1"
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": options.seconds}
    how["pass_fds"] = [ADVICE_TO]
    try:
        ended = subprocess.run([program, *options.program], env=environment, check=False, **how)
        return ended.returncode, ended.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        late_by = f"still running after {options.seconds:.0f} s (--seconds allows more)"
        return 1, f"{said}{late_by}. {advice}\n"


def story(options: argparse.Namespace, program: Path, chosen: dict) -> str:
    """What came before a report of two unordered accesses (emulator/src/story.h), by another run."""
    told = run_one(options, program, {**chosen, "EMULATOR_STORY": "1"})[1]
    found = re.search(r"^  story, .*\n(?:    .*\n)*", told, re.MULTILINE)
    chosen = {"EMULATOR_ALLOW": ",".join(options.allow), **chosen}
    words = [f"{name}={value}" for name, value in chosen.items() if value]
    again = shlex.join([*words, shown(program), *options.program])
    return f"{found.group()}  again: {again}\n" if found else ""


def run_all(options: argparse.Namespace, program: Path, advice: str) -> list[Run]:
    """Prints each report once, below the first run that made it."""
    seen: dict[str, str] = {}
    made, proofs = [], []
    for name, chosen in runs(options):
        begun = time.monotonic()
        status, output = run_one(options, program, chosen, advice)
        proofs += PROOF.findall(output) or ["not proved for all orders: a run did not end"]
        output = PROOF.sub("", output)
        made.append(Run(name, status, output, time.monotonic() - begun))
        said = outputs.pieces(output)
        before = {seen[known] for _, known in said if known in seen and status != 0}
        verdict = "ok" if status == 0 else f"exit status {status}"
        verdict += f", as under {min(before)}" if before else ""
        print(f"{name}: {verdict} ({made[-1].seconds:.1f} s)", flush=True)
        for piece, known in said:
            is_report = REPORT.match(piece) is not None
            is_quick = time.monotonic() - begun < STORY_LIMIT
            if is_report and is_quick and known not in seen and "EMULATOR_STORY" not in os.environ:
                piece += story(options, program, chosen)
            if known not in seen and (is_report or status or not options.quiet):
                print("".join(f"  {line}\n" for line in piece.splitlines()), end="", flush=True)
            seen.setdefault(known, name)
        if NOT_KNOWN in output or (status != 0 and options.first):
            break
    print(min(proofs, key=lambda text: (*(word not in text for word in SAID_FIRST), len(text))))
    return made


def check(options: argparse.Namespace) -> list[Run]:
    """The runs, or one that says why there are none."""
    of = repr([os.getcwd(), options.file, options.include, options.define, options.arch])
    out = BUILD / "emulate" / f"{options.file.stem}-{hashlib.sha256(of.encode()).hexdigest()[:12]}"
    try:
        if not options.file.is_file():
            raise OSError(f"there is no file {options.file}")
        out.mkdir(parents=True, exist_ok=True)
        with open(out / "lock", "w") as lock:  # another process may build the same program
            fcntl.flock(lock, fcntl.LOCK_EX)
            program = Program(options, out)
            built = build(program.translate(), program.missing, out)
        return run_all(options, built, program.advice())
    except OSError as why:
        print(f"{why}\ncheck-kernel: nothing was run", file=sys.stderr)
        return [Run(outputs.BUILD, NOT_BUILT, f"{why}\n")]


def main() -> int:
    try:
        options = arguments(sys.argv[1:])
        version, file = parts("emulate-version")["VERSION"], shown(options.file)
        unfinished = [Run(outputs.BUILD, NOT_BUILT, "it did not end")]
        outputs.write(options, unfinished, file, version)  # an error now rather than after the runs
        made = check(options)
        outputs.write(options, made, file, version)
        if options.format == "gcc":
            print(outputs.gcc(made, file), end="")
    except OSError as why:
        print(f"check-kernel: {why}", file=sys.stderr)
        return NOT_BUILT
    return outputs.exit_status(made)


if __name__ == "__main__":
    sys.exit(main())
