"""Tables of figures: rows are programs at some shapes, columns are quantities.

    <!-- figures @8192 @4096,sustained : v14 v15/v14 cublaslt : tflops against time=us -->
    <!-- rung v07 @4096 -->

Each word that begins with @ is a group of selectors. A column may name its format behind a =.
"""

from __future__ import annotations

from dataclasses import replace

from bench import rungs, shapes
from bench.markdown import DASH, table
from bench.records import recorded
from bench.records.vocabulary import BLOCK_SCALES, CONTENDERS
from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError, NotMeasured
from notes.tools.readings import Request

HEADS = {
    "tflops": "",
    "gb_per_s": "",
    "cycles": "",
    "counted_cycles": "counted",
    "against": "against its base",
    "clock": "SM clock",
    "watts": "power",
    "joules": "energy",
    "l2_bytes": "L2 to SMs",
    "sm_bytes": "arrives at SMs",
    "dram_bytes": "DRAM read + written",
    "dram_read_bytes": "DRAM read",
    "dram_written_bytes": "DRAM written",
    "bank_conflicts": "bank conflicts",
    "l2_requests": "requests to the L2",
    "gmma_instructions": "wgmma instructions",
    "lts__t_sectors_srcunit_ltcfabric.sum": "sectors between the L2's halves",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "wavefronts of stores",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "bank conflicts of stores",
    "emulator.mbarrier_waits": "waits",
    "emulator.mbarrier_waits_blocked": "of them blocked",
    "emulator.extra_wavefronts": "bank conflicts, emulated",
    "ratio_to_early": "early / usual time",
    "algorithms": "algorithms",
    **{name: name for name in ("time", "wavefronts", "instructions")},
}
UNIT_HEADS = {"million": "10⁶", "million cycles": "10⁶ cycles"}
NOTHING = "Not measured yet."
DIGITS = 2  # that the least number of a column has at least
MOST_DECIMALS = 4
OF_A_RUNG = "time {rate} ratio share clock cycles=million watts joules l2_bytes dram_bytes"


def answers_of(requests, library, missing, ways=(lambda one: one.subject, lambda one: one)):
    """{request: quantity}: all from one record if one has them all; otherwise those of one program
    from one, or each from its own. What is missing there has none."""
    try:
        return readings.answer(requests, library, missing)
    except ExpressionError as error:
        if not ways and not isinstance(error, missing):
            raise
    found, groups = {}, {}
    for one in requests if ways else ():
        groups.setdefault(ways[0](one), []).append(one)
    for group in groups.values():
        found |= answers_of(group, library, missing, ways[1:])
    return found


def rows_of(who, figures, selectors, library, missing):
    """[[quantity or None, ...], ...] of a group, a row for each program or quotient."""
    named = [one for one in "/".join(who).split("/") if recorded.NAME.fullmatch(one)]

    def request(subject, figure):
        allowed = {None, *readings.ALLOWED[readings.kind_of(figure)]}
        kept = tuple(word for word in selectors if readings.selected_by(word) in allowed)
        return Request(subject, figure, kept, named[0][0] if named else None)

    rows = [[[request(part, name) for part in one.split("/")] for name in figures] for one in who]
    kinds, found = {}, {}
    for one in (cell[0] for cells in rows for cell in cells if len(cell) == 1):
        paired = one.figure == readings.AGAINST and one.subject  # only a run of both answers it
        kinds.setdefault((readings.kind_of(one.figure), paired), []).append(one)
    for group in kinds.values():
        found |= answers_of(group, library, missing)

    def value(cell):
        if len(cell) == 1:
            return found.get(cell[0])
        if len(cell) > 2:
            raise ExpressionError("a quotient is of two programs")
        both = readings.answer(cell, library)  # from one record
        return quantities.divide(*(both[one] for one in cell))

    return [[value(cell) for cell in cells] for cells in rows]


def written(values, words):
    """(unit, texts) of a column's quantities, all in one unit with the same digits."""
    known = [value for value in values if value is not None]
    if not known:
        return "", [DASH] * len(values)
    form = quantities.format_of(words, max(known, key=lambda value: abs(value.value)))
    if not any(map(quantities.DECIMALS.fullmatch, words)) and form.unit.scale != 1:
        least = min((abs(one.value * form.unit.scale) for one in known if one.value), default=1)
        decimals = form.decimals
        while least * 10**decimals < 10 ** (DIGITS - 1) and decimals < MOST_DECIMALS:
            decimals += 1
        form = replace(form, decimals=decimals)
    return form.unit.text, [DASH if one is None else quantities.number(one, form) for one in values]


def title(program):
    """A program as a heading or a row calls it."""
    if program in CONTENDERS:
        return CONTENDERS[program].title
    return f"`{program}`" if recorded.is_variant(program) else program


def measure_of(who):
    """What is measured of these programs."""
    name = next((one for one in who if recorded.NAME.fullmatch(one)), "v01")
    return BLOCK_SCALES if rungs.scales_blocks(name) else shapes.measure_of_track(name[0])


