"""TFLOPS against size, and the ratio to cuBLASLt, for some v rungs, cuBLAS and the best of cuBLASLt: which idea pays at which
size, and which is not there yet?"""

from __future__ import annotations

import recorded

from draw import bars, style
from draw.records import Missing, alike

NAME = "sizes"
FEWEST = 3  # sizes that make a curve
OTHERS = {  # whom the rungs are compared with, by their names in a ladder
    "cublaslt": ("best cuBLASLt", {"marker": "+", **style.SECOND}),
    "cublas": ("cuBLAS", {"marker": "x", **style.CUBLAS}),
}
CHOSEN = ("v04", "v14", "v15", "v16")  # and the highest
ENOUGH = 1 + len(CHOSEN)  # of them for a picture of one sweep alone
MARKS = (
    {"marker": "v", "color": style.ORANGE, "linestyle": "-"},
    {"marker": "s", "color": style.GREEN, "linestyle": "-"},
    {"marker": "D", "color": style.PURPLE, "linestyle": "-"},
    {"marker": "^", "color": style.SKY, "linestyle": "-"},
    {"marker": "P", "color": style.VERMILION, "linestyle": "-", "linewidth": 2.2},
)


def is_square(ladder):
    """True if m = n = k."""
    return len(set(recorded.shape_of(ladder))) == 1


def by_size(ladders):
    """{size: the one of these ladders, the one to be shown last, that is to be shown there}"""
    return {ladder["problem"]["m"]: ladder for ladder in ladders}


def sweeps(records, ladders):
    """Those of these ladders that stand in one file, file by file; the one to be shown last."""
    rank = {id(ladder): place for place, ladder in enumerate(ladders)}
    files = [[run for run in file if id(run) in rank] for file in records.files]
    found = [sorted(file, key=lambda run: rank[id(run)]) for file in files]
    found = [file for file in found if len(by_size(file)) >= FEWEST]
    return sorted(found, key=lambda file: rank[id(file[-1])])


def find(records):
    """Runs at several square sizes on one kind of GPU, smallest first: those of the newest sweep
    with enough of the chosen rungs, so that all was measured in one go; of no such, the newest run
    at each size."""
    ladders = [run for run in records.ladders("v") if is_square(run) and recorded.measured(run)]
    ladders = alike(ladders) if ladders else []
    full = [sweep for sweep in sweeps(records, ladders) if len(names_of(sweep)) >= ENOUGH]
    at = by_size(full[-1] if full else ladders)
    if len(at) < FEWEST:
        there = ", ".join(f"{size}³" for size in sorted(at)) or "none"
        raise Missing(
            f"burst runs of the v track at {FEWEST} or more square sizes; recorded: {there} "
            '(make ladder ARGS="--size 2048")'
        )
    return [at[size] for size in sorted(at)]


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
            arrowprops={
                "arrowstyle": "-",
                "color": "0.6",
                "linewidth": 0.8,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def ratio_curve(ladders, name):
    """[(size, ratio of a rung to the best cuBLASLt of the same run)], where that is recorded."""
    return [
        (ladder["problem"]["m"], rung["timing"]["ratio_to_cublaslt"])
        for ladder in ladders
        for rung in recorded.measured(ladder)
        if rung["step"] == name and "ratio_to_cublaslt" in rung["timing"]
    ]


def ratio_panel(axes, ladders):
    """The rungs over cuBLASLt with their spreads: what the rates alone do not tell apart."""
    names = names_of(ladders)
    for name, how in zip(names, MARKS[-len(names) :]):
        for size, ratio in ratio_curve(ladders, name):
            spread = bars.spread_of(ratio)
            axes.errorbar(size, ratio["median"], yerr=spread, color=how["color"], capsize=3)
        points = [(size, ratio["median"]) for size, ratio in ratio_curve(ladders, name)]
        if points:
            axes.plot(*zip(*points), zorder=3, markeredgecolor="black", **how)
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_ylim(0, None)
    axes.set_ylabel("of cuBLASLt, median\nand p10 to p90")


def axes_of(pyplot, ladders):
    """A figure with its axes: the rates', and if cuBLASLt is recorded, the ratios' below them."""
    if not any(ratio_curve(ladders, name) for name in names_of(ladders)):
        figure, axes = style.figure_of(pyplot, 5.4)
        return figure, [axes]
    how = {"height_ratios": (1.5, 1), "hspace": 0.03}
    figure, panels = style.figure_of(pyplot, 7.6, 2, 1, sharex=True, gridspec_kw=how)
    ratio_panel(panels[1], ladders)
    return figure, panels


def draw(pyplot, ladders, records):
    """The whole figure."""
    figure, panels = axes_of(pyplot, ladders)
    axes = panels[0]
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
    for panel in panels:
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.grid()
    panels[-1].set_xlabel("m = n = k")
    axes.set_ylabel("TFLOPS, median")
    style.frame(figure, style.what(ladders[0], shape=False), style.details(*ladders), columns=4)
    return figure
