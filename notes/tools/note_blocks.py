"""The blocks of the notes: tables, what the emulator says of a planted bug, and sources."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

from bench.energy import budget
from bench.markdown import DASH, plain, table
from bench.records import recorded
from notes.tools import figures_block, shapes_table
from notes.tools.shapes_table import NOTHING

REPORTS = recorded.ROOT / "planted" / "reports"


def usage(words, right):
    """The error of a block whose words are not what it takes."""
    return ValueError(f"'{' '.join(words)}': write {right}")


# --- variants, and programs at several shapes -----------------------------------------------


def variants_block(library, words):
    """Times of the rungs and variants named, or of all: of the newest standard run with variants,
    or of that of a commit (@1234abc)."""
    commits = [word[1:] for word in words if word.startswith("@")]
    names = [word for word in words if not word.startswith("@")]
    if len(commits) > 1 or not all(map(recorded.NAME.fullmatch, names)):
        raise usage(words, "variants v16 v16-late-place")
    ladder = library.with_variants(*commits)
    if ladder is None:
        return [NOTHING]
    figures = [("TFLOPS", "tflops", ".1", "±"), ("of cuBLAS", "ratio", "±")]
    figures += [("tensor-core share", "share"), ("SM clock", "clock")]
    columns = [(head, [[ladder]], *how) for head, *how in figures]
    names = names or recorded.all_names(ladder)
    rows = shapes_table.rows(["program", "idea"], [ladder], names, columns)
    rows[0].append("against its rung")
    pairs = {pair["upper"]: pair for pair in ladder["neighbours"]}
    for row in rows[1:]:
        row.append(DASH)
        if row[0] in pairs and recorded.is_variant(row[0]):
            paired = "{paired_ratio:.4f} ({passes_faster}/{passes})"
            row[-1] = paired.format_map(pairs[row[0]])
    return table(rows)


def shapes_block(library, words):
    """Times of some programs at several shapes, and where they are from."""
    if not words or not all(map(recorded.NAME.fullmatch, words)):
        raise usage(words, "shapes t04 t04-four-per-thread")
    rows, caption = shapes_table.table(words, library.folder)
    return [*table(rows), "", caption] if rows else [caption]


def sweep_block(library, words):
    """A rung over families of shapes drawn from a seed: what they come to, or the worst shapes."""
    right = len(words) in (2, 3) and recorded.NAME.fullmatch(words[0]) and words[1].isdigit()
    if not right or words[2:] not in ([], ["worst"]):
        raise usage(words, "sweep v18 1, or sweep v18 1 worst")
    make = shapes_table.worst if words[2:] else shapes_table.families
    rows, caption = make(words[0], int(words[1]), library.folder)
    below = ["", caption] if caption else []
    return [*table(rows, 1 + len(words[2:])), *below] if rows else [caption]


# --- planted bugs ---------------------------------------------------------------------------


def hazard_block(_library, words):
    """A planted bug: what is wrong, the change, who found what, and one report."""
    found = {path.stem: path for path in REPORTS.glob("*.json")}
    if len(words) != 2 or words[0] not in found:
        raise usage(words, f"hazard v07 no-wait-on-full; there are reports of {', '.join(found)}")
    bugs = json.loads(found[words[0]].read_text(encoding="utf-8"))["bugs"]
    if words[1] not in bugs:
        raise usage(words, f"hazard {words[0]} and one of {', '.join(bugs)}")
    bug, by_kind = bugs[words[1]], {}
    for policy, kind in bug["found"].items():
        if kind is not None:
            by_kind.setdefault(kind or "nothing", []).append(policy)
    said = "; ".join(f"{', '.join(policies)}: {kind}" for kind, policies in by_kind.items())
    lines = [f"**{words[1]}**: {bug['wrong']}.", "", "```diff", *unindented(bug["change"]), "```"]
    lines += ["", f"The emulator, by policy: {said}."]
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
    """The end of what make compare said of two runs on one card. tests/test_compare.py compares
    that file with the two records."""
    found = sorted(library.folder.glob("*-agreement.txt"))
    if words or not found:
        raise usage(words, f"agreement, and put a report of two runs in {library.folder}")
    text = found[-1].read_text(encoding="utf-8")
    return ["```", *text[text.index(DISAGREEMENT) :].splitlines(), "```"]


# --- the energy budget ----------------------------------------------------------------------


def cell(value, form, scale=1):
    """A figure, or a dash where none is known."""
    return DASH if value is None else f"{scale * value:{form}}".replace("-", "−")


PART_COLUMNS = (  # head, field, format, scale
    ("joules", "joules", ".3f", 1),
    ("clock, GHz", "sm_clock_ghz", ".3f", 1),
    ("tensor-core share, %", "tensor_core_share", ".1f", 100),
)
COUNT_COLUMNS = (
    ("L2 to SMs, GB", "l2_bytes", ".2f", 1e-9),
    ("arrives at SMs, GB", "sm_bytes", ".2f", 1e-9),
    ("DRAM read, GB", "dram_read_bytes", ".2f", 1e-9),
)


def part_rows(record):
    """What was measured of all parts, in the order in which they ran."""
    rows = [["part", "what it is", "watts", *(head for head, *_ in PART_COLUMNS)]]
    for part in record["parts"]:
        if "failed" in part:
            cells = [f"failed: {plain(part['failed'])}", *[DASH] * (len(rows[0]) - 2)]
        else:
            cells = [plain(part["what"]), cell(part["watts"], ".0f")]
            cells += [cell(part[key], *how) for _, key, *how in PART_COLUMNS]
        rows.append([plain(part["part"]), *cells])
    return rows


def counted_rows(record):
    """What ncu counted of one launch of some parts. Unsolvable if nothing was."""
    if not record.get("counted"):
        raise budget.Unsolvable("nothing was counted in this run")
    rows = [["part", *(head for head, *_ in COUNT_COLUMNS)]]
    for part in record["counted"]["parts"]:
        cells = [cell(part.get(key), *how) for _, key, *how in COUNT_COLUMNS]
        rows.append([part["part"], *cells])
    return rows


ENERGY_TABLES = {
    "budget": lambda record: budget.rows(budget.make(record)),
    "parts": part_rows,
    "counts": counted_rows,
}


def energy_block(library, words):
    """A table of the newest whole run of a rung's parts."""
    if len(words) != 2 or words[0] not in ENERGY_TABLES:
        raise usage(words, "energy budget, parts or counts and a rung")
    runs = recorded.newest_energies(library.all_of("energy"), library.home)
    runs = [library.answered(run) for run in runs if run["rung"] == words[1]]
    if not runs:
        return [NOTHING]
    try:
        return table(ENERGY_TABLES[words[0]](runs[0]), 2 if words[0] == "parts" else 1)
    except budget.Unsolvable as error:
        return [f"No table: {error}."]


