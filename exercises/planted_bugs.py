"""Reads planted/bugs.txt and puts its mistakes into copies of the rungs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUGS = ROOT / "planted" / "bugs.txt"
KINDS = ("deadlock", "hazard", "race", "lifetime", "misuse", "address", "wrong")  # of reports
SEVERAL_TILES = "several tiles per CTA"  # the shape at which bugs are tried, if they name none

# Calls that order something. What a rung of tomorrow calls is in here as far as one can foresee.
SYNCHRONISES = re.compile(
    r"(\b(?:mbarrier_\w+|cluster_(?:sync|arrive|wait)|__sync\w+|named_barrier_\w+|fence_\w+"
    r"|wgmma_(?:fence|commit|wait)|bulk_(?:commit|wait)\w*|cp_async_(?:commit|wait)\w*"
    r"|wait_for_launch_before|launch_dependents|count_arrival)"
    r"|\.(?:init|arrive|arrive_tx|wait))(?:<[^<>()]+>)?\("
)


def source_of(rung: str) -> str:
    """The text of a rung."""
    return next((ROOT / "steps").glob(f"{rung}_*.cu")).read_text(encoding="utf-8")


Hunk = list[str]  # the lines of one place, marked as in a diff


def side(hunk: Hunk, mark: str) -> list[str]:
    """The lines of a hunk before the change ("-") or after it ("+")."""
    return [line[1:] for line in hunk if line[0] in (" ", mark)]


class Misfit(Exception):
    """The list of bugs is wrong, or does not fit a rung."""


def places_of(hunks: list[Hunk], text: str) -> list[int]:
    """Where each hunk begins in the text's lines; its lines must occur there once."""
    lines, found = text.splitlines(), []
    for hunk in hunks:
        before = side(hunk, "-")
        last = len(lines) - len(before)
        at = [i for i in range(last + 1) if lines[i : i + len(before)] == before]
        if len(at) != 1:
            raise Misfit(f"{len(at)} places where one was expected: {before[0].strip()} ...")
        found += at
    return found


def changed(hunks: list[Hunk], text: str) -> str:
    """The text with the hunks' changes."""
    lines = text.splitlines()
    for place, hunk in sorted(zip(places_of(hunks, text), hunks), reverse=True):
        lines[place : place + len(side(hunk, "-"))] = side(hunk, "+")
    return "\n".join(lines) + "\n"


@dataclass
class Bug:
    name: str
    harmless: bool
    wrong: str = ""  # for a harmless one: why it is
    kinds: list[str] = field(default_factory=list)
    some_seeds: bool = False  # are enough to find it
    not_by_default: str = ""  # why the default run does not find it
    edge: str = SEVERAL_TILES  # the shape that it runs at
    card: str = ""  # the compute capability that it runs on; empty: the emulator's own
    section: str = ""  # of bugs.txt
    changes: dict[str, list[Hunk]] = field(default_factory=dict)  # by rung


# The fields that a line of bugs.txt sets, by its first words.
FLAGS = {"by some seeds": "some_seeds"}
TEXTS = {
    "wrong": "wrong",
    "because": "wrong",
    "not by default": "not_by_default",
    "at": "edge",
    "on": "card",
}


def parse(text: str) -> list[Bug]:
    bugs: list[Bug] = []
    hunks: list[Hunk] = []  # of the change that is being read
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = (part.strip() for part in line.partition(":"))
        if line.startswith("# ---"):
            section = line.lstrip("# -")
        if line.startswith("#") or (line == "" and not hunks):
            continue
        if line == "" or (line[0] in " +-" and hunks):
            hunks[-1].append(line or " ")
        elif line == "...":
            hunks.append([])
        elif word in ("bug", "harmless"):
            bugs.append(Bug(rest, word == "harmless", section=section))
            hunks = []
        elif word == "in":
            hunks = [[]]
            bugs[-1].changes.update(dict.fromkeys(rest.split(), hunks))
        elif word == "found as" and set(rest.split()) <= set(KINDS):
            bugs[-1].kinds = rest.split()
        elif word in FLAGS:
            setattr(bugs[-1], FLAGS[word], True)
        elif word in TEXTS:
            setattr(bugs[-1], TEXTS[word], rest)
        else:
            raise Misfit(f"{BUGS.name}:{number}: not understood: {line}")
    return bugs


def read_bugs() -> list[Bug]:
    bugs = parse(BUGS.read_text())
    if len({bug.name for bug in bugs}) < len(bugs):
        raise Misfit("two bugs have the same name")
    for bug in bugs:
        if not (bug.wrong and bug.changes and (bug.harmless or bug.kinds)):
            raise Misfit(f"{bug.name}: something is missing")
        for hunk in (hunk for hunks in bug.changes.values() for hunk in hunks):
            while hunk[-1:] == [" "]:  # the empty lines between two bugs belong to neither
                hunk.pop()
            if all(line[0] == " " for line in hunk):
                raise Misfit(f"{bug.name}: a place where nothing changes")
    return bugs


@dataclass(frozen=True)
class Pair:
    """A rung with a bug in it."""

    rung: str
    bug: Bug

    @property
    def name(self) -> str:
        return f"{self.rung}-{self.bug.name}"

    @property
    def hunks(self) -> list[Hunk]:
        return self.bug.changes[self.rung]

    @cached_property
    def places(self) -> list[int]:
        return places_of(self.hunks, source_of(self.rung))

    @property
    def source(self) -> str:
        """The changed rung."""
        return changed(self.hunks, source_of(self.rung))

    @property
    def gone(self) -> set[int]:
        """The numbers of the rung's lines that the change removes."""
        gone = set()
        for place, hunk in zip(self.places, self.hunks):
            before = [line for line in hunk if line[0] != "+"]
            gone |= {place + i for i, line in enumerate(before, 1) if line[0] == "-"}
        return gone


def synchronising_calls(source: str) -> dict[int, list[str]]:
    """The functions that synchronise, by the lines that call them."""
    lines = enumerate(source.splitlines(), 1)
    found = {number: SYNCHRONISES.findall(line.partition("//")[0]) for number, line in lines}
    return {n: [name.lstrip(".") for name in names] for n, names in found.items() if names}


def functions(source: str) -> list[str]:
    """The source in pieces that end where a function or a struct does, without comments."""
    code = re.sub(r"//.*", "", source)
    return [" ".join(piece.split()) for piece in re.split(r"^};?$", code, flags=re.MULTILINE)]
