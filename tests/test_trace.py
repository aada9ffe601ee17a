#!/usr/bin/env python3
"""Traces of rungs on the emulator are whole and can be true, and a damaged one is refused.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "trace" / "emulated"
TRACE = ("-m", "bench.trace")
MOST_BYTES = 200_000  # of a record that is kept

from tools.fake_rungs import refused, require, run_cases, same

from bench import chrome_trace
from bench.records import recorded, traces

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
QUICK = ("--inputs", "integers")  # one check in place of two
POLICIES = ("eager", "newest-first", "late-loads", "random --seed 1", "random --seed 2")


def run(rung, folder, *options):
    """Traces a rung into the folder; returns the result with captured text."""
    command = [sys.executable, *TRACE, str(PROGRAMS / rung), "--out", str(folder), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


def traced(rung, folder, *options):
    """The record of a run that has to succeed."""
    result = run(rung, folder, *options)
    same((result.returncode, result.stderr.replace(progress(result), "")), (0, ""))
    return recorded.load_record(Path(folder) / f"{rung}-emulator.json")


def progress(result):
    """What a program says on stderr if it takes more than two seconds."""
    found = re.search(r"^.*emulating.*\n", result.stderr, re.MULTILINE)
    return found[0] if found else ""


@functools.cache
def recorded_once(rung):
    """The rung's trace under the policy that `make trace` takes: (record, what a viewer opens)."""
    with tempfile.TemporaryDirectory() as folder:
        record = traced(rung, folder, *RUNS[rung][0])
        viewer = json.loads((Path(folder) / f"{rung}-emulator.perfetto.json").read_text())
        left = sorted(path.name for path in Path(folder).iterdir())
        same(left, [f"{rung}-emulator.json", f"{rung}-emulator.perfetto.json"])
    return record, viewer


# --- whole traces -----------------------------------------------------------------------------


def check_story(rung, record):
    """What the trace tells is what the rung does."""
    _, fills, stages, warps = RUNS[rung]
    trace = traces.Trace(record)
    found = traces.stages(trace)
    same((len(found), sum(len(stage.fills) for stage in found)), (stages, fills))
    same(len(record["warps"]), warps)
    read = [fill for stage in found for fill in stage.fills if fill.readings]
    require(len(read) >= fills - 1, f"{fills - len(read)} fills are never read")
    for stage in found:
        for fill in stage.fills:
            numbers = {reading.warp for reading in fill.readings}
            multiply = sum(warp.multiplies for warp in trace.warps)
            wanted = 1 if rung in IN_TURNS else multiply or len(trace.warps)
            require(not numbers or len(numbers) == wanted, f"only warps {numbers} read a fill")
    for warp in trace.warps:
        require(traces.spans(trace, warp), f"warp {warp.number} does nothing")


def check_viewer(record, viewer):
    """The viewer's file shows the stages, the warps and what is on its way."""
    chrome_trace.check(viewer)
    same(viewer, chrome_trace.export(traces.Trace(record)))
    names = [e["args"]["name"] for e in viewer["traceEvents"] if e["name"] == "thread_name"]
    trace = traces.Trace(record)
    wanted = [stage.name for stage in traces.stages(trace)] + [trace.title(w) for w in trace.warps]
    same(names, wanted)
    phases = {event["ph"] for event in viewer["traceEvents"]}
    require({"M", "X"} <= phases, f"only {phases}")
    require(record["time"]["unit"] in viewer["otherData"]["time"], viewer["otherData"])


def whole(rung):
    """A test of one rung's trace."""

    def test(_):
        record, viewer = recorded_once(rung)
        check_story(rung, record)
        check_viewer(record, viewer)
        size = len(json.dumps(record))
        require(size < MOST_BYTES, f"{size} bytes")
        same((record["gpu"], record["time"]["unit"]), (None, "emulated steps"))

    test.__doc__ = f"{rung}'s trace is whole, and a viewer would take it."
    return test


def policies(rung):
    """A test of one rung under other orders of events."""

    def test(folder):
        for policy in POLICIES:
            options = (*RUNS[rung][0], "--policy", *policy.split(), *QUICK)
            check_story(rung, traced(rung, folder, *options))

    test.__doc__ = f"{rung}'s traces are whole under other policies."
    return test


def names_and_lines(_):
    """Barriers and tiles have the rung's names, and events its lines."""
    record, _ = recorded_once("v07")
    same([one["name"] for one in record["shared"]], ["a", "b", "full", "empty"])
    same([one["count"] for one in record["shared"]], [4] * 4)
    trace = traces.Trace(record)
    waits = {trace.name(e.address): trace.source(e.line) for w in trace.warps for e in w.of("wait")}
    same(sorted(waits), [f"{name}[{i}]" for name in ("empty", "full") for i in range(4)])
    require("mbarrier_wait(&smem.full[stage]" in waits["full[2]"], waits)
    require("mbarrier_wait(&smem.empty[stage]" in waits["empty[0]"], waits)
    multiplies = [e for warp in trace.warps for e in warp.of("multiply")]
    same({trace.name(e.other) for e in multiplies}, {f"b[{i}]" for i in range(4)})
    titles = [trace.title(warp) for warp in trace.warps]
    same(titles, ["warpgroup 0 (producer)"] + [f"warpgroup {i} (consumer)" for i in (1, 2)])
    stored = traces.stores(traces.Trace(recorded_once("v12")[0]))
    require(len(stored) == 16 and all(done for *_, done in stored), stored)


