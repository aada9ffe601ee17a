"""Tables of recorded runs in Markdown, and what was measured on what, when.

A table is rows of texts, its heads first. Its runs are {shape: {GPU: its runs, one of each card}}, the
home GPU first. Rates are those of the first card, ratios the medians of all.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import NormalDist, median

from bench import results, rungs, shapes
from bench.energy import budget
from bench.results import CONTENDERS, EARLY, HOME, Spread, is_rival, is_variant, short_name, slug

# The names of the files, in the order in which they answer.
ORDER = (
    *("burst", "burst4096", "sustained", "sustained4096", "rivals", "sizes", "calls"),
    *("a", "a-sustained", "a01", "a-variants", "a-99-kb"),
    *("t", "t-sustained", "t01", "t-variants"),
    *("f02-burst", "f03-burst", "f-shapes", "f-rivals", "f08-sustained", "f08-width"),
    *("f-variants", "choice", "variants", "short-variants", "counters", "judged"),
)
SHAPES = {
    results.PRODUCTS: ((4096, 4096, 4096), (8192, 8192, 8192), (81920, 256, 256)),
    results.MOVES: ((32768, 32768), (4096, 16384)),
}
CUBE = (results.SIZE,) * 3
CUBLASLT = CONTENDERS["cublaslt"].title
NOTHING = "Not recorded yet."

# --- Markdown -------------------------------------------------------------------------------

DASH = "–"  # in a cell without a figure
# What means something to HTML or Markdown; a | does in a table alone, whose row takes care of it.
LIVE = re.compile(r"[&<>`\[\]\\]")


def plain(text):
    """A text that a program printed, to be shown as it is."""
    names = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return LIVE.sub(lambda match: names.get(match[0]) or f"&#{ord(match[0])};", text)


def markdown(rows, words=2):
    """The lines of a table; its first row is the header, its first columns are words."""
    alignment = [*["---"] * words, *["---:"] * (len(rows[0]) - words)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows]
    return [lines[0], f"|{'|'.join(alignment)}|", *lines[1:]]


def optional(value, digits, unit="", scale=1):
    """A number with its unit, or a dash if it wasn't recorded."""
    text = DASH if value is None else f"{value * scale:.{digits}f} {unit}".rstrip()
    return text.replace("-", "−")


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


# --- which runs -----------------------------------------------------------------------------


class Library:
    """All recorded runs of a folder; `used` are those that the figures of a page are from."""

    def __init__(self, folder=results.RESULTS):
        self.folder, self.used = Path(folder), []
        self.runs = results.load_all(ORDER, self.folder)
        self.gpus = list(dict.fromkeys(slug(run.gpu) for run in self.runs if run.gpu))
        self.at = defaultdict(list)
        for run in self.runs:
            self.at[run.shape, run.protocol].append(run)

    def choose(self, names=(), shape=CUBE, protocol="burst", track="v", **how):
        """The run that answers, or None; results.choose() has the rules."""
        there = self.at[shape, protocol]
        return results.choose(there, names, track=track, shape=shape, protocol=protocol, **how)

    def answer(self, *what, **how):
        """The same; the run is one of those used."""
        run = self.choose(*what, **how)
        self.used += [run] if run and run not in self.used else []
        return run

    def counts_of(self, names):
        """The run of the emulator that has these, or None; it is one of those used."""
        runs = (run for run in self.runs if run.gpu is None and names <= run.rows.keys())
        run = next(runs, None)
        self.used += [run] if run and run not in self.used else []
        return run

    def beside(self, run, names=(), kind=None):
        """{GPU: runs, one of each card} of the same commit, protocol and problem; its own first."""
        found = {slug(run.gpu): {run.gpu.get("card"): run}}
        how = {"track": min(run.tracks), "shape": run.shape, "protocol": run.protocol}
        for other in self.at[run.shape, run.protocol]:
            same = other.commit == run.commit and other.problem == run.problem
            gpu = slug(other.gpu)
            if same and results.choose([other], names, **how, gpu=gpu, kind=kind):
                found.setdefault(gpu, {}).setdefault(other.gpu.get("card"), other)
        return {gpu: list(cards.values()) for gpu, cards in found.items()}

    def find(self, names, at, kind=None, **how):
        """The runs of all of `names` at each of these shapes at which there are any."""
        chosen = {shape: self.choose(names, shape, kind=kind, **how) for shape in at}
        return {shape: self.beside(run, names, kind) for shape, run in chosen.items() if run}

    def headline(self):
        """{GPU: runs} of the v track at 8192 cubed: of each GPU its own, of the same rungs."""
        names, found = (results.TOP,), {}
        for gpu in self.gpus:
            run = self.choose(names, gpu=gpu)
            if run:
                found[gpu] = self.beside(run, names)[gpu]
                names = found[gpu][0].names
        return found if HOME in found else {}


