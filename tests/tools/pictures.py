"""What the tests of pictures share: assertions, looks at a PNG and an SVG, and how cases are run."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import case, exit_status, skip
from tools.cases import require, run_cases, same, tests_in

from plots.draw import style

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "venv"
PYTHON = VENV / "bin" / "python"
WIDTH = 1440  # pixels; GitHub shows 900
MOST_BYTES = 150_000
SHOWN_WIDTH = 900  # pixels, of a picture on GitHub
LEAST_PIXELS = 8.7  # of a text there: 7 points
CANNOT_RUN_HERE = 77
NUMBER = re.compile(r"-?\d+\.\d+")
PAINTED = re.compile(r"#[0-9a-f]{6}\b")
MOST_COVERED = 0.15  # of a text by another one


def plot(*arguments, **environment):
    """Runs plots/plot.py and returns its result with captured text."""
    command = [sys.executable, "-m", "plots.plot", *map(str, arguments)]
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    return subprocess.run(command, check=False, timeout=300, **how)


@functools.cache
def drawn(*options):
    """Everything that is recorded drawn once: (what holds the folder, the folder, what the program
    said)."""
    holder = tempfile.TemporaryDirectory()
    result = plot("--out", holder.name, *options)
    same((result.returncode, result.stderr), (0, ""))
    return holder, Path(holder.name), result.stdout


def check_committed(folder, fresh):
    """The pictures of a folder show what was drawn anew; the last digits of places may differ."""
    same(*(sorted(path.name for path in one.glob("*.svg")) for one in (folder, fresh)))
    for path in sorted(fresh.glob("*.svg")):
        new, old = svg_of(path), svg_of(folder / path.name)
        why = f"{folder.name}/{path.name} shows something else ('make plots')"
        require(texts_of(new) == texts_of(old), why)
        places = [
            [float(one) for one in NUMBER.findall(PAINTED.sub("", svg))] for svg in (new, old)
        ]
        differ = len(places[0]) != len(places[1])
        differ = differ or any(abs(a - b) > 0.5 for a, b in zip(*places))
        require(PAINTED.findall(new) == PAINTED.findall(old) and not differ, why)
        check_picture(folder / path.name)


def suffixed(names):
    """The files of pictures."""
    return [f"{name}.{kind}" for name in names for kind in ("png", "svg")]


def grey(colour):
    """How light a colour is in grey."""
    from matplotlib import colors

    return sum(part * w for part, w in zip(colors.to_rgb(colour), (0.299, 0.587, 0.114)))


def box_of(text):
    """Where a text of matplotlib's is, without the line that leads from it."""
    from matplotlib.text import Text

    return Text.get_window_extent(text)


def overlaps(texts, most):
    """Of matplotlib's texts the pairs of which one covers more than that part of the other."""
    boxes = [(text.get_text(), box_of(text)) for text in texts if text.get_text()]
    found = []
    for i, (text, one) in enumerate(boxes):
        for other_text, other in boxes[:i]:
            width = min(one.x1, other.x1) - max(one.x0, other.x0)
            height = min(one.y1, other.y1) - max(one.y0, other.y0)
            least = min(one.width * one.height, other.width * other.height)
            if max(width, 0) * max(height, 0) > most * least:
                found.append(f"'{text}' lies on '{other_text}'")
    return found


def check_legible(figure, name):
    """No text of a picture is too small where GitHub shows it, leaves it, or covers another one."""
    style.settle(figure)
    written = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    written += [text for legend in legends if legend for text in legend.get_texts()]
    for axes in figure.axes:
        written.append(axes.title)
        if axes.axison:
            written += [axes.xaxis.label, axes.yaxis.label]
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
                written += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    written = [text for text in written if text.get_text() and text.get_visible()]
    pixels = SHOWN_WIDTH / (72 * figure.get_size_inches()[0])  # of a point
    for text in written:
        size, box, whole = text.get_fontsize() * pixels, box_of(text), figure.bbox
        require(size >= LEAST_PIXELS, f"{name}: '{text.get_text()}' has {size:.1f} pixels")
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
        require(inside, f"{name}: '{text.get_text()}' leaves the picture")
    same((name, overlaps(written, MOST_COVERED)), (name, []))


def svg_of(path):
    """The text of a picture's SVG."""
    return path.with_suffix(".svg").read_text(encoding="utf-8")


def texts_of(svg):
    """All texts in a picture, in order."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def check_png(path):
    """A picture of the right width, white at its edge, opaque, neither blank nor big."""
    from matplotlib import image

    pixels = image.imread(path)
    height, width = pixels.shape[:2]
    require(width == WIDTH and 0.4 * WIDTH < height < WIDTH, f"{width} by {height} pixels")
    require(pixels[:, :, 3:].min(initial=1) == 1, "not opaque")
    colour = pixels[:, :, :3]
    require(colour[:: height - 1, :: width - 1].min() == 1, "the corners aren't white")
    require(colour.std() > 0.1, f"blank? standard deviation {colour.std():.3f}")
    bands = [colour[part * height // 8 : (part + 1) * height // 8].min() for part in range(8)]
    require(max(bands) < 0.5, f"the darkest of each eighth of the height: {bands}")
    require(path.stat().st_size <= MOST_BYTES, f"{path.name} has {path.stat().st_size} bytes")


def check_picture(path, names=(), words=(), never=()):
    """The PNG is one; in the SVG each name is a text, each word stands in one, and others in none."""
    check_png(path.with_suffix(".png"))
    texts = texts_of(svg_of(path))
    same([name for name in names if name not in texts], [])
    lacking_words = [word for word in words if not any(word in text for text in texts)]
    require(not lacking_words, f"{lacking_words} isn't in {texts}")
    same([word for word in never if any(word in text for text in texts)], [])


def run_tests(subject, module, folder="plots", needs="matplotlib"):
    """The tests of a module, in their order, with the libraries in that folder's requirements.txt;
    returns the exit status."""
    command = ["bash", "-c", f". tests/tools/cases.sh; packages {folder}"]
    made = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, timeout=900)
    if made.returncode == 0 and Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(PYTHON, [str(PYTHON), module["__file__"]])
    if made.returncode not in (0, CANNOT_RUN_HERE):
        case(
            subject,
            f"{folder}/requirements.txt could not be installed: see build/venv/{folder}.log",
        )
        return exit_status()
    if importlib.util.find_spec(needs) is None:
        skip(subject, "there is no network to install its packages from")
        return 0
    return run_cases(subject, tests_in(module))
