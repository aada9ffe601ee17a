"""Figures of recorded runs by name: `v07/v06 tflops @4096 as gain` in a sentence, and tables of them.

    <!-- figures @8192 @4096,sustained : v14 v15/v14 cublaslt : tflops against time=us -->
    <!-- rung v07 @4096 -->

What is in one expression is of one run, so a quotient never mixes two. In a table each word that
begins with @ is a group of selectors; a column may name its format after a =.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from bench import rungs, shapes
from bench.results import APART, BLOCK_SCALES, CONTENDERS, HOME, MOVES, MOVING, NAME, PROTOCOLS
from bench.results import Spread, is_variant, rung_of
from notes.tools.tables import DASH, configurations, markdown, ratio_of, time_of


class ExpressionError(ValueError):
    """An expression of a note cannot be read, or nothing recorded has what it names."""


# --- what a run says of a program -----------------------------------------------------------


def rate(run, who, name):
    """In units of work per second, if that is what such programs do."""
    return run.rate(who) if run.measure.rate == name else None


def cycles(run, who):
    """Of the SM clock, in the median time."""
    time, clock = time_of(run, who), run.reading(who, "ghz")
    return clock and time.mid * clock * 1e9


def base_of(name):
    """The rung of a variant; of a rung the one that it grows from."""
    return rung_of(name) if is_variant(name) else getattr(rungs.today().get(name), "below", None)


def against(run, who):
    """Paired with its base."""
    found = run.against(who, base_of(who)) if who not in CONTENDERS and base_of(who) else None
    return found and found.ratio


def reading(key, scale=1):
    """What was read beside the times."""

    def read(run, who):
        value = run.reading(who, key)
        return None if value is None else value * scale

    return read


def algorithms(run, who):
    """Of how many of cuBLASLt's its best is the best."""
    return configurations(run.heuristics) if who == "cublaslt" and run.heuristics else None


def counted(*metrics, scale=1):
    """The sum of some of ncu's metrics of a launch."""

    def read(run, who):
        rows = [row for name in run.measured for row in run.rows[name]]
        rows = [row["cublas"] for row in rows if "cublas" in row] if who == "cublas" else [
            row for row in rows if row["step"] == who]  # fmt: skip
        values = [rows[0]["counters"].get(metric) for metric in metrics] if rows else [None]
        return None if None in values else sum(values) * scale

    return read


def emulated(name, run, who):
    """Of what the emulator counted: with the dimensions, and all that bank conflicts cost."""
    found = run.first(who)["emulator"]
    extra = sum(access["extra_wavefronts"] for access in found["shared_memory_accesses"])
    return {**found["counts"], **run.problem, "extra_wavefronts": extra}.get(name)


class Figure(NamedTuple):
    """A figure that has a name."""

    kind: str  # of UNITS
    head: str  # of its column
    read: object  # of a run and who: a number, a Spread, or None
    source: str = "times"  # or counters, or emulator


