"""Which bits of a sum of e4m3 products does a wgmma keep? One of the sums that a GPU recorded."""

from __future__ import annotations

import struct
from fractions import Fraction

from bench import results
from plots.draw import style
from plots.draw.ideas import cells

FILE = "instructions/e4m3-h200-20261123.txt"  # bench/results/README.md says what a line holds
LINE = 267  # of numbers of all sizes, with a sum that is cut off a second time
KEPT = 13  # fraction bits: E4M3_SUM_BITS of e4m3.h
ZERO = -126  # the exponent of a zero
LOST = {"facecolor": "#E3E3E3", "hatch": "////", "edgecolor": "0.6", "linewidth": 0.4}


def of_byte(byte):
    """A number of e4m3, and the exponent that counts for it."""
    sign, exponent, eighths = -1 if byte & 0x80 else 1, byte >> 3 & 15, byte & 7
    number = Fraction(8 * (exponent > 0) + eighths, 8) * Fraction(2) ** (max(exponent, 1) - 7)
    return sign * number, max(exponent, 1) - 7 if number else ZERO


def of_word(digits):
    """An fp32 number."""
    return Fraction(struct.unpack(">f", bytes.fromhex(digits))[0])


def floor_log2(number):
    """The exponent of a number's highest bit."""
    number = abs(number)
    found = number.numerator.bit_length() - number.denominator.bit_length()
    return found if Fraction(2) ** found <= number else found - 1


def cut(number, last):
    """Without the bits below 2^last, towards zero."""
    unit = Fraction(2) ** last
    return int(number / unit) * unit


def bits_of(name, number):
    """A row: what it is, its sign and the exponents of its bits that are 1, the highest first."""
    last = 1 - number.denominator.bit_length()
    whole = int(abs(number) / Fraction(2) ** last)
    ones = [last + i for i in range(whole.bit_length()) if whole >> i & 1]
    return {"name": name, "sign": "−" if number < 0 else "+", "ones": ones[::-1]}


def sums_data(_answers, _records):
    """The 32 products and the addend, and the sum before and after it is cut off, and as recorded."""
    lines = (results.RESULTS / FILE).read_text(encoding="utf-8").splitlines()
    a, b, addend, result = lines[LINE - 1].split()
    terms, exponents = [], []
    for i, pair in enumerate(zip(bytes.fromhex(a), bytes.fromhex(b))):
        (left, of_left), (right, of_right) = map(of_byte, pair)
        terms.append((f"a[{i}] · b[{i}]", left * right))
        exponents.append(of_left + of_right)
    terms.append(("addend", of_word(addend)))
    exponents.append(floor_log2(of_word(addend)))
    last = max(exponents) - KEPT
    kept = sum(cut(term, last) for _, term in terms)
    again = cut(kept, max(floor_log2(kept) - KEPT, last))
    exact, got = sum(term for _, term in terms), of_word(result)
    if again != got:
        raise ValueError(f"{FILE}, line {LINE}: {float(again)} is not what was recorded")
    terms.sort(key=lambda term: -abs(term[1]))
    return {
        "line": LINE,
        "last": last,
        "last_of_sum": max(floor_log2(kept) - KEPT, last),
        "terms": [bits_of(*term) for term in terms],
        "sums": [
            bits_of("what is kept, added", kept),
            bits_of("cut off again: the H200's", got),
            bits_of("the exact sum", exact),
        ],
        "values": [float(kept), float(got), float(exact)],
    }


def draw_row(axes, row, y, last, highest):
    """A row's bits from its first 1 to its last, those below 2^last as lost."""
    cells.label(axes, -1.1, y + 0.5, row["name"], ha="right", size=cells.SMALL)
    cells.label(axes, -0.5, y + 0.5, row["sign"])
    ones = row["ones"]
    for exponent in range(ones[0], ones[-1] - 1, -1) if ones else ():
        one = exponent in ones
        if exponent < last:
            how = LOST
        else:
            how = {"facecolor": style.ORANGE if one else "white", "edgecolor": "0.3"}
        place = (highest - exponent, y, 1, 1)
        weight = "bold" if one and exponent >= last else "normal"
        words = {"size": cells.NARROW, "color": "black", "weight": weight}
        cells.cell(axes, *place, str(int(one)), **words, **how)


def draw_sums(pyplot, found):
    """The terms, the largest first, on one scale of bits; below them their sum."""
    rows = found["terms"] + found["sums"]
    ones = [one for row in rows for one in row["ones"]]
    highest, lowest, last = max(ones), min(ones), found["last"]
    width, count = highest - lowest + 1, len(found["terms"])
    below = count + 1.6
    figure, axes = style.figure_of(pyplot, 8.6)
    cells.board(axes, -9.2, width + 0.2, below + len(found["sums"]) + 0.2, -2.3)
    for exponent in range(highest, lowest - 1, -1):
        if exponent % 4 == 0:
            words = str(2**exponent) if exponent >= 0 else f"1/{2**-exponent}"
            cells.index(axes, highest - exponent + 0.5, -0.5, words)
    for y, row in enumerate(found["terms"]):
        draw_row(axes, row, y, last, highest)
    lasts = (last, found["last_of_sum"], lowest)
    for y, (row, one) in enumerate(zip(found["sums"], lasts)):
        draw_row(axes, row, below + y, one, highest)
    edge = highest - last + 1
    line = {"color": style.VERMILION, "linewidth": 1.8, "zorder": 6}
    axes.plot([edge, edge], [-1, count + 0.2], **line)
    words = {"size": cells.TEXT, "color": style.VERMILION, "fontweight": "bold"}
    cells.label(
        axes, edge - 0.4, -1.6, f"{KEPT} bits below the largest exponent", ha="right", **words
    )
    cells.label(axes, edge + 0.4, -1.6, "cut off", ha="left", **words)
    kept, got, exact = found["values"]
    style.frame(
        figure,
        "wgmma of e4m3: which bits of 32 products and the accumulator are added",
        f"one recorded sum; orange and white: kept, grey: lost; added {kept:,.0f}, cut off again "
        f"{got:,.0f}, exact {exact:,.2f}",
    )
    return figure


PICTURES = (("e4m3-sums", sums_data, draw_sums),)
