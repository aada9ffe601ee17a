#!/usr/bin/env python3
"""Every exercise: the unsolved file compiles and fails as its story says, and the rung solves it.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tools.emulated import BUILD, JOBS, ROOT, case, exit_status
from tools.planted_bugs import read_bugs

from exercises import exercise
from exercises.table import EXERCISES, Fill, Find, Predict

KINDS = re.compile(r"\b(deadlock|hazard|race|misuse|lifetime|address): ")
BUGS = {bug.name: bug for bug in read_bugs()}


def kind_of(each: Find | Fill, said: subprocess.CompletedProcess) -> str:
    """How the emulator objects: the kind of report, wrong, also (something is missing) or none."""
    if said.returncode == 0:
        return "also" if exercise.verdict(each, said) else "none"
    found = KINDS.search(said.stdout)
    return found[1] if found else "wrong" if "WRONG" in said.stdout else f"exit {said.returncode}"


def fails(rung: str, number: int) -> str:
    """Why the unsolved exercise does not fail as it should."""
    each = EXERCISES[rung][number - 1]
    if isinstance(each, Predict):
        answer = exercise.answer_of(rung, each, BUILD)
        refused = exercise.try_answer(rung, each, BUILD, answer + "0") == 1
        accepted = exercise.try_answer(rung, each, BUILD, answer) == 0
        return "" if refused and accepted else f"{answer} is not the answer alone"
    said = exercise.run(BUILD / "emulated" / "exercises" / f"unsolved-{rung}-{number}")
    wanted = BUGS[each.bug].kinds if isinstance(each, Find) else each.fails.split()
    kind = kind_of(each, said)
    return "" if kind in wanted else f"{kind} where {' or '.join(wanted)} was expected"


def unsolved() -> list[str]:
    """Writes all exercises, builds them, and says which programs there are to be."""
    names = []
    (BUILD / "exercises").mkdir(parents=True, exist_ok=True)
    for rung, exercises in EXERCISES.items():
        for number, each in enumerate(exercises, 1):
            if isinstance(each, Predict):
                continue
            text = exercise.text_of(rung, number)
            path = BUILD / "exercises" / f"unsolved-{rung}-{number}.cu"  # the reader's own stay
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
            names.append(f"{BUILD}/emulated/exercises/unsolved-{rung}-{number}")
    return names


def main() -> int:
    names = unsolved()
    command = ["make", "-s", f"-j{JOBS}", f"BUILD={BUILD}", *names]
    built = subprocess.run(command, cwd=ROOT, check=False)
    case("all exercises compile", "" if built.returncode == 0 else "make failed")
    rungs = {path.name[:3] for path in ROOT.glob("steps/[vat]0[1-9]_*.cu")}
    rungs |= {path.name[:3] for path in ROOT.glob("steps/v1*.cu")}
    without = sorted(rungs - {rung for rung, each in EXERCISES.items() if len(each) > 1})
    case("every rung has a bug to find and another exercise", " ".join(without))
    all_of_them = [(rung, n) for rung, each in EXERCISES.items() for n in range(1, len(each) + 1)]
    with ThreadPoolExecutor(JOBS) as pool:
        for (rung, number), why in zip(all_of_them, pool.map(lambda e: fails(*e), all_of_them)):
            case(f"{rung} exercise {number} fails as it says", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
