"""Figures of a recorded energy run: `v14 energy.tensor` in the notes.

The lines of the budget (bench/energy/budget.py) by their names, with the least and the most that they are
with one of the parts left out; `whole`, with the counter's scatter; three numbers that follow from
parts outside of it; and of each part what was measured. Every function raises ExpressionError if the
run does not show what is asked for.
"""

from __future__ import annotations

from bench.energy import budget
from notes.tools.quantities import ExpressionError, Quantity

PREFIX = "energy."
LINES = ("idle", "awake", *(term.name for term in budget.TERMS), "rest")
OTHERS = ("whole", "zeros", "apart", "slope")
OF_A_PART = {  # figure -> (field, scale, kind)
    "watts": ("watts", 1, "power"),
    "joules": ("joules", 1, "energy"),
    "time": ("seconds", 1, "time"),
    "clock": ("sm_clock_ghz", 1e9, "clock"),
    "share": ("tensor_core_share", 1, "share"),
}
COUNTED = ("l2_bytes", "sm_bytes", "dram_read_bytes")  # by ncu, of one launch of some parts
WORDS = (
    f"{PREFIX}{', '.join((*LINES, *OTHERS))}, and of a part "
    f"{PREFIX}{', '.join((*OF_A_PART, *COUNTED))} with its name behind it ({PREFIX}watts.no-store)"
)


def of_budget(made, name):
    """A line of the budget, or a number beside it."""
    for entry in made.entries:
        if entry.name == name:
            return Quantity(entry.joules, "energy", entry.low, entry.high)
    if name == "whole":
        return Quantity(made.joules, "energy", made.joules - made.error, made.joules + made.error)
    value, kind, part = {
        "zeros": (made.zeros, "share", budget.ZEROS),
        "apart": (made.apart, "energy", budget.APART),
        "slope": (made.fit.slope, "number", None),
    }[name]
    if value is None:
        raise ExpressionError(f"the part {part} was not measured in this run")
    return Quantity(value, kind)


def of_part(record, figure, name):
    """What was measured of a part."""
    part = budget.good_parts(record).get(name)
    if part is None:
        raise ExpressionError(f"this energy run has no part '{name}'")
    key, scale, kind = OF_A_PART[figure]
    if part[key] is None:
        raise ExpressionError(f"the part {name} has no {figure}")
    return Quantity(scale * part[key], kind)


def of_counts(record, figure, name):
    """What ncu counted of a part."""
    counted = (record.get("counted") or {"parts": []})["parts"]
    part = next((part for part in counted if part["part"] == name), {})
    if part.get(figure) is None:
        raise ExpressionError(f"this energy run has no {figure} counted of '{name}'")
    return Quantity(part[figure], "bytes")


def figure(record, name):
    """The figure of that name, of an energy run."""
    word, _, part = name[len(PREFIX) :].partition(".")
    if part and word in OF_A_PART:
        return of_part(record, word, part)
    if part and word in COUNTED:
        return of_counts(record, word, part)
    if part or word not in (*LINES, *OTHERS):
        raise ExpressionError(f"'{name}' is no figure of an energy run; there are {WORDS}")
    try:
        return of_budget(budget.make(record), word)
    except budget.Unsolvable as error:
        raise ExpressionError(str(error)) from error
