"""Which banks of shared memory do the lanes of a warp hit, before and after a swizzle?"""

from __future__ import annotations

import itertools

from plots.draw import style
from plots.draw.records import ask
from plots.draw.style import SMALL, Board

BANKS, BANK_BYTES = 32, 4
LINE_BYTES = BANKS * BANK_BYTES
MOST_AT_ONCE = 128  # bytes of one pass

# How many lanes hit the same bank: the more the darker, also in grey.
WAYS = {1: "#D3ECFA", 2: "#F2CF5B", 4: "#E69F00", 8: "#B5460F", 16: "#7A2A08", 32: "#4A1505"}
DARK = 8  # ways from which a text on that colour is white
EDGED = {"edgecolor": "0.2", "linewidth": 0.9}  # told from its neighbours in grey as well
FINE = {"edgecolor": "0.75", "linewidth": 0.4}  # lines between cells without a name

CHUNK_BYTES = 16
CHUNKS = LINE_BYTES // CHUNK_BYTES  # in a line of all banks
ROWS_READ = 8  # by ldmatrix, of one matrix

PAIRS = {  # what is done: its kind, how its line begins, the rungs without and with the swizzle
    "ldmatrix of four matrices; coloured: the first": ("read", "ldmatrix_x4(fragment,", "a03 a04"),
    "4-byte stores of a fragment: eight rows": ("write", "store_pair(", "a03 a04"),
    "4-byte stores of a column: 32 rows": ("write", "store_shared(", "t02 t03"),
}
ONE_TILE = {"a": (256, 128, 64), "t": (32, 32, 0)}  # m, n and k, by track
KINDS = ("row after row", "128-byte swizzle")
# Heights, in lines of text: of what is above the banks and below, and of 128 bytes.
ABOVE, BELOW = 3.9, 1.8
LABELLED, PLAIN = 0.72, 0.28
FEW = 16  # lines of 128 bytes that have room for labels


