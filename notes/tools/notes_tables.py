#!/usr/bin/env python3
"""Fills notes/**/*.md and the README from recorded results: tables, blocks, single figures.

notes/README.md describes the markers of blocks (<!-- rung v07 -->) and of figures in a line of text
(<!--=v07 tflops-->). A table stands between two lines, which may name what to show (all of it if they do not):

    <!-- table:variants v07 v06-each-sm:begin -->
    <!-- table:variants:end -->

`variants` are times, from the newest finished burst run at 8192 x 8192 x 8192 with variants in it,
or with `variants@1234abc` from the one of that commit; `counters` are counts of hardware events,
from the newest counters with variants at that size; `source` (or `source@1234abc`) says which runs these are.
`shapes` are times of the programs named at some shapes, from the newest run at each that has all of
them; `events` are the counts of the programs named at 4096 x 4096 x 4096 or, of t rungs, at
8192 x 8192.
--check writes nothing and exits 1 if a note says anything else.

Exit status: 0 done (or equal), 1 a note differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
from pathlib import Path

from bench import markdown, process
from bench.records import recorded
from notes.tools import (
    expressions,
    note_blocks,
    notes_captions,
    readings,
    readme_table,
    shapes_table,
)

MARKED = re.compile(
    r"^<!-- table:(?P<kind>[a-z]+)(?:@(?P<commit>[0-9a-f]+))?(?P<names>(?: [a-z0-9-]+)*):begin -->\n"
    r"(?P<body>.*?)"
    r"^<!-- table:(?P=kind):end -->$",
    re.DOTALL | re.MULTILINE,
)
MARKER = re.compile(r"^<!-- table:", re.MULTILINE)
NOT_RECORDED = "Not recorded yet."
VARIANTS_HEADER = ["program", "idea", "TFLOPS", "of cuBLAS", "against its rung"]
VARIANTS_HEADER += ["tensor-core share", "SM clock"]
SECTOR_BYTES = 32
EVENTS_SHAPES = ((4096, 4096, 4096), (8192, 8192))  # of products; of what is moved

# A column of the counters: its head, the metric, what to multiply with, digits.
COLUMNS = (
    ("DRAM read, GB", "dram__bytes_read.sum", 1e-9, 2),
    ("DRAM written, GB", "dram__bytes_write.sum", 1e-9, 2),
    ("L2 to SMs, GB", "lts__t_sectors_srcunit_tex.sum", SECTOR_BYTES * 1e-9, 2),
    ("arrives at SMs, GB", "l1tex__m_xbar2l1tex_read_bytes.sum", 1e-9, 2),
    ("10⁶ cycles", "sm__cycles_elapsed.max", 1e-6, 2),
    ("10⁶ shared bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1e-6, 2),
)


class Recorded:
    """The runs that the tables show (any may be None), and the library of all others."""

    def __init__(self, variants, counters, folder):
        self.folder = folder
        self.library = readings.Library(folder)
        self.variants = recorded.load_ladder(variants) if variants else None
        self.counters = recorded.load_record(counters) if counters else None
        if self.counters and self.counters["kind"] != "counters":
            raise ValueError(f"{counters}: not recorded counters")

    def at(self, commit):
        """The same with the variants that were run at `commit`; itself if that is None."""
        if commit is None:
            return self
        path = recorded.newest_variants(commit=commit)
        if path is None:
            raise ValueError(f"no run with variants of commit {commit} is recorded")
        there = copy.copy(self)
        there.variants = recorded.load_ladder(path)
        return there


def aligned(header, texts):
    """The two lines above a table: the first `texts` columns are words, the others figures."""
    rule = ["---" if index < texts else "---:" for index in range(len(header))]
    return [readme_table.row(header), readme_table.row(rule)]


def choose(entries, names):
    """The entries to show, in the order of `names` (all if there are none), or a name alone."""
    by_name = {entry["step"]: entry for entry in entries}
    return [by_name.get(name, name) for name in names or by_name]


def missing_row(entry, columns):
    """The row of something without a result: not in the run, or failed."""
    if isinstance(entry, str):
        cells = [entry, "not in this run"]
    else:
        cells = [entry["step"], f"failed: {markdown.plain(entry['failed'])}"]
    return readme_table.row(cells + ["–"] * (columns - len(cells)))


def against_rung(ladder, name):
    """'1.0123 (5 of 5 passes faster)' for a variant, a dash for a rung."""
    for pair in ladder["neighbours"]:
        if recorded.is_variant(name) and pair["upper"] == name:
            faster = f"{pair['passes_faster']} of {pair['passes']} passes faster"
            return f"{pair['paired_ratio']:.4f} ({faster})"
    return "–"


def variant_row(ladder, entry):
    """One row of times."""
    if isinstance(entry, str) or "failed" in entry:
        return missing_row(entry, len(VARIANTS_HEADER))
    timing = entry["timing"]
    return readme_table.row(
        [
            entry["step"],
            markdown.plain(entry["idea"]),
            recorded.spread(timing["step"]["tflops"], 1),
            recorded.spread(timing["ratio_to_cublas"], 3),
            against_rung(ladder, entry["step"]),
            *readme_table.share_and_clock(timing["step"]),
        ]
    )


def variants_table(results, names):
    """Times of the rungs and variants named."""
    ladder = results.variants
    if ladder is None:
        return [NOT_RECORDED]
    rows = [variant_row(ladder, entry) for entry in choose(ladder["rungs"], names)]
    return aligned(VARIANTS_HEADER, 2) + rows


def counter_cell(counters, metric, scale, digits):
    """One count, or a dash if ncu didn't know it."""
    value = counters[metric]
    return "–" if value is None else f"{value * scale:.{digits}f}"


