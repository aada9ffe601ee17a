"""Tables of programs in ladders, several GPUs side by side, and what was measured on what, when.

The runs of a table are {shape: {GPU: its ladders, one of each card}}, the home GPU first. Rates are
those of the first card, ratios the medians of all.
"""

from __future__ import annotations

import contextlib

from bench.markdown import plain
from bench.records import recorded
from notes.tools import readings
from notes.tools.quantities import ExpressionError, Quantity, write_as

SHAPES = {
    recorded.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    recorded.MOVES: ((32768, 32768), (4096, 16384)),
}
NOTHING = "Not recorded yet."
DASH = "–"
CUBLASLT = "cuBLASLt's best"
CONTENDERS = {  # whom rungs are compared with: what rows, columns and sentences call them
    "cublas": ("cuBLAS", "its default, fp32 sums"),
    "cublas_fp16_sums": ("cuBLAS", "fp16 sums"),
    "cublaslt": ("cuBLASLt", None),  # the best of so many
    "device_copy": ("copy", "cudaMemcpyAsync, device to device"),
    "second_opinion": ("other", None),  # its own name
}

SHARE_AND_CLOCK = (("tensor-core share", "share"), ("SM clock", "clock"))  # columns: head, figure

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


def plural(count, one, several):
    """'1 round', '2 rounds'"""
    return f"{count} {one if count == 1 else several}"


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
    return f"{words}, {plural(passes, 'pass', 'passes')} of {plural(rounds, 'round', 'rounds')}"


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


KINDS = ("ladder", "counters", "trace", "energy")
WHAT = {  # was recorded, and how
    "ladder": ("Times, {protocol}", ""),
    "counters": ("Counts, ncu {ncu}", ""),
    "trace": ("Trace of {step}", "CTA {launch[cta]} of {launch[ctas]}"),
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


def find(names, shapes, protocol="burst", track="v", kind=None, folder=None):
    """The runs of all of `names` at each shape at which there are any: of other GPUs and cards
    those of the same commit. `kind` says of a ladder whether it may be shown."""
    library = readings.Library(folder or recorded.RESULTS)
    requests = [readings.Request(name, "time") for name in names]
    runs = {}

    def shown(ladder):
        fits = kind(ladder) if kind else recorded.may_show(ladder, names)
        return fits and readings.good_names(ladder).issuperset(names)

    for shape in shapes:
        with contextlib.suppress(ExpressionError):
            place = readings.Place("ladder", track, shape, protocol)
            ladder = library.find(place, requests, shown)
            runs[shape] = recorded.beside(ladder, library.folder, shown)
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
        label, words = CONTENDERS[name]
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
