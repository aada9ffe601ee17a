"""Tests of plots/: the committed pictures, and how other records are drawn or rejected. Pictures of
ideas show what the rungs' texts say; tests/device compares the instructions, which the probes ask, with
the PTX manual."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

from tools import ROOT, made_runs
from tools.made_runs import H100, H200, V, run, run_of_parts

from bench import results
from bench import trace as traces
from bench.rungs import today

PLOTS = ROOT / "plots"
WIDTH, SHOWN_WIDTH = 1440, 900  # pixels of a PNG, and of a picture on GitHub
LEAST_PIXELS = 8.7  # of a text there: 7 points
MOST_BYTES = 150_000
MOST_COVERED = 0.15  # of a text by another one
COMMITTED = sorted(str(path.relative_to(PLOTS))[:-4] for path in PLOTS.rglob("*.svg"))
FROM = {  # what a picture is drawn from beside the records: rungs, and answers of build/probes
    "roofline": "v02 v04 v07 v16",
    "bank-conflicts": "a03 a04 t02 t03 "
    "bank_conflicts-a03 bank_conflicts-a04 bank_conflicts-t02 bank_conflicts-t03",
    "cluster-multicast": "v07 v08",
    "happens-before": "happens_before",
    "tall-tile": "v14 v16",
    "tile-orders": "v05 v10 v11 tile_orders",
    "tile-orders-l2": "v05 v10 v11 v13 tile_orders",
    "two-consumers": "v05",
    "wave-reuse": "v14 tile_orders",
}
READS = ("plots/**/*", "bench/*.py", "bench/energy/*.py", "bench/results/**/*", "bench/traces/*")
READS += ("notes/tools/*.py",)
pytestmark = [pytest.mark.needs("venv/plots.stamp"), pytest.mark.cached(*READS)]
LINES = {  # of rungs: what their pictures show that they do
    "v05": "tile_m = blockIdx.x % (m / BM);|tile_n = blockIdx.x / (m / BM);",
    "v07": "mbarrier_init(&smem.empty[stage], CONSUMERS);",
    "v08": "mbarrier_init(&smem.empty[stage], CONSUMERS * CLUSTER);|rows_b = BN / CLUSTER;",
    "v10": "ordered_tile(&order, i)|i += gridDim.x|balanced_ctas(",
    "v11": "tile = order[i];|hilbert_order(order, tiles_m, tiles_n);|balanced_ctas(",
    "v13": "ordered_tile(&order, i)|backwards = i / gridDim.x % 2;",
    "v14": "float acc[BLOCKS][MMA_N / 2];|MMA_N = BN;|STAGING_COLUMNS = BN / 2;|WM = BM / CONSUMERS;",
    "v16": "bf16 d[CONSUMERS][MMA_M * BN];|BLOCKS = WM / MMA_M;|WM = BM / CONSUMERS;",
}
CUBE, SMALL, WIDE = (8192,) * 3, (4096,) * 3, (32768,) * 2
OLD = {"file": "then/7654321.jsonl", "better": 0.5}
NEWER, CARD = {"commit": "7654321"}, {"gpu": {**H200, "card": "f0f0f0f0"}}
LOW, CACHED = {"gpu": {**H100, "power_limit_watts": 350}}, {"gpu": {**H200, "l2_bytes": 60 << 20}}
T = [f"t{number:02}" for number in range(2, 9)]


def reading(uses, *values):
    """A parameter with marks that say which rungs and probes its test uses."""
    rungs = [name for name in uses.split() if len(name) == 3]
    reads = [*READS, *(f"steps/{name}_*" for name in rungs)]
    probes = (f"probes/{name}" for name in uses.split() if name not in rungs)
    marks = [pytest.mark.cached(*reads, knows=today()), pytest.mark.needs(*probes)]
    return pytest.param(*values, marks=marks)


def drawn(name, *values):
    """A parameter whose test draws that picture."""
    return reading(FROM.get(name.rpartition("/")[2], ""), *(values or [name]))


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


def note_used(event, words):
    """Notes the rungs that are read, and the probes that are asked."""
    path = Path(str(words[0])) if event in ("open", "subprocess.Popen") else Path()
    if path.parent.name in ("steps", "probes"):
        USED.add(path.name[:3] if path.suffix else path.name)


def forget():
    """Nothing has been read or asked yet."""
    USED.clear()
    of("probes").source.cache_clear()
    of("probes").ask.cache_clear()


USED: set[str] = set()
sys.addaudithook(note_used)


@pytest.mark.parametrize("name", map(drawn, COMMITTED))
def test_committed(name, tmp_path):
    """It is what the code draws of the records, and can be read. FROM says what else it reads."""
    short, old, records = name.rpartition("/")[2], PLOTS / f"{name}.svg", recorded()
    forget()
    figure = figure_of(short, records)
    assert USED == {*FROM.get(short, "").split()}
    check_legible(figure)
    new = of("style").save_both(figure, tmp_path, "drawn")
    check_alike(*(path.read_text(encoding="utf-8") for path in (new.with_suffix(".svg"), old)))
    check_png(new, old.with_suffix(".png"))


def test_all_committed():
    """Every picture is in plots/, as PNG and SVG."""
    program = import_module("plots.plot")
    ideas = {f"ideas/{name}" for name in program.IDEAS}
    assert {*COMMITTED} == program.pictures_of(recorded()).keys() | ideas
    assert sorted(str(path.relative_to(PLOTS))[:-4] for path in PLOTS.rglob("*.png")) == COMMITTED


def test_grey():
    """In grey, no two states of a stage, doings of a warp or ways of a bank conflict look alike."""
    from matplotlib.colors import to_rgb

    def grey(colour):
        return sum(part * weight for part, weight in zip(to_rgb(colour), (0.299, 0.587, 0.114)))

    ways = {count: {"facecolor": colour} for count, colour in of("ideas.banks").WAYS.items()}
    for looks, least in ((of("ring").STATES, 0.15), (of("ring").DOES, 0.15), (ways, 0.06)):
        greys = [(grey(how["facecolor"]), how.get("hatch")) for how in looks.values()]
        for i, (one, hatch) in enumerate(greys):
            assert all(abs(one - other) >= least or hatch != how for other, how in greys[:i])


@pytest.mark.parametrize("rung", [reading(name, name) for name in LINES])
def test_lines(rung):
    """The rung does what its picture shows."""
    assert [line for line in LINES[rung].split("|") if line not in of("probes").source(rung)] == []


MODELLED = [reading(f"{name} tile_orders", name) for name in ("v05", "v10", "v11", "v13")]


@pytest.mark.parametrize("rung", MODELLED)
def test_dram_reads(rung):
    """The model reads from DRAM what a cache does not hold, and A and B once if both fit."""
    model, size, backwards = of("ideas.model"), 2048, rung == "v13"
    order, tile = of("probes").order_of(rung, size, 8), of("probes").tile_of(rung)
    capacities, wanted = [mebibytes << 20 for mebibytes in (1, 3, 6, 16)], []
    for capacity in capacities:
        cache, uses = model.Cache(capacity), model.uses(order, tile, size, backwards)
        wanted.append(sum(count for _, item, count in uses if not cache.use(item, count)))
    assert model.dram_reads(order, tile, size, backwards, capacities) == wanted
    assert wanted[-1] == 2 * size * size * 2


# ---------------------------------------------------------------------------- the program


def written(path, *arguments, **how):
    """A file with a made-up run."""
    for row in made_runs.rows(*arguments, **how):
        results.append(path, row)
    return path


@pytest.fixture
def plot(tmp_path, capsys):
    """What plot.py says of files: (exit status, stdout, stderr, the names of what it drew)."""

    def called(*files):
        words = [f"--results={','.join(map(str, files))}"] if files else ["--ideas"]
        status = import_module("plots.plot").main([*words, "--out", str(tmp_path / "out")])
        names = sorted(path.stem for path in tmp_path.glob("out/**/*.png"))
        return status, *capsys.readouterr(), names

    return called


def test_chosen_trace(tmp_path, plot):
    """From a trace that is named its picture alone, the same bytes each time."""
    path = traces.TRACES / "v07-nvidia-h200.json"
    drawn = plot(path)
    assert (drawn[0], *drawn[2:]) == (0, "", [f"trace-{path.stem}"])
    command = [sys.executable, "-m", "plots.plot", f"--results={path}", "--out", tmp_path / "again"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "7"}, check=True)
    for one in (tmp_path / "out").iterdir():
        assert one.read_bytes() == (tmp_path / "again" / one.name).read_bytes()


def test_one_file(tmp_path, plot):
    """From one chosen file comes what it holds; the rest says what is missing."""
    status, said, errors, names = plot(written(tmp_path / "mine.jsonl", V[:5], SMALL))
    assert (status, errors, names) == (0, "", ["ladder", "share-and-clock"])
    lacking = re.findall("^(.*): not drawn: ", said, re.MULTILINE)
    assert sorted([*lacking, *names]) == sorted(import_module("plots.plot").PICTURES)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("broken.jsonl", "broken.jsonl, line"),
        ("old.json", "neither rows (.jsonl) nor a trace"),
        ("gone.jsonl", "No such file"),
        ("tried", "no picture can be drawn"),
        ("v small", "not side by side: shape 8192³ in one, 4096³ in the other"),
        ("v a", "not side by side: track v in one, a in the other"),
        ("v steady", "not side by side: protocol burst in one, sustained in the other"),
        ("v tried", "one of these files has none"),
        ("v v v", "side by side go two files, not 3"),
    ],
)
def test_refuses(files, words, tmp_path, plot):
    """What can't be read or drawn is one line on stderr, exit 2, no file."""
    made = {"v": (V,), "small": (V, SMALL), "a": (["a02"],), "tried": (["v06", "v06-each-sm"],)}
    made["steady"] = (V, CUBE, "sustained")
    for name in made.keys() & files.split():
        written(tmp_path / f"{name}.jsonl", *made[name])
    paths = [tmp_path / (name if "." in name else f"{name}.jsonl") for name in files.split()]
    (tmp_path / "old.json").write_text('{"kind": "run"}')
    (tmp_path / "broken.jsonl").write_text('{"context": {')
    status, _, errors, names = plot(*paths)
    assert (status, errors.count("\n"), errors[:6], names) == (2, 1, "plot: ", [])
    assert words in errors


