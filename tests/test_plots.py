"""Tests of plots/: the committed pictures, and how other records are drawn or rejected."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module

import pytest

from tools import ROOT, made_runs
from tools.made_runs import H100, H200, V, run
from tools.pictures import (
    PLOTS,
    check_alike,
    check_legible,
    check_png,
    figure_of,
    of,
    recorded,
    written_in,
)

from bench import results, shapes
from bench import trace as traces

COMMITTED = sorted(str(path.relative_to(PLOTS))[:-4] for path in PLOTS.rglob("*.svg"))
PROBES = ["happens_before", "tile_orders"]
PROBES += [f"bank_conflicts-{rung}" for rung in ("a03", "a04", "t02", "t03")]
READS = ("plots/**/*", "bench/**/*", "notes/tools/*.py", "common/**/*", "steps/*")
pytestmark = [
    pytest.mark.needs("venv/plots.stamp", *(f"probes/{probe}" for probe in PROBES)),
    pytest.mark.cached(*READS),
]
CUBE, SMALL, WIDE = (8192,) * 3, (4096,) * 3, (32768,) * 2
OLD = {"file": "then/7654321.jsonl", "better": 0.5}
NEWER, CARD = {"commit": "7654321"}, {"gpu": {**H200, "card": "f0f0f0f0"}}
LOW, CACHED = {"gpu": {**H100, "power_limit_watts": 350}}, {"gpu": {**H200, "l2_bytes": 60 << 20}}
T = [f"t{number:02}" for number in range(2, 9)]


@pytest.mark.parametrize("name", COMMITTED)
def test_committed(name, tmp_path):
    """It is what the code draws of the records, and can be read."""
    figure, old = figure_of(name.rpartition("/")[2], recorded()), PLOTS / f"{name}.svg"
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


# ---------------------------------------------------------------------------- the program


def written(path, *arguments, **how):
    """A file with a made-up run."""
    for row in made_runs.rows(*arguments, **how):
        results.append(path, row)
    return path


def plot(out, *files, **environment):
    """What plot.py says of these files: (exit status, stdout, stderr, the names of what it drew)."""
    words = [f"--results={','.join(map(str, files))}"] if files else ["--ideas"]
    command = [sys.executable, "-m", "plots.plot", *words, "--out", str(out)]
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    ended = subprocess.run(command, check=False, timeout=300, cwd=ROOT, **how)
    names = sorted(path.stem for path in out.rglob("*.png"))
    return ended.returncode, ended.stdout, ended.stderr, names


def test_chosen_trace(tmp_path):
    """From a trace that is named its picture alone, the same bytes each time."""
    path = traces.TRACES / "v07-nvidia-h200.json"
    for seed in "12":
        drawn = plot(tmp_path / seed, path, PYTHONHASHSEED=seed)
        assert (drawn[0], *drawn[2:]) == (0, "", [f"trace-{path.stem}"])
    for one in (tmp_path / "1").iterdir():
        assert one.read_bytes() == (tmp_path / "2" / one.name).read_bytes()


def test_one_file(tmp_path):
    """From one chosen file comes what it holds; the rest says what is missing."""
    file = written(tmp_path / "mine.jsonl", V[:5], SMALL)
    status, said, errors, names = plot(tmp_path / "out", file)
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
def test_refuses(files, words, tmp_path):
    """What can't be read or drawn is one line on stderr, exit 2, no file."""
    made = {"v": (V,), "small": (V, SMALL), "a": (["a02"],), "tried": (["v06", "v06-each-sm"],)}
    made["steady"] = (V, CUBE, "sustained")
    for name in made.keys() & files.split():
        written(tmp_path / f"{name}.jsonl", *made[name])
    paths = [tmp_path / (name if "." in name else f"{name}.jsonl") for name in files.split()]
    (tmp_path / "old.json").write_text('{"kind": "run"}')
    (tmp_path / "broken.jsonl").write_text('{"context": {')
    status, _, errors, names = plot(tmp_path / "out", *paths)
    assert (status, errors.count("\n"), errors[:6], names) == (2, 1, "plot: ", [])
    assert words in errors


