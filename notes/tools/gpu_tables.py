"""Tables that show several GPUs side by side: v18's sizes, calls, and the rivals.

Each is a list of rows, the header first, and a caption; or None and what to say if nothing is
recorded. On the home GPU (recorded.home_of) a shape has the newest run that fits; other GPUs are
shown where they ran the same commit.
"""

from __future__ import annotations

from bench import shapes
from bench.markdown import plain
from bench.records import recorded
from bench.records.vocabulary import EARLY, is_rival, ratio_to
from notes.tools import shapes_table
from notes.tools.quantities import Quantity, write_as

CHOOSES = "v18"  # its tile for each product
CUBLASLT = "cuBLASLt's best"
OTHERS = {"cublas": "cuBLAS", "cublaslt": CUBLASLT}
# Columns of ratios: head, and what reads one of a rung's timing.
RATIOS = {
    "cublas": ("of cuBLAS", lambda timing: timing.get(ratio_to("cublas"))),
    "cublaslt": (f"of {CUBLASLT}", lambda timing: timing.get(ratio_to("cublaslt"))),
    EARLY: ("early launch, of cuBLAS", recorded.early_ratio),
}
NOTHING = None, "Not recorded yet."
NO_LADDER = {"rungs": ()}
NO_TIMING = {"step": {"tflops": None}, "ratio_to_cublas": None}
RIVAL_SHAPES = ((8192,) * 3, (4096,) * 3)


# --- what all of them share -----------------------------------------------------------------


def at(wanted_shapes, protocol, track="v", kind=recorded.rungs_only, names=(), folder=None):
    """{shape: {GPU: its ladders, one of each card}} where something fits, the home GPU first."""
    folder = folder or recorded.RESULTS
    runs = {}
    for shape in wanted_shapes:

        def wanted(ladder, shape=shape):
            good = {rung["step"] for rung in recorded.measured(ladder)}
            there = recorded.shape_of(ladder) == shape and ladder["protocol"] == protocol
            there = there and recorded.tracks(ladder) == {track} and not ladder["interrupted"]
            there = there and not any(recorded.is_outdated(ladder, name) for name in names)
            return there and kind(ladder) and good.issuperset(names)

        place = recorded.newest(folder, "ladder", wanted)
        if place:
            runs[shape] = recorded.beside(recorded.load_ladder(place), folder, kind)
    return runs


def ratio_columns(runs):
    """[(GPU, key of RATIOS, head)]: on the first GPU all that any rung has; on the others those of
    whom the rungs are compared with, and the GPU's name."""
    columns = []
    for place, (gpu, short) in enumerate(shapes_table.gpus_of(runs).items()):
        ladders = [ladder for of_gpu in runs.values() for ladder in of_gpu.get(gpu, ())]
        timings = [rung["timing"] for one in ladders for rung in recorded.measured(one)]
        for key, (head, read) in RATIOS.items():
            if any(map(read, timings)) and (place == 0 or key in OTHERS):
                columns.append((gpu, key, f"{short}: {head}" if place else head))
    return columns


def ratio_cell(ladders, name, key):
    """A rung's ratio on one kind of GPU, over its cards."""
    return recorded.plus_minus(recorded.over_cards(ladders, name, RATIOS[key][1]), 3)


def caption(runs, *words):
    """What was measured, on what, when."""
    shape = f" at {shapes_table.title(next(iter(runs)))}" if len(runs) == 1 else ""
    protocol = first_ladders(runs)[0]["protocol"].capitalize()
    said = [f"{protocol} protocol{shape}, medians; {shapes_table.SPREAD}", *words]
    return " ".join([*said, shapes_table.origins(runs)])


def first_ladders(runs):
    """One ladder of each shape and GPU."""
    return [ladders[0] for of_gpu in runs.values() for ladders in of_gpu.values()]


# --- the tables -----------------------------------------------------------------------------


def sizes(folder=None):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    squares = [(size,) * 3 for size in shapes.SQUARES]
    runs = at((*squares, *shapes.MODELS), "burst", names={CHOOSES}, folder=folder)
    if not runs:
        return NOTHING
    columns = ratio_columns(runs)
    rows = [["m x n x k", f"{CHOOSES}, TFLOPS", *(head for *_, head in columns)]]
    for shape, of_gpu in runs.items():
        own = recorded.entry_of(next(iter(of_gpu.values()))[0], CHOOSES)["timing"]["step"]
        ratios = [ratio_cell(of_gpu.get(gpu, ()), CHOOSES, key) for gpu, key, _ in columns]
        rate = recorded.plus_minus(own["tflops"], 0)
        rows.append([shapes_table.title(shape), rate, *ratios])
    best = recorded.best_of_cublaslt(first_ladders(runs))
    return rows, caption(runs, f"{CUBLASLT} is {best}.")


