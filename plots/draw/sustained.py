"""Burst against sustained, with joules: what is left when the launches do not stop?"""

from __future__ import annotations

import recorded

from draw import bars, style
from draw.records import Missing, best_cublaslt

NAME = "sustained"
SIDES = {
    "burst": {"color": style.SKY},
    "sustained": {
        "color": style.VERMILION,
        "hatch": "///",
        "edgecolor": "0.25",
        "linewidth": 0.6,
    },
}
WORDS = {
    "burst": "burst: a few launches after a pause",
    "sustained": "sustained: launches back to back for seconds",
}
OTHERS = {"cublas": "cuBLAS", "cublaslt": "best\ncuBLASLt"}  # as a ladder has them, and here
MEDIAN = {"marker": "D", "color": style.YELLOW, "edgecolors": "black", "s": 52}
PASS = {"marker": "_", "color": style.GREY, "s": 90, "linewidth": 1.0}
WIDE = 2  # the highest joules over the lowest: from here on the axis is logarithmic


def matches(burst, sustained):
    """True if the burst run has the other's rungs on the same problem and kind of GPU."""
    names = {rung["step"] for rung in recorded.measured(burst)}
    return (
        burst["gpu"]["name"] == sustained["gpu"]["name"]
        and recorded.shape_of(burst) == recorded.shape_of(sustained)
        and burst["problem"]["inputs"] == sustained["problem"]["inputs"]
        and names.issuperset(rung["step"] for rung in recorded.measured(sustained))
    )


def partner(records, sustained):
    """The burst run that goes with a sustained one, of its commit if there is one, or None."""
    fitting = [burst for burst in records.ladders("v") if matches(burst, sustained)]
    own = [burst for burst in fitting if burst["commit"] == sustained["commit"]]
    return (own or fitting or [None])[-1]


def find(records):
    """{protocol: ladder}: the newest sustained run, at 8192³ if it can be, and its burst run."""
    pairs = [(partner(records, run), run) for run in records.ladders("v", "sustained")]
    pairs = [(burst, run) for burst, run in pairs if burst]
    if not pairs:
        command = 'make ladder ARGS="--protocol sustained"'
        raise Missing(
            f"no sustained run of the v track beside a burst run of its rungs ({command})"
        )
    usual = (recorded.HEADLINE_SIZE,) * 3
    there = [pair for pair in pairs if recorded.shape_of(pair[1]) == usual] or pairs
    return dict(zip(SIDES, there[-1]))


def table(ladder):
    """{name: timing} of what was measured, cuBLAS and the best of cuBLASLt last."""
    timings = {rung["step"]: rung["timing"]["step"] for rung in recorded.measured(ladder)}
    others = dict(zip(OTHERS.values(), (ladder["cublas"], best_cublaslt(ladder))))
    return {**timings, **{name: timing for name, timing in others.items() if timing}}


def rate_panel(axes, tables, names):
    """Two bars per rung."""
    highest = 0
    for offset, (protocol, how) in zip((-0.2, 0.2), SIDES.items()):
        values = [tables[protocol][name]["tflops"]["median"] for name in names]
        places = [x + offset for x in range(len(names))]
        bars.labelled(
            axes,
            places,
            values,
            lambda v: f"{v:.0f}",
            width=0.38,
            label=WORDS[protocol],
            **how,
        )
        highest = max([highest, *values])
    axes.set_ylim(0, 1.1 * highest)
    axes.set_ylabel("TFLOPS")
    axes.grid(axis="y")


def pass_joules(ladder):
    """{name: what the passes read}: of a rung its own, of the others those beside every rung."""
    found = {}
    for rung in recorded.measured(ladder):
        for side, name in (("step", rung["step"]), *OTHERS.items()):
            readings = [one[side]["joules"] for one in rung["passes"] if side in one]
            found.setdefault(name, []).extend(v for v in readings if v is not None)
    return found


def joule_panel(axes, ladder, names):
    """What one product takes, sustained. The axis does not begin at 0: so points, no bars."""
    timings, passes = table(ladder), pass_joules(ladder)
    medians = [(x, timings[name]["joules"]) for x, name in enumerate(names)]
    medians = [(x, v) for x, v in medians if v is not None]
    single = [(x, v) for x, name in enumerate(names) for v in passes.get(name, ())]
    axes.set_ylabel("joules per GEMM")
    axes.grid(axis="y")
    if not medians:
        return
    words = "joules per product, sustained, by the GPU's energy counter: median"
    axes.scatter(*zip(*medians), zorder=4, label=f"{words} (axis does not begin at 0)", **MEDIAN)
    if single:
        axes.scatter(*zip(*single), zorder=3, label="the same, each pass", **PASS)
    for x, v in medians:
        text = f"{v:.3f}" if v < 10 else f"{v:.1f}"
        how = {"textcoords": "offset points", "va": "center", "fontsize": 9, "bbox": style.CLEAR}
        axes.annotate(text, (x, v), (8, 0), zorder=2.5, **how)
    low, high = (end(v for _, v in medians + single) for end in (min, max))
    if high < WIDE * low:
        room = 0.15 * (high - low) or 0.05 * high
        axes.set_ylim(low - room, high + room)
        return
    axes.set_yscale("log")
    axes.set_ylim(low / 1.2, high * 1.2)
    candidates = [digit * 10**power for power in range(-3, 4) for digit in (1, 2, 5)]
    style.plain_ticks(axes.yaxis, candidates, *axes.get_ylim())


def draw(pyplot, ladders, _):
    """The whole figure."""
    tables = {protocol: table(ladder) for protocol, ladder in ladders.items()}
    names = [name for name in tables["sustained"] if name in tables["burst"]]
    names = [name for name in names if not recorded.is_outdated(ladders["sustained"], name)]
    figure, (rate, joules) = style.figure_of(
        pyplot, 6.6, 2, 1, sharex=True, gridspec_kw={"height_ratios": (1.5, 1), "hspace": 0.05}
    )
    rate_panel(rate, tables, names)
    joule_panel(joules, ladders["sustained"], names)
    joules.set_xlabel("step")
    style.name_ticks(joules, names, fontsize=10)
    both = [ladders[protocol] for protocol in SIDES]
    title = f"{style.what(both[0]).rpartition(',')[0]}, burst and sustained protocol"
    style.frame(figure, title, style.details(*both))
    return figure
