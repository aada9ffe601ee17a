"""Tables of figures: rows are programs at some shapes, columns are quantities.

    <!-- figures @8192 @4096,sustained : v14 v15/v14 cublaslt : tflops against time=us -->
    <!-- rung v07 @4096 -->

Each word that begins with @ is a group of selectors. A column may name its format behind a =.
"""

from __future__ import annotations

from dataclasses import replace

from bench import rungs
from bench.markdown import table
from bench.records import recorded
from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError, NotMeasured
from notes.tools.readings import Request

DASH = "–"
USAGE = "write figures @8192 @4096,sustained : v14 v15/v14 : tflops clock"
OTHERS = {
    "cublas": "cuBLAS",
    "cublaslt": "cuBLASLt's best",
    "cublas_fp16_sums": "cuBLAS, fp16 sums",
    "device_copy": "device copy",
    "second_opinion": "the second opinion",
}
HEADS = {
    "tflops": "",
    "gb_per_s": "",
    "cycles": "",
    "counted_cycles": "counted",
    "against": "against the rung below",
    "clock": "SM clock",
    "watts": "power",
    "joules": "energy",
    "l2_bytes": "L2 to SMs",
    "sm_bytes": "arrives at SMs",
    "dram_bytes": "DRAM",
    "dram_read_bytes": "DRAM read",
    "dram_written_bytes": "DRAM written",
    "bank_conflicts": "bank conflicts",
    **{name: name for name in ("time", "wavefronts", "instructions")},
}
UNIT_HEADS = {"million": "10⁶", "million cycles": "10⁶ cycles"}
DIGITS = 2  # that the least number of a column has at least
MOST_DECIMALS = 4
OF_A_RUNG = "time {rate} ratio share clock cycles=million watts joules l2_bytes dram_bytes"
RATE_OF_A_RUNG = {recorded.PRODUCTS: "tflops=.1", recorded.MOVES: "gb_per_s"}


def request(subject, figure, selectors, track):
    """A request of a cell: without the selectors that do not apply."""
    allowed = {None, *readings.ALLOWED[readings.kind_of(figure)]}
    kept = tuple(word for word in selectors if readings.selected_by(word) in allowed)
    return Request(subject, figure, kept, track)


def answers_of(requests, library, missing, ways=(lambda one: one.subject, lambda one: one)):
    """{request: quantity}: all from one record of a kind if one has them all; otherwise those of one
    program from one, or each from its own. What is missing there has none."""
    try:
        return readings.answer(requests, library, missing)
    except ExpressionError as error:
        if not ways:
            if isinstance(error, missing):
                return {}
            raise
    found, groups = {}, {}
    for one in requests:
        groups.setdefault(ways[0](one), []).append(one)
    for group in groups.values():
        found |= answers_of(group, library, missing, ways[1:])
    return found


def kind_of_cell(one):
    """What only a run of both programs answers stands apart from what else is asked of a record."""
    return readings.kind_of(one.figure), one.figure == readings.AGAINST and one.subject


def rows_of(who, figures, selectors, library, missing):
    """[[quantity or None, ...], ...] of a group, a row for each program or quotient."""
    named = [one for one in "/".join(who).split("/") if recorded.NAME.fullmatch(one)]
    track = named[0][0] if named else None
    rows = {
        one: [
            [request(part, name, selectors, track) for part in one.split("/")] for name in figures
        ]
        for one in who
    }
    single = [cell[0] for cells in rows.values() for cell in cells if len(cell) == 1]
    found = {}
    for kind in dict.fromkeys(map(kind_of_cell, single)):
        group = [one for one in single if kind_of_cell(one) == kind]
        found |= answers_of(group, library, missing)

    def value(cell):
        if len(cell) == 1:
            return found.get(cell[0])
        if len(cell) > 2:
            raise ExpressionError("a quotient is of two programs")
        both = readings.answer(cell, library)  # from one record
        return quantities.divide(*(both[one] for one in cell))

    return [[value(cell) for cell in cells] for cells in rows.values()]


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


