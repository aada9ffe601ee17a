#!/usr/bin/env python3
"""Tests of plots/ideas.py: what the probes say is what the PTX manual says, and what is drawn.

The formulas here are the manual's, written down a second time: nothing of them comes from the
project's code. Runs in build/venv; make builds the probes. Prints one line per case; exits 1 if any
failed.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import struct
import subprocess
import sys
from collections import Counter, OrderedDict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "plots" / "ideas"
PROBES = ROOT / "build" / "probes"

from tools import pictures
from tools.cases import require, same
from tools.pictures import check_picture, plot, suffixed

from bench import results

LANES = [str(lane) for lane in range(32) if lane != 13]
GPU = results.load(results.RESULTS / results.HOME / "burst.jsonl")[0].gpu["name"]
SHOWN = {  # of each picture: texts, and words in texts
    "mma-fragments": (["a[0]", "a[3]", "b[1]", "acc[2,3]", "D[11][3]", *LANES], ["lane 13"]),
    "wgmma-fragment": (["acc[0,1]", "acc[10,11]", "127"], ["wgmma&lt;64&gt;", "wgmma&lt;256&gt;"]),
    "ldmatrix-stmatrix": (["r[0]", "r[3]", "matrix 3", "stmatrix .x4", *LANES], ["lane 13"]),
    "tma-swizzles": (["8 passes", "1 pass", "128-byte swizzle", "7.0"], ["32 banks"]),
    "bank-conflicts": (["a03, row after row", "32 passes where 4 would do"], ["t03"]),
    "tile-orders": (["v05: column by column", "15"], ["MB on average,", GPU]),
    "tile-orders-l2": (["v10", "v13"], ["A and B once", "model", GPU]),
    "wave-reuse": (["wave 6", "v13: every other wave walks k backwards"], ["% found", GPU]),
    "matrix-descriptor": (["0x4000004000010846", "15.0", "swizzle"], ["128-byte swizzle"]),
    "two-consumers": (["warp 11", "168", "40"], ["rows 64 to 127 of D", "= 64,512, of 65,536"]),
    "cluster-multicast": (["empty: 2 + 2 arrivals", "128 rows"], ["32 KiB; 48 KiB arrive"]),
    "tall-tile": (
        ["stage 2", "D: 50 KiB", "sums"],
        ["24 % fewer bytes per FLOP", "2 blocks of 64"],
    ),
    "e4m3-sums": (["addend", "cut off", "the exact sum", "1/4096"], ["13 bits below", "-46,092"]),
    "happens-before": (["agents", "carriers", "cell", "reads since: W at 1"], ["TMA load"]),
}


@functools.cache
def build():
    """Builds the probes, which run.sh has done already."""
    made = subprocess.run(
        ["make", "-s", "probes"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    require(made.returncode == 0, f"make probes: {made.stderr[-500:]}")


@functools.cache
def answer(probe, *arguments):
    """What a probe says."""
    build()
    command = list(map(str, (PROBES / probe, *arguments)))
    said = subprocess.run(command, check=True, cwd=ROOT, timeout=120, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


def drawn():
    """The folder in which all pictures were drawn."""
    build()
    return pictures.drawn("--ideas")[1] / "ideas"


# ---------------------------------------------------------------------------- fragments


def expect_fragment(name, place):
    """Every slot holds the element at place(thread, register, half); every element has one slot."""
    fragment = answer("layouts")[name]
    slots = itertools.product(*(range(fragment[key]) for key in ("threads", "registers", "halves")))
    found = [divmod(element, fragment["columns"]) for element in fragment["elements"]]
    same((name, found), (name, [place(*slot) for slot in slots]))
    every = [(r, c) for r in range(fragment["rows"]) for c in range(fragment["columns"])]
    require(sorted(found) == every, f"{name}: not every element once")


def place_in_a(lane, register, half):
    """PTX ISA, Matrix Fragments for mma.m16n8k16, .f16: a_i, i = 0 to 7; groupID is lane / 4."""
    i = 2 * register + half
    row = lane >> 2 if 0 <= i < 2 or 4 <= i < 6 else (lane >> 2) + 8
    return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


def place_in_b(lane, register, half):
    """b_i, i = 0 to 3."""
    i = 2 * register + half
    return lane % 4 * 2 + (i & 1) + (8 if i >= 2 else 0), lane >> 2


def place_in_c(lane, i, _half):
    """c_i, i = 0 to 3."""
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def place_in_d(thread, i, _half):
    """PTX ISA, wgmma: Register Fragments for D, m64nNk16."""
    warp, lane = divmod(thread, 32)
    row = warp * 16 + (lane >> 2) + (8 if i & 2 else 0)
    return row, (i >> 2) * 8 + lane % 4 * 2 + (i & 1)


def place_in_rows(lane, i, half):
    """ldmatrix and stmatrix: register i holds row lane / 4 of matrix i, whose rows lanes name."""
    return 8 * i + lane // 4, lane % 4 * 2 + half


def place_in_columns(lane, i, half):
    """The same, transposed."""
    return 8 * i + lane % 4 * 2 + half, lane // 4


def test_mma(_):
    """mma.m16n8k16: A, B and the sums as the manual draws them, each element once."""
    expect_fragment("mma a", place_in_a)
    expect_fragment("mma b", place_in_b)
    expect_fragment("mma d", place_in_c)


def test_wgmma(_):
    """wgmma.m64nN: D as the manual draws it, for each N, each element once."""
    for n in (64, 128, 256):
        expect_fragment(f"wgmma d, n = {n}", place_in_d)


def test_matrix_moves(_):
    """ldmatrix and stmatrix: rows of matrices as the manual draws them, each element once."""
    expect_fragment("ldmatrix_x4", place_in_rows)
    expect_fragment("stmatrix_x4", place_in_rows)
    expect_fragment("ldmatrix_x4_trans", place_in_columns)


# ---------------------------------------------------------------------------- banks


def passes_over(starts, count):
    """The passes over 32 banks of 4 bytes that it takes to serve `count` bytes from each start."""
    banks = [set() for _ in range(32)]
    for start in starts:
        for byte in range(start, start + count):
            banks[byte // 4 % 32].add(byte // 4)
    return max(map(len, banks))


def swizzled(offset, span):
    """PTX ISA, Tensor swizzling modes: 16-byte chunks, a pattern of 8 spans; no swizzle is None."""
    bits = {None: 0, 32: 1, 64: 3, 128: 7}[span]
    return offset ^ ((offset // 128 & bits) * 16)


def test_swizzles(_):
    """Each swizzle of TMA permutes the chunks as the manual says, and makes one pass of many."""
    found = shown_in("tma-swizzles")
    for row_bytes in (32, 64, 128):
        plain = found[f"{row_bytes}-byte rows, no swizzle"]
        moved = found[f"{row_bytes}-byte swizzle"]
        for layout, span in ((plain, None), (moved, row_bytes)):
            same(layout["offsets"], [swizzled(16 * i, span) for i in range(64)])
            same(layout["column"], [swizzled(row_bytes * row, span) for row in range(8)])
            same(layout["passes"], passes_over(layout["column"], 16))
        same((plain["passes"], moved["passes"]), (row_bytes // 16, 1))


def accesses(rung):
    """The rung's accesses to shared memory in one tile."""
    shape = (256, 128, 64) if rung[0] == "a" else (32, 32, 0)
    return list(answer(f"bank_conflicts-{rung}", *shape).values())


