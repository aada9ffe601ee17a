"""Two waves of tiles, one after the other, and what the second finds in the L2 of what the first read:
with v12's, v13's and v14's loads, by a model of the L2."""

from __future__ import annotations

from collections import OrderedDict

from bench import results
from plots.draw import style
from plots.draw.ideas import cells, rungs

ELEMENT_BYTES = 2  # of bf16
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
EDGE = 0.07  # of D's side: how wide the panels of A and B are drawn


class Cache:
    """An L2 of so many bytes: when it is full, lines marked evict-first go, then the least
    recently used."""

    def __init__(self, capacity):
        self.room, self.kept, self.first = capacity, OrderedDict(), OrderedDict()

    def use(self, item, count, evict_first):
        """Uses a slice; True if it was there."""
        there = self.kept.pop(item, 0) or self.first.pop(item, 0)
        (self.first if evict_first else self.kept)[item] = count
        self.room += there - count
        while self.room < 0:
            self.room += (self.first or self.kept).popitem(last=False)[1]
        return bool(there)


def hits(order, facts, size, capacity, backwards, hints):
    """Of each step along k, in the order of k, whether the shown wave finds its slices of A in the L2:
    the part of them. All CTAs of a wave go through k in step."""
    cache, found = Cache(capacity), {}
    tiles = list(zip(*(order[key] for key in ("m", "n", "row_again", "column_again"))))
    line = facts["bk"] * ELEMENT_BYTES
    for wave in range(SHOWN + 1):
        now = tiles[wave * order["workers"] : (wave + 1) * order["workers"]]
        rows, columns = ({tile[i]: tile[i + 2] for tile in now} for i in (0, 1))
        steps = range(size // facts["bk"])
        for k in reversed(steps) if backwards and wave % 2 else steps:
            there = [
                cache.use(("a", m, k), facts["tile_m"] * line, hints and not again)
                for m, again in rows.items()
            ]
            for n, again in columns.items():
                cache.use(("b", n, k), facts["tile_n"] * line, hints and not again)
            if wave == SHOWN:
                found[k] = sum(there) / len(there)
    return [found[k] for k in sorted(found)]


def runs_of(values):
    """[[value, how many]]: neighbours that are alike as one."""
    found = []
    for value in values:
        if found and found[-1][0] == value:
            found[-1][1] += 1
        else:
            found.append([value, 1])
    return found


def waves_data(answers, records):
    """The tiles of both waves with their marks, and what the second finds with each rung's loads: with
    the whole L2, and with half of it."""
    gpu, size = records.headline().gpu, results.SIZE
    order, facts = answers["rungs"]["v14 order"], answers["rungs"]["v14"]
    workers = order["workers"]
    capacities = [gpu["l2_bytes"], gpu["l2_bytes"] // 2]
    waves = {}
    for wave in (BEFORE, SHOWN):
        part = slice(wave * workers, (wave + 1) * workers)
        waves[str(wave)] = {
            key: order[key][part] for key in ("m", "n", "row_again", "column_again")
        }
    return {
        **{key: facts[key] for key in ("tile_m", "tile_n", "bk")},
        "size": size,
        "gpu": gpu["name"],
        "l2_bytes": capacities,
        "waves": waves,
        "found": {
            rung: [
                runs_of(hits(order, facts, size, capacity, backwards, hints))
                for capacity in capacities
            ]
            for rung, (backwards, hints, _) in RUNGS.items()
        },
    }


def draw_matrix(axes, found):
    """D with both waves, and the panels of A and B that they read."""
    size, edge = found["size"], EDGE * found["size"]
    cells.board(axes, -2.2 * edge, 1.01 * size, 1.42 * size, -4.2 * edge)
    axes.set_aspect("equal")
    looks = ({"facecolor": "0.85"}, {"facecolor": "#A9D6F5"})
    panels = {"A": set(), "B": set()}
    for (wave, tiles), look in zip(found["waves"].items(), looks):
        places = list(zip(tiles["m"], tiles["n"]))
        for m, n in places:
            x, y = n * found["tile_n"], m * found["tile_m"]
            cells.cell(axes, x, y, found["tile_n"], found["tile_m"], **look)
        rows, columns = {m for m, _ in places}, {n for _, n in places}
        for m in rows:
            how = AGAIN if m in panels["A"] else {**look, "linewidth": 0}
            cells.cell(axes, -2 * edge, m * found["tile_m"], edge * 1.4, found["tile_m"], **how)
        for n in columns:
            how = AGAIN if n in panels["B"] else {**look, "linewidth": 0}
            cells.cell(axes, n * found["tile_n"], -2 * edge, found["tile_n"], edge * 1.4, **how)
        panels["A"] |= rows
        panels["B"] |= columns
        x = (min(columns) + max(columns) + 1) / 2 * found["tile_n"]
        y = (min(rows) + max(rows) + 1) / 2 * found["tile_m"]
        how = {"bbox": rungs.GROUND, "va": "center", "zorder": 6, "size": 10}
        cells.label(axes, x, y, f"wave {wave}\n{len(places)} tiles", **how)
    cells.frame(axes, 0, 0, size, size)
    cells.frame(axes, -2 * edge, 0, edge * 1.4, size, linewidth=0.8)
    cells.frame(axes, 0, -2 * edge, size, edge * 1.4, linewidth=0.8)
    cells.label(axes, -1.3 * edge, -1.3 * edge, "A  B")
    how = {"ha": "left", "va": "top", "size": 10, "linespacing": 1.4}
    words = (
        f"green in A: rows that wave {SHOWN} reads again;\n"
        f"B's columns are new to it, and no later\n"
        f"wave of the group reads those of wave {BEFORE}"
    )
    cells.label(axes, -2 * edge, 1.05 * size, words, **how)
    title = f"D: tiles of {found['tile_m']} × {found['tile_n']}"
    cells.label(axes, size / 2, -3.4 * edge, title, **cells.TITLE)


def draw_strips(axes, found):
    """For each rung how far the second wave finds A in the L2, along k."""
    steps = found["size"] // found["bk"]
    cells.board(axes, -0.02 * steps, 1.02 * steps, 15.4, -1.7)
    title = f"the rows of A in wave {SHOWN}, along k"
    cells.label(axes, steps / 2, -1.2, title, **cells.TITLE)
    for i, (rung, (backwards, _, words)) in enumerate(RUNGS.items()):
        y = 5.1 * i
        cells.label(axes, 0, y + 0.1, f"{rung}: {words}", ha="left", size=10, fontweight="bold")
        for wave, at in ((BEFORE, y + 0.85), (SHOWN, y + 1.45)):
            ends = [(0, at), (steps, at)]
            if backwards and wave % 2:
                ends.reverse()
            axes.annotate("", *ends[::-1], arrowprops={**rungs.ARROW, "color": "0.35"})
            cells.label(axes, steps / 2, at, f"wave {wave}", bbox=style.CLEAR, va="center")
        for row, (runs, capacity) in enumerate(zip(found["found"][rung], found["l2_bytes"])):
            x, top = 0, y + 2 + 1.25 * row
            for value, count in runs:
                look = FOUND if value == 1 else READ
                cells.cell(axes, x, top, count, 1, **look)
                x += count
            there = sum(value * count for value, count in runs) / steps
            text = f"L2 of {1e-6 * capacity:.1f} MB: {100 * there:.0f} % found"
            how = {"bbox": {**style.CLEAR, "alpha": 0.85}, "zorder": 6, "va": "center"}
            cells.label(axes, steps / 2, top + 0.5, text, **how)


def draw_waves(pyplot, found):
    """The matrix to the left, the strips to the right."""
    figure, (matrix, strips) = style.figure_of(pyplot, 5.6, 1, 2, width_ratios=(1, 1.25))
    draw_matrix(matrix, found)
    draw_strips(strips, found)
    half = 1e-6 * found["l2_bytes"][1]
    style.frame(
        figure,
        "What a wave finds in the L2: the rows of A that the wave before it read last",
        "plain green: found in the L2; hatched: read from DRAM; by a model that evicts the least "
        "recently used",
        more=[f"{half:.1f} MB: if the L2 keeps each line in both of its halves ({found['gpu']})"],
    )
    return figure


PICTURES = (("wave-reuse", waves_data, draw_waves),)
