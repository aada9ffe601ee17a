"""Figures of recorded results by name, for the notes: `v07 tflops`, `v07 dram_bytes`, ...

A request names who (a rung, a variant, cuBLAS), which figure, and where to look. Requests that stand
in one expression and look in the same place are answered from one record, so that a quotient never
mixes two runs. Of the records that fit, one of the whole track goes before one of a part of it, and
of these recorded.precedence() says which is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import rungs
from bench.records import recorded
from bench.records.vocabulary import (
    EMULATED_DIMENSIONS,
    EMULATOR_COUNTS,
    EXTRA_WAVEFRONTS,
    LIMITS,
)
from notes.tools import energy_figures, quantities, trace_figures
from notes.tools.quantities import ExpressionError, Quantity

APART = ("a01", "t01")  # they compute something else than their track, in runs of their own
DEFAULT_SHAPES = {  # by kind of record and track
    "ladder": {"v": (8192,) * 3, "a": (8192,) * 3, "t": (32768,) * 2},
    "counters": {"v": (8192,) * 3, "a": (4096,) * 3, "t": (8192,) * 2},
}
DEFAULT_INPUTS = "normal"
INPUTS = ("normal", "uniform", "integers", "bits")
SECTOR_BYTES = 32
SHAPE = re.compile(r"[0-9]{1,6}(x[0-9]{1,6}){0,2}")
COMMIT = re.compile(r"[0-9a-f]{7,40}")
GPU = re.compile(r"(?:gh|[abhl])[0-9]{2,3}")

# Contenders that are no rung, and the track beside whose rungs they are looked for unless said.
CONTENDERS = {
    "cublas": "v",
    "cublaslt": "v",
    "cublas_fp16_sums": "a",
    "device_copy": "t",
    "second_opinion": "t",
}


@dataclass(frozen=True)
class Request:
    """One figure of one program."""

    subject: str
    figure: str
    selectors: tuple = ()

    @property
    def track(self):
        """The letter of the track in whose records to look."""
        named = [word for word in self.selectors if word in recorded.TRACKS]
        if self.subject in CONTENDERS:
            return named[0] if named else CONTENDERS.get(self.subject, "v")
        return self.subject[0]

    @property
    def name(self):
        """The rung or variant, or None for who is in every record."""
        return self.subject if recorded.NAME.fullmatch(self.subject) else None


@dataclass(frozen=True)
class Place:
    """Where to look: what the selectors say."""

    kind: str
    track: str
    shape: tuple | None
    protocol: str
    inputs: str
    commit: str | None
    gpu: str | None

    def __str__(self):
        shape = "x".join(map(str, self.shape)) if self.shape else "its shape"
        more = f", commit {self.commit}" if self.commit else ""
        more += f", on {self.gpu}" if self.gpu else ""
        protocol = f"{self.protocol}, " if self.kind == "ladder" else ""
        return f"{self.kind} of the {self.track} track at {shape}, {protocol}{self.inputs}{more}"


# --- figures --------------------------------------------------------------------------------


def known(value, why):
    """The value, unless it was not recorded."""
    if value is None:
        raise quantities.NotMeasured(f"{why} was not recorded in this run")
    return value


def rates(measure, timed):
    """Work per second: median, low and high."""
    return [timed[measure.rate][part] * measure.units for part in ("median", "low", "high")]


def rate_of(name, kind):
    """A figure that is the measure's rate, and an error where another measure's is asked for."""

    def figure(ladder, timed):
        measure = recorded.measure_of(ladder)
        if measure.rate != name:
            raise ExpressionError(f"these programs have {measure.rate}, not {name}")
        median, low, high = rates(measure, timed)
        return Quantity(median, kind, low, high)

    return figure


def time_of(ladder, timed):
    """Seconds of one launch, from the rates: at the low one the time is high."""
    measure = recorded.measure_of(ladder)
    work = measure.work_of(ladder["problem"])
    median, low, high = rates(measure, timed)
    return Quantity(work / median, "time", work / high, work / low)


def share_of(ladder, timed):
    """Of the tensor cores' cycles, or of the memory's bandwidth."""
    key = recorded.measure_of(ladder).share
    return Quantity(known(timed[key], key), "share")


def clock_of(_ladder, timed):
    """The SM clock."""
    return Quantity(known(timed["sm_clock_ghz"], "the SM clock") * 1e9, "clock")


def cycles_of(ladder, timed):
    """Cycles of one launch: its time at its clock."""
    return Quantity(time_of(ladder, timed).value * clock_of(ladder, timed).value, "cycles")


def reading_of(key, kind):
    """A figure that stands in the record as it is."""
    return lambda _ladder, timed: Quantity(known(timed.get(key), key), kind)


def limited_by(why):
    """The share of a sustained window in which the driver lowered the clock, and said why."""

    def figure(_ladder, timed):
        limits = known(timed.get("clock_limits"), "why the driver lowered the clock")
        return Quantity(limits[why], "share")

    return figure


TIMED = {
    "tflops": rate_of("tflops", "rate"),
    "gb_per_s": rate_of("gb_per_s", "throughput"),
    "time": time_of,
    "share": share_of,
    "clock": clock_of,
    "cycles": cycles_of,
    "watts": reading_of("watts", "power"),
    "joules": reading_of("joules", "energy"),
    "before_seconds": reading_of("before_seconds", "time"),
    **{f"limited.{why}": limited_by(why) for why in LIMITS},
}
RATIOS = {
    "ratio": None,  # to the track's usual contender
    "ratio_to_cublas": "cublas",
    "ratio_to_cublaslt": "cublaslt",
    "ratio_to_cublas_fp16_sums": "cublas_fp16_sums",
    "ratio_to_device_copy": "device_copy",
    "ratio_to_second_opinion": "second_opinion",
    "ratio_to_early": recorded.EARLY,
}
AGAINST = "against"  # its rung, or of a rung the one below
LADDER_FIGURES = (*TIMED, *RATIOS, AGAINST)

# Sums of ncu's metrics, scaled.
COUNTED = {
    "l2_bytes": (("lts__t_sectors_srcunit_tex.sum",), SECTOR_BYTES, "bytes"),
    "l2_requests": (("lts__t_requests_srcunit_tex.sum",), 1, "count"),
    "sm_bytes": (("l1tex__m_xbar2l1tex_read_bytes.sum",), 1, "bytes"),
    "dram_bytes": (("dram__bytes_read.sum", "dram__bytes_write.sum"), 1, "bytes"),
    "dram_read_bytes": (("dram__bytes_read.sum",), 1, "bytes"),
    "dram_written_bytes": (("dram__bytes_write.sum",), 1, "bytes"),
    "counted_cycles": (("sm__cycles_elapsed.max",), 1, "cycles"),
    "instructions": (("smsp__inst_executed.sum",), 1, "count"),
    "gmma_instructions": (("sm__inst_executed_pipe_tensor_op_gmma.sum",), 1, "count"),
    "bank_conflicts": (
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
        1,
        "count",
    ),
    "wavefronts": (("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",), 1, "count"),
}
EMULATED = "emulator."
WHOLE = {"trace": "GPU's trace", "energy": "whole energy run"}


def kind_of(figure):
    """In which kind of record a figure stands."""
    if figure.startswith(EMULATED):
        return "emulator"
    if figure.startswith(trace_figures.PREFIX):
        return "trace"
    if figure.startswith(energy_figures.PREFIX):
        return "energy"
    if figure in COUNTED or "__" in figure:
        return "counters"
    if figure in LADDER_FIGURES:
        return "ladder"
    names = (*LADDER_FIGURES, *COUNTED)
    raise ExpressionError(
        f"'{figure}' is no figure; there are {', '.join(names)}, {EMULATED}<count>, "
        f"{', '.join(trace_figures.FIGURES)}, {energy_figures.WORDS} and ncu's metrics"
    )


# --- where to look --------------------------------------------------------------------------


def shape_named(text, dimensions):
    """(4096, 4096, 4096) of '4096' or of '4096x4096x4096'."""
    numbers = tuple(int(number) for number in text.split("x"))
    if len(numbers) == 1:
        return numbers * dimensions
    if len(numbers) != dimensions:
        raise ExpressionError(f"'@{text}' has {len(numbers)} dimensions, not {dimensions}")
    return numbers


SELECTORS = {  # the first that a word fits
    "protocol": recorded.PROTOCOLS.__contains__,
    "track": recorded.TRACKS.__contains__,
    "inputs": INPUTS.__contains__,
    "commit": COMMIT.fullmatch,
    "shape": SHAPE.fullmatch,
    "gpu": GPU.fullmatch,
}


def selected_by(word):
    """What a selector selects, or None."""
    return next((key for key, fits_in in SELECTORS.items() if fits_in(word)), None)


def place_of(request):
    """Where a request looks. ExpressionError for a selector that is none, or stands twice."""
    kind, track = kind_of(request.figure), request.track
    found = {}

    for word in request.selectors:
        key = selected_by(word)
        if key is None:
            raise ExpressionError(f"'@{word}' says nothing: no shape, protocol, inputs or commit")
        if key in found:
            raise ExpressionError(f"two selectors say which {key}: '@{found[key]}' and '@{word}'")
        found[key] = word
    return finished(kind, track, request, found)


LIMITED = {  # kind of record: what may be selected, and why no more
    "counters": (
        set(SELECTORS) - {"protocol"},
        "counters are of one launch: they have no protocol",
    ),
    "emulator": (set(), "the emulator's counts are of one shape each: nothing to select"),
    "trace": ({"gpu"}, "of each rung and GPU there is one trace: select no more than the GPU"),
    "energy": (
        {"gpu", "commit"},
        "an energy run is of the usual size and sustained: select no more than commit and GPU",
    ),
}


def finished(kind, track, request, found):
    """A place, with what usually holds for all that was not selected."""
    for limited, (of, why) in LIMITED.items():
        if kind == limited and set(found) - of:
            raise ExpressionError(why)
    if request.name and "track" in found:
        raise ExpressionError(f"{request.name} is of a track: '@{found['track']}' says it again")
    dimensions = 2 if track == recorded.MOVING else 3
    shape = DEFAULT_SHAPES.get(kind, {}).get(track)
    if "shape" in found:
        shape = shape_named(found["shape"], dimensions)
    return Place(
        kind,
        track,
        shape,
        found.get("protocol", recorded.HEADLINE_PROTOCOL),
        found.get("inputs", DEFAULT_INPUTS),
        found.get("commit"),
        found.get("gpu"),
    )


@cache
def whole_track(track):
    """The rungs that a run of the whole track has."""
    return frozenset(recorded.rung_names(track=track)) - set(APART)


def good_names(record):
    """What has a result in a ladder or in counters."""
    return {entry["step"] for entry in recorded.entries(record) if "failed" not in entry}


def chosen(record, place, home):
    """Whether a record is of the commit that is selected, if one is, and of the GPU that is selected
    or else of the home GPU."""
    if place.commit and not record["commit"].startswith(place.commit):
        return False
    if place.gpu:
        return place.gpu in record["gpu"]["name"].lower().split()
    return home.has(record)


rungs_today = cache(rungs.find)


def compares(record, name):
    """Whether a ladder has the rung beside the one that it grows from, as both are today."""
    below = rungs_today()[name].below
    pairs = {(pair["upper"], pair["lower"]) for pair in record["neighbours"]}
    return (name, below) in pairs and not recorded.is_outdated(record, below)


def fits(record, place, names, contenders, compared=()):
    """Whether a record on the right GPU is what a place asks for, has results of all who are named,
    and compares those rungs with the ones that they grow from."""
    if recorded.shape_of(record) != place.shape or recorded.tracks(record) != {place.track}:
        return False
    if place.kind == "ladder":
        if record["protocol"] != place.protocol or record["interrupted"]:
            return False
        if not all(name in record for name in contenders):
            return False
    if record["problem"]["inputs"] != place.inputs:
        return False
    if not place.commit and any(recorded.is_outdated(record, name) for name in names):
        return False
    if not place.commit and not all(compares(record, name) for name in compared):
        return False
    if place.kind == "ladder" and not place.commit and not recorded.may_show(record, names):
        return False
    return good_names(record).issuperset(names)


class Library:
    """The recorded results of a folder; `used` is every record that answered a request."""

    def __init__(self, folder=recorded.RESULTS, traces=recorded.TRACES, variants=None):
        self.folder = Path(folder)
        self.traces = Path(traces)
        self.variants = variants
        self.used = []
        self.places = {}
        self.home = recorded.home(folder)

    def all_of(self, kind):
        """Every record of that kind."""
        if kind not in self.places:
            self.places[kind] = (
                [record for record in recorded.all_traces(self.traces) if record["gpu"]]
                if kind == "trace"
                else [record for _, record in recorded.all_of_kind(self.folder, kind)]
            )
        return self.places[kind]

    def find(self, place, names, contenders=(), compared=()):
        """The record that answers requests of `names` at a place. ExpressionError if none does."""
        if place.kind == "emulator":
            return self.emulated()
        found = [
            record
            for record in self.all_of(place.kind)
            if chosen(record, place, self.home) and fits(record, place, names, contenders, compared)
        ]
        if not found:
            who = ", ".join(sorted([*names, *contenders])) or "anybody"
            beside = " beside the rung that it grows from" if compared else ""
            raise ExpressionError(f"nothing recorded has {who}{beside} in {place}")
        whole = [one for one in found if good_names(one) >= whole_track(place.track)] or found
        return self.answered(max(whole, key=recorded.precedence(whole, self.home)))

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

    def newest(self, place, name):
        """The newest trace of that rung on a GPU, or the newest energy run of its parts with all that
        a budget needs."""
        wanted = {
            "trace": lambda one: one["step"] == name,
            "energy": lambda one: one["rung"] == name and recorded.is_whole_energy(one),
        }[place.kind]
        found = [
            one for one in self.all_of(place.kind) if wanted(one) and chosen(one, place, self.home)
        ]
        if not found:
            raise ExpressionError(f"no {WHOLE[place.kind]} of {name} is recorded")
        return self.answered(max(found, key=lambda one: one["date"]))

    def emulated(self):
        """The emulator's counts."""
        path = self.folder / EMULATOR_COUNTS
        record = recorded.load_record(path)
        if record["kind"] != "emulated":
            raise ExpressionError(f"{path}: not counts of the emulator")
        return self.answered(record)


