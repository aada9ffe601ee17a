"""ldmatrix and stmatrix: which lane names a row of shared memory, and which gets its elements?"""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells, fragments

NAME = "ldmatrix-stmatrix"
PROBES = ("fragments",)
LANE = 13
FORMS = {
    "ldmatrix_x4": "ldmatrix .x4",
    "ldmatrix_x4_trans": "ldmatrix .x4 .trans",
    "stmatrix_x4": "stmatrix .x4",
}
SIDE = 8
GAP = 0.8  # rows between two matrices
NAMED = {"facecolor": "#9CCBEC", "alpha": 0.75, "linewidth": 0, "zorder": 2}


def data(answers, _records):
    """Of each form who holds what. Row i is the one whose address lane i passes."""
    found = {"lane": LANE}
    for form in FORMS:
        fragment = answers["fragments"][form]
        found[form] = {"rows": fragment["rows"], "blocks": fragments.blocks(fragment)}
    return found


def height_of(row):
    """Where a row is drawn."""
    return row + row // SIDE * GAP


def draw_form(axes, form, part, lane):
    """The four matrices one below the other, each row beside the lane that passes its address."""
    rows = part["rows"]
    cells.board(axes, SIDE, height_of(rows) + 0.2)
    axes.set_xlim(-1.9, SIDE + 1.3)
    axes.set_ylim(height_of(rows) - GAP + 0.2, -2.6)
    cells.label(axes, SIDE / 2, -2.0, FORMS[form], size=11, fontweight="bold")
    cells.index(axes, -0.3, -0.6, "row of lane")
    cells.matrix(axes, part["blocks"], lane, "r[{}]".format, lambda row, x: (x, height_of(row)))
    for row in range(rows):
        this = {"color": style.BLUE, "fontweight": "bold"} if row == lane else {}
        cells.index(axes, -0.35, height_of(row) + 0.5, row, ha="right", **this)
    for first in range(0, rows, SIDE):
        y = height_of(first)
        cells.frame(axes, 0, y, SIDE, SIDE)
        words = f"matrix {first // SIDE}"
        cells.label(axes, SIDE + 0.65, y + SIDE / 2, words, rotation=90, va="center")
    cells.frame(axes, -1.3, height_of(lane), SIDE + 1.3, 1, **NAMED)


def draw(pyplot, found):
    """The three forms side by side."""
    figure, axes = style.figure_of(pyplot, 8.8, 1, 3)
    for form, here in zip(FORMS, axes):
        draw_form(here, form, found[form], found["lane"])
    style.frame(
        figure,
        "ldmatrix and stmatrix: who names a row, and who holds its elements",
        f"lane {found['lane']} names the blue row by its address, and gets the orange elements "
        "(stmatrix: gives them); numbers are lanes",
    )
    return figure
