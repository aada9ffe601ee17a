"""The recorded files' schema, written down once: which fields there are and what may stand in them.

FORMS describes each kind of record in the language of fits(), which raises Invalid, that names the
field, unless a value is right.
figures.py says whether the figures follow from their samples, bench/results/README.md what they mean.
"""

from __future__ import annotations

import math
import re
import time

from bench.records.vocabulary import (
    EARLY,
    LIMITS,
    MEASURES,
    MOVES,
    MOVING,
    NAME,
    PRODUCTS,
    PROTOCOLS,
    TRACKS,
    measure_of,
    name_order,
)

DATE = "%Y-%m-%dT%H:%M:%SZ"
# kind -> the one that is read
SCHEMAS = {"ladder": 1, "counters": 1, "run": 2, "emulated": 2, "trace": 1, "energy": 1, "sweep": 1}


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


# --- the language of forms --------------------------------------------------------------------


def fits(value, form, where):
    """Invalid unless the value of that field is as a form describes it, which is
    a function    of a value and its field, that raises Invalid itself
    a dict        an object. A key names a field, or several with blanks between; one that ends in ?
                  may be missing. {...: form} allows fields of any other names.
    a list        [form, least]: a list of these, of so many at least (default: 0)
    a tuple       one of these constants; anything else is a constant itself"""
    if callable(form):
        form(value, where)
    elif isinstance(form, dict):
        fits_object(value, form, where)
    elif isinstance(form, list):
        element, least = (*form, 0)[:2]
        require(isinstance(value, list), where, f"{shown(value)} is not a list")
        require(len(value) >= least, where, f"holds {len(value)}, not {least} or more")
        for index, one in enumerate(value):
            fits(one, element, f"{where}[{index}]")
    else:
        choices = form if isinstance(form, tuple) else (form,)
        good = any(type(value) is type(choice) and value == choice for choice in choices)
        require(good, where, f"{shown(value)} is not {' or '.join(map(repr, choices))}")


def fits_object(value, form, where):
    """The same of an object."""
    require(isinstance(value, dict), where, f"{shown(value)} is not an object")
    dot = f"{where}." if where else ""
    words = {word: form[key] for key in form if key is not ... for word in key.split()}
    for word in words:
        require(word in value or word[-1] == "?", f"{dot}{word}", "is missing")
    known = {word.rstrip("?"): words[word] for word in words}
    for key, element in value.items():
        require(key in known or ... in form, f"{dot}{key}", "is no field of this schema")
        fits(element, known[key] if key in known else form[...], f"{dot}{key}")


def that(good, what):
    """The form of a value for which good(value)."""

    def check(value, where):
        if not good(value):  # of every sample: no words unless they are wanted
            raise Invalid(where, f"{shown(value)} is not {what}")

    return check


def nullable(form):
    """null, or the form."""
    return lambda value, where: value is None or fits(value, form, where)


def failed_or(name, form):
    """The form, or something of that name that has failed."""

    def check(value, where):
        failed = isinstance(value, dict) and "failed" in value
        fits(value, {**name, "failed": text} if failed else form, where)

    return check


def by_measure(make):
    """A form for each measure; a record's problem says which it is."""
    forms = {measure: make(measure) for measure in MEASURES}

    def check(value, where):
        fits(value, {"problem": {...: anything}, ...: anything}, where)
        fits(value, forms[measure_of(value)], where)

    return check


def each(names, suffix=""):
    """A key for all of these."""
    return " ".join(name + suffix for name in names)


# --- forms of values ------------------------------------------------------------------------


def anything(_value, _where):
    """Whatever stands there."""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def matching(pattern, what):
    """The form of a text of that pattern."""
    pattern = re.compile(pattern)
    return that(lambda value: isinstance(value, str) and pattern.fullmatch(value), what)


