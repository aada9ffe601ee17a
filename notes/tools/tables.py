"""Tables of recorded runs in Markdown, and what was measured on what, when.

A table is rows of texts, its heads first; a cell is a figure of a program in some runs. The runs of
a table are {shape: {GPU: its runs, one of each card}}, the home GPU first: rates are those of the
first card, ratios the medians of all.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean, median

from bench import results, rungs, shapes
from bench.energy import budget
from bench.record import RUNS
from bench.results import CONTENDERS, EARLY, HOME, NAME, Spread, is_rival, short_name, slug
from notes.tools.figures import (
    DASH,
    SECTOR_BYTES,
    called,
    configurations,
    figure_of,
    markdown,
    write_as,
)

ORDER = [run.name for run in RUNS]  # of the files: the first that has an answer gives it
CUBE = (results.SIZE,) * 3
SHAPES = {
    results.PRODUCTS: ((4096,) * 3, CUBE, (81920, 256, 256)),
    results.MOVES: ((32768, 32768), (4096, 16384)),
}
CUBLASLT = CONTENDERS["cublaslt"].title
NOTHING = "Not recorded yet."

# --- which runs -----------------------------------------------------------------------------


class Library:
    """All recorded runs of a folder; `used` are those that the figures of a page are from."""

    def __init__(self, folder=results.RESULTS):
        self.folder, self.used, self.at = Path(folder), {}, defaultdict(list)
        self.runs = results.load_all(ORDER, self.folder)
        self.gpus = list(dict.fromkeys(slug(run.gpu) for run in self.runs if run.gpu))
        for run in self.runs:
            self.at[run.shape, run.protocol].append(run)

    def choose(self, names=(), shape=CUBE, protocol="burst", track="v", **how):
        """The run that answers, or None; results.choose() has the rules."""
        there = self.at[shape, protocol]
        return results.choose(there, names, track=track, shape=shape, protocol=protocol, **how)

    def answer(self, *names, **how):
        """The same, for the page."""
        return self.use(self.choose(*names, **how))

    def emulated(self, names):
        """The run of the emulator that has all of these, for the page, or None."""
        runs = (run for run in self.runs if run.gpu is None and names <= run.rows.keys())
        return self.use(next(runs, None))

    def use(self, run):
        """The run, which from now on is one of those used."""
        self.used |= {id(run): run} if run else {}
        return run

    def beside(self, run, names=(), kind=None):
        """{GPU: runs, one of each card} of the same commit, protocol and problem; its own first."""
        found = {slug(run.gpu): {run.gpu.get("card"): run}}
        how = {"track": min(run.tracks), "shape": run.shape, "protocol": run.protocol, "kind": kind}
        for one in self.at[run.shape, run.protocol]:
            same = one.commit == run.commit and one.problem == run.problem
            if same and results.choose([one], names, gpu=slug(one.gpu), **how):
                found.setdefault(slug(one.gpu), {}).setdefault(one.gpu.get("card"), one)
        return {gpu: list(cards.values()) for gpu, cards in found.items()}

    def find(self, names, at, kind=None, **how):
        """The runs of all of `names` at each of these shapes at which there are any."""
        chosen = {shape: self.choose(names, shape, kind=kind, **how) for shape in at}
        return {shape: self.beside(run, names, kind) for shape, run in chosen.items() if run}

    def headline(self):
        """The runs of the v track at 8192 cubed: of each GPU its own, of the same rungs."""
        names, found = [results.TOP], {}
        for gpu in self.gpus:
            if run := self.choose(names, gpu=gpu):
                names, found[gpu] = run.names, self.beside(run, names)[gpu]
        return {CUBE: found} if HOME in found else {}


def firsts(runs):
    """One run of each shape and GPU."""
    return [cards[0] for of_gpu in runs.values() for cards in of_gpu.values()]


def gpus_of(runs):
    """{GPU: short name} of all in such runs, the home GPU first."""
    return {slug(run.gpu): short_name(run.gpu) for run in firsts(runs)}


# --- what was measured, on what, when -------------------------------------------------------

MANY = 4  # shapes that were measured at one time are not listed
SPREAD = "± is half of the distance from the 10th to the 90th percentile."
# What means something to HTML or Markdown; a | does in a table alone, whose row takes care of it.
LIVE = re.compile(r"[&<>`\[\]\\]")


def plain(text):
    """A text that a program printed, to be shown as it is."""
    names = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return LIVE.sub(lambda match: names.get(match[0]) or f"&#{ord(match[0])};", text)


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


def optional(value, digits, unit="", scale=1):
    """A number with its unit, or a dash if it wasn't recorded."""
    text = DASH if value is None else f"{value * scale:.{digits}f} {unit}"
    return text.replace("-", "−").strip()


