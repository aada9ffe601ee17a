"""The block of figures: rows are programs at some shapes, columns are quantities.

    <!-- figures @8192 @4096,sustained : v14 v15/v14 cublaslt : tflops against time=us -->

Each word that begins with @ is a group of selectors. A column may name its format behind a =.
"""

from __future__ import annotations

import contextlib

from bench.markdown import table
from bench.records import recorded
from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError
from notes.tools.readings import Request

NOT_KNOWN = "–"
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
    "share": "share of the peak",
    "l2_bytes": "L2 to SMs",
    "sm_bytes": "arrives at SMs",
    "dram_bytes": "DRAM",
    "dram_read_bytes": "DRAM read",
    "dram_written_bytes": "DRAM written",
    "bank_conflicts": "bank conflicts",
    **{name: name for name in ("time", "wavefronts", "instructions")},
}
UNIT_HEADS = {"million": "10⁶", "million cycles": "10⁶ cycles", "thousand cycles": "10³ cycles"}
DIGITS = 2  # that the least number of a column has at least
MOST_DECIMALS = 4


def parts_of(words):
    """(groups of selectors, who, columns as (quantity, format)) of a marker."""
    parts = " ".join(words).split(":")
    if len(parts) != 3:
        raise ValueError(f"'figures {' '.join(words)}': {USAGE}")
    groups, who, columns = (part.split() for part in parts)
    if not who or not columns or not all(group.startswith("@") for group in groups):
        raise ValueError(f"'figures {' '.join(words)}': {USAGE}")
    selectors = [tuple(group.replace("@", "").split(",")) for group in groups] or [()]
    named = [column.partition("=")[::2] for column in columns]
    return selectors, who, [(name, form.split(",") if form else []) for name, form in named]


def request(subject, figure, selectors, track):
    """A request of a cell: without the selectors that do not apply; others than rungs are of the
    rungs' track."""
    kind = readings.kind_of(figure)
    allowed, _ = readings.LIMITED.get(kind, (readings.SELECTORS, ""))
    kept = tuple(word for word in selectors if readings.selected_by(word) in {None, *allowed})
    own = Request(subject, figure, kept)
    if own.name:
        return Request(subject, figure, tuple(w for w in kept if w not in recorded.TRACKS))
    if track and not set(kept) & set(recorded.TRACKS):
        return Request(subject, figure, (*kept, track))
    return own


def has_none(one):
    """Whether the program of a request cannot have such a figure: what is no rung is compared with
    nothing, and of all of them cuBLAS alone is counted."""
    kind = readings.kind_of(one.figure)
    if one.name:
        return False
    return (kind == "ladder" and one.figure not in readings.TIMED) or (
        kind == "counters" and one.subject != "cublas"
    )


def answers_of(requests, library):
    """{request: quantity}, all from one record of a kind if one has them all; otherwise those of one
    program from one, or each from its own."""
    found = {}
    by_kind = {}
    for one in requests:
        paired = one.figure == readings.AGAINST and one.subject  # only a run of both has it
        by_kind.setdefault((readings.kind_of(one.figure), paired), []).append(one)
    for group in by_kind.values():
        try:
            found |= readings.answer(group, library)
            continue
        except ExpressionError:
            pass
        for subject in dict.fromkeys(one.subject for one in group):
            own = [one for one in group if one.subject == subject]
            try:
                found |= readings.answer(own, library)
            except ExpressionError:
                for one in own:
                    with contextlib.suppress(quantities.NotMeasured):
                        found |= readings.answer([one], library)
    return found


def quotients_of(pair, requests, library):
    """{request: quantity} of a quotient: both programs from one record."""
    upper, lower = pair
    found = {}
    for one, other in requests:
        both = readings.answer([one, other], library)
        found[one.figure] = quantities.divide(both[one], both[other])
    if not found:
        raise ExpressionError(f"{upper}/{lower} has no figure")
    return found


def cells_of(who, columns, selectors, library):
    """[[quantity or None, ...], ...] of a group, a row for each program or quotient."""
    subjects = [subject for one in who for subject in one.split("/")]
    named = [subject for subject in subjects if recorded.NAME.fullmatch(subject)]
    track = named[0][0] if named else None
    single = [
        request(one, figure, selectors, track)
        for one in who
        if "/" not in one
        for figure, _ in columns
    ]
    answers = answers_of([one for one in single if not has_none(one)], library)
    rows = []
    for one in who:
        if "/" not in one:
            rows.append([answers.get(request(one, name, selectors, track)) for name, _ in columns])
            continue
        pair = one.split("/")
        if len(pair) != 2:
            raise ExpressionError(f"'{one}' is no quotient of two programs")
        both = [[request(part, name, selectors, track) for part in pair] for name, _ in columns]
        found = quotients_of(pair, both, library)
        rows.append([found[name] for name, _ in columns])
    return rows


def written(values, form):
    """(unit, texts) of a column's quantities, all in one unit with the same digits."""
    known = [value for value in values if value is not None]
    if not known:
        return "", [NOT_KNOWN] * len(values)
    form = quantities.read_format(form)
    unit = quantities.unit_of(max(known, key=lambda value: abs(value.value)), form.unit)
    least = min((abs(one.value * unit.scale) for one in known if one.value), default=1)
    decimals = unit.decimals
    while (
        unit.scale != 1 and least * 10**decimals < 10 ** (DIGITS - 1) and decimals < MOST_DECIMALS
    ):
        decimals += 1
    form.decimals = decimals if form.decimals is None else form.decimals
    form.bare = True
    form.unit = next(
        word
        for word, one in quantities.UNITS.get(known[0].kind, quantities.UNITS["number"]).items()
        if one is unit
    )
    texts = [NOT_KNOWN if one is None else quantities.write(one, form) for one in values]
    return ("" if form.change else unit.text), texts


def head_of(name, unit, form, who):
    """The heading of a column."""
    words = HEADS.get(name, f"`{name}`")
    if name.startswith("ratio"):
        usual = "device_copy" if any(one[0] == recorded.MOVING for one in who) else "cublas"
        other = name[len("ratio_to_") :] or usual
        words = f"of {OTHERS.get(other, other)}"
    words = " ".join([words, *(word for word in form if word in quantities.PARTS)]).strip()
    unit = UNIT_HEADS.get(unit, unit)
    if unit.startswith("10"):
        return f"{unit} {words}".strip()
    return f"{words}, {unit}" if words and unit else words or unit


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
        return " × ".join(one.split("x")) if "x" in one else one

    return ", ".join(map(word, selectors))


def block(library, words):
    """The lines of the table."""
    groups, who, columns = parts_of(words)
    names, rows = [], []
    for selectors in groups:
        for one, values in zip(who, cells_of(who, columns, selectors, library)):
            names.append(([group_name(selectors)] if len(groups) > 1 else []) + [name_of(one)])
            rows.append((one, values))
    heads, texts = [], []
    for index, (name, form) in enumerate(columns):
        own = [None if "/" in one else values[index] for one, values in rows]
        unit, shown = written(own, form)
        shown = [
            quantities.write_as(values[index], ["gain"]) if "/" in one else text
            for (one, values), text in zip(rows, shown)
        ]
        heads.append(head_of(name, unit, form, who))
        texts.append(shown)
    first = ["shape", "program"] if len(groups) > 1 else ["program"]
    lines = [[*name, *cells] for name, cells in zip(names, zip(*texts))]
    return table([[*first, *heads], *lines], len(first))
