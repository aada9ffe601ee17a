"""What a recorded trace tells: who did what, and what became of each stage of the ring.

A trace is what the warps of one CTA wrote down in one launch (common/trace/). This module reads the
events of such a record, puts them together to fills (a stage is filled, stands full, is read, is
free), and says whether they can be true: check() refuses a damaged trace.

Times are cycles of the multiprocessor's clock, or emulated steps, which only have an order.
"""

from __future__ import annotations

from collections import Counter, namedtuple
from dataclasses import dataclass, field
from itertools import accumulate

from bench.records.schema import require

# What a warp writes down; bench/traces/README.md says what the columns mean.
WHATS = (
    *("init", "wait", "arrive", "expect", "load", "multiply", "multiply wait"),
    *("store", "store commit", "store wait", "copy commit", "copy wait", "barrier", "cluster"),
    *("copy", "read", "write"),
)
TOUCHES = ("copy", "read", "write")  # done many times in a row: only the last time is known
ON_MBARRIERS = ("init", "wait", "arrive", "expect", "load")
OPERATIONS = ("load", "multiply", "store read", "store write")
TOKEN = 2  # in place of the parity that a wait names
EMULATED_STEPS = "emulated steps"
# What a warp does in a row of the picture, by its events.
SPANS = {
    "waits": ("wait", "barrier", "cluster", "copy wait", "store wait"),
    "loads": ("expect", "load", "copy", "copy commit"),
    "multiplies": ("read",),
    "stores": ("write", "store", "store commit"),
}
SPAN_OF = {what: kind for kind, whats in SPANS.items() for what in whats}


# Something that one warp did; the fields are the columns of the file.
Event = namedtuple("Event", "what begin end line address other value extra")
# Something that was started and happened by itself, as the emulator told it.
Operation = namedtuple("Operation", "kind own warp started happened tile barrier")
# Loads that a GPU's warp saw incomplete at one time and complete at another.
Landing = namedtuple("Landing", "barrier after by")
# A warp reads a stage; the end is None if the trace ends before.
Reading = namedtuple("Reading", "warp begin end")
# One row of the picture: a stage's name and its fills, in order.
Stage = namedtuple("Stage", "name fills")


class Warp:
    """A warp's events, in order; `where` they are in the record."""

    def __init__(self, number, where, events):
        self.number, self.where, self.events = number, where, events
        self.kinds = {}  # the same by what they are
        for event in events:
            self.kinds.setdefault(event.what, []).append(event)
        self.loads = bool(self.of("load"))  # by TMA
        self.multiplies = bool(self.of("multiply"))  # by wgmma

    def of(self, what):
        """Its events of that kind."""
        return self.kinds.get(what, [])


@dataclass
class Fill:
    """One pass of a stage: it is filled, and then read."""

    stage: int
    begin: int
    landed: int | None = None  # the earliest time at which it was seen to be full
    landed_after: int | None = None  # a time at which it was not full yet
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


def rows(table, kind, where, names=()):
    """The rows of a table that is stored as columns of one length. Numbers in the first column stand
    for the names, if there are some."""
    columns = [table[name] for name in kind._fields]
    lengths = set(map(len, columns))
    require(len(lengths) == 1, where, f"columns of different lengths: {sorted(lengths)}")
    if names:
        unknown = [number for number in columns[0] if number >= len(names)]
        require(not unknown, where, f"{unknown[:1]} stands for none of {len(names)} names")
        columns[0] = [names[number] for number in columns[0]]
    return [kind(*row) for row in zip(*columns)]


