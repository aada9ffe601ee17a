"""Reads tests/planted/bugs.txt and puts its mistakes into copies of the rungs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tools.emulated import KINDS, ROOT, SEVERAL_TILES

BUGS = ROOT / "tests" / "planted" / "bugs.txt"

# Calls that order something. What a rung of tomorrow calls is in here as far as one can foresee.
SYNCHRONISES = re.compile(
    r"(\b(?:mbarrier_\w+|cluster_(?:sync|arrive|wait)|__sync\w+|named_barrier_\w+|fence_\w+"
    r"|wgmma_(?:fence|commit|wait)|bulk_(?:commit|wait)\w*|cp_async_(?:commit|wait)\w*"
    r"|wait_for_launch_before|launch_dependents)"
    r"|\.(?:init|arrive|arrive_tx|wait))(?:<[^<>()]+>)?\("
)


class Misfit(Exception):
    """The list of bugs is wrong, or does not fit a rung."""


@dataclass
class Hunk:
    """Lines that stand together, before the change and after it."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)  # which of `before`

    def add(self, line: str) -> None:
        mark, text = line[:1], line[1:]
        if mark == "-":
            self.removed.append(len(self.before))
        if mark != "+":
            self.before.append(text)
        if mark != "-":
            self.after.append(text)


@dataclass
class Bug:
    name: str
    wrong: str = ""  # for a harmless one: why it is
    kinds: list[str] = field(default_factory=list)
    harmless: bool = False
    must_race: bool = False
    some_seeds: bool = False  # are enough to find it
    not_by_default: str = ""  # why the default run does not find it
    edge: str = SEVERAL_TILES  # the shape that it runs at
    changes: dict[str, list[Hunk]] = field(default_factory=dict)  # rung -> its change


@dataclass(frozen=True)
class Pair:
    """A rung with a bug in it."""

    rung: str
    bug: Bug

    @property
    def name(self) -> str:
        return f"{self.rung}-{self.bug.name}"


# The fields that a line of bugs.txt sets, by its first words.
FLAGS = {"must race": "must_race", "by some seeds": "some_seeds"}
TEXTS = {"wrong": "wrong", "because": "wrong", "not by default": "not_by_default", "at": "edge"}


class Parser:
    """Goes through the lines of bugs.txt; which kind of line comes next is known from the last."""

    def __init__(self) -> None:
        self.bugs: list[Bug] = []
        self.hunks: list[Hunk] = []  # of the change that is being read

    def read(self, lines: list[str]) -> list[Bug]:
        for number, line in enumerate(lines, 1):
            try:
                self.line(line)
            except (Misfit, IndexError) as why:
                raise Misfit(f"{BUGS.name}:{number}: {why or 'not understood'}") from why
        return self.bugs

    def line(self, line: str) -> None:
        word, _, rest = line.partition(":")
        if line.startswith("#"):
            return
        if line == "":
            # Inside of a change it is an empty line of the rung; behind its last line it is nothing.
            if self.hunks:
                self.hunks[-1].add(" ")
        elif line == "...":
            self.hunks.append(Hunk())
        elif line[0] in " +-":
            self.hunks[-1].add(line)
        else:
            self.header(word, rest.strip())

    def header(self, word: str, rest: str) -> None:
        if word in ("bug", "harmless"):
            if any(bug.name == rest for bug in self.bugs):
                raise Misfit(f"a second {rest}")
            self.bugs.append(Bug(rest, harmless=word == "harmless"))
            self.hunks = []
        elif word == "in":
            self.hunks = [Hunk()]
            for rung in rest.split():
                if rung in self.bugs[-1].changes:
                    raise Misfit(f"a second change of {rung}")
                self.bugs[-1].changes[rung] = self.hunks
        elif word == "found as" and set(rest.split()) <= set(KINDS):
            self.bugs[-1].kinds = rest.split()
        elif word in FLAGS:
            setattr(self.bugs[-1], FLAGS[word], True)
        elif word in TEXTS:
            setattr(self.bugs[-1], TEXTS[word], rest)
        else:
            raise Misfit(f"not understood: {word}: {rest}")


def strip_blank_ends(hunks: list[Hunk]) -> None:
    """The empty lines between two bugs belong to neither."""
    for hunk in hunks:
        while hunk.before and hunk.after and hunk.before[-1] == "" and hunk.after[-1] == "":
            hunk.before.pop()
            hunk.after.pop()


def read_bugs() -> list[Bug]:
    bugs = Parser().read(BUGS.read_text().splitlines())
    for bug in bugs:
        if not (bug.wrong and bug.changes and (bug.harmless or bug.kinds)):
            raise Misfit(f"{bug.name}: something is missing")
        for hunks in bug.changes.values():
            strip_blank_ends(hunks)
            if not all(hunk.before != hunk.after for hunk in hunks):
                raise Misfit(f"{bug.name}: a place where nothing changes")
    return bugs


def find_once(lines: list[str], wanted: list[str]) -> int:
    """Where the lines `wanted` stand in `lines`; they must do so once."""
    width = len(wanted)
    places = [i for i in range(len(lines) - width + 1) if lines[i : i + width] == wanted]
    if len(places) != 1:
        raise Misfit(f"{len(places)} places where one was expected: {wanted[0].strip()} ...")
    return places[0]


def plant(source: str, hunks: list[Hunk]) -> tuple[str, set[int]]:
    """The changed source, and which lines of the unchanged one went."""
    lines = source.splitlines()
    places = [(find_once(lines, hunk.before), hunk) for hunk in hunks]
    gone = {place + i + 1 for place, hunk in places for i in hunk.removed}
    for place, hunk in sorted(places, key=lambda found: found[0], reverse=True):
        lines[place : place + len(hunk.before)] = hunk.after
    return "\n".join(lines) + "\n", gone


def synchronising_calls(source: str) -> dict[int, list[str]]:
    """The functions that synchronise, by the lines that call them."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        names = [name.lstrip(".") for name in SYNCHRONISES.findall(line.partition("//")[0])]
        if names:
            found[number] = names
    return found


def functions(source: str) -> list[str]:
    """The source in pieces that end where a function or a struct does, without comments."""
    code = re.sub(r"//.*", "", source)
    return [" ".join(piece.split()) for piece in re.split(r"^};?$", code, flags=re.MULTILINE)]
