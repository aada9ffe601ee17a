"""Why a rung is faster: share against clock, TFLOPS against joules, and where the joules go; and a
sweep's ratios."""

from __future__ import annotations

import math
from statistics import fmean, geometric_mean

from matplotlib.patches import Rectangle

from bench.energy import budget
from bench.sweep import FIRST, TIMED, compared
from notes.tools.tables import families, swept
from plots.draw import style
from plots.draw.bars import mid, pairs
from plots.draw.records import USUAL, Missing

FLOP_PER_CYCLE = 4096  # of an SM's tensor cores, dense bf16, on sm_90
RUNG = {"marker": "o", "color": style.BLUE}
OTHER = {"marker": "D", "color": style.ORANGE}
POINT = {"linestyle": "none", "markersize": 7, "markeredgecolor": "black", "zorder": 4}
SLACK = 1.01  # a run whose speed is share times clock within this has no slow launch
PANELS = (  # of the plane: clocks in GHz, shares in %, TFLOPS of the curves
    ((1.55, 1.82), (25, 101), (300, 400, 500, 600, 700, 800)),
    ((1.57, 1.70), (91, 99), (800, 820, 840, 860, 880)),
)
# Where a name is, in points from its point, if not to the right.
BESIDE = {"v06": (0, 6), "v07": (-7, -5), "v08": (-8, 0), "v09": (7, -6), "v10": (-7, 5)}
BESIDE |= {"v11": (0, 6), "v12": (-7, -3), "v13": (4, 7), "v16": (-8, 3), "v17": (8, 3)}
FAMILIES = {  # a sweep's families of shapes, from above
    "aligned": "aligned: m, n multiples of 128",
    "any": "unaligned: n, k multiples of 8",
    "rows": "small M: up to 128",
    "small": "small: powers of two",
    "odd": "n or k no multiple of 8",
}
PAIRS = {"untimed choice, of cuBLASLt's first": FIRST, "timed, of cuBLASLt's best": TIMED}
BUDGETS = ({"color": style.SKY, **style.EDGE}, style.HATCHED, {"color": style.GREEN, **style.EDGE})
ERROR = {"fmt": "none", "ecolor": "black", "capsize": 2, "linewidth": 1.1, "zorder": 3}
NEAR = 1.15  # times the fewest joules: the panel ends there


def point(axes, name, place, offset):
    """One of them, with its name, so many points from it."""
    axes.plot(*([one] for one in place), **POINT, **(RUNG if name[0] in "vs" else OTHER))
    (x, y), sides = offset, lambda one, *words: words[(one > 0) - (one < 0)]
    how = {"ha": sides(x, "center", "left", "right"), "va": sides(y, "center", "bottom", "top")}
    how |= {"fontsize": 9, "zorder": 5}
    style.note(axes, name, place, offset, **how)


def readings(run):
    """{name: (clock, share in %)} of all programs that have both."""
    found = {}
    for words, name in {**{name: name for name in run.measured}, **style.others(run)}.items():
        both = run.reading(name, "ghz"), run.reading(name, "share")
        if all(both):
            found[words] = both[0], 100 * both[1]
    return found


def clean(run):
    """True if each rung's speed is share times clock: the mean clock has a slow launch, if there was one,
    and the median speed has none."""
    known = {name: math.prod(both) for name, both in readings(run).items() if name in run.measured}
    rest = [run.rate(name).mid / product for name, product in known.items()]
    return bool(rest) and max(rest) < SLACK * min(rest)


