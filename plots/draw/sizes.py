"""TFLOPS against size for some v rungs, cuBLAS and the best of cuBLASLt: which idea pays at which
size, and which is not there yet?"""

from __future__ import annotations

import recorded

from draw import style
from draw.records import Missing, alike, fullest

NAME = "sizes"
FEWEST = 3  # sizes that make a curve
OTHERS = {  # whom the rungs are compared with, by their names in a ladder
    "cublaslt": ("best cuBLASLt", {"marker": "+", **style.SECOND}),
    "cublas": ("cuBLAS", {"marker": "x", **style.CUBLAS}),
}
CHOSEN = ("v01", "v02", "v04", "v06", "v07")  # and the highest
MARKS = (
    {"marker": "o", "color": style.GREY, "linestyle": "-"},
    {"marker": "v", "color": style.ORANGE, "linestyle": "-"},
    {"marker": "s", "color": style.GREEN, "linestyle": "-"},
    {"marker": "D", "color": style.PURPLE, "linestyle": "-"},
    {"marker": "^", "color": style.SKY, "linestyle": "-"},
    {"marker": "P", "color": style.VERMILION, "linestyle": "-", "linewidth": 2.2},
)


def is_square(ladder):
    """True if m = n = k."""
    return len(set(recorded.shape_of(ladder))) == 1


def find(records):
    """The fullest run at each square size on one GPU, smallest first."""
    ladders = [ladder for ladder in records.ladders("v") if is_square(ladder)]
    at = {}
    for ladder in alike(ladders) if ladders else []:
        at.setdefault(ladder["problem"]["m"], []).append(ladder)
    if len(at) < FEWEST:
        there = ", ".join(f"{size}³" for size in sorted(at)) or "none"
        raise Missing(
            f"burst runs of the v track at {FEWEST} or more square sizes; recorded: {there} "
            '(make ladder ARGS="--size 2048")'
        )
    return [fullest(at[size]) for size in sorted(at)]


def names_of(ladders):
    """The rungs to show: the chosen ones that were measured, and the highest."""
    there = {rung["step"] for ladder in ladders for rung in recorded.measured(ladder)}
    return [name for name in CHOSEN if name in there and name != max(there)] + [max(there)]


def curve(ladders, name):
    """[(size, TFLOPS)] of a rung, or of one of OTHERS."""
    points = []
    for ladder in ladders:
        if name in OTHERS and name in ladder:
            points.append((ladder["problem"]["m"], ladder[name]["tflops"]["median"]))
        for rung in recorded.measured(ladder):
            if rung["step"] == name:
                points.append((ladder["problem"]["m"], rung["timing"]["step"]["tflops"]["median"]))
    return points


def draw_curves(axes, ladders):
    """All curves; returns {words: its points}, to be labelled."""
    drawn = {}
    for name, how in zip(names_of(ladders), MARKS[-len(names_of(ladders)) :]):
        points = curve(ladders, name)
        axes.plot(*zip(*points), zorder=3, label=name, markeredgecolor="black", **how)
        drawn[name] = points
    for name, (words, how) in OTHERS.items():
        points = curve(ladders, name)
        if points:
            axes.plot(*zip(*points), zorder=4, label=words, **how)
            drawn[words] = points
    return drawn


def label_ends(axes, ends, top):
    """Each curve's name at its right end, none on top of another."""
    places = style.apart([y for _, (_, y) in ends], 0.047 * top)
    for (name, (x, y)), place in zip(ends, places):
        axes.annotate(
            name,
            (x, y),
            (1.02, place / top),
            textcoords="axes fraction",
            va="center",
            fontsize=10,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.8, "shrinkB": 4},
        )


def draw(pyplot, ladders, records):
    """The whole figure."""
    figure, axes = style.figure_of(pyplot, 5.4)
    axes.set_xscale("log", base=2)
    drawn = draw_curves(axes, ladders)
    peak = style.peak_tflops(records, ladders[-1])
    highs = [y for points in drawn.values() for _, y in points]
    if peak:
        highs.append(peak[0])
        words = f"dense peak at {peak[1]:.2f} GHz"
        axes.axhline(peak[0], label=words, zorder=2, **style.PEAK)
    top = 1.06 * max(highs)
    axes.set_ylim(0, top)
    label_ends(axes, [(words, points[-1]) for words, points in drawn.items()], top)
    sizes = [ladder["problem"]["m"] for ladder in ladders]
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid()
    axes.set_xlabel("m = n = k")
    axes.set_ylabel("TFLOPS, median")
    style.frame(figure, style.what(ladders[0], shape=False), style.details(*ladders), columns=4)
    return figure
