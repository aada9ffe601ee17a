"""Two waves of tiles, one after the other, and what the second finds in the L2 of what the first read:
with v12's, v13's and v14's loads, by a model of the L2."""

from __future__ import annotations

import itertools

from bench import results
from plots.draw import style
from plots.draw import model
from plots.draw.cells import Board
from plots.draw.probes import order_of, tile_of

BEFORE, SHOWN = 5, 6  # waves, counted from 0: of one group, not its first and not its last
# Whether every other wave walks k backwards, and whether loads have hints; in words.
RUNGS = {
    "v12": (False, False, "both waves walk k forwards"),
    "v13": (True, False, "every other wave walks k backwards"),
    "v14": (True, True, "and hints: B's lines are evicted first"),
}
FOUND = {"facecolor": "#5DB594", "edgecolor": "black", "linewidth": 0.6}
READ = {"facecolor": "#F3C460", "hatch": "//", "edgecolor": "0.3", "linewidth": 0.6}
AGAIN = {"facecolor": "#5DB594", "linewidth": 0}  # a panel that both waves read
LOOKS = {BEFORE: {"facecolor": "0.85"}, SHOWN: {"facecolor": "#A9D6F5"}}
EDGE = 0.07  # of D's side: how wide the panels of A and B are drawn


def hits(order, tile, size, capacity, backwards, hints):
    """Of each step along k, in the order of k, whether the shown wave finds its slices of A in the L2:
    the part of them. All CTAs of a wave go through k in step."""
    read = set()  # (wave, side, panel)
    for i, tile_at in enumerate(zip(order["m"], order["n"])):
        read |= {(i // order["workers"], side, panel) for side, panel in zip("ab", tile_at)}
    cache, found = model.Cache(capacity), {}
    for wave, (side, panel, k), count in model.uses(order, tile, size, backwards):
        there = cache.use((side, panel, k), count, hints and (wave + 1, side, panel) not in read)
        if (wave, side) == (SHOWN, "a"):
            found.setdefault(k, []).append(there)
    return [sum(found[k]) / len(found[k]) for k in sorted(found)]


def draw_matrix(axes, waves, tile, size):
    """D with both waves, and the panels of A and B that they read."""
    height, width, _ = tile
    edge = EDGE * size
    board = Board(axes, -2.2 * edge, 1.01 * size, 1.42 * size, -4.2 * edge, to_scale=True)
    read = (set(), set())  # rows and columns
    for wave, look in LOOKS.items():
        for m, n in waves[wave]:
            board.cell(n * width, m * height, width, height, **look)
        rows, columns = model.panels_of(waves[wave])
        for m in rows:
            how = AGAIN if m in read[0] else {**look, "linewidth": 0}
            board.cell(-2 * edge, m * height, edge * 1.4, height, **how)
        for n in columns:
            how = AGAIN if n in read[1] else {**look, "linewidth": 0}
            board.cell(n * width, -2 * edge, width, edge * 1.4, **how)
        read[0].update(rows)
        read[1].update(columns)
        x, y = ((part[0] + part[-1] + 1) / 2 for part in (columns, rows))
        board.on(x * width, y * height, f"wave {wave}\n{len(waves[wave])} tiles", size=10)
    board.frame(0, 0, size, size)
    board.frame(-2 * edge, 0, edge * 1.4, size, linewidth=0.8)
    board.frame(0, -2 * edge, size, edge * 1.4, linewidth=0.8)
    board.label(-1.3 * edge, -1.3 * edge, "A  B")
    words = f"green in A: rows that wave {SHOWN} reads again;\nB's columns are new to it, and no "
    words += f"later\nwave of the group reads those of wave {BEFORE}"
    board.left(-2 * edge, 1.05 * size, words, va="top", size=10)
    board.title(size / 2, -3.4 * edge, f"D: tiles of {height} × {width}")


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


def draw(records):
    """The matrix to the left, the strips to the right."""
    gpu, size = records.headline().gpu, results.SIZE
    order, tile = order_of("v14", size, gpu["sms"]), tile_of("v14")
    capacities = [gpu["l2_bytes"], gpu["l2_bytes"] // 2]
    found = {
        rung: [hits(order, tile, size, capacity, *how) for capacity in capacities]
        for rung, (*how, _) in RUNGS.items()
    }
    figure, (matrix, strips) = style.figure_of(5.6, 1, 2, width_ratios=(1, 1.25))
    draw_matrix(matrix, model.waves_of(order), tile, size)
    draw_strips(strips, found, capacities)
    title = "What a wave finds in the L2: the rows of A that the wave before it read last"
    second = "plain green: found in the L2; hatched: read from DRAM; by a model that evicts the "
    second += "least recently used"
    half = f"{1e-6 * capacities[1]:.1f} MB"
    more = [f"{half}: if the L2 keeps each line in both of its halves ({gpu['name']})"]
    return style.frame(figure, title, second, more=more)
