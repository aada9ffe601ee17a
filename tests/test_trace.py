#!/usr/bin/env python3
"""Traces of rungs on the emulator are whole and can be true.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import collections
import copy
import functools
import json
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "trace" / "emulated"

from tools import fake_rungs
from tools.fake_rungs import require, run_cases, same

from bench import trace as traces

# The rung, its options, and what comes of them: fills of the ring by the CTA, its stages, and the
# warps (or warpgroups) that are traced.
RUNS = {
    "v04": (("--m", "128", "--n", "128", "--k", "640"), 10, 6, 2),
    "v07": ((), 10, 4, 3),  # two tiles of five k-tiles
    "v12": ((), 10, 4, 3),
    "v15": (("--m", "1024", "--n", "800", "--k", "320"), 40, 5, 3),  # in turns
    "v16": (("--m", "256", "--n", "1000", "--k", "320"), 10, 3, 3),
    "v18": (("--m", "424", "--n", "776", "--k", "312"), 10, 3, 3),  # 256 x 200
    "a02": ((), 0, 0, 8),
    "a05": (("--k", "320"), 11, 2, 8),  # two tiles of five k-tiles, and one that nobody reads
    "t08": ((), 1, 1, 8),
}
IN_TURNS = ("v15",)  # each fill has one reader
POLICIES = ("eager", *(f"random --seed {seed}" for seed in range(1, 5)))
UNDER_ALL = ("v04", "v07", "v12", "a05")  # rungs that are traced under these, too


def run(rung, folder, *options):
    """Traces a rung into the folder; returns the result with captured text."""
    command = (sys.executable, "-m", "bench.trace", PROGRAMS / rung, "--out", folder)
    return fake_rungs.run(*command, *options)


def traced(rung, folder, *options):
    """The record of a run that has to succeed. It may say for how long it emulates."""
    result = run(rung, folder, *options)
    said = re.sub(r".*emulating.*\n", "", result.stderr)
    same((result.returncode, said), (0, ""))
    return traces.load(Path(folder) / f"{rung}-emulator.json")


@functools.cache
def recorded_once(rung):
    """The rung's trace under the policy that `make trace` takes: (record, what a viewer opens)."""
    with tempfile.TemporaryDirectory() as folder:
        record = traced(rung, folder, *RUNS[rung][0])
        viewer = json.loads((Path(folder) / f"{rung}-emulator.perfetto.json").read_text())
        left = sorted(path.name for path in Path(folder).iterdir())
        same(left, [f"{rung}-emulator.json", f"{rung}-emulator.perfetto.json"])
    return record, viewer


def fills_of(record):
    """All fills of its ring, stage by stage."""
    return [fill for stage in traces.stages(traces.Trace(record)) for fill in stage.fills]


# --- whole traces -----------------------------------------------------------------------------


def check_story(rung, record):
    """What the trace tells is what the rung does: a fill lands after it begins, is read once it has
    landed, and begins when the one before was read."""
    _, wanted, stages, warps = RUNS[rung]
    trace, fills = traces.Trace(record), fills_of(record)
    same((len(traces.stages(trace)), len(fills), len(trace.warps)), (stages, wanted, warps))
    readers = [len({reading.warp for reading in fill.readings}) for fill in fills]
    multiply = sum(warp.multiplies for warp in trace.warps)
    same(set(readers) - {0}, {1 if rung in IN_TURNS else multiply or warps} if fills else set())
    require(readers.count(0) <= 1, f"{readers.count(0)} fills are never read")
    for stage in traces.stages(trace):
        read = 0
        for fill in stage.fills:
            require(fill.begin >= read and (fill.landed or fill.begin) >= fill.begin, fill)
            require(all(fill.landed - 1 <= begin for _, begin, _ in fill.readings), fill)
            read = max([fill.begin, *(end for _, _, end in fill.readings if end)])
    for warp in trace.warps:
        require(traces.spans(trace, warp), f"warp {warp.number} does nothing")


def check_slices(viewer):
    """The slices of each track lie side by side: a viewer would show others wrongly."""
    ends = collections.defaultdict(int)  # of each track
    slices = [event for event in viewer["traceEvents"] if event["ph"] == "X"]
    for one in sorted(slices, key=lambda one: one["ts"]):
        begin, end = (round(time * 1000) for time in (one["ts"], one["ts"] + one["dur"]))
        require(begin >= ends[one["tid"]], f"'{one['name']}' at {begin} overlaps")
        ends[one["tid"]] = end


def whole(rung):
    """A test of one rung's trace."""

    def test(folder):
        record, viewer = recorded_once(rung)
        check_story(rung, record)
        trace = traces.Trace(record)
        same((trace.run.gpu, trace.exact), (None, True))
        same(viewer, traces.viewer(trace))
        check_slices(viewer)
        names = [e["args"]["name"] for e in viewer["traceEvents"] if e["name"] == "thread_name"]
        stages = [stage.name for stage in traces.stages(trace)]
        same(names, stages + [trace.title(warp) for warp in trace.warps])
        require("emulated steps" in viewer["otherData"]["time"], viewer["otherData"])
        for policy in POLICIES if rung in UNDER_ALL else ():
            options = (*RUNS[rung][0], "--policy", *policy.split(), "--inputs", "integers")
            check_story(rung, traced(rung, folder, *options))

    under = ", under every policy" if rung in UNDER_ALL else ""
    test.__doc__ = f"{rung}'s trace is whole{under}, and a viewer would take it."
    return test


