"""Tables of recorded runs in Markdown, and what was measured on what, when.

A table is columns of texts, each with its head first; a cell is a figure of a program in some runs.
The runs of a table are {shape: {GPU: its runs, one of each card}}, the home GPU first: rates are
those of the first card, ratios the medians of all.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean, median
from textwrap import dedent

from bench import results, rungs, shapes
from bench.energy import budget
from bench.record import RUNS
from bench.results import CONTENDERS, EARLY, HOME, NAME, Spread, is_rival, short_name, slug
from notes.tools.figures import (
    DASH,
    called,
    configurations,
    figure_of,
    markdown,
    texts,
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
    return LIVE.sub(lambda match: f"&#{ord(match[0])};", text)


def title(shape):
    """'4096³', '32768²' or '81920 × 256 × 256'."""
    square = len(set(shape)) == 1
    return f"{shape[0]}{'²³'[len(shape) - 2]}" if square else " × ".join(map(str, shape))


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
    version = f", cuBLAS {run.gpu['cublas']}" if cublas and run.gpu.get("cublas") else ""
    return f"{run.gpu['name']}, CUDA {run.gpu['cuda']}{version}; {run.problem['inputs']} inputs"


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
        listed = [
            text if len(there) == len(runs) else f"{', '.join(map(title, there))}: {text}"
            for text, there in times.items()
            if text != most or len(there) < MANY
        ]
        if len(times[most]) >= MANY:
            listed.append(f"all others: {most}" if listed else most)
        machines.append(f"{what}; {'; '.join(listed)}.")
    return " ".join(machines)


def caption(runs, *words):
    """What was measured, on what, when."""
    shape = f" at {title(next(iter(runs)))}" if len(runs) == 1 else ""
    protocol = firsts(runs)[0].protocol.capitalize()
    return " ".join([f"{protocol} protocol{shape}, medians; {SPREAD}", *words, origins(runs)])


def few_to_many(numbers):
    """'8 to 11,448', or '8'."""
    return " to ".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))


def best_of_cublaslt(runs):
    """'the best of 8 heuristics', or 'of 6 to 8' where not each of the runs found as many; where
    one tried all, 'the best of 11,448 configurations'."""
    searches = [run.heuristics for run in runs if run.heuristics]
    kind = "configurations" if any("enumerated" in one for one in searches) else "heuristics"
    return f"the best of {few_to_many([*map(configurations, searches)])} {kind}"


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
    kind, _, read, _ = figure_of(figure)
    found = [value for run in runs if (value := read(run, name)) is not None]
    value = next(iter(found), None)
    if kind == "ratio" and isinstance(value, Spread):
        middles, lows, highs = zip(*found)
        value = Spread(median(middles), min(lows), max(highs))
    elif kind == "ratio" and found:  # of a contender, which is 1 to itself
        value = "1" if median(found) == 1 else median(found)
    return write_as(value, kind, *form)


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
    """Columns with a row for each program, a link to its file if it is in that folder, and for each
    of whom they are compared with. Asked for are (head, the cards of each GPU, figure, its form);
    all GPUs are in one cell."""
    measure, there = runs[0].measure, set().union(*(run.contenders for run in runs))
    names = [*names, *(who for who in (measure.other, *measure.besides) if who in there)]
    files = {name: rung.path.name for name, rung in rungs.find(steps).items()} if steps else {}
    labels = [label(runs, name) for name in names]
    labels = [
        (f"[{name}](steps/{files[name]})" if name in files else name, idea) for name, idea in labels
    ]
    columns = [
        [head, *(" / ".join(cell(cards, name, *how) for cards in gpus) for name in names)]
        for head, gpus, *how in columns
    ]
    return [[head, *words] for head, words in zip(heads, zip(*labels))] + columns


def ratio_columns(runs):
    """[(head, GPU, figure)]: on the first GPU all ratios that any rung has; on the others those to
    cuBLAS and its best, with the GPU's name."""
    columns = []
    for place, (gpu, short) in enumerate(gpus_of(runs).items()):
        there = set().union(*(run.contenders for run in firsts(runs) if slug(run.gpu) == gpu))
        figures = {"ratio_to_cublas": "cublas", "ratio_to_cublaslt": "cublaslt"}
        figures |= {} if place else {"early_ratio": EARLY}
        heads = {one: figure_of(one).head for one, who in figures.items() if who in there}
        columns += [
            (f"{short}: {head}" if place else head, gpu, one) for one, head in heads.items()
        ]
    return columns


