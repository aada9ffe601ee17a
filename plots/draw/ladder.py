"""TFLOPS of every v rung, with cuBLAS, the best cuBLASLt and the peak: how far up does it go?"""

from __future__ import annotations

import recorded

from draw import bars, style
from draw.records import best_cublaslt

NAME = "ladder"


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


def draw(pyplot, ladder, records):
    """The whole figure."""
    measure = recorded.PRODUCTS
    highs = [rung["timing"]["step"]["tflops"]["high"] for rung in recorded.measured(ladder)]
    top = 1.06 * max(highs + [line[0] for line in lines(ladder, records)])
    figure, axes = style.figure_of(pyplot, 5.4)
    for y, words, how in lines(ladder, records):
        axes.axhline(y, zorder=3, label=words, **how)
    bars.rungs(axes, ladder, measure, top)
    axes.set_xlabel("step")
    axes.set_ylabel("TFLOPS")
    style.frame(figure, style.what(ladder), style.details(ladder))
    return figure
