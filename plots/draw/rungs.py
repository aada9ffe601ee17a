"""What rungs divide, by their own constants: v05 its registers, v16 a tile, against v14; and what v02
tells wgmma of a tile: matrix_descriptor.cuh."""

from __future__ import annotations

from types import SimpleNamespace

from plots.draw import style
from plots.draw.banks import swizzled
from plots.draw.records import constant, tile_of
from plots.draw.style import Board

SM_REGISTERS = 65536  # of 32 bits, on sm_90
STEP = 8  # registers are given to threads in such steps
THREADS = 128  # of a warpgroup
MOST_SMEM = 227 << 10  # bytes of a CTA on sm_90
CONSUMERS = ({"facecolor": "#A9D6F5"}, {"facecolor": "#F3C460", "hatch": "//"})
PRODUCER = {"facecolor": "#8FD0BC"}
SHARED = {"facecolor": "0.92"}


def facts_of(rung):
    """Its constants, in elements of bf16 and registers of a thread: those with setmaxnreg, and a
    consumer's sums."""
    m, n, k = tile_of(rung)
    names = ("STAGES", "CONSUMERS", "PRODUCER_REGISTERS", "CONSUMER_REGISTERS")
    stages, consumers, producer, registers = (constant(rung, name) for name in names)
    facts = {"m": m, "n": n, "k": k, "stages": stages, "stage_bytes": 2 * (m + n) * k}
    facts |= {"consumers": consumers, "producer": producer, "registers": registers}
    return SimpleNamespace(sums=m * n // (THREADS * consumers), **facts)


def kib(count):
    """'48 KiB'"""
    return f"{count / 1024:g} KiB"


def consumer_rows(board, facts, x, y, width, words):
    """The rows of a tile as the consumers divide them, from the top."""
    rows = facts.m // facts.consumers
    for consumer in range(facts.consumers):
        text = words.format(consumer, consumer + 1, consumer * rows, (consumer + 1) * rows - 1)
        board.box(x, y + consumer * rows, width, rows, text, **CONSUMERS[consumer])


def two_consumers(_records):
    """The registers of a thread of each of v05's warpgroups, as they start and after setmaxnreg."""
    facts = facts_of("v05")
    groups, most, right, high = 1 + facts.consumers, facts.registers, 240, 0.8
    start = SM_REGISTERS // (groups * THREADS) // STEP * STEP
    figure, axes = style.figure_of(3.1)
    board = Board(axes, -62, right + most + 2, groups + 0.6, -1)
    for group in range(groups):
        look, name = PRODUCER, "producer"
        if group:
            look, name = CONSUMERS[group - 1], f"consumer {group - 1}"
        board.left(-4, group + high / 2, f"warpgroup {group}:\n{name}", ha="right", linespacing=1.2)
        board.box(0, group, start, high, str(start), **look)
        if group:
            board.box(right, group, facts.sums, high, f"{facts.sums} sums", **look)
            others = f"{most - facts.sums} others,\n{most} in all"
            board.box(right + facts.sums, group, most - facts.sums, high, others, **look)
        else:
            board.box(right, group, facts.producer, high, str(facts.producer), **look)
            words = f"gives {start - facts.producer} away"
            board.left(right + facts.producer + 5, group + high / 2, words)
    all_threads, total = groups * THREADS, THREADS * (facts.producer + facts.consumers * most)
    after = f"{THREADS} · {facts.producer} + {THREADS * facts.consumers} · {most} = {total:,}"
    before = f"{all_threads} · {start} = {all_threads * start:,}"
    for x, words, sum_of in ((0, "at the launch", before), (right, "after setmaxnreg", after)):
        board.label(x, -0.45, f"registers of a thread, {words}", ha="left", size=10)
        board.label(x, groups + 0.2, f"{sum_of} of {SM_REGISTERS:,}", ha="left", size=10)
    title = "v05: setmaxnreg moves registers from the producer to the consumers"
    second = f"a CTA of {all_threads} threads: a producer and {facts.consumers} consumers, "
    return style.frame(figure, title, f"{second}a warpgroup each")


STAGED = {"v14": 2, "v16": 1}  # 64 rows of each consumer in so many parts, one at a time


def draw_tall(axes, rung, facts):
    """The tile to scale, its shared memory and its registers beside it."""
    m, n, k = facts.m, facts.n, facts.k
    tall, gap, bar = 256, 10, 78
    x = k + gap
    smem, registers, bottom = x + tall + 26, x + tall + 26 + bar + 22, x + tall
    board = Board(axes, -2, registers + bar + 24, bottom + 86, -34, to_scale=True)
    board.title(0, -24, f"{rung}: {m} × {n}", ha="left")
    consumer_rows(board, facts, 0, x, k, "A")
    board.box(x, 0, n, k, "B", **SHARED)
    blocks = m // facts.consumers // 64
    own = f"{blocks} blocks of 64 rows" if blocks > 1 else "64 rows"
    consumer_rows(board, facts, x, x, n, f"D: consumer {{0}},\n{own}")
    for row in range(64, m, 64):
        how = {"color": "0.3", "linewidth": 0.8, "linestyle": ":", "zorder": 5}
        board.axes.plot([x, x + n], [x + row] * 2, **how)
    # Shared memory, from the bottom up.
    d_bytes = 2 * 64 * n * facts.consumers // STAGED[rung]
    parts = [(f"stage {i}\n", facts.stage_bytes, PRODUCER) for i in range(facts.stages)]
    top = bottom
    for words, count, look in (*parts, ("D: ", d_bytes, {"facecolor": "#E8CFE0"})):
        height = count * (bottom / MOST_SMEM)
        top -= height
        board.box(smem, top, bar, height, f"{words}{kib(count)}", **look)
    board.frame(smem, 0, bar, bottom)
    height = facts.sums / facts.registers * bottom
    board.box(registers, bottom - height, bar, height, f"{facts.sums}\nsums", **CONSUMERS[0])
    others = f"{facts.registers - facts.sums}\nothers"
    board.box(registers, 0, bar, bottom - height, others, **SHARED)
    board.label(smem + bar / 2, -10, "shared\nmemory", va="bottom")
    board.label(smem + bar / 2, bottom + 14, f"of {kib(MOST_SMEM)}")
    board.label(registers + bar / 2, -10, "registers\nof a thread", va="bottom")
    board.label(registers + bar / 2, bottom + 14, f"of {facts.registers}")
    flop = 2 * m * n * k
    words = f"a k-tile: {kib(facts.stage_bytes)} for {1e-6 * flop:.2f} million FLOP,\n"
    words += f"{1e3 * facts.stage_bytes / flop:.1f} bytes per 1,000 FLOP"
    board.left(0, bottom + 62, words, size=10)


def tall_tile(_records):
    """v14 to the left, v16 to the right."""
    figure, axes = style.figure_of(4.7, 1, 2)
    facts = {rung: facts_of(rung) for rung in STAGED}
    for (rung, of_rung), here in zip(facts.items(), axes):
        draw_tall(here, rung, of_rung)
    lower, upper = (one.stage_bytes / (one.m * one.n * one.k) for one in facts.values())
    title = f"v16's tile against v14's: {100 * (1 - upper / lower):.0f} % fewer bytes per FLOP"
    second = "to scale: a tile of D with a k-tile of A and B; the CTA's shared memory; "
    return style.frame(figure, title, f"{second}a consumer's registers")


ADDRESS = 33 * 1024  # of the tile
FIELDS = (  # of a descriptor: first and last bit, what it is, its number here and what that means
    (62, 63, "swizzle", 1, "{}: of 128 bytes"),
    (49, 51, "base offset", 0, "{}"),
    (32, 45, "stride, from 8 rows to the next 8", 1024 // 16, "{}, in steps of 16 bytes: 1,024"),
    (16, 29, "leading dimension", 1, "{}: not used here"),
    (0, 13, "start address", ADDRESS // 16, "{}, in steps of 16 bytes"),
)
STEPS = ("#F3C460", "#A9D6F5", "#5DB594", "#E0E0E0")  # along k
CHUNKS, GROUP_ROWS, GROUPS = 8, 8, 2  # of a row; rows of the swizzle's pattern; shown of them
WIDE = 1.4  # of a chunk


def draw_fields(axes):
    """The 64 bits of a descriptor, the highest to the left."""
    board = Board(axes, -0.5, 64.5, 4.2, -1.2)
    board.box(0, 0, 64, 1, facecolor="white")
    for low, high, what, value, words in FIELDS:
        left, width = 63 - high, high - low + 1
        board.box(left, 0, width, 1, str(value), facecolor=STEPS[0] if low == 0 else "0.92")
        side = {"ha": "left"} if low == 62 else {}
        x = left if side else left + width / 2
        board.label(x, -0.55, f"bits {low} to {high}", **side)
        board.label(x, 1.6, what, fontweight="bold", **side)
        board.label(x, 2.35, words.format(value), **side)


def draw_rows(axes):
    """The tile's first rows in shared memory, each chunk in the colour of the step that reads it; to
    the right the descriptors of the steps."""
    rows, right = GROUP_ROWS * GROUPS, WIDE * CHUNKS
    board = Board(axes, -3, 32, rows + 0.3, -1.8)
    board.title(right / 2, -1.2, "the tile in shared memory")
    board.label(right / 2, -0.45, "row.chunk: a chunk is 16 bytes, 8 columns of k")
    for row in range(rows):
        group, inside = divmod(row, GROUP_ROWS)
        for chunk in range(CHUNKS):
            line, column = divmod(swizzled(16 * (inside * CHUNKS + chunk), 128) // 16, CHUNKS)
            look = {"facecolor": STEPS[chunk // 2], "edgecolor": "0.4", "color": "black"}
            place = (WIDE * column, group * GROUP_ROWS + line, WIDE, 1)
            board.cell(*place, f"{row}.{chunk}", **look)
        board.index(-0.3, row + 0.5, f"0x{ADDRESS + 16 * CHUNKS * row:x}", ha="right")
    for group in range(GROUPS):
        board.frame(0, group * GROUP_ROWS, right, GROUP_ROWS)
    x = right + 0.6
    board.arrow((x, 0), (x, GROUP_ROWS), color="black")
    board.left(x + 0.4, 4, "stride:\n8 rows", linespacing=1.2)
    x += 5
    board.title(x, 1.2, "one descriptor for each wgmma", ha="left")
    first = sum(value << low for low, _, _, value, _ in FIELDS)
    for step in range(len(STEPS)):
        y, start, descriptor = 2.5 + 2.6 * step, ADDRESS + 32 * step, first + 2 * step
        board.cell(x, y, 1, 1, facecolor=STEPS[step], edgecolor="0.4")
        words = f"k = {16 * step} to {16 * step + 15}: starts at 0x{start:x}\n0x{descriptor:016x}"
        board.left(x + 1.6, y + 0.5, words, size=10, linespacing=1.5)
    words = "each starts 32 bytes after the one before:\n"
    words += "of the bits, only the start address changes, by 2"
    board.left(x, 13.8, words, size=10)


def descriptor(_records):
    """The bits above, the tile below."""
    figure, (fields, rows) = style.figure_of(6.6, 2, height_ratios=(1, 3.2))
    draw_fields(fields)
    draw_rows(rows)
    second = f"K-major rows of 64 bf16 in TMA's 128-byte swizzle, at 0x{ADDRESS:x}"
    return style.frame(figure, "A matrix descriptor tells wgmma where a tile is", second)