FIGURES = {
    "tflops": Figure("rate", "", partial(rate, name="tflops")),
    "gb_per_s": Figure("throughput", "", partial(rate, name="gb_per_s")),
    "time": Figure("time", "time", time_of),
    "ratio": Figure("ratio", "", ratio_of),
    "early_ratio": Figure("ratio", "", partial(ratio_of, of="early")),
    "against": Figure("ratio", "against its base", against),
    "share": Figure("share", "", reading("share")),
    "clock": Figure("clock", "SM clock", reading("ghz")),
    "cycles": Figure("cycles", "", cycles),
    "watts": Figure("power", "power", reading("watts")),
    "joules": Figure("energy", "energy", reading("joules")),
    "before_seconds": Figure("time", "`before_seconds`", reading("before_seconds")),
    "l2_size": Figure("bytes", "`l2_size`", lambda run, _: run.gpu.get("l2_bytes")),
    "algorithms": Figure("count", "algorithms", algorithms),
}
SECTOR_BYTES = 32
BANKS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
COUNTED = {  # name: kind, head, metrics of ncu, scale
    "l2_bytes": ("bytes", "L2 to SMs", "lts__t_sectors_srcunit_tex.sum", SECTOR_BYTES),
    "l2_requests": ("count", "requests to the L2", "lts__t_requests_srcunit_tex.sum", 1),
    "sm_bytes": ("bytes", "arrives at SMs", "l1tex__m_xbar2l1tex_read_bytes.sum", 1),
    "dram_bytes": ("bytes", "DRAM read + written", "dram__bytes_read.sum dram__bytes_write.sum", 1),
    "dram_read_bytes": ("bytes", "DRAM read", "dram__bytes_read.sum", 1),
    "dram_written_bytes": ("bytes", "DRAM written", "dram__bytes_write.sum", 1),
    "counted_cycles": ("cycles", "counted", "sm__cycles_elapsed.max", 1),
    "instructions": ("count", "instructions", "smsp__inst_executed.sum", 1),
    "gmma_instructions": (
        *("count", "wgmma instructions", "sm__inst_executed_pipe_tensor_op_gmma.sum", 1),
    ),
    "bank_conflicts": ("count", "bank conflicts", f"{BANKS}.sum", 1),
    "wavefronts": ("count", "wavefronts", f"{WAVEFRONTS}.sum", 1),
}
HEADS = {  # of other figures
    "lts__t_sectors_srcunit_ltcfabric.sum": "sectors between the L2's halves",
    f"{WAVEFRONTS}_op_st.sum": "wavefronts of stores",
    f"{BANKS}_op_st.sum": "bank conflicts of stores",
    "emulator.mbarrier_waits": "waits",
    "emulator.mbarrier_waits_blocked": "of them blocked",
    "emulator.extra_wavefronts": "bank conflicts, emulated",
    "ratio_to_early": "early / usual time",
}


def figure_of(name):
    """The figure of that name. ExpressionError if there is none."""
    if name in FIGURES:
        return FIGURES[name]
    head = HEADS.get(name, f"`{name}`")
    if name in COUNTED:
        kind, head, metrics, scale = COUNTED[name]
        return Figure(kind, head, counted(*metrics.split(), scale=scale), "counters")
    kind = "bytes" if "bytes" in name else "count"
    if "__" in name:
        return Figure(kind, head, counted(name), "counters")
    group, dot, word = name.partition(".")
    if group == "emulator":
        kind = "bytes" if name.endswith("_bytes") else "count"
        return Figure(kind, head, partial(emulated, word), "emulator")
    if dot and group == "limited":
        return Figure(
            "share", head, lambda run, who: (run.reading(who, "clock_limits") or {}).get(word)
        )
    to = name.removeprefix("ratio_to_")
    if to in (*CONTENDERS, "early"):
        return Figure("ratio", HEADS.get(name, ""), partial(ratio_of, to=to))
    raise ExpressionError(f"no figure is called '{name}' (notes/writing-a-note.md lists them)")


# --- how it is written ----------------------------------------------------------------------


class Unit(NamedTuple):
    """A number is multiplied with `scale` and shown with so many decimals."""

    text: str
    scale: float
    decimals: int
    least: float = 0.0  # of the kind's units the first with value >= least is taken by default


