"""FP8 with block scales: the rungs and DeepGEMM beside cuBLASLt, at shapes of models. What did each
idea bring, and at which of them?"""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.records import Missing, alike

NAME = "fp8"
SHAPES = ((4096, 7168, 16384), (4096, 4096, 7168), (4096, 24576, 1536))
RATIO = "ratio_to_cublaslt"
UNSCALED = ("f01", "f02", "f08")
APART = f"{', '.join(UNSCALED)} have one scale for each matrix: another problem."
OURS, THEIRS = {"color": style.SKY, "label": "rung"}, {**style.HATCHED, "label": "DeepGEMM"}


def find(records):
    """{shape: {name: (ladder, ratio)}}: each rung with block scales, and each rival, from the newest
    run on one kind of GPU that has it beside the best cuBLASLt."""
    newest = {shape: {} for shape in SHAPES}
    ladders = [run for run in records.runs if run["kind"] == "ladder"]
    ladders = [run for run in ladders if recorded.tracks(run) == {"f"} and records.home.has(run)]
    ladders = [run for run in ladders if run["protocol"] == recorded.HEADLINE_PROTOCOL]
    for ladder in alike(ladders) if ladders else ():
        at = newest.get(recorded.shape_of(ladder))
        for rung in recorded.measured(ladder) if at is not None else ():
            name, ratio = rung["step"], rung["timing"].get(RATIO)
            scaled = name not in UNSCALED and not recorded.is_variant(name)
            if ratio and scaled:
                at[name] = ladder, ratio
    if not all(newest.values()):
        command = "python3 -m bench.record --only f-rivals"
        raise Missing(
            f"no burst runs of rungs with block scales at {len(SHAPES)} shapes ({command})"
        )
    return newest


def draw(pyplot, found, _):
    """The whole figure."""
    how = {"sharey": True, "squeeze": False, "gridspec_kw": {"wspace": 0.03}}
    figure, panels = style.figure_of(pyplot, 4.6, 1, len(found), **how)
    for axes, at in zip(panels[0], found.values()):
        names = sorted(at, key=lambda name: (recorded.is_rival(name), name))
        axes.set_title(style.shape_words(at[names[0]][0]), fontsize=11)
        axes.axhline(1, zorder=3, label="best cuBLASLt of the same run", **style.SECOND)
        for x, name in enumerate(names):
            ratio = at[name][1]
            kind = THEIRS if recorded.is_rival(name) else OURS
            bars.labelled(axes, [x], [ratio["median"]], "{:.3f}".format, width=0.74, **kind)
        shown = [name if not recorded.is_rival(name) else "Deep-\nGEMM" for name in names]
        style.name_ticks(axes, shown)
        axes.set_ylim(0, 1.3)
        axes.grid(axis="y")
    panels[0][0].set_ylabel("of the best cuBLASLt")
    ladders = list({id(one): one for at in found.values() for one, _ in at.values()}.values())
    title = f"{style.gpu_words(ladders[0])}: FP8 GEMM, block scales, burst protocol"
    more = [*style.other_cards(ladders), APART]
    style.frame(figure, title, style.details(*ladders), more=more)
    return figure
