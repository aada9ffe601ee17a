"""The order of D's tiles: which are computed at the same time, and what do they read?"""

from __future__ import annotations

import math

from plots.draw import style
from plots.draw.ideas import cells, orders

NAME = "tile-orders"
PROBES = ("tile_orders",)
SHOWN = {"v05": "column by column", "v10": "in groups of rows", "v11": "along a Hilbert curve"}
WAVE = 5  # counted from 0: the one whose reads are shown
SHADE = "#DDE6EC"  # of every other wave
EDGE = 0.06  # of D's side: where the panels of A and B are marked
NARROW = 4  # columns: the numbers of waves that have fewer are staggered
STAGGER = 0.12
READ = {"facecolor": style.BLUE, "linewidth": 0}


def data(answers, records):
    """The orders, and what the waves read."""
    answer = answers["tile_orders"]
    size = answer["size"]
    shown = {}
    for rung in SHOWN:
        order = answer["orders"][rung]
        waves = orders.waves(order)
        whole = [wave for wave in waves if len(wave) == order["workers"]]
        shown[rung] = {
            **{key: order[key] for key in ("tile_m", "tile_n", "workers", "m", "n")},
            "distinct_bytes": [orders.distinct_bytes(order, size, wave) for wave in whole],
            "asked_bytes": [orders.asked_bytes(order, size, wave) for wave in whole],
        }
    gpu = records.headline()["gpu"]["name"]
    return {"size": size, "gpu": gpu, "sms": answer["sms"], "orders": shown}


def mean(values):
    """The mean of a list that isn't empty."""
    return sum(values) / len(values)


def middle(tiles, order):
    """The middle of these tiles, in elements of D: (x, y)."""
    x = mean([(n + 0.5) * order["tile_n"] for _, n in tiles])
    y = mean([(m + 0.5) * order["tile_m"] for m, _ in tiles])
    return x, y


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


def draw_waves(axes, order):
    """Every tile in the shade of its wave, and the wave's number in its middle."""
    width, height = order["tile_n"], order["tile_m"]
    for number, tiles in enumerate(orders.waves(order)):
        shown = number == WAVE
        shade = style.ORANGE if shown else SHADE
        for m, n, count in columns_of(tiles) if shown or number % 2 else ():
            place = (n * width, m * height, width, count * height)
            cells.cell(axes, *place, facecolor=shade, linewidth=0)
        x, y = middle(tiles, order)
        narrow = len(orders.panels(tiles)[1]) < NARROW
        y += STAGGER * y * (number % 2) if narrow else 0
        how = {"fontweight": "bold", "zorder": 6, "bbox": {**style.CLEAR, "alpha": 0.8}}
        cells.label(axes, x, y, str(number), size=9 if shown else cells.SMALL, **how)


def draw_path(axes, order):
    """The order itself, as lines from each tile to the next if they are neighbours."""
    tiles = list(zip(order["m"], order["n"]))
    x, y = [], []
    for (m, n), (next_m, next_n) in zip(tiles, [*tiles[1:], tiles[-1]]):
        x.append((n + 0.5) * order["tile_n"])
        y.append((m + 0.5) * order["tile_m"])
        if abs(m - next_m) + abs(n - next_n) > 1:
            x.append(math.nan)
            y.append(math.nan)
    axes.plot(x, y, color="0.35", linewidth=0.6, zorder=3)
    axes.plot(x[:1], y[:1], "o", color="black", markersize=4, zorder=6)


def draw_panels(axes, order, size):
    """The rows of A, to the left, and of B, above, that the shown wave reads."""
    edge = EDGE * size
    rows, columns = orders.panels(orders.waves(order)[WAVE])
    for side in ((-1.5 * edge, 0, edge, size), (0, -1.5 * edge, size, edge)):
        cells.frame(axes, *side, edgecolor="0.6", linewidth=0.7, zorder=2)
    for m in rows:
        cells.cell(axes, -1.5 * edge, m * order["tile_m"], edge, order["tile_m"], **READ)
    for n in columns:
        cells.cell(axes, n * order["tile_n"], -1.5 * edge, order["tile_n"], edge, **READ)
    cells.label(axes, -1.0 * edge, -1.0 * edge, "A  B", size=cells.SMALL)


def facts(order):
    """What a wave reads, in words."""
    asked, distinct = mean(order["asked_bytes"]), mean(order["distinct_bytes"])
    return (
        f"{order['workers']} tiles of {order['tile_m']} × {order['tile_n']} at once:\n"
        f"{1e-6 * distinct:.0f} MB of A and B,\n"
        f"each byte requested {asked / distinct:.1f} times"
    )


def draw_order(axes, rung, order, size):
    """One order."""
    edge = EDGE * size
    cells.board(axes, size, size)
    axes.set_xlim(-1.6 * edge, 1.01 * size)
    axes.set_ylim(1.29 * size, -3.4 * edge)
    axes.set_aspect("equal")
    cells.label(axes, size / 2, -2.6 * edge, f"{rung}: {SHOWN[rung]}", size=10, fontweight="bold")
    draw_waves(axes, order)
    draw_path(axes, order)
    draw_panels(axes, order, size)
    cells.frame(axes, 0, 0, size, size)
    axes.text(size / 2, 1.03 * size, facts(order), ha="center", va="top", linespacing=1.4, size=10)


def draw(pyplot, found):
    """The three orders side by side."""
    figure, axes = style.figure_of(pyplot, 4.7, 1, 3)
    for rung, here in zip(SHOWN, axes):
        draw_order(here, rung, found["orders"][rung], found["size"])
    size = found["size"]
    style.frame(
        figure,
        f"Tiles of D {size} × {size}: which are computed at the same time, and what they read",
        f"numbers: waves, on the {found['sms']} SMs of an {found['gpu']}; "
        f"blue: the panels of A and B that wave {WAVE} reads",
    )
    return figure
