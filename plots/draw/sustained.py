"""Burst against sustained, with joules: what is left when the launches do not stop?"""

from __future__ import annotations

import recorded

from draw import bars, style
from draw.records import Missing, best_cublaslt, fullest

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
JOULES = {"color": style.YELLOW, "hatch": "..", "edgecolor": "0.25", "linewidth": 0.6}


def matches(burst, sustained):
    """True if they ran the same rungs on the same problem and kind of GPU."""
    names = {rung["step"] for rung in recorded.measured(burst)}
    return (
        burst["gpu"]["name"] == sustained["gpu"]["name"]
        and recorded.shape_of(burst) == recorded.shape_of(sustained)
        and burst["problem"]["inputs"] == sustained["problem"]["inputs"]
        and names.issuperset(rung["step"] for rung in recorded.measured(sustained))
    )


def partner(records, sustained):
    """The burst run that goes with a sustained one: of its commit, if there is one; or None."""
    bursts = [burst for burst in records.ladders("v") if matches(burst, sustained)]
    same = [burst for burst in bursts if burst["commit"] == sustained["commit"]]
    return (same or bursts or [None])[-1]


def find(records):
    """{protocol: ladder}: the fullest sustained run, at 8192³ if it can be, and its burst run."""
    pairs = [(partner(records, run), run) for run in records.ladders("v", "sustained")]
    pairs = [(burst, run) for burst, run in pairs if burst]
    if not pairs:
        command = 'make ladder ARGS="--protocol sustained"'
        raise Missing(f"no sustained run of the v track beside a burst run of it ({command})")
    usual = (recorded.HEADLINE_SIZE,) * 3
    there = [pair for pair in pairs if recorded.shape_of(pair[1]) == usual] or pairs
    sustained = fullest([run for _, run in there])
    return {"burst": partner(records, sustained), "sustained": sustained}


def table(ladder):
    """{name: timing} of what was measured, cuBLAS and the best of cuBLASLt last."""
    timings = {rung["step"]: rung["timing"]["step"] for rung in recorded.measured(ladder)}
    others = {"cuBLAS": ladder["cublas"], "best\ncuBLASLt": best_cublaslt(ladder)}
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


def joule_words(v):
    """'1.14' or '26.3'"""
    return f"{v:.2f}" if v < 10 else f"{v:.1f}"


def joule_panel(axes, timings, names):
    """What one product takes, sustained."""
    values = [timings[name]["joules"] for name in names]
    known = [v for v in values if v is not None]
    bars.labelled(
        axes,
        range(len(names)),
        values,
        joule_words,
        width=0.5,
        label="joules per product, sustained, by the GPU's energy counter",
        **JOULES,
    )
    axes.set_ylim(0, 1.2 * cut(known))
    for x, v in enumerate(values):
        if v is not None and v > 1.2 * cut(known):
            text = f"{joule_words(v)} ↑"
            how = {"ha": "center", "va": "top", "fontsize": 9, "bbox": style.CLEAR}
            axes.text(x, 1.15 * cut(known), text, **how)
    axes.set_ylabel("joules per GEMM")
    axes.grid(axis="y")


def cut(known):
    """The highest bar that is shown whole: not one that is many times as high as all others."""
    order = sorted(known) or [1]
    return order[-1] if len(order) < 2 or order[-1] < 4 * order[-2] else 2 * order[-2]


def draw(pyplot, ladders, _):
    """The whole figure."""
    tables = {protocol: table(ladder) for protocol, ladder in ladders.items()}
    names = [name for name in tables["sustained"] if name in tables["burst"]]
    figure, (rate, joules) = style.figure_of(
        pyplot, 6.6, 2, 1, sharex=True, gridspec_kw={"height_ratios": (1.5, 1), "hspace": 0.05}
    )
    rate_panel(rate, tables, names)
    joule_panel(joules, tables["sustained"], names)
    joules.set_xlabel("step")
    style.name_ticks(joules, names, fontsize=10)
    both = [ladders[protocol] for protocol in SIDES]
    title = f"{style.what(both[0]).rpartition(',')[0]}, burst and sustained protocol"
    style.frame(figure, title, style.details(*both))
    return figure
