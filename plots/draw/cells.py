"""Grids of cells with a text in each: what the pictures of ideas are made of."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from plots.draw import style

TEXT = 8.5  # points; about 10 pixels at the width at which GitHub shows a picture
SMALL = 8
NARROW = 7.6  # 9 pixels: for a cell that has no room for more

PLAIN = {"facecolor": "white", "edgecolor": "0.72", "linewidth": 0.5}
FRAME = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.3, "zorder": 4}
EDGED = {"edgecolor": "0.3", "linewidth": 0.8}
GROUND = {**style.CLEAR, "alpha": 0.75}  # of a text on a hatch
ARROW = {"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}


class Board:
    """Axes that show nothing but what is put on them: x to the right, y downwards."""

    def __init__(self, axes, left, right, bottom, top, *, to_scale=False):
        self.axes = axes
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.set_axis_off()
        if to_scale:
            axes.set_aspect("equal")

    def cell(self, x, y, width, height, words="", *, size=TEXT, color="0.25", **how):
        """A rectangle with a text in its middle."""
        text = {"size": size, "color": color, "fontweight": how.pop("weight", "normal")}
        self.axes.add_patch(Rectangle((x, y), width, height, **{**PLAIN, **how}))
        if words:
            self.label(x + width / 2, y + height / 2, words, zorder=5, **text)

    def box(self, x, y, width, height, words="", **how):
        """An edged cell with a dark text on a light ground, so that a hatch doesn't hide it."""
        self.cell(x, y, width, height, **{**EDGED, **how})
        if words:
            self.on(x + width / 2, y + height / 2, words)

    def frame(self, x, y, width, height, **how):
        """A line around several cells."""
        self.axes.add_patch(Rectangle((x, y), width, height, **{**FRAME, **how}))

    def label(self, x, y, words, *, size=TEXT, **how):
        """A text beside the cells."""
        how = {"va": "center_baseline", "ha": "center", **how}
        self.axes.text(x, y, words, fontsize=size, **how)

    def left(self, x, y, words, **how):
        """A text of several lines that begin at x."""
        self.label(x, y, words, **{"ha": "left", "va": "center", "linespacing": 1.4, **how})

    def on(self, x, y, words, **how):
        """A text on what has a hatch or lines."""
        self.label(x, y, words, **{"va": "center", "bbox": GROUND, "zorder": 6, **how})

    def title(self, x, y, words, **how):
        """The title of a part."""
        self.label(x, y, words, size=11, fontweight="bold", **how)

    def index(self, x, y, number, **how):
        """The number of a row, a column or a bank, beside the cells."""
        self.label(x, y, str(number), **{"color": "0.4", "size": SMALL, **how})

    def line(self, x, y, **how):
        """From place to place."""
        self.axes.plot(x, y, **how)

    def arrow(self, begin, end, zorder=3, **how):
        """From one place to another."""
        self.axes.annotate("", end, begin, arrowprops={**ARROW, **how}, zorder=zorder)
