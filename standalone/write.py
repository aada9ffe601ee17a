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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = "step.h"
# The part of it that a program without the harness needs lies between these.
CONTRACT_BEGIN, CONTRACT_END = "/* What a rung computes.", "/* Runs the program around a rung."
WIDTH = 100  # columns of a line

# The pieces of the program around a rung, by what it computes, and what ELEMENT, TO_ELEMENT and
# FROM_ELEMENT are in them.
BF16 = {"ELEMENT": "bf16", "TO_ELEMENT": "__float2bfloat16", "FROM_ELEMENT": "__bfloat162float"}
FP16 = {"ELEMENT": "fp16", "TO_ELEMENT": "__float2half", "FROM_ELEMENT": "__half2float"}
E4M3 = {"ELEMENT": "e4m3", "TO_ELEMENT": "e4m3_of_integer", "FROM_ELEMENT": "integer_of_e4m3"}
PROGRAMS = {
    "GEMM_FP8": (("start", "e4m3", "product", "gemm_fp8", "main"), E4M3),
    "GEMM_BF16": (("start", "product", "gemm", "main"), BF16),
    "GEMM_FP16": (("start", "product", "gemm", "main"), FP16),
    "ADDMM_FP16": (("start", "product", "addmm", "main"), FP16),
    "ADD_ONE_INT32": (("start", "words", "add_one", "main"), {}),
    "TRANSPOSE_FP32": (("start", "words", "transpose", "main"), {}),
}
RECORD = {  # lines of a step record
    "name": '"([^"]+)"',
    "idea": '"([^"]+)"',
    "computes": r"(\w+)",
    "min_compute_capability": r"(\d+)",
    "max_compute_capability": r"(\d+)",
}
EVERY_LATER = "999"  # the max_compute_capability of what every later GPU runs

# What nvcc defines: of a condition, its branch is taken.
DEFINED = ("__CUDACC__", "__cplusplus")
CONDITION = re.compile(r"^#(?P<word>ifdef|ifndef) (?P<name>\w+)$")
INCLUDE = re.compile(r'^#include (?:"(?P<own>[^"]+)"|<[^>]+>)$')

# nvcc warns of what is in the main file and not used; of what is included it does not.
QUIETLY = [
    "// A rung uses part of its headers: no warning that the rest is not used.",
    "#pragma nv_diagnostic push",
    "#pragma nv_diag_suppress 177",
    "",
]
LOUDLY = ["#pragma nv_diagnostic pop", ""]


class NotStandalone(Exception):
    """What is wrong with a source, and where."""


def read_record(source: str, where: str) -> dict[str, str]:
    """What of a rung's step record shapes its file."""
    record = {}
    for key, pattern in RECORD.items():
        found = re.search(rf"^    \.{key} =\s*{pattern},$", source, re.MULTILINE)
        if not found:
            raise NotStandalone(f"{where}: its step record has no line .{key} = {pattern},")
        record[key] = found[1]
    if record["computes"] not in PROGRAMS:
        raise NotStandalone(f"{where}: there is no program for {record['computes']}")
    return record


def compiled_lines(source: str, where: str) -> list[str]:
    """The lines that nvcc compiles: without include guards and the other branch of a condition."""
    lines = []
    branches: list[bool] = []  # of the conditions around a line, whether this branch is taken
    for line in source.splitlines():
        condition = CONDITION.match(line)
        if condition and condition["name"].endswith("_H"):
            branches.append(True)
        elif condition and condition["name"] in DEFINED:
            branches.append(condition["word"] == "ifdef")
        elif line == "#else":
            branches[-1] = not branches[-1]
        elif line.startswith("#endif"):
            branches.pop()
        elif re.match(r"#\s*(if|elif)", line):
            raise NotStandalone(f"{where}: whether nvcc takes this branch is not known: {line}")
        elif all(branches) and not re.match(r"#pragma once$|#define \w+_H$", line):
            lines.append(line)
    return lines


