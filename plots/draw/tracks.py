"""The rungs of a track as bars, beside what they are compared with.

The v track: TFLOPS at one size, how far up does it go? Below it the top of the ladder by its ratio to
the best cuBLASLt. The a track in TFLOPS and the t track in GB/s at several shapes, one panel each:
what did each idea bring, and does it everywhere?
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.records import recorded
from notes.tools import readme_table, shapes_table
from plots.draw import bars, style
from plots.draw.records import Missing, alike

TOP = 0.95  # of the best cuBLASLt: from the first rung with so much on, the bars look alike
LEAST = 0.9  # of it: a rung with less is for other shapes, and has no point
POINT = {"marker": "o", "color": style.BLUE, "linestyle": "none", "capsize": 4, "linewidth": 1.2}
RATIO = "ratio to the best cuBLASLt in the same run: median and 10th to 90th percentile"
SEVERAL = "of several cards: the median of their medians, and from the lowest to the highest"
WITHOUT = {  # the rungs without a bar
    "a": "a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem.",
    "t": "t01 has no bar: it adds one to each element, and transposes nothing.",
}


def lines_of(ladder, records):
    """[(value, legend, word, style)] of what the rungs are compared with, and of the peak."""
    measure, found = recorded.measure_of(ladder), []

    def add(key, word, how, name=None):
        if ladder.get(key):
            value = ladder[key][measure.rate]["median"]
            name = name or f"{word}, median: {value:.0f} {measure.unit}"
            found.append((value, name, word, how))

    track = min(recorded.tracks(ladder))
    if track == "v":
        add("cublas", "cuBLAS", style.CUBLAS)
        add("cublaslt", "best cuBLASLt", style.SECOND)
    elif track == "a":
        name = "cuBLAS, fp32 sums (the ratios are to this one)"
        add("cublas", "fp32 sums", style.CUBLAS, name)
        add("cublas_fp16_sums", "fp16 sums", style.SECOND, "cuBLAS, fp16 sums")
    else:
        add("device_copy", "copy", style.CUBLAS, "plain copy on the device (cudaMemcpyAsync)")
        name = ladder["second_opinion"]["name"] if ladder.get("second_opinion") else ""
        add("second_opinion", name, style.SECOND, name)
    peak = style.peak_of(records, ladder)
    return found + ([(peak, style.peak_words(records, ladder), "peak", style.PEAK)] if peak else [])


def highs_of(ladder):
    """The upper ends of the rungs' spreads."""
    rate = recorded.measure_of(ladder).rate
    return [rung["timing"]["step"][rate]["high"] for rung in recorded.measured(ladder)]


# --- the v track ------------------------------------------------------------------------------


def top_ratios(ladders):
    """[(place, name, ratio to the best cuBLASLt of the same run)], over the cards of one GPU, of the
    rungs from the first with TOP of it on, but for those below LEAST; none if it is not recorded."""
    there = []
    for place, name in enumerate(recorded.all_names(ladders[0])):
        ratio = recorded.over_cards(ladders, name, lambda timing: timing.get("ratio_to_cublaslt"))
        if ratio and ratio["median"] >= (LEAST if there else TOP):
            there.append((place, name, ratio))
    return there


def ratio_panel(axes, ladders, ratios, limits):
    """The top of the ladder on one GPU, over its cards: points, as there is no 0."""
    for x, _, ratio in ratios:
        spread = bars.spread_of(ratio)
        axes.errorbar(x, ratio["median"], yerr=spread, label=RATIO, zorder=4, **POINT)
        how = {"fontsize": min(9, bars.label_size(ladders[0])), "bbox": style.CLEAR, "zorder": 5}
        style.note(axes, f"{ratio['median']:.3f}", (x, ratio["high"]), (0, 4), **how)
    axes.axhline(1, zorder=3, **style.SECOND)
    axes.set_ylim(*limits)
    axes.grid(axis="y")
    cards = f", {len(ladders)} cards" if len(ladders) > 1 else ""
    axes.set_ylabel(f"{recorded.short_name(ladders[0]['gpu'])}{cards}:\nof cuBLASLt")
    if ratios[0][0] > 2:
        first, *_, last = recorded.all_names(ladders[0])[: ratios[0][0]]
        words = f"{first} to {last}\nare lower"
        axes.text(0, 1, words, va="center", fontsize=10, bbox=style.CLEAR, zorder=5)
    shown = [x for x, *_ in ratios]
    apart = [x for x in range(shown[0], shown[-1]) if x not in shown]
    if apart:
        middle, how = sum(apart) / len(apart), {"ha": "center", "va": "center", "zorder": 5}
        axes.text(middle, 1, "lower", fontsize=10, bbox=style.CLEAR, **how)


