#!/usr/bin/env python3
"""Runs a traced rung, and records what the warps of one CTA did, and when.

    python3 -m bench.trace build/trace/emulated/v07 [--out DIR] [--fills N] [--keep] [rung's options]

`make trace N=7` builds the program and calls this. Two files are written to DIR, both whole or not
at all: v07-emulator.json, the record, from which `make plots RESULTS=that` draws a picture, and
v07-emulator.perfetto.json, which https://ui.perfetto.dev and chrome://tracing open. With --keep the
record is also written to bench/traces/, which `make plots` draws.

It needs only Python's standard library and the built program.

Exit status: the program's if it isn't 0; 0 written, 1 the trace is damaged or a file could not be
written, 2 bad usage.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import chain, groupby
from pathlib import Path

from bench import chrome_trace, process, selection
from bench.records import recorded, schema, traces

FILLS = 40  # of the ring: what a picture can show
LAYOUT_NAMES = {"a": "a", "b": "b", "d": "d", "f": "full", "e": "empty", "t": "turn"}
IN_SHARED_MEMORY = re.compile(r"\bsmem\.(\w+)")
COPIED = ("step", "idea", "commit", "date", "gpu", "problem", "verification")
FAILED = 1


def run_program(program, options, answer):
    """Runs the traced rung, which prints what it has to say; returns its exit status. The emulator
    traces under one policy; lazy lets everything be seen in flight."""
    named = any(option.startswith("--policy") for option in options) or "--help" in options
    policy = ["--policy=lazy"] if program.parent.name == "emulated" and not named else []
    command = [str(program), *options, *policy, "--json", str(answer)]
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        print(f"trace: cannot start {program}: {error.strerror}: build it first", file=sys.stderr)
        return FAILED


# --- names ------------------------------------------------------------------------------------


def source_lines(step):
    """The lines of the rung's source from number 1 on, without indentation and comments; none if it
    isn't there."""
    files = sorted((recorded.ROOT / "steps").glob(f"{step}_*.cu"))
    lines = files[0].read_text(encoding="utf-8").splitlines() if files else []
    return {n: line.partition("//")[0].strip() for n, line in enumerate(lines, 1)}


def laid_out(events):
    """What the kernel said about its shared memory."""
    shared = [
        {
            "name": LAYOUT_NAMES[chr(e.value)],
            "address": e.address,
            "bytes": e.other,
            "count": e.extra,
        }
        for e in events
        if e.what == "layout"
    ]
    return sorted(shared, key=lambda one: one["address"])


def guessed(events, lines):
    """The same of a kernel with static shared memory, which says nothing: names from its source,
    sizes from where the next thing begins."""
    found = {}
    for event in events:
        name = IN_SHARED_MEMORY.search(lines.get(event.line, ""))
        if event.what == "init":
            found[event.address] = name[1] if name else "mbarrier"
        elif event.what in ("load", "store"):
            found[event.other] = name[1] if name else "tile"
    end = max((max(event.address, event.other) for event in events), default=0) + 1024
    addresses = sorted(found)
    return [
        {"name": found[one], "address": one, "bytes": max(after - one, 1), "count": 1}
        for one, after in zip(addresses, [*addresses[1:], end])
    ]


# --- the record -------------------------------------------------------------------------------


def coded(rows, kind, names=()):
    """Rows as columns; names in the first one become numbers."""
    table = {field: [getattr(row, field) for row in rows] for field in kind._fields}
    if names:
        table[kind._fields[0]] = [names.index(row[0]) for row in rows]
    return table


def in_order(events):
    """The events in the order of time. What was touched stands before the event that wrote it down.
    It has only an end: it began when the one before it ended."""
    found, touched = [], []
    for event in events:
        touched.append(event)
        if event.what not in traces.TOUCHES:
            found += [*sorted(touched[:-1], key=lambda one: one.end), event]
            touched = []
    found += sorted(touched, key=lambda one: one.end)
    return [
        one._replace(begin=before.end)
        if one.what in traces.TOUCHES and one.begin == one.end
        else one
        for before, one in zip(found[:1] + found, found)
    ]