# --- answers --------------------------------------------------------------------------------


def against(ladder, name):
    """The paired ratio of a rung to the one below it, or of a variant to its rung."""
    for pair in ladder["neighbours"]:
        if pair["upper"] == name:
            return Quantity(pair["paired_ratio"], "ratio")
    raise ExpressionError(f"{name} stands above nothing in this run")


def of_ladder(ladder, request):
    """A figure of times."""
    if request.name is None:
        if request.figure not in TIMED:
            raise ExpressionError(f"{request.subject} has no '{request.figure}'")
        return TIMED[request.figure](ladder, ladder[request.subject])
    if request.figure == AGAINST:
        return against(ladder, request.name)
    timing = recorded.entry_of(ladder, request.name)["timing"]
    if request.figure in TIMED:
        return TIMED[request.figure](ladder, timing["step"])
    other = RATIOS[request.figure] or recorded.measure_of(ladder).other
    ratio = timing.get(recorded.ratio_to(other))
    if ratio is None:
        raise ExpressionError(f"{other} was not timed beside {request.name} in this run")
    return Quantity(ratio["median"], "ratio", ratio["low"], ratio["high"])


def of_counters(record, request):
    """A figure of the hardware's counters."""
    if request.name:
        entry = recorded.entry_of(record, request.name)
    elif request.subject == "cublas":
        beside = [step["cublas"] for step in record["steps"] if step.get("cublas")]
        if not beside:
            raise ExpressionError("cuBLAS was not counted beside these programs")
        entry = beside[0]
    else:
        raise ExpressionError(f"{request.subject} is not counted")
    raw = ((request.figure,), 1, "bytes" if "bytes" in request.figure else "count")
    metrics, scale, kind = COUNTED.get(request.figure, raw)
    total = 0
    for metric in metrics:
        if metric not in entry["counters"]:
            raise ExpressionError(f"'{metric}' was not counted in this run")
        total += known(entry["counters"][metric], metric)
    return Quantity(total * scale, kind)