class Trace:
    """A record of kind "trace", taken apart. Invalid if that cannot be done."""

    def __init__(self, record):
        for key, names in (("whats", WHATS), ("operation_kinds", OPERATIONS)):
            require(record[key] == list(names), key, "other names than this program knows")
        self.record = record
        self.end = record["time"]["end"]
        self.exact = record["time"]["unit"] == EMULATED_STEPS
        self.warps = []
        for i, warp in enumerate(record["warps"]):
            events = rows(warp["events"], Event, f"warps[{i}].events", WHATS)
            self.warps.append(Warp(warp["warp"], f"warps[{i}]", events))
        self.operations = rows(record["operations"], Operation, "operations", OPERATIONS)
        self.landed = rows(record["landed"], Landing, "landed")
        names = [one["name"] for one in record["shared"]]
        self.in_turns = "turn" in names  # the consumers': each reads some fills of the ring alone
        self.grouped = any(warp.multiplies for warp in self.warps)  # a warp stands for a warpgroup

    def place(self, address):
        """(name, index or None) of what lies at that shared address, or None."""
        for one in self.record["shared"]:
            offset = address - one["address"]
            if 0 <= offset < one["bytes"] * one["count"]:
                return one["name"], offset // one["bytes"] if one["count"] > 1 else None
        return None

    def name(self, address):
        """'full[2]', or '0x400' for what has no name."""
        name, index = self.place(address) or (f"{address:#x}", None)
        return name if index is None else f"{name}[{index}]"

    def stage_of(self, address):
        """The stage that a shared address belongs to: of a single one, 0."""
        _, index = self.place(address) or ("", None)
        return index or 0

    def source(self, line):
        """The line of the rung, or an empty text."""
        return self.record["source"].get(str(line), "")

    def title(self, warp):
        """'warpgroup 1 (consumer)' or 'warp 3'."""
        if not self.grouped:
            return f"warp {warp.number}"
        specialised = any(other.loads and not other.multiplies for other in self.warps)
        role = "producer" if warp.loads else "consumer"
        return f"warpgroup {warp.number // 4}" + (f" ({role})" if specialised else "")


# --- what happens by itself -------------------------------------------------------------------


def in_groups(warp, start, commit, wait):
    """[[event, when the warp saw its group complete, or None]] of all that it started, in order. A
    commit closes a group; a wait names how many of the latest groups may remain."""
    found, closed, known = [], [], 0  # closed: how many were started when each group was closed
    for event in warp.events:
        if event.what == start:
            found.append([event, None])
        if event.what == commit:
            closed.append(len(found))
        elif event.what == wait and len(closed) > event.value:
            complete = closed[-1 - event.value]
            for one in found[known:complete]:
                one[1] = event.end
            known = max(known, complete)
    return found


def multiplications(trace, warp):
    """[[event, when it was complete, or None]] of the warp's groups of wgmmas. On a GPU when the warp
    has seen it; on the emulator when the last of the group happened: the operations of a warpgroup
    happen in their order, and the warp may be behind its other lanes."""
    found = in_groups(warp, "multiply", "multiply", "multiply wait")
    if not trace.exact:
        return found
    happened = [
        one.happened
        for one in trace.operations
        if one.kind == "multiply" and one.warp // 4 == warp.number // 4
    ]
    until = accumulate(event.value for event, _ in found)
    return [
        [event, happened[count - 1] if 0 < count <= len(happened) else None]
        for (event, _), count in zip(found, until)
    ]


def stores(trace):
    """TMA stores: (warp, tile, begin, when the tile was seen to be read or None)."""
    return [
        (warp, event.other, event.begin, done)
        for warp in trace.warps
        for event, done in in_groups(warp, "store", "store commit", "store wait")
    ]


# --- fills by TMA -----------------------------------------------------------------------------


def load_barriers(trace):
    """The mbarriers that loads complete on, in the order of their addresses."""
    return sorted({e.address for warp in trace.warps for e in warp.of("load")})


def on(trace, address, what):
    """All warps' events of that kind on that mbarrier, by their begin."""
    found = [e for warp in trace.warps for e in warp.of(what) if e.address == address]
    return sorted(found, key=lambda event: event.begin)


def begun_fills(trace, address, stage):
    """The fills of one stage, each with the time of its first load. An announcement (expect) begins
    a fill, before its loads or after them."""
    marks = [event.begin for event in on(trace, address, "expect")]
    loads = on(trace, address, "load")
    loads_first = not marks or loads[0].begin < marks[0]
    fills = {}
    for load in loads:
        number = sum(mark < load.begin for mark in marks) - (not loads_first)
        fills.setdefault(number, Fill(stage, load.begin))
    return [fills[number] for number in sorted(fills)]


