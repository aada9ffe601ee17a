"""Recorded results: where they lie, how they are read, and how files are written whole.

Used by the programs in bench/ and the plots. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import rungs
from bench.energy import budget
from bench.records import figures, schema
from bench.records.figures import median, summary  # noqa: F401 (found here by others)
from bench.records.vocabulary import (  # noqa: F401 (the same)
    MOVES,
    MOVING,
    NAME,
    PRODUCTS,
    PROTOCOLS,
    TRACKS,
    as_named_today,
    is_rival,
    is_variant,
    measure_of,
    name_order,
    ratio_to,
    rung_of,
    shape_of,
)

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
TRACES = ROOT / "bench" / "traces"
HEADLINE_SIZE = 8192
HEADLINE_PROTOCOL = "burst"
TOP = "v16"  # the fastest rung at that size
LAST = "v17"  # the last one that is for that size; those above it are for others
# A list, and an object, of numbers and nulls alone.
FIGURES = re.compile(r"\[\n([-+.,eE0-9nul\s]+)\n\s*\]")
NAMED_FIGURES = re.compile(r'\{\n((?:\s*"\w+": (?:[-+.eE0-9]+|null),?\n)+)\s*\}')
PLACE = re.compile(r"(.+)#([0-9]{1,6})")


def is_written_to(path):
    """True for a device or a pipe, which is written to as it is; a file is replaced."""
    path = Path(path)
    return path.is_char_device() or path.is_fifo()


def write_whole(path, data):
    """Writes bytes to `path` through a temporary file beside it: all of them or nothing. A link
    stays: what it leads to is replaced."""
    if is_written_to(path):
        Path(path).write_bytes(data)
        return
    path = Path(path).resolve()
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def write_json(path, record):
    """Writes a record to `path`, whole; what holds figures alone stands on one line."""
    text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False)
    text = FIGURES.sub(lambda match: "[" + " ".join(match[1].split()) + "]", text)
    text = NAMED_FIGURES.sub(lambda match: "{" + " ".join(match[1].split()) + "}", text)
    write_whole(path, (text + "\n").encode("utf-8"))


def slug(gpu):
    """nvidia-h200"""
    return re.sub(r"[^a-z0-9]+", "-", gpu["name"].lower()).strip("-")


def file_name(gpu, words, date):
    """nvidia-h200-1a2b3c4d-<words>-20250131T120000Z.json: two cards may be measured in one second."""
    card = [gpu["card"]] if gpu.get("card") else []
    return "-".join([slug(gpu), *card, words, re.sub("[-:]", "", date)]) + ".json"


def now():
    """The UTC time as every JSON here has it."""
    return time.strftime(schema.DATE, time.gmtime())


def write_new(path, record, words):
    """Writes a record to `path`, or to a new file among the results; returns the path."""
    path = path or RESULTS / file_name(record["gpu"], words, record["date"])
    write_json(path, record)
    return path


def refuse_constant(text):
    """NaN and Infinity aren't JSON and have no place among results."""
    raise ValueError(f"it holds {text}")


def without_repeats(pairs):
    """An object. ValueError for a repeated key: which of its values would be meant?"""
    found = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} is in it twice")
        found[key] = value
    return found


def parse(text):
    """A JSON text. ValueError for anything that isn't one, and for NaN or a repeated key."""
    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=without_repeats)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"no whole JSON, cut short or damaged at {place}: {error.msg}") from error


def check(record):
    """ValueError, naming the field, unless the record is of its schema and can be true."""
    schema.check(record)
    figures.check(record)


@cache
def load_checked(path, _changed):
    """The record in that file, which was changed at that time. ValueError if it isn't right."""
    record = parse(Path(path).read_text(encoding="utf-8"))
    if isinstance(record, dict) and isinstance(record.get("ladders"), list):
        record["ladders"] = [as_named_today(one) for one in record["ladders"]]
    check(record)
    return record


def load_record(path):
    """Reads one recorded file of any kind. Raises ValueError, naming file and field, if it isn't
    one, or if its figures don't follow from its samples. What is returned must not be changed."""
    try:
        status = os.stat(path)
        return load_checked(str(path), (status.st_mtime_ns, status.st_size))
    except (OSError, ValueError, ArithmeticError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path}: {why}") from error


# --- ladders ----------------------------------------------------------------------------------
#
# A ladder is alone in its file or one of a run's. Its place is the path of its file, with #2 behind
# it for the second one of a run with several.


