"""The rungs of a track as bars, beside what they are compared with.

The v track in TFLOPS at one size: how far up does it go? The a track in TFLOPS and the t track in GB/s
at several shapes, one panel each: what did each idea bring, and does it everywhere?
"""

from __future__ import annotations

from bench import results
from notes.tools.tables import SHAPES, title
from plots.draw import bars, style
from plots.draw.records import Missing

WITHOUT = {  # the rungs without a bar
    "a": "a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem.",
    "t": "t01 has no bar: it adds one to each element, and transposes nothing.",
}
# Of each track what the rungs are compared with: who, the word for it, its line and legend; {} is the
# median.
LINES = {
    "v": (
        ("cublas", "cuBLAS", style.CUBLAS, "cuBLAS, median: {} TFLOPS"),
        ("cublaslt", "best cuBLASLt", style.SECOND, "best cuBLASLt, median: {} TFLOPS"),
    ),
    "a": (
        ("cublas", "fp32 sums", style.CUBLAS, "cuBLAS, fp32 sums (the ratios are to this one)"),
        ("cublas_fp16_sums", "fp16 sums", style.SECOND, "cuBLAS, fp16 sums"),
    ),
    "t": (("device_copy", "copy", style.CUBLAS, "plain copy on the device (cudaMemcpyAsync)"),),
}


def lines_of(run, records):
    """[(value, legend, word, style)] of what the rungs are compared with, and of the peak."""
    found = []
    second = run.first(run.measured[0]).get("names", {}).get("second_opinion")
    named = ("second_opinion", second, style.SECOND, second)
    for who, word, how, legend in (*LINES[min(run.tracks)], named):
        if who in run.contenders:
            value = run.rate(who).mid
            found.append((value, legend.format(f"{value:.0f}"), word, how))
    peak = style.peak_of(records, run)
    return found + ([(*peak, "peak", style.PEAK)] if peak else [])


def highs_of(run, names):
    """The upper ends of the rungs' spreads."""
    return [run.rate(name).high for name in names if name in run.measured]


def ladder(records):
    """The headline run."""
    run = records.headline()
    if "cublaslt" not in run.contenders:
        print("ladder: no line for the best cuBLASLt: it is not recorded")
    lines = lines_of(run, records)
    figure, axes = style.figure_of(4.4)
    for y, words, _, how in lines:
        axes.axhline(y, zorder=3, label=words, **how)
    top = 1.06 * max(highs_of(run, run.names) + [line[0] for line in lines])
    bars.rungs(axes, run, run.names, top, bars.label_size(run.names))
    axes.set_ylabel("TFLOPS")
    return style.frame(figure, style.what(run), style.details(run))


# --- several shapes ---------------------------------------------------------------------------


def find(track, records):
    """The run to be shown at each shape of the README's table, in its order, and those that it lacks."""
    shapes = SHAPES[results.MOVES if track == results.MOVING else results.PRODUCTS]
    shown = {}
    for run in records.ladders(track):
        if not {*results.APART}.intersection(run.names):
            shown.setdefault(run.shape, run)
    if not shown:
        command = f'make ladder ARGS="--track {track}"'
        raise Missing(f"no burst run of {track}02 and the rungs above it ({command})")
    runs = [shown[shape] for shape in shapes if shape in shown] or list(shown.values())
    return runs, [shape for shape in shapes if shape not in shown]


def panel(axes, run, lines, top):
    """One shape. The lines are drawn under the bars, with their values at the left, where the bars are
    low."""
    axes.set_title(style.shape_words(run))
    for y, name, word, how in lines:
        axes.axhline(y, zorder=1, label=name, **how)
        crowded = any(0 < other[0] - y < 0.06 * top for other in lines)
        text = {"ha": "left", "va": "top" if crowded else "bottom", "fontsize": 9, "zorder": 5}
        style.note(axes, f"{word} {y:.0f}", (-0.55, y), (0, -3 if crowded else 2), **text)
    bars.rungs(axes, run, run.names, top, 10)
    axes.set_xlabel("step")


def shapes(track, records):
    """A panel for each shape."""
    runs, lacking = find(track, records)
    for shape in lacking:
        print(f"ladder-{track}: no panel for {title(shape)}: no run is recorded there")
    lines = [lines_of(run, records) for run in runs]
    highs = [line[0] for of_run in lines for line in of_run]
    highs += [high for run in runs for high in highs_of(run, run.names)]
    figure, panels = style.row(5.2, len(runs))
    for axes, run, of_run in zip(panels, runs, lines):
        panel(axes, run, of_run, 1.08 * max(highs))
    measure = runs[0].measure
    moved = " read and written" if measure is results.MOVES else ""
    panels[0].set_ylabel(f"{measure.unit}{moved}")
    words = style.what(runs[0], shape=len(runs) == 1)
    return style.frame(figure, words, style.details(*runs), more=[WITHOUT[track]])
