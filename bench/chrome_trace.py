"""A trace as Chrome's trace events, which https://ui.perfetto.dev and chrome://tracing open.

The ring and the warps are two processes there. Each stage is a track of the first: filled, full,
read. Each warp is a track of the second: what it does. Copies on their way are asynchronous slices.

A viewer counts microseconds; a cycle, or an emulated step, is shown as a nanosecond. (Trace Event
Format, the JSON object form.)
"""

from __future__ import annotations

from collections import defaultdict

from bench.records import traces
from bench.records.schema import require

RING, WARPS, COPIES = 1, 2, 3  # process ids
PROCESSES = {RING: "the ring of stages", WARPS: "warps", COPIES: "on their way"}
STATES = {"filled": "filled", "full": "full", "read": "multiplied"}
PER_NANOSECOND = 1000  # the viewer's unit is a thousand nanoseconds


def meta(kind, pid, tid, name):
    """The name of a process or of a thread."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def slice_of(pid, tid, name, begin, end, **arguments):
    """Something with a length, or an instant if it has none."""
    event = {"name": name, "pid": pid, "tid": tid, "ts": begin / PER_NANOSECOND, "args": arguments}
    if end > begin:
        return {"ph": "X", "dur": (end - begin) / PER_NANOSECOND, **event}
    return {"ph": "i", "s": "t", **event}


def title(trace, event):
    """'wait full[2]', 'load a[2]', 'barrier 1'."""
    if event.what == "multiply":
        return f"start wgmmas on {trace.name(event.address)}"
    if event.what == "barrier":
        return f"barrier {event.value}"
    place = event.other if event.what in ("load", "store") else event.address
    named = event.what in ("store", *traces.ON_MBARRIERS)
    if named or (place and event.what in traces.TOUCHES):
        return f"{event.what} {trace.name(place)}"
    return event.what


def arguments(trace, event):
    """What a viewer shows of the slice that was chosen."""
    found = {"line": event.line, "source": trace.source(event.line)} if event.line else {}
    if event.what == "wait" and event.value != traces.TOKEN:
        found["parity"] = event.value
    elif event.what == "expect":
        found["bytes"] = event.value
    elif event.what.endswith(" wait"):
        found["groups left"] = event.value
    elif event.what == "multiply":
        found.update(a=trace.name(event.address), b=trace.name(event.other))
    return found


def tracks(trace):
    """A track for each stage, and one for each warp. What a group of wgmmas takes is asynchronous:
    other things go on."""
    for number, stage in enumerate(traces.stages(trace)):
        yield meta("thread_name", RING, number, stage.name)
        for state, begin, end in traces.states(stage, trace.end):
            yield slice_of(RING, number, STATES[state], begin, end)
    for warp in trace.warps:
        yield meta("thread_name", WARPS, warp.number, trace.title(warp))
        for event in warp.events:
            what = (title(trace, event), event.begin, event.end)
            yield slice_of(WARPS, warp.number, *what, **arguments(trace, event))


def flights(trace):
    """Loads, stores and wgmmas on their way: (name, begin, end or None, arguments)."""
    for stage in traces.stages(trace):
        for number, fill in enumerate(stage.fills, 1):
            yield f"fill of {stage.name}", fill.begin, fill.landed, {"number": number}
    for warp in trace.warps:
        for event, done in traces.multiplications(trace, warp):
            words = {"by": trace.title(warp), "a": trace.name(event.address)}
            yield "wgmmas", event.begin, done, words
    for warp, tile, begin, done in traces.stores(trace):
        yield f"store of {trace.name(tile)}", begin, done, {"by": trace.title(warp)}


def export(trace):
    """The whole file, as an object."""
    record = trace.record
    events = [
        meta("process_name", pid, 0, f"{name}, CTA {record['launch']['cta']}")
        for pid, name in PROCESSES.items()
    ]
    events += tracks(trace)
    moves = [(*one[:2], trace.end if one[2] is None else one[2], one[3]) for one in flights(trace)]
    for identity, (name, begin, end, words) in enumerate(sorted(moves, key=lambda one: one[1:3])):
        both = {"cat": "copies", "id": identity, "name": name, "pid": COPIES, "tid": 0}
        events.append({"ph": "b", "ts": begin / PER_NANOSECOND, "args": words, **both})
        events.append({"ph": "e", "ts": end / PER_NANOSECOND, **both})
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "step": record["step"],
            "time": f"1 ns in the viewer is one of the {record['time']['unit']}",
            "commit": record["commit"],
            "date": record["date"],
            "machine": record["gpu"]["name"] if record["gpu"] else "CPU emulator",
        },
    }


def check(viewer):
    """Invalid, saying where, unless the slices of each track lie side by side or inside of each other:
    a viewer would show others wrongly."""
    open_until = defaultdict(list)  # of each track: the ends of the slices around the next one
    slices = [event for event in viewer["traceEvents"] if event["ph"] == "X"]
    for one in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
        begin = round(one["ts"] * PER_NANOSECOND)
        end = round((one["ts"] + one["dur"]) * PER_NANOSECOND)
        track = (one["pid"], one["tid"])
        around = open_until[track]
        while around and around[-1] <= begin:
            around.pop()
        why = f"'{one['name']}' at {begin} overlaps with the slice before it"
        require(not around or end <= around[-1], f"track {track}", why)
        around.append(end)
