#!/usr/bin/env python3
"""Every figure in the notes is traced to a recorded result.

What stands between markers is what the results say (notes/tools/notes_tables.py --check), and in
notes/rungs and notes/ideas no measurement is typed outside of them. The rule for what counts as one,
and the expressions, are tried on examples. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import sys
import tempfile
from pathlib import Path

from tools import planted_bugs, planted_reports
from tools.emulated import ROOT, case, exit_status
from tools.typed_figures import typed_figures

from bench import markdown
from bench.records import recorded
from notes.tools import expressions, notes_tables, quantities, readings, trace_figures

NOTES = ROOT / "notes"
FOLDERS = ("rungs", "ideas")

# --- typed figures --------------------------------------------------------------------------

TYPED = (
    "It reaches 775 TFLOPS.",
    "It reaches 775\nTFLOPS.",
    "a clock of 1.59 GHz",
    "it moves 8.11 GB through the L2",
    "12 GB/s",
    "a launch takes 1.4 ms",
    "a wait of 300 µs",
    "1.3 J a product",
    "at 700 W",
    "93 % of the cycles",
    "93% of the cycles",
    "ten per cent faster",
    "3 times faster",
    "3 times as fast",
    "1.5x",
    "2× the rung below",
    "a 3-fold gain",
    "0.97 of cuBLAS",
    "97 of cuBLAS",
    "a ratio of 1.019",
    "1024 cycles",
    "1,024 cycles for a k-tile",
    "10⁶ cycles",
    "2 million instructions",
    "1383 bank conflicts",
    "32 wavefronts",
    "## Measurement\n\n5 ms\n",
    "## Prediction\n\n5 ms\n\n## Measurement\n\n6 ms\n",
    "<!-- a comment --> 5 ms",
    "<!--=v07 tflops-->800 TFLOPS<!--/--> or 801 TFLOPS",
    "`code` and 5 ms",
)
NOT_TYPED = (
    "It reaches <!--=v07 tflops-->800 TFLOPS<!--/-->.",
    "It reaches <!--=v07 tflops as bare-->800<!--/--> TFLOPS.",
    "A tile has 128 rows and 256 columns; two loads fill a stage of 48 KiB.",
    "257 arrivals for each of 4 stages",
    "rows of 128 bytes",
    "m64n256k16 and 8192 x 8192 x 8192, 4096 × 4096",
    "64 x 256",
    "PTX ISA 8.7, section 9.7.13.15, CUDA 13.0 and compute capability 9.0",
    "`wgmma` at `775 TFLOPS`",
    "```\n775 TFLOPS\n```\n",
    "## Prediction\n\n5 ms, 10 % faster\n\n### In numbers\n\n6 ms\n",
    "## Prediction\n\n5 ms\n\n## Measurement\n\nnone\n",
    "<!-- rung v07 -->\n| 5 ms |\n<!-- end -->\n",
    "<!-- table:variants v07:begin -->\n| 5 ms |\n<!-- table:variants:end -->\n",
    "<!-- 5 ms -->",
    "[a page](1.5x.md)",
    "v07 stands above v06, and twice is enough",
    "the 4 wgmmas of a k-tile, done 3 times",
)


def check_rule():
    """The rule, both ways."""
    for text in TYPED:
        found = typed_figures(text)
        case(f"a typed figure: {text!r}", "" if len(found) == 1 else f"found {found}")
    for text in NOT_TYPED:
        found = typed_figures(text)
        case(f"no typed figure: {text!r}", f"found {found}" if found else "")


def check_pages():
    """No figure is typed into a page of a rung or of an idea."""
    for folder in FOLDERS:
        for path in sorted((NOTES / folder).glob("**/*.md")):
            try:
                found = typed_figures(path.read_text(encoding="utf-8"))
            except ValueError as error:
                found = [(0, "not read", str(error))]
            why = "; ".join(f"line {line}: {what}: {words}" for line, what, words in found)
            case(f"{path.relative_to(ROOT)} types no figure", why)


# --- expressions ----------------------------------------------------------------------------

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
    (49152.0, "bytes", "KiB"): "48 KiB",
    (53440, "count", ""): "53,440",
    (288, "count", ""): "288",
    (4.0, "number", ""): "4",
    (2.5, "number", ""): "2.50",
    (1024.0, "number", "cycles"): "1024 cycles",
    (0.62, "share", ""): "62.0 %",
}
REFUSED_FORMATS = (
    (0.9, "ratio", "more"),
    (1.1, "ratio", "less"),
    (8e14, "rate", "GHz"),
    (8e14, "rate", "more"),
    (8e14, "rate", "spread"),
    (8e14, "rate", "loud"),
)
ARITHMETIC = {
    "1 + 2 * 3": "7",
    "(1 + 2) * 3": "9",
    "10 - 4 - 3": "3",
    "2 * 128 * 256 * 64 / const flop_per_cycle as cycles": "1024 cycles",
    "const flop_per_cycle": "4096",
    "7 / 2 as .1": "3.5",
    "v07 cycles - v07 cycles + 1024 as cycles": "1024 cycles",
}
REFUSED = (
    "",
    "v07",
    "v07 speed",
    "v07 tflops tflops",
    "v07 tflops + v07 clock",
    "v07 tflops @8192 @4096",
    "v07 tflops @nowhere",
    "v07 tflops @sustained @burst",
    "v07 dram_bytes @burst",
    "v07 emulator.tma_loads @4096",
    "v07 emulator.naps",
    "v99 tflops",
    "v07-unheard-of tflops",
    "cublas ratio",
    "gpu tflops",
    "t02 tflops",
    "v07 gb_per_s",
    "somebody tflops",
    "(1 + 2",
    "1 +",
    "1 / 0",
    "1 2",
    "const nothing",
    "__import__('os')",
    "v07.tflops",
    "v01 trace.gap",
    "v07 trace.naps",
    "v07 trace.gap @8192",
    "v07 trace.gap @sustained",
    "cublas trace.gap",
    "v04 trace.out_of_step",
    "a06 trace.epilogue",
    "2 ** 3",
    "(" * 100 + "1" + ")" * 100,
)


def text_or_error(function, *arguments):
    """What it gives, or the error's text behind a mark."""
    try:
        return function(*arguments)
    except quantities.ExpressionError as error:
        return f"refused: {error}"


