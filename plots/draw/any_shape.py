"""The ratio to cuBLASLt over random shapes, family by family: where is a rung ahead at
shapes that it was not tuned for, and where not?"""

from __future__ import annotations

from statistics import geometric_mean

from bench import results, shapes
from plots.draw import style
from plots.draw.records import Missing

JUDGED = "judged"  # the file of a sweep over shapes that no model was fitted to
SEEDS = (24, 1)  # of its families, and of those that one tunes by
FAMILIES = {  # what each is, and how it is drawn
    "aligned": ("aligned: m, n multiples of 128", {"marker": "o", "color": style.BLUE}),
    "any": ("any: n, k multiples of 8", {"marker": "^", "color": style.ORANGE}),
    "rows": ("rows: m up to 128", {"marker": "s", "color": style.GREEN}),
    "odd": ("odd: n or k no multiple of 8", {"marker": "D", "color": style.PURPLE}),
}
POINT = {"linestyle": "none", "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.5}


def find(records):
    """{GPU: {family: its runs}} of the last rung that was swept, the home GPU first."""
    swept = [run for run in records.runs if run.protocol == "burst" and run.tracks == {"v"}]
    if not records.chosen:
        swept = [run for run in swept if run.path.name.split(".")[0] == JUDGED]
    step = max((run.names[-1] for run in swept), default=None)
    found = {}  # {GPU: {shape: run}}
    for run in swept:
        if run.ratio(step, "cublaslt"):
            found.setdefault(run.gpu["name"], {}).setdefault(run.shape, run)
    for seed in SEEDS:
        families = {gpu: of_families(at, seed) for gpu, at in found.items()}
        if any(families.values()):
            return {gpu: of_gpu for gpu, of_gpu in families.items() if of_gpu}
    raise Missing('no sweep over random shapes (make record ARGS="--only judged")')


def of_families(at, seed):
    """{family: the runs at its shapes, in its order}, of those that have any."""
    drawn = {family: shapes.of_word(f"{family}:{seed}", "v") for family in FAMILIES}
    runs = {family: [at[one] for one in those if one in at] for family, those in drawn.items()}
    return {family: found for family, found in runs.items() if found}


def apart(of_gpu):
    """The families, and those with odd rows, whose ratios are far above the others'."""
    odd = {family: runs for family, runs in of_gpu.items() if family == "odd"}
    even = {family: runs for family, runs in of_gpu.items() if family not in odd}
    return [part for part in (even, odd) if part]


def panel(axes, of_gpu):
    """The points of some families on one GPU, and each one's geometric mean."""
    means = []
    for family, runs in of_gpu.items():
        label, how = FAMILIES[family]
        step = runs[0].names[-1]
        ratios = [run.ratio(step, "cublaslt").mid for run in runs]
        flop = [1e-9 * run.work for run in runs]
        axes.plot(flop, ratios, label=label, zorder=3, **POINT, **how)
        means.append(f"{family} {geometric_mean(ratios):.3f}")
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_title(f"geometric means: {', '.join(means)}")
    axes.set_ylabel(f"{results.short_name(runs[0].gpu)}: {step} of\ncuBLASLt's best")
    axes.grid()


def draw(records):
    """Two panels for each GPU."""
    found = find(records)
    parts = [part for of_gpu in found.values() for part in apart(of_gpu)]
    figure, panels = style.stack(2.1 + 1.7 * len(parts), [1] * len(parts), 0.1)
    for axes, part in zip(panels, parts):
        panel(axes, part)
    panels[0].set_xscale("log")
    panels[-1].xaxis.set_major_formatter("{x:g}")
    panels[-1].set_xlabel("GFLOP of the product")
    shown = [run for of_gpu in found.values() for runs in of_gpu.values() for run in runs]
    title = style.what(shown[0], shape=False)
    more = style.other_gpus(shown)
    return style.frame(figure, title, style.details(*shown), columns=2, more=more)