def record_of(answer, warps, end):
    """The record of what the program wrote, with these events of the warps, up to that time."""
    trace, on_gpu = answer["trace"], answer["gpu"] is not None
    lines = source_lines(answer["step"])
    kept = [[event for event in events if event.end <= end] for events in warps]
    told = [[one for one in events if one.what not in ("landed", "layout")] for events in kept]
    landed = [one for events in kept for one in events if one.what == "landed"]
    landed = [traces.Landing(one.address, one.begin, one.end) for one in landed]
    used = sorted({event.line for events in told for event in events if event.line})
    operations = traces.rows(trace["operations"], traces.Operation, "operations")
    operations = [one._replace(own=int(one.own)) for one in operations if one.happened <= end]
    clocks = trace["clocks"] if on_gpu else {"cycles": 0, "nanoseconds": 0, "sm": None}
    everything = list(chain(*warps))
    written = sum(len(warp["what"]) + warp["not_kept"] for warp in trace["warps"])
    return {
        "schema": schema.SCHEMAS["trace"],
        "kind": "trace",
        **{name: answer[name] for name in COPIED},
        "time": {
            "unit": trace["time_unit"],
            "policy": trace["policy"],
            "end": end,
            "cycles": clocks["cycles"],
            "nanoseconds": clocks["nanoseconds"],
        },
        "launch": {name: trace[name] for name in ("grid", "block", "block_index", "cta", "ctas")},
        "sm": clocks["sm"],
        "shared": laid_out(everything) or guessed(everything, lines),
        "source": {str(number): lines.get(number, "") for number in used},
        "whats": list(traces.WHATS),
        "operation_kinds": list(traces.OPERATIONS),
        "warps": [
            {"warp": warp["warp"], "events": coded(events, traces.Event, traces.WHATS)}
            for warp, events in zip(trace["warps"], told)
        ],
        "operations": coded(operations, traces.Operation, traces.OPERATIONS),
        "landed": coded(landed, traces.Landing),
        "events_left_out": written - sum(map(len, kept)),
    }


def end_of_fills(record, wanted):
    """When so many fills of the ring were over; the trace's end if there are no more."""
    trace = traces.Trace(record)
    fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
    first = sorted(fills, key=lambda fill: fill.begin)[:wanted]
    ends = [fill.done or fill.landed for fill in first if fill.landed is not None]
    return max(ends, default=trace.end) if len(fills) > wanted else trace.end


def make_record(answer, wanted):
    """The record of the first `wanted` fills of the ring, from what the program wrote. It ends for all
    warps where the first had no more room for events."""
    told = answer["trace"]["warps"]
    warps = [in_order(traces.rows(warp, traces.Event, "warps")) for warp in told]
    ends = [events[-1].end for events in warps if events]
    full = [events[-1].end for warp, events in zip(told, warps) if warp["not_kept"] and events]
    end = min(full, default=max(ends, default=0))
    return record_of(answer, warps, end_of_fills(record_of(answer, warps, end), wanted))


# --- what is said -----------------------------------------------------------------------------


def print_summary(record):
    """What each warp did; how long it took, where times mean something."""
    trace = traces.Trace(record)
    fills = sum(len(stage.fills) for stage in traces.stages(trace))
    unit = record["time"]["unit"]
    print(f"kept       {fills} fills of the ring, {trace.end} {unit}")
    if record["events_left_out"]:
        print(f"left out   {record['events_left_out']} later events; --fills keeps more")
    told = [(f"{len(w.events)} events{shares(trace, w)}", trace.title(w)) for w in trace.warps]
    for what, alike in groupby(told, key=lambda one: one[0]):
        _, names = zip(*alike)
        print(f"{' to '.join(dict.fromkeys((names[0], names[-1])))}: {what}")


def shares(trace, warp):
    """': waits 60 %, loads 2 %' of the time; nothing on the emulator, where a length means
    nothing."""
    if trace.exact or not trace.end:
        return ""
    long = Counter()
    for kind, begin, end in traces.spans(trace, warp):
        long[kind] += end - begin
    return "; " + ", ".join(f"{kind} {100 * t / trace.end:.0f} %" for kind, t in long.items())


def write_all(record, options):
    """Writes the files, and says what they are for."""
    viewer = chrome_trace.export(traces.Trace(record))
    text = json.dumps(viewer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{recorded.trace_name(record)}.json"
    recorded.write_json(path, record)
    print(f"{path}  (make plots RESULTS={path} draws it)")
    path = path.with_suffix(".perfetto.json")
    recorded.write_whole(path, text.encode("utf-8"))
    print(f"{path}  (open it in https://ui.perfetto.dev or chrome://tracing)")
    if options.keep:
        path = recorded.TRACES / f"{recorded.trace_name(record)}.json"
        recorded.write_json(path, record)
        print(f"{path}  (kept: make plots draws it)")


def trace_main(arguments):
    """The whole program: runs, converts, checks, writes; returns its exit status."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    add("program", type=Path, help="build/trace/steps/v07, say")
    add("--out", metavar="DIR", type=Path, default=Path("build/trace"))
    fills = f"how many fills of the ring are kept (default {FILLS})"
    add("--fills", metavar="N", type=selection.positive, default=FILLS, help=fills)
    add("--keep", action="store_true", help="also write the record to bench/traces/")
    options, rest = parser.parse_known_args(arguments)  # all others are the rung's own
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        status = run_program(options.program, rest, answer)
        if status != 0 or not answer.exists():
            return status
        answer = recorded.parse(answer.read_text(encoding="utf-8"))
    if "trace" not in answer:
        print(f"trace: {options.program} does not trace; use make trace", file=sys.stderr)
        return process.BAD_USAGE
    record = make_record(answer, options.fills)
    recorded.check(record)
    print_summary(record)
    write_all(record, options)
    return 0


if __name__ == "__main__":
    process.run_as("trace", trace_main, dict.fromkeys((OSError, ValueError), FAILED))