def first_runs(runs):
    """One run of each shape and GPU."""
    return [cards[0] for of_gpu in runs.values() for cards in of_gpu.values()]


def gpus_of(runs):
    """{GPU: short name} of all in such runs, the home GPU first."""
    return {slug(run.gpu): short_name(run.gpu) for run in first_runs(runs)}


# --- what was measured, on what, when -------------------------------------------------------

MANY = 4  # shapes that were measured at one time are not listed
SPREAD = "± is half of the distance from the 10th to the 90th percentile."


def on(run, with_cublas=True):
    """The machine and the inputs: 'NVIDIA H200, CUDA 13.0; normal inputs'."""
    gpu = run.gpu
    cublas = f", cuBLAS {gpu['cublas']}" if with_cublas and gpu.get("cublas") else ""
    return f"{gpu['name']}, CUDA {gpu['cuda']}{cublas}; {run.problem['inputs']} inputs"


def made(run):
    """'2025-01-31, commit `abc1234`', of what was timed also how often."""
    words = f"{run.date[:10]}, commit `{run.commit}`"
    if "rounds" not in run.context:
        return words
    passes, rounds = run.passes, run.rounds
    return f"{words}, {passes} pass{'es' * (passes > 1)} of {rounds} round{'s' * (rounds > 1)}"


def origin(run):
    """On what and when it was measured."""
    return f"{on(run)}; {made(run)}."


def origins(runs, title=title):
    """On what and when it was measured: each machine once, the shapes where they differ."""
    found = {}
    for shape, of_gpu in runs.items():
        for run in (run for cards in of_gpu.values() for run in cards):
            found.setdefault(on(run), {}).setdefault(made(run), {})[shape] = None
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
    protocol = first_runs(runs)[0].protocol.capitalize()
    return " ".join([f"{protocol} protocol{shape}, medians; {SPREAD}", *words, origins(runs)])


def configurations(found):
    """How many of cuBLASLt's algorithms a search timed."""
    return found.get("launched") or found["returned"] + found.get("enumerated", 0)


def best_of_cublaslt(runs):
    """'the best of 8 heuristics', or 'of 6 to 8' where not each of the runs found as many; where one
    tried all, 'the best of 11,448 configurations'. A list that was cut says so: by Ctrl-C, or at
    2,048, where it ended before `launched` was recorded."""
    found = [run.heuristics for run in runs if run.heuristics]
    enumerated = [one for one in found if "enumerated" in one]
    counts = sorted({configurations(one) for one in found})
    words = " to ".join(f"{number:,}" for number in counts[:1] + counts[1:][-1:])
    cut = any(one.get("cut") or "launched" not in one for one in enumerated)
    kind = "configurations" if enumerated else "heuristics"
    return f"the best of {words} {kind}{' (a list that was cut)' if cut else ''}"


def sources(library, *_):
    """Which runs the figures of the page are from, an item for each machine: times, counts, energy,
    each by date, and those that differ by their shapes alone together. Then the emulator's."""
    machines = {}
    for run in sorted((run for run in library.used if run.gpu), key=what_order):
        of_what = machines.setdefault(on(run, False), {}).setdefault(what_of(run), {})
        of_what.setdefault(made(run), {})[title(run.shape)] = None
    items = []
    for machine, whats in machines.items():
        parts = [
            f"{what}: " + "; ".join(", ".join([*at, when]) for when, at in times.items())
            for what, times in whats.items()
        ]
        items.append(f"{machine}. {'. '.join(parts)}.")
    if any(run.gpu is None for run in library.used):
        items.append(emulated([run for run in library.runs if run.gpu is None]))
    return [f"- {text}" for text in items] or ["Nothing recorded."]


def what_order(run):
    """A sort key: times, then counts, then energy."""
    return run.protocol == "energy", run.protocol == "counters", run.date


def what_of(run):
    """What a run has, and by which means."""
    if run.protocol == "counters":
        return f"Counts, ncu {run.context['ncu'].removeprefix('Version ').partition(' ')[0]}"
    return f"Energy: the parts of {run.names[0]}" * (run.protocol == "energy") or (
        f"Times, {run.protocol}"
    )