def waits_for(trace, ring):
    """Who waits for which fill: (warp, its wait, the fill's number, when it waits for the next). ring:
    mbarrier -> fills. Where consumers take turns a warp leaves out the other's fills: when its wait
    ends, no later fill has begun, as a stage is filled again only when it was read."""
    for warp in trace.warps:
        waits = [event for event in warp.of("wait") if event.address in ring]
        before = Counter()
        for wait, after in zip(waits, [*waits[1:], None]):
            number = before[wait.address]
            before[wait.address] += 1
            if trace.in_turns:
                number = sum(fill.begin <= wait.end for fill in ring[wait.address]) - 1
            yield warp, wait, number, trace.end + 1 if after is None else after.begin


def first_of(landed, time):
    """The earlier of two times, of which the first may be unknown."""
    return time if landed is None else min(landed, time)


def land(trace, ring):
    """Says of the fills when they landed, as far as somebody saw it."""
    for _, wait, number, _ in waits_for(trace, ring):
        for fill in ring[wait.address][number : number + 1] if number >= 0 else ():
            fill.landed = first_of(fill.landed, wait.end)
    if trace.exact:
        for address, fills in ring.items():
            land_by_operations(trace, address, fills)
    for landing in trace.landed:
        fills = ring.get(landing.barrier, ())
        expects = on(trace, landing.barrier, "expect")
        number = sum(event.end <= landing.by for event in expects) - 1
        if 0 <= number < len(fills):
            fill = fills[number]
            where = f"{trace.name(landing.barrier)}, fill {number + 1}"
            require(fill.landed_after is None, where, "has landed twice")
            fill.landed_after = landing.after
            fill.landed = first_of(fill.landed, landing.by)


def land_by_operations(trace, address, fills):
    """The same from what the emulator told. The loads of one fill have landed when it is first seen
    to be full; the next ones land after that. A peer may start its part of a fill first."""
    loads = [o for o in trace.operations if o.kind == "load" and o.barrier == address]
    seen = fills[0].landed
    per_fill = sum(one.happened <= seen for one in loads) if seen else 0
    for number, fill in enumerate(fills):
        own = loads[number * per_fill : (number + 1) * per_fill]
        fill.landed = None
        if own and len(own) == per_fill:
            fill.begin = min(fill.begin, *(load.started for load in own))
            fill.landed = max(load.happened for load in own)
            fill.landed_after = fill.landed - 1


def readings_after(warp, groups, wait, until):
    """How a warp with these groups of wgmmas reads what it has waited for, until it waits for the
    next."""

    def within(event):
        return wait.end <= event.begin < until

    if groups:
        return [Reading(warp.number, e.begin, done) for e, done in groups if within(e)]
    reads = list(filter(within, warp.of("read")))
    if reads:
        return [Reading(warp.number, event.begin, event.end) for event in reads]
    # It reads by plain accesses, before the next barrier.
    behind = next(filter(within, warp.of("barrier")), None)
    return [Reading(warp.number, wait.end, behind and behind.begin)]


def tma_fills(trace):
    """All fills by TMA, stage by stage: mbarrier -> fills."""
    barriers = load_barriers(trace)
    ring = {address: begun_fills(trace, address, i) for i, address in enumerate(barriers)}
    land(trace, ring)
    groups = {warp.number: multiplications(trace, warp) for warp in trace.warps}
    for warp, wait, number, until in waits_for(trace, ring):
        fills = ring[wait.address]
        if trace.in_turns:
            why = (
                f"waits for parity {wait.value} of fill {number + 1} of {trace.name(wait.address)}"
            )
            require(wait.value == number % 2, warp.where, why)
        if number < len(fills):
            fills[number].readings += readings_after(warp, groups[warp.number], wait, until)
    return ring


# --- fills by threads -------------------------------------------------------------------------


def copies(trace, warp):
    """What one warp copies, in its order: (stage, begin, landed or None)."""
    asynchronous = warp.of("copy commit")
    return [
        (trace.stage_of(event.address), event.begin, done if asynchronous else event.end)
        for event, done in in_groups(warp, "copy", "copy commit", "copy wait")
    ]