def counters_row(name, counters):
    """One row of counts."""
    cells = [counter_cell(counters, *column[1:]) for column in COLUMNS]
    return readme_table.row([name, *cells])


def counters_table(results, names):
    """Counts of the rungs and variants named, and of cuBLAS in the first one's process."""
    if results.counters is None:
        return [NOT_RECORDED]
    rows = []
    cublas = None
    for entry in choose(results.counters["steps"], names):
        if isinstance(entry, str) or "failed" in entry:
            rows.append(missing_row(entry, 1 + len(COLUMNS)))
            continue
        rows.append(counters_row(entry["step"], entry["counters"]))
        cublas = cublas or entry.get("cublas")  # of what is moved there is none
    if cublas:
        rows.append(counters_row("cuBLAS", cublas["counters"]))
    return aligned(["program", *(column[0] for column in COLUMNS)], 1) + rows


def source(results, _names):
    """Which runs the tables of a note are from."""
    times = readme_table.caption(results.variants) if results.variants else NOT_RECORDED
    counts = (
        notes_captions.counters_caption(results.counters)
        if results.counters
        else f"Counts: {NOT_RECORDED}"
    )
    return [f"Times: {times}", "", counts]


def shapes(results, names):
    """Times of some programs at several shapes."""
    rows, caption = shapes_table.table(names, results.folder)
    if rows is None:
        return [caption]
    lines = aligned(rows[0], 2) + [readme_table.row(row) for row in rows[1:]]
    return [*lines, "", caption]


def events(results, names):
    """Counts of some programs, and where they are from."""
    found = (
        recorded.newest_with(names, shape, "counters", results.folder) for shape in EVENTS_SHAPES
    )
    path = next(filter(None, found), None)
    if path is None:
        return [NOT_RECORDED]
    there = copy.copy(results)
    there.counters = recorded.load_record(path)
    return [*counters_table(there, names), "", notes_captions.counters_caption(there.counters)]


TABLES = {
    "variants": variants_table,
    "counters": counters_table,
    "source": source,
    "shapes": shapes,
    "events": events,
}


def fill_tables(note, results):
    """The note with its tables filled. ValueError for a marker that isn't understood."""

    def replace(match):
        make = TABLES.get(match["kind"])
        if make is None or MARKER.search(match["body"]):
            raise ValueError(f"'{match[0].splitlines()[0]}' isn't a table, or has no end")
        begin = match[0].splitlines()[0]
        text = "\n".join(make(results.at(match["commit"]), match["names"].split()))
        return f"{begin}\n{text}\n<!-- table:{match['kind']}:end -->"

    filled, tables = MARKED.subn(replace, note)
    if len(MARKER.findall(note)) != 2 * tables:
        raise ValueError("a table's marker has no partner, or is not written as it should be")
    return filled


def fill_block(segment, library):
    """A block's markers with what belongs between them."""
    head = segment.text.splitlines()[0]
    try:
        lines = note_blocks.lines_of(library, segment.words)
    except ValueError as error:
        raise ValueError(f"line {segment.line}: {error}") from error
    return "\n".join([head, *lines, markdown.END, ""])


def fill_figures(note, library):
    """The note with its single figures and its blocks filled; the blocks of sources at the end, when
    all that was used is known."""
    evaluator = expressions.Evaluator(library)
    parts = markdown.segments(note)
    texts = [segment.text for segment in parts]
    sources = [index for index, segment in enumerate(parts) if segment.words[:1] == ("sources",)]
    for index, segment in enumerate(parts):
        if segment.kind == "text":
            texts[index] = markdown.replace_figures(segment, evaluator.text)
        elif segment.kind == "block" and index not in sources:
            texts[index] = fill_block(segment, library)
    for index in sources:
        texts[index] = fill_block(parts[index], library)
    return "".join(texts)


def fill(note, results):
    """The note with everything filled. ValueError for a marker that isn't understood."""
    results.library.used = []
    return fill_figures(fill_tables(note, results), results.library)


def pages(notes):
    """All notes, and the README beside their folder if there is one."""
    found = sorted(notes.glob("**/*.md"))
    readme = notes.parent / "README.md"
    return [*found, readme] if readme.exists() else found


def update(options):
    """Writes or compares all notes; returns the exit status."""
    variants = options.variants or recorded.newest_variants(options.results)
    counters = options.counters or recorded.newest_counters(options.results)
    results = Recorded(variants, counters, options.results)
    status = 0
    for path in pages(options.notes):
        note = path.read_text(encoding="utf-8")
        try:
            wanted = fill(note, results)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if note == wanted:
            continue
        if options.check:
            print(f"{path}: not what notes_tables.py would write; 'make notes'", file=sys.stderr)
            status = 1
        else:
            recorded.write_whole(path, wanted.encode("utf-8"))
            print(f"{path}: filled")
    return status


def main(arguments=None):
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(
        description="Fill the tables of the notes from recorded results.", allow_abbrev=False
    )
    add = parser.add_argument
    add("--variants", metavar="FILE", type=Path, help="default: newest run with variants")
    add("--counters", metavar="FILE", type=Path, help="default: newest counters")
    add("--results", metavar="DIR", type=Path, default=recorded.RESULTS)
    add("--notes", metavar="DIR", type=Path, default=recorded.ROOT / "notes")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    try:
        return update(parser.parse_args(arguments))
    except (OSError, ValueError) as error:
        print(f"notes_tables: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError) as error:
        print(f"notes_tables: the results lack or garble a field: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(process.ended(main))