def ladders_in(run):
    """The ladders of a run, each as if it had a file of its own."""
    shared = {key: run[key] for key in ("schema", "gpu", "commit")}
    return [{**shared, "kind": "ladder", **ladder} for ladder in run["ladders"]]


def places_in(path):
    """A list of (place, record) of one file: its ladders, or the one record that is in it.
    ValueError for a broken file."""
    record = load_record(path)
    found = [record] if record["kind"] != "run" else ladders_in(record)
    several = len(found) > 1
    return [
        (Path(f"{path}#{number}" if several else path), one) for number, one in enumerate(found, 1)
    ]


def all_of_kind(folder, kind):
    """Yields (place, record) of every ladder, or everything of another kind, in `folder`.
    ValueError for a broken file."""
    for path in sorted(Path(folder).glob("*.json")):
        yield from (pair for pair in places_in(path) if pair[1]["kind"] == kind)


def all_ladders(folder=RESULTS):
    """The same of ladders."""
    return all_of_kind(folder, "ladder")


def load_ladder(place):
    """Reads one ladder. Raises ValueError, naming the file, if there isn't one, or several."""
    named = PLACE.fullmatch(str(place))
    path = named[1] if named else place
    ladders = {str(where): one for where, one in places_in(path) if one["kind"] == "ladder"}
    if not ladders:
        raise ValueError(f"{path}: not a recorded ladder")
    if str(place) not in ladders:
        why = f"and no #{named[2]}" if named else f"name one, such as {path}#1"
        raise ValueError(f"{path}: it holds {len(ladders)} ladders: {why}")
    return ladders[str(place)]


def load_rungs(place):
    """The same for the README and the plots, which show rungs: a ladder without variants."""
    ladder = load_ladder(place)
    if not rungs_only(ladder):
        raise ValueError(f"{place}: it has variants of rungs; they belong in the notes alone")
    return ladder


def has_variants(ladder):
    """True if the ladder tried a variant of a rung."""
    return any(is_variant(name) for name in all_names(ladder))


def has_rivals(ladder):
    """True if the ladder tried somebody else's kernel."""
    return any(is_rival(name) for name in all_names(ladder))


def rungs_only(ladder):
    """True if it tried neither."""
    return not has_variants(ladder) and not has_rivals(ladder)


def may_show(ladder, names):
    """True if a ladder may answer for these: a variant or a rival beside them has to be among them."""
    return rungs_only(ladder) or any("-" in name for name in names)


def is_standard(ladder):
    """True for a finished burst run at m = n = k = 8192."""
    square = shape_of(ladder) == (HEADLINE_SIZE,) * 3
    return square and ladder["protocol"] == HEADLINE_PROTOCOL and not ladder["interrupted"]


def rung_names(steps=ROOT / "steps", track="v"):
    """The rungs of a track, lowest first, from their files."""
    return [name for name in rungs.find(steps) if name[0] == track]


# v06 to v13 were other programs before.
CHANGED = frozenset(f"v{number:02}" for number in range(6, 14))
CHANGED_ON = "2026-11-22T13"
# What is timed of these was their early launch before.
EARLY_ONLY = frozenset(("v17", "v18"))
EARLY_ONLY_UNTIL = "2026-11-22T18"
# No ladder of its whole track on the home GPU has these yet: a run of all rungs may lack them.
NOT_MEASURED = frozenset()


def whole_track(steps=ROOT / "steps", track="v"):
    """The rungs of a track that a run of all of it has to have."""
    return [name for name in rung_names(steps, track) if name not in NOT_MEASURED]


def is_outdated(record, name):
    """True if the rung, or the variant's rung, was another program when that was recorded, or was
    timed in another way."""
    if record["kind"] == "ladder" and name in EARLY_ONLY:
        return record["date"] < EARLY_ONLY_UNTIL
    return rung_of(name) in CHANGED and record["date"] < CHANGED_ON


def is_headline(ladder, steps=ROOT / "steps"):
    """True for what the README shows: the standard run of every rung but those that no run has
    measured yet, none failed, no variants."""
    names = [rung["step"] for rung in measured(ladder)]
    if not is_standard(ladder) or names != all_names(ladder):
        return False
    there = {*names, *whole_track(steps)}
    return names == [name for name in rung_names(steps) if name in there]


