"""The order of D's tiles: which are computed at the same time, what do they read of A and B, and what
does the order save of the bytes from DRAM, by a model of the L2 and as counted?"""

from __future__ import annotations

import math
from statistics import fmean

from bench import results
from plots.draw import bars, style
from plots.draw import model
from plots.draw.cells import SMALL, Board
from plots.draw.probes import order_of, tile_of
from plots.draw.records import Missing

ORDERS = {"v05": "column by column", "v10": "in groups of rows", "v11": "along a Hilbert curve"}
WAVE = 6  # counted from 0: the one whose reads are shown
SHADE = "#DDE6EC"  # of every other wave
EDGE = 0.06  # of D's side: where the panels of A and B are marked
NARROW = 4  # columns: the numbers of waves that have fewer are staggered
STAGGER = 0.12
READ = {"facecolor": style.BLUE, "linewidth": 0}

COUNTER = "dram__bytes_read.sum"
BACKWARDS = "v13"
MODELLED = {
    "v05": "column by column",
    "v10": "groups of rows",
    "v11": "Hilbert",
    BACKWARDS: "groups, every other\ntile from the end of k",
}
MODEL = {"label": "model", "color": style.SKY, "width": 0.38}
COUNTED = {"label": "counted on the GPU", **style.HATCHED, "width": 0.38}


# --- what a wave reads ------------------------------------------------------------------------


def bytes_of(order, tile, size):
    """(distinct, requested): what the whole waves read on average, panels of all k."""
    m, n, _ = tile
    line = size * model.ELEMENT_BYTES
    whole = [wave for wave in model.waves_of(order) if len(wave) == order["workers"]]
    panels = map(model.panels_of, whole)
    distinct = fmean((len(rows) * m + len(columns) * n) * line for rows, columns in panels)
    return distinct, order["workers"] * (m + n) * line


def columns_of(tiles):
    """[(m, n, how many)]: these tiles as stretches of columns."""
    found = []
    for n, m in sorted((n, m) for m, n in tiles):
        if found and found[-1][1] == n and sum(found[-1][::2]) == m:
            first, _, count = found.pop()
            found.append((first, n, count + 1))
        else:
            found.append((m, n, 1))
    return found


def draw_waves(board, order, height, width):
    """Every tile in the shade of its wave, and the wave's number in its middle."""
    for number, tiles in enumerate(model.waves_of(order)):
        shown = number == WAVE
        shade = style.ORANGE if shown else SHADE
        for m, n, count in columns_of(tiles) if shown or number % 2 else ():
            place = (n * width, m * height, width, count * height)
            board.cell(*place, facecolor=shade, linewidth=0)
        x = fmean([(n + 0.5) * width for _, n in tiles])
        y = fmean([(m + 0.5) * height for m, _ in tiles])
        narrow = len(model.panels_of(tiles)[1]) < NARROW
        y += STAGGER * y * (number % 2) if narrow else 0
        how = {"fontweight": "bold", "zorder": 6, "bbox": {**style.CLEAR, "alpha": 0.8}}
        board.label(x, y, str(number), size=9 if shown else SMALL, **how)


def draw_path(board, order, height, width):
    """The order itself, as lines from each tile to the next if they are neighbours."""
    tiles = list(zip(order["m"], order["n"]))
    places = []
    for (m, n), (next_m, next_n) in zip(tiles, [*tiles[1:], tiles[-1]]):
        places.append(((n + 0.5) * width, (m + 0.5) * height))
        if abs(m - next_m) + abs(n - next_n) > 1:
            places.append((math.nan, math.nan))
    board.line(*zip(*places), color="0.35", linewidth=0.6, zorder=3)
    board.line(*places[0], marker="o", linestyle="none", color="black", markersize=4, zorder=6)


