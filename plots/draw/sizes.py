"""TFLOPS against size, and the ratio to cuBLASLt, for the rung that chooses its tile, those with one
tile, cuBLAS and the best of cuBLASLt: what is a choice worth at which size?"""

from __future__ import annotations

from bench import results
from bench.shapes import CUBES
from plots.draw import bars, style
from plots.draw.records import Missing

FEWEST = 3  # sizes that make a curve
OTHERS = (  # what the rungs are compared with
    ("cublaslt", "best cuBLASLt", {"marker": "+", "zorder": 4, **style.SECOND}),
    ("cublas", "cuBLAS", {"marker": "x", "zorder": 4, **style.CUBLAS}),
)
CHOSEN = ("v12", "v14", "v16")  # and the highest
NEAR = (0.95, 1.05)  # of cuBLASLt: what the panels of ratios show at least
MARKS = (
    {"marker": "v", "color": style.ORANGE, "linestyle": "-"},
    {"marker": "s", "color": style.GREEN, "linestyle": (0, (4, 1.2))},
    {"marker": "D", "color": style.PURPLE, "linestyle": "-"},
    {"marker": "^", "color": style.SKY, "linestyle": "-"},
    {"marker": "P", "color": style.VERMILION, "linestyle": "-", "linewidth": 2.2},
)


def size_of(run):
    """Of its square."""
    return run.problem["m"]


def find(records):
    """The runs of the first commit that was measured at enough square sizes, smallest first: of s rungs
    where there are some, on whatever GPU."""
    found = {}  # {commit: {size: run}}
    burst = [run for run in records.runs if run.protocol == "burst" and run.shape in CUBES]
    choosing = [run for run in burst if run.plain and "s" in run.tracks and "v16" in run.measured]
    for run in choosing or records.ladders("v"):
        if len(set(run.shape)) == 1:
            found.setdefault(run.commit, {}).setdefault(size_of(run), run)
    for sizes in found.values():
        if len(sizes) >= FEWEST:
            return [run for _, run in sorted(sizes.items())]
    there = ", ".join(f"{size}³" for size in sorted({size for of in found.values() for size in of}))
    words = f"burst runs of v or s rungs at {FEWEST} or more square sizes; recorded: "
    raise Missing(f'{words}{there or "none"} (make ladder ARGS="--size 2048")')


def marked(runs):
    """{rung: how it is drawn} of the chosen ones that were measured, and of the highest, s above v, which
    always looks alike."""
    there = {name for run in runs for name in run.measured}
    highest = max(there, key=lambda name: (name[0] == "s", name))
    names = [name for name in CHOSEN if name in there and name != highest] + [highest]
    return dict(zip(names, MARKS[-len(names) :]))


def of_gpus(runs, records):
    """For each GPU on which cuBLASLt was timed beside these rungs, its run at each of these sizes, at
    the same commit."""
    found = {}  # {GPU: {size: run}}
    for run in runs:
        for other in [run, *records.runs]:
            alike = (other.commit, other.protocol, other.problem, other.tracks)
            if other.plain and alike == (run.commit, run.protocol, run.problem, run.tracks):
                found.setdefault(other.gpu["name"], {}).setdefault(size_of(run), other)
    sides = [list(sizes.values()) for sizes in found.values()]
    return [side for side in sides if any(ratios_of(side, name) for name in marked(side))]


def ratios_of(runs, name):
    """[(size, ratio of a rung to the best cuBLASLt of the same run)], where that is recorded."""
    ratios = [(size_of(run), run.ratio(name, "cublaslt")) for run in runs if name in run.measured]
    return [(size, ratio) for size, ratio in ratios if ratio]


def draw_curves(axes, runs):
    """All curves; returns the rates of their points."""
    drawn = []
    own = {"zorder": 3, "markeredgecolor": "black"}
    curves = [(name, name, {**own, **how}) for name, how in marked(runs).items()]
    for name, words, how in (*curves, *OTHERS):
        there = [run for run in runs if name in run.measured or name in run.contenders]
        points = [(size_of(run), run.rate(name).mid) for run in there]
        if points:
            axes.plot(*zip(*points), label=words, **how)
            drawn += [rate for _, rate in points]
    return drawn


def ratio_panel(axes, runs):
    """The rungs over cuBLASLt on one GPU with their spreads, near 1, which the rates alone do not tell
    apart; what is lower is written at the foot. Returns the highest."""
    low, lower, highs = NEAR[0], {}, [NEAR[1]]
    for name, how in marked(runs).items():
        ratios = ratios_of(runs, name)
        for size, ratio in ratios:
            if ratio.mid < low:
                lower.setdefault(size, []).append((ratio.mid, name))
                continue
            line = {"yerr": bars.spread_of(ratio), "color": how["color"], "capsize": 3}
            axes.errorbar(size, ratio.mid, **line)
            highs.append(ratio.high + 0.003)
        if ratios:
            points = zip(*((size, ratio.mid) for size, ratio in ratios))
            axes.plot(*points, zorder=3, markeredgecolor="black", **how)
    for size, found in lower.items():
        for row, (ratio, name) in enumerate(sorted(found)):
            how = {"fontsize": 9, "bbox": style.CLEAR, "zorder": 2.5}
            style.note(axes, f"{name}: {ratio:.2f} ↓", (size, low), (0, 3 + 12.5 * row), **how)
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_yticks([0.95, 1, 1.05], ["0.95", "1.00", "1.05"])
    axes.set_ylabel(f"{results.short_name(runs[0].gpu)}: of cuBLASLt,\nmedian, p10 to p90")
    return max(highs)


def draw(records):
    """The rates, and below them the ratios of each GPU on which cuBLASLt was timed, at one commit."""
    runs = find(records)
    sides = of_gpus(runs, records)
    height = 5.0 + 1.9 * len(sides) if sides else 5.4
    figure, panels = style.stack(height, (1.2, *[1] * len(sides)), 0.03)
    highs = [ratio_panel(axes, side) for axes, side in zip(panels[1:], sides)]
    for axes in panels[1:]:
        axes.set_ylim(NEAR[0], max(highs))
    axes = panels[0]
    axes.set_xscale("log", base=2)
    highs = draw_curves(axes, runs)
    peak = style.tensor_peak(records, runs[-1])
    if peak:
        highs.append(peak[0])
        axes.axhline(peak[0], label=f"dense peak at {peak[1]:.2f} GHz", zorder=2, **style.PEAK)
    axes.set_ylim(0, 1.06 * max(highs))
    sizes = [size_of(run) for run in runs]
    for panel in panels:
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.grid()
    panels[-1].set(xlim=(sizes[0] / 1.35, sizes[-1] * 1.2), xlabel="m = n = k")
    axes.set_ylabel("TFLOPS, median")
    shown = [run for side in sides for run in side] or runs
    more = [f"↓: below {NEAR[0]}, where the panels of ratios begin"] if sides else []
    more += [*style.other_gpus(shown), *style.other_cards(shown)]
    title = style.what(runs[0], shape=False)
    return style.frame(figure, title, style.details(*shown), columns=4, more=more)