def share_and_clock(records):
    """The plane: all of it to the left, its upper corner to the right."""
    runs = [] if records.chosen else records.ladders("v", old=True)
    runs = [run for run in runs if run.shape == USUAL and clean(run)]
    run = max(runs, key=lambda run: (len(run.names), run.date), default=records.headline())
    known = readings(run)
    if not known:
        raise Missing(f"no tensor-core share and clock known of an {run.gpu['name']}")
    figure, panels = style.figure_of(4.6, 1, 2, width_ratios=(1, 1.5))
    (low, high), shares, curves = PANELS[0]
    every = [clock for clock, _ in known.values()]
    whole = ((min(low, min(every) - 0.03), max(high, max(every) + 0.03)), shares, curves)
    for axes, (clocks, shares, curves) in zip(panels, (whole, PANELS[1])):
        axes.set(xlim=clocks, ylim=shares, xlabel="SM clock, GHz")
        for tflops in curves:
            xs = [clocks[0] + (clocks[1] - clocks[0]) * i / 50 for i in range(51)]
            ys = [1e5 * tflops / (x * FLOP_PER_CYCLE * run.gpu["sms"]) for x in xs]
            axes.plot(xs, ys, color="0.75", linewidth=1, zorder=1)
            inside = [(x, y) for x, y in zip(xs, ys) if shares[0] < y < shares[1]]
            how = {"color": "0.4", "fontsize": 9, "bbox": style.CLEAR, "va": "center"}
            axes.text(*inside[min(3, len(inside) - 1)], str(tflops), ha="center", **how)
    for name, place in known.items():
        zoomed = all(low < at < high for at, (low, high) in zip(place, PANELS[1][:2]))
        offset = BESIDE.get(name, (8, 0))
        look = RUNG if name[0] == "v" else OTHER
        if zoomed:
            point(panels[1], name, place, offset)
            panels[0].plot(*([one] for one in place), **{**POINT, **look, "markersize": 4})
        else:
            point(panels[0], name, place, offset)
    (x, right), (y, top), _ = PANELS[1]
    box = {"facecolor": "none", "edgecolor": style.VERMILION, "linewidth": 1.2}
    panels[0].add_patch(Rectangle((x, y), right - x, top - y, zorder=3, **box))
    panels[0].set_ylabel("tensor-core share of all cycles, %")
    panels[1].set_title("the marked part")
    title = f"TFLOPS = share × clock × {run.gpu['sms']} SMs × {FLOP_PER_CYCLE} FLOP per cycle"
    second = f"{style.what(run)}; curves: equal TFLOPS"
    return style.frame(figure, title, second, more=[style.details(run)])


def power(records):
    """Burst and sustained rates to the left; to the right TFLOPS against joules of the sustained run."""
    runs = [run for run in records.ladders("v", "sustained") if run.shape == USUAL]
    runs = [run for run in runs if run.reading(run.measured[-1], "joules")]
    if not runs:
        command = 'make ladder ARGS="--protocol sustained"'
        raise Missing(f"no sustained run of the v track at 8192³ with joules ({command})")
    run = max(runs, key=lambda run: len(run.measured))
    bursts = [one for one in records.ladders("v") if one.problem == run.problem]
    bursts = [one for one in bursts if one.gpu["name"] == run.gpu["name"]]
    names = {**{name: name for name in run.measured}, **style.others(run)}
    figure, (left, right) = style.figure_of(4.4, 1, 2, width_ratios=(1.25, 1))
    both = {**({"burst": bursts[0]} if bursts else {}), "sustained": run}
    rates = [[mid(one, name, one.rate) for name in names.values()] for one in both.values()]
    pairs(left, rates, both)
    words = [word.replace(" ", "\n") for word in names]
    style.name_ticks(left, words, rotation=90, fontsize=9)
    left.set(ylabel="TFLOPS", title="burst and sustained")
    known = {
        word: (run.reading(name, "joules"), run.rate(name).mid, run.reading(name, "watts"))
        for word, name in names.items()
    }
    fewest = min(one[0] for one in known.values())
    near = {word: one for word, one in known.items() if one[0] <= NEAR * fewest}
    watts = fmean(one[2] for one in near.values())
    joules = sorted(one[0] for one in near.values())
    ends = joules[0] / 1.02, joules[-1] * 1.02
    xs = [ends[0] + (ends[1] - ends[0]) * i / 40 for i in range(41)]
    right.plot(xs, [1e-12 * run.work * watts / x for x in xs], **style.CUBLAS)
    for i, (word, (x, y, _)) in enumerate(sorted(near.items(), key=lambda one: one[1][0])):
        offset = (6, 4) if i % 2 else (-5, -12) if i == 4 else (-6, -4)
        point(right, word, (x, y), offset)
    right.set(xlabel="joules per GEMM, sustained", ylabel="TFLOPS")
    right.margins(x=0.12)
    right.set_title(f"line: FLOP × {watts:.0f} W / joules")
    title = f"{style.gpu_words(run)}: {style.computation(run)} {style.shape_words(run)}"
    apart = len({(one.commit, one.gpu.get("card")) for one in both.values()}) > 1
    more = ["Burst and sustained were measured apart: compare within each alone."] if apart else []
    return style.frame(figure, title, style.details(*both.values()), columns=2, more=more)


