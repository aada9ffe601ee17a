"""Burst against sustained, with joules: what is left when the launches do not stop?"""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing

NAME = "sustained"
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
    return run["commit"], run["gpu"].get("card")


def partner(records, sustained):
    """The burst run that has a sustained one's rungs on the same problem and kind of GPU, of its card
    and commit if there is one, or else of its card, or of its commit; or None."""

    def what(run):
        return run["gpu"]["name"], recorded.shape_of(run), run["problem"]["inputs"]

    def names(run):
        return {rung["step"] for rung in recorded.measured(run)}

    fitting = [burst for burst in records.ladders("v") if what(burst) == what(sustained)]
    fitting = [burst for burst in fitting if names(burst) >= names(sustained)]
    same = [burst for burst in fitting if own(burst) == own(sustained)]
    card = [burst for burst in fitting if burst["gpu"] == sustained["gpu"]]
    commit = [burst for burst in fitting if burst["commit"] == sustained["commit"]]
    return (same or card or commit or fitting or [None])[-1]


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
    return {**timings, **style.others(ladder)}


def rate_panel(axes, tables, columns):
    """Two bars per rung. columns: {name: where it is}."""
    highest = 0
    for offset, (protocol, how) in zip((-0.2, 0.2), SIDES.items()):
        rates = [tables[protocol][name]["tflops"] for name in columns]
        places = [x + offset for x in columns.values()]
        axes.bar(places, [rate["median"] for rate in rates], width=0.38, zorder=2, **how)
        line = {"color": "black", "capsize": 2, "linewidth": 1, "zorder": 3}
        size = {"fontsize": 9, "rotation": 90 if len(columns) > 9 else 0}
        for x, rate in zip(places, rates):
            axes.errorbar(x, rate["median"], yerr=bars.spread_of(rate), **line)
            style.note(axes, f"{rate['median']:.0f}", (x, rate["high"]), (0, 3), **size)
        highest = max([highest, *(rate["high"] for rate in rates)])
    axes.set_ylim(0, 1.15 * highest)
    axes.set_ylabel("TFLOPS")
    axes.grid(axis="y")


def pass_joules(ladder):
    """{name: what the passes read}: of a rung its own, of the others those beside every rung."""
    found = {}
    for rung in recorded.measured(ladder):
        for name, side in ((rung["step"], "step"), *style.OTHERS.items()):
            readings = [one[side]["joules"] for one in rung["passes"] if side in one]
            found.setdefault(name, []).extend(v for v in readings if v is not None)
    return found


def joule_panel(axes, ladder, columns):
    """What one product takes, sustained. The axis does not begin at 0: so points, no bars."""
    passes = pass_joules(ladder)
    found = [(x, recorded.summary(passes[name])) for name, x in columns.items() if passes.get(name)]
    axes.set_ylabel("joules per GEMM")
    axes.grid(axis="y")
    if not found:
        return
    low = min(joules["low"] for _, joules in found)
    shown = [joules for _, joules in found if joules["median"] <= HIGHEST * low]
    high = max(joules["high"] for joules in shown)
    room = 0.2 * (high - low) or 0.05 * high
    for x, joules in found:
        text = f"{joules['median']:.3f}" if joules["median"] < 10 else f"{joules['median']:.1f}"
        how = {"ha": "center", "va": "bottom", "fontsize": 9, "bbox": style.CLEAR, "zorder": 2.5}
        if joules not in shown:
            axes.text(x, high + room, f"{text} ↑", rotation=90, **{**how, "va": "top"})
            continue
        spread = bars.spread_of(joules)
        axes.errorbar(x, joules["median"], yerr=spread, label=JOULES, zorder=4, **MEDIAN, **LINE)
        style.note(axes, text, (x, joules["high"]), (0, 5), **how)
    axes.set_ylim(low - room, high + 1.5 * room)


def apart(burst, sustained):
    """A line that says so if the two were not measured together."""
    if own(burst) == own(sustained):
        return []
    commits = [run["commit"] for run in (burst, sustained)]
    how = f"at commits {' and '.join(commits)}" if commits[0] != commits[1] else ""
    how += " on two cards" if burst["gpu"] != sustained["gpu"] else ""
    return [f"Burst and sustained were measured apart, {how.strip()}: compare within each alone."]


def draw(pyplot, ladders, _):
    """The whole figure."""
    tables = {protocol: table(ladder) for protocol, ladder in ladders.items()}
    names = [name for name in tables["sustained"] if name in tables["burst"]]
    names = [name for name in names if not recorded.is_outdated(ladders["sustained"], name)]
    places = style.others_last(names, sum(name in style.OTHERS for name in names))
    columns = dict(zip(names, places))
    figure, (rate, joules) = style.stack(pyplot, 7.2, (1.2, 1))
    rate_panel(rate, tables, columns)
    joule_panel(joules, ladders["sustained"], columns)
    joules.set_xlabel("step")
    style.name_ticks(joules, names, places, fontsize=10)
    both = [ladders[protocol] for protocol in SIDES]
    title = f"{style.what(both[0]).rpartition(',')[0]}, burst and sustained protocol"
    style.frame(figure, title, style.details(*both), more=[MORE, *apart(*both)])
    return figure
