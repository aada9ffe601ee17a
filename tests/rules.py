#!/usr/bin/env python3
"""What the design asks of the tree, as far as a search can tell: the folders of the house and the
arrows between them (steps -> common; bench runs rungs and records; plots, notes and book read
records), what a rung must not hold, that the emulator's device headers offer what those of
common/device do, and nothing else, and that the faults of planted/faults.txt still fit. Prints
one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import tools
from tools import ROOT, exit_status, faults, skip

FOLDERS = {".ci", "bench", "book", "common", "emulator", "exercises", "make", "notes", "planted"}
FOLDERS |= {"plots", "standalone", "steps", "tests"}

READS = "it reads records"
TERMINAL = "what a run prints and what its pages say are the same table"
# What a folder may import beside itself, and why. An entry that nothing needs fails.
IMPORTS = {
    "bench": {},
    "notes/tools": {
        "bench.energy.budget": "the sums of a rung's parts",
        "bench.record": "the order in which runs answer",
        "bench.results": READS,
        "bench.rungs": "a rung's step record",
        "bench.shapes": "the names of recorded shapes",
    },
    "plots": {
        "bench.results": READS,
        "bench.trace": "recorded traces",
        "bench.shapes": "families of shapes",
        "bench.energy.budget": "the sums of a recorded energy budget",
        "notes.tools.tables": "a picture and its page name a shape alike",
    },
    "book": {
        "bench.results": READS,
        "bench.trace": "recorded traces",
        "bench.energy.budget": "a rung's parts",
        "bench.ladder": TERMINAL,
        "bench.resources": "recorded registers",
        "bench.rungs": "a rung's step record",
        "notes.tools.tables": "a page's tables",
    },
    "standalone": {},
    "exercises": {},
    "emulator/translate": {},
}
C_API = r"emulator/emulator\.h$"  # all that the harness knows of the emulator
# Folders that an #include may name. The first pattern that matches a file decides.
INCLUDES = {
    "steps/*": r"step\.h|device/",
    "common/device/*": r"step\.h|device/",
    "common/step.h": r"$",
    "common/formats/*": r"formats/",
    "common/device/emulated/device/*": r"device/|emulator/",
    "emulator/include/**/*": r"formats/|emulator/",
    "emulator/src/*": r"formats/|emulator/|[a-z_]+\.h$",
    "emulator/tests/*": r"device/|formats/|emulator/|[a-z_]+\.h$",
    "emulator/examples/*": r"[a-z_0-9/]+\.(h|cuh|cu)$",  # files of the clones, too
    "common/trace/**/*": r"step\.h|device/|emulator/|harness/trace/|trace/",
    "common/harness/*": rf"step\.h|{C_API}|formats/|harness/(?!gpu/|emulated/)|trace/",
    "common/harness/**/*": rf"step\.h|{C_API}|formats/|harness/|trace/",
}
# What no rung holds, and the lines that would show it.
FORBIDDEN = {
    "inline assembly": r"\basm\b",
    "launch past launch()": r"<<<",
    "shared memory past its wrapper": r"extern +(__shared__|.*\[\])",
    "driver type": r"\b(CUtensorMap|CUfunction|CUresult)",
    "wait loop": r"try_wait",
    "timing": r"cudaEvent|clock64|globaltimer|\bchrono\b",
    "options to parse": r"getopt|argv\[",
    "code for one build alone": r"^ *# *(if|ifdef|ifndef|else|elif)\b",
    "words of what runs it": r"[Ee]mulat",
    "way past the check": r"\bcomputes_nothing\b",
}
MAKES = "upload_array|make_zeros"  # arrays in device memory
# The emulator's own headers of the toolkit's names.
INCLUDED = ROOT / "emulator/include/toolkit"
TOOLKIT = "|".join(str(path.relative_to(INCLUDED)) for path in INCLUDED.rglob("*"))
CUDA = rf"(?! *<({TOOLKIT})>) *[<\"](cuda|cublas|nv|cooperative_groups)[a-z0-9_]*(\.h|/)"
ONE_MACHINE = r"^ *# *(if|ifdef|ifndef|elif).*(__CUDA_ARCH__|EMULAT[A-Z]*\b)"
NO_RUNG = r"\b([vat][0-9][0-9]|f0[0-9])\b"  # f16 and f32 are formats
SOURCES = (
    f"Makefile *.md {' '.join(f'{folder}/**/*' for folder in sorted(FOLDERS))} !tests/rules.py"
)
# Device headers that hold a list alone.
LISTS = {"tile_family.cuh"}
# Lines of code that git has below these folders, but for those that are named by themselves. These
# figures only go down; a commit that raises one says why.
LINES = {
    "emulator": 12710,
    "emulator/tests": 2880,
    "common/harness common/step.h": 6040,
    "bench notes/tools": 5516,
    "tests": 7391,
    "tests/unit": 2861,
    "tests/gpu tests/unit-gpu": 807,
    "tests/device": 2118,
    "tests/tools": 1475,
}
CODE = re.compile(r".*\.(py|c|h|cu|cuh|cpp|sh|mk|js|css|html)|.*Makefile|instructions\.txt")
MOST_BYTES = {"bench/results": 1_500_000}
EMULATOR = "emulator/include/**/* emulator/src/* emulator/translate/*"
# What no line of these files says.
ABSENT = (
    (
        "common/ and emulator/ know no rung",
        NO_RUNG,
        f"common/**/* {EMULATOR} !common/step.h",
    ),  # which shows an example
    (
        "the emulator includes no CUDA header but its own",
        f"# *include{CUDA}",
        f"{EMULATOR} common/*/emulated/**/*",
    ),
    (
        "common/device and step.h do not know what runs a rung",
        "[Ee]mulat",
        "common/device/* common/step.h",
    ),
    (
        "nothing in common/ and emulator/ is compiled for one machine only",
        ONE_MACHINE,
        f"common/**/* {EMULATOR}",
    ),
    (
        "every Python package is pinned by its hashes",
        r"^[^# ]([^\\]*|[^=]*)$",
        "*/requirements.txt",
    ),
    ("only tests edit sys.path", r"sys\.path", " ".join(f"{folder}/**/*.py" for folder in IMPORTS)),
    ("no unfinished work", r"\b(TODO|FIXME|XXX)\b", SOURCES),
)


def case(name: str, wrong: Iterable[str]) -> None:
    """One case: ok if nothing is wrong."""
    tools.case(name, ", ".join(sorted(wrong)))


def files(patterns: str) -> list[Path]:
    """The text files that match one of the patterns, and none of those after a !."""
    found: dict[Path, None] = {}
    for pattern in patterns.split():
        those = [path for path in sorted(ROOT.glob(pattern.lstrip("!"))) if path.is_file()]
        if not those:
            raise FileNotFoundError(pattern)
        if pattern[0] == "!":
            found = {path: None for path in found if path not in those}
        else:
            found |= dict.fromkeys(those)
    return [path for path in found if path.suffix not in (".png", ".pyc")]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_with(expression: str, paths: Iterable[Path]) -> Iterator[str]:
    """The first line of each file that the expression matches."""
    for path in paths:
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search(expression, line):
                yield f"{name_of(path)}:{number}: {line.strip()}"
                break


# ---------------------------------------------------------------- folders, and the arrows between them


def check_folders() -> None:
    command = ["git", "-C", str(ROOT), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        skip("the folders are those of the house", "this is no clone")
        return
    found = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    case("the folders are those of the house", found ^ FOLDERS)


def imported(path: Path) -> Iterator[str]:
    """The modules that a program imports: bench.results."""
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def check_imports(folder: str, allowed: dict[str, str]) -> None:
    packages = {
        "tests",
        "tools",
        *(name.split("/")[0] for name in IMPORTS),
    }  # tests/ is on the path
    wrong, unused = set(), set(allowed)
    for path in files(f"{folder}/**/*.py"):
        for module in imported(path):
            if module.split(".")[0] in packages and not within(module, folder.replace("/", ".")):
                used = {package for package in allowed if within(module, package)}
                unused -= used
                wrong |= set() if used else {f"{name_of(path)} imports {module}"}
    case(f"{folder} imports only what its arrows allow", wrong)
    case(f"{folder} needs every exception", {f"{package} is unused" for package in unused})


def check_includes() -> None:
    seen = set()
    for pattern, allowed in INCLUDES.items():
        wrong = set()
        for path in set(files(pattern)) - seen:
            for header in re.findall(r'^ *# *include +"([^"]+)"', text_of(path), re.MULTILINE):
                if ".." in header or not re.match(allowed, header):
                    wrong.add(f"{name_of(path)} includes {header}")
            seen.add(path)
        case(f"{pattern} includes only what its arrows allow", wrong)


def check_circles() -> None:
    """No header includes itself through others, and no module imports itself so."""
    headers = {
        name_of(path).split("/", 1)[1]: re.findall(
            r'^ *# *include +"([^"]+)"', text_of(path), re.MULTILINE
        )
        for path in files("common/**/*.h common/**/*.cuh")
    }
    python = files(" ".join(f"{folder}/**/*.py" for folder in IMPORTS))
    modules = {name_of(path)[:-3].replace("/", "."): {*imported(path)} for path in python}
    both = {
        name: {*found, *(one.rpartition(".")[0] for one in found)}
        for name, found in modules.items()
    }
    for what, graph in (("header", headers), ("module", both)):
        known = {name: [one for one in found if one in graph] for name, found in graph.items()}
        try:
            TopologicalSorter(known).prepare()
            case(f"no circle of {what}s", [] if known else ["none was found"])
        except CycleError as error:
            case(f"no circle of {what}s", [" -> ".join(error.args[1])])


# ---------------------------------------------------------------- sources


def check_rung(path: Path) -> None:
    rung, text = path.name.partition("_")[0], text_of(path)
    for what, expression in FORBIDDEN.items():
        case(f"{rung} holds no {what}", lines_with(expression, [path]))
    main = f"int main(int argc, char **argv) {{ return step_main(&{rung}, argc, argv); }}"
    case(f"{rung} has a main of one line", [] if main in text.splitlines() else [f"not {main}"])
    arrays = [len(re.findall(rf"\b({names})\(", text)) for names in (MAKES, "release_array")]
    case(
        f"{rung} frees what it makes",
        [] if arrays[0] == arrays[1] else [f"{arrays[0]} arrays are made, {arrays[1]} freed"],
    )
    case(f"{rung} has a header comment", [] if text.startswith("//") else [text.splitlines()[0]])


def undocumented(header: Path) -> Iterator[str]:
    """The declarations with a parameter list that no comment explains: one above it, in a block
    without a blank line, which neighbours share. A specialisation (name<64>) needs none."""
    other = re.compile(
        r'#|static_assert|typedef|using|extern "C"|return'
        r"|(struct|class|enum) [^()]*(\(.*\))?[^()]*\{|[A-Za-z_][\w ]*<[0-9]+>\("
    )
    commented = False
    for number, line in enumerate(text_of(header).splitlines(), 1):
        if re.match(r"\s*$|\s*(//|/\*|\*)", line):
            commented = bool(line.strip())
        elif re.match(r"[A-Za-z_][^=;]*\(", line) and not other.match(line) and not commented:
            yield f"{name_of(header)}:{number}: {line}"


# A function at the beginning of a line or inside a struct, with its template parameters.
FUNCTION = re.compile(
    r"^\ *(?P<template>template\ <[^>]*>\s*)?"
    r"(?P<qualifiers>(?:DEVICE|inline|__host__|__device__|constexpr|static)\b[\w\s]*?)"
    r"(?P<returns>\b[\w:]+\s+[&*]?)(?P<name>\w+)"
    r"\((?P<parameters>(?:[^()]|\([^()]*\))*)\)\s*[{;]",
    re.MULTILINE | re.VERBOSE,
)
STRUCT = re.compile(r"^struct (\w+) \{$(.*?)^\};$", re.MULTILINE | re.DOTALL)


def functions(header: Path) -> set[str]:
    """What a header declares, without the line that calls, which the emulator's functions take at
    the end."""
    source = re.sub(r"//.*|^\s*#.*", "", text_of(header), flags=re.MULTILINE)
    scopes = [("", STRUCT.sub("", source)), *STRUCT.findall(source)]
    declared = set()
    for scope, part in scopes:
        for template, qualifiers, returns, name, parameters in FUNCTION.findall(part):
            words = f"{template} {qualifiers} {returns} {scope}::{name}({parameters})"
            words = " ".join(words.split())
            declared.add(re.sub(r"(, )?EMULATOR_SITE\)$", ")", words))
    return declared


def check_shadows() -> None:
    """A header of common/device that holds inline assembly has a shadow in common/device/emulated,
    which the emulated build finds first."""
    for original in files("common/device/*"):
        shadow = ROOT / "common/device/emulated/device" / original.name
        needs_one = re.search(r"\basm\b", text_of(original)) and not shadow.exists()
        case(
            f"{original.name}: shadowed if it has to be",
            ["nothing shadows it"] if needs_one else [],
        )
    for shadow in files("common/*/emulated/*/*"):
        original = ROOT / "common" / shadow.parent.name / shadow.name
        name, missing = name_of(shadow), [f"there is no {name_of(original)}"]
        case(f"{name} shadows something", [] if original.exists() else missing)
        if shadow.parent.name == "device" and original.exists():
            declared = functions(original)
            missing = [] if declared or original.name in LISTS else ["none was found"]
            case(f"{name} declares functions", missing)
            case(f"{name} declares the same functions", declared ^ functions(shadow))


def listed(folder: str) -> list[Path]:
    """The files that git has below these folders; of those, not what has a budget of its own."""
    command = ["git", "-C", str(ROOT), "ls-files", *folder.split()]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    apart = [one for folders in LINES for one in folders.split() if one not in folder.split()]
    inside = [one for one in apart if one.startswith(f"{folder}/")]
    return [ROOT / name for name in found if not name.startswith(tuple(inside))]


def check_sizes() -> None:
    """The budgets: of lines of code, and of bytes that are recorded."""
    if not listed("tests"):
        skip("folders keep to their budgets", "this is no clone")
        return
    sizes = {
        folder: sum(
            text_of(path).count("\n") for path in listed(folder) if CODE.fullmatch(path.name)
        )
        for folder in LINES
    }
    for folder, most in LINES.items():
        long = [f"{sizes[folder]} lines"] if sizes[folder] > most else []
        case(f"{folder} has at most {most} lines", long)
    for folder, most in MOST_BYTES.items():
        size = sum(path.stat().st_size for path in listed(folder))
        case(f"{folder} has at most {most} bytes", [f"{size} bytes"] if size > most else [])


def check_sample() -> None:
    """The emulator's sample of the family has each height, and each way to share among consumers and
    among CTAs, that the whole list has."""

    def values(folder: str) -> set[str]:
        text = text_of(ROOT / folder / "device" / "tile_family.cuh")
        found = re.findall(r"TILE\((\d+), \d+, (\w+), (\d), (\d)\)", text)
        ways = {f"B {above > '1'}, A {beside > '1'}" for *_, above, beside in found}
        return ways.union(*((height, work) for height, work, *_ in found))

    missing = values("common") - values("common/device/emulated")
    some = [] if values("common") else ["no tile was found"]
    case("the emulator's sample of tiles has all heights and ways to share", missing or some)


def main() -> int:
    check_folders()
    for folder, allowed in IMPORTS.items():
        check_imports(folder, allowed)
    check_includes()
    check_circles()
    for name, expression, patterns in ABSENT:
        case(name, lines_with(expression, files(patterns)))
    for path in files("steps/*.cu"):
        check_rung(path)
    for header in files("common/**/*.h common/**/*.cuh emulator/include/**/*.h emulator/src/*.h"):
        case(f"{name_of(header)}: every function has a comment", undocumented(header))
    check_shadows()
    check_sample()
    check_sizes()
    case(faults.FITS, faults.misfits())
    for path in files("make/*"):
        first = text_of(path).partition("\n")[0]
        purpose = re.match(r"# \w+ \w+ ", first)
        case(f"{name_of(path)} says its purpose", [] if purpose else [f"it begins '{first}'"])
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
