#!/usr/bin/env python3
"""Draws the recorded results: every picture for which there are any, as PNG and SVG.

Without --results from the newest runs in bench/results, into plots/. With one file, what can be
drawn from it alone; with two files, separated by a comma, the two side by side; both into
build/plots/, unless --out says where. A picture that cannot be drawn says which recording is missing.
With --ideas, what lies where, as plots/ideas.py asks, into ideas/ there.

The same results give the same files, byte for byte, with the matplotlib in plots/requirements.txt.
Exit status: 0 drawn, 2 bad usage or nothing to draw, 77 matplotlib isn't installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from plots import ideas
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

PICTURES = (tracks.Ladder, share_and_clock, roofline, sizes, sustained)
PICTURES += (any_shape, tracks.Shapes("a"), tracks.Shapes("t"), fp8, energy, power)


def draw(pyplot, picture, runs, folder):
    """Draws one picture if it can be, and says so, and what it could have shown as well, if that were
    recorded; True if it was drawn."""
    try:
        found = picture.find(runs)
    except records.Missing as missing:
        print(f"{picture.NAME}: not drawn: {missing}")
        return False
    figure = picture.draw(pyplot, found, runs)
    print(style.save_both(figure, folder, picture.NAME))
    pyplot.close(figure)
    for note in picture.notes(found) if hasattr(picture, "notes") else ():
        print(f"{picture.NAME}: {note}")
    return True


def import_pyplot():
    """matplotlib with its own defaults, whatever the user's are, and no window; None without it."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(style.RC)
    from matplotlib import pyplot

    return pyplot


def plot(options):
    """Draws everything that can be drawn; returns the exit status."""
    runs = records.load(options.results)
    folder = options.out or Path("build/plots" if options.results else "plots")
    pictures = (side_by_side,) if len(options.results) > 1 else ring.pictures(runs)
    if not pictures or not runs.chosen:  # of a trace alone its picture
        pictures = (*PICTURES, *pictures)
    pyplot = import_pyplot()
    if pyplot is None:
        print("plot: needs matplotlib; 'make plots' sets it up", file=sys.stderr)
        return 77
    if options.ideas:
        ideas.draw(pyplot, runs, folder / "ideas")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [draw(pyplot, picture, runs, folder) for picture in pictures]
    if any(drawn):
        return 0
    print("plot: no picture can be drawn from these results", file=sys.stderr)
    return 2


def main():
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
    try:
        return plot(parser.parse_args())
    except (OSError, ValueError, records.Missing) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
