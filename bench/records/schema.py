"""The recorded files' schema, written down once: which fields there are and what may stand in them.

A form is a function of a value and of the field where it stands; it raises Invalid, which names the
field, unless the value is right. figures.py says whether the figures follow from their samples.

kind            schema  what it is
ladder          1       some rungs on one shape by one protocol; each pass as its program wrote it
counters        1       what one launch of each program counted
run             2       everything that one `make ladder` measured: a list of ladders
emulated        2       everything that one `make ladder` counted on the emulator
trace           1       what the warps of one CTA did in one launch
energy          1       what the parts of a rung's kernel take by the driver's energy counter
"""

from __future__ import annotations

import math
import re
import time

from bench.records.vocabulary import (
    EARLY,
    LIMITS,
    MOVES,
    MOVING,
    NAME,
    PRODUCTS,
    PROTOCOLS,
    TRACKS,
    measure_of,
    name_order,
    ratio_to,
)

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
SCHEMAS = {
    "ladder": 1,
    "counters": 1,
    "run": 2,
    "emulated": 2,
    "trace": 1,
    "energy": 1,
}  # kind -> the one that is read


class Invalid(ValueError):
    """A record is not what the schema says: the field, and why."""

    def __init__(self, where, why):
        where = "".join(c if c.isprintable() else repr(c)[1:-1] for c in where)
        super().__init__(f"{where}: {why}" if where else why)


def require(condition, where, why):
    """Invalid unless the condition holds."""
    if not condition:
        raise Invalid(where, why)


def shown(value):
    """A value in an error message: not all of a long one."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# --- forms of values ------------------------------------------------------------------------


def text(value, where):
    """Some words on one line."""
    good = isinstance(value, str) and value and value.isprintable()
    require(good, where, f"{shown(value)} where a text should stand")


def flag(value, where):
    """true or false."""
    require(isinstance(value, bool), where, f"{shown(value)} is not true or false")


def number(value, where):
    """A finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not math.isfinite(
        value
    ):  # asked of every sample: no words unless they are wanted
        raise Invalid(where, f"{shown(value)} is not a number")


def positive(value, where):
    """A number above 0."""
    number(value, where)
    if value <= 0:
        raise Invalid(where, f"{value} is not above 0")


def whole(value, where):
    """An integer from 0 upwards."""
    good = isinstance(value, int) and not isinstance(value, bool)
    require(good and value >= 0, where, f"{shown(value)} is not a whole number")


def count(value, where):
    """An integer from 1 upwards."""
    whole(value, where)
    require(value > 0, where, "is 0")


def matching(pattern, what):
    """A text of that pattern."""

    def form(value, where):
        good = isinstance(value, str) and pattern.fullmatch(value)
        require(good, where, f"{shown(value)} is not {what}")

    return form


def one_of(*choices):
    """One of these values."""

    def form(value, where):
        good = any(type(value) is type(choice) and value == choice for choice in choices)
        require(good, where, f"{shown(value)}, not {' or '.join(map(repr, choices))}")

    return form


def nullable(form):
    """null, or the form."""
    return lambda value, where: None if value is None else form(value, where)


def list_of(form, least=0):
    """A list, every element of the form."""

    def check(value, where):
        require(isinstance(value, list), where, f"{shown(value)} is not a list")
        require(len(value) >= least, where, f"holds {len(value)}, not {least} or more")
        for index, element in enumerate(value):
            form(element, f"{where}[{index}]")

    return check


def map_to(form):
    """An object with any names, every value of the form."""

    def check(value, where):
        require(isinstance(value, dict), where, f"{shown(value)} is not an object")
        for key, element in value.items():
            form(element, f"{where}.{key}")

    return check


