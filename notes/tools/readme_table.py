#!/usr/bin/env python3
"""Fills the README's results, between markers, from recorded ladders.

Nobody types a figure by hand. `results` is the v track: without --results the newest finished burst
run at 8192 x 8192 x 8192 in bench/results on the home GPU (recorded.home_of) is shown, beside it the
ratios of that commit on other GPUs. A README need not have the others: `ampere` is the newest run of
the a track at each of some shapes; a01, which computes something else, has a table of its own. `tma`
is the same of the t track, with a table for t01. `sizes`, `calls` and `rivals` are those of
gpu_tables.py. --check writes nothing and exits 1 if the README says anything else.

Exit status: 0 done (or equal), 1 the README differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import markdown, process
from bench.records import recorded
from bench.records.vocabulary import ratio_to
from notes.tools import gpu_tables, shapes_table
from notes.tools.shapes_table import optional  # noqa: F401 (the book's tables find it here)

NOTHING = "No run is recorded yet. `make ladder` measures one on your GPU."
APART = {"a": "a01", "t": "t01"}  # what computes something else than the rest of its track


def linked(rows, steps):
    """A table's rows with the rungs' names as links to their files, if the files are there."""

    def link(name):
        files = sorted(steps.glob(f"{name}_*.cu"))
        return f"[{name}](steps/{files[0].name})" if files else name

    return [rows[0], *([link(row[0]), *row[1:]] for row in rows[1:])]


def table(ladder, steps, runs):
    """The whole table, with cuBLAS below the rungs, and the best of cuBLASLt if it was timed."""
    ratios = shapes_table.ratio_columns({recorded.shape_of(ladder): runs})
    columns = [
        ("TFLOPS", [[ladder]], "tflops", "±"),
        *((head, [runs[gpu]], figure, "±") for head, gpu, figure in ratios),
        ("tensor-core share", [[ladder]], "share"),
        ("SM clock", [[ladder]], "clock"),
    ]
    rows = shapes_table.rows(["step", "idea"], [ladder], recorded.all_names(ladder), columns)
    return markdown.table(linked(rows, steps))


def cards_words(ladders):
    """Which ratios are those of several cards, and what the worst card gives; '' of one card."""
    first, *others = [[rung["step"] for rung in recorded.measured(one)] for one in ladders]
    shared = [name for name in first if any(name in them for them in others)]
    if not shared:
        return ""
    gpu = recorded.short_name(ladders[0]["gpu"])
    words = f" {gpu}: the ratios of {shared[0]} to {shared[-1]} are medians of {len(ladders)} cards"
    words += ", ± over all of them"
    best = ratio_to("cublaslt")
    top = recorded.over_cards(ladders, recorded.TOP, lambda timing: timing.get(best))
    if top:
        words += f"; on the worst {recorded.TOP} is at {top['worst']:.3f} of cuBLASLt's best"
    return f"{words}."


def block(ladder, steps, folder=recorded.RESULTS):
    """Everything between the markers, as one text."""
    if ladder is None:
        return NOTHING
    runs = recorded.beside(ladder, folder)
    names = recorded.all_names(ladder)
    runs = {gpu: them for gpu, them in runs.items() if recorded.all_names(them[0]) == names}
    said = shapes_table.caption({recorded.shape_of(ladder): runs})
    said += "".join(map(cards_words, runs.values()))
    picture = '<img src="plots/ladder.png" width="900" alt="TFLOPS of every rung">'
    return "\n".join([*table(ladder, steps, runs), "", said, "", picture])


def captioned(rows, caption, words=2):
    """A table and its caption below it, or what to say if nothing is recorded."""
    return "\n".join([*markdown.table(rows, words), "", caption]) if rows else caption


def track_block(steps, track):
    """The rungs of a track at several shapes, with what they are compared with below them."""
    names = recorded.rung_names(steps, track)
    found = []
    for those in (
        [name for name in names if name != APART[track]],
        [name for name in names if name == APART[track]],
    ):
        rows, caption = shapes_table.table(those)
        found.append(captioned(rows and linked(rows, steps), caption))
    return "\n\n".join(found)


# Names of markers that a README need not have.
BLOCKS = {
    "ampere": lambda steps: track_block(steps, "a"),
    "tma": lambda steps: track_block(steps, "t"),
    "sizes": lambda _: captioned(*gpu_tables.sizes(), words=1),
    "calls": lambda _: captioned(*gpu_tables.calls()),
    "rivals": lambda _: captioned(*gpu_tables.rivals()),
}


def fill(readme, name, text):
    """The README with `text` between the markers of that name. ValueError if they aren't there once
    each."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = readme.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended or begin in rest or end in before + after:
        raise ValueError(f"wants one {begin} and, after it, one {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def update(options):
    """Writes or compares; returns the exit status."""
    steps = options.readme.parent / "steps"
    path = options.results or recorded.newest_headline()
    text = block(recorded.load_rungs(path) if path else None, steps)
    readme = options.readme.read_text(encoding="utf-8")
    try:
        wanted = fill(readme, "results", text)
        for name, make in BLOCKS.items():
            if f"<!-- {name}:" in readme:
                wanted = fill(wanted, name, make(steps))
    except ValueError as error:
        raise ValueError(f"{options.readme}: {error}") from error
    words = "not what readme_table.py would write; run it", "results updated"
    return put(options.readme, readme, wanted, options.check, words)


def put(path, text, wanted, check, words):
    """Writes what a page should say, or says that it does not; returns the exit status."""
    if text == wanted:
        return 0
    if check:
        print(f"{path}: {words[0]}", file=sys.stderr)
        return 1
    recorded.write_whole(path, wanted.encode("utf-8"))
    print(f"{path}: {words[1]}")
    return 0


def status_of(program, action, *arguments):
    """The exit status of an action; expected errors become one line and 2."""
    try:
        return action(*arguments)
    except (OSError, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
    except (KeyError, TypeError) as error:
        print(f"{program}: the results lack or garble a field: {error!r}", file=sys.stderr)
    return 2


def main():
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description="Fill the README's results from a recorded ladder.", allow_abbrev=False
    )
    add = parser.add_argument
    add("--results", metavar="FILE", type=Path, help="default: newest headline run")
    add("--readme", type=Path, default=recorded.ROOT / "README.md")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    return status_of("readme_table", update, parser.parse_args())


if __name__ == "__main__":
    sys.exit(process.ended(main))
