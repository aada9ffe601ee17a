"""Runs programs on the emulator, and says what came of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import call

from planted.plant import KINDS

FIXED_POLICIES = ("eager", "lazy")
NOTHING = ""  # what a run finds that ends well
LIMIT = 120  # seconds for one run

REPORT = re.compile(rf"^\S+: ({'|'.join(KINDS)}): .*", re.MULTILINE)
WRONG = re.compile(r"^.* differ.*|^.*not finite.*", re.MULTILINE)


def trials(program: Path, *before: str) -> dict[str, list[str]]:
    """The options that take a program to each of its edges, by the edge. `before` are its first
    words."""
    ended = call(program, *before, "--trials", ends_well=True)
    rows = (line.split("\t") for line in ended.stdout.splitlines())
    return {edge: options.split() for edge, options in rows}


@dataclass(frozen=True)
class Outcome:
    """How a run ended: a kind of report, NOTHING, or what else happened; its first line, and all
    that was said."""

    kind: str
    line: str = ""
    text: str = ""


def outcome_of(result: subprocess.CompletedProcess) -> Outcome:
    text = result.stderr + result.stdout
    if result.returncode == 0:
        return Outcome(NOTHING if "\nverified " in text else "ends well, and verified nothing")
    if result.returncode < 0:
        return Outcome(f"signal {-result.returncode}")
    if found := REPORT.search(text):
        return Outcome(found.group(1), found.group(), text[found.start() :])
    if result.returncode == 1 and (found := WRONG.search(text)):
        return Outcome("wrong", found.group(), text)
    return Outcome(f"exit status {result.returncode}", text.strip().partition("\n")[0])


def run(program: Path, words: Sequence[object], card: str = "") -> Outcome:
    """Runs a program once, on a card of this compute capability if one is given. Without a shape
    among the words it is the run of `make step`."""
    on = {"EMULATOR_CAPABILITY": card} if card else {}
    try:
        how = {"stderr": subprocess.PIPE, "timeout": LIMIT}
        return outcome_of(call(program, *words, env=on, **how))
    except subprocess.TimeoutExpired:
        return Outcome(f"no end after {LIMIT} s")
