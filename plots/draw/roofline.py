"""TFLOPS against FLOP per byte moved: what holds a rung back, the tensor cores or the memory?

The times are a ladder's. The bytes were counted in another run, of one launch that began with cold
caches: those between DRAM and L2, and those between L2 and the SMs.
"""

from __future__ import annotations

import math

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing

NAME = "roofline"
SECTOR_BYTES = 32
ELEMENT_BYTES = 2  # of bf16
KINDS = {
    "DRAM": ("dram__bytes_read.sum", "dram__bytes_write.sum"),
    "L2": ("lts__t_sectors_srcunit_tex.sum",),
}
MARKS = {
    "DRAM": {"marker": "o", "color": style.BLUE},
    "L2": {"marker": "s", "color": style.ORANGE},
}
WORDS = {"DRAM": "between DRAM and L2", "L2": "between L2 and the SMs"}
BARS = {
    "DRAM": {"color": style.BLUE},
    "L2": style.HATCHED,
}
NEAR = 0.1  # of the bytes
NAME_GAP = 0.034  # between names at the foot, of the width of the axes; less if they are many


def find(records):
    """(ladder, counters), both of the home GPU."""
    counters = records.counters((recorded.HEADLINE_SIZE,) * 3)
    ladder = records.headline()
    if not rows(ladder, counters):
        raise Missing("no rung with counted bytes and a time as well (python3 -m bench.counters)")
    return ladder, counters


def notes(found):
    """The rungs whose bytes nobody counted."""
    ladder, counters = found
    there = {name for name, _, _ in rows(ladder, counters)}
    lacking = [name for name in recorded.all_names(ladder) if name not in there]
    return [f"no point for {', '.join(lacking)}: bytes not counted"] if lacking else []


def apart(table):
    """The rungs that get a point: those that move other bytes than the last one that did, by a tenth
    of either kind at least; the first, the highest and cuBLAS in any case. The bars show all."""
    names = [name for name, _, _ in table if name != "cuBLAS"]
    shown = []
    for row in table:
        name, _, moved = row
        near = shown and all(abs(moved[kind] / shown[-1][2][kind] - 1) < NEAR for kind in KINDS)
        if not near or name in (names[-1], "cuBLAS"):
            shown.append(row)
    return shown


def bytes_of(step):
    """{kind: the bytes moved}; None if this ncu knew no count."""
    found = {}
    for kind, metrics in KINDS.items():
        counts = [step["counters"].get(metric) for metric in metrics]
        if None in counts:
            return None
        found[kind] = sum(counts) * (SECTOR_BYTES if kind == "L2" else 1)
    return found


def rows(ladder, counters):
    """[(name, TFLOPS, {kind: bytes})] of the rungs that have both, then of cuBLAS."""
    steps = {step["step"]: step for step in counters["steps"] if "failed" not in step}
    found = []
    for rung in recorded.measured(ladder):
        step = steps.get(rung["step"])
        if step and bytes_of(step):
            rate = rung["timing"]["step"]["tflops"]["median"]
            found.append((rung["step"], rate, bytes_of(step)))
    if found:
        last = bytes_of(steps[found[-1][0]]["cublas"])
        if last:
            found.append(("cuBLAS", ladder["cublas"]["tflops"]["median"], last))
    return found


def least_bytes(ladder):
    """A and B read once, D written once."""
    m, n, k = recorded.shape_of(ladder)
    return ELEMENT_BYTES * (m * k + n * k + m * n)


def draw_roofs(axes, peak, memory, x):
    """The flat roof, and the slope of what the memory gives."""
    if peak:
        words = f"tensor cores: dense bf16 peak at {peak[1]:.2f} GHz, {peak[0]:.0f} TFLOPS"
        axes.plot(x, [peak[0]] * 2, label=words, **style.PEAK)
    if memory:
        words = f"memory: {1e-9 * memory:.0f} GB/s by clock and bus width"
        slope = [1e-12 * memory * intensity for intensity in x]
        axes.plot(x, slope, label=words, **style.CUBLAS)


def draw_points(axes, points):
    """The rungs at their intensities: {kind: [(name, FLOP per byte, TFLOPS)]}."""
    for kind, here in points.items():
        _, x, y = zip(*here)
        words = f"bytes {WORDS[kind]}"
        axes.scatter(x, y, s=46, zorder=4, edgecolors="black", label=words, **MARKS[kind])
    name_points(axes, [point for here in points.values() for point in here])
    name_clouds(axes, points)