@pytest.mark.cached(*READS, *(f"steps/{rung}_*" for rung in ("a03", "a04", "t02", "t03")))
@pytest.mark.parametrize("words", ["make probes", "failed (3): no"])
def test_refuses_probes(words, tmp_path, plot, monkeypatch):
    """A probe that isn't built or fails is one line, exit 2, and no file."""
    forget()
    monkeypatch.setattr(of("probes"), "PROBES", tmp_path)
    if words.startswith("failed"):
        (tmp_path / "bank_conflicts-a03").write_text("#!/bin/sh\necho no >&2\nexit 3\n")
        (tmp_path / "bank_conflicts-a03").chmod(0o755)
    status, _, errors, names = plot()
    assert (status, errors.count("\n"), names, words in errors) == (2, 1, [], True)


# ---------------------------------------------------------------------------- made-up runs


def records_of(*runs, **others):
    """These as if they were all that is recorded."""
    return of("records").Records([list(runs)], **others)


def steady(names=V, **how):
    """A sustained run."""
    return run(names, protocol="sustained", read={"watts": 690.0, "joules": 1.1}, **how)


def swept(*families):
    """Three shapes of each."""
    return made_runs.loaded([row for word in families for row in made_runs.swept(word)])


def counts_of(names, gigabytes, **how):
    """A run under ncu: each rung moves a gigabyte more than the one before, and a tenth of it back."""
    names = {name: 1e9 * (gigabytes + i) for i, name in enumerate(names)}
    metrics = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 0.1}
    metrics["lts__t_sectors_srcunit_tex.sum"] = 0.2
    counts = {name: {key: part * n for key, part in metrics.items()} for name, n in names.items()}
    return made_runs.counted(counts, **how)