def ways_of_banks(starts, count):
    """How many different words are requested from each bank by lanes that touch `count` bytes from each
    of these starts."""
    words = {at // BANK_BYTES for start in starts for at in range(start, start + count, BANK_BYTES)}
    return [sum(word % BANKS == bank for word in words) for bank in range(BANKS)]


def ways_cell(board, x, y, width, height, ways, words="", **how):
    """A cell in the colour of a conflict of that many ways."""
    shade = {"facecolor": WAYS[ways], "color": "white" if ways >= DARK else "black"}
    how = {**shade, "weight": "bold", "zorder": 3, **EDGED, **how}
    board.cell(x, y, width, height, words, **how)


def ways_row(board, ways, y, bank_width=1):
    """The number of words requested from each bank, once for neighbours that are alike."""
    x = 0
    for value, alike in itertools.groupby(ways):
        count = len(list(alike))
        width = count * bank_width
        narrow = len(str(value)) > count
        if not value:
            board.cell(x, y, width, 1, "0", color="0.45")
        else:
            ways_cell(board, x, y, width, 1, value, "" if narrow else str(value))
        x += width
        if value and narrow:
            board.label(x + 0.3, y + 0.5, str(value), ha="left", fontweight="bold", zorder=5)


def access_title(board, width, y, title, passes, needed, more=""):
    """What is accessed, and how many passes it takes."""
    many = passes > needed
    words = f"{passes:g} pass{'es' if passes > 1 else ''}{more if many else ''}"
    how = {"size": 10, "fontweight": "bold"}
    board.label(0, y, title, ha="left", **how)
    colour = style.VERMILION if many else style.BLUE
    board.label(width, y, words, ha="right", color=colour, **how)


def swizzled(offset, span):
    """Where TMA puts a chunk, in bytes: as the PTX manual says, with which tests/device compares it."""
    return offset ^ (offset // LINE_BYTES % (span // CHUNK_BYTES) * CHUNK_BYTES)


def draw_layout(axes, title, row_bytes, span):
    """Shared memory line by line, 128 bytes each; in it the chunks of the tile's rows."""
    lines, per_row = 8, row_bytes // CHUNK_BYTES
    offsets = [swizzled(CHUNK_BYTES * i, span) for i in range(lines * CHUNKS)]
    column = offsets[: ROWS_READ * per_row : per_row]
    ways = ways_of_banks(column, CHUNK_BYTES)
    board = Board(axes, -0.1, CHUNKS + 0.1, lines + 2.75, -1.75)
    access_title(board, CHUNKS, -1.25, title, max(ways), 1)
    for number, offset in enumerate(offsets):
        y, x = divmod(offset // CHUNK_BYTES, CHUNKS)
        words = "{}.{}".format(*divmod(number, per_row))
        if offset in column:
            ways_cell(board, x, y, 1, 1, ways[CHUNK_BYTES // BANK_BYTES * x], words)
        else:
            board.cell(x, y, 1, 1, words, size=SMALL, color="0.45")
    board.frame(0, 0, CHUNKS, lines)
    for chunk in range(CHUNKS):
        board.index(chunk, -0.4, CHUNK_BYTES // BANK_BYTES * chunk, ha="left")
    board.index(CHUNKS, -0.4, BANKS - 1, ha="right")
    ways_row(board, ways, lines + 0.5, BANK_BYTES / CHUNK_BYTES)
    board.index(CHUNKS / 2, lines + 2.15, "words requested from each bank")


def swizzles(_records):
    """Without swizzle above, with it below; rows of 32, 64 and 128 bytes side by side."""
    figure, axes = style.figure_of(6.8, 2, 3)
    for row_bytes, plain, moved in zip((32, 64, 128), *axes):
        draw_layout(plain, f"{row_bytes}-byte rows, no swizzle", row_bytes, CHUNK_BYTES)
        draw_layout(moved, f"{row_bytes}-byte swizzle", row_bytes, row_bytes)
    title = "TMA's swizzles: ldmatrix reads the first 16 bytes of eight rows"
    second = "a cell is 16 bytes, row.chunk of the tile; across: the 32 banks of shared memory; "
    return style.frame(figure, title, f"{second}coloured: what the eight lanes read")


def site_of(rung, access, begins):
    """(passes, passes needed, bytes of a lane, where the worst warp's lanes begin) of the rung's access of
    that kind whose line begins so."""
    for line, kind, *counts in ask(f"bank_conflicts-{rung}", *ONE_TILE[rung[0]]):
        if kind == access and line.startswith(begins):
            instructions, passes, needed, size, *offsets = counts
            return passes / instructions, needed / instructions, size, offsets
    raise ValueError(f"no {access} '{begins}...' in {rung}")


def draw_access(axes, title, site, lines, height):
    """Shared memory line by line; the lanes that are served first, together, are coloured:
    those that request the first 128 bytes."""
    bottom = lines * height
    board = Board(axes, -0.2, BANKS + 0.2, bottom + BELOW, -ABOVE)
    passes, needed, size, offsets = site
    together = MOST_AT_ONCE // size
    ways = ways_of_banks(offsets[:together], size)
    words = max(size // BANK_BYTES, 1)  # of a lane
    for lane, offset in enumerate(offsets):
        y, x = divmod(offset // BANK_BYTES, BANKS)
        place = (x, y * height, words, height)
        name = str(lane) if words > 1 else ""
        if lane < together:
            ways_cell(board, *place, ways[x], name, **({} if name else FINE))
        else:
            board.cell(*place, name, color="0.35")
    board.frame(0, 0, BANKS, bottom)
    ways_row(board, ways, bottom + 0.45)
    for bank in (*range(0, BANKS, 8), BANKS - 1):
        board.index(bank + 0.5, -0.55, bank)
    access_title(board, BANKS, -1.6, title, passes, needed, f" where {needed:g} would do")
    return board


def conflicts(_records):
    """A pair in each row."""
    pairs = {
        what: {rung: site_of(rung, *line) for rung in rungs.split()}
        for what, (*line, rungs) in PAIRS.items()
    }
    sizes = []  # (lines of 128 bytes that the accesses reach, the height of one)
    for pair in pairs.values():
        lines = max(max(site[-1]) // LINE_BYTES + 1 for site in pair.values())
        sizes.append((lines, LABELLED if lines <= FEW else PLAIN))
    ratios = [lines * height + ABOVE + BELOW for lines, height in sizes]
    figure, axes = style.figure_of(8.95, len(pairs), 2, height_ratios=ratios)
    for (what, pair), size, of_pair in zip(pairs.items(), sizes, axes):
        boards = [
            draw_access(here, f"{rung}, {kind}", site, *size)
            for (rung, site), kind, here in zip(pair.items(), KINDS, of_pair)
        ]
        # Above both: no reason to make room for it beside the left one.
        boards[0].label(1.02 * BANKS, 0.5 - ABOVE, what, size=11, in_layout=False)
    title = "Bank conflicts: what the lanes of a warp touch at one instruction"
    second = "across: 32 banks; down: lines of 128 bytes; in cells: lanes; "
    second += "below: words that the coloured lanes request from a bank"
    return style.frame(figure, title, second)
