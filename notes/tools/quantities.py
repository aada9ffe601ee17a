"""Numbers with what they measure, and how the notes write them.

A quantity knows its kind. The kind says which units there are, and whether two quantities may be
added or divided. Every function raises ExpressionError, which says what does not fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SEPARATED_FROM = 10_000  # numbers from here on have commas between their thousands
DECIMALS = re.compile(r"\.[0-9]")


class ExpressionError(ValueError):
    """An expression of a note cannot be read, or nothing recorded has what it names."""


class NotMeasured(ExpressionError):
    """The record that answers does not have this figure, such as the tensor-core share of v01."""


@dataclass(frozen=True)
class Unit:
    """A unit as it is written: the number is multiplied with `scale` and `decimals` are shown."""

    text: str
    scale: float
    decimals: int
    least: float = 0.0  # of the kind's units the first with value >= least is taken by default


# Of each kind, by the word that asks for it. The default is the first that is small enough.
UNITS = {
    "rate": {"TFLOPS": Unit("TFLOPS", 1e-12, 0)},
    "throughput": {
        "GB/s": Unit("GB/s", 1e-9, 0),
        "TB/s": Unit("TB/s", 1e-12, 2),
    },
    "ratio": {"factor": Unit("", 1, 3), "percent": Unit("%", 100, 1)},
    "share": {"percent": Unit("%", 100, 1), "factor": Unit("", 1, 3)},
    "clock": {"GHz": Unit("GHz", 1e-9, 2), "MHz": Unit("MHz", 1e-6, 0)},
    "time": {
        "s": Unit("s", 1, 2, 1),
        "ms": Unit("ms", 1e3, 3, 1e-3),
        "us": Unit("µs", 1e6, 2, 1e-6),
        "ns": Unit("ns", 1e9, 0),
    },
    "cycles": {
        "million": Unit("million cycles", 1e-6, 3, 1e6),
        "thousand": Unit("thousand cycles", 1e-3, 1, 1e9),
        "cycles": Unit("cycles", 1, 0),
    },
    "bytes": {
        "GB": Unit("GB", 1e-9, 2, 1e9),
        "MB": Unit("MB", 1e-6, 1, 1e6),
        "MiB": Unit("MiB", 2**-20, 1, 1e12),
        "KiB": Unit("KiB", 2**-10, 0, 1e12),
        "bytes": Unit("bytes", 1, 0),
    },
    "power": {"W": Unit("W", 1, 0)},
    "energy": {"J": Unit("J", 1, 3, 1e-1), "mJ": Unit("mJ", 1e3, 0)},
    "energy of a byte": {"pJ/byte": Unit("pJ per byte", 1e12, 1)},
    "energy of a FLOP": {"pJ/FLOP": Unit("pJ per FLOP", 1e12, 2)},
    "count": {
        "million": Unit("million", 1e-6, 2, 1e6),
        "thousand": Unit("thousand", 1e-3, 1, 1e9),
        "count": Unit("", 1, 0),
    },
    "number": {"number": Unit("", 1, 2)},
}
NEUTRAL = ("number", "ratio", "share", "count")  # multiplying or dividing by them keeps the kind
PRODUCTS_OF = {frozenset(("time", "clock")): "cycles", frozenset(("time", "power")): "energy"}
QUOTIENTS_OF = {
    ("cycles", "clock"): "time",
    ("cycles", "time"): "clock",
    ("bytes", "time"): "throughput",
    ("flop", "time"): "rate",
    ("energy", "time"): "power",
    ("energy", "bytes"): "energy of a byte",
    ("energy", "flop"): "energy of a FLOP",
}


@dataclass(frozen=True)
class Quantity:
    """A number in base units (a second, a byte, a FLOP per second), and its percentiles if known."""

    value: float
    kind: str
    low: float | None = None
    high: float | None = None


def add(left, right, sign):
    """left + sign * right: both of one kind, or one a plain number, which then is of the other's."""
    kinds = {left.kind, right.kind} - {"number"}
    if len(kinds) > 1:
        raise ExpressionError(f"a {left.kind} and a {right.kind} cannot be added or subtracted")
    return Quantity(left.value + sign * right.value, kinds.pop() if kinds else "number")


