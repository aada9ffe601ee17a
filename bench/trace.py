#!/usr/bin/env python3
"""Runs a traced rung, and records what the warps of one CTA did, and when.

    python3 -m bench.trace build/trace/emulated/v07 [--out DIR] [the rung's]

`make trace N=7` builds the program and calls this. Two files are written to DIR: v07-emulator.json,
the trace, from which `make plots RESULTS=that` draws a picture (bench/traces/README.md describes
it), and v07-emulator.perfetto.json, which https://ui.perfetto.dev and chrome://tracing open. Times
are cycles of the multiprocessor's clock, or emulated steps, which only have an order.

Exit status: the program's if it isn't 0; 0 written, 1 a file could not be written, 2 bad usage.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter, namedtuple
from dataclasses import dataclass, field
from itertools import accumulate, chain, starmap
from pathlib import Path

from bench import run
from bench.results import ROOT, Run, slug, write_whole

TRACES = ROOT / "bench" / "traces"
TOKEN = 2  # in place of the parity that a wait names
EMULATED_STEPS = "emulated steps"
# What a warp does in a row of the picture, by its events.
SPANS = {
    "waits": ("wait", "barrier", "cluster", "copy wait", "store wait"),
    "loads": ("expect", "load", "copy commit"),
    "stores": ("write", "store", "store commit"),
}
SPAN_OF = {what: kind for kind, whats in SPANS.items() for what in whats}
MEMBERS = {"a": "a", "b": "b", "d": "d", "f": "full", "e": "empty", "t": "turn"}
IN_SHARED_MEMORY = re.compile(r"\bsmem\.(\w+)")

# Something that one warp did: bench/traces/README.md says what the numbers mean.
Event = namedtuple("Event", "what begin end line address other value extra")
# Something that was started and happened by itself, as the emulator told it.
Operation = namedtuple("Operation", "kind warp started happened barrier")
# A warp reads a stage; the end is None if the trace ends before.
Reading = namedtuple("Reading", "warp begin end")
# One row of the picture: a stage's name and its fills, in order.
Stage = namedtuple("Stage", "name fills")


# --- a trace ------------------------------------------------------------------------------------


class Warp:
    """A warp's events, in order."""

    def __init__(self, number, events):
        self.number, self.events = number, events
        self.loads = bool(self.of("load"))  # by TMA
        self.multiplies = bool(self.of("multiply"))  # by wgmma

    def of(self, what):
        """Its events of that kind."""
        return [event for event in self.events if event.what == what]


@dataclass
class Fill:
    """One pass of a stage: it is filled, and then read."""

    stage: int
    begin: int
    landed: int | None = None  # the earliest time at which it was seen to be full
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


def laid_out(events, lines):
    """What is where in shared memory, in order: what the kernel said or, of static shared memory,
    what barriers and tiles are called in its source."""
    found = {}
    for event in events:
        place = {"init": event.address, "load": event.other, "store": event.other}.get(event.what)
        if place:
            name = IN_SHARED_MEMORY.search(lines.get(str(event.line), ""))
            name = name[1] if name else "mbarrier" if event.what == "init" else "tile"
            found[place] = {"name": name, "address": place, "count": 1}
    told = [
        {"name": MEMBERS[chr(e.value)], "address": e.address, "bytes": e.other, "count": e.extra}
        for e in events
        if e.what == "layout"
    ]
    return sorted(told or found.values(), key=lambda one: one["address"])


def in_order(events):
    """The events in the order of time. A write has only an end, and began when the one before it
    ended."""
    found = sorted(starmap(Event, events), key=lambda event: event.end)
    return [
        one._replace(begin=before.end) if one.what == "write" else one
        for before, one in zip(found[:1] + found, found)
    ]


