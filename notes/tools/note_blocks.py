"""The blocks of the notes: a rung's table, what the emulator says of a planted bug, and sources."""

from __future__ import annotations

import json
import re

from bench import rungs
from bench.energy import budget
from bench.markdown import plain, table
from bench.records import recorded
from notes.tools import (
    figures_block,
    notes_captions,
    quantities,
    readings,
    readme_table,
    shapes_table,
)
from notes.tools.quantities import ExpressionError
from notes.tools.readings import Request

REPORTS = recorded.ROOT / "tests" / "planted" / "reports"
NOT_KNOWN = "–"
# Columns: head, figure, format. The first three have percentiles or are relative.
COLUMNS = {
    "tflops": (
        ("time", "time", ""),
        ("TFLOPS", "tflops", "bare .1"),
        ("of cuBLAS", "ratio", ""),
        ("tensor-core share", "share", ""),
    ),
    "gb_per_s": (
        ("time", "time", ""),
        ("GB/s", "gb_per_s", "bare"),
        ("of device copy", "ratio", ""),
        ("memory share", "share", ""),
    ),
}
COMMON_COLUMNS = (
    ("SM clock", "clock", ""),
    ("10⁶ cycles", "cycles", "million bare"),
    ("watts", "watts", ""),
    ("joules", "joules", ""),
    ("L2 to SMs", "l2_bytes", ""),
    ("DRAM", "dram_bytes", ""),
)
DROPPED_IF_UNKNOWN = ("watts", "joules")  # only the sustained protocol has them


def below(name):
    """The rung that it grows from, if that computes the same, or None; a variant's is its rung."""
    if recorded.is_variant(name):
        return recorded.rung_of(name)
    found = rungs.find().get(name)
    return found.below if found and found.below not in readings.APART else None


def cell(library, names, name, column, selectors):
    """One figure, looked for where all of `names` have a result, or a dash."""
    _, figure, form = column
    track = () if name in names else (names[-1][0],)  # a rung's is in its name
    own = Request(name, figure, (*selectors, *track))
    for together in ([*(Request(one, figure, selectors) for one in names), own], [own]):
        try:
            return quantities.write_as(readings.answer(together, library)[own], form.split())
        except ExpressionError:
            continue
    return NOT_KNOWN


def shape_selector(request):
    """The shape that a request looks at, as a selector: counts are shown of no other one."""
    return "x".join(map(str, readings.place_of(request).shape))


def rung_rows(library, name, selectors, columns):
    """The cells of the rung below, of the rung, and of whom they are compared with."""
    measure = recorded.MOVES if name[0] == recorded.MOVING else recorded.PRODUCTS
    rungs = [one for one in (below(name), name) if one]
    rows = [
        [one, *(cell(library, rungs, one, column, selectors) for column in columns)]
        for one in rungs
    ]
    other = [cell(library, rungs, measure.other, column, selectors) for column in columns]
    heads = [column[0] for column in columns]
    other[heads.index(f"of {measure.other_name}")] = "1"
    return [*rows, [measure.other_name, *other]]


def rung_block(library, words):
    """The table of a rung beside the one below it and whom it is compared with."""
    name, *more = words or [""]
    if not recorded.NAME.fullmatch(name) or not all(word.startswith("@") for word in more):
        raise ValueError(f"'rung {' '.join(words)}': write rung v07, or rung v07 @4096")
    selectors = tuple(word[1:] for word in more)
    request = Request(name, "time", selectors)
    readings.answer([request], library)  # or say what is missing
    if not any(readings.SHAPE.fullmatch(word) for word in selectors):
        selectors = (*selectors, shape_selector(request))
    measure = recorded.MOVES if name[0] == recorded.MOVING else recorded.PRODUCTS
    columns = (*COLUMNS[measure.rate], *COMMON_COLUMNS)
    rows = rung_rows(library, name, selectors, columns)
    kept = [
        index
        for index, column in enumerate(columns, 1)
        if column[0] not in DROPPED_IF_UNKNOWN or any(line[index] != NOT_KNOWN for line in rows)
    ]
    head = ["program", *(columns[index - 1][0] for index in kept)]
    lines = [[line[0], *(line[index] for index in kept)] for line in rows]
    return table([head, *lines], 1)


# --- variants, and programs at several shapes -----------------------------------------------

VARIANTS_HEADER = ["program", "idea", "TFLOPS", "of cuBLAS", "against its rung"]
VARIANTS_HEADER += ["tensor-core share", "SM clock"]


def against_rung(ladder, name):
    """'1.0123 (5 of 5 passes faster)' for a variant, a dash for a rung."""
    for pair in ladder["neighbours"]:
        if recorded.is_variant(name) and pair["upper"] == name:
            faster = f"{pair['passes_faster']} of {pair['passes']} passes faster"
            return f"{pair['paired_ratio']:.4f} ({faster})"
    return NOT_KNOWN


