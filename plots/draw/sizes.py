"""TFLOPS against size, and the ratio to cuBLASLt, for some v rungs, cuBLAS and the best of cuBLASLt:
which idea pays at which size, and which is not there yet?"""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing, alike

NAME = "sizes"
FEWEST = 3  # sizes that make a curve
OTHERS = {  # what the rungs are compared with, by their names in a ladder
    "cublaslt": ("best cuBLASLt", {"marker": "+", **style.SECOND}),
    "cublas": ("cuBLAS", {"marker": "x", **style.CUBLAS}),
}
CHOSEN = ("v12", "v14", "v16")  # and the highest
ENOUGH = 1 + len(CHOSEN)  # of them for a picture
NEAR = (0.95, 1.05)  # of cuBLASLt: what the panels of ratios show at least
MARKS = (
    {"marker": "v", "color": style.ORANGE, "linestyle": "-"},
    {"marker": "s", "color": style.GREEN, "linestyle": (0, (4, 1.2))},
    {"marker": "D", "color": style.PURPLE, "linestyle": "-"},
    {"marker": "^", "color": style.SKY, "linestyle": "-"},
    {"marker": "P", "color": style.VERMILION, "linestyle": "-", "linewidth": 2.2},
)


def size_of(ladder):
    """Of its square."""
    return ladder["problem"]["m"]


def find(records):
    """Runs at several square sizes on one kind of GPU, smallest first: those of the newest commit with
    enough sizes and enough of the chosen rungs; of no such, those of the newest with enough sizes."""
    ladders = [run for run in records.ladders("v") if len(set(recorded.shape_of(run))) == 1]
    ladders = [run for run in ladders if recorded.measured(run)]
    sweeps = {}  # {commit: {size: ladder}}; the ladder to be shown is the last of its commit and size
    for ladder in alike(ladders) if ladders else ():
        sweeps.setdefault(ladder["commit"], {})[size_of(ladder)] = ladder
    whole = [sweep for sweep in sweeps.values() if len(sweep) >= FEWEST]
    if not whole:
        sizes = sorted({size for sweep in sweeps.values() for size in sweep})
        there = ", ".join(f"{size}³" for size in sizes) or "none"
        raise Missing(
            f"burst runs of the v track at {FEWEST} or more square sizes; recorded: "
            f'{there} (make ladder ARGS="--size 2048")'
        )
    full = [sweep for sweep in whole if len(names_of(sweep.values())) >= ENOUGH]
    return [ladder for _, ladder in sorted((full or whole)[-1].items())]


def names_of(ladders):
    """The rungs to show: the chosen ones that were measured, and the highest."""
    there = {rung["step"] for ladder in ladders for rung in recorded.measured(ladder)}
    return [name for name in CHOSEN if name in there and name != max(there)] + [max(there)]


def marked(names):
    """[(name, how it is drawn)]: the highest always alike."""
    return list(zip(names, MARKS[-len(names) :]))


def timings_of(ladders, name):
    """[(size, timing)] of a rung where it was measured."""
    return [
        (size_of(ladder), rung["timing"])
        for ladder in ladders
        for rung in recorded.measured(ladder)
        if rung["step"] == name
    ]


def ratios_of(ladders, name):
    """[(size, ratio of a rung to the best cuBLASLt of the same run)], where that is recorded."""
    key = "ratio_to_cublaslt"
    return [(size, timing[key]) for size, timing in timings_of(ladders, name) if key in timing]


def draw_curves(axes, ladders):
    """All curves; returns the rates of their points."""
    drawn = []
    for name, how in marked(names_of(ladders)):
        timings = timings_of(ladders, name)
        points = [(size, timing["step"]["tflops"]["median"]) for size, timing in timings]
        axes.plot(*zip(*points), zorder=3, label=name, markeredgecolor="black", **how)
        drawn += [rate for _, rate in points]
    for side, (words, how) in OTHERS.items():
        there = [ladder for ladder in ladders if side in ladder]
        points = [(size_of(ladder), ladder[side]["tflops"]["median"]) for ladder in there]
        if points:
            axes.plot(*zip(*points), zorder=4, label=words, **how)
            drawn += [rate for _, rate in points]
    return drawn


def ratio_panel(axes, ladders, names):
    """The rungs over cuBLASLt on one GPU with their spreads, near 1, which the rates alone do not tell
    apart; what is lower is written at the foot. Returns the highest."""
    low, lower, highs = NEAR[0], {}, [NEAR[1]]
    for name, how in marked(names):
        ratios = ratios_of(ladders, name)
        for size, ratio in ratios:
            if ratio["median"] < low:
                lower.setdefault(size, []).append((ratio["median"], name))
                continue
            spread = bars.spread_of(ratio)
            axes.errorbar(size, ratio["median"], yerr=spread, color=how["color"], capsize=3)
            highs.append(ratio["high"] + 0.003)
        if ratios:
            points = zip(*((size, ratio["median"]) for size, ratio in ratios))
            axes.plot(*points, zorder=3, markeredgecolor="black", **how)
    for size, found in lower.items():
        for row, (ratio, name) in enumerate(sorted(found)):
            how = {"fontsize": 9, "bbox": style.CLEAR, "zorder": 2.5}
            style.note(axes, f"{name}: {ratio:.2f} ↓", (size, low), (0, 3 + 12.5 * row), **how)
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_yticks([0.95, 1, 1.05], ["0.95", "1.00", "1.05"])
    axes.set_ylabel(f"{recorded.short_name(ladders[0]['gpu'])}: of cuBLASLt,\nmedian, p10 to p90")
    return max(highs)


def draw(pyplot, ladders, records):
    """The whole figure: the rates, and below them the ratios of each GPU on which cuBLASLt was timed,
    at one commit."""
    runs = {}  # {GPU: its ladders, smallest first}
    for ladder in ladders:
        for gpu, cards in records.beside(ladder).items():
            runs.setdefault(gpu, []).append(cards[0])
    runs = [run for run in runs.values() if any(ratios_of(run, name) for name in names_of(run))]
    height = 5.0 + 1.9 * len(runs) if runs else 5.4
    figure, panels = style.stack(pyplot, height, (1.2, *[1] * len(runs)), 0.03)
    highs = [ratio_panel(axes, run, names_of(run)) for axes, run in zip(panels[1:], runs)]
    for axes in panels[1:]:
        axes.set_ylim(NEAR[0], max(highs))
    axes = panels[0]
    axes.set_xscale("log", base=2)
    highs = draw_curves(axes, ladders)
    peak = style.tensor_peak(records, ladders[-1])
    if peak:
        highs.append(peak[0])
        axes.axhline(peak[0], label=f"dense peak at {peak[1]:.2f} GHz", zorder=2, **style.PEAK)
    axes.set_ylim(0, 1.06 * max(highs))
    sizes = [size_of(ladder) for ladder in ladders]
    for panel in panels:
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.grid()
    panels[-1].set_xlim(sizes[0] / 1.35, sizes[-1] * 1.2)
    panels[-1].set_xlabel("m = n = k")
    axes.set_ylabel("TFLOPS, median")
    shown = [ladder for run in runs for ladder in run] or ladders
    more = [f"↓: below {NEAR[0]}, where the panels of ratios begin"] if runs else []
    more += [*style.other_gpus(shown), *style.other_cards(shown)]
    title = style.what(ladders[0], shape=False)
    style.frame(figure, title, style.details(*shown), columns=4, more=more)
    return figure
