"""What the pictures share: size, colours, titles, legends, labels."""

from __future__ import annotations

import io
import sys

try:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from PIL import Image  # matplotlib itself writes PNGs with it
except ImportError:
    sys.exit("plot: needs matplotlib; 'make plots' sets it up")

from bench import results
from notes.tools.tables import title

WIDTH = 9.0  # inches; at 100 pixels an inch this is the width at which GitHub shows a picture
PNG_DPI = 160
PNG_COLOURS = 128
LINE_INCHES = 0.178  # one line of the legend
TITLE_INCHES = 0.68  # the two lines above the axes

# Okabe and Ito's palette. Everything is told apart without colour too: by hatch, marker or dashes.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION = "#0072B2", "#D55E00"
CUBLAS = {"color": "black", "linestyle": "--", "linewidth": 1.4}
SECOND = {"color": BLUE, "linestyle": ":", "linewidth": 2.0}
LEAST = {"color": GREEN, "linestyle": ":", "linewidth": 2}
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # under a text on a line
EDGE = {"edgecolor": "0.25", "linewidth": 0.6}
HATCHED = {"color": ORANGE, "hatch": "///", **EDGE}
TEXT = 8.5  # points; about 10 pixels at the width at which GitHub shows a picture
SMALL = 8
NARROW = 7.6  # 9 pixels: for a cell that has no room for more
PLAIN = {"facecolor": "white", "edgecolor": "0.72", "linewidth": 0.5}
FRAME = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.3, "zorder": 4}
EDGED = {"edgecolor": "0.3", "linewidth": 0.8}
GROUND = {**CLEAR, "alpha": 0.75}  # of a text on a hatch
ARROW = {"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}

RC = {
    "text.parse_math": False,  # a record's $ is a $
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 11,
    "axes.titlesize": 11,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.7,
    "savefig.facecolor": "white",  # opaque, for GitHub's dark mode
}
matplotlib.rcdefaults()  # whatever the user's are
matplotlib.rcParams.update(RC)

# What the rungs are compared with, as a picture names them: the last columns.
OTHERS = {"cuBLAS": "cublas", "cuBLASLt's best": "cublaslt"}


def shape_words(run):
    """'8192³' or '4096 × 16384'."""
    return title(run.shape)


def computation(run):
    """'bf16 GEMM'"""
    kind, _, number = run.problem["computation"].partition("_")
    return f"{number} {'GEMM' if kind == 'gemm' else kind}"


def gpu_words(run):
    """'NVIDIA H200, 700 W'"""
    power = run.gpu.get("power_limit_watts")
    return run.gpu["name"] + ("" if power is None else f", {power:.0f} W")


def what(run, shape=True):
    """'NVIDIA H200, 700 W: bf16 GEMM 8192³, burst protocol'"""
    problem = f"{computation(run)} {shape_words(run)}" if shape else computation(run)
    return f"{gpu_words(run)}: {problem}, {run.protocol} protocol"


def distinct(values):
    """What differs among them, in their order, as '1, 2'."""
    return ", ".join(dict.fromkeys(map(str, values)))


def when(*runs):
    """'2026-01-31, commit 1234567'"""
    names = distinct(run.commit for run in runs)
    commits = f"commit{'s' if ',' in names else ''} {names}"
    return f"{distinct(run.date[:10] for run in runs)}, {commits}"


def details(*runs):
    """The picture's second line: inputs, versions, dates, commits."""
    inputs = distinct(run.problem["inputs"] for run in runs)
    cuda, cublas = (distinct(run.gpu[key] for run in runs) for key in ("cuda", "cublas"))
    return f"{inputs} inputs, CUDA {cuda}, cuBLAS {cublas}, {when(*runs)}"


def others(run):
    """{words: name} of those of OTHERS that were timed in that run."""
    return {words: name for words, name in OTHERS.items() if name in run.contenders}


def figure_of(height, *grid, **how):
    """A figure of the shared width with constrained axes: (figure, axes)."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(*grid, **how)


def stack(height, ratios):
    """The same with axes one below the other, of these heights, on one x axis; a list of axes."""
    how = {"sharex": True, "squeeze": False, "height_ratios": ratios}
    figure, panels = figure_of(height, len(ratios), 1, **how)
    return figure, list(panels[:, 0])


def note(axes, text, place, offset, **how):
    """A text so many points from a place of the axes."""
    how = {"ha": "center", "va": "bottom", **how}
    axes.annotate(text, place, offset, textcoords="offset points", **how)


def name_ticks(axes, names, **how):
    """One labelled place on the x axis for each name."""
    axes.set_xticks(range(len(names)), names, **how)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(names) - 0.4)


def frame(figure, above, second, *, columns=1, more=()):
    """Titles above and one legend below all axes, which get the room between."""
    height, entries = figure.get_size_inches()[1], {}
    figure.text(0.5, 1 - 0.08 / height, above, ha="center", va="top", fontsize=12)
    figure.text(0.5, 1 - 0.36 / height, second or "", ha="center", va="top", fontsize=10)
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries.update(zip(labels, handles))
    below = (LINE_INCHES * (-(-len(entries) // columns) + len(more)) + 0.08) / height
    how = {"loc": "upper left", "ncols": columns, "borderaxespad": 0, "labelspacing": 0.3}
    figure.legend(entries.values(), entries, bbox_to_anchor=(0.01, below), **how)
    for i, text in enumerate(reversed(more)):
        y = (LINE_INCHES * i + 0.07) / height
        figure.text(0.017, y, text, va="bottom", fontsize=10)
    top = (TITLE_INCHES if second else TITLE_INCHES / 2) / height
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - top - below))
    return figure


def settle(figure):
    """Lays the axes out and rounds where they are: the solver's last bits are not always the same."""
    if figure.get_constrained_layout():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position([round(number, 4) for number in axes.get_position().bounds])


def save(figure, folder, name):
    """Writes the picture, whole or not at all, with a palette: a third of the size; returns its path."""
    path, drawn, data = folder / f"{name}.png", io.BytesIO(), io.BytesIO()
    settle(figure)
    figure.savefig(drawn, format="png", dpi=PNG_DPI)
    few = Image.open(drawn).convert("RGB").quantize(PNG_COLOURS, dither=Image.Dither.NONE)
    few.save(data, "png", optimize=True)
    results.write_whole(path, data.getvalue())
    return path


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

    def arrow(self, begin, end, zorder=3, **how):
        """From one place to another."""
        self.axes.annotate("", end, begin, arrowprops={**ARROW, **how}, zorder=zorder)
