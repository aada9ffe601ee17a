#!/usr/bin/env python3
"""CUDA's rules on the emulator: small programs that break one, and right ones that come close.

The first comment of each in cases/ names the rule and the manual's section, and says
what the default runs of emulator.translate has to report:

    // expect [VARIANT, ...]: KIND[|KIND ...][, says EXPRESSION]

A variant is the program's arguments. The kinds are those of reports, `silent`, `wrong` (another
exit status than 0 without a report: a wrong value, a failed launch), `crash` and `unknown` (rejected
before anything runs, by name).

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

EXPECT = re.compile(r"^// expect( [^:]+)?: (\S+?)(?:, says (.+))?$", re.MULTILINE)


class Variant(NamedTuple):
    file: Path
    arguments: str
    kinds: frozenset[str]
    said: str

    @property
    def name(self) -> str:
        return f"{self.file.stem} {self.arguments}".strip()


def variants_of(file: Path) -> list[Variant]:
    made = [
        Variant(file, one.strip(), frozenset(kinds.split("|")), said)
        for listed, kinds, said in EXPECT.findall(file.read_text())
        for one in listed.split(",")
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


def built(file: Path):
    """How it is run (options, program), or the NotBuilt that says why not."""
    out = WORK / file.stem
    out.mkdir(parents=True, exist_ok=True)
    options = emulate.arguments(["--seconds", str(SECONDS), str(file)])
    program = emulate.Program(options, out)
    try:
        return options, emulate.build(options, program, program.translate(), out)
    except NotBuilt as why:
        return why
    except ptx.Unknown as why:
        return NotBuilt("unknown", str(why))


# ---------------------------------------------------------------- runs


def found_in(status: int, output: str) -> set[str]:
    kinds = set(re.findall(r"^emulator: (\w+): ", output, re.MULTILINE))
    kinds = {"wrong" if kind in ("launch", "runtime") else kind for kind in kinds}  # a failed call
    if not kinds and status:
        kinds = {"no end"} if "still running" in output else {"wrong" if status > 0 else "crash"}
    return kinds


def outcome(one: Variant, how) -> tuple[set[str], str]:
    """The kinds that the default runs report, and all that they say."""
    if isinstance(how, NotBuilt):
        kind, said = how.args
        return {kind}, said
    options, program = how
    options = copy.copy(options)
    options.program = one.arguments.split()
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
    files = sorted({one.file for one in chosen})
    emulate.parts()
    ways = dict(zip(files, in_parallel(built, files)))
    outcomes = in_parallel(lambda one: outcome(one, ways[one.file]), chosen, 2 * JOBS)
    for one, (kinds, said) in zip(chosen, outcomes):
        case(one.name, why_not(one, kinds, said))
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
