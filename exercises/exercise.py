"""The exercises of the rungs: `make exercise`, `make try`, `make hint`, `make solution`.

    exercise.py VERB RUNG [E] [--build DIR] [--answer WORD] [--gpu]

VERB: exercise, try, hint, solution; ready and targets, by which make asks what `try` has to build.
An exercise is written to build/exercises/RUNG-E.cu, where the reader edits it; `try` runs the
programs that make has built from it: on the emulator and, beside the rung, on a GPU if there is one.
Exit status: 0 done or passed, 1 not passed, 2 no such exercise.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from exercises import run as run_program
from exercises.table import EXERCISES, Fill, Find, Predict
from planted.plant import Pair, read_bugs

ROOT = Path(__file__).resolve().parents[1]
GAP = "// Your part."
NUMBERS = {"no": "0", "none": "0", "zero": "0"}


def source_of(rung: str) -> Path:
    """The file of a rung."""
    return next(ROOT.glob(f"steps/{rung}_*.cu"))


def body_of(lines: list[str], function: str) -> tuple[int, int]:
    """The first and the last line of a function's body, from 0."""
    begin = next(
        i
        for i, line in enumerate(lines)
        if re.match(rf"(DEVICE .*|static .*|    )\b{function}\(", line)
    )
    if lines[begin].endswith("}"):  # in one line
        return begin, begin
    first = next(i for i in range(begin, len(lines)) if lines[i].endswith("{"))
    return first + 1, lines.index("}", first) - 1


def range_of(lines: list[str], first: str, last: str) -> tuple[int, int]:
    """The lines from the one that begins with `first` to the next that begins with `last`."""
    begin = next(i for i, line in enumerate(lines) if line.strip().startswith(first))
    return begin, next(i for i in range(begin, len(lines)) if lines[i].strip().startswith(last))


def edited(source: str, edits: tuple[tuple[str, str], ...]) -> str:
    """A source in which each first text, which occurs once, is replaced by the second. With a line
    that goes, the comments above it go."""
    for old, new in edits:
        comments = "" if new else r"(?:^ *//.*\n)*"
        source, count = re.subn(
            comments + re.escape(old), lambda _, new=new: new, source, flags=re.MULTILINE
        )
        if count != 1:
            raise ValueError(f"{count} places where one was expected: {old}")
    return source


def with_gap(source: str, exercise: Fill) -> str:
    """The rung with the gap in it."""
    if exercise.edits:
        return edited(source, exercise.edits)
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


def solved(rung: str, number: int) -> str:
    """The rung, and what the exercise adds to it."""
    source = source_of(rung).read_text(encoding="utf-8")
    return source + getattr(EXERCISES[rung][number - 1], "tail", "")


