#!/usr/bin/env python3
"""Every rung and every idea has its page in notes/, with the headings that a page has.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
from tools.emulated import case, exit_status, rungs

from bench import markdown

NOTES = ROOT / "notes"
HEADINGS = (
    "The idea",
    "What the hardware does",
    "Prediction",
    "Measurement",
    "Why they differ",
    "What to try",
    "Hazards",
)
LAST = "Sources"  # may follow them: where the figures are from
IDEAS = (
    "shared-memory-banks-and-swizzles",
    "matrix-descriptors",
    "fragments",
    "ldmatrix-and-stmatrix",
    "tma-and-tensor-maps",
    "mbarrier-and-phases",
    "proxies-and-fences",
    "clusters",
    "setmaxnreg",
    "tile-order-and-the-l2",
    "power-and-clocks",
    "how-to-measure",
    "ptxas-warnings",
)
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
SHORTEST = 100  # words of an idea's page


def prose_of(note):
    """A note without code and without what make notes writes."""
    return "".join(part.text for part in markdown.segments(note) if part.kind == "text")


def sections(note):
    """[(level, heading, text up to the next heading)] of a note; the heading's level is 1 to 6."""
    text = prose_of(note)
    found = list(HEADING.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [(len(m[1]), m[2], text[m.end() : end]) for m, end in zip(found, ends)]


def wrong_with_rung(name, note):
    """What a rung's page lacks; empty if nothing."""
    found = sections(note)
    if not found or found[0][0] != 1 or not found[0][1].startswith(f"{name}: "):
        return f"the first heading is not '# {name}: ...'"
    chapters = [heading for level, heading, _ in found if level == 2]
    if chapters not in ([*HEADINGS], [*HEADINGS, LAST]):
        return f"its chapters are {', '.join(chapters) or 'none'}, not {', '.join(HEADINGS)}"
    if not re.search(rf"^<!-- rung {name}( @\w+)* -->$", note, re.MULTILINE):
        return f"there is no <!-- rung {name} -->"
    if "<!-- sources -->" not in note:
        return "there is no <!-- sources -->: where its figures are from"
    return ""


def wrong_with_idea(_name, note):
    """What an idea's page lacks."""
    found = sections(note)
    if not found or found[0][0] != 1:
        return "it does not begin with a heading"
    if len(prose_of(note).split()) < SHORTEST:
        return "there is next to nothing in it"
    return ""


def check_folder(folder, names, wrong):
    """Every name has its page, as it should be, to which notes/README.md leads; and there are no
    other pages."""
    for name in names:
        path = NOTES / folder / f"{name}.md"
        try:
            why = (
                wrong(name, path.read_text(encoding="utf-8")) if path.exists() else "it is missing"
            )
        except ValueError as error:
            why = str(error)
        case(f"{path.relative_to(ROOT)} is a page", why)
    strangers = sorted({path.stem for path in (NOTES / folder).glob("*.md")} - set(names))
    case(f"notes/{folder} holds no page beside the list", ", ".join(strangers))
    index = (NOTES / "README.md").read_text(encoding="utf-8")
    missing = [name for name in names if f"]({folder}/{name}.md)" not in index]
    case(f"notes/README.md leads to every page of notes/{folder}", ", ".join(missing))


def main():
    check_folder("rungs", rungs(), wrong_with_rung)
    check_folder("ideas", IDEAS, wrong_with_idea)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
