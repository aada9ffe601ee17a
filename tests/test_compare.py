"""bench/compare.py over made-up ladders and over recorded ones."""

from tools import made_runs
from tools.fake_rungs import bench, holds

from bench import results
from bench.compare import compare_main

CUBE = (256,) * 3


def ladder(path, speeds, noise=0, shape=CUBE, **how):
    """Writes a ladder of rungs with these speeds as multiples of cuBLAS's, or why they have none."""
    for name, speed in speeds.items():
        if isinstance(speed, dict):  # failed or refused
            results.append(path, made_runs.row(name, None, shape, rounds=3, **speed, **how))
            continue
        own = {"seconds": [1e-4 / speed * (1 + noise * i) for i in range(3)]}
        timed = {"step": own, made_runs.OTHERS[name[0]][0]: {"seconds": [1e-4] * 3}}
        results.append(path, made_runs.row(name, timed, shape, rounds=3, **how))
    return path


def test_agree(tmp_path):
    """Two equal runs agree, and it is said within what."""
    old = ladder(tmp_path / "old", {"v01": 1, "v02": 0.8})
    said = bench(compare_main, old, ladder(tmp_path / "new", {"v01": 1.003, "v02": 0.8}))
    holds(said, "v01   1.0000 ±.0001  1.0030 ±.0001  1.0030", "burst: ratio to cuBLAS: ")
    holds(said, "largest disagreement: v01 0.30 %, v02 0.00 %", "no regression over 1 %")
    holds(said, "the two runs agree within 0.30 % (v01 at 256x256x256 burst)")
    assert "differ" not in said


def test_regression(tmp_path):
    """A rung that is over 1 % slower is a regression, also within the spread, and so is one that has no
    result any more; other GPUs and commits, and who is new or gone, are told."""
    failed, refused = {"failed": "exit 1: broken"}, {"refused": "m is no multiple"}
    olds = {"v01": 1, "v02": 1, "v03": 1, "v04": 1, "v05": 1, "v07": 1, "v09": failed}
    news = {"v01": 0.991, "v02": 0.98, "v03": 2, "v04": failed, "v05": refused, "v08": 1}
    old, new = ladder(tmp_path / "old", olds), tmp_path / "new"
    ladder(old, {"v06": 1}, noise=0.1)
    for speeds, noise in ((news, 0), ({"v06": 0.98}, 0.1), ({"v09": failed}, 0)):
        ladder(new, speeds, noise, gpu=made_runs.H100, commit="def5678")
    said = bench(compare_main, old, new, status=1)
    at = "at 256x256x256 burst"
    holds(said, *(f"REGRESSION: {name} {at}: 0.9800 of what it was" for name in ("v02", "v06")))
    holds(said, f"REGRESSION: v04 {at}: failed: exit 1: broken", "faster", "commit def5678")
    holds(said, f"REGRESSION: v05 {at}: does not take this shape", "v09   OLD failed: exit 1")
    holds(said, "v07   OLD 1.0000; NEW was not run", "v08   OLD was not run; NEW 1.0000")
    holds(said, "the GPUs differ in name: NVIDIA H200 and NVIDIA H100 80GB HBM3", "commit abc1234")
    assert said.count("REGRESSION: ") == 4
    assert said.count("REGRESSION; within the spread: measure again") == 1


def test_foreign(tmp_path):
    """Other shapes or protocols are not compared: it is said what differs, or what is in one alone."""
    old = ladder(tmp_path / "old", {"v01": 1})
    for name, how, differs in (
        ("v01", {"shape": (512, 256, 256)}, "m: 256 and 512"),
        ("v01", {"protocol": "sustained"}, "protocol: burst and sustained"),
        ("t02", {"shape": (256, 256)}, "computation: gemm_bf16 and transpose_fp32"),
    ):
        new = ladder(tmp_path / differs[:1], {name: 1}, **how)
        holds(bench(compare_main, old, new, status=2), "no ladder in common", differs)
    ladder(new, {"v01": 1})
    ladder(old, {"v01": 1}, protocol="sustained")
    said = bench(compare_main, old, new)
    holds(said, "256x256x256 sustained is in OLD alone", "256x256 burst is in NEW alone")


def test_unreadable(tmp_path):
    """A file that is missing, cut or without times is named."""
    good, bad = results.RESULTS / results.HOME / "burst.jsonl", tmp_path / "bad.jsonl"
    holds(bench(compare_main, good, bad, status=2), str(bad), "No such file")
    counters = (results.RESULTS / results.HOME / "counters.jsonl").read_text()
    for text, why in ((good.read_text()[:99], "line 1: not a row"), (counters, "no times")):
        bad.write_text(text)
        holds(bench(compare_main, good, bad, status=2), str(bad), why)