def nested(paths):
    """{first: {second: ...}} of tuples, in their order."""
    found = {}
    for path in paths:
        level = found
        for key in path:
            level = level.setdefault(key, {})
    return found


def on(run, cublas=True):
    """The machine and the inputs: 'NVIDIA H200, CUDA 13.0, cuBLAS 13.1.0; normal inputs'."""
    version = run.gpu.get("cublas") if cublas else None
    versions = f"CUDA {run.gpu['cuda']}" + (f", cuBLAS {version}" if version else "")
    return f"{run.gpu['name']}, {versions}; {run.problem['inputs']} inputs"


def made(run):
    """'2025-01-31, commit `abc1234`', of what was timed also how often."""
    words, passes, rounds = f"{run.date[:10]}, commit `{run.commit}`", run.passes, run.rounds
    if "rounds" not in run.context or budget.is_of_parts(run):
        return words
    return f"{words}, {passes} pass{'es' * (passes > 1)} of {rounds} round{'s' * (rounds > 1)}"


def origin(run):
    """On what and when it was measured."""
    return f"{on(run)}; {made(run)}."


def origins(runs, title=title):
    """On what and when it was measured: each machine once, the shapes where they differ."""
    paths = [(shape, run) for shape, of in runs.items() for cards in of.values() for run in cards]
    machines = []
    for what, times in nested((on(run), made(run), shape) for shape, run in paths).items():
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
    protocol = firsts(runs)[0].protocol.capitalize()
    return " ".join([f"{protocol} protocol{shape}, medians; {SPREAD}", *words, origins(runs)])


def best_of_cublaslt(runs):
    """'the best of 8 heuristics', or 'of 6 to 8' where not each of the runs found as many; where
    one tried all, 'the best of 11,448 configurations'. A list that was cut by Ctrl-C says so."""
    runs = [run for run in runs if run.heuristics]
    words = few_to_many(configurations(run.heuristics) for run in runs)
    kind = "configurations" if any("enumerated" in run.heuristics for run in runs) else "heuristics"
    cut = any(run.heuristics.get("cut") for run in runs)
    return f"the best of {words} {kind}{' (a list that was cut)' * cut}"


def few_to_many(numbers):
    """'8 to 11,448', or '8'."""
    numbers = sorted(numbers)
    return " to ".join(dict.fromkeys(f"{number:,}" for number in (*numbers[:1], *numbers[-1:])))


def what_of(run):
    """What a run has: times, then counts, then energy; and its place among them."""
    if budget.is_of_parts(run):
        return 2, f"Energy: the parts of {budget.rung_of(run)}"
    if run.protocol == "counters":
        return 1, f"Counts, ncu {run.context['ncu'].removeprefix('Version ').partition(' ')[0]}"
    return 0, f"Times, {run.protocol}"


def sources(library):
    """Which runs the figures of the page are from, an item for each machine: times, counts, energy,
    each by date, and those that differ by their shapes alone together. Then the emulator's."""
    used = sorted(library.used.values(), key=lambda run: (what_of(run)[0], run.date))
    measured, items = [run for run in used if run.gpu], []
    paths = [(on(run, False), what_of(run)[1], made(run), title(run.shape)) for run in measured]
    for machine, whats in nested(paths).items():
        parts = [
            f"{what}: " + "; ".join(", ".join([*at, when]) for when, at in times.items())
            for what, times in whats.items()
        ]
        items.append(f"- {machine}. {'. '.join(parts)}.")
    if measured != used:
        items.append(f"- The emulator's counts of one launch: {emulated(library)}.")
    return items or ["Nothing recorded."]