def at_sizes(**how):
    """Runs at three sizes."""
    return [run(shape=(size,) * 3, **how) for size in (2048, 4096, 8192)]


# A picture, the runs, what it says, or is said if it can't be drawn or lacks something, and what isn't.
MADE = (
    ("ladder", lambda: [run(**LOW), run(**OLD), run()], "v17|473|697 TFLOPS", "no line"),
    ("ladder", lambda: [run(alone=True)], "v17|no line for the best", "best cuBLASLt,"),
    ("ladder", lambda: made_runs.loaded(made_runs.rows(failed="v02")), "v17|failed", "350 W"),
    ("share-and-clock", lambda: [run(read={"share": None})], "no tensor-core share", "v01"),
    ("sizes", lambda: [run(**NEWER), *at_sizes(), *at_sizes(**LOW, **NEWER)], "v17", "H100"),
    ("sizes", lambda: at_sizes(alone=True), "v17|8192|abc1234", "of cuBLASLt,"),
    ("sizes", lambda: [*at_sizes(), *at_sizes(names=("v16", "s09"))], "s09|v16", "v17"),
    ("sizes", lambda: at_sizes()[:2], "recorded: 2048³, 4096³", "8192"),
    ("sustained", lambda: [run(), steady(better=0.8)], "1.101|710|568", "measured apart"),
    ("sustained", lambda: [run(**NEWER), steady()], "abc1234|7654321|at commits", "cards"),
    ("sustained", lambda: [run(**CARD), steady()], "measured apart, on two cards", "commits"),
    ("sustained", lambda: [run(V[:5]), steady()], "no sustained run", "v01"),
    ("any-shape", lambda: [run()], "--only shapes", "v01"),
    (
        "any-shape",
        lambda: swept("aligned", "odd"),
        "aligned 1.210|odd 1.065|of\ncuBLASLt's b",
        "H1",
    ),
    ("roofline", lambda: [run(), counts_of(V, 1), counts_of(V[:3], 7)], "2.2|7.7", "7.70|no p"),
    ("roofline", lambda: [run(), counts_of(["v12"], 3)], "no point for v01, v02", "v11, v12"),
    ("roofline", lambda: [run()], "no counters", "v01"),
    ("ladder-a", lambda: [run(["a01"]), run(["a02"])], "a02|no panel for 4096³", "a03"),
    ("ladder-t", lambda: [run(["t01"], WIDE)], "no burst run of t02", "GB/s"),
    ("fp8", lambda: [run(["f07"], of("fp8").SHAPES[0])], "at 3 shapes", "f07"),
    ("energy", lambda: [run_of_parts(), other_parts()], "v14: |measured on diff", "v15"),
    ("energy", lambda: [run_of_parts("waiting")], "make energy", "v16"),
    ("power", lambda: [steady(V[:3]), steady()], "v17|the power limit|H200", "nothing runs"),
    ("power", lambda: [run()], "--protocol sustained", "v01"),
    ("side-by-side", lambda: [run(V[1:]), run(V[:-1], **LOW)], "v01|v17|350 W|0.679", "GB/s"),
    ("side-by-side", lambda: [run(T, WIDE)] * 2, "t08|device copy|GB/s|32768²", "TFLOPS"),
    ("tile-orders-l2", lambda: [run(**CACHED)], "by the model|62.9 MB", "counted"),
)


