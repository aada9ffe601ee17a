"""A recorded trace as the page's script wants it: at each moment the state of every stage of the ring,
what each warp does, and the line of the rung that it is at. All of it is what the trace tells."""

from __future__ import annotations

import re

from bench.records import recorded, traces

# What an event says; bench/traces/README.md says what its numbers mean.
WORDS = {
    "init": "initialises {at}: {value} arrivals",
    "wait": "waits for {at}, parity {value}",
    "arrive": "arrives on {at}",
    "expect": "arrives on {at} and announces {value:,} bytes",
    "load": "starts the load of {tile}",
    "multiply": "starts {value} wgmmas on {at} and {tile}",
    "multiply wait": "waits until at most {value} groups of its wgmmas are in flight",
    "store": "starts a TMA store from {tile}",
    "store commit": "commits its TMA stores",
    "store wait": "waits until its TMA stores are {stored}",
    "barrier": "waits at barrier {value}",
    "cluster": "waits for the cluster",
    "write": "writes results",
}
LEFT = {0: "waits until its wgmmas are complete", traces.TOKEN: "waits for {at}, by token"}
BK = re.compile(r"^constexpr int BK = (\d+);", re.MULTILINE)


def lines_today(recorded_lines, text):
    """{a line's number when the trace was recorded: today's}, for those that are still there. They
    keep their order; a comment doesn't count."""
    today = [line.partition("//")[0].strip() for line in text.splitlines()]
    found, at = {}, 0
    for number, line in sorted((int(number), line) for number, line in recorded_lines.items()):
        same = [i for i in range(at, len(today)) if today[i] == line]
        if same:
            at = number - 1 if number - 1 in same else same[0]
            found[number] = at = at + 1
    return found


def words_of(trace, event):
    """What a warp does in an event, in a few words."""
    said = WORDS[event.what]
    if (event.what, event.value) in (("wait", traces.TOKEN), ("multiply wait", 0)):
        said = LEFT[event.value]
    stored = "read from shared memory" if event.extra else "complete"
    places = {"at": trace.name(event.address), "tile": trace.name(event.other)}
    return said.format(value=event.value, stored=stored, **places)


def fills_of(trace, text):
    """Each stage's fills, in words and times; what the trace doesn't see is after its end."""
    stages, never = traces.stages(trace), trace.end + 1
    order = sorted(fill.begin for stage in stages for fill in stage.fills)
    per_tile = trace.record["problem"]["k"] // int(BK.search(text)[1])
    places = {warp.number: place for place, warp in enumerate(trace.warps)}

    def known(time):
        return never if time is None else time

    return [
        [
            {
                "what": "tile {}, k-tile {}".format(*divmod(order.index(fill.begin), per_tile)),
                "begin": fill.begin,
                "landed": known(fill.landed),
                "taken": known(fill.taken),
                "done": known(fill.done),
                "readings": [[places[r.warp], r.begin, known(r.end)] for r in fill.readings],
            }
            for fill in stage.fills
        ]
        for stage in stages
    ]


def moving(name, text):
    """What the rung's page shows of its trace on the emulator, or None: `text` is the rung."""
    path = recorded.TRACES / f"{name}-emulator.json"
    if not path.is_file():
        return None
    record = recorded.load_record(path)
    trace = traces.Trace(record)
    lines, fills = lines_today(record["source"], text), fills_of(trace, text)
    warps = [
        [
            [event.begin, event.end, lines.get(event.line, 0), words_of(trace, event)]
            for event in warp.events
        ]
        for warp in trace.warps
    ]
    changes = ("begin", "landed", "taken", "done")
    times = {fill[change] for stage in fills for fill in stage for change in changes}
    times.update(event[0] for events in warps for event in events)
    return {
        "fills": fills,
        "warps": warps,
        "titles": [trace.title(warp) for warp in trace.warps],
        "moments": sorted(time for time in times if time <= trace.end),
        "end": trace.end,
        "complete": not record["events_left_out"],
        "commit": record["commit"],
    }