def check_formats():
    """How quantities are written."""
    for (value, kind, form), wanted in TEXTS.items():
        quantity = quantities.Quantity(value, kind)
        found = text_or_error(quantities.write_as, quantity, form.split())
        name = f"{value} as {form or 'usual'} of a {kind}"
        case(name, "" if found == wanted else f"'{found}', not '{wanted}'")
    for value, kind, form in REFUSED_FORMATS:
        found = text_or_error(quantities.write_as, quantities.Quantity(value, kind), form.split())
        why = "" if found.startswith("refused") else f"it gives '{found}'"
        case(f"{value} of a {kind} is not written as {form}", why)


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
        "v07 tflops / v06 tflops": f"{quotient:.3f}",
        "v07/v06 tflops as gain": f"{(quotient - 1) * 100:+.1f} %".replace("-", "−"),
        "v07 l2_bytes": f"{sectors * 32 / 1e9:.2f} GB",
        "cublas tflops": f"{ladder['cublas']['tflops']['median']:.0f} TFLOPS",
        "gpu sms": str(ladder["gpu"]["sms"]),
    }


def rows_of(warp, names):
    """[(what, begin, end)] of a warp in a recorded trace."""
    events = warp["events"]
    return [
        (names[what], begin, end)
        for what, begin, end in zip(events["what"], events["begin"], events["end"])
    ]


def epilogues(rows):
    """[(whole, in events)] of a consumer's epilogues: from an arrival behind the last wgmmas to a wait
    for the ring."""
    found, first, inside = [], None, 0
    for (what, begin, end), before in zip(rows[1:], rows):
        if before[0] == "multiply wait":
            first, inside = begin, 0
        if what == "wait":
            if first is not None and before[0] != "arrive":
                found.append((begin - first, inside))
            first = None
        inside += end - begin
    return found


