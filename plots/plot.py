#!/usr/bin/env python3
"""Draws the recorded results: every picture for which there are any, as PNG and SVG.

Without --results from the newest runs in bench/results, into plots/. With one file, what can be
drawn from it alone; with two files, separated by a comma, the two side by side; both into
build/plots/, unless --out says where. A picture that cannot be drawn says which recording is missing.
With --ideas, what lies where, as the programs of build/probes say, into ideas/ there.

The same results give the same files, byte for byte, with the matplotlib in plots/requirements.txt.
Exit status: 0 drawn, 1 matplotlib isn't installed, 2 bad usage or nothing to draw.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from plots.draw import (
    any_shape,
    energy,
    fp8,
    power,
    records,
    ring,
    roofline,
    share_and_clock,
    side_by_side,
    sizes,
    style,
    sustained,
    tracks,
)
from plots.draw.ideas import banks, fragments, order, rungs, sums, tiles, waves

# {name: what draws it from the records, or raises Missing}
PICTURES = {
    "ladder": tracks.ladder,
    "share-and-clock": share_and_clock.draw,
    "roofline": roofline.draw,
    "sizes": sizes.draw,
    "sustained": sustained.draw,
    "any-shape": any_shape.draw,
    "ladder-a": partial(tracks.shapes, "a"),
    "ladder-t": partial(tracks.shapes, "t"),
    "fp8": fp8.draw,
    "energy": energy.draw,
    "power": power.draw,
}
IDEAS = {
    "mma-fragments": fragments.mma,
    "wgmma-fragment": fragments.wgmma,
    "ldmatrix-stmatrix": fragments.moves,
    "tma-swizzles": banks.swizzles,
    "bank-conflicts": banks.conflicts,
    "tile-orders": tiles.orders,
    "tile-orders-l2": tiles.from_dram,
    "wave-reuse": waves.draw,
    "matrix-descriptor": rungs.descriptor,
    "two-consumers": rungs.two_consumers,
    "cluster-multicast": rungs.cluster,
    "tall-tile": rungs.tall_tile,
    "e4m3-sums": sums.draw,
    "happens-before": order.draw,
}


def pictures_of(runs, ideas=False):
    """{name: what draws it} of what these records may show."""
    if ideas:
        return IDEAS
    if len(runs.files) > 1 and runs.chosen:
        return {"side-by-side": side_by_side.draw}
    # Of a trace alone its picture.
    return (
        ring.pictures(runs) if runs.chosen and runs.traces else {**PICTURES, **ring.pictures(runs)}
    )


def draw(pictures, runs, folder):
    """Draws those that can be drawn, then writes them, and says so; returns how many."""
    figures = {}
    for name, picture in pictures.items():
        try:
            figures[name] = picture(runs)
        except records.Missing as missing:
            print(f"{name}: not drawn: {missing}")
    for name, figure in figures.items():
        folder.mkdir(parents=True, exist_ok=True)
        print(style.save_both(figure, folder, name))
    return len(figures)


def main(arguments):
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(description="Draw the recorded results.", allow_abbrev=False)
    parser.add_argument(
        "--results",
        metavar="FILE[,FILE]",
        type=lambda text: [Path(name) for name in text.split(",") if name],
        default=[],
        help="one file, or two to lay side by side (default: the newest in bench/results)",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write")
    parser.add_argument("--ideas", action="store_true", help="draw what lies where")
    options = parser.parse_args(arguments)
    folder = options.out or Path("build/plots" if options.results else "plots")
    try:
        runs = records.load(options.results)
        pictures = pictures_of(runs, options.ideas)
        if draw(pictures, runs, folder / "ideas" if options.ideas else folder):
            return 0
        print("plot: no picture can be drawn from these results", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"plot: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
