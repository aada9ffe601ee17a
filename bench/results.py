"""Recorded runs: rows as the programs printed them, and what follows from their samples.

A row is one process of one rung. bench/results/README.md has the fields, and says which file answers.
Standard library only.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
HOME = "nvidia-h200"  # the GPU that is shown unless a page says otherwise
SIZE = 8192  # of the headline: m = n = k
TOP = "v16"  # this rung is in every headline, and needs no early launch and no map of the chip
PROTOCOLS = ("burst", "sustained", "call")

# --- names --------------------------------------------------------------------------------------

TRACKS = "vsatf"
MOVING = "t"  # the track that moves words instead of multiplying
APART = ("a01", "t01")  # they compute something else than their track, and run by themselves
# A rung (v07), a variant of it (v06-each-sm), or a rival beside its track (v-cutlass-cooperative).
NAME = re.compile(r"[vsatf]([0-9]{2}(-[a-z0-9-]+)?|-[a-z0-9-]+)")
EARLY = "early"  # the rung itself, launched early, beside its usual launch
FIRST = "cublaslt_first"  # what cuBLASLt takes without a search
TUNED = "tuned"  # the quick tuner's pick; in older rows, without `tune`, what BEST is now
BEST = "best"  # the fastest of a rung's kernels, which a longer search found


def is_rival(name):
    """True for 'v-fast-cu-12': somebody else's kernel."""
    return name[1] == "-"


def is_variant(name):
    """True for 'v06-each-sm', false for 'v07' and for a rival."""
    return "-" in name and not is_rival(name)


def rung_of(name):
    """'v07' for the rung v07 and for every variant of it; a rival is its own."""
    return name if is_rival(name) else name.partition("-")[0]


def name_order(name):
    """A sort key: track by track, rung by rung, a rung before its variants, rivals last."""
    return TRACKS.index(name[0]), is_rival(name), name


def short_name(gpu):
    """'H100' of an NVIDIA H100 80GB HBM3."""
    found = re.search(r"\b[A-Z]{1,2}[0-9]{2,3}\b", gpu["name"])
    return found[0] if found else gpu["name"].removeprefix("NVIDIA ")


def slug(gpu):
    """'nvidia-h200'; 'emulator' without a GPU."""
    return re.sub(r"[^a-z0-9]+", "-", gpu["name"].lower()).strip("-") if gpu else "emulator"


# --- what is measured ---------------------------------------------------------------------------


class Contender(NamedTuple):
    """Somebody with whom rungs are compared."""

    track: str  # beside whose rungs it is looked for where nothing says so
    name: str  # in a row of programs ...
    idea: str  # ... and beside it; a record may say it better
    title: str  # in a heading or a sentence


CONTENDERS = {
    "cublas": Contender("v", "cuBLAS", "its default, fp32 sums", "cuBLAS"),
    "cublaslt": Contender("v", "cuBLASLt", "the best", "cuBLASLt's best"),
    FIRST: Contender("v", "cuBLASLt", "its first heuristic", "cuBLASLt's first"),
    "cublas_fp16_sums": Contender("a", "cuBLAS", "fp16 sums", "cuBLAS, fp16 sums"),
    "cublaslt_accurate": Contender("f", "cuBLASLt", "accurate", "cuBLASLt (accurate)"),
    "cublaslt_fast": Contender("f", "cuBLASLt", "fast accumulation", "cuBLASLt (fast)"),
    "cublaslt_block_scales": Contender("f", "cuBLASLt", "block scales", "cuBLASLt (block scales)"),
    "device_copy": Contender("t", "copy", "cudaMemcpyAsync, device to device", "device copy"),
    "second_opinion": Contender("t", "other", "the second opinion", "the second opinion"),
}


class Measure(NamedTuple):
    """What is measured of a rung, and under which names."""

    dimensions: str  # of its problem
    each: int  # work for each of their product: a multiplication and an addition, or a word moved
    rate: str  # work per time ...
    unit: str  # ... in this unit ...
    units: float  # ... of so much work a second
    share: str  # of what the hardware could do
    other: str  # whom the rungs are compared with
    besides: tuple  # who else may be timed beside them

    @property
    def other_name(self):
        """The other, in words."""
        return CONTENDERS[self.other].title

    def work_of(self, problem):
        """The work of one launch."""
        return self.each * math.prod(problem[name] for name in self.dimensions)


