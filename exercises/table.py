"""The exercises of exercises.txt: for every rung a bug to find, and something to write or to
predict. The file says what each field means."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

KINDS = {"find": "find the bug", "fill": "fill the gap", "predict": "predict"}
COUNTED = "--policy eager --inputs integers"  # of a run that answers


@dataclass(frozen=True)
class Exercise:
    rung: str
    number: int  # of the rung's exercises, from 1 on
    level: str
    kind: str  # one of KINDS
    what: str  # the bug, the gap, or the options of the run that answers
    story: str
    hint: str
    answer: str = ""
    fails: str = "deadlock wrong"
    run: str = ""
    also: str = ""
    line: str = ""
    least: float = 0
    most: float = math.inf
    calls: str = ""
    also_run: str = ""
    instead: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    misses: tuple[tuple[str, tuple], ...] = ()  # why a solution misses the point, and its edits

    @property
    def name(self) -> str:
        return f"{self.rung}-{self.number}"

    @property
    def place(self) -> str:
        """As make's verbs take it."""
        return f"N={self.rung} E={self.number}"


HEAD = re.compile(
    rf"(?P<rung>\w\d\d) (?P<level>easy|medium|hard) (?P<kind>{'|'.join(KINDS)}):(?P<what>.*)\n"
)
FIELD = re.compile(r"^([a-z ]+):(?: (.*(?:\n    .*)*))?((?:\n[-+.].*)*)$", re.MULTILINE)
DEFINITION = re.compile(r"^([A-Z_]+) = (.*(?:\n    .*)*)\n", re.MULTILINE)


def edits_of(lines: str) -> tuple[tuple[str, str], ...]:
    """(Text, what replaces it) of lines with - and +: words within a line, or lines that go whole."""
    hunks = re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", lines, re.MULTILINE)
    edits = [[re.sub(r"^.", "", side, flags=re.MULTILINE) for side in hunk] for hunk in hunks]
    return tuple((old[:-1], new[:-1]) if new else (old, new) for old, new in edits)


# What a field is, if not a text.
TYPES = {"edits": edits_of, "least": float, "most": float}
TYPES["instead"] = lambda lines: re.sub(r"(?m)^\+", "", lines)


def read(block: str, number: int) -> Exercise:
    """The exercise that a paragraph describes."""
    head = HEAD.match(block)
    if head is None:
        raise ValueError(f"no exercise begins like this: {block.splitlines()[0]}")
    rest = block[head.end() :]
    if unknown := FIELD.sub("", rest).strip():
        raise ValueError(f"not understood, of {head[0].strip()}: {unknown}")
    made = {}
    for name, line, lines in FIELD.findall(rest):
        line, lines = re.sub(r"\n +", " ", line), f"{lines[1:]}\n"
        if name == "misses":
            edits = edits_of(lines) or made["edits"]
            made["misses"] = (*made.get("misses", ()), (line, edits))
        else:
            made[name.replace(" ", "_")] = TYPES.get(name, str)(line or lines)
    if head["kind"] == "predict":
        made["run"] = f"{head['what'].strip()} {COUNTED}"
    return Exercise(**{**head.groupdict(), "what": head["what"].strip()}, number=number, **made)


def parse(text: str) -> dict[str, list[Exercise]]:
    """The exercises by rungs."""
    text = re.sub(r"(?m)^#.*\n", "", text)
    for name, value in DEFINITION.findall(text):
        text = text.replace(f"{{{name}}}", re.sub(r"\n +", " ", value))
    exercises: dict[str, list[Exercise]] = {}
    for block in DEFINITION.sub("", text).strip().split("\n\n"):
        some = exercises.setdefault(block[:3], [])
        some.append(read(f"{block}\n", len(some) + 1))
    return exercises


EXERCISES = parse(Path(__file__).with_name("exercises.txt").read_text(encoding="utf-8"))