def emulated(runs):
    """What the emulator counted."""
    tracks = {}
    for run in runs:
        tracks.setdefault(title(run.shape), {}).update(dict.fromkeys(run.tracks))
    places = ", ".join(f"{shape} ({', '.join(those)})" for shape, those in tracks.items())
    policy = runs[0].first(runs[0].names[0])["emulator"]["counted_policy"]
    return f"The emulator's counts of one launch: {places}; policy {policy}."


# --- cells ----------------------------------------------------------------------------------


def time_of(run, name):
    """Seconds of a launch, from its rates; None of who was not timed."""
    rate, work = run.rate(name), run.work / run.measure.units
    return rate and Spread(work / rate.mid, work / rate.high, work / rate.low)


def ratio_of(run, name, to=None, of="step"):
    """A program's Spread of ratios; of two contenders that of their medians, a number."""
    to = to or run.measure.other
    if name not in CONTENDERS:
        return run.ratio(name, to, of)
    rates = run.rate(name), run.rate(to)
    return rates[0].mid / rates[1].mid if all(rates) else None


def rate(runs, digits, name):
    """A program's rate on the first card."""
    found = runs[0].rate(name) if runs else None
    return found.plus_minus(digits) if found else DASH


def ratio(runs, to, name, of="step"):
    """Of several cards the median of a program's ratios, the lowest and the highest."""
    found = [value for run in runs if (value := ratio_of(run, name, to, of)) is not None]
    if not found:
        return DASH
    if name in CONTENDERS:
        return "1" if name == (to or runs[0].measure.other) else f"{median(found):.3f}"
    middles, lows, highs = zip(*found)
    return Spread(median(middles), min(lows), max(highs)).plus_minus(3)


def reading(run, key, digits, unit, scale, name):
    """Something that was read beside the time."""
    return optional(run.reading(name, key), digits, unit, scale)


def ratio_columns(runs):
    """[(head, GPU, to whom, of which launch)]: on the first GPU all ratios that any rung has; on the
    others those of the usual launch, and the GPU's name."""
    kinds = (
        ("of cuBLAS", "cublas", "step"),
        (f"of {CUBLASLT}", "cublaslt", "step"),
        ("early launch, of cuBLAS", "cublas", EARLY),
    )
    columns = []
    for place, (gpu, short) in enumerate(gpus_of(runs).items()):
        there = set().union(*(run.contenders for run in first_runs(runs) if slug(run.gpu) == gpu))
        columns += [
            (f"{short}: {head}" if place else head, gpu, to, of)
            for head, to, of in kinds
            if {to, of} <= there and (place == 0 or of != EARLY)
        ]
    return columns


# --- rows of programs -----------------------------------------------------------------------


def label(runs, name):
    """(name, idea) of a program, or why it failed; of a contender what it is."""
    if name in CONTENDERS:
        words = CONTENDERS[name].idea
        said = [row["names"] for run in runs for rows in run.rows.values() for row in rows[:1]
                if name in row.get("names", ())]  # fmt: skip
        if name == "cublaslt":
            words = best_of_cublaslt(runs)
        return CONTENDERS[name].name, plain(said[0][name]) if said else words
    run = next((run for run in runs if name in run.names), None)
    if run is None:
        return name, "not in this run"
    failed = run.failed.get(name)
    return name, plain(f"failed: {failed}" if failed else run.first(name)["idea"])


def programs(heads, runs, names, columns):
    """A table of programs, and of whom they are compared with; columns are (head, cell of a name)."""
    measure, there = runs[0].measure, set().union(*(run.contenders for run in runs))
    names = [*names, *(who for who in (measure.other, *measure.besides) if who in there)]
    rows = [[*heads, *(head for head, _ in columns)]]
    return rows + [[*label(runs, name), *(cell(name) for _, cell in columns)] for name in names]


def linked(rows, steps):
    """A table's rows with the rungs' names as links to their files, if the files are there."""
    known = rungs.find(steps) if steps else {}

    def link(name):
        return f"[{name}](steps/{known[name].path.name})" if name in known else name

    return [rows[0], *([link(row[0]), *row[1:]] for row in rows[1:])]


