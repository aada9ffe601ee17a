"""What the pictures share: size, colours, titles, legends, labels, and the hardware's peak."""

from __future__ import annotations

import io
import sys

try:
    import matplotlib
    from matplotlib.figure import Figure
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
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

CUBLAS = {"color": BLACK, "linestyle": "--", "linewidth": 1.4}
SECOND = {"color": BLUE, "linestyle": ":", "linewidth": 2.0}
LEAST = {"color": GREEN, "linestyle": ":", "linewidth": 2}
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # under a text on a line
PEAK = {"color": VERMILION, "linestyle": "-.", "linewidth": 1.6}
EDGE = {"edgecolor": "0.25", "linewidth": 0.6}
HATCHED = {"color": ORANGE, "hatch": "///", **EDGE}

RC = {
    "svg.hashsalt": "gemm-ladder",  # otherwise every SVG gets ids of its own
    "text.parse_math": False,  # a record's $ is a $
    "svg.fonttype": "none",  # text stays text: small, searchable
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 11,
    "axes.titlesize": 11,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "hatch.linewidth": 0.7,
    "figure.facecolor": "white",  # opaque, for GitHub's dark mode
    "savefig.facecolor": "white",
}

matplotlib.rcdefaults()  # whatever the user's are
matplotlib.rcParams.update(RC)

# Dense bf16 and fp16 FLOP per cycle per SM, by compute capability, as in common/harness. NVIDIA's
# H100 whitepaper: 989.4 TFLOPS on 132 SMs at 1.83 GHz.
DENSE_FLOP_PER_CYCLE_PER_SM = {"8.0": 2048, "9.0": 4096}

# What the rungs are compared with, as a picture names them: the last columns.
OTHERS = {"cuBLAS": "cublas", "best\ncuBLASLt": "cublaslt"}


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


def commits(runs):
    """'commit 1234567' or 'commits 1234567, 89abcde'"""
    names = distinct(run.commit for run in runs)
    return f"commit{'s' if ',' in names else ''} {names}"


def when(*runs):
    """'2026-01-31, commit 1234567'"""
    return f"{distinct(run.date[:10] for run in runs)}, {commits(runs)}"


def details(*runs):
    """The picture's second line: inputs, versions, dates, commits."""
    inputs = distinct(run.problem["inputs"] for run in runs)
    cuda = distinct(run.gpu["cuda"] for run in runs)
    cublas = distinct(run.gpu["cublas"] for run in runs)
    return f"{inputs} inputs, CUDA {cuda}, cuBLAS {cublas}, {when(*runs)}"


def other_gpus(runs):
    """Lines that say what the panels of other GPUs than the title's are of."""
    others = [run for run in runs if run.gpu["name"] != runs[0].gpu["name"]]
    words = (f"{results.short_name(run.gpu)} is {gpu_words(run)}" for run in others)
    return list(dict.fromkeys(words))


def other_cards(runs):
    """A line for each kind of GPU of which several cards were measured."""
    cards = {}
    for run in runs:
        cards.setdefault(results.short_name(run.gpu), set()).add(run.gpu.get("card"))
    several = {gpu: len(found) for gpu, found in cards.items() if len(found) > 1}
    return [f"measured on {count} cards of {gpu}" for gpu, count in several.items()]


