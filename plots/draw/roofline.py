"""TFLOPS against FLOP per byte moved, as a walk up the ladder: what holds a rung back, the tensor cores
or the memory?

The times are a ladder's. The bytes were counted in another run, of one launch that began with cold
caches: those between DRAM and L2, and those between L2 and the SMs.
"""

from __future__ import annotations

from dataclasses import dataclass

from plots.draw import bars, style
from plots.draw.records import Missing

NAME = "roofline"
ELEMENT_BYTES = 2  # of bf16
WALK = {  # the rungs that get a point, and their tiles
    "v02": "64 × 64",
    "v04": "128 × 128",
    "v07": "128 × 256",
    "v16": "256 × 200",
}
BELOW_TOP, TOP = list(WALK)[-2:]


@dataclass(frozen=True)
class Kind:
    """Bytes between two places."""

    words: str
    metrics: tuple
    unit: int  # bytes
    mark: dict
    bar: dict
    name: dict  # where a point's name is


KINDS = {
    "DRAM": Kind(
        "between DRAM and L2",
        ("dram__bytes_read.sum", "dram__bytes_write.sum"),
        1,
        {"marker": "o", "color": style.BLUE},
        {"color": style.BLUE},
        {"xytext": (7, -7), "ha": "left", "va": "top"},
    ),
    "L2": Kind(
        "between L2 and the SMs",
        ("lts__t_sectors_srcunit_tex.sum",),
        32,
        {"marker": "s", "color": style.ORANGE},
        style.HATCHED,
        {"xytext": (-7, 4), "ha": "right", "va": "bottom"},
    ),
}


def find(records):
    """(run, {rung: (the run that counted it, row)}), both of the home GPU."""
    counted, run = records.counted(), records.headline()
    if not rows(run, counted):
        raise Missing("no rung with counted bytes and a time as well (python3 -m bench.counters)")
    return run, counted


def notes(found):
    """The rungs whose bytes are not counted."""
    there = {name for name, _, _ in rows(*found)}
    lacking = [name for name in found[0].names if name not in there]
    return [f"no point for {', '.join(lacking)}: bytes not counted"] if lacking else []


def bytes_of(program):
    """{kind: the bytes moved} by a rung, or cuBLAS; None if this ncu knew no count."""
    known = program["counters"]
    counts = {name: [known.get(m) for m in kind.metrics] for name, kind in KINDS.items()}
    if any(None in of_kind for of_kind in counts.values()):
        return None
    return {name: sum(of_kind) * KINDS[name].unit for name, of_kind in counts.items()}


def rows(run, counted):
    """[(name, TFLOPS, {kind: bytes})] of the rungs that have both, then of cuBLAS."""
    found = []
    for name in run.measured:
        moved = bytes_of(counted[name][1]) if name in counted else None
        if moved:
            found.append((name, run.rate(name).mid, moved))
    moved = bytes_of(counted[found[-1][0]][1]["cublas"]) if found else None
    return found + ([("cuBLAS", run.rate("cublas").mid, moved)] if moved else [])


def walk(table):
    """The rungs that get a point, of none of them all. The bars show all."""
    return [row for row in table if row[0] in WALK] or table


def draw_walk(axes, kind, points):
    """One kind's points, [(name, FLOP per byte, TFLOPS)], with an arrow from each to the next."""
    _, x, y = zip(*points)
    how = {"s": 64, "zorder": 4, "edgecolors": "black", **KINDS[kind].mark}
    axes.scatter(x, y, label=f"bytes {KINDS[kind].words}", **how)
    arrow = {"arrowstyle": "->", "color": KINDS[kind].mark["color"], "linewidth": 1.8}
    arrow.update(shrinkA=5, shrinkB=5)
    for here, there in zip(zip(x, y), zip(x[1:], y[1:])):
        axes.annotate("", there, here, arrowprops=arrow, zorder=3)
    for name, at, rate in points:
        words = f"{name}: {WALK[name]}" if name in WALK else name
        how = {"fontsize": 10, "bbox": style.CLEAR, "zorder": 3.5, **KINDS[kind].name}
        if name == TOP:  # close to the one before it
            how.update(xytext=(0, 7), ha="center", va="bottom")
        elif name == BELOW_TOP:
            how.update(KINDS["DRAM"].name)
        axes.annotate(words, (at, rate), textcoords="offset points", **how)


