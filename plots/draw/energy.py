"""Where a GEMM's joules go: the budgets of rungs, and the parts that they are made from."""

from __future__ import annotations

from bench.energy import budget
from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing

NAME = "energy"
COMMAND = "make energy"
# What each line of the budget looks like; told apart without colour by hatch and by its words.
LOOKS = {
    "idle": {"color": "0.85"},
    "awake": {"color": "0.72", "hatch": ".."},
    "tensor": {"color": style.VERMILION},
    "operands": {"color": style.ORANGE, "hatch": "///"},
    "l2": {"color": style.SKY},
    "dram": {"color": style.BLUE, "hatch": "xx"},
    "store": {"color": style.GREEN},
    "exchange": {"color": style.PURPLE, "hatch": "\\\\\\"},
    "waiting": {"color": style.YELLOW, "hatch": "--"},
    "rest": {"color": "white", "hatch": "oo"},
}
WATTS = "each part by itself, for seconds: watts, and below them the SM clock in GHz"
ERROR = {"fmt": "none", "ecolor": "black", "capsize": 3, "linewidth": 1.1, "zorder": 3}
# How far a budget's axis goes beyond its longest bar, by how many stand beside each other.
ROOM_FOR_WORDS = {1: 1.28, 2: 1.75}


def find(records):
    """The newest whole run of each rung's parts, or those that were chosen, by the rungs' names."""
    found = records.energy
    if not records.chosen:
        found = recorded.newest_energies(records.energy, records.home)
    if not found:
        raise Missing(f"no whole run of a rung's parts at 8192³ ({COMMAND})")
    for run in found:
        try:
            budget.make(run)
        except budget.Unsolvable as error:
            raise Missing(f"{run['rung']}: {error}") from error
    return sorted(found, key=lambda run: (run["rung"], run["date"]))


def budget_panel(axes, made, limits):
    """A bar for each line of the budget, in its order. limits: of the axis, in mJ."""
    for y, entry in enumerate(made.entries):
        value = 1e3 * entry.joules
        axes.barh(y, value, height=0.72, zorder=2, **LOOKS[entry.name], **style.EDGE)
        reach = [[value - 1e3 * entry.low], [1e3 * entry.high - value]]
        axes.errorbar(value, y, xerr=reach, color="black", capsize=3, linewidth=1.1, zorder=3)
        words = f"{value:.0f} mJ, {100 * entry.share(made.joules):.1f} %"
        how = {"ha": "left", "va": "center", "fontsize": 10, "bbox": style.CLEAR}
        style.note(axes, words, (max(value, 1e3 * entry.high, 0), y), (5, 0), **how)
    axes.set_yticks(range(len(made.entries)), [entry.words for entry in made.entries], fontsize=10)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(*limits)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("millijoules of one GEMM, sustained")
    axes.grid(axis="x")


def limits_of(budgets):
    """Between which mJ all lines of these budgets lie, with room for their words."""
    lines = [entry for made in budgets for entry in made.entries]
    highest = 1e3 * max(max(entry.high, entry.joules) for entry in lines)
    room = ROOM_FOR_WORDS[min(len(budgets), 2)]
    return min(0, 1.3e3 * min(entry.low for entry in lines)), room * highest


def parts_panel(axes, run):
    """The watts of every part, with the clock that it had."""
    parts = list(budget.good_parts(run).values())
    values = [part["watts"] for part in parts]
    words = {}
    for part in parts:
        clock = part["sm_clock_ghz"]
        words[part["watts"]] = f"{part['watts']:.0f}" + (f"\n{clock:.2f}" if clock else "")
    how = {"color": style.SKY, **style.EDGE, "label": WATTS}
    bars.labelled(axes, range(len(parts)), values, words.get, size=9, width=0.74, **how)
    axes.errorbar(range(len(parts)), values, yerr=[one["watts_error"] for one in parts], **ERROR)
    axes.set_ylim(0, 1.3 * max(values))
    axes.set_ylabel("watts")
    axes.grid(axis="y")
    names = [part["part"] for part in parts]
    style.name_ticks(axes, names, fontsize=9, rotation=40, ha="right", rotation_mode="anchor")


def panels(pyplot, count):
    """(figure, axes of that many budgets beside each other, axes of their parts below them)."""
    heights = (1.35, 1) if count == 1 else (2, *[1] * count)  # of the axes
    inches = 8.4 if count == 1 else 8.9
    figure = pyplot.figure(figsize=(style.WIDTH, inches), layout="constrained")
    grid = figure.add_gridspec(1 + count, count, height_ratios=heights, hspace=0.03 * count)
    budgets = [figure.add_subplot(grid[0, column]) for column in range(count)]
    return figure, budgets, [figure.add_subplot(grid[1 + place, :]) for place in range(count)]


def joules_words(run, made):
    """'v16: 1.063 ± 0.002 J'"""
    return f"{run['rung']}: {made.joules:.3f} ± {made.error:.3f} J"


def draw(pyplot, runs, _):
    """The whole figure: all budgets to the same scale, and the watts of their parts."""
    budgets = [budget.make(run) for run in runs]
    figure, uppers, lowers = panels(pyplot, len(runs))
    limits = limits_of(budgets)
    for upper, lower, made, run in zip(uppers, lowers, budgets, runs):
        budget_panel(upper, made, limits)
        parts_panel(lower, run)
        if len(runs) > 1:
            upper.set_title(f"{joules_words(run, made)} per GEMM", fontsize=11)
            lower.set_title(f"the parts of {run['rung']}", fontsize=11)
    for upper in uppers[1:]:
        upper.tick_params(axis="y", labelleft=False)
    rungs = ", ".join(joules_words(run, made) for run, made in zip(runs, budgets))
    first = runs[0]
    title = (
        f"{rungs} per GEMM. "
        f"{style.gpu_words(first)}: {style.computation(first)} {style.shape_words(first)}"
    )
    left_out = "lines on millijoules: with any one of the parts left out of the fit"
    more = [f"{left_out}; on watts: the counter's scatter"]
    if len({(run["commit"], run["gpu"].get("card")) for run in runs}) > 1:
        more.append(
            "The rungs were measured at different commits or on different cards: joules differ by that"
        )
    style.frame(figure, title, style.details(*runs), more=more)
    return figure
