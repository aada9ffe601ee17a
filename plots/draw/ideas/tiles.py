"""The order of D's tiles: which are computed at the same time, what do they read of A and B, and what
does the order save of the bytes from DRAM, by a model of the L2 and as counted?"""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np

from bench import results
from plots.draw import bars, style
from plots.draw.ideas import cells
from plots.draw.records import Missing

ELEMENT_BYTES = 2  # of bf16

ORDERS = {"v05": "column by column", "v10": "in groups of rows", "v11": "along a Hilbert curve"}
WAVE = 6  # counted from 0: the one whose reads are shown
SHADE = "#DDE6EC"  # of every other wave
EDGE = 0.06  # of D's side: where the panels of A and B are marked
NARROW = 4  # columns: the numbers of waves that have fewer are staggered
STAGGER = 0.12
READ = {"facecolor": style.BLUE, "linewidth": 0}

CAPACITIES = [mebibytes << 20 for mebibytes in range(2, 162, 2)]  # more than A or B of 8192²
COUNTER = "dram__bytes_read.sum"
MODELLED = {
    "v05": "v05: column by column",
    "v10": "v10: groups of rows",
    "v11": "v11: Hilbert",
    "v13": "v13: groups of rows, every other tile from the end of k",
}
LINES = {
    "v05": {"color": style.VERMILION, "linestyle": "-", "marker": "s"},
    "v10": {"color": style.BLACK, "linestyle": "--", "marker": "^"},
    "v11": {"color": style.SKY, "linestyle": ":", "marker": "v"},
    "v13": {"color": style.BLUE, "linestyle": "-", "marker": "o"},
}
ROOM = 1.08  # of the highest bar: for the number above it
EACH = 10  # points of a curve from one marker to the next
MODEL = {"color": style.SKY, "width": 0.38}
COUNTED = {**style.HATCHED, "width": 0.38}


def waves_of(order):
    """[[(m, n) of a tile]], wave by wave: what the workers do at the same time."""
    tiles = list(zip(order["m"], order["n"]))
    workers = order["workers"]
    return [tiles[first : first + workers] for first in range(0, len(tiles), workers)]


def panels_of(tiles):
    """(rows, columns) of the grid of tiles that these need, each once."""
    return sorted({m for m, _ in tiles}), sorted({n for _, n in tiles})


# --- what a wave reads ------------------------------------------------------------------------


def orders_data(answers, records):
    """The orders, and what the whole waves read: panels of all k."""
    gpu, size, shown = records.headline().gpu, results.SIZE, {}
    for rung in ORDERS:
        order = answers["tile_orders"][rung]
        m, n = order["tile_m"], order["tile_n"]
        whole = [wave for wave in waves_of(order) if len(wave) == order["workers"]]
        panels = [panels_of(wave) for wave in whole]
        line = size * ELEMENT_BYTES
        shown[rung] = {
            **{key: order[key] for key in ("tile_m", "tile_n", "workers", "m", "n")},
            "distinct_bytes": [(len(rows) * m + len(cols) * n) * line for rows, cols in panels],
            "requested_bytes": [len(wave) * (m + n) * line for wave in whole],
        }
    return {"size": size, "gpu": gpu["name"], "sms": gpu["sms"], "orders": shown}


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
    for number, tiles in enumerate(waves_of(order)):
        shown = number == WAVE
        shade = style.ORANGE if shown else SHADE
        for m, n, count in columns_of(tiles) if shown or number % 2 else ():
            place = (n * width, m * height, width, count * height)
            cells.cell(axes, *place, facecolor=shade, linewidth=0)
        x = fmean([(n + 0.5) * width for _, n in tiles])
        y = fmean([(m + 0.5) * height for m, _ in tiles])
        narrow = len(panels_of(tiles)[1]) < NARROW
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
    rows, columns = panels_of(waves_of(order)[WAVE])
    for side in ((-1.5 * edge, 0, edge, size), (0, -1.5 * edge, size, edge)):
        cells.frame(axes, *side, edgecolor="0.6", linewidth=0.7, zorder=2)
    for m in rows:
        cells.cell(axes, -1.5 * edge, m * order["tile_m"], edge, order["tile_m"], **READ)
    for n in columns:
        cells.cell(axes, n * order["tile_n"], -1.5 * edge, order["tile_n"], edge, **READ)
    cells.label(axes, -1.0 * edge, -1.0 * edge, "A  B", size=cells.SMALL)


