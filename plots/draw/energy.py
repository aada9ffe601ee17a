"""Where a GEMM's joules go: the budget of a rung, and the parts that it is made from."""

from __future__ import annotations

import budget
import recorded

from draw import bars, style
from draw.records import Missing

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
EDGE = {"edgecolor": "0.25", "linewidth": 0.6}
PART_WATTS = {
    "color": style.SKY,
    **EDGE,
    "label": "each part by itself, for seconds: watts, and below them the SM clock in GHz",
}


def find(records):
    """The newest whole run of the parts, or the one that was chosen."""
    found = [run for run in records.energy if records.chosen or recorded.is_whole_energy(run)]
    if not found:
        raise Missing(f"no whole run of a rung's parts at 8192³ ({COMMAND})")
    newest = max(found, key=lambda run: run["date"])
    try:
        budget.make(newest)
    except budget.Unsolvable as error:
        raise Missing(str(error)) from error
    return newest


def budget_panel(axes, made):
    """A bar for each line of the budget, the largest amount of energy at the top of the model."""
    for y, entry in enumerate(made.entries):
        value = 1e3 * entry.joules
        axes.barh(y, value, height=0.72, zorder=2, **LOOKS[entry.name], **EDGE)
        reach = [[value - 1e3 * entry.low], [1e3 * entry.high - value]]
        axes.errorbar(value, y, xerr=reach, color="black", capsize=3, linewidth=1.1, zorder=3)
        words = f"{value:.0f} mJ, {100 * entry.share(made.joules):.1f} %"
        right = max(value, 1e3 * entry.high, 0)
        axes.annotate(
            words,
            (right, y),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            bbox=style.CLEAR,
        )
    axes.set_yticks(range(len(made.entries)), [entry.words for entry in made.entries], fontsize=10)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    highest = max(1e3 * max(entry.high, entry.joules) for entry in made.entries)
    axes.set_xlim(min(0, 1.3e3 * min(entry.low for entry in made.entries)), 1.28 * highest)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("millijoules of one GEMM, sustained")
    axes.grid(axis="x")


def part_words(part):
    """Its watts, and its clock below them."""
    clock = part["sm_clock_ghz"]
    return f"{part['watts']:.0f}" if clock is None else f"{part['watts']:.0f}\n{clock:.2f}"


def parts_panel(axes, run):
    """The watts of every part, with the clock that it had."""
    parts = [part for part in run["parts"] if "failed" not in part]
    values = [part["watts"] for part in parts]
    words = {part["watts"]: part_words(part) for part in parts}
    places = range(len(parts))
    bars.labelled(axes, places, values, words.get, size=9, width=0.74, **PART_WATTS)
    axes.set_ylim(0, 1.22 * max(values))
    axes.set_ylabel("watts")
    axes.grid(axis="y")
    names = [part["part"] for part in parts]
    style.name_ticks(axes, names, fontsize=9, rotation=40, ha="right", rotation_mode="anchor")


def draw(pyplot, run, _):
    """The whole figure."""
    made = budget.make(run)
    figure, (upper, lower) = style.figure_of(
        pyplot, 8.4, 2, 1, gridspec_kw={"height_ratios": (1.35, 1), "hspace": 0.06}
    )
    budget_panel(upper, made)
    parts_panel(lower, run)
    title = (
        f"{run['rung']}: {made.joules:.3f} J per GEMM. "
        f"{style.gpu_words(run)}: {style.computation(run)} {style.shape_words(run)}"
    )
    more = ["lines on bars: with any one of the parts left out of the fit"]
    style.frame(figure, title, style.details(run), more=more)
    return figure
