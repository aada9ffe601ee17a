"""Figures of recorded results by name, for the notes: `v07 tflops`, `v07 dram_bytes`, ...

A request names who (a rung, a variant, cuBLAS), which figure, and where to look. Requests that
stand in one expression and look in the same place are answered from one record, so that a quotient never
mixes two runs. Of the records that fit, one of the whole track goes before one of a part of it, and
of these recorded.precedence() says which is taken.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from bench import rungs
from bench.records import recorded
from bench.records.vocabulary import (
    CONTENDERS,
    EARLY,
    EMULATOR_COUNTS,
    counts_of,
)
from notes.tools import quantities
from notes.tools.quantities import ExpressionError, NotMeasured, Quantity

INPUTS = "normal"  # of all that is shown
APART = ("a01", "t01")  # they compute something else than their track, in runs of their own
DEFAULT_SHAPES = {  # by kind of record and track
    "ladder": {"v": (8192,) * 3, "a": (8192,) * 3, "t": (32768,) * 2, "f": (8192,) * 3},
    "counters": {"v": (8192,) * 3, "a": (4096,) * 3, "t": (8192,) * 2, "f": (8192,) * 3},
}
SHAPE = re.compile(r"[0-9]{1,6}(x[0-9]{1,6}){0,2}")
COMMIT = re.compile(r"[0-9a-f]{7,40}")
SELECTORS = {  # what a word selects: the first that it fits
    "protocol": recorded.PROTOCOLS.__contains__,
    "commit": COMMIT.fullmatch,
    "shape": SHAPE.fullmatch,
    "gpu": re.compile(r"(?:gh|[abhl])[0-9]{2,3}").fullmatch,
}
ALLOWED = {  # kind of record: what may be selected of it
    "ladder": tuple(SELECTORS),
    "counters": ("commit", "shape", "gpu"),
    "emulator": (),
}

# --- figures --------------------------------------------------------------------------------

AGAINST = "against"  # its rung, or of a rung the one below
RATIO = "ratio"  # to the track's usual contender; ratio_to_cublaslt to another
EARLY_RATIO = "early_ratio"  # the early launch's, to cuBLAS
ALGORITHMS = "algorithms"  # of cuBLASLt, of which its best is the best
RATES = {"tflops": "rate", "gb_per_s": "throughput"}
SECTOR_BYTES = 32
COUNTED = {  # sums of ncu's metrics, scaled
    "l2_bytes": (("lts__t_sectors_srcunit_tex.sum",), SECTOR_BYTES, "bytes"),
    "l2_requests": (("lts__t_requests_srcunit_tex.sum",), 1, "count"),
    "sm_bytes": (("l1tex__m_xbar2l1tex_read_bytes.sum",), 1, "bytes"),
    "dram_bytes": (("dram__bytes_read.sum", "dram__bytes_write.sum"), 1, "bytes"),
    "dram_read_bytes": (("dram__bytes_read.sum",), 1, "bytes"),
    "dram_written_bytes": (("dram__bytes_write.sum",), 1, "bytes"),
    "counted_cycles": (("sm__cycles_elapsed.max",), 1, "cycles"),
    "instructions": (("smsp__inst_executed.sum",), 1, "count"),
    "gmma_instructions": (("sm__inst_executed_pipe_tensor_op_gmma.sum",), 1, "count"),
    "bank_conflicts": (("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",), 1, "count"),
    "wavefronts": (("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",), 1, "count"),
}
EMULATED = "emulator."


def kind_of(figure):
    """In which kind of record a figure stands."""
    if figure.startswith(EMULATED):
        return "emulator"
    return "counters" if figure in COUNTED or "__" in figure else "ladder"


def known(value, what):
    """The value, unless it was not recorded."""
    if value is None:
        raise NotMeasured(f"the run has no '{what}' (notes/writing-a-note.md lists all figures)")
    return value


def of_times(ladder, timed):
    """{figure: quantity} of what was timed of a program."""
    measure = recorded.measure_of(ladder)
    work = measure.work_of(ladder["problem"])
    median, low, high = (
        timed[measure.rate][part] * measure.units for part in ("median", "low", "high")
    )
    clock = timed["sm_clock_ghz"] and timed["sm_clock_ghz"] * 1e9
    limits = timed.get("clock_limits") or {}
    single = {
        "share": (timed[measure.share], "share"),
        "clock": (clock, "clock"),
        "cycles": (clock and work / median * clock, "cycles"),
        "watts": (timed["watts"], "power"),
        "joules": (timed["joules"], "energy"),
        "before_seconds": (timed.get("before_seconds"), "time"),
        "l2_size": (ladder["gpu"].get("l2_bytes"), "bytes"),
        **{f"limited.{why}": (share, "share") for why, share in limits.items()},
    }
    return {
        measure.rate: Quantity(median, RATES[measure.rate], low, high),
        "time": Quantity(work / median, "time", work / high, work / low),
        **{name: Quantity(*both) for name, both in single.items() if both[0] is not None},
    }


def timing_of(ladder, subject):
    """What was timed of a rung, or of whom rungs are compared with over all of them."""
    if subject in CONTENDERS:
        return {"step": known(ladder.get(subject), subject)}
    timings = {rung["step"]: rung["timing"] for rung in recorded.measured(ladder)}
    return known(timings.get(subject), subject)


def of_ladder(ladder, request):
    """A figure of times, or of who is faster: paired, but for two contenders."""
    subject, figure = request.subject, request.figure
    timing, measure = timing_of(ladder, subject), recorded.measure_of(ladder)
    if figure == ALGORITHMS:
        found = known(subject == "cublaslt" and ladder.get("heuristics") or None, figure)
        return Quantity(recorded.configurations(found), "count")
    key = measure.ratio if figure == RATIO else figure
    if key.startswith(RATIO) and subject in CONTENDERS:
        other = timing_of(ladder, key.removeprefix(f"{RATIO}_to_"))
        own, theirs = (of_times(ladder, one["step"])["time"] for one in (timing, other))
        return quantities.divide(theirs, own)
    if key.startswith(RATIO) or key == EARLY_RATIO:
        found = known(timing.get(EARLY if key == EARLY_RATIO else key), f"{key} of {subject}")
        if key == EARLY_RATIO:  # which no record has
            pairs = zip(timing["cublas"]["seconds"], found["seconds"])
            found = recorded.summary([theirs / early for theirs, early in pairs])
        return Quantity(found["median"], "ratio", found["low"], found["high"])
    pairs = {pair["upper"]: pair["paired_ratio"] for pair in ladder["neighbours"]}
    if figure == AGAINST:
        return Quantity(known(pairs.get(subject), f"pair of {subject}"), "ratio")
    return known(of_times(ladder, timing["step"]).get(figure), f"{figure} of {subject}")


def of_counters(record, request):
    """A figure of the hardware's counters."""
    counted = {step["step"]: step for step in recorded.entries(record)}
    beside = [step["cublas"] for step in counted.values() if step.get("cublas")]
    counted["cublas"] = beside[0] if beside else None
    counters = known(counted.get(request.subject), request.subject)["counters"]
    raw = ((request.figure,), 1, "bytes" if "bytes" in request.figure else "count")
    metrics, scale, kind = COUNTED.get(request.figure, raw)
    total = sum(known(counters.get(metric), metric) for metric in metrics)
    return Quantity(total * scale, kind)


