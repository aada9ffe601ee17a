"""Tables of what is recorded in bench/results. No figure is from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from bench import ladder, resources, results
from bench.energy import budget
from notes.tools import tables
from notes.tools.tables import DASH, cell, title

JUDGED = "shapes"  # a sweep over many shapes, which a rung's page doesn't list
FEW = 4  # shapes that are listed where a file is named
COUNTS = (
    ("DRAM read, GB", "dram_read_bytes", "GB"),
    ("DRAM written, GB", "dram_written_bytes", "GB"),
    ("L2 to SMs, GB", "l2_bytes", "GB"),
    ("arrives at SMs, GB", "sm_bytes", "GB"),
    ("10⁶ cycles", "counted_cycles", "million"),
    ("10⁶ shared bank conflicts", "bank_conflicts", "million"),
)
RESOURCES = {  # of a kernel: a column's head, and the keys of its figures
    "registers per thread": ("registers",),
    "static shared memory, bytes": ("static_shared_bytes",),
    "stack, bytes": ("stack_bytes",),
    "spill stores, loads, bytes": ("spill_store_bytes", "spill_load_bytes"),
}


@dataclass
class Table:
    """Rows of cells, each a text or (text, the place in the tree that it leads to, or ''); the first
    `words` columns hold words, the others figures. `bold` is the row that a page is about."""

    header: list
    rows: list
    words: int
    caption: str = ""
    bold: int = -1


# --- columns: (its head, a function of a run and a program's name) ----------------------------


def table(columns, entries, words, caption="", bold=-1):
    """A row for each entry, (run, name). A column of figures in which there are none is left out."""
    made = [[head, *(make(run, name) for run, name in entries)] for head, make in columns]
    kept = made[:words] + [column for column in made[words:] if {*column[1:]} != {DASH}]
    header, *rows = map(list, zip(*kept))
    return Table(header, rows, words, caption, bold)


def figure(head, *how):
    """A column of a figure in some form."""
    return head, lambda run, name: cell(run, name, *how)


def spread(values, digits):
    """'801.2 (796.0 to 804.9)', or a dash."""
    return values.to(digits) if values else DASH


def program(_, name):
    """The name of a rung or a variant, which leads to its source; any other as it is."""
    pattern = f"bench/variants/{name}.patch" if results.is_variant(name) else f"steps/{name}_*.cu"
    files = sorted(results.ROOT.glob(pattern))
    return name, files[0].relative_to(results.ROOT).as_posix() if files else ""


def idea(run, name):
    """A program's; or that it failed, and why."""
    why = run.failed.get(name)
    return f"failed: {why}" if why else run.first(name).get("idea", "")


def rates(measure):
    """The columns of the rate and the ratio, with their spreads."""
    return [
        (f"{measure.unit} (p10 to p90)", lambda run, name: spread(run.rate(name), 1)),
        (f"of {measure.other_name}", lambda run, name: spread(run.ratio(name), 3)),
    ]


def over(below):
    """'1.012 (5 of 5)' of a program and another, or a dash: in so many passes it was faster."""

    def words(run, name):
        both = {name, below} <= {*run.measured}
        found = run.against(name, below) if both and name != below else None
        return f"{found.ratio:.3f} ({found.faster} of {found.passes})" if found else DASH

    return f"over {below} (passes faster)", words


def origin(run, shape=True):
    """A run's shape and protocol, and on what and when it was measured."""
    what = [title(run.shape), run.protocol] if shape else [run.protocol]
    made = tables.made(run).replace("`", "")
    return f"{', '.join(what)}. {tables.on(run)}; {made}."


# --- a rung -----------------------------------------------------------------------------------


def at_home(library, name, *protocols):
    """The runs on the home GPU that have a result of the rung, by protocol and shape."""
    found = [
        run
        for run in library.runs
        if run.gpu and results.slug(run.gpu) == results.HOME
        if run.protocol in protocols and name in run.measured
    ]
    return sorted(found, key=lambda run: (run.protocol, run.shape, run.old))