class Trace:
    """A recorded trace, taken apart: a row of the rung's program, and lines of its source."""

    def __init__(self, row):
        self.row, self.launch, self.lines = row, row["trace"], row["source"]
        self.run = Run(row["context"])
        self.run.add(row)
        self.exact = self.launch["time_unit"] == EMULATED_STEPS
        warps = self.launch["warps"]
        told = [in_order(warp["events"]) for warp in warps]
        # It ends for all warps where the first had no more room for events.
        full = [one[-1].end for one, warp in zip(told, warps) if warp["not_kept"]]
        self.end = min(full) if full else max((one[-1].end for one in told), default=0)
        kept = [[event for event in events if event.end <= self.end] for events in told]
        self.complete = not full
        self.warps = [
            Warp(warp["warp"], [event for event in events if event.what != "layout"])
            for warp, events in zip(warps, kept)
        ]
        operations = starmap(Operation, self.launch["operations"])
        self.operations = [one for one in operations if one.happened <= self.end]
        self.shared = laid_out(list(chain(*told)), self.lines)
        # The consumers' turn: each reads some fills of the ring alone.
        self.in_turns = any(one["name"] == "turn" for one in self.shared)
        self.grouped = any(warp.multiplies for warp in self.warps)  # a warp stands for a warpgroup

    def of(self, what):
        """All warps' events of that kind."""
        return [event for warp in self.warps for event in warp.of(what)]

    def place(self, address):
        """(name, index or None) of what lies at that shared address; its number if nothing does."""
        for one in reversed(self.shared):
            if one["address"] <= address:
                several = one["count"] > 1
                return one["name"], (address - one["address"]) // one["bytes"] if several else None
        return f"{address:#x}", None

    def name(self, address):
        """'full[2]', or '0x400' for what has no name."""
        name, index = self.place(address)
        return name if index is None else f"{name}[{index}]"

    def source(self, line):
        """The line of the rung, or an empty text."""
        return self.lines.get(str(line), "")

    def title(self, warp):
        """'warpgroup 1 (consumer)' or 'warp 3'."""
        if not self.grouped:
            return f"warp {warp.number}"
        specialised = any(other.loads and not other.multiplies for other in self.warps)
        role = "producer" if warp.loads else "consumer"
        return f"warpgroup {warp.number // 4}" + (f" ({role})" if specialised else "")


