"""A track at several shapes, one panel each. The a track in TFLOPS: what did each idea bring, and
does it everywhere? The t track in GB/s: how near does a transpose come to a plain copy?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.records import recorded
from notes.tools import readme_table, shapes_table
from plots.draw import bars, style
from plots.draw.records import Missing, alike


def names_of(track):
    """The rungs of a track that compute the same, lowest first."""
    return [name for name in recorded.rung_names(track=track) if name != readme_table.APART[track]]


def find(records, track):
    """The newest run of all rungs at each shape, in the order of the README's table."""
    names = names_of(track)
    apart = readme_table.APART[track]
    ladders = [run for run in records.ladders(track) if apart not in recorded.all_names(run)]
    if not records.chosen:
        ladders = [run for run in ladders if recorded.all_names(run) == names]
        ladders = [run for run in ladders if len(recorded.measured(run)) == len(names)]
    if not ladders:
        command = f'make ladder ARGS="--track {track}"'
        raise Missing(f"no finished burst run of {names[0]} to {names[-1]} ({command})")
    newest = {recorded.shape_of(ladder): ladder for ladder in alike(ladders)}
    shapes = shapes_table.SHAPES[recorded.measure_of(ladders[-1])]
    shown = [newest[shape] for shape in shapes if shape in newest]
    return shown or list(newest.values())


def panel(axes, ladder, lines, top):
    """One shape. `lines` has (y, legend, word, style): lines behind the bars with their values at the
    left, where the bars are low."""
    axes.set_title(style.shape_words(ladder), fontsize=11)
    for y, name, word, how in lines:
        axes.axhline(y, zorder=1, label=name, **how)
        crowded = any(0 < other[0] - y < 0.06 * top for other in lines)
        text = {"ha": "left", "va": "top" if crowded else "bottom", "fontsize": 9, "zorder": 5}
        style.note(axes, f"{word} {y:.0f}", (-0.55, y), (0, -3 if crowded else 2), **text)
    bars.rungs(axes, ladder, recorded.measure_of(ladder), top, size=10)
    axes.set_xlabel("step")


def lines_of_a(ladder, records):
    """(y, legend, word, style) of cuBLAS, cuBLAS with fp16 sums, and the peak."""
    cublas = ladder["cublas"]["tflops"]["median"]
    found = [(cublas, "cuBLAS, fp32 sums (the ratios are to this one)", "fp32 sums", style.CUBLAS)]
    beside = ladder.get("cublas_fp16_sums")
    if beside:
        rate = beside["tflops"]["median"]
        found.append((rate, "cuBLAS, fp16 sums", "fp16 sums", style.SECOND))
    peak = style.peak_tflops(records, ladder)
    if peak:
        found.append((peak[0], style.peak_words(ladder, peak), "peak", style.PEAK))
    return found


def lines_of_t(ladder, records):
    """The same of the copy, the second opinion, and the memory's peak."""
    copy = ladder["device_copy"]["gb_per_s"]["median"]
    found = [(copy, "plain copy on the device (cudaMemcpyAsync)", "copy", style.CUBLAS)]
    second = ladder.get("second_opinion")
    if second:
        found.append((second["gb_per_s"]["median"], second["name"], second["name"], style.SECOND))
    peak = records.memory_peak(ladder["gpu"])
    if peak:
        found.append((1e-9 * peak, "memory's peak by clock and bus width", "peak", style.PEAK))
    return found


@dataclass(frozen=True)
class Picture:
    """The picture of one track, as plot.py wants it."""

    track: str
    lines_of: Callable
    without: str  # who has no bar

    @property
    def NAME(self):
        """Its name."""
        return f"ladder-{self.track}"

    def find(self, records):
        """The newest run at each shape."""
        return find(records, self.track)

    @staticmethod
    def notes(ladders):
        """The shapes that the README's table has and the picture lacks."""
        there = {recorded.shape_of(ladder) for ladder in ladders}
        shapes = shapes_table.SHAPES[recorded.measure_of(ladders[0])]
        lacking = [shapes_table.title(shape) for shape in shapes if shape not in there]
        return [f"no panel for {shape}: no run is recorded there" for shape in lacking]

    def draw(self, pyplot, ladders, records):
        """The whole figure."""
        measure = recorded.measure_of(ladders[0])
        lines = [self.lines_of(ladder, records) for ladder in ladders]
        highs = [line[0] for of_ladder in lines for line in of_ladder]
        for ladder in ladders:
            rungs = recorded.measured(ladder)
            highs += [rung["timing"]["step"][measure.rate]["high"] for rung in rungs]
        how = {"sharey": True, "squeeze": False, "gridspec_kw": {"wspace": 0.03}}
        figure, panels = style.figure_of(pyplot, 5.2, 1, len(ladders), **how)
        for axes, ladder, of_ladder in zip(panels[0], ladders, lines):
            panel(axes, ladder, of_ladder, 1.08 * max(highs))
        unit = measure.unit if measure is recorded.PRODUCTS else f"{measure.unit} read and written"
        panels[0][0].set_ylabel(unit)
        title = style.what(ladders[0], shape=len(ladders) == 1)
        style.frame(figure, title, style.details(*ladders), more=[self.without])
        return figure


PICTURES = (
    Picture(
        "a",
        lines_of_a,
        "a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem.",
    ),
    Picture(
        "t", lines_of_t, "t01 has no bar: it adds one to each element, and transposes nothing."
    ),
)
