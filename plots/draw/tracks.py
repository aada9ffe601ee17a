"""The rungs of a track as bars, beside what they are compared with.

The v track: TFLOPS at one size, how far up does it go? The a track in TFLOPS and the t track in GB/s at several shapes, one panel each:
what did each idea bring, and does it everywhere?
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.records import recorded
from notes.tools import readme_table, shapes_table
from plots.draw import bars, style
from plots.draw.records import Missing, alike

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


class Ladder:
    """The picture of the v track, for plot.py."""

    NAME = "ladder"

    @staticmethod
    def find(records):
        """The headline run, of it the rungs that are for its size; all of a chosen one."""
        ladder = records.headline()
        return ladder if records.chosen else recorded.climb(ladder)

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
        figure, axes = style.figure_of(pyplot, 4.4)
        for y, words, _, how in lines:
            axes.axhline(y, zorder=3, label=words, **how)
        top = 1.06 * max(highs_of(ladder) + [line[0] for line in lines])
        bars.rungs(axes, ladder, recorded.PRODUCTS, top, size=bars.label_size(ladder))
        axes.set_ylabel("TFLOPS")
        style.frame(figure, style.what(ladder), style.details(ladder))
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
