"""TFLOPS of every v rung, with cuBLAS, the best cuBLASLt and the peak: how far up does it go?"""

from __future__ import annotations

import math

import recorded

from draw import bars, style
from draw.records import best_cublaslt

NAME = "ladder"
TOP = 0.95  # of the best cuBLASLt: from the first rung with so much on, the bars look alike
POINT = {"marker": "o", "color": style.BLUE, "linestyle": "none", "capsize": 4, "linewidth": 1.2}


def find(records):
    """The headline run."""
    return records.headline()


def notes(ladder):
    """What the run lacks."""
    return [] if best_cublaslt(ladder) else ["no line for the best cuBLASLt: it is not recorded"]


def lines(ladder, records):
    """(TFLOPS, legend, style) of whoever the rungs are compared with."""
    cublas = ladder["cublas"]["tflops"]["median"]
    found = [(cublas, f"cuBLAS, median: {cublas:.0f} TFLOPS", style.CUBLAS)]
    best = best_cublaslt(ladder)
    if best:
        rate = best["tflops"]["median"]
        found.append((rate, f"best cuBLASLt, median: {rate:.0f} TFLOPS", style.SECOND))
    peak = style.peak_tflops(records, ladder)
    if peak:
        found.append((peak[0], style.peak_words(ladder, peak), style.PEAK))
    return found


def top_ratios(ladder):
    """[(place, name, ratio to the best cuBLASLt of the same run)] of the rungs from the first with
    TOP of it on; none if it is not recorded."""
    there = [
        (x, rung["step"], rung["timing"]["ratio_to_cublaslt"])
        for x, rung in enumerate(ladder["rungs"])
        if "failed" not in rung and "ratio_to_cublaslt" in rung["timing"]
    ]
    first = next((i for i, (_, _, ratio) in enumerate(there) if ratio["median"] >= TOP), len(there))
    return there[first:]


def ratio_panel(axes, ratios):
    """The top of the ladder, on an axis that does not begin at 0: so points, no bars."""
    label = f"ratio to the best cuBLASLt in the same run, {ratios[0][1]} and up: "
    label += "median and 10th to 90th percentile"
    for x, _, ratio in ratios:
        spread = bars.spread_of(ratio)
        axes.errorbar(x, ratio["median"], yerr=spread, label=label, zorder=4, **POINT)
        how = {
            "textcoords": "offset points",
            "ha": "center",
            "va": "bottom",
            "fontsize": 9,
            "bbox": style.CLEAR,
        }
        axes.annotate(f"{ratio['median']:.3f}", (x, ratio["high"]), (0, 4), zorder=5, **how)
    axes.axhline(1, zorder=3, **style.SECOND)
    low = min(1, *(ratio["low"] for _, _, ratio in ratios))
    high = max(1, *(ratio["high"] for _, _, ratio in ratios))
    axes.set_ylim(math.floor(100 * low) / 100 - 0.003, math.ceil(100 * high) / 100 + 0.006)
    axes.grid(axis="y")
    axes.set_ylabel("of cuBLASLt")
    if ratios[0][0] > 2:
        words = "the axis does\nnot begin at 0"
        axes.text(0, 1, words, va="center", fontsize=10, bbox=style.CLEAR, zorder=5)


def axes_of(pyplot, below):
    """A figure with its axes: the bars', and if something stands below them, that one's."""
    if not below:
        figure, axes = style.figure_of(pyplot, 5.4)
        return figure, [axes]
    how = {"height_ratios": (2.4, 1), "hspace": 0.03}
    return style.figure_of(pyplot, 7.4, 2, 1, sharex=True, gridspec_kw=how)


def draw(pyplot, ladder, records):
    """The whole figure."""
    measure = recorded.PRODUCTS
    highs = [rung["timing"]["step"]["tflops"]["high"] for rung in recorded.measured(ladder)]
    top = 1.06 * max(highs + [line[0] for line in lines(ladder, records)])
    ratios = top_ratios(ladder)
    figure, panels = axes_of(pyplot, ratios)
    for y, words, how in lines(ladder, records):
        panels[0].axhline(y, zorder=3, label=words, **how)
    bars.rungs(panels[0], ladder, measure, top, size=11 if len(ladder["rungs"]) < 15 else 9)
    panels[0].set_ylabel("TFLOPS")
    if ratios:
        panels[0].tick_params(axis="x", labelbottom=True)
        ratio_panel(panels[1], ratios)
    panels[-1].set_xlabel("step")
    style.frame(figure, style.what(ladder), style.details(ladder))
    return figure