def load(path):
    """A recorded trace, as Trace takes it."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def with_source(row):
    """What is recorded: the row, and the lines of the rung that its events name, by their numbers,
    without indentation and comments."""
    lines = {}  # stays empty of a rung that isn't there
    for path in (ROOT / "steps").glob(f"{row['step']}_*.cu"):
        lines = dict(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    named = {Event(*event).line for warp in row["trace"]["warps"] for event in warp["events"]}
    source = {str(n): lines[n].partition("//")[0].strip() for n in sorted(named) if n in lines}
    return {**row, "source": source}


def name_of(row):
    """'v07-emulator' or 'v07-nvidia-h200': what the files of a trace are called."""
    return f"{row['step']}-{slug(row['context']['gpu'])}"


# --- what happens by itself ---------------------------------------------------------------------


def multiplications(trace, warp):
    """[[event, when it was complete, or None]] of the warp's groups of wgmmas. On a GPU when the
    warp has seen it, by a wait that names how many of the latest may remain; on the emulator when
    the last of the group happened: the operations of a warpgroup happen in their order, and the warp
    may be later than its other lanes."""
    if trace.exact:
        number, events = warp.number // 4, warp.of("multiply")
        own = [o for o in trace.operations if o.kind == "multiply" and o.warp // 4 == number]
        until = accumulate(event.value for event in events)
        return [
            [event, own[count - 1].happened if 0 < count <= len(own) else None]
            for event, count in zip(events, until)
        ]
    found, seen = [], 0
    for event in warp.events:
        if event.what == "multiply":
            found.append([event, None])
        elif event.what == "multiply wait":
            for one in found[seen : len(found) - event.value]:
                one[1] = event.end
            seen = max(seen, len(found) - event.value)
    return found


# --- fills by TMA -------------------------------------------------------------------------------


def begun_fills(trace, barrier, stage):
    """The fills of one stage, each with the time of its first load. An announcement (expect) begins
    a fill, before its loads or after them."""
    marks, loads = (
        sorted(event.begin for event in trace.of(what) if event.address == barrier)
        for what in ("expect", "load")
    )
    first = {}
    for begin in loads:
        first.setdefault(sum(mark < begin for mark in marks), begin)
    return [Fill(stage, begin) for begin in first.values()]


def waits_for(trace, ring):
    """Who waits for which fill: (warp, its wait, the fill, when it waits for the next). ring:
    mbarrier -> fills. Where consumers take turns a warp leaves out the other's fills: when its wait
    ends, no later fill has begun, as a stage is filled again only when it was read."""
    for warp in trace.warps:
        waits = [event for event in warp.of("wait") if event.address in ring]
        before = Counter()
        for wait, after in zip(waits, [*waits[1:], None]):
            fills, number = ring[wait.address], before[wait.address]
            before[wait.address] += 1
            if trace.in_turns:
                number = sum(fill.begin <= wait.end for fill in fills) - 1
            if 0 <= number < len(fills):
                yield warp, wait, fills[number], trace.end + 1 if after is None else after.begin


def land(trace, ring, waits):
    """Says of the fills when they landed: on a GPU as far as a wait saw it, on the emulator by the
    operations."""
    for _, wait, fill, _ in waits:
        fill.landed = wait.end if fill.landed is None else min(fill.landed, wait.end)
    for barrier, fills in ring.items() if trace.exact else ():
        # The loads of one fill have landed when it is first seen to be full; the next ones land
        # after that. A peer may start its part of a fill first.
        loads = [one for one in trace.operations if (one.kind, one.barrier) == ("load", barrier)]
        first = fills[0].landed
        each = sum(one.happened <= first for one in loads) if first else 0
        for number, fill in enumerate(fills):
            own = loads[number * each : (number + 1) * each]
            fill.landed = None
            if own and len(own) == each:
                fill.landed = max(load.happened for load in own)
                fill.begin = min(fill.begin, *(load.started for load in own))


def readings_after(warp, groups, wait, until):
    """How a warp with these groups of wgmmas reads what it has waited for, until it waits for the
    next: by them, or by plain accesses before the next barrier."""

    def within(times):
        return [one for one in times if wait.end <= one[0] < until]

    found = within(groups)
    if not groups:
        behind = within((event.begin,) for event in warp.of("barrier"))
        found = [(wait.end, behind[0][0] if behind else None)]
    return [Reading(warp.number, *times) for times in found]


def tma_fills(trace):
    """All fills by TMA, a list for each stage."""
    barriers = sorted({event.address for event in trace.of("load")})
    ring = {address: begun_fills(trace, address, i) for i, address in enumerate(barriers)}
    waits = list(waits_for(trace, ring))
    land(trace, ring, waits)
    groups = {
        warp: [(event.begin, done) for event, done in multiplications(trace, warp)]
        for warp in trace.warps
    }
    for warp, wait, fill, until in waits:
        fill.readings += readings_after(warp, groups[warp], wait, until)
    return list(ring.values())


# --- stages and spans ---------------------------------------------------------------------------


def stages(trace):
    """The stages of the ring that TMA fills; empty if there is none."""
    return [Stage(f"stage {fills[0].stage}", fills) for fills in tma_fills(trace)]


def states(stage, end):
    """What the stage is, one after the other: (state, begin, end); between them it is free."""
    found = []
    for fill in stage.fills:
        landed = end if fill.landed is None else fill.landed
        taken = end if fill.taken is None else max(fill.taken, landed)
        done = end if fill.done is None else fill.done
        found += [("filled", fill.begin, landed), ("full", landed, taken), ("read", taken, done)]
    return [one for one in found if one[2] > one[1]]


def spans(trace, warp):
    """What the warp does, for a row of the picture: (kind, begin, end). What it multiplies may
    overlap with what else it does."""
    found = [
        (SPAN_OF[event.what], event.begin, event.end)
        for event in warp.events
        if event.what in SPAN_OF and event.end > event.begin
    ]
    for event, done in multiplications(trace, warp):
        found.append(("multiplies", event.begin, trace.end if done is None else done))
    return sorted(found, key=lambda span: span[1:])


# --- for trace viewers --------------------------------------------------------------------------

PER_NANOSECOND = 1000  # a viewer counts microseconds; a cycle, or a step, is shown as a nanosecond
RING, WARPS = "the ring of stages", "warps"  # a process each


def described(trace, event):
    """('load full[2], a[2]', begin, end, what a viewer shows of the slice that was chosen)"""
    places = ", ".join(trace.name(place) for place in (event.address, event.other) if place)
    more = {"line": event.line, "source": trace.source(event.line), "value": event.value}
    return f"{event.what} {places}".rstrip(), event.begin, event.end, more


def viewer(trace):
    """The trace as Chrome's trace events (Trace Event Format, the JSON object form): each stage and
    each warp is a track of slices, or of instants where nothing has a length."""
    events = []
    tracks = [
        (RING, stage.name, [(*one, {}) for one in states(stage, trace.end)])
        for stage in stages(trace)
    ]
    for warp in trace.warps:
        tracks.append((WARPS, trace.title(warp), [described(trace, e) for e in warp.events]))
    for number, (process, track, slices) in enumerate(tracks):
        where = {"pid": 1 + (process == WARPS), "tid": number}
        process = f"{process}, CTA {trace.launch['cta']}"
        for kind, name in (("process_name", process), ("thread_name", track)):
            events.append({"ph": "M", "name": kind, "args": {"name": name}, **where})
        for name, begin, end, more in slices:
            length = {"ph": "X", "dur": (end - begin) / PER_NANOSECOND}
            kind = length if end > begin else {"ph": "i", "s": "t"}
            event = {"name": name, "ts": begin / PER_NANOSECOND, "args": more}
            events.append({**kind, **event, **where})
    run = trace.run
    told = {"step": trace.row["step"], "commit": run.commit, "date": run.date}
    told["time"] = f"1 ns in the viewer is one of the {trace.launch['time_unit']}"
    told["machine"] = run.gpu["name"] if run.gpu else "CPU emulator"
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": told}


# --- the program --------------------------------------------------------------------------------


def write(path, content, what):
    """Writes a JSON file, and says what it is for."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode("utf-8"))
    print(f"{path}  ({what})")


