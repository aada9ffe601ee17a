#!/usr/bin/env python3
"""Fills the results in the README and in notes/results.md, between markers, from recorded ladders.

`results` and `picture` (of the README) are the v track: without --results the newest finished burst run at
8192 x 8192 x 8192 in bench/results on the home GPU (recorded.home_of), beside it the newest ratios on other
GPUs; the picture's alternative text has its rates.
The other markers may stand in either: `ampere` and `tma` are the newest runs of the a and t tracks at
some shapes, with tables of their own for a01 and t01; `sizes`, `calls` and `rivals` are those of
shapes_table.py. --check writes nothing and exits 1 if the README says anything else.

Exit status: 0 done (or equal), 1 the README differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from bench import markdown, process, rungs
from bench.records import recorded
from bench.records.vocabulary import CONTENDERS
from notes.tools import readings, shapes_table
from notes.tools.shapes_table import optional  # noqa: F401 (the book's tables find it here)

NOTHING = "No run is recorded yet. `make ladder` measures one on your GPU."
APART = {"a": "a01", "t": "t01"}  # what computes something else than the rest of its track
BESIDE = ("cublas", "cublaslt")  # whose lines are in the picture


def linked(rows, steps):
    """A table's rows with the rungs' names as links to their files, if the files are there."""

    def link(name):
        files = sorted(steps.glob(f"{name}_*.cu"))
        return f"[{name}](steps/{files[0].name})" if files else name

    return [rows[0], *([link(row[0]), *row[1:]] for row in rows[1:])]


def awaited(name, names):
    """True of a rung that no record has yet, among a run's names neither, of their track."""
    return name in recorded.NOT_MEASURED and name not in names and name[0] == names[0][0]


def searched(runs):
    """Among how many cuBLASLt's best was looked for, on each GPU."""
    first, *others = (recorded.best_of_cublaslt(ladders) for ladders in runs.values())
    names = [recorded.short_name(ladders[0]["gpu"]) for ladders in runs.values()][1:]
    different = [f"{name}: {words}" for name, words in zip(names, others) if words != first]
    return "; ".join([first, *different])


def table(ladder, steps, runs):
    """Rates and ratios, with cuBLAS below the rungs, and the best of cuBLASLt if it was timed."""
    ratios = shapes_table.ratio_columns({recorded.shape_of(ladder): runs})
    columns = [
        ("TFLOPS", [[ladder]], "tflops", "±"),
        *(
            (head, [runs[gpu]], figure, "±")
            for head, gpu, figure in ratios
            if figure != readings.EARLY_RATIO
        ),
    ]
    names = recorded.all_names(ladder)
    waiting = {name: rung for name, rung in rungs.find(steps).items() if awaited(name, names)}
    rows = shapes_table.rows(["step", "idea"], [ladder], [*names, *waiting], columns)
    for row in rows:
        if row[0] in waiting:
            row[1] = f"{waiting[row[0]].idea} (not measured yet)"
        if row[0] == CONTENDERS["cublaslt"].name:
            row[1] = searched(runs)
    return markdown.table(linked(rows, steps))


def cards_words(ladders):
    """Which ratios are those of several cards, and what the worst card gives; '' of one card."""
    first, *others = [[rung["step"] for rung in recorded.measured(one)] for one in ladders]
    shared = [name for name in first if any(name in them for them in others)]
    if not shared:
        return ""
    words = (
        f" {recorded.short_name(ladders[0]['gpu'])}: {shared[0]} to {shared[-1]} were measured on "
        f"{len(ladders)} cards; their ratios are medians, ± spans all cards"
    )
    top = recorded.over_cards(ladders, recorded.TOP, lambda timing: timing.get("ratio_to_cublaslt"))
    if top:
        words += f"; on the slowest, {recorded.TOP} is at {top['worst']:.3f} of cuBLASLt's best"
    return f"{words}."


