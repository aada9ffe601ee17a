"""GB/s of the TMA track at several shapes: how near does a transpose come to a plain copy?"""

from __future__ import annotations

from plots.draw import multiples, style

NAME = "ladder-t"
WITHOUT = "t01 has no bar: it adds one to each element, and transposes nothing."
notes = multiples.notes


def find(records):
    """The newest run at each shape."""
    return multiples.find(records, "t")


def lines_of(ladder, records):
    """(y, legend, word, style) of the copy, the second opinion, and the memory's peak."""
    copy = ladder["device_copy"]["gb_per_s"]["median"]
    found = [(copy, "plain copy on the device (cudaMemcpyAsync)", "copy", style.CUBLAS)]
    second = ladder.get("second_opinion")
    if second:
        found.append((second["gb_per_s"]["median"], second["name"], second["name"], style.SECOND))
    peak = records.memory_peak(ladder["gpu"])
    if peak:
        found.append((1e-9 * peak, "memory's peak by clock and bus width", "peak", style.PEAK))
    return found


def draw(pyplot, ladders, records):
    """The whole figure."""
    return multiples.draw(pyplot, ladders, lambda ladder: lines_of(ladder, records), WITHOUT)