def of_emulator(record, request):
    """A figure of the emulator's counts."""
    rungs = [rung for ladder in record["ladders"] for rung in ladder["rungs"]]
    entries = [rung for rung in rungs if rung["step"] == request.subject and "failed" not in rung]
    if not entries:
        raise ExpressionError(f"the emulator has counted nothing of {request.subject}")
    name = request.figure[len(EMULATED) :]
    counts = entries[0]["emulator"]["counts"]
    if name in EMULATED_DIMENSIONS and name in entries[0]["problem"]:
        return Quantity(entries[0]["problem"][name], "count")
    if name == EXTRA_WAVEFRONTS:
        sites = entries[0]["emulator"]["shared_memory_accesses"]
        return Quantity(sum(site[name] for site in sites), "count")
    if name not in counts:
        raise ExpressionError(
            f"'{name}' is no count of the emulator; there are {', '.join(counts)}"
            f" and {EXTRA_WAVEFRONTS}, and the shape: {', '.join(EMULATED_DIMENSIONS)}"
        )
    return Quantity(counts[name], "bytes" if name.endswith("_bytes") else "count")


ANSWERS = {"ladder": of_ladder, "counters": of_counters, "emulator": of_emulator}


def check_subject(request):
    """ExpressionError unless the subject is known by its form."""
    if request.name is None and request.subject not in CONTENDERS:
        raise ExpressionError(
            f"'{request.subject}' is neither a rung, a variant nor {', '.join(CONTENDERS)}"
        )


def answer(requests, library):
    """{request: quantity} of all requests of one expression."""
    groups = {}
    for request in requests:
        check_subject(request)
        groups.setdefault(place_of(request), []).append(request)
    answers = {}
    for place, group in groups.items():
        if place.kind in WHOLE:
            figure = {"trace": trace_figures, "energy": energy_figures}[place.kind].figure
            for request in group:
                record = library.newest(place, request.subject)
                answers[request] = figure(record, request.figure)
            continue
        names = {request.name for request in group if request.name}
        contenders = {request.subject for request in group if request.subject in CONTENDERS}
        compared = {
            request.name
            for request in group
            if request.name in rungs_today() and request.figure == AGAINST
        }
        record = library.find(place, names, contenders, compared)
        for request in group:
            answers[request] = ANSWERS[place.kind](record, request)
    return answers