def thread_fills(trace):
    """All fills by threads' copies, in their order. A fill is every warp's part together."""
    parts = [copies(trace, warp) for warp in trace.warps]
    fills = []
    for number in range(max(map(len, parts))):
        mine = [part[number] for part in parts if number < len(part)]
        into, begins, ends = zip(*mine)
        fill = Fill(into[0], min(begins))
        if len(mine) == len(parts) and None not in ends:
            fill.landed = fill.landed_after = max(ends)
        why = f"copy number {number + 1} goes to different stages"
        require(set(into) == {fill.stage}, "warps", why)
        fills.append(fill)
    for warp in trace.warps:
        for event in warp.of("read"):
            own = [fill for fill in fills if fill.stage == trace.stage_of(event.address)]
            before = [f for f in own if f.landed is not None and f.landed <= event.end]
            if before:
                before[-1].readings.append(Reading(warp.number, event.begin, event.end))
    return fills


# --- stages and spans -------------------------------------------------------------------------


def stages(trace):
    """The stages of the ring that operands go through; empty if there is none."""
    ring = tma_fills(trace)
    if ring:
        return [Stage(f"stage {i}", fills) for i, fills in enumerate(ring.values())]
    fills = thread_fills(trace)
    numbers = sorted({fill.stage for fill in fills})
    return [Stage(f"stage {n}", [f for f in fills if f.stage == n]) for n in numbers]


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


# --- whether it can be true -------------------------------------------------------------------


def check_warp(trace, warp):
    """A warp's events come one after the other; the phases for which it waits alternate; its wgmmas
    read the stage that it has waited for."""
    ring = load_barriers(trace)
    before, parities, waited = 0, {}, None
    for i, event in enumerate(warp.events):
        where, what = f"{warp.where}.events[{i}]", event.what
        begin, address = event.begin, event.address
        require(begin <= event.end, where, f"{what} ends before it begins")
        why = f"{what} begins at {begin}, before {before}, the end of what precedes it"
        require(before <= begin, where, why)
        require(event.end <= trace.end, where, f"{what} ends behind the trace's end")
        before = event.end
        place = trace.place(address)
        if what in ON_MBARRIERS:
            why = f"{what} at {address:#x}, which is no mbarrier"
            require(place is not None and place[0] not in ("a", "b", "d"), where, why)
        if what == "wait" and address in ring:
            waited = ring.index(address)
        if what == "wait" and event.value != TOKEN:
            why = f"waits for parity {event.value} of {trace.name(address)}"
            require(event.value in (0, 1), where, why)
            other = parities.get(address) != event.value or (trace.in_turns and address in ring)
            require(other, where, f"{why} twice in a row: phases alternate")
            parities[address] = event.value
        if what == "multiply" and place and None not in (place[1], waited):
            why = f"a wgmma reads {trace.name(address)}, and the warp waited for stage {waited}"
            require(place[1] == waited, where, why)


def check_fill(trace, fill, before, where):
    """One pass of a stage: filled when the one before it was read, landed, read, in this order."""
    if fill.readings:
        require(fill.landed is not None, where, "is read, and has no end: it never landed")
    if fill.landed is not None:
        why = f"landed at {fill.landed}, before it was started at {fill.begin}"
        require(fill.landed >= fill.begin, where, why)
    lower = fill.begin if fill.landed_after is None else fill.landed_after
    for reading in fill.readings:
        why = f"warp {reading.warp} reads it at {reading.begin}; at {lower} it had not landed"
        require(reading.begin >= lower, where, why)
    if before is None:
        return
    require(fill.begin >= before.begin, where, "begins before the one before it")
    why = f"begins at {fill.begin}, and the one before has no end: it never landed"
    require(before.landed is not None, where, why)
    for reading in before.readings:
        end = trace.end if reading.end is None else reading.end
        why = f"begins at {fill.begin}, while warp {reading.warp} reads the stage until {end}"
        require(fill.begin >= end, where, why)


def check(record):
    """Invalid, saying where, unless the events of the record, whose form is right, can be true."""
    trace = Trace(record)
    for warp in trace.warps:
        check_warp(trace, warp)
    for stage in stages(trace):
        for number, (before, fill) in enumerate(zip([None, *stage.fills], stage.fills), 1):
            check_fill(trace, fill, before, f"{stage.name}, fill {number}")
