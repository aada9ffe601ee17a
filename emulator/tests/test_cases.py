"""CUDA's rules on the emulator: small programs that break one, and right ones that come close.

The first comment of each in cases/ names the rule and the manual's section, and says what the default
runs of emulator.translate have to report:

    // expect [VARIANT, ...]: KIND[|KIND ...][, says EXPRESSION]

A variant is the program's arguments. The kinds are those of reports, `silent`, `wrong` (another
exit status than 0 without a report: a wrong value, a failed launch) and `crash`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.translate import __main__ as emulate

CASES = {file.stem: file for file in sorted((Path(__file__).parent / "cases").glob("*.cu"))}
WORK = emulate.BUILD / "emulator" / "tests" / "cases"
SECONDS = 10  # for one run
OPTIONS = re.compile(r"^// options (.+)$", re.MULTILINE)
EXPECT = re.compile(r"^// expect( [^:]+)?: (\S+?)(?:, says (.+))?$", re.MULTILINE)


def kinds_of(status: int, output: str) -> set[str]:
    kinds = set(re.findall(r"^emulator: (\w+): ", output, re.MULTILINE))
    kinds = {"wrong" if kind in ("launch", "runtime") else kind for kind in kinds}  # a failed call
    if not kinds and status:
        kinds = {"no end"} if "still running" in output else {"wrong" if status > 0 else "crash"}
    return kinds


@pytest.mark.needs("emulator/libemulator.a")
@pytest.mark.parametrize("name", CASES)
def test_case(name):
    expectations = EXPECT.findall(CASES[name].read_text())
    assert expectations, "it does not say what is expected"
    out = WORK / name
    out.mkdir(parents=True, exist_ok=True)
    more = OPTIONS.findall(CASES[name].read_text())
    options = emulate.arguments(
        ["--seconds", str(SECONDS), *" ".join(more).split(), str(CASES[name])]
    )
    source = emulate.Program(options, out)
    program = emulate.build(source.translate(), source.missing, out)
    wrong = []
    for variants, expected, words in expectations:
        for variant in variants.split(","):
            options.program = variant.split()
            ends = [emulate.run_one(options, program, how) for _, how in emulate.runs(options)]
            kinds = set().union(*(kinds_of(*end) for end in ends)) or {"silent"}
            output = "".join(said for _, said in ends)
            # Beside a report some runs may just be wrong.
            meant = set(expected.split("|"))
            fits = kinds & meant and kinds <= meant | {"wrong"} and re.search(words, output)
            if not fits:
                wrong.append(f"{variant.strip()}: {expected} {words}, not {kinds}: {output}")
    assert not wrong, "\n".join(wrong)
