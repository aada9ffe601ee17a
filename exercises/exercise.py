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
from exercises.table import EXERCISES, KINDS, Exercise
from planted.plant import Pair, read_bugs, source_of

GAP = "// Your part."
NUMBERS = {"no": "0", "none": "0", "zero": "0"}


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


def with_gap(source: str, exercise: Exercise) -> str:
    """The rung with the gap in it."""
    if exercise.edits:
        return edited(source, exercise.edits)
    lines = source.splitlines()
    gap = exercise.what.split(" ... ")
    first, last = (body_of if len(gap) == 1 else range_of)(lines, *gap)
    indent = re.match(" *", lines[first])[0]
    instead = [GAP, *exercise.instead.splitlines()]
    if first == last and lines[first].endswith("}"):
        head = lines[first].partition("{")[0]
        instead = [head + "{", *(f"    {line.strip()}" for line in instead), "}"]
    else:
        instead = [indent + line.strip() for line in instead]
    return "\n".join([*lines[:first], *instead, *lines[last + 1 :]]) + "\n"


def solved(exercise: Exercise) -> str:
    """The rung, and what the exercise adds to it."""
    return source_of(exercise.rung)


def text_of(exercise: Exercise) -> str:
    """What is written for the reader: the story, then the rung with the bug or the gap."""
    if exercise.kind == "find":
        bug = next(bug for bug in read_bugs() if bug.name == exercise.what)
        changed = Pair(exercise.rung, bug).source
    elif exercise.kind == "predict":
        changed = edited(solved(exercise), exercise.edits)
    else:
        changed = with_gap(solved(exercise), exercise)
    head = [f"Exercise {exercise.number} of {exercise.rung}, {exercise.level}."]
    head += textwrap.wrap(exercise.story, 92)
    head.append(f"Then: make try {exercise.place}, make hint, make solution.")
    return "".join(f"// {line}\n" for line in head) + "//\n" + changed


def show(exercise: Exercise) -> None:
    """One exercise in a few lines."""
    print(f"E={exercise.number}  {KINDS[exercise.kind]}, {exercise.level}")
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


def path_of(exercise: Exercise, build: Path) -> Path:
    """Where the reader edits it."""
    return build / "exercises" / f"{exercise.name}.cu"


def write(exercise: Exercise, build: Path) -> None:
    """Writes the exercise, unless the reader has begun."""
    show(exercise)
    if exercise.kind == "predict":
        print(f"answer it with: make try {exercise.place} ANSWER=...")
        return
    path = path_of(exercise, build)
    if path.exists():
        print(f"{path} exists already and is kept; remove it to start again")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(exercise), encoding="utf-8")
    print(f"wrote {path}\nedit it, then: make try {exercise.place}")


def programs(exercise: Exercise, build: Path) -> dict[str, Path]:
    """The programs that an exercise needs, by what runs them."""
    if exercise.kind == "predict" and not exercise.edits:
        return {"emulator": build / "emulated" / exercise.rung}
    made = {"emulator": build / "emulated" / "exercises" / exercise.name}
    if exercise.kind != "predict":
        made["gpu"] = build / "exercises" / exercise.name
        made["rung"] = build / "steps" / exercise.rung
    return made


def ready(exercise: Exercise, build: Path, answers: bool) -> int:
    """Whether there is something to try, or something to build for an answer."""
    path = path_of(exercise, build)
    if exercise.kind == "predict" and exercise.edits:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text_of(exercise):
            path.write_text(text_of(exercise), encoding="utf-8")
    if exercise.kind == "predict" or path.exists() or answers:
        return 0
    print(f"there is nothing to try yet: make exercise {exercise.place} writes it")
    return 2


def answer_of(exercise: Exercise, program: Path | list) -> str:
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


def compare_answer(exercise: Exercise, right: str, answer: str) -> int:
    """Compares a prediction with the answer of a run, and says what it is."""
    said = number_in(answer)
    try:
        if float(said) == float(right):
            print("passed")
            return 0
        what = "too small" if float(said) < float(right) else "too large"
    except ValueError:
        what = "not a number"
    print(f"{answer} is {what}; make hint {exercise.place}, make solution")
    return 1


