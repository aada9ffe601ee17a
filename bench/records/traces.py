"""What a recorded trace tells: who did what, and what became of each stage of the ring.

A trace is what the warps of one CTA wrote down in one launch (common/trace/). This module reads the
events of such a record, puts them together to fills (a stage is filled, stands full, is read, is
free), and says whether they can be true: check() refuses a damaged trace.

Times are cycles of the multiprocessor's clock, or emulated steps, which only have an order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.records.schema import Invalid, require

# What a warp writes down; bench/results/README.md says what the columns mean.
WHATS = (
    *("init", "wait", "arrive", "expect", "load", "multiply", "multiply wait"),
    *("store", "store commit", "store wait", "copy commit", "copy wait", "barrier", "cluster"),
    *("copy", "read", "write"),
)
TOUCHES = ("copy", "read", "write")  # done many times in a row: only the last time is known
ON_MBARRIERS = ("init", "wait", "arrive", "expect", "load")
COLUMNS = ("what", "begin", "end", "line", "address", "other", "value", "extra")
OPERATIONS = ("load", "multiply", "store read", "store write")
OPERATION_COLUMNS = ("kind", "own", "warp", "started", "happened", "tile", "barrier")
LANDED_COLUMNS = ("barrier", "after", "by")
TOKEN = 2  # in place of the parity that a wait names
EMULATED_STEPS = "emulated steps"


@dataclass(frozen=True)
class Event:
    """Something that one warp did."""

    what: str
    begin: int
    end: int
    line: int
    address: int
    other: int
    value: int
    extra: int


@dataclass(frozen=True)
class Warp:
    """A warp's events, in order."""

    number: int
    where: str  # in the record
    events: list

    def of(self, *whats):
        """Its events of these kinds."""
        return [event for event in self.events if event.what in whats]

    @property
    def loads(self):
        """Whether it starts TMA loads."""
        return any(event.what == "load" for event in self.events)

    @property
    def multiplies(self):
        """Whether it starts wgmmas."""
        return any(event.what == "multiply" for event in self.events)


@dataclass(frozen=True)
class Operation:
    """Something that was started and happened by itself, as the emulator told it."""

    kind: str
    own: int
    warp: int
    started: int
    happened: int
    tile: int
    barrier: int


@dataclass(frozen=True)
class Reading:
    """A warp reads a stage; end is None if the trace ends before."""

    warp: int
    begin: int
    end: int | None


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


def columns(table, names, where):
    """The rows of a table that is stored as columns of one length."""
    lengths = {len(table[name]) for name in names}
    require(len(lengths) == 1, where, f"columns of different lengths: {sorted(lengths)}")
    return list(zip(*(table[name] for name in names)))


def named(number, names, where):
    """The name that stands for that number."""
    require(number < len(names), where, f"{number} stands for none of {len(names)} names")
    return names[number]


