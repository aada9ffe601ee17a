"""Which thread of a warpgroup holds which element of the sums of wgmma.m64nNk16?"""

from __future__ import annotations

from matplotlib.patches import ConnectionPatch

from plots.draw import style
from plots.draw.ideas import cells, fragments

NAME = "wgmma-fragment"
PROBES = ("fragments",)
THREAD = 109  # of the warpgroup: the one to be shown, in the lowest rows
WIDTHS = (64, 128, 256)  # N
ZOOM_COLUMNS = 24
BANDS = ("#E4EEF5", "#F3EAD9")  # of neighbouring warps
ABOVE = 4  # rows of the overview between the names of two widths


def data(answers, _records):
    """The thread's elements of the widest, a part of it in detail, and the warps' rows."""
    sums = {n: answers["fragments"][f"wgmma d, n = {n}"] for n in WIDTHS}
    widest = sums[WIDTHS[-1]]
    rows_of_warps = {}
    for (row, _), (thread, _, _) in fragments.owners(widest).items():
        rows_of_warps.setdefault(thread // 32, set()).add(row)
    warps = [[warp, min(rows), len(rows)] for warp, rows in sorted(rows_of_warps.items())]
    _, first, count = warps[THREAD // 32]
    return {
        "thread": THREAD,
        "rows": widest["rows"],
        "warps": warps,
        "held": {str(n): fragments.slots_of(sums[n], THREAD) for n in WIDTHS},
        "zoom": fragments.blocks(widest, range(first, first + count), range(ZOOM_COLUMNS)),
    }


def draw_overview(axes, found):
    """The whole of D: the warps' rows, the thread's elements, and how far each N goes."""
    widest = WIDTHS[-1]
    cells.board(axes, widest, found["rows"])
    axes.set_xlim(-24, widest + 0.5)
    axes.set_ylim(found["rows"] + 1, -ABOVE * len(WIDTHS) - 3)
    for warp, first, count in found["warps"]:
        cells.cell(axes, 0, first, widest, count, facecolor=BANDS[warp % 2], linewidth=0)
        words = f"warp {warp}\nrows {first}–{first + count - 1}"
        cells.label(axes, -2, first + count / 2, words, ha="right", va="center", linespacing=1.3)
    for row, column, _, _ in found["held"][str(widest)]:
        cells.cell(axes, column, row, 1, 1, facecolor="black", edgecolor="black", zorder=3)
    for column in range(8, widest, 8):
        axes.plot([column] * 2, [0, found["rows"]], color="0.7", linewidth=0.4)
    for i, n in enumerate(WIDTHS):
        top = -ABOVE * (i + 1)
        axes.plot([n, n], [top, found["rows"]], color="black", linewidth=1.6)
        last = len(found["held"][str(n)]) - 1
        words = f"wgmma<{n}>: acc[0] to acc[{last}]"
        cells.label(axes, n - 1.5, top + 0.8, words, ha="right")
    cells.frame(axes, 0, 0, widest, found["rows"])


def draw_zoom(axes, found):
    """The first columns of one warp's rows, with the threads' numbers."""
    first = found["zoom"][0][0]
    rows = found["zoom"][-1][0] - first + 1
    cells.board(axes, ZOOM_COLUMNS, rows + 3.2)
    axes.set_xlim(-1.5, ZOOM_COLUMNS + 0.1)
    axes.set_ylim(rows + 1.6, -1.6)
    how = {"place_of": lambda row, column: (column, row - first), "size": cells.NARROW}
    cells.matrix(axes, found["zoom"], found["thread"], "acc[{},{}]".format, **how)
    cells.grid(axes, rows, ZOOM_COLUMNS, first_row=first)
    for block in range(ZOOM_COLUMNS // 8):
        words = f"acc[{4 * block}] to acc[{4 * block + 3}]"
        cells.label(axes, 8 * block + 4, rows + 0.8, words, color="0.25")


def connect(figure, overview, zoom, found):
    """Shows which part of the overview is drawn larger."""
    first = found["zoom"][0][0]
    rows = found["zoom"][-1][0] - first + 1
    how = {"edgecolor": style.VERMILION, "linewidth": 1.8, "zorder": 6}
    cells.frame(overview, 0, first, ZOOM_COLUMNS, rows, **how)
    for x_from, x_to in ((0, 0), (ZOOM_COLUMNS, ZOOM_COLUMNS)):
        ends = ((x_from, first + rows), (x_to, -1.3), "data", "data")
        how = {"color": style.VERMILION, "linewidth": 1.1, "linestyle": "--"}
        line = ConnectionPatch(*ends, axesA=overview, axesB=zoom, **how)
        figure.add_artist(line)


def draw(pyplot, found):
    """The overview above, a part of it below."""
    figure, (overview, zoom) = style.figure_of(pyplot, 8.2, 2, height_ratios=(1, 1.75))
    draw_overview(overview, found)
    draw_zoom(zoom, found)
    connect(figure, overview, zoom, found)
    style.frame(
        figure,
        "wgmma.m64nNk16: which thread of the warpgroup holds which element of D",
        f"black above, orange below: thread {found['thread']} of 128; "
        "other numbers are threads; every 8 columns the pattern repeats",
    )
    return figure