def shown(runs):
    """Of such runs the first of each protocol and shape."""
    found = {}
    for run in runs:
        if not run.old and run.path.name.split(".")[0] != JUDGED:
            found.setdefault((run.protocol, run.shape), run)
    return list(found.values())


def times(library, rung):
    """How fast the rung is at each shape, beside those it is compared with."""
    every = at_home(library, rung.name, *results.PROTOCOLS)
    runs = shown(run for run in every if run.plain)
    if not runs:
        return []
    measure = runs[0].measure
    columns = [
        ("problem", lambda run, _: title(run.shape)),
        *(("protocol", lambda run, _: run.protocol), *rates(measure)),
        *(figure(measure.share, "share"), figure("SM clock", "clock")),
        *(figure("watts", "watts"), figure("joules", "joules", "J")),
        *([over(rung.below)] if rung.below else []),
        ("recorded", lambda run, _: (run.date[:10], library.place(run))),
    ]
    gpus = ", ".join(sorted({run.gpu["name"] for run in runs}))
    caption = f"{gpus}. Medians with the 10th and 90th percentile, rung by rung in turn."
    return [table(columns, [(run, rung.name) for run in runs], 2, caption)]


def counts(library, rung):
    """What the rung asked of the hardware, beside the rung below and cuBLAS: a list of tables."""
    made = []
    for run in shown(at_home(library, rung.name, "counters")):
        names = [name for name in (rung.below, rung.name) if name in run.measured]
        counted = {name: run.first(name)["counters"] for name in names}
        if cublas := run.first(rung.name).get("cublas"):
            counted["cuBLAS"] = cublas["counters"]
        made.append(counts_table(run, counted, len(names) - 1))
    return made


def counts_table(run, counted, bold=-1, labels=lambda _, name: name):
    """What ncu counted, {name: {metric: count}}."""
    columns = tables.counts_columns(run, counted, COUNTS)
    names = [labels(run, name) for name in counted]
    gpu, problem = run.gpu, run.problem
    caption = (
        f"One launch at {title(run.shape)} with cold caches. "
        f"{gpu['name']}, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, driver {gpu['driver']}, ncu "
        f"{run.context.get('ncu') or 'unknown'}; {problem['inputs']} inputs, seed "
        f"{problem['seed']}; {run.date[:10]}, commit {run.commit}."
    )
    header, *rows = zip(["program", *names], *columns)
    return Table(header, rows, 1, caption, bold)


def emulated(library, rung):
    """What the emulator counted of the rung, beside the rung below."""
    runs = reversed([run for run in library.runs if run.gpu is None])  # the first answers
    told = {name: run for run in runs for name in run.measured}
    names = [name for name in (rung.below, rung.name) if name in told]
    return [emulated_table({name: told[name] for name in names})] if rung.name in told else []


def emulated_table(runs):
    """What the emulator counted of rungs, {name: run}, a row for each kind that is not 0 in all."""
    told = [run.first(name)["emulator"] for name, run in runs.items()]
    rows = [
        [kind.replace("_", " "), *(whole(one["counts"].get(kind)) for one in told)]
        for kind in told[-1]["counts"]
        if any(one["counts"].get(kind) for one in told)
    ]
    run = list(runs.values())[-1]
    caption = (
        f"One launch at {title(run.shape)} on the emulator, policy "
        f"{told[-1]['counted_policy']}, {run.problem['inputs']} inputs; {run.date[:10]}, commit "
        f"{run.commit}."
    )
    return Table(["count", *runs], rows, 1, caption)


def whole(number):
    """'6,291,456', or '2.5' for a mean; a dash for none."""
    return DASH if number is None else f"{number:,}" if number == int(number) else f"{number:,.2f}"


