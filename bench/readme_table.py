#!/usr/bin/env python3
"""Fills the README's results, between markers, from recorded ladders.

Nobody types a figure by hand. `results` is the v track: without --results the newest finished burst
run at 8192 x 8192 x 8192 in bench/results is shown. `ampere`, which a README need not have, is the
newest run of the a track at each of some shapes; a01, which computes something else, has a table of
its own. `tma` is the same of the t track, with a table for t01. --check writes nothing and exits 1 if the README says anything else.

Exit status: 0 done (or equal), 1 the README differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import recorded
import shapes_table

NOTHING = "No run is recorded yet. `make ladder` measures one on your GPU."
APART = {"a": "a01", "t": "t01"}  # what computes something else than the rest of its track
BLOCKS = {"ampere": "a", "tma": "t"}  # names of markers that a README need not have
HEADER = ["step", "idea", "TFLOPS", "of cuBLAS", "tensor-core share", "SM clock"]
ALIGNMENT = ["---", "---", "---:", "---:", "---:", "---:"]


def row(cells):
    """One Markdown table row."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


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


def rung_row(rung, steps):
    """The row of one rung; a failed rung shows why in place of numbers."""
    name = link(rung["step"], steps)
    if "failed" in rung:
        return row([name, f"failed: {rung['failed']}", "–", "–", "–", "–"])
    timing = rung["timing"]
    numbers = [
        recorded.spread(timing["step"]["tflops"], 1),
        recorded.spread(timing["ratio_to_cublas"], 3),
    ]
    return row([name, rung["idea"], *numbers, *share_and_clock(timing["step"])])


def other_row(ladder, key, *words, ratio):
    """The row of one that the rungs are compared with."""
    numbers = [recorded.spread(ladder[key]["tflops"], 1), ratio]
    return row([*words, *numbers, *share_and_clock(ladder[key])])


def table(ladder, steps):
    """The whole table, with cuBLAS below the rungs, and the best of cuBLASLt if it was timed."""
    rows = [rung_row(rung, steps) for rung in ladder["rungs"]]
    rows.append(other_row(ladder, "cublas", "cuBLAS", "its default", ratio="1"))
    if "cublaslt" in ladder:
        words = ("cuBLASLt", recorded.best_of_cublaslt([ladder]))
        rows.append(other_row(ladder, "cublaslt", *words, ratio="–"))
    return [row(HEADER), row(ALIGNMENT), *rows]


def caption(ladder):
    """What was measured, on what, when; and what the columns mean."""
    gpu, problem = ladder["gpu"], ladder["problem"]
    power = gpu.get("power_limit_watts")
    limit = "unknown" if power is None else f"{power:.0f} W"
    return (
        f"{gpu['name']}, power limit {limit}, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, "
        f"driver {gpu['driver']}; m = {problem['m']}, n = {problem['n']}, k = {problem['k']}; "
        f"{ladder['protocol']} protocol; {problem['inputs']} inputs, seed {problem['seed']}; "
        f"{ladder['date'][:10]}, commit `{ladder['commit']}`. "
        f"Medians of {ladder['passes']} passes with {ladder['rounds']} rounds each, "
        "with the 10th and 90th percentile."
        + (" The run was interrupted: some have fewer." if ladder["interrupted"] else "")
    )


def block(ladder, steps):
    """Everything between the markers, as one text."""
    if ladder is None:
        return NOTHING
    picture = '<img src="plots/ladder.png" width="900" alt="TFLOPS of every rung">'
    return "\n".join([*table(ladder, steps), "", caption(ladder), "", picture])


def track_table(names, steps):
    """The rungs named at several shapes, with what they are compared with below them."""
    rows, caption = shapes_table.table(names)
    if rows is None:
        return [caption]
    header = rows[0]
    alignment = ["---", "---", *["---:"] * (len(header) - 2)]
    cells = [[link(cells[0], steps), *cells[1:]] for cells in rows[1:]]
    return [*map(row, [header, alignment, *cells]), "", caption]


def track_block(steps, track):
    """Everything between the markers of a track, as one text."""
    names = recorded.rung_names(steps, track)
    apart = [name for name in names if name == APART[track]]
    others = [name for name in names if name != APART[track]]
    return "\n".join([*track_table(others, steps), "", *track_table(apart, steps)])


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
        for name, track in BLOCKS.items():
            if f"<!-- {name}:" in readme:
                wanted = fill(wanted, name, track_block(steps, track))
    except ValueError as error:
        raise ValueError(f"{options.readme}: {error}") from error
    if readme == wanted:
        return 0
    if options.check:
        print(f"{options.readme}: not what readme_table.py would write; run it", file=sys.stderr)
        return 1
    recorded.write_whole(options.readme, wanted.encode("utf-8"))
    print(f"{options.readme}: results updated")
    return 0


def main():
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(
        description="Fill the README's results from a recorded ladder.", allow_abbrev=False
    )
    parser.add_argument("--results", metavar="FILE", type=Path, help="default: newest headline run")
    parser.add_argument("--readme", type=Path, default=recorded.ROOT / "README.md")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    try:
        return update(parser.parse_args())
    except (OSError, ValueError) as error:
        print(f"readme_table: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError) as error:
        print(f"readme_table: the results lack or garble a field: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
