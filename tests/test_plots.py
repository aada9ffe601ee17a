"""Tests of plots/: the committed pictures are what the committed records give and can be read; how
other records are drawn or rejected; with FULL=1, that the probes still say what is committed."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from itertools import combinations

import pytest

from tools import ROOT, made_runs
from tools.made_runs import H100, H200, V, run, run_of_parts

from bench import results
from bench import trace as traces

PLOTS = ROOT / "plots"
WIDTH, SHOWN_WIDTH, MOST_BYTES = 1440, 900, 150_000  # of a PNG; pixels on GitHub
LEAST_PIXELS = 8.7  # of a text there: 7 points
MOST_COVERED = 0.15  # of a text by another one
COMMITTED = sorted(str(path.relative_to(PLOTS))[:-4] for path in PLOTS.rglob("*.png"))
pytestmark = pytest.mark.needs("venv/plots.stamp")
LINES = {  # of rungs: what their pictures show that they do
    "v05": "tile_m = blockIdx.x % (m / BM);|tile_n = blockIdx.x / (m / BM);",
    "v10": "ordered_tile(&order, i)|i += gridDim.x|balanced_ctas(",
    "v11": "tile = order[i];|hilbert_order(order, tiles_m, tiles_n);|balanced_ctas(",
    "v13": "ordered_tile(&order, i)|backwards = i / gridDim.x % 2;",
    "v14": "float acc[BLOCKS][MMA_N / 2];|STAGING_COLUMNS = BN / 2;|WM = BM / CONSUMERS;",
    "v16": "bf16 d[CONSUMERS][MMA_M * BN];|BLOCKS = WM / MMA_M;|WM = BM / CONSUMERS;",
}
SMALL, WIDE = (4096,) * 3, (32768,) * 2
OLD = {"file": "then/7654321.jsonl", "better": 0.5}
LOW, CACHED = {"gpu": {**H100, "power_limit_watts": 350}}, {"gpu": {**H200, "l2_bytes": 60 << 20}}
PROBES = "tile_orders bank_conflicts-a03 bank_conflicts-a04 bank_conflicts-t02 bank_conflicts-t03"


def of(name):
    """A module of plots/draw."""
    return import_module(f"plots.draw.{name}")


@cache
def recorded():
    return of("records").load()


def figure_of(name, records):
    """A picture of plot.py's, laid out but not yet written."""
    program = import_module("plots.plot")
    every = {**program.pictures_of(recorded()), **program.pictures_of(records), **program.PICTURES}
    figure = every[name](records)
    of("style").settle(figure)
    return figure


def written_in(figure):
    """The texts of a figure that can be seen."""
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    texts += [text for legend in legends if legend for text in legend.get_texts()]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [axis.label, *(tick.label1 for tick in ticks)]
    return [text for text in texts if text.get_text() and text.get_visible()]


def check_legible(figure):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    pixels, whole, shown = SHOWN_WIDTH / (72 * figure.get_size_inches()[0]), figure.bbox, []
    for text in written_in(figure):
        words, box = text.get_text(), Text.get_window_extent(text)  # without a line from it
        assert text.get_fontsize() * pixels >= LEAST_PIXELS, words
        assert min(box.x0, box.y0, whole.x1 - box.x1, whole.y1 - box.y1) >= 0, f"{words}: outside"
        shown.append((words, box))
    for (words, box), (other_words, other) in combinations(shown, 2):
        least = min(one.width * one.height for one in (box, other))
        both, said = Bbox.intersection(box, other), f"{words} lies on {other_words}"
        assert both is None or both.width * both.height <= MOST_COVERED * least, said


@pytest.mark.parametrize("name", COMMITTED)
def test_committed(name, tmp_path):
    """It is what the code draws of the records, opaque for dark pages, and can be read. Its bytes are not
    promised: they depend on the versions of matplotlib, FreeType and zlib."""
    from matplotlib import image

    figure = figure_of(name, recorded())
    check_legible(figure)
    new = of("style").save(figure, tmp_path, "drawn")
    pixels, others = image.imread(new), image.imread(PLOTS / f"{name}.png")
    assert pixels.shape == others.shape
    assert (abs(pixels - others).max(axis=2) > 0.5).mean() < 0.0002  # a label moved is more
    assert pixels.shape[1] == WIDTH
    assert pixels[:, :, 3:].min(initial=1) == 1
    assert new.stat().st_size <= MOST_BYTES