def across(axes, x):
    """Where that is in the axes' width, which is logarithmic."""
    place = axes.transData.transform((x, axes.get_ylim()[0]))
    return axes.transAxes.inverted().transform(place)[0]


def name_points(axes, points):
    """All names side by side at the foot, each with a line to its point."""
    gap = min(NAME_GAP, 1 / len(points))
    wanted = [across(axes, at) for _, at, _ in points]
    places = style.apart(style.within(wanted, gap), gap)
    for (name, at, rate), place in zip(points, places):
        how = {"rotation": 90, "ha": "center", "va": "bottom", "bbox": style.CLEAR}
        style.lead(axes, name, (at, rate), (place, 0.03), **how)


def name_clouds(axes, points):
    """Above the axes, whose bytes the points below are."""
    middles = []
    for here in points.values():
        places = [across(axes, at) for _, at, _ in here]
        middles.append((min(places) + max(places)) / 2)
    for kind, place in zip(points, style.apart(middles, 0.3)):
        how = {"transform": axes.transAxes, "ha": "center", "va": "bottom", "fontsize": 10}
        axes.text(place, 1.02, f"bytes {WORDS[kind]}", **how)


def roof_panel(axes, found, records):
    """The roofline itself."""
    ladder, counters = found
    table = apart(rows(ladder, counters))
    flop = 2 * math.prod(recorded.shape_of(ladder))
    points = {
        kind: [(name, flop / moved[kind], rate) for name, rate, moved in table] for kind in KINDS
    }
    peak = style.peak_tflops(records, ladder)
    every = [at for kind in KINDS for _, at, _ in points[kind]]
    rates = [rate for _, rate, _ in table]
    x = (min(every) / 1.8, max(every) * 2.4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*x)
    top = 1.25 * max(rates + ([peak[0]] if peak else []))
    room = max(2.8, (top / min(rates)) ** 0.42)  # for the names, however far the points reach
    axes.set_ylim(min(rates) / room, top)
    draw_roofs(axes, peak, records.memory_peak(ladder["gpu"]), x)
    draw_points(axes, points)


def bytes_panel(axes, table, kind, least):
    """How much each rung moves."""
    values = [moved[kind] * 1e-9 for _, _, moved in table]
    digits = 2 if max(values) < 5 else 1
    many = len(table) > 8
    how = {"size": 7 if many else 9, "width": 0.72, **BARS[kind]}
    bars.labelled(axes, range(len(table)), values, f"{{:.{digits}f}}".format, **how)
    words = f"A, B and D once: {least * 1e-9:.2f} GB"
    axes.axhline(least * 1e-9, label=words, zorder=3, **style.LEAST)
    style.name_ticks(axes, [name for name, _, _ in table], fontsize=10, rotation=90 if many else 0)
    axes.set_ylim(0, 1.18 * max(values))
    axes.set_title(f"{WORDS[kind]}, GB", fontsize=11)


def draw(pyplot, found, records):
    """The whole figure."""
    ladder, counters = found
    table = rows(ladder, counters)
    figure, axes = pyplot.subplot_mosaic(
        [["roof", "roof"], ["DRAM", "L2"]],
        figsize=(style.WIDTH, 7.6),
        layout="constrained",
        height_ratios=(1.75, 1),
    )
    roof_panel(axes["roof"], found, records)
    candidates = [digit * 10**power for power in range(5) for digit in (1, 2, 3, 5, 7)]
    style.plain_ticks(axes["roof"].xaxis, candidates, *axes["roof"].get_xlim())
    style.plain_ticks(axes["roof"].yaxis, candidates, *axes["roof"].get_ylim())
    axes["roof"].grid()
    axes["roof"].set_xlabel("FLOP per byte moved")
    axes["roof"].set_ylabel("TFLOPS")
    for kind in KINDS:
        bytes_panel(axes[kind], table, kind, least_bytes(ladder))
    counted = style.commits(counters["sources"])
    second = f"{style.details(ladder)}\nbytes, with cold caches: {counted}"
    style.frame(figure, style.what(ladder), second, columns=2)
    return figure
