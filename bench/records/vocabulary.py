"""The words that every JSON here uses: tracks, names of rungs, and what is measured of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

TRACKS = "vatf"
MOVING = "t"  # the track that moves words instead of multiplying
# A rung (v07), a variant of it (v06-each-sm), or a rival beside its track (v-cutlass-cooperative).
NAME = re.compile(r"[vatf]([0-9]{2}(-[a-z0-9-]+)?|-[a-z0-9-]+)")
PROTOCOLS = ("burst", "sustained", "call")
BOTH = PROTOCOLS[:2]  # what --protocol both asks for
EARLY = "early"  # the rung itself, launched early, beside its usual launch
LIMITS = ("power", "thermal", "sync_boost", "board", "low_utilization", "reliability")  # of a clock
WIDE = 1.01  # a ratio's 90th percentile over its 10th, above which its spread is called wide


class Contender(NamedTuple):
    """Somebody with whom rungs are compared."""

    track: str  # beside whose rungs it is looked for where nothing says so
    name: str  # in a row of programs ...
    idea: str  # ... and beside it; a record may say it better
    title: str  # in a heading or a sentence


CONTENDERS = {
    "cublas": Contender("v", "cuBLAS", "its default, fp32 sums", "cuBLAS"),
    "cublaslt": Contender("v", "cuBLASLt", "the best", "cuBLASLt's best"),
    "cublas_fp16_sums": Contender("a", "cuBLAS", "fp16 sums", "cuBLAS, fp16 sums"),
    "cublaslt_accurate": Contender("f", "cuBLASLt", "accurate", "cuBLASLt (accurate)"),
    "cublaslt_fast": Contender("f", "cuBLASLt", "fast accumulation", "cuBLASLt (fast)"),
    "cublaslt_block_scales": Contender("f", "cuBLASLt", "block scales", "cuBLASLt (block scales)"),
    "device_copy": Contender("t", "copy", "cudaMemcpyAsync, device to device", "device copy"),
    "second_opinion": Contender("t", "other", "the second opinion", "the second opinion"),
}


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
    besides: tuple  # who else may be timed beside them

    @property
    def other_name(self):
        """The other, in words."""
        return CONTENDERS[self.other].title

    @property
    def ratio(self):
        """The other's time over the rung's."""
        return ratio_to(self.other)

    @property
    def readings(self):
        """What is read beside the time, and null where it can't be read."""
        return (self.share, "sm_clock_ghz", "watts", "joules")

    def contenders(self, timing):
        """Everybody in this timing with whom the step is compared, the other first; of a rung
        also the rung itself, launched early."""
        return [name for name in (self.other, *self.besides, EARLY) if name in timing]

    def work_of(self, problem):
        """The work of one launch: a multiplication and an addition, or a word read and written."""
        amount = 2 if self.work == "flop" else 8
        for name in self.dimensions:
            amount *= problem[name]
        return amount


PRODUCTS = Measure(
    dimensions="mnk",
    work="flop",
    rate="tflops",
    unit="TFLOPS",
    units=1e12,
    share="tensor_core_share",
    other="cublas",
    besides=("cublas_fp16_sums", "cublaslt"),
)
FP8 = replace(PRODUCTS, other="cublaslt_accurate", besides=("cublaslt_fast", "cublaslt"))
BLOCK_SCALES = replace(PRODUCTS, other="cublaslt_block_scales", besides=("cublaslt",))
MOVES = Measure(
    dimensions="mn",
    work="bytes",
    rate="gb_per_s",
    unit="GB/s",
    units=1e9,
    share="memory_share",
    other="device_copy",
    besides=("second_opinion",),
)
MEASURES = (PRODUCTS, FP8, BLOCK_SCALES, MOVES)


def ratio_to(contender):
    """The name of a contender's time over the step's."""
    return f"ratio_to_{contender}"


def measure_of(record):
    """The measure of a recorded run, ladder or file of counters: there is no k where words move.
    FP8's block scales are known by whom they are beside."""
    problem = record["problem"]
    if problem.get("computation") == "gemm_fp8":
        timed = record.get("timing") or record  # nothing is timed on the emulator
        return BLOCK_SCALES if BLOCK_SCALES.other in timed else FP8
    return PRODUCTS if "k" in problem else MOVES


def renamed(value, names):
    """A part of a record with other names for some contenders, and for the ratios to them."""
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    names = {**names, **{ratio_to(old): ratio_to(new) for old, new in names.items()}}
    return {names.get(key, key): renamed(one, names) for key, one in value.items()}


def as_named_today(ladder):
    """A ladder of FP8 from when cuBLASLt's modes had the names of cuBLAS; any other as it is."""
    if ladder.get("problem", {}).get("computation") != "gemm_fp8" or "cublas" not in ladder:
        return ladder
    other = FP8.other if "cublas_fast_sums" in ladder else BLOCK_SCALES.other
    return renamed(ladder, {"cublas": other, "cublas_fast_sums": "cublaslt_fast"})


def shape_of(record):
    """(m, n, k), or (m, n) where words are moved."""
    return tuple(record["problem"][name] for name in measure_of(record).dimensions)


def rung_of(name):
    """'v07' for the rung v07 and for every variant of it; a rival is its own."""
    return name if is_rival(name) else name.partition("-")[0]


def is_rival(name):
    """True for 'v-fast-cu-12': somebody else's kernel."""
    return name[1] == "-"


def is_variant(name):
    """True for 'v06-each-sm', false for 'v07' and for a rival."""
    return "-" in name and not is_rival(name)


def name_order(name):
    """A sort key: track by track, rung by rung, a rung before its variants, rivals last."""
    return TRACKS.index(name[0]), is_rival(name), name


EMULATOR_COUNTS = "emulator/counts.json"  # in the folder of results


def counts_of(rung):
    """{name: number} of what the emulator counted of a rung: with the dimensions, and all that bank
    conflicts cost."""
    accesses = rung["emulator"]["shared_memory_accesses"]
    extra = sum(access["extra_wavefronts"] for access in accesses)
    shape = {name: rung["problem"].get(name) for name in "mnk"}
    return {**rung["emulator"]["counts"], **shape, "extra_wavefronts": extra}