PRODUCTS = Measure(
    *("mnk", 2, "tflops", "TFLOPS", 1e12, "tensor-core share", "cublas"),
    ("cublas_fp16_sums", "cublaslt"),
)
FP8 = PRODUCTS._replace(other="cublaslt_accurate", besides=("cublaslt_fast", "cublaslt"))
BLOCK_SCALES = PRODUCTS._replace(other="cublaslt_block_scales", besides=("cublaslt",))
MOVES = Measure(
    *("mn", 8, "gb_per_s", "GB/s", 1e9, "memory share", "device_copy", ("second_opinion",))
)

# --- samples ------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """A median, with the 10th and the 90th percentile."""

    mid: float
    low: float
    high: float

    @classmethod
    def of(cls, samples):
        samples = list(samples)
        several = samples if len(samples) > 1 else samples * 2
        tails = quantiles(several, n=10, method="inclusive")
        return cls(median(samples), tails[0], tails[-1])

    def to(self, digits):
        """'801.2 (796.0 to 804.9)'"""
        middle, low, high = (f"{value:.{digits}f}" for value in self)
        return f"{middle} ({low} to {high})"


class Against(NamedTuple):
    """A rung and the one below it, by their ratios to the same other, pass by pass: drifts cancel."""

    ratio: float  # above 1 the rung is faster
    faster: int  # in so many ...
    passes: int  # ... passes


@dataclass
class Run:
    """The rows of one context: programs at one shape by one protocol, in passes of some rounds."""

    context: dict
    path: Path | None = None
    rows: dict = field(default_factory=lambda: defaultdict(list))  # of each program, in order
    failed: dict = field(default_factory=dict)  # program -> why it has no result
    refused: dict = field(default_factory=dict)  # program -> why it does not take the shape

    gpu = property(lambda self: self.context["gpu"])
    commit = property(lambda self: self.context["commit"])
    protocol = property(lambda self: self.context["protocol"])
    problem = property(lambda self: self.context["problem"])
    rounds = property(lambda self: self.context.get("rounds", 1))
    names = property(lambda self: sorted({*self.rows, *self.failed}, key=name_order))
    measured = property(lambda self: [name for name in self.names if name not in self.failed])
    tracks = property(lambda self: {name[0] for name in self.names})
    passes = property(lambda self: max(map(len, self.rows.values()), default=0))
    shape = property(lambda self: tuple(self.problem[name] for name in self.measure.dimensions))
    work = property(lambda self: self.measure.work_of(self.problem))
    old = property(lambda self: self.path and self.path.parent.name == "then")  # if asked by commit
    plain = property(lambda self: not any("-" in name for name in self.names))  # rungs alone

    @cached_property
    def date(self):
        """When it began: of the first row that says so."""
        dates = [row["date"] for rows in self.rows.values() for row in rows if "date" in row]
        return min(dates, default="")

    def add(self, row):
        """Takes a row."""
        name = row["step"]
        if "failed" in row:
            self.failed[name] = row["failed"]
        elif "refused" in row:
            self.refused[name] = row["refused"]
        else:
            self.rows[name].append(row)

    @cached_property
    def contenders(self):
        """Whom anything was timed beside."""
        return {who for rows in self.rows.values() for row in rows for who in row.get("timed", ())}

    @cached_property
    def measure(self):
        """There is no k where words move; FP8's block scales are known by whom they are beside."""
        if self.problem["computation"] == "gemm_fp8":
            return BLOCK_SCALES if BLOCK_SCALES.other in self.contenders else FP8
        return PRODUCTS if "k" in self.problem else MOVES

    @cached_property
    def heuristics(self):
        """What the search among cuBLASLt's algorithms found, or None."""
        rows = (row for name in self.names for row in self.rows.get(name, ()))
        return next((row["heuristics"] for row in rows if "heuristics" in row), None)

    @property
    def algorithms(self):
        """How many of cuBLASLt's algorithms the search timed; None without one."""
        found = self.heuristics
        return found and (found.get("launched") or found["returned"] + found.get("enumerated", 0))

    def words_of(self, name):
        """What a program or a contender is."""
        if name not in CONTENDERS:
            return self.first(name).get("idea", "")
        if name == "cublaslt" and self.algorithms:
            kind = "configurations" if "enumerated" in self.heuristics else "heuristics"
            return f"the best of {self.algorithms:,} {kind}"
        said = [row.get("names", {}) for one in self.measured for row in self.rows[one]]
        return next((names[name] for names in said if name in names), CONTENDERS[name].idea)

    def first(self, name):
        """The first row of a program."""
        return self.rows[name][0]

    def timed(self, name, who="step"):
        """What was timed of a contender beside that program; of a contender's own name, beside all."""
        beside = self.measured if name in CONTENDERS else [name]
        who = name if name in CONTENDERS else who
        rows = [row for one in beside for row in self.rows.get(one, ())]
        return [row["timed"][who] for row in rows if who in row.get("timed", ())]

    def seconds(self, name, who="step"):
        """All samples, pass by pass."""
        return [value for one in self.timed(name, who) for value in one["seconds"]]

    def best(self, name):
        """Who is the fastest of a rung's kernels, if a search has looked for it."""
        row = self.first(name)
        return TUNED if TUNED in row["timed"] and "tune" not in row else BEST

    def rate(self, name, who="step"):
        """In the measure's unit; None of who was not timed."""
        samples = self.seconds(name, who)
        return Spread.of(self.work / self.measure.units / s for s in samples) if samples else None

    def ratio(self, name, to=None, of="step"):
        """Their time over the program's, round by round: above 1 the program is faster."""
        pairs = list(zip(self.seconds(name, to or self.measure.other), self.seconds(name, of)))
        return Spread.of(theirs / own for theirs, own in pairs) if pairs else None

    def against(self, name, below):
        """That program and another; None unless both were measured in as many passes."""
        sides = []
        for one in (below, name):
            pairs = zip(self.timed(one, self.measure.other), self.timed(one))
            ratios = [[t / s for t, s in zip(o["seconds"], own["seconds"])] for o, own in pairs]
            sides.append([median(samples) for samples in ratios])
        paired = [high / low for low, high in zip(*sides)]
        faster = sum(value > 1 for value in paired)
        return Against(median(paired), faster, len(paired)) if paired else None

    def reading(self, name, key, who="step"):
        """The median over the passes of what was read, or None: ghz, watts, joules."""
        known = [one[key] for one in self.timed(name, who) if one.get(key) is not None]
        return median(known) if known else None


