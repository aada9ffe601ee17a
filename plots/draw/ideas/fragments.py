"""Which thread holds which element of a fragment, of mma.sync, wgmma, ldmatrix and stmatrix?

A probe tells a fragment as the number of the element in each slot: thread by thread, register by
register, half by half.
"""

from __future__ import annotations

from matplotlib.patches import ConnectionPatch

from plots.draw import style
from plots.draw.ideas import cells

LANE = 13  # the one to be shown: neither in the first row nor in the first column
SIDE = 8  # of a matrix that ldmatrix moves

MATRICES = {  # of mma.m16n8k16: the name of a lane's registers, and what each is
    "A": ("a", "A [16][16]: rows m, columns k"),
    "B": ("b", "B [16][8]: rows k, columns n"),
    "D": ("acc", "D [16][8] = A · B"),
}
GAP = 2.6  # cells between the matrices, for their rows' and columns' numbers
MARGIN = 1.8

THREAD = 109  # of the warpgroup: the one to be shown, in the lowest rows
WIDTHS = (64, 128, 256)  # N
ZOOM_COLUMNS = 24
BANDS = ("#E4EEF5", "#F3EAD9")  # of neighbouring warps
ABOVE = 4  # rows of the overview between the names of two widths

FORMS = {
    "ldmatrix_x4": "ldmatrix .x4",
    "ldmatrix_x4_trans": "ldmatrix .x4 .trans",
    "stmatrix_x4": "stmatrix .x4",
}
APART = 0.8  # rows between two matrices
NAMED = {"facecolor": "#9CCBEC", "alpha": 0.75, "linewidth": 0, "zorder": 2}


# --- what is shown of a fragment --------------------------------------------------------------


def slots_of(fragment, thread):
    """[(row, column, register, half)] of a thread, in the order of its registers."""
    per_thread = fragment["registers"] * fragment["halves"]
    elements = fragment["elements"][thread * per_thread : (thread + 1) * per_thread]
    return [
        (*divmod(element, fragment["columns"]), *divmod(slot, fragment["halves"]))
        for slot, element in enumerate(elements)
    ]


def blocks_of(fragment, rows=None, columns=None):
    """A fragment, or the part of it in these ranges, in blocks of elements that lie side by side, or
    one below the other, in one thread: [row, column, height, width, thread, first and last
    register]."""
    rows = rows or range(fragment["rows"])
    columns = columns or range(fragment["columns"])
    left = {  # {(row, column): (thread, register)}
        (row, column): (thread, register)
        for thread in range(fragment["threads"])
        for row, column, register, _ in slots_of(fragment, thread)
        if row in rows and column in columns
    }
    found = []
    for row, column in sorted(left):
        if (row, column) not in left:
            continue
        thread, register = left.pop((row, column))
        height, width, registers = 1, 1, [register]
        for below, beside in ((0, 1), (1, 0)):
            place = (row + below, column + beside)
            if len(registers) == 1 and left.get(place, (None,))[0] == thread:
                registers.append(left.pop(place)[1])
                height, width = 1 + below, 1 + beside
        found.append([row, column, height, width, thread, min(registers), max(registers)])
    return found


def draw_blocks(axes, blocks, thread, words, place_of, size=cells.TEXT):
    """The blocks of this thread with the name of its registers, the others with the number of
    theirs. place_of(row, column) is where one is drawn."""
    for row, column, height, width, owner, first, last in blocks:
        place = (*place_of(row, column), width, height)
        if owner == thread:
            name = f"{words}[{first}]" if first == last else f"{words}[{first},{last}]"
            cells.held(axes, *place, name, size=size if width > 1 else cells.NARROW)
        else:
            cells.cell(axes, *place, str(owner))


def draw_grid(axes, rows, columns, x=0, y=0, first_row=0):
    """The numbers of rows and columns of a matrix at (x, y), and a frame around every 8 by 8."""
    for row in range(0, rows, 8):
        for column in range(0, columns, 8):
            cells.frame(axes, x + column, y + row, 8, 8)
    for row in range(rows):
        cells.index(axes, x - 0.25, y + row + 0.5, first_row + row, ha="right")
    for column in range(columns):
        cells.index(axes, x + column + 0.5, y - 0.45, column)


# --- mma.m16n8k16 -----------------------------------------------------------------------------


