"""Tables of recorded runs in Markdown, and what was measured on what, when.

A table is columns of texts, each with its head first.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from textwrap import dedent

from bench import resources, results, rungs, shapes
from bench.energy import budget
from bench.record import RUNS, SEED
from bench.results import CONTENDERS, HOME, short_name, slug
from bench.sweep import FIRST, REGRET, TIMED, TUNED_REGRET, compared
from notes.tools.figures import DASH, called, column_of, markdown, written
from planted import plant

ORDER = [run.name for run in RUNS]  # of the files: the first that has an answer gives it
CUBE = (results.SIZE,) * 3
NOTHING = "No run is recorded yet."

# --- which runs -----------------------------------------------------------------------------


class Library:
    """All recorded runs of a folder; `used` are those that the figures of a page are from."""

    def __init__(self, folder=results.RESULTS):
        self.folder, self.used = Path(folder), {}
        runs = results.load_all(ORDER, self.folder)
        # Their s08 and a06 are in no table.
        self.runs = [run for run in runs if not run.path.name.startswith("cuda-l2")]
        self.gpus = list(dict.fromkeys(slug(run.gpu) for run in self.runs if run.gpu))

    def choose(
        self, names=(), shape=CUBE, protocol="burst", track="v", gpu=HOME, commit="", kind=None
    ):
        """The first run that has all of these programs and contenders, or None. Unless asked for
        them, or kind(run) says otherwise, none with variants or rivals."""
        shown = kind or (lambda run: run.plain or any("-" in name for name in names))

        def fits(run):
            return (
                (run.shape, run.protocol) == (shape, protocol)
                and track in run.tracks
                and (run.commit.startswith(commit) if commit else shown(run) and not run.old)
                and gpu in (*slug(run.gpu).split("-"), slug(run.gpu))
                and {*names} <= {*run.measured, *run.contenders}
            )

        return next(filter(fits, self.runs), None)

    def place(self, run):
        """Where the file of a run is in the tree."""
        return f"bench/results/{run.path.relative_to(self.folder).as_posix()}"

    def use(self, run):
        """The run, which from now on is one of those used."""
        self.used |= {id(run): run} if run else {}
        return run

    def headline(self):
        """The run of the v track at 8192 cubed on the home GPU."""
        return self.choose([results.TOP]) or nothing(results.TOP)


def nothing(*names):
    """ValueError: a table has nothing to show."""
    raise ValueError(f"nothing recorded has all of {', '.join(names)} there")


# --- what was measured, on what, when -------------------------------------------------------

MANY = 4  # shapes that were measured at one time are not listed
REPORTED = {"": "nothing", "wrong": "a wrong result", "lifetime": "a lifetime error"}  # by kind
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
    if "rounds" not in run.context:
        return words
    return f"{words}, {passes} pass{'es' * (passes > 1)} of {rounds} round{'s' * (rounds > 1)}"


def origins(runs):
    """On what and when it was measured: each machine once, the shapes where they differ."""
    paths = ((on(run), made(run), run.shape) for run in runs)
    machines, shapes = [], {run.shape for run in runs}
    for what, times in nested(paths).items():
        most = max(times, key=lambda text: len(times[text]))
        listed = [
            text if len(there) == len(shapes) else f"{', '.join(map(title, there))}: {text}"
            for text, there in times.items()
            if text != most or len(there) < MANY
        ]
        if len(times[most]) >= MANY:
            listed.append(f"all others: {most}" if listed else most)
        machines.append(f"{what}; {'; '.join(listed)}.")
    return " ".join(machines)


def few_to_many(numbers):
    """'8 to 11,448', or '8'."""
    return " to ".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))


def what_of(run):
    """What a run has: times, then counts, then energy; and its place among them."""
    if budget.is_of_parts(run):
        return 2, f"Energy: the parts of {budget.rung_of(run)}"
    if run.protocol == "counters":
        return 1, f"Counts, ncu {run.context['ncu'].removeprefix('Version ').partition(' ')[0]}"
    return 0, f"Times, {run.protocol}"


def sources(library):
    """Which runs the figures of the page are from, an item for each machine: times, counts, energy,
    each by date, and those that differ by their shapes alone together. Then the emulator's, all."""
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
        runs = [run for run in library.runs if run.gpu is None]
        tracks = nested((title(run.shape), track) for run in runs for track in sorted(run.tracks))
        places = ", ".join(f"{shape} ({', '.join(those)})" for shape, those in tracks.items())
        policy = runs[0].first(runs[0].names[0])["emulator"]["counted_policy"]
        items.append(f"- The emulator's counts of one launch: {places}; policy {policy}.")
    return items or ["Nothing recorded."]