def climb(ladder):
    """A ladder of the v track with the rungs that are for its size alone."""
    return {**ladder, "rungs": [rung for rung in ladder["rungs"] if rung["step"] <= LAST]}


@dataclass(frozen=True)
class Home:
    """The GPU that notes, tables and pictures show unless told otherwise, and of several cards of
    one kind, at each commit, the one whose records go first."""

    gpu: str | None  # its name; None if no standard run says so: then any is shown
    cards: dict  # {(name of a GPU, commit): card}

    def has(self, record):
        """True for a record of that GPU."""
        return self.gpu in (None, record["gpu"]["name"])

    def main_card(self, record):
        """True if the record is of its GPU's main card, or names no card."""
        gpu = record["gpu"]
        return gpu.get("card") == self.cards.get((gpu["name"], record["commit"]))


def home_of(ladders):
    """The home among these ladders: the GPU with the most rungs in one standard run of the v track,
    and of several such the one with the most memory. Its main card has the most results."""
    standard = [
        (len(measured(one)), one["gpu"].get("memory_bytes") or 0, one["gpu"]["name"])
        for one in ladders
        if is_standard(one) and tracks(one) == {"v"}
    ]
    results = {}
    for one in ladders:
        cards = results.setdefault((one["gpu"]["name"], one["commit"]), Counter())
        cards[one["gpu"].get("card")] += len(measured(one))
    cards = {where: max(sorted(of, key=str), key=of.get) for where, of in results.items()}
    return Home(max(standard)[-1] if standard else None, cards)


def home(folder=RESULTS):
    """The home among all recorded ladders."""
    return home_of([ladder for _, ladder in all_ladders(folder)])


def precedence(records, home):
    """A sort key by which the record to be shown comes last: one of the commit that was measured
    last, of those one beside the best of all configurations, of those one on the main card, of
    those one with the most rounds (a sweep has fewer at each shape), and the newest of these."""
    last = {}
    for record in records:
        last[record["commit"]] = max(last.get(record["commit"], ""), record["date"])
    return lambda record: (
        last[record["commit"]],
        "enumerated" in record.get("heuristics", ()),
        home.main_card(record),
        record.get("passes", 1) * record.get("rounds", 1),
        record["date"],
    )


def newest(folder, kind, wanted):
    """Place of the record of that kind in `folder` that precedence() says, of those on the home GPU
    for which wanted(record), or None."""
    there = home(folder)
    found = [
        (place, record)
        for place, record in all_of_kind(folder, kind)
        if there.has(record) and wanted(record)
    ]
    order = precedence([record for _, record in found], there)
    return max(found, key=lambda pair: order(pair[1]))[0] if found else None


def newest_headline(folder=RESULTS, steps=ROOT / "steps"):
    """Place of the newest headline run in `folder`, or None. ValueError for a broken file."""
    return newest(folder, "ladder", lambda ladder: is_headline(ladder, steps))


def newest_variants(folder=RESULTS, commit=None):
    """Place of the newest standard run with several variants of v rungs, of `commit` if given, or
    None. One variant beside its rung is a trial of its own."""

    def wanted(ladder):
        several = sum(map(is_variant, all_names(ladder))) > 1 and tracks(ladder) == {"v"}
        return several and is_standard(ladder) and commit in (None, ladder["commit"])

    return newest(folder, "ladder", wanted)


def beside_in(ladder, ladders, kind=rungs_only):
    """{GPU: its ladders, one of each card} of the same commit, problem and protocol, all finished
    and of that kind. The ladder's own GPU is first, and of its cards the ladder itself."""

    def belongs(other):
        same = all(other[key] == ladder[key] for key in ("commit", "protocol", "problem"))
        return same and not other["interrupted"] and kind(other)

    others = [other for other in ladders if belongs(other)]
    found = {ladder["gpu"]["name"]: {ladder["gpu"].get("card"): ladder}}
    for other in sorted(others, key=precedence(others, home_of(ladders)), reverse=True):
        of_gpu = found.setdefault(other["gpu"]["name"], {})
        of_gpu.setdefault(other["gpu"].get("card"), other)
    return {gpu: list(cards.values()) for gpu, cards in found.items()}


