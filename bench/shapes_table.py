"""A table of some rungs at several shapes, from the newest recorded run of them at each."""

from __future__ import annotations

import recorded

SHAPES = {
    recorded.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    recorded.MOVES: ((32768, 32768), (4096, 16384)),
}
# Whom the rungs are compared with.
OTHERS = {
    "cublas": ("cuBLAS", "its default, fp32 sums"),
    "cublas_fp16_sums": ("cuBLAS", "fp16 sums"),
    "device_copy": ("copy", "cudaMemcpyAsync, device to device"),
}


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


def measure_of(names):
    """What is measured of the rungs of that name."""
    moves = all(name[0] == recorded.MOVING for name in names)
    return recorded.MOVES if names and moves else recorded.PRODUCTS


def find(names, folder=recorded.RESULTS):
    """The newest run of all of `names` at each shape at which there is one: {shape: ladder}."""
    shapes = SHAPES[measure_of(names)]
    paths = {mnk: recorded.newest_with(names, mnk, folder=folder) for mnk in shapes}
    return {mnk: recorded.load_ladder(path) for mnk, path in paths.items() if path}


def entry_of(ladder, name):
    """What was recorded of a rung or variant."""
    return next(entry for entry in ladder["rungs"] if entry["step"] == name)


def rung_row(ladders, name):
    """One rung or variant: TFLOPS and ratio to cuBLAS at each shape, or GB/s and that to a copy."""
    measure = measure_of([name])
    row = [name, entry_of(next(iter(ladders.values())), name)["idea"]]
    for ladder in ladders.values():
        timing = entry_of(ladder, name)["timing"]
        ratio = timing[measure.ratio]["median"]
        row += [recorded.spread(timing["step"][measure.rate], 1), f"{ratio:.3f}"]
    return row


def other_row(ladders, measure, name, words, key):
    """One of those that were timed beside the rungs."""
    row = [name, words]
    for ladder in ladders.values():
        rate = recorded.spread(ladder[key][measure.rate], 1) if key in ladder else "–"
        row += [rate, "1" if key == measure.other else "–"]
    return row


def other_rows(ladders, measure):
    """All of them."""
    first = next(iter(ladders.values()))
    words = dict(
        OTHERS,
        cublaslt=("cuBLASLt", recorded.best_of_cublaslt(ladders.values())),
        second_opinion=("other", first.get("second_opinion", {}).get("name", "")),
    )
    names = (measure.other, *measure.besides)
    there = [name for name in names if any(name in ladder for ladder in ladders.values())]
    return [other_row(ladders, measure, *words[name], name) for name in there]


def rows(ladders, names):
    """The table's cells, its header first."""
    measure = measure_of(names)
    header = ["program", "idea"]
    for mnk in ladders:
        header += [title(mnk), f"of {measure.other_name}"]
    return [header, *(rung_row(ladders, name) for name in names), *other_rows(ladders, measure)]


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
    measure = recorded.measure_of(next(iter(ladders.values())))
    unit = "GB/s read and written" if measure is recorded.MOVES else measure.unit
    return f"{unit}, burst: medians with the 10th and 90th percentile. " + " ".join(words)


def table(names, folder=recorded.RESULTS):
    """The rows of cells and the caption; None and what to say if nothing is recorded."""
    ladders = find(names, folder)
    if not ladders:
        return None, "Not recorded yet."
    return rows(ladders, names), caption(ladders)