text = that(
    lambda value: isinstance(value, str) and value and value.isprintable(), "a text of one line"
)
flag = that(lambda value: isinstance(value, bool), "true or false")
number = that(is_number, "a number")
positive = that(lambda value: is_number(value) and value > 0, "a number above 0")
whole = that(is_whole, "a whole number")
count = that(lambda value: is_whole(value) and value > 0, "a whole number above 0")
within_bound = that(lambda value: is_number(value) and 0 <= value <= 1, "a number from 0 to 1")

step_name = matching(NAME, "the name of a rung, a variant or a rival")
COMMIT = matching(r"([0-9a-f]{7,40}|unknown)(\+dirty)?", "a commit such as 0a1b2c3")
# Names and versions are shown as they are: nothing in them means something to Markdown or HTML.
word = matching(r"[\w .,:+()/'-]{1,100}", "a name or a version")
# The digest, of all bits of the output, stands in no record from before the programs wrote it.
DIGEST = matching(r"0x[0-9a-f]{16}", "a digest such as 0x0123456789abcdef")
ALGORITHM = matching(r"[0-9a-f]{128}", "128 hex digits")


def is_date(value):
    try:
        return time.strftime(DATE, time.strptime(value, DATE)) == value
    except (TypeError, ValueError):
        return False


date = that(is_date, "a date that there was, such as 2026-01-31T12:00:00Z")


# --- what all kinds have in common ----------------------------------------------------------

PHASES = ("exact", "bounded", "timed_inputs", "after_timing")
OPINIONS = {"host_product", "host_loop"}
OPINIONS.update(name for measure in MEASURES for name in (measure.other, *measure.besides))
PHASE = {"checked": count, "wrong": 0, "integer_range?": count}
PHASE["max_error_over_bound?"] = within_bound
# The root of the mean square of the errors, over that of D: of FP8, from when the programs wrote it.
ERROR = {"relative_error?": that(lambda value: is_number(value) and value >= 0, "a number from 0")}
PHASE.update(ERROR)
# It is verified: nothing in it may say otherwise. How many are wrong is null if that was not looked
# for.
VERIFICATION = {
    "verified": True,
    "check?": ("full", "sample"),
    "digest?": DIGEST,
    each(PHASES, "?"): nullable(PHASE),
    each(OPINIONS, "?"): {"name?": text, each(PHASES, "_wrong?"): nullable(0), **ERROR},
    "guards_intact?": True,
    "policies?": word,
    "wrong_policy?": None,
}
GPU = {
    "name compute_capability": word,
    "sms": count,
    "power_limit_watts": nullable(positive),
    "driver cuda cublas": nullable(word),
    "card?": word,
    ...: anything,
}
GPU_PROCESSES = {
    "looked allowed": flag,
    "why_not": nullable(text),
    "found": [{"pid name memory": text, "seen": date}],
}
NOT_TAKEN = [{"step": step_name, "why": text}]
SHAPE = [count, 2]
STEP = {"step": step_name}


def head(kind, **more):
    """The fields of every file of that kind."""
    return {"schema": SCHEMAS[kind], "kind": kind, "commit": COMMIT, "date": date, **more}


def problem(measure):
    """What was computed, on which inputs."""
    known = {"computation inputs": word, "seed": whole}
    return {**known, each(measure.dimensions): count, ...: anything}


# --- a ladder -------------------------------------------------------------------------------
#
# What follows from samples and readings has no form: figures.py computes it anew, and compares.

SECONDS = {"seconds": [positive, 1]}
NEIGHBOUR = {"lower upper": step_name, ...: anything}
# What some protocols read as well: seconds spent once before a call; and the shares of a sustained
# window in which the driver says that it lowered the clock, by why.
READ_SOMETIMES = {
    "before_seconds?": nullable(number),
    "clock_limits?": nullable({each(LIMITS): number}),
}
HEURISTIC = {"number": whole, "name": text, "seconds": positive, "algorithm?": ALGORITHM}
HEURISTICS = {
    "asked returned enumerated? launched? checked?": count,
    "cut?": flag,
    "winner": HEURISTIC,
    "timed": [HEURISTIC, 1],
}


