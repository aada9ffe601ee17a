#!/usr/bin/env python3
"""Every rung and every idea has its page in notes/, with the headings that a page has; sentences
have few figures, and in pages of rungs and ideas none is typed. (That what make notes writes is what the
records say is a case of tests/results.py.)

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import sys

from tools.emulated import ROOT, case, exit_status, rungs

from exercises.table import EXERCISES
from notes.tools import fill

NOTES = ROOT / "notes"
HEADINGS = (
    "The idea",
    "What the hardware does",
    "Prediction",
    "Measurement",
    "Why they differ",
    "Hazards",
    "Exercises",
    "What you learned",
)
RESULT_FIRST = re.compile(r"\A# .*\n\n> \*\*What .*\n(?:> .*\n)*> \*\*Wh[yo].*\n(?:> .*\n)*\n")
LAST = "Sources"  # may follow them: where the figures are from
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
SHORTEST = 100  # words of an idea's page
LINK = re.compile(r"\]\((rungs|ideas)/([\w-]+)\.md\)")

MOST_FIGURES = 6  # in the sentences of a page
OF_THE_STORY = 20  # it goes through all rungs
TYPED = re.compile(  # a rate, or what was gained
    r"(?<![\w.,])(?<!Expected: )(?:[0-9][0-9.,]*[ \n]?(?:TFLOPS|GB/s|GHz|W|J)(?![\w/])"
    r"|[+−][0-9][0-9.,]*\s%|[0-9][0-9.,]*\s%\s(?:faster|slower))"
)
OF_DATASHEETS = ("700 W", "989 TFLOPS")  # the power limit and the peak
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PREDICTION = re.compile(r"^(#+) Prediction$.*?(?=^(?!\1#)#+ |\Z)", re.DOTALL | re.MULTILINE)
OF_TABLES = re.compile(r"(?:trace|energy|emulator)\.|__")


def wrong_with_rung(name, note, prose):
    """What a rung's page lacks; empty if nothing."""
    (level, first), *found = HEADING.findall(prose) or [("", "")]
    if level != "#" or not first.startswith(f"{name}: "):
        return f"the first heading is not '# {name}: ...'"
    chapters = [heading for level, heading in found if level == "##"]
    if chapters not in ([*HEADINGS], [*HEADINGS, LAST]):
        return f"its chapters are {', '.join(chapters) or 'none'}, not {', '.join(HEADINGS)}"
    if not RESULT_FIRST.match(note):
        return "it does not begin with what changed, what it gained and why"
    exercises = re.findall(r"`make exercise N=(\w+) E=(\d+)`", prose)
    wanted = [
        (name.lstrip("v").lstrip("0") if name[0] == "v" else name[0] + name[2:], str(each))
        for each in range(1, 1 + len(EXERCISES[name]))
    ]
    if exercises != wanted:
        return f"its exercises are {exercises}, not {wanted}"
    # A rung that is measured beside variants or rivals has a table of its own choice.
    chosen = rf"figures [^:]*:[^:]*\b{name}\b[^:]*: tflops .*"
    if not re.search(rf"^<!-- (rung {name}( @\w+)*|{chosen}) -->$", note, re.MULTILINE):
        return f"there is no <!-- rung {name} -->"
    if "<!-- sources -->" not in note:
        return "there is no <!-- sources -->: where its figures are from"
    return ""


def wrong_with_idea(prose):
    """What an idea's page lacks."""
    if not prose.startswith("# "):
        return "it does not begin with a heading"
    return "there is next to nothing in it" if len(prose.split()) < SHORTEST else ""


def wrong_figures(prose, most, may_type):
    """Figures that are too many, or that only a table may show, or measured rates and gains that
    are typed, but for code and predictions."""
    named = [piece["figure"] for piece in fill.pieces(prose) if piece["figure"] is not None]
    wrong = [text for text in named if OF_TABLES.search(text)]
    if len(named) > most:
        wrong.append(f"{len(named)} figures in sentences, more than {most}")
    prose = PREDICTION.sub("", COMMENT.sub("", fill.PIECE.sub("~", prose)))
    typed = [" ".join(match[0].split()) for match in TYPED.finditer(prose)]
    return wrong + [text for text in typed if text not in OF_DATASHEETS and not may_type]


def check_page(path):
    """A page is what its folder says, and has the figures that it may have."""
    note, folder = path.read_text(encoding="utf-8"), path.parent.name
    prose = fill.PIECE.sub(lambda one: "" if one["block"] or one["fence"] else one[0], note)
    if folder == "rungs":
        case(f"{path.relative_to(ROOT)} is a page", wrong_with_rung(path.stem, note, prose))
    if folder == "ideas":
        case(f"{path.relative_to(ROOT)} is a page", wrong_with_idea(prose))
    most = OF_THE_STORY if path.stem == "the-climb" else MOST_FIGURES
    wrong = wrong_figures(prose, most, folder not in ("rungs", "ideas"))
    case(f"{path.relative_to(ROOT)} has few figures, none typed", "; ".join(wrong))


def main():
    pages = fill.pages(NOTES)
    linked = set(LINK.findall((NOTES / "README.md").read_text(encoding="utf-8")))
    there = {(path.parent.name, path.stem) for path in pages if path.parent.parent == NOTES}
    of_rungs = {("rungs", name) for name in rungs()}
    for what, missing in (
        ("every rung has its page", of_rungs - there),
        ("every page of a rung is of one", {one for one in there if one[0] == "rungs"} - of_rungs),
        ("notes/README.md leads to every page of a rung or an idea", there - linked),
        ("notes/README.md leads to no other", linked - there),
    ):
        case(what, ", ".join("/".join(one) for one in sorted(missing)))
    for path in pages:
        check_page(path)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
