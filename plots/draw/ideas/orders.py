"""The orders of tiles as the probe tells them: waves, and what each of them needs of A and B."""

from __future__ import annotations

ELEMENT_BYTES = 2  # of bf16


def waves(order):
    """[[(m, n) of a tile]], wave by wave: what the workers do at the same time."""
    tiles = list(zip(order["m"], order["n"]))
    workers = order["workers"]
    return [tiles[first : first + workers] for first in range(0, len(tiles), workers)]


def panels(tiles):
    """(rows, columns) of the grid of tiles that these need, each once."""
    return sorted({m for m, _ in tiles}), sorted({n for _, n in tiles})


def distinct_bytes(order, size, tiles):
    """The bytes of A and B that these tiles need: panels of all k, each once."""
    rows, columns = panels(tiles)
    lines = len(rows) * order["tile_m"] + len(columns) * order["tile_n"]
    return lines * size * ELEMENT_BYTES


def asked_bytes(order, size, tiles):
    """The bytes that the workers ask the L2 for: each its own panels."""
    return len(tiles) * (order["tile_m"] + order["tile_n"]) * size * ELEMENT_BYTES
