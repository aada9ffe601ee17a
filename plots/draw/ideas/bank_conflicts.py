"""Bank conflicts of the rungs: which banks do the lanes of a warp meet in, before and after?"""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells
from plots.draw.records import Missing

NAME = "bank-conflicts"
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
# Heights, in lines of text: of what stands above the banks and below, and of 128 bytes.
ABOVE, BELOW = 3.9, 1.8
LABELLED, PLAIN = 0.72, 0.28
FEW = 16  # lines of 128 bytes that have room for labels
PROBES = tuple(sorted({f"bank_conflicts-{rung}" for *_, rungs in PAIRS for rung in rungs}))
BANKS, BANK_BYTES = 32, 4
LINE_BYTES = BANKS * BANK_BYTES
FINE = {"edgecolor": "0.75", "linewidth": 0.4}  # lines between cells without a name
MOST_AT_ONCE = 128  # bytes of one pass


def data(answers, _records):
    """The accesses of the pairs, of the rung without the swizzle and of the one with it."""
    return {
        what: [{"rung": rung, **find(answers, rung, access, part)} for rung in rungs]
        for what, access, part, rungs in PAIRS
    }


def find(answers, rung, access, part):
    """The rung's access of that kind whose line begins so."""
    for site in answers[f"bank_conflicts-{rung}"].values():
        if site["access"] == access and site["source"].startswith(part):
            return site
    raise Missing(f"no {access} '{part}...' in {rung}")


def words_of(site):
    """{lane: the words it touches, counted from the first line}."""
    count = max(site["bytes"] // BANK_BYTES, 1)
    return {
        lane: range(offset // BANK_BYTES, offset // BANK_BYTES + count)
        for lane, offset in zip(site["lanes"], site["offsets"])
    }


def first_together(site):
    """The first lanes that are served together: as many as ask for 128 bytes."""
    return site["lanes"][: MOST_AT_ONCE // site["bytes"]]


def ways_of_banks(site, lanes):
    """How many different words these lanes want of each bank."""
    words = words_of(site)
    wanted = {word for lane in lanes for word in words[lane]}
    return [sum(word % BANKS == bank for word in wanted) for bank in range(BANKS)]


def lines_of(pair):
    """How many lines of 128 bytes the accesses reach, and the height of one."""
    lines = max(max(site["offsets"]) // LINE_BYTES + 1 for site in pair)
    return lines, LABELLED if lines <= FEW else PLAIN


def draw_access(axes, site, kind, lines, height):
    """Shared memory line by line; the first lanes that are served together stand out."""
    bottom = lines * height
    cells.board(axes, BANKS, bottom)
    axes.set_xlim(-0.2, BANKS + 0.2)
    axes.set_ylim(bottom + BELOW, -ABOVE)
    first = first_together(site)
    ways = ways_of_banks(site, first)
    for lane, words in words_of(site).items():
        y, x = divmod(words[0], BANKS)
        place = (x, y * height, len(words), height)
        name = str(lane) if len(words) > 1 else ""
        if lane in first:
            cells.ways_cell(axes, *place, ways[x], name, **({} if name else FINE))
        else:
            cells.cell(axes, *place, name, color="0.35")
    cells.frame(axes, 0, 0, BANKS, bottom)
    cells.ways_row(axes, ways, bottom + 0.45)
    for bank in (*range(0, BANKS, 8), BANKS - 1):
        cells.index(axes, bank + 0.5, -0.55, bank)
    passes, needed = (site[key] / site["instructions"] for key in ("passes", "passes_needed"))
    title, more = f"{site['rung']}, {kind}", f" where {needed:g} would do"
    cells.access_title(axes, BANKS, -1.6, title, passes, needed, more)


def draw(pyplot, found):
    """A pair in each row."""
    sizes = [lines_of(pair) for pair in found.values()]
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
        "below: words that the coloured lanes want of a bank",
    )
    return figure