def roof_panel(axes, run, table, records):
    """The roofline itself: the flat roof, and the slope of what the memory gives."""
    points = {
        kind: [(name, run.work / moved[kind], rate) for name, rate, moved in table]
        for kind in KINDS
    }
    peak, memory = style.tensor_peak(records, run), records.memory_peak(run.gpu)
    every = [at for kind in KINDS for _, at, _ in points[kind]]
    rates = [rate for _, rate, _ in table]
    x = (min(every) / 1.9, max(every) * 2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*x)
    axes.set_ylim(min(rates) / 1.5, 1.25 * max(rates + ([peak[0]] if peak else [])))
    if peak:
        words = f"tensor cores: dense bf16 peak at {peak[1]:.2f} GHz, {peak[0]:.0f} TFLOPS"
        axes.plot(x, [peak[0]] * 2, label=words, **style.PEAK)
    if memory:
        words = (
            f"DRAM: {1e-9 * memory:.0f} GB/s by clock and bus width; it bounds the circles alone"
        )
        axes.plot(x, [1e-12 * memory * at for at in x], label=words, **style.CUBLAS)
    for kind, here in points.items():
        draw_walk(axes, kind, here)
    plain_ticks(axes.xaxis, *axes.get_xlim())
    plain_ticks(axes.yaxis, *axes.get_ylim())
    axes.grid()
    axes.set_xlabel("FLOP per byte moved")
    axes.set_ylabel("TFLOPS")


def plain_ticks(axis, low, high):
    """Numbers in place of powers of ten."""
    from matplotlib import ticker

    candidates = [digit * 10**power for power in range(5) for digit in (1, 2, 3, 5, 7)]
    axis.set_major_locator(ticker.FixedLocator([v for v in candidates if low <= v <= high]))
    axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(ticker.NullLocator())


def bytes_panel(axes, table, kind, least):
    """How much each rung moves; least: A and B read once, D written once."""
    values = [moved[kind] * 1e-9 for _, _, moved in table]
    digits = 2 if max(values) < 5 else 1
    many = len(table) > 8
    how = {"size": 7 if many else 9, "width": 0.72, **KINDS[kind].bar}
    bars.labelled(axes, range(len(table)), values, f"{{:.{digits}f}}".format, **how)
    words = f"A, B and D once: {least * 1e-9:.2f} GB"
    axes.axhline(least * 1e-9, label=words, zorder=3, **style.LEAST)
    style.name_ticks(axes, [name for name, _, _ in table], fontsize=10, rotation=90 if many else 0)
    axes.set_ylim(0, 1.18 * max(values))
    axes.set_title(f"{KINDS[kind].words}, GB", fontsize=11)


def draw(pyplot, found, records):
    """The whole figure."""
    run, counted = found
    table = rows(run, counted)
    m, n, k = run.shape
    figure, axes = pyplot.subplot_mosaic(
        [["roof", "roof"], ["DRAM", "L2"]],
        figsize=(style.WIDTH, 7.6),
        layout="constrained",
        height_ratios=(1.75, 1),
    )
    roof_panel(axes["roof"], run, walk(table), records)
    for kind in KINDS:
        bytes_panel(axes[kind], table, kind, ELEMENT_BYTES * (m * k + n * k + m * n))
    counts = style.commits(by for by, _ in counted.values())
    second = f"{style.details(run)}\nbytes, with cold caches: {counts}"
    style.frame(figure, style.what(run), second, more=["beside a rung's name: its tile of D"])
    return figure
