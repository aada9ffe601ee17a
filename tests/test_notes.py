#!/usr/bin/env python3
"""Every figure in the notes is traced to a recorded result.

What stands between markers is what the results say (notes/tools/notes_tables.py --check), and in
notes/rungs and notes/ideas no measurement is typed outside of them. The rule for what counts as one,
and the expressions, are tried on examples. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import io
import re
import statistics
import sys
import tempfile
from pathlib import Path

from tools import planted_bugs, planted_reports
from tools.emulated import ROOT, case, exit_status

from bench import markdown
from bench.records import recorded
from notes.tools import expressions, notes_tables, quantities, readings, trace_figures

NOTES = ROOT / "notes"
FOLDERS = ("rungs", "ideas")

# --- typed figures --------------------------------------------------------------------------

MOST_IN_SENTENCES = 300
TYPED = re.compile(r"(?<![\w.,])[0-9][0-9.,]*[ \n]?(?:TFLOPS|GB/s|GHz|W|J)(?![\w/])")
OF_DATASHEETS = ("700 W", "989 TFLOPS")  # the power limit and the peak
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PREDICTION = re.compile(r"^(#+) Prediction$.*?(?=^(?!\1#)#+ |\Z)", re.DOTALL | re.MULTILINE)


def typed_figures(note):
    """Measured rates that are not between markers, nor in code or in a prediction."""
    prose = "".join(part.text for part in markdown.segments(note) if part.kind == "text")
    prose = PREDICTION.sub("", COMMENT.sub("", markdown.FIGURE.sub("~", prose)))
    found = [" ".join(match[0].split()) for match in TYPED.finditer(prose)]
    return [text for text in found if text not in OF_DATASHEETS]


def figures_in_sentences():
    """All expressions in the text of the notes."""
    texts = [
        part.text
        for path in notes_tables.pages(NOTES)
        for part in markdown.segments(path.read_text(encoding="utf-8"))
        if part.kind == "text"
    ]
    return [
        m["expression"] for text in texts for m in markdown.FIGURE.finditer(text) if not m["code"]
    ]


def check_sentences():
    """Sentences have few figures, and none that only a table may show."""
    found = figures_in_sentences()
    why = "" if len(found) <= MOST_IN_SENTENCES else f"there are {len(found)}: make a table of some"
    case(f"at most {MOST_IN_SENTENCES} figures stand in sentences", why)
    wrong = [text for text in found if re.search(r"(?:trace|energy|emulator)\.|__", text)]
    case("no sentence has a figure of a trace, a budget or the emulator", ", ".join(wrong))
    for text, count in (
        ("It reaches 775\nTFLOPS.", 1),
        ("12 GB/s at 1.59 GHz", 2),
        ("## Prediction\n\n5 W\n\n### In numbers\n\n6 W\n\n## Measurement\n\n7 W\n", 1),
        ("<!--=v07 tflops-->800 TFLOPS<!--/--> and `801 TFLOPS`", 0),
        ("48 KiB, 128 cycles, a limit of 700 W", 0),
        ("<!-- rung v07 -->\n| 5 J |\n<!-- end -->\n", 0),
    ):
        found = typed_figures(text)
        case(f"{count} typed in {text!r}", "" if len(found) == count else f"found {found}")


def check_pages():
    """No figure is typed into a page of a rung or of an idea."""
    for folder in FOLDERS:
        for path in sorted((NOTES / folder).glob("**/*.md")):
            why = "; ".join(typed_figures(path.read_text(encoding="utf-8")))
            case(f"{path.relative_to(ROOT)} types no figure", why)


# --- expressions ----------------------------------------------------------------------------

REFUSED_WORD = "refused: "
TEXTS = {  # of made-up quantities
    (1.0963, "ratio", ""): "1.096",
    (1.0963, "ratio", "percent"): "109.6 %",
    (1.0963, "ratio", "more"): "9.6 %",
    (1.0963, "ratio", "gain"): "+9.6 %",
    (0.9, "ratio", "less .0"): "10 %",
    (0.9, "ratio", "gain"): "−10.0 %",
    (8e14, "rate", ""): "800 TFLOPS",
    (8e14, "rate", "bare .1"): "800.0",
    (1.5857e9, "clock", ""): "1.59 GHz",
    (1.5857e9, "clock", "MHz"): "1586 MHz",
    (1.3746e-3, "time", ""): "1.375 ms",
    (2.5e-6, "time", ""): "2.50 µs",
    (2.18e6, "cycles", ""): "2.180 million cycles",
    (1024.0, "cycles", ""): "1024 cycles",
    (8.11e9, "bytes", ""): "8.11 GB",
    (53440, "count", ""): "53,440",
    (288, "count", ""): "288",
    (2.5, "number", ""): "2.50",
    (0.62, "share", ""): "62.0 %",
    (0.9, "ratio", "more"): REFUSED_WORD,
    (1.1, "ratio", "less"): REFUSED_WORD,
    (8e14, "rate", "GHz"): REFUSED_WORD,
    (8e14, "rate", "more"): REFUSED_WORD,
    (8e14, "rate", "spread"): REFUSED_WORD,
    (8e14, "rate", "loud"): REFUSED_WORD,
}
REFUSED = (
    "",
    "v07",
    "v07 speed",
    "v07 tflops tflops",
    "v07 tflops @8192 @4096",
    "v07 tflops @nowhere",
    "v07 tflops @sustained @burst",
    "v07 dram_bytes @burst",
    "v07 emulator.tma_loads @4096",
    "v07 emulator.naps",
    "v99 tflops",
    "v07-unheard-of tflops",
    "cublas ratio",
    "t02 tflops",
    "v07 gb_per_s",
    "somebody tflops",
    "__import__('os')",
    "v07.tflops",
    "v01 trace.gap",
    "v07 trace.naps",
    "v07 trace.gap @8192",
    "v07 trace.gap @sustained",
    "cublas trace.gap",
)


def text_or_error(function, *arguments):
    """What it gives, or the error's text behind a mark."""
    try:
        return function(*arguments)
    except quantities.ExpressionError as error:
        return f"{REFUSED_WORD}{error}"