def head_of(name, unit, words, measure):
    """The heading of a column."""
    moves = measure is recorded.MOVES
    head = HEADS.get(name, f"`{name}`")
    if name.startswith(readings.RATIO) and name not in HEADS:
        other = name.removeprefix(readings.RATIO).removeprefix("_to_") or measure.other
        head = f"of {title(other)}"
    if name == "share":
        head = "memory share" if moves else "tensor-core share"
    if unit in UNIT_HEADS:
        return f"{UNIT_HEADS[unit]} {head}".strip()
    return ", ".join(filter(None, (head, unit))) or name


def selector_text(word):
    """A selector as a table shows it: '81920 × 256 × 256'."""
    if readings.SHAPE.fullmatch(word):
        return " × ".join(word.split("x"))
    return f"`{word}`" if readings.COMMIT.fullmatch(word) else word


def head_of_groups(groups):
    """What tells the groups of rows apart: a protocol, a run's commit or, as a rule, a shape."""
    for head, kind in (("protocol", "protocol"), ("run", "commit")):
        if all(readings.SELECTORS[kind](word) for group in groups for word in group):
            return head
    return "shape"


def lines_of(library, groups, who, words, usual=False):
    """The lines of a table: rows are programs at groups of selectors, columns are named in `words`,
    or are the usual ones, of which some may be missing."""
    missing = (ExpressionError,) if usual else (NotMeasured,)
    named = [word.partition("=")[::2] for word in words]
    figures = [name for name, _ in named]
    values = [row for one in groups for row in rows_of(who, figures, one, library, missing)]
    quotients = ["/" in one for one in who] * len(groups)
    measure = measure_of("/".join(who).split("/"))
    columns = []
    if len(groups) > 1:
        columns.append(
            [
                head_of_groups(groups),
                *(", ".join(map(selector_text, g)) for g in groups for _ in who),
            ]
        )
    labels = ["/".join(map(title, one.split("/"))) for one in who]
    columns.append(["program", *labels * len(groups)])
    first = len(columns)
    for (name, form), column in zip(named, zip(*values)):
        form = form.split(",") if form else []
        own = [None if quotient else one for one, quotient in zip(column, quotients)]
        unit, texts = written(own, form)
        for place, quotient in enumerate(quotients):
            if quotient:
                texts[place] = quantities.write_as(column[place], ["gain"])
        if any(text != DASH for text in texts):
            columns.append([head_of(name, unit, form, measure), *texts])
        elif not usual:
            raise ExpressionError(f"no program here has '{name}' (notes/writing-a-note.md)")
    if len(groups) > 1 and len(who) > 1 and len(columns) == first + 1:
        columns = turned(columns[0], labels, columns[-1])
        first = 1
    return table(list(zip(*columns)), first)


def turned(shapes, labels, figures):
    """The columns of a table of one figure: a row for each shape, a column for each program."""
    head, *cells = figures
    columns = [[f"{head} at", *shapes[1 :: len(labels)]]]
    return columns + [[label, *cells[i :: len(labels)]] for i, label in enumerate(labels)]


def block(library, words):
    """The lines of a table of figures."""
    parts = [part.split() for part in " ".join(words).split(":")]
    if len(parts) != 3 or not all(parts[1:]) or not all(one[0] == "@" for one in parts[0]):
        right = "figures @8192 @4096,sustained : v14 v15/v14 : tflops clock"
        raise ValueError(f"'figures {' '.join(words)}': write {right}")
    timed = not all(name.startswith("emulator.") for name in parts[2])
    if timed and not recorded.NOT_MEASURED.isdisjoint(parts[1]):
        return [NOTHING]
    groups = [tuple(group.replace("@", "").split(",")) for group in parts[0]] or [()]
    return lines_of(library, groups, *parts[1:])


def rung_block(library, words):
    """The table of a rung beside the one below it and whom it is compared with. Counts are shown of
    no other shape than times, and a dash for what was not recorded."""
    name, *more = words or [""]
    if not recorded.NAME.fullmatch(name) or not all(word.startswith("@") for word in more):
        raise ValueError(f"'rung {' '.join(words)}': write rung v07, or rung v07 @4096")
    if name in recorded.NOT_MEASURED:
        return [NOTHING]
    selectors = tuple(word[1:] for word in more)
    usual = Request(name, "time", selectors)
    readings.answer([usual], library)  # or say what is missing
    if not any(map(readings.SHAPE.fullmatch, selectors)):
        selectors += ("x".join(map(str, readings.place_of(usual).shape)),)
    measure = measure_of([name])
    rung = rungs.find().get(name)
    below = rung.below if rung else recorded.rung_of(name)
    apart = set(readings.APART) - {name}
    who = dict.fromkeys(one for one in (below, name, measure.other) if one and one not in apart)
    columns = OF_A_RUNG.format(rate="gb_per_s" if measure is recorded.MOVES else "tflops=.1")
    return lines_of(library, [selectors], list(who), columns.split(), usual=True)
