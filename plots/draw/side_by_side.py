"""Two runs of one problem, side by side: two GPUs, two dates or two commits."""

from __future__ import annotations

from bench.records import recorded
from plots.draw import bars, style

NAME = "side-by-side"
LETTERS = "ab"
SIDES = ({"color": style.SKY}, style.HATCHED)
ROUND, EXACT = "{:.0f}".format, "{:.3f}".format
PEAKS = ({"color": style.BLUE, "linestyle": "-."}, {"color": style.VERMILION, "linestyle": ":"})


def problem_of(ladder):
    """What has to be the same in both."""
    problem = ladder["problem"]
    return {
        "track": "".join(sorted(recorded.tracks(ladder))),
        "computation": problem["computation"],
        "shape": style.shape_words(ladder),
        "protocol": ladder["protocol"],
        "inputs": problem["inputs"],
    }


def ladders_of(runs):
    """The ladders of one file, without those with variants, the usual shape first."""
    usual = recorded.HEADLINE_SIZE
    found = [run for run in runs if run["kind"] == "ladder" and recorded.rungs_only(run)]
    return sorted(found, key=lambda run: set(recorded.shape_of(run)) != {usual})


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


def panel(axes, ladders, names, read, words, **how):
    """Two bars for each name, and two for what they are compared with at the right; returns the
    highest value. `read` takes it from a timing, which the one compared with has, too."""
    measure, highs = recorded.measure_of(ladders[0]), []
    legends = how.pop("legends", [None] * len(ladders))
    for i, (ladder, legend) in enumerate(zip(ladders, legends)):
        timings = {rung["step"]: rung["timing"] for rung in recorded.measured(ladder)}
        values = [read(timings[name]) if name in timings else None for name in names]
        values.append(read({"step": ladder[measure.other], measure.ratio: {"median": 1}}))
        places = [x + (i - 0.5) * 0.4 for x in range(len(values))]
        bars.labelled(axes, places, values, words, width=0.38, label=legend, **SIDES[i], **how)
        highs += [v for v in values if v is not None]
    axes.grid(axis="y")
    return max(highs)


def draw(pyplot, ladders, records):
    """The whole figure: the rates, and the ratios, which travel better."""
    names = {name for ladder in ladders for name in recorded.all_names(ladder)}
    names = sorted(names, key=recorded.name_order)
    measure = recorded.measure_of(ladders[0])
    gpus = [style.gpu_words(ladder) for ladder in ladders]
    legends = [
        f"{letter}: {gpu}, {style.details(ladder)}"
        for letter, gpu, ladder in zip(LETTERS, gpus, ladders)
    ]
    figure, (rate, ratio) = style.stack(pyplot, 6.8, (1.4, 1))
    how = {"legends": legends}
    top = panel(rate, ladders, names, lambda t: t["step"][measure.rate]["median"], ROUND, **how)
    peaks = {}  # of each, the letters of those that have it
    for letter, ladder in zip(LETTERS, ladders):
        peaks.setdefault(style.peak_of(records, ladder), []).append(letter)
    peaks.pop(None, None)
    for (peak, whose), how in zip(peaks.items(), PEAKS):
        words = f"peak of {' and '.join(whose)}: {peak:.0f} {measure.unit}"
        rate.axhline(peak, linewidth=1.6, zorder=1, label=words, **how)
    rate.set_ylim(0, 1.08 * max([top, *peaks]))
    rate.set_ylabel(measure.unit)
    how = {"rotation": 90}
    top = panel(ratio, ladders, names, lambda t: t[measure.ratio]["median"], EXACT, **how)
    ratio.axhline(1, zorder=1, **style.CUBLAS)
    ratio.set_ylim(0, 1.3 * max(top, 1))
    ratio.set_ylabel(f"of {measure.other_name}")
    ratio.set_xlabel("step")
    style.name_ticks(ratio, [*names, measure.other_name])
    title = f"{' and '.join(dict.fromkeys(gpus))}: {style.what(ladders[0]).partition(': ')[2]}"
    style.frame(figure, title, style.when(*ladders))
    return figure
