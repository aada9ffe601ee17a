"""A trace as Chrome's trace events, which https://ui.perfetto.dev and chrome://tracing open.

The ring and the warps are two processes there. Each stage is a track of the first: filled, full,
read. Each warp is a track of the second: what it does. Copies on their way are asynchronous slices.

A viewer counts microseconds; a cycle, or an emulated step, is shown as a nanosecond. (Trace Event
Format, the JSON object form.)
"""

from __future__ import annotations

from bench.records import traces
from bench.records.schema import require

RING, WARPS, COPIES = 1, 2, 3  # process ids
PROCESSES = {RING: "the ring of stages", WARPS: "warps", COPIES: "on their way"}
STATES = {"filled": "filled", "full": "full", "read": "multiplied"}
PER_NANOSECOND = 1000  # the viewer's unit is a thousand nanoseconds


def ts(time):
    """A time of the trace as the viewer counts it."""
    return time / PER_NANOSECOND


def meta(kind, pid, tid, name):
    """The name of a process or of a thread."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def slice_of(pid, tid, name, begin, end, **arguments):
    """Something with a length, or an instant if it has none."""
    event = {"name": name, "pid": pid, "tid": tid, "ts": ts(begin), "args": arguments}
    if end > begin:
        return {"ph": "X", "dur": ts(end - begin), **event}
    return {"ph": "i", "s": "t", **event}


def flight(identity, name, begin, end, arguments):
    """Something on its way: its begin and its end."""
    both = {"cat": "copies", "id": identity, "name": name, "pid": COPIES, "tid": 0}
    return [
        {"ph": "b", "ts": ts(begin), "args": arguments, **both},
        {"ph": "e", "ts": ts(end), **both},
    ]


# --- what the slices are called ---------------------------------------------------------------


def title(trace, event):
    """'wait full[2]', 'load a[2]', 'barrier 1'."""
    if event.what in ("load", "store"):
        return f"{event.what} {trace.name(event.other)}"
    if event.what in traces.ON_MBARRIERS:
        return f"{event.what} {trace.name(event.address)}"
    if event.what == "multiply":
        return f"start wgmmas on {trace.name(event.address)}"
    if event.what == "barrier":
        return f"barrier {event.value}"
    if event.address and event.what in traces.TOUCHES:
        return f"{event.what} {trace.name(event.address)}"
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


# --- the parts --------------------------------------------------------------------------------


def ring_events(trace):
    """A track per stage."""
    found = []
    for number, stage in enumerate(traces.stages(trace)):
        found.append(meta("thread_name", RING, number, stage.name))
        for state, begin, end in traces.states(stage, trace.end):
            found.append(slice_of(RING, number, STATES[state], begin, end))
    return found


def warp_events(trace):
    """A track per warp. What a group of wgmmas takes is asynchronous: other things go on."""
    found = []
    for warp in trace.warps:
        found.append(meta("thread_name", WARPS, warp.number, trace.title(warp)))
        for event in warp.events:
            name = title(trace, event)
            found.append(
                slice_of(
                    WARPS, warp.number, name, event.begin, event.end, **arguments(trace, event)
                )
            )
    return found


def flights(trace):
    """Loads, stores and wgmmas on their way: (name, begin, end, arguments)."""
    found = []
    for stage in traces.stages(trace):
        for number, fill in enumerate(stage.fills):
            end = trace.end if fill.landed is None else fill.landed
            found.append((f"fill of {stage.name}", fill.begin, end, {"number": number + 1}))
    for warp in trace.warps:
        for event, done in zip(warp.of("multiply"), traces.completion(trace, warp)):
            end = trace.end if done is None else done
            words = {"by": trace.title(warp), "a": trace.name(event.address)}
            found.append(("wgmmas", event.begin, end, words))
    for warp, tile, begin, done in traces.stores(trace):
        end = trace.end if done is None else done
        found.append((f"store of {trace.name(tile)}", begin, end, {"by": trace.title(warp)}))
    return sorted(found, key=lambda one: one[1:3])


def export(trace):
    """The whole file, as an object."""
    events = [
        meta("process_name", pid, 0, f"{name}, CTA {trace.record['launch']['cta']}")
        for pid, name in PROCESSES.items()
    ]
    events += ring_events(trace) + warp_events(trace)
    for identity, one in enumerate(flights(trace)):
        events += flight(identity, *one)
    unit = trace.record["time"]["unit"]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "step": trace.record["step"],
            "time": f"1 ns in the viewer stands for one of the {unit}",
            "commit": trace.record["commit"],
            "date": trace.record["date"],
            "machine": trace.record["gpu"]["name"] if trace.record["gpu"] else "CPU emulator",
        },
    }


# --- whether a viewer would show all of it -----------------------------------------------------


def check(viewer):
    """Invalid, saying where, unless the slices of each track lie side by side or inside of each other:
    a viewer would show others wrongly."""
    open_until = {}
    slices = [event for event in viewer["traceEvents"] if event["ph"] == "X"]
    ends = {id(one): round((one["ts"] + one["dur"]) * PER_NANOSECOND) for one in slices}
    for one in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
        track, begin, end = (
            (one["pid"], one["tid"]),
            round(one["ts"] * PER_NANOSECOND),
            ends[id(one)],
        )
        stack = open_until.setdefault(track, [])
        while stack and stack[-1] <= begin:
            stack.pop()
        why = f"'{one['name']}' at {begin} overlaps with the slice before it"
        require(not stack or end <= stack[-1], f"track {track}", why)
        stack.append(end)
