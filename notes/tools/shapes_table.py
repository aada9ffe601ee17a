"""Tables of programs in ladders, several GPUs side by side, and what was measured on what, when.

The runs of a table are {shape: {GPU: its ladders, one of each card}}, the home GPU first. Rates are
those of the first card, ratios the medians of all.
"""

from __future__ import annotations

import contextlib
import re

from bench import shapes
from bench.markdown import DASH, plain
from bench.records import recorded, sweeps
from bench.records.vocabulary import CONTENDERS, EARLY, is_rival
from notes.tools import readings
from notes.tools.quantities import ExpressionError, Quantity, write_as

SHAPES = {
    recorded.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    recorded.MOVES: ((32768, 32768), (4096, 16384)),
}
NOTHING = "Not recorded yet."
CUBLASLT = CONTENDERS["cublaslt"].title

# --- what was measured, on what, when -------------------------------------------------------

MANY = 4  # shapes that were measured at one time are not listed
SPREAD = "± is half of the distance from the 10th to the 90th percentile."


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


def machine(gpu):
    """A GPU and the versions, as far as they are known; the record has its power limit and driver."""
    found = {"CUDA": gpu["cuda"], "cuBLAS": gpu.get("cublas")}
    return ", ".join([gpu["name"], *(f"{name} {value}" for name, value in found.items() if value)])


def inputs(record):
    """'normal inputs', if the record says so; it has the seed."""
    problem = record["problem"]
    return f"{problem['inputs']} inputs" if "inputs" in problem else ""


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


def briefly_on(record):
    """The same without the version of cuBLAS."""
    gpu = {**record["gpu"], "cublas": None}
    words = f"{record['problem']['inputs']} inputs" if "inputs" in record["problem"] else ""
    return "; ".join(filter(None, (machine(gpu), words)))


def origin(ladder):
    """On what and when it was measured."""
    return f"{on(ladder)}; {made(ladder)}."


def origins(runs, title=title):
    """On what and when it was measured: each machine once, the shapes where they differ."""
    found = {}
    for shape, of_gpu in runs.items():
        for ladder in (ladder for ladders in of_gpu.values() for ladder in ladders):
            found.setdefault(on(ladder), {}).setdefault(made(ladder), {})[shape] = None
    machines = []
    for what, times in found.items():
        most = max(times, key=lambda text: len(times[text]))
        texts = [
            text if len(there) == len(runs) else f"{', '.join(map(title, there))}: {text}"
            for text, there in times.items()
            if text != most or len(there) < MANY
        ]
        texts += [f"all others: {most}" if texts else most] * (len(times[most]) >= MANY)
        machines.append(f"{what}; {'; '.join(texts)}.")
    return " ".join(machines)


def caption(runs, *words):
    """What was measured, on what, when."""
    shape = f" at {title(next(iter(runs)))}" if len(runs) == 1 else ""
    protocol = first_ladders(runs)[0]["protocol"].capitalize()
    return " ".join([f"{protocol} protocol{shape}, medians; {SPREAD}", *words, origins(runs)])


def emulated(record):
    """What the emulator counted."""
    tracks = {}
    for ladder in record["ladders"]:
        tracks.setdefault(title(ladder["shape"]), []).append(ladder["track"])
    places = ", ".join(f"{shape} ({', '.join(those)})" for shape, those in tracks.items())
    return f"The emulator's counts of one launch: {places}; policy {record['policy']}."


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
        of_what = machines.setdefault(briefly_on(record), {}).setdefault(what, {})
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


def find(names, shapes, protocol="burst", track="v", kind=None, folder=recorded.RESULTS, gpu=None):
    """The runs of all of `names` at each shape at which there are any: of other GPUs and cards
    those of the same commit. `gpu` is the first, if it isn't the home GPU. `kind` says of a ladder
    whether it may be shown."""
    library = readings.Library(folder)
    requests = [readings.Request(name, "time") for name in names]
    runs = {}

    def shown(ladder):
        fits = kind(ladder) if kind else recorded.may_show(ladder, names)
        return fits and readings.good_names(ladder).issuperset(names)

    for shape in shapes:
        with contextlib.suppress(ExpressionError):
            place = readings.Place("ladder", track, shape, protocol, gpu=gpu)
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
    measure = shapes.measure_of_track(track)
    runs = find(names, SHAPES.get(measure, ()), track=track, folder=folder)
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


MANY_ALGORITHMS = readings.Request("cublaslt", readings.ALGORITHMS)
MODES = {"f08": "fast", "f07": "block scales", "f02": "accurate"}  # of cuBLASLt


def fp8(folder=recorded.RESULTS, gpu=None):
    """The upper rungs of FP8 at every shape, beside cuBLASLt's best in the same mode: the rows, where
    they are slower, and the caption."""
    ladders = [one for _, one in recorded.all_ladders(folder) if recorded.tracks(one) == {"f"}]
    shapes_of_all = {recorded.shape_of(one) for one in ladders}
    how = {"track": "f", "kind": lambda ladder: "heuristics" in ladder, "folder": folder}
    how["gpu"] = gpu
    found, counts, shown = [["m x n x k"]], [], {}
    for name, mode in MODES.items():
        found[0] += [f"{name}, TFLOPS", f"of {CUBLASLT} ({mode})"]
        tried = set()
        for shape, of_gpu in find([name], shapes_of_all, **how).items():
            gpu, (ladder, *_) = next(iter(of_gpu.items()))
            shown[shape, name] = {gpu: [ladder]}
            tried.add(readings.of_ladder(ladder, MANY_ALGORITHMS).value)
        few_to_many = dict.fromkeys(f"{many:,}" for many in sorted(tried)[:1] + sorted(tried)[-1:])
        counts.append(f"{' to '.join(few_to_many)} ({mode})")
    lost = []
    for shape in sorted({shape for shape, _ in shown}, reverse=True):
        found.append([title(shape)])
        for name in MODES:
            of_gpu = shown.get((shape, name), {"": []})
            rate, ratio = (
                cell(*of_gpu.values(), name, key) for key in ("tflops", "ratio_to_cublaslt")
            )
            found[-1] += [rate.removesuffix(" TFLOPS"), ratio]
            lost += [f"{name} at {title(shape)} ({ratio})"] * (ratio != DASH and float(ratio) < 1)
    where = f"Slower than {CUBLASLT}: {', '.join(lost) or 'at no recorded shape'}."
    words = f"{CUBLASLT} is the fastest of its algorithms: of {', '.join(counts)}."
    return found, where, f"{words} {origins(shown, lambda key: f'{key[1]} at {title(key[0])}')}"


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