def test_bank_addresses(_):
    """The lanes touch what the instructions are for: rows of matrices, fragments, columns."""
    matrices = [128 * (lane % 16) + lane // 16 * 16 for lane in range(32)]
    fragment = [128 * (lane // 4) + lane % 4 * 4 for lane in range(32)]
    column = [128 * lane for lane in range(32)]
    shown = shown_in("bank-conflicts").values()
    for pair, access, plain in zip(shown, ("read", "write", "write"), (matrices, fragment, column)):
        for site, span in zip(pair, (None, 128)):
            same((site["access"], site["offsets"]), (access, [swizzled(at, span) for at in plain]))
    for rung in ("t02", "t03"):  # rows of 32 words
        reads = [site["offsets"] for site in accesses(rung) if site["access"] == "read"]
        same(reads, [[4 * i for i in range(32)]])


# ---------------------------------------------------------------------------- orders of tiles


def source(rung):
    """A rung's text."""
    return next((ROOT / "steps").glob(f"{rung}_*.cu")).read_text(encoding="utf-8")


def constant(rung, name):
    """A number of the rung's, 1 if it has none of that name."""
    found = re.search(rf"^constexpr int {name} = (\d+);", source(rung), re.MULTILINE)
    return int(found[1]) if found else 1


def orders(size=8192, sms=132):
    """What the probe says of the orders."""
    return answer("tile_orders", size, sms)


def tiles_of(order):
    """[(m, n)] in the order's order."""
    return list(zip(order["m"], order["n"]))


def test_constants(_):
    """Tiles have the sizes of the rungs', as many CTAs run as the rungs start, each tile once."""
    for size in (8192, 5000):
        for rung, order in orders(size).items():
            sides = [order[key] for key in ("tile_m", "tile_n", "bk")]
            same(sides, [constant(rung, name) for name in ("BM", "BN", "BK")])
            rows, columns = (-(-size // side) for side in sides[:2])
            every = [(m, n) for m in range(rows) for n in range(columns)]
            require(sorted(tiles_of(order)) == every, f"{rung} at {size}: not every tile once")
            waves = -(-len(every) // 132)
            same(order["workers"], 132 if rung == "v05" else -(-len(every) // waves))


def test_rungs_lines(_):
    """The rungs take their tiles as the probe does."""
    persistent = ["i = blockIdx.x; i < tiles", "i += gridDim.x", "= balanced_workers("]
    grouped = "grouped_tile(i, tiles_m, tiles_n, GROUP)"
    expected = {
        "v05": ["tile_m = blockIdx.x % (m / BM);", "tile_n = blockIdx.x / (m / BM);"],
        "v10": [grouped, *persistent],
        "v11": ["tile = order[i];", "hilbert_order(order, tiles_m, tiles_n);", *persistent],
        "v13": [grouped, "backwards = i / gridDim.x % 2;", *persistent],
    }
    for rung, lines in expected.items():
        same((rung, [line for line in lines if line not in source(rung)]), (rung, []))
    require("balanced_workers" not in source("v05"), "v05 starts fewer CTAs than tiles")


def test_orders(_):
    """v05 goes down column after column; v10 and v13 do within a group of rows, then the next; v11
    goes from each tile to a neighbour. (tests/device has more of these orders.)"""
    rows = constant("v10", "GROUP")
    for rung, group in (("v05", 64), ("v10", rows), ("v13", rows)):
        every = [
            (first + m, n) for first in range(0, 64, group) for n in range(32) for m in range(group)
        ]
        same(tiles_of(orders()[rung]), every)
    found = tiles_of(orders()["v11"])
    half = len(found) // 2  # D is two squares of tiles
    for i in (*range(1, half), *range(half + 1, len(found))):
        (m, n), (last_m, last_n) = found[i], found[i - 1]
        same(abs(m - last_m) + abs(n - last_n), 1)


def modelled(order, size, capacity, backwards, marks=None):
    """The L2 as a cache that holds what was used last: [(wave, step, slices of A and B that were not
    there)], in their order. marks: of each tile whether A and B are read again; what isn't goes
    first."""
    cache, used, found = OrderedDict(), 0, []
    tiles, workers = tiles_of(order), order["workers"]
    for wave, first in enumerate(range(0, len(tiles), workers)):
        part = range(first, min(first + workers, len(tiles)))
        slices = {}  # {(side, row or column): (rows, stays)}
        for side, place, rows in (("a", 0, order["tile_m"]), ("b", 1, order["tile_n"])):
            for i in sorted(part, key=lambda i, place=place: tiles[i][place]):
                slices[side, tiles[i][place]] = (rows, marks is None or marks[place][i])
        steps = range(-(-size // 64))
        for k in reversed(steps) if backwards and wave % 2 else steps:
            missing = []
            for name, (rows, stays) in slices.items():
                item, count = (*name, k), rows * 64 * 2
                if item in cache:
                    del cache[item]
                else:
                    missing.append((name[0], count))
                    used += count
                cache[item] = (stays, count)
                while used > capacity:
                    oldest = next((one for one in cache if not cache[one][0]), next(iter(cache)))
                    used -= cache.pop(oldest)[1]
            found.append((wave, k, missing))
    return found


def bytes_of_waves(found):
    """The bytes that each wave of modelled() reads from DRAM."""
    reads = Counter()
    for wave, _, missing in found:
        reads[wave] += sum(count for _, count in missing)
    return [reads[wave] for wave in sorted(reads)]


def test_l2_model(_):
    """The model of the L2 reads what a cache reads, and A and B once if both fit."""
    from plots.draw.ideas import tiles

    size, sms = 2048, 8
    for name, order in orders(size, sms).items():
        capacities = [mebibytes << 20 for mebibytes in (1, 3, 6, 16)]
        for capacity in capacities:
            found = tiles.dram_reads(order, size, capacities, capacity)
            wanted = bytes_of_waves(modelled(order, size, capacity, name == "v13"))
            same((name, capacity, found["dram_reads_of_waves"]), (name, capacity, wanted))
            same(found["dram_reads"][capacities.index(capacity)], sum(wanted))
        same((name, sum(wanted)), (name, 2 * size * size * 2))


def test_waves(_):
    """The waves are v14's, marked as they are read; what one finds is what a cache holds."""
    from plots.draw.ideas import waves

    shown, rungs = shown_in("wave-reuse"), answer("rungs", 8192, 132)
    order = rungs["v14 order"]
    same(tiles_of(order), tiles_of(orders()["v13"]))
    for number, tiles in shown["waves"].items():
        there = set(tiles_of(tiles))
        after = tiles_of(order)[(int(number) + 1) * 128 : (int(number) + 2) * 128]
        same(there, set(tiles_of(order)[int(number) * 128 : (int(number) + 1) * 128]))
        for axis, key in enumerate(("row_again", "column_again")):
            again = {tile[axis] for tile in after}
            same(tiles[key], [int(tile[axis] in again) for tile in tiles_of(tiles)])
    size, small = 2048, answer("rungs", 2048, 8)["v14 order"]
    facts = {**rungs["v14"], "workers": small["workers"]}
    marks = (small["row_again"], small["column_again"])
    for backwards, hints, _ in waves.RUNGS.values():
        for capacity in (1 << 20, 3 << 20, 6 << 20):
            found = waves.hits(small, facts, size, capacity, backwards, hints)
            how = {"marks": marks if hints else None}
            order = {**small, **facts}
            missing = {
                k: sum(side == "a" for side, _ in lacks)
                for wave, k, lacks in modelled(order, size, capacity, backwards, **how)
                if wave == waves.SHOWN
            }
            part = small["m"][waves.SHOWN * 8 : (waves.SHOWN + 1) * 8]
            wanted = [1 - missing[k] / len(set(part)) for k in sorted(missing)]
            same((capacity, backwards, hints, found), (capacity, backwards, hints, wanted))


# ---------------------------------------------------------------------------- rungs


def test_rungs(_):
    """The rungs' constants are those of their sources, and what follows from them is right."""
    found = answer("rungs", 8192, 132)
    names = {"tile_m": "BM", "tile_n": "BN", "bk": "BK", "stages": "STAGES", "cluster": "CLUSTER"}
    names |= {"producer_registers": "PRODUCER_REGISTERS", "consumers": "CONSUMERS"}
    names |= {"consumer_registers": "CONSUMER_REGISTERS"}
    for rung in ("v05", "v07", "v08", "v14", "v16"):
        facts = found[rung]
        same(
            (rung, [facts[key] for key in names]),
            (rung, [constant(rung, n) for n in names.values()]),
        )
        m, n, k = (facts[key] for key in ("tile_m", "tile_n", "bk"))
        same((facts["a_bytes"], facts["b_bytes"]), (2 * m * k, 2 * n * k))
        same(facts["threads"], 128 * (1 + facts["consumers"]))
        same(facts["sums"], m * n // (128 * facts["consumers"]))
        ring = facts["stages"] * (facts["a_bytes"] + facts["b_bytes"])
        require(ring + facts["d_bytes"] < 227 << 10, f"{rung} has more than a CTA may")
        launch = found["v05"]["threads"]
        after = 128 * (
            facts["producer_registers"] + facts["consumers"] * facts["consumer_registers"]
        )
        require(after <= launch * shown_in("two-consumers")["launch_registers"], f"{rung}: {after}")
    same([found[rung]["d_bytes"] for rung in ("v14", "v16")], [2 * 64 * 128 * 2, 2 * 64 * 200 * 2])
    lines = {
        "v07": ["mbarrier_init(&smem.empty[stage], CONSUMERS);"],
        "v08": [
            "mbarrier_init(&smem.empty[stage], CONSUMERS * CLUSTER);",
            "rows_b = BN / CLUSTER;",
        ],
    }
    for rung, wanted in lines.items():
        same((rung, [line for line in wanted if line not in source(rung)]), (rung, []))


def test_descriptor(_):
    """PTX ISA, Matrix Descriptor Format: the fields of each step's descriptor."""
    shown = shown_in("matrix-descriptor")
    same(shown["fields"], [1, 0, 1024 // 16, 1, shown["address"] // 16])
    for step, descriptor in enumerate(shown["steps"]):
        start = (shown["address"] + 32 * step) // 16
        same(descriptor, start | 1 << 16 | 64 << 32 | 1 << 62)
    same(shown["chunks"], [swizzled(16 * i, 128) for i in range(64)])


def test_order(_):
    """A consumer knows the load once it has waited for it; the second load knows the wgmma."""
    events = list(answer("happens_before").values())
    waits = [event["knows"] for event in events if event["does"] == "waits"]
    before, first, second = events[0], *(event for event in events if event["who"] == "load")
    same((before["knows"]["load"], waits[0]["load"]), (0, first["knows"]["load"]))
    same((first["knows"]["wgmma"], second["knows"]["wgmma"]), (0, waits[1]["wgmma"]))
    same(second["knows"]["load"], first["knows"]["load"] + 1)  # its number is the first one's


# ---------------------------------------------------------------------------- pictures


def shown_in(name):
    """What is kept beside a picture that was drawn."""
    return json.loads((drawn() / f"{name}.json").read_text(encoding="utf-8"))


def test_sums(_):
    """The rows are the recorded sum's: cut off and added they make its result."""
    found = shown_in("e4m3-sums")
    file = ROOT / "bench" / "results" / "instructions" / "e4m3-h200-20261123.txt"
    recorded_result = file.read_text(encoding="utf-8").splitlines()[found["line"] - 1].split()[-1]

    def value(row, last=-99):
        sign = -1 if row["sign"] == "−" else 1
        return sign * sum(2.0**one for one in row["ones"] if one >= last)

    kept = sum(value(row, found["last"]) for row in found["terms"])
    exact = sum(map(value, found["terms"]))
    same([value(row) for row in found["sums"]], found["values"])
    same(found["values"], [kept, struct.unpack(">f", bytes.fromhex(recorded_result))[0], exact])
    same(
        (len(found["terms"]), value(found["sums"][0], found["last_of_sum"])),
        (33, found["values"][1]),
    )


def test_drawn(_):
    """All pictures are drawn, labelled and titled, each with what it shows beside it."""
    for name, (whole, parts) in SHOWN.items():
        check_picture(drawn() / f"{name}.png", whole, parts)
    files = [*suffixed(SHOWN), *(f"{name}.json" for name in SHOWN)]
    same(sorted(path.name for path in drawn().iterdir()), sorted(files))


def test_committed(_):
    """What is in plots/ideas is what the code says now."""
    pictures.check_committed(PICTURES, drawn())
    for name in SHOWN:
        old = json.loads((PICTURES / f"{name}.json").read_text(encoding="utf-8"))
        require(shown_in(name) == old, f"{name}.json is of other code ('make plots')")


def test_legible(_):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    from plots import ideas
    from plots.plot import import_pyplot

    pyplot = import_pyplot()
    for name, _, draw in ideas.pictures():
        figure = draw(pyplot, shown_in(name))
        pictures.check_legible(figure, name)
        pyplot.close(figure)


def test_greys(_):
    """More ways are darker, also in grey."""
    from plots.draw.ideas import banks

    greys = [pictures.grey(banks.WAYS[ways]) for ways in sorted(banks.WAYS)]
    require(all(one - other > 0.06 for one, other in itertools.pairwise(greys)), f"{greys}")


def test_counted(_):
    """The counted bytes are of each rung the first count; without any the model is alone."""
    from plots.draw import records
    from plots.draw.ideas import tiles
    from plots.plot import import_pyplot

    shown, metric = shown_in("tile-orders-l2"), "dram__bytes_read.sum"
    counted = {name: row["counters"][metric] for name, (_, row) in records.load().counted().items()}
    same(shown["counted"]["bytes"], {rung: counted[rung] for rung in shown["orders"]})
    for known in ({"when": "never", "bytes": {"v10": 1e9}}, None):
        figure = tiles.draw_l2(import_pyplot(), {**shown, "counted": known})
        labels = [axes.get_legend_handles_labels()[1] for axes in figure.axes]
        same(any("counted on the GPU" in one for one in labels), known is not None)
        same(any("counted: " in text.get_text() for text in figure.texts), known is not None)


def test_refuses(folder):
    """A probe that isn't built or fails is one line, exit 2, and no file."""
    failing, out = Path(folder) / "failing" / "probes", Path(folder) / "out"
    failing.mkdir(parents=True)
    for probe in PROBES.iterdir():
        (failing / probe.name).write_text("#!/bin/sh\necho no >&2\nexit 3\n")
        (failing / probe.name).chmod(0o755)
    for build_folder, words in ((folder, "make probes"), (failing.parent, "failed (3): no")):
        result = plot("--ideas", "--out", out, BUILD=str(build_folder))
        same((result.returncode, result.stderr.count("\n"), out.exists()), (2, 1, False))
        require(words in result.stderr, result.stderr)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("ideas", globals()))
