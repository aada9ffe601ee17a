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
from bench.markdown import plain
from bench.records import recorded
from bench.records.vocabulary import ratio_to
from notes.tools import gpu_tables, shapes_table
from notes.tools.gpu_tables import OTHERS

NOTHING = "No run is recorded yet. `make ladder` measures one on your GPU."
APART = {"a": "a01", "t": "t01"}  # what computes something else than the rest of its track


def optional(value, digits, unit, scale=1):
    """A number with its unit, or a dash if it wasn't recorded."""
    return "–" if value is None else f"{value * scale:.{digits}f} {unit}"


def link(name, steps):
    """The rung's name as a link to its file, if the file is there."""
    files = sorted(steps.glob(f"{name}_*.cu"))
    return f"[{name}](steps/{files[0].name})" if files else name


def share_and_clock(contender):
    """The last two cells of a row."""
    return [
        optional(contender["tensor_core_share"], 1, "%", 100),
        optional(contender["sm_clock_ghz"], 2, "GHz"),
    ]


def other_ratio(ladders, key, other):
    """The cell of whom the rungs are compared with: by its rate over all of them."""
    if key == other:
        return "1"
    there = ladders[0] if other in OTHERS and key in ladders[0] else None
    rates = there and [there[name]["tflops"]["median"] for name in (key, other)]
    return f"{rates[0] / rates[1]:.3f}" if rates else "–"


def table(ladder, steps, runs):
    """The whole table, with cuBLAS below the rungs, and the best of cuBLASLt if it was timed."""
    columns = gpu_tables.ratio_columns({"all": runs})
    heads = ["step", "idea", "TFLOPS", *(head for *_, head in columns)]
    rows = [[*heads, "tensor-core share", "SM clock"]]
    for rung in ladder["rungs"]:
        name = link(rung["step"], steps)
        if "failed" in rung:
            rows.append([name, f"failed: {plain(rung['failed'])}", *["–"] * (len(columns) + 3)])
            continue
        own = rung["timing"]["step"]
        cells = [gpu_tables.ratio_cell(runs[gpu], rung["step"], key) for gpu, key, _ in columns]
        cells.insert(0, recorded.plus_minus(own["tflops"], 0))
        rows.append([name, plain(rung["idea"]), *cells, *share_and_clock(own)])
    words = {"cublas": "its default", "cublaslt": recorded.best_of_cublaslt([ladder])}
    for key in (key for key in OTHERS if key in ladder):
        cells = [other_ratio(runs[gpu], key, other) for gpu, other, _ in columns]
        cells.insert(0, recorded.plus_minus(ladder[key]["tflops"], 0))
        name = OTHERS[key].partition("'")[0]
        rows.append([name, words[key], *cells, *share_and_clock(ladder[key])])
    return markdown.table(rows)


def caption(ladder):
    """What was measured, on what, when; and what the columns mean."""
    return (
        f"{shapes_table.machine(ladder['gpu'])}; {shapes_table.sizes_of(ladder)}; "
        f"{ladder['protocol']} protocol; {shapes_table.made(ladder)}. "
        f"Medians of {ladder['passes']} passes with {ladder['rounds']} rounds each, "
        "with the 10th and 90th percentile."
        + (" The run was interrupted: some have fewer." if ladder["interrupted"] else "")
    )


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
    said = gpu_tables.caption({recorded.shape_of(ladder): runs})
    said += "".join(map(cards_words, runs.values()))
    picture = '<img src="plots/ladder.png" width="900" alt="TFLOPS of every rung">'
    return "\n".join([*table(ladder, steps, runs), "", said, "", picture])


def track_table(names, steps):
    """The rungs named at several shapes, with what they are compared with below them."""
    rows, caption = shapes_table.table(names)
    if rows is None:
        return [caption]
    cells = [[link(cells[0], steps), *cells[1:]] for cells in rows[1:]]
    return [*markdown.table([rows[0], *cells]), "", caption]


def track_block(steps, track):
    """Everything between the markers of a track, as one text."""
    names = recorded.rung_names(steps, track)
    apart = [name for name in names if name == APART[track]]
    others = [name for name in names if name != APART[track]]
    return "\n".join([*track_table(others, steps), "", *track_table(apart, steps)])


def gpu_block(rows, caption, words=2):
    """The same of a table of gpu_tables."""
    return "\n".join([*markdown.table(rows, words), "", caption]) if rows else caption


# Names of markers that a README need not have.
BLOCKS = {
    "ampere": lambda steps: track_block(steps, "a"),
    "tma": lambda steps: track_block(steps, "t"),
    "sizes": lambda _: gpu_block(*gpu_tables.sizes(), words=1),
    "calls": lambda _: gpu_block(*gpu_tables.calls()),
    "rivals": lambda _: gpu_block(*gpu_tables.rivals()),
}


def fill(readme, name, text):
    """The README with `text` between the markers of that name. ValueError if they aren't there once
    each."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if (
        readme.count(begin) != 1
        or readme.count(end) != 1
        or readme.index(begin) > readme.index(end)
    ):
        raise ValueError(f"wants one {begin} and, after it, one {end}")
    before, rest = readme.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def choose(options):
    """The ladder to show, or None if none is recorded."""
    path = options.results or recorded.newest_headline()
    return recorded.load_rungs(path) if path else None


def update(options):
    """Writes or compares; returns the exit status."""
    steps = options.readme.parent / "steps"
    text = block(choose(options), steps)
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
    parser.add_argument("--results", metavar="FILE", type=Path, help="default: newest headline run")
    parser.add_argument("--readme", type=Path, default=recorded.ROOT / "README.md")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    return status_of("readme_table", update, parser.parse_args())


if __name__ == "__main__":
    sys.exit(process.ended(main))