def trimmed(lines: list[str]) -> list[str]:
    """The lines without blank ones at either end, and with one at most where some were taken out."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n")).splitlines()


class File:
    """A rung's file: the sections, the project's own headers first, each behind those that it builds
    on, and the system's headers, which stand above all."""

    def __init__(self, rung: Path):
        source = rung.read_text()
        self.record = read_record(source, rung.name)
        self.sections: list[tuple[str, list[str]]] = []  # title, lines
        self.system: set[str] = set()
        self.headers: list[str] = []
        *lines, last = source.splitlines()
        name = self.record["name"]
        main = f"int main(int argc, char **argv) {{ return step_main(&{name}, argc, argv); }}"
        if last != main:  # which hands the record to the harness
            raise NotStandalone(f"{rung.name}: its last line is not {main}")
        code = trimmed(self.without_includes(lines))
        around = self.program()
        licence = (ROOT / "LICENSE").read_text().splitlines()
        self.rung_at = len(self.sections)  # of the sections
        self.sections += [
            (f"the rung: steps/{rung.name}", code),
            ("the program around it", around),
            ("licence", [f"// {line}".rstrip() for line in licence]),
        ]

    def without_includes(self, lines: list[str]) -> list[str]:
        """Takes in what the lines include; returns the others."""
        rest = []
        for line in lines:
            include = INCLUDE.match(line)
            if include and include["own"]:
                self.take_in(include["own"])
            elif include:
                self.system.add(line)
            else:
                rest.append(line)
        return rest

    def take_in(self, name: str) -> None:
        """Adds a header of the project, once."""
        if name in self.headers:
            return
        self.headers.append(name)
        title = f"common/{name}"
        lines = self.without_includes(compiled_lines((ROOT / "common" / name).read_text(), title))
        if name == CONTRACT:
            text = "\n".join(lines)
            lines = text[text.index(CONTRACT_BEGIN) : text.index(CONTRACT_END)].splitlines()
        self.sections.append((title, trimmed(lines)))

    def program(self) -> list[str]:
        """The program around the rung: its pieces, with the rung's own names."""
        pieces, element = PROGRAMS[self.record["computes"]]
        words = {"RUNG": self.record["name"], **element}
        lines: list[str] = []
        for piece in pieces:
            text = (ROOT / "standalone" / f"{piece}.cu").read_text()
            text = re.sub(r"\b[A-Z_]+\b", lambda word: words.get(word[0], word[0]), text)
            lines += [*trimmed(self.without_includes(text.splitlines())), ""]
        return lines[:-1]

    def target(self) -> tuple[str, str]:
        """nvcc's options for the GPUs that the rung runs on, and what they are called."""
        number = self.record["min_compute_capability"]
        gpus = f"compute capability {number[:-1]}.{number[-1]}"
        if self.record["max_compute_capability"] == EVERY_LATER:
            return f"-arch=sm_{number}", f"{gpus} or later"
        # Instructions of one architecture alone need the `a`. With -arch=sm_90a, nvcc 13.0 compiles
        # for compute_90 as well, which does not have them.
        return f"-gencode=arch=compute_{number}a,code=sm_{number}a", gpus

    def opening(self, contents: list[int]) -> list[str]:
        """The file's first comment. `contents` are the sections' first lines."""
        options, gpus = self.target()
        name = self.record["name"]
        shape = "M N K" if "product" in PROGRAMS[self.record["computes"]][0] else "M N"
        titles = [title for title, _ in self.sections]
        return [
            f"// {name} of gemm-ladder: {self.record['idea']}. All in one file:",
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
            *[f"//   {line:4d}  {title}" for line, title in zip(contents, titles)],
            "",
        ]

    def text(self) -> str:
        """All of it."""
        lines = [*sorted(self.system), "", *QUIETLY]
        contents = []
        above = len(self.opening([0] * len(self.sections)))
        for number, (title, body) in enumerate(self.sections):
            lines += LOUDLY if number == self.rung_at else []
            contents.append(above + len(lines) + 1)
            lines += [f"// ---- {title} ".ljust(WIDTH, "-"), "", *body, ""]
        return "\n".join([*self.opening(contents), *lines])


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
        file = File(rung)
        for path in more:  # a header that is gone is no error
            used = [f"common/{name}" for name in file.headers]
            empty = "".join(f"{header}:\n" for header in used)
            write(path, f"{output}: {' '.join(used)}\n{empty}")
        write(output, file.text())
    except (NotStandalone, OSError) as error:
        print(f"writing {output}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