def results_table(library, *_, steps=rungs.STEPS):
    """The v track at 8192 cubed: rates, and ratios on each GPU."""
    runs = library.headline()
    if not runs:
        return ["No run is recorded yet. `make ladder` measures one on your GPU."]
    own = runs[HOME][0]
    columns = [("TFLOPS", partial(rate, [own], 0))]
    for head, gpu, to, of in ratio_columns({own.shape: runs}):
        columns += [(head, partial(ratio, runs[gpu], to))] if of != EARLY else []
    rows = programs(["step", "idea"], [own], own.names, columns)
    for row in rows[1:]:
        if row[0] == CONTENDERS["cublaslt"].name:
            row[1] = searched(runs)
    said = caption({own.shape: runs}) + "".join(map(cards_words, runs.values()))
    return [*markdown(linked(rows, steps)), "", said]


def searched(runs):
    """Among how many cuBLASLt's best was looked for, on each GPU where it differs from the first."""
    first, *others = (best_of_cublaslt(cards) for cards in runs.values())
    names = [short_name(cards[0].gpu) for cards in runs.values()][1:]
    different = [f"{name}: {words}" for name, words in zip(names, others) if words != first]
    return "; ".join([first, *different])


def cards_words(runs):
    """Which ratios are those of several cards, and what the worst card gives; '' of one card."""
    first, *others = runs
    shared = [name for name in first.measured if any(name in run.measured for run in others)]
    if not shared:
        return ""
    words = (
        f" {short_name(first.gpu)}: {shared[0]} to {shared[-1]} were measured on {len(runs)} cards; "
        "their ratios are medians, ± spans all cards"
    )
    top = [value.mid for run in runs if (value := run.ratio(results.TOP, "cublaslt"))]
    if top:
        words += f"; on the slowest, {results.TOP} is at {min(top):.3f} of {CUBLASLT}"
    return f"{words}."


def picture(library, *_):
    """The picture of the v track, with its rates in words; nothing if nothing is recorded."""
    runs = library.headline()
    if not runs:
        return [""]
    run = runs[HOME][0]
    names = [name for name in run.measured if name <= results.LAST]
    names += [who for who in ("cublas", "cublaslt") if who in run.contenders]
    rates = [(CONTENDERS[who].title if who in CONTENDERS else who, run.rate(who)) for who in names]
    said = ", ".join(f"{who} {rate.mid:.0f}" for who, rate in rates)
    words = f"TFLOPS at {title(run.shape)}, {plain(run.gpu['name'])}: {said}"
    return [f'<img src="plots/ladder.png" width="900" alt="{words}">']


def at_shapes(library, *names, steps=None):
    """Some programs of a track at several shapes."""
    track = one_track(names)
    measure = shapes.measure_of_track(track)
    runs = library.find(names, SHAPES.get(measure, ()), track=track)
    if not runs:
        return [NOTHING]
    gpus = gpus_of(runs)
    where = f", {' / '.join(gpus.values())}" if len(gpus) > 1 else ""
    columns = []
    for shape, of_gpu in runs.items():
        cards = [of_gpu.get(gpu, []) for gpu in gpus]
        columns.append((title(shape), partial(rate, cards[0], 1)))
        columns.append((f"of {measure.other_name}{where}", partial(ratios, cards)))
    firsts = [of_gpu[next(iter(gpus))][0] for of_gpu in runs.values()]
    rows = linked(programs(["program", "idea"], firsts, names, columns), steps)
    unit = measure.unit + " read and written" * (measure is results.MOVES)
    return [*markdown(rows), "", f"{unit}, burst: medians; {SPREAD} {origins(runs)}"]


def ratios(of_gpus, name):
    """The ratios of all GPUs in one cell."""
    return " / ".join(ratio(cards, None, name) for cards in of_gpus)


def one_track(names):
    """The track of all of these names. ValueError if they have none."""
    tracks = {name[0] for name in names if results.NAME.fullmatch(name)}
    if len(tracks) != 1 or not all(map(results.NAME.fullmatch, names)):
        raise ValueError("write the names of programs of one track")
    return tracks.pop()


def track(library, letter, steps=rungs.STEPS):
    """A track's results as Markdown: its rungs, and what computes something else apart from them."""
    if letter == "v":
        return "\n".join(results_table(library, steps=steps))
    names = [name for name in rungs.find(steps) if name[0] == letter]
    parts = [[name for name in names if (name in results.APART) == apart] for apart in (0, 1)]
    return "\n\n".join("\n".join(at_shapes(library, *one, steps=steps)) for one in parts if one)


