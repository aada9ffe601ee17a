"""Recorded results: where they lie, how they are read, and how files are written whole.

Used by the programs in bench/ and the plots. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
SCHEMA = 1
HEADLINE_SIZE = 8192
HEADLINE_PROTOCOL = "burst"
TRACKS = "vat"
MOVING = "t"  # the track that moves words instead of multiplying
NAME = re.compile(r"[vat][0-9]{2}(-[a-z0-9-]+)?")  # a rung, or a variant of it


@dataclass(frozen=True)
class Measure:
    """What is measured of a rung, and under which names it stands in every JSON here."""

    dimensions: str  # of its problem
    work: str  # of one launch
    rate: str  # work per time ...
    unit: str  # ... in this unit ...
    units: float  # ... of so much work a second
    share: str  # of what the hardware could do
    other: str  # whom the rungs are compared with
    ratio: str
    other_name: str
    beside: str  # who else may be timed beside them
    optional: tuple = ("sm_clock_ghz", "watts", "joules")

    @property
    def readings(self):
        """What is read beside the time, and null where it can't be read."""
        return (self.share, *self.optional)


PRODUCTS = Measure(
    dimensions="mnk",
    work="flop",
    rate="tflops",
    unit="TFLOPS",
    units=1e12,
    share="tensor_core_share",
    other="cublas",
    ratio="ratio_to_cublas",
    other_name="cuBLAS",
    beside="cublas_fp16_sums",
)
MOVES = Measure(
    dimensions="mn",
    work="bytes",
    rate="gb_per_s",
    unit="GB/s",
    units=1e9,
    share="memory_share",
    other="device_copy",
    ratio="ratio_to_device_copy",
    other_name="device copy",
    beside="second_opinion",
)


def measure_of(record):
    """The measure of a recorded run, ladder or file of counters: there is no k where words move."""
    return PRODUCTS if "k" in record["problem"] else MOVES


def quantile(values, fraction):
    """The quantile of a non-empty list by linear interpolation (numpy's default rule)."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median(values):
    """The median of a non-empty list."""
    return quantile(values, 0.5)


def summary(values):
    """Median, 10th and 90th percentile, under the names that every JSON here uses."""
    return {"median": median(values), "low": quantile(values, 0.1), "high": quantile(values, 0.9)}


def write_whole(path, data):
    """Writes bytes to `path` through a temporary file beside it: all of them or nothing."""
    path = Path(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def rung_of(name):
    """'v07' for the rung v07 and for every variant of it."""
    return name.partition("-")[0]


def is_variant(name):
    """True for 'v07-balanced', false for 'v07'."""
    return "-" in name


def name_order(name):
    """A sort key: track by track, rung by rung, a rung before its variants."""
    return TRACKS.index(name[0]), name


def file_name(record, words, date):
    """nvidia-h200-8192x8192x8192-<words>-20250131T120000Z.json"""
    slug = re.sub(r"[^a-z0-9]+", "-", record["gpu"]["name"].lower()).strip("-")
    shape = "x".join(map(str, shape_of(record)))
    return f"{slug}-{shape}-{words}-{time.strftime('%Y%m%dT%H%M%SZ', date)}.json"


def load_record(path):
    """Reads one recorded file of any kind. Raises ValueError, naming the file, if it isn't one."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(record, dict) or record.get("kind") not in ("ladder", "counters"):
        raise ValueError(f"{path}: not a recorded ladder, and no recorded counters")
    if record.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema {record.get('schema')}, this program reads {SCHEMA}")
    return record


def load_ladder(path):
    """Reads one recorded ladder. Raises ValueError, naming the file, if it isn't one."""
    ladder = load_record(path)
    if ladder["kind"] != "ladder":
        raise ValueError(f"{path}: not a recorded ladder")
    return ladder


def load_rungs(path):
    """The same for the README and the plots, which show rungs: a ladder without variants."""
    ladder = load_ladder(path)
    if has_variants(ladder):
        raise ValueError(f"{path}: it has variants of rungs; they belong in the notes alone")
    return ladder