def row_of(program, words):
    """(the program's exit status, the row that it wrote, or None)"""
    # The emulator traces under one policy; lazy lets everything be seen in flight.
    named = any(word.startswith("--policy") for word in words) or "--help" in words
    policy = ["--policy=lazy"] if program.parent.name == "emulated" and not named else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.json"
        try:
            status = subprocess.run([program, *words, *policy, "--json", path], check=False)
        except OSError as error:
            why = f"{error.strerror}: build it first"
            raise run.Stopped(f"cannot start {program}: {why}") from error
        return status.returncode, run.read(path) if path.exists() else None


def trace_main(arguments):
    """The whole program; returns its exit status."""
    parser = run.parser(__doc__)
    add = parser.add_argument
    add("program", type=Path, help="build/trace/steps/v07, say")
    add("--out", metavar="DIR", type=Path, default=Path("build/trace"))
    options, words = parser.parse_known_args(arguments)  # all others are the rung's own
    status, row = row_of(options.program, words)
    if status or row is None:
        return status
    if "trace" not in row:
        raise run.UsageError(f"{options.program} does not trace; use make trace")
    row = with_source(row)
    path = options.out / f"{name_of(row)}.json"
    write(path, row, f"make plots RESULTS={path} draws it")
    to_open = "open it in https://ui.perfetto.dev or chrome://tracing"
    write(path.with_suffix(".perfetto.json"), viewer(Trace(row)), to_open)
    return 0


if __name__ == "__main__":
    run.run_as("trace", trace_main)