def variants(library, *words):
    """These rungs and variants at 8192 cubed, or those of a commit (@1234abc), against their rungs."""
    commits = [word[1:] for word in words if word[0] == "@"]
    names = [word for word in words if word[0] != "@"]
    if len(commits) > 1:
        raise ValueError("write variants v16 v16-late-place, and no more than one @commit")
    how = {"commit": commits[0]} if commits else {"kind": lambda run: not run.plain}
    run = library.answer(names, track=one_track(names), **how)
    if run is None:
        return [NOTHING]
    columns = [
        ("TFLOPS", partial(rate, [run], 1)),
        ("of cuBLAS", partial(ratio, [run], None)),
        ("tensor-core share", partial(reading, run, "share", 1, "%", 100)),
        ("SM clock", partial(reading, run, "ghz", 2, "GHz", 1)),
        ("against its rung", partial(against_rung, run)),
    ]
    return markdown(programs(["program", "idea"], [run], names, columns))


def against_rung(run, name):
    """'0.9818 (0/3)': a variant against its rung, and in how many passes it was faster."""
    if name in CONTENDERS or not is_variant(name):
        return DASH
    found = run.against(name, results.rung_of(name))
    return f"{found.ratio:.4f} ({found.faster}/{found.passes})" if found else DASH


def rivals(library, *_):
    """Other people's kernels beside the top of the ladder, track by track."""
    how = {"kind": lambda run: any(map(is_rival, run.names))}
    found = [library.find((), (CUBE, (4096,) * 3), track=track, **how) for track in "va"]
    found = [runs for runs in found if runs]
    if not found:
        return [NOTHING]
    gpus = {gpu: short for runs in found for gpu, short in gpus_of(runs).items()}
    places = {(gpu, shape) for runs in found for shape in runs for gpu in runs[shape]}
    places = sorted(places, key=lambda place: (list(gpus).index(place[0]), place[1] != CUBE))
    rows = []
    for runs in found:
        columns = []
        for gpu, shape in places:
            cards = runs.get(shape, {}).get(gpu, [])[:1]
            columns.append((f"{gpus[gpu]}, {title(shape)}: TFLOPS", partial(rate, cards, 0)))
            columns.append(("of cuBLAS", partial(ratio, cards, None)))
        names = {name: None for run in first_runs(runs) for name in run.names}
        own = [name for name in names if not is_rival(name)]
        top = [results.TOP] if results.TOP in own else own[-1:]
        names = [*filter(is_rival, names), *top]
        rows += programs(["program", "what"], first_runs(runs), names, columns)[bool(rows) :]
    said = dict.fromkeys(map(caption, found))
    return [*markdown(rows), "", " ".join(said)]


# --- rows of shapes -------------------------------------------------------------------------

CHOOSES = "v18"  # its tile for each product
MODES = {"f08": "fast", "f07": "block scales", "f02": "accurate"}  # of cuBLASLt


def sizes(library, *_):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    squares = [(size,) * 3 for size in shapes.SQUARES]
    runs = library.find([CHOOSES], (*squares, *shapes.MODELS))
    if not runs:
        return [NOTHING]
    columns = ratio_columns(runs)
    rows = [["m x n x k", f"{CHOOSES}, TFLOPS", *(head for head, *_ in columns)]]
    for shape, of_gpu in runs.items():
        cells = [ratio(of_gpu.get(gpu, ()), to, CHOOSES, of) for _, gpu, to, of in columns]
        rows.append([title(shape), rate(next(iter(of_gpu.values())), 0, CHOOSES), *cells])
    best = best_of_cublaslt(first_runs(runs))
    return [*markdown(rows, 1), "", caption(runs, f"{CUBLASLT} is {best}.")]


def calls(library, *_):
    """One product from an idle stream until it is there, the host included."""
    there = sorted({run.shape for run in library.runs if run.protocol == "call"})
    runs = library.find((), there, protocol="call")
    if not runs:
        return [NOTHING]
    names = {name for run in first_runs(runs) for name in run.names}
    names = [*sorted(names, key=results.name_order), "cublas", "cublaslt"]
    heads = [CONTENDERS[name].title if name in CONTENDERS else name for name in names]
    rows = [["m x n x k", "GPU", *heads]]
    for run in first_runs(runs):
        cells = [call(run, name) for name in names]
        rows.append([title(run.shape), short_name(run.gpu), *cells])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {best_of_cublaslt(first_runs(runs))}."
    )
    return [*markdown(rows), "", caption(runs, words)]


