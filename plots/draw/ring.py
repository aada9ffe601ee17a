"""What the warps of one CTA do over time, and what becomes of each stage of their ring.

One picture for each recorded trace: above a row per stage, below a row per warp, or per warpgroup
where the warps of one do the same.
"""

from __future__ import annotations

from functools import partial

from matplotlib.patches import Patch

from bench import trace as traces
from plots.draw import style

MOST_ROWS = 8  # of warps; more do what these do
ROW_INCHES = 0.34
HEIGHT = (3.9, 8.6)  # inches, the least and the most
THIN = 0.7  # points, of an edge
NARROW = 0.006  # of the axis: what is shorter has neither edge nor hatch, but can be seen
MOST_FILLS = 24  # of a GPU's trace: between its events lies much, and more would be a barcode
DIGIT = 0.009  # of the axis: room for one
BAR = 0.76  # of a row

WRITING = (
    "A traced warp stops to record each event: most white gaps in its row are that. "
    "Bars that nearly touch are drawn as one."
)
SEEN = (
    "A stage counts as being filled until a warp sees that its loads have landed. "
    "Numbers count its fills."
)
EDGE = {"edgecolor": "0.2", "linewidth": THIN}
STATES = {
    "filled": {"facecolor": style.SKY, "hatch": "////"},
    "full": {"facecolor": style.YELLOW},
    "read": {"facecolor": style.BLUE},
}
DOES = {
    "waits": {"facecolor": "0.8"},
    "loads": {"facecolor": style.SKY, "hatch": "////"},
    "stores": {"facecolor": style.ORANGE, "hatch": "\\\\\\\\"},
    "multiplies": {"facecolor": style.BLUE},
}


def pictures(records):
    """{name: what draws it} of each trace."""
    return {f"trace-{traces.name_of(row)}": partial(draw, row) for row in records.traces}


def shown_end(trace):
    """Where the picture ends: of a GPU's trace when so many fills of the ring were read."""
    fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
    done = sorted(fill.done for fill in fills if fill.done is not None)
    return trace.end if trace.exact or len(done) <= MOST_FILLS else done[MOST_FILLS - 1]


def together(spans, near):
    """The spans in their order, neighbours of one kind that are no further apart as one."""
    found = []
    for kind, begin, end in spans:
        if found and found[-1][0] == kind and begin - found[-1][2] <= near:
            found[-1] = (kind, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((kind, begin, end))
    return found


def bars(axes, row, spans, looks, end):
    """What one row shows until `end`: (kind, begin, end)."""
    spans = [(kind, begin, min(last, end)) for kind, begin, last in spans if begin < end]
    place = (row - BAR / 2, BAR)
    for kind, how in looks.items():
        mine = [(begin, last - begin) for what, begin, last in spans if what == kind]
        wide = [one for one in mine if one[1] >= NARROW * end]
        narrow = [one for one in mine if one[1] < NARROW * end]
        if wide:
            axes.broken_barh(wide, place, **EDGE, **how)
        if narrow:
            plain = {"facecolor": how["facecolor"], "edgecolor": how["facecolor"]}
            axes.broken_barh(narrow, place, linewidth=THIN, **plain)


def legends(trace):
    """(of the stages, of the warps)"""
    by_tma = any(warp.loads for warp in trace.warps)
    moves = "k" not in trace.run.problem  # it multiplies nothing
    stages = [
        ("being filled by TMA" if by_tma else "being filled", STATES["filled"]),
        ("full, not yet read", STATES["full"]),
        ("being read" if moves else "being multiplied", STATES["read"]),
        ("empty", {"facecolor": "white"}),
    ]
    warps = [
        ("waits", DOES["waits"]),
        ("starts loads", DOES["loads"]),
        ("writes results", DOES["stores"]),
        ("reads the tile" if moves else "multiplies", DOES["multiplies"]),
    ]
    return stages, warps


def number_fills(axes, row, stage, end):
    """Which fill it is, where there is room."""
    how = {"ha": "center", "va": "center", "color": "white", "fontsize": 8}
    for number, fill in enumerate(stage.fills, 1):
        read = fill.done is not None and fill.done <= end
        if read and fill.done - fill.taken >= DIGIT * len(str(number)) * end:
            axes.text((fill.taken + fill.done) / 2, row, str(number), **how)


def name_rows(axes, names, entries):
    """A labelled row for each name, the first on top; above the panel what its colours say."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    handles = [Patch(label=text, **EDGE, **how) for text, how in entries]
    how = {"borderaxespad": 0.2, "columnspacing": 1.6}
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, **how)


def time_words(trace):
    """What the axis shows."""
    if trace.exact:
        return "emulated steps: they tell what came before what, and no length means anything"
    clocks = trace.launch["clocks"]
    words = "cycles of the SM's clock since the CTA's first event"
    if not clocks["nanoseconds"]:
        return words
    return f"{words}, at about {clocks['cycles'] / clocks['nanoseconds']:.2f} GHz"


def notes_below(trace, stages):
    """What the picture does not show by itself."""
    hidden, last = len(trace.warps) - MOST_ROWS, trace.warps[:MOST_ROWS][-1].number
    found = [f"{hidden} more warps do what warp {last} does."] if hidden > 0 else []
    return found if trace.exact else [*found, WRITING, *([SEEN] if stages else [])]


def draw(row, _records):
    """The stages above, the warps below. What a GPU's warp does at once is cut up by the writing down of
    events."""
    trace = traces.Trace(row)
    stages = traces.stages(trace)
    end = shown_end(trace)
    warps = trace.warps[:MOST_ROWS]  # that have a row
    rows = [max(len(stages), 1), len(warps)]
    more = notes_below(trace, stages)
    height = ROW_INCHES * sum(rows) + 2.5 + style.LINE_INCHES * len(more)
    height = min(max(height, HEIGHT[0]), HEIGHT[1])
    ratios = [count + 0.4 for count in rows] if stages else [1]
    figure, (*upper, lower) = style.stack(height, ratios, 0.04)
    of_stages, of_warps = legends(trace)
    for axes in upper:
        for i, stage in enumerate(stages):
            bars(axes, i, traces.states(stage, trace.end), STATES, end)
            number_fills(axes, i, stage, end)
        name_rows(axes, [stage.name for stage in stages], of_stages)
    near = 0 if trace.exact else NARROW * end
    for i, warp in enumerate(warps):
        bars(lower, i, together(traces.spans(trace, warp), near), DOES, end)
    name_rows(lower, [trace.title(warp).replace(" (", "\n(") for warp in warps], of_warps)
    lower.set_xlim(0, end)
    lower.xaxis.set_major_formatter("{x:,.0f}")
    lower.set_xlabel(time_words(trace))
    launch, run = trace.launch, trace.run
    title = f"{row['step']}, CTA {launch['cta']} of {launch['ctas']}: {row['idea']}"
    problem = f"{style.computation(run)} {style.shape_words(run)}"
    machine = run.gpu["name"] if run.gpu else f"CPU emulator, policy {launch['policy']}"
    second = f"{machine}; {problem}, {style.when(run)}"
    return style.frame(figure, title, second, more=more)