def draw_order(axes, rung, order, size):
    """One order, with what a wave reads in words."""
    edge = EDGE * size
    requested, distinct = fmean(order["requested_bytes"]), fmean(order["distinct_bytes"])
    facts = (
        f"{order['workers']} tiles of {order['tile_m']} × {order['tile_n']} at once:\n"
        f"a wave reads {1e-6 * distinct:.0f} MB on average,\n"
        f"each byte requested {requested / distinct:.1f} times"
    )
    cells.board(axes, -1.6 * edge, 1.01 * size, 1.29 * size, -3.4 * edge)
    axes.set_aspect("equal")
    title = f"{rung}: {ORDERS[rung]}"
    cells.label(axes, size / 2, -2.6 * edge, title, size=10, fontweight="bold")
    draw_waves(axes, order)
    draw_path(axes, order)
    draw_panels(axes, order, size)
    cells.frame(axes, 0, 0, size, size)
    axes.text(size / 2, 1.03 * size, facts, ha="center", va="top", linespacing=1.4, size=10)


def draw_orders(pyplot, found):
    """The three orders side by side."""
    figure, axes = style.figure_of(pyplot, 4.7, 1, 3)
    size = found["size"]
    for rung, here in zip(ORDERS, axes):
        draw_order(here, rung, found["orders"][rung], size)
    style.frame(
        figure,
        f"Tiles of D {size} × {size}: which are computed at the same time, and what they read",
        f"numbers: waves, on the {found['sms']} SMs of an {found['gpu']}; "
        f"blue: the panels of A and B that wave {WAVE} reads",
    )
    return figure


# --- what comes from DRAM ---------------------------------------------------------------------