PERCENT = Unit("%", 100, 1)
UNITS = {  # of each kind, by the word that asks for it
    "rate": {"TFLOPS": Unit("TFLOPS", 1, 0)},
    "throughput": {"GB/s": Unit("GB/s", 1, 0)},
    "ratio": {"factor": Unit("", 1, 3)},
    "share": {"percent": PERCENT},
    "clock": {"GHz": Unit("GHz", 1, 2)},
    "time": {
        "s": Unit("s", 1, 2, 1),
        "ms": Unit("ms", 1e3, 3, 1e-3),
        "us": Unit("µs", 1e6, 2),
    },
    "cycles": {"million": Unit("million cycles", 1e-6, 3, 1e6), "cycles": Unit("cycles", 1, 0)},
    "bytes": {
        "GB": Unit("GB", 1e-9, 2, 1e9),
        "MB": Unit("MB", 1e-6, 1, 1e6),
        "bytes": Unit("bytes", 1, 0),
    },
    "power": {"W": Unit("W", 1, 0)},
    "energy": {"J": Unit("J", 1, 3, 1e-1), "mJ": Unit("mJ", 1e3, 0)},
    "count": {"million": Unit("million", 1e-6, 2, 1e6), "count": Unit("", 1, 0)},
}
SEPARATED_FROM = 10_000  # numbers from here on have commas between their thousands


class Form(NamedTuple):
    """How a value is written: what is after `as`."""

    unit: Unit
    decimals: int
    plus_minus: bool = False  # half of the distance from the 10th to the 90th percentile beside it
    gain: bool = False  # a ratio as its signed distance from 1


def middle(value):
    """The median, of what has one."""
    return value.mid if isinstance(value, Spread) else value


def form_of(words, kind, value):
    """The form that these words ask for, with what is usual for such a value."""
    units, found = UNITS[kind], {}
    for word in words:
        if re.fullmatch(r"\.[0-9]", word):
            found["decimals"] = int(word[1:])
        elif word == "±":
            found["plus_minus"] = True
        elif word == "gain" and kind == "ratio":
            found.update(gain=True, unit=PERCENT)
        elif word in units:
            found["unit"] = units[word]
        else:
            raise ExpressionError(f"'{word}' is no format of a {kind}, nor one of {', '.join(units)}")
    usual = next(unit for unit in units.values() if abs(middle(value)) >= unit.least)
    unit = found.setdefault("unit", usual)
    return Form(**{"decimals": unit.decimals, **found})


def number(value, form):
    """A value without its unit."""
    if form.plus_minus and isinstance(value, Spread):
        return Spread(*(one * form.unit.scale for one in value)).plus_minus(form.decimals)
    value = (middle(value) - form.gain) * form.unit.scale
    style = f"{'+' * form.gain}{',' * (abs(value) >= SEPARATED_FROM)}.{form.decimals}f"
    return f"{value:{style}}".replace("-", "−")


def write_as(value, kind, words):
    """The text of a value in the form of those words; with ± it has no unit."""
    form = form_of(words, kind, value)
    unit = "" if form.plus_minus else form.unit.text
    return f"{number(value, form)} {unit}".strip()


# --- where to look --------------------------------------------------------------------------

SHAPE = re.compile(r"[0-9]{1,6}(x[0-9]{1,6}){0,2}")
SELECTORS = {  # what a word selects: the first that it fits
    "protocol": PROTOCOLS.__contains__,
    "commit": re.compile(r"[0-9a-f]{7,40}").fullmatch,
    "shape": SHAPE.fullmatch,
    "gpu": re.compile(r"(?:gh|[abhl])[0-9]{2,3}").fullmatch,
}
ALLOWED = {
    "times": tuple(SELECTORS),
    "counters": ("commit", "shape", "gpu"),
    "emulator": (),
}
USUAL_SIZES = {("times", "t"): 32768, ("counters", "a"): 4096}  # others are 8192


class Request(NamedTuple):
    """One figure of one program."""

    who: str
    figure: str
    selectors: tuple = ()
    track: str | None = None  # beside whose rungs a contender is looked for


class Place(NamedTuple):
    """Where to look."""

    source: str
    track: str
    shape: tuple
    protocol: str | None
    commit: str | None
    gpu: str


def selected_by(word):
    """What a selector selects, or None."""
    return next((key for key, fits in SELECTORS.items() if fits(word)), None)


