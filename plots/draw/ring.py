"""What the warps of one CTA do over time, and what becomes of each stage of their ring: a row per
stage, then a row per warp, or per warpgroup where the warps of one do the same."""

from __future__ import annotations

from functools import partial

from bench import trace as traces
from plots.draw import style
from plots.draw.records import Missing

TOGETHER = ("v02", "v04", "v07", "v15")  # one above the other, on one time
ALONE = "v04"
MOST_ROWS = 8  # of warps; more do what these do
ROW_INCHES = {True: 0.34, False: 0.17}  # with names, without
NARROW = 0.006  # of the axis: what is shorter has neither edge nor hatch, but can be seen
BAR = 0.8  # of a row
EDGE = {"edgecolor": "0.2", "linewidth": 0.7}
STATES = {  # by what bench/trace.py calls it: how it is drawn, its name
    "filled": ({"facecolor": style.SKY, "hatch": "////"}, "stage: being filled"),
    "full": ({"facecolor": style.YELLOW}, "full, not yet read"),
    "read": ({"facecolor": style.BLUE}, "being multiplied"),
}
DOES = {
    "waits": ({"facecolor": "0.8"}, "warp: waits"),
    "loads": ({"facecolor": style.SKY, "hatch": "////"}, "starts loads"),
    "stores": ({"facecolor": style.ORANGE, "hatch": "\\\\\\\\"}, "writes results"),
    "multiplies": ({"facecolor": style.BLUE}, "multiplies"),
}
STEPS = "steps: they tell what came before what, and no length means anything"


def bars(axes, row, spans, looks):
    """What one row shows: (kind, begin, end)."""
    place, end = (row - BAR / 2, BAR), axes.get_xlim()[1]
    for kind, (how, _) in looks.items():
        mine = [(begin, last - begin) for what, begin, last in spans if what == kind]
        plain = {"facecolor": how["facecolor"], "edgecolor": how["facecolor"], "linewidth": 0.7}
        axes.broken_barh([one for one in mine if one[1] < NARROW * end], place, **plain)
        axes.broken_barh([one for one in mine if one[1] >= NARROW * end], place, **EDGE, **how)


def strip(axes, trace, named):
    """The stages above, the warps below."""
    stages, warps = traces.stages(trace), trace.warps[:MOST_ROWS]
    for row, stage in enumerate(stages):
        bars(axes, row, traces.states(stage, trace.end), STATES)
    for row, warp in enumerate(warps, len(stages)):
        bars(axes, row + 0.3, traces.spans(trace, warp), DOES)
    rows = len(stages) + len(warps)
    axes.set(ylim=(rows - 0.1, -0.6), yticks=[])
    if named:
        names = [stage.name for stage in stages]
        names += [trace.title(warp).replace(" (", "\n(") for warp in warps]
        places = [row + 0.3 * (row >= len(stages)) for row in range(rows)]
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", length=0)


def draw(rows, words, _records=None):
    """A strip for each trace, on one axis of time; the names of rows if it is one alone."""
    if not rows:
        raise Missing("no trace of the emulator (bench/trace.py)")
    made, named = [traces.Trace(row) for row in rows], len(rows) == 1
    counts = [len(traces.stages(trace)) + min(len(trace.warps), MOST_ROWS) for trace in made]
    height = 2 + ROW_INCHES[named] * sum(counts) + 0.22 * len(rows) * (not named)
    figure, panels = style.stack(height, counts)
    panels[0].set_xlim(0, max(trace.end for trace in made))
    for axes, row, trace in zip(panels, rows, made):
        strip(axes, trace, named)
        axes.set_xticks([])
        if not named:
            axes.set_title(f"{row['step']}: {row['idea']}", loc="left", fontsize=10, pad=2)
    for looks in (STATES, DOES):
        for how, label in looks.values():
            panels[0].bar(0, 0, label=label, **EDGE, **how)
    panels[-1].set_xlabel(STEPS)
    run, policies = made[0].run, style.distinct(trace.launch["policy"] for trace in made)
    words = words or "{step}, one CTA: {idea}".format(**rows[0])
    problems = style.distinct(style.shape_words(trace.run) for trace in made)
    under = f"CPU emulator, policy {policies}; {style.computation(run)} {problems}"
    return style.frame(figure, words, under, columns=4)


def pictures(records):
    """{name: what draws it}: of the committed traces two pictures, of one that a user named its own."""
    if records.chosen:
        return {f"trace-{row['step']}-emulator": partial(draw, [row], "") for row in records.traces}
    by = {row["step"]: row for row in records.traces}
    words = "What a CTA does over time: stages of the ring above, warps below"
    together, alone = ([by[step] for step in of if step in by] for of in (TOGETHER, [ALONE]))
    found = {"trace-emulator": partial(draw, together, words)}
    return {**found, f"trace-{ALONE}-emulator": partial(draw, alone, "")}