def fields(wanted, optional=None, others=False):
    """An object with these fields and perhaps the optional ones; with others if so said."""
    known = {**wanted, **(optional or {})}

    def check(value, where):
        require(isinstance(value, dict), where, f"{shown(value)} is not an object")
        dot = f"{where}." if where else ""
        for key in wanted:
            require(key in value, f"{dot}{key}", "is missing")
        for key, element in value.items():
            require(key in known or others, f"{dot}{key}", "is no field of this schema")
            if key in known:
                known[key](element, f"{dot}{key}")

    return check


def failed_or(form, failed):
    """The form, or that of something that has failed."""

    def check(value, where):
        require(isinstance(value, dict), where, f"{shown(value)} is not an object")
        (failed if "failed" in value else form)(value, where)

    return check


# --- what all kinds have in common ----------------------------------------------------------

step_name = matching(NAME, "the name of a rung, a variant or a rival")
COMMIT = matching(re.compile(r"([0-9a-f]{7,40}|unknown)(\+dirty)?"), "a commit such as 0a1b2c3")


def date(value, where):
    """A UTC time that there was."""
    matching(DATE, "a date such as 2026-01-31T12:00:00Z")(value, where)
    try:
        time.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError as error:
        raise Invalid(where, f"there is no {value}") from error


# Names and versions are shown as they are: nothing in them means something to Markdown or HTML.
word = matching(re.compile(r"[\w .,:+()/'-]{1,100}"), "a name or a version")
# The digest, of all bits of the output, stands in no record from before the programs wrote it.
DIGEST = matching(re.compile(r"0x[0-9a-f]{16}"), "a digest such as 0x0123456789abcdef")
RIGHT = nullable(one_of(0))  # how many are wrong; null if that was not looked for


def within_bound(value, where):
    """An error over the bound that it must not exceed."""
    number(value, where)
    require(0 <= value <= 1, where, f"{value} is not from 0 to 1")


PHASE = fields(
    {"checked": count, "wrong": one_of(0)},
    {"integer_range": count, "max_error_over_bound": within_bound},
)
PHASES = ("exact", "bounded", "timed_inputs", "after_timing")
OPINION = fields({}, {"name": text, **{f"{phase}_wrong": RIGHT for phase in PHASES}})
OPINIONS = (
    "host_product",
    "host_loop",
    PRODUCTS.other,
    *PRODUCTS.besides,
    MOVES.other,
    *MOVES.besides,
)
# It is verified: nothing in it may say otherwise.
VERIFICATION = fields(
    {"verified": one_of(True)},
    {
        "check": one_of("full", "sample"),
        "digest": DIGEST,
        **dict.fromkeys(PHASES, nullable(PHASE)),
        **dict.fromkeys(OPINIONS, OPINION),
        "guards_intact": one_of(True),
        "policies": word,
        "wrong_policy": one_of(None),
    },
)
GPU = fields(
    {
        "name": word,
        "compute_capability": word,
        "sms": count,
        "power_limit_watts": nullable(positive),
        "driver": nullable(word),
        "cuda": nullable(word),
        "cublas": nullable(word),
    },
    {"card": word},
    others=True,
)


def problem(dimensions):
    """What was computed, on which inputs."""
    wanted = {"computation": word, "inputs": word, "seed": whole}
    return fields({**wanted, **dict.fromkeys(dimensions, count)}, others=True)


# --- a ladder -------------------------------------------------------------------------------

SUMMARY = {"median": positive, "low": positive, "high": positive}
RATIO = fields({**SUMMARY, "samples": list_of(positive, 1), "pass_medians": list_of(positive, 1)})
SECONDS = {"seconds": list_of(positive, 1)}
NEIGHBOURS = list_of(
    fields(
        {
            "lower": step_name,
            "upper": step_name,
            "paired_ratio": positive,
            "passes": count,
            "passes_faster": whole,
            "faster": flag,
        }
    )
)


# What some protocols read as well: seconds spent once before a call; and the shares of a sustained
# window in which the driver says that it lowered the clock, by why.
READ_SOMETIMES = {
    "before_seconds": nullable(number),
    "clock_limits": nullable(fields(dict.fromkeys(LIMITS, number))),
}
ALGORITHM = matching(re.compile(r"[0-9a-f]{128}"), "128 hex digits")