def results_table(library, *, steps=rungs.STEPS):
    """The v track at 8192 cubed: rates, and ratios on each GPU."""
    runs = library.headline()
    if not runs:
        return ["No run is recorded yet. `make ladder` measures one on your GPU."]
    of_gpu = runs[CUBE]
    own, *others = (cards[:1] for cards in of_gpu.values())
    columns = [("TFLOPS", [own], "tflops", "±")]
    columns += [
        (head, [of_gpu[gpu]], figure, "±")
        for head, gpu, figure in ratio_columns(runs)
        if figure != "early_ratio"
    ]
    names, ideas, *cells = programs(["step", "idea"], own, own[0].names, columns, steps)
    best = best_of_cublaslt(own)
    there = [(short_name(one[0].gpu), best_of_cublaslt(one)) for one in others]
    said = [best, *(f"{gpu}: {words}" for gpu, words in there if words != best)]
    ideas = ["; ".join(said) if idea == best else idea for idea in ideas]
    said = caption(runs) + "".join(map(cards_words, of_gpu.values()))
    return [*markdown([names, ideas, *cells]), "", said]


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
    own = [run for run in firsts(runs) if slug(run.gpu) == next(iter(gpus))]
    unit = measure.unit + " read and written" * (measure is results.MOVES)
    said = f"{unit}, burst: medians; {SPREAD} {origins(runs)}"
    return [*markdown(programs(["program", "idea"], own, names, columns, steps)), "", said]


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
    columns = programs(["program", "idea"], [run], names, columns)
    pairs = [run.against(name, results.rung_of(name)) for name in names]
    cells = [f"{one.ratio:.4f} ({one.faster}/{one.passes})" if one else DASH for one in pairs]
    cells += [DASH] * (len(columns[0]) - 1 - len(names))  # of whom they are compared with
    return markdown([*columns, ["against its rung", *cells]])


def rivals(library):
    """Other people's kernels beside the top of the ladder, track by track."""
    how = {"kind": lambda run: any(map(is_rival, run.names))}
    found = [library.find((), (CUBE, (4096,) * 3), track=track, **how) for track in "va"]
    table, said = [], {}
    places = [
        (gpu, f"{short}, {title(shape)}: TFLOPS", shape)
        for runs in found
        for gpu, short in gpus_of(runs).items()
        for shape in runs
        if gpu in runs[shape]
    ]
    for runs in filter(None, found):
        columns = []
        for gpu, head, shape in dict.fromkeys(places):
            cards = [runs.get(shape, {}).get(gpu, [])[:1]]
            columns += [(head, cards, "tflops", "±"), ("of cuBLAS", cards, "ratio", "±")]
        names = list(dict.fromkeys(name for run in firsts(runs) for name in run.names))
        own = [name for name in names if not is_rival(name)]
        top = [results.TOP] if results.TOP in own else own[-1:]
        names = [*filter(is_rival, names), *top]
        more = programs(["program", "what"], firsts(runs), names, columns)
        table = [old + new[1:] for old, new in zip(table, more)] or more
        said[caption(runs)] = None
    return [*markdown(table), "", " ".join(said)] if table else [NOTHING]


# --- shapes in rows -------------------------------------------------------------------------

CHOOSES = "v18"  # its tile for each product
MODES = {"f08": "fast", "f07": "block scales", "f02": "accurate"}  # of cuBLASLt


def sizes(library):
    """v18 at squares and at shapes of models: its usual launch, and its early launch."""
    runs = library.find([CHOOSES], (*((size,) * 3 for size in shapes.SQUARES), *shapes.MODELS))
    if not runs:
        return [NOTHING]
    columns = [["m x n x k", *map(title, runs)]]
    for head, gpu, figure in [(f"{CHOOSES}, TFLOPS", HOME, "tflops"), *ratio_columns(runs)]:
        cells = (cell(of_gpu.get(gpu, ()), CHOOSES, figure, "±") for of_gpu in runs.values())
        columns.append([head, *cells])
    said = caption(runs, f"{CUBLASLT} is {best_of_cublaslt(firsts(runs))}.")
    return [*markdown(columns, 1), "", said]