def energy(records):
    """A row for each entry of the budgets, with a bar of each rung."""
    known = budget.newest(records.runs, records.chosen)
    if not known:
        raise Missing("no whole run of a rung's parts at 8192³ (make energy)")
    runs = [known[rung] for rung in sorted(known)]
    budgets = [budget.make(run) for run in runs]
    names = [entry.words for entry in budgets[0].entries]
    height, most = 0.86 / len(runs), max(e.high for made in budgets for e in made.entries)
    figure, axes = style.figure_of(1.7 + 0.31 * len(names))
    for i, (run, made, look) in enumerate(zip(runs, budgets, BUDGETS)):
        label = f"{budget.rung_of(run)}: {made.joules:.3f} ± {made.error:.3f} J per GEMM"
        for row, entry in enumerate(made.entries):
            y = row - 0.43 + (i + 0.5) * height
            low, value, high = (1e3 * one for one in (entry.low, entry.joules, entry.high))
            axes.barh(y, value, height=height, zorder=2, label=label, **look)
            axes.errorbar(value, y, xerr=[[value - low], [high - value]], **ERROR)
            words = f"{value:.0f} mJ, {100 * entry.joules / made.joules:.1f} %"
            how = {"ha": "left", "va": "center_baseline", "fontsize": 9}
            style.note(axes, words.replace("-", "−"), (max(high, 0), y), (5, 0), **how)
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="mJ of one GEMM")
    axes.set_xlim(-100 * most, 1.25e3 * most)
    axes.axvline(0, color="black", linewidth=0.8)
    more = ["error bars: how far a bar moves if any one of the parts is left out of the fit"]
    if len({(run.commit, run.gpu.get("card")) for run in runs}) > 1:
        more.append("The rungs were measured on different cards or commits: joules differ by that.")
    title = f"Where the joules go. {style.what(runs[0]).rpartition(',')[0]}"
    return style.frame(figure, title, style.details(*runs), columns=len(runs), more=more)


def any_shape(records):
    """A row for each family: each shape's ratio, and the geometric mean as a line and in figures."""
    there = [name for run in records.runs if {*TIMED} <= run.contenders for name in run.measured]
    name = max(there, default=None)
    found = swept(records.runs, name, families())
    if not found:
        raise Missing('no sweep over random shapes (make record ARGS="--only shapes")')
    _, gpu = next(iter(found))
    found = {word: found[word, gpu] for word in FAMILIES if (word, gpu) in found}
    figure, panels = style.figure_of(4, 1, 2, sharey=True, squeeze=False)
    for axes, (words, pair) in zip(panels[0], PAIRS.items()):
        for row, runs in enumerate(found.values()):
            ratios = [*compared(runs, name, pair).values()]
            for i, ratio in enumerate(sorted(ratios)):
                y = row - 0.16 + 0.32 * (i * 7 % len(ratios)) / len(ratios)
                axes.plot([ratio], [y], marker="o", markersize=3.5, color=style.SKY, alpha=0.8)
            mean = geometric_mean(ratios)
            axes.plot([mean] * 2, [row - 0.28, row + 0.28], color="black", linewidth=2, zorder=5)
            how = {"fontsize": 10, "bbox": style.CLEAR}
            style.note(axes, f"{mean:.3f}", (mean, row - 0.28), (0, 2), **how)
        axes.set(xscale="log", title=words, ylim=(len(found) - 0.4, -0.75))
        low, high = axes.get_xlim()
        axes.set_xticks([tick for tick in (0.5, 0.7, 1, 1.5, 2, 3, 5) if low <= tick <= high])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.axvline(1, zorder=1, **style.SECOND)
    panels[0][0].set_yticks(range(len(found)), [FAMILIES[word] for word in found], fontsize=10)
    runs = [run for of in found.values() for run in of]
    title = f"{name} on {style.what(runs[0], shape=False)}: random shapes"
    second = "a point: a shape; black: the geometric mean; above 1: faster than cuBLASLt"
    return style.frame(figure, title, second, more=[style.details(*runs)])