def variant_row(ladder, name):
    """One row of times; or of something without a result: not in the run, or failed."""
    entry = next((entry for entry in ladder["rungs"] if entry["step"] == name), None)
    if entry is None or "failed" in entry:
        words = plain(f"failed: {entry['failed']}") if entry else "not in this run"
        return [name, words, *[NOT_KNOWN] * (len(VARIANTS_HEADER) - 2)]
    timing = entry["timing"]
    return [
        name,
        plain(entry["idea"]),
        recorded.spread(timing["step"]["tflops"], 1),
        recorded.spread(timing["ratio_to_cublas"], 3),
        against_rung(ladder, name),
        *readme_table.share_and_clock(timing["step"]),
    ]


def variants_block(library, words):
    """Times of the rungs and variants named, or of all: of the newest standard run with variants, or
    of that of a commit (@1234abc)."""
    commits = [word[1:] for word in words if word.startswith("@")]
    names = [word for word in words if not word.startswith("@")]
    if len(commits) > 1 or not all(map(recorded.NAME.fullmatch, names)):
        raise ValueError(f"'variants {' '.join(words)}': write variants v16 v16-late-place")
    ladder = library.with_variants(*commits)
    if ladder is None:
        return [shapes_table.NOTHING]
    names = names or [entry["step"] for entry in ladder["rungs"]]
    return table([VARIANTS_HEADER, *(variant_row(ladder, name) for name in names)])


def shapes_block(library, words):
    """Times of some programs at several shapes, and where they are from."""
    if not words or not all(map(recorded.NAME.fullmatch, words)):
        raise ValueError(f"'shapes {' '.join(words)}': write shapes t04 t04-four-per-thread")
    rows, caption = shapes_table.table(words, library.folder)
    return [*table(rows), "", caption] if rows else [caption]


# --- planted bugs ---------------------------------------------------------------------------


def grouped(found):
    """'lazy and late-reads: hazard; eager: nothing'."""
    by_kind = {}
    for who, kind in found.items():
        if kind is not None:
            by_kind.setdefault(kind or "nothing", []).append(who)
    return "; ".join(f"{', '.join(who)}: {kind}" for kind, who in by_kind.items())


def hazard_block(_library, words):
    """A planted bug: what is wrong, the change, who found what, and one report."""
    if len(words) != 2:
        raise ValueError(f"'hazard {' '.join(words)}': write hazard v07 no-wait-on-full")
    rung, name = words
    path = REPORTS / f"{rung}.json"
    if not re.fullmatch(r"[vat][0-9]{2}", rung) or not path.exists():
        raise ValueError(f"no reports of {rung}: python3 tests/planted.py --reports {rung}-")
    bugs = json.loads(path.read_text(encoding="utf-8"))["bugs"]
    if name not in bugs:
        raise ValueError(
            f"{rung} has no planted bug {name} with a report; there are {', '.join(bugs)}"
        )
    bug = bugs[name]
    lines = [f"**{name}**: {bug['wrong']}.", "", "```diff", *unindented(bug["change"]), "```", ""]
    lines.append(f"The emulator, by policy: {grouped(bug['found'])}.")
    if bug["report"]:
        lines += [f"Under {bug['policy']} it says:", "", "```", *bug["report"], "```"]
    return lines


def unindented(change):
    """The lines of a change without the blanks that all of them begin with."""
    blanks = min((len(line[1:]) - len(line[1:].lstrip()) for line in change), default=0)
    return [line[0] + line[1 + blanks :] for line in change]


# --- two runs of the same thing -------------------------------------------------------------

DISAGREEMENT = "largest disagreement: "  # the line of the report from which on it is quoted


def agreement_block(library, words):
    """The end of what make compare said of two runs on one card. tests/test_compare.py compares that
    file with the two records."""
    if words:
        raise ValueError("'agreement' takes no words")
    found = sorted(library.folder.glob("*-agreement.txt"))
    if not found:
        raise ValueError(f"{library.folder} holds no report of two runs, *-agreement.txt")
    text = found[-1].read_text(encoding="utf-8")
    begin = text.find(DISAGREEMENT)
    if begin < 0:
        raise ValueError(f"{found[-1]} has no line '{DISAGREEMENT.strip()} ...': make compare")
    return ["```", *text[begin:].splitlines(), "```"]


# --- the energy budget ----------------------------------------------------------------------

NO_ENERGY = ["Not recorded yet."]


def budget_rows(made):
    """Where the joules of the whole go. They add up to those of the whole."""
    rows = [["what takes it", "mJ", "of the whole", "lowest and highest, one part left out"]]
    for entry in made.entries:
        cells = (
            f"{1e3 * entry.joules:.1f}",
            f"{100 * entry.share(made.joules):.1f} %",
            f"{1e3 * entry.low:.1f} to {1e3 * entry.high:.1f}",
        )
        rows.append([entry.words, *(cell.replace("-", "−") for cell in cells)])
    error = f"± {1e3 * made.error:.1f} by the counter's scatter"
    return [*rows, ["the whole", f"{1e3 * made.joules:.1f}", "", error]]