def emulated(library):
    """'256 × 1536 × 512 (v, a, f), 512² (t); policy eager': what the emulator counted."""
    runs = [run for run in library.runs if run.gpu is None]
    tracks = nested((title(run.shape), track) for run in runs for track in run.tracks)
    places = ", ".join(f"{shape} ({', '.join(those)})" for shape, those in tracks.items())
    return f"{places}; policy {runs[0].first(runs[0].names[0])['emulator']['counted_policy']}"


# --- programs in rows -----------------------------------------------------------------------


def cell(runs, name, figure, *form):
    """A figure of a program in that form: of the first card, but of ratios the median over the
    cards, with the lowest and the highest."""
    kind, read = figure_of(figure).kind, figure_of(figure).read
    found = [value for run in runs if (value := read(run, name)) is not None]
    if found and kind == "ratio" and isinstance(found[0], Spread):
        middles, lows, highs = zip(*found)
        return write_as(Spread(median(middles), min(lows), max(highs)), kind, *form)
    value = median(found) if kind == "ratio" and found else next(iter(found), None)
    return "1" if value == 1 and name in CONTENDERS else write_as(value, kind, *form)


def label(runs, name):
    """(name, idea) of a program, or why it failed; of a contender what it is."""
    if name in CONTENDERS:
        rows = [row for run in runs for rows in run.rows.values() for row in rows]
        said = next((row["names"][name] for row in rows if name in row.get("names", ())), None)
        words = best_of_cublaslt(runs) if name == "cublaslt" else CONTENDERS[name].idea
        return CONTENDERS[name].name, plain(said) if said else words
    for run in (run for run in runs if name in run.names):
        why = run.failed.get(name)
        return name, plain(f"failed: {why}" if why else run.first(name)["idea"])
    return name, "not in this run"


def programs(heads, runs, names, columns, steps=None):
    """Rows of programs, as links to their files in that folder, and of whom they are compared with.
    Columns are (head, the cards of each GPU, figure, its form); all GPUs are in one cell."""
    measure, there = runs[0].measure, set().union(*(run.contenders for run in runs))
    names = [*names, *(who for who in (measure.other, *measure.besides) if who in there)]
    files = {name: rung.path.name for name, rung in rungs.find(steps).items()} if steps else {}
    rows = [[*heads, *(head for head, *_ in columns)]]
    for name in names:
        cells = [" / ".join(cell(of, name, *how) for of in gpus) for _, gpus, *how in columns]
        rows.append([*label(runs, name), *cells])
        if name in files:
            rows[-1][0] = f"[{name}](steps/{files[name]})"
    return rows


def ratio_columns(runs):
    """[(head, GPU, figure)]: on the first GPU all ratios that any rung has; on the others those to
    cuBLAS and its best, with the GPU's name."""
    columns = []
    for place, (gpu, short) in enumerate(gpus_of(runs).items()):
        of_gpu = [run for run in firsts(runs) if slug(run.gpu) == gpu]
        there = set().union(*(run.contenders for run in of_gpu))
        figures = {"ratio_to_cublas": "cublas", "ratio_to_cublaslt": "cublaslt"}
        figures |= {} if place else {"early_ratio": EARLY}
        for figure, who in figures.items():
            head = figure_of(figure).head
            columns += [(f"{short}: {head}" * bool(place) or head, gpu, figure)] * (who in there)
    return columns


def results_table(library, *, steps=rungs.STEPS):
    """The v track at 8192 cubed: rates, and ratios on each GPU."""
    runs = library.headline()
    if not runs:
        return ["No run is recorded yet. `make ladder` measures one on your GPU."]
    of_gpu = runs[CUBE]
    own = of_gpu[HOME][:1]
    columns = [("TFLOPS", [own], "tflops", "±")]
    columns += [(head, [of_gpu[gpu]], figure, "±") for head, gpu, figure in ratio_columns(runs)]
    columns = [column for column in columns if column[2] != "early_ratio"]
    rows = programs(["step", "idea"], own, own[0].names, columns, steps)
    best, *others = ((short_name(one[0].gpu), best_of_cublaslt(one)) for one in of_gpu.values())
    for row in (row for row in rows if row[0] == CONTENDERS["cublaslt"].name):
        row[1] = "; ".join([best[1], *(": ".join(one) for one in others if one[1] != best[1])])
    said = caption(runs) + "".join(map(cards_words, of_gpu.values()))
    return [*markdown(rows), "", said]


