"""Traces of rungs on the emulator are whole and can be true."""

import collections
import json

import pytest

from tools import BUILD
from tools.fake_rungs import bench

from bench import trace as traces

PROGRAMS = BUILD / "emulated"
# The rung, its options, and what comes of them: fills of the ring by the CTA, its stages, the warps
# (or warpgroups) that are traced, and the warps that read a fill.
RUNS = {
    "v04": ("--m 128 --n 128 --k 640", 10, 6, 2, 1),
    "v07": ("", 10, 4, 3, 2),  # two tiles of five k-tiles
    "v08": ("--m 512 --n 512", 10, 4, 3, 2),  # clusters: half of each fill comes from the other CTA
    "v12": ("", 10, 4, 3, 2),
    "v15": ("--m 1024 --n 800 --k 320", 40, 5, 3, 1),  # in ping-pong: each fill has one reader
    "v16": ("--m 256 --n 1000 --k 320", 10, 3, 3, 2),
    "a05": ("--k 320", 0, 0, 8, 0),  # threads fill its ring
    "t08": ("", 1, 1, 8, 8),
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


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize(("rung", "policy"), CASES)
def test_story(tmp_path, rung, policy):
    """What the trace tells is what the rung does: a fill lands after it begins, is read once it has landed,
    and begins when the one before was read. A viewer would take it."""
    options, wanted, stages, warps, readers = RUNS[rung]
    more = ("--policy", *policy.split(), "--inputs", "integers") if policy else ()
    record, viewer = traced(tmp_path, rung, *options.split(), *more)
    trace = traces.Trace(record)
    found = traces.stages(trace)
    fills = [fill for stage in found for fill in stage.fills]
    assert (len(found), len(fills), len(trace.warps)) == (stages, wanted, warps)
    assert {len({reading.warp for reading in fill.readings}) for fill in fills} <= {readers}
    for stage in found:
        read = 0
        for fill in stage.fills:
            assert read <= fill.begin < fill.landed <= fill.taken + 1 and fill.taken < fill.done
            read = fill.done
    assert all(traces.spans(trace, warp) for warp in trace.warps)
    assert viewer == traces.viewer(trace)
    slices = sorted((e for e in viewer["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"])
    ends = collections.Counter()  # of each track; a viewer would show others than these wrongly
    for one in slices:
        assert one["ts"] >= ends[one["tid"]] - 1e-9, one
        ends[one["tid"]] = one["ts"] + one["dur"]
    names = [e["args"]["name"] for e in viewer["traceEvents"] if e["name"] == "thread_name"]
    assert names == [stage.name for stage in found] + [trace.title(warp) for warp in trace.warps]


@pytest.mark.needs("emulated/v07", "emulated/v12")
def test_names_and_lines(tmp_path):
    """Barriers have the rung's names, and events its lines."""
    trace = traces.Trace(traced(tmp_path / "v07", "v07")[0])
    waits = {
        e.carrier: trace.source(e.line) for w in trace.warps for e in w.events if e.what == "waits"
    }
    rings = {f"{name}[{i}]" for name in ("empty", "full") for i in range(4)}
    assert rings <= {name.partition(",")[0] for name in waits}
    assert "mbarrier_wait(&smem.full[stage]" in waits["full[2], phase 0"]
    told = [words for *_, words in traces.told_of(trace.warps[1])]
    assert {"starts 4 wgmma m64n256k16", "arrives: empty[2], phase 1"} <= {*told}
    assert trace.title(trace.warps[0]) == "warpgroup 0 (producer)"
    stores = traces.Trace(traced(tmp_path / "b", "v12")[0])
    begun = [e for w in stores.warps for e in w.events if e.what == "starts a TMA store"]
    assert len(begun) == 16 and "writes: shared memory" in told_by(stores)


def told_by(trace):
    """All that its warps did, in words."""
    return {words for warp in trace.warps for *_, words in traces.told_of(warp)}


@pytest.mark.needs("emulated/v07", "emulated/t08")
def test_options(tmp_path):
    """--cta chooses the CTA; what means nothing here is refused, and nothing is written."""
    for rung, cta in (("v07", 3), ("t08", 5)):
        assert traced(tmp_path / rung, rung, "--cta", cta)[0]["trace"]["cta"] == cta
    cases = ("--cta 4", "--cta -1", "--protocol burst", "--m 100", "--no")
    for rung, words, status in (*(("v07", words, 2) for words in cases), ("none", "", 1)):
        command = [PROGRAMS / rung, "--out", tmp_path / "none", *words.split()]
        bench(traces.trace_main, *command, status=status)
        assert not (tmp_path / "none").exists()