def program(measure):
    """What the program of a rung writes."""
    return {
        "schema": 1,
        "kind": "step",
        **STEP,
        "idea": text,
        "commit": COMMIT,
        "date": date,
        "gpu": nullable(GPU),
        "problem": problem(measure),
        "verification": VERIFICATION,
        ...: anything,
    }


def timed(measure):
    """The same of one that was timed: a pass of schema 1."""
    reading = {**SECONDS, each(measure.readings, "?"): nullable(number), ...: anything}
    timing = {"protocol": PROTOCOLS, "interrupted": False, measure.work: positive}
    timing.update({each(("step", measure.other)): reading, ...: anything})
    timing[each((*measure.besides, EARLY), "?")] = reading
    return {**program(measure), "gpu": GPU, "timing": timing}


def read_once(measure):
    """What is read once per process: a pass of schema 2."""
    reading = {each(measure.readings): nullable(number), **READ_SOMETIMES, ...: anything}
    return {
        "date": date,
        each(("step", measure.other)): reading,
        each((*measure.besides, EARLY), "?"): reading,
        "check?": text,
        "launches_per_round?": nullable(number),
        "idle_ms?": whole,
        "copies?": count,
    }


def ladder(version):
    """A ladder of its own file (schema 1), or in a run, where its samples stand in the rungs alone
    (schema 2): a form for each measure."""

    def make(measure):
        contender, besides = {**SECONDS, ...: anything}, (*measure.besides, EARLY)
        timing = {each(("step", measure.other)): contender, each(besides, "?"): contender}
        passes = {"passes": [timed(measure) if version == 1 else read_once(measure)]}
        good = {**STEP, "idea": text, "timing": {**timing, ...: anything}, **passes}
        good.update({"below?": step_name, "fp16_sums?": flag})
        if version == 1:
            own = {"schema": 1, "kind": "ladder", "gpu": GPU, "commit": COMMIT}
        else:
            good["verification"] = VERIFICATION
            own = {"does_not_take": NOT_TAKEN, "heuristics?": HEURISTICS, "gated?": flag}
            own["wide_spread"] = anything
        return {
            **own,
            "date": date,
            "protocol": PROTOCOLS,
            "problem": problem(measure),
            "passes rounds": count,
            "interrupted": flag,
            "rungs": [failed_or({**STEP, **passes}, good), 1],
            "neighbours": [NEIGHBOUR],
            measure.other: {"name?": text, ...: anything},
            each(measure.besides, "?"): {"name?": text, ...: anything},
        }

    return by_measure(make)


PROGRAM, TIMED = by_measure(program), by_measure(timed)
COUNTS = {"tma_read_bytes tma_written_bytes wgmmas mmas": whole, ...: number}
EMULATOR = {"emulator": {"counts": COUNTS, ...: anything}}
EMULATED_PROGRAM = by_measure(lambda measure: {**program(measure), **EMULATOR, "gpu": None})

# --- the kinds ------------------------------------------------------------------------------

RUN = head(
    "run",
    gpu=GPU,
    interrupted=flag,
    gpu_processes=GPU_PROCESSES,
    ladders=[ladder(2), 1],
    without_result=[{"track": tuple(TRACKS), "protocol": PROTOCOLS, "shape": SHAPE, "why": text}],
)

TIMES = {"step cublas cublaslt": [positive, 1], "early?": [positive, 1]}
POINT = {
    "m n k copies launches": count,
    "kernel?": count,
    "seconds": TIMES,
    "sm_clock_ghz": {...: nullable(positive)},
    "digest": DIGEST,
    "returned": count,
    "winner": {"number": whole, "name": text},
}
SWEEP = head(
    "sweep",
    **STEP,
    idea=text,
    gpu=GPU,
    interrupted=flag,
    gpu_processes=GPU_PROCESSES,
    sizes=text,
    protocol="burst",
    problem={"computation inputs": word, "seed": whole},
    passes=1,
    rounds=count,
    check=("full", "sample"),
    points=[failed_or({"m n k": count}, POINT), 1],
)

