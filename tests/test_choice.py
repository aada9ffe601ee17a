#!/usr/bin/env python3
"""Tests of v18's model: it takes the kernel that is fastest, or close to it, where that is recorded.

The recorded ladders are those with v18 and all of its variants in them, each of which takes one of
its kernels always. At the shapes of FITTED the model's constants were read off what was measured;
the others are a test of it. Needs no GPU: make builds tests/choice/choose.cu, which asks the rung,
and the same of a rung with a model in which turns end as quickly as others, which must fail here.
Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "tests" / "choice"
VARIANTS = ROOT / "bench" / "variants"
MOST_BEHIND = 0.02  # of the fastest variant's rate
FITTED = ("16384x4096x256", "12288x3072x512", "6144x4096x2048")
H200_SMS = 132
TOLD = "16384x4096x256"  # that ends in turns take longer

from tools.emulated import case, exit_status, skip

from bench.records import recorded


def build():
    """Builds both programs, which run.sh has done already."""
    made = subprocess.run(
        ["make", "-s", "choices"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    if made.returncode:
        sys.exit(f"make choices: {made.stderr[-500:]}")


def variants():
    """The variants that take one of v18's kernels always, by its place among them."""
    found = {}
    for path in sorted(VARIANTS.glob("v18-*.patch")):
        kernel = re.search(
            r"^\+ +made->kernel = &KERNELS\[(\d+)\];$", path.read_text(), re.MULTILINE
        )
        if kernel:
            found[int(kernel[1])] = path.stem
    return found


def choices(program, sms, shapes):
    """What a model takes: {shape: variant}."""
    command = [str(PROGRAMS / program), str(sms), *shapes]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    of_place = variants()
    return {shape: of_place[int(place)] for shape, place in map(str.split, said.splitlines())}


def rates(ladder):
    """The variants' rates as multiples of v18's, pass by pass: {variant: ratio}."""
    pairs = [pair for pair in ladder["neighbours"] if pair["lower"] == "v18"]
    return {pair["upper"]: pair["paired_ratio"] for pair in pairs}


def compared():
    """The finished ladders in which all variants have a result, with their places."""
    wanted = set(variants().values())
    return [
        (place.name, ladder)
        for place, ladder in recorded.all_ladders()
        if wanted <= rates(ladder).keys() and not ladder["interrupted"]
    ]


def why_not(program, ladder):
    """Why the model's choice is no good at this ladder's shape; empty if it is."""
    shape = recorded.shape_text(ladder)
    taken = choices(program, ladder["gpu"]["sms"], [shape])[shape]
    measured = rates(ladder)
    fastest = max(variants().values(), key=measured.get)
    behind = 1 - measured[taken] / measured[fastest]
    if behind <= MOST_BEHIND:
        return ""
    return f"it takes {taken}, {behind:.1%} behind {fastest}"


def check_recorded():
    """The model's choice at each shape at which all variants were measured."""
    ladders = compared()
    if not ladders:
        skip(
            "v18's choices against the fastest of its kernels", "no ladder has all of its variants"
        )
        return
    shapes = {recorded.shape_text(ladder) for _, ladder in ladders}
    case("all variants were measured where it was fitted", " ".join(set(FITTED) - shapes))
    case("and where it was not", "" if shapes - set(FITTED) else "no ladder has them all")
    for place, ladder in ladders:
        shape = recorded.shape_text(ladder)
        words = "fitted to" if shape in FITTED else "not fitted to"
        case(f"the choice at {shape} ({words}; {place})", why_not("rung", ladder))


def check_quick_turns():
    """A model that is wrong chooses otherwise and is found out, at the shape that told so."""
    right, wrong = (choices(program, H200_SMS, [TOLD])[TOLD] for program in ("rung", "quick-turns"))
    why = f"both take {right}" if right == wrong else ""
    case(f"a model with quick turns chooses otherwise at {TOLD}", why)
    for place, ladder in compared():
        shape = recorded.shape_text(ladder)
        if shape == TOLD:
            why = "" if why_not("quick-turns", ladder) else "its choice passes for a good one"
            case(f"a model with quick turns is refused at {shape} ({place})", why)


def main():
    build()
    case("each of v18's kernels has a variant", "" if len(variants()) == 5 else f"{variants()}")
    check_recorded()
    check_quick_turns()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
