#!/usr/bin/env python3
"""Runs a rung on the emulator, and records what the warps of one CTA did, and in which order.

    python3 -m bench.trace build/emulated/v07 [--cta C] [--out DIR] [the rung's]

`make trace N=7` builds the program and calls this. Two files are written to DIR: v07-emulator.json,
the trace, from which `make plots RESULTS=that` draws a picture (bench/traces/README.md describes
it), and v07-emulator.perfetto.json, which https://ui.perfetto.dev and chrome://tracing open. Times
are steps: they tell what came before what, and no length means anything.

Exit status: the program's if it isn't 0; 0 written, 1 a file could not be written, 2 bad usage.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import namedtuple
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from pathlib import Path

from bench import run
from bench.results import ROOT, Run, write_whole

TRACES = ROOT / "bench" / "traces"
# What a warp did, or an operation that it started: from `begin` to `end`, in a line of the rung.
# `what` and `carrier` are the emulator's words, such as "waits" and "full[2], phase 0".
Event = namedtuple("Event", "kind warp begin end line what carrier")
# A warp reads a stage; the end is None if nothing tells it.
Reading = namedtuple("Reading", "warp begin end")
# One row of the picture: a stage's name and its fills, in order.
Stage = namedtuple("Stage", "name fills")
SPANS = {"waits": "waits", "syncs": "waits", "expects": "loads", "starts a TMA load": "loads"}
SPANS |= {"starts a TMA store": "stores", "writes": "stores"}


@dataclass
class Fill:
    """One pass of a stage: it is filled, and then read."""

    begin: int
    landed: int
    readings: list = field(default_factory=list)

    @property
    def taken(self):
        """When the first warp begins to read it, or None."""
        return min((reading.begin for reading in self.readings), default=None)

    @property
    def done(self):
        """When the last warp has read it, or None: not within the trace."""
        ends = [reading.end for reading in self.readings]
        return max(ends) if ends and None not in ends else None


def natural(name):
    """A key that sorts full[2] before full[10]."""
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


class Warp:
    """A warp's events, in order. `ends`: when each wgmma was complete."""

    def __init__(self, number, events, ends):
        self.number, self.events = number, events
        self.loads = any(event.what == "starts a TMA load" for event in events)
        self.wgmmas = [(e.begin, ends[e.carrier]) for e in events if e.carrier in ends]


class Trace:
    """A recorded trace, taken apart: a row of the rung's program, and lines of its source."""

    def __init__(self, row):
        self.row, self.launch, self.lines = row, row["trace"], row["source"]
        self.run = Run(row["context"])
        self.run.add(row)
        events = [Event(*event) for event in self.launch["events"]]
        self.end = max((event.end for event in events), default=0)
        self.loads, multiplies = ([e for e in events if e.kind == k] for k in ("load", "multiply"))
        self.grouped = bool(multiplies)  # by warpgroup: of each there is one warp
        ends = {event.carrier: event.end for event in multiplies}
        told = sorted((e for e in events if e.kind == "warp"), key=lambda e: (e.warp, e.end))
        self.warps = [
            Warp(number, list(own), ends)
            for number, own in groupby(told, key=lambda event: event.warp)
        ]

    def source(self, line):
        """The line of the rung, or an empty text."""
        return self.lines.get(str(line), "")

    def title(self, warp):
        """'warpgroup 1 (consumer)' or 'warp 3'."""
        if not self.grouped:
            return f"warp {warp.number}"
        specialised = any(other.loads and not other.wgmmas for other in self.warps)
        role = "producer" if warp.loads else "consumer"
        return f"warpgroup {warp.number // 4}" + (f" ({role})" if specialised else "")


