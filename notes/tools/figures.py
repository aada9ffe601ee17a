"""Figures of recorded runs by name: `v07/v06 tflops @4096 as gain` in a sentence, and tables.

    <!-- figures @8192 @4096,sustained : v14 v15/v14 cublaslt : tflops against time=us -->
    <!-- rung v07 @4096 -->

A quotient is of one run, and so is a column if one run has all of it. In a table each word that
begins with @ is a group of selectors; a column may name its format after a =.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from bench import results, rungs, shapes
from bench.results import CONTENDERS, NAME, Spread, is_variant

# --- what a run says of a program -----------------------------------------------------------


def rate_of(run, who, name):
    """Work per second, if that is what such programs do."""
    return run.rate(who) if run.measure.rate == name else None


def time_of(run, who):
    """Seconds of a launch, by its rate."""
    rate, work = run.rate(who), run.work / run.measure.units
    return rate and Spread(work / rate.mid, work / rate.high, work / rate.low)


def cycles_of(run, who):
    """Of the SM clock, in the median time."""
    time, clock = time_of(run, who), run.reading(who, "ghz")
    return clock and time.mid * clock * 1e9


def ratio_of(run, who, to=None, of="step"):
    """Paired by round; of a contender the quotient of the medians."""
    if who not in CONTENDERS:
        return run.ratio(who, to, of)
    rates = run.rate(who), run.rate(to or run.measure.other)
    return rates[0].mid / rates[1].mid if all(rates) else None


def base_of(name):
    """The rung of a variant; of a rung the one that it grows from, if there is one."""
    rung = rungs.today().get(name)
    return results.rung_of(name) if is_variant(name) else rung and rung.below


def against(run, who):
    """Paired by pass with its base."""
    base = base_of(who)
    found = base and run.against(who, base)
    return found and found.ratio


def algorithms(run, who):
    """Of how many cuBLASLt's best is the best."""
    return run.algorithms if who == "cublaslt" else None


def counted(run, who, metrics, each):
    """The sum of some of ncu's metrics."""
    rows = run.rows.get(who, [])
    if who == "cublas":
        rows = [row["cublas"] for those in run.rows.values() for row in those if "cublas" in row]
    values = [rows[0]["counters"].get(metric) if rows else None for metric in metrics]
    return None if None in values else sum(values) * each


def emulated(run, who, name):
    """What the emulator counted; also what bank conflicts cost."""
    found = run.first(who)["emulator"]
    extra = sum(access["extra_wavefronts"] for access in found["shared_memory_accesses"])
    return {**found["counts"], "extra_wavefronts": extra}.get(name)


class Figure(NamedTuple):
    """A figure that has a name."""

    kind: str  # of UNITS
    head: str  # of its column
    read: object  # of a run and who: a number, a Spread, or None
    source: str = "times"  # or counters, or emulator


def reading(kind, head, key):
    """What was read beside the times."""
    return Figure(kind, head, lambda run, who: run.reading(who, key))


def counter(kind, head, *metrics, each=1):
    """What ncu counted."""
    return Figure(kind, head, partial(counted, metrics=metrics, each=each), "counters")


BANKS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
DRAM = "dram__bytes_read.sum", "dram__bytes_write.sum"
SECTOR_BYTES = 32
FIGURES = {
    "tflops": Figure("rate", "", partial(rate_of, name="tflops")),
    "gb_per_s": Figure("throughput", "", partial(rate_of, name="gb_per_s")),
    "time": Figure("time", "time", time_of),
    "ratio": Figure("ratio", "", ratio_of),
    "early_ratio": Figure("ratio", "early launch, of cuBLAS", partial(ratio_of, of="early")),
    "against": Figure("ratio", "against its base", against),
    "share": reading("share", "", "share"),
    "clock": reading("clock", "SM clock", "ghz"),
    "cycles": Figure("cycles", "", cycles_of),
    "watts": reading("power", "power", "watts"),
    "joules": reading("energy", "energy", "joules"),
    "l2_size": Figure("bytes", "L2", lambda run, _: run.gpu.get("l2_bytes")),
    "algorithms": Figure("count", "algorithms", algorithms),
    "l2_bytes": counter("bytes", "L2 to SMs", "lts__t_sectors_srcunit_tex.sum", each=SECTOR_BYTES),
    "l2_requests": counter("count", "requests to the L2", "lts__t_requests_srcunit_tex.sum"),
    "sm_bytes": counter("bytes", "arrives at SMs", "l1tex__m_xbar2l1tex_read_bytes.sum"),
    "dram_bytes": counter("bytes", "DRAM read + written", *DRAM),
    "dram_read_bytes": counter("bytes", "DRAM read", DRAM[0]),
    "dram_written_bytes": counter("bytes", "DRAM written", DRAM[1]),
    "counted_cycles": counter("cycles", "counted", "sm__cycles_elapsed.max"),
    "instructions": counter("count", "instructions", "smsp__inst_executed.sum"),
    "bank_conflicts": counter("count", "bank conflicts", f"{BANKS}.sum"),
    "wavefronts": counter("count", "wavefronts", f"{WAVEFRONTS}.sum"),
}
HEADS = {  # of figures whose names are somebody else's
    "lts__t_sectors_srcunit_ltcfabric.sum": "sectors between the L2's halves",
    f"{WAVEFRONTS}_op_st.sum": "wavefronts of stores",
    f"{BANKS}_op_st.sum": "bank conflicts of stores",
    "emulator.mbarrier_waits": "waits",
    "emulator.mbarrier_waits_blocked": "of them blocked",
    "emulator.extra_wavefronts": "bank conflicts, emulated",
    "ratio_to_early": "early / usual time",
}


