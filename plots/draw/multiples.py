"""A track at several shapes, one panel each: for the pictures of the a and the t track."""

from __future__ import annotations

from bench.records import recorded
from notes.tools import readme_table, shapes_table
from plots.draw import bars, style
from plots.draw.records import Missing, alike


def names_of(track):
    """The rungs of a track that compute the same, lowest first."""
    return [name for name in recorded.rung_names(track=track) if name != readme_table.APART[track]]


def find(records, track):
    """The newest run of all rungs at each shape, in the order of the README's table."""
    names = names_of(track)
    apart = readme_table.APART[track]
    ladders = [run for run in records.ladders(track) if apart not in recorded.all_names(run)]
    if not records.chosen:
        ladders = [run for run in ladders if recorded.all_names(run) == names]
        ladders = [run for run in ladders if len(recorded.measured(run)) == len(names)]
    if not ladders:
        command = f'make ladder ARGS="--track {track}"'
        raise Missing(f"no finished burst run of {names[0]} to {names[-1]} ({command})")
    newest = {recorded.shape_of(ladder): ladder for ladder in alike(ladders)}
    shapes = shapes_table.SHAPES[recorded.measure_of(ladders[-1])]
    shown = [newest[shape] for shape in shapes if shape in newest]
    return shown or list(newest.values())


def notes(ladders):
    """The shapes that the README's table has and the picture lacks."""
    there = {recorded.shape_of(ladder) for ladder in ladders}
    shapes = shapes_table.SHAPES[recorded.measure_of(ladders[0])]
    lacking = [shapes_table.title(shape) for shape in shapes if shape not in there]
    return [f"no panel for {shape}: no run is recorded there" for shape in lacking]


def line(axes, y, name, words, below, how):
    """A line behind the bars with its value at the left, where they are low."""
    axes.axhline(y, zorder=1, label=name, **how)
    how = {"ha": "left", "va": "top" if below else "bottom", "fontsize": 9, "zorder": 5}
    style.note(axes, f"{words} {y:.0f}", (-0.55, y), (0, -3 if below else 2), **how)


def panel(axes, ladder, lines, top):
    """One shape. `lines` has (y, legend, word, style)."""
    axes.set_title(style.shape_words(ladder), fontsize=11)
    for y, name, word, how in lines:
        crowded = any(0 < other[0] - y < 0.06 * top for other in lines)
        line(axes, y, name, word, crowded, how)
    bars.rungs(axes, ladder, recorded.measure_of(ladder), top, size=10)
    axes.set_xlabel("step")


def draw(pyplot, ladders, lines_of, without):
    """The whole figure; `lines_of(ladder)` gives the lines, `without` says who has no bar."""
    measure = recorded.measure_of(ladders[0])
    highs = [line[0] for ladder in ladders for line in lines_of(ladder)]
    for ladder in ladders:
        rungs = recorded.measured(ladder)
        highs += [rung["timing"]["step"][measure.rate]["high"] for rung in rungs]
    figure, panels = style.figure_of(
        pyplot, 5.2, 1, len(ladders), sharey=True, squeeze=False, gridspec_kw={"wspace": 0.03}
    )
    for axes, ladder in zip(panels[0], ladders):
        panel(axes, ladder, lines_of(ladder), 1.08 * max(highs))
    unit = measure.unit if measure is recorded.PRODUCTS else f"{measure.unit} read and written"
    panels[0][0].set_ylabel(unit)
    title = style.what(ladders[0], shape=len(ladders) == 1)
    style.frame(figure, title, style.details(*ladders), more=[without])
    return figure
