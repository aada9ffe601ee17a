"""A recorded trace as the page's script wants it: at each moment the state of every stage of the ring,
what each warp does, and the line of the rung that it is at. All of it is what the trace tells."""

from __future__ import annotations

import re

from bench import trace as traces
from book.pages import highlight

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
AROUND = 2  # lines that are shown before and after the one that a warp is at
CHANGES = ("begin", "landed", "taken", "done")  # of a stage's state
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
    """Each stage's fills, in words and times; null is what the trace doesn't see any more."""
    stages = traces.stages(trace)
    order = sorted(fill.begin for stage in stages for fill in stage.fills)
    per_tile = trace.run.problem["k"] // int(BK.search(text)[1])
    places = {warp.number: place for place, warp in enumerate(trace.warps)}
    return [
        [
            {
                "what": "tile {}, k-tile {}".format(*divmod(order.index(fill.begin), per_tile)),
                **{change: getattr(fill, change) for change in CHANGES},
                "readings": [[places[warp], begin, end] for warp, begin, end in fill.readings],
            }
            for fill in stage.fills
        ]
        for stage in stages
    ]


def moving(name, text):
    """What the rung's page shows of its trace on the emulator, or None if it has none or no k-tiles:
    `text` is the rung."""
    path = traces.TRACES / f"{name}-emulator.json"
    if not path.is_file() or not BK.search(text):
        return None
    trace = traces.Trace(traces.load(path))
    lines, fills = lines_today(trace.lines, text), fills_of(trace, text)
    warps = [
        [
            [event.begin, event.end, lines.get(event.line, 0), words_of(trace, event)]
            for event in warp.events
        ]
        for warp in trace.warps
    ]
    times = {fill[change] for stage in fills for fill in stage for change in CHANGES} - {None}
    times.update(event[0] for events in warps for event in events)
    html = highlight.lines_of(text)
    shown = {n for at in lines.values() for n in range(at - AROUND, at + AROUND + 1)}
    return {
        "code": {n: html[n - 1] for n in sorted(shown) if 0 < n <= text.count("\n")},
        "fills": fills,
        "warps": warps,
        "titles": [trace.title(warp) for warp in trace.warps],
        "moments": sorted(times),
        "end": trace.end,
        "complete": trace.complete,
        "commit": trace.run.commit,
    }