# --- families of shapes -----------------------------------------------------------------------

WORST = 10
LONGEST_NAME = 60  # of cuBLASLt's kernels
FAMILY_COLUMNS = (  # of each GPU: head, figure, format; the last two of the first GPU alone
    (f"of {CUBLASLT}", "mean", ".3f"),
    ("lowest", "lowest", ".3f"),
    (f"shapes at {sweeps.REACHED:.2f} or above", "reached", ""),
    ("early launch", "early", ".3f"),
    ("of cuBLAS", "cublas", ".3f"),
)


def swept(step, seed, folder=recorded.RESULTS):
    """sweeps.find() of the families of a seed."""
    words = [f"{family}:{seed}" for family in shapes.FAMILIES]
    return sweeps.find(sweeps.load(folder), step, words, recorded.home(folder))


def swept_caption(found, *words):
    """What was measured, on what, when."""
    runs = {}
    for gpu, of_gpu in found.items():
        for word, (_, sweep) in of_gpu.items():
            runs.setdefault(word, {})[gpu] = [sweep]
    points = [point for of_gpu in found.values() for of, _ in of_gpu.values() for point in of]
    returned = sorted({point["returned"] for point in points})
    best = " to ".join(map(str, dict.fromkeys((returned[0], returned[-1]))))
    how = f"Burst protocol; {CUBLASLT} is the best of {best} heuristics."
    return " ".join([how, *words, origins(runs, str)])


def families(step, seed, folder=recorded.RESULTS):
    """What the ratios of a rung over families of shapes come to, on each GPU."""
    found = swept(step, seed, folder)
    if not found:
        return None, NOTHING
    columns, rows = [], []
    for place, (gpu, of_gpu) in enumerate(found.items()):
        short = recorded.short_name(next(iter(of_gpu.values()))[1]["gpu"])
        shown = FAMILY_COLUMNS[:3] if place else FAMILY_COLUMNS
        columns += [(f"{short}: {head}" if place else head, gpu, *how) for head, *how in shown]
    for family in shapes.FAMILIES:
        word, cells = f"{family}:{seed}", []
        for _, gpu, figure, form in columns:
            points = found[gpu].get(word, ((),))[0]
            value = sweeps.figures_of(points)[figure] if points else None
            text = DASH if value is None else format(value, form)
            cells.append(f"{text} of {len(points)}" if points and figure == "reached" else text)
        rows.append([family, *cells])
    head = ["family", *(head for head, *_ in columns)]
    words = f"Geometric means over shapes drawn from seed {seed}; lowest: of {CUBLASLT}."
    return [head, *rows], swept_caption(found, words)


def kernel_name(name):
    """'144x128_64x6_1x2_h_bz_TNN': a kernel of cuBLASLt without what all of them have."""
    short = re.sub(r"\bnvjet_(sm[0-9]+_)?[a-z]+_", "", name)
    return short if len(short) <= LONGEST_NAME else f"{short[:LONGEST_NAME]}…"


def worst(step, seed, folder=recorded.RESULTS):
    """The shapes at which a rung is furthest from cuBLASLt's best on the home GPU, and what it has on
    others."""
    found = swept(step, seed, folder)
    if not found:
        return None, NOTHING
    points = {
        gpu: {sweeps.shape_of(one): (word, one) for word, (of, _) in of_gpu.items() for one in of}
        for gpu, of_gpu in found.items()
    }
    first, *others = points
    names = [recorded.short_name({"name": gpu}) for gpu in others]
    rows = [["m x n x k", "family", "TFLOPS", f"of {CUBLASLT}", *(f"on {name}" for name in names)]]
    rows[0] += ["early launch", "its kernel", f"{CUBLASLT}: TFLOPS", "its kernels"]
    shown = sorted(points[first].values(), key=lambda pair: sweeps.ratio(pair[1]))[:WORST]
    for word, one in shown:
        shape = sweeps.shape_of(one)
        there = [
            sweeps.ratio(points[gpu][shape][1]) if shape in points[gpu] else None for gpu in others
        ]
        ratios = [sweeps.ratio(one), *there, sweeps.ratio(one, launch=EARLY)]
        cells = [DASH if value is None else f"{value:.3f}" for value in ratios]
        own, best = (f"{sweeps.tflops(one, who):.0f}" for who in ("step", sweeps.BEST))
        rows.append(["x".join(map(str, shape)), word.partition(":")[0], own, *cells])
        rows[-1] += [str(one.get("kernel", DASH)), best, f"`{kernel_name(one['winner']['name'])}`"]
    return rows, ""  # the caption is that of the families
