"""TFLOPS against FLOP per byte moved, as a walk up the ladder: what holds a rung back, the tensor cores
or the memory?

The times are a ladder's. The bytes were counted in another run, of one launch that began with cold
caches: those between DRAM and L2, and those between L2 and the SMs.
"""

from __future__ import annotations

from plots.draw import bars, style
from plots.draw.probes import tile_of
from plots.draw.records import Missing

ELEMENT_BYTES = 2  # of bf16
WALK = ("v02", "v04", "v07", "v16")  # the rungs that get a point
BELOW_TOP, TOP = WALK[-2:]
BELOW = {"xytext": (7, -7), "ha": "left", "va": "top"}  # where a point's name is
BESIDE = {"xytext": (-7, 4), "ha": "right", "va": "bottom"}
ABOVE = {"xytext": (0, 7), "ha": "center", "va": "bottom"}
# Bytes between two places: in words, what counts them, how many bytes that are each, and the looks of
# points, of their names, and of bars.
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
L2 = ("lts__t_sectors_srcunit_tex.sum",)
CIRCLE, SQUARE = {"marker": "o", "color": style.BLUE}, {"marker": "s", "color": style.ORANGE}
KINDS = {
    "DRAM": ("between DRAM and L2", DRAM, 1, CIRCLE, BELOW, {"color": style.BLUE}),
    "L2": ("between L2 and the SMs", L2, 32, SQUARE, BESIDE, style.HATCHED),
}


def bytes_of(program):
    """{kind: the bytes moved} by a rung, or cuBLAS; None if this ncu knew no count."""
    known, found = program["counters"], {}
    for kind, (_, metrics, unit, *_) in KINDS.items():
        counts = [known.get(metric) for metric in metrics]
        if None in counts:
            return None
        found[kind] = unit * sum(counts)
    return found


def rows(run, counted):
    """[(name, TFLOPS, {kind: bytes})] of the rungs that have both, then of cuBLAS."""
    found = []
    for name in run.measured:
        moved = bytes_of(counted[name][1]) if name in counted else None
        if moved:
            found.append((name, run.rate(name).mid, moved))
    moved = bytes_of(counted[found[-1][0]][1]["cublas"]) if found else None
    return found + ([("cuBLAS", run.rate("cublas").mid, moved)] if moved else [])


def draw_walk(axes, kind, points):
    """One kind's points, [(name, FLOP per byte, TFLOPS)], with an arrow from each to the next."""
    words, _, _, mark, named, _ = KINDS[kind]
    names, *places = zip(*points)
    axes.scatter(*places, s=64, zorder=4, edgecolors="black", label=f"bytes {words}", **mark)
    places = list(zip(*places))
    arrow = {"arrowstyle": "->", "color": mark["color"], "linewidth": 1.8}
    for here, there in zip(places, places[1:]):
        axes.annotate("", there, here, arrowprops={**arrow, "shrinkA": 5, "shrinkB": 5}, zorder=3)
    for name, place in zip(names, places):
        words = f"{name}: {{}} × {{}}".format(*tile_of(name)) if name in WALK else name
        # The last is close to the one before it.
        how = {TOP: ABOVE, BELOW_TOP: BELOW}.get(name, named)
        how = {"fontsize": 10, "bbox": style.CLEAR, "zorder": 3.5, **how}
        axes.annotate(words, place, textcoords="offset points", **how)


def roof_panel(axes, run, table, records):
    """The roofline itself: the flat roof, and the slope of what the memory gives."""
    table = [entry for entry in table if entry[0] in WALK] or table  # the bars show all
    points = {
        kind: [(name, run.work / moved[kind], rate) for name, rate, moved in table]
        for kind in KINDS
    }
    peak, memory = style.tensor_peak(records, run), records.memory_peak(run.gpu)
    every = [at for kind in KINDS for _, at, _ in points[kind]]
    rates = [rate for _, rate, _ in table]
    x = (min(every) / 1.9, max(every) * 2)
    y = (min(rates) / 1.5, 1.25 * max(rates + ([peak[0]] if peak else [])))
    axes.set(xscale="log", yscale="log", xlim=x, ylim=y)
    if peak:
        words = f"tensor cores: dense bf16 peak at {peak[1]:.2f} GHz, {peak[0]:.0f} TFLOPS"
        axes.plot(x, [peak[0]] * 2, label=words, **style.PEAK)
    if memory:
        words = f"DRAM: {1e-9 * memory:.0f} GB/s by clock and bus width; "
        words += "it bounds the circles alone"
        axes.plot(x, [1e-12 * memory * at for at in x], label=words, **style.CUBLAS)
    for kind, here in points.items():
        draw_walk(axes, kind, here)
    plain_ticks(axes.xaxis, *axes.get_xlim())
    plain_ticks(axes.yaxis, *axes.get_ylim())
    axes.minorticks_off()
    axes.grid()
    axes.set(xlabel="FLOP per byte moved", ylabel="TFLOPS")


def plain_ticks(axis, low, high):
    """Numbers in place of powers of ten."""
    candidates = [digit * 10**power for power in range(5) for digit in (1, 2, 3, 5, 7)]
    shown = [number for number in candidates if low <= number <= high]
    axis.set_ticks(shown, map(str, shown))


def bytes_panel(axes, table, kind, least):
    """How much each rung moves; least: A and B read once, D written once."""
    values = [moved[kind] * 1e-9 for _, _, moved in table]
    digits = 2 if max(values) < 5 else 1
    many = len(table) > 8
    how = {"size": 7 if many else 9, "width": 0.72, **KINDS[kind][-1]}
    bars.labelled(axes, range(len(table)), values, f"{{:.{digits}f}}".format, **how)
    words = f"A, B and D once: {least * 1e-9:.2f} GB"
    axes.axhline(least * 1e-9, label=words, zorder=3, **style.LEAST)
    style.name_ticks(axes, [name for name, _, _ in table], fontsize=10, rotation=90 if many else 0)
    axes.set(ylim=(0, 1.18 * max(values)), title=f"{KINDS[kind][0]}, GB")


def draw(records):
    """The roofline above, the bytes of every rung below; both counts and times are of the home GPU."""
    counted, run = records.counted(), records.headline()
    table = rows(run, counted)
    if not table:
        raise Missing("no rung with counted bytes and a time as well (python3 -m bench.counters)")
    lacking = [name for name in run.names if name not in [entry[0] for entry in table]]
    if lacking:
        print(f"roofline: no point for {', '.join(lacking)}: bytes not counted")
    m, n, k = run.shape
    figure = style.Figure(figsize=(style.WIDTH, 7.6), layout="constrained")
    mosaic = [["roof", "roof"], ["DRAM", "L2"]]
    axes = figure.subplot_mosaic(mosaic, height_ratios=(1.75, 1))
    roof_panel(axes["roof"], run, table, records)
    for kind in KINDS:
        bytes_panel(axes[kind], table, kind, ELEMENT_BYTES * (m * k + n * k + m * n))
    counts = style.commits(by for by, _ in counted.values())
    second = f"{style.details(run)}\nbytes, with cold caches: {counts}"
    more = ["beside a rung's name: its tile of D"]
    return style.frame(figure, style.what(run), second, more=more)
