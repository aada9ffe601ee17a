"""What the tests of pictures share. Nothing here imports matplotlib before a test runs: make installs it
for the tests."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from tools import ROOT

PLOTS = ROOT / "plots"
WIDTH, SHOWN_WIDTH = 1440, 900  # pixels of a PNG, and of a picture on GitHub
LEAST_PIXELS = 8.7  # of a text there: 7 points
MOST_BYTES = 150_000
MOST_COVERED = 0.15  # of a text by another one


def of(name):
    """A module of plots/draw."""
    return import_module(f"plots.draw.{name}")


@cache
def recorded():
    """All that is recorded."""
    return of("records").load()


def figure_of(name, records):
    """A picture of plot.py's, laid out but not yet written."""
    program = import_module("plots.plot")
    every = {**program.pictures_of(records), **program.PICTURES, **program.IDEAS}
    figure = every[name](records)
    of("style").settle(figure)
    return figure


def check_alike(new, old):
    """Two SVGs show the same; the last digits of places may differ."""
    for shown in (r"<text[^>]*>([^<]*)</text>", r"#[0-9a-f]{6}\b"):
        assert re.findall(shown, new) == re.findall(shown, old)
    new, old = (re.findall(r"-?\d+\.\d+", re.sub(r"#[0-9a-f]{6}\b", "", svg)) for svg in (new, old))
    assert len(new) == len(old)
    assert [(a, b) for a, b in zip(new, old) if abs(float(a) - float(b)) > 0.5] == []


def check_png(new, old):
    """They are the same picture, which is opaque, as wide as all and not too big."""
    from matplotlib import image

    pixels, others = image.imread(new), image.imread(old)
    assert pixels.shape == others.shape
    assert abs(pixels - others).mean() < 0.002
    assert pixels.shape[1] == WIDTH
    assert pixels[:, :, 3:].min(initial=1) == 1
    assert old.stat().st_size <= MOST_BYTES


def written_in(figure):
    """The texts of a figure that can be seen."""
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    texts += [text for legend in legends if legend for text in legend.get_texts()]
    for axes in figure.axes:
        texts.append(axes.title)
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [axis.label, *(tick.label1 for tick in ticks)]
    return [text for text in texts if text.get_text() and text.get_visible()]


def check_legible(figure, most=MOST_COVERED):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    from matplotlib.text import Text

    pixels, whole, boxes = SHOWN_WIDTH / (72 * figure.get_size_inches()[0]), figure.bbox, []
    for text in written_in(figure):
        words, box = text.get_text(), Text.get_window_extent(text)  # without a line from it
        assert text.get_fontsize() * pixels >= LEAST_PIXELS, words
        assert min(box.x0, box.y0, whole.x1 - box.x1, whole.y1 - box.y1) >= 0, f"{words}: outside"
        for other_words, other in boxes:
            width = min(box.x1, other.x1) - max(box.x0, other.x0)
            height = min(box.y1, other.y1) - max(box.y0, other.y0)
            least = min(box.width * box.height, other.width * other.height)
            covered = max(width, 0) * max(height, 0)
            assert covered <= most * least, f"{words} lies on {other_words}"
        boxes.append((words, box))
