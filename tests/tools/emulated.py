"""Runs rungs on the emulator, and says what came of it. For the tests that need no GPU."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tools import BUILD, JOBS, ROOT, case, exit_status, in_parallel, skip  # noqa: F401

from planted.plant import KINDS, SEVERAL_TILES, source_of  # noqa: F401 (found here)

FIXED_POLICIES = ("eager", "lazy")
NOTHING = ""  # what a run finds that ends well
NOT_BUILT = "not built"

LIMIT = 120  # seconds for one run

REPORT = re.compile(rf"^\S+: ({'|'.join(KINDS)}): .*", re.MULTILINE)
WRONG = re.compile(r"^.* differ.*|^.*not finite.*", re.MULTILINE)

# Rungs whose standalone files make builds for the tests.
STANDALONE_TRIED = re.search(
    r"(?m)^STANDALONE_TRIED := (.*)$", (ROOT / "make" / "tests.mk").read_text()
)[1].split()
MULTIPROCESSORS = 4  # of the emulated device
LONG_ROWS = "rows that TMA does not take"

# ---------------------------------------------------------------- rungs and their shapes


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int = 0  # none, where words are moved
    kernel: int = 0  # the one that a rung with several takes, from 1; 0: it chooses

    def __str__(self) -> str:
        kernel = f", kernel {self.kernel}" if self.kernel else ""
        return f"{self.m} x {self.n}" + (f" x {self.k}" if self.k else "") + kernel

    def options(self) -> list[str]:
        k = ["--k", str(self.k)] if self.k else []
        kernel = ["--kernel", str(self.kernel)] if self.kernel else []
        return ["--m", str(self.m), "--n", str(self.n), *k, *kernel]

    def exact_inputs(self) -> str:
        """Those with which every result is exact, so that a rung checks once."""
        return "integers" if self.k else "bits"


@cache
def rungs() -> dict[str, Path]:
    return {file.stem.split("_")[0]: file for file in sorted((ROOT / "steps").glob("*.cu"))}


@cache
def constant(source: str, name: str, default: int = 1) -> int:
    """The value of a rung's `constexpr int NAME = 128;`."""
    found = re.search(rf"^constexpr int {name} = (\d+);", source, re.MULTILINE)
    return int(found.group(1)) if found else default


# A kernel that a rung chooses: rows and columns of its tile, and tiles that a CTA has at work, by
# consumers that share it (1) or take turns (2).
Kernel = tuple[int, int, int]

# Of a rung that chooses among kernels: at these it chooses the one given, by so much that constants
# of its model may move by a fifth. The ring is gone around, by other than whole rounds for a tile,
# the edges are clipped, and a CTA has several tiles. tests/emulated_rungs.py sees which kernel it is.
CHOSEN_AT: dict[Kernel, Shape] = {
    (256, 200, 1): Shape(424, 776, 312),
    (128, 256, 1): Shape(152, 808, 312),
    (128, 200, 2): Shape(272, 776, 568),
    (128, 128, 2): Shape(272, 584, 440),
    (128, 64, 1): Shape(536, 40, 568),
}
CLUSTERS = ("1x2", "2x1", "2x2")  # tiles above one another, and beside
FULLEST: Kernel = (128, 200, 2)  # turns, and a dense staging memory: most can go wrong


def kernels(source: str) -> list[Kernel]:
    """The kernels that a rung chooses among, if it does."""
    found = re.findall(r"make_kernel<(\d+), (\d+), \d+, (\d+)>\(\)", source)
    return [(int(height), int(width), int(turns)) for height, width, turns in found]


def edges_of_moves(source: str) -> list[tuple]:
    """(edge, whether the rung has it, shape) of a rung that moves words, in rows of whole 16 bytes."""
    m, n = constant(source, "BM"), constant(source, "BN")
    return [
        ("one tile", True, Shape(m, n)),
        (SEVERAL_TILES, True, Shape(2 * m, (MULTIPROCESSORS + 1) * n)),
        ("a corner of a tile", True, Shape(4, 4)),
        ("a row of tiles", True, Shape(4, 3 * n + 4)),
        ("a column of tiles", True, Shape(3 * m + 4, 4)),
        ("clipped edges", True, Shape(m + 12, 2 * n + 20)),
        ("an odd number of rows", ".multiple_m = 1," in source, Shape(m + 1, n + 4)),
    ]


def edges_of_choices(source: str) -> list[tuple]:
    """The same of a rung that chooses among kernels."""
    return [
        ("one tile", True, Shape(128, 128, 64)),
        ("fewer k-tiles than stages", True, Shape(128, 64, 256)),
        ("a corner of a tile", True, Shape(1, 8, 8)),
        ("clipped edges", True, Shape(168, 200, 136)),
        *((f"tiles of {one[0]} x {one[1]}", one != FULLEST, at) for one, at in CHOSEN_AT.items()),
        (SEVERAL_TILES, True, CHOSEN_AT[FULLEST]),
    ]


