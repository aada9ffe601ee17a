"""A rung that chooses over random shapes, family by family: its choice against cuBLASLt's first
heuristic, and the kernel that timing found against cuBLASLt's best. Where is either ahead?"""

from __future__ import annotations

from statistics import geometric_mean

from bench.sweep import FIRST, TIMED, compared
from notes.tools.tables import families, swept
from plots.draw import style
from plots.draw.records import Missing

SHOWN = {  # what each family is, and how it is drawn
    "aligned": ("aligned: m, n multiples of 128", {"marker": "o", "color": style.BLUE}),
    "any": ("any: n, k multiples of 8", {"marker": "^", "color": style.ORANGE}),
    "rows": ("rows: m up to 128", {"marker": "s", "color": style.GREEN}),
    "small": ("small: powers of two", {"marker": "v", "color": style.SKY}),
    "odd": ("odd: n or k no multiple of 8", {"marker": "D", "color": style.PURPLE}),
}
POINT = {"linestyle": "none", "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.5}
PAIRS = {"untimed, of\ncuBLASLt's first": FIRST, "timed, of\ncuBLASLt's best": TIMED}


def find(records):
    """{family: its runs} of the last rung that was swept, on the first GPU; and its name."""
    there = [name for run in records.runs if {*TIMED} <= run.contenders for name in run.measured]
    name = max(there, default=None)
    found = swept(records.runs, name, families())
    if found:
        _, first = next(iter(found))
        return {word: runs for (word, gpu), runs in found.items() if gpu == first}, name
    raise Missing('no sweep over random shapes (make record ARGS="--only shapes")')


def panel(axes, name, words, pair, found):
    """The points of some families on one GPU, and each one's geometric mean."""
    means = []
    for family, runs in found.items():
        label, how = SHOWN[family]
        ratios = compared(runs, name, pair)
        flop = [1e-9 * run.work for run in runs if run.shape in ratios]
        axes.plot(flop, list(ratios.values()), label=label, zorder=3, **POINT, **how)
        means.append(f"{family} {geometric_mean(ratios.values()):.3f}")
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_title(f"geometric means: {', '.join(means)}")
    axes.set_ylabel(words, fontsize=10)
    axes.grid()


def draw(records):
    """Both comparisons of the families, and apart of odd rows, whose ratios are far above the others'."""
    found, name = find(records)
    odd = {word: runs for word, runs in found.items() if word == "odd"}
    even = {word: runs for word, runs in found.items() if word != "odd"}
    parts = [(*pair, of) for pair in PAIRS.items() for of in (even, odd) if of]
    figure, panels = style.stack(2.1 + 1.7 * len(parts), [1] * len(parts), 0.1)
    for axes, part in zip(panels, parts):
        panel(axes, name, *part)
    panels[0].set_xscale("log")
    panels[-1].xaxis.set_major_formatter("{x:g}")
    panels[-1].set_xlabel("GFLOP of the product")
    shown = [run for runs in found.values() for run in runs]
    title = f"{name} on {style.what(shown[0], shape=False)}"
    return style.frame(figure, title, style.details(*shown), columns=2)
