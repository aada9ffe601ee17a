"""A table of some rungs at several shapes, from the newest recorded run of them at each."""

from __future__ import annotations

import recorded

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256))
FP16_SUMS = "cublas_fp16_sums"


def title(mnk):
    """'4096³' or '81920 × 256 × 256'."""
    return f"{mnk[0]}³" if len(set(mnk)) == 1 else " × ".join(map(str, mnk))


def find(names, folder=recorded.RESULTS):
    """The newest run of all of `names` at each shape; None where there is none."""
    paths = [recorded.newest_with(names, mnk, folder=folder) for mnk in SHAPES]
    return [recorded.load_ladder(path) if path else None for path in paths]


def entry_of(ladder, name):
    """What was recorded of a rung or variant."""
    return next(entry for entry in ladder["rungs"] if entry["step"] == name)


def cells(ladder, timing, contender):
    """TFLOPS and ratio to cuBLAS at one shape."""
    if ladder is None:
        return ["not recorded", "–"]
    return [
        recorded.spread(timing[contender]["tflops"], 1),
        f"{timing['ratio_to_cublas']['median']:.3f}",
    ]


def rung_row(ladders, name):
    """One rung or variant."""
    known = next((ladder for ladder in ladders if ladder), None)
    row = [name, entry_of(known, name)["idea"] if known else "–"]
    for ladder in ladders:
        row += cells(ladder, ladder and entry_of(ladder, name)["timing"], "step")
    return row


def cublas_row(ladders, words, key):
    """One of the cuBLAS that were timed beside the rungs."""
    row = ["cuBLAS", words]
    for ladder in ladders:
        known = ladder is not None and key in ladder
        ratio = "1" if known and key == "cublas" else "–"
        row += [recorded.spread(ladder[key]["tflops"], 1) if known else "–", ratio]
    return row


def caption(ladders):
    """What was measured, on what, when."""
    lines = []
    for mnk, ladder in zip(SHAPES, ladders):
        if ladder is not None:
            gpu = ladder["gpu"]
            power = gpu.get("power_limit_watts")
            limit = "unknown" if power is None else f"{power:.0f} W"
            lines.append(
                f"{title(mnk)}: {gpu['name']}, power limit {limit}, CUDA {gpu['cuda']}, cuBLAS "
                f"{gpu['cublas']}, driver {gpu['driver']}; {ladder['problem']['inputs']} inputs, "
                f"seed {ladder['problem']['seed']}; {ladder['date'][:10]}, commit "
                f"`{ladder['commit']}`, {ladder['passes']} passes of {ladder['rounds']} rounds."
            )
    return ["TFLOPS, burst: medians with the 10th and 90th percentile. " + " ".join(lines)]


def rows(ladders, names):
    """The table's cells, its header first."""
    header = ["program", "idea"]
    for mnk in SHAPES:
        header += [title(mnk), "of cuBLAS"]
    table = [header, *(rung_row(ladders, name) for name in names)]
    table.append(cublas_row(ladders, "its default, fp32 sums", "cublas"))
    if any(ladder and FP16_SUMS in ladder for ladder in ladders):
        table.append(cublas_row(ladders, "fp16 sums", FP16_SUMS))
    return table