def head_of(name, unit, words, moves):
    """The heading of a column."""
    head = HEADS.get(name, f"`{name}`")
    if name.startswith(readings.RATIO):
        usual = "device_copy" if moves else "cublas"
        other = name.removeprefix(readings.RATIO).removeprefix("_to_") or usual
        head = f"of {OTHERS.get(other, other)}"
    if name == "share":
        head = "memory share" if moves else "tensor-core share"
    head = " ".join([head, *(word for word in words if word in quantities.PARTS)]).strip()
    if unit in UNIT_HEADS:
        return f"{UNIT_HEADS[unit]} {head}".strip()
    return ", ".join(filter(None, (head, unit)))


def name_of(subject):
    """A program as a table names it."""
    return "/".join(
        f"`{one}`" if recorded.is_variant(one) else OTHERS.get(one, one)
        for one in subject.split("/")
    )


def group_name(selectors):
    """'8192³, sustained'"""

    def word(one):
        if not readings.SHAPE.fullmatch(one):
            return f"`{one}`" if readings.COMMIT.fullmatch(one) else one
        return " × ".join(one.split("x"))

    return ", ".join(map(word, selectors))


def cells_of(library, groups, who, columns, missing=(NotMeasured,)):
    """(the names of all rows, their cells by column), the headings first."""
    names, rows = [["shape", "program"]], []
    for selectors in groups:
        figures = [name for name, _ in columns]
        for one, values in zip(who, rows_of(who, figures, selectors, library, missing)):
            names.append([group_name(selectors), name_of(one)])
            rows.append(values)
    quotients = ["/" in one for one in who] * len(groups)
    moves = any(one[0] == recorded.MOVING for one in who)
    found = []
    for (name, words), values in zip(columns, zip(*rows)):
        own = [None if quotient else one for one, quotient in zip(values, quotients)]
        unit, texts = written(own, words)
        for place, quotient in enumerate(quotients):
            if quotient:
                texts[place] = quantities.write_as(values[place], ["gain"])
        found.append([head_of(name, unit, words, moves), *texts])
    return [name if len(groups) > 1 else name[1:] for name in names], found


def columns_of(words):
    """[(figure, words of its format)] of 'tflops time=us,.2'."""
    named = [word.partition("=")[::2] for word in words]
    return [(name, form.split(",") if form else []) for name, form in named]


def block(library, words):
    """The lines of a table of figures."""
    parts = [part.split() for part in " ".join(words).split(":")]
    if len(parts) != 3 or not all(parts[1:]) or not all(one[0] == "@" for one in parts[0]):
        raise ValueError(f"'figures {' '.join(words)}': {USAGE}")
    groups = [tuple(group.replace("@", "").split(",")) for group in parts[0]] or [()]
    names, cells = cells_of(library, groups, parts[1], columns_of(parts[2]))
    return table([[*name, *row] for name, row in zip(names, zip(*cells))], len(names[0]))


def below(name):
    """The rung that it grows from, if that computes the same, or None; a variant's is its rung."""
    if recorded.is_variant(name):
        return recorded.rung_of(name)
    found = rungs.find().get(name)
    return found.below if found and found.below not in readings.APART else None


def rung_block(library, words):
    """The table of a rung beside the one below it and whom it is compared with. Counts are shown of no
    other shape than times, and a dash for what was not recorded."""
    name, *more = words or [""]
    if not recorded.NAME.fullmatch(name) or not all(word.startswith("@") for word in more):
        raise ValueError(f"'rung {' '.join(words)}': write rung v07, or rung v07 @4096")
    selectors = tuple(word[1:] for word in more)
    usual = Request(name, "time", selectors)
    readings.answer([usual], library)  # or say what is missing
    if not any(map(readings.SHAPE.fullmatch, selectors)):
        selectors += ("x".join(map(str, readings.place_of(usual).shape)),)
    measure = recorded.MOVES if name[0] == recorded.MOVING else recorded.PRODUCTS
    columns = columns_of(OF_A_RUNG.format(rate=RATE_OF_A_RUNG[measure]).split())
    who = [one for one in (below(name), name, measure.other) if one]
    names, cells = cells_of(library, [selectors], who, columns, (ExpressionError,))
    shown = [column for column in cells if any(cell != DASH for cell in column[1:])]
    return table([[*name, *row] for name, row in zip(names, zip(*shown))], 1)
