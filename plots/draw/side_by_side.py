"""Two runs of one problem, side by side: two GPUs, two dates or two commits."""

from __future__ import annotations

from bench import results
from plots.draw import bars, style

LETTERS = "ab"
SIDES = ({"color": style.SKY}, style.HATCHED)
ROUND, EXACT = "{:.0f}".format, "{:.3f}".format
PEAKS = ({"color": style.BLUE, "linestyle": "-."}, {"color": style.VERMILION, "linestyle": ":"})


def problem_of(run):
    """What has to be the same in both."""
    return {
        "track": "".join(sorted(run.tracks)),
        "computation": run.problem["computation"],
        "shape": style.shape_words(run),
        "protocol": run.protocol,
        "inputs": run.problem["inputs"],
    }


def ladders_of(runs):
    """The runs of rungs alone in one file, the usual shape first."""
    found = [run for run in runs if run.protocol in results.PROTOCOLS and run.plain]
    return sorted(found, key=lambda run: set(run.shape) != {results.SIZE})


def find(records):
    """Two ladders of one problem, one from each file. ValueError if there are none."""
    if len(records.files) != 2:
        raise ValueError(f"side by side go two files, not {len(records.files)}")
    first, second = map(ladders_of, records.files)
    if not first or not second:
        raise ValueError("side by side go two ladders, and one of these files has none")
    pairs = ((one, other) for one in first for other in second)
    found = next((pair for pair in pairs if problem_of(pair[0]) == problem_of(pair[1])), None)
    if found:
        return found
    one, other = problem_of(first[0]), problem_of(second[0])
    key = next(key for key in one if one[key] != other[key])
    raise ValueError(f"not side by side: {key} {one[key]} in one, {other[key]} in the other")


def panel(axes, columns, words, legends=(None, None), **how):
    """Two bars for each column, of the two runs; columns: [(value, value)]. Returns the highest value."""
    for i, (values, legend) in enumerate(zip(zip(*columns), legends)):
        places = [x + (i - 0.5) * 0.4 for x in range(len(values))]
        bars.labelled(axes, places, values, words, width=0.38, label=legend, **SIDES[i], **how)
    axes.grid(axis="y")
    return max(value for both in columns for value in both if value is not None)


def draw(records):
    """The rates, and the ratios, which travel better."""
    runs = find(records)
    measure = runs[0].measure
    names = sorted({name for run in runs for name in run.names}, key=results.name_order)
    legends = [
        f"{letter}: {style.gpu_words(run)}, {style.details(run)}"
        for letter, run in zip(LETTERS, runs)
    ]
    figure, (rate, ratio) = style.stack(6.8, (1.4, 1))
    # What they are compared with is at the right; its ratio is 1.
    rates = [[run.rate(name) for run in runs] for name in (*names, measure.other)]
    top = panel(rate, [[one and one.mid for one in both] for both in rates], ROUND, legends)
    peaks = {}  # of each, the letters of those that have it
    for letter, run in zip(LETTERS, runs):
        peak = style.peak_of(records, run)
        if peak:
            peaks.setdefault(peak[0], []).append(letter)
    for (peak, whose), how in zip(peaks.items(), PEAKS):
        words = f"peak of {' and '.join(whose)}: {peak:.0f} {measure.unit}"
        rate.axhline(peak, linewidth=1.6, zorder=1, label=words, **how)
    rate.set(ylim=(0, 1.08 * max([top, *peaks])), ylabel=measure.unit)
    ratios = [[run.ratio(name) for run in runs] for name in names]
    ratios = [[one and one.mid for one in both] for both in ratios] + [[1, 1]]
    top = panel(ratio, ratios, EXACT, rotation=90)
    ratio.axhline(1, zorder=1, **style.CUBLAS)
    words = f"of {measure.other_name}"
    ratio.set(ylim=(0, 1.3 * max(top, 1)), ylabel=words, xlabel="step")
    style.name_ticks(ratio, [*names, measure.other_name])
    gpus = dict.fromkeys(map(style.gpu_words, runs))
    title = f"{' and '.join(gpus)}: {style.what(runs[0]).partition(': ')[2]}"
    return style.frame(figure, title, style.when(*runs))
