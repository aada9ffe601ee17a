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
import subprocess
import sys
import tempfile
from collections import Counter, OrderedDict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "plots" / "ideas"
PROBES = ROOT / "build" / "probes"
LEAST_PIXELS = 9  # of a text, where GitHub shows a picture 800 pixels wide
SHOWN_WIDTH = 800
MOST_COVERED = 0.15  # of a text by another one

from tools import pictures
from tools.pictures import check_png, check_texts, require, same, suffixed, texts_of

from bench.records import recorded

NAMES = (
    "bank-conflicts",
    "ldmatrix-stmatrix",
    "mma-fragments",
    "tile-orders",
    "tile-orders-l2",
    "tma-swizzles",
    "wgmma-fragment",
)


def run(*arguments, **environment):
    """Runs the program and returns its result with captured text."""
    command = [sys.executable, "-m", "plots.ideas", *map(str, arguments)]
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    return subprocess.run(command, check=False, timeout=300, **how)


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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        command = [PROBES / probe, path, *arguments]
        subprocess.run(list(map(str, command)), check=True, cwd=ROOT, timeout=120)
        return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def drawn():
    """All pictures drawn once: the folder that holds theirs."""
    build()
    holder = tempfile.TemporaryDirectory()
    result = run("--out", holder.name)
    same((result.returncode, result.stderr), (0, ""))
    return holder


def folder_of_drawn():
    """Where they are."""
    return Path(drawn().name) / "ideas"


# ---------------------------------------------------------------------------- fragments


def slots(fragment):
    """((thread, register, half), (row, column)) of every slot, in their order."""
    slot = 0
    for thread in range(fragment["threads"]):
        for register in range(fragment["registers"]):
            for half in range(fragment["halves"]):
                yield (
                    (thread, register, half),
                    divmod(fragment["elements"][slot], fragment["columns"]),
                )
                slot += 1
    same(len(fragment["elements"]), slot)


def expect_fragment(name, place):
    """Every slot holds the element at place(thread, register, half); every element has one slot."""
    fragment, found = answer("fragments")[name], []
    for slot, element in slots(fragment):
        require(element == place(*slot), f"{name}: slot {slot} has {element}, not {place(*slot)}")
        found.append(element)
    every = [(r, c) for r in range(fragment["rows"]) for c in range(fragment["columns"])]
    require(sorted(found) == every, f"{name}: not every element once")


def group_and_member(lane):
    """The manual's groupID and threadID_in_group."""
    return lane >> 2, lane % 4


def place_in_a(lane, register, half):
    """PTX ISA, Matrix Fragments for mma.m16n8k16, .f16: a_i, i = 0 to 7."""
    group, member = group_and_member(lane)
    i = 2 * register + half
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    column = member * 2 + (i & 1) + (8 if i >= 4 else 0)
    return row, column


def place_in_b(lane, register, half):
    """b_i, i = 0 to 3."""
    group, member = group_and_member(lane)
    i = 2 * register + half
    return member * 2 + (i & 1) + (8 if i >= 2 else 0), group


def place_in_c(lane, i):
    """c_i, i = 0 to 3."""
    group, member = group_and_member(lane)
    return (group if i < 2 else group + 8), member * 2 + (i & 1)


def test_mma(_):
    """mma.m16n8k16: A, B and both kinds of sums as the manual draws them, each element once."""
    expect_fragment("mma a", place_in_a)
    expect_fragment("mma b", place_in_b)
    expect_fragment("mma d, fp32 sums", lambda lane, i, half: place_in_c(lane, i))
    expect_fragment("mma d, fp16 sums", lambda lane, i, half: place_in_c(lane, 2 * i + half))


def place_in_d(thread, i, _half):
    """PTX ISA, wgmma: Register Fragments for D, m64nNk16."""
    warp, lane = divmod(thread, 32)
    group, member = group_and_member(lane)
    row = warp * 16 + group + (8 if i & 2 else 0)
    return row, (i >> 2) * 8 + member * 2 + (i & 1)