# --- programs in rows -----------------------------------------------------------------------


def label(run, name):
    """(name, idea) of a program, or why it failed; of a contender what it is."""
    why = run.failed.get(name)
    words = plain(f"failed: {why}" if why else run.words_of(name))
    return CONTENDERS[name].name if name in CONTENDERS else name, words


def results_table(library):
    """The v track at 8192 cubed on the home GPU: rates and ratios."""
    run = library.headline()
    compared_with = (run.measure.other, *run.measure.besides)
    who = [*run.names, *(name for name in compared_with if name in run.contenders)]
    words = [["step", "idea"], *(label(run, name) for name in who)]
    figures = "tflops", "ratio", "ratio_to_cublaslt=.3"
    columns = [*map(list, zip(*words)), *(column_of(library, [[]], who, one) for one in figures)]
    mark_path(columns, run.names, rungs.find())
    words = f"Bursts at {title(CUBE)}, medians. Bold: the learner's path."
    return [*markdown(columns), "", f"{words} {origins([run])}"]


def mark_path(columns, names, known):
    """Links the rungs to their files, makes the names of the learner's path bold, and adds to the
    other ideas what they are."""

    def link(name):
        return f"[{name}](steps/{known[name].path.name})" if name in known else name

    for row, rung in enumerate(map(known.get, names), 1):
        if not rung:
            continue
        columns[0][row] = link(rung.name) if rung.aside else f"**{link(rung.name)}**"
        if rung.aside:
            there = rung.leads_to
            columns[1][row] += (
                f" ({rung.aside.replace(there, link(there)) if there else rung.aside})"
            )


def lists(_library):
    """Links to the pages of all rungs, track by track; those that the path leaves out are apart."""
    found = {}
    for name, rung in rungs.find().items():
        words = ", ".join(filter(None, (rungs.TRACKS[name[0]], rung.aside.partition(",")[0])))
        found.setdefault(words, []).append(f"[{name}](rungs/{name}.md)")
    return [f"- {words}: {', '.join(links)}" for words, links in found.items()]


def picture(library):
    """The picture of the v track, with its rates in words."""
    run = library.headline()
    shown = [*run.measured, "cublas", "cublaslt"]
    said = (f"{called(name)} {run.rate(name).mid:.0f}" for name in shown)
    words = f"TFLOPS at {title(CUBE)}, {plain(run.gpu['name'])}: {', '.join(said)}"
    return [f'<img src="plots/ladder.png" width="900" alt="{words}">']


PEAK, BAR = 989, 40  # TFLOPS of the datasheet; characters


def here(library, rung):
    """Where a rung is on the climb: its rate, of cuBLAS and of the datasheet's peak, as a bar."""
    run = library.headline()
    if rung not in run.measured:
        raise ValueError("write here v07")
    rate, ratio = run.rate(rung).mid, run.ratio(rung).mid
    bar = ("▮" * round(BAR * rate / PEAK)).ljust(BAR, "▯")
    return [
        f"> {bar}  ",
        f"> **You are here:** {rung}, {rate:.0f} TFLOPS, {ratio:.2f} of cuBLAS, {100 * rate / PEAK:.0f} % of the peak",
    ]


def registers(library, *names):
    """What ptxas says of these rungs and variants, of one kernel each."""
    record, kernels = resources.newest()
    found = [(kernels.get(name) or nothing(name))[0] for name in names]
    heads = {"registers": "registers", "spill_store_bytes": "spill stores, bytes"}
    heads |= {"spill_load_bytes": "spill loads, bytes"}
    columns = [[head, *(str(one[key]) for one in found)] for key, head in heads.items()]
    codes = [f"ptxas {record['cuda']} warns", *(", ".join(one["codes"]) or DASH for one in found)]
    return markdown([["program", *map(called, names)], *columns, codes], 1)


