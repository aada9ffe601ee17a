"""The order of D's tiles, and what an L2 makes of it. The model is simple, and says so wherever it is
shown: one cache, nothing in it but A and B, all workers (CTAs, or clusters that share their loads)
start their tiles of a wave together and go through k in step."""

from __future__ import annotations

from collections import OrderedDict

ELEMENT_BYTES = 2  # of bf16


def waves_of(order):
    """[[(m, n) of a tile]], wave by wave: what the workers do at the same time."""
    tiles, workers = list(zip(order["m"], order["n"])), order["workers"]
    return [tiles[first : first + workers] for first in range(0, len(tiles), workers)]


def panels_of(tiles):
    """(rows, columns) of the grid of tiles that these need, each once."""
    return sorted({m for m, _ in tiles}), sorted({n for _, n in tiles})


def uses(order, tile, size, backwards=False):
    """(wave, slice, bytes) of every use of a slice of A or B, what a tile needs for one step along k, in
    the order in which the L2 sees them. backwards: every other wave begins at the end of k."""
    m, n, bk = tile
    line = bk * ELEMENT_BYTES
    for number, tiles in enumerate(waves_of(order)):
        rows, columns = panels_of(tiles)
        panels = [("a", row, m * line) for row in rows]
        panels += [("b", column, n * line) for column in columns]
        steps = range(-(-size // bk))
        for k in reversed(steps) if backwards and number % 2 else steps:
            for side, panel, count in panels:
                yield number, (side, panel, k), count


class Cache:
    """An L2 of so many bytes: when it is full, lines marked evict-first go, then the least
    recently used."""

    def __init__(self, capacity):
        self.room, self.kept, self.first = capacity, OrderedDict(), OrderedDict()

    def use(self, item, count, evict_first=False):
        """Uses a slice; True if it was there."""
        there = self.kept.pop(item, 0) or self.first.pop(item, 0)
        (self.first if evict_first else self.kept)[item] = count
        self.room += there - count
        while self.room < 0:
            self.room += (self.first or self.kept).popitem(last=False)[1]
        return bool(there)


def dram_reads(order, tile, size, backwards, capacity):
    """The bytes read from DRAM with an L2 of that capacity."""
    cache = Cache(capacity)
    return sum(n for _, item, n in uses(order, tile, size, backwards) if not cache.use(item, n))