def figure_of(name):
    """The figure of that name. ValueError if there is none."""
    head, to = HEADS.get(name, f"`{name}`"), name.removeprefix("ratio_to_")
    if name in FIGURES:
        return FIGURES[name]
    if to in (*CONTENDERS, results.EARLY):
        return Figure("ratio", HEADS.get(name, f"of {called(to)}"), partial(ratio_of, to=to))
    kind = "bytes" if "bytes" in name else "count"
    if name.startswith("emulator."):
        read = partial(emulated, name=name.removeprefix("emulator."))
        return Figure(kind, head, read, "emulator")
    if "__" in name:
        return counter(kind, head, name)
    raise ValueError(f"no figure is called '{name}' (CONTRIBUTING.md lists all)")


# --- how it is written ----------------------------------------------------------------------


class Unit(NamedTuple):
    """A number is multiplied with `scale` and shown with so many decimals."""

    kind: str
    word: str  # that asks for it
    text: str
    scale: float
    decimals: int
    least: float = 0  # of the kind's units the first with value >= least is taken by default


UNITS = (
    Unit("share", "percent", "%", 100, 1),
    Unit("rate", "TFLOPS", "TFLOPS", 1, 0),
    Unit("throughput", "GB/s", "GB/s", 1, 0),
    Unit("ratio", "factor", "", 1, 3),
    Unit("ratio", "gain", "%", 100, 1),  # its distance from 1, with its sign
    Unit("clock", "GHz", "GHz", 1, 2),
    Unit("time", "s", "s", 1, 2, 1),
    Unit("time", "ms", "ms", 1e3, 3, 1e-3),
    Unit("time", "us", "µs", 1e6, 2),
    Unit("cycles", "million", "million cycles", 1e-6, 3, 1e6),
    Unit("cycles", "cycles", "cycles", 1, 0),
    Unit("bytes", "GB", "GB", 1e-9, 2, 1e9),
    Unit("bytes", "MB", "MB", 1e-6, 1, 1e6),
    Unit("bytes", "bytes", "bytes", 1, 0),
    Unit("power", "W", "W", 1, 0),
    Unit("energy", "J", "J", 1, 3, 0.1),
    Unit("energy", "mJ", "mJ", 1e3, 0),
    Unit("count", "million", "million", 1e-6, 2, 1e6),
    Unit("count", "count", "", 1, 0),
)
SEPARATED_FROM = 10_000  # numbers from here on have commas between their thousands
DASH = "–"  # where nothing was recorded


def middle(value):
    """The median, of what has one."""
    return value.mid if isinstance(value, Spread) else value


def written(values, kind, words=()):
    """(unit, texts) of values of one kind, a dash for None: all in one unit with the same digits,
    as these words say, or as it suits the largest. A text stays as it is."""
    numbers = [middle(value) for value in values if not (value is None or isinstance(value, str))]
    units = {unit.word: unit for unit in UNITS if unit.kind == kind}
    if wrong := [word for word in words if not (word in units or re.fullmatch(r"\.[0-9]", word))]:
        raise ValueError(f"'{wrong[0]}' is no format of a {kind} ({', '.join(units)}, .2)")
    largest = max(map(abs, numbers), default=0)
    usual = next(one for one in units.values() if largest >= one.least)
    unit = next((units[word] for word in words if word in units), usual)
    decimals = next((int(word[1:]) for word in words if word[0] == "."), unit.decimals)
    gain = unit.word == "gain"

    def text(value):
        if value is None or isinstance(value, str):
            return value or DASH
        number = (middle(value) - gain) * unit.scale
        style = f"{'+' * gain}{',' * (abs(number) >= SEPARATED_FROM)}.{decimals}f"
        return f"{number:{style}}".replace("-", "−")

    return unit.text if numbers else "", [*map(text, values)]


