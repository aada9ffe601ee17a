"""Traces of rungs on the emulator are whole and can be true."""

import collections
import json
import re

import pytest

from tools import BUILD, call
from tools.fake_rungs import bench

from bench import trace as traces

pytestmark = pytest.mark.cached("bench/**/*.py", "build/emulated/harness/trace/*.o")
PROGRAMS = BUILD / "trace" / "emulated"
# The rung, its options, and what comes of them: fills of the ring by the CTA, its stages, and the
# warps (or warpgroups) that are traced.
RUNS = {
    "v04": ("--m 128 --n 128 --k 640", 10, 6, 2),
    "v07": ("", 10, 4, 3),  # two tiles of five k-tiles
    "v12": ("", 10, 4, 3),
    "v15": ("--m 1024 --n 800 --k 320", 40, 5, 3),  # in ping-pong: each fill has one reader
    "v16": ("--m 256 --n 1000 --k 320", 10, 3, 3),
    "a05": ("--k 320", 0, 0, 8),  # threads fill its ring
    "t08": ("", 1, 1, 8),
}
POLICIES = ("eager", *(f"random --seed {seed}" for seed in range(1, 5)))
CASES = [(rung, "") for rung in RUNS]
CASES += [(rung, policy) for rung in ("v04", "v07", "v12") for policy in POLICIES]


def traced(folder, rung, *words):
    """The record of a traced run, by default its usual one, and what a viewer opens."""
    words = words or RUNS[rung][0].split()
    bench(traces.trace_main, PROGRAMS / rung, "--out", folder, *words)
    names = [folder / f"{rung}-emulator{suffix}.json" for suffix in ("", ".perfetto")]
    assert sorted(folder.iterdir()) == names
    return tuple(json.loads(path.read_text()) for path in names)


def fills_of(record):
    """All fills of its ring, stage by stage."""
    return [fill for stage in traces.stages(traces.Trace(record)) for fill in stage.fills]


def as_of_a_gpu(record):
    """The fills of a record as a GPU makes it, which tells of no operations."""
    record["trace"] |= {"time_unit": "SM cycles", "operations": []}
    return fills_of(record)


@pytest.mark.needs("trace/emulated/{rung}")
@pytest.mark.parametrize(("rung", "policy"), CASES)
def test_story(tmp_path, rung, policy):
    """What the trace tells is what the rung does: a fill lands after it begins, is read once it has landed,
    and begins when the one before was read. A viewer would take it."""
    options, wanted, stages, warps = RUNS[rung]
    more = ("--policy", *policy.split(), "--inputs", "integers") if policy else ()
    record, viewer = traced(tmp_path, rung, *options.split(), *more)
    trace, fills = traces.Trace(record), fills_of(record)
    found = traces.stages(trace)
    assert (len(found), len(fills), len(trace.warps)) == (stages, wanted, warps)
    readers = [len({reading.warp for reading in fill.readings}) for fill in fills]
    multiply = sum(warp.multiplies for warp in trace.warps)
    assert {*readers} - {0} == ({1 if rung == "v15" else multiply or warps} if fills else set())
    assert readers.count(0) <= 1
    for stage in found:
        read = 0
        for fill in stage.fills:
            assert fill.begin >= read and (fill.landed or fill.begin) >= fill.begin
            assert all(fill.landed - 1 <= begin for _, begin, _ in fill.readings)
            read = max([fill.begin, *(end for _, _, end in fill.readings if end)])
    assert all(traces.spans(trace, warp) for warp in trace.warps)
    assert (trace.run.gpu, trace.exact, viewer) == (None, True, traces.viewer(trace))
    slices = sorted((e for e in viewer["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"])
    ends = collections.Counter()  # of each track; a viewer would show others than these wrongly
    for one in slices:
        assert one["ts"] >= ends[one["tid"]] - 1e-9, one
        ends[one["tid"]] = one["ts"] + one["dur"]
    names = [e["args"]["name"] for e in viewer["traceEvents"] if e["name"] == "thread_name"]
    assert names == [stage.name for stage in found] + [trace.title(warp) for warp in trace.warps]
    if not policy and rung in ("v04", "v07", "v12"):
        for exact, guess in zip(fills, as_of_a_gpu(record)):
            assert guess.landed is None or guess.landed >= exact.landed


@pytest.mark.needs("trace/emulated/v07", "trace/emulated/v12")
def test_names_and_lines(tmp_path):
    """Barriers and tiles have the rung's names, and events its lines. Where the room
    ends the trace ends for all warps."""
    trace = traces.Trace(traced(tmp_path / "v07", "v07")[0])
    shared = [(one["name"], one["count"]) for one in trace.shared]
    assert shared == [(name, 4) for name in ("a", "b", "full", "empty")]
    waits = {trace.name(e.address): trace.source(e.line) for w in trace.warps for e in w.of("wait")}
    assert sorted(waits) == [f"{name}[{i}]" for name in ("empty", "full") for i in range(4)]
    assert "mbarrier_wait(&smem.full[stage]" in waits["full[2]"]
    read = {trace.name(e.other) for warp in trace.warps for e in warp.of("multiply")}
    assert read == {f"b[{i}]" for i in range(4)}
    assert trace.title(trace.warps[0]) == "warpgroup 0 (producer)"
    cut = traces.Trace(traced(tmp_path / "cut", "v07", "--events", 30)[0])
    assert 0 < cut.end < trace.end and (cut.complete, trace.complete) == (False, True)
    stores = traces.Trace(traced(tmp_path / "b", "v12")[0]).of("store")
    assert len(stores) == 16


@pytest.mark.needs("trace/emulated/v07", "trace/emulated/t08")
def test_options(tmp_path):
    """--cta chooses the CTA. Of one run after another, with --runs, each is traced from the beginning."""
    for rung, cta, index in (("v07", 3, [3, 0, 0]), ("t08", 5, [2, 1, 0])):
        record, _ = traced(tmp_path / rung, rung, "--cta", cta)
        assert record["trace"]["block_index"] == index
    (tmp_path / "runs").write_text("--policy\tlazy\n" * 3)
    ended = call(PROGRAMS / "v07", "--runs", tmp_path / "runs", ends_well=True)
    found = re.findall("^traced .*", ended.stdout, re.MULTILINE)
    assert (len(found), len({*found})) == (3, 1)


@pytest.mark.needs("trace/emulated/v07")
def test_refuses(tmp_path):
    """What means nothing here is refused, and nothing is written; nor without a program."""
    cases = ("--cta 4", "--protocol burst", "--events 0", "--m 100", "--no")
    for rung, words, status in (*(("v07", words, 2) for words in cases), ("none", "", 1)):
        command = [PROGRAMS / rung, "--out", tmp_path / "none", *words.split()]
        bench(traces.trace_main, *command, status=status)
        assert not (tmp_path / "none").exists()
