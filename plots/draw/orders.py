"""The order of D's tiles: which are computed at the same time, what they read of A and B, and what an
L2 makes of it: by a model, and as counted.

The model is simple, and says so wherever it is shown: one cache that evicts the least recently used,
nothing in it but A and B; all workers (CTAs, or clusters that share their loads) start their tiles
of a wave together and go through k in step."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from statistics import fmean

from bench import results
from plots.draw import bars, style
from plots.draw.records import order_of, tile_of
from plots.draw.style import SMALL, Board

SIZE, ELEMENT_BYTES = results.SIZE, 2  # of m, n and k; of bf16
ORDERS = {"v05": "column by column", "v10": "in groups of rows", "v11": "along a Hilbert curve"}
BACKWARDS = "v13"
MODELLED = {**ORDERS, BACKWARDS: "groups, every other\ntile from the end of k"}
EDGE = 0.06 * SIZE  # how wide the panels of A and B are drawn, to the left of D and above it
NARROW = 4  # columns: the numbers of waves that have fewer are staggered
SHADE = {"facecolor": "#DDE6EC", "linewidth": 0}  # of every other wave

BEFORE, SHOWN = 5, 6  # waves, counted from 0: of one group, not its first and not its last
LOOKS = {BEFORE: {"facecolor": "0.85"}, SHOWN: {"facecolor": "#A9D6F5"}}
FOUND = {"facecolor": "#5DB594", "edgecolor": "black", "linewidth": 0.6}
READ = {"facecolor": "#F3C460", "hatch": "//", "edgecolor": "0.3", "linewidth": 0.6}
RUNGS = {  # whether every other wave walks k backwards, whether loads have hints; in words
    "v12": (False, False, "both waves walk k forwards"),
    "v13": (True, False, "every other wave walks k backwards"),
    "v14": (True, True, "and hints: B's lines are evicted first"),
}


def waves_of(order):
    """[[(m, n) of a tile]], wave by wave: what the workers do at the same time."""
    tiles, workers = list(zip(order["m"], order["n"])), order["workers"]
    return [tiles[first : first + workers] for first in range(0, len(tiles), workers)]


def panels_of(tiles):
    """(rows, columns) of the grid of tiles that these need, each once."""
    return sorted({m for m, _ in tiles}), sorted({n for _, n in tiles})


def uses(order, tile, size, backwards=False):
    """(wave, slice, bytes) of every use of a slice of A or B, what a tile needs for one step along k, in
    the order in which the L2 sees them. backwards: every other wave begins at the end of k."""
    m, n, bk = tile
    line = bk * ELEMENT_BYTES
    for number, tiles in enumerate(waves_of(order)):
        rows, columns = panels_of(tiles)
        panels = [("a", row, m * line) for row in rows]
        panels += [("b", column, n * line) for column in columns]
        steps = range(-(-size // bk))
        for k in reversed(steps) if backwards and number % 2 else steps:
            for side, panel, count in panels:
                yield number, (side, panel, k), count


class Cache:
    """An L2 of so many bytes: when it is full, lines marked evict-first go, then the least
    recently used."""

    def __init__(self, capacity):
        self.room, self.kept, self.first = capacity, OrderedDict(), OrderedDict()

    def use(self, item, count, evict_first=False):
        """Uses a slice; True if it was there."""
        there = self.kept.pop(item, 0) or self.first.pop(item, 0)
        (self.first if evict_first else self.kept)[item] = count
        self.room += there - count
        while self.room < 0:
            self.room += (self.first or self.kept).popitem(last=False)[1]
        return bool(there)


def dram_reads(order, tile, size, backwards, capacity):
    """The bytes read from DRAM with an L2 of that capacity."""
    cache = Cache(capacity)
    return sum(n for _, item, n in uses(order, tile, size, backwards) if not cache.use(item, n))


def hits(order, tile, capacity, backwards, hints):
    """Of each step along k, in the order of k, whether the shown wave finds its slices of A in the L2:
    the part of them."""
    read = set()  # (wave, side, panel)
    for i, tile_at in enumerate(zip(order["m"], order["n"])):
        read |= {(i // order["workers"], side, panel) for side, panel in zip("ab", tile_at)}
    cache, found = Cache(capacity), {}
    for wave, (side, panel, k), count in uses(order, tile, SIZE, backwards):
        there = cache.use((side, panel, k), count, hints and (wave + 1, side, panel) not in read)
        if (wave, side) == (SHOWN, "a"):
            found.setdefault(k, []).append(there)
    return [fmean(found[k]) for k in sorted(found)]


def draw_tiles(board, tile, tiles, look, panels):
    """These tiles on D, and the rows of A, to the left, and of B, above, that they read."""
    height, width, _ = tile
    for m, n in tiles:
        board.cell(n * width, m * height, width, height, **look)
    rows, columns = panels_of(tiles) if panels else ((), ())
    for m in rows:
        board.cell(-1.5 * EDGE, m * height, EDGE, height, **panels)
    for n in columns:
        board.cell(n * width, -1.5 * EDGE, width, EDGE, **panels)


def frames(board, title):
    """Around D and the panels."""
    how = {"edgecolor": "0.6", "linewidth": 0.7, "zorder": 2}
    board.frame(-1.5 * EDGE, 0, EDGE, SIZE, **how)
    board.frame(0, -1.5 * EDGE, SIZE, EDGE, **how)
    board.label(-EDGE, -EDGE, "A  B", size=SMALL)
    board.frame(0, 0, SIZE, SIZE)
    board.label(SIZE / 2, -2.6 * EDGE, title, size=10, fontweight="bold")


def draw_order(axes, rung, order):
    """Waves in shades, with their numbers; the order as a line; in words what a wave reads."""
    height, width, _ = tile = tile_of(rung)
    board = Board(axes, -1.6 * EDGE, 1.01 * SIZE, 1.29 * SIZE, -3.4 * EDGE, to_scale=True)
    frames(board, f"{rung}: {ORDERS[rung]}")
    reads = []
    for number, tiles in enumerate(waves_of(order)):
        rows, columns = panels_of(tiles)
        if len(tiles) == order["workers"]:
            reads.append((len(rows) * height + len(columns) * width) * SIZE * ELEMENT_BYTES)
        if number == SHOWN:
            look, panels = {"facecolor": style.ORANGE, "linewidth": 0}, {"facecolor": style.BLUE}
            draw_tiles(board, tile, tiles, look, {**panels, "linewidth": 0})
        elif number % 2:
            draw_tiles(board, tile, tiles, SHADE, None)
        x = fmean((n + 0.5) * width for _, n in tiles)
        y = fmean((m + 0.5) * height for m, _ in tiles)
        y *= 1.12 if len(columns) < NARROW and number % 2 else 1
        how = {"fontweight": "bold", "zorder": 6, "bbox": {**style.CLEAR, "alpha": 0.8}}
        board.label(x, y, str(number), size=SMALL, **how)
    places = []
    for m, n in zip(order["m"], order["n"]):
        place = (n + 0.5) * width, (m + 0.5) * height
        if places and abs(place[0] - places[-1][0]) + abs(place[1] - places[-1][1]) > width:
            places.append((math.nan, math.nan))
        places.append(place)
    board.axes.plot(*zip(*places), color="0.35", linewidth=0.6, zorder=3)
    board.axes.plot(*places[0], marker="o", linestyle="none", color="black", markersize=4, zorder=6)
    requested = order["workers"] * (height + width) * SIZE * ELEMENT_BYTES
    facts = f"{order['workers']} tiles of {height} × {width} at once:\n"
    facts += f"a wave reads {1e-6 * fmean(reads):.0f} MB on average,\n"
    facts += f"each byte requested {requested / fmean(reads):.1f} times"
    board.label(SIZE / 2, 1.03 * SIZE, facts, va="top", linespacing=1.4, size=10)


def orders(records):
    """The three orders side by side."""
    gpu = records.headline().gpu
    figure, axes = style.figure_of(4.7, 1, 3)
    for rung, here in zip(ORDERS, axes):
        draw_order(here, rung, order_of(rung, SIZE, gpu["sms"]))
    title = f"Tiles of D {SIZE} × {SIZE}: which are computed at the same time, and what they read"
    second = f"numbers: waves, on the {gpu['sms']} SMs of an {gpu['name']}; "
    second += f"blue: the panels of A and B that wave {SHOWN} reads"
    return style.frame(figure, title, second)


def from_dram(records):
    """The model at the GPU's own L2 beside what was counted there, if it was."""
    gpu, counter = records.headline().gpu, "dram__bytes_read.sum"
    known = {rung: one for rung, one in records.counted().items() if rung in MODELLED}
    reads = {rung: row["counters"][counter] for rung, (_, row) in known.items()}
    figure, axes = style.figure_of(3.6)
    for x, rung in enumerate(MODELLED):
        order = order_of(rung, SIZE, gpu["sms"])
        by_model = dram_reads(order, tile_of(rung), SIZE, rung == BACKWARDS, gpu["l2_bytes"])
        for i, (words, value) in enumerate({"model": by_model, "counted": reads.get(rung)}.items()):
            how = {"label": words, "width": 0.38, **bars.SIDES[i]}
            bars.labelled(
                axes, [x + 0.4 * i - 0.2], [value and 1e-9 * value], "{:.2f}".format, **how
            )
    least = 2e-9 * SIZE**2 * ELEMENT_BYTES
    axes.axhline(least, label=f"A and B once: {least:.2f} GB", **style.LEAST)
    style.name_ticks(axes, [f"{rung}: {words}" for rung, words in MODELLED.items()], fontsize=10)
    axes.set_ylabel("GB read from DRAM")
    runs = sorted((run for run, _ in known.values()), key=lambda run: run.date)
    more = [f"counted: Nsight Compute, cold caches, {style.when(*runs)}"] if known else []
    title = f"Bytes read from DRAM by the order of tiles, bf16 GEMM {SIZE}³, {gpu['name']}"
    second = "the model: one cache for A and B, evicts the least recently used; all SMs in step"
    return style.frame(figure, title, second, columns=3, more=more)


