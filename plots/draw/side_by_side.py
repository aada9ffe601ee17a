"""Two runs of one problem, side by side: two GPUs, two dates or two commits."""

from __future__ import annotations

from bench import results
from plots.draw import bars, style

NAME = "side-by-side"
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


def panel(axes, runs, names, read, words, **how):
    """Two bars for each name; returns the highest value. `read` takes it from a run and a name."""
    highs = []
    legends = how.pop("legends", [None] * len(runs))
    for i, (run, legend) in enumerate(zip(runs, legends)):
        values = [read(run, name) for name in names]
        places = [x + (i - 0.5) * 0.4 for x in range(len(values))]
        bars.labelled(axes, places, values, words, width=0.38, label=legend, **SIDES[i], **how)
        highs += [v for v in values if v is not None]
    axes.grid(axis="y")
    return max(highs)


def rate_of(run, name):
    """The median of its rate, or None."""
    rate = run.rate(name)
    return rate and rate.mid


def ratio_of(run, name):
    """The median of its ratio to what the rungs are compared with, of which it is 1."""
    ratio = run.ratio(name)
    return 1 if name == run.measure.other else ratio and ratio.mid


def draw(pyplot, runs, records):
    """The whole figure: the rates, and the ratios, which travel better."""
    measure = runs[0].measure
    names = sorted({name for run in runs for name in run.names}, key=results.name_order)
    columns = [*names, measure.other]  # what they are compared with is at the right
    legends = [
        f"{letter}: {style.gpu_words(run)}, {style.details(run)}"
        for letter, run in zip(LETTERS, runs)
    ]
    figure, (rate, ratio) = style.stack(pyplot, 6.8, (1.4, 1))
    top = panel(rate, runs, columns, rate_of, ROUND, legends=legends)
    peaks = {}  # of each, the letters of those that have it
    for letter, run in zip(LETTERS, runs):
        peaks.setdefault(style.peak_of(records, run), []).append(letter)
    peaks.pop(None, None)
    for (peak, whose), how in zip(peaks.items(), PEAKS):
        words = f"peak of {' and '.join(whose)}: {peak:.0f} {measure.unit}"
        rate.axhline(peak, linewidth=1.6, zorder=1, label=words, **how)
    rate.set_ylim(0, 1.08 * max([top, *peaks]))
    rate.set_ylabel(measure.unit)
    top = panel(ratio, runs, columns, ratio_of, EXACT, rotation=90)
    ratio.axhline(1, zorder=1, **style.CUBLAS)
    ratio.set_ylim(0, 1.3 * max(top, 1))
    ratio.set_ylabel(f"of {measure.other_name}")
    ratio.set_xlabel("step")
    style.name_ticks(ratio, [*names, measure.other_name])
    gpus = dict.fromkeys(map(style.gpu_words, runs))
    title = f"{' and '.join(gpus)}: {style.what(runs[0]).partition(': ')[2]}"
    style.frame(figure, title, style.when(*runs))
    return figure
