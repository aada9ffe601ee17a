"""TFLOPS of the Ampere track at several shapes: what did each idea bring, and does it everywhere?"""

from __future__ import annotations

from plots.draw import multiples, style

NAME = "ladder-a"
WITHOUT = "a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem."
notes = multiples.notes


def find(records):
    """The newest run at each shape."""
    return multiples.find(records, "a")


def lines_of(ladder, records):
    """(y, legend, word, style) of cuBLAS, cuBLAS with fp16 sums, and the peak."""
    cublas = ladder["cublas"]["tflops"]["median"]
    found = [(cublas, "cuBLAS, fp32 sums (the ratios are to this one)", "fp32 sums", style.CUBLAS)]
    beside = ladder.get("cublas_fp16_sums")
    if beside:
        rate = beside["tflops"]["median"]
        found.append((rate, "cuBLAS, fp16 sums", "fp16 sums", style.SECOND))
    peak = style.peak_tflops(records, ladder)
    if peak:
        found.append((peak[0], style.peak_words(ladder, peak), "peak", style.PEAK))
    return found


def draw(pyplot, ladders, records):
    """The whole figure."""
    return multiples.draw(pyplot, ladders, lambda ladder: lines_of(ladder, records), WITHOUT)
