"""The rungs of a track as bars, beside what they are compared with.

The v track: TFLOPS at one size, how far up does it go? The a track in TFLOPS and the t track in GB/s at several shapes, one panel each:
what did each idea bring, and does it everywhere?
"""

from __future__ import annotations

from dataclasses import dataclass

from bench import results
from notes.tools.tables import SHAPES, title
from plots.draw import bars, style
from plots.draw.records import Missing

WITHOUT = {  # the rungs without a bar
    "a": "a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem.",
    "t": "t01 has no bar: it adds one to each element, and transposes nothing.",
}


def lines_of(run, records):
    """[(value, legend, word, style)] of what the rungs are compared with, and of the peak."""
    found = []

    def add(who, word, how, name=None):
        if who in run.contenders:
            value = run.rate(who).mid
            name = name or f"{word}, median: {value:.0f} {run.measure.unit}"
            found.append((value, name, word, how))

    track = min(run.tracks)
    if track == "v":
        add("cublas", "cuBLAS", style.CUBLAS)
        add("cublaslt", "best cuBLASLt", style.SECOND)
    elif track == "a":
        name = "cuBLAS, fp32 sums (the ratios are to this one)"
        add("cublas", "fp32 sums", style.CUBLAS, name)
        add("cublas_fp16_sums", "fp16 sums", style.SECOND, "cuBLAS, fp16 sums")
    else:
        add("device_copy", "copy", style.CUBLAS, "plain copy on the device (cudaMemcpyAsync)")
        name = run.first(run.measured[0]).get("names", {}).get("second_opinion")
        add("second_opinion", name, style.SECOND, name)
    peak = style.peak_of(records, run)
    return found + ([(peak, style.peak_words(records, run), "peak", style.PEAK)] if peak else [])


def highs_of(run, names):
    """The upper ends of the rungs' spreads."""
    return [run.rate(name).high for name in names if name in run.measured]


# --- the v track ------------------------------------------------------------------------------


class Ladder:
    """The picture of the v track, for plot.py."""

    NAME = "ladder"

    @staticmethod
    def find(records):
        """(the headline run, of it the rungs that are for its size); all of a chosen one."""
        run = records.headline()
        return run, [name for name in run.names if records.chosen or name <= results.LAST]

    @staticmethod
    def notes(found):
        """What the run lacks."""
        there = "cublaslt" in found[0].contenders
        return [] if there else ["no line for the best cuBLASLt: it is not recorded"]

    @staticmethod
    def draw(pyplot, found, records):
        """The whole figure."""
        run, names = found
        lines = lines_of(run, records)
        figure, axes = style.figure_of(pyplot, 4.4)
        for y, words, _, how in lines:
            axes.axhline(y, zorder=3, label=words, **how)
        top = 1.06 * max(highs_of(run, names) + [line[0] for line in lines])
        bars.rungs(axes, run, names, top, size=bars.label_size(names))
        axes.set_ylabel("TFLOPS")
        style.frame(figure, style.what(run), style.details(run))
        return figure


# --- several shapes ---------------------------------------------------------------------------


def panel(axes, run, lines, top):
    """One shape. The lines are drawn under the bars, with their values at the left, where the bars are
    low."""
    axes.set_title(style.shape_words(run), fontsize=11)
    for y, name, word, how in lines:
        axes.axhline(y, zorder=1, label=name, **how)
        crowded = any(0 < other[0] - y < 0.06 * top for other in lines)
        text = {"ha": "left", "va": "top" if crowded else "bottom", "fontsize": 9, "zorder": 5}
        style.note(axes, f"{word} {y:.0f}", (-0.55, y), (0, -3 if crowded else 2), **text)
    bars.rungs(axes, run, run.names, top, size=10)
    axes.set_xlabel("step")


@dataclass(frozen=True)
class Shapes:
    """The picture of another track, for plot.py."""

    track: str

    @property
    def NAME(self):
        """Its name."""
        return f"ladder-{self.track}"

    @property
    def shapes(self):
        """Those of the README's table."""
        return SHAPES[results.MOVES if self.track == results.MOVING else results.PRODUCTS]

    def find(self, records):
        """The run to be shown at each shape, in the order of the README's table."""
        shown = {}
        for run in records.ladders(self.track):
            if not {*results.APART}.intersection(run.names):
                shown.setdefault(run.shape, run)
        if not shown:
            command = f'make ladder ARGS="--track {self.track}"'
            raise Missing(f"no burst run of {self.track}02 and the rungs above it ({command})")
        return [shown[shape] for shape in self.shapes if shape in shown] or list(shown.values())

    def notes(self, runs):
        """The shapes that the README's table has and the picture lacks."""
        lacking = [shape for shape in self.shapes if shape not in [one.shape for one in runs]]
        return [f"no panel for {title(shape)}: no run is recorded there" for shape in lacking]

    def draw(self, pyplot, runs, records):
        """The whole figure."""
        lines = [lines_of(run, records) for run in runs]
        highs = [line[0] for of_run in lines for line in of_run]
        highs += [high for run in runs for high in highs_of(run, run.names)]
        how = {"sharey": True, "squeeze": False, "gridspec_kw": {"wspace": 0.03}}
        figure, panels = style.figure_of(pyplot, 5.2, 1, len(runs), **how)
        for axes, run, of_run in zip(panels[0], runs, lines):
            panel(axes, run, of_run, 1.08 * max(highs))
        measure = runs[0].measure
        unit = f"{measure.unit} read and written" if measure is results.MOVES else measure.unit
        panels[0][0].set_ylabel(unit)
        title = style.what(runs[0], shape=len(runs) == 1)
        style.frame(figure, title, style.details(*runs), more=[WITHOUT[self.track]])
        return figure