def readings(measure):
    """What is read beside the time."""
    return dict.fromkeys(measure.readings, nullable(number))


def contender(measure, optional=None, **more):
    """One that was timed, over all passes; `more` and `optional` are fields of its own."""
    always = {measure.rate: fields(SUMMARY), **readings(measure), **more}
    return fields(always, {**READ_SOMETIMES, **(optional or {})})


def timing(measure):
    """A rung's times and those of whom it is compared with."""
    timed = contender(measure, **SECONDS)
    besides = (*measure.besides, EARLY)
    beside = {name: timed for name in besides}
    ratios = {ratio_to(name): RATIO for name in besides}
    always = {measure.work: positive, "step": timed, measure.other: timed, measure.ratio: RATIO}
    return fields(always, {**beside, **ratios})


def rungs(measure, one_pass, **more):
    """Every rung that was tried: its result, or why there is none."""
    passes = {"passes": list_of(one_pass)}
    good = {"step": step_name, "idea": text, "timing": timing(measure), **passes, **more}
    failed = fields({"step": step_name, "failed": text, **passes})
    return list_of(failed_or(fields(good, {"below": step_name, "fp16_sums": flag}), failed), 1)


def ladder(measure, all_rungs, **more):
    """What a ladder has in both schemas; `more` are fields of its own."""
    always = {
        "date": date,
        "protocol": one_of(*PROTOCOLS),
        "problem": problem(measure.dimensions),
        "passes": count,
        "rounds": count,
        "interrupted": flag,
        "rungs": all_rungs,
        "neighbours": NEIGHBOURS,
    }
    return {**always, **more}


def ladder_1(measure):
    """A ladder of its own file: its passes are whole, as the programs wrote them."""
    in_pass = fields(
        {"seconds": list_of(positive, 1), **dict.fromkeys(measure.readings, nullable(number))},
        others=True,
    )
    timed = fields(
        {
            "protocol": one_of(*PROTOCOLS),
            "interrupted": one_of(False),
            measure.work: positive,
            "step": in_pass,
            measure.other: in_pass,
        },
        {name: in_pass for name in (*measure.besides, EARLY)},
        others=True,
    )
    one_pass = fields(
        {
            "schema": one_of(1),
            "kind": one_of("step"),
            "step": step_name,
            "idea": text,
            "commit": COMMIT,
            "gpu": GPU,
            "problem": problem(measure.dimensions),
            "verification": VERIFICATION,
            "timing": timed,
        },
        others=True,
    )
    own = {"schema": one_of(1), "kind": one_of("ladder"), "gpu": GPU, "commit": COMMIT}
    over_all = contender(measure, **SECONDS)
    named = contender(measure, {"name": text}, **SECONDS)
    always = ladder(measure, rungs(measure, one_pass), **own, **{measure.other: over_all})
    return fields(always, dict.fromkeys(measure.besides, named))


HEURISTIC = fields({"number": whole, "name": text, "seconds": positive}, {"algorithm": ALGORITHM})
HEURISTICS = fields(
    {"asked": count, "returned": count, "winner": HEURISTIC, "timed": list_of(HEURISTIC, 1)},
    {"enumerated": count},
)


def ladder_2(measure):
    """A ladder in a run: its samples stand in the rungs alone, its passes hold what is read once
    per process."""
    reading = fields(readings(measure), READ_SOMETIMES, others=True)
    one_pass = fields(
        {"date": date, "step": reading, measure.other: reading},
        {
            "check": text,
            "launches_per_round": nullable(number),
            "idle_ms": whole,
            "copies": count,
            **dict.fromkeys((*measure.besides, EARLY), reading),
        },
    )
    own = {
        "does_not_take": list_of(fields({"step": step_name, "why": text})),
        "wide_spread": fields({"limit": positive, "steps": map_to(positive)}),
    }
    all_rungs = rungs(measure, one_pass, verification=VERIFICATION)
    named = contender(measure, {"name": text})
    always = ladder(measure, all_rungs, **own, **{measure.other: contender(measure)})
    sometimes = {"heuristics": HEURISTICS, "gated": flag}
    return fields(always, {**dict.fromkeys(measure.besides, named), **sometimes})