def calls(library):
    """One product from an idle stream until it is there, the host included."""
    there = sorted({run.shape for run in library.runs if run.protocol == "call"})
    runs = library.find((), there, protocol="call")
    if not runs:
        return [NOTHING]
    own = firsts(runs)
    columns = [["m x n x k", *(title(run.shape) for run in own)]]
    columns.append(["GPU", *(short_name(run.gpu) for run in own)])
    for name in [*dict.fromkeys(one for run in own for one in run.names), "cublas", "cublaslt"]:
        columns.append([called(name), *(call(run, name) for run in own)])
    words = (
        "Microseconds of a call; in parentheses what each did once before: a rung prepares, cuBLAS "
        f"starts, cuBLASLt starts and looks for {best_of_cublaslt(own)}."
    )
    return [*markdown(columns), "", caption(runs, words)]


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
        (name, shape): run
        for name in MODES
        for shape in sorted(there, reverse=True)
        if (run := library.choose([name], shape, **how)) and "heuristics" in run.first(name)
    }
    there = sorted({shape for _, shape in found}, reverse=True)
    ratios = {at: run.ratio(at[0], "cublaslt").mid for at, run in found.items()}
    columns, counts = [["m x n x k", *map(title, there)]], []
    for name, mode in MODES.items():
        runs = [found.get((name, shape)) for shape in there]
        rates = texts([run and run.rate(name) for run in runs], "rate", ".0")
        best = texts([ratios.get((name, shape)) for shape in there], "ratio")
        columns += [[f"{name}, TFLOPS", *rates], [f"of {CUBLASLT} ({mode})", *best]]
        searches = [run.first(name)["heuristics"] for run in runs if run]
        counts.append(f"{few_to_many([*map(configurations, searches)])} ({mode})")
    lost = [
        f"{name} at {title(shape)} ({ratios[name, shape]:.3f})"
        for shape in there
        for name in MODES
        if ratios.get((name, shape), 1) < 1
    ]
    runs = {place: {gpu: [run]} for place, run in found.items()}
    return [
        f"Slower than {CUBLASLT}: {', '.join(lost) or 'at no recorded shape'}.",
        *("", *markdown(columns, 1), ""),
        f"{CUBLASLT} is the fastest of its algorithms: of {', '.join(counts)}. "
        + origins(runs, lambda place: f"{place[0]} at {title(place[1])}"),
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
        f"shapes at {REACHED:.2f} or above": f"{sum(x >= REACHED for x in best)} of {len(runs)}",
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
    figures = [family_figures(runs, name) for runs in found.values()]
    columns = [[head, *texts([one[head] for one in figures], "ratio")] for head in figures[0]]
    runs = {(word, run.shape): {HOME: [run]} for word, of in found.items() for run in of}
    best = few_to_many([run.heuristics["returned"] for run in firsts(runs)])
    said = (
        f"Burst protocol; {CUBLASLT} is the best of {best} heuristics. Geometric means over shapes "
        f"drawn from seed {seed}; lowest: of {CUBLASLT}. {origins(runs, str)}"
    )
    return [*markdown([["family", *found], *columns], 1), "", said]


def worst(found, name):
    """The shapes at which a rung is furthest from cuBLASLt's best."""
    points = [
        (run.ratio(name, "cublaslt").mid, word, run) for word, runs in found.items() for run in runs
    ]
    ratios, words, runs = zip(*sorted(points, key=lambda point: point[0])[:WORST])
    early = [run.ratio(name, "cublaslt", EARLY) for run in runs]
    kernels = (run.heuristics["winner"]["name"] for run in runs)
    kernels = [re.sub(r"\bnvjet_(sm[0-9]+_)?[a-z]+_", "", kernel) for kernel in kernels]
    cut = [f"{one[:LONGEST_NAME]}…" if len(one) > LONGEST_NAME else one for one in kernels]
    columns = {
        "m x n x k": ["x".join(map(str, run.shape)) for run in runs],
        "family": words,
        "TFLOPS": texts([run.rate(name) for run in runs], "rate"),
        f"of {CUBLASLT}": texts(ratios, "ratio"),
        "early launch": texts(early, "ratio"),
        "its kernel": [str(run.first(name).get("kernel", DASH)) for run in runs],
        f"{CUBLASLT}: TFLOPS": texts([run.rate("cublaslt") for run in runs], "rate"),
        "its kernels": [f"`{kernel}`" for kernel in cut],
    }
    return markdown([[head, *cells] for head, cells in columns.items()])


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
    code = dedent("\n".join(line[1:] for line in bug["change"])).split("\n")
    change = [line[0] + text for line, text in zip(bug["change"], code)]
    report = ["", f"Under {bug['policy']} it says:", "", "```", *bug["report"], "```"]
    lines = [f"**{name}**: {bug['wrong']}.", "", "```diff", *change, "```"]
    return [*lines, "", f"The emulator, by policy: {said}.", *(report[1:] if bug["report"] else [])]


def agreement(library):
    """The end of what make compare said of two runs on one card."""
    text = max(library.folder.glob("*-agreement.txt")).read_text(encoding="utf-8")
    return ["```", *text[text.index(DISAGREEMENT) :].splitlines(), "```"]


def energy(library, what, rung):
    """What was measured of a rung's parts in the newest run of them, or what ncu counted."""
    run = library.use(budget.newest(library.runs).get(rung))
    if what not in ("parts", "counts") or run is None:
        raise ValueError("write energy parts or counts, and a rung that was measured in parts")
    if what == "counts":
        counts, columns = budget.counts_of(run), []
        apart = results.Run(run.context, rows={n: [{"counters": c}] for n, c in counts.items()})
        for figure in map(figure_of, ("l2_bytes", "sm_bytes", "dram_read_bytes")):
            values = [figure.read(apart, name) for name in counts]
            columns.append([f"{figure.head}, GB", *texts(values, "bytes", "GB", ".2")])
        return markdown([["part", *counts], *columns], 1)
    parts = budget.parts_of(run)
    joules = [None if name == budget.IDLE else part.joules for name, part in parts.items()]
    columns = {
        "part": parts,
        "what it is": [plain(part.what) for part in parts.values()],
        "watts": texts([part.watts for part in parts.values()], "power"),
        "joules": texts(joules, "energy", "J"),
        "clock, GHz": texts([part.ghz for part in parts.values()], "clock", ".3"),
        "tensor-core share, %": texts([part.share or None for part in parts.values()], "share"),
    }
    return markdown([[head, *cells] for head, cells in columns.items()])


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
