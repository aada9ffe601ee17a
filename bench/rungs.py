"""The rungs of steps/, as their sources describe them. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.results import ROOT, TRACKS, name_order, rung_of

STEPS = ROOT / "steps"


@dataclass(frozen=True)
class Rung:
    """One file of steps/."""

    name: str  # 'v07'
    path: Path
    idea: str
    below: str | None  # the rung that it grows from; None for the first of a track
    block_scales: bool  # of FP8
    promotes: bool  # the same


def field(text, name):
    """The string in the step record, or None; C joins strings that follow each other."""
    found = re.search(rf'^    \.{name} = ((?:"[^"\n]*"\s*)+),$', text, re.MULTILINE)
    return "".join(re.findall(r'"([^"\n]*)"', found[1])) if found else None


def find(steps=STEPS):
    """{name: Rung}, track by track, lowest first. A rung that names none grows from the one that is
    numbered below it."""
    paths = {path.name[:3]: path for path in Path(steps).glob("[vatf][0-9][0-9]_*.cu")}
    found, numbered_below = {}, dict.fromkeys(TRACKS)
    for name in sorted(paths, key=name_order):
        text = paths[name].read_text(encoding="utf-8")
        below = field(text, "below") or numbered_below[name[0]]
        block_scales, promotes = (f"    .{one} = " in text for one in ("block_scales", "promotion"))
        idea = field(text, "idea") or ""
        found[name] = Rung(name, paths[name], idea, below, block_scales, promotes)
        numbered_below[name[0]] = name
    return found


today = cache(find)


def scales_blocks(name):
    """Whether a program of FP8 has block scales; rivals do."""
    rung = today().get(rung_of(name))
    return rung.block_scales if rung else name[0] == "f"