def by_measure(make):
    """A form for each measure; a record's problem says which it is."""
    forms = {measure: make(measure) for measure in (PRODUCTS, MOVES)}

    def check(value, where):
        fields({"problem": fields({}, others=True)}, others=True)(value, where)
        forms[measure_of(value)](value, where)

    return check


# --- the kinds ------------------------------------------------------------------------------

WITHOUT_RESULT = fields(
    {
        "track": one_of(*TRACKS),
        "protocol": one_of(*PROTOCOLS),
        "shape": list_of(count, 2),
        "why": text,
    }
)
GPU_PROCESSES = fields(
    {
        "looked": flag,
        "why_not": nullable(text),
        "allowed": flag,
        "found": list_of(fields({"pid": text, "name": text, "memory": text, "seen": date})),
    }
)
RUN = fields(
    {
        "schema": one_of(2),
        "kind": one_of("run"),
        "gpu": GPU,
        "commit": COMMIT,
        "date": date,
        "interrupted": flag,
        "gpu_processes": GPU_PROCESSES,
        "ladders": list_of(by_measure(ladder_2), 1),
        "without_result": list_of(WITHOUT_RESULT),
    }
)

COUNTED = {"kernel": text, "launches": count, "counters": map_to(nullable(number))}
FAILED_STEP = fields({"step": step_name, "failed": text})
COUNTED_STEP = fields({"step": step_name, "idea": text, **COUNTED}, {"cublas": fields(COUNTED)})
COUNTERS = {
    "schema": one_of(1),
    "kind": one_of("counters"),
    "gpu": GPU,
    "commit": COMMIT,
    "date": date,
    "ncu": nullable(word),
    "metrics": list_of(text, 1),
    "steps": list_of(failed_or(COUNTED_STEP, FAILED_STEP), 1),
}

EMULATED_RUNG = fields(
    {
        "step": step_name,
        "idea": text,
        "problem": fields({"m": count, "n": count}, {"k": count}, others=True),
        "verification": VERIFICATION,
        "emulator": fields({"counts": map_to(number)}, others=True),
    },
    others=True,
)
EMULATED_LADDER = fields(
    {
        "track": one_of(*TRACKS),
        "shape": nullable(list_of(count, 2)),
        "rungs": list_of(failed_or(EMULATED_RUNG, FAILED_STEP)),
        "does_not_take": list_of(fields({"step": step_name, "why": text})),
    }
)
EMULATED = fields(
    {
        "schema": one_of(2),
        "kind": one_of("emulated"),
        "commit": nullable(COMMIT),
        "date": date,
        "inputs": word,
        "seed": whole,
        "policy": nullable(word),
        "interrupted": flag,
        "ladders": list_of(EMULATED_LADDER, 1),
    }
)

WHOLES = list_of(whole)
THREE = list_of(count, 3)


def numbers(*names):
    """A table that is stored column by column."""
    return fields(dict.fromkeys(names, WHOLES))