def missing(exercise: Exercise, said: str, source: str) -> str:
    """What a right solution lacks of what the rung is about, or ""."""
    lines = re.sub(r" *//.*", "", source).splitlines()
    if exercise.calls:
        first, last = body_of(lines, exercise.what)
        lines = lines[first : last + 1]
    calls = exercise.calls == "" or re.search(rf"\b{exercise.calls}\(", "\n".join(lines))
    found = re.search(exercise.line, said, re.MULTILINE)
    number = float(found[1]) if found and found.re.groups and found[1] else exercise.least
    if calls and found and exercise.least <= number <= exercise.most:
        return ""
    line = exercise.line
    about = re.search(rf"^{line.split()[0]} .*", said, re.MULTILINE) if line else None
    seen = f"\n{about[0]}" if about else ""
    return f"The result is right. But {exercise.also}{seen}"


def verdict(exercise: Exercise, source: str, program: Path | list) -> str:
    """ "" if the exercise is solved, or why not. `program`: what the emulator runs."""
    said = run(program, *exercise.run.split())
    if said.returncode != 0 or "\nverified " not in said.stdout:
        # A wrong result, or a report, which names the line.
        return said.stdout or "it printed nothing"
    if exercise.also_run:
        said = run(program, *exercise.also_run.split())
    return missing(exercise, said.stdout, source) if exercise.also else ""


def attempt(exercise: Exercise, build: Path, answer: str, gpu: bool) -> int:
    """Compares the reader's prediction with a run, or runs the reader's solution."""
    made = programs(exercise, build)
    if exercise.kind == "predict":
        if not answer:
            print("give an answer with ANSWER=...")
            return 2
        return compare_answer(exercise, answer_of(exercise, made["emulator"]), answer)
    source = path_of(exercise, build).read_text(encoding="utf-8")
    why = verdict(exercise, source, made["emulator"])
    print(why or "passed: right in all orders that the emulator tried, and without a race")
    if why or not gpu:
        return 1 if why else 0
    for what in ("gpu", "rung"):
        said = run(made[what])
        print(f"{'yours' if what == 'gpu' else 'ours'}:\n{textwrap.indent(said.stdout, '  ')}")
        if said.returncode != 0:
            return 1
    return 0


def solution(exercise: Exercise, build: Path) -> None:
    """The answer, or what differs from the rung."""
    if exercise.kind == "predict":
        print(f"{answer_of(exercise, programs(exercise, build)['emulator'])}: {exercise.hint}")
        return
    before = text_of(exercise).partition("\n//\n")[2].splitlines(keepends=True)
    after = solved(exercise).splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(before, after, "the exercise", "the rung"))


def targets(exercise: Exercise, build: Path, answers: bool, gpu: bool) -> None:
    """Prints what make has to build."""
    if exercise.kind == "predict" or not answers:
        wanted = {"emulator", "gpu", "rung"} if gpu else {"emulator"}
        print(*(path for what, path in programs(exercise, build).items() if what in wanted))


VERBS = {  # what each does; its status, if not always 0
    "exercise": lambda exercise, o: write(exercise, o.build),
    "try": lambda exercise, o: attempt(exercise, o.build, o.answer, o.gpu),
    "hint": lambda exercise, o: print(exercise.hint),
    "solution": lambda exercise, o: solution(exercise, o.build),
    "ready": lambda exercise, o: ready(exercise, o.build, o.answers),
    "targets": lambda exercise, o: targets(exercise, o.build, o.answers, o.gpu),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="The exercises of a rung.", allow_abbrev=False)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("rung")
    parser.add_argument("number", nargs="?")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--answer", default="")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--answers", action="store_true")  # ready and targets, for `solution`
    options = parser.parse_args()
    exercises = {str(one.number): one for one in EXERCISES.get(options.rung, ())}
    if options.number in exercises:
        return VERBS[options.verb](exercises[options.number], options) or 0
    some = f"E=1 to E={len(exercises)}"
    why = f"{options.rung} has {f'exercises {some}' if exercises else 'no exercises'}"
    if exercises and options.number is None:
        for one in exercises.values():
            show(one)
        if options.verb == "exercise":
            return 0
        why = f"which exercise? Say {some}"
    print(why, file=sys.stderr)
    return 2


if __name__ == "__main__":
    run_program(main)