@pytest.mark.parametrize("words", ["make probes", "failed (3): no"])
def test_refuses_probes(words, tmp_path):
    """A probe that isn't built or fails is one line, exit 2, and no file."""
    if words.startswith("failed"):
        (tmp_path / "probes").mkdir()
        (tmp_path / "probes" / "bank_conflicts-a03").write_text("#!/bin/sh\necho no >&2\nexit 3\n")
        (tmp_path / "probes" / "bank_conflicts-a03").chmod(0o755)
    status, _, errors, names = plot(tmp_path / "out", BUILD=str(tmp_path))
    assert (status, errors.count("\n"), names, words in errors) == (2, 1, [], True)


# ---------------------------------------------------------------------------- made-up runs


def records_of(*runs, **others):
    """These as if they were all that is recorded."""
    return of("records").Records([list(runs)], **others)


def steady(names=V, **how):
    """A sustained run."""
    return run(names, protocol="sustained", read={"watts": 690.0, "joules": 1.1}, **how)


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
@pytest.mark.parametrize(
    ("name", "runs", "words", "never"),
    [
        ("ladder", lambda: [run(**LOW), run(**OLD), run()], "v17|473|697 TFLOPS", "v18|no line"),
        ("ladder", lambda: [run(alone=True)], "v17|no line for the best", "best cuBLASLt,"),
        ("ladder", lambda: made_runs.loaded(made_runs.rows(failed="v02")), "v17|failed", "350 W"),
        ("share-and-clock", lambda: [run(read={"share": None})], "no tensor-core share", "v01"),
        ("sizes", lambda: [run(**NEWER), *at_sizes(), *at_sizes(**LOW, **NEWER)], "v18", "H100"),
        ("sizes", lambda: at_sizes(alone=True), "v18|8192|abc1234", "of cuBLASLt,"),
        ("sizes", lambda: at_sizes()[:2], "recorded: 2048³, 4096³", "8192"),
        ("sustained", lambda: [run(), steady(better=0.8)], "1.101|710|568", "measured apart"),
        ("sustained", lambda: [run(**NEWER), steady()], "abc1234|7654321|at commits", "cards"),
        ("sustained", lambda: [run(**CARD), steady()], "measured apart, on two cards", "commits"),
        ("sustained", lambda: [run(V[:5]), steady()], "no sustained run", "v01"),
        ("any-shape", lambda: [run()], "--only judged", "v01"),
        ("roofline", lambda: [run(), counts_of(V, 1), counts_of(V[:3], 7)], "2.2|7.7", "7.70|no p"),
        ("roofline", lambda: [run(), counts_of(["v12"], 3)], "no point for v01, v02", "v11, v12"),
        ("roofline", lambda: [run()], "no counters", "v01"),
        ("ladder-a", lambda: [run(["a01"]), run(["a02"])], "a02|no panel for 4096³", "a03"),
        ("ladder-t", lambda: [run(["t01"], WIDE)], "no burst run of t02", "GB/s"),
        ("fp8", lambda: [run(["f07"], of("fp8").SHAPES[0])], "at 3 shapes", "f07"),
        (
            "energy",
            lambda: [made_runs.run_of_parts(), other_parts()],
            "v14: |measured on diff",
            "v15",
        ),
        ("energy", lambda: [made_runs.run_of_parts("waiting")], "make energy", "v16"),
        ("power", lambda: [steady(V[:3]), steady()], "v18|the power limit|H200", "nothing runs"),
        ("power", lambda: [run()], "--protocol sustained", "v01"),
        ("side-by-side", lambda: [run(V[1:]), run(V[:-1], **LOW)], "v01|v18|350 W|0.679", "GB/s"),
        ("side-by-side", lambda: [run(T, WIDE)] * 2, "t08|device copy|GB/s|32768²", "TFLOPS"),
        ("tile-orders-l2", lambda: [run(**CACHED)], "by the model|62.9 MB", "counted"),
    ],
)
def test_made(name, runs, words, never, capsys):
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
    made = made_runs.run_of_parts(rung="v14")
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
    shape = shapes.of_word("aligned:1", "v")[0]
    swept = [run([step], shape) for step in ("v12", "v18", "v18")]
    found = of("any_shape").find(records_of(*swept, chosen=True))
    assert found[H200["name"]] == {"aligned": swept[1:2]}