def experiments(library, rung):
    """The rung beside its variants, where they ran together: a list of tables. A run in which all
    of them are in tables already has none."""
    made, seen = [], set()
    for run in at_home(library, rung.name, *results.PROTOCOLS):
        names = [name for name in run.names if results.rung_of(name) == rung.name]
        tried = {(run.protocol, run.shape, name) for name in names if name != rung.name}
        if not tried <= seen:
            seen |= tried
            columns = [("program", program), ("idea", idea), *rates(run.measure), over(names[0])]
            made.append(table(columns, [(run, name) for name in names], 2, origin(run), 0))
    return made


def resources_of(rung):
    """What ptxas said of the rung's kernels: (tables, what is to be known of it)."""
    record, rungs = resources.newest()
    kernels = rungs.get(rung.name)
    if not kernels:
        return [], "Not recorded yet: python3 -m bench.resources records it where nvcc is."
    rows = [
        [kernel["name"], kernel["arch"]]
        + [", ".join(str(kernel[key]) for key in keys) for keys in RESOURCES.values()]
        for kernel in kernels
    ]
    said = f"What ptxas of CUDA {record['cuda']} said, {record['date'][:10]}."
    return [Table(["kernel", "machine code", *RESOURCES], rows, 2)], said


def of_rung(library, rung):
    """What is recorded of a rung: {heading: tables}."""
    more = {"Counted by the hardware": counts, "Counted on the emulator": emulated}
    more["Tried beside it"] = experiments
    found = {heading: tables_of_it(library, rung) for heading, tables_of_it in more.items()}
    measured = {"Measured": times(library, rung)}
    return measured | {heading: tables for heading, tables in found.items() if tables}


# --- a file -----------------------------------------------------------------------------------


def times_table(runs):
    """Runs that differ by their shapes alone, as `make ladder` prints each."""
    several, rows = len(runs) > 1, []
    for run in runs:
        heads, *found = ladder.table(run)
        for name, words, *figures in found:
            row = [title(run.shape)] * several + [program(run, name), words]
            rows.append(row + (figures or [DASH] * len(heads[2:])))
    header = ["problem"] * several + heads
    return Table(header, rows, 2 + several, origin(runs[0], shape=not several))


def counters_table(run):
    """All programs of a run under ncu."""
    counted = {name: run.first(name)["counters"] for name in run.measured}
    return counts_table(run, counted, labels=program)


def parts_table(run):
    """A rung's parts, each of which ran alone."""
    optional = tables.optional
    rows = [
        [name, part.what, optional(part.watts, 0, "W"), optional(part.joules, 3, "J")]
        + [optional(part.ghz, 2, "GHz")]
        for name, part in budget.parts_of(run).items()
    ]
    header = ["part", "what it is", "watts", "joules", "clock"]
    return Table(header, rows, 2, f"The parts of {budget.rung_of(run)}. {origin(run)}")


def alike(run):
    """What runs have to share to be in one table."""
    how = run.protocol, run.commit, run.passes, run.rounds
    return *how, run.gpu, run.names, run.contenders


def tables_of(runs):
    """The tables that show a file."""
    made = []
    for (protocol, *_), group in groupby(runs, alike):
        group = list(group)
        if budget.is_of_parts(group[0]):
            made += map(parts_table, group)
        elif protocol in results.PROTOCOLS:
            made.append(times_table(group))
        elif protocol:
            made += map(counters_table, group)
        else:
            made += (emulated_table(dict.fromkeys(run.measured, run)) for run in group)
    return made


def words_of(runs):
    """'v track, burst, 8192³; ...': what is in a file."""
    found = {}
    for run in runs:
        words = [f"{''.join(sorted(run.tracks))} track", run.protocol or "counted on the emulator"]
        words += ["with variants"] * any(map(results.is_variant, run.names))
        found.setdefault(", ".join(words), {})[title(run.shape)] = None
    return "; ".join(
        f"{words}, {', '.join(shapes) if len(shapes) <= FEW else f'{len(shapes)} shapes'}"
        for words, shapes in found.items()
    )
