"""The exercises of the rungs: `make exercise`, `make try`, `make hint`, `make solution`.

    exercise.py VERB RUNG [E] [--build DIR] [--answer WORD]

VERB: exercise, try, hint, solution. `exercise` writes build/exercises/RUNG-E.cu, which the reader
edits. `try` runs the program that make has built from it on the emulator and, if there is a GPU,
also there, beside the rung. Exit status: 0 done or passed, 1 not passed, 2 no such exercise.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tools.planted_bugs import Pair, read_bugs

from exercises.table import EXERCISES, Fill, Find, Predict

ROOT = Path(__file__).resolve().parents[1]
GAP = "// Your part."


def source_of(rung: str) -> Path:
    """The file of a rung."""
    return next(ROOT.glob(f"steps/{rung}_*.cu"))


def body_of(lines: list[str], function: str) -> tuple[int, int]:
    """The first and the last line of a function's body, from 0."""
    begin = next(
        i for i, line in enumerate(lines) if re.match(rf"(DEVICE|static) .*\b{function}\(", line)
    )
    if lines[begin].endswith("}"):  # in one line
        return begin, begin
    first = next(i for i in range(begin, len(lines)) if lines[i].endswith("{"))
    return first + 1, lines.index("}", first) - 1


def range_of(lines: list[str], first: str, last: str) -> tuple[int, int]:
    """The lines from the one that begins with `first` to the next that begins with `last`."""
    begin = next(i for i, line in enumerate(lines) if line.strip().startswith(first))
    return begin, next(i for i in range(begin, len(lines)) if lines[i].strip().startswith(last))


def with_gap(source: str, exercise: Fill) -> str:
    """The rung with the gap in it."""
    lines = source.splitlines()
    find = body_of if len(exercise.gap) == 1 else range_of
    first, last = find(lines, *exercise.gap)
    indent = re.match(" *", lines[first])[0]
    gap = [GAP, *exercise.instead.splitlines()]
    if first == last and lines[first].endswith("}"):
        head = lines[first].partition("{")[0]
        gap = [head + "{", *(f"    {line.strip()}" for line in gap), "}"]
    else:
        gap = [indent + line.strip() for line in gap]
    return "\n".join([*lines[:first], *gap, *lines[last + 1 :]]) + "\n"


def planted(rung: str, exercise: Find) -> str:
    """The rung with the bug in it."""
    return Pair(rung, next(bug for bug in read_bugs() if bug.name == exercise.bug)).source


def text_of(rung: str, number: int) -> str:
    """What is written for the reader: the story, then the rung with the bug or the gap."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Find):
        changed = planted(rung, exercise)
    else:
        changed = with_gap(source_of(rung).read_text(encoding="utf-8"), exercise)
    story = textwrap.wrap(exercise.story, 92)
    head = [f"Exercise {number} of {rung}, {exercise.level}.", *story]
    head.append(f"Then: make try N={rung} E={number}, make hint, make solution.")
    return "".join(f"// {line}\n" for line in head) + "//\n" + changed


def show(rung: str, number: int) -> None:
    """One exercise in a few lines."""
    exercise = EXERCISES[rung][number - 1]
    kind = {Find: "find the bug", Fill: "fill the gap", Predict: "predict"}[type(exercise)]
    print(f"E={number}  {kind}, {exercise.level}")
    print(textwrap.indent(textwrap.fill(exercise.story, 92), "     "))


def run(program: Path, *options: str) -> subprocess.CompletedProcess:
    """A program's run, with what it says in one text."""
    return subprocess.run(
        [program, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def write(rung: str, number: int, build: Path) -> int:
    """Writes the exercise, unless the reader has begun."""
    show(rung, number)
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Predict):
        print(f"answer it with: make try N={rung} E={number} ANSWER=...")
        return 0
    path = build / "exercises" / f"{rung}-{number}.cu"
    if path.exists():
        print(f"{path} exists already and is kept; remove it to start again")
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(rung, number), encoding="utf-8")
    print(f"wrote {path}\nedit it, then: make try N={rung} E={number}")
    return 0


def answer_of(rung: str, exercise: Predict, build: Path) -> str:
    """What the emulator answers."""
    said = run(build / "emulated" / rung, *exercise.run.split())
    found = re.search(exercise.answer, said.stdout)
    if said.returncode != 0 or found is None:
        raise SystemExit(f"{rung} {exercise.run}: no answer in\n{said.stdout}")
    return found[1]


def try_answer(rung: str, exercise: Predict, build: Path, answer: str) -> int:
    """Compares a prediction with a run."""
    if not answer:
        print("give an answer with ANSWER=...")
        return 2
    right = answer_of(rung, exercise, build)
    passed = answer.replace(",", "") == right
    print(
        "passed"
        if passed
        else f'not {answer}: make step N={rung} EMULATE=1 ARGS="{exercise.run}" shows it'
    )
    return 0 if passed else 1


def verdict(exercise: Find | Fill, said: subprocess.CompletedProcess) -> str:
    """ "" if the exercise is solved, or why not."""
    if said.returncode != 0:
        return said.stdout
    wanted = getattr(exercise, "also", "")
    if wanted and not re.search(wanted, said.stdout):
        return f"{said.stdout}\nThe result is right, but the output should also say: {wanted}"
    return ""


def attempt(rung: str, number: int, build: Path, answer: str, gpu: bool) -> int:
    """Runs the reader's solution."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Predict):
        return try_answer(rung, exercise, build, answer)
    name = f"{rung}-{number}"
    program = build / "emulated" / "exercises" / name
    if not (build / "exercises" / f"{name}.cu").exists():
        print(f"there is nothing to try yet: run make exercise N={rung} E={number} first")
        return 2
    why = verdict(exercise, run(program))
    print(why if why else "passed: right in every order that the emulator tried")
    if why or not gpu:
        return 1 if why else 0
    for what, program in (("yours", "exercises/" + name), ("ours", "steps/" + rung)):
        said = run(build / program)
        print(f"{what}:\n{textwrap.indent(said.stdout, '  ')}")
        if said.returncode != 0:
            return 1
    return 0


def solution(rung: str, number: int, build: Path) -> int:
    """The answer, or what differs from the rung."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Predict):
        print(f"{answer_of(rung, exercise, build)}: {exercise.hint}")
        return 0
    before = text_of(rung, number).partition("\n//\n")[2].splitlines(keepends=True)
    after = source_of(rung).read_text(encoding="utf-8").splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(before, after, "the exercise", "the rung"))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="The exercises of a rung.", allow_abbrev=False)
    parser.add_argument("verb", choices=("exercise", "try", "hint", "solution"))
    parser.add_argument("rung", choices=sorted(EXERCISES))
    parser.add_argument("number", nargs="?", type=int)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--answer", default="")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    rung, number, count = options.rung, options.number, len(EXERCISES[options.rung])
    if number is None:
        for each in range(1, count + 1):
            show(rung, each)
        return 0
    if not 1 <= number <= count:
        parser.error(f"{rung} has exercises E=1 to E={count}")
    if options.verb == "exercise":
        return write(rung, number, options.build)
    if options.verb == "try":
        return attempt(rung, number, options.build, options.answer, options.gpu)
    if options.verb == "hint":
        print(EXERCISES[rung][number - 1].hint)
        return 0
    return solution(rung, number, options.build)


if __name__ == "__main__":
    sys.exit(main())