def another_cta(folder):
    """--cta chooses the CTA, and one that the launch does not have is refused."""
    same(traced("v07", folder, "--cta", "3")["launch"]["block_index"], [3, 0, 0])
    same(traced("t08", folder, "--cta", "5")["launch"]["block_index"], [2, 1, 0])
    result = run("v07", Path(folder) / "none", "--cta", "4")
    same((result.returncode, (Path(folder) / "none").exists()), (2, False))
    same(result.stderr, "v07: --cta 4: this launch has 4 CTAs, numbered from 0\n")


def refused_options(folder):
    """Options that mean nothing here are refused in one line; an ordinary rung traces nothing."""
    for options, words in (
        (("--protocol", "burst"), "a traced rung is not timed"),
        (("--events", "0"), "must be a whole number from 1"),
        (("--m", "100"), "128"),
        (("--nothing",), "unknown argument"),
    ):
        result = run("v07", folder, *options)
        same((result.returncode, result.stderr.count("\n")), (2, 1))
        require(words in result.stderr, result.stderr)
    result = run("none", folder)
    require(result.returncode == 1 and "build it first" in result.stderr, result.stderr)
    same(list(Path(folder).iterdir()), [])


def fewer_fills(folder):
    """--fills keeps the first ones, whole; the rest is counted."""
    record = traced("v07", folder, "--fills", "5")
    trace = traces.Trace(record)
    fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
    require(sum(fill.done is not None for fill in fills) >= 5, fills)
    require(len(fills) < 10 and record["events_left_out"] > 0, record["events_left_out"])


def little_room(folder):
    """Where the room ends the trace ends for all warps, and what is missing is counted."""
    full = recorded_once("v07")[0]
    result = run("v07", folder, "--events", "30")
    require("not kept" in result.stdout and "left out" in result.stdout, result.stdout)
    record = recorded.load_record(Path(folder) / "v07-emulator.json")
    require(record["time"]["end"] < full["time"]["end"], record["time"])
    whole = sum(len(warp["events"]["what"]) for warp in full["warps"])
    kept = sum(len(warp["events"]["what"]) for warp in record["warps"])
    same(kept + record["events_left_out"], whole)


# --- damaged traces ---------------------------------------------------------------------------


def first(record, warp, what, number=0):
    """(events, index) of a warp's event of that kind."""
    events = record["warps"][warp]["events"]
    found = [i for i, code in enumerate(events["what"]) if traces.WHATS[code] == what]
    return events, found[number]


def set_to(warp, what, column, value, number=0):
    """A damage: another value in one event."""

    def damage(record):
        events, index = first(record, warp, what, number)
        old, stage = events[column][index], record["shared"][0]["bytes"]
        events[column][index] = value(old, stage) if callable(value) else value

    return damage


def without(warp, what, number=0):
    """A damage: one event is gone."""

    def damage(record):
        events, index = first(record, warp, what, number)
        for column in events.values():
            del column[index]

    return damage


def operation(change):
    """A damage: change(operations, the trace's end)."""
    return lambda record: change(record["operations"], record["time"]["end"])


