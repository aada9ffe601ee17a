#!/usr/bin/env python3
"""Runs a traced rung, and writes down what the warps of one CTA did, and when.

    python3 -m bench.trace build/trace/emulated/v07 [--out DIR] [--fills N] [--keep] [rung's options]

`make trace N=7` builds the program and calls this. Two files are written to DIR, both whole or not
at all: v07-emulator.json, the record, from which `make plots RESULTS=that` draws a picture, and
v07-emulator.perfetto.json, which https://ui.perfetto.dev and chrome://tracing open. With --keep the
record is written to bench/traces/ too, from where `make plots` draws it.

Standard library only: where the program was built before, nothing else is needed.

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
from pathlib import Path

from bench import chrome_trace, process, selection
from bench.records import recorded, schema, traces

SCHEMA = schema.SCHEMAS["trace"]
FILLS = 40  # of the ring: what a picture can show
MARGIN = 32  # fills more than wanted, before it is known which are whole
LAYOUT_NAMES = {"a": "a", "b": "b", "d": "d", "f": "full", "e": "empty", "t": "turn"}
TILE_IN_LINE = re.compile(r"\bsmem\.(\w+)")
INIT_IN_LINE = re.compile(r"(\w+)(?:\[\w+\])?\.init\(|init\(&?(?:\w+\.)*(\w+)")
COPIED = ("gpu", "problem", "verification")  # from what the program wrote
WRITTEN = 1
BAD_USAGE = 2


# --- the program ------------------------------------------------------------------------------


def run_program(program, options, answer):
    """Runs the traced rung, which prints what it has to say; returns its exit status."""
    command = [str(program), *options, "--json", str(answer)]
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        print(f"trace: cannot start {program}: {error.strerror}: build it first", file=sys.stderr)
        return WRITTEN


def with_policy(program, options):
    """The emulator traces under one policy; lazy lets everything be seen in flight."""
    emulated = program.parent.name == "emulated"
    named = any(option.startswith("--policy") for option in options)
    return options if named or not emulated or "--help" in options else [*options, "--policy=lazy"]


# --- names ------------------------------------------------------------------------------------


def source_lines(step):
    """The lines of the rung's source, from number 1 on; empty if it isn't there."""
    files = sorted((recorded.ROOT / "steps").glob(f"{step}_*.cu"))
    return ["", *files[0].read_text(encoding="utf-8").splitlines()] if files else []


def line_of(lines, number):
    """A line of the source without its indentation and its comment."""
    text = lines[number] if 0 < number < len(lines) else ""
    return text.partition("//")[0].strip()


def laid_out(rows):
    """What the kernel said about its shared memory, and the events that are left."""
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


def guessed(rows, lines, end):
    """The same of a kernel with static shared memory, which says nothing: names from its source,
    sizes from where the next thing begins."""
    found = {}
    for row in rows:
        text = line_of(lines, row["line"])
        if row["what"] == "init":
            name = INIT_IN_LINE.search(text)
            found[row["address"]] = name[1] or name[2] if name else "mbarrier"
        elif row["what"] in ("load", "store"):
            name = TILE_IN_LINE.search(text)
            found[row["other"]] = name[1] if name else "tile"
    addresses = sorted(found)
    sizes = [after - one for one, after in zip(addresses, [*addresses[1:], end])]
    return [
        {"name": found[one], "address": one, "bytes": max(size, 1), "count": 1}
        for one, size in zip(addresses, sizes)
    ]


# --- events -----------------------------------------------------------------------------------


def rows_of(warp):
    """A warp's events as the program wrote them."""
    names = ("what", "begin", "end", "line", "address", "other", "value", "extra")
    return [dict(zip(names, row)) for row in zip(*(warp[name] for name in names))]


def in_order(rows):
    """The events in the order of time. What was touched stands before the event that wrote it down.
    It has only an end: it began when the one before it ended."""
    found, touched = [], []
    for row in rows:
        if row["what"] in traces.TOUCHES:
            touched.append(row)
            continue
        found += [*sorted(touched, key=lambda one: one["end"]), row]
        touched = []
    found += sorted(touched, key=lambda one: one["end"])
    before = None
    for row in found:
        if row["what"] in traces.TOUCHES and row["begin"] == row["end"] and before is not None:
            row["begin"] = before
        before = row["end"]
    return found


def coded(rows, names, columns, first):
    """Rows as columns of numbers; the first column's names become numbers."""
    table = {name: [row[name] for row in rows] for name in columns}
    table[first] = [names.index(name) for name in table[first]]
    return table


def whole_until(warps, rows):
    """When the first warp had no more room for events; None if none of them ran out."""
    full = [events[-1]["end"] for warp, events in zip(warps, rows) if warp["not_kept"] and events]
    return min(full, default=None)


def starts_of_fills(rows):
    """When fills of the ring begin, as far as events alone tell."""
    for what in ("expect", "copy"):
        starts = [[row["end"] for row in events if row["what"] == what] for events in rows]
        if any(starts):
            return max(starts, key=len)
    return []


def cut(rows, end):
    """The events that end by then."""
    return [[row for row in events if row["end"] <= end] for events in rows]


# --- the record -------------------------------------------------------------------------------


def clocks_of(answer):
    """How long both clocks of a GPU were read; the emulator has no two."""
    clocks = answer["trace"]["clocks"]
    known = answer["gpu"] is not None
    return {name: clocks[name] if known else 0 for name in ("cycles", "nanoseconds")}