def text_of(rung: str, number: int) -> str:
    """What is written for the reader: the story, then the rung with the bug or the gap."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Find):
        changed = planted(rung, exercise)
    elif isinstance(exercise, Predict):
        changed = edited(solved(rung, number), exercise.edits)
    else:
        changed = with_gap(solved(rung, number), exercise)
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


def run(program: Path | list, *options: str) -> subprocess.CompletedProcess:
    """A program's run, with what it says in one text. The program may have first words of its own."""
    return subprocess.run(
        [*(program if isinstance(program, list) else [program]), *options],
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


def programs(rung: str, number: int, build: Path) -> dict[str, Path]:
    """The programs that an exercise needs, by what runs them."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Predict) and not exercise.edits:
        return {"emulator": build / "emulated" / rung}
    name = f"{rung}-{number}"
    made = {"emulator": build / "emulated" / "exercises" / name}
    if not isinstance(exercise, Predict):
        made["gpu"] = build / "exercises" / name
        made["rung"] = build / "steps" / rung
    return made


def ready(rung: str, number: int, build: Path, answers: bool) -> int:
    """Whether there is something to try, or something to build for an answer."""
    exercise = EXERCISES[rung][number - 1]
    path = build / "exercises" / f"{rung}-{number}.cu"
    if isinstance(exercise, Predict):
        if exercise.edits:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text(encoding="utf-8") != text_of(rung, number):
                path.write_text(text_of(rung, number), encoding="utf-8")
        return 0
    if path.exists() or answers:
        return 0
    print(f"there is nothing to try yet: make exercise N={rung} E={number} writes it")
    return 2


def answer_of(exercise: Predict, program: Path | list) -> str:
    """What the emulator answers."""
    said = run(program, *exercise.run.split())
    found = re.search(exercise.answer, said.stdout)
    if said.returncode != 0 or found is None:
        raise SystemExit(f"{program} {exercise.run}: no answer in\n{said.stdout}")
    return NUMBERS.get(found[1], found[1])


def number_in(answer: str) -> str:
    """The number that an answer begins with: its unit and the commas in it don't count."""
    word = answer.replace(",", "").strip().lower()
    found = re.match(r"[\d.]+|[a-z]+", word)
    return NUMBERS.get(found[0], found[0]) if found else word


def try_answer(rung: str, number: int, build: Path, answer: str) -> int:
    """Compares a prediction with a run."""
    exercise = EXERCISES[rung][number - 1]
    if not answer:
        print("give an answer with ANSWER=...")
        return 2
    right = answer_of(exercise, programs(rung, number, build)["emulator"])
    return compare_answer(rung, number, right, answer)


def compare_answer(rung: str, number: int, right: str, answer: str) -> int:
    """Says what an answer is."""
    said = number_in(answer)
    try:
        if float(said) == float(right):
            print("passed")
            return 0
        what = "too small" if float(said) < float(right) else "too large"
    except ValueError:
        what = "not a number"
    print(f"{answer} is {what}; make hint N={rung} E={number}, make solution")
    return 1


def missing(exercise: Find | Fill, said: str, source: str) -> str:
    """What a right solution lacks of what the rung is about, or ""."""
    also, lines = exercise.also, re.sub(r" *//.*", "", source).splitlines()
    if also.calls:
        first, last = body_of(lines, *exercise.gap)
        lines = lines[first : last + 1]
    calls = also.calls == "" or re.search(rf"\b{also.calls}\(", "\n".join(lines))
    found = re.search(also.line, said, re.MULTILINE)
    number = float(found[1]) if found and found.re.groups and found[1] else also.least
    if calls and found and also.least <= number <= also.most:
        return ""
    about = re.search(rf"^{also.line.split()[0]} .*", said, re.MULTILINE) if also.line else None
    seen = f"\n{about[0]}" if about else ""
    return f"The result is right. But {also.says}{seen}"


def verdict(exercise: Find | Fill, source: str, program: Path | list) -> str:
    """ "" if the exercise is solved, or why not. `program`: what the emulator runs."""
    said = run(program, *exercise.run.split())
    if said.returncode != 0:
        return said.stdout  # a wrong result, or a report, which names the line
    if exercise.also and exercise.also.run:
        said = run(program, *exercise.also.run.split())
    return missing(exercise, said.stdout, source) if exercise.also else ""


def attempt(rung: str, number: int, build: Path, gpu: bool) -> int:
    """Runs the reader's solution."""
    source = (build / "exercises" / f"{rung}-{number}.cu").read_text(encoding="utf-8")
    made = programs(rung, number, build)
    why = verdict(EXERCISES[rung][number - 1], source, made["emulator"])
    if why:
        print(why)
        return 1
    print("passed: right in all orders that the emulator tried, and without a race")
    if not gpu:
        return 0
    for what in ("gpu", "rung"):
        said = run(made[what])
        print(f"{'yours' if what == 'gpu' else 'ours'}:\n{textwrap.indent(said.stdout, '  ')}")
        if said.returncode != 0:
            return 1
    return 0


def solution(rung: str, number: int, build: Path) -> int:
    """The answer, or what differs from the rung."""
    exercise = EXERCISES[rung][number - 1]
    if isinstance(exercise, Predict):
        print(f"{answer_of(exercise, programs(rung, number, build)['emulator'])}: {exercise.hint}")
        return 0
    before = text_of(rung, number).partition("\n//\n")[2].splitlines(keepends=True)
    after = solved(rung, number).splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(before, after, "the exercise", "the rung"))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="The exercises of a rung.", allow_abbrev=False)
    verbs = ("exercise", "try", "hint", "solution", "ready", "targets")
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("rung")
    parser.add_argument("number", nargs="?")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--answer", default="")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--answers", action="store_true")  # ready and targets, for `solution`
    options = parser.parse_args()
    verb, rung, build = options.verb, options.rung, options.build
    count = len(EXERCISES.get(rung, ()))
    numbers = [str(each) for each in range(1, count + 1)]
    if not numbers:
        print(f"{rung} has no exercises", file=sys.stderr)
        return 2
    if options.number is None:
        for each in range(1, count + 1):
            show(rung, each)
        if verb != "exercise":
            print(f"which exercise? Say E=1 to E={count}", file=sys.stderr)
        return 0 if verb == "exercise" else 2
    if options.number not in numbers:
        print(f"{rung} has exercises E=1 to E={count}", file=sys.stderr)
        return 2
    number = int(options.number)
    exercise = EXERCISES[rung][number - 1]
    if verb == "exercise":
        return write(rung, number, build)
    if verb == "ready":
        return ready(rung, number, build, options.answers)
    if verb == "targets":
        made = programs(rung, number, build)
        if options.answers and not isinstance(exercise, Predict):
            return 0
        wanted = {"emulator", "gpu", "rung"} if options.gpu else {"emulator"}
        print(*(path for what, path in made.items() if what in wanted))
        return 0
    if verb == "try" and isinstance(exercise, Predict):
        return try_answer(rung, number, build, options.answer)
    if verb == "try":
        return attempt(rung, number, build, options.gpu)
    if verb == "hint":
        print(exercise.hint)
        return 0
    return solution(rung, number, build)


if __name__ == "__main__":
    run_program(main)