def cards_words(cards):
    """Which ratios are those of several cards, and what the worst card gives; '' of one card."""
    first, *others = cards
    shared = [name for name in first.measured if any(name in run.measured for run in others)]
    if not shared:
        return ""
    found = [ratio.mid for run in cards if (ratio := run.ratio(results.TOP, "cublaslt"))]
    worst = f"; on the slowest, {results.TOP} is at {min(found):.3f} of {CUBLASLT}" if found else ""
    return (
        f" {short_name(first.gpu)}: {shared[0]} to {shared[-1]} were measured on {len(cards)} "
        f"cards; their ratios are medians, ± spans all cards{worst}."
    )


def picture(library):
    """The picture of the v track, with its rates in words; nothing if nothing is recorded."""
    for run in library.headline().get(CUBE, {}).get(HOME, [])[:1]:
        names = [name for name in run.measured if name <= results.LAST]
        names += [who for who in ("cublas", "cublaslt") if who in run.contenders]
        said = ", ".join(f"{called(name)} {run.rate(name).mid:.0f}" for name in names)
        words = f"TFLOPS at {title(CUBE)}, {plain(run.gpu['name'])}: {said}"
        return [f'<img src="plots/ladder.png" width="900" alt="{words}">']
    return [""]


def at_shapes(library, *names, steps=None):
    """Some programs of a track at several shapes."""
    if not names or not all(map(NAME.fullmatch, names)):
        raise ValueError("write shapes t04 t04-four-per-thread")
    measure = shapes.measure_of_track(names[0][0])
    runs = library.find(names, SHAPES.get(measure, ()), track=names[0][0])
    if not runs:
        return [NOTHING]
    gpus, columns = gpus_of(runs), []
    where = f", {' / '.join(gpus.values())}" if len(gpus) > 1 else ""
    for shape, of_gpu in runs.items():
        cards = [of_gpu.get(gpu, []) for gpu in gpus]
        columns.append((title(shape), [cards[0][:1]], measure.rate, ".1", "±"))
        columns.append((f"of {measure.other_name}{where}", cards, "ratio", "±"))
    own = [cards[0] for of_gpu in runs.values() for cards in [*of_gpu.values()][:1]]
    rows = programs(["program", "idea"], own, names, columns, steps)
    unit = measure.unit + " read and written" * (measure is results.MOVES)
    return [*markdown(rows), "", f"{unit}, burst: medians; {SPREAD} {origins(runs)}"]


def track(library, letter, steps=rungs.STEPS):
    """A track's results as Markdown: its rungs, and apart from them what computes another thing."""
    if letter == "v":
        return "\n".join(results_table(library, steps=steps))
    names = [name for name in rungs.find(steps) if name[0] == letter]
    parts = [[name for name in names if (name in results.APART) == apart] for apart in (0, 1)]
    return "\n\n".join("\n".join(at_shapes(library, *part, steps=steps)) for part in parts if part)


def variants(library, *names):
    """These rungs and variants at 8192 cubed, against their rungs."""
    run = library.answer(names, kind=lambda run: not run.plain)
    if run is None:
        return [NOTHING]
    figures = [("TFLOPS", "tflops", ".1", "±"), ("of cuBLAS", "ratio", "±")]
    figures += [("tensor-core share", "share"), ("SM clock", "clock")]
    columns = [(head, [[run]], *how) for head, *how in figures]
    rows = programs(["program", "idea"], [run], names, columns)
    rows[0].append("against its rung")
    for row in rows[1:]:
        pair = run.against(row[0], results.rung_of(row[0])) if row[0] in names else None
        row.append(f"{pair.ratio:.4f} ({pair.faster}/{pair.passes})" if pair else DASH)
    return markdown(rows)


