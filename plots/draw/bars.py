"""Bars for rungs: one each with its spread, or several side by side."""

from __future__ import annotations

from bench.rungs import aside_of
from plots.draw import style

ASIDE = {"color": "#CDE8F7", "label": "the same, of a rung beside the learner's path"}


def label_size(names):
    """The size of the figures at a rung, in points: so that neighbours don't touch."""
    return 11 if len(names) < 15 else 9 if len(names) < 20 else 7


def spread_of(values):
    """The distances from the median to the 10th and the 90th percentile, as errorbar takes them."""
    return [[max(0, values.mid - values.low)], [max(0, values.high - values.mid)]]


def rung(axes, x, run, name, top, size):
    """One bar with its spread; at its foot, where no line crosses it, its rate and its ratio to what it
    is compared with."""
    if name in run.failed:
        axes.text(x, 0.01 * top, "failed", ha="center", va="bottom", rotation=90)
        return
    rate = run.rate(name)
    what = "rung: median and 10th to 90th percentile; at its foot the ratio to "
    what += f"{run.measure.other_name} in the same run"
    how = ASIDE if aside_of(name) else {"color": style.SKY, "label": what}
    axes.bar(x, rate.mid, width=0.74, zorder=2, **how)
    line = {"color": "black", "capsize": 4, "linewidth": 1.2, "zorder": 4}
    axes.errorbar(x, rate.mid, yerr=spread_of(rate), **line)
    y = 0 if rate.mid > 0.16 * top else rate.high  # a short bar has them above it
    how = {"fontsize": size, "zorder": 5}
    style.note(axes, f"{rate.mid:.0f}", (x, y), (0, 6 + 1.45 * size), fontweight="bold", **how)
    style.note(axes, f"{run.ratio(name).mid:.3f}", (x, y), (0, 6), **how)


def rungs(axes, run, names, top, size):
    """These rungs, named below."""
    for x, name in enumerate(names):
        rung(axes, x, run, name, top, size)
    style.name_ticks(axes, names)
    axes.set_ylim(0, top)
    axes.grid(axis="y")


def labelled(axes, places, values, words, *, size=9, rotation=0, **how):
    """Bars with a number above each; None leaves a gap."""
    known = [(x, value) for x, value in zip(places, values) if value is not None]
    if not known:
        return
    shown = axes.bar(*zip(*known), zorder=2, **how)
    text = {"fontsize": size, "rotation": rotation, "bbox": style.CLEAR, "zorder": 3}
    axes.bar_label(shown, [words(value) for _, value in known], padding=2, **text)