def texts(values, kind, *words):
    """The same without the unit, which their heading says."""
    return written(values, kind, words)[1]


def write_as(value, kind, *words):
    """The text of a value with its unit."""
    unit, (text,) = written([value], kind, words)
    return text if text == DASH else f"{text} {unit}".strip()


# --- which run ------------------------------------------------------------------------------

SELECTORS = {  # what a word selects: the first that it fits
    "protocol": results.PROTOCOLS.__contains__,
    "commit": re.compile(r"[0-9a-f]{7,40}").fullmatch,
    "shape": re.compile(r"[0-9]{1,6}(x[0-9]{1,6}){0,2}").fullmatch,
    "gpu": re.compile(r"(?:gh|[abhl])[0-9]{2,3}").fullmatch,
}
SIZES = {("times", "t"): "32768", ("counters", "a"): "4096"}  # that are not 8192


def selected_by(word):
    """What a selector selects, or None."""
    return next((key for key, fits in SELECTORS.items() if fits(word)), None)


def track_of(whos):
    """That of the first program named; of contenders the one beside which they are looked for."""
    names = "/".join(whos).split("/")
    program = next(filter(NAME.fullmatch, names), None)
    return program[0] if program else CONTENDERS.get(names[0], CONTENDERS["cublas"]).track


def where(words, source, track):
    """What these selectors say, and what usually holds where they say nothing. ValueError for one
    that is none, or is given twice."""
    found = {selected_by(word): word for word in words}
    if None in found or len(found) < len(words):
        raise ValueError(f"select one of each of {', '.join(SELECTORS)}: {', '.join(words)}")
    sizes = found.get("shape", SIZES.get((source, track), str(results.SIZE))).split("x")
    sizes *= len(shapes.measure_of_track(track).dimensions) if len(sizes) == 1 else 1
    return {"protocol": "burst", **found, "shape": tuple(map(int, sizes)), "track": track}


def run_of(library, whos, figure, words, beside=()):
    """The run that has this figure of all of them, or None. ValueError for what cannot be."""
    names = {who for who in whos if NAME.fullmatch(who)}
    at = where(words, figure.source, track_of([*whos, *beside]))
    if figure.source == "emulator":
        runs = (run for run in library.runs if run.gpu is None and names <= run.rows.keys())
        return library.use(next(runs, None))
    if figure.source == "counters":
        whos, at = names, at | {"protocol": figure.source, "kind": lambda run: True}
    return library.use(library.choose(whos, **at))


def value_in(run, who, figure):
    """A figure of a program, or the quotient of those of 'v07/v06'; None if the run has none."""
    values = [run and figure.read(run, one) for one in who.split("/")]
    if None in values or len(values) > 2:
        return None
    first, *second = values
    return middle(first) / middle(*second) if second else first


def awaited(library, whos):
    """Whether one of them is a rung that no GPU has run yet: a dash says so."""
    known = {name for run in library.runs if run.gpu for name in run.measured}
    return bool({*"/".join(whos).split("/")} & {*rungs.find()} - known)


EXPRESSION = re.compile(
    r"(?P<who>[a-z][\w-]*(?:/[a-z][\w-]*)?) (?P<figure>[A-Za-z_][\w.-]*)"
    r"(?P<selectors>(?: @\w+)*)(?: as (?P<form>.+))?"
)


def text_of(expression, library):
    """What is written for an expression in a sentence (CONTRIBUTING.md), such as
    `v07/v06 tflops @4096 as gain`. ValueError if nothing can be."""
    match = EXPRESSION.fullmatch(" ".join(expression.split()))
    if not match:
        raise ValueError("write who and a quantity: v07/v06 tflops @4096 as gain")
    who, figure = match["who"], figure_of(match["figure"])
    run = run_of(library, who.split("/"), figure, match["selectors"].replace("@", "").split())
    value = value_in(run, who, figure)
    if value is None and awaited(library, [who]):
        return DASH
    if value is None:
        raise ValueError("nothing recorded has that")
    kind = "ratio" if "/" in who else figure.kind
    return write_as(value, kind, *(match["form"] or "").split())


# --- tables of figures ----------------------------------------------------------------------

HEAD_UNITS = {"million": "10⁶", "million cycles": "10⁶ cycles"}  # before the head, not after
GROUPS = {"protocol": "protocol", "commit": "run"}  # how a group is called; others are shapes
OF_A_RUNG = "time {rate} ratio share clock cycles=million watts joules l2_bytes dram_bytes"


