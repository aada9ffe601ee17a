"""The ratio to cuBLASLt over random shapes, family by family: where is a rung ahead at
shapes that it was not tuned for, and where not?"""

from __future__ import annotations

from bench.records import recorded, sweeps
from plots.draw import style
from plots.draw.records import Missing

NAME = "any-shape"
FAMILIES = {  # what each is, and how it is drawn
    "aligned": ("aligned: m, n multiples of 128", {"marker": "o", "color": style.BLUE}),
    "any": ("any: n, k multiples of 8", {"marker": "^", "color": style.ORANGE}),
    "rows": ("rows: m up to 128", {"marker": "s", "color": style.GREEN}),
    "odd": ("odd: n or k no multiple of 8", {"marker": "D", "color": style.PURPLE}),
}
POINT = {"linestyle": "none", "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.5}


def find(records):
    """{GPU: {word: (points, their sweep)}} of the last rung that was swept, of the seed with the most
    families on the home GPU, and of several such the last one, which no model was fitted to."""
    step = max((sweep["step"] for sweep in records.sweeps), default=None)
    words = {word for sweep in records.sweeps for word in sweeps.words_of(sweep)}
    found = {}  # by the number of families on the home GPU, and the seed
    for seed in {word.partition(":")[2] for word in words} - {""}:
        of_seed = [f"{family}:{seed}" for family in FAMILIES]
        gpus = sweeps.find(records.sweeps, step, of_seed, records.home)
        found.update({(len(of_gpu), seed): gpus for of_gpu in list(gpus.values())[:1]})
    if not found:
        raise Missing(
            'no sweep over random shapes (make record ARGS="--only aligned,any,rows,odd")'
        )
    return max(found.items())[1]


def apart(of_gpu):
    """The families, and those with odd rows, whose ratios are far above the others'."""
    odd = {word: of_gpu[word] for word in of_gpu if word.startswith("odd")}
    return [
        part for part in ({word: of_gpu[word] for word in of_gpu if word not in odd}, odd) if part
    ]


def panel(axes, of_gpu):
    """The points of some families on one GPU, and each one's geometric mean."""
    means = []
    for word, (points, _) in of_gpu.items():
        family = word.partition(":")[0]
        label, how = FAMILIES[family]
        flop = [1e-9 * sweeps.flop(point) for point in points]
        axes.plot(flop, list(map(sweeps.ratio, points)), label=label, zorder=3, **POINT, **how)
        means.append(f"{family} {sweeps.figures_of(points)['mean']:.3f}")
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_title(f"geometric means: {', '.join(means)}", fontsize=11)
    sweep = next(iter(of_gpu.values()))[1]
    gpu = recorded.short_name(sweep["gpu"])
    axes.set_ylabel(f"{gpu}: {sweep['step']} of\ncuBLASLt's best")
    axes.grid()


def draw(pyplot, found, _):
    """Two panels for each GPU."""
    parts = [part for of_gpu in found.values() for part in apart(of_gpu)]
    figure, panels = style.stack(pyplot, 2.1 + 1.7 * len(parts), [1] * len(parts), 0.1)
    for axes, part in zip(panels, parts):
        panel(axes, part)
    panels[0].set_xscale("log")
    panels[-1].xaxis.set_major_formatter("{x:g}")
    panels[-1].set_xlabel("GFLOP of the product")
    shown = [sweep for of_gpu in found.values() for _, sweep in of_gpu.values()]
    title = style.what(shown[0], shape=False)
    style.frame(figure, title, style.details(*shown), columns=2, more=style.other_gpus(shown))
    return figure
