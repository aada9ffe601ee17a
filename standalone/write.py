#!/usr/bin/env python3
"""Writes a rung as one file that nvcc compiles alone, with a main of its own.

    standalone/write.py steps/v07_mbarrier.cu build/standalone/v07.cu [RULES]

The file holds, in this order: what of common/step.h a rung uses, the device headers that it includes,
directly or not, each behind those that it builds on, the rung itself, and a program around it that
is put together from the pieces beside this script. RULES is a file for make: which headers the
first file was made from.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMON = ROOT / "common"
PIECES = ROOT / "standalone"
LICENSE = ROOT / "LICENSE"
CONTRACT = "step.h"
WIDTH = 100  # columns of a line

# What of the contract a program without the harness needs, by how each declaration begins.
CONTRACT_PARTS = (
    "enum computation {",
    "enum { LARGEST_DIMENSION = 1 << 30 };",
    "typedef struct problem {",
    "typedef struct step {",
)

# The pieces of the program around a rung, by what it computes, and the type of the factors.
PROGRAMS = {
    "GEMM_BF16": (("start", "product", "gemm", "main"), "bf16"),
    "GEMM_FP16": (("start", "product", "gemm", "main"), "fp16"),
    "ADDMM_FP16": (("start", "product", "addmm", "main"), "fp16"),
    "ADD_ONE_INT32": (("start", "words", "add_one", "main"), ""),
    "TRANSPOSE_FP32": (("start", "words", "transpose", "main"), ""),
}
# ELEMENT, TO_ELEMENT and FROM_ELEMENT in a piece.
ELEMENTS = {
    "bf16": ("bf16", "__float2bfloat16", "__bfloat162float"),
    "fp16": ("fp16", "__float2half", "__half2float"),
}

# What nvcc defines: of a condition, its branch is taken.
DEFINED = ("__CUDACC__", "__cplusplus")

# nvcc warns of what is in the main file and not used; of what is included it does not.
QUIETLY = [
    "// A rung uses part of its headers: no warning that the rest is not used.",
    "#pragma nv_diagnostic push",
    "#pragma nv_diag_suppress 177",
]
LOUDLY = "#pragma nv_diagnostic pop"

RUNG_TITLE = "the rung: "

INCLUDE = re.compile(r'^#include (?:"(?P<own>[^"]+)"|(?P<system><[^>]+>))$')
CONDITION = re.compile(r"^#(?P<word>ifdef|ifndef) (?P<name>\w+)$")
EVERY_LATER = 999  # the max_compute_capability of what every later GPU runs


class NotStandalone(Exception):
    """What is wrong with a source, and where."""


# ---------------------------------------------------------------- reading sources


@dataclass(frozen=True)
class Record:
    """What of a rung's step record shapes its file."""

    name: str
    idea: str
    computes: str
    min_capability: int
    max_capability: int


def read_record(source: str, where: str) -> Record:
    def value(key: str, pattern: str) -> str:
        found = re.search(rf"^    \.{key} =\s*{pattern},$", source, re.MULTILINE)
        if not found:
            raise NotStandalone(f"{where}: its step record has no line .{key} = {pattern},")
        return found.group(1)

    texts = (value("name", '"([^"]+)"'), value("idea", '"([^"]+)"'), value("computes", r"(\w+)"))
    capabilities = (int(value(f"{end}_compute_capability", r"(\d+)")) for end in ("min", "max"))
    return Record(*texts, *capabilities)


def compiled_lines(source: str, where: str) -> list[str]:
    """The lines that nvcc compiles: without include guards and the other branch of a condition."""
    lines = []
    branches: list[bool] = []  # of the conditions around a line, whether this branch is taken
    guard = None
    for line in source.splitlines():
        condition = CONDITION.match(line)
        if line == "#pragma once" or (guard and line == f"#define {guard}"):
            continue
        if condition and condition["name"].endswith("_H"):
            guard = condition["name"]
            branches.append(True)
        elif condition and condition["name"] in DEFINED:
            branches.append(condition["word"] == "ifdef")
        elif line == "#else":
            branches[-1] = not branches[-1]
        elif line.startswith("#endif"):
            branches.pop()
        elif re.match(r"#\s*(if|elif)", line):
            raise NotStandalone(f"{where}: whether nvcc takes this branch is not known: {line}")
        elif all(branches):
            lines.append(line)
    return lines


def contract(lines: list[str]) -> list[str]:
    """The parts of the contract that a rung and a main of its own need."""
    parts = []
    text = "\n".join(line for line in lines if line not in ('extern "C" {', "}"))
    for beginning in CONTRACT_PARTS:
        matching = [part for part in declarations(text) if beginning in part.splitlines()]
        if len(matching) != 1:
            raise NotStandalone(f"common/{CONTRACT}: {len(matching)} declarations {beginning}")
        parts += [*matching[0].splitlines(), ""]
    return parts


def declarations(text: str) -> list[str]:
    """What blank lines outside of braces separate."""
    found = [""]
    for part in re.split(r"\n{2,}", text):
        inside = found[-1].count("{") > found[-1].count("}")
        found[-1:] = [f"{found[-1]}\n\n{part}"] if inside else [found[-1], part]
    return found


# ---------------------------------------------------------------- putting the file together


def trimmed(lines: list[str]) -> list[str]:
    """The lines without blank ones at either end, and with one at most where some were taken out."""
    text = "\n".join(lines).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", text).splitlines()