def load(path):
    """A recorded trace, as Trace takes it."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


# --- stages and spans ---------------------------------------------------------------------------


def readings_of(warp, fills):
    """(fill, how the warp reads it): after its wait for the fill, until it waits for another; by wgmmas
    or, without any, by plain accesses before the next barrier."""
    waits = [e for e in warp.events if e.what == "waits" and e.carrier in fills]
    for wait, after in zip(waits, [*waits[1:], None]):
        until = after.begin if after else float("inf")
        found = [one for one in warp.wgmmas if wait.end <= one[0] < until]
        if found:
            yield fills[wait.carrier], Reading(warp.number, found[0][0], found[-1][1])
        elif not warp.wgmmas:
            behind = (e.begin for e in warp.events if e.what == "syncs" and e.begin >= wait.end)
            end = next((begin for begin in behind if begin < until), None)
            yield fills[wait.carrier], Reading(warp.number, wait.end, end)


def stages(trace):
    """The stages of the ring that TMA fills; empty if there is none."""
    fills = {}  # by mbarrier and phase
    for one in trace.loads:
        fill = fills.setdefault(one.carrier, Fill(one.begin, one.end))
        fill.begin, fill.landed = min(fill.begin, one.begin), max(fill.landed, one.end)
    for warp in trace.warps:
        for fill, reading in readings_of(warp, fills):
            fill.readings.append(reading)
    names = sorted(fills, key=natural)
    rings = groupby(names, key=lambda name: name.rpartition(", ")[0])
    return [Stage(f"stage {i}", [fills[n] for n in own]) for i, (_, own) in enumerate(rings)]


def states(stage, end):
    """What the stage is, one after the other: (state, begin, end); between them it is free."""
    found = []
    for fill in stage.fills:
        taken = end if fill.taken is None else max(fill.taken, fill.landed)
        done = end if fill.done is None else fill.done
        found += [("filled", fill.begin, fill.landed), ("full", fill.landed, taken)]
        found += [("read", taken, done)]
    return [one for one in found if one[2] > one[1]]


def kind_of(trace, event):
    """What a row of the picture shows of an event: a key of the SPANS' values, or None. Operands that
    threads store into shared memory are on their way in, as no TMA load brings them."""
    if (event.what, event.carrier) == ("writes", "shared memory") and not trace.loads:
        return "loads"
    return next((kind for what, kind in SPANS.items() if event.what.startswith(what)), None)


def spans(trace, warp):
    """What the warp does, for a row of the picture: (kind, begin, end). What it multiplies may
    overlap with what else it does."""
    told = [(kind_of(trace, event), event.begin, event.end) for event in warp.events]
    for begin, end in warp.wgmmas:
        if told[-1][0] == "multiplies" and begin <= told[-1][2]:  # while the one before does
            begin = told.pop()[1]
        told.append(("multiplies", begin, end))
    return sorted((one for one in told if one[0]), key=lambda span: span[1:])


def told_of(warp):
    """Its events as a reader is told of them: (begin, end, line, in words), wgmmas in a row as one."""
    kinds = groupby(warp.events, key=lambda e: e.what if e.what.startswith("starts wgmma") else e)
    for _, events in kinds:
        first, *others = events
        last = others[-1] if others else first
        words = first.what
        if words.startswith("starts wgmma"):
            words = words.replace("starts", f"starts {len(others) + 1}", 1)
        elif first.carrier:
            words += f": {first.carrier}"
        yield first.begin, last.end, first.line, words


# --- for trace viewers --------------------------------------------------------------------------

PER_NANOSECOND = 1000  # a viewer counts microseconds; a step is shown as a nanosecond
RING, WARPS = "the ring of stages", "warps"  # a process each


def viewer(trace):
    """The trace as Chrome's trace events (Trace Event Format, the JSON object form): each stage and
    each warp is a track of slices."""
    events, cta = [], trace.launch["cta"]
    tracks = [
        (RING, stage.name, [(b, e, 0, state) for state, b, e in states(stage, trace.end)])
        for stage in stages(trace)
    ]
    tracks += [(WARPS, trace.title(warp), told_of(warp)) for warp in trace.warps]
    for number, (process, track, slices) in enumerate(tracks):
        where = {"pid": 1 + (process == WARPS), "tid": number}
        for kind, name in (("process_name", f"{process}, CTA {cta}"), ("thread_name", track)):
            events.append({"ph": "M", "name": kind, "args": {"name": name}, **where})
        for begin, end, line, name in slices:
            more = {"line": line, "source": trace.source(line)} if line else {}
            times = {"ts": begin / PER_NANOSECOND, "dur": (end - begin) / PER_NANOSECOND}
            events.append({"ph": "X", "name": name, "args": more, **times, **where})
    told = {"step": trace.row["step"], "commit": trace.run.commit, "date": trace.run.date}
    told |= {"time": "1 ns in the viewer is one step", "machine": "CPU emulator"}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": told}


# --- the program --------------------------------------------------------------------------------


def launch_in(text, cta):
    """The launch to show of all that the emulator told of: the last one that loads by TMA, or the last;
    its steps numbered from 0 on without a gap. Where wgmmas are, one warp of each warpgroup: the four
    do the same."""
    launches = []
    for one in map(json.loads, text.splitlines()):
        if isinstance(one, dict):
            launches.append({**one, "events": []})
        else:
            launches[-1]["events"].append(one)
    chosen = [one for one in launches if any(event[0] == "load" for event in one["events"])]
    launch = (chosen or launches)[-1]
    ctas = prod(launch["grid"])
    if cta is not None and not 0 <= cta < ctas:
        raise run.UsageError(f"--cta {cta}: this launch has {ctas} CTAs, numbered from 0")
    if any(event[0] == "multiply" for event in launch["events"]):
        launch["events"] = [e for e in launch["events"] if e[0] != "warp" or e[1] % 4 == 0]
    steps = sorted({step for event in launch["events"] for step in event[2:4]})
    place = {step: number for number, step in enumerate(steps)}
    for event in launch["events"]:
        event[2:4] = place[event[2]], place[event[3]]
    return launch


def with_source(row):
    """What is recorded: the row, and the lines of the rung that its events name, by their numbers,
    without indentation and comments."""
    lines = {}  # stays empty of a rung that isn't there
    for path in (ROOT / "steps").glob(f"{row['step']}_*.cu"):
        lines = dict(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    named = {Event(*event).line for event in row["trace"]["events"]}
    source = {str(n): lines[n].partition("//")[0].strip() for n in sorted(named) if n in lines}
    return {**row, "source": source}


def row_of(program, words, cta):
    """(the program's exit status, the row that it wrote with the trace, or None)"""
    # One policy is traced; lazy lets everything be seen in flight.
    named = any(word.startswith("--policy") for word in words) or "--help" in words
    policy = [] if named else ["--policy=lazy"]
    with tempfile.TemporaryDirectory() as folder:
        row, told = (Path(folder) / name for name in ("row.json", "trace.jsonl"))
        more = {"EMULATOR_TRACE": str(told)} | ({} if cta is None else {"EMULATOR_CTA": str(cta)})
        command = [program, *words, *policy, "--json", row]
        try:
            status = subprocess.run(command, check=False, env={**os.environ, **more}).returncode
        except OSError as error:
            why = f"{error.strerror}: build it first"
            raise run.Stopped(f"cannot start {program}: {why}") from error
        if status or not row.exists():
            return status, None
        if not told.exists():
            raise run.UsageError(f"{program} is not for the emulator, which traces: make trace")
        return 0, {**run.read(row), "trace": launch_in(told.read_text(encoding="utf-8"), cta)}


def write(path, content, what):
    """Writes a JSON file, and says what it is for."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode("utf-8"))
    print(f"{path}  ({what})")


def trace_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    add = parser.add_argument
    add("program", type=Path, help="build/emulated/v07, say")
    add("--cta", metavar="C", type=int, help="the CTA to trace, from 0 (default: the middle one)")
    add("--out", metavar="DIR", type=Path, default=Path("build/trace"))
    options, words = parser.parse_known_args(arguments)  # all others are the rung's own
    status, row = row_of(options.program, words, options.cta)
    if row is None:
        return status
    row = with_source(row)
    path = options.out / f"{row['step']}-emulator.json"
    write(path, row, f"make plots RESULTS={path} draws it")
    to_open = "open it in https://ui.perfetto.dev or chrome://tracing"
    write(path.with_suffix(".perfetto.json"), viewer(Trace(row)), to_open)
    return 0


if __name__ == "__main__":
    run.run_as("trace", trace_main)