def rivals(library):
    """Other people's kernels beside the top of the ladder, track by track."""
    how = {"kind": lambda run: any(map(is_rival, run.names))}
    found = [library.find((), (CUBE, (4096,) * 3), track=track, **how) for track in "va"]
    rows, said = [], {}
    places = [(gpu, short, shape) for runs in found for gpu, short in gpus_of(runs).items()
              for shape in runs if gpu in runs[shape]]  # fmt: skip
    for runs in filter(None, found):
        columns = []
        for gpu, short, shape in dict.fromkeys(places):
            cards = [runs.get(shape, {}).get(gpu, [])[:1]]
            columns.append((f"{short}, {title(shape)}: TFLOPS", cards, "tflops", "±"))
            columns.append(("of cuBLAS", cards, "ratio", "±"))
        names = list(dict.fromkeys(name for run in firsts(runs) for name in run.names))
        own = [name for name in names if not is_rival(name)]
        top = [results.TOP] if results.TOP in own else own[-1:]
        names = [*filter(is_rival, names), *top]
        rows += programs(["program", "what"], firsts(runs), names, columns)[bool(rows) :]
        said[caption(runs)] = None
    return [*markdown(rows), "", " ".join(said)] if rows else [NOTHING]


# --- shapes in rows -------------------------------------------------------------------------

CHOOSES = "v18"  # its tile for each product
MODES = {"f08": "fast", "f07": "block scales", "f02": "accurate"}  # of cuBLASLt


def sizes(library):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    runs = library.find([CHOOSES], (*((size,) * 3 for size in shapes.SQUARES), *shapes.MODELS))
    if not runs:
        return [NOTHING]
    columns = ratio_columns(runs)
    rows = [["m x n x k", f"{CHOOSES}, TFLOPS", *(head for head, *_ in columns)]]
    for shape, of_gpu in runs.items():
        cells = [cell(of_gpu.get(gpu, ()), CHOOSES, figure, "±") for _, gpu, figure in columns]
        rate = cell(next(iter(of_gpu.values())), CHOOSES, "tflops", "±")
        rows.append([title(shape), rate, *cells])
    said = caption(runs, f"{CUBLASLT} is {best_of_cublaslt(firsts(runs))}.")
    return [*markdown(rows, 1), "", said]


def calls(library):
    """One product from an idle stream until it is there, the host included."""
    there = sorted({run.shape for run in library.runs if run.protocol == "call"})
    runs = library.find((), there, protocol="call")
    if not runs:
        return [NOTHING]
    own = firsts(runs)
    names = [*dict.fromkeys(name for run in own for name in run.names), "cublas", "cublaslt"]
    rows = [["m x n x k", "GPU", *map(called, names)]]
    for run in own:
        rows.append([title(run.shape), short_name(run.gpu), *(call(run, name) for name in names)])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {best_of_cublaslt(own)}."
    )
    return [*markdown(rows), "", caption(runs, words)]


def call(run, name):
    """'8.3 ±.2 (0.4 ms)': microseconds of a call, and in parentheses what was done once before. Of
    cuBLASLt that is the longest: one program of a run searches."""
    time = cell([run], name, "time", "us", ".1", "±")
    once = [one["before_seconds"] for one in run.timed(name) if "before_seconds" in one]
    if not once:
        return time
    return f"{time} ({write_as(max(once) if name == 'cublaslt' else median(once), 'time', '.1')})"


