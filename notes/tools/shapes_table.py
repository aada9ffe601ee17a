"""A table of some rungs at several shapes, from the newest recorded run of them at each."""

from __future__ import annotations

from bench.markdown import plain
from bench.records import recorded

SHAPES = {
    recorded.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    recorded.MOVES: ((32768, 32768), (4096, 16384)),
}
NOTHING = "Not recorded yet."
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
    """The newest run of all of `names` at each shape at which there is one, and those of its commit on
    other GPUs and cards: {shape: {GPU: ladders}}."""

    def has_all(ladder):
        return {rung["step"] for rung in recorded.measured(ladder)}.issuperset(names)

    paths = {
        mnk: recorded.newest_with(names, mnk, folder=folder) for mnk in SHAPES[measure_of(names)]
    }
    ladders = {mnk: recorded.load_ladder(path) for mnk, path in paths.items() if path}
    return {mnk: recorded.beside(ladder, folder, has_all) for mnk, ladder in ladders.items()}


def gpus_of(runs):
    """{name: short name} of all GPUs in such runs, the home GPU first."""
    found = {}
    for of_gpu in runs.values():
        for name, ladders in of_gpu.items():
            found.setdefault(name, recorded.short_name(ladders[0]["gpu"]))
    return found


def first_of(runs):
    """{shape: the ladder on the first GPU, and of its cards the first}"""
    return {shape: next(iter(of_gpu.values()))[0] for shape, of_gpu in runs.items()}


def rung_row(runs, name):
    """One rung or variant: TFLOPS and ratio to cuBLAS at each shape, or GB/s and that to a copy; of
    other GPUs the ratio alone."""
    measure, ladders = measure_of([name]), first_of(runs)
    row = [name, plain(recorded.entry_of(next(iter(ladders.values())), name)["idea"])]
    for shape, ladder in ladders.items():
        rate = recorded.entry_of(ladder, name)["timing"]["step"][measure.rate]
        cards = [runs[shape].get(gpu, ()) for gpu in gpus_of(runs)]
        ratios = [
            recorded.over_cards(of, name, lambda timing: timing[measure.ratio]) for of in cards
        ]
        cells = [recorded.plus_minus(ratio, 3) for ratio in ratios]
        row += [recorded.plus_minus(rate, 1), " / ".join(cells)]
    return row


def other_row(ladders, measure, name, words, key):
    """One of those that were timed beside the rungs."""
    row = [name, words]
    for ladder in ladders.values():
        rate = recorded.plus_minus(ladder[key][measure.rate], 1) if key in ladder else "–"
        row += [rate, "1" if key == measure.other else "–"]
    return row


def other_rows(ladders, measure):
    """All of them."""
    first = next(iter(ladders.values()))
    words = dict(
        OTHERS,
        cublaslt=("cuBLASLt", recorded.best_of_cublaslt(ladders.values())),
        second_opinion=("other", plain(first.get("second_opinion", {}).get("name", ""))),
    )
    names = (measure.other, *measure.besides)
    there = [name for name in names if any(name in ladder for ladder in ladders.values())]
    return [other_row(ladders, measure, *words[name], name) for name in there]


def rows(runs, names):
    """The table's cells, its header first."""
    measure, gpus = measure_of(names), list(gpus_of(runs).values())
    where = f", {' / '.join(gpus)}" if len(gpus) > 1 else ""
    header = ["program", "idea"]
    for mnk in runs:
        header += [title(mnk), f"of {measure.other_name}{where}"]
    others = other_rows(first_of(runs), measure)
    return [header, *(rung_row(runs, name) for name in names), *others]


def plural(count, word):
    """'1 round', '2 rounds'"""
    return f"{count} {word}" + ("" if count == 1 else "es" if word.endswith("s") else "s")


def machine(gpu, *without):
    """A GPU, its power limit and the versions, but those left out."""
    limit = gpu.get("power_limit_watts")
    words = {
        "power": f"power limit {'unknown' if limit is None else f'{limit:.0f} W'}",
        "cuda": f"CUDA {gpu['cuda']}",
        "cublas": f"cuBLAS {gpu.get('cublas')}",
        "driver": f"driver {gpu['driver']}",
    }
    return ", ".join([gpu["name"], *(text for key, text in words.items() if key not in without)])


def made(record):
    """'normal inputs, seed 1; 2025-01-31, commit `abc1234`'"""
    problem = record["problem"]
    return f"{problem['inputs']} inputs, seed {problem['seed']}; {dated(record)}"


def dated(record):
    """'2025-01-31, commit `abc1234`'"""
    return f"{record['date'][:10]}, commit `{record['commit']}`"


def sizes_of(record):
    """'m = 8192, n = 8192, k = 8192'"""
    problem = record["problem"]
    return ", ".join(f"{name} = {problem[name]}" for name in "mnk" if name in problem)


def origin(ladder):
    """On what and when it was measured."""
    return (
        f"{machine(ladder['gpu'])}; {made(ladder)}, {plural(ladder['passes'], 'pass')} "
        f"of {plural(ladder['rounds'], 'round')}."
    )


def origins(runs):
    """What was measured, on what, when: once where several shapes share it."""
    found = {}
    for shape, of_gpu in runs.items():
        for ladder in (ladder for ladders in of_gpu.values() for ladder in ladders):
            found.setdefault(origin(ladder), {})[shape] = None
    whole = [text for text, there in found.items() if len(there) == len(runs)]
    if len(whole) == len(found):
        return " ".join(found)
    return " ".join(f"{', '.join(map(title, there))}: {text}" for text, there in found.items())


SPREAD = "± is half of the distance from the 10th to the 90th percentile."


def table(names, folder=recorded.RESULTS):
    """The rows of cells and the caption; None and what to say if nothing is recorded."""
    runs = find(names, folder)
    if not runs:
        return None, NOTHING
    measure = measure_of(names)
    unit = "GB/s read and written" if measure is recorded.MOVES else measure.unit
    return rows(runs, names), f"{unit}, burst: medians; {SPREAD} {origins(runs)}"
