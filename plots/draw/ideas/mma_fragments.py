"""Which lane of a warp holds which element of the operands and the sums of mma.m16n8k16?"""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells, fragments

NAME = "mma-fragments"
PROBES = ("fragments",)
LANE = 13  # the one to be shown: neither in the first row nor in the first column
PARTS = {"A": "mma a", "B": "mma b", "D": "mma d, fp32 sums"}
REGISTERS = {"A": "a", "B": "b", "D": "acc"}

GAP = 2.6  # cells between the matrices, for their rows' and columns' numbers
MARGIN = 1.8


def data(answers, _records):
    """The blocks of each matrix, and what the lane has in its registers."""
    found = {"lane": LANE}
    for name, key in PARTS.items():
        fragment = answers["fragments"][key]
        found[name] = {
            "rows": fragment["rows"],
            "columns": fragment["columns"],
            "blocks": fragments.blocks(fragment),
            "held": fragments.slots_of(fragment, LANE),
        }
    return found


def draw_matrix(axes, name, part, lane, x, y):
    """One matrix with its upper left corner at (x, y)."""

    def words_of(first, last):
        return (
            f"{REGISTERS[name]}[{first}]" if first == last else f"{REGISTERS[name]}[{first},{last}]"
        )

    blocks = part["blocks"]
    cells.matrix(axes, blocks, lane, words_of, lambda row, column: (x + column, y + row))
    cells.grid(axes, part["rows"], part["columns"], x, y)


def draw_registers(axes, found, x, y):
    """The lane's registers, one below the other, with the elements in them."""
    cells.label(
        axes, x, y, f"What lane {found['lane']} holds", size=11, fontweight="bold", ha="left"
    )
    y += 2.2
    for half, words in enumerate(("lower 16 bits", "upper 16 bits")):
        cells.index(axes, x + 4.35 + 3.5 * half, y - 0.6, words)
    for name, letter in REGISTERS.items():
        by_register = {}
        for row, column, register, _ in found[name]["held"]:
            by_register.setdefault(register, []).append(f"{name}[{row}][{column}]")
        for register, elements in by_register.items():
            cells.label(axes, x + 2.2, y + 0.6, f"{letter}[{register}]", ha="right")
            width = 7 / len(elements)
            for i, element in enumerate(elements):
                cells.held(axes, x + 2.6 + i * width, y, width, 1.2, element, weight="normal")
            y += 1.2
        y += 0.55


def draw(pyplot, found):
    """A to the left of D, B above it, as they are multiplied."""
    figure, axes = style.figure_of(pyplot, 8.7)
    a, b, d = (found[name] for name in PARTS)
    x_a, x_d = MARGIN, MARGIN + a["columns"] + GAP
    y_b, y_d = 2.2, 2.2 + b["rows"] + GAP
    cells.board(axes, x_d + d["columns"] + 0.3, y_d + d["rows"] + 0.2)
    draw_matrix(axes, "A", a, found["lane"], x_a, y_d)
    draw_matrix(axes, "B", b, found["lane"], x_d, y_b)
    draw_matrix(axes, "D", d, found["lane"], x_d, y_d)
    for words, part, x, y in (
        ("A [16][16]: rows m, columns k", a, x_a, y_d),
        ("B [16][8]: rows k, columns n", b, x_d, y_b),
        ("D [16][8] = A · B", d, x_d, y_d),
    ):
        how = {"size": 11, "fontweight": "bold"}
        cells.label(axes, x + part["columns"] / 2, y - 1.5, words, **how)
    draw_registers(axes, found, MARGIN + 1, 0.7)
    style.frame(
        figure,
        "mma.m16n8k16: which lane holds which element",
        "a number is the lane of the warp; two neighbours in a cell are one lane's",
    )
    return figure
