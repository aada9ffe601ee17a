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
    "A": ("a[{0}]", "A [16][16]: rows m, columns k", (16, 16)),
    "B": ("b[{0}]", "B [16][8]: rows k, columns n", (16, 8)),
    "D": ("acc[{0},{1}]", "D [16][8] = A · B", (16, 8)),
}
PARTS = {
    "A": ((0, 0, 0, 0), (8, 0, 1, 0), (0, 8, 2, 0), (8, 8, 3, 0)),
    "B": ((0, 0, 0, 0), (8, 0, 1, 0)),
    "D": ((0, 0, 0, 0), (8, 0, 2, 0)),
}
GAP = 2.6  # cells between the matrices, for their rows' and columns' numbers
MARGIN = 1.8

THREAD = 109  # of the warpgroup: the one to be shown, in the lowest rows
WIDTHS = (64, 128, 256)  # N
ROWS = 64
ZOOM_COLUMNS = 24
BANDS = ("#E4EEF5", "#F3EAD9")  # of neighbouring warps
ABOVE = 4  # rows of the overview between the names of two widths

FORMS = ("ldmatrix .x4", "ldmatrix .x4 .trans", "stmatrix .x4")
APART = 0.8  # rows between two matrices
NAMED = {"facecolor": "#9CCBEC", "alpha": 0.75, "linewidth": 0, "zorder": 2}


# --- what is shown of a fragment --------------------------------------------------------------


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
            board.held(*place, words=name, size=size if width > 1 else NARROW)
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


# --- mma.m16n8k16 -----------------------------------------------------------------------------


def draw_mma(axes):
    """A to the left of D, B above it, as they are multiplied."""
    x_d, y_d = MARGIN + 16 + GAP, 2.2 + 16 + GAP
    board = Board(axes, 0, x_d + 8 + 0.3, y_d + 16 + 0.2, 0)
    for name, (x, y) in {"A": (MARGIN, y_d), "B": (x_d, 2.2), "D": (x_d, y_d)}.items():
        words, title, sides = MATRICES[name]
        how = {"place_of": lambda row, column, x=x, y=y: (x + column, y + row)}
        draw_blocks(board, blocks_of(PARTS[name], name == "B"), LANE, words, **how)
        draw_grid(board, *sides, x, y)
        board.title(x + sides[1] / 2, y - 1.5, title)
    words = f"mma.m16n8k16:\na number is the lane that holds\nthe two neighbours in a cell;\n"
    board.left(MARGIN, 7, f"{words}orange: lane {LANE}, and the\nregisters that it holds", size=11)


# --- wgmma.m64nNk16 ---------------------------------------------------------------------------


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


# --- ldmatrix and stmatrix --------------------------------------------------------------------


def height_of(row):
    """Where a row is drawn."""
    return row + row // SIDE * APART


def draw_form(axes, form):
    """The four matrices one below the other, each row beside the lane that passes its address: row i
    is that of lane i."""
    rows = 4 * SIDE
    board = Board(axes, -1.9, SIDE + 1.3, height_of(rows) - APART + 0.2, -2.6)
    board.title(SIDE / 2, -2.0, form)
    board.index(-0.3, -0.6, "row of lane")
    blocks = blocks_of([(SIDE * i, 0, i, 0) for i in range(4)], form.endswith(".trans"))
    draw_blocks(board, blocks, LANE, "r[{0}]", lambda row, x: (x, height_of(row)))
    for row in range(rows):
        this = {"color": style.BLUE, "fontweight": "bold"} if row == LANE else {}
        board.index(-0.35, height_of(row) + 0.5, row, ha="right", **this)
    for first in range(0, rows, SIDE):
        y = height_of(first)
        board.frame(0, y, SIDE, SIDE)
        words = f"matrix {first // SIDE}"
        board.label(SIDE + 0.65, y + SIDE / 2, words, rotation=90, va="center")
    board.frame(-1.3, height_of(LANE), SIDE + 1.3, 1, **NAMED)


def fragments(_records):
    """mma.sync above, the three forms of ldmatrix and stmatrix below."""
    figure = style.Figure(figsize=(style.WIDTH, 16.2), layout="constrained")
    axes = figure.subplot_mosaic([["mma"] * 3, [*FORMS]], height_ratios=(1, 1.08))
    draw_mma(axes["mma"])
    for form in FORMS:
        draw_form(axes[form], form)
    title = "Fragments: which lane holds which element"
    second = f"below: lane {LANE} passes the address of the blue row and gets the orange elements "
    return style.frame(figure, title, f"{second}(stmatrix: gives them)")