def call(run, name):
    """'8.3 ±.2 (0.4 ms)': microseconds of a call, and in parentheses what was done once before. Of
    cuBLASLt that is the longest: one program of a run searches."""
    time = time_of(run, name)
    if time is None:
        return DASH
    text = Spread(*(1e6 * value for value in time)).plus_minus(1)
    once = [one["before_seconds"] for one in run.timed(name) if "before_seconds" in one]
    if not once:
        return text
    seconds = (max if name == "cublaslt" else median)(once)
    unit, scale = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{text} ({seconds * scale:.1f} {unit})"


def fp8(library, *words):
    """The upper rungs of FP8 at every shape of a GPU, beside cuBLASLt's best in the same mode, after
    the sentence that says where they are slower."""
    gpu = words[0][1:] if len(words) == 1 and words[0][0] == "@" else None
    if gpu is None:
        raise ValueError("write fp8 @h100")
    there = {run.shape for run in library.runs if run.tracks == {"f"} and run.gpu}
    how = {"track": "f", "gpu": gpu, "kind": lambda run: run.heuristics is not None}
    found, tried = {}, {name: set() for name in MODES}
    for name in MODES:
        for shape in there:
            run = library.choose([name], shape, **how)
            if run and (search := run.first(name).get("heuristics")):
                found[shape, name] = run
                tried[name].add(configurations(search))
    heads = [(f"{name}, TFLOPS", f"of {CUBLASLT} ({mode})") for name, mode in MODES.items()]
    rows, lost = [["m x n x k", *(head for pair in heads for head in pair)]], []
    for shape in sorted({shape for shape, _ in found}, reverse=True):
        rows.append([title(shape)])
        for name in MODES:
            run = found.get((shape, name))
            ratio = run and run.ratio(name, "cublaslt").mid
            rows[-1] += [optional(run and run.rate(name).mid, 0), optional(ratio, 3)]
            lost += [f"{name} at {title(shape)} ({ratio:.3f})"] if run and ratio < 1 else []
    ends = [(mode, sorted(tried[name])) for name, mode in MODES.items() if tried[name]]
    counts = [
        f"{' to '.join(dict.fromkeys(f'{n:,}' for n in (many[0], many[-1])))} ({mode})"
        for mode, many in ends
    ]
    runs = {place: {gpu: [run]} for place, run in found.items()}
    said = f"{CUBLASLT} is the fastest of its algorithms: of {', '.join(counts)}."
    return [
        f"Slower than {CUBLASLT}: {', '.join(lost) or 'at no recorded shape'}.",
        *("", *markdown(rows, 1), ""),
        f"{said} {origins(runs, lambda place: f'{place[1]} at {title(place[0])}')}",
    ]


# --- families of shapes ---------------------------------------------------------------------

WORST = 10
LONGEST_NAME = 60  # of cuBLASLt's kernels
REACHED = 1.0  # a ratio of the best that counts as reached


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def family_figures(runs, name):
    """What a program's ratios over a family of shapes come to."""
    best, cublas, early = (
        [ratio.mid for run in runs if (ratio := run.ratio(name, *how))]
        for how in (("cublaslt",), ("cublas",), ("cublaslt", EARLY))
    )
    found = {"mean": geometric_mean(best), "lowest": min(best), "cublas": geometric_mean(cublas)}
    found["reached"] = sum(value >= REACHED for value in best)
    found["early"] = geometric_mean(early) if len(early) == len(runs) else None
    return found


def families(library, name, seed):
    """{GPU: {family: the runs of a program at its shapes}} of the families drawn from a seed."""
    found = {}
    for gpu in library.gpus:
        for family in shapes.FAMILIES:
            drawn = shapes.drawn(family, seed, shapes.FAMILY_SHAPES)
            runs = [run for shape in drawn if (run := library.choose([name], shape, gpu=gpu))]
            if runs:
                found.setdefault(gpu, {})[family] = runs
    return found


def sweep(library, *words):
    """A rung over families of shapes drawn from a seed: what they come to, or the worst shapes."""
    right = len(words) in (2, 3) and results.NAME.fullmatch(words[0]) and words[1].isdigit()
    if not right or words[2:] not in ((), ("worst",)):
        raise ValueError("write sweep v18 1, or sweep v18 1 worst")
    found = families(library, words[0], int(words[1]))
    if not found:
        return [NOTHING]
    return (worst if words[2:] else of_families)(found, *words[:2])