def fp8(library, gpu):
    """The upper rungs of FP8 at every shape of a GPU, beside cuBLASLt's best in the same mode,
    after the sentence that says where they are slower."""
    there = {run.shape for run in library.runs if run.gpu and run.tracks == {"f"}}
    how = {"track": "f", "gpu": gpu.removeprefix("@"), "kind": lambda run: run.heuristics}
    found = {
        (shape, name): run
        for name in MODES
        for shape in there
        if (run := library.choose([name], shape, **how)) and "heuristics" in run.first(name)
    }
    rows, lost = [["m x n x k"]], []
    for name, mode in MODES.items():
        rows[0] += [f"{name}, TFLOPS", f"of {CUBLASLT} ({mode})"]
    for shape in sorted({shape for shape, _ in found}, reverse=True):
        rows.append([title(shape)])
        for name in MODES:
            run = found.get((shape, name))
            ratio = run and run.ratio(name, "cublaslt").mid
            rows[-1] += [optional(run and run.rate(name).mid, 0), optional(ratio, 3)]
            lost += [f"{name} at {title(shape)} ({ratio:.3f})"] if run and ratio < 1 else []
    counts = []
    for name, mode in MODES.items():
        searches = [run.first(name)["heuristics"] for (_, of), run in found.items() if of == name]
        counts.append(f"{few_to_many(map(configurations, searches))} ({mode})")
    runs = {place: {gpu: [run]} for place, run in found.items()}
    return [
        f"Slower than {CUBLASLT}: {', '.join(lost) or 'at no recorded shape'}.",
        *("", *markdown(rows, 1), ""),
        f"{CUBLASLT} is the fastest of its algorithms: of {', '.join(counts)}. "
        + origins(runs, lambda place: f"{place[1]} at {title(place[0])}"),
    ]


# --- families of shapes ---------------------------------------------------------------------

WORST = 10
LONGEST_NAME = 60  # of cuBLASLt's kernels
REACHED = 1.0  # a ratio of the best that counts as reached


def family(library, name, word, seed):
    """The runs of a program on the home GPU at a family's shapes that are drawn from a seed."""
    drawn = shapes.drawn(word, seed, shapes.FAMILY_SHAPES)
    return [run for shape in drawn if (run := library.choose([name], shape))]


def family_figures(runs, name):
    """{head: figure}: what a program's ratios over a family of shapes come to."""
    hows = (["cublaslt"], ["cublas"], ["cublaslt", EARLY])
    found = [[run.ratio(name, *how) for run in runs] for how in hows]
    best, cublas, early = ([one.mid for one in ratios if one] for ratios in found)
    return {
        f"of {CUBLASLT}": geometric_mean(best),
        "lowest": min(best),
        f"shapes at {REACHED:.2f} or above": sum(ratio >= REACHED for ratio in best),
        "early launch": geometric_mean(early) if len(early) == len(runs) else None,
        "of cuBLAS": geometric_mean(cublas),
    }


def sweep(library, name, seed, *more):
    """A rung over families of shapes drawn from a seed: what they come to, or the worst shapes."""
    found = {word: family(library, name, word, int(seed)) for word in shapes.FAMILIES}
    if more not in ((), ("worst",)):
        raise ValueError("write sweep v18 1, or sweep v18 1 worst")
    if not all(found.values()):
        return [NOTHING]
    if more:
        return worst(found, name)
    figures = {word: family_figures(runs, name) for word, runs in found.items()}
    rows = [["family", *figures[word]] for word in [*found][:1]]
    for word, of in figures.items():
        cells = (
            f"{n} of {len(found[word])}" if isinstance(n, int) else optional(n, 3)
            for n in of.values()
        )
        rows.append([word, *cells])
    runs = {(word, run.shape): {HOME: [run]} for word, of in found.items() for run in of}
    best = few_to_many(run.heuristics["returned"] for run in firsts(runs))
    said = (
        f"Burst protocol; {CUBLASLT} is the best of {best} heuristics. Geometric means over shapes "
        f"drawn from seed {seed}; lowest: of {CUBLASLT}. {origins(runs, str)}"
    )
    return [*markdown(rows, 1), "", said]


