"""How rungs divide their work, by their own constants: v05 among its warpgroups, v08 among the CTAs of
a cluster, v16 against v14; and what v02 tells wgmma of a tile."""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells

SM_REGISTERS = 65536  # of 32 bits, on sm_90
MOST_REGISTERS = 255  # of a thread
STEP = 8  # registers are given to threads in such steps
WARP_ROWS, WARPS, THREADS = 16, 4, 128  # of a wgmma, and of a warpgroup
MOST_SMEM = 227 << 10  # bytes of a CTA on sm_90
ELEMENT_BYTES = 2  # of bf16
CONSUMERS = (  # told apart in grey and by their hatch too
    {"facecolor": "#A9D6F5"},
    {"facecolor": "#F3C460", "hatch": "//"},
)
PRODUCER = {"facecolor": "#8FD0BC"}
SHARED = {"facecolor": "0.92"}
GROUND = {**style.CLEAR, "alpha": 0.75}  # of a text on a hatch
EDGED = {"edgecolor": "0.3", "linewidth": 0.8}
ARROW = {"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
SENT = ({"color": style.BLUE}, {"color": style.VERMILION, "linestyle": (0, (5, 1.5))})


def kib(count):
    """'48 KiB'"""
    return f"{count / 1024:g} KiB"


def box(axes, x, y, width, height, words="", **how):
    """An edged cell with a dark text on a light ground, so that a hatch doesn't hide it."""
    cells.cell(axes, x, y, width, height, **{**EDGED, **how})
    if words:
        how = {"va": "center", "bbox": GROUND, "zorder": 6}
        cells.label(axes, x + width / 2, y + height / 2, words, **how)


def consumer_rows(axes, facts, x, y, width, words):
    """The rows of a tile as the consumers divide them, from the top."""
    rows = facts["tile_m"] // facts["consumers"]
    for consumer in range(facts["consumers"]):
        top = y + consumer * rows
        text = words(consumer, consumer * rows, rows)
        box(axes, x, top, width, rows, text, **CONSUMERS[consumer])


# --- v05 --------------------------------------------------------------------------------------


def owners_data(answers, _records):
    """v05's constants, and the registers that a thread starts with."""
    facts = answers["rungs"]["v05"]
    at_launch = SM_REGISTERS // facts["threads"] // STEP * STEP
    return {**facts, "launch_registers": at_launch, "sm_registers": SM_REGISTERS}


def draw_tile(axes, found):
    """A stage of A to the left of the tile of D, one of B above it."""
    m, n, k, gap, step = found["tile_m"], found["tile_n"], found["bk"], 20, 5
    back = step * (found["stages"] - 1)
    x, y = back + k + gap, back + k + gap
    cells.board(axes, -2, x + n + 100, y + m + 6, -14)
    axes.set_aspect("equal")
    for i in range(found["stages"] - 1, 0, -1):  # the other stages, farther back
        offset = back - step * i
        box(axes, offset, y - step * i, k, m, facecolor="white")
        box(axes, x - step * i, offset, n, k, facecolor="white")
    consumer_rows(
        axes, found, back, y, k, lambda _, first, rows: f"A\nrows {first}\nto {first + rows - 1}"
    )
    box(axes, x, back, n, k, f"B: {n} rows, read by both consumers", **SHARED)
    consumer_rows(
        axes,
        found,
        x,
        y,
        n,
        lambda consumer, first, rows: (
            f"warpgroup {consumer + 1}: rows {first} to {first + rows - 1} of D\n"
            f"wgmma m64n{n}k16, {found['sums']} sums in each thread"
        ),
    )
    for row in range(WARP_ROWS, m, WARP_ROWS):
        axes.plot([x + n - 40, x + n], [y + row] * 2, color="0.3", linewidth=0.7, zorder=5)
    for warp in range(WARPS * found["consumers"]):
        middle = y + (warp + 0.5) * WARP_ROWS
        how = {"size": cells.NARROW, "zorder": 7, "bbox": GROUND}
        cells.label(axes, x + n - 20, middle, f"warp {warp + WARPS}", **how)
    words = f"the ring: {found['stages']} stages of {kib(found['a_bytes'] + found['b_bytes'])}"
    cells.label(axes, 0, -8, words, ha="left", size=10)
    words = (
        "the producer's thread\nloads A and B;\nboth consumers read\nB, and each its own\nrows of A"
    )
    cells.label(axes, x + n + 8, back + k / 2, words, ha="left", va="center", linespacing=1.4)
    words = f"D: {m} × {n},\neach row in one\nwarpgroup's registers"
    cells.label(axes, x + n + 8, y + m / 2, words, ha="left", va="center", linespacing=1.4)


def draw_registers(axes, found):
    """The registers of a thread of each warpgroup, as they start and after setmaxnreg."""
    start, most = found["launch_registers"], found["consumer_registers"]
    groups = found["threads"] // THREADS
    right, height = 330, 0.8
    cells.board(axes, -78, right + most + 2, groups + 0.6, -1)
    for x, words in ((0, "at the launch"), (right, "after setmaxnreg")):
        cells.label(axes, x, -0.45, f"registers of a thread, {words}", ha="left", size=10)
    for group in range(groups):
        look = CONSUMERS[group - 1] if group else PRODUCER
        name = f"consumer {group - 1}" if group else "producer"
        words = f"warpgroup {group}:\n{name}"
        cells.label(axes, -4, group + height / 2, words, ha="right", va="center")
        box(axes, 0, group, start, height, str(start), **look)
        now = most if group else found["producer_registers"]
        box(axes, right, group, now, height, "" if group else str(now), **look)
        if group:
            box(axes, right, group, found["sums"], height, f"{found['sums']} sums", **look)
            middle = right + (found["sums"] + now) / 2
            words = f"{now - found['sums']} others,\n{now} in all"
            how = {"va": "center", "zorder": 6, "bbox": GROUND}
            cells.label(axes, middle, group + height / 2, words, **how)
        elif now < start:
            words = f"gives {start - now} away"
            cells.label(axes, right + now + 5, group + height / 2, words, ha="left", va="center")
    after = f"{THREADS} · {found['producer_registers']} + {THREADS * (groups - 1)} · {most}"
    total = THREADS * (found["producer_registers"] + (groups - 1) * most)
    for x, words in (
        (0, f"{found['threads']} · {start} = {found['threads'] * start:,}"),
        (right, f"{after} = {total:,}, of {found['sm_registers']:,}"),
    ):
        cells.label(axes, x, groups + 0.2, words, ha="left", size=10)


def draw_owners(pyplot, found):
    """The tile above, the registers below."""
    figure, (tile, registers) = style.figure_of(pyplot, 7.6, 2, height_ratios=(2.1, 1))
    draw_tile(tile, found)
    draw_registers(registers, found)
    style.frame(
        figure,
        "v05: which warpgroup owns which rows and registers",
        f"a CTA of {found['threads']} threads: a producer and {found['consumers']} consumers, "
        "a warpgroup each",
    )
    return figure


# --- v08 --------------------------------------------------------------------------------------


def cluster_data(answers, _records):
    """v07's and v08's constants."""
    return {rung: answers["rungs"][rung] for rung in ("v07", "v08")}


def send(axes, begin, end, cta, **how):
    """An arrow in the colour of the CTA that sends."""
    axes.annotate("", end, begin, arrowprops={**ARROW, **SENT[cta], **how}, zorder=7)


def draw_loads(axes, rung, facts):
    """Two CTAs: above what they load, in the middle their stages, below the arrivals that hand a stage back."""
    cells.board(axes, 0, 100, 121, -7)
    share = facts["cluster"]
    kind = f"clusters of {share}" if share > 1 else "no clusters"
    cells.label(axes, 50, -4, f"{rung}: {kind}", size=11, fontweight="bold")
    rows = facts["tile_n"] // share
    for cta, x in enumerate((3, 77)):
        words = f"A\n{facts['tile_m']} rows"
        box(axes, x, 8, 20, 15, words, **CONSUMERS[cta])
    width = 44 / share
    for part in range(share):
        look = CONSUMERS[part] if share > 1 else SHARED
        words = f"B rows\n{part * rows} to {(part + 1) * rows - 1}"
        box(axes, 28 + part * width, 8, width, 15, words, **look)
    cells.label(axes, 50, 3, "in the L2: a k-tile's rows of A and B for two tiles of D")
    for cta, left in enumerate((2, 52)):
        cells.frame(axes, left, 47, 46, 25)
        a, b = (left + 2, left + 16) if cta == 0 else (left + 32, left + 2)
        box(axes, a, 49, 12, 16, "A", **CONSUMERS[cta])
        for part in range(share):
            look = CONSUMERS[part] if share > 1 else SHARED
            place = (b + part * 28 / share, 49, 28 / share, 16)
            words = f"B\n{part * rows} to\n{(part + 1) * rows - 1}"
            box(axes, *place, words, **look)
            source = part if share > 1 else cta
            begin = 28 + (part + 0.5) * width + (0 if share > 1 else (-6, 6)[cta])
            send(axes, (begin, 23), (place[0] + place[2] / 2, 49), source)
        send(axes, (13 if cta == 0 else 87, 23), (a + 6, 49), cta)
        words = f"CTA {cta}: a stage"
        cells.label(axes, left + (2 if cta == 0 else 44), 69, words, ha=("left", "right")[cta])
        consumers = facts["consumers"]
        box(axes, left + 8, 78, 30, 8, f"{consumers} consumers", **CONSUMERS[cta])
        arrivals = " + ".join([str(consumers)] * share)
        box(axes, left + 8, 100, 30, 8, f"empty: {arrivals} arrivals", facecolor="white")
        for to, x in enumerate((25, 75)):
            if to == cta or share > 1:
                shift = (-3, 3)[cta] if share > 1 else 0
                send(axes, (left + 23, 86), (x + shift, 100), cta)
    requested = (facts["tile_m"] + rows) * facts["bk"] * ELEMENT_BYTES
    lands = facts["a_bytes"] + facts["b_bytes"]
    words = f"a CTA requests {facts['tile_m']} + {rows} rows, {kib(requested)}; {kib(lands)} arrive"
    cells.label(axes, 50, 115, words, size=10)


def draw_cluster(pyplot, found):
    """Without clusters to the left, with them to the right."""
    figure, axes = style.figure_of(pyplot, 6.2, 1, 2)
    for (rung, facts), here in zip(found.items(), axes):
        draw_loads(here, rung, facts)
    style.frame(
        figure,
        "v08: in a cluster each CTA loads half of B and multicasts it to both",
        "blue, solid: by CTA 0; red, dashed: by CTA 1; arrows from above: loads; below: arrivals that "
        "hand the stage back",
    )
    return figure


# --- v16 --------------------------------------------------------------------------------------


def tall_data(answers, _records):
    """The constants of v14 and v16, with what follows."""
    found = {}
    for rung in ("v14", "v16"):
        facts = answers["rungs"][rung]
        loaded = facts["a_bytes"] + facts["b_bytes"]
        flop = 2 * facts["tile_m"] * facts["tile_n"] * facts["bk"]
        found[rung] = {**facts, "loaded": loaded, "flop": flop}
    return found


def draw_tall(axes, rung, facts):
    """The tile to scale, its shared memory and its registers beside it."""
    m, n, k = facts["tile_m"], facts["tile_n"], facts["bk"]
    tall, gap, bar = 256, 10, 78
    x = k + gap
    smem, registers = x + tall + 26, x + tall + 26 + bar + 22
    cells.board(axes, -2, registers + bar + 24, x + tall + 86, -34)
    axes.set_aspect("equal")
    words = f"{rung}: {m} × {n}"
    cells.label(axes, 0, -24, words, size=11, fontweight="bold", ha="left")
    blocks = m // facts["consumers"] // 64
    consumer_rows(axes, facts, 0, x, k, lambda *_: "A")
    box(axes, x, 0, n, k, "B", **SHARED)
    own = f"{blocks} blocks of 64 rows" if blocks > 1 else "64 rows"
    consumer_rows(axes, facts, x, x, n, lambda consumer, *_: f"D: consumer {consumer},\n{own}")
    for row in range(64, m, 64):
        axes.plot([x, x + n], [x + row] * 2, color="0.3", linewidth=0.8, linestyle=":", zorder=5)
    # Shared memory, from the bottom up.
    scale, bottom = (x + tall) / MOST_SMEM, x + tall
    for stage in range(facts["stages"]):
        height = facts["loaded"] * scale
        bottom -= height
        box(axes, smem, bottom, bar, height, f"stage {stage}\n{kib(facts['loaded'])}", **PRODUCER)
    height = facts["d_bytes"] * scale
    bottom -= height
    box(axes, smem, bottom, bar, height, f"D: {kib(facts['d_bytes'])}", facecolor="#E8CFE0")
    cells.frame(axes, smem, 0, bar, x + tall)
    cells.label(axes, smem + bar / 2, -10, "shared\nmemory", va="bottom")
    cells.label(axes, smem + bar / 2, x + tall + 14, f"of {kib(MOST_SMEM)}")
    most = facts["consumer_registers"]
    height = facts["sums"] / most * (x + tall)
    box(axes, registers, x + tall - height, bar, height, f"{facts['sums']}\nsums", **CONSUMERS[0])
    box(axes, registers, 0, bar, x + tall - height, f"{most - facts['sums']}\nothers", **SHARED)
    cells.label(axes, registers + bar / 2, -10, "registers\nof a thread", va="bottom")
    cells.label(axes, registers + bar / 2, x + tall + 14, f"of {most}")
    words = (
        f"a k-tile: {kib(facts['loaded'])} for {1e-6 * facts['flop']:.2f} million FLOP,\n"
        f"{1e3 * facts['loaded'] / facts['flop']:.1f} bytes per 1,000 FLOP"
    )
    cells.label(axes, 0, x + tall + 62, words, size=10, ha="left", va="center", linespacing=1.4)


def draw_tiles(pyplot, found):
    """v14 to the left, v16 to the right."""
    figure, axes = style.figure_of(pyplot, 4.7, 1, 2)
    for (rung, facts), here in zip(found.items(), axes):
        draw_tall(here, rung, facts)
    lower, upper = (facts["loaded"] / facts["flop"] for facts in found.values())
    style.frame(
        figure,
        f"v16's tile against v14's: {100 * (1 - upper / lower):.0f} % fewer bytes per FLOP",
        "to scale: a tile of D with a k-tile of A and B; the CTA's shared memory; "
        "a consumer's registers",
    )
    return figure


# --- v02 --------------------------------------------------------------------------------------


FIELDS = (  # of a descriptor: first and last bit, what it is, what its number means here
    (62, 63, "swizzle", "{}: of 128 bytes"),
    (49, 51, "base offset", "{}"),
    (32, 45, "stride, from 8 rows to the next 8", "{}, in steps of 16 bytes: 1,024"),
    (16, 29, "leading dimension", "{}: not used here"),
    (0, 13, "start address", "{}, in steps of 16 bytes"),
)
STEPS = ("#F3C460", "#A9D6F5", "#5DB594", "#E0E0E0")  # along k
CHUNKS, GROUP_ROWS, GROUPS = 8, 8, 2  # of a row; rows of the swizzle's pattern; shown of them
WIDE = 1.4  # of a chunk


def descriptor_data(answers, _records):
    """The descriptors of a tile step by step, the fields of the first, and where its chunks lie."""
    found = answers["layouts"]["descriptor"]
    first = found["steps"][0]
    fields = [first >> low & ((1 << (high - low + 1)) - 1) for low, high, *_ in FIELDS]
    chunks = answers["layouts"]["128-byte swizzle"]["offsets"]
    return {**found, "fields": fields, "chunks": chunks}


def draw_fields(axes, found):
    """The 64 bits, the highest to the left."""
    cells.board(axes, -0.5, 64.5, 4.2, -1.2)
    box(axes, 0, 0, 64, 1, facecolor="white")
    for (low, high, what, words), value in zip(FIELDS, found["fields"]):
        left, width = 63 - high, high - low + 1
        box(axes, left, 0, width, 1, str(value), facecolor=STEPS[0] if low == 0 else "0.92")
        side = {"ha": "left"} if low == 62 else {}
        x = left if side else left + width / 2
        cells.label(axes, x, -0.55, f"bits {low} to {high}", **side)
        cells.label(axes, x, 1.6, what, fontweight="bold", **side)
        cells.label(axes, x, 2.35, words.format(value), **side)


def draw_rows(axes, found):
    """The tile's first rows in shared memory, each chunk in the colour of the step that reads it; to
    the right the descriptors of the steps."""
    rows, first, right = GROUP_ROWS * GROUPS, found["address"], WIDE * CHUNKS
    cells.board(axes, -3, 32, rows + 0.3, -1.8)
    cells.label(axes, right / 2, -1.2, "the tile in shared memory", **cells.TITLE)
    cells.label(axes, right / 2, -0.45, "row.chunk: a chunk is 16 bytes, 8 columns of k")
    for row in range(rows):
        group, inside = divmod(row, GROUP_ROWS)
        for chunk in range(CHUNKS):
            offset = found["chunks"][inside * CHUNKS + chunk]
            line, column = divmod(offset // 16, CHUNKS)
            look = {"facecolor": STEPS[chunk // 2], "edgecolor": "0.4", "color": "black"}
            place = (WIDE * column, group * GROUP_ROWS + line, WIDE, 1)
            cells.cell(axes, *place, f"{row}.{chunk}", **look)
        cells.index(axes, -0.3, row + 0.5, f"0x{first + 16 * CHUNKS * row:x}", ha="right")
    for group in range(GROUPS):
        cells.frame(axes, 0, group * GROUP_ROWS, right, GROUP_ROWS)
    x = right + 0.6
    axes.annotate("", (x, GROUP_ROWS), (x, 0), arrowprops={**ARROW, "color": "black"})
    cells.label(axes, x + 0.4, 4, "stride:\n8 rows", ha="left", va="center")
    x += 5
    cells.label(axes, x, 1.2, "one descriptor for each wgmma", ha="left", **cells.TITLE)
    for step, descriptor in enumerate(found["steps"]):
        y = 2.5 + 2.6 * step
        start = (descriptor & 0x3FFF) << 4
        cells.cell(axes, x, y, 1, 1, facecolor=STEPS[step], edgecolor="0.4")
        words = f"k = {16 * step} to {16 * step + 15}: starts at 0x{start:x}\n0x{descriptor:016x}"
        how = {"ha": "left", "va": "center", "size": 10, "linespacing": 1.5}
        cells.label(axes, x + 1.6, y + 0.5, words, **how)
    words = "each starts 32 bytes after the one before:\nof the bits, only the start address changes, by 2"
    cells.label(axes, x, 13.8, words, ha="left", va="center", size=10, linespacing=1.4)


def draw_descriptor(pyplot, found):
    """The bits above, the tile below."""
    figure, (fields, rows) = style.figure_of(pyplot, 6.6, 2, height_ratios=(1, 3.2))
    draw_fields(fields, found)
    draw_rows(rows, found)
    style.frame(
        figure,
        "A matrix descriptor tells wgmma where a tile is",
        f"K-major rows of 64 bf16 in TMA's 128-byte swizzle, at 0x{found['address']:x}",
    )
    return figure


PICTURES = (
    ("matrix-descriptor", descriptor_data, draw_descriptor),
    ("two-consumers", owners_data, draw_owners),
    ("cluster-multicast", cluster_data, draw_cluster),
    ("tall-tile", tall_data, draw_tiles),
)
