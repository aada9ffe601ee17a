"""Shapes and families of them, and bench/sweep.py with fake rungs."""

import signal
from zlib import crc32

import pytest

from tools.fake_rungs import House, holds

from bench import results, shapes
from bench.run import UsageError
from bench.sweep import sweep_main


def test_sizes():
    """Names and spellings of shapes, track by track."""
    found = shapes.of_sizes("squares", ("v", "t"))
    assert [shape["m"] for shape in found["v"]] == list(shapes.SQUARES)
    moved = {"m": 32768, "n": 32768}
    assert found["t"][-1] == moved
    assert shapes.of_sizes(None, "vt") == {"v": [dict.fromkeys("mnk", 8192)], "t": [moved]}
    both = shapes.of_sizes(" ALL, 8192 ,96", ("v",))["v"]
    assert len(both) == len(shapes.SQUARES) + len(shapes.MODELS) + 1  # 8192 once
    assert both[-1] == {"m": 96, "n": 96, "k": 96}
    assert shapes.of_sizes("64x128", ("v", "t")) == {"v": [], "t": [{"m": 64, "n": 128}]}


BAD = f"v,v0,v8192x,v1x2,v1x2x3x4,vbig,v-8,v8 9,v{2**31},t1x2x3,tany:1,vany,vany:,vany:x,vsome:1"


@pytest.mark.parametrize(
    "words", ["v8,,9", "vany:1:0", "vany:1:241", "vany:1:2:3", *BAD.split(",")]
)
def test_no_sizes(words):
    """What is no shape of a track, by its letter, is refused."""
    with pytest.raises(UsageError, match="--sizes"):
        shapes.of_sizes(words[1:], words[0])


# Checksums of the shapes of four seeds.
FAMILIES = {"aligned": 783047010, "any": 1350219640, "rows": 2447616943, "odd": 4107485495}
FAMILIES["small"] = 284496732


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    """A family is the same for ever, since results are recorded of it, and no two seeds share a shape."""
    found = [one for seed in range(1, 5) for one in shapes.of_word(f"{family}:{seed}", "v")]
    assert crc32(repr(found).encode()) == FAMILIES[family]
    assert len({*found}) == 4 * 60 and shapes.of_word(f"{family}:1:3", "v") == tuple(found[:3])


def house(folder, **told):
    """A fake rung that a sweep runs."""
    usual = ["--rounds", 3, "--sizes", "any:1:5", "--steps", "s09"]
    return House(folder, sweep_main, usual, s09=told)


DRAWN = shapes.of_word("any:1:5", "v")
WRONG = {"exit": 1, "out": "WRONG      exact: 1 of 4 differ\n"}
ODD = {shape: f"m={shape[0]} is no multiple" for shape in DRAWN if shape[0] % 7}


SWEPT = {  # what the rung does, and then the processes, and the shapes that failed or were refused
    "wrong at the second": ({"acts": {"1": WRONG}}, 2, DRAWN[1:2], {}),
    "wrong at the last": ({"acts": {"4": WRONG}}, 1, DRAWN[4:], {}),
    "not taken": ({"multiple": 7}, 4, (), ODD),
}


@pytest.mark.parametrize(("told", "processes", "failed", "refused"), SWEPT.values(), ids=SWEPT)
def test_sweep(tmp_path, told, processes, failed, refused):
    """One process measures all shapes; after a shape that fails, or isn't taken, another one goes on."""
    speeds = {"cublaslt": 0.8, "cublaslt_first": 0.5, "tuned": 1.25, "early": 1.5}
    made = house(tmp_path, speeds=speeds, **told)
    said = made.run(status=1 if failed else 0)
    points = {one.shape: one for one in made.runs()}
    assert {*points} == {*DRAWN}
    whys = {shape: one.failed["s09"] for shape, one in points.items() if one.failed}
    assert whys == dict.fromkeys(failed, "exit status 1: WRONG      exact: 1 of 4 differ")
    assert {at: one.refused["s09"] for at, one in points.items() if one.refused} == refused
    assert made.calls().count("runs") == processes
    assert {len(one.seconds("s09")) for one in points.values() if one.measured} == {3}
    of_first, of_best = "of cuBLASLt's first 2.000 (2.000 to 2.000)", "timed, of its best 1.562 ("
    holds(said, of_first, of_best, "untimed regret 1.250 (")
    assert "timed regret" not in said.replace("untimed regret", "")


def test_tuned(tmp_path):
    """With a longer search beside the quick tuner, what the pick loses is said."""
    tune = {"candidates": 8, "seconds": 0.01}
    speeds = {"cublaslt": 0.8, "cublaslt_first": 0.5, "tuned": 1.25, "best": 1.5}
    made = house(tmp_path, speeds=speeds, row={"tune": tune})
    holds(
        made.run(),
        "timed, of its best 1.562 (",
        "; untimed regret 1.500 (",
        "; timed regret 1.200 (",
    )


def test_lean():
    """A record of a sweep has the samples of those that were timed in turn, and nothing of its search."""
    sample = {"seconds": [1, 2], "ghz": 1.5}
    timed = {"step": sample, "tuned": {**sample, "kernel": 3}, "kernel-3": {"seconds": [1]}}
    row = {"step": "s09", "kernel": 5, "digest": "0x0", "timed": timed}
    kept = {"step": {"seconds": [1, 2]}, "tuned": {"seconds": [1, 2], "kernel": 3}}
    assert results.lean(row) == {"step": "s09", "kernel": 5, "timed": kept}
    assert results.lean({"failed": "so"}) == {"failed": "so"}


def test_endings(tmp_path):
    """A machine that cannot run it, bad usage, and a plan; a Ctrl-C keeps the points that are finished."""
    made = house(tmp_path, each={"exit": 77, "err": "s09: needs Hopper\n"})
    assert made.run(status=77).endswith("s09: needs Hopper\n")
    for words in ("--sizes 8192x4", "--steps s09,s07", "--sizes any:1:0"):
        made.run(*words.split(), status=2)
    first, *others = made.run("--dry-run").splitlines()
    holds(first, "s09 --m 9997 --n 3864 --k 24 -", "--heuristics 64", "--protocol burst")
    assert len(others) == 5
    words = made.run("--dry-run", "--kernel", "all", "--tune")
    holds(words, "--heuristics 64 --kernel all --tune\n")
    made = house(tmp_path / "stopped", acts={"2": {"signal": signal.SIGINT, "sleep": 30}})
    holds(made.run(status=130), "any:1:5      2 shapes", "INTERRUPTED")
    assert len(made.runs()) == 2
