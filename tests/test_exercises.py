#!/usr/bin/env python3
"""Every exercise: the unsolved file compiles and fails as its story says. The solution is the rung:
tests/emulated_rungs.py shows that it is right, and what it has to print beside that is looked at
here.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import in_parallel
from tools.emulated import BUILD, JOBS, ROOT, case, exit_status, rungs
from tools.planted_bugs import read_bugs

from exercises import exercise, new
from exercises.table import EXERCISES, Fill, Find, Predict

KINDS = re.compile(r"\b(deadlock|hazard|race|misuse|lifetime|address): ")
NEW = "unsolved-new"
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
    if getattr(each, "also", "") and exercise.verdict(
        each, exercise.run(BUILD / "emulated" / rung)
    ):
        return "the rung itself does not solve it"
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


def check_new_rung() -> str:
    """Why what `make new N=19 FROM=16` writes does not verify, or is no rung of that name."""
    said = exercise.run(BUILD / "emulated" / "exercises" / NEW)
    return "" if said.returncode == 0 and said.stdout.startswith("v19 ") else said.stdout


def check_verbs() -> str:
    """What is wrong with what the verbs do with an exercise, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        build = Path(folder)
        if exercise.attempt("v07", 1, build, "", False) != 2:
            return "try runs what is not there"
        path = build / "exercises" / "v07-1.cu"
        exercise.write("v07", 1, build)
        path.write_text("mine")
        exercise.write("v07", 1, build)
        if path.read_text() != "mine":
            return "the reader's text is overwritten"
        exercise.solution("v07", 1, build)
    return "" if "+        phase ^= stage == 0;" in said.getvalue() else said.getvalue()


def main() -> int:
    names = unsolved()
    source = exercise.source_of("v16").read_text(encoding="utf-8")
    (BUILD / "exercises" / f"{NEW}.cu").write_text(new.renamed(source, "v19", "v16"))
    names.append(f"{BUILD}/emulated/exercises/{NEW}")
    command = ["make", "-s", f"-j{JOBS}", f"BUILD={BUILD}", *names]
    built = subprocess.run(command, cwd=ROOT, check=False)
    case("all exercises compile", "" if built.returncode == 0 else "make failed")
    kinds = {rung: [isinstance(each, Find) for each in EXERCISES.get(rung, ())] for rung in rungs()}
    without = [
        rung for rung, finds in kinds.items() if rung != "t00" and set(finds) != {True, False}
    ]
    case("every rung has a bug to find and another exercise", " ".join(without))
    all_of_them = [(rung, n) for rung, each in EXERCISES.items() for n in range(1, len(each) + 1)]
    for (rung, number), why in zip(all_of_them, in_parallel(lambda one: fails(*one), all_of_them)):
        case(f"{rung} exercise {number} fails as it says", why)
    case("a copy of a rung under a new number verifies", check_new_rung())
    case("an exercise is written once, tried when it is there, and solved", check_verbs())
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