def check_formats():
    """How quantities are written."""
    for (value, kind, form), wanted in TEXTS.items():
        quantity = quantities.Quantity(value, kind)
        found = text_or_error(quantities.write_as, quantity, form.split())
        good = found.startswith(wanted) if wanted == REFUSED_WORD else found == wanted
        name = f"{value} as {form or 'usual'} of a {kind}"
        case(name, "" if good else f"'{found}', not '{wanted}'")


def recorded_examples():
    """{expression: text} worked out here from the records themselves."""
    path = recorded.newest_headline()
    ladder = recorded.load_ladder(path)
    timing = {rung["step"]: rung["timing"] for rung in ladder["rungs"]}
    own, lower = timing["v07"], timing["v06"]
    rate = own["step"]["tflops"]["median"]
    cycles = 2 * 8192**3 / (rate * 1e12) * own["step"]["sm_clock_ghz"] * 1e9
    path = recorded.newest_with({"v07"}, recorded.shape_of(ladder), "counters")
    counters = recorded.load_record(path)
    counted = next(step for step in counters["steps"] if step["step"] == "v07")["counters"]
    sectors = counted["lts__t_sectors_srcunit_tex.sum"]
    quotient = rate / lower["step"]["tflops"]["median"]
    return {
        "v07 tflops": f"{rate:.0f} TFLOPS",
        "v07 ratio": f"{own['ratio_to_cublas']['median']:.3f}",
        "v07 share": f"{own['step']['tensor_core_share'] * 100:.1f} %",
        "v07 clock": f"{own['step']['sm_clock_ghz']:.2f} GHz",
        "v07 cycles": f"{cycles / 1e6:.3f} million cycles",
        "v07/v06 tflops": f"{quotient:.3f}",
        "v07/v06 tflops as gain": f"{(quotient - 1) * 100:+.1f} %".replace("-", "−"),
        "v07 l2_bytes": f"{sectors * 32 / 1e9:.2f} GB",
        "cublas tflops": f"{ladder['cublas']['tflops']['median']:.0f} TFLOPS",
    }


def rows_of(warp, names):
    """[(what, begin, end)] of a warp in a recorded trace."""
    events = warp["events"]
    return [
        (names[what], begin, end)
        for what, begin, end in zip(events["what"], events["begin"], events["end"])
    ]


def trace_examples():
    """The same of v12's trace on a GPU, from the columns of the file."""
    (path,) = recorded.TRACES.glob("v12-nvidia-*.json")
    record = recorded.load_record(path)
    warps = [rows_of(warp, record["whats"]) for warp in record["warps"]]
    consumers = [rows for rows in warps if any(what == "multiply" for what, _, _ in rows)]
    begins = [[begin for what, begin, _ in rows if what == "multiply"] for rows in consumers]
    first = [min(pair) for pair in zip(*begins)]
    steps = [after - before for before, after in trace_figures.pairwise(first)]
    touched = ("copy", "read", "write")
    gaps = [
        after[1] - before[2]
        for rows in warps
        for before, after in trace_figures.pairwise(rows)
        if before[0] not in touched and after[0] not in touched
    ]
    figures = {
        "v12 trace.k_tile": statistics.median(steps),
        "v12 trace.k_tile as high": max(steps),
        "v12 trace.gap": statistics.median(gaps),
    }
    return {name: f"{value:.0f} cycles" for name, value in figures.items()}


def check_expressions():
    """Against records, and what is no expression."""
    evaluator = expressions.Evaluator(readings.Library())
    for expression, wanted in {**recorded_examples(), **trace_examples()}.items():
        found = text_or_error(evaluator.text, expression)
        case(f"'{expression}'", "" if found == wanted else f"'{found}', not '{wanted}'")
    for expression in REFUSED:
        found = text_or_error(evaluator.text, expression)
        why = "" if found.startswith("refused") else f"it gives '{found}'"
        case(f"'{expression[:30]}' is refused", why)