def draw_order(axes, rung, order, size):
    """One order, with what a wave reads in words, and the rows of A, to the left, and of B, above, that
    the shown wave reads."""
    height, width, _ = tile = tile_of(rung)
    edge = EDGE * size
    distinct, requested = bytes_of(order, tile, size)
    facts = (
        f"{order['workers']} tiles of {height} × {width} at once:\n"
        f"a wave reads {1e-6 * distinct:.0f} MB on average,\n"
        f"each byte requested {requested / distinct:.1f} times"
    )
    board = Board(axes, -1.6 * edge, 1.01 * size, 1.29 * size, -3.4 * edge, to_scale=True)
    title = f"{rung}: {ORDERS[rung]}"
    board.label(size / 2, -2.6 * edge, title, size=10, fontweight="bold")
    draw_waves(board, order, height, width)
    draw_path(board, order, height, width)
    for side in ((-1.5 * edge, 0, edge, size), (0, -1.5 * edge, size, edge)):
        board.frame(*side, edgecolor="0.6", linewidth=0.7, zorder=2)
    rows, columns = model.panels_of(model.waves_of(order)[WAVE])
    for m in rows:
        board.cell(-1.5 * edge, m * height, edge, height, **READ)
    for n in columns:
        board.cell(n * width, -1.5 * edge, width, edge, **READ)
    board.label(-1.0 * edge, -1.0 * edge, "A  B", size=SMALL)
    board.frame(0, 0, size, size)
    board.label(size / 2, 1.03 * size, facts, va="top", linespacing=1.4, size=10)


def orders(records):
    """The three orders side by side."""
    gpu, size = records.headline().gpu, results.SIZE
    figure, axes = style.figure_of(4.7, 1, 3)
    for rung, here in zip(ORDERS, axes):
        draw_order(here, rung, order_of(rung, size, gpu["sms"]), size)
    title = f"Tiles of D {size} × {size}: which are computed at the same time, and what they read"
    second = f"numbers: waves, on the {gpu['sms']} SMs of an {gpu['name']}; "
    second += f"blue: the panels of A and B that wave {WAVE} reads"
    return style.frame(figure, title, second)


# --- what comes from DRAM ---------------------------------------------------------------------


def counted(records):
    """{rung: (run, bytes read from DRAM)} as counted on the GPU."""
    try:
        known = records.counted()
    except Missing:
        return {}
    return {
        rung: (known[rung][0], known[rung][1]["counters"][COUNTER])
        for rung in MODELLED
        if rung in known
    }


def from_dram(records):
    """The model at the GPU's own L2 beside what was counted there, if it was."""
    gpu, size, known = records.headline().gpu, results.SIZE, counted(records)
    figure, axes = style.figure_of(3.6)
    for x, rung in enumerate(MODELLED):
        order = order_of(rung, size, gpu["sms"])
        by_model = model.dram_reads(order, tile_of(rung), size, rung == BACKWARDS, gpu["l2_bytes"])
        bars.labelled(axes, [x - 0.2], [1e-9 * by_model], "{:.2f}".format, **MODEL)
        if rung in known:
            bars.labelled(axes, [x + 0.2], [1e-9 * known[rung][1]], "{:.2f}".format, **COUNTED)
    least = 2e-9 * size**2 * model.ELEMENT_BYTES
    axes.axhline(least, label=f"A and B once: {least:.2f} GB", **style.LEAST)
    style.name_ticks(axes, [f"{rung}: {words}" for rung, words in MODELLED.items()], fontsize=10)
    axes.set_ylabel("GB read from DRAM")
    runs = sorted((run for run, _ in known.values()), key=lambda run: run.date)
    more = [f"counted: Nsight Compute, cold caches, {style.when(*runs)}"] if known else []
    title = f"Bytes read from DRAM by the order of tiles, bf16 GEMM {size}³, {gpu['name']}"
    second = "the model: one cache for A and B, evicts the least recently used; all SMs in step"
    return style.frame(figure, title, second, columns=3, more=more)