def read_longer(record):
    """A damage: the stage is still read when the producer fills it again."""
    again = traces.stages(traces.Trace(record))[0].fills[1].begin
    operations = record["operations"]
    multiplies = [i for i, k in enumerate(operations["kind"]) if traces.OPERATIONS[k] == "multiply"]
    events, index = first(record, 1, "multiply")
    mine = [i for i in multiplies if operations["warp"][i] // 4 == 1]
    operations["happened"][mine[events["value"][index] - 1]] = again + 1


def field(path, value):
    """A damage: another value at a.b.c."""

    def damage(record):
        *way, last = path.split(".")
        inner = record
        for key in way:
            inner = inner[int(key) if key.isdigit() else key]
        inner[last] = value

    return damage


# What is damaged, and what the refusal says.
DAMAGES = (
    (field("schema", 2), "schema: 2"),
    (field("time.unit", "seconds"), "time.unit"),
    (field("warps.0.warp", 5), "warps: not in order"),
    (field("whats", ["wait"]), "whats: other names"),
    (field("shared.0.bytes", 0), "shared[0].bytes"),
    (field("remark", "mine"), "remark: is no field"),
    (
        lambda record: record["warps"][1]["events"]["line"].pop(),
        "warps[1].events: columns of different lengths",
    ),
    (set_to(1, "wait", "what", 99), "stands for none of"),
    (set_to(1, "wait", "begin", 10**6), "ends before it begins"),
    (set_to(1, "wait", "end", 10**6), "behind the trace's end"),
    (set_to(2, "arrive", "begin", 0), "the end of what precedes it"),
    (set_to(1, "wait", "value", 1), "twice in a row: phases alternate"),
    (set_to(0, "wait", "value", 3), "waits for parity 3 of empty[0]"),
    (set_to(0, "wait", "address", 1024), "which is no mbarrier"),
    (
        set_to(1, "multiply", "address", lambda old, bytes_: old + bytes_),
        "reads a[1], and the warp waited for stage 0",
    ),
    (without(1, "multiply"), "a multiply wait, and no multiply came before it"),
    (without(1, "wait", 4), "phases alternate"),
    (
        operation(lambda table, _: [column.clear() for column in table.values()]),
        "has no end: it never landed",
    ),
    # It happened before it was started; the second fill's load landed when it had long been read.
    (operation(lambda table, _: table["happened"].__setitem__(0, 0)), "before it was started"),
    (operation(lambda table, end: table["happened"].__setitem__(3, end)), "it had not landed"),
    (read_longer, "while warp 4 reads the stage"),
)


def damaged(folder):
    """A damaged trace is refused, and the message says what cannot be."""
    record, _ = recorded_once("v07")
    for index, (damage, words) in enumerate(DAMAGES):
        path = Path(folder) / f"{index}.json"
        broken = copy.deepcopy(record)
        damage(broken)
        path.write_text(json.dumps(broken))
        message = refused(words, recorded.load_record, path)
        require(message.startswith(f"{path}: "), message)


# --- as on a GPU ------------------------------------------------------------------------------


def like_a_gpu(rung):
    """A made-up record: what a GPU would have written, where nobody tells of operations."""
    record = copy.deepcopy(recorded_once(rung)[0])
    fills = [f for s in traces.stages(traces.Trace(record)) for f in s.fills]
    barriers = traces.load_barriers(traces.Trace(record))
    seen = [f for f in fills if f.landed is not None]
    record["landed"] = {
        "barrier": [barriers[fill.stage] for fill in seen],
        "after": [fill.landed - 1 for fill in seen],
        "by": [fill.landed for fill in seen],
    }
    for column in record["operations"].values():
        del column[:]
    record["time"].update(unit="SM cycles", policy=None, cycles=1700, nanoseconds=1000)
    gpu = dict.fromkeys(("power_limit_watts", "driver", "cuda", "cublas"))
    record["gpu"] = {"name": "NVIDIA H200", "compute_capability": "9.0", "sms": 132, **gpu}
    return record


def gpu_record(folder):
    """The same story comes of a record as a GPU makes it; without landings from waits alone."""
    for rung in ("v04", "v07", "v12"):
        record = like_a_gpu(rung)
        path = Path(folder) / f"{rung}.json"
        recorded.write_json(path, record)
        exact = traces.stages(traces.Trace(recorded_once(rung)[0]))
        seen = traces.stages(traces.Trace(recorded.load_record(path)))
        if rung != "v12":  # nobody tells of a peer's loads
            one, other = (
                [[(f.begin, f.landed, f.taken) for f in stage.fills] for stage in both]
                for both in (seen, exact)
            )
            same(one, other)
        for column in record["landed"].values():
            del column[:]
        recorded.check(record)
        later = traces.stages(traces.Trace(record))
        for one, other in zip(exact, later):
            for fill, guess in zip(one.fills, other.fills):
                require(guess.landed is None or guess.landed >= fill.landed, (fill, guess))
    record = like_a_gpu("v07")  # a landing that is another fill's, at the end, is refused
    record["landed"]["after"][0] = record["landed"]["by"][0] = record["time"]["end"]
    refused("has landed twice", recorded.check, record)


# --- ordinary programs ------------------------------------------------------------------------


def nothing_in_ordinary_programs(_):
    """No ordinary build reads a word of the trace, and no rung or device header has one."""
    lists = [*ROOT.glob("build/emulated/*.o.d"), *ROOT.glob("build/steps/*.o.d")]
    require(lists, "no rung was built")
    for path in lists:
        require("trace/" not in path.read_text().replace(str(ROOT), ""), f"{path} names a trace")
    traced_list = (PROGRAMS / "v07.o.d").read_text()
    require("common/trace/hooks.cuh" in traced_list, "the traced rung is not traced")
    sources = [*ROOT.glob("steps/*.cu"), *ROOT.glob("common/device/*")]
    for path in sources:
        text = path.read_text(encoding="utf-8")
        require(not re.search(r"\btrace", text, re.IGNORECASE), f"{path.name} speaks of traces")


TESTS = [
    *map(whole, RUNS),
    *map(policies, ("v04", "v07", "v12", "a05")),
    names_and_lines,
    another_cta,
    refused_options,
    fewer_fills,
    little_room,
    damaged,
    gpu_record,
    nothing_in_ordinary_programs,
]


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("trace", TESTS))
