"""Runs a CUDA program on the emulator, under every policy, and reports what it finds.

    python3 -m emulator.translate [options] kernel.cu [-- arguments of the program]

Exit status: 0 all runs ended well, 1 something was found, 2 it could not be built.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import cuda, ptx
from .cxx import string_macros, tokens_of, without_comments

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT = ROOT / "emulator/include/toolkit"
BUILD = Path(os.environ.get("EMULATE_BUILD", ROOT / "build"))
POLICIES = ["eager", "lazy"]
# A file that is included, or that a macro names, by which it may be.
NAMED_FILE = re.compile(
    r'^[ \t]*#[ \t]*(?:(include)|define[ \t]+\w+)[ \t]*(["<])([^">\n]+)[">][ \t\r]*$', re.MULTILINE
)
# Headers of CUDA, and libraries of CUDA C++ that the emulator lacks.
CUDA_HEADER = re.compile(r"(cuda|cooperative_groups|cub/|thrust/|nv/|mma\.h|cute/|cutlass/|cublas)")
CUDA_MACROS = ["__CUDACC__", "__NVCC__", "__CUDACC_VER_MAJOR__=12", "__CUDACC_VER_MINOR__=8"]
FOUND, NOT_BUILT = 1, 2


def arguments(given: list[str]) -> argparse.Namespace:
    end = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(
        prog="emulate",
        description="Run a CUDA program on the emulator. What follows -- goes to the program.",
    )
    add = parser.add_argument
    add("file", type=Path, help="the program's .cu file")
    add("-I", dest="include", action="append", default=[], metavar="FOLDER")
    add("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]")
    of_all = "which runs, separated by commas (default: %(default)s)"
    add("--policies", default=",".join([*POLICIES, "random"]), help=of_all)
    add("--seeds", type=int, default=3, help="how many random runs (default: %(default)s)")
    add("--arch", type=int, default=900, help="__CUDA_ARCH__ (default: %(default)s)")
    of_allow = "report a mistake that names itself [NAME], and go on"
    add("--allow", action="append", default=[], metavar="NAME", help=of_allow)
    add("--seconds", type=float, default=600, help="limit of a run (default: %(default)s)")
    add("--first", action="store_true", help="stop after the first bad run")
    add("--quiet", action="store_true", help="one line per run, and reports")
    options = parser.parse_args(given[:end])
    options.program = given[end + 1 :]
    known = {*POLICIES, "random"}
    for policy in options.policies.split(","):
        if policy not in known:
            parser.error(f"there is no policy '{policy}'; there are {', '.join(sorted(known))}")
    return options


# ---------------------------------------------------------------- translation


def shown(path: Path) -> str:
    """As messages name it: relative to the working directory, if it is inside."""
    path, here = path.resolve(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class Program:
    """The user's files, translated into a folder in which each lies where it does on the machine:
    so includes find them."""

    def __init__(self, options: argparse.Namespace, out: Path):
        self.main = Path(os.path.abspath(options.file))
        self.folders = [Path(os.path.abspath(folder)) for folder in options.include]
        self.out = out / "files"
        shutil.rmtree(self.out, ignore_errors=True)
        self.texts: dict[Path, str] = {}
        self.problems: list[tuple[str, int, str]] = []
        self.collect(self.main)
        macros = (one.partition("=") for one in options.define)
        self.collect_named(self.main, "".join(f"#define {name} {to}\n" for name, _, to in macros))

    def collect(self, path: Path) -> None:
        if path not in self.texts:
            self.texts[path] = path.read_text(encoding="utf-8", errors="surrogateescape")
            self.collect_named(path, without_comments(self.texts[path]))

    def collect_named(self, path: Path, code: str) -> None:
        for found in NAMED_FILE.finditer(code):
            is_included, mark, name = found.groups()
            beside = path.parent if is_included else self.main.parent
            for folder in [*([beside] if mark == '"' else []), *self.folders]:
                if (folder / name).is_file():
                    self.translated(folder / name).parent.mkdir(parents=True, exist_ok=True)
                    self.collect(Path(os.path.abspath(folder / name)))
                    break
            else:
                if is_included and CUDA_HEADER.match(name) and not (TOOLKIT / name).is_file():
                    line = code.count("\n", 0, found.start()) + 1
                    what = f"the emulator has no header {name}"
                    self.problems.append((shown(path), line, what))

    def translated(self, path: Path) -> Path:
        return self.out.joinpath(*path.parts[1:])

    def translate(self) -> Path:
        """Writes the translated files; returns the main one. Raises ptx.Unknown."""
        macros = string_macros(tokens_of("\n".join(self.texts.values())))
        texts = {shown(path): text for path, text in self.texts.items()}
        texts = {name: ptx.translate(text, name, macros) for name, text in texts.items()}
        try:
            texts = cuda.translate(texts)
        except ptx.Unknown as unknown:
            self.problems += unknown.problems
        if self.problems:
            raise ptx.Unknown(sorted(self.problems))
        for path in self.texts:
            text = f'#line 1 "{shown(path)}"\n{texts[shown(path)]}'
            self.translated(path).parent.mkdir(parents=True, exist_ok=True)
            self.translated(path).write_text(text, encoding="utf-8", errors="surrogateescape")
        return self.translated(self.main)


# ---------------------------------------------------------------- building


def parts() -> dict[str, str]:
    """Builds the emulator; how a kernel is compiled and linked, by make's names."""
    made = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "-f", "emulator/Makefile", "emulate-parts"]
        + [f"BUILD={os.path.relpath(BUILD, ROOT)}"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if made.returncode:
        raise SystemExit(NOT_BUILT)
    return dict(line.split("=", 1) for line in made.stdout.splitlines() if "=" in line)


def run_or_exit(command: list[str], what: str) -> None:
    if subprocess.run(command, check=False).returncode:
        print(f"emulate: {what} did not succeed: nothing was run", file=sys.stderr)
        raise SystemExit(NOT_BUILT)


def state_of(files: Path, command: list[str]) -> str:
    """What a program is built from: if it has not changed, neither has the program."""
    digest = hashlib.sha256("\0".join(command).encode())
    for path in sorted(path for path in files.rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    for folder in ("common", "emulator/include", "emulator/src"):
        for path in sorted((ROOT / folder).rglob("*")):
            digest.update(f"{path}{path.stat().st_mtime_ns}".encode())
    return digest.hexdigest()


def build(options: argparse.Namespace, program: Program, source: Path, out: Path) -> Path:
    """The program."""
    made = parts()
    compiler = made["CXX"]
    defined = [f"__CUDA_ARCH__={options.arch}", *CUDA_MACROS, *options.define]
    if options.arch == 900:
        defined.append("__CUDA_ARCH_FEAT_SM90_ALL")
    folders = [*program.folders, program.main.parent]
    command = [compiler, *shlex.split(made["FLAGS"]), "-w", "-fpermissive", "-fmax-errors=5"]
    command += [f"-D{name}" for name in defined]
    command += [f"-I{folder}" for folder in [*map(program.translated, folders), *folders]]
    for header in ("emulator/translated.h", "emulator/ptx.h"):
        command += ["-include", header]
    built, linked = out / "program.o", out / "program"
    state, kept = state_of(program.out, command), out / "state"
    if not kept.is_file() or kept.read_text() != state:
        kept.unlink(missing_ok=True)
        run_or_exit([*command, "-x", "c++", "-c", str(source), "-o", str(built)], "compiling")
        # The emulator comes first: of inline functions that both have, those of the program would
        # report what the emulator does.
        emulator = ["-Wl,--whole-archive", made["EMULATOR"], "-Wl,--no-whole-archive"]
        link = [compiler, "-no-pie", "-o", str(linked), *emulator, str(built), "-lm"]
        run_or_exit(link, "linking")
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
    return list(made.items())


NOT_KNOWN = "emulator: the emulator does not know this\n"
REPORT = re.compile(r"^emulator: \w+: .*\n(?:  .*\n)*", re.MULTILINE)


def pieces(output: str) -> list[tuple[str, str]]:
    """The reports in it and what is between them, each with what is the same in other runs that
    say it: a report's kind and lines of source, a text without its numbers."""
    found = re.split(f"({REPORT.pattern})", output, flags=re.MULTILINE)
    return [(piece, essence(piece)) for piece in found if piece.strip()]


def essence(piece: str) -> str:
    if not REPORT.match(piece):
        return re.sub(r"\d+", "0", piece)
    kind = piece[: piece.index(": ", len("emulator: "))]
    places = "".join(re.findall(r"^    (\S+:\d+)  ", piece, re.MULTILINE))
    return kind + (places or re.sub(r"0x\w+|\d+", "0", piece.splitlines()[0]))


def run_one(options: argparse.Namespace, program: Path, chosen: dict) -> tuple[int, str]:
    """Its exit status and what it printed."""
    environment = {**os.environ, "EMULATOR_ALLOW": ",".join(options.allow), **chosen}
    try:
        ended = subprocess.run(
            [program, *options.program],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=options.seconds,
            check=False,
        )
        return ended.returncode, ended.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        return 1, f"{said}still running after {options.seconds:.0f} s (--seconds allows more)\n"


def run_all(options: argparse.Namespace, program: Path) -> int:
    """Prints each report once, below the first run that made it."""
    seen: dict[str, str] = {}
    bad = 0
    for name, chosen in runs(options):
        begun = time.monotonic()
        status, output = run_one(options, program, chosen)
        said = pieces(output)
        before = {seen[known] for _, known in said if known in seen and status != 0}
        bad += status != 0
        verdict = "ok" if status == 0 else f"exit status {status}"
        verdict += f", as under {min(before)}" if before else ""
        print(f"{name}: {verdict} ({time.monotonic() - begun:.1f} s)", flush=True)
        for piece, known in said:
            is_report = REPORT.match(piece) is not None
            if known not in seen and (is_report or status or not options.quiet):
                print("".join(f"  {line}\n" for line in piece.splitlines()), end="", flush=True)
            seen.setdefault(known, name)
        if NOT_KNOWN in output:
            return NOT_BUILT
        if status != 0 and options.first:
            break
    return FOUND if bad else 0


def main() -> int:
    options = arguments(sys.argv[1:])
    if not options.file.is_file():
        print(f"emulate: there is no file {options.file}", file=sys.stderr)
        return NOT_BUILT
    out = BUILD / "emulate" / re.sub(r"\W+", "-", " ".join([shown(options.file), *options.define]))
    out.mkdir(parents=True, exist_ok=True)
    try:
        program = Program(options, out)
        source = program.translate()
    except ptx.Unknown as unknown:
        print(unknown, file=sys.stderr)
        print("emulate: the emulator does not know this: nothing was run", file=sys.stderr)
        return NOT_BUILT
    return run_all(options, build(options, program, source, out))


if __name__ == "__main__":
    sys.exit(main())
