#!/usr/bin/env python3
"""What make notes writes into a page is what the records say, and what it cannot write it refuses.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

from tools import planted_reports
from tools.emulated import ROOT, case, exit_status

from exercises import planted_bugs
from notes.tools import figures, fill, tables

# --- expressions ----------------------------------------------------------------------------

REFUSED = "refused: "
TEXTS = {  # of made-up values
    (1.0963, "ratio", ""): "1.096",
    (1.0963, "ratio", "gain"): "+9.6 %",
    (0.9, "ratio", "gain .0"): "−10 %",
    (800.0, "rate", ".1"): "800.0 TFLOPS",
    (figures.Spread(800.04, 799, 802), "rate", ".1 ±"): "800.0 ±1.5",
    (1.3746e-3, "time", ""): "1.375 ms",
    (2.5e-6, "time", ""): "2.50 µs",
    (2.18e6, "cycles", ""): "2.180 million cycles",
    (1024.0, "cycles", ""): "1024 cycles",
    (8.11e9, "bytes", "MB"): "8110.0 MB",
    (53440, "count", ""): "53,440",
    (None, "share", ""): "–",
    (800.0, "rate", "GHz"): REFUSED,
    (800.0, "rate", "gain"): REFUSED,
}
NO_FIGURES = {  # what is wrong with them
    "no who and quantity": ("", "v07", "v07 tflops tflops", "v07.tflops", "__import__('os')"),
    "an unknown quantity": ("v07 speed", "v07 emulator.naps", "v07 who__knows.sum"),
    "an unknown program": ("v99 tflops", "v07-unheard-of tflops", "somebody tflops"),
    "an unknown run": ("v07 tflops @1234567", "v07 tflops @b200", "t02 tflops", "v07/t02 time"),
    "a quantity that a run does not have": ("v01 share", "v07 joules", "v07 gb_per_s"),
    "a quantity that a program cannot have": ("cublas against", "cublaslt dram_bytes"),
    "selectors of nothing, or two of one kind": (
        "v07 tflops @nowhere",
        "v07 tflops @8192 @4096",
        "v07 tflops @8192x8192",
        "v07 tflops @sustained @burst",
    ),
}


def text_or_error(function, *arguments):
    """What it gives, or the error's text after a mark."""
    try:
        return function(*arguments)
    except ValueError as error:
        return f"{REFUSED}{error}"


def recorded_examples(library):
    """{expression: text} worked out here from the rows themselves."""
    run = library.choose(["v06", "v07"])
    rate, lower = (run.rate(name).mid for name in ("v07", "v06"))
    clock = run.reading("v07", "ghz")
    counters = library.choose(["v07"], protocol="counters", kind=lambda run: True)
    counted = counters.first("v07")["counters"]
    return {
        "v07 tflops": f"{rate:.0f} TFLOPS",
        "v07 ratio": f"{run.ratio('v07', 'cublas').mid:.3f}",
        "v07 share": f"{run.reading('v07', 'share') * 100:.1f} %",
        "v07 cycles": f"{2 * 8192**3 / (rate * 1e12) * clock * 1e3:.3f} million cycles",
        "v07/v06 tflops as gain": f"{(rate / lower - 1) * 100:+.1f} %".replace("-", "−"),
        "v07 l2_bytes": f"{counted['lts__t_sectors_srcunit_tex.sum'] * 32 / 1e9:.2f} GB",
        "cublas tflops": f"{run.rate('cublas').mid:.0f} TFLOPS",
    }


def check_expressions():
    """How values are written, what the rows say, and what is no expression."""
    library = tables.Library()
    cases = {
        f"{value} as {form or 'usual'} of a {kind}": (
            text_or_error(figures.write_as, value, kind, *form.split()).partition(": ")[0],
            wanted.strip(": "),
        )
        for (value, kind, form), wanted in TEXTS.items()
    }
    for expression, wanted in recorded_examples(library).items():
        cases[f"'{expression}'"] = text_or_error(figures.text_of, expression, library), wanted
    for words, (found, wanted) in cases.items():
        case(f"{words}: {wanted}", "" if found == wanted else f"'{found}'")
    for wrong, those in NO_FIGURES.items():
        found = {one: text_or_error(figures.text_of, one, library) for one in those}
        taken = [f"'{one}': {what}" for one, what in found.items() if not what.startswith(REFUSED)]
        case(f"refused: {wrong}: {', '.join(map(repr, those))}", ", ".join(taken))


# --- markers --------------------------------------------------------------------------------

