"""Tables that show several GPUs side by side: v18's sizes, calls, and the rivals.

Each is a list of rows, the header first, and a caption; or None and what to say if nothing is
recorded.
"""

from __future__ import annotations

from bench import shapes
from bench.markdown import DASH
from bench.records import recorded
from bench.records.vocabulary import CONTENDERS, is_rival
from notes.tools import shapes_table
from notes.tools.quantities import Quantity, write_as
from notes.tools.shapes_table import CUBLASLT, cell, title

BESIDE_CALLS = ("cublas", "cublaslt")
CHOOSES = "v18"  # its tile for each product
NOTHING = None, shapes_table.NOTHING
RIVAL_SHAPES = ((8192,) * 3, (4096,) * 3)


def sizes(folder=None):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    squares = [(size,) * 3 for size in shapes.SQUARES]
    runs = shapes_table.find({CHOOSES}, (*squares, *shapes.MODELS), folder=folder)
    if not runs:
        return NOTHING
    columns = shapes_table.ratio_columns(runs)
    rows = [["m x n x k", f"{CHOOSES}, TFLOPS", *(head for head, *_ in columns)]]
    for shape, of_gpu in runs.items():
        first = next(iter(of_gpu.values()))[:1]
        cells = [cell(of_gpu.get(gpu, ()), CHOOSES, figure, "±") for _, gpu, figure in columns]
        rows.append([title(shape), cell(first, CHOOSES, "tflops", "±"), *cells])
    best = recorded.best_of_cublaslt(shapes_table.first_ladders(runs))
    return rows, shapes_table.caption(runs, f"{CUBLASLT} is {best}.")


def call_cell(ladder, name):
    """'8.3 ±.2 (0.4 ms)': microseconds of a call, and in parentheses what was done once before. Of
    cuBLASLt that is the longest: one program of a ladder searches."""
    text = cell([ladder], name, "time", "us", ".1", "±")
    if name not in CONTENDERS:
        once = cell([ladder], name, "before_seconds", ".1")
        return text if once == DASH else f"{text} ({once})"
    passes = [one for rung in recorded.measured(ladder) for one in rung["passes"] if name in one]
    found = [one[name].get("before_seconds") for one in passes]
    found = [value for value in found if value is not None]
    if not found:
        return text
    seconds = (max if name == "cublaslt" else recorded.median)(found)
    return f"{text} ({write_as(Quantity(seconds, 'time'), ['.1'])})"


def calls(folder=None):
    """One product from an idle stream until it is there, the host included."""
    ladders = [one for _, one in recorded.all_ladders(folder or recorded.RESULTS)]
    found = {recorded.shape_of(one) for one in ladders if one["protocol"] == "call"}
    runs = shapes_table.find((), sorted(found), "call", folder=folder)
    if not runs:
        return NOTHING
    ladders = shapes_table.first_ladders(runs)
    names = {name for ladder in ladders for name in recorded.all_names(ladder)}
    names = sorted(names, key=recorded.name_order)
    others = [CONTENDERS[name].title for name in BESIDE_CALLS]
    rows = [["m x n x k", "GPU", *names, *others]]
    for ladder in ladders:
        cells = [call_cell(ladder, name) for name in (*names, *BESIDE_CALLS)]
        where = title(recorded.shape_of(ladder)), recorded.short_name(ladder["gpu"])
        rows.append([*where, *cells])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {recorded.best_of_cublaslt(ladders)}."
    )
    return rows, shapes_table.caption(runs, words)


def rivals(folder=None):
    """Other people's kernels beside the top of the ladder, track by track."""
    kind = recorded.has_rivals
    runs = {
        track: shapes_table.find((), RIVAL_SHAPES, track=track, kind=kind, folder=folder)
        for track in "va"
    }
    runs = {track: found for track, found in runs.items() if found}
    if not runs:
        return NOTHING
    gpus = shapes_table.gpus_of({id(of): of for found in runs.values() for of in found.values()})
    places = [
        (gpu, shape)
        for gpu in gpus
        for shape in RIVAL_SHAPES
        if any(gpu in found.get(shape, ()) for found in runs.values())
    ]
    rows, said = [], []
    for found in runs.values():
        columns = []
        for gpu, shape in places:
            cards = found.get(shape, {}).get(gpu, [])[:1]
            head = f"{gpus[gpu]}, {title(shape)}: TFLOPS"
            columns.append((head, [cards], "tflops", "±"))
            columns.append(("of cuBLAS", [cards], "ratio", "±"))
        ladders = [ladder for _, (cards,), *_ in columns[::2] for ladder in cards]
        names = list(dict.fromkeys(name for one in ladders for name in recorded.all_names(one)))
        rungs = [name for name in names if not is_rival(name)]
        top = recorded.TOP if recorded.TOP in rungs else max(rungs, default=None)
        shown = [name for name in names if is_rival(name) or name == top]
        shown.sort(key=is_rival, reverse=True)
        of_track = shapes_table.rows(["program", "what"], ladders, shown, columns)
        rows += of_track[1:] if rows else of_track
        said.append(shapes_table.caption(found))
    return rows, " ".join(dict.fromkeys(said))
