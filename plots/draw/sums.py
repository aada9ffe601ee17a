"""Which bits of a sum of e4m3 products does a wgmma keep? One of the sums that a GPU recorded."""

from __future__ import annotations

import math
import struct

from bench import results
from plots.draw import style
from plots.draw.cells import NARROW, SMALL, Board

FILE = "instructions/e4m3-h200-20261123.txt"  # bench/results/README.md says what a line holds
LINE = 267  # of numbers of all sizes, with a sum that is cut off a second time
KEPT = 13  # fraction bits: E4M3_SUM_BITS of e4m3.h
ZERO = -126  # the exponent of a zero
LOST = {"facecolor": "#E3E3E3", "hatch": "////", "edgecolor": "0.6", "linewidth": 0.4}


def of_byte(byte):
    """A number of e4m3, and the exponent that counts for it."""
    exponent, eighths = byte >> 3 & 15, byte & 7
    counts = max(exponent, 1) - 7
    number = math.ldexp(8 * (exponent > 0) + eighths, counts - 3)
    return -number if byte & 0x80 else number, counts if number else ZERO


def cut(number, last):
    """Without the bits below 2^last, towards zero."""
    return math.trunc(number / 2.0**last) * 2.0**last


def recorded():
    """{name: value} of the 32 products and the addend, the exponent of the last bit that is kept of each,
    and the sum as it is recorded. All are exact in double precision."""
    lines = (results.RESULTS / FILE).read_text(encoding="utf-8").splitlines()
    a, b, addend, result = lines[LINE - 1].split()
    start, got = (struct.unpack(">f", bytes.fromhex(word))[0] for word in (addend, result))
    terms, exponents = {"addend": start}, ones_of(start)[:1]
    for i, pair in enumerate(zip(bytes.fromhex(a), bytes.fromhex(b))):
        (left, of_left), (right, of_right) = map(of_byte, pair)
        terms[f"a[{i}] · b[{i}]"] = left * right
        exponents.append(of_left + of_right)
    return terms, max(exponents) - KEPT, got


def ones_of(number):
    """The exponents of its bits that are 1, the highest first."""
    return [one for one in range(40, -60, -1) if int(abs(number) * 2.0**-one) & 1]


def draw_row(board, name, number, y, last, highest):
    """A row's bits from its first 1 to its last, those below 2^last as lost."""
    board.label(-1.1, y + 0.5, name, ha="right", size=SMALL)
    board.label(-0.5, y + 0.5, "−" if number < 0 else "+")
    ones = ones_of(number)
    for exponent in range(ones[0], ones[-1] - 1, -1) if ones else ():
        one, kept = exponent in ones, exponent >= last
        look = {"facecolor": style.ORANGE if one else "white", "edgecolor": "0.3"}
        words = {"size": NARROW, "color": "black", "weight": "bold" if one and kept else "normal"}
        place = (highest - exponent, y, 1, 1)
        board.cell(*place, str(int(one)), **words, **(look if kept else LOST))


def draw(_records):
    """The terms, the largest first, on one scale of bits; below them their sum."""
    terms, last, got = recorded()
    kept, exact = sum(cut(term, last) for term in terms.values()), sum(terms.values())
    last_of_sum = max(ones_of(kept)[0] - KEPT, last)
    if cut(kept, last_of_sum) != got:
        raise ValueError(f"{FILE}, line {LINE}: {cut(kept, last_of_sum)} is not what was recorded")
    ones = [one for number in (*terms.values(), kept, got, exact) for one in ones_of(number)]
    highest, lowest = max(ones), min(ones)
    count, edge = len(terms), highest - last + 1
    below = count + 1.6
    figure, axes = style.figure_of(8.6)
    board = Board(axes, -9.2, highest - lowest + 1.2, below + 3.2, -2.3)
    for exponent in range(highest, lowest - 1, -1):
        if exponent % 4 == 0:
            words = str(2**exponent) if exponent >= 0 else f"1/{2**-exponent}"
            board.index(highest - exponent + 0.5, -0.5, words)
    # Those of one size in the order of the products, the addend last.
    names = sorted(list(terms)[1:] + ["addend"], key=lambda name: -abs(terms[name]))
    for y, name in enumerate(names):
        draw_row(board, name, terms[name], y, last, highest)
    draw_row(board, "what is kept, added", kept, below, last, highest)
    draw_row(board, "cut off again: the H200's", got, below + 1, last_of_sum, highest)
    draw_row(board, "the exact sum", exact, below + 2, lowest, highest)
    board.line([edge] * 2, [-1, count + 0.2], color=style.VERMILION, linewidth=1.8, zorder=6)
    how = {"color": style.VERMILION, "fontweight": "bold"}
    board.label(edge - 0.4, -1.6, f"{KEPT} bits below the largest exponent", ha="right", **how)
    board.label(edge + 0.4, -1.6, "cut off", ha="left", **how)
    title = "wgmma of e4m3: which bits of 32 products and the accumulator are added"
    second = "one recorded sum; orange and white: kept, grey: lost; added "
    second += f"{kept:,.0f}, cut off again {got:,.0f}, exact {exact:,.2f}"
    return style.frame(figure, title, second)
