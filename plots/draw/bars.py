"""Bars: of the rungs of a track, of contenders at several shapes."""

from __future__ import annotations

from bench import results
from notes.tools.tables import title
from plots.draw import style
from plots.draw.records import Missing

OUR, STEP = {"color": style.SKY}, {"color": style.BLUE}  # STEP: of a rung that the picture names
SIDES = ({"color": style.SKY}, style.HATCHED)  # the first and the second of two runs
# Bars of the ladder with a label: what is new there.
NAMED = {"v02": "TMA +\nwgmma", "v04": "ring", "v07": "raw mbarriers", "v16": "256 × 200 tile"}
BEST = {"cublas": ("cuBLAS", style.CUBLAS), "cublaslt": ("cuBLASLt's best", style.SECOND)}
LINES = {  # of each track what the rungs are compared with, and what has no bar
    "a": (
        {"cublas": ("fp32 sums", style.CUBLAS), "cublas_fp16_sums": ("fp16 sums", style.SECOND)},
        "lines: cuBLAS; a01 has no bar: it computes D = αAB + βC with fp32 sums, another problem",
    ),
    "t": (
        {"device_copy": ("copy", style.CUBLAS), "second_opinion": ("cublasSgeam", style.SECOND)},
        "lines: cudaMemcpyAsync and cublasSgeam; t01 has no bar: it transposes nothing",
    ),
}
OF_A, OF_T = ((4096,) * 3, (8192,) * 3, (81920, 256, 256)), ((32768, 32768), (4096, 16384))
MODELS = ((4096, 7168, 16384), (4096, 4096, 7168), (4096, 24576, 1536))  # shapes of FP8 GEMMs
UNSCALED = ("f01", "f02", "f08")


def labelled(axes, places, values, words, *, size=9, rotation=0, **how):
    """Bars with a number above each; None leaves a gap."""
    known = [(x, value) for x, value in zip(places, values) if value is not None]
    if known:
        shown = axes.bar(*zip(*known), zorder=2, **how)
        text = {"fontsize": size, "rotation": rotation, "bbox": style.CLEAR, "zorder": 3}
        axes.bar_label(shown, [words(value) for _, value in known], padding=2, **text)


def pairs(axes, values, labels, form="{:.0f}"):
    """Two bars for each column, of the two lists of values."""
    for i, (of, label) in enumerate(zip(values, labels)):
        places = [x + 0.4 * i - 0.2 for x in range(len(of))]
        how = {"width": 0.38, "rotation": 90, "label": label, **SIDES[i]}
        labelled(axes, places, of, form.format, **how)
    axes.margins(y=0.2)


def mid(run, name, of):
    """The median of a run's rates or ratios of a program, or None."""
    return of(name).mid if name in {*run.measured, *run.contenders} else None


def lines(axes, there, looks):
    """Lines across, named at the left, where bars are low: below its line if one is close above."""
    for who, y in there.items():
        (words, look), top = looks[who], max(there.values())
        axes.axhline(y, zorder=1.5, **look)
        close = any(0 < other - y < 0.09 * top for other in there.values())
        va, offset = ("top", -2) if close else ("bottom", 2)
        how = {"ha": "left", "va": va, "fontsize": 9, "color": look["color"]}
        style.note(axes, f"{words} {y:.0f}", (-0.5, y), (0, offset), **how)


def ladder(records):
    """The README's: the rates of the headline run; no number on a bar, the table has them."""
    run = records.headline()
    figure, axes = style.figure_of(2.6)
    names, rates = run.names, [mid(run, name, run.rate) or 0 for name in run.names]
    axes.bar(range(len(names)), rates, width=0.76, **OUR)
    for x, (name, rate) in enumerate(zip(names, rates)):
        if name in NAMED:
            axes.bar([x], [rate], width=0.76, **STEP)
            how = {"fontsize": 10, "fontweight": "bold", "color": style.BLUE, "bbox": style.CLEAR}
            if x < 2:  # over the lower bar before it
                how, x = {**how, "ha": "right"}, x + 0.38
            style.note(axes, NAMED[name], (x, rate), (0, 5), **how)
    there = {who: run.rate(who).mid for who in BEST if who in run.contenders}
    lines(axes, there, BEST)
    style.name_ticks(axes, names)
    axes.set(ylim=(0, 1.12 * max(rates)), ylabel="TFLOPS")
    return style.frame(figure, style.what(run), None)


def shapes(track, records):
    """A panel for each shape: a track's rungs beside what they are compared with."""
    shown, (looks, more) = {}, LINES[track]
    for run in records.ladders(track):
        if not {*results.APART}.intersection(run.names):
            shown.setdefault(run.shape, run)
    wanted = OF_T if track == results.MOVING else OF_A
    runs = [shown[shape] for shape in wanted if shape in shown] or [*shown.values()]
    if not runs:
        raise Missing(f'no burst run of {track}02 and the rungs above it (--track "{track}")')
    figure, panels = style.figure_of(4, 1, len(runs), sharey=True, squeeze=False)
    for axes, run in zip(panels[0], runs):
        there = {who: run.rate(who).mid for who in looks if who in run.contenders}
        values = [mid(run, name, run.rate) for name in run.names]
        labelled(axes, range(len(values)), values, "{:.0f}".format, width=0.76, **OUR)
        style.name_ticks(axes, run.names)
        lines(axes, there, looks)
        axes.set_title(style.shape_words(run))
    panels[0][0].set_ylabel(runs[0].measure.unit)
    words = style.what(runs[0], shape=len(runs) == 1)
    return style.frame(figure, words, style.details(*runs), more=[more])


def fp8(records):
    """Rungs with block scales, and DeepGEMM, by their ratios to the best of cuBLASLt in the same run."""
    found = {shape: {} for shape in MODELS}
    for run in records.ladders("f", plain=False):
        for name in run.measured if run.shape in found else ():
            scaled = name not in UNSCALED and not results.is_variant(name)
            if scaled and run.ratio(name, "cublaslt"):
                found[run.shape].setdefault(name, run)
    if not all(found.values()):
        raise Missing("no burst runs with block scales (python3 -m bench.record --only f-rivals)")
    figure, panels = style.figure_of(3.6, 1, len(found), sharey=True, squeeze=False)
    for axes, (shape, at) in zip(panels[0], found.items()):
        names = sorted(at, key=results.name_order)
        for x, name in enumerate(names):
            look = SIDES[results.is_rival(name)]
            ratio = at[name].ratio(name, "cublaslt").mid
            labelled(axes, [x], [ratio], "{:.2f}".format, width=0.76, **look)
        axes.axhline(1, zorder=1.5, **style.SECOND)
        style.name_ticks(axes, ["Deep-\nGEMM" if results.is_rival(one) else one for one in names])
        axes.set(ylim=(0, 1.25), title=title(shape))
    panels[0][0].set_ylabel("of cuBLASLt's best")
    runs = [run for at in found.values() for run in at.values()]
    words = f"{style.gpu_words(runs[0])}: FP8 GEMM, block scales, burst protocol"
    more = [f"{', '.join(UNSCALED)} have one scale for each matrix: another problem."]
    return style.frame(figure, words, style.details(*runs), more=more)