class Trace:
    """A record of kind "trace", taken apart. Invalid if that cannot be done."""

    def __init__(self, record):
        require(record["whats"] == list(WHATS), "whats", "other names than this program knows")
        known = record["operation_kinds"] == list(OPERATIONS)
        require(known, "operation_kinds", "other names than this program knows")
        self.record = record
        self.end = record["time"]["end"]
        self.exact = record["time"]["unit"] == EMULATED_STEPS
        self.warps = [self.warp(warp, f"warps[{i}]") for i, warp in enumerate(record["warps"])]
        rows = columns(record["operations"], OPERATION_COLUMNS, "operations")
        self.operations = [
            Operation(named(row[0], OPERATIONS, f"operations.kind[{i}]"), *row[1:])
            for i, row in enumerate(rows)
        ]
        self.landed = columns(record["landed"], LANDED_COLUMNS, "landed")

    @staticmethod
    def warp(warp, where):
        """One warp and its events."""
        rows = columns(warp["events"], COLUMNS, f"{where}.events")
        events = [
            Event(named(row[0], WHATS, f"{where}.events.what[{i}]"), *row[1:])
            for i, row in enumerate(rows)
        ]
        return Warp(warp["warp"], where, events)

    def place(self, address):
        """(name, index or None) of what lies at that shared address, or None."""
        for one in self.record["shared"]:
            offset = address - one["address"]
            if 0 <= offset < one["bytes"] * one["count"]:
                return one["name"], offset // one["bytes"] if one["count"] > 1 else None
        return None

    def name(self, address):
        """'full[2]', or '0x400' for what has no name."""
        place = self.place(address)
        if place is None:
            return f"{address:#x}"
        return place[0] if place[1] is None else f"{place[0]}[{place[1]}]"

    def stage_of(self, address):
        """The stage that a shared address belongs to: of a single one, 0."""
        place = self.place(address)
        return place[1] or 0 if place else 0

    def source(self, line):
        """The line of the rung, or an empty text."""
        return self.record["source"].get(str(line), "")

    @property
    def in_turns(self):
        """Whether the consumers take turns, so that each reads some fills of the ring alone."""
        return any(one["name"] == "turn" for one in self.record["shared"])

    @property
    def grouped(self):
        """Whether one warp stands for a warpgroup."""
        return any(warp.multiplies for warp in self.warps)

    def title(self, warp):
        """'warpgroup 1 (consumer)' or 'warp 3'."""
        if not self.grouped:
            return f"warp {warp.number}"
        specialised = any(other.loads and not other.multiplies for other in self.warps)
        role = "producer" if warp.loads else "consumer"
        return f"warpgroup {warp.number // 4}" + (f" ({role})" if specialised else "")


# --- fills by TMA -----------------------------------------------------------------------------


def load_barriers(trace):
    """The mbarriers that loads complete on, in the order of their addresses."""
    return sorted({e.address for warp in trace.warps for e in warp.of("load")})


def on(trace, address, *whats):
    """All warps' events of these kinds on that mbarrier, by their begin."""
    found = [e for warp in trace.warps for e in warp.of(*whats) if e.address == address]
    return sorted(found, key=lambda event: event.begin)


def begun_fills(trace, address, stage):
    """The fills of one stage, each with the time of its first load, and its announcements."""
    expects = on(trace, address, "expect")
    loads = on(trace, address, "load")
    loads_first = not expects or loads[0].begin < expects[0].begin
    marks = [e.begin for e in expects]
    fills = {}
    for load in loads:
        before = sum(mark < load.begin for mark in marks)
        number = before if loads_first else before - 1
        fills.setdefault(number, Fill(stage, load.begin))
    return [fills[number] for number in sorted(fills)], expects


def waits_for(warp, address):
    """The warp's waits for that mbarrier."""
    return [e for e in warp.of("wait") if e.address == address]


def waited_for(trace, fills, wait, waits_before):
    """Which of the fills of its stage a warp waits for that has waited for so many of them. In turns
    it leaves out the other consumer's: when its wait ends, no later fill has begun, as a stage is
    filled again only when it was read."""
    if not trace.in_turns:
        return waits_before
    return sum(fill.begin <= wait.end for fill in fills) - 1


def land(trace, address, fills, expects):
    """Says of the fills when they landed, as far as somebody saw it."""
    for warp in trace.warps:
        for before, wait in enumerate(waits_for(warp, address)):
            number = waited_for(trace, fills, wait, before)
            if 0 <= number < len(fills):
                fill = fills[number]
                fill.landed = wait.end if fill.landed is None else min(fill.landed, wait.end)
    if trace.exact:
        land_by_operations(trace, address, fills)
        return
    for barrier, after, by in trace.landed:
        number = sum(expect.end <= by for expect in expects) - 1
        if barrier == address and 0 <= number < len(fills):
            fill = fills[number]
            where = f"{trace.name(address)}, fill {number + 1}"
            require(fill.landed_after is None, where, "has landed twice")
            fill.landed_after = after
            fill.landed = by if fill.landed is None else min(fill.landed, by)


