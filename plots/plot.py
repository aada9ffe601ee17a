#!/usr/bin/env python3
"""Draws TFLOPS against step from a recorded ladder: plots/ladder.png and plots/ladder.svg.

The same results give the same files, byte for byte, with the matplotlib in plots/requirements.txt.
Exit status: 0 drawn, 2 bad usage or no results to draw, 77 matplotlib isn't installed.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import recorded

# Dense bf16 FLOP per cycle per SM, by compute capability. NVIDIA's H100 whitepaper: 989.4 TFLOPS
# on 132 SMs at 1.83 GHz.
DENSE_BF16_FLOP_PER_CYCLE_PER_SM = {"9.0": 4096}

# Okabe and Ito's palette. Told apart without colour too: light bars, lines dashed differently.
BAR_COLOUR = "#56B4E9"
CUBLAS_COLOUR = "#000000"
PEAK_COLOUR = "#D55E00"
STYLE = {
    "svg.hashsalt": "gemm-ladder",  # otherwise every SVG gets ids of its own
    "svg.fonttype": "none",  # text stays text: small, searchable
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 11,
}
BAR_LEGEND = (
    "rung: median and 10th to 90th percentile; below it the ratio to cuBLAS in the same run"
)
INCHES = (9.0, 5.4)  # at 100 pixels an inch: the width at which GitHub shows it
PNG_DPI = 200


def highest_clock(ladder):
    """The highest mean SM clock that any contender had, in GHz, or None."""
    contenders = [
        rung["timing"][contender]
        for rung in recorded.measured(ladder)
        for contender in ("step", "cublas")
    ]
    clocks = [c["sm_clock_ghz"] for c in contenders if c["sm_clock_ghz"] is not None]
    return max(clocks, default=None)


def peak_tflops(ladder):
    """(dense bf16 peak in TFLOPS, the clock in GHz it holds for), or None if not known."""
    gpu = ladder["gpu"]
    flop = DENSE_BF16_FLOP_PER_CYCLE_PER_SM.get(gpu["compute_capability"])
    clock = highest_clock(ladder)
    if flop is None or clock is None:
        return None
    return flop * gpu["sms"] * clock / 1e3, clock


def draw_rung(axes, x, rung, top):
    """One bar with its spread, its TFLOPS and its ratio to cuBLAS."""
    if "failed" in rung:
        axes.text(x, 0.01 * top, "failed", ha="center", va="bottom", rotation=90)
        return
    tflops = rung["timing"]["step"]["tflops"]
    value = tflops["median"]
    error = [[value - tflops["low"]], [tflops["high"] - value]]
    axes.bar(x, value, width=0.74, color=BAR_COLOUR, zorder=2, label=BAR_LEGEND)
    axes.errorbar(x, value, yerr=error, color="black", capsize=4, linewidth=1.2, zorder=4)
    # A tall bar carries its labels inside, clear of the cuBLAS line; a short one above it.
    inside = value > 0.2 * top
    y = min(value, tflops["low"]) if inside else tflops["high"]
    offsets = (-9, -25) if inside else (21, 6)
    ratio = rung["timing"]["ratio_to_cublas"]["median"]
    texts = ((f"{value:.0f}", "bold"), (f"{ratio:.3f}", "normal"))
    for offset, (text, weight) in zip(offsets, texts):
        axes.annotate(
            text,
            (x, y),
            (0, offset),
            textcoords="offset points",
            ha="center",
            va="top" if inside else "bottom",
            fontweight=weight,
            zorder=5,
        )


def draw_lines(axes, cublas, peak):
    """cuBLAS and the peak, explained in the legend."""
    axes.axhline(
        cublas,
        color=CUBLAS_COLOUR,
        linestyle="--",
        linewidth=1.4,
        zorder=3,
        label=f"cuBLAS, median: {cublas:.0f} TFLOPS",
    )
    if peak is not None:
        axes.axhline(
            peak[0],
            color=PEAK_COLOUR,
            linestyle="-.",
            linewidth=1.6,
            zorder=3,
            label=f"dense bf16 peak at {peak[1]:.2f} GHz, the run's highest mean clock: "
            f"{peak[0]:.0f} TFLOPS",
        )


def titles(axes, ladder):
    """Says what was measured, on what and when."""
    gpu, problem = ladder["gpu"], ladder["problem"]
    power = gpu.get("power_limit_watts")
    limit = "" if power is None else f", {power:.0f} W"
    shape = " × ".join(str(problem[key]) for key in "mnk")
    axes.set_title(
        f"{gpu['name']}{limit}: bf16 GEMM {shape}, {ladder['protocol']} protocol", pad=26
    )
    details = (
        f"{problem['inputs']} inputs, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, "
        f"{ladder['date'][:10]}, commit {ladder['commit']}"
    )
    axes.text(0.5, 1.02, details, transform=axes.transAxes, ha="center", fontsize=10)
    axes.set_xlabel("step")
    axes.set_ylabel("TFLOPS")


def legend(figure, axes):
    """One entry for all bars, then the lines, below the picture."""
    handles, labels = axes.get_legend_handles_labels()
    entries = dict(zip(labels, handles))
    figure.legend(entries.values(), entries, loc="outside lower left", frameon=False, fontsize=10)


def draw(pyplot, ladder):
    """The whole figure."""
    rungs = ladder["rungs"]
    cublas = ladder["cublas"]["tflops"]["median"]
    peak = peak_tflops(ladder)
    highs = [rung["timing"]["step"]["tflops"]["high"] for rung in recorded.measured(ladder)]
    top = 1.06 * max([cublas, *highs] + ([peak[0]] if peak else []))
    figure, axes = pyplot.subplots(figsize=INCHES, layout="constrained")
    axes.set_ylim(0, top)
    axes.set_xlim(-0.6, len(rungs) - 0.4)
    draw_lines(axes, cublas, peak)
    for x, rung in enumerate(rungs):
        draw_rung(axes, x, rung, top)
    axes.set_xticks(range(len(rungs)), [rung["step"] for rung in rungs])
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.88", zorder=0)
    titles(axes, ladder)
    legend(figure, axes)
    return figure


def save(figure, path, **how):
    """Writes the figure whole, or not at all, and without a date inside."""
    data = io.BytesIO()
    figure.savefig(data, format=path.suffix[1:], **how)
    recorded.write_whole(path, data.getvalue())
    print(path)


def plot(options):
    """Draws the chosen results; returns the exit status."""
    path = options.results or recorded.newest_headline()
    if path is None:
        print("plot: no headline run in bench/results; 'make ladder' records one", file=sys.stderr)
        return 2
    ladder = recorded.load_rungs(path)
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("plot: needs matplotlib; 'make plots' sets it up", file=sys.stderr)
        return 77
    with matplotlib.rc_context(STYLE):
        figure = draw(pyplot, ladder)
        save(figure, options.out / "ladder.png", dpi=PNG_DPI, metadata={"Software": None})
        save(figure, options.out / "ladder.svg", metadata={"Date": None})
    return 0


def main():
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(
        description="Draw TFLOPS against step from a recorded ladder.", allow_abbrev=False
    )
    parser.add_argument("--results", metavar="FILE", type=Path, help="default: newest headline run")
    parser.add_argument("--out", metavar="DIR", type=Path, default=recorded.ROOT / "plots")
    try:
        return plot(parser.parse_args())
    except (OSError, ValueError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError) as error:
        print(f"plot: the results lack or garble a field: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
