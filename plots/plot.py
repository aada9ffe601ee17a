#!/usr/bin/env python3
"""Draws every picture, as PNG, from what is committed: records, traces, the rungs' texts, the
probes' answers.

Without --results into plots/; with a file what can be drawn from it alone, into build/plots/, unless
--out says where. A picture that cannot be drawn says which recording is missing.

Exit status: 0 drawn, 1 matplotlib isn't installed, 2 bad usage or nothing to draw.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from plots.draw import banks, bars, fragments, orders, points, records, ring, rungs, style

PICTURES = {  # {name: what draws it from the records, or raises Missing}
    "ladder": bars.ladder,
    "share-and-clock": points.share_and_clock,
    "power": points.power,
    "any-shape": points.any_shape,
    "ladder-a": partial(bars.shapes, "a"),
    "ladder-t": partial(bars.shapes, "t"),
    "fp8": bars.fp8,
    "energy": points.energy,
}
IDEAS = {  # of memory and order, drawn from the rungs' texts and the probes' answers
    "ideas/fragments": fragments.fragments,
    "ideas/wgmma-fragment": fragments.wgmma,
    "ideas/tma-swizzles": banks.swizzles,
    "ideas/bank-conflicts": banks.conflicts,
    "ideas/tile-orders": orders.orders,
    "ideas/tile-orders-l2": orders.from_dram,
    "ideas/wave-reuse": orders.wave_reuse,
    "ideas/matrix-descriptor": rungs.descriptor,
    "ideas/two-consumers": rungs.two_consumers,
    "ideas/tall-tile": rungs.tall_tile,
    "ideas/e4m3-sums": fragments.e4m3_sums,
}


def pictures_of(runs):
    """{name: what draws it} of what these records may show."""
    if not runs.chosen:
        return {**PICTURES, **ring.pictures(runs), **IDEAS}
    return ring.pictures(runs) if runs.traces else PICTURES


def draw(pictures, runs, folder):
    """Draws those that can be drawn, then writes them, and says so; returns how many."""
    figures = {}
    for name, picture in pictures.items():
        try:
            figures[name] = picture(runs)
        except records.Missing as missing:
            print(f"{name}: not drawn: {missing}")
    for name, figure in figures.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        print(style.save(figure, folder, name))
    return len(figures)


def main(arguments):
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(description="Draw the recorded results.", allow_abbrev=False)
    words = "draw from this file (default: all of bench/results)"
    parser.add_argument("--results", metavar="FILE", type=Path, help=words)
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write")
    options = parser.parse_args(arguments)
    folder = options.out or Path("build/plots" if options.results else "plots")
    try:
        runs = records.load(options.results)
        if draw(pictures_of(runs), runs, folder):
            return 0
        print("plot: no picture can be drawn from these results", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"plot: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
