"""Where a GEMM's joules go: the budgets of rungs."""

from __future__ import annotations

from bench.energy import budget
from plots.draw import style
from plots.draw.records import Missing

# Of the rungs.
LOOKS = ({"color": style.SKY, **style.EDGE}, style.HATCHED, {"color": style.GREEN, **style.EDGE})
HEIGHT = 0.86  # of a row: its rungs' bars
ROW_INCHES = {1: 0.22, 2: 0.31}  # by how many rungs; more have as much as two
ERROR = {"fmt": "none", "ecolor": "black", "capsize": 2, "linewidth": 1.1, "zorder": 3}


def find(records):
    """The runs of rungs' parts from which a budget can be made, by the rungs' names."""
    found = budget.newest(records.runs, records.chosen)
    if not found:
        raise Missing("no whole run of a rung's parts at 8192³ (make energy)")
    return [found[rung] for rung in sorted(found)]


def draw(records):
    """A row for each entry of the budgets, with a bar of each rung."""
    runs = find(records)
    budgets = [budget.make(run) for run in runs]
    names = [entry.words for entry in budgets[0].entries]
    height, most = HEIGHT / len(runs), max(e.high for made in budgets for e in made.entries)
    figure, axes = style.figure_of(1.7 + ROW_INCHES[min(len(runs), 2)] * len(names))
    for i, (run, made, look) in enumerate(zip(runs, budgets, LOOKS)):
        label = f"{budget.rung_of(run)}: {made.joules:.3f} ± {made.error:.3f} J per GEMM"
        for row, entry in enumerate(made.entries):
            y = row - HEIGHT / 2 + (i + 0.5) * height
            low, value, high = (1e3 * one for one in (entry.low, entry.joules, entry.high))
            axes.barh(y, value, height=height, zorder=2, label=label, **look)
            axes.errorbar(value, y, xerr=[[value - low], [high - value]], **ERROR)
            words = f"{value:.0f} mJ, {100 * entry.joules / made.joules:.1f} %"
            how = {"ha": "left", "va": "center_baseline", "fontsize": 9}
            style.note(axes, words.replace("-", "−"), (max(high, 0), y), (5, 0), **how)
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="mJ of one GEMM")
    axes.set_xlim(-100 * most, 1.25e3 * most)
    axes.axvline(0, color="black", linewidth=0.8)
    more = ["error bars: how far a bar moves if any one of the parts is left out of the fit"]
    if len({(run.commit, run.gpu.get("card")) for run in runs}) > 1:
        more.append("The rungs were measured on different cards or commits: joules differ by that.")
    title = f"{style.gpu_words(runs[0])}: {style.computation(runs[0])} "
    title = f"Where the joules go. {title}{style.shape_words(runs[0])}"
    return style.frame(figure, title, style.details(*runs), columns=len(runs), more=more)