def land_by_operations(trace, address, fills):
    """The same from what the emulator told. The loads of one fill have landed when it is first seen
    to be full; the next ones land after that. A peer may start its part of a fill first."""
    loads = [o for o in trace.operations if o.kind == "load" and o.barrier == address]
    per_fill = sum(o.happened <= fills[0].landed for o in loads) if fills[0].landed else 0
    for number, fill in enumerate(fills):
        own = loads[number * per_fill : (number + 1) * per_fill] if per_fill else []
        if len(own) < max(per_fill, 1):
            fill.landed = None
            continue
        fill.begin = min(fill.begin, *(load.started for load in own))
        fill.landed = max(load.happened for load in own)
        fill.landed_after = fill.landed - 1


def completion(trace, warp):
    """When each of the warp's groups of wgmmas was complete, or None; by their order. On a GPU when
    the warp has seen it; it may be behind the other lanes of the emulator's warpgroup."""
    if trace.exact:
        return completion_by_operations(trace, warp)
    done = []
    known = 0
    for event in warp.events:
        if event.what == "multiply":
            done.append(None)
        elif event.what == "multiply wait":
            while known < len(done) - event.value:
                done[known] = event.end
                known += 1
    return done


def completion_by_operations(trace, warp):
    """The same from what the emulator told: the operations of a warpgroup happen in their order."""
    happened = [
        one.happened
        for one in trace.operations
        if one.kind == "multiply" and one.warp // 4 == warp.number // 4
    ]
    done, last = [], -1
    for event in warp.of("multiply"):
        last += event.value
        done.append(happened[last] if 0 <= last < len(happened) else None)
    return done


def between(events, begin, end):
    """Those that begin between the two times."""
    return [event for event in events if begin <= event.begin < end]


def readings_after(trace, warp, wait, until):
    """How a warp reads what it has waited for, until it waits for the next."""
    if warp.multiplies:
        groups = zip(warp.of("multiply"), completion(trace, warp))
        within = [(e, done) for e, done in groups if wait.end <= e.begin < until]
        return [Reading(warp.number, event.begin, done) for event, done in within]
    reads = between(warp.of("read"), wait.end, until)
    if reads:
        return [Reading(warp.number, e.begin, e.end) for e in reads]
    behind = between(warp.of("barrier"), wait.end, until)  # read by plain accesses, before it
    return [Reading(warp.number, wait.end, behind[0].begin if behind else None)]


def read_fills(trace, fills_of):
    """Adds the readings of every warp to the fills; fills_of: mbarrier -> its fills."""
    for warp in trace.warps:
        waits = [e for e in warp.of("wait") if e.address in fills_of]
        counted = dict.fromkeys(fills_of, 0)
        for number, wait in enumerate(waits):
            fills = fills_of[wait.address]
            index = waited_for(trace, fills, wait, counted[wait.address])
            counted[wait.address] += 1
            until = waits[number + 1].begin if number + 1 < len(waits) else trace.end + 1
            if trace.in_turns:
                why = f"waits for parity {wait.value} of fill {index + 1} of {trace.name(wait.address)}"
                require(wait.value == index % 2, warp.where, why)
            if index < len(fills):
                fills[index].readings += readings_after(trace, warp, wait, until)


def tma_fills(trace):
    """All fills by TMA, stage by stage: mbarrier -> fills."""
    found = {}
    for stage, address in enumerate(load_barriers(trace)):
        fills, expects = begun_fills(trace, address, stage)
        land(trace, address, fills, expects)
        found[address] = fills
    read_fills(trace, found)
    return found


# --- fills by threads -------------------------------------------------------------------------


def warp_fills(trace, warp):
    """What one warp copies, in its order: (stage, begin, landed or None)."""
    found = []
    groups = []  # of cp.async: how many of the copies were started when each was closed
    known = 0
    asynchronous = any(e.what == "copy commit" for e in warp.events)
    for event in warp.events:
        if event.what == "copy":
            landed = None if asynchronous else event.end
            found.append([trace.stage_of(event.address), event.begin, landed])
        elif event.what == "copy commit":
            groups.append(len(found))
        elif event.what == "copy wait" and len(groups) > event.value:
            complete = groups[len(groups) - 1 - event.value]
            for one in found[known:complete]:
                one[2] = event.end
            known = max(known, complete)
    return found