def fit_rows(made):
    """How well the model meets each part, and its two numbers that are no joules."""
    rows = [["part", "model against measurement"]]
    for name, value in made.fit.residuals.items():
        rows.append([name, f"{100 * value:+.1f} %".replace("-", "−")])
    rows.append(["voltage, per GHz", f"{made.fit.slope:.3f} of that at {made.fit.clock:.3f} GHz"])
    if made.zeros is not None:
        rows.append(["multiplying zeros takes", f"{100 * made.zeros:.0f} % of multiplying numbers"])
    if made.apart is not None:
        apart = f"{1e3 * made.apart:+.1f} mJ".replace("-", "−")
        rows.append(["loads that do not merge take", apart])
    return rows


PART_COLUMNS = (  # head, field, format, scale
    ("ms", "seconds", ".4f", 1e3),
    ("joules", "joules", ".4f", 1),
    ("clock, GHz", "sm_clock_ghz", ".3f", 1),
    ("tensor-core share, %", "tensor_core_share", ".1f", 100),
)
COUNT_COLUMNS = (
    ("asked of the L2, GB", "l2_bytes", ".2f", 1e-9),
    ("arrived at the SMs, GB", "sm_bytes", ".2f", 1e-9),
    ("read from DRAM, GB", "dram_read_bytes", ".2f", 1e-9),
)


def known_or_dash(value, form, scale=1):
    """A figure that may not be known."""
    return NOT_KNOWN if value is None else f"{scale * value:{form}}"


def cells_of(part, columns):
    """The figures of a part that those columns show."""
    return [known_or_dash(part.get(key), form, scale) for _, key, form, scale in columns]


def part_rows(record):
    """What was measured of all parts, in the order in which they ran."""
    head = ["part", "what it is", "watts", *(column[0] for column in PART_COLUMNS), "°C"]
    rows = [head]
    for part in record["parts"]:
        if "failed" in part:
            cells = [f"failed: {plain(part['failed'])}", *[NOT_KNOWN] * (len(head) - 2)]
        else:
            watts = f"{part['watts']:.1f} ± {part['watts_error']:.1f}"
            celsius = known_or_dash(part["celsius"][1], ".0f")
            cells = [plain(part["what"]), watts, *cells_of(part, PART_COLUMNS), celsius]
        rows.append([plain(part["part"]), *cells])
    return rows


def counted_rows(record):
    """What ncu counted of one launch of some parts. Unsolvable if nothing was."""
    if not record.get("counted"):
        raise budget.Unsolvable("nothing was counted in this run")
    rows = [[part["part"], *cells_of(part, COUNT_COLUMNS)] for part in record["counted"]["parts"]]
    return [["part", *(column[0] for column in COUNT_COLUMNS)], *rows]


ENERGY_TABLES = {
    "budget": (lambda record: budget_rows(budget.make(record)), 1),
    "fit": (lambda record: fit_rows(budget.make(record)), 1),
    "parts": (part_rows, 2),
    "counts": (counted_rows, 1),
}
ENERGY_PICTURE = (
    '<img src="../plots/energy.png" width="900" alt="The energy budgets of rungs, and the '
    'watts and clocks of their parts">'
)


def energy_runs(library, rung=None):
    """The newest whole run of that rung's parts, or of every rung's; the page now uses them."""
    runs = recorded.newest_energies(library.all_of("energy"), library.home)
    runs = [run for run in runs if rung in (None, run["rung"])]
    return [library.answered(run) for run in runs]


def energy_block(library, words):
    """A table of the newest whole run of a rung's parts, or the picture of all rungs."""
    if words == ["picture"]:
        return [ENERGY_PICTURE] if energy_runs(library) else NO_ENERGY
    if len(words) != 2 or words[0] not in ENERGY_TABLES:
        wanted = "write energy budget, fit, parts or counts and a rung, or energy picture"
        raise ValueError(f"'energy {' '.join(words)}': {wanted}")
    runs = energy_runs(library, words[1])
    if not runs:
        return NO_ENERGY
    make, texts = ENERGY_TABLES[words[0]]
    try:
        rows = make(runs[0])
    except budget.Unsolvable as error:
        return [f"No table: {error}."]
    return table(rows, texts)


# --- where figures are from -----------------------------------------------------------------


def sources_block(library, words):
    """Which recorded results the figures of the page are from."""
    if words:
        raise ValueError("'sources' takes no words")
    return [f"- {text}" for text in notes_captions.captions(library)] or ["Nothing recorded."]


BLOCKS = {
    "rung": rung_block,
    "variants": variants_block,
    "shapes": shapes_block,
    "figures": figures_block.block,
    "hazard": hazard_block,
    "agreement": agreement_block,
    "energy": energy_block,
    "sources": sources_block,
}


def lines_of(library, words):
    """What stands between the markers of a block."""
    return BLOCKS[words[0]](library, list(words[1:]))
