"""Which banks of shared memory do the lanes of a warp hit, before and after a swizzle?"""

from __future__ import annotations

import itertools
import linecache

from bench import results
from plots.draw import style
from plots.draw.ideas import cells
from plots.draw.records import Missing

BANKS, BANK_BYTES = 32, 4
LINE_BYTES = BANKS * BANK_BYTES
MOST_AT_ONCE = 128  # bytes of one pass

# How many lanes hit the same bank: the more the darker, also in grey.
WAYS = {1: "#D3ECFA", 2: "#F2CF5B", 4: "#E69F00", 8: "#B5460F", 16: "#7A2A08", 32: "#4A1505"}
DARK = 8  # ways from which a text on that colour is white
EDGED = {"edgecolor": "0.2", "linewidth": 0.9}  # told from its neighbours in grey as well
FINE = {"edgecolor": "0.75", "linewidth": 0.4}  # lines between cells without a name

SWIZZLES = tuple(  # as the probe calls them, in the picture's order
    tuple(f"{row_bytes}-byte {kind}" for row_bytes in (32, 64, 128))
    for kind in ("rows, no swizzle", "swizzle")
)
CHUNK_BYTES = 16
CHUNKS = LINE_BYTES // CHUNK_BYTES  # in a line of all banks
ROWS_READ = 8  # by ldmatrix, of one matrix

PAIRS = (  # what is done, how the line begins, the rungs without and with the swizzle
    (
        "ldmatrix reads four matrices of eight rows; coloured: the first",
        "read",
        "ldmatrix_x4(fragment,",
        ("a03", "a04"),
    ),
    ("4-byte stores of a fragment: eight rows", "write", "store_pair(", ("a03", "a04")),
    ("4-byte stores of a column: 32 rows", "write", "store_shared(", ("t02", "t03")),
)
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


def ways_cell(axes, x, y, width, height, ways, words="", **how):
    """A cell in the colour of a conflict of that many ways."""
    shade = {"facecolor": WAYS[ways], "color": "white" if ways >= DARK else "black"}
    how = {**shade, "weight": "bold", "zorder": 3, **EDGED, **how}
    cells.cell(axes, x, y, width, height, words, **how)


def ways_row(axes, ways, y, bank_width=1):
    """The number of words requested from each bank, once for neighbours that are alike."""
    x = 0
    for value, alike in itertools.groupby(ways):
        count = len(list(alike))
        width = count * bank_width
        narrow = len(str(value)) > count
        if value:
            ways_cell(axes, x, y, width, 1, value, "" if narrow else str(value))
        else:
            cells.cell(axes, x, y, width, 1, "0", color="0.45")
        x += width
        if value and narrow:
            how = {"ha": "left", "fontweight": "bold", "zorder": 5}
            cells.label(axes, x + 0.3, y + 0.5, str(value), **how)


def access_title(axes, width, y, title, passes, needed, more=""):
    """What is accessed, and how many passes it takes."""
    colour = style.VERMILION if passes > needed else style.BLUE
    words = f"{passes:g} pass{'es' if passes > 1 else ''}{more if passes > needed else ''}"
    how = {"size": 10, "fontweight": "bold"}
    cells.label(axes, 0, y, title, ha="left", **how)
    cells.label(axes, width, y, words, ha="right", color=colour, **how)


# --- TMA's swizzles ---------------------------------------------------------------------------


def swizzles_data(answers, _records):
    """Where the chunks lie, and what the eight lanes touch that read the first of eight rows."""
    found = {}
    for name in itertools.chain(*SWIZZLES):
        layout = answers["layouts"][name]
        per_row = layout["row_bytes"] // CHUNK_BYTES
        column = layout["offsets"][: ROWS_READ * per_row : per_row]
        passes = max(ways_of_banks(column, CHUNK_BYTES))
        found[name] = {**layout, "column": column, "passes": passes, "passes_needed": 1}
    return found