def names_and_lines(_):
    """Barriers and tiles have the rung's names, and events its lines."""
    trace = traces.Trace(recorded_once("v07")[0])
    shared = [(one["name"], one["count"]) for one in trace.shared]
    same(shared, [(name, 4) for name in ("a", "b", "full", "empty")])
    waits = {trace.name(e.address): trace.source(e.line) for w in trace.warps for e in w.of("wait")}
    same(sorted(waits), [f"{name}[{i}]" for name in ("empty", "full") for i in range(4)])
    require("mbarrier_wait(&smem.full[stage]" in waits["full[2]"], waits)
    require("mbarrier_wait(&smem.empty[stage]" in waits["empty[0]"], waits)
    read = {trace.name(e.other) for warp in trace.warps for e in warp.of("multiply")}
    same(read, {f"b[{i}]" for i in range(4)})
    titles = [trace.title(warp) for warp in trace.warps]
    same(titles, ["warpgroup 0 (producer)"] + [f"warpgroup {i} (consumer)" for i in (1, 2)])
    warps = traces.Trace(recorded_once("v12")[0]).warps
    kinds = ("store", "store commit", "store wait")
    stored = [one for warp in warps for one in traces.in_groups(warp, *kinds)]
    require(len(stored) == 16 and all(done for _, done in stored), stored)


def options_of_a_trace(folder):
    """--cta chooses the CTA; what means nothing here is refused in one line, and nothing is written."""
    same(traced("v07", folder, "--cta", "3")["trace"]["block_index"], [3, 0, 0])
    same(traced("t08", folder, "--cta", "5")["trace"]["block_index"], [2, 1, 0])
    for rung, status, options, words in (
        ("v07", 2, ("--cta", "4"), "v07: --cta 4: this launch has 4 CTAs, numbered from 0\n"),
        ("v07", 2, ("--protocol", "burst"), "timed"),
        ("v07", 2, ("--events", "0"), "must be a whole number from 1"),
        ("v07", 2, ("--m", "100"), "128"),
        ("v07", 2, ("--nothing",), "unknown argument"),
        ("none", 1, (), "build it first"),
    ):
        result = run(rung, Path(folder) / "none", *options)
        same((result.returncode, result.stderr.count("\n")), (status, 1))
        require(words in result.stderr, result.stderr)
    require(not (Path(folder) / "none").exists(), "a refused run left something behind")


def alike_in_turn(folder):
    """Of one run after another, with --runs, each is traced from the beginning."""
    runs = Path(folder) / "runs"
    runs.write_text("--policy\tlazy\n" * 3)
    result = fake_rungs.run(PROGRAMS / "v07", "--runs", runs)
    said = re.findall("^traced .*", result.stdout, re.MULTILINE)
    same((result.returncode, len(said), len(set(said))), (0, 3, 1))


def less_than_all(folder):
    """Where the room ends the trace ends for all warps, and is not complete."""
    full, path = recorded_once("v07")[0], Path(folder) / "v07-emulator.json"
    same(run("v07", folder, "--events", "30").returncode, 0)
    trace, full = (traces.Trace(row) for row in (traces.load(path), full))
    require(0 < trace.end < full.end, trace.end)
    same((trace.complete, full.complete), (False, True))


# --- as on a GPU ------------------------------------------------------------------------------


def gpu_record(_):
    """The same story comes of a record as a GPU makes it, where nobody tells of operations; without
    landings from waits alone."""
    for rung in ("v04", "v07", "v12"):
        record = copy.deepcopy(recorded_once(rung)[0])
        exact, barriers = fills_of(record), {e.address for e in traces.Trace(record).of("load")}
        told = record["trace"]
        told |= {"time_unit": "SM cycles", "operations": []}
        seen = [fill for fill in exact if fill.landed is not None]
        landed = [
            ["landed", fill.landed - 1, fill.landed, 0, sorted(barriers)[fill.stage], 0, 0, 0]
            for fill in seen
        ]
        told["warps"][0]["events"][:0] = landed
        if rung != "v12":  # nobody tells of a peer's loads
            for one, other in zip(fills_of(record), exact):
                same((one.begin, one.landed, one.taken), (other.begin, other.landed, other.taken))
        del told["warps"][0]["events"][: len(landed)]
        for fill, guess in zip(exact, fills_of(record)):
            require(guess.landed is None or guess.landed >= fill.landed, (fill, guess))


# --- ordinary programs ------------------------------------------------------------------------


def nothing_in_ordinary_programs(_):
    """No ordinary build reads a word of the trace, and no rung or device header has one."""
    lists = [*ROOT.glob("build/emulated/*.o.d"), *ROOT.glob("build/steps/*.o.d")]
    require(lists, "no rung was built")
    for path in lists:
        require("trace/" not in path.read_text().replace(str(ROOT), ""), f"{path} names a trace")
    traced_list = (PROGRAMS / "v07.o.d").read_text()
    require("common/trace/hooks.cuh" in traced_list, "the traced rung is not traced")
    for path in (*ROOT.glob("steps/*.cu"), *ROOT.glob("common/device/*.*")):
        text = path.read_text(encoding="utf-8")
        require(not re.search(r"\btrace", text, re.IGNORECASE), f"{path.name} speaks of traces")


TESTS = [
    *map(whole, RUNS),
    names_and_lines,
    options_of_a_trace,
    alike_in_turn,
    less_than_all,
    gpu_record,
    nothing_in_ordinary_programs,
]


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("trace", TESTS))