def trace_examples():
    """The same of v12's trace on a GPU, from the columns of the file."""
    (path,) = recorded.TRACES.glob("v12-nvidia-*.json")
    record = recorded.load_record(path)
    warps = [rows_of(warp, record["whats"]) for warp in record["warps"]]
    consumers = [rows for rows in warps if any(what == "multiply" for what, _, _ in rows)]
    begins = [[begin for what, begin, _ in rows if what == "multiply"] for rows in consumers]
    first = [min(pair) for pair in zip(*begins)]
    steps = [after - before for before, after in trace_figures.pairwise(first)]
    apart = [abs(one - other) for one, other in zip(*begins)]
    ends = [one for rows in consumers for one in epilogues(rows)]
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
        "v12 trace.out_of_step": statistics.median(apart),
        "v12 trace.out_of_step as high": max(apart),
        "v12 trace.epilogue": statistics.median(whole for whole, _ in ends),
        "v12 trace.epilogue as low": min(whole for whole, _ in ends),
        "v12 trace.epilogue_events @h200": statistics.median(inside for _, inside in ends),
        "v12 trace.gap": statistics.median(gaps),
    }
    return {name: f"{value:.0f} cycles" for name, value in figures.items()}


def check_expressions():
    """Against records, and what is no expression."""
    evaluator = expressions.Evaluator(readings.Library())
    for expression, wanted in {**ARITHMETIC, **recorded_examples(), **trace_examples()}.items():
        found = text_or_error(evaluator.text, expression)
        case(f"'{expression}'", "" if found == wanted else f"'{found}', not '{wanted}'")
    for expression in REFUSED:
        found = text_or_error(evaluator.text, expression)
        why = "" if found.startswith("refused") else f"it gives '{found}'"
        case(f"'{expression[:30]}' is refused", why)


# --- markers --------------------------------------------------------------------------------

RIGHT = "text <!--=1 + 1-->2<!--/--> and `<!--=1 + 1-->9<!--/-->`\n\n```\n<!--=1-->9<!--/-->\n```\n"
BROKEN = (
    "<!--=1 + 1-->2\n",
    "2<!--/-->\n",
    "<!--=1 +-->2<!--/-->\n",
    "<!-- rung v07 -->\n",
    "<!-- end -->\n",
    "<!-- rung v99 -->\n<!-- end -->\n",
    "<!-- rung -->\n<!-- end -->\n",
    "<!-- hazard v07 no-such-bug -->\n<!-- end -->\n",
    "<!-- hazard ../v07 x -->\n<!-- end -->\n",
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
    status, text, said = filled(RIGHT, "--check")
    case("a page that is right is left alone", said if status or text != RIGHT else "")
    wrong = RIGHT.replace("2<!--/-->", "3<!--/-->")
    status, text, said = filled(wrong, "--check")
    case("a value that differs is found", "" if (status, text) == (1, wrong) else said or "no")
    status, text, said = filled(wrong)
    case("a value that differs is put right", "" if (status, text) == (0, RIGHT) else said or text)
    for block, words in (
        ("rung v07", "| v06 |"),
        ("hazard v07 no-wait-on-full", "v07: "),
        ("agreement", "\nthe two runs agree within "),
        ("sources", "Nothing recorded"),
    ):
        note = f"<!-- {block} -->\nold\n<!-- end -->\n"
        status, text, said = filled(note)
        good = status == 0 and words in text and "old" not in text
        case(f"the block '{block}' is filled", "" if good else said or text)
        status, again, said = filled(text, "--check")
        case(f"the block '{block}' stays as it is", said if status or again != text else "")
        status, again, said = filled(note, "--check")
        case(
            f"the block '{block}' is found old",
            "" if status == 1 and again == note else said or "no",
        )
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
    check_rule()
    check_pages()
    check_formats()
    check_expressions()
    check_markers()
    check_reports()
    check_committed()
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
