"""The rungs of steps/, as their sources describe them. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.results import ROOT, name_order, rung_of

STEPS = ROOT / "steps"
TRACKS = {"v": "Hopper", "s": "Shapes", "a": "Ampere", "t": "TMA", "f": "FP8"}
# The second line of a rung that the learner's path leaves out.
ASIDE = re.compile(r"//.*\n// (Optional|Side branch(?:, leads to \w+)?)\.\n")


@dataclass(frozen=True)
class Rung:
    """One file of steps/."""

    name: str  # 'v07'
    path: Path
    idea: str
    below: str | None  # the rung that it grows from; None for the first of a track
    aside: str  # 'optional', or 'side branch, leads to s06'; empty on the learner's path
    block_scales: bool  # of FP8
    promotes: bool  # the same

    leads_to = property(lambda self: self.aside.partition(" leads to ")[2])  # its idea wins there


def field(text, name):
    """The string in the step record, or None; C joins strings that follow each other."""
    found = re.search(rf'^    \.{name} = ((?:"[^"\n]*"\s*)+),$', text, re.MULTILINE)
    return "".join(re.findall(r'"([^"\n]*)"', found[1])) if found else None


def find(steps=STEPS):
    """{name: Rung}, track by track, lowest first. A rung that names none grows from the one that is
    numbered below it."""
    found, numbered_below = {}, {}
    for path in sorted(Path(steps).glob("[a-z][0-9][0-9]_*.cu"), key=lambda p: name_order(p.name)):
        name, text = path.name[:3], path.read_text(encoding="utf-8")
        below = field(text, "below") or numbered_below.get(name[0])
        of_fp8 = (f"    .{one} = " in text for one in ("block_scales", "promotion"))
        aside = ASIDE.match(text)
        words = (field(text, "idea") or "", below, aside[1].lower() if aside else "")
        found[name] = Rung(name, path, *words, *of_fp8)
        numbered_below[name[0]] = name
    return found


today = cache(find)


def scales_blocks(name):
    """Whether a program of FP8 has block scales; rivals do."""
    rung = today().get(rung_of(name))
    return rung.block_scales if rung else name[0] == "f"