class Ladder:
    """The picture of the v track, for plot.py."""

    NAME = "ladder"

    @staticmethod
    def find(records):
        """The headline run."""
        return records.headline()

    @staticmethod
    def notes(ladder):
        """What the run lacks."""
        return (
            [] if ladder.get("cublaslt") else ["no line for the best cuBLASLt: it is not recorded"]
        )

    @staticmethod
    def draw(pyplot, ladder, records):
        """The whole figure."""
        lines = lines_of(ladder, records)
        below = [(ladders, top_ratios(ladders)) for ladders in records.beside(ladder).values()]
        below = [(ladders, ratios) for ladders, ratios in below if ratios]
        height = 5.9 + 1.5 * len(below) if below else 5.4
        figure, panels = style.stack(pyplot, height, (2.4, *[1] * len(below)), 0.03)
        for y, words, _, how in lines:
            panels[0].axhline(y, zorder=3, label=words, **how)
        top = 1.06 * max(highs_of(ladder) + [line[0] for line in lines])
        bars.rungs(panels[0], ladder, recorded.PRODUCTS, top, size=bars.label_size(ladder))
        panels[0].set_ylabel("TFLOPS")
        points = [ratio for _, ratios in below for _, _, ratio in ratios]
        low, high = (
            edge([1, *(r[key] for r in points)]) for edge, key in ((min, "low"), (max, "high"))
        )
        limits = math.floor(100 * low) / 100 - 0.003, math.ceil(100 * high) / 100 + 0.006
        for axes, (ladders, ratios) in zip(panels[1:], below):
            panels[0].tick_params(axis="x", labelbottom=True)
            ratio_panel(axes, ladders, ratios, limits)
        panels[-1].set_xlabel("step")
        shown = [one for ladders, _ in below for one in ladders] or [ladder]
        more = style.other_gpus(shown)
        more += [SEVERAL] * any(len(ladders) > 1 for ladders, _ in below)
        style.frame(figure, style.what(ladder), style.details(*shown), more=more)
        return figure


# --- several shapes ---------------------------------------------------------------------------


def panel(axes, ladder, lines, top):
    """One shape. The lines are drawn under the bars, with their values at the left, where the bars are
    low."""
    axes.set_title(style.shape_words(ladder), fontsize=11)
    for y, name, word, how in lines:
        axes.axhline(y, zorder=1, label=name, **how)
        crowded = any(0 < other[0] - y < 0.06 * top for other in lines)
        text = {"ha": "left", "va": "top" if crowded else "bottom", "fontsize": 9, "zorder": 5}
        style.note(axes, f"{word} {y:.0f}", (-0.55, y), (0, -3 if crowded else 2), **text)
    bars.rungs(axes, ladder, recorded.measure_of(ladder), top, size=10)
    axes.set_xlabel("step")


@dataclass(frozen=True)
class Shapes:
    """The picture of another track, for plot.py."""

    track: str

    @property
    def NAME(self):
        """Its name."""
        return f"ladder-{self.track}"

    def find(self, records):
        """The newest run of all rungs at each shape, in the order of the README's table."""
        apart = readme_table.APART[self.track]  # computes something else
        names = [name for name in recorded.rung_names(track=self.track) if name != apart]
        ladders = records.ladders(self.track)
        ladders = [run for run in ladders if apart not in recorded.all_names(run)]
        if not records.chosen:
            ladders = [run for run in ladders if recorded.all_names(run) == names]
            ladders = [run for run in ladders if len(recorded.measured(run)) == len(names)]
        if not ladders:
            command = f'make ladder ARGS="--track {self.track}"'
            raise Missing(f"no finished burst run of {names[0]} to {names[-1]} ({command})")
        newest = {recorded.shape_of(ladder): ladder for ladder in alike(ladders)}
        shapes = shapes_table.SHAPES[recorded.measure_of(ladders[-1])]
        return [newest[shape] for shape in shapes if shape in newest] or list(newest.values())

    @staticmethod
    def notes(ladders):
        """The shapes that the README's table has and the picture lacks."""
        there = {recorded.shape_of(ladder) for ladder in ladders}
        shapes = shapes_table.SHAPES[recorded.measure_of(ladders[0])]
        lacking = [shapes_table.title(shape) for shape in shapes if shape not in there]
        return [f"no panel for {shape}: no run is recorded there" for shape in lacking]

    def draw(self, pyplot, ladders, records):
        """The whole figure."""
        lines = [lines_of(ladder, records) for ladder in ladders]
        highs = [line[0] for of_ladder in lines for line in of_ladder]
        highs += [high for ladder in ladders for high in highs_of(ladder)]
        how = {"sharey": True, "squeeze": False, "gridspec_kw": {"wspace": 0.03}}
        figure, panels = style.figure_of(pyplot, 5.2, 1, len(ladders), **how)
        for axes, ladder, of_ladder in zip(panels[0], ladders, lines):
            panel(axes, ladder, of_ladder, 1.08 * max(highs))
        measure = recorded.measure_of(ladders[0])
        unit = f"{measure.unit} read and written" if measure is recorded.MOVES else measure.unit
        panels[0][0].set_ylabel(unit)
        title = style.what(ladders[0], shape=len(ladders) == 1)
        style.frame(figure, title, style.details(*ladders), more=[WITHOUT[self.track]])
        return figure
