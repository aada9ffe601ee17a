"""A table of some rungs at several shapes, from the newest recorded run of them at each."""

from __future__ import annotations

import recorded

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256))
FP16_SUMS = "cublas_fp16_sums"


def title(mnk):
    """'4096³' or '81920 × 256 × 256'."""
    return f"{mnk[0]}³" if len(set(mnk)) == 1 else " × ".join(map(str, mnk))


def find(names, folder=recorded.RESULTS):
    """The newest run of all of `names` at each shape at which there is one: {shape: ladder}."""
    paths = {mnk: recorded.newest_with(names, mnk, folder=folder) for mnk in SHAPES}
    return {mnk: recorded.load_ladder(path) for mnk, path in paths.items() if path}


def entry_of(ladder, name):
    """What was recorded of a rung or variant."""
    return next(entry for entry in ladder["rungs"] if entry["step"] == name)


def rung_row(ladders, name):
    """One rung or variant: TFLOPS and ratio to cuBLAS at each shape."""
    row = [name, entry_of(next(iter(ladders.values())), name)["idea"]]
    for ladder in ladders.values():
        timing = entry_of(ladder, name)["timing"]
        ratio = timing["ratio_to_cublas"]["median"]
        row += [recorded.spread(timing["step"]["tflops"], 1), f"{ratio:.3f}"]
    return row


def cublas_row(ladders, words, key):
    """One of the cuBLAS that were timed beside the rungs."""
    row = ["cuBLAS", words]
    for ladder in ladders.values():
        tflops = recorded.spread(ladder[key]["tflops"], 1) if key in ladder else "–"
        row += [tflops, "1" if key == "cublas" else "–"]
    return row


def rows(ladders, names):
    """The table's cells, its header first."""
    header = ["program", "idea"]
    for mnk in ladders:
        header += [title(mnk), "of cuBLAS"]
    table = [header, *(rung_row(ladders, name) for name in names)]
    table.append(cublas_row(ladders, "its default, fp32 sums", "cublas"))
    if any(FP16_SUMS in ladder for ladder in ladders.values()):
        table.append(cublas_row(ladders, "fp16 sums", FP16_SUMS))
    return table


def plural(count, word):
    """'1 round', '2 rounds'"""
    return f"{count} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


def origin(ladder):
    """On what and when it was measured."""
    gpu, problem = ladder["gpu"], ladder["problem"]
    power = gpu.get("power_limit_watts")
    limit = "unknown" if power is None else f"{power:.0f} W"
    return (
        f"{gpu['name']}, power limit {limit}, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, driver "
        f"{gpu['driver']}; {problem['inputs']} inputs, seed {problem['seed']}; "
        f"{ladder['date'][:10]}, commit `{ladder['commit']}`, {plural(ladder['passes'], 'pass')} "
        f"of {plural(ladder['rounds'], 'round')}."
    )


def caption(ladders):
    """What was measured, on what, when: once if it is the same at all shapes."""
    origins = {mnk: origin(ladder) for mnk, ladder in ladders.items()}
    words = [f"{title(mnk)}: {text}" for mnk, text in origins.items()]
    if len(set(origins.values())) == 1:
        words = list(origins.values())[:1]
    return "TFLOPS, burst: medians with the 10th and 90th percentile. " + " ".join(words)


def table(names, folder=recorded.RESULTS):
    """The rows of cells and the caption; None and what to say if nothing is recorded."""
    ladders = find(names, folder)
    if not ladders:
        return None, "Not recorded yet."
    return rows(ladders, names), caption(ladders)