# --- families of shapes ---------------------------------------------------------------------

FAMILIES = ("aligned", "any", "rows", "small", "odd")
COMPARED = {  # of a sweep: whose time over whose, in which form
    "untimed / first": (FIRST, "factor"),
    "timed / best": (TIMED, "factor"),
    "untimed regret": (REGRET, "gain"),
    "timed regret": (TUNED_REGRET, "gain"),
}


def swept(runs, name, places):
    """{(place, GPU): its runs} of a rung that was swept over the shapes of these places."""
    there = {}
    for run in runs:
        if name in run.measured and {*FIRST, *TIMED} <= run.contenders:
            there.setdefault((run.shape, slug(run.gpu)), run)
    gpus = dict.fromkeys(gpu for _, gpu in there)
    found = {
        (place, gpu): [there[shape, gpu] for shape in at if (shape, gpu) in there]
        for (place, at), gpu in product(places.items(), gpus)
    }
    return {key: of for key, of in found.items() if of}


def families(seed=SEED):
    """{family: its shapes} of a seed."""
    return {word: shapes.drawn(word, seed, shapes.FAMILY_SHAPES) for word in FAMILIES}


def sweep_words(found):
    """What the ratios of the short table are."""
    runs = [run for of in found.values() for run in of]
    drawn = few_to_many([len(of) for (place, _), of in found.items() if place in FAMILIES] or [0])
    return (
        "Untimed: the kernel that the model takes, over cuBLASLt's first heuristic. Timed: what a quick "
        "tuner picks, over the fastest of cuBLASLt's heuristics. Regret: how much longer either "
        "choice takes than the fastest of all our kernels. Geometric means over "
        f"{drawn} random shapes a row, bursts. {origins(runs)}"
    )


def sweep(library, name):
    """A rung over the families of shapes, a row for each: what it chooses and what timing finds."""
    if name not in rungs.find():
        raise ValueError("write sweep s09")
    places = families()
    found = swept(library.runs, name, places)
    if not found:
        return [NOTHING]
    columns = [["shapes", *places]]
    for gpu, first in {gpu: runs[0] for (_, gpu), runs in found.items()}.items():
        of_gpu = [found.get((place, gpu), []) for place in places]
        for head, (pair, form) in COMPARED.items():
            ratios = [[*compared(runs, name, pair).values()] for runs in of_gpu]
            means = [geometric_mean(of) if of else None for of in ratios]
            unit, cells = written(means, "ratio", [form])
            head = ", ".join(filter(None, (f"{short_name(first.gpu)}: {head}", unit)))
            columns.append([head, *cells])
    return [*markdown(columns, 1), "", sweep_words(found)]


# --- other tables ---------------------------------------------------------------------------


def hazard(_library, rung, name):
    """A planted bug: what is wrong, the change, who found what, and one report."""
    bugs = {(row["rung"], row["bug"]): row for row in plant.read_reports()}
    if (rung, name) not in bugs:
        raise ValueError(
            "write its report: python3 -m planted.plant reports, after make test FULL=1"
        )
    bug = bugs[rung, name]
    found = nested((kind, who) for who, kind in bug["found"].items() if kind is not None)
    said = [f"{REPORTED.get(one, f'a {one}')} under {' and '.join(found[one])}" for one in found]
    code = dedent("\n".join(line[1:] for line in bug["change"])).split("\n")
    change = [line[0] + text for line, text in zip(bug["change"], code)]
    report = [f"Under the policy {bug['policy']} it says:", "", "```", *bug["report"], "```"]
    lines = [f"**{name}**: {bug['wrong']}.", "", "```diff", *change, "```"]
    lines += ["", f"The emulator reports {', and '.join(said)}."]
    return lines + (report if bug["report"] else [])


# By the first word of their markers; fill.py has `rung` and `figures`.
BLOCKS = {"results": results_table, "lists": lists}
BLOCKS |= {one.__name__: one for one in (picture, here, registers, sweep, hazard, sources)}
