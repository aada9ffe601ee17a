"""Numbers with what they measure, and how the notes write them.

A quantity knows its kind, and the kind says which units there are. What does not fit is an
ExpressionError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.records import recorded

SEPARATED_FROM = 10_000  # numbers from here on have commas between their thousands
DECIMALS = re.compile(r"\.[0-9]")
PLUS_MINUS = "±"  # half of the distance from the 10th to the 90th percentile beside it


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


PERCENT = Unit("%", 100, 1)
UNITS = {  # of each kind, by the word that asks for it
    "rate": {"TFLOPS": Unit("TFLOPS", 1e-12, 0)},
    "throughput": {"GB/s": Unit("GB/s", 1e-9, 0)},
    "ratio": {"factor": Unit("", 1, 3)},
    "share": {"percent": PERCENT},
    "clock": {"GHz": Unit("GHz", 1e-9, 2)},
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
    "number": {"number": Unit("", 1, 2)},
}


@dataclass(frozen=True)
class Quantity:
    """A number in base units (a second, a byte, a FLOP per second), with percentiles if known."""

    value: float
    kind: str
    low: float | None = None
    high: float | None = None


def divide(left, right):
    """left / right, of one kind."""
    if right.value == 0:
        raise ExpressionError("a division by 0")
    return Quantity(left.value / right.value, "ratio")


@dataclass(frozen=True)
class Format:
    """How a quantity is written: what stands behind `as`."""

    unit: Unit
    decimals: int
    plus_minus: bool = False
    gain: bool = False  # a ratio as its signed distance from 1


def format_of(words, quantity):
    """The format that these words ask for, with what is usual for such a quantity."""
    units, found = UNITS[quantity.kind], {}
    for word in words:
        if DECIMALS.fullmatch(word):
            found["decimals"] = int(word[1:])
        elif word == PLUS_MINUS:
            found["plus_minus"] = True
        elif word == "gain" and quantity.kind == "ratio":
            found.update(gain=True, unit=PERCENT)
        elif word in units:
            found["unit"] = units[word]
        else:
            there = ", ".join(units)
            raise ExpressionError(f"'{word}' is no unit of a {quantity.kind} ({there}), no format")
    usual = next(unit for unit in units.values() if abs(quantity.value) >= unit.least)
    unit = found.setdefault("unit", usual)
    return Format(**{"decimals": unit.decimals, **found})


def number(quantity, form):
    """A quantity without its unit."""
    if quantity.low is not None and form.plus_minus:
        parts = {"median": quantity.value, "low": quantity.low, "high": quantity.high}
        scaled = {part: value * form.unit.scale for part, value in parts.items()}
        return recorded.plus_minus(scaled, form.decimals)
    value = (quantity.value - form.gain) * form.unit.scale
    style = f"{'+' * form.gain}{',' * (abs(value) >= SEPARATED_FROM)}.{form.decimals}f"
    return f"{value:{style}}".replace("-", "−")


def write_as(quantity, words):
    """The text of a quantity in the format of those words; with ± it has no unit."""
    form = format_of(words, quantity)
    unit = "" if form.plus_minus else form.unit.text
    return f"{number(quantity, form)} {unit}".strip()
