"""Tensor-core share and SM clock of every v rung: why is it faster than the one it grows from?

The speed is their product, times the SMs and what one does per cycle. So a step's gain, as the
logarithm of the ratio, is the sum of the share's and the clock's.
"""

from __future__ import annotations

import math

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing, value

NAME = "share-and-clock"
READINGS = ("tensor_core_share", "sm_clock_ghz")
SHARE = {"color": style.SKY, "label": "tensor-core share: useful tensor-core cycles of all"}
CLOCK = {
    **style.HATCHED,
    "label": "mean SM clock during the launch, which the power limit lowers",
}
OUTLIER = 3  # a change so many times as large as any other is cut off
ROW = 0.15  # of the change panel's height: a row of numbers above it


def find(records):
    """The headline run, if it has both."""
    ladder = records.headline()
    readings = [[value(rung, reading) for reading in READINGS] for rung in ladder["rungs"]]
    if all(None in known for known in readings):
        raise Missing(f"no tensor-core share and clock known of an {ladder['gpu']['name']}")
    return ladder


def changes(ladder, reading):
    """By how many per cent (of a logarithm) each rung changes on the one that it grows from, or
    None where either is not known. Of a rate the median counts."""
    found, by_name = [], {}
    for rung in ladder["rungs"]:
        upper = value(rung, reading)
        upper = upper["median"] if isinstance(upper, dict) else upper
        pairs = [pair for pair in ladder["neighbours"] if pair["upper"] == rung["step"]]
        lower = by_name.get(pairs[0]["lower"]) if pairs else None
        found.append(None if None in (lower, upper) else 100 * math.log(upper / lower))
        by_name[rung["step"]] = upper
    return found


def panel(axes, ladder, reading, words, how):
    """The bars of one reading, those of whom the rungs are compared with last and white."""
    scale, digits = words
    values = [value(rung, reading) for rung in ladder["rungs"]]
    rungs = len(values)
    values += [timing[reading] for timing in style.others(ladder).values()]
    values = [None if v is None else scale * v for v in values]
    places = style.others_last(values, len(values) - rungs)
    show = f"{{:.{digits}f}}".format
    bars.labelled(axes, places[:rungs], values[:rungs], show, width=0.74, **how)
    white = {**how, "color": "white", "edgecolor": "0.25", "linewidth": 0.8, "label": None}
    bars.labelled(axes, places[rungs:], values[rungs:], show, width=0.74, **white)
    axes.set_ylim(0, 1.2 * max(v for v in values if v is not None))
    axes.grid(axis="y")


def limits(values):
    """The lowest and highest change to show whole, of none -1 and 1."""
    order = sorted(values)
    if not order:
        return -1, 1
    high, low = max(order[-1], 0), min(order[0], 0)
    rest = [v for v in order[:-1] if v > 0]
    if rest and order[-1] > OUTLIER * rest[-1]:
        high = 1.25 * rest[-1]
    room = 0.16 * (high - low)
    return low - 0.3 * room, high + 0.3 * room


def change_panel(axes, ladder):
    """Two bars per rung: what its share and what its clock did to its speed. Above them the changes in
    figures, a row for each: on the bars they would lie on top of each other."""
    share, clock = (changes(ladder, reading) for reading in READINGS)
    low, high = limits([v for v in (*share, *clock) if v is not None])
    for offset, values, how in ((-0.25, share, SHARE), (0.25, clock, CLOCK)):
        how = {key: how[key] for key in how if key != "label"}
        for x, v in enumerate(values):
            if v is None:
                continue
            shown = min(v, 0.88 * high) if v > high else v  # cut off, with an arrow
            axes.bar(x + offset, shown, width=0.44, zorder=2, **how)
            if v > high:
                axes.text(x + offset, shown, "↑", ha="center", va="bottom", fontsize=9)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylim(low, high)
    numbers = {"clock": clock, "share": share, "speed": changes(ladder, "tflops")}
    for row, (name, values) in enumerate(numbers.items()):
        strong = {"fontsize": 8.5, "fontweight": "bold"} if name == "speed" else {"fontsize": 9}
        how = {"va": "bottom", "transform": axes.get_xaxis_transform(), **strong}
        y = 1.02 + ROW * row
        axes.text(-0.55, y, name, ha="left", **how)
        for x, v in enumerate(values):
            if v is not None:
                axes.text(x, y, percent(v, 0 if v > 100 else 1), ha="center", **how)


def percent(v, digits=1):
    """'+1.2' or '−1.2' per cent, of a logarithm."""
    text = f"{100 * math.expm1(v / 100):+.{digits}f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def draw(pyplot, ladder, _):
    """The whole figure."""
    figure, (share, clock, change) = style.stack(pyplot, 7.6, (1, 1, 1.2))
    panel(share, ladder, READINGS[0], (100, 1), SHARE)
    panel(clock, ladder, READINGS[1], (1, 3), CLOCK)
    change_panel(change, ladder)
    share.set_ylabel("share, %")
    clock.set_ylabel("clock, GHz")
    change.set_ylabel("change on the rung\nit grows from, %")
    change.set_yticks([])
    change.set_xlabel("step")
    names = [*recorded.all_names(ladder), *style.others(ladder)]
    places = style.others_last(names, len(style.others(ladder)))
    style.name_ticks(change, names, places, fontsize=10)
    title = f"Speed = share × clock. {style.what(ladder)}"
    style.frame(figure, title, style.details(ladder))
    return figure