def test_wgmma(_):
    """wgmma.m64nN: D as the manual draws it, for each N, each element once."""
    for n in (64, 128, 256):
        same(answer("fragments")[f"wgmma d, n = {n}"]["columns"], n)
        expect_fragment(f"wgmma d, n = {n}", place_in_d)


def test_matrix_moves(_):
    """ldmatrix and stmatrix: register i holds row lane / 4 of matrix i, whose rows lanes name."""

    def place(lane, i, half):
        return 8 * i + lane // 4, lane % 4 * 2 + half

    def transposed(lane, i, half):
        return 8 * i + lane % 4 * 2 + half, lane // 4

    expect_fragment("ldmatrix_x4", place)
    expect_fragment("stmatrix_x4", place)
    expect_fragment("ldmatrix_x4_trans", transposed)


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
    found = answer("swizzles")
    same(len(found), 6)
    for row_bytes in (32, 64, 128):
        plain = found[f"{row_bytes}-byte rows, no swizzle"]
        moved = found[f"{row_bytes}-byte swizzle"]
        for layout, span in ((plain, None), (moved, row_bytes)):
            same(layout["row_bytes"], row_bytes)
            same(layout["offsets"], [swizzled(16 * i, span) for i in range(64)])
            same(layout["column"], [swizzled(row_bytes * row, span) for row in range(8)])
            same(layout["passes"], passes_over(layout["column"], 16))
            same(layout["passes_needed"], 1)
        same((plain["passes"], moved["passes"]), (row_bytes // 16, 1))


def accesses(rung):
    """The rung's accesses to shared memory in one tile."""
    shape = (256, 128, 64) if rung[0] == "a" else (32, 32, 0)
    return list(answer(f"bank_conflicts-{rung}", *shape).values())


def access(rung, kind, begins):
    """The one of that kind whose line begins so."""
    found = [
        site
        for site in accesses(rung)
        if site["access"] == kind and site["source"].startswith(begins)
    ]
    same((rung, kind, begins, len(found)), (rung, kind, begins, 1))
    return found[0]


def test_bank_counts(_):
    """The ways that the emulator counted follow from the addresses that the lanes touched."""
    for rung in ("a03", "a04", "t02", "t03"):
        for site in accesses(rung):
            same(site["lanes"], list(range(32)))
            together = 32 if site["bytes"] <= 4 else 128 // site["bytes"]
            parts = [site["offsets"][i : i + together] for i in range(0, 32, together)]
            passes = [passes_over(part, site["bytes"]) for part in parts]
            same(max(passes), site["worst_ways"])
            # All accesses of these lines are alike.
            same(sum(passes) * site["instructions"], site["passes"])
            same(len(parts) * site["instructions"], site["passes_needed"])


def test_bank_addresses(_):
    """The lanes touch what the instructions are for: rows of matrices, fragments, columns."""
    for rung, span in (("a03", None), ("a04", 128)):
        matrices = [128 * (lane % 16) + lane // 16 * 16 for lane in range(32)]
        fragment = [128 * (lane // 4) + lane % 4 * 4 for lane in range(32)]
        for plain, site in (
            (matrices, access(rung, "read", "ldmatrix_x4(fragment,")),
            (fragment, access(rung, "write", "store_pair(")),
        ):
            same(site["offsets"], [swizzled(offset, span) for offset in plain])
    for rung, span in (("t02", None), ("t03", 128)):
        column = [swizzled(128 * lane, span) for lane in range(32)]
        same(access(rung, "write", "store_shared(")["offsets"], column)
        same(access(rung, "read", "store_shared(")["offsets"], [4 * i for i in range(32)])


def test_ways(_):
    """The ways: 8 and 1 for the products, 32 and 4 for the transposes."""
    ways = {
        rung: max(site["worst_ways"] for site in accesses(rung))
        for rung in ("a03", "a04", "t02", "t03")
    }
    same(ways, {"a03": 8, "a04": 1, "t02": 32, "t03": 4})


# ---------------------------------------------------------------------------- orders of tiles


def source(rung):
    """A rung's text."""
    return next((ROOT / "steps").glob(f"{rung}_*.cu")).read_text(encoding="utf-8")


def constant(rung, name):
    """A number of the rung's, 1 if it has none of that name."""
    found = re.search(rf"^constexpr int {name} = (\d+);", source(rung), re.MULTILINE)
    return int(found[1]) if found else 1


def orders(size=8192, sms=132, l2_bytes=60 << 20):
    """What the probe says of the orders."""
    return answer("tile_orders", size, sms, l2_bytes)["orders"]


def tiles_of(order):
    """[(m, n)] in the order's order."""
    return list(zip(order["m"], order["n"]))


def test_constants(_):
    """Tiles have the sizes of the rungs', as many CTAs run as the rungs start, each tile once."""
    for size in (8192, 5000):
        for rung, order in orders(size).items():
            sides = (order["tile_m"], order["tile_n"])
            same(sides, (constant(rung, "BM"), constant(rung, "BN")))
            rows, columns = (-(-size // side) for side in sides)
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


def test_in_columns(_):
    """v05 goes down column after column; v10 and v13 do within a group of rows, then the next."""
    rows = constant("v10", "GROUP")
    for rung, group in (("v05", 64), ("v10", rows), ("v13", rows)):
        every = [
            (first + m, n) for first in range(0, 64, group) for n in range(32) for m in range(group)
        ]
        same(tiles_of(orders()[rung]), every)


def test_hilbert(_):
    """v11 goes from each tile to a neighbour, and every fourth of a square is a square."""
    found = tiles_of(orders()["v11"])
    for half in (found[: len(found) // 2], found[len(found) // 2 :]):  # D is two squares of tiles
        for i in range(1, len(half)):
            (m, n), (last_m, last_n) = half[i], half[i - 1]
            same(abs(m - last_m) + abs(n - last_n), 1)
    for side in (2, 4, 8, 16, 32):
        for first in range(0, len(found), side * side):
            part = found[first : first + side * side]
            corners = {(m // side, n // side) for m, n in part}
            same(len(corners), 1)


def modelled(order, size, capacity, backwards):
    """The model of the L2 a second time: bytes from DRAM, wave by wave."""
    cache, used, reads = OrderedDict(), 0, []
    tiles, workers = tiles_of(order), order["workers"]
    for wave, first in enumerate(range(0, len(tiles), workers)):
        part = tiles[first : first + workers]
        steps = range(-(-size // 64))
        read = 0
        for k in reversed(steps) if backwards and wave % 2 else steps:
            slices = [("a", m, k, order["tile_m"]) for m in sorted({m for m, _ in part})]
            slices += [("b", n, k, order["tile_n"]) for n in sorted({n for _, n in part})]
            for *name, rows in slices:
                item, count = tuple(name), rows * 64 * 2
                if item not in cache:
                    read += count
                    used += count
                    cache[item] = count
                cache.move_to_end(item)
                while used > capacity:
                    used -= cache.popitem(last=False)[1]
        reads.append(read)
    return reads


def test_l2_model(_):
    """The model of the L2 reads what the same model, written a second time, reads."""
    size, sms = 2048, 8
    for mebibytes in (1, 3, 6):
        for name, order in orders(size, sms, mebibytes << 20).items():
            wanted = modelled(order, size, mebibytes << 20, name == "v13")
            same((name, mebibytes, order["dram_reads_of_waves"]), (name, mebibytes, wanted))


def test_l2_bounds(_):
    """More L2 never reads more, and with enough of it A and B are read once."""
    found = answer("tile_orders", 2048, 8, 3 << 20)
    least = 2 * 2048 * 2048 * 2
    for name, order in found["orders"].items():
        reads = order["dram_reads"]
        require(reads == sorted(reads, reverse=True), f"{name}: {reads}")
        same((name, reads[-1]), (name, least))
        at = found["capacities"].index(4 << 20)
        same(reads[at], sum(orders(2048, 8, 4 << 20)[name]["dram_reads_of_waves"]))


def test_reuse(_):
    """What a wave needs and asks for, from the numbers of its rows and columns of tiles."""
    shown = shown_in("tile-orders")
    for order in shown["orders"].values():
        tiles, workers = tiles_of(order), order["workers"]
        m, n = order["tile_m"], order["tile_n"]
        for i, (distinct, asked) in enumerate(zip(order["distinct_bytes"], order["asked_bytes"])):
            part = tiles[i * workers : (i + 1) * workers]
            rows, columns = ({tile[axis] for tile in part} for axis in (0, 1))
            same(distinct, (len(rows) * m + len(columns) * n) * shown["size"] * 2)
            same(asked, workers * (m + n) * shown["size"] * 2)


# ---------------------------------------------------------------------------- pictures


def svg_of(name, folder=None):
    """The text of a picture's SVG."""
    return ((folder or folder_of_drawn()) / f"{name}.svg").read_text(encoding="utf-8")


def shown_in(name):
    """What is kept beside a picture that was drawn."""
    return json.loads((folder_of_drawn() / f"{name}.json").read_text(encoding="utf-8"))


def styles_of(svg):
    """How often each colour fills a shape."""
    return Counter(re.findall(r'<path[^>]*style="fill: (#[0-9a-f]{6})', svg))


def test_drawn(_):
    """All pictures are drawn, labelled and titled, each with what it shows beside it."""
    lanes = [str(lane) for lane in range(32) if lane != 13]
    gpu = recorded.load_ladder(recorded.newest_headline())["gpu"]["name"]
    for name, (whole, parts) in {
        "mma-fragments": (["a[0]", "a[3]", "b[1]", "acc[2,3]", "D[11][3]", *lanes], ["lane 13"]),
        "wgmma-fragment": (
            ["acc[0,1]", "acc[10,11]", "127"],
            ["wgmma&lt;64&gt;", "wgmma&lt;256&gt;"],
        ),
        "ldmatrix-stmatrix": (["r[0]", "r[3]", "matrix 3", "stmatrix .x4", *lanes], ["lane 13"]),
        "tma-swizzles": (["8 passes", "1 pass", "128-byte swizzle", "7.0"], ["32 banks"]),
        "bank-conflicts": (["a03, row after row", "32 passes where 4 would do"], ["t03"]),
        "tile-orders": (["v05: column by column", "15"], ["MB of A and B", gpu]),
        "tile-orders-l2": (["v10", "v13"], ["A and B once", "model", gpu]),
    }.items():
        check_png(folder_of_drawn() / f"{name}.png")
        check_texts(svg_of(name), whole, parts)
    files = [*suffixed(NAMES), *(f"{name}.json" for name in NAMES)]
    same(sorted(path.name for path in folder_of_drawn().iterdir()), sorted(files))


def test_same_twice(folder):
    """The same code gives the same files, byte for byte."""
    same(run("--out", folder).returncode, 0)
    for path in folder_of_drawn().iterdir():
        other = Path(folder) / "ideas" / path.name
        require(path.read_bytes() == other.read_bytes(), f"two drawings of {path.name} differ")


def test_committed(_):
    """What is in plots/ideas is what the code says now."""
    same(*(sorted(path.name for path in one.iterdir()) for one in (PICTURES, folder_of_drawn())))
    for name in NAMES:
        for look in (texts_of, styles_of):
            fresh, old = look(svg_of(name)), look(svg_of(name, PICTURES))
            require(fresh == old, f"{name}.svg shows something else ('make plots')")
        old = json.loads((PICTURES / f"{name}.json").read_text(encoding="utf-8"))
        require(shown_in(name) == old, f"{name}.json is of other code ('make plots')")
        check_png(PICTURES / f"{name}.png")


def figures():
    """(name, figure) of every picture, from what is drawn."""
    from plots import ideas, plot
    from plots.draw import style

    pyplot = plot.import_pyplot()
    for module in ideas.pictures():
        figure = module.draw(pyplot, shown_in(module.NAME))
        style.settle(figure)
        yield module.NAME, figure
        pyplot.close(figure)


def test_legible(_):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    for name, figure in figures():
        svg = svg_of(name)
        width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: [^;]*?([\d.]+)px", svg)]
        require(len(sizes) > 10, f"{name}: {len(sizes)} texts")
        least = min(sizes) * SHOWN_WIDTH / width
        require(least >= LEAST_PIXELS, f"{name}: a text of {least:.1f} pixels")
        written = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        written += [text for legend in figure.legends for text in legend.get_texts()]
        written += [axes.title for axes in figure.axes]
        for text in written:
            box, whole = text.get_window_extent(), figure.bbox
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
            require(inside or not text.get_text(), f"{name}: '{text}' leaves the picture")
        same((name, pictures.overlaps(written, MOST_COVERED)), (name, []))


def test_greys(_):
    """More ways are darker, also in grey."""
    from plots.draw.ideas import cells

    greys = [pictures.grey(cells.WAYS[ways]) for ways in sorted(cells.WAYS)]
    require(all(one - other > 0.06 for one, other in itertools.pairwise(greys)), f"{greys}")


def test_counted(folder):
    """The counted bytes are each rung's newest count on that GPU; without any the model is alone."""
    from plots import plot
    from plots.draw import style
    from plots.draw.ideas import tile_orders_l2

    shown, wanted = shown_in("tile-orders-l2"), {}
    for path in sorted(recorded.RESULTS.glob("*-8192x8192x8192-counters-*.json")):
        run_of = recorded.load_record(path)
        for step in run_of["steps"] if run_of["gpu"]["name"] == shown["gpu"] else ():
            count = step.get("counters", {}).get("dram__bytes_read.sum")
            if step["step"] in shown["orders"] and count is not None:
                known = wanted.get(step["step"], ("", 0))
                wanted[step["step"]] = max(known, (run_of["date"], count))
    counts = {rung: count for rung, (_, count) in wanted.items()}
    same(shown["counted"]["bytes"] if shown["counted"] else {}, counts)
    pyplot = plot.import_pyplot()
    for known in ({"when": "never", "bytes": {"v10": 1e9}}, None):
        figure = tile_orders_l2.draw(pyplot, {**shown, "counted": known})
        style.save_both(figure, Path(folder), "picture")
        pyplot.close(figure)
        texts = texts_of(svg_of("picture", Path(folder)))
        same("counted on the GPU" in texts, known is not None)
        require(known or not any("counted" in text for text in texts), "it isn't counted")


def test_refuses(folder):
    """A probe that isn't built or fails is one line, exit 2, and no file."""
    failing, out = Path(folder) / "failing" / "probes", Path(folder) / "out"
    failing.mkdir(parents=True)
    for probe in PROBES.iterdir():
        (failing / probe.name).write_text("#!/bin/sh\necho no >&2\nexit 3\n")
        (failing / probe.name).chmod(0o755)
    for build_folder, words in ((folder, "make probes"), (failing.parent, "failed (3): no")):
        result = run("--out", out, BUILD=str(build_folder))
        same((result.returncode, result.stderr.count("\n"), out.exists()), (2, 1, False))
        require(words in result.stderr, result.stderr)
    same(run("--nothing").returncode, 2)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("ideas", pictures.tests_in(globals()), __file__))
