"""bench/fit.py finds constants of the model of s09 from times that were made with others."""

import ctypes
import json
import random
import re
from statistics import geometric_mean

import pytest

from tools import made_runs

from bench import fit
from bench.record import SEED
from bench.shapes import FAMILIES, FAMILY_SHAPES, drawn

KERNELS = {
    "128 x 256, 4 stages, cooperative, gathers": (128, 256, 2, 0, 0, 4, 1, 1, 0, 1, 1, 0, 64),
    "256 x 200, 3 stages, cooperative, 1x4": (256, 200, 2, 0, 0, 3, 1, 4, 0, 0, 1, 0, 200),
    "128 x 160, 5 stages, ping-pong, 4x2": (128, 160, 2, 0, 1, 5, 4, 2, 0, 0, 1, 0, 32),
    "64 x 16, 16 stages, one consumer, swapped": (64, 16, 1, 0, 0, 16, 1, 1, 1, 0, 1, 0, 64),
    "192 x 192, 4 stages, cooperative by columns": (192, 192, 2, 1, 0, 4, 1, 1, 0, 0, 1, 0, 32),
}
OTHER = {"start": 0.5, "clock_byte": 2}  # times the header's
FORMS = 3
CLUSTERS = (132, 66, 39, 30, 22, 17, 15, 15)
LISTED = f"clusters of 1, 2 ... CTAs that are resident at once: {' '.join(map(str, CLUSTERS))}\n"
LISTED += "".join(f"   1  {words}   2  whole\n" * FORMS for words in KERNELS)
BOTH_FORMS = [words for words in KERNELS for _ in range(FORMS)]


def timed(model, numbers):
    """A row of `--kernel all --json` if these constants were the truth, with an error of 1 %."""
    values = {name: OTHER.get(name, 1) * value for name, value in fit.constants().items()}
    shape = (numbers.choice((16, 512, 777, 3000)), 1024 * numbers.randint(1, 9))
    shape += (64 * numbers.randint(4, 150),)
    numbered = range(1, FORMS * len(KERNELS) + 1)
    plans = {i: model.point(i, shape, made_runs.H200) for i in numbered}
    points = {i: point for i, point in plans.items() if point}
    cycles, ones = ((ctypes.c_double * len(points))(*[1] * len(points)) for _ in range(2))
    given = (ctypes.c_double * len(values))(*values.values())
    rows = (fit.Point * len(points))(*points.values()), ones, cycles
    model.library.model_loss(given, len(points), *rows)
    seconds = [cycle / fit.HERTZ * numbers.uniform(0.99, 1.01) for cycle in cycles]
    timed = {f"kernel-{i}": {"seconds": [one] * 3} for i, one in zip(points, seconds)}
    return made_runs.row("s09", {"step": {"seconds": [1.0] * 3}, **timed}, shape, rounds=3)


@pytest.mark.needs("model.so")
def test_fit(tmp_path, capsys):
    """A fit finds what these times can tell, and the choice by it is that of the times."""
    model, numbers = fit.Model(BOTH_FORMS, CLUSTERS), random.Random(1)
    assert {words: fit.kernel_of(words) for words in KERNELS} == KERNELS
    rows, kernels = tmp_path / "rows.jsonl", tmp_path / "kernels"
    fitted, others = tmp_path / "fitted.xz", tmp_path / "others.xz"
    kernels.write_text(LISTED)
    for path, count in ((fitted, 60), (others, 20)):
        rows.write_text("".join(f"{json.dumps(timed(model, numbers))}\n" for _ in range(count)))
        fit.main(["--kernels", str(kernels), "--keep", str(path), str(rows)])
    fit.main(["--fit", str(fitted), str(others)])
    said, before = capsys.readouterr().out, fit.constants()
    printed = re.findall(r"^    CONSTANT\((\w+), ([-.\de+]+),$", said, re.MULTILINE)
    values, judged = {name: float(one) for name, one in printed}, fit.Times(others)
    assert [*values] == [*before]
    for name, factor in OTHER.items():
        assert 0.8 < values[name] / before[name] / factor < 1.25
    assert judged.loss(values) < judged.loss(before) / 4
    assert max(judged.costs(values)) < 1.03
    rows.write_text(json.dumps(made_runs.row("s09", {"step": {"seconds": [1.0]}})))
    with pytest.raises(ValueError, match="rows.jsonl"):
        fit.keep(LISTED, [rows], others)


RECORDED = {"nvidia-h100-80gb-hbm3": 175, "nvidia-h200": 45}  # shapes of their files
# Of the shapes at which the choice is judged those that are in the fit; noticed after both.
SHARED = {"256x256x8192", "2048x512x128", "2048x512x2048", "8192x2048x64"}


@pytest.mark.needs("model.so")
def test_recorded():
    """The header's constants fit the recorded times; how well they choose is for other shapes to say."""
    files = {fit.results.RESULTS / gpu / "fit.jsonl.xz": count for gpu, count in RECORDED.items()}
    for path, count in files.items():
        times = fit.Times(path)
        assert len(times.shapes) == count
        assert geometric_mean(times.costs(fit.constants())) < 1.035
    both = fit.Times(*files).shapes
    assert len(both) == sum(files.values())
    judged = {
        fit.shape_text(shape) for word in FAMILIES for shape in drawn(word, SEED, FAMILY_SHAPES)
    }
    assert judged & {one.name for one in both} == SHARED