def markdown(columns, words=2):
    """The lines of a table of columns, each with its head first; the first of them are words."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in zip(*columns)]
    alignment = ["---" if place < words else "---:" for place in range(len(columns))]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return [lines[0], f"|{'|'.join(alignment)}|", *lines[1:]]


def called(program):
    """A program as a heading or a row calls it."""
    if program in CONTENDERS:
        return CONTENDERS[program].title
    return f"`{program}`" if is_variant(program) else program


def runs_of(library, groups, who, figure):
    """(program or quotient, its run) at each group of selectors: one run of all programs if there is
    one, otherwise each its own."""
    single = [one for one in who if "/" not in one]
    for words in groups:
        together = single and run_of(library, single, figure, words, who)
        for one in who:
            own = "/" in one or not together
            yield one, run_of(library, one.split("/"), figure, words, who) if own else together


def column_of(library, groups, who, column):
    """The cells of a column, its head first."""
    name, _, form = column.partition("=")
    figure, values, measure = figure_of(name), [], results.PRODUCTS
    for one, run in runs_of(library, groups, who, figure):
        value = value_in(run, one, figure)
        values.append(write_as(value, "ratio", "gain") if "/" in one else value)
        measure = run.measure if run else measure
    unit, cells = written(values, figure.kind, form.split(",") if form else ())
    head = {"ratio": f"of {measure.other_name}", "share": measure.share}.get(name, figure.head)
    if unit in HEAD_UNITS:
        return [f"{HEAD_UNITS[unit]} {head}".strip(), *cells]
    return [", ".join(filter(None, (head, unit))) or name, *cells]


def place_text(group):
    """Selectors as a table shows them: '81920 × 256 × 256, sustained'."""
    marks = ["`" * (selected_by(word) == "commit") for word in group]
    return ", ".join(mark + word.replace("x", " × ") + mark for mark, word in zip(marks, group))


def lines_of(library, groups, who, words, missing=False):
    """The lines of a table: rows are programs at groups of selectors, columns are named in
    `words`, and left out if they may be missing. One figure of several programs at several groups
    has a row for each group and a column for each program."""
    columns = [column_of(library, groups, who, word) for word in words]
    none = [word for word, column in zip(words, columns) if {*column[1:]} == {DASH}]
    if none and not missing and awaited(library, who):
        none = []
    if none and not missing:
        raise ValueError(f"nothing recorded has {', '.join(none)} of {', '.join(who)} there")
    known = [column for word, column in zip(words, columns) if word not in none]
    labels = ["/".join(map(called, one.split("/"))) for one in who]
    if len(groups) == 1:
        return markdown([["program", *labels], *known], 1)
    if len(who) > 1 and len(known) == 1:
        ((head, *cells),) = known
        each = [[label, *cells[i :: len(who)]] for i, label in enumerate(labels)]
        return markdown([[f"{head} at", *map(place_text, groups)], *each], 1)
    kinds = [*{selected_by(word) for group in groups for word in group}]
    head = GROUPS.get(kinds[0], "shape") if len(kinds) == 1 else "shape"
    places = [place_text(group) for group in groups for _ in who]
    return markdown([[head, *places], ["program", *labels * len(groups)], *known])


def figures_block(library, *words):
    """The lines of a table of figures."""
    parts = [part.split() for part in " ".join(words).split(":")]
    if len(parts) != 3 or not all(parts[1:]) or not all(one[0] == "@" for one in parts[0]):
        raise ValueError("write figures @8192 @4096,sustained : v14 v15/v14 : tflops clock")
    groups = [group.replace("@", "").split(",") for group in parts[0]] or [[]]
    return lines_of(library, groups, *parts[1:])


def rung_block(library, *words):
    """The table of a rung beside the one below it and whom it is compared with. Counts are shown of
    no other shape than times, and a dash for what was not recorded."""
    name, *selectors = words or ("",)
    if not NAME.fullmatch(name) or not all(word[0] == "@" for word in selectors):
        raise ValueError("write rung v07, or rung v07 @4096")
    selectors = [word[1:] for word in selectors]
    run = run_of(library, [name], FIGURES["time"], selectors)
    if run is None and not selectors and name in rungs.find():
        return ["No run of it is recorded yet."]
    if run is None:
        raise ValueError("nothing recorded is of that")
    if "shape" not in map(selected_by, selectors):
        selectors.append(shapes.shape_text(run.shape))
    below = [one for one in (base_of(name),) if one and one not in results.APART]
    columns = OF_A_RUNG.format(rate="gb_per_s" if run.measure is results.MOVES else "tflops=.1")
    who = [*below, name, run.measure.other]
    return lines_of(library, [selectors], who, columns.split(), missing=True)


BLOCKS = {"figures": figures_block, "rung": rung_block}
