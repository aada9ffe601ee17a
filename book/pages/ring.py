"""A recorded trace as the page's script wants it: at each moment the state of every stage of the ring,
what each warp does, and the line of the rung that it is at. All of it is what the trace tells."""

from __future__ import annotations

import re

from bench import trace as traces
from book.pages import highlight

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
            [begin, end, lines.get(line, 0), words]
            for begin, end, line, words in traces.told_of(warp)
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
        "commit": trace.run.commit,
    }