def thread_fills(trace):
    """All fills by threads' copies, in their order. A fill is every warp's part together."""
    parts = [warp_fills(trace, warp) for warp in trace.warps]
    fills = []
    for number in range(max(map(len, parts), default=0)):
        mine = [part[number] for part in parts if number < len(part)]
        fill = Fill(mine[0][0], min(begin for _, begin, _ in mine))
        ends = [landed for _, _, landed in mine]
        if len(mine) == len(parts) and None not in ends:
            fill.landed = fill.landed_after = max(ends)
        require(
            all(stage == fill.stage for stage, _, _ in mine),
            "warps",
            f"copy number {number + 1} goes to different stages",
        )
        fills.append(fill)
    for warp in trace.warps:
        for event in warp.of("read"):
            own = [f for f in fills if f.stage == trace.stage_of(event.address)]
            before = [f for f in own if f.landed is not None and f.landed <= event.end]
            if before:
                before[-1].readings.append(Reading(warp.number, event.begin, event.end))
    return fills


# --- stages -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """One row of the picture: a stage's name and its fills, in order."""

    name: str
    fills: list


def stages(trace):
    """The stages of the ring that operands go through; empty if there is none."""
    by_barrier = tma_fills(trace)
    if by_barrier:
        return [Stage(f"stage {i}", fills) for i, fills in enumerate(by_barrier.values())]
    if not any(warp.of("copy") for warp in trace.warps):
        return []
    fills = thread_fills(trace)
    numbers = sorted({fill.stage for fill in fills})
    return [Stage(f"stage {n}", [f for f in fills if f.stage == n]) for n in numbers]


def states(stage, end):
    """What the stage is, one after the other: (state, begin, end); between them it is free."""
    found = []
    for fill in stage.fills:
        landed, taken, done = fill.landed, fill.taken, fill.done
        found.append(("filled", fill.begin, end if landed is None else landed))
        if landed is None:
            continue
        found.append(("full", landed, end if taken is None else max(taken, landed)))
        if taken is not None:
            found.append(("read", max(taken, landed), end if done is None else done))
    return [one for one in found if one[2] > one[1]]


def stores(trace):
    """TMA stores: (warp, tile, begin, when the tile was seen to be read or None)."""
    found = []
    for warp in trace.warps:
        groups, opened, known = [], [], 0
        for event in warp.events:
            if event.what == "store":
                opened.append([warp, event.other, event.begin, None])
            elif event.what == "store commit":
                groups.append(opened)
                opened = []
            elif event.what == "store wait":
                while known < len(groups) - event.value:
                    for store in groups[known]:
                        store[3] = event.end
                    known += 1
        found += [tuple(store) for group in (*groups, opened) for store in group]
    return found


# --- spans: what a warp does ------------------------------------------------------------------

SPANS = {
    "waits": ("wait", "barrier", "cluster", "copy wait", "store wait"),
    "loads": ("expect", "load", "copy", "copy commit"),
    "multiplies": ("read",),
    "stores": ("write", "store", "store commit"),
}
SPAN_OF = {what: kind for kind, whats in SPANS.items() for what in whats}


def spans(trace, warp):
    """What the warp does, for a row of the picture: (kind, begin, end). What it multiplies may
    overlap with what else it does."""
    found = [
        (SPAN_OF[event.what], event.begin, event.end)
        for event in warp.events
        if event.what in SPAN_OF and event.end > event.begin
    ]
    for event, done in zip(warp.of("multiply"), completion(trace, warp)):
        found.append(("multiplies", event.begin, trace.end if done is None else done))
    return sorted(found, key=lambda span: span[1:])


# --- whether it can be true -------------------------------------------------------------------


def placed(warp):
    """Its events, each with its field."""
    return ((f"{warp.where}.events[{i}]", event) for i, event in enumerate(warp.events))


def check_order(trace, warp):
    """Events of one warp come one after the other."""
    before = 0
    for where, event in placed(warp):
        require(event.begin <= event.end, where, f"{event.what} ends before it begins")
        why = f"{event.what} begins at {event.begin}, before {before}, the end of what precedes it"
        require(before <= event.begin, where, why)
        require(event.end <= trace.end, where, f"{event.what} ends behind the trace's end")
        before = event.end