def draw_strips(axes, found, capacities):
    """For each rung how far the second wave finds A in the L2, along k; found: {rung: of each capacity
    what hits() says}."""
    steps = len(found["v12"][0])
    board = Board(axes, -0.02 * steps, 1.02 * steps, 15.4, -1.7)
    board.title(steps / 2, -1.2, f"the rows of A in wave {SHOWN}, along k")
    for i, (rung, (backwards, _, words)) in enumerate(RUNGS.items()):
        y = 5.1 * i
        board.label(0, y + 0.1, f"{rung}: {words}", ha="left", size=10, fontweight="bold")
        for wave, at in ((BEFORE, y + 0.85), (SHOWN, y + 1.45)):
            ends = [(0, at), (steps, at)]
            board.arrow(*(ends[::-1] if backwards and wave % 2 else ends), color="0.35")
            board.label(steps / 2, at, f"wave {wave}", bbox=style.CLEAR, va="center")
        for row, (values, capacity) in enumerate(zip(found[rung], capacities)):
            x, top = 0, y + 2 + 1.25 * row
            for value, alike in itertools.groupby(values):
                count = len(list(alike))
                board.cell(x, top, count, 1, **(FOUND if value == 1 else READ))
                x += count
            text = f"L2 of {1e-6 * capacity:.1f} MB: {100 * sum(values) / steps:.0f} % found"
            board.on(steps / 2, top + 0.5, text, bbox={**style.CLEAR, "alpha": 0.85})


