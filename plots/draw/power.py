"""Clock against watts, and TFLOPS against joules: why is a kernel that takes fewer joules faster?

Below the power limit the clock is near its highest. At the limit it falls until the watts fit; a
product then takes the time that its joules take at those watts.
"""

from __future__ import annotations

from statistics import fmean

from bench.energy import budget
from plots.draw import style
from plots.draw.records import USUAL, Missing

NEAR = 1.15  # times the fewest joules: the lower panel ends there
AT_LIMIT = 0.96  # of the power limit: what draws more is at it
RUNG = {"marker": "o", "color": style.BLUE, "label": "a rung"}
OTHER = {"marker": "D", "color": style.ORANGE, "label": "cuBLAS, and the best of cuBLASLt"}
PART = {"marker": "s", "color": "0.8"}
LIMIT = {**style.PEAK, "label": "the power limit"}
PARTS = {  # of a rung that was measured in parts, and what they are
    "idle": "nothing runs",
    "loads": "loads alone",
    "multiply-zeros": "wgmma alone, on zeros",
    "multiply-half": "wgmma alone,\nhalf of the SMs",
    "multiply": "wgmma alone",
    "whole-half": "all, on half of the SMs",
}
LEAD = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.8, "shrinkB": 4, "relpos": (0, 0.5)}
GAP = 0.085  # between names, of the panel's height


def known_of(run):
    """{words: its readings, and its rate} of the rungs and the others, as far as watts, joules and clock
    were read."""
    names = {name: name for name in run.measured}
    names |= {words.replace("\n", " "): name for words, name in style.others(run).items()}
    found = {
        words: {key: run.reading(name, key) for key in ("watts", "joules", "ghz")}
        | {"rate": run.rate(name).mid}
        for words, name in names.items()
    }
    return {words: one for words, one in found.items() if all(one.values())}


def apart(values, gap):
    """The values, parts of a height, in their order, moved as little as needed to be `gap` apart from
    each other, and half of that from 0 and 1."""
    order, groups = sorted(range(len(values)), key=values.__getitem__), []
    # Of neighbours that touch: less the gaps between them, all are at the group's mean.
    for rank, i in enumerate(order):
        most = 1 - gap * (len(values) - rank - 0.5)
        groups.append([max(gap * (rank + 0.5), min(values[i], most)) - gap * rank])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    means = [fmean(group) for group in groups for _ in group]
    places = {i: means[rank] + gap * rank for rank, i in enumerate(order)}
    return [places[i] for i in range(len(values))]


def find(records):
    """(the sustained run at 8192³ with the most rungs, the newest run of a rung's parts on such a GPU or
    None)."""
    runs = [run for run in records.ladders("v", "sustained") if run.shape == USUAL]
    runs = [run for run in runs if known_of(run)]
    if not runs:
        command = 'make ladder ARGS="--protocol sustained"'
        raise Missing(f"no sustained run of the v track at 8192³ with watts and joules ({command})")
    run = max(runs, key=lambda run: len(run.measured))
    parts = budget.newest(records.runs, records.chosen).values()
    parts = [one for one in parts if one.gpu["name"] == run.gpu["name"]]
    return run, max(parts, key=lambda one: one.date, default=None)


def mark(axes, name, x, y, how=None):
    """One point."""
    how = how or (RUNG if name[0] == "v" else OTHER)
    axes.plot([x], [y], linestyle="none", markersize=8, markeredgecolor="black", zorder=4, **how)


