"""Bars for rungs: one each with its spread, or several side by side."""

from __future__ import annotations

from plots.draw import style


def spread_of(values):
    """The distances from the median to the 10th and the 90th percentile, as errorbar wants them."""
    median = values["median"]
    return [[median - values["low"]], [values["high"] - median]]


def legend_of(measure):
    """What a rung's bar and its two numbers are."""
    return (
        "rung: median and 10th to 90th percentile; below it the ratio to "
        f"{measure.other_name} in the same run"
    )


def failed(axes, x, top):
    """A rung without a result."""
    axes.text(x, 0.01 * top, "failed", ha="center", va="bottom", rotation=90)


def rung(axes, x, entry, measure, top, size=11):
    """One bar with its spread, its rate and its ratio to what it is compared with."""
    if "failed" in entry:
        failed(axes, x, top)
        return
    rate = entry["timing"]["step"][measure.rate]
    value = rate["median"]
    axes.bar(x, value, width=0.74, color=style.SKY, zorder=2, label=legend_of(measure))
    axes.errorbar(x, value, yerr=spread_of(rate), color="black", capsize=4, linewidth=1.2, zorder=4)
    # A tall bar carries its labels inside, clear of the spread's line, the upper one in front
    # of what crosses the bar; a short one above it.
    inside = value > 0.22 * top
    ground = {"boxstyle": "square,pad=0.05", "facecolor": style.SKY, "edgecolor": "none"}
    y = min(value, rate["low"]) if inside else rate["high"]
    offsets = (-9, -9 - 1.45 * size) if inside else (5 + 1.4 * size, 6)
    ratio = entry["timing"][measure.ratio]["median"]
    rate_text = (f"{value:.0f}", "bold", ground if inside else None)
    texts = (rate_text, (f"{ratio:.3f}", "normal", None))
    for offset, (text, weight, box) in zip(offsets, texts):
        axes.annotate(
            text,
            (x, y),
            (0, offset),
            textcoords="offset points",
            ha="center",
            va="top" if inside else "bottom",
            fontweight=weight,
            fontsize=size,
            bbox=box,
            zorder=5,
        )


def rungs(axes, ladder, measure, top, size=11):
    """All rungs of a ladder, named below."""
    for x, entry in enumerate(ladder["rungs"]):
        rung(axes, x, entry, measure, top, size)
    style.name_ticks(axes, [entry["step"] for entry in ladder["rungs"]])
    axes.set_ylim(0, top)
    axes.grid(axis="y")


def labelled(axes, places, values, words, *, size=9, rotation=0, **how):
    """Bars with a number above each, or below it where it is negative; None leaves a gap."""
    known = [(x, value) for x, value in zip(places, values) if value is not None]
    if not known:
        return
    axes.bar([x for x, _ in known], [value for _, value in known], zorder=2, **how)
    for x, value in known:
        axes.annotate(
            words(value),
            (x, value),
            (0, 2 if value >= 0 else -2),
            textcoords="offset points",
            ha="center",
            va="bottom" if value >= 0 else "top",
            fontsize=size,
            rotation=rotation,
            bbox=style.CLEAR,
            zorder=3,
        )