def wave_reuse(records):
    """D with both waves to the left, the strips to the right."""
    gpu = records.headline().gpu
    order, tile = order_of("v14", SIZE, gpu["sms"]), tile_of("v14")
    capacities = [gpu["l2_bytes"], gpu["l2_bytes"] // 2]
    found = {
        rung: [hits(order, tile, capacity, *how) for capacity in capacities]
        for rung, (*how, _) in RUNGS.items()
    }
    figure, (matrix, strips) = style.figure_of(5.6, 1, 2, width_ratios=(1, 1.25))
    board = Board(matrix, -1.6 * EDGE, 1.01 * SIZE, 1.42 * SIZE, -3.6 * EDGE, to_scale=True)
    frames(board, "D: tiles of {} × {}".format(*tile))
    waves, both = waves_of(order), set()
    for wave, look in LOOKS.items():
        draw_tiles(board, tile, waves[wave], look, {**look, "linewidth": 0})
        rows, columns = panels_of(waves[wave])
        for m in both.intersection(rows):
            board.cell(-1.5 * EDGE, m * tile[0], EDGE, tile[0], **{**FOUND, "linewidth": 0})
        both.update(rows)
        x, y = ((part[0] + part[-1] + 1) / 2 for part in (columns, rows))
        words = f"wave {wave}\n{len(waves[wave])} tiles"
        board.on(x * tile[1], y * tile[0], words, size=10)
    words = f"green in A: rows that wave {SHOWN} reads again;\nB's columns are new to it, and no "
    words += f"later\nwave of the group reads those of wave {BEFORE}"
    board.left(-1.5 * EDGE, 1.05 * SIZE, words, va="top", size=10)
    draw_strips(strips, found, capacities)
    title = "What a wave finds in the L2: the rows of A that the wave before it read last"
    second = "plain green: found in the L2; hatched: read from DRAM; by a model that evicts the "
    half = f"{1e-6 * capacities[1]:.1f} MB"
    more = [f"{half}: if the L2 keeps each line in both of its halves ({gpu['name']})"]
    return style.frame(figure, title, f"{second}least recently used", more=more)