def mma_data(answers, _records):
    """The blocks of each matrix, and what the lane has in its registers."""
    found = {"lane": LANE}
    for name in MATRICES:
        fragment = answers["layouts"][f"mma {name.lower()}"]
        found[name] = {
            "rows": fragment["rows"],
            "columns": fragment["columns"],
            "blocks": blocks_of(fragment),
            "held": slots_of(fragment, LANE),
        }
    return found


def draw_registers(axes, found, x, y):
    """The lane's registers, one below the other, with the elements in them."""
    cells.label(axes, x, y, f"What lane {found['lane']} holds", ha="left", **cells.TITLE)
    y += 2.2
    for half, words in enumerate(("lower 16 bits", "upper 16 bits")):
        cells.index(axes, x + 4.35 + 3.5 * half, y - 0.6, words)
    for name, (letter, _) in MATRICES.items():
        by_register = {}
        for row, column, register, _ in found[name]["held"]:
            by_register.setdefault(register, []).append(f"{name}[{row}][{column}]")
        for register, elements in by_register.items():
            cells.label(axes, x + 2.2, y + 0.6, f"{letter}[{register}]", ha="right")
            width = 7 / len(elements)
            for i, element in enumerate(elements):
                cells.held(axes, x + 2.6 + i * width, y, width, 1.2, element, weight="normal")
            y += 1.2
        y += 0.55


def draw_mma(pyplot, found):
    """A to the left of D, B above it, as they are multiplied."""
    figure, axes = style.figure_of(pyplot, 8.7)
    x_d, y_d = MARGIN + found["A"]["columns"] + GAP, 2.2 + found["B"]["rows"] + GAP
    right, bottom = x_d + found["D"]["columns"] + 0.3, y_d + found["D"]["rows"] + 0.2
    cells.board(axes, 0, right, bottom, 0)
    corners = {"A": (MARGIN, y_d), "B": (x_d, 2.2), "D": (x_d, y_d)}
    for name, (x, y) in corners.items():
        part = found[name]
        how = {"place_of": lambda row, column, x=x, y=y: (x + column, y + row)}
        draw_blocks(axes, part["blocks"], found["lane"], MATRICES[name][0], **how)
        draw_grid(axes, part["rows"], part["columns"], x, y)
    for name, (x, y) in corners.items():
        middle = x + found[name]["columns"] / 2
        cells.label(axes, middle, y - 1.5, MATRICES[name][1], **cells.TITLE)
    draw_registers(axes, found, MARGIN + 1, 0.7)
    style.frame(
        figure,
        "mma.m16n8k16: which lane holds which element",
        "a number is the lane of the warp; two neighbours in a cell are one lane's",
    )
    return figure


# --- wgmma.m64nNk16 ---------------------------------------------------------------------------


