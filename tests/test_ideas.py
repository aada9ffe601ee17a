#!/usr/bin/env python3
"""Tests of plots/ideas.py: what the probes say is what the PTX manual says, and what is drawn.

The formulas here are the manual's, written down a second time: nothing of them comes from the
project's code. Runs in build/venv; make builds the probes. Prints one line per case; exits 1 if any
failed.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IDEAS = ("-m", "plots.ideas")
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


def run(*arguments):
    """Runs the program and returns its result with captured text."""
    command = [sys.executable, *IDEAS, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


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
    fragment = answer("fragments")[name]
    check_fragment(name, fragment, place)


def check_fragment(name, fragment, place):
    """The same of any fragment."""
    found = []
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


def test_fragment_mistakes(_):
    """Two elements in each other's slots, or one twice, are noticed."""
    right = answer("fragments")["mma a"]
    for changed in ((1, 0), (0, 0)):
        wrong = copy.deepcopy(right)
        wrong["elements"][:2] = (right["elements"][i] for i in changed)
        try:
            check_fragment("mma a", wrong, place_in_a)
        except AssertionError:
            continue
        raise AssertionError(f"slots 0 and 1 may hold the elements of {changed}")


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
    """Tiles have the sizes of the rungs', and as many CTAs run as the rungs start."""
    for rung, order in orders().items():
        same(order["tile_m"], constant(rung, "BM"))
        same(order["tile_n"], constant(rung, "BN"))
        tiles = (8192 // order["tile_m"]) * (8192 // order["tile_n"])
        waves = -(-tiles // 132)
        same(order["workers"], 132 if rung == "v05" else -(-tiles // waves))


def test_rungs_lines(_):
    """The rungs take their tiles as the probe does."""
    expected = {
        "v05": ["tile_m = blockIdx.x % (m / BM);", "tile_n = blockIdx.x / (m / BM);"],
        "v10": [
            "grouped_tile(i, tiles_m, tiles_n, GROUP)",
            "i = blockIdx.x; i < tiles_m * tiles_n; i += gridDim.x",
            "= balanced_workers(",
        ],
        "v11": [
            "tile = order[i];",
            "i = blockIdx.x; i < tiles; i += gridDim.x",
            "hilbert_order(order, tiles_m, tiles_n);",
            "= balanced_workers(",
        ],
        "v13": [
            "grouped_tile(i, tiles_m, tiles_n, GROUP)",
            "backwards = i / gridDim.x % 2;",
            "= balanced_workers(",
        ],
    }
    for rung, lines in expected.items():
        for line in lines:
            require(line in source(rung), f"{rung} has no '{line}'")
    require("balanced_workers" not in source("v05"), "v05 starts fewer CTAs than tiles")


def test_every_tile(_):
    """Every order has each tile once."""
    for size in (8192, 5000):
        for name, order in orders(size).items():
            rows, columns = (-(-size // order[key]) for key in ("tile_m", "tile_n"))
            every = [(m, n) for m in range(rows) for n in range(columns)]
            require(sorted(tiles_of(order)) == every, f"{name} at {size}: not every tile once")


def test_column_by_column(_):
    """v05 goes down a column of tiles, then down the next."""
    found = tiles_of(orders()["v05"])
    same(found, [(i % 64, i // 64) for i in range(64 * 32)])


def test_grouped(_):
    """v10 goes down a column of its group, then down the next, then to the group below."""
    rows = constant("v10", "GROUP")
    found = tiles_of(orders()["v10"])
    same(
        found,
        [(first + m, n) for first in range(0, 64, rows) for n in range(32) for m in range(rows)],
    )
    same(tiles_of(orders()["v13"]), found)


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
    shown = json.loads((folder_of_drawn() / "tile-orders.json").read_text(encoding="utf-8"))
    for order in shown["orders"].values():
        tiles, workers = tiles_of(order), order["workers"]
        m, n = order["tile_m"], order["tile_n"]
        for i, (distinct, asked) in enumerate(zip(order["distinct_bytes"], order["asked_bytes"])):
            part = tiles[i * workers : (i + 1) * workers]
            rows, columns = ({tile[axis] for tile in part} for axis in (0, 1))
            same(distinct, (len(rows) * m + len(columns) * n) * shown["size"] * 2)
            same(asked, workers * (m + n) * shown["size"] * 2)


# ---------------------------------------------------------------------------- pictures


def headline_gpu():
    """The GPU whose multiprocessors and L2 are meant."""
    return recorded.load_ladder(recorded.newest_headline())["gpu"]["name"]


def styles_of(svg):
    """How often each colour fills a shape."""
    fills = re.findall(r'<path[^>]*style="fill: (#[0-9a-f]{6})', svg)
    return {fill: fills.count(fill) for fill in sorted(set(fills))}


def test_drawn(_):
    """All pictures are drawn, labelled and titled, each with what it shows beside it."""
    lanes = [str(lane) for lane in range(32) if lane != 13]
    words = {
        "mma-fragments": (["a[0]", "a[3]", "b[1]", "acc[2,3]", "D[11][3]", *lanes], ["lane 13"]),
        "wgmma-fragment": (
            ["acc[0,1]", "acc[10,11]", "127"],
            ["wgmma&lt;64&gt;", "wgmma&lt;256&gt;"],
        ),
        "ldmatrix-stmatrix": (["r[0]", "r[3]", "matrix 3", "stmatrix .x4", *lanes], ["lane 13"]),
        "tma-swizzles": (["8 passes", "1 pass", "128-byte swizzle", "7.0"], ["32 banks"]),
        "bank-conflicts": (["a03, row after row", "32 passes where 4 would do"], ["t03"]),
        "tile-orders": (["v05: column by column", "15"], ["MB of A and B", headline_gpu()]),
        "tile-orders-l2": (["v10", "v13"], ["A and B once", "model", headline_gpu()]),
    }
    same(sorted(words), list(NAMES))
    files = [*suffixed(NAMES), *(f"{name}.json" for name in NAMES)]
    same(sorted(path.name for path in folder_of_drawn().iterdir()), sorted(files))
    for name, (whole, parts) in words.items():
        check_png(folder_of_drawn() / f"{name}.png")
        svg = (folder_of_drawn() / f"{name}.svg").read_text(encoding="utf-8")
        check_texts(svg, whole, parts)


def test_same_twice(folder):
    """The same code gives the same files, byte for byte."""
    same(run("--out", folder).returncode, 0)
    for path in folder_of_drawn().iterdir():
        other = Path(folder) / "ideas" / path.name
        require(path.read_bytes() == other.read_bytes(), f"two drawings of {path.name} differ")


def test_committed(_):
    """What is in plots/ideas is what the code says now."""
    same(
        sorted(path.name for path in PICTURES.iterdir()),
        sorted(path.name for path in folder_of_drawn().iterdir()),
    )
    for name in NAMES:
        fresh, old = (folder / name for folder in (folder_of_drawn(), PICTURES))
        for look in (texts_of, styles_of):
            found = [
                look(path.with_suffix(".svg").read_text(encoding="utf-8")) for path in (fresh, old)
            ]
            require(found[0] == found[1], f"{name}.svg shows something else ('make plots')")
        both = [path.with_suffix(".json").read_bytes() for path in (fresh, old)]
        require(both[0] == both[1], f"{name}.json is of other code ('make plots')")
        check_png(old.with_suffix(".png"))


def test_legible(_):
    """No text is smaller than it can be read where GitHub shows the picture."""
    for name in NAMES:
        svg = (folder_of_drawn() / f"{name}.svg").read_text(encoding="utf-8")
        width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: [^;]*?([\d.]+)px", svg)]
        require(len(sizes) > 10, f"{name}: {len(sizes)} texts")
        least = min(sizes) * SHOWN_WIDTH / width
        require(least >= LEAST_PIXELS, f"{name}: a text of {least:.1f} pixels")


def figures():
    """(name, figure) of every picture, from what is drawn."""
    from plots import ideas, plot
    from plots.draw import style

    pyplot = plot.import_pyplot()
    for module in ideas.pictures():
        path = folder_of_drawn() / f"{module.NAME}.json"
        figure = module.draw(pyplot, json.loads(path.read_text(encoding="utf-8")))
        style.settle(figure)
        yield module.NAME, figure
        pyplot.close(figure)


def texts_in(figure):
    """[(text, the box it takes)] of all that was written on axes and around them."""
    written = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    written += [text for legend in figure.legends for text in legend.get_texts()]
    written += [axes.title for axes in figure.axes]
    return [(text.get_text(), text.get_window_extent()) for text in written if text.get_text()]


def covered(one, other):
    """The part of the smaller box that the other one covers."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    least = min(one.width * one.height, other.width * other.height)
    return max(width, 0) * max(height, 0) / least


def test_texts_apart(_):
    """No text leaves the picture or covers another one."""
    for name, figure in figures():
        whole = figure.bbox
        boxes = texts_in(figure)
        for i, (text, box) in enumerate(boxes):
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
            require(inside, f"{name}: '{text}' leaves the picture")
            for other, other_box in boxes[:i]:
                part = covered(box, other_box)
                require(part < MOST_COVERED, f"{name}: '{text}' on '{other}', {part:.0%}")


def test_greys(_):
    """More ways are darker, also in grey."""
    from matplotlib import colors

    from plots.draw.ideas import cells

    def grey(colour):
        return sum(part * w for part, w in zip(colors.to_rgb(colour), (0.299, 0.587, 0.114)))

    greys = [grey(cells.WAYS[ways]) for ways in sorted(cells.WAYS)]
    for i in range(1, len(greys)):
        require(greys[i - 1] - greys[i] > 0.06, f"{greys}")


def test_uncounted(folder):
    """Without counters of that GPU the model stands alone."""
    path = folder_of_drawn() / "tile-orders-l2.json"
    shown = json.loads(path.read_text(encoding="utf-8"))
    shown["counted"] = {"when": "never", "bytes": {"v10": 1e9}}
    require("counted on the GPU" in texts_drawn(shown, folder), "what was counted isn't labelled")
    shown["counted"] = None
    require(not any("counted" in text for text in texts_drawn(shown, folder)), "it isn't counted")


def texts_drawn(shown, folder):
    """The texts of tile-orders-l2, drawn from this."""
    from plots import plot
    from plots.draw import style
    from plots.draw.ideas import tile_orders_l2

    pyplot = plot.import_pyplot()
    figure = tile_orders_l2.draw(pyplot, shown)
    png = style.save_both(figure, Path(folder), "picture")
    pyplot.close(figure)
    return texts_of(png.with_suffix(".svg").read_text(encoding="utf-8"))


def test_counted(_):
    """The counted bytes are each rung's newest count on that GPU."""
    shown = json.loads((folder_of_drawn() / "tile-orders-l2.json").read_text(encoding="utf-8"))
    wanted = {}
    for path in sorted(recorded.RESULTS.glob("*-8192x8192x8192-counters-*.json")):
        run_of = recorded.load_record(path)
        for step in run_of["steps"] if run_of["gpu"]["name"] == shown["gpu"] else ():
            count = step.get("counters", {}).get("dram__bytes_read.sum")
            if step["step"] in shown["orders"] and count is not None:
                known = wanted.get(step["step"], ("", 0))
                wanted[step["step"]] = max(known, (run_of["date"], count))
    counts = {rung: count for rung, (_, count) in wanted.items()}
    same(shown["counted"]["bytes"] if shown["counted"] else {}, counts)


def test_refuses(folder):
    """A probe that isn't built or fails is one line, exit 2, and no file."""
    from plots import ideas

    probes, out = ideas.PROBES, Path(folder) / "out"
    failing = Path(folder) / "probes"
    failing.mkdir()
    for name in ("none", "failing"):
        ideas.PROBES = failing if name == "failing" else Path(folder) / "nowhere"
        for path in probes.iterdir() if name == "failing" else ():
            if os.access(path, os.X_OK) and path.is_file():
                (failing / path.name).write_text("#!/bin/sh\necho no >&2\nexit 3\n")
                (failing / path.name).chmod(0o755)
        try:
            ideas.draw(out)
        except ValueError as error:
            words = "failed (3): no" if name == "failing" else "make probes"
            require(words in str(error), str(error))
        else:
            raise AssertionError(f"{name}: drew without probes")
        finally:
            ideas.PROBES = probes
        require(not out.exists(), f"{name}: wrote a file")
    result = run("--nothing")
    same(result.returncode, 2)


TESTS = [
    test_mma,
    test_wgmma,
    test_matrix_moves,
    test_fragment_mistakes,
    test_swizzles,
    test_bank_counts,
    test_bank_addresses,
    test_ways,
    test_constants,
    test_rungs_lines,
    test_every_tile,
    test_column_by_column,
    test_grouped,
    test_hilbert,
    test_l2_model,
    test_l2_bounds,
    test_reuse,
    test_drawn,
    test_same_twice,
    test_committed,
    test_legible,
    test_texts_apart,
    test_greys,
    test_uncounted,
    test_counted,
    test_refuses,
]


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("ideas", TESTS, __file__))