@pytest.mark.parametrize("number", [drawn(row[0], i) for i, row in enumerate(MADE)])
def test_made(number, capsys):
    name, runs, words, never = MADE[number]
    records = records_of(*runs())
    if name == "side-by-side":
        records = of("records").Records([[one] for one in records.runs], True)
    try:
        said = [text.get_text() for text in written_in(figure_of(name, records))]
    except of("records").Missing as missing:
        said = [str(missing)]
    said = "\n".join([*said, capsys.readouterr().out])
    assert [word for word in words.split("|") if word not in said] == [], said
    assert [word for word in never.split("|") if word in said] == []


def other_parts():
    """A rung's parts, measured at another commit."""
    made = run_of_parts(rung="v14")
    made.context["commit"] = "7654321"
    return made


def test_choice():
    """Of several runs: of one card and commit, without a slow launch, the first at a shape."""
    steadied, clean, older = steady(), run(date="2027-01-02T00:00:00Z"), run(**OLD)
    for how in (NEWER, CARD):
        found = of("sustained").find(records_of(run(**how), clean, steadied))
        assert found["burst"] == clean
    rows = made_runs.rows(date="2027-02-01T00:00:00Z")
    rows[6]["timed"]["step"]["ghz"] *= 0.9
    slow = made_runs.loaded(rows)[0]
    assert of("share_and_clock").find(records_of(older, slow, clean)) == clean
    assert of("share_and_clock").find(records_of(older, slow)) == older
    runs = swept("aligned")
    found = of("any_shape").find(records_of(run(), *runs, *runs, chosen=True))
    assert found == ({"aligned": runs}, "s09")