def test_all_committed():
    """Every picture is in plots/, and a page shows it."""
    assert {*COMMITTED} == import_module("plots.plot").pictures_of(recorded()).keys()
    pages = (ROOT / "README.md", *(ROOT / "notes").rglob("*.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert {*re.findall(r"(?<!build/)plots/([\w/-]+)\.png", text)} == {*COMMITTED}


@pytest.mark.full
@pytest.mark.needs(*(f"probes/{name}" for name in PROBES.split()))
@pytest.mark.parametrize("name", PROBES.split())
def test_probes(name):
    """What is committed of a probe is what it says."""
    known = {q: answer for q, answer in of("records").answers().items() if q.split()[0] == name}
    assert known and {question: of("records").asked(question) for question in known} == known


def test_grey():
    """In grey, no two states of a stage, doings of a warp or ways of a bank conflict look alike."""
    from matplotlib.colors import to_rgb

    def grey(colour):
        return sum(part * weight for part, weight in zip(to_rgb(colour), (0.299, 0.587, 0.114)))

    ways = {count: ({"facecolor": colour}, "") for count, colour in of("banks").WAYS.items()}
    for looks, least in ((of("ring").STATES, 0.15), (of("ring").DOES, 0.15), (ways, 0.06)):
        greys = [(grey(how["facecolor"]), how.get("hatch")) for how, _ in looks.values()]
        for i, (one, hatch) in enumerate(greys):
            assert all(abs(one - other) >= least or hatch != how for other, how in greys[:i])


def test_lines():
    """Rungs do what their pictures show."""
    for rung, lines in LINES.items():
        assert [line for line in lines.split("|") if line not in of("records").source(rung)] == []


@pytest.mark.parametrize(("mebibytes", "times"), [(16, 1), (0, 8)])
def test_dram_reads(mebibytes, times):
    """The model reads A and B once if both fit, and what each wave uses if nothing stays."""
    places = [(m, n) for n in range(8) for m in range(16)]
    order = {**dict(zip("mn", zip(*places))), "workers": 16}  # a wave is a column of tiles
    size, tile = 2048, (128, 256, 64)
    read = of("orders").dram_reads(order, tile, size, False, mebibytes << 20)
    assert read == 2 * size * size * (1 + times)


def written(path, *arguments):
    """A file with a made-up run."""
    for row in made_runs.rows(*arguments):
        results.append(path, row)
    return path


@pytest.fixture
def plot(tmp_path, capsys):
    """What plot.py says of files: (exit status, stdout, stderr, the names of what it drew)."""

    def called(*files):
        words = [f"--results={','.join(map(str, files))}", "--out", str(tmp_path / "out")]
        status = import_module("plots.plot").main(words)
        names = sorted(path.stem for path in tmp_path.glob("out/**/*.png"))
        return status, *capsys.readouterr(), names

    return called


def test_chosen(tmp_path, plot):
    """From a trace its picture alone; from one file what it holds, and what else is missing."""
    drawn = plot(traces.TRACES / "v07-emulator.json")
    assert (drawn[0], *drawn[2:]) == (0, "", ["trace-v07-emulator"])
    (tmp_path / "out" / "trace-v07-emulator.png").unlink()
    status, said, errors, names = plot(written(tmp_path / "mine.jsonl", V[:5], SMALL))
    assert (status, errors, names) == (0, "", ["ladder", "share-and-clock"])
    lacking = re.findall("^(.*): not drawn: ", said, re.MULTILINE)
    assert sorted([*lacking, *names]) == sorted(import_module("plots.plot").PICTURES)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken.jsonl", "broken.jsonl, line"),
        ("old.json", "neither rows (.jsonl) nor a trace"),
        ("tried.jsonl", "no picture can be drawn"),
    ],
)
def test_refuses(name, words, tmp_path, plot):
    """What can't be read or drawn is one line on stderr, exit 2, no file."""
    written(tmp_path / "tried.jsonl", ["v06", "v06-each-sm"])
    (tmp_path / "old.json").write_text('{"kind": "run"}')
    (tmp_path / "broken.jsonl").write_text('{"context": {')
    status, _, errors, names = plot(tmp_path / name)
    assert (status, errors.count("\n"), errors[:6], names) == (2, 1, "plot: ", [])
    assert words in errors


# A picture, the runs, what it says, or is said if it can't be drawn, and what isn't.
STEADY = {"protocol": "sustained", "read": {"watts": 690.0, "joules": 1.1}}
MADE = (
    ("ladder", lambda: [run(**LOW), run(**OLD), run()], "v17|700 W|raw mbarriers", "350 W"),
    ("ladder", lambda: [run(alone=True)], "v17|cuBLAS", "best"),
    ("ladder", lambda: made_runs.loaded(made_runs.rows(failed="v02")), "v17", "350 W"),
    ("share-and-clock", lambda: [run(read={"share": None})], "no tensor-core share", "v01"),
    ("power", lambda: [run(), run(**STEADY)], "sustained|v17", "apart"),
    ("power", lambda: [run(commit="7654321"), run(**STEADY)], "abc1234|measured apart", "350 W"),
    ("power", lambda: [run()], "--protocol sustained", "v01"),
    ("ladder-a", lambda: [run(["a01"]), run(["a02"])], "a02", "a03"),
    ("ladder-t", lambda: [run(["t01"], WIDE)], "no burst run of t02", "GB/s"),
    ("fp8", lambda: [run(["f07"], (4096, 7168, 16384))], "no burst runs", "f07"),
    ("energy", lambda: [run_of_parts("waiting")], "make energy", "v16"),
    ("energy", lambda: [run_of_parts()], "v16: |J per GEMM", "different cards"),
    ("ideas/tile-orders-l2", lambda: [run(**CACHED)], "model", "Nsight"),
)


@pytest.mark.parametrize(("name", "runs", "words", "never"), MADE)
def test_made(name, runs, words, never):
    records = of("records")
    made = records.Records(list(runs()))
    try:
        said = [text.get_text() for text in written_in(figure_of(name, made))]
    except records.Missing as missing:
        said = [str(missing)]
    said = "\n".join(said)
    assert [word for word in words.split("|") if word not in said] == [], said
    assert [word for word in never.split("|") if word in said] == []
