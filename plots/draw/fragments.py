"""Which thread holds which element of a fragment, of mma.sync, wgmma, ldmatrix and stmatrix? As the PTX
manual says; tests/device compares the instructions with it. And which bits of a sum of e4m3 products
does a wgmma keep? One of the sums that a GPU recorded."""

from __future__ import annotations

import math
import struct

from matplotlib.patches import ConnectionPatch

from bench import results
from plots.draw import style
from plots.draw.style import NARROW, SMALL, TEXT, Board

LANE = 13  # the one to be shown: neither in the first row nor in the first column
SIDE = 8  # of a matrix that ldmatrix moves

# Fragments are made of matrices of 8 by 8, of which each lane holds two neighbours: (row, column, first
# register, warp). Of mma.m16n8k16, with the names of a lane's registers and what each matrix is:
MATRICES = {  # the last: registers of a lane in one of the 8 by 8
    "A": ("a[{0}]", "A [16][16]: m, k", (16, 16), 1),
    "B": ("b[{0}]", "B [16][8]: k, n", (16, 8), 1),
    "D": ("{0},{1}", "D [16][8] = A · B: acc", (16, 8), 2),
}
GAP = 2.4  # cells between the matrices, for their rows' and columns' numbers
MARGIN = 1.8

THREAD = 109  # of the warpgroup: the one to be shown, in the lowest rows
WIDTHS = (64, 128, 256)  # N
ROWS = 64
ZOOM_COLUMNS = 24
BANDS = ("#E4EEF5", "#F3EAD9")  # of neighbouring warps
ABOVE = 4  # rows of the overview between the names of two widths

HELD = {"facecolor": style.ORANGE, "edgecolor": "black", "linewidth": 1.1, "zorder": 3}
FORMS = ("ldmatrix .x4 and stmatrix .x4", "ldmatrix .x4 .trans")
APART = 0.8  # rows between two matrices
NAMED = {"facecolor": "#9CCBEC", "alpha": 0.75, "linewidth": 0, "zorder": 2}


def blocks_of(parts, transposed=False):
    """(row, column, height, width, thread, register) of the two neighbours that each lane holds of each
    of these matrices, side by side or, transposed, one below the other."""
    found = []
    for row, column, register, warp in parts:
        for lane in range(32):
            line, pair = divmod(lane, 4)
            place = (row + line, column + 2 * pair, 1, 2)
            if transposed:
                place = (row + 2 * pair, column + line, 2, 1)
            found.append((*place, 32 * warp + lane, register))
    return found


def draw_blocks(board, blocks, thread, words, place_of, size=TEXT):
    """The blocks of this thread with the name of its registers, the others with the number of
    theirs. place_of(row, column) is where one is drawn."""
    for row, column, height, width, owner, register in sorted(blocks):
        place = (*place_of(row, column), width, height)
        if owner == thread:
            name = words.format(register, register + 1)
            thin = {"size": 7} if width == 1 else {"size": size, "weight": "bold"}
            board.cell(*place, name, color="black", **HELD, **thin)
        else:
            board.cell(*place, str(owner))


def draw_grid(board, rows, columns, x=0, y=0, first_row=0):
    """The numbers of rows and columns of a matrix at (x, y), and a frame around every 8 by 8."""
    for row in range(0, rows, SIDE):
        for column in range(0, columns, SIDE):
            board.frame(x + column, y + row, SIDE, SIDE)
    for row in range(rows):
        board.index(x - 0.25, y + row + 0.5, first_row + row, ha="right")
    for column in range(columns):
        board.index(x + column + 0.5, y - 0.45, column)