def check_mbarriers(trace, warp):
    """What is done at mbarriers is done at mbarriers, and their parities alternate."""
    parities = {}
    skipped = load_barriers(trace) if trace.in_turns else []
    for where, event in placed(warp):
        if event.what in ON_MBARRIERS:
            place = trace.place(event.address)
            why = f"{event.what} at {event.address:#x}, which is no mbarrier"
            require(place is not None and place[0] not in ("a", "b", "d"), where, why)
        if event.what == "wait" and event.value != TOKEN:
            name = trace.name(event.address)
            require(event.value in (0, 1), where, f"waits for parity {event.value} of {name}")
            last = parities.get(event.address)
            why = f"waits for parity {event.value} of {name} twice in a row: phases alternate"
            require(last != event.value or event.address in skipped, where, why)
            parities[event.address] = event.value


def check_groups(warp):
    """Nobody waits for a group of wgmmas before the first was started."""
    started = False
    for where, event in placed(warp):
        started |= event.what == "multiply"
        if event.what == "multiply wait":
            require(started, where, "a multiply wait, and no multiply came before it")


def check_operand(trace, warp):
    """wgmmas read the stage that the warp has waited for."""
    barriers = load_barriers(trace)
    waited = None
    for where, event in placed(warp):
        if event.what == "wait" and event.address in barriers:
            waited = barriers.index(event.address)
        place = trace.place(event.address) if event.what == "multiply" else None
        if place is None or place[1] is None or waited is None:
            continue
        why = f"a wgmma reads {trace.name(event.address)}, and the warp waited for stage {waited}"
        require(place[1] == waited, where, why)


def check_fill(stage, number, fill):
    """One pass of a stage: filled, landed, read, in this order."""
    where = f"{stage.name}, fill {number + 1}"
    if fill.readings:
        require(fill.landed is not None, where, "is read, and has no end: it never landed")
    if fill.landed is not None:
        why = f"landed at {fill.landed}, before it was started at {fill.begin}"
        require(fill.landed >= fill.begin, where, why)
    for reading in fill.readings:
        lower = fill.begin if fill.landed_after is None else fill.landed_after
        why = f"warp {reading.warp} reads it at {reading.begin}; at {lower} it had not landed"
        require(reading.begin >= lower, where, why)


def check_stages(trace):
    """No stage is filled while it is read, and none is left unread."""
    for stage in stages(trace):
        for number, fill in enumerate(stage.fills):
            check_fill(stage, number, fill)
            if number == 0:
                continue
            last, where = stage.fills[number - 1], f"{stage.name}, fill {number + 1}"
            require(fill.begin >= last.begin, where, "begins before the one before it")
            require(
                last.landed is not None,
                where,
                f"begins at {fill.begin}, and the one before has no end: it never landed",
            )
            for reading in last.readings:
                ends = trace.end if reading.end is None else reading.end
                why = f"begins at {fill.begin}, while warp {reading.warp} reads the stage"
                require(fill.begin >= ends, where, f"{why} until {ends}")


def check_operations(trace):
    """What was started has happened, and not before."""
    for index, operation in enumerate(trace.operations):
        where = f"operations[{index}]"
        why = f"a {operation.kind} happened at {operation.happened}, before it was started"
        require(operation.started < operation.happened, where, why)
    for index, (_, after, by) in enumerate(trace.landed):
        require(after <= by, f"landed[{index}]", f"not before {after}, and by {by}")


def check(record):
    """Invalid, saying where, unless the events of the record, whose form is right, can be true."""
    trace = Trace(record)
    numbers = [warp.number for warp in trace.warps]
    require(numbers == sorted(set(numbers)), "warps", "not in order, or not once each")
    for warp in trace.warps:
        check_order(trace, warp)
        check_mbarriers(trace, warp)
        check_groups(warp)
        check_operand(trace, warp)
    check_operations(trace)
    check_stages(trace)


__all__ = ["Invalid", "Trace", "check", "spans", "stages", "states", "stores"]
