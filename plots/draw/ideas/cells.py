"""Grids of cells with a text in each: what the pictures of ideas are made of."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from plots.draw import style

TEXT = 8.5  # points; about 10 pixels at the width at which GitHub shows a picture
SMALL = 8
NARROW = 7.6  # 9 pixels: for a cell that has no room for more
TITLE = {"size": 11, "fontweight": "bold"}

HELD = {"facecolor": style.ORANGE, "edgecolor": "black", "linewidth": 1.1, "zorder": 3}
PLAIN = {"facecolor": "white", "edgecolor": "0.72", "linewidth": 0.5}
FRAME = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.3, "zorder": 4}


def board(axes, left, right, bottom, top):
    """Axes that show nothing but what is put on them: x to the right, y downwards."""
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
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


def index(axes, x, y, number, **how):
    """The number of a row, a column or a bank, beside the cells."""
    label(axes, x, y, str(number), **{"color": "0.4", "size": SMALL, **how})