def place_of(request):
    """Where a request looks, with what usually holds for all that was not selected. ExpressionError
    for a selector that is none, is given twice, or says nothing of such a figure."""
    who, source, found = request.who, figure_of(request.figure).source, {}
    for word in request.selectors:
        key = selected_by(word)
        if key in found or key not in ALLOWED[source]:
            of = ", ".join(ALLOWED[source]) or "nothing"
            raise ExpressionError(f"'@{word}': of {request.figure} select no more than one {of}")
        found[key] = word
    if not NAME.fullmatch(who) and who not in CONTENDERS:
        raise ExpressionError(f"'{who}' is neither a program nor one of {', '.join(CONTENDERS)}")
    track = who[0] if NAME.fullmatch(who) else request.track or CONTENDERS[who].track
    usual = str(USUAL_SIZES.get((source, track), 8192))
    numbers = tuple(map(int, found.get("shape", usual).split("x")))
    dimensions = 2 if track == MOVING else 3
    shape = numbers * dimensions if len(numbers) == 1 else numbers
    if len(shape) != dimensions:
        raise ExpressionError(f"'@{found['shape']}' has not {dimensions} dimensions")
    protocol = found.get("protocol", PROTOCOLS[0]) if source == "times" else None
    return Place(source, track, shape, protocol, found.get("commit"), found.get("gpu", HOME))


def run_of(place, requests, library):
    """The run that answers these requests. ExpressionError if none does."""
    names = {one.who for one in requests if NAME.fullmatch(one.who)}
    how = {"shape": place.shape, "protocol": place.protocol, "track": place.track}
    how |= {"commit": place.commit, "gpu": place.gpu}
    if place.source == "times":
        paired = {base_of(one.who) for one in requests if one.figure == "against"}
        how["who"] = {one.who for one in requests} & CONTENDERS.keys()
        run = library.answer(names | paired - {None}, **how)
    elif place.source == "counters":
        run = library.answer(names, **{**how, "protocol": "counters"}, kind=lambda run: True)
    else:
        run = library.counts_of(names)
    if run is None:
        asked = ", ".join(dict.fromkeys(f"{one.who} {one.figure}" for one in requests))
        where = ", ".join(str(value) for value in place if value)
        raise ExpressionError(f"nothing recorded has {asked} in: {where}")
    return run


def grouped(items, key):
    """{key: items with that key}"""
    found = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


WAYS = (lambda one: one.who, lambda one: one)  # to ask for less at a time


def answers(requests, library, usual=False, ways=WAYS):
    """{request: value}, None if that was not measured: all of one run if one has them all; otherwise
    those of one program of one run, or each of its own. `usual` ones may be missing."""
    found = {}
    try:
        for place, group in grouped(requests, place_of).items():
            run = run_of(place, group, library)
            found |= {one: figure_of(one.figure).read(run, one.who) for one in group}
        return found
    except ExpressionError:
        if not ways and not usual:
            raise
    for group in grouped(requests, ways[0]).values() if ways else ():
        found |= answers(group, library, usual, ways[1:])
    return found


def quotient(requests, library):
    """The value of the only request, or the quotient of two, of one run; and its kind."""
    if len(requests) > 2:
        raise ExpressionError("a quotient is of two programs")
    found = answers(requests, library, ways=())
    values = [found[one] for one in requests]
    if None in values:
        raise ExpressionError("the run has no such figure (notes/writing-a-note.md lists all)")
    if len(values) == 1:
        return values[0], figure_of(requests[0].figure).kind
    own, other = map(middle, values)
    if not other:
        raise ExpressionError("a division by 0")
    return own / other, "ratio"


EXPRESSION = re.compile(
    r"(?P<who>[a-z][\w-]*(?:/[a-z][\w-]*)?) (?P<figure>[A-Za-z_][\w.-]*)"
    r"(?P<selectors>(?: @\w+)*)(?: as (?P<form>.+))?"
)