def figure_of(height, *grid, **how):
    """A figure of the shared width with constrained axes: (figure, axes)."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(*grid, **how)


def stack(height, ratios, hspace=0.05):
    """The same with axes one below the other, of these heights, on one x axis; a list of axes."""
    grid = {"height_ratios": ratios, "hspace": hspace}
    figure, panels = figure_of(height, len(ratios), 1, sharex=True, squeeze=False, gridspec_kw=grid)
    return figure, list(panels[:, 0])


def row(height, count):
    """The same with so many axes side by side, on one y axis."""
    how = {"sharey": True, "squeeze": False, "gridspec_kw": {"wspace": 0.03}}
    figure, panels = figure_of(height, 1, count, **how)
    return figure, list(panels[0])


def note(axes, text, place, offset, **how):
    """A text so many points from a place of the axes."""
    how = {"ha": "center", "va": "bottom", **how}
    axes.annotate(text, place, offset, textcoords="offset points", **how)


def frame(figure, title, second, *, columns=1, more=()):
    """Titles above and one legend below all axes, which get the room between."""
    height = figure.get_size_inches()[1]
    figure.text(0.5, 1 - 0.10 / height, title, ha="center", va="top", fontsize=13)
    figure.text(0.5, 1 - 0.38 / height, second, ha="center", va="top", fontsize=10)
    entries = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries.update(zip(labels, handles))
    lines = -(-len(entries) // columns) + len(more)
    below = (LINE_INCHES * lines + 0.12) / height
    figure.legend(
        entries.values(),
        entries,
        loc="upper left",
        bbox_to_anchor=(0.01, below),
        ncols=columns,
        borderaxespad=0,
        labelspacing=0.3,
        handlelength=2.6,
    )
    for i, text in enumerate(reversed(more)):
        y = (LINE_INCHES * i + 0.09) / height
        figure.text(0.017, y, text, va="bottom", fontsize=10)
    above = (TITLE_INCHES + LINE_INCHES * second.count("\n")) / height
    figure.get_layout_engine().set(rect=(0, below + 0.06 / height, 1, 1 - above - below))
    return figure


def name_ticks(axes, names, places=None, **how):
    """One labelled place on the x axis for each name: one column each, unless places are given."""
    places = list(range(len(names)) if places is None else places)
    axes.set_xticks(places, names, **how)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, max(places, default=0) + 0.6)


def others(run):
    """{words: name} of those of OTHERS that were timed in that run."""
    return {words: name for words, name in OTHERS.items() if name in run.contenders}


def others_last(names, others):
    """The places of these columns, the last `others` of them apart: their names are long."""
    rungs = len(names) - others
    return [*range(rungs), *(rungs + 0.2 + 1.7 * place for place in range(others))]


def tensor_peak(records, run):
    """(dense tensor-core peak in TFLOPS, the clock in GHz it holds for), or None if not known."""
    flop = DENSE_FLOP_PER_CYCLE_PER_SM.get(run.gpu["compute_capability"])
    clock = records.highest_clock(run.gpu)
    return (flop * run.gpu["sms"] * clock / 1e3, clock) if flop and clock else None


def peak_of(records, run):
    """(the most that this GPU could do, in the unit of the rungs, what that is), or None."""
    if run.measure is results.MOVES:
        memory = records.memory_peak(run.gpu)
        return (1e-9 * memory, "memory's peak by clock and bus width") if memory else None
    known = tensor_peak(records, run)
    if not known:
        return None
    words = f"dense {computation(run).partition(' ')[0]} peak at {known[1]:.2f} GHz, the highest"
    return known[0], f"{words} mean clock recorded: {known[0]:.0f} TFLOPS"


def png_of(figure):
    """The PNG's bytes, with a palette: a third of the size."""
    drawn, data = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=PNG_DPI)
    picture = Image.open(drawn).convert("RGB")
    few = picture.quantize(PNG_COLOURS, dither=Image.Dither.NONE)
    few.save(data, "png", optimize=True)
    return data.getvalue()


def settle(figure):
    """Lays the axes out and rounds where they are: the solver's last bits are not always the same,
    and an SVG's ids are made of them."""
    figure.draw_without_rendering()
    places = [axes.get_position().bounds for axes in figure.axes]
    figure.set_layout_engine("none")
    for axes, bounds in zip(figure.axes, places):
        axes.set_position([round(number, 4) for number in bounds])


def save_both(figure, folder, name):
    """Writes the picture as PNG and SVG, each whole or not at all; returns the path of the PNG."""
    path = folder / f"{name}.png"
    settle(figure)
    png, svg = png_of(figure), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    results.write_whole(path, png)
    results.write_whole(path.with_suffix(".svg"), svg.getvalue())
    return path
