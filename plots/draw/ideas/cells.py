"""Grids of cells with a text in each: what the pictures of ideas are made of."""

from __future__ import annotations

import itertools

from matplotlib.patches import Rectangle

from plots.draw import style

TEXT = 8.5  # points; about 10 pixels at the width at which GitHub shows a picture
SMALL = 8
NARROW = 7.6  # 9 pixels: for a cell that has no room for more

HELD = {"facecolor": style.ORANGE, "edgecolor": "black", "linewidth": 1.1, "zorder": 3}
PLAIN = {"facecolor": "white", "edgecolor": "0.72", "linewidth": 0.5}
FRAME = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.3, "zorder": 4}

EDGED = {"edgecolor": "0.2", "linewidth": 0.9}  # told from its neighbours in grey as well

# How many lanes meet in a bank: the more the darker, also in grey.
WAYS = {1: "#D3ECFA", 2: "#F2CF5B", 4: "#E69F00", 8: "#B5460F", 16: "#7A2A08", 32: "#4A1505"}
DARK = 8  # ways from which a text on that colour is white


def board(axes, width, height):
    """Axes that show nothing but what is put on them: x to the right, y downwards."""
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()


def cell(axes, x, y, width, height, words="", *, size=TEXT, color="0.25", weight="normal", **how):
    """A rectangle with a text in its middle."""
    axes.add_patch(Rectangle((x, y), width, height, **{**PLAIN, **how}))
    if words:
        how = {"size": size, "color": color, "fontweight": weight, "zorder": 5}
        label(axes, x + width / 2, y + height / 2, words, **how)


def held(axes, x, y, width, height, words, **how):
    """A cell of the thread that the picture is about."""
    cell(axes, x, y, width, height, words, **{"color": "black", "weight": "bold", **HELD, **how})


def frame(axes, x, y, width, height, **how):
    """A line around several cells."""
    axes.add_patch(Rectangle((x, y), width, height, **{**FRAME, **how}))


def label(axes, x, y, words, *, size=TEXT, **how):
    """A text beside the cells."""
    axes.text(x, y, words, fontsize=size, **{"va": "center_baseline", "ha": "center", **how})


def ways_cell(axes, x, y, width, height, ways, words="", **how):
    """A cell in the colour of a conflict of that many ways."""
    shade = {"facecolor": WAYS[ways], "color": "white" if ways >= DARK else "black"}
    how = {**shade, "weight": "bold", "zorder": 3, **EDGED, **how}
    cell(axes, x, y, width, height, words, **how)


def ways_row(axes, ways, y, bank_width=1):
    """The number of words that each bank is asked for, once for neighbours that are alike."""
    for first, count, value in runs(ways):
        narrow = len(str(value)) > count
        x, width = first * bank_width, count * bank_width
        if not value:
            cell(axes, x, y, width, 1, "0", color="0.45")
            continue
        ways_cell(axes, x, y, width, 1, value, "" if narrow else str(value))
        if narrow:
            how = {"ha": "left", "fontweight": "bold", "zorder": 5}
            label(axes, x + width + 0.3, y + 0.5, str(value), **how)


def index(axes, x, y, number, **how):
    """The number of a row, a column or a bank, beside the cells."""
    label(axes, x, y, str(number), **{"color": "0.4", "size": SMALL, **how})


def runs(values):
    """[(first index, how many, value)] of equal neighbours."""
    found, at = [], 0
    for value, same in itertools.groupby(values):
        count = len(list(same))
        found.append((at, count, value))
        at += count
    return found


def matrix(axes, blocks, thread, words_of, place_of, size=TEXT):
    """The blocks of fragments.blocks(): those of this thread with the words for their first and last
    register, the others with the number of theirs. place_of(row, column) is where one is drawn."""
    for row, column, height, width, owner, first, last in blocks:
        place = (*place_of(row, column), width, height)
        if owner == thread:
            held(axes, *place, words_of(first, last), size=size if width > 1 else NARROW)
        else:
            cell(axes, *place, str(owner))


def grid(axes, rows, columns, x=0, y=0, first_row=0):
    """The numbers of rows and columns of a matrix at (x, y), and a frame around every 8 by 8."""
    for row in range(0, rows, 8):
        for column in range(0, columns, 8):
            frame(axes, x + column, y + row, 8, 8)
    for row in range(rows):
        index(axes, x - 0.25, y + row + 0.5, first_row + row, ha="right")
    for column in range(columns):
        index(axes, x + column + 0.5, y - 0.45, column)


def access_title(axes, width, y, title, passes, needed, more=""):
    """What is accessed, and how many passes it takes."""
    colour = style.VERMILION if passes > needed else style.BLUE
    words = f"{passes:g} pass{'es' if passes > 1 else ''}{more if passes > needed else ''}"
    how = {"size": 10, "fontweight": "bold"}
    label(axes, 0, y, title, ha="left", **how)
    label(axes, width, y, words, ha="right", color=colour, **how)