# --- files --------------------------------------------------------------------------------------


def lean(row):
    """A timed row without what nothing in this tree reads, for records, which git keeps: also without the
    times by which a search found the fastest; of a sweep with the samples alone."""
    found, timed = row.get("heuristics"), row.get("timed")
    if not timed:
        return row
    kept = ("seconds", "kernel") if TUNED in timed else set().union(*timed.values())
    timed = {
        who: {key: value for key, value in one.items() if key in kept}
        for who, one in timed.items()
        if not who.startswith("kernel-")
    }
    found = found and {**found, "winner": {"name": found["winner"]["name"]}}
    row = {**row, "timed": timed, "heuristics": found}
    return {key: value for key, value in row.items() if value and key != "digest"}


def append(path, row):
    """Writes a row at the end of a file, of its context what differs from that of the last one."""
    before = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        before |= json.loads(line).get("context", {})
    context = {key: value for key, value in row["context"].items() if before.get(key, ...) != value}
    row = {key: value for key, value in row.items() if key != "context"}
    row |= {"context": context} if context else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def load(path):
    """The runs of a file, in the order in which they begin; those beside block scales are apart.
    ValueError names file and line."""
    runs, context = {}, {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            context = {**context, **row.pop("context", {})}
            apart = "block_scales" in row or BLOCK_SCALES.other in row.get("timed", ())
            key = json.dumps([context, apart], sort_keys=True)
            runs.setdefault(key, Run(context, Path(path))).add(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: not a row of results: {error!r}") from error
    return list(runs.values())


def load_all(order, folder=RESULTS):
    """All runs below a folder, in the order in which they answer: the home GPU's first, then by the
    place of the file's name in `order`; the first card's before others'."""

    def place(path):
        name, gpu = path.name.split(".")[0], path.relative_to(folder).parts[0]
        known = order.index(name) if name in order else len(order)
        then = path.parent.name == "then"  # asked only by commit, and then before a part of it
        return gpu != HOME, gpu, not then, known, path.name.count("."), path.name

    return [run for path in sorted(folder.glob("*/**/*.jsonl"), key=place) for run in load(path)]


def write_whole(path, data):
    """Writes bytes to a file through one beside it: all of them or nothing."""
    path = Path(path).resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
