"""Tables of programs in ladders, several GPUs side by side, and what was measured on what, when.

The runs of a table are {shape: {GPU: its ladders, one of each card}}, the home GPU first. Rates are
those of the first card, ratios the medians of all.
"""

from __future__ import annotations

import contextlib

from bench import shapes
from bench.markdown import DASH, plain
from bench.records import recorded
from bench.records.vocabulary import CONTENDERS, is_rival
from notes.tools import readings
from notes.tools.quantities import ExpressionError, Quantity, write_as

SHAPES = {
    recorded.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    recorded.MOVES: ((32768, 32768), (4096, 16384)),
}
NOTHING = "Not recorded yet."
CUBLASLT = CONTENDERS["cublaslt"].title

# --- what was measured, on what, when -------------------------------------------------------

SPREAD = "± is half of the distance from the 10th to the 90th percentile."


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


def machine(gpu):
    """A GPU, its power limit and the versions, as far as they are known."""
    limit = gpu.get("power_limit_watts")
    found = {
        "power limit": limit and f"{limit:.0f} W",
        "CUDA": gpu["cuda"],
        "cuBLAS": gpu.get("cublas"),
        "driver": gpu["driver"],
    }
    return ", ".join([gpu["name"], *(f"{name} {value}" for name, value in found.items() if value)])


def inputs(record):
    """'normal inputs, seed 1', if the record says so."""
    problem = record["problem"]
    return f"{problem['inputs']} inputs, seed {problem['seed']}" if "inputs" in problem else ""


def made(record):
    """'2025-01-31, commit `abc1234`', of a ladder also how often."""
    words = f"{record['date'][:10]}, commit `{record['commit']}`"
    if "rounds" not in record:
        return words
    passes, rounds = record["passes"], record["rounds"]
    return f"{words}, {passes} pass{'es' * (passes > 1)} of {rounds} round{'s' * (rounds > 1)}"


def on(record):
    """The machine and the inputs."""
    return "; ".join(filter(None, (machine(record["gpu"]), inputs(record))))


def origin(ladder):
    """On what and when it was measured."""
    return f"{on(ladder)}; {made(ladder)}."


def origins(runs):
    """On what and when it was measured: each machine once, the shapes where they differ."""
    found = {}
    for shape, of_gpu in runs.items():
        for ladder in (ladder for ladders in of_gpu.values() for ladder in ladders):
            found.setdefault(on(ladder), {}).setdefault(made(ladder), {})[shape] = None
    machines = []
    for what, times in found.items():
        texts = [
            text if len(there) == len(runs) else f"{', '.join(map(title, there))}: {text}"
            for text, there in times.items()
        ]
        machines.append(f"{what}; {'; '.join(texts)}.")
    return " ".join(machines)


def caption(runs, *words):
    """What was measured, on what, when."""
    shape = f" at {title(next(iter(runs)))}" if len(runs) == 1 else ""
    protocol = first_ladders(runs)[0]["protocol"].capitalize()
    return " ".join([f"{protocol} protocol{shape}, medians; {SPREAD}", *words, origins(runs)])


def emulated(record):
    """What the emulator counted."""
    places = [f"{title(ladder['shape'])} ({ladder['track']})" for ladder in record["ladders"]]
    return f"The emulator's counts of one launch: {', '.join(places)}; policy {record['policy']}."


KINDS = ("ladder", "counters", "energy")
WHAT = {  # was recorded, and how
    "ladder": ("Times, {protocol}", ""),
    "counters": ("Counts, ncu {ncu}", ""),
    "energy": ("Energy: the parts of {rung}", ""),
}


def sources(records):
    """All records of a page but the emulator's, a text for each machine: times, counts, traces,
    energy, each by date, and those that differ by their shapes alone together. Then the emulator's."""
    machines = {}
    measured = [one for one in records if one["kind"] != "emulated"]
    for record in sorted(measured, key=lambda one: (KINDS.index(one["kind"]), one["date"])):
        ncu = record.get("ncu", "").removeprefix("Version ").partition(" ")[0]
        what, how = (text.format_map({**record, "ncu": ncu}) for text in WHAT[record["kind"]])
        of_what = machines.setdefault(on(record), {}).setdefault(what, {})
        of_what.setdefault((how, made(record)), {})[title(recorded.shape_of(record))] = None
    texts = []
    for machine_words, whats in machines.items():
        parts = [
            f"{what}: "
            + "; ".join(
                ", ".join(filter(None, (*shapes, how, when)))
                for (how, when), shapes in sources_of.items()
            )
            for what, sources_of in whats.items()
        ]
        texts.append(f"{machine_words}. {'. '.join(parts)}.")
    counted = [emulated(one) for one in records if one["kind"] == "emulated"]
    return [*texts, *dict.fromkeys(counted)]