def picture(ladder):
    """The picture of the v track, with its rates in words; nothing if nothing is recorded."""
    if ladder is None:
        return ""
    rates = {
        rung["step"]: rung["timing"]["step"] for rung in recorded.measured(recorded.climb(ladder))
    }
    rates |= {CONTENDERS[name].title: ladder[name] for name in BESIDE if name in ladder}
    said = ", ".join(f"{name} {rate['tflops']['median']:.0f}" for name, rate in rates.items())
    size = shapes_table.title(recorded.shape_of(ladder))
    words = f"TFLOPS at {size}, {markdown.plain(ladder['gpu']['name'])}: {said}"
    return f'<img src="plots/ladder.png" width="900" alt="{words}">'


def block(ladder, steps, folder=recorded.RESULTS):
    """Everything between the markers, as one text."""
    if ladder is None:
        return NOTHING
    runs = recorded.headlines(ladder, [one for _, one in recorded.all_ladders(folder)])
    names = recorded.all_names(ladder)
    runs = {gpu: them for gpu, them in runs.items() if recorded.all_names(them[0]) == names}
    said = shapes_table.caption({recorded.shape_of(ladder): runs})
    said += "".join(map(cards_words, runs.values()))
    return "\n".join([*table(ladder, steps, runs), "", said])


def captioned(rows, caption, words=2):
    """A table and its caption below it, or what to say if nothing is recorded."""
    return "\n".join([*markdown.table(rows, words), "", caption]) if rows else caption


def track_block(steps, track):
    """The rungs of a track at several shapes, and what computes something else apart from them."""
    names, found = recorded.rung_names(steps, track), []
    for apart in (False, True)[: 1 + (track in APART)]:
        rows, caption = shapes_table.table(
            [name for name in names if (name == APART.get(track)) == apart]
        )
        found.append(captioned(rows and linked(rows, steps), caption))
    return "\n\n".join(found)


BLOCKS = {  # what a README need not have, by its marker
    "ampere": lambda steps: track_block(steps, "a"),
    "tma": lambda steps: track_block(steps, "t"),
    "sizes": lambda _: captioned(*shapes_table.sizes(), words=1),
    "calls": lambda _: captioned(*shapes_table.calls()),
    "rivals": lambda _: captioned(*shapes_table.rivals()),
}


def between(readme, name, text):
    """The README with `text` between the markers of that name. ValueError if they aren't there once
    each."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = readme.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended or begin in rest or end in before + after:
        raise ValueError(f"wants one {begin} and, after it, one {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def fill(readme, steps, results):
    """The README with all of its tables filled."""
    path = results or recorded.newest_headline()
    ladder = recorded.load_rungs(path) if path else None
    own = {"picture": lambda _: picture(ladder), "results": lambda steps: block(ladder, steps)}
    makers = {**own, **BLOCKS}
    there = [name for name in makers if f"<!-- {name}:" in readme]
    if not there:
        raise ValueError("has no <!-- results:begin --> nor another marker of a table")
    for name in there:
        readme = between(readme, name, makers[name](steps))
    return readme


def update(program, pages, fill, check):
    """Writes pages as fill(text) would have them, or compares; returns the exit status."""
    status = 0
    try:
        for path in pages:
            text = path.read_text(encoding="utf-8")
            try:
                wanted = fill(text)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
            if wanted != text and check:
                print(f"{path}: not what '{program}' would write; run it", file=sys.stderr)
                status = 1
            elif wanted != text:
                recorded.write_whole(path, wanted.encode("utf-8"))
                print(f"{path}: filled")
    except (OSError, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return status


def main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    add("--results", metavar="FILE", type=Path, help="default: newest headline run")
    add("--readme", type=Path, help="default: README.md and notes/results.md")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    options = parser.parse_args(arguments)

    pages = [options.readme or recorded.ROOT / "README.md"]
    steps = pages[0].parent / "steps"
    if options.readme is None:
        pages.append(recorded.ROOT / "notes" / "results.md")
    filled = partial(fill, steps=steps, results=options.results)
    return update("make notes", pages, filled, options.check)


if __name__ == "__main__":
    process.run_as("readme_table", main, {})