# --- markers --------------------------------------------------------------------------------

ONE = "<!--=v07/v07 tflops as .0-->1<!--/-->"  # of every record
RIGHT = f"text {ONE} and `<!--=v07-->9<!--/-->`\n\n```\n<!--=v07-->9<!--/-->\n```\n"
WRONG = RIGHT.replace("1<!--/-->", "3<!--/-->")
BROKEN = (
    "<!--=v07 tflops-->2\n",
    "2<!--/-->\n",
    "<!--=v07-->2<!--/-->\n",
    "<!-- rung v07 -->\n",
    "<!-- end -->\n",
    "<!-- rung v99 -->\n<!-- end -->\n",
    "<!-- rung -->\n<!-- end -->\n",
    "<!-- hazard v07 no-such-bug -->\n<!-- end -->\n",
    "<!-- hazard ../v07 x -->\n<!-- end -->\n",
    "<!-- figures v07 : tflops -->\n<!-- end -->\n",
    "<!-- figures : v99 : tflops -->\n<!-- end -->\n",
    "<!-- figures : v06/v07/v08 : tflops -->\n<!-- end -->\n",
    "<!-- variants @72badb8 @5147d2e -->\n<!-- end -->\n",
    "<!-- variants somebody -->\n<!-- end -->\n",
    "<!-- shapes ../v07 -->\n<!-- end -->\n",
    "<!-- agreement v07 -->\n<!-- end -->\n",
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
            status = notes_tables.main(["--notes", str(page.parent.parent), *options])
        return status, page.read_text(encoding="utf-8"), said.getvalue()


def check_markers():
    """A committed value that is not the record's is found, and put right; broken markers are not."""
    for what, note, options, wanted in (
        ("a page that is right is left alone", RIGHT, ["--check"], (0, RIGHT)),
        ("a value that differs is found", WRONG, ["--check"], (1, WRONG)),
        ("a value that differs is put right", WRONG, [], (0, RIGHT)),
    ):
        *found, said = filled(note, *options)
        case(what, "" if tuple(found) == wanted else f"{found}: {said}")
    for block, words in (
        ("rung v07", "| v06 |"),
        (
            "figures @8192 @4096 : v07 v07/v06 cublaslt : tflops time=us ratio",
            "| cuBLASLt's best |",
        ),
        ("hazard v07 no-wait-on-full", "v07: "),
        ("agreement", "\nthe two runs agree within "),
        ("variants v16 v16-late-place", "passes faster) |"),
        ("shapes a01", "TFLOPS, burst: medians"),
        ("sources", "Nothing recorded"),
    ):
        note = f"<!-- {block} -->\nold\n<!-- end -->\n"
        status, text, said = filled(note)
        good = status == 0 and words in text and "old" not in text
        good = good and filled(text, "--check")[:2] == (0, text)
        case(f"the block '{block}' is filled, and then right", "" if good else said or text)
        good = filled(note, "--check")[:2] == (1, note)
        case(f"the block '{block}' is found old", "" if good else "no")
    for note in BROKEN:
        status, text, said = filled(note)
        good = status == 2 and text == note and "v07.md" in said and "Traceback" not in said
        case(f"refused: {note!r}", "" if good else f"status {status}: {said}")
    pieces = markdown.segments(RIGHT)
    whole = "".join(piece.text for piece in pieces)
    case("a note's segments add up to it", "" if whole == RIGHT else whole)


# --- reports of planted bugs ----------------------------------------------------------------


def check_reports():
    """What is recorded of planted bugs is of the bugs that are planted now, and would be missed."""
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
    pair = planted_bugs.Pair("v07", bugs["no-wait-on-full"])
    record = planted_reports.of_pair(pair)
    policy, text = record["policy"], "\n".join(record["report"])
    found = record["found"][policy]
    for what, differs, arguments in (
        ("the same", False, (record, pair, {policy: found}, {policy: text})),
        ("another kind", True, (record, pair, {policy: "wrong"}, {policy: text})),
        ("other words", True, (record, pair, {policy: found}, {policy: "v07: hazard: other"})),
        ("another change", True, ({**record, "change": ["-x"]}, pair, {}, {})),
        ("nothing", True, ({}, pair, {}, {})),
    ):
        good = bool(planted_reports.difference(*arguments)) == differs
        words = "differs" if differs else "does not differ"
        case(f"a report with {what} {words}", "" if good else "it is taken for the opposite")


def check_committed():
    """All notes and the README say what the records say."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = notes_tables.main(["--check"])
    why = said.getvalue().strip().replace("\n", "; ") if status else ""
    case("the notes are what make notes writes", why)


def main():
    check_sentences()
    check_pages()
    check_formats()
    check_expressions()
    check_markers()
    check_reports()
    check_committed()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
