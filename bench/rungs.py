"""The rungs of steps/, as their sources describe them. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.results import ROOT, name_order, rung_of

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
    found, numbered_below = {}, {}
    for path in sorted(Path(steps).glob("[a-z][0-9][0-9]_*.cu"), key=lambda p: name_order(p.name)):
        name, text = path.name[:3], path.read_text(encoding="utf-8")
        below = field(text, "below") or numbered_below.get(name[0])
        of_fp8 = (f"    .{one} = " in text for one in ("block_scales", "promotion"))
        found[name] = Rung(name, path, field(text, "idea") or "", below, *of_fp8)
        numbered_below[name[0]] = name
    return found


today = cache(find)


def scales_blocks(name):
    """Whether a program of FP8 has block scales; rivals do."""
    rung = today().get(rung_of(name))
    return rung.block_scales if rung else name[0] == "f"
