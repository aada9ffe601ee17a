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

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path

from bench import chrome_trace, process, selection
from bench.records import recorded, schema, traces
from bench.records.neighbours import pairwise

FILLS = 40  # of the ring: what a picture can show
LAYOUT_NAMES = {"a": "a", "b": "b", "d": "d", "f": "full", "e": "empty", "t": "turn"}
IN_SHARED_MEMORY = re.compile(r"\bsmem\.(\w+)")
COPIED = ("step", "idea", "commit", "date", "gpu", "problem", "verification")
WRITTEN = 1
BAD_USAGE = 2


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
        return WRITTEN


# --- names ------------------------------------------------------------------------------------


def source_lines(step):
    """The lines of the rung's source from number 1 on, without indentation and comments; none if it
    isn't there."""
    files = sorted((recorded.ROOT / "steps").glob(f"{step}_*.cu"))
    lines = files[0].read_text(encoding="utf-8").splitlines() if files else []
    return {n: line.partition("//")[0].strip() for n, line in enumerate(lines, 1)}


def laid_out(rows):
    """What the kernel said about its shared memory."""
    shared = [
        {
            "name": LAYOUT_NAMES[chr(row["value"])],
            "address": row["address"],
            "bytes": row["other"],
            "count": row["extra"],
        }
        for row in rows
        if row["what"] == "layout"
    ]
    return sorted(shared, key=lambda one: one["address"])


def guessed(rows, lines):
    """The same of a kernel with static shared memory, which says nothing: names from its source,
    sizes from where the next thing begins."""
    found = {}
    for row in rows:
        name = IN_SHARED_MEMORY.search(lines.get(row["line"], ""))
        if row["what"] == "init":
            found[row["address"]] = name[1] if name else "mbarrier"
        elif row["what"] in ("load", "store"):
            found[row["other"]] = name[1] if name else "tile"
    end = max((max(row["address"], row["other"]) for row in rows), default=0) + 1024
    addresses = sorted(found)
    return [
        {"name": found[one], "address": one, "bytes": max(after - one, 1), "count": 1}
        for one, after in zip(addresses, [*addresses[1:], end])
    ]


# --- the record -------------------------------------------------------------------------------


def rows_of(table, names):
    """The rows of a table that is stored as columns."""
    return [dict(zip(names, row)) for row in zip(*(table[name] for name in names))]


def coded(rows, names, kind):
    """Rows as columns of numbers; the first column's names become numbers."""
    first, *others = kind._fields
    table = {first: [names.index(row[first]) for row in rows]}
    return {**table, **{name: [int(row[name]) for row in rows] for name in others}}


def in_order(rows):
    """The events in the order of time. What was touched stands before the event that wrote it down.
    It has only an end: it began when the one before it ended."""
    found, touched = [], []
    for row in [*rows, None]:
        if row and row["what"] in traces.TOUCHES:
            touched.append(row)
        else:
            found += [*sorted(touched, key=lambda one: one["end"]), *([row] if row else [])]
            touched = []
    for before, row in pairwise(found):
        if row["what"] in traces.TOUCHES and row["begin"] == row["end"]:
            row["begin"] = before["end"]
    return found


def record_of(answer, warps, end):
    """The record of what the program wrote, with these events of the warps, up to that time."""
    trace, on_gpu = answer["trace"], answer["gpu"] is not None
    lines = source_lines(answer["step"])
    kept = [[row for row in rows if row["end"] <= end] for rows in warps]
    told = [[row for row in rows if row["what"] not in ("landed", "layout")] for rows in kept]
    landed = [row for rows in kept for row in rows if row["what"] == "landed"]
    used = sorted({row["line"] for rows in told for row in rows if row["line"]})
    operations = rows_of(trace["operations"], traces.Operation._fields)
    operations = [one for one in operations if one["happened"] <= end]
    clocks = trace["clocks"] if on_gpu else {"cycles": 0, "nanoseconds": 0, "sm": None}
    everything = [row for rows in warps for row in rows]
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
            {"warp": warp["warp"], "events": coded(rows, traces.WHATS, traces.Event)}
            for warp, rows in zip(trace["warps"], told)
        ],
        "operations": coded(operations, traces.OPERATIONS, traces.Operation),
        "landed": {
            "barrier": [row["address"] for row in landed],
            "after": [row["begin"] for row in landed],
            "by": [row["end"] for row in landed],
        },
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
    names = (*traces.Event._fields,)
    told = answer["trace"]["warps"]
    warps = [in_order(rows_of(warp, names)) for warp in told]
    ends = [rows[-1]["end"] for rows in warps if rows]
    full = [rows[-1]["end"] for warp, rows in zip(told, warps) if warp["not_kept"] and rows]
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
    chrome_trace.check(viewer)
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


def trace(options, rest):
    """Runs, converts, checks, writes; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        status = run_program(options.program, rest, answer)
        if status != 0 or not answer.exists():
            return status
        answer = recorded.parse(answer.read_text(encoding="utf-8"))
    if "trace" not in answer:
        print(f"trace: {options.program} does not trace; use make trace", file=sys.stderr)
        return BAD_USAGE
    record = make_record(answer, options.fills)
    recorded.check(record)
    print_summary(record)
    write_all(record, options)
    return 0


def main():
    """Parses the command line; expected errors become one line."""
    parser = argparse.ArgumentParser(
        description="Trace one CTA of a rung.",
        epilog="All other options are the rung's own: --cta, --m, --policy, ...",
        allow_abbrev=False,
    )
    parser.add_argument("program", type=Path, help="build/trace/steps/v07, say")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("build/trace"))
    parser.add_argument(
        "--fills",
        metavar="N",
        type=selection.positive,
        default=FILLS,
        help=f"how many fills of the ring are kept (default {FILLS})",
    )
    parser.add_argument(
        "--keep", action="store_true", help="also write the record to bench/traces/"
    )
    options, rest = parser.parse_known_args()
    return process.expected(
        "trace", lambda: trace(options, rest), {OSError: WRITTEN, ValueError: WRITTEN}
    )


if __name__ == "__main__":
    sys.exit(process.ended(main))