def of_emulator(record, request):
    """A figure of the emulator's counts."""
    rungs = {one["step"]: one for ladder in record["ladders"] for one in ladder["rungs"]}
    counts = counts_of(known(rungs.get(request.subject), request.subject))
    name = request.figure.removeprefix(EMULATED)
    return Quantity(known(counts.get(name), name), "bytes" if name.endswith("_bytes") else "count")


ANSWERS = {"ladder": of_ladder, "counters": of_counters, "emulator": of_emulator}

# --- where to look --------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One figure of one program."""

    subject: str
    figure: str
    selectors: tuple = ()
    beside: str | None = None  # the track of whose rungs, where the subject is none

    @property
    def name(self):
        """The rung or variant, or None for who is in every record."""
        return self.subject if recorded.NAME.fullmatch(self.subject) else None

    @property
    def track(self):
        """The letter of the track in whose records to look."""
        if self.name:
            return self.name[0]
        if self.subject not in CONTENDERS:
            others = ", ".join(CONTENDERS)
            raise ExpressionError(f"'{self.subject}' is neither a rung, a variant nor {others}")
        return self.beside or CONTENDERS[self.subject].track


class Place(NamedTuple):
    """Where to look: what the selectors say."""

    kind: str
    track: str
    shape: tuple | None
    protocol: str
    commit: str | None = None
    gpu: str | None = None


def selected_by(word):
    """What a selector selects, or None."""
    return next((key for key, fits_in in SELECTORS.items() if fits_in(word)), None)


def place_of(request):
    """Where a request looks, with what usually holds for all that was not selected. ExpressionError
    for a selector that is none, stands twice, or says nothing of such a figure."""
    kind, found = kind_of(request.figure), {}
    for word in request.selectors:
        key = selected_by(word)
        if key in found or key not in ALLOWED[kind]:
            of = ", ".join(ALLOWED[kind]) or "nothing"
            raise ExpressionError(f"'@{word}': of {request.figure} select no more than one {of}")
        found[key] = word
    track = request.track
    shape = DEFAULT_SHAPES.get(kind, {}).get(track)
    if "shape" in found:
        numbers = tuple(map(int, found["shape"].split("x")))
        dimensions = 2 if track == recorded.MOVING else 3
        shape = numbers * dimensions if len(numbers) == 1 else numbers
        if len(shape) != dimensions:
            raise ExpressionError(f"'@{found['shape']}' has not {dimensions} dimensions")
    protocol = found.get("protocol", recorded.HEADLINE_PROTOCOL)
    return Place(kind, track, shape, protocol, found.get("commit"), found.get("gpu"))


@cache
def whole_track(track):
    """The rungs that a run of the whole track has."""
    return frozenset(recorded.whole_track(track=track)) - set(APART)


def good_names(record):
    """What has a result in a ladder or in counters."""
    return {entry["step"] for entry in recorded.entries(record) if "failed" not in entry}