def draw_mma(axes):
    """A, B and D side by side."""
    board, x = Board(axes, 0, MARGIN + 32 + 2 * GAP + 0.3, 18.2, -0.2), MARGIN
    for name, (words, title, sides, step) in MATRICES.items():
        parts = [(8 * (i % 2), 8 * (i // 2), step * i, 0) for i in range(sides[1] // 4)]
        how = {"place_of": lambda row, column, x=x: (x + column, 2 + row)}
        draw_blocks(board, blocks_of(parts, name == "B"), LANE, words, **how)
        draw_grid(board, *sides, x, 2)
        board.title(x + sides[1] / 2, 0.4, title)
        x += sides[1] + GAP


def sums_of(warp, columns):
    """The matrices of D that a warp holds: two rows of them."""
    places = [divmod(i, 2) for i in range(columns // 4)]
    return [(16 * warp + 8 * low, 8 * i, 4 * i + 2 * low, warp) for i, low in places]


def draw_overview(axes):
    """The whole of D: the warps' rows, the thread's elements, and how far each N goes."""
    widest = WIDTHS[-1]
    board = Board(axes, -24, widest + 0.5, ROWS + 1, -ABOVE * len(WIDTHS) - 3)
    for warp in range(4):
        first = 16 * warp
        board.cell(0, first, widest, 16, facecolor=BANDS[warp % 2], linewidth=0)
        words = f"warp {warp}\nrows {first}–{first + 15}"
        board.left(-2, first + 8, words, ha="right", linespacing=1.3)
    for row, column, _, _, thread, _ in blocks_of(sums_of(THREAD // 32, widest)):
        for x in (column, column + 1) if thread == THREAD else ():
            board.cell(x, row, 1, 1, facecolor="black", edgecolor="black", zorder=3)
    for column in range(8, widest, 8):
        board.axes.plot([column] * 2, [0, ROWS], color="0.7", linewidth=0.4)
    for i, n in enumerate(WIDTHS):
        top = -ABOVE * (i + 1)
        board.axes.plot([n, n], [top, ROWS], color="black", linewidth=1.6)
        words = f"wgmma<{n}>: acc[0] to acc[{n // 2 - 1}]"
        board.label(n - 1.5, top + 0.8, words, ha="right")
    board.frame(0, 0, widest, ROWS)
    return board


def draw_zoom(axes, first):
    """The first columns of the thread's warp's rows, with the threads' numbers."""
    board = Board(axes, -1.5, ZOOM_COLUMNS + 0.1, 16 + 1.6, -1.6)
    blocks = blocks_of(sums_of(THREAD // 32, ZOOM_COLUMNS))
    how = {"place_of": lambda row, column: (column, row - first), "size": NARROW}
    draw_blocks(board, blocks, THREAD, "acc[{0},{1}]", **how)
    draw_grid(board, 16, ZOOM_COLUMNS, first_row=first)
    for block in range(ZOOM_COLUMNS // 8):
        words = f"acc[{4 * block}] to acc[{4 * block + 3}]"
        board.label(8 * block + 4, 16 + 0.8, words, color="0.25")


def wgmma(_records):
    """The overview above, a part of it below, with lines from where it is."""
    first = 16 * (THREAD // 32)
    figure, (overview, zoom) = style.figure_of(8.2, 2, height_ratios=(1, 1.75))
    board = draw_overview(overview)
    draw_zoom(zoom, first)
    how = {"edgecolor": style.VERMILION, "linewidth": 1.8, "zorder": 6}
    board.frame(0, first, ZOOM_COLUMNS, 16, **how)
    for x in (0, ZOOM_COLUMNS):
        ends = ((x, first + 16), (x, -1.3), "data", "data")
        how = {"color": style.VERMILION, "linewidth": 1.1, "linestyle": "--"}
        figure.add_artist(ConnectionPatch(*ends, axesA=overview, axesB=zoom, **how))
    title = "wgmma.m64nNk16: which thread of the warpgroup holds which element of D"
    second = f"black above, orange below: thread {THREAD} of 128; "
    second += "other numbers are threads; every 8 columns the pattern repeats"
    return style.frame(figure, title, second)


def place_of(row, column):
    """Where an element is drawn: matrices 0 and 1 one below the other, 2 and 3 beside them."""
    return column + row // 16 * (SIDE + 2.6), row % 16 + row // SIDE % 2 * APART


def draw_form(axes, form):
    """The four matrices, each row beside the lane that passes its address: row i is that of lane i."""
    board = Board(axes, -2.2, 2 * SIDE + 3, 16 + APART + 0.2, -2.6)
    board.title(SIDE + 1.3, -2.0, form)
    blocks = blocks_of([(SIDE * i, 0, i, 0) for i in range(4)], form.endswith(".trans"))
    draw_blocks(board, blocks, LANE, "r[{0}]", place_of)
    for row in range(4 * SIDE):
        this = {"color": style.BLUE, "fontweight": "bold"} if row == LANE else {}
        x, y = place_of(row, -0.35)
        board.index(x, y + 0.5, row, ha="right", **this)
    for first in range(0, 4 * SIDE, SIDE):
        board.frame(*place_of(first, 0), SIDE, SIDE)
    for column in (0, SIDE + 2.6):
        board.index(column + 0.4, -0.6, "row of lane", ha="center")
    board.frame(*place_of(LANE, -1.3), SIDE + 1.3, 1, **NAMED)


def fragments(_records):
    """mma.sync above, ldmatrix and stmatrix below."""
    figure = style.Figure(figsize=(style.WIDTH, 8.9), layout="constrained")
    axes = figure.subplot_mosaic([["mma"] * 2, [*FORMS]])
    draw_mma(axes["mma"])
    for form in FORMS:
        draw_form(axes[form], form)
    title = "Fragments of mma.m16n8k16, ldmatrix and stmatrix: which lane holds which elements"
    second = f"orange: lane {LANE}'s registers; blue: the row whose address lane {LANE} passes"
    return style.frame(figure, title, second)


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


def e4m3_sums(_records):
    """The terms, the largest first, on one scale of bits; below them their sum."""
    terms, last, got = recorded()
    kept, exact = sum(cut(term, last) for term in terms.values()), sum(terms.values())
    last_of_sum = max(ones_of(kept)[0] - KEPT, last)
    if cut(kept, last_of_sum) != got:
        raise ValueError(f"{FILE}, line {LINE}: {cut(kept, last_of_sum)} is not what was recorded")
    ones = [one for number in (*terms.values(), kept, got, exact) for one in ones_of(number)]
    highest, lowest = max(ones), min(ones)
    count, below, edge = len(terms), len(terms) + 1.6, highest - last + 1
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
    board.axes.plot([edge] * 2, [-1, count + 0.2], color=style.VERMILION, linewidth=1.8, zorder=6)
    how = {"color": style.VERMILION, "fontweight": "bold"}
    board.label(edge - 0.4, -1.6, f"{KEPT} bits below the largest exponent", ha="right", **how)
    board.label(edge + 0.4, -1.6, "cut off", ha="left", **how)
    title = "wgmma of e4m3: which bits of 32 products and the accumulator are added"
    second = "one recorded sum; orange and white: kept, grey: lost; added "
    second += f"{kept:,.0f}, cut off again {got:,.0f}, exact {exact:,.2f}"
    return style.frame(figure, title, second)