def multiply(left, right):
    """left * right."""
    value = left.value * right.value
    if right.kind in NEUTRAL:
        plain = left.kind in NEUTRAL and left.kind != right.kind
        return Quantity(value, "number" if plain else left.kind)
    if left.kind in NEUTRAL:
        return Quantity(value, right.kind)
    return Quantity(value, PRODUCTS_OF.get(frozenset((left.kind, right.kind)), "number"))


def divide(left, right):
    """left / right."""
    if right.value == 0:
        raise ExpressionError("a division by 0")
    value = left.value / right.value
    if left.kind == right.kind:
        return Quantity(value, "number" if left.kind == "number" else "ratio")
    if right.kind in NEUTRAL:
        return Quantity(value, "number" if left.kind in NEUTRAL else left.kind)
    return Quantity(value, QUOTIENTS_OF.get((left.kind, right.kind), "number"))


# --- how they are written -------------------------------------------------------------------


@dataclass
class Format:
    """What stands behind `as`."""

    unit: str | None = None
    decimals: int | None = None
    bare: bool = False  # without its unit
    part: str = "value"  # or low, high, spread
    change: str | None = None  # gain, more or less: a ratio's distance from 1


PARTS = ("low", "high", "spread")
CHANGES = ("gain", "more", "less")
UNIT_WORDS = {word for units in UNITS.values() for word in units}


def read_format(words):
    """The format that these words ask for."""
    found = Format()
    for word in words:
        if DECIMALS.fullmatch(word):
            found.decimals = int(word[1:])
        elif word == "bare":
            found.bare = True
        elif word in PARTS:
            found.part = word
        elif word in CHANGES:
            found.change = word
        elif word in UNIT_WORDS:
            found.unit = word
        else:
            raise ExpressionError(f"'{word}' is no unit and no format")
    return found


def named_kind(quantity, word):
    """A number that arithmetic gave, in base units, as a quantity of the unit that is asked for."""
    kinds = [kind for kind, units in UNITS.items() if word in units]
    if quantity.kind not in ("number", "flop") or "number" in kinds:
        return quantity
    return Quantity(quantity.value, "count" if "count" in kinds else kinds[0])


def changed(quantity, change):
    """A ratio as its distance from 1. `more` and `less` insist on their direction."""
    if quantity.kind not in ("ratio", "share", "number"):
        raise ExpressionError(f"'{change}' wants a ratio, not a {quantity.kind}")
    distance = quantity.value - 1
    if change == "less":
        distance = -distance
    if change != "gain" and distance < 0:
        raise ExpressionError(f"'{change}' is the wrong word: the ratio is {quantity.value:.4f}")
    return Quantity(distance, "share")


def unit_of(quantity, word):
    """The unit that is asked for, or the kind's default at this size."""
    units = UNITS.get(quantity.kind, UNITS["number"])
    if word is None:
        return next(unit for unit in units.values() if abs(quantity.value) >= unit.least)
    if word not in units:
        raise ExpressionError(
            f"'{word}' is no unit of a {quantity.kind}; there are {', '.join(units)}"
        )
    return units[word]


def digits(value, decimals, signed=False):
    """A number in decimals; a whole one without any if it is a plain number."""
    comma = "," if abs(value) >= SEPARATED_FROM else ""
    return f"{value:{'+' if signed else ''}{comma}.{decimals}f}".replace("-", "−")


def write(quantity, form):
    """The text of a quantity in that format."""
    if form.change:
        quantity = changed(quantity, form.change)
    unit = unit_of(quantity, form.unit)
    decimals = unit.decimals if form.decimals is None else form.decimals
    if quantity.kind == "number" and form.decimals is None and quantity.value.is_integer():
        decimals = 0

    def shown(value):
        return digits(value * unit.scale, decimals, form.change == "gain")

    if form.part != "value" and quantity.low is None:
        raise ExpressionError(f"there are no percentiles: '{form.part}' shows nothing")
    texts = {
        "value": lambda: shown(quantity.value),
        "low": lambda: shown(quantity.low),
        "high": lambda: shown(quantity.high),
        "spread": lambda: f"{shown(quantity.low)} to {shown(quantity.high)}",
    }
    text = texts[form.part]()
    return text if form.bare or not unit.text else f"{text} {unit.text}"


def write_as(quantity, words):
    """The text of a quantity in the format of those words."""
    form = read_format(words)
    if form.unit:
        quantity = named_kind(quantity, form.unit)
    return write(quantity, form)