# --- which runs -----------------------------------------------------------------------------


def find(names, shapes, protocol="burst", track="v", kind=None, folder=recorded.RESULTS):
    """The runs of all of `names` at each shape at which there are any: of other GPUs and cards
    those of the same commit. `kind` says of a ladder whether it may be shown."""
    library = readings.Library(folder)
    requests = [readings.Request(name, "time") for name in names]
    runs = {}

    def shown(ladder):
        fits = kind(ladder) if kind else recorded.may_show(ladder, names)
        return fits and readings.good_names(ladder).issuperset(names)

    for shape in shapes:
        with contextlib.suppress(ExpressionError):
            place = readings.Place("ladder", track, shape, protocol)
            ladder = library.find(place, requests, shown)
            runs[shape] = recorded.beside_in(ladder, library.all_of("ladder"), shown)
    return runs


def gpus_of(runs):
    """{name: short name} of all GPUs in such runs, the home GPU first."""
    found = {}
    for of_gpu in runs.values():
        for name, ladders in of_gpu.items():
            found.setdefault(name, recorded.short_name(ladders[0]["gpu"]))
    return found


def first_ladders(runs):
    """One ladder of each shape and GPU."""
    return [ladders[0] for of_gpu in runs.values() for ladders in of_gpu.values()]


# --- rows of programs -----------------------------------------------------------------------


def optional(value, digits, unit, scale=1):
    """A number with its unit, or a dash if it wasn't recorded."""
    return DASH if value is None else f"{value * scale:.{digits}f} {unit}"


def cell(ladders, name, figure, *form):
    """A figure of a program in that format, of several cards the median with the lowest and the
    highest; a dash if it wasn't recorded."""
    found = []
    for ladder in ladders:
        with contextlib.suppress(ExpressionError):
            found.append(readings.of_ladder(ladder, readings.Request(name, figure)))
    if not found:
        return DASH
    value = recorded.median([one.value for one in found])
    if found[0].low is None:
        return "1" if name in CONTENDERS and value == 1 else write_as(found[0], form)
    low, high = min(one.low for one in found), max(one.high for one in found)
    return write_as(Quantity(value, found[0].kind, low, high), form)


def ratio_columns(runs):
    """[(heading, GPU, figure)]: on the first GPU all ratios that any rung has; on the others those
    to cuBLAS, and the GPU's name."""
    heads = {
        "ratio_to_cublas": "of cuBLAS",
        "ratio_to_cublaslt": f"of {CUBLASLT}",
        readings.EARLY_RATIO: "early launch, of cuBLAS",
    }
    columns = []
    for place, (gpu, short) in enumerate(gpus_of(runs).items()):
        ladders = [ladder for of_gpu in runs.values() for ladder in of_gpu.get(gpu, ())]
        names = {name for ladder in ladders for name in recorded.all_names(ladder)}
        for figure, head in heads.items():
            there = any(cell(ladders, name, figure) != DASH for name in names)
            if there and (place == 0 or figure != readings.EARLY_RATIO):
                columns.append((f"{short}: {head}" if place else head, gpu, figure))
    return columns


def label_of(ladders, name):
    """(name, idea) of a program, and why it failed; of a contender what it is."""
    if name in CONTENDERS:
        label, words = CONTENDERS[name].name, CONTENDERS[name].idea
        if name == "cublaslt":
            words = recorded.best_of_cublaslt(ladders)
        if name == "second_opinion":
            words = plain(next(one[name] for one in ladders if name in one)["name"])
        return label, words
    entries = [rung for one in ladders for rung in one["rungs"] if rung["step"] == name]
    if not entries:
        return name, "not in this run"
    failed = entries[0].get("failed")
    return name, f"failed: {plain(failed)}" if failed else plain(entries[0]["idea"])


def rows(heads, ladders, names, columns):
    """A table of programs, its header first: those named, and whom they are compared with. Columns
    are (heading, the ladders of each GPU, figure, its format); all GPUs stand in one cell."""
    measure = recorded.measure_of(ladders[0])
    others = (measure.other, *measure.besides)
    names = [*names, *(name for name in others if any(name in one for one in ladders))]
    found = [[*heads, *(head for head, *_ in columns)]]
    for name in names:
        cells = [" / ".join(cell(of, name, *how) for of in gpus) for _, gpus, *how in columns]
        found.append([*label_of(ladders, name), *cells])
    return found