def compares(record, name):
    """Whether a ladder has the rung beside the one that it grows from, as both are today."""
    below = rungs.today()[name].below
    pairs = {(pair["upper"], pair["lower"]) for pair in record["neighbours"]}
    return (name, below) in pairs and not recorded.is_outdated(record, below)


def fits(record, place, requests, shown=None):
    """Whether a record is what a place asks for, and has results of all who are named. Unless a
    commit is named, ladders and counters show the programs as they are today, beside the rungs that
    they grow from, and no variants or rivals unasked."""
    names = {one.name for one in requests if one.name}
    contenders = {one.subject for one in requests if not one.name}
    against = {one.name for one in requests if one.figure == AGAINST and one.name in rungs.today()}
    timed = place.kind == "ladder"
    return (
        recorded.shape_of(record) == place.shape
        and recorded.tracks(record) == {place.track}
        and record["problem"]["inputs"] == INPUTS
        and good_names(record) >= names
        and (not timed or (record["protocol"] == place.protocol and not record["interrupted"]))
        and (not timed or record.keys() >= contenders)
        and (
            bool(place.commit)
            or not any(recorded.is_outdated(record, name) for name in names)
            and (not timed or (shown(record) if shown else recorded.may_show(record, names)))
            and all(compares(record, name) for name in against)
        )
    )


class Library:
    """The recorded results of a folder; `used` is every record that answered a request."""

    def __init__(self, folder=recorded.RESULTS, variants=None):
        self.folder = Path(folder)
        self.variants = variants
        self.used = []
        self.kinds = {}

    @cached_property
    def home(self):
        """The GPU that is shown unless another is selected."""
        return recorded.home(self.folder)

    def all_of(self, kind):
        """Every record of that kind."""
        if kind not in self.kinds:
            found = [record for _, record in recorded.all_of_kind(self.folder, kind)]
            self.kinds[kind] = found
        return self.kinds[kind]

    def is_at(self, record, place):
        """Whether a record is of the commit that is selected, if one is, and of the GPU that is
        selected or else of the home GPU."""
        if place.commit and not record["commit"].startswith(place.commit):
            return False
        if place.gpu:
            return place.gpu in record["gpu"]["name"].lower().split()
        return self.home.has(record)

    def find(self, place, requests, shown=None):
        """The record that answers requests at a place. `shown` says of a ladder whether it may.
        ExpressionError if none does."""
        if place.kind == "emulator":
            return self.answered(recorded.load_record(self.folder / EMULATOR_COUNTS))
        there = [one for one in self.all_of(place.kind) if self.is_at(one, place)]
        found = [one for one in there if fits(one, place, requests, shown)]
        if not found:
            asked = ", ".join(dict.fromkeys(f"{one.subject} {one.figure}" for one in requests))
            where = ", ".join(str(value) for value in place[1:] if value)
            raise ExpressionError(f"no {place.kind} of {asked} is recorded in: {where}")
        found = [one for one in found if good_names(one) >= whole_track(place.track)] or found
        return self.answered(max(found, key=recorded.precedence(found, self.home)))

    def with_variants(self, commit=None):
        """The run whose variants a page shows, or None."""
        path = None if commit else self.variants
        path = path or recorded.newest_variants(self.folder, commit)
        return self.answered(recorded.load_ladder(path)) if path else None

    def answered(self, record):
        """The record, which from now on is one of those used."""
        if not any(record is other for other in self.used):
            self.used.append(record)
        return record


def answer(requests, library, missing=()):
    """{request: quantity} of all requests of one expression, without those of which the record that
    has the programs says `missing`, errors that are then none."""
    groups, answers = {}, {}
    for request in requests:
        groups.setdefault(place_of(request), []).append(request)
    for place, group in groups.items():
        record = library.find(place, group)
        for request in group:
            with contextlib.suppress(*missing):
                answers[request] = ANSWERS[place.kind](record, request)
    return answers


EXPRESSION = re.compile(
    r"(?P<who>[a-z][\w-]*(?:/[a-z][\w-]*)?) (?P<figure>[A-Za-z_][\w.-]*)"
    r"(?P<selectors>(?: @\w+)*)(?: as (?P<form>.+))?"
)


def text_of(expression, library):
    """What is written for an expression in a sentence (notes/writing-a-note.md), such as
    `v07/v06 tflops @4096 as gain`. ExpressionError, quoting it, if nothing can be."""
    words = " ".join(expression.split())
    match = EXPRESSION.fullmatch(words)
    try:
        if not match:
            raise ExpressionError("write who and a quantity: v07/v06 tflops @4096 as gain")
        selectors = tuple(word[1:] for word in match["selectors"].split())
        requests = [Request(one, match["figure"], selectors) for one in match["who"].split("/")]
        answers = answer(requests, library)
        found = [answers[request] for request in requests]
        quantity = quantities.divide(*found) if len(found) > 1 else found[0]
        return quantities.write_as(quantity, (match["form"] or "").split())
    except ExpressionError as error:
        raise ExpressionError(f"'{words}': {error}") from error