COUNTED = {"kernel": text, "launches": count, "counters": {...: nullable(number)}}
COUNTERS = head(
    "counters",
    gpu=GPU,
    ncu=nullable(word),
    metrics=[text, 1],
    steps=[failed_or(STEP, {**STEP, "idea": text, **COUNTED, "cublas?": COUNTED}), 1],
)

EMULATED_RUNG = {
    **STEP,
    "idea": text,
    "problem": {"m n k?": count, ...: anything},
    "verification": VERIFICATION,
    **EMULATOR,
    "gpu?": None,
    ...: anything,
}
EMULATED_LADDER = {
    "track": tuple(TRACKS),
    "shape": nullable(SHAPE),
    "rungs": [failed_or(STEP, EMULATED_RUNG)],
    "does_not_take": NOT_TAKEN,
}
EMULATED = {
    **head("emulated", inputs=word, seed=whole, policy=nullable(word), interrupted=flag),
    "commit": nullable(COMMIT),  # of several: none
    "ladders": [EMULATED_LADDER, 1],
}

WHOLES = [whole]  # tables are stored column by column
EVENTS = {"what begin end line address other value extra": WHOLES}
TRACE = head(
    "trace",
    **STEP,
    idea=text,
    gpu=nullable(GPU),
    verification=VERIFICATION,
    time={
        "unit": ("SM cycles", "emulated steps"),
        "policy": nullable(text),
        "end cycles nanoseconds": whole,
    },
    launch={"grid block": [count, 3], "block_index": WHOLES, "cta": whole, "ctas": count},
    sm=nullable(whole),
    shared=[{"name": text, "address": whole, "bytes count": count}],
    source={...: lambda value, where: None if value == "" else text(value, where)},
    whats=[text, 1],
    operation_kinds=[text, 1],
    warps=[{"warp": whole, "events": EVENTS}, 1],
    operations={"kind own warp started happened tile barrier": WHOLES},
    landed={"barrier after by": WHOLES},
    events_left_out=whole,
)

PART = {"part": text}
ENERGY_PART = {
    **PART,
    "what": text,
    "zeros": flag,
    "sm_share watts": positive,
    "pace seconds sm_clock_ghz joules": nullable(positive),
    "launches": whole,
    "celsius": [nullable(number), 2],
    "watts_error": number,
    "tensor_core_share": nullable(number),
    "counts": nullable(
        {
            "flop operand_bytes loaded_bytes stored_bytes exchanges": number,
            "operands_in_dram": flag,
        }
    ),
    "edges": {"before after joules": [number, 2]},
}
COUNTED_PART = {**PART, "l2_bytes sm_bytes dram_read_bytes": whole}
ENERGY = head(
    "energy",
    rung=step_name,
    gpu=GPU,
    interrupted=flag,
    gpu_processes=GPU_PROCESSES,
    problem=problem(PRODUCTS),
    peak_flop_per_cycle=nullable(positive),
    warm_up=positive,
    parts=[failed_or(PART, ENERGY_PART), 1],
)  # the first runs have no counts
ENERGY["counted?"] = nullable({"ncu": nullable(word), "parts": [failed_or(PART, COUNTED_PART), 1]})

FORMS = {
    "energy": ENERGY,
    "sweep": SWEEP,
    "ladder": ladder(1),
    "counters": by_measure(lambda measure: {**COUNTERS, "problem": problem(measure)}),
    "run": RUN,
    "emulated": EMULATED,
    "trace": by_measure(lambda measure: {**TRACE, "problem": problem(measure)}),
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
    why = f"not a recorded ladder or anything else that is recorded here: kind is {shown(kind)}"
    require(isinstance(kind, str) and kind in FORMS, "", why)
    schema, read = record.get("schema"), SCHEMAS[kind]
    require(schema == read, "schema", f"{shown(schema)}; of this kind {read} is read")
    fits(record, FORMS[kind], "")