def before(ladder, name):
    """What a rung or somebody beside it did once before, in seconds, or None. Of cuBLASLt the longest:
    one program of a ladder searches."""
    if name not in OTHERS:
        return recorded.entry_of(ladder, name)["timing"]["step"].get("before_seconds")
    passes = [one for rung in recorded.measured(ladder) for one in rung["passes"] if name in one]
    found = [one[name].get("before_seconds") for one in passes]
    found = [value for value in found if value is not None]
    return (max if name == "cublaslt" else recorded.median)(found) if found else None


def call_cell(ladder, name):
    """'8.3 ±.2 (0.4 ms)': microseconds of a call, and in parentheses what was done before."""
    if name in OTHERS:
        contender = ladder.get(name)
    else:
        good = {rung["step"]: rung["timing"]["step"] for rung in recorded.measured(ladder)}
        contender = good.get(name)
    if contender is None:
        return "–"
    work = recorded.PRODUCTS.work_of(ladder["problem"]) / recorded.PRODUCTS.units * 1e6
    rates = contender["tflops"]
    times = {"median": "median", "low": "high", "high": "low"}
    cell = recorded.plus_minus({key: work / rates[rate] for key, rate in times.items()}, 1)
    seconds = before(ladder, name)
    return cell if seconds is None else f"{cell} ({write_as(Quantity(seconds, 'time'), ['.1'])})"


def calls(folder=None):
    """One product from an idle stream until it is there, the host included."""
    found = [
        one
        for _, one in recorded.all_ladders(folder or recorded.RESULTS)
        if one["protocol"] == "call"
    ]
    wanted = sorted({recorded.shape_of(one) for one in found if recorded.tracks(one) == {"v"}})
    runs = at(wanted, "call", folder=folder)
    if not runs:
        return NOTHING
    ladders = first_ladders(runs)
    names = dict.fromkeys(name for ladder in ladders for name in recorded.all_names(ladder))
    names = [*sorted(names, key=recorded.name_order), *OTHERS]
    rows = [["m x n x k", "GPU", *(OTHERS.get(name, name) for name in names)]]
    for shape, of_gpu in runs.items():
        for ladder in (ladders[0] for ladders in of_gpu.values()):
            cells = [call_cell(ladder, name) for name in names]
            rows.append([shapes_table.title(shape), recorded.short_name(ladder["gpu"]), *cells])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {recorded.best_of_cublaslt(ladders)}."
    )
    return rows, caption(runs, words)


def rival_rows(ladders):
    """The rivals of one track, the top of its rungs, and whom all are compared with, by {column: its
    ladder, or None}."""
    there = [ladder for ladder in ladders.values() if ladder]
    entries = {rung["step"]: rung for one in there for rung in one["rungs"]}
    rungs = [name for name in entries if not is_rival(name)]
    top = recorded.TOP if recorded.TOP in rungs else max(rungs, default=None)
    rows = []
    for name in (*filter(is_rival, entries), *([top] if top else [])):
        entry = entries[name]
        failed = f"failed: {entry['failed']}" if "failed" in entry else None
        cells = [name, plain(failed or entry["idea"])]
        for ladder in ladders.values():
            good = {rung["step"]: rung["timing"] for rung in recorded.measured(ladder or NO_LADDER)}
            timing = good.get(name) or NO_TIMING
            cells.append(recorded.plus_minus(timing["step"]["tflops"], 0))
            cells.append(recorded.plus_minus(timing["ratio_to_cublas"], 3))
        rows.append(cells)
    for key in (key for key in OTHERS if any(key in ladder for ladder in there)):
        words = recorded.best_of_cublaslt(there) if key == "cublaslt" else "its default"
        cells = [OTHERS[key].partition("'")[0], words]
        for ladder in ladders.values():
            rates = {name: ladder[name]["tflops"] for name in OTHERS if name in (ladder or ())}
            cells.append(recorded.plus_minus(rates.get(key), 0))
            found = key in rates and rates[key]["median"] / rates["cublas"]["median"]
            cells.append(f"{found:.3f}" if found else "–")
        rows.append(cells)
    return rows


def rivals(folder=None):
    """Other people's kernels beside the top of the ladder, track by track."""
    runs = {
        track: at(RIVAL_SHAPES, "burst", track, recorded.has_rivals, folder=folder)
        for track in "va"
    }
    runs = {track: found for track, found in runs.items() if found}
    if not runs:
        return NOTHING
    gpus = shapes_table.gpus_of(
        {track: gpu for track, found in runs.items() for gpu in found.values()}
    )
    columns = [
        (gpu, shape)
        for gpu in gpus
        for shape in RIVAL_SHAPES
        if any(gpu in found.get(shape, ()) for found in runs.values())
    ]
    heads = [f"{gpus[gpu]}, {shapes_table.title(shape)}: TFLOPS" for gpu, shape in columns]
    rows = [["program", "what", *(cell for head in heads for cell in (head, "of cuBLAS"))]]
    said = []
    for found in runs.values():
        ladders = {place: found.get(place[1], {}).get(place[0], [None])[0] for place in columns}
        rows += rival_rows(ladders)
        said.append(caption(found))
    return rows, " ".join(dict.fromkeys(said))