def text_of(expression, library):
    """What is written for an expression in a sentence (notes/writing-a-note.md), such as
    `v07/v06 tflops @4096 as gain`. ExpressionError, quoting it, if nothing can be."""
    words = " ".join(expression.split())
    match = EXPRESSION.fullmatch(words)
    try:
        if not match:
            raise ExpressionError("write who and a quantity: v07/v06 tflops @4096 as gain")
        selectors = tuple(word[1:] for word in match["selectors"].split())
        requests = [Request(one, match["figure"], selectors) for one in match["who"].split("/")]
        value, kind = quotient(requests, library)
        return write_as(value, kind, (match["form"] or "").split())
    except ExpressionError as error:
        raise ExpressionError(f"'{words}': {error}") from error


# --- tables of figures ----------------------------------------------------------------------

UNIT_HEADS = {"million": "10⁶", "million cycles": "10⁶ cycles"}
DIGITS = 2  # that the least number of a column has at least
MOST_DECIMALS = 4
OF_A_RUNG = "time {rate} ratio share clock cycles=million watts joules l2_bytes dram_bytes"


def rows_of(who, figures, selectors, library, usual):
    """[[value or None, ...], ...] of a group, a row for each program or quotient."""
    track = next((one[0] for one in "/".join(who).split("/") if NAME.fullmatch(one)), None)

    def request(subject, figure):
        allowed = {None, *ALLOWED[figure_of(figure).source]}
        kept = tuple(word for word in selectors if selected_by(word) in allowed)
        return Request(subject, figure, kept, track)

    rows = [[[request(part, name) for part in one.split("/")] for name in figures] for one in who]
    alone = [cell[0] for cells in rows for cell in cells if len(cell) == 1]
    found = {}
    # Only a run of both answers what is paired; it need not have the rest.
    for group in grouped(alone, lambda one: (figure_of(one.figure).source, one.figure == "against")):
        pass
    for group in grouped(
        alone, lambda one: (figure_of(one.figure).source, one.figure == "against")
    ).values():
        found |= answers(group, library, usual)
    return [
        [found.get(cell[0]) if len(cell) == 1 else quotient(cell, library)[0] for cell in cells]
        for cells in rows
    ]


def written(values, kind, words):
    """(unit, texts) of a column's values, all in one unit with the same digits."""
    known = [value for value in values if value is not None]
    if not known:
        return "", [DASH] * len(values)
    form = form_of(words, kind, max(known, key=lambda value: abs(middle(value))))
    if not re.search(r"\.[0-9]", " ".join(words)) and form.unit.scale != 1:
        sizes = (abs(middle(value)) * form.unit.scale for value in known)
        least, decimals = min(filter(None, sizes), default=1), form.decimals
        while least * 10**decimals < 10 ** (DIGITS - 1) and decimals < MOST_DECIMALS:
            decimals += 1
        form = form._replace(decimals=decimals)
    return form.unit.text, [DASH if one is None else number(one, form) for one in values]


def title(program):
    """A program as a heading or a row calls it."""
    if program in CONTENDERS:
        return CONTENDERS[program].title
    return f"`{program}`" if is_variant(program) else program


def measure_of(who):
    """What is measured of these programs."""
    name = next((one for one in who if NAME.fullmatch(one)), "v01")
    return BLOCK_SCALES if rungs.scales_blocks(name) else shapes.measure_of_track(name[0])


def head_of(name, unit, measure):
    """The heading of a column."""
    head = figure_of(name).head
    if name.startswith("ratio") and not head:
        head = f"of {title(name.removeprefix('ratio').removeprefix('_to_') or measure.other)}"
    if name == "share":
        head = "memory share" if measure is MOVES else "tensor-core share"
    if unit in UNIT_HEADS:
        return f"{UNIT_HEADS[unit]} {head}".strip()
    return ", ".join(filter(None, (head, unit))) or name