def fp8_block(library, words):
    """The upper rungs of FP8 at several shapes, after the sentence that says where they lose."""
    gpu = words[0].removeprefix("@") if words else None
    if len(words) > 1 or words[:1] == [gpu]:
        raise usage(words, "fp8 @h100")
    rows, where, caption = shapes_table.fp8(library.folder, gpu)
    return [where, "", *table(rows, 1), "", caption]


# --- what e4m3 can hold ---------------------------------------------------------------------

NORMALS = 16384  # of N(0,1): the middles of intervals as likely


def as_e4m3(number):
    """The nearest number of e4m3; magnitudes above 448 become 448."""
    _, exponent = math.frexp(number)  # |number| < 2^exponent
    step = 2.0 ** (max(exponent - 1, -6) - 3)
    return max(-448, min(round(number / step) * step, 448))


def quantised_block(_library, words):
    """What numbers from N(0,1) lose if one scale brings them and a large one into e4m3's range."""
    if not words or not all(map(str.isdigit, words)):
        raise usage(words, "quantised 5 1000")
    normals = [NormalDist().inv_cdf((i + 0.5) / NORMALS) for i in range(NORMALS)]
    rows = [["largest number, standard deviations", "error of the others, %, root mean square"]]
    for word in words:
        scale = int(word) / 448
        errors = [as_e4m3(number / scale) * scale - number for number in normals]
        percent = 100 * math.hypot(*errors) / math.hypot(*normals)
        rows.append([f"{int(word):,}", f"{percent:.3g}"])
    return table(rows, 0)


# --- where figures are from -----------------------------------------------------------------


def sources_block(library, words):
    """Which recorded results the figures of the page are from."""
    if words:
        raise usage(words, "sources")
    return [f"- {text}" for text in shapes_table.sources(library.used)] or ["Nothing recorded."]


BLOCKS = {
    "rung": figures_block.rung_block,
    "variants": variants_block,
    "shapes": shapes_block,
    "sweep": sweep_block,
    "figures": figures_block.block,
    "hazard": hazard_block,
    "agreement": agreement_block,
    "energy": energy_block,
    "quantised": quantised_block,
    "fp8": fp8_block,
    "sources": sources_block,
}


def lines_of(library, words):
    """What stands between the markers of a block."""
    return BLOCKS[words[0]](library, list(words[1:]))
