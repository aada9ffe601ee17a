"""TMA's swizzles: which banks does a column of a tile stand in, with and without each?"""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells

NAME = "tma-swizzles"
PROBES = ("swizzles",)
ROW_BYTES = (32, 64, 128)
KINDS = ("no swizzle", "swizzle")
CHUNK_BYTES, LINE_BYTES, BANK_BYTES = 16, 128, 4
CHUNKS = LINE_BYTES // CHUNK_BYTES  # in a line of all banks
BANKS_OF_CHUNK = CHUNK_BYTES // BANK_BYTES


def title_of(row_bytes, kind):
    """How the probe calls it."""
    rows = f"{row_bytes}-byte"
    return f"{rows} rows, no swizzle" if kind == KINDS[0] else f"{rows} swizzle"


def data(answers, _records):
    """The probe's answer is all shown."""
    return answers["swizzles"]


def ways_of_banks(layout):
    """How many of the eight lanes want each bank: of their first 128 bytes, as ldmatrix reads."""
    wanted = [set() for _ in range(LINE_BYTES // BANK_BYTES)]
    for start in layout["column"]:
        for byte in range(start, start + CHUNK_BYTES, BANK_BYTES):
            wanted[byte % LINE_BYTES // BANK_BYTES].add(byte // LINE_BYTES)
    return [len(lines) for lines in wanted]


def draw_layout(axes, title, layout):
    """Shared memory line by line, 128 bytes each; in it the chunks of the tile's rows."""
    lines = len(layout["offsets"]) // CHUNKS
    per_row = layout["row_bytes"] // CHUNK_BYTES
    ways = ways_of_banks(layout)
    cells.board(axes, CHUNKS, lines)
    axes.set_xlim(-0.1, CHUNKS + 0.1)
    axes.set_ylim(lines + 2.75, -1.75)
    cells.access_title(axes, CHUNKS, -1.25, title, layout["passes"], layout["passes_needed"])
    for number, offset in enumerate(layout["offsets"]):
        y, x = divmod(offset // CHUNK_BYTES, CHUNKS)
        words = "{}.{}".format(*divmod(number, per_row))
        if offset in layout["column"]:
            cells.ways_cell(axes, x, y, 1, 1, ways[BANKS_OF_CHUNK * x], words)
        else:
            cells.cell(axes, x, y, 1, 1, words, size=cells.SMALL, color="0.45")
    cells.frame(axes, 0, 0, CHUNKS, lines)
    for chunk in range(CHUNKS):
        cells.index(axes, chunk, -0.4, BANKS_OF_CHUNK * chunk, ha="left")
    cells.index(axes, CHUNKS, -0.4, len(ways) - 1, ha="right")
    cells.ways_row(axes, ways, lines + 0.5, 1 / BANKS_OF_CHUNK)
    cells.index(axes, CHUNKS / 2, lines + 2.15, "words wanted of each bank")


def draw(pyplot, found):
    """Without swizzle above, with it below; rows of 32, 64 and 128 bytes side by side."""
    figure, axes = style.figure_of(pyplot, 6.8, 2, 3)
    for kind, of_kind in zip(KINDS, axes):
        for row_bytes, here in zip(ROW_BYTES, of_kind):
            title = title_of(row_bytes, kind)
            draw_layout(here, title, found[title])
    style.frame(
        figure,
        "TMA's swizzles: ldmatrix reads the first 16 bytes of eight rows",
        "a cell is 16 bytes, row.chunk of the tile; across: the 32 banks of shared memory; "
        "coloured: what the eight lanes read",
    )
    return figure
