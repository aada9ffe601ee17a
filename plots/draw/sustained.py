"""Burst against sustained, with joules: what is left when the launches do not stop?"""

from __future__ import annotations

from bench.results import Spread
from plots.draw import bars, style
from plots.draw.records import USUAL, Missing

SIDES = {
    "burst": {
        "color": style.SKY,
        "label": "burst: a few launches after a pause; median and 10th to 90th percentile",
    },
    "sustained": {
        **style.HATCHED,
        "color": style.VERMILION,
        "label": "sustained: launches back to back for a second and more; the same",
    },
}
MEDIAN = {"fmt": "D", "color": style.YELLOW, "markeredgecolor": "black", "markersize": 5}
LINE = {"ecolor": "black", "capsize": 4, "linewidth": 1.2}
JOULES = "joules per product, sustained, by the GPU's energy counter: the same of the passes"
MORE = "the axis of joules does not begin at 0; where two lines overlap, no order is measured"
HIGHEST = 1.15  # the axis of joules ends at so many times the lowest: the rest is above it


def own(run):
    """What two runs share that were measured together: the commit, and the card."""
    return run.commit, run.gpu.get("card")


def find(records):
    """{protocol: run}: the first sustained run, at 8192³ if it can be, and a burst run that has its rungs
    on the same problem and kind of GPU: of its card and commit, or of its card, or of its commit, if there
    is one."""
    runs = records.ladders("v", "sustained")
    for run in sorted(runs, key=lambda run: run.shape != USUAL):
        commit, card = own(run)
        fitting = [
            burst
            for burst in records.ladders("v")
            if (burst.gpu["name"], burst.problem) == (run.gpu["name"], run.problem)
            and {*burst.measured} >= {*run.measured}
        ]
        if fitting:
            burst = min(fitting, key=lambda one: (own(one)[1] != card, one.commit != commit))
            return {"burst": burst, "sustained": run}
    command = 'make ladder ARGS="--protocol sustained"'
    raise Missing(f"no sustained run of the v track beside a burst run of its rungs ({command})")


def table(run):
    """{words: name} of what was measured, cuBLAS and the best of cuBLASLt last."""
    return {**{name: name for name in run.measured}, **style.others(run)}


def rate_panel(axes, runs, columns):
    """Two bars per rung. columns: {name: where it is}."""
    highest = 0
    for offset, (protocol, how) in zip((-0.2, 0.2), SIDES.items()):
        rates = [runs[protocol].rate(name) for name in columns]
        places = [x + offset for x in columns.values()]
        axes.bar(places, [rate.mid for rate in rates], width=0.38, zorder=2, **how)
        line = {"color": "black", "capsize": 2, "linewidth": 1, "zorder": 3}
        size = {"fontsize": 9, "rotation": 90 if len(columns) > 9 else 0}
        for x, rate in zip(places, rates):
            axes.errorbar(x, rate.mid, yerr=bars.spread_of(rate), **line)
            style.note(axes, f"{rate.mid:.0f}", (x, rate.high), (0, 3), **size)
        highest = max([highest, *(rate.high for rate in rates)])
    axes.set(ylim=(0, 1.15 * highest), ylabel="TFLOPS")
    axes.grid(axis="y")


def joules_of(run, name):
    """What the passes read: of a rung its own, of the others those beside every rung."""
    return [one["joules"] for one in run.timed(name) if one.get("joules") is not None]


def joule_panel(axes, run, columns):
    """What one product takes, sustained. The axis does not begin at 0: so points, no bars."""
    found = [(x, joules_of(run, name)) for name, x in columns.items()]
    found = [(x, Spread.of(joules)) for x, joules in found if joules]
    axes.set_ylabel("joules per GEMM")
    axes.grid(axis="y")
    if not found:
        return
    low = min(joules.low for _, joules in found)
    shown = [joules for _, joules in found if joules.mid <= HIGHEST * low]
    high = max(joules.high for joules in shown)
    room = 0.2 * (high - low) or 0.05 * high
    for x, joules in found:
        text = f"{joules.mid:.3f}" if joules.mid < 10 else f"{joules.mid:.1f}"
        how = {"ha": "center", "va": "bottom", "fontsize": 9, "bbox": style.CLEAR, "zorder": 2.5}
        if joules not in shown:
            axes.text(x, high + room, f"{text} ↑", rotation=90, **{**how, "va": "top"})
            continue
        spread = bars.spread_of(joules)
        axes.errorbar(x, joules.mid, yerr=spread, label=JOULES, zorder=4, **MEDIAN, **LINE)
        style.note(axes, text, (x, joules.high), (0, 5), **how)
    axes.set_ylim(low - room, high + 1.5 * room)


def apart(burst, sustained):
    """A line that says so if the two were not measured together."""
    if own(burst) == own(sustained):
        return []
    commits = [run.commit for run in (burst, sustained)]
    how = f"at commits {' and '.join(commits)}" if commits[0] != commits[1] else ""
    how += " on two cards" if burst.gpu != sustained.gpu else ""
    return [f"Burst and sustained were measured apart, {how.strip()}: compare within each alone."]


def draw(records):
    """The rates above, the joules below."""
    runs = find(records)
    both = [runs[protocol] for protocol in SIDES]
    there = table(runs["burst"])
    shown = {words: name for words, name in table(runs["sustained"]).items() if words in there}
    places = style.others_last(shown, sum(words in style.OTHERS for words in shown))
    columns = dict(zip(shown.values(), places))
    figure, (rate, joules) = style.stack(7.2, (1.2, 1))
    rate_panel(rate, runs, columns)
    joule_panel(joules, runs["sustained"], columns)
    joules.set_xlabel("step")
    style.name_ticks(joules, list(shown), places, fontsize=10)
    title = f"{style.what(both[0]).rpartition(',')[0]}, burst and sustained protocol"
    return style.frame(figure, title, style.details(*both), more=[MORE, *apart(*both)])