def headlines(ladder, ladders, steps=ROOT / "steps"):
    """The same of a headline run, and of each other GPU its own newest one: not every change is
    measured on all GPUs."""
    there, found = home_of(ladders), beside_in(ladder, ladders)
    others = {}
    for other in ladders:
        if other["gpu"]["name"] != ladder["gpu"]["name"] and is_headline(other, steps):
            others.setdefault(other["gpu"]["name"], []).append(other)
    for gpu, runs in others.items():
        newest_run = max(runs, key=precedence(runs, there))
        found[gpu] = beside_in(newest_run, ladders)[gpu]
    return found


def over_cards(ladders, name, read):
    """What read(timing) finds of a rung in the ladders of several cards: the median of their medians,
    the lowest and the highest, and `worst`, the lowest median. None if no card has it."""
    timings = [rung["timing"] for one in ladders for rung in measured(one) if rung["step"] == name]
    found = [value for value in map(read, timings) if value]
    if not found:
        return None
    medians = [value["median"] for value in found]
    low, high = min(value["low"] for value in found), max(value["high"] for value in found)
    return {"median": median(medians), "low": low, "high": high, "worst": min(medians)}


def short_name(gpu):
    """'H100' of an NVIDIA H100 80GB HBM3."""
    found = re.search(r"\b[A-Z]{1,2}[0-9]{2,3}\b", gpu["name"])
    return found[0] if found else gpu["name"].removeprefix("NVIDIA ")


def shape_text(record):
    """'8192x8192x8192'"""
    return "x".join(map(str, shape_of(record)))


def entries(record):
    """What was measured, of a ladder or of counters: a list of what has `step`."""
    return record["rungs"] if record["kind"] == "ladder" else record["steps"]


def entry_of(record, name):
    """What was measured of a rung or variant."""
    return next(entry for entry in entries(record) if entry["step"] == name)


def tracks(record):
    """The letters of the tracks in it."""
    return {entry["step"][0] for entry in entries(record)}


def best_of_cublaslt(ladders):
    """'the best of 8 heuristics', or 'of 6 to 8' where not each of the ladders found as many; where
    one tried all, 'the best of 11,448 configurations', the heuristics among them. A list that was
    cut says so: by Ctrl-C, or at 2,048, where it ended before `launched` was recorded."""
    found = [ladder["heuristics"] for ladder in ladders if "heuristics" in ladder]
    enumerated = [one for one in found if "enumerated" in one]
    counts = sorted({configurations(one) for one in found})
    words = " to ".join(f"{number:,}" for number in counts[:1] + counts[1:][-1:])
    cut = any(one.get("cut") or "launched" not in one for one in enumerated)
    kind = "configurations" if enumerated else "heuristics"
    return f"the best of {words} {kind}{' (a list that was cut)' if cut else ''}"


def configurations(found):
    """How many of cuBLASLt's algorithms a search timed."""
    return found.get("launched") or found["returned"] + found.get("enumerated", 0)


def spread(values, digits):
    """'801.2 (796.0 to 804.9)'."""
    median, low, high = (f"{values[key]:.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def plus_minus(values, digits):
    """'1.062 ±.002': the median, and half of the distance from low to high, rounded up. A dash for
    None."""
    if values is None:
        return "–"
    half = max(1, math.ceil((values["high"] - values["low"]) / 2 * 10**digits - 1e-9))
    return f"{values['median']:.{digits}f} ±{half / 10**digits:.{digits}f}".replace("±0.", "±.")


def all_names(ladder):
    """Everything that the ladder tried, in its order."""
    return [rung["step"] for rung in ladder["rungs"]]


def measured(ladder):
    """The rungs that have a result, in the ladder's order."""
    return [rung for rung in ladder["rungs"] if "failed" not in rung]


def trace_name(record):
    """'v07-emulator' or 'v07-nvidia-h200': what the files of a trace are called."""
    machine = "emulator" if record["gpu"] is None else slug(record["gpu"])
    return f"{record['step']}-{machine}"


def all_traces(folder=TRACES):
    """All traces of a folder, by their names. ValueError for a broken file."""
    return [trace for _, trace in all_of_kind(folder, "trace")]


def newest_energies(records, home):
    """Of these runs of rungs' parts the newest of each rung at 8192 x 8192 x 8192 on the home GPU
    with all that a budget needs, by the rungs' names."""
    newest = {}
    for record in sorted(records, key=lambda record: record["date"]):
        with contextlib.suppress(budget.Unsolvable):
            budget.require_parts(record)
            if home.has(record) and shape_of(record) == (HEADLINE_SIZE,) * 3:
                newest[record["rung"]] = record
    return [newest[rung] for rung in sorted(newest)]