def of_families(found, name, seed):
    """What the ratios over each family come to, on each GPU."""
    columns = (
        (f"of {CUBLASLT}", lambda figures, _: f"{figures['mean']:.3f}"),
        ("lowest", lambda figures, _: f"{figures['lowest']:.3f}"),
        (f"shapes at {REACHED:.2f} or above", lambda figures, many: f"{figures['reached']} of {many}"),
        ("early launch", lambda figures, _: optional(figures["early"], 3)),
        ("of cuBLAS", lambda figures, _: f"{figures['cublas']:.3f}"),
    )  # fmt: skip
    heads, rows = ["family"], [[family] for family in shapes.FAMILIES]
    for place, of_gpu in enumerate(found.values()):
        short = short_name(next(iter(of_gpu.values()))[0].gpu)
        shown = columns[:3] if place else columns
        heads += [f"{short}: {head}" if place else head for head, _ in shown]
        for row in rows:
            runs = of_gpu.get(row[0])
            figures = runs and family_figures(runs, name)
            row += [cell(figures, len(runs)) if runs else DASH for _, cell in shown]
    runs = {
        (family, shape): {gpu: [run]}
        for gpu, of_gpu in found.items()
        for family, runs in of_gpu.items()
        for shape, run in ((run.shape, run) for run in runs)
    }
    returned = [run.heuristics["returned"] for run in first_runs(runs)]
    best = " to ".join(map(str, dict.fromkeys((min(returned), max(returned)))))
    said = (
        f"Burst protocol; {CUBLASLT} is the best of {best} heuristics. Geometric means over shapes "
        f"drawn from seed {seed}; lowest: of {CUBLASLT}. {origins(runs, str)}"
    )
    return [*markdown([heads, *rows], 1), "", said]


def worst(found, name, _seed):
    """The shapes at which a rung is furthest from cuBLASLt's best on the first GPU, and what it has
    on the others."""
    ratios = {
        gpu: {
            run.shape: run.ratio(name, "cublaslt").mid for runs in of_gpu.values() for run in runs
        }
        for gpu, of_gpu in found.items()
    }
    first, *others = found
    names = [short_name(next(iter(found[gpu].values()))[0].gpu) for gpu in others]
    rows = [["m x n x k", "family", "TFLOPS", f"of {CUBLASLT}", *(f"on {one}" for one in names)]]
    rows[0] += ["early launch", "its kernel", f"{CUBLASLT}: TFLOPS", "its kernels"]
    points = [(family, run) for family, runs in found[first].items() for run in runs]
    points.sort(key=lambda point: ratios[first][point[1].shape])
    for family, run in points[:WORST]:
        early = run.ratio(name, "cublaslt", EARLY)
        known = [ratios[gpu].get(run.shape) for gpu in (first, *others)]
        cells = [optional(value, 3) for value in (*known, early and early.mid)]
        own, best = (f"{run.rate(who).mid:.0f}" for who in (name, "cublaslt"))
        rows.append(["x".join(map(str, run.shape)), family, own, *cells])
        kernel = kernel_name(run.heuristics["winner"]["name"])
        rows[-1] += [str(run.first(name).get("kernel", DASH)), best, f"`{kernel}`"]
    return markdown(rows)


def kernel_name(name):
    """'144x128_64x6_1x2_h_bz_TNN': a kernel of cuBLASLt without what all of them have."""
    short = re.sub(r"\bnvjet_(sm[0-9]+_)?[a-z]+_", "", name)
    return short if len(short) <= LONGEST_NAME else f"{short[:LONGEST_NAME]}…"


# --- other tables ---------------------------------------------------------------------------

REPORTS = results.ROOT / "planted" / "reports"
DISAGREEMENT = "largest disagreement: "  # the line of the report from which on it is quoted
NORMALS = 16384  # of N(0,1): the middles of intervals as likely


def hazard(_library, *words):
    """A planted bug: what is wrong, the change, who found what, and one report."""
    path = (
        REPORTS / f"{words[0]}.json"
        if len(words) == 2 and results.NAME.fullmatch(words[0])
        else None
    )
    bugs = json.loads(path.read_text(encoding="utf-8"))["bugs"] if path and path.exists() else {}
    bug = bugs.get(words[-1]) if words else None
    if bug is None:
        raise ValueError(f"write hazard v07 and one of {', '.join(bugs) or 'planted/reports'}")
    by_kind = {}
    for policy, kind in bug["found"].items():
        if kind is not None:
            by_kind.setdefault(kind or "nothing", []).append(policy)
    said = "; ".join(f"{', '.join(policies)}: {kind}" for kind, policies in by_kind.items())
    change = bug["change"]
    blanks = min((len(line[1:]) - len(line[1:].lstrip()) for line in change), default=0)
    change = [line[0] + line[1 + blanks :] for line in change]
    lines = [f"**{words[1]}**: {bug['wrong']}.", "", "```diff", *change, "```"]
    lines += ["", f"The emulator, by policy: {said}."]
    if bug["report"]:
        lines += [f"Under {bug['policy']} it says:", "", "```", *bug["report"], "```"]
    return lines