EVENTS = numbers("what", "begin", "end", "line", "address", "other", "value", "extra")
TRACE = {
    "schema": one_of(1),
    "kind": one_of("trace"),
    "step": step_name,
    "idea": text,
    "commit": COMMIT,
    "date": date,
    "gpu": nullable(GPU),
    "verification": VERIFICATION,
    "time": fields(
        {
            "unit": one_of("SM cycles", "emulated steps"),
            "policy": nullable(text),
            "end": whole,
            "cycles": whole,
            "nanoseconds": whole,
        }
    ),
    "launch": fields(
        {"grid": THREE, "block": THREE, "block_index": WHOLES, "cta": whole, "ctas": count}
    ),
    "sm": nullable(whole),
    "shared": list_of(
        fields({"name": text, "address": whole, "bytes": count, "count": count}),
    ),
    "source": map_to(lambda value, where: None if value == "" else text(value, where)),
    "whats": list_of(text, 1),
    "operation_kinds": list_of(text, 1),
    "warps": list_of(fields({"warp": whole, "events": EVENTS}), 1),
    "operations": numbers("kind", "own", "warp", "started", "happened", "tile", "barrier"),
    "landed": numbers("barrier", "after", "by"),
    "events_left_out": whole,
}

COUNTS = {
    **dict.fromkeys(("flop", "operand_bytes", "loaded_bytes", "stored_bytes", "exchanges"), number),
    "operands_in_dram": flag,
}
EDGES = {"before": list_of(number, 2), "after": list_of(number, 2), "joules": list_of(number, 2)}
ENERGY_PART = fields(
    {
        "part": text,
        "what": text,
        "zeros": flag,
        "sm_share": positive,
        "pace": nullable(positive),
        "launches": whole,
        "seconds": nullable(positive),
        "sm_clock_ghz": nullable(positive),
        "celsius": list_of(nullable(number), 2),
        "watts": positive,
        "watts_error": number,
        "joules": nullable(positive),
        "tensor_core_share": nullable(number),
        "counts": nullable(fields(COUNTS)),
        "edges": fields(EDGES),
    }
)
ENERGY = {
    "schema": one_of(1),
    "kind": one_of("energy"),
    "rung": step_name,
    "gpu": GPU,
    "commit": COMMIT,
    "date": date,
    "interrupted": flag,
    "gpu_processes": GPU_PROCESSES,
    "problem": problem("mnk"),
    "peak_flop_per_cycle": nullable(positive),
    "warm_up": positive,
    "parts": list_of(failed_or(ENERGY_PART, fields({"part": text, "failed": text})), 1),
}

COUNTED_PART = fields(
    {"part": text, **dict.fromkeys(("l2_bytes", "sm_bytes", "dram_read_bytes"), whole)}
)
COUNTED = fields(
    {
        "ncu": nullable(word),
        "parts": list_of(failed_or(COUNTED_PART, fields({"part": text, "failed": text})), 1),
    }
)

FORMS = {
    "energy": fields(ENERGY, {"counted": nullable(COUNTED)}),  # the first runs have no counts
    "ladder": by_measure(ladder_1),
    "counters": by_measure(
        lambda measure: fields({**COUNTERS, "problem": problem(measure.dimensions)})
    ),
    "run": RUN,
    "emulated": EMULATED,
    "trace": by_measure(lambda measure: fields({**TRACE, "problem": problem(measure.dimensions)})),
}


def in_order(entries, where):
    """Invalid unless every name stands there once, a rung below the next and before its variants."""
    names = [entry["step"] for entry in entries]
    good = names == sorted(set(names), key=name_order)
    require(good, where, f"not in order, or not once each: {shown(names)}")


def one_measure(names, measure, where):
    """Invalid if rungs that move words stand among those that multiply."""
    for name in names:
        good = (name[0] == MOVING) == (measure is MOVES)
        require(good, where, f"{name} has {'a' if measure is MOVES else 'no'} k")


def check(record):
    """Invalid, naming the field, unless the record is of a known kind and has that kind's form."""
    kind = record.get("kind") if isinstance(record, dict) else None
    require(
        isinstance(kind, str) and kind in FORMS,
        "",
        f"not a recorded ladder or anything else that is recorded here: kind is {shown(kind)}",
    )
    schema = record.get("schema")
    require(
        schema == SCHEMAS[kind], "schema", f"{shown(schema)}; of this kind {SCHEMAS[kind]} is read"
    )
    FORMS[kind](record, "")