ONE = "<!--=v07/v07 tflops as .0-->1<!--/-->"
RIGHT = f"text {ONE} and `<!--=v07-->9<!--/-->`\n\n```\n<!--=v07-->9<!--/-->\n```\n"
WRONG = RIGHT.replace("1<!--/-->", "3<!--/-->")
BLOCKS = {  # what is in them
    "rung v07": "| v06 |",
    "rung v07 @sustained": "| energy, J |",
    "figures @8192 @4096 : v07 v07/v06 cublaslt : tflops time=us ratio": "| cuBLASLt's best |",
    "figures @4096 @8192 : v07 v06 : ratio": "| of cuBLAS at | v07 | v06 |",
    "hazard v07 no-wait-on-full": "v07: ",
    "agreement": "\nthe two runs agree within ",
    "variants v16 v16-late-place": "/3) |",
    "shapes a01": "TFLOPS, burst: medians",
    "sources": "Nothing recorded",
}
NO_BLOCKS = {
    "rung": ("", "v99", "v07 @1234567", "v07 4096"),
    "hazard": ("v07 no-such-bug", "../v07 x"),
    "figures": (
        "v07 : tflops",
        ": v99 : tflops",
        ": v07 : speed",
        ": v06/v07/v08 : tflops",
        "@1234567 : v07 : tflops",
    ),
    "shapes": ("", "../v07"),
    "sweep": ("", "v18", "18 one", "v18 one", "v18 1 best", "v99 1"),
    "agreement": ("v07",),
    "energy": ("joules v16", "parts"),
    "sources": ("of this",),
}
BROKEN = (
    "<!--=v07 tflops-->2\n",
    "2<!--/-->\n",
    "<!--=v07-->2<!--/-->\n",
    "<!-- rung v07 -->\n",
    "<!-- end -->\n",
    "<!-- rung v07 --> <!-- end -->\n",
)


def filled(note, *options):
    """(exit status, what the page then says, what was said) of make notes over one page."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "notes" / "rungs" / "v07.md"
        page.parent.mkdir(parents=True)
        page.write_text(note, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = fill.main(["--notes", str(page.parent.parent), *options])
        return status, page.read_text(encoding="utf-8"), said.getvalue()


def check_markers():
    """A committed value or block that is not the record's is found, and put right; a broken one is
    not."""
    for what, note, options, wanted in (
        ("a page that is right is left alone", RIGHT, ["--check"], (0, RIGHT)),
        ("a value that differs is found", WRONG, ["--check"], (1, WRONG)),
        ("a value that differs is put right", WRONG, [], (0, RIGHT)),
    ):
        *found, said = filled(note, *options)
        case(what, "" if tuple(found) == wanted else f"{found}: {said}")
    for block, words in BLOCKS.items():
        status, text, said = filled(f"<!-- {block} -->\nold\n<!-- end -->\n")
        good = status == 0 and words in text and "old" not in text
        good = good and filled(text, "--check")[:2] == (0, text)
        case(f"the block '{block}' is filled, and then right", "" if good else said or text)
        edited = text.replace("\n<!-- end", " edited\n<!-- end")
        found = filled(edited, "--check")[0], filled(edited)[:2]
        case(f"the block '{block}' is found edited", "" if found == (1, (0, text)) else str(found))
    refused = [
        f"<!-- {kind} {words} -->\nold\n<!-- end -->\n".replace("  ", " ")
        for kind, those in NO_BLOCKS.items()
        for words in those
    ]
    for note in (*BROKEN, *refused):
        status, text, said = filled(note)
        good = status == 2 and text == note and "v07.md: line 1: " in said
        case(f"refused: {note!r}", "" if good else f"status {status}: {said}")


# --- reports of planted bugs ----------------------------------------------------------------


def check_reports():
    """What is recorded of planted bugs is of the bugs that are planted now."""
    bugs = {bug.name: bug for bug in planted_bugs.read_bugs()}
    for path in sorted(planted_reports.REPORTS.glob("*.json")):
        wrong = []
        for name, record in (planted_reports.of_rung(path.stem) or {}).items():
            if path.stem not in getattr(bugs.get(name), "changes", {}):
                wrong.append(f"{name} is not in bugs.txt")
            else:
                pair = planted_bugs.Pair(path.stem, bugs[name])
                wrong.append(planted_reports.difference(record, pair, {}, {}))
        case(f"{path.relative_to(ROOT)} is of bugs.txt", "; ".join(filter(None, wrong)))


# --- the emulator's rules -------------------------------------------------------------------


def check_rules():
    """Each row of the table of rules says how it is checked, and what it names is there; each case
    of the emulator is named."""
    page = (ROOT / "notes" / "emulator-rules.md").read_text(encoding="utf-8")
    tests = ROOT / "emulator" / "tests"
    cases = {path.stem for path in (tests / "cases").glob("*.cu")}
    known = cases | {bug.name for bug in planted_bugs.read_bugs()}
    for path in (tests / "cases").glob("*.cu"):
        expected = re.findall(r"^// expect ([^:]+):", path.read_text(), re.MULTILINE)
        known |= set(re.findall(r"\w+", " ".join(expected)))
    units = "".join(path.read_text() for path in tests.glob("test_*.cpp"))
    known |= set(re.findall(r'"([^"\n]+)"', units))
    rows = [row for row in re.findall(r"^\|(.+)\|$", page, re.MULTILINE) if row.count("|") == 3]
    rows = [[cell.strip() for cell in row.split("|")] for row in rows if "---" not in row]
    rules = [row for row in rows if row[0] != "rule"]
    how = re.compile("exact|approximate|stricter|not modelled")
    case("rules: how each is checked", "; ".join(row[0] for row in rules if not how.match(row[2])))
    named = {a or b for row in rules for a, b in re.findall(r'`([^`]+)`|"([^"]+)"', row[3])}
    case("rules: tests that are there", ", ".join(sorted(named - known)))
    unnamed = [name for name in sorted(cases) if f"`{name}`" not in page]
    case("rules: every case of the emulator", ", ".join(unnamed))


def main():
    check_expressions()
    check_markers()
    check_reports()
    check_rules()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
