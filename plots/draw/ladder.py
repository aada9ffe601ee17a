"""TFLOPS of every v rung, with cuBLAS, the best cuBLASLt and the peak: how far up does it go?"""

from __future__ import annotations

import math

from bench.records import recorded
from plots.draw import bars, style

NAME = "ladder"
TOP = 0.95  # of the best cuBLASLt: from the first rung with so much on, the bars look alike
POINT = {"marker": "o", "color": style.BLUE, "linestyle": "none", "capsize": 4, "linewidth": 1.2}
RATIO = "ratio to the best cuBLASLt in the same run: median and 10th to 90th percentile"


def find(records):
    """The headline run."""
    return records.headline()


def notes(ladder):
    """What the run lacks."""
    return [] if ladder.get("cublaslt") else ["no line for the best cuBLASLt: it is not recorded"]


def lines(ladder, records):
    """(TFLOPS, legend, style) of whoever the rungs are compared with."""
    cublas = ladder["cublas"]["tflops"]["median"]
    found = [(cublas, f"cuBLAS, median: {cublas:.0f} TFLOPS", style.CUBLAS)]
    best = ladder.get("cublaslt")
    if best:
        rate = best["tflops"]["median"]
        found.append((rate, f"best cuBLASLt, median: {rate:.0f} TFLOPS", style.SECOND))
    peak = style.peak_tflops(records, ladder)
    if peak:
        found.append((peak[0], style.peak_words(ladder, peak), style.PEAK))
    return found


def top_ratios(ladders):
    """[(place, name, ratio to the best cuBLASLt of the same run)], over the cards of one GPU, of the
    rungs from the first with TOP of it on; none if it is not recorded."""
    names = recorded.all_names(ladders[0])
    ratios = [
        recorded.over_cards(ladders, name, lambda timing: timing.get("ratio_to_cublaslt"))
        for name in names
    ]
    there = [point for point in zip(range(len(names)), names, ratios) if point[2]]
    first = next((i for i, (_, _, ratio) in enumerate(there) if ratio["median"] >= TOP), len(there))
    return there[first:]


def limits_of(ratios):
    """Of the axis of these ratios, which does not begin at 0."""
    low = min(1, *(ratio["low"] for _, _, ratio in ratios))
    high = max(1, *(ratio["high"] for _, _, ratio in ratios))
    return math.floor(100 * low) / 100 - 0.003, math.ceil(100 * high) / 100 + 0.006


def ratio_panel(axes, ladders, ratios, limits):
    """The top of the ladder on one GPU, over its cards: points, as there is no 0."""
    for x, _, ratio in ratios:
        spread = bars.spread_of(ratio)
        axes.errorbar(x, ratio["median"], yerr=spread, label=RATIO, zorder=4, **POINT)
        how = {"fontsize": 9, "bbox": style.CLEAR, "zorder": 5}
        style.note(axes, f"{ratio['median']:.3f}", (x, ratio["high"]), (0, 4), **how)
    axes.axhline(1, zorder=3, **style.SECOND)
    axes.set_ylim(*limits)
    axes.grid(axis="y")
    cards = f", {len(ladders)} cards" if len(ladders) > 1 else ""
    axes.set_ylabel(f"{recorded.short_name(ladders[0]['gpu'])}{cards}:\nof cuBLASLt")
    if ratios[0][0] > 2:
        words = "the axis does\nnot begin at 0"
        axes.text(0, 1, words, va="center", fontsize=10, bbox=style.CLEAR, zorder=5)


def draw(pyplot, ladder, records):
    """The whole figure."""
    measure = recorded.PRODUCTS
    highs = [rung["timing"]["step"]["tflops"]["high"] for rung in recorded.measured(ladder)]
    top = 1.06 * max(highs + [line[0] for line in lines(ladder, records)])
    runs = records.beside(ladder)
    below = [(ladders, top_ratios(ladders)) for ladders in runs.values()]
    below = [(ladders, ratios) for ladders, ratios in below if ratios]
    height = 5.9 + 1.5 * len(below) if below else 5.4
    figure, panels = style.stack(pyplot, height, (2.4, *[1] * len(below)), 0.03)
    for y, words, how in lines(ladder, records):
        panels[0].axhline(y, zorder=3, label=words, **how)
    bars.rungs(panels[0], ladder, measure, top, size=11 if len(ladder["rungs"]) < 15 else 9)
    panels[0].set_ylabel("TFLOPS")
    limits = limits_of([point for _, ratios in below for point in ratios]) if below else None
    for axes, (ladders, ratios) in zip(panels[1:], below):
        panels[0].tick_params(axis="x", labelbottom=True)
        ratio_panel(axes, ladders, ratios, limits)
    panels[-1].set_xlabel("step")
    shown = [ladder for ladders, _ in below for ladder in ladders] or [ladder]
    more = style.other_gpus(shown)
    if any(len(ladders) > 1 for ladders, _ in below):
        more.append(
            "of several cards: the median of their medians, and from the lowest to the highest"
        )
    style.frame(figure, style.what(ladder), style.details(*shown), more=more)
    return figure
