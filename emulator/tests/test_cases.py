#!/usr/bin/env python3
"""CUDA's rules on the emulator: small programs that break one, and right ones that come close.

The first comment of each in cases/ names the rule and the manual's section, and says
what the default runs of emulator.translate has to report:

    // expect [VARIANT, ...]: KIND[|KIND ...][, says EXPRESSION]

A variant is an argument of the program, macros, or both; -DWHAT=1..3 are three. FIXED is 0 if it is
not defined. The kinds are those of reports, `silent`, `wrong` (another exit status than 0 without a
report: a wrong value, a failed launch) and `unknown` (rejected before anything runs, by name).

    test_cases.py [PART OF A NAME ...]   prints one line per variant; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tools import BUILD, JOBS, ROOT, case, exit_status, in_parallel

from emulator.translate import __main__ as emulate
from emulator.translate import ptx

CASES = ROOT / "emulator" / "tests" / "cases"
WORK = BUILD / "emulator" / "tests" / "cases"
SECONDS = 10  # for one run
BATCH = 16  # variants that are compiled at once

EXPECT = re.compile(r"^// expect( [^:]+)?: (\S+?)(?:, says (.+))?$", re.MULTILINE)
DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class Variant(NamedTuple):
    file: Path
    words: str
    kinds: frozenset[str]
    said: str

    @property
    def name(self) -> str:
        return f"{self.file.stem} {self.words}".strip()

    def defines(self) -> dict[str, str]:
        given = (word[2:].partition("=") for word in self.words.split() if word.startswith("-D"))
        return {"FIXED": "0"} | {name: value or "1" for name, _, value in given}

    def arguments(self) -> list[str]:
        return [word for word in self.words.split() if not word.startswith("-D")]


def each_of(words: str) -> list[str]:
    """One string per variant: ranges are taken apart."""
    found = re.search(r"(\d+)\.\.(\d+)", words)
    if not found:
        return [words]
    numbers = range(int(found[1]), int(found[2]) + 1)
    return [words.replace(found.group(), str(number)) for number in numbers]


def variants_of(file: Path) -> list[Variant]:
    made = [
        Variant(file, words, frozenset(kinds.split("|")), said)
        for listed, kinds, said in EXPECT.findall(file.read_text())
        for one in listed.split(",")
        for words in each_of(one.strip())
    ]
    assert made, f"{file} does not say what is expected"
    return made


# ---------------------------------------------------------------- building


class NotBuilt(Exception):
    """Its kind, and the first thing that was said."""


def compile_quietly(command: list[str], _what: str) -> None:
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        errors = re.findall(r"error: (.*)|undefined reference.*", made.stderr)
        raise NotBuilt("not built", (errors or [made.stderr])[0])


emulate.parts = functools.cache(emulate.parts)
emulate.run_or_exit = compile_quietly

MAIN = """
static int call(int (*program)(), int, char **) { return program(); }
static int call(int (*program)(int, char **), int argc, char **argv) { return program(argc, argv); }
int main(int argc, char **argv) {
    switch (atoi(argv[1])) {
"""


def source_of(batch: list[Variant]) -> str:
    """A program of many: each is in a namespace, after all headers; those that differ by their
    arguments alone are one."""
    texts = {one.file: one.file.read_text() for one in batch}
    includes = {line for text in texts.values() for line in re.findall("#include <.*", text)}
    made = ['#include "common.h"', *sorted(includes)]
    spaces: dict[tuple, int] = {}
    calls = []
    for i, one in enumerate(batch):
        defines = one.defines()
        space = spaces.setdefault((one.file, *defines.items()), i)
        calls += [f"    case {i}: return call(case_{space}::main, argc - 1, argv + 1);"]
        if space != i:
            continue
        macros = {*defines, *DEFINED.findall(texts[one.file])}
        made += [f"#undef {name}\n#define {name} {value}" for name, value in defines.items()]
        made += [f'namespace case_{i} {{\n#include "{one.file.name}"\n}}']
        made += [f"#undef {name}" for name in sorted(macros)]
    return "\n".join(made) + MAIN + "\n".join(calls) + "\n    }\n    return 3;\n}\n"


def built(batch: list[Variant]) -> list:
    """Of each variant how it is run (options, program), or the NotBuilt that says why not. What
    cannot be compiled is found by halves."""
    name = "-".join([batch[0].name, str(len(batch))])
    out = WORK / re.sub(r"\W+", "-", name)
    out.mkdir(parents=True, exist_ok=True)
    source = out / "cases.cu"
    source.write_text(source_of(batch))
    options = emulate.arguments(["-I", str(CASES), "--seconds", str(SECONDS), str(source)])
    try:
        program = emulate.Program(options, out)
        linked = emulate.build(options, program, program.translate(), out)
    except (NotBuilt, ptx.Unknown) as why:
        if len(batch) == 1:
            said = why if isinstance(why, NotBuilt) else NotBuilt("unknown", str(why))
            return [said]
        half = len(batch) // 2
        return built(batch[:half]) + built(batch[half:])
    made = []
    for i, one in enumerate(batch):
        chosen = copy.copy(options)
        chosen.program = [str(i), *one.arguments()]
        made.append((chosen, linked))
    return made


# ---------------------------------------------------------------- runs


def found_in(status: int, output: str) -> set[str]:
    kinds = set(re.findall(r"^emulator: (\w+): ", output, re.MULTILINE))
    kinds = {"wrong" if kind in ("launch", "runtime") else kind for kind in kinds}  # a failed call
    if not kinds and status:
        kinds = {"no end"} if "still running" in output else {"wrong" if status > 0 else "crash"}
    return kinds


def outcome(how) -> tuple[set[str], str]:
    """The kinds that the default runs report, and all that they say."""
    if isinstance(how, NotBuilt):
        kind, said = how.args
        return {kind}, said
    options, program = how
    kinds, said = set(), ""
    for _, environment in emulate.runs(options):
        status, output = emulate.run_one(options, program, environment)
        kinds |= found_in(status, output)
        said += output
        if "no end" in kinds:
            break
    return kinds or {"silent"}, said


def why_not(one: Variant, kinds: set[str], said: str) -> str:
    """Empty if it is as expected. Beside a report some runs may just be wrong."""
    expected = kinds & one.kinds and kinds <= one.kinds | {"wrong"}
    if expected and not re.search(one.said, said):
        return f"no {one.said!r} in what was reported"
    told = "" if kinds <= {"silent", "wrong"} else said.strip().partition("\n")[0]
    wanted, got = ("|".join(sorted(some)) for some in (one.kinds, kinds))
    return "" if expected else f"expected {wanted}, got {got}: {told}".rstrip(": ")


def main() -> int:
    parts = sys.argv[1:] or [""]
    all_of = [one for file in sorted(CASES.glob("*.cu")) for one in variants_of(file)]
    chosen = [one for one in all_of if any(part in one.name for part in parts)]
    emulate.parts()
    batches = [chosen[i : i + BATCH] for i in range(0, len(chosen), BATCH)]
    ways = [how for batch in in_parallel(built, batches, JOBS) for how in batch]
    for one, (kinds, said) in zip(chosen, in_parallel(outcome, ways, 2 * JOBS)):
        case(one.name, why_not(one, kinds, said))
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