def agreement(library, *_):
    """The end of what make compare said of two runs on one card."""
    found = sorted(library.folder.glob("*-agreement.txt"))
    if not found:
        raise ValueError(f"put a report of two runs in {library.folder}")
    text = found[-1].read_text(encoding="utf-8")
    return ["```", *text[text.index(DISAGREEMENT) :].splitlines(), "```"]


def as_e4m3(number):
    """The nearest number of e4m3; magnitudes above 448 become 448."""
    _, exponent = math.frexp(number)  # |number| < 2^exponent
    step = 2.0 ** (max(exponent - 1, -6) - 3)
    return max(-448, min(round(number / step) * step, 448))


def quantised(_library, *words):
    """What numbers from N(0,1) lose if one scale brings them and a large one into e4m3's range."""
    if not words or not all(map(str.isdigit, words)):
        raise ValueError("write quantised 5 1000")
    normals = [NormalDist().inv_cdf((i + 0.5) / NORMALS) for i in range(NORMALS)]
    rows = [["largest number, standard deviations", "error of the others, %, root mean square"]]
    for word in words:
        scale = int(word) / 448
        errors = [as_e4m3(number / scale) * scale - number for number in normals]
        rows.append([f"{int(word):,}", f"{100 * math.hypot(*errors) / math.hypot(*normals):.3g}"])
    return markdown(rows, 0)


PART_COLUMNS = (  # head, field, digits, scale
    ("watts", "watts", 0, 1),
    ("joules", "joules", 3, 1),
    ("clock, GHz", "sm_clock_ghz", 3, 1),
    ("tensor-core share, %", "tensor_core_share", 1, 100),
)
COUNT_COLUMNS = (
    ("L2 to SMs, GB", "l2_bytes", 2, 1e-9),
    ("arrives at SMs, GB", "sm_bytes", 2, 1e-9),
    ("DRAM read, GB", "dram_read_bytes", 2, 1e-9),
)


def newest_parts(folder, rung):
    """The newest record of a rung's parts, or None."""
    paths = folder.glob(f"{HOME}-*-energy-*.json")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return max(
        (one for one in found if one["rung"] == rung), key=lambda one: one["date"], default=None
    )


def energy(library, *words):
    """A rung's parts: where its joules go, what was measured of them, or what ncu counted."""
    if len(words) != 2 or words[0] not in ("budget", "parts", "counts"):
        raise ValueError("write energy budget, parts or counts and a rung")
    record = newest_parts(library.folder, words[1])
    if record is None:
        return [NOTHING]
    context = {"gpu": record["gpu"], "commit": record["commit"], "protocol": "energy"}
    run = results.Run({**context, "problem": record["problem"]})
    run.rows[words[1]].append({"date": record["date"]})
    library.used.append(run)
    if words[0] == "budget":
        return markdown(budget.rows(budget.make(record)), 1)
    parts, columns = record["parts"], PART_COLUMNS
    if words[0] == "counts":
        parts, columns = record["counted"]["parts"], COUNT_COLUMNS
    whats = ["what it is"] * (words[0] == "parts")
    rows = [["part", *whats, *(head for head, *_ in columns)]]
    for part in parts:
        cells = [optional(part.get(key), digits, "", scale) for _, key, digits, scale in columns]
        rows.append([part["part"], *(plain(part["what"]) for _ in whats), *cells])
    return markdown(rows, 1 + len(whats))


BLOCKS = {  # what fills a block, by the first word of its marker
    "results": results_table,
    "picture": picture,
    "sizes": sizes,
    "calls": calls,
    "rivals": rivals,
    "shapes": at_shapes,
    "variants": variants,
    "sweep": sweep,
    "fp8": fp8,
    "energy": energy,
    "hazard": hazard,
    "agreement": agreement,
    "quantised": quantised,
    "sources": sources,
}