def turns_alone(one) -> bool:
    """Whether a kernel's consumers take turns, and it has no cluster."""
    return one.work == "PING_PONG" and one.cluster == "1x1"


def gathers(exchanged: bool):
    """Whether a kernel can gather a tile's parts in a cluster: its sums fit into the ring."""
    return lambda one: (
        one.exchanged == exchanged
        and one.cluster == "1x1"
        and one.work != "PING_PONG"
        and one.rows < 256
    )


@dataclass(frozen=True)
class Member:
    """A kernel of a family: its tile, its consumers, its cluster, whether A and B are exchanged."""

    rows: int
    columns: int
    work: str
    cluster: str
    exchanged: bool

    def __str__(self) -> str:
        exchanged = ["exchanged"] if self.exchanged else []
        return " ".join([f"{self.rows} x {self.columns}", self.work, self.cluster, *exchanged])


WHOLE_FAMILY = ROOT / "common" / "device" / "tile_family.cuh"
SAMPLE = (
    ROOT / "common" / "device" / "emulated" / "device" / "tile_family.cuh"
)  # that the emulator has


def family(header: Path = SAMPLE) -> list[Member]:
    """The kernels in their order, those with A and B exchanged last."""
    found, exchanged = [], False
    for line in header.read_text().splitlines():
        exchanged |= line.startswith("#define EXCHANGED_FAMILY")
        if match := re.match(r"    TILE\((\d+), (\d+), (\w+), (\d), (\d)\)", line):
            rows, columns, work, *cluster = match.groups()
            found.append(Member(int(rows), int(columns), work, "x".join(cluster), exchanged))
    return found


def edges_of_families(source: str, header: Path) -> list[tuple]:
    """The same of a rung whose kernels are a family: each at a ragged shape, where a CTA or a pair
    has several tiles, and k-tiles that go around its ring."""
    any_row = ".any_row = true," in source
    members = [one for one in family(header) if any_row or not one.exchanged]
    whole, cut, gathered = range(3)  # a kernel's numbers, as far as the rung has these forms
    forms = 1 + ("TILE_WHOLE", "TILE_CUT", "TILE_GATHERED").index(
        re.search(r"FORMS = (\w+) \+ 1;", source)[1]
    )

    def number(form, wanted):
        return forms * next(i for i, one in enumerate(members) if wanted(one)) + form + 1

    def of(cluster):
        return lambda one: one.cluster == cluster

    def turns(one):
        return one.work == "PING_PONG"

    ragged = {
        str(one): Shape(296, 584, 440, number(whole, lambda other, one=one: other == one))
        for one in members
    }
    # By turns, in pairs, with a staging memory of dense rows: most can go wrong.
    fullest = next(str(one) for one in members if turns(one) and one.cluster != "1x1")
    edges = [
        ("one tile", True, Shape(128, 128, 64)),
        ("a corner of a tile", True, Shape(1, 8, 8)),
        *((f"tiles of {name}", name != fullest, at) for name, at in ragged.items()),
        (SEVERAL_TILES, True, ragged[fullest]),
        *(
            (f"a cluster of {name}", True, Shape(40, 72, 584, number(whole, of(name))))
            for name in CLUSTERS
            if any(one.cluster == name for one in members)
        ),
        ("few rows", any_row, Shape(5, 584, 584)),
        ("a tile in parts", any_row, Shape(64, 128, 2312)),
        (LONG_ROWS, any_row, Shape(129, 203, 135)),
        ("rows of one element", any_row, Shape(3, 1, 1)),
    ]
    if forms > cut:
        edges += [
            ("tiles in parts", True, Shape(296, 584, 568, number(cut, of("1x1")))),
            ("a pair's tiles in parts", True, Shape(200, 584, 568, number(cut, of("2x1")))),
            ("ping-pong's tiles in parts", True, Shape(896, 64, 568, number(cut, turns_alone))),
        ]
    if forms > gathered:
        edges += [
            (f"{name} in a cluster", True, Shape(m, n, k, number(gathered, wanted)))
            for name, wanted, m, n, k in (
                ("two tiles", gathers(False), 135, 203, 568),
                ("a tile", gathers(False), 72, 136, 2056),
                ("an exchanged tile", gathers(True), 15, 62, 1304),
                ("a row of tiles", of("1x4"), 60, 300, 1304),
                ("a square of tiles", of("2x2"), 150, 200, 1304),
            )
            if any(map(wanted, members))
        ]
    return edges


