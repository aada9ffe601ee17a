"""Which thread holds which element of a fragment, of mma.sync, wgmma, ldmatrix and stmatrix? As the PTX
manual says; tests/device compares the instructions with it."""

from __future__ import annotations

from matplotlib.patches import ConnectionPatch

from plots.draw import style
from plots.draw.cells import NARROW, TEXT, Board

LANE = 13  # the one to be shown: neither in the first row nor in the first column
SIDE = 8  # of a matrix that ldmatrix moves

# Fragments are made of matrices of 8 by 8, of which each lane holds two neighbours: (row, column, first
# register, warp). Of mma.m16n8k16, with the names of a lane's registers and what each matrix is:
MATRICES = {
    "A": ("a[{0}]", "A [16][16]: m, k", (16, 16)),
    "B": ("b[{0}]", "B [16][8]: k, n", (16, 8)),
    "D": ("{0},{1}", "D [16][8] = A · B: acc", (16, 8)),
}
PARTS = {
    "A": ((0, 0, 0, 0), (8, 0, 1, 0), (0, 8, 2, 0), (8, 8, 3, 0)),
    "B": ((0, 0, 0, 0), (8, 0, 1, 0)),
    "D": ((0, 0, 0, 0), (8, 0, 2, 0)),
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
    board, x = Board(axes, 0, MARGIN + 32 + 2 * GAP + 0.3, 18, -0.2), MARGIN
    for name, (words, title, sides) in MATRICES.items():
        how = {"place_of": lambda row, column, x=x: (x + column, 2 + row)}
        draw_blocks(board, blocks_of(PARTS[name], name == "B"), LANE, words, **how)
        draw_grid(board, *sides, x, 2)
        board.title(x + sides[1] / 2, 0.4, title)
        x += sides[1] + GAP


def sums_of(warp, columns):
    """The matrices of D that a warp holds: two rows of them."""
    return [
        (16 * warp + 8 * lower, 8 * i, 4 * i + 2 * lower, warp)
        for i in range(columns // 8)
        for lower in (0, 1)
    ]


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
        board.line([column] * 2, [0, ROWS], color="0.7", linewidth=0.4)
    for i, n in enumerate(WIDTHS):
        top = -ABOVE * (i + 1)
        board.line([n, n], [top, ROWS], color="black", linewidth=1.6)
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
    title = (
        "Fragments of mma.m16n8k16, and of ldmatrix and stmatrix: a number is the lane that holds"
    )
    second = (
        f"orange: lane {LANE} and its registers; blue: the row whose address lane {LANE} passes"
    )
    return style.frame(figure, f"{title} a cell", second)
