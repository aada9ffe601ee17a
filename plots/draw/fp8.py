"""FP8 with block scales: the rungs and DeepGEMM beside cuBLASLt, at shapes of models. What did each
idea bring, and at which of them?"""

from __future__ import annotations

from bench import results
from notes.tools.tables import title
from plots.draw import bars, style
from plots.draw.records import Missing

SHAPES = ((4096, 7168, 16384), (4096, 4096, 7168), (4096, 24576, 1536))
BEST = "cublaslt"
UNSCALED = ("f01", "f02", "f08")
APART = f"{', '.join(UNSCALED)} have one scale for each matrix: another problem."
OURS, THEIRS = {"color": style.SKY, "label": "rung"}, {**style.HATCHED, "label": "DeepGEMM"}


def find(records):
    """{shape: {name: its run}}: each rung with block scales, and each rival, from the first run that
    has it beside the best cuBLASLt."""
    found = {shape: {} for shape in SHAPES}
    for run in records.ladders("f", plain=False):
        for name in run.measured if run.shape in found else ():
            scaled = name not in UNSCALED and not results.is_variant(name)
            if scaled and run.ratio(name, BEST):
                found[run.shape].setdefault(name, run)
    if not all(found.values()):
        words = f"no burst runs of rungs with block scales at {len(SHAPES)} shapes"
        raise Missing(f"{words} (python3 -m bench.record --only f-rivals)")
    return found


def draw(records):
    """A panel for each shape."""
    found = find(records)
    figure, panels = style.row(4.6, len(found))
    for axes, (shape, at) in zip(panels, found.items()):
        names = sorted(at, key=results.name_order)
        axes.set_title(title(shape))
        axes.axhline(1, zorder=3, label="best cuBLASLt of the same run", **style.SECOND)
        for x, name in enumerate(names):
            ratio = at[name].ratio(name, BEST).mid
            kind = THEIRS if results.is_rival(name) else OURS
            bars.labelled(axes, [x], [ratio], "{:.3f}".format, width=0.74, **kind)
        shown = [name if not results.is_rival(name) else "Deep-\nGEMM" for name in names]
        style.name_ticks(axes, shown)
        axes.set_ylim(0, 1.3)
        axes.grid(axis="y")
    panels[0].set_ylabel("of the best cuBLASLt")
    runs = [run for at in found.values() for run in at.values()]
    words = f"{style.gpu_words(runs[0])}: FP8 GEMM, block scales, burst protocol"
    more = [*style.other_cards(runs), APART]
    return style.frame(figure, words, style.details(*runs), more=more)