def edges_of_products(source: str) -> list[tuple]:
    """The same of all others."""
    cluster = constant(source, "CLUSTER")
    stages = constant(source, "STAGES", constant(source, "MOST_STAGES"))
    narrow = constant(source, "NARROW")  # of a rung that chooses the width of its tile
    m, n = constant(source, "BM") * cluster, constant(source, "BN", narrow)
    k = constant(source, "BK", constant(source, "MMA_K"))  # without a tile, what one mma takes
    workers = MULTIPROCESSORS // cluster
    clips, wide, turns = ".multiple_m = 1," in source, narrow > 1, "turn[CONSUMERS]" in source
    blocks = clips and "BLOCKS = BM / WM / CONSUMERS" in source  # of rows that a consumer has
    # By turns: three tiles for each CTA, two for a consumer. 9 narrow tiles take less than 5 wide
    # ones, 16 narrow ones no less than 8.
    several = (2 * workers if turns or wide else workers) + 1
    # Rows of D are columns of the tile, and the other way round; then the tile is that of v19.
    exchanged = "BM = 128; // rows of B" in source
    shape = (lambda rows, columns, k: Shape(columns, rows, k)) if exchanged else Shape
    unit = 16 if ".computes = GEMM_FP8," in source else 8  # k is a multiple of these
    cuts, any_row = "CUT_COST" in source, ".any_row = true," in source
    return [
        ("one tile", True, shape(m, n, k)),
        ("fewer k-tiles than stages", True, shape(m, 2 * n, max(stages - 1, 1) * k)),
        (SEVERAL_TILES, True, shape(m, several * n, (stages + 1) * k)),
        ("a short tile for each consumer", turns, shape(m, (workers + 1) * n, k)),
        ("several wide tiles per CTA", wide, shape(m, 4 * workers * n, (stages + 1) * k)),
        ("a corner of a tile", clips, Shape(1, 8, unit)),
        ("clipped edges", clips, shape(m + 40, n + 72, 2 * k + unit)),
        ("clipped rows of the last consumer", blocks, shape(m - 88, n + 72, 2 * k + unit)),
        ("few rows", exchanged, Shape(5, 2 * m + 72, 2 * k + 8)),
        # One tile for all CTAs; and three, of which three CTAs have a part of two each.
        ("a tile in parts", cuts, Shape(n, m, 3 * workers * k)),
        ("tiles in parts", cuts, Shape(n - 8, 2 * m + 72, (2 * stages + 1) * k + 8)),
        (LONG_ROWS, any_row, Shape(2 * n + 1, m + 75, 2 * k + 7)),
        ("rows of one element", any_row, Shape(3, 1, 1)),
        # As many tiles as multiprocessors, if they are wide.
        ("clipped edges of wide tiles", clips and wide, shape(m + 40, 3 * n + 72, 2 * k + unit)),
    ]


def shapes(source: str, header: Path = SAMPLE) -> dict[str, Shape]:
    """Small shapes that take a rung to its edges, by what they are. The header has its family, if it
    has one."""
    edges = edges_of_choices if kernels(source) else edges_of_products
    if "TILE_FAMILY(" in source:
        edges = partial(edges_of_families, header=header)
    if re.search(r"\.computes = (ADD_ONE_INT32|TRANSPOSE_FP32),", source):
        edges = edges_of_moves
    return {edge: shape for edge, has_it, shape in edges(source) if has_it}


# ---------------------------------------------------------------- running


@dataclass(frozen=True)
class Outcome:
    """How a run ended: a kind of report, NOTHING, or what else happened; its first line, and all
    that was said."""

    kind: str
    line: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.line or self.kind


def outcome_of(result: subprocess.CompletedProcess) -> Outcome:
    text = result.stderr + result.stdout
    if result.returncode == 0:
        return Outcome(NOTHING)
    if result.returncode < 0:
        return Outcome(f"signal {-result.returncode}")
    if found := REPORT.search(text):
        return Outcome(found.group(1), found.group(), text[found.start() :])
    if result.returncode == 1 and (found := WRONG.search(text)):
        return Outcome("wrong", found.group(), found.group())
    return Outcome(f"exit status {result.returncode}", text.strip().partition("\n")[0])


def policy_options(policy: str, seed: int) -> list[str]:
    """Random policies differ by their seeds."""
    return ["--policy", policy, *(["--seed", str(seed)] if policy == "random" else [])]


def arguments(shape: Shape, policy: str, seed: int) -> list[str]:
    options = [*shape.options(), "--inputs", shape.exact_inputs()]
    return [*options, *policy_options(policy, seed)]


def run(program: Path, words: Sequence[object], card: str = "") -> Outcome:
    """Runs a program once, on a card of this compute capability if one is given. Without a shape
    among the words it is the run of `make step`."""
    if not program.exists():
        return Outcome(NOT_BUILT)
    command = [program, *words]
    how = {"capture_output": True, "text": True, "errors": "replace", "timeout": LIMIT}
    if card:
        how["env"] = {**os.environ, "EMULATOR_CAPABILITY": card}
    try:
        return outcome_of(subprocess.run(command, check=False, **how))
    except subprocess.TimeoutExpired:
        return Outcome(f"no end after {LIMIT} s")


def trials(program: Path, *words: str) -> dict[str, list[str]]:
    """The shapes at the rung's edges, by their names, as options."""
    command = [program, *words, "--trials"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: options.split() for name, options in (line.split("\t") for line in said.splitlines())}