def reuses(order, size):
    """(waves, bytes, reaches): of every use of a slice of A or B (what a tile needs for one step along
    k) its wave, its bytes, and how many bytes of slices were used since it was used last, its own
    with them; infinite the first time.

    An L2 that forgets what was used least recently holds the slice if it is no smaller than the
    reach. The model is simple, and says so wherever it is shown: one cache, nothing in it but A and
    B, all workers (CTAs, or clusters that share their loads) start their tiles of a wave together
    and go through k in step.
    """
    line = order["bk"] * ELEMENT_BYTES
    uses = []  # (wave, slice, bytes)
    for number, tiles in enumerate(waves_of(order)):
        rows, columns = panels_of(tiles)
        panels = [("a", row, order["tile_m"] * line) for row in rows]
        panels += [("b", column, order["tile_n"] * line) for column in columns]
        steps = range(-(-size // order["bk"]))
        for k in reversed(steps) if order["backwards"] and number % 2 else steps:
            uses += [(number, (side, panel, k), count) for side, panel, count in panels]
    kept = np.zeros(len(uses))  # of each use its bytes, while it is the last one of its slice
    last, reaches = {}, []
    for now, (_, item, count) in enumerate(uses):
        then = last.get(item)
        reaches.append(math.inf if then is None else kept[then:now].sum())
        if then is not None:
            kept[then] = 0
        kept[now], last[item] = count, now
    waves, _, counts = zip(*uses)
    return np.array(waves), np.array(counts), np.array(reaches)


def dram_reads(order, size, capacities, here):
    """The bytes read from DRAM with an L2 of each of these capacities, and in each wave with the one
    that is here."""
    waves, count, reaches = reuses(order, size)
    return {
        "dram_reads": [int(count[reaches > capacity].sum()) for capacity in capacities],
        "dram_reads_of_waves": [
            int(count[(reaches > here) & (waves == wave)].sum()) for wave in np.unique(waves)
        ],
    }


def counted(records):
    """What was counted on the GPU: {"when": ..., "bytes": {rung: read from DRAM}}, or None."""
    try:
        known = records.counted()
    except Missing:
        return None
    found = {rung: known[rung] for rung in MODELLED if rung in known}
    runs = sorted((run for run, _ in found.values()), key=lambda run: run.date)
    read = {rung: row["counters"][COUNTER] for rung, (_, row) in found.items()}
    return {"when": style.when(*runs), "bytes": read} if found else None


def l2_data(answers, records):
    """The model's bytes by size of the L2 and by wave, and what was counted."""
    gpu, size = records.headline().gpu, results.SIZE
    orders = {rung: answers["tile_orders"][rung] for rung in MODELLED}
    return {
        "size": size,
        "gpu": gpu["name"],
        "l2_bytes": gpu["l2_bytes"],
        "capacities": CAPACITIES,
        "counted": counted(records),
        "orders": {
            rung: dram_reads(order, size, CAPACITIES, gpu["l2_bytes"])
            for rung, order in orders.items()
        },
    }


def draw_least(axes, found):
    """A and B read once."""
    least = 2 * found["size"] ** 2 * ELEMENT_BYTES
    words = f"A and B once: {1e-9 * least:.2f} GB"
    axes.axhline(1e-9 * least, label=words, **style.LEAST)


def draw_curves(axes, found):
    """Bytes from DRAM against the size of the L2."""
    sizes = [1e-6 * capacity for capacity in found["capacities"]]
    for i, (rung, words) in enumerate(MODELLED.items()):
        values = [1e-9 * value for value in found["orders"][rung]["dram_reads"]]
        how = {"linewidth": 2, "markersize": 6, "markevery": (2 * i, EACH), **LINES[rung]}
        axes.plot(sizes, values, label=words, **how)
    draw_least(axes, found)
    here = 1e-6 * found["l2_bytes"]
    axes.axvline(here, color="0.45", linewidth=1.2)
    axes.text(here + 1.5, 1.75, f"{found['gpu']}:\n{here:.1f} MB", va="top", fontsize=10)
    axes.set_xlim(0, sizes[-1])
    axes.set_xlabel("size of the L2, MB")
    axes.set_ylabel("GB read from DRAM")
    axes.set_title("by the model", fontsize=11)
    axes.grid()


def draw_bars(axes, found):
    """The model at the GPU's own size beside what was counted there."""
    places = range(len(MODELLED))
    model = [1e-9 * sum(found["orders"][rung]["dram_reads_of_waves"]) for rung in MODELLED]
    bars.labelled(axes, [x - 0.2 for x in places], model, "{:.2f}".format, label="model", **MODEL)
    if found["counted"]:
        known = found["counted"]["bytes"]
        values = [1e-9 * known[rung] if rung in known else None for rung in MODELLED]
        right = [x + 0.2 for x in places]
        bars.labelled(axes, right, values, "{:.2f}".format, label="counted on the GPU", **COUNTED)
        for x, value in zip(right, values):
            if value is None:
                axes.text(x, 0.35, "not counted", rotation=90, ha="center", fontsize=9)
    draw_least(axes, found)
    style.name_ticks(axes, list(MODELLED), fontsize=10)
    axes.set_title(f"{found['gpu']}, GB", fontsize=11)


def draw_l2(pyplot, found):
    """Curves to the left, bars to the right, on one scale."""
    how = {"width_ratios": (1.5, 1), "sharey": True}
    figure, (curves, beside) = style.figure_of(pyplot, 5.7, 1, 2, **how)
    draw_curves(curves, found)
    draw_bars(beside, found)
    highs = [max(order["dram_reads"]) for order in found["orders"].values()]
    size, there = found["size"], found["counted"]
    highs += there["bytes"].values() if there else []
    curves.set_ylim(0, ROOM * 1e-9 * max(highs))
    style.frame(
        figure,
        f"Bytes read from DRAM by the order of tiles, bf16 GEMM {size}³",
        "the model: one cache for A and B, evicts the least recently used; all SMs in step",
        columns=2,
        more=[f"counted: Nsight Compute, cold caches, {there['when']}"] if there else [],
    )
    return figure


PICTURES = (
    ("tile-orders", orders_data, draw_orders),
    ("tile-orders-l2", l2_data, draw_l2),
)
