"""Where a GEMM's joules go: the budgets of rungs, and the parts that they are made from."""

from __future__ import annotations

from bench.energy import budget
from plots.draw import style
from plots.draw.records import Missing

# Of the rungs.
LOOKS = ({"color": style.SKY, **style.EDGE}, style.HATCHED, {"color": style.GREEN, **style.EDGE})
PARTS = {  # those that the lower panel shows, and what is in them
    "whole": "the whole kernel",
    "no-store": "without the stores of D",
    "no-dram": "… nor DRAM: the L2 has A and B",
    "no-loads": "… nor any loads",
    "multiply": "… nor barriers: wgmma alone",
    "multiply-zeros": "wgmma alone, on zeros",
    "loads": "loads alone, through DRAM",
    "loads-l2": "loads alone, from the L2",
    "waiting": "barriers alone",
    "one-sm": "one warp on one SM",
    "idle": "nothing runs",
}
HEIGHT = 0.86  # of a row: its rungs' bars
ROW_INCHES = {1: 0.22, 2: 0.31}  # by how many rungs; more have as much as two
ERROR = {"fmt": "none", "ecolor": "black", "capsize": 2, "linewidth": 1.1, "zorder": 3}


def find(records):
    """The runs of rungs' parts from which a budget can be made, by the rungs' names."""
    found = budget.newest(records.runs, records.chosen)
    if not found:
        raise Missing("no whole run of a rung's parts at 8192³ (make energy)")
    return [found[rung] for rung in sorted(found)]


def panel(axes, names, rungs, title):
    """A row for each name with a bar of each rung. rungs: of each [(value, low, high, words)], the
    value None where there is no bar; low and high, its line, may be None."""
    height = HEIGHT / len(rungs)
    furthest = []
    for i, (entries, look) in enumerate(zip(rungs, LOOKS)):
        for row, (value, low, high, words) in enumerate(entries):
            y = row - HEIGHT / 2 + (i + 0.5) * height
            axes.barh(y, value or 0, height=height, zorder=2, **look)
            if low is not None:
                axes.errorbar(value, y, xerr=[[value - low], [high - value]], **ERROR)
            end = max(value or 0, high or 0, 0)
            how = {"ha": "left", "va": "center_baseline", "fontsize": 9}
            style.note(axes, words, (end, y), (5, 0), **how)
            furthest.append(end)
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(names) - 0.5, -0.5), title=title)
    axes.set_xlim(min(0, -0.06 * max(furthest)), 1.42 * max(furthest))
    axes.axvline(0, color="black", linewidth=0.8)
    axes.grid(axis="x")


def budget_rows(made):
    """What panel() draws of one rung's budget, in mJ."""
    for entry in made.entries:
        value, low, high = (1e3 * joules for joules in (entry.joules, entry.low, entry.high))
        words = f"{value:.0f} mJ, {100 * entry.joules / made.joules:.1f} %".replace("-", "−")
        yield value, low, high, words


def part_rows(run):
    """The same of its parts; of nothing, which isn't launched, watts alone."""
    parts = budget.parts_of(run)
    for name in PARTS:
        part, joules, words = parts.get(name), None, "not measured"
        if part:
            joules = 1e3 * part.joules if name != budget.IDLE else None
            words = f"{joules:.0f} mJ: " if joules else ""
            words += f"{part.watts:.0f} W at {part.ghz:.2f} GHz"
        yield joules, None, None, words


def draw(records):
    """The budgets above, the parts that they are made from below."""
    runs = find(records)
    budgets = [budget.make(run) for run in runs]
    lines = [entry.words for entry in budgets[0].entries]
    inches = ROW_INCHES[min(len(runs), 2)]
    rows = (len(lines), len(PARTS))
    height = 2.2 + inches * sum(rows)
    figure, (upper, lower) = style.figure_of(height, 2, 1, height_ratios=rows)
    title = "the budget: millijoules of one GEMM, and percent of the whole"
    panel(upper, lines, [*map(budget_rows, budgets)], title)
    title = "measured for it: the kernel with less and less in it, and parts alone"
    panel(lower, PARTS.values(), [*map(part_rows, runs)], title)
    lower.set_xlabel("millijoules of one launch")
    for run, made, look in zip(runs, budgets, LOOKS):
        words = f"{budget.rung_of(run)}: {made.joules:.3f} ± {made.error:.3f} J per GEMM"
        upper.bar(0, 0, label=words, **look)
    more = ["error bars: how far a bar moves if any one of the parts is left out of the fit"]
    if len({(run.commit, run.gpu.get("card")) for run in runs}) > 1:
        more.append("The rungs were measured on different cards or commits: joules differ by that.")
    title = f"{style.gpu_words(runs[0])}: {style.computation(runs[0])} "
    title = f"Where the joules go. {title}{style.shape_words(runs[0])}"
    return style.frame(figure, title, style.details(*runs), columns=len(runs), more=more)
