"""Numbers with what they measure, and how the notes write them.

A quantity knows its kind. The kind says which units there are. Every function raises ExpressionError, which says what does not fit.
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
        "bytes": Unit("bytes", 1, 0),
    },
    "power": {"W": Unit("W", 1, 0)},
    "energy": {"J": Unit("J", 1, 3, 1e-1), "mJ": Unit("mJ", 1e3, 0)},
    "count": {
        "million": Unit("million", 1e-6, 2, 1e6),
        "thousand": Unit("thousand", 1e-3, 1, 1e9),
        "count": Unit("", 1, 0),
    },
    "number": {"number": Unit("", 1, 2)},
}


@dataclass(frozen=True)
class Quantity:
    """A number in base units (a second, a byte, a FLOP per second), and its percentiles if known."""

    value: float
    kind: str
    low: float | None = None
    high: float | None = None


def divide(left, right):
    """left / right, of one kind."""
    if right.value == 0:
        raise ExpressionError("a division by 0")
    return Quantity(left.value / right.value, "ratio")


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


def changed(quantity, change):
    """A ratio as its distance from 1. `more` and `less` insist on their direction."""
    if quantity.kind not in ("ratio", "share"):
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
    return write(quantity, read_format(words))