def draw_layout(axes, title, layout):
    """Shared memory line by line, 128 bytes each; in it the chunks of the tile's rows."""
    lines = len(layout["offsets"]) // CHUNKS
    ways = ways_of_banks(layout["column"], CHUNK_BYTES)
    cells.board(axes, -0.1, CHUNKS + 0.1, lines + 2.75, -1.75)
    access_title(axes, CHUNKS, -1.25, title, layout["passes"], layout["passes_needed"])
    for number, offset in enumerate(layout["offsets"]):
        y, x = divmod(offset // CHUNK_BYTES, CHUNKS)
        words = "{}.{}".format(*divmod(number, layout["row_bytes"] // CHUNK_BYTES))
        if offset in layout["column"]:
            ways_cell(axes, x, y, 1, 1, ways[CHUNK_BYTES // BANK_BYTES * x], words)
        else:
            cells.cell(axes, x, y, 1, 1, words, size=cells.SMALL, color="0.45")
    cells.frame(axes, 0, 0, CHUNKS, lines)
    for chunk in range(CHUNKS):
        cells.index(axes, chunk, -0.4, CHUNK_BYTES // BANK_BYTES * chunk, ha="left")
    cells.index(axes, CHUNKS, -0.4, BANKS - 1, ha="right")
    ways_row(axes, ways, lines + 0.5, BANK_BYTES / CHUNK_BYTES)
    cells.index(axes, CHUNKS / 2, lines + 2.15, "words requested from each bank")


def draw_swizzles(pyplot, found):
    """Without swizzle above, with it below; rows of 32, 64 and 128 bytes side by side."""
    figure, axes = style.figure_of(pyplot, 6.8, 2, 3)
    for names, of_kind in zip(SWIZZLES, axes):
        for name, here in zip(names, of_kind):
            draw_layout(here, name, found[name])
    style.frame(
        figure,
        "TMA's swizzles: ldmatrix reads the first 16 bytes of eight rows",
        "a cell is 16 bytes, row.chunk of the tile; across: the 32 banks of shared memory; "
        "coloured: what the eight lanes read",
    )
    return figure


# --- the rungs' conflicts ---------------------------------------------------------------------


def conflicts_data(answers, _records):
    """The accesses of the pairs, of the rung without the swizzle and of the one with it."""
    return {
        what: [find(answers[f"bank_conflicts-{rung}"], rung, *line) for rung in rungs]
        for what, *line, rungs in PAIRS
    }


def find(answer, rung, access, begins):
    """The rung's access of that kind whose line begins so, with the line."""
    for site in answer.values():
        file, line, *_ = site.values()
        source = linecache.getline(str(results.ROOT / file), line).strip()
        if site["access"] == access and source.startswith(begins):
            known = {key: site[key] for key in site if key not in ("file", "line")}
            return {"rung": rung, "source": source, **known}
    raise Missing(f"no {access} '{begins}...' in {rung}")


def draw_access(axes, site, kind, lines, height):
    """Shared memory line by line; the lanes that are served first, together, are coloured:
    those that request the first 128 bytes."""
    bottom = lines * height
    cells.board(axes, -0.2, BANKS + 0.2, bottom + BELOW, -ABOVE)
    together = MOST_AT_ONCE // site["bytes"]
    ways = ways_of_banks(site["offsets"][:together], site["bytes"])
    words = max(site["bytes"] // BANK_BYTES, 1)  # of a lane
    for lane, offset in enumerate(site["offsets"]):
        y, x = divmod(offset // BANK_BYTES, BANKS)
        place = (x, y * height, words, height)
        name = str(lane) if words > 1 else ""
        if lane < together:
            ways_cell(axes, *place, ways[x], name, **({} if name else FINE))
        else:
            cells.cell(axes, *place, name, color="0.35")
    cells.frame(axes, 0, 0, BANKS, bottom)
    ways_row(axes, ways, bottom + 0.45)
    for bank in (*range(0, BANKS, 8), BANKS - 1):
        cells.index(axes, bank + 0.5, -0.55, bank)
    passes, needed = (site[key] / site["instructions"] for key in ("passes", "passes_needed"))
    title, more = f"{site['rung']}, {kind}", f" where {needed:g} would do"
    access_title(axes, BANKS, -1.6, title, passes, needed, more)


def draw_conflicts(pyplot, found):
    """A pair in each row."""
    sizes = []  # (lines of 128 bytes that the accesses reach, the height of one)
    for pair in found.values():
        lines = max(max(site["offsets"]) // LINE_BYTES + 1 for site in pair)
        sizes.append((lines, LABELLED if lines <= FEW else PLAIN))
    ratios = [lines * height + ABOVE + BELOW for lines, height in sizes]
    figure, axes = style.figure_of(pyplot, 8.95, len(found), 2, height_ratios=ratios)
    for (what, pair), size, of_pair in zip(found.items(), sizes, axes):
        for site, kind, here in zip(pair, KINDS, of_pair):
            draw_access(here, site, kind, *size)
        # Above both: no reason to make room for it beside the left one.
        cells.label(of_pair[0], 1.02 * BANKS, 0.5 - ABOVE, what, size=11, in_layout=False)
    style.frame(
        figure,
        "Bank conflicts: what the lanes of a warp touch at one instruction",
        "across: 32 banks; down: lines of 128 bytes; in cells: lanes; "
        "below: words that the coloured lanes request from a bank",
    )
    return figure


PICTURES = (
    ("tma-swizzles", swizzles_data, draw_swizzles),
    ("bank-conflicts", conflicts_data, draw_conflicts),
)