def has_variants(ladder):
    """True if the ladder tried a variant of a rung."""
    return any(is_variant(rung["step"]) for rung in ladder["rungs"])


def is_standard(ladder):
    """True for a finished burst run at m = n = k = 8192."""
    square = shape_of(ladder) == (HEADLINE_SIZE,) * 3
    return square and ladder["protocol"] == HEADLINE_PROTOCOL and not ladder["interrupted"]


def rung_names(steps=ROOT / "steps", track="v"):
    """The rungs of a track, lowest first, from their files."""
    files = Path(steps).glob(f"{track}[0-9][0-9]_*.cu")
    return sorted(path.name.partition("_")[0] for path in files)


def is_headline(ladder, steps=ROOT / "steps"):
    """True for what the README shows: the standard run of every rung, none failed, no variants."""
    names = [rung["step"] for rung in measured(ladder)]
    return is_standard(ladder) and names == rung_names(steps) == all_names(ladder)


def newest(folder, kind, wanted):
    """Path of the newest record of that kind in `folder` for which wanted(record), or None."""
    found = []
    for path in sorted(Path(folder).glob("*.json")):
        record = load_record(path)
        if record["kind"] == kind and wanted(record):
            found.append((record["date"], path))
    return max(found)[1] if found else None


def newest_headline(folder=RESULTS, steps=ROOT / "steps"):
    """Path of the newest headline run in `folder`, or None. ValueError for a broken file."""
    return newest(folder, "ladder", lambda ladder: is_headline(ladder, steps))


def newest_variants(folder=RESULTS, commit=None):
    """Path of the newest standard run with variants of v rungs, of `commit` if given, or None."""

    def wanted(ladder):
        if not is_standard(ladder) or tracks(ladder) != {"v"}:
            return False
        return has_variants(ladder) and commit in (None, ladder["commit"])

    return newest(folder, "ladder", wanted)


def newest_counters(folder=RESULTS):
    """Path of the newest counters of v rungs at m = n = k = 8192 in `folder`, or None."""
    square = (HEADLINE_SIZE,) * 3
    return newest(
        folder,
        "counters",
        lambda record: shape_of(record) == square and tracks(record) == {"v"},
    )


def newest_with(names, mnk, kind="ladder", folder=RESULTS):
    """Path of the newest record at that shape in which all of `names` have a result, or None.

    A ladder has to be a finished burst run.
    """

    def wanted(record):
        if kind == "ladder" and (record["protocol"] != HEADLINE_PROTOCOL or record["interrupted"]):
            return False
        good = {entry["step"] for entry in entries(record) if "failed" not in entry}
        return shape_of(record) == tuple(mnk) and good.issuperset(names)

    return newest(folder, kind, wanted)


def shape_of(record):
    """(m, n, k), or (m, n) where words are moved."""
    return tuple(record["problem"][name] for name in measure_of(record).dimensions)


def entries(record):
    """What was measured, of a ladder or of counters: a list of what has `step`."""
    return record["rungs"] if record["kind"] == "ladder" else record["steps"]


def tracks(record):
    """The letters of the tracks in it."""
    return {entry["step"][0] for entry in entries(record)}


def spread(values, digits):
    """'801.2 (796.0 to 804.9)'."""
    median, low, high = (f"{values[key]:.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def all_names(ladder):
    """Everything that the ladder tried, in its order."""
    return [rung["step"] for rung in ladder["rungs"]]


def measured(ladder):
    """The rungs that have a result, in the ladder's order."""
    return [rung for rung in ladder["rungs"] if "failed" not in rung]


def records_of(path):
    """All records in one file. Raises ValueError, naming the file, if there is none."""
    return [load_record(path)]


def all_records(folder=RESULTS):
    """All records of a folder, oldest first. ValueError for a broken file."""
    paths = sorted(Path(folder).glob("*.json"))
    found = [record for path in paths for record in records_of(path)]
    return sorted(found, key=lambda record: record["date"])