def worst(found, name):
    """The shapes at which a rung is furthest from cuBLASLt's best."""
    rows = [["m x n x k", "family", "TFLOPS", f"of {CUBLASLT}", "early launch", "its kernel"]]
    rows[0] += [f"{CUBLASLT}: TFLOPS", "its kernels"]
    points = [
        (run.ratio(name, "cublaslt").mid, word, run) for word, of in found.items() for run in of
    ]
    for ratio, word, run in sorted(points, key=lambda point: point[0])[:WORST]:
        early, rates = run.ratio(name, "cublaslt", EARLY), [run.rate(name), run.rate("cublaslt")]
        own, best = (f"{rate.mid:.0f}" for rate in rates)
        kernel = re.sub(r"\bnvjet_(sm[0-9]+_)?[a-z]+_", "", run.heuristics["winner"]["name"])
        kernel = kernel if len(kernel) <= LONGEST_NAME else f"{kernel[:LONGEST_NAME]}…"
        cells = [
            f"{ratio:.3f}",
            optional(early and early.mid, 3),
            str(run.first(name).get("kernel", DASH)),
        ]
        rows.append(["x".join(map(str, run.shape)), word, own, *cells, best, f"`{kernel}`"])
    return markdown(rows)


# --- other tables ---------------------------------------------------------------------------

REPORTS = results.ROOT / "planted" / "reports"
DISAGREEMENT = "largest disagreement: "  # the line of the report from which on it is quoted


def hazard(_library, rung, name):
    """A planted bug: what is wrong, the change, who found what, and one report."""
    found = {path.stem: path for path in REPORTS.glob("*.json")}
    bugs = json.loads(found[rung].read_text(encoding="utf-8"))["bugs"] if rung in found else {}
    if name not in bugs:
        raise ValueError(f"there are reports of {', '.join(bugs or found)}")
    bug, by_kind = bugs[name], defaultdict(list)
    for policy, kind in bug["found"].items():
        by_kind[kind or "nothing"] += [policy] if kind is not None else []
    said = "; ".join(f"{', '.join(those)}: {kind}" for kind, those in by_kind.items() if those)
    change = bug["change"]
    blanks = min(len(line[1:]) - len(line[1:].lstrip()) for line in change)
    change = [line[0] + line[1 + blanks :] for line in change]
    report = [f"Under {bug['policy']} it says:", "", "```", *bug["report"], "```"]
    lines = [f"**{name}**: {bug['wrong']}.", "", "```diff", *change, "```"]
    return [*lines, "", f"The emulator, by policy: {said}.", *(report if bug["report"] else [])]


def agreement(library):
    """The end of what make compare said of two runs on one card."""
    text = max(library.folder.glob("*-agreement.txt")).read_text(encoding="utf-8")
    return ["```", *text[text.index(DISAGREEMENT) :].splitlines(), "```"]


PART_COUNTS = {  # head: metric of ncu, bytes each
    "L2 to SMs, GB": ("lts__t_sectors_srcunit_tex.sum", SECTOR_BYTES),
    "arrives at SMs, GB": ("l1tex__m_xbar2l1tex_read_bytes.sum", 1),
    "DRAM read, GB": ("dram__bytes_read.sum", 1),
}


def energy(library, what, rung):
    """What was measured of a rung's parts in the newest run of them, or what ncu counted."""
    run = library.use(budget.newest(library.runs).get(rung))
    if what not in ("parts", "counts") or run is None:
        raise ValueError("write energy parts or counts, and a rung that was measured in parts")
    if what == "counts":
        rows = [["part", *PART_COUNTS]]
        for name, counters in budget.counts_of(run).items():
            numbers = (counters[metric] * scale for metric, scale in PART_COUNTS.values())
            rows.append([name, *(optional(number, 2, "", 1e-9) for number in numbers)])
        return markdown(rows, 1)
    rows = [["part", "what it is", "watts", "joules", "clock, GHz", "tensor-core share, %"]]
    for name, part in budget.parts_of(run).items():
        joules = None if name == budget.IDLE else part.joules
        cells = [optional(part.watts, 0), optional(joules, 3), optional(part.ghz, 3)]
        rows.append([name, plain(part.what), *cells, optional(part.share or None, 1, "", 100)])
    return markdown(rows)


BLOCKS = {  # what fills a block, by the first word of its marker
    "results": results_table,
    "shapes": at_shapes,
    **{
        one.__name__: one
        for one in (
            *(picture, variants, rivals, sizes, calls, fp8, sweep),
            *(hazard, agreement, energy, sources),
        )
    },
}