def selector_text(word):
    """A selector as a table shows it: '81920 × 256 × 256'."""
    if SHAPE.fullmatch(word):
        return " × ".join(word.split("x"))
    return f"`{word}`" if selected_by(word) == "commit" else word


def head_of_groups(groups):
    """What tells the groups of rows apart: a protocol, a run's commit or, as a rule, a shape."""
    for head, kind in (("protocol", "protocol"), ("run", "commit")):
        if all(selected_by(word) == kind for group in groups for word in group):
            return head
    return "shape"


def lines_of(library, groups, who, words, usual=False):
    """The lines of a table: rows are programs at groups of selectors, columns are named in `words`,
    or are the usual ones, of which some may be missing."""
    named = [word.partition("=")[::2] for word in words]
    figures = [name for name, _ in named]
    values = [row for one in groups for row in rows_of(who, figures, one, library, usual)]
    quotients = ["/" in one for one in who] * len(groups)
    measure = measure_of("/".join(who).split("/"))
    labels = ["/".join(map(title, one.split("/"))) for one in who]
    columns = [["program", *labels * len(groups)]]
    if len(groups) > 1:
        texts = [", ".join(map(selector_text, group)) for group in groups for _ in who]
        columns.insert(0, [head_of_groups(groups), *texts])
    first = len(columns)
    for (name, form), column in zip(named, zip(*values)):
        own = [None if quotient else one for one, quotient in zip(column, quotients)]
        unit, texts = written(own, figure_of(name).kind, form.split(",") if form else [])
        for place, quotient in enumerate(quotients):
            if quotient:
                texts[place] = write_as(column[place], "ratio", ["gain"])
        if any(text != DASH for text in texts):
            columns.append([head_of(name, unit, measure), *texts])
        elif not usual:
            raise ExpressionError(f"no program here has '{name}' (notes/writing-a-note.md)")
    if len(groups) > 1 and len(who) > 1 and len(columns) == first + 1:
        columns = turned(columns[0], labels, columns[-1])
        first = 1
    return markdown(list(zip(*columns)), first)


def turned(groups, labels, figures):
    """The columns of a table of one figure: a row for each group, a column for each program."""
    head, *cells = figures
    columns = [[f"{head} at", *groups[1 :: len(labels)]]]
    return columns + [[label, *cells[i :: len(labels)]] for i, label in enumerate(labels)]


def figures_block(library, *words):
    """The lines of a table of figures."""
    parts = [part.split() for part in " ".join(words).split(":")]
    if len(parts) != 3 or not all(parts[1:]) or not all(one[0] == "@" for one in parts[0]):
        raise ValueError("write figures @8192 @4096,sustained : v14 v15/v14 : tflops clock")
    groups = [tuple(group.replace("@", "").split(",")) for group in parts[0]] or [()]
    return lines_of(library, groups, *parts[1:])


def rung_block(library, *words):
    """The table of a rung beside the one below it and whom it is compared with. Counts are shown of
    no other shape than times, and a dash for what was not recorded."""
    name, *more = words or ("",)
    if not NAME.fullmatch(name) or not all(word[0] == "@" for word in more):
        raise ValueError("write rung v07, or rung v07 @4096")
    selectors = tuple(word[1:] for word in more)
    usual = Request(name, "time", selectors)
    answers([usual], library)  # or say what is missing
    if not any(map(SHAPE.fullmatch, selectors)):
        selectors += ("x".join(map(str, place_of(usual).shape)),)
    measure = measure_of([name])
    who = [base_of(name), name, measure.other]
    who = list(dict.fromkeys(one for one in who if one and one not in set(APART) - {name}))
    columns = OF_A_RUNG.format(rate="gb_per_s" if measure is MOVES else "tflops=.1")
    return lines_of(library, [selectors], who, columns.split(), usual=True)


BLOCKS = {"figures": figures_block, "rung": rung_block}
