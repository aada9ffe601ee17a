"""Tensor-core share and SM clock of every v rung: why is it faster than the one it grows from?

The speed is their product, times the SMs and what one does per cycle. So a step's gain, as the
logarithm of the ratio, is the sum of the share's and the clock's.
"""

from __future__ import annotations

import math

from plots.draw import bars, style
from plots.draw.records import USUAL, Missing

READINGS = ("share", "ghz")
SHARE = {"color": style.SKY, "label": "tensor-core share: useful tensor-core cycles of all"}
CLOCK = {
    **style.HATCHED,
    "label": "mean SM clock during the launch, which the power limit lowers",
}
SLACK = 1.01
SHOWN = 6  # percent: longer bars of changes are cut off, so that small ones can be seen
ROW = 0.14  # of the change panel's height: a row of numbers above it


def value(run, name, reading):
    """A reading of a rung's own, or the median of its rate, or None."""
    if name in run.failed:
        return None
    return run.rate(name).mid if reading == "rate" else run.reading(name, reading)


def adds_up(run):
    """True if each rung's speed is share times clock. The mean clock has a slow launch, and the median
    speed has none: then it isn't."""
    known = [[value(run, name, one) for one in (*READINGS, "rate")] for name in run.names]
    rest = [speed / (share * clock) for share, clock, speed in known if share and clock]
    return bool(rest) and max(rest) < SLACK * min(rest)


def find(records):
    """Of the runs at 8192³ that add up, older ones too, the newest of those with the most rungs; if none
    does the headline run. Missing if it has neither."""
    runs = [] if records.chosen else records.ladders("v", old=True)
    clean = [run for run in runs if run.shape == USUAL and adds_up(run)]
    run = max(clean, key=lambda run: (len(run.names), run.date), default=records.headline())
    known = ([value(run, name, reading) for reading in READINGS] for name in run.names)
    if all(None in both for both in known):
        raise Missing(f"no tensor-core share and clock known of an {run.gpu['name']}")
    return run


def changes(run, reading):
    """By how many percent (of a logarithm) each rung changes on the one that it grows from, or
    None where either is not known. Of a rate the median counts."""
    known, found = {name: value(run, name, reading) for name in run.names}, []
    for name, upper in known.items():
        lower = known.get(None if name in run.failed else run.first(name).get("below"))
        found.append(None if None in (lower, upper) else 100 * math.log(upper / lower))
    return found


def panel(axes, run, reading, words, how):
    """The bars of one reading, those of what the rungs are compared with last and white."""
    scale, digits = words
    values = [value(run, name, reading) for name in run.names]
    rungs = len(values)
    values += [run.reading(name, reading) for name in style.others(run).values()]
    values = [None if v is None else scale * v for v in values]
    places = style.others_last(values, len(values) - rungs)
    show = f"{{:.{digits}f}}".format
    bars.labelled(axes, places[:rungs], values[:rungs], show, width=0.74, **how)
    white = {**how, "color": "white", "edgecolor": "0.25", "linewidth": 0.8, "label": None}
    bars.labelled(axes, places[rungs:], values[rungs:], show, width=0.74, **white)
    axes.set_ylim(0, 1.2 * max(v for v in values if v is not None))
    axes.grid(axis="y")


def change_panel(axes, run):
    """Two bars per rung: what its share and what its clock did to its speed. Above them the changes in
    figures, a row for each: on the bars they would lie on top of each other."""
    share, clock = (changes(run, reading) for reading in READINGS)
    for offset, values, how in ((-0.22, share, SHARE), (0.22, clock, CLOCK)):
        how = {key: how[key] for key in how if key != "label"}
        for x, v in enumerate(values):
            if v is None:
                continue
            axes.bar(x + offset, max(-SHOWN, min(v, SHOWN)), width=0.4, zorder=2, **how)
            if abs(v) > SHOWN:
                arrow, va = ("↑", "bottom") if v > 0 else ("↓", "top")
                axes.text(x + offset, math.copysign(SHOWN, v), arrow, ha="center", va=va)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylim(-1.35 * SHOWN, 1.35 * SHOWN)
    axes.set_yticks([-5, 0, 5], ["−5", "0", "+5"])
    axes.grid(axis="y")
    numbers = {"clock": clock, "share": share, "speed": changes(run, "rate")}
    how = {"va": "bottom", "transform": axes.get_xaxis_transform()}
    how["fontsize"] = min(9, bars.label_size(run.names))
    for row, (name, values) in enumerate(numbers.items()):
        how["fontweight"] = "bold" if name == "speed" else "normal"
        y = 1.02 + ROW * row
        axes.text(-0.7, y, name, ha="right", **how)
        for x, v in enumerate(values):
            if v is not None:
                axes.text(x, y, percent(v), ha="center", **how)


def percent(v):
    """'+1.2', '−1.2' or '+12' percent, of a logarithm: four characters at most fit side by side."""
    change = 100 * math.expm1(v / 100)
    text = f"{change:+.{0 if abs(change) >= 9.95 else 1}f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def draw(records):
    """Share, clock, and what their changes did to the speed."""
    run = find(records)
    figure, (share, clock, change) = style.stack(7.6, (1, 1, 1.2))
    panel(share, run, READINGS[0], (100, 1), SHARE)
    panel(clock, run, READINGS[1], (1, 2), CLOCK)
    change_panel(change, run)
    share.set_ylabel("share, %")
    clock.set_ylabel("clock, GHz")
    change.set(ylabel="change on the rung\nit grows from, %", xlabel="step")
    names = [*run.names, *style.others(run)]
    places = style.others_last(names, len(style.others(run)))
    style.name_ticks(change, names, places, fontsize=min(10, bars.label_size(run.names) + 1))
    title = f"Speed = share × clock. {style.what(run)}"
    more = [f"An arrow: the change is larger than {SHOWN} %; the rows of figures have all changes."]
    return style.frame(figure, title, style.details(run), more=more)