def record_of(answer, rows, end, shared, lines):
    """The record with these events, up to that time."""
    trace = answer["trace"]
    landed = [row for events in rows for row in events if row["what"] == "landed"]
    events = [[r for r in one if r["what"] not in ("landed", "layout")] for one in rows]
    used = sorted({row["line"] for one in events for row in one if row["line"]})
    operations = [
        dict(zip(traces.OPERATION_COLUMNS, row))
        for row in zip(*(trace["operations"][name] for name in traces.OPERATION_COLUMNS))
    ]
    operations = [{**one, "own": int(one["own"])} for one in operations if one["happened"] <= end]
    warps = [
        {"warp": warp["warp"], "events": coded(one, traces.WHATS, traces.COLUMNS, "what")}
        for warp, one in zip(trace["warps"], events)
    ]
    all_events = sum(len(warp["what"]) + warp["not_kept"] for warp in trace["warps"])
    return {
        "schema": SCHEMA,
        "kind": "trace",
        "step": answer["step"],
        "idea": answer["idea"],
        "commit": answer["commit"],
        "date": answer["date"],
        **{name: answer[name] for name in COPIED},
        "time": {
            "unit": trace["time_unit"],
            "policy": trace["policy"],
            "end": end,
            **clocks_of(answer),
        },
        "launch": {name: trace[name] for name in ("grid", "block", "block_index", "cta", "ctas")},
        "sm": None if answer["gpu"] is None else trace["clocks"]["sm"],
        "shared": shared,
        "source": {str(number): line_of(lines, number) for number in used},
        "whats": list(traces.WHATS),
        "operation_kinds": list(traces.OPERATIONS),
        "warps": warps,
        "operations": coded(operations, traces.OPERATIONS, traces.OPERATION_COLUMNS, "kind"),
        "landed": {
            "barrier": [row["address"] for row in landed],
            "after": [row["begin"] for row in landed],
            "by": [row["end"] for row in landed],
        },
        "events_left_out": all_events - sum(map(len, rows)),
    }


def end_of_fills(record, wanted):
    """When so many fills of the ring were over; the trace's end if there are no more."""
    trace = traces.Trace(record)
    fills = sorted(
        (fill for stage in traces.stages(trace) for fill in stage.fills), key=lambda f: f.begin
    )
    if len(fills) <= wanted:
        return trace.end
    ends = [fill.done or fill.landed for fill in fills[:wanted]]
    return max((end for end in ends if end is not None), default=trace.end)


def make_record(answer, wanted):
    """The record of the first `wanted` fills of the ring, from what the program wrote."""
    lines = source_lines(answer["step"])
    rows = [in_order(rows_of(warp)) for warp in answer["trace"]["warps"]]
    last = max((row["end"] for events in rows for row in events), default=0)
    end = whole_until(answer["trace"]["warps"], rows)
    end = last if end is None else end
    starts = starts_of_fills(rows)
    if len(starts) > wanted + MARGIN:
        end = min(end, starts[wanted + MARGIN])
    everything = [row for events in rows for row in events]
    behind = max((max(row["address"], row["other"]) for row in everything), default=0) + 1024
    shared = laid_out(everything) or guessed(everything, lines, behind)
    record = record_of(answer, cut(rows, end), end, shared, lines)
    sooner = end_of_fills(record, wanted)
    return record_of(answer, cut(rows, sooner), sooner, shared, lines)


# --- what is said -----------------------------------------------------------------------------


def print_summary(record):
    """What each warp did; how long it took, where times mean something."""
    trace = traces.Trace(record)
    fills = sum(len(stage.fills) for stage in traces.stages(trace))
    unit = record["time"]["unit"]
    print(f"kept       {fills} fills of the ring, {trace.end} {unit}")
    if record["events_left_out"]:
        print(f"left out   {record['events_left_out']} later events; --fills keeps more")
    for names, what in alike(
        [(trace.title(w), f"{len(w.events)} events{shares(trace, w)}") for w in trace.warps]
    ):
        print(f"{names}: {what}")


def alike(told):
    """Neighbours of whom the same is told become one line: 'warp 1 to warp 31'."""
    found = []
    for name, what in told:
        if found and found[-1][2] == what:
            found[-1][1] = name
        else:
            found.append([name, name, what])
    return [(one if one == last else f"{one} to {last}", what) for one, last, what in found]


def shares(trace, warp):
    """': waits 60 %, loads 2 %' of the time; nothing on the emulator, where a length means
    nothing."""
    if trace.exact or not trace.end:
        return ""
    long = {}
    for kind, begin, end in traces.spans(trace, warp):
        long[kind] = long.get(kind, 0) + end - begin
    return "; " + ", ".join(f"{kind} {100 * t / trace.end:.0f} %" for kind, t in long.items())


def write_record(record, folder):
    """Writes the record; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recorded.trace_name(record)}.json"
    recorded.write_json(path, record)
    return path


def write_viewer(record, folder):
    """Writes what a trace viewer opens; returns its path."""
    viewer = chrome_trace.export(traces.Trace(record))
    chrome_trace.check(viewer)
    text = json.dumps(viewer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    path = folder / f"{recorded.trace_name(record)}.perfetto.json"
    recorded.write_whole(path, text.encode("utf-8"))
    return path


def write_all(record, options):
    """Writes the files, and says what they are for."""
    path = write_record(record, options.out)
    print(f"{path}  (make plots RESULTS={path} draws it)")
    path = write_viewer(record, options.out)
    print(f"{path}  (open it in https://ui.perfetto.dev or chrome://tracing)")
    if options.keep:
        print(f"{write_record(record, recorded.TRACES)}  (kept: make plots draws it)")


def trace(options, rest):
    """Runs, converts, checks, writes; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        status = run_program(options.program, with_policy(options.program, rest), answer)
        if status != 0 or not answer.exists():
            return status
        answer = recorded.parse(answer.read_text(encoding="utf-8"))
    if "trace" not in answer:
        print(f"trace: {options.program} traces nothing (make trace)", file=sys.stderr)
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
