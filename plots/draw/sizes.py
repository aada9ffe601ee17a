"""TFLOPS against size, and the ratio to cuBLASLt, for some v rungs, cuBLAS and the best of cuBLASLt: which idea pays at which
size, and which is not there yet?"""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing, alike

NAME = "sizes"
FEWEST = 3  # sizes that make a curve
OTHERS = {  # whom the rungs are compared with, by their names in a ladder
    "cublaslt": ("best cuBLASLt", {"marker": "+", **style.SECOND}),
    "cublas": ("cuBLAS", {"marker": "x", **style.CUBLAS}),
}
CHOSEN = ("v12", "v14", "v16")  # and the highest
ENOUGH = 1 + len(CHOSEN)  # of them for a picture
MARKS = (
    {"marker": "v", "color": style.ORANGE, "linestyle": "-"},
    {"marker": "s", "color": style.GREEN, "linestyle": "-"},
    {"marker": "D", "color": style.PURPLE, "linestyle": "-"},
    {"marker": "^", "color": style.SKY, "linestyle": "-"},
    {"marker": "P", "color": style.VERMILION, "linestyle": "-", "linewidth": 2.2},
)


def sweeps(ladders):
    """{size: ladder} of each commit; the one to be shown last. Of one size the last of these ladders
    counts, which recorded.precedence() puts there."""
    found = {}
    for ladder in ladders:
        found.setdefault(ladder["commit"], {})[ladder["problem"]["m"]] = ladder
    return list(found.values())


def find(records):
    """Runs at several square sizes on one kind of GPU, smallest first: those of the newest commit with
    enough sizes and enough of the chosen rungs; of no such, those of the newest with enough sizes."""
    ladders = [run for run in records.ladders("v") if len(set(recorded.shape_of(run))) == 1]
    ladders = [run for run in ladders if recorded.measured(run)]
    found = sweeps(alike(ladders) if ladders else [])
    whole = [sweep for sweep in found if len(sweep) >= FEWEST]
    if not whole:
        sizes = sorted({size for sweep in found for size in sweep})
        there = ", ".join(f"{size}³" for size in sizes) or "none"
        raise Missing(
            f"burst runs of the v track at {FEWEST} or more square sizes; recorded: "
            f'{there} (make ladder ARGS="--size 2048")'
        )
    full = [sweep for sweep in whole if len(names_of(list(sweep.values()))) >= ENOUGH]
    return [ladder for _, ladder in sorted((full or whole)[-1].items())]


def names_of(ladders):
    """The rungs to show: the chosen ones that were measured, and the highest."""
    there = {rung["step"] for ladder in ladders for rung in recorded.measured(ladder)}
    return [name for name in CHOSEN if name in there and name != max(there)] + [max(there)]


def curve(ladders, name):
    """[(size, TFLOPS)] of a rung, or of one of OTHERS."""
    points = []
    for ladder in ladders:
        if name in OTHERS and name in ladder:
            points.append((ladder["problem"]["m"], ladder[name]["tflops"]["median"]))
        for rung in recorded.measured(ladder):
            if rung["step"] == name:
                points.append((ladder["problem"]["m"], rung["timing"]["step"]["tflops"]["median"]))
    return points


def draw_curves(axes, ladders):
    """All curves; returns {words: its points}, to be labelled."""
    drawn = {}
    for name, how in zip(names_of(ladders), MARKS[-len(names_of(ladders)) :]):
        points = curve(ladders, name)
        axes.plot(*zip(*points), zorder=3, label=name, markeredgecolor="black", **how)
        drawn[name] = points
    for name, (words, how) in OTHERS.items():
        points = curve(ladders, name)
        if points:
            axes.plot(*zip(*points), zorder=4, label=words, **how)
            drawn[words] = points
    return drawn


def label_ends(axes, ends, top):
    """Each curve's name at its right end, none on top of another."""
    places = style.apart([y for _, (_, y) in ends], 0.047 * top)
    for (name, (x, y)), place in zip(ends, places):
        how = {"arrow": {"relpos": (0, 0.5)}, "va": "center"}
        style.lead(axes, name, (x, y), (1.02, place / top), **how)


def ratio_curve(ladders, name):
    """[(size, ratio of a rung to the best cuBLASLt of the same run)], where that is recorded."""
    return [
        (ladder["problem"]["m"], rung["timing"]["ratio_to_cublaslt"])
        for ladder in ladders
        for rung in recorded.measured(ladder)
        if rung["step"] == name and "ratio_to_cublaslt" in rung["timing"]
    ]


def ratio_panel(axes, ladders, names):
    """The rungs over cuBLASLt on one GPU with their spreads: what the rates alone do not tell apart."""
    for name, how in zip(names, MARKS[-len(names) :]):
        for size, ratio in ratio_curve(ladders, name):
            spread = bars.spread_of(ratio)
            axes.errorbar(size, ratio["median"], yerr=spread, color=how["color"], capsize=3)
        points = [(size, ratio["median"]) for size, ratio in ratio_curve(ladders, name)]
        if points:
            axes.plot(*zip(*points), zorder=3, markeredgecolor="black", **how)
    axes.axhline(1, zorder=2, **style.SECOND)
    axes.set_ylim(0, None)
    axes.set_ylabel(f"{recorded.short_name(ladders[0]['gpu'])}: of cuBLASLt,\nmedian, p10 to p90")


def with_ratios(ladders, records):
    """{GPU: its ladders, smallest first} of those GPUs on which cuBLASLt was timed, at one commit."""
    found = {}
    for ladder in ladders:
        for gpu, cards in records.beside(ladder).items():
            found.setdefault(gpu, []).append(cards[0])
    return {
        gpu: there
        for gpu, there in found.items()
        if any(ratio_curve(there, name) for name in names_of(ladders))
    }


def draw(pyplot, ladders, records):
    """The whole figure."""
    runs = with_ratios(ladders, records)
    height = 6.4 + 1.2 * len(runs) if runs else 5.4
    figure, panels = style.stack(pyplot, height, (1.5, *[1] * len(runs)), 0.03)
    for axes, there in zip(panels[1:], runs.values()):
        ratio_panel(axes, there, names_of(ladders))
    axes = panels[0]
    axes.set_xscale("log", base=2)
    drawn = draw_curves(axes, ladders)
    peak = style.peak_tflops(records, ladders[-1])
    highs = [y for points in drawn.values() for _, y in points]
    if peak:
        highs.append(peak[0])
        words = f"dense peak at {peak[1]:.2f} GHz"
        axes.axhline(peak[0], label=words, zorder=2, **style.PEAK)
    top = 1.06 * max(highs)
    axes.set_ylim(0, top)
    label_ends(axes, [(words, points[-1]) for words, points in drawn.items()], top)
    sizes = [ladder["problem"]["m"] for ladder in ladders]
    for panel in panels:
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.grid()
    panels[-1].set_xlabel("m = n = k")
    axes.set_ylabel("TFLOPS, median")
    shown = [ladder for there in runs.values() for ladder in there] or ladders
    more = [*style.other_gpus(shown), *style.other_cards(shown)]
    title = style.what(ladders[0], shape=False)
    style.frame(figure, title, style.details(*shown), columns=4, more=more)
    return figure