def wgmma_data(answers, _records):
    """The thread's elements of the widest, a part of it in detail, and the warps' rows."""
    sums = {n: answers["layouts"][f"wgmma d, n = {n}"] for n in WIDTHS}
    widest = sums[WIDTHS[-1]]
    warps = []
    for warp in range(widest["threads"] // 32):
        threads = range(32 * warp, 32 * warp + 32)
        rows = {row for thread in threads for row, *_ in slots_of(widest, thread)}
        warps.append([warp, min(rows), len(rows)])
    _, first, count = warps[THREAD // 32]
    return {
        "thread": THREAD,
        "rows": widest["rows"],
        "warps": warps,
        "held": {str(n): slots_of(sums[n], THREAD) for n in WIDTHS},
        "zoom": blocks_of(widest, range(first, first + count), range(ZOOM_COLUMNS)),
    }


def draw_overview(axes, found):
    """The whole of D: the warps' rows, the thread's elements, and how far each N goes."""
    widest = WIDTHS[-1]
    cells.board(axes, -24, widest + 0.5, found["rows"] + 1, -ABOVE * len(WIDTHS) - 3)
    for warp, first, count in found["warps"]:
        cells.cell(axes, 0, first, widest, count, facecolor=BANDS[warp % 2], linewidth=0)
        words = f"warp {warp}\nrows {first}–{first + count - 1}"
        cells.label(axes, -2, first + count / 2, words, ha="right", va="center", linespacing=1.3)
    for row, column, _, _ in found["held"][str(widest)]:
        cells.cell(axes, column, row, 1, 1, facecolor="black", edgecolor="black", zorder=3)
    for column in range(8, widest, 8):
        axes.plot([column] * 2, [0, found["rows"]], color="0.7", linewidth=0.4)
    for i, n in enumerate(WIDTHS):
        top = -ABOVE * (i + 1)
        axes.plot([n, n], [top, found["rows"]], color="black", linewidth=1.6)
        words = f"wgmma<{n}>: acc[0] to acc[{len(found['held'][str(n)]) - 1}]"
        cells.label(axes, n - 1.5, top + 0.8, words, ha="right")
    cells.frame(axes, 0, 0, widest, found["rows"])


def draw_zoom(axes, found, first, rows):
    """The first columns of one warp's rows, with the threads' numbers."""
    cells.board(axes, -1.5, ZOOM_COLUMNS + 0.1, rows + 1.6, -1.6)
    how = {"place_of": lambda row, column: (column, row - first), "size": cells.NARROW}
    draw_blocks(axes, found["zoom"], found["thread"], "acc", **how)
    draw_grid(axes, rows, ZOOM_COLUMNS, first_row=first)
    for block in range(ZOOM_COLUMNS // 8):
        words = f"acc[{4 * block}] to acc[{4 * block + 3}]"
        cells.label(axes, 8 * block + 4, rows + 0.8, words, color="0.25")


def draw_wgmma(pyplot, found):
    """The overview above, a part of it below, with lines from where it is."""
    figure, (overview, zoom) = style.figure_of(pyplot, 8.2, 2, height_ratios=(1, 1.75))
    first = found["zoom"][0][0]
    rows = found["zoom"][-1][0] - first + 1
    draw_overview(overview, found)
    draw_zoom(zoom, found, first, rows)
    how = {"edgecolor": style.VERMILION, "linewidth": 1.8, "zorder": 6}
    cells.frame(overview, 0, first, ZOOM_COLUMNS, rows, **how)
    for x in (0, ZOOM_COLUMNS):
        ends = ((x, first + rows), (x, -1.3), "data", "data")
        how = {"color": style.VERMILION, "linewidth": 1.1, "linestyle": "--"}
        figure.add_artist(ConnectionPatch(*ends, axesA=overview, axesB=zoom, **how))
    style.frame(
        figure,
        "wgmma.m64nNk16: which thread of the warpgroup holds which element of D",
        f"black above, orange below: thread {found['thread']} of 128; "
        "other numbers are threads; every 8 columns the pattern repeats",
    )
    return figure


# --- ldmatrix and stmatrix --------------------------------------------------------------------


def moves_data(answers, _records):
    """Of each form which lane holds what. Row i is the one whose address lane i passes."""
    found = {"lane": LANE}
    for form in FORMS:
        fragment = answers["layouts"][form]
        found[form] = {"rows": fragment["rows"], "blocks": blocks_of(fragment)}
    return found


def height_of(row):
    """Where a row is drawn."""
    return row + row // SIDE * APART


def draw_form(axes, form, part, lane):
    """The four matrices one below the other, each row beside the lane that passes its address."""
    rows = part["rows"]
    cells.board(axes, -1.9, SIDE + 1.3, height_of(rows) - APART + 0.2, -2.6)
    cells.label(axes, SIDE / 2, -2.0, FORMS[form], **cells.TITLE)
    cells.index(axes, -0.3, -0.6, "row of lane")
    draw_blocks(axes, part["blocks"], lane, "r", lambda row, x: (x, height_of(row)))
    for row in range(rows):
        this = {"color": style.BLUE, "fontweight": "bold"} if row == lane else {}
        cells.index(axes, -0.35, height_of(row) + 0.5, row, ha="right", **this)
    for first in range(0, rows, SIDE):
        y = height_of(first)
        cells.frame(axes, 0, y, SIDE, SIDE)
        words = f"matrix {first // SIDE}"
        cells.label(axes, SIDE + 0.65, y + SIDE / 2, words, rotation=90, va="center")
    cells.frame(axes, -1.3, height_of(lane), SIDE + 1.3, 1, **NAMED)


def draw_moves(pyplot, found):
    """The three forms side by side."""
    figure, axes = style.figure_of(pyplot, 8.8, 1, 3)
    for form, here in zip(FORMS, axes):
        draw_form(here, form, found[form], found["lane"])
    style.frame(
        figure,
        "ldmatrix and stmatrix: which lane passes a row's address, which lanes hold the row",
        f"lane {found['lane']} passes the address of the blue row and gets the orange elements "
        "(stmatrix: gives them); numbers are lanes",
    )
    return figure


PICTURES = (
    ("mma-fragments", mma_data, draw_mma),
    ("wgmma-fragment", wgmma_data, draw_wgmma),
    ("ldmatrix-stmatrix", moves_data, draw_moves),
)