def table(names, folder=recorded.RESULTS):
    """Some programs at several shapes: the rows of cells and the caption; None and what to say if
    nothing is recorded."""
    track = "".join({name[0] for name in names})
    measure = recorded.MOVES if track == recorded.MOVING else recorded.PRODUCTS

    runs = find(names, SHAPES[measure], track=track, folder=folder)
    if not runs:
        return None, NOTHING
    gpus = gpus_of(runs)
    where = f", {' / '.join(gpus.values())}" if len(gpus) > 1 else ""
    columns, ladders = [], []
    for shape, of_gpu in runs.items():
        cards = [of_gpu.get(gpu, ()) for gpu in gpus]
        columns.append((title(shape), [cards[0][:1]], measure.rate, ".1", "±"))
        columns.append((f"of {measure.other_name}{where}", cards, readings.RATIO, "±"))
        ladders.append(cards[0][0])
    unit = measure.unit + " read and written" * (measure is recorded.MOVES)
    found = rows(["program", "idea"], ladders, names, columns)
    return found, f"{unit}, burst: medians; {SPREAD} {origins(runs)}"


# --- several GPUs side by side ----------------------------------------------------------------

BESIDE_CALLS = ("cublas", "cublaslt")
CHOOSES = "v18"  # its tile for each product
RIVAL_SHAPES = ((8192,) * 3, (4096,) * 3)


def sizes(folder=recorded.RESULTS):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    squares = [(size,) * 3 for size in shapes.SQUARES]
    runs = find({CHOOSES}, (*squares, *shapes.MODELS), folder=folder)
    if not runs:
        return None, NOTHING
    columns = ratio_columns(runs)
    found = [["m x n x k", f"{CHOOSES}, TFLOPS", *(head for head, *_ in columns)]]
    for shape, of_gpu in runs.items():
        first = next(iter(of_gpu.values()))[:1]
        cells = [cell(of_gpu.get(gpu, ()), CHOOSES, figure, "±") for _, gpu, figure in columns]
        found.append([title(shape), cell(first, CHOOSES, "tflops", "±"), *cells])
    best = recorded.best_of_cublaslt(first_ladders(runs))
    return found, caption(runs, f"{CUBLASLT} is {best}.")


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


def calls(folder=recorded.RESULTS):
    """One product from an idle stream until it is there, the host included."""
    ladders = [one for _, one in recorded.all_ladders(folder)]
    found = {recorded.shape_of(one) for one in ladders if one["protocol"] == "call"}
    runs = find((), sorted(found), "call", folder=folder)
    if not runs:
        return None, NOTHING
    ladders = first_ladders(runs)
    names = {name for ladder in ladders for name in recorded.all_names(ladder)}
    names = sorted(names, key=recorded.name_order)
    others = [CONTENDERS[name].title for name in BESIDE_CALLS]
    found = [["m x n x k", "GPU", *names, *others]]
    for ladder in ladders:
        cells = [call_cell(ladder, name) for name in (*names, *BESIDE_CALLS)]
        where = title(recorded.shape_of(ladder)), recorded.short_name(ladder["gpu"])
        found.append([*where, *cells])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {recorded.best_of_cublaslt(ladders)}."
    )
    return found, caption(runs, words)


def rivals(folder=recorded.RESULTS):
    """Other people's kernels beside the top of the ladder, track by track."""
    how = {"kind": recorded.has_rivals, "folder": folder}
    of_tracks = list(filter(None, (find((), RIVAL_SHAPES, track=track, **how) for track in "va")))
    if not of_tracks:
        return None, NOTHING
    gpus = gpus_of({id(of): of for found in of_tracks for of in found.values()})
    places = [
        (gpu, shape)
        for gpu in gpus
        for shape in RIVAL_SHAPES
        if any(gpu in found.get(shape, ()) for found in of_tracks)
    ]
    shown, said = [], []
    for found in of_tracks:
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
        names = [*filter(is_rival, names), *([top] if top else [])]
        of_track = rows(["program", "what"], ladders, names, columns)
        shown += of_track[1:] if shown else of_track
        said.append(caption(found))
    return shown, " ".join(dict.fromkeys(said))