@dataclass
class Section:
    title: str
    lines: list[str]

    def text(self) -> list[str]:
        return [f"// ---- {self.title} ".ljust(WIDTH, "-"), "", *trimmed(self.lines), ""]


@dataclass
class Headers:
    """The project's own headers, each behind those that it builds on, and the system's."""

    sections: list[Section] = field(default_factory=list)
    system: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)

    def taken_from(self, lines: list[str]) -> list[str]:
        """Adds what the lines include; returns the others."""
        rest = []
        for line in lines:
            include = INCLUDE.match(line)
            if include and include["own"]:
                self.add(include["own"])
            elif include:
                self.system.add(line)
            else:
                rest.append(line)
        return rest

    def add(self, name: str) -> None:
        if name in self.names:
            return
        self.names.append(name)
        title = f"common/{name}"
        lines = self.taken_from(compiled_lines((COMMON / name).read_text(), title))
        self.sections.append(Section(title, contract(lines) if name == CONTRACT else lines))


def piece(name: str, record: Record, element: str) -> list[str]:
    """A piece of the program, with the rung's own names."""
    words = {"RUNG": record.name}
    if element:
        words.update(zip(("ELEMENT", "TO_ELEMENT", "FROM_ELEMENT"), ELEMENTS[element]))
    text = (PIECES / f"{name}.cu").read_text()
    return re.sub(r"\b[A-Z_]+\b", lambda word: words.get(word[0], word[0]), text).splitlines()


def program(record: Record, headers: Headers) -> list[str]:
    """The program around a rung."""
    if record.computes not in PROGRAMS:
        raise NotStandalone(f"{record.name}: there is no program for {record.computes}")
    pieces, element = PROGRAMS[record.computes]
    lines: list[str] = []
    for name in pieces:
        lines += [*trimmed(headers.taken_from(piece(name, record, element))), ""]
    return lines


def target(record: Record) -> tuple[str, str]:
    """nvcc's options for the GPUs that a rung runs on, and what they are called."""
    number = record.min_capability
    gpus = f"compute capability {number // 10}.{number % 10}"
    if record.max_capability == EVERY_LATER:
        return f"-arch=sm_{number}", f"{gpus} or later"
    # Instructions of one architecture alone need the `a`. With -arch=sm_90a, nvcc 13.0 compiles
    # for compute_90 as well, which does not have them.
    return f"-gencode=arch=compute_{number}a,code=sm_{number}a", gpus


def opening(record: Record, contents: list[tuple[int, str]]) -> list[str]:
    """The file's first comment. `contents` are the sections' first lines and titles."""
    options, gpus = target(record)
    name = record.name
    shape = "M N K" if "product" in PROGRAMS[record.computes][0] else "M N"
    return [
        f"// {name} of gemm-ladder: {record.idea}. All in one file:",
        "//",
        f"//     nvcc -std=c++20 {options} -o {name} {name}.cu",
        f"//     ./{name}",
        "//",
        "// Compiling it takes the CUDA Toolkit 12.8 or later; running it, an NVIDIA GPU of",
        f"// {gpus}. It compares the result with a plain kernel's, bit for bit, then",
        f"// times a few launches. ./{name} {shape} does so at another shape. Exit status: 0 if the",
        "// result is right; 1 if it is wrong, or a call failed; 2 for a shape that the rung does not",
        "// take or that does not fit in memory; 77 if this machine cannot run it.",
        "//",
        f"// `make standalone N={name}` wrote it. In it, from line",
        *[f"//   {line:4d}  {title}" for line, title in contents],
        "",
    ]


def standalone(path: Path) -> tuple[str, list[str]]:
    """The text of the file for a rung, and the headers that are in it."""
    source = path.read_text()
    record = read_record(source, path.name)
    headers = Headers()
    *lines, last = source.splitlines()
    main = f"int main(int argc, char **argv) {{ return step_main(&{record.name}, argc, argv); }}"
    if last != main:  # which hands the record to the harness
        raise NotStandalone(f"{path.name}: its last line is not {main}")
    rung = headers.taken_from(lines)
    around = program(record, headers)
    licence = [f"// {line}".rstrip() for line in LICENSE.read_text().splitlines()]
    sections = [
        *headers.sections,
        Section(f"{RUNG_TITLE}steps/{path.name}", rung),
        Section("the program around it", around),
        Section("licence", licence),
    ]

    lines = [*sorted(headers.system), "", *QUIETLY, ""]
    unnumbered = opening(record, [(0, section.title) for section in sections])
    contents = []
    for section in sections:
        if section.title.startswith(RUNG_TITLE):
            lines += [LOUDLY, ""]
        contents.append((len(unnumbered) + len(lines) + 1, section.title))
        lines += section.text()
    return "\n".join([*opening(record, contents), *lines[:-1]]) + "\n", headers.names


def write(path: Path, text: str) -> None:
    """Writes the file whole, or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text)
    new.replace(path)


def main(arguments: list[str]) -> int:
    if len(arguments) not in (2, 3):
        print("usage: standalone/write.py RUNG.cu OUTPUT.cu [RULES]", file=sys.stderr)
        return 2
    rung, output, *more = map(Path, arguments)
    try:
        text, headers = standalone(rung)
        for path in more:  # one that is gone is no error
            used = [f"common/{name}" for name in headers]
            empty = "".join(f"{header}:\n" for header in used)
            write(path, f"{output}: {' '.join(used)}\n{empty}")
        write(output, text)
    except (NotStandalone, OSError) as error:
        print(f"writing {output}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