def clock_panel(axes, known, parts, rung, limit):
    """Clock against watts. The names of those at the limit are side by side, in their order, with those
    of one clock in one line."""
    points = [(name, one["watts"], one["ghz"], None) for name, one in known.items()]
    how = {**PART, "label": f"parts of {rung}, measured apart"}
    points += [(PARTS[name], part.watts, part.ghz, how) for name, part in parts.items()]
    clocks, named = [clock for _, _, clock, _ in points], {}
    low, high = min(clocks) - 0.1, max(clocks) + 0.1
    axes.set_ylim(low, high)
    axes.set_xlim(0.85 * min(watts for _, watts, _, _ in points), 1.38 * limit)
    for name, watts, clock, how in points:
        mark(axes, name, watts, clock, how)
        if watts >= AT_LIMIT * limit:
            named.setdefault((f"{clock:.2f} GHz", how is None), []).append((name, watts, clock))
        else:
            words = name if how else f"{name}: {clock:.2f} GHz"
            how = {"va": "center", "fontsize": 10, "linespacing": 1.1}
            right = watts < 0.75 * limit
            how["ha"] = "left" if right else "right"
            style.note(axes, words, (watts, clock), (9 if right else -9, 0), **how)
    groups = list(named.items())
    wanted = [(group[0][2] - low) / (high - low) for _, group in groups]
    for ((clock, _), group), place in zip(groups, apart(wanted, GAP)):
        words = f"{', '.join(name for name, _, _ in group)}: {clock}"
        how = {"textcoords": "axes fraction", "fontsize": 10, "va": "center"}
        axes.annotate(words, group[0][1:], (0.77, place), arrowprops=LEAD, **how)
    axes.axvline(limit, zorder=2, **LIMIT)
    title = "at the power limit the clock falls until the watts fit"
    axes.set(xlabel="watts, sustained", ylabel="SM clock, GHz", title=title)
    axes.grid()


def speed_panel(axes, known, flop):
    """TFLOPS against joules of the fastest, with the line on which their watts put them."""
    shown = sorted(known.items(), key=lambda item: item[1]["joules"])
    watts = fmean(one["watts"] for _, one in shown)
    ends = shown[0][1]["joules"] / 1.015, shown[-1][1]["joules"] * 1.015
    line = [ends[0] + (ends[1] - ends[0]) * i / 40 for i in range(41)]
    words = f"FLOP of a GEMM × {watts:.0f} W / joules of a GEMM"
    rates = [1e-12 * flop * watts / joules for joules in line]
    axes.plot(line, rates, zorder=2, label=words, **style.CUBLAS)
    for i, (name, one) in enumerate(shown):
        place = (one["joules"], one["rate"])
        mark(axes, name, *place)
        how = {"ha": "left", "va": "bottom"} if i % 2 else {"ha": "right", "va": "top"}
        style.note(axes, name, place, (6, 4) if i % 2 else (-6, -4), fontsize=10, **how)
    title = "so fewer joules are more TFLOPS"
    axes.set(xlabel="joules per GEMM, sustained", ylabel="TFLOPS", title=title)
    axes.grid()


def draw(records):
    """The clocks above, the speeds below."""
    run, of_parts = find(records)
    known = known_of(run)
    limit = run.gpu.get("power_limit_watts") or max(one["watts"] for one in known.values())
    parts = budget.parts_of(of_parts) if of_parts else {}
    parts = {name: parts[name] for name in PARTS if name in parts}
    figure, (upper, lower) = style.figure_of(8.2, 2, 1, height_ratios=(1.25, 1))
    clock_panel(upper, known, parts, of_parts and budget.rung_of(of_parts), limit)
    most = NEAR * min(one["joules"] for one in known.values())
    near = {name: one for name, one in known.items() if one["joules"] <= most}
    speed_panel(lower, near, run.work)
    far = [
        f"{name} {one['joules']:.2f} J, {one['watts']:.0f} W, {one['rate']:.0f} TFLOPS"
        for name, one in known.items()
        if name not in near
    ]
    more = ["open: why the clock is lower for wgmma alone even below the limit"] if parts else []
    more += [f"not in the lower panel: {'; '.join(far)}"] if far else []
    runs = (run, of_parts) if of_parts else (run,)
    return style.frame(figure, style.what(run), style.details(*runs), columns=2, more=more)
