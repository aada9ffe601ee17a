"""What the order of D's tiles saves: the bytes read from DRAM, by a model of the L2."""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style
from plots.draw.ideas import orders

NAME = "tile-orders-l2"
PROBES = ("tile_orders",)
MEBIBYTE = 1 << 20
COUNTER = "dram__bytes_read.sum"
SHOWN = {
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


def counted(records, gpu, size):
    """What was counted on that GPU: {"when": ..., "bytes": {rung: read from DRAM}}, or None. Of each
    rung the newest count, whichever run it is of."""
    newest = {}
    for run in records.runs:  # oldest first
        if run["kind"] != "counters" or run["gpu"]["name"] != gpu["name"]:
            continue
        for step in run["steps"] if recorded.shape_of(run) == (size,) * 3 else ():
            if "failed" not in step and step["counters"].get(COUNTER) is not None:
                newest[step["step"]] = (run, step["counters"][COUNTER])
    found = {rung: newest[rung] for rung in SHOWN if rung in newest}
    if not found:
        return None
    runs = sorted((run for run, _ in found.values()), key=lambda run: run["date"])
    return {"when": style.when(*runs), "bytes": {rung: count for rung, (_, count) in found.items()}}


def data(answers, records):
    """The model's bytes by size of the L2 and by wave, and what was counted."""
    answer = answers["tile_orders"]
    gpu = records.headline()["gpu"]
    return {
        "size": answer["size"],
        "gpu": gpu["name"],
        "l2_bytes": answer["l2_bytes"],
        "capacities": answer["capacities"],
        "counted": counted(records, gpu, answer["size"]),
        "orders": {
            rung: {
                key: answer["orders"][rung][key] for key in ("dram_reads", "dram_reads_of_waves")
            }
            for rung in SHOWN
        },
    }


def most(found):
    """The most bytes of each kind that is drawn."""
    yield max(max(order["dram_reads"]) for order in found["orders"].values())
    yield max(found["counted"]["bytes"].values()) if found["counted"] else 0


def draw_least(axes, found):
    """A and B read once."""
    least = 2 * found["size"] ** 2 * orders.ELEMENT_BYTES
    words = f"A and B once: {1e-9 * least:.2f} GB"
    axes.axhline(1e-9 * least, label=words, **style.LEAST)


def draw_curves(axes, found):
    """Bytes from DRAM against the size of the L2."""
    sizes = [capacity / MEBIBYTE for capacity in found["capacities"]]
    for i, (rung, words) in enumerate(SHOWN.items()):
        values = [1e-9 * value for value in found["orders"][rung]["dram_reads"]]
        how = {"linewidth": 2, "markersize": 6, "markevery": (2 * i, EACH), **LINES[rung]}
        axes.plot(sizes, values, label=words, **how)
    draw_least(axes, found)
    here = found["l2_bytes"] / MEBIBYTE
    axes.axvline(here, color="0.45", linewidth=1.2)
    axes.text(here + 1.5, 1.75, f"{found['gpu']}:\n{here:.0f} MiB", va="top", fontsize=10)
    axes.set_xlim(0, sizes[-1])
    axes.set_xlabel("size of the L2, MiB")
    axes.set_ylabel("GB read from DRAM")
    axes.set_title("by the model", fontsize=11)
    axes.grid()


def draw_bars(axes, found):
    """The model at the GPU's own size beside what was counted there."""
    places = range(len(SHOWN))
    model = [1e-9 * sum(found["orders"][rung]["dram_reads_of_waves"]) for rung in SHOWN]
    bars.labelled(axes, [x - 0.2 for x in places], model, "{:.2f}".format, label="model", **MODEL)
    if found["counted"]:
        known = found["counted"]["bytes"]
        values = [1e-9 * known[rung] if rung in known else None for rung in SHOWN]
        right = [x + 0.2 for x in places]
        bars.labelled(axes, right, values, "{:.2f}".format, label="counted on the GPU", **COUNTED)
        for x, value in zip(right, values):
            if value is None:
                axes.text(x, 0.35, "not counted", rotation=90, ha="center", fontsize=9)
    draw_least(axes, found)
    style.name_ticks(axes, list(SHOWN), fontsize=10)
    axes.set_title(f"{found['gpu']}, GB", fontsize=11)


def draw(pyplot, found):
    """Curves to the left, bars to the right, on one scale."""
    figure, (curves, beside) = style.figure_of(
        pyplot, 5.7, 1, 2, width_ratios=(1.5, 1), sharey=True
    )
    draw_curves(curves, found)
    draw_bars(beside, found)
    curves.set_ylim(0, ROOM * 1e-9 * max(most(found)))
    size, counted = found["size"], found["counted"]
    when = f"counted: Nsight Compute, cold caches, {counted['when']}" if counted else ""
    style.frame(
        figure,
        f"What the order of tiles makes of the L2: bytes from DRAM, bf16 GEMM {size}³",
        "the model: one cache for A and B, the least recently used leaves first, all SMs in step",
        columns=2,
        more=[when] if when else [],
    )
    return figure
